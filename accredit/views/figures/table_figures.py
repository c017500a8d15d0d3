"""Figures of explained tables, by the names people know. Each takes Axes, or makes them, and returns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from accredit.checks.json_data import round_off
from accredit.core import BoolArray, FloatArray, IntArray, player_index
from accredit.errors import InvalidInput
from accredit.rows.result import Cell, TableExplanation
from accredit.views.figures.explanation_figures import _axes, _plain, bars
from accredit.views.language.largest import largest, strongest_players
from accredit.views.language.palette import DARK_INK, LIGHT_INK, NEGATIVE, POSITIVE, UNSIGNED, css, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap

    from accredit.core import Attribution, Interactions

INK, MISSING = "#1b1d22", "#9aa0ab"
OTHERS = "{} other columns"
COLOURS = "blue: worth more together, orange: worth less"
SIZES = "the thicker the line, the larger the interaction, whatever its sign"
LONGEST = 28  # characters of a name
POINTS = 4000  # rows drawn as points; more would be one blot
LINES = 400  # rows drawn as lines
CELLS = 12  # players of a heat map of pairs whose numbers are written into it
ROUNDING = 1e-6  # of the size of what is drawn: what base value and steps may miss of the prediction unsaid
COLUMNS = 1200  # of a heat map; more rows are averaged in neighbouring groups


def waterfall(explanation: TableExplanation, row: int = 0, ax: Axes | None = None, *, top: int = 10) -> Axes:
    """One row: from the base value step by step to the prediction, the largest credit on top; where there are intervals, a
    line at the end of each step.

    >>> ax = waterfall(TableExplanation(("age", "pay"), ("price",), [[[2.0], [-1.0]]], [3.0], [[4.0]], [[41], [1200]], "m"))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['age = 41', 'pay = 1200']
    """
    ax = _axes(ax)
    names, steps = _steps(explanation, row, top)
    k = explanation.place()
    ends = explanation.base[k] + np.cumsum(steps[::-1])[::-1]  # the base value is at the bottom
    where = np.arange(len(steps))
    ax.barh(where, steps, left=ends - steps, color=_sign(steps), height=0.7)
    said = _intervals(ax, explanation.row(row), top, ends)
    for y, (end, step) in enumerate(zip(ends.tolist(), steps.tolist(), strict=True)):
        aside = 4 if step >= 0 else -4, 7 if said else 0  # above the line of its interval
        ax.annotate(
            _number(step),
            (end, y),
            aside,
            textcoords="offset points",
            va="center",
            ha="left" if step >= 0 else "right",
            fontsize="small",
            color=INK,
        )
        if y:
            ax.plot([end, end], [y - 1, y], color=MISSING, linewidth=0.8, zorder=0)
    ax.axvline(explanation.base[k], color=MISSING, linewidth=0.8, linestyle=":")
    ax.set_yticks(where, names)
    ax.invert_yaxis()
    ax.margins(x=0.2)
    below = "; ".join(filter(None, [_left(explanation, row), said]))
    ax.set_xlabel(f"{_worth(explanation)}; base value {round_off(explanation.base[k])}" + f"\n{below}" * bool(below))
    prediction = round_off(explanation.prediction[row, k])
    return _title(ax, f"row {explanation.rows[row]}: {explanation.target} = {prediction}")


def _left(explanation: TableExplanation, row: int) -> str:
    """What the steps miss of the prediction, where they do."""
    k = explanation.place()
    left = float(explanation.unshared[row, k])
    sizes = (1.0, abs(float(explanation.base[k])), abs(float(explanation.prediction[row, k])))
    return f"{_number(left)} is credited to nobody" if abs(left) > ROUNDING * max(sizes) else ""


def _intervals(ax: Axes, found: Attribution, top: int, ends: FloatArray) -> str:
    """A line at the end of each step that is one column's, and what the axis says about them."""
    if found.interval is None or found.level is None:
        return ""
    kept, _ = largest(found.credit, top)
    reach = np.abs(found.interval - found.credit[:, None])[kept].T  # below and above
    ax.errorbar(ends[: len(kept)], np.arange(len(kept)), xerr=reach, fmt="none", ecolor=INK, elinewidth=1, capsize=2)
    return f"lines: {found.level:.0%} interval of each step"


