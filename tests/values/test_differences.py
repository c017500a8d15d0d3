from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core.coalitions import pack
from accredit.errors import NotConverged
from accredit.games import FunctionGame, TableGame
from accredit.values.control_variate import Control, Scores, judge, score_bounds
from accredit.values.differences import Differences, DifferencesHint
from accredit.values.intervals import Confidence
from accredit.values.orders import Permutations
from accredit.values.pairs import Pairs, Sample, SizeLaw
from accredit.values.sampling import Ledger
from accredit.values.semivalues import semivalue_from_table, shapley_from_table
from tests.values.sampling_games import KINDS, members, names, unanimity
from tests.wording import refused, says


def all_pairs(game):
    """Every pair of complementary coalitions, once from each half, with what it earns beyond v(∅)."""
    n, earned = len(game.players), game.table - game.table[0]
    index = np.arange(1, (1 << n) - 1)
    x = members(n)[index]
    return Sample(n, pack(x), x.sum(axis=1), earned[index], earned[(1 << n) - 1 - index])


def test_differences_of_values_are_the_sum_over_sets_without_both():
    n, game = 5, TableGame(names(5), np.random.default_rng(0).normal(size=32))
    value, v = shapley_from_table(game.table), game.table
    for i in range(n):
        for j in set(range(n)) - {i}:
            sets = [s for s in range(32) if not s >> i & 1 and not s >> j & 1]
            sums = sum((v[s | 1 << i] - v[s | 1 << j]) / comb(n - 2, s.bit_count()) for s in sets) / (n - 1)
            assert value[i] - value[j] == pytest.approx(sums)


@pytest.mark.parametrize("n", [3, 4, 6])
def test_the_expected_score_is_the_value_whatever_the_control(n):
    """Enumerated: each pair weighted by its chance q(k)/C(n, k). This is unbiasedness, exactly."""
    rng = np.random.default_rng(n)
    game = TableGame(names(n), rng.normal(size=1 << n))
    meets = rng.dirichlet(np.ones(n))
    weights = meets / np.array([comb(n - 1, k) for k in range(n)])
    law, ledger, sample = SizeLaw.of(meets), Ledger(game), all_pairs(game)
    control = Control(0.3, -0.7, rng.normal(size=n))
    total = np.zeros(n)
    for row in range(len(sample)):
        k = int(sample.sizes[row])
        scores = Scores(law, ledger)
        scores.add(sample[row : row + 1], control)
        total += law.chance[k] / comb(n, k) * scores.moments.mean
    assert_allclose(total, semivalue_from_table(game.table, weights), atol=1e-12)


@pytest.mark.parametrize("tilt", [-1.0, 1.0])
def test_score_bounds_hold_and_are_reached(tilt):
    """Lopsided weights, so that scores inside and outside T are bounded by different ends of the control."""
    rng = np.random.default_rng(0)
    n, law = 6, SizeLaw.of(np.arange(1, 7) / 21)
    control = Control(0.2, 0.05, tilt * np.array([0.1, 0.3, 0.2, 0.9, 2.0, -0.4]))
    low, high = score_bounds(law, control, 0.0, 1.0)
    worst = []
    for game in (TableGame(names(n), [0, *rng.integers(0, 2, (1 << n) - 1)]) for _ in range(200)):
        sample = all_pairs(game)
        odd, even = control.odd(members(n)[1:-1].astype(float)), control.even(sample.sizes)
        worst.append(law.pair_scores(sample.sizes, sample.left - even - odd, sample.right - even + odd))
    assert_allclose([low, high], [np.min(worst), np.max(worst)])


def test_pairs_follow_the_size_law_and_are_uniform_within_a_size():
    """χ² tests with limits of chance below 1e-9: 70 for 5 sizes, 75 for 15 coalitions of size 2."""
    game = TableGame(names(6), np.zeros(64))
    law = SizeLaw.of(np.full(6, 1 / 6))
    pairs = Pairs(law, Ledger(game), seed=0)
    pairs.draw(20_000)
    sample = pairs.sample()
    expected = 20_000 * law.chance[1:6]
    assert ((np.bincount(sample.sizes, minlength=7)[1:6] - expected) ** 2 / expected).sum() < 70
    _, times = np.unique(sample.bits[sample.sizes == 2], axis=0, return_counts=True)
    assert len(times) == 15
    assert ((times - times.mean()) ** 2 / times.mean()).sum() < 75


def test_the_size_law_is_the_square_root_of_the_shapley_weights():
    k = np.arange(1, 10)
    expected = 1 / np.sqrt(k * (10 - k))
    assert_allclose(SizeLaw.of(np.full(10, 0.1)).chance[1:10], expected / expected.sum())


def test_scores_within_a_pair_sum_to_nothing():
    game = unanimity(7)
    sample, scores = all_pairs(game), Scores(SizeLaw.of(np.full(7, 1 / 7)), Ledger(game))
    scores.add(sample[:1], Control(0.0, 0.0, np.zeros(7)))
    assert scores.moments.mean.sum() == pytest.approx(game.table[-1] - game.table[0])


