"""Small subtrees that are looked up as one: a row's way through a block of up to three tests is a few bits.

The players tested above a block give one bit each (does the row fail it?), each test inside gives one (does the row go
left?). These K bits fix the pattern of every leaf of the block, so one table of 2ᴷ entries serves all its leaves, and the
number of lookups per row is a quarter of the number of leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.trees.forest import Forest
from accredit.trees.paths import Paths, decide

Entries = npt.NDArray[np.uint16]  # (blocks, rows): where each row looks in each block's table
TESTS = 3  # in one block
BLOCK_BITS = 10  # bits of a block of more than one leaf


@dataclass(frozen=True, eq=False)
class Group:
    """Blocks with equally many players above and tests inside."""

    above: int  # players tested above
    tests: int  # tests inside
    root: IntArray  # (blocks,) local nodes
    test: IntArray  # (blocks, tests) local nodes
    leaf: IntArray  # (leaves,) local nodes
    block: IntArray  # (leaves,) the leaf's block in this group

    @property
    def bits(self) -> int:
        return self.above + self.tests


@dataclass(frozen=True, eq=False)
class Tests:
    """Every test that decides an entry, block after block; several tests of one player share a bit."""

    node: IntArray  # (tests,) local nodes
    flip: BoolArray  # (tests,) the bit is set by going right instead of left
    bit: IntArray  # (tests,)
    start: IntArray  # (blocks,) the first test of each block


class Blocks:
    """All blocks of some trees, and how rows find their entry in each."""

    def __init__(self, paths: Paths, leaves: BoolArray) -> None:
        """`leaves` are those wanted: (nodes,)."""
        self.paths, self.wanted = paths, leaves
        tests = self._tests_below()
        self.fits = (tests <= TESTS) & ((tests == 0) | (paths.count + tests <= BLOCK_BITS))
        parent = paths.parent
        root = self.fits & ((parent < 0) | ~self.fits[parent])
        self.root = np.where(root, np.arange(len(root)), -1)  # (nodes,) the root of the node's block
        for level in paths.levels[1:]:
            inherit = self.fits[level] & ~root[level]
            self.root[level] = np.where(inherit, self.root[parent[level]], self.root[level])
        self.place = self._places()
        self.fails, self.tester = self._inside(root)
        self.groups = list(self._groups(np.flatnonzero(root), tests))

    def _tests_below(self) -> IntArray:
        tests = self.paths.inner.astype(np.int64)
        for level in reversed(self.paths.levels[1:]):
            tests[self.paths.parent[level][::2]] += tests[level].reshape(-1, 2).sum(axis=1)
        return tests

    def _places(self) -> IntArray:
        """Which bit of its block a test inside is: (nodes,)."""
        place = np.zeros(len(self.root), dtype=np.int64)
        inside = np.flatnonzero(self.paths.inner & self.fits)
        order = inside[np.argsort(self.root[inside], kind="stable")]
        first = np.searchsorted(self.root[order], self.root[order])
        place[order] = np.arange(len(order)) - first
        return place

    def _inside(self, root: BoolArray) -> tuple[IntArray, IntArray]:
        """Per node: players failed inside for each way through the tests (nodes, 8), and which test brought each new player
        (nodes, 3)."""
        p = self.paths
        ways = np.arange(1 << TESTS)
        fails = np.zeros((len(root), len(ways)), dtype=np.int64)
        tester = np.full((len(root), TESTS), -1)
        for level in p.levels[1:]:
            here = np.flatnonzero((self.fits & ~root)[level]) + level.start
            above = p.parent[here]
            missed = (ways >> self.place[above][:, None] & 1) ^ p.is_left[here][:, None]
            fails[here] = fails[above] | missed << p.slot[above][:, None]
            tester[here] = tester[above]
            new = p.count[here] > p.count[above]
            tester[here[new], p.count[above[new]] - p.count[self.root[here[new]]]] = self.place[above[new]]
        return fails, tester

    def _groups(self, roots: IntArray, tests: IntArray) -> Iterator[Group]:
        p = self.paths
        leaves, inside = np.flatnonzero(self.wanted), np.flatnonzero(p.inner & self.fits)
        roots = np.intersect1d(roots, self.root[leaves])
        number = np.full(len(p.nodes), -1)
        for above, count in np.unique(np.stack([p.count[roots], tests[roots]], axis=1), axis=0).tolist():
            mine = roots[(p.count[roots] == above) & (tests[roots] == count)]
            number[:] = -1
            number[mine] = np.arange(len(mine))
            test = np.zeros((len(mine), count), dtype=np.int64)
            own = inside[number[self.root[inside]] >= 0]
            test[number[self.root[own]], self.place[own]] = own
            leaf = leaves[number[self.root[leaves]] >= 0]
            yield Group(above, count, mine, test, leaf, number[self.root[leaf]])

    def entries(self, forest: Forest, matrix: FloatArray) -> list[Entries]:
        """The entry of every row in every block's table, one array (blocks, rows) per group."""
        p = self.paths
        left = decide(forest, p, matrix)
        failed = np.zeros((len(p.nodes), len(matrix)), dtype=np.uint16)
        kept = ~self.fits | (self.root == np.arange(len(p.nodes)))
        for level in p.levels[1:]:
            here = np.flatnonzero(kept[level]) + level.start
            above = p.parent[here]
            missed = (left[above] ^ p.is_left[here][:, None]).astype(np.uint16)
            failed[here] = failed[above] | missed << p.slot[above].astype(np.uint16)[:, None]
        found = []
        for group in self.groups:
            entry = failed[group.root]
            for i in range(group.tests):
                entry |= left[group.test[:, i]].astype(np.uint16) << np.uint16(group.above + i)
            found.append(entry)
        return found

    def entry(self, left: BoolArray) -> IntArray:
        """The entry of one row in every block's table, group after group: (nodes,) -> (blocks,)."""
        tests = self._tests
        return np.bitwise_or.reduceat((left[tests.node] ^ tests.flip) * tests.bit, tests.start)

    @cached_property
    def _tests(self) -> Tests:
        p = self.paths
        root = np.concatenate([group.root for group in self.groups])
        first = np.cumsum([0, *(len(group.root) for group in self.groups)])
        none = np.zeros(len(root), dtype=np.int64)
        found = [(np.arange(len(root)), none, none, none)]  # so that a block above which nothing is tested has a bit, too
        block, here = np.arange(len(root)), root
        while len(below := np.flatnonzero(p.parent[here] >= 0)):
            block, here = block[below], here[below]
            above = p.parent[here]
            found.append((block, above, p.is_left[here].astype(np.int64), 1 << p.slot[above]))
            here = above
        for group, start in zip(self.groups, first, strict=False):
            own = start + np.arange(len(group.root))
            for i in range(group.tests):
                bit = np.full(len(own), 1 << (group.above + i))
                found.append((own, group.test[:, i], np.zeros(len(own), dtype=np.int64), bit))
        block, node, flip, bit = (np.concatenate(each) for each in zip(*found, strict=True))
        order = np.argsort(block, kind="stable")
        return Tests(node[order], flip[order].astype(bool), bit[order], np.searchsorted(block[order], np.arange(len(root))))

    def patterns(self, group: Group, leaves: IntArray) -> IntArray:
        """Players failed at each leaf for each entry of its block: (leaves, 2ᴷ)."""
        above = np.arange(1 << group.above)
        ways = self.fails[leaves, : 1 << group.tests]
        return (ways[:, :, None] | above).reshape(len(leaves), -1)

    def places(self, group: Group, leaves: IntArray) -> IntArray:
        """The block's bit that stands for each player of each leaf: (leaves, k); all leaves have k players."""
        k = int(self.paths.count[leaves[0]])
        shared = np.broadcast_to(np.arange(group.above), (len(leaves), group.above))
        return np.concatenate([shared, group.above + self.tester[leaves, : k - group.above]], axis=1)

    def players(self, group: Group) -> IntArray:
        """The player of each bit of each block: (blocks, K)."""
        p = self.paths
        return np.concatenate([p.path[group.root, : group.above], p.player[group.test]], axis=1)
