"""A name that was probably meant, where one is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

CUTOFF = 0.6  # of difflib's ratio: a name that is less alike was not meant
LOOKED_AT = 200  # characters: a ratio costs their square


def nearest(given: object, known: Iterable[str], cutoff: float = CUTOFF) -> str | None:
    """The known name that was probably meant; None where no name is near.

    >>> nearest("shapely", ["banzhaf", "shapley"]), nearest("price", ["review", "mood"])
    ('shapley', None)
    """
    near = get_close_matches(str(given)[:LOOKED_AT], known, n=1, cutoff=cutoff)
    return near[0] if near else None


def did_you_mean(given: object, known: Iterable[str], cutoff: float = CUTOFF, before: str = "") -> str:
    """The end of a message: a question, or nothing where no known name is near. `before` is written before the name.

    >>> did_you_mean("mod", ["review", "mood"]), did_you_mean("price", ["review", "mood"])
    ("; did you mean 'mood'?", '')
    """
    near = nearest(given, known, cutoff)
    return f"; did you mean {before + near!r}?" if near else ""


def singular(name: str, units: Iterable[str]) -> str:
    """A unit without the s of its plural; other names as they are.

    >>> singular("words", ("word", "token")), singular("word", ("word", "token")), singular("segments", ("word", "token"))
    ('word', 'word', 'segments')
    """
    return name[:-1] if name.endswith("s") and name[:-1] in units else name
