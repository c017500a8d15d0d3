"""Explained series as a page: each one as a line over the credit of its parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accredit.checks.json_data import round_off
from accredit.core import Attribution, FloatArray
from accredit.series.result import SeriesExplanation
from accredit.views.language.headlines import headline
from accredit.views.language.numbers import brief
from accredit.views.language.palette import level
from accredit.views.language.phrases import WHOLE_CHANGE, sentence
from accredit.views.pages.engine import render
from accredit.views.pages.parts import attribution_table, claims_table
from accredit.views.terminal.table_text import asked, facts

if TYPE_CHECKING:
    from markupsafe import Markup

from accredit.views.terminal.series_text import name_in

QUESTION = "Which parts of the series led to this output?"
PAGE_SERIES = 50  # that a page draws
LINES = 15  # players of a series that are listed
WIDTH, HEIGHT, GAP = 600, 64, 8  # of a channel's drawing


class Band(NamedTuple):
    """A stretch of one channel that belongs to one player: where it is, the level of its credit, what it says."""

    x: str
    width: str
    level: str
    says: str


class Drawing(NamedTuple):
    """One channel of one series: its bands and its line."""

    name: str
    bands: list[Band]
    points: str
    low: str
    high: str


def series_body(explanation: SeriesExplanation) -> Markup:
    """The page: over all series, then each series as a line, its parts coloured by their credit."""
    held = range(min(len(explanation), PAGE_SERIES))
    several = len(explanation) > 1
    return render(
        "series",
        "body",
        answer=headline(explanation).text,
        asked=sentence(asked(explanation.table)),
        overall=attribution_table(explanation.importance().ranked()[:LINES], header=("part", "mean |credit|"), signed=False)
        if several
        else "",
        drawings=[_one(explanation, row) for row in held],
        more=len(explanation) - len(held),
        facts=[sentence(fact) for fact in facts(explanation.table)],
        claims=claims_table(explanation.row(0)),
        others=[
            {"asked": sentence(asked(one.table)), "drawings": [_one(one, row) for row in held]}
            for name, one in explanation.items()
            if name != explanation.methods[0]
        ],
    )


def _with_steps(explanation: SeriesExplanation, row: int) -> Attribution:
    """The credit of a series under the names that its players have in it."""
    found = explanation.row(row)
    return replace(found, players=tuple(name_in(explanation, row, player) for player in found.players))


def _one(explanation: SeriesExplanation, row: int) -> dict[str, object]:
    k = explanation.table.place()
    return {
        "name": explanation.table.rows[row],
        "target": explanation.target,
        "base": round_off(explanation.base[k]),
        "output": round_off(explanation.prediction[row, k]),
        "channels": [_draw(explanation, row, c) for c in range(len(explanation.channels))],
        "first": explanation.steps[0],
        "last": explanation.steps[-1],
        "credit": attribution_table(_with_steps(explanation, row).ranked()[:LINES], whole=WHOLE_CHANGE),
    }


def _draw(explanation: SeriesExplanation, row: int, channel: int) -> Drawing:
    values, owner = explanation.series[row, :, channel], explanation.owner[row, :, channel]
    credit = explanation.row(row).credit
    largest, length = float(np.abs(credit).max()), len(values)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(owner)) + 1])
    ends = np.concatenate([starts[1:], [length]])
    bands = [
        Band(
            f"{WIDTH * start / length:.1f}",
            f"{WIDTH * (end - start) / length:.1f}",
            level(float(credit[owner[start]]), largest),
            f"{name_in(explanation, row, explanation.players[owner[start]])}: {brief(float(credit[owner[start]]))}",
        )
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    low, high = round_off(float(values.min()), 3), round_off(float(values.max()), 3)
    return Drawing(explanation.channels[channel], bands, _line(values), low, high)


def _line(values: FloatArray) -> str:
    spread = float(np.ptp(values))
    share = (values - values.min()) / spread if spread > 0 else np.full(len(values), 0.5)
    x = WIDTH * (np.arange(len(values)) + 0.5) / len(values)
    y = HEIGHT - GAP - share * (HEIGHT - 2 * GAP)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
