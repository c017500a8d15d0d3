"""Exact values of leaves with many players and a background: who is failed by both the row and a background row?

A leaf pays for a row x and a background row b when no player of its path is failed by both. Each such pair is one cube: A are
the players that b fails, B those that x fails. Failed players are bits of machine words, no wider than the leaf's path needs,
so that comparing a row with all background rows is one operation per leaf and background row; few of them leave a cube.

What a cube earns depends on |A| and |B| alone. It is added to the players of A bit by bit; what B loses, which is the same for
all background rows, is summed over them first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.trees.forest import Forest
from accredit.trees.paths import Paths, decide
from accredit.trees.tables import Background, spans
from accredit.values.asymmetric import share_in_stages
from accredit.values.semivalue_rules import Semivalue

CELLS_AT_ONCE = 1 << 19  # leaves × background rows × rows compared at once, to stay in the cache
ROWS_PER_MASK = 128  # rows whose masks are made at once
WORD = 64

Words = npt.NDArray[np.unsignedinteger]
Masks = list[Words]  # one array per 64 players


class Comparison:
    """Some leaves beside a background, prepared once; rows are compared with all background rows, as often as needed."""

    def __init__(
        self,
        forest: Forest,
        paths: Paths,
        leaf: IntArray,  # (leaves,) local nodes
        background: Background,
        rule: Semivalue,
        pairs: bool,
        players: int,
    ) -> None:
        self.forest, self.paths, self.leaf, self.background = forest, paths, leaf, background
        self.pairs, self.players, self.moments = pairs, players, rule.moments(paths.most)
        self.shares = _shares(self.moments)
        self._theirs = fail_masks(forest, paths, leaf, background.matrix)

    def add(self, matrix: FloatArray, earned: FloatArray) -> None:
        """Add the credit (or pair interactions i < j) of these leaves to earned (players or players², outputs, rows)."""
        forest, paths, outputs, flat = self.forest, self.paths, earned.shape[1], earned.reshape(-1, earned.shape[-1])
        for some, mine, cubes in leaf_cubes(forest, paths, self.leaf, matrix, self.background, self._theirs):
            value, output = forest.value[paths.nodes[mine]], forest.output[paths.tree[mine]]
            if self.pairs:
                cubes.add_pairs(value, output, self.moments, self.players, outputs, flat[:, some])
            else:
                cubes.add_credit(value, output, self.shares, outputs, flat[:, some])


def leaf_cubes(
    forest: Forest,
    paths: Paths,
    leaf: IntArray,  # (leaves,) local nodes
    matrix: FloatArray,
    background: Background,
    theirs: Masks,  # what background rows fail
) -> Iterator[tuple[slice, IntArray, LeafCubes]]:
    """The cubes of leaves, some rows and some leaves at a time: which rows, which leaves, their cubes."""
    for some in spans(len(matrix), ROWS_PER_MASK):
        own = fail_masks(forest, paths, leaf, matrix[some])
        step = CELLS_AT_ONCE // (len(background.matrix) * (some.stop - some.start))
        for wide, mine in _by_width(paths.count[leaf], step):
            path = paths.path[leaf[mine], :wide].astype(np.int64)
            cubes = LeafCubes(_narrow(own, mine, wide), _narrow(theirs, mine, wide), path, background.weight)
            yield some, leaf[mine], cubes


def fail_masks(forest: Forest, paths: Paths, leaf: IntArray, matrix: FloatArray) -> Masks:
    """The players that each row fails on the way to each leaf, as bits: words (leaves, rows)."""
    left, place = decide(forest, paths, matrix), np.full(len(paths.nodes), -1)
    place[leaf] = np.arange(len(leaf))
    return [_fail_word(paths, left, place, len(leaf), first) for first in range(0, paths.most, WORD)]


def _fail_word(paths: Paths, left: BoolArray, place: IntArray, leaves: int, first: int) -> Words:
    """One word of 64 players; `place` says where each wanted leaf is put. Shallow levels get along with narrow words."""
    rows = left.shape[1]
    found = np.zeros((leaves, rows), dtype=_word(paths.most - first))
    above = np.zeros((paths.levels[0].stop, rows), dtype=np.uint8)
    for before, level in pairwise(paths.levels):
        split = paths.parent[level][::2]  # each has two children beside each other, the left one first
        kind = _word(int(paths.count[level].max()) - first)
        bit = paths.slot[split] - first
        here = ((bit >= 0) & (bit < WORD)).astype(np.uint64)
        mine = (here << np.clip(bit, 0, WORD - 1).astype(np.uint64)).astype(kind)[:, None]
        base, right = above[split - before.start].astype(kind, copy=False), left[split] * mine
        above = np.empty((level.stop - level.start, rows), dtype=kind)
        above[0::2], above[1::2] = base | (mine ^ right), base | right
        ends = place[level]
        found[ends[ends >= 0]] = above[ends >= 0]
    return found


def _word(players: int) -> type[np.unsignedinteger]:
    """The narrowest unsigned word that has a bit for each of up to 64 players."""
    return np.dtype(f"u{next(size for size in (1, 2, 4, 8) if 8 * size >= min(players, WORD))}").type


def _by_width(count: IntArray, step: int) -> Iterator[tuple[int, IntArray]]:
    """Leaves whose players fit into equally wide words, at most `step` at once: that many players, and positions."""
    width = np.array([8, 16, 32, *range(WORD, int(count.max(initial=0)) + WORD, WORD)])
    needs = np.searchsorted(width, count)
    for group in np.unique(needs).tolist():
        mine = np.flatnonzero(needs == group)
        yield from ((int(width[group]), mine[part]) for part in spans(len(mine), step))


def _narrow(masks: Masks, leaf: IntArray, players: int) -> Masks:
    return [words[leaf].astype(_word(players)) for words in masks[: -(-players // WORD)]]


class LeafCubes:
    """What some rows and all background rows leave of some leaves: one cube for each pair that fails no player twice.

    Masks are (leaves, rows) and (leaves, m).
    """

    def __init__(self, own: Masks, theirs: Masks, path: IntArray, weight: FloatArray) -> None:
        self.own, self.theirs = [np.ascontiguousarray(words.T) for words in own], theirs
        self.path = path  # (leaves, most) the player of each bit
        leaves, m = theirs[0].shape
        found = np.flatnonzero(_disjoint(self.own, theirs))  # in order of the rows
        self.cell = found // m  # of row and leaf
        self.row = self.cell // leaves
        self.leaf = self.cell - self.row * leaves
        self.pair = found - self.row * (leaves * m)  # a leaf and a background row
        self.weight = weight[found - self.cell * m]
        self.present = _size([words.ravel()[self.pair] for words in theirs])  # |A|
        self.absent = _size([words.ravel() for words in self.own])[self.cell]  # |B|

    def add_credit(
        self, value: FloatArray, output: IntArray, shares: tuple[FloatArray, FloatArray], outputs: int, earned: FloatArray
    ) -> None:
        """Add what A earns and B loses; value (leaves, values), earned (players × outputs, rows)."""
        if not len(self.cell):
            return
        gain, loss = (by.ravel()[self.present * np.intp(by.shape[1]) + self.absent] for by in shares)
        gain *= self.weight
        loss *= self.weight
        first = np.flatnonzero(np.diff(self.cell, prepend=-1))
        cells = self.cell[first]
        lost = np.add.reduceat(loss, first)
        for v in range(value.shape[1]):
            self._add_up(self.theirs, self.pair, self.row, self.leaf, gain * value[self.leaf, v], output + v, outputs, earned)
            row, leaf = self.row[first], self.leaf[first]
            self._add_up(self.own, cells, row, leaf, -lost * value[leaf, v], output + v, outputs, earned)

    def _add_up(
        self,
        masks: Masks,
        place: IntArray,  # where the mask of each amount stands
        row: IntArray,
        leaf: IntArray,
        amount: FloatArray,
        output: IntArray,
        outputs: int,
        earned: FloatArray,
    ) -> None:
        """Add an amount to every player of its mask, bit by bit."""
        targets, rows = earned.shape
        first, path = row * targets + output[leaf], (self.path * outputs).ravel()
        slot = leaf * self.path.shape[1]
        for number, words in enumerate(masks):
            left, start, slots, amounts = words.ravel()[place], first, slot + WORD * number, amount
            while len(some := np.flatnonzero(left)):
                if len(some) < len(left):
                    left, start, slots, amounts = left[some], start[some], slots[some], amounts[some]
                rest = left & (left - 1)
                target = start + path[slots + np.bitwise_count((left ^ rest) - 1)]
                earned += np.bincount(target, amounts, rows * targets).reshape(rows, targets).T
                left = rest

    def sides(self) -> tuple[BoolArray, BoolArray]:
        """Who is in A and who in B, by their places on the leaf's path: (cubes, places) each."""
        present = _bits([words.ravel()[self.pair] for words in self.theirs])
        absent = _bits([words[self.row, self.leaf] for words in self.own])
        places = self.path.shape[1]  # words may be narrower, or wider, than the longest path
        return present[:, :places], absent[:, :places]

    def add_pairs(
        self, value: FloatArray, output: IntArray, moments: FloatArray, players: int, outputs: int, earned: FloatArray
    ) -> None:
        """Add what each pair within A and B gets; earned (players² × outputs, rows)."""
        present, absent = self.sides()
        a, c = self.present.astype(np.int64), self.absent.astype(np.int64)
        i, j = np.triu_indices(present.shape[1], 1)
        kinds = (
            (present[:, i] & present[:, j], moments[a - 2, c]),
            (absent[:, i] & absent[:, j], moments[a, c - 2]),
            ((present[:, i] & absent[:, j]) | (absent[:, i] & present[:, j]), -moments[a - 1, c - 1]),
        )
        for which, share in kinds:
            cube, pair = np.nonzero(which)
            leaf = self.leaf[cube]
            one, other = self.path[leaf, i[pair]], self.path[leaf, j[pair]]
            target = (np.minimum(one, other) * players + np.maximum(one, other)) * outputs + output[leaf]
            for v in range(value.shape[1]):
                amount = (share * self.weight)[cube] * value[leaf, v]
                np.add.at(earned, (target + v, self.row[cube]), amount)

    def add_in_stages(self, value: FloatArray, output: IntArray, stage: IntArray, outputs: int, earned: FloatArray) -> None:
        """Add what players that come in these stages earn and lose; earned (players × outputs, rows)."""
        present, absent = self.sides()
        player = self.path[self.leaf, : present.shape[1]]  # (cubes, places)
        earning, losing, gain, loss = share_in_stages(present, absent, stage[player])
        for which, share in ((earning, gain), (losing, -loss)):
            cube, place = np.nonzero(which & (share != 0)[:, None])
            leaf = self.leaf[cube]
            target, amount = player[cube, place] * outputs + output[leaf], (share * self.weight)[cube]
            for v in range(value.shape[1]):
                np.add.at(earned, (target + v, self.row[cube]), amount * value[leaf, v])


