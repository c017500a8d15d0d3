"""Bootstrap intervals and paired tests: by hand, against scipy, and by their error rates."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from accredit.core import InvalidInput
from accredit.evaluate import bootstrap, holm, paired_test


def test_a_constant_sample_has_a_point_interval():
    same = bootstrap(np.full(10, 3.0))
    assert (same.estimate, same.low, same.high) == (3.0, 3.0, 3.0)
    assert 3.0 in same


def test_percentile_of_two_examples_by_hand():
    both = bootstrap(np.array([0.0, 1.0]), kind="percentile", level=0.4)
    assert (both.estimate, both.low, both.high) == (0.5, 0.5, 0.5)  # means 0, ½, ½, 1: the middle 40 % is ½
    assert bootstrap(np.array([0.0, 1.0]), kind="percentile", level=0.99).low == 0.0


def test_agrees_with_scipy_bca():
    x = np.random.default_rng(0).exponential(size=60)
    ours = bootstrap(x, count=20_000, seed=1)
    theirs = stats.bootstrap((x,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(2))
    spread = x.std() / np.sqrt(len(x))
    # Quantiles of 20,000 resamples have a standard error below 0.02 spreads; 0.2 is ten of them (false alarm < 1e-20).
    assert abs(ours.low - theirs.confidence_interval.low) < 0.2 * spread
    assert abs(ours.high - theirs.confidence_interval.high) < 0.2 * spread


def test_covers_the_mean_of_a_skewed_law():
    rng = np.random.default_rng(7)
    held = sum(1.0 in bootstrap(rng.exponential(size=50), count=500, seed=i) for i in range(400))
    # Coverage here is near 0.93; P(Binomial(400, 0.90) < 330) < 1e-6.
    assert held >= 330


def test_same_seed_same_interval():
    x = np.random.default_rng(1).normal(size=30)
    assert bootstrap(x, seed=3) == bootstrap(x, seed=3)


def test_paired_test_by_hand():
    ones = np.ones(4)
    assert paired_test(ones, ones) == 1.0
    assert paired_test(ones * 2, ones) == pytest.approx(2 / 16)  # only all plus or all minus is as extreme
    assert paired_test(np.array([3.0, 0.0]), np.array([0.0, 1.0])) == 1.0  # |±3 ± 1| ≥ 2 always


def test_paired_test_keeps_its_level():
    rng = np.random.default_rng(11)
    rejected = sum(paired_test(rng.normal(size=25), rng.normal(size=25), count=400, seed=i) <= 0.05 for i in range(600))
    # P(Binomial(600, 0.05) > 60) < 1e-6.
    assert rejected <= 60


def test_holm_by_hand():
    assert_allclose(holm(np.array([0.02, 0.01, 0.5])), [0.04, 0.03, 0.5])
    assert_allclose(holm(np.array([0.6, 0.5])), [1.0, 1.0])
    assert_allclose(holm(np.array([0.2])), [0.2])


@pytest.mark.parametrize("values", [np.array([]), np.array([1.0, np.nan]), np.ones((2, 2))])
def test_bad_values_are_refused(values):
    with pytest.raises(InvalidInput, match="values"):
        bootstrap(values)
    with pytest.raises(InvalidInput, match="level"):
        bootstrap(np.ones(3), level=95)
