r"""Exact values of trees whose leaves hold linear models, beside a background.

A leaf that a mixture of a row x and a background row b reaches is a cube: it pays when all of A play and none of B. If it pays
$c + \sum_j w_j z_j$, it is a sum of cubes: c on (A, B); for each column $w_j x_j$ on (A ∪ j, B) and $w_j b_j$ on (A, B ∪ j).
Where z holds a missing value the leaf falls back to a constant: the linear model then pays on the cube in which nobody whose x
is missing plays, and everybody whose b is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.trees.credit import TreeCredit, means_of
from accredit.trees.forest import Forest
from accredit.trees.masks import FailMasks, LeafCubes, compared_leaves, leaf_cubes
from accredit.trees.paths import paths_of
from accredit.trees.tables import Background, spans
from accredit.values.semivalue_rules import Semivalue

CELLS_AT_ONCE = 1 << 22  # cubes × players


@dataclass(frozen=True, eq=False)
class SlopedCubes:
    """Each pays `value` when all of its players in A play and none in B."""

    present: BoolArray  # (cubes, players) is the player in A?
    absent: BoolArray  # (cubes, players) … in B?
    value: FloatArray  # (cubes,)
    goal: IntArray  # (cubes,) row × outputs + output


class SlopedShares:
    """Trees with linear leaves, beside background rows: prepared once, asked about rows as often as needed."""

    def __init__(
        self,
        forest: Forest,
        background: Background,
        players: IntArray,  # (features,) the player of each column
        count: int,
        rule: Semivalue,
        interactions: bool,
    ) -> None:
        assert forest.slopes is not None
        self.forest, self.background, self.slopes = forest, background, forest.slopes
        self._of, self._count, self._interactions, self._moments = players, count, interactions, rule.moments(count)
        self._paths = paths_of(forest, np.arange(forest.trees), players)
        self._leaf = np.flatnonzero(~self._paths.inner)
        self._fails = FailMasks(forest, self._paths, self._leaf)
        self._compared = compared_leaves(self._paths, self._leaf, self._fails.of(background.matrix)) if self._paths.most else []
        self.base = np.asarray(background.weight @ forest.margin(background.matrix))

    def credit(self, rows: object) -> TreeCredit:
        """Exact credit of every player in every output of these rows."""
        matrix, outputs, count = self.forest.matrix(rows), self.forest.outputs, self._count
        credit = np.zeros((len(matrix) * outputs, count))
        pairs = np.zeros((len(matrix) * outputs, count, count)) if self._interactions else None
        for some, mine, cubes in leaf_cubes(self._fails, self._compared, self.background.weight, matrix):
            for part in spans(len(cubes.cell), CELLS_AT_ONCE // count):
                for like in self._terms(matrix, some.start, self._leaf[mine], cubes, part):
                    self._add(like, credit)
                    if pairs is not None:
                        self._add_pairs(like, pairs)
        earned = credit.reshape(len(matrix), outputs, count).transpose(0, 2, 1)
        both = None if pairs is None else pairs.reshape(len(matrix), outputs, count, count).transpose(0, 2, 3, 1)
        return TreeCredit(np.ascontiguousarray(earned), self.base, both, means_of(self.background))

    def _terms(self, matrix: FloatArray, first: int, leaf: IntArray, cubes: LeafCubes, part: slice) -> list[SlopedCubes]:
        """What some cubes of leaves pay, as cubes that pay constants."""
        paths, slopes, all_present, all_absent = self._paths, self.slopes, *cubes.sides()
        own, row = cubes.leaf[part], first + cubes.row[part]
        node = paths.nodes[leaf[own]]
        beside = self.background.matrix[cubes.pair[part] % len(self.background.matrix)]
        goal = row * self.forest.outputs + self.forest.output[paths.tree[leaf[own]]]
        weight, value, path = cubes.weight[part], self.forest.value[node, 0], cubes.path[own]
        present, absent = (self._spread(side[part], path) for side in (all_present, all_absent))
        column, slope = slopes.column[node], slopes.weight[node]  # (cubes, most)
        used, player = column >= 0, self._of[column]
        x, b = matrix[row[:, None], column], np.take_along_axis(beside, column, axis=1)
        found = [SlopedCubes(present, absent, weight * value, goal)]
        present = present | self._spread(used & np.isnan(b), player)
        absent = absent | self._spread(used & np.isnan(x), player)
        pays = np.asarray(used.any(axis=1) & ~(present & absent).any(axis=1))
        found.append(_some(SlopedCubes(present, absent, weight * (slopes.start[node] - value), goal), pays))
        each = np.arange(len(node))
        for j in range(column.shape[1]):
            who = player[:, j]
            for side, other, z in ((present, absent, x[:, j]), (absent, present, b[:, j])):
                can = np.flatnonzero(pays & used[:, j] & ~other[each, who])
                more = side[can]
                more[np.arange(len(can)), who[can]] = True
                amount = (weight * slope[:, j])[can] * z[can]
                sides = (more, other[can]) if side is present else (other[can], more)
                found.append(SlopedCubes(*sides, amount, goal[can]))
        return found

    def _spread(self, flags: BoolArray, player: IntArray) -> BoolArray:
        """Flags of places as flags of players: (cubes, places), the player of each -> (cubes, players)."""
        found = np.zeros((len(flags), self._count), dtype=bool)
        cube, place = np.nonzero(flags)
        found[cube, player[cube, place]] = True
        return found

    def _add(self, cubes: SlopedCubes, credit: FloatArray) -> None:
        """Add what A earns and B loses to credit (rows × outputs, players)."""
        from scipy.sparse import csr_array

        a, c = cubes.present.sum(axis=1), cubes.absent.sum(axis=1)
        earns, loses = self._moments[a - 1, c] * cubes.value, self._moments[a, c - 1] * cubes.value
        each = cubes.present * earns[:, None] - cubes.absent * loses[:, None]
        gather = csr_array((np.ones(len(a)), (cubes.goal, np.arange(len(a)))), shape=(len(credit), len(a)))
        credit += gather @ each

    def _add_pairs(self, cubes: SlopedCubes, pairs: FloatArray) -> None:
        """Add what each pair within A and B gets to pairs (rows × outputs, players, players)."""
        a, c, moments = cubes.present.sum(axis=1), cubes.absent.sum(axis=1), self._moments
        kinds = (moments[a - 2, c], moments[a, c - 2], -moments[a - 1, c - 1])
        together, apart, split = (by * cubes.value for by in kinds)
        for goal in np.unique(cubes.goal).tolist():
            mine = cubes.goal == goal
            here, away = cubes.present[mine], cubes.absent[mine].astype(np.float64)
            mixed = (here * split[mine, None]).T @ away
            found = (here * together[mine, None]).T @ here + (away * apart[mine, None]).T @ away + mixed + mixed.T
            np.fill_diagonal(found, 0.0)
            pairs[goal] += found


def _some(cubes: SlopedCubes, which: BoolArray) -> SlopedCubes:
    return SlopedCubes(cubes.present[which], cubes.absent[which], cubes.value[which], cubes.goal[which])
