"""`explain`: one call from an input to every method's answer."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np

from accredit.core import AccreditError, Attribution, InvalidInput
from accredit.explanation.methods import DEFAULT, FOR_STRINGS, Recipe, recipe
from accredit.explanation.result import Explanation
from accredit.explanation.subject import Subject, image_subject, picture_of, text_subject, tokens_of
from accredit.models.strings import StringModel, as_string_model, reads_strings

if TYPE_CHECKING:
    from accredit.models import ImageModel, TextModel

LONG = 5.0  # seconds from which a run is announced
PROBE = 8  # payoffs that are timed to tell
Players = str | Mapping[str, Iterable[int]] | tuple[int, int] | None


def explain(
    text_or_image: Any,
    model: Any = None,
    tokenizer: Any = None,
    *,
    methods: Sequence[str] | str | None = None,
    target: str | int | None = None,
    players: Players = None,
    payoff: str | None = None,
    removal: str | float | None = None,
    budget: int | None = None,
    seed: int = 0,
    cut: bool = False,
    prefix: str = "",
    announce: Callable[[str], None] | None = None,
) -> Explanation:
    """Which words of a text, or patches of a picture, earned the model's output: several methods side by side.

    A text is a string, or a pair of strings that the model reads together (premise and hypothesis); a picture is a path, a
    PIL image or an array. `model` is None (the built-in one), a folder, a name in the local cache, a transformers model with
    its `tokenizer` (for pictures: its image processor) or a pipeline of the two, or anything that reads a list of strings: a
    scikit-learn pipeline, a function. `methods` are names from `accredit methods`; flows
    take an information tensor after a colon: "flow:agf". `target` is a label, token or index, by default what the model
    predicts. `players` are "word", "token", "sentence" or named groups of token positions; for pictures the model's patches
    or a grid (rows, columns). `payoff` is "log-odds" (the default), "logit", "probability" or "margin"; `removal` is how
    players leave: see `text_game` and `image_game`. `budget` bounds the payoffs that each game method may ask. A text longer
    than the model reads is refused unless `cut`; `prefix` is what an encoder–decoder has said so far. `announce` is told
    before a long run what it will cost.

    A method that does not apply to this model is listed in `.refused` with the reason.

    >>> explanation = explain("A gripping film.", methods=["leave-one-out"])
    >>> explanation.target, explanation.players
    ('POSITIVE', ('A', 'gripping', 'film', '.'))
    """
    recipes = chosen(methods)
    loaded = loaded_model(text_or_image, model, tokenizer)
    if methods is None and isinstance(loaded, StringModel):
        recipes = chosen(FOR_STRINGS)
    subject = subject_of(loaded, text_or_image, players, target, payoff, removal, cut, prefix)
    subject.budget, subject.seed = budget, seed
    if announce is not None:
        _announce(subject, recipes, announce)
    attributions: dict[str, Attribution] = {}
    refused: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for each in recipes:
        try:
            attributions[each.name], seconds[each.name] = timed(each, subject)
        except AccreditError as error:
            refused[each.name] = str(error)
    if not attributions:
        name, why = next(iter(refused.items()))
        raise InvalidInput(why if len(refused) == 1 else f"none of the methods applies; {name}: {why}")
    return explanation_of(subject, recipes, attributions, refused, seconds)


def timed(each: Recipe, subject: Subject) -> tuple[Attribution, float]:
    """What a method says of a subject, and its seconds; what it imports is not counted."""
    module, name = each.loads
    getattr(import_module(module), name)
    began = time.perf_counter()
    return each.run(subject), time.perf_counter() - began


def chosen(methods: Sequence[str] | str | None) -> list[Recipe]:
    """The recipes of some methods by name, each once, or the default ones."""
    names = DEFAULT if methods is None else methods.split(",") if isinstance(methods, str) else methods
    names = list(dict.fromkeys(str(name).strip() for name in names))
    if not names or names == [""]:
        raise InvalidInput(f"methods is empty; name at least one, for example methods={list(DEFAULT[:2])}")
    return [recipe(name) for name in names]


def loaded_model(subject: Any, model: Any, tokenizer: Any = None) -> TextModel | ImageModel | StringModel:
    """The model to explain, from whatever names it."""
    text = isinstance(subject, str | tuple)
    if text and tokenizer is None and reads_strings(model):
        return as_string_model(model)
    from accredit.models import ImageModel, TextModel, as_image_model, as_text_model, load_model, load_text_model

    if isinstance(model, TextModel | ImageModel):
        return model
    if model is None:
        if isinstance(subject, tuple):
            raise InvalidInput(
                "the built-in model reads one text, and a pair was given; name a model of pairs: model=…"
            )
        return builtin_model("text" if isinstance(subject, str) else "image")
    if isinstance(model, str | Path):
        return load_text_model(model) if text else load_model(model)
    looks = getattr(getattr(model, "model", model), "main_input_name", "input_ids" if text else "pixel_values")
    return as_image_model(model, tokenizer) if looks == "pixel_values" else as_text_model(model, tokenizer)


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
    players: Players = None,
    target: str | int | None = None,
    payoff: str | None = None,
    removal: str | float | None = None,
    cut: bool = False,
    prefix: str = "",
) -> Subject:
    """One input of one model, its tokens or pixels dealt out to players."""
    if isinstance(model, StringModel) or _reads_tokens(model):
        if not isinstance(given, str | tuple):
            raise InvalidInput(
                f"{model.name} reads text, and a {type(given).__name__} was given; give one string, or a pair (text, pair)"
            )
        if isinstance(players, tuple) or players == "patch":
            raise InvalidInput(f"players is {players!r}, which is for pictures; write 'word', 'token' or 'sentence'")
        if isinstance(removal, int | float):
            raise InvalidInput(f"removal is {removal!r}; for text write mask, delete, attention, pad or zero")
        return text_subject(model, given, players or "word", target, payoff, removal, cut, prefix)
    if players == "patch":
        players = None
    if isinstance(players, str | Mapping):
        raise InvalidInput(f"players is {players!r:.40}, which is for text; for a picture give a grid (rows, columns)")
    return image_subject(cast("ImageModel", model), given, players, target, payoff, removal)


def _announce(subject: Subject, recipes: list[Recipe], announce: Callable[[str], None]) -> None:
    """Tell what the game methods will cost, if that is much."""
    asked = sum(each.payoffs(len(subject.players), subject.budget) for each in recipes)
    expected = payoff_seconds(subject, asked)
    if expected >= LONG:
        announce(f"about {asked:,} payoffs, {expected:.0f} s")


def _reads_tokens(model: Any) -> TypeGuard[TextModel]:
    from accredit.models import TextModel

    return isinstance(model, TextModel)


def payoff_seconds(subject: Subject, asked: int, times: int = 1) -> float:
    """About what `times` runs of `asked` payoffs take. A few payoffs show whether a careful estimate is worth its cost."""
    if asked == 0:
        return 0.0
    few = np.random.default_rng(subject.seed).random((PROBE, len(subject.players))) < 0.5
    began = time.perf_counter()
    subject.payoffs.payoff(few)
    rough = (time.perf_counter() - began) / PROBE * asked * times
    return rough if rough < LONG else float(subject.payoffs.estimate(asked).seconds) * times


def notes_on(seen: Any) -> Iterator[str]:
    """What the reader must know of an input as the model reads it."""
    if left_out := getattr(seen, "cut", "").strip():
        yield f"The model did not read all; left out: {left_out!r:.80}"
    if getattr(seen, "pair", None) is not None:
        ends = np.flatnonzero((seen.part == 0) & ~seen.special)[-1], np.flatnonzero((seen.part == 1) & ~seen.special)[0]
        if ends[1] == ends[0] + 1 and (seen.types is None or seen.types[ends[0]] == seen.types[ends[1]]):
            yield "The tokenizer puts nothing between the two texts: the model cannot tell where the second begins."


def explanation_of(
    subject: Subject,
    recipes: list[Recipe],
    attributions: dict[str, Attribution],
    refused: dict[str, str],
    seconds: dict[str, float],
) -> Explanation:
    """What some methods said of a subject, together with what the model said."""
    from accredit.core.version import __version__

    versions: dict[str, str] = {
        name: sys.modules[name].__version__ for name in ("torch", "transformers", "numpy") if name in sys.modules
    }
    game = subject.payoffs
    prediction, unit = subject.prediction()
    name = game.provenance.get("text", game.provenance.get("image", ""))
    return Explanation(
        text=name,
        prediction=prediction,
        target=subject.model.label(game.target),
        players=subject.players,
        methods=tuple(each.name for each in recipes),
        attributions=attributions,
        refused=refused,
        seconds=seconds,
        tokens=tokens_of(subject),
        picture=picture_of(subject),
        flow=next(iter(subject.flows.values()), None),
        unsigned=tuple(each.name for each in recipes if not each.signed),
        payoff=game.worth,
        unit="probability" if unit == "probability" else "value",
        notes=tuple(notes_on(subject.seen)),
        pair=game.provenance.get("pair"),
        provenance={
            "model": subject.model.name, "architecture": game.provenance["architecture"], "players": subject.unit,
            "removal": game.removal, "budget": subject.budget, "seed": subject.seed, "accredit": __version__, **versions,
        },
    )  # fmt: skip
