"""How numbers are written in every view: significant digits, a true minus, one form of percentages and of ranges."""

from __future__ import annotations

from accredit.core import Attribution
from accredit.core.plain import rounded

ROUNDING = 1e-6  # relative
BRIEF = 3  # digits beside a drawing; a number that stands alone has the four of `rounded`


def brief(value: float, signed: bool = True) -> str:
    """A number beside its drawing, with its sign if the sign means something.

    >>> brief(0.51234), brief(-2.0), brief(0.0), brief(0.51234, signed=False)
    ('+0.512', '−2', '0', '0.512')
    """
    return ("+" if signed and value > 0 else "") + rounded(value, BRIEF)


def credit_number(value: float, largest: float) -> str:
    """A credit to be read down a column; what is nothing beside the largest is written as 0.

    >>> credit_number(1.2406, 2.0), credit_number(-3e-9, 2.0), credit_number(2e-5, 4e-5)
    ('+1.241', '0.000', '+2e-05')
    """
    if abs(value) <= largest * ROUNDING:
        value = 0.0
    return fixed(value, 3, signed=True) if 0.01 <= largest < 1e4 else brief(value)


def rounding(result: Attribution) -> float:
    """What payoffs of this size may differ by in single precision: credit below it is drawn as none."""
    ends = (result.baseline or 0.0, (result.baseline or 0.0) + (result.total or 0.0))
    return 0.0 if result.total is None else ROUNDING * max(1.0, *map(abs, ends))


def fixed(value: float, decimals: int, signed: bool = False) -> str:
    """A number among others of the same decimals, so that a column can be read down; zero has no sign.

    >>> fixed(0.5, 2), fixed(-0.5, 2, signed=True), fixed(-0.001, 2, signed=True)
    ('0.50', '−0.50', '0.00')
    """
    text = f"{value:{'+' * signed}.{decimals}f}"
    return text.replace("-", "−") if text.strip("+-0.") else text.strip("+-")


def percent(share: float, decimals: int = 0) -> str:
    """A share for people.

    >>> percent(0.931, 1), percent(0.95)
    ('93.1%', '95%')
    """
    return f"{fixed(100 * share, decimals)}%"


def between(low: float, high: float, digits: int = 4) -> str:
    """A range.

    >>> between(-0.5, 0.25)
    '−0.5 … 0.25'
    """
    return f"{rounded(low, digits)} … {rounded(high, digits)}"
