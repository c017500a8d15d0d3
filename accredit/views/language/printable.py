"""What a terminal can safely print, in how many cells, and the beginning of what is longer."""

from __future__ import annotations

import unicodedata

JOINERS = "\u200c\u200d"


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


def excerpt(text: str, characters: int) -> str:
    """The beginning of a text, safe for a terminal."""
    plain = printable(text)
    return plain if len(plain) <= characters else plain[: characters - 1] + "…"
