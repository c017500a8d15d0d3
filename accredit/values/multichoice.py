r"""Values of games in which players have levels 0 … m_i: who earned what, level by level.

Write v(0) = 0, s ≤ m for level vectors, e_i for one level of player i, u_s for the game that pays 1 where everybody reaches s,
and Δ(s) for dividends, v = Σ Δ(s) u_s. A *level* (i, j) is player i's step from j − 1 to j. All rules are efficient, linear,
symmetric, and give nothing to a player's levels from some point on if nothing above that point ever matters. With m_i = 1 all
are the Shapley value. They differ in what else they hold on to:

* **orders** (van den Nouweland, Potters, Tijs and Zarzuelo, 1995): level-ups arrive one by one, all orders of them being
equally
  likely. The one rule that gives nothing to a level that never adds anything and shares u_s by how often each player's step
  is the last to arrive (Faigle and Kern, 1992). A player's total is that of its m_i replicas in the game between level units.
* **dividends** (Derks and Peters, 1993): Δ(s) is shared equally by all levels up to s, so a level also earns what it makes
possible.
  The one rule with *equal loss* and *upper balanced contributions* (Klijn, Slikker and Zarzuelo, 1999).
* **weights** (Hsiao and Raghavan, 1993): Δ(s) goes to the levels s_i in proportion to given weights w_1 ≤ … ≤ w_m.
* **vertices** (Grabisch and Lange, 2007): a player climbs all its levels while the others stand at 0 or at the top, as in the
  Shapley value of the game of all or nothing, which it is for every player's total.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from accredit import defaults
from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Attributions, BoolArray, Claim, FloatArray, Holds, IntArray, Precision, Procedure
from accredit.core.choices import ChoiceGame, shape_of, tabulate_choices, worths
from accredit.errors import InvalidInput
from accredit.values.intervals import Moments, PayoffRange
from accredit.values.sampling import Sampled, check, mean_of_orders
from accredit.values.semivalues import shapley_weights
from accredit.values.shapley import shapley

MULTICHOICE = "multichoice"  # the name of the method: each credit is that of a level
RULES = ("orders", "dividends", "weights", "vertices")
Credit = list[FloatArray]  # per player, one number per level 1 … m_i


@check_arguments
def multichoice(
    game: ChoiceGame,
    rule: str = "orders",
    *,
    weights: Sequence[float] | None = None,
    budget: int | None = None,
    seed: int = 0,
    level: float = defaults.LEVEL,
) -> Attribution:
    """Credit of every level of every player, by one rule (see the module). The result's players are the levels, as in `a: 2`.

    Exact from all Π(m_i + 1) joint choices, if these fit the `budget` or, where none is stated, are at most 4,096; otherwise
    estimated from random orders of levels (`orders`, `vertices`) or as a Shapley value of levels (`dividends`), with intervals.
    `weights` can only be exact.

    >>> from accredit.games import ChoiceTable
    >>> late = ChoiceTable(("a", "b"), [[0, 0, 0], [0, 0, 1]])  # b must reach level 2, and a level 1
    >>> {rule: multichoice(late, rule).credit.round(3).tolist() for rule in ("orders", "dividends", "vertices")}
    {'orders': [0.333, 0.0, 0.667], 'dividends': [0.333, 0.333, 0.333], 'vertices': [0.5, 0.0, 0.5]}
    """
    found = _rule(rule, weights, max(shape_of(game)) - 1)
    check(Sampled(level=level), defaults.BUDGET if budget is None else budget, seed)
    cells = prod(shape_of(game))
    if isinstance(getattr(game, "table", None), np.ndarray) or cells <= (
        1 << defaults.AUTO_EXACT if budget is None else budget
    ):
        return _exact(game, found)
    if found.sample is None:
        raise InvalidInput(
            f"rule 'weights' is exact only and needs {cells:,} joint choices, more than the budget; write "
            f"multichoice(game, 'weights', weights=…, budget={cells})",
            argument="budget",
            code="too-many",
        )
    return found.sample(game, found, defaults.BUDGET if budget is None else budget, seed, level)


@check_arguments
def multichoices(game: ChoiceGame, *, weights: Sequence[float] | None = None) -> Attributions:
    """All rules side by side, exactly: one output per rule. Without `weights`, level k weighs k.

    >>> from accredit.games import ChoiceTable
    >>> multichoices(ChoiceTable(("a", "b"), [[0, 0], [0, 1]])).credit[0].tolist()  # two states: all are Shapley's
    [0.5, 0.5, 0.5, 0.5]
    """
    highest = max(shape_of(game)) - 1
    chosen = tuple(weights) if weights is not None else tuple(float(k) for k in range(1, highest + 1))
    every = {rule: _exact(game, _rule(rule, chosen if rule == "weights" else None, highest)) for rule in RULES}
    return Attributions(every, payoffs=prod(shape_of(game)))


@check_arguments
def by_player(credit: Attribution, game: ChoiceGame) -> dict[str, float]:
    """What each player's levels earn together.

    >>> from accredit.games import ChoiceTable
    >>> late = ChoiceTable(("a", "b"), [[0, 0, 0], [0, 0, 1]])
    >>> {who: round(x, 3) for who, x in by_player(multichoice(late), late).items()}
    {'a': 0.333, 'b': 0.667}
    """
    ends = np.cumsum([0, *(len(levels) - 1 for levels in game.levels)])
    return {p: float(credit.credit[a:b].sum()) for p, a, b in zip(game.players, ends[:-1], ends[1:], strict=True)}


def level_names(game: ChoiceGame) -> tuple[str, ...]:
    """The names of all levels above 0, player by player."""
    return tuple(f"{p}: {level}" for p, levels in zip(game.players, game.levels, strict=True) for level in levels[1:])


# Exact, from the table of all joint choices


def from_orders(v: FloatArray) -> Credit:
    """Average gain of every level over all orders of level-ups.

    An order passes from s to s + e_i with chance M(s)·M(m − s − e_i)/M(m), where M(s) = |s|!/Πs_k! counts the orders up to s.
    """
    from scipy.special import gammaln

    top = np.array(v.shape) - 1

    def log_orders(s: IntArray) -> FloatArray:
        return np.asarray(gammaln(s.sum(axis=0) + 1) - gammaln(s + 1).sum(axis=0))

    grid = np.indices(v.shape)
    credit = []
    for i in range(v.ndim):
        below = _upto(grid, i, v.shape[i] - 1)
        left = top.reshape(-1, *[1] * v.ndim) - below
        left[i] -= 1
        chance = np.exp(log_orders(below) + log_orders(left) - log_orders(top[:, None])[0])
        credit.append(_sum_up(chance * np.diff(v, axis=i), i))
    return credit


def from_dividends(v: FloatArray) -> Credit:
    """Every dividend shared equally by all levels up to it."""
    units = np.indices(v.shape).sum(axis=0)
    share = np.divide(dividends(v), units, out=np.zeros(v.shape), where=units > 0)
    return [np.cumsum(_sum_up(share, i)[::-1])[::-1][1:] for i in range(v.ndim)]


def from_weights(v: FloatArray, weights: FloatArray) -> Credit:
    """Every dividend shared by the levels at which it is paid, in proportion to their weights w_1 … w_m."""
    w = np.concatenate([[0.0], weights])
    heavy = w[np.indices(v.shape)]
    total = heavy.sum(axis=0)
    share = np.divide(dividends(v), total, out=np.zeros(v.shape), where=total > 0)
    return [_sum_up(share * heavy[i], i)[1:] for i in range(v.ndim)]


def from_vertices(v: FloatArray) -> Credit:
    """Gain of every level while the others stand at 0 or at the top, in Shapley's weights."""
    law, credit = shapley_weights(v.ndim), []
    for i in range(v.ndim):
        corners = v[np.ix_(*(np.arange(n) if k == i else [0, n - 1] for k, n in enumerate(v.shape)))]
        high = np.indices([1 if k == i else 2 for k in range(v.ndim)]).sum(axis=0)
        credit.append(_sum_up(np.diff(corners, axis=i) * law[high], i))
    return credit


