"""Every row valued and every row a test row: means over folds, intervals that cover fresh test rows, more rows named."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from accredit.valuation import Split, knn_shapley
from accredit.valuation.certainty import below_zero
from accredit.valuation.cross_fit import CrossFit, cross_fit
from tests.valuation.test_certainty import blobs
from tests.wording import refused


def folded(seed: int, rows: int, flipped: float = 0.0, folds: int = 4) -> CrossFit:
    rng = np.random.default_rng(seed)
    x, y = blobs(rng, rows)
    y = np.where(rng.random(rows) < flipped, (y + 1) % 3, y)
    return CrossFit(x, y, tuple(f"row {i}" for i in range(rows)), ("a", "b", "c"), folds, seed, k=5)


def fresh(rows: CrossFit, tests: int) -> np.ndarray:
    """What other test rows say of the same rows in the same folds (N,)."""
    x, y = blobs(np.random.default_rng(999), tests)
    found = np.zeros(len(rows.y))
    for taught, data in rows.splits():
        found[taught] += knn_shapley(Split(data.x, data.y, x, y, data.names, data.classes), rows.k).credit / rows.folds
    return found


def test_values_are_means_over_folds_and_those_of_the_mean_game() -> None:
    rows = folded(0, 120)
    values = cross_fit(rows)
    by_hand = np.zeros(120)
    for taught, data in rows.splits():
        assert len(data.test_y) == 30 and not set(data.names) & {f"row {i}" for i in np.flatnonzero(~taught)}
        by_hand[taught] += knn_shapley(data, 5).credit / 4
    assert_allclose(values.credit, by_hand, atol=1e-15)
    assert values.total == pytest.approx(float(rows.payoff(np.ones((1, 120), dtype=bool))[0]))
    assert values.unshared == pytest.approx(0.0, abs=1e-12)


def test_folds_that_are_too_small_are_refused() -> None:
    with refused("range", "folds"):
        folded(0, 100, folds=4)


@pytest.mark.slow
def test_intervals_cover_what_fresh_test_rows_say() -> None:
    """24 files of 120 rows. A file fails if fewer than 80 % of its rows are covered; were 95 % covered, a quarter of the files
    would fail at most (Markov), and 18 of 24 or more with a chance below one in a million. The seeds are fixed, so that the
    mean is a fact."""
    shares = []
    for seed in range(24):
        rows = folded(seed, 120)
        low, high = cross_fit(rows).interval.T
        truth = fresh(rows, 1500)
        shares.append(float(((low <= truth) & (truth <= high)).mean()))
    assert binom.sf(17, 24, 0.25) < 1e-6
    assert sum(share < 0.8 for share in shares) <= 17
    assert np.mean(shares) >= 0.94


@pytest.mark.slow
def test_more_rows_are_named_than_by_one_split_and_they_do_harm() -> None:
    """One in ten may be named wrongly, on average. The seeds are fixed, so that the shares of these draws are facts."""
    rows = folded(3, 600, flipped=0.1)
    named = below_zero(cross_fit(rows))
    _, data = next(rows.splits())
    once = below_zero(knn_shapley(data, 5))
    assert named is not None and once is not None and named.sum() >= 2 * once.sum() and named.sum() >= 15
    assert (fresh(rows, 3000)[named] >= 0).mean() <= 0.1
