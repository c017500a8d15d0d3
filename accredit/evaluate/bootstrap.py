"""How far an average over examples may be off: bootstrap intervals, and tests of the difference between two methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from accredit import defaults
from accredit.checks import real_numbers
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import finite_numbers, real_number
from accredit.core import Estimate, FloatArray, IntArray, Precision
from accredit.core.statistics import ALIKE, alike
from accredit.errors import InvalidInput

Statistic = Callable[[FloatArray], FloatArray]  # (..., examples) -> (...), along the last axis
EXACT_SIGNS = 12  # differences; up to here every assignment of signs is tried
SIGNS_AT_ONCE = 4096  # random assignments held in memory


def _mean(values: FloatArray) -> FloatArray:
    return np.asarray(values.mean(axis=-1))


def resamples(examples: int, count: int, seed: int) -> IntArray:
    """Rows drawn with replacement: (count, examples). The same for every method, so that differences are paired."""
    return np.random.default_rng(seed).integers(examples, size=(count, examples))


@check_arguments
def bootstrap(
    values: FloatArray,
    statistic: Statistic = _mean,
    *,
    level: float = defaults.LEVEL,
    count: int = 2000,
    kind: Literal["bca", "percentile"] = "bca",
    seed: int = 0,
    within: tuple[float, float] | None = None,
) -> Estimate:
    """An interval for a statistic of independent examples by resampling them (Efron, 1979).

    `statistic` works along the last axis. "bca" corrects the percentiles for bias and skew (Efron, 1987); both kinds are
    widened for few examples, see `tails`. With fewer than two examples, or when all of them agree, there is no interval:
    nothing is known about the spread, which does not mean that there is none. But if values can only lie `within` two ends and
    all lie at one of them, others are rare: at most a share q could be elsewhere without being seen, (1 − q)ⁿ = (1 − level)/2,
    which bounds the mean (for shares of yes and no this is Clopper and Pearson's interval). Coverage of a mean in trials at
    level 0.95, by "bca": normal law 0.92 with five examples, 0.95 with ten; exponential 0.92 with ten, 0.94 with forty. It is
    lower where rare values decide the mean: no resampling sees what did not occur.

    >>> even = bootstrap(np.array([0.0, 1.0, 0.0, 1.0]), seed=1)
    >>> even.value, 0.5 in even
    (0.5, True)
    >>> f"{bootstrap(np.ones(10), within=(0, 1)):.2f}"
    '1.00 [0.69, 1.00]'
    """
    x = real_numbers(values, "values")
    if x.ndim != 1 or len(x) == 0 or not np.isfinite(x).all():
        raise InvalidInput(
            f"values must be a non-empty row of finite numbers, got shape {x.shape}", argument="values", code="shape"
        )
    if not 0 < level < 1:
        raise InvalidInput(f"level must lie between 0 and 1, got {level!r}; write 0.95", argument="level", code="range")
    if count < 1:
        raise InvalidInput(f"count must be at least 1, got {count!r}; write 2000", argument="count", code="range")
    estimate = real_number(statistic(x), "what statistic returns")
    drawn = finite_numbers(statistic(x[resamples(len(x), count, seed)]), "what statistic returns")
    if drawn.shape != (count,):
        raise InvalidInput(
            f"statistic returned shape {drawn.shape} for {count} rows; it must work along the last axis",
            argument="statistic",
            code="shape",
        )
    if alike(drawn, size=_size(x, within)):
        return _all_at_one_end(x, estimate, statistic, level, within)
    at = tails(level, len(x))
    if kind == "bca" and len(x) > 2:
        at = _bca(x, statistic, estimate, drawn, at)
    low, high = np.quantile(drawn, at)
    return Estimate(estimate, float(low), float(high), Precision.interval(f"{kind} bootstrap of {len(x)} examples"), level)


def _all_at_one_end(
    x: FloatArray, estimate: float, statistic: Statistic, level: float, within: tuple[float, float] | None
) -> Estimate:
    """What is known of a mean when all examples agree: a bound where they lie at an end of their range, else nothing."""
    because = f"the {len(x)} examples show no spread"
    ends = [end for end in within or () if np.abs(x - end).max() <= ALIKE * _size(x, within)]
    if within is None or statistic is not _mean or not ends:
        return Estimate.unknown(estimate, because)
    reach = (within[1] - within[0]) * (1 - ((1 - level) / 2) ** (1 / len(x)))
    low, high = (estimate - reach, estimate) if ends[0] == within[1] else (estimate, estimate + reach)
    return Estimate(estimate, low, high, Precision.interval(f"{because} and lie at an end of their range"), level)


def _size(x: FloatArray, within: tuple[float, float] | None) -> float:
    """How large examples are, or can be: what their rounding is relative to."""
    ends = [abs(end) for end in within or () if np.isfinite(end)]
    return max(float(np.abs(x).max()), *ends, 0.0)


def tails(level: float, examples: int) -> FloatArray:
    r"""The two percentiles of resampled statistics between which an interval lies.

    $$\Phi\Big(\pm\sqrt{\tfrac{n}{n-1}}\;t_{n-1}\Big)$$

    instead of $(1 \mp \text{level})/2$, with t the two-sided quantile of Student's law: resamples of n examples vary
    too little, by a factor (n − 1)/n, and their spread is itself estimated (Hesterberg, 2015). For many examples it is the
    plain percentile.

    >>> tails(0.95, 10).round(4), tails(0.95, 10_000).round(4)
    (array([0.0086, 0.9914]), array([0.025, 0.975]))
    """
    from scipy.special import ndtr, stdtrit

    if examples < 2:
        return np.array([(1 - level) / 2, (1 + level) / 2])
    reach = np.sqrt(examples / (examples - 1)) * stdtrit(examples - 1, (1 + level) / 2)
    return np.asarray(ndtr(np.array([-reach, reach])))


def _bca(x: FloatArray, statistic: Statistic, estimate: float, drawn: FloatArray, at: FloatArray) -> FloatArray:
    """Corrected tail probabilities: z₀ from the share of resamples below the estimate, a from the jackknife's skew."""
    from scipy.special import ndtr, ndtri

    below = ((drawn < estimate).mean() + (drawn <= estimate).mean()) / 2
    bias = ndtri(np.clip(below, 1 / (2 * len(drawn)), 1 - 1 / (2 * len(drawn))))
    keep = ~np.eye(len(x), dtype=bool)
    left_out = np.asarray(statistic(np.broadcast_to(x, (len(x), len(x)))[keep].reshape(len(x), -1)))
    pull = left_out.mean() - left_out
    spread = float((pull**2).sum())
    skew = float((pull**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0
    z = bias + ndtri(at)
    return np.asarray(ndtr(bias + z / (1 - skew * z)))


@check_arguments
def paired_test(first: FloatArray, second: FloatArray, *, count: int = 10_000, seed: int = 0) -> float:
    """Two-sided p-value that two methods are equally good, by flipping the signs of their paired differences.

    Under the hypothesis that the methods could be swapped on any example without changing the law of the result, so that
    differences are symmetric around 0, the test rejects no more often than it says, with any number of examples. If only
    their means are equal, it is right for many examples and can err for a few skewed ones. Exact up to 12 examples that
    differ; beyond that `count` random assignments of signs, the observed one counted too, so p is never 0.

    >>> paired_test(np.array([2.0, 3.0, 4.0]), np.array([1.0, 1.0, 1.0]))
    0.25
    """
    x, y = real_numbers(first, "first"), real_numbers(second, "second")
    if x.ndim != 1 or x.shape != y.shape or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InvalidInput(
            f"first and second must be rows of finite numbers over the same examples, got shapes {x.shape} and {y.shape}",
            argument="first",
            code="shape",
        )
    gap = x - y
    return float(sign_flips(gap[gap != 0][:, None], count=count, seed=seed)[0])


def sign_flips(gaps: FloatArray, *, count: int = 10_000, seed: int = 0) -> FloatArray:
    """`paired_test` for many pairs at once, from differences (examples, pairs), under the same signs: p-values (pairs,).

    A difference of 0 takes no part, so it may also stand for an example that one of the two methods lacks.

    >>> sign_flips(np.array([[1.0, 1.0], [2.0, -1.0], [3.0, 0.0]]))
    array([0.25, 1.  ])
    """
    examples = len(gaps)
    seen = np.abs(gaps.sum(axis=0)) - ALIKE * np.abs(gaps).sum(axis=0)  # as far, but for rounding of the gaps and of their sum
    if examples <= EXACT_SIGNS:
        signs = 1.0 - 2.0 * (np.arange(1 << examples)[:, None] >> np.arange(examples) & 1)
        return np.asarray((np.abs(signs @ gaps) >= seen).mean(axis=0))
    rng = np.random.default_rng(seed)
    as_far = np.ones(gaps.shape[1])
    for start in range(0, count, SIGNS_AT_ONCE):
        signs = 1.0 - 2.0 * rng.integers(2, size=(min(SIGNS_AT_ONCE, count - start), examples))
        as_far += (np.abs(signs @ gaps) >= seen).sum(axis=0)
    return np.asarray(as_far / (1 + count))
