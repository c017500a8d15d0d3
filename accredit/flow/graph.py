r"""Flows in ordinary graphs, as linear programs that prove their answers: maximum flow, circulation of least cost, several
commodities.

An edge from tail to head carries f with l ≤ f ≤ u, at a cost of c per unit. With B (edges × nodes, −1 at the tail, +1 at the
head) a circulation has Bᵀf = 0 and its problem and dual are

$$ \min\, c^\top f : B^\top f = 0,\ l \le f \le u, \qquad
   \max\, l^\top s_l - u^\top s_u : B y + s_l - s_u = c,\ s_l, s_u \ge 0, $$

from the Lagrangian $c^\top f - y^\top B^\top f + s_u^\top (f - u) - s_l^\top (f - l)$. A maximum flow from s to t is the
circulation with a return edge t → s of cost −1. The value of a flow is what *leaves* its source, less what returns to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import check_text, real_numbers, shown
from accredit.checks.tables import number, read_sheet, warn_notes
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.game import as_name
from accredit.errors import InvalidInput, NotConverged
from accredit.flow.circulation import KKT

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

TIGHT = 1e-9  # of the widest path: room below this is none
PROVEN = 1e-8  # how far a proof may be from what it proves, relative
EPSILON = float(np.finfo(float).eps)
COST_ROUNDING = 1e-13  # of the largest product of a capacity and a cost
STRICT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # the least that HiGHS takes
UNBOUNDED = "the flow is unbounded: a path or a cycle of negative cost has no limit; give it a capacity"
COLUMNS = ("from", "to", "capacity", "lower", "cost")


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes by name, and directed edges with their bounds and costs; parallel edges are allowed.

    >>> Graph.of([("s", "a", 2), ("a", "t", 1), ("s", "t", 1)]).nodes
    ('s', 'a', 't')
    """

    nodes: tuple[str, ...]
    tail: IntArray  # (m,)
    head: IntArray  # (m,)
    capacity: FloatArray  # (m,), may be infinite
    lower: FloatArray  # (m,)
    cost: FloatArray  # (m,)

    @classmethod
    def of(cls, edges: Iterable[Sequence[object]]) -> Graph:
        """A graph from rows (from, to, capacity), with lower bound and cost after them where wanted (default 0)."""
        listed = list(edges) if isinstance(edges, Iterable) else [None]
        if not all(isinstance(row, list | tuple | np.void) for row in listed):
            raise InvalidInput(
                f"edges is {shown(edges)}; give rows of from, to and capacity, as in [('s', 't', 1.0)]",
                argument="edges",
                code="type",
            )
        given = [tuple(row) for row in listed]
        rows = [(*map(as_name, row[:2]), *row[2:], *(0.0,) * (5 - len(row))) for row in given]
        if not rows or any(not 3 <= len(row) <= 5 for row in given):
            raise InvalidInput(
                "edges need rows of from, to, capacity, and where wanted lower bound and cost; give one or more",
                argument="edges",
                code="shape",
            )
        nodes = tuple(dict.fromkeys(name for row in rows for name in row[:2]))
        if not all(isinstance(name, str) for name in nodes):
            raise InvalidInput(
                "edges has a node that is not named by a string or a whole number; name it by one",
                argument="edges",
                code="type",
            )
        for name in nodes:
            check_text(name, "a node of edges")
        where = {name: at for at, name in enumerate(nodes)}
        capacity, lower, cost = real_numbers([row[2:] for row in rows], "what edges carry and cost").T.copy()
        ends = np.array([[where[row[0]], where[row[1]]] for row in rows], dtype=np.int64)
        graph = cls(nodes, ends[:, 0], ends[:, 1], capacity, lower, cost)
        graph._check()
        return graph

    @classmethod
    def read(cls, path: str | Path) -> Graph:
        """A graph from a .csv, .tsv or .jsonl file with the columns from, to, capacity, and where wanted lower and cost."""
        sheet = read_sheet(path)
        sheet = warn_notes(sheet.with_plain_numbers(words=[n for n in sheet.names if n.strip().lower() in COLUMNS[:2]]))
        header = [name.strip().lower() for name in sheet.names]
        if not set(COLUMNS[:3]) <= set(header) <= set(COLUMNS):
            raise InvalidInput(
                f"the columns of {sheet.file!r} are {','.join(header)!r:.80}; they must be from,to,capacity (and lower,cost)",
                code="missing",
            )
        rows = []
        for line, cells in zip(sheet.lines, sheet.rows, strict=True):
            row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
            numbers = (number(row.get(name, "0"), f"{name} on line {line} of {sheet.file!r}") for name in COLUMNS[2:])
            rows.append((row["from"], row["to"], *numbers))
        return cls.of(rows)

    def _check(self) -> None:
        def edge(at: int) -> str:
            return f"edge {self.nodes[self.tail[at]]} → {self.nodes[self.head[at]]}"

        for name, values, wrong in (
            ("capacity", self.capacity, np.isnan(self.capacity) | (self.capacity == -np.inf)),
            ("lower bound", self.lower, ~np.isfinite(self.lower)),
            ("cost", self.cost, ~np.isfinite(self.cost)),
            ("lower bound", self.lower, self.lower > self.capacity),
        ):
            if wrong.any():
                at = int(np.argmax(wrong))
                raise InvalidInput(
                    f"{name} of {edge(at)} is {values[at]:g}, with capacity {self.capacity[at]:g}; bounds must be numbers with "
                    "lower ≤ capacity",
                    code="range",
                )

    @property
    def incidence(self) -> sparse.csr_array:
        """B: −1 at the tail, +1 at the head, (m, n); a loop has nothing."""
        edges = np.arange(len(self.tail))
        both = np.concatenate([self.tail, self.head])
        signs = np.repeat([-1.0, 1.0], len(edges))
        return sparse.csr_array((signs, (np.tile(edges, 2), both)), shape=(len(edges), len(self.nodes)))

    def node(self, name: str | int) -> int:
        """The place of a node by name."""
        if as_name(name) not in self.nodes:
            raise InvalidInput(f"unknown node {shown(name)}; the nodes are {', '.join(self.nodes[:8])}", code="unknown")
        return self.nodes.index(as_name(name))


