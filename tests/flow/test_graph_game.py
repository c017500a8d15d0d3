"""Flow shared among edges, nodes, sources or sinks: the game is the flow, solved again for every coalition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core.coalitions import from_index
from accredit.errors import InvalidInput
from accredit.evaluate import check_claims
from accredit.flow.graph import Graph, graph_flow
from accredit.values import Permutations, shapley

pytest.importorskip("ortools")
from accredit.flow.graph_game import GraphFlowGame

ROWS = [("s", "a", 3), ("s", "b", 2), ("a", "b", 1), ("a", "t", 2), ("b", "t", 3.5), ("s", "a", 0.5), ("b", "s", 9)]


def closed(rows, absent):
    """The flow by another solver, with some edges taken out."""
    left = [row for k, row in enumerate(rows) if k not in absent]
    return graph_flow(Graph.of([*left, ("s", "t", 0), ("a", "b", 0)]), "s", "t").value


@pytest.mark.slow
def test_every_coalition_earns_its_max_flow():
    game = GraphFlowGame(Graph.of(ROWS), "s", "t")
    assert game.players[0] == "s → a" and game.players[5] == "s → a (2)"
    every = from_index(np.arange(128), 7)
    assert_allclose(game.payoff(every), [closed(ROWS, np.flatnonzero(~row)) for row in every], atol=1e-9)
    nodes = GraphFlowGame(Graph.of(ROWS), "s", "t", players="nodes")
    assert nodes.players == ("a", "b")
    touches = [{k for k, row in enumerate(ROWS) if name in row[:2]} for name in "ab"]
    wanted = [closed(ROWS, set().union(*(touches[i] for i in range(2) if not row[i]))) for row in from_index(np.arange(4), 2)]
    assert_allclose(nodes.payoff(from_index(np.arange(4), 2)), wanted, atol=1e-9)


def test_the_value_keeps_its_claims_and_an_estimate_covers_it():
    game = GraphFlowGame(Graph.of(ROWS), "s", "t")
    exact = shapley(game)
    check_claims(exact, game)
    assert exact["b → s"] == pytest.approx(0) and exact.credit.sum() == pytest.approx(5)  # 3 pass a, 2 pass b alone
    estimate = Permutations(budget=2000, seed=0).solve(game)
    assert (np.abs(estimate.credit - exact.credit) <= 6 * estimate.stderr + 1e-9).all()


def test_what_sources_are_worth_is_a_flow_of_its_own():
    """For sources the game is submodular, so its Shapley value is what some maximum flow takes from them."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        rows = [(int(a), int(b), float(u)) for (a, b), u in zip(rng.integers(8, size=(24, 2)), rng.random(24), strict=True)]
        graph = Graph.of([*rows, *((v, v, 0) for v in range(8))])
        worth = shapley(GraphFlowGame(graph, [0, 1, 2], [6, 7], players="sources"))
        capped = graph_flow(graph, {k: float(c) + 1e-12 for k, c in zip((0, 1, 2), worth.credit, strict=True)}, [6, 7])
        assert capped.value == pytest.approx(worth.total, abs=1e-9)


def test_capacities_without_a_limit_play_too():
    endless = Graph.of([("s", "a", float("inf")), ("a", "t", 2), ("s", "t", 1)])
    assert_allclose(shapley(GraphFlowGame(endless, "s", "t")).credit, [1, 1, 1])


@pytest.mark.parametrize(
    ("make", "argument", "code"),
    [
        (lambda: GraphFlowGame(Graph.of([("s", "t", 2, 1)]), "s", "t"), "graph", "unsupported"),
        (lambda: GraphFlowGame(Graph.of(ROWS), "s", "t", players="pipes"), "players", "unknown"),
        (lambda: GraphFlowGame(Graph.of(ROWS), "s", "t", players="sources"), "players", "empty"),
        (lambda: GraphFlowGame(Graph.of([("s", "t", 1)]), "s", "t", players="nodes"), "players", "empty"),
    ],
)
def test_what_is_not_a_game_is_refused(make, argument, code):
    with pytest.raises(InvalidInput) as refused:
        make()
    assert (refused.value.argument, refused.value.code) == (argument, code)
