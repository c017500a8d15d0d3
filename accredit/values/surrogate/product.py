r"""The product kernel: every player has its own relevance r_i, so that players who do nothing can be screened out.

$A_r = \tfrac12(E_+ - E_-)$ with $E_\pm = \prod_i (1 \pm r_i s_i(S) s_i(T))/\prod_i (1 + r_i)$, 0 < r_i < 1: the odd part of a
game in which an interaction of the players A has variance proportional to $\prod_{i \in A} r_i$. With a_i = artanh r_i it is
$e^{-\sum a_i} \sinh \sum_i a_i s_i(S) s_i(T)$, one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from accredit.checks.numbers import FloatArray
from accredit.values.surrogate.rows import CoalitionRows, Meeting

MOST_NODES = 24  # Gauss–Legendre nodes: exact up to 48 players


def even_and_odd(meeting: Meeting, relevance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """½(E₊ + E₋) and ½(E₊ - E₋): (M, M') twice."""
    a = np.arctanh(relevance)
    plus = (meeting.left.signs * a) @ meeting.right.signs.T
    minus = -plus
    for part in (plus, minus):  # in place: new matrices of this size cost more than what is computed in them
        part -= a.sum()
        np.exp(part, out=part)
        part *= 0.5
    even = plus + minus
    plus -= minus
    return even, plus


@cache
def _moments(count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss–Legendre quadrature on (-1, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


@dataclass(frozen=True)
class Product:
    """Interactions among players of high relevance are likelier."""

    relevance: tuple[float, ...]  # r_i in (0, 1), one per player

    def between(self, meeting: Meeting) -> FloatArray:
        """A_r(S, T): (M, M')."""
        return even_and_odd(meeting, np.array(self.relevance))[1]

    def credit(self, rows: CoalitionRows, load: FloatArray) -> FloatArray:
        r"""Shapley values of Σ_T load_T A_r(·, T): (n,).

        $-2 r_i s_i(T) \int_0^1 \prod_{j \ne i} (1 + r_j s_j(T)(1-2x))\,dx / \prod_j (1 + r_j)$: the average over a
        moment of arrival x (Owen, 1972). The integrand is a polynomial of degree n-1.
        """
        r = np.array(self.relevance)
        nodes, weights = _moments(min(MOST_NODES, rows.players // 2 + 2))
        credit = np.zeros(rows.players)
        for u, weight in zip(nodes.tolist(), weights.tolist(), strict=True):  # u = 1-2x in (-1, 1), dx = du/2
            inside, outside = np.log1p(-r * u), np.log1p(r * u)
            whole = load * np.exp(rows.members @ (inside - outside) + outside.sum() - np.log1p(r).sum())
            from_inside = rows.members.T @ whole
            credit += weight * r * (from_inside * np.exp(-inside) - (whole.sum() - from_inside) * np.exp(-outside))
        return credit
