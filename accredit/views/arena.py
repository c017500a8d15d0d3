"""The arena's table as text, as Markdown and as one self-contained HTML page with its curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, log10
from textwrap import wrap
from typing import Any

from accredit.arena.contest import METRICS, ORACLE, RANDOM
from accredit.arena.standings import UNITS_ONLY, Standing, Standings
from accredit.core import Estimate
from accredit.core.plain import rounded
from accredit.views.columns import printable
from accredit.views.columns import table as aligned
from accredit.views.escape import escape
from accredit.views.page import page
from accredit.views.palette import level
from accredit.views.parts import bar, grid

AXIOM_LETTERS = {"efficiency": "E", "symmetry": "S", "null player": "N", "linearity": "L"}
LETTERS = ", ".join(f"{letter} {axiom}" for axiom, letter in AXIOM_LETTERS.items())
MARK = {"exactly": "", "in expectation": "~", "in the limit": "≈"}
FEW = 10  # inputs, below which intervals are rough
KINDS = 3  # of problems that are told in full
LINE = {ORACLE: "var(--soft)", RANDOM: "var(--soft)"}


def interval_text(interval: Estimate | None, digits: int = 2) -> str:
    """An estimate with its interval.

    >>> interval_text(Estimate(0.5, 0.41, 0.6))
    '0.50 [0.41, 0.60]'
    """
    return "—" if interval is None else format(interval, f".{digits}f")


def claims_text(standing: Standing) -> str:
    """Axioms that hold, by their letters: E exactly, E~ in expectation, E≈ in the limit.

    >>> claims_text(Standing("m", None, {}, {}, {}, 0, 0, {"efficiency": "exactly", "linearity": "in the limit"}, 1, {}))
    'E L≈'
    """
    held = [AXIOM_LETTERS[a] + MARK[h] for a, h in standing.claims.items() if a in AXIOM_LETTERS and h in MARK]
    return " ".join(held) or "—"


def measured(table: Standings) -> list[str]:
    """Metrics that were measured for somebody, in the order asked."""
    return [metric for metric in METRICS if any(metric in s.metrics for s in table.standings)]


def header_of(table: Standings) -> list[str]:
    """Column names; an arrow tells which way is good."""
    metrics = measured(table)
    arrows = [f"{m} {'↑' if METRICS[m].better == 'higher' else '↓'}" for m in metrics]
    return ["method", f"share of oracle, {table.level:.0%} interval", "p best", *arrows, "passes", "claims"]


def rows_of(table: Standings) -> list[list[str]]:
    """The cells of the table, in its order."""
    columns = [
        _column([s.metrics[m].value if m in s.metrics else None for s in table.standings]) for m in measured(table)
    ]
    lines = []
    for k, s in enumerate(table.standings):
        p = "—" if s.p_best is None else f"{s.p_best:.3f}" if s.p_best >= 0.001 else "<0.001"
        passes = "—" if s.method in (RANDOM, ORACLE) else f"{s.passes:.0f}"
        lines.append([s.method, interval_text(s.share), p, *(column[k] for column in columns), passes, claims_text(s)])
    return lines


def _column(values: Sequence[float | None]) -> list[str]:
    """Numbers under each other with the same decimals, so many that the largest shows three digits.

    >>> _column([0.409, -0.0017, None]), _column([12.0, 0.5])
    (['0.409', '-0.002', 'n/a'], ['12.0', '0.5'])
    """
    known = [abs(x) for x in values if x is not None]
    largest = max(known, default=0.0)
    if largest and not 1e-6 < largest < 1e6:
        return ["n/a" if x is None else rounded(x, 3) for x in values]
    decimals = max(0, 3 - ceil(log10(largest))) if largest else 3
    return ["n/a" if x is None else f"{x:.{decimals}f}" for x in values]


def notes_of(table: Standings) -> list[str]:
    """What must be said beside the table: how it is ranked, what was left out, and why."""
    tested = (
        "p best: that the method is as good as the best one (paired sign-flip test over inputs, Holm-corrected for all "
        "pairs of methods)."
    )
    against_best = any(s.p_best is not None for s in table.standings)
    return [*_ranked_by(table), *[tested] * against_best, *_left_out(table), *_failed(table)]


def _ranked_by(table: Standings) -> list[str]:
    inputs = f"{table.rows} input{'s' * (table.rows != 1)}"
    flat = [m for m in measured(table) if m not in table.ranked_by and m not in UNITS_ONLY]
    if table.ranked_by:
        notes = [
            f"{inputs}; ranked by {', '.join(table.ranked_by)}. 0 is random, 1 the oracle, which looks at the game itself "
            "(orders: exact up to 12 players, greedy beyond), so it can be beaten by a little."
        ]
    else:
        notes = [f"{inputs}; nobody is ranked, because no metric has a scale here. Give more inputs or other metrics."]
    if flat:
        notes.append(f"Not ranked by {', '.join(flat)}: the oracle is not above random there on these inputs.")
    if table.rows == 1:
        notes.append("With one input nothing can be resampled: the intervals say nothing.")
    elif table.rows < FEW:
        notes.append(f"With fewer than {FEW} inputs the intervals are rough.")
    return notes


def _left_out(table: Standings) -> list[str]:
    """Metrics that were not measured, for whom and why; those of everybody, and on some inputs, in one line each."""
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
    for known in ("gives scores in no unit", "divides something else than this game's payoff"):
        if known in reason:
            return f"it {known}"
    return reason


def _failed(table: Standings) -> list[str]:
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
    """Wall time an explanation, one line; it is not part of the table because it differs from run to run."""
    timed = [f"{s.method} {1000 * s.seconds:.0f}" for s in table.standings if s.seconds]
    return "milliseconds an explanation: " + ", ".join(timed)


def text_table(table: Standings, width: int | None = None) -> str:
    """The tables for a terminal: the ranking, then metric by metric; columns and notes folded to `width`, if given."""
    header, rows = header_of(table), rows_of(table)
    first, last = 3, 3 + len(measured(table))  # columns of metrics
    short = ["method", f"share, {table.level:.0%} interval", "p best", "passes", "claims"]
    lines = aligned(short, [[*row[:first], *row[last:]] for row in rows])
    for columns in _folded([header, *rows], range(first, last), width):
        picked = [[row[0], *(row[c] for c in columns)] for row in (header, *rows)]
        lines += ["", *aligned(picked[0], picked[1:])]
    lines.append("")
    claims = f"claims: {LETTERS}; ~ in expectation, ≈ in the limit."
    for note in map(printable, [*notes_of(table), claims]):
        lines += wrap(note, width, subsequent_indent="  ") if width else [note]
    return "\n".join(lines)


def _folded(rows: Sequence[Sequence[str]], columns: Iterable[int], width: int | None) -> list[list[int]]:
    """Columns in blocks that, beside the first column, are no wider than `width`."""
    blocks: list[list[int]] = []
    used = 0
    for column in columns:
        wide = 2 + max(len(row[column]) for row in rows)
        if not blocks or (width is not None and used + wide > width):
            blocks.append([])
            used = max(len(row[0]) for row in rows)
        blocks[-1].append(column)
        used += wide
    return blocks


def markdown_table(table: Standings) -> str:
    """The table for a document."""
    header = header_of(table)
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows_of(table)]
    return "\n".join(lines) + "\n\n" + "\n".join(f"- {note}" for note in notes_of(table))


def arena_page(table: Standings, title: str) -> str:
    """One HTML page: the ranking, metric by metric, the curves, who agrees with whom."""
    header, rows = header_of(table), rows_of(table)
    first, last = 3, 3 + len(measured(table))  # columns of metrics
    notes = "".join(f"<li>{escape(note)}</li>" for note in notes_of(table))
    return page(title, "".join([
        _ranking(table), _legend(), f"<ul class='reading soft'>{notes}</ul>",
        "<h2>Metric by metric</h2><p class='soft'>Means over inputs; ↑ high is good, ↓ low is good.</p>",
        grid([escape(h) for h in ("method", *header[first:last])],
             [[_whole(row[0]), *map(escape, row[first:last])] for row in rows]),
        "<h2>Deletion and insertion</h2><p class='soft'>Mean payoff as players leave or arrive, most credited first.</p>",
        _curves(table, "deletion", "removed"), _curves(table, "insertion", "put in"), _curve_names(table),
        "<h2>Who agrees with whom</h2><p class='soft'>Mean Spearman correlation of credits over inputs.</p>",
        _agreement(table),
    ]))  # fmt: skip


def _whole(text: str) -> str:
    """Text that is not broken over lines."""
    return f'<span class="holds">{escape(text)}</span>'


def _ranking(table: Standings) -> str:
    """Methods from best to worst: the share with its interval, written and drawn, the test against the best, cost, claims."""
    known = [s.share for s in table.standings if s.share is not None]
    span = min([0.0, *(x.ends[0] for x in known)]), max([1.0, *(x.ends[1] for x in known)])
    rows = []
    for s, (method, share, p, *_, passes, claims) in zip(table.standings, rows_of(table), strict=True):
        drawn = "" if s.share is None else bar(s.share.value, span, s.share.ends, width=220)
        cost = f"{1000 * s.seconds:.0f}" if s.seconds else "—"
        rows.append([_whole(method), _whole(share), drawn, *map(_whole, (p, passes, cost, claims))])
    return grid(
        ["method", f"share of oracle, {table.level:.0%} interval", "", "p best", "passes", "ms", "claims"], rows
    )


def _legend() -> str:
    return (
        "<p class='soft'>Share: how far a method gets from random (0) to an oracle that knows the answers (1). Passes: "
        "runs of the model for one explanation; ms: its median time in milliseconds where this ran. "
        f"Claims: {escape(LETTERS)}; ~ in expectation, ≈ in the limit.</p>"
    )


LEFT, TOP, WIDE, HIGH = 44, 26, 380, 200  # of the plotting area, in the units of a drawing of 440 by 270


def _curves(table: Standings, curve: str, verb: str) -> str:
    drawn = _drawn(table, curve)
    if not drawn:
        return ""
    low, high = (float(f([f(values) for values in drawn.values()])) for f in (min, max))
    span = (high - low) or 1.0

    def y(value: float) -> float:
        return TOP + HIGH * (high - value) / span

    lines = []
    for value in (low, (low + high) / 2, high):
        lines.append(
            f'<path d="M{LEFT} {y(value):.1f}h{WIDE}" class="axis"/>'
            f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{rounded(value, 2)}</text>'
        )
    for share in (0.0, 0.5, 1.0):
        lines.append(f'<text x="{LEFT + WIDE * share}" y="{TOP + HIGH + 18}" text-anchor="middle">{share:.0%}</text>')
    for k, (name, values) in enumerate(drawn.items()):
        points = " ".join(f"{LEFT + WIDE * i / (len(values) - 1):.1f},{y(v):.1f}" for i, v in enumerate(values))
        colour, dash = _stroke(k, name)
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"/>'
        )
    return (
        f'<svg class="curves" width="440" height="270" viewBox="0 0 440 270" role="img" aria-label="{escape(curve)} curves of '
        f'{len(drawn)} methods"><text x="{LEFT}" y="14">{escape(curve)}</text>{"".join(lines)}'
        f'<text x="{LEFT + WIDE / 2}" y="{TOP + HIGH + 36}" text-anchor="middle">share of players {escape(verb)}</text></svg>'
    )


def _drawn(table: Standings, curve: str) -> dict[str, list[float]]:
    """Methods that have this curve, in the table's order."""
    return {s.method: table.curves[s.method][curve] for s in table.standings if curve in table.curves.get(s.method, {})}


