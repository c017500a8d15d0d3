"""Rows as points on the line of a column: how high each lies, which colour its value has, what the column holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from accredit.checks.json_data import round_off
from accredit.core import BoolArray, FloatArray
from accredit.rows.cohorts import numbers
from accredit.rows.result import Cell

BINS = 100  # across, in which points of like credit are put side by side


def value_range(cells: Sequence[Cell]) -> str:
    """What the values of a column are, in a few letters.

    >>> value_range([1, 5.25, None]), value_range(["red", "blue", "red"]), value_range([2, 2])
    ('1 … 5.25, gaps', 'blue, red', '2')
    """
    values, known = numbers(cells)
    words = sorted({str(c) for c, there in zip(cells, known, strict=True) if not there and c is not None and c == c})
    gaps = ", gaps" * any(c is None or c != c for c in cells)
    if words:
        text = ", ".join(words)
        return (text if len(words) <= 3 and len(text) <= 18 else f"{len(words)} kinds") + gaps
    if not known.any():
        return "missing"
    ends = dict.fromkeys(round_off(float(end)) for end in (values[known].min(), values[known].max()))
    return " … ".join(ends) + gaps


def ranks(cells: Sequence[Cell] | npt.NDArray[np.object_]) -> tuple[FloatArray, BoolArray]:
    """Where each number stands among the others, from 0 to 1, ties together; and which cells are numbers."""
    values, known = numbers(cells)
    share = np.full(len(known), 0.5)
    distinct, place = np.unique(values[known], return_inverse=True)
    if len(distinct) > 1:
        counts = np.bincount(place)
        middle = np.cumsum(counts) - (counts + 1) / 2
        low, high = middle[0], middle[-1]
        share[known] = (middle[place] - low) / (high - low)
    return share, known


def swarm_heights(credit: FloatArray, low: float, high: float) -> FloatArray:
    """Heights in [−1, 1] for points on an axis from `low` to `high`: those of like credit lie above and below one another, so
    that where there are many the swarm is wide, up to the whole height.

    >>> swarm_heights(np.array([0.0, 0.0, 0.0, 5.0]), 0, 5).tolist()
    [0.0, 0.25, -0.25, 0.0]
    """
    bins = ((credit - low) / ((high - low) or 1.0) * (BINS - 1)).round().astype(np.int64)
    counts = np.bincount(bins)
    order = np.argsort(bins, kind="stable")
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    place = np.empty(len(credit))
    place[order] = np.arange(len(credit)) - first[bins[order]]
    side = np.where(place % 2 == 0, -1, 1) * np.ceil(place / 2) + 0.0
    return np.asarray(np.clip(2 * side / max(counts.max(), 8), -1, 1)) + 0.0
