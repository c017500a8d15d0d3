r"""Flows in ordinary graphs that prove their answers: greatest flow, least cost, one chosen out of many by a rule.

Every question is a `FlowProgram`. The greatest flow from s to t is the circulation in which what reaches t returns to s and
earns 1: both are one node there, and edges into t cost −1. The value of a flow is what *leaves* its source, less what returns
to it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from accredit.checks.arguments import check_arguments
from accredit.checks.files import check_is_file
from accredit.checks.numbers import check_text, real_number, real_numbers, shown
from accredit.checks.tables import number, read_sheet, warn_notes
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.game import as_name
from accredit.errors import BrokenLibrary, InvalidInput, MissingExtra, NotConverged
from accredit.flow.network import LayeredNetwork, from_units, in_units, integer_shift
from accredit.flow.optima import RANGE_SECONDS, Optima, Ranges
from accredit.flow.program import PROVEN, TIGHT, FlowProgram, incidence
from accredit.flow.rules import Chosen, GraphRule, allowed_loss, check_rule, choose
from accredit.flow.solver import simple_max_flow, solve

OFF_RULE = 1e-2  # residual of the rule itself, times the edges: at the finest ε rounding leaves a hundredth of it
EPSILON = float(np.finfo(float).eps)
MOST_EDGES = 2_000_000  # a solve then holds about 4 GB
LARGEST = 1e150  # of capacities, bounds and costs: squares and sums of it are still numbers
MANY_EDGES = 1000  # from here on the solver of whole numbers is worth its start
FINE = 1e-12  # a unit of it, of the widest path, that is no more than rounding
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
        listed = list(islice(edges, MOST_EDGES + 1)) if isinstance(edges, Iterable) else [None]
        _check_size(len(listed))
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
            check_text(name, "a node of edges", empty=False)
        where = {name: at for at, name in enumerate(nodes)}
        capacity, lower, cost = _carried(rows)
        ends = np.array([[where[row[0]], where[row[1]]] for row in rows], dtype=np.int64)
        graph = cls(nodes, ends[:, 0], ends[:, 1], capacity, lower, cost)
        graph._check()
        return graph

    @classmethod
    def read(cls, path: str | Path) -> Graph:
        """A graph from a .csv, .tsv or .jsonl file with the columns from, to, capacity, and where wanted lower and cost."""
        check_is_file(path)
        _check_lines(path)
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
            at = f"on line {line} of {sheet.file!r}"
            numbers = (number(row.get(name, "0").replace("∞", "inf"), f"{name} {at}") for name in COLUMNS[2:])
            rows.append((row["from"], row["to"], *numbers))
        return cls.of(rows)

    def _check(self) -> None:
        listed = np.stack([self.lower, self.capacity, self.cost])
        endless = self.capacity == np.inf
        beyond = np.isnan(listed) | (np.abs(listed) > LARGEST)
        beyond[1] &= ~endless
        wrong = beyond.any(axis=0) | (self.lower > self.capacity)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InvalidInput(
                f"edge {self.nodes[self.tail[at]]} → {self.nodes[self.head[at]]} has capacity {self.capacity[at]:g}, lower "
                f"bound {self.lower[at]:g} and cost {self.cost[at]:g}; give numbers up to {LARGEST:g} with lower ≤ capacity; "
                "only a capacity may be inf",
                argument="edges",
                code="range",
            )

    @property
    def incidence(self) -> sparse.csr_array:
        """B: −1 at the tail, +1 at the head, (m, n); a loop has nothing."""
        return incidence(self.tail, self.head, len(self.nodes))

    def node(self, name: str | int, argument: str = "name") -> int:
        """The place of a node by name; `argument` is who asks, for the message."""
        if as_name(name) not in self.nodes:
            raise InvalidInput(
                f"unknown node {shown(name)} in {argument}; the nodes are {', '.join(self.nodes[:8])}",
                argument=argument,
                code="unknown",
            )
        return self.nodes.index(as_name(name))


def _carried(rows: Sequence[Sequence[object]]) -> FloatArray:
    """Capacities, lower bounds and costs, (3, m); what is not a number is named with its edge."""
    try:
        return real_numbers([row[2:] for row in rows], "what edges carry and cost").T.copy()
    except InvalidInput as error:
        code = error.code
    for tail, head, *numbers in rows:
        for name, value in zip(COLUMNS[2:], numbers, strict=True):
            if not isinstance(value, int | float | np.integer | np.floating):
                raise InvalidInput(
                    f"the {name} of edge {tail} → {head} is {shown(value)}; give a number, as in ('s', 't', 1.0)",
                    argument="edges",
                    code=code,
                )
    raise InvalidInput("what edges carry and cost must be numbers", argument="edges", code=code)


def layers_as_graph(network: LayeredNetwork) -> tuple[Graph, dict[str, float], dict[str, float]]:
    """A layered network as an ordinary graph, its sources and its sinks.

    Node `2 0` is token 0 of layer 2. The edges are those of the network in the order of its capacities.

    >>> layered = LayeredNetwork.from_attention(np.full((1, 2, 2), 0.5))
    >>> graph_flow(*layers_as_graph(layered), rule="l2").sinks
    {'0 0': 1.0, '0 1': 1.0}
    """
    layers, tokens = network.layers, network.tokens
    _check_size(network.capacity.size)
    nodes = tuple(f"{layer} {i}" for layer in range(layers + 1) for i in range(tokens))
    layer, i, j = (x.ravel() for x in np.indices(network.capacity.shape))
    nothing = np.zeros(network.capacity.size)
    graph = Graph(nodes, (layer + 1) * tokens + i, layer * tokens + j, network.capacity.ravel(), nothing, nothing)
    feeds = {f"{layers} {i}": float(most) for i, most in enumerate(network.supply) if most > 0}
    drains = {f"0 {j}": float(most) for j, most in enumerate(network.demand) if most > 0}
    return graph, feeds, drains


Ends = str | int | Mapping[str | int, float] | Iterable[str | int]


def _check_size(edges: int) -> None:
    if edges > MOST_EDGES:
        raise InvalidInput(
            f"edges has more than {MOST_EDGES:,} rows, which a solve cannot hold; leave out edges of little capacity, or merge "
            "parallel ones",
            argument="edges",
            code="too-many",
        )


def _check_lines(path: str | Path) -> None:
    """Refuse a file of too many lines before one of them is read as an edge; a damaged one is left to its reader."""
    lines = 0
    with suppress(OSError, EOFError, zlib.error), (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as file:
        while lines <= MOST_EDGES + 1 and (part := file.read(1 << 20)):
            lines += part.count(b"\n")
    _check_size(lines - 1)


@dataclass(frozen=True, eq=False)
class GraphFlow:
    """A flow of greatest value or of least cost: the one that a rule picks out of all optimal flows, with what proves it.

    >>> pipes = Graph.of([("s", "a", 2), ("s", "b", 2), ("a", "t", 2), ("b", "t", 2), ("t", "u", 3)])
    >>> flow = graph_flow(pipes, "s", "u", rule="l2")
    >>> round(flow.value, 9), flow.edges.round(9).tolist(), flow.unique
    (3.0, [1.5, 1.5, 1.5, 1.5, 3.0], False)
    >>> flow.ranges().bounds.tolist()[0]  # over all maximum flows
    [1.0, 2.0]
    """

    value: float  # leaves the sources, less what returns; 0 for a circulation
    cost: float  # Σ c·f
    edges: FloatArray  # (m,)
    rule: str
    prices: FloatArray  # (n,), of the nodes: with them no optimum is better
    source_side: tuple[str, ...]  # nodes that stay with the sources in a minimum cut; none for least cost
    cut: float | None  # capacity that leaves them, less what must return: no flow exceeds it
    certificate: dict[str, float]  # residuals of optimality, all about zero but for the gap, which `barrier` may leave up to ε
    sources: dict[str, float]  # what each source feeds
    sinks: dict[str, float]  # what each sink drains
    optima: Optima = field(repr=False)  # all flows as good as this one, or for `barrier` as good as the best
    chosen: Chosen = field(repr=False)

    @property
    def gap(self) -> float:
        """How far this may be from the best: a cut minus the flow, or its cost minus what the prices prove."""
        return self.certificate["gap"] if self.cut is None else self.cut - self.value

    @property
    def conservation(self) -> float:
        """The largest |in − out| of a node that is neither source nor sink."""
        return self.certificate["conservation"]

    @property
    def unique(self) -> bool:
        """Whether there is only one optimal flow, whatever the rule: no other differs by more than `leeway` on any edge."""
        return self.optima.unique

    @property
    def leeway(self) -> float:
        """The most by which an edge that is not free differs between optimal flows: 0, or what room below a billionth of the
        largest flow adds up to."""
        return self.optima.leeway

    @property
    def singled_out(self) -> bool:
        """Whether the rule leaves only this flow: always for `barrier` and `l2`, not always for `l1` and `none`."""
        return self.chosen.unique

    @property
    def free(self) -> BoolArray:
        """Edges that carry different amounts in different optimal flows, (m,)."""
        return self.optima.free[: len(self.edges)]

    @property
    def held(self) -> BoolArray:
        """Edges that no flow at all can move, such as those on no path; `barrier` leaves them out, (m,)."""
        return self.chosen.held[: len(self.edges)]

    @property
    def another(self) -> FloatArray | None:
        """Another optimal flow: proof that there are many. (m,)"""
        witness = self.optima.witness
        return None if witness is None else witness[1][: len(self.edges)]

    @property
    def cycle(self) -> tuple[int, ...]:
        """The edges by which two optimal flows differ."""
        witness = self.optima.witness
        return () if witness is None else tuple(int(e) for e in witness[0] if e < len(self.edges))

    def ranges(self, seconds: float = RANGE_SECONDS) -> Ranges:
        """The least and the most that optimal flows send through each edge: two max flows for each free edge."""
        return self.optima.ranges(real_number(seconds, "seconds", 0), len(self.edges))


@check_arguments
def graph_flow(
    graph: Graph | LayeredNetwork,
    source: Ends | None = None,
    sink: Ends | None = None,
    *,
    rule: GraphRule | str = "none",
    epsilon: float | None = None,
    cheapest: bool = False,
) -> GraphFlow:
    """A maximum flow of an ordinary graph, with its minimum cut and the word on whether it is the only one.

    Lower bounds are respected. Costs are not read, unless the `cheapest` of all maximum flows are asked for. Several sources or
    sinks are a list of names, each joined to a super-source or super-sink by an edge as wide as its own, or a mapping to what
    they feed or drain at most. `rule` picks one flow: `barrier`, whose value may be `epsilon` below the maximum (that share of
    it, if it is below 1), `l2`, `l1`, or `none`.

    A layered network has its own sources and sinks, and is solved layer by layer, which is quicker; its edges are in the order
    of its capacities. All its paths are equally long, so that `l1` picks nothing there.

    >>> pipes = Graph.of([("s", "a", 3), ("s", "b", 2), ("a", "b", 1), ("a", "t", 2), ("b", "t", 3)])
    >>> flow = graph_flow(pipes, "s", "t")
    >>> flow.value, flow.source_side, abs(flow.gap) < 1e-9, flow.unique
    (5.0, ('s',), True, True)
    """
    check_rule(rule)
    epsilon = allowed_loss(rule, epsilon)
    if isinstance(graph, LayeredNetwork):
        if source is not None or sink is not None or cheapest:
            raise InvalidInput(
                "a layered network has sources, sinks and no costs of its own; leave out source, sink and cheapest, or give "
                "layers_as_graph(network)",
                argument="source",
                code="conflict",
            )
        return _layered_flow(graph, rule, epsilon)
    if source is None or sink is None:
        end = "source" if source is None else "sink"
        raise InvalidInput(f"{end} is missing; write graph_flow(graph, 's', 't')", argument=end, code="missing")
    _check_size(len(graph.tail))
    joined, s, t = join_ends(graph, source, sink)
    narrow, unit = _in_units(joined, s, t)
    name = _merged_name(joined, s, t)
    found, prices = (None if rule == "none" else _of_whole_numbers(narrow, s, t)) or _contract(narrow, s, t).optimum(
        "a flow that respects the lower bounds", name, unit
    )
    edges = found * unit + 0.0  # and never −0
    side, cut = _cut(joined, narrow, found, edges, s, t)
    program = _contract(joined, s, t)
    optima = Optima(program, edges, prices)
    if cheapest:
        program = program.on_face(edges, optima.tight, joined.cost)
        optima = Optima(program, *program.optimum("a cheapest flow", name))
    best = cut or 1.0
    chosen = choose(optima, rule, epsilon * min(1.0, abs(best)) if not cheapest else epsilon, name)
    return _found(graph, joined, (s, t), (side, cut), optima, chosen, rule, epsilon, 0.0 if cheapest else 1.0)


def _found(
    graph: Graph,
    joined: Graph,
    ends: tuple[int, int],
    proof: tuple[BoolArray, float],
    optima: Optima,
    chosen: Chosen,
    rule: str,
    epsilon: float,
    earns: float,
) -> GraphFlow:
    """A maximum flow of `graph`, which `joined` gave one source and one sink; what reaches the sink `earns` that much."""
    (s, t), (side, cut), m = ends, proof, len(graph.tail)
    value, prices = _net(joined, chosen.edges, s), optima.prices.copy()
    prices[t] = prices[s] + earns
    return GraphFlow(
        value=value,
        cost=float(graph.cost @ chosen.edges[:m]),
        edges=chosen.edges[:m] + 0.0,
        rule=rule,
        prices=prices[: len(graph.nodes)],
        source_side=tuple(name for name, here in zip(graph.nodes, side, strict=False) if here),
        cut=cut,
        certificate=_certify(optima, chosen, epsilon if rule == "barrier" else 0.0),
        sources=_amounts(joined, chosen.edges, s, len(graph.nodes), m, value, 1.0),
        sinks=_amounts(joined, chosen.edges, t, len(graph.nodes), m, value, -1.0),
        optima=optima,
        chosen=chosen,
    )


def _layered_flow(network: LayeredNetwork, rule: str, epsilon: float) -> GraphFlow:
    """The same for layers: the exact flow by OR-tools, the barrier by the block solver of `unique_flow`. The least squares are
    found by the solver of graphs, which needs a tenth of the time for them."""
    from accredit.flow.maximum import maximum_flow
    from accredit.flow.unique import unique_flow

    graph, feeds, drains = layers_as_graph(network)
    if not (feeds and drains):
        raise InvalidInput("nothing can enter or leave this network: supply or demand is 0 everywhere", code="empty")
    joined, s, t = join_ends(graph, feeds, drains)
    exact, pruned = maximum_flow(network), network.prune()

    def listed(edges: FloatArray, supply: FloatArray, demand: FloatArray) -> FloatArray:
        return np.concatenate([edges.ravel(), supply[network.supply > 0], demand[network.demand > 0]])

    side = np.append(exact.source_side.ravel(), [True, False])
    program = _contract(joined, s, t)
    prices = np.where(side, 0.0, 1.0)  # a minimum cut is a price of 1 for crossing it
    prices[t] = 0.0
    optima = Optima(program, listed(exact.edges, exact.supply, exact.demand), prices)
    allowed = epsilon * min(1.0, exact.value)
    if rule == "barrier":
        flow = unique_flow(network, rule, epsilon=epsilon)
        held = listed(pruned.capacity, pruned.supply, pruned.demand) == 0
        edges = listed(flow.edges, flow.supply, flow.demand)
        chosen = Chosen(edges, True, held, flow.certificate.gap, flow.certificate.iterations)
    elif rule == "l1":  # every path is equally long: all maximum flows have the same sum
        chosen = Chosen(optima.edges, optima.unique, np.zeros(len(joined.tail), dtype=bool), 0.0)
    else:
        chosen = choose(optima, rule, allowed, _merged_name(joined, s, t))
    return _found(graph, joined, (s, t), (side, exact.value), optima, chosen, rule, allowed, 1.0)


@check_arguments
def least_cost(
    graph: Graph,
    *,
    supplies: Mapping[str | int, float] | None = None,
    rule: GraphRule | str = "none",
    epsilon: float | None = None,
) -> GraphFlow:
    """A flow of least cost within lower bounds and capacities, proved by prices: a circulation, or what carries `supplies`.

    `supplies` says what enters at a node, negative where it leaves; they add up to 0.

    >>> trade = Graph.of([("a", "b", 4, 0, -3), ("b", "a", 9, 2, 1)])
    >>> found = least_cost(trade)
    >>> found.cost, found.edges.tolist(), max(found.certificate.values()) < 1e-9
    (-8.0, [4.0, 4.0], True)
    >>> roads = Graph.of([("mine", "x", 4, 0, 1), ("mine", "y", 4, 0, 1), ("x", "mill", 4), ("y", "mill", 4)])
    >>> both = least_cost(roads, supplies={"mine": 4, "mill": -4}, rule="barrier")
    >>> round(both.cost, 6), both.edges.round(6).tolist(), both.unique
    (4.0, [2.0, 2.0, 2.0, 2.0], False)
    """
    check_rule(rule)
    epsilon = allowed_loss(rule, epsilon)
    _check_size(len(graph.tail))
    enters = _supplies(graph, supplies or {})
    program = FlowProgram(graph.tail, graph.head, graph.lower, graph.capacity, graph.cost, -enters)
    optima = Optima(
        program, *program.optimum("a flow that carries the supplies" if supplies else "a circulation", graph.nodes.__getitem__)
    )
    least = abs(float(graph.cost @ optima.edges))
    chosen = choose(optima, rule, epsilon * min(1.0, least or 1.0), graph.nodes.__getitem__)
    return GraphFlow(
        value=float(np.maximum(enters, 0.0).sum()),
        cost=float(graph.cost @ chosen.edges),
        edges=chosen.edges + 0.0,
        rule=rule,
        prices=optima.prices,
        source_side=(),
        cut=None,
        certificate=_certify(optima, chosen, epsilon if rule == "barrier" else 0.0),
        sources={graph.nodes[v]: float(enters[v]) for v in np.flatnonzero(enters > 0)},
        sinks={graph.nodes[v]: float(-enters[v]) for v in np.flatnonzero(enters < 0)},
        optima=optima,
        chosen=chosen,
    )


def _supplies(graph: Graph, supplies: Mapping[str | int, float]) -> FloatArray:
    enters = np.zeros(len(graph.nodes))
    for name, amount in supplies.items():
        enters[graph.node(name, "supplies")] += real_number(amount, f"supplies[{name!r}]", example=1.0)
    if abs(enters.sum()) > PROVEN * np.abs(enters).sum():
        raise InvalidInput(
            f"supplies add up to {enters.sum():g}; what enters must leave, so give amounts that add up to 0",
            argument="supplies",
            code="conflict",
        )
    return enters


def _certify(optima: Optima, chosen: Chosen, epsilon: float) -> dict[str, float]:
    """The residuals of the chosen flow, from its edges and the prices of the optimum; refused where they are too large."""
    program = optima.program
    kkt = program.residuals(chosen.edges, optima.prices)
    if not program.is_proven(kkt, chosen.edges, epsilon) or not chosen.residual <= OFF_RULE * len(chosen.edges):
        raise NotConverged(
            f"the flow of the rule is {kkt.gap:.1e} from the optimum, {kkt.conservation:.1e} from conservation and "
            f"{chosen.residual:.1e} from what the rule picks: capacities or costs are too far apart"
        )
    return asdict(kkt) | {"rule_residual": chosen.residual}


def join_ends(graph: Graph, source: Ends, sink: Ends) -> tuple[Graph, int, int]:
    """The graph with one source and one sink: the only one there is, or a super node behind several."""
    begin, end = _ends(graph, source, "source"), _ends(graph, sink, "sink")
    both = set(begin) & set(end)
    if both:
        twice = graph.nodes[min(both)]
        raise InvalidInput(f"source and sink are both {twice!r}; name two nodes", argument="source", code="duplicate")
    for name, members, leaving in (("super-source", begin, graph.tail), ("super-sink", end, graph.head)):
        if list(members.values()) == [None]:
            continue
        nodes = np.array(list(members), dtype=np.int64)
        own = np.bincount(leaving, weights=graph.capacity[: len(leaving)], minlength=len(graph.nodes))
        wide = [float(own[v]) if limit is None else limit for v, limit in members.items()]
        new, nothing = np.full(len(nodes), len(graph.nodes)), np.zeros(len(nodes))
        tail, head = (new, nodes) if name == "super-source" else (nodes, new)
        graph = Graph(
            (*graph.nodes, name),
            np.append(graph.tail, tail),
            np.append(graph.head, head),
            np.append(graph.capacity, wide),
            np.append(graph.lower, nothing),
            np.append(graph.cost, nothing),
        )
        members.clear()
        members[len(graph.nodes) - 1] = None
    return graph, next(iter(begin)), next(iter(end))


def _ends(graph: Graph, given: Ends, argument: str) -> dict[int, float | None]:
    """Nodes, and what they feed or drain at most; None: as much as their edges can."""
    if isinstance(given, str | int | np.integer):
        return {graph.node(as_name(given), argument): None}
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise InvalidInput(f"{argument} is {shown(given)}; name a node, or several in a list", argument=argument, code="type")
    if not isinstance(given, Mapping):
        given = list(given)
        if not all(isinstance(name, str | int | np.integer) for name in given):
            raise InvalidInput(
                f"{argument} is {shown(given)}; name each node by a string or a whole number", argument=argument, code="type"
            )
    named: Mapping[str | int, float | None] = given if isinstance(given, Mapping) else dict.fromkeys(given)
    ends = {
        graph.node(name, argument): None if most is None else real_number(most, f"{argument}[{name!r}]", 0, np.inf)
        for name, most in named.items()
    }
    if not ends:
        raise InvalidInput(f"{argument} is empty; name at least one node", argument=argument, code="empty")
    if len(ends) != len(named):
        raise InvalidInput(f"{argument} names a node twice: {shown(given)}", argument=argument, code="duplicate")
    return ends


def _contract(graph: Graph, s: int, t: int) -> FlowProgram:
    """The circulation of a greatest flow: source and sink are one node, and what enters the sink earns 1."""
    tail, head = (np.where(ends == t, s, ends) for ends in (graph.tail, graph.head))
    earns = (graph.head == t) * 1.0 - (graph.tail == t)
    return FlowProgram(tail, head, graph.lower, graph.capacity, -earns, np.zeros(len(graph.nodes)))


def _of_whole_numbers(graph: Graph, s: int, t: int) -> tuple[FloatArray, FloatArray] | None:
    """A maximum flow by whole numbers, in a thousandth of the time of the simplex method but in no corner of all flows, and the
    prices of its cut; None where that solver is not there, or a unit of it is more than rounding."""
    leaves, enters = (float(graph.capacity[ends == v].sum()) for ends, v in ((graph.tail, s), (graph.head, t)))
    most = min(leaves, enters)
    if len(graph.tail) < MANY_EDGES or graph.lower.any() or not most < np.inf:
        return None
    capacity = np.minimum(graph.capacity, 2 * most)
    shift = integer_shift(float(capacity.sum()))
    if from_units(1, shift) > FINE:
        return None
    units = in_units(capacity, shift)
    try:
        solver = simple_max_flow()
        arcs = solver.add_arcs_with_capacity(graph.tail.astype(np.int32), graph.head.astype(np.int32), units)
        solve(solver, s, t)
    except (MissingExtra, BrokenLibrary, NotConverged):
        return None
    carried = solver.flows(arcs)
    edges = np.where(carried == units, capacity, from_units(carried, shift))
    prices = np.ones(len(graph.nodes))
    prices[solver.get_source_side_min_cut()] = 0.0
    prices[t] = 0.0
    program = _contract(graph, s, t)
    return (edges, prices) if program.is_proven(program.residuals(edges, prices), edges, 0.0) else None


def _merged_name(graph: Graph, s: int, t: int) -> Callable[[int], str]:
    return lambda v: f"{graph.nodes[s]} and {graph.nodes[t]}" if v == s else graph.nodes[v]


def _net(graph: Graph, edges: FloatArray, node: int) -> float:
    """What leaves a node, less what enters it; 0 where that is the rounding of what passes."""
    leaves, enters = (float(edges[ends == node].sum()) for ends in (graph.tail, graph.head))
    return 0.0 if abs(leaves - enters) <= len(edges) * EPSILON * (abs(leaves) + abs(enters)) else leaves - enters


def _amounts(graph: Graph, edges: FloatArray, node: int, nodes: int, own: int, value: float, sign: float) -> dict[str, float]:
    """What passes each source or sink: all of it where there is one, else what its super edge carries."""
    if node < nodes:
        return {graph.nodes[node]: value}
    inner, outer = (graph.head, graph.tail) if sign > 0 else (graph.tail, graph.head)
    here = own + np.flatnonzero(outer[own:] == node)
    return {graph.nodes[inner[e]]: float(edges[e]) for e in here}


def _cut(graph: Graph, narrow: Graph, found: FloatArray, edges: FloatArray, s: int, t: int) -> tuple[BoolArray, float]:
    """Nodes on the source's side of a minimum cut, and its capacity; refused where it does not prove the flow."""
    side = _reachable(narrow, found, s)
    leaves, enters = side[graph.tail] & ~side[graph.head], ~side[graph.tail] & side[graph.head]
    out, back = float(graph.capacity[leaves].sum()), float(graph.lower[enters].sum())
    value, asked = _net(graph, edges, s), float(np.abs(graph.lower).sum())
    n = len(graph.nodes)
    net = np.bincount(graph.head, weights=edges, minlength=n) - np.bincount(graph.tail, weights=edges, minlength=n)
    net[[s, t]] = 0.0
    off = abs(out - back - value) + float(np.abs(net).sum())  # what is lost on the way counts too
    if side[t] or off > PROVEN * (abs(out) + abs(back)) + len(edges) * EPSILON * asked:
        raise NotConverged(
            f"a flow of {value:g} was found and no cut that proves it, but {out - back:g}: capacities are too far apart"
        )
    return side, out - back


