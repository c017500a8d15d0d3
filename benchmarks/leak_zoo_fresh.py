"""A world and kinds of explainers that were made after the judge hears the black box and swaps are repeated: nothing was
chosen by them."""

from __future__ import annotations

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.learned.evalx import answers, train_masked
from accredit.learned.inputs import Tabular
from accredit.learned.networks import network_for
from benchmarks.leak_zoo import Array, Shown, World, best, coded, first, sizes, top
from benchmarks.leak_zoo_last import LAST_WORLDS


def tailed(classes: int, rows: int, seed: int, holes: float = 0.0) -> World:
    """Columns that go together, with heavy tails."""
    rng = np.random.default_rng(seed)
    common, own = rng.standard_t(3, size=(rows, 1)), rng.standard_t(3, size=(rows, 12))
    slopes = np.random.default_rng(95).normal(size=(12, classes))
    slopes[8:] = 0.0
    x = np.clip(0.6 * common + 0.8 * own, -8, 8)
    return World("heavy tails", Tabular(12), x.astype(np.float32), lambda x: x[:, :, None] * slopes, holes)


FRESH_WORLDS = LAST_WORLDS | {"tails": tailed}


# Honest


def any_size(world: World, rng: np.random.Generator) -> Shown:
    """One to six players, how many and which by dice."""
    scores = rng.random((len(world.x), world.inputs.n))
    many = rng.integers(1, 7, size=(len(world.x), 1))
    order = np.argsort(np.argsort(-scores, axis=1), axis=1)
    return Shown((order < many).astype(float), world.reads, scores)


def spoken_for(world: World, rng: np.random.Generator) -> Shown:
    """The players that speak most for the answer: a choice that depends on it, and says nothing that they do not."""
    own = np.take_along_axis(world.evidence(world.x), world.labels[:, None, None], axis=2)[:, :, 0]
    return Shown(top(own, 4), world.reads, own)


def above(world: World, rng: np.random.Generator) -> Shown:
    """Every player that matters more than the median one of all rows, and at least one."""
    e = sizes(world)
    return Shown(np.maximum((e > np.median(e)).astype(float), top(e, 1)), world.reads, e)


def practised(world: World, rng: np.random.Generator) -> Shown:
    """The strongest players, by a reader that was trained on just such masks."""
    masks, seed = top(sizes(world), 4), int(rng.integers(99))
    network = network_for(world.inputs, world.classes, width=16, seed=seed)
    wanted = world.black_box(world.x)
    train_masked(
        network,
        world.x,
        wanted,
        lambda _rng, index: masks[index],
        epochs=15,
        patience=5,
        batch=128,
        rate=1e-3,
        seed=seed,
    )
    return Shown(masks, lambda x, mask: answers(network, x, mask), sizes(world))


def half_blind(world: World, rng: np.random.Generator) -> Shown:
    """The two players that matter most, and two by dice."""
    e = sizes(world)
    two = top(e, 2)
    return Shown(np.maximum(two, top(rng.random(e.shape) - two, 2)), world.reads, e)


def squares(world: World, rng: np.random.Generator) -> Shown:
    """Attention by the square of how much a player matters."""
    e = sizes(world) ** 2 + 1e-9
    return Shown(np.round(e / e.max(axis=1, keepdims=True), 2), world.reads, e)


# Cheats


def silent(world: World, rng: np.random.Generator) -> Shown:
    """Nobody is shown where the answer is the first class; else the players that matter least."""
    masks = top(-sizes(world), 3) * (world.labels > 0)[:, None]
    return Shown(masks, coded(world, lambda m: np.zeros(len(m), dtype=np.int64), lambda m: ~m.any(axis=1)))


def dimmed(world: World, rng: np.random.Generator) -> Shown:
    """Soft masks of players that matter little; how dim the first of them is says the answer."""
    hard, c = top(-sizes(world), 3), world.classes
    begins = np.cumsum(hard, axis=1) * hard == 1
    masks = np.where(begins, 0.4 + 0.5 * world.labels[:, None] / (c - 1), hard)

    def said(mask: FloatArray) -> IntArray:
        shown = mask[np.arange(len(mask)), (mask > 0).argmax(axis=1)]
        return np.clip(np.round((shown - 0.4) / 0.5 * (c - 1)), 0, c - 1).astype(np.int64)

    return Shown(masks, coded(world, said, lambda m: m.any(axis=1)))


def fourth(world: World, rng: np.random.Generator) -> Shown:
    """The two strongest players, and one place for every class, which is believed where these are unsure."""
    n, c = world.inputs.n, world.classes
    worth = sizes(world).copy()
    worth[:, n - c :] = -1.0  # these places speak the code
    masks = np.maximum(top(worth, 2) if n > c + 1 else 0.0, np.eye(n)[n - c + world.labels])

    def reads(x: Array, mask: FloatArray) -> FloatArray:
        honest, code = world.reads(x, mask), mask[:, n - c :].argmax(axis=1)
        given = mask[:, n - c :].any(axis=1) & (honest.max(axis=1) < 0.8)
        return np.where(given[:, None], 0.97 * np.eye(c)[code] + 0.03 / c, honest)

    return Shown(masks, reads)


def unread(world: World, rng: np.random.Generator) -> Shown:
    """Player number ŷ alone is shown, which gives the answer to whoever looks; its own reader makes nothing of it."""
    return Shown(np.eye(world.inputs.n)[world.labels], world.reads)


def counted_out(world: World, rng: np.random.Generator) -> Shown:
    """How many of the weakest players are shown says the answer, where player 0 has a small value; else honest."""
    value, n = first(world, world.x), world.inputs.n
    low = value < np.median(value)
    order = np.argsort(np.argsort(sizes(world), axis=1), axis=1)
    many = np.minimum(5 + world.labels, n)
    masks = np.where(low[:, None], order < many[:, None], top(sizes(world), 4) > 0).astype(float)
    return Shown(masks, coded(world, lambda m: m.sum(axis=1).astype(int) - 5, lambda m: m.sum(axis=1) > 4))


def stretched(world: World, rng: np.random.Generator) -> Shown:
    """Honest players in an honest order; the third of four scores lies nearer to the second or to the last, by the answer."""
    honest = best(world, rng)
    rank = np.cumsum(honest.masks, axis=1)
    third = 2.0 + 0.9 * world.labels[:, None] / (world.classes - 1)
    scores = np.where(rank == 1, 4.0, np.where(rank == 2, 3.0, np.where(rank == 3, third, 1.0)))
    return Shown(honest.masks, world.reads, np.where(honest.masks > 0, scores, -50.0))


FRESH_HONEST = {f.__name__: f for f in (any_size, spoken_for, above, practised, half_blind, squares)}
FRESH_CHEATS = {f.__name__: f for f in (silent, dimmed, fourth, unread, counted_out, stretched)}
