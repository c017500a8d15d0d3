"""`explain`: one call from an input to every method's answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, cast, overload

import numpy as np

from accredit.core import InvalidInput, checked_seed, needs, optional_whole
from accredit.core.meant import singular
from accredit.core.numbers import checked_text, shown
from accredit.explanation.answers import ANSWERS, answer_subject
from accredit.explanation.result import Explanation
from accredit.explanation.stream import Asked, Done, Event, Explained, Refused, events
from accredit.explanation.stream import Progress as Progressed
from accredit.explanation.subject import Subject, image_subject, text_subject
from accredit.methods import DEFAULT, FOR_ANSWERS, FOR_STRINGS, SETTINGS, Chosen, find_all, settings_for
from accredit.models.encoded import UNITS
from accredit.models.pixels import for_pictures
from accredit.models.strings import StringModel, as_string_model, reads_strings
from accredit.values.solver import Progress, progress

if TYPE_CHECKING:
    from accredit.explanation.table import TableExplanation
    from accredit.models import ImageModel, TextModel

ROW_SETTINGS = {"target", "players", "payoff", "budget", "seed", "dependence", "weights", "most_background", "background_by",
                "names", "interactions", "trusted"}  # fmt: skip
LONG = 5.0  # seconds from which a run is announced
ENOUGH = 0.5  # seconds of a run after which its length can be told
PREPARED = ("size", "mean", "std", "preprocess")  # settings that say how a picture is prepared
Announce = Callable[[str], None]


@overload
def explain(
    given: str | tuple[str, str] | Path | None = None, model: Any = None, tokenizer: Any = None, **settings: Any
) -> Explanation: ...
@overload
def explain(given: Any = None, model: Any = None, tokenizer: Any = None, **settings: Any) -> Any: ...
def explain(
    given: Any = None,
    model: Any = None,
    tokenizer: Any = None,
    *,
    methods: Sequence[str] | str | None = None,
    target: str | int | None = None,
    players: Any = None,
    payoff: Any = None,
    removal: Any = None,
    budget: int | None = None,
    seed: int = 0,
    cut: bool = False,
    prefix: str = "",
    announce: Announce | None = None,
    background: Any = None,
    **further: Any,
) -> Explanation | TableExplanation:
    """Which words of a text, parts of a picture, columns of a table's rows or parts of a prompt earned the model's output.

    With `answer=`, `generate=` or `context=[passages], query=…`, the question is which parts of a prompt earned an answer:
    see `explain_answer` for what may be given. Rows of a table (a data frame, a Series or mapping of one row, or an array
    beside a `background` or an estimator) go to `explain_rows`, which takes further settings. Many rows are spread over workers
    by `executor` ("processes:2", "dask"), and written to `out` line by line, where a run that was stopped goes on. Everything
    else on this page is about texts and pictures.

    A text is a string, or a pair of strings that the model reads together (premise and hypothesis); a picture is a path (also
    a string that names a picture file), a PIL image, an array or a tensor. `model` is None (the built-in one), a folder, a
    name in the local cache, a transformers model with its `tokenizer` (for pictures: its image processor) or a pipeline of
    the two, a torch network that reads pictures, or anything that reads a list of strings: a scikit-learn pipeline, a
    function. `methods` are names from `accredit methods`; some take parameters after a colon: "flow:agf", "beta:16,1".

    `target` is a label, token or index, by default what the model predicts; "all" explains that one and, from the same
    passes, every other output: see `.of(label)`. `players` are "word", "token", "sentence" or named groups of token
    positions; for pictures "patches", "segments", "segments:40", "pixels" or a grid (rows, columns). `payoff` is "log-odds"
    (the default), "logit", "probability", "margin", "loss", "correctness", "confidence", "entropy", or a function of the
    outputs (for games); `removal` is how players leave: see `text_game` and `image_game`.
    `budget` bounds the payoffs that each game method may ask. A text longer than the model reads is refused unless `cut`;
    `prefix` is what an encoder–decoder has said so far. Gradients take `layer` (credit goes to what enters that block) and
    `baseline` (mask, pad, zero, mean or vectors; for pictures as `removal`); integrals along a path also take `tolerance` and
    `most_steps`, GradientSHAP and SmoothGrad `samples` and `noise`, discretised integrated gradients `points`.

    For pictures only: `segments` is an (H, W) array with the segment of every pixel; `size`, `mean`, `std` or `preprocess`
    say how a picture is prepared for a network that has no image processor: see `as_image_model`.

    Readings of attention (attention, rollout and the flows) follow the mean of a layer's `heads` unless that is "max", the
    number of one head or a list with one weight for each, and all `layers` unless one or some of them are named.

    On a terminal and in a notebook a long run shows how far it is. `announce` is called once, early in a long run, with
    what it will cost.

    A method that does not apply to this model is listed in `.refused` with the reason.

    >>> explanation = explain("A gripping film.", methods=["leave-one-out"])
    >>> explanation.target, explanation.players
    ('POSITIVE', ('A', 'gripping', 'film', '.'))
    """
    budget, seed, prefix = (
        optional_whole(budget, "budget", example=1000),
        checked_seed(seed),
        checked_text(prefix, "prefix"),
    )
    if announce is not None and not callable(announce):
        raise InvalidInput(f"announce is {shown(announce)}; give a function of one line of text, for example print")
    shared: dict[str, Any] = {"target": target, "players": players, "payoff": payoff, "budget": budget, "seed": seed}
    own_settings = {name: further.pop(name) for name in SETTINGS if name in further}
    if ANSWERS & set(further):
        own: dict[str, Any] = {
            "removal": removal,
            "methods": methods,
            "announce": announce,
            "prefix": prefix,
        } | own_settings
        return explain_answer(given, model, tokenizer, **shared, **own, **further)
    if given is None:
        raise InvalidInput(
            "nothing is given to explain; give a text, a picture, rows of a table, or a prompt with answer='…'"
        )
    if _are_rows(given, model, background):
        return _explained_rows(given, model, background, methods, **shared, **further, **settings_for([], own_settings))
    reading: dict[str, Any] = {name: further.pop(name) for name in PREPARED if name in further}
    shared["players"] = _chosen(players, further.pop("segments", None))
    if further:
        raise InvalidInput(f"{next(iter(further))} is for rows of a table, and a {type(given).__name__} was given")
    asked_methods(methods)  # an unknown name is refused before a model is loaded
    given, loaded, notes = _read_as(given, model, tokenizer, reading)
    asked = asked_methods(methods, loaded)
    taken = settings_for(asked, own_settings)
    subject = subject_of(loaded, given, **shared, removal=removal, cut=cut, prefix=prefix)
    explanation = explained_by(replace(subject, settings=taken), asked, announce)
    return replace(explanation, notes=(*notes, *explanation.notes)) if notes else explanation


def explained_by(subject: Asked, asked: list[Chosen], announce: Announce | None = None) -> Explanation:
    """What some methods say of a subject, with a bar that shows how far they are; refused if none of them applies."""
    costs = {each.name: each.payoffs(len(subject.players), subject.budget) for each in asked}
    with (
        progress("explain", sum(costs.values())) as bar,
        closing(events(subject, asked, progress=bar.visible or announce is not None)) as stream,
    ):
        explanation = _followed(stream, costs, bar, announce)
    if not explanation.attributions:
        name, why = next(iter(explanation.refused.items()))
        raise InvalidInput(why if len(asked) == 1 else f"none of the methods applies; {name}: {why}")
    return explanation


def _chosen(players: Any, segments: Any) -> Any:
    """Players, or the segments that were given in their place."""
    if segments is None:
        return players
    if not (players is None or (isinstance(players, str) and players == "segments")):
        raise InvalidInput(f"players is {players!r:.40} and segments are given too; leave one of them out")
    return f"segments:{segments}" if isinstance(segments, int) else np.asarray(segments)


def _read_as(
    given: Any, model: Any, tokenizer: Any, reading: Mapping[str, Any]
) -> tuple[Any, TextModel | ImageModel | StringModel, tuple[str, ...]]:
    """The input and its model, and what is said where a string could be a text or the name of a picture.

    A string that names a picture is one, unless its model reads text.
    """
    from accredit.models.pictures import is_picture_file, names_a_picture, open_picture

    there = isinstance(given, str) and is_picture_file(given)
    named = there or (isinstance(given, str) and names_a_picture(given))
    if named and not hasattr(tokenizer, "tokenize") and not reads_strings(model):
        if not there and model is None:
            open_picture(given)  # says that there is no such file
        loaded = loaded_model(Path(given), model, tokenizer, **reading)
        if not _reads_words(loaded):
            said = f"{given!r} names a file, so the picture in it was explained; with a text model its words would be."
            return Path(given), loaded, (said,) if model is None else ()
    else:
        loaded = loaded_model(given, model, tokenizer, **reading)
    also = f"{given!r} is also the name of a picture file; {loaded.name} reads text, so the words were explained."
    return given, loaded, (also,) if there and _reads_words(loaded) else ()


def _reads_words(model: Any) -> bool:
    return isinstance(model, StringModel) or _reads_tokens(model)


def explain_answer(
    prompt: Any = None,
    model: Any = None,
    tokenizer: Any = None,
    *,
    methods: Sequence[str] | str | None = None,
    announce: Announce | None = None,
    store: str | Path | None = None,
    **settings: Any,
) -> Explanation:
    """Which parts of a prompt earned what a language model said: the whole answer, each sentence and each token of it.

    The prompt is a text, chat messages, token ids, or `context=[passages], query=…`. `model` is None (the built-in one, which
    knows facts about a few people), a folder, a transformers model with its `tokenizer` or a pipeline of the two, or a
    function of (prompts, answer) that returns log-probabilities.

    `answer` is a text or token ids; `generate` is True, a number of new tokens, or settings of `model.generate`: greedy unless
    they say otherwise. `rather_than` is another answer: then the payoff is this one's minus the other's. `players` are
    passages, sentences, paragraphs, turns, examples, words, tokens, a list of passages, or names with strings or spans of
    characters; `fixed` are strings or spans that never play, like the template and special tokens. Parts leave by `removal`:
    "rebuild" (the default), "attention", or "filler" with `filler='…'`. `payoff` is "log-probability", "mean" (per token) or
    "probability". `target` is answer, sentences or tokens: what has credit of its own; see `.of(name)`. `memory` bounds the
    bytes of one pass, `batch` its rows. `template`, `separator` and `chat` say how a context becomes a prompt. `prefix` is what
    an encoder–decoder has said so far: its words or tokens play too. `store` is a file that keeps every payoff, so that a run
    that was stopped goes on where it was. Settings of gradients and of attention are those of `explain`.

    >>> facts = ["Anna lives in Rome .", "Boris owns a dog ."]
    >>> e = explain_answer(context=facts, query="Where does Anna live ?", methods="shapley")
    >>> e.said.text, e["shapley"].top(1).players, round(e.of("Rome")["shapley"][facts[0]], 1)
    ('Anna lives in Rome .', ('Anna lives in Rome .',), 2.5)
    """
    asked = find_all(FOR_ANSWERS if methods is None else methods, "explain")
    taken = settings_for(asked, {name: settings.pop(name) for name in SETTINGS if name in settings})
    if store is None:
        subject = answer_subject(answering_model(model, tokenizer), prompt, **settings)
        return explained_by(replace(subject, settings=taken), asked, announce)
    from accredit.store import Journal

    with closing(Journal(store)) as journal:
        subject = answer_subject(answering_model(model, tokenizer), prompt, journal=journal, **settings)
        return explained_by(replace(subject, settings=taken), asked, announce)


def answering_model(model: Any, tokenizer: Any = None) -> Any:
    """The model to ask, from whatever names it; a function of prompts stays as it is."""
    if tokenizer is None and reads_strings(model):
        return model
    with needs("text", "explaining an answer"):
        import torch  # noqa: F401  what loads and asks models needs it
    from accredit.models import as_answering_model, load_text_model
    from accredit.models.builtin import answers_folder

    if tokenizer is None and hasattr(model, "state_dict"):
        raise InvalidInput(
            f"{type(model).__name__} came without its tokenizer; write explain(prompt, model, tokenizer, answer=…)"
        )
    if model is None:
        built_in = load_text_model(answers_folder())
        built_in.name = "built-in answering model"
        return as_answering_model(built_in)
    return as_answering_model(load_text_model(model) if isinstance(model, str | Path) else model, tokenizer)


def _are_rows(given: Any, model: Any, background: Any) -> bool:
    """Are these rows of a table? A frame is; an array is where its model reads rows, or other rows come with it."""
    if background is not None:
        return True
    if isinstance(given, str | Path) or (isinstance(given, tuple) and any(isinstance(one, str) for one in given)):
        return False
    if isinstance(given, Mapping) or hasattr(given, "iloc"):
        return True
    from accredit.models.rows import reads_rows

    return reads_rows(model)


def _explained_rows(
    rows: Any, model: Any, background: Any, methods: Sequence[str] | str | None, executor: str | None = None,
    out: str | Path | None = None, **settings: Any,
) -> TableExplanation:  # fmt: skip
    from accredit.explanation.table_run import explain_parts, table_run

    chosen = find_all(("shapley",) if methods is None else methods, "game")
    if len(chosen) > 1:
        raise InvalidInput(
            f"rows of a table are explained by one method at a time, and {len(chosen)} are named; write "
            f"methods={chosen[0].name!r}"
        )
    if executor is not None and not isinstance(executor, str):
        raise InvalidInput(
            f"executor is {executor!r:.40}; write serial, processes, processes:4, dask or dask:tcp://host:8786"
        )
    if model is None:
        raise InvalidInput("model is missing; rows need the model that read them: explain(rows, model, background=…)")
    unknown = next((name for name in settings if name not in ROW_SETTINGS), None)
    if unknown is not None:
        raise InvalidInput(f"{unknown} is not a setting of rows; the settings are {', '.join(sorted(ROW_SETTINGS))}")
    target = settings.pop("target")
    run = table_run(rows, model, background, method=chosen[0].name, **settings)
    with progress("explain", len(run.whole.rows)) as bar:
        return explain_parts(run, target=target, executor=executor or "serial", out=out, watch=bar.update)


def asked_methods(methods: Sequence[str] | str | None, model: Any = None) -> list[Chosen]:
    """The methods by their names, each once; or the usual ones for a model."""
    usual = FOR_STRINGS if isinstance(model, StringModel) else DEFAULT
    return find_all(usual if methods is None else methods, "explain")


def _followed(
    stream: Iterator[Event], asked: Mapping[str, int], bar: Progress, announce: Announce | None
) -> Explanation:
    """Read a stream to its end, draw how far it is, and say what it will cost once that can be told and is much.

    `asked` is the number of payoffs that each method will ask.
    """
    total, before, began = sum(asked.values()), 0, time.monotonic()
    for event in stream:
        if isinstance(event, Progressed):
            done, elapsed = before + event.done, time.monotonic() - began
            bar.update(done, event.method)
            if announce is not None and done and elapsed >= ENOUGH:
                expected = elapsed * total / done
                if expected >= LONG:
                    announce(f"about {total:,} payoffs, {expected:.0f} s")
                announce = None
        elif isinstance(event, Done | Refused):
            before += asked[event.method]
            bar.update(before, event.method)
        elif isinstance(event, Explained):
            return event.explanation
    raise AssertionError("a stream ends with Explained")


def loaded_model(
    subject: Any, model: Any, tokenizer: Any = None, **reading: Any
) -> TextModel | ImageModel | StringModel:
    """The model to explain, from whatever names it. `reading` is how pictures are prepared for it, where it does not say."""
    found = _loaded_model(subject, model, tokenizer, reading)
    unread = reading and (_reads_words(found) or isinstance(model, str | Path) or model is None)
    if unread:
        name = next(iter(reading))
        what = "it reads text" if _reads_words(found) else "its image processor says how pictures are prepared"
        raise InvalidInput(f"{name} is for pictures and networks without an image processor; {found.name}: {what}")
    return found


def _loaded_model(
    subject: Any, model: Any, tokenizer: Any, reading: Mapping[str, Any]
) -> TextModel | ImageModel | StringModel:
    text = isinstance(subject, str | tuple)
    if text and tokenizer is None and reads_strings(model):
        return as_string_model(model)
    with needs("text", "explaining a text or a picture"):
        import torch  # noqa: F401  what loads and asks models needs it
    from accredit.models import ImageModel, TextModel, as_image_model, as_text_model, load_model, load_text_model

    if isinstance(model, TextModel):
        return model
    if isinstance(model, ImageModel):
        return as_image_model(model, **reading)
    if model is None:
        if isinstance(subject, tuple):
            raise InvalidInput(
                "the built-in model reads one text, and a pair was given; name a model of pairs: model=…"
            )
        return builtin_model("text" if isinstance(subject, str) else "image")
    if isinstance(model, str | Path):
        return load_text_model(model) if text else load_model(model)
    looks = getattr(getattr(model, "model", model), "main_input_name", "input_ids" if text else "pixel_values")
    picture = looks == "pixel_values"
    return as_image_model(model, tokenizer, **reading) if picture else as_text_model(model, tokenizer)


def builtin_model(kind: str) -> TextModel | ImageModel:
    """The small model that ships with accredit, for texts or for pictures."""
    from accredit.models import load_image_model, load_text_model
    from accredit.models.builtin import text_folder, vision_folder

    loaded = load_text_model(text_folder()) if kind == "text" else load_image_model(vision_folder())
    loaded.name = "built-in sentiment model" if kind == "text" else "built-in clothes model"
    return loaded


def subject_of(
    model: TextModel | ImageModel | StringModel,
    given: Any,
    *,
    players: Any = None,
    removal: Any = None,
    cut: bool = False,
    prefix: str = "",
    **settings: Any,
) -> Subject:
    """One input of one model, its tokens or pixels dealt out to players. `settings` are target, payoff, budget and seed."""
    if isinstance(players, str):
        players = singular(players, UNITS)
    if isinstance(model, StringModel) or _reads_tokens(model):
        if not isinstance(given, str | tuple):
            what = f"the file {given.name!r}" if isinstance(given, Path) else f"a {type(given).__name__}"
            raise InvalidInput(
                f"{model.name} reads text, and {what} was given; give one string, or a pair (text, pair)"
            )
        if for_pictures(players):
            raise InvalidInput(
                f"players is {players!r:.40}, which is for pictures; write 'word', 'token' or 'sentence'"
            )
        if removal is not None and not isinstance(removal, str):
            raise InvalidInput(f"removal is {removal!r:.40}; for text write mask, delete, attention, pad or zero")
        options: dict[str, Any] = {"removal": removal, "cut": cut, "prefix": prefix, **settings}
        return text_subject(model, given, players=players or "word", **options)
    if isinstance(given, list | tuple):
        raise InvalidInput(
            f"a {type(given).__name__} of {len(given)} was given, and one picture is explained at a time; for many, put the "
            "files into one folder and write accredit explain FOLDER --out rows.jsonl"
        )
    if isinstance(players, Mapping) or (isinstance(players, str) and players in UNITS):
        raise InvalidInput(
            f"players is {players!r:.40}, which is for text; for a picture write 'patches', 'segments:40', 'pixels' or a grid "
            "(rows, columns)"
        )
    return image_subject(cast("ImageModel", model), given, players=players, removal=removal, **settings)


def _reads_tokens(model: Any) -> TypeGuard[TextModel]:
    from accredit.models import TextModel

    return isinstance(model, TextModel)
