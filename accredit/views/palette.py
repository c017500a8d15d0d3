"""Signed colours: blue for credit that raises the output, orange for credit that lowers it.

Blue and orange stay apart for every common kind of colour blindness; white means zero.
"""

from __future__ import annotations

POSITIVE = (33, 102, 172)
NEGATIVE = (200, 90, 10)


def shade(value: float, largest: float) -> tuple[tuple[int, int, int], bool]:
    """The background of a value in [−largest, largest], and whether text on it must be white.

    >>> shade(0.0, 1.0)
    ((255, 255, 255), False)
    """
    strength = min(1.0, abs(value) / largest) if largest > 0 else 0.0
    colour = POSITIVE if value >= 0 else NEGATIVE
    red, green, blue = (round(255 - strength * (255 - c)) for c in colour)
    return (red, green, blue), strength > 0.62


def css(colour: tuple[int, int, int]) -> str:
    """A colour for a style attribute."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
