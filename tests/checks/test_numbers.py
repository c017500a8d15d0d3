"""The door for numbers: every place that takes an array refuses what numpy would drop or guess."""

import decimal
import fractions

import numpy as np
import pytest

from accredit import (
    Attribution,
    FunctionGame,
    InvalidInput,
    Selection,
    TableGame,
    grouped,
    read_game,
    restricted,
    shapley,
    shapley_interactions,
)
from accredit.attention import joint_flow
from accredit.checks import check_seed, real_number, real_numbers, shown, whole_number
from accredit.core import Estimate
from accredit.errors import BadPayoff
from accredit.flow.network import LayeredNetwork
from accredit.games import TableGames
from tests.wording import reads, refused

FOUR = [0.0, 5.0, 3.0, 10.0]
REFUSED = {
    "masked": np.ma.array(FOUR, mask=[0, 1, 0, 0]),
    "a masked row in a list": [np.ma.array(FOUR[:1], mask=[1])[0], *FOUR[1:]],
    "complex": np.array(FOUR) + 0j,
    "a complex number in a list": [0, 5, 3, 1j],
    "dates": np.array([0, 5, 3, 10], dtype="M8[s]"),
    "spans of time": np.array([0, 5, 3, 10], dtype="m8[s]"),
    "text": ["0", "5", "3", "10"],
    "text among objects": np.array([0, 5, 3, "10"], dtype=object),
    "bytes": b"abcd",
    "beyond every float": [0, 5, 3, 10**400],
    "nothing": None,
    "a set": {0, 5, 3, 10},
    "a generator": (x for x in FOUR),
    "records": np.zeros(4, dtype=[("a", "f8")]),
    "ragged": [0, [1], 2, 3],
    "missing": [0, 5, 3, None],
}
TAKEN = {
    "whole numbers": [0, 5, 3, 10],
    "half precision": np.array(FOUR, np.float16),
    "small integers": np.array(FOUR, np.int8),
    "long double": np.array(FOUR, np.longdouble),
    "objects": np.array([0, 5, 3, 10], dtype=object),
    "fractions": [fractions.Fraction(x) for x in FOUR],
    "decimals": [decimal.Decimal(x) for x in FOUR],
    "a mask that hides nothing": np.ma.array(FOUR, mask=[0, 0, 0, 0]),
    "numbers of numpy": [np.float32(x) for x in FOUR],
    "a matrix": np.asarray(FOUR),
}
DOORS = {
    "a table": lambda x: TableGame("ab", x).table,
    "a payoff": lambda x: FunctionGame("ab", lambda coalitions: x).payoff(np.eye(2, dtype=bool)),
    "credit": lambda x: Attribution(tuple("abcd"), x, None, "m").credit,
    "supply": lambda x: LayeredNetwork(np.ones((1, 4, 4)), x, np.ones(4)).supply,
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED)
def test_what_numpy_would_drop_or_guess_is_refused(door, given):
    with pytest.raises((InvalidInput, BadPayoff), match=r"real number|masked|real numbers|1\.8e308"):
        door(given)


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("given", TAKEN.values(), ids=TAKEN)
def test_numbers_of_every_kind_are_taken(door, given):
    assert door(given).tolist() == FOUR


@pytest.mark.slow  # imports torch
def test_tensors_keep_their_numbers_and_lose_only_their_gradient():
    torch = pytest.importorskip("torch")
    for kind in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        assert real_numbers(torch.tensor(FOUR, dtype=kind), "x").tolist() == FOUR
    grown = torch.tensor(FOUR, requires_grad=True)
    assert shapley(FunctionGame("ab", lambda c: grown)).credit.tolist() == [6, 4]
    assert real_numbers([grown, grown], "x").tolist() == [FOUR, FOUR]
    for odd in (torch.tensor(FOUR).to_sparse(), torch.empty(4, device="meta"), torch.tensor([1j]), grown.detach() + 0j):
        with pytest.raises(InvalidInput, match="x "):
            real_numbers(odd, "x")


def test_pandas_missing_values_dates_and_categories_of_words_are_refused():
    pandas = pytest.importorskip("pandas")
    for odd in (
        pandas.array([1, None], dtype="Int64"),
        pandas.Series(pandas.to_datetime([1, 2])),
        pandas.Categorical(["a", "b"]),
        pandas.Series([1, 1j]),
    ):
        try:
            assert np.isnan(real_numbers(odd, "x")).any()  # a missing value is at least not a number
        except InvalidInput as error:
            assert str(error).startswith("x")


