"""Figures of interactions of pairs: as a network, and as a square. Each takes Axes, or makes them, and returns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.json_data import round_off
from accredit.errors import InvalidInput
from accredit.views.figures.canvas import colour_bar, finish, look, new_axes, short, short_names, signed_colours, size_colours
from accredit.views.language.largest import strongest_players
from accredit.views.language.palette import DARK_INK, LIGHT_INK, css, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from accredit.core import Interactions

COLOURS = "blue: worth more together, orange: worth less"
SIZES = "the thicker the line, the larger the interaction, whatever its sign"
CELLS = 12  # players of a heat map of pairs whose numbers are written into it


def network(interactions: Interactions, ax: Axes | None = None, *, top: int = 30) -> Axes:
    """Players on a circle, the strongest pairs as lines: blue together worth more, orange worth less. Sizes, such as means over
    rows, have no sign and one colour."""
    ax = new_axes(ax)
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
    colours = look(ax)
    for (a, b), x in pairs:
        xs, ys = np.cos([angle[a], angle[b]]), np.sin([angle[a], angle[b]])
        share = abs(x) / largest
        colour = colours.size if interactions.are_sizes else colours.up if x >= 0 else colours.down
        ax.plot(xs, ys, color=colour, linewidth=0.5 + 5 * share, alpha=0.25 + 0.6 * share)
    for name in names:
        x, y = np.cos(angle[name]), np.sin(angle[name])
        ax.scatter([x], [y], s=40, color=colours.size, zorder=3)
        ax.text(
            1.1 * x, 1.1 * y, short(name), ha="left" if x >= 0 else "right", va="center", fontsize="small", color=colours.ink
        )
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.margins(0.25)
    reading = SIZES if interactions.are_sizes else COLOURS
    return finish(ax, f"the {len(pairs)} strongest pairs, {round_off(largest)} at most", reading)


def pair_heatmap(interactions: Interactions, ax: Axes | None = None, *, top: int = 20) -> Axes:
    """Every pair a square: blue together worth more, orange worth less; of more than `top` players those of the strongest
    pairs. Sizes, such as means over rows, have no sign: the darker, the larger.

    >>> from accredit.core import Interactions
    >>> pairs = Interactions("abc", "sii", "by hand", {("a", "b"): 1.0, ("a", "c"): -2.0, ("b", "c"): 0.0})
    >>> pair_heatmap(pairs).get_title(loc="left")
    'interactions of pairs (sii), 2 at most'
    """
    ax = new_axes(ax)
    square = interactions.matrix()
    kept = strongest_players(square, top)
    square = square[np.ix_(kept, kept)]
    largest, sizes = float(np.abs(square).max()) or 1.0, interactions.are_sizes
    colours = look(ax)
    palette = size_colours(colours) if sizes else signed_colours(colours)
    drawn = ax.imshow(square, interpolation="nearest", cmap=palette, vmin=0 if sizes else -largest, vmax=largest)
    for i, j in zip(*np.nonzero(~np.eye(len(kept), dtype=bool)), strict=True) if len(kept) <= CELLS else ():
        _, white = shade(square[i, j], largest, "dark" if colours.dark else "light", signed=not sizes)
        written, ink = round_off(square[i, j], 2), css(LIGHT_INK if white else DARK_INK)
        ax.text(j, i, written, ha="center", va="center", fontsize="x-small", color=ink)
    colour_bar(ax, drawn, "size of the interaction" if sizes else COLOURS)
    names = short_names([interactions.players[i] for i in kept])
    ax.set_yticks(np.arange(len(kept)), names)
    ax.set_xticks(np.arange(len(kept)), names, rotation=60, ha="right")
    ax.tick_params(length=0)
    some = f" of {len(kept)} of {len(interactions.players)} players" if len(kept) < len(interactions.players) else ""
    return finish(ax, f"interactions of pairs ({interactions.index}){some}, {round_off(largest)} at most")
