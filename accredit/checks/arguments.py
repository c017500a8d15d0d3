"""Plain arguments, checked from their annotations before anything else happens: numbers, texts, games, arrays, results.

A function says in its signature what it takes; `check_arguments` holds callers to it, with an error that names the argument
and shows the value. Ranges are the function's own business. Arguments that go unused are checked too: a seed that is not a
number is a mistake even where nothing is drawn.

Annotations are resolved at the first call, once. Not checked are: names that a module imports for type checkers only
(`Unseen`); type variables; what has brackets and no check of its own (`tuple[int, str]`); classes for which others do as well
(`LOOSE`); and `Annotated[…, OWN_CHECK]`, where the function itself has more to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial, wraps
from inspect import BoundArguments, Signature, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np
import numpy.typing as npt

from accredit.checks.annotations import Unseen, read_hints
from accredit.checks.files import as_path
from accredit.checks.numbers import (
    MOST,
    BoolArray,
    FloatArray,
    check_seed,
    check_text,
    finite_numbers,
    real_number,
    shown,
    truths,
    whole_number,
)
from accredit.checks.suggestions import did_you_mean
from accredit.errors import Code, InvalidInput

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

P = ParamSpec("P")
R = TypeVar("R")
Check = Callable[[object, str], object]  # a value and the name of its argument: the value as it is used, or an error
LOOSE = ("builtins", "numpy", "torch")  # of their classes others do as well: a list for a tuple or an array
OWN_CHECK = "checked by the function itself"  # Annotated[Mapping[str, int], OWN_CHECK]


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
        given, expected = _bind(function, takes, args, kwargs), _expected(function)
        for name, value in given.arguments.items():
            if name in expected:
                given.arguments[name] = expected[name].check(value, name)
        return function(*given.args, **given.kwargs)

    return called


def _bind(
    function: Callable[..., object], takes: Signature, args: Sequence[object], settings: Mapping[str, object]
) -> BoundArguments:
    """The arguments by name; where the call does not fit the function, an error that names what is too much or missing."""
    try:
        return takes.bind(*args, **settings)
    except TypeError as error:
        called, known = getattr(function, "__name__", "the function"), list(takes.parameters)
        for name in settings:
            if name not in known:
                meant = did_you_mean(name, known) or f"; its arguments are {', '.join(known)}"
                raise InvalidInput(f"{name} is not an argument of {called}{meant}", argument=name, code="unknown") from None
        for name, one in takes.parameters.items():
            if one.default is one.empty and name not in known[: len(args)] and name not in settings:
                raise InvalidInput(f"{called}: {name} is missing; write {name}=…", argument=name, code="missing") from None
        named = [f"{name}=…" for name, one in takes.parameters.items() if one.kind is one.KEYWORD_ONLY]
        remedy = (
            f"; write the others by their names: {', '.join(named)}" if named else f"; its arguments are {', '.join(known)}"
        )
        raise InvalidInput(f"{called}: {error}{remedy}", code="too-many") from None


def check_fields(settings: DataclassInstance) -> None:
    """The same for the fields of a frozen dataclass, from its `__post_init__`."""
    expected = _expected(type(settings))
    for field in fields(settings):
        expected[field.name].check(getattr(settings, field.name), field.name)


@dataclass(frozen=True)
class Expected:
    """What an annotation says: whether None will do, the classes whose instances pass as they are, and a check of the rest."""

    optional: bool
    classes: tuple[type, ...]
    otherwise: Check

    def check(self, value: object, name: str) -> object:
        """A value as the annotation says; of what is inside a list or a mapping, only its being one is checked."""
        if value is None and self.optional:
            return None
        if not isinstance(value, self.classes):
            return self.otherwise(value, name)
        if isinstance(value, type):  # it has the methods of a protocol, but nobody to call them on
            raise InvalidInput(
                f"{name} is the class {value.__name__}; give one that is made, as in {made(value)}", argument=name, code="type"
            )
        return value


@cache
def _expected(annotated: Callable[..., object] | type) -> dict[str, Expected]:
    usual = {name: one.default for name, one in signature(annotated).parameters.items()}
    return {name: _with_example(expect(hint), usual.get(name)) for name, hint in read_hints(annotated).items()}


def _with_example(expected: Expected, usual: object) -> Expected:
    """A number that is refused is answered with the one that is usual here."""
    if expected.otherwise is _whole and type(usual) is int:
        return replace(expected, otherwise=partial(_whole, example=usual))
    if expected.otherwise is real_number and type(usual) is float:
        return replace(expected, otherwise=partial(real_number, example=usual))
    return expected


def expect(hint: object) -> Expected:
    """What an annotation says, as a check.

    >>> expect(int | None).check(None, "count"), expect(Sequence[str]).check(["a"], "names")
    (None, ['a'])
    >>> expect(int | str).check(2.5, "not checked: there are two ways to read it")
    2.5
    """
    optional, kinds = _alternatives(hint)
    checks = [check for kind in kinds if (check := _check_of(kind))]
    classes = tuple(kind for kind in kinds if isinstance(kind, type) and not _check_of(kind) and _can_ask(kind))
    otherwise: Check = _pass
    if all(get_origin(kind) is Literal for kind in kinds):
        otherwise = partial(_choice, [choice for kind in kinds for choice in get_args(kind)])
    elif len(checks) <= 1 and len(checks) + len(classes) == len(kinds):
        otherwise = checks[0] if checks else partial(_refuse, classes)
    return Expected(optional, classes, otherwise)


def _alternatives(hint: object) -> tuple[bool, list[object]]:
    """Whether None is allowed, and the kinds of values that are; a union that has a check of its own is one kind.

    >>> _alternatives(Sequence[str | int] | None)
    (True, [collections.abc.Sequence[str | int]])
    >>> _alternatives(Expected | str | Path)
    (False, [str | pathlib.Path, <class 'accredit.checks.arguments.Expected'>])
    """
    kinds = [*get_args(hint)] if _is_union(hint) else [hint]
    for union in filter(_is_union, CHECKS):
        if {*get_args(union)} <= {*kinds}:
            kinds = [union, *(kind for kind in kinds if kind not in get_args(union))]
    return NoneType in kinds, [kind for kind in kinds if kind is not NoneType]


def _is_union(hint: object) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _check_of(kind: object) -> Check | None:
    """The check of a kind: of exactly this one, or of what stands before the brackets."""
    return CHECKS.get(kind) or CHECKS.get(get_origin(kind))


def _can_ask(kind: type) -> bool:
    """Whether `isinstance` can be asked about a class: protocols have to say so."""
    if kind is Unseen or kind.__module__.partition(".")[0] in LOOSE:
        return False
    try:
        isinstance(object(), kind)
    except TypeError:
        return False
    return True


def _pass(given: object, name: str) -> object:
    return given


def _choice(choices: Sequence[object], given: object, name: str) -> object:
    if not any(type(given) is type(choice) and given == choice for choice in choices):
        code: Code = "unknown" if isinstance(given, str) else "type"
        raise InvalidInput(f"{name} is {shown(given)}; write {' or '.join(map(repr, choices))}", argument=name, code=code)
    return given


def _refuse(classes: Sequence[type], given: object, name: str) -> object:
    wanted = " or ".join(_a(kind.__name__) for kind in classes)
    raise InvalidInput(f"{name} is {shown(given)}, of type {type(given).__name__}; give {wanted}", argument=name, code="type")


def _whole(given: object, name: str, example: int = 10) -> int:
    return check_seed(given) if name == "seed" else whole_number(given, name, -MOST, example=example)


def _flag(given: object, name: str) -> bool:
    if not isinstance(given, bool | np.bool_):
        raise InvalidInput(f"{name} is {shown(given)}; write {name}=True or {name}=False", argument=name, code="type")
    return bool(given)


def check_callable(given: object, name: str) -> object:
    """Something that can be called, or an error that names it."""
    if not callable(given):
        raise InvalidInput(f"{name} is {shown(given)}; give a function", argument=name, code="type")
    return given


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


def _several(given: object, name: str) -> Iterable[object]:
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name} is {shown(given)}; give a list", argument=name, code="type")
    return given


def _read_list(given: object, name: str) -> Iterable[object]:
    if isinstance(given, str) or not hasattr(given, "__len__") or not hasattr(given, "__getitem__"):
        raise InvalidInput(f"{name} is {shown(given)}; give a list", argument=name, code="type")
    return _several(given, name)


def _mapping(given: object, name: str) -> object:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{name} is {shown(given)}; write a mapping, as in {{'name': …}}", argument=name, code="type")
    return given


def _row(given: object, name: str) -> object:
    if finite_numbers(given, name).ndim != 1:
        raise InvalidInput(f"{name} is {shown(given)}; give a row of numbers, as in (0.25, 0.5)", argument=name, code="type")
    return given


def _path(given: object, name: str) -> object:
    """As it was written: a `Path` forgets a dot before it and a stroke after it, which say that it is not a name or a file."""
    as_path(given, name)
    return given


def _texts(given: object, name: str) -> object:
    if not isinstance(given, list | tuple) or not all(isinstance(item, str) for item in given):
        raise InvalidInput(f"{name} is {shown(given)}; give a list of strings", argument=name, code="type")
    return tuple(given)


def _words(given: object, name: str) -> object:
    for k, item in enumerate(_read_list(given, name)):
        if not isinstance(item, str):
            raise InvalidInput(f"{name}[{k}] is {shown(item)}; give a list of strings", argument=name, code="type")
    return given


def _wholes(given: object, name: str) -> object:
    if not isinstance(given, list | tuple):
        raise InvalidInput(f"{name} is {shown(given)}; give a list of whole numbers, as in (1, 2)", argument=name, code="type")
    return tuple(whole_number(item, f"{name}[{k}]", -MOST, example=1) for k, item in enumerate(given))


def _a(kind: str) -> str:
    example = f", for example {EXAMPLES[kind]}" if kind in EXAMPLES else ""
    return f"{'an' if kind[0] in 'AEIO' else 'a'} {kind}{example}"


EXAMPLES = {"Solver": "Exact() or Differences(budget=1000)"}  # of protocols, which nobody can make


# What is done with a value of each kind; rooms that have kinds of their own add them (`core.game`).
CHECKS: dict[object, Check] = {
    int: _whole,
    float: real_number,
    str: check_text,
    bool: _flag,
    str | Path: _path,
    dict: _mapping,
    Mapping: _mapping,
    Callable: check_callable,
    Iterable: _several,
    Sequence: _read_list,
    Sequence[str]: _words,
    Sequence[float]: _row,
    tuple[str, ...]: _texts,
    tuple[int, ...]: _wholes,
    tuple[float, ...]: _row,
    FloatArray: finite_numbers,
    BoolArray: truths,
    npt.ArrayLike: finite_numbers,
}
