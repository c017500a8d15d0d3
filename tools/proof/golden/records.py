"""Results as plain data that can be compared to the last bit, and what two records of one entry differ in.

A record has two parts. `numbers` holds what a method found, read attribute by attribute: it stays the same when a format or a
sentence changes. `whole` is everything: the JSON of a result, the fields of a dataclass, a text. JSON writes doubles by `repr`,
which is exact, so equal records are equal bit by bit.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

# What a method found, by the names that results have for it. A result of results has one of `PARTS`.
FOUND = (
    "players",
    "outputs",
    "credit",
    "total",
    "stderr",
    "interval",
    "baseline",
    "base",
    "prediction",
    "pairs",
    "pairs_interval",
    "chosen",
    "scores",
)
PARTS = ("attributions", "others", "by_output")
PER_COALITION = "values"  # of interactions: coalition -> number
LIBRARIES = ("accredit", "python", "numpy", "scipy", "torch", "transformers", "sklearn", "scikit-learn")
RUN_DEPENDENT = {"seconds", "began", "ended", *LIBRARIES}  # keys whose values are another run's
MASKED = "(of the run)"
LONG = 200  # characters of a line that a diff shows whole
NUMBER = re.compile(r"[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
DURATION = re.compile(
    r"(?:(?:<|&lt;|under) ?)?\d[\d,]*(?:\.\d+)?[ \u00a0]?(?:µs|ms|s|CPU-s|CPU-seconds?|seconds?|minutes?)\b"
    r"|(?<=milliseconds per explanation: ).*"
)
SECONDS = re.compile(r'"(seconds|began|ended)": (?:\{[^{}]*\}|[-+.\de]+)')  # in JSON that is recorded as a text
DATE = re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?")

Path_ = tuple[str, ...]
Leaf = Any  # None, a flag, a number or a text


# Making a record


def record(result: Any, hidden: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A result as JSON types; `hidden` are strings of this run (folders, versions) and what stands for them."""
    return {"numbers": _masked(_found(result), hidden or {}), "whole": _masked(plain(result), hidden or {})}


def _found(result: Any) -> Any:
    """What a method found, from whatever kind of result it is."""
    if isinstance(result, Mapping):
        return {str(name): found for name, each in result.items() if (found := _found(each))}
    if isinstance(result, list | tuple):
        return [found for each in result if (found := _found(each))]
    if isinstance(result, str | bytes | int | float | None | np.ndarray | type):
        return None
    found = {name: plain(getattr(result, name)) for name in FOUND if getattr(result, name, None) is not None}
    if "players" in found and isinstance(each := getattr(result, PER_COALITION, None), Mapping):
        found[PER_COALITION] = plain(each)
    return found | {name: _found(getattr(result, name)) for name in PARTS if getattr(result, name, None)}


def plain(thing: Any) -> Any:
    """Anything that a call returns, as JSON types: by its own `to_plain` or `to_json`, else field by field.

    >>> plain({("a", "b"): np.array([1.5, np.nan]), "who": {"z", "y"}})
    {"('a', 'b')": [1.5, nan], 'who': ['y', 'z']}
    """
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing.value if isinstance(thing, Enum) else thing
    if isinstance(thing, np.ndarray | np.generic):
        return thing.tolist()
    if isinstance(thing, Mapping):
        return {key if isinstance(key, str) else str(key): plain(value) for key, value in thing.items()}
    if isinstance(thing, set | frozenset):
        return sorted(map(plain, thing))
    for way in ("to_plain", "to_json"):
        if callable(make := getattr(thing, way, None)):
            return plain(make()) if way == "to_plain" else json.loads(make())
    if is_dataclass(thing) and not isinstance(thing, type):
        return {field.name: plain(getattr(thing, field.name)) for field in fields(thing)}
    if isinstance(thing, list | tuple):
        return [plain(each) for each in thing]
    if hasattr(thing, "detach"):
        return thing.detach().cpu().numpy().tolist()
    if isinstance(thing, Enum):
        return thing.value
    if isinstance(thing, Path):
        return str(thing)
    raise TypeError(f"{type(thing).__name__} cannot be recorded; return its numbers or its text from the entry")


def _masked(data: Any, hidden: Mapping[str, str]) -> Any:
    """Without what belongs to one run: seconds, dates, versions, folders."""
    if isinstance(data, dict):
        return {
            masked(key, hidden): MASKED if key in RUN_DEPENDENT and value is not None else _masked(value, hidden)
            for key, value in data.items()
        }
    if isinstance(data, list):
        return [_masked(value, hidden) for value in data]
    return masked(data, hidden) if isinstance(data, str) else data


def masked(text: str, hidden: Mapping[str, str]) -> str:
    """A text without the folders, versions, durations and dates of the run that wrote it.

    >>> masked("written: /tmp/x/page.html in 0.31 s, on 2026-02-03 by 0.2.0", {"/tmp/x": "FOLDER", "0.2.0": "VERSION"})
    'written: FOLDER/page.html in # s, on DATE by VERSION'
    """
    for seen, instead in hidden.items():
        text = text.replace(seen, instead)
    return DURATION.sub("# s", DATE.sub("DATE", SECONDS.sub(rf'"\1": "{MASKED}"', text)))


