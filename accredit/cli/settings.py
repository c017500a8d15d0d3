"""The options of `accredit explain`, made from the fields of the requests, and what is typed read as the library takes it.

A new setting is a new field: its annotation says what may be typed, its words are the help. Only a setting that takes
objects in Python (a table, an array) is named here, with the way to type it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import click

from accredit.cli.options import SEED, Amount, Count, MethodNames, NamedPath
from accredit.cli.output import NewFile
from accredit.cli.typed import groups_of, heads_of, layers_of, parts_of, players_of, removal_of, server_of, split_at_commas
from accredit.errors import InvalidInput
from accredit.explanation.requests import REQUESTS, Kind, Option, Settings, check_names

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas

    from accredit.core import IntArray

P = ParamSpec("P")
R = TypeVar("R")
GIGABYTE = 1 << 30
ALONE = "\0"  # --answer without a word, which nobody can type
TITLES: Mapping[Kind, str] = {
    "text": "Texts",
    "picture": "Pictures",
    "rows": "Rows of a table",
    "series": "Series",
    "answer": "Answers of language models",
}
TYPED: Mapping[str, Mapping[str, Any]] = {  # how a setting is typed that takes more than words and numbers
    "methods": {"type": MethodNames("explain")},
    "seed": {"type": SEED},
    "segments": {"type": NamedPath()},
    "answer": {"is_flag": False, "flag_value": ALONE},
    "generate": {"is_flag": True},
    "fixed": {"multiple": True},
    "confounding": {"is_flag": True},
}


def setting_options(command: Callable[P, R]) -> Callable[P, R]:
    """A command with one option per setting that is offered, whatever the kinds of question that have it."""
    for name, said in reversed(offers().items()):
        command = _option(name, said)(command)
    return command


def offers() -> dict[str, dict[Kind, tuple[Option, object, object]]]:
    """Setting -> kind of question -> how it is offered, its annotation and its default."""
    found: dict[str, dict[Kind, tuple[Option, object, object]]] = {}
    for kind, request in REQUESTS.items():
        hints = get_type_hints(request)
        for field in fields(request):
            if "option" in field.metadata:
                found.setdefault(field.name, {})[kind] = field.metadata["option"], hints[field.name], field.default
    return found


def _option(name: str, said: Mapping[Kind, tuple[Option, object, object]]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    first, hint, default = next(iter(said.values()))
    typed = TYPED.get(name) or _type_of(hint, first)
    if type(default) is int:
        typed = {**typed, "default": default, "show_default": True}
    return click.option(first.flag or f"--{name.replace('_', '-')}", name, help=_help(said), **typed)


def _type_of(hint: object, offer: Option) -> dict[str, Any]:
    """What click is told of a value, from its annotation.

    >>> _type_of(bool, Option("…")), _type_of(Literal["draw", "medoids"] | None, Option("…"))["type"].choices
    ({'is_flag': True}, ('draw', 'medoids'))
    """
    kinds = [one for one in (get_args(hint) if _is_union(hint) else (hint,)) if one is not NoneType]
    if kinds == [bool]:
        return {"is_flag": True}
    if kinds == [int]:
        return {"type": Count(min=None if offer.least is None else int(offer.least))}
    if kinds == [float]:
        least = offer.above if offer.least is None else offer.least
        return {"type": Amount(min=least, min_open=offer.above is not None)}
    if len(kinds) == 1 and get_origin(kinds[0]) is Literal:
        return {"type": click.Choice(get_args(kinds[0]))}
    if Path in kinds:
        return {"type": NewFile()}
    return {"multiple": True} if all(get_args(kind) == (str,) for kind in kinds) else {}


def _is_union(hint: object) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _help(said: Mapping[Kind, tuple[Option, object, object]]) -> str:
    """The words of a setting; where kinds of question differ, those of each."""
    by_words: dict[str, list[Kind]] = {}
    for kind, (offer, _, _) in said.items():
        by_words.setdefault(offer.help, []).append(kind)
    if len(by_words) == 1:
        return next(iter(by_words))
    return " ".join(f"{', '.join(kinds).capitalize()}: {words}" for words, kinds in by_words.items())


# What is typed, read as the library takes it


def read_settings(kind: Kind, typed: Mapping[str, object]) -> Settings:
    """Settings of one kind of question; a name of another kind is refused before any file is opened."""
    check_names(REQUESTS[kind], typed)
    return {name: _read(name, kind, value) for name, value in typed.items()}


def take(options: Mapping[str, object]) -> Settings:
    """The options that were typed, and those that have a value anyway."""
    return {name: value for name, value in options.items() if value is not None and value is not False and value != ()}


def _read(name: str, kind: Kind, value: object) -> object:
    reader = READERS.get((name, kind)) or READERS.get((name, None))
    return value if reader is None else reader(value)


def _segments(file: str) -> IntArray:
    from accredit.models.pictures import read_labels

    return read_labels(file)


def _table(file: str) -> pandas.DataFrame:
    from accredit.store.frames import read_frame

    return read_frame(file)


def _series(file: str) -> object:
    """Series of a file, or the word that stands for them."""
    return file if file in ("zeros", "zero") else read_numbers(file)


def read_numbers(file: str) -> npt.NDArray[Any]:
    """The one array of a .npy file."""
    from accredit.checks.arrays import read_arrays

    found = read_arrays(file)
    if len(found) != 1:
        raise InvalidInput(
            f"{file!r} holds {len(found)} arrays ({', '.join(found)}); save the series alone, as .npy", code="format"
        )
    return next(iter(found.values()))


READERS: Mapping[tuple[str, Kind | None], Callable[[Any], object]] = {
    ("players", "text"): players_of,
    ("players", "picture"): players_of,
    ("players", "rows"): groups_of,
    ("players", "answer"): parts_of,
    ("target", "rows"): lambda target: None if target == "all" else target,
    ("removal", "picture"): removal_of,
    ("baseline", None): removal_of,
    ("heads", None): heads_of,
    ("layers", None): layers_of,
    ("segments", None): _segments,
    ("background", "rows"): _table,
    ("background", "series"): _series,
    ("target", "series"): lambda target: None if target == "all" else target,
    ("trusted", None): split_at_commas,
    ("server", None): server_of,
    ("memory", None): lambda gigabytes: gigabytes * GIGABYTE,
}
