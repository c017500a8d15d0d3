"""Intervals that hold over rows: coverage by simulation, where every number is known, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtri

from accredit.errors import InvalidInput
from accredit.learned.conformal import (
    ConformalWidths,
    Difficulty,
    Reference,
    calibrate,
    conformal_quantile,
    pooled_quantile,
    ranks,
    rows_needed,
)
from tests.wording import says

TRIALS = 1000
SIX = 4.9  # standard errors: a false alarm in a million


def at_least(share: float, level: float, trials: int) -> bool:
    return share >= level - SIX * np.sqrt(level * (1 - level) / trials)


def exact(values):
    return Reference(values, np.zeros_like(values))


def test_the_quantile_is_the_next_whole_rank():
    assert conformal_quantile(np.array([3.0, 1.0, 2.0]), 0.5) == 2.0  # ⌈4 · 0.5⌉ = 2nd
    assert conformal_quantile(np.arange(1.0, 20.0), 0.95) == 19.0  # 20 · 0.95 = 19, not 20 by rounding
    with pytest.raises(InvalidInput, match="19 or more"):
        conformal_quantile(np.arange(18.0), 0.95)


def test_one_player_per_row_pools_to_the_plain_quantile():
    scores = np.random.default_rng(0).random((40, 1))
    assert pooled_quantile(scores, 0.9) == conformal_quantile(scores[:, 0], 0.9)


def test_a_row_with_many_players_counts_once():
    scores = np.full((4, 100), np.nan)
    scores[:3, 0], scores[3] = 1.0, 9.0  # three rows of one player, one row of a hundred
    assert pooled_quantile(scores, 0.6) == 1.0
    assert pooled_quantile(scores, 0.61) == 9.0


@pytest.mark.slow
def test_intervals_hold_for_each_player_of_new_rows():
    """19 calibration rows at 95 %: the rank is the largest, and coverage is 19/20 exactly. False alarm: 1e-6."""
    rng = np.random.default_rng(1)
    held = np.zeros(2)
    for _ in range(TRIALS):
        missed = rng.standard_cauchy((20, 2, 1))  # any law will do
        found = calibrate(np.zeros((19, 2, 1)), exact(missed[:19]), 0.95)
        held += (np.abs(missed[19]) <= found.half_widths(np.zeros((1, 2, 1)))[0])[:, 0]
    assert at_least(held.min() / TRIALS, 0.95, TRIALS)
    assert at_least(1 - held.max() / TRIALS, 0.05, TRIALS)  # and no more than they must


@pytest.mark.slow
def test_all_players_of_a_row_hold_at_once():
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(TRIALS):
        missed = rng.normal(size=(10, 5, 1))
        found = calibrate(np.zeros((9, 5, 1)), exact(missed[:9]), 0.9, "row")
        held += bool((np.abs(missed[9]) <= found.half_widths(np.zeros((1, 5, 1)))[0]).all())
    assert at_least(held / TRIALS, 0.9, TRIALS)


@pytest.mark.slow
def test_a_player_drawn_from_a_row_holds_where_rows_have_players_of_their_own():
    """Long rows are harder here: pooling all players as if they were rows would let them decide."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(TRIALS):
        counts = rng.integers(1, 9, size=13)
        missed = np.where(np.arange(8) < counts[:, None], rng.normal(size=(13, 8)) * counts[:, None], np.nan)[..., None]
        found = calibrate(np.zeros((12, 8, 1)), exact(missed[:12]), 0.9, "drawn player")
        drawn = missed[12, rng.integers(counts[12]), 0]
        held += bool(abs(drawn) <= found.radius[0, 0])
    assert at_least(held / TRIALS, 0.9, TRIALS)


@pytest.mark.slow
@pytest.mark.parametrize("per", ["player", "row"])
def test_the_error_of_estimated_values_is_paid_for(per):
    """The network has learned the estimates to the last digit, errors and all: their distance says nothing of the truth."""
    rng = np.random.default_rng(4)
    held, naive = 0, 0
    for _ in range(TRIALS):
        truth = rng.normal(size=(30, 3, 1))
        error = rng.random((30, 3, 1))  # standard errors
        estimate = truth + error * rng.normal(size=truth.shape)
        known = Reference(estimate[:29], error[:29] * ndtri(0.975))
        found = calibrate(estimate[:29], known, 0.9, per)
        wrong = np.abs(truth[29] - estimate[29])
        held += bool((wrong <= found.radius)[:, 0].all() if per == "row" else (wrong <= found.radius)[0, 0])
        naive += bool((wrong[0] <= calibrate(estimate[:29], exact(estimate[:29]), 0.9, per).radius[0])[0])
    assert at_least(held / TRIALS, 0.9, TRIALS)
    assert naive == 0  # what would have happened without


