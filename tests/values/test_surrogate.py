import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import t as student

from accredit.core import Attribution, Holds
from accredit.errors import BadPayoff, InvalidInput
from accredit.evaluate import check_claims
from accredit.games import FunctionGame, TableGame, counted
from accredit.values import shapley
from accredit.values.surrogate import Surrogate
from accredit.values.surrogate.design import empty_design, grow
from accredit.values.surrogate.estimate import PairedPayoffs, _sample, estimate, posterior
from accredit.values.surrogate.estimator import FITTED, Trial, ask_pairs, best_split, fit_seconds
from accredit.values.surrogate.intervals import AllPairs, Regression, t_multiple, trust
from accredit.values.surrogate.likelihood import Mixture
from accredit.values.surrogate.walsh import Walsh
from tests.random_games import games
from tests.wording import reads, says


def named(n, function):
    return FunctionGame([f"p{i}" for i in range(n)], function)


def gloves(n=14):
    """A third of the players hold left gloves; with equal numbers the odd part of the game would be additive."""
    left = n // 3
    return named(n, lambda s: np.minimum(s[:, :left].sum(axis=1), s[:, left:].sum(axis=1)) + 0.1 * s[:, 0] * s[:, 1])


def exact(game):
    return shapley(game, budget=1 << len(game.players)).credit


