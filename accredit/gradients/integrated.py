r"""Integrated gradients (Sundararajan et al., 2017): slopes averaged on the straight line from a baseline to the input.

$$\phi_i = \sum_{c \in C_i} (x_c - x'_c) \int_0^1 \frac{\partial f}{\partial x_c}\bigl(x' + \alpha (x - x')\bigr)\, d\alpha$$

This is the Aumann–Shapley value of f on that line. It adds up to f(x) − f(x′) in the limit of many steps, and equals the
Shapley value of the game of absent players when f is multilinear in them; in general it does not.
"""

from __future__ import annotations

import numpy as np
import torch

from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Claim, Holds, Precision, Procedure
from accredit.errors import InvalidInput, NotConverged
from accredit.gradients.point import Point, point

FIRST_STEPS = 32
MOST_STEPS = 1024
COMPLETENESS_TOLERANCE = 1e-3
ON_THE_LINE = (
    "it is a property of the payoff on the line between baseline and input, which its values where players are present or "
    "absent do not fix"
)


@check_arguments
def integrated_gradients(
    model: object,
    given: object,
    *,
    target: str | int | None = None,
    payoff: str | None = None,
    players: object = None,
    baseline: object = None,
    layer: int | str | None = None,
    tolerance: float = COMPLETENESS_TOLERANCE,
    steps: int = FIRST_STEPS,
    most_steps: int = MOST_STEPS,
) -> Attribution:
    """Share f(input) − f(baseline) by slopes along the straight line; the formula is in the module's docstring.

    The integral is a Gauss–Legendre sum. Its `steps` are doubled until the completeness gap |Σ credit − total| is at most
    `tolerance` times Σ |credit|; beyond `most_steps` it gives up with `NotConverged`. One forward and backward pass per
    step. A word earns the sum of its tokens.

    >>> import torch
    >>> class Product(torch.nn.Module):
    ...     def forward(self, rows):
    ...         return rows.prod(dim=1, keepdim=True)
    >>> found = integrated_gradients(Product(), [2.0, 3.0], target=0)
    >>> found.credit.round(6), round(found.total, 6)
    (array([3., 3.]), 6.0)
    """
    at = point(model, given, target=target, payoff=payoff, players=players, baseline=baseline, layer=layer)
    return integrated_gradients_at(at, tolerance, most_steps, steps)


def few_digits(at: Point) -> str:
    """What to say where slopes themselves are too coarse, however many of them are taken."""
    kind = str(at.here.dtype).removeprefix("torch.")
    coarse = kind in ("float16", "bfloat16")
    return f"; {kind} rounds slopes coarsely, so load the model with dtype float32 first" if coarse else ""


def check_steps(steps: int, most_steps: int, tolerance: float) -> None:
    """Refuse what cannot be integrated with."""
    if steps < 1 or most_steps < steps or not tolerance > 0:
        raise InvalidInput(
            f"steps={steps}, most_steps={most_steps}, tolerance={tolerance}: give 1 ≤ steps ≤ most_steps and tolerance > 0",
            argument="steps" if tolerance > 0 else "tolerance",
            code="range",
        )


def _integral(at: Point, steps: int) -> torch.Tensor:
    """(x − x′) ∫ ∇f(x′ + α(x − x′)) dα by a Gauss–Legendre sum of `steps` slopes: (1, *shape)."""
    roots, weights = np.polynomial.legendre.leggauss(steps)
    way, total = at.here - at.baseline, torch.zeros_like(at.here)
    for first in range(0, steps, at.rows):
        alpha, weight = (
            torch.tensor(part[first : first + at.rows] / 2).to(at.here).reshape(-1, *[1] * (at.here.ndim - 1))
            for part in (roots, weights)
        )
        total += (weight * at.slopes(at.baseline + (alpha + 0.5) * way)).sum(dim=0, keepdim=True)
    return way * total


def integrated_gradients_at(
    at: Point, tolerance: float = COMPLETENESS_TOLERANCE, most_steps: int = MOST_STEPS, steps: int = FIRST_STEPS
) -> Attribution:
    """Integrated gradients of any differentiable payoff."""
    check_steps(steps, most_steps, tolerance)
    low, high = at.worth(at.baseline), at.worth(at.here)
    used = steps
    while True:
        credit = at.shares(_integral(at, used))
        gap, spread = abs(float(credit.sum()) - (high - low)), float(np.abs(credit).sum())
        if gap <= tolerance * spread or gap == 0.0:
            break
        if 2 * used > most_steps:
            curved = at.provenance["payoff"] in (
                "log-odds",
                "margin",
            )  # of classes; answers and logits have none smoother
            instead = "payoff='logit', which is smoother" if curved else "a game such as shapley"
            raise NotConverged(
                f"integrated gradients miss f(input) − f(baseline) = {high - low:.6g} by {gap:.3g} after {used} steps; raise "
                f"most_steps to {2 * used} or more, raise tolerance above {tolerance}, choose another baseline (from a zero "
                f"vector norms are not smooth), or use {instead}{few_digits(at)}"
            )
        used *= 2
    claims = (
        Claim(
            "efficiency",
            Holds.IN_THE_LIMIT,
            f"exact as steps grow; with {used} the credits miss the total by {gap:.2g}",
        ),
        Claim(
            "symmetry",
            Holds.NO,
            f"only coordinates that the model treats alike are sure to get equal credit; {ON_THE_LINE}",
        ),
        Claim("null player", Holds.NO, f"only coordinates that the model ignores are sure to get 0; {ON_THE_LINE}"),
        Claim("linearity", Holds.IN_THE_LIMIT, "slopes of a sum add up; the step counts may differ"),
    )
    return Attribution(
        at.partition.players,
        credit,
        high - low,
        Procedure("integrated gradients", settings={"steps": used}),
        claims,
        baseline=low,
        payoffs=used,
        stopped="the completeness gap met the tolerance",
        certificate={"completeness gap": gap, "tolerance": tolerance, "steps": used, "rule": "Gauss–Legendre"},
        precision=Precision.unknown("the error is that of the steps along the path; see the completeness gap"),
        provenance=at.provenance,
    )
