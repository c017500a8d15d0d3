"""A flow through a table of edges as one page."""

from __future__ import annotations

from collections.abc import Sequence

from accredit.core.plain import rounded
from accredit.views.engine import render
from accredit.views.page import page
from accredit.views.parts import bar
from accredit.views.words import sentence


def edges_page(title: str, said: str, edges: Sequence[tuple[str, float, float]]) -> str:
    """What was found, and every edge as (name, flow, capacity) with a bar of its flow."""
    found, _, proof = said.partition("; ")
    low, high = min([0.0, *(flow for _, flow, _ in edges)]), max([0.0, *(flow for _, flow, _ in edges)])
    rows = [(name, rounded(flow), rounded(room), bar(flow, (low, high), (flow, flow))) for name, flow, room in edges]
    body = render("edges", "body", said=sentence(found), proof=sentence(proof), rows=rows)
    return page(title, body, script_of="sorting")
