"""Flows in ordinary graphs, by certificate: cuts, prices, and what several commodities cannot do."""

import gzip
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput, NotConverged
from accredit.flow import graph as graph_module
from accredit.flow.commodities import multi_commodity
from accredit.flow.graph import Graph, graph_flow, least_cost
from accredit.flow.maximum import maximum_flow
from accredit.flow.network import LayeredNetwork, flow_matrix
from tests.wording import refused


def random_graph(rng, nodes=8, edges=24, cost=False):
    rows = []
    for _ in range(edges):
        a, b = rng.choice(nodes, size=2, replace=False)
        low = float(rng.uniform(0, 0.2)) if cost else 0.0
        rows.append((int(a), int(b), low + float(rng.uniform(0, 3)), low, float(rng.normal()) if cost else 0.0))
    return Graph.of([(0, nodes - 1, 0.1), *rows])


def test_every_maximum_flow_meets_its_cut():
    rng = np.random.default_rng(0)
    for _ in range(25):
        graph = random_graph(rng)
        flow = graph_flow(graph, 0, 7)
        assert abs(flow.gap) < 1e-9 and flow.conservation < 1e-9
        assert (flow.edges >= -1e-12).all() and (flow.edges <= graph.capacity + 1e-12).all()
        leaves = flow.edges[graph.tail == graph.node(0)].sum() - flow.edges[graph.head == graph.node(0)].sum()
        assert flow.value == pytest.approx(leaves)  # what leaves the source, not what enters it
        assert "0" in flow.source_side and "7" not in flow.source_side


def test_a_layered_network_is_an_ordinary_graph():
    pytest.importorskip("ortools")
    attention = np.random.default_rng(1).dirichlet(np.ones(3), size=(2, 3))
    network = LayeredNetwork.from_attention(attention)
    matrix, _, _ = flow_matrix(network)
    size = len(matrix)
    graph = Graph.of([(int(i), int(j), matrix[i, j]) for i, j in np.argwhere(matrix > 0)])
    assert graph_flow(graph, size - 1, 0).value == pytest.approx(maximum_flow(network).value)


def test_lower_bounds_are_kept_and_may_contradict():
    graph = Graph.of([("s", "a", 5, 2), ("a", "t", 3), ("a", "s", 9)])
    assert graph_flow(graph, "s", "t").value == pytest.approx(3)
    assert abs(graph_flow(graph, "s", "t").gap) < 1e-9
    with pytest.raises(InvalidInput, match="contradict"):
        least_cost(Graph.of([("a", "b", 5, 2), ("b", "a", 1)]))
    with pytest.raises(InvalidInput, match="unbounded"):
        graph_flow(Graph.of([("s", "t", float("inf"))]), "s", "t")


def test_least_cost_is_proved_by_its_prices():
    rng = np.random.default_rng(2)
    solved = 0
    for _ in range(25):
        graph = random_graph(rng, cost=True)
        try:
            found = least_cost(graph)
        except InvalidInput:
            continue  # its lower bounds contradict each other
        solved += 1
        assert max(found.certificate.values()) < 1e-8
        reduced = graph.cost - graph.incidence @ found.prices
        dual = graph.lower @ np.maximum(reduced, 0) - graph.capacity @ np.maximum(-reduced, 0)
        assert dual == pytest.approx(found.cost)  # no circulation costs less than its prices say
    assert solved >= 3


def test_maximum_flow_is_a_circulation_with_a_return_edge_that_pays():
    graph = random_graph(np.random.default_rng(3))
    value = graph_flow(graph, 0, 7).value
    rows = [(graph.nodes[a], graph.nodes[b], u) for a, b, u in zip(graph.tail, graph.head, graph.capacity, strict=True)]
    assert least_cost(Graph.of([*rows, (7, 0, 1e3, 0, -1)])).cost == pytest.approx(-value)


