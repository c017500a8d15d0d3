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
    from dataclasses import replace

    import xgboost as xgb

    from accredit.trees import NotTrees
    from accredit.trees.reading import boosters

    right = boosters._xgboost_tree

    def spoil(tree: Any, output: int) -> Any:
        read = right(tree, output)
        return replace(read, value=read.value + 0.5)

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


UNLIKE = {
    "leaves of several depths": {"grow_policy": "Lossguide", "max_leaves": 4},
    "monotone": {"monotone_constraints": [1, 1, 0, 0, 0]},
}


@pytest.mark.slow
@pytest.mark.parametrize("settings", UNLIKE.values(), ids=UNLIKE)
def test_cover_ratios_are_the_definition_where_catboosts_own_are_not(settings):
    """Its contributions do not add up in trees that are not symmetric, and leave out leaves without training rows, which hold
    something in monotone trees only. The definition is worked out from its JSON, over all coalitions."""
    import catboost as cat

    from tools.proof.zoo.oracles import contributions

    model = cat.CatBoostRegressor(iterations=10, depth=6, thread_count=1, verbose=False, allow_writing_files=False, **settings)
    model.fit(X, Y)
    rows = pd.DataFrame(X[:4])
    theirs = model.get_feature_importance(cat.Pool(X[:4]), type="ShapValues")
    found, right = accredit.explain_rows(X[:4], model, dependence="cover"), contributions(model, rows)
    assert right is not None
    assert_allclose(found.credit, right[0], atol=1e-12)
    assert_allclose(found.base, right[1][0], atol=1e-12)
    assert_allclose(found.base + found.credit.sum(axis=1)[:, 0], model.predict(X[:4]), atol=1e-12)
    assert np.abs(theirs[:, :-1] - right[0][..., 0]).max() > 1e-3


@pytest.mark.parametrize("several", ["one_output_per_tree", "multi_output_tree"])
def test_labels_of_which_a_row_may_have_several_are_shared_one_by_one(several):
    import xgboost as xgb

    model = xgb.XGBClassifier(n_estimators=5, max_depth=3, multi_strategy=several, n_jobs=1).fit(X, X[:, :3] > 0)
    for read in (model, model.get_booster()):
        found = accredit.explain_rows(X[:3], read, X[10:15])
        assert found.method.closed_form and found.payoff == "logit"
        assert_allclose(found.base + found.credit.sum(axis=1), model.predict(X[:3], output_margin=True), atol=1e-5)


def test_scores_of_an_objective_of_ones_own_are_not_called_probabilities():
    import lightgbm as lgb

    def logistic(y: Any, score: Any) -> tuple[Any, Any]:
        chance = 1 / (1 + np.exp(-score))
        return chance - y, chance * (1 - chance)

    model = lgb.LGBMClassifier(objective=logistic, n_estimators=5, n_jobs=1, verbose=-1).fit(X, X[:, 0] > 0)
    found = accredit.explain_rows(X[:3], model, X[10:15])
    assert_allclose(found.prediction[:, 1], model.predict(X[:3], raw_score=True))
    assert found.method.closed_form and found.payoff == "logit"
    with refused("unknown", "payoff"):
        accredit.explain_rows(X[:3], model, X[10:15], payoff="probability")


@pytest.mark.parametrize("kind", ["forest", "catboost", "gblinear"])
def test_what_a_nullable_column_holds_as_missing_is_missing(kind):
    import catboost as cat
    import xgboost as xgb
    from sklearn.ensemble import RandomForestRegressor

    frame = pd.DataFrame(X, columns=list("abcde")).assign(e=pd.array([1, pd.NA, 3] * 100, dtype="Int64"))
    model: Any = {
        "forest": RandomForestRegressor(3, max_depth=3, random_state=0),
        "catboost": cat.CatBoostRegressor(iterations=3, depth=3, verbose=False, allow_writing_files=False, thread_count=1),
        "gblinear": xgb.XGBRegressor(booster="gblinear", n_estimators=3, n_jobs=1),
    }[kind].fit(frame, Y + frame["e"].fillna(0).to_numpy(dtype=np.float64))
    found = accredit.explain_rows(frame[:4], model, frame[10:20])
    assert found.method.closed_form
    assert_allclose(found.base + found.credit.sum(axis=1)[:, 0], model.predict(frame[:4]), rtol=1e-5)


@pytest.mark.parametrize("side", [-1, 0, 1])
def test_rows_on_thresholds_of_single_precision_go_where_the_model_sends_them(side):
    """Decimals that single precision does not have, and numbers beyond 2²⁴, of which it has only the even ones."""
    import xgboost as xgb

    rng = np.random.default_rng(1)
    x = np.column_stack([rng.normal(size=400).round(1), 16_777_216.0 + rng.integers(0, 6, 400)])
    model = xgb.XGBRegressor(n_estimators=20, max_depth=4, tree_method="exact", n_jobs=1).fit(x, x[:, 0] * (x[:, 1] % 4))
    beside = np.nextafter(x[:50], side * np.inf) if side else x[:50]
    found = closed_form(model, beside, x[100:120])
    assert_allclose(found.margin[:, 0], model.predict(beside), atol=1e-4)
    assert_allclose(found.base + found.credit.sum(axis=1), found.margin, atol=1e-10)
