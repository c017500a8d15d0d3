from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accredit.errors import InvalidInput
from accredit.valuation import groups_of, split
from tests.wording import refused

X, Y = [[0.0], [1.0], [2.0]], [0, 1, 1]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (([[0.0], [np.nan], [1.0]], Y, X, Y), r"nan in row 1, column 0 \(1 such"),
        ((X, Y, [[np.inf]], [1]), "test_x holds inf"),
        ((X, [1, 1, 1], X, Y), "one class only"),
        ((X, Y, [[0.0]], [7]), "no training row has"),
        ((X, Y, [[0.0, 1.0]], [1]), "1 columns and test_x 2"),
        ((X, [0, 1], X, Y), r"y has shape \(2,\)"),
        (([["a"], ["b"], ["c"]], Y, X, Y), "x must be real numbers"),
        (([], [], X, Y), "shape"),
        ((X, [0.0, np.nan, 1.0], X, Y), "y holds nan in row 1"),
        ((X, ["a", "b", np.nan], X, ["a", "b", "a"]), "y holds nan in row 2"),  # not a class of that name
        ((X, ["a", None, "b"], X, ["a", "b", "a"]), "y holds None in row 1"),
        ((X, ["a", 1, "b"], X, Y), "mixes kinds"),
        ((np.array(X) * 1e160, Y, X, Y), r"x holds 1e\+160 in row 1"),
        ((X, ["a", "b", "a"], X, ["a", "c", "a"]), "test_y holds 'c'.*classes are 'a', 'b'"),
    ],
)
def test_bad_data_is_refused_by_name(arguments: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        split(*arguments)


def test_names_must_fit() -> None:
    with refused("shape", "names"):
        split(X, Y, X, Y, names=["a", "b"])
    with pytest.raises(InvalidInput, match="regression needs numbers"):
        split(X, ["a", "b", "c"], X, ["a", "b", "c"], regression=True)


def test_labels_become_class_numbers_in_sorted_order() -> None:
    data = split(X, ["yes", "no", "yes"], X[:1], ["no"])
    assert (data.classes, data.y.tolist(), data.test_y.tolist()) == (("no", "yes"), [1, 0, 1], [0])


def test_groups_keep_the_order_of_first_appearance() -> None:
    assert list(groups_of(["r0", "r1", "r2"], [2, 1, 2])) == ["2", "1"]


def test_what_is_missing_in_a_frame_is_told_as_missing() -> None:
    pandas = pytest.importorskip("pandas")
    for labels in (pandas.Series(["a", None, "b"]), pandas.Series(["a", pandas.NA, "b"], dtype="string")):
        with refused("missing", "y"):
            split(X, labels, X, ["a", "b", "a"])


def test_sparse_frames_and_short_floats_are_the_same_numbers() -> None:
    sparse, pandas = pytest.importorskip("scipy.sparse"), pytest.importorskip("pandas")
    plain = split(X, Y, X, Y)
    for x in (sparse.csr_matrix(X), sparse.coo_array(X), pandas.DataFrame(X), np.array(X, dtype=np.float32)):
        given = split(x, pandas.Series(Y), x, Y)
        assert (given.x == plain.x).all()
        assert given.classes == plain.classes


@pytest.mark.parametrize("word", ["nan", "inf", "dear"])
def test_words_are_no_numbers_to_predict(word: str) -> None:
    with pytest.raises(InvalidInput, match="y holds"):
        split(X, ["1", "2", word], X, ["1", "2", "3"], regression=True)
