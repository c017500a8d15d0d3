"""Results as HTML: fragments for notebooks, self-contained pages for everyone else. No outside request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accredit.checks.arguments import check_arguments
from accredit.checks.json_data import round_off
from accredit.core import Attribution, Attributions, Interactions, Selection
from accredit.explanation.citations import Citations
from accredit.explanation.refits import RefitExplanation
from accredit.explanation.result import Explanation
from accredit.rows.result import TableExplanation
from accredit.series.result import SeriesExplanation
from accredit.values.report import GameReport
from accredit.views.language.headlines import headline as first_sentence
from accredit.views.pages.citations_page import citations_body, citations_page, verdict_block
from accredit.views.pages.document import frame, page
from accredit.views.pages.engine import render
from accredit.views.pages.explanation_page import explanation_body, headline
from accredit.views.pages.game_page import game_body
from accredit.views.pages.interactions_page import interactions_body
from accredit.views.pages.parts import attribution_table, claims_table
from accredit.views.pages.refit_page import QUESTION as REFITS
from accredit.views.pages.refit_page import refit_body
from accredit.views.pages.series_page import QUESTION as PARTS
from accredit.views.pages.series_page import series_body
from accredit.views.pages.table_page import QUESTION as COLUMNS
from accredit.views.pages.table_page import table_body

if TYPE_CHECKING:
    from markupsafe import Markup

Explained = Explanation | TableExplanation | SeriesExplanation | RefitExplanation | Citations
Drawable = Attribution | Attributions | Interactions | Selection | GameReport | Explained


@check_arguments
def fragment(result: Drawable) -> str:
    """An HTML piece that a notebook can show; every name in it is escaped, and it holds no script.

    >>> from accredit import TableGame, shapley
    >>> piece = fragment(shapley(TableGame(("alice", "<bob>"), [0, 5, 3, 10])))
    >>> "alice" in piece, "<bob>" in piece
    (True, False)
    """
    if isinstance(result, Citations):
        return frame(citations_body(result))
    if isinstance(result, Explanation):
        return frame(explanation_body(result), headline(result))
    if isinstance(result, TableExplanation):
        return frame(table_body(result), COLUMNS)
    if isinstance(result, SeriesExplanation):
        return frame(series_body(result), PARTS)
    if isinstance(result, RefitExplanation):
        return frame(refit_body(result), REFITS)
    if isinstance(result, GameReport):
        return frame(game_body(result))
    if isinstance(result, Selection):
        return frame(_selection(result))
    if isinstance(result, Attributions):
        return frame(_by_output(result))
    if isinstance(result, Interactions):
        return frame(interactions_body(result))
    return frame(_answer(result) + attribution_table(result) + claims_table(result))


def _answer(result: Attribution | Attributions | Selection) -> Markup:
    return render("parts", "answer", text=first_sentence(result).text)


def _by_output(result: Attributions) -> Markup:
    """Credit per player and output; what holds for one output holds for all."""
    rows = [(player, *map(round_off, credit)) for player, credit in zip(result.players, result.credit.tolist(), strict=True)]
    first = result[result.outputs[0]]
    table = render("parts", "table", header=["player", *result.outputs], rows=rows)
    return _answer(result) + table + claims_table(first)


def _selection(result: Selection) -> Markup:
    rows = [(player, "chosen" if chosen else "—") for player, chosen in zip(result.players, result.chosen, strict=True)]
    return _answer(result) + render("parts", "selection", heading=f"{result.method}: {result.rule}", rows=rows)


@check_arguments
def game_page(report: GameReport, of: str = "") -> str:
    """A game report as one file; `of` is what the game is called.

    >>> from accredit import TableGame
    >>> from accredit.values.report import report
    >>> page = game_page(report(TableGame(("alice", "bob"), [0, 5, 3, 10])), "cookies")
    >>> page.startswith("<!doctype html>"), "Who earned what in cookies?" in page
    (True, True)
    """
    return page(f"Who earned what{f' in {of}' if of else ''}?", game_body(report), script_of="sorting")


@check_arguments
def table_page(explanation: TableExplanation, about: tuple[str, ...] = ()) -> str:
    """An explained table as one file; `about` says where its model came from.

    >>> from accredit.explanation.explainer import explain_rows
    >>> page = table_page(explain_rows([[1.0, 2.0]], lambda rows: rows.sum(axis=1), [[0.0, 0.0]]), about=("a sum",))
    >>> page.startswith("<!doctype html>"), "a sum" in page
    (True, True)
    """
    return page(COLUMNS, table_body(explanation, about), script_of="sorting")


@check_arguments
def to_page(result: Explained) -> str:
    """A result as one file.

    >>> from accredit import explain
    >>> to_page(explain("A gripping film.", methods=["leave-one-out"])).startswith("<!doctype html>")
    True
    """
    if isinstance(result, Citations):
        return citations_page(result)
    if isinstance(result, SeriesExplanation):
        return page(PARTS, series_body(result), script_of="sorting")
    if isinstance(result, RefitExplanation):
        return page(REFITS, refit_body(result), script_of="sorting")
    return table_page(result) if isinstance(result, TableExplanation) else explanation_page(result)


@check_arguments
def explanation_page(explanation: Explanation, citations: Citations | None = None) -> str:
    """An explanation as one file. Its script only shows what the page already holds; without it everything is still there.

    Of an answer also where each sentence comes from, if that was found out.

    >>> from accredit import explain
    >>> page = explanation_page(explain("A gripping film.", methods=["leave-one-out"]))
    >>> page.startswith("<!doctype html>"), "gripping" in page
    (True, True)
    """
    script = "inspector" if explanation.said is None else "answers"
    body = explanation_body(explanation, live="file")
    body = body if citations is None else verdict_block(citations) + body
    return page(headline(explanation), body, script_of=(script, "following"))
