"""Estimated interactions: unbiased, honest about their error, and exact where nothing is left to draw."""

from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, t

import accredit
from accredit import defaults
from accredit.core import Holds, Known
from accredit.errors import InvalidInput, TooManyPlayers
from accredit.games import FunctionGame, FunctionGames, counted
from accredit.values import CubeGame
from accredit.values import sampled_interactions as sampled_module
from accredit.values.indices import INDICES
from accredit.values.pairs import Pairs
from accredit.values.sampled_interactions import Spread, coefficients, fold_controls, sampled_interactions
from accredit.values.sampling import Ledger
from tests.random_games import random_games
from tests.values.sampling_games import airport, net, text, unanimity
from tests.wording import refused


def noise(n):
    """Payoffs without any rule: a control that has seen the pairs it serves would learn them by heart."""
    return next(random_games(n, count=1, seed=9))


SAMPLED = [name for name in INDICES if name != "mobius"]
RUNS = 24
CELLS = [(make, name) for name in SAMPLED for make in (airport, text)] + [
    (unanimity, "sii"),
    (net, "sii"),
    (noise, "sii"),
]


def asked(game):
    """The game as a function, so that its table is not looked up."""
    return FunctionGame(game.players, game.payoff)


def numbers(found):
    return np.array([x for _, x in found])


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_coefficients_sorted_by_coalition_are_the_index(name, order):
    """I(T) = Σ_S c(|S|, |S ∩ T|) v(S), coalition by coalition."""
    for game in random_games(6, count=1, seed=order):
        for who, x in accredit.interactions(game, name, order):
            table = coefficients(INDICES[name], order, len(who), 6)
            mask = sum(1 << game.players.index(p) for p in who)
            sizes = [s.bit_count() for s in range(64)]
            parts = [table[k, (s & mask).bit_count()] / comb(6, k) * game.table[s] for s, k in enumerate(sizes)]
            assert sum(parts) == pytest.approx(x, abs=1e-12)


def test_coefficients_keep_their_digits_with_many_players():
    """For a pair of 200 players Σ|c| is small and known: p(s) = 1/((n−1)·C(n−2, s)) summed over S without i and j is 1."""
    table = coefficients(INDICES["sii"], 2, 2, 200)
    outside = [table[s, 0] * comb(198, s) / comb(200, s) for s in range(199)]
    assert sum(outside) == pytest.approx(1.0, abs=1e-12) and min(outside) > 0


@pytest.mark.parametrize("name", SAMPLED)
def test_nothing_is_left_to_draw_when_the_budget_covers_every_coalition(name):
    for game in random_games(6, count=2, seed=3):
        found = sampled_interactions(asked(game), INDICES[name], 2, 64, 0, 0.95)
        assert found.exact and found.payoffs == 64
        assert_allclose(numbers(found), numbers(accredit.interactions(game, name)), atol=1e-12)
        assert all(c.holds in (Holds.EXACTLY, Holds.NO) for c in found.claims)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "name"), CELLS)
def test_intervals_hold_the_truth_and_the_mean_has_no_bias(make, name):
    """Runs are the units. Coverage: the slack of a Student t over runs at a chance of 5e-8. Bias: the same for the runs' mean
    in up to 56 coalitions at 1e-10 each. 15 cells: false alarms below 1e-6."""
    game = make(10)
    truth = numbers(accredit.interactions(game, name))
    runs = [accredit.interactions(asked(game), name, budget=300, seed=seed) for seed in range(RUNS)]
    held = np.array([((r.interval[:, 0] <= truth) & (truth <= r.interval[:, 1])).mean() for r in runs])
    assert held.mean() + t.isf(5e-8, RUNS - 1) * held.std(ddof=1) / np.sqrt(RUNS) >= 0.95
    errors = np.array([numbers(r) for r in runs]) - truth
    spread = errors.std(axis=0, ddof=1) / np.sqrt(RUNS)
    rounding = 1e-9 * np.ptp(game.table)
    assert (np.abs(errors.mean(axis=0)) <= t.isf(5e-11, RUNS - 1) * spread + rounding).all()


