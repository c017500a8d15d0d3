"""Models that are weighted means of others: bagging and voting of scikit-learn, each member with the columns that it reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.products.form import NotProducts

if TYPE_CHECKING:
    import sklearn.base

    from accredit.models.row_types import Table


@dataclass(frozen=True, eq=False)
class Member:
    """One of the models that are averaged."""

    model: object
    weight: float
    unit: str  # in which it is averaged
    columns: IntArray | None = None  # which it reads; None: all, as they are

    def rows(self, rows: Table) -> Table:
        """Rows as this member reads them."""
        return rows if self.columns is None else np.asarray(rows)[:, self.columns]


def members_of(model: object, unit: str | None = None) -> tuple[list[Member], Callable[[Table], FloatArray]] | None:
    """The members of a fitted bagging or voting model and its own output of rows; None for other models.

    >>> from sklearn.ensemble import VotingRegressor
    >>> from sklearn.linear_model import LinearRegression
    >>> both = VotingRegressor([("a", LinearRegression()), ("b", LinearRegression())], weights=[3, 1])
    >>> members, _ = members_of(both.fit([[0.0], [1.0]], [1.0, 3.0]))
    >>> [member.weight for member in members]
    [0.75, 0.25]
    """
    match type(model).__name__:
        case "BaggingRegressor" | "BaggingClassifier":
            return _bagging(model, unit)
        case "VotingRegressor" | "VotingClassifier":
            return _voting(model)
    return None


def _bagging(model: sklearn.base.BaseEstimator, unit: str | None) -> tuple[list[Member], Callable[[Table], FloatArray]]:
    members = list(zip(model.estimators_, model.estimators_features_, strict=True))
    classes = getattr(model, "classes_", None)
    if classes is None:
        scale, own = "value", model.predict
    elif unit == "logit" and hasattr(model, "decision_function"):
        scale, own = "logit", model.decision_function
    else:
        scale, own = "probability", model.predict_proba
    fewer = [member for member, _ in members if classes is not None and len(member.classes_) != len(classes)]
    if fewer:
        raise NotProducts(f"{len(fewer)} members of {type(model).__name__} were trained without a row of some class")
    return [Member(member, 1 / len(members), scale, np.asarray(columns)) for member, columns in members], own


def _voting(model: sklearn.base.BaseEstimator) -> tuple[list[Member], Callable[[Table], FloatArray]]:
    classifies = hasattr(model, "classes_")
    if classifies and model.voting != "soft":
        raise NotProducts("VotingClassifier counts the votes of its members (voting='hard'), which are steps and not a sum")
    weights = model._weights_not_none
    shares = np.ones(len(model.estimators_)) if weights is None else np.asarray(weights, dtype=np.float64)
    scale, own = ("probability", model.predict_proba) if classifies else ("value", model.predict)
    pairs = zip(model.estimators_, shares / shares.sum(), strict=True)
    return [Member(member, float(weight), scale) for member, weight in pairs], own
