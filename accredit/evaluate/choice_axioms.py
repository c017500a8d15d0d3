"""Axioms of values with levels, put to the test on random games: which rule keeps which, with a witness for every no.

A value here is a function of a table of payoffs (one axis per player, v(0) = 0) that gives one number per level of each player.
Every check answers with the largest violation that it found; about zero means kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np

from accredit.core import FloatArray
from accredit.values.multichoice import Credit
from accredit.values.semivalues import shapley_from_table

Value = Callable[[FloatArray], Credit]
SHAPES = ((2, 3), (3, 3), (3, 2, 2), (2, 4))  # levels, 0 included
KEPT = 1e-9


def _games(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]] = SHAPES) -> list[FloatArray]:
    games = [rng.normal(size=shape) for shape in shapes]
    for v in games:
        v.flat[0] = 0.0
    return games


def efficiency(value: Value, rng: np.random.Generator) -> float:
    """All levels together earn v(m)."""
    return max(abs(sum(float(c.sum()) for c in value(v)) - float(v.flat[-1])) for v in _games(rng))


def linearity(value: Value, rng: np.random.Generator) -> float:
    """The credit of v + 2w is that of v plus twice that of w."""
    pairs = zip(_games(rng), _games(rng), strict=True)
    return max(_apart(value(v + 2 * w), [a + 2 * b for a, b in zip(value(v), value(w), strict=True)]) for v, w in pairs)


def symmetry(value: Value, rng: np.random.Generator) -> float:
    """Players who change places change their credit."""
    games = _games(rng, ((3, 3), (2, 2, 2), (3, 3, 3)))
    return max(_apart(value(np.swapaxes(v, 0, 1)), [value(v)[1], value(v)[0], *value(v)[2:]]) for v in games)


def null_level(value: Value, rng: np.random.Generator) -> float:
    """A level whose own step never adds anything earns nothing."""
    worst = 0.0
    for v in _games(rng):
        for i, j in _levels(v):
            flat = np.moveaxis(v.copy(), i, 0)
            flat[j:] -= flat[j] - flat[j - 1]  # the step from j − 1 to j adds nothing, the others what they did
            worst = max(worst, abs(float(value(np.moveaxis(flat, 0, i))[i][j - 1])))
    return worst


def idle_levels(value: Value, rng: np.random.Generator) -> float:
    """If nothing changes from level j of a player on, these levels earn nothing."""
    worst = 0.0
    for v in _games(rng):
        for i, j in _levels(v):
            flat = np.moveaxis(v.copy(), i, 0)
            flat[j:] = flat[j - 1]
            worst = max(worst, float(np.abs(value(np.moveaxis(flat, 0, i))[i][j - 1 :]).max()))
    return worst


def equal_loss(value: Value, rng: np.random.Generator) -> float:
    """Without its top level, each remaining level of a player loses what the top level earned."""
    worst = 0.0
    for v in _games(rng):
        for i in range(v.ndim):
            if v.shape[i] > 2:
                whole, less = value(v)[i], value(_without_top(v, i))[i]
                worst = max(worst, float(np.abs(whole[:-1] - less - whole[-1]).max()))
    return worst


def upper_balanced(value: Value, rng: np.random.Generator) -> float:
    """Two players' top levels lose the same when the other's top level goes."""
    worst = 0.0
    for v in _games(rng, ((3, 4), (3, 3, 4))):
        for i, k in permutations(range(v.ndim), 2):
            one = value(v)[i][-1] - value(_without_top(v, k))[i][-1]
            two = value(v)[k][-1] - value(_without_top(v, i))[k][-1]
            worst = max(worst, abs(float(one - two)))
    return worst


def all_or_nothing(value: Value, rng: np.random.Generator) -> float:
    """A player's total does not change with payoffs where somebody stands between 0 and the top."""
    worst = 0.0
    for v in _games(rng):
        other = rng.normal(size=v.shape)
        corners = np.ix_(*([0, n - 1] for n in v.shape))
        other[corners] = v[corners]
        worst = max(worst, max(abs(float(a.sum() - b.sum())) for a, b in zip(value(v), value(other), strict=True)))
    return worst