def test_super_nodes_are_not_several_commodities():
    """Two sources whose edges lead to each other's sinks: super nodes carry 2, the commodities nothing."""
    crossed = [("s1", "t2", 1), ("s2", "t1", 1)]
    joined = Graph.of([*crossed, ("s", "s1", 1), ("s", "s2", 1), ("t1", "t", 1), ("t2", "t", 1)])
    assert graph_flow(joined, "s", "t").value == pytest.approx(2)
    apart = multi_commodity(Graph.of(crossed), [("s1", "t1"), ("s2", "t2")])
    assert apart.value == pytest.approx(0) and abs(apart.gap) < 1e-9


def test_commodities_share_capacity():
    graph = Graph.of([("s1", "m", 2), ("s2", "m", 2), ("m", "n", 3), ("n", "t1", 2), ("n", "t2", 2)])
    found = multi_commodity(graph, [("s1", "t1"), ("s2", "t2")])
    assert found.value == pytest.approx(3) and abs(found.gap) < 1e-9
    assert (found.edges.sum(axis=0) <= graph.capacity + 1e-9).all()
    one = multi_commodity(graph, [("s1", "t1")])
    assert one.value == pytest.approx(graph_flow(graph, "s1", "t1").value)


def test_super_edges_as_wide_as_the_tokens_leave_the_max_flow_and_move_the_centre():
    pytest.importorskip("ortools")
    from accredit.attention import joint_flow

    attention = np.random.default_rng(4).dirichlet(np.ones(5) * 0.5, size=(3, 5))
    plain, wide = joint_flow(attention, outputs=0), joint_flow(attention, outputs=0, super_edges=5)
    network = LayeredNetwork.from_attention(attention, outputs=0)
    assert maximum_flow(network.with_super_edges()).value == pytest.approx(maximum_flow(network).value)
    assert wide.certificate["max_flow"] == pytest.approx(plain.certificate["max_flow"])
    assert 1e-6 < np.abs(plain.credit - wide.credit).max() < 0.1
    half = LayeredNetwork.from_attention(attention, outputs=np.array([0.5, 0, 0, 0, 0]))
    assert half.with_super_edges().supply[0] == half.supply[0]
    with pytest.raises(InvalidInput, match="carry nothing"):
        network.with_super_edges(0)


def test_graphs_are_read_from_tables(tmp_path):
    (tmp_path / "pipes.csv").write_text("from,to,capacity,cost\ns,a,3,1\na,t,2,0\ns,t,1,0\n")
    graph = Graph.read(tmp_path / "pipes.csv")
    assert graph_flow(graph, "s", "t").value == pytest.approx(3)
    assert_allclose(graph.cost, [1, 0, 0])
    (tmp_path / "printed.csv").write_text("from,to,capacity\ns,a,∞\na,t,2\n")
    assert Graph.read(tmp_path / "printed.csv").capacity.tolist() == [np.inf, 2]
    (tmp_path / "wrong.csv").write_text("from,to,width\ns,a,3\n")
    with pytest.raises(InvalidInput, match="from,to,capacity"):
        Graph.read(tmp_path / "wrong.csv")


@pytest.mark.parametrize("name", ["roads.csv", "roads.csv.gz"])
def test_a_file_of_too_many_edges_is_refused_before_it_is_read(tmp_path, monkeypatch, name):
    text = "from,to,capacity\n" + "a,b,1\n" * 9
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    assert len(Graph.read(tmp_path / name).tail) == 9
    monkeypatch.setattr(graph_module, "MOST_EDGES", 8)
    monkeypatch.setattr(graph_module, "read_sheet", lambda path: pytest.fail("it was read"))
    with refused("too-many", "edges"):
        Graph.read(tmp_path / name)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: Graph.of([]), "one or more"),
        (lambda: Graph.of([("a", "b")]), "rows of"),
        (lambda: Graph.of([("a", "b", "x")]), "give a number"),
        (lambda: Graph.of([("a", "b", 1, 2)]), "lower ≤ capacity"),
        (lambda: Graph.of([("a", "b", float("nan"))]), "nan"),
        (lambda: Graph.of([("a", 1.5, 1)]), "whole number"),
        (lambda: Graph.of([("a", "", 1)]), "not empty"),
        (lambda: graph_flow(Graph.of([("a", "b", 1)]), "a", "a"), "two nodes"),
        (lambda: graph_flow(Graph.of([("a", "b", 1)]), "a", "c"), "unknown node 'c'"),
        (lambda: multi_commodity(Graph.of([("a", "b", 1)]), []), "empty"),
        (lambda: multi_commodity(Graph.of([("a", "b", 2, 1)]), [("a", "b")]), "lower bounds"),
    ],
)
def test_bad_graphs_are_named(call, word):
    with pytest.raises(InvalidInput, match=word):
        call()


