r"""An interaction index sorted by coalition: how much each payoff counts for each coalition, by sizes alone.

With dividends written out, $I(T) = \sum_S c(|S|, |S \cap T|)\, v(S)$, where for t = |T| and q = |S ∪ T| = |S| + t − |S ∩ T|

$$c(s, r) = (-1)^{t-r}\, G(s + t - r), \qquad G(q) = \sum_{d} (-1)^d \tbinom{n-q}{d}\, w(q + d, t).$$

G is a repeated difference of the weights. It cancels badly, so it is taken in whole numbers. Every v(S) says something about
every T. Sizes near nobody and everybody count most and have few coalitions, so they are asked in full as far as that pays; the
others are drawn with the chance that makes the variance smallest if payoffs spread equally at all sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import comb, lcm

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.coalitions import as_rows, members_of_size
from accredit.values.indices import Index


def coefficients(index: Index, order: int, size: int, players: int) -> FloatArray:
    """C(n, s)·c(s, r) for coalitions of `size` players: (n + 1, size + 1), zero where S and T cannot meet so.

    >>> from accredit.values.indices import INDICES
    >>> coefficients(INDICES["sii"], 1, 1, 2)  # φ_i: v(i) and v(N) count for it, v(∅) and v(j) against it
    array([[-0.5,  0. ],
           [-1. ,  1. ],
           [ 0. ,  0.5]])
    """
    weights = [index.weight(s, size, order) for s in range(size, players + 1)]
    whole = lcm(*(w.denominator for w in weights))
    row = [w.numerator * (whole // w.denominator) for w in weights]
    differences = {players: row[-1]}
    for q in range(players - 1, size - 1, -1):
        row = [a - b for a, b in pairwise(row)]
        differences[q] = row[-1]
    table = np.zeros((players + 1, size + 1))
    for s in range(players + 1):
        for r in range(max(0, s + size - players), min(s, size) + 1):
            counted = (-1) ** (size - r) * comb(players, s) * differences[s + size - r]
            table[s, r] = float(Fraction(counted, whole))
    return table


@dataclass(frozen=True, eq=False)
class Spread:
    """Which coalitions are asked in full, how the others are drawn, and what each counts."""

    players: int
    counts: dict[int, FloatArray]  # |T| -> coefficients
    full: tuple[int, ...]  # sizes that are asked in full
    chance: FloatArray  # (n + 1,): of the other sizes

    @classmethod
    def of(cls, index: Index, order: int, players: int, budget: int) -> Spread:
        """The best use of a budget."""
        counts = {t: coefficients(index, order, t, players) for t in index.sizes(order)}
        weight = np.sqrt(sum(comb(players, t) * mean_square(table, t, players) for t, table in counts.items()))
        weight = weight + weight[::-1]
        left = budget
        full: list[int] = []
        for s in range(players // 2 + 1):
            layer = sorted({s, players - s})
            asked, rest = sum(comb(players, k) for k in layer), weight[s : players - s + 1].sum()
            if s and asked * rest > left * weight[layer].sum():  # draws would be fewer than its coalitions
                break
            full, left = full + layer, left - asked
        weight[full] = 0.0
        return cls(players, counts, tuple(sorted(full)), weight / (weight.sum() or 1.0))

    def every(self) -> BoolArray:
        """The coalitions that are asked in full, nobody and everybody aside: (rows, n)."""
        inner = [as_rows(members_of_size(self.players, s), self.players) for s in self.full if 0 < s < self.players]
        return np.concatenate([np.zeros((0, self.players), dtype=bool), *inner])

    def by_size(self, size: int) -> FloatArray:
        """What a game of coalition sizes alone counts for coalitions of `size`, by its payoffs: (n + 1,)."""
        return np.asarray((_meetings(size, self.players) * self.counts[size]).sum(axis=1))

    def typical(self, size: int) -> float:
        """What a pair typically counts for a coalition of `size`: the root of its mean square."""
        drawn = self.chance > 0
        square = mean_square(self.counts[size], size, self.players)
        return float(np.sqrt((square[drawn] / self.chance[drawn]).sum()))

    def scores(
        self, of: IntArray, members: FloatArray, sizes: IntArray, left: FloatArray, right: FloatArray, share: FloatArray
    ) -> FloatArray:
        """What S, earning `left`, and its complement, earning `right`, say about each coalition T of `of` (coalitions, t):
        (rows, coalitions). `share` is what a row counts."""
        t = of.shape[1]
        table, r = self.counts[t], np.arange(t + 1)
        by_meeting = table[sizes] * left[:, None] + table[self.players - sizes][:, t - r] * right[:, None]
        met = np.zeros((len(members), len(of)), dtype=np.int64)
        for column in of.T:
            met += members[:, column].astype(np.int64)
        return np.asarray(np.take_along_axis(by_meeting * share[:, None], met, axis=1))


def mean_square(table: FloatArray, size: int, players: int) -> FloatArray:
    """The mean of the squared coefficients over coalitions of each size: (n + 1,)."""
    return np.asarray((_meetings(size, players) * table**2).sum(axis=1))


@cache
def _meetings(size: int, players: int) -> FloatArray:
    """How likely a coalition of s players holds r of a given `size`: (n + 1, size + 1)."""
    return np.array(
        [
            [comb(size, r) * comb(players - size, s - r) / comb(players, s) if s >= r else 0.0 for r in range(size + 1)]
            for s in range(players + 1)
        ]
    )
