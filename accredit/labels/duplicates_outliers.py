"""Rows beside the question of labels: the same row twice, or twice but for an edit, and rows unlike all others.

Texts are compared by the sets of their parts of four letters (Jaccard). MinHash finds pairs without comparing all: the least
of a random order of all parts is the same in two texts with just that probability (Broder, 1997). Rows of numbers are
near-duplicates if they agree in all columns but one, or are nearer than any of N rows would be by chance: in m dimensions the
nearest row is nearer than t times the usual with a probability of about t^m, so t = (0.05 / N)^(1/m).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.labels.row_views import NEAREST_ROWS, View, dense

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

BY_CHANCE = 0.05  # probability that any row at all is as near as near-duplicates are
LEAST_NEAR, MOST_NEAR = 0.02, 0.5  # of the usual distance to the nearest row, between which the limit lies
ALONE = 5.0  # robust standard deviations above the middle, from which a row is an outlier
COLUMNS_TO_DIFFER = 4  # columns, from which rows that agree in all but one are near-duplicates
PART, ALIKE_TEXTS = 4, 0.6  # letters of a part; share of common parts from which texts are near-duplicates
BANDS, ORDERS_PER_BAND = 24, 4  # of MinHash: at a share of 0.6 a pair is found with a probability of 0.97, at 0.7 of 0.999
PARTS_HASHED = 2**20
PAIRS_PER_BUCKET = 200  # of rows that look the same; more are compared with the first of them only
PRIME = np.uint64(2**31 - 1)


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
    """Find the nearest neighbours of every row.

    >>> nearest(np.array([[0.0], [1.0], [5.0]])).rows[:, 0].tolist()
    [1, 0, 1]
    """
    from sklearn.neighbors import NearestNeighbors

    points = dense(view)
    k = min(NEAREST_ROWS, len(points) - 1)
    distances, rows = NearestNeighbors(n_neighbors=k).fit(points).kneighbors()
    return Nearest(points, rows, distances)


def oddities(near: Nearest, y: IntArray, texts: Sequence[str] | None = None) -> Oddities:
    """Near-duplicates and outliers. Texts that are edits of each other are found by their letters, other rows by distances.

    >>> x = np.vstack([np.random.default_rng(0).normal(size=(30, 2)), [[0, 0], [0, 0], [50, 50]]])
    >>> found = oddities(nearest(x), np.array([0] * 31 + [1, 0]))
    >>> found.duplicates, found.contradictions, found.outliers
    (((30, 31),), ((30, 31),), (32,))
    """
    found = edited_texts(texts) if texts is not None else near_rows(near) | edited_rows(near.points)
    pairs = sorted(found)
    contradictions = tuple(pair for pair in pairs if y[pair[0]] != y[pair[1]])
    far = near.distances.mean(axis=1)
    spread = 1.4826 * float(np.median(np.abs(far - np.median(far))))
    alone = np.flatnonzero(far > np.median(far) + ALONE * max(spread, 1e-12))
    outliers = tuple(alone[np.argsort(-far[alone], kind="stable")].tolist())
    return Oddities(contradictions + tuple(p for p in pairs if y[p[0]] == y[p[1]]), contradictions, outliers)


def near_rows(near: Nearest) -> set[tuple[int, int]]:
    """Pairs of rows that are nearer than chance would bring any."""
    typical = float(np.median(near.distances[:, 0]))
    limit = np.clip((BY_CHANCE / len(near.rows)) ** (1 / dimensions(near.distances)), LEAST_NEAR, MOST_NEAR) * typical
    rows, places = np.nonzero(near.distances <= limit)
    return {(int(min(i, j)), int(max(i, j))) for i, j in zip(rows, near.rows[rows, places], strict=True)}


def dimensions(distances: FloatArray) -> float:
    """In how many dimensions rows spread, by how their distances (N, k) to the nearest rows grow (Levina and Bickel, 2004).

    >>> plane = np.random.default_rng(0).normal(size=(2000, 2)) @ np.random.default_rng(1).normal(size=(2, 9))
    >>> round(dimensions(nearest(plane).distances), 1)
    2.0
    """
    usable = distances[distances[:, 0] > 0]
    if usable.shape[1] < 3 or not len(usable):
        return 1.0
    grows = np.log(usable[:, -1:] / usable[:, :-1]).sum(axis=1)
    return float(max(1.0, (usable.shape[1] - 1) / max(float(grows.mean()), 1e-9)))


def edited_rows(points: FloatArray) -> set[tuple[int, int]]:
    """Pairs of rows that agree in all columns but one.

    >>> x = np.random.default_rng(0).normal(size=(50, 5))
    >>> x[7] = x[3]; x[7, 2] = 9.0
    >>> edited_rows(x)
    {(3, 7)}
    """
    if points.shape[1] < COLUMNS_TO_DIFFER:
        return set()
    rng = np.random.default_rng(0)
    kinds = np.stack([np.unique(column, return_inverse=True)[1] for column in points.T], axis=1).astype(np.uint64)  # (N, d)
    varied = [j for j in range(points.shape[1]) if kinds[:, j].max() > 0]
    weight = rng.integers(1, 2**63, size=points.shape[1], dtype=np.uint64) | np.uint64(1)
    parts = kinds * weight  # sums wrap around: a hash of each row, from which one column can be taken away
    whole = parts.sum(axis=1)
    found: set[tuple[int, int]] = set()
    for j in varied if len(varied) >= COLUMNS_TO_DIFFER else []:
        found |= {(a, b) for a, b in _same(whole - parts[:, j]) if (kinds[a] != kinds[b]).sum() <= 1}  # a hash may collide
    return found


def edited_texts(texts: Sequence[str]) -> set[tuple[int, int]]:
    """Pairs of texts that are the same but for an edit.

    >>> edited_texts(["a truly fine film for all", "a truly fine movie for all", "nothing of that kind here"])
    {(0, 1)}
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    hashed = HashingVectorizer(
        analyzer="char_wb", ngram_range=(PART, PART), n_features=PARTS_HASHED, binary=True, norm=None, alternate_sign=False
    )
    parts = hashed.transform(texts).tocsr()
    parts.sort_indices()
    some = np.flatnonzero(np.diff(parts.indptr))
    rng = np.random.default_rng(0)
    found: set[tuple[int, int]] = set()
    for _ in range(BANDS):
        least = np.zeros((len(some), ORDERS_PER_BAND), dtype=np.uint64)
        for order in range(ORDERS_PER_BAND):
            a, b = rng.integers(1, int(PRIME), size=2, dtype=np.uint64)
            ranks = (parts.indices.astype(np.uint64) * a + b) % PRIME
            least[:, order] = np.minimum.reduceat(ranks, parts.indptr[some])
        band = (least * rng.integers(1, 2**63, size=ORDERS_PER_BAND, dtype=np.uint64)).sum(axis=1)
        found |= {(int(some[i]), int(some[j])) for i, j in _same(band)}
    return {pair for pair, share in _common(parts, sorted(found)) if share >= ALIKE_TEXTS}


def _common(parts: csr_matrix, pairs: list[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], float]]:
    """The share of parts that two rows have in common, for every pair."""
    if not pairs:
        return
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    size = np.diff(parts.indptr)
    both = np.asarray(parts[first].multiply(parts[second]).sum(axis=1)).ravel()
    shares = both / np.maximum(size[first] + size[second] - both, 1)
    yield from zip(pairs, shares.tolist(), strict=True)


def _same(keys: IntArray) -> Iterator[tuple[int, int]]:
    """Pairs of places that hold the same key; of very many, only those with the first."""
    order = np.argsort(keys, kind="stable")
    starts = np.append(0, np.flatnonzero(np.diff(keys[order])) + 1)
    sizes = np.diff(np.append(starts, len(keys)))
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        members = sorted(order[start : start + size].tolist())
        few = len(members) * (len(members) - 1) // 2 <= PAIRS_PER_BUCKET
        for i, a in enumerate(members if few else members[:1]):
            for b in members[i + 1 :]:
                yield a, b
