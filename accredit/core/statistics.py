"""Ranks, ties, rank correlation and the correction of p-values, for every part that compares or tests."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from accredit.checks.numbers import BoolArray, FloatArray, IntArray, real_numbers
from accredit.core.rounding import DOUBLE, SINGLE
from accredit.errors import InvalidInput

ALIKE = 8 * SINGLE  # of the size of numbers: closer than this, single precision cannot tell them apart
CONSTANT = 16 * DOUBLE  # the same of columns, which come as they were written


def ranks(scores: FloatArray) -> FloatArray:
    """Ranks 1..n along the last axis, ties sharing their mean rank.

    >>> ranks(np.array([10.0, 30.0, 10.0]))
    array([1.5, 3. , 1.5])
    """
    order = np.argsort(scores, axis=-1, kind="stable")
    rising = np.take_along_axis(scores, order, axis=-1)
    n = scores.shape[-1]
    place = np.arange(1, n + 1)
    steps = rising[..., 1:] != rising[..., :-1]
    edge = np.ones((*scores.shape[:-1], 1), dtype=bool)
    first = np.maximum.accumulate(np.where(np.concatenate([edge, steps], axis=-1), place, 0), axis=-1)
    last = np.where(np.concatenate([steps, edge], axis=-1), place, n)[..., ::-1]
    found = np.empty(scores.shape)
    np.put_along_axis(found, order, (first + np.minimum.accumulate(last, axis=-1)[..., ::-1]) / 2, axis=-1)
    return found


def rank_correlation(a: FloatArray, b: FloatArray) -> FloatArray:
    """Pearson correlation of the ranks along the last axis (Spearman, 1904): (..., n), (..., n) -> (...). 0 where one side is
    all ties, which have no order to agree with.

    >>> rank_correlation(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]), np.array([[9.0, 5.0, 1.0], [4.0, 4.0, 4.0]]))
    array([-1.,  0.])
    """
    x, y = (ranks(scores) - (scores.shape[-1] + 1) / 2 for scores in (a, b))
    scale = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    return np.asarray(np.clip((x * y).sum(axis=-1) / np.where(scale > 0, scale, 1.0), -1.0, 1.0))


def tied(values: FloatArray, rounding: float) -> FloatArray:
    """Places 0, 1, … of values in rising order, (n,) -> (n,); those that differ by no more than `rounding` share one.

    A place begins at its lowest value and reaches `rounding` above it. So many values that lie close together are not one
    tie because each is near the next.

    >>> tied(np.array([2.0, 0.0, 2.0 + 1e-9, -1.0]), rounding=1e-8)
    array([2., 1., 2., 0.])
    >>> tied(np.arange(5.0), rounding=1.0)
    array([0., 0., 1., 1., 2.])
    """
    order = np.argsort(values, kind="stable")
    rising = values[order]
    begins = np.diff(rising, prepend=-np.inf) > rounding
    runs = np.append(np.flatnonzero(begins), len(values))
    for start, end in pairwise(runs.tolist()):
        while rising[end - 1] - rising[start] > rounding:
            start += int(np.searchsorted(rising[start:end] - rising[start], rounding, side="right"))
            begins[start] = True
    found = np.empty(len(values))
    found[order] = np.cumsum(begins) - 1
    return found


def falling(scores: FloatArray, rounding: float) -> IntArray:
    """The numbers of `scores` from the highest down; those that are the same but for rounding stay in their order.

    >>> falling(np.array([0.3, 0.5, 0.1 + 0.2]), rounding=1e-12)
    array([1, 0, 2])
    """
    return np.argsort(-tied(scores, rounding), kind="stable")


def top_chances(scores: FloatArray, count: int, rounding: float) -> FloatArray:
    """The chance of each to be among the `count` highest, when the same scores but for rounding are put in random order.

    >>> top_chances(np.array([5.0, 3.0, 3.0, 1.0]), 2, rounding=0.0)
    array([1. , 0.5, 0.5, 0. ])
    """
    places = tied(scores, rounding)
    last = np.sort(places)[::-1][min(count, len(places)) - 1]
    above, level = places > last, places == last
    return np.asarray(np.minimum(above + level * ((count - above.sum()) / level.sum()), 1.0))


def holm(p: npt.ArrayLike) -> FloatArray:
    """p-values corrected for how many there are (Holm, 1979): rejecting those below α errs anywhere with chance at most α.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    given = _probabilities(p)
    order = np.argsort(given, kind="stable")
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1)))
    return adjusted


def false_discoveries(p: npt.ArrayLike, rate: float) -> BoolArray:
    """Which of many to name, so that on average at most `rate` of those named are named wrongly (Benjamini and Hochberg, 1995).

    >>> false_discoveries([0.01, 0.04, 0.03, 0.9], rate=0.1)
    array([ True,  True,  True, False])
    """
    given = _probabilities(p)
    order = np.argsort(given, kind="stable")
    passing = np.flatnonzero(given[order] <= rate * np.arange(1, len(given) + 1) / len(given))
    named = np.zeros(len(given), dtype=bool)
    named[order[: passing[-1] + 1 if len(passing) else 0]] = True
    return named


def _probabilities(p: npt.ArrayLike) -> FloatArray:
    given = real_numbers(p, "p")
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise InvalidInput(f"p must be a row of numbers from 0 to 1, got {p!r:.80}", argument="p", code="range")
    return given


def alike(numbers: FloatArray, size: float = 0.0) -> bool:
    """Whether numbers are the same but for rounding, which is relative to the largest of them, or to `size` if that is larger.

    >>> alike(np.array([0.3, 0.1 + 0.2])), alike(np.array([0.0, 1e-17])), alike(np.array([0.0, 1e-17]), size=1.0)
    (True, False, True)
    """
    return float(np.ptp(numbers)) <= ALIKE * max(float(np.abs(numbers).max()), abs(size))


def spreads(rows: FloatArray) -> FloatArray:
    """The standard deviation of every column, (rows, columns) -> (columns,); 0 where a column is constant.

    The mean of a constant column may be one rounding away from it, and a deviation of 1e-17 is not one to divide by.

    >>> spreads(np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 3.0]])).round(3)
    array([0.   , 0.816])
    """
    constant = np.ptp(rows, axis=0) <= CONSTANT * np.abs(rows).max(axis=0)
    return np.where(constant, 0.0, rows.std(axis=0))


def units(rows: FloatArray) -> FloatArray:
    """What to divide every column by so that it varies by about 1: its standard deviation, or 1 where it is constant.

    >>> units(np.array([[0.1, 1.0], [0.1, 3.0]]))
    array([1., 1.])
    """
    spread = spreads(rows)
    return np.where(spread > 0, spread, 1.0)
