"""AttnLRP: relevance passed down from the output, by a rule for each operation (Achtibat et al., 2024)."""

from __future__ import annotations

from contextlib import nullcontext

import torch

from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Claim, Holds, Precision, Procedure
from accredit.gradients.point import Point, point
from accredit.gradients.rules import identity_activations, relevance
from accredit.models.attention import attention_kernel

RULED = "the rules are a convention for passing relevance on: what the payoff is where players are absent never enters"


@check_arguments
def attn_lrp(
    model: object,
    given: object,
    *,
    target: str | int | None = None,
    payoff: str | None = None,
    players: object = None,
    layer: int | str | None = None,
) -> Attribution:
    """Relevance of each player by the rules of AttnLRP; `accredit.gradients.rules` lists them. One backward pass.

    The credits are scores. Linear maps without bias, norms, activation functions and products pass on all they get; biases,
    position embeddings and the softmax of attention keep some. The certificate says how much arrived where.

    >>> import torch
    >>> net = torch.nn.Linear(2, 1, bias=False).double()
    >>> _ = net.weight.data.copy_(torch.tensor([[3.0, -1.0]]))
    >>> attn_lrp(net, [2.0, 1.0], target=0).credit  # of a linear map: input times weight
    array([ 6., -1.])
    """
    return attn_lrp_at(point(model, given, target=target, payoff=payoff, players=players, layer=layer))


def attn_lrp_at(at: Point) -> Attribution:
    """AttnLRP of any payoff that a model computes."""
    here = at.here.detach().clone().requires_grad_(True)
    eager = attention_kernel(at.module, "eager") if hasattr(at.module, "set_attn_implementation") else nullcontext()
    with at.hold(), eager, identity_activations(at.module), torch.enable_grad():
        worth = at.payoff(here)
        values = relevance(worth, here, str(at.provenance["model"]))
    return _attribution(at, values, float(worth.detach()[0]))


def _attribution(at: Point, values: torch.Tensor, worth: float) -> Attribution:
    credit = at.shares(values)
    shared, arrived = float(credit.sum()), float(values.double().sum())
    split = {
        "payoff": worth,
        "players": shared,
        "inputs that do not play": arrived - shared,
        "kept on the way": worth - arrived,
    }
    said = f"of the payoff {worth:.4g}, players get {shared:.4g}, inputs that do not play {arrived - shared:.4g}, and biases, "
    said += f"positions, softmax and what else is read keep {worth - arrived:.4g}"
    claims = (
        Claim("efficiency", Holds.NO, said),
        Claim("symmetry", Holds.NO, RULED),
        Claim("null player", Holds.NO, RULED),
        Claim(
            "linearity",
            Holds.EXACTLY,
            "the rules below the payoff do not depend on it, so relevance adds up over payoffs",
        ),
    )
    return Attribution(
        at.partition.players,
        credit,
        None,
        Procedure("AttnLRP"),
        claims,
        certificate=split,
        provenance=at.local,
        precision=Precision.exact("relevance is computed, not sampled"),
    )
