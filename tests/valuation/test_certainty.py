"""Intervals over the choice of test rows: they cover fresh ones, and harm is named only beyond them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from accredit.core import Attribution, Precision
from accredit.games import grouped
from accredit.valuation import KNNUtility, RidgeUtility, Split, knn_shapley, split
from accredit.valuation.certainty import FEWEST_TESTS, below_zero, covers_test_rows
from accredit.valuation.parts_of_tests import Remembered, cover_tests
from accredit.values import shapley


def blobs(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(0, 3, rows)
    return rng.normal(size=(rows, 5)) + 2.0 * np.eye(3, 5)[y], y


def drawn(seed: int, train: int, tests: int, flipped: float = 0.0) -> Split:
    """Training rows that depend on the seed of the world only, and test rows that depend on `seed`."""
    world, rng = np.random.default_rng(0), np.random.default_rng(seed + 1)
    x, y = blobs(world, train)
    wrong = world.random(train) < flipped
    return split(x, np.where(wrong, (y + 1) % 3, y), *blobs(rng, tests))


def test_the_error_is_that_of_a_mean_over_test_rows() -> None:
    data = drawn(0, 20, 40)
    values = knn_shapley(data, 3)
    alone = np.array(
        [knn_shapley(split(data.x, data.y, data.test_x[[i]], data.test_y[[i]]), 3).credit for i in range(40)]
    )  # what each test row says by itself
    assert_allclose(values.credit, alone.mean(axis=0), atol=1e-12)
    assert_allclose(values.stderr, alone.std(axis=0, ddof=1) / np.sqrt(40), atol=1e-12)


@pytest.mark.slow
def test_intervals_cover_what_fresh_test_rows_say() -> None:
    """60 draws of 60 test rows against 20,000 others. Rows of one draw err together, so draws are counted: one fails if fewer
    than 80 % of its rows are covered. Were 95 % covered, a quarter of the draws would fail at most (Markov), and 34 of 60 or
    more with a chance below one in a million. The seeds are fixed, so that the mean share is a fact."""
    truth = knn_shapley(drawn(999, 120, 20_000), 5).credit
    shares = []
    for seed in range(60):
        low, high = knn_shapley(drawn(seed, 120, 60), 5).interval.T
        shares.append(float(((low <= truth) & (truth <= high)).mean()))
    assert binom.sf(33, 60, 0.25) < 1e-6
    assert sum(share < 0.8 for share in shares) <= 33
    assert np.mean(shares) >= 0.95


@pytest.mark.slow
def test_rows_named_harmful_do_harm_on_fresh_test_rows() -> None:
    """One in ten may be named wrongly, on average. The seeds are fixed, so that the share of this draw is a fact."""
    data = drawn(3, 400, 400, flipped=0.1)
    values = knn_shapley(data, 5)
    named = below_zero(values)
    fresh = knn_shapley(drawn(999, 400, 20_000, flipped=0.1), 5).credit
    assert named is not None and named.sum() >= 5
    assert (fresh[named] >= 0).mean() <= 0.1
    assert (values.interval[named, 1] < 0).all()


def test_a_few_test_rows_tell_nothing_of_others() -> None:
    values = knn_shapley(drawn(0, 20, FEWEST_TESTS - 1), 3)
    assert values.interval is None and not values.exact and not covers_test_rows(values) and below_zero(values) is None


@pytest.mark.parametrize("kind", ["neighbours", "ridge"])
def test_groups_get_the_error_of_exact_values_of_every_test_row(kind: str) -> None:
    data = drawn(1, 30, 50)
    groups = {"a": data.names[:10], "b": data.names[10:20], "c": data.names[20:]}
    utility = KNNUtility(data, 3) if kind == "neighbours" else RidgeUtility(data)
    asked = Remembered(utility, utility, parts=200)
    values = shapley(grouped(asked, groups))
    covered = cover_tests(values, asked, [0, 10, 20], lambda parts: shapley(grouped(parts, groups)))
    alone = []
    for i in range(50):
        one = split(data.x, data.y, data.test_x[[i]], data.test_y[[i]])
        alone.append(shapley(grouped(KNNUtility(one, 3) if kind == "neighbours" else RidgeUtility(one), groups)).credit)
    assert_allclose(covered.credit, np.mean(alone, axis=0), atol=1e-12)
    assert_allclose(covered.stderr, np.std(alone, axis=0, ddof=1) / np.sqrt(50), atol=1e-9)


@pytest.mark.slow
def test_sampled_values_are_not_surer_of_their_test_rows_than_exact_ones() -> None:
    data = drawn(2, 10, 100)
    utility = RidgeUtility(data)
    asked, known = Remembered(utility, utility, parts=20), Remembered(utility, utility, parts=200)
    exact = cover_tests(shapley(known), known, range(10), shapley)
    sampled = cover_tests(shapley(asked, budget=200, seed=0), asked, range(10), shapley)
    assert covers_test_rows(sampled) and sampled.stderr is not None and exact.stderr is not None
    assert np.median(sampled.stderr / exact.stderr) > 0.8  # 20 parts estimate it to a sixth each; the median of ten is nearer
    few = Remembered(utility, utility, parts=20)
    assert not covers_test_rows(cover_tests(shapley(few, budget=16, seed=0), few, range(10), shapley))


def test_a_payoff_that_is_not_a_mean_over_test_rows_is_not_covered() -> None:
    data = drawn(4, 12, 40)
    utility = RidgeUtility(data, metric="neg_log_loss")
    asked = Remembered(utility, utility, parts=20)
    values = cover_tests(shapley(asked), asked, range(12), shapley)
    assert not covers_test_rows(values) and not values.exact and values.interval is None


def test_two_classes_tell_what_every_test_row_pays_in_log_loss() -> None:
    data = drawn(4, 12, 40)
    x, y, test_y = data.x, (data.y > 0).astype(int), (data.test_y > 0).astype(int)
    utility = RidgeUtility(split(x, y, data.test_x, test_y), metric="neg_log_loss")
    asked = np.array([[True] * 12, [False] * 12, [True, False] * 6])
    by_row = utility.score_tests(*utility.retrain(asked))
    alone = [
        RidgeUtility(split(x, y, data.test_x[[i]], test_y[[i]]), metric="neg_log_loss").payoff(asked) for i in range(40)
    ]  # judged by one test row
    assert by_row is not None
    assert_allclose(by_row, np.transpose(alone), atol=1e-9)
    known = Remembered(utility, utility, parts=20)
    assert covers_test_rows(cover_tests(shapley(known), known, range(12), shapley))


def test_exact_values_without_test_rows_accuse_nobody() -> None:
    assert below_zero(Attribution(("a", "b"), [1.0, -1.0], None, "by hand", precision=Precision.exact())) is None
