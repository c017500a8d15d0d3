"""Bootstrap intervals and paired tests: by hand, against scipy, and by their error rates."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from accredit.errors import InvalidInput
from accredit.evaluate import bootstrap, holm, paired_test
from accredit.evaluate.bootstrap import sign_flips
from tests.wording import refused


@pytest.mark.parametrize("values", [np.full(10, 3.0), np.array([3.0])])
def test_a_sample_without_spread_has_no_interval(values):
    same = bootstrap(values)
    assert (same.value, same.low, same.high) == (3.0, None, None)
    assert 3.0 not in same and same.above(0) is None


def test_percentile_of_two_examples_by_hand():
    both = bootstrap(np.array([0.0, 1.0]), kind="percentile", level=0.2)
    assert (both.value, both.low, both.high) == (0.5, 0.5, 0.5)  # means 0, ½, ½, 1: from 32 % to 68 % it is ½
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


@pytest.mark.slow
def test_covers_with_five_examples():
    rng = np.random.default_rng(3)
    held = sum(0.0 in bootstrap(rng.normal(size=5), count=400, seed=i) for i in range(1500))
    # Coverage here is 0.92, without the widening for few examples 0.83; P(Binomial(1500, 0.92) < 1320) < 1e-6.
    assert held >= 1320


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


@pytest.mark.parametrize("examples", [9, 40])
def test_many_pairs_at_once_are_the_same_tests(examples):
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, examples, 5))
    together = sign_flips(first - second, count=3000, seed=4)
    assert_allclose(together, [paired_test(a, b, count=3000, seed=4) for a, b in zip(first.T, second.T, strict=True)])


def test_examples_that_one_of_two_lacks_take_no_part():
    gap = np.array([0.3, -0.1, 0.4, 0.2])
    assert sign_flips(np.append(gap, 0.0)[:, None])[0] == paired_test(gap, np.zeros(4))


def test_equal_means_of_skewed_differences_are_beyond_the_promise():
    rng = np.random.default_rng(5)  # mostly a little better, rarely much worse: the mean is 0, symmetric it is not
    rejected = sum(paired_test(np.where(rng.random(12) < 0.9, 0.1, -0.9), np.zeros(12)) <= 0.05 for _ in range(200))
    assert rejected > 20  # so the promise must not be made: P(Binomial(200, 0.28) <= 20) < 1e-6


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


def test_all_at_one_end_of_a_range_is_a_bound():
    ones, ends = bootstrap(np.ones(10), within=(0, 1)), stats.binomtest(10, 10).proportion_ci(0.95, "exact")
    assert (ones.low, ones.high) == pytest.approx((ends.low, ends.high))  # Clopper and Pearson
    assert bootstrap(np.zeros(10), within=(0, 1)).high == pytest.approx(1 - ends.low)
    assert bootstrap(-np.ones(10), within=(-1, 1)).high == pytest.approx(1 - 2 * ends.low)
    assert bootstrap(np.full(10, 0.5), within=(0, 1)).low is None and bootstrap(np.ones(10)).low is None
    mixed = np.array([0.0, 1.0, 1.0])
    assert bootstrap(mixed, within=(0, 1)).low == bootstrap(mixed).low


def test_what_cannot_be_compared_or_corrected_is_refused():
    with refused("shape", "first"):
        paired_test(np.ones(1), np.ones(2))
    with pytest.raises(InvalidInput, match="finite"):
        paired_test(np.array([np.nan]), np.ones(1))
    with refused("range", "p"):
        holm(np.array([0.1, np.nan]))
    with pytest.raises(InvalidInput, match="kind is 'bcaa'"):
        bootstrap(np.ones(3), kind="bcaa")
    with pytest.raises(InvalidInput, match="count"):
        bootstrap(np.ones(3), count=0)
