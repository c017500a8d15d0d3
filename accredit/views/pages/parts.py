"""Pieces that several views share: players with what is known of them, signed bars, heat maps, credit with its intervals,
claims. docs/design.md says how each is to look, and `python -m accredit.views.pages.design` draws them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from accredit.checks.json_data import round_off
from accredit.core import Attribution, FloatArray, Interactions
from accredit.views.language.largest import Step
from accredit.views.language.numbers import column, ranges
from accredit.views.language.palette import level
from accredit.views.language.phrases import credit_word, in_words, interval_word, speak
from accredit.views.pages.engine import render

if TYPE_CHECKING:
    from markupsafe import Markup

STEP_WIDTH, STEP_HEIGHT = 260, 18  # of a step from a base value to an output, in the units of the drawing
SKY_STEPS = 48  # the drawing over a token is about as many pixels high


def bounds(result: Attribution) -> tuple[list[float], list[float]]:
    """Low and high ends of what is known about each credit: its interval, or the credit itself."""
    if result.interval is None:
        return result.credit.tolist(), result.credit.tolist()
    return result.interval[:, 0].tolist(), result.interval[:, 1].tolist()


def span(result: Attribution) -> tuple[float, float]:
    """The range that a drawing of all credits with their intervals needs; it always holds zero."""
    low, high = bounds(result)
    credit = result.credit.tolist()
    return min(0.0, *low, *credit), max(0.0, *high, *credit)


class Bar(NamedTuple):
    """A bar from zero as paths of a drawing; its whisker, where there is one, is the interval."""

    width: int
    height: int
    kind: str
    fill: str
    axis: str
    whisker: str


def bar(
    value: float,
    span: tuple[float, float],
    interval: tuple[float, float],
    width: int = 200,
    height: int = 18,
    signed: bool = True,
) -> Bar:
    """The bar of a value on the scale of `span`.

    >>> bar(1.0, (-1.0, 1.0), (1.0, 1.0), width=104, height=16).fill
    'M52.0 3h50.0v10H52.0z'
    """
    low, high = span
    scale = (width - 4) / ((high - low) or 1.0)

    def x(v: float) -> float:
        return 2 + (v - low) * scale

    left, right = sorted((x(0.0), x(value)))
    fill = f"M{left:.1f} 3h{max(right - left, 0.5):.1f}v{height - 6}H{left:.1f}z"
    whisker = ""
    if interval[1] > interval[0]:
        a, b, middle, reach = x(interval[0]), x(interval[1]), height / 2, height / 4
        ends = "".join(f"M{end:.1f} {middle - reach:g}v{2 * reach:g}" for end in (a, b))
        whisker = f"M{a:.1f} {middle:g}H{b:.1f}{ends}"
    return Bar(width, height, hue(value, signed), fill, f"M{x(0.0):.1f} 0v{height}", whisker)


def hue(value: float, signed: bool) -> str:
    """The class of a bar: what raises, what lowers, what only has a size."""
    return "size" if not signed else "up" if value >= 0 else "down"


def step_bar(step: Step, reach: tuple[float, float]) -> Bar:
    """From where to where a player moves the output, on the scale of `reach`; the thin line is where it started."""
    left, right = sorted(_across(x, reach) for x in (step.start, step.end))
    fill = f"M{left:.1f} 3h{max(right - left, 0.5):.1f}v{STEP_HEIGHT - 6}H{left:.1f}z"
    return Bar(STEP_WIDTH, STEP_HEIGHT, hue(step.credit, True), fill, f"M{_across(step.start, reach):.1f} 0v{STEP_HEIGHT}", "")


def step_mark(x: float, reach: tuple[float, float]) -> Bar:
    """A place on the scale of the steps."""
    at = _across(x, reach)
    return Bar(STEP_WIDTH, STEP_HEIGHT, "size", f"M{at - 1.5:.1f} 1h3v{STEP_HEIGHT - 2}h-3z", f"M{at:.1f} 0v{STEP_HEIGHT}", "")


def _across(x: float, reach: tuple[float, float]) -> float:
    """A number as a place between the edges of the drawing."""
    return 2 + (x - reach[0]) * (STEP_WIDTH - 4) / ((reach[1] - reach[0]) or 1.0)


# The bar over a token: a box whose place and height are classes of the style sheet, in steps of the drawing's height. A box is
# much cheaper to lay out and paint than a drawing of its own, and a text has hundreds.


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
    places = ((k, f"calc(var(--sky)*{k / SKY_STEPS:.3g})") for k in range(SKY_STEPS + 1))
    return "".join(f".accredit .y{k}{{top:{place}}}.accredit .h{k}{{height:{place}}}" for k, place in places)


def _step(value: float, reach: tuple[float, float]) -> int:
    low, high = reach
    return round(SKY_STEPS * (high - value) / ((high - low) or 1.0))


Shaded = tuple[str, str]  # a number as text, and the class of its colour


class Heat(NamedTuple):
    """A square of numbers, each on the colour of its size."""

    names: list[str]
    rows: list[tuple[str, list[Shaded]]]


def heat(names: Sequence[str], square: FloatArray, digits: int) -> Heat:
    """Numbers of every two players; the diagonal, and what is not known, stays empty."""
    rows, largest = [], float(abs(square[square == square]).max(initial=0.0))
    for i, (name, row) in enumerate(zip(names, square.tolist(), strict=True)):
        cells = [("", "") if i == j or x != x else (round_off(x, digits), level(x, largest)) for j, x in enumerate(row)]
        rows.append((name, cells))
    return Heat(list(names), rows)


class Who(NamedTuple):
    """A player's name; where they are known its label, the beginning of its text, and what else there is to say of it."""

    name: str
    label: str = ""
    text: str = ""
    facts: tuple[str, ...] = ()


def attribution_table(
    result: Attribution,
    who: Mapping[str, Who] | None = None,
    *,
    header: tuple[str, str] | None = None,
    signed: bool = True,
    sorts: bool = False,
    whole: str = "the total",
) -> Markup:
    """Credit per player with bars and, where known, intervals drawn over them; `who` says more of some players.

    `header` names players and numbers, `whole` what they may add up to. Numbers that are not `signed` have a size and no
    direction: their bars are grey.
    """
    low, high = bounds(result)
    reach, known = span(result), result.interval is not None
    named = [*(header or ("player", credit_word(result))), *[interval_word(result)] * known, ""]
    credits, rows = result.credit.tolist(), []
    within = ranges(low, high) if known else []
    for i, (name, credit, written) in enumerate(zip(result.players, credits, column(credits), strict=True)):
        ends = [within[i]] if known else []
        drawn = bar(credit, reach, (low[i], high[i]), signed=signed)
        rows.append(((who or {}).get(name, Who(name)), [written, *ends], drawn))
    cost = f"{result.payoffs:,} payoffs" if result.payoffs is not None else ""
    notes = " · ".join(note for note in (result.interval_because, result.stopped, cost) if note)
    return render(
        "parts",
        "attribution",
        heading=f"{speak(result.method)}: {in_words(result, whole)}",
        header=named,
        rows=rows,
        notes=notes,
        kind="bars" + " ranking" * any(row[0].text for row in rows) + " sortable searchable" * sorts,
    )


def claims_table(result: Attribution | Interactions) -> Markup:
    """Which axioms hold, and why."""
    return render("parts", "claims", rows=[(c.axiom, c.holds, c.because) for c in result.claims])
