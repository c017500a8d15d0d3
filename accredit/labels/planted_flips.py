"""Evidence from flips that we planted: which score finds them?

Nobody knows the wrong labels of the data, but labels that we flip ourselves are known: the score that ranks planted rows lowest
is trusted with the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray

PLANTED = 0.1  # share of rows that are flipped for evidence


@dataclass(frozen=True, eq=False)
class Trial:
    """One planting: which rows were flipped, and how they scored then."""

    flipped: BoolArray  # (N,)
    score: FloatArray  # (N,), lower is more suspect


def plant(y: IntArray, classes: int, seed: int, copies: IntArray | None = None) -> tuple[IntArray, BoolArray]:
    """Labels of which a tenth is moved to another class at random, and which they are. Every class keeps two rows of its own:
    of small classes fewer are moved, or none. Rows with the same number in `copies` are moved together.

    >>> labels, flipped = plant(np.zeros(20, dtype=int), 3, seed=0)
    >>> int(flipped.sum()), bool((labels[flipped] > 0).all())
    (2, True)
    """
    rng = np.random.default_rng(seed)
    given = np.arange(len(y)) if copies is None else copies
    _, first, number = np.unique(given, return_index=True, return_inverse=True)
    moved = np.zeros(len(first), dtype=bool)
    order = rng.permutation(len(first))
    left = np.bincount(y[first], minlength=classes)
    for one in order[: max(1, round(PLANTED * len(first)))].tolist():
        if left[y[first[one]]] > 2:
            left[y[first[one]]] -= 1
            moved[one] = True
    flipped, steps = moved[number], rng.integers(1, classes, size=len(first))[number]
    return np.where(flipped, (y + steps) % classes, y), flipped


def find_share(score: FloatArray, flipped: BoolArray) -> float:
    """The chance that a planted row scores below another one: the area under the ROC curve.

    >>> find_share(np.array([0.1, 0.9, 0.5]), np.array([True, False, False]))
    1.0
    """
    from scipy.stats import rankdata

    ranks, wrong = rankdata(-score), int(flipped.sum())
    return float((ranks[flipped].sum() - wrong * (wrong + 1) / 2) / (wrong * (len(score) - wrong)))
