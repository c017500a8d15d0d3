"""The flow view: the drawing, and every token's credit beside the range it has over all max flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accredit.attention import FlowReport
from accredit.checks.json_data import round_off
from accredit.core import Attribution, FloatArray, NoteKind
from accredit.explanation.flows import on_the_mask
from accredit.explanation.result import FlowPicture
from accredit.views.language.flow_words import edge_name, range_words
from accredit.views.language.headlines import flow_headline
from accredit.views.language.numbers import BRIEF, brief, column, ranges
from accredit.views.language.palette import level
from accredit.views.language.phrases import layer_word, sentence
from accredit.views.pages.document import page
from accredit.views.pages.engine import render
from accredit.views.pages.flow_drawing import flow_svg, left_out
from accredit.views.pages.parts import Bar, bar, claims_table

if TYPE_CHECKING:
    from markupsafe import Markup

    from accredit.flow.graph import Graph, GraphFlow
    from accredit.flow.optima import Ranges

DrawnEdge = tuple[str, float, float]  # name, flow, capacity
DrawnRange = tuple[str, str, float, float]  # the least and the most over all optimal flows, in words and in numbers

COLLAPSED = 0.5  # share of pairs from which the reader is warned
WIDE = 1e-6  # of the whole flow: a range that is not rounding
ROWS = 40  # tokens with a row of their own; the others are listed
REACHED = "Both ends are reached by some maximum flow."
BOUNDS = "No maximum flow leaves these bounds; they may be wide."


RULES = {
    "barrier": "of all maximum flows, the one in the middle: it keeps away from empty and from full edges",
    "l2": "of all maximum flows, the one spread most evenly: the least sum of squares",
    "shapley": "each token’s average share of what still flows while others are blocked: paths are chosen anew each time",
}


class Credited(NamedTuple):
    """A token's row: its credit as a number and as a bar; that of the mask alone and its range over all max flows, if known."""

    name: str
    credit: str
    bar: Bar
    ends: str
    mask: str


def flow_body(
    drawing: FlowPicture,
    credit: Attribution,
    layer: int,
    rule: str,
    tokens: Sequence[tuple[str, str]] = (),  # what each token shows, and its player
    flows: FloatArray | None = None,  # (players, 2): the least and the most over all max flows
    report: FlowReport | None = None,
    chosen: str = "",  # heads and layers, in words
) -> Markup:
    """One sentence, the text coloured by its credit, the drawing beside every token's credit, then what makes it doubtful."""
    collapse = _collapse(report) if report is not None else ""
    lines = [note for note in (report.notes if report else ()) if not (collapse and note.kind is NoteKind.COLLAPSE)]
    mask = "uniform" in credit.certificate
    beside = list(on_the_mask({rule: credit})) if mask else []
    doubts = [("Warning.", note.text) for note in beside if note.kind is NoteKind.WARNING]
    order, where = np.argsort(-credit.credit, kind="stable").tolist(), layer_word(layer, drawing.layers)
    return render(
        "flow",
        "body",
        answer=flow_headline(credit, drawing.value, where, flows).text,
        asked=f"Rule: {rule}, {RULES[rule]}.{f' {chosen}.' if chosen else ''}",
        doubts=[*doubts, *[("The layers matter little.", collapse)] * bool(collapse)],
        whole=round_off(drawing.value),
        rule=rule,
        drawing=flow_svg(drawing),
        left_out=left_out(drawing),
        lines=[*(note.text for note in beside if note.kind is not NoteKind.WARNING), *(note.text for note in lines)],
        where=where,
        strip=_strip(credit, tokens),
        open=flows is not None and bool((flows[:, 1] - flows[:, 0]).max() > WIDE * drawing.value),
        ends="" if flows is None else REACHED if layer in (0, drawing.layers) else BOUNDS,
        header=["token", "credit", *["mask alone"] * mask, *["over all maximum flows"] * (flows is not None), ""],
        rows=_rows(credit, flows, order[:ROWS]),
        rest_of=_rest(credit, order[ROWS:]),
        claims=claims_table(credit),
        mask=mask,
    )


