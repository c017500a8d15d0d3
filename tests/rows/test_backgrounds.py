"""Backgrounds: in full, drawn, or as medoids; whatever was done is said, and weights count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression

import accredit
from accredit.errors import InvalidInput
from accredit.explanation.explainer import explain_rows
from accredit.rows.backgrounds import compare_with, medoids
from accredit.rows.frames import rows_of
from tests.wording import refused, says

OF_MEDOIDS = "rows that each medoid stands for"

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
MODEL = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, Y)


def two_kinds() -> pd.DataFrame:
    """Two clouds of rows, 30 and 10, that every kind of column tells apart; some cells are missing."""
    first = np.arange(40) < 30
    frame = pd.DataFrame(
        {
            "years": np.where(first, 20, 60) + np.arange(40) % 3,
            "town": pd.Categorical(np.where(first, "A", "B")),
            "member": pd.array(first, dtype="boolean"),
            "since": pd.to_datetime(np.where(first, "2020-01-01", "2024-01-01")),
            "pay": np.where(first, 1.0, np.nan),
            "name": np.where(first, "x", "y").astype(object),
        }
    )
    frame.loc[[3, 35], "since"] = pd.NaT
    frame.loc[5, "member"] = pd.NA
    return frame


def test_medoids_are_real_rows_counted_by_their_clusters():
    frame = two_kinds()
    chosen, weights = medoids(rows_of(frame), np.full(40, 1 / 40), 2, seed=0)
    assert_allclose(weights, [0.75, 0.25])
    assert chosen[0] < 30 <= chosen[1]
    some = compare_with(frame, frame, most=2, by="medoids")
    assert some.rows is not None and list(some.rows.table.dtypes) == list(frame.dtypes)
    assert some.facts["background rows"] == 2 and some.facts["background given"] == 40


def test_equal_rows_give_fewer_medoids_than_asked_for():
    chosen, weights = medoids(rows_of(np.repeat([[1.0], [2.0]], [3, 1], axis=0)), np.full(4, 0.25), 3, seed=1)
    assert len(chosen) == 2
    assert_allclose(np.sort(weights), [0.25, 0.75])


@pytest.mark.parametrize("model", [MODEL, LinearRegression().fit(X, Y), lambda rows: rows[:, 0] * rows[:, 1]])
@pytest.mark.parametrize("by", ["draw", "medoids"])
def test_a_thinned_background_is_that_background_with_its_weights(model, by):
    """By trees, sums of columns and games alike; the result says how many rows, which way and what they count."""
    some = compare_with(X, X, most=12, by=by, seed=3)
    assert some.rows is not None
    thinned = accredit.explain(X[:4], model, background=X, most_background=12, background_by=by, seed=3)
    given = explain_rows(X[:4], model, some.rows.table, weights=some.weights, seed=3)
    assert_allclose(thinned.credit, given.credit, atol=1e-12)
    assert says(thinned.notes[0].text, "of 300 rows") and "seed 3" in thinned.notes[0].text
    facts = thinned.provenance
    assert (facts["background rows"], facts["background given"], facts["background by"]) == (12, 300, by)
    assert facts["background weights"] == ("equal" if by == "draw" else OF_MEDOIDS)


@pytest.mark.slow
def test_medoids_are_nearer_to_the_whole_background_than_a_draw():
    """Mean error over 20 seeds against the credit of all 300 rows."""
    whole = explain_rows(X[:20], MODEL, X).credit
    error = {
        by: np.mean(
            [
                np.abs(explain_rows(X[:20], MODEL, X, most_background=15, background_by=by, seed=s).credit - whole).mean()
                for s in range(20)
            ]
        )
        for by in ("draw", "medoids")
    }
    assert error["medoids"] < 0.8 * error["draw"]


def test_a_background_in_full_is_said_to_be():
    facts = explain_rows(X[:2], MODEL, X, most_background=300).provenance
    assert facts["background by"] == "all" and facts["background rows"] == 300
    own = explain_rows(X, MODEL, most_background=30)
    assert says(own.notes[0].text, "background was given") and says(own.notes[0].text, "30 of 300")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"most_background": 0}, "most_background must be a whole number of at least 1, got 0"),
        ({"most_background": True}, "most_background must be a whole number of at least 1, got True"),
        ({"most_background": 2.5}, "most_background must be a whole number of at least 1, got 2.5"),
        ({"background_by": "draw"}, "write most_background=100"),
        ({"most_background": 5, "background_by": "kmeans"}, "'draw' or 'medoids'"),
        ({"weights": [1.0]}, "300 non-negative numbers"),
        ({"weights": ["a"] * 300}, "weights must be real numbers"),
        ({"dependence": "cover"}, "leave background out"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, said):
    with pytest.raises(InvalidInput, match=said):
        explain_rows(X[:2], MODEL, X, **settings)


def test_thinning_needs_a_background():
    with pytest.raises(InvalidInput, match="background=training_rows"):
        explain_rows(X[:2], MODEL, most_background=5)
    with refused("conflict", "dependence"):
        explain_rows(X[:2], MODEL, dependence="cover", most_background=5)
