"""Which labels are wrong, on a terminal: the list with what to expect of it, and what was noticed beside it."""

from __future__ import annotations

from accredit.labels.annotators import Annotator
from accredit.labels.result import WrongLabels
from accredit.training_data.suspects import suspects
from accredit.views.language.printable import excerpt, printable
from accredit.views.terminal.columns import table

QUESTION = "Which labels are wrong?"
SHOWN, ODD, TEXT = 20, 5, 60  # suspects and oddities in the terminal, characters of a text
CONFUSED, RATED = 5, 12  # confusions and annotators in the terminal
CANNOT = (
    "What cannot be known from the data: how many errors look right to every model, and how many hard rows look wrong. The "
    "interval covers what was seen on other data with known errors; if hardly any label is wrong, the list is of hard rows."
)


def labels_text(found: WrongLabels | None, unanswered: str = "") -> list[str]:
    """The answer as lines for a terminal."""
    if found is None:
        return [QUESTION.upper(), f"not answered: {unanswered}"]
    lines = [QUESTION.upper(), state(found)]
    if found.suspects:
        listed = suspects(found)[:SHOWN]
        cells = [
            [printable(s.row), printable(s.given), printable(s.suggested), f"{s.probability:.0%}", excerpt(s.text, TEXT)]
            for s in listed
        ]
        lines += table(["row", "label", "rather", "wrong", ""], cells, left=True)
        more = len(found.suspects) - len(listed)
        lines += [f"… {more} more; the JSON, the page, the CSV of labels and the written table list all of them"] * (more > 0)
    lines += [*_confused(found), *_rated(found), evidence(found), *_odd(found), *found.notes]
    return [*lines, *([CANNOT] if found.suspects else [])]


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


def state(found: WrongLabels) -> str:
    """The verdict with its interval, as one sentence."""
    said = found.verdict[:1].upper() + found.verdict[1:]
    if found.precision_interval is None:
        return said
    low, high = found.precision_interval
    return f"{said} (90% interval {low:.0%} to {high:.0%})"


def evidence(found: WrongLabels) -> str:
    """By what the rows were judged, and how well that tells moved labels from others."""
    said = f"Judged by {', '.join(found.seen_as)}"
    if found.majority:
        said += (
            f": a model predicts {found.agreement:.0%} of the labels (always guessing the largest class: {found.majority:.0%})"
        )
    if found.evidence:
        said += (
            f". A label moved at random is told from one as given with an area of {found.evidence[0].area:.2f}, ½ being chance"
        )
    return said


def _odd(found: WrongLabels) -> list[str]:
    odd, lines = found.oddities, []
    two = [f"{found.names[i]} ({found.given[i]}) ≈ {found.names[j]} ({found.given[j]})" for i, j in odd.contradictions]
    same = [f"{found.names[i]} ≈ {found.names[j]}" for i, j in odd.duplicates[len(odd.contradictions) :]]
    alone = [found.names[i] for i in odd.outliers]
    for said, listed in (
        ("nearly the same row with two labels, one of them likely wrong", two),
        ("near-duplicates", same),
        ("unlike all others", alone),
    ):
        if listed:
            more = f", … {len(listed) - ODD} more" if len(listed) > ODD else ""
            lines.append(f"{said} ({len(listed)}): {printable(', '.join(listed[:ODD]))}{more}")
    return lines
