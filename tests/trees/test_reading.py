"""Reading models: right to the model's own output, or refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.models.categories import with_categories
from accredit.trees import Forest, NotTrees, Tree, ensemble_of, forest_of, load_ensemble, tree_credit
from accredit.trees.reading.ensemble import probes
from accredit.trees.reading.ubjson import from_ubjson
from tests.trees.families import FAMILIES, frame, numbers, three
from tests.wording import refused


def test_files_give_the_trees_of_the_model_that_was_saved(tmp_path):
    import lightgbm as lgb
    import xgboost as xgb

    x, y = numbers(0, missing=True)
    boosted = xgb.XGBRegressor(n_estimators=3, max_depth=3, n_jobs=1).fit(x, y)
    leafwise = lgb.LGBMRegressor(n_estimators=3, num_leaves=6, min_child_samples=5, verbose=-1, n_jobs=1).fit(x, y)
    boosted.save_model(tmp_path / "m.json")
    boosted.save_model(tmp_path / "m.ubj")
    leafwise.booster_.save_model(tmp_path / "m.txt")
    for name, model in (("m.json", boosted), ("m.ubj", boosted), ("m.txt", leafwise)):
        read = load_ensemble(tmp_path / name)
        assert_allclose(read.raw(x), ensemble_of(model).forest.margin(read.matrix(x)), rtol=1e-6, atol=1e-6)


def test_names_that_xgboost_saves_with_wrong_ends_are_not_guessed():
    import pandas as pd
    import xgboost as xgb

    town = pd.Categorical(["Ulm", "Köln", "Aachen"] * 20, categories=["Ulm", "Köln", "Aachen"])
    data = pd.DataFrame({"age": np.arange(60.0), "town": town})
    model = xgb.XGBRegressor(n_estimators=3, enable_categorical=True, n_jobs=1).fit(data, np.arange(60) % 3)
    read = ensemble_of(model)
    assert_allclose(read.forest.margin(read.matrix(data))[:, 0], model.predict(data), atol=1e-6)
    with refused("unsupported"):
        with_categories(data.astype({"town": str}), model)


def test_files_that_could_run_code_are_never_opened(tmp_path):
    (tmp_path / "model.json").write_bytes(b"\x80\x04K\x01.")  # a pickle under another name
    with refused("format"):
        load_ensemble(tmp_path / "model.json")
    with refused("missing"):
        load_ensemble(tmp_path / "nothing.ubj")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reading_that_differs_from_the_model_is_refused(family):
    """One leaf moved by a thousandth of its size is noticed on rows made from the thresholds, or on the rows given."""
    model, rows = FAMILIES[family](0)
    read = ensemble_of(model)
    leaves = np.unique(read.forest.leaves(read.matrix(rows)))
    value = read.forest.value.copy()
    value[leaves] *= 1.001
    wrong = replace(read, forest=replace(read.forest, value=value))
    with refused("unsupported", kind=NotTrees, has="the model gives"):
        wrong.matrix(rows)


def test_xgboost_compares_in_single_precision():
    """A number that is below its threshold only in double precision goes where xgboost sends it."""
    import xgboost as xgb

    x, y = numbers(1, missing=False)
    read = ensemble_of(xgb.XGBRegressor(n_estimators=3, max_depth=3, n_jobs=1).fit(x, y))
    inner = read.forest.feature >= 0
    rows = np.repeat(x[:1], inner.sum(), axis=0)
    rows[np.arange(len(rows)), read.forest.feature[inner]] = read.forest.threshold[inner] * (1 - 1e-12)
    assert_allclose(read.forest.margin(read.forest.matrix(rows)), read.raw(rows), rtol=1e-6, atol=1e-6)


def test_early_stopping_keeps_the_trees_that_predict():
    import lightgbm as lgb
    import xgboost as xgb

    x, y = numbers(2, missing=False)
    noise = np.random.default_rng(0).normal(size=len(y))
    stopped = xgb.XGBRegressor(n_estimators=60, early_stopping_rounds=2, n_jobs=1)
    stopped.fit(x[:60], y[:60], eval_set=[(x[60:], noise[60:])], verbose=False)
    assert ensemble_of(stopped).forest.trees == stopped.best_iteration + 1
    ensemble_of(stopped).matrix(x)
    leafwise = lgb.LGBMRegressor(n_estimators=60, num_leaves=4, min_child_samples=5, verbose=-1, n_jobs=1)
    leafwise.fit(x[:60], y[:60], eval_set=[(x[60:], noise[60:])], callbacks=[lgb.early_stopping(2, verbose=False)])
    assert ensemble_of(leafwise).forest.trees == leafwise.best_iteration_
    ensemble_of(leafwise).matrix(x)


def linear_booster() -> Any:
    import xgboost as xgb

    x, y = numbers(0, missing=False)
    return xgb.XGBRegressor(booster="gblinear", n_estimators=2, n_jobs=1).fit(x, y)


def vector_leaves() -> Any:
    import xgboost as xgb

    x, y = numbers(0, missing=False)
    model = xgb.XGBClassifier(n_estimators=2, multi_strategy="multi_output_tree", tree_method="hist", n_jobs=1)
    return model.fit(x, three(y))


def target_statistics() -> Any:
    import catboost as cat

    x, y = frame(1, missing=False)
    x["town"], x["size"] = x["town"].astype(str), x["size"].astype(int)
    settings = {"iterations": 8, "depth": 3, "one_hot_max_size": 2, "verbose": 0, "allow_writing_files": False}
    return cat.CatBoostRegressor(cat_features=["town"], thread_count=1, **settings).fit(x, y)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (linear_booster, "no trees"),
        (target_statistics, "statistics of the target"),
        (lambda: "model", "not a tree ensemble"),
    ],
)
def test_models_that_are_not_sums_of_leaves_are_refused_by_name(make, says):
    with pytest.raises(NotTrees, match=says):
        ensemble_of(make())


def test_leaves_of_several_outputs_are_read():
    model, x = vector_leaves(), numbers(0, missing=False)[0]
    read = ensemble_of(model)
    assert_allclose(read.forest.margin(read.matrix(x)), model.predict(x, output_margin=True), rtol=1e-5, atol=1e-6)


def test_frames_must_have_the_columns_of_the_training():
    model, rows = FAMILIES["lightgbm"](1)
    read = ensemble_of(model)
    with pytest.raises(InvalidInput, match="lacks"):
        read.matrix(rows.drop(columns="b"))
    with pytest.raises(InvalidInput, match="another order"):
        read.matrix(rows[rows.columns[::-1]])


def test_a_category_that_xgboost_never_saw_is_refused_by_name():
    model, rows = FAMILIES["xgboost"](1)
    other = rows.head(3).copy()
    other["town"] = other["town"].cat.set_categories(["unheard of"]).fillna("unheard of")
    with pytest.raises(InvalidInput, match="unheard of"):
        ensemble_of(model).matrix(other)


def test_probes_sit_on_both_sides_of_every_threshold():
    forest = forest_of(FAMILIES["scikit"](0)[0])
    left = forest.decisions(np.flatnonzero(forest.feature >= 0), probes(forest, missing=False))
    assert left.any(axis=1).all() and not left.all(axis=1).any()


def test_cover_ratios_without_cover_are_refused():
    forest = forest_of(FAMILIES["scikit"](0)[0])
    bare = replace(forest, cover=np.zeros_like(forest.cover))
    with pytest.raises(InvalidInput, match="give a background"):
        tree_credit(bare, np.zeros((1, 5)))


def test_a_forest_takes_rows_of_any_kind_and_refuses_other_shapes_in_words():
    stump = Tree([0, -1, -1], [0.1, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 3], [4, 1, 3])
    forest = Forest.of([stump], features=1, single=True)
    assert forest.margin([[0.2], [0.05]]).tolist() == [[3.0], [1.0]]
    assert forest.margin(np.array([[0.1 - 1e-12]])).tolist() == [[3.0]]  # in single precision 0.1 lies above 0.1
    for rows, why in (([0.2], "shape"), ("0.2", "rows"), ([["a"]], "rows")):
        with pytest.raises(InvalidInput, match=why):
            forest.margin(rows)


@pytest.mark.parametrize("spoil", [lambda raw: raw[:500], lambda raw: b"[" + raw])
def test_binary_json_that_is_not_whole_is_refused(spoil):
    import xgboost as xgb

    x, y = numbers(0, missing=False)
    raw = bytes(xgb.train({"nthread": 1}, xgb.DMatrix(x, y), 2).save_raw("ubj"))
    assert len(from_ubjson(raw)["learner"]["gradient_booster"]["model"]["trees"]) == 2
    with refused("unreadable", kind=NotTrees, has="not the UBJSON"):
        from_ubjson(spoil(raw))
