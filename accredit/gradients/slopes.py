r"""Scores from the slope of a payoff at one input. Nothing is divided: they rank players, they do not share a total.

With slopes $g = \nabla f(x)$ and $C_i$ the coordinates of player $i$ (for a token: its whole word embedding),

| score | formula | sign |
|---|---|---|
| saliency | $\sum_{c \in C_i} \lvert g_c \rvert$ | none: how much a small change matters |
| input × gradient | $\sum_{c \in C_i} x_c\, g_c$ | for (+) or against (−) |
| SmoothGrad | $\sum_{c \in C_i} \lvert \bar g_c \rvert$, $\bar g$ the mean slope under Gaussian noise | none |

One forward and backward pass each; SmoothGrad one for every noisy copy.
"""

from __future__ import annotations

import torch

from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Claim, Holds, Precision, Procedure, no_division
from accredit.errors import InvalidInput
from accredit.gradients.point import Point, point

SMOOTHGRAD_NOISE = 0.1  # of smoothgrad, as a share of the input's range
LOCAL = "a slope at one input says nothing about inputs in which players are absent"


@check_arguments
def saliency(
    model: object,
    given: object,
    *,
    target: str | int | None = None,
    payoff: str | None = None,
    players: object = None,
    layer: int | str | None = None,
) -> Attribution:
    """How strongly the payoff reacts to a small change of each player: Σ |slope| (Simonyan et al., 2013).

    >>> import torch
    >>> net = torch.nn.Linear(2, 1).double()
    >>> _ = net.weight.data.copy_(torch.tensor([[3.0, -1.0]]))
    >>> saliency(net, [2.0, 1.0], target=0).credit
    array([3., 1.])
    """
    return saliency_at(point(model, given, target=target, payoff=payoff, players=players, layer=layer))


def saliency_at(at: Point) -> Attribution:
    claim = Claim("linearity", Holds.NO, "|slope| of a sum is not the sum of |slopes|")
    return _scores(at, at.slopes(at.here).abs(), Procedure("saliency"), claim)


@check_arguments
def input_x_gradient(
    model: object,
    given: object,
    *,
    target: str | int | None = None,
    payoff: str | None = None,
    players: object = None,
    layer: int | str | None = None,
) -> Attribution:
    """Input times slope, summed over each player's coordinates (Shrikumar et al., 2016).

    It equals integrated gradients from a zero baseline where the payoff is linear.

    >>> import torch
    >>> net = torch.nn.Linear(2, 1).double()
    >>> _ = net.weight.data.copy_(torch.tensor([[3.0, -1.0]]))
    >>> input_x_gradient(net, [2.0, 1.0], target=0, players=["age", "pay"]).as_dict()
    {'age': 6.0, 'pay': -1.0}
    """
    return input_x_gradient_at(point(model, given, target=target, payoff=payoff, players=players, layer=layer))


def input_x_gradient_at(at: Point) -> Attribution:
    linear = Claim("linearity", Holds.EXACTLY, "the slope of a sum of payoffs is the sum of their slopes")
    return _scores(at, at.here * at.slopes(at.here), Procedure("input × gradient"), linear)


@check_arguments
def smoothgrad(
    model: object,
    given: object,
    *,
    target: str | int | None = None,
    payoff: str | None = None,
    players: object = None,
    layer: int | str | None = None,
    noise: float = SMOOTHGRAD_NOISE,
    samples: int = 50,
    seed: int = 0,
) -> Attribution:
    """Saliency of the mean slope under Gaussian noise (Smilkov et al., 2017).

    The noise has standard deviation `noise` times the range of the input, on players' coordinates only. Standard errors
    are those of the mean slope, carried to the sum of its magnitudes (delta method).

    >>> import torch
    >>> net = torch.nn.Linear(2, 1).double()
    >>> _ = net.weight.data.copy_(torch.tensor([[3.0, -1.0]]))
    >>> smoothgrad(net, [2.0, 1.0], target=0, samples=5).credit.round(9)  # noise does not change the slope of a linear map
    array([3., 1.])
    """
    at = point(model, given, target=target, payoff=payoff, players=players, layer=layer)
    return smoothgrad_at(at, noise, samples, seed)


def smoothgrad_at(at: Point, noise: float = SMOOTHGRAD_NOISE, samples: int = 50, seed: int = 0) -> Attribution:
    if not noise > 0 or samples < 2:
        raise InvalidInput(
            f"noise is {noise} and samples {samples}; give noise above 0 and at least 2 samples", argument="noise", code="range"
        )
    scale = noise * float(at.here.max() - at.here.min())
    generator = torch.Generator().manual_seed(seed)
    slopes = []
    for start in range(0, samples, at.rows):
        count = min(at.rows, samples - start)
        kicks = torch.randn((count, *at.here.shape[1:]), generator=generator).to(at.here) * scale * at.free
        slopes.append(at.slopes(at.here + kicks))
    drawn = torch.cat(slopes).double()  # (samples, *shape)
    along = drawn * drawn.mean(dim=0).sign()  # its mean is |mean slope|, to first order also its error
    parts = torch.stack([torch.from_numpy(at.shares(row[None])) for row in along])
    credit, stderr = parts.mean(dim=0).numpy(), (parts.std(dim=0) / samples**0.5).numpy()
    claim = Claim("linearity", Holds.NO, "|slope| of a sum is not the sum of |slopes|")
    method = Procedure("smoothgrad", settings={"noise": noise, "samples": samples, "seed": seed})
    return Attribution(
        at.partition.players,
        credit,
        None,
        method,
        _claims(claim),
        stderr=stderr,
        seed=seed,
        provenance=at.local,
        precision=Precision.unknown("standard errors over the draws of noise only"),
    )


def _claims(linearity: Claim) -> tuple[Claim, ...]:
    return (
        *no_division("these are scores: they rank, they do not share"),
        Claim("symmetry", Holds.NO, LOCAL),
        Claim("null player", Holds.NO, LOCAL),
        linearity,
    )


def _scores(at: Point, values: torch.Tensor, method: Procedure, linearity: Claim) -> Attribution:
    return Attribution(
        at.partition.players,
        at.shares(values),
        None,
        method,
        _claims(linearity),
        provenance=at.local,
        precision=Precision.exact("slopes are computed, not sampled"),
    )