def test_a_control_has_not_seen_the_pairs_it_serves():
    game = noise(9)
    pairs = Pairs(Spread.of(INDICES["sii"], 2, 9, 200), Ledger(game), 0)
    pairs.draw(60)
    sample, total = pairs.sample(), game.table[-1] - game.table[0]
    before = fold_controls(sample, total)
    sample.left[2::5] += 100.0
    after = fold_controls(sample, total)
    same = [np.array_equal(a.bends, b.bends) and np.array_equal(a.even, b.even) for a, b in zip(before, after, strict=True)]
    assert same == [False, False, True, False, False]


@pytest.mark.parametrize("name", ["k-sii", "stii", "fsii"])
def test_estimates_of_efficient_indices_add_up_exactly(name):
    for game in random_games(9, count=2, seed=5):
        found = accredit.interactions(asked(game), name, budget=150)
        assert found.claims[0].holds is Holds.EXACTLY and found.precision.known is Known.INTERVAL
        assert sum(x for who, x in found if who) == pytest.approx(game.table[-1] - game.table[0], abs=1e-10)
        assert found[()] == pytest.approx(game.table[0])


@pytest.mark.slow
def test_a_game_of_pairs_and_sizes_is_found_whole_and_the_rest_is_not_called_certain():
    rng = np.random.default_rng(0)
    bend = np.triu(rng.normal(size=(30, 30)), 1)
    game = FunctionGame([f"p{i}" for i in range(30)], lambda c: np.einsum("bi,ij,bj->b", c, bend, c) + np.sqrt(c.sum(axis=1)))
    found = accredit.shapley_interactions(game, budget=2000)
    shared = (np.sqrt(30) - np.sqrt(29) - 1) / 29  # what the root adds to each pair
    assert_allclose(found.matrix()[np.triu_indices(30, 1)], bend[np.triu_indices(30, 1)] + shared, atol=1e-5)
    assert "rule of three" in str(found.precision) and (np.ptp(found.interval, axis=1) > 0).all()


