"""Models that answer whatever the coalition has taught them: all classes, one, or nothing. Imports scikit-learn."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from accredit.core import FloatArray, IntArray


class Widened(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier fitted on some classes, answering for all: the others get probability 0."""

    def __init__(self, model: ClassifierMixin, classes: int) -> None:
        self.model, self.classes = model, classes
        self.classes_ = np.arange(classes)
        self.n_features_in_ = model.n_features_in_

    def predict(self, x: FloatArray) -> npt.NDArray[np.generic]:
        return np.asarray(self.model.predict(x))

    @available_if(lambda self: hasattr(self.model, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, x: FloatArray) -> FloatArray:
        probability = np.zeros((len(x), len(self.classes_)))
        probability[:, self.model.classes_] = self.model.predict_proba(x)
        return probability


class Constant(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The same probabilities for every row: all on the one class a coalition has, or equal ones when it has none."""

    def __init__(self, probability: FloatArray) -> None:
        self.probability = probability
        self.classes_ = np.arange(len(probability))

    def predict(self, x: FloatArray) -> IntArray:
        return np.full(len(x), int(self.probability.argmax()))

    def predict_proba(self, x: FloatArray) -> FloatArray:
        return np.tile(self.probability, (len(x), 1))


class Mean(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """What an untaught regressor answers: the mean of all training targets."""

    def __init__(self, mean: float) -> None:
        self.mean = mean

    def predict(self, x: FloatArray) -> FloatArray:
        return np.full(len(x), self.mean)
