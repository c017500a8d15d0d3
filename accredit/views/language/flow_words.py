"""A flow through a table of edges in words: whether it is the only one, by which rule it was picked, and its edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.json_data import round_off
from accredit.views.language.printable import printable

if TYPE_CHECKING:
    from accredit.flow.graph import Graph, GraphFlow
    from accredit.flow.optima import Ranges

NAMED = 4  # edges that a sentence names
ROUNDED = 1e-12  # of the largest flow: leeway below it is the rounding of sums
PICKS = {
    "barrier": "the analytic centre of all {flows}, at most {epsilon} from the best",
    "l2": "of all {flows} the one of least Σ f²",
    "l1": "of all {flows} one of least Σ |f|",
}


def verdict(found: GraphFlow, graph: Graph, epsilon: float, cheapest: bool = False) -> list[str]:
    """Is this the only one? Which rule picked it, and what does it leave out?"""
    one = "flow of least cost" if found.cut is None else "cheapest maximum flow" if cheapest else "maximum flow"
    many = one.replace("flow", "flows")
    free, edges = int(found.free.sum()), len(found.edges)
    if found.unique:
        lines = [f"There is only one {one}" + (", and this is it." if found.rule != "barrier" else ".")]
        if found.leeway > ROUNDED * found.optima.scale:
            least = round_off(found.leeway, 1)
            lines = [f"There is only one {one} to {least}: no edge of another one carries that much more or less."]
    elif not free:
        lines = [f"One of many {many}: every edge is fixed, but sources or sinks can share it differently."]
    else:
        can = "1 edge can carry another amount" if free == 1 else f"{free:,} of {edges:,} edges can carry other amounts"
        lines = [f"One of many {many}: {can}, for example by a turn over {_named(graph, found.cycle)}."]
        if found.rule == "none":
            lines.append("No rule picked it. For one that depends on the graph alone, choose the rule barrier or l2.")
    if found.rule in PICKS:
        left = "" if found.singled_out else " Others have the same sum: l1 does not single out one flow here."
        lines.append(f"Rule {found.rule}: {PICKS[found.rule].format(flows=many, epsilon=round_off(epsilon, 1))}.{left}")
    held = np.flatnonzero(found.held)
    if len(held):
        them = "1 edge is" if len(held) == 1 else f"{len(held):,} edges are"
        lines.append(f"{them} at a bound in every flow, and left out of the barrier: {_named(graph, held)}.")
    if found.optima.unclear:
        lines.append(f"Rounding leaves a doubt about {found.optima.unclear:,} edges: they are taken as fixed.")
    return lines


def _named(graph: Graph, edges: Sequence[int] | np.ndarray) -> str:
    names = [edge_name(graph, int(e)) for e in edges[:NAMED]]
    return ", ".join(names) + (f" and {len(edges) - NAMED:,} more" if len(edges) > NAMED else "")


def edge_name(graph: Graph, edge: int) -> str:
    """`a → b`, safe to print."""
    return f"{printable(graph.nodes[graph.tail[edge]])} → {printable(graph.nodes[graph.head[edge]])}"


def range_words(ranges: Ranges, edge: int) -> tuple[str, str]:
    """The least and the most of an edge; a question mark where time ran out."""
    if not ranges.exact[edge]:
        return "?", "?"
    low, high = ranges.bounds[edge].tolist()
    return round_off(low), "∞" if high == float("inf") else round_off(high)
