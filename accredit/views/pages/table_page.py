"""An explained table as a page: the columns over all rows, every row as a point, then any row from base value to output."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accredit.checks.json_data import round_off
from accredit.core import FloatArray, IntArray
from accredit.rows.result import TableExplanation
from accredit.views.language.numbers import BRIEF, brief, column
from accredit.views.language.phrases import interactions_headline, sentence, together
from accredit.views.pages.engine import render
from accredit.views.pages.interactions_page import left_out, pair_heat
from accredit.views.pages.parts import STEP_HEIGHT, STEP_WIDTH, attribution_table, claims_table, step_bar, step_mark
from accredit.views.terminal.table_text import PAIRS, asked, facts, headline, shown, steps

if TYPE_CHECKING:
    from markupsafe import Markup

PAGE_ROWS = 200  # rows that a file holds, each with its steps
LISTED = 400  # rows in the list of the local page, which asks for the steps of one row at a time
POINTS = 150  # rows drawn as points of a column
SWARMS = 15  # columns whose points are drawn
NAMED = 2  # columns that the list of rows names
QUESTION = "Which columns earned the output?"


class Dot(NamedTuple):
    """A row in the line of one column: where it is, the shade of its value, and what it says when pointed at."""

    x: str
    y: str
    shade: str
    row: int
    says: str


class Swarm(NamedTuple):
    """The rows of one column as points: across their credit, in three shades their value."""

    name: str
    points: list[Dot]
    axis: str


class Listed(NamedTuple):
    """A row of the table: its place, its name, its output, and what moved it most."""

    place: int
    name: str
    output: str
    most: str


def table_body(explanation: TableExplanation, about: tuple[str, ...] = (), live: bool = False) -> Markup:
    """The whole answer; `about` says where the model came from. A page that is `live` asks for the steps of a row later."""
    several, rows = len(explanation) > 1, range(len(explanation))
    kept, held = rows[: LISTED if live else PAGE_ROWS], rows[:1] if live else rows[:PAGE_ROWS]
    return render(
        "table",
        "body",
        answer=headline(explanation),
        asked=sentence(asked(explanation)),
        about=list(about),
        facts=[sentence(fact) for fact in facts(explanation)],
        overall=_overall(explanation) if several else "",
        swarms=_swarms(explanation) if several else [],
        drawn=min(POINTS, len(explanation)),
        count=len(explanation),
        listed=_list(explanation, kept) if several else [],
        steps=[row_body(explanation, r) for r in held],
        more=len(explanation) - len(kept),
        claims=claims_table(explanation.row(0)),
        pairs=_pairs(explanation, several),
        others=[_other(one) for one in explanation.by_other_methods.values()],
    )


def _other(explanation: TableExplanation) -> dict[str, object]:
    """What a further method says: the columns over all rows, or in the only one, and what is known about it."""
    shown_credit = _overall(explanation) if len(explanation) > 1 else attribution_table(explanation.row(0).ranked())
    return {
        "asked": sentence(asked(explanation)),
        "answer": sentence(headline(explanation)),
        "credit": shown_credit,
        "facts": [sentence(fact) for fact in facts(explanation)],
        "claims": claims_table(explanation.row(0)),
    }


def _overall(explanation: TableExplanation) -> Markup:
    """The columns by the mean size of their credit; those beyond the first few are counted."""
    found = explanation.importance().ranked()
    return attribution_table(found[:SWARMS], header=("column", "mean |credit|"), signed=False)


def row_body(explanation: TableExplanation, row: int) -> Markup:
    """One row from the base value to the output, column by column, the largest credit first."""
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
        place=row,
        name=explanation.rows[row],
        target=explanation.target,
        base=first,
        output=last,
        lines=lines,
        ends=[step_mark(x, reach) for x in (base, output)],
        pairs=", ".join(f"{together(who)} {brief(x)}" for who, x in pairs),
        unshared=round_off(unshared, BRIEF) if abs(unshared) > 1e-6 * max(1.0, *map(abs, ends)) else "",
    )


def _list(explanation: TableExplanation, rows: range) -> list[Listed]:
    outputs = column(explanation.prediction[rows, explanation.place()].tolist())
    return [_read_list(explanation, row, output) for row, output in zip(rows, outputs, strict=True)]


def _read_list(explanation: TableExplanation, row: int, output: str) -> Listed:
    credit = explanation.credit[row, :, explanation.place()]
    largest = np.argsort(-np.abs(credit), kind="stable")[:NAMED].tolist()
    most = ", ".join(
        f"{explanation.players[i]} {shown(explanation.values[i][row])}: {brief(float(credit[i]))}" for i in largest
    )
    return Listed(row, explanation.rows[row], output, most)


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
    credit = explanation.credit[some][:, order, k]
    reach = float(np.abs(credit).max()) or 1.0
    return [_swarm(explanation, int(i), credit[:, c], some, reach) for c, i in enumerate(order.tolist())]


def _swarm(explanation: TableExplanation, player: int, credit: FloatArray, some: IntArray, reach: float) -> Swarm:
    cells = [explanation.values[player][r] for r in some.tolist()]
    numbers = np.array([float(c) if isinstance(c, int | float) else np.nan for c in cells])
    known = np.isfinite(numbers)
    thirds = np.quantile(numbers[known], [1 / 3, 2 / 3]) if known.any() else np.zeros(2)
    shade = np.where(~known, 3, (numbers > thirds[0]).astype(int) + (numbers > thirds[1]))
    x = STEP_WIDTH / 2 + credit / reach * (STEP_WIDTH / 2 - 4)
    y = STEP_HEIGHT / 2 + ((np.arange(len(x)) * 0.618) % 1 - 0.5) * (STEP_HEIGHT - 6)  # spread evenly, the same in every run
    points = [
        Dot(f"{a:.1f}", f"{b:.1f}", SHADES[s], r, f"row {explanation.rows[r]}: {shown(cell)}, {brief(c)}")
        for a, b, s, r, cell, c in zip(
            x.tolist(), y.tolist(), shade.tolist(), some.tolist(), cells, credit.tolist(), strict=True
        )
    ]
    return Swarm(explanation.players[player], points, f"M{STEP_WIDTH / 2:g} 0v{STEP_HEIGHT}")


SHADES = ("low", "middle", "high", "none")  # thirds of a column's values, and what is missing or a word


def _some(count: int) -> IntArray:
    return np.unique(np.linspace(0, count - 1, min(count, POINTS)).round().astype(np.int64))
