r"""DeepLIFT (Shrikumar et al., 2017), Rescale rule, and its mean over several baselines (DeepLIFT-SHAP; Lundberg & Lee, 2017).

$$\phi_i = \sum_{c \in C_i} (x_c - x'_c)\, m_c$$

with multipliers $m$ that are passed down operation by operation: `accredit.gradients.multipliers` has the rules. One pass over
two rows, forward and back, for each baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import torch

from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Claim, FloatArray, Holds, Precision, Procedure
from accredit.errors import InvalidInput
from accredit.gradients.expected import several
from accredit.gradients.multipliers import multipliers
from accredit.gradients.point import Point, point
from accredit.models.attention import attention_kernel

COMPLETE = 1e-4  # share of Σ |credit| by which the sum may miss the total
RULED = "the rules are a convention for passing differences on: what happens where only some players leave never enters"


@check_arguments
def deep_lift(
    model: object,
    given: object,
    *,
    target: str | int | None = None,
    payoff: str | None = None,
    players: object = None,
    baseline: object = None,
    layer: int | str | None = None,
) -> Attribution:
    """Share f(input) − f(baseline) by the multipliers of DeepLIFT; `baseline` may be a list, over which the mean is taken.

    Refused where the shares do not add up, which shows that the model has an operation without a rule.

    >>> import torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 1, bias=False), torch.nn.ReLU()).double()
    >>> _ = net[0].weight.data.copy_(torch.tensor([[3.0, -1.0]]))
    >>> found = deep_lift(net, [2.0, 1.0], target=0)
    >>> found.credit.round(9), found.total
    (array([ 6., -1.]), 5.0)
    """
    return deep_lift_at(
        [
            point(model, given, target=target, payoff=payoff, players=players, baseline=way, layer=layer)
            for way in several(baseline)
        ]
    )


def deep_lift_at(points: Sequence[Point]) -> Attribution:
    """DeepLIFT of one payoff, given once with each baseline."""
    found = [_share(at) for at in points]
    credit = np.mean([shares for shares, _, _ in found], axis=0)
    total, low = (float(np.mean([each[k] for each in found])) for k in (1, 2))
    gap = abs(float(credit.sum()) - total)
    named = ", ".join(str(each.provenance["baseline"]) for each in points)
    at = replace(points[0], provenance=points[0].provenance | {"baseline": named})
    claims = (
        Claim(
            "efficiency",
            Holds.IN_THE_LIMIT,
            f"every operation hands on all of its difference; the sum is off by {gap:.1g}",
        ),
        Claim("symmetry", Holds.NO, RULED),
        Claim("null player", Holds.NO, RULED),
        Claim("linearity", Holds.NO, "the multiplier of a product or of a logarithm in the payoff depends on the payoff"),
    )
    return Attribution(
        at.partition.players,
        credit,
        total,
        Procedure("DeepLIFT", settings={"rule": "Rescale", "baselines": len(points)}),
        claims,
        baseline=low,
        payoffs=2 * len(points),
        certificate={"completeness gap": gap, "baselines": len(points)},
        precision=Precision.exact("multipliers are computed, not sampled"),
        provenance=at.provenance,
    )


def _share(at: Point) -> tuple[FloatArray, float, float]:
    """Credit (n,), the total, and f(baseline), for one baseline."""
    low, high = at.worth(at.baseline), at.worth(at.here)
    rows = torch.cat([at.baseline, at.here]).detach().clone().requires_grad_(True)
    eager = attention_kernel(at.module, "eager") if hasattr(at.module, "set_attn_implementation") else nullcontext()
    with at.hold(), eager, torch.enable_grad(), multipliers(at.module):
        worth = at.payoff(rows)
        (by,) = torch.autograd.grad(worth.sum(), rows, allow_unused=True, materialize_grads=True)
    credit = at.shares((at.here - at.baseline) * by[1:])
    size = float(np.abs(credit).sum()) + abs(high) * torch.finfo(rows.dtype).eps * 64
    off = max(abs(float(credit.sum()) - (high - low)), *(np.abs(worth.detach().double().cpu().numpy() - [low, high])))
    if not off <= COMPLETE * size:
        raise InvalidInput(
            f"the multipliers of DeepLIFT miss f(input) − f(baseline) = {high - low:.6g} by {off:.3g}: an operation of "
            f"{at.provenance['model']} has no rule or is too steep; use integrated-gradients or a game such as shapley",
            code="unsupported",
        )
    return credit, high - low, low
