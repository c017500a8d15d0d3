r"""What a model's output is worth for a target: logit, probability, log-odds or margin.

With outputs $z$ and probabilities $p = \mathrm{softmax}(z)$, the payoff of target $t$ is

| payoff | formula | reads as |
|---|---|---|
| logit | $z_t$ | the raw output |
| probability | $p_t$ | between 0 and 1; flat where the model is sure |
| log-odds | $\log p_t / (1 - p_t) = z_t - \log \sum_{c \ne t} e^{z_c}$ | unbounded, in nats |
| margin | $z_t - \max_{c \ne t} z_c$ | positive exactly where $t$ is predicted |

Models that only report probabilities have $z = \log p$, known up to a constant: their logit is refused, the rest is the
same. All is computed in float64, on numpy arrays or, differentiably, on torch tensors.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from accredit.core import BadPayoff, InvalidInput

PAYOFFS = ("logit", "probability", "log-odds", "margin")
Law = Literal["softmax", "sigmoid", "probability", "none"]  # how outputs become probabilities; "none": they do not


def check_payoff(payoff: str, law: Law, outputs: int) -> None:
    """Refuse a payoff that the model's outputs do not define."""
    if payoff not in PAYOFFS:
        raise InvalidInput(f"payoff is {payoff!r}; write one of {', '.join(PAYOFFS)}")
    if payoff == "logit" and law == "probability":
        raise InvalidInput("payoff 'logit' is not known: this model reports only probabilities; use 'log-odds'")
    if payoff != "logit" and (law == "none" or (outputs == 1 and law != "sigmoid")):
        raise InvalidInput(
            f"payoff {payoff!r} needs class probabilities, and this model gives none; use payoff='logit'"
        )
    if payoff == "margin" and outputs == 1:
        raise InvalidInput("payoff 'margin' compares two outputs, and this model gives one; use payoff='logit'")


def payoff_of(outputs: Any, target: int, payoff: str, law: Law = "softmax") -> Any:
    """Worth of each row of model outputs for one target: (batch, classes) -> (batch,), numpy or torch as given.

    >>> payoff_of(np.array([[0.0, 3.0, 1.0]]), 1, "margin")
    array([2.])
    """
    xp, z = _float64(outputs)
    if law != "probability":
        return _worth(xp, z, target, payoff, law)
    if payoff == "probability":
        return z[:, target]
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = _worth(xp, xp.log(z), target, payoff, law)
    if not bool(xp.isfinite(worth).all()):
        raise BadPayoff(f"a probability of 0 or 1 has no finite {payoff}; use payoff='probability'")
    return worth


def payoffs_of(outputs: Any, targets: tuple[int, ...], payoff: str, law: Law = "softmax") -> Any:
    """Worth of each row for several targets, column by column as `payoff_of`: (batch, classes) -> (batch, targets).

    >>> payoffs_of(np.array([[0.0, 3.0, 1.0]]), (1, 2), "margin")
    array([[ 2., -2.]])
    """
    xp, z = _float64(outputs)
    return xp.stack([payoff_of(z, target, payoff, law) for target in targets], 1)


def _worth(xp: Any, z: Any, target: int, payoff: str, law: Law) -> Any:
    own = z[:, target]
    if payoff == "logit":
        return own
    others = xp.concatenate([z[:, :target], z[:, target + 1 :]], 1)
    if payoff == "margin":
        return own - xp.amax(others, 1)
    log_odds = own if law == "sigmoid" else own - _log_sum_exp(xp, others)
    if payoff == "log-odds":
        return log_odds
    return xp.exp(-xp.logaddexp(xp.zeros_like(log_odds), -log_odds))  # the logistic function, safe at both ends


def _log_sum_exp(xp: Any, z: Any) -> Any:
    top = xp.amax(z, 1)
    return top + xp.log(xp.sum(xp.exp(z - top[:, None]), 1))


def _float64(outputs: Any) -> tuple[Any, Any]:
    """The array library of the outputs, and the outputs in float64 (where the device has it)."""
    if isinstance(outputs, np.ndarray):
        return np, outputs.astype(np.float64, copy=False)
    import torch

    return torch, outputs if outputs.device.type == "mps" else outputs.double()
