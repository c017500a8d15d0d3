"""Training data as a page: which labels are wrong, what each row is worth, and removal curves as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from accredit.checks.json_data import round_off
from accredit.evaluate.data import Curve
from accredit.training_data.report import DataReport, Valuation
from accredit.training_data.suspects import Harmful, Sureness
from accredit.views.language.headlines import suspects_headline
from accredit.views.language.numbers import BRIEF, column
from accredit.views.language.phrases import sentence
from accredit.views.language.printable import excerpt
from accredit.views.pages.document import page
from accredit.views.pages.engine import render
from accredit.views.pages.labels_page import labels_body
from accredit.views.pages.parts import Who, attribution_table, claims_table
from accredit.views.terminal.valuation_text import (
    PURCHASES,
    WORTH,
    extent_of,
    first_words,
    harm_words,
    linear_words,
    purchase_cells,
    redundancy,
)

if TYPE_CHECKING:
    from markupsafe import Markup

ROW_TEXT = 160  # characters of a row's text
DASHES = ("", "7 3", "2 3")  # highest first, lowest first, at random: so that they differ without colours, too


def report_page(report: DataReport, of: str) -> str:
    """Both answers about the data `of` as one self-contained HTML file."""
    asked = report.labels is not None or report.unanswered
    labels = labels_body(report.labels, report.unanswered) if asked else ""
    worth = "" if report.worth is None else _worth(report.worth)
    notes = [sentence(note) for note in report.notes]
    body = render("valuation", "body", answer=_answer(report), labels=labels, worth=worth, notes=notes)
    player = None if report.worth is None else player_word(report.worth)
    return page(_question(bool(labels), player, of), body, script_of="sorting")


def _question(labels: bool, player: str | None, of: str) -> str:
    """What was asked of the data: whose label is wrong, what a row or group is worth, or both.

    >>> _question(True, "row", "a.csv"), _question(False, "group", "a.csv")
    ('Which labels of a.csv are wrong, and what is each row worth?', 'What is each group in a.csv worth?')
    """
    if labels:
        return f"Which labels of {of} are wrong{f', and what is each {player} worth' if player else ''}?"
    return f"What is each {player} in {of} worth?"


def player_word(report: Valuation) -> str:
    """Who is valued: rows, or groups of them."""
    return "row" if report.rows.groups is None else "group"


def _answer(report: DataReport) -> str:
    """Both answers in a sentence each."""
    said = []
    if report.labels is not None:
        said.append(suspects_headline(report.labels).text)
    if report.worth is not None:
        said.append(first_words(report.worth))
    return " ".join(said)


def people(report: Valuation) -> dict[str, Who]:
    """What is known of the rows that are named: label and text, and whether they do harm."""
    harm = {h.player: harm_of(h) for h in report.harmful}
    found = {}
    for name in report.values.players:
        label, text = report.rows.labels.get(name, ""), report.rows.texts.get(name, "")
        found[name] = Who(name, label, excerpt(text, ROW_TEXT), tuple(filter(None, [harm.get(name, "")])))
    return found


def harm_of(row: Harmful) -> str:
    """What is said of one row that does harm, as surely as it does."""
    return (
        "The model does better without it." if row.surely is Sureness.SURE else "Of the lowest worth; how surely is not known."
    )


def _worth(report: Valuation) -> Markup:
    """What the rows are worth, as a piece of a page."""
    known = people(report)
    together = column([index for _, index in report.synergy])
    pairs = [(" + ".join(pair), index) for (pair, _), index in zip(report.synergy, together, strict=True)]
    rows = [
        (Who(h.player, h.label, excerpt(h.text, ROW_TEXT)), credit, str(h.surely))
        for h, credit in zip(report.harmful, column([h.credit for h in report.harmful]), strict=True)
    ]
    return render(
        "valuation",
        "worth",
        player=player_word(report),
        payoff=sentence(report.payoff),
        warnings=[sentence(warning) for warning in report.warnings],
        values=attribution_table(report.values.ranked(), known, header=(player_word(report), WORTH), sorts=True),
        harmful=(["row", WORTH, "certainty"], rows),
        why=harm_words(report.values, report.harmful, report.rows),
        silent=report.silent,
        linear=linear_words(report.values),
        pairs=pairs,
        purchases=None
        if report.purchases is None
        else (PURCHASES, *purchase_cells(report.purchases), redundancy(report.purchases)),
        curves=curves_svg(report.curves) if report.curves else "",
        claims=claims_table(report.values),
    )


def curves_svg(curves: Sequence[Curve], width: int = 560, height: int = 260) -> Markup:
    """Curves as one picture with axes, a legend, and a description for people who do not see it."""
    low, high = extent_of(curves)
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
