from itertools import permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from accredit.core import Holds, Precision
from accredit.errors import InvalidInput, TooManyPlayers
from accredit.evaluate import check_claims
from accredit.games import FunctionGame, TableGame, counted
from accredit.values import Exact, banzhaf, beta, interactions, leave_one_out, semivalue, shapley
from accredit.values.semivalues import banzhaf_weights, beta_weights, leave_one_out_weights, shapley_weights
from tests.random_games import games, random_games
from tests.wording import refused

COOKIES = TableGame(("Alice", "Bob"), [0, 5, 3, 10])
DATA_SETS = TableGame("ABC", [0, 50, 20, 75, 25, 80, 90, 100])
CORNER = FunctionGame(("TL", "TR", "BL", "BR"), lambda pixels: pixels[:, :3].all(axis=1))


def by_orders(game):
    """Equation 1 of the definition, order by order."""
    n, v = len(game.players), game.table
    credit = np.zeros(n)
    orders = list(permutations(range(n)))
    for order in orders:
        there = 0
        for i in order:
            credit[i] += v[there | 1 << i] - v[there]
            there |= 1 << i
    return credit / len(orders)


def by_definition(game, weights):
    """Σ p(|S|)·[v(S ∪ i) − v(S)], coalition by coalition."""
    n, v = len(game.players), game.table
    return np.array(
        [sum(weights[s.bit_count()] * (v[s | 1 << i] - v[s]) for s in range(1 << n) if not s >> i & 1) for i in range(n)]
    )


def test_cookies():
    assert shapley(COOKIES).credit.tolist() == [6, 4]


def test_data_sets():
    assert_allclose(shapley(DATA_SETS).credit, [115 / 3, 85 / 3, 100 / 3], rtol=1e-14)


def test_corner_detector():
    assert_allclose(shapley(CORNER).credit, [1 / 3, 1 / 3, 1 / 3, 0], atol=1e-15)


@pytest.mark.parametrize("players", range(1, 8))
def test_equals_the_average_over_all_orders(players):
    for game in random_games(players, count=3, seed=players):
        assert_allclose(shapley(game).credit, by_orders(game), atol=1e-12)


@pytest.mark.parametrize("players", range(1, 10))
@pytest.mark.parametrize(
    "weights",
    [shapley_weights, banzhaf_weights, leave_one_out_weights, lambda n: beta_weights(n, 16, 1)],
    ids=["shapley", "banzhaf", "loo", "beta"],
)
def test_semivalues_equal_their_definition(players, weights):
    for game in random_games(players, count=2, seed=players):
        assert_allclose(semivalue(game, weights(players)).credit, by_definition(game, weights(players)), atol=1e-12)


def test_weights_are_laws_on_coalitions():
    for n in (1, 2, 7, 40):
        for p in (
            shapley_weights(n),
            banzhaf_weights(n),
            beta_weights(n, 4, 1),
            beta_weights(n, 0.5, 2),
            leave_one_out_weights(n),
        ):
            assert sum(comb(n - 1, k) * p[k] for k in range(n)) == pytest.approx(1, abs=1e-9)


def test_beta_leans_to_small_coalitions():
    heavy = [comb(9, k) * x for k, x in enumerate(beta_weights(10, 16, 1))]
    assert heavy[0] > 0.5 and heavy == sorted(heavy, reverse=True)


EXACT = [
    shapley,
    banzhaf,
    leave_one_out,
    lambda g: beta(g, 4, 1),
    lambda g: semivalue(g, shapley_weights(len(g.players))),
]


@pytest.mark.parametrize("value", EXACT, ids=["shapley", "banzhaf", "leave-one-out", "beta", "semivalue"])
@settings(max_examples=200, deadline=None)
@given(game=games())
def test_exact_values_keep_every_claim(value, game):
    check_claims(value(game), game, value)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(game=games())
def test_only_shapley_claims_all_four(game):
    assert all(c.holds is Holds.EXACTLY for c in shapley(game).claims)
    n = len(game.players)
    if n > 2:
        assert banzhaf(game).claim("efficiency").holds is Holds.NO
        assert leave_one_out(game).claim("efficiency").holds is Holds.NO


def test_payoff_of_nobody_is_reported_and_not_shared():
    result = shapley(TableGame("ab", [7, 8, 9, 12]))
    assert result.baseline == 7 and result.total == 5 and result.credit.sum() == pytest.approx(5)


