"""Models from whatever names them, and one input of a model dealt out to players."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from accredit import defaults
from accredit.answers.hosted_model import HostedModel
from accredit.answers.server import is_url
from accredit.checks import needs
from accredit.checks.numbers import a_type, shown
from accredit.checks.suggestions import nearest, singular
from accredit.errors import InvalidInput
from accredit.explanation.requests import Settings
from accredit.explanation.subject import Subject, image_subject, text_subject
from accredit.models.encoded import UNITS
from accredit.models.pixels import for_pictures
from accredit.models.strings import StringModel, as_string_model, reads_strings

if TYPE_CHECKING:
    from accredit.models import ImageModel, TextModel
    from accredit.models.payoffs import Payoff


EXPLAINING = "explaining a text or a picture"  # what torch is needed for


def read_as(
    given: object, model: object, tokenizer: object, reading: Settings, read: object = None
) -> tuple[object, TextModel | ImageModel | StringModel, tuple[str, ...]]:
    """The input and its model, and what is said where a string could be a text or the name of a picture.

    A string that names a picture is one, unless its model reads text. `read` is what was read of the model before.
    """
    from accredit.models.pictures import is_picture_file, names_a_picture, open_picture

    found = model if read is None else read
    there = isinstance(given, str) and is_picture_file(given)
    named = there or (isinstance(given, str) and names_a_picture(given))
    if named and isinstance(given, str) and not hasattr(tokenizer, "tokenize") and not reads_strings(found):
        if not there and model is None:
            open_picture(given)  # says that there is no such file
        loaded = load_model(Path(given), found, tokenizer, **reading)
        if not reads_words(loaded):
            said = f"{given!r} names a file, so the picture in it was explained; with a text model its words would be."
            return Path(given), loaded, (said,) if model is None else ()
    else:
        loaded = load_model(given, found, tokenizer, **reading)
    also = f"{given!r} is also the name of a picture file; {loaded.name} reads text, so the words were explained."
    return given, loaded, (also,) if there and reads_words(loaded) else ()


def reads_words(model: object) -> bool:
    """Does this model read text, and not pictures?"""
    return isinstance(model, StringModel) or _reads_tokens(model)


def answering_model(model: object, tokenizer: object = None, server: Mapping[str, Any] | None = None) -> object:
    """The model to ask, from whatever names it; a function of prompts stays as it is. `server` are settings of one at a URL."""
    if is_url(model):
        return hosted_model(model, tokenizer, server or {})
    if server is not None:
        raise InvalidInput(
            f"server is {shown(dict(server))}, and the model is not at a URL; write model='http://127.0.0.1:8000/v1', or leave "
            "server out",
            argument="server",
            code="misplaced",
        )
    if isinstance(model, HostedModel):
        return model if tokenizer is None else replace(model, tokenizer=tokenizer)
    if tokenizer is None and reads_strings(model):
        return model
    with needs("text", "explaining an answer"):
        import torch  # noqa: F401  what loads and asks models needs it
    from accredit.answers import as_answering_model
    from accredit.models import load_text_model
    from accredit.models.builtin import answers_folder

    if tokenizer is None and hasattr(model, "state_dict"):
        raise InvalidInput(
            f"{type(model).__name__} came without its tokenizer; write explain(prompt, model, tokenizer, answer=…)",
            argument="tokenizer",
            code="missing",
        )
    if model is None:
        built_in = load_text_model(answers_folder())
        built_in.name = "built-in answering model"
        return as_answering_model(built_in)
    return as_answering_model(load_text_model(model) if isinstance(model, str | Path) else model, tokenizer)


def hosted_model(url: object, tokenizer: object, server: Mapping[str, Any]) -> HostedModel:
    """The model at a URL, with its settings by name."""
    known = [each.name for each in fields(HostedModel) if each.name != "url"]
    for name in server:
        if name not in known:
            near = nearest(str(name), known)
            meant = f"did you mean {near}?" if near else f"its settings are {', '.join(known)}"
            raise InvalidInput(
                f"server holds {name!r:.40}; {meant}",
                argument="server",
                code="unknown",
            )
    return HostedModel(**({"tokenizer": tokenizer} | dict(server) | {"url": url}))  # type: ignore[arg-type]


def load_model(
    subject: object, model: object, tokenizer: object = None, **reading: Any
) -> TextModel | ImageModel | StringModel:
    """The model to explain, from whatever names it. `reading` is how pictures are prepared for it, where it does not say."""
    found = _load_model(subject, model, tokenizer, reading)
    unread = reading and (reads_words(found) or isinstance(model, str | Path) or model is None)
    if unread:
        name = next(iter(reading))
        what = "it reads text" if reads_words(found) else "its image processor says how pictures are prepared"
        raise InvalidInput(
            f"{name} is for pictures and networks without an image processor; {found.name}: {what}",
            argument=name,
            code="misplaced",
        )
    return found


def _load_model(subject: object, model: object, tokenizer: object, reading: Settings) -> TextModel | ImageModel | StringModel:
    text = isinstance(subject, str | tuple)
    if model is None:
        if tokenizer is not None:
            raise InvalidInput(
                "tokenizer is given without its model; write explain(text, model, tokenizer), or leave it out",
                argument="tokenizer",
                code="misplaced",
            )
        if isinstance(subject, tuple):
            raise InvalidInput(
                "the built-in model reads one text, and a pair was given; name a model of pairs: model=…",
                argument="model",
                code="unsupported",
            )
        return builtin_model("text" if text else "image")
    if text and tokenizer is None and reads_strings(model):
        return as_string_model(model)
    with needs("text", EXPLAINING):
        import torch  # noqa: F401  what loads and asks models needs it
    from accredit.models import ImageModel, TextModel, as_image_model, as_text_model, load_model, load_text_model

    if isinstance(model, TextModel):
        return model
    if isinstance(model, ImageModel):
        return as_image_model(model, **reading)
    if isinstance(model, str | Path):
        return load_text_model(model) if text else load_model(model)
    looks = getattr(getattr(model, "model", model), "main_input_name", "input_ids" if text else "pixel_values")
    picture = looks == "pixel_values"
    return as_image_model(model, tokenizer, **reading) if picture else as_text_model(model, tokenizer)


def builtin_model(kind: str) -> TextModel | ImageModel:
    """The small model that ships with accredit, for texts or for pictures."""
    with needs("text", EXPLAINING):
        import torch  # noqa: F401
    from accredit.models import load_image_model, load_text_model
    from accredit.models.builtin import text_folder, vision_folder

    loaded = load_text_model(text_folder()) if kind == "text" else load_image_model(vision_folder())
    loaded.name = "built-in sentiment model" if kind == "text" else "built-in clothes model"
    return loaded


def subject_of(
    model: TextModel | ImageModel | StringModel,
    given: object,
    *,
    players: Any = None,
    removal: object = None,
    cut: bool = False,
    prefix: str = "",
    target: str | int | None = None,
    payoff: Payoff | None = None,
    budget: int | None = None,
    seed: int = 0,
) -> Subject:
    """One input of one model, its tokens or pixels dealt out to players."""
    a_unit = isinstance(players, str) and players in UNITS
    if isinstance(players, str) and not a_unit:
        players = singular(players, UNITS)
    if isinstance(model, StringModel) or _reads_tokens(model):
        if not isinstance(given, str | tuple):
            what = f"the file {given.name!r}" if isinstance(given, Path) else f"{a_type(given)}"
            raise InvalidInput(
                f"{model.name} reads text, and {what} was given; give one string, or a pair (text, pair)",
                argument="given",
                code="type",
            )
        if not a_unit and for_pictures(players):
            raise InvalidInput(
                f"players is {players!r:.40}, which is for pictures; write 'word', 'token' or 'sentence'",
                argument="players",
                code="misplaced",
            )
        if removal is not None and not isinstance(removal, str):
            raise InvalidInput(
                f"removal is {removal!r:.40}; for text write mask, delete, attention, pad or zero",
                argument="removal",
                code="type",
            )
        return text_subject(
            model,
            given,
            players=defaults.PLAYERS_OF_TEXTS if players is None else players,
            target=target,
            payoff=payoff,
            removal=removal,
            cut=cut,
            prefix=prefix,
            budget=budget,
            seed=seed,
        )
    if isinstance(given, list | tuple):
        raise InvalidInput(
            f"{a_type(given)} of {len(given)} was given, and one picture is explained at a time; for many, "
            "call an Explainer on each: [explainer(picture) for picture in pictures]",
            argument="given",
            code="unsupported",
        )
    if isinstance(players, Mapping) or (isinstance(players, str) and players in UNITS):
        raise InvalidInput(
            f"players is {players!r:.40}, which is for text; for a picture write 'patches', 'segments:40', 'pixels' or a grid "
            "(rows, columns)",
            argument="players",
            code="misplaced",
        )
    return image_subject(
        cast("ImageModel", model),
        given,
        players=players,
        target=target,
        payoff=payoff,
        removal=removal,
        budget=budget,
        seed=seed,
    )


def _reads_tokens(model: object) -> TypeGuard[TextModel]:
    from accredit.models import TextModel

    return isinstance(model, TextModel)
