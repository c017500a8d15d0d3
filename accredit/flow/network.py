"""Layered capacity networks: attention seen as pipes from the output tokens down to the input tokens.

Nodes are (ℓ, i): token i above layer ℓ, with ℓ = 0 the input and ℓ = L the output. The edge (ℓ+1, i) → (ℓ, j) may
carry `capacity[ℓ, i, j]`. A super-source feeds the output tokens through the edges `supply`, a super-sink drains the
input tokens through the edges `demand`. A super edge may carry as much as its token can pass on, so it never narrows
the network unless asked to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from accredit.core import BoolArray, FloatArray, IntArray, InvalidInput
from accredit.flow.stack import AttentionStack, carried_in

ROW_SUM_TOLERANCE = 1e-3  # half-precision softmax rows miss 1 by about this much
LARGEST = 1e150  # the squares of larger capacities would overflow
NEGLIGIBLE = 1e-18  # capacities below this share of the largest count as zero: together they carry less than rounding
LEAST_ROOM = 1e-6  # of the widest node, kept at every node: room that rounds to no integer unit would look like a cut
INTEGER_BITS = 61  # the sum of all integer capacities at the source stays below 2^61, far from where int64 wraps

Outputs = int | Sequence[int] | FloatArray | None


def checked_attention(attention: Any, *, normalise: bool = True) -> FloatArray:
    """Attention as float64 (L, T, T), or an error that says what is wrong with it.

    With `normalise` every row must sum to 1 (to the accuracy of half precision) and is divided by its sum; without,
    any finite non-negative capacities will do.
    """
    if isinstance(attention, AttentionStack):
        attention = attention.weights
    try:
        if np.iscomplexobj(attention):
            raise TypeError
        array = np.array(attention, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):
        raise InvalidInput(
            f"attention must be an array of real numbers, got {type(attention).__name__}; for a tensor of torch write "
            "attention.detach().float().numpy()"
        ) from None
    if array.ndim != 3 or array.shape[1] != array.shape[2]:
        raise InvalidInput(
            f"attention has shape {array.shape}; (layers, tokens, tokens) is needed, first layer first. "
            "Average heads first: attention.mean(axis=1)"
        )
    if array.size == 0:
        raise InvalidInput(f"attention is empty: shape {array.shape}; at least one layer and one token are needed")
    beyond = ~(np.abs(array) <= LARGEST)
    if beyond.any():
        where = tuple(int(k) for k in np.argwhere(beyond)[0])
        wanted = f"within {LARGEST:g}" if np.isfinite(array[where]) else "a finite number"
        raise InvalidInput(f"attention{list(where)} is {array[where]}; every weight must be {wanted}")
    if (array < 0).any():
        where = tuple(int(k) for k in np.argwhere(array < 0)[0])
        raise InvalidInput(
            f"attention{list(where)} is {array[where]:.3g}; capacities cannot be negative, use maximum(x, 0)"
        )
    if normalise:
        sums = array.sum(axis=2)
        off = np.abs(sums - 1)
        if off.max() > ROW_SUM_TOLERANCE:
            layer, row = (int(k) for k in np.unravel_index(int(off.argmax()), off.shape))
            raise InvalidInput(
                f"attention[{layer}, {row}] sums to {sums[layer, row]:.6g}, not 1; "
                "for gradients, padded rows or other capacities pass normalise=False"
            )
        array /= sums[:, :, None]
    return array


def with_residual(attention: FloatArray, residual: float) -> FloatArray:
    """(1 - r)·A + r·I: the skip connection counted as attention of a token to itself. (L, T, T) -> (L, T, T)."""
    if not isinstance(residual, int | float | np.number) or not 0 <= residual <= 1:
        raise InvalidInput(f"residual is {residual!r}; it must lie between 0 and 1, for example residual=0.5")
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
    given = np.asarray(outputs)
    if given.dtype.kind == "f":
        return _checked_openings(given.astype(np.float64), tokens)
    weights = np.zeros(tokens)
    weights[output_rows(outputs, tokens)] = 1.0
    return weights


def _opened(outputs: Outputs, carried: BoolArray) -> FloatArray:
    """How far each output token's source edge is opened; a token that the last layer only carries is not an output."""
    weights = output_weights(outputs, len(carried))
    if outputs is None:
        return np.where(carried, 0.0, weights)
    if (weights[carried] > 0).any():
        raise InvalidInput(
            f"outputs opens token {int(np.flatnonzero((weights > 0) & carried)[0])}, which the last of these layers only "
            "carries; explain tokens that it reads for: those of a decoder need one of its layers"
        )
    return weights


