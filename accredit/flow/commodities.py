"""Several commodities, each from its own source to its own sink, through the same edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import shown
from accredit.core import FloatArray
from accredit.errors import InvalidInput, NotConverged
from accredit.flow.graph import Graph, widest_path
from accredit.flow.program import PROVEN, STRICT, UNBOUNDED, check_solved, incidence


@dataclass(frozen=True, eq=False)
class ManyFlows:
    """Flows of several commodities through the same edges."""

    value: float  # of all together
    values: FloatArray  # (commodities,)
    edges: FloatArray  # (commodities, m)
    gap: float  # least bound that was found, minus the value: zero proves both


@check_arguments
def multi_commodity(graph: Graph, pairs: Sequence[tuple[str | int, str | int]]) -> ManyFlows:
    """The largest sum of flows of several commodities, each from its own source to its own sink, through shared capacities.

    It is at most the flow between a super-source and a super-sink, which may send what one source feeds to another's sink:

    >>> crossed = Graph.of([("s1", "t2", 1), ("s2", "t1", 1)])
    >>> multi_commodity(crossed, [("s1", "t1"), ("s2", "t2")]).value
    0.0
    """
    from scipy.optimize import linprog

    if not pairs:
        raise InvalidInput("pairs is empty; name at least one source and sink", argument="pairs", code="empty")
    if (graph.lower != 0).any():
        raise InvalidInput(
            "multi_commodity takes no lower bounds: they would belong to no commodity; leave them at 0", code="unsupported"
        )
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise InvalidInput(
            f"pairs is {shown(pairs)}; give a source and a sink each, as in [('s', 't')]", argument="pairs", code="type"
        )
    ends = [(graph.node(a, "pairs"), graph.node(b, "pairs")) for a, b in pairs]
    for (a, _), (s, t) in zip(pairs, ends, strict=True):
        if s == t:
            raise InvalidInput(f"pairs has {shown(a)} for source and sink; name two nodes", argument="pairs", code="duplicate")
    m, k = len(graph.tail), len(pairs)
    unit = max(widest_path(graph, s, t) for s, t in ends)
    if unit == np.inf:
        raise InvalidInput(UNBOUNDED, code="undefined")
    if unit == 0:
        return ManyFlows(0.0, np.zeros(k), np.zeros((k, m)), 0.0)
    most = np.minimum(graph.capacity / unit, 2.0 * k * m)  # all flows together are at most k·m widest paths
    closed = [incidence(np.append(graph.tail, t), np.append(graph.head, s), len(graph.nodes)) for s, t in ends]
    conserved = sparse.block_diag([one.T for one in closed], format="csr")
    found = linprog(
        np.tile(np.append(np.zeros(m), -1.0), k),
        A_ub=sparse.hstack([sparse.eye_array(m, m + 1, format="csr")] * k, format="csr"),
        b_ub=most,
        A_eq=conserved,
        b_eq=np.zeros(conserved.shape[0]),
        bounds=(0, None),
        method="highs",
        options=STRICT,
    )
    check_solved(found)
    flows = np.asarray(found.x).reshape(k, m + 1) + 0.0
    value, bound = float(flows[:, -1].sum()), _bound(graph, ends, most, -found.ineqlin.marginals)
    lost = float(np.abs(conserved @ found.x).sum()) + float(np.maximum(flows[:, :-1].sum(axis=0) - most, 0).sum())
    if not abs(bound - value) + lost <= PROVEN * value:
        raise NotConverged(
            f"a flow of {value * unit:g} was found and no proof below {bound * unit:g}: capacities are too far apart"
        )
    return ManyFlows(unit * value, unit * flows[:, -1], unit * flows[:, :-1], unit * (bound - value))


def _bound(graph: Graph, ends: Sequence[tuple[int, int]], capacity: FloatArray, lengths: FloatArray) -> float:
    """What no flow of several commodities exceeds, if edges have any lengths: capacity times length, over the shortest way."""
    lengths = np.maximum(lengths, 0.0)
    shortest = min(float(_nearest(graph, lengths, s)[t]) for s, t in ends)
    return float(capacity @ lengths) / shortest if shortest > 0 else np.inf


def _nearest(graph: Graph, lengths: FloatArray, source: int) -> FloatArray:
    """How far each node is from the source: (n,)."""
    away = np.full(len(graph.nodes), np.inf)
    away[source] = 0.0
    while True:
        nearer = away.copy()
        np.minimum.at(nearer, graph.head, away[graph.tail] + lengths)
        if (nearer == away).all():
            return away
        away = nearer
