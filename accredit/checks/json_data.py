"""Plain data: the JSON types and nothing else, so that what is written can be read back without loss and without code."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import numpy as np

from accredit.checks.annotations import read_hints
from accredit.checks.numbers import FloatArray, a_type, check_text, known_fields, real_numbers, shown
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Facts = Mapping[str, Any]  # plain values by name, of any shape: what a result keeps beside its numbers
Value = TypeVar("Value")
Made = TypeVar("Made", bound="DataclassInstance")
DEPTH = 100  # lists and objects within one another
PLAIN: dict[object, type | UnionType] = {
    str: str,
    int: int,
    bool: bool,
    float: int | float,
}  # types of fields that JSON holds as they are
DIGITS = 308  # of a whole number: more would not fit a floating-point number


def plain(value: object, where: str = "value") -> Any:
    """`value` as JSON types: numpy scalars and arrays become numbers and lists, tuples become lists.

    >>> plain({"gap": np.float64(0.5), "cut": (1, 2)})
    {'gap': 0.5, 'cut': [1, 2]}
    """
    try:
        return _plain(value, where)
    except RecursionError:
        raise InvalidInput(
            f"{where[:60]} is nested too deeply, or contains itself; a result keeps what JSON holds", code="unreadable"
        ) from None


def _plain(value: object, where: str) -> Json:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(value, where)
    if isinstance(value, int):
        return _small(int(value), where)
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise InvalidInput(f"{where} is {value}; only finite numbers can be kept in a result", code="not-finite")
        return float(value)
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if isinstance(value, np.ndarray):
        return _plain(real_numbers(value, where) if isinstance(value, np.ma.MaskedArray) else value.tolist(), where)
    if isinstance(value, Mapping):
        return {check_text(str(key), where): _plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    raise InvalidInput(f"{where} is {a_type(value)}; a result keeps only numbers, strings, lists and mappings", code="type")


def plain_mapping(value: object, where: str) -> dict[str, Any]:
    """A mapping as JSON types, or an error that says that it is not one."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{where} is {shown(value)}; write a mapping from names to plain values", code="type")
    found: dict[str, Any] = plain(value, where)
    return found


def read_json(text: str | bytes, what: str) -> Any:
    """JSON text as plain data: UTF-8, each name of an object once, finite numbers, whole characters, nested at most 100 deep.

    `what` says in messages whose JSON it is. The reader of the standard library keeps the last of two equal names, takes NaN
    and 1e999, guesses other encodings, and ends in errors of its own on very long whole numbers.

    >>> read_json('{"a": [1, 2.5]}', "the file")
    {'a': [1, 2.5]}
    """
    try:
        return _walk(
            json.loads(
                _decode(text, what), object_pairs_hook=name_once, parse_float=_float, parse_int=_int, parse_constant=_constant
            )
        )
    except RecursionError:
        raise InvalidInput(f"{what} is nested more than {DEPTH} deep", code="unreadable") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{what} is not JSON: {error}", code="unreadable") from None
    except _NotPlain as error:
        raise InvalidInput(f"{what} {error}", code="unreadable") from None


class _NotPlain(Exception):
    """Why JSON text cannot be plain data."""


def _decode(text: object, what: str) -> str:
    if isinstance(text, bytes | bytearray):
        try:
            return bytes(text).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{what} is not text in UTF-8: {error.reason} at byte {error.start}; save it as UTF-8",
                code="unreadable",
            ) from None
    if not isinstance(text, str):
        raise InvalidInput(f"{what} is {shown(text)}; give the JSON text, a string", code="type")
    return text.removeprefix("\ufeff")


def _float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _NotPlain(f"holds the number {digits[:24]}, which is beyond 1.8e308")
    return number


def _int(digits: str) -> int:
    if len(digits) > DIGITS:
        raise _NotPlain(f"holds a whole number of {len(digits.lstrip('-'))} digits, which is beyond 1.8e308")
    return int(digits)


def _small(number: int, where: str) -> int:
    """A whole number that other programs can read as well."""
    if number.bit_length() > 1023:
        raise InvalidInput(f"{where} is {shown(number)}; the largest number is 1.8e308", code="range")
    return number


def _constant(word: str) -> float:
    raise _NotPlain(f"holds {word}, which is not a number in JSON; write a number or null")


def _walk(data: Json) -> Json:
    """The same data, after a look at every text and at the depth."""
    level: list[Json] = [data]
    for _ in range(DEPTH):
        below: list[Json] = []
        for item in level:
            if isinstance(item, str):
                _whole_characters(item)
            elif isinstance(item, dict):
                below.extend(item)
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return data
        level = below
    raise RecursionError