def _in_units(graph: Graph, source: int, sink: int) -> tuple[Graph, float]:
    """The graph in units of its widest path, and that unit. No edge needs more than the max flow, which is at most the widest
    path times the edges, and twice what lower bounds ask for: so edges wider than twice that are narrowed to it, and every
    scale looks the same. An edge that is full only because it was narrowed lies on a cycle that can be emptied, and so is in
    no cut: hence the second *twice*."""
    widest, asked = widest_path(graph, source, sink), float(np.abs(graph.lower).sum())
    unit = max(widest, asked)
    if unit == np.inf:
        return graph, 1.0
    if unit == 0:  # no path and nothing that must flow: all that matters is which edges are open
        return replace(graph, capacity=np.sign(graph.capacity)), 0.0
    most = np.minimum(graph.capacity, 2 * (len(graph.tail) * widest + 2 * asked))
    return replace(graph, capacity=most / unit, lower=graph.lower / unit), unit


def widest_path(graph: Graph, source: int, sink: int) -> float:
    """How much one path from the source can carry to the sink.

    >>> widest_path(Graph.of([("s", "a", 3), ("a", "t", 2), ("s", "t", 1)]), 0, 2)
    2.0
    """
    widths = np.unique(graph.capacity[graph.capacity > 0])
    low, high = 0, len(widths)  # of the widths from low on, none or some have a path; from high on, none
    while low < high:
        middle = (low + high) // 2
        if _reached(graph, graph.capacity >= widths[middle], source)[sink]:
            low = middle + 1
        else:
            high = middle
    return float(widths[low - 1]) if low else 0.0


def _reached(graph: Graph, forward: BoolArray, source: int, back: BoolArray | None = None) -> BoolArray:
    """Nodes at the end of a path over edges, forward and where asked backward."""
    tail, head = graph.tail[forward], graph.head[forward]
    if back is not None:
        tail, head = np.append(tail, graph.head[back]), np.append(head, graph.tail[back])
    n = len(graph.nodes)
    open_edges = sparse.coo_array((np.ones(len(tail)), (tail, head)), shape=(n, n)).tocsr()
    reached = np.zeros(n, dtype=bool)
    reached[csgraph.breadth_first_order(open_edges, source, return_predecessors=False)] = True
    return reached


def _reachable(graph: Graph, edges: FloatArray, source: int) -> BoolArray:
    """Nodes that the source can still send to, forward where there is room and backward where flow can be taken back."""
    room = TIGHT * max(1.0, float(graph.capacity[np.isfinite(graph.capacity)].max(initial=0.0)))
    return _reached(graph, graph.capacity - edges > room, source, edges - graph.lower > room)
