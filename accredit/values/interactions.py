"""Synergy: what players earn together beyond what they earn apart.

n credits cannot hold 2ⁿ payoffs, so what a value averages away is shown here instead of being blamed on an axiom.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np

from accredit import defaults
from accredit.core import (
    Claim,
    Coalition,
    FloatArray,
    Game,
    Holds,
    Interactions,
    Precision,
    Tabulated,
    coalition_of,
    endpoints,
    payoffs,
    tabulate,
)
from accredit.core.coalitions import CHUNK_BYTES, as_rows, members_of_size
from accredit.core.game import TABLE_LIMIT
from accredit.errors import InvalidInput, TooManyPlayers
from accredit.values.cubes import Cubed, cube_credit, cube_ends, cube_pairs
from accredit.values.every_output import every_output
from accredit.values.indices import INDICES, Index, check_order, index_of
from accredit.values.products import Multiplied, product_credit, product_ends, product_pairs, scale_products
from accredit.values.sampling import Sampled, check
from accredit.values.semivalue_rules import BANZHAF, SHAPLEY


def mobius_from_table(v: FloatArray) -> FloatArray:
    """Harsanyi dividends m(S) = Σ_{T ⊆ S} (−1)^{|S|−|T|} v(T) by the fast transform, O(n·2ⁿ).

    >>> mobius_from_table(np.array([0.0, 5, 3, 10]))
    array([0., 5., 3., 2.])
    """
    m = np.array(v, dtype=np.float64)
    for i in range(m.size.bit_length() - 1):
        pairs = m.reshape(-1, 2, 1 << i)
        pairs[:, 1] -= pairs[:, 0]
    return m


def sums_over_supersets(m: FloatArray) -> FloatArray:
    """Σ_{S ⊇ T} m(S) for every T, O(n·2ⁿ)."""
    total = np.array(m, dtype=np.float64)
    for i in range(total.size.bit_length() - 1):
        pairs = total.reshape(-1, 2, 1 << i)
        pairs[:, 0] += pairs[:, 1]
    return total


@every_output
def interactions(
    game: Game,
    index: str = "k-sii",
    order: int = 2,
    *,
    budget: int | None = None,
    seed: int = 0,
    level: float = defaults.LEVEL,
) -> Interactions:
    r"""Any interaction index by name: sii, k-sii, stii, fsii, bii, fbii or mobius (see `accredit.values.indices`).

    $$I(T) = \sum_{S \supseteq T} w(|S|, |T|)\, m(S)$$

    Shapley and Banzhaf interactions (sii, bii) answer for the coalitions of `order` players. The others are expansions: they
    have a number for every coalition of up to `order` players, nobody included, which are read together; `.of_size(order)`
    picks the largest. Exact from all 2ⁿ payoffs, O(order·n·2ⁿ), if these fit the `budget` or, where none is stated, for at most
    12 players and for games that know their table; otherwise estimated without bias from the budget, or from 2,000 payoffs,
    with intervals at `level`. Dividends (mobius) are always exact and ask only coalitions of up to `order` players. Where
    scoring so many coalitions by so many payoffs would not end, an estimate is refused before anything is asked.

    >>> from accredit.games import TableGame
    >>> majority = TableGame("abc", [0, 0, 0, 1, 0, 1, 1, 1])
    >>> [round(interactions(majority, name)["a", "b"], 4) for name in ("sii", "stii", "fsii")]
    [0.0, 0.3333, 0.0]
    """
    found, n = index_of(index), len(game.players)
    k = check_order(order, n)
    if budget is not None:
        check(Sampled(level=level), budget, seed)
    if found.name == "mobius":
        return _dividends(game, k, budget)
    if found.name in RULES and k <= 2 and isinstance(game, Cubed | Multiplied):
        return _in_closed_form(game, found, k)
    if isinstance(game, Tabulated) or defaults.affordable(n, budget):
        v = tabulate(game)
        return _known(game, found, k, _from_table(game.players, v, found, k), float(v[0]), float(v[-1]), v.size)
    from accredit.values.sampled_interactions import sampled_interactions

    return sampled_interactions(game, found, k, defaults.BUDGET if budget is None else budget, seed, level)


@every_output
def shapley_interactions(
    game: Game, order: int = 2, *, budget: int | None = None, seed: int = 0, level: float = defaults.LEVEL
) -> Interactions:
    r"""Shapley interaction index of every coalition of `order` players (Grabisch and Roubens, 1999).

    $$I(T) = \sum_{S \supseteq T} \frac{m(S)}{|S| - |T| + 1}$$

    For pairs: how much more i adds when j is there, averaged as in the Shapley value. Positive: they complement each other;
    negative: they replace each other. Costs 2ⁿ payoffs, or the `budget`, which gives estimates with intervals; none up to
    pairs for a game that knows its cubes. Order 1 is the Shapley value itself.

    >>> from accredit.games import TableGame
    >>> shapley_interactions(TableGame("ABC", [0, 50, 20, 75, 25, 80, 90, 100]))["B", "C"]
    20.0
    """
    return interactions(game, "sii", order, budget=budget, seed=seed, level=level)


@every_output
def banzhaf_interactions(
    game: Game, order: int = 2, *, budget: int | None = None, seed: int = 0, level: float = defaults.LEVEL
) -> Interactions:
    r"""Banzhaf interaction index: the same derivative, every coalition of the others counted alike.

    $$I_B(T) = \sum_{S \supseteq T} 2^{|T|-|S|}\, m(S)$$

    >>> from accredit.games import TableGame
    >>> banzhaf_interactions(TableGame("ABC", [0, 50, 20, 75, 25, 80, 90, 100]))["B", "C"]
    20.0
    """
    return interactions(game, "bii", order, budget=budget, seed=seed, level=level)


@every_output
def mobius(game: Game, order: int | None = None) -> Interactions:
    r"""Harsanyi dividends: what a coalition earns that no smaller one explains.

    $$m(S) = \sum_{T \subseteq S} (-1)^{|S|-|T|}\, v(T), \qquad v(S) = \sum_{T \subseteq S} m(T)$$

    `order` gives the coalitions of exactly that many players, as in `shapley_interactions` and `banzhaf_interactions`, and asks
    only those and smaller ones; None gives all and costs 2ⁿ payoffs. `interactions(game, "mobius", order)` is the expansion
    up to that order. The Shapley value splits each dividend evenly among its members.

    >>> from accredit.games import TableGame
    >>> mobius(TableGame(("alice", "bob"), [0, 5, 3, 10]))["alice", "bob"]
    2.0
    """
    if order is None:
        return _dividends(game, len(game.players), None)
    k = check_order(order, len(game.players))
    return _alone(_dividends(game, k, None).of_size(k))


def _alone(dividends: Interactions) -> Interactions:
    """Dividends of one size, which no longer add up to payoffs."""
    part = Claim("reconstruction", Holds.NO, "the dividends of smaller coalitions are left out")
    return replace(dividends, claims=tuple(part if c.axiom == part.axiom else c for c in dividends.claims))


def _known(
    game: Game, index: Index, order: int, values: dict[Coalition, float], nobody: float, everybody: float, asked: int
) -> Interactions:
    """Exact interactions."""
    claims = index.claims(order, len(game.players), lambda because: (Holds.EXACTLY, because))
    return Interactions(
        game.players,
        index.name,
        index.means,
        values,
        claims,
        precision=Precision.exact(),
        total=everybody - nobody,
        payoffs=asked,
    )


def _from_table(players: tuple[str, ...], v: FloatArray, index: Index, order: int) -> dict[Coalition, float]:
    m = mobius_from_table(v - v[0])  # the constant cancels; taking it off first keeps the digits
    m[0] = v[0]
    size, found = np.bitwise_count(np.arange(m.size)), {}
    for t in index.sizes(order):
        weights = np.array([float(index.weight(s, t, order)) if s >= t else 0.0 for s in range(len(players) + 1)])
        summed = sums_over_supersets(m * weights[size])
        for who in combinations(range(len(players)), t):
            found[tuple(players[i] for i in who)] = float(summed[sum(1 << i for i in who)])
    return found


def _dividends(game: Game, order: int, budget: int | None) -> Interactions:
    """Dividends of coalitions of up to `order` players, from the table where it is known or wanted in full."""
    n, index = len(game.players), INDICES["mobius"]
    asked = sum(comb(n, size) for size in range(order + 1))
    if budget is not None and not isinstance(game, Tabulated) and budget < asked:
        raise InvalidInput(
            f"budget={budget} is less than the {asked:,} dividends asked for; give at least budget={asked}",
            argument="budget",
            code="range",
        )
    if isinstance(game, Tabulated) or order == n:
        v = tabulate(game, instead="mobius(game, order=2)")
        return _known(game, index, order, _from_table(game.players, v, index, order), float(v[0]), float(v[-1]), v.size)
    if asked > 1 << TABLE_LIMIT:
        raise TooManyPlayers(
            f"order={order} of {n} players has {asked:,} dividends; write mobius(game, order=2)",
            argument="order",
            code="too-many",
        )
    nobody, everybody = endpoints(game)
    values = dividends_up_to(game, order)
    found = {tuple(game.players[i] for i in who): x for who, x in values.items()}
    return _known(game, index, order, found, nobody, everybody, asked + 1)


def dividends_up_to(game: Game, order: int) -> dict[tuple[int, ...], float]:
    """Dividends of all coalitions of up to `order` players, from their payoffs alone."""
    n = len(game.players)
    rank = np.array([[comb(i, place) for place in range(order + 1)] for i in range(n)])  # of a coalition in its size
    earned: list[FloatArray] = []  # by size and rank: Σ C(i, place) over its members i in rising order
    found: dict[tuple[int, ...], float] = {}
    for size in range(order + 1):
        who = members_of_size(n, size)
        step = max(1, CHUNK_BYTES // n)
        paid = np.concatenate([payoffs(game, as_rows(who[a : a + step], n)) for a in range(0, len(who), step)])
        by_rank = np.empty(len(who))
        by_rank[rank[who, np.arange(1, size + 1)].sum(axis=1)] = paid - (earned[0][0] if size else 0.0)
        earned.append(by_rank)
        dividend = np.zeros(len(who))
        for kept in (part for few in range(size + 1) for part in combinations(range(size), few)):
            some = who[:, list(kept)]
            place = rank[some, np.arange(1, len(kept) + 1)].sum(axis=1)
            dividend += (-1) ** (size - len(kept)) * (earned[len(kept)][place] if kept or not size else 0.0)
        found |= dict(zip(map(tuple, who.tolist()), dividend.tolist(), strict=True))
    return found


RULES = {"sii": SHAPLEY, "bii": BANZHAF}


def _in_closed_form(game: Cubed | Multiplied, index: Index, order: int) -> Interactions:
    """The index of every player (order 1) or pair (order 2) of a game that knows its cubes or its products."""
    rule, names = RULES[index.name], game.players
    if isinstance(game, Cubed):
        found = cube_credit(game.cubes, rule) if order == 1 else cube_pairs(game.cubes, rule)
        nobody, everybody = cube_ends(game.cubes)
    else:
        constant, weight, present, absent = game.products
        scaled = scale_products(weight[:, None], present.T, absent.T)
        found = (product_credit if order == 1 else product_pairs)(scaled, rule)[..., 0]
        nobody, everybody = (constant + float(end[0]) for end in product_ends(scaled))
    who = combinations(range(len(names)), order)
    values: dict[Coalition, float] = {tuple(names[i] for i in some): float(found[some]) for some in who}
    return _known(game, index, order, values, nobody, everybody, 0)


@every_output
def value_given(game: Game, player: str | int, given: Iterable[str | int] = ()) -> float:
    """What `player` adds when exactly the players in `given` are there: v(T ∪ i) − v(T).

    >>> from accredit.games import TableGame
    >>> data_sets = TableGame(("A", "B", "C"), [0, 50, 20, 75, 25, 80, 90, 100])
    >>> value_given(data_sets, "C", ["A"]), value_given(data_sets, "C", ["B"])
    (30.0, 70.0)
    """
    others = coalition_of(game.players, given, "given")
    joined = others | coalition_of(game.players, [player], "player")
    if (others == joined).all():
        raise InvalidInput(
            f"player {player!r} is also in given; ask for its value given the others", argument="player", code="conflict"
        )
    before, after = payoffs(game, np.stack([others, joined]))
    return float(after - before)


@every_output
def best_subsets(game: Game) -> dict[int, tuple[Coalition, float]]:
    """The coalition of highest payoff for every size; ties go to the players listed first. Costs 2ⁿ payoffs.

    >>> from accredit.games import TableGame
    >>> best_subsets(TableGame(("A", "B", "C"), [0, 50, 20, 75, 25, 80, 90, 100]))[2]
    (('B', 'C'), 90.0)
    """
    v = tabulate(game)
    size = np.bitwise_count(np.arange(v.size))
    best: dict[int, tuple[Coalition, float]] = {}
    for k in range(len(game.players) + 1):
        rows = np.flatnonzero(size == k)
        row = int(rows[np.argmax(v[rows])])
        best[k] = (tuple(p for i, p in enumerate(game.players) if row >> i & 1), float(v[row]))
    return best


@every_output
def payoff_of(game: Game, coalition: Iterable[str]) -> float:
    """What one named coalition earns.

    >>> from accredit.games import TableGame
    >>> payoff_of(TableGame(("alice", "bob"), [0, 5, 3, 10]), ["bob"])
    3.0
    """
    return float(payoffs(game, coalition_of(game.players, coalition, "coalition")[None])[0])
