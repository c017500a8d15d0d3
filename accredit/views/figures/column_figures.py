"""Figures of columns over many rows: which matter, which way they act, how groups of rows differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit import defaults
from accredit.checks.json_data import round_off
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.rows.cohorts import column_distances, numbers
from accredit.rows.result import TableExplanation
from accredit.views.figures.canvas import (
    Look,
    colour_bar,
    finish,
    fold_numbers,
    line_names,
    look,
    make_room,
    name_lines,
    new_axes,
    plain,
    short,
    value_colours,
)
from accredit.views.figures.row_figures import worth
from accredit.views.language.headlines import headline
from accredit.views.language.palette import OF_KINDS, css
from accredit.views.language.phrases import counted, unit
from accredit.views.language.swarms import ranks, swarm_heights, value_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 4000  # rows drawn as points; more would be one blot
SPREAD = 0.38  # of a line's height that its points take to either side
IN_A_LEGEND = 40  # characters of a cohort's name
STACKED = 8  # outputs drawn by themselves in one bar; the others together
SLICES = 90  # of a violin


def bar(
    explanation: TableExplanation,
    ax: Axes | None = None,
    *,
    top: int = 20,
    output: str | None = None,
    cohorts: str | int | Sequence[object] | BoolArray | None = None,
    clusters: bool = False,
) -> Axes:
    """Mean size of each column's credit, largest first, with its interval over rows.

    Of three outputs and more, all are ranked together: one bar per column, in parts by output (`output` draws one alone).
    `cohorts` puts groups of rows side by side (see `TableExplanation.cohorts`); `clusters` orders the columns by how much
    they repeat one another, with the tree of that beside them.
    """
    if cohorts is not None:
        return _cohort_bars(explanation.of(output) if output else explanation, cohorts, ax, top)
    if output is None and len(explanation.outputs) > 2:
        return _stacked_bars(explanation, ax, top, clusters)
    explanation = explanation.of(output) if output else explanation
    found = explanation.importance()
    shown = _order(found.credit, top)
    tree = _tree(explanation, shown) if clusters else None
    shown = shown if tree is None else shown[tree["leaves"]]
    ax = new_axes(ax, len(shown))
    colours, sizes, where = look(ax), found.credit[shown], np.arange(len(shown))
    ax.barh(where, sizes, color=colours.up, height=0.66)
    ends = sizes
    if found.interval is not None:
        ends = found.interval[shown, 1]
        _whiskers(ax, sizes, where, found.interval[shown], colours)
    texts = [
        ax.annotate(
            round_off(x, 3), (end, y), (5, 0), textcoords="offset points", va="center", fontsize="small", color=colours.ink
        )
        for y, (x, end) in enumerate(zip(sizes.tolist(), ends.tolist(), strict=True))
    ]
    name_lines(ax, line_names([explanation.players[i] for i in shown]))
    lines = f"; lines: {defaults.LEVEL:.0%} interval" if found.interval is not None else ""
    ax.set_xlabel(f"mean |credit|, {worth(explanation)}{lines}{_not_drawn(explanation, shown)}")
    finish(ax, _answer(explanation), f"Which columns matter, over {counted(len(explanation), 'row')}")
    make_room(ax, texts, 0.0, float(ends.max(initial=0.0)) or 1.0)
    ax.set_xlim(left=0)
    fold_numbers(ax)
    if tree is not None:
        _draw_tree(ax, tree, colours)
    return ax


def _whiskers(ax: Axes, sizes: FloatArray, where: FloatArray | IntArray, interval: FloatArray, colours: Look) -> None:
    reach = np.abs(interval.T - sizes)
    ax.errorbar(sizes, where, xerr=reach, fmt="none", ecolor=colours.ink, elinewidth=1, capsize=2)


def _stacked_bars(explanation: TableExplanation, ax: Axes | None, top: int, clusters: bool) -> Axes:
    """All outputs in one bar per column, those with most credit first; the ranking is that of their sum."""
    found = explanation.overall_importance()
    shown = _order(found.credit, top)
    tree = _tree(explanation, shown) if clusters else None
    shown = shown if tree is None else shown[tree["leaves"]]
    sizes = np.abs(explanation.credit[:, shown]).mean(axis=0)  # (columns, outputs)
    order = np.argsort(-sizes.sum(axis=0), kind="stable")
    parts = [(short(explanation.outputs[k]), sizes[:, k]) for k in order[:STACKED]]
    rest = order[STACKED:]
    if len(rest):
        parts.append((f"{len(rest)} other outputs", sizes[:, rest].sum(axis=1)))
    ax = new_axes(ax, len(shown))
    colours, left = look(ax), np.zeros(len(shown))
    for (name, size), colour in zip(parts, OF_KINDS, strict=False):
        ax.barh(np.arange(len(shown)), size, left=left, color=css(colour), height=0.66, label=name)
        left = left + size
    if found.interval is not None:
        _whiskers(ax, left, np.arange(len(shown)), found.interval[shown], colours)
    name_lines(ax, line_names([explanation.players[i] for i in shown]))
    lines = f"; lines: {defaults.LEVEL:.0%} interval of the sum" if found.interval is not None else ""
    ax.set_xlabel(
        f"mean |credit|, {plain(unit(explanation))}, added over {len(explanation.outputs)} outputs{lines}"
        f"{_not_drawn(explanation, shown)}"
    )
    _legend(ax, colours)
    fold_numbers(ax)
    finish(ax, f"Which columns matter, over {counted(len(explanation), 'row')} and all outputs")
    if tree is not None:
        _draw_tree(ax, tree, colours)
    return ax


def _cohort_bars(explanation: TableExplanation, by: Any, ax: Axes | None, top: int) -> Axes:
    """Groups of rows side by side, ranked by all rows."""
    groups = explanation.cohorts(by)
    shown = _order(explanation.importance().credit, top)
    ax = new_axes(ax, round(len(shown) * max(1.0, 0.5 * len(groups))))
    colours, height = look(ax), 0.8 / len(groups)
    for g, ((name, part), colour) in enumerate(zip(groups.items(), _kinds(len(groups)), strict=True)):
        found, where = part.importance(), np.arange(len(shown), dtype=np.float64) + (g - (len(groups) - 1) / 2) * height
        label = f"{short(name, IN_A_LEGEND)} ({counted(len(part), 'row')})"
        ax.barh(where, found.credit[shown], color=colour, height=0.9 * height, label=label)
        if found.interval is not None:
            _whiskers(ax, found.credit[shown], where, found.interval[shown], colours)
    name_lines(ax, line_names([explanation.players[i] for i in shown]))
    ax.set_xlabel(f"mean |credit|, {worth(explanation)}; lines: {defaults.LEVEL:.0%} interval{_not_drawn(explanation, shown)}")
    _legend(ax, colours)
    fold_numbers(ax)
    return finish(ax, f"Which columns matter, in {len(groups)} groups of {counted(len(explanation), 'row')}")


def _kinds(count: int) -> list[str]:
    return [css(OF_KINDS[k % len(OF_KINDS)]) for k in range(count)]


def _legend(ax: Axes, colours: Look) -> None:
    drawn = ax.legend(fontsize="small", labelcolor=colours.ink, loc="best", facecolor=colours.paper, edgecolor="none")
    drawn.set_in_layout(False)


def _tree(explanation: TableExplanation, shown: IntArray) -> dict[str, Any] | None:
    """The tree of columns that repeat one another; none of a single column."""
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    if len(shown) < 2:
        return None
    apart = column_distances(explanation, shown.tolist())
    found: dict[str, Any] = dendrogram(linkage(squareform(apart, checks=False), "average"), no_plot=True)
    return found


def _draw_tree(ax: Axes, tree: Mapping[str, Any], colours: Look) -> None:
    """The tree on the right, leaves at the bars' heights; across, how little two groups have in common."""
    beside = ax.inset_axes((1.02, 0.0, 0.22, 1.0), sharey=ax)
    for heights, joined in zip(tree["icoord"], tree["dcoord"], strict=True):
        beside.plot(joined, (np.array(heights) - 5) / 10, color=colours.soft, linewidth=1)
    beside.tick_params(axis="y", length=0, labelleft=False)
    beside.set_xlim(0, 1.08)
    beside.set_xticks([0.5, 1], ["0.5", "1"])
    beside.set_xlabel("1 − association", fontsize="x-small")
    beside.set_facecolor("none")
    finish(beside, "")
    beside.spines["left"].set_visible(False)


