"""How numbers are written in every view: significant digits, a true minus, one form of percentages and of ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, log10

from accredit.checks.json_data import round_off
from accredit.core import Attribution, Estimate, Known

NOISE = 1e-11  # of what there was to share: a smaller credit reads 0 and gets no bar
ROUNDING = 1e-6  # of the largest number beside it: what is smaller reads 0
BRIEF = 3  # digits beside a drawing; a number that stands alone has the four of `rounded`


def brief(value: float, signed: bool = True) -> str:
    """A number beside its drawing, with its sign if the sign means something.

    >>> brief(0.51234), brief(-2.0), brief(0.0), brief(0.51234, signed=False)
    ('+0.512', '−2', '0', '0.512')
    """
    return ("+" if signed and value > 0 else "") + round_off(value, BRIEF)


def credit_number(value: float, largest: float) -> str:
    """A credit to be read down a column; what is nothing beside the largest is written as 0.

    >>> credit_number(1.2406, 2.0), credit_number(-3e-9, 2.0), credit_number(2e-5, 4e-5)
    ('+1.241', '0.000', '+2e-05')
    """
    if abs(value) <= largest * ROUNDING:
        value = 0.0
    return fix(value, 3, signed=True) if 0.01 <= largest < 1e4 else brief(value)


def column(values: Sequence[float], signed: bool = False, digits: int = 4, beside: Sequence[float] = ()) -> list[str]:
    """Numbers that stand below one another, all with the decimals that the largest needs for so many digits, or with fewer
    where all of them end in zeros. A number that would read 0 and is more than rounding keeps digits of its own. What stands
    `beside` them and is added to them has the same decimals.

    >>> column([1.25, 1.2, -0.5, 2e-05, 1e-17]), column([60, -20], signed=True), column([0.5], beside=[12.25])
    (['1.25', '1.20', '−0.50', '2e-05', '0.00'], ['+60', '−20'], ['0.50'])
    """
    every = [*values, *beside]
    largest = max(map(abs, every), default=0.0)
    values = [x if abs(x) > largest * ROUNDING else 0.0 for x in values]
    if not 1e-4 <= largest < 1e7:
        return [brief(x, signed) for x in values]
    decimals = max(0, digits - 1 - floor(log10(largest)))
    written = [f"{x:.{decimals}f}" for x in every]
    decimals -= min(len(text) - len(text.rstrip("0")) for text in written) if decimals else 0
    texts = [fix(x, max(decimals, 0), signed) for x in values]
    return [text if x == 0 or text.strip("0.") else brief(x, signed) for x, text in zip(values, texts, strict=True)]


def part_of(part: float, whole: float) -> tuple[str, str]:
    """Two numbers that a sentence compares: three digits of each, with the decimals of the one that has more. What is whole
    in the other sense stays so.

    >>> part_of(1.9, 1.95), part_of(38.333, 100), part_of(0.0152, 0.58), part_of(2e-9, 1.5)
    (('1.90', '1.95'), ('38.3', '100'), ('0.0152', '0.5800'), ('2e-09', '1.5'))
    """
    texts = round_off(part, BRIEF), round_off(whole, BRIEF)
    if whole == round(whole) or any("e" in text for text in texts):
        return texts
    decimals = max(len(text.partition(".")[2]) for text in texts)
    return fix(part, decimals), fix(whole, decimals)


def rounding(result: Attribution) -> float:
    """What rounding may have moved: credit below it is drawn as none. Scores have no unit to measure it in."""
    return 0.0 if result.total is None else result.rounding


def unnoticed(result: Attribution) -> float:
    """Credit up to which nothing stands out: no leader is named, and colours stay pale. None where scores have no unit."""
    return 10 * rounding(result)


def fix(value: float, decimals: int, signed: bool = False) -> str:
    """A number among others of the same decimals, so that a column can be read down; zero has no sign.

    >>> fix(0.5, 2), fix(-0.5, 2, signed=True), fix(-0.001, 2, signed=True)
    ('0.50', '−0.50', '0.00')
    """
    text = f"{value:{'+' * signed}.{decimals}f}"
    return text.replace("-", "−") if text.strip("+-0.") else text.strip("+-")


def percent(share: float, decimals: int = 0) -> str:
    """A share for people.

    >>> percent(0.931, 1), percent(0.95)
    ('93.1%', '95%')
    """
    return f"{fix(100 * share, decimals)}%"


def chance_words(p: float) -> str:
    """A probability; what is nearly certain is not written as certain.

    >>> chance_words(0.874), chance_words(0.9996), chance_words(1e-9)
    ('87.4%', '99.96%', 'below 0.01%')
    """
    edge = min(p, 1 - p)
    return percent(p, 1 if edge > 0.001 else 2) if edge >= 5e-5 else "above 99.99%" if p > 0.5 else "below 0.01%"


def between(low: float, high: float, digits: int = 4) -> str:
    """A range, whose ends share their decimals.

    >>> between(-0.5, 0.25), between(0, 1)
    ('−0.50 … 0.25', '0 … 1')
    """
    return " … ".join(column([low, high], digits=digits))


def ranges(low: Sequence[float], high: Sequence[float]) -> list[str]:
    """Ranges that stand below one another: all ends share their decimals.

    >>> ranges([7.707, 18.19], [8.865, 23.4])
    ['7.71 … 8.87', '18.19 … 23.40']
    """
    ends = column([*low, *high])
    return [f"{a} … {b}" for a, b in zip(ends[: len(low)], ends[len(low) :], strict=True)]


def estimate(number: Estimate, write: Callable[[float], str], unit: str = "") -> str:
    """A number and how well it is known, in one cell; an exact one stands alone.

    >>> estimate(Estimate(0.5, 0.41, 0.6), lambda x: fix(x, 2))
    '0.50 (0.41 … 0.60)'
    >>> estimate(Estimate.exact(-3), brief, " points"), estimate(Estimate.unknown(1, "one row"), brief)
    ('−3 points', '+1 (no interval)')
    """
    said = write(number.value) + unit
    if number.precision.known is Known.EXACT:
        return said
    known = number.low is not None and number.high is not None
    return f"{said} ({' … '.join(write(end) for end in number.ends) if known else 'no interval'})"