def exact_flow(edges, source, sink):
    """Augmenting paths in fractions, which do not round."""
    room = {}
    for tail, head, capacity in edges:
        room[tail, head] = room.get((tail, head), Fraction(0)) + Fraction(capacity)
        room.setdefault((head, tail), Fraction(0))
    total = Fraction(0)
    while True:
        came, waiting = {source: None}, [source]
        for node in waiting:
            for (a, b), left in room.items():
                if a == node and left > 0 and b not in came:
                    came[b] = node
                    waiting.append(b)
        if sink not in came:
            return total
        path, node = [], sink
        while came[node] is not None:
            path.append((came[node], node))
            node = came[node]
        most = min(room[edge] for edge in path)
        for a, b in path:
            room[a, b] -= most
            room[b, a] += most
        total += most


@pytest.mark.slow
@pytest.mark.parametrize("decades", [9, 60])
def test_capacities_of_any_scale_give_the_flow_or_are_refused(decades):
    rng = np.random.default_rng(3)
    answered = 0
    for _ in range(40):
        pairs = [(i, j) for i in range(6) for j in range(6) if i != j and rng.random() < 0.5]
        edges = [(str(i), str(j), float(10 ** rng.uniform(-decades, decades))) for i, j in [*pairs, (0, 5)]]
        try:
            flow = graph_flow(Graph.of(edges), "0", "5")
        except NotConverged as refused:
            assert "too far apart" in str(refused)
            continue
        answered += 1
        assert flow.value == pytest.approx(float(exact_flow(edges, "0", "5")), rel=1e-8)
        assert flow.cut == pytest.approx(flow.value, rel=1e-8)
    assert answered >= 30


def test_a_huge_capacity_is_not_infinite_and_a_tiny_cost_is_not_nothing():
    assert graph_flow(Graph.of([("s", "a", 1e20), ("a", "t", 3e20)]), "s", "t").value == pytest.approx(1e20)
    assert least_cost(Graph.of([("a", "b", 1e18, 0, -1e-9), ("b", "a", 1e18)])).cost == pytest.approx(-1e9)


def test_no_path_is_a_flow_of_nothing_whatever_the_capacities():
    """A solver's tolerance is wider than some of these edges; that none leads to the sink is not a matter of tolerance."""
    edges = [("s", "a", 3e-6), ("a", "s", 2e5), ("a", "b", 4e-5), ("b", "a", 9e5), ("t", "b", 7e5), ("b", "t", 0.0)]
    found = graph_flow(Graph.of(edges), "s", "t")
    assert (str(found.value), found.cut, found.gap, found.source_side) == ("0.0", 0.0, 0.0, ("s", "a", "b"))
    assert not found.edges.any()


def net_flow(rows, nodes, source, sink):
    """The largest net flow by a program of one's own: what the sink keeps, where it may also have to give."""
    from scipy.optimize import linprog

    leaves, enters = (np.equal.outer(np.arange(nodes), [row[end] for row in rows]) * 1.0 for end in (0, 1))
    kept = enters - leaves
    inside = [node for node in range(nodes) if node not in (source, sink)]
    bounds = [(low, high) for _, _, high, low in rows]
    return linprog(-kept[sink], A_eq=kept[inside] if inside else None, b_eq=np.zeros(len(inside)), bounds=bounds)


def test_lower_bounds_may_ask_for_more_to_return_than_can_leave():
    back = graph_flow(Graph.of([("s", "t", 1), ("t", "s", 4, 3)]), "s", "t")
    assert back.value == pytest.approx(-2) and back.cut == pytest.approx(-2)
    no_path = graph_flow(Graph.of([("a", "s", 3.7, 2), ("t", "s", 2.4), ("s", "a", 3.0)]), "s", "t")
    assert (no_path.value, no_path.gap) == (0.0, 0.0) and "t" not in no_path.source_side


