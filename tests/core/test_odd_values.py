"""Values that are on no list: what they mean is taken, what would be lost on the way is refused by name."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import click
import numpy as np
import pytest

from accredit.cli.options import Amount, Count, NamedPath
from accredit.core import Estimate, InvalidInput
from accredit.core.files import check_folder
from accredit.core.numbers import real_numbers
from accredit.games import ChoiceTable, FunctionGame, TableGame, WeightedVote, grouped
from accredit.values import shapley

TABLE = np.array([0.0, 5.0, 3.0, 10.0])
BACKWARDS = np.array([10.0, 3.0, 5.0, 0.0])[::-1]


def read_only():
    array = TABLE.copy()
    array.setflags(write=False)
    return array


@pytest.mark.parametrize(
    "table",
    [
        [Decimal(0), Decimal(5), Decimal(3), Decimal(10)],
        [Fraction(0), Fraction(5), Fraction(3), Fraction(10)],
        TABLE.astype(np.longdouble),
        TABLE.astype(">f8"),
        TABLE.astype(">i4"),
        BACKWARDS,
        np.repeat(TABLE, 2)[::2],
        read_only(),
        np.ma.array(TABLE),
        [np.array(x) for x in TABLE],
    ],
    ids=[
        "decimal",
        "fraction",
        "long double",
        "swapped",
        "swapped int",
        "backwards",
        "strided",
        "read-only",
        "no mask",
        "0-d",
    ],
)
def test_numbers_of_every_kind_mean_the_same(table):
    assert shapley(TableGame(("a", "b"), table)).as_dict() == {"a": 6.0, "b": 4.0}


@pytest.mark.parametrize(
    "table",
    [
        np.array([(0.0, 1)] * 4, dtype=[("x", float), ("n", int)]),
        np.ma.masked_equal(TABLE, 3.0),
        ["0", "5", "3", "1_0"],
        {0: 0, 1: 5, 2: 3, 3: 10},
        frozenset(TABLE.tolist()),
        [0, 5, 3, None],
        TABLE * 1j,
        b"0531",
    ],
    ids=["records", "masked", "texts", "dict", "set", "None", "complex", "bytes"],
)
def test_what_is_not_a_row_of_numbers_is_refused_by_name(table):
    with pytest.raises(InvalidInput, match="table"):
        TableGame(("a", "b"), table)


@pytest.mark.parametrize("players", [b"ab", {"a", "b"}, frozenset("ab")], ids=["bytes", "set", "frozen set"])
def test_players_without_an_order_or_without_names_are_refused(players):
    with pytest.raises(InvalidInput, match=r"players is .*write a tuple of names"):
        TableGame(players, TABLE)


def test_games_look_at_the_coalitions_that_they_are_asked_for():
    for game in (TableGame("ab", TABLE), FunctionGame("ab", lambda c: c.sum(axis=1)), WeightedVote("ab", [1, 2], 2)):
        assert game.payoff([[1, 0]]).shape == (1,)
        for bad in (None, [True, False], [[0.5, 1.0]], [[True]], [["a", "b"]], np.ma.masked_all((1, 2), bool)):
            with pytest.raises(InvalidInput, match="coalitions"):
                game.payoff(bad)


def test_choices_that_nobody_has_are_refused():
    game = ChoiceTable(("a", "b"), [[0, 0, 1], [0, 2, 4]])
    for bad in ([[0, 3]], [[-1, 0]], [[0.5, 1]], [[0]], None):
        with pytest.raises(InvalidInput, match="choices"):
            game.worth(bad)


def test_a_game_of_numbered_players_is_called_by_their_names():
    class Numbered:
        players = (1, 2)

        def payoff(self, coalitions):
            return np.asarray(coalitions).sum(axis=1)

    assert shapley(grouped(Numbered(), {"both": [1, 2]})).as_dict() == {"both": 2.0}


def test_an_estimate_holds_numbers_only():
    for bad in (float("nan"), float("inf"), "0.5", None, True):
        with pytest.raises(InvalidInput, match="value"):
            Estimate(bad, 0.0, 1.0)
    with pytest.raises(InvalidInput, match="bound"):
        Estimate(0.5, 0.0, 1.0).above("0.2")


@pytest.mark.parametrize("word", ["1_000", "١٢", " 5", "5 ", "0x10", "1e3", "2.0", "nan", "", "９", "--1", "9" * 400])
def test_counts_on_the_command_line_are_plain_digits(word):
    with pytest.raises(click.BadParameter, match="whole number"):
        Count(0).convert(word, None, None)
    assert Count(0).convert("12", None, None) == 12


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "1e400", "1_0.5", "0,5", "٣", "", "0x1p3", "infinity"])
def test_amounts_on_the_command_line_are_finite_and_plain(word):
    with pytest.raises(click.BadParameter, match="finite number"):
        Amount(0).convert(word, None, None)
    assert Amount(0).convert("2.5e-1", None, None) == 0.25


def test_an_empty_path_is_a_slip(tmp_path):
    with pytest.raises(click.BadParameter, match="name is empty"):
        NamedPath().convert("", None, None)
    (tmp_path / "file").write_text("")
    for bad in ("", tmp_path / "file", tmp_path / "file" / "below", "a\0b", "x" * 5000):
        with pytest.raises(InvalidInput):
            check_folder(bad)
    assert check_folder(tmp_path / "new" / "one") == (tmp_path / "new" / "one").resolve()
    assert not (tmp_path / "new").exists()


def test_a_list_that_holds_itself_is_not_numbers():
    nested: list = []
    nested.append(nested)
    with pytest.raises(InvalidInput, match="weights"):
        real_numbers(nested, "weights")
