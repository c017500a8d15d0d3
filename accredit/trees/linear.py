r"""Linear models: the margin is $\alpha + \sum_i w_i x_i$, so column i earns $w_i\,(x_i - \bar b_i)$ under every semivalue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray
from accredit.errors import InvalidInput
from accredit.models.rows import scikit_has_log_link

if TYPE_CHECKING:
    import sklearn.base

    from accredit.models.row_types import Table

ROWS_CHECKED = 1000  # rows that are compared with the model's own output


class NotLinear(InvalidInput):
    """This model's raw output is not a weighted sum of its columns.

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> linear_of(DecisionTreeRegressor())
    Traceback (most recent call last):
        ...
    accredit.trees.linear.NotLinear: DecisionTreeRegressor has no coefficients; it is not a fitted linear model
    """

    usual = "unsupported"


@dataclass(frozen=True, eq=False)
class Linear:
    """Weights and start of a linear model, one row per output."""

    weights: FloatArray  # (outputs, columns)
    start: FloatArray  # (outputs,)
    outputs: tuple[str, ...]
    payoff: str  # what the outputs are: margin, value, or log of the value
    model: sklearn.base.BaseEstimator

    def margin(self, matrix: FloatArray) -> FloatArray:
        """(rows, columns) -> (rows, outputs)."""
        return matrix @ self.weights.T + self.start

    def check(self, rows: Table, matrix: FloatArray) -> None:
        """Refuse when the model's own raw output of these rows is another."""
        few = rows.iloc[:ROWS_CHECKED] if hasattr(rows, "iloc") else rows[:ROWS_CHECKED]
        own, said = self.margin(matrix[:ROWS_CHECKED]), _own(self.model, few)
        size = np.abs(matrix[:ROWS_CHECKED]) @ np.abs(self.weights).T + np.abs(self.start)
        if own.shape != said.shape or (np.abs(own - said) > 1e-9 * size + 1e-12).any():
            raise NotLinear(
                f"{type(self.model).__name__} has coefficients, but its raw output is not their weighted sum; explain it as a "
                "function of rows"
            )


def linear_of(model: object) -> Linear:
    """The weights of a fitted scikit-learn model that has `coef_` and `intercept_`; check them on rows with `check`.

    >>> from sklearn.linear_model import LinearRegression
    >>> read = linear_of(LinearRegression().fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 3.0, 0.0]))
    >>> read.weights.round(9), read.payoff
    (array([[ 2., -1.]]), 'value')
    """
    name = type(model).__name__
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        raise NotLinear(f"{name} has no coefficients; it is not a fitted linear model")
    coefficients = model.coef_.toarray() if hasattr(model.coef_, "toarray") else np.asarray(model.coef_)
    weights = np.atleast_2d(np.asarray(coefficients, dtype=np.float64))
    start = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).ravel(), len(weights)).copy()
    classes = getattr(model, "classes_", None)
    if classes is None:
        labels = ("value",) if len(weights) == 1 else tuple(map(str, range(len(weights))))
        return Linear(weights, start, labels, "log of the value" if scikit_has_log_link(model) else "value", model)
    labels = tuple(map(str, classes if len(weights) > 1 else classes[1:]))
    return Linear(weights, start, labels, "margin", model)


def _own(model: sklearn.base.BaseEstimator, rows: Table) -> FloatArray:
    """The model's own raw output: (rows, outputs)."""
    decide = model.decision_function if hasattr(model, "decision_function") else model.predict
    said = np.asarray(decide(rows), dtype=np.float64).reshape(len(rows), -1)
    return np.log(said) if scikit_has_log_link(model) else said
