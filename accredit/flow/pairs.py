r"""Max flow from one output token to one input token, for many pairs.

A pair (i, j) can never carry more than min(all that leaves i, all that enters j). In deep attention it often carries
exactly that, and then a flow that shows it is easy to write down: spread what i emits forward in proportion to the
capacities, spread what j collects backward in the same way, and join the two in a middle layer by scaling rows and
columns of its capacities (Sinkhorn) until both sides fit. If no edge is overfilled, the pair is settled without a
solver; otherwise OR-tools solves it. For one output the join costs O(T³) BLAS flops per round for all inputs together,
a solve costs one max flow per input.
"""

from __future__ import annotations

import numpy as np

from accredit.checks.numbers import whole_number
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.flow.maximum import maximum_flow
from accredit.flow.network import LayeredNetwork, check_capacity, from_units, in_units, integer_shift, output_rows
from accredit.flow.solver import MaxFlow, simple_max_flow, solve_all

SINKHORN_ROUNDS, ROUNDS_PER_CHECK, JOINED = (
    80,
    8,
    1e-12,
)  # Sinkhorn rounds, how often to look, and the mismatch that counts as none
JOIN_FROM = 7  # layers: shallower networks mix too little for the join to succeed
ENOUGH_UNITS = 1 << 46  # a flow of fewer units would miss the last digits
MEETS = 1e-9  # a flow this near to its bound, as a share, counts as meeting it


def pair_bounds(capacity: FloatArray, i: int) -> FloatArray:
    """What output i could send to each input if only the first and the last edge counted, (T,).

    >>> pair_bounds(np.array([[[0.9, 0.1], [0.5, 0.5]]]), 0).round(6)
    array([1. , 0.6])
    """
    capacity = check_capacity(capacity)
    i = whole_number(i, "i", 0, capacity.shape[1] - 1)
    return np.asarray(np.minimum(capacity[-1, i].sum(), capacity[0].sum(axis=0)))