def test_difficulty_is_used_where_it_narrows():
    rng = np.random.default_rng(5)
    credit = np.exp(rng.normal(size=(300, 4, 1)) * 2)
    grows = calibrate(credit, exact(credit * (1 + 0.1 * rng.normal(size=credit.shape))), 0.9)
    even = calibrate(credit, exact(credit + 0.1 * rng.normal(size=credit.shape)), 0.9)
    assert grows.narrower is not None and grows.narrower < 0.9
    assert even.difficulty.slopes.any() == False and grows.difficulty.slopes.any()  # noqa: E712
    wide = grows.half_widths(np.array([[[100.0], [0.1], [1.0], [1.0]]]))[0, :, 0]
    assert wide[0] > 20 * wide[1]


def test_few_rows_are_not_split_for_the_difficulty():
    truth = np.random.default_rng(6).normal(size=(30, 2, 1))
    found = calibrate(np.zeros_like(truth), exact(truth), 0.9)
    assert (found.rows, found.narrower) == (30, None)
    assert_allclose(found.radius, np.sort(np.abs(truth), axis=0)[27])


@pytest.mark.parametrize(
    ("rows", "settings", "said"),
    [
        (18, {}, "give 19 or more"),
        (40, {"level": 1.0}, "level"),
        (40, {"level": None}, "level is missing"),
        (40, {"per": "column"}, "'player', 'rank', 'drawn player', 'row'"),
    ],
)
def test_what_is_refused_says_what_to_write(rows, settings, said):
    truth = np.random.default_rng(0).normal(size=(rows, 2, 1))
    with pytest.raises(InvalidInput, match=said):
        calibrate(truth, exact(truth), **settings)


def test_absent_players_have_no_interval_of_their_own():
    truth = np.array([[[1.0], [np.nan]]] * 30)
    with pytest.raises(InvalidInput, match="drawn player"):
        calibrate(truth, exact(truth))
    assert calibrate(truth, exact(truth), per="row").radius.shape == (1, 1)


def test_estimates_need_a_few_more_rows():
    assert [rows_needed(0.9, exact) for exact in (True, False)] == [9, 12]


def test_a_calibration_is_read_again():
    truth = np.random.default_rng(7).normal(size=(90, 2, 2))
    found = calibrate(truth * 1.1, exact(truth))
    again = ConformalWidths.from_plain(found.to_plain())
    assert_allclose(again.half_widths(truth), found.half_widths(truth))
    assert again.because == found.because and says(found.because, "not for each")


def test_an_even_difficulty_is_one():
    assert_allclose(Difficulty.even(2).of(np.ones((1, 3, 2))), 1.0)


def test_an_unknown_error_counts_as_a_miss_of_a_drawn_player():
    scores = np.array([[1.0, 2.0], [np.inf, np.inf], [1.5, np.nan]])
    assert pooled_quantile(scores, 0.5) == 2.0
    assert pooled_quantile(scores, 0.7) == np.inf


@pytest.mark.slow
def test_intervals_hold_for_every_rank_where_rows_have_players_of_their_own():
    """The largest credits are the hardest. A width for a drawn player misses them far more often than it may; one for every
    rank does not, and is no wider than it must be. False alarm: 1e-6."""
    rng = np.random.default_rng(6)
    held = np.zeros((2, 2))  # by statement, of the largest and the second largest
    for _ in range(TRIALS):
        counts = rng.integers(2, 6, size=41)
        there = np.arange(5) < counts[:, None]
        credit = np.where(there, rng.permuted(np.tile([16.0, 8.0, 4.0, 2.0, 1.0], (41, 1)), axis=1), np.nan)[..., None]
        truth = credit + credit * rng.normal(size=credit.shape)
        place = ranks(credit[40:])[0, :, 0]
        found = [calibrate(credit[:40], exact(truth[:40]), 0.9, per) for per in ("rank", "drawn player")]
        missed = np.abs(truth - credit)[40, :, 0]
        for k, one in enumerate(found):
            inside = missed <= one.half_widths(credit[40:])[0, :, 0]
            held[k] += [inside[place == 0].all(), inside[place == 1].all()]
    assert at_least(held[0].min() / TRIALS, 0.9, TRIALS)
    assert at_least(1 - held[0].max() / TRIALS, 0.1 - 0.025, TRIALS)  # ⌈41 · 0.9⌉ of 40
    assert held[1, 0] / TRIALS < 0.85
