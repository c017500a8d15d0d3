"""One flow out of many on any graph: rules, verdicts and ranges against general solvers, and what cannot be had, in words."""

from itertools import islice, pairwise, repeat

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from accredit.errors import InvalidInput, MissingExtra, NotConverged
from accredit.flow import LayeredNetwork, unique_flow
from accredit.flow import graph as graph_module
from accredit.flow.graph import MOST_EDGES, Graph, graph_flow, layers_as_graph, least_cost
from accredit.flow.interior import interior_point
from accredit.flow.optima import bridges
from accredit.views.language.flow_words import verdict
from tests.wording import refused
from tools.proof import ordinary_graphs
from tools.proof.ordinary_graphs import KINDS, drawn_problem, faults_of

TWO_WAYS = [("s", "a", 2), ("s", "b", 2), ("a", "m", 2), ("b", "m", 2), ("m", "t", 3)]
INFINITE = float("inf")


@pytest.mark.slow
@pytest.mark.parametrize("k", range(len(KINDS)), ids=KINDS)
def test_every_rule_verdict_and_range_agrees_with_dense_programs(k):
    assert faults_of(k)[2] == []


@pytest.mark.slow
def test_the_reference_finds_a_wrong_answer(monkeypatch):
    """A flow off the centre, a range too wide, a verdict turned round: each is a fault."""
    k = KINDS.index("equal supplies") + 2 * len(KINDS)
    assert faults_of(k)[2] == [] and not drawn_problem(k).solve("none").unique
    honest = ordinary_graphs.least_cost

    def moved(*given, **asked):
        found = honest(*given, **asked)
        if asked["rule"] != "none":  # along a cycle of optimal flows, so that it stays a flow
            found.chosen.edges[:] += 0.1 * (found.another - found.optima.edges)
        else:
            found.optima.edges[:] = found.another  # no vertex: fewer edges move by as much
            found.optima.__dict__["free"] = ~found.optima.free
        return found

    monkeypatch.setattr(ordinary_graphs, "least_cost", moved)
    said = " ".join(faults_of(k)[2])
    assert "none: says free" in said and "barrier: is" in said and "l2: f·f" in said


def test_whole_numbers_and_the_simplex_method_leave_the_same_flows(monkeypatch):
    """A flow of many edges begins with a solver of whole numbers: face, verdict and choice are those of a corner."""
    pytest.importorskip("ortools")
    rng = np.random.default_rng(4)
    ends, widths = rng.integers(60, size=(2, 400)), rng.uniform(0, 3, 400)
    streets = Graph.of([(int(a), int(b), u) for a, b, u in zip(*ends, widths, strict=True)] + [(0, 7, np.inf), (3, 59, 1e-9)])
    corner = graph_flow(streets, 0, 59)
    monkeypatch.setattr(graph_module, "MANY_EDGES", 0)
    asked = list[bool]()
    honest = graph_module._of_whole_numbers
    monkeypatch.setattr(graph_module, "_of_whole_numbers", lambda *a: (found := honest(*a), asked.append(found is not None))[0])
    assert graph_flow(streets, 0, 59).edges.tolist() == corner.edges.tolist() and asked == []  # a corner is a corner
    for rule in ("barrier", "l2", "l1"):
        quick = graph_flow(streets, 0, 59, rule=rule)
        monkeypatch.setattr(graph_module, "MANY_EDGES", 10**9)
        slow = graph_flow(streets, 0, 59, rule=rule)
        monkeypatch.setattr(graph_module, "MANY_EDGES", 0)
        assert quick.value == pytest.approx(slow.value, abs=1e-9) and quick.source_side == slow.source_side
        assert_allclose(quick.edges, slow.edges, atol=1e-6)
        assert (quick.free == slow.free).all() and (quick.held == slow.held).all()
        assert quick.leeway == pytest.approx(slow.leeway, abs=1e-12)
    assert asked == [True, False] * 3


