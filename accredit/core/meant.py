"""A name that was probably meant, where one is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(given: object, known: Iterable[str], cutoff: float = 0.6, before: str = "") -> str:
    """The end of a message: a question, or nothing where no known name is near. `before` is written before the name.

    >>> did_you_mean("mod", ["review", "mood"]), did_you_mean("price", ["review", "mood"])
    ("; did you mean 'mood'?", '')
    """
    near = get_close_matches(str(given)[:200], known, n=1, cutoff=cutoff)
    return f"; did you mean {before + near[0]!r}?" if near else ""


def singular(name: str, units: Iterable[str]) -> str:
    """A unit without the s of its plural; other names as they are.

    >>> singular("words", ("word", "token")), singular("word", ("word", "token")), singular("segments", ("word", "token"))
    ('word', 'word', 'segments')
    """
    return name[:-1] if name.endswith("s") and name[:-1] in units else name