def beeswarm(explanation: TableExplanation, ax: Axes | None = None, *, top: int = 20, seed: int = 0) -> Axes:
    """Every row a point: across, its credit; in colour, where its value stands among those of the column, whose range is on the
    right. Words and missing values are grey; points of like credit lie above one another, so that height is density."""
    shown, drawn_rows = _order(explanation.importance().credit, top), some_rows(len(explanation), POINTS, seed)
    ax = new_axes(ax, len(shown))
    colours, k = look(ax), explanation.place()
    palette = value_colours(colours.dark)
    credit = explanation.credit[drawn_rows][:, shown, k]
    low, high = float(credit.min(initial=0.0)), float(credit.max(initial=0.0))
    size = float(np.clip(2600 / max(len(drawn_rows), 1), 5, 22))
    ax.axvline(0, color=colours.soft, linewidth=0.8, zorder=0)
    for y, i in enumerate(shown.tolist()):
        share, known = ranks(np.array(explanation.cells[i], dtype=object)[drawn_rows])
        height = y + SPREAD * swarm_heights(credit[:, y], low, high)
        ax.scatter(credit[~known, y], height[~known], s=size, color=colours.soft, linewidths=0, rasterized=True)
        ax.scatter(
            credit[known, y], height[known], s=size, c=share[known], cmap=palette, vmin=0, vmax=1, linewidths=0, rasterized=True
        )
    name_lines(ax, line_names([explanation.players[i] for i in shown]))
    _write_ranges(ax, [value_range(explanation.cells[i]) for i in shown], colours)
    ax.set_xlabel(f"credit, {worth(explanation)}: left lowers it, right raises it{_not_drawn(explanation, shown)}")
    _value_bar(ax, explanation, shown)
    fold_numbers(ax)
    return finish(
        ax, _answer(explanation), f"Which way the columns act{share_drawn(len(drawn_rows), len(explanation), 'rows')}"
    )