def _curve_names(table: Standings) -> str:
    """Which line is whose."""
    keys = []
    for k, name in enumerate(_drawn(table, "deletion")):
        colour, dash = _stroke(k, name)
        line = f'<path d="M0 5h28" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        keys.append(
            f'<span class="holds"><svg width="28" height="10" aria-hidden="true">{line}</svg> {escape(name)}</span>'
        )
    return f'<div class="legend">{"".join(keys)}</div>'


def _stroke(k: int, name: str) -> tuple[str, str]:
    """A colour and a dash for each method, so that curves differ in print and for every eye, on light paper and on dark."""
    if name in LINE:
        return LINE[name], "2 4" if name == RANDOM else "8 3"
    colours = ("#3b82c4", "#d9701f", "#2a9070", "#9a6bc0", "#b5654a", "#1695a8", "#8f8a1c")
    return colours[k % len(colours)], ("none", "6 3", "3 2")[k // len(colours) % 3]


def _agreement(table: Standings) -> str:
    """Correlations of every two methods, once; columns carry the numbers of the rows."""
    rows = []
    for k, name in enumerate(table.agreement_of):
        known = [f'<span class="{level(x, 1.0)}">{_short(x)}</span>' for x in table.agreement[k, :k].tolist()]
        rows.append([_whole(f"{k + 1} {name}"), *known, *[""] * (len(table.agreement_of) - 1 - k)])
    return grid(["", *(str(k) for k in range(1, len(rows)))], rows)


def _short(correlation: float) -> str:
    """A correlation without the zero before the point, as many stand in a row.

    >>> _short(-0.061), _short(1.0), _short(-0.001)
    ('−.06', '1.00', '.00')
    """
    text = f"{correlation:.2f}".replace("-0.00", "0.00").replace("-", "−")
    return text.replace("0.", ".") if abs(correlation) < 0.995 else text


def as_markdown_matrix(names: Sequence[str], square: Any) -> str:
    """A square of numbers as a Markdown table."""
    lines = ["| | " + " | ".join(names) + " |", "|---" + "|---:" * len(names) + "|"]
    lines += [
        "| " + name + " | " + " | ".join(f"{x:.2f}" for x in row) + " |"
        for name, row in zip(names, square, strict=True)
    ]
    return "\n".join(lines)