def test_a_flow_that_must_go_back_has_a_cut_below_zero():
    back = graph_flow(Graph.of([("s", "t", -1, -3)]), "s", "t")
    assert (back.value, back.cut, back.edges.tolist()) == (-1.0, -1.0, [-1.0])


def test_bounds_loops_and_parallel_edges_at_random():
    rng = np.random.default_rng(7)
    statuses = set()
    for _ in range(120):
        nodes = int(rng.integers(2, 7))
        rows = [
            (*map(int, rng.integers(nodes, size=2)), high, min(high, float(rng.integers(-2, 3) * (rng.random() < 0.3))))
            for high in rng.uniform(0, 5, size=int(rng.integers(2, 14))).tolist()
        ]
        rows += [(0, 1, 0.0, 0.0)]  # names both ends
        known = net_flow(rows, nodes, 0, 1)
        statuses.add(known.status)
        graph = Graph.of(rows)
        if known.status == 2:
            with pytest.raises(InvalidInput, match="contradict"):
                graph_flow(graph, 0, 1)
        else:
            found = graph_flow(graph, 0, 1)
            assert found.value == pytest.approx(-known.fun, abs=1e-8) and abs(found.gap) < 1e-7
            assert (graph.lower - 1e-9 <= found.edges).all() and (found.edges <= graph.capacity + 1e-9).all()
    assert statuses == {0, 2}


def tampered(x, how):
    """A wrong answer: nothing flows, some is lost on the way, too much flows, too little is said to arrive."""
    wrong = {"nothing": 0 * x, "lost": x + 0.3 * (np.arange(len(x)) == 0), "too much": 1.2 * x, "too little": x.copy()}
    wrong["too little"][-1] *= 0.9
    return wrong[how]


@pytest.mark.parametrize("how", ["nothing", "lost", "too much", "too little"])
@pytest.mark.parametrize(
    "solve",
    [
        lambda: graph_flow(Graph.of(PIPES), "s", "t"),
        lambda: multi_commodity(Graph.of(PIPES), [("s", "t"), ("a", "b")]),
        lambda: least_cost(Graph.of([("a", "b", 4, 1, 0), ("b", "a", 9, 2, 0), ("b", "a", 3, 1, -1)])),
    ],
    ids=["flow", "commodities", "cost"],
)
def test_certificates_refuse_wrong_answers(monkeypatch, solve, how):
    import scipy.optimize

    solve()
    honest = scipy.optimize.linprog

    def lying(cost, **given):
        found = honest(cost, **given)
        found["x"] = tampered(np.array(found.x), how)
        found["fun"] = float(cost @ found.x)
        return found

    monkeypatch.setattr(scipy.optimize, "linprog", lying)
    with pytest.raises(NotConverged):
        solve()


PIPES = [("s", "a", 3), ("s", "b", 2), ("a", "b", 1), ("a", "t", 2), ("b", "t", 3)]


@pytest.mark.parametrize("unit", [1e-300, 1e-12, 1e12, 1e100])
def test_several_commodities_in_capacities_of_any_size(unit):
    """A solver's tolerance is 1e-10: through pipes of 1e-12 it sent a sixth more than they hold, and called it proved."""
    graph = Graph.of([(a, b, unit * wide) for a, b, wide in PIPES])
    found = multi_commodity(graph, [("s", "t"), ("a", "b")])
    assert found.value == pytest.approx(5 * unit) and found.edges.sum(axis=0).max() <= 3 * unit * (1 + 1e-9)
    wide = Graph.of([*((a, b, wide) for a, b, wide in PIPES), ("x", "y", 1e15), ("y", "x", float("inf"))])
    assert multi_commodity(wide, [("s", "t"), ("a", "b")]).value == pytest.approx(5)
    with pytest.raises(InvalidInput, match="unbounded"):
        multi_commodity(wide, [("s", "t"), ("y", "x")])
    with pytest.raises(InvalidInput, match="name two nodes"):
        multi_commodity(wide, [("s", "t"), ("y", "y")])
