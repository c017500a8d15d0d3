"""Bytes as text: UTF-8, UTF-16, or a code page of Windows where every likely one reads the same; else it must be named."""

from __future__ import annotations

import codecs
import re
import unicodedata
from itertools import pairwise

from accredit.errors import InvalidInput

PAGES = ("cp1252", "cp1250", "cp1254", "cp1257")  # Latin letters: Western, Central European, Turkish, Baltic
UNLIKELY = frozenset("ŠŒŽšœžŸƒˆ˜")  # letters of other systems are at these places: "Kšln" is Köln, written on an old Mac
WORD = re.compile(r"[^\W\d_]+")
ODD_MARK = re.compile(r"[a-z][„‚†‡…‰‹›“”•™¢£¤¥¦©«¬®±»][a-z]|[a-z][„‚]", re.IGNORECASE)  # "K”ln" is Köln, written under DOS


def decode(content: bytes, file: str, encoding: str | None = None) -> tuple[str, str]:
    """The text in these bytes, and what must be said of how they were read: nothing for UTF-8 and for what was asked.

    >>> decode("é".encode("utf-8-sig"), "a.csv"), decode("né".encode("cp1252"), "a.csv")
    (('é', ''), ('né', 'as cp1252'))
    """
    if encoding is not None:
        return _as_told(content, file, encoding), ""
    if content[:4] in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        raise InvalidInput(
            f"{file!r} is text in UTF-32; save it as UTF-8, or write encoding='utf-32'", argument="encoding", code="unreadable"
        )
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return _as_told(content, file, "utf-16"), "as UTF-16"
    if (half := nul_half(content)) is not None:
        return _as_told(content, file, ("utf-16-be", "utf-16-le")[half]), "as UTF-16"
    try:
        return content.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        return _by_code_page(content, file, error.start), f"as {PAGES[0]}"


def nul_half(content: bytes) -> int | None:
    """Which of two bytes is always NUL, as in plain letters in UTF-16 without a mark; None where neither is."""
    begins = content[:64]
    if len(begins) < 4 or not any(begins):
        return None
    return next((half for half in (0, 1) if not any(begins[half::2])), None)


def _as_told(content: bytes, file: str, encoding: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise InvalidInput(
            f"encoding is {encoding!r:.40}, which is not an encoding of text; write for example utf-8, cp1252 or utf-16",
            argument="encoding",
            code="unknown",
        ) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            f"{file!r} is not text in {encoding}: {error.reason} in line {line}; name another with encoding=…",
            argument="encoding",
            code="unreadable",
        ) from None


def _by_code_page(content: bytes, file: str, first: int) -> str:
    """Text in the code page of Western Windows, if the others agree on every byte and the words look like words."""
    used = bytes(sorted({byte for byte in content if byte >= 0x80}))
    readings = {page: read for page in PAGES if (read := _letters(used, page)) is not None}
    if PAGES[0] in readings and len(set(readings.values())) == 1:
        text = content.decode(PAGES[0])
        if _looks_western(text):
            return text
    doubtful = bytes(byte for byte in used if len({bytes([byte]).decode(page, "replace") for page in readings}) > 1)
    found = re.search(b"[" + re.escape(doubtful) + b"]", content) if doubtful else None
    first = first if found is None else found.start()  # a byte that all pages read the same tells nothing
    start = content.rfind(b"\n", 0, first) + 1
    line = content[start : start + 4096].split(b"\n")[0].rstrip()
    words: dict[str, str] = {}
    for page in readings:
        words.setdefault(_around(line, first - start, page), page)
    said = " and ".join(f"{word!r} in {page}" for word, page in words.items())
    raise InvalidInput(
        f"{file!r} is not text in UTF-8, and its code page is not certain: line {content.count(bytes([10]), 0, first) + 1} "
        f"reads {said or 'as nothing in the usual ones'}; name it, for example encoding='cp1252', or save the file as UTF-8",
        argument="encoding",
        code="ambiguous",
    )


def _letters(used: bytes, page: str) -> str | None:
    """What the bytes are in a code page; None where it has no such characters, or only accents without a letter."""
    try:
        read = used.decode(page)
    except UnicodeDecodeError:
        return None
    return None if any(unicodedata.category(each) in ("Sk", "Cc") for each in read) else read


def _around(line: bytes, place: int, page: str) -> str:
    """The word at a place of a line."""
    text = line.decode(page, "replace")
    return next((found[0] for found in re.finditer(r"[^\s,;|\"]+", text) if found.start() <= place < found.end()), text[:20])


def _looks_western(text: str) -> bool:
    """Letters with accents are part of words of plain letters, and marks are not."""
    if not UNLIKELY.isdisjoint(text) or ODD_MARK.search(text):
        return False
    for word in set(WORD.findall(text)):
        if not word.isascii() and not any(letter.isascii() for letter in word):
            return False
        if any(a.islower() and b.isupper() and not b.isascii() for a, b in pairwise(word)):
            return False
    return True
