r"""How right a list of suspects is, at a given rate π of wrong labels.

Flip a label, and its row moves to where wrong labels are. A model out of fold never saw the label that it judges, so its answer
stays what it is: every row can be flipped in thought, to every other class, without training anything. Let F be the share of
rows as given below some score, and G the share of flipped ones; A and B those of rows that are labelled rightly and wrongly.
Of C classes,

$$F = (1-\pi)\,A + \pi\,B, \qquad G = (1-\pi)\,B + \pi\,\frac{A + (C-2)\,B}{C-1},$$

since a flip may also put a wrong label right. That is solved for B, and πB/F of the rows below that score are wrong.

A score that is not of that kind is judged by planted flips: they say which share of wrong labels is found (B) beside which
share of right ones (A), from models that learned from more wrong labels than there are, so that it rather promises too little.
"""

from __future__ import annotations

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.labels.planted_flips import PLANTED, Trial
from accredit.labels.rate import ENDS
from accredit.labels.scores import margin

SHORTEST_LIST = 0.05  # share of rows; the precision of shorter lists cannot be told from that of one as long as this


def precision_in_thought(logs: FloatArray, y: IntArray, rate: float) -> FloatArray:
    """Of the K most suspect rows by out-of-fold `logs` (N, C), the share whose label is wrong, for K = 1 … N.

    >>> logs = np.log([[0.9, 0.1]] * 90 + [[0.1, 0.9]] * 10)  # ten labels of a hundred contradict what is foretold
    >>> float(precision_in_thought(logs, np.zeros(100, dtype=int), rate=0.1)[9].round(2))
    1.0
    """
    rows, classes = logs.shape
    given = np.sort(margin(logs, y))
    flipped = np.sort(np.concatenate([margin(logs, (y + step) % classes) for step in range(1, classes)]))
    f = np.arange(1, rows + 1) / rows
    g = np.searchsorted(flipped, given, side="right") / len(flipped)
    back = rate / (classes - 1)  # a flip that puts a wrong label right
    wrong = ((1 - rate) * g - back * f) / ((1 - rate) * (1 - back) - rate * back)
    return _of_every_length(rate * wrong / f)


def precision_by_planting(trials: list[Trial], rate: float) -> FloatArray:
    """The same by planted flips, for any score."""
    after = rate + PLANTED * (1 - rate)
    by_rank = np.mean([trial.flipped[np.argsort(trial.score, kind="stable")] for trial in trials], axis=0)  # (N,)
    listed = np.arange(1, len(by_rank) + 1) / len(by_rank)
    found = np.cumsum(by_rank) / by_rank.sum()
    right = np.clip((listed - after * found) / (1 - after), 0.0, 1.0)
    length = rate * found + (1 - rate) * right  # of the list in the data as given that ends at the same score
    return _of_every_length(np.interp(listed, length, rate * found / np.maximum(length, 1e-12)))


def share_interval(size: int, shares: FloatArray, chances: FloatArray) -> tuple[float, float]:
    """Between which shares of a list of `size` rows are wrong, with 90 % chance, where each is wrong with one of the
    `shares` (R,), which have the `chances` (R,). It is wide where rows are few, and where nobody knows the rate.

    >>> share_interval(1000, np.array([0.5]), np.array([1.0]))
    (0.474, 0.526)
    >>> share_interval(10, np.array([0.5]), np.array([1.0]))
    (0.2, 0.8)
    """
    from scipy.stats import binom

    up_to = binom.cdf(np.arange(size + 1)[:, None], size, shares) @ chances  # (size + 1,)
    low, high = np.searchsorted(up_to, ENDS)
    return float(low / size), float(min(high, size) / size)


def _of_every_length(curve: FloatArray) -> FloatArray:
    shortest = max(1, round(SHORTEST_LIST * len(curve)))
    curve = np.clip(curve, 0.0, 1.0)
    curve[: shortest - 1] = curve[shortest - 1]
    return curve
