r"""Exact values of trees under cover ratios: one walk up, one walk down, stable at any depth.

At a node t of the semivalue's rule a test sends the share $f_L = s_L + ([\text{the row goes left}] - s_L)\,\rho$ of its weight
to the left, where s_L is the share of training weight that went there. For a player who was never asked above, ρ = t. Where
the player was, let r be the share of training weight that went the same way in those tests: once the row has failed one of
them ρ = 0, else $\rho = t / (r(1-t) + t)$. Going up, a test is worth $V = V_R + f_L (V_L - V_R)$; going down, G is the
product of the shares above. Then the player of the test earns

$$\sum_t \omega_t\, G(t)\, \rho'(t)\, ([\text{left}] - s_L)\,(V_L(t) - V_R(t)), \qquad \rho'(t) = \frac{r}{(r(1-t)+t)^2},$$

and nothing once the row has failed. Nothing is divided by a share, and nothing cancels but the worth of the two sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.trees.forest import Forest
from accredit.trees.paths import Paths
from accredit.trees.tables import shares, spans
from accredit.values.semivalue_rules import Semivalue

CELLS_PER_WALK = 1 << 16  # rows × nodes of the rule × tests at once


@dataclass(frozen=True, eq=False)
class Level:
    """The tests of one depth: first those with a test below, then the last ones, whose children are both leaves."""

    inner: slice  # tests
    last: slice  # tests
    value: FloatArray  # (leaves, values) of the children of `inner`, which stand behind the tests of the next level
    place: IntArray | None  # (2 × inner,) where the children stand, two of one test beside each other; None: as they come
    back: IntArray | None  # which of these children each test of the next level is; None: as they come
    base: FloatArray  # (last, values) what a last test is worth when all weight goes as the training rows did
    spread: FloatArray  # (last, values) how much more its left child pays than its right one
    again: IntArray  # tests whose player was asked above
    before: IntArray  # the last such test
    went_left: BoolArray  # which way leads down from there


class Walk:
    """The tests of some trees, prepared once for any rows."""

    def __init__(self, forest: Forest, paths: Paths, rule: Semivalue, pairs: bool, players: int) -> None:
        from scipy.sparse import csr_array

        self.forest, self.paths, self.pairs, self.players = forest, paths, pairs, players
        order = _Order(paths)
        tests, self.nodes = order.tests, paths.nodes[order.tests]
        self.player = paths.player[tests]
        share = shares(forest, paths)
        self.share = share[order.left]  # (tests,) that went left
        same = np.ones(len(tests))  # (tests,) that went the same way in all tests of the player above
        self.levels = list(order.levels(forest, paths, self.share))
        for level in self.levels:
            same[level.again] = same[level.before] * share[paths.before[order.left[level.again]]]
        t, omega = (each[:, None] for each in rule.rule(max(1, paths.most)))
        passed = same * (1 - t) + t
        self.weight, self.slope = t / passed, omega * same / passed**2  # ρ and ω ρ', (t, tests)
        target = self.player * forest.outputs + forest.output[paths.tree[tests]]
        shape, ones = (players * forest.outputs, len(tests)), np.ones(len(tests))
        self._targets = [
            csr_array((ones, (target + v, np.arange(len(tests)))), shape=shape) for v in range(forest.value.shape[1])
        ]

    def add(self, matrix: FloatArray, earned: FloatArray) -> None:
        """Add the credit (or pair interactions i < j) of these trees to earned (players or players², outputs, rows)."""
        flat, players = earned.reshape(-1, earned.shape[-1]), self.players
        for part in spans(len(matrix), CELLS_PER_WALK // self.weight.size):
            ways = self._ways(matrix[part])
            if not self.pairs:
                flat[:, part] += self._credit(ways, self.weight, self.slope)
                continue
            for i in np.unique(self.player[self.player < players - 1]).tolist():
                mine = self.player == i
                slope = np.where(mine, 0.0, self.slope)
                plays, stays_away = (self._credit(ways, np.where(mine, rho, self.weight), slope) for rho in (1.0, 0.0))
                gain = plays - stays_away
                later = gain.reshape(players, self.forest.outputs, -1)[i + 1 :]
                earned[i * players + i + 1 : (i + 1) * players, :, part] += later

    def _ways(self, matrix: FloatArray) -> FloatArray:
        """[left] − s_L at each test, 0 once the row has failed its player above: (rows, tests)."""
        left = np.ascontiguousarray(self.forest.decisions(self.nodes, matrix).T)
        ways = left - self.share
        if any(len(level.again) for level in self.levels):
            passed = np.ones_like(left)
            for level in self.levels:
                passed[:, level.again] = passed[:, level.before] & (left[:, level.before] == level.went_left)
            ways *= passed
        return ways

    def _credit(self, ways: FloatArray, weight: FloatArray, slope: FloatArray) -> FloatArray:
        """What every player earns in every output: (players × outputs, rows)."""
        each = [target @ self._earn(ways, weight, slope, v).T for v, target in enumerate(self._targets)]
        return np.asarray(sum(each[1:], each[0]))

    def _earn(self, ways: FloatArray, weight: FloatArray, slope: FloatArray, v: int) -> FloatArray:
        """What every test earns in the v-th value of its leaves: (rows, tests)."""
        rows, nodes, ways, kept = len(ways), len(weight), ways.copy(), []
        worth = np.empty((rows, nodes, 0))
        for level, above in zip(reversed(self.levels), [*reversed(self.levels[:-1]), None], strict=True):
            inner, last, ends = level.inner, level.last, np.zeros(0) if above is None else above.value[:, v]
            first, size = inner.stop - inner.start, last.stop - inner.start
            here = np.empty((rows, nodes, size + len(ends)))
            here[..., size:] = ends
            children = worth if level.place is None else worth.take(level.place, axis=2)
            right = children[..., 1::2]
            gap = children[..., 0::2] - right
            share = weight[:, inner] * ways[:, None, inner]
            share += self.share[inner]
            np.multiply(share, gap, out=here[..., :first])
            here[..., :first] += right
            ways[:, last] *= level.spread[:, v]
            np.multiply(weight[:, last], ways[:, None, last], out=here[..., first:size])
            here[..., first:size] += level.base[:, v]
            kept.append((share, gap))
            worth = here
        reach, earned = np.ones((rows, nodes, self.levels[0].last.stop)), np.empty_like(ways)
        for level in self.levels:
            (share, gap), first = kept.pop(), level.inner.stop - level.inner.start
            down, ends = reach[..., :first], reach[..., first:]
            gap *= down
            gap *= slope[:, level.inner]
            np.sum(gap, axis=1, out=earned[:, level.inner])
            ends *= slope[:, level.last]
            np.sum(ends, axis=1, out=earned[:, level.last])
            below = np.empty((rows, nodes, 2 * first))
            left = np.multiply(down, share, out=below[..., 0::2])
            np.subtract(down, left, out=below[..., 1::2])
            reach = below if level.back is None else below.take(level.back, axis=2)
        earned *= ways
        return earned


class _Order:
    """The tests of some trees by depth, those with a test below first."""

    def __init__(self, paths: Paths) -> None:
        p = paths
        self._child = np.zeros(len(p.nodes), dtype=np.int64)  # (nodes,) the left child; the right one stands beside it
        self._child[p.parent[p.is_left]] = np.flatnonzero(p.is_left)
        depth = np.repeat(np.arange(len(p.levels)), [level.stop - level.start for level in p.levels])[p.tests]
        left = self._child[p.tests]
        last = ~(p.inner[left] | p.inner[left + 1])
        order = np.lexsort((last, depth))
        self.tests, self._last = p.tests[order], last[order]
        self.left = self._child[self.tests]
        self._number = np.zeros(len(p.nodes), dtype=np.int64)
        self._number[self.tests] = np.arange(len(order))
        self._ends = np.searchsorted(depth[order], np.arange(len(p.levels) - 1), side="right").tolist()

    def levels(self, forest: Forest, paths: Paths, share: FloatArray) -> Iterator[Level]:
        """Level by level."""
        p, value = paths, forest.value[paths.nodes]
        for start, stop in pairwise([0, *self._ends]):
            middle = start + int((~self._last[start:stop]).sum())
            left = self.left[start:middle]
            child = np.stack([left, left + 1], axis=1).ravel()
            leaf = np.flatnonzero(~p.inner[child])
            place, split = self._number[child] - stop, np.flatnonzero(p.inner[child])
            back = np.empty(len(split), dtype=np.int64)
            back[place[split]] = split
            place[leaf] = len(split) + np.arange(len(leaf))
            in_order = not len(leaf) and bool((place[:-1] <= place[1:]).all())
            end = self.left[middle:stop]
            spread = value[end] - value[end + 1]
            before = p.before[self.left[start:stop]]
            again = np.flatnonzero(before >= 0)
            edge = before[again]
            yield Level(
                slice(start, middle),
                slice(middle, stop),
                value[child[leaf]],
                None if in_order else place,
                None if in_order else back,
                value[end + 1] + spread * share[middle:stop, None],
                spread,
                again + start,
                self._number[p.parent[edge]],
                p.is_left[edge],
            )
