"""Figures with matplotlib, of attributions and explanations of every kind: `result.plot` has those that suit a result."""

from accredit.views.figures.explanation_figures import bars, flow, overlay, strip
from accredit.views.figures.table_figures import (
    bar,
    beeswarm,
    decision,
    force,
    heatmap,
    network,
    pair_heatmap,
    scatter,
    waterfall,
)

__all__ = [
    "bar",
    "bars",
    "beeswarm",
    "decision",
    "flow",
    "force",
    "heatmap",
    "network",
    "overlay",
    "pair_heatmap",
    "scatter",
    "strip",
    "waterfall",
]
