"""Exact values of leaves with many players and a background: who is failed by both the row and a background row?

A leaf pays for a row x and a background row b when no player of its path is failed by both. Each such pair is one cube: A are
the players that b fails, B those that x fails. Failed players are bits of machine words, no wider than the leaf's path needs,
so that comparing a row with all background rows is one operation per leaf and background row; few of them leave a cube.

What a cube earns depends on |A| and |B| alone. It is added to the players of A, by the byte where many bits are set and bit by
bit where few are; what B loses, which is the same for all background rows, is summed over them first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
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
BITS_PER_BYTE = 0.6  # of A that are set, from which on whole bytes are summed
WORD = 64

Words = npt.NDArray[np.unsignedinteger]
Masks = list[Words]  # one array per 64 players
Sizes = npt.NDArray[np.uint16]
BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)  # of each byte


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
        self._fails = FailMasks(forest, paths, leaf)
        self._theirs = compared_leaves(paths, leaf, self._fails.of(background.matrix))

    def add(self, matrix: FloatArray, earned: FloatArray) -> None:
        """Add the credit (or pair interactions i < j) of these leaves to earned (players or players², outputs, rows)."""
        forest, paths, outputs, flat = self.forest, self.paths, earned.shape[1], earned.reshape(-1, earned.shape[-1])
        for some, mine, cubes in leaf_cubes(self._fails, self._theirs, self.background.weight, matrix):
            leaf = self.leaf[mine]
            value, output = forest.value[paths.nodes[leaf]], forest.output[paths.tree[leaf]]
            if self.pairs:
                cubes.add_pairs(value, output, self.moments, self.players, outputs, flat[:, some])
            else:
                cubes.add_credit(value, output, self.shares, outputs, flat[:, some])


@dataclass(frozen=True, eq=False)
class ComparedLeaves:
    """Leaves whose players fit into equally wide words, and what background rows fail on the way to them."""

    which: IntArray  # (leaves,) their positions among all compared
    path: IntArray  # (leaves, bits) the player of each bit
    theirs: Masks  # words (leaves, m)
    players: int  # that their words have bits for


def compared_leaves(paths: Paths, leaf: IntArray, theirs: Masks) -> list[ComparedLeaves]:
    """Leaves and what background rows fail, by the width of their words."""
    count = paths.count[leaf]
    width = np.array([8, 16, 32, *range(WORD, int(count.max(initial=0)) + WORD, WORD)])
    needs = np.searchsorted(width, count)
    found = []
    for group in np.flatnonzero(np.bincount(needs)).tolist():
        mine, wide = np.flatnonzero(needs == group), int(width[group])
        path = np.maximum(paths.path[leaf[mine], :wide], 0).astype(np.int64)
        found.append(ComparedLeaves(mine, path, _narrow(theirs, mine, wide), wide))
    return found


def leaf_cubes(
    fails: FailMasks, compared: list[ComparedLeaves], weight: FloatArray, matrix: FloatArray
) -> Iterator[tuple[slice, IntArray, LeafCubes]]:
    """The cubes of leaves, some rows and some leaves at a time: which rows, which leaves, their cubes."""
    for some in spans(len(matrix), ROWS_PER_MASK):
        own = fails.of(matrix[some])
        step = CELLS_AT_ONCE // (len(weight) * (some.stop - some.start))
        for like in compared:
            for part in spans(len(like.which), step):
                mine, theirs = like.which[part], [words[part] for words in like.theirs]
                yield some, mine, LeafCubes(_narrow(own, mine, like.players), theirs, like.path[part], weight)


class FailMasks:
    """The players that rows fail on the way to some leaves, as bits: prepared once for any rows."""

    def __init__(self, forest: Forest, paths: Paths, leaf: IntArray) -> None:
        """`leaf` are those wanted: (leaves,) local nodes."""
        self.forest, self.paths, self.leaves = forest, paths, len(leaf)
        place = np.full(len(paths.nodes), -1)
        place[leaf] = np.arange(len(leaf))
        self._words = [list(_word_levels(paths, place, first)) for first in range(0, paths.most, WORD)]

    def of(self, matrix: FloatArray) -> Masks:
        """Words (leaves, rows)."""
        left = decide(self.forest, self.paths, matrix)
        return [self._word(levels, left, WORD * number) for number, levels in enumerate(self._words)]

    def _word(self, levels: list[WordLevel], left: BoolArray, first: int) -> Words:
        rows = left.shape[1]
        found = np.zeros((self.leaves, rows), dtype=_word(self.paths.most - first))
        above = np.zeros((self.paths.levels[0].stop, rows), dtype=np.uint8)
        for level in levels:
            base = above[level.above].astype(level.bit.dtype, copy=False)
            right = left[level.test] * level.bit
            above = np.empty((2 * len(base), rows), dtype=level.bit.dtype)
            np.bitwise_or(base, right, out=above[1::2])
            np.bitwise_or(base, level.bit ^ right, out=above[0::2])
            found[level.place] = above[level.end]
        return found


@dataclass(frozen=True, eq=False)
class WordLevel:
    """What the tests of one depth add to a word of 64 players. Shallow levels get along with narrow words."""

    test: IntArray  # (tests,) local nodes
    above: IntArray  # (tests,) their places in their level
    bit: Words  # (tests, 1) of their players, in a word that holds all players down to here
    end: IntArray  # of their children, which stand beside each other, the left one first: those wanted
    place: IntArray  # where these are put


def _word_levels(paths: Paths, place: IntArray, first: int) -> Iterator[WordLevel]:
    for before, level in pairwise(paths.levels):
        test = paths.parent[level][::2]
        bit = paths.slot[test] - first
        here = ((bit >= 0) & (bit < WORD)).astype(np.uint64)
        bits = here << np.clip(bit, 0, WORD - 1).astype(np.uint64)
        end = np.flatnonzero(place[level] >= 0)
        kind = _word(int(paths.count[level].max()) - first)
        yield WordLevel(test, test - before.start, bits.astype(kind)[:, None], end, place[level][end])


def _word(players: int) -> type[np.unsignedinteger]:
    """The narrowest unsigned word that has a bit for each of up to 64 players."""
    return np.dtype(f"u{next(size for size in (1, 2, 4, 8) if 8 * size >= min(players, WORD))}").type


def _narrow(masks: Masks, leaf: IntArray, players: int) -> Masks:
    return [words[leaf].astype(_word(players)) for words in masks[: -(-players // WORD)]]


class LeafCubes:
    """What some rows and all background rows leave of some leaves: one cube for each pair that fails no player twice.

    Masks are (leaves, rows) and (leaves, m).
    """

    def __init__(self, own: Masks, theirs: Masks, path: IntArray, weight: FloatArray) -> None:
        self.own, self.theirs = [np.ascontiguousarray(words.T) for words in own], theirs
        self.path = path  # (leaves, most) the player of each bit
        m = theirs[0].shape[1]
        found = np.flatnonzero(_disjoint(self.own, theirs))  # in order of the rows
        self.cell = found // m  # of row and leaf
        self.pair = found if len(self.own[0]) == 1 else found % theirs[0].size  # a leaf and a background row
        self.weight = weight.take(found - self.cell * m)

    @cached_property
    def row(self) -> IntArray:
        """The row of each cube."""
        return np.asarray(self.cell // len(self.path))

    @cached_property
    def leaf(self) -> IntArray:
        """The leaf of each cube."""
        return np.asarray(self.cell % len(self.path))

    @cached_property
    def present(self) -> Sizes:
        """|A| of each cube."""
        return _size([words.ravel().take(self.pair) for words in self.theirs])

    @cached_property
    def absent(self) -> Sizes:
        """|B| of each cube."""
        return np.asarray(_size([words.ravel() for words in self.own]).take(self.cell))

    def add_credit(
        self, value: FloatArray, output: IntArray, shares: tuple[FloatArray, FloatArray], outputs: int, earned: FloatArray
    ) -> None:
        """Add what A earns and B loses; value (leaves, values), earned (players × outputs, rows)."""
        if not len(self.cell):
            return
        sizes = self.present * np.intp(len(shares[0])) + self.absent
        gain, loss = (by.ravel().take(sizes) * self.weight for by in shares)
        first = np.append(0, np.flatnonzero(self.cell[1:] != self.cell[:-1]) + 1)
        lost = np.add.reduceat(loss, first)
        width = sum(words.itemsize for words in self.theirs)
        many = self.present.sum() >= BITS_PER_BYTE * width * len(self.pair)
        for leaf, goal, amount in (self._by_bytes if many else self._by_bits)(first, gain, lost, output, outputs, earned):
            for v in range(value.shape[1]):
                mine = amount * value[leaf, v]
                earned += np.bincount((goal + v).ravel(), mine.ravel(), earned.size).reshape(earned.shape[::-1]).T

    def _by_bytes(
        self,
        first: IntArray,  # (cells,) their first cubes
        gain: FloatArray,  # (cubes,) what one of A earns
        lost: FloatArray,  # (cells,) what one of B loses
        output: IntArray,
        outputs: int,
        earned: FloatArray,
    ) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Leaves, places in the columns of earned, and amounts, eight players at a time."""
        from scipy.sparse import csr_array

        cells, start = self.cell[first], np.append(first, len(self.cell)).astype(np.int32)
        row, leaf = np.divmod(cells, len(self.path))
        theirs, own = (_bytes(words, at) for words, at in ((self.theirs, self.pair), (self.own, cells)))
        each = [  # of cells: what the players of eight bits get
            csr_array((gain, mask, start), shape=(len(cells), len(BITS))) @ BITS - lost[:, None] * BITS[fails]
            for mask, fails in zip(theirs, own, strict=True)
        ]
        amount = np.concatenate(each, axis=1)[:, : self.path.shape[1]]
        yield leaf[:, None], (self.path * outputs + output[:, None])[leaf] + (row * len(earned))[:, None], amount

    def _by_bits(
        self, first: IntArray, gain: FloatArray, lost: FloatArray, output: IntArray, outputs: int, earned: FloatArray
    ) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """The same, one player at a time."""
        sides = ((self.theirs, self.pair, self.cell, gain), (self.own, self.cell[first], self.cell[first], -lost))
        for masks, place, cell, amount in sides:
            which, slot = _set_bits(masks, place)
            row, leaf = np.divmod(cell, len(self.path))
            start, leaf = (row * len(earned) + output[leaf])[which], leaf[which]
            yield leaf, start + self.path[leaf, slot] * outputs, amount[which]

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


