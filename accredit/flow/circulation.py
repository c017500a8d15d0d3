r"""Max flow as a minimum-cost circulation, its dual, and how far a solution is from optimal.

Close the network by a return edge sink → source of cost -1; every other edge costs nothing. With B (edges × nodes, -1
at the tail and +1 at the head) the problem and its dual are

$$ \min\, c^\top f \;:\; B^\top f = 0,\; 0 \le f \le u, $$
$$ \max\, -u^\top s_u \;:\; B y + s_l - s_u = c,\; s_l, s_u \ge 0. $$

The Lagrangian that gives this pair is c·f - y·Bᵀf + s_u·(f - u) - s_l·f. The optimum satisfies the KKT conditions:
stationarity c - By + s_u - s_l = 0, complementary slackness s_u(u - f) = 0 and s_l f = 0, and both feasibilities. In
the notation of `central_path`: y = -p up to a constant, s_l = z, s_u = w.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy import sparse

from accredit.checks.arguments import check_arguments
from accredit.core import FloatArray, IntArray
from accredit.flow.central_path import CentralPoint
from accredit.flow.network import LayeredNetwork


@dataclass(frozen=True, eq=False)
class Circulation:
    """The edges of positive capacity in one list, the return edge last; source and sink are the last two nodes.

    >>> one = circulation(LayeredNetwork.from_attention(np.ones((1, 1, 1))))  # source, output, input, sink, and back
    >>> one.incidence.shape, one.cost.tolist()
    ((4, 4), [0.0, 0.0, 0.0, -1.0])
    """

    incidence: sparse.csr_array  # (m, n): -1 at the tail, +1 at the head
    cost: FloatArray  # (m,)
    upper: FloatArray  # (m,)
    places: IntArray  # (m-1,): where each edge sits among [capacity.ravel(), supply, demand]


@dataclass(frozen=True)
class KKT:
    """Residuals of the optimality conditions; all zero at an optimum. Each is the largest of its kind.

    >>> problem = circulation(LayeredNetwork.from_attention(np.ones((1, 1, 1))))
    >>> half = kkt(problem, np.full(4, 0.5), np.zeros(4), np.zeros(4), -problem.cost)  # a flow, but only half of the most
    >>> half.conservation, half.gap
    (0.0, 0.5)
    """

    stationarity: float
    complementarity: float
    conservation: float
    over_capacity: float
    negative_multiplier: float
    gap: float  # cᵀf + uᵀs_u, primal cost minus dual value


@check_arguments
def circulation(network: LayeredNetwork) -> Circulation:
    """The circulation problem of a network: cost of the optimum = -(max flow).

    >>> problem = circulation(LayeredNetwork.from_attention(np.full((1, 2, 2), 0.5)))
    >>> problem.cost.tolist()  # 4 edges of attention, 2 + 2 at the ends, and the way back
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0]
    """
    layers, tokens = network.layers, network.tokens
    nodes = np.arange((layers + 1) * tokens).reshape(layers + 1, tokens)
    source, sink = nodes.size, nodes.size + 1
    tails = np.concatenate([np.repeat(nodes[1:], tokens, axis=1).ravel(), np.full(tokens, source), nodes[0]])
    heads = np.concatenate([np.tile(nodes[:-1], (1, tokens)).ravel(), nodes[-1], np.full(tokens, sink)])
    capacity = np.concatenate([network.capacity.ravel(), network.supply, network.demand])
    live = np.flatnonzero(capacity).astype(np.int64)
    tails, heads = np.append(tails[live], sink), np.append(heads[live], source)
    edges = np.arange(len(tails))
    incidence = sparse.csr_array(
        (np.repeat([-1.0, 1.0], len(edges)), (np.tile(edges, 2), np.concatenate([tails, heads]))),
        shape=(len(edges), nodes.size + 2),
    )
    cost = np.zeros(len(edges))
    cost[-1] = -1.0
    through = float(min(network.supply.sum(), network.demand.sum()))  # the return edge never needs more
    return Circulation(incidence, cost, np.append(capacity[live], through), live)


def kkt(problem: Circulation, flow: FloatArray, y: FloatArray, lower: FloatArray, upper: FloatArray) -> KKT:
    """Residuals of a primal flow (m,), node prices y (n,) and multipliers s_l, s_u (m,) of f ≥ 0 and f ≤ u.

    >>> problem = circulation(LayeredNetwork.from_attention(np.ones((1, 1, 1))))
    >>> kkt(problem, np.ones(4), np.zeros(4), np.zeros(4), -problem.cost)  # the flow is 1 on every edge
    KKT(stationarity=0.0, complementarity=0.0, conservation=0.0, over_capacity=0.0, negative_multiplier=0.0, gap=0.0)
    """
    room = problem.upper - flow
    return KKT(
        stationarity=float(np.abs(problem.cost - problem.incidence @ y + upper - lower).max()),
        complementarity=float(max(np.abs(upper * room).max(), np.abs(lower * flow).max())),
        conservation=float(np.abs(problem.incidence.T @ flow).max()),
        over_capacity=float(max(0.0, -room.min(), -flow.min())),
        negative_multiplier=float(max(0.0, -lower.min(), -upper.min())),
        gap=float(problem.cost @ flow + problem.upper @ upper),
    )


def kkt_of(network: LayeredNetwork, point: CentralPoint) -> KKT:
    """KKT residuals of a point of the central path, its multipliers being the best ones for its potentials.

    >>> from accredit.flow.central_path import central_point
    >>> network = LayeredNetwork.from_attention(np.full((2, 2, 2), 0.5)).prune()
    >>> kkt_of(network, central_point(network, mu=1e-6)).gap < 1e-4
    True
    """
    problem = circulation(network)
    edges = np.concatenate([point.edges.ravel(), point.supply, point.demand])[problem.places]
    flow = np.append(edges, point.supply.sum())
    y = np.append(-point.potentials.ravel(), [-1.0, 0.0])
    reduced = problem.cost - problem.incidence @ y
    return kkt(problem, flow, y, np.maximum(reduced, 0.0), np.maximum(-reduced, 0.0))


def duality_gap(network: LayeredNetwork, point: CentralPoint, quadratic: float = 0.0) -> float:
    """Σ f·max(r, 0) + (u - f)·max(-r, 0) with r = p_head - p_tail + q·f: the gap of max value - (q/2) Σ f², never negative.

    For q = 0 it is (capacity of the fractional cut p) - value.
    """
    p = point.potentials
    below, above = p[:-1, None, :], p[1:, :, None]
    drops = chain((low - high for low, high in zip(below, above, strict=True)), (p[-1] - 1.0, -p[0]))  # layer by layer
    flows, rooms = (*point.edges, point.supply, point.demand), (*network.capacity, network.supply, network.demand)
    gap = 0.0
    for drop, flow, room in zip(drops, flows, rooms, strict=True):
        reduced = drop + quadratic * flow
        gap += float((np.where(reduced > 0, flow, room - flow) * np.abs(reduced)).sum())
    return gap
