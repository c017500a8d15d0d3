"""Figures of one explained row: from the base value to the prediction. Each takes Axes, or makes them, and returns them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accredit.checks.json_data import round_off
from accredit.core import Attribution, FloatArray
from accredit.rows.result import Cell, TableExplanation
from accredit.views.figures.canvas import (
    Look,
    figure_of,
    finish,
    fold_numbers,
    lay_out,
    line_names,
    look,
    make_room,
    new_axes,
    plain,
    short_names,
    signed,
    width_of,
    write_names,
)
from accredit.views.language.headlines import row_headline
from accredit.views.language.largest import largest
from accredit.views.language.numbers import percent
from accredit.views.language.phrases import chance, counted, row_name, unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

OTHERS = "{} other columns"
ROUNDING = 1e-6  # of the size of what is drawn: what base value and steps may miss of the prediction unsaid
CHANCES = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999)  # marked above log-odds
LEVELS = 4  # lines of names below a force figure
NAME_POINTS = 22  # the height of one of them


def waterfall(explanation: TableExplanation, row: int = 0, ax: Axes | None = None, *, top: int = 10) -> Axes:
    """One row: from the base value below step by step to the prediction above, the largest credit on top; where there are
    intervals, a line at the end of each step. Above log-odds there is a second axis, of probabilities.

    >>> ax = waterfall(TableExplanation(("age", "pay"), ("price",), [[[2.0], [-1.0]]], [3.0], [[4.0]], [[41], [1200]], "m"))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['age = 41', 'pay = 1200']
    """
    names, steps = row_steps(explanation, row, top, line_names)
    ax, k, count = new_axes(ax, len(steps) + 2), explanation.place(), len(steps)
    colours, base, prediction = look(ax), float(explanation.base[k]), float(explanation.prediction[row, k])
    ends = base + np.cumsum(steps[::-1])[::-1]  # the base value is at the bottom
    ax.barh(np.arange(count), steps, left=ends - steps, color=colours.signs(steps), height=0.66)
    for y in range(1, count):
        ax.plot([ends[y], ends[y]], [y - 0.67, y + 0.33], color=colours.soft, linewidth=0.8, zorder=0)
    ax.plot([ends[-1] - steps[-1]] * 2, [count - 0.67, count - 0.25], color=colours.soft, linewidth=0.8, linestyle=":")
    ax.plot([prediction] * 2, [-0.75, -0.33], color=colours.soft, linewidth=0.8, linestyle=":")
    ax.set_yticks(np.arange(count), names)
    ax.set_ylim(count + 0.35, -1.35)
    write_names(ax)
    said = _intervals(ax, explanation.row(row), top, ends, colours)
    texts = [_end_label(ax, y, float(ends[y]), float(steps[y]), bool(said), colours) for y in range(count)]
    for height, place, name, at in ((-0.8, "bottom", "prediction f(x)", row), (count - 0.2, "top", "base value E[f(X)]", None)):
        x = prediction if at is not None else base
        bold = "bold" if at is not None else "normal"
        label = f"{name} = {round_off(x)}{_chance(explanation, at)}"
        texts.append(ax.text(x, height, label, ha="center", va=place, color=colours.ink, fontsize="small", fontweight=bold))
    below = "; ".join(filter(None, [_left(explanation, row), said]))
    ax.set_xlabel(worth(explanation) + f"\n{below}" * bool(below))
    finish(ax, row_headline(explanation, row).text, f"{row_name(explanation, row)}: what leads to {_what(explanation)}")
    reach = _reach(explanation.row(row), top, ends) if said else []
    ends_drawn = [base, prediction, *ends.tolist(), *(ends - steps).tolist(), *reach]
    make_room(ax, texts, min(ends_drawn), max(ends_drawn))
    _apart(texts[-2:], ax)
    _probabilities(ax, explanation)
    fold_numbers(ax)
    return ax


def _end_label(ax: Axes, y: int, end: float, step: float, raised: bool, colours: Look) -> Text:
    """The number of a step beside its end, above the line of its interval where there is one."""
    aside = (4 if step >= 0 else -4, 7 if raised else 0)
    side = "left" if step >= 0 else "right"
    return ax.annotate(
        signed(step), (end, y), aside, textcoords="offset points", va="center", ha=side, fontsize="small", color=colours.ink
    )


def _apart(texts: list[Text], ax: Axes) -> None:
    """Texts at the edge of the Axes are moved inside."""
    frame = ax.get_window_extent()
    for text in texts:
        box = text.get_window_extent()
        if box.x0 < frame.x0 or box.x1 > frame.x1:
            text.set_horizontalalignment("left" if box.x0 < frame.x0 else "right")


def _probabilities(ax: Axes, explanation: TableExplanation) -> None:
    """A second axis above log-odds."""
    if explanation.link != "sigmoid":
        return
    low, high = ax.get_xlim()
    log_odds = {p: float(np.log(p / (1 - p))) for p in CHANCES}
    wide = (high - low) / 9
    shown: list[float] = []
    for p in sorted(CHANCES, key=lambda p: abs(p - 0.5)):  # the middle first; those too near to a neighbour are left out
        if low <= log_odds[p] <= high and all(abs(log_odds[p] - log_odds[q]) > wide for q in shown):
            shown.append(p)
    above = ax.secondary_xaxis("top")
    above.set_xticks([log_odds[p] for p in shown], [percent(p, _decimals(p)) for p in shown])
    above.minorticks_off()
    above.tick_params(labelsize="small", colors=look(ax).soft)
    above.spines["top"].set_color(look(ax).soft)
    above.set_xlabel("probability", fontsize="small", color=look(ax).soft)


def _decimals(chance: float) -> int:
    edge = min(chance, 1 - chance)
    return 0 if edge > 0.0099 else 1 if edge > 0.00099 else 2


def _chance(explanation: TableExplanation, row: int | None) -> str:
    found = chance(explanation, row)
    return f" ({found})" if found else ""


def _left(explanation: TableExplanation, row: int) -> str:
    """What the steps miss of the prediction, where they do."""
    k = explanation.place()
    left = float(explanation.unshared[row, k])
    sizes = (
        abs(float(explanation.base[k])),
        abs(float(explanation.prediction[row, k])),
        *np.abs(explanation.credit[row, :, k]),
    )
    return f"{signed(left)} is left over: base value and steps miss it" if abs(left) > ROUNDING * max(sizes) else ""


def _reach(found: Attribution, top: int, ends: FloatArray) -> list[float]:
    """Where the lines of the intervals end."""
    if found.interval is None:
        return []
    kept, _ = largest(found.credit, top)
    aside = (found.interval - found.credit[:, None])[kept]
    return [float(x) for x in (ends[: len(kept), None] + aside).ravel()]


def _intervals(ax: Axes, found: Attribution, top: int, ends: FloatArray, colours: Look) -> str:
    """A line at the end of each step that is one column's, and what the axis says about them."""
    if found.interval is None or found.level is None:
        return ""
    kept, _ = largest(found.credit, top)
    reach = np.abs(found.interval - found.credit[:, None])[kept].T  # below and above
    ax.errorbar(ends[: len(kept)], np.arange(len(kept)), xerr=reach, fmt="none", ecolor=colours.ink, elinewidth=1, capsize=2)
    return f"lines: {found.level:.0%} interval of each step"


