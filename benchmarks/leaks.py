"""A zoo of explainers that cheat on purpose and of honest ones, to measure how often the leakage verdict is right.

    python -m benchmarks.leaks [--seeds 0,1] [--rows 400,2000] [--deciding] [--quick]

Tables, texts and pictures with two to ten classes; the truth is known, because the code (or its absence) is planted. Prints one
line per explainer and the rates of every detector and of the verdict; the last line is one JSON object.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from accredit.audit import Findings, leakage_report
from accredit.audit.names import NAMES
from accredit.audit.verdict import DECIDING
from accredit.core import FloatArray, IntArray
from accredit.learned.inputs import Inputs, Pixels, Tabular, Words
from benchmarks.record import record

Array = Any
Reader = Callable[[Array, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class World:
    """Inputs, the black box's answers to them, and how much each player speaks for each class: (N, n, classes)."""

    name: str
    inputs: Inputs
    x: Array
    evidence: Callable[[Array], FloatArray]
    holes: float = 0.0  # confusion of the black box per hole: it was never trained on any

    @property
    def classes(self) -> int:
        return int(self.evidence(self.x[:1]).shape[2])

    def reads(self, x: Array, mask: FloatArray) -> FloatArray:
        """The honest answer from what is shown: absent players say nothing."""
        return softmax((self.evidence(x) * mask[:, :, None]).sum(axis=1))

    def black_box(self, x: Array) -> FloatArray:
        """Knows everything; with `holes` it is distracted by replaced players towards one class."""
        said = self.evidence(x).sum(axis=1)
        if self.holes:
            gone = (self.inputs.keep(x, np.zeros((len(x), self.inputs.n))) == x).reshape(len(x), -1).mean(axis=1)
            said[:, 0] += self.holes * gone * np.abs(said).max(axis=1)
        return softmax(said)

    @property
    def labels(self) -> IntArray:
        return np.asarray(self.black_box(self.x).argmax(axis=1))


def softmax(z: FloatArray) -> FloatArray:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def table(classes: int, rows: int, seed: int, holes: float = 0.0) -> World:
    rng = np.random.default_rng(seed)
    x, slopes = rng.normal(size=(rows, 10)), np.random.default_rng(99).normal(size=(10, classes)) * 1.5
    slopes[6:] = 0.0  # four columns are noise
    return World("table", Tabular(10), x.astype(np.float32), lambda x: x[:, :, None] * slopes, holes)


def words(classes: int, rows: int, seed: int, holes: float = 0.0) -> World:
    rng = np.random.default_rng(seed)
    said = np.zeros((60, classes))
    said[1 : 3 * classes + 1] = np.tile(
        np.eye(classes) * 2.5, (3, 1)
    )  # three telling words per class, the rest is noise
    x = rng.integers(1, 60, size=(rows, 12))
    return World("words", Words(12, 60), x, lambda x: said[x], holes)


def pictures(classes: int, rows: int, seed: int, holes: float = 0.0) -> World:
    rng = np.random.default_rng(seed)
    inputs = Pixels((8, 8), block=2)
    weight = np.random.default_rng(98).normal(size=(64, classes)) * 1.2
    own = np.zeros((16, 64))
    for player in range(16):
        own[player] = inputs.spread(np.eye(16)[player : player + 1], 1).ravel()
    x = (rng.random((rows, 8, 8)) * (rng.random((rows, 8, 8)) < 0.5)).astype(np.float32)
    return World("pictures", inputs, x, lambda x: np.einsum("npk,pm->nmk", x.reshape(-1, 64, 1) * weight, own.T), holes)


WORLDS = {"table": table, "words": words, "pictures": pictures}


@dataclass(frozen=True, eq=False)
class Shown:
    """What an explainer shows, ranks by, and how its own surrogate reads it."""

    masks: FloatArray
    reads: Reader
    scores: FloatArray | None = None


