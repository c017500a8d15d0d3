r"""Exact values of deep trees under cover ratios: one walk down, one walk up, stable at any depth.

At a node t of the semivalue's rule a leaf of value w pays $w \prod_j g_j(t)$ with $g_j = s_j t + r_j (1-t)$: s_j tells whether
the row passes player j's tests, r_j is the share of training weight that does. Going down, each edge multiplies by its
player's g and divides by the g that an earlier test of the same player gave. Going up, H(t) sums the leaves below, and

$$\phi_i = \sum_{e \text{ tests } i} \sum_t \omega_t\, H_e(t)\, [c_e(t) - c_{\text{before}}(t)], \qquad c = \frac{s - r}{g},$$

where the edge that tested i before e takes back what it gave for the leaves below e. All of g is positive and each product
is a share, so nothing cancels but s − r itself. With s = 0, c is −1/(1−t) whatever r.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.trees.forest import Forest
from accredit.trees.paths import Paths, decide
from accredit.trees.tables import shares, spans
from accredit.values.semivalue_rules import Semivalue

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CELLS_PER_WALK = 1 << 20  # edges × rows × nodes of the rule at once
LEAST_SHARE = 1e-200  # in place of a share of zero, which could not be divided out again
TESTS = 3  # at most in a twig
CELLS_PER_TURN = 1 << 19  # nodes above twigs × rows × nodes of the rule at once, to stay in the cache


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


@dataclass(frozen=True, eq=False)
class Twigs:
    """The last few tests of some trees: subtrees of up to three tests, and what each holds for every state of a row.

    A state is which way each test sends the row (the low bits), and whether each player who is asked again passed before.
    """

    root: IntArray  # (twigs,) nodes
    test: IntArray  # (3, twigs) nodes; the root again where there are fewer
    turn: IntArray  # (3, twigs) what going left at this test adds to the state
    edge: IntArray  # (3, twigs) the last edge above whose player is asked again
    passed: IntArray  # (3, twigs) what having passed there adds to the state
    first: IntArray  # (twigs,) where the states of each begin
    table: FloatArray  # (states, values × 4 × t) what the leaves pay; what the player of each test earns


class TwigWalk:
    """A walk that serves many calls: it turns round at twigs. Three quarters of the nodes of a tree are in its twigs."""

    def __init__(self, walk: Walk) -> None:
        p = walk.paths
        tests = p.inner.astype(np.int64)
        for level in reversed(p.levels[1:]):
            tests[p.parent[level][::2]] += tests[level].reshape(-1, 2).sum(axis=1)
        fits = tests <= TESTS
        inside = fits & (p.parent >= 0) & fits[p.parent]
        self.forest, self._values, self._t = walk.forest, walk.forest.value.shape[1], len(walk.t)
        self._tests, number = p.nodes[p.tests], np.zeros(len(p.nodes), dtype=np.int64)
        number[p.tests] = np.arange(len(p.tests))
        self._above = above = _Above(walk, np.flatnonzero(~inside), number)
        made = _Grower(walk, inside, tests).grow()
        self._targets = self._find_targets(walk, made)
        self.twigs = replace(made, root=above.place[made.root], test=number[made.test], edge=above.place[made.edge])

    def _find_targets(self, walk: Walk, twigs: Twigs) -> csr_array:
        """Which edges above and tests of twigs earn for which target: (players × outputs, values × (edges + 3 × twigs))."""
        from scipy.sparse import csr_array

        p, edges, outputs = walk.paths, self._above.nodes, walk.forest.outputs
        player = np.concatenate([walk.tested[edges], np.where(twigs.turn > 0, p.player[twigs.test], -1).ravel()])
        tree = np.concatenate([p.tree[edges], np.tile(p.tree[twigs.root], TESTS)])
        target = np.arange(self._values)[:, None] + np.maximum(player, 0) * outputs + walk.forest.output[tree]
        earns = np.broadcast_to(player >= 0, target.shape).astype(np.float64)
        place = np.arange(target.size)
        return csr_array((earns.ravel(), (target.ravel(), place)), shape=(walk.players * outputs, target.size))

    def add(self, matrix: FloatArray, earned: FloatArray) -> None:
        """Add the credit of all leaves to earned (players, outputs, rows)."""
        flat = earned.reshape(-1, earned.shape[-1])
        for part in spans(len(matrix), CELLS_PER_TURN // (len(self._above.nodes) * self._t)):
            flat[:, part] += self._targets @ self._earn(matrix[part])

    def _earn(self, matrix: FloatArray) -> FloatArray:
        """What every edge above and every test of the twigs earns: (values × (edges + 3 × twigs), rows)."""
        above, twigs = self._above, self.twigs
        left = self.forest.decisions(self._tests, matrix)
        passes, code, down = above.descend(left)
        found = twigs.table.take(_states(twigs, left, passes), axis=0)
        found = found.reshape(*found.shape[:2], self._values, 1 + TESTS, self._t)
        reach, earned = down[twigs.root], []
        for v in range(self._values):
            up = np.empty_like(down)
            up[twigs.root] = reach * found[:, :, v, 0]
            earned += [above.ascend(up, code), *(_dot(found[:, :, v, 1 + i], reach) for i in range(TESTS))]
        return np.concatenate(earned)


def _states(twigs: Twigs, left: BoolArray, passes: BoolArray) -> IntArray:
    """Where each row finds its state of each twig: (twigs, rows)."""
    state = np.repeat(twigs.first[:, None], left.shape[1], axis=1)
    for test, turn, edge, passed in zip(twigs.test, twigs.turn, twigs.edge, twigs.passed, strict=True):
        state += left[test] * turn[:, None]
        state += passes[edge] * passed[:, None]
    return state


def _dot(one: FloatArray, other: FloatArray) -> FloatArray:
    """The sum of the products over the last, short axis."""
    total = one[..., 0] * other[..., 0]
    for i in range(1, one.shape[-1]):
        total += one[..., i] * other[..., i]
    return np.asarray(total)


class _Above:
    """The nodes of a walk down to the roots of twigs, numbered anew, level by level."""

    def __init__(self, walk: Walk, nodes: IntArray, number: IntArray) -> None:
        p = walk.paths
        self.nodes, self.place = nodes, np.zeros(len(p.nodes), dtype=np.int64)
        self.place[nodes] = np.arange(len(nodes))
        self.parent, self.before = self.place[p.parent[nodes]], np.where(p.before[nodes] < 0, -1, self.place[p.before[nodes]])
        self.test, self.is_left = number[p.parent[nodes]], p.is_left[nodes][:, None]
        ends = np.searchsorted(nodes, [level.stop for level in p.levels]).tolist()
        self.roots, self.levels = ends[0], [slice(a, b) for a, b in pairwise(ends) if b > a]
        self.factor, self.gain = (x[nodes].reshape(-1, x.shape[-1]) for x in (walk.factor, walk.gain))  # (nodes × 3, t)

    def descend(self, left: BoolArray) -> tuple[BoolArray, IntArray, FloatArray]:
        """Does each row pass at each edge, where its state is among the factors, and the product down to it.

        left (tests, rows) -> (nodes, rows), (nodes, rows), (nodes, rows, t).
        """
        passes = left[self.test] == self.is_left
        passes[: self.roots] = True
        once = np.ones_like(passes)  # has it passed before, or not been asked?
        for level in self.levels:
            before = self.before[level]
            once[level] = passes[before] | (before < 0)[:, None]
            passes[level] &= once[level]
        code = 3 * np.arange(len(self.nodes))[:, None] + np.where(passes, 0, np.where(once, 1, 2))
        factor = self.factor.take(code, axis=0)
        for level in self.levels:
            factor[level] *= factor[self.parent[level]]
        return passes, code, factor

    def ascend(self, up: FloatArray, code: IntArray) -> FloatArray:
        """Sum what leaves pay, from the roots of twigs up, and give what each edge earns: (nodes, rows)."""
        for level in reversed(self.levels):
            both = up[level].reshape(-1, 2, *up.shape[1:])
            up[self.parent[level][::2]] = both[:, 0] + both[:, 1]
        return _dot(up, self.gain.take(code, axis=0))


class _Grower:
    """Makes the tables of twigs, those with equally many tests and states at once."""

    def __init__(self, walk: Walk, inside: BoolArray, tests: IntArray) -> None:
        self.walk, self.inside, self.tests = walk, inside, tests
        p = walk.paths
        self.wanted = np.zeros(len(p.nodes), dtype=bool)  # (nodes,) leaves
        self.wanted[walk.leaves] = True
        self.left_child = np.zeros(len(p.nodes), dtype=np.int64)
        self.left_child[p.parent[p.is_left]] = np.flatnonzero(p.is_left)

    def grow(self) -> Twigs:
        """All twigs of the walk."""
        p, tests = self.walk.paths, self.tests
        twig = np.where(self.inside | (tests > TESTS), -1, np.arange(len(tests)))  # (nodes,) the root of the node's twig
        for level in p.levels[1:]:
            twig[level] = np.where(self.inside[level], twig[p.parent[level]], twig[level])
        roots = np.flatnonzero((twig >= 0) & ~self.inside)
        own = np.flatnonzero(p.inner & (twig >= 0))
        own = own[np.argsort(twig[own], kind="stable")]
        before = p.before[self.left_child[own]]
        again = (before >= 0) & ~self.inside[before]
        asked = np.bincount(twig[own], again, len(tests)).astype(np.int64)
        kinds = []
        for count, repeats in np.unique(np.stack([tests[roots], asked[roots]], axis=1), axis=0).tolist():
            root = roots[(tests[roots] == count) & (asked[roots] == repeats)]
            mine = np.isin(twig[own], root)
            kinds.append(
                self._twigs(root, own[mine].reshape(len(root), count), before[mine & again].reshape(len(root), repeats))
            )
        sizes = np.cumsum([0, *(len(kind.table) for kind in kinds)])
        root, test, turn, edge, passed = (
            np.concatenate([getattr(kind, name) for kind in kinds], axis=-1)
            for name in ("root", "test", "turn", "edge", "passed")
        )
        first = np.concatenate([kind.first + size for kind, size in zip(kinds, sizes, strict=False)])
        return Twigs(root, test, turn, edge, passed, first, np.concatenate([kind.table for kind in kinds]))

    def _twigs(self, root: IntArray, test: IntArray, asked: IntArray) -> Twigs:
        """Twigs with equally many tests (twigs, tests) and players who are asked again (twigs, again)."""
        walk, count, states = self.walk, test.shape[1], 1 << (test.shape[1] + asked.shape[1])
        table = np.zeros((len(root), states, walk.forest.value.shape[1], 1 + TESTS, len(walk.t)))
        for part in spans(len(root), CELLS_PER_WALK // (states * len(walk.t) * (2 * count + 1))):
            table[part, :, :, : 1 + count] = self._table(root[part], test[part], states)
        nodes, edges = (np.tile(root, (TESTS, 1)) for _ in range(2))
        turn, passed = (np.zeros((TESTS, len(root)), dtype=np.int64) for _ in range(2))
        nodes[:count], turn[:count] = test.T, 1 << np.arange(count)[:, None]
        edges[: asked.shape[1]] = asked.T
        passed[: asked.shape[1]] = 1 << np.arange(count, count + asked.shape[1])[:, None]
        return Twigs(root, nodes, turn, edges, passed, states * np.arange(len(root)), table.reshape(len(root) * states, -1))

    def _table(self, root: IntArray, test: IntArray, states: int) -> FloatArray:
        """What the leaves of some twigs pay and each of their tests earns: (twigs, states, values, 1 + tests, t)."""
        walk, p, state = self.walk, self.walk.paths, np.arange(states)
        below = self.left_child[test].ravel()
        nodes = np.sort(np.concatenate([root, below, below + 1]))
        place = np.zeros(len(p.nodes), dtype=np.int64)
        place[nodes] = np.arange(len(nodes))
        left, passes = (np.ones((len(nodes), states), dtype=bool) for _ in range(2))
        for i, node in enumerate(test.T):
            left[place[node]] = state >> i & 1 == 1
        bits, code, down = self._bits(test), np.zeros(left.shape, dtype=np.int64), np.ones((*left.shape, len(walk.t)))
        edges = list(self._by_depth(root))
        for here in edges:
            mine, above, before, bit = place[here], place[p.parent[here]], p.before[here], bits[p.parent[here]]
            once = passes[place[before]] | (~self.inside[before] | (before < 0))[:, None]
            once &= (state >> np.maximum(bit, 0)[:, None] & 1 == 1) | (bit < 0)[:, None]
            passes[mine] = (left[above] == p.is_left[here][:, None]) & once
            code[mine] = np.where(passes[mine], 0, np.where(once, 1, 2))
            down[mine] = down[above] * walk.factor[here[:, None], code[mine]]
        leaf, made = np.flatnonzero(self.wanted[nodes]), []
        for v in range(walk.forest.value.shape[1]):
            up, earned = np.zeros_like(down), np.zeros_like(down)
            up[leaf] = down[leaf] * walk.forest.value[p.nodes[nodes[leaf]], v][:, None, None]
            for here in reversed(edges):
                mine, above = place[here], place[p.parent[here][::2]]
                got = up[mine] * walk.gain[here[:, None], code[mine]]
                up[above], earned[above] = (x.reshape(-1, 2, *x.shape[1:]).sum(axis=1) for x in (up[mine], got))
            made.append(np.concatenate([up[place[root]][:, :, None], np.moveaxis(earned[place[test]], 1, 2)], axis=2))
        return np.stack(made, axis=2)

    def _bits(self, test: IntArray) -> IntArray:
        """The bit of a state that says whether the player of a test passed before; −1: there is none. (nodes,)."""
        bit = np.full(len(self.inside), -1)
        before = self.walk.paths.before[self.left_child[test]]
        again = (before >= 0) & ~self.inside[before]
        bit[test[again]] = (test.shape[1] + np.cumsum(again, axis=1) - 1)[again]
        return bit

    def _by_depth(self, root: IntArray) -> Iterator[IntArray]:
        """The edges inside twigs, those nearest to the root first; two of one parent lie beside each other."""
        here = root
        while len(here := here[self.walk.paths.inner[here]]):
            left = np.sort(self.left_child[here])
            here = np.stack([left, left + 1], axis=1).ravel()
            yield here
