from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accredit.core import InvalidInput
from accredit.valuation import groups_of, split

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
        (([["a"], ["b"], ["c"]], Y, X, Y), "x must be numbers"),
        (([], [], X, Y), "shape"),
        ((X, [0.0, np.nan, 1.0], X, Y), "y holds nan in row 1"),
    ],
)
def test_bad_data_is_refused_by_name(arguments: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        split(*arguments)


def test_names_must_fit() -> None:
    with pytest.raises(InvalidInput, match="2 names for 3"):
        split(X, Y, X, Y, names=["a", "b"])
    with pytest.raises(InvalidInput, match="regression needs numbers"):
        split(X, ["a", "b", "c"], X, ["a", "b", "c"], regression=True)


def test_labels_become_class_numbers_in_sorted_order() -> None:
    data = split(X, ["yes", "no", "yes"], X[:1], ["no"])
    assert (data.classes, data.y.tolist(), data.test_y.tolist()) == (("no", "yes"), [1, 0, 1], [0])


def test_groups_keep_the_order_of_first_appearance() -> None:
    assert list(groups_of(["r0", "r1", "r2"], [2, 1, 2])) == ["2", "1"]
