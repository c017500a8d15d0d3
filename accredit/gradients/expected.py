r"""GradientSHAP (expected gradients; Erion et al., 2021): slopes at random points between random baselines and the input.

$$\phi_i = \mathbb{E}_{x' \sim D,\ \alpha \sim U(0, 1)} \sum_{c \in C_i}
    (x_c - x'_c)\, \frac{\partial f}{\partial x_c}\bigl(x' + \alpha (x - x')\bigr)$$

With one baseline and no noise this is integrated gradients by random points instead of a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Claim, FloatArray, Holds, Precision, Procedure
from accredit.errors import InvalidInput, NotConverged
from accredit.gradients.integrated import COMPLETENESS_TOLERANCE, ON_THE_LINE
from accredit.gradients.point import Point, point

SAMPLES = 50
FAR = 8.0  # standard errors beyond which draws have missed where the payoff changes


@check_arguments
def gradient_shap(
    model: object,
    given: object,
    *,
    target: str | int | None = None,
    payoff: str | None = None,
    players: object = None,
    baseline: object = None,
    layer: int | str | None = None,
    samples: int = SAMPLES,
    noise: float = 0.0,
    seed: int = 0,
) -> Attribution:
    """Share f(input) − mean f(baseline) by slopes at random points; the formula is in the module's docstring.

    `baseline` is one of those of `integrated_gradients`, or a list of them, drawn with equal chance. With `noise` the input
    itself is shaken by that share of its range, as captum's `stdevs` do. One forward and backward pass per sample.

    >>> import torch
    >>> net = torch.nn.Linear(2, 1).double()
    >>> _ = net.weight.data.copy_(torch.tensor([[3.0, -1.0]]))
    >>> gradient_shap(net, [2.0, 1.0], target=0, samples=4).credit  # a linear map has the same slope everywhere
    array([ 6., -1.])
    """
    points = [
        point(model, given, target=target, payoff=payoff, players=players, baseline=way, layer=layer)
        for way in several(baseline)
    ]
    return gradient_shap_at(points, samples, noise, seed)


def several(baseline: object) -> list[object]:
    """Baselines as a list: one is a list of itself."""
    ways = [*baseline] if isinstance(baseline, list | tuple) else [baseline]
    if not ways:
        raise InvalidInput("baseline is an empty list; give at least one", argument="baseline", code="empty")
    return ways


def gradient_shap_at(points: Sequence[Point], samples: int = SAMPLES, noise: float = 0.0, seed: int = 0) -> Attribution:
    """GradientSHAP of one payoff, given once with each baseline."""
    if samples < 2 or not noise >= 0:
        raise InvalidInput(
            f"samples is {samples} and noise {noise}; give at least 2 samples and noise of 0 or more",
            argument="samples",
            code="range",
        )
    named = ", ".join(str(each.provenance["baseline"]) for each in points)
    at = replace(
        points[0],
        baseline=torch.cat([each.baseline for each in points]),
        provenance=points[0].provenance | {"baseline": named},
    )
    parts = _sample(at, samples, noise, seed)
    low = float(np.mean([each.worth(each.baseline) for each in points]))
    credit, total, stderr = parts.mean(axis=0), at.worth(at.here) - low, parts.std(axis=0, ddof=1) / samples**0.5
    gap = abs(float(credit.sum()) - total)
    error = float(parts.sum(axis=1).std(ddof=1)) / samples**0.5
    if not noise and gap > FAR * error + COMPLETENESS_TOLERANCE * float(np.abs(credit).sum()):
        raise NotConverged(
            f"{samples} random points miss f(input) − f(baseline) = {total:.6g} by {gap:.3g}, "
            f"{gap / max(error, 1e-300):.3g} times their standard error: the payoff is too steep for them; raise samples "
            "(in explain: most_steps), or use a game such as shapley"
        )
    return Attribution(
        at.partition.players,
        credit,
        total,
        Procedure("gradient SHAP", settings={"samples": samples, "noise": noise, "seed": seed}),
        _claims(noise),
        stderr=stderr,
        baseline=low,
        payoffs=samples,
        seed=seed,
        certificate={"completeness gap": gap, "baselines": len(points)},
        precision=Precision.unknown("standard errors over the draws only"),
        provenance=at.provenance,
    )


def _sample(at: Point, samples: int, noise: float, seed: int) -> FloatArray:
    """What each draw gives each player: (samples, n). Shares of the way are spread evenly, which can only lower the error."""
    draw = torch.Generator().manual_seed(seed)
    which = torch.randint(len(at.baseline), (samples,), generator=draw)
    way = (torch.randperm(samples, generator=draw) + torch.rand(samples, generator=draw)) / samples
    scale = noise * float(at.here.max() - at.here.min())
    parts = []
    for rows in torch.split(torch.arange(samples), at.rows):
        start = at.baseline[which[rows].to(at.here.device)]
        kicks = torch.randn((len(rows), *at.here.shape[1:]), generator=draw).to(at.here) * scale * at.free
        line = at.here + kicks - start
        share = way[rows].to(at.here).reshape(-1, *(1 for _ in at.here.shape[1:]))
        products = line * at.slopes(start + share * line)
        parts += [at.shares(row[None]) for row in products]
    return np.stack(parts)


def _claims(noise: float) -> tuple[Claim, ...]:
    whole = (
        Claim("efficiency", Holds.NO, "noise moves the input, so the mean of noisy payoffs is shared instead of f(input)")
        if noise
        else Claim("efficiency", Holds.IN_EXPECTATION, "random points on a line estimate the integral along it without bias")
    )
    return (
        whole,
        Claim("symmetry", Holds.NO, ON_THE_LINE),
        Claim("null player", Holds.NO, ON_THE_LINE),
        Claim("linearity", Holds.EXACTLY, "the draws do not depend on the payoff, and slopes of a sum add up"),
    )
