import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accredit.core import endpoints, payoffs, tabulate
from accredit.core.coalitions import all_coalitions, from_index, keys, pack, to_index, unique, unpack
from accredit.errors import BadPayoff, InvalidInput, TooManyPlayers
from accredit.games import FunctionGame, cached
from tests.wording import refused


@settings(deadline=None)
@given(st.integers(1, 10_000), st.integers(1, 5), st.integers(0, 99))
def test_packing_loses_nothing(players, rows, seed):
    coalitions = np.random.default_rng(seed).random((rows, players)) < 0.5
    assert pack(coalitions).shape == (rows, -(-players // 8))
    assert (unpack(pack(coalitions), players) == coalitions).all()


def test_keys_differ_exactly_where_coalitions_do():
    rows = np.concatenate(list(all_coalitions(9)))
    assert len(set(keys(rows))) == 512
    assert (to_index(rows) == np.arange(512)).all()
    assert (from_index(np.arange(512), 9) == rows).all()


def test_unique_keeps_the_order_of_first_appearance():
    rows = np.array([[1, 0], [0, 1], [1, 0], [1, 1], [0, 1]], dtype=bool)
    distinct, index = unique(rows)
    assert distinct.tolist() == [[True, False], [False, True], [True, True]]
    assert (distinct[index] == rows).all()


def test_payoffs_checks_what_a_game_returns():
    rows = np.eye(2, dtype=bool)
    with pytest.raises(BadPayoff, match=r"\{b\} is nan"):
        payoffs(FunctionGame("ab", lambda c: np.where(c[:, 1], np.nan, 0)), rows)
    with pytest.raises(BadPayoff, match="inf"):
        payoffs(FunctionGame("ab", lambda c: np.where(c[:, 1], np.inf, 0)), rows)
    with pytest.raises(BadPayoff, match="shape"):
        payoffs(FunctionGame("ab", lambda c: c), rows)
    for returned in (["x"] * 2, [[1], [2, 3]], np.array([1j, 2])):
        with refused("type", "payoff", BadPayoff):
            payoffs(FunctionGame("ab", lambda c, returned=returned: returned), rows)
    with refused("range", kind=BadPayoff):
        payoffs(FunctionGame("ab", lambda c: np.full(2, 1e200)), rows)
    with pytest.raises(BadPayoff, match="returned shape"):
        payoffs(cached(FunctionGame("ab", lambda c: c.sum(axis=1)[:1])), rows)
    with pytest.raises(InvalidInput, match="callable"):
        FunctionGame("ab", [1, 2])


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ("sql", "table of WithTable has shape"),
        ([0, 1, 2], r"shape \(3,\) of int64; a game's table holds its 4 payoffs"),
        ([0, 1, np.nan, 2], r"\{b\} is nan"),
    ],
)
def test_what_a_game_calls_its_table_is_checked(table, word):
    class WithTable:
        players = ("a", "b")

        def payoff(self, coalitions):
            return coalitions.sum(axis=1)

    game = WithTable()
    game.table = table
    with pytest.raises(BadPayoff, match=word):
        tabulate(game)
    game.table = [0, 1, 2, 3]
    assert tabulate(game).tolist() == [0, 1, 2, 3]


def test_ten_thousand_players_work():
    game = FunctionGame([str(i) for i in range(10_000)], lambda c: c.sum(axis=1))
    assert endpoints(game) == (0.0, 10_000.0)
    with pytest.raises(TooManyPlayers, match="2\\^10000"):
        tabulate(game)


def test_tabulate_asks_in_table_order():
    assert tabulate(FunctionGame("abc", lambda c: c @ [1, 2, 4])).tolist() == list(range(8))