def force(explanation: TableExplanation, row: int = 0, ax: Axes | None = None, *, top: int = 10) -> Axes:
    """One row: what pushes the prediction up, from the left, against what pushes it down, from the right."""
    ax = _axes(ax)
    names, steps = _steps(explanation, row, top)
    meeting = float(explanation.prediction[row, explanation.place()])
    for side, colour in ((1, POSITIVE), (-1, NEGATIVE)):
        at = meeting
        for i in np.argsort(-side * steps, kind="stable").tolist():
            if side * steps[i] <= 0:
                continue
            ax.barh(0, -steps[i], left=at, height=0.5, color=css(colour), edgecolor="white", linewidth=1.5)
            if abs(steps[i]) > 0.06 * np.abs(steps).sum():
                ax.text(
                    at - steps[i] / 2,
                    -0.3,
                    names[i],
                    ha="right",
                    va="top",
                    rotation=30,
                    rotation_mode="anchor",
                    fontsize="small",
                )
            at -= steps[i]
        if at != meeting:
            word, where = ("raises", "right") if side > 0 else ("lowers", "left")
            ax.annotate(
                word,
                (meeting, 0.3),
                (-5 * side, 0),
                textcoords="offset points",
                ha=where,
                va="bottom",
                color=css(colour),
                fontsize="small",
            )
    ax.axvline(meeting, color=INK, linewidth=1.2)
    ax.axvline(explanation.base[explanation.place()], color=MISSING, linewidth=0.8, linestyle=":")
    ax.set_ylim(-1.3, 0.6)
    ax.set_yticks([])
    ax.set_xlabel(f"{_worth(explanation)}; dotted: base value")
    return _title(ax, f"row {explanation.rows[row]}: {explanation.target} = {round_off(meeting)}")


def bar(explanation: TableExplanation, ax: Axes | None = None, *, top: int = 20) -> Axes:
    """Mean size of each column's credit, largest first, with its interval over rows."""
    found = explanation.importance()
    shown = found.ranked()[: min(top, len(explanation.players))]
    ax = bars(shown, ax, top=top)
    ax.set_yticks(np.arange(len(shown)), [_short(player) for player in shown.players])
    ax.set_xlabel(f"mean |credit|, {_worth(explanation)}" + ("; lines: 95 % interval" if found.interval is not None else ""))
    return _title(ax, f"{explanation.target}: mean |credit| over {len(explanation):,} row{'s' * (len(explanation) > 1)}")


def beeswarm(explanation: TableExplanation, ax: Axes | None = None, *, top: int = 20, seed: int = 0) -> Axes:
    """Every row a point: across, its credit; in colour, the column's value from low to high; missing or words are grey."""
    from matplotlib import colormaps

    ax = _axes(ax)
    shown, drawn_rows = _largest(explanation, top), _some(len(explanation), POINTS, seed)
    k = explanation.place()
    for y, i in enumerate(shown.tolist()):
        credit = explanation.credit[drawn_rows, i, k]
        share, known = _ranks(np.array(explanation.values[i], dtype=object)[drawn_rows])
        height = y + 0.38 * _swarm(credit)
        ax.scatter(credit[~known], height[~known], s=7, color=MISSING, linewidths=0, rasterized=True)
        ax.scatter(
            credit[known],
            height[known],
            s=7,
            c=share[known],
            cmap=colormaps["viridis"],
            vmin=0,
            vmax=1,
            linewidths=0,
            rasterized=True,
        )
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_yticks(np.arange(len(shown)), [_short(explanation.players[i]) for i in shown])
    ax.invert_yaxis()
    ax.set_xlabel(f"credit, {_worth(explanation)}\ndark: low values, bright: high, grey: missing or words")
    return _title(ax, f"{explanation.target}{_share_drawn(len(drawn_rows), len(explanation), 'rows')}")


