"""A text and the same text changed, side by side: what the model says of each, and the credit of their words on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accredit.checks.json_data import round_off
from accredit.explanation.result import Explanation
from accredit.models.encoded import visible
from accredit.views.language.numbers import brief, fix, percent
from accredit.views.language.phrases import title
from accredit.views.pages.engine import render
from accredit.views.pages.token_strips import Drawer

if TYPE_CHECKING:
    from markupsafe import Markup


class Side(NamedTuple):
    """One of the two texts."""

    name: str
    number: str  # what the model says of the target
    share: str  # of a bar, in percent; empty where outputs are not probabilities
    strip: Markup
    direction: str


def what_if_body(before: Explanation, after: Explanation) -> Markup:
    """Both texts, coloured by the same method on the same scale, and what the change does to the output."""
    method = next(iter(before.attributions))
    largest = max(float(abs(each[method].credit).max(initial=0.0)) for each in (before, after))
    sides = [_side(name, each, method, largest) for name, each in (("As it is", before), ("Changed", after))]
    return render(
        "what_if",
        "body",
        sides=sides,
        verdict=verdict(before, after),
        method=title(method),
        target=visible(before.target),
        notes=[str(note) for note in after.notes if note not in before.notes],
    )


def verdict(before: Explanation, after: Explanation) -> str:
    """What the change does to the output, in one sentence."""
    (was, now), shares = (dict(each.prediction)[before.target] for each in (before, after)), _shares(before)
    apart = f"{fix(100 * (now - was), 1, signed=True)} points" if shares else brief(now - was)
    if apart in ("0.0 points", "0"):
        return f"{visible(before.target)} stays at {_number(now, shares)}."
    way = "rises" if now > was else "falls"
    return f"{visible(before.target)} {way} from {_number(was, shares)} to {_number(now, shares)}: {apart}."


def _side(name: str, explanation: Explanation, method: str, largest: float) -> Side:
    said, shares = dict(explanation.prediction)[explanation.target], _shares(explanation)
    drawer = Drawer(explanation, live="", largest=largest)
    return Side(name, _number(said, shares), f"{100 * said:.2f}" if shares else "", drawer.strip(method), drawer.direction)


def _shares(explanation: Explanation) -> bool:
    return explanation.unit == "probability"


def _number(value: float, share: bool) -> str:
    return percent(value, 1) if share else round_off(value)