@dataclass(frozen=True, eq=False)
class GraphFlow:
    """A maximum flow and a minimum cut, which proves it."""

    value: float  # leaves the source, less what returns
    edges: FloatArray  # (m,)
    source_side: tuple[str, ...]  # nodes that stay with the source
    cut: float  # capacity that leaves them, less what must return: no flow exceeds it
    conservation: float  # largest |in − out| of a node other than source and sink

    @property
    def gap(self) -> float:
        """Cut minus flow: zero proves both."""
        return self.cut - self.value


@dataclass(frozen=True, eq=False)
class LeastCost:
    """A circulation of least cost, and the prices that prove it."""

    cost: float
    edges: FloatArray  # (m,)
    prices: FloatArray  # (n,), of the nodes: y of the dual
    certificate: dict[str, float]  # residuals of the optimality conditions, and the gap; all about zero


@dataclass(frozen=True, eq=False)
class ManyFlows:
    """Flows of several commodities through the same edges."""

    value: float  # of all together
    values: FloatArray  # (commodities,)
    edges: FloatArray  # (commodities, m)
    gap: float  # least bound that was found, minus the value: zero proves both


@check_arguments
def graph_flow(graph: Graph, source: str | int, sink: str | int) -> GraphFlow:
    """A maximum flow of an ordinary graph, with its minimum cut. Lower bounds are respected, costs are not read.

    >>> pipes = Graph.of([("s", "a", 3), ("s", "b", 2), ("a", "b", 1), ("a", "t", 2), ("b", "t", 3)])
    >>> flow = graph_flow(pipes, "s", "t")
    >>> flow.value, flow.source_side, abs(flow.gap) < 1e-9
    (5.0, ('s',), True)
    """
    s, t = graph.node(source), graph.node(sink)
    if s == t:
        raise InvalidInput(f"source and sink are both {source!r}; name two nodes", argument="source", code="duplicate")
    m, asked = len(graph.tail), float(np.abs(graph.lower).sum())
    narrow, unit = _in_units(graph, s, t)
    least = -np.inf if asked else 0.0  # lower bounds may ask for more to return than can leave
    found = _circulate(_close(narrow, (t, s), least), "a flow that respects the lower bounds")
    edges, value = np.asarray(found.x[:m]) * unit + 0.0, float(found.x[m]) * unit + 0.0  # and never −0
    side = _reachable(narrow, found.x[:m], s)
    leaves, enters = side[graph.tail] & ~side[graph.head], ~side[graph.tail] & side[graph.head]
    out, back = float(graph.capacity[leaves].sum()), float(graph.lower[enters].sum())
    net = graph.incidence.T @ edges
    net[[s, t]] = 0.0
    off = abs(out - back - value) + float(np.abs(net).sum())  # what is lost on the way counts too
    if side[t] or off > PROVEN * (out + abs(back)) + m * EPSILON * asked:
        raise NotConverged(
            f"a flow of {value:g} was found and no cut that proves it, but {out - back:g}: capacities are too far apart"
        )
    names = tuple(name for name, here in zip(graph.nodes, side, strict=True) if here)
    return GraphFlow(value, edges, names, out - back, float(np.abs(net).max()))