def scatter(
    explanation: TableExplanation, player: str, ax: Axes | None = None, *, colour: str | None = None, seed: int = 0
) -> Axes:
    """How a column's credit depends on its value; `colour` shows another column's value. Missing values stand on the left."""
    from matplotlib import colormaps

    ax = _axes(ax)
    drawn_rows, i = _some(len(explanation), POINTS, seed), player_index(explanation.players, player)
    cells = np.array(explanation.values[i], dtype=object)[drawn_rows]
    credit = explanation.credit[drawn_rows, i, explanation.place()]
    x, ticks = _positions(cells)
    options: dict[str, Any] = {"color": css(POSITIVE)}
    if colour is not None:
        other = np.array(explanation.values[player_index(explanation.players, colour)], dtype=object)[drawn_rows]
        share, known = _ranks(other)
        palette = colormaps["viridis"](share)
        palette[~known] = (0.6, 0.63, 0.67, 1.0)
        options = {"c": palette}
    ax.scatter(x, credit, s=9, linewidths=0, rasterized=True, **options)
    ax.axhline(0, color=INK, linewidth=0.8)
    if ticks:
        ax.set_xticks([at for at, _ in ticks], [_short(name) for _, name in ticks], rotation=45, ha="right")
    ax.set_xlabel(_plain(player) + ("" if colour is None else f" (dark: low {_plain(colour)}, bright: high)"))
    ax.set_ylabel("credit")
    return _title(ax, f"{explanation.target}{_share_drawn(len(drawn_rows), len(explanation), 'rows')}")


def heatmap(explanation: TableExplanation, ax: Axes | None = None, *, top: int = 20) -> Axes:
    """Rows across in the order of their prediction, columns down; blue raises, orange lowers."""
    ax = _axes(ax)
    shown, k = _largest(explanation, top), explanation.place()
    order = np.argsort(explanation.prediction[:, k], kind="stable")
    groups = np.array_split(order, min(len(order), COLUMNS))
    image = np.array([explanation.credit[g][:, shown, k].mean(axis=0) for g in groups]).T
    largest = float(np.abs(image).max()) or 1.0
    ax.imshow(image, aspect="auto", interpolation="nearest", cmap=_signed_colours(), vmin=-largest, vmax=largest)
    ax.set_yticks(np.arange(len(shown)), [_short(explanation.players[i]) for i in shown])
    each = "" if len(groups) == len(order) else f", averaged in {len(groups)} groups"
    ax.set_xlabel(f"{len(order)} rows from low to high prediction{each}")
    return _title(ax, f"{explanation.target}: blue raises, orange lowers, by {round_off(largest, 3)} at most")


def decision(explanation: TableExplanation, ax: Axes | None = None, *, top: int = 20, seed: int = 0) -> Axes:
    """Every row a line that starts at the base value below and adds up its credits to its prediction above."""
    ax = _axes(ax)
    k, drawn_rows = explanation.place(), _some(len(explanation), LINES, seed)
    shown = _largest(explanation, top)[::-1]
    rest = np.setdiff1d(np.arange(len(explanation.players)), shown)
    credit = explanation.credit[drawn_rows, :, k]
    steps = np.column_stack([credit[:, rest].sum(axis=1), credit[:, shown]]) if len(rest) else credit[:, shown]
    lines = explanation.base[k] + np.cumsum(steps, axis=1)
    lines = np.column_stack([np.full(len(lines), explanation.base[k]), lines])
    ends = explanation.prediction[drawn_rows, k]
    for line, end in zip(lines, ends.tolist(), strict=True):
        above = end >= explanation.base[k]
        ax.plot(line, np.arange(len(line)), color=css(POSITIVE if above else NEGATIVE), linewidth=0.8, alpha=0.5)
    names = [*([OTHERS.format(len(rest))] if len(rest) else []), *(_short(explanation.players[i]) for i in shown)]
    ax.set_yticks(np.arange(1, len(names) + 1) - 0.5, names)
    ax.axvline(explanation.base[k], color=MISSING, linewidth=0.8, linestyle=":")
    ax.set_xlabel(f"{_worth(explanation)}; dotted: base value")
    return _title(ax, f"{explanation.target}{_share_drawn(len(drawn_rows), len(explanation), 'rows')}")