@pytest.mark.parametrize("rule", ["barrier", "l2"])
def test_layers_are_a_graph_like_any_other(rule):
    pytest.importorskip("ortools")
    attention = np.random.default_rng(2).dirichlet(np.ones(4), size=(3, 4))
    network = LayeredNetwork.from_attention(attention, outputs=[0, 2])
    layered = unique_flow(network, rule)
    found = graph_flow(*layers_as_graph(network), rule=rule)
    assert_allclose(found.edges, layered.edges.ravel(), atol=1e-6)
    assert found.sinks == pytest.approx({f"0 {j}": x for j, x in enumerate(layered.demand)}, abs=1e-6)
    assert found.sources == pytest.approx({f"3 {i}": layered.supply[i] for i in (0, 2)}, abs=1e-6)


@pytest.mark.parametrize("rule", ["none", "barrier", "l2", "l1"])
def test_a_layered_network_is_solved_through_the_same_door(rule):
    pytest.importorskip("ortools")
    rng = np.random.default_rng(5)
    for outputs in ([0, 2], None):
        attention = rng.dirichlet(np.ones(4), size=(3, 4))
        network = LayeredNetwork.from_attention(attention, outputs=outputs)
        quick, plain = graph_flow(network, rule=rule), graph_flow(*layers_as_graph(network), rule=rule)
        assert quick.value == pytest.approx(plain.value, abs=1e-6) and quick.cut == pytest.approx(plain.cut)
        assert quick.unique == plain.unique and (quick.free == plain.free).all() and (quick.held == plain.held).all()
        assert quick.singled_out == plain.singled_out and max(quick.certificate.values()) < 1e-5
        assert_allclose(quick.ranges().bounds, plain.ranges().bounds, atol=1e-9)
        if rule in ("barrier", "l2"):
            assert_allclose(quick.edges, plain.edges, atol=1e-6)


def test_the_door_of_layers_has_its_own_ends():
    network = LayeredNetwork.from_attention(np.full((1, 2, 2), 0.5))
    with refused("conflict", "source"):
        graph_flow(network, "1 0", "0 0")
    with refused("missing", "sink"):
        graph_flow(Graph.of([("s", "t", 1)]), "s")


@pytest.mark.slow
def test_least_squares_as_clarabel_finds_them():
    clarabel = pytest.importorskip("clarabel")  # by itself: cvxpy would load a HiGHS that shuts OR-tools out of this process
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    rng = np.random.default_rng(4)
    for _ in range(5):
        pairs = rng.integers(12, size=(60, 2))
        graph = Graph.of(
            [
                (int(a), int(b), float(u), 0.0, float(c))
                for (a, b), u, c in zip(pairs, rng.random(60), rng.integers(3, size=60), strict=True)
            ]
        )
        supplies = {int(pairs[0, 0]): 0.1, int(pairs[1, 1]): -0.1}
        if len(supplies) < 2:
            continue
        try:
            found = least_cost(graph, supplies=supplies, rule="l2")
        except InvalidInput:
            continue
        enters = np.array([-supplies.get(int(v), 0.0) for v in graph.nodes])
        rows = sparse.vstack([graph.incidence.T, -sparse.eye_array(60), sparse.eye_array(60), graph.cost[None]]).tocsc()
        most = np.concatenate([enters, np.zeros(60), graph.capacity, [found.cost + 1e-9]])
        cones = [clarabel.ZeroConeT(len(enters)), clarabel.NonnegativeConeT(121)]
        squares = sparse.csc_matrix(sparse.eye_array(60))
        flow = clarabel.DefaultSolver(squares, np.zeros(60), sparse.csc_matrix(rows), most, cones, settings).solve()
        assert flow.status == clarabel.SolverStatus.Solved
        assert_allclose(found.edges, flow.x, atol=1e-4)


