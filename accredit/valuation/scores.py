"""What a trained model's answers are worth: one payoff for the whole test set, one number for each test point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from accredit.core import FloatArray
from accredit.errors import InvalidInput
from accredit.valuation.split import Labels, Split

TIED_ANSWERS = 1e-12  # of the largest answer: sums of the same shares in another order differ by less
CERTAIN = 1e-6  # probabilities are kept this far from 0 and 1, so that a margin stays finite

Score = Callable[[FloatArray, Labels], FloatArray]  # (batch, M, C) answers and (M,) truth -> (batch,) payoffs


def accuracy(answers: FloatArray, truth: Labels) -> FloatArray:
    """Share of test points whose class has the highest answer; a tie counts its fair share.

    >>> accuracy(np.array([[[0.2, 0.8], [0.5, 0.5]]]), np.array([1, 0]))
    array([0.75])
    """
    highest = answers.max(axis=2, keepdims=True)
    best = answers >= highest - TIED_ANSWERS * np.abs(highest)
    right = np.take_along_axis(best, truth[None, :, None].astype(np.int64), axis=2)[:, :, 0]
    return np.asarray((right / best.sum(axis=2)).mean(axis=1))


def negative_log_loss(answers: FloatArray, truth: Labels) -> FloatArray:
    """Mean log probability of the true class, from log-probabilities up to a constant per row (a softmax is applied)."""
    highest = answers.max(axis=2, keepdims=True)
    log_sum = np.log(np.exp(answers - highest).sum(axis=2)) + highest[:, :, 0]
    true = np.take_along_axis(answers, truth[None, :, None].astype(np.int64), axis=2)[:, :, 0]
    return np.asarray((true - log_sum).mean(axis=1))


def negative_squared_error(answers: FloatArray, truth: Labels) -> FloatArray:
    """Minus the mean squared error of the first answer."""
    return np.asarray(-((answers[:, :, 0] - truth) ** 2).mean(axis=1))


SCORES: dict[str, Score] = {
    "accuracy": accuracy,
    "neg_log_loss": negative_log_loss,
    "neg_mean_squared_error": negative_squared_error,
}


def score_named(metric: str | None, data: Split) -> tuple[str, Score]:
    """A score by its scikit-learn name, if it fits the data; None means accuracy, or for numbers the squared error."""
    if metric is None:
        metric = "neg_mean_squared_error" if data.classes is None else "accuracy"
    if metric not in SCORES:
        raise InvalidInput(
            f"unknown metric {metric!r}; choose {', '.join(SCORES)}, or a scikit-learn model for others",
            argument="metric",
            code="unknown",
        )
    if (metric == "neg_mean_squared_error") != (data.classes is None):
        kind = "regression" if data.classes is None else "classes"
        raise InvalidInput(
            f"metric {metric!r} does not fit {kind}; choose another of {', '.join(SCORES)}", argument="metric", code="conflict"
        )
    return metric, SCORES[metric]


def margins(answers: FloatArray, data: Split) -> FloatArray:
    """How right the model is at each test point: (batch, M, C) -> (batch, M).

    For classes, the answer of the true class above the best other one; for numbers, minus the squared error.
    """
    if data.classes is None:
        return np.asarray(-((answers[:, :, 0] - data.test_y) ** 2))
    truth = np.broadcast_to(data.test_y.astype(np.int64, copy=False)[None, :, None], (len(answers), len(data.test_y), 1))
    true = np.take_along_axis(answers, truth, axis=2)[:, :, 0]
    others = answers.copy()
    np.put_along_axis(others, truth, -np.inf, axis=2)
    return np.asarray(true - others.max(axis=2))


def score_tests(metric: object, payoffs: FloatArray, outputs: FloatArray, data: Split) -> FloatArray | None:
    """What each test point pays (batch, M), from margins or minus squared errors; None: they do not tell.

    The true class has the highest answer where its margin is positive; with two classes the margin is the log-odds of the true
    one. What is left to the payoff, from ties and from
    coalitions whose payoff is stated, is spread evenly. R² is a mean, too, if the spread of the test targets is taken as given.

    >>> from accredit.valuation import split
    >>> data = split([[0.0], [1.0]], [0, 1], [[0.1], [0.9]], [0, 1])
    >>> score_tests("accuracy", np.array([0.5]), np.array([[2.0, -1.0]]), data)
    array([[1., 0.]])
    """
    if metric == "accuracy" and data.classes is not None:
        scores = (outputs > 0).astype(np.float64)
    elif metric == "neg_log_loss" and data.classes is not None and len(data.classes) == 2:
        scores = -np.logaddexp(0.0, -outputs)
    elif metric == "neg_mean_squared_error" and data.classes is None:
        scores = outputs
    elif metric == "r2" and data.classes is None and np.ptp(data.test_y) > 0:
        scores = 1 + outputs / np.var(data.test_y)
    else:
        return None
    return np.asarray(scores + (payoffs - scores.mean(axis=1))[:, None])


def log_margins(probability: FloatArray, data: Split) -> FloatArray:
    """How right probabilities (M, C) are at each test point (M,): the log of the true class's above that of the best other.

    With two classes, these are log-odds. Probabilities are kept away from 0 and 1.
    """
    p = np.clip(probability, CERTAIN, 1 - CERTAIN)
    return np.asarray(margins(np.log(p)[None], data)[0])
