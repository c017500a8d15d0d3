"""Plain data: the JSON types and nothing else, so that what is written can be read back without loss and without code."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from accredit.core.errors import InvalidInput


def plain(value: Any, where: str = "value") -> Any:
    """`value` as JSON types: numpy scalars and arrays become numbers and lists, tuples become lists.

    >>> plain({"gap": np.float64(0.5), "cut": (1, 2)})
    {'gap': 0.5, 'cut': [1, 2]}
    """
    if value is None or isinstance(value, str | bool | int):
        return value if not isinstance(value, str) else str(value)
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise InvalidInput(f"{where} is {value}; only finite numbers can be kept in a result")
        return float(value)
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), where)
    if isinstance(value, Mapping):
        return {str(key): plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    raise InvalidInput(f"{where} is a {type(value).__name__}; a result keeps only numbers, strings, lists and mappings")


def read_object(text: str, kind: str) -> dict[str, Any]:
    """Parse JSON text that must hold one object of the given kind."""
    try:
        data = json.loads(text, object_pairs_hook=named_once)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}; write one with .to_json()") from None
    if not isinstance(data, dict) or data.get("kind") != kind:
        seen = data.get("kind") if isinstance(data, dict) else type(data).__name__
        raise InvalidInput(f"expected JSON of kind {kind!r}, got {seen!r}; write one with .to_json()")
    return data


def named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; the reader of the standard library would silently keep the last of two equal names."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidInput(f"the JSON gives {name!r} twice; keep one entry for it")
        found[name] = value
    return found


def fields_of(kind: type[Any], data: Mapping[str, Any], name: str, format: int) -> dict[str, Any]:
    """The fields of a dataclass in what its `to_json` wrote; another format, or a field that it does not have, is refused."""
    if data.get("format") != format:
        raise InvalidInput(f"{name} format {data.get('format')!r} is not {format}; write it again with this version")
    known = {field.name for field in fields(kind)}
    other = sorted(set(data) - known - {"kind", "format"})
    if other:
        raise InvalidInput(f"{name} JSON has the unknown field {other[0]!r}; the fields are {', '.join(sorted(known))}")
    return {key: value for key, value in data.items() if key in known}


def cell(text: str) -> str:
    """Text for one cell of a CSV file: what a spreadsheet would take for a formula is marked as text.

    >>> cell("=1+1"), cell("A+B")
    ("'=1+1", 'A+B')
    """
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def rounded(number: float, digits: int = 4) -> str:
    """A number for people: a fixed count of significant digits, no exponent where none is needed, a true minus.

    >>> rounded(38.33333333), rounded(0.0), rounded(-2.5), rounded(-1e-9)
    ('38.33', '0', '−2.5', '−1e-09')
    """
    sign = "−" if number < 0 else ""
    return f"{sign}{abs(number):.{digits}g}" if number else "0"
