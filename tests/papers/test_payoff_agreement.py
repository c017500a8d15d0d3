"""What a payoff changes, and what it cannot change."""

import numpy as np
import pytest

from accredit.errors import InvalidInput
from accredit.games import FunctionGame, TableGame
from accredit.values import shapley
from accredit_papers.payoff_agreement import CARRIES_OVER, payoff_moves
from tests.random_games import random_games


def test_a_monotone_transform_keeps_null_and_equal_players_but_not_linearity():
    for game in random_games(4, count=3, seed=0):
        v = game.table - game.table[0]
        v = v[np.arange(16) & ~1]  # the first player never matters
        swapped = np.array([s & ~6 | (s >> 1 & 1) << 2 | (s >> 2 & 1) << 1 for s in range(16)])
        v = (v + v[swapped]) / 2  # the second and the third are equal
        for f in (np.tanh, np.cbrt, lambda x: np.expm1(x)):
            credit = shapley(TableGame(game.players, f(v))).credit
            assert credit[0] == pytest.approx(0, abs=1e-12) and credit[1] == pytest.approx(credit[2])
        both = shapley(TableGame(game.players, np.tanh(v + v))).credit
        assert np.abs(both - 2 * shapley(TableGame(game.players, np.tanh(v))).credit).max() > 1e-3
    assert CARRIES_OVER["linearity"].startswith("no")


def test_signs_of_single_gains_survive_but_signs_of_credit_may_not():
    """A game in which the credit of a changes its sign under an increasing transform."""
    v = np.array([0, 1.0, 10.0, 9.9])  # a adds 1 alone, and takes 0.1 beside b
    moved = payoff_moves({"plain": TableGame("ab", v), "steep": TableGame("ab", v**9)})
    assert moved.credit["plain"]["a"] > 0 > moved.credit["steep"]["a"]
    assert moved.signs[0, 1] == 0.5 and moved.first == ("b", "b")


def test_games_with_other_players_are_refused():
    with pytest.raises(InvalidInput, match="share their players"):
        payoff_moves({"x": FunctionGame("ab", len), "y": FunctionGame("abc", len)})
