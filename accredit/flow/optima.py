r"""All optimal flows of a graph: is there one or are there many, and how far can each edge move?

With prices y that prove an optimum, a flow is optimal if and only if it leaves every edge whose reduced cost is not zero at its
bound. The other edges are *tight*. So two optimal flows differ by cycles of tight edges with room, residual cycles; every such
cycle is the witness of another optimum. An edge at a bound can leave it if and only if both its ends are in one strongly
connected component of the tight residual graph. What is then strictly between its bounds in some optimum can go either way, and
an edge of that undirected graph is free if and only if it is not a bridge. Components and bridges take linear time; the exact
range of a free edge takes two max flows.

Room below a billionth of the largest flow counts as none. A cycle that moves an edge which is called fixed then has such an
edge on it, so that their rooms together, the *leeway*, are the most by which any of them can move.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import InvalidInput, MissingExtra, NotConverged
from accredit.flow.network import from_units, in_units, integer_shift
from accredit.flow.program import TIGHT, FlowProgram
from accredit.flow.solver import MaxFlow, simple_max_flow, solve

UNCLEAR = 1e-7  # reduced costs up to here may be rounding
RANGE_SECONDS = 10.0  # that exact ranges may take


@dataclass(frozen=True, eq=False)
class Ranges:
    """The least and the most that any optimal flow sends through each edge."""

    bounds: FloatArray  # (m, 2)
    exact: BoolArray  # (m,): whether both ends are reached; elsewhere they are only the edge's own bounds
    seconds: float  # that were allowed

    def __str__(self) -> str:
        known = int(self.exact.sum())
        if known == len(self.exact):
            return f"exact ranges of all {known:,} edges"
        some = f"{known:,} of {len(self.exact):,} edges, within {self.seconds:g} seconds"
        return f"exact ranges of {some}; the rest are outer bounds"


@dataclass(frozen=True, eq=False)
class Optima:
    """All flows as good as a given one.

    >>> there, back = np.array([0, 0, 1]), np.array([1, 1, 0])
    >>> two_ways = FlowProgram(there, back, np.zeros(3), np.ones(3), np.array([0, 0, -1.0]), np.zeros(2))
    >>> optima = Optima(two_ways, *two_ways.optimum())
    >>> optima.unique, optima.free.tolist(), optima.ranges().bounds.tolist()
    (False, [True, True, False], [[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    """

    program: FlowProgram
    edges: FloatArray  # (m,): an optimum
    prices: FloatArray  # (n,): what proves it

    @cached_property
    def scale(self) -> float:
        """What room is measured by: the largest flow, or where nothing flows the widest edge."""
        return float(np.abs(self.edges).max(initial=0.0)) or self.program.width()

    @cached_property
    def tight(self) -> BoolArray:
        """Edges that an optimal flow may move."""
        return np.asarray(np.abs(self.program.reduced(self.prices)) <= TIGHT * self.program.price())

    @property
    def rooms(self) -> tuple[FloatArray, FloatArray]:
        """How much more and how much less each edge may carry, what is no more than rounding left out."""
        more, less = self.program.upper - self.edges, self.edges - self.program.lower
        least = TIGHT * self.scale
        return np.where(more > least, more, 0.0), np.where(less > least, less, 0.0)

    @cached_property
    def leeway(self) -> float:
        """The most by which an edge that is not free differs between optimal flows: all room of tight edges that counts as
        none. It is 0 where no room is that small."""
        whole = np.stack([self.program.upper - self.edges, self.edges - self.program.lower])
        passed_over = whole[(np.stack(self.rooms) == 0) & (whole > 0) & self.tight]
        return float(passed_over.sum())

    @cached_property
    def movable(self) -> BoolArray:
        """Edges that are strictly between their bounds in some optimal flow."""
        return movable(self.program, self.tight, *self.rooms)

    @cached_property
    def free(self) -> BoolArray:
        """Edges that carry different amounts in different optimal flows."""
        at = np.flatnonzero(self.movable)
        free = np.zeros(len(self.edges), dtype=bool)
        free[at] = ~bridges(len(self.program.demand), self.program.tail[at], self.program.head[at])
        return free

    @property
    def unique(self) -> bool:
        """Whether there is only one optimal flow: any other differs from it by no more than `leeway` on any edge."""
        return not self.free.any()

    @cached_property
    def unclear(self) -> int:
        """Edges about which rounding leaves a doubt: their reduced cost is nearly zero, and they are taken as fixed."""
        reduced = np.abs(self.program.reduced(self.prices)) / self.program.price()
        width = self.program.upper - self.program.lower
        return int(((reduced > TIGHT) & (reduced < UNCLEAR) & (width > 0)).sum())

    @cached_property
    def witness(self) -> tuple[IntArray, FloatArray] | None:
        """A cycle of edges, and another optimal flow, half of what the cycle can carry away; None if there is none."""
        for edge in np.flatnonzero(self.free):
            for forward in (True, False):
                found = self._cycle(int(edge), forward)
                if found is not None:
                    return found
        return None

    def _cycle(self, edge: int, forward: bool) -> tuple[IntArray, FloatArray] | None:
        """A residual cycle through an edge in one direction, and the flow after it."""
        more, less = self.rooms
        tail, head = self.program.tail, self.program.head
        if not (more if forward else less)[edge]:
            return None
        start, end = (head[edge], tail[edge]) if forward else (tail[edge], head[edge])
        others = np.flatnonzero(self.tight & (np.arange(len(tail)) != edge))
        arcs = np.concatenate([others[more[others] > 0], others[less[others] > 0]])
        ahead = np.arange(len(arcs)) < int((more[others] > 0).sum())
        begin, finish = np.where(ahead, (tail[arcs], head[arcs]), (head[arcs], tail[arcs]))
        path = _path(len(self.program.demand), begin, finish, int(start), int(end))
        if path is None:
            return None
        cycle = np.append(edge, arcs[path])
        signs = np.where(np.append(forward, ahead[path]), 1.0, -1.0)
        room = np.where(signs > 0, more[cycle], less[cycle])
        amount = float(room.min()) / 2 if np.isfinite(room).any() else self.scale
        other = self.edges.copy()
        np.add.at(other, cycle, amount * signs)
        return cycle, other

    def ranges(self, seconds: float = RANGE_SECONDS, first: int | None = None) -> Ranges:
        """The exact range of each of the first edges, as many as there is time for; the largest flows come first."""
        count = len(self.edges) if first is None else first
        bounds = np.stack([self.edges[:count]] * 2, axis=1)
        free = np.flatnonzero(self.free[:count])
        bounds[free, 0] = self.program.lower[free]
        bounds[free, 1] = self.program.upper[free]
        exact = np.ones(count, dtype=bool)
        exact[free] = False
        ended = time.monotonic() + seconds
        order = free[np.argsort(-self.edges[free], kind="stable")]
        for edge, moves in zip(order, self._moves(order), strict=False):
            if moves is not None:
                bounds[edge] = self.edges[edge] - moves[0], self.edges[edge] + moves[1]
                exact[edge] = True
            if time.monotonic() > ended:
                break
        return Ranges(bounds, exact, seconds)

    def _moves(self, edges: IntArray) -> Iterator[tuple[float, float] | None]:
        """How much less and more each of some free edges can carry: by max flows, or by programs where OR-tools is not there or
        its whole numbers are too coarse beside the widest edge; None where rounding leaves no answer."""
        try:
            solver = simple_max_flow()
        except MissingExtra:
            return map(self._move_by_program, edges)
        rooms, shift = self._room_of_cycles()
        if rooms.any() and from_units(1, shift) > TIGHT * self.scale:
            return map(self._move_by_program, edges)
        return self._moves_by_flows(solver, edges, rooms, shift)

    def _room_of_cycles(self) -> tuple[FloatArray, int]:
        """The room of movable edges forward and then backward, none wider than any finite cycle; and their whole numbers."""
        more, less = self.rooms
        most = float(more[np.isfinite(more)].sum() + less.sum())  # no finite cycle carries more
        rooms = np.minimum(np.concatenate([more[self.movable], less[self.movable]]), most)
        return rooms, integer_shift(float(rooms.sum()))

    def _move_by_program(self, edge: int) -> tuple[float, float] | None:
        cost = np.zeros(len(self.edges))
        cost[edge] = 1.0
        try:
            down, up = (self._least(cost), self._least(-cost))
        except NotConverged:
            return None
        return float(self.edges[edge] - down), np.inf if up == -np.inf else float(-up - self.edges[edge])

    def _least(self, cost: FloatArray) -> float:
        """The least of a cost among the optimal flows."""
        try:
            return float(cost @ self.program.on_face(self.edges, self.tight, cost).optimum()[0])
        except InvalidInput as error:
            if error.code == "undefined":  # there is no least
                return -np.inf
            raise

    def _moves_by_flows(self, solver: MaxFlow, edges: IntArray, rooms: FloatArray, shift: int) -> Iterator[tuple[float, float]]:
        """A max flow from the edge's head back to its tail, without the edge, is how much more it can carry."""
        more, less = self.rooms
        endless = np.isinf(more) & self.movable
        turning = strong_components(len(self.program.demand), self.program.tail[endless], self.program.head[endless])
        arcs = np.flatnonzero(self.movable)
        tail, head = self.program.tail[arcs], self.program.head[arcs]
        units = in_units(rooms, shift)
        numbers = solver.add_arcs_with_capacity(
            np.concatenate([tail, head]).astype(np.int32), np.concatenate([head, tail]).astype(np.int32), units
        )
        place = np.full(len(self.edges), -1)
        place[arcs] = np.arange(len(arcs))
        for edge in edges:
            a, b = int(self.program.tail[edge]), int(self.program.head[edge])
            own = place[edge] + np.array([0, len(arcs)])
            if a == b:
                yield float(less[edge]), float(more[edge])
                continue
            solver.set_arcs_capacity(numbers[own], np.zeros(2, dtype=np.int64))
            down, up = (float(from_units(solve(solver, *ends), shift)) for ends in ((a, b), (b, a)))
            solver.set_arcs_capacity(numbers[own], units[own])
            spins = endless[edge] and turning[a] == turning[b]
            yield min(float(less[edge]), down), np.inf if spins else min(float(more[edge]), up)


def movable(program: FlowProgram, tight: BoolArray, more: FloatArray, less: FloatArray) -> BoolArray:
    """Edges that are strictly between their bounds in some flow that moves only tight edges."""
    up, down = tight & (more > 0), tight & (less > 0)
    ends = np.concatenate([program.tail[up], program.head[down]]), np.concatenate([program.head[up], program.tail[down]])
    component = strong_components(len(program.demand), *ends)
    return np.asarray((up & down) | ((up | down) & (component[program.tail] == component[program.head])))


def strong_components(nodes: int, tail: IntArray, head: IntArray) -> IntArray:
    """The strongly connected component of each node."""
    graph = sparse.coo_array((np.ones(len(tail)), (tail, head)), shape=(nodes, nodes)).tocsr()
    return np.asarray(csgraph.connected_components(graph, connection="strong")[1])


def _path(nodes: int, tail: IntArray, head: IntArray, start: int, end: int) -> IntArray | None:
    """Arcs of a path with the fewest, or None."""
    if start == end:
        return np.empty(0, dtype=np.int64)
    number = sparse.csr_array((np.arange(1.0, len(tail) + 1), (tail, head)), shape=(nodes, nodes))
    came = csgraph.breadth_first_order(number, start)[1]
    if came[end] < 0:
        return None
    of = {(int(a), int(b)): k for k, (a, b) in enumerate(zip(tail, head, strict=True))}
    path, node = [], end
    while node != start:
        path.append(of[int(came[node]), node])
        node = int(came[node])
    return np.array(path[::-1], dtype=np.int64)


def bridges(nodes: int, tail: IntArray, head: IntArray) -> BoolArray:
    """Which edges of an undirected multigraph lie on no cycle: (m,).

    In a spanning forest numbered in preorder, the edge above v is a bridge if and only if no other edge leads from v's
    descendants, who are consecutive numbers, to anybody else (Tarjan, 1974).

    >>> bridges(4, np.array([0, 1, 2, 2]), np.array([1, 2, 0, 3])).tolist()
    [False, False, False, True]
    """
    edges = len(tail)
    ends = np.concatenate([tail, head]), np.concatenate([head, tail])
    graph = sparse.coo_array((np.ones(2 * edges), ends), shape=(nodes, nodes)).tocsr()
    part = csgraph.connected_components(graph, directed=False)[1]
    roots = np.unique(part, return_index=True)[1]
    rooted = sparse.coo_array(
        (np.ones(2 * edges + len(roots)), (np.append(ends[0], np.full(len(roots), nodes)), np.append(ends[1], roots))),
        shape=(nodes + 1, nodes + 1),
    ).tocsr()
    order, parent = csgraph.breadth_first_order(rooted, nodes)
    above = parent.tolist()
    descendants = [1] * (nodes + 1)
    for v in order[:0:-1].tolist():
        descendants[above[v]] += descendants[v]
    number, following = [0] * (nodes + 1), [1] * (nodes + 1)
    for v in order[1:].tolist():
        p = above[v]
        number[v] = following[p]
        following[p] += descendants[v]
        following[v] = number[v] + 1
    pre, size = np.array(number), np.array(descendants)
    is_tree = np.zeros(edges, dtype=bool)
    child = np.where(parent[head] == tail, head, np.where(parent[tail] == head, tail, -1))
    at = np.flatnonzero(child >= 0)
    first = at[np.unique(child[at], return_index=True)[1]]  # of parallel edges only one is the tree's
    is_tree[first] = True
    low, high = np.arange(nodes + 1), np.arange(nodes + 1)  # by number: the outermost that other edges reach
    for a, b in ((tail, head), (head, tail)):
        np.minimum.at(low, pre[a[~is_tree]], pre[b[~is_tree]])
        np.maximum.at(high, pre[a[~is_tree]], pre[b[~is_tree]])
    lowest, highest = _over_ranges(np.minimum, low, pre, size), _over_ranges(np.maximum, high, pre, size)
    found = np.zeros(edges, dtype=bool)
    v = child[first]
    found[first] = (lowest[v] >= pre[v]) & (highest[v] < pre[v] + size[v])
    return found


def _over_ranges(best: np.ufunc, values: IntArray, starts: IntArray, lengths: IntArray) -> IntArray:
    """The best of values[start : start + length], for each."""
    levels = [values]
    while 2 ** len(levels) <= len(values):
        half, last = 2 ** (len(levels) - 1), levels[-1]
        levels.append(best(last, np.append(last[half:], last[-1:].repeat(half))))
    level = np.log2(lengths).astype(np.int64)
    table = np.stack(levels)
    return np.asarray(best(table[level, starts], table[level, starts + lengths - 2**level]))
