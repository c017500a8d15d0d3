"""Banzhaf, Beta and semivalues: one meaning of `budget`, and the Banzhaf index scaled to add up."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit import defaults
from accredit.core import Holds
from accredit.errors import InvalidInput
from accredit.evaluate import check_claims
from accredit.games import FunctionGame, TableGame, WeightedVote, counted
from accredit.values import banzhaf, beta, normalised_banzhaf, semivalue, shapley
from accredit.values.semivalues import banzhaf_weights
from tests.random_games import random_games
from tests.wording import refused

VALUES = {
    "banzhaf": banzhaf,
    "beta": lambda game, **how: beta(game, 4, 1, **how),
    "semivalue": lambda game, **how: semivalue(game, banzhaf_weights(len(game.players)), **how),
    "shapley": shapley,
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize(("players", "budget", "exact"), [(12, None, True), (13, None, False), (8, 256, True), (8, 255, False)])
def test_a_budget_means_the_same_for_every_value(name, players, budget, exact):
    game = counted(FunctionGame(range(players), lambda c: c[:, 0] * c[:, 1] + c.sum(axis=1)))
    found = VALUES[name](game, budget=budget)
    assert found.exact is exact and game.payoffs == found.payoffs
    assert game.payoffs == 2**players if exact else game.payoffs <= (budget or defaults.BUDGET)
    assert exact or name == "shapley" or found.interval is not None


@pytest.mark.parametrize("name", VALUES)
def test_a_table_is_exact_whatever_the_budget(name):
    game = next(random_games(6, count=1, seed=1))
    assert VALUES[name](game, budget=10).exact
    with pytest.raises(InvalidInput, match="budget must be"):
        VALUES[name](FunctionGame("abcdefghijklm", lambda c: c.sum(axis=1)), budget=0)


def test_the_normalised_index_adds_up_and_keeps_its_claims():
    for game in random_games(5, count=5, seed=2):
        found, plain = normalised_banzhaf(game), banzhaf(game)
        assert found.credit.sum() == pytest.approx(found.total)
        assert_allclose(found.credit * plain.credit.sum(), plain.credit * plain.total)
        check_claims(found, game)
    sum_of_two = [
        normalised_banzhaf(TableGame("abc", table)).credit for table in ([0, 1, 0, 2, 0, 0, 3, 4.0], [0, 0, 2, 0, 1, 5, 0, 3.0])
    ]
    together = normalised_banzhaf(TableGame("abc", [0, 1, 2, 2, 1, 5, 3, 7.0])).credit
    assert np.abs(sum(sum_of_two) - together).max() > 0.01  # not linear, as it says


def test_a_published_normalised_index():
    """Gambarelli (2011), as quoted by the R package CoopGame: v = (0,0,0,1,2,1,3) gives 15/13, 9/13, 15/13."""
    game = TableGame([1, 2, 3], [0, 0, 0, 1, 2, 1, 3], order="size", nobody=0)
    assert_allclose(banzhaf(game).credit, [1.25, 0.75, 1.25])
    assert_allclose(normalised_banzhaf(game).credit, [15 / 13, 9 / 13, 15 / 13])


def test_what_cannot_be_scaled_is_refused():
    with refused("undefined"):
        normalised_banzhaf(TableGame("ab", [0, 1, -1, 0]))
    with refused("undefined"):
        normalised_banzhaf(TableGame("ab", [0, 0, 0, 0]))


def test_an_estimated_index_claims_no_more_than_a_ratio_can():
    game = FunctionGame(range(20), lambda c: c[:, 0] * c[:, 1] + c.sum(axis=1))
    found = normalised_banzhaf(game, budget=400)
    assert found.credit.sum() == pytest.approx(found.total) and found.interval is None and not found.exact
    assert found.claim("efficiency").holds is Holds.EXACTLY
    assert Holds.IN_EXPECTATION not in {c.holds for c in found.claims}


def test_a_vote_is_exact_whatever_the_number_of_players():
    votes = WeightedVote(range(60), [1] * 60, quota=31)
    assert_allclose(shapley(votes).credit, 1 / 60)
    assert banzhaf(votes).payoffs == 0
