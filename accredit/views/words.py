"""Methods and their results in a few words."""

from __future__ import annotations

from accredit.core import Attribution, Holds
from accredit.core.plain import rounded

INITIALS = {"agf": "attention × gradient", "gf": "gradient", "af": "attention"}


def title(method: str) -> str:
    """A method's name for people.

    >>> title("leave-one-out"), title("flow-l2:agf")
    ('Leave-one-out', 'Flow-l2 (attention × gradient)')
    """
    name, _, tensor = method.partition(":")
    shown = name[:1].upper() + name[1:]
    return f"{shown} ({INITIALS.get(tensor, tensor)})" if tensor else shown


def in_words(result: Attribution) -> str:
    """What the numbers are, and whether they add up.

    >>> in_words(Attribution(("a", "b"), [6, 4], total=10, method="by hand"))
    'credits 10 of 10'
    """
    if result.total is None:
        return "scores: they rank, they share nothing"
    credited, total = (rounded(x, 3).replace("-", "−") for x in (float(result.credit.sum()), result.total))
    if result.claim("efficiency").holds is Holds.NO:
        return f"credits add up to {credited}, not to {total}"
    return f"credits {credited} of {total}"
