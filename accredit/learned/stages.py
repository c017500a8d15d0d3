"""One stage of training an explainer: what it learns from, what it is judged by, and what is recorded of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
import torch
from torch import Tensor, nn

from accredit.checks.arguments import check_fields
from accredit.errors import InvalidInput
from accredit.learned.epochs import Weights, finite, restore, snapshot, train
from accredit.learned.epochs import batches as in_order
from accredit.learned.inputs import whole
from accredit.learned.masks import top
from accredit.values.solver import Progress

OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "rmsprop": lambda parameters, **given: torch.optim.RMSprop(parameters, alpha=0.9, eps=1e-7, **given),  # as in Keras
    "adam": torch.optim.Adam,
}


@final
@dataclass(frozen=True)
class Training:
    """How networks are trained: passes over the rows, rows per step, step size, and when to stop early.

    A share `validation` of the rows is kept aside; a stage ends when it has not improved on them for `patience`
    epochs, and the best weights are kept. With `averaging` they are moving averages over steps that forget by this factor
    (faster in the first steps), which are judged and kept in place of the last weights. Networks and batches are on `device`;
    what is trained comes back to the CPU.

    >>> Training(epochs=10, optimiser="adam").batch
    64
    """

    epochs: int = 5
    batch: int = 64
    rate: float = 1e-3
    optimiser: str = "rmsprop"
    weight_decay: float = 0.0
    validation: float = 0.1
    patience: int = 3
    device: str = "cpu"
    averaging: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        try:
            torch.empty(0, device=self.device)
        except (RuntimeError, AssertionError, TypeError) as error:  # torch raises either where there is no such device
            first = " ".join(str(error).split())[:120]
            raise InvalidInput(
                f"device is {self.device!r}, which cannot be used here ({first}); write 'cpu'",
                argument="device",
                code="unavailable",
            ) from None
        if self.optimiser not in OPTIMISERS:
            raise InvalidInput(
                f"optimiser {self.optimiser!r} is unknown; write 'rmsprop' or 'adam'", argument="optimiser", code="unknown"
            )
        whole("epochs", self.epochs)
        whole("batch", self.batch, 2)  # batch normalisation needs two rows
        whole("patience", self.patience)
        if not 0 < self.rate < math.inf or not 0 <= self.weight_decay < math.inf:
            raise InvalidInput(
                f"rate must be positive and weight_decay not negative, got {self.rate!r} and {self.weight_decay!r}",
                argument="rate",
                code="range",
            )
        if not 0 <= self.averaging < 1:
            raise InvalidInput(
                f"averaging must be at least 0 and below 1, got {self.averaging}; write 0.999, or 0 for none",
                argument="averaging",
                code="range",
            )
        if not 0 < self.validation <= 0.5:
            raise InvalidInput(
                f"validation must be a share of the rows above 0 and at most 0.5, got {self.validation}",
                argument="validation",
                code="range",
            )

    def optimise(self, *modules: nn.Module) -> torch.optim.Optimizer:
        """The optimiser of the modules' parameters."""
        parameters = [p for module in modules for p in module.parameters()]
        return OPTIMISERS[self.optimiser](parameters, lr=self.rate, weight_decay=self.weight_decay)