class ForceSegment(NamedTuple):
    """A part of the force figure: from where to where it reaches, and what it is called."""

    name: str
    start: float
    end: float


def force(explanation: TableExplanation, row: int = 0, ax: Axes | None = None, *, top: int = 10) -> Axes:
    """One row: what pushes the prediction up, from the left, against what pushes it down, from the right. Names stand below,
    in as many lines as they need; what has no room is counted."""
    ax = new_axes(ax, 7)
    colours, k = look(ax), explanation.place()
    names, steps = row_steps(explanation, row, top)
    meeting, base = float(explanation.prediction[row, k]), float(explanation.base[k])
    drawn: list[ForceSegment] = []
    for side, colour, word in ((1, colours.up, "raises"), (-1, colours.down, "lowers")):
        at = meeting
        for i in np.argsort(-side * steps, kind="stable").tolist():
            if side * steps[i] <= 0:
                continue
            ax.barh(0, -steps[i], left=at, height=0.5, color=colour, edgecolor=colours.paper, linewidth=1.5)
            drawn.append(ForceSegment(f"{names[i]}\n{signed(steps[i])}", at, at - float(steps[i])))
            at -= float(steps[i])
        if at != meeting:
            aside, place = (-6, "right") if side > 0 else (6, "left")
            arrow = f"{word} →" if side > 0 else f"← {word}"
            ax.annotate(
                arrow,
                (meeting, 0.28),
                (aside, 0),
                textcoords="offset points",
                ha=place,
                va="bottom",
                color=colour,
                fontsize="small",
            )
    ax.plot([meeting, meeting], [-0.32, 0.62], color=colours.ink, linewidth=1.4)
    ax.plot([base, base], [-0.32, 0.32], color=colours.soft, linewidth=1, linestyle=":")
    edges = [meeting, base, *(x for s in drawn for x in (s.start, s.end))]
    span = (max(edges) - min(edges)) or abs(meeting) or 1.0
    ax.set_xlim(min(edges) - 0.03 * span, max(edges) + 0.03 * span)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    dotted = f"dotted: base value {round_off(base)}{_chance(explanation, None)}"
    ax.set_xlabel("; ".join(filter(None, [worth(explanation), dotted, _left(explanation, row)])))
    finish(ax, row_headline(explanation, row).text, f"{row_name(explanation, row)}: what leads to {_what(explanation)}")
    said = f"f(x) = {round_off(meeting)}{_chance(explanation, row)}"
    top_text = ax.text(meeting, 0.66, said, ha="center", va="bottom", color=colours.ink, fontweight="bold", fontsize="small")
    lay_out(ax)
    _apart([top_text], ax)
    unnamed = _name_segments(ax, drawn, colours)
    if unnamed:
        ax.set_xlabel(f"{ax.get_xlabel()}\nwithout room for a name: {counted(unnamed, 'smaller part')}")
    fold_numbers(ax)
    return ax


