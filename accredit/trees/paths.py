"""What the way to each node says about the players: who was tested, in which order, and by which edge last."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.trees.forest import Forest


@dataclass(frozen=True, eq=False)
class Levels:
    """The nodes of some trees by level.

    Positions are those of the forest's own arrays, made local: node `nodes[i]` of the forest is node i here.
    """

    nodes: IntArray  # (nodes,) positions in the forest, level by level
    levels: list[slice]  # one per depth, over local positions
    tree: IntArray  # (nodes,) which tree of the forest
    parent: IntArray  # (nodes,) local; −1 at a root
    is_left: BoolArray  # (nodes,) is it its parent's left child?


@dataclass(frozen=True, eq=False)
class Paths(Levels):
    """The nodes of some trees by level, and the distinct players tested above each."""

    inner: BoolArray  # (nodes,)
    player: IntArray  # (nodes,) the player tested; −1 at a leaf
    count: IntArray  # (nodes,) distinct players tested above
    slot: IntArray  # (nodes,) at an inner node: the place of its player among those of its children
    path: npt.NDArray[np.int32]  # (nodes, most) the players tested above, in order of first test
    before: IntArray  # (nodes,) the last node above whose own edge tested the same player as this one's; −1: none

    @cached_property
    def tests(self) -> IntArray:
        """The inner nodes."""
        return np.flatnonzero(self.inner)

    @property
    def most(self) -> int:
        """The most distinct players above any node."""
        return int(self.count.max())


def paths_of(forest: Forest, trees: IntArray, players: IntArray, by: Levels | None = None) -> Paths:
    """The paths of some trees, whose levels may be known; `players` gives the player of each column: (features,)."""
    by = by or levels_of(forest, trees)
    nodes, levels, parent = by.nodes, by.levels, by.parent
    inner = forest.feature[nodes] >= 0
    player = np.where(inner, players[np.maximum(forest.feature[nodes], 0)], -1)
    width = max(1, min(len(levels) - 1, int(np.count_nonzero(np.bincount(player[inner], minlength=1)))))
    count, slot, before = (np.full(len(nodes), fill) for fill in (0, 0, -1))
    path = np.full((len(nodes), width), -1, dtype=np.int32)
    edge = np.zeros(
        (len(trees), width), dtype=np.int32
    )  # of one level: the last edge above that tested each player of the path
    for depth, (before_it, level) in enumerate(pairwise(levels)):
        here = np.arange(level.start, level.stop)
        above = parent[level]
        tested = player[above]
        path[level, :depth], edge = path[above, :depth], edge[above - before_it.start]
        same = path[level, :depth] == tested[:, None]
        place = np.where(same.any(axis=1), same.argmax(axis=1), count[above]) if depth else count[above]
        seen = place < count[above]
        slot[above] = place
        count[level] = count[above] + ~seen
        before[level] = np.where(seen, edge[here - level.start, place], -1)
        path[here, place], edge[here - level.start, place] = tested, here
    return Paths(nodes, levels, by.tree, parent, by.is_left, inner, player, count, slot, path, before)


def levels_of(forest: Forest, trees: IntArray) -> Levels:
    """The nodes of some trees, level by level."""
    nodes, tree, parent = [forest.roots[trees]], [trees], [np.full(len(trees), -1)]
    levels = [slice(0, len(trees))]
    while len(split := np.flatnonzero(forest.feature.take(nodes[-1]) >= 0)):
        above, below = nodes[-1][split], np.empty(2 * len(split), dtype=np.int64)
        below[0::2], below[1::2] = forest.left.take(above), forest.right.take(above)
        nodes.append(below)
        tree.append(np.repeat(tree[-1][split], 2))
        parent.append(np.repeat(split + levels[-1].start, 2))
        levels.append(slice(levels[-1].stop, levels[-1].stop + 2 * len(split)))
    is_left = np.arange(levels[-1].stop) % 2 == len(trees) % 2
    is_left[: len(trees)] = False
    return Levels(np.concatenate(nodes), levels, np.concatenate(tree), np.concatenate(parent), is_left)


def decide(forest: Forest, paths: Paths, matrix: FloatArray) -> BoolArray:
    """Does each row go left at each node? (nodes, rows); False at leaves."""
    inner = paths.tests
    left = np.zeros((len(paths.nodes), len(matrix)), dtype=bool)
    left[inner] = forest.decisions(paths.nodes[inner], matrix)
    return left
