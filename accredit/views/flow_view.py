"""The flow view: the drawing, and every token's credit beside the range it has over all max flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accredit.attention import FlowReport
from accredit.core import Attribution, FloatArray
from accredit.core.plain import rounded
from accredit.explanation.result import FlowPicture
from accredit.views.engine import render
from accredit.views.flow import flow_svg, left_out
from accredit.views.numbers import BRIEF, between, brief, percent
from accredit.views.page import page
from accredit.views.palette import level
from accredit.views.parts import Bar, bar, claims_table
from accredit.views.words import layer_word

if TYPE_CHECKING:
    from markupsafe import Markup

COLLAPSED = 0.5  # share of pairs from which the reader is warned
ROWS = 40  # tokens with a row of their own; the others are listed
REACHED = "Both ends are reached by some max flow."
BOUNDS = "No max flow leaves these bounds; they may be wide."


class Credited(NamedTuple):
    """A token's row: its credit as a number and as a bar, and the range it has over all max flows, if that is known."""

    name: str
    credit: str
    bar: Bar
    ends: str


def flow_body(
    drawing: FlowPicture,
    credit: Attribution,
    layer: int,
    rule: str,
    tokens: Sequence[tuple[str, str]] = (),  # what each token shows, and its player
    ranges: FloatArray | None = None,  # (players, 2)
    report: FlowReport | None = None,
) -> Markup:
    """The drawing, the text coloured by its credit, then every token's credit beside its range over all max flows."""
    warning = _collapse(report) if report is not None else ""
    lines = report.summary.splitlines() if report is not None else []
    order = np.argsort(-credit.credit, kind="stable").tolist()
    reached = layer in (0, drawing.layers)
    return render(
        "flow", "body",
        warning=warning, whole=rounded(drawing.value), rule=rule, drawing=flow_svg(drawing), left_out=left_out(drawing),
        lines=[line for line in lines if not (warning and line.startswith("Collapse"))],
        where=layer_word(layer, drawing.layers), strip=_strip(credit, tokens),
        ends="" if ranges is None else REACHED if reached else BOUNDS,
        header=["token", "credit", "", *["over all max flows"] * (ranges is not None)],
        rows=_rows(credit, ranges, order[:ROWS]), rest_of=_rest(credit, order[ROWS:]), claims=claims_table(credit),
    )  # fmt: skip


def flow_page(text: str, body: Markup) -> str:
    """The flow view as one file, under the text that was read."""
    return page("How attention flows", render("flow", "quoted", text=text, body=body))


def _collapse(report: FlowReport) -> str:
    """What the reader is warned of, if most flows between two tokens do not depend on the layers between them."""
    if report.collapse_share <= COLLAPSED:
        return ""
    pairs = f"{report.collapse_pairs} {'random ' * report.collapse_sampled}pairs"
    return (
        f"For {percent(report.collapse_share)} of {pairs}, the flow between two tokens is just the smaller of what leaves one "
        "and what enters the other: the layers between them make no difference."
    )


def _strip(credit: Attribution, tokens: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """The text, darker where more flow passes: each token's text, colour and label."""
    amount = dict(zip(credit.players, credit.credit.tolist(), strict=True))
    largest = max(amount.values(), default=0.0)
    return [
        (shown, level(amount[player], largest, signed=False), f"{player}: {brief(amount[player], False)}")
        for shown, player in tokens
        if player in amount
    ]


def _rows(credit: Attribution, ranges: FloatArray | None, places: Sequence[int]) -> list[Credited]:
    top = float(max(credit.credit.max(), 0.0 if ranges is None else ranges.max())) or 1.0
    rows = []
    for k in places:
        value = float(credit.credit[k])
        low, high = (value, value) if ranges is None else ranges[k].tolist()
        drawn = bar(value, (0.0, top), (low, high), signed=False)
        ends = "" if ranges is None else between(low, high, BRIEF)
        rows.append(Credited(credit.players[k], brief(value, False), drawn, ends))
    return rows


def _rest(credit: Attribution, places: Sequence[int]) -> tuple[str, list[str]] | None:
    """Tokens of little credit, as one text: hundreds of rows with drawings would make the page heavy."""
    if not places:
        return None
    whole = rounded(float(credit.credit[list(places)].sum()), BRIEF)
    items = [f"{credit.players[k]} {brief(float(credit.credit[k]), False)}" for k in places]
    return f"{len(places)} more tokens of smaller credit, {whole} together", items
