"""Figures of one column: how its credit, and how the model's output, depend on its value."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from accredit.checks.json_data import round_off
from accredit.core import BoolArray, FloatArray, IntArray, player_index
from accredit.rows.cohorts import numbers
from accredit.rows.effects import Effect
from accredit.rows.result import TableExplanation
from accredit.views.figures.canvas import Look, colour_bar, finish, fold_numbers, look, new_axes, plain, short, value_colours
from accredit.views.figures.column_figures import POINTS, share_drawn, some_rows
from accredit.views.figures.row_figures import worth
from accredit.views.language.palette import OF_KINDS, css
from accredit.views.language.swarms import ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED_KINDS = len(OF_KINDS)  # words that have a colour of their own
EFFECT_LINES = 200  # rows drawn as lines
BINS = 31  # of the histogram below the points; an odd number, so that equal values lie in the middle of one
ALIKE = 12  # rows of like value, among which the credit should not differ if nothing interacts
WORDS = 12  # kinds that are named on an axis; of more, every second, third, …
ROOM_FOR_LEGEND = 0.1  # of the height of the lines
CLIPPED = 0.02  # share of the values at either end that have the colour of the end


def scatter(
    explanation: TableExplanation,
    player: str,
    ax: Axes | None = None,
    *,
    colour: str | None = None,
    interact: bool = True,
    seed: int = 0,
) -> Axes:
    """How a column's credit depends on its value, with a histogram of the values; words and missing values have places of their
    own. Points are coloured by the column `colour`; where none is named, by the one that interacts most with this one.

    `interact=False` leaves the points in one colour.
    """
    drawn_rows, i = some_rows(len(explanation), POINTS, seed), player_index(explanation.players, player)
    cells = np.array(explanation.cells[i], dtype=object)
    credit = explanation.credit[drawn_rows, i, explanation.place()]
    x, ticks = positions(cells)
    ax = new_axes(ax, 9)
    colours = look(ax)
    _histogram(ax, x, numbers(cells)[1], colours)
    why = ""
    if colour is None and interact:
        colour, why = strongest_partner(explanation, i)
    options: dict[str, Any] = {"color": colours.up}
    if colour is not None:
        options = _colour_by(ax, explanation, colour, why, drawn_rows)
    size = float(np.clip(4000 / len(drawn_rows), 7, 26))
    ax.scatter(x[drawn_rows], credit, s=size, linewidths=0, rasterized=True, zorder=3, **options)
    ax.axhline(0, color=colours.soft, linewidth=0.8)
    if ticks:
        ax.set_xticks([at for at, _ in ticks], [short(name, 18) for _, name in ticks], rotation=30, ha="right")
    ax.set_xlabel(plain(player))
    ax.set_ylabel(f"credit, {worth(explanation)}")
    fold_numbers(ax)
    return finish(ax, f"How credit depends on {player}{share_drawn(len(drawn_rows), len(explanation), 'rows')}")


def _histogram(ax: Axes, x: FloatArray, known: BoolArray, colours: Look) -> None:
    """How many rows have such values: grey, behind the points, at the bottom."""
    below = ax.twinx()
    below.set_zorder(ax.get_zorder() - 1)
    below.set_facecolor(ax.get_facecolor())
    ax.set_facecolor("none")
    counts, edges = np.histogram(x[known], BINS) if known.any() else (np.zeros(0), np.zeros(1))
    places, kinds = np.unique(x[~known], return_counts=True)
    width = float(edges[1] - edges[0]) if len(counts) else 0.5 * float(np.diff(places).min(initial=1.0))
    heights = [*counts.tolist(), *kinds.tolist()]
    below.bar([*((edges[1:] + edges[:-1]) / 2).tolist(), *places.tolist()], heights, width, color=colours.soft, alpha=0.25)
    below.set_ylim(0, 5 * max(heights, default=1.0))
    below.set_yticks([])
    below.spines[:].set_visible(False)


def _colour_by(ax: Axes, explanation: TableExplanation, name: str, why: str, drawn_rows: IntArray) -> dict[str, Any]:
    """The colours of the points by another column's values: numbers with a bar in their units, words with a list."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize, to_rgba

    colours, cells = look(ax), explanation.cells[player_index(explanation.players, name)]
    values, known = numbers(cells)
    words = Counter(str(c) for c, there in zip(cells, known, strict=True) if not there and c is not None and c == c)
    label = short(name) + why
    if words:
        kinds = {word: css(OF_KINDS[k]) for k, (word, _) in enumerate(words.most_common(NAMED_KINDS))}
        _list_kinds(ax, label, kinds, len(words) - len(kinds), colours)
        return {"c": [to_rgba(kinds.get(str(cells[r]), colours.soft)) for r in drawn_rows.tolist()]}
    ends = [float(x) for x in np.quantile(values[known], [CLIPPED, 1 - CLIPPED])] if known.any() else [0.0, 1.0]
    if ends[0] == ends[1] and known.any():
        ends = [float(values[known].min()), float(values[known].max())]
    scale = ScalarMappable(Normalize(ends[0], ends[1]), value_colours(colours.dark))
    colour_bar(ax, scale, label + "; grey: missing" * (not known.all()))
    palette = np.asarray(scale.to_rgba(values[drawn_rows]))
    palette[~known[drawn_rows]] = to_rgba(colours.soft)
    return {"c": palette}


def _list_kinds(ax: Axes, label: str, kinds: dict[str, str], others: int, colours: Look) -> None:
    from matplotlib.lines import Line2D

    named = [(short(word, 20), colour) for word, colour in kinds.items()]
    named += [(f"{others} other kinds, missing", colours.soft)] * (others > 0)
    marks = [Line2D([], [], linestyle="", marker="o", markersize=4, color=colour, label=word) for word, colour in named]
    ax.legend(
        handles=marks, title=label, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small",
        title_fontsize="small", labelcolor=colours.ink,
    ).get_title().set_color(colours.ink)  # fmt: skip


