"""Values of training data made visible: a ranked table, suspects, and removal curves as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from accredit.core.plain import rounded
from accredit.evaluate.data import Curve
from accredit.valuation.report import Valuation
from accredit.views.columns import printable, table
from accredit.views.engine import render
from accredit.views.numbers import BRIEF
from accredit.views.page import page
from accredit.views.parts import attribution_table, claims_table
from accredit.views.text import facts, text
from accredit.views.words import PAIRS

if TYPE_CHECKING:
    from markupsafe import Markup

SHOWN = 20  # players in the terminal
TEXT = 48  # characters of a row's text
DOTS = "▁▂▃▄▅▆▇█"
DASHES = ("", "7 3", "2 3")  # highest first, lowest first, at random: so that they differ without colours, too


def valuation_text(report: Valuation, rows: int = SHOWN) -> str:
    """The report for a terminal."""
    lines = [f"payoff: {report.payoff}", *_ranked(report, rows)]
    if report.suspects:
        lines += ["", "likely mislabelled (the model does better without them)"]
        cells = [[s.player, printable(s.label), rounded(s.credit), str(s.surely)] for s in report.suspects]
        head, *listed = table(["row", "label", "value", "certainty"], cells)
        texts = [_short(s.text) for s in report.suspects]
        lines += [head, *(f"{line}  {text}".rstrip() for line, text in zip(listed, texts, strict=True))]
    if report.synergy:
        lines += ["", PAIRS]
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
    low, high = _extent(among)
    heights = (curve.payoffs - low) / ((high - low) or 1.0)
    return "".join(DOTS[min(7, int(8 * h))] for h in heights)


def valuation_page(report: Valuation, title: str) -> str:
    """The report as one self-contained HTML file."""
    pairs = [(" + ".join(pair), rounded(index)) for pair, index in report.synergy]
    body = render(
        "valuation", "body",
        payoff=report.payoff, values=attribution_table(report.values.ranked()), suspects=_suspects(report), pairs=pairs,
        curves=curves_svg(report.curves) if report.curves else "", claims=claims_table(report.values),
    )  # fmt: skip
    return page(title, body)


def _suspects(report: Valuation) -> tuple[list[str], list[list[str]]] | None:
    """Header and rows; the column of texts only where there are any."""
    if not report.suspects:
        return None
    header = ["row", "label", "value", "certainty", "text"]
    shown = len(header) if any(s.text for s in report.suspects) else len(header) - 1
    rows = [[s.player, s.label, rounded(s.credit), str(s.surely), s.text][:shown] for s in report.suspects]
    return header[:shown], rows


def curves_svg(curves: Sequence[Curve], width: int = 560, height: int = 260) -> Markup:
    """Curves as one picture with axes, a legend, and a description for people who do not see it."""
    low, high = _extent(curves)
    span = (high - low) or 1.0

    def at(fraction: float, payoff: float) -> str:
        return f"{50 + fraction * (width - 70):.1f},{20 + (high - payoff) / span * (height - 60):.1f}"

    lines = []
    for k, curve in enumerate(curves):
        points = " ".join(at(f, p) for f, p in zip(curve.fractions.tolist(), curve.payoffs.tolist(), strict=True))
        lines.append((points, k % 3, DASHES[k % 3], f"{curve.label}: mean {rounded(curve.area, BRIEF)}"))
    return render(
        "valuation", "curves",
        width=width, height=height, tall=height + 10 + 18 * len(curves), says="; ".join(line[-1] for line in lines),
        high=rounded(high, BRIEF), low=rounded(low, BRIEF), lines=lines,
    )  # fmt: skip


def _extent(curves: Sequence[Curve]) -> tuple[float, float]:
    """The lowest and the highest payoff of all curves."""
    every = np.concatenate([c.payoffs for c in curves])
    return float(every.min()), float(every.max())
