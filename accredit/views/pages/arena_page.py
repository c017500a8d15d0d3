"""The arena as one self-contained HTML page: the ranking, metric by metric, the curves, who agrees with whom."""

from __future__ import annotations

from typing import NamedTuple

from accredit.arena.contest import ORACLE, RANDOM
from accredit.arena.standings import Standing, Standings
from accredit.views.language.headlines import compare_headline
from accredit.views.language.notation import LEGEND
from accredit.views.language.numbers import column, fix
from accredit.views.language.palette import level
from accredit.views.pages.document import page
from accredit.views.pages.engine import render
from accredit.views.pages.parts import Bar, Shaded, bar
from accredit.views.terminal.arena_text import header_of, measure, notes_of, rows_of

LINE = {ORACLE: "var(--soft)", RANDOM: "var(--soft)"}
LEFT, TOP, WIDE, HIGH = 44, 26, 380, 200  # of the plotting area, in the units of a drawing of 440 by 270


def arena_page(table: Standings, of: str) -> str:
    """One HTML page with everything that is known about the methods; `of` is what they explained."""
    header, rows = header_of(table), rows_of(table)
    first, last = 3, 3 + len(measure(table))  # columns of metrics
    curves = [_curve(table, "deletion", "removed"), _curve(table, "insertion", "put in")]
    body = render(
        "arena",
        "body",
        answer=compare_headline(table).text,
        header=["method", header[1], "p best", ""],
        ranking=_ranking(table, rows),
        legend=LEGEND,
        notes=notes_of(table),
        metrics=(["method", *header[first:last], "passes", "ms", "claims"], _measures(table, rows, first, last)),
        curves=[curve for curve in curves if curve is not None],
        keys=[(name, *_stroke(k, name)) for k, name in enumerate(_known(table, "deletion"))],
        agreement=_agreement(table),
    )
    return page(f"Which explanation can be trusted for {of}?", body, script_of="sorting")


def _ranking(table: Standings, rows: list[list[str]]) -> list[list[str | Bar | None]]:
    """Methods from best to worst: the share with its interval, written and drawn, and the test against the best."""
    known = [s.share for s in table.standings if s.share is not None]
    span = min([0.0, *(x.ends[0] for x in known)]), max([1.0, *(x.ends[1] for x in known)])
    return [[method, share, p, _share_bar(s, span)] for s, (method, share, p, *_) in zip(table.standings, rows, strict=True)]


def _measures(table: Standings, rows: list[list[str]], first: int, last: int) -> list[list[str]]:
    """Every metric of every method, what an explanation cost, and what it claims."""
    return [
        [row[0], *row[first:last], row[-2], f"{1000 * s.seconds:.0f}" if s.seconds else "—", row[-1]]
        for s, row in zip(table.standings, rows, strict=True)
    ]


def _share_bar(standing: Standing, span: tuple[float, float]) -> Bar | None:
    share = standing.share
    return None if share is None else bar(share.value, span, share.ends, width=220)


class CurveDrawing(NamedTuple):
    """Lines of one kind of curve, and the scale they are drawn on."""

    name: str
    verb: str
    left: int
    wide: int
    bottom: int
    levels: list[tuple[str, str, str]]  # path, height and text of each horizontal line
    lines: list[tuple[str, str, str]]  # points, colour and dash of each method


def _curve(table: Standings, name: str, verb: str) -> CurveDrawing | None:
    """The mean payoff of every method along a curve; None where no method has it."""
    known = _known(table, name)
    if not known:
        return None
    low, high = (float(f([f(values) for values in known.values()])) for f in (min, max))
    span = (high - low) or 1.0

    def y(value: float) -> float:
        return TOP + HIGH * (high - value) / span

    ticks = [low, (low + high) / 2, high]
    levels = [
        (f"M{LEFT} {y(value):.1f}h{WIDE}", f"{y(value) + 4:.1f}", written)
        for value, written in zip(ticks, column(ticks, digits=2), strict=True)
    ]
    lines = []
    for k, (method, values) in enumerate(known.items()):
        points = " ".join(f"{LEFT + WIDE * i / (len(values) - 1):.1f},{y(v):.1f}" for i, v in enumerate(values))
        lines.append((points, *_stroke(k, method)))
    return CurveDrawing(name, verb, LEFT, WIDE, TOP + HIGH, levels, lines)


def _known(table: Standings, curve: str) -> dict[str, list[float]]:
    """Methods that have this curve, in the table's order."""
    return {s.method: table.curves[s.method][curve] for s in table.standings if curve in table.curves.get(s.method, {})}


def _stroke(k: int, name: str) -> tuple[str, str]:
    """A colour and a dash for each method, so that curves differ in print, in dark mode and for colour-blind readers."""
    if name in LINE:
        return LINE[name], "2 4" if name == RANDOM else "8 3"
    colours = ("#3b82c4", "#d9701f", "#2a9070", "#9a6bc0", "#b5654a", "#1695a8", "#8f8a1c")
    return colours[k % len(colours)], ("none", "6 3", "3 2")[k // len(colours) % 3]


def _agreement(table: Standings) -> tuple[list[str], list[tuple[str, list[Shaded]]]]:
    """Correlations of every two methods, once; columns and rows carry the names of the methods."""
    count, rows = len(table.agreement_of), []
    for k, name in enumerate(table.agreement_of):
        known = [(_short(x), level(x, 1.0)) for x in table.agreement[k, :k].tolist()]
        rows.append((name, [*known, *[("", "")] * (count - 1 - k)]))
    return ["", *table.agreement_of[: count - 1]], rows


def _short(correlation: float) -> str:
    """A correlation without the zero before the point, because many stand in a row.

    >>> _short(-0.061), _short(1.0), _short(-0.001)
    ('−.06', '1.00', '.00')
    """
    text = fix(correlation, 2)
    return text.replace("0.", ".") if abs(correlation) < 0.995 else text
