"""Columns as files hold them: gaps, dates, names. What is filled, read or left out is said; what would change the question is
refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.wording import refused, says

pandas = pytest.importorskip("pandas")

from accredit.training_data.columns import GAP, column_features  # noqa: E402

ROWS = 60
WEEKDAY = [i % 7 for i in range(ROWS)]


def features_of(**columns):
    """Features of the first 40 rows and of the other 20, where the columns were read, and the notes."""
    frame = pandas.DataFrame(columns)
    return column_features(frame.iloc[:40], frame.iloc[40:], set())


def test_a_gap_in_numbers_is_filled_by_the_training_median_and_marked():
    size = [float(i) for i in range(ROWS)]
    size[3] = size[50] = None
    x, test_x, columns, notes = features_of(size=size, other=WEEKDAY)
    middle = np.median([i for i in range(40) if i != 3])
    assert columns == ("size", "other") and x.shape == (40, 3) and test_x.shape == (20, 3)
    assert_array_equal(x[3, :2], [middle, 1.0])
    assert_array_equal(test_x[10, :2], [middle, 1.0])
    assert x[:, 1].sum() == 1 and says(" ".join(notes), "'size' is empty in 2 rows")


def test_gaps_in_many_columns_are_one_note():
    sizes = {f"size {i}": [None if row == i else float(row) for row in range(ROWS)] for i in range(12)}
    notes = features_of(**sizes)[3]
    assert len(notes) == 1 and says(notes[0], "12 columns have empty cells") and says(notes[0], "9 more")


def test_a_column_without_gaps_is_as_it_stands():
    x, test_x, _, notes = features_of(size=[float(i) for i in range(ROWS)])
    assert_array_equal(np.vstack([x, test_x])[:, 0], range(ROWS))
    assert notes == ()


def test_an_empty_cell_among_words_is_a_category():
    x, _, _, notes = features_of(soil=[None if i == 0 else "ab"[i % 2] for i in range(ROWS)])
    assert x.shape == (40, 3) and GAP < "a" and x[0].tolist() == [1.0, 0.0, 0.0]
    assert says(notes[0], "'soil' is empty in 1 row")


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S"])
def test_dates_are_days_however_they_are_written(form):
    days = pandas.date_range("2024-01-01", periods=ROWS).strftime(form)
    x, test_x, _, notes = features_of(day=[*days])
    assert_array_equal(np.diff(np.vstack([x, test_x])[:, 0]), 1.0)
    assert says(notes[0], "'day' holds dates")


def test_dates_that_can_be_read_in_two_ways_are_not_read():
    both = [f"{1 + i % 12:02}/{1 + i // 12:02}/2024" for i in range(ROWS)]  # day or month first: every cell is a date in both
    _, _, columns, notes = features_of(day=both, size=WEEKDAY)
    assert columns == ("size",) and says(notes[0], "'day' holds 40 different words")


def test_one_moment_is_one_number_in_every_time_zone():
    size = [float(i) for i in range(ROWS)]
    moments = ["2024-03-01T00:30:00+02:00", "2024-02-29T22:30:00Z", "2024-02-29T22:30:00"]
    x, _, _, _ = features_of(at=moments * (ROWS // 3), size=size)
    assert_array_equal(x[:, 0], 19782.9375)


def test_numbers_written_as_words_are_numbers_unless_they_are_few_enough_for_codes():
    numbers = [f"{i / 7:.3f}" for i in range(ROWS)]
    x, test_x, _, notes = features_of(size=numbers)
    assert_array_equal(np.vstack([x, test_x])[:, 0], np.array(numbers, dtype=float))
    assert notes == () and features_of(code=[f"0{i % 3}" for i in range(ROWS)])[0].shape == (40, 3)


def test_numbers_of_a_test_file_that_holds_them_as_words_are_read():
    train, held = pandas.DataFrame({"size": [1.0, 2.0, 3.0]}), pandas.DataFrame({"size": ["4", None]})
    _, test_x, _, _ = column_features(train, held, set())
    assert_array_equal(test_x, [[4.0, 0.0], [2.0, 1.0]])


def test_a_gap_among_test_words_alone_is_a_category_too():
    train, held = pandas.DataFrame({"soil": [*"abab"]}), pandas.DataFrame({"soil": ["a", None]})
    _, test_x, _, notes = column_features(train, held, set())
    assert_array_equal(test_x, [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    assert says(notes[0], "a category of its own")


def test_a_column_that_names_the_rows_is_left_out_and_said():
    _, _, columns, notes = features_of(plot=[f"P{i}" for i in range(ROWS)], size=WEEKDAY, bare=[None] * ROWS)
    assert columns == ("size",)
    assert says(notes[0], "'plot' holds 40 different words in 40 rows, too many for categories")
    assert says(notes[1], "'bare' is empty in all")


@pytest.mark.parametrize(
    ("name", "cells", "left_out"),
    [
        ("no", range(ROWS), True),
        ("n", [*range(1, ROWS + 1)][::-1], True),
        ("order_id", [1000 + 7 * i for i in range(ROWS)], True),
        ("orderId", [1000 + 7 * i for i in range(ROWS)], True),
        ("paid", [1000 + 7 * i for i in range(ROWS)], False),
        ("year", range(1900, 1900 + ROWS), False),
        ("id", [i // 2 for i in range(ROWS)], False),  # of something that several rows share
    ],
)
def test_whole_numbers_that_name_the_rows_are_left_out_and_said(name, cells, left_out):
    _, _, columns, notes = features_of(**{name: list(cells), "other": WEEKDAY})
    assert (columns == ("other",)) is left_out
    assert any(says(note, f"identity='{name}'") for note in notes) is left_out


def test_the_only_column_is_learned_from_though_it_counts():
    assert features_of(size=list(range(ROWS)))[2:] == (("size",), ())


def test_texts_and_a_few_words_among_numbers_are_refused():
    with refused("too-many"):
        features_of(body=[f"a text about number {i}" for i in range(ROWS)], size=WEEKDAY)
    with refused("type"):
        features_of(size=["many" if i == 5 else str(i) for i in range(ROWS)])
    with refused("too-many"):
        features_of(plot=[f"P{i}" for i in range(ROWS)])
    with refused("missing"):
        features_of(bare=[None] * ROWS)