def dividends(v: FloatArray) -> FloatArray:
    """Δ(s) with v(t) = Σ_{s ≤ t} Δ(s): differences along every axis.

    >>> dividends(np.array([[0.0, 1], [2, 5]]))
    array([[0., 1.],
           [2., 2.]])
    """
    for i in range(v.ndim):
        v = np.diff(v, axis=i, prepend=0)
    return v


def _upto(grid: IntArray, axis: int, end: int) -> IntArray:
    """Level vectors in which one player stands below `end`."""
    return grid[(slice(None), *[slice(None)] * axis, slice(0, end))].copy()


def _sum_up(cells: FloatArray, axis: int) -> FloatArray:
    """Sums over all axes but one."""
    return np.asarray(cells.sum(axis=tuple(k for k in range(cells.ndim) if k != axis)))


# The rules, with what they claim


SHARED = {
    "efficiency": "all levels together earn v(m) − v(0)",
    "symmetry": "no rule looks at who a player is",
    "idle levels": "levels from which on nothing ever changes earn nothing",
    "linearity": "a fixed linear function of the payoffs",
}
MARKS = {  # what tells the rules apart, and which of them keep it
    "null level": ("a level earns only what its own step adds", ("orders", "weights", "vertices")),
    "hierarchical strength": ("u_s is shared by how often each step is the last to arrive", ("orders",)),
    "replicas": ("a player's total is that of its level units in the game between all units", ("orders",)),
    "equal loss": ("without a player's top level, each of its levels loses what the top level earned", ("dividends",)),
    "upper balanced contributions": ("two top levels lose the same by each other's absence", ("dividends", "vertices")),
    "proportional": ("u_s is shared among the levels s_i in proportion to their weights", ("weights",)),
    "all or nothing": ("a player's total looks only at joint choices of 0 and top levels", ("vertices",)),
}


