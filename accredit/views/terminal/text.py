"""Results as plain text for a terminal."""

from __future__ import annotations

from accredit.checks.arguments import check_arguments
from accredit.checks.json_data import round_off
from accredit.core import Attribution, Attributions, Holds, Interactions, Selection
from accredit.explanation.citations import Citations
from accredit.explanation.refits import RefitExplanation
from accredit.explanation.result import Explanation
from accredit.rows.result import TableExplanation
from accredit.series.result import SeriesExplanation
from accredit.values.report import GameReport
from accredit.views.language.numbers import between, column
from accredit.views.language.phrases import (
    PAIRS,
    credit,
    credit_word,
    error_bars,
    interactions_headline,
    notes,
    share,
    together,
)
from accredit.views.language.printable import printable
from accredit.views.terminal.answer_text import answer_text
from accredit.views.terminal.citations_text import citations_text
from accredit.views.terminal.columns import table
from accredit.views.terminal.explanation_text import explanation_text
from accredit.views.terminal.refit_text import refit_text
from accredit.views.terminal.series_text import series_text
from accredit.views.terminal.table_text import table_text

ROWS = 40  # players shown before the table is cut
COLUMNS = 10  # outputs shown beside one another
NOISE = 1e-11  # of what there was to share: a smaller credit reads 0 and gets no bar


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
) -> str:
    """A table that fits a terminal; the largest credits when there are too many players to show.

    `colour` paints the text and the numbers of an explanation in signed colours.

    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> print(text(shapley(TableGame(("alice", "bob"), [0, 5, 3, 10]))))
    shapley/Exact(): 10 shared among 2 players
    player  credit
    alice        6  ████████████
    bob          4  ████████
    claims: efficiency, symmetry, null player, linearity exactly
    exact: there is no sampling error; 4 payoffs
    """
    if isinstance(result, Citations):
        return citations_text(result)
    if isinstance(result, Explanation) and result.said is not None:
        return answer_text(result, rows, colour)
    if isinstance(result, Explanation):
        return explanation_text(result, rows, colour)
    if isinstance(result, TableExplanation):
        return table_text(result, rows)
    if isinstance(result, SeriesExplanation):
        return series_text(result, rows)
    if isinstance(result, RefitExplanation):
        return refit_text(result, rows)
    if isinstance(result, GameReport):
        return _game(result)
    if isinstance(result, Selection):
        return _selection(result)
    if isinstance(result, Attributions):
        return _attributions(result, rows)
    if isinstance(result, Interactions):
        return _interactions(result, rows)
    return _attribution(result, rows)


def _attribution(result: Attribution, rows: int) -> str:
    one = credit(result)
    lines = [f"{result.method}: {_headline(result)}"]
    shown = result if len(result) <= rows else result.top(rows)
    lines += table(*_columns(shown), bars=_without_noise(shown))
    if len(result) > rows:
        lines.append(f"… {len(result) - rows} more {one}s of smaller credit")
    return "\n".join(lines + facts(result))


def _headline(result: Attribution) -> str:
    """What was shared among whom. A rule that is not efficient, or a part of a result, shares another sum than there was."""
    who = f"{len(result)} {credit(result)}{'s' * (len(result) > 1)}"
    if result.total is None or result.claim("efficiency").holds is not Holds.NO:
        return f"{share(result)} among {who}"
    return f"credits of {who} add up to {round_off(sum(_without_noise(result)))}; {round_off(result.total)} was there to share"


