"""Aligned columns of text, and what a terminal can safely print."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

BAR = 12  # cells of the longest bar
JOINERS = "\u200c\u200d"


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    bars: Sequence[float] | None = None,
    left: bool = False,
    full: float = 0.0,
) -> list[str]:
    """Aligned columns: the first to the left, numbers to the right (words too with `left`), a signed bar at the end; the
    longest is that of `full`, or of the largest number if that is more."""
    widths = [max(width(row[c]) for row in [header, *rows]) for c in range(len(header))]
    largest = max((abs(x) for x in (*bars, full)), default=0.0) if bars is not None else 0.0
    lines = []
    for number, row in enumerate([header, *rows]):
        pads = [" " * (w - width(cell)) for cell, w in zip(row, widths, strict=True)]
        cells = [cell + pad if left or c == 0 else pad + cell for c, (cell, pad) in enumerate(zip(row, pads, strict=True))]
        if bars is not None and number:
            cells.append(bar(bars[number - 1], largest))
        lines.append("  ".join(cells).rstrip())
    return lines


def bar(value: float, largest: float) -> str:
    """A bar of at most twelve cells; negative values are drawn hollow."""
    cells = round(BAR * abs(value) / largest) if largest else 0
    return ("█" if value > 0 else "░") * cells


def printable(name: str) -> str:
    r"""A name that cannot move the cursor, change colours or turn the reading direction. Joiners stay where scripts and emoji
    need them; beside a plain letter they would only hide.

    >>> printable("\U0001f468\u200d\U0001f469") == "\U0001f468\u200d\U0001f469", printable("a\u200db\u202e")
    (True, 'a\\u200db\\u202e')
    """
    around = zip(" " + name, name, name[1:] + " ", strict=False)
    return "".join(c if c.isprintable() or (c in JOINERS and min(a, b) > "\x7f") else f"\\u{ord(c):04x}" for a, c, b in around)


def short(name: str, cells: int) -> str:
    """A name as a terminal can print it, in at most so many cells.

    >>> short("a very long name", 8)
    'a very …'
    """
    shown = printable(name[: 5 * cells])  # marks that sit on a letter take no cell
    if width(shown) <= cells and len(name) <= 5 * cells:
        return shown
    while width(shown) >= cells:
        shown = shown[:-1]
    return f"{shown}…"


def width(cell: str) -> int:
    """Terminal cells that a string takes."""
    return sum(
        0 if unicodedata.combining(c) or c in JOINERS else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cell
    )
