"""Exact max flow and minimum cut, by OR-tools on integer capacities.

Capacities are multiplied by a power of two and cut off below one unit, which leaves a flow that is feasible in the
real network and a cut that bounds every flow of it. Both are reported in real units, so the error of the integers is
known, not assumed: it is at most one unit per edge of the cut. Capacity that no flow can use is cut off first, so that
the unit is small compared with the flow, not just with the widest edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np

from accredit.checks import whole_number
from accredit.checks.arguments import check_arguments
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.flow.network import LayeredNetwork, from_units, in_units, integer_shift
from accredit.flow.solver import simple_max_flow, solve, solve_all

CAPACITIES_AT_ONCE = 1 << 18  # capacities that are handed to the solver together


@dataclass(frozen=True, eq=False)
class MaximumFlow:
    """A max flow, which is one of many, and a minimum cut, which proves it.

    >>> flow = maximum_flow(LayeredNetwork.from_attention(np.full((2, 2, 2), 0.5), outputs=0))
    >>> flow.value, flow.supply.tolist(), flow.error < 1e-12
    (1.0, [1.0, 0.0], True)
    """

    value: float  # capacity of the cut: no flow exceeds it
    reached: float  # value of the flow found, at most `error` below
    edges: FloatArray  # (L, T, T)
    supply: FloatArray  # (T,)
    demand: FloatArray  # (T,)
    source_side: BoolArray  # (L+1, T): nodes on the source's side of the cut
    cut: FloatArray  # (L+2,): capacity of the cut at the sink edges, in layer 1 … L, and at the source edges

    @property
    def error(self) -> float:
        """How far the two may be from the true max flow, which lies between them."""
        return max(0.0, self.value - self.reached)

    @property
    def layer(self) -> int:
        """Where the cut binds most: 1 … L for a layer of attention, 0 for the sink edges, L+1 for the source edges."""
        return int(self.cut.argmax())


class MaximumFlows:
    """Max flows of one network for many choices of super-edge capacities; the arcs are built once.

    >>> two = LayeredNetwork.from_attention(np.array([[[0.5, 0.5], [0.0, 1.0]]]), residual=0.0)
    >>> MaximumFlows(two).solve().value
    2.0
    """

    @check_arguments
    def __init__(self, network: LayeredNetwork) -> None:
        self.network = network
        layers, tokens = network.layers, network.tokens
        self._source, self._sink = (layers + 1) * tokens, (layers + 1) * tokens + 1
        self._solver = simple_max_flow()
        self._no_path = network.widest() == 0
        self._tight = tight = network.tighten()
        self._where = np.nonzero(tight.capacity)
        layer, i, j = self._where
        largest = float(max(tight.capacity.max(), tight.demand.max(), tight.supply.sum()))
        self.shift = integer_shift(largest)
        self._arcs = self._add((layer + 1) * tokens + i, layer * tokens + j, tight.capacity[self._where])
        nodes = np.arange(tokens)
        self._out = self._add(np.full(tokens, self._source), layers * tokens + nodes, tight.supply)
        self._in = self._add(nodes, np.full(tokens, self._sink), tight.demand)

    def _add(self, tails: IntArray, heads: IntArray, capacities: FloatArray) -> IntArray:
        if len(tails) == 0:
            return np.empty(0, dtype=np.int32)
        return self._solver.add_arcs_with_capacity(tails.astype(np.int32), heads.astype(np.int32), self._units(capacities))

    def _units(self, capacities: FloatArray) -> IntArray:
        return in_units(capacities, self.shift)

    def value(self, *, demand: FloatArray | None = None) -> float:
        """The max flow alone, with other sink-edge capacities where given."""
        return float(from_units(self._run(demand), self.shift))

    def values(self, present: BoolArray, layer: int = 0) -> FloatArray:
        """Max flows when only some tokens of one layer may carry flow: (batch, T) -> (batch,)."""
        tight, heads = self._tight, np.arange(self.network.tokens)
        arcs, capacities = self._in, tight.demand
        if layer == tight.layers:
            arcs, capacities = self._out, tight.supply
        elif layer > 0:
            entering = self._where[0] == layer
            arcs, heads = self._arcs[entering], self._where[2][entering]
            capacities = tight.capacity[self._where][entering]
        self._solver.set_arcs_capacity(self._in, self._units(tight.demand))
        rows = max(1, CAPACITIES_AT_ONCE // max(1, len(arcs)))
        try:
            parts = [
                solve_all(self._solver, self._source, self._sink, arcs, self._units(capacities * part[:, heads]))
                for part in np.split(present, range(rows, len(present), rows))
            ]
        finally:
            self._solver.set_arcs_capacity(arcs, self._units(capacities))
        return from_units(np.concatenate(parts), self.shift)

    def source_side(self) -> BoolArray:
        """Nodes on the source's side of a minimum cut of the last solve, (L+1, T)."""
        if self._no_path:  # units say nothing where there is no flow to measure them by
            return self.network.reachable()
        size = (self.network.layers + 1) * self.network.tokens
        side = np.zeros(size + 2, dtype=bool)
        side[np.asarray(self._solver.get_source_side_min_cut(), dtype=np.int64)] = True
        return side[:size].reshape(self.network.layers + 1, self.network.tokens)

    def solve(self, *, demand: FloatArray | None = None) -> MaximumFlow:
        """A max flow and a minimum cut, with other sink-edge capacities where given."""
        reached = float(from_units(self._run(demand), self.shift))
        network = self.network
        edges = np.zeros_like(network.capacity)
        if len(self._arcs):
            edges[self._where] = from_units(self._solver.flows(self._arcs), self.shift)
        side = self.source_side()
        if demand is not None:
            network = LayeredNetwork(network.capacity, network.supply, demand)
        parts = network.cut_parts(side)
        out, into = (from_units(self._solver.flows(arcs), self.shift) for arcs in (self._out, self._in))
        return MaximumFlow(fsum(parts), reached, edges, out, into, side, parts)

    def _run(self, demand: FloatArray | None) -> int:
        tight = self._tight.demand
        self._solver.set_arcs_capacity(self._in, self._units(tight if demand is None else np.minimum(tight, demand)))
        return solve(self._solver, self._source, self._sink)


@check_arguments
def maximum_flow(network: LayeredNetwork) -> MaximumFlow:
    """One max flow and a minimum cut of a network.

    >>> flow = maximum_flow(LayeredNetwork.from_attention(np.full((3, 2, 2), 0.5)))
    >>> flow.value, flow.error < 1e-12
    (2.0, True)
    """
    return MaximumFlows(network).solve()


def check_layer(layer: int, layers: int) -> int:
    """A layer 0 (input) … L (output); negative ones count from the output."""
    return whole_number(layer, "layer", -layers - 1, layers) % (layers + 1)
