"""Results as plain text for a terminal."""

from __future__ import annotations

from accredit.core import Attribution, Selection
from accredit.core.plain import rounded
from accredit.explanation.result import Explanation
from accredit.values.report import GameReport
from accredit.views.columns import printable, table
from accredit.views.numbers import between
from accredit.views.terminal import explanation_text
from accredit.views.words import PAIRS, credit_word, error_bars, shared

ROWS = 40  # players shown before the table is cut


def text(result: Attribution | Selection | GameReport | Explanation, rows: int = ROWS, colour: bool = False) -> str:
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
    if isinstance(result, Explanation):
        return explanation_text(result, rows, colour)
    if isinstance(result, GameReport):
        return _game(result)
    if isinstance(result, Selection):
        return _selection(result)
    return _attribution(result, rows)


def _attribution(result: Attribution, rows: int) -> str:
    lines = [f"{result.method}: {shared(result)} among {len(result)} player{'s' * (len(result) > 1)}"]
    shown = result if len(result) <= rows else result.top(rows)
    lines += table(*_columns(shown), bars=shown.credit.tolist())
    if len(result) > rows:
        lines.append(f"… {len(result) - rows} more players of smaller credit")
    return "\n".join(lines + facts(result))


def _columns(result: Attribution) -> tuple[list[str], list[list[str]]]:
    header = ["player", credit_word(result)]
    rows = [[printable(p), rounded(x)] for p, x in zip(result.players, result.credit.tolist(), strict=True)]
    if result.interval is not None:
        header.append(error_bars(result))
        for row, (low, high) in zip(rows, result.interval.tolist(), strict=True):
            row.append(between(low, high))
    elif result.stderr is not None:
        header.append(error_bars(result))
        for row, error in zip(rows, result.stderr.tolist(), strict=True):
            row.append(rounded(error, 2))
    return header, rows


def facts(result: Attribution) -> list[str]:
    """What is known about the credit, in two or three lines."""
    lines = []
    if result.baseline:
        lines.append(f"nobody earns {rounded(result.baseline)}; that is not shared")
    lines += _claims(result)
    notes = [result.interval_because] if result.interval_because else []
    if result.payoffs is not None:
        notes.append(f"{result.payoffs:,} payoffs" + (f", seed {result.seed}" if result.seed is not None else ""))
    if result.stopped and result.seed is not None:
        notes.append(f"stopped: {result.stopped}")
    if notes:
        lines.append("; ".join(notes))
    return lines


def _claims(result: Attribution) -> list[str]:
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
            [[printable(" + ".join(who)), rounded(x)] for who, x in strongest],
            [x for _, x in strongest],
        )
        lines.append("")
        lines += _conditional(report)
    lines.append("best coalition of each size")
    best = [[str(k), printable(" + ".join(who)) or "nobody", rounded(x)] for k, (who, x) in report.best.items()]
    lines += [*table(["size", "coalition", "payoff"], best), ""]
    return "\n".join(lines + list(report.reading))


def _conditional(report: GameReport, widest: int = 8) -> list[str]:
    players = report.values.players
    columns = players if len(players) <= widest else ()
    header = ["what it adds", "to nobody", *(f"given {printable(j)}" for j in columns), "to all others"]
    rows = []
    for i in players[:ROWS]:
        given = ["—" if i == j else rounded(report.given[i][j]) for j in columns]
        rows.append([printable(i), rounded(report.alone[i]), *given, rounded(report.last[i])])
    return [*table(header, rows), ""]
