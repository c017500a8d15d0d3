"""An explained table as a page: the columns over all rows, every row as a point, then any row from base value to output."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accredit.checks.json_data import round_off
from accredit.core import FloatArray, IntArray
from accredit.rows.result import TableExplanation
from accredit.views.language.headlines import headline
from accredit.views.language.numbers import BRIEF, brief, column
from accredit.views.language.palette import VALUE_STEPS
from accredit.views.language.phrases import (
    WHOLE_CHANGE,
    chance,
    interactions_headline,
    row_id,
    row_name,
    row_number,
    sentence,
    together,
    unit,
)
from accredit.views.language.swarms import ranks, swarm_heights, value_range
from accredit.views.pages.engine import render
from accredit.views.pages.interactions_page import left_out, pair_heat
from accredit.views.pages.parts import STEP_WIDTH, attribution_table, claims_table, step_bar, step_mark
from accredit.views.terminal.table_text import PAIRS, SIZE, SIZE_OF_ALL, asked, facts, shown, steps, with_chance

if TYPE_CHECKING:
    from markupsafe import Markup

PAGE_ROWS = 1000  # rows that a file holds, each with its steps; the local page lists all that it explains
SWARM_HEIGHT = 26  # of the points of one column
POINTS = 150  # rows drawn as points of a column
SWARMS = 15  # columns whose points are drawn
NAMED = 2  # columns that the list of rows names
QUESTION = "Which columns led to the predictions?"


class Dot(NamedTuple):
    """A row in the line of one column: where it is, the shade of its value, and what it says when pointed at."""

    x: str
    y: str
    shade: str
    row: int
    says: str


class Swarm(NamedTuple):
    """The rows of one column as points: across their credit, in colour their value, whose range is beside the name."""

    name: str
    range: str
    points: list[Dot]


class Listed(NamedTuple):
    """A row of the table: its place, its name, its output, and what moved it most."""

    place: int
    name: str
    output: str
    most: str


def table_body(
    explanation: TableExplanation,
    about: tuple[str, ...] = (),
    live: bool = False,
    first: TableExplanation | None = None,
    pages: int = 1,
) -> Markup:
    """The whole answer; `about` says where the model came from. A page that is `live` asks for the steps of a row later. Of a
    table whose rows are explained page by page, `explanation` holds some of all rows, and `first` the first of `pages`."""
    listing = explanation if first is None else first
    several, rows = len(explanation) > 1, range(len(listing))
    kept, held = rows if live else rows[:PAGE_ROWS], rows[:1] if live else rows[:PAGE_ROWS]
    return render(
        "table",
        "body",
        answer=headline(explanation).text,
        asked=sentence(asked(explanation)),
        about=list(about),
        facts=[sentence(fact) for fact in facts(explanation)],
        overall=_overall(explanation) if several else "",
        classes=_classes(explanation) if several and len(explanation.outputs) > 2 else [],
        swarms=_swarms(explanation) if several else [],
        shades=[f"v{step + 1}" for step in range(VALUE_STEPS)],
        of=f"the {unit(explanation)} of “{explanation.target}”" if len(explanation.outputs) > 1 else "the prediction",
        unit=_scale_word(explanation),
        ends=_scale(-_reach(explanation), _reach(explanation)) if several else [],
        drawn=min(POINTS, len(explanation)),
        count=len(explanation),
        listed=rows_list(listing, kept) if several else "",
        pages=[(number, f"{number * len(listing) + 1:,}") for number in range(pages)] if pages > 1 else [],
        steps=[row_body(listing, r) for r in held],
        more=len(listing) - len(kept),
        claims=claims_table(explanation.row(0)),
        pairs=_pairs(explanation, several),
        others=[_other(one) for one in explanation.by_other_methods.values()],
    )


def _other(explanation: TableExplanation) -> dict[str, object]:
    """What a further method says: the columns over all rows, or in the only one, and what is known about it."""
    shown_credit = (
        _overall(explanation) if len(explanation) > 1 else attribution_table(explanation.row(0).ranked(), whole=WHOLE_CHANGE)
    )
    return {
        "asked": sentence(asked(explanation)),
        "answer": headline(explanation).text,
        "credit": shown_credit,
        "facts": [sentence(fact) for fact in facts(explanation)],
        "claims": claims_table(explanation.row(0)),
    }


def _overall(explanation: TableExplanation) -> Markup:
    """The columns by the mean size of their credit, over all outputs where there are several."""
    several = len(explanation.outputs) > 2
    found = (explanation.overall_importance() if several else explanation.importance()).ranked()
    return attribution_table(found[:SWARMS], header=("column", SIZE_OF_ALL if several else SIZE), signed=False)


def _classes(explanation: TableExplanation) -> list[tuple[str, str]]:
    """Of every output the columns that move it most, each with the mean size of its credit."""
    found = [(output, explanation.importance(output).top(NAMED)) for output in explanation.outputs]
    return [
        (output, ", ".join(f"{p} {brief(c, signed=False)}" for p, c in zip(top.players, top.credit.tolist(), strict=True)))
        for output, top in found
    ]


def _reach(explanation: TableExplanation) -> float:
    """The largest credit among the points that are drawn."""
    order = np.argsort(-explanation.importance().credit, kind="stable")[:SWARMS]
    return float(np.abs(explanation.credit[_some(len(explanation))][:, order, explanation.place()]).max()) or 1.0


def _scale_word(explanation: TableExplanation) -> str:
    """What the numbers of an axis are."""
    return "units of the prediction" if unit(explanation) == "value" else unit(explanation)


def _scale(low: float, high: float) -> list[str]:
    """The numbers below an axis: its ends and its middle."""
    return column([low, (low + high) / 2, high], digits=3)


def row_body(explanation: TableExplanation, row: int, place: int | None = None) -> Markup:
    """One row from the base value to the output, column by column, the largest credit first; `place` is where it is in the
    whole table, if that is another one."""
    k, found = explanation.place(), steps(explanation, row)
    base, output = float(explanation.base[k]), float(explanation.prediction[row, k])
    ends = [base, output, *(s.end for s in found)]
    reach = min(ends), max(ends)
    credits, (first, last, *so_far) = column([s.credit for s in found], signed=True), column(ends)
    lines = [(s.name, s.value, a, b, step_bar(s, reach)) for s, a, b in zip(found, credits, so_far, strict=True)]
    pairs = [] if explanation.pairs is None else explanation.interactions(row).strongest(PAIRS)
    unshared = float(explanation.unshared[row, k])
    return render(
        "table",
        "row",
        place=row if place is None else place,
        name=row_name(explanation, row).replace("row", "Row", 1),
        target=explanation.target if explanation.target == "prediction" else f"“{explanation.target}”",
        unit=_scale_word(explanation),
        base=with_chance(explanation, None, first),
        output=with_chance(explanation, row, last),
        numbers=(first, last),
        scale=_scale(*reach),
        lines=lines,
        ends=[step_mark(x, reach) for x in (base, output)],
        pairs=", ".join(f"{together(who)} {brief(x)}" for who, x in pairs),
        unshared=round_off(unshared, BRIEF) if abs(unshared) > 1e-6 * max(1.0, *map(abs, ends)) else "",
    )


def rows_list(explanation: TableExplanation, rows: range, first: int = 0) -> Markup:
    """Rows to pick from; `first` is the place of the first one in the whole table."""
    scores = column(explanation.prediction[rows, explanation.place()].tolist())
    outputs = [chance(explanation, row) or score for row, score in zip(rows, scores, strict=True)]
    listed = [_read_list(explanation, row, output, first) for row, output in zip(rows, outputs, strict=True)]
    return render("table", "listed", rows=listed, output="probability" if chance(explanation, 0) else "output")


def _read_list(explanation: TableExplanation, row: int, output: str, first: int) -> Listed:
    credit = explanation.credit[row, :, explanation.place()]
    largest = np.argsort(-np.abs(credit), kind="stable")[:NAMED].tolist()
    most = ", ".join(f"{explanation.players[i]} {shown(explanation.cells[i][row])}: {brief(float(credit[i]))}" for i in largest)
    known = row_id(explanation, row)
    return Listed(first + row, row_number(explanation, row) + f" ({known})" * bool(known), output, most)


def _pairs(explanation: TableExplanation, several: bool) -> dict[str, object] | None:
    """The interactions over all rows, or of the only one."""
    if explanation.pairs is None:
        return None
    found = explanation.interaction_importance() if several else explanation.interactions(0)
    heading = "; ".join(part for part in (interactions_headline(found), left_out(found)) if part)
    return {"heading": heading, "square": pair_heat(found), "signed": not several}


def _swarms(explanation: TableExplanation) -> list[Swarm]:
    k = explanation.place()
    order = np.argsort(-explanation.importance().credit, kind="stable")[:SWARMS]
    some = _some(len(explanation))
    credit, reach = explanation.credit[some][:, order, k], _reach(explanation)
    return [_swarm(explanation, int(i), credit[:, c], some, reach) for c, i in enumerate(order.tolist())]


def _swarm(explanation: TableExplanation, player: int, credit: FloatArray, some: IntArray, reach: float) -> Swarm:
    cells = [explanation.cells[player][r] for r in some.tolist()]
    share, known = ranks(cells)
    shades = [f"v{1 + round(s * (VALUE_STEPS - 1))}" if there else "none" for s, there in zip(share, known, strict=True)]
    x = STEP_WIDTH / 2 + credit / reach * (STEP_WIDTH / 2 - 4)
    y = SWARM_HEIGHT / 2 + swarm_heights(credit, -reach, reach) * (SWARM_HEIGHT / 2 - 3)
    points = [
        Dot(f"{a:.1f}", f"{b:.1f}", shade, r, f"{row_name(explanation, r)}: {shown(cell)}, {brief(c)}")
        for a, b, shade, r, cell, c in zip(x.tolist(), y.tolist(), shades, some.tolist(), cells, credit.tolist(), strict=True)
    ]
    return Swarm(explanation.players[player], value_range(explanation.cells[player]), points)


def _some(count: int) -> IntArray:
    return np.unique(np.linspace(0, count - 1, min(count, POINTS)).round().astype(np.int64))
