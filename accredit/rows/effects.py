"""How a model's output depends on one column: partial dependence, individual lines, and accumulated local effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.checks import shown, whole_number
from accredit.checks.suggestions import did_you_mean
from accredit.core import FloatArray, IntArray
from accredit.core.display import drawings
from accredit.errors import InvalidInput
from accredit.rows.cohorts import numbers
from accredit.rows.credit import RowQuestion
from accredit.rows.result import Cell, TableExplanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from accredit.models.row_types import Table

MOST_POINTS = 200


@dataclass(frozen=True, eq=False)
class Effect:
    """How one output depends on one column, with the column's credit in the same rows beside it.

    `lines[r, g]` is the output of row r when its column has the value `grid[g]` (individual conditional expectation, Goldstein
    et al., 2015); their mean is the partial dependence (Friedman, 2001). Both put values beside others that may never occur
    together. `accumulated` uses only steps between neighbouring values, in rows that lie between them (Apley and Zhu, 2020);
    its mean over the rows is that of the partial dependence. It is None where values have no order.
    """

    column: str
    grid: tuple[Cell, ...]  # values of the rows: quantiles of numbers, every kind of words
    lines: FloatArray  # (rows, grid)
    accumulated: FloatArray | None  # (grid,)
    explanation: TableExplanation  # of the same rows

    @property
    def mean(self) -> FloatArray:
        """The partial dependence: (grid,)."""
        return np.asarray(self.lines.mean(axis=0))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Partial dependence and accumulated local effects over the lines of the rows; credit below, on the same values."""
        drawn: Axes = drawings().plots_of(self).effect(ax)
        return drawn


def effect_of(asked: RowQuestion, explanation: TableExplanation, column: str, points: int) -> Effect:
    """The effect of a column on the explanation's target, at up to `points` values that the rows have."""
    names = asked.rows.columns
    if column not in names or column not in explanation.players:
        raise InvalidInput(
            f"column is {shown(column)}; write a column that is a player of its own, one of "
            f"{', '.join(explanation.players[:12])}{did_you_mean(column, explanation.players)}",
            argument="column",
            code="unknown",
        )
    i, k = names.index(column), explanation.place()
    cells = explanation.cells[explanation.players.index(column)]
    donors, ordered = choose_values(cells, whole_number(points, "points", 2, MOST_POINTS))
    lines = np.column_stack(
        [asked.model.outputs(_with_value(asked.table, i, donor), asked.unit)[:, k] for donor in donors.tolist()]
    )
    values, _ = numbers(cells)
    accumulated = accumulate_effects(lines, values, values[donors]) if ordered else None
    return Effect(column, tuple(cells[d] for d in donors.tolist()), lines, accumulated, explanation)


def choose_values(cells: tuple[Cell, ...], points: int) -> tuple[IntArray, bool]:
    """Rows that lend their value, in the order of the values, and whether these have an order: numbers without gaps do.

    >>> [part.tolist() if hasattr(part, "tolist") else part for part in choose_values((3.0, 1.0, 2.0, 1.0), 2)]
    [[1, 0], True]
    """
    values, known = numbers(cells)
    if not known.all():
        kinds = {str(cell): row for row, cell in reversed(list(enumerate(cells)))}
        if len(kinds) > points:
            raise InvalidInput(
                f"points is {points}, and the column has {len(kinds)} kinds of values; ask for more points",
                argument="points",
                code="range",
            )
        return np.array([kinds[kind] for kind in sorted(kinds)]), False
    distinct, first = np.unique(values, return_index=True)
    if len(distinct) > points:
        wanted = np.unique(np.quantile(values, np.linspace(0, 1, points), method="nearest"))
        first = first[np.searchsorted(distinct, wanted)]
    return first.astype(np.int64), True


def accumulate_effects(lines: FloatArray, values: FloatArray, grid: FloatArray) -> FloatArray:
    """Accumulated local effects on a grid: in each interval the mean step of the rows inside, summed up; shifted so that their
    mean over the rows is that of the lines. (rows, grid), (rows,), (grid,) -> (grid,).

    >>> x = np.array([0.0, 1.0, 2.0])
    >>> accumulate_effects(np.tile(2 * x, (3, 1)), x, x)
    array([0., 2., 4.])
    """
    inside = np.clip(np.searchsorted(grid, values, side="left"), 1, max(len(grid) - 1, 1))
    moved = np.diff(lines, axis=1)
    steps = [float(moved[inside == g, g - 1].mean()) if (inside == g).any() else 0.0 for g in range(1, len(grid))]
    summed = np.concatenate([[0.0], np.cumsum(steps)])
    at_rows = np.interp(values, grid, summed)
    return np.asarray(summed - at_rows.mean() + np.interp(values, grid, lines.mean(axis=0)).mean())


def _with_value(table: Table, column: int, donor: int) -> Table:
    """The table with one row's value of a column in every row, in the column's own type."""
    if not hasattr(table, "iloc"):
        cells = np.array(table)
        cells[:, column] = cells[donor, column]
        return cells
    frame: Any = table.copy()
    name = frame.columns[column]
    frame[name] = frame[name].take(np.full(len(frame), donor)).set_axis(frame.index)
    return frame
