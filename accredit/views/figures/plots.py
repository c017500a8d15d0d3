"""The figures of a result, as methods of `result.plot`. Each takes Axes, or makes them, and returns them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accredit.checks import shown
from accredit.errors import InvalidInput
from accredit.explanation.result import Explanation
from accredit.rows.result import TableExplanation
from accredit.series.result import SeriesExplanation
from accredit.views.figures import explanation_figures, series_figures, table_figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class ExplanationPlots:
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
class TablePlots:
    """Figures of explained rows, by the first method: `e["banzhaf"].plot` has another's. The target's credit is drawn."""

    explanation: TableExplanation

    def bar(self, ax: Axes | None = None, *, top: int = 20) -> Axes:
        """Mean size of each column's credit, largest first, with its interval over rows."""
        return table_figures.bar(self.explanation, ax, top=top)

    def beeswarm(self, ax: Axes | None = None, *, top: int = 20, seed: int = 0) -> Axes:
        """Every row a point: across, its credit; in colour, the column's value."""
        return table_figures.beeswarm(self.explanation, ax, top=top, seed=seed)

    def waterfall(self, row: int = 0, ax: Axes | None = None, *, top: int = 10) -> Axes:
        """One row from the base value step by step to the prediction, with the intervals of the steps."""
        return table_figures.waterfall(self.explanation, row, ax, top=top)

    def force(self, row: int = 0, ax: Axes | None = None, *, top: int = 10) -> Axes:
        """One row: what pushes the prediction up against what pushes it down."""
        return table_figures.force(self.explanation, row, ax, top=top)

    def scatter(self, column: str, ax: Axes | None = None, *, colour: str | None = None, seed: int = 0) -> Axes:
        """How a column's credit depends on its value; `colour` shows another column's value."""
        return table_figures.scatter(self.explanation, column, ax, colour=colour, seed=seed)

    def heatmap(self, ax: Axes | None = None, *, top: int = 20) -> Axes:
        """Rows across in the order of their prediction, columns down."""
        return table_figures.heatmap(self.explanation, ax, top=top)

    def decision(self, ax: Axes | None = None, *, top: int = 20, seed: int = 0) -> Axes:
        """Every row a line from the base value below to its prediction above."""
        return table_figures.decision(self.explanation, ax, top=top, seed=seed)

    def interactions(self, ax: Axes | None = None, *, row: int | None = None, top: int = 20) -> Axes:
        """Every pair of columns a square: in one row, or its mean size over all rows."""
        e = self.explanation
        return table_figures.pair_heatmap(e.interaction_importance() if row is None else e.interactions(row), ax, top=top)


@dataclass(frozen=True)
class SeriesPlots:
    """Figures of explained series, by the first method; the target's credit is drawn."""

    explanation: SeriesExplanation

    def series(self, row: int = 0, ax: Axes | None = None, *, bar: bool = True) -> Axes:
        """One series as a line over stretches coloured by their credit."""
        return series_figures.series(self.explanation, row, ax, bar=bar)

    def bar(self, ax: Axes | None = None, *, top: int = 20) -> Axes:
        """Mean size of each player's credit, largest first, with its interval over series."""
        return table_figures.bar(self.explanation.table, ax, top=top)

    def waterfall(self, row: int = 0, ax: Axes | None = None, *, top: int = 10) -> Axes:
        """One series from the base value step by step to the prediction."""
        return table_figures.waterfall(self.explanation.table, row, ax, top=top)

    def heatmap(self, ax: Axes | None = None, *, top: int = 20) -> Axes:
        """Series across in the order of their prediction, players down."""
        return table_figures.heatmap(self.explanation.table, ax, top=top)


def plots_of(
    result: Explanation | TableExplanation | SeriesExplanation,
) -> ExplanationPlots | TablePlots | SeriesPlots:
    """The figures of a result.

    >>> row = TableExplanation(("age", "pay"), ("price",), [[[2.0], [-1.0]]], [3.0], [[4.0]], [[41], [1200]], "m")
    >>> [label.get_text() for label in row.plot.waterfall().get_yticklabels()]
    ['age = 41', 'pay = 1200']
    """
    if isinstance(result, TableExplanation):
        return TablePlots(result)
    if isinstance(result, SeriesExplanation):
        return SeriesPlots(result)
    if isinstance(result, Explanation):
        return ExplanationPlots(result)
    raise InvalidInput(f"result is {shown(result)}; give what explain returns", argument="result", code="type")
