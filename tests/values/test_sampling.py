"""What every sampled value must keep. A new estimator joins ESTIMATORS and inherits every check."""

import time
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom
from scipy.stats import t as student

from accredit.core import Attribution, Holds, Known
from accredit.errors import BadPayoff, InvalidInput
from accredit.evaluate import check_claims
from accredit.games import FunctionGame, TableGame, counted
from accredit.games.wrappers import watch
from accredit.values import sampling
from accredit.values.averages import SampledBanzhaf, SampledBeta, SampledSemivalue
from accredit.values.differences import Differences, DifferencesHint
from accredit.values.orders import Antithetic, Permutations
from accredit.values.regression import KernelShap, Leverage
from accredit.values.semivalues import banzhaf_weights, beta_weights, semivalue_from_table, shapley_weights
from tests.values.sampling_games import members, names, runway, runway_shapley, voting
from tests.wording import reads, refused


def lopsided_weights(n):
    """A semivalue that is neither Shapley nor Banzhaf nor Beta."""
    law = np.linspace(1, 3, n) / np.linspace(1, 3, n).sum()
    return law / np.array([comb(n - 1, k) for k in range(n)])


def lopsided(n):
    return lambda **limits: SampledSemivalue(tuple(lopsided_weights(n)), **limits)


ESTIMATORS = {  # name -> (solver for n players, weights of the value it estimates)
    "Permutations": (lambda n: Permutations, shapley_weights),
    "Antithetic": (lambda n: Antithetic, shapley_weights),
    "DifferencesHint": (lambda n: DifferencesHint, shapley_weights),
    "Differences": (lambda n: Differences, shapley_weights),
    "KernelShap": (lambda n: KernelShap, shapley_weights),
    "Leverage": (lambda n: Leverage, shapley_weights),
    "SampledBanzhaf": (lambda n: SampledBanzhaf, banzhaf_weights),
    "SampledBeta": (lambda n: lambda **limits: SampledBeta(4, 1, **limits), lambda n: beta_weights(n, 4, 1)),
    "SampledSemivalue": (lopsided, lopsided_weights),
}
WITH_INTERVAL = [name for name in ESTIMATORS if name not in ("KernelShap", "Leverage")]
UNBIASED = [name for name in WITH_INTERVAL if name != "DifferencesHint"]
EFFICIENT = ["Permutations", "Antithetic", "DifferencesHint", "Differences", "KernelShap", "Leverage"]


def estimator(name, n, **limits):
    return ESTIMATORS[name][0](n)(**limits)


def truth(name, game):
    return semivalue_from_table(game.table, ESTIMATORS[name][1](len(game.players)))


def game_with_equal_and_null_players(n=6, seed=0):
    """Players 0 and 1 are equal, the last is null, v(∅) = 2, the rest is random."""
    rng, x = np.random.default_rng(seed), members(n)
    pattern = np.column_stack([x[:, 0].astype(int) + x[:, 1], x[:, 2 : n - 1]])
    _, index = np.unique(pattern, axis=0, return_inverse=True)
    table = rng.normal(size=index.max() + 1)[index.ravel()]
    return TableGame(names(n), table - table[0] + 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_claim_is_kept(name):
    for seed in range(10):  # false alarms: check_claims allows 8 standard errors of at least 24 draws
        for game in (game_with_equal_and_null_players(seed=seed), voting(6, seed), voting(5, seed)):
            solver = estimator(name, len(game.players), budget=260, seed=seed)
            check_claims(solver.solve(game), game, solver.solve)


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
@given(
    payoffs=st.lists(st.floats(-1e6, 1e6), min_size=32, max_size=32),
    budget=st.integers(14, 70),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=25, deadline=None)
def test_exact_claims_hold_on_any_game(name, payoffs, budget, seed):
    game = TableGame(names(5), payoffs)
    try:
        found = estimator(name, 5, budget=budget, seed=seed).solve(game)
    except (InvalidInput, ArithmeticError) as refused:  # too few payoffs to tell the players apart
        assert "budget" in str(refused)
        return
    except BadPayoff as refused:  # differences whose squares are no numbers any more
        assert 0 < np.ptp(payoffs) < 1e-140 and "multiply them" in str(refused)
        return
    scale = np.abs(game.table).max()
    assert found.payoffs <= budget
    assert found.baseline == game.table[0]
    assert (found.claim("efficiency").holds is Holds.EXACTLY) == (name in EFFICIENT)
    if name in EFFICIENT:
        assert abs(found.unshared) <= 1e-9 * scale
    assert Attribution.from_json(found.to_json()) == found


@pytest.mark.slow
@pytest.mark.parametrize("name", UNBIASED)
def test_claims_in_expectation_are_means_over_seeds(name):
    """False alarms: 6 estimators × 2 games × 6 players at a two-sided level of 1e-8 each, so 7e-7 in all."""
    for game in (game_with_equal_and_null_players(), voting(6, 1)):
        runs = np.array([estimator(name, 6, budget=62, seed=seed).solve(game).credit for seed in range(300)])
        assert estimator(name, 6, budget=62).solve(game).claim("symmetry").holds is Holds.IN_EXPECTATION
        stderr = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
        allowed = student.isf(0.5e-8, len(runs) - 1) * stderr + 1e-12
        assert (np.abs(runs.mean(axis=0) - truth(name, game)) <= allowed).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["KernelShap", "Leverage"])
