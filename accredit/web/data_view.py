"""The data view: a journal as it fills."""

from __future__ import annotations

import numpy as np

from accredit.core import Attribution
from accredit.core.plain import rounded
from accredit.views.escape import escape
from accredit.views.palette import level
from accredit.views.parts import bar, bounds, claims_table, grid, number, shared, span
from accredit.views.valuation import curves_svg
from accredit.web.data import Watched

ENDS = 15  # players shown of either end of a long ranking
NAME = 18  # characters of a name over a column
TEXT = 120  # characters of a row's text


def data_body(watched: Watched) -> str:
    """A journal: how far it is, who is worth what so far, whose label looks wrong, who works together, what removal does."""
    parts = [_progress(watched)]
    values = watched.values
    if values is None:
        waiting = "<p>No payoffs yet: the first values appear once some coalitions have been trained.</p>"
        return "".join([*parts, waiting])
    if watched.provisional:
        parts.append(
            '<p class="warning" role="note"><strong>Provisional.</strong> The run has not written its result. Until then: mean '
            "payoff of the stored coalitions with a player, less the mean without. It ranks; it shares nothing.</p>"
        )
    beside = _suspects(watched) + _curves(watched)
    ranking = f"<section>{_ranking(watched, values)}</section>"
    parts.append(f'<div class="board">{ranking}<section>{beside}</section></div>' if beside else ranking)
    parts += [_heat(watched), claims_table(values)]
    return "".join(parts)


def _progress(watched: Watched) -> str:
    state = "running, or interrupted" if watched.unfinished else "finished"
    groups = f"{len(watched.known.groups):,} groups of " if watched.known.groups else ""
    failed = f", {watched.failed:,} failed" if watched.failed else ""
    return (
        f'<p class="lede">{watched.payoffs:,} payoffs of {groups}{watched.rows:,} rows{failed}, '
        f"{watched.seconds:,.1f} s of training; {state}.</p>"
    )


def _named(watched: Watched, player: str) -> str:
    """A row's name; where the journal has them, its label and the beginning of its text."""
    label, text = watched.known.labels.get(player, ""), watched.known.texts.get(player, "")
    short = text[:TEXT] + "…" * (len(text) > TEXT)
    said = f" <b>{escape(label)}</b>" if label else ""
    return escape(player) + said + (f'<span class="row-text">{escape(short)}</span>' if short else "")


def _ranking(watched: Watched, values: Attribution) -> str:
    """The players of highest and of lowest credit with their error bars; those between are listed."""
    low, high = bounds(values)
    order = np.argsort(-values.credit, kind="stable").tolist()
    several = watched.known.groups is not None
    ends = order if len(order) <= 2 * ENDS + 5 else [*order[:ENDS], *order[-ENDS:]]
    rows = []
    for k in ends:
        name, credit = values.players[k], float(values.credit[k])
        interval = [f"{number(low[k], False)} … {number(high[k], False)}"] if values.interval is not None else []
        rows.append(
            [_named(watched, name), number(credit), *interval, bar(credit, span(values), (low[k], high[k]), 150)]
        )
    if len(ends) < len(order):
        rows.insert(
            ENDS, [f'<span class="soft">{len(order) - len(ends):,} between</span>', "⋮", *[""] * (len(rows[0]) - 2)]
        )
    level_told = [f"{values.level or 0.95:.0%} interval"] if values.interval is not None else []
    credit_told = "credit" if values.total is not None else "difference"
    header = ["group" if several else "row", credit_told, *level_told, ""]
    kind = "ranking spans" if values.interval is not None else "ranking"
    notes = " · ".join(escape(note) for note in (values.interval_because, values.stopped) if note)
    return (
        f"<h2>Ranking</h2><p class='soft'>{escape(values.method)}: {shared(values)}</p>{grid(header, rows, kind)}"
        f"{_between(values, order, len(ends))}<p class='soft small'>{notes}</p>"
    )


def _between(values: Attribution, order: list[int], shown: int) -> str:
    if shown == len(order):
        return ""
    rest = order[ENDS : len(order) - ENDS]
    told = " · ".join(f"{escape(values.players[k])} {number(float(values.credit[k]))}" for k in rest)
    return f'<details><summary>The {len(rest):,} between</summary><p class="small soft rest">{told}</p></details>'


def _suspects(watched: Watched) -> str:
    if not watched.suspects:
        return ""
    header = ["row", "credit", "below zero"]
    rows = [[_named(watched, s.player), number(s.credit), str(s.surely)] for s in watched.suspects]
    missing = "" if watched.known.labels else " This journal does not hold labels or texts."
    return (
        "<h2>Likely mislabelled</h2><p class='soft'>The model does better without them: credit below zero and far below the "
        f"others'.{missing}</p>{grid(header, rows, 'ranking')}"
    )


def _heat(watched: Watched) -> str:
    if watched.square is None:
        return ""
    square = watched.square
    largest = float(np.nanmax(np.abs(square)[~np.eye(len(square), dtype=bool)]))
    rows = []
    for i, name in enumerate(watched.pair_players):
        cells = [
            ""
            if i == j or np.isnan(x)
            else f'<span class="{level(x, largest)}">{rounded(x, 2).replace("-", "−")}</span>'
            for j, x in enumerate(square[i].tolist())
        ]
        rows.append([_short(name), *cells])
    header = ["", *map(_short, watched.pair_players)]
    return f"<h2>Interactions</h2><p class='soft'>{escape(watched.pairs_because)}</p>{grid(header, rows, 'heat')}"


def _short(name: str) -> str:
    return (
        escape(name)
        if len(name) <= NAME
        else f'<span class="plainly" title="{escape(name)}">{escape(name[: NAME - 1])}…</span>'
    )


def _curves(watched: Watched) -> str:
    if not watched.curves:
        return ""
    players = "groups" if watched.known.groups else "rows"
    return (
        f"<h2>Payoff while {players} are removed</h2><p class='soft'>Good credit falls fast when the highest go first, and "
        f'late when the lowest do.</p><div class="wide">{curves_svg(watched.curves)}</div>'
    )
