"""`accredit flow`: flows in a table of edges, each with its proof."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from accredit.checks.json_data import round_off
from accredit.cli.command import Command
from accredit.cli.options import NamedPath
from accredit.cli.output import NewFile, write, write_whole
from accredit.cli.table_options import table_options
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    from accredit.flow.graph import Graph


@click.command(cls=Command)
@click.argument("file", type=NamedPath())
@table_options
@click.option("--from", "sources", multiple=True, help="Where flow begins; repeat it, with --to, for several commodities.")
@click.option("--to", "sinks", multiple=True, help="Where flow ends.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("--html", "html_file", type=NewFile(), help="Also write one self-contained page.")
def flow(file: str, sources: tuple[str, ...], sinks: tuple[str, ...], as_json: bool, html_file: str | None) -> None:
    """The maximum flow through the edges of FILE, or their circulation of least cost.

    FILE is a table with the columns from,to,capacity, and where wanted lower,cost. With --from and --to: the maximum flow and
    the minimum cut that proves it; with several of each, one commodity per pair. Without: the circulation of least cost.
    """
    from accredit.flow.graph import Graph, graph_flow, least_cost, multi_commodity
    from accredit.views.pages.flow_page import edges_page

    if len(sources) != len(sinks):
        raise InvalidInput(
            f"--from is given {len(sources)} times and --to {len(sinks)}; give one --to for each --from", code="shape"
        )
    for source, sink in zip(sources, sinks, strict=True):
        if source == sink:
            raise InvalidInput(f"--from and --to are both {source!r}; name two nodes", code="duplicate")
    graph = Graph.read(file)
    found: dict[str, Any]
    if not sources:
        cheapest = least_cost(graph)
        prices = dict(zip(graph.nodes, cheapest.prices.tolist(), strict=True))
        found = {"cost": cheapest.cost, "edges": cheapest.edges, "prices": prices, "certificate": cheapest.certificate}
        said = f"least cost {round_off(cheapest.cost)}; proved by prices, gap {round_off(cheapest.certificate['gap'], 1)}"
    elif len(sources) == 1:
        one = graph_flow(graph, sources[0], sinks[0])
        found = {
            "value": one.value,
            "edges": one.edges,
            "source_side": list(one.source_side),
            "cut": one.cut,
            "gap": one.gap,
        }
        side = ", ".join(one.source_side)
        said = f"maximum flow {round_off(one.value)}; the cut around {side} lets through {round_off(one.cut)}"
    else:
        many = multi_commodity(graph, list(zip(sources, sinks, strict=True)))
        found = {"value": many.value, "values": many.values.tolist(), "edges": many.edges.sum(axis=0), "gap": many.gap}
        each = ", ".join(f"{a} → {b} {round_off(x)}" for a, b, x in zip(sources, sinks, many.values, strict=True))
        said = f"maximum sum of flows {round_off(many.value)} ({each}); gap {round_off(many.gap, 1)}"
    ends = [(graph.nodes[a], graph.nodes[b]) for a, b in zip(graph.tail, graph.head, strict=True)]
    if html_file:
        named = [f"{a} → {b}" for a, b in ends]
        drawn = list(zip(named, found["edges"].tolist(), graph.capacity.tolist(), strict=True))
        write_whole(html_file, edges_page(click.format_filename(file, shorten=True), said, drawn))
    _show(graph, ends, found, said, as_json)
    if html_file:
        write(html_file)


def _show(graph: Graph, ends: list[tuple[str, str]], found: dict[str, Any], said: str, as_json: bool) -> None:
    from accredit.views.language.printable import printable
    from accredit.views.terminal.columns import table

    if as_json:
        listed = [{"from": a, "to": b, "flow": float(f)} for (a, b), f in zip(ends, found["edges"], strict=True)]
        click.echo(json.dumps(found | {"edges": listed}, ensure_ascii=False))
        return
    rows = [
        [f"{printable(a)} → {printable(b)}", round_off(f), round_off(u)]
        for (a, b), f, u in zip(ends, found["edges"].tolist(), graph.capacity.tolist(), strict=True)
    ]
    click.echo("\n".join([said, *table(["edge", "flow", "capacity"], rows)]))
