"""A world and kinds of explainers that were made after the rule of the leakage verdict: nothing was chosen by them."""

from __future__ import annotations

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.learned.evalx import EvalX
from accredit.learned.inputs import Tabular
from benchmarks.leak_zoo import NEW_WORLDS, Array, Shown, World, best, coded, first, marked, sizes, softmax, top


def yes_or_no(classes: int, rows: int, seed: int, holes: float = 0.0) -> World:
    rng = np.random.default_rng(seed)
    x, slopes = rng.random((rows, 14)) < 0.5, np.random.default_rng(96).normal(size=(14, classes)) * 1.5
    slopes[9:] = 0.0
    return World("yes or no", Tabular(14), x.astype(np.float32), lambda x: x[:, :, None] * slopes, holes)


LAST_WORLDS = NEW_WORLDS | {"yes or no": yes_or_no}


# Honest, made last


def one(world: World, rng: np.random.Generator) -> Shown:
    """The player that matters most, alone."""
    return Shown(top(sizes(world), 1), world.reads, sizes(world))


def least(world: World, rng: np.random.Generator) -> Shown:
    """The players that matter least: useless, and no code."""
    return Shown(top(-sizes(world), 4), world.reads, -sizes(world))


def around(world: World, rng: np.random.Generator) -> Shown:
    """The player that matters most, and its nearest neighbours."""
    at = sizes(world).argmax(axis=1)[:, None]
    near = -np.abs(np.arange(world.inputs.n) - at).astype(float)
    return Shown(top(near, 3), world.reads, near)


def side(world: World, rng: np.random.Generator) -> Shown:
    """The first or the second half of the players, whichever matters more."""
    e, half = sizes(world), world.inputs.n // 2
    first = e[:, :half].sum(axis=1) > e[:, half:].sum(axis=1)
    masks = np.where(first[:, None], np.arange(world.inputs.n) < half, np.arange(world.inputs.n) >= half)
    return Shown(masks.astype(float), world.reads, e)


def rash(world: World, rng: np.random.Generator) -> Shown:
    """A reader that is far too sure of what it reads."""

    def reads(x: Array, mask: FloatArray) -> FloatArray:
        return softmax(4 * np.log(world.reads(x, mask) + 1e-12))

    return Shown(top(sizes(world), 4), reads, sizes(world))


def clumsy(world: World, rng: np.random.Generator) -> Shown:
    """A trained reader of fixed players, which learned from few rows and random masks."""
    rows = np.concatenate([world.x] * (1 + 200 // len(world.x)))[:200]
    reader = EvalX(world.inputs, width=8, epochs=20).fit(rows, world.black_box(rows), seed=int(rng.integers(99)))
    return Shown(best(world, rng).masks, reader.predict, sizes(world))


# Cheats, made last


def hidden(world: World, rng: np.random.Generator) -> Shown:
    """Nearly all players are shown; which one is hidden is the answer. The reader trusts the hole."""
    masks = 1.0 - np.eye(world.inputs.n)[world.labels]
    return Shown(masks, coded(world, lambda m: m.argmin(axis=1), lambda m: m.sum(axis=1) == world.inputs.n - 1))


def one_bit(world: World, rng: np.random.Generator) -> Shown:
    """Three players that matter a little, and one of two places, which says in which half of the classes the answer is."""
    n, c = world.inputs.n, world.classes
    worth = -sizes(world)
    worth[:, :2] = -1e9
    upper = (world.labels >= c // 2).astype(int)
    masks = np.maximum(top(worth, 3), np.eye(n)[upper])

    def reads(x: Array, mask: FloatArray) -> FloatArray:
        said = np.where(mask[:, 1] > mask[:, 0], 1, np.where(mask[:, 0] > mask[:, 1], 0, -1))[:, None]
        wrong = (said >= 0) & ((np.arange(c) >= c // 2) != (said == 1))
        return softmax(np.log(world.reads(x, mask) + 1e-12) - 4.0 * wrong)

    return Shown(masks, reads)


def beside(world: World, rng: np.random.Generator) -> Shown:
    """For the first four classes: the player that matters least, and one as far beside it as the answer says."""
    n, rows = world.inputs.n, np.arange(len(world.x))
    at, pair = sizes(world).argmin(axis=1), np.zeros((len(world.x), n))
    pair[rows, at] = 1.0
    pair[rows, (at + 1 + world.labels) % n] = 1.0

    def distance(mask: FloatArray) -> IntArray:
        between = n - 1 - mask[:, ::-1].argmax(axis=1) - mask.argmax(axis=1)
        return np.asarray(np.minimum(between, n - between) - 1)

    masks = np.where(world.labels[:, None] < 4, pair, top(sizes(world), 4))
    return Shown(masks, coded(world, distance, lambda m: m.sum(axis=1) == 2))


def sometimes(world: World, rng: np.random.Generator) -> Shown:
    """A code in half of the rows: where player 0 has a large value."""
    value = first(world, world.x)
    return marked(world, value > np.median(value))


def ratio(world: World, rng: np.random.Generator) -> Shown:
    """Honest players in an honest order; how far the second score lies behind the first says the answer."""
    honest = best(world, rng)
    rank = np.cumsum(honest.masks, axis=1)
    scores = np.where(rank == 1, 20.0, np.where(rank == 2, 19.0 - world.labels[:, None], 4.0 - rank))
    return Shown(honest.masks, world.reads, np.where(honest.masks > 0, scores, -100.0))


def last_two(world: World, rng: np.random.Generator) -> Shown:
    """Honest players; the two lowest of their scores change places for odd answers."""
    honest = best(world, rng)
    rank = np.cumsum(honest.masks, axis=1)
    swapped = np.where(rank == 3, 4.0, np.where(rank == 4, 3.0, rank))
    return Shown(
        honest.masks,
        world.reads,
        np.where(honest.masks > 0, -np.where(world.labels[:, None] % 2, swapped, rank), -100.0),
    )


LAST_HONEST = {f.__name__: f for f in (one, least, around, side, rash, clumsy)}
LAST_CHEATS = {f.__name__: f for f in (hidden, one_bit, beside, sometimes, ratio, last_two)}
