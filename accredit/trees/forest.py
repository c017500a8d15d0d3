"""A tree ensemble as plain arrays: what every parser writes and every exact value reads.

Each output is a base score plus the sum of one leaf per tree. A node compares one column of the row with a threshold, or
looks a category up in a set; it says where a missing value goes. Nothing else about the library that grew the trees is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from accredit.checks import real_numbers
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import InvalidInput

ROUTE_CELLS = 1 << 20  # rows × trees that are walked at once
FEW_NODES = 128  # of a tree, on average, up to which all of them are tried for a few rows
WALKING = 0.75  # share of rows that have not reached their leaf, below which the others are left out
FEW_ROWS = 8  # up to which all nodes are tried at once instead of column by column

Numbers = Sequence[float] | npt.NDArray[np.generic]


@dataclass(frozen=True)
class Tree:
    """One tree as a parser finds it: nodes in any order, the root first, children by position in this tree.

    >>> stump = Tree([0, -1, -1], [0.5, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 3], [4, 1, 3])  # 1 up to 0.5, else 3
    >>> Forest.of([stump], features=1).margin(np.array([[0.2], [0.9]]))[:, 0]
    array([1., 3.])
    """

    feature: Numbers  # (nodes,) the column tested, −1 at a leaf
    threshold: Numbers  # (nodes,)
    left: Numbers  # (nodes,)
    right: Numbers  # (nodes,)
    value: Numbers | Sequence[Sequence[float]]  # (nodes,) or (nodes, values): what a leaf adds
    cover: Numbers  # (nodes,) how much training weight came through
    missing_left: Numbers | None = None  # (nodes,) a missing value goes left; None: right
    zero_missing: Numbers | None = None  # (nodes,) zero counts as missing
    sets: Mapping[int, BoolArray] | None = None  # of nodes: category codes that go left, and at the end all codes beyond
    output: int = 0  # the output that the first value adds to


@dataclass(frozen=True, eq=False)
class LeafSlopes:
    """Linear models in leaves: one adds `start` and its columns times their weights, or its value where one is missing."""

    start: FloatArray  # (nodes,)
    column: IntArray  # (nodes, most) −1 where a leaf has fewer columns
    weight: FloatArray  # (nodes, most), zero there

    def add(self, leaf: IntArray, matrix: FloatArray, value: FloatArray) -> FloatArray:
        """What these leaves add for these rows: (leaves, rows) of node positions, and their constant values."""
        column = self.column[leaf]
        used = column >= 0
        x = np.where(used, matrix[np.arange(len(matrix))[None, :, None], column], 0.0)
        linear = self.start[leaf] + (x * self.weight[leaf]).sum(axis=2)
        return np.where(used.any(axis=2) & ~np.isnan(x).any(axis=2), linear, value)


@final
@dataclass(frozen=True, eq=False)
class Forest:
    """All trees in one set of arrays; children are positions in these arrays, and a leaf is its own child.

    >>> stump = Tree([0, -1, -1], [0.5, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 3], [4, 1, 3])
    >>> forest = Forest.of([stump], features=1)
    >>> forest.margin(np.array([[0.2], [0.5], [0.9]]))[:, 0]
    array([1., 1., 3.])
    """

    feature: IntArray  # (nodes,) the column tested, −1 at a leaf
    threshold: FloatArray  # (nodes,)
    left: IntArray  # (nodes,)
    right: IntArray  # (nodes,)
    value: FloatArray  # (nodes, values), zero at inner nodes
    cover: FloatArray  # (nodes,)
    missing_left: BoolArray  # (nodes,)
    zero_missing: BoolArray  # (nodes,)
    set_of: IntArray  # (nodes,) row of `sets`, −1 where the test is a threshold
    sets: BoolArray  # (sets, codes + 1): which category codes go left; the last column is for codes beyond
    roots: IntArray  # (trees,)
    output: IntArray  # (trees,) the output that the tree's first value adds to
    base: FloatArray  # (outputs,)
    features: int  # columns of a row
    inclusive: bool = True  # x ≤ threshold goes left; False: x < threshold
    single: bool = False  # rows are rounded to single precision before they are compared
    tiny: float = 0.0  # numbers up to this size are taken for zero
    source: str = "forest"  # the model it was read from, in words
    slopes: LeafSlopes | None = None  # linear models in the leaves, of trees that add to one output each

    @classmethod
    def of(
        cls,
        trees: Sequence[Tree],
        features: int,
        base: npt.ArrayLike = 0.0,
        *,
        inclusive: bool = True,
        single: bool = False,
        tiny: float = 0.0,
        source: str = "forest",
    ) -> Forest:
        """A forest from its trees; `base` has one number per output."""
        if not trees:
            raise InvalidInput(f"{source} has no trees; fit it first", code="unsupported")
        start = np.cumsum([0] + [len(t.feature) for t in trees])
        place = list(zip(trees, start[:-1].tolist(), strict=True))
        feature = np.concatenate([np.asarray(t.feature, dtype=np.int64) for t in trees])
        leaf, own = feature < 0, np.arange(len(feature))
        left, right = (
            np.concatenate([np.asarray(c, dtype=np.int64) + s for c, s in zip(side, start, strict=False)])
            for side in ([t.left for t in trees], [t.right for t in trees])
        )
        value = np.concatenate([np.asarray(t.value, dtype=np.float64).reshape(len(t.feature), -1) for t in trees])
        set_of, sets = _category_sets(place, len(feature))
        return cls(
            feature,
            np.concatenate([np.asarray(t.threshold, dtype=np.float64) for t in trees]),
            np.where(leaf, own, left),
            np.where(leaf, own, right),
            np.where(leaf[:, None], value, 0.0),
            np.concatenate([np.asarray(t.cover, dtype=np.float64) for t in trees]),
            _flags([t.missing_left for t in trees], trees),
            _flags([t.zero_missing for t in trees], trees),
            set_of,
            sets,
            start[:-1],
            np.array([t.output for t in trees]),
            np.atleast_1d(np.asarray(base, dtype=np.float64)),
            features,
            inclusive,
            single,
            tiny,
            source,
        )

    @property
    def trees(self) -> int:
        """How many trees there are."""
        return len(self.roots)

    @property
    def outputs(self) -> int:
        """How many numbers one row gets."""
        return len(self.base)

    def __repr__(self) -> str:
        return f"Forest({self.source}: {self.trees} trees, {len(self.feature)} nodes, {self.outputs} outputs)"

    def scale(self, factor: float, base: npt.ArrayLike | None = None) -> Forest:
        """The same trees with every leaf and the base multiplied, or with another base."""
        new_base = self.base * factor if base is None else np.atleast_1d(np.asarray(base, dtype=np.float64))
        return replace(self, value=self.value * factor, base=new_base)

    def matrix(self, rows: object, name: str = "rows") -> FloatArray:
        """Rows as the model compares them: (rows, features), rounded to single precision where the model does so."""
        array = real_numbers(rows, name, masked=True)  # a missing number goes the way that the tree has learned for it
        if array.ndim != 2 or array.shape[1] != self.features:
            raise InvalidInput(
                f"{name} has shape {array.shape}; {self.source} reads (rows, {self.features})", argument=name, code="shape"
            )
        if self.single:
            with np.errstate(over="ignore"):
                return array.astype(np.float32).astype(np.float64)
        return np.where(np.abs(array) <= self.tiny, 0.0, array) if self.tiny else array

    def decisions(self, nodes: IntArray, matrix: FloatArray) -> BoolArray:
        """Does each row go left at each of these inner nodes? (nodes, rows)."""
        if len(matrix) <= FEW_ROWS:
            return self._goes_left(nodes[:, None], matrix.T[self.feature[nodes]])
        left = np.empty((len(nodes), len(matrix)), dtype=bool)
        order = np.argsort(self.feature[nodes], kind="stable")
        columns, first = np.unique(self.feature[nodes][order], return_index=True)
        for column, part in zip(columns, np.split(order, first[1:]), strict=True):
            left[part] = self._goes_left(nodes[part][:, None], matrix[:, column][None, :])
        return left

    def _goes_left(self, nodes: IntArray, x: FloatArray) -> BoolArray:
        """Where each value goes at each node; `nodes` and `x` broadcast together."""
        threshold = self.threshold[nodes]
        left = x <= threshold if self.inclusive else x < threshold
        if len(self.sets) and (listed := (set_of := self.set_of[nodes]) >= 0).any():
            left = np.where(listed, self.sets[set_of, self._codes(x)], left)
        missing = np.isnan(x)
        if self._takes_zero and (zero := self.zero_missing[nodes]).any():
            missing = missing | (zero & (x == 0))
        return np.where(missing, self.missing_left[nodes], left) if missing.any() else left

    @cached_property
    def _takes_zero(self) -> bool:
        """Does any node take zero for missing?"""
        return bool(self.zero_missing.any())

    def _codes(self, x: FloatArray) -> IntArray:
        """Category codes, cut towards zero as the libraries do; the last column of `sets` for what lies outside."""
        beyond = self.sets.shape[1] - 1
        return np.where((x > -1) & (x < beyond), x, beyond).astype(np.int64)

    def leaves(self, matrix: FloatArray) -> IntArray:
        """The leaf of every row in every tree: (trees, rows) of node positions."""
        if len(matrix) <= FEW_ROWS and len(self.feature) <= FEW_NODES * self.trees:
            return self._leaves_of_few(matrix)
        node = np.repeat(self.roots, len(matrix))
        start = np.tile(np.arange(len(matrix)) * self.features, self.trees)  # of each node's row among all numbers
        leaves, place, numbers = np.empty_like(node), np.arange(len(node)), matrix.ravel()
        while len(node):
            left = self._goes_left(node, numbers.take(start + self.feature.take(node)))
            node = self._children.take(2 * node + left)  # a leaf is its own child, whatever is compared there
            inner = self.feature.take(node) >= 0
            if np.count_nonzero(inner) < WALKING * len(node):
                leaves[place] = node
                node, start, place = node[inner], start[inner], place[inner]
        return leaves.reshape(self.trees, len(matrix))

    @cached_property
    def _children(self) -> IntArray:
        """The right and the left child of every node, beside each other."""
        return np.stack([self.right, self.left], axis=1).ravel()

    def _leaves_of_few(self, matrix: FloatArray) -> IntArray:
        """The same row by row, with every test of small trees tried at once."""
        inner = np.flatnonzero(self.feature >= 0)
        leaves = np.empty((self.trees, len(matrix)), dtype=np.int64)
        for row, left in enumerate(self.decisions(inner, matrix).T):
            below = self.left.copy()  # where the row goes from each node
            below[inner] = np.where(left, self.left[inner], self.right[inner])
            at = self.roots
            for _ in range(self.depth):
                at = below[at]
            leaves[:, row] = at
        return leaves

    @cached_property
    def depth(self) -> int:
        """The most tests that one row meets in a tree."""
        at, depth = self.roots, 0
        while len(at := at[self.feature[at] >= 0]):
            at, depth = np.concatenate([self.left[at], self.right[at]]), depth + 1
        return depth

    def margin(self, rows: object) -> FloatArray:
        """The model's raw output: (rows, outputs)."""
        matrix = self.matrix(rows)
        total = np.repeat(self.base[None, :], len(matrix), axis=0)
        step = max(1, ROUTE_CELLS // self.trees)
        for start in range(0, len(matrix), step):
            at = self.leaves(matrix[start : start + step])
            for first, trees in self._by_output:
                leaf = at[trees]
                for v in range(self.value.shape[1]):
                    each = self.value[leaf, v]
                    if self.slopes is not None:
                        each = self.slopes.add(leaf, matrix[start : start + step], each)
                    total[start : start + step, first + v] += each.sum(axis=0)
        return total

    @cached_property
    def _by_output(self) -> list[tuple[int, IntArray]]:
        """The trees that begin with each output."""
        return [(first, np.flatnonzero(self.output == first)) for first in np.unique(self.output).tolist()]


def _flags(given: list[Numbers | None], trees: Sequence[Tree]) -> BoolArray:
    return np.concatenate(
        [np.zeros(len(t.feature), bool) if g is None else np.asarray(g, bool) for g, t in zip(given, trees, strict=True)]
    )


def _category_sets(place: list[tuple[Tree, int]], nodes: int) -> tuple[IntArray, BoolArray]:
    """Category sets of all trees as one table, each padded with its own last entry."""
    found = [(start + node, np.asarray(s, bool)) for t, start in place for node, s in (t.sets or {}).items()]
    set_of = np.full(nodes, -1, dtype=np.int64)
    width = max((len(s) for _, s in found), default=1)
    sets = np.zeros((len(found), width), dtype=bool)
    for row, (node, members) in enumerate(found):
        set_of[node] = row
        sets[row] = members[-1]
        sets[row, : len(members) - 1] = members[:-1]
    return set_of, sets
