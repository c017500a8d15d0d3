"""Which labels are wrong, on a terminal: the list with what to expect of it, and what was noticed beside it."""

from __future__ import annotations

from collections.abc import Sequence

from accredit.labels.annotators import Annotator
from accredit.labels.result import WrongLabels
from accredit.training_data.suspects import suspects
from accredit.views.language.headlines import labels_headline
from accredit.views.language.printable import excerpt, printable
from accredit.views.terminal.columns import table
from accredit.views.terminal.screen import clip

QUESTION = "Which labels are wrong?"
SHOWN, ODD, TEXT = 20, 5, 60  # suspects and oddities in the terminal, characters of a text
CONFUSED, RATED = 5, 12  # confusions and annotators in the terminal
CANNOT = (
    "What cannot be known from the data: how many errors look right to every model, and how many hard rows look wrong. The "
    "interval covers what was seen on other data with known errors; if hardly any label is wrong, the list is of hard rows."
)


def labels_text(found: WrongLabels | None, unanswered: str = "", rows: int = SHOWN) -> tuple[str, list[str], list[str]]:
    """The answer in a sentence, its list, and what else is known about it."""
    if found is None:
        return f"Which labels are wrong was not answered: {unanswered}", [], []
    lines: list[str] = []
    if found.suspects:
        listed = suspects(found)[:rows]
        cells = [
            [printable(s.row), printable(s.given), printable(s.suggested), f"{s.probability:.0%}", excerpt(s.text, TEXT)]
            for s in listed
        ]
        lines = ["", *clip(table(["row", "label", "rather", "wrong", ""], cells, left=True))]
        more = len(found.suspects) - len(listed)
        lines += [f"… {more} more; JSON, page, CSV and the written table list all of them"] * (more > 0)
    details = [*_confused(found), *clip(_rated(found)), evidence(found), *_odd(found), *found.notes]
    return labels_headline(found).text, lines, [*details, *([CANNOT] if found.suspects else [])]


def _confused(found: WrongLabels) -> list[str]:
    """Which class is written as which, in words."""
    if not found.confusions:
        return []
    more = f", … {len(found.confusions) - CONFUSED} more" if len(found.confusions) > CONFUSED else ""
    return [f"Confused: {printable(', '.join(map(str, found.confusions[:CONFUSED])))}{more}"]


def _rated(found: WrongLabels) -> list[str]:
    """Who labels how well, as a table."""
    if not found.annotators:
        return []
    cells = [
        [printable(a.name), f"{a.labels:,}", f"{a.rate:.0%}", f"{a.low:.0%} to {a.high:.0%}", agrees(a)]
        for a in found.annotators[:RATED]
    ]
    more = len(found.annotators) - RATED
    header = ["annotator", "labels", "wrong", "90% interval", "agrees with others"]
    return [*table(header, cells, left=True), *[f"… {more} more annotators"] * (more > 0)]


def agrees(annotator: Annotator) -> str:
    """How often an annotator agrees with another one."""
    return "–" if annotator.agreement is None else f"{annotator.agreement:.0%}"


def evidence(found: WrongLabels) -> str:
    """By what the rows were judged, and how well that tells moved labels from others."""
    said = f"Judged by {', '.join(found.seen_as)}"
    if not found.is_of_numbers:
        said += (
            f": a model predicts {found.agreement:.0%} of the labels (always guessing the largest class: {found.majority:.0%})"
        )
    if found.evidence:
        area = found.evidence[0].area
        said += f". It tells labels moved at random from the others with an area under the curve of {area:.2f} (chance: 0.5)"
    return said


def _odd(found: WrongLabels) -> list[str]:
    odd, lines = found.oddities, []
    two, same = odd.contradictions, odd.duplicates[len(odd.contradictions) :]
    for said, listed in (
        ("Nearly the same row with two labels, one of them likely wrong", two),
        ("Near-duplicates", same),
        ("Unlike all others", tuple((row,) for row in odd.outliers)),
    ):
        if listed:
            lines.append(f"{said} ({len(listed)}):")
            for rows in listed[:ODD]:
                lines += _rows(found, rows, labelled=listed is two)
            lines += [f"  … {len(listed) - ODD} more"] * (len(listed) > ODD)
    return lines


def _rows(found: WrongLabels, rows: Sequence[int], labelled: bool) -> list[str]:
    """One line for rows that look the same, or one line for each, with its label, where that is what matters."""
    named = [(name, label, excerpt(found.excerpts.get(name, ""), TEXT)) for name, label in map(found.odd_row, rows)]
    if labelled:
        return [
            f"  {sign}{printable(n)} ({printable(k)})  {t}".rstrip()
            for sign, (n, k, t) in zip(("  ", "≈ "), named, strict=True)
        ]
    return [f"  {' ≈ '.join(printable(n) for n, _, _ in named)}  {named[0][2]}".rstrip()]
