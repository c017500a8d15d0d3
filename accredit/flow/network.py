"""Layered capacity networks: attention seen as pipes from the output tokens down to the input tokens.

Nodes are (ℓ, i): token i above layer ℓ, with ℓ = 0 the input and ℓ = L the output. The edge (ℓ+1, i) → (ℓ, j) may
carry `capacity[ℓ, i, j]`. A super-source feeds the output tokens through the edges `supply`, a super-sink drains the
input tokens through the edges `demand`. A super edge may carry as much as its token can pass on, so it never narrows
the network unless asked to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from accredit.checks import as_array, real_number, real_numbers
from accredit.checks.arguments import check_arguments
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.flow.stack import AttentionStack, carry_in

ROW_SUM_TOLERANCE = 1e-3  # half-precision softmax rows miss 1 by about this much
LARGEST_CAPACITY = 1e150  # the squares of larger capacities would overflow
NEGLIGIBLE_CAPACITY = (
    1e-18  # capacities below this share of the widest path count as zero: together they carry less than rounding
)
LEAST_ROOM = 1e-6  # of the widest node, kept at every node: room that rounds to no integer unit would look like a cut
INTEGER_BITS = 61  # the sum of all integer capacities at the source stays below 2^61, far from where int64 wraps

Outputs = int | Sequence[int] | FloatArray | None


def _remedy(axes: int) -> str:
    """How attention of other axes becomes layers of one matrix each."""
    remedies = {
        2: "One layer is attention[None]",
        4: "Average heads first: attention.mean(axis=1)",
        5: "Of what transformers return, take one text and average its heads: [layer[0].mean(0) for layer in attentions]",
    }
    return remedies.get(axes, "Average heads first, and give one text at a time")


def check_attention(attention: object, *, normalise: bool = True) -> FloatArray:
    """Attention as float64 (L, T, T), or an error that says what is wrong with it.

    With `normalise` every row must sum to 1 (to the accuracy of half precision) and is divided by its sum; without,
    any finite non-negative capacities will do.
    """
    if isinstance(attention, AttentionStack):
        attention = attention.weights
    array = real_numbers(attention, "attention", copy=True)
    if array.ndim != 3 or array.shape[1] != array.shape[2]:
        raise InvalidInput(
            f"attention has shape {array.shape}; (layers, tokens, tokens) is needed, first layer first. {_remedy(array.ndim)}",
            argument="attention",
            code="shape",
        )
    if array.size == 0:
        raise InvalidInput(
            f"attention is empty: shape {array.shape}; at least one layer and one token are needed",
            argument="attention",
            code="empty",
        )
    check_capacities(array, "attention")
    if normalise:
        sums = array.sum(axis=2)
        off = np.abs(sums - 1)
        if off.max() > ROW_SUM_TOLERANCE:
            layer, row = (int(k) for k in np.unravel_index(int(off.argmax()), off.shape))
            raise InvalidInput(
                f"attention[{layer}, {row}] sums to {sums[layer, row]:.6g}, not 1; "
                "for gradients, padded rows or other capacities pass normalise=False",
                argument="attention",
                code="range",
            )
        array /= sums[:, :, None]
    return array


def check_capacity(given: object, name: str = "capacity") -> FloatArray:
    """Capacities as float64 (L, T, T), or an error that says what is wrong with them."""
    capacity = real_numbers(given, name)
    if capacity.ndim != 3 or capacity.shape[1] != capacity.shape[2] or capacity.size == 0:
        raise InvalidInput(
            f"{name} has shape {capacity.shape}; (layers, tokens, tokens) is needed, at least one of each",
            argument=name,
            code="shape",
        )
    check_capacities(capacity, name)
    return capacity


def check_capacities(array: FloatArray, name: str) -> None:
    """Refuse what an edge cannot carry: negative, infinite, too large to compute with."""
    if array.size == 0 or (array.min() >= 0 and array.max() <= LARGEST_CAPACITY):
        return
    where = tuple(int(k) for k in np.argwhere(~((array >= 0) & (array <= LARGEST_CAPACITY)))[0])
    wanted = "not be negative: use maximum(x, 0)" if array[where] < 0 else f"be a finite number up to {LARGEST_CAPACITY:g}"
    raise InvalidInput(f"{name}{list(where)} is {array[where]:.3g}; a capacity must {wanted}", argument=name, code="range")


def with_residual(attention: FloatArray, residual: float) -> FloatArray:
    """(1 - r)·A + r·I: the skip connection counted as attention of a token to itself. (L, T, T) -> (L, T, T)."""
    residual = real_number(residual, "residual", 0, 1)
    mixed = (1 - residual) * attention
    diagonal = np.arange(attention.shape[1])
    mixed[:, diagonal, diagonal] += residual
    return mixed


def output_weights(outputs: Outputs, tokens: int) -> FloatArray:
    """How far each output token's source edge is opened, (T,) in [0, 1].

    `None` opens all, an index or a list of indices opens those, a float vector of length T gives the openings
    themselves.

    >>> output_weights(1, 3), output_weights([0, 2], 3)
    (array([0., 1., 0.]), array([1., 0., 1.]))
    """
    if outputs is None:
        return np.ones(tokens)
    given = as_array(outputs, "outputs")
    if given.dtype.kind == "f":
        return _check_openings(given.astype(np.float64), tokens)
    weights = np.zeros(tokens)
    weights[output_rows(outputs, tokens)] = 1.0
    return weights


def _open(outputs: Outputs, carried: BoolArray) -> FloatArray:
    """How far each output token's source edge is opened; a token that the last layer only carries is not an output."""
    weights = output_weights(outputs, len(carried))
    if outputs is None:
        return np.where(carried, 0.0, weights)
    if (weights[carried] > 0).any():
        raise InvalidInput(
            f"outputs opens token {int(np.flatnonzero((weights > 0) & carried)[0])}, which the last of these layers only "
            "carries; explain tokens that it reads for: those of a decoder need one of its layers",
            argument="outputs",
            code="conflict",
        )
    return weights


