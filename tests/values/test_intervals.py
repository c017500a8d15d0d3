import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, t

from accredit.errors import InvalidInput
from accredit.values.differences import Differences
from accredit.values.intervals import (
    Confidence,
    degrees_of_freedom,
    empirical_bernstein,
    look_error,
    student_t,
    unseen_chance,
)
from accredit.values.orders import Permutations
from accredit.values.semivalues import shapley_from_table
from tests.values.sampling_games import unanimity, voting


def test_student_t_is_the_textbook_quantile():
    assert_allclose(student_t(np.array([2.0]), 9, 0.05), 2 * t.ppf(0.975, 9))


@pytest.mark.slow
def test_degrees_of_freedom_match_the_variance_of_the_sample_variance():
    """Never more than m − 1, also for a coin (κ = 1), whose variance is nearly known; heavy tails lose some."""
    assert degrees_of_freedom(50, 3.0) == pytest.approx(49)
    assert degrees_of_freedom(50, 1.0) == 49
    rng = np.random.default_rng(0)
    scores = rng.laplace(size=(200_000, 40))  # κ = 6
    spread = scores.var(axis=1, ddof=1)
    assert degrees_of_freedom(40, 6.0) == pytest.approx(2 * spread.mean() ** 2 / spread.var(), rel=0.05)


def test_unseen_chance_solves_its_equation():
    for m, error in ((1, 0.05), (20, 0.05), (1000, 1e-4)):
        assert (1 - unseen_chance(m, error)) ** m == pytest.approx(error)


def test_errors_of_all_looks_sum_to_the_error_granted():
    assert sum(look_error(0.05, look) for look in range(1, 100_000)) == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize("chance", [0.5, 0.1, 0.01, 0.001])
@pytest.mark.parametrize("draws", [2, 10, 100, 1000])
def test_empirical_bernstein_holds_for_every_coin(chance, draws):
    """Exactly, by summing the binomial law: no sampling, no false alarms."""
    heads = np.arange(draws + 1)
    mean = heads / draws
    half = empirical_bernstein(mean * (1 - mean) * draws / (draws - 1), draws, width=1.0, error=0.05)
    missed = np.abs(mean - chance) > half
    assert binom.pmf(heads, draws, chance)[missed].sum() <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("solver", [Permutations, Differences])
def test_stopping_at_a_half_width_does_not_spoil_the_interval(solver):
    """Runs as units: mean coverage of what is reported at the stop is at least 0.93 but for 5.5 standard errors (2e-8)."""
    for game, goal in ((voting(8, 3), 0.08), (unanimity(8), 0.3)):
        exact = shapley_from_table(game.table)
        runs = [solver(half_width=goal, seed=seed).solve(game).interval for seed in range(100)]
        hits = np.array([((low <= exact) & (exact <= high)).mean() for low, high in (run.T for run in runs)])
        assert hits.mean() + 5.5 * hits.std(ddof=1) / np.sqrt(len(hits)) >= 0.93


@pytest.mark.slow
def test_simultaneous_intervals_hold_together():
    """95 % for all players at once: of 200 runs, 29 misses or more have a chance below 1e-6 when each has at most 0.05."""
    game = unanimity(10)
    exact = shapley_from_table(game.table)
    runs = [Differences(budget=1000, seed=seed, simultaneous=True).solve(game).interval for seed in range(200)]
    missed = sum(not ((low <= exact) & (exact <= high)).all() for low, high in (run.T for run in runs))
    assert binom.sf(28, 200, 0.05) < 1e-6
    assert missed <= 28


def test_confidence_refuses_what_cannot_be_used():
    for bad in ({"level": 0}, {"certify": True}, {"payoff_range": (0, float("inf"))}, {"payoff_range": (2, 2)}):
        with pytest.raises(InvalidInput):
            Confidence(**bad)
    assert Confidence(payoff_range=(-1, 3)).span == 4
