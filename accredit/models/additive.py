"""Models that are a sum of functions of single columns, known by how they are built: each column is then its own answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.models.rows import RowModel

# Raw scores of these are linear in what they read. Regressions with a link (Poisson, Gamma, Tweedie) are not among them.
LINEAR = frozenset({
    "ARDRegression", "BayesianRidge", "ElasticNet", "ElasticNetCV", "HuberRegressor", "Lars", "LarsCV", "Lasso", "LassoCV",
    "LassoLars", "LassoLarsCV", "LassoLarsIC", "LinearDiscriminantAnalysis", "LinearRegression", "LinearSVC", "LinearSVR",
    "LogisticRegression", "LogisticRegressionCV", "OrthogonalMatchingPursuit", "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor", "Perceptron", "QuantileRegressor", "RANSACRegressor", "Ridge", "RidgeCV", "RidgeClassifier",
    "RidgeClassifierCV", "SGDClassifier", "SGDRegressor", "TheilSenRegressor",
})  # fmt: skip
BY_COLUMN = frozenset({
    "Binarizer", "KBinsDiscretizer", "MaxAbsScaler", "MinMaxScaler", "MissingIndicator", "OneHotEncoder", "OrdinalEncoder",
    "PowerTransformer", "QuantileTransformer", "RobustScaler", "SimpleImputer", "SplineTransformer", "StandardScaler",
    "TargetEncoder", "VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFromModel",
})  # fmt: skip


def is_additive(model: RowModel, unit: str) -> bool:
    """Is this unit of the model a sum of functions of one column each? Known for scikit-learn's linear models, alone or
    behind transformers that treat every column by itself.

    >>> from sklearn.linear_model import LinearRegression
    >>> from accredit.models.rows import as_row_model
    >>> is_additive(as_row_model(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])), "value")
    True
    """
    return unit in ("logit", "value") and _adds_columns(model.model)


def _adds_columns(estimator: Any) -> bool:
    if not type(estimator).__module__.startswith("sklearn."):
        return False
    name = type(estimator).__name__
    if name == "Pipeline":
        *before, (_, last) = estimator.steps
        return all(_by_column(step) for _, step in before) and _adds_columns(last)
    return name in LINEAR


def _by_column(transformer: Any) -> bool:
    if transformer is None or transformer in ("passthrough", "drop"):
        return True
    if not type(transformer).__module__.startswith("sklearn."):
        return False
    match type(transformer).__name__:
        case "Pipeline":
            return all(_by_column(step) for _, step in transformer.steps)
        case "ColumnTransformer":
            return all(_by_column(step) for _, step, _ in transformer.transformers_)
        case "FeatureUnion":
            return all(_by_column(step) for _, step in transformer.transformer_list)
        case name:
            return name in BY_COLUMN


def single_effects(model: RowModel, unit: str, both: Any, rows: IntArray, owner: IntArray, players: int) -> FloatArray:
    """What each player's columns of a row add to the first row of `both` when they alone replace its own: (rows, players,
    outputs). One model row per row and player."""
    first = model.outputs(both[:1] if isinstance(both, np.ndarray) else both.iloc[:1], unit)[0]
    effects = np.empty((len(rows), players, len(first)))
    for i in range(players):
        mixed = _replaced(both, rows, owner == i)
        effects[:, i] = model.outputs(mixed, unit) - first
    return effects


def _replaced(both: Any, rows: IntArray, mine: Any) -> Any:
    """The first row over and over, with some columns of other rows."""
    if isinstance(both, np.ndarray):
        table = np.repeat(both[:1], len(rows), axis=0)
        table[:, mine] = both[rows][:, mine]
        return table
    import pandas

    still = np.zeros(len(rows), dtype=np.int64)
    columns = {i: both.iloc[:, i].take(rows if here else still).reset_index(drop=True) for i, here in enumerate(mine)}
    return pandas.DataFrame(columns).set_axis(both.columns, axis=1)