def _answer(explanation: TableExplanation) -> str:
    """The first sentence about the output that is drawn."""
    several = len(explanation.outputs) > 2
    return headline(explanation[:, :, explanation.target] if several else explanation).text


def _write_ranges(ax: Axes, ranges: list[str], colours: Look) -> None:
    """What the values of each column are, on the right of its line."""
    beside = ax.secondary_yaxis("right")
    beside.set_yticks(np.arange(len(ranges)), [plain(text) for text in ranges])
    beside.tick_params(length=0, labelsize="x-small", colors=colours.soft)
    beside.spines["right"].set_visible(False)


def _value_bar(ax: Axes, explanation: TableExplanation, shown: IntArray) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    grey = any(not numbers(explanation.cells[i])[1].all() for i in shown.tolist())
    label = "value of the column" + "; grey: words, missing" * grey
    scale = ScalarMappable(Normalize(0, 1), value_colours(look(ax).dark))
    colour_bar(ax, scale, label, [(0, "low"), (0.5, "median"), (1, "high")])


def violin(explanation: TableExplanation, ax: Axes | None = None, *, top: int = 20) -> Axes:
    """How each column's credit is distributed over the rows: height is density; in colour, the mean rank of the values there;
    the line is the middle half of the rows, the dot their median."""
    from matplotlib.collections import PolyCollection

    shown = _order(explanation.importance().credit, top)
    ax = new_axes(ax, len(shown))
    colours, k = look(ax), explanation.place()
    palette = value_colours(colours.dark)
    ax.axvline(0, color=colours.soft, linewidth=0.8, zorder=0)
    for y, i in enumerate(shown.tolist()):
        credit = explanation.credit[:, i, k]
        if not np.ptp(credit):  # one number, which has no density
            ax.plot(credit[:1], [y], "o", color=colours.paper, markeredgecolor=colours.ink, markersize=4)
            continue
        at, density = _density(credit)
        share, known = ranks(np.array(explanation.cells[i], dtype=object))
        tall = SPREAD * density / (density.max() or 1.0)
        slices = [
            [(a, y - s), (b, y - t), (b, y + t), (a, y + s)] for a, b, s, t in zip(at, at[1:], tall, tall[1:], strict=False)
        ]
        tints = _tints(credit[known], share[known], (at[1:] + at[:-1]) / 2) if known.any() else np.zeros(0)
        fill = palette(tints) if len(tints) else colours.soft
        ax.add_collection(PolyCollection(slices, facecolors=fill, edgecolors="face", linewidths=0.3))
        first, middle, third = np.quantile(credit, [0.25, 0.5, 0.75])
        ax.plot([first, third], [y, y], color=colours.ink, linewidth=2, solid_capstyle="butt")
        ax.plot([middle], [y], "o", color=colours.paper, markeredgecolor=colours.ink, markersize=4)
    ax.autoscale_view()
    name_lines(ax, line_names([explanation.players[i] for i in shown]))
    _write_ranges(ax, [value_range(explanation.cells[i]) for i in shown], colours)
    ax.set_xlabel(f"credit, {worth(explanation)}: left lowers it, right raises it{_not_drawn(explanation, shown)}")
    _value_bar(ax, explanation, shown)
    fold_numbers(ax)
    return finish(ax, f"How credit is spread over {counted(len(explanation), 'row')}")


