"""One screen of a terminal: the answer first, then the picture and the tables; what else is known, on request.

A command prints one screen of 24 lines and says how many more there are; with `--more`, and from Python, everything is there.
No line of prose is wider than 80 cells.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from accredit.views.language.printable import printable, short, width

LINES, WIDTH = 24, 80
COLOUR = re.compile("\x1b\\[[0-9;]*m")
PAINTED_WORD = re.compile("(?:\x1b\\[[0-9;]*m|[^\\s\x1b])+|\\s+")
FEWEST_OF_BODY = 8  # lines of a body that many warnings leave
ROWS_OF_A_SCREEN = 10  # of a table that has other lines around it


def fold(words: str, indent: str = "", after: str = "") -> list[str]:
    """Prose as lines that fit; what a terminal cannot print is escaped.

    >>> fold("one two three four " * 6, after="  ")[1]
    '  two three four one two three four'
    """
    return textwrap.wrap(
        printable(words),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + after,
        break_on_hyphens=False,
    ) or [""]


def fold_all(lines: Iterable[str], after: str = "  ") -> list[str]:
    """Every line folded."""
    return [part for line in lines for part in fold(line, after=after)]


def fold_painted(words: str) -> list[str]:
    r"""The same for a line that may hold colours, which take no room.

    >>> fold_painted("one " * 21)[1], len(fold_painted("\x1b[7mone\x1b[0m " * 20))
    ('one ', 1)
    """
    lines, room = [""], WIDTH
    for word in PAINTED_WORD.findall(words):
        cells = width(COLOUR.sub("", word))
        if cells > room and room < WIDTH:
            if word.isspace():
                continue
            lines[-1] = lines[-1].rstrip()
            lines.append("")
            room = WIDTH
        lines[-1] += word
        room -= cells
    return lines


def clip(lines: Iterable[str]) -> list[str]:
    """Lines of a table, each cut where the screen ends."""
    return [line if width(line) <= WIDTH else short(line, WIDTH) for line in lines]


def screen(
    answer: str, body: Sequence[str], details: Sequence[str] = (), more: bool = True, warnings: Sequence[str] = ()
) -> str:
    """The answer, then the body; details are told on request, warnings always. However many, they leave the body some lines.

    >>> print(screen("It rains.", ["drop"] * 30, ["seen from a window"], more=False).splitlines()[-1])
    … 9 more lines: --more
    """
    head, warned = fold(answer), fold_all(warnings)
    if more:
        return "\n".join([*head, *body, *warned, *fold_all(details)])
    told = len(fold_all(details))
    room = max(LINES - len(head) - len(warned), FEWEST_OF_BODY + 1)
    if told or len(body) > room:
        room -= 1
    kept = list(body[:room])
    while kept and not kept[-1].strip():
        kept.pop()
    hidden = sum(1 for line in body[len(kept) :] if line.strip()) + told
    return "\n".join([*head, *kept, *warned, *[f"… {hidden} more line{'s' * (hidden != 1)}: --more"] * bool(hidden)])