def test_the_control_removes_most_of_the_noise_of_nearly_additive_games():
    weights = np.random.default_rng(0).normal(size=12)
    bumps = np.random.default_rng(1).normal(0, 0.05, 1 << 12)
    game = TableGame(names(12), members(12) @ weights + bumps)
    exact = shapley_from_table(game.table)
    errors = {
        solver: np.mean([(solver(budget=500, seed=seed).solve(game).credit - exact) ** 2 for seed in range(20)])
        for solver in (Permutations, Differences)
    }
    assert errors[Differences] < errors[Permutations]


def test_many_players_and_few_pairs_fall_back_to_equal_slopes():
    game = FunctionGame(names(3000), lambda coalitions: coalitions.sum(axis=1) * 0.001)
    found = Differences(budget=102).solve(game)
    assert_allclose(found.credit, 0.001, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("budget", "runs"), [(250, 400), (1000, 200)])
def test_student_t_intervals_cover_93_to_97_percent(kind, budget, runs):
    """Coverage is averaged over players within a run and runs are the units, as players of one run err together.

    False alarms: were the true coverage in [0.93, 0.97], a cell fails only if the mean of the runs is 5.5 of its (between-run)
    standard errors off: 4e-8 for two sides, 5e-7 for the 12 cells.
    """
    game = KINDS[kind]()
    n, exact = len(game.players), shapley_from_table(game.table)
    law, confidence, hits = SizeLaw.of(np.full(n, 1 / n)), Confidence(), []
    for seed in range(runs):
        ledger = Ledger(game)
        pairs = Pairs(law, ledger, seed)
        pairs.draw((budget - 2) // 2)
        found = judge(pairs.sample(), law, ledger, confidence, share=1.0)
        hits.append((np.abs(found.credit - exact) <= found.half_widths).mean())
    slack = 5.5 * np.std(hits, ddof=1) / np.sqrt(len(hits))
    assert 0.93 - slack <= np.mean(hits) <= 0.97 + slack


def test_the_coverage_test_measures_what_solve_returns():
    game = KINDS["text"]()
    n, law, ledger = len(game.players), SizeLaw.of(np.full(13, 1 / 13)), Ledger(game)
    pairs = Pairs(law, ledger, 5)
    pairs.draw(124)
    found, solved = (
        judge(pairs.sample(), law, ledger, Confidence(), share=1.0),
        Differences(budget=250, seed=5).solve(game),
    )
    assert n == 13
    assert_allclose(solved.credit, found.credit, rtol=1e-12)
    assert_allclose(np.diff(solved.interval)[:, 0] / 2, found.half_widths, rtol=1e-9)


def test_the_hint_compares_with_the_first_player():
    """One draw of S = ∅ decides a game of singles; by hand: v = 3, 5, 1 alone, efficiency fixes the level."""
    table = np.zeros(8)
    table[[1, 2, 4]], table[7] = [3, 5, 1], 9
    table[[3, 5, 6]] = [8, 4, 6]
    assert_allclose(DifferencesHint(budget=400).solve(TableGame(names(3), table)).credit, [3, 5, 1], atol=1e-12)


def test_the_hint_costs_what_its_analysis_says():
    """1 + (n−1)/H payoffs a draw; 4,000 draws, false alarms below 1e-9 (8 standard deviations of the mean)."""
    found = DifferencesHint(budget=25_000).solve(unanimity(12))
    harmonic = sum(1 / k for k in range(1, 12))
    draws = found.certificate["draws"]
    assert (found.payoffs - 2) / draws == pytest.approx(1 + 11 / harmonic, abs=8 * 3 / np.sqrt(draws))
    assert 25_000 - found.payoffs < 12


def test_the_hint_gives_no_interval_before_small_sets_can_be_expected():
    few, enough = DifferencesHint(budget=300).solve(unanimity(12)), DifferencesHint(budget=1000).solve(unanimity(12))
    assert few.interval is None
    assert says(few.interval_because, "miss the small")
    assert enough.interval is not None


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_hint_intervals_cover_at_least_their_level(kind):
    """Runs as units: at least 0.93 but for 5.5 between-run standard errors (2e-8 a cell)."""
    game = KINDS[kind]()
    exact = shapley_from_table(game.table)
    runs = [DifferencesHint(budget=1000, seed=seed).solve(game).interval for seed in range(80)]
    hits = np.array([((low <= exact) & (exact <= high)).mean() for low, high in (run.T for run in runs)])
    assert hits.mean() + 5.5 * hits.std(ddof=1) / np.sqrt(len(hits)) >= 0.93


def test_the_hint_refuses_what_it_cannot_do():
    with refused("unsupported", "certify"):
        DifferencesHint(budget=100, certify=True, payoff_range=(0, 1))
    with pytest.raises(NotConverged, match="larger budget"):
        for seed in range(50):
            DifferencesHint(budget=14, seed=seed).solve(unanimity(12))
