"""Values that are on no list: what they mean is taken, what would be lost on the way is refused by name."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import click
import numpy as np
import pandas
import pytest
import scipy.sparse

from accredit.checks.files import as_text, check_folder, check_writable
from accredit.checks.numbers import real_numbers
from accredit.checks.tables import number
from accredit.cli.options import Amount, Count, NamedPath
from accredit.core import Estimate
from accredit.errors import InvalidInput
from accredit.games import ChoiceTable, FunctionGame, TableGame, WeightedVote, grouped
from accredit.models.encoded import LONGEST_WORD, check_words
from accredit.rows.frames import rows_of
from accredit.valuation import split
from accredit.values import shapley
from tests.wording import refused

TABLE = np.array([0.0, 5.0, 3.0, 10.0])
BACKWARDS = np.array([10.0, 3.0, 5.0, 0.0])[::-1]


class Held:
    """A stranger's object that numpy can read."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


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
        Held(TABLE),
        memoryview(TABLE),
        pandas.Series([0, 5, 3, 10], dtype="Int64"),
        pandas.Series([0, 5, 3, 10]).astype("category"),
        pandas.arrays.SparseArray(TABLE),
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
        "__array__",
        "memory",
        "nullable",
        "category",
        "sparse column",
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
        bytearray(b"0531"),
        Held(np.ma.masked_equal(TABLE, 3.0)),
        scipy.sparse.csr_array(TABLE.reshape(1, -1)),
        (x for x in TABLE),
        [0, 5, 3, pandas.NA],
        pandas.Series([True, False, True, pandas.NA], dtype="boolean"),
        [0, 5, 3, Decimal("1e400")],
        [0, 5, 3, Fraction(10**400, 3)],
        [0, 5, 3, Decimal("sNaN")],
    ],
    ids=[
        "records",
        "masked",
        "texts",
        "dict",
        "set",
        "None",
        "complex",
        "bytes",
        "byte array",
        "mask in __array__",
        "sparse",
        "generator",
        "NA",
        "nullable",
        "decimal 1e400",
        "fraction 1e400",
        "signalling",
    ],
)
def test_what_is_not_a_row_of_numbers_is_refused_by_name(table):
    with pytest.raises(InvalidInput, match="table"):
        TableGame(("a", "b"), table)


@pytest.mark.parametrize("players", [b"ab", {"a", "b"}, frozenset("ab")], ids=["bytes", "set", "frozen set"])
def test_players_without_an_order_or_without_names_are_refused(players):
    with refused("type", "players", has="tuple of names"):
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


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(float).max, reason="long doubles are doubles here")
def test_a_long_double_beyond_doubles_does_not_become_infinite():
    with pytest.raises(InvalidInput, match=r"table holds 1e\+400"):
        TableGame(("a", "b"), np.array([0, 1, 2, np.longdouble("1e400")]))
    assert np.isinf(real_numbers(np.array([np.longdouble("inf")]), "weights")).all()


X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])


def test_labels_keep_their_last_character():
    assert split(X, ["a", "a\0", "b"], X[:1], ["a"]).classes == ("a", "a\0", "b")
    assert rows_of([["a\0", "b"]]).table[0, 0] == "a\0"


def test_labels_and_numbers_to_predict_are_looked_at():
    for bad in (Held(np.ma.masked_equal([0, 1, 2], 2)), scipy.sparse.csr_array([[0, 1, 2]]), ["a", "b", pandas.NA]):
        with pytest.raises(InvalidInput, match=r"^y "):
            split(X, bad, X[:1], [0])
    with refused("range", "y"):
        split(X, [1, 2, 10**400], X[:1], [1], regression=True)


def test_columns_of_test_rows_stand_in_the_order_of_the_training_rows():
    train = pandas.DataFrame(X, columns=["a", "b"])
    with refused("conflict", "test_x"):
        split(train, ["u", "v", "u"], train[["b", "a"]], ["u", "v", "u"])
    assert len(split(train, ["u", "v", "u"], train, ["u", "v", "u"])) == 3


def test_missing_cells_of_pandas_in_a_list_are_refused():
    with pytest.raises(InvalidInput, match="rows holds <NA>"):
        rows_of([[1, pandas.NA]])


@pytest.mark.parametrize("cell", ["1_0", "\u0661", "\uff11", "0x1", "1,5", ""])
def test_numbers_in_tables_are_plain(cell):
    with refused("type"):
        number(cell, "cell 1")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_another_encoding_is_named(encoding):
    with refused("unreadable"):
        as_text("x,y\n1,2\n".encode(encoding), "t.csv")
    assert as_text("\ufeffx,y\n1,2\n".encode(), "t.csv") == "x,y\n1,2\n"
    assert as_text(b"ab\0\0", "t.csv") == "ab\0\0"


def test_a_name_that_ends_like_a_folder_is_not_a_file(tmp_path):
    with refused("unwritable", "path"):
        check_writable(f"{tmp_path}/new/")
    assert not (tmp_path / "new").exists()


def test_a_word_that_tokenizers_give_up_on_is_refused():
    with refused("range", "text"):
        check_words("a" * (LONGEST_WORD + 1), "text")
    check_words("a " * LONGEST_WORD, "text")
