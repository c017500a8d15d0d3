r"""What a model's output is worth for a target: logit, probability, log-odds, margin, loss, correctness, confidence, entropy.

With outputs $z$ and probabilities $p = \mathrm{softmax}(z)$, the payoff of target $t$ is

| payoff | formula | reads as |
|---|---|---|
| logit | $z_t$ | the raw output |
| probability | $p_t$ | between 0 and 1; flat where the model is sure |
| log-odds | $\log p_t / (1 - p_t) = z_t - \log \sum_{c \ne t} e^{z_c}$ | unbounded, in nats |
| margin | $z_t - \max_{c \ne t} z_c$ | positive exactly where $t$ is predicted |
| loss | $-\log p_t$ | the cross-entropy of the target: smaller is better |
| correctness | 1 if $t$ is predicted, else 0 | a step: it has no slope, and leave-one-out sees only what flips it |
| confidence | $\max_c p_c$ | how sure the model is of whatever it predicts |
| entropy | $-\sum_c p_c \log p_c$ | how unsure it is, in nats |

Where outputs are independent labels, the last four are those of the target's own two classes. A function of the outputs,
(batch, classes) -> (batch,), is a payoff too, for games.

Models that only report probabilities have $z = \log p$, known up to a constant: their logit is refused, the rest is the
same. All is computed in float64, on numpy arrays or, differentiably, on torch tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from accredit.checks.numbers import real_numbers, shown
from accredit.core import FloatArray
from accredit.core.rounding import blur, power_of_two, precision_of
from accredit.errors import BadPayoff, InvalidInput

if TYPE_CHECKING:
    import torch

PAYOFFS = ("logit", "probability", "log-odds", "margin", "loss", "correctness", "confidence", "entropy")
OF_ALL = ("loss", "correctness", "confidence", "entropy")  # of probabilities, in no unit that a model adds up in
Payoff = str | Callable[[FloatArray], object]  # a name, or a function (batch, classes) -> (batch,)
Outputs = TypeVar("Outputs", FloatArray, "torch.Tensor")  # what comes out is of the library that went in
Law = Literal["softmax", "sigmoid", "probability", "none"]  # how outputs become probabilities; "none": they do not


def name_payoff(payoff: Payoff) -> str:
    """What a payoff is called in a result; a function is called by its own name."""
    return payoff if isinstance(payoff, str) else getattr(payoff, "__name__", type(payoff).__name__)


def check_payoff(payoff: Payoff, law: Law, outputs: int) -> None:
    """Refuse a payoff that the model's outputs do not define."""
    if callable(payoff) and not isinstance(payoff, type):
        return
    if not isinstance(payoff, str) or payoff not in PAYOFFS:
        raise InvalidInput(
            f"payoff is {shown(payoff)}; write one of {', '.join(PAYOFFS)}, or a function of the model's outputs",
            argument="payoff",
            code="unknown",
        )
    if payoff == "logit" and law == "probability":
        raise InvalidInput(
            "payoff 'logit' is not known: this model reports only probabilities; use 'log-odds'",
            argument="payoff",
            code="unsupported",
        )
    if payoff != "logit" and (law == "none" or (outputs == 1 and law != "sigmoid")):
        raise InvalidInput(
            f"payoff {payoff!r} needs class probabilities, and this model gives none; use payoff='logit'",
            argument="payoff",
            code="unsupported",
        )
    if payoff == "margin" and outputs == 1:
        raise InvalidInput(
            "payoff 'margin' compares two outputs, and this model gives one; use payoff='logit'",
            argument="payoff",
            code="unsupported",
        )


def payoff_of(outputs: Outputs, target: int, payoff: Payoff, law: Law = "softmax") -> Outputs:
    """Worth of each row of model outputs for one target: (batch, classes) -> (batch,), numpy or torch as given.

    An output that is not a number gives one that is not, without a warning: models refuse such outputs by name.

    >>> payoff_of(np.array([[0.0, 3.0, 1.0]]), 1, "margin")
    array([2.])
    """
    xp, z = _float64(outputs)
    if callable(payoff):
        return _call(payoff, z)
    with np.errstate(divide="ignore", invalid="ignore"):
        if law != "probability":
            return _worth(xp, z, target, payoff, law)
        if payoff == "probability":
            chances: Outputs = z[:, target]
            return chances
        if payoff in ("correctness", "confidence", "entropy"):
            known: Outputs = xp.log(xp.where(z > 0, z, xp.ones_like(z)))
            return _of_all(xp, z, known, target, payoff)
        worth: Outputs = _worth(xp, xp.log(z), target, payoff, law)
    if not bool(xp.isfinite(worth).all()):
        raise BadPayoff(f"a probability of 0 or 1 has no finite {payoff}; use payoff='probability'", code="not-finite")
    return worth


def payoffs_of(outputs: Outputs, targets: tuple[int, ...], payoff: Payoff, law: Law = "softmax") -> Outputs:
    """Worth of each row for several targets, column by column as `payoff_of`: (batch, classes) -> (batch, targets).

    >>> payoffs_of(np.array([[0.0, 3.0, 1.0]]), (1, 2), "margin")
    array([[ 2., -2.]])
    """
    xp, z = _float64(outputs)
    if payoff == "logit" and law != "probability" and targets == tuple(range(z.shape[1])):
        return z  # the outputs themselves
    columns: Outputs = xp.stack([payoff_of(z, target, payoff, law) for target in targets], 1)
    return columns


