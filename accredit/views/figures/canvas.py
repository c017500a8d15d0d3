"""What every figure shares: Axes, the colours that suit their paper, names and numbers as labels, colour bars."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from math import floor, log10
from os.path import commonprefix
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from accredit.checks import needs
from accredit.checks.json_data import round_off
from accredit.core import FloatArray
from accredit.views.language.palette import THEMES, VALUES, Colour, contrast, css
from accredit.views.language.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from matplotlib.text import Text

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LONGEST = 28  # characters of a name
TITLE = 88  # characters of a line of a title, less those of names beside it
LONG_NUMBER = 1e5  # from which on the numbers below an axis are so long that only a few stand apart
ALONE = 0.775  # share of a figure's width that its only Axes have before they are laid out
WIDTH, LINE_HEIGHT, FRAME_HEIGHT = 7.4, 0.34, 1.5  # inches of a figure: its width, one line of bars, and what is around them


class Look(NamedTuple):
    """Colours that can be read on the paper of some Axes."""

    paper: str
    ink: str
    soft: str  # lines and notes beside the data
    up: str
    down: str
    size: str  # of numbers without a direction
    dark: bool

    def signs(self, values: FloatArray) -> list[str]:
        """The colour of each number: what raises, and what lowers."""
        return [self.up if x >= 0 else self.down for x in values.tolist()]


def look(ax: Axes) -> Look:
    """The colours for these Axes: those of the dark page where their background, or what shines through it, is dark."""
    from matplotlib.colors import to_rgba

    behind = to_rgba(ax.get_facecolor())
    if behind[3] == 0:
        behind = to_rgba(figure_of(ax).get_facecolor())
    if behind[3] == 0:
        behind = (1.0, 1.0, 1.0, 1.0)
    red, green, blue = (round(255 * part) for part in behind[:3])
    paper: Colour = (red, green, blue)
    dark = contrast(paper, (255, 255, 255)) > contrast(paper, (0, 0, 0))
    _, hues = THEMES["dark" if dark else "light"]
    ink, soft = ("#eceef2", "#a3a9b5") if dark else ("#1b1d22", "#6b7280")
    return Look(css(paper), ink, soft, css(hues["u"]), css(hues["d"]), css(hues["n"]), dark)


def figure_of(ax: Axes) -> Figure:
    """The figure that these Axes are part of."""
    return cast("Figure", ax.get_figure(root=True))


def new_axes(ax: Axes | None, lines: int | None = None) -> Axes:
    """The Axes given, or new ones in a figure that has room for so many lines."""
    if ax is not None:
        return ax
    with needs("plot", "drawing figures"):
        from matplotlib import pyplot
    size = None if lines is None else (WIDTH, min(FRAME_HEIGHT + LINE_HEIGHT * max(lines, 3), 40.0))
    made: Axes = pyplot.figure(figsize=size, layout="constrained").add_subplot()
    return made


def plain(name: str) -> str:
    """A name as matplotlib shows it letter by letter: a dollar sign would start a formula."""
    return printable(name).replace("$", r"\$")


def short(name: str, longest: int = LONGEST) -> str:
    """A name that leaves room for the figure; its beginning and its end stay."""
    return plain(name if len(name) <= longest else f"{name[: longest - 10]}…{name[-9:]}")


def short_names(names: Sequence[str], longest: int = LONGEST) -> list[str]:
    """The same of several; names that would look alike begin at the word in which they differ.

    >>> short_names(["mean brightness of pixel 12 of a picture", "mean brightness of pixel 34 of a picture", "age"], 20)
    ['…12 of a picture', '…34 of a picture', 'age']
    """
    found = [short(name, longest) for name in names]
    for same in {one for one in found if found.count(one) > 1}:
        alike = [k for k, one in enumerate(found) if one == same]
        begin = commonprefix([names[k] for k in alike]).rfind(" ") + 1  # noqa: RUF071  letters, not folders
        for k in alike:
            told = f"…{names[k][begin:]}"
            found[k] = plain(told if len(told) <= longest else f"{told[: longest - 1]}…")
    return found


def line_names(names: Sequence[str]) -> list[str]:
    """Names for lines of a figure, in two lines where they are long; of longer ones the beginning and the end, as words.

    >>> line_names(["age", "mean balance of the current account", "payments that were late in the last 24 months of the loan"])
    ['age', 'mean balance of the current\\naccount', 'payments that were late in…\\n…last 24 months of the loan']
    """
    found = [_in_two_lines(name) for name in names]
    return found if len(set(found)) == len(set(names)) else short_names(names)


def _in_two_lines(name: str) -> str:
    lines = textwrap.wrap(printable(name), LONGEST) or [""]
    if len(lines) > 2:
        end = textwrap.wrap(printable(name)[::-1], LONGEST - 1)[0][::-1]
        lines = [f"{textwrap.wrap(printable(name), LONGEST - 1)[0]}…", f"…{end}"]
    return "\n".join(map(plain, lines))


def signed(value: float) -> str:
    """A number with its sign, for the end of a bar."""
    return ("+" * bool(value > 0) + round_off(value, 3)).replace("-", "−")


def finish(ax: Axes, title: str, below: str = "") -> Axes:
    """The title, which may be a sentence of some lines, and no frame where nothing is read off. Title and label fit into what
    the names of lines leave of the figure's width."""
    share = ax.get_position().width / ALONE * figure_of(ax).get_figwidth() / WIDTH
    beside = max((_letters_beside(label.get_text()) for label in ax.get_yticklabels()), default=0)
    wide = max(round(TITLE * share) - beside, TITLE // 3)
    colours = look(ax)
    ax.set_xlabel("\n".join(part for line in ax.get_xlabel().split("\n") for part in textwrap.wrap(line, wide) or [""]))
    lines = [line for text in (title, below) for line in textwrap.wrap(plain(text), wide)]
    ax.set_title("\n".join(lines), loc="left", fontsize="medium", color=colours.ink)
    ax.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(colours.soft)
    ax.tick_params(colors=colours.ink, which="both")
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_color(colours.ink)
    return ax


def _letters_beside(label: str) -> int:
    """Letters by which a name of a line shortens the title above; those of a short one have room in the margin."""
    return max(max(map(len, label.split("\n"))) - 4, 0)


def name_lines(ax: Axes, names: list[str]) -> None:
    """One name per line, from the top down, without ticks."""
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    write_names(ax)


def write_names(ax: Axes) -> None:
    """Names of lines have no ticks, and are smaller where one takes two lines."""
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    if any("\n" in label.get_text() for label in ax.get_yticklabels()):
        ax.tick_params(axis="y", labelsize="small")
        for label in ax.get_yticklabels():
            label.set_linespacing(0.95)


def fold_numbers(ax: Axes) -> None:
    """Very large and very small numbers of an axis share one power of ten, which its label names; long ones below it are few.
    Called last."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, ScalarFormatter

    for axis, ends in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        largest = max(map(abs, ends))
        if axis is ax.xaxis and largest >= LONG_NUMBER and isinstance(axis.get_major_formatter(), ScalarFormatter):
            axis.set_major_locator(MaxNLocator(4))
        if not isinstance(axis.get_major_formatter(), ScalarFormatter) or 1e-3 <= largest < 1e6 or largest == 0:
            continue
        power = floor(log10(largest))
        axis.set_major_formatter(FuncFormatter(lambda x, _, unit=10.0**power: round_off(x / unit, 4)))
        first, *rest = axis.get_label_text().split("\n")
        axis.set_label_text("\n".join([f"{first} (in units of 10{str(power).translate(RAISED)})", *rest]))


def value_colours(dark: bool) -> LinearSegmentedColormap:
    """From low to high values of a column; other hues than those of credit, which say up and down."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("values", [css(stop) for stop in VALUES["dark" if dark else "light"]])


def signed_colours(colours: Look) -> LinearSegmentedColormap:
    """From what lowers over the paper's own colour to what raises."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("signed", [colours.down, colours.paper, colours.up])


def size_colours(colours: Look) -> LinearSegmentedColormap:
    """From the paper's own colour to the one of numbers without a direction."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("sizes", [colours.paper, colours.size])


def colour_bar(
    ax: Axes, scale: ScalarMappable, label: str, ticks: list[tuple[float, str]] | None = None, **where: float
) -> Axes:
    """A narrow colour bar beside the Axes, with its label and, where the numbers mean nothing by themselves, words as ticks."""
    bar = figure_of(ax).colorbar(scale, ax=ax, aspect=40, pad=0.02)
    colours = look(ax)
    bar.set_label(plain(label), color=colours.ink, fontsize="small")
    bar.outline.set_visible(False)  # type: ignore[operator]
    if ticks is not None:
        bar.set_ticks([at for at, _ in ticks], labels=[text for _, text in ticks])
    bar.ax.tick_params(length=0, labelsize="small", colors=colours.ink)
    made: Axes = bar.ax
    fold_numbers(made)
    return made


def lay_out(ax: Axes) -> None:
    """Let the figure place its parts, so that texts can be measured."""
    figure_of(ax).draw_without_rendering()


def width_of(text: Text) -> float:
    """The width of a text in pixels; its figure has been laid out."""
    return float(text.get_window_extent().width)


def make_room(ax: Axes, texts: Sequence[Text], low: float, high: float) -> None:
    """Widen the horizontal axis until the texts lie inside the Axes; each keeps its place in the data and its size. The figure,
    which takes most of the time to lay out, is laid out once: numbers below an axis do not move its ends."""
    span = (high - low) or abs(high) or 1.0
    ax.set_xlim(low - 0.02 * span, high + 0.02 * span)
    lay_out(ax)
    frame = ax.get_window_extent()
    for _ in range(6):
        left = max((frame.x0 - text.get_window_extent().x0 for text in texts), default=0.0)
        right = max((text.get_window_extent().x1 - frame.x1 for text in texts), default=0.0)
        if left <= 0 and right <= 0:
            return
        a, b = ax.get_xlim()
        scale = (b - a) / max(frame.width - max(left, 0) - max(right, 0), 0.3 * frame.width)
        ax.set_xlim(a - (max(left, 0) + 3) * scale, b + (max(right, 0) + 3) * scale)
