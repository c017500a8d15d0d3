"""Survival curves as outputs: scikit-survival's own curves, mixed by hand, are the oracle."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit import explain
from accredit.models.survival import SurvivalCurves
from accredit.values.semivalues import shapley_from_table
from tests.wording import refused


def data(rows=150):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 4))
    time, event = rng.exponential(np.exp(-x[:, 0] - x[:, 1] * x[:, 2])), rng.random(rows) < 0.7
    return x, np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])


def brute_force(curves, row, background):
    v = []
    for plays in product([False, True], repeat=4):
        mixed = np.where(np.array(plays[::-1]), row, background)
        v.append(np.mean([curve(curves.times) for curve in getattr(curves.model, ASK[curves.curve])(mixed)], axis=0))
    return np.stack([shapley_from_table(np.array(v)[:, k].copy()) for k in range(len(curves.times))], axis=1)


ASK = {"survival": "predict_survival_function", "cumulative hazard": "predict_cumulative_hazard_function"}


@pytest.mark.slow
@pytest.mark.parametrize("curve", list(ASK))
@pytest.mark.parametrize("name", ["RandomSurvivalForest", "ExtraSurvivalTrees"])
def test_forests_are_exact_in_closed_form_at_every_time(name, curve):
    ensemble = pytest.importorskip("sksurv.ensemble", reason="scikit-survival is not installed")
    x, y = data()
    model = getattr(ensemble, name)(8, min_samples_leaf=5, random_state=0).fit(x, y)
    curves = SurvivalCurves(model, curve=curve)
    found = explain(x[:2], curves, background=x[50:70])
    assert found.method.closed_form
    assert found.outputs == curves.labels
    for r in range(2):
        assert_allclose(found.credit[r], brute_force(curves, x[r], x[50:70]), atol=1e-9)
    between = SurvivalCurves(model, times=(curves.times[2:5] + curves.times[3:6]) / 2, curve=curve)
    assert_allclose(explain(x[:1], between, background=x[50:70]).credit[0], brute_force(between, x[0], x[50:70]), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("ensemble.RandomSurvivalForest", {"n_estimators": 8}),
        ("ensemble.RandomSurvivalForest", {"n_estimators": 8, "low_memory": True}),
        ("ensemble.ExtraSurvivalTrees", {"n_estimators": 8}),
        ("ensemble.GradientBoostingSurvivalAnalysis", {"n_estimators": 8}),
        ("ensemble.GradientBoostingSurvivalAnalysis", {"n_estimators": 8, "dropout_rate": 0.3}),
        ("tree.SurvivalTree", {"low_memory": True}),
        ("tree.ExtraSurvivalTree", {}),
    ],
)
def test_the_risk_of_survival_trees_is_exact_in_closed_form(name, settings):
    home, name = name.split(".")
    library = pytest.importorskip(f"sksurv.{home}", reason="scikit-survival is not installed")
    x, y = data()
    model = getattr(library, name)(min_samples_leaf=5, random_state=0, **settings).fit(x, y)
    found = explain(x[:2], model, background=x[50:70])
    assert found.method.closed_form
    for r in range(2):
        mixed = [np.where(np.array(plays[::-1]), x[r], x[50:70]) for plays in product([False, True], repeat=4)]
        expected = shapley_from_table(np.array([model.predict(rows).mean() for rows in mixed]))
        assert_allclose(found.credit[r][:, 0], expected, atol=1e-9)


@pytest.mark.slow
def test_other_survival_models_are_asked_as_they_are():
    linear = pytest.importorskip("sksurv.linear_model", reason="scikit-survival is not installed")
    x, y = data()
    curves = SurvivalCurves(linear.CoxPHSurvivalAnalysis(alpha=0.1).fit(x, y), times=[0.2, 1.0])
    found = explain(x[:1], curves, background=x[50:60])
    assert found.outputs == ("t = 0.2", "t = 1")
    assert_allclose(found.credit[0], brute_force(curves, x[0], x[50:60]), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["survival:cox", "survival:aft"])
def test_xgboost_shares_the_logarithm_in_closed_form(objective):
    xgboost = pytest.importorskip("xgboost")
    x, y = data()
    matrix = xgboost.DMatrix(x)
    if objective == "survival:cox":
        matrix.set_label(np.where(y["event"], y["time"], -y["time"]))
    else:
        matrix.set_float_info("label_lower_bound", y["time"])
        matrix.set_float_info("label_upper_bound", np.where(y["event"], y["time"], np.inf))
    model = xgboost.train({"objective": objective, "max_depth": 3, "nthread": 1}, matrix, 10)
    found = explain(x[:2], model, background=x[50:70], payoff="log")
    assert found.method.closed_form
    raw = explain(x[:2], lambda rows: model.predict(xgboost.DMatrix(rows), output_margin=True), background=x[50:70])
    assert_allclose(found.credit, raw.credit, atol=1e-5)
    assert_allclose(np.exp(found.prediction[:, 0]), model.predict(xgboost.DMatrix(x[:2])), rtol=1e-4)


class Halving:
    """A model with curves of its own, without any library."""

    unique_times_ = np.array([0.0, 1.0, 2.0, 4.0])

    def predict_survival_function(self, rows):
        return [lambda t, rate=row[0]: 0.5 ** (rate * t) for row in np.asarray(rows)]


def test_any_model_that_gives_one_function_per_row_is_read():
    found = explain([[1.0, 9.0]], SurvivalCurves(Halving(), times=[1.0, 2.0]), background=[[0.0, 0.0]])
    assert found.outputs == ("t = 1", "t = 2")
    assert_allclose(found.credit[0], [[-0.5, -0.75], [0.0, 0.0]])


def test_refusals():
    for settings, code, argument in (
        ({"times": [2.0, 1.0]}, "range", "times"),
        ({"times": [1.0, 9.0]}, "range", "times"),
        ({"times": []}, "range", "times"),
        ({"curve": "density"}, "unknown", "curve"),
        ({"curve": "cumulative hazard"}, "type", "model"),
    ):
        with refused(code, argument):
            SurvivalCurves(Halving(), **settings)
