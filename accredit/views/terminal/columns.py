"""Aligned columns of text, and what a terminal can safely print."""

from __future__ import annotations

from collections.abc import Sequence

from accredit.views.language.printable import width

BAR = 12  # cells of the longest bar


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
