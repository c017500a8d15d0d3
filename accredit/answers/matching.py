"""When a reply says an answer: the same words, whatever their case and punctuation, or a rule of the user's own."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from accredit.checks.numbers import shown
from accredit.errors import BadPayoff, InvalidInput

Match = str | Callable[[str, str], object]
MATCHES = ("contains", "equal")
_NOT_WORDS = re.compile(r"[^\w]+", re.UNICODE)


def check_match(match: object) -> None:
    if not callable(match) and not (isinstance(match, str) and match in MATCHES):
        raise InvalidInput(
            f"match is {shown(match)}; write 'contains', 'equal', or give a function of (reply, answer)",
            argument="match",
            code="unknown",
        )


def says(reply: str, answer: str, match: Match) -> bool:
    """Whether a reply says the answer.

    >>> says("Anna lives in Rome.", "rome", "contains"), says("Romeo!", "Rome", "contains"), says(" ROME. ", "Rome", "equal")
    (True, False, True)
    """
    if isinstance(match, str):
        mine, theirs = _words(answer), _words(reply)
        return mine == theirs if match == "equal" else f" {mine} " in f" {theirs} "
    found = match(reply, answer)
    if found not in (True, False):
        raise BadPayoff(f"match returned {shown(found)} for {reply!r:.40}; return True or False", argument="match", code="type")
    return bool(found)


def _words(text: str) -> str:
    """Words in lower case with one space between them; a text of signs only stays as it is."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _NOT_WORDS.sub(" ", plain).strip() or " ".join(plain.split())