def _in_units(graph: Graph, source: int, sink: int) -> tuple[Graph, float]:
    """The graph in units of its widest path, and that unit. No edge needs more than the max flow, which is at most the widest
    path times the edges, and twice what lower bounds ask for: so edges wider than twice that are narrowed to it, and every
    scale looks the same. An edge that is full only because it was narrowed lies on a cycle that can be emptied, and so is in
    no cut: hence the second *twice*."""
    widest, asked = float(_widest(graph, source)[sink]), float(np.abs(graph.lower).sum())
    unit = max(widest, asked)
    if unit == np.inf:
        return graph, 1.0
    if unit == 0:  # no path and nothing that must flow: all that matters is which edges are open
        return Graph(graph.nodes, graph.tail, graph.head, np.sign(graph.capacity), graph.lower, graph.cost), 0.0
    most = np.minimum(graph.capacity, 2 * (len(graph.tail) * widest + 2 * asked))
    return Graph(graph.nodes, graph.tail, graph.head, most / unit, graph.lower / unit, graph.cost), unit


def _widest(graph: Graph, source: int) -> FloatArray:
    """How much one path from the source can carry to each node: (n,)."""
    carries = np.zeros(len(graph.nodes))
    carries[source] = np.inf
    while True:
        wider = carries.copy()
        np.maximum.at(wider, graph.head, np.minimum(carries[graph.tail], graph.capacity))
        if (wider == carries).all():
            return carries
        carries = wider


@check_arguments
def least_cost(graph: Graph) -> LeastCost:
    """The circulation of least cost within lower bounds and capacities, with dual prices and the residuals of optimality.

    >>> trade = Graph.of([("a", "b", 4, 0, -3), ("b", "a", 9, 2, 1)])
    >>> found = least_cost(trade)
    >>> found.cost, found.edges.tolist(), max(found.certificate.values()) < 1e-9
    (-8.0, [4.0, 4.0], True)
    """
    bounds = np.abs(np.concatenate([graph.capacity, graph.lower]))
    width = float(bounds[np.isfinite(bounds)].max(initial=0.0)) or 1.0
    price = float(np.abs(graph.cost).max()) or 1.0
    even = Graph(graph.nodes, graph.tail, graph.head, graph.capacity / width, graph.lower / width, graph.cost / price)
    found = _circulate(even, "a circulation")
    edges, prices = np.asarray(found.x) * width, np.asarray(found.eqlin.marginals) * price
    certificate = _optimality(graph, edges, prices)
    dear = certificate["gap"] > PROVEN * float(np.abs(graph.cost) @ np.abs(edges)) + COST_ROUNDING * width * price
    lost = max(certificate["conservation"], certificate["over_capacity"])
    if dear or lost > PROVEN * float(np.abs(edges).max()) + COST_ROUNDING * width:
        raise NotConverged("a circulation was found and no prices that prove it: capacities or costs are too far apart")
    return LeastCost(float(graph.cost @ edges), edges, prices, certificate)


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
    ends = [(graph.node(a), graph.node(b)) for a, b in pairs]
    for (a, _), (s, t) in zip(pairs, ends, strict=True):
        if s == t:
            raise InvalidInput(f"pairs has {shown(a)} for source and sink; name two nodes", argument="pairs", code="duplicate")
    m, k = len(graph.tail), len(pairs)
    unit = max(float(_widest(graph, s)[t]) for s, t in ends)
    if unit == np.inf:
        raise InvalidInput(UNBOUNDED, code="undefined")
    if unit == 0:
        return ManyFlows(0.0, np.zeros(k), np.zeros((k, m)), 0.0)
    most = np.minimum(graph.capacity / unit, 2.0 * k * m)  # all flows together are at most k·m widest paths
    closed = [_close(graph, (t, s)) for s, t in ends]
    conserved = sparse.block_diag([one.incidence.T for one in closed], format="csr")
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
    _check_solved(found, "a bounded flow")
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