def test_one_of_many_and_the_only_one():
    many = graph_flow(Graph.of(TWO_WAYS), "s", "t")
    assert not many.unique and not many.singled_out
    assert many.free.tolist() == [True, True, True, True, False]
    assert many.another is not None and set(many.cycle) == {0, 1, 2, 3}
    assert_allclose(many.ranges().bounds, [[1, 2]] * 4 + [[3, 3]])
    narrow = graph_flow(Graph.of([*TWO_WAYS[:4], ("m", "t", 4)]), "s", "t")
    assert narrow.unique and narrow.singled_out and narrow.another is None and narrow.cycle == ()
    assert_allclose(narrow.ranges().bounds, [[2, 2]] * 4 + [[4, 4]])


def test_the_only_one_is_meant_to_a_leeway_that_holds_and_is_said():
    """Forty narrow ways back, none of them wide enough to count: the wide edge can move by all of them together."""
    narrow, ways = 0.9e-9, 40
    rows = [("s", "a", 1.0), ("a", "b", 2.0), ("b", "t", 1.0), *[("b", "a", narrow)] * ways]
    found = graph_flow(Graph.of(rows), "s", "t")
    reach = ways * narrow
    assert found.unique and reach <= found.leeway <= reach * (1 + 1e-6)
    assert "only one maximum flow to 4e-08" in verdict(found, Graph.of(rows), 1e-6)[0]
    plain = graph_flow(Graph.of(rows[:3]), "s", "t")
    assert plain.unique and plain.leeway == 0 and verdict(plain, Graph.of(rows[:3]), 1e-6)[0].endswith("and this is it.")
    wide = [(*row[:2], 1e-8) if row[:2] == ("b", "a") else row for row in rows]
    assert not graph_flow(Graph.of(wide), "s", "t").unique


def test_least_sum_takes_the_shorter_way_and_may_leave_a_choice():
    long_and_short = Graph.of([("s", "t", 1), ("s", "a", 1), ("a", "t", 1), ("t", "u", 1)])
    short = graph_flow(long_and_short, "s", "u", rule="l1")
    assert short.edges.tolist() == [1, 0, 0, 1] and short.singled_out and not short.unique
    tied = graph_flow(Graph.of(TWO_WAYS), "s", "t", rule="l1")
    assert not tied.singled_out
    assert graph_flow(Graph.of(TWO_WAYS), "s", "t", rule="l2").singled_out


def test_the_cheapest_of_all_maximum_flows():
    dear = Graph.of([("s", "a", 2, 0, 5), ("s", "b", 2, 0, 1), ("a", "m", 2), ("b", "m", 2), ("m", "t", 3)])
    found = graph_flow(dear, "s", "t", cheapest=True)
    assert found.value == 3 and found.edges.tolist() == [1, 2, 1, 2, 3] and found.unique
    assert found.cost == pytest.approx(7)


@pytest.mark.parametrize("epsilon", [1e-2, 1e-4, 1e-6])
def test_the_barrier_loses_no_more_than_epsilon(epsilon):
    """A circulation whose optimum is a corner: every bound costs its share."""
    trade = Graph.of([("a", "b", 4, 1, -3), ("b", "c", 9, 0, 1), ("c", "a", 5, 2, 0.5), ("b", "a", 2)])
    best, found = least_cost(trade).cost, least_cost(trade, rule="barrier", epsilon=epsilon)
    assert 0 < found.cost - best <= epsilon and found.cost - best > epsilon / 100
    assert found.certificate["gap"] <= epsilon and found.certificate["conservation"] < 1e-9


def test_edges_on_no_path_are_held_and_reported():
    graph = Graph.of([*TWO_WAYS, ("x", "y", 2), ("m", "dead", 1), ("s", "a", 0), ("alone", "alone", 0)])
    found = graph_flow(graph, "s", "t", rule="barrier")
    assert found.held.tolist() == [False] * 5 + [True] * 4
    assert_allclose(found.edges, [1.5, 1.5, 1.5, 1.5, 3, 0, 0, 0, 0], atol=1e-5)


