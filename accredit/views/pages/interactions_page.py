"""Interactions as HTML: pairs on a heat map, the strongest coalitions in a list, what is known about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accredit.core import Interactions
from accredit.views.language.headlines import headline
from accredit.views.language.largest import strongest_players
from accredit.views.language.numbers import BRIEF, between, column
from accredit.views.language.phrases import interval_word, notes, together
from accredit.views.pages.engine import render
from accredit.views.pages.parts import Heat, bar, claims_table, heat

if TYPE_CHECKING:
    from markupsafe import Markup

LISTED = 40  # coalitions in the list
SQUARE = 16  # players of a heat map; of more, those of the strongest pairs


def interactions_body(result: Interactions) -> Markup:
    """A heat map where there are pairs, then the strongest coalitions with their intervals."""
    shown, known = result.top(LISTED), result.interval is not None
    x = list(shown.values.values())
    ends = np.column_stack([x, x]) if shown.interval is None else shown.interval
    reach = float(ends.min(initial=0.0)), float(ends.max(initial=0.0))
    header = ["coalition", result.index, *[interval_word(result)] * known, ""]
    rows = []
    for (who, value), written, (low, high) in zip(shown, column(x), ends.tolist(), strict=True):
        cells = [together(who), written, *[between(low, high)] * known]
        rows.append((cells, bar(value, reach, (low, high))))
    more = sum(bool(who) for who, _ in result) - len(shown)
    listed = f"{more:,} more coalitions of smaller interaction" if more else ""
    return render(
        "interactions",
        "body",
        answer=headline(result).text,
        pairs=pair_heat(result),
        header=header,
        rows=rows,
        notes=" · ".join(note for note in (left_out(result), listed, notes(result)) if note),
        claims=claims_table(result),
    )


def pair_heat(result: Interactions) -> Heat | None:
    """The pairs as a square, of at most the players whose pairs are strongest; None where there are no pairs."""
    if 2 not in result.sizes:
        return None
    square = result.matrix()
    kept = strongest_players(square, SQUARE)
    return heat([result.players[i] for i in kept], square[np.ix_(kept, kept)], BRIEF)


def left_out(result: Interactions) -> str:
    """Which players the square does not show."""
    n = len(result.players)
    few = 2 in result.sizes and n > SQUARE
    return f"the square shows the {SQUARE} of {n} players whose pairs are strongest" if few else ""
