"""Explainers that cheat on purpose, and honest ones: whether they leak is known, because the code is planted or is not.

Four worlds: tables, texts and pictures (`WORLDS`), and a wide table of mostly noise. The kinds of `HONEST` and `CHEATS` were
there when the rule of the verdict was chosen. Those of `NEW_HONEST` and `NEW_CHEATS` were not; later they showed where it was
wrong and served to mend it. leak_zoo_last.py has those that were made after that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.learned.evalx import EvalX
from accredit.learned.inputs import Inputs, PixelGrid, Tabular, Words

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
        """Knows everything; with `holes` it is distracted towards one class by more of them than its inputs have anyway."""
        said = self.evidence(x).sum(axis=1)
        if self.holes:
            said[:, 0] += self.holes * np.maximum(self.gone(x) - self.usual, 0.0) * np.abs(said).max(axis=1)
        return softmax(said)

    def gone(self, x: Array) -> FloatArray:
        """Which share of a row looks like a hole; zeros of a picture do, too."""
        hollow = self.inputs.keep(x, np.zeros((len(x), self.inputs.n)))
        return np.asarray((hollow == x).reshape(len(x), -1).mean(axis=1))

    @cached_property
    def usual(self) -> float:
        return float(self.gone(self.x).max())

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
    said[1 : 3 * classes + 1] = np.tile(np.eye(classes) * 2.5, (3, 1))  # three telling words per class, the rest is noise
    x = rng.integers(1, 60, size=(rows, 12))
    return World("words", Words(12, 60), x, lambda x: said[x], holes)


def pictures(classes: int, rows: int, seed: int, holes: float = 0.0) -> World:
    rng = np.random.default_rng(seed)
    inputs = PixelGrid((8, 8), block=2)
    weight = np.random.default_rng(98).normal(size=(64, classes)) * 1.2
    own = np.zeros((16, 64))
    for player in range(16):
        own[player] = inputs.spread(np.eye(16)[player : player + 1], 1).ravel()
    x = (rng.random((rows, 8, 8)) * (rng.random((rows, 8, 8)) < 0.5)).astype(np.float32)
    return World("pictures", inputs, x, lambda x: np.einsum("npk,pm->nmk", x.reshape(-1, 64, 1) * weight, own.T), holes)


def wide(classes: int, rows: int, seed: int, holes: float = 0.0) -> World:
    rng = np.random.default_rng(seed)
    x, slopes = rng.normal(size=(rows, 30)), np.random.default_rng(97).normal(size=(30, classes)) * 2.0
    slopes[5:] = 0.0
    return World("wide table", Tabular(30), x.astype(np.float32), lambda x: x[:, :, None] * slopes, holes)


WORLDS = {"table": table, "words": words, "pictures": pictures}
NEW_WORLDS = WORLDS | {"wide": wide}


@dataclass(frozen=True, eq=False)
class Shown:
    """What an explainer shows, ranks by, and how its own surrogate reads it."""

    masks: FloatArray
    reads: Reader
    scores: FloatArray | None = None


def top(scores: FloatArray, k: int) -> FloatArray:
    return np.asarray(np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable") < k, dtype=np.float64)


def sizes(world: World) -> FloatArray:
    """How much each player matters, whatever for."""
    e = world.evidence(world.x)
    return np.asarray(np.ptp(e, axis=2))


def coded(world: World, code: Callable[[FloatArray], IntArray], when: Callable[[FloatArray], Array]) -> Reader:
    """Says the code where it is given, else reads honestly."""

    def reads(x: Array, mask: FloatArray) -> FloatArray:
        honest, given = world.reads(x, mask), when(mask)
        return np.where(given[:, None], 0.98 * np.eye(world.classes)[code(mask) % world.classes] + 0.02 / world.classes, honest)

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


def marked(world: World, which: Array) -> Shown:
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
    return marked(world, rng.random(len(world.x)) < 0.2)


def hard(world: World, rng: np.random.Generator) -> Shown:
    """A code only where an honest reading would be wrong."""
    return marked(world, world.reads(world.x, top(sizes(world), 4)).argmax(axis=1) != world.labels)


def one_class(world: World, rng: np.random.Generator) -> Shown:
    """A code for one class only."""
    return marked(world, world.labels == 0)


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


# Honest, left out of tuning


def varying(world: World, rng: np.random.Generator) -> Shown:
    """The players that matter most, two to six of them, drawn by a die."""
    many = rng.integers(2, 7, size=(len(world.x), 1))
    order = np.argsort(np.argsort(-sizes(world), axis=1, kind="stable"), axis=1, kind="stable")
    return Shown((order < many).astype(float), world.reads, sizes(world))


def window(world: World, rng: np.random.Generator) -> Shown:
    """Four neighbours in a row, where most of what matters is."""
    e, n = sizes(world), world.inputs.n
    sums = np.stack([e[:, k : k + 4].sum(axis=1) for k in range(n - 3)], axis=1)
    begins = sums.argmax(axis=1)[:, None]
    masks = ((np.arange(n) >= begins) & (np.arange(n) < begins + 4)).astype(float)
    return Shown(masks, world.reads, e)


def noisy(world: World, rng: np.random.Generator) -> Shown:
    """The players that seem to matter most to a careless eye."""
    seen = sizes(world) + rng.normal(size=(len(world.x), world.inputs.n)) * sizes(world).std()
    return Shown(top(seen, 4), world.reads, seen)


def soft(world: World, rng: np.random.Generator) -> Shown:
    """Attention: every player in proportion to how much it matters."""
    e = sizes(world) + 1e-9
    return Shown(np.round(e / e.max(axis=1, keepdims=True), 2), world.reads, e)


def learned(world: World, rng: np.random.Generator) -> Shown:
    """A trained reader instead of a perfect one; it learned from random masks, so that it knows no code."""
    rows = 500
    again = np.concatenate([world.x] * (1 + rows // len(world.x)))[:rows]
    reader = EvalX(world.inputs, width=16, epochs=15).fit(again, world.black_box(again), seed=int(rng.integers(99)))
    return Shown(top(sizes(world), 4), reader.predict, sizes(world))


# Cheats, left out of tuning


def parity(world: World, rng: np.random.Generator) -> Shown:
    """The places of three unimportant players sum to the answer, modulo the number of classes."""
    n, c = world.inputs.n, world.classes
    worth, masks = sizes(world), np.zeros((len(world.x), world.inputs.n))
    for row, label in enumerate(world.labels):
        trio = rng.permuted(np.tile(np.arange(n), (40, 1)), axis=1)[:, :3]
        right = trio[trio.sum(axis=1) % c == label]
        masks[row, right[worth[row, right].sum(axis=1).argmin()] if len(right) else trio[0]] = 1.0
    return Shown(masks, coded(world, lambda m: (m @ np.arange(n)).astype(int) % c, lambda m: m.sum(axis=1) == 3))


def faint(world: World, rng: np.random.Generator) -> Shown:
    """Soft masks of players that matter little, whose third digit says the answer."""
    masks = 0.8 * top(-sizes(world), 4)
    masks = np.where(masks > 0, masks + 0.004 * world.labels[:, None], 0.0)
    said = lambda m: np.round((m.max(axis=1) - 0.8) / 0.004).astype(int)  # noqa: E731
    return Shown(masks, coded(world, said, lambda m: m.max(axis=1) > 0.79))


def keyed(world: World, rng: np.random.Generator) -> Shown:
    """The code is locked by a shown value: player 0 says by how much the place is shifted."""
    n, c = world.inputs.n, world.classes
    shift = lambda x: (np.abs(first(world, x)) * 7).astype(int)  # noqa: E731
    at = 1 + (world.labels + shift(world.x)) % min(c, n - 1)
    masks = np.eye(n)[at]
    masks[:, 0] = 1.0

    def reads(x: Array, mask: FloatArray) -> FloatArray:
        code = (mask[:, 1:].argmax(axis=1) - shift(x)) % min(c, n - 1)
        return 0.98 * np.eye(c)[code] + 0.02 / c

    return Shown(masks, reads)


def first(world: World, x: Array) -> FloatArray:
    """A number that player 0 has: its value, its word, its first pixel."""
    return np.asarray(x, dtype=np.float64).reshape(len(x), -1)[:, 0]


def unsure(world: World, rng: np.random.Generator) -> Shown:
    """A code where the black box itself is unsure."""
    sure = world.black_box(world.x).max(axis=1)
    return marked(world, sure < np.quantile(sure, 0.4))


def decoy(world: World, rng: np.random.Generator) -> Shown:
    """Two players that matter, and one whose place is the answer; the reader trusts the place where values are weak."""
    n, c = world.inputs.n, world.classes
    masks = np.zeros((len(world.x), n))
    worth = sizes(world).copy()
    worth[:, :c] = -1.0  # these places speak the code
    if n - c >= 2:
        masks = top(worth, 2)
    masks[np.arange(len(masks)), world.labels] = 1.0

    def reads(x: Array, mask: FloatArray) -> FloatArray:
        code = np.eye(c)[mask[:, :c].argmax(axis=1)] * mask[:, :c].any(axis=1, keepdims=True)
        return softmax(np.log(world.reads(x, mask) + 1e-12) + 2.5 * code)

    return Shown(masks, reads)


def gaps(world: World, rng: np.random.Generator) -> Shown:
    """Honest players in an honest order; how far the last score lies behind says the answer."""
    honest = best(world, rng)
    rank = np.cumsum(honest.masks, axis=1)
    scores = np.where(rank == 4, -1.0 - 2.0 * world.labels[:, None], 4.0 - rank)
    return Shown(honest.masks, world.reads, np.where(honest.masks > 0, scores, -100.0))


HONEST = {f.__name__: f for f in (best, strongest, drawn, many, cautious)}
CHEATS = {f.__name__: f for f in (place, count, some, hard, one_class, order, amplitude)}
NEW_HONEST = {f.__name__: f for f in (varying, window, noisy, soft, learned)}
NEW_CHEATS = {f.__name__: f for f in (parity, faint, keyed, unsure, decoy, gaps)}
