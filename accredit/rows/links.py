"""Which function turns a model's raw score into the payoff that is asked for, so that it can be shared through the trees."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from accredit.core import FloatArray
from accredit.models.rows import RowModel, softmax
from accredit.trees.linked import Worth

Link = Callable[[FloatArray], FloatArray]  # raw outputs (m, outputs) -> numbers in a unit of the model (m, outputs)


def worth_of(model: RowModel, unit: str, raw: str, raw_unit: str | None) -> Worth | None:
    """The payoff in a unit as a function of raw outputs, which are `raw` ("margin", "probability" …), in the model's words
    `raw_unit`. It is what the libraries usually do, to be compared with what the model says; None: it is not known.

    >>> boosted = RowModel({"logit": len, "probability": len}, ("no", "yes"), "boosted", None)
    >>> worth = worth_of(boosted, "probability", "margin", "logit")
    >>> worth(np.array([[0.0], [2.0]])).round(3).tolist()
    [[0.5, 0.5], [0.119, 0.881]]
    """
    source, compute = model.formula(unit)
    link = _link(source, raw, raw_unit)
    return None if link is None else lambda outputs: np.asarray(compute(link(outputs))).reshape(len(outputs), -1)


def _link(source: str, raw: str, raw_unit: str | None) -> Link | None:
    if (raw, source) == ("margin", "probability"):
        return chances_of
    if (raw, source) == ("log of the value", "value"):
        return np.exp
    return (lambda outputs: outputs) if raw_unit == source else None


def chances_of(scores: FloatArray) -> FloatArray:
    """Probabilities of two classes from one raw score, of several from one score each: (m, scores) -> (m, classes)."""
    from scipy.special import expit

    if scores.shape[1] > 1:
        return softmax(scores)
    second = expit(scores[:, 0])
    return np.stack([1 - second, second], axis=1)
