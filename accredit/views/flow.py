"""The layer-by-layer drawing of a flow: outputs above, input below, width is flow, the minimum cut marked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray
from accredit.core.plain import rounded
from accredit.explanation.result import FlowPicture
from accredit.views.engine import render
from accredit.views.numbers import BRIEF
from accredit.views.words import layer_word

if TYPE_CHECKING:
    from markupsafe import Markup

ROW = 92  # pixels between layers
LEFT, TOP, BOTTOM, RIGHT = 72, 34, 120, 28
DRAWN = 0.98  # share of each layer's flow that is drawn; hair-thin edges are left out
MOST = 1600  # edges drawn in all layers together
HAIR = 0.5  # pixels of flow below which edges of a layer are one path, without a name each
LABEL = 16  # characters

Edge = tuple[str, str, str, str, str, str]  # class, path, width, opacity, name, tick of the cut


def flow_svg(flow: FlowPicture) -> Markup:
    """The drawing as one SVG element."""
    count = len(flow.columns)
    step = min(96.0, max(24.0, 820 / count))
    x = [LEFT + step * (i + 0.5) for i in range(count)]
    y = [TOP + ROW * (flow.layers - layer) for layer in range(flow.layers + 1)]  # layer 0 is at the bottom
    widest, thickest = float(flow.edges.max(initial=0.0)) or 1.0, min(11.0, step * 0.4)
    return render(
        "flow", "drawing",
        width=round(LEFT + step * count + RIGHT), height=TOP + ROW * flow.layers + BOTTOM,
        says=f"Flow of {rounded(flow.value)} through {flow.layers} layers to {count} tokens. {' '.join(flow.notes)}",
        layers=[_edges(flow, layer, x, y, widest, thickest) for layer in range(flow.layers)],
        nodes=list(_nodes(flow, x, y, step)), ticks=list(_outer_cut(flow, x, y)),
        rows=[(y[layer] + 4, layer_word(layer, flow.layers)) for layer in range(flow.layers + 1)],
        columns=[(f"{x[i] + 4:.1f} {y[0] + 28}", _short(name)) for i, name in enumerate(flow.columns)],
    )  # fmt: skip


def left_out(flow: FlowPicture) -> str:
    """How many edges are too thin to be drawn, and how much they carry, in a sentence; nothing if none are."""
    carrying = int((flow.edges > 0).sum())
    shown = [(layer, i, j) for layer in range(flow.layers) for i, j in drawn(flow.edges[layer], MOST // flow.layers)]
    if len(shown) == carrying:
        return ""
    share = 1 - sum(float(flow.edges[place]) for place in shown) / float(flow.edges.sum())
    return f"Drawn: {len(shown):,} of {carrying:,} edges; the others carry {rounded(100 * share, 2)}% of the flow."


def drawn(weights: FloatArray, most: int = MOST) -> list[tuple[int, int]]:
    """The largest entries of a matrix that make up `DRAWN` of its sum, smallest first: they are painted over one another."""
    flat = weights.ravel()
    order = np.argsort(-flat, kind="stable")[: min(most, int((flat > 0).sum()))]
    enough = np.searchsorted(np.cumsum(flat[order]), DRAWN * flat.sum()) + 1
    return [(int(k) // weights.shape[1], int(k) % weights.shape[1]) for k in order[:enough][::-1]]


def _edges(
    flow: FlowPicture, layer: int, x: list[float], y: list[int], widest: float, thickest: float
) -> tuple[str, list[Edge]]:
    """The hair-thin edges of a layer as one path, and the others one by one."""
    above, below = y[layer + 1], y[layer]
    middle = (above + below) / 2
    hairs, edges = [], list[Edge]()
    for i, j in drawn(flow.edges[layer], MOST // flow.layers):
        amount, cut = float(flow.edges[layer, i, j]), flow.cut[layer, i, j] > 0
        share = amount / widest
        path = f"M{x[i]:.1f} {above}C{x[i]:.1f} {middle:.1f} {x[j]:.1f} {middle:.1f} {x[j]:.1f} {below}"
        if thickest * share < HAIR and not cut:
            hairs.append(path)
            continue
        name = f"{flow.columns[i]} → {flow.columns[j]}: {rounded(amount, BRIEF)}{', in the minimum cut' * bool(cut)}"
        opacity = 0.55 if cut else 0.22 + 0.33 * share
        tick = f"M{(x[i] + x[j]) / 2 - 6:.1f} {middle:.1f}h12" if cut else ""
        edges.append(("cut" if cut else "edge", path, f"{0.6 + thickest * share:.2f}", f"{opacity:.2f}", name, tick))
    return "".join(hairs), edges


def _nodes(flow: FlowPicture, x: list[float], y: list[int], step: float) -> Iterator[tuple[str, int, str, str]]:
    """Place, radius and name of every token in every layer."""
    largest = float(flow.through.max(initial=0.0)) or 1.0
    radii = 1.2 + min(7.5, step * 0.28) * np.sqrt(np.maximum(flow.through, 0.0) / largest)  # (layers + 1, columns)
    for layer, (amounts, sizes) in enumerate(zip(flow.through.tolist(), radii.tolist(), strict=True)):
        where = layer_word(layer, flow.layers)
        for i, (amount, radius) in enumerate(zip(amounts, sizes, strict=True)):
            yield f"{x[i]:.1f}", y[layer], f"{radius:.1f}", f"{flow.columns[i]}, {where}: {rounded(amount, BRIEF)}"


def _outer_cut(flow: FlowPicture, x: list[float], y: list[int]) -> Iterator[tuple[str, str]]:
    """Arcs of the source and of the sink that belong to the cut: a bar above the output, or below the input."""
    for amounts, level in ((flow.source_cut, y[-1] - 15), (flow.sink_cut, y[0] + 15)):
        for i in np.flatnonzero(amounts > 0).tolist():
            name = f"{flow.columns[i]}: {rounded(float(amounts[i]), BRIEF)}, in the minimum cut"
            yield f"M{x[i] - 7:.1f} {level}h14", name


def _short(name: str) -> str:
    return name if len(name) <= LABEL else name[: LABEL - 1] + "…"
