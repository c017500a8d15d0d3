"""The arena's table as text, as Markdown and as one self-contained HTML page with its curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from accredit.core.plain import rounded
from accredit.evaluate.arena import METRICS, ORACLE, RANDOM
from accredit.evaluate.bootstrap import Interval
from accredit.evaluate.standings import Standing, Standings
from accredit.views.escape import escape
from accredit.views.page import page
from accredit.views.palette import level
from accredit.views.parts import bar, grid
from accredit.views.text import table as aligned

AXIOM_LETTERS = {"efficiency": "E", "symmetry": "S", "null player": "N", "linearity": "L"}
MARK = {"exactly": "", "in expectation": "~", "in the limit": "≈"}
LINE = {ORACLE: "var(--soft)", RANDOM: "var(--soft)"}


def interval_text(interval: Interval | None, digits: int = 2) -> str:
    """An estimate with its interval.

    >>> interval_text(Interval(0.5, 0.41, 0.6))
    '0.50 [0.41, 0.60]'
    """
    if interval is None:
        return "—"
    return f"{interval.estimate:.{digits}f} [{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def claims_text(standing: Standing) -> str:
    """Axioms that hold, by their letters: E exactly, E~ in expectation, E≈ in the limit.

    >>> claims_text(Standing("m", None, {}, {}, 0, 0, {"efficiency": "exactly", "linearity": "in the limit"}, 1, {}))
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
    metrics = measured(table)
    lines = []
    for s in table.standings:
        p = "—" if s.p_best is None else f"{s.p_best:.3f}" if s.p_best >= 0.001 else "<0.001"
        cells = [rounded(s.metrics[m].estimate, 3) if m in s.metrics else "n/a" for m in metrics]
        passes = "—" if s.method in (RANDOM, ORACLE) else f"{s.passes:.0f}"
        lines.append([s.method, interval_text(s.share), p, *cells, passes, claims_text(s)])
    return lines


def notes_of(table: Standings) -> list[str]:
    """What must be said beside the table: what was left out, and why."""
    count = f"{table.rows} input{'s' * (table.rows != 1)}"
    notes = [
        f"{count}; ranked by {', '.join(table.ranked_by)}. 0 is random, 1 the oracle, which looks at the game itself "
        "(orders: exact up to 12 players, greedy beyond), so it can be beaten by a little.",
        "p best: that the method is as good as the best one (paired sign-flip test over inputs, Holm-corrected).",
    ]
    left_out: dict[str, dict[str, list[str]]] = {}
    for s in table.standings:
        for metric, why in s.missing.items():
            reason = why.replace(s.method, "it")
            left_out.setdefault(metric, {}).setdefault(_general(reason), []).append(s.method)
    for metric, reasons in left_out.items():
        for why, methods in reasons.items():
            notes.append(f"{metric} is not measured for {', '.join(methods)}: {why}.")
    for s in table.standings:
        if s.failures:
            row, why = next(iter(s.failures.items()))
            notes.append(f"{s.method} failed on {len(s.failures)} of {table.rows} inputs; on row {row}: {why}")
    if table.refused:
        row, why = next(iter(table.refused.items()))
        many = f"{len(table.refused)} rows" if len(table.refused) > 1 else "1 row"
        notes.append(f"{many} could not be explained at all; row {row}: {why}")
    return notes


def _general(reason: str) -> str:
    for known in ("gives scores in no unit", "divides something else than this game's payoff"):
        if known in reason:
            return f"it {known}"
    return reason


def seconds_text(table: Standings) -> str:
    """Wall time an explanation, one line; it is not part of the table because it differs from run to run."""
    timed = [f"{s.method} {1000 * s.seconds:.0f}" for s in table.standings if s.seconds]
    return "milliseconds an explanation: " + ", ".join(timed)


def text_table(table: Standings) -> str:
    """The table for a terminal."""
    return "\n".join([*aligned(header_of(table), rows_of(table)), "", *notes_of(table)])


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
    body = [_ranking(table), _legend(table)]
    body += [f"<p class='soft'>{escape(note)}</p>" for note in notes_of(table)]
    body.append(f"<p class='soft'>{escape(seconds_text(table).capitalize())}.</p>")
    body.append("<h2>Metric by metric</h2><p class='soft'>Means over inputs; ↑ high is good, ↓ low is good.</p>")
    body.append(grid([escape(h) for h in ("method", *header[first:last])],
                     [[_whole(row[0]), *map(escape, row[first:last])] for row in rows]))  # fmt: skip
    for curve, verb in (("deletion", "removed"), ("insertion", "put in")):
        body.append(
            f"<h2>{curve.capitalize()}</h2><p class='soft'>Mean payoff as players are {verb}, most credited first.</p>"
        )
        body.append(_curves(table, curve))
    body += [
        "<h2>Who agrees with whom</h2><p class='soft'>Mean Spearman correlation of credits over inputs.</p>",
        _agreement(table),
    ]
    return page(title, "".join(body))


