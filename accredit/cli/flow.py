"""`accredit flow`: flows in a table of edges, each with its proof, and whether it is the only one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from accredit import defaults
from accredit.checks.json_data import round_off
from accredit.checks.tables import number
from accredit.cli.command import Command, wants_more
from accredit.cli.options import Amount, NamedPath
from accredit.cli.output import NewFile, write, write_whole
from accredit.cli.table_options import table_options
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    from accredit.flow.graph import Graph, GraphFlow

SECONDS = 5.0  # for exact ranges


@click.command(cls=Command, cuts=True)
@click.argument("file", type=NamedPath())
@table_options
@click.option("--from", "sources", multiple=True, help="Where flow begins; repeat it, with --to, for several commodities.")
@click.option("--to", "sinks", multiple=True, help="Where flow ends.")
@click.option("--together", is_flag=True, help="One flow from all --from to all --to, instead of one commodity per pair.")
@click.option("--supply", "supplies", multiple=True, help="NODE=AMOUNT that enters there, negative where it leaves; repeat it.")
@click.option(
    "--rule",
    type=click.Choice(["none", "barrier", "l2", "l1"]),
    default="none",
    show_default=True,
    help="Which of all optimal flows: the analytic centre, least squares, least sum, or any.",
)
@click.option(
    "--epsilon",
    type=Amount(min=0, min_open=True),
    help=f"What --rule barrier may lose. Default: {defaults.FLOW_EPSILON:g}.",
)
@click.option("--cheapest", is_flag=True, help="Of all maximum flows, those of least cost.")
@click.option(
    "--share",
    type=click.Choice(["edges", "nodes", "sources", "sinks"]),
    help="Share the maximum flow among these by Shapley value, instead of listing edges.",
)
@click.option("--seconds", type=Amount(min=0), default=SECONDS, show_default=True, help="Time for exact ranges of free edges.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("--html", "html_file", type=NewFile(), help="Also write one self-contained page.")
def flow(
    file: str,
    sources: tuple[str, ...],
    sinks: tuple[str, ...],
    together: bool,
    supplies: tuple[str, ...],
    share: str | None,
    as_json: bool,
    html_file: str | None,
    seconds: float,
    **settings: Any,
) -> None:
    """The maximum flow through the edges of FILE, or their flow of least cost, and whether it is the only one.

    FILE is a table with the columns from,to,capacity, and where wanted lower,cost. With --from and --to: the maximum flow and
    the minimum cut that proves it; with several of each, one commodity per pair, or with --together one flow. Without: the
    flow of least cost, which carries what --supply says.
    """
    from accredit.flow.graph import Graph, graph_flow, least_cost
    from accredit.flow.rules import allowed_loss
    from accredit.views.language.flow_words import verdict

    _check_ends(sources, sinks, together, bool(supplies))
    _check_unused(share, settings["rule"], settings["cheapest"])
    lost = allowed_loss(settings["rule"], settings["epsilon"])
    graph = Graph.read(file)
    for option, names in (("--from", sources), ("--to", sinks), ("--supply", [_supply(text)[0] for text in supplies])):
        for name in names:
            graph.node(name, option)
    if share:
        _share(file, graph, sources, sinks, share, as_json, html_file)
        return
    if len(sources) > 1 and not together:
        _commodities(file, graph, sources, sinks, as_json, html_file, settings["rule"])
        return
    if sources:
        found = graph_flow(graph, *_ends(sources, sinks), **settings)
    elif settings.pop("cheapest"):
        raise InvalidInput("--cheapest needs --from and --to; without them the flow is of least cost anyway", code="conflict")
    else:
        found = least_cost(graph, supplies=dict(map(_supply, supplies)), **settings)
    notes = verdict(found, graph, lost, settings.get("cheapest", False))
    _show(file, graph, found, notes, seconds, as_json, html_file)


def _check_unused(share: str | None, rule: str, cheapest: bool) -> None:
    """Refuse what the question has no use for."""
    for option, is_given in ((f"--rule {rule}", rule != "none"), ("--cheapest", cheapest)):
        if share and is_given:
            raise InvalidInput(
                f"{option} picks one of several flows, and --share {share} divides their value, which all have; leave one out",
                code="conflict",
            )


def _check_ends(sources: tuple[str, ...], sinks: tuple[str, ...], together: bool, supplied: bool) -> None:
    if together and not sources:
        raise InvalidInput("--together needs --from and --to: it makes one flow between all of them", code="missing")
    if supplied and sources:
        raise InvalidInput("--supply and --from ask for different things; give one of them", code="conflict")
    if len(sources) != len(sinks) and not (together and sources and sinks):
        raise InvalidInput(
            f"--from is given {len(sources)} times and --to {len(sinks)}; give one --to for each --from, or --together for one "
            "flow between all of them",
            code="shape",
        )
    for source in sources:
        if source in sinks and (together or sinks[sources.index(source)] == source):
            raise InvalidInput(f"--from and --to are both {source!r}; name two nodes", code="duplicate")


def _ends(sources: tuple[str, ...], sinks: tuple[str, ...]) -> tuple[Any, Any]:
    """One node, or the list of several."""
    source, sink = (each[0] if len(each) == 1 else list(each) for each in (sources, sinks))
    return source, sink


def _supply(text: str) -> tuple[str, float]:
    name, mark, amount = text.rpartition("=")
    if not mark or not name:
        raise InvalidInput(f"--supply is {text!r:.60}; write NODE=AMOUNT, as in --supply mine=4", code="format")
    return name, number(amount, f"--supply {name}")


def _show(
    file: str, graph: Graph, found: GraphFlow, notes: list[str], seconds: float, as_json: bool, html_file: str | None
) -> None:
    from accredit.views.language.headlines import edges_headline
    from accredit.views.pages.flow_page import draw_edges, edges_page
    from accredit.views.terminal.edges_text import edges_text

    said = edges_headline(found).text
    ranges = None if found.unique else found.ranges(seconds)
    if ranges is not None:
        notes.append(f"Least and most are over all of them: {ranges}.")
    if html_file:
        drawn, spread = draw_edges(graph, found, ranges)
        write_whole(html_file, edges_page(click.format_filename(file, shorten=True), said, drawn, notes, spread))
    if as_json:
        click.echo(json.dumps(_plain(graph, found, ranges, notes), ensure_ascii=False))
    else:
        click.echo(edges_text(graph, said, notes, found.edges.tolist(), ranges, wants_more()))
    if html_file:
        write(html_file)


def _plain(graph: Graph, found: GraphFlow, ranges: Any, notes: list[str]) -> dict[str, Any]:
    """One JSON object."""
    edges = [
        {"from": graph.nodes[a], "to": graph.nodes[b], "flow": float(f), "free": bool(free)}
        for a, b, f, free in zip(graph.tail, graph.head, found.edges, found.free, strict=True)
    ]
    if ranges is not None:
        for e, edge in enumerate(edges):
            low, high = ranges.bounds[e].tolist()
            edge |= {"least": low, "most": None if high == float("inf") else high, "exact": bool(ranges.exact[e])}
    goal: dict[str, Any] = {"cost": found.cost}
    if found.cut is not None:
        goal |= {"value": found.value, "cut": found.cut, "source_side": list(found.source_side)}
        goal |= {"sources": found.sources, "sinks": found.sinks}
    return goal | {
        "gap": found.gap,
        "rule": found.rule,
        "unique": found.unique,
        "leeway": found.leeway,
        "singled_out": found.singled_out,
        "certificate": found.certificate,
        "prices": dict(zip(graph.nodes, found.prices.tolist(), strict=True)),
        "edges": edges,
        "another": None if found.another is None else found.another.tolist(),
        "says": notes,
    }


def _share(
    file: str,
    graph: Graph,
    sources: tuple[str, ...],
    sinks: tuple[str, ...],
    share: str,
    as_json: bool,
    html_file: str | None,
) -> None:
    """The Shapley value of the flow."""
    from markupsafe import Markup

    from accredit import views
    from accredit.flow.graph_game import GraphFlowGame
    from accredit.values import shapley

    if not sources:
        raise InvalidInput("--share needs --from and --to: it shares a maximum flow", code="missing")
    credit = shapley(GraphFlowGame(graph, *_ends(sources, sinks), players=share))
    if html_file:
        name = click.format_filename(file, shorten=True)
        write_whole(html_file, views.page(f"Who carries the flow through {name}?", Markup(views.fragment(credit))))
    click.echo(json.dumps(credit.as_dict(), ensure_ascii=False) if as_json else views.text(credit, more=wants_more()))
    if html_file:
        write(html_file)


def _commodities(
    file: str,
    graph: Graph,
    sources: tuple[str, ...],
    sinks: tuple[str, ...],
    as_json: bool,
    html_file: str | None,
    rule: str,
) -> None:
    """One flow per pair, all through the same edges."""
    from accredit.flow.commodities import multi_commodity
    from accredit.views.language.flow_words import edge_name
    from accredit.views.pages.flow_page import edges_page
    from accredit.views.terminal.edges_text import edges_text

    if rule != "none":
        raise InvalidInput(
            f"--rule {rule} picks one flow, not several commodities; add --together for one flow between all ends",
            code="unsupported",
        )
    many = multi_commodity(graph, list(zip(sources, sinks, strict=True)))
    each = ", ".join(f"{a} → {b} {round_off(x)}" for a, b, x in zip(sources, sinks, many.values, strict=True))
    said = f"Maximum sum of flows {round_off(many.value)} ({each}); gap {round_off(many.gap, 1)}."
    edges = many.edges.sum(axis=0).tolist()
    if html_file:
        named = [edge_name(graph, e) for e in range(len(edges))]
        drawn = list(zip(named, edges, graph.capacity.tolist(), strict=True))
        write_whole(html_file, edges_page(click.format_filename(file, shorten=True), said, drawn))
    if as_json:
        listed = [
            {"from": graph.nodes[a], "to": graph.nodes[b], "flow": f}
            for a, b, f in zip(graph.tail, graph.head, edges, strict=True)
        ]
        click.echo(json.dumps({"value": many.value, "values": many.values.tolist(), "edges": listed, "gap": many.gap}))
    else:
        click.echo(edges_text(graph, said, [], edges, more=wants_more()))
    if html_file:
        write(html_file)
