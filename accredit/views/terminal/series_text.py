"""Explained series in words and on a terminal: their parts over all of them, then the first few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.json_data import round_off
from accredit.series.result import SeriesExplanation
from accredit.views.language.numbers import between, brief, column
from accredit.views.language.phrases import sentence
from accredit.views.language.printable import printable
from accredit.views.terminal.columns import table
from accredit.views.terminal.table_text import asked, facts

if TYPE_CHECKING:
    pass

TEXT_SERIES = 3  # that a terminal shows


def headline(explanation: SeriesExplanation) -> str:
    """One sentence: what is explained, and which part matters most."""
    k = explanation.table.place()
    if len(explanation) == 1:
        most = explanation.row(0).top(1)
        way = "raises" if most.credit[0] >= 0 else "lowers"
        said = f"{explanation.target}: {round_off(explanation.prediction[0, k])}"
        return f"{said}; {most.players[0]} {way} it most, by {brief(float(most.credit[0]))}"
    most = explanation.top(1)
    by = round_off(float(most.credit[0]), 3)
    return f"In {len(explanation):,} series: {most.players[0]} matters most, moving {explanation.target} by {by} on average"


def name_in(explanation: SeriesExplanation, row: int, player: str) -> str:
    """A player's name, with its steps where they were found in this series by itself."""
    same = bool((explanation.owner == explanation.owner[0]).all())
    if same and not player.startswith("segment "):
        return player
    return f"{player} ({explanation.stretch(row, player)})"


def series_text(explanation: SeriesExplanation, rows: int) -> str:
    """For a terminal: the players over all series, then the first few series; several methods one below another."""
    return "\n\n".join(_method_text(one, rows) for _, one in explanation.items())


def _method_text(explanation: SeriesExplanation, rows: int) -> str:
    lines = [printable(headline(explanation)), asked(explanation.table)]
    if len(explanation) > 1:
        overall = explanation.importance().ranked()[: min(rows, len(explanation.players))]
        ends = overall.interval
        cells = [
            [printable(p), round_off(c), "" if ends is None else between(float(ends[i, 0]), float(ends[i, 1]), 3)]
            for i, (p, c) in enumerate(zip(overall.players, overall.credit.tolist(), strict=True))
        ]
        lines += ["", *table(["part", "mean |credit|", "95% interval"], cells, overall.credit.tolist())]
    k = explanation.table.place()
    for row in range(min(len(explanation), TEXT_SERIES)):
        credit = explanation.row(row).credit
        way = f"from {round_off(explanation.base[k])} to {round_off(explanation.prediction[row, k])}"
        lines += ["", f"series {printable(explanation.table.rows[row])}: {printable(explanation.target)} {way}"]
        kept = np.arange(len(credit)) if len(credit) <= rows else np.sort(np.argsort(-np.abs(credit), kind="stable")[:rows])
        means = column([float(explanation.table.values[i][row] or 0.0) for i in kept.tolist()])
        cells = [
            [printable(name_in(explanation, row, explanation.players[i])), mean, brief(float(credit[i]))]
            for i, mean in zip(kept.tolist(), means, strict=True)
        ]
        lines += table(["part", "mean value", "credit"], cells, credit[kept].tolist())
        if len(kept) < len(credit):
            lines.append(f"… {len(credit) - len(kept)} more parts of smaller credit")
    if len(explanation) > TEXT_SERIES:
        lines += ["", f"… {len(explanation) - TEXT_SERIES:,} more series"]
    return "\n".join([*lines, "", *(printable(sentence(fact)) for fact in facts(explanation.table))])
