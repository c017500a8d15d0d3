"""A flow through a table of edges as one page."""

from __future__ import annotations

from collections.abc import Sequence

from accredit.views.engine import render
from accredit.views.numbers import column
from accredit.views.page import page
from accredit.views.parts import bar
from accredit.views.words import sentence


def edges_page(
    of: str,
    said: str,
    edges: Sequence[tuple[str, float, float]],
    notes: Sequence[str] = (),
    ranges: Sequence[tuple[str, str, float, float]] | None = None,
) -> str:
    """What was found in the graph `of`, and every edge as (name, flow, capacity) with a bar of its flow.

    `ranges` are the least and the most over all optimal flows, in words and in numbers; the bar then has whiskers.
    """
    found, _, proof = said.partition("; ")
    reach = [(flow, flow) for _, flow, _ in edges] if ranges is None else [(low, high) for *_, low, high in ranges]
    finite = [x for (_, flow, _), pair in zip(edges, reach, strict=True) for x in (flow, *pair) if abs(x) < float("inf")]
    span = min([0.0, *finite]), max([0.0, *finite])
    flows, rooms = column([flow for _, flow, _ in edges]), _rooms([room for _, _, room in edges])
    rows = [
        (name, a, b, *(ranges[e][:2] if ranges is not None else ()), bar(flow, span, (max(low, span[0]), min(high, span[1]))))
        for e, ((name, flow, _), a, b, (low, high)) in enumerate(zip(edges, flows, rooms, reach, strict=True))
    ]
    header = ["edge", "flow", "capacity", *(["least", "most"] if ranges is not None else []), ""]
    body = render("edges", "body", said=sentence(found), proof=sentence(proof), notes=notes, header=header, rows=rows)
    return page(f"What flows through {of}?", body, script_of="sorting")


def _rooms(capacities: Sequence[float]) -> list[str]:
    """Capacities as numbers of one column, beside those without a limit."""
    finite = iter(column([room for room in capacities if room < float("inf")]))
    return [next(finite) if room < float("inf") else "∞" for room in capacities]
