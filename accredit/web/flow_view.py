"""The flow view: the drawing, and every token's credit beside the range it has over all max flows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accredit.attention import FlowReport
from accredit.core import Attribution, FloatArray
from accredit.core.plain import rounded
from accredit.explanation.result import FlowPicture
from accredit.views.escape import escape
from accredit.views.flow import flow_svg, left_out
from accredit.views.palette import level
from accredit.views.parts import bar, claims_table, grid, number

COLLAPSED = 0.5  # share of pairs from which the reader is warned
ROWS = 40  # tokens with a row of their own; the others are listed


def flow_body(
    drawing: FlowPicture,
    credit: Attribution,
    layer: int,
    rule: str,
    tokens: Sequence[tuple[str, str]] = (),  # what each token shows, and its player
    ranges: FloatArray | None = None,  # (players, 2)
    report: FlowReport | None = None,
) -> str:
    """The drawing, the text coloured by its credit, then every token's credit beside its range over all max flows."""
    collapsed = report is not None and report.collapse_share > COLLAPSED
    parts = [_warning(report)] if report is not None and collapsed else []
    parts.append(
        f"<p>Width is flow, {rounded(drawing.value)} in all, from the output above down to the text. "
        f'<span class="key cut"></span>marks one minimum cut: no flow is larger than what it lets through.</p>'
    )
    if rule == "shapley":
        parts.append("<p class='soft'>Drawn is the barrier's flow: the Shapley rule shares without choosing edges.</p>")
    told = "Drawing of the flow, layer by layer"
    parts.append(
        f'<figure><div class="wide" tabindex="0" role="region" aria-label="{told}">{flow_svg(drawing)}</div>'
        f'<figcaption class="small">{left_out(drawing)}</figcaption></figure>'
    )
    if report is not None:
        lines = report.summary.splitlines()
        parts += [f"<p>{escape(line)}</p>" for line in lines if not (collapsed and line.startswith("Collapse"))]
    where = "input" if layer == 0 else "output" if layer == drawing.layers else f"layer {layer}"
    parts += [f"<h2>Credit of the tokens at the {where}</h2>", _strip(credit, tokens)]
    parts += [_credit(credit, ranges, layer in (0, drawing.layers)), claims_table(credit)]
    return "".join(parts)


def _warning(report: FlowReport) -> str:
    return (
        f'<p class="warning" role="note"><strong>Collapse.</strong> For {report.collapse_share:.0%} of '
        f"{report.collapse_pairs} {'random ' * report.collapse_sampled}pairs, the flow between two tokens is min(what leaves "
        "the one, what enters the other): the layers between say nothing.</p>"
    )


def _strip(credit: Attribution, tokens: Sequence[tuple[str, str]]) -> str:
    """The text, darker where more flow passes."""
    amount = dict(zip(credit.players, credit.credit.tolist(), strict=True))
    largest = max(amount.values(), default=0.0)
    drawn = [
        f'<span class="t {level(amount[player], largest, signed=False)}" title="{escape(player)}: '
        f'{number(amount[player], False)}">{escape(shown)}</span>'
        for shown, player in tokens
        if player in amount
    ]
    return f'<p class="strip read">{" ".join(drawn)}</p>' if drawn else ""


def _credit(credit: Attribution, ranges: FloatArray | None, reached: bool) -> str:
    top = float(max(credit.credit.max(), 0.0 if ranges is None else ranges.max())) or 1.0
    order = np.argsort(-credit.credit, kind="stable").tolist()
    header = ["token", "credit", "", *(["over all max flows"] if ranges is not None else [])]
    rows = []
    for k in order[:ROWS]:
        value = float(credit.credit[k])
        low, high = (value, value) if ranges is None else ranges[k].tolist()
        row = [escape(credit.players[k]), number(value, False), bar(value, (0.0, top), (low, high), signed=False)]
        rows.append(row if ranges is None else [*row, f"{number(low, False)} … {number(high, False)}"])
    thin = ""
    if ranges is not None:
        ends = (
            "Both ends are reached by some max flow."
            if reached
            else "No max flow leaves these bounds; they may be wide."
        )
        thin = f'<p class="soft">Thin lines: what a max flow may send through the token. {ends}</p>'
    return thin + grid(header, rows) + _rest(credit, order[ROWS:])


def _rest(credit: Attribution, places: Sequence[int]) -> str:
    """Tokens of little credit, as one text: hundreds of rows with drawings would make the page heavy."""
    if not places:
        return ""
    whole = float(credit.credit[list(places)].sum())
    told = " · ".join(f"{escape(credit.players[k])} {number(float(credit.credit[k]), False)}" for k in places)
    return (
        f"<details><summary>{len(places)} more tokens of smaller credit, {rounded(whole, 3)} together</summary>"
        f'<p class="small soft rest">{told}</p></details>'
    )
