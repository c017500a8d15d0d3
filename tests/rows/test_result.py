"""Explained tables: parts, sums, importance over rows, and files that are read back to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ttest_1samp

from accredit.errors import InvalidInput
from accredit.rows.result import TableExplanation
from tests.wording import refused


def sample(rows=5, players=3, outputs=2):
    rng = np.random.default_rng(0)
    credit = rng.normal(size=(rows, players, outputs))
    return TableExplanation(
        tuple("abcdefgh"[:players]),
        ("no", "yes")[:outputs],
        credit,
        np.array([1.0, -1.0])[:outputs],
        np.array([1.0, -1.0])[:outputs] + credit.sum(axis=1),
        [[r * 10 + i for r in range(rows)] for i in range(players)],
        "shapley",
        target=("no", "yes")[outputs - 1],
        payoff="logit",
        model="forest",
    )


def test_credits_and_base_value_add_up():
    assert_allclose(sample().unshared, 0, atol=1e-12)
    one = sample().row(2)
    assert one.baseline == -1.0 and abs(one.unshared) < 1e-12
    assert one.provenance["target"] == "yes" and one.provenance["values"] == {"a": 20, "b": 21, "c": 22}


def test_other_outputs_and_parts():
    e = sample()
    assert_allclose(e.of("no").row(1).credit, e.credit[1, :, 0])
    part = e[1:3]
    assert part.rows == ("1", "2") and part.cells[0] == (10, 20) and len(part) == 2
    for wrong in (lambda: e.of("maybe"), lambda: e.row(5), lambda: e.row(True), lambda: e[5:]):
        with pytest.raises(InvalidInput):
            wrong()


def test_importance_is_a_mean_with_the_interval_of_a_t_test():
    e = sample(rows=40)
    sizes = np.abs(e.credit[:, 0, 1])
    low, high = ttest_1samp(sizes, 0).confidence_interval(0.95)
    assert_allclose(e.importance().credit[0], sizes.mean())
    assert_allclose(e.importance().interval[0], [max(low, 0), high])
    assert sample(rows=1).importance().interval is None


def test_json_gives_back_the_same():
    assert TableExplanation.from_json(sample().to_json()) == sample()
    with pytest.raises(InvalidInput):
        TableExplanation.from_json('{"kind": "table explanation", "format": 1}')


def test_shapes_are_checked():
    with refused("shape", "cells"):
        TableExplanation(("a",), ("y",), [[[1.0]]], [0.0], [[1.0]], [[1, 2]], "m")
    with pytest.raises(InvalidInput, match="no rows"):
        TableExplanation(("a",), ("y",), np.zeros((0, 1, 1)), [0.0], np.zeros((0, 1)), [[]], "m")
    with pytest.raises(InvalidInput, match="prediction"):
        TableExplanation(("a",), ("y",), [[[1.0]]], [0.0], [1.0], [[1]], "m")


def test_as_a_frame():
    frame = sample().to_pandas()
    assert list(frame.columns) == ["a", "b", "c", "(base value)", "(prediction)"]
    assert_allclose(frame[["a", "b", "c", "(base value)"]].sum(axis=1), frame["(prediction)"])
