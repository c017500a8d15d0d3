"""Kinds of bad and odd values, by what a parameter expects. `refuse` says that taking the value would be wrong; other values
may be taken if the answer is sane (for `same`: if it is the answer to the plain value)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from accredit.games import FunctionGame

NOT_A_NUMBER = float("nan")


@dataclass(frozen=True)
class Bad:
    """One kind of value: its name, how it is made from the good one, and what may be done with it."""

    kind: str
    make: Callable[[Any], Any]
    refuse: bool = True
    same: bool = False  # it means the same as the good value: refused, or answered alike


def fixed(value: Any) -> Callable[[Any], Any]:
    return lambda good: value


def itself() -> list[Any]:
    """A list that holds itself."""
    nested: list[Any] = []
    nested.append(nested)
    return nested


def _tensor(grad: bool, kind: str = "float32") -> Callable[[Any], Any]:
    def make(good: Any) -> Any:
        import torch

        array = np.array(good, dtype=np.float64)
        return torch.tensor(array, dtype=getattr(torch, kind)).requires_grad_(grad)

    return make


STRANGERS = [
    Bad("None", fixed(None)),
    Bad("object", lambda good: object()),
    Bad("complex", fixed(1 + 2j)),
    Bad("bytes", fixed(b"3")),
    Bad("generator", lambda good: (k for k in range(3))),
    Bad("set", fixed(frozenset({3}))),
    Bad("holds itself", lambda good: itself()),
    Bad("datetime64", fixed(np.datetime64("2020-01-01"))),
    Bad("class", fixed(int)),
]

WHOLE = [
    *STRANGERS,
    Bad("text", fixed("many")),
    Bad("text number", fixed("3")),
    Bad("fraction", fixed(2.5)),
    Bad("nan", fixed(NOT_A_NUMBER)),
    Bad("inf", fixed(float("inf"))),
    Bad("empty list", fixed([])),
    Bad("list", fixed([3])),
    Bad("dict", fixed({})),
    Bad("bool", fixed(True)),
    Bad("array", lambda good: np.array([1, 2])),
    Bad("masked", lambda good: np.ma.masked),
    Bad("negative", fixed(-1), refuse=False),
    Bad("zero", fixed(0), refuse=False),
    Bad("huge", fixed(10**400), refuse=False),
    Bad("huge negative", fixed(-(10**400)), refuse=False),
    Bad("numpy int", lambda good: np.int64(good), refuse=False, same=True),
]

REAL = [
    *STRANGERS,
    Bad("text", fixed("much")),
    Bad("text number", fixed("0.5")),
    Bad("nan", fixed(NOT_A_NUMBER)),
    Bad("empty list", fixed([])),
    Bad("dict", fixed({})),
    Bad("array", lambda good: np.array([0.1, 0.2])),
    Bad("masked", lambda good: np.ma.masked),
    Bad("inf", fixed(float("inf")), refuse=False),
    Bad("-inf", fixed(-float("inf")), refuse=False),
    Bad("negative", fixed(-1.0), refuse=False),
    Bad("zero", fixed(0), refuse=False),
    Bad("huge", fixed(10**400), refuse=False),
    Bad("tiny", fixed(5e-324), refuse=False),
    Bad("numpy float", lambda good: np.float64(good), refuse=False, same=True),
]

LONG = "x" * 100_000
TEXT = [
    *STRANGERS,
    Bad("number", fixed(3)),
    Bad("fraction", fixed(2.5)),
    Bad("nan", fixed(NOT_A_NUMBER)),
    Bad("list", fixed([])),
    Bad("dict", fixed({})),
    Bad("bool", fixed(True)),
    Bad("empty", fixed(""), refuse=False),
    Bad("surrogate", fixed("\ud800"), refuse=False),
    Bad("NUL", fixed("a\0b"), refuse=False),
    Bad("very long", fixed(LONG), refuse=False),
    Bad("markup", fixed("<script>1</script>"), refuse=False),
]

CHOICE = [
    *[bad for bad in TEXT if bad.refuse],
    Bad("empty", fixed("")),
    Bad("surrogate", fixed("\ud800")),
    Bad("misspelt", lambda good: f"{good}x"),
    Bad("very long", fixed(LONG)),
]

FLAG = [
    Bad("text", fixed("no"), refuse=False),
    Bad("list", fixed([]), refuse=False),
    Bad("None", fixed(None), refuse=False),
    Bad("nan", fixed(NOT_A_NUMBER), refuse=False),
    Bad("array", lambda good: np.array([1, 0]), refuse=False),
]


def _first(value: Any) -> Callable[[Any], Any]:
    """The good array with one number replaced."""

    def make(good: Any) -> Any:
        array = np.array(good, dtype=object if not isinstance(value, float) else np.float64)
        array.flat[0] = value
        return array

    return make


def _masked(good: Any) -> Any:
    array = np.ma.array(np.array(good, dtype=np.float64))
    array[(0,) * array.ndim] = np.ma.masked
    return array


NUMBERS = [
    *[bad for bad in STRANGERS if bad.kind not in ("generator", "set")],
    Bad("text", fixed("numbers")),
    Bad("dict", fixed({})),
    Bad("nan inside", _first(NOT_A_NUMBER)),
    Bad("inf inside", _first(float("inf"))),
    Bad("complex inside", lambda good: np.array(good, dtype=np.float64) + 1j),
    Bad("masked inside", _masked),
    Bad("datetime64 inside", lambda good: np.full(np.shape(good), np.datetime64("2020-01-01"))),
    Bad("texts inside", lambda good: np.array(good, dtype=np.float64).astype(str)),
    Bad("None inside", _first(None)),
    Bad("huge inside", _first(10**400)),
    Bad("empty", lambda good: np.zeros(0)),
    Bad("one axis more", lambda good: np.array(good)[None]),
    Bad("one short", lambda good: np.array(good)[:-1], refuse=False),
    Bad("ragged", fixed([[1.0, 2.0], [3.0]])),
    Bad("scalar", fixed(0.5)),
    Bad("generator", lambda good: (x for x in np.array(good)), refuse=False, same=True),
    Bad("list", lambda good: np.array(good).tolist(), refuse=False, same=True),
    Bad("float32", lambda good: np.array(good, dtype=np.float32), refuse=False, same=True),
    Bad("float16", lambda good: np.array(good, dtype=np.float16), refuse=False, same=True),
    Bad("objects", lambda good: np.array(good).astype(object), refuse=False, same=True),
    Bad("reversed view", lambda good: np.array(good)[::-1].copy()[::-1], refuse=False, same=True),
    Bad("tensor", _tensor(False), refuse=False, same=True),
    Bad("tensor with gradient", _tensor(True), refuse=False, same=True),
    Bad("bfloat16", _tensor(False, "bfloat16"), refuse=False, same=True),
]

MASKS = [
    bad
    for bad in NUMBERS
    if bad.kind
    not in {
        "float32",
        "float16",
        "bfloat16",
        "tensor",
        "tensor with gradient",
        "objects",
        "texts inside",
        "huge inside",
    }
]

NAMES = [
    *[bad for bad in STRANGERS if bad.kind not in ("generator", "class")],
    Bad("number", fixed(3)),
    Bad("numbers inside", fixed([1, 2, 3]), refuse=False),  # numbered players are called '1', '2', '3'
    Bad("twice", lambda good: [next(iter(good))] * 3),
    Bad("None inside", lambda good: [*[*good][:-1], None]),
    Bad("empty", fixed(()), refuse=False),
    Bad("surrogate", lambda good: ["\ud800", *[*good][1:]], refuse=False),
    Bad("very long", lambda good: [LONG, *[*good][1:]], refuse=False),
    Bad("strangers", lambda good: ["nobody", "here", "knows"], refuse=False),
    Bad("generator of names", lambda good: (name for name in good), refuse=False, same=True),
]

MAPPING = [
    *STRANGERS,
    Bad("text", fixed("a=b")),
    Bad("number", fixed(3)),
    Bad("list", fixed([1, 2])),
    Bad("numbers as names", lambda good: dict.fromkeys(range(2), 1), refuse=False),
    Bad("empty", fixed({}), refuse=False),
]

FUNCTION = [
    *[bad for bad in STRANGERS if bad.kind != "class"],
    Bad("text", fixed("f")),
    Bad("number", fixed(3)),
    Bad("list", fixed([])),
    Bad("returns None", lambda good: lambda *a: None, refuse=False),
    Bad("returns text", lambda good: lambda *a: "many", refuse=False),
    Bad("returns nan", lambda good: lambda *a: NOT_A_NUMBER, refuse=False),
    Bad("takes nothing", lambda good: lambda: 1.0, refuse=False),
]

ANYTHING = [
    Bad("object", lambda good: object(), refuse=False),
    Bad("number", fixed(3.5), refuse=False),
    Bad("nan", fixed(NOT_A_NUMBER), refuse=False),
    Bad("text", fixed("misspelt"), refuse=False),
    Bad("bytes", fixed(b"\xff"), refuse=False),
    Bad("list", fixed([]), refuse=False),
    Bad("dict", fixed({}), refuse=False),
    Bad("complex", fixed(1j), refuse=False),
    Bad("holds itself", lambda good: itself(), refuse=False),
    Bad("class", fixed(int), refuse=False),
    Bad("huge", fixed(10**400), refuse=False),
]


class _Pays:
    """A game among the players of another whose payoffs are spoilt."""

    def __init__(self, good: Any, spoil: Callable[[Any], Any]) -> None:
        self._good, self._spoil = good, spoil
        self.players = tuple(good.players)

    def payoff(self, coalitions: Any) -> Any:
        return self._spoil(np.array(self._good.payoff(coalitions), dtype=np.float64))


def _paying(spoil: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda good: _Pays(good, spoil)


def _called(players: Callable[[int], Any]) -> Callable[[Any], Any]:
    def make(good: Any) -> Any:
        game = _Pays(good, lambda v: v)
        game.players = players(len(good.players))
        return game

    return make


def _ma(v: Any) -> Any:
    array = np.ma.array(v)
    array[-1] = np.ma.masked
    return array


GAME = [
    *[bad for bad in STRANGERS if bad.kind != "masked"],
    Bad("text", fixed("game")),
    Bad("number", fixed(3)),
    Bad("dict", fixed({})),
    Bad("function", fixed(len)),
    Bad("class of games", fixed(FunctionGame)),
    Bad("pays nan", _paying(lambda v: v * NOT_A_NUMBER)),
    Bad("pays inf", _paying(lambda v: v + float("inf"))),
    Bad("pays complex", _paying(lambda v: v + 1j)),
    Bad("pays masked", _paying(_ma)),
    Bad("pays texts", _paying(lambda v: v.astype(str))),
    Bad("pays None", _paying(lambda v: None)),
    Bad("pays one short", _paying(lambda v: v[:-1])),
    Bad("pays a column", _paying(lambda v: v[:, None])),
    Bad("pays huge", _paying(lambda v: [10**400] * len(v))),
    Bad("pays dates", _paying(lambda v: v.astype("datetime64[s]"))),
    Bad("pays objects", _paying(lambda v: v.astype(object)), refuse=False, same=True),
    Bad("pays float32", _paying(lambda v: v.astype(np.float32)), refuse=False, same=True),
    Bad("pays tensors", _paying(_tensor(True)), refuse=False, same=True),
    Bad("pays a list", _paying(lambda v: v.tolist()), refuse=False, same=True),
    Bad("no players", _called(lambda n: ())),
    Bad("players twice", _called(lambda n: ("p",) * max(n, 2))),
    Bad("players are numbers", _called(lambda n: tuple(range(n))), refuse=False),
    Bad("players None", _called(lambda n: None)),
]


def read_paths(folder: Path) -> list[Bad]:
    """Paths that cannot be read as files."""
    return [*_paths(folder), Bad("missing", fixed(folder / "missing.csv")), Bad("device", fixed(Path("/dev/zero")))]


def write_paths(folder: Path) -> list[Bad]:
    """Paths that must not be written to."""
    return [
        *_paths(folder),
        Bad("missing folder", fixed(folder / "no" / "file.html")),
        Bad("device", fixed(null_device(folder))),
    ]


def null_device(folder: Path) -> Path:
    """A device that may be lost: root, who could replace the one that everybody uses, gets one of its own."""
    own = folder / "null"
    if os.geteuid() != 0:
        return Path("/dev/null")
    if not own.exists():
        os.mknod(own, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    return own


def _paths(folder: Path) -> list[Bad]:
    fifo = folder / "fifo"
    if not fifo.exists():
        os.mkfifo(fifo)
    return [
        *STRANGERS,
        Bad("number", fixed(10**6)),
        Bad("empty", fixed("")),
        Bad("folder", fixed(folder)),
        Bad("fifo", fixed(fifo)),
        Bad("NUL", fixed("a\0b")),
        Bad("very long", fixed("x" * 5000)),
        Bad("surrogate", fixed("\ud800")),
        Bad("list", fixed([])),
        Bad("nan", fixed(NOT_A_NUMBER)),
    ]


def kinds_for(expects: str, folder: Path) -> Iterator[Bad]:
    """The values to try where a parameter expects something."""
    lists = {
        "int": WHOLE,
        "float": REAL,
        "text": TEXT,
        "choice": CHOICE,
        "flag": FLAG,
        "numbers": NUMBERS,
        "masks": MASKS,
        "names": NAMES,
        "members": [bad for bad in NAMES if bad.kind != "twice"],
        "mapping": MAPPING,
        "function": FUNCTION,
        "game": GAME,
        "any": ANYTHING,
    }
    if expects in ("reads", "writes"):
        yield from read_paths(folder) if expects == "reads" else write_paths(folder)
    else:
        yield from lists[expects]
