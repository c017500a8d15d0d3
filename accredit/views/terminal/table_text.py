"""An explained table in words and on a terminal: the columns over all rows, then rows from base value to output."""

from __future__ import annotations

from accredit import defaults
from accredit.checks.json_data import round_off
from accredit.core import Attribution, Interactions, NoteKind
from accredit.rows.result import Cell, TableExplanation
from accredit.views.language.headlines import headline
from accredit.views.language.largest import Step, climb, largest
from accredit.views.language.numbers import between, brief, percent
from accredit.views.language.phrases import chance, row_name, speak, together, unit
from accredit.views.language.printable import printable, short
from accredit.views.terminal.columns import table
from accredit.views.terminal.screen import clip, screen

NAME, VALUE = 32, 20  # cells of a column's name, and of its value
STEPS = 12  # columns of one row that are shown by themselves; the others together
TEXT_ROWS = 5  # rows that a terminal shows
SIZE, SIZE_OF_ALL = "mean |credit|", "mean |credit|, all outputs"
PAIRS = 5  # interactions that a row shows


def with_chance(explanation: TableExplanation, row: int | None, score: str) -> str:
    """A score with its probability, where there is one: that of a row, or of the base value."""
    found = chance(explanation, row)
    return f"{score} ({found})" if found else score


def steps(explanation: TableExplanation, row: int, most: int = STEPS) -> list[Step]:
    """The columns of a row, largest credit first, each starting where the one before it ended; the first at the base value."""
    credit = explanation.row(row).credit
    kept, rest = largest(credit, most)
    named = [(explanation.players[i], shown(explanation.cells[i][row]), float(credit[i])) for i in kept.tolist()]
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


def table_text(explanation: TableExplanation, rows: int, more: bool = True) -> str:
    """Columns over all rows and the first few rows; one row alone step by step; several methods one below another."""
    several = len(list(explanation.items())) > 1
    texts = [_method_text(one, rows, more, f"{speak(one.method)}. " * several) for _, one in explanation.items()]
    return "\n\n".join(texts)


def _method_text(explanation: TableExplanation, rows: int, more: bool, by: str = "") -> str:
    body: list[str] = []
    if len(explanation) > 1:
        several = len(explanation.outputs) > 2
        found = explanation.overall_importance() if several else explanation.importance()
        body += ["", *importance_lines(found, rows, "column", SIZE_OF_ALL if several else SIZE)]
        if explanation.pairs is not None:
            body += ["", *_pair_lines(explanation.interaction_importance())]
    for row in range(min(len(explanation), TEXT_ROWS if more or len(explanation) == 1 else 1)):
        body += ["", *_row_lines(explanation, row)]
    hidden = len(explanation) - TEXT_ROWS
    body += ["", f"… {hidden:,} more rows"] if more and hidden > 0 else []
    told = [] if more else warnings_of(explanation)
    return screen(by + headline(explanation).text, body, ["", asked(explanation), *facts(explanation)], more, told)


def warnings_of(explanation: TableExplanation) -> list[str]:
    """What is said on the first screen, too: the numbers may not say what they seem to say."""
    return [str(note) for note in explanation.notes if note.kind is NoteKind.WARNING]


def importance_lines(found: Attribution, rows: int, noun: str, size: str) -> list[str]:
    """Mean sizes of credit, largest first, with their intervals."""
    overall = found.ranked()[: min(rows, len(found))]
    ends = overall.interval
    cells = [
        [short(p, NAME), round_off(c), "" if ends is None else between(float(ends[i, 0]), float(ends[i, 1]), 3)]
        for i, (p, c) in enumerate(zip(overall.players, overall.credit.tolist(), strict=True))
    ]
    hidden = len(found) - len(overall)
    lines = table([noun, size, f"{percent(found.level or defaults.LEVEL)} interval"], cells, overall.credit.tolist())
    return [*clip(lines), *[f"… {hidden} more {noun}s of smaller credit"] * bool(hidden)]


def _row_lines(explanation: TableExplanation, row: int) -> list[str]:
    k = explanation.place()
    base = with_chance(explanation, None, round_off(explanation.base[k]))
    output = with_chance(explanation, row, round_off(explanation.prediction[row, k]))
    about = f", output {printable(explanation.target)}" * (len(explanation.outputs) > 1)
    found = steps(explanation, row)
    cells = [[short(s.name, NAME), short(s.value, VALUE), brief(s.credit)] for s in found]
    lines = [
        f"{printable(row_name(explanation, row))}{about}: from {base} (base value) to {output}",
        *clip(table(["column", "value", "credit"], cells, [s.credit for s in found])),
    ]
    return lines if explanation.pairs is None else [*lines, *_pair_lines(explanation.interactions(row))]


def _pair_lines(pairs: Interactions) -> list[str]:
    """The strongest pairs."""
    found = pairs.strongest(PAIRS)
    cells = [[printable(together(who)), round_off(x)] for who, x in found]
    return clip(table(["pair", f"interaction ({pairs.index})"], cells, [x for _, x in found]))


def asked(explanation: TableExplanation) -> str:
    """What was shared, of which model, and how."""
    return f"{unit(explanation)} of {printable(explanation.model) or 'the model'}, {speak(explanation.method)}"


def facts(explanation: TableExplanation) -> list[str]:
    """What is known about the error, what stands in for absent columns, and what else the reader must know."""
    dependence = f"{explanation.dependence[:1].upper()}{explanation.dependence[1:]}." if explanation.dependence else ""
    return [printable(line) for line in (str(explanation.precision), dependence, *map(str, explanation.notes)) if line]
