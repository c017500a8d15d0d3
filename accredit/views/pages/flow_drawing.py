"""The layer-by-layer drawing of a flow: outputs above, input below, width is flow, the minimum cut marked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.json_data import round_off
from accredit.explanation.result import FlowPicture
from accredit.views.language.largest import MOST_EDGES, strongest_edges
from accredit.views.language.numbers import BRIEF
from accredit.views.language.phrases import layer_word
from accredit.views.pages.engine import render

if TYPE_CHECKING:
    from markupsafe import Markup

ROW = 84  # pixels between layers
LEFT, TOP, BOTTOM, RIGHT = 64, 104, 104, 72
STRONG = 0.7  # share of each layer's flow that is shown before a token is followed
LABEL = 16  # characters

Edge = tuple[str, str, str, str, str, int, int, int, str, str]
# class, path, width, opacity, amount, layer, from, to, name, tick of the cut


def flow_svg(flow: FlowPicture) -> Markup:
    """The drawing as one SVG element. Its strongest edges are shown; a script shows all paths of a token that is followed."""
    count = len(flow.columns)
    step = min(72.0, max(24.0, 600 / count))
    x = [LEFT + step * (i + 0.5) for i in range(count)]
    y = [TOP + ROW * (flow.layers - layer) for layer in range(flow.layers + 1)]  # layer 0 is at the bottom
    widest, thickest = float(flow.edges.max(initial=0.0)) or 1.0, min(14.0, step * 0.45)
    names = [_short(name) for name in flow.columns]
    flowing = [amounts > 0 for amounts in (flow.through[0], flow.through[-1])]
    head = f"Flow of {round_off(flow.value)} through {flow.layers} layers to {count} tokens."
    return render(
        "flow",
        "drawing",
        width=round(LEFT + step * count + RIGHT),
        height=TOP + ROW * flow.layers + BOTTOM,
        says=" ".join([head, *map(str, flow.notes)]),
        edges=[edge for layer in range(flow.layers) for edge in _edges(flow, layer, x, y, widest, thickest)],
        whole=round_off(flow.value, BRIEF),
        nodes=list(_nodes(flow, x, y, step)),
        ticks=list(_outer_cut(flow, x, y)),
        rows=[(y[layer] + 4, layer_word(layer, flow.layers)) for layer in range(flow.layers + 1)],
        below=[(f"{x[i] + 4:.1f} {y[0] + 26}", names[i], i, 0, bool(flowing[0][i])) for i in range(count)],
        above=[(f"{x[i] - 3:.1f} {y[-1] - 20}", names[i], i, flow.layers, bool(flowing[1][i])) for i in range(count)],
    )


def left_out(flow: FlowPicture) -> str:
    """How many edges are shown at first, and how much they carry, in a sentence; nothing if all are."""
    carrying = int((flow.edges > 0).sum())
    shown = [(layer, i, j) for layer in range(flow.layers) for i, j in _strong(flow, layer)]
    if len(shown) == carrying:
        return ""
    share = sum(float(flow.edges[place]) for place in shown) / float(flow.edges.sum())
    return f"Drawn: the {len(shown):,} strongest of {carrying:,} edges, which carry {round_off(100 * share, 2)}% of the flow."


def _strong(flow: FlowPicture, layer: int) -> set[tuple[int, int]]:
    """The edges of a layer that are shown at first: those that carry most of it, and those of the minimum cut."""
    most = strongest_edges(flow.edges[layer], 2 * len(flow.columns), STRONG)
    return {
        *most,
        *(edge for edge in strongest_edges(flow.edges[layer], MOST_EDGES // flow.layers) if flow.cut[layer][edge] > 0),
    }


def _edges(flow: FlowPicture, layer: int, x: list[float], y: list[int], widest: float, thickest: float) -> Iterator[Edge]:
    """The edges of a layer; those that carry little are marked weak, and are shown when one of their tokens is followed."""
    above, below, amounts = y[layer + 1], y[layer], flow.edges[layer]
    middle = (above + below) / 2
    strong = _strong(flow, layer)
    for i, j in strongest_edges(amounts, MOST_EDGES // flow.layers):
        amount, cut, shown = float(amounts[i, j]), flow.cut[layer, i, j] > 0, (i, j) in strong
        share = amount / widest
        path = f"M{x[i]:.1f} {above}C{x[i]:.1f} {middle:.1f} {x[j]:.1f} {middle:.1f} {x[j]:.1f} {below}"
        name = f"{flow.columns[i]} → {flow.columns[j]}: {round_off(amount, BRIEF)}{', in the minimum cut' * bool(cut)}"
        opacity = 0.35 + 0.45 * share
        tick = f"M{(x[i] + x[j]) / 2 - 6:.1f} {middle:.1f}h12" if cut and shown else ""
        kind = ("cut" if cut else "edge") + " weak" * (not shown)
        width = f"{0.5 + thickest * share:.2f}"
        yield kind, path, width, f"{opacity:.2f}", f"{amount:.4g}", layer, i, j, name if shown else "", tick


def _nodes(flow: FlowPicture, x: list[float], y: list[int], step: float) -> Iterator[tuple[str, int, str, int, int, str, str]]:
    """Place, radius, layer, column, name and flow of every token in every layer."""
    largest = float(flow.through.max(initial=0.0)) or 1.0
    radii = 1.2 + min(7.5, step * 0.28) * np.sqrt(np.maximum(flow.through, 0.0) / largest)  # (layers + 1, columns)
    for layer, (amounts, sizes) in enumerate(zip(flow.through.tolist(), radii.tolist(), strict=True)):
        where = layer_word(layer, flow.layers)
        for i, (amount, radius) in enumerate(zip(amounts, sizes, strict=True)):
            name = f"{flow.columns[i]}, {where}"
            yield f"{x[i]:.1f}", y[layer], f"{radius:.1f}", layer, i, name, round_off(amount, BRIEF)


def _outer_cut(flow: FlowPicture, x: list[float], y: list[int]) -> Iterator[tuple[str, str]]:
    """Arcs of the source and of the sink that belong to the cut: a bar above the output, or below the input."""
    for amounts, level in ((flow.source_cut, y[-1] - 15), (flow.sink_cut, y[0] + 15)):
        for i in np.flatnonzero(amounts > 0).tolist():
            name = f"{flow.columns[i]}: {round_off(float(amounts[i]), BRIEF)}, in the minimum cut"
            yield f"M{x[i] - 7:.1f} {level}h14", name


def _short(name: str) -> str:
    return name if len(name) <= LABEL else name[: LABEL - 1] + "…"
