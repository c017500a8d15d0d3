"""Figures with matplotlib. Every function takes Axes, or makes them, and returns them; none of them shows or saves."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.json_data import round_off
from accredit.core import Attribution, IntArray
from accredit.errors import InvalidInput
from accredit.explanation.result import PICTURE, Explanation, FlowPicture
from accredit.models.encoded import visible
from accredit.views.figures.canvas import finish, look, new_axes, plain
from accredit.views.language.largest import strongest_edges
from accredit.views.language.palette import DARK_INK, LIGHT_INK, NEGATIVE, POSITIVE, UNSIGNED, css, shade
from accredit.views.language.phrases import layer_word, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection

CUT = "#8a1c7c"
OPAQUE = 0.6  # of the colours over a picture
EDGED = 200  # players up to which their borders are drawn


def bars(attribution: Attribution, ax: Axes | None = None, *, top: int = 30, sort: bool = True) -> Axes:
    """Credit as horizontal bars with its intervals (or two standard errors), the largest by size on top.

    Of more than `top` players, those of largest credit are drawn. `sort=False` keeps the order of the players.

    >>> ax = bars(Attribution(("alice", "bob"), [4, -6], -2, "by hand"))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['bob', 'alice']
    """
    shown = attribution.top(top)
    ax = new_axes(ax, len(shown))
    colours = look(ax)
    if not sort:
        shown = shown[[player for player in attribution.players if player in set(shown.players)]]
    credit, where = shown.credit, np.arange(len(shown))
    ax.barh(where, credit, color=colours.signs(credit), height=0.7)
    if shown.interval is not None:
        reach = np.abs(shown.interval.T - credit)
        ax.errorbar(credit, where, xerr=reach, fmt="none", ecolor=colours.ink, elinewidth=1, capsize=2)
    elif shown.stderr is not None:
        ax.errorbar(credit, where, xerr=2 * shown.stderr, fmt="none", ecolor=colours.ink, elinewidth=1, capsize=2)
    ax.axvline(0, color=colours.ink, linewidth=0.8)
    ax.set_yticks(where, [plain(p) for p in shown.players])
    ax.invert_yaxis()
    ax.set_xlabel("score" if attribution.total is None else f"credit, of {round_off(attribution.total)} to share")
    ax.tick_params(axis="y", length=0)
    finish(ax, str(attribution.method))
    ax.spines["left"].set_visible(False)
    return ax


def strip(explanation: Explanation, ax: Axes | None = None) -> Axes:
    """Methods down, players across, each method on its own signed scale."""
    ax = new_axes(ax)
    ran = list(explanation)
    if not ran:
        raise InvalidInput(
            "explanation has no method that ran, so there is nothing to draw; see its .refused",
            argument="explanation",
            code="empty",
        )
    image = np.empty((len(ran), len(explanation.players), 3))
    for row, (method, result) in enumerate(ran):
        largest = float(np.abs(result.credit).max())
        for column, player in enumerate(explanation.players):
            colour, white = shade(result[player], largest, signed=method not in explanation.unsigned)
            image[row, column] = np.array(colour) / 255
            if len(explanation.players) <= 16:
                ink = css(LIGHT_INK if white else DARK_INK)
                ax.text(column, row, round_off(result[player], 2), ha="center", va="center", color=ink, fontsize="x-small")
    ax.imshow(image, aspect="auto", interpolation="nearest")
    ax.set_yticks(range(len(ran)), [title(method) for method, _ in ran])
    ax.set_xticks(range(len(explanation.players)), [plain(p) for p in explanation.players], rotation=60, ha="right")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(plain(f"{explanation.payoff} of {visible(explanation.target)}"), loc="left", fontsize="medium")
    return ax


def overlay(explanation: Explanation, ax: Axes | None = None, *, method: str | None = None, bar: bool = True) -> Axes:
    """The picture with its players coloured by one method's credit (by default the first): blue raises, orange lowers.

    Colours are symmetrical about 0, up to the largest credit; borders of patches or segments are white. `bar` adds the scale.
    """
    if explanation.picture is None:
        raise InvalidInput(
            "explanation is about a text; overlay draws pictures, and strip(explanation) draws texts",
            argument="explanation",
            code="misplaced",
        )
    result = explanation.by_method(method)
    ax = new_axes(ax)
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.image import imread

    name = next(name for name, found in explanation if found is result)
    signed, picture = name not in explanation.unsigned, explanation.picture
    credit = np.array([result[player] for player in explanation.players])
    largest = float(np.abs(credit).max()) or 1.0
    hues = [css(NEGATIVE), "#ffffff", css(POSITIVE)] if signed else ["#ffffff", css(UNSIGNED)]
    scale = ScalarMappable(Normalize(-largest if signed else 0.0, largest), LinearSegmentedColormap.from_list("credit", hues))
    shown = imread(io.BytesIO(base64.b64decode(picture.data.removeprefix(PICTURE))))
    grey = shown if shown.ndim == 2 else shown[..., :3].mean(axis=2)
    owner, (height, width) = picture.owner, picture.size
    layer = scale.to_rgba(credit)[owner]
    layer[..., 3] = np.where(owner >= 0, OPAQUE, 0.0)
    ax.imshow(grey, cmap="gray", vmin=0, vmax=1, extent=(0, width, height, 0))
    ax.imshow(layer, extent=(0, width, height, 0), interpolation="nearest")
    if len(explanation.players) <= EDGED:
        ax.add_collection(_borders(owner))
    ax.set(xticks=[], yticks=[], xlim=(0, width), ylim=(height, 0))
    ax.set_title(
        plain(f"{explanation.payoff} of {visible(explanation.target)}, {title(name).lower()}"),
        loc="left",
        fontsize="medium",
    )
    if bar:
        ax.figure.colorbar(scale, ax=ax, label="score" if result.total is None else "credit", shrink=0.8)
    return ax


def _borders(owner: IntArray) -> LineCollection:
    """Thin lines between pixels of different owners: (H, W) -> a collection of lines."""
    from matplotlib.collections import LineCollection

    y, x = np.nonzero(owner[:, 1:] != owner[:, :-1])
    upright = np.stack([np.stack([x + 1, y], axis=1), np.stack([x + 1, y + 1], axis=1)], axis=1)
    y, x = np.nonzero(owner[1:] != owner[:-1])
    level = np.stack([np.stack([x, y + 1], axis=1), np.stack([x + 1, y + 1], axis=1)], axis=1)
    return LineCollection(list(np.concatenate([upright, level])), colors="white", linewidths=0.6, alpha=0.8)


def flow(picture: FlowPicture, ax: Axes | None = None) -> Axes:
    """The layers of a flow, output above and input below; width is flow, the minimum cut is purple."""
    ax = new_axes(ax)
    widest = float(picture.edges.max(initial=0.0)) or 1.0
    largest = float(picture.through.max(initial=0.0)) or 1.0
    for layer in range(picture.layers):
        for i, j in strongest_edges(picture.edges[layer]):
            share = float(picture.edges[layer, i, j]) / widest
            cut = picture.cut[layer, i, j] > 0
            colour = CUT if cut else css(POSITIVE)
            ax.plot([i, j], [layer + 1, layer], color=colour, linewidth=0.4 + 5 * share, alpha=0.25 + 0.4 * share)
    for layer in range(picture.layers + 1):
        sizes = 4 + 60 * picture.through[layer] / largest
        ax.scatter(np.arange(len(picture.columns)), np.full(len(picture.columns), layer), s=sizes, color="#1b1d22", zorder=3)
    for amounts, level in ((picture.source_cut, picture.layers + 0.16), (picture.sink_cut, -0.16)):
        where = np.flatnonzero(amounts > 0)
        ax.scatter(where, np.full(len(where), level), marker="_", s=90, color=CUT, zorder=3)
    ax.set_yticks(range(picture.layers + 1), [layer_word(k, picture.layers) for k in range(picture.layers + 1)])
    ax.set_xticks(range(len(picture.columns)), [plain(c) for c in picture.columns], rotation=60, ha="right")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(f"{round_off(picture.value)} flows ({title(picture.method)})", loc="left", fontsize="medium")
    return ax
