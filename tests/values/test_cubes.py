"""Sums of cubes: the closed forms are the values that the full table gives."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import tabulate
from accredit.errors import InvalidInput
from accredit.evaluate import check_claims
from accredit.games import TableGame
from accredit.values import CubeGame, banzhaf, banzhaf_interactions, beta, semivalue, shapley, shapley_interactions
from accredit.values.semivalue_rules import BANZHAF, SHAPLEY, Semivalue, beta_semivalue, weigh
from accredit.values.semivalues import leave_one_out_weights
from tests.random_games import NAMES


def random_cubes(seed: int, players: int = 6, cubes: int = 9) -> CubeGame:
    """Cubes with every mix of members, some with nobody in A or in B."""
    rng = np.random.default_rng(seed)
    side = rng.integers(0, 3, size=(cubes, players))  # 0: no matter, 1: in A, 2: in B
    return CubeGame(NAMES[:players], rng.normal(size=cubes), side == 1, side == 2, constant=rng.normal())


def from_table(game: CubeGame) -> TableGame:
    return TableGame(game.players, tabulate(game))


VALUES = {
    "shapley": shapley,
    "banzhaf": banzhaf,
    "beta": lambda game: beta(game, 2, 3),
    "leave one out": lambda game: semivalue(game, leave_one_out_weights(len(game.players))),
}


@pytest.mark.parametrize("value", VALUES)
def test_the_closed_form_is_the_value_of_the_table_and_keeps_its_claims(value):
    for seed in range(20):
        game = random_cubes(seed)
        closed, tabled = VALUES[value](game), VALUES[value](from_table(game))
        assert_allclose(closed.credit, tabled.credit, atol=1e-13)
        assert closed.exact and closed.payoffs == 0 and closed.method.closed_form and closed.method.solver == "cubes"
        assert (closed.total, closed.baseline) == pytest.approx((tabled.total, tabled.baseline))
        assert [c.holds for c in closed.claims] == [c.holds for c in tabled.claims]
        check_claims(closed, game)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("index", [shapley_interactions, banzhaf_interactions])
def test_interactions_in_closed_form_are_those_of_the_table(index, order):
    for seed in range(10):
        game = random_cubes(seed)
        closed, tabled = index(game, order), index(from_table(game), order)
        assert closed.values.keys() == tabled.values.keys()
        assert_allclose(list(closed.values.values()), list(tabled.values.values()), atol=1e-13)


@pytest.mark.slow
def test_a_thousand_players_are_no_trouble():
    """No table fits; the unanimity game of 700 of them splits evenly, and Banzhaf's weight does not underflow for three."""
    names = [f"p{i}" for i in range(3000)]
    shared = shapley(CubeGame.unanimity(names, names[:700], worth=7.0))
    assert_allclose(shared.credit, [0.01] * 700 + [0.0] * 2300, rtol=1e-12)
    assert banzhaf(CubeGame.unanimity(names, names[:3])).credit[:4].tolist() == [0.25, 0.25, 0.25, 0.0]


def test_a_formula_pays_one_exactly_where_a_term_holds():
    terms = [("ab", "c"), ("cd", ""), ("", "bd"), ("a", "a")]  # the last one never holds
    game = CubeGame.formula("abcd", terms)
    s = np.arange(16)[:, None] >> np.arange(4) & 1 > 0
    a, b, c, d = s.T
    assert_allclose(game.payoff(s), (a & b & ~c) | (c & d) | (~b & ~d))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([1.0], [[1, 0]], [[1, 0]]), "both present and absent"),
        (([1.0, 2.0], [[1, 0]], [[0, 1]]), "need"),
        (([np.nan], [[1, 0]], [[0, 1]]), "finite"),
    ],
)
def test_a_cube_that_makes_no_sense_is_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        CubeGame("ab", *arguments)


@pytest.mark.parametrize(
    "rule", [SHAPLEY, BANZHAF, beta_semivalue(0.5, 3), weigh(leave_one_out_weights(9), 9)], ids=lambda r: r.name[:12]
)
def test_nodes_weights_and_moments_of_a_semivalue_agree(rule: Semivalue):
    """Σ ω tᵘ(1−t)ᵛ is the moment, which is the weight of a coalition of u among u + v others."""
    moments = rule.moments(9)
    for players in range(1, 10):
        t, omega = rule.rule(players)
        for u in range(players):
            v = players - 1 - u
            assert_allclose((omega * t**u * (1 - t) ** v).sum(), moments[u, v], atol=1e-12)
            assert_allclose(moments[u, v], rule.weights(players)[u], atol=1e-14)


def test_weights_for_fewer_players_than_the_game_has_are_refused():
    with pytest.raises(InvalidInput, match="4 players"):
        weigh([0.25, 0.25 / 3, 0.25 / 3, 0.25], 4).weights(5)
