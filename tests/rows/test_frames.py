"""Rows are explained as they are: nothing is cast, dropped or guessed, and what cannot be kept is refused by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from accredit.errors import InvalidInput
from accredit.rows.frames import align, join, rows_of
from tests.wording import reads, refused

BACKGROUND = pd.DataFrame(
    {
        "whole": [1, 2],
        "small": np.array([1, 2], np.uint8),
        "flag": [True, False],
        "kind": pd.Categorical(["a", "b"]),
        "maybe": pd.array([1, None], dtype="Int64"),
        "day": pd.to_datetime(["2020-01-01", "2021-01-01"]),
        "word": ["x", "y"],
    }
)
ROW = {"whole": 3, "small": 3, "flag": True, "kind": "a", "maybe": 3, "day": pd.Timestamp("2022-02-02"), "word": "z"}


def joined_row(**changed):
    background = rows_of(BACKGROUND, what="background")
    return join(align({**ROW, **changed}, background), background)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("whole", 2.9),
        ("whole", float("nan")),
        ("small", 300),
        ("flag", 0.4),
        ("maybe", None),
        ("word", "unseen"),
        ("kind", "b"),
    ],
)
def test_a_value_stays_what_it_is_beside_other_types(column, value):
    table, _ = joined_row(**{column: value})
    kept = table[column].iloc[-1]
    assert (pd.isna(kept) and pd.isna(value)) or kept == value
    for name in BACKGROUND:
        mine, theirs = table[name].iloc[:2], BACKGROUND[name]
        assert all((pd.isna(a) and pd.isna(b)) or a == b for a, b in zip(mine, theirs, strict=True)), name


def test_what_was_widened_is_said():
    _, notes = joined_row(whole=2.9)
    assert reads(notes)
    assert joined_row()[1] == ()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kind": "zz"}, "column 'kind' holds 'zz'"),
        ({"whole": "old"}, "column 'whole' is int64 .* 'old'"),
        ({"extra": 1}, "'extra', which the background lacks"),
        ({"whole": 2**60 + 1.5}, None),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_column(changed, said):
    if said is None:
        assert joined_row(**changed)[0]["whole"].iloc[-1] == 2**60 + 1.5
        return
    with pytest.raises(InvalidInput, match=said):
        joined_row(**changed)


def test_integers_that_a_float_cannot_hold_are_refused():
    background = rows_of(pd.DataFrame({"id": [2**60 + 1, 5]}))
    with pytest.raises(InvalidInput, match=r"column 'id'.*change"):
        join(align({"id": 0.5}, background), background)


def test_missing_doubled_and_reordered_columns():
    background = rows_of(BACKGROUND[["whole", "word"]])
    with refused("conflict", "rows"):
        align({"whole": 1}, background)
    with refused("duplicate", "rows"):
        rows_of(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    turned = align(pd.DataFrame({"word": ["q"], "whole": [7]}), background)
    assert turned.columns == ("whole", "word") and turned.table.iloc[0].tolist() == [7, "q"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.zeros((0, 3)), "0 rows"),
        (np.zeros((2, 2, 2)), "shape"),
        (np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]), "masked"),
        (np.array([[1 + 1j]]), "complex"),
        ([[np.inf, 1.0]], "infinite"),
    ],
)
def test_arrays_that_are_not_rows_are_refused(given, said):
    with pytest.raises(InvalidInput, match=said):
        rows_of(given)


def test_arrays_widen_without_changing_a_value():
    table, _ = join(rows_of(np.array([[2.9, 300]])), rows_of(np.array([[1, 2]], np.uint8)))
    assert table.tolist() == [[1.0, 2.0], [2.9, 300.0]]
    mixed = rows_of([[1.5, "red"]])
    assert mixed.table.tolist() == [[1.5, "red"]]  # numpy alone would have written '1.5'


def test_cells_are_plain_json_types():
    cells = rows_of(pd.DataFrame([ROW])).cells()
    assert [column[0] for column in cells] == [3, 3, True, "a", 3, "2022-02-02 00:00:00", "z"]
    assert rows_of(pd.DataFrame({"a": [np.nan], "b": [pd.NaT]})).cells() == ((None,), (None,))
