"""The layer-by-layer drawing of a flow: outputs above, input below, width is flow, the minimum cut marked."""

from __future__ import annotations

import numpy as np

from accredit.core import FloatArray
from accredit.core.plain import rounded
from accredit.explanation.result import FlowPicture
from accredit.views.escape import escape

ROW = 92  # pixels between layers
LEFT, TOP, BOTTOM, RIGHT = 72, 34, 104, 28
DRAWN = 0.98  # share of each layer's flow that is drawn; hair-thin edges are left out
MOST = 1600  # edges drawn in all layers together
HAIR = 0.5  # pixels of flow below which edges of a layer are one path, without a name each
LABEL = 16  # characters


def flow_svg(flow: FlowPicture) -> str:
    """The drawing as one SVG element."""
    count = len(flow.columns)
    step = min(96.0, max(24.0, 820 / count))
    width, height = LEFT + step * count + RIGHT, TOP + ROW * flow.layers + BOTTOM
    x = LEFT + step * (np.arange(count, dtype=np.float64) + 0.5)
    y = TOP + ROW * np.arange(flow.layers, -1, -1, dtype=np.float64)  # layer 0 is at the bottom
    widest = float(flow.edges.max(initial=0.0)) or 1.0
    parts = [_edges(flow, layer, x, y, widest, min(11.0, step * 0.4)) for layer in range(flow.layers)]
    parts += [_nodes(flow, x, y, step), _outer_cut(flow, x, y), _labels(flow, x, y)]
    told = f"Flow of {rounded(flow.value)} through {flow.layers} layers to {count} tokens. {' '.join(flow.notes)}"
    return (
        f'<svg class="flow" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" role="img" '
        f'aria-label="{escape(told)}">{"".join(parts)}</svg>'
    )


def left_out(flow: FlowPicture) -> str:
    """How many edges are too thin to be drawn, and how much they carry, in a sentence; nothing if none are."""
    carrying = int((flow.edges > 0).sum())
    shown = [(layer, i, j) for layer in range(flow.layers) for i, j in drawn(flow.edges[layer], MOST // flow.layers)]
    if len(shown) == carrying:
        return ""
    share = 1 - sum(float(flow.edges[place]) for place in shown) / float(flow.edges.sum())
    return f"<p>Drawn: {len(shown):,} of {carrying:,} edges; the others carry {100 * share:.2g} % of the flow.</p>"


def drawn(weights: FloatArray, most: int = MOST) -> list[tuple[int, int]]:
    """The largest entries of a matrix that make up `DRAWN` of its sum, smallest first: they are painted over one another."""
    flat = weights.ravel()
    order = np.argsort(-flat, kind="stable")[: min(most, int((flat > 0).sum()))]
    enough = np.searchsorted(np.cumsum(flat[order]), DRAWN * flat.sum()) + 1
    return [(int(k) // weights.shape[1], int(k) % weights.shape[1]) for k in order[:enough][::-1]]


def _edges(flow: FlowPicture, layer: int, x: FloatArray, y: FloatArray, widest: float, thickest: float) -> str:
    above, below = float(y[layer + 1]), float(y[layer])
    bend = (below - above) * 0.5
    hairs, parts = [], []
    for i, j in drawn(flow.edges[layer], MOST // flow.layers):
        share = float(flow.edges[layer, i, j]) / widest
        path = f"M{x[i]:.1f} {above:.1f}C{x[i]:.1f} {above + bend:.1f} {x[j]:.1f} {below - bend:.1f} {x[j]:.1f} {below:.1f}"
        cut = flow.cut[layer, i, j] > 0
        if thickest * share < HAIR and not cut:
            hairs.append(path)
            continue
        told = f"{escape(flow.columns[i])} → {escape(flow.columns[j])}: {rounded(float(flow.edges[layer, i, j]), 3)}"
        told += ", in the minimum cut" if cut else ""
        parts.append(
            f'<path class="{"cut" if cut else "edge"}" d="{path}" stroke-width="{0.6 + thickest * share:.2f}" '
            f'stroke-opacity="{0.55 if cut else 0.22 + 0.33 * share:.2f}"><title>{told}</title></path>'
        )
        if cut:
            middle_x, middle_y = (x[i] + x[j]) / 2, (above + below) / 2
            parts.append(f'<path class="tick" d="M{middle_x - 6:.1f} {middle_y:.1f}h12"/>')
    thin = f'<path class="edge" d="{"".join(hairs)}" stroke-width="0.8" stroke-opacity="0.24"/>' if hairs else ""
    return thin + "".join(parts)


def _nodes(flow: FlowPicture, x: FloatArray, y: FloatArray, step: float) -> str:
    largest = float(flow.through.max(initial=0.0)) or 1.0
    parts = []
    for layer in range(flow.layers + 1):
        for i, amount in enumerate(flow.through[layer].tolist()):
            radius = 1.2 + min(7.5, step * 0.28) * float(np.sqrt(max(amount, 0.0) / largest))
            told = f"{escape(flow.columns[i])}, {_layer(layer, flow.layers)}: {rounded(amount, 3)}"
            parts.append(
                f'<circle class="node" cx="{x[i]:.1f}" cy="{y[layer]:.1f}" r="{radius:.1f}"><title>{told}</title></circle>'
            )
    return "".join(parts)


def _outer_cut(flow: FlowPicture, x: FloatArray, y: FloatArray) -> str:
    """Arcs of the source and of the sink that belong to the cut: a bar above the output, or below the input."""
    parts = []
    for amounts, level in ((flow.source_cut, float(y[-1]) - 15), (flow.sink_cut, float(y[0]) + 15)):
        for i in np.flatnonzero(amounts > 0):
            told = f"{escape(flow.columns[i])}: {rounded(float(amounts[i]), 3)}, in the minimum cut"
            parts.append(f'<path class="tick" d="M{x[i] - 7:.1f} {level:.1f}h14"><title>{told}</title></path>')
    return "".join(parts)


def _labels(flow: FlowPicture, x: FloatArray, y: FloatArray) -> str:
    parts = [
        f'<text class="layer" x="0" y="{y[layer] + 4:.1f}">{_layer(layer, flow.layers)}</text>'
        for layer in range(flow.layers + 1)
    ]
    for i, name in enumerate(flow.columns):
        short = name if len(name) <= LABEL else name[: LABEL - 1] + "…"
        at = f"{x[i] + 4:.1f} {y[0] + 28:.1f}"
        parts.append(f'<text transform="translate({at}) rotate(-48)" text-anchor="end">{escape(short)}</text>')
    return "".join(parts)


def _layer(layer: int, last: int) -> str:
    return "input" if layer == 0 else "output" if layer == last else f"layer {layer}"
