"""The bar over a token: up raises, down lowers, a thin line is the interval.

A bar is a box whose place and height are classes of the style sheet, in steps of the drawing's height. A box is much cheaper to
lay out and paint than a drawing of its own, and a text has hundreds.
"""

from __future__ import annotations

from accredit.views.parts import hue

STEPS = 48  # the drawing is about as many pixels high


def sky(credit: float, interval: tuple[float, float], reach: tuple[float, float], signed: bool) -> tuple[str, str]:
    """The classes of one credit's bar and of its whisker, in a drawing that reaches from `reach[0]` up to `reach[1]`; zero lies
    at one height for all. Without an interval there is no whisker.

    >>> sky(0.5, (0.5, 0.5), (-1.0, 1.0), True)
    ('bar up y12 h12', '')
    """
    zero, end, low, high = (_step(value, reach) for value in (0.0, credit, *interval))
    top, bottom = sorted((zero, end))
    whisker = f"whisker y{high} h{max(low - high, 1)}" if interval[1] > interval[0] else ""
    return f"bar {hue(credit, signed)} y{top} h{bottom - top}", whisker


def sky_rules() -> str:
    """The style of every place and height, counted from the top."""
    return "".join(
        f".accredit .y{k}{{top:calc(var(--sky)*{k / STEPS:.3g})}}.accredit .h{k}{{height:calc(var(--sky)*{k / STEPS:.3g})}}"
        for k in range(STEPS + 1)
    )


def _step(value: float, reach: tuple[float, float]) -> int:
    low, high = reach
    return round(STEPS * (high - value) / ((high - low) or 1.0))
