"""Methods and their results in a few words."""

from __future__ import annotations

from accredit.core import Attribution, Holds
from accredit.core.plain import rounded

ALL = 2e-3  # share of the whole that may be missing from what is called all of it
INITIALS = {"agf": "attention × gradient", "gf": "gradient", "af": "attention"}


def title(method: str) -> str:
    """A method's name for people.

    >>> title("leave-one-out"), title("flow-l2:agf")
    ('Leave one out', 'Flow l2 (attention × gradient)')
    """
    name, _, tensor = method.partition(":")
    shown = (name[:1].upper() + name[1:]).replace("-", " ")
    return f"{shown} ({INITIALS.get(tensor, tensor)})" if tensor else shown


def in_words(result: Attribution) -> str:
    """What the numbers are, and whether they add up.

    >>> in_words(Attribution(("a", "b"), [6, 4], total=10, method="by hand"))
    'all 10 shared out'
    """
    if result.total is None or result.unshared is None:
        return "scores: they rank, they share nothing"
    credited, total = (rounded(x, 3).replace("-", "−") for x in (float(result.credit.sum()), result.total))
    if result.claim("efficiency").holds is Holds.NO:
        return f"adds up to {credited}; {total} was there to share"
    if abs(result.unshared) <= ALL * max(abs(result.total), float(abs(result.credit).sum())):
        return f"all {total} shared out"
    return f"{credited} of {total} shared out"


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(0.0002), duration(0.254), duration(75.3)
    ('< 0.01 s', '0.25 s', '75 s')
    """
    return "< 0.01 s" if seconds < 0.005 else f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
