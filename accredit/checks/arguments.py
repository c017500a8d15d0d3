"""Plain arguments, checked from their annotations before anything else happens: numbers, texts, games, arrays, results.

A function says in its signature what it takes; `check_arguments` holds callers to it, with an error that names the argument
and shows the value. Ranges are the function's own business. Arguments that go unused are checked too: a seed that is not a
number is a mistake even where nothing is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import lru_cache, wraps
from inspect import signature
from sys import modules
from types import UnionType
from typing import Any, Literal, ParamSpec, TypeVar, cast, get_args, get_origin

import numpy as np

from accredit.checks.files import as_path
from accredit.checks.numbers import (
    MOST,
    check_seed,
    check_text,
    finite_numbers,
    real_number,
    shown,
    truths,
    whole_number,
)
from accredit.errors import InvalidInput

P = ParamSpec("P")
R = TypeVar("R")


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """The function, refusing arguments that are not what its annotations say.

    >>> @check_arguments
    ... def half(number: float) -> float:
    ...     return number / 2
    >>> half(6)
    3.0
    >>> half("6")
    Traceback (most recent call last):
    accredit.errors.InvalidInput: number must be one number, got '6'; write for example number=0.5
    """
    takes = signature(function)

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        given = takes.bind(*args, **kwargs)
        for name, value in given.arguments.items():
            note = str(takes.parameters[name].annotation)
            given.arguments[name] = check_as(value, name, note, function.__globals__)  # type: ignore[attr-defined]
        return function(*given.args, **given.kwargs)

    return cast(Callable[P, R], called)


def check_fields(settings: Any) -> None:
    """The same for the fields of a frozen dataclass, from its `__post_init__`."""
    known = vars(modules[type(settings).__module__])
    for field in fields(settings):
        check_as(getattr(settings, field.name), field.name, str(field.type), known)


def check_as(value: Any, name: str, note: str, known: Mapping[str, Any]) -> Any:
    """A value as an annotation says; of what is inside a list or a mapping, only its being one is checked."""
    kinds = _kinds(note)
    if value is None and "None" in kinds:
        return None
    kinds = tuple(kind for kind in kinds if kind != "None")
    classes = tuple(known[kind] for kind in kinds if _tells(known.get(kind)) and kind not in PLAIN)
    if classes and isinstance(value, classes):
        if isinstance(value, type):  # it has the methods of a protocol, but nobody to call them on
            raise InvalidInput(
                f"{name} is the class {value.__name__}; give one that is made, as in {made(value)}", argument=name
            )
        return value
    choices = [choice for kind in kinds if get_origin(known.get(kind)) is Literal for choice in get_args(known[kind])]
    if choices and all(get_origin(known.get(kind)) is Literal for kind in kinds) and not _among(value, choices):
        raise InvalidInput(f"{name} is {shown(value)}; write {' or '.join(map(repr, choices))}", argument=name, code="type")
    kinds = tuple("Callable" if kind not in PLAIN and get_origin(known.get(kind)) is Callable else kind for kind in kinds)
    plain = [kind for kind in kinds if kind in PLAIN]
    if len(plain) == 1 and len(plain) + len(classes) == len(kinds):
        return PLAIN[plain[0]](value, name)
    if classes and len(classes) == len(kinds):
        raise InvalidInput(
            f"{name} is {shown(value)}, of type {type(value).__name__}; give "
            f"{' or '.join(_a(kind) for kind in _each(classes))}",
            argument=name,
        )
    return value


@lru_cache
def _kinds(note: str) -> tuple[str, ...]:
    """The alternatives of an annotation, without what their brackets say.

    >>> _kinds("Sequence[str | int] | None"), _kinds("tuple[float, ...]")
    (('Sequence', 'None'), ('numbers',))
    """
    if note in ("tuple[float, ...]", "Sequence[float]"):
        return ("numbers",)
    note = (
        note.replace("tuple[str, ...]", "texts")
        .replace("Sequence[str]", "words")
        .replace("tuple[int, ...]", "wholes")
        .replace("str | Path", "path")
    )
    while note != (shorter := re.sub(r"\[[^\[\]]*\]", "", note)):
        note = shorter
    return tuple(kind.strip() for kind in note.split("|"))


def _among(value: Any, choices: list[Any]) -> bool:
    return any(type(value) is type(choice) and value == choice for choice in choices)


def _tells(kind: Any) -> bool:
    """Whether `isinstance` can be asked about it: a class, or a protocol that says so."""
    try:
        isinstance(object(), kind)
    except TypeError:  # a list of strings, a protocol that cannot be asked
        return False
    return isinstance(kind, type | UnionType) and kind is not Any


def _whole(given: Any, name: str) -> int:
    return check_seed(given) if name == "seed" else whole_number(given, name, -MOST, example=10)


def _flag(given: Any, name: str) -> bool:
    if not isinstance(given, bool | np.bool_):
        raise InvalidInput(f"{name} is {shown(given)}; write {name}=True or {name}=False", argument=name, code="type")
    return bool(given)


def _callable(given: Any, name: str) -> Any:
    if not callable(given):
        raise InvalidInput(f"{name} is {shown(given)}; give a function", argument=name, code="type")
    return given


def _method(given: Any, name: str) -> Any:
    """A function of a game. Solvers are classes with a method that is one."""
    kind = given if isinstance(given, type) else type(given)
    if hasattr(kind, "solve"):
        raise InvalidInput(
            f"{name} is {shown(given)}; give a function of a game, as in {made(kind)}.solve", argument=name, code="type"
        )
    if isinstance(given, type):
        raise InvalidInput(
            f"{name} is the class {kind.__name__}; give a function of a game, as in {name}=shapley", argument=name, code="type"
        )
    return _callable(given, name)


def made(kind: type) -> str:
    """How one of a class is made, in a message.

    >>> from accredit.values import Differences, Exact
    >>> made(Exact), made(Differences)
    ('Exact()', 'Differences(budget=1000)')
    """
    takes = signature(kind).parameters.values()
    needed = [one.name for one in takes if one.default is one.empty and one.name != "budget"]
    given = [f"{name}=…" for name in needed] + ["budget=1000"] * any(one.name == "budget" for one in takes)
    return f"{kind.__name__}({', '.join(given)})"


def _several(given: Any, name: str) -> Any:
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name} is {shown(given)}; give a list", argument=name, code="type")
    return given


def _read_list(given: Any, name: str) -> Any:
    if isinstance(given, str) or not hasattr(given, "__len__") or not hasattr(given, "__getitem__"):
        raise InvalidInput(f"{name} is {shown(given)}; give a list", argument=name, code="type")
    return _several(given, name)


def _mapping(given: Any, name: str) -> Any:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{name} is {shown(given)}; write a mapping, as in {{'name': …}}", argument=name, code="type")
    return given


def _row(given: Any, name: str) -> Any:
    if finite_numbers(given, name).ndim != 1:
        raise InvalidInput(f"{name} is {shown(given)}; give a row of numbers, as in (0.25, 0.5)", argument=name, code="type")
    return given


def _path(given: Any, name: str) -> Any:
    """As it was written: a `Path` forgets a dot before it and a stroke after it, which say that it is not a name or a file."""
    as_path(given, name)
    return given


def _texts(given: Any, name: str) -> Any:
    if not isinstance(given, list | tuple) or not all(isinstance(item, str) for item in given):
        raise InvalidInput(f"{name} is {shown(given)}; give a list of strings", argument=name, code="type")
    return tuple(given)


def _words(given: Any, name: str) -> Any:
    for k, item in enumerate(_read_list(given, name)):
        if not isinstance(item, str):
            raise InvalidInput(f"{name}[{k}] is {shown(item)}; give a list of strings", code="type")
    return given


def _wholes(given: Any, name: str) -> Any:
    if not isinstance(given, list | tuple):
        raise InvalidInput(f"{name} is {shown(given)}; give a list of whole numbers, as in (1, 2)", argument=name, code="type")
    return tuple(whole_number(item, f"{name}[{k}]", -MOST, example=1) for k, item in enumerate(given))


def _each(classes: tuple[Any, ...]) -> list[str]:
    """The names of classes; a union is what it is made of."""
    return [part.__name__ for kind in classes for part in (kind.__args__ if isinstance(kind, UnionType) else (kind,))]


def _a(kind: str) -> str:
    example = f", for example {EXAMPLES[kind]}" if kind in EXAMPLES else ""
    return f"{'an' if kind[0] in 'AEIO' else 'a'} {kind}{example}"


EXAMPLES = {"Solver": "Exact() or Differences(budget=1000)"}  # of protocols, which nobody can make


# What an annotation of this name takes; the vocabulary of games adds its own (`core.game`).
PLAIN: dict[str, Callable[[Any, str], Any]] = {
    "int": _whole,
    "float": real_number,
    "str": check_text,
    "bool": _flag,
    "Method": _method,
    "Callable": _callable,
    "Statistic": _callable,
    "Iterable": _several,
    "Sequence": _read_list,
    "Mapping": _mapping,
    "dict": _mapping,
    "numbers": _row,
    "texts": _texts,
    "words": _words,
    "wholes": _wholes,
    "path": _path,
    "FloatArray": finite_numbers,
    "BoolArray": truths,
    "npt.ArrayLike": finite_numbers,
}
