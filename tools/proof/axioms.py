"""Exact methods against their axioms and their definitions, on random games of every scale: relative errors per statement."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import permutations
from math import comb

import numpy as np
from scipy.special import betaln

from accredit.core import FloatArray, IntArray
from accredit.evaluate import check_claims
from accredit.games import TableGame
from accredit.values import (
    CubeGame,
    banzhaf,
    beta,
    interactions,
    leave_one_out,
    mobius,
    owen,
    semivalue,
    shapley,
)
from tools.proof.kinds import KINDS

TOLERANCE = 1e-9  # relative to the largest payoff
SCALES = (0.0, 0.0, 0.0, 3.0, -3.0, 12.0, -12.0, 100.0, -100.0, 140.0, -280.0)  # powers of ten
KIND_NAMES = tuple(KINDS)


@cache
def _steps(n: int) -> tuple[IntArray, IntArray]:
    """Coalitions before and after each player's arrival in every order: (n!, n) each, columns by player."""
    before = np.empty((len(orders := list(permutations(range(n)))), n), dtype=np.int64)
    for row, order in enumerate(orders):
        here = 0
        for player in order:
            before[row, player] = here
            here |= 1 << player
    return before, before | 1 << np.arange(n)


def by_orders(v: FloatArray) -> FloatArray:
    """The Shapley value as its definition says: the mean gain over all orders."""
    before, after = _steps(v.size.bit_length() - 1)
    return np.asarray((v[after] - v[before]).mean(axis=0))


def by_sizes(v: FloatArray, weights: FloatArray) -> FloatArray:
    """A semivalue as its definition says: one sum over the coalitions of the others."""
    n, index = v.size.bit_length() - 1, np.arange(v.size)
    size = np.bitwise_count(index)
    without = [index[index >> i & 1 == 0] for i in range(n)]
    return np.array([float((weights[size[s]] * (v[s | 1 << i] - v[s])).sum()) for i, s in enumerate(without)])


def drawn_game(k: int) -> tuple[FloatArray, list[int], tuple[int, int] | None]:
    """Game number k: its table, its planted null players and a planted pair of equal ones."""
    rng = np.random.default_rng([11, k])
    n = int(rng.integers(1, 7))
    v = KINDS[KIND_NAMES[k % len(KIND_NAMES)]](rng, n)
    index, nulls, equal = np.arange(v.size), [], None
    if n > 1 and rng.random() < 0.5:
        i, j = (int(p) for p in rng.choice(n, 2, replace=False))
        differ = (index >> i ^ index >> j) & 1
        v, equal = (v + v[index ^ (differ << i | differ << j)]) / 2, (i, j)
    if rng.random() < 0.5:
        nulls = [int(rng.integers(n))]
        v = v[index & ~(1 << nulls[0])]
        equal = None if equal and nulls[0] in equal else equal
    return v * 10.0 ** SCALES[int(rng.integers(len(SCALES)))], nulls, equal


def statements(k: int) -> Iterator[tuple[str, float]]:
    """Every statement about game k, with its error relative to the largest payoff."""
    v, nulls, equal = drawn_game(k)
    rng, n = np.random.default_rng([12, k]), v.size.bit_length() - 1
    players = tuple(f"p{i}" for i in range(n))
    game, scale = TableGame(players, v), float(np.abs(v).max()) or 1.0
    total = v[-1] - v[0]
    phi = shapley(game)
    yield "shapley: efficiency", abs(phi.credit.sum() - total) / scale
    yield "shapley: the mean over all orders", _off(phi.credit, by_orders(v), scale)
    yield from _planted("shapley", phi.credit, nulls, equal, scale)
    w = rng.normal(scale=scale, size=v.size)
    both = shapley(TableGame(players, 0.5 * v - 0.25 * w)).credit
    yield "shapley: linearity", _off(both, 0.5 * phi.credit - 0.25 * shapley(TableGame(players, w)).credit, scale)
    yield "shapley: claims", float(_refuted(phi, game))
    yield from _semivalues(game, v, rng, nulls, equal, scale)
    yield from _owen(game, v, rng, nulls, scale)
    yield from _interactions(game, v, phi.credit, rng, scale)
    yield from _cubes(players, rng)


def _off(found: FloatArray, wanted: FloatArray, scale: float) -> float:
    return float(np.abs(found - wanted).max() / scale)


def _refuted(found: object, game: TableGame) -> bool:
    """Claims of a result that its own game refutes; raised as an error, counted as one."""
    from accredit.evaluate import ClaimRefuted

    try:
        check_claims(found, game)  # type: ignore[call-overload]
    except ClaimRefuted:
        return True
    return False


def _planted(
    name: str, credit: FloatArray, nulls: list[int], equal: tuple[int, int] | None, scale: float
) -> Iterator[tuple[str, float]]:
    for i in nulls:
        yield f"{name}: null player", abs(credit[i]) / scale
    if equal:
        yield f"{name}: symmetry", abs(credit[equal[0]] - credit[equal[1]]) / scale


