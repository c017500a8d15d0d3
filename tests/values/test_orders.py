import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from accredit.games import TableGame, counted
from accredit.values.intervals import Moments
from accredit.values.orders import Antithetic, Permutations, gains_on_arrival, random_places
from accredit.values.sampling import Ledger
from accredit.values.semivalues import shapley_from_table
from tests.values.sampling_games import KINDS, members, names, unanimity
from tests.wording import reads


def test_the_mean_gain_over_all_orders_is_the_shapley_value():
    game = TableGame(names(5), np.random.default_rng(0).normal(size=32))
    places = np.array(list(itertools.permutations(range(5))), dtype=np.int32)
    assert_allclose(gains_on_arrival(Ledger(game), places).mean(axis=0), shapley_from_table(game.table))


def test_gains_of_one_order_by_hand():
    cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    alice_first, bob_first = np.array([[0, 1], [1, 0]], dtype=np.int32)
    assert_array_equal(gains_on_arrival(Ledger(cookies), np.array([alice_first, bob_first])), [[5, 5], [7, 3]])


def test_places_are_uniform_over_orders():
    """χ² of 24 orders in 24,000 draws; the limit 90 has a chance of 1e-9 with 23 degrees of freedom."""
    places = random_places(np.random.default_rng(0), 24_000, 4)
    _, times = np.unique(places, axis=0, return_counts=True)
    assert len(times) == 24
    assert ((times - 1000) ** 2 / 1000).sum() < 90


def test_orders_are_counted():
    game = counted(unanimity())
    found = Permutations(37, 2).solve(game)
    assert found.payoffs == game.payoffs == 2 + 37 * 11
    assert game.calls == 2
    assert reads(found.stopped)
    both = Antithetic(orders=37).solve(unanimity())
    assert both.payoffs == 2 + 38 * 11
    earlier = Permutations(orders=37, budget=100).solve(unanimity())
    assert earlier.payoffs == 2 + 8 * 11
    assert "budget of 100" in earlier.stopped


def test_orders_and_budget_give_the_same_estimate():
    game = unanimity()
    by_orders, by_budget = Permutations(orders=40, seed=3).solve(game), Permutations(budget=445, seed=3).solve(game)
    assert by_orders.credit.tolist() == by_budget.credit.tolist()


def test_a_null_player_gets_exactly_nothing_but_is_not_called_certain():
    x = members(8)
    game = TableGame(names(8), (x[:, :7].sum(axis=1) > 3).astype(float))
    found = Permutations(orders=100).solve(game)
    assert found.credit[7] == 0 == found.stderr[7]
    low, high = found.interval[7]
    assert_allclose([-low, high], 1 - 0.05 ** (1 / 100), rtol=1e-12)  # rule of three × the largest gain seen, 1


def test_antithetic_is_exact_for_squares_of_the_size():
    weights = np.random.default_rng(0).normal(size=7)
    squares = TableGame(names(7), (members(7) @ weights) ** 2)
    assert_allclose(Antithetic(orders=2, seed=5).solve(squares).credit, shapley_from_table(squares.table), atol=1e-12)


def test_few_orders_have_no_interval():
    found = Permutations(orders=19).solve(unanimity())
    assert found.interval is None
    assert "too few" in found.interval_because
    assert found.stderr is not None
    single = Permutations(orders=1).solve(unanimity())
    assert single.stderr is None


@pytest.mark.slow
@pytest.mark.parametrize("solver", [Permutations(budget=250), Permutations(budget=1000), Antithetic(budget=1000)], ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_at_least_their_level(solver, kind):
    """Mean coverage over players, runs as units: at least 0.93 but for 5.5 between-run standard errors (2e-8 a cell, 18 cells).

    Plain Student t intervals fall to 0.6 on voting games with 20 orders; the rule of three is what keeps these.
    """
    game = KINDS[kind]()
    exact = shapley_from_table(game.table)
    runs = [replace(solver, seed=seed).solve(game).interval for seed in range(120)]
    hits = np.array([((low <= exact) & (exact <= high)).mean() for low, high in (run.T for run in runs)])
    assert hits.mean() + 5.5 * hits.std(ddof=1) / np.sqrt(len(hits)) >= 0.93


def test_moments_in_pieces_are_moments_of_the_whole():
    scores = np.random.default_rng(0).normal(1e6, 1, size=(50, 3))
    moments = Moments(3)
    for piece in (scores[:1], scores[1:20], scores[20:]):
        moments.add(piece)
    assert_allclose(moments.mean, scores.mean(axis=0), rtol=1e-14)
    assert_allclose(moments.variance, scores.var(axis=0, ddof=1), rtol=1e-8)
    assert_array_equal(moments.high, scores.max(axis=0))
