"""From the base value to the output: what each player adds to the sum, in the order in which the text is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accredit.core import Attribution
from accredit.explanation.result import Explanation
from accredit.views.engine import render
from accredit.views.numbers import column
from accredit.views.steps import Step, climb, largest, step_bar
from accredit.views.words import ALL, title

if TYPE_CHECKING:
    from markupsafe import Markup

STEPS = 16  # players that are steps of their own; of more, those of largest credit, and the others together


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
    steps = _steps(result, base, names)
    places = [base, *(step.end for step in steps)]
    reach, credits, sums = (min(places), max(places)), [s.credit for s in steps], [base, end, *places[1:]]
    added = column(credits, signed=True, beside=sums)
    first, last, *reached = column(sums, beside=credits)
    lines = [(s.name, a, b, step_bar(s, reach)) for s, a, b in zip(steps, added, reached, strict=True)]
    return render(
        "running",
        "running",
        lines=lines,
        base=first,
        end=last,
        payoff=f"{explanation.payoff} of {explanation.target}",
        method=title(method),
    )


def _steps(result: Attribution, base: float, names: dict[str, str]) -> list[Step]:
    """Players in the order of the text; beyond the largest the others together."""
    kept, rest = largest(result.credit, STEPS)
    own = np.sort(kept)
    named = [(names.get(result.players[i], result.players[i]), "", float(result.credit[i])) for i in own.tolist()]
    if len(rest):
        named.append((f"{len(rest)} others together", "", float(result.credit[rest].sum())))
    return climb(base, named)