def test_regression_treats_equal_players_alike_in_expectation(name):
    """False alarms: 2 estimators × 2 pairs of players at 1e-8 each."""
    for n in (6, 7):
        game = game_with_equal_and_null_players(n)
        runs = np.array([estimator(name, n, budget=30, seed=seed).solve(game).credit for seed in range(300)])
        apart = runs[:, 0] - runs[:, 1]
        assert apart.std() > 0
        assert abs(apart.mean()) <= student.isf(0.5e-8, len(apart) - 1) * apart.std(ddof=1) / np.sqrt(len(apart))


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_errors_shrink_with_the_budget(name):
    """In the limit: 64 times the payoffs, at least 10 times smaller mean squares (64 expected for independent draws)."""
    game = game_with_equal_and_null_players(7)
    n, exact = 7, truth(name, game)
    errors = [
        np.mean([(estimator(name, n, budget=b, seed=s).solve(game).credit - exact) ** 2 for s in range(20)])
        for b in (100, 6400)
    ]
    assert errors[1] < errors[0] / 10


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("budget", [16, 17, 33, 100, 255])
def test_payoffs_are_counted_exactly_and_never_exceed_the_budget(name, budget):
    game = counted(voting(7, 3))
    try:
        found = estimator(name, 7, budget=budget, seed=4).solve(game)
    except (InvalidInput, ArithmeticError) as refused:
        assert "budget" in str(refused)
        assert budget < 40
        return
    assert found.payoffs == game.payoffs <= budget
    assert str(budget) in found.stopped or name in ("KernelShap", "Leverage")
    assert game.calls <= 8  # batched, the hint in a few rounds


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_seed_gives_the_same_numbers_and_leaves_global_state_alone(name):
    game = voting(9, 1)
    before = np.random.get_state()[1].copy()
    runs = [estimator(name, 9, budget=200, seed=seed).solve(game) for seed in (7, 7, 8)]
    assert runs[0] == runs[1]
    assert (runs[0].credit != runs[2].credit).any()
    assert (np.random.get_state()[1] == before).all()


