"""Torch modules trained by a stated recipe, as a utility: the same coalition and seed give the same weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks import needs, whole_number
from accredit.checks.arguments import check_fields
from accredit.core import BoolArray, FloatArray
from accredit.errors import InvalidInput, NotConverged
from accredit.store.fingerprint import ADDED_LATER
from accredit.valuation.scores import margins, score_named, score_tests
from accredit.valuation.split import Split
from accredit.valuation.utility import Utility

if TYPE_CHECKING:
    import torch

OPTIMIZERS = ("adam", "adamw", "sgd")
SCHEDULES = ("constant", "linear", "cosine", "step")


@dataclass(frozen=True)
class Recipe:
    """How a module is trained: the objective is mean loss + weight_decay/2·‖θ‖², so that influence functions can see it.

    The loss is cross-entropy for classes and squared error for numbers. `batch_size=None` takes all rows in every step. The
    optimiser is torch's, with torch's defaults; `adamw` decays weights beside the step instead of in the objective.

    `schedule` says how the rate falls after `warmup_steps` steps in which it rises from 0: "linear" and "cosine" reach 0 after
    the last step, as in transformers' Trainer; "step" multiplies it by `gamma` every `step_size` epochs, as torch's StepLR.

    >>> recipe = Recipe(epochs=20, rate=0.05, weight_decay=1e-3, optimizer="sgd", momentum=0.9)
    >>> recipe.epochs, recipe.batch_size, recipe.momentum
    (20, None, 0.9)
    """

    epochs: int = 100
    rate: float = 0.01
    weight_decay: float = 0.0
    batch_size: int | None = None
    optimizer: str = "adam"  # or adamw, sgd
    momentum: float = 0.0  # of sgd
    betas: tuple[float, float] = (0.9, 0.999)  # of adam and adamw, like eps
    eps: float = 1e-8
    schedule: str = field(default="constant", metadata=ADDED_LATER)  # or linear, cosine, step
    warmup_steps: int = field(default=0, metadata=ADDED_LATER)
    step_size: int = field(default=1, metadata=ADDED_LATER)  # epochs; of step, like gamma
    gamma: float = field(default=0.1, metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.epochs < 1 or not self.rate > 0 or self.weight_decay < 0:
            raise InvalidInput(f"{self}: epochs and rate must be positive, weight_decay not negative", code="range")
        if self.optimizer not in OPTIMIZERS:
            raise InvalidInput(
                f"optimizer {self.optimizer!r} is unknown; write one of {', '.join(OPTIMIZERS)}",
                argument="optimizer",
                code="unknown",
            )
        if not 0 <= self.momentum < 1 or (self.momentum and self.optimizer != "sgd"):
            raise InvalidInput(
                f"momentum is {self.momentum!r} with optimizer {self.optimizer!r}; give a number from 0 to below 1, with 'sgd'",
                argument="momentum",
                code="range",
            )
        if not all(0 <= beta < 1 for beta in self.betas) or not self.eps > 0:
            raise InvalidInput(
                f"betas are {self.betas!r} and eps is {self.eps!r}; betas are from 0 to below 1, eps is above 0",
                argument="betas",
                code="range",
            )

        if self.schedule not in SCHEDULES:
            raise InvalidInput(
                f"schedule {self.schedule!r} is unknown; write one of {', '.join(SCHEDULES)}. One that looks at losses "
                "cannot be known before training",
                argument="schedule",
                code="unknown",
            )
        if self.warmup_steps < 0 or self.step_size < 1 or not 0 < self.gamma <= 1:
            raise InvalidInput(
                f"warmup_steps is {self.warmup_steps}, step_size {self.step_size} and gamma {self.gamma:g}; give steps from 0 "
                "on, epochs from 1 on, and a factor above 0 and up to 1",
                argument="schedule",
                code="range",
            )

    def rates(self, steps: int) -> list[float]:
        """The rate of every one of `steps` steps, as many in each epoch.

        >>> Recipe(epochs=2, rate=1.0, schedule="linear", warmup_steps=2).rates(4)
        [0.0, 0.5, 1.0, 0.5]
        >>> Recipe(epochs=2, rate=1.0, schedule="step").rates(4)
        [1.0, 1.0, 0.1, 0.1]
        """
        steps, warm = whole_number(steps, "steps"), self.warmup_steps

        def factor(number: int) -> float:
            if number < warm:
                return number / warm
            done = (number - warm) / (steps - warm)
            if self.schedule == "step":
                return self.gamma ** (number * self.epochs // steps // self.step_size)
            return {"constant": 1.0, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}[self.schedule]

        return [self.rate * factor(number) for number in range(steps)]

    def optimiser(self, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """Torch's own optimiser, with these settings."""
        import torch

        if self.optimizer == "sgd":
            return torch.optim.SGD(parameters, lr=self.rate, weight_decay=self.weight_decay, momentum=self.momentum)
        kind = torch.optim.Adam if self.optimizer == "adam" else torch.optim.AdamW
        return kind(parameters, lr=self.rate, weight_decay=self.weight_decay, betas=self.betas, eps=self.eps)


