"""Credit over refits, in words and on a terminal."""

from __future__ import annotations

import numpy as np

from accredit.checks.json_data import round_off
from accredit.explanation.refits import RefitExplanation, ends_over
from accredit.views.language.headlines import headline
from accredit.views.language.numbers import between
from accredit.views.language.phrases import sentence
from accredit.views.language.printable import printable
from accredit.views.terminal.columns import table
from accredit.views.terminal.screen import clip, screen
from accredit.views.terminal.table_text import asked, facts, warnings_of

TOP = 3  # places that players are counted in


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


def header(found: RefitExplanation) -> list[str]:
    return ["column", "mean |credit|", f"{found.level:.0%} of refits", "rank", f"in top {min(TOP, len(found.players))}"]


def refit_text(found: RefitExplanation, rows: int, more: bool = True) -> str:
    """For a terminal."""
    lines = lines_of(found)[:rows]
    cells = [[printable(one[0]), *one[1:]] for one, _ in lines]
    told = [sentence(fact) for fact in facts(found.table)]
    shown = table(header(found), cells, [size for _, size in lines])
    warned = [] if more else warnings_of(found.table)
    return screen(headline(found).text, ["", *clip(shown)], ["", asked(found.table), *told], more, warned)
