"""Exact values of leaves with many players and a background: who is failed by both the row and a background row?

A leaf pays for a row x and a background row b when no player of its path is failed by both. Each such pair is one cube: A are
the players that b fails, B those that x fails. Failed players are bits of machine words, so that comparing a row with all
background rows costs one operation per leaf and background row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.trees.forest import Forest
from accredit.trees.paths import Paths, decided
from accredit.trees.tables import Background, spans
from accredit.values.weighing import Semivalue

CELLS = 1 << 20  # leaves × background rows × rows compared at once
WORD = 64

Masks = list[npt.NDArray[Any]]  # one array (leaves, rows) of unsigned words per 64 players


def mask_credit(
    forest: Forest,
    paths: Paths,
    leaf: IntArray,  # (leaves,) local nodes
    matrix: FloatArray,
    background: Background,
    rule: Semivalue,
    pairs: bool,
    players: int,
    earned: FloatArray,  # (players or players², outputs, rows): added to in place
) -> None:
    """Add the credit (or pair interactions i < j) of these leaves with a background."""
    moments = rule.moments(paths.most)
    theirs = _failed(forest, paths, leaf, background.matrix)
    step = max(1, CELLS // (len(leaf) * len(background.matrix)))
    for part in spans(len(matrix), step):
        own = _failed(forest, paths, leaf, matrix[part])
        which, b, r = np.nonzero(_disjoint(theirs, own))
        present = _bits([words[which, b] for words in theirs], paths.most)
        absent = _bits([words[which, r] for words in own], paths.most)
        share, target = (_pair_shares if pairs else _shares)(present, absent, moments, paths.path[leaf[which]], players)
        share *= background.weight[b][:, None]
        _add(forest, paths, leaf[which], r, share, target, earned[..., part])


def _failed(forest: Forest, paths: Paths, leaf: IntArray, matrix: FloatArray) -> Masks:
    """The players that each row fails on the way to each leaf, as bits."""
    left = decided(forest, paths, matrix)
    kind = next(k for k in (np.uint8, np.uint16, np.uint32, np.uint64) if paths.most <= min(8 * k().itemsize, WORD) or k is np.uint64)
    masks = []
    for first in range(0, paths.most, WORD):
        failed = np.zeros((len(paths.nodes), len(matrix)), dtype=kind)
        for level in paths.levels[1:]:
            above = paths.parent[level]
            missed = left[above] ^ paths.is_left[level][:, None]
            bit = paths.slot[above] - first
            mine = (bit >= 0) & (bit < WORD)
            shifted = missed.astype(kind) << np.where(mine, bit, 0).astype(kind)[:, None]
            failed[level] = failed[above] | np.where(mine[:, None], shifted, kind(0))
        masks.append(failed[leaf])
    return masks


def _disjoint(theirs: Masks, own: Masks) -> BoolArray:
    """Is no player failed by both? (leaves, background, rows)."""
    free = (theirs[0][:, :, None] & own[0][:, None, :]) == 0
    for b, x in zip(theirs[1:], own[1:], strict=True):
        free &= (b[:, :, None] & x[:, None, :]) == 0
    return free


def _bits(words: list[npt.NDArray[Any]], count: int) -> FloatArray:
    """Words (m,) of 64 players each -> (m, count) of zeros and ones."""
    bits = [
        np.unpackbits(np.ascontiguousarray(w).view(np.uint8).reshape(len(w), w.dtype.itemsize), axis=1, bitorder="little")
        for w in words
    ]
    return np.concatenate(bits, axis=1)[:, :count].astype(np.float64)


def _shares(
    present: FloatArray, absent: FloatArray, moments: FloatArray, who: IntArray, players: int
) -> tuple[FloatArray, IntArray]:
    """What a cube of worth 1 gives each player on its path: shares and players, each (m, most)."""
    a, c = present.sum(axis=1).astype(np.int64), absent.sum(axis=1).astype(np.int64)
    share = np.where(a > 0, moments[a - 1, c], 0)[:, None] * present
    share -= np.where(c > 0, moments[a, c - 1], 0)[:, None] * absent
    return share, who[:, : present.shape[1]]


def _pair_shares(
    present: FloatArray, absent: FloatArray, moments: FloatArray, who: IntArray, players: int
) -> tuple[FloatArray, IntArray]:
    """What a cube of worth 1 gives each pair on its path: shares and pairs, each (m, most(most − 1)/2)."""
    a, c = present.sum(axis=1).astype(np.int64), absent.sum(axis=1).astype(np.int64)
    i, j = np.triu_indices(present.shape[1], 1)
    both = np.where(a > 1, moments[a - 2, c], 0)[:, None] * (present[:, i] * present[:, j])
    neither = np.where(c > 1, moments[a, c - 2], 0)[:, None] * (absent[:, i] * absent[:, j])
    across = np.where((a > 0) & (c > 0), moments[a - 1, c - 1], 0)[:, None]
    share = both + neither - across * (present[:, i] * absent[:, j] + absent[:, i] * present[:, j])
    return share, np.minimum(who[:, i], who[:, j]) * players + np.maximum(who[:, i], who[:, j])


def _add(
    forest: Forest,
    paths: Paths,
    node: IntArray,  # (m,) the leaf of each cube
    row: IntArray,  # (m,)
    share: FloatArray,  # (m, players on the path)
    target: IntArray,  # the same; negative where the path is shorter, and the share is zero there
    earned: FloatArray,  # (targets, outputs, rows)
) -> None:
    targets, outputs, rows = earned.shape
    first = forest.output[paths.tree[node]]
    for v in range(forest.value.shape[1]):
        amount = share * forest.value[paths.nodes[node], v][:, None]
        place = (np.maximum(target, 0) * outputs + (first + v)[:, None]) * rows + row[:, None]
        earned += np.bincount(place.ravel(), amount.ravel(), earned.size).reshape(earned.shape)