def effect(found: Effect, ax: Axes | None = None, *, seed: int = 0) -> Axes:
    """How an output depends on a column: a line per row, their mean (partial dependence), accumulated local effects dashed;
    the points are base value + credit of the column in each row, where it has its own value."""
    explanation = found.explanation
    k, i = explanation.place(), player_index(explanation.players, found.column)
    ax = new_axes(ax, 9)
    colours, drawn_rows = look(ax), some_rows(len(found.lines), EFFECT_LINES, seed)
    x, ticks = positions(np.array(found.grid, dtype=object))
    where, _ = positions(np.array([*found.grid, *explanation.cells[i]], dtype=object))
    ax.plot(x, found.lines[drawn_rows].T, color=colours.soft, linewidth=0.6, alpha=0.35)
    ax.plot(x, found.mean, color=colours.ink, linewidth=2.2, label="partial dependence")
    if found.accumulated is not None:
        ax.plot(x, found.accumulated, color=colours.down, linewidth=1.8, linestyle="--", label="accumulated local effects")
    credit = explanation.base[k] + explanation.credit[:, i, k]
    ax.scatter(where[len(x) :], credit, s=9, color=colours.up, linewidths=0, zorder=3, label="base value + credit")
    ax.axhline(float(explanation.base[k]), color=colours.soft, linewidth=0.8, linestyle=":")
    if ticks:
        ax.set_xticks([at for at, _ in ticks], [short(name, 18) for _, name in ticks], rotation=30, ha="right")
    ax.set_xlabel(plain(found.column))
    ax.set_ylabel(worth(explanation))
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + ROOM_FOR_LEGEND * (high - low))  # above the lines, for no corner is free of them
    legend = ax.legend(fontsize="small", labelcolor=colours.ink, facecolor="none", edgecolor="none", loc="upper left", ncols=3)
    legend.set_in_layout(False)
    fold_numbers(ax)
    return finish(
        ax,
        f"How the output depends on {found.column}{share_drawn(len(drawn_rows), len(found.lines), 'lines')}",
        "dotted: base value; a line for every row",
    )


def strongest_partner(explanation: TableExplanation, player: int) -> tuple[str | None, str]:
    """The column that interacts most with this one, and how that is known: from interactions where they were asked for, else by
    how well it tells credits apart among rows in which this column has like values. None where no column tells anything."""
    if len(explanation.players) < 2:
        return None, ""
    if explanation.pairs is not None:
        sizes = np.abs(explanation.pairs[:, player, :, explanation.place()]).mean(axis=0)
        sizes[player] = 0.0
        best = int(sizes.argmax())
        return (explanation.players[best], " (interacts most)") if sizes[best] > 0 else (None, "")
    credit = explanation.credit[:, player, explanation.place()]
    x, _ = positions(np.array(explanation.cells[player], dtype=object))
    order = np.argsort(x, kind="stable")
    groups = np.array_split(order, max(1, len(order) // ALIKE))
    told = [
        0.0 if j == player else _tells_apart(groups, credit, np.array(cells, dtype=object))
        for j, cells in enumerate(explanation.cells)
    ]
    best = int(np.argmax(told))
    scale = float(np.abs(credit).sum())
    return (explanation.players[best], " (seems to interact most)") if told[best] > 1e-9 * scale else (None, "")


def _tells_apart(groups: list[IntArray], credit: FloatArray, cells: npt.NDArray[np.object_]) -> float:
    """How far the credits of like values go along with another column, added over groups: |covariance with its ranks|."""
    share, known = ranks(cells)
    if not known.all():
        words = np.array([str(c) for c in cells])
        share = np.unique(words, return_inverse=True)[1] / max(len(set(words.tolist())) - 1, 1)
    total = 0.0
    for group in groups:
        value = share[group]
        if len(group) > 2 and np.ptp(value) > 0:
            aside = credit[group] - credit[group].mean()
            total += abs(float(aside @ (value - value.mean()))) / float(np.sqrt(((value - value.mean()) ** 2).sum()))
    return total


def positions(cells: npt.NDArray[np.object_]) -> tuple[FloatArray, list[tuple[float, str]]]:
    """Where values stand on an axis; words and missing values get places of their own, with their names."""
    values, known = numbers(cells)
    words = sorted({str(c) for c, there in zip(cells, known, strict=True) if not there and c is not None and c == c})
    if known.all():
        return values, []
    span = float(np.ptp(values[known])) if known.any() else 1.0
    step = (span or 1.0) / 10
    left = (float(values[known].min()) if known.any() else 0.0) - 2 * step
    ticks = [(left - step * k, name) for k, name in enumerate(["missing", *reversed(words)])]
    at = {name: x for x, name in ticks}
    rest = [
        at["missing" if c is None or c != c else str(c)] if not there else 0.0 for c, there in zip(cells, known, strict=True)
    ]
    used = {x for x, there in zip(rest, known, strict=True) if not there}
    if known.any():
        from matplotlib.ticker import MaxNLocator

        low, high = float(values[known].min()), float(values[known].max())
        round_ones = [x for x in map(float, MaxNLocator(5).tick_values(low, high)) if low <= x <= high] or [low]
        ticks += [(x, round_off(x, 3)) for x in round_ones]
    words_used = [(x, name) for x, name in ticks if x in used]
    thinned = words_used[:: max(1, -(-len(words_used) // WORDS))]
    return np.where(known, values, rest), thinned + [(x, name) for x, name in ticks if name not in at]