@pytest.mark.slow
def test_many_players_with_the_truth_known_from_cubes():
    """At 95 % of 435 pairs the widened intervals miss few; the runs' pairs are not independent, so only a gross failure is
    told: more than a third missed has a chance below 1e-6 even if groups of eight pairs miss together."""
    rng = np.random.default_rng(1)
    present = np.zeros((60, 30), dtype=bool)
    for row in present:
        row[rng.choice(30, rng.integers(3, 6), replace=False)] = True
    cubes = CubeGame([f"p{i}" for i in range(30)], rng.normal(size=60), present, np.zeros_like(present))
    truth, game = numbers(accredit.shapley_interactions(cubes)), counted(asked(cubes))
    found = accredit.shapley_interactions(game, budget=1500, seed=2)
    assert game.payoffs <= 1500 and found.payoffs == game.payoffs
    held = (found.interval[:, 0] <= truth) & (truth <= found.interval[:, 1])
    assert binom.sf(435 // 8 // 3, 435 // 8, 0.05) < 1e-6 and held.mean() > 2 / 3
    assert np.corrcoef(numbers(found), truth)[0, 1] > 0.5


def test_outputs_share_their_payoffs_and_repeat_to_the_last_bit():
    games = counted(
        FunctionGames([f"p{i}" for i in range(26)], ("a", "b"), lambda c: np.column_stack([c.sum(1) ** 2, c[:, 0] & c[:, 1]]))
    )
    both = accredit.shapley_interactions(games, budget=300, seed=4)
    assert games.payoffs == 300 and set(both) == {"a", "b"}
    alone = accredit.shapley_interactions(FunctionGame(games.players, lambda c: c[:, 0] & c[:, 1]), budget=300, seed=4)
    assert both["b"] == alone


def test_too_little_says_so():
    game = FunctionGame([f"p{i}" for i in range(26)], lambda c: c.sum(axis=1) ** 2.0)
    few = accredit.shapley_interactions(game, budget=20)
    assert few.interval is None and "too few" in str(few.precision)
    flat = accredit.shapley_interactions(FunctionGame(game.players, lambda c: c.sum(axis=1) * 0.0), budget=200)
    assert flat.interval is None and "no scale" in str(flat.precision)
    with pytest.raises(InvalidInput, match="budget=3"):
        accredit.shapley_interactions(game, budget=3)
    with refused("type", "budget"):
        accredit.shapley_interactions(game, budget=0.5)
    with pytest.raises(TooManyPlayers, match="lower order"):
        accredit.interactions(FunctionGame([str(i) for i in range(300)], lambda c: c.sum(axis=1)), "sii", 3, budget=100)


def test_messages_advise_the_call_that_answers_the_same_question():
    game = FunctionGame([f"p{i}" for i in range(30)], lambda c: c.sum(axis=1))
    with pytest.raises(TooManyPlayers, match=r"Write mobius\(game, order=2\)"):
        accredit.mobius(game)
    with pytest.raises(InvalidInput, match="at least budget=466"):
        accredit.interactions(game, "mobius", budget=100)


@pytest.mark.slow
def test_without_a_budget_many_players_are_estimated_from_the_default():
    for call in (
        accredit.shapley_interactions,
        accredit.banzhaf_interactions,
        lambda g: accredit.interactions(g, "fsii"),
    ):
        game = counted(FunctionGame([f"p{i}" for i in range(13)], lambda c: c[:, :2].all(axis=1)))
        found = call(game)
        assert game.payoffs <= defaults.BUDGET and not found.exact


def test_the_budget_is_never_exceeded():
    for budget in (5, 61, 100, 400):
        game = counted(FunctionGame([f"p{i}" for i in range(14)], lambda c: c[:, :3].all(axis=1)))
        accredit.interactions(game, "fbii", budget=budget)
        assert game.payoffs <= budget
    assert Spread.of(INDICES["sii"], 2, 14, 400).full[:2] == (0, 1)


def test_a_thousand_players_are_refused_before_anything_is_asked():
    game = counted(FunctionGame([f"p{i}" for i in range(1000)], lambda s: s.sum(axis=1) ** 0.5))
    with refused("too-many", "budget", TooManyPlayers):
        accredit.interactions(game)
    assert game.payoffs == 0


def test_the_budget_that_a_refusal_names_is_taken(monkeypatch):
    monkeypatch.setattr("accredit.values.sampled_interactions.MOST_SCORES", 40 * comb(20, 2))
    game = FunctionGame([f"p{i}" for i in range(20)], lambda s: s.sum(axis=1) ** 0.5)
    with refused("too-many", "budget", TooManyPlayers):
        accredit.interactions(game, "sii", budget=82)
    assert accredit.interactions(game, "sii", budget=80).payoffs <= 80


@pytest.mark.slow
def test_controls_are_fitted_to_so_many_pairs_and_no_more(monkeypatch):
    """The pairs beyond still count: their scores narrow the intervals."""
    monkeypatch.setattr("accredit.values.sampled_interactions.MOST_FITTED", 100)
    seen = []
    fitted = sampled_module.fit
    monkeypatch.setattr(sampled_module, "fit", lambda sample, total: (seen.append(len(sample)), fitted(sample, total))[1])
    game = asked(text())
    few, many = (accredit.interactions(game, "sii", budget=budget) for budget in (200, 2000))
    assert max(seen) == 100
    assert np.diff(many.interval).mean() < np.diff(few.interval).mean() / 2
    truth = numbers(accredit.interactions(text(), "sii"))
    assert ((many.interval[:, 0] <= truth) & (truth <= many.interval[:, 1])).mean() > 0.9
