r"""What to buy: the best set of sources for every amount of money, and sources that add nothing beside another.

With n sources all 2ⁿ payoffs are known, so the best purchase is looked up, not estimated from values of single sources:
averages hide that a copy is worth nothing beside what it copies. For money b,

$$S^*(b) = \arg\max_{S:\ \sum_{i \in S} p_i \le b} v(S).$$

A source is never bought beside its copy, which shares nine tenths of the rows: whoever has rows can write them twice for
nothing, so that what a copy seems to add, where neighbours are counted, is not worth money.

Payoffs are means over test rows. The best of many sets looks better than it is, so "surely" compares it with every other set
that the money buys, test row by test row, all comparisons at once (Bonferroni): a wrong one is called the best in at most 5 %
of draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from scipy.stats import t as student

from accredit import defaults
from accredit.checks import shown
from accredit.checks.arguments import check_arguments
from accredit.checks.suggestions import did_you_mean
from accredit.core import BoolArray, Estimate, FloatArray, IntArray, Precision
from accredit.core.statistics import ALIKE
from accredit.errors import InvalidInput

MOST_SOURCES = 12  # 4,096 sets of them
LITTLE = 0.25  # of what a source adds without another: what it adds beside one that makes it redundant, at most
COPY = 0.9  # of a source's rows are another's, too, from which it is a copy, whatever it seems to add
Coalition = tuple[str, ...]


@dataclass(frozen=True)
class Purchase:
    """The best set of sources that this much money buys."""

    sources: Coalition
    price: float
    payoff: Estimate
    surely: bool | None  # better than every other set for the money, beyond the choice of test rows; None: nobody can tell
    instead: Coalition | None  # the cheapest set that is not surely worse; None: there is none that is cheaper
    instead_price: float


@dataclass(frozen=True)
class Redundant:
    """A source that adds little beside another, although it adds something without it; or one that is a copy of another."""

    source: str
    beside: str
    adds_beside: Estimate
    adds_without: Estimate
    copied: float = 0.0  # the share of its rows that are also rows of the other

    @property
    def is_copy(self) -> bool:
        return self.copied >= COPY


@dataclass(frozen=True)
class Purchases:
    """What to buy for every amount of money, cheapest first, and what is redundant."""

    prices: Mapping[str, float]
    best: tuple[Purchase, ...]
    redundant: tuple[Redundant, ...]

    def within(self, money: float) -> Purchase:
        """The best purchase for so much money."""
        return [one for one in self.best if one.price <= money][-1]

    def to_plain(self) -> dict[str, object]:
        """Everything, for JSON."""
        return {
            "prices": dict(self.prices),
            "best": [
                {
                    "sources": list(one.sources),
                    "price": one.price,
                    **_ends("payoff", one.payoff),
                    "surely": one.surely,
                    "instead": None if one.instead is None else list(one.instead),
                }
                for one in self.best
            ],
            "redundant": [
                {
                    "source": one.source,
                    "beside": one.beside,
                    **_ends("adds_beside", one.adds_beside),
                    **_ends("adds_without", one.adds_without),
                    "copied": one.copied,
                }
                for one in self.redundant
            ],
        }


def _ends(name: str, known: Estimate) -> dict[str, object]:
    return {name: known.value, f"{name}_low": known.low, f"{name}_high": known.high}


@check_arguments
def best_purchases(
    sources: Sequence[str],
    payoffs: FloatArray,
    prices: Mapping[str, float],
    *,
    by_part: FloatArray | None = None,
    copied: Mapping[tuple[str, str], float] | None = None,
    level: float = defaults.LEVEL,
) -> Purchases:
    """The best purchase for every amount of money, from all 2ⁿ payoffs (bit i of the index: source i is bought).

    `by_part` holds the payoffs as parts of the test rows see them, (2ⁿ, parts); without it nothing is sure. `copied` says which
    share of one source's rows another has, too: from nine tenths on, no set holds both.

    >>> plan = best_purchases(("A", "B", "C"), [0, 50, 20, 75, 25, 80, 90, 100], {"A": 5, "B": 3, "C": 2})
    >>> [(one.price, one.sources, one.payoff.value) for one in plan.best]
    [(0.0, (), 0.0), (2.0, ('C',), 25.0), (5.0, ('B', 'C'), 90.0), (10.0, ('A', 'B', 'C'), 100.0)]
    >>> plan.within(7).sources
    ('B', 'C')
    """
    names, worth = tuple(sources), np.asarray(payoffs, dtype=np.float64)
    if len(names) > MOST_SOURCES or worth.shape != (1 << len(names),):
        raise InvalidInput(
            f"payoffs has shape {worth.shape} for {len(names)} sources; give all 2ⁿ of them, for at most {MOST_SOURCES}",
            argument="payoffs",
            code="shape",
        )
    each = check_prices(prices, names)
    known = _Payoffs(names, worth, by_part, level)
    bought = np.array([[row >> i & 1 for i in range(len(names))] for row in range(len(worth))], dtype=bool)
    costs = bought @ np.array([each[name] for name in names])
    sensible = np.flatnonzero(~_holds_copies(bought, names, copied or {}))
    best = tuple(known.purchase(row, sensible, bought, costs) for row in _frontier(worth, costs, sensible))
    return Purchases(each, best, _redundant(known, each, copied or {}))


def _holds_copies(bought: BoolArray, names: Coalition, copied: Mapping[tuple[str, str], float]) -> BoolArray:
    """Which sets (2ⁿ,) hold a source and its copy."""
    pairs = [(names.index(one), names.index(other)) for (one, other), share in copied.items() if share >= COPY]
    return np.array([any(row[i] and row[j] for i, j in pairs) for row in bought], dtype=bool)


def check_prices(prices: Mapping[str, float], sources: Sequence[str]) -> dict[str, float]:
    """One price per source: a number that is not negative."""
    for name in prices:
        if name not in sources:
            raise InvalidInput(
                f"prices names {shown(name)}, which is not among the {len(sources)} sources "
                f"{', '.join(sources)}{did_you_mean(str(name), list(sources))}",
                argument="prices",
                code="unknown",
            )
    for name in sources:
        price = prices.get(name)
        if price is None:
            raise InvalidInput(f"prices has none for {name!r}; give one for every source", argument="prices", code="missing")
        if isinstance(price, bool) or not isinstance(price, int | float | np.integer | np.floating):
            raise InvalidInput(f"the price of {name!r} is {shown(price)}; write a number", argument="prices", code="type")
        if not (isfinite(price) and price >= 0):
            raise InvalidInput(f"the price of {name!r} is {price:g}; it must be 0 or more", argument="prices", code="range")
    if not any(prices[name] for name in sources):
        raise InvalidInput(
            "prices are 0 for every source, so that money decides nothing; give what they cost, or leave prices out",
            argument="prices",
            code="undefined",
        )
    return {name: float(prices[name]) for name in sources}


def _frontier(worth: FloatArray, costs: FloatArray, among: IntArray) -> list[int]:
    """The sets that are better than every set that costs no more, cheapest first."""
    found: list[int] = []
    rounding = ALIKE * float(np.abs(worth).max())
    for row in among[np.lexsort((-worth[among], costs[among]))].tolist():
        if not found or worth[row] > worth[found[-1]] + rounding:
            found.append(row)
    return found


@dataclass(frozen=True, eq=False)
class _Payoffs:
    """All payoffs, and what parts of the test rows say of differences between them."""

    names: tuple[str, ...]
    worth: FloatArray  # (2ⁿ,)
    by_part: FloatArray | None  # (2ⁿ, parts)
    level: float

    def estimate(self, weights: FloatArray, comparisons: int = 1) -> Estimate:
        """A weighted sum of payoffs (2ⁿ,), with the interval that holds for so many of them at once."""
        value = float(weights @ self.worth)
        if self.by_part is None:
            return Estimate.unknown(value, "what other test rows would say is not known")
        seen = weights @ self.by_part
        parts = len(seen)
        half = float(seen.std(ddof=1) / np.sqrt(parts) * student.ppf(1 - (1 - self.level) / (2 * comparisons), parts - 1))
        return Estimate(value, value - half, value + half, Precision.interval("Student's t over test rows"), self.level)

    def purchase(self, row: int, among: IntArray, bought: BoolArray, costs: FloatArray) -> Purchase:
        others = among[(costs[among] <= costs[row]) & (among != row)]
        rivals = self._not_worse(row, others)
        cheaper = None if rivals is None else rivals[costs[rivals] < costs[row]]
        first = (
            None if cheaper is None or not len(cheaper) else int(cheaper[np.lexsort((-self.worth[cheaper], costs[cheaper]))[0]])
        )
        one = np.zeros(len(self.worth))
        one[row] = 1
        return Purchase(
            self._named(bought[row]),
            float(costs[row]),
            self.estimate(one),
            None if rivals is None else not len(rivals),
            None if first is None else self._named(bought[first]),
            0.0 if first is None else float(costs[first]),
        )

    def _named(self, bought: BoolArray) -> Coalition:
        return tuple(name for name, is_bought in zip(self.names, bought.tolist(), strict=True) if is_bought)

    def _not_worse(self, row: int, others: IntArray) -> IntArray | None:
        """Which of the others are not surely worse; None: nobody can tell."""
        if self.by_part is None:
            return None
        parts = self.by_part.shape[1]
        ahead = self.by_part[row] - self.by_part[others]  # (others, parts)
        error = ahead.std(axis=1, ddof=1) / np.sqrt(parts)
        multiple = float(student.ppf(1 - (1 - self.level) / max(len(others), 1), parts - 1))
        return np.asarray(others[ahead.mean(axis=1) <= multiple * error])


def _redundant(known: _Payoffs, prices: Mapping[str, float], copied: Mapping[tuple[str, str], float]) -> tuple[Redundant, ...]:
    """Sources that add little beside another, or are copies of it, each once; of two that replace each other, the one that
    costs more. Neighbours that are counted twice can make a copy seem to add something."""
    n = len(known.names)
    rows, found = np.arange(1 << n), []
    for b in range(n):
        for a in range(n):
            if a == b:
                continue
            without_b = rows[(rows >> b & 1 == 0)]
            beside, alone = (without_b[(without_b >> a & 1) == there] for there in (1, 0))
            gains = []
            for start in (beside, alone):
                weights = np.zeros(len(rows))
                weights[start | 1 << b], weights[start] = 1 / len(start), -1 / len(start)
                gains.append(known.estimate(weights, n * (n - 1)))
            adds_beside, adds_without = gains
            little = adds_beside.value <= LITTLE * adds_without.value
            names = known.names[b], known.names[a]
            if copied.get(names, 0.0) >= COPY or (adds_without.above(0.0) and little and not adds_beside.above(0.0)):
                found.append(Redundant(*names, adds_beside, adds_without, copied.get(names, 0.0)))
    kept: dict[str, Redundant] = {}
    for one in sorted(found, key=lambda r: (-prices[r.source], -r.copied, r.adds_beside.value)):
        if one.source not in kept and one.beside not in kept:
            kept[one.source] = one
    return tuple(kept.values())


def copied_rows(x: FloatArray, y: FloatArray, groups: Mapping[str, Sequence[int]]) -> dict[tuple[str, str], float]:
    """The share of one group's rows that another has, too, with the same label, where it is not zero: (one, other) -> share.

    >>> copied_rows(np.array([[0.0], [1.0], [1.0]]), np.array([0, 1, 1]), {"A": [0, 1], "B": [2]})
    {('A', 'B'): 0.5, ('B', 'A'): 1.0}
    """
    rows = [row.tobytes() for row in np.ascontiguousarray(np.column_stack([x, y]))]
    held = {name: [rows[i] for i in members] for name, members in groups.items()}
    sets = {name: set(those) for name, those in held.items()}
    shares = {
        (one, other): sum(row in sets[other] for row in held[one]) / len(held[one])
        for one in held
        for other in held
        if one != other
    }
    return {pair: share for pair, share in shares.items() if share}