def _semivalues(
    game: TableGame,
    v: FloatArray,
    rng: np.random.Generator,
    nulls: list[int],
    equal: tuple[int, int] | None,
    scale: float,
) -> Iterator[tuple[str, float]]:
    n = len(game.players)
    size = np.arange(n)
    mean = np.array([float(v[s | 1 << i].mean() - v[s].mean()) for i in range(n) for s in [_others(n, i)]])
    found = banzhaf(game)
    yield "banzhaf: the mean over coalitions", _off(found.credit, mean, scale)
    yield from _planted("banzhaf", found.credit, nulls, equal, scale)
    yield "banzhaf: claims", float(_refuted(found, game))
    a, b = (float(x) for x in rng.uniform(0.5, 8, size=2))
    weights = np.exp(betaln(size + b, n - 1 - size + a) - betaln(a, b))
    yield "beta: the definition", _off(beta(game, a, b).credit, by_sizes(v, weights), scale)
    law = rng.dirichlet(np.ones(n))
    weights = law / np.array([comb(n - 1, k) for k in range(n)])
    found = semivalue(game, weights)
    yield "semivalue: the definition", _off(found.credit, by_sizes(v, weights), scale)
    yield from _planted("semivalue", found.credit, nulls, equal, scale)
    everybody = v.size - 1
    alone = np.array([v[everybody] - v[everybody & ~(1 << i)] for i in range(n)])
    yield "leave-one-out: the definition", _off(leave_one_out(game).credit, alone, scale)


def _others(n: int, i: int) -> IntArray:
    index = np.arange(1 << n)
    return index[index >> i & 1 == 0]


def _owen(
    game: TableGame, v: FloatArray, rng: np.random.Generator, nulls: list[int], scale: float
) -> Iterator[tuple[str, float]]:
    """Groups of players: efficiency, and each group together earns its Shapley value in the game among groups."""
    n = len(game.players)
    group = rng.integers(0, max(1, n // 2) + 1, size=n)
    groups = [[i for i in range(n) if group[i] == g] for g in sorted(set(group.tolist()))]
    found = owen(game, [[game.players[i] for i in g] for g in groups])
    yield "owen: efficiency", abs(found.credit.sum() - (v[-1] - v[0])) / scale
    masks = np.array([sum(1 << i for i in g) for g in groups])
    among = np.array([v[int(masks[(s >> np.arange(len(masks)) & 1).astype(bool)].sum())] for s in range(1 << len(masks))])
    together = np.array([found.credit[g].sum() for g in groups])
    yield "owen: the game among groups", _off(together, by_orders(among), scale)
    yield from _planted("owen", found.credit, nulls, None, scale)
    yield "owen: claims", float(_refuted(found, game))


def _interactions(
    game: TableGame, v: FloatArray, phi: FloatArray, rng: np.random.Generator, scale: float
) -> Iterator[tuple[str, float]]:
    """Dividends give back the payoffs; expansions share all there is; of order 1 the Shapley interaction is the value."""
    n = len(game.players)
    dividends = mobius(game)
    team = int(rng.integers(v.size))
    inside = {p for i, p in enumerate(game.players) if team >> i & 1}
    total = sum(worth for coalition, worth in dividends.values.items() if set(coalition) <= inside)
    yield "mobius: gives back the payoffs", abs(total - v[team]) / scale / 2**n
    single = interactions(game, "sii", 1)
    yield "sii of order 1: the value", _off(np.array([single.values[(p,)] for p in game.players]), phi, scale)
    if n > 1:
        order = int(rng.integers(1, n + 1))
        for name in ("k-sii", "stii", "fsii"):
            values = interactions(game, name, order).values
            shared = sum(worth for coalition, worth in values.items() if coalition)
            yield f"{name}: shares all there is", abs(shared - (v[-1] - v[0])) / scale / 2**n


def _cubes(players: tuple[str, ...], rng: np.random.Generator) -> Iterator[tuple[str, float]]:
    """A formula in closed form against its own table."""
    n = len(players)
    signs = rng.choice([-1, 0, 1], size=(3, n))
    weight = rng.normal(size=3)
    closed = CubeGame(players, weight, signs == 1, signs == -1)
    index = np.arange(1 << n)
    plays = (index[:, None] >> np.arange(n) & 1).astype(bool)
    v = sum(w * (plays[:, s == 1].all(axis=1) & ~plays[:, s == -1].any(axis=1)) for w, s in zip(weight, signs, strict=True))
    v = np.asarray(v, dtype=np.float64)
    scale = float(np.abs(v).max()) or 1.0
    yield "cubes: shapley of the table", _off(shapley(closed).credit, by_orders(v), scale)
    yield "cubes: banzhaf of the table", _off(banzhaf(closed).credit, banzhaf(TableGame(players, v)).credit, scale)
