"""How far an average over examples may be off: bootstrap intervals, and tests of the difference between two methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from accredit.core import FloatArray, IntArray, InvalidInput

Statistic = Callable[[FloatArray], FloatArray]  # (..., examples) -> (...), along the last axis
EXACT_SIGNS = 12  # differences; up to here every assignment of signs is tried


@dataclass(frozen=True)
class Interval:
    """An estimate and the interval around it."""

    estimate: float
    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def _mean(values: FloatArray) -> FloatArray:
    return np.asarray(values.mean(axis=-1))


def resamples(examples: int, count: int, seed: int) -> IntArray:
    """Rows drawn with replacement: (count, examples). The same for every method, so that differences are paired."""
    return np.random.default_rng(seed).integers(examples, size=(count, examples))


def bootstrap(
    values: FloatArray,
    statistic: Statistic = _mean,
    *,
    level: float = 0.95,
    count: int = 2000,
    kind: Literal["bca", "percentile"] = "bca",
    seed: int = 0,
) -> Interval:
    """An interval for a statistic of independent examples by resampling them (Efron, 1979).

    `statistic` works along the last axis. "bca" corrects the percentiles for bias and skew (Efron, 1987). With fewer than two
    examples, or when all resamples agree, the interval is the estimate itself: it says that nothing is known about the
    spread, not that there is none.

    >>> even = bootstrap(np.array([0.0, 1.0, 0.0, 1.0]), seed=1)
    >>> even.estimate, even.low <= 0.5 <= even.high
    (0.5, True)
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or len(x) == 0 or not np.isfinite(x).all():
        raise InvalidInput(f"values must be a non-empty row of finite numbers, got shape {x.shape}")
    if not 0 < level < 1:
        raise InvalidInput(f"level must lie between 0 and 1, got {level!r}; write 0.95")
    estimate = float(statistic(x))
    drawn = np.asarray(statistic(x[resamples(len(x), count, seed)]))
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if kind == "bca" and len(x) > 2 and drawn.min() < drawn.max():
        tails = _bca(x, statistic, estimate, drawn, tails)
    low, high = np.quantile(drawn, tails)
    return Interval(estimate, float(low), float(high))


def _bca(x: FloatArray, statistic: Statistic, estimate: float, drawn: FloatArray, tails: FloatArray) -> FloatArray:
    """Corrected tail probabilities: z₀ from the share of resamples below the estimate, a from the jackknife's skew."""
    from scipy.special import ndtr, ndtri

    below = ((drawn < estimate).mean() + (drawn <= estimate).mean()) / 2
    bias = ndtri(np.clip(below, 1 / (2 * len(drawn)), 1 - 1 / (2 * len(drawn))))
    keep = ~np.eye(len(x), dtype=bool)
    left_out = np.asarray(statistic(np.broadcast_to(x, (len(x), len(x)))[keep].reshape(len(x), -1)))
    pull = left_out.mean() - left_out
    spread = float((pull**2).sum())
    skew = float((pull**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0
    z = bias + ndtri(tails)
    return np.asarray(ndtr(bias + z / (1 - skew * z)))


def paired_test(first: FloatArray, second: FloatArray, *, count: int = 10_000, seed: int = 0) -> float:
    """Two-sided p-value that two methods are equally good on average, by flipping the signs of their paired differences.

    Exact up to 12 examples that differ; beyond that `count` random assignments of signs, the observed one counted too, so p is
    never 0 and the test never rejects more often than it says.

    >>> paired_test(np.array([2.0, 3.0, 4.0]), np.array([1.0, 1.0, 1.0]))
    0.25
    """
    gap = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if gap.ndim != 1 or not np.isfinite(gap).all():
        raise InvalidInput("first and second must be rows of finite numbers over the same examples")
    gap = gap[gap != 0]
    if len(gap) == 0:
        return 1.0
    seen = abs(float(gap.sum())) * (1 - 1e-12)
    if len(gap) <= EXACT_SIGNS:
        signs = 1.0 - 2.0 * (np.arange(1 << len(gap))[:, None] >> np.arange(len(gap)) & 1)
        return float((np.abs(signs @ gap) >= seen).mean())
    signs = 1.0 - 2.0 * np.random.default_rng(seed).integers(2, size=(count, len(gap)))
    return float((1 + (np.abs(signs @ gap) >= seen).sum()) / (1 + count))


def holm(p: FloatArray) -> FloatArray:
    """p-values corrected for their number, step down (Holm, 1979): below α means that the family errs at most with α.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    adjusted = np.empty_like(p)
    adjusted[order] = stepped
    return adjusted
