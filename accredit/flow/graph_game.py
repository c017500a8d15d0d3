"""The flow of an ordinary graph as a cooperative game: edges, nodes, sources or sinks earn the flow they can carry."""

from __future__ import annotations

from collections import Counter
from typing import Literal, get_args

import numpy as np
from scipy import sparse

from accredit.checks.arguments import check_arguments
from accredit.core import BoolArray, FloatArray, IntArray, check_players
from accredit.core.coalitions import unique
from accredit.core.game import check_coalitions
from accredit.errors import InvalidInput
from accredit.flow.graph import Ends, Graph, graph_flow, join_ends
from accredit.flow.maximum import CAPACITIES_AT_ONCE
from accredit.flow.network import from_units, in_units, integer_shift
from accredit.flow.solver import simple_max_flow, solve_all

GraphPlayers = Literal["edges", "nodes", "sources", "sinks"]


class GraphFlowGame:
    """v(S) = max flow when, of the edges, nodes, sources or sinks that play, only those of S are open.

    The flow is solved anew for every coalition. So its Shapley value is unique whether or not the flow is, and shares the whole
    flow; `accredit.games.grouped` merges players. For sources, or sinks, v is submodular and the value is what some maximum
    flow sends through them; for edges and nodes it need not be, because what is in series is complementary.

    >>> pipes = Graph.of([("s", "a", 1), ("s", "b", 1), ("a", "t", 1), ("b", "t", 3)])
    >>> game = GraphFlowGame(pipes, "s", "t", players="nodes")
    >>> game.players, game.payoff(np.array([[True, False], [True, True]]))
    (('a', 'b'), array([1., 2.]))
    """

    @check_arguments
    def __init__(self, graph: Graph, source: Ends, sink: Ends, *, players: GraphPlayers | str = "edges") -> None:
        if players not in get_args(GraphPlayers):
            raise InvalidInput(
                f"players is {players!r}; write one of {', '.join(map(repr, get_args(GraphPlayers)))}",
                argument="players",
                code="unknown",
            )
        if (graph.lower != 0).any():
            raise InvalidInput(
                "GraphFlowGame takes no lower bounds: an edge that is closed cannot keep one; leave them at 0",
                argument="graph",
                code="unsupported",
            )
        whole = graph_flow(graph, source, sink)
        joined, self._source, self._sink = join_ends(graph, source, sink)
        self._capacity = np.minimum(joined.capacity, whole.value)  # no flow needs more on any edge
        self._shift = integer_shift(float(self._capacity.sum()) or 1.0)
        names, arcs, members = _roles(graph, joined, players, (self._source, self._sink))
        self._players = check_players(names)
        self._needs = sparse.csr_array((np.ones(len(arcs)), (arcs, members)), shape=(len(joined.tail), len(names)))
        self._arcs = np.unique(arcs)
        self._solver = simple_max_flow()
        self._numbers = self._solver.add_arcs_with_capacity(
            joined.tail.astype(np.int32), joined.head.astype(np.int32), in_units(self._capacity, self._shift)
        )

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        distinct, index = unique(check_coalitions(coalitions, len(self._players)))
        rows = max(1, CAPACITIES_AT_ONCE // max(1, len(self._arcs)))
        parts = [self._values(part) for part in np.split(distinct, range(rows, len(distinct), rows))]
        return np.asarray(np.concatenate(parts)[index])

    def _values(self, present: BoolArray) -> FloatArray:
        is_open = (self._needs[self._arcs] @ (~present.T * 1.0) == 0).T  # (batch, arcs)
        units = in_units(self._capacity[self._arcs] * is_open, self._shift)
        return from_units(solve_all(self._solver, self._source, self._sink, self._numbers[self._arcs], units), self._shift)


def _roles(graph: Graph, joined: Graph, players: str, ends: tuple[int, int]) -> tuple[list[str], IntArray, IntArray]:
    """Names of the players; and which edges need which of them, as two lists."""
    own = len(graph.tail)
    if players == "edges":
        return _edge_names(graph), np.arange(own), np.arange(own)
    if players == "nodes":
        inner = [v for v in range(len(graph.nodes)) if v not in ends]
        place = np.full(len(joined.nodes), -1)
        place[inner] = np.arange(len(inner))
        arcs = np.tile(np.arange(len(joined.tail)), 2)
        members = np.concatenate([place[joined.tail], place[joined.head]])
        return _named([graph.nodes[v] for v in inner], players), arcs[members >= 0], members[members >= 0]
    outer, inner_ends = (joined.tail, joined.head) if players == "sources" else (joined.head, joined.tail)
    arcs = own + np.flatnonzero(outer[own:] == ends[players == "sinks"])
    return _named([graph.nodes[v] for v in inner_ends[arcs]], players), arcs, np.arange(len(arcs))


def _named(names: list[str], players: str) -> list[str]:
    if not names:
        raise InvalidInput(
            f"players={players!r} leaves nobody to play: there are no {players} but one; name several, or let the edges play",
            argument="players",
            code="empty",
        )
    return names


def _edge_names(graph: Graph) -> list[str]:
    """`a → b`, and `a → b (2)` for the second of its kind."""
    seen: Counter[tuple[int, int]] = Counter()
    names = []
    for a, b in zip(graph.tail.tolist(), graph.head.tolist(), strict=True):
        seen[a, b] += 1
        again = f" ({seen[a, b]})" if seen[a, b] > 1 else ""
        names.append(f"{graph.nodes[a]} → {graph.nodes[b]}{again}")
    return names
