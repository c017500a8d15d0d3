"""Exact values of deep trees with a background: background rows by what they fail, leaf by leaf.

A leaf pays for a row x and a background row b when no player of its path is failed by both. Each such pair is one cube: A are
the players that b fails, B those that x fails. Failed players are bits of machine words, so that a comparison of all background
rows with one row costs one operation per leaf and distinct background pattern.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from accredit.core import FloatArray, IntArray
from accredit.trees.forest import Forest
from accredit.trees.paths import Paths
from accredit.trees.tables import Background, spans
from accredit.values.weighing import Semivalue

Words = npt.NDArray[np.uint64]
CELLS = 1 << 21  # leaves × background rows × rows compared at once
BITS = 64


def mask_credit(
    forest: Forest,
    paths: Paths,
    matrix: FloatArray,
    background: Background,
    rule: Semivalue,
    pairs: bool,
    players: int,
    earned: FloatArray,  # (players or players², outputs, rows): added to in place
) -> None:
    """Add the credit (or pair interactions i < j) of these trees with a background."""
    if paths.most == 0:
        return
    leaf, pattern, weight = _patterns(forest, paths, background)
    moments = rule.moments(paths.most)
    leaves = np.flatnonzero(~paths.inner)
    for part in spans(len(matrix), CELLS // len(leaf)):
        failed = _failed(forest, paths, matrix[part])[leaves]  # (leaves, rows, words)
        for r in range(failed.shape[1]):
            alive = np.flatnonzero(~(pattern & failed[leaf, r]).any(axis=1))
            bits = _bits(pattern[alive], paths.most), _bits(failed[leaf[alive], r], paths.most)
            node = leaves[leaf[alive]]
            _add(forest, paths, node, weight[alive], *bits, moments, pairs, players, earned[..., part.start + r])


def _failed(forest: Forest, paths: Paths, matrix: FloatArray) -> Words:
    """The players that each row fails on the way to each node: (nodes, rows, words)."""
    inner = np.flatnonzero(paths.inner)
    left = np.zeros((len(paths.nodes), len(matrix)), dtype=bool)
    left[inner] = forest.decisions(paths.nodes[inner], matrix)
    failed = np.zeros((len(paths.nodes), len(matrix), -(-paths.most // BITS)), dtype=np.uint64)
    for level in paths.levels[1:]:
        above = paths.parent[level]
        here = np.arange(level.start, level.stop)
        missed = (left[above] ^ paths.is_left[level][:, None]).astype(np.uint64)
        word, bit = np.divmod(paths.slot[above], BITS)
        failed[level] = failed[above]
        failed[here, :, word] |= missed << bit.astype(np.uint64)[:, None]
    return failed


def _patterns(forest: Forest, paths: Paths, background: Background) -> tuple[IntArray, Words, FloatArray]:
    """What background rows fail, leaf by leaf, each distinct pattern once: leaf (m,), pattern (m, words), weight (m,)."""
    leaves = np.flatnonzero(~paths.inner)
    found = []
    for part in spans(len(background.matrix), 512):
        failed = _failed(forest, paths, background.matrix[part])[leaves]
        which = np.repeat(np.arange(len(leaves), dtype=np.uint64), failed.shape[1])
        keys = np.concatenate([which[:, None], failed.reshape(-1, failed.shape[2])], axis=1)
        weight = np.tile(background.weight[part], len(leaves))
        found.append(_merged(keys, weight))
    keys, weight = _merged(np.concatenate([k for k, _ in found]), np.concatenate([w for _, w in found]))
    return keys[:, 0].astype(np.int64), np.ascontiguousarray(keys[:, 1:]), weight


def _merged(keys: Words, weight: FloatArray) -> tuple[Words, FloatArray]:
    """Distinct keys and the weight of each."""
    unique, where = np.unique(keys, axis=0, return_inverse=True)
    return unique, np.bincount(where.ravel(), weight, len(unique))


def _bits(words: Words, count: int) -> FloatArray:
    """(m, words) -> (m, count) of zeros and ones."""
    as_bytes = np.ascontiguousarray(words).view(np.uint8).reshape(len(words), words.shape[1] * (BITS // 8))
    return np.unpackbits(as_bytes, axis=1, count=count, bitorder="little").astype(np.float64)


def _add(
    forest: Forest,
    paths: Paths,
    node: IntArray,  # (m,) leaves that pay
    weight: FloatArray,  # (m,)
    present: FloatArray,  # (m, most): A, failed by the background
    absent: FloatArray,  # (m, most): B, failed by the row
    moments: FloatArray,
    pairs: bool,
    players: int,
    earned: FloatArray,  # (players or players², outputs) of one row
) -> None:
    """Add the cubes of one row, leaf by leaf."""
    a, c = present.sum(axis=1).astype(np.int64), absent.sum(axis=1).astype(np.int64)
    who = np.maximum(paths.path[node], 0)
    if pairs:
        i, j = np.triu_indices(paths.most, 1)
        both = np.where(a > 1, moments[a - 2, c], 0)[:, None] * (present[:, i] * present[:, j])
        neither = np.where(c > 1, moments[a, c - 2], 0)[:, None] * (absent[:, i] * absent[:, j])
        across = np.where((a > 0) & (c > 0), moments[a - 1, c - 1], 0)[:, None]
        share = both + neither - across * (present[:, i] * absent[:, j] + absent[:, i] * present[:, j])
        target = np.minimum(who[:, i], who[:, j]) * players + np.maximum(who[:, i], who[:, j])
    else:
        share = np.where(a > 0, moments[a - 1, c], 0)[:, None] * present
        share -= np.where(c > 0, moments[a, c - 1], 0)[:, None] * absent
        target = who
    first = forest.output[paths.tree[node]][:, None]
    for v in range(forest.value.shape[1]):
        amount = share * (weight * forest.value[paths.nodes[node], v])[:, None]
        place = target * forest.outputs + first + v
        earned += np.bincount(place.ravel(), amount.ravel(), earned.size).reshape(earned.shape)
