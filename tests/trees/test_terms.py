"""Explainable boosting machines: terms of one and two columns, held to all coalitions of the model itself."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes

import accredit

interpret = pytest.importorskip("interpret.glassbox", reason="explainable boosting machines need interpret-core")
FRAME, Y = load_diabetes(return_X_y=True, as_frame=True)
FRAME = FRAME.iloc[:, :6].assign(kind=pandas.cut(FRAME["s6"], 3, labels=["low", "middle", "high"]).astype(str))
SETTINGS = {"interactions": 5, "max_rounds": 60, "n_jobs": 1}


@pytest.mark.slow
@pytest.mark.parametrize("players", [None, {"blood": ["bp", "s1", "s2"], "who": ["sex", "kind"]}])
@pytest.mark.parametrize("method", ["shapley", "banzhaf"])
def test_values_of_a_machine_are_those_of_all_coalitions(players, method):
    model = interpret.ExplainableBoostingRegressor(**SETTINGS).fit(FRAME, Y)
    asked = {"players": players, "methods": method, "interactions": True}
    got = accredit.explain_rows(FRAME[:2], model, FRAME[60:66], **asked)
    right = accredit.explain_rows(FRAME[:2], model.predict, FRAME[60:66], **asked)
    assert got.method.closed_form and not right.method.closed_form
    assert_allclose(got.credit, right.credit, atol=1e-10)
    assert_allclose(got.pairs, right.pairs, atol=1e-10)
    assert np.abs(got.pairs).max() > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_of_classes_are_read(classes):
    kinds = pandas.cut(Y, classes, labels=False)
    settings = SETTINGS | ({"interactions": 0} if classes > 2 else {})
    model = interpret.ExplainableBoostingClassifier(**settings).fit(FRAME, kinds)
    got = accredit.explain_rows(FRAME[:2], model, FRAME[60:66])
    right = accredit.explain_rows(FRAME[:2], model.decision_function, FRAME[60:66])
    assert got.method.closed_form
    assert_allclose(got.credit[..., -right.credit.shape[2] :], right.credit, atol=1e-10)
