"""A game report as HTML: values, interactions, what each adds, best coalitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accredit.values.report import GameReport
from accredit.views.language.headlines import headline
from accredit.views.language.numbers import BRIEF, column
from accredit.views.language.phrases import together
from accredit.views.pages.engine import render
from accredit.views.pages.parts import attribution_table, claims_table, heat

if TYPE_CHECKING:
    from markupsafe import Markup


def game_body(report: GameReport) -> Markup:
    """The report without a document around it."""
    pairs = report.interactions
    return render(
        "game",
        "body",
        answer=headline(report).text,
        reading=report.reading,
        values=attribution_table(report.values, sorts=True),
        claims=claims_table(report.values),
        interactions=heat(report.values.players, pairs.matrix(), BRIEF) if pairs else None,
        conditional=_conditional(report) if pairs else None,
        best=_best(report),
    )


def _best(report: GameReport) -> list[tuple[int, str, str]]:
    """Of every size the coalition that earns most, and what it earns."""
    worth = column([x for _, x in report.best.values()])
    return [(size, together(who), x) for (size, (who, _)), x in zip(report.best.items(), worth, strict=True)]


def _conditional(report: GameReport) -> tuple[list[str], list[list[str]]]:
    """Header and rows: what each player adds to nobody, to each other player, to all others."""
    players = report.values.players
    given = [column([report.given[i][j] for i in players if i != j]) for j in players]
    for k, numbers in enumerate(given):
        numbers.insert(k, "—")
    columns = [players, column([report.alone[i] for i in players]), *given, column([report.last[i] for i in players])]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return ["what it adds", "to nobody", *(f"given {j}" for j in players), "to all others"], rows