def network(interactions: Interactions, ax: Axes | None = None, *, top: int = 30) -> Axes:
    """Players on a circle, the strongest pairs as lines: blue together worth more, orange worth less. Sizes, such as means over
    rows, have no sign and one colour."""
    ax = _axes(ax)
    if 2 not in interactions.sizes:
        raise InvalidInput(
            "interactions holds no pairs, so there is no network to draw; ask for order 2",
            argument="interactions",
            code="missing",
        )
    pairs = interactions.of_size(2).strongest(top)
    names = list(dict.fromkeys(name for who, _ in pairs for name in who))
    angle = dict(zip(names, np.linspace(0, 2 * np.pi, len(names), endpoint=False), strict=True))
    largest = max(abs(x) for _, x in pairs) or 1.0
    for (a, b), x in pairs:
        xs, ys = np.cos([angle[a], angle[b]]), np.sin([angle[a], angle[b]])
        share = abs(x) / largest
        colour = UNSIGNED if interactions.are_sizes else POSITIVE if x >= 0 else NEGATIVE
        ax.plot(xs, ys, color=css(colour), linewidth=0.5 + 5 * share, alpha=0.25 + 0.6 * share)
    for name in names:
        x, y = np.cos(angle[name]), np.sin(angle[name])
        ax.scatter([x], [y], s=40, color=css(UNSIGNED), zorder=3)
        ax.text(1.1 * x, 1.1 * y, _short(name), ha="left" if x >= 0 else "right", va="center", fontsize="small")
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.margins(0.25)
    reading = SIZES if interactions.are_sizes else COLOURS
    return _title(ax, f"the {len(pairs)} strongest pairs, {round_off(largest)} at most", reading)


def pair_heatmap(interactions: Interactions, ax: Axes | None = None, *, top: int = 20) -> Axes:
    """Every pair a square: blue together worth more, orange worth less; of more than `top` players those of the strongest
    pairs.

    >>> from accredit.core import Interactions
    >>> pairs = Interactions("abc", "sii", "by hand", {("a", "b"): 1.0, ("a", "c"): -2.0, ("b", "c"): 0.0})
    >>> pair_heatmap(pairs).get_title(loc="left")
    'interactions of pairs (sii), 2 at most'
    """
    ax = _axes(ax)
    square = interactions.matrix()
    kept = strongest_players(square, top)
    square = square[np.ix_(kept, kept)]
    largest = float(np.abs(square).max()) or 1.0
    for i, j in zip(*np.nonzero(~np.eye(len(kept), dtype=bool)), strict=True) if len(kept) <= CELLS else ():
        _, white = shade(square[i, j], largest)
        ax.text(
            j,
            i,
            round_off(square[i, j], 2),
            ha="center",
            va="center",
            fontsize="x-small",
            color=css(LIGHT_INK if white else DARK_INK),
        )
    ax.imshow(square, interpolation="nearest", cmap=_signed_colours(), vmin=-largest, vmax=largest)
    names = [_short(interactions.players[i]) for i in kept]
    ax.set_yticks(np.arange(len(kept)), names)
    ax.set_xticks(np.arange(len(kept)), names, rotation=60, ha="right")
    ax.tick_params(length=0)
    some = f" of {len(kept)} of {len(interactions.players)} players" if len(kept) < len(interactions.players) else ""
    return _title(ax, f"interactions of pairs ({interactions.index}){some}, {round_off(largest)} at most")


# What the figures share


def _signed_colours() -> LinearSegmentedColormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("signed", [css(NEGATIVE), "#ffffff", css(POSITIVE)])


