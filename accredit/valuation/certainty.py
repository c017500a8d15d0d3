r"""How far other test rows would move a value. A payoff is a mean over test rows, and these are a sample.

A value is linear in the payoff, so it is the mean over test rows z of the value $\phi_i(z)$ that each of them alone would give.
Its standard error over the choice of M test rows is that of a mean,

$$s_i = \sqrt{\tfrac{1}{M(M-1)} \textstyle\sum_z (\phi_i(z) - \phi_i)^2},$$

and Student's t gives the interval. A value that was also sampled has both errors, which add up as squares. Whether a row does
harm is asked of many rows at once: `below_zero` keeps the share of false ones among those that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import t as student

from accredit import defaults
from accredit.core import Attribution, BoolArray, FloatArray, Precision
from accredit.core.statistics import false_discoveries

FEWEST_TESTS = 30  # test rows, below which a mean over them has no trustworthy interval
FALSE_HARMFUL = 0.1  # of the rows that are named, the share that may be named wrongly, on average
FREEDOM = "degrees of freedom over test rows"  # where a certificate says that the interval covers their choice


def over_test_rows(
    values: Attribution,
    stderr: FloatArray,
    tests: int,
    blocks: int,
    *,
    unseen: FloatArray | float = 0.0,
    level: float = defaults.LEVEL,
) -> Attribution:
    """The same values, whose interval also covers the choice of the test rows.

    `stderr` (n,) is over `blocks` parts of them. `unseen` widens the interval by what rare test rows may say that were not
    drawn.

    >>> values = Attribution(("a", "b"), [0.5, 0.1], 0.6, "by hand", precision=Precision.exact())
    >>> over_test_rows(values, np.array([0.1, 0.1]), tests=100, blocks=100).interval.round(2)
    array([[ 0.3,  0.7],
           [-0.1,  0.3]])
    """
    if tests < FEWEST_TESTS:
        return uncovered(values, f"{tests} test rows are too few to say what others would, {FEWEST_TESTS} are needed")
    if values.interval is None and not values.exact:
        return values
    half = stderr * float(student.ppf((1 + level) / 2, blocks - 1)) + unseen
    below = above = half
    known = f"Student's t over {tests:,} test rows"
    if values.interval is not None:
        below, above = (np.hypot(half, np.abs(end - values.credit)) for end in values.interval.T)
        known = f"{values.interval_because}; and {known}" if values.interval_because else known
    return replace(
        values,
        stderr=stderr if values.stderr is None else np.hypot(stderr, values.stderr),
        interval=np.column_stack([values.credit - below, values.credit + above]),
        level=level if values.level is None else values.level,
        precision=Precision.interval(known),
        certificate={**values.certificate, "test rows": tests, FREEDOM: blocks - 1},
    )


def uncovered(values: Attribution, why: str) -> Attribution:
    """Values of whose test rows nothing more is known; those that are exact are so for these test rows only.

    >>> values = Attribution(("a", "b"), [0.5, 0.1], 0.6, "by hand", precision=Precision.exact())
    >>> print(uncovered(values, "there are 3").interval_because)
    no interval: exact for these test rows; there are 3
    """
    if values.interval is not None:
        return replace(values, precision=Precision.interval(f"{values.interval_because}; of these test rows only: {why}"))
    if values.exact:
        return replace(values, precision=Precision.unknown(f"exact for these test rows; {why}"))
    return values


def covers_test_rows(values: Attribution) -> bool:
    """Does the interval cover the choice of the test rows?"""
    return FREEDOM in values.certificate


def below_zero(values: Attribution, rate: float = FALSE_HARMFUL) -> BoolArray | None:
    """Whose values are below zero beyond their error, (n,), for all players at once; None: nobody can tell.

    Their intervals are below zero, and at most `rate` of those named are named wrongly, on average over test rows (Benjamini
    and Hochberg, 1995).

    >>> values = Attribution(("a", "b"), [0.5, -0.1], 0.6, "by hand", precision=Precision.exact())
    >>> below_zero(values) is None
    True
    >>> below_zero(over_test_rows(values, np.array([0.1, 0.01]), tests=100, blocks=100))
    array([False,  True])
    """
    facts: Mapping[str, Any] = values.certificate
    if FREEDOM not in facts or values.stderr is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.where(values.credit == 0, 0.0, values.credit / values.stderr)
    named = false_discoveries(student.cdf(away, int(facts[FREEDOM])), rate)
    assert values.interval is not None  # where a certificate speaks of test rows, there is one
    return np.asarray(named & (values.interval[:, 1] < -values.rounding))