def _whole(text: str) -> str:
    """Text that is not broken over lines."""
    return f'<span class="holds">{escape(text)}</span>'


def _ranking(table: Standings) -> str:
    """Methods from best to worst: the share as a bar with its interval, the test against the best, cost and claims."""
    known = [s.share for s in table.standings if s.share is not None]
    span = min(0.0, *(x.low for x in known)), max(1.0, *(x.high for x in known))
    rows = []
    for s, (method, share, p, *_, passes, claims) in zip(table.standings, rows_of(table), strict=True):
        drawn = "" if s.share is None else bar(s.share.estimate, span, (s.share.low, s.share.high), width=220)
        rows.append([_whole(method), drawn, *map(_whole, (share, p, passes, claims))])
    return grid(["method", "", f"share of oracle, {table.level:.0%} interval", "p best", "passes", "claims"], rows)


def _legend(table: Standings) -> str:
    letters = ", ".join(f"{letter} {axiom}" for axiom, letter in AXIOM_LETTERS.items())
    return (
        "<p class='soft'>Share: how far a method gets from random (0) to an oracle that knows the answers (1). Passes: "
        f"runs of the model for one explanation. Claims: {escape(letters)}; ~ in expectation, ≈ in the limit.</p>"
    )


def _curves(table: Standings, curve: str, width: int = 640, height: int = 300) -> str:
    drawn = {
        s.method: table.curves[s.method][curve] for s in table.standings if curve in table.curves.get(s.method, {})
    }
    if not drawn:
        return ""
    every = np.array(list(drawn.values()))
    low, high = float(every.min()), float(every.max())
    span = (high - low) or 1.0
    lines, labels = [], []
    for k, (name, values) in enumerate(drawn.items()):
        points = " ".join(
            f"{40 + (width - 220) * i / (len(values) - 1):.1f},{10 + (height - 40) * (high - v) / span:.1f}"
            for i, v in enumerate(values)
        )
        colour, dash = _stroke(k, name)
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"/>'
        )
        y = 16 + 15 * k
        labels.append(
            f'<path d="M{width - 172} {y}h18" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
            f'<text x="{width - 148}" y="{y + 4}" font-size="11" fill="currentColor">{escape(name)}</text>'
        )
    tall = max(height, 30 + 15 * len(drawn))
    axes = (
        f'<text x="2" y="16" font-size="11" fill="currentColor">{rounded(high, 2)}</text>'
        f'<text x="2" y="{height - 30}" font-size="11" fill="currentColor">{rounded(low, 2)}</text>'
        f'<text x="{(width - 180) // 2}" y="{height - 8}" font-size="11" fill="currentColor">share of players</text>'
    )
    return (
        f'<div class="wide"><svg width="{width}" height="{tall}" role="img" aria-label="{escape(curve)} curves of '
        f'{len(drawn)} methods">{axes}{"".join(lines)}{"".join(labels)}</svg></div>'
    )


def _stroke(k: int, name: str) -> tuple[str, str]:
    """A colour and a dash for each method, so that curves differ in print and for every eye."""
    if name in LINE:
        return LINE[name], "2 4" if name == RANDOM else "8 3"
    colours = ("#2166ac", "#c85a0a", "#1b7f5c", "#7b4fa3", "#a0522d", "#0b8a9e", "#8a8a00")
    return colours[k % len(colours)], ("none", "6 3", "3 2")[k // len(colours) % 3]


def _agreement(table: Standings) -> str:
    rows = []
    for name, line in zip(table.agreement_of, table.agreement.tolist(), strict=True):
        rows.append([_whole(name), *(f'<span class="{level(x, 1.0)}">{x:.2f}</span>' for x in line)])
    return grid(["", *(escape(n) for n in table.agreement_of)], rows)


def as_markdown_matrix(names: Sequence[str], square: Any) -> str:
    """A square of numbers as a Markdown table."""
    lines = ["| | " + " | ".join(names) + " |", "|---" + "|---:" * len(names) + "|"]
    lines += [
        "| " + name + " | " + " | ".join(f"{x:.2f}" for x in row) + " |"
        for name, row in zip(names, square, strict=True)
    ]
    return "\n".join(lines)