class TorchTraining(Utility):
    """A game: players are training rows, the payoff is the test score of a module trained on them by `recipe`.

    `build` makes a fresh module (inputs of d columns, one output per class, or one for numbers); it is called under `seed`, and
    the caller's random state is left as it was. The empty coalition answers 0 everywhere, so it favours
    no class. Outputs are margins of the true class, or minus squared errors.

    >>> import torch
    >>> from accredit.valuation import split
    >>> data = split([[-1.0], [1.0]], [0, 1], [[-2.0], [2.0], [1.0]], [0, 1, 1])
    >>> game = TorchTraining(data, lambda: torch.nn.Linear(1, 2), Recipe(epochs=50, rate=0.1))
    >>> game.payoff(np.array([[False, False], [True, True]]))
    array([0.5, 1. ])
    """

    def __init__(
        self,
        data: Split,
        build: Callable[[], torch.nn.Module],
        recipe: Recipe = Recipe(),
        metric: str | None = None,
        *,
        seed: int = 0,
    ) -> None:
        with needs("text", "training a module"):
            import torch  # noqa: F401
        self.data, self.build, self.recipe, self.seed = data, build, recipe, seed
        self.metric, self._score = score_named(metric, data)
        self._check_outputs()

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Payoffs (batch,) and margins (batch, M)."""
        answers = np.zeros((len(coalitions), len(self.data.test_x), self._columns))
        for row, coalition in enumerate(coalitions):
            if coalition.any():
                answers[row] = self._answers(self.teach(coalition))
        return self._score(answers, self.data.test_y), margins(answers, self.data)

    @property
    def _columns(self) -> int:
        """Outputs that a module must have."""
        return 1 if self.data.classes is None else len(self.data.classes)

    def _answers(self, module: torch.nn.Module) -> FloatArray:
        """What a trained module answers at the test rows: (M, columns)."""
        import torch

        with torch.no_grad():
            answers: FloatArray = module(torch.tensor(self.data.test_x, dtype=torch.float32)).double().numpy()
        return answers.reshape(len(answers), -1)

    def teach(self, coalition: BoolArray) -> torch.nn.Module:
        """The module that one coalition (n,) teaches, in evaluation mode."""
        import torch

        recipe = self.recipe
        rows = np.flatnonzero(coalition)
        x = torch.tensor(self.data.x[rows], dtype=torch.float32)
        y = torch.tensor(self.data.y[rows], dtype=torch.float32 if self.data.classes is None else torch.int64)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            module = self.build()
            module.train()
            steps = recipe.optimiser(module.parameters())
            size = recipe.batch_size or len(rows)
            rates = iter(recipe.rates(recipe.epochs * -(-len(rows) // size)))
            for _ in range(recipe.epochs):
                order = torch.randperm(len(rows)) if size < len(rows) else torch.arange(len(rows))
                for start in range(0, len(rows), size):
                    batch = order[start : start + size]
                    steps.param_groups[0]["lr"] = next(rates)
                    steps.zero_grad()
                    loss = row_losses(module(x[batch]), y[batch]).mean()
                    torch.autograd.backward(loss)
                    steps.step()
        if not torch.isfinite(loss):
            raise NotConverged(f"training diverged: the loss is {loss.item()}; lower the rate of {recipe}")
        return module.eval()

    def _check_outputs(self) -> None:
        """Refuse modules whose answer to a row is not one number for each column."""
        import torch

        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(self.seed)
            shape = tuple(self.build().eval()(torch.tensor(self.data.x[:1], dtype=torch.float32)).shape)
        if shape != (1, self._columns) and not (shape == (1,) and self._columns == 1):
            needed = "one number" if self.data.classes is None else f"{self._columns} numbers, one per class"
            raise InvalidInput(
                f"build() makes a module that answers one row with shape {shape}; it must be {needed}",
                argument="build",
                code="shape",
            )

    def score_tests(self, payoffs: FloatArray, outputs: FloatArray) -> FloatArray | None:
        return score_tests(self.metric, payoffs, outputs, self.data)

    def fingerprint_parts(self) -> dict[str, object]:
        import torch

        return {
            "data": self.data,
            "model": [self.build, self.recipe, f"torch {torch.__version__}"],
            "metric": self.metric,
        }


def row_losses(answers: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The loss at every row (rows,): cross-entropy for whole-number labels, squared error for real ones."""
    import torch

    if y.dtype == torch.int64:
        return torch.nn.functional.cross_entropy(answers, y, reduction="none")
    return (answers.reshape(-1) - y) ** 2
