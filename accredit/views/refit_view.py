"""Credit over refits, in words, on a terminal and on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.json_data import round_off
from accredit.explanation.refits import RefitExplanation, ends_over
from accredit.views.columns import printable, table
from accredit.views.engine import render
from accredit.views.numbers import between
from accredit.views.parts import claims_table
from accredit.views.table_view import asked, facts
from accredit.views.words import sentence

if TYPE_CHECKING:
    from markupsafe import Markup

QUESTION = "Which columns matter, whatever the sample?"
TOP = 3  # places that players are counted in


def headline(found: RefitExplanation) -> str:
    """One sentence: who is first, and how surely."""
    shares = found.share_in_top(1)
    first = max(shares, key=lambda player: shares[player])
    return f"Over {len(found.refits)} refits: {first} matters most in {shares[first]:.0%} of them"


def lines_of(found: RefitExplanation) -> list[tuple[list[str], float]]:
    """Players, the largest first: cells, and the mean |credit| for a bar."""
    size = found.sizes[:, :, found.table.place()]
    ends, ranks, count = ends_over(size, found.level)[0], found.rank_interval, min(TOP, len(found.players))
    shares = found.share_in_top(count)
    lines = []
    for i in np.argsort(-size.mean(axis=0), kind="stable").tolist():
        low, high = ranks[i].tolist()
        cells = [
            found.players[i],
            round_off(float(size[:, i].mean())),
            between(float(ends[i, 0]), float(ends[i, 1]), 3),
            str(low) if low == high else f"{low}–{high}",
            f"{shares[found.players[i]]:.0%}",
        ]
        lines.append((cells, float(size[:, i].mean())))
    return lines


def _header(found: RefitExplanation) -> list[str]:
    return ["column", "mean |credit|", f"{found.level:.0%} of refits", "rank", f"in top {min(TOP, len(found.players))}"]


def refit_text(found: RefitExplanation, rows: int) -> str:
    """For a terminal."""
    lines = lines_of(found)[:rows]
    cells = [[printable(one[0]), *one[1:]] for one, _ in lines]
    told = [printable(sentence(fact)) for fact in facts(found.table)]
    shown = table(_header(found), cells, [size for _, size in lines])
    return "\n".join([printable(headline(found)), asked(found.table), "", *shown, "", *told])


def refit_body(found: RefitExplanation) -> Markup:
    """The page."""
    return render(
        "refits",
        "body",
        answer=headline(found),
        asked=sentence(asked(found.table)),
        header=_header(found),
        lines=[cells for cells, _ in lines_of(found)],
        facts=[sentence(fact) for fact in facts(found.table)],
        failed=[(str(number), why) for number, why in found.failed.items()],
        claims=claims_table(found.table.row(0)),
    )
