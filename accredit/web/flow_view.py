"""The flow view: the drawing, and every token's credit beside the range it has over all max flows."""

from __future__ import annotations

import numpy as np

from accredit.attention import FlowReport
from accredit.core import Attribution, FloatArray
from accredit.core.plain import rounded
from accredit.explanation.result import FlowPicture
from accredit.views.escape import escape
from accredit.views.flow import flow_svg
from accredit.views.parts import bar, claims_table, grid, number

COLLAPSED = 0.5  # share of pairs from which the reader is warned


def flow_body(
    drawing: FlowPicture,
    credit: Attribution,
    layer: int,
    rule: str,
    ranges: FloatArray | None,  # (players, 2)
    report: FlowReport | None,
) -> str:
    """The drawing, then every token's credit beside the range it has over all max flows."""
    parts = [_warning(report)] if report is not None else []
    parts.append(
        f"<p>Width is flow, {rounded(drawing.value)} in all, from the output above down to the text. "
        f'<span class="key cut"></span>marks one minimum cut: no flow is larger than what it lets through.</p>'
    )
    if rule == "shapley":
        parts.append("<p class='soft'>Drawn is the barrier's flow: the Shapley rule shares without choosing edges.</p>")
    told = "Drawing of the flow, layer by layer"
    parts.append(
        f'<figure><div class="wide" tabindex="0" role="region" aria-label="{told}">{flow_svg(drawing)}</div></figure>'
    )
    if report is not None:
        parts += [f"<p>{escape(line)}</p>" for line in report.summary.splitlines()[:-1]]
    where = "input" if layer == 0 else "output" if layer == drawing.layers else f"layer {layer}"
    parts.append(f"<h2>Credit of the tokens at the {where}</h2>{_credit(credit, ranges, layer in (0, drawing.layers))}")
    return "".join(parts) + claims_table(credit)


def _warning(report: FlowReport) -> str:
    if report.collapse_share <= COLLAPSED:
        return ""
    return (
        f'<p class="warning" role="note"><strong>Collapse.</strong> For {report.collapse_share:.0%} of the pairs seen, the '
        "flow between two tokens is min(what leaves the one, what enters the other): all layers between say nothing.</p>"
    )


def _credit(credit: Attribution, ranges: FloatArray | None, reached: bool) -> str:
    top = float(max(credit.credit.max(), 0.0 if ranges is None else ranges.max())) or 1.0
    rows = []
    for k in np.argsort(-credit.credit, kind="stable").tolist():
        value = float(credit.credit[k])
        low, high = (value, value) if ranges is None else ranges[k].tolist()
        told = "…" if ranges is None else f"{number(low, False)} … {number(high, False)}"
        rows.append(
            [escape(credit.players[k]), number(value, False), told, bar(value, (0.0, top), (low, high), signed=False)]
        )
    ends = (
        "Both ends are reached by some max flow." if reached else "No max flow leaves these bounds; they may be wide."
    )
    header = ["token", "credit", "over all max flows", ""]
    return f'<p class="soft">Thin lines: what a max flow may send through the token. {ends}</p>{grid(header, rows)}'
