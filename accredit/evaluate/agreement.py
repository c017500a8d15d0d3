"""Do two explanations say the same? Rank correlations and overlap of the top.

Players whose credit is the same but for rounding are ties. An attribution knows how far rounding may have moved its credit
(`Attribution.rounding`); numbers in an array are taken as they are, up to roundings of double precision.
"""

from __future__ import annotations

import numpy as np

from accredit.checks import real_numbers
from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, FloatArray
from accredit.core.statistics import rank_correlation, tied, top_chances
from accredit.errors import InvalidInput
from accredit.evaluate.metric import rounding_between


def _pair(a: Attribution | FloatArray, b: Attribution | FloatArray) -> tuple[FloatArray, FloatArray]:
    if isinstance(a, Attribution) and isinstance(b, Attribution) and a.players != b.players:
        raise InvalidInput(
            "a and b credit different players, or in another order; compare explanations of one game",
            argument="a",
            code="conflict",
        )
    x = a.credit if isinstance(a, Attribution) else real_numbers(a, "a")
    y = b.credit if isinstance(b, Attribution) else real_numbers(b, "b")
    if x.shape != y.shape or x.ndim != 1:
        raise InvalidInput(
            f"a has shape {x.shape} and b {y.shape}; give one number per player in both", argument="a", code="shape"
        )
    if not len(x):
        raise InvalidInput("a and b are empty; give one number per player in both", argument="a", code="empty")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InvalidInput(
            "a and b must be finite numbers, and one holds NaN or infinity; it has no rank", argument="a", code="not-finite"
        )
    return x, y


def _places(a: Attribution | FloatArray, b: Attribution | FloatArray) -> tuple[FloatArray, ...]:
    """The places of the players on both sides, shared by those who tie."""
    return tuple(tied(z, rounding_between(given, z)) for given, z in zip((a, b), _pair(a, b), strict=True))


@check_arguments
def spearman(a: Attribution | FloatArray, b: Attribution | FloatArray) -> float:
    """Pearson correlation of the ranks, ties sharing their mean rank (Spearman, 1904). 0 where one side is all ties.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0]))
    -1.0
    """
    return float(rank_correlation(*_places(a, b)))


def spearman_square(scores: FloatArray) -> FloatArray:
    """Spearman correlations of every two rows: (m, n) -> (m, m).

    >>> spearman_square(np.array([[1.0, 2.0, 3.0], [9.0, 5.0, 1.0], [4.0, 4.0, 4.0]]))[0]
    array([ 1., -1.,  0.])
    """
    return rank_correlation(scores[:, None], scores[None])


@check_arguments
def kendall(a: Attribution | FloatArray, b: Attribution | FloatArray) -> float:
    r"""Kendall's τ_b: pairs in the same order minus pairs in opposite order, corrected for ties (Kendall, 1945).

    $$\tau_b = \frac{C - D}{\sqrt{(n_0 - t_a)(n_0 - t_b)}}$$

    with n₀ pairs, t pairs tied on each side. 0 where one side is all ties.

    >>> kendall(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]))
    0.3333333333333333
    """
    x, y = (np.sign(z[:, None] - z[None, :]) for z in _places(a, b))
    scale = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float((x * y).sum() / scale) if scale else 0.0


@check_arguments
def top_overlap(a: Attribution | FloatArray, b: Attribution | FloatArray, count: int) -> float:
    """Share of the `count` highest players of one that are among the `count` highest of the other; chance is count/n.

    Players who tie take the places that are left among them with equal chance, in one independently of the other.

    >>> top_overlap(np.array([3.0, 2.0, 1.0]), np.array([1.0, 3.0, 2.0]), 2)
    0.5
    """
    x, y = _pair(a, b)
    if not 1 <= count <= len(x):
        raise InvalidInput(
            f"count must be from 1 to {len(x)} (the number of players), got {count!r}", argument="count", code="range"
        )
    chances = (top_chances(z, count, rounding_between(given, z)) for given, z in ((a, x), (b, y)))
    return float(np.prod(list(chances), axis=0).sum() / count)