@dataclass(frozen=True, eq=False)
class ChoiceRule:
    """One rule: its credit from a table, and how it is estimated."""

    name: str
    credit: Callable[[FloatArray], Credit]
    sample: Callable[[ChoiceGame, ChoiceRule, int, int, float], Attribution] | None = None

    def claims(self, holds: Holds, along_orders: bool = False) -> tuple[Claim, ...]:
        """What its credit satisfies; estimates along orders keep exactly what every single order keeps."""
        exact = ("efficiency", "idle levels", "null level", "linearity") if along_orders else ()
        claims = [Claim(axiom, Holds.EXACTLY if axiom in exact else holds, why) for axiom, why in SHARED.items()]
        for axiom, (why, keepers) in MARKS.items():
            kept = Holds.EXACTLY if axiom in exact else holds
            claims.append(
                Claim(axiom, kept, why) if self.name in keepers else Claim(axiom, Holds.NO, f"it is not true that {why}")
            )
        return tuple(claims)


def _rule(name: str, weights: Sequence[float] | None, highest: int) -> ChoiceRule:
    if name not in RULES:
        raise InvalidInput(f"rule is {name!r:.40}; write one of {', '.join(RULES)}", argument="rule", code="unknown")
    if (weights is not None) != (name == "weights"):
        raise InvalidInput(
            f"rule {name!r} {'needs' if name == 'weights' else 'takes no'} weights; write "
            f"{f'weights={list(range(1, highest + 1))}, one per level' if name == 'weights' else 'rule=' + repr('weights')}",
            argument="weights",
            code="conflict",
        )
    if name == "weights":
        w = _check_weights(weights, highest)
        return ChoiceRule(name, lambda v: from_weights(v, w))
    plain = {
        "orders": (from_orders, _by_orders),
        "dividends": (from_dividends, _as_units),
        "vertices": (from_vertices, _by_orders),
    }
    return ChoiceRule(name, *plain[name])


def _check_weights(weights: object, highest: int) -> FloatArray:
    try:
        w = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        w = np.empty(0)
    if w.shape != (highest,) or not (np.isfinite(w).all() and (w > 0).all() and (np.diff(w) >= 0).all()):
        raise InvalidInput(
            f"weights is {weights!r:.60}; {highest} positive numbers are needed, one per level, none smaller than the last",
            argument="weights",
            code="shape",
        )
    return w


