"""Training data made visible: which labels are wrong, what each row is worth, and removal curves as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.json_data import round_off
from accredit.core import Attribution
from accredit.evaluate.data import Curve
from accredit.training_data.report import DataReport, Valuation
from accredit.training_data.suspects import ROWS_LISTED, Harmful
from accredit.valuation.harmonics import READING
from accredit.views.columns import printable, table
from accredit.views.engine import render
from accredit.views.labels_view import labels_body, labels_text, short, state
from accredit.views.numbers import BRIEF, between, column
from accredit.views.page import page
from accredit.views.parts import Who, attribution_table, claims_table
from accredit.views.text import facts, text
from accredit.views.words import PAIRS, leaders, sentence

if TYPE_CHECKING:
    from markupsafe import Markup

QUESTION = "What is each row worth?"
WORTH = "worth"  # what the number of a row is called
HARMFUL = (
    "The model does better without these rows: their worth is below zero and far below that of the others. The worst are "
    f"listed, {ROWS_LISTED} at most; they need not be labelled wrongly."
)
SHOWN = 20  # players in the terminal
TEXT, ROW_TEXT = 48, 160  # characters of a row's text in the terminal, and on a page
DOTS = "▁▂▃▄▅▆▇█"
DASHES = ("", "7 3", "2 3")  # highest first, lowest first, at random: so that they differ without colours, too


def report_text(report: DataReport, rows: int = SHOWN) -> str:
    """Both answers for a terminal, each under its question."""
    parts = []
    if report.labels is not None or report.unanswered:
        parts.append("\n".join(labels_text(report.labels, report.unanswered)))
    if report.worth is not None:
        parts.append(f"{QUESTION.upper()}\n{valuation_text(report.worth, rows)}")
    if report.notes:
        parts.append("\n".join(f"note: {printable(note)}" for note in report.notes))
    return "\n\n".join(parts)


def valuation_text(report: Valuation, rows: int = SHOWN) -> str:
    """What the rows are worth, for a terminal."""
    lines = [f"payoff: {report.payoff}", *(f"warning: {w}" for w in report.warnings), *_rank(report, rows)]
    if report.harmful:
        lines += ["", HARMFUL]
        cells = [[s.player, printable(s.label), round_off(s.credit), str(s.surely)] for s in report.harmful]
        head, *listed = table(["row", "label", WORTH, "certainty"], cells)
        texts = [short(s.text, TEXT) for s in report.harmful]
        lines += [head, *(f"{line}  {text}".rstrip() for line, text in zip(listed, texts, strict=True))]
    if report.silent:
        lines += ["", f"no row is called harmful: {report.silent}"]
    if report.synergy:
        lines += ["", PAIRS]
        pairs = [[printable(" + ".join(pair)), round_off(index)] for pair, index in report.synergy]
        lines += table(["pair", "index"], pairs, [index for _, index in report.synergy])
    if report.curves:
        lines += ["", "payoff while players are removed, from all (left) to none (right)"]
        lines += table(["", "", "mean"], [[c.label, spark(c, report.curves), round_off(c.area)] for c in report.curves])
    if said := linear_words(report.values):
        lines += ["", said]
    if report.trained or report.recalled:
        found = f", {report.recalled:,} found in the journal" if report.recalled else ""
        lines.append(f"{report.trained:,} trainings paid for{found}")
    return "\n".join(lines)


def linear_words(values: Attribution) -> str:
    """How much of what the model learns is linear in who takes part, where a datamodel read it; else empty."""
    found = values.certificate.get(READING)
    if not found:
        return ""
    linear, pairs = (_share(*found[degree]) for degree in ("linear", "pairs"))
    return (
        f"Of the variance over {found['subsets']:,} random parts, each player in them with chance {found['fraction']:g}, "
        f"{linear} is linear in who takes part, which is all that these scores can predict; {pairs} is of pairs. The rest "
        f"is of more players together, or noise of training. Intervals of {found['level']:.0%}."
    )


def _share(value: float, low: float, high: float) -> str:
    """A share as far as it is known: an estimate without bias may lie outside of 0 to 1, where no share does.

    >>> _share(0.988, 0.749, 1.23), _share(-0.2, -1.6, 1.2)
    ('0.988 (0.75 … 1.00)', 'an unknown share')
    """
    if low <= 0 and high >= 1:
        return "an unknown share"
    value, low, high = (min(max(number, 0.0), 1.0) for number in (value, low, high))
    return f"{round_off(value, BRIEF)} ({between(low, high, BRIEF)})"


def _rank(report: Valuation, rows: int) -> list[str]:
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


def spark(curve: Curve, among: Sequence[Curve]) -> str:
    """A curve in eight heights, on the scale of all curves."""
    low, high = _extent(among)
    heights = (curve.payoffs - low) / ((high - low) or 1.0)
    return "".join(DOTS[min(7, int(8 * h))] for h in heights)


def report_page(report: DataReport, of: str) -> str:
    """Both answers about the data `of` as one self-contained HTML file."""
    asked = report.labels is not None or report.unanswered
    labels = labels_body(report.labels, report.unanswered) if asked else ""
    worth = "" if report.worth is None else _worth(report.worth)
    notes = [sentence(note) for note in report.notes]
    body = render("valuation", "body", answer=_answer(report), labels=labels, worth=worth, notes=notes)
    return page(_question(bool(labels), bool(worth), of), body, script_of="sorting")


def _question(labels: bool, worth: bool, of: str) -> str:
    """What was asked of the data: whose label is wrong, what a row is worth, or both.

    >>> _question(True, True, "a.csv"), _question(False, True, "a.csv")
    ('Which labels of a.csv are wrong, and what is each row worth?', 'What is each row of a.csv worth?')
    """
    if labels:
        return f"Which labels of {of} are wrong{', and what is each row worth' * worth}?"
    return f"What is each row of {of} worth?"


def _answer(report: DataReport) -> str:
    """Both answers in a sentence each."""
    said = []
    if report.labels is not None:
        count = len(report.labels.suspects)
        said.append(f"{count:,} of {len(report.labels.names):,} labels are suspect." if count else f"{state(report.labels)}.")
    if report.worth is not None:
        said.append(leaders(report.worth.values, "is worth most", worst(report.worth.harmful)))
    return " ".join(said)


def worst(harmful: Sequence[Harmful]) -> str:
    """What is said of the row of least worth: that it does harm, only where the library calls rows harmful."""
    return "does most harm" if harmful else "is worth least"


def people(report: Valuation) -> dict[str, Who]:
    """What is known of the rows that are named: label and text, and whether they do harm."""
    harm = {h.player: f"The model does better without it ({h.surely})." for h in report.harmful}
    found = {}
    for name in report.values.players:
        label, text = report.rows.labels.get(name, ""), report.rows.texts.get(name, "")
        found[name] = Who(name, label, short(text, ROW_TEXT), tuple(filter(None, [harm.get(name, "")])))
    return found


def _worth(report: Valuation) -> Markup:
    """What the rows are worth, as a piece of a page."""
    known = people(report)
    together = column([index for _, index in report.synergy])
    pairs = [(" + ".join(pair), index) for (pair, _), index in zip(report.synergy, together, strict=True)]
    rows = [
        (Who(h.player, h.label, short(h.text, ROW_TEXT)), credit, str(h.surely))
        for h, credit in zip(report.harmful, column([h.credit for h in report.harmful]), strict=True)
    ]
    return render(
        "valuation",
        "worth",
        question=QUESTION,
        payoff=sentence(report.payoff),
        warnings=[sentence(warning) for warning in report.warnings],
        values=attribution_table(report.values.ranked(), known, header=("row", WORTH), sorts=True),
        harmful=(["row", WORTH, "certainty"], rows),
        why=HARMFUL,
        silent=report.silent,
        linear=linear_words(report.values),
        pairs=pairs,
        curves=curves_svg(report.curves) if report.curves else "",
        claims=claims_table(report.values),
    )


def curves_svg(curves: Sequence[Curve], width: int = 560, height: int = 260) -> Markup:
    """Curves as one picture with axes, a legend, and a description for people who do not see it."""
    low, high = _extent(curves)
    span = (high - low) or 1.0

    def at(fraction: float, payoff: float) -> str:
        return f"{50 + fraction * (width - 70):.1f},{20 + (high - payoff) / span * (height - 60):.1f}"

    lines = []
    for k, curve in enumerate(curves):
        points = " ".join(at(f, p) for f, p in zip(curve.fractions.tolist(), curve.payoffs.tolist(), strict=True))
        lines.append((points, k % 3, DASHES[k % 3], f"{curve.label}: mean {round_off(curve.area, BRIEF)}"))
    return render(
        "valuation",
        "curves",
        width=width,
        height=height,
        tall=height + 10 + 18 * len(curves),
        says="; ".join(line[-1] for line in lines),
        high=round_off(high, BRIEF),
        low=round_off(low, BRIEF),
        lines=lines,
    )


def _extent(curves: Sequence[Curve]) -> tuple[float, float]:
    """The lowest and the highest payoff of all curves."""
    every = np.concatenate([c.payoffs for c in curves])
    return float(every.min()), float(every.max())
