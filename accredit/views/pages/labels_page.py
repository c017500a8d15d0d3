"""Which labels are wrong, as a piece of a page: the list with what to expect of it, and what was noticed beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accredit.labels.result import WrongLabels
from accredit.training_data.suspects import suspects
from accredit.views.language.headlines import labels_headline
from accredit.views.language.phrases import counted
from accredit.views.pages.engine import render
from accredit.views.pages.parts import Who
from accredit.views.terminal.labels_text import CANNOT, QUESTION, agrees, evidence

if TYPE_CHECKING:
    from markupsafe import Markup


def labels_body(found: WrongLabels | None, unanswered: str = "") -> Markup:
    """The answer as a piece of a page."""
    if found is None:
        return render("labels", "unanswered", question=QUESTION, why=unanswered)
    odd = found.oddities
    differing = [pair for pair in odd.duplicates if pair in set(odd.contradictions)]
    alike = [pair for pair in odd.duplicates if pair not in set(odd.contradictions)]

    def row(i: int) -> Who:
        name, label = found.odd_row(i)
        return Who(name, label, found.excerpts.get(name, ""))

    return render(
        "labels",
        "body",
        question=QUESTION,
        verdict=labels_headline(found).text,
        silent=not found.suspects,
        evidence=evidence(found),
        cannot=CANNOT,
        rows=[(Who(s.row, "", s.text), s.given, s.suggested, f"{s.probability:.0%}") for s in suspects(found)],
        confused=[(c.true, c.given, f"{c.share:.1%}", f"{c.rows:.0f}") for c in found.confusions],
        annotators=[
            (a.name, f"{a.labels:,}", f"{a.rate:.1%}", f"{a.low:.0%} to {a.high:.0%}", agrees(a)) for a in found.annotators
        ],
        tried=[(e.score, f"{e.area:.3f}") for e in found.evidence],
        pairs=[
            (f"{counted(len(listed), 'pair')} of near-duplicates {words}", [(row(i), row(j)) for i, j in listed])
            for words, listed in (("with two labels: one is likely wrong", differing), ("with one label", alike))
        ],
        outliers=[row(i) for i in odd.outliers],
        notes=list(found.notes),
    )