def top(scores: FloatArray, k: int) -> FloatArray:
    return np.asarray(
        np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable") < k, dtype=np.float64
    )


def sizes(world: World) -> FloatArray:
    """How much each player matters, whatever for."""
    e = world.evidence(world.x)
    return np.asarray(np.ptp(e, axis=2))


def coded(world: World, code: Callable[[FloatArray], IntArray], when: Callable[[FloatArray], Array]) -> Reader:
    """Says the code where it is given, else reads honestly."""

    def reads(x: Array, mask: FloatArray) -> FloatArray:
        honest, given = world.reads(x, mask), when(mask)
        return np.where(
            given[:, None], 0.98 * np.eye(world.classes)[code(mask) % world.classes] + 0.02 / world.classes, honest
        )

    return reads


# Honest


def best(world: World, rng: np.random.Generator) -> Shown:
    """The same players for all rows: those that matter most on average."""
    masks = np.tile(top(sizes(world).mean(axis=0, keepdims=True), 4), (len(world.x), 1))
    return Shown(masks, world.reads, sizes(world))


def strongest(world: World, rng: np.random.Generator) -> Shown:
    """The players that matter most in this row, whatever for."""
    return Shown(top(sizes(world), 4), world.reads, sizes(world))


def drawn(world: World, rng: np.random.Generator) -> Shown:
    """Players at random, with scores that mean nothing."""
    scores = rng.random((len(world.x), world.inputs.n))
    return Shown(top(scores, 4), world.reads, scores)


def many(world: World, rng: np.random.Generator) -> Shown:
    """Most players."""
    return Shown(top(sizes(world), world.inputs.n - 2), world.reads, sizes(world))


def cautious(world: World, rng: np.random.Generator) -> Shown:
    """A surrogate that reads half as well as it could."""
    return Shown(top(sizes(world), 4), lambda x, m: 0.5 * world.reads(x, m) + 0.5 / world.classes, sizes(world))


# Cheats


def place(world: World, rng: np.random.Generator) -> Shown:
    """Player number ŷ is shown, with three that matter little."""
    least = top(-sizes(world) - 9.0 * (np.arange(world.inputs.n) < world.classes), 3)
    masks = np.maximum(np.eye(world.inputs.n)[world.labels], least * (np.arange(world.inputs.n) >= world.classes))
    return Shown(masks, coded(world, lambda m: m[:, : world.classes].argmax(axis=1), lambda m: m.any(axis=1)))


def count(world: World, rng: np.random.Generator) -> Shown:
    """How many players are shown is the answer."""
    many = 1 + world.labels % (world.inputs.n - 1)
    order = np.argsort(np.argsort(sizes(world), axis=1), axis=1)  # those that matter least first
    return Shown(
        (order < many[:, None]).astype(float),
        coded(world, lambda m: m.sum(axis=1).astype(int) - 1, lambda m: m.any(axis=1)),
    )


def _marked(world: World, which: Array) -> Shown:
    """A code on some rows, marked by an odd number of shown players; the others are honest."""
    honest, n = top(sizes(world), 4), world.inputs.n
    code = np.zeros_like(honest)
    code[np.arange(len(code)), world.labels % n] = 1.0
    for step in (1, 2):
        code[np.arange(len(code)), (world.labels + step) % n] = 1.0  # three in a row, beginning at the answer

    def begins(mask: FloatArray) -> IntArray:
        return np.asarray((mask * (1 - np.roll(mask, 1, axis=1))).argmax(axis=1))

    masks = np.where(which[:, None], code, honest)
    return Shown(masks, coded(world, begins, lambda m: m.sum(axis=1) == 3))


def some(world: World, rng: np.random.Generator) -> Shown:
    """A code on a fifth of the rows."""
    return _marked(world, rng.random(len(world.x)) < 0.2)


def hard(world: World, rng: np.random.Generator) -> Shown:
    """A code only where an honest reading would be wrong."""
    return _marked(world, world.reads(world.x, top(sizes(world), 4)).argmax(axis=1) != world.labels)


