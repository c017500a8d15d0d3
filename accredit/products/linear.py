r"""Linear models: the margin is $\alpha + \sum_i w_i x_i$, so column i earns $w_i\,(x_i - \bar b_i)$ under every semivalue."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray
from accredit.core.rounding import SINGLE
from accredit.errors import InvalidInput
from accredit.models.rows import LOG_LINK, scikit_has_log_link
from accredit.products.form import plain_numbers

if TYPE_CHECKING:
    import sklearn.base
    import xgboost

    from accredit.models.row_types import Table, TableFunction

ROWS_CHECKED = 1000  # rows that are compared with the model's own output
CLOSE = 1e-9  # how far the weighted sum may be from the model's own output, relative to the sizes of what is summed


class NotLinear(InvalidInput):
    """This model's raw output is not a weighted sum of its columns.

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> linear_of(DecisionTreeRegressor())
    Traceback (most recent call last):
        ...
    accredit.products.linear.NotLinear: DecisionTreeRegressor has no coefficients; it is not a fitted linear model
    """

    usual = "unsupported"


@dataclass(frozen=True, eq=False)
class Linear:
    """Weights and start of a linear model, one row per output."""

    weights: FloatArray  # (outputs, columns)
    start: FloatArray  # (outputs,)
    outputs: tuple[str, ...]
    payoff: str  # what the outputs are: margin, value, or log of the value
    source: str  # the model, in words
    own: TableFunction  # the model's own raw output of rows
    close: float = CLOSE
    skips_missing: bool = False  # a missing value adds nothing

    def numbers(self, rows: Table) -> FloatArray:
        """Rows as numbers: (rows, columns)."""
        matrix = plain_numbers(rows)
        return np.where(np.isnan(matrix), 0.0, matrix) if self.skips_missing else matrix

    def margin(self, matrix: FloatArray) -> FloatArray:
        """(rows, columns) -> (rows, outputs)."""
        return matrix @ self.weights.T + self.start

    def check(self, rows: Table, matrix: FloatArray) -> None:
        """Refuse when the model's own raw output of these rows is another."""
        few = rows.iloc[:ROWS_CHECKED] if hasattr(rows, "iloc") else rows[:ROWS_CHECKED]
        if matrix.shape[1] != self.weights.shape[1]:
            raise NotLinear(f"{self.source} has {self.weights.shape[1]} coefficients for {matrix.shape[1]} columns")
        own, said = self.margin(matrix[:ROWS_CHECKED]), np.asarray(self.own(few), dtype=np.float64).reshape(len(few), -1)
        size = np.abs(matrix[:ROWS_CHECKED]) @ np.abs(self.weights).T + np.abs(self.start)
        if own.shape != said.shape or not (np.abs(own - said) <= self.close * size + 1e-12).all():
            raise NotLinear(
                f"{self.source} has coefficients, but its raw output is not their weighted sum; explain it as a function of "
                "rows"
            )


def is_linear(model: object) -> bool:
    """Does this model have coefficients that may be its weights?"""
    return hasattr(model, "coef_") or hasattr(model, "predict_log_partial_hazard") or _is_gblinear(model)


def linear_of(model: object) -> Linear:
    """The weights of a fitted model that has `coef_`, of xgboost's linear booster, or of a Cox model; `check` them on rows.

    >>> from sklearn.linear_model import LinearRegression
    >>> read = linear_of(LinearRegression().fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 3.0, 0.0]))
    >>> read.weights.round(9), read.payoff
    (array([[ 2., -1.]]), 'value')
    """
    name = type(model).__name__
    if _is_gblinear(model):
        return _of_gblinear(model)
    if hasattr(model, "predict_log_partial_hazard"):
        return _of_hazards(model)
    if not hasattr(model, "coef_"):
        raise NotLinear(f"{name} has no coefficients; it is not a fitted linear model")
    coefficients = model.coef_.toarray() if hasattr(model.coef_, "toarray") else np.asarray(model.coef_)
    weights = np.atleast_2d(np.asarray(coefficients, dtype=np.float64))
    intercept = np.asarray(getattr(model, "intercept_", 0.0), dtype=np.float64)  # Cox models of scikit-survival have none
    start = np.broadcast_to(intercept.ravel(), len(weights)).copy()
    if hasattr(model, "_x_mean"):  # partial least squares subtracts the means of the training rows
        start -= weights @ np.asarray(model._x_mean, dtype=np.float64)
    classes = getattr(model, "classes_", None)
    if classes is None:
        labels = ("value",) if len(weights) == 1 else tuple(map(str, range(len(weights))))
        payoff = "log of the value" if scikit_has_log_link(model) else "value"
        return Linear(weights, start, labels, payoff, name, lambda rows: _own(model, rows))
    labels = tuple(map(str, classes if len(weights) > 1 else classes[1:]))
    return Linear(weights, start, labels, "margin", name, lambda rows: _own(model, rows))


