"""A flow together with the numbers that prove what it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from accredit.core import BoolArray, FloatArray
from accredit.flow.network import LayeredNetwork


@dataclass(frozen=True)
class Certificate:
    """What a check of a flow needs: recompute each number from the edges and compare.

    >>> from accredit.flow import LayeredNetwork, unique_flow
    >>> proof = unique_flow(LayeredNetwork.from_attention(np.full((2, 2, 2), 0.5)), "l2").certificate
    >>> round(proof.max_flow, 6), proof.conservation < 1e-9, proof.over_capacity < 1e-9
    (2.0, True, True)
    """

    rule: str
    value: float  # of this flow
    max_flow: float  # capacity of a minimum cut: no flow exceeds it
    max_flow_error: float  # the true max flow lies between max_flow - max_flow_error and max_flow
    gap: float  # duality gap of the rule's own problem, from the potentials; never negative
    conservation: float  # largest |inflow - outflow| of a node
    over_capacity: float  # largest excess of an edge over its capacity, or below zero
    iterations: int
    epsilon: float | None  # value deficit asked for; None where the rule promises an exact max flow
    epsilon_reached: float  # max_flow - value
    binding_layer: int  # where the minimum cut is widest: 1 … L, 0 the sink edges, L+1 the source edges

    def as_dict(self) -> dict[str, object]:
        """Plain numbers, as an attribution keeps them."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Flow:
    """A flow from source to sink, edge by edge.

    >>> from accredit.flow import LayeredNetwork, unique_flow
    >>> flow = unique_flow(LayeredNetwork.from_attention(np.full((2, 2, 2), 0.5)), "l2")
    >>> round(flow.value, 6), flow.through.round(6).tolist()
    (2.0, [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    """

    edges: FloatArray  # (L, T, T): [ℓ, i, j] is what (ℓ+1, i) → (ℓ, j) carries
    supply: FloatArray  # (T,): source → (L, i)
    demand: FloatArray  # (T,): (0, j) → sink
    source_side: BoolArray  # (L+1, T): nodes on the source's side of a minimum cut
    certificate: Certificate

    @property
    def value(self) -> float:
        """All that leaves the source."""
        return float(self.supply.sum())

    @property
    def through(self) -> FloatArray:
        """What passes each token at each layer, (L+1, T), input first."""
        return np.vstack([self.demand[None], self.edges.sum(axis=2)])


def conservation(network: LayeredNetwork, edges: FloatArray, supply: FloatArray, demand: FloatArray) -> float:
    """Largest |inflow - outflow| of a node."""
    return float(np.abs(network.balance(edges, supply, demand)).max())


def over_capacity(network: LayeredNetwork, edges: FloatArray, supply: FloatArray, demand: FloatArray) -> float:
    """Largest excess of any edge over its capacity, or below zero."""
    carried = ((edges, network.capacity), (supply, network.supply), (demand, network.demand))
    return max(0.0, *(float(max((flow - room).max(), (-flow).max())) for flow, room in carried))
