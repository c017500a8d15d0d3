"""Results as HTML: fragments for notebooks, self-contained pages for everyone else. No outside request."""

from __future__ import annotations

from accredit.core import Attribution, Attributions, Selection
from accredit.explanation.result import Explanation
from accredit.values.report import GameReport
from accredit.views.escape import escape
from accredit.views.explanation import explanation_body, headline
from accredit.views.game import game_body
from accredit.views.page import page, stylesheet
from accredit.views.parts import attribution_table, claims_table, grid
from accredit.views.text import text

Result = Attribution | Attributions | Selection | GameReport | Explanation


def fragment(result: Result) -> str:
    """An HTML piece that a notebook can show; every name in it is escaped, and it holds no script."""
    return f'<div class="accredit"><style>{stylesheet()}</style>{_body(result)}</div>'


def _body(result: Result) -> str:
    if isinstance(result, Explanation):
        return f"<h1>{escape(headline(result))}</h1>{explanation_body(result)}"
    if isinstance(result, GameReport):
        return game_body(result)
    if isinstance(result, Selection):
        rows = [[escape(p), "chosen" if c else "—"] for p, c in zip(result.players, result.chosen, strict=True)]
        return f"<p>{escape(result.method)}: {escape(result.rule)}</p>{grid(['player', ''], rows)}"
    if isinstance(result, Attributions):
        return f"<pre>{escape(text(result))}</pre>"
    return attribution_table(result) + claims_table(result)


def game_page(report: GameReport, title: str) -> str:
    """A game report as one file."""
    return page(title, game_body(report))


def explanation_page(explanation: Explanation) -> str:
    """An explanation as one file. Its script only shows what the page already holds; without it everything is still there."""
    return page(headline(explanation), explanation_body(explanation, live=True), live=True)
