"""Which labels are wrong, on a terminal: the list with what to expect of it, and what was noticed beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accredit.labels.result import WrongLabels
from accredit.training_data.suspects import suspects
from accredit.views.language.printable import excerpt, printable
from accredit.views.terminal.columns import table

if TYPE_CHECKING:
    pass

QUESTION = "Which labels are wrong?"
SHOWN, ODD, TEXT = 20, 5, 60  # suspects and oddities in the terminal, characters of a text
CANNOT = (
    "What cannot be known from the data: whether wrong labels occur at random, as the planted ones did. Labels that are "
    "confused in a pattern look right to every model, and fewer of them are found than stated. Rare but right rows look wrong."
)


def labels_text(found: WrongLabels | None, unanswered: str = "") -> list[str]:
    """The answer as lines for a terminal."""
    if found is None:
        return [QUESTION.upper(), f"not answered: {unanswered}"]
    lines = [QUESTION.upper(), state(found)]
    if found.suspects:
        listed = suspects(found)[:SHOWN]
        cells = [[s.row, printable(s.given), printable(s.suggested), excerpt(s.text, TEXT)] for s in listed]
        lines += table(["row", "label", "rather", ""], cells, left=True)
        more = len(found.suspects) - len(listed)
        lines += [f"… {more} more; the JSON, the page and the CSV of labels list all of them"] * (more > 0)
    lines += [evidence(found), *_odd(found), *(f"not tried: {why}" for why in found.left_out)]
    return [*lines, *([CANNOT] if found.suspects else [])]


def state(found: WrongLabels) -> str:
    """The verdict with its interval, as one sentence."""
    said = found.verdict[:1].upper() + found.verdict[1:]
    if found.precision_interval is None:
        return said
    low, high = found.precision_interval
    return f"{said} (90% interval {low:.0%} to {high:.0%})"


def evidence(found: WrongLabels) -> str:
    """What ranked the rows, and how well it found flips that were planted."""
    best = next(e for e in found.evidence if e.score == found.chosen)
    told = f"a model predicts {found.agreement:.0%} of the labels (always guessing the largest class: {found.majority:.0%})"
    area = f"it found planted flips with an area of {best.area:.2f} ± {best.stderr:.2f}, where ½ is chance"
    return f"Judged by {', '.join(found.seen_as)}: {told}. Ranked by: {found.chosen}; {area}"


def _odd(found: WrongLabels) -> list[str]:
    odd, lines = found.oddities, []
    two = [f"{found.names[i]} ({found.given[i]}) = {found.names[j]} ({found.given[j]})" for i, j in odd.contradictions]
    same = [f"{found.names[i]} = {found.names[j]}" for i, j in odd.duplicates[len(odd.contradictions) :]]
    alone = [found.names[i] for i in odd.outliers]
    for said, listed in (
        ("the same row with two labels, one of them wrong", two),
        ("near-duplicates", same),
        ("unlike all others", alone),
    ):
        if listed:
            more = f", … {len(listed) - ODD} more" if len(listed) > ODD else ""
            lines.append(f"{said} ({len(listed)}): {printable(', '.join(listed[:ODD]))}{more}")
    return lines
