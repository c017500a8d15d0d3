"""Wrappers, sums of models, steps that mix columns before a linear model: each against all coalitions of its own output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import accredit
from accredit.trees.closed_form import NO_FORM, ClosedForm, has_closed_form
from tools.proof.zoo.oracles import brute_force, own_output


def _data(targets: int = 1) -> tuple[Any, Any]:
    import pandas

    rng = np.random.default_rng(0)
    x = pandas.DataFrame(rng.normal(size=(120, 5)), columns=list("abcde"))
    y = np.stack([np.sin(x["a"]) + x["b"] * x["c"] + k * x["d"] for k in range(targets)], axis=1)
    return x, y[:, 0] if targets == 1 else y


def _held(model: Any, x: Any) -> accredit.rows.result.TableExplanation:
    """An explanation in closed form that equals the definition and adds up to the model's own output."""
    rows, background = x.iloc[:3].reset_index(drop=True), x.iloc[50:57].reset_index(drop=True)
    e = accredit.explain_rows(rows, model, background)
    assert e.method.closed_form, e.notes
    oracle = brute_force(model, rows, background, e.payoff)
    assert oracle is not None
    np.testing.assert_allclose(e.credit, oracle[0], atol=1e-9 * (1 + np.abs(oracle[0]).max()))
    np.testing.assert_allclose(e.base + e.credit.sum(axis=1), own_output(model, rows, e.payoff), rtol=1e-9, atol=1e-9)
    return e


def _regressors() -> dict[str, Callable[[], Any]]:
    from sklearn import compose, decomposition, ensemble, frozen, linear_model, pipeline, preprocessing, tree

    scale, ridge = preprocessing.StandardScaler, linear_model.Ridge
    trees = [("tree", tree.DecisionTreeRegressor(max_depth=3)), ("line", pipeline.make_pipeline(scale(), ridge()))]
    union = pipeline.make_union(scale(), decomposition.PCA(2), preprocessing.SplineTransformer(n_knots=3))
    return {
        "stacking": lambda: ensemble.StackingRegressor(trees, linear_model.LinearRegression(), cv=2),
        "a target that was scaled": lambda: compose.TransformedTargetRegressor(trees[0][1], transformer=scale()),
        "principal components": lambda: pipeline.make_pipeline(scale(), decomposition.PCA(3), ridge()),
        "a union of maps": lambda: pipeline.make_pipeline(union, ridge()),
        "a chain in a chain": lambda: pipeline.make_pipeline(scale(), pipeline.make_pipeline(scale(), trees[0][1])),
        "consensus of samples": lambda: linear_model.RANSACRegressor(random_state=0),
        "frozen in a chain": lambda: pipeline.make_pipeline(scale(), frozen.FrozenEstimator(ridge().fit(*_data()))),
    }


@pytest.mark.parametrize("name", _regressors())
def test_sums_and_wrappers_of_regressors_equal_all_coalitions(name):
    x, y = _data()
    _held(_regressors()[name]().fit(x, y), x)


def _classifiers() -> dict[str, Callable[[], Any]]:
    from sklearn import decomposition, discriminant_analysis, ensemble, linear_model, model_selection, multiclass, pipeline

    line = linear_model.LogisticRegression()
    return {
        "one against others": lambda: multiclass.OneVsRestClassifier(line),
        "votes of trees": lambda: ensemble.AdaBoostClassifier(n_estimators=6, random_state=0),
        "quadratic discriminants": discriminant_analysis.QuadraticDiscriminantAnalysis,
        "components": lambda: pipeline.make_pipeline(decomposition.TruncatedSVD(2, random_state=0), line),
        "another threshold": lambda: model_selection.FixedThresholdClassifier(line, threshold=0.2),
    }


ASKED = [(name, classes) for name in _classifiers() for classes in ((2,) if name == "another threshold" else (2, 3))]


@pytest.mark.parametrize(("name", "classes"), ASKED)
def test_sums_and_wrappers_of_classifiers_equal_all_coalitions(name, classes):
    x, y = _data()
    model = _classifiers()[name]().fit(x, np.array(["no", "perhaps", "yes"])[np.digitize(y, [0.0, 1.0][: classes - 1])])
    assert len(_held(model, x).outputs) == classes


def test_one_model_per_target_and_partial_least_squares_equal_all_coalitions():
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.multioutput import MultiOutputRegressor
    from sklearn.tree import DecisionTreeRegressor

    x, y = _data(targets=3)
    for model in (MultiOutputRegressor(DecisionTreeRegressor(max_depth=3)), PLSRegression(2)):
        assert _held(model.fit(x + 3, y), x + 3).credit.shape == (3, 5, 3)


def test_a_regression_of_catboost_behind_a_step_is_read():
    catboost = pytest.importorskip("catboost")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = _data()
    last = catboost.CatBoostRegressor(iterations=8, depth=3, verbose=False, thread_count=1, allow_writing_files=False)
    _held(make_pipeline(StandardScaler(), last).fit(x, y), x)


def test_steps_that_multiply_columns_are_not_taken_for_a_sum():
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    x, y = _data()
    model = make_pipeline(Normalizer(), Ridge()).fit(x, y)
    with pytest.raises(NO_FORM):
        ClosedForm(model, x.iloc[50:57]).share(x.iloc[:3])


def test_what_is_no_sum_says_why():
    from sklearn.ensemble import AdaBoostRegressor

    x, y = _data()
    model = AdaBoostRegressor(n_estimators=3, random_state=0).fit(x, y)
    assert not has_closed_form(model)
    assert any("weighted median" in str(note) for note in accredit.explain_rows(x.iloc[:1], model, x.iloc[50:57]).notes)
