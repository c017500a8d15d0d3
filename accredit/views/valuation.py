"""Values of training data made visible: a ranked table, suspects, and removal curves as a picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accredit.core.plain import rounded
from accredit.evaluate.data import Curve
from accredit.valuation.report import Valuation
from accredit.views.columns import printable, table
from accredit.views.escape import escape
from accredit.views.page import page
from accredit.views.parts import attribution_table, claims_table, grid
from accredit.views.text import facts, text

SHOWN = 20  # players in the terminal
TEXT = 48  # characters of a row's text
DOTS = "▁▂▃▄▅▆▇█"
DASHES = ("", "7 3", "2 3")  # highest first, lowest first, at random: told apart without colours, too


def valuation_text(report: Valuation, rows: int = SHOWN) -> str:
    """The report for a terminal."""
    lines = [f"payoff: {report.payoff}", *_ranked(report, rows)]
    if report.suspects:
        lines += ["", "likely mislabelled (the model does better without them)"]
        cells = [[s.player, printable(s.label), rounded(s.credit), str(s.surely)] for s in report.suspects]
        head, *listed = table(["row", "label", "value", "below zero"], cells)
        texts = [_short(s.text) for s in report.suspects]
        lines += [head, *(f"{line}  {text}".rstrip() for line, text in zip(listed, texts, strict=True))]
    if report.synergy:
        lines += ["", "interactions of pairs (positive: complements, negative: substitutes)"]
        pairs = [[printable(" + ".join(pair)), rounded(index)] for pair, index in report.synergy]
        lines += table(["pair", "index"], pairs, [index for _, index in report.synergy])
    if report.curves:
        lines += ["", "payoff while players are removed, from all (left) to none (right)"]
        lines += table(["", "", "mean"], [[c.label, spark(c, report.curves), rounded(c.area)] for c in report.curves])
    if report.trained or report.recalled:
        lines.append(f"{report.trained:,} trainings paid for, {report.recalled:,} found in the journal")
    return "\n".join(lines)


def _ranked(report: Valuation, rows: int) -> list[str]:
    """The highest and the lowest credits, and what is known about them."""
    values = report.values.ranked()
    if len(values) <= rows:
        return [text(values, rows)]
    low = rows // 3
    kept = values[[*range(rows - low), *range(len(values) - low, len(values))]]
    lines = text(kept, rows).split("\n")
    lines[0] = text(values, 1).split("\n")[0]
    ends = 2 + rows - low
    return [*lines[:ends], f"… {len(values) - rows} more …", *lines[ends : 2 + rows], *facts(values)]


def _short(text: str) -> str:
    plain = printable(text)
    return plain if len(plain) <= TEXT else plain[: TEXT - 1] + "…"


def spark(curve: Curve, among: Sequence[Curve]) -> str:
    """A curve in eight heights, on the scale of all curves."""
    every = np.concatenate([c.payoffs for c in among])
    low, high = float(every.min()), float(every.max())
    heights = (curve.payoffs - low) / ((high - low) or 1.0)
    return "".join(DOTS[min(7, int(8 * h))] for h in heights)


def valuation_page(report: Valuation, title: str) -> str:
    """The report as one self-contained HTML file."""
    body = [f"<p>payoff: {escape(report.payoff)}</p>", attribution_table(report.values.ranked())]
    if report.suspects:
        header = ["row", "label", "value", "below zero", "text"]
        shown = len(header) if any(s.text for s in report.suspects) else len(header) - 1
        rows = [
            [escape(s.player), escape(s.label), rounded(s.credit), str(s.surely), escape(s.text)]
            for s in report.suspects
        ]
        body.append("<h2>Likely mislabelled</h2>" + grid(header[:shown], [row[:shown] for row in rows]))
    if report.synergy:
        pairs = [[escape(" + ".join(pair)), rounded(index)] for pair, index in report.synergy]
        body.append("<h2>Interactions of pairs</h2>" + grid(["pair", "positive: complements"], pairs))
    if report.curves:
        body.append("<h2>Payoff while players are removed</h2>" + curves_svg(report.curves))
    return page(title, "".join(body) + claims_table(report.values))


def curves_svg(curves: Sequence[Curve], width: int = 560, height: int = 260) -> str:
    """Curves as one picture with axes, a legend and a description for readers without eyes for it."""
    every = np.concatenate([c.payoffs for c in curves])
    low, high = float(every.min()), float(every.max())
    span = (high - low) or 1.0

    def at(fraction: float, payoff: float) -> str:
        return f"{50 + fraction * (width - 70):.1f},{20 + (high - payoff) / span * (height - 60):.1f}"

    parts = []
    for number, curve in enumerate(curves):
        points = " ".join(at(f, p) for f, p in zip(curve.fractions.tolist(), curve.payoffs.tolist(), strict=True))
        look = f'class="curve c{number % 3}" stroke-dasharray="{DASHES[number % 3]}"'
        parts.append(f'<polyline points="{points}" {look}/>')
        parts.append(
            f'<path d="M50 {height + 12 + 18 * number}h28" {look}/>'
            f'<text x="86" y="{height + 16 + 18 * number}">{escape(curve.label)}: mean {rounded(curve.area, 3)}</text>'
        )
    says = "; ".join(f"{c.label}: mean {rounded(c.area)}" for c in curves)
    ticks = "".join(
        f'<text x="{50 + share * (width - 70):.0f}" y="{height - 24}" text-anchor="middle">{share:.0%}</text>'
        for share in (0.0, 0.5, 1.0)
    )
    axes = (
        f'<text x="4" y="26">{rounded(high, 3)}</text><text x="4" y="{height - 38}">{rounded(low, 3)}</text>{ticks}'
        f'<text x="{50 + (width - 70) / 2:.0f}" y="{height - 7}" text-anchor="middle">share of players removed</text>'
        f'<path class="axis" d="M50 20V{height - 40}H{width - 20}"/>'
    )
    tall = height + 10 + 18 * len(curves)
    return (
        f'<svg class="curves" role="img" aria-label="{escape(says)}" viewBox="0 0 {width} {tall}" width="{width}" '
        f'height="{tall}">{axes}{"".join(parts)}</svg>'
    )