def test_what_has_no_limit_and_costs_nothing_has_no_centre():
    spinning = Graph.of([("s", "t", 1), ("a", "b", INFINITE), ("b", "a", INFINITE)])
    with pytest.raises(InvalidInput, match="a, b") as refused:
        graph_flow(spinning, "s", "t", rule="barrier")
    assert (refused.value.argument, refused.value.code) == ("rule", "undefined")
    assert graph_flow(spinning, "s", "t", rule="l2").edges.tolist() == [1, 0, 0]
    assert graph_flow(spinning, "s", "t").ranges().bounds[1].tolist() == [0, INFINITE]


def test_a_contradiction_comes_with_the_cut_that_proves_it():
    graph = Graph.of([("s", "a", 5, 4), ("a", "b", 3), ("b", "t", 9), ("t", "s", 9)])
    with refused("conflict", has=" 4 must enter"):
        least_cost(graph)
    with refused("conflict", has="2 must enter"):
        least_cost(Graph.of([("s", "t", 1)]), supplies={"s": 2, "t": -2})


@pytest.mark.parametrize(
    ("call", "argument", "code"),
    [
        (lambda g: graph_flow(g, "s", "t", rule="entropy"), "rule", "unknown"),
        (lambda g: graph_flow(g, "s", "t", rule="barrier", epsilon=0), "epsilon", "range"),
        (lambda g: graph_flow(g, "s", "t", rule="barrier", epsilon=1e-14), "epsilon", "range"),
        (lambda g: graph_flow(g, "s", "t", rule="l2", epsilon=1e-4), "epsilon", "misplaced"),
        (lambda g: least_cost(g, epsilon=1e-4), "epsilon", "misplaced"),
        (lambda g: graph_flow(g, ["s", "a"], ["a", "t"]), "source", "duplicate"),
        (lambda g: graph_flow(g, [], "t"), "source", "empty"),
        (lambda g: graph_flow(g, {"s": -1}, "t"), "source", "range"),
        (lambda g: least_cost(g, supplies={"s": 1}), "supplies", "conflict"),
        (lambda g: Graph.of([("s", "t", -1)]), "edges", "range"),
        (lambda g: Graph.of([("s", "t", float("nan"))]), "edges", "range"),
        (lambda g: Graph.of([("s", "a", 1), ("a", "t", None)]), "edges", "type"),
        (lambda g: Graph.of([("s", "t", "3")]), "edges", "type"),
        (lambda g: Graph.of([("s", "t", 1e200)]), "edges", "range"),
        (lambda g: Graph.of([("s", "t", 1, -INFINITE)]), "edges", "range"),
        (lambda g: Graph.of([("s", "t", 1, 2)]), "edges", "range"),
        (lambda g: Graph.of([("s", "t", 1, 0, INFINITE)]), "edges", "range"),
        (lambda g: Graph.of(islice(repeat(("a", "b", 1)), MOST_EDGES + 1)), "edges", "too-many"),
    ],
)
def test_what_cannot_be_had_is_said(call, argument, code):
    with pytest.raises(InvalidInput) as refused:
        call(Graph.of(TWO_WAYS))
    assert (refused.value.argument, refused.value.code) == (argument, code)


def test_ranges_stop_when_their_time_is_up_and_say_so():
    ladder = [(i, i + 1, 1.0) for i in range(40)] + [(i, i + 1, 1.0) for i in range(40)]
    found = graph_flow(Graph.of([*ladder, (40, 41, 1.0)]), 0, 41)
    ranges = found.ranges(seconds=0.0)
    assert 0 < int((~ranges.exact).sum()) < 80 and "outer bounds" in str(ranges)
    assert (ranges.bounds[~ranges.exact] == [0, 1]).all() and found.free.sum() == 80
    assert found.ranges().exact.all() and "all 81" in str(found.ranges())


def test_ranges_are_the_same_without_or_tools(monkeypatch):
    pytest.importorskip("ortools")
    from accredit.flow import optima

    rows = [*TWO_WAYS, ("a", "b", 1), ("t", "s", INFINITE), ("b", "a", INFINITE), ("a", "s", INFINITE)]
    fast = graph_flow(Graph.of(rows), "s", "t").ranges().bounds

    def missing():
        raise MissingExtra("ortools", "flow", "exact max flow")

    monkeypatch.setattr(optima, "simple_max_flow", missing)
    assert_allclose(graph_flow(Graph.of(rows), "s", "t").ranges().bounds, fast, atol=1e-9)