def _steps(explanation: TableExplanation, row: int, top: int) -> tuple[list[str], FloatArray]:
    """Names with their values and credits of one row, largest first; beyond `top` the smallest together."""
    credit = explanation.row(row).credit
    kept, rest = largest(credit, top)
    names = [f"{_short(explanation.players[i])} = {_cell(explanation.values[i][row])}" for i in kept.tolist()]
    steps = credit[kept]
    if len(rest):
        names.append(OTHERS.format(len(rest)))
        steps = np.append(steps, credit[rest].sum())
    return names, steps


def _largest(explanation: TableExplanation, top: int) -> IntArray:
    """The columns of largest mean |credit|, largest first."""
    order: IntArray = np.argsort(-explanation.importance().credit, kind="stable")[:top]
    return order


def _some(count: int, most: int, seed: int) -> IntArray:
    """All rows, or a random part of them that a drawing can hold."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, most, replace=False))


def _share_drawn(drawn_rows: int, count: int, what: str) -> str:
    return "" if drawn_rows == count else f" ({drawn_rows:,} of {count:,} {what} drawn, chosen at random)"


def numbers(cells: npt.NDArray[np.object_]) -> tuple[FloatArray, BoolArray]:
    """Cells as numbers, and which of them are: booleans count, words and missing values do not."""
    known = np.array([isinstance(c, int | float | np.number) and c == c for c in cells], dtype=bool)
    values = np.zeros(len(known))
    values[known] = [float(c) for c, there in zip(cells, known, strict=True) if there]
    return values, known


def _ranks(cells: npt.NDArray[np.object_]) -> tuple[FloatArray, BoolArray]:
    """Where each number stands among the others, from 0 to 1, ties together; and which cells are numbers."""
    values, known = numbers(cells)
    share = np.full(len(known), 0.5)
    distinct, place = np.unique(values[known], return_inverse=True)
    if len(distinct) > 1:
        counts = np.bincount(place)
        middle = np.cumsum(counts) - (counts + 1) / 2
        share[known] = middle[place] / max(known.sum() - 1, 1)
    return share, known


def _swarm(credit: FloatArray) -> FloatArray:
    """Heights in [−1, 1] that keep points of like credit apart: wide where there are many."""
    spread = float(np.ptp(credit))
    bins = np.zeros(len(credit), dtype=np.int64) if not spread else ((credit - credit.min()) / spread * 79).astype(np.int64)
    counts = np.bincount(bins)
    order = np.argsort(bins, kind="stable")
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    place = np.empty(len(credit))
    place[order] = np.arange(len(credit)) - first[bins[order]]
    side = np.where(place % 2 == 0, 1, -1) * np.ceil(place / 2)
    return np.asarray(2 * side / max(counts.max(), 8))


def _positions(cells: npt.NDArray[np.object_]) -> tuple[FloatArray, list[tuple[float, str]]]:
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
    return np.where(known, values, rest), [(x, name) for x, name in ticks if x in used or name not in at]


def _cell(value: Cell) -> str:
    if value is None:
        return "missing"
    shown = round_off(value).replace("-", "−") if isinstance(value, float) else str(value)
    return _plain(shown if len(shown) <= 24 else shown[:23] + "…")


def _short(name: str) -> str:
    """A name that leaves room for the figure; its beginning and its end stay."""
    return _plain(name if len(name) <= LONGEST else f"{name[: LONGEST - 10]}…{name[-9:]}")


def _number(value: float) -> str:
    return ("+" * (value > 0) + round_off(value, 3)).replace("-", "−")


def _sign(values: FloatArray) -> list[str]:
    return [css(POSITIVE if x >= 0 else NEGATIVE) for x in values.tolist()]


def _worth(explanation: TableExplanation) -> str:
    return _plain(explanation.payoff or "value") + (f" of {_plain(explanation.target)}" if len(explanation.outputs) > 1 else "")


def _title(ax: Axes, text: str, below: str = "") -> Axes:
    ax.set_title("\n".join(filter(None, [_plain(text), below])), loc="left", fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
