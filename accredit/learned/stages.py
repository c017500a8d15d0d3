"""One stage of training: pass over the rows, watch a part kept aside, stop early, survive a loss that is no number."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
import torch
from torch import Tensor, nn

from accredit.core import IntArray, InvalidInput
from accredit.learned.inputs import whole
from accredit.values.solver import Progress

OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "rmsprop": lambda parameters, **given: torch.optim.RMSprop(parameters, alpha=0.9, eps=1e-7, **given),  # as in Keras
    "adam": torch.optim.Adam,
}


@final
@dataclass(frozen=True)
class Training:
    """How networks are trained: passes over the rows, rows a step, step size, and when to stop early.

    A share `validation` of the rows is kept aside; a stage ends when it has not become better on them for `patience`
    epochs, and the best weights are kept.
    """

    epochs: int = 5
    batch: int = 64
    rate: float = 1e-3
    optimiser: str = "rmsprop"
    weight_decay: float = 0.0
    validation: float = 0.1
    patience: int = 3

    def __post_init__(self) -> None:
        if self.optimiser not in OPTIMISERS:
            raise InvalidInput(f"optimiser {self.optimiser!r} is unknown; write 'rmsprop' or 'adam'")
        whole("epochs", self.epochs)
        whole("batch", self.batch, 2)  # batch normalisation needs two rows
        whole("patience", self.patience)
        if not 0 < self.rate < math.inf or not 0 <= self.weight_decay < math.inf:
            raise InvalidInput(
                f"rate must be positive and weight_decay not negative, got {self.rate!r} and {self.weight_decay!r}"
            )
        if not 0 < self.validation <= 0.5:
            raise InvalidInput(f"validation must be a share of the rows above 0 and at most 0.5, got {self.validation}")

    def optimise(self, *modules: nn.Module) -> torch.optim.Optimizer:
        """The optimiser of the modules' parameters."""
        parameters = [p for module in modules for p in module.parameters()]
        return OPTIMISERS[self.optimiser](parameters, lr=self.rate, weight_decay=self.weight_decay)


@dataclass
class History:
    """What happened while training: one entry an epoch, over all stages."""

    stages: list[str] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)  # mean over the training rows
    validation: list[float] = field(default_factory=list)  # the stage's objective on the rows kept aside
    ess: list[float] = field(default_factory=list)  # effective share of the rows, where they are weighted
    seconds: float = 0.0
    stopped_because: str = "not fitted"


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows as tensors: inputs, present players (N, n), targets (N, classes), the black box's choice and answer."""

    x: Tensor
    present: Tensor
    target: Tensor
    choice: Tensor
    answer: Tensor | None = None

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Tensor) -> Batch:
        answer = None if self.answer is None else self.answer[rows]
        return Batch(self.x[rows], self.present[rows], self.target[rows], self.choice[rows], answer)


@dataclass(frozen=True, eq=False)
class Stage:
    """What one pass does: `step` learns from a batch and returns its mean loss, `losses` judges rows kept aside."""

    name: str
    epochs: int
    trained: Sequence[nn.Module]
    step: Callable[[Batch], float]
    losses: Callable[[Batch, torch.Generator], Tensor]  # (N,)
    weights: list[Tensor] = field(default_factory=list)  # of the rows of this epoch, where there are any


