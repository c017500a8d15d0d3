"""Results as plain text for a terminal."""

from __future__ import annotations

from accredit.checks.arguments import check_arguments
from accredit.checks.json_data import round_off
from accredit.core import Attribution, Attributions, Interactions, Selection
from accredit.explanation.citations import Citations
from accredit.explanation.refits import RefitExplanation
from accredit.explanation.result import Explanation
from accredit.rows.result import TableExplanation
from accredit.series.result import SeriesExplanation
from accredit.values.report import GameReport
from accredit.views.language.headlines import headline
from accredit.views.language.numbers import NOISE, between, column
from accredit.views.language.phrases import (
    PAIRS,
    credit,
    credit_word,
    error_bars,
    notes,
    together,
)
from accredit.views.language.printable import printable
from accredit.views.terminal.answer_text import answer_text
from accredit.views.terminal.citations_text import citations_text
from accredit.views.terminal.columns import table
from accredit.views.terminal.explanation_text import explanation_text
from accredit.views.terminal.refit_text import refit_text
from accredit.views.terminal.screen import ROWS_OF_A_SCREEN, clip, fold, fold_all, screen
from accredit.views.terminal.series_text import series_text
from accredit.views.terminal.table_text import table_text

ROWS = 40  # players shown before the table is cut
COLUMNS = 10  # outputs shown beside one another


@check_arguments
def text(
    result: Attribution
    | Attributions
    | Interactions
    | Selection
    | GameReport
    | Explanation
    | TableExplanation
    | SeriesExplanation
    | RefitExplanation
    | Citations,
    rows: int = ROWS,
    colour: bool = False,
    more: bool = True,
) -> str:
    """The answer in a sentence, then a table that fits a terminal; the largest credits when there are too many players to show.

    `colour` paints the text and the numbers of an explanation in signed colours. Without `more` it is one screen of 24 lines,
    and claims and notes are left out unless they warn.

    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> print(text(shapley(TableGame(("alice", "bob"), [0, 5, 3, 10]))))
    alice earns most of it: 6 of 10.
    player  credit
    alice        6  ████████████
    bob          4  ████████
    claims: efficiency, symmetry, null player, linearity exactly
    shapley/Exact(): exact: there is no sampling error; 4 payoffs
    """
    rows = rows if more else min(rows, ROWS_OF_A_SCREEN)
    if isinstance(result, Citations):
        return citations_text(result, more)
    if isinstance(result, Explanation) and result.said is not None:
        return answer_text(result, rows, colour, more)
    if isinstance(result, Explanation):
        return explanation_text(result, rows, colour, more)
    if isinstance(result, TableExplanation):
        return table_text(result, rows, more)
    if isinstance(result, SeriesExplanation):
        return series_text(result, rows, more)
    if isinstance(result, RefitExplanation):
        return refit_text(result, rows, more)
    if isinstance(result, GameReport):
        return _game(result, more)
    if isinstance(result, Selection):
        return _selection(result)
    if isinstance(result, Attributions):
        return _attributions(result, rows, more)
    if isinstance(result, Interactions):
        return _interactions(result, rows, more)
    return _attribution(result, rows, more)


def _attribution(result: Attribution, rows: int, more: bool) -> str:
    return screen(headline(result).text, credit_table(result, rows), facts(result), more)


def credit_table(result: Attribution, rows: int, who: str = "") -> list[str]:
    """Players with their credit, what is known of its error, and a bar; `who` says what they are, if not players."""
    shown = result if len(result) <= rows else result.top(rows)
    hidden = len(result) - len(shown)
    return [
        *clip(table(*_columns(shown, who or credit(result)), bars=_without_noise(shown))),
        *[f"… {hidden:,} more {who or credit(result)}s of smaller credit"] * bool(hidden),
    ]


def _attributions(result: Attributions, rows: int, more: bool) -> str:
    """One column of credit per output, as many as fit; what is known about it once, where it is the same for all."""
    outputs, one = result.outputs, result[result.outputs[0]]
    n, k, who = len(result.players), len(outputs), credit(one)
    several = len({each.method for _, each in result.items()}) > 1
    rules = several and one.method.name != "bolger"  # the same payoff shared in several ways; an alternative has its own
    each = "rule" if rules else "alternative" if several else "output"
    lines: list[str] = []
    shown = result if n <= rows else result.top(rows)
    header = [who, *(printable(name) for name in outputs[:COLUMNS])]
    numbers = [column(credit.tolist()) for credit in shown.credit.T[:COLUMNS]]
    lines += clip(table(header, [list(row) for row in zip(map(printable, shown.players), *numbers, strict=True)]))
    if n > rows:
        lines.append(f"… {n - rows} more {who}s of smaller credit")
    if k > COLUMNS:
        lines.append(f"… {k - COLUMNS} more {each}s; one by one: result[{printable(repr(outputs[COLUMNS]))}]")
    details = _claims(one) if all(each.claims == one.claims for _, each in result.items()) else []
    if one.interval is not None or one.stderr is not None:
        details.append(f"errors and intervals of one {each}: result[{printable(repr(outputs[0]))}]")
    if result.payoffs is not None:
        details.append(f"{result.payoffs:,} payoffs, asked once for all {each}s")
    return screen(headline(result).text, lines, [f"method: {one.method.name if several else one.method}", *details], more)