def test_a_large_constant_costs_no_digits():
    game = next(random_games(8, 1, seed=3))
    shifted = TableGame(game.players, game.table + 2.0**40)
    rounded = TableGame(game.players, shifted.table - 2.0**40)  # the same payoffs as floating point keeps them
    assert_allclose(shapley(shifted).credit, shapley(rounded).credit, atol=1e-12)


@pytest.mark.slow
def test_leave_one_out_asks_n_plus_2_payoffs():
    game = counted(FunctionGame([str(i) for i in range(3000)], lambda c: c.sum(axis=1)))
    result = leave_one_out(game)
    assert result.credit.tolist() == [1.0] * 3000
    assert game.payoffs == result.payoffs == 3002


def test_leave_one_out_equals_shapley_in_additive_games_only():
    additive = FunctionGame("abc", lambda c: c @ [1.0, 2.0, 4.0])
    assert_allclose(leave_one_out(additive).credit, shapley(additive).credit)
    redundant = FunctionGame("ab", lambda c: c.any(axis=1))
    assert leave_one_out(redundant).credit.tolist() == [0, 0] and shapley(redundant).credit.tolist() == [0.5, 0.5]


def test_exact_refuses_too_many_players_before_anything_is_asked():
    game = counted(FunctionGame([str(i) for i in range(30)], lambda c: c.sum(axis=1)))
    with refused("too-many", kind=TooManyPlayers):
        Exact().solve(game)
    assert game.payoffs == 0


@pytest.mark.parametrize("weights", [[1, 1], [0.5], [-0.5, 1.5], [float("nan"), 1], "ab"])
def test_bad_weights_are_refused(weights):
    with pytest.raises(InvalidInput, match="weights"):
        semivalue(COOKIES, weights)


@pytest.mark.parametrize("alpha", [0, -1, float("nan"), float("inf"), "x"])
def test_bad_beta_is_refused(alpha):
    with pytest.raises(
        InvalidInput,
        match=r"alpha (must be positive and finite|is (nan|inf); it must be a finite|must be one number, got 'x')",
    ):
        beta(COOKIES, alpha, 1)


@pytest.mark.parametrize("given", [{"budget": 10}, {"seed": 1}, {"level": 0.8}, {"seconds": 1.0}])
def test_a_solver_and_its_settings_exclude_each_other(given):
    with refused("conflict", "solver"):
        shapley(COOKIES, Exact(), **given)


@pytest.mark.parametrize("value", [shapley, banzhaf, interactions])
def test_an_exact_value_says_why_it_has_no_interval_at_the_level_that_was_asked(value):
    assert "level 0.9" in value(COOKIES, level=0.9).precision.because and value(COOKIES).precision == Precision.exact()
    assert value(COOKIES, level=0.95) == value(COOKIES)


def test_matched_pair_on_a_real_classifier():
    """Chapter 10.5.1: each critical point alone tilts the line, both together pin it."""
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    rng = np.random.default_rng(0)
    easy = np.array([(-3.0, 3.2), (-2.5, 3.0), (-3.4, 2.8), (3.0, -4.5), (2.6, -5.0), (3.3, -5.4)])
    critical = np.array([(1.0, 1.1), (1.1, 1.0)])
    x = np.vstack([easy, critical])
    y = (x[:, 1] > x[:, 0]).astype(int)
    test = rng.uniform(-2, 2, size=(4000, 2))
    truth = (test[:, 1] > test[:, 0]).astype(int)

    def accuracy(coalitions):
        scores = []
        for pair in coalitions:
            keep = np.concatenate([np.ones(len(easy), bool), pair])
            model = linear.LogisticRegression(C=1e6, max_iter=5000).fit(x[keep], y[keep])
            scores.append(model.score(test, truth))
        return scores

    from accredit.values import shapley_interactions, value_given

    game = FunctionGame(("dA", "dB"), accuracy)
    alone, together = value_given(game, "dA"), value_given(game, "dA", ["dB"])
    assert together > alone + 0.02
    assert shapley_interactions(game)["dA", "dB"] == pytest.approx(together - alone)
    assert alone < shapley(game)["dA"] < together  # the moderate value that hides the synergy


def test_shapley_weights_are_exact_for_any_number_of_players():
    for n in (1, 2, 3, 20, 61, 400):
        assert shapley_weights(n).tolist() == [1 / (n * comb(n - 1, k)) for k in range(n)]


def test_leave_one_out_asks_for_everybody_but_one():
    asked = []
    game = FunctionGame("abc", lambda coalitions: asked.append(coalitions) or coalitions.sum(axis=1) ** 2)
    assert leave_one_out(game).credit.tolist() == [5, 5, 5]
    assert np.concatenate(asked).astype(int).tolist() == [[0, 0, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0]]