def test_rows_of_attention_with_a_mask_or_imaginary_parts_are_refused():
    attention = np.full((1, 2, 2), 0.5)
    for odd in (attention + 0j, np.ma.masked_less(attention, 1)):
        with pytest.raises(InvalidInput, match="attention"):
            joint_flow(odd)
    with pytest.raises(InvalidInput, match="masked"):
        TableGames("a", ("x", "y"), [np.ma.array([1, 2], mask=[0, 1]), [3, 4]])


@pytest.mark.parametrize("given", [True, "3", 3.0, None, 10**400, -1, np.bool_(True), [3], 1j, 10**5000], ids=shown)
def test_counts_and_seeds_are_whole_numbers_that_fit(given):
    code = "range" if type(given) is int else "type"
    with refused(code, "budget"):
        whole_number(given, "budget")
    with refused(code, "seed"):
        check_seed(given)


def test_counts_of_numpy_are_counts():
    assert whole_number(np.uint8(3), "k") == 3 and type(whole_number(np.int64(3), "k")) is int
    assert check_seed(2**63 - 1) == 2**63 - 1


@pytest.mark.parametrize("given", [True, "0.5", None, [0.5], np.array([0.5]), 1j])
def test_one_number_is_a_number(given):
    with refused("type", "residual"):
        real_number(given, "residual", 0, 1)


@pytest.mark.parametrize("given, code", [(float("nan"), "not-finite"), (2, "range"), (-1, "range"), (10**400, "range")])
def test_one_number_within_bounds(given, code):
    with refused(code, "residual"):
        real_number(given, "residual", 0, 1)


def test_a_message_can_be_made_of_anything():
    class Odd:
        def __repr__(self):
            raise RuntimeError

    assert shown(Odd()) == "an Odd"
    assert reads(shown(10**5000))
    assert len(shown("x" * 10**6)) <= 60
    deep = []
    deep.append(deep)
    with refused("type", "table"):
        TableGame("ab", deep)


@pytest.mark.parametrize("budget", ["100", 1.5, True, -3, 10**400])
def test_a_budget_is_checked_even_where_it_is_not_needed(budget):
    with refused("range" if type(budget) is int else "type", "budget"):
        shapley(TableGame("ab", FOUR), budget=budget)


@pytest.mark.parametrize("game", [None, "abc", 3, {}, lambda coalitions: 0])
def test_what_is_not_a_game_is_refused(game):
    with refused("type", "game"):
        shapley(game)


def test_names_that_no_file_can_hold_are_refused():
    with refused("unreadable", "players"):
        TableGame(("\ud800", "b"), FOUR)


def test_rows_of_whole_numbers_are_not_taken_for_coalitions():
    with refused("type", "coalitions"):
        TableGame("ab", FOUR).payoff(np.array([[2, 0]]))


def test_payoffs_by_coalition_are_numbers_too():
    for odd, word in (
        ({(): "0", ("a",): 1}, "must be one number"),
        ({5.5: 0}, "write its members"),
        ([1, 2], "write {"),
    ):
        with pytest.raises(InvalidInput, match=word):
            TableGame.from_payoffs(odd)


ODD_CALLS = {
    "a masked choice": lambda: Selection(("a", "b"), np.ma.array([True, False], mask=[1, 0]), "m"),
    "an estimate of words": lambda: Estimate("a", "b", "c"),
    "outputs with a mask": lambda: joint_flow(np.full((1, 2, 2), 0.5), outputs=np.ma.array([0, 1], mask=[0, 1])),
    "seconds in words": lambda: shapley(TableGame("ab", FOUR), seconds="1"),
    "a solver in words": lambda: shapley(TableGame("ab", FOUR), "exact"),
    "nobody to keep": lambda: restricted(TableGame("ab", FOUR), None),
    "no path": lambda: read_game(None),
    "groups without names": lambda: grouped(TableGame("ab", FOUR), {1: [], "x": []}),
    "a size in words": lambda: shapley_interactions(TableGame("ab", FOUR), 2).of_size("2"),
    "players that are missing": lambda: shapley(type("G", (), {"players": None, "payoff": len})()),
}


@pytest.mark.parametrize("call", ODD_CALLS.values(), ids=ODD_CALLS)
def test_other_odd_calls_are_refused_in_words(call):
    with pytest.raises(InvalidInput, match=r"(is|must be|holds|masked) .*; |masked"):
        call()