def _attributions(result: Attributions, rows: int) -> str:
    """One column of credit per output, as many as fit; what is known about it once, where it is the same for all."""
    outputs, one = result.outputs, result[result.outputs[0]]
    n, k, who = len(result.players), len(outputs), credit(one)
    several = len({each.method for _, each in result.items()}) > 1
    what = one.method.name if several else str(one.method)
    rules = several and what != "bolger"  # the same payoff shared in several ways; an alternative has a payoff of its own
    each = "rule" if rules else "alternative" if several else "output"
    divided = share(one) if rules or one.total is None else "shared"
    lines = [f"{what}: {k} {each}{'s' * (k > 1)}{':' * rules} {divided} among {n} {who}{'s' * (n > 1)}"]
    shown = result if n <= rows else result.top(rows)
    header = [who, *(printable(name) for name in outputs[:COLUMNS])]
    numbers = [column(credit.tolist()) for credit in shown.credit.T[:COLUMNS]]
    lines += table(header, [list(row) for row in zip(map(printable, shown.players), *numbers, strict=True)])
    if n > rows:
        lines.append(f"… {n - rows} more {who}s of smaller credit")
    if k > COLUMNS:
        lines.append(f"… {k - COLUMNS} more {each}s; one by one: result[{printable(repr(outputs[COLUMNS]))}]")
    lines += _claims(one) if all(each.claims == one.claims for _, each in result.items()) else []
    if one.interval is not None or one.stderr is not None:
        lines.append(f"errors and intervals of one {each}: result[{printable(repr(outputs[0]))}]")
    if result.payoffs is not None:
        lines.append(f"{result.payoffs:,} payoffs, asked once for all {each}s")
    return "\n".join(lines)


def _interactions(result: Interactions, rows: int) -> str:
    """The strongest first; nobody, whose number is not an interaction, is left out."""
    shown = result.top(rows)
    header = ["coalition", result.index, error_bars(result)]
    cells = [[printable(together(who)), round_off(x), ""] for who, x in shown]
    if shown.interval is not None:
        for row, (low, high) in zip(cells, shown.interval.tolist(), strict=True):
            row[2] = between(low, high)
    if result.exact:
        header, cells = header[:2], [row[:2] for row in cells]
    lines = [interactions_headline(result), *table(header, cells, [x for _, x in shown])]
    more = sum(bool(who) for who, _ in result) - len(shown)
    lines += [f"… {more:,} more coalitions of smaller interaction"] * (more > 0)
    return "\n".join([*lines, *_claims(result), notes(result)])


def _columns(result: Attribution) -> tuple[list[str], list[list[str]]]:
    header = [credit(result), credit_word(result)]
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
        lines.append(f"nobody earns {round_off(result.baseline)}; that is not shared")
    lines += _claims(result)
    known = notes(result) + (f"; stopped: {result.stopped}" if result.stopped and result.seed is not None else "")
    return [*lines, known.removeprefix("; ")] if known else lines


def _claims(result: Attribution | Interactions) -> list[str]:
    strengths: dict[str, list[str]] = {}
    for claim in result.claims:
        strengths.setdefault(str(claim.holds), []).append(claim.axiom)
    if not strengths:
        return []
    return ["claims: " + "; ".join(f"{', '.join(axioms)} {holds}" for holds, axioms in strengths.items())]


def _selection(result: Selection) -> str:
    head = f"{result.method}: {len(result.names)} of {len(result)} players chosen" + (
        f" ({result.rule})" if result.rule else ""
    )
    return "\n".join(
        [head, *(f"  {'■' if c else '·'} {printable(p)}" for p, c in zip(result.players, result.chosen, strict=True))]
    )


def _game(report: GameReport) -> str:
    values = report.values
    lines = [_attribution(values, ROWS), ""]
    if report.interactions:
        lines.append(PAIRS)
        strongest = report.interactions.strongest(ROWS)
        lines += table(
            ["pair", "index"],
            [[printable(together(who)), round_off(x)] for who, x in strongest],
            [x for _, x in strongest],
        )
        lines.append("")
        lines += _conditional(report)
    lines.append("best coalition of each size")
    best = [[str(k), printable(together(who)), round_off(x)] for k, (who, x) in report.best.items()]
    lines += [*table(["size", "coalition", "payoff"], best), ""]
    return "\n".join(lines + list(report.reading))


def _conditional(report: GameReport, widest: int = 8) -> list[str]:
    players = report.values.players
    columns = players if len(players) <= widest else ()
    header = ["what it adds", "to nobody", *(f"given {printable(j)}" for j in columns), "to all others"]
    rows = []
    for i in players[:ROWS]:
        given = ["—" if i == j else round_off(report.given[i][j]) for j in columns]
        rows.append([printable(i), round_off(report.alone[i]), *given, round_off(report.last[i])])
    return [*table(header, rows), ""]
