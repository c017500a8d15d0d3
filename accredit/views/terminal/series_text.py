"""Explained series in words and on a terminal: their parts over all of them, then the first few."""

from __future__ import annotations

import numpy as np

from accredit.checks.json_data import round_off
from accredit.series.result import SeriesExplanation
from accredit.views.language.headlines import headline
from accredit.views.language.numbers import brief, column
from accredit.views.language.phrases import sentence
from accredit.views.language.printable import printable
from accredit.views.terminal.columns import table
from accredit.views.terminal.screen import clip, screen
from accredit.views.terminal.table_text import SIZE, asked, facts, importance_lines, warnings_of

TEXT_SERIES = 3  # that a terminal shows


def name_in(explanation: SeriesExplanation, row: int, player: str) -> str:
    """A player's name, with its steps where they were found in this series by itself."""
    same = bool((explanation.owner == explanation.owner[0]).all())
    if same and not player.startswith("segment "):
        return player
    return f"{player} ({explanation.stretch(row, player)})"


def series_text(explanation: SeriesExplanation, rows: int, more: bool = True) -> str:
    """For a terminal: the players over all series, then the first few series; several methods one below another."""
    return "\n\n".join(_method_text(one, rows, more) for _, one in explanation.items())


def _method_text(explanation: SeriesExplanation, rows: int, more: bool) -> str:
    lines: list[str] = []
    if len(explanation) > 1:
        lines += ["", *importance_lines(explanation.importance(), rows, "part", SIZE)]
    k = explanation.table.place()
    for row in range(min(len(explanation), TEXT_SERIES if more else 1)):
        credit = explanation.row(row).credit
        way = f"from {round_off(explanation.base[k])} to {round_off(explanation.prediction[row, k])}"
        lines += ["", f"series {printable(explanation.table.rows[row])}: {printable(explanation.target)} {way}"]
        kept = np.arange(len(credit)) if len(credit) <= rows else np.sort(np.argsort(-np.abs(credit), kind="stable")[:rows])
        means = column([float(explanation.table.cells[i][row] or 0.0) for i in kept.tolist()])
        cells = [
            [printable(name_in(explanation, row, explanation.players[i])), mean, brief(float(credit[i]))]
            for i, mean in zip(kept.tolist(), means, strict=True)
        ]
        lines += clip(table(["part", "mean value", "credit"], cells, credit[kept].tolist()))
        if len(kept) < len(credit):
            lines.append(f"… {len(credit) - len(kept)} more parts of smaller credit")
    if more and len(explanation) > TEXT_SERIES:
        lines += ["", f"… {len(explanation) - TEXT_SERIES:,} more series"]
    told = [asked(explanation.table), *map(sentence, facts(explanation.table))]
    warned = [] if more else warnings_of(explanation.table)
    return screen(headline(explanation).text, lines, ["", *told], more, warned)