@pytest.mark.parametrize("name", WITH_INTERVAL)
def test_numbers_do_not_depend_on_how_draws_are_batched(name, monkeypatch):
    game = counted(voting(9, 1))
    whole = estimator(name, 9, budget=600, seed=7).solve(game)
    calls = game.calls
    monkeypatch.setattr(sampling, "BATCH_BYTES", 2000)
    pieces = estimator(name, 9, budget=600, seed=7).solve(game)
    assert game.calls > 2 * calls
    assert_allclose(pieces.credit, whole.credit, atol=1e-12)
    assert_allclose(pieces.interval, whole.interval, atol=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_and_two_players(name):
    one = estimator(name, 1, budget=20).solve(TableGame("a", [3, 10]))
    assert (one.credit[0], one.baseline, one.payoffs) == (7, 3, 2)
    assert one.exact and one.estimate("a").ends == (7, 7)
    cookies = TableGame(("alice", "bob"), [1, 6, 4, 11])
    two = estimator(name, 2, budget=402).solve(cookies)
    if name in ("Permutations", "Antithetic"):
        assert abs(two.credit - truth(name, cookies)).max() <= 8 * two.stderr.max()
        return
    assert_allclose(two.credit, truth(name, cookies))
    assert two.exact and two.interval is None and two.stderr is None  # all four coalitions are known
    assert two.payoffs == 4


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_constant_game_gives_nothing_and_no_interval(name):
    game = FunctionGame(names(9), lambda coalitions: np.full(len(coalitions), 5.0))
    found = estimator(name, 9, budget=500).solve(game)
    assert_allclose(found.credit, 0, atol=1e-12)
    assert found.baseline == 5
    assert found.interval is None
    assert found.interval_because.startswith("no interval: ") and found.precision.known is Known.UNKNOWN


@pytest.mark.parametrize("name", WITH_INTERVAL)
def test_a_constant_game_ends_when_only_a_half_width_is_given(name):
    game = FunctionGame(names(8), lambda coalitions: np.full(len(coalitions), 5.0))
    assert "no scale" in estimator(name, 8, half_width=0.1).solve(game).stopped


@pytest.mark.parametrize("constant", [4.0, 2.0**40])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_adding_a_constant_changes_the_baseline_only(name, constant):
    """Votes are 0 or 1, so both sums are exact: what a large constant could cost is the estimator's own rounding."""
    game = voting(7, 2)
    plain = estimator(name, 7, budget=300, seed=1).solve(game)
    lifted = estimator(name, 7, budget=300, seed=1).solve(TableGame(names(7), game.table + constant))
    assert_allclose(lifted.credit, plain.credit, atol=1e-12)
    assert lifted.baseline == plain.baseline + constant
    if plain.interval is not None:
        assert_allclose(lifted.interval, plain.interval, atol=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_additive_games_come_out_exactly_but_not_as_certain(name):
    weights = np.array([0.0, 1, -2, 3, 0.5, 8, 0, 1])
    game = TableGame(names(8), members(8) @ weights + 2)
    found = estimator(name, 8, budget=200).solve(game)
    assert_allclose(found.credit, weights, atol=1e-9)
    if found.interval is not None:
        assert (found.interval[:, 1] - found.interval[:, 0] > 1e-3).all()  # "nothing else seen" is not "nothing else"


@pytest.mark.slow
@pytest.mark.parametrize("name", EFFICIENT)
def test_two_hundred_players_with_a_closed_form(name):
    cost = np.sort(np.random.default_rng(0).exponential(1, 200))
    found = estimator(name, 200, budget=8000, seed=1).solve(runway(cost))
    exact = runway_shapley(cost)
    assert abs(found.unshared) < 1e-9
    assert np.sqrt(np.mean((found.credit - exact) ** 2)) < 0.45 * exact.std()
    if found.interval is not None:
        assert ((found.interval[:, 0] <= exact) & (exact <= found.interval[:, 1])).mean() > 0.8


def test_semivalues_of_two_hundred_voters():
    """Banzhaf of an equal-vote majority is C(199, 100)/2¹⁹⁹; 8 standard errors allowed."""
    majority = FunctionGame(names(200), lambda coalitions: coalitions.sum(axis=1) > 100)
    found = SampledBanzhaf(budget=4002).solve(majority)
    pivotal = np.exp(np.log(np.arange(1, 200)).sum() - np.log(np.arange(1, 101)).sum() - np.log(np.arange(1, 100)).sum())
    assert (np.abs(found.credit - pivotal / 2.0**199) <= 8 * found.stderr).all()


@pytest.mark.parametrize("name", WITH_INTERVAL)
def test_stops_at_a_half_width(name):
    found = estimator(name, 8, half_width=0.1, seed=3).solve(voting(8, 3))
    assert ((found.interval[:, 1] - found.interval[:, 0]) / 2 <= 0.1).all()
    assert "±0.1 at look" in found.stopped
    assert "each look" in found.interval_because
    assert found.claim("linearity").holds is Holds.IN_THE_LIMIT
    capped = estimator(name, 8, half_width=1e-6, budget=1500, seed=3).solve(voting(8, 3))
    assert "budget" in capped.stopped
    assert capped.payoffs <= 1500
    fixed = estimator(name, 8, budget=1500, seed=3).solve(voting(8, 3))
    assert_allclose(capped.credit, fixed.credit, atol=1e-12)
    assert (np.diff(capped.interval) > np.diff(fixed.interval)).all()  # repeated looks cost width


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_stops_by_the_clock(name):
    """Where a budget is needed, every call takes a quarter of the time, so that no machine is quick enough to spend it."""
    game, limits = runway(np.arange(20.0)), {}
    if name in ("KernelShap", "Leverage"):
        game, limits = watch(game, lambda count: time.sleep(0.005)), {"budget": 400_000}
    found = estimator(name, 20, seconds=0.02, **limits).solve(game)
    assert reads(found.stopped)
    assert found.payoffs > 2
    assert found.claim("linearity").holds is Holds.IN_THE_LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WITH_INTERVAL if name != "DifferencesHint"])
