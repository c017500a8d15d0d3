"""Flow on the page: attention followed through the layers, or any graph of edges; then how far the answer is determined."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from accredit import defaults
from accredit.errors import InvalidInput
from accredit.explanation.flows import REPORTED, beside_uniform, columns, picture
from accredit.explanation.graph import graph_of, uniform_of
from accredit.explanation.subject import tokens_of
from accredit.views.language.flow_words import verdict
from accredit.views.language.headlines import edges_headline
from accredit.views.pages.flow_page import draw_edges, edges_body, edges_page, flow_body, flow_page
from accredit.web.uploads import drop

if TYPE_CHECKING:
    from accredit.flow.graph import Graph, GraphFlow
    from accredit.flow.optima import Ranges
    from accredit.models import TextModel
    from accredit.web.tasks import Models

ORDERS = 60  # random orders of the Shapley rule of flows
GRAPH_EDGES = 20_000  # of a graph that the page solves
ROWS_OF_EDGES = 500  # that the page shows
RANGE_SECONDS = 5.0  # for exact ranges of free edges

Event = dict[str, Any]


def heads_of(model: TextModel) -> int:
    """Heads of each layer, as far as the model says."""
    config = getattr(getattr(model, "model", None), "config", None)
    count = getattr(config, "num_attention_heads", 0)
    return count if isinstance(count, int) else 0


def flow(models: Models, task: Event) -> Generator[Event]:
    """The flow of one text: first the drawing and the credit, then how far the credit is determined.

    What depends on fewer settings than were asked for is kept: another layer costs no solve of the flow.
    """
    from accredit.attention import flow_credit, flow_report, joint_flow
    from accredit.flow import FlowGame, LayeredNetwork, credit_intervals, unique_flow

    yield {"event": "progress", "method": "max flow", "done": 0, "of": 2}
    read = {"heads": task["heads"], "layers": task["layers"]}
    subject = models.attention_of(task["text"], **read)
    rule, layer, keep = task["rule"], task["layer"], models.recent.get
    graph, asked = graph_of(subject), (task["text"], task["residual"], str(read))
    settings: dict[str, Any] = {"outputs": graph.outputs, "residual": task["residual"]}
    network = LayeredNetwork.from_attention(graph.attention, **settings)
    if layer > network.layers:
        raise InvalidInput(f"layer {layer} is not there: these layers are 0 (input) to {network.layers} (output)", code="range")
    drawn = "l2" if rule == "l2" else "barrier"
    solved = keep((*asked, drawn), lambda: unique_flow(network, drawn))
    if rule == "shapley":
        credit = joint_flow(graph.attention, rule=rule, layer=layer, groups=graph.groups, orders=ORDERS, **settings)
    else:
        credit = flow_credit(solved, layer=layer, groups=graph.groups)
    if graph.causal:
        even = LayeredNetwork.from_attention(uniform_of(subject), **settings)
        mask = keep((*asked, drawn, "mask"), lambda: unique_flow(even, drawn))
        credit = beside_uniform(credit, flow_credit(mask, layer=layer, groups=graph.groups).credit)
    names, members = columns(graph, solved.demand)
    drawing = picture(network, solved, f"flow, {rule}", names, members, ())
    facts = {"layers": network.layers, "tokens": network.tokens}
    tokens = [(t.shown, t.player) for t in tokens_of(subject)]
    heads = f"head {task['heads'] + 1} of each layer" if isinstance(task["heads"], int) else graph.chosen["heads"]
    chosen = f"Attention: {heads}, {_layers(task['layers'])}"
    body = flow_body(drawing, credit, layer, rule, tokens, chosen=chosen)
    yield {"event": "result", "done": 1, "of": 2, "html": body, **facts}
    yield {"event": "progress", "method": "what all max flows agree on", "done": 1, "of": 2}
    small = network.tokens <= REPORTED
    ranges = credit_intervals(FlowGame(network, layer=layer, groups=graph.groups)) if small else None
    report = keep(
        (*asked, "report"),
        lambda: flow_report(graph.attention, intervals=False, pairs=64, trials=0, flow=solved, **settings),
    )
    body = flow_body(drawing, credit, layer, rule, tokens, ranges, report, chosen)
    yield {"event": "result", "done": 2, "of": 2, "html": body, **facts}
    yield {"event": "done", "page": flow_page(task["text"], body)}


def graph(models: Models, task: Event) -> Generator[Event]:
    """The flow through a graph of edges: first the flow and its proof, then what all equally good flows agree on."""
    from accredit.flow.graph import Graph, graph_flow, least_cost

    yield {"event": "progress", "method": "flow", "done": 0, "of": 2}
    source, sink, rule, cheapest = task["source"], task["sink"], task["rule"], task["cheapest"]
    if bool(source) != bool(sink) or (cheapest and not source):
        raise InvalidInput(
            "Name where the flow begins and where it ends, or neither: then the circulation of least cost is found",
            code="missing",
        )
    with drop(task["edges"], task["name"]) as path:
        edges = Graph.read(path)
    if len(edges.tail) > GRAPH_EDGES:
        raise InvalidInput(
            f"there are {len(edges.tail):,} edges, and this page takes {GRAPH_EDGES:,}; `accredit flow FILE` takes more",
            code="too-many",
        )
    for field, names in (("Begins at", source), ("Ends at", sink)):
        for name in names:
            edges.node(name, field)
    if source:
        found = graph_flow(edges, _ends(source), _ends(sink), rule=rule, cheapest=cheapest)
    else:
        found = least_cost(edges, rule=rule)
    said, notes = edges_headline(found).text, verdict(found, edges, defaults.FLOW_EPSILON, cheapest)
    more = len(found.edges) - ROWS_OF_EDGES
    listed = [f"The table shows the {ROWS_OF_EDGES:,} edges of the largest flows; {more:,} more are left out."] * (more > 0)
    body = edges_body(said, *_listed(edges, found, None, [*notes, *listed]))
    yield {"event": "result", "done": 1, "of": 2, "html": body}
    if not found.unique:
        yield {"event": "progress", "method": "what all of them agree on", "done": 1, "of": 2}
        known = found.ranges(RANGE_SECONDS)
        notes.append(f"Least and most are over all of them: {known}.")
        body = edges_body(said, *_listed(edges, found, known, [*notes, *listed]))
        yield {"event": "result", "done": 2, "of": 2, "html": body}
    shown = draw_edges(edges, found, None if found.unique else known)
    yield {"event": "done", "page": edges_page(task["name"], said, shown[0], notes, shown[1])}


def _ends(names: list[str]) -> Any:
    """One node, or the list of several."""
    return names[0] if len(names) == 1 else names


def _listed(edges: Graph, found: GraphFlow, known: Ranges | None, notes: list[str]) -> tuple[Any, ...]:
    """Rows, notes and ranges as the body takes them."""
    drawn, spread = draw_edges(edges, found, known, ROWS_OF_EDGES)
    return drawn, notes, spread


def _layers(chosen: list[int] | None) -> str:
    if chosen is None:
        return "all layers"
    first, last = chosen[0] + 1, chosen[-1] + 1
    return f"layer {first}" if first == last else f"layers {first} to {last}"