STRETCH = {
    "logit": 1.0,
    "probability": 0.5,
    "confidence": 0.5,
}  # of an error in logits; 2 for differences of two of them


def payoff_blur(outputs: FloatArray, payoff: Payoff, law: Law, precision: float | None = None) -> float:
    """How far rounding in a model's outputs, (batch, classes), may move a payoff of theirs; see `accredit.core.rounding`.

    Log-odds of a probability near 1 are blurred by its last digit: by the precision over 1 − p.

    >>> sure = np.array([[1.0, -9.0]])
    >>> payoff_blur(sure, "log-odds", "softmax", 1e-7), payoff_blur(sure, "logit", "none", 1e-7)
    (0.0002048, 0.0001024)
    """
    z = np.asarray(outputs, dtype=np.float64)
    eps = precision_of(np.asarray(outputs)) if precision is None else precision
    named = payoff if isinstance(payoff, str) else "function"
    if law == "probability" and named not in ("logit", "probability", "confidence", "function"):
        left = max(float((1 - z).min()), eps)
        size = max(1.0, float(-np.log(np.maximum(z, np.finfo(float).tiny)).max()))
        return 2.0 * (blur(size, eps) + eps * power_of_two(1 / left))
    moved = blur(float(np.abs(z).max()), eps)
    if named == "correctness":  # a step: only a tie can fall to either side
        top = np.sort(z, axis=1)[:, -2:]
        return float((np.ptp(top, axis=1) <= 2 * moved).any()) if top.shape[1] == 2 else float(moved >= np.abs(z).min())
    return moved if law == "probability" else STRETCH.get(named, 2.0) * moved


def _worth(xp: ModuleType, z: Outputs, target: int, payoff: str, law: Law) -> Outputs:
    own: Outputs = z[:, target]
    if payoff == "logit":
        return own
    others = xp.concatenate([z[:, :target], z[:, target + 1 :]], 1)
    if payoff == "margin":
        margin: Outputs = own - xp.amax(others, 1)
        return margin
    log_odds: Outputs = own if law == "sigmoid" else own - _log_sum_exp(xp, others)
    if payoff == "log-odds":
        return log_odds
    log_loss: Outputs = xp.logaddexp(xp.zeros_like(log_odds), -log_odds)  # −log p, safe at both ends
    if payoff == "loss":
        return log_loss
    if payoff == "probability":
        chance: Outputs = xp.exp(-log_loss)
        return chance
    if law == "sigmoid":  # the target and its absence are the two classes
        z, target = xp.stack([xp.zeros_like(own), own], 1), 1
    logs: Outputs = z - _log_sum_exp(xp, z)[:, None]
    p: Outputs = xp.exp(logs)
    return _of_all(xp, p, logs, target, payoff)


def _of_all(xp: ModuleType, p: Outputs, logs: Outputs, target: int, payoff: str) -> Outputs:
    """Payoffs that look at all classes: from probabilities and their logarithms, (batch, classes) -> (batch,)."""
    top: Outputs = xp.amax(p, 1)
    if payoff == "confidence":
        return top
    if payoff == "entropy":
        entropy: Outputs = -xp.sum(p * logs, 1)
        return entropy
    if getattr(p, "requires_grad", False):
        raise InvalidInput(
            "payoff 'correctness' is a step and has no slope; use 'margin' or 'log-odds' for gradients",
            argument="payoff",
            code="unsupported",
        )
    top = xp.amax(p, 1)
    right: Outputs = xp.where(xp.isnan(top), top, (p[:, target] >= top) * xp.ones_like(top))
    return right  # what is not a number is not wrong


def _call(payoff: Callable[[FloatArray], object], outputs: Outputs) -> Outputs:
    """A payoff given as a function of numpy outputs, checked: one number per row."""
    given = outputs if isinstance(outputs, np.ndarray) else outputs.detach().numpy()
    worth = real_numbers(payoff(given), f"what payoff {name_payoff(payoff)} returns", BadPayoff)
    if worth.shape != (len(given),):
        raise BadPayoff(
            f"payoff {name_payoff(payoff)} returned shape {worth.shape}; one number for each of {len(given)} rows is needed",
            argument="payoff",
            code="shape",
        )
    if isinstance(outputs, np.ndarray):
        return worth
    import torch

    return torch.from_numpy(worth)


def _log_sum_exp(xp: ModuleType, z: Outputs) -> Outputs:
    top = xp.amax(z, 1)
    total: Outputs = top + xp.log(xp.sum(xp.exp(z - top[:, None]), 1))
    return total


def _float64(outputs: Outputs) -> tuple[ModuleType, Outputs]:
    """The array library of the outputs, and the outputs in float64 (where the device has it)."""
    if isinstance(outputs, np.ndarray):
        return np, outputs.astype(np.float64, copy=False)
    import torch

    return torch, outputs if outputs.device.type == "mps" else outputs.double()
