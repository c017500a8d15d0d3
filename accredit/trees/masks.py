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
ROWS = 256  # rows whose masks are made at once
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
    for some in spans(len(matrix), ROWS):
        own = [words.T.copy() for words in _failed(forest, paths, leaf, matrix[some])]
        for part in spans(own[0].shape[0], step):
            r, which, b = np.nonzero(_disjoint(theirs, [words[part] for words in own]))
            present = _bits([words[which, b] for words in theirs], paths.most)
            absent = _bits([words[r + part.start, which] for words in own], paths.most)
            cube, who, share = (_pair_shares if pairs else _shares)(present, absent, moments)
            path = paths.path[leaf[which]]
            target = path[cube, who[0]]
            if pairs:
                other = path[cube, who[1]]
                target = np.minimum(target, other) * players + np.maximum(target, other)
            share *= background.weight[b[cube]]
            first = some.start + part.start
            paid = earned[..., first : first + part.stop - part.start]
            _add(forest, paths, leaf[which[cube]], r[cube], share, target, paid)


def _failed(forest: Forest, paths: Paths, leaf: IntArray, matrix: FloatArray) -> Masks:
    """The players that each row fails on the way to each leaf, as bits."""
    left = decided(forest, paths, matrix)
    kind = np.dtype(f"u{next(size for size in (1, 2, 4, 8) if 8 * size >= min(paths.most, WORD))}").type
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
    """Is no player failed by both? Masks (leaves, background) and (rows, leaves) -> (rows, leaves, background)."""
    free: BoolArray = (own[0][:, :, None] & theirs[0]) == 0
    for x, b in zip(own[1:], theirs[1:], strict=True):
        free &= (x[:, :, None] & b) == 0
    return free


def _bits(words: list[npt.NDArray[Any]], count: int) -> BoolArray:
    """Words (m,) of up to 64 players each -> (m, count)."""
    bits = [
        np.unpackbits(
            np.ascontiguousarray(w).view(np.uint8).reshape(len(w), w.dtype.itemsize), axis=1, bitorder="little"
        )
        for w in words
    ]
    return np.concatenate(bits, axis=1)[:, :count].astype(bool)


Shares = tuple[IntArray, tuple[IntArray, ...], FloatArray]  # the cube, the places on its path, the share


def _shares(present: BoolArray, absent: BoolArray, moments: FloatArray) -> Shares:
    """What a cube of worth 1 gives each player of A and B; `present` and `absent` are (m, places)."""
    a, c = present.sum(axis=1), absent.sum(axis=1)
    (cube_a, in_a), (cube_b, in_b) = np.nonzero(present), np.nonzero(absent)
    earned, lost = moments[a - 1, c][cube_a], -moments[a, c - 1][cube_b]
    return np.concatenate([cube_a, cube_b]), (np.concatenate([in_a, in_b]),), np.concatenate([earned, lost])


def _pair_shares(present: BoolArray, absent: BoolArray, moments: FloatArray) -> Shares:
    """What a cube of worth 1 gives each pair within A and B."""
    a, c = present.sum(axis=1), absent.sum(axis=1)
    i, j = np.triu_indices(present.shape[1], 1)
    kinds = (
        (present[:, i] & present[:, j], moments[a - 2, c]),
        (absent[:, i] & absent[:, j], moments[a, c - 2]),
        ((present[:, i] & absent[:, j]) | (absent[:, i] & present[:, j]), -moments[a - 1, c - 1]),
    )
    found = [(*np.nonzero(which), share) for which, share in kinds]
    cube, pair = (np.concatenate([f[axis] for f in found]) for axis in (0, 1))
    return cube, (i[pair], j[pair]), np.concatenate([share[cubes] for cubes, _, share in found])


def _add(
    forest: Forest,
    paths: Paths,
    node: IntArray,  # (m,) the leaf of each share
    row: IntArray,  # (m,)
    share: FloatArray,  # (m,)
    target: IntArray,  # (m,)
    earned: FloatArray,  # (targets, outputs, rows)
) -> None:
    _, outputs, rows = earned.shape
    first = forest.output[paths.tree[node]]
    for v in range(forest.value.shape[1]):
        place = (target * outputs + first + v) * rows + row
        amount = share * forest.value[paths.nodes[node], v]
        earned += np.bincount(place, amount, earned.size).reshape(earned.shape)
