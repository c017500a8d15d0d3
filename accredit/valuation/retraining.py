"""Retraining: train a model on every coalition of rows and see what it is worth. The utility behind Data Shapley."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from accredit.checks import needs, shown
from accredit.checks.arguments import check_arguments
from accredit.core import BoolArray, FloatArray
from accredit.errors import InvalidInput
from accredit.valuation.scores import log_margins, score_tests
from accredit.valuation.split import Labels, Split
from accredit.valuation.utility import Utility

if TYPE_CHECKING:
    import sklearn.base

Scorer = Callable[["sklearn.base.BaseEstimator", FloatArray, Labels], float]  # (fitted model, test x, test y) -> payoff


class Judging(TypedDict, total=False):
    """How a retrained model is judged: the settings of `Retraining` by name."""

    metric: str | Scorer | None
    empty: float | None
    seed: int


class Retraining(Utility):
    """A game: players are training rows, the payoff is the test score of a scikit-learn estimator trained on them.

    `metric` is the name of any scikit-learn scorer, or a function of (model, test x, test y). A coalition with one class
    only teaches the model to answer that class; the empty coalition teaches nothing: a classifier then finds all classes
    equally likely (accuracy one over the number of classes), a regressor predicts the mean of all training targets, so
    that credit is for more than learning the mean. State another payoff with `empty`. Outputs are margins:
    the log-probability of the true class above the best other one, which is log-odds with two classes (from a model without
    probabilities: 1 if it is right, else 0), or minus squared errors. Every fit starts from `seed`.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from accredit.valuation import split
    >>> data = split([[-1.0], [1.0]], [0, 1], [[-2.0], [2.0], [1.0]], [0, 1, 1])
    >>> Retraining(data, LogisticRegression()).payoff(np.array([[0, 0], [1, 0], [1, 1]], bool)).round(3)
    array([0.5 , 0.333, 1. ])
    """

    @check_arguments
    def __init__(
        self,
        data: Split,
        estimator: sklearn.base.BaseEstimator,
        metric: str | Scorer | None = None,
        *,
        empty: float | None = None,
        seed: int = 0,
    ) -> None:
        with needs("data", "retraining an estimator"):
            from sklearn.base import is_classifier
            from sklearn.metrics import get_scorer
        if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
            raise InvalidInput(
                f"estimator is {shown(estimator)}; give one of scikit-learn, as in LogisticRegression()",
                argument="estimator",
                code="type",
            )
        if metric is not None and not isinstance(metric, str) and not callable(metric):
            raise InvalidInput(
                f"metric is {shown(metric)}; write a name such as 'accuracy', or give a scorer", argument="metric", code="type"
            )
        if is_classifier(estimator) != (data.classes is not None):
            needed = "a regressor" if data.classes is None else "a classifier"
            raise InvalidInput(
                f"estimator is {estimator!r:.60}, but the labels need {needed}", argument="estimator", code="type"
            )
        self.data, self.seed, self._empty = data, seed, empty
        self._estimator = _with_state(estimator, seed)
        self.metric = metric if metric is not None else ("accuracy" if data.classes is not None else "r2")
        if isinstance(self.metric, str):
            try:
                self._scorer: Scorer = get_scorer(self.metric)
            except ValueError as error:
                raise InvalidInput(f"metric: {error}"[:300], argument="metric", code="unknown") from None
            if self.metric == "r2" and len(data.test_x) < 2:
                raise InvalidInput(
                    "metric 'r2' compares test rows with their mean, and there is one test row; give two or more, or "
                    "write metric='neg_mean_squared_error'",
                    argument="metric",
                    code="conflict",
                )
        else:
            self._scorer = self.metric

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Payoffs (batch,) and outputs (batch, M)."""
        models = [self.teach(coalition) for coalition in coalitions]
        values = np.array([self._value(m, c) for m, c in zip(models, coalitions, strict=True)], dtype=np.float64)
        outputs = np.array([self._outputs(model) for model in models], dtype=np.float64)
        return values, outputs.reshape(len(models), len(self.targets))

    def teach(self, coalition: BoolArray) -> sklearn.base.BaseEstimator:
        """The model that one coalition (n,) teaches."""
        from sklearn.base import clone

        from accredit.valuation.partial_classifiers import Constant, Mean, Widened

        x, y = self.data.x[coalition], self.data.y[coalition]
        if self.data.classes is None:
            return clone(self._estimator).fit(x, y) if len(y) else Mean(float(self.data.y.mean()))
        present = np.unique(y)
        count = len(self.data.classes)
        if len(present) < 2:
            return Constant(np.full(count, 1 / count) if len(present) == 0 else np.eye(count)[present[0]])
        model = clone(self._estimator).fit(x, y)
        return model if len(present) == count else Widened(model, count)

    def _value(self, model: sklearn.base.BaseEstimator, coalition: BoolArray) -> float:
        if not coalition.any():
            if self._empty is not None:
                return self._empty
            if self.metric == "accuracy" and self.data.classes is not None:
                return 1 / len(self.data.classes)
        return float(self._scorer(model, self.data.test_x, self.data.test_y))

    def _outputs(self, model: sklearn.base.BaseEstimator) -> FloatArray:
        if self.data.classes is None:
            return np.asarray(-((model.predict(self.data.test_x) - self.data.test_y) ** 2))
        if not hasattr(model, "predict_proba"):
            return np.asarray(model.predict(self.data.test_x) == self.data.test_y, dtype=np.float64)
        chances = model.predict_proba(self.data.test_x)
        if hasattr(self._estimator, "predict_proba"):
            return log_margins(chances, self.data)
        return np.asarray(chances[np.arange(len(self.data.test_y)), self.data.test_y])

    def score_tests(self, payoffs: FloatArray, outputs: FloatArray) -> FloatArray | None:
        return score_tests(self.metric, payoffs, outputs, self.data)

    def fingerprint_parts(self) -> dict[str, object]:
        model = [_with_state(self._estimator, None), self._empty]
        return {"data": self.data, "model": model, "metric": self.metric, "outputs": "margins"}


def _with_state(estimator: sklearn.base.BaseEstimator, state: int | None) -> sklearn.base.BaseEstimator:
    """A fresh copy whose every random state is `state`."""
    from sklearn.base import clone

    fresh = clone(estimator)
    names = [key for key in fresh.get_params() if key == "random_state" or key.endswith("__random_state")]
    return fresh.set_params(**dict.fromkeys(names, state))
