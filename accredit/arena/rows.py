"""Rows of a table in the arena: values of the game in which columns earn a model's output, and the closed form of trees."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accredit.arena.contest import METRICS, Example, MethodRun
from accredit.core import Game
from accredit.core.threads import one_torch_thread
from accredit.errors import InvalidInput
from accredit.evaluate.metric import Metric
from accredit.games import cached, counted
from accredit.methods import find

if TYPE_CHECKING:
    import pandas
    from sklearn.ensemble import HistGradientBoostingRegressor

CLOSED_FORM = "closed form"  # Shapley values of a forest, which need no payoffs
ROW_METHODS = (CLOSED_FORM, "shapley", "banzhaf", "lime", "leave-one-out")
ROW_METRICS = ("comprehensiveness", "sufficiency", "deletion", "insertion", "sensitivity-n", "infidelity")


@dataclass(frozen=True)
class RowContest:
    """Settings of a contest on rows of the built-in table, whose model is a boosted forest.

    Columns that do not play take the values of `background` training rows, for the methods and for the metrics alike.

    >>> contest = RowContest(background=6)
    >>> contest.check()
    >>> example = contest.examples(1)[0]
    >>> contest.explain("closed form", example).passes, len(contest.game(example).players)
    (0, 10)
    """

    methods: tuple[str, ...] = ROW_METHODS
    metrics: tuple[str, ...] = ROW_METRICS
    background: int = 40
    budget: int = 128  # payoffs that each game method may ask
    seed: int = 0

    def check(self) -> None:
        """Refuse what would fail on every row."""
        for method in self.methods:
            if method != CLOSED_FORM:
                find(method, "game")
        _, _, rows = _table()
        if not 1 <= self.background <= len(rows):
            raise InvalidInput(
                f"background is {self.background}; the table has {len(rows)} training rows", argument="background", code="range"
            )

    def settings(self) -> Mapping[str, object]:
        from accredit.core.version import __version__

        return {**vars(self), "table": "builtin", "accredit": __version__}

    def steady(self) -> AbstractContextManager[None]:
        return one_torch_thread()

    def examples(self, count: int) -> list[Example]:
        """The first rows that the model was not fitted on."""
        rows = _table()[1]
        if not 1 <= count <= len(rows):
            raise InvalidInput(
                f"{count} rows were asked for; the built-in table has 1 to {len(rows)}", argument="count", code="range"
            )
        return [Example(row, f"row {row}") for row in range(count)]

    def game(self, example: Example) -> Game:
        from accredit.rows import tabular_game

        model, rows, training = _table()
        return tabular_game(model, rows[example.row : example.row + 1], training[: self.background])

    def explain(self, method: str, example: Example) -> MethodRun:
        if method == CLOSED_FORM:
            from accredit.explanation.explainer import explain_rows

            model, rows, training = _table()
            row = rows[example.row : example.row + 1]
            return MethodRun(explain_rows(row, model, training[: self.background]).row(0), 0)
        asked = counted(cached(self.game(example)))
        return MethodRun(find(method, "game").solver(self.budget, self.seed).solve(asked), asked.payoffs)

    def metric(self, name: str, example: Example) -> Metric:
        return METRICS[name]


def _table() -> tuple[HistGradientBoostingRegressor, pandas.DataFrame, pandas.DataFrame]:
    from accredit.models.builtin.table import builtin_table

    return builtin_table()
