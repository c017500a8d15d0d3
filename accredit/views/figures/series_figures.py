"""Figures of explained series. Each takes Axes, or makes them, and returns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accredit.checks import whole_number
from accredit.checks.json_data import round_off
from accredit.series.result import SeriesExplanation
from accredit.views.figures.canvas import colour_bar, finish, look, new_axes, plain, signed_colours
from accredit.views.figures.row_figures import worth

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TICKS = 6  # steps that are named
PALE = 0.75  # of a full colour, so that the line stays visible


def series(explanation: SeriesExplanation, row: int = 0, ax: Axes | None = None, *, bar: bool = True) -> Axes:
    """One series as a line, over stretches coloured by their credit; several channels one above another, each on its own scale.

    >>> import accredit
    >>> e = accredit.explain_series(np.ones((1, 4, 1)), lambda x: x[:, 3, 0], background="zeros", players="steps")
    >>> series(e).get_title(loc="left")
    'series 0: prediction = 1'
    """
    whole_number(row, "row", -len(explanation), len(explanation) - 1)
    ax = new_axes(ax)
    from matplotlib.colors import Normalize

    values, cells = explanation.series[row], explanation.cells(row)
    length, width = values.shape
    reach = float(np.abs(cells).max()) or 1.0
    colours = look(ax)
    palette = signed_colours(colours)
    scale = Normalize(-reach, reach)
    low, high = _ends(values)
    edges = np.arange(length + 1) - 0.5
    for c in range(width):
        ends = (low, high) if width == 1 else (width - 1 - c, width - c)
        drawn = ax.pcolormesh(edges, ends, cells[None, :, c], cmap=palette, norm=scale, alpha=PALE, linewidth=0, zorder=0)
        line = values[:, c] if width == 1 else width - 1 - c + 0.1 + 0.8 * _share(values[:, c])
        ax.plot(np.arange(length), line, color=colours.ink, linewidth=1.2)
    if width > 1:
        ax.set_yticks(np.arange(width)[::-1] + 0.5, [plain(name) for name in explanation.channels])
        for c in range(1, width):
            ax.axhline(c, color=colours.paper, linewidth=2)
    else:
        ax.set_ylabel(plain(explanation.channels[0]))
    ticks = np.unique(np.linspace(0, length - 1, min(TICKS, length)).round().astype(int))
    ax.set_xticks(ticks, [plain(explanation.steps[t]) for t in ticks.tolist()])
    ax.set_xlim(edges[0], edges[-1])
    ax.set_xlabel("step")
    if bar:
        colour_bar(ax, drawn, f"credit, {worth(explanation.table)}")
    k = explanation.table.place()
    name = explanation.table.rows[row]
    return finish(ax, f"series {name}: {explanation.target} = {round_off(explanation.prediction[row, k])}")


def _ends(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float, float]:
    """A little more than the range of the values."""
    low, high = float(values.min()), float(values.max())
    room = 0.08 * (high - low) or 0.5
    return low - room, high + room


def _share(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Values from 0 to 1; all in the middle where they are equal."""
    spread = float(np.ptp(values))
    return (values - values.min()) / spread if spread > 0 else np.full(len(values), 0.5)
