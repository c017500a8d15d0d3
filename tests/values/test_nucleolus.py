"""Least core and nucleolus: by definition on small games, by certificate on larger ones, and what is claimed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import Holds
from accredit.core.coalitions import from_index
from accredit.errors import InvalidInput, TooManyPlayers
from accredit.evaluate import check_claims
from accredit.games import FunctionGame, TableGame
from accredit.values import least_core, nucleolus
from accredit.values.nucleolus import kohlberg
from tests.random_games import random_games


def complaints(v, x):
    """Excesses of all coalitions but nobody and everybody, largest first."""
    rows = from_index(np.arange(v.size), len(x)).astype(float)
    return np.sort((v - v[0] - rows @ x)[1:-1])[::-1]


def smaller(a, b):
    """Whether complaints a come before complaints b, from the largest on."""
    apart = np.flatnonzero(np.abs(a - b) > 1e-7)
    return len(apart) > 0 and a[apart[0]] < b[apart[0]]


def test_no_other_division_has_smaller_complaints():
    rng = np.random.default_rng(0)
    for game in random_games(4, count=8, seed=1):
        x = nucleolus(game, imputations=False).credit
        assert x.sum() == pytest.approx(game.table[-1] - game.table[0])
        for size in (1.0, 0.1, 1e-3):
            for _ in range(40):
                step = rng.normal(size=4) * size
                assert not smaller(complaints(game.table, x + step - step.mean()), complaints(game.table, x))


def test_kohlberg_refuses_other_divisions():
    for game in random_games(5, count=5, seed=2):
        v = game.table - game.table[0]
        x = nucleolus(game, imputations=False).credit
        assert kohlberg(v, x, imputations=False)[0] > 0
        assert kohlberg(v, x + np.array([1e-3, -1e-3, 0, 0, 0]), imputations=False)[0] < 0


def test_claims_survive():
    rng = np.random.default_rng(3)
    for n in (3, 4):
        v = rng.normal(size=1 << n)
        null = TableGame("abcd"[:n], v[np.arange(1 << n) & ~1])  # player a never matters
        found = nucleolus(null, imputations=False)
        assert abs(found.credit[0]) < 1e-9
        check_claims(found, null)
    for game in random_games(4, count=5, seed=4):
        check_claims(nucleolus(game, imputations=False), game)
    twins = TableGame("abc", [0, 1, 1, 3, 0, 2, 2, 5])
    assert nucleolus(twins).credit[0] == pytest.approx(nucleolus(twins).credit[1])
    assert nucleolus(twins).claim("linearity").holds is Holds.NO


def test_it_is_not_linear():
    one, two = TableGame("abc", [0, 0, 0, 1, 0, 1, 0, 1]), TableGame("abc", [0, 0, 0, 0, 0, 0, 3, 3])
    both = TableGame("abc", one.table + two.table)
    assert np.abs(nucleolus(one).credit + nucleolus(two).credit - nucleolus(both).credit).max() > 0.01


def test_imputations_bind_where_the_core_is_empty():
    """A player who earns 1 alone and only harms others: the prenucleolus gives less than 1, the nucleolus does not."""
    game = TableGame("abc", [0, 1, 0, 0, 0, 0, 3, 2.0])
    free, held = nucleolus(game, imputations=False).credit, nucleolus(game).credit
    assert free[0] < 1 - 1e-6 and held[0] == pytest.approx(1) and held.sum() == pytest.approx(2)
    with pytest.raises(InvalidInput, match="imputations=False"):
        nucleolus(TableGame("ab", [0, 2, 2, 3]))


def test_the_least_core_holds_the_nucleolus_and_proves_its_epsilon():
    for game in random_games(5, count=4, seed=5):
        found, x = least_core(game), nucleolus(game, imputations=False).credit
        assert complaints(game.table, x)[0] == pytest.approx(found.epsilon, abs=1e-7)
        assert (found.low - 1e-6 <= x).all() and (x <= found.high + 1e-6).all()
        assert found.gap < 1e-9
    convex = FunctionGame("abc", lambda c: c.sum(axis=1) ** 2.0)
    assert not least_core(convex).core_is_empty and least_core(TableGame("a", [0, 3.0])).high.tolist() == [3]


@pytest.mark.parametrize("unit", [1e-300, 1e-12, 1e-9, 1e9, 1e100])
def test_the_unit_of_the_payoffs_and_what_players_earn_alone_move_both_along(unit):
    """Tolerances of the programs are absolute: in payoffs of 1e-9 a vote by majority had an empty core that was called full."""
    majority = np.array([0, 0, 0, 1, 0, 1, 1, 1.0])
    alone = from_index(np.arange(8), 3) @ np.array([5e6, -3e6, 1e6])
    assert least_core(TableGame("abc", unit * majority)).core_is_empty
    for table in (majority, majority + alone, *(game.table for game in random_games(3, count=3, seed=6))):
        one, other = TableGame("abc", table), TableGame("abc", unit * table)
        assert_allclose(nucleolus(other, imputations=False).credit, unit * nucleolus(one, imputations=False).credit, 1e-9)
        assert_allclose(least_core(other).high, unit * least_core(one).high, 1e-9)
        assert least_core(other).core_is_empty == least_core(one).core_is_empty
    assert_allclose(nucleolus(TableGame("abc", majority + alone)).credit, 1 / 3 + np.array([5e6, -3e6, 1e6]), rtol=1e-12)


def test_a_sum_of_shares_has_itself_for_a_core_however_it_is_rounded():
    shares = np.array([0.1, 0.2, 0.3, 0.7])
    additive = TableGame("abcd", from_index(np.arange(16), 4) @ shares)
    assert_allclose(nucleolus(additive).credit, shares)
    assert not least_core(additive).core_is_empty and least_core(additive).epsilon == 0


def test_every_payoff_is_asked_once():
    asked = []
    game = FunctionGame("abc", lambda c: asked.append(len(c)) or c.sum(axis=1) ** 2.0)
    assert nucleolus(game).payoffs == 8 == sum(asked)


def test_a_single_player_and_too_many():
    assert_allclose(nucleolus(TableGame("a", [1, 5.0])).credit, [4])
    with pytest.raises(TooManyPlayers, match="limit is 15"):
        nucleolus(FunctionGame(range(16), lambda c: c.sum(axis=1)))
