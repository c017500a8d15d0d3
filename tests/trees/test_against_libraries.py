"""Ordinary models, as people train them, against the libraries' own contributions and outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import accredit
from accredit.trees import closed_form, ensemble_of
from tests.wording import refused

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 5))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.1 * RNG.normal(size=300)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1e5])
def test_a_thousand_trees_of_xgboost_are_read(scale):
    """Sums of many leaves in single precision once differed by more than a tolerance that did not count them."""
    import xgboost as xgb

    model = xgb.XGBRegressor(n_estimators=1000, max_depth=4, learning_rate=0.05, n_jobs=1).fit(X, scale * Y)
    own = model.get_booster().predict(xgb.DMatrix(X[:5]), pred_contribs=True)
    found = accredit.explain_rows(X[:5], model, dependence="cover")
    assert_allclose(found.credit[..., 0], own[:, :-1], atol=1e-4 * np.abs(own).max())
    assert accredit.explain_rows(X[:5], model, X[100:110]).method.closed_form


def test_a_leaf_read_wrong_is_still_seen_among_many():
    """The wider tolerance of many trees must not hide a fault in one of them."""
    from dataclasses import replace

    import xgboost as xgb

    from accredit.trees import NotTrees

    read = ensemble_of(xgb.XGBRegressor(n_estimators=300, max_depth=3, n_jobs=1).fit(X, Y))
    value = read.forest.value.copy()
    value[np.flatnonzero(value[:, 0])[0]] += 0.01
    with refused("unsupported", kind=NotTrees, has="the model gives"):
        replace(read, forest=replace(read.forest, value=value)).check()


@pytest.mark.parametrize("objective", ["binary:logistic", "count:poisson", "reg:squarederror"])
def test_the_message_names_the_numbers_under_the_objectives_own_link(monkeypatch, objective):
    """It once named those of the link that was tried last."""
    import xgboost as xgb

    from accredit.trees import NotTrees
    from accredit.trees.reading import boosters

    right = boosters._xgboost_tree

    def spoil(tree: Any, output: int) -> Any:
        read = right(tree, output)
        read.value[:] += 0.5
        return read

    monkeypatch.setattr(boosters, "_xgboost_tree", spoil)
    model = xgb.train({"objective": objective, "max_depth": 2, "nthread": 1}, xgb.DMatrix(X, Y > 1), 1)
    with pytest.raises(NotTrees) as refused:
        ensemble_of(model)
    read, said = (float(str(refused.value).split(word)[1].split(" ")[0]) for word in ("Booster give ", "model gives "))
    assert_allclose(read - said, 0.5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 4, 6])
def test_cover_ratios_of_symmetric_trees_are_catboosts(depth):
    import catboost as cat

    settings: dict[str, Any] = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = cat.CatBoostRegressor(iterations=20, depth=depth, **settings).fit(X, Y)
    own = model.get_feature_importance(cat.Pool(X[:5]), type="ShapValues")
    found = accredit.explain_rows(X[:5], model, dependence="cover")
    assert_allclose(found.credit[..., 0], own[:, :-1], atol=1e-9)
    assert_allclose(np.broadcast_to(found.base, 5), own[:, -1])


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["Poisson", "Tweedie:variance_power=1.5", "RMSEWithUncertainty"])
def test_catboosts_raw_score_is_not_called_its_value_where_it_predicts_another_number(loss):
    import catboost as cat

    model = cat.CatBoostRegressor(iterations=10, loss_function=loss, verbose=0, allow_writing_files=False, thread_count=1)
    model.fit(X, np.exp(Y))
    found = closed_form(model, X[:5], X[100:110])
    predicted = np.asarray(model.predict(X[:5])).reshape(5, -1)
    total = found.base + found.credit.sum(axis=1)
    assert not np.allclose(total, predicted) and found.payoff != "value"
    if found.payoff == "log of the value":
        assert_allclose(np.exp(total), predicted)
    shared = accredit.explain_rows(X[:5], model, X[100:110])
    assert shared.payoff == "value" and not shared.method.closed_form
    assert_allclose(shared.base + shared.credit.sum(axis=1), predicted)


def test_lightgbm_reads_a_frame_whose_names_have_spaces():
    import lightgbm as lgb

    frame = pd.DataFrame(X, columns=["mean size", "b", "c (cm)", "d", "e"])
    model = lgb.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1).fit(frame, Y)
    own = model.predict(frame.iloc[:3], pred_contrib=True)
    assert_allclose(accredit.explain_rows(frame.iloc[:3], model, dependence="cover").credit[..., 0], own[:, :-1])


@pytest.mark.parametrize("kind", ["PoissonRegressor", "GammaRegressor", "TweedieRegressor", "HistGradientBoostingRegressor"])
def test_the_logarithm_of_a_models_number_has_a_closed_form(kind):
    from sklearn import ensemble, linear_model

    settings = {"TweedieRegressor": {"power": 1.5}, "HistGradientBoostingRegressor": {"loss": "poisson", "max_iter": 5}}
    make = getattr(linear_model, kind, None) or getattr(ensemble, kind)
    model = make(**settings.get(kind, {})).fit(X, np.exp(Y))
    found = accredit.explain_rows(X[:3], model, X[100:110], payoff="log")
    assert found.method.closed_form and found.payoff == "log"
    assert_allclose(np.exp(found.base + found.credit.sum(axis=1))[:, 0], model.predict(X[:3]))