def test_certified_intervals_hold_and_are_wider(name):
    """At level 0.999 a run of 6 players has a miss with a chance of at most 0.006; over 10 such runs of 200: below 1e-6."""
    game = voting(6, 1)
    exact = truth(name, game)
    runs_with_a_miss = 0
    for seed in range(200):
        found = estimator(name, 6, budget=402, seed=seed, certify=True, payoff_range=(0, 1), level=0.999).solve(game)
        runs_with_a_miss += bool(((found.interval[:, 0] > exact) | (exact > found.interval[:, 1])).any())
    assert binom.sf(10, 200, 0.006) < 1e-6
    assert runs_with_a_miss <= 10
    assert "Bernstein" in found.interval_because
    plain = estimator(name, 6, budget=402, seed=seed, level=0.999).solve(game)
    assert (np.diff(found.interval) > np.diff(plain.interval)).all()


@pytest.mark.parametrize("name", WITH_INTERVAL)
def test_simultaneous_intervals_are_wider_and_say_so(name):
    one, all_ = (estimator(name, 7, budget=900, simultaneous=joint).solve(voting(7, 3)) for joint in (False, True))
    assert (np.diff(all_.interval) > np.diff(one.interval)).all()
    assert "simultaneous" in all_.interval_because


@pytest.mark.parametrize("name", WITH_INTERVAL)
def test_a_payoff_outside_the_declared_range_is_refused(name):
    with refused("range", kind=BadPayoff):
        estimator(name, 7, budget=400, payoff_range=(0, 0.5)).solve(voting(7, 3))


@pytest.mark.parametrize("name", WITH_INTERVAL)
@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"budget": 0}, "budget must be"),
        ({"budget": 2.5}, "budget must be a whole number"),
        ({"budget": 100, "seconds": -1}, "seconds must be positive"),
        ({"budget": 100, "half_width": 0}, "half_width must be positive"),
        ({"budget": 100, "level": 1.5}, "level must lie"),
        ({"budget": 100, "level": "high"}, "level must be one number, got 'high'"),
        ({"budget": 100, "seconds": "ten"}, "seconds must be one number, got 'ten'"),
        ({"budget": 100, "seed": -1}, "seed must be"),
        ({"budget": 100, "certify": True}, "certify=True"),
        ({"budget": 100, "payoff_range": (1, 0)}, "low < high"),
        ({"budget": 100, "payoff_range": 3}, r"must be \(low, high\)"),
        ({}, "no stopping rule"),
    ],
)
def test_bad_settings_are_refused(name, limits, message):
    with pytest.raises(InvalidInput, match=message):
        estimator(name, 7, **limits)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_budget_below_one_draw_names_the_one_that_works(name):
    with refused("range", "budget"):
        estimator(name, 30, budget=3).solve(FunctionGame(names(30), lambda coalitions: coalitions.sum(axis=1)))


def test_the_method_can_be_run_again_from_its_name():
    found = Permutations(orders=40, seed=5, level=0.9).solve(voting(5, 1))
    assert str(found.method) == "shapley/Permutations(level=0.9, orders=40, seed=5)"
    assert found.method.solver == "Permutations"
    again = Permutations(**found.method.settings).solve(voting(5, 1))
    assert again == found