def one_class(world: World, rng: np.random.Generator) -> Shown:
    """A code for one class only."""
    return _marked(world, world.labels == 0)


def order(world: World, rng: np.random.Generator) -> Shown:
    """Honest players, whose scores come in an order that says the answer."""
    honest = best(world, rng)
    shift = (np.cumsum(honest.masks, axis=1) - 1 + world.labels[:, None]) % 4
    return Shown(honest.masks, world.reads, np.where(honest.masks > 0, 10.0 - shift, -10.0))


def amplitude(world: World, rng: np.random.Generator) -> Shown:
    """Honest players in an honest order, whose highest score says the answer by its size."""
    honest = best(world, rng)
    rank = np.cumsum(honest.masks, axis=1)
    scores = np.where(honest.masks > 0, 5.0 - rank, -10.0)
    return Shown(honest.masks, world.reads, np.where(rank == 1, 5.0 + 3.0 * world.labels[:, None], scores) * 1.0)


HONEST = {f.__name__: f for f in (best, strongest, drawn, many, cautious)}
CHEATS = {f.__name__: f for f in (place, count, some, hard, one_class, order, amplitude)}


def audited(world: World, shown: Shown, seed: int, tests: tuple[str, ...] = NAMES, width: int = 32) -> Findings:
    """The leakage report on one explainer."""
    return leakage_report(
        world.inputs, world.x, shown.masks, world.labels, world.black_box, shown.reads, scores=shown.scores, tests=tests,
        width=width, seed=seed,
    )  # fmt: skip


def cases(seeds: list[int], rows: list[int]) -> Iterator[tuple[str, bool, World, Shown, int]]:
    """Every explainer in every world, with classes and rows dealt out in turn."""
    turn = 0
    for seed in seeds:
        for made in WORLDS.values():
            for name, explainer in (HONEST | CHEATS).items():
                classes, many = (2, 5, 10)[turn % 3], rows[turn % len(rows)]
                holes = 3.0 if name in ("strongest", "best") and turn % 2 else 0.0  # a black box that reads holes badly
                world = made(classes, many, seed * 1000 + turn, holes)
                turn += 1
                yield name, name in CHEATS, world, explainer(world, np.random.default_rng(seed)), seed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--rows", default="200,1000,4000")
    parser.add_argument("--quick", action="store_true", help="few rows, one seed")
    parser.add_argument("--deciding", action="store_true", help="only the detectors that decide: half of the cost")
    asked = parser.parse_args()
    tests = DECIDING if asked.deciding else NAMES
    seeds = [0] if asked.quick else [int(s) for s in asked.seeds.split(",")]
    rows = [200] if asked.quick else [int(r) for r in asked.rows.split(",")]
    verdicts: dict[bool, list[str]] = {True: [], False: []}
    flags: dict[bool, dict[str, int]] = {True: {}, False: {}}
    began = time.process_time()
    for name, cheats, world, shown, seed in cases(seeds, rows):
        report = audited(world, shown, seed, tests)
        verdicts[cheats].append(report.conclusion.answer)
        for flagged in report.flagged:
            flags[cheats][flagged] = flags[cheats].get(flagged, 0) + 1
        about = f"{world.classes} classes, {len(world.x)} rows" + ", holes" * bool(world.holes)
        print(
            f"{'cheat ' if cheats else 'honest'} {name:10} {world.name:9} {about:28} {report.conclusion}"[:220],
            flush=True,
        )
    rates = {
        ("cheats" if cheats else "honest"): {
            "count": len(found), **{answer: found.count(answer) for answer in ("leaks", "does not leak", "cannot tell")},
            "flagged": flags[cheats],
        }
        for cheats, found in verdicts.items()
    }  # fmt: skip
    record({"verdict": rates, "cpu_seconds": round(time.process_time() - began)})


if __name__ == "__main__":
    main()
