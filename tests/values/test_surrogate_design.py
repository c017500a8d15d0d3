from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core.coalitions import keys
from accredit.values.surrogate.design import Design, empty_design, expected_allocation, grow, strata


def first(players, pairs, seed=0):
    return grow(empty_design(players), pairs, np.random.default_rng(seed))


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 12])
def test_strata_hold_every_pair_once(n):
    space = strata(n)
    assert space.pairs == 2 ** (n - 1) - 1
    assert_allclose(np.exp(space.log_counts), space.counts, rtol=1e-12)


@pytest.mark.parametrize(("n", "pairs"), [(5, 7), (8, 30), (9, 100), (12, 49), (14, 124), (60, 499), (100, 124)])
def test_has_the_asked_number_of_distinct_pairs(n, pairs):
    design = first(n, pairs)
    seen = set(keys(design.pairs)) | set(keys(~design.pairs))
    assert len(design) == pairs and len(seen) == 2 * pairs
    assert design.sizes.min() >= 1 and design.sizes.max() <= n // 2


def test_strata_smaller_than_their_share_are_taken_whole():
    design = first(12, 120)
    assert (design.sizes == 1).sum() == 12
    assert_allclose(design.inclusion[design.sizes == 1], 1.0)
    assert design.inclusion[design.sizes > 1].max() < 1
    assert_allclose(expected_allocation(strata(12), 120).sum(), 120)


@pytest.mark.slow
def test_a_pair_is_included_as_often_as_its_inclusion_probability_says():
    n, pairs, runs = 6, 12, 2000
    expected = expected_allocation(strata(n), pairs)
    seen: dict[bytes, int] = {}
    for seed in range(runs):
        for key in keys(first(n, pairs, seed).pairs):
            seen[key] = seen.get(key, 0) + 1
    for k in (1, 2, 3):
        rows = [set(c) for c in combinations(range(n), k) if 2 * k < n or 0 in c]
        members = np.array([[i in row for i in range(n)] for row in rows])
        chance = expected[k - 1] / len(rows)
        rates = np.array([seen.get(key, 0) / runs for key in keys(members)])
        # 31 binomial rates, 6 standard deviations each: false alarms below 31 · 2e-9.
        assert np.abs(rates - chance).max() <= 6 * np.sqrt(chance * (1 - chance) / runs) + 1e-12
        drawn = first(n, pairs)
        assert_allclose(drawn.inclusion[drawn.sizes == k], chance)


def test_all_pairs_identity_gives_shapley_values_from_a_complete_design():
    n = 7
    rng = np.random.default_rng(3)
    table = rng.normal(size=1 << n)
    from accredit.values.semivalues import shapley_from_table

    design = first(n, 2 ** (n - 1) - 1)
    assert design.complete and np.all(design.log_inclusion == 0)
    bits = 1 << np.arange(n)
    odd = (table[design.pairs @ bits] - table[~design.pairs @ bits]) / 2
    z = design.pairs - design.sizes[:, None] / n
    values = (table[-1] - table[0]) / n + 2 * z.T @ (design.mass * odd)
    assert_allclose(values, shapley_from_table(table), atol=1e-12)


@pytest.mark.slow
def test_horvitz_thompson_sum_is_unbiased():
    n, pairs, runs = 8, 40, 1000
    rng = np.random.default_rng(5)
    table = rng.normal(size=1 << n)
    bits = 1 << np.arange(n)

    def estimate(design: Design):
        odd = (table[design.pairs @ bits] - table[~design.pairs @ bits]) / 2
        return 2 * (design.pairs - design.sizes[:, None] / n).T @ (design.mass * odd)

    truth = estimate(first(n, 127))
    found = np.array([estimate(first(n, pairs, seed)) for seed in range(runs)])
    error = found.std(axis=0, ddof=1) / np.sqrt(runs)
    # 8 means within 6 standard errors: false alarms below 8 · 2e-9.
    assert np.all(np.abs(found.mean(axis=0) - truth) < 6 * error)


def test_growing_keeps_earlier_pairs_and_stays_near_the_expected_allocation():
    rng = np.random.default_rng(1)
    design = empty_design(15)
    for pairs in (8, 64, 128, 256, 700):
        before, design = design, grow(design, pairs, rng)
        assert len(design) == pairs and len(set(keys(design.pairs))) == pairs
        assert np.array_equal(design.pairs[: len(before)], before.pairs)
        have = np.bincount(design.sizes, minlength=8)[1:]
        assert np.abs(have - expected_allocation(strata(15), pairs)).max() <= 2


def test_growing_reaches_every_pair():
    rng = np.random.default_rng(2)
    design = empty_design(8)
    for pairs in (30, 60, 100, 126, 127, 500):
        design = grow(design, pairs, rng)
        assert len(design) == min(pairs, 127)
    assert design.complete and np.all(design.log_inclusion == 0)


def test_ten_thousand_players_cost_no_more_than_their_rows():
    design = first(10_000, 49)
    assert design.pairs.shape == (49, 10_000)
    assert np.all(np.isfinite(design.weights)) and design.weights.min() > 0