def _widen(capacity: FloatArray, carried: BoolArray) -> None:
    """Make the edge of every carried token as wide as all that enters it, from the last layer down, in place."""
    enters = np.zeros(capacity.shape[1])
    for layer in range(len(capacity) - 1, -1, -1):
        tokens = np.flatnonzero(carried[layer])
        capacity[layer, tokens, tokens] = enters[tokens]
        enters = capacity[layer].sum(axis=0)


def _check_openings(weights: FloatArray, tokens: int) -> FloatArray:
    if weights.shape != (tokens,):
        raise InvalidInput(
            f"outputs has shape {weights.shape}; a weight vector needs one number for each of {tokens} tokens",
            argument="outputs",
            code="shape",
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or (weights > 1).any():
        raise InvalidInput(
            f"outputs holds weights from {weights.min():.3g} to {weights.max():.3g}; a weight is the share of its token's "
            "source edge that is open, from 0 to 1: divide by the largest",
            argument="outputs",
            code="range",
        )
    if not weights.any():
        raise InvalidInput(
            "outputs gives weight 0 to every token; open at least one, for example outputs=0", argument="outputs", code="empty"
        )
    return weights


def output_rows(outputs: object, tokens: int, name: str = "outputs") -> IntArray:
    """Output tokens as indices 0 … T-1, in the order asked; negative indices count from the end.

    >>> output_rows(-1, 4), output_rows(None, 2)
    (array([3]), array([0, 1]))
    """
    if outputs is None:
        return np.arange(tokens)
    given = np.atleast_1d(as_array(outputs, name))
    if given.ndim != 1 or given.dtype.kind not in "iu" or given.size == 0:
        raise InvalidInput(
            f"{name} is {outputs!r:.60}; give a token index, a list of indices, or None for all", argument=name, code="type"
        )
    rows = given.astype(np.int64)
    if (rows < -tokens).any() or (rows >= tokens).any():
        bad = int(rows[(rows < -tokens) | (rows >= tokens)][0])
        raise InvalidInput(
            f"{name} holds {bad}, out of range for {tokens} tokens; use 0 … {tokens - 1}", argument=name, code="range"
        )
    rows %= tokens
    if len(set(rows.tolist())) != len(rows):
        raise InvalidInput(f"{name} names a token twice: {rows.tolist()}; name each once", argument=name, code="duplicate")
    return rows


@dataclass(frozen=True, eq=False)
class LayeredNetwork:
    """A super-source, L layers of capacities among T tokens, and a super-sink.

    >>> net = LayeredNetwork.from_attention(np.full((2, 2, 2), 0.5))
    >>> net.layers, net.tokens, net.edges
    (2, 2, 12)
    """

    capacity: FloatArray  # (L, T, T): [ℓ, i, j] is what (ℓ+1, i) → (ℓ, j) may carry
    supply: FloatArray  # (T,): what source → (L, i) may carry
    demand: FloatArray  # (T,): what (0, j) → sink may carry

    def __post_init__(self) -> None:
        capacity = check_capacity(self.capacity)
        for name, shape in (
            ("capacity", capacity.shape),
            ("supply", capacity.shape[1:2]),
            ("demand", capacity.shape[1:2]),
        ):
            given = real_numbers(getattr(self, name), name)
            if given.shape != shape:
                raise InvalidInput(
                    f"{name} has shape {given.shape}; {shape} is needed, one number per token", argument=name, code="shape"
                )
            check_capacities(given, name)
            object.__setattr__(self, name, given)

    @classmethod
    @check_arguments
    def from_attention(
        cls, attention: object, *, outputs: Outputs = None, residual: float = 0.5, normalise: bool = True
    ) -> LayeredNetwork:
        """The network of an attention tensor (L, T, T), or of an `AttentionStack`.

        The super edges follow one rule: source → (L, i) may carry all that leaves (L, i), times the weight of output
        i; (0, j) → sink may carry all that enters (0, j). So does the edge of a token that a layer carries.
        """
        capacity = with_residual(check_attention(attention, normalise=normalise), residual)
        carried = carry_in(attention, *capacity.shape[:2])
        weights = _open(outputs, carried[-1])
        if carried.any():
            _widen(capacity, carried)
        return cls(capacity, weights * capacity[-1].sum(axis=1), capacity[0].sum(axis=0))

    @property
    def layers(self) -> int:
        return int(self.capacity.shape[0])

    @property
    def tokens(self) -> int:
        return int(self.capacity.shape[1])

    @property
    def edges(self) -> int:
        """How many edges have positive capacity, super edges included."""
        return int(np.count_nonzero(self.capacity) + np.count_nonzero(self.supply) + np.count_nonzero(self.demand))

    @check_arguments
    def with_super_edges(self, capacity: float | None = None) -> LayeredNetwork:
        """The same network with every open super edge as wide as `capacity`; None: the number of tokens. Half-open ones stay.

        No token passes on more than the number of tokens where rows sum to 1, so that width leaves the max flow as it is. It
        moves the analytic centre a little, because the barrier sees how much room the super edges have.
        """
        width = float(self.tokens) if capacity is None else float(capacity)
        if not NEGLIGIBLE_CAPACITY * float(self.capacity.max()) < width <= LARGEST_CAPACITY:
            raise InvalidInput(
                f"super edges of capacity {capacity!r} carry nothing; write a positive number, or leave it out",
                argument="super_edges",
                code="range",
            )
        leaves = self.capacity[-1].sum(axis=1)
        wide = (self.supply > 0) & (self.supply >= leaves * (1 - 1e-12))
        return LayeredNetwork(self.capacity, np.where(wide, width, self.supply), np.where(self.demand > 0, width, 0.0))

    def reverse(self) -> LayeredNetwork:
        """Every edge turned round: the input tokens become the outputs."""
        turned = np.ascontiguousarray(self.capacity[::-1].transpose(0, 2, 1))
        return LayeredNetwork(turned, self.demand.copy(), self.supply.copy())

    def renumber(self, order: IntArray) -> LayeredNetwork:
        """The same network with token `order[k]` called k."""
        return LayeredNetwork(
            np.ascontiguousarray(self.capacity[:, order][:, :, order]), self.supply[order], self.demand[order]
        )

    def alive(self) -> BoolArray:
        """Which nodes lie on some source–sink path of positive capacity, (L+1, T)."""
        drained = np.zeros((self.layers + 1, self.tokens), bool)
        drained[0] = self.demand > 0
        for layer in range(self.layers):
            drained[layer + 1] = (self.capacity[layer][:, drained[layer]] > 0).any(axis=1)
        return self.reachable() & drained

    @check_arguments
    def reachable(self, above: float = 0.0) -> BoolArray:
        """Which nodes the source reaches along edges wider than `above`, (L+1, T)."""
        fed = np.zeros((self.layers + 1, self.tokens), bool)
        fed[-1] = self.supply > above
        for layer in range(self.layers - 1, -1, -1):
            fed[layer] = (self.capacity[layer][fed[layer + 1]] > above).any(axis=0)
        return fed

    def widest(self) -> float:
        """What the widest source–sink path carries: the max flow is at least this, and at most this times the edges."""
        arrives = self.supply
        for capacity in self.capacity[::-1]:
            arrives = np.minimum(arrives[:, None], capacity).max(axis=0)
        return float(np.minimum(arrives, self.demand).max())

    def bound(self) -> float:
        """A bound of the max flow: the cut through edges that are all no wider than the widest path."""
        return float(self.cut_parts(self.reachable(self.widest())).sum())

    def prune(self) -> LayeredNetwork:
        """The same max flows without useless edges: an edge of negligible capacity, or on no source–sink path, gets 0.

        Negligible is measured by the widest path, because one edge that is wider than all paths says nothing of the others.

        A barrier needs this: on an edge that can carry nothing its logarithm has no interior to live in.
        """
        floor = NEGLIGIBLE_CAPACITY * self.widest()
        kept = LayeredNetwork(*(np.where(x > floor, x, 0.0) for x in (self.capacity, self.supply, self.demand)))
        alive = kept.alive()
        return LayeredNetwork(
            kept.capacity * alive[1:, :, None] * alive[:-1, None, :], kept.supply * alive[-1], kept.demand * alive[0]
        )

    def tighten(self) -> LayeredNetwork:
        """The same flows and the same minimum cuts, without capacity that no flow can use.

        What can arrive at a node from above and what can leave it below bound all it passes on. Capacities are cut to
        twice that bound: no flow fills an edge that was cut, so none enters a minimum cut. One edge of 1e12 beside a
        flow of 0.1 would otherwise cost the flow twelve digits, in integers as in doubles. `bound` keeps what is left
        within a factor of the max flow, however far apart capacities are.
        """
        arrives, leaves = np.empty((2, self.layers + 1, self.tokens))
        arrives[-1], leaves[0] = self.supply, self.demand
        for layer in range(self.layers - 1, -1, -1):
            arrives[layer] = np.minimum(self.capacity[layer], arrives[layer + 1][:, None]).sum(axis=0)
        for layer in range(self.layers):
            leaves[layer + 1] = np.minimum(self.capacity[layer], leaves[layer]).sum(axis=1)
        passes = np.minimum(arrives, leaves)
        passes = np.minimum(passes, min(passes.sum(axis=1).min(), self.bound()))  # no layer passes on more than these
        if not passes.any():
            return self
        limit = 2 * np.maximum(passes, LEAST_ROOM * passes.max())
        return LayeredNetwork(
            np.minimum(self.capacity, np.minimum(limit[1:, :, None], limit[:-1, None, :])),
            np.minimum(self.supply, limit[-1]),
            np.minimum(self.demand, limit[0]),
        )

    def balance(self, edges: FloatArray, supply: FloatArray, demand: FloatArray) -> FloatArray:
        """What enters each node minus what leaves it, (L+1, T); a flow has zeros everywhere."""
        net = np.zeros((self.layers + 1, self.tokens))
        net[:-1] += edges.sum(axis=1)
        net[1:] -= edges.sum(axis=2)
        net[-1] += supply
        net[0] -= demand
        return net

    def cut_parts(self, source_side: BoolArray) -> FloatArray:
        """Capacity that leaves a set of nodes, place by place: (L+2,), sink edges, layer 1 … L, source edges.

        `source_side` (L+1, T) marks the nodes that stay with the source. The sum bounds every flow.
        """
        parts = np.zeros(self.layers + 2)
        parts[0] = self.demand[source_side[0]].sum()
        for layer in range(self.layers):
            parts[layer + 1] = self.capacity[layer][np.ix_(source_side[layer + 1], ~source_side[layer])].sum()
        parts[-1] = self.supply[~source_side[-1]].sum()
        return parts


def integer_shift(total: float) -> int:
    """The exponent of the largest power of two that keeps capacities of this total inside int64.

    A power of two changes no digit of a double, so only digits below one unit are lost. (Scaling by the smallest
    weight, 10^⌈-log₁₀ min⌉, has no bound: one weight of 1e-20 wraps int64.) The power itself may be beyond what a double
    holds, so numbers are moved by their exponents: `in_units`, `from_units`.

    >>> integer_shift(64.0)
    55
    """
    mantissa, exponent = np.frexp(total)
    return INTEGER_BITS - int(exponent) + int(mantissa == 0.5) if total > 0 else 0


def in_units(capacities: FloatArray, shift: int) -> IntArray:
    """Capacities in whole units of 2^-shift, cut off below one unit."""
    return np.floor(np.ldexp(capacities, shift)).astype(np.int64)


def from_units(units: npt.ArrayLike, shift: int) -> FloatArray:
    """Whole units of 2^-shift as numbers again."""
    return np.ldexp(np.asarray(units, dtype=np.float64), -shift)


@check_arguments
def flow_matrix(
    network: LayeredNetwork, direction: Literal["backward", "forward"] = "backward"
) -> tuple[FloatArray, npt.NDArray[np.int64], float]:
    """Capacities as one square matrix, its integer version, and the scale between them.

    *Backward* sends flow from the output tokens to the input tokens, *forward* along the computation; one is the
    transpose of the other. Node 0 is the super node beside the input, then come the tokens layer by layer, the last
    node is the super node beside the output. Row = tail, column = head. For inspection and small networks:
    ((L+1)·T+2)² numbers.

    >>> matrix, whole, scale = flow_matrix(LayeredNetwork.from_attention(np.ones((1, 1, 1))))
    >>> matrix.tolist(), bool((whole == matrix * scale).all())
    ([[0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]], True)
    """
    layers, tokens = network.layers, network.tokens
    size = (layers + 1) * tokens + 2
    matrix = np.zeros((size, size))
    matrix[1 : tokens + 1, 0] = network.demand
    matrix[-1, -tokens - 1 : -1] = network.supply
    for layer in range(layers):
        low, high = 1 + layer * tokens, 1 + (layer + 1) * tokens
        matrix[high : high + tokens, low : low + tokens] = network.capacity[layer]
    if direction == "forward":
        matrix = np.ascontiguousarray(matrix.T)
    shift = min(integer_shift(float(matrix.sum())), 1000)  # the scale that is returned must be a double
    return matrix, in_units(matrix, shift), 2.0**shift