def _disjoint(own: Masks, theirs: Masks) -> BoolArray:
    """Is no player failed by both? Masks (rows, leaves) and (leaves, m) -> (rows, leaves, m)."""
    free: BoolArray = (own[0][:, :, None] & theirs[0]) == 0
    for x, b in zip(own[1:], theirs[1:], strict=True):
        free &= (x[:, :, None] & b) == 0
    return free


def _size(masks: Masks) -> npt.NDArray[np.uint16]:
    """How many players each mask holds."""
    return sum((np.bitwise_count(words) for words in masks), np.zeros(masks[0].shape, dtype=np.uint16))


def _shares(moments: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What one of A earns and one of B loses, by |A| and |B|."""
    gain, loss = np.zeros_like(moments), np.zeros_like(moments)
    gain[1:], loss[:, 1:] = moments[:-1], moments[:, :-1]
    return gain, loss


def _bits(words: Masks) -> BoolArray:
    """Words (m,) of up to 64 players each -> (m, players)."""
    by_byte = [np.ascontiguousarray(w).view(np.uint8).reshape(len(w), w.dtype.itemsize) for w in words]
    return np.unpackbits(np.concatenate(by_byte, axis=1), axis=1, bitorder="little").view(bool)


def stage_credit(
    forest: Forest,
    paths: Paths,
    matrix: FloatArray,
    background: Background,
    stage: IntArray,  # (players,)
    earned: FloatArray,  # (players, outputs, rows): added to in place
) -> None:
    """Add the asymmetric values of all leaves of some trees, for players that come in stages.

    Who earns and who loses in a cube is decided by the last stage that A reaches and the first that B reaches
    (`values.asymmetric`).
    """
    outputs, flat = earned.shape[1], earned.reshape(-1, earned.shape[-1])
    leaf = np.flatnonzero(~paths.inner)
    theirs = fail_masks(forest, paths, leaf, background.matrix)
    for some, mine, cubes in leaf_cubes(forest, paths, leaf, matrix, background, theirs):
        value, output = forest.value[paths.nodes[mine]], forest.output[paths.tree[mine]]
        cubes.add_in_stages(value, output, stage, outputs, flat[:, some])