def _close(graph: Graph, back: tuple[int, int], least: float = 0.0) -> Graph:
    """The graph with a return edge of no limit that pays 1 per unit, the only cost; at least so much returns."""
    return Graph(
        graph.nodes,
        np.append(graph.tail, back[0]),
        np.append(graph.head, back[1]),
        np.append(graph.capacity, np.inf),
        np.append(graph.lower, least),
        np.append(np.zeros(len(graph.tail)), -1.0),
    )


def _circulate(graph: Graph, what: str) -> OptimizeResult:
    from scipy.optimize import linprog

    found = linprog(
        graph.cost,
        A_eq=graph.incidence.T,
        b_eq=np.zeros(len(graph.nodes)),
        bounds=np.stack([graph.lower, graph.capacity], axis=1),
        method="highs",
        options=STRICT,
    )
    _check_solved(found, what)
    return found


def _check_solved(found: OptimizeResult, what: str) -> None:
    if found.status == 2:
        raise InvalidInput(f"there is not {what}: lower bounds and capacities contradict each other", code="conflict")
    if found.status == 3:
        raise InvalidInput(UNBOUNDED, code="undefined")
    if found.status != 0:
        raise NotConverged(f"HiGHS ended with {found.message!r:.80}; rescale the capacities")


def _reachable(graph: Graph, edges: FloatArray, source: int) -> BoolArray:
    """Nodes that the source can still send to, forward where there is room and backward where flow can be taken back."""
    room = TIGHT * max(1.0, float(graph.capacity[np.isfinite(graph.capacity)].max(initial=0.0)))
    forward, back = graph.capacity - edges > room, edges - graph.lower > room
    side = np.zeros(len(graph.nodes), dtype=bool)
    side[source] = True
    while True:
        wider = side.copy()
        wider[graph.head[forward & side[graph.tail]]] = True
        wider[graph.tail[back & side[graph.head]]] = True
        if (wider == side).all():
            return side
        side = wider


def _optimality(graph: Graph, f: FloatArray, y: FloatArray) -> dict[str, float]:
    """Residuals of the optimality conditions of a circulation (m,) and its prices (n,), each the largest of its kind."""
    reduced = graph.cost - graph.incidence @ y
    low, high = np.maximum(reduced, 0.0), np.maximum(-reduced, 0.0)
    bounded = np.isfinite(graph.capacity)
    high_paid = np.where(bounded, high, 0.0)
    room = np.where(bounded, graph.capacity, 0.0) - np.where(bounded, f, 0.0)
    kkt = KKT(
        stationarity=float(np.where(bounded, 0.0, high).max(initial=0.0)),
        complementarity=float(max(np.abs(high_paid * room).max(initial=0.0), np.abs(low * (f - graph.lower)).max(initial=0.0))),
        conservation=float(np.abs(graph.incidence.T @ f).max()),
        over_capacity=float(max(0.0, (f - graph.capacity).max(), (graph.lower - f).max())),
        negative_multiplier=0.0,
        gap=abs(float(graph.cost @ f - graph.lower @ low + np.where(bounded, graph.capacity, 0.0) @ high_paid)),
    )
    return asdict(kkt)