def _density(credit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A grid over some numbers and their density on it: a sum of bells, as wide as Silverman's rule says."""
    spread = min(float(credit.std()), float(np.subtract(*np.quantile(credit, [0.75, 0.25]))) / 1.34 or np.inf)
    width = (
        0.9 * spread * len(credit) ** -0.2 if np.isfinite(spread) and spread > 0 else 1e-3 * (abs(float(credit.mean())) or 1.0)
    )
    at = np.linspace(credit.min(), credit.max(), SLICES + 1)  # no credit lies beyond
    middles, counts = np.unique(credit, return_counts=True)
    if len(middles) > 500:  # so many bells are summed in bins
        counts, edges = np.histogram(credit, 500)
        middles = (edges[1:] + edges[:-1]) / 2
    return at, np.exp(-0.5 * ((at[:, None] - middles) / width) ** 2) @ counts


def _tints(credit: FloatArray, share: FloatArray, at: FloatArray) -> FloatArray:
    """The mean rank of the values whose credit is near each place; the nearest known where there is none."""
    width = (at[-1] - at[0]) / len(at) * 2 or 1.0
    bins = np.clip(((credit - at[0]) / width).round().astype(np.int64), 0, None)
    sums, counts = np.bincount(bins, share), np.bincount(bins)
    there = np.flatnonzero(counts)
    return np.asarray(np.interp((at - at[0]) / width, there, sums[there] / counts[there]))


def group_difference(
    explanation: TableExplanation, group: Sequence[bool] | BoolArray, ax: Axes | None = None, *, top: int = 20
) -> Axes:
    """How the mean credit of some rows differs from that of the others, with Welch's 95 % interval; the differences of all
    columns add up to that of the predictions where the credit adds up.

    `group` is one truth value per row. Intervals are of each column by itself.
    """
    inside = np.asarray(group)
    if inside.shape != (len(explanation),) or inside.dtype != bool or not 1 < inside.sum() < len(explanation) - 1:
        raise InvalidInput(
            f"group must be one truth value per row ({len(explanation)}), with at least two rows inside and two outside",
            argument="group",
            code="shape",
        )
    credit = explanation.credit[:, :, explanation.place()]
    difference, reach = welch(credit[inside], credit[~inside])
    shown = _order(np.abs(difference), top)
    ax = new_axes(ax, len(shown))
    colours, where = look(ax), np.arange(len(shown))
    ax.barh(where, difference[shown], color=colours.signs(difference[shown]), height=0.66)
    ax.errorbar(difference[shown], where, xerr=reach[shown], fmt="none", ecolor=colours.ink, elinewidth=1, capsize=2)
    ax.axvline(0, color=colours.soft, linewidth=0.8)
    name_lines(ax, line_names([explanation.players[i] for i in shown]))
    outputs = explanation.prediction[:, explanation.place()]
    whole = float(outputs[inside].mean() - outputs[~inside].mean())
    ax.set_xlabel(
        f"difference of mean credit, {worth(explanation)}; lines: 95% interval{_not_drawn(explanation, shown)}\n"
        f"the mean predictions differ by {round_off(whole, 3)}"
    )
    fold_numbers(ax)
    return finish(ax, f"{counted(int(inside.sum()), 'row')} against the other {int((~inside).sum()):,}")


def welch(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Differences of means, (rows, n) -> (n,), and how far their 95 % interval reaches (Welch, 1947)."""
    from scipy.stats import t

    a, b = one.var(axis=0, ddof=1) / len(one), other.var(axis=0, ddof=1) / len(other)
    free = (a + b) ** 2 / np.maximum(a**2 / (len(one) - 1) + b**2 / (len(other) - 1), 1e-300)
    reach = t.ppf((1 + defaults.LEVEL) / 2, np.maximum(free, 1.0)) * np.sqrt(a + b)
    return one.mean(axis=0) - other.mean(axis=0), np.asarray(reach)


# What the figures of many rows share


def _order(sizes: FloatArray, top: int) -> IntArray:
    """The columns of largest size, largest first."""
    order: IntArray = np.argsort(-sizes, kind="stable")[:top]
    return order


def _not_drawn(explanation: TableExplanation, shown: IntArray) -> str:
    more = len(explanation.players) - len(shown)
    return f"\n{counted(more, 'more column')} of smaller credit not drawn" if more else ""


def some_rows(count: int, most: int, seed: int) -> IntArray:
    """All rows, or a random part of them that a drawing can hold."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, most, replace=False))


def share_drawn(drawn_rows: int, count: int, what: str) -> str:
    """What a title says where not all of them are drawn."""
    return "" if drawn_rows == count else f" ({drawn_rows:,} of {count:,} {what} drawn, chosen at random)"
