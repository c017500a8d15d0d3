"""The data view: a journal as it fills."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accredit.core import Attribution
from accredit.core.plain import rounded
from accredit.evaluate.data import Curve
from accredit.views.escape import escape
from accredit.views.palette import level
from accredit.views.parts import attribution_table, claims_table, grid, number
from accredit.views.valuation import curves_svg
from accredit.web.data import Suspected, Watched

ENDS = 60  # rows shown of either end of a long ranking


def data_body(watched: Watched) -> str:
    """A journal: how far it is, who is worth what so far, whose label looks wrong, who works together, what removal does."""
    parts = [_progress(watched)]
    values = watched.values
    if values is None:
        return "".join(
            [*parts, "<p>No payoffs yet: the first values appear once some coalitions have been trained.</p>"]
        )
    if watched.provisional:
        parts.append(
            '<p class="warning" role="note"><strong>Provisional.</strong> The run has not written its result. Until then: mean '
            "payoff of the stored coalitions with a player, less the mean without. It ranks; it shares nothing.</p>"
        )
    ranked = values.ranked()
    shown, left = _ends(ranked)
    parts += [f"<h2>Ranking</h2>{attribution_table(shown)}"]
    if left:
        parts.append(f'<p class="soft">{left} in the middle are left out here; the export has all.</p>')
    parts += [_suspects(watched.suspects), _heat(watched), _curves(watched.curves), claims_table(values)]
    return "".join(parts)


def _progress(watched: Watched) -> str:
    state = "running, or interrupted" if watched.unfinished else "finished"
    failed = f", {watched.failed:,} failed" if watched.failed else ""
    return (
        f'<p class="lede">{watched.payoffs:,} payoffs of {len(watched.players):,} players{failed}, '
        f"{watched.seconds:,.1f} s of training; {state}.</p>"
    )


def _ends(ranked: Attribution) -> tuple[Attribution, int]:
    count = len(ranked)
    if count <= 2 * ENDS:
        return ranked, 0
    return ranked[[*range(ENDS), *range(count - ENDS, count)]], count - 2 * ENDS


def _suspects(suspects: Sequence[Suspected]) -> str:
    if not suspects:
        return ""
    rows = [[escape(s.player), number(s.credit), "yes" if s.sure else "no"] for s in suspects]
    return (
        "<h2>Likely mislabelled</h2><p class='soft'>The model does better without them: credit below zero and far below the "
        f"others'.</p>{grid(['row', 'credit', 'beyond its error'], rows)}"
    )


def _heat(watched: Watched) -> str:
    if watched.square is None:
        return ""
    square = watched.square
    largest = float(np.abs(square[~np.eye(len(square), dtype=bool)]).max(initial=0.0))
    rows = []
    for i, name in enumerate(watched.pair_players):
        cells = [
            "" if i == j else f'<span class="{level(x, largest)}">{rounded(x, 2)}</span>'
            for j, x in enumerate(square[i].tolist())
        ]
        rows.append([escape(name), *cells])
    header = ["", *(escape(name) for name in watched.pair_players)]
    return f"<h2>Interactions</h2><p class='soft'>{escape(watched.pairs_because)}</p>{grid(header, rows, 'heat')}"


def _curves(curves: Sequence[Curve]) -> str:
    if not curves:
        return ""
    return f'<h2>Payoff while players are removed</h2><div class="wide">{curves_svg(curves)}</div>'
