"""The data view: a journal as it fills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from accredit.core import Attribution
from accredit.training_data.suspects import suspects
from accredit.views.language.headlines import suspects_headline
from accredit.views.language.numbers import brief, column, ranges
from accredit.views.language.phrases import in_words, interval_word, sentence, speak
from accredit.views.pages.document import page
from accredit.views.pages.engine import render
from accredit.views.pages.labels_page import labels_body
from accredit.views.pages.parts import Bar, Who, bar, bounds, claims_table, heat, span
from accredit.views.pages.valuation_page import curves_svg, harm_of
from accredit.views.terminal.valuation_text import WORTH, harm_words, leaders_words, linear_words

if TYPE_CHECKING:
    from markupsafe import Markup

    from accredit.web.data import WatchedRun

ENDS = 100  # players shown at either end of a long ranking
NAME = 18  # characters of a name over a column
TEXT = 200  # characters of a row's text
TITLE = "Which labels are wrong, and what is each row worth?"


class RankedPlace(NamedTuple):
    """A line of the ranking; one without a bar stands for all those that are left out."""

    who: Who
    credit: str = ""
    ends: str = ""
    bar: Bar | None = None


def data_body(watched: WatchedRun, run: Mapping[str, Any] | None = None) -> Markup:
    """A journal: whose label looks wrong, who does harm, who is worth what so far, who works together, what removal does.

    `run` is what became of a run that was started from the page.
    """
    values = watched.values
    asked = watched.labels is not None or watched.unanswered
    known = _people(watched)
    return render(
        "data",
        "body",
        answer=_answer(watched),
        progress=_progress(watched, run),
        share=_share(watched, run),
        labels=labels_body(watched.labels, watched.unanswered) if asked else "",
        ranking=None if values is None else _ranking(watched, values, known),
        harmful=_harmful(watched, known),
        silent=watched.known.silent,
        curves=_curves(watched),
        linear="" if values is None else linear_words(values),
        pairs=_pairs(watched, known),
        provisional=watched.provisional,
        claims="" if values is None else claims_table(values),
        warnings=[sentence(warning) for warning in watched.warnings],
        notes=[sentence(note) for note in watched.notes],
    )


def data_page(watched: WatchedRun) -> str:
    """The same as one file."""
    return page(TITLE, data_body(watched), script_of="sorting")


def _answer(watched: WatchedRun) -> str:
    """Both answers in a sentence each, as far as they are known."""
    said = []
    if watched.labels is not None:
        said.append(suspects_headline(watched.labels).text)
    if watched.values is not None and not watched.provisional:
        said.append(leaders_words(watched.values, watched.harmful))
    return " ".join(said)


def _progress(watched: WatchedRun, run: Mapping[str, Any] | None) -> str:
    state = run["how"] if run else "running, or interrupted" if watched.unfinished else "finished"
    groups = f"{len(watched.known.groups):,} groups of " if watched.known.groups else ""
    failed = f", {watched.failed:,} failed" if watched.failed else ""
    judged = 0 if watched.labels is None else len(watched.labels.names)  # all rows of the file
    aside = f" ({judged - watched.rows:,} others are for testing)" if judged > watched.rows else ""
    if not watched.payoffs and not watched.unfinished:
        return f"{groups}{watched.rows:,} rows{aside}, valued without training; {state}."
    if not watched.rows:
        return f"Nothing is written yet; {state}."
    trained = f"{watched.seconds:,.1f} s of training"
    return f"{watched.payoffs:,} payoffs of {groups}{watched.rows:,} rows{aside}{failed}, {trained}; {state}."


def _share(watched: WatchedRun, run: Mapping[str, Any] | None) -> str:
    """How much of the budget of a running run is spent, in percent; empty where nobody knows."""
    if not run or run["how"] != "running" or not run["budget"] or not watched.payoffs:
        return ""
    return str(min(100, round(100 * watched.payoffs / run["budget"])))


def _people(watched: WatchedRun) -> dict[str, Who]:
    """What is known of every row: its label and text, and what else was found of it."""
    found: dict[str, list[str]] = {}
    labels = watched.labels
    if labels is not None:
        for s in suspects(labels):
            found.setdefault(s.row, []).append(f"Its label looks wrong: rather {s.suggested}.")
        for i, j in labels.oddities.duplicates:
            other = "another label: one of them is likely wrong" if labels.given[i] != labels.given[j] else "the same label"
            for one, twin in ((i, j), (j, i)):
                found.setdefault(labels.names[one], []).append(f"Nearly the same as {labels.names[twin]}, with {other}.")
        for i in labels.oddities.outliers:
            found.setdefault(labels.names[i], []).append("Unlike all others.")
    for h in watched.harmful:
        found.setdefault(h.player, []).append(harm_of(h))
    names = watched.values.players if watched.values is not None else ()
    known = watched.known
    return {
        name: Who(name, known.labels.get(name, ""), _cut(known.texts.get(name, ""), TEXT), tuple(found.get(name, ())))
        for name in {*names, *found}
    }


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _ranking(watched: WatchedRun, values: Attribution, known: Mapping[str, Who]) -> dict[str, object]:
    """The players of highest and of lowest credit with their error bars; those between are listed."""
    order = np.argsort(-values.credit, kind="stable").tolist()
    ends = order if len(order) <= 2 * ENDS + 5 else [*order[:ENDS], *order[-ENDS:]]
    rows, between_them = _places(values, ends, known), None
    if len(ends) < len(order):
        rest = order[ENDS : len(order) - ENDS]
        rows.insert(ENDS, RankedPlace(Who(f"{len(rest):,} between")))
        items = [f"{values.players[k]} {brief(float(values.credit[k]))}" for k in rest]
        between_them = f"The {len(rest):,} between", items
    ranged = values.interval is not None
    number = "difference" if watched.provisional else WORTH
    return {
        "heading": f"{speak(values.method)}: {in_words(values)}",
        "header": ["group" if watched.known.groups is not None else "row", number, *[interval_word(values)] * ranged, ""],
        "rows": rows,
        "kind": "bars ranking sortable searchable",
        "between": between_them,
        "notes": " · ".join(note for note in (values.interval_because, values.stopped) if note),
    }


def _places(values: Attribution, order: list[int], known: Mapping[str, Who]) -> list[RankedPlace]:
    low, high = bounds(values)
    reach, places = span(values), []
    written = column(values.credit[order].tolist(), signed=True)
    known_ends = values.interval is not None
    within = ranges([low[k] for k in order], [high[k] for k in order]) if known_ends else [""] * len(order)
    for k, number, ends in zip(order, written, within, strict=True):
        credit = float(values.credit[k])
        drawn = bar(credit, reach, (low[k], high[k]))
        places.append(RankedPlace(known[values.players[k]], number, ends, drawn))
    return places


def _harmful(watched: WatchedRun, known: Mapping[str, Who]) -> dict[str, object] | None:
    why = "" if watched.values is None else harm_words(watched.values, watched.harmful, watched.known)
    if not why:
        return None
    numbers = column([s.credit for s in watched.harmful], signed=True)
    rows = [
        (known[s.player]._replace(facts=()), number, str(s.surely)) for s, number in zip(watched.harmful, numbers, strict=True)
    ]
    return {
        "why": why,
        "header": ["row", WORTH, "certainty"],
        "rows": rows,
        "described": bool(watched.known.labels),
    }


def _pairs(watched: WatchedRun, known: Mapping[str, Who]) -> dict[str, object] | None:
    if watched.square is None:
        return None
    names = []
    for name in watched.pair_players:
        who = known.get(name, Who(name))
        says = " · ".join(part for part in (name, who.label, who.text) if part)
        names.append(render("data", "short", says=says, cut=_cut(name, NAME), label=who.label))
    return {"because": watched.pairs_because, "drawn": heat(names, watched.square, 2)}


def _curves(watched: WatchedRun) -> dict[str, object] | None:
    if not watched.curves:
        return None
    return {"players": "groups" if watched.known.groups else "rows", "drawing": curves_svg(watched.curves)}