def _exact(game: ChoiceGame, rule: ChoiceRule) -> Attribution:
    v = tabulate_choices(game)
    credit = np.concatenate(rule.credit(v - v.flat[0]))
    return Attribution(
        level_names(game),
        credit,
        float(v.flat[-1] - v.flat[0]),
        Procedure(MULTICHOICE, rule.name),
        rule.claims(Holds.EXACTLY),
        precision=Precision.exact(),
        baseline=float(v.flat[0]),
        payoffs=v.size,
        stopped="all joint choices evaluated",
    )


# Estimated, from random orders


def _by_orders(game: ChoiceGame, rule: ChoiceRule, budget: int, seed: int, level: float) -> Attribution:
    """Gains along random orders of level-ups; for `vertices` every player climbs in one go."""
    top = np.array(shape_of(game)) - 1
    units = np.repeat(np.arange(len(top)), top)
    orders = (budget - 2) // max(len(units) - 1, 1)
    if orders < 2:
        raise InvalidInput(
            f"budget={budget} pays for fewer than two orders; give at least budget={2 * len(units)}",
            argument="budget",
            code="range",
        )
    rng, moments, seen = np.random.default_rng(seed), Moments(len(units)), PayoffRange(game)
    ends = seen.look(worths(game, np.stack([np.zeros_like(top), top])))
    step = max(1, (1 << 20) // (len(units) * len(top)))
    for start in range(0, orders, step):
        drawn = [_order(rng, top, units, rule.name == "vertices") for _ in range(min(step, orders - start))]
        moments.add(_gains(game, drawn, ends, seen))
    return mean_of_orders(
        level_names(game),
        moments,
        float(ends[1] - ends[0]),
        Procedure(MULTICHOICE, rule.name, {"orders": orders}),
        rule.claims(Holds.IN_EXPECTATION, along_orders=True),
        baseline=float(ends[0]),
        seen=seen,
        payoffs=2 + orders * (len(units) - 1),
        seed=seed,
        level=level,
    )


def _order(rng: np.random.Generator, top: IntArray, units: IntArray, in_one_go: bool) -> IntArray:
    """Who climbs one level at each moment: (units,)."""
    if not in_one_go:
        return rng.permutation(units)
    who = rng.permutation(len(top))
    return np.repeat(who, top[who])


def _gains(game: ChoiceGame, orders: list[IntArray], ends: FloatArray, seen: PayoffRange) -> FloatArray:
    """What every level adds on arrival: (orders, units), levels in the order of `level_names`."""
    climbs = np.array(orders)  # (orders, units)
    n = len(game.players)
    reached = np.cumsum(np.eye(n, dtype=np.int64)[climbs], axis=1)  # (orders, units, n): levels after each step
    inner = seen.look(worths(game, reached[:, :-1].reshape(-1, n))).reshape(len(climbs), -1)
    paid = np.hstack([np.full((len(climbs), 1), ends[0]), inner, np.full((len(climbs), 1), ends[1])])
    first = np.concatenate([[0], np.cumsum(reached[0, -1])[:-1]])  # where each player's levels begin
    levels = np.take_along_axis(reached, climbs[..., None], axis=2)[..., 0]
    gains = np.empty(climbs.shape)
    np.put_along_axis(gains, first[climbs] + levels - 1, np.diff(paid, axis=1), axis=1)
    return gains


@dataclass(frozen=True)
class Units:
    """Levels as players of an ordinary game: a set of levels reaches, for each player, as far as it has no gap."""

    game: ChoiceGame

    @property
    def players(self) -> tuple[str, ...]:
        return level_names(self.game)

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        top = np.array(shape_of(self.game)) - 1
        parts = np.split(coalitions, np.cumsum(top)[:-1], axis=1)
        return worths(self.game, np.stack([np.cumprod(part, axis=1).sum(axis=1) for part in parts], axis=1))


def _as_units(game: ChoiceGame, rule: ChoiceRule, budget: int, seed: int, level: float) -> Attribution:
    """Derks and Peters' value is the Shapley value of the levels as players."""
    found = shapley(Units(game), budget=budget, seed=seed, level=level)
    claims = rule.claims(Holds.EXACTLY if found.exact else Holds.IN_THE_LIMIT)
    method = found.method.then(MULTICHOICE, "dividends")
    return replace(found, method=method, claims=(found.claim("efficiency"), *claims[1:]))
