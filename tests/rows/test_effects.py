"""Effects of a column: scikit-learn's own partial dependence, and identities of accumulated local effects."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.inspection import partial_dependence

import accredit
from accredit.rows.effects import accumulate_effects
from tests.wording import refused


def patients(rows=80):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 80, rows).astype(float), "dose": rng.normal(size=rows)})
    frame["ward"] = pd.Categorical(rng.choice(["north", "south", "west"], rows))
    return frame, frame["age"] / 10 + frame["dose"] * (frame["ward"] == "west")


@pytest.mark.slow
@pytest.mark.parametrize("column", ["age", "dose"])
def test_the_mean_of_the_lines_is_scikit_learns_partial_dependence(column):
    frame, target = patients()
    settings = {"max_iter": 20, "categorical_features": "from_dtype", "random_state": 0}
    for model in (
        HistGradientBoostingRegressor(**settings).fit(frame, target),
        HistGradientBoostingClassifier(**settings).fit(frame, target > target.median()),
    ):
        found = accredit.Explainer(model, background=frame[:20]).effect(frame, column, points=10)
        values = {column: np.array(found.grid)}
        response = "decision_function" if hasattr(model, "classes_") else "auto"
        theirs = partial_dependence(
            model, frame, [column], method="brute", kind="both", response_method=response, custom_values=values
        )
        assert_allclose(found.mean, theirs["average"][0], atol=1e-9)
        assert_allclose(found.lines, theirs["individual"][0], atol=1e-9)
        assert len(found.grid) == 10 and found.explanation.credit.shape[0] == len(frame)


def test_words_have_lines_and_no_accumulated_effects():
    frame, target = patients()
    model = HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype").fit(frame, target)
    explainer = accredit.Explainer(model, background=frame[:20])
    found = explainer.effect(frame[:30], "ward")
    assert found.grid == ("north", "south", "west") and found.accumulated is None
    own = [found.grid.index(ward) for ward in frame["ward"][:30]]
    assert_allclose(found.lines[np.arange(30), own], model.predict(frame[:30]))  # each row at its own value
    assert found.plot().get_xticklabels()[0].get_text() in found.grid
    with refused("unknown", "column"):
        explainer.effect(frame[:30], "wards")
    with refused("range", "points"):
        explainer.effect(frame[:30], "ward", points=2)


def test_accumulated_effects_see_no_interaction_that_correlation_hides():
    x = np.linspace(-1, 1, 201)
    grid = np.linspace(-1, 1, 21)
    lines = grid * x[:, None]  # f = x₁ x₂, in rows where x₂ = x₁: the mean of the lines is flat
    assert_allclose(lines.mean(axis=0), 0, atol=1e-12)
    found = accumulate_effects(lines, x, grid)
    assert_allclose(found - found[10], grid**2 / 2, atol=6e-3)  # the integral of x₂ = x₁; rows are 0.01 apart
