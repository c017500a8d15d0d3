"""Models that are weighted sums of others, as bagging, voting and stacking of scikit-learn are, or give one output by each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.numbers import a_type
from accredit.core import FloatArray, IntArray
from accredit.products.form import NotProducts
from accredit.products.linear import is_linear

if TYPE_CHECKING:
    import sklearn.base

    from accredit.models.row_types import Table

AFFINE = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")  # transformers of a target that keep sums


@dataclass(frozen=True, eq=False)
class Member:
    """One of the models that are added up."""

    model: object
    weight: float
    unit: str  # in which it is added
    columns: IntArray | None = None  # which it reads; None: all, as they are
    output: int | None = None  # to which it is added; None: output by output

    def rows(self, rows: Table) -> Table:
        """Rows as this member reads them."""
        return rows if self.columns is None else np.asarray(rows)[:, self.columns]


@dataclass(frozen=True, eq=False)
class Members:
    """A model as a weighted sum of others."""

    each: Sequence[Member]
    own: Callable[[Table], object]  # the model's own output of rows
    start: float = 0.0  # what is added to every output
    outputs: tuple[str, ...] | None = None  # names, where each output has members of its own; None: as the members name them

    def add_up(self, arrays: Sequence[FloatArray]) -> FloatArray:
        """The weighted sum of what the members have, outputs last."""
        if self.outputs is None:
            return np.asarray(np.tensordot([member.weight for member in self.each], np.stack(arrays), 1))
        total = np.zeros((*arrays[0].shape[:-1], len(self.outputs)))
        for member, array in zip(self.each, arrays, strict=True):
            total[..., member.output] += member.weight * array[..., 0]
        return total


def members_of(model: sklearn.base.BaseEstimator, unit: str | None = None) -> Members | None:
    """The members of a fitted model that adds up others, and its own output of rows; None for other models.

    >>> from sklearn.ensemble import VotingRegressor
    >>> from sklearn.linear_model import LinearRegression
    >>> both = VotingRegressor([("a", LinearRegression()), ("b", LinearRegression())], weights=[3, 1])
    >>> [member.weight for member in members_of(both.fit([[0.0], [1.0]], [1.0, 3.0])).each]
    [0.75, 0.25]
    """
    match type(model).__name__:
        case "BaggingRegressor" | "BaggingClassifier":
            return _bagging(model, unit)
        case "VotingRegressor" | "VotingClassifier":
            return _voting(model)
        case "StackingRegressor":
            return _stacking(model)
        case "MultiOutputRegressor":
            return _one_by_one(model, model.estimators_, "value")
        case "OneVsRestClassifier":
            return _one_against_others(model)
        case "TransformedTargetRegressor":
            return _transformed(model)
        case "RANSACRegressor":  # its model was fitted to numbers without names
            return Members([Member(model.estimator_, 1.0, "value", np.arange(model.n_features_in_))], model.predict)
    return None


def _bagging(model: sklearn.base.BaseEstimator, unit: str | None) -> Members:
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
    return Members([Member(member, 1 / len(members), scale, np.asarray(columns)) for member, columns in members], own)


def _voting(model: sklearn.base.BaseEstimator) -> Members:
    classifies = hasattr(model, "classes_")
    if classifies and model.voting != "soft":
        raise NotProducts("VotingClassifier counts the votes of its members (voting='hard'), which are steps and not a sum")
    weights = model._weights_not_none
    shares = np.ones(len(model.estimators_)) if weights is None else np.asarray(weights, dtype=np.float64)
    scale, own = ("probability", model.predict_proba) if classifies else ("value", model.predict)
    pairs = zip(model.estimators_, shares / shares.sum(), strict=True)
    return Members([Member(member, float(weight), scale) for member, weight in pairs], own)


def _stacking(model: sklearn.base.BaseEstimator) -> Members:
    """A linear model of what others predict is a weighted sum of them."""
    last = model.final_estimator_
    weights = np.ravel(np.asarray(getattr(last, "coef_", ()), dtype=np.float64))
    if not is_linear(last) or len(weights) != len(model.estimators_):
        reads = "the rows as well as what members predict" if model.passthrough else "them, and is not linear"
        raise NotProducts(f"the last model of StackingRegressor, {a_type(last)}, reads {reads}")
    start = float(np.ravel(getattr(last, "intercept_", 0.0))[0])
    each = [Member(member, float(w), "value") for member, w in zip(model.estimators_, weights, strict=True)]
    return Members(each, model.predict, start)


def _one_by_one(model: sklearn.base.BaseEstimator, members: Sequence[object], unit: str) -> Members:
    """One output by each."""
    own = model.predict if unit == "value" else model.decision_function
    names = map(str, range(len(members)) if unit == "value" else model.classes_[-len(members) :])
    return Members([Member(member, 1.0, unit, output=i) for i, member in enumerate(members)], own, outputs=tuple(names))


def _one_against_others(model: sklearn.base.BaseEstimator) -> Members:
    if not hasattr(model, "decision_function"):
        inside = type(model.estimators_[0]).__name__
        raise NotProducts(f"OneVsRestClassifier divides the chances of a {inside} by their sum, which is not a sum")
    return _one_by_one(model, model.estimators_, "logit")


def _transformed(model: sklearn.base.BaseEstimator) -> Members:
    """A target that was moved and scaled."""
    name = type(model.transformer_).__name__
    if name not in AFFINE or getattr(model.transformer_, "clip", False) or model._training_dim != 1:
        back = "several targets" if model._training_dim != 1 else f"its prediction through {name}"
        raise NotProducts(f"TransformedTargetRegressor takes {back} back to the target, which is not a sum")
    ends = np.ravel(model.transformer_.inverse_transform(np.array([[0.0], [1.0]])))
    return Members([Member(model.regressor_, float(ends[1] - ends[0]), "value")], model.predict, float(ends[0]))
