r"""The Walsh kernel of one order: a game of interactions among o players, exchangeable in the players.

$W_o(S, T) = Kr_o(d; n)/\binom no$ with d the Hamming distance of S and T and the Krawtchouk polynomial $Kr_o(d; n) =
\sum_j (-1)^j \binom dj \binom{n-d}{o-j}$: the average of χ_A(S)χ_A(T) over the sets A of o players. Order 1 is the
additive games; odd orders are odd under S → Sᶜ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np

from accredit.checks.numbers import FloatArray, IntArray
from accredit.values.surrogate.rows import CoalitionRows, Meeting, two_valued_credit


@lru_cache(maxsize=256)
def krawtchouk(order: int, players: int) -> FloatArray:
    """Kr_o(d; n)/C(n, o) for d = 0 … n: (n + 1,). Exact integers until the one division.

    >>> krawtchouk(1, 4)
    array([ 1. ,  0.5,  0. , -0.5, -1. ])
    """
    n = players
    distance = np.arange(n + 1).astype(object)
    before, now = np.zeros(n + 1, dtype=object), np.ones(n + 1, dtype=object)
    for o in range(order):  # (o+1) Kr_{o+1} = (n-2d) Kr_o - (n-o+1) Kr_{o-1}
        before, now = now, ((n - 2 * distance) * now - (n - o + 1) * before) // (o + 1)
    total = comb(n, order)
    table = np.array([int(value) / total for value in now])
    table.setflags(write=False)
    return table


@dataclass(frozen=True)
class Walsh:
    """All interactions of `order` players, equally likely."""

    order: int

    def between(self, meeting: Meeting) -> FloatArray:
        """W_o(S, T): (M, M')."""
        return meeting.spread(self.law)

    def law(self, n: int, k: IntArray, t: IntArray, common: FloatArray) -> FloatArray:
        """W_o at Hamming distance |S| + |T| - 2|S ∩ T|."""
        distance = (k + t - 2 * common).astype(np.int64)
        return krawtchouk(self.order, n).take(distance, mode="clip")

    def credit(self, rows: CoalitionRows, load: FloatArray) -> FloatArray:
        r"""Shapley values of Σ_T load_T W_o(·, T): (n,).

        χ_A gives -2/|A| to each member, so W_o(·, T) gives $-\frac2n s_i(T) Kr_{o-1}(d_i; n-1)/\binom{n-1}{o-1}$, d_i
        the number of members of T other than i.
        """
        n = rows.players
        others = np.append(krawtchouk(self.order - 1, n - 1), 0.0)  # d_i = n is never asked for
        inside = others[rows.sizes - 1] * load * (2 / n)
        outside = -others[rows.sizes] * load * (2 / n)
        return two_valued_credit(rows, inside, outside)
