"""A flow through a table of edges as one page."""

from __future__ import annotations

from collections.abc import Sequence

from accredit.views.engine import render
from accredit.views.numbers import column
from accredit.views.page import page
from accredit.views.parts import bar
from accredit.views.words import sentence


def edges_page(of: str, said: str, edges: Sequence[tuple[str, float, float]]) -> str:
    """What was found in the graph `of`, and every edge as (name, flow, capacity) with a bar of its flow."""
    found, _, proof = said.partition("; ")
    low, high = min([0.0, *(flow for _, flow, _ in edges)]), max([0.0, *(flow for _, flow, _ in edges)])
    flows, rooms = column([flow for _, flow, _ in edges]), column([room for _, _, room in edges])
    rows = [
        (name, a, b, bar(flow, (low, high), (flow, flow))) for (name, flow, _), a, b in zip(edges, flows, rooms, strict=True)
    ]
    body = render("edges", "body", said=sentence(found), proof=sentence(proof), rows=rows)
    return page(f"What flows through {of}?", body, script_of="sorting")