def _size(masks: Masks) -> Sizes:
    """How many players each mask holds."""
    return sum((np.bitwise_count(words) for words in masks), np.zeros(masks[0].shape, dtype=np.uint16))


def _bytes(masks: Masks, place: IntArray) -> Iterator[npt.NDArray[np.int32]]:
    """The masks at these places, eight players at a time."""
    for words in masks:
        found = words.ravel().take(place)
        yield from found.view(np.uint8).reshape(len(place), words.itemsize).T.astype(np.int32)


def _set_bits(masks: Masks, place: IntArray) -> tuple[IntArray, IntArray]:
    """Each bit that is set in the masks at these places: of which of them, and its number."""
    which, number = [], []
    for before, words in zip(range(0, WORD * len(masks), WORD), masks, strict=True):
        found = words.ravel().take(place)
        holding = np.flatnonzero(found)
        left = found[holding]
        while len(left):
            rest = left & (left - 1)
            which.append(holding)
            number.append(np.bitwise_count((left ^ rest) - 1) + np.intp(before))
            more = np.flatnonzero(rest)
            holding, left = holding[more], rest[more]
    return np.concatenate(which or [place[:0]]), np.concatenate(number or [place[:0]])


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
    fails = FailMasks(forest, paths, leaf)
    compared = compared_leaves(paths, leaf, fails.of(background.matrix))
    for some, mine, cubes in leaf_cubes(fails, compared, background.weight, matrix):
        value, output = forest.value[paths.nodes[leaf[mine]]], forest.output[paths.tree[leaf[mine]]]
        cubes.add_in_stages(value, output, stage, outputs, flat[:, some])
