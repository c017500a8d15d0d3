"""Rows beside the question of labels: the same row twice, and rows unlike all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.labels.scores import NEAREST_ROWS, View, dense

NEAR_DUPLICATE = 0.02  # of the typical distance to the nearest row, up to which two rows are near-duplicates
ALONE = 5.0  # robust standard deviations above the middle, from which a row is an outlier


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest other rows of every row, in one view."""

    points: FloatArray  # (N, d), where distances were taken
    rows: IntArray  # (N, k), nearest first
    distances: FloatArray  # (N, k)


@dataclass(frozen=True)
class Oddities:
    """Near-duplicates as pairs of rows, those with two labels first, and outliers, farthest first."""

    duplicates: tuple[tuple[int, int], ...]
    contradictions: tuple[tuple[int, int], ...]  # near-duplicates with different labels: one of the two is wrong
    outliers: tuple[int, ...]


def nearest(view: View) -> Nearest:
    """Find the nearest neighbours of every row once, for scores and oddities alike.

    >>> nearest(np.array([[0.0], [1.0], [5.0]])).rows[:, 0].tolist()
    [1, 0, 1]
    """
    from sklearn.neighbors import NearestNeighbors

    points = dense(view)
    k = min(NEAREST_ROWS, len(points) - 1)
    distances, rows = NearestNeighbors(n_neighbors=k).fit(points).kneighbors()
    return Nearest(points, rows, distances)


def oddities(near: Nearest, y: IntArray) -> Oddities:
    """Near-duplicates and outliers, by distances to neighbours.

    >>> x = np.vstack([np.random.default_rng(0).normal(size=(30, 2)), [[0, 0], [0, 0], [50, 50]]])
    >>> found = oddities(nearest(x), np.array([0] * 31 + [1, 0]))
    >>> found.duplicates, found.contradictions, found.outliers
    (((30, 31),), ((30, 31),), (32,))
    """
    limit = NEAR_DUPLICATE * float(np.median(near.distances[:, 0]))
    rows, places = np.nonzero(near.distances <= limit)
    pairs = sorted({(int(min(i, j)), int(max(i, j))) for i, j in zip(rows, near.rows[rows, places], strict=True)})
    contradictions = tuple(pair for pair in pairs if y[pair[0]] != y[pair[1]])
    far = near.distances.mean(axis=1)
    spread = 1.4826 * float(np.median(np.abs(far - np.median(far))))
    alone = np.flatnonzero(far > np.median(far) + ALONE * max(spread, 1e-12))
    outliers = tuple(alone[np.argsort(-far[alone], kind="stable")].tolist())
    return Oddities(contradictions + tuple(p for p in pairs if p not in contradictions), contradictions, outliers)