def run(
    stage: Stage, everything: Sequence[nn.Module], learning: Batch, watched: Batch, training: Training, history: History,
    rng: np.random.Generator, bar: Progress,
) -> bool:  # fmt: skip
    """Train until the epochs are done, nothing improves any more, or the loss is no number; keep the best weights.

    Returns whether the weights can be trusted: False after a loss that is no number, with the last good weights kept.
    """
    best, best_loss, since = snapshot(stage.trained), math.inf, 0
    kept = "the untrained ones"
    for epoch in range(1, stage.epochs + 1):
        for module in everything:
            module.train(module in stage.trained)
        total, seen, bad = 0.0, 0, ""
        for rows in batches(learning, training.batch, rng):
            loss = stage.step(learning[rows])
            if not math.isfinite(loss):
                bad = f"the loss was {loss}"
                break
            total, seen = total + loss * len(rows), seen + len(rows)
            bar.update(len(history.losses) + seen / len(learning))
        watched_loss = math.nan if bad else judged(stage, everything, watched, max(training.batch, 256))
        if not math.isfinite(watched_loss):
            restore(stage.trained, best)
            bad = bad or f"the validation loss was {watched_loss}"
            history.stopped_because = f"{stage.name}: {bad} in epoch {epoch}; the weights are {kept}"
            warnings.warn(f"training stopped: {history.stopped_because}; lower the rate", RuntimeWarning, stacklevel=3)
            return False
        history.stages.append(stage.name)
        history.losses.append(total / len(learning))
        history.validation.append(watched_loss)
        if stage.weights:
            history.ess.append(effective_share(stage.weights))
            stage.weights.clear()
        since = 0 if watched_loss < best_loss else since + 1
        if since == 0:
            best, best_loss, kept = snapshot(stage.trained), watched_loss, f"those of epoch {epoch}"
        elif since >= training.patience:
            break
    restore(stage.trained, best)
    why = f"no better for {since} epochs" if since >= training.patience else f"{stage.epochs} epochs are done"
    history.stopped_because = f"{stage.name}: {why}; the weights are {kept}"
    return True


def batches(rows: Batch, size: int, rng: np.random.Generator) -> Iterator[Tensor]:
    """All rows once, in batches in random order; rows with like numbers of players share a batch, for texts cost by length."""
    order = rng.permutation(len(rows))
    lengths = rows.present.sum(dim=1).numpy()
    stretch = 50 * size
    if lengths.min() < lengths.max():
        parts = [order[k : k + stretch] for k in range(0, len(order), stretch)]
        order = np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in parts])
    cuts: list[IntArray] = [order[k : k + size] for k in range(0, len(order), size)]
    if len(cuts) > 1 and len(cuts[-1]) == 1:  # batch normalisation needs two rows
        cuts[-2:] = [np.concatenate(cuts[-2:])]
    for k in rng.permutation(len(cuts)):
        yield torch.from_numpy(cuts[k])


def judged(stage: Stage, everything: Sequence[nn.Module], rows: Batch, size: int) -> float:
    """The stage's mean loss on rows kept aside, with the same noise in every epoch."""
    for module in everything:
        module.eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        parts = [
            stage.losses(rows[torch.arange(k, min(k + size, len(rows)))], generator) for k in range(0, len(rows), size)
        ]
    return float(torch.cat(parts).mean())


def descend(loss: Tensor, optimiser: torch.optim.Optimizer, *modules: nn.Module, again: bool = False) -> None:
    """One step of the modules' own parameters down `loss`; no other parameter is touched."""
    parameters = [p for module in modules for p in module.parameters()]
    slopes = torch.autograd.grad(loss, parameters, retain_graph=again, allow_unused=True)
    for parameter, slope in zip(parameters, slopes, strict=True):
        parameter.grad = slope
    optimiser.step()


def snapshot(modules: Sequence[nn.Module]) -> list[dict[str, Tensor]]:
    """Copies of all weights."""
    return [{name: value.clone() for name, value in module.state_dict().items()} for module in modules]


def restore(modules: Sequence[nn.Module], weights: list[dict[str, Tensor]]) -> None:
    """Put copied weights back."""
    for module, state in zip(modules, weights, strict=True):
        module.load_state_dict(state)


def effective_share(weights: Sequence[Tensor]) -> float:
    """Effective sample size of the weights, as a share of their number."""
    from accredit.learned.weighting import effective_sample_size

    every = torch.cat(list(weights)).double().numpy()
    return effective_sample_size(every) / len(every)
