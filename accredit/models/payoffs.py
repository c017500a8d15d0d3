r"""What a model's output is worth for one target: logit, probability, log-odds or margin.

With outputs $z$ and probabilities $p = \mathrm{softmax}(z)$, the payoff of target $t$ is

| payoff | formula | reads as |
|---|---|---|
| logit | $z_t$ | the raw output |
| probability | $p_t$ | between 0 and 1; flat where the model is sure |
| log-odds | $\log p_t / (1 - p_t) = z_t - \log \sum_{c \ne t} e^{z_c}$ | unbounded, in nats |
| margin | $z_t - \max_{c \ne t} z_c$ | positive exactly where $t$ is predicted |

All are differentiable and computed in float64.
"""

from __future__ import annotations

from typing import Literal

import torch

from accredit.core import InvalidInput

PAYOFFS = ("logit", "probability", "log-odds", "margin")
Law = Literal["softmax", "sigmoid", "none"]  # how outputs become probabilities; "none": they do not


def check_payoff(payoff: str, law: Law, outputs: int) -> None:
    """Refuse a payoff that the model's outputs do not define."""
    if payoff not in PAYOFFS:
        raise InvalidInput(f"payoff is {payoff!r}; write one of {', '.join(PAYOFFS)}")
    if payoff != "logit" and (law == "none" or (outputs == 1 and law == "softmax")):
        raise InvalidInput(
            f"payoff {payoff!r} needs class probabilities, and this model gives one plain number; use 'logit'"
        )
    if payoff == "margin" and outputs == 1:
        raise InvalidInput("payoff 'margin' compares two outputs, and this model gives one; use payoff='logit'")


def payoff_of(outputs: torch.Tensor, target: int, payoff: str, law: Law = "softmax") -> torch.Tensor:
    """Worth of each row of model outputs for one target: (batch, classes) -> (batch,).

    >>> payoff_of(torch.tensor([[0.0, 3.0, 1.0]]), 1, "margin").item()
    2.0
    """
    z = outputs if outputs.device.type == "mps" else outputs.double()
    if payoff == "logit":
        return z[:, target]
    if payoff == "probability":
        return torch.sigmoid(z[:, target]) if law == "sigmoid" else torch.softmax(z, dim=1)[:, target]
    others = torch.cat([z[:, :target], z[:, target + 1 :]], dim=1)
    if payoff == "margin":
        return z[:, target] - others.amax(dim=1)
    return z[:, target] if law == "sigmoid" else z[:, target] - torch.logsumexp(others, dim=1)