class PairFlows:
    """Flows between single tokens of one capacity tensor (L, T, T).

    >>> pairs = PairFlows(np.full((2, 3, 3), 1 / 3))
    >>> pairs.row(0).round(6)
    array([1., 1., 1.])
    """

    def __init__(self, capacity: FloatArray) -> None:
        self.capacity = capacity = check_capacity(capacity)
        self.solves = 0  # pairs that needed a solver
        self._rows, self._columns = capacity.sum(axis=2), capacity.sum(axis=1)  # (L, T) each
        self._solver: tuple[MaxFlow, IntArray, IntArray, int] | None = None
        layers, tokens = capacity.shape[:2]
        self._middle = 1 + (layers - 2) // 2
        self._worth_joining = layers >= JOIN_FROM
        back = np.eye(tokens) if layers < 3 else capacity[0].T.copy()  # row j: what every token of layer 1 hands to j
        self._fits_back = np.ones(tokens, dtype=bool)
        for layer in range(1, self._middle if layers >= 3 else 0):
            share, fits = _spread(back, capacity[layer].T, self._columns[layer])
            back, self._fits_back = share, self._fits_back & fits
        self._back = back  # (T, T): where in the middle the flow of each input j has to pass

    def row(self, i: int, inputs: IntArray | None = None) -> FloatArray:
        """Max flow from output i to every input, or to the listed ones."""
        i = whole_number(i, "i", 0, self.capacity.shape[1] - 1)
        columns = output_rows(inputs, self.capacity.shape[1], "inputs")
        if len(self.capacity) == 1:
            return np.asarray(self.capacity[0, i, columns])
        if len(self.capacity) == 2:  # one middle layer: paths i → k → j share no edge
            return np.asarray(np.minimum(self.capacity[1, i][:, None], self.capacity[0][:, columns]).sum(axis=0))
        flows = pair_bounds(self.capacity, i)[columns]
        joined = self._join(i, columns, flows) if self._worth_joining else flows == 0
        self._worth_joining = bool(joined.any())  # a network that refuses one whole row will refuse the next
        left = np.flatnonzero(~joined)
        flows[left] = np.minimum(flows[left], self._solve(i, columns[left]))
        return flows

    def _join(self, i: int, inputs: IntArray, bounds: FloatArray) -> BoolArray:
        """For which inputs a flow that meets the bound was found, (len(inputs),)."""
        capacity, rows = self.capacity, self._rows
        ahead, fits = capacity[-1, i][None], np.ones(1, dtype=bool)
        for layer in range(len(capacity) - 2, self._middle, -1):
            ahead, fit = _spread(ahead, capacity[layer], rows[layer])
            fits &= fit
        if not fits[0] or rows[-1, i] == 0:
            return np.asarray(bounds == 0)
        into = ahead * (bounds / rows[-1, i])[:, None]  # (inputs, T): row sums of the joining flow
        columns = self._columns[0][inputs]
        share = np.divide(bounds, columns, out=np.zeros_like(bounds), where=columns > 0)
        outof = self._back[inputs] * share[:, None]  # (inputs, T): its column sums
        fits_back = self._fits_back[inputs]
        return np.asarray(fits_back & _sinkhorn_fits(capacity[self._middle], into, outof, bounds) | (bounds == 0))

    def _solve(self, i: int, inputs: IntArray) -> FloatArray:
        """The max flows of some pairs. Inner arcs are built once and shared by all pairs; a flow of few of their units, where
        capacities are far apart, is solved again in units of its own."""
        units, shift = self._solve_pairs(i, inputs)
        flows = from_units(units, shift)
        for k in np.flatnonzero(units < ENOUGH_UNITS):
            flows[k] = self._alone(i, int(inputs[k]))
        return flows

    def _alone(self, i: int, j: int) -> float:
        here = np.arange(self.capacity.shape[1])
        network = LayeredNetwork(self.capacity, self._rows[-1] * (here == i), self._columns[0] * (here == j))
        return maximum_flow(network).reached if network.widest() else 0.0

    def _solve_pairs(self, i: int, inputs: IntArray) -> tuple[IntArray, int]:
        """The max flows of some pairs in whole units, and their exponent."""
        self.solves += len(inputs)
        layers, tokens = self.capacity.shape[:2]
        source, sink = layers * tokens, layers * tokens + 1
        if self._solver is None:
            shift = integer_shift(float(max(self.capacity[-1].sum(axis=1).max(), self.capacity.max())))
            solver = simple_max_flow()
            inner = self.capacity[1:-1]
            layer, tail, head = np.nonzero(inner)
            if len(layer):
                solver.add_arcs_with_capacity(
                    ((layer + 2) * tokens + tail).astype(np.int32),
                    ((layer + 1) * tokens + head).astype(np.int32),
                    in_units(inner[layer, tail, head], shift),
                )
            nodes, none = np.arange(tokens, dtype=np.int32), np.zeros(tokens, dtype=np.int64)
            top, bottom = ((layers - 1) * tokens + nodes).astype(np.int32), (tokens + nodes).astype(np.int32)
            out = solver.add_arcs_with_capacity(np.full(tokens, source, np.int32), top, none)
            into = solver.add_arcs_with_capacity(bottom, np.full(tokens, sink, np.int32), none)
            self._solver = solver, out, into, shift
        solver, out, into, shift = self._solver
        solver.set_arcs_capacity(out, in_units(self.capacity[-1, i], shift))
        return solve_all(solver, source, sink, into, in_units(self.capacity[0][:, inputs].T, shift)), shift


def _spread(flow: FloatArray, capacity: FloatArray, total: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Hand on `flow` (batch, T) in proportion to `capacity` (T, T), whose row sums are `total`; and whether it fits."""
    share = np.divide(flow, total, out=np.zeros_like(flow), where=total > 0)
    fits = ((flow <= total) & ((total > 0) | (flow == 0))).all(axis=1)
    return share @ capacity, fits


@np.errstate(over="ignore", invalid="ignore")
def _sinkhorn_fits(capacity: FloatArray, into: FloatArray, outof: FloatArray, total: FloatArray) -> BoolArray:
    """Whether r_k·C_kl·c_l with all r_k·c_l ≤ 1 was found to have the given row and column sums, problem by problem.

    `into` and `outof` are (batch, T), `total` their sums (batch,). A "no" may be wrong, a "yes" is not: numbers that
    overflow, where capacities differ by hundreds of powers of ten, say no.
    """
    left, before = np.ones_like(into), np.full(len(total), np.inf)
    for rounds in range(ROUNDS_PER_CHECK, SINKHORN_ROUNDS + 1, ROUNDS_PER_CHECK):
        for _ in range(ROUNDS_PER_CHECK):
            right = _ratio(outof, left @ capacity)
            left = _ratio(into, right @ capacity.T)
        short = np.abs(right * (left @ capacity) - outof).sum(axis=1)
        short += np.abs(left * (right @ capacity.T) - into).sum(axis=1)
        fits = (short <= JOINED * total) & (left.max(axis=1) * right.max(axis=1) <= 1)
        hopeless = short * _ratio(short, before) ** ((SINKHORN_ROUNDS - rounds) / ROUNDS_PER_CHECK) > JOINED * total
        if (fits | hopeless).all():
            break
        before = short
    return np.asarray(fits)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