# Comparing two


@dataclass(frozen=True)
class Difference:
    """What two records of one entry differ in."""

    numbers: bool
    wording: bool
    largest: float = 0.0  # relative; infinite where there are other numbers, not only other digits
    where: str = ""  # the number that differs most, or the first place where wording does

    @property
    def verdict(self) -> str:
        if self.numbers:
            return "numbers differ"
        return "wording or format differs" if self.wording else "same"

    def __str__(self) -> str:
        size = f"{self.largest:.1e} relative" if math.isfinite(self.largest) else "other numbers"
        parts = [f"{size} at {self.where}"] if self.numbers else [f"at {self.where}"] if self.wording else []
        return "; ".join([*parts, *["wording too"] * (self.numbers and self.wording)])


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> Difference:
    """What differs between two records.

    >>> difference({"numbers": [1.0], "whole": "takes 1.0"}, {"numbers": [1.0], "whole": "costs 1.0"}).verdict
    'wording or format differs'
    >>> str(difference({"numbers": None, "whole": "costs 2 in all"}, {"numbers": None, "whole": "costs 1 in all"}))
    '5.0e-01 relative at whole'
    """
    if _text(old) == _text(new):
        return Difference(False, False)
    found = [_between(part, old[part], new[part]) for part in ("numbers", "whole")]
    if not any(each.numbers or each.wording for each in found):
        return Difference(False, True, 0.0, "the order of the fields")
    worst = max(found, key=lambda each: each.largest)  # of two alike, the first
    numbers, worded = any(each.numbers for each in found), [each.where for each in found if each.wording]
    return Difference(numbers, bool(worded), worst.largest, worst.where if numbers else worded[0])


def _between(part: str, old: Any, new: Any) -> Difference:
    """The same of one part of a record."""
    ours, theirs = dict(_leaves(old, (part,))), dict(_leaves(new, (part,)))
    if ours.keys() != theirs.keys():
        return _reshaped(part, ours, theirs)
    numbers, wording, largest, where, first = False, False, 0.0, "", ""
    for path, was in ours.items():
        now = theirs[path]
        if _text(was) == _text(now):
            continue
        size = _distance(was, now)
        if size is None:
            wording, first = True, first or "/".join(path)
        else:
            numbers = True
            if size >= largest:
                largest, where = size, "/".join(path)
    return Difference(numbers, wording, largest, where if numbers else first)


def _reshaped(part: str, ours: Mapping[Path_, Leaf], theirs: Mapping[Path_, Leaf]) -> Difference:
    """Other fields: of `numbers` that is another result; of the whole, another format."""
    where = "/".join(next(path for path in (*ours, *theirs) if (path in ours) != (path in theirs)))
    if part == "numbers":
        return Difference(True, False, math.inf, where)
    return Difference(False, True, 0.0, where)


def _distance(was: Leaf, now: Leaf) -> float | None:
    """How far two numbers, or two texts that differ in numbers alone, are apart; None: they differ in words."""
    if _is_number(was) and _is_number(now):
        return _relative(float(was), float(now)) if was != now or type(was) is type(now) else None  # 1, 1.0: a format
    if not (isinstance(was, str) and isinstance(now, str)) or NUMBER.sub("#", was) != NUMBER.sub("#", now):
        return None
    pairs = zip(NUMBER.findall(was), NUMBER.findall(now), strict=True)
    return max(_relative(_read(a), _read(b)) for a, b in pairs)


def _is_number(leaf: Leaf) -> bool:
    return isinstance(leaf, int | float) and not isinstance(leaf, bool)


def _read(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def _relative(a: float, b: float) -> float:
    """|a − b| over the larger of both.

    >>> _relative(2.0, 1.0), _relative(0.0, 0.0), _relative(1.0, float("nan"))
    (0.5, 0.0, inf)
    """
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return 0.0 if a == b or (math.isnan(a) and math.isnan(b)) else math.inf
    return abs(a - b) / max(abs(a), abs(b)) if a != b else 0.0


def _leaves(data: Any, path: Path_) -> Iterator[tuple[Path_, Leaf]]:
    """Every value with the names that lead to it; an empty list or object is a value."""
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _leaves(value, (*path, key))
    elif isinstance(data, list) and data:
        for k, value in enumerate(data):
            yield from _leaves(value, (*path, str(k)))
    else:
        yield path, data


def _text(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)


def shown_difference(old: Mapping[str, Any], new: Mapping[str, Any], context: int = 1) -> str:
    """A unified diff of two records, one value per line; long texts are folded at their line breaks and between tags."""
    before, after = ([line for path, leaf in _leaves(dict(each), ()) for line in _lines(path, leaf)] for each in (old, new))
    return "\n".join(difflib.unified_diff(before, after, "recorded", "now", lineterm="", n=context))


def _lines(path: Path_, leaf: Leaf) -> list[str]:
    name = "/".join(path)
    if not isinstance(leaf, str):
        return [f"{name} = {leaf!r}"]
    pieces = re.sub(r">\s*<", ">\n<", leaf).split("\n")
    return [f"{name}: {part}" for piece in pieces for part in (re.split(r"(?<=,) ", piece) if len(piece) > LONG else [piece])]