@dataclass
class History:
    """What happened while training: one entry per epoch, over all stages."""

    stages: list[str] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)  # mean over the training rows
    validation: list[float] = field(default_factory=list)  # the stage's objective on the rows kept aside
    kept: list[tuple[str, int, int, int]] = field(
        default_factory=list
    )  # of each stage: name, epoch whose weights are kept, epochs, steps
    doubts: list[str] = field(default_factory=list)  # what went wrong without an error
    ess: list[float] = field(default_factory=list)  # effective share of the rows, where they are weighted
    as_trained: float | None = None  # mean loss on rows kept aside, by masks as they are drawn in training
    as_used: float | None = None  # the same by what is shown once training is over: hard sets, where the law has them
    by_chance: float | None = None  # the same by random players, as many and as sharp
    seconds: float = 0.0
    stopped_because: str = "not fitted"


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows as tensors: inputs, present players (N, n), targets (N, classes), the black box's choice and answer.

    A target of one column is a number to predict; of more, probabilities. The choice is then a third of the numbers.
    """

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

    def to(self, device: str) -> Batch:
        """The same rows on another device."""
        answer = None if self.answer is None else self.answer.to(device)
        x, present, target, choice = (part.to(device) for part in (self.x, self.present, self.target, self.choice))
        return Batch(x, present, target, choice, answer)


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
    stage: Stage,
    everything: Sequence[nn.Module],
    learning: Batch,
    watched: Batch,
    training: Training,
    history: History,
    rng: np.random.Generator,
    bar: Progress,
) -> bool:
    """Train one stage; keep the best weights. Returns whether they can be trusted: False after a loss that was not finite."""

    average = Average(stage.trained, training.averaging)

    def epoch(_number: int) -> float:
        average.set_aside()
        for module in everything:
            module.train(module in stage.trained)
        total, seen = 0.0, 0
        for rows in batches(learning, training.batch, rng):
            total, seen = total + finite(stage.step(learning[rows].to(training.device))) * len(rows), seen + len(rows)
            average.update()
            bar.update(len(history.losses) + seen / len(learning))
        average.put_in()
        watched_loss = finite(judge(stage, everything, watched, training), "the validation loss")
        history.stages.append(stage.name)
        history.losses.append(total / len(learning))
        history.validation.append(watched_loss)
        if stage.weights:
            history.ess.append(effective_share(stage.weights))
            stage.weights.clear()
        return watched_loss

    ended = train(stage.trained, stage.epochs, epoch, training.patience)
    history.stopped_because = f"{stage.name}: {ended}"
    steps = ended.kept * len(in_order(np.arange(len(learning)), training.batch, fewest=2))
    history.kept.append((stage.name, ended.kept, ended.epochs, steps))
    ended.warn(stage.name, stacklevel=4)
    return ended.finite


class Average:
    """Moving averages of the weights of some modules; with a `factor` of 0 the weights stay what they are.

    Averages are judged and kept (`put_in`); training goes on from the last weights (`set_aside`).
    """

    def __init__(self, modules: Sequence[nn.Module], factor: float) -> None:
        self.modules, self.factor, self.steps = modules, factor, 0
        self.mean = snapshot(modules) if factor else []
        self.last: Weights = []

    def update(self) -> None:
        """After a step: mean ← factor · mean + (1 − factor) · weights, with less memory in the first steps."""
        self.steps += 1
        kept = min(self.factor, self.steps / (9 + self.steps))
        for module, mean in zip(self.modules, self.mean, strict=False):
            for name, value in module.state_dict().items():
                mean[name] = mean[name].lerp(value, 1 - kept) if value.is_floating_point() else value.clone()

    def put_in(self) -> None:
        if self.factor:
            self.last = snapshot(self.modules)
            restore(self.modules, self.mean)

    def set_aside(self) -> None:
        if self.last:
            restore(self.modules, self.last)


def batches(rows: Batch, size: int, rng: np.random.Generator) -> Iterator[Tensor]:
    """All rows once, in batches in random order; rows with about as many players share a batch: texts cost by length."""
    order = rng.permutation(len(rows))
    lengths = rows.present.sum(dim=1).numpy()
    stretch = 50 * size
    if lengths.min() < lengths.max():
        parts = [order[k : k + stretch] for k in range(0, len(order), stretch)]
        order = np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in parts])
    cuts = in_order(order, size, fewest=2)
    for k in rng.permutation(len(cuts)):
        yield torch.from_numpy(cuts[k])


def judge(stage: Stage, everything: Sequence[nn.Module], rows: Batch, training: Training) -> float:
    """The stage's mean loss on rows kept aside, with the same noise in every epoch."""
    for module in everything:
        module.eval()
    generator, size = torch.Generator().manual_seed(0), max(training.batch, 256)
    parts = [rows[torch.arange(k, min(k + size, len(rows)))] for k in range(0, len(rows), size)]
    with torch.no_grad():
        return float(torch.cat([stage.losses(part.to(training.device), generator) for part in parts]).mean())


def choose_players(logits: Tensor, present: Tensor, k: int | None) -> Tensor:
    """Who is shown once training is over, as 0 and 1: the k highest, or without k those with a chance above ½. (N, n).

    >>> choose_players(torch.tensor([[2.0, -1.0, 3.0]]), torch.ones(1, 3), None)
    tensor([[1., 0., 1.]])
    """
    found, there = logits.detach().cpu().numpy(), present.cpu().numpy() > 0
    kept = there & (found > 0) if k is None else top(found, k, there)
    return torch.from_numpy(kept).to(logits)


def surprise(said: Tensor, target: Tensor) -> Tensor:
    """The loss of each row: cross-entropy to probabilities (N, classes), or half the squared error of one number (N, 1).

    >>> surprise(torch.tensor([[1.0]]), torch.tensor([[3.0]]))
    tensor([2.])
    """
    if target.shape[1] == 1:
        return (said - target).square().sum(dim=1) / 2
    return nn.functional.cross_entropy(said, target, reduction="none")


def descend(loss: Tensor, optimiser: torch.optim.Optimizer, *modules: nn.Module, again: bool = False) -> None:
    """One step of the modules' own parameters down `loss`; no other parameter is touched."""
    parameters = [p for module in modules for p in module.parameters()]
    slopes = torch.autograd.grad(loss, parameters, retain_graph=again, allow_unused=True)
    for parameter, slope in zip(parameters, slopes, strict=True):
        parameter.grad = slope
    optimiser.step()


def effective_share(weights: Sequence[Tensor]) -> float:
    """Effective sample size of the weights, as a share of their number."""
    from accredit.learned.weighting import effective_sample_size

    every = torch.cat(list(weights)).double().numpy()
    return effective_sample_size(every) / len(every)
