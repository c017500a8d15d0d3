import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.games import FunctionGame, TableGame, restricted
from accredit.values import (
    banzhaf,
    banzhaf_interactions,
    best_subsets,
    mobius,
    shapley,
    shapley_interactions,
    value_given,
)
from tests.random_games import games, random_games

DATA_SETS = TableGame("ABC", [0, 50, 20, 75, 25, 80, 90, 100])


def test_data_sets():
    pairs = shapley_interactions(DATA_SETS)
    assert (pairs["A", "B"], pairs["A", "C"], pairs["B", "C"]) == (-20, -20, 20)
    assert pairs["C", "B"] == 20  # order does not matter
    assert value_given(DATA_SETS, "C", ["A"]) == 30 and value_given(DATA_SETS, "C", ["B"]) == 70
    assert best_subsets(DATA_SETS) == {
        0: ((), 0.0),
        1: (("A",), 50.0),
        2: (("B", "C"), 90.0),
        3: (("A", "B", "C"), 100.0),
    }


@given(games(most=5))
@settings(deadline=None)
def test_dividends_rebuild_every_payoff(game):
    m = mobius(game)
    for row in range(game.table.size):
        inside = [x for who, x in m if all(row >> game.players.index(p) & 1 for p in who)]
        assert sum(inside) == pytest.approx(game.table[row], abs=1e-9 * max(1, np.abs(game.table).max()))


@pytest.mark.slow
@given(games(most=6))
@settings(deadline=None)
def test_order_one_is_the_value_itself(game):
    scale = max(1.0, np.abs(game.table).max())
    assert_allclose([x for _, x in shapley_interactions(game, 1)], shapley(game).credit, atol=1e-9 * scale)
    assert_allclose([x for _, x in banzhaf_interactions(game, 1)], banzhaf(game).credit, atol=1e-9 * scale)


@pytest.mark.parametrize(("index", "value"), [(shapley_interactions, shapley), (banzhaf_interactions, banzhaf)])
def test_pairs_are_the_value_of_i_with_j_minus_without(index, value):
    """I(ij) = φ_i of the game where j always plays − φ_i of the game without j."""
    for game in random_games(players=5, count=3, seed=1):
        others = [p for p in game.players if p != "b"]
        with_b, without = restricted(game, others, given=["b"]), restricted(game, others)
        assert index(game)["a", "b"] == pytest.approx(value(with_b)["a"] - value(without)["a"], abs=1e-12)


def test_triples_by_recursion():
    for game in random_games(players=5, count=3, seed=2):
        others = [p for p in game.players if p != "c"]
        with_c, without = restricted(game, others, given=["c"]), restricted(game, others)
        expected = shapley_interactions(with_c)["a", "b"] - shapley_interactions(without)["a", "b"]
        assert shapley_interactions(game, 3)["a", "b", "c"] == pytest.approx(expected, abs=1e-12)


def test_additive_games_have_no_interactions():
    game = FunctionGame("abcd", lambda c: c @ [1.0, -2.0, 3.0, 0.5])
    assert max(abs(x) for _, x in shapley_interactions(game)) < 1e-12
    assert_allclose(shapley_interactions(game).matrix(), np.zeros((4, 4)), atol=1e-12)


def test_bad_questions_are_named():
    with pytest.raises(InvalidInput, match="order"):
        shapley_interactions(DATA_SETS, 4)
    with pytest.raises(InvalidInput, match="order"):
        shapley_interactions(DATA_SETS, 0)
    with pytest.raises(InvalidInput, match="sizes computed"):
        shapley_interactions(DATA_SETS)["A", "B", "C"]
    with pytest.raises(InvalidInput, match="unknown player"):
        value_given(DATA_SETS, "D")
    with pytest.raises(InvalidInput, match="also in given"):
        value_given(DATA_SETS, "A", ["A", "B"])