def _interactions(result: Interactions, rows: int, more: bool) -> str:
    """The strongest first; nobody, whose number is not an interaction, is left out."""
    shown = result.top(rows)
    header = ["coalition", result.index, error_bars(result)]
    cells = [[printable(together(who)), round_off(x), ""] for who, x in shown]
    if shown.interval is not None:
        for row, (low, high) in zip(cells, shown.interval.tolist(), strict=True):
            row[2] = between(low, high)
    if result.exact:
        header, cells = header[:2], [row[:2] for row in cells]
    lines = clip(table(header, cells, [x for _, x in shown]))
    hidden = sum(bool(who) for who, _ in result) - len(shown)
    lines += [f"… {hidden:,} more coalitions of smaller interaction"] * (hidden > 0)
    return screen(headline(result).text, lines, [*_claims(result), notes(result)], more)


def _columns(result: Attribution, who: str) -> tuple[list[str], list[list[str]]]:
    header = [who, credit_word(result)]
    rows = [[printable(p), round_off(x)] for p, x in zip(result.players, _without_noise(result), strict=True)]
    if result.interval is not None:
        header.append(error_bars(result))
        for row, (low, high) in zip(rows, result.interval.tolist(), strict=True):
            row.append(between(low, high))
    elif result.stderr is not None:
        header.append(error_bars(result))
        for row, error in zip(rows, result.stderr.tolist(), strict=True):
            row.append(round_off(error, 2))
    return header, rows


def _without_noise(result: Attribution) -> list[float]:
    """Credits, with 0 for what is rounding."""
    noise = max(NOISE * abs(result.total or 0.0), 0.0 if result.blur is None else result.rounding)
    return [0.0 if abs(x) <= noise else x for x in result.credit.tolist()]


def facts(result: Attribution) -> list[str]:
    """What is known about the credit, in two or three lines."""
    lines = []
    if result.baseline:
        lines.append(f"with nobody the payoff is {round_off(result.baseline)}; that is nobody's credit")
    lines += _claims(result)
    known = notes(result) + (f"; stopped: {result.stopped}" if result.stopped and result.seed is not None else "")
    known = known.removeprefix("; ")
    return [*lines, f"{result.method}: {known}" if known else str(result.method)]


def _claims(result: Attribution | Interactions) -> list[str]:
    strengths: dict[str, list[str]] = {}
    for claim in result.claims:
        strengths.setdefault(str(claim.holds), []).append(claim.axiom)
    if not strengths:
        return []
    return ["claims: " + "; ".join(f"{', '.join(axioms)} {holds}" for holds, axioms in strengths.items())]


def _selection(result: Selection) -> str:
    marks = [f"  {'■' if c else '·'} {printable(p)}" for p, c in zip(result.players, result.chosen, strict=True)]
    return screen(headline(result).text, clip(marks), [f"method: {result.method}"])


def _game(report: GameReport, more: bool) -> str:
    rows = ROWS if more else ROWS_OF_A_SCREEN
    lines = [*credit_table(report.values, rows), "", *fold_all(report.reading)]
    if report.interactions:
        strongest = report.interactions.strongest(rows)
        cells = [[printable(together(who)), round_off(x)] for who, x in strongest]
        lines += ["", *fold(PAIRS), *clip(table(["pair", "index"], cells, [x for _, x in strongest]))]
        lines += ["", *clip(_conditional(report))]
    best = [[str(k), printable(together(who)), round_off(x)] for k, (who, x) in report.best.items()]
    lines += ["", "best coalition of each size", *clip(table(["size", "coalition", "payoff"], best, left=True))]
    return screen(headline(report).text, lines, ["", *facts(report.values)], more)


def _conditional(report: GameReport, widest: int = 8) -> list[str]:
    players = report.values.players
    columns = players if len(players) <= widest else ()
    header = ["what it adds", "to nobody", *(f"given {printable(j)}" for j in columns), "to all others"]
    rows = []
    for i in players[:ROWS]:
        given = ["—" if i == j else round_off(report.given[i][j]) for j in columns]
        rows.append([printable(i), round_off(report.alone[i]), *given, round_off(report.last[i])])
    return table(header, rows)
