"""The arena's table as text and as Markdown, with the notes that belong beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, log10

from accredit.arena.contest import METRICS, ORACLE, RANDOM
from accredit.arena.standings import UNITS_ONLY, Standings
from accredit.checks.json_data import round_off
from accredit.core import Estimate
from accredit.views.language.headlines import compare_headline
from accredit.views.language.notation import LEGEND, letters
from accredit.views.language.numbers import estimate, fix, percent
from accredit.views.terminal.columns import table as aligned
from accredit.views.terminal.screen import WIDTH, clip, screen

FEW = 10  # inputs, below which intervals are rough
KINDS = 3  # of problems that are listed, each with its first row


def interval_text(interval: Estimate | None, digits: int = 2) -> str:
    """An estimate with its interval, as documents write it; terminal and page write `estimate`.

    >>> interval_text(Estimate(0.5, 0.41, 0.6))
    '0.50 [0.41, 0.60]'
    """
    return "—" if interval is None else format(interval, f".{digits}f").replace("-", "−")


def measure(table: Standings) -> list[str]:
    """Metrics that were measured for at least one method, in the order asked for."""
    return [metric for metric in METRICS if any(metric in s.metrics for s in table.standings)]


def header_of(table: Standings) -> list[str]:
    """Column names; an arrow says which way is good."""
    metrics = measure(table)
    arrows = [f"{m} {'↑' if METRICS[m].better == 'higher' else '↓'}" for m in metrics]
    return ["method", f"share of oracle, {percent(table.level)} interval", "p best", *arrows, "passes", "claims"]


def rows_of(table: Standings) -> list[list[str]]:
    """The cells of the table for terminal and page, in its order."""
    return _cells(table, lambda share: "—" if share is None else estimate(share, lambda x: fix(x, 2)))


def _cells(table: Standings, written: Callable[[Estimate | None], str]) -> list[list[str]]:
    columns = [_column([s.metrics[m].value if m in s.metrics else None for s in table.standings]) for m in measure(table)]
    lines = []
    for k, s in enumerate(table.standings):
        p = "—" if s.p_best is None else f"{s.p_best:.3f}" if s.p_best >= 0.001 else "<0.001"
        passes = "—" if s.method in (RANDOM, ORACLE) else f"{s.passes:.0f}"
        lines.append([s.method, written(s.share), p, *(column[k] for column in columns), passes, letters(s.claims)])
    return lines


def _column(values: Sequence[float | None]) -> list[str]:
    """Numbers below each other, with as many decimals as give the largest three digits.

    >>> _column([0.409, -0.0017, None]), _column([12.0, 0.5])
    (['0.409', '−0.002', 'n/a'], ['12.0', '0.5'])
    """
    known = [abs(x) for x in values if x is not None]
    largest = max(known, default=0.0)
    if largest and not 1e-6 < largest < 1e6:
        return ["n/a" if x is None else round_off(x, 3) for x in values]
    decimals = max(0, 3 - ceil(log10(largest))) if largest else 3
    return ["n/a" if x is None else fix(x, decimals) for x in values]


def notes_of(table: Standings) -> list[str]:
    """What must be said beside the table: how it is ranked, what was left out, and why."""
    tested = (
        "p best: the p-value of being as good as the best one (paired sign-flip test over inputs, Holm-corrected for all "
        "pairs of methods)."
    )
    against_best = any(s.p_best is not None for s in table.standings)
    return [*_rank_by(table), *[tested] * against_best, *_left_out(table), *failures_of(table)]


def _rank_by(table: Standings) -> list[str]:
    inputs = f"{table.rows} input{'s' * (table.rows != 1)}"
    flat = [m for m in measure(table) if m not in table.ranked_by and m not in UNITS_ONLY]
    if table.ranked_by:
        notes = [
            f"{inputs}; ranked by {', '.join(table.ranked_by)}. 0 is random, 1 the oracle, which looks at the game itself "
            "(orders: exact up to 12 players, greedy beyond, so that a method can come out a little above it)."
        ]
    else:
        notes = [f"{inputs}; no method is ranked, because no metric has a scale. Give more inputs or other metrics."]
    if flat:
        notes.append(f"Not ranked by {', '.join(flat)}: the oracle is not above random there on these inputs.")
    if table.rows == 1:
        notes.append("With one input nothing can be resampled: the intervals say nothing.")
    elif table.rows < FEW:
        notes.append(f"With fewer than {FEW} inputs the intervals are rough.")
    return notes


def _left_out(table: Standings) -> list[str]:
    """Metrics that were not measured, for which methods and why; one line for each reason."""
    never: dict[tuple[str, str], list[str]] = {}
    partly: dict[tuple[str, str, int], list[str]] = {}
    methods = [s for s in table.standings if s.method != ORACLE]
    for s in methods:
        for metric, why in s.missing.items():
            if metric in s.measured_on:
                partly.setdefault((metric, _general(why), s.rows - s.measured_on[metric]), []).append(s.method)
            else:
                never.setdefault((metric, _general(why)), []).append(s.method)

    def whose(names: list[str], word: str) -> str:
        return "" if len(names) == len(methods) else f" {word} {', '.join(names)}"

    notes = [f"{metric} is not measured{whose(names, 'for')}: {why}." for (metric, why), names in never.items()]
    for (metric, why, count), names in partly.items():
        inputs = f"{count} input{'s' * (count != 1)}"
        notes.append(f"{metric}{whose(names, 'of')} is not measured on {inputs}: {why}.")
    return notes


def _general(reason: str) -> str:
    for known in ("gives scores without a unit", "divides something other than this game's payoff"):
        if known in reason:
            return f"it {known}"
    return reason


def failures_of(table: Standings) -> list[str]:
    """Methods that failed on some inputs, and inputs that could not be explained at all."""
    notes = []
    for s in table.standings:
        if s.failures:
            notes.append(f"{s.method} failed on {len(s.failures)} of {table.rows} inputs: {_examples_of(s.failures)}")
    if table.refused:
        many = f"{len(table.refused)} rows" if len(table.refused) > 1 else "1 row"
        notes.append(f"{many} could not be explained at all: {_examples_of(table.refused)}")
    return notes


def _examples_of(problems: Mapping[int, str]) -> str:
    """The first row of every kind of problem, and how many more there are."""
    kinds: dict[str, list[int]] = {}
    for row, why in problems.items():
        kinds.setdefault(why, []).append(row)
    shown = [f"row {rows[0]}{f' and {len(rows) - 1} more' * (len(rows) > 1)}, {why}" for why, rows in kinds.items()]
    rest = f"; and {len(shown) - KINDS} other reasons" if len(shown) > KINDS else ""
    return "; ".join(shown[:KINDS]) + rest + " (rows are counted from 0)"


def seconds_text(table: Standings) -> str:
    """Wall time per explanation, one line; it is not part of the table because it differs from run to run."""
    timed = [f"{s.method} {1000 * s.seconds:.0f}" for s in table.standings if s.seconds]
    return "milliseconds per explanation: " + ", ".join(timed)


def text_table(table: Standings, more: bool = True) -> str:
    """The verdict, the ranking; then, on request, metric by metric and how it was measured."""
    header, rows = header_of(table), rows_of(table)
    first, last = 3, 3 + len(measure(table))  # columns of metrics
    brief = ["method", f"share, {percent(table.level)} interval", "p best", "passes", "claims"]
    lines = ["", *clip(aligned(brief, [[*row[:first], *row[last:]] for row in rows]))]
    metrics = []
    for columns in _fold([header, *rows], range(first, last)):
        picked = [[row[0], *(row[c] for c in columns)] for row in (header, *rows)]
        metrics += ["", *aligned(picked[0], picked[1:])]
    rough = [f"With {table.rows} input{'s' * (table.rows != 1)} the intervals are rough."] * (table.rows < FEW)
    told = ["", *notes_of(table), f"claims: {LEGEND}."]
    return screen(compare_headline(table).text, [*lines, *metrics], told, more, [] if more else [*rough, *failures_of(table)])


def _fold(rows: Sequence[Sequence[str]], columns: Iterable[int], width: int = WIDTH) -> list[list[int]]:
    """Columns in blocks that, beside the first column, are no wider than `width`."""
    blocks: list[list[int]] = []
    used = 0
    for column in columns:
        wide = 2 + max(len(row[column]) for row in rows)
        if not blocks or used + wide > width:
            blocks.append([])
            used = max(len(row[0]) for row in rows)
        blocks[-1].append(column)
        used += wide
    return blocks


def markdown_table(table: Standings) -> str:
    """The table for a document."""
    header = header_of(table)
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in _cells(table, interval_text)]
    return "\n".join(lines) + "\n\n" + "\n".join(f"- {note}" for note in notes_of(table))


def as_markdown_matrix(names: Sequence[str], square: Iterable[Iterable[float]]) -> str:
    """A square of numbers as a Markdown table."""
    lines = ["| | " + " | ".join(names) + " |", "|---" + "|---:" * len(names) + "|"]
    lines += ["| " + name + " | " + " | ".join(fix(x, 2) for x in row) + " |" for name, row in zip(names, square, strict=True)]
    return "\n".join(lines)