EDGES = {
    "constant": lambda s: np.full(len(s), 3.0),
    "additive": lambda s: s @ np.arange(1.0, s.shape[1] + 1),
    "dictator": lambda s: s[:, 0].astype(float),
    "size only": lambda s: s.sum(axis=1) ** 2.0,
    "large 0/1": lambda s: 1e9 * (s.sum(axis=1) > s.shape[1] / 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", EDGES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 20, 60])
def test_edge_games_are_finite_efficient_and_within_budget(kind, n):
    for budget in (4, 5, 7, 12, 31, 50, 120):
        game = counted(named(n, EDGES[kind]))
        values = Surrogate(budget).solve(game)
        scale = max(abs(values.total), 1e-12)
        assert np.all(np.isfinite(values.credit)) and abs(values.unshared) <= 1e-10 * scale
        assert game.payoffs == values.payoffs <= budget and game.calls == 1
        if values.interval is None:
            assert values.stderr is None and values.interval_because
        else:
            assert np.all(np.diff(values.interval, axis=1) > 0)


@pytest.mark.parametrize("kind", ["constant", "additive"])
def test_games_without_visible_variation_get_their_value_but_no_interval(kind):
    values = Surrogate(120).solve(named(20, EDGES[kind]))
    truth = np.zeros(20) if kind == "constant" else np.arange(1.0, 21)
    assert_allclose(values.credit, truth, atol=1e-9)
    assert values.interval is None and values.stderr is None and says(values.interval_because, "what is certain")


def test_few_pairs_of_two_valued_payoffs_get_no_interval():
    game = named(10, lambda s: (s.sum(axis=1) + s[:, 0] > 5).astype(float))
    assert "two-valued" in Surrogate(100).solve(game).interval_because
    assert Surrogate(250).solve(game).interval is not None


def test_fewer_pairs_than_three_a_player_get_no_interval_once_relevances_are_fitted():
    assert says(Surrogate(60).solve(gloves()).interval_because, "relevance of 14")
    assert Surrogate(30).solve(gloves()).interval is not None  # 14 pairs: only the isotropic model is fitted
    assert Surrogate(100).solve(gloves()).interval is not None


def test_with_all_payoffs_affordable_the_value_is_exact():
    game = counted(gloves(8))
    values = Surrogate(256).solve(game)
    assert_allclose(values.credit, exact(gloves(8)), atol=1e-12)
    assert game.payoffs == 256 and all(claim.holds is Holds.EXACTLY for claim in values.claims)
    check_claims(values, game)


def test_a_dictator_among_many_is_found():
    values = Surrogate(120).solve(named(30, EDGES["dictator"]))
    assert_allclose(values.credit, np.eye(30)[0], atol=1e-4)


def test_is_close_to_the_exact_value_and_says_how_close():
    game = gloves()
    values = Surrogate(500, seed=3).solve(game)
    truth = exact(game)
    assert np.abs(values.credit - truth).max() < 0.05
    assert np.mean((values.interval[:, 0] <= truth) & (truth <= values.interval[:, 1])) > 0.7
    assert values.level == 0.95 and values.baseline == 0 and values.total == pytest.approx(4.1)


def test_a_seed_gives_the_same_numbers_and_leaves_global_state_alone():
    before = np.random.get_state()[1].copy()
    one, two = Surrogate(300, seed=5).solve(gloves()), Surrogate(300, seed=5).solve(gloves())
    assert one == two and not np.array_equal(one.credit, Surrogate(300, seed=6).solve(gloves()).credit)
    assert np.array_equal(before, np.random.get_state()[1])


def test_results_survive_json():
    values = Surrogate(60).solve(gloves())
    assert Attribution.from_json(values.to_json()) == values
    assert json.loads(values.to_json())["certificate"]["weights"]


def test_pairs_beyond_those_fitted_correct_the_estimate():
    """With a small limit on fitted pairs the error falls as pairs are added that are not fitted, and the interval with it."""
    found = []
    for pairs in (60, 499):
        rng = np.random.default_rng(0)
        asked = ask_pairs(gloves(), None, pairs, rng)
        found.append(estimate(asked, 0.05, False, 60, rng))
    assert [finding.certificate["pairs fitted"] for finding in found] == [60, 60]
    assert found[1].credit.sum() == pytest.approx(4.1, abs=1e-12)
    assert found[1].stderr.mean() < found[0].stderr.mean() / 2
    first, second = (np.mean((finding.credit - exact(gloves())) ** 2) for finding in found)
    assert second < first / 2


def test_the_debiased_centre_adds_the_regression_of_residuals():
    stacked, debiased = (Surrogate(250, centre=centre).solve(gloves()) for centre in ("stacked", "debiased"))
    assert not np.allclose(stacked.credit, debiased.credit, rtol=0, atol=1e-12)
    assert_allclose(stacked.credit, debiased.credit, atol=0.1)
    assert abs(debiased.unshared) < 1e-12


def test_a_linear_surrogate_without_penalty_is_leverage_regression():
    rng = np.random.default_rng(0)
    design = grow(empty_design(9), 60, rng)
    game = gloves(9)
    ends = game.payoff(np.array([[False] * 9, [True] * 9]))
    asked = PairedPayoffs(float(ends[0]), float(ends[1]), design, game.payoff(design.pairs), game.payoff(~design.pairs))
    linear = posterior(Mixture((Walsh(1),), (1e7,)), _sample(design, asked.uneven))
    assert_allclose(linear.credit(), Regression(design).apply(asked.uneven), atol=1e-5)


def test_both_operators_read_an_additive_game_off_all_pairs():
    design = grow(empty_design(6), 31, np.random.default_rng(0))
    shares = np.array([1.0, -2, 3, 0.5, -1, -1.5])
    odd = (design.pairs - 0.5) @ shares
    for linear in (AllPairs(design), Regression(design)):
        assert_allclose(linear.apply(odd), shares, atol=1e-12)
        one = np.eye(31)[4]
        assert_allclose(linear.apply_squared(one), linear.apply(one) ** 2, atol=1e-14)
        assert linear.reach[4] == pytest.approx((linear.apply(one) ** 2).sum())


def test_degrees_of_freedom_count_the_pairs_that_carry_the_error():
    design = grow(empty_design(12), 400, np.random.default_rng(0))
    linear, open_ = Regression(design), design.inclusion < 1
    even = np.where(open_, 1 / np.sqrt(np.maximum(linear.reach * (1 - design.inclusion), 1e-300)), 0.0)
    assert t_multiple(linear, design, even, 0.05) == pytest.approx(student.ppf(0.975, 400 - 12))
    few = even * np.isin(np.arange(400), np.flatnonzero(open_)[:4])
    assert t_multiple(linear, design, few, 0.05) == pytest.approx(student.ppf(0.975, 3 * 4))
    assert t_multiple(linear, design, even * 0, 0.05) == pytest.approx(student.ppf(0.975, 400 - 12))


def test_a_correction_is_trusted_as_far_as_it_exceeds_its_noise():
    design = grow(empty_design(12), 400, np.random.default_rng(0))
    linear, noise = Regression(design), np.random.default_rng(1).normal(size=400)
    variance = float(linear.apply_squared((1 - design.inclusion) * noise**2).sum())
    direction = np.eye(12)[0] - np.eye(12)[1]
    assert trust(linear, design, direction * np.sqrt(variance / 4), noise) == 0  # half of its variance
    assert trust(linear, design, direction * np.sqrt(variance * 2), noise) == pytest.approx(0.75)
    assert trust(linear, design, 0 * direction, noise) == 0


def test_regression_solves_the_weighted_least_squares_problem():
    design = grow(empty_design(9), 60, np.random.default_rng(1))
    load = np.random.default_rng(2).normal(size=60)
    z = design.pairs - design.sizes[:, None] / 9
    root = np.sqrt(design.weights)
    expected = np.linalg.lstsq(z * root[:, None], load * root, rcond=1e-9)[0]
    assert_allclose(Regression(design).apply(load), expected, atol=1e-12)


# --- stopping ---------------------------------------------------------------------------------------------------------


def test_stops_at_a_half_width_and_says_so():
    game = counted(gloves(16))
    values = Surrogate(half_width=0.2).solve(game)
    assert values.interval is not None and np.diff(values.interval, axis=1).max() <= 0.4 + 1e-12
    assert "half-width" in values.stopped and game.payoffs == values.payoffs < 1 << 14


def test_a_look_at_half_width_asks_one_batch_and_never_repeats_a_coalition():
    seen: list[bytes] = []

    def payoff(s):
        seen.extend(np.packbits(row).tobytes() for row in s)
        return np.minimum(s[:, :5].sum(axis=1), s[:, 5:].sum(axis=1)).astype(float)

    values = Surrogate(half_width=0.15).solve(named(16, payoff))
    assert len(seen) == len(set(seen)) == values.payoffs


def test_repeated_looks_spend_the_error():
    """The first look at 64 pairs grants δ/2, so its interval is wider than that of a single look at the same pairs."""
    narrow = Surrogate(130, seed=1).solve(gloves(16))
    wide = Surrogate(130, seed=1, half_width=1e3).solve(gloves(16))
    assert_allclose(narrow.credit, wide.credit)
    assert np.all(np.diff(wide.interval, axis=1) > 1.05 * np.diff(narrow.interval, axis=1))


def test_a_budget_ends_the_search_for_a_half_width():
    values = Surrogate(400, half_width=1e-9).solve(gloves(16))
    assert values.payoffs <= 400 and says(values.stopped, "half-width was reached")


def test_a_game_without_visible_variation_is_not_asked_for_ever():
    values = Surrogate(half_width=0.1).solve(named(30, EDGES["additive"]))
    assert values.payoffs == 2 + 2 * 512 and values.interval is None and says(values.stopped, "no half-width can")
    assert_allclose(values.credit, np.arange(1.0, 31), atol=1e-9)


def test_growing_to_every_coalition_is_exact():
    game = named(8, lambda s: np.random.default_rng(1).normal(size=256)[s @ (1 << np.arange(8))])
    values = Surrogate(half_width=1e-12).solve(game)
    assert values.payoffs == 256 and reads(values.stopped) and values.interval is None
    assert_allclose(values.credit, exact(game), atol=1e-12)
    check_claims(values, game)


@pytest.mark.slow
def test_seconds_end_a_run_of_slow_payoffs():
    import time

    def slow(s):
        time.sleep(0.002 * len(s))
        return s[:, 0] * s[:, 1] + 0.1 * s.sum(axis=1) ** 1.5

    values = Surrogate(seconds=0.6).solve(named(16, slow))
    assert "seconds" in values.stopped and 18 <= values.payoffs < 2000


def test_seconds_buy_all_payoffs_where_these_are_cheap():
    game = counted(gloves(10))
    values = Surrogate(seconds=60).solve(game)
    assert reads(values.stopped) and values.payoffs == game.payoffs == 1 << 10
    assert game.calls == 2  # one batch to see what a payoff costs, one for the rest
    assert_allclose(values.credit, exact(gloves(10)), atol=1e-12)
    check_claims(values, gloves(10))


@pytest.mark.parametrize("rate", [1.0, 100.0, 1e4, 1e6])
@pytest.mark.parametrize("left", [-1.0, 0.2, 3.0, 60.0])
@pytest.mark.parametrize("slowness", [1.0, 5.0])
def test_a_split_keeps_to_the_time_that_is_left(rate, left, slowness):
    have, most = 64, 50_000
    split = best_split(have, most, rate, left, slowness)
    assert have <= split.asked <= most and split.fitted in FITTED
    arithmetic = fit_seconds(min(split.fitted, split.asked), max(split.asked - split.fitted, 0))
    takes = (split.asked - have) / rate + slowness * arithmetic
    assert takes <= left + 1e-9 or split == type(split)(have, FITTED[0])  # nothing fits: stop, and fit little
    if left > 1 and slowness == 1:
        assert split.asked > have


def test_time_goes_into_pairs_where_payoffs_are_cheap_and_into_the_fit_where_they_are_dear():
    cheap, dear = (best_split(64, 10**6, rate, 1.0, 1.0) for rate in (1e5, 200.0))
    assert cheap.fitted < 1000 < 10_000 < cheap.asked
    assert dear.fitted > 0.9 * dear.asked  # nearly every pair is fitted


def test_seconds_and_a_budget_stop_at_whichever_comes_first():
    values = Surrogate(500, seconds=60).solve(gloves(12))
    assert values.payoffs == 500 and reads(values.stopped)
    assert values.certificate["pairs fitted"] == values.certificate["pairs"] == 249


def test_a_budget_that_leaves_no_time_to_fit_all_its_pairs_says_so(monkeypatch):
    busy = Trial(pairs=64, slowness=300.0, gain=20.0)
    monkeypatch.setattr(Surrogate, "_trial", lambda self, asked: busy)
    values = Surrogate(1000, seconds=5).solve(gloves(16))
    assert values.payoffs == 1000 and values.certificate["pairs fitted"] == 250
    assert reads(values.stopped)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings_", "word"),
    [
        ({}, "budget=1000"),
        ({"budget": 0}, "budget"),
        ({"budget": 1}, "at least 2"),
        ({"budget": "many"}, "whole number"),
        ({"budget": 100, "seed": -1}, "seed"),
        ({"budget": 100, "level": 1.0}, "level"),
        ({"budget": 100, "half_width": -1}, "half_width"),
        ({"budget": 100, "centre": "left"}, "centre"),
    ],
)
def test_bad_settings_are_refused_with_what_works(settings_, word):
    with pytest.raises(InvalidInput, match=word):
        Surrogate(**settings_)


def test_a_payoff_that_is_not_a_number_is_refused():
    with pytest.raises(BadPayoff):
        Surrogate(50).solve(named(10, lambda s: np.where(s[:, 0], np.nan, 1.0)))


# --- any game ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(games(most=8), st.integers(2, 130), st.integers(0, 100))
def test_any_game_is_shared_completely_within_budget(game, budget, seed):
    plain = counted(FunctionGame(game.players, game.payoff))
    values = Surrogate(budget, seed=seed).solve(plain)
    scale = np.abs(game.table).max()
    assert plain.payoffs <= max(budget, 2) and abs(values.unshared) <= 1e-9 * scale
    check_claims(values, TableGame(game.players, game.table))


@pytest.mark.slow
def test_ten_thousand_players_fit():
    weights = np.random.default_rng(0).random(10_000)
    values = Surrogate(60).solve(named(10_000, lambda s: np.sqrt(s @ weights)))
    assert np.all(np.isfinite(values.credit)) and abs(values.unshared) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_to_the_last_digits_claims_no_more_than_was_verified(seed):
    """The kernels hold this game, so left-out residuals are near rounding while credits are off by 1e-8."""
    game = named(10, lambda s: s[:, :4].all(axis=1))
    values = Surrogate(400, seed=seed).solve(game)
    check_claims(values, game)
    assert values.stderr.min() >= 4e-7 * values.credit.max()
    assert (np.abs(values.credit - np.repeat([0.25, 0.0], [4, 6])) <= np.diff(values.interval)[:, 0] / 2).all()
