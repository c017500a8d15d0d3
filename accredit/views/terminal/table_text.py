"""An explained table in words and on a terminal: the columns over all rows, then rows from base value to output."""

from __future__ import annotations

from accredit.checks.json_data import round_off
from accredit.core import Interactions
from accredit.rows.result import Cell, TableExplanation
from accredit.views.language.largest import Step, climb, largest
from accredit.views.language.numbers import between, brief
from accredit.views.language.phrases import NAME, chance, row_name, speak, together, unit
from accredit.views.language.printable import printable, short
from accredit.views.terminal.columns import table

STEPS = 12  # columns of one row that are shown by themselves; the others together
TEXT_ROWS = 5  # rows that a terminal shows
SIZE, SIZE_OF_ALL = "mean |credit|", "mean |credit|, all outputs"
PAIRS = 5  # interactions that a row shows


def headline(explanation: TableExplanation) -> str:
    """One sentence: what is explained, and which column matters most: over all outputs where there are several."""
    if len(explanation) == 1:
        k = explanation.place()
        largest = explanation.row(0).top(1)
        way = "raises" if largest.credit[0] >= 0 else "lowers"
        return (
            f"{explanation.target}: {with_chance(explanation, 0, round_off(explanation.prediction[0, k]))}; "
            f"{largest.players[0]} {way} it most, by {brief(float(largest.credit[0]))}"
        )
    if len(explanation.outputs) > 2:
        largest = explanation.overall_importance().top(1)
        by = round_off(float(largest.credit[0]), 3)
        return (
            f"In {len(explanation):,} rows: {short(largest.players[0], NAME)} matters most over all {len(explanation.outputs)} "
            f"outputs, which it moves by {by} together, on average"
        )
    largest = explanation.importance().top(1)
    top, by = largest.players[0], round_off(float(largest.credit[0]), 3)
    moved = "the prediction" if explanation.target == "prediction" else f"the {unit(explanation)} of “{explanation.target}”"
    return f"In {len(explanation):,} rows: {short(top, NAME)} matters most, moving {moved} by {by} on average"


def with_chance(explanation: TableExplanation, row: int | None, score: str) -> str:
    """A score with its probability, where there is one: that of a row, or of the base value."""
    found = chance(explanation, row)
    return f"{score} ({found})" if found else score


def steps(explanation: TableExplanation, row: int, most: int = STEPS) -> list[Step]:
    """The columns of a row, largest credit first, each starting where the one before it ended; the first at the base value."""
    credit = explanation.row(row).credit
    kept, rest = largest(credit, most)
    named = [(explanation.players[i], shown(explanation.values[i][row]), float(credit[i])) for i in kept.tolist()]
    if len(rest):
        named.append((f"{len(rest)} other columns", "", float(credit[rest].sum())))
    return climb(float(explanation.base[explanation.place()]), named)


def shown(value: Cell) -> str:
    """A cell for people.

    >>> shown(None), shown(-1.23456), shown(True), shown("red")
    ('missing', '−1.235', 'True', 'red')
    """
    if value is None:
        return "missing"
    return round_off(value) if isinstance(value, float) else str(value)


# On a terminal


def table_text(explanation: TableExplanation, rows: int) -> str:
    """Columns over all rows and the first few rows; one row alone step by step; several methods one below another."""
    return "\n\n".join(_method_text(one, rows) for _, one in explanation.items())


def _method_text(explanation: TableExplanation, rows: int) -> str:
    lines = [printable(headline(explanation)), asked(explanation)]
    if len(explanation) > 1:
        several = len(explanation.outputs) > 2
        found = explanation.overall_importance() if several else explanation.importance()
        overall = found.ranked()[: min(rows, len(explanation.players))]
        ends = overall.interval
        cells = [
            [printable(p), round_off(c), "" if ends is None else between(float(ends[i, 0]), float(ends[i, 1]), 3)]
            for i, (p, c) in enumerate(zip(overall.players, overall.credit.tolist(), strict=True))
        ]
        lines += ["", *table(["column", SIZE_OF_ALL if several else SIZE, "95% interval"], cells, overall.credit.tolist())]
        if len(overall.players) < len(explanation.players):
            lines.append(f"… {len(explanation.players) - len(overall.players)} more columns of smaller credit")
        if explanation.pairs is not None:
            lines += ["", *_pair_lines(explanation.interaction_importance())]
    for row in range(min(len(explanation), TEXT_ROWS)):
        lines += ["", *_row_lines(explanation, row)]
    if len(explanation) > TEXT_ROWS:
        lines += ["", f"… {len(explanation) - TEXT_ROWS:,} more rows"]
    return "\n".join([*lines, "", *facts(explanation)])


def _row_lines(explanation: TableExplanation, row: int) -> list[str]:
    k = explanation.place()
    base = with_chance(explanation, None, round_off(explanation.base[k]))
    output = with_chance(explanation, row, round_off(explanation.prediction[row, k]))
    about = f", {printable(explanation.target)}" * (len(explanation.outputs) > 1)
    found = steps(explanation, row)
    cells = [[printable(s.name), printable(s.value), brief(s.credit)] for s in found]
    lines = [
        f"{printable(row_name(explanation, row))}{about}: from {base} (base value) to {output}",
        *table(["column", "value", "credit"], cells, [s.credit for s in found]),
    ]
    return lines if explanation.pairs is None else [*lines, *_pair_lines(explanation.interactions(row))]


def _pair_lines(pairs: Interactions) -> list[str]:
    """The strongest pairs."""
    found = pairs.strongest(PAIRS)
    cells = [[printable(together(who)), round_off(x)] for who, x in found]
    return table(["pair", f"interaction ({pairs.index})"], cells, [x for _, x in found])


def asked(explanation: TableExplanation) -> str:
    """What was shared, of which model, and how."""
    return f"{unit(explanation)} of {printable(explanation.model) or 'the model'}, {speak(explanation.method)}"


def facts(explanation: TableExplanation) -> list[str]:
    """What is known about the error, what stands in for absent columns, and what else the reader must know."""
    dependence = f"{explanation.dependence[:1].upper()}{explanation.dependence[1:]}." if explanation.dependence else ""
    return [printable(line) for line in (str(explanation.precision), dependence, *map(str, explanation.notes)) if line]
