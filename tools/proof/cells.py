"""Cells of the matrix: one public call, one argument replaced by one kind of bad value, and the verdict."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from accredit.core import Game
from accredit.core.games import asked
from accredit.errors import AccreditError
from tools.proof.bad_values import Bad, kinds_for
from tools.proof.base_calls import Base, bases, left_out

RIGHT, TYPED = "right", "typed error"
FAULTS = ("raw exception", "accepted", "not the same", "unhelpful", "warned only", "hang", "died")
CLOSE = {"float16": 1e-2, "bfloat16": 5e-2}  # relative, for numbers that were given with few digits

WORDS_FOR: dict[type, tuple[str, ...]] = {int: ("digits",), float: ("nan", "inf"), str: ("text", "character")}
ALSO_CALLED = {  # what a message may call an argument by
    "game": ("payoff", "player", "table"),
    "games": ("payoff", "player", "output"),
    "given": ("player", "text", "row"),
    "coalition": ("player",),
    "carrier": ("player",),
    "names": ("player", "row"),
    "players": ("group", "token"),
    "groups": ("player",),
    "coalitions": ("player",),
    "solver": ("budget",),
    "model": ("rows", "function"),
    "function": ("payoff",),
    "data": ("split", "file"),
    "train": ("file",),
    "judge": ("explainer",),
    "path": ("file",),
    "folder_or_name": ("model", "folder"),
    "penalty": ("price",),
    "beta": ("price",),
    "text": ("JSON",),
    "result": ("explanation",),
    "x": ("row",),
    "y": ("label",),
    "by_output": ("output",),
    "present": ("cube",),
    "absent": ("cube",),
    "values": ("coalition",),
    "table": ("level",),
}


@dataclass(frozen=True)
class Cell:
    """One call with one bad argument."""

    name: str
    parameter: str
    kind: str

    def __str__(self) -> str:
        return f"{self.name}({self.parameter}={self.kind})"


@dataclass(frozen=True)
class Outcome:
    """What happened."""

    verdict: str
    said: str = ""


def cells(folder: Path, room: str | None = None) -> Iterator[Cell]:
    """Every cell, of one room or of all, from the signatures of what is public."""
    for base in bases(folder, room).values():
        for parameter, expects in base.expects.items():
            for bad in kinds_for(expects, folder):
                if bad.kind == "None" and parameter in base.optional:
                    continue
                if left_out(f"{base.name}({parameter})"):
                    continue
                if _needs_good(bad) and base.arguments.get(parameter) is None:
                    continue
                yield Cell(base.name, parameter, bad.kind)


def not_working(folder: Path, room: str | None = None) -> list[str]:
    """Base calls that fail without any bad value: their cells would say nothing."""
    said = []
    for base in bases(folder, room).values():
        try:
            _played(base.call(**base.arguments))
        except Exception as error:
            said.append(f"{base.name}: {type(error).__name__}: {error}"[:300])
    return said


def _needs_good(bad: Bad) -> bool:
    """Whether a value is made from the good one."""
    try:
        bad.make(None)
    except Exception:
        return True
    return bad.same


def tried(cell: Cell, folder: Path) -> Outcome:
    """Make the call and judge what comes back."""
    base = bases(folder, cell.name.split(".")[0])[cell.name]
    bad = next(b for b in kinds_for(base.expects[cell.parameter], folder) if b.kind == cell.kind)
    try:
        value = bad.make(base.arguments.get(cell.parameter))
    except Exception:  # the good value has no such variant, for example a text where numbers also go
        return Outcome(RIGHT, "does not apply")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        before = _written(folder)
        try:
            found = base.call(**base.arguments | {cell.parameter: value})
            if hasattr(found, "__next__"):
                found = list(found)
            _played(found)
        except AccreditError as error:
            return _judged_error(cell, value, str(error), _written(folder) - before)
        except Exception as error:
            if _of_the_caller(error, value):
                return Outcome(RIGHT, "the caller's own function raised")
            return Outcome("raw exception", f"{type(error).__name__}: {error}")
    return _judged_answer(cell, bad, base, found, caught)


def _of_the_caller(error: Exception, value: Any) -> bool:
    """A function that takes other arguments than it is given: Python's own words name it, and wrapping them would hide the
    line of the caller that has to change."""
    name = getattr(value, "__qualname__", None)
    return isinstance(error, TypeError) and name is not None and f"{name}() takes" in str(error)


def _played(found: Any) -> None:
    """A game made from a bad one may wait until it is asked: ask it."""
    if isinstance(found, Game) and callable(found.payoff) and not isinstance(found, type):
        everybody = np.ones((1, len(found.players)), dtype=bool)
        asked(found, everybody)


def _written(folder: Path) -> frozenset[str]:
    """What stands in the folder of files, and in the working folder."""
    return frozenset(os.listdir(folder)) | frozenset(os.listdir())


def _judged_error(cell: Cell, value: Any, message: str, written: frozenset[str]) -> Outcome:
    """A typed error must name the argument or show the value, say what is wanted, and leave no file behind."""
    if written:
        return Outcome("accepted", f"refused, but wrote {sorted(written)}")
    words = (cell.parameter, *ALSO_CALLED.get(cell.parameter, ()))
    named = any(re.search(word.rstrip("s").replace("_", "[_ -]"), message, re.IGNORECASE) for word in words)
    shown = _shown(value)
    seen = any(part and part in message for part in shown)
    wants = re.search(r"[;:—]|\b(not a|must|need|write|use|give|one of|at least|expected|write|are)\b", message)
    if not (named or seen) or not wants or len(message) < 20:
        return Outcome("unhelpful", message)
    return Outcome(TYPED, message)


def _shown(value: Any) -> list[str]:
    """Ways in which a message may show a value."""
    try:
        text = repr(value)[:20]
    except Exception:
        text = ""
    shapes = [str(np.shape(value))] if isinstance(value, np.ndarray) else []
    return (
        [text, text.strip("'\""), type(value).__name__, *shapes, "nan", "inf", *WORDS_FOR.get(type(value), ())]
        if text != ""
        else [type(value).__name__]
    )


def _judged_answer(cell: Cell, bad: Bad, base: Base, found: Any, caught: list[Any]) -> Outcome:
    """An answer to a value that must be refused is a fault; to one that means the same, it must be the same answer."""
    overflow = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
    if bad.refuse:
        return Outcome("accepted", _brief(found))
    if bad.same:
        wanted = base.call(**base.arguments)
        wanted = list(wanted) if hasattr(wanted, "__next__") else wanted
        if not alike(found, wanted, CLOSE.get(bad.kind, 1e-5)):
            return Outcome("not the same", f"{_brief(found)} instead of {_brief(wanted)}")
    if not finite(found):
        return Outcome("accepted", f"the answer is not finite: {_brief(found)}")
    return Outcome("warned only", overflow[0]) if overflow else Outcome(RIGHT)


def _brief(found: Any) -> str:
    try:
        return repr(found).replace("\n", " ")[:160]
    except Exception as error:
        return f"{type(found).__name__} whose repr raises {type(error).__name__}"


def numbers_in(thing: Any, depth: int = 0) -> Iterator[Any]:
    """Every array and number inside a result."""
    if isinstance(thing, np.ndarray | float | np.floating):
        yield np.asarray(thing)
    elif depth < 4 and is_dataclass(thing) and not isinstance(thing, type):
        for field in fields(thing):
            if field.name not in ("seconds", "method", "provenance", "certificate"):
                yield from numbers_in(getattr(thing, field.name, None), depth + 1)
    elif depth < 4 and isinstance(thing, Mapping):
        for item in thing.values():
            yield from numbers_in(item, depth + 1)
    elif depth < 4 and isinstance(thing, list | tuple):
        for item in thing:
            yield from numbers_in(item, depth + 1)


def finite(found: Any) -> bool:
    """Whether every number in a result is finite."""
    return all(np.isfinite(part).all() for part in numbers_in(found) if part.dtype.kind == "f")


def alike(found: Any, wanted: Any, tolerance: float) -> bool:
    """Whether two results hold the same numbers; results without numbers are alike when they are of one type."""
    ours, theirs = list(numbers_in(found)), list(numbers_in(wanted))
    if type(found) is not type(wanted) or len(ours) != len(theirs):
        return False
    for a, b in zip(ours, theirs, strict=True):
        if a.shape != b.shape or (a.dtype.kind == "f" and not np.allclose(a, b, rtol=tolerance, atol=tolerance)):
            return False
    return True