def test_bridges_as_networkx_finds_them():
    networkx = pytest.importorskip("networkx")
    rng = np.random.default_rng(5)
    for _ in range(50):
        n, m = int(rng.integers(2, 20)), int(rng.integers(1, 30))
        tail, head = rng.integers(n, size=(2, m))
        graph = networkx.MultiGraph()
        graph.add_nodes_from(range(n))
        graph.add_edges_from(zip(tail.tolist(), head.tolist(), strict=True))
        single = {frozenset(edge) for edge in networkx.bridges(networkx.Graph(graph))}
        count = [
            sum({int(a), int(b)} == {int(c), int(d)} for c, d in zip(tail, head, strict=True))
            for a, b in zip(tail, head, strict=True)
        ]
        expected = [frozenset((int(a), int(b))) in single and c == 1 for a, b, c in zip(tail, head, count, strict=True)]
        assert bridges(n, tail, head).tolist() == expected


def test_renaming_nodes_and_shuffling_edges_move_nothing():
    rng = np.random.default_rng(6)
    rows = [(int(a), int(b), float(u)) for (a, b), u in zip(rng.integers(10, size=(40, 2)), rng.random(40), strict=True)]
    order, names = rng.permutation(40), rng.permutation(10)
    moved = [(f"n{names[rows[k][0]]}", f"n{names[rows[k][1]]}", rows[k][2]) for k in order]
    for rule in ("barrier", "l2"):
        here = graph_flow(Graph.of(rows), 0, 9, rule=rule).edges
        there = graph_flow(Graph.of(moved), f"n{names[0]}", f"n{names[9]}", rule=rule).edges
        assert_allclose(there, here[order], atol=1e-7)


@pytest.mark.slow
def test_a_long_path_and_a_graph_that_fills_are_solved_alike():
    """One by factors, the other by conjugate gradients: certificates hold for both."""
    rng = np.random.default_rng(7)
    path = [(i, i + 1, 1.0 + rng.random()) for i in range(3000)] + [(i, i + 2, rng.random()) for i in range(2999)]
    found = graph_flow(Graph.of(path), 0, 3000, rule="barrier")
    assert found.certificate["conservation"] < 1e-9 and 0 <= found.gap <= 1e-6
    ends = rng.integers(2500, size=(10_000, 2))
    dense = Graph.of(
        [
            (int(a), int(b), float(u), 0.0, float(c))
            for (a, b), u, c in zip(ends, rng.random(10_000), rng.normal(size=10_000), strict=True)
        ]
    )
    found = least_cost(dense, rule="barrier")
    assert found.certificate["gap"] <= 1e-6 and found.certificate["conservation"] < 1e-9
    assert found.certificate["rule_residual"] < 1e-2


def test_a_path_that_does_not_arrive_is_not_called_a_flow():
    """No flow lies strictly between these bounds: the central path does not exist."""
    ends = np.array([0, 1]), np.array([1, 0])
    with pytest.raises(NotConverged):
        interior_point(ends, (np.zeros(2), np.array([1.0, 1.0])), np.zeros(2), np.array([-3.0, 3.0]), mu=1e-6)


def test_wide_graphs_are_walked_in_time_that_grows_with_their_edges():
    """A path of many edges took one pass over all edges for each of its nodes."""
    rows = [(a, b, 2.0) for a, b in pairwise(range(8_000))]
    assert graph_flow(Graph.of(rows), 0, 7_999).value == pytest.approx(2)


