"""Signed colours: blue for credit that raises the output, orange for credit that lowers it.

Blue and orange stay apart for every common kind of colour blindness; the paper's own colour means zero. On a page a value is
one of twelve levels, so that colours are classes of the style sheet and no element carries a style of its own. Numbers that
have a size but no direction (attention, flow, saliency) are grey: they do not say what raises or lowers the output.
"""

from __future__ import annotations

Colour = tuple[int, int, int]

POSITIVE: Colour = (33, 102, 172)
NEGATIVE: Colour = (200, 90, 10)
LEVELS = 12
UNSIGNED: Colour = (82, 90, 108)
THEMES: dict[str, tuple[Colour, dict[str, Colour]]] = {  # paper; hues by the letter of their levels
    "light": ((255, 255, 255), {"u": POSITIVE, "d": NEGATIVE, "n": UNSIGNED}),
    "dark": ((24, 26, 31), {"u": (110, 176, 240), "d": (244, 150, 70), "n": (176, 184, 200)}),
}
VALUES: dict[
    str, tuple[Colour, ...]
] = {  # low to high values of a column: hues that do not mean up or down, ever further from the paper
    "light": ((112, 204, 184), (104, 134, 204), (104, 28, 124)),
    "dark": ((44, 106, 104), (124, 148, 222), (240, 190, 250)),
}
VALUE_STEPS = 8  # of them on a page
OF_KINDS: tuple[Colour, ...] = (  # classes or cohorts beside one another
    (33, 102, 172), (200, 90, 10), (26, 140, 120), (140, 60, 150), (196, 160, 20),
    (110, 170, 225), (170, 40, 60), (90, 110, 40), (230, 150, 190), (110, 85, 70),
)  # fmt: skip
DARK_INK: Colour = (10, 11, 14)
LIGHT_INK: Colour = (255, 255, 255)


def strength(value: float, largest: float) -> float:
    """|value| as a share of the largest, in [0, 1]; nothing is strong where everything is zero."""
    return min(1.0, abs(value) / largest) if largest > 0 else 0.0


def shade(value: float, largest: float, theme: str = "light", signed: bool = True) -> tuple[Colour, bool]:
    """The background of a value in [−largest, largest], and whether text on it must be white.

    >>> shade(0.0, 1.0)
    ((255, 255, 255), False)
    """
    paper, hues = THEMES[theme]
    share = strength(value, largest)
    hue = hues[_letter(value, signed)]
    red, green, blue = (round(p + share * (h - p)) for p, h in zip(paper, hue, strict=True))
    colour = (red, green, blue)
    return colour, contrast(colour, LIGHT_INK) > contrast(colour, DARK_INK)


def level(value: float, largest: float, signed: bool = True) -> str:
    """The class of a value: u1…u12 when it raises the output, d1…d12 when it lowers it, n1…n12 when it has no direction, z
    when it is too small to show.

    >>> level(0.5, 1.0), level(-1.0, 1.0), level(0.5, 1.0, signed=False), level(0.0, 1.0)
    ('u6', 'd12', 'n6', 'z')
    """
    step = round(LEVELS * strength(value, largest))
    return f"{_letter(value, signed)}{step}" if step else "z"


def _letter(value: float, signed: bool) -> str:
    return "n" if not signed else "u" if value >= 0 else "d"


def level_rules(theme: str) -> str:
    """The style of every level: a background for text, the same as fill for drawings."""
    rules = []
    for letter, value in (("u", 1), ("d", -1), ("n", 1)):
        for step in range(1, LEVELS + 1):
            colour, white = shade(value * step, LEVELS, theme, signed=letter != "n")
            ink = css(LIGHT_INK if white else DARK_INK)
            rules.append(f".accredit .{letter}{step}{{background:{css(colour)};fill:{css(colour)};color:{ink}}}")
    return "".join(rules)


def value_rules(theme: str) -> str:
    """The style of low to high values of a column: v1…v8 as points of a drawing and as boxes of its colour bar."""
    every = ",".join(f".v{step + 1}" for step in range(VALUE_STEPS))
    rules = [f".accredit :is({every}){{stroke:var(--v);background:var(--v)}}"]
    for step in range(VALUE_STEPS):
        rules.append(f".accredit .v{step + 1}{{--v:{css(between_stops(VALUES[theme], step / (VALUE_STEPS - 1)))}}}")
    return "".join(rules)


def between_stops(stops: tuple[Colour, ...], share: float) -> Colour:
    """A colour on the way through some stops, from 0 to 1.

    >>> between_stops(((0, 0, 0), (100, 100, 100), (200, 0, 0)), 0.75)
    (150, 50, 50)
    """
    at = min(max(share, 0.0), 1.0) * (len(stops) - 1)
    k = min(int(at), len(stops) - 2)
    red, green, blue = (round(a + (at - k) * (b - a)) for a, b in zip(stops[k], stops[k + 1], strict=True))
    return red, green, blue


def contrast(one: Colour, other: Colour) -> float:
    """Contrast of two colours as WCAG 2 defines it, from 1 (equal) to 21 (black on white).

    >>> round(contrast((0, 0, 0), (255, 255, 255)))
    21
    """
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Colour) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (x / 255 for x in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def css(colour: Colour) -> str:
    """A colour for a style sheet."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
