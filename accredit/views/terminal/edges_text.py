"""A flow through a table of edges, in lines of a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from accredit.checks.json_data import round_off
from accredit.views.language.flow_words import edge_name, range_words
from accredit.views.terminal.columns import table
from accredit.views.terminal.screen import clip, fold_all, screen

if TYPE_CHECKING:
    from accredit.flow.graph import Graph
    from accredit.flow.optima import Ranges


def edges_text(
    graph: Graph,
    said: str,
    notes: Sequence[str],
    flow: Sequence[float],
    ranges: Ranges | None = None,
    more: bool = True,
) -> str:
    """What was found, then every edge with its flow and capacity, and where they differ the least and the most."""
    return screen(said, [*fold_all(notes, after=""), *clip(_edges(graph, flow, ranges))], more=more)


def _edges(graph: Graph, flow: Sequence[float], ranges: Ranges | None) -> list[str]:
    """Every edge with its flow and capacity, and where they differ the least and the most over all optimal flows."""
    rows = []
    for e, (f, u) in enumerate(zip(flow, graph.capacity.tolist(), strict=True)):
        row = [edge_name(graph, e), round_off(f), "∞" if u == float("inf") else round_off(u)]
        rows.append(row + (list(range_words(ranges, e)) if ranges is not None else []))
    header = ["edge", "flow", "capacity", *(["least", "most"] if ranges is not None else [])]
    return table(header, rows)
