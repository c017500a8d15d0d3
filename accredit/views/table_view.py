"""An explained table for people: the columns over all rows, then any row step by step from base value to prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accredit.core import FloatArray, IntArray, Interactions
from accredit.core.plain import rounded
from accredit.explanation.table import Cell, TableExplanation
from accredit.views.columns import printable, table
from accredit.views.engine import render
from accredit.views.interactions import left_out, pair_heat
from accredit.views.numbers import between, brief
from accredit.views.parts import Bar, attribution_table, claims_table, hue
from accredit.views.words import interactions_headline, together

if TYPE_CHECKING:
    from markupsafe import Markup

STEPS = 12  # columns of one row that are shown by themselves; the others together
TEXT_ROWS = 5  # rows that a terminal shows
PAGE_ROWS = 200  # rows that a page holds
POINTS = 250  # rows drawn as points of a column
SWARMS = 15  # columns whose points are drawn
PAIRS = 5  # interactions that a row shows
WIDTH, HEIGHT = 260, 18  # of a step, in pixels


class Step(NamedTuple):
    """One column of one row: from where to where it moves the output."""

    name: str
    value: str
    credit: float
    start: float
    end: float


def headline(explanation: TableExplanation) -> str:
    """One sentence: what is explained, and which column matters most."""
    top = explanation.importance().top(1).players[0]
    if len(explanation) == 1:
        k = explanation.place()
        largest = explanation.row(0).top(1)
        way = "raises" if largest.credit[0] >= 0 else "lowers"
        return (
            f"{explanation.target}: {rounded(explanation.prediction[0, k])}; {largest.players[0]} {way} it most, by "
            f"{brief(float(largest.credit[0]))}"
        )
    return f"{explanation.target} in {len(explanation):,} rows: {top} matters most"


def steps(explanation: TableExplanation, row: int, most: int = STEPS) -> list[Step]:
    """The columns of a row, largest credit first, each starting where the one below it ended; the base value is lowest."""
    credit = explanation.row(row).credit
    order = np.argsort(-np.abs(credit), kind="stable")
    kept, rest = (order, order[:0]) if len(order) <= most else (order[: most - 1], order[most - 1 :])
    named = [(explanation.players[i], shown(explanation.values[i][row]), float(credit[i])) for i in kept.tolist()]
    if len(rest):
        named.append((f"{len(rest)} other columns", "", float(credit[rest].sum())))
    at, found = float(explanation.base[explanation.place()]), []
    for name, value, earned in reversed(named):
        found.append(Step(name, value, earned, at, at + earned))
        at += earned
    return found[::-1]


def shown(value: Cell) -> str:
    """A cell for people.

    >>> shown(None), shown(-1.23456), shown(True), shown("red")
    ('missing', '−1.235', 'True', 'red')
    """
    if value is None:
        return "missing"
    return rounded(value) if isinstance(value, float) else str(value)


# On a terminal


def table_text(explanation: TableExplanation, rows: int) -> str:
    """Columns over all rows and the first few rows; one row alone step by step."""
    lines = [printable(headline(explanation)), _asked(explanation)]
    if len(explanation) > 1:
        overall = explanation.importance().ranked()[: min(rows, len(explanation.players))]
        ends = overall.interval
        cells = [
            [printable(p), rounded(c), "" if ends is None else between(float(ends[i, 0]), float(ends[i, 1]), 3)]
            for i, (p, c) in enumerate(zip(overall.players, overall.credit.tolist(), strict=True))
        ]
        lines += ["", *table(["column", "mean |credit|", "95% interval"], cells, overall.credit.tolist())]
        if len(overall.players) < len(explanation.players):
            lines.append(f"… {len(explanation.players) - len(overall.players)} more columns of smaller credit")
        if explanation.pairs is not None:
            lines += ["", *_pair_lines(explanation.interaction_importance())]
    for row in range(min(len(explanation), TEXT_ROWS)):
        lines += ["", *_row_lines(explanation, row)]
    if len(explanation) > TEXT_ROWS:
        lines += ["", f"… {len(explanation) - TEXT_ROWS:,} more rows"]
    return "\n".join([*lines, "", *_facts(explanation)])


def _row_lines(explanation: TableExplanation, row: int) -> list[str]:
    k = explanation.place()
    name = printable(explanation.rows[row])
    ends = f"{rounded(explanation.base[k])} (base value) to {rounded(explanation.prediction[row, k])}"
    found = steps(explanation, row)
    cells = [[printable(s.name), printable(s.value), brief(s.credit)] for s in found]
    lines = [f"row {name}: from {ends}", *table(["column", "value", "credit"], cells, [s.credit for s in found])]
    return lines if explanation.pairs is None else [*lines, *_pair_lines(explanation.interactions(row))]


def _pair_lines(pairs: Interactions) -> list[str]:
    """The strongest pairs."""
    found = pairs.strongest(PAIRS)
    cells = [[printable(together(who)), rounded(x)] for who, x in found]
    return table(["pair", f"interaction ({pairs.index})"], cells, [x for _, x in found])


def _asked(explanation: TableExplanation) -> str:
    return f"{explanation.payoff or 'value'} of {printable(explanation.model) or 'the model'}, {explanation.method}"


def _facts(explanation: TableExplanation) -> list[str]:
    dependence = f"{explanation.dependence[:1].upper()}{explanation.dependence[1:]}." if explanation.dependence else ""
    return [printable(line) for line in (str(explanation.precision), dependence, *explanation.notes) if line]


# As a page


def table_body(explanation: TableExplanation) -> Markup:
    """The columns over all rows, points of every row, then any row."""
    several = len(explanation) > 1
    return render(
        "table", "body",
        asked=_asked(explanation), facts=_facts(explanation),
        overall=attribution_table(explanation.importance().ranked()[:SWARMS]) if several else "",
        swarms=_swarms(explanation) if several else [], drawn=min(POINTS, len(explanation)), count=len(explanation),
        rows=[_row(explanation, r) for r in range(min(len(explanation), PAGE_ROWS))],
        more=max(0, len(explanation) - PAGE_ROWS), open=not several, claims=claims_table(explanation.row(0)),
        pairs=_pairs(explanation, several),
    )  # fmt: skip


def _pairs(explanation: TableExplanation, several: bool) -> dict[str, object] | None:
    """The interactions over all rows, or of the only one."""
    if explanation.pairs is None:
        return None
    found = explanation.interaction_importance() if several else explanation.interactions(0)
    heading = "; ".join(part for part in (interactions_headline(found), left_out(found)) if part)
    return {"heading": heading, "square": pair_heat(found), "signed": not several}


def _row(explanation: TableExplanation, row: int) -> dict[str, object]:
    k = explanation.place()
    found = steps(explanation, row)
    ends = [explanation.base[k], *(x for s in found for x in (s.start, s.end))]
    low, high = float(min(ends)), float(max(ends))
    lines = [(s.name, s.value, brief(s.credit), _bar(s, low, high, float(explanation.base[k]))) for s in found]
    pairs = [] if explanation.pairs is None else explanation.interactions(row).strongest(PAIRS)
    return {
        "pairs": ", ".join(f"{together(who)} {brief(x)}" for who, x in pairs),
        "name": explanation.rows[row], "prediction": rounded(explanation.prediction[row, k]),
        "base": rounded(explanation.base[k]), "lines": lines,
    }  # fmt: skip


def _bar(step: Step, low: float, high: float, base: float) -> Bar:
    scale = (WIDTH - 4) / ((high - low) or 1.0)
    left, right = sorted(2 + (x - low) * scale for x in (step.start, step.end))
    fill = f"M{left:.1f} 3h{max(right - left, 0.5):.1f}v{HEIGHT - 6}H{left:.1f}z"
    return Bar(WIDTH, HEIGHT, hue(step.credit, True), fill, f"M{2 + (base - low) * scale:.1f} 0v{HEIGHT}", "")


class Swarm(NamedTuple):
    """The rows of one column as points: across their credit, in three shades their value."""

    name: str
    low: list[str]  # paths of points: low values, middle ones, high ones, and those without a number
    middle: list[str]
    high: list[str]
    none: list[str]
    axis: str


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
    x = WIDTH / 2 + credit / reach * (WIDTH / 2 - 4)
    y = HEIGHT / 2 + ((np.arange(len(x)) * 0.618) % 1 - 0.5) * (HEIGHT - 6)  # spread evenly, the same in every run
    paths: list[list[str]] = [[], [], [], []]
    for a, b, s in zip(x.tolist(), y.tolist(), shade.tolist(), strict=True):
        paths[s].append(f"M{a:.1f} {b:.1f}h.01")
    low, middle, high, none = paths
    return Swarm(explanation.players[player], low, middle, high, none, f"M{WIDTH / 2:g} 0v{HEIGHT}")


def _some(count: int) -> IntArray:
    return np.unique(np.linspace(0, count - 1, min(count, POINTS)).round().astype(np.int64))
