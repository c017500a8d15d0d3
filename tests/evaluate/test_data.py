from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import Attribution
from accredit.core.statistics import rank_correlation
from accredit.errors import InvalidInput
from accredit.evaluate.data import (
    linear_datamodeling_score,
    mislabel_auc,
    random_removal_curve,
    removal_curve,
    retraining_correlation,
)
from accredit.games import FunctionGame
from accredit.values import shapley

RNG_SEED = 7
WEIGHTS = np.array([5.0, 3.0, 1.0, 0.0, -2.0])
ADDITIVE = FunctionGame("abcde", lambda coalitions: coalitions @ WEIGHTS)


@pytest.mark.slow
def test_true_weights_score_one_their_opposite_minus_one_and_noise_nothing() -> None:
    rng = np.random.default_rng(RNG_SEED)
    masks = rng.random((300, 12)) < 0.5
    weights = rng.normal(size=(12, 4))
    outputs = masks @ weights
    assert linear_datamodeling_score(weights, masks, np.exp(outputs)).value == pytest.approx(1.0)  # ranks alone count
    assert linear_datamodeling_score(-weights, masks, outputs).value == pytest.approx(-1.0)
    noise = linear_datamodeling_score(weights, masks, rng.normal(size=(300, 4)))
    assert noise.low < 0 < noise.high


def test_is_the_mean_spearman_correlation_of_scipy() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(RNG_SEED)
    masks, scores = rng.random((50, 6)) < 0.5, rng.integers(0, 3, size=(6, 3)).astype(float)  # with ties
    outputs = masks @ scores + rng.normal(size=(50, 3))
    expected = [spearmanr((masks @ scores)[:, t], outputs[:, t]).statistic for t in range(3)]
    assert_allclose(linear_datamodeling_score(scores, masks, outputs).value, np.mean(expected))
    assert_allclose(retraining_correlation(masks @ scores, outputs).value, np.mean(expected))
    assert_allclose(rank_correlation((masks @ scores).T, outputs.T), expected)


@pytest.mark.slow
def test_the_interval_covers_as_often_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bivariate normal with correlation r: Spearman's is 6/π·asin(r/2). Of 100 intervals of level 0.9, fewer than 66 hits
    have a chance under 1e-6 for any true coverage from 0.86 on."""
    monkeypatch.setattr("accredit.evaluate.data.RESAMPLES", 60)
    rng = np.random.default_rng(RNG_SEED)
    truth = 6 / np.pi * np.arcsin(0.6 / 2)
    hits = 0
    for trial in range(100):
        a = rng.normal(size=(80, 1))
        b = 0.6 * a + 0.8 * rng.normal(size=(80, 1))
        found = retraining_correlation(a, b, level=0.9, seed=trial)
        hits += found.low <= truth <= found.high
    assert hits >= 66


def test_mislabel_auc_is_the_share_of_pairs_in_order_and_ties_count_half() -> None:
    credit = np.array([0.1, 0.4, 0.35, 0.8, 0.1])
    wrong = np.array([True, True, False, False, False])
    assert mislabel_auc(credit, wrong).value == pytest.approx((1 + 1 + 0.5 + 0 + 1 + 0) / 6)
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(RNG_SEED)
    credit, wrong = rng.normal(size=200).round(1), rng.random(200) < 0.2
    assert mislabel_auc(Attribution(tuple(map(str, range(200))), credit, None, "m"), wrong).value == pytest.approx(
        metrics.roc_auc_score(wrong, -credit)
    )


def test_the_interval_of_the_auc_covers_as_often_as_it_says() -> None:
    """Normal scores one apart: the area is Φ(1/√2). Of 400 intervals of level 0.9, below 0.8 or above 0.97 has a chance
    under 1e-6 for any true coverage in [0.87, 0.93]."""
    from scipy.stats import norm

    rng = np.random.default_rng(RNG_SEED)
    wrong = np.arange(120) < 30
    hits = 0
    for _ in range(400):
        found = mislabel_auc(rng.normal(size=120) - wrong, wrong, level=0.9)
        hits += found.low <= norm.cdf(1 / np.sqrt(2)) <= found.high
    assert 0.8 <= hits / 400 <= 0.97


def test_curves_walk_from_everybody_to_nobody() -> None:
    values = shapley(ADDITIVE)
    down = removal_curve(ADDITIVE, values)
    assert down.payoffs.tolist() == [7, 2, -1, -2, -2, 0]
    assert down.fractions.tolist() == [0, 0.2, 0.4, 0.6, 0.8, 1]
    reverse = removal_curve(ADDITIVE, values, highest_first=False)
    assert reverse.payoffs.tolist() == [7, 9, 9, 8, 5, 0]
    middle = random_removal_curve(ADDITIVE, orders=40, seed=1)
    assert down.area < middle.area < reverse.area
    assert middle.stderr is not None
    assert middle.stderr[0] == middle.stderr[-1] == 0
    assert len(removal_curve(ADDITIVE, values, steps=2).payoffs) == 3


@pytest.mark.parametrize(
    "call",
    [
        lambda: linear_datamodeling_score(np.ones((3, 2)), np.ones((4, 3), bool), np.ones((4, 1))),
        lambda: retraining_correlation(np.ones((3, 2)), np.ones((3, 1))),
        lambda: retraining_correlation(np.array([[np.nan]]), np.ones((1, 1))),
        lambda: mislabel_auc(np.ones(3), [True, True, True]),
        lambda: mislabel_auc(np.ones(3), [1, 0, 0]),
        lambda: removal_curve(ADDITIVE, shapley(ADDITIVE).ranked()[::-1]),
        lambda: removal_curve(ADDITIVE, shapley(ADDITIVE), steps=0),
    ],
)
def test_what_does_not_fit_is_refused(call) -> None:
    with pytest.raises(InvalidInput):
        call()
