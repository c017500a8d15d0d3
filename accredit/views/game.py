"""A game report as HTML: values, interactions, what each adds, best coalitions."""

from __future__ import annotations

from accredit.core.plain import rounded
from accredit.values.report import GameReport
from accredit.views.escape import escape
from accredit.views.palette import level
from accredit.views.parts import attribution_table, claims_table, grid, number


def game_body(report: GameReport) -> str:
    """The report without a document around it."""
    reading = "".join(f"<li>{escape(line)}</li>" for line in report.reading)
    parts = [f'<ul class="reading">{reading}</ul>', "<h2>Values</h2>", attribution_table(report.values)]
    parts.append(claims_table(report.values))
    if report.interactions:
        parts += ["<h2>Interactions</h2>", "<p class='soft'>Positive: the two complement each other; negative: they replace "
                  "each other.</p>", heat_map(report), "<h2>What each adds, given</h2>", _conditional(report)]  # fmt: skip
    best = [[str(k), escape(" + ".join(who) or "nobody"), _minus(x)] for k, (who, x) in report.best.items()]
    parts += ["<h2>Best coalition of each size</h2>", grid(["size", "coalition", "payoff"], best, "best")]
    return "".join(parts)


def heat_map(report: GameReport) -> str:
    """Pairwise interactions as a coloured square."""
    if report.interactions is None:
        return ""
    square = report.interactions.matrix()
    largest = float(abs(square).max())
    players = report.values.players
    rows = []
    for i, name in enumerate(players):
        cells = [
            ""
            if i == j
            else f'<span class="{level(square[i, j], largest)}">{number(float(square[i, j]), False)}</span>'
            for j in range(len(players))
        ]
        rows.append([escape(name), *cells])
    return grid(["", *(escape(p) for p in players)], rows, "heat")


def _conditional(report: GameReport) -> str:
    players = report.values.players
    header = ["what it adds", "to nobody", *(f"given {escape(j)}" for j in players), "to all others"]
    rows = []
    for i in players:
        given = ["—" if i == j else _minus(report.given[i][j]) for j in players]
        rows.append([escape(i), _minus(report.alone[i]), *given, _minus(report.last[i])])
    return grid(header, rows)


def _minus(value: float) -> str:
    return rounded(value).replace("-", "−")
