"""The data view: a journal as it fills."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accredit.core import Attribution
from accredit.views.engine import render
from accredit.views.labels_view import labels_body
from accredit.views.numbers import BRIEF, between, brief
from accredit.views.parts import Bar, bar, bounds, claims_table, heat, span
from accredit.views.valuation import curves_svg
from accredit.views.words import interval_word, shared

if TYPE_CHECKING:
    from markupsafe import Markup

    from accredit.web.data import Watched

ENDS = 15  # players shown at either end of a long ranking
NAME = 18  # characters of a name over a column
TEXT = 120  # characters of a row's text


class Who(NamedTuple):
    """A player's name and, where the journal has them, its label and the beginning of its text."""

    name: str
    label: str = ""
    text: str = ""


class Place(NamedTuple):
    """A line of the ranking; one without a bar stands for all those that are left out."""

    who: Who
    credit: str = ""
    ends: str = ""
    bar: Bar | None = None


def data_body(watched: Watched) -> Markup:
    """A journal: how far it is, whose label looks wrong, who is worth what so far, who works together, what removal does."""
    values = watched.values
    asked = watched.labels is not None or watched.unanswered
    return render(
        "data", "body",
        progress=_progress(watched), labels=labels_body(watched.labels, watched.unanswered) if asked else "",
        ranking=None if values is None else _ranking(watched, values),
        harmful=_harmful(watched), silent=watched.known.silent, curves=_curves(watched), pairs=_pairs(watched),
        provisional=watched.provisional, claims="" if values is None else claims_table(values),
    )  # fmt: skip


def _progress(watched: Watched) -> str:
    state = "running, or interrupted" if watched.unfinished else "finished"
    groups = f"{len(watched.known.groups):,} groups of " if watched.known.groups else ""
    failed = f", {watched.failed:,} failed" if watched.failed else ""
    trained = f"{watched.seconds:,.1f} s of training"
    return f"{watched.payoffs:,} payoffs of {groups}{watched.rows:,} rows{failed}, {trained}; {state}."


def _who(watched: Watched, player: str) -> Who:
    text = watched.known.texts.get(player, "")
    return Who(player, watched.known.labels.get(player, ""), text[:TEXT] + "…" * (len(text) > TEXT))


def _ranking(watched: Watched, values: Attribution) -> dict[str, object]:
    """The players of highest and of lowest credit with their error bars; those between are listed."""
    order = np.argsort(-values.credit, kind="stable").tolist()
    ends = order if len(order) <= 2 * ENDS + 5 else [*order[:ENDS], *order[-ENDS:]]
    rows, between_them = _places(watched, values, ends), None
    if len(ends) < len(order):
        rest = order[ENDS : len(order) - ENDS]
        rows.insert(ENDS, Place(Who(f"{len(rest):,} between")))
        items = [f"{values.players[k]} {brief(float(values.credit[k]))}" for k in rest]
        between_them = f"The {len(rest):,} between", items
    known = values.interval is not None
    credit = "credit" if values.total is not None else "difference"
    return {
        "heading": f"{values.method}: {shared(values)}",
        "header": ["group" if watched.known.groups is not None else "row", credit, *[interval_word(values)] * known, ""],
        "rows": rows, "kind": "ranking spans" if known else "ranking", "between": between_them,
        "notes": " · ".join(note for note in (values.interval_because, values.stopped) if note),
    }  # fmt: skip


def _places(watched: Watched, values: Attribution, order: list[int]) -> list[Place]:
    low, high = bounds(values)
    reach, places = span(values), []
    for k in order:
        credit = float(values.credit[k])
        ends = between(low[k], high[k], BRIEF) if values.interval is not None else ""
        drawn = bar(credit, reach, (low[k], high[k]), 150)
        places.append(Place(_who(watched, values.players[k]), brief(credit), ends, drawn))
    return places


def _harmful(watched: Watched) -> dict[str, object] | None:
    if not watched.harmful:
        return None
    rows = [(_who(watched, s.player), brief(s.credit), str(s.surely)) for s in watched.harmful]
    return {"rows": rows, "described": bool(watched.known.labels)}


def _pairs(watched: Watched) -> dict[str, object] | None:
    if watched.square is None:
        return None
    names = [
        render("data", "short", whole=name, cut="" if len(name) <= NAME else name[: NAME - 1] + "…")
        for name in watched.pair_players
    ]
    return {"because": watched.pairs_because, "drawn": heat(names, watched.square, 2)}


def _curves(watched: Watched) -> dict[str, object] | None:
    if not watched.curves:
        return None
    return {"players": "groups" if watched.known.groups else "rows", "drawing": curves_svg(watched.curves)}
