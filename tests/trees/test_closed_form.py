"""Pipelines and linear models: input columns are the players, and credit is that of all coalitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model, preprocessing, tree
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from accredit.core.coalitions import from_index
from accredit.errors import InvalidInput
from accredit.products import NotProducts
from accredit.rows.frames import stack
from accredit.rows.game import mix
from accredit.trees import NotSeparable, closed_form, owners
from accredit.values.semivalues import shapley_from_table
from tests.trees.families import frame, numbers, three


def encoder() -> Any:
    """Imputed and scaled numbers, one-hot categories, in an order that is not the input's."""
    return ColumnTransformer(
        [
            ("towns", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["town"]),
            (
                "numbers",
                make_pipeline(SimpleImputer(add_indicator=True), preprocessing.StandardScaler()),
                ["c", "a", "b"],
            ),
            ("sizes", preprocessing.OrdinalEncoder(), ["size"]),
        ]
    )


PIPELINES = {
    "trees": lambda x, y: make_pipeline(encoder(), RandomForestRegressor(5, max_depth=4, random_state=0)).fit(x, y),
    "boosting": lambda x, y: make_pipeline(
        encoder(), GradientBoostingClassifier(n_estimators=4, max_depth=3, random_state=0)
    ).fit(x, three(y)),
    "linear": lambda x, y: make_pipeline(encoder(), linear_model.Ridge()).fit(x, y),
    "logistic": lambda x, y: make_pipeline(encoder(), linear_model.LogisticRegression()).fit(x, three(y)),
}


def own_output(model: Any, rows: Any) -> np.ndarray:
    decide = model.decision_function if hasattr(model, "decision_function") else model.predict
    return np.asarray(decide(rows)).reshape(len(rows), -1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PIPELINES)
def test_input_columns_of_a_pipeline_get_the_credit_of_all_coalitions(kind):
    x, y = frame(3)
    model = PIPELINES[kind](x, y)
    background = x[:7]
    got = closed_form(model, x[40:42], background, interactions=True)
    assert got.columns == ("a", "b", "c", "town", "size")
    for r in range(2):
        every = mix(stack(background, x[40 + r : 41 + r]), 7, 7, from_index(np.arange(32), 5))
        v = own_output(model, every).reshape(32, 7, -1).mean(axis=1)
        for output in range(v.shape[1]):
            assert_allclose(got.credit[r, :, output], shapley_from_table(v[:, output]), atol=1e-9)
        assert_allclose(got.base, v[0], atol=1e-9)
        assert_allclose(got.margin[r], v[-1], atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        linear_model.LinearRegression(),
        linear_model.Lasso(0.01),
        linear_model.PoissonRegressor(),
        linear_model.SGDClassifier(),
        linear_model.RidgeClassifier(),
        LinearSVC(),
    ],
    ids=lambda m: type(m).__name__,
)
def test_linear_models_earn_weight_times_distance_from_the_mean(model):
    x, y = numbers(0, missing=False)
    classes = hasattr(model, "decision_function")
    model.fit(x, y > 0 if classes else np.exp(y / 3))
    got = closed_form(model, x[:3], x[50:90])
    assert_allclose(got.credit[:, :, 0], np.ravel(model.coef_) * (x[:3] - x[50:90].mean(axis=0)), atol=1e-12)
    own = model.decision_function(x[:3]) if classes else model.predict(x[:3])
    own = np.log(own) if got.payoff == "log of the value" else own
    assert_allclose(got.credit.sum(axis=1)[:, 0] + got.base[0], own, atol=1e-9)


def test_what_has_no_closed_form_is_refused_by_name():
    x, y = numbers(0, missing=False)
    with pytest.raises(NotSeparable, match="together"):
        closed_form(make_pipeline(PCA(2), tree.DecisionTreeRegressor(max_depth=2)).fit(x, y), x[:2], x[2:9])
    with pytest.raises(NotSeparable):
        closed_form(make_pipeline(preprocessing.Normalizer(), linear_model.Ridge()).fit(x, y), x[:2], x[2:9])
    with pytest.raises(NotProducts, match="votes"):
        closed_form(SVC(kernel="linear", decision_function_shape="ovr").fit(x, three(y)), x[:2], x[2:9])
    with pytest.raises(InvalidInput, match="needs a background"):
        closed_form(linear_model.Ridge().fit(x, y), x[:2])


def test_an_encoded_column_that_only_a_rare_value_moves_still_finds_its_owner():
    rows = pandas.DataFrame({"a": np.zeros(500), "town": ["x"] * 499 + ["rare"]})
    one_hot = preprocessing.OneHotEncoder(sparse_output=False).fit(rows[["town"]])
    own = owners(lambda some: np.hstack([one_hot.transform(some[["town"]]), some[["a"]].to_numpy()]), rows)
    assert own[:2].tolist() == [1, 1]