def _own(model: sklearn.base.BaseEstimator, rows: Table) -> FloatArray:
    """The model's own raw output: (rows, outputs)."""
    decide = model.decision_function if hasattr(model, "decision_function") else model.predict
    said = np.asarray(decide(rows), dtype=np.float64).reshape(len(rows), -1)
    return np.log(said) if scikit_has_log_link(model) else said


def _of_hazards(model: sklearn.base.BaseEstimator) -> Linear:
    """A Cox model as lifelines fits it: the log of the hazard ratio is linear around the means of the training rows."""
    weights = np.asarray(model.params_, dtype=np.float64)[None]
    start = -weights @ np.asarray(model._norm_mean, dtype=np.float64)
    columns, name = [str(c) for c in model.params_.index], type(model).__name__

    def own(rows: Table) -> FloatArray:
        if hasattr(rows, "columns") and [str(c) for c in rows.columns] != columns:
            raise NotLinear(f"{name} has coefficients for {columns[:8]}; the rows have other columns, or in another order")
        return np.asarray(model.predict_log_partial_hazard(rows), dtype=np.float64)

    return Linear(weights, np.ravel(start), ("value",), "log of the value", name, own)


# xgboost's linear booster


def _is_gblinear(model: object) -> bool:
    """Is this xgboost with a linear booster? Its estimators say so in their settings, its Booster in its configuration."""
    if type(model).__module__.split(".")[0] != "xgboost":
        return False
    if hasattr(model, "fit"):
        return getattr(model, "booster", None) == "gblinear"
    return str(json.loads(model.save_config())["learner"]["gradient_booster"]["name"]) == "gblinear"  # type: ignore[attr-defined]


def _of_gblinear(model: xgboost.XGBModel | xgboost.Booster) -> Linear:
    """Weights from the booster's JSON; the start is what it says about a row of zeros, which its base score is part of."""
    import xgboost

    booster = model.get_booster() if hasattr(model, "fit") else model
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    features = int(learner["learner_model_param"]["num_feature"])
    weights = np.asarray(learner["gradient_booster"]["model"]["weights"], dtype=np.float64).reshape(features + 1, -1)[:-1].T
    names = booster.feature_names

    def own(rows: Table) -> FloatArray:
        if hasattr(model, "fit"):
            return np.asarray(model.predict(rows, output_margin=True), dtype=np.float64)
        data = xgboost.DMatrix(rows, feature_names=None if hasattr(rows, "iloc") else names)
        return np.asarray(booster.predict(data, output_margin=True), dtype=np.float64)

    zeros = xgboost.DMatrix(np.zeros((1, features)), feature_names=names)
    start = np.asarray(booster.predict(zeros, output_margin=True), dtype=np.float64).reshape(-1)
    classes = getattr(model, "classes_", None)
    labels = ("value",) if len(weights) == 1 else tuple(map(str, range(len(weights))))
    if classes is not None:
        labels = tuple(map(str, classes if len(weights) > 1 else classes[1:]))
    payoff = "log of the value" if learner["objective"]["name"] in LOG_LINK else "margin"
    name = f"xgboost {type(model).__name__}"
    return Linear(weights, start, labels, payoff, name, own, (features + 4) * SINGLE, skips_missing=True)
