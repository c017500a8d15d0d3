"""A game report as HTML: values, interactions, what each adds, best coalitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accredit.core.plain import rounded
from accredit.values.report import GameReport
from accredit.views.engine import render
from accredit.views.numbers import BRIEF
from accredit.views.parts import attribution_table, claims_table, heat
from accredit.views.words import leaders, together

if TYPE_CHECKING:
    from markupsafe import Markup


def game_body(report: GameReport) -> Markup:
    """The report without a document around it."""
    pairs = report.interactions
    return render(
        "game", "body",
        answer=leaders(report.values), reading=report.reading, values=attribution_table(report.values, sorts=True),
        claims=claims_table(report.values),
        interactions=heat(report.values.players, pairs.matrix(), BRIEF) if pairs else None,
        conditional=_conditional(report) if pairs else None,
        best=[(size, together(who), rounded(x)) for size, (who, x) in report.best.items()],
    )  # fmt: skip


def _conditional(report: GameReport) -> tuple[list[str], list[list[str]]]:
    """Header and rows: what each player adds to nobody, to each other player, to all others."""
    players = report.values.players
    rows = []
    for i in players:
        given = ["—" if i == j else rounded(report.given[i][j]) for j in players]
        rows.append([i, rounded(report.alone[i]), *given, rounded(report.last[i])])
    return ["what it adds", "to nobody", *(f"given {j}" for j in players), "to all others"], rows
