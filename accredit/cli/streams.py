"""The streams of the command: whatever they can encode, whoever has closed them, however narrow they are."""

from __future__ import annotations

import codecs
import os
import re
import sys
import unicodedata
from contextlib import suppress
from shutil import get_terminal_size
from typing import TextIO

LIKE = {  # characters that the command prints, and what says the same in ASCII
    "█": "#",
    "░": ".",
    "■": "#",
    "·": ".",
    "…": "...",
    "−": "-",
    "–": "-",
    "—": "-",
    "±": "+-",
    "×": "x",
    "✓": "+",
    "✗": "x",
    "→": "->",
    "←": "<-",
    "≥": ">=",
    "≤": "<=",
    "≈": "~",
    "∅": "{}",
    "∞": "inf",
    "’": "'",
    "‘": "'",
    "“": '"',
    "”": '"',
    "µ": "u",
    "Σ": "sum",
    "φ": "phi",
    "α": "alpha",
    "β": "beta",
    "ε": "epsilon",
}


def open_streams() -> None:
    """Make standard output and standard error take any text, and be there even if they were closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  for the rest of the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="accredit")
    for name in ("stdout", "stderr"):
        if getattr(sys, name).isatty():
            setattr(sys, name, Folding(getattr(sys, name)))


def leave_closed_pipe() -> None:
    """Nobody reads any more: what is still to be written goes nowhere, so that the end of the process is quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # it is not a file
            os.dup2(nowhere, stream.fileno())


def in_its_place(error: UnicodeError) -> tuple[str, int]:
    r"""What stands for characters that a stream cannot encode: a likeness in ASCII; in JSON, an escape that reads the same.

    >>> "{−é█😀}".encode("latin-1", "accredit"), "a −1 … 😀".encode("ascii", "accredit")
    (b'{\\u2212\xe9\\u2588\\ud83d\\ude00}', b'a -1 ... ?')
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    part = error.object[error.start : error.end]
    if error.object.lstrip()[:1] in ("{", "["):
        return "".join(f"\\u{unit:04x}" for c in part for unit in _units(c)), error.end
    return "".join(_like(c) for c in part), error.end


def _units(character: str) -> list[int]:
    """One character in UTF-16, as JSON writes escapes."""
    raw = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(raw[i : i + 2], "big") for i in range(0, len(raw), 2)]


def _like(character: str) -> str:
    if character in LIKE:
        return LIKE[character]
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return plain or "?"


class Folding:
    """A terminal on which long lines are folded between words, further lines set in; lines in colours are left alone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        cells = get_terminal_size().columns
        self._stream.write("\n".join(fold(line, cells) for line in text.split("\n")))
        return len(text)


def fold(line: str, cells: int) -> str:
    """A line in as many as it takes.

    >>> print(fold("alice        6  a bar that is long", 20))
    alice        6  a
      bar that is long
    """
    if len(line) <= cells // 2 or "\x1b" in line or cells < 4:  # no character takes more than two cells
        return line
    from accredit.views.language.printable import width

    if width(line) <= cells:
        return line
    lines, here, used = [], "", 0
    for word in re.findall(r"\s*\S+|\s+$", line):
        for piece in _pieces(word, cells - 2):
            taken = width(piece)
            if here and used + taken > cells:
                lines.append(here.rstrip())
                piece = f"  {piece.lstrip()}"
                here, used = piece, width(piece)
            else:
                here, used = here + piece, used + taken
    return "\n".join([*lines, here])


def _pieces(word: str, cells: int) -> list[str]:
    """A word that is longer than the terminal is wide, cut; spaces before it are cut off first."""
    if len(word) <= cells // 2:
        return [word]
    from accredit.views.language.printable import width

    if width(word) <= cells:
        return [word]
    blank = len(word) - len(word.lstrip())
    step = max(1, cells // 2)
    return [word[: min(blank, cells)], *(word[i : i + step] for i in range(blank, len(word), step))]


codecs.register_error("accredit", in_its_place)
