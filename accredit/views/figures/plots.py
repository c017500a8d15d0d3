"""The figures of a result, as methods of `result.plot`. Each takes Axes, or makes them, and returns them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from accredit.checks import shown
from accredit.core import BoolArray
from accredit.core.display import Hinting
from accredit.errors import InvalidInput
from accredit.explanation.result import Explanation
from accredit.rows.effects import Effect
from accredit.rows.result import TableExplanation
from accredit.series.result import SeriesExplanation
from accredit.views.figures import (
    column_figures,
    dependence_figures,
    explanation_figures,
    interaction_figures,
    row_figures,
    rows_figures,
    series_figures,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class ExplanationPlots(Hinting):
    """Figures of an explained text, picture or answer; where no method is named, the first that answered is drawn."""

    explanation: Explanation

    def bar(self, ax: Axes | None = None, *, method: str | None = None, top: int = 30) -> Axes:
        """One method's credit as bars with its intervals, the largest on top."""
        return explanation_figures.bars(self.explanation.by_method(method), ax, top=top)

    def strip(self, ax: Axes | None = None) -> Axes:
        """Methods down, players across, each method on its own scale."""
        return explanation_figures.strip(self.explanation, ax)

    def overlay(self, ax: Axes | None = None, *, method: str | None = None, bar: bool = True) -> Axes:
        """The picture with its parts coloured by one method's credit."""
        return explanation_figures.overlay(self.explanation, ax, method=method, bar=bar)

    def flow(self, ax: Axes | None = None) -> Axes:
        """The layers of an attention flow, output above and input below."""
        if self.explanation.flow is None:
            raise InvalidInput(
                "there is no flow to draw; ask for one: explain(…, methods='flow')", argument="methods", code="missing"
            )
        return explanation_figures.flow(self.explanation.flow, ax)


@dataclass(frozen=True)
class TablePlots(Hinting):
    """Figures of explained rows, by the first method: `e["banzhaf"].plot` has another's. The target's credit is drawn, and by
    `bar` that of all outputs where there are more than two; `e.of("yes").plot` draws another output."""

    explanation: TableExplanation

    def bar(
        self,
        ax: Axes | None = None,
        *,
        top: int = 20,
        output: str | None = None,
        cohorts: str | int | Sequence[object] | BoolArray | None = None,
        clusters: bool = False,
    ) -> Axes:
        """Mean size of each column's credit, largest first, with its interval over rows: all classes together or one `output`,
        groups of rows side by side (`cohorts`), or ordered by how far columns repeat one another (`clusters`)."""
        return column_figures.bar(self.explanation, ax, top=top, output=output, cohorts=cohorts, clusters=clusters)

    def beeswarm(self, ax: Axes | None = None, *, top: int = 20, seed: int = 0) -> Axes:
        """Every row a point: across, its credit; in colour, the column's value."""
        return column_figures.beeswarm(self.explanation, ax, top=top, seed=seed)

    def violin(self, ax: Axes | None = None, *, top: int = 20) -> Axes:
        """How each column's credit is distributed over the rows."""
        return column_figures.violin(self.explanation, ax, top=top)

    def group_difference(self, group: Sequence[bool] | BoolArray, ax: Axes | None = None, *, top: int = 20) -> Axes:
        """How the mean credit of some rows differs from that of the others, with intervals."""
        return column_figures.group_difference(self.explanation, group, ax, top=top)

    def waterfall(self, row: int = 0, ax: Axes | None = None, *, top: int = 10) -> Axes:
        """One row, counted from 0, from the base value step by step to the prediction, with the intervals of the steps."""
        return row_figures.waterfall(self.explanation, row, ax, top=top)

    def force(self, row: int = 0, ax: Axes | None = None, *, top: int = 10) -> Axes:
        """One row, counted from 0: what pushes the prediction up against what pushes it down."""
        return row_figures.force(self.explanation, row, ax, top=top)

    def scatter(
        self, column: str, ax: Axes | None = None, *, colour: str | None = None, interact: bool = True, seed: int = 0
    ) -> Axes:
        """How a column's credit depends on its value; in colour another column's value, by default of the one that interacts
        most with it."""
        return dependence_figures.scatter(self.explanation, column, ax, colour=colour, interact=interact, seed=seed)

    def heatmap(self, ax: Axes | None = None, *, top: int = 20, order: Literal["clusters", "prediction"] | None = None) -> Axes:
        """Rows across, those of like credit together, columns down, predictions above."""
        return rows_figures.heatmap(self.explanation, ax, top=top, order=order)

    def decision(self, ax: Axes | None = None, *, top: int = 20, seed: int = 0) -> Axes:
        """Every row a line from the base value below to its prediction above."""
        return rows_figures.decision(self.explanation, ax, top=top, seed=seed)

    def monitor(self, column: str, ax: Axes | None = None, *, over: Sequence[float] | None = None) -> Axes:
        """A column's credit in the order of the rows, or of `over`, and where it changed."""
        return rows_figures.monitor(self.explanation, column, ax, over=over)

    def interactions(self, ax: Axes | None = None, *, row: int | None = None, top: int = 20) -> Axes:
        """Every pair of columns a square: in one row, or its mean size over all rows."""
        e = self.explanation
        return interaction_figures.pair_heatmap(e.interaction_importance() if row is None else e.interactions(row), ax, top=top)


@dataclass(frozen=True)
class EffectPlots(Hinting):
    """The figure of a column's effect."""

    found: Effect

    def effect(self, ax: Axes | None = None) -> Axes:
        """Partial dependence, accumulated local effects, the lines of the rows, and the credit."""
        return dependence_figures.effect(self.found, ax)


@dataclass(frozen=True)
class SeriesPlots(Hinting):
    """Figures of explained series, by the first method; the target's credit is drawn."""

    explanation: SeriesExplanation

    def series(self, row: int = 0, ax: Axes | None = None, *, bar: bool = True) -> Axes:
        """One series as a line over stretches coloured by their credit."""
        return series_figures.series(self.explanation, row, ax, bar=bar)

    def bar(self, ax: Axes | None = None, *, top: int = 20) -> Axes:
        """Mean size of each player's credit, largest first, with its interval over series."""
        return column_figures.bar(self.explanation.table, ax, top=top)

    def waterfall(self, row: int = 0, ax: Axes | None = None, *, top: int = 10) -> Axes:
        """One series from the base value step by step to the prediction."""
        return row_figures.waterfall(self.explanation.table, row, ax, top=top)

    def heatmap(self, ax: Axes | None = None, *, top: int = 20) -> Axes:
        """Series across, those of like credit together, players down."""
        return rows_figures.heatmap(self.explanation.table, ax, top=top)


def plots_of(
    result: Explanation | TableExplanation | SeriesExplanation | Effect,
) -> ExplanationPlots | TablePlots | SeriesPlots | EffectPlots:
    """The figures of a result.

    >>> row = TableExplanation(("age", "pay"), ("price",), [[[2.0], [-1.0]]], [3.0], [[4.0]], [[41], [1200]], "m")
    >>> [label.get_text() for label in row.plot.waterfall().get_yticklabels()]
    ['age = 41', 'pay = 1200']
    """
    if isinstance(result, TableExplanation):
        return TablePlots(result)
    if isinstance(result, Effect):
        return EffectPlots(result)
    if isinstance(result, SeriesExplanation):
        return SeriesPlots(result)
    if isinstance(result, Explanation):
        return ExplanationPlots(result)
    raise InvalidInput(f"result is {shown(result)}; give what explain returns", argument="result", code="type")
