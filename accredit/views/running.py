"""From the base value to the output: what each player adds to the sum, in the order in which the text is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accredit.core import Attribution
from accredit.core.plain import rounded
from accredit.explanation.result import Explanation
from accredit.views.engine import render
from accredit.views.numbers import brief
from accredit.views.parts import Bar, hue
from accredit.views.words import ALL, title

if TYPE_CHECKING:
    from markupsafe import Markup

STEPS = 16  # players that are steps of their own; of more, those of largest credit, and the others together
WIDTH, HEIGHT = 260, 18


class Step(NamedTuple):
    """A player, what it adds, and the sum so far."""

    name: str
    credit: str
    sum: str
    bar: Bar


def adds_up(explanation: Explanation) -> tuple[str, Attribution] | None:
    """The first method whose credit leads from a base value to the output."""
    for method, result in explanation:
        if result.baseline is None or result.total is None or result.unshared is None or method in explanation.unsigned:
            continue
        if abs(result.unshared) <= ALL * max(abs(result.total), float(np.abs(result.credit).sum())):
            return method, result
    return None


def running_sum(explanation: Explanation, names: dict[str, str]) -> Markup | None:
    """The steps from the base value to the output, if there is a method that has them; `names` are those of players."""
    found = adds_up(explanation)
    if found is None:
        return None
    method, result = found
    base, end = float(result.baseline or 0.0), float((result.baseline or 0.0) + (result.total or 0.0))
    return render(
        "running", "running", steps=_steps(result, base, names), base=rounded(base), end=rounded(end),
        payoff=f"{explanation.payoff} of {explanation.target}", method=title(method),
    )  # fmt: skip


def _steps(result: Attribution, base: float, names: dict[str, str]) -> list[Step]:
    credit = result.credit
    order = np.argsort(-np.abs(credit), kind="stable")
    kept = np.sort(order if len(order) <= STEPS else order[: STEPS - 1])
    named = [(names.get(result.players[i], result.players[i]), float(credit[i])) for i in kept.tolist()]
    if len(kept) < len(order):
        named.append((f"{len(order) - len(kept)} others together", float(credit.sum() - credit[kept].sum())))
    sums = base + np.concatenate([[0.0], np.cumsum([earned for _, earned in named])])
    low, scale = float(sums.min()), (WIDTH - 4) / (float(sums.max() - sums.min()) or 1.0)
    x = 2 + (sums - low) * scale
    return [
        Step(name, brief(earned), rounded(float(sums[k + 1]), 3), _bar(x[k], x[k + 1], x[0], earned))
        for k, (name, earned) in enumerate(named)
    ]


def _bar(start: float, end: float, base: float, earned: float) -> Bar:
    left, right = sorted((start, end))
    fill = f"M{left:.1f} 3h{max(right - left, 0.5):.1f}v{HEIGHT - 6}H{left:.1f}z"
    return Bar(WIDTH, HEIGHT, hue(earned, True), fill, f"M{base:.1f} 0v{HEIGHT}", "")