def flow_page(text: str, body: Markup) -> str:
    """The flow view as one file, under the text that was read."""
    return page("How does attention flow?", render("flow", "quoted", text=text, body=body), script_of=("following", "sorting"))


def _collapse(report: FlowReport) -> str:
    """What the reader is warned of, if most flows between two tokens do not depend on the layers between them."""
    if report.collapse_share <= COLLAPSED:
        return ""
    pairs = f"{report.collapse_pairs} {'random ' * report.collapse_sampled}pairs"
    alike = round(report.collapse_share * report.collapse_pairs)
    return (
        f"For {alike} of {pairs}, the flow between two tokens is just the smaller of what leaves one and what enters the "
        "other: the layers between them make no difference."
    )


def _strip(credit: Attribution, tokens: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """The text, darker where more flow passes: each token's text, colour and label."""
    amount = dict(zip(credit.players, credit.credit.tolist(), strict=True))
    largest = max(amount.values(), default=0.0)
    return [
        (shown, level(amount[player], largest, signed=False), f"{player}: {brief(amount[player], False)}")
        for shown, player in tokens
        if player in amount
    ]


def _rows(credit: Attribution, flows: FloatArray | None, places: Sequence[int]) -> list[Credited]:
    top = float(max(credit.credit.max(), 0.0 if flows is None else flows.max())) or 1.0
    even = credit.certificate.get("uniform")
    written = column(credit.credit[list(places)].tolist())
    masks = column([float(even[k]) for k in places]) if even is not None else []
    within = [""] * len(places) if flows is None else ranges(*flows[list(places)].T.tolist())
    rows = []
    for at, k in enumerate(places):
        value = float(credit.credit[k])
        low, high = (value, value) if flows is None else flows[k].tolist()
        drawn = bar(value, (0.0, top), (low, high), signed=False)
        rows.append(Credited(credit.players[k], written[at], drawn, within[at], masks[at] if masks else ""))
    return rows


def _rest(credit: Attribution, places: Sequence[int]) -> tuple[str, list[str]] | None:
    """Tokens of little credit, as one text: hundreds of rows with drawings would make the page heavy."""
    if not places:
        return None
    whole = round_off(float(credit.credit[list(places)].sum()), BRIEF)
    items = [f"{credit.players[k]} {brief(float(credit.credit[k]), False)}" for k in places]
    return f"{len(places)} more tokens of smaller credit, {whole} together", items


def edges_page(
    of: str,
    said: str,
    edges: Sequence[DrawnEdge],
    notes: Sequence[str] = (),
    ranges: Sequence[DrawnRange] | None = None,
) -> str:
    """What was found in the graph `of`, as one file."""
    return page(f"What flows through {of}?", edges_body(said, edges, notes, ranges), script_of="sorting")


def edges_body(
    said: str, edges: Sequence[DrawnEdge], notes: Sequence[str] = (), ranges: Sequence[DrawnRange] | None = None
) -> Markup:
    """What was found in a graph, and every edge with a bar of its flow; where ranges are known, the bar has whiskers."""
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
    return render("edges", "body", said=sentence(found), proof=sentence(proof), notes=notes, header=header, rows=rows)


def draw_edges(
    graph: Graph, found: GraphFlow, known: Ranges | None, most: int | None = None
) -> tuple[list[DrawnEdge], list[DrawnRange] | None]:
    """Edges of a flow with their ranges, in the order of the graph: all of them, or those of the largest flows."""
    order = np.argsort(-np.abs(found.edges), kind="stable")[:most]
    places = np.sort(order).tolist()
    drawn = [(edge_name(graph, e), float(found.edges[e]), float(graph.capacity[e])) for e in places]
    return drawn, None if known is None else [(*range_words(known, e), *known.bounds[e].tolist()) for e in places]


def _rooms(capacities: Sequence[float]) -> list[str]:
    """Capacities as numbers of one column, beside those without a limit."""
    finite = iter(column([room for room in capacities if room < float("inf")]))
    return [next(finite) if room < float("inf") else "∞" for room in capacities]
