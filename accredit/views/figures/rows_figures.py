"""Figures of all rows at once: as a map of credit, as lines from base value to prediction, and in the order of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from accredit.checks import real_numbers, shown
from accredit.checks.json_data import round_off
from accredit.core import FloatArray, IntArray, player_index
from accredit.errors import InvalidInput
from accredit.rows.result import TableExplanation
from accredit.views.figures.canvas import (
    colour_bar,
    finish,
    fold_numbers,
    line_names,
    look,
    name_lines,
    new_axes,
    short,
    signed_colours,
    value_colours,
    write_names,
)
from accredit.views.figures.column_figures import share_drawn, some_rows
from accredit.views.figures.row_figures import OTHERS, worth
from accredit.views.language.phrases import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINES = 400  # rows drawn as lines
ABOVE = 4  # lines of a heat map that the predictions take
COLUMNS = 1200  # of a heat map; more rows are averaged in neighbouring groups
CLUSTERED = 1500  # rows that are clustered; finding the order of more takes too long
CLIPPED = 0.99  # share of the credits that the colours of a heat map tell apart
WINDOWS = 30  # means along the rows in a figure of their order
AT_LEAST = 10  # rows before and after a change
SIGNIFICANT = 0.01
SAME = 1e-9  # of a prediction: by how much rounding may move it


def heatmap(
    explanation: TableExplanation,
    ax: Axes | None = None,
    *,
    top: int = 20,
    order: Literal["clusters", "prediction"] | None = None,
) -> Axes:
    """Rows across, columns down; blue raises, orange lowers. Above, the line of the predictions.

    Rows of like credit stand together (`order="clusters"`), or go from low to high prediction (`"prediction"`, which is meant
    from some 1,500 rows on). The last line is what all columns that are not drawn earn together.
    """
    if order not in (None, "clusters", "prediction"):
        raise InvalidInput(f"order is {shown(order)}; write 'clusters' or 'prediction'", argument="order", code="unknown")
    k = explanation.place()
    clustered = len(explanation) <= CLUSTERED if order is None else order == "clusters"
    if clustered and len(explanation) > CLUSTERED:
        raise InvalidInput(
            f"order is 'clusters', and {len(explanation):,} rows are too many for it (at most {CLUSTERED:,}); write "
            "order='prediction', or draw some rows: e[:1000].plot.heatmap()",
            argument="order",
            code="too-many",
        )
    credit, prediction = explanation.credit[:, :, k], explanation.prediction[:, k]
    rows = _by_likeness(credit, prediction) if clustered else np.argsort(prediction, kind="stable")
    columns = np.argsort(-explanation.importance().credit, kind="stable")
    kept, rest = (columns, columns[:0]) if len(columns) <= top else (columns[: top - 1], columns[top - 1 :])
    parts = credit[:, kept] if not len(rest) else np.column_stack([credit[:, kept], credit[:, rest].sum(axis=1)])
    groups = np.array_split(rows, min(len(rows), COLUMNS))
    image = np.array([parts[g].mean(axis=0) for g in groups]).T
    ax = new_axes(ax, len(image) + ABOVE)
    colours = look(ax)
    largest = float(np.quantile(np.abs(image), CLIPPED)) or float(np.abs(image).max()) or 1.0
    drawn = ax.imshow(image, aspect="auto", interpolation="nearest", cmap=signed_colours(colours), vmin=-largest, vmax=largest)
    names = line_names([explanation.players[i] for i in kept])
    name_lines(ax, [*names, OTHERS.format(len(rest))] if len(rest) else names)
    _line_above(ax, np.array([prediction[g].mean() for g in groups]), float(explanation.base[k]), len(image))
    each = "" if len(groups) == len(rows) else f", averaged in {len(groups)} groups"
    ordered = "those of like credit together" if clustered else "from low to high prediction"
    ax.set_xlabel(counted(len(rows), "row") + f", {ordered}{each}" * (len(rows) > 1))
    ax.set_xticks([])
    beyond = largest < float(np.abs(image).max())
    colour_bar(ax, drawn, f"credit, {worth(explanation)}" + "; stronger ones have the end colours" * beyond)
    finish(ax, "Prediction f(x) and credit of every row; dotted: base value")
    ax.spines[:].set_visible(False)
    return ax


def _line_above(ax: Axes, line: FloatArray, base: float, columns: int) -> None:
    """The predictions as a line above a heat map of so many columns, with the lowest and the highest as ticks."""
    colours, low, high = look(ax), min(float(line.min()), base), max(float(line.max()), base)
    if high - low <= SAME * max(abs(low), abs(high)):
        line, base, high = np.full_like(line, low), low, low  # they differ by rounding

    def height(value: FloatArray | float) -> FloatArray:
        return np.asarray(-0.9 - (ABOVE - 1.5) * (value - low) / ((high - low) or 1.0))

    ax.plot(np.arange(len(line)), height(line), color=colours.ink, linewidth=1, marker="." if len(line) == 1 else None)
    ax.axhline(float(height(base)), color=colours.soft, linewidth=0.8, linestyle=":")
    names = [label.get_text() for label in ax.get_yticklabels()]
    ends = {end: "f(x)" if (line == end).any() else "base value" for end in (low, high)}
    ticks = [*(float(height(end)) for end in ends), *range(columns)]
    ax.set_yticks(ticks, [*(f"{what} = {round_off(end)}" for end, what in ends.items()), *names])
    ax.set_ylim(columns - 0.5, -ABOVE - 0.2)


def _by_likeness(credit: FloatArray, prediction: FloatArray) -> IntArray:
    """Rows in an order in which neighbours are alike, from the end with the lower predictions."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(credit) < 3 or not np.ptp(credit, axis=0).any():
        return np.argsort(prediction, kind="stable")
    order: IntArray = leaves_list(linkage(credit, "average", optimal_ordering=True)).astype(np.int64)
    half = len(order) // 2
    return order[::-1] if prediction[order[:half]].mean() > prediction[order[half:]].mean() else order


