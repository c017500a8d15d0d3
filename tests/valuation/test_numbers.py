"""Numbers to predict, votes out of the bag, and how much of a game is linear."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.games import FunctionGame
from accredit.valuation import KNNRegression, data_oob, harmonics, knn_shapley, split
from accredit.valuation.harmonics import curve, read
from accredit.values import shapley

SKLEARN = pytest.importorskip("sklearn")


@pytest.mark.parametrize("k", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 10])
def test_the_closed_form_is_the_shapley_value_of_the_game(n: int, k: int) -> None:
    rng = np.random.default_rng(10 * n + k)
    x = rng.integers(0, 4, size=(n, 2)).astype(float)  # many equal distances
    data = split(x, rng.normal(3, 2, size=n), rng.normal(size=(4, 2)), rng.normal(size=4), regression=True)
    found, exact = knn_shapley(data, k), shapley(KNNRegression(data, k))
    assert_allclose(found.credit, exact.credit, atol=1e-12)
    assert found.total == pytest.approx(exact.total) and found.baseline == pytest.approx(exact.baseline)


def test_classes_and_bad_k_are_refused() -> None:
    classes = split([[0.0], [1.0]], ["a", "b"], [[0.0]], ["a"])
    with pytest.raises(InvalidInput, match="KNNUtility"):
        KNNRegression(classes)
    numbers = split([[0.0], [1.0]], [1.0, 2.0], [[0.0]], [1.0], regression=True)
    for k in (0, 2.0, True):
        with pytest.raises(InvalidInput, match="k must be"):
            knn_shapley(numbers, k)  # type: ignore[arg-type]


@pytest.mark.slow
def test_flipped_labels_and_wild_numbers_score_lowest_out_of_the_bag() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = (x[:, 0] > 0).astype(int)
    flipped = [int(i) for i in np.argsort(-np.abs(x[:, 0]))[:3]]  # far from the border, so that they stand out
    y[flipped] = 1 - y[flipped]
    scores = data_oob(split(x, y, x[:5], y[:5]), trees=100, seed=1)
    assert set(np.argsort(scores.credit)[:3]) == set(flipped)
    assert scores.interval is not None and (scores.interval[:, 0] <= scores.credit).all()
    assert data_oob(split(x, y, x[:5], y[:5]), trees=100, seed=1).credit.tolist() == scores.credit.tolist()
    numbers = x[:, 0].copy()
    numbers[7] += 30
    found = data_oob(split(x, numbers, x[:5], numbers[:5], regression=True), trees=100)
    assert int(found.credit.argmin()) == 7
    with pytest.raises(InvalidInput, match="trees"):
        data_oob(split(x, y, x[:5], y[:5]), trees=3)


def test_shares_by_degree_are_those_of_games_that_have_them() -> None:
    """Weights 1 for each of six rows, 2 for one pair: at p = ½ a row has the coefficient of half its weight, and the pair's
    product adds a quarter of its own to its two rows. Over 40 seeds the mean of an unbiased share is within 5 standard errors
    (false-alarm rate below 1e-6)."""

    def earned(c: np.ndarray) -> np.ndarray:
        return c.sum(axis=1) + 2.0 * c[:, 0] * c[:, 1]

    game = FunctionGame("abcdef", lambda c: earned(c.astype(float)))
    linear = 4 * 0.5**2 + 2 * (0.5 + 0.5) ** 2
    pairs = 0.5**2
    shares = np.array([[h.linear.value, h.pairs.value] for h in (harmonics(game, 200, seed=s) for s in range(40))])
    truth = np.array([linear, pairs]) / (linear + pairs)
    error = shares.std(axis=0, ddof=1) / np.sqrt(40)
    assert (np.abs(shares.mean(axis=0) - truth) < 5 * error + 0.01).all()  # a ratio has a bias of order 1/m
    held = sum(truth[0] in harmonics(game, 200, seed=s).linear for s in range(40))
    assert held >= 30  # of 40 at level 0.95: fewer has a chance below 1e-6
    with_p = curve(game, (0.2, 0.8), subsets=200)
    assert [h.fraction for h in with_p] == [0.2, 0.8]
    with pytest.raises(InvalidInput, match="no variance"):
        read(np.eye(30, dtype=bool), np.ones(30), 0.5)
    with pytest.raises(InvalidInput, match="subsets"):
        harmonics(game, 5)


def test_equal_rows_score_alike_out_of_the_bag_whatever_their_place() -> None:
    """Twins at both ends of the file: their means differ by less than 5 standard errors (false-alarm rate < 1e-6)."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(30, 2))
    y = (x[:, 0] + rng.normal(size=30) > 0).astype(int)
    x[-1], y[-1] = x[0], y[0]
    scores = data_oob(split(x, y, x[:5], y[:5]), trees=300)
    assert scores.stderr is not None
    assert abs(scores.credit[0] - scores.credit[-1]) <= 5 * np.hypot(scores.stderr[0], scores.stderr[-1]) + 1e-12
