"""Figures with matplotlib, of attributions and explanations of every kind: `result.plot` has those that suit a result."""

from accredit.views.figures.column_figures import bar, beeswarm, group_difference, violin
from accredit.views.figures.dependence_figures import effect, scatter
from accredit.views.figures.explanation_figures import bars, flow, overlay, strip
from accredit.views.figures.interaction_figures import network, pair_heatmap
from accredit.views.figures.row_figures import force, waterfall
from accredit.views.figures.rows_figures import decision, heatmap, monitor

__all__ = [
    "bar",
    "bars",
    "beeswarm",
    "decision",
    "effect",
    "flow",
    "force",
    "group_difference",
    "heatmap",
    "monitor",
    "network",
    "overlay",
    "pair_heatmap",
    "scatter",
    "strip",
    "violin",
    "waterfall",
]