def _name_segments(ax: Axes, segments: list[ForceSegment], colours: Look) -> int:
    """Names below their segments, each on the first line where it lies over no other, inside the Axes; returns how many are not
    named. The largest choose first."""
    frame = ax.get_window_extent()
    taken: list[list[tuple[float, float]]] = [[] for _ in range(LEVELS)]
    height, unnamed = frame.height * 72 / figure_of(ax).dpi, 0
    room = 10 + NAME_POINTS * min(LEVELS, int(0.65 * height / NAME_POINTS))  # points
    ax.set_ylim(-0.3 - 1.3 * room / max(height - room, 1.0), 1.0)
    for segment in sorted(segments, key=lambda s: -abs(s.end - s.start)):
        middle = (segment.start + segment.end) / 2
        text = ax.annotate(
            segment.name, (middle, -0.26), (0, 0), textcoords="offset points", ha="center", va="top", fontsize="x-small",
            color=colours.ink, linespacing=1.1, bbox={"facecolor": colours.paper, "edgecolor": "none", "pad": 0.3},
            arrowprops={"arrowstyle": "-", "color": colours.soft, "linewidth": 0.5},
        )  # fmt: skip
        half = width_of(text) / 2 + 3
        under = float(ax.transData.transform((middle, 0))[0])
        at = min(max(under, frame.x0 + half), frame.x1 - half)
        free = (line for line, spans in enumerate(taken) if all(at + half < a or at - half > b for a, b in spans))
        line = next(free, None)
        if line is None or 10 + NAME_POINTS * (line + 1) > room or 2 * half > frame.width:
            text.remove()
            unnamed += 1
            continue
        taken[line].append((at - half, at + half))
        text.set_position(((at - under) * 72 / figure_of(ax).dpi, -10 - NAME_POINTS * line))
    return unnamed


def row_steps(
    explanation: TableExplanation, row: int, top: int, write: Callable[[Sequence[str]], list[str]] = short_names
) -> tuple[list[str], FloatArray]:
    """Names, as they are written here, with their values and credits of one row, largest first; beyond `top` the smallest
    together."""
    credit = explanation.row(row).credit
    kept, rest = largest(credit, top)
    columns = write([explanation.players[i] for i in kept.tolist()])
    names = [f"{name} = {cell_text(explanation.cells[i][row])}" for name, i in zip(columns, kept.tolist(), strict=True)]
    steps = credit[kept]
    if len(rest):
        names.append(OTHERS.format(len(rest)))
        steps = np.append(steps, credit[rest].sum())
    return names, steps


def cell_text(value: Cell) -> str:
    """A cell beside the name of its column."""
    if value is None or value != value:
        return "missing"
    text = round_off(value).replace("-", "−") if isinstance(value, float) else str(value)
    return plain(text if len(text) <= 24 else text[:23] + "…")


def worth(explanation: TableExplanation) -> str:
    """What the numbers of an axis are."""
    return plain(unit(explanation)) + (f" of {plain(explanation.target)}" if len(explanation.outputs) > 1 else "")


def _what(explanation: TableExplanation) -> str:
    return "the prediction" if explanation.target == "prediction" else f"“{explanation.target}”"