def decision(explanation: TableExplanation, ax: Axes | None = None, *, top: int = 20, seed: int = 0) -> Axes:
    """Every row a line that starts at the base value below and adds up its credits to its prediction above, which its colour
    shows."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize

    k, drawn_rows = explanation.place(), some_rows(len(explanation), LINES, seed)
    columns = np.argsort(-explanation.importance().credit, kind="stable")
    kept, rest = (columns, columns[:0]) if len(columns) <= top else (columns[: top - 1], columns[top - 1 :])
    credit, base = explanation.credit[drawn_rows, :, k], float(explanation.base[k])
    steps = credit[:, kept[::-1]]
    if len(rest):
        steps = np.column_stack([credit[:, rest].sum(axis=1), steps])
    lines = np.column_stack([np.full(len(steps), base), base + np.cumsum(steps, axis=1)])
    ends, heights = explanation.prediction[drawn_rows, k], np.arange(lines.shape[1])
    ax = new_axes(ax, lines.shape[1])
    colours = look(ax)
    scale = ScalarMappable(Normalize(float(ends.min()), float(ends.max()) + 1e-12), value_colours(colours.dark))
    paths = [np.column_stack([line, heights]) for line in lines]
    width, alpha = (1.6, 1.0) if len(lines) <= 10 else (0.9, 0.6)
    ax.add_collection(LineCollection(paths, colors=scale.to_rgba(ends), linewidths=width, alpha=alpha))
    ax.axvline(base, color=colours.soft, linewidth=0.8, linestyle=":")
    ax.autoscale_view()
    names = [*([OTHERS.format(len(rest))] if len(rest) else []), *line_names([explanation.players[i] for i in kept[::-1]])]
    ax.set_yticks(np.arange(1, len(names) + 1) - 0.5, names)
    ax.set_ylim(0, len(names))
    write_names(ax)
    ax.grid(axis="y", color=colours.soft, alpha=0.25, linewidth=0.6)
    ax.set_xlabel(f"{worth(explanation)}; dotted: base value {round_off(base)}")
    if np.ptp(ends) > 0:  # of one row, the line's end tells
        colour_bar(ax, scale, "prediction f(x)")
    fold_numbers(ax)
    return finish(ax, f"From base value to prediction{share_drawn(len(drawn_rows), len(explanation), 'rows')}")


class Change(NamedTuple):
    """A place in a series before and after which the means differ most, and how surprising that is."""

    place: int  # the first row after it
    before: float
    after: float
    p_value: float  # corrected for all places that were tried


def monitor(explanation: TableExplanation, column: str, ax: Axes | None = None, *, over: Sequence[float] | None = None) -> Axes:
    """A column's credit in the order of the rows, or of `over` (one time or number per row), with means of neighbouring rows,
    and the place where it changed most, if that is no chance (Welch's test at every place, corrected for their number)."""
    i = player_index(explanation.players, column)
    when = np.arange(1, len(explanation) + 1, dtype=float) if over is None else real_numbers(over, "over")
    if when.shape != (len(explanation),):
        raise InvalidInput(
            f"over has shape {when.shape}; give one number per row ({len(explanation)})", argument="over", code="shape"
        )
    order = np.argsort(when, kind="stable")
    x, credit = when[order], explanation.credit[order, i, explanation.place()]
    ax = new_axes(ax, 8)
    colours = look(ax)
    size = float(np.clip(3000 / len(x), 4, 20))
    ax.scatter(x, credit, s=size, color=colours.up, alpha=0.5, linewidths=0, rasterized=True)
    ax.axhline(0, color=colours.soft, linewidth=0.8)
    windows = np.array_split(np.arange(len(x)), min(WINDOWS, max(1, len(x) // AT_LEAST)))
    if len(windows) > 2:
        ax.plot([x[w].mean() for w in windows], [credit[w].mean() for w in windows], color=colours.ink, linewidth=1.4)
    change = find_change(credit)
    if change is None:
        said = (
            f"no change is seen (corrected p ≥ {SIGNIFICANT:g})" if len(x) >= 2 * AT_LEAST else "too few rows to see a change"
        )
    else:
        ax.axvline(float(x[change.place - 1] + x[change.place]) / 2, color=colours.down, linewidth=1.4)
        means = f"mean {round_off(change.before, 3)} before, {round_off(change.after, 3)} after"
        said = f"changed most at the line: {means} (corrected p = {change.p_value:.1g})"
    ax.set_xlabel("row" if over is None else "over")
    ax.set_ylabel(f"credit of {short(column)}, {worth(explanation)}")
    fold_numbers(ax)
    return finish(ax, f"Credit of {column} along {counted(len(x), 'row')}", said)


def find_change(series: FloatArray) -> Change | None:
    """Where the mean of a series changed most, or None where that may be chance: the smallest p-value of Welch's test over all
    places, times their number (Bonferroni), is at least 1 %. Rows must not depend on one another.

    >>> find_change(np.tile([0.0, 1.0], 20)) is None, find_change(np.repeat([0.0, 1.0], 20) + np.tile([0, 0.01], 20)).place
    (True, 20)
    """
    from scipy.stats import t

    count = len(series)
    k = np.arange(AT_LEAST, count - AT_LEAST + 1)
    if not len(k) or not np.ptp(series):
        return None
    scaled = (series - series.mean()) / np.ptp(series)  # so that squares neither vanish nor overflow
    sums, squares = np.cumsum(scaled), np.cumsum(scaled**2)
    left, right = sums[k - 1] / k, (sums[-1] - sums[k - 1]) / (count - k)
    a = np.maximum(squares[k - 1] / k - left**2, 1e-18) / (k - 1)  # squared errors of the two means
    b = np.maximum((squares[-1] - squares[k - 1]) / (count - k) - right**2, 1e-18) / (count - k - 1)
    free = (a + b) ** 2 / (a**2 / (k - 1) + b**2 / (count - k - 1))
    p_values = 2 * t.sf(np.abs(left - right) / np.sqrt(a + b), free)
    best = int(p_values.argmin())
    p, place = min(1.0, float(p_values[best]) * len(k)), int(k[best])
    if p >= SIGNIFICANT:
        return None
    return Change(place, float(series[:place].mean()), float(series[place:].mean()), p)