def _widen(capacity: FloatArray, carried: BoolArray) -> None:
    """Make the edge of every carried token as wide as all that enters it, from the last layer down, in place."""
    enters = np.zeros(capacity.shape[1])
    for layer in range(len(capacity) - 1, -1, -1):
        tokens = np.flatnonzero(carried[layer])
        capacity[layer, tokens, tokens] = enters[tokens]
        enters = capacity[layer].sum(axis=0)


def _checked_openings(weights: FloatArray, tokens: int) -> FloatArray:
    if weights.shape != (tokens,):
        raise InvalidInput(
            f"outputs has shape {weights.shape}; a weight vector needs one number for each of {tokens} tokens"
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or (weights > 1).any():
        raise InvalidInput(
            f"outputs holds weights from {weights.min():.3g} to {weights.max():.3g}; a weight is the share of its token's "
            "source edge that is open, from 0 to 1: divide by the largest"
        )
    if not weights.any():
        raise InvalidInput("outputs gives weight 0 to every token; open at least one, for example outputs=0")
    return weights


def output_rows(outputs: int | Iterable[int] | Any | None, tokens: int) -> IntArray:
    """Output tokens as indices 0 … T-1, in the order asked; negative indices count from the end.

    >>> output_rows(-1, 4), output_rows(None, 2)
    (array([3]), array([0, 1]))
    """
    if outputs is None:
        return np.arange(tokens)
    given = np.atleast_1d(np.asarray(outputs))
    if given.ndim != 1 or given.dtype.kind not in "iu" or given.size == 0:
        raise InvalidInput(f"outputs is {outputs!r:.60}; give a token index, a list of indices, or None for all")
    rows = given.astype(np.int64)
    if (rows < -tokens).any() or (rows >= tokens).any():
        bad = int(rows[(rows < -tokens) | (rows >= tokens)][0])
        raise InvalidInput(f"outputs holds {bad}, out of range for {tokens} tokens; use 0 … {tokens - 1}")
    rows %= tokens
    if len(set(rows.tolist())) != len(rows):
        raise InvalidInput(f"outputs names a token twice: {rows.tolist()}; name each output once")
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

    @classmethod
    def from_attention(
        cls, attention: Any, *, outputs: Outputs = None, residual: float = 0.5, normalise: bool = True
    ) -> LayeredNetwork:
        """The network of an attention tensor (L, T, T), or of an `AttentionStack`.

        The super edges follow one rule: source → (L, i) may carry all that leaves (L, i), times the weight of output
        i; (0, j) → sink may carry all that enters (0, j). So does the edge of a token that a layer carries.
        """
        capacity = with_residual(checked_attention(attention, normalise=normalise), residual)
        carried = carried_in(attention, *capacity.shape[:2])
        weights = _opened(outputs, carried[-1])
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

    def with_super_edges(self, capacity: float | None = None) -> LayeredNetwork:
        """The same network with every open super edge as wide as `capacity`; None: the number of tokens. Half-open ones stay.

        No token passes on more than the number of tokens where rows sum to 1, so that width leaves the max flow as it is. It
        moves the analytic centre a little, because the barrier sees how much room the super edges have.
        """
        width = float(self.tokens) if capacity is None else float(capacity)
        if not 0 < width <= LARGEST:
            raise InvalidInput(
                f"super edges of capacity {capacity!r} carry nothing; write a positive number, or leave it out"
            )
        leaves = self.capacity[-1].sum(axis=1)
        wide = (self.supply > 0) & (self.supply >= leaves * (1 - 1e-12))
        return LayeredNetwork(self.capacity, np.where(wide, width, self.supply), np.where(self.demand > 0, width, 0.0))

    def reversed(self) -> LayeredNetwork:
        """Every edge turned round: the input tokens become the outputs."""
        turned = np.ascontiguousarray(self.capacity[::-1].transpose(0, 2, 1))
        return LayeredNetwork(turned, self.demand.copy(), self.supply.copy())

    def renumbered(self, order: IntArray) -> LayeredNetwork:
        """The same network with token `order[k]` called k."""
        return LayeredNetwork(
            np.ascontiguousarray(self.capacity[:, order][:, :, order]), self.supply[order], self.demand[order]
        )

    def alive(self) -> BoolArray:
        """Which nodes lie on some source–sink path of positive capacity, (L+1, T)."""
        layers, tokens = self.layers, self.tokens
        fed, drained = np.zeros((layers + 1, tokens), bool), np.zeros((layers + 1, tokens), bool)
        fed[layers], drained[0] = self.supply > 0, self.demand > 0
        for layer in range(layers - 1, -1, -1):
            fed[layer] = (self.capacity[layer][fed[layer + 1]] > 0).any(axis=0)
        for layer in range(layers):
            drained[layer + 1] = (self.capacity[layer][:, drained[layer]] > 0).any(axis=1)
        return fed & drained

    def pruned(self) -> LayeredNetwork:
        """The same max flows without useless edges: an edge of negligible capacity, or on no source–sink path, gets 0.

        A barrier needs this: on an edge that can carry nothing its logarithm has no interior to live in.
        """
        floor = NEGLIGIBLE * max(self.capacity.max(), self.supply.max(), self.demand.max())
        kept = LayeredNetwork(*(np.where(x > floor, x, 0.0) for x in (self.capacity, self.supply, self.demand)))
        alive = kept.alive()
        return LayeredNetwork(
            kept.capacity * alive[1:, :, None] * alive[:-1, None, :], kept.supply * alive[-1], kept.demand * alive[0]
        )

    def tightened(self) -> LayeredNetwork:
        """The same flows and the same minimum cuts, without capacity that no flow can use.

        What can arrive at a node from above and what can leave it below bound all it passes on. Capacities are cut to
        twice that bound: no flow fills an edge that was cut, so none enters a minimum cut. One edge of 1e12 beside a
        flow of 0.1 would otherwise cost the flow twelve digits, in integers as in doubles.
        """
        arrives, leaves = np.empty((2, self.layers + 1, self.tokens))
        arrives[-1], leaves[0] = self.supply, self.demand
        for layer in range(self.layers - 1, -1, -1):
            arrives[layer] = np.minimum(self.capacity[layer], arrives[layer + 1][:, None]).sum(axis=0)
        for layer in range(self.layers):
            leaves[layer + 1] = np.minimum(self.capacity[layer], leaves[layer]).sum(axis=1)
        passes = np.minimum(arrives, leaves)
        passes = np.minimum(passes, passes.sum(axis=1).min())  # no layer passes on more than the narrowest one
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


def integer_scale(total: float) -> float:
    """The largest power of two that keeps capacities of this total inside int64.

    A power of two changes no digit of a double, so only digits below 1/scale are lost. (Scaling by the smallest
    weight, 10^⌈-log₁₀ min⌉, has no bound: one weight of 1e-20 wraps int64.)

    >>> integer_scale(64.0) == 2.0**55
    True
    """
    return float(2.0 ** min(INTEGER_BITS - int(np.ceil(np.log2(total))), 1000)) if total > 0 else 1.0


def flow_matrix(
    network: LayeredNetwork, direction: Literal["backward", "forward"] = "backward"
) -> tuple[FloatArray, npt.NDArray[np.int64], float]:
    """Capacities as one square matrix, its integer version, and the scale between them.

    *Backward* sends flow from the output tokens to the input tokens, *forward* along the computation; one is the
    transpose of the other. Node 0 is the super node beside the input, then come the tokens layer by layer, the last
    node is the super node beside the output. Row = tail, column = head. For inspection and small networks:
    ((L+1)·T+2)² numbers.
    """
    if direction not in ("backward", "forward"):
        raise InvalidInput(f"direction is {direction!r}; write 'backward' (output to input) or 'forward'")
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
    scale = integer_scale(float(matrix.sum()))
    return matrix, np.floor(matrix * scale).astype(np.int64), scale
