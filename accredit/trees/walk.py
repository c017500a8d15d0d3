r"""Exact values of deep trees under cover ratios: one walk down, one walk up, stable at any depth.

At a node t of the semivalue's rule a leaf of value w pays $w \prod_j g_j(t)$ with $g_j = s_j t + r_j (1-t)$: s_j tells whether
the row passes player j's tests, r_j is the share of training weight that does. Going down, each edge multiplies by its
player's g and divides by the g that an earlier test of the same player gave. Going up, H(t) sums the leaves below, and

$$\phi_i = \sum_{e \text{ tests } i} \sum_t \omega_t\, H_e(t)\, [c_e(t) - c_{\text{before}}(t)], \qquad c = \frac{s - r}{g},$$

where the edge that tested i before e takes back what it gave for the leaves below e. All of g is positive and each product
is a share, so nothing cancels but s − r itself. With s = 0, c is −1/(1−t) whatever r.
"""

from __future__ import annotations

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.trees.forest import Forest
from accredit.trees.paths import Paths, decide
from accredit.trees.tables import shares, spans
from accredit.values.semivalue_rules import Semivalue

CELLS_PER_WALK = 1 << 20  # edges × rows × nodes of the rule at once
LEAST_SHARE = 1e-200  # in place of a share of zero, which could not be divided out again


class Walk:
    """Edges of some trees with what each multiplies and earns at every node of the rule, prepared once for any rows."""

    def __init__(
        self,
        forest: Forest,
        paths: Paths,
        leaves: BoolArray,  # (nodes,) those wanted
        rule: Semivalue,
        pairs: bool,
        players: int,
    ) -> None:
        self.forest, self.paths, self.leaves = forest, paths, np.flatnonzero(leaves)
        self.pairs, self.players = pairs, players
        self.t, self.omega = rule.rule(max(1, paths.most))
        parent = np.maximum(paths.parent, 0)
        self.tested = np.where(paths.parent < 0, -1, paths.player[parent])  # (nodes,) the player of the node's own edge
        share = shares(forest, paths)
        self.share = np.maximum(share, LEAST_SHARE)  # (nodes,) becomes r: all tests of the player up to here
        for level in paths.levels[1:]:
            here = np.arange(level.start, level.stop)
            again = here[paths.before[level] >= 0]
            self.share[again] = np.maximum(self.share[again] * self.share[paths.before[again]], LEAST_SHARE)
        self.factor, self.gain = self._by_state()

    def add(self, matrix: FloatArray, earned: FloatArray) -> None:
        """Add the credit (or pair interactions i < j) of these leaves to earned (players or players², outputs, rows)."""
        flat, players = earned.reshape(-1, earned.shape[-1]), self.players
        for part in spans(len(matrix), CELLS_PER_WALK // (len(self.paths.nodes) * len(self.t))):
            passes = self.passes(matrix[part])
            if not self.pairs:
                flat[:, part] += self.credit(passes, players)
                continue
            for i in range(players - 1):
                if not (self.paths.player == i).any():
                    continue
                gain = self.credit(passes, players, (i, True)) - self.credit(passes, players, (i, False))
                later = gain.reshape(players, self.forest.outputs, -1)[i + 1 :]
                earned[i * players + i + 1 : (i + 1) * players, :, part] += later

    def _by_state(self) -> tuple[FloatArray, FloatArray]:
        """What each edge multiplies (nodes, 3, t) and earns (nodes, 3, t): the row passes; it fails here; it failed before."""
        t, r = self.t, self.share[:, None]
        passed, failed = r + (1 - r) * t, r * (1 - t)
        c_passed, c_failed = (1 - r) / passed, np.broadcast_to(-1 / (1 - t), passed.shape)
        again = (self.paths.before >= 0)[:, None]
        old = np.maximum(self.paths.before, 0)
        last, c_last = np.where(again, passed[old], 1.0), np.where(again, c_passed[old], 0.0)
        factor = np.stack([passed / last, failed / last, np.where(again, failed / failed[old], 0.0)], axis=1)
        gain = np.stack([c_passed - c_last, c_failed - c_last, np.zeros_like(passed)], axis=1)
        return factor, gain * self.omega

    def passes(self, matrix: FloatArray) -> BoolArray:
        """Does each row pass all tests, up to this edge, of the edge's player? (nodes, rows)."""
        p = self.paths
        left = decide(self.forest, p, matrix)
        passes = np.ones((len(p.nodes), len(matrix)), dtype=bool)
        for level in p.levels[1:]:
            passes[level] = left[p.parent[level]] == p.is_left[level][:, None]
            here = np.arange(level.start, level.stop)
            again = here[p.before[level] >= 0]
            passes[again] &= passes[p.before[again]]
        return passes

    def credit(self, passes: BoolArray, players: int, fixed: tuple[int, bool] | None = None) -> FloatArray:
        """Credit of every player: (players × outputs, rows). `fixed`: this player always plays, or never."""
        p, forest = self.paths, self.forest
        state = self._state(passes)
        down = np.ones((*passes.shape, len(self.t)))
        factor = self.factor if fixed is None else self._fix(*fixed)
        for level in p.levels[1:]:
            here = np.arange(level.start, level.stop)
            np.multiply(down[p.parent[level]], factor[here[:, None], state[level]], out=down[level])
        leaf = self.leaves
        earned = np.zeros((players, forest.outputs, passes.shape[1]))
        for v in range(forest.value.shape[1]):
            up = np.zeros_like(down)
            up[leaf] = down[leaf] * forest.value[p.nodes[leaf], v][:, None, None]
            self._credit_up(up, state, forest.output[p.tree] + v, earned, fixed)
        return earned.reshape(-1, passes.shape[1])

    def _credit_up(
        self, up: FloatArray, state: IntArray, output: IntArray, earned: FloatArray, fixed: tuple[int, bool] | None
    ) -> None:
        p = self.paths
        for level in reversed(p.levels[1:]):
            here = np.arange(level.start, level.stop)
            got = np.einsum("ert,ert->er", up[level], self.gain[here[:, None], state[level]])
            if fixed is not None:
                got[self.tested[level] == fixed[0]] = 0.0
            np.add.at(earned, (self.tested[level], output[level]), got)
            up[p.parent[level][::2]] = up[level].reshape(-1, 2, *up.shape[1:]).sum(axis=1)

    def _state(self, passes: BoolArray) -> IntArray:
        """0: the row passes; 1: it fails here for the first time; 2: it failed before. (nodes, rows)."""
        again = self.paths.before >= 0
        failed_before = ~passes[np.maximum(self.paths.before, 0)] & again[:, None]
        return np.where(passes, 0, np.where(failed_before, 2, 1))

    def _fix(self, player: int, plays: bool) -> FloatArray:
        """The factors when one player always plays (it passes or the leaf pays nothing) or never does (its share)."""
        factor, mine = self.factor.copy(), np.flatnonzero(self.tested == player)
        old = np.maximum(self.paths.before[mine], 0)
        r = self.share[mine] / np.where(self.paths.before[mine] >= 0, self.share[old], 1.0)
        factor[mine] = np.array([1.0, 0.0, 0.0])[:, None] if plays else r[:, None, None]
        return factor
