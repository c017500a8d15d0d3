"""When leave-one-out is enough: the identity with dividends, the bound, and the rule."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.games import FunctionGame, TableGame, counted
from accredit.values import leave_one_out, leaving_out, mobius, shapley
from tests.random_games import random_games
from tests.wording import says


def test_the_error_is_made_of_dividends():
    """φ_i − LOO_i = −Σ_{S ∋ i} m(S)(1 − 1/|S|), and no larger than the bound."""
    for game in random_games(5, count=5, seed=0):
        found = leaving_out(game)
        sums = {p: -sum(m * (1 - 1 / len(who)) for who, m in mobius(game) if p in who) for p in game.players}
        assert_allclose(found.error, [sums[p] for p in game.players], atol=1e-12)
        assert (np.abs(found.error) <= found.bound + 1e-12).all()
        assert 0 < found.share_above < 1


def test_it_is_enough_where_nobody_interacts_and_not_where_players_replace_each_other():
    additive = FunctionGame("abc", lambda c: c @ [3.0, 1.0, -2.0])
    found = leaving_out(additive)
    assert found.enough is True and found.same_order and found.share_above == pytest.approx(0, abs=1e-12)
    assert found.missing == pytest.approx(0) and found.lonely == pytest.approx(0)
    spare = leaving_out(TableGame("abc", [0, 1, 1, 1, 0.1, 1.1, 1.1, 1.1]))
    assert spare.enough is False and says(spare.because, "not enough here")


def test_many_players_are_judged_by_estimates_and_may_stay_open():
    game = counted(FunctionGame(range(16), lambda c: c @ np.arange(1.0, 17.0) + 0.3 * np.sin(7.0 * (c @ np.arange(2.0, 18.0)))))
    found = leaving_out(game, budget=300)
    assert found.bound is None and found.share_above is None and game.payoffs <= 300 + 16 + 18
    assert found.enough is True
    noisy = leaving_out(FunctionGame(range(16), lambda c: np.sin(1e3 * (c @ np.arange(1.0, 17.0)))), budget=60)
    assert noisy.enough is not True


def test_both_sides_are_the_values_themselves():
    game = next(random_games(4, count=1, seed=1))
    found = leaving_out(game)
    assert_allclose(found.loo, leave_one_out(game).credit)
    assert_allclose(found.shapley, shapley(game).credit)
