import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import tabulate
from accredit.errors import InvalidInput
from accredit.games import FunctionGame, TableGame, cached, counted, grouped, restricted
from accredit.values import shapley
from tests.random_games import random_games

DATA_SETS = TableGame("ABC", [0, 50, 20, 75, 25, 80, 90, 100])


def test_grouped_is_the_quotient_game():
    quotient = grouped(DATA_SETS, {"stem": ["B", "C"]})
    assert quotient.players == ("A", "stem")
    assert tabulate(quotient).tolist() == [0, 50, 90, 100]
    assert shapley(quotient).as_dict() == {"A": 30.0, "stem": 70.0}


def test_grouping_all_players_alone_changes_nothing():
    for game in random_games(players=4, count=5, seed=0):
        assert_allclose(shapley(grouped(game, {p.upper(): [p] for p in game.players})).credit, shapley(game).credit)


@pytest.mark.parametrize(
    ("groups", "word"),
    [
        ({"x": ["A"], "y": ["A"]}, "overlap"),
        ({"x": []}, "empty"),
        ({"x": ["Z"]}, "unknown player 'Z'"),
        ({"x": "AB"}, "string"),
        ({"C": ["A", "B"]}, "single player"),
        ([["A", "B"]], "write a mapping"),
        ({"g": 2}, "is the int 2"),
    ],
)
def test_grouped_refuses(groups, word):
    with pytest.raises(InvalidInput, match=word):
        grouped(DATA_SETS, groups)


def test_restricted_fixes_who_is_there():
    assert tabulate(restricted(DATA_SETS, ["A", "C"])).tolist() == [0, 50, 25, 80]
    assert tabulate(restricted(DATA_SETS, ["C"], given=["B"])).tolist() == [20, 90]
    with pytest.raises(InvalidInput, match="given"):
        restricted(DATA_SETS, ["A"], given=["A"])
    with pytest.raises(InvalidInput, match="empty"):
        restricted(DATA_SETS, [])


def test_cached_asks_each_coalition_once_and_counted_counts():
    inner = counted(FunctionGame("abc", lambda c: c.sum(axis=1)))
    game = cached(inner)
    rows = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=bool)
    assert game.payoff(rows).tolist() == [1, 1, 1]
    assert game.payoff(rows).tolist() == [1, 1, 1]
    assert (inner.payoffs, inner.calls, game.remembered) == (2, 1, 2)


def test_cached_does_not_keep_a_failed_batch():
    def fails_once(coalitions, state={"first": True}):  # noqa: B006
        if state.pop("first", False):
            raise RuntimeError
        return coalitions.sum(axis=1)

    game = cached(FunctionGame("ab", fails_once))
    with pytest.raises(RuntimeError):
        game.payoff(np.eye(2, dtype=bool))
    assert game.payoff(np.eye(2, dtype=bool)).tolist() == [1, 1]