def _whole_characters(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            half = ascii(text[error.start])
            raise _NotPlain(f"holds {shown(ascii(text), 30)} with {half}, half of a surrogate pair") from None


def read_object(text: str | bytes, kind: str) -> dict[str, Any]:
    """Parse JSON text that must hold one object of the given kind."""
    data = read_json(text, f"{kind} JSON")
    if not isinstance(data, dict) or data.get("kind") != kind:
        seen = data.get("kind") if isinstance(data, dict) else type(data).__name__
        raise InvalidInput(f"expected JSON of kind {kind!r}, got {shown(seen)}; write one with .to_json()", code="type")
    return data


def name_once(pairs: Sequence[tuple[str, Value]]) -> dict[str, Value]:
    """A JSON object; the reader of the standard library would silently keep the last of two equal names."""
    found = dict(pairs)
    if len(found) < len(pairs):
        name = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise InvalidInput(f"the JSON gives {name!r} twice; keep one entry for it", code="duplicate")
    return found


def fields_of(
    kind: type[DataclassInstance],
    data: Mapping[str, object],
    name: str,
    format: int,
    optional: Sequence[str] = (),
    *,
    before: bool = False,
) -> dict[str, Any]:
    """The fields of a dataclass in what its `to_json` wrote: all of them but the `optional` ones, and no other. Another format
    is refused; with `before`, the caller reads the one before as well."""
    if not isinstance(data, Mapping):
        raise InvalidInput(f"data of {name} is {shown(data)}; give the object that .to_json() writes", code="type")
    known_formats = (format - 1, format) if before else (format,)
    if isinstance(data.get("format"), bool) or data.get("format") not in known_formats:
        raise InvalidInput(
            f"{name} data has format {shown(data.get('format'))}; this version reads {' and '.join(map(str, known_formats))}: "
            "write it again with this version",
            code="format",
        )
    known = [field.name for field in fields(kind)]
    known_fields((key for key in data if key not in ("kind", "format")), known, f"{name} JSON")
    missing = [key for key in known if key not in data and key not in optional]
    if missing:
        raise InvalidInput(f"{name} JSON lacks the field {missing[0]!r}; write it again with .to_json()", code="missing")
    for key, hint in read_hints(kind).items():
        if FloatArray in (hint, *get_args(hint)) and _holds_truth(data.get(key)):
            raise InvalidInput(f"{name} JSON is damaged: {key} holds true or false; it must hold numbers", code="unreadable")
    return {key: data[key] for key in known if key in data}


def _holds_truth(value: object) -> bool:
    """Whether there is a true or false in a list of lists, which numpy would take for 1 or 0."""
    return isinstance(value, bool) or (isinstance(value, list) and any(map(_holds_truth, value)))


def made(kind: type[Made], value: object, name: str) -> Made:
    """A small dataclass from the list or the object that stands for it in JSON; the types of its plain fields are checked."""
    known = [field.name for field in fields(kind)]
    if isinstance(value, list) and len(value) == len(known):
        value = dict(zip(known, value, strict=True))
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} holds {shown(value)}; it must hold {', '.join(known)}", argument=name, code="type")
    known_fields(value, known, name)
    hints = read_hints(kind)
    for key in known:
        if key not in value:
            raise InvalidInput(f"{name} lacks {key!r}", argument=name, code="missing")
        hint, found = hints[key], value[key]
        if not isinstance(hint, type) or hint not in PLAIN:
            continue
        if not isinstance(found, PLAIN[hint]) or isinstance(found, bool) != (hint is bool):
            raise InvalidInput(f"{name}.{key} is {shown(found)}; it must be of type {hint.__name__}", code="type")
    return kind(**value)


def read_list(values: Mapping[str, object], *names: str) -> None:
    """Refuse fields that are not lists, where only a list can have been written."""
    for name in names:
        if not isinstance(values[name], list):
            raise InvalidInput(f"{name} is {shown(values[name])}; it must be a list", code="type")


@contextmanager
def damaged(kind: str) -> Iterator[None]:
    """Say of everything that is refused inside that it stood in the JSON of a result."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{kind} JSON is damaged: {error}", code="unreadable") from None


def cell(text: str) -> str:
    """Text for one cell of a CSV file: what a spreadsheet would take for a formula is marked as text.

    >>> cell("=1+1"), cell("A+B")
    ("'=1+1", 'A+B')
    """
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


NO_EXPONENT = 1e7  # numbers below are written without one


def round_off(number: float, digits: int = 4) -> str:
    """A number for people: a fixed count of significant digits, no exponent where none is needed, a true minus.

    >>> round_off(38.33333333), round_off(0.0), round_off(-2.5), round_off(-1e-9), round_off(296, 1)
    ('38.33', '0', '−2.5', '−1e-09', '300')
    """
    sign = "−" if number < 0 else ""
    text = f"{abs(number):.{digits}g}"
    return f"{sign}{float(text):.0f}" if 1 <= abs(number) < NO_EXPONENT and "e" in text else sign + text if number else "0"
