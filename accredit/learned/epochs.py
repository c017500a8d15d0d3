"""The training loop: passes over shuffled rows, early stopping on rows kept aside, and what to do when a loss is not finite.

Every network of this package that learns from batches is trained here: trained explainers, CXPlain, EVAL-X, attention
classifiers and the adversaries of the audits. Each of them says what one pass does.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor, autograd, nn, optim

from accredit.core import IntArray

Weights = list[dict[str, Tensor]]


class NotFinite(ArithmeticError):
    """A loss, or a weight, is not a finite number any more."""


@dataclass(frozen=True)
class Ending:
    """How training ended, and which weights are kept.

    >>> str(Ending(7, 4, "no better for 3 epochs"))
    'no better for 3 epochs; the weights are those of epoch 4'
    """

    epochs: int  # that were completed
    kept: int  # the epoch whose weights are kept; 0: those it began with
    because: str
    finite: bool = True  # False: a loss was not a number

    def __str__(self) -> str:
        which = f"those of epoch {self.kept}" if self.kept else "the untrained ones"
        return f"{self.because}; the weights are {which}"

    def warn(self, name: str = "", stacklevel: int = 3) -> None:
        """Warn if a loss was not a number."""
        if not self.finite:
            where = f"{name}: " if name else ""
            warnings.warn(f"training stopped: {where}{self}; lower the rate", RuntimeWarning, stacklevel=stacklevel)


def train(modules: Sequence[nn.Module], epochs: int, one: Callable[[int], float | None], patience: int | None = None) -> Ending:
    """Run `one(number)` for epochs 1, 2, …; it learns from every row once and returns the loss on rows kept aside, if any.

    With `patience`, training ends when that loss has not fallen for that many epochs, and the best weights are put
    back. When `one` raises `NotFinite`, or its loss is not finite, training ends at the best weights so far; without
    `patience`, at those after the last whole epoch.
    """
    kept, kept_at, lowest, since = snapshot(modules), 0, math.inf, 0
    for number in range(1, epochs + 1):
        try:
            seen = one(number)
            if seen is not None:
                finite(seen, "the validation loss")
        except NotFinite as error:
            restore(modules, kept)
            return Ending(number - 1, kept_at, f"{error} in epoch {number}", finite=False)
        since += 1
        if patience is None or seen is None or seen < lowest:
            kept, kept_at, since = snapshot(modules), number, 0
            lowest = lowest if seen is None else seen
        elif since >= patience:
            restore(modules, kept)
            return Ending(number, kept_at, f"no better for {since} epochs")
    restore(modules, kept)
    return Ending(epochs, kept_at, f"{epochs} epochs are done")


def batches(order: IntArray, size: int, fewest: int = 1) -> list[IntArray]:
    """Rows in the given order, `size` at a time. A last batch below `fewest` rows joins the one before it: batch
    normalisation needs two.

    >>> [part.tolist() for part in batches(np.arange(5), 2, fewest=2)]
    [[0, 1], [2, 3, 4]]
    """
    cuts = [order[k : k + size] for k in range(0, len(order), size)]
    if len(cuts) > 1 and len(cuts[-1]) < fewest:
        cuts[-2:] = [np.concatenate(cuts[-2:])]
    return cuts


def downhill(loss: Tensor, optimiser: optim.Optimizer) -> None:
    """One step of the optimiser's parameters down `loss`."""
    optimiser.zero_grad()
    autograd.backward(loss)
    optimiser.step()


def finite(loss: float, what: str = "the loss") -> float:
    """The same number, or `NotFinite`."""
    if not math.isfinite(loss):
        raise NotFinite(f"{what} was {loss}")
    return loss


def snapshot(modules: Sequence[nn.Module]) -> Weights:
    """Copies of all weights."""
    return [{name: value.clone() for name, value in module.state_dict().items()} for module in modules]


def restore(modules: Sequence[nn.Module], weights: Weights) -> None:
    """Put copied weights back."""
    for module, state in zip(modules, weights, strict=True):
        module.load_state_dict(state)