def replicas(value: Value, rng: np.random.Generator) -> float:
    """A player's total is the Shapley value of its level units, all alike, in the game that counts them."""
    worst = 0.0
    for v in _games(rng):
        owner = np.repeat(np.arange(v.ndim), np.array(v.shape) - 1)
        sets = np.arange(1 << len(owner))[:, None] >> np.arange(len(owner)) & 1
        reached = tuple((sets[:, owner == i]).sum(axis=1) for i in range(v.ndim))
        units = shapley_from_table(v[reached])
        worst = max(worst, max(abs(float(c.sum() - units[owner == i].sum())) for i, c in enumerate(value(v))))
    return worst


def hierarchical_strength(value: Value, rng: np.random.Generator) -> float:
    """u_s is shared by how often each step to s_i is the last of them to arrive, over all orders of level-ups."""
    worst = 0.0
    for shape in ((2, 3), (3, 3), (2, 4)):
        units = np.repeat(np.arange(len(shape)), np.array(shape) - 1)
        orders = set(permutations(units.tolist()))
        for s in np.ndindex(*shape):
            needed = [i for i, j in enumerate(s) if j]
            if needed:
                last = [max(needed, key=lambda i, o=order: _arrival(o, i, s[i])) for order in orders]  # type: ignore[misc]
                credit = value(_unanimity(shape, s))
                shares = [last.count(i) / len(orders) - credit[i][s[i] - 1] for i in needed]
                worst = max(worst, float(np.abs(shares).max()))
    return worst


def proportional(value: Value, rng: np.random.Generator) -> float:
    """u_s is shared among the levels s_i in proportion to them (weights 1, 2, 3, …)."""
    worst = 0.0
    for shape in ((2, 3), (3, 3)):
        for s in np.ndindex(*shape):
            if any(s):
                credit = value(_unanimity(shape, s))
                worst = max(worst, max(abs(float(credit[i][j - 1]) - j / sum(s)) for i, j in enumerate(s) if j))
    return worst


AXIOMS: dict[str, Callable[[Value, np.random.Generator], float]] = {
    "efficiency": efficiency,
    "linearity": linearity,
    "symmetry": symmetry,
    "idle levels": idle_levels,
    "null level": null_level,
    "hierarchical strength": hierarchical_strength,
    "replicas": replicas,
    "equal loss": equal_loss,
    "upper balanced contributions": upper_balanced,
    "proportional": proportional,
    "all or nothing": all_or_nothing,
}


def choice_axioms(value: Value, seed: int = 0) -> dict[str, float]:
    """The largest violation of every axiom on random games; at most `KEPT` means that it is kept."""
    return {name: check(value, np.random.default_rng(seed)) for name, check in AXIOMS.items()}


def _levels(v: FloatArray) -> list[tuple[int, int]]:
    return [(i, j) for i in range(v.ndim) for j in range(1, v.shape[i])]


def _without_top(v: FloatArray, player: int) -> FloatArray:
    return np.asarray(np.delete(v, v.shape[player] - 1, axis=player))


def _apart(one: Sequence[FloatArray], two: Sequence[FloatArray]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(one, two, strict=True))


def _unanimity(shape: tuple[int, ...], s: tuple[int, ...]) -> FloatArray:
    """u_s: 1 where everybody reaches s."""
    grid = np.indices(shape)
    return np.asarray((grid >= np.reshape(s, (-1, *[1] * len(shape)))).all(axis=0), dtype=np.float64)


def _arrival(order: tuple[int, ...], player: int, level: int) -> int:
    """When a player reaches a level."""
    return [at for at, who in enumerate(order) if who == player][level - 1]