@pytest.mark.slow
def test_a_trickle_between_wide_edges_is_not_lost_in_their_rounding():
    """Capacities of 1e-9 beside 1e9: nothing was conserved, and the proof allowed for it. Reference: whole numbers."""
    networkx = pytest.importorskip("networkx")
    for seed in range(12):
        rng = np.random.default_rng([8, seed])
        ends = [(int(a), int(b)) for a, b in rng.integers(8, size=(24, 2)) if a != b]
        whole = [int(x) for x in np.where(rng.random(len(ends)) < 0.5, 1, 10**18) * rng.integers(1, 5, len(ends))]
        cost = [int(c) for c in rng.integers(-3, 4, len(ends))]
        exact = networkx.MultiDiGraph()
        for (a, b), u, c in zip(ends, whole, cost, strict=True):
            exact.add_edge(a, b, capacity=u, weight=c)
        graph = Graph.of([(a, b, u * 1e-9, 0, c) for (a, b), u, c in zip(ends, whole, cost, strict=True)])
        least = networkx.network_simplex(exact)[0] * 1e-9
        for rule in ("none", "l1"):
            found = least_cost(graph, rule=rule)
            size = float(found.edges.max()) or 1.0
            assert found.cost == pytest.approx(least, abs=1e-7 * size)
            assert found.certificate["conservation"] <= 1e-8 * size


def test_the_range_of_a_wide_edge_is_what_narrow_ones_leave_it():
    """Whole numbers that hold 2e9 have no digits for 1e-9."""
    graph = Graph.of([("s", "a", 4e-9), ("a", "t", 2e9), ("a", "b", 1e9), ("b", "t", 3e-9), ("b", "a", 2e9)])
    assert_allclose(graph_flow(graph, "s", "t").ranges().bounds[1:3] * 1e9, [[1, 4], [0, 1e18]], atol=1e-6, rtol=1e-6)


def test_least_squares_where_a_step_ends_exactly_on_a_bound():
    """Roads without limit between three mines and two mills: a full step took an edge to 0, and its logarithm with it."""
    costs = [(3, 2, 1, 0), (0, 0, 0, 0), (1, 3, 1, 3)]
    limits = [(i, j, INFINITE, 0, c) for i, row in enumerate(costs) for j, c in enumerate(row, 3)]
    found = least_cost(Graph.of(limits), supplies={0: 1, 1: 2, 2: 4, 3: -5, 5: -2}, rule="l2")
    assert_allclose(found.edges, [0, 0, 1, 0, 2, 0, 0, 0, 3, 0, 1, 0], atol=1e-7)


def test_least_squares_fit_their_prices_to_the_last_digit():
    side = 12
    rng = np.random.default_rng(0)
    at = np.arange(side * side).reshape(side, side)
    ends = [*zip(at[:, :-1].flat, at[:, 1:].flat, strict=True), *zip(at[:-1].flat, at[1:].flat, strict=True)]
    ways = [(a, b) if forward else (b, a) for (a, b), forward in zip(ends, rng.random(len(ends)) < 0.7, strict=True)]
    streets = Graph.of([(int(a), int(b), u) for (a, b), u in zip(ways, rng.random(len(ways)), strict=True)])
    found = graph_flow(streets, 0, side * side - 1, rule="l2")
    # turns of one-way streets that carry nothing are at a bound without force, where a central path ends √μ away
    assert not found.unique and found.certificate["rule_residual"] <= 1e-14 and found.conservation <= 1e-11


def test_what_only_turns_is_no_flow():
    turning = Graph.of([("s", "a", 1), ("a", "s", 1), ("s", "a", 1), ("b", "t", 3)])
    assert graph_flow(turning, "s", "t", rule="barrier").value == 0


def test_cycles_that_carry_nothing_carry_nothing_at_all() -> None:
    """The vertex goes round cycles that cost nothing. What arithmetic leaves of them was too much for an empty flow."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        tail, head = rng.integers(0, 8, size=(2, 30))
        apart = tail != head
        graph = Graph.of([(int(u), int(v), 7.3, -5.1) for u, v in zip(tail[apart], head[apart], strict=True)])
        assert not any(least_cost(graph, rule=rule).edges.any() for rule in ("l2", "l1"))
    for k in (5144, 5196, 5222):  # l1 was refused: an edge of 1e-16 was left
        assert not drawn_problem(k).solve("l1").edges.any()
