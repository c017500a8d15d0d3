"""Torch modules trained by a stated recipe, as a utility: the same coalition and seed give the same weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.core import BoolArray, FloatArray, InvalidInput, MissingExtra, NotConverged
from accredit.valuation.scores import margins, score_named
from accredit.valuation.split import Split

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Recipe:
    """How a module is trained: the objective is mean loss + weight_decay/2·‖θ‖², so that influence functions can see it.

    The loss is cross-entropy for classes and squared error for numbers. `batch_size=None` takes all rows in every step.
    """

    epochs: int = 100
    rate: float = 0.01
    weight_decay: float = 0.0
    batch_size: int | None = None
    optimizer: str = "adam"  # or sgd

    def __post_init__(self) -> None:
        if self.epochs < 1 or not self.rate > 0 or self.weight_decay < 0:
            raise InvalidInput(f"{self}: epochs and rate must be positive, weight_decay not negative")
        if self.optimizer not in ("adam", "sgd"):
            raise InvalidInput(f"optimizer {self.optimizer!r} is unknown; write 'adam' or 'sgd'")


class TorchTraining:
    """A game: players are training rows, the payoff is the test score of a module trained on them by `recipe`.

    `build` makes a fresh module (inputs of d columns, one output a class, or one for numbers); it is called under `seed`, and
    the caller's random state is left as it was. The empty coalition answers 0 everywhere, for no class more than
    another. Outputs are margins of the true class, or minus squared errors.

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
        try:
            import torch  # noqa: F401
        except ImportError:
            raise MissingExtra("torch", "text", "training a module") from None
        self.data, self.build, self.recipe, self.seed = data, build, recipe, seed
        self.metric = metric or ("neg_mean_squared_error" if data.classes is None else "accuracy")
        self._score = score_named(self.metric, data)

    @property
    def players(self) -> tuple[str, ...]:
        return self.data.names

    @property
    def targets(self) -> tuple[str, ...]:
        return self.data.targets

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return self.retrain(coalitions)[0]

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Payoffs (batch,) and margins (batch, M)."""
        answers = np.array([self._answers(coalition) for coalition in coalitions])
        answers = answers.reshape(len(coalitions), len(self.data.test_x), -1)
        return self._score(answers, self.data.test_y), margins(answers, self.data)

    def _answers(self, coalition: BoolArray) -> FloatArray:
        import torch

        columns = 1 if self.data.classes is None else len(self.data.classes)
        if not coalition.any():
            return np.zeros((len(self.data.test_x), columns))
        module = self.trained(coalition)
        with torch.no_grad():
            answers: FloatArray = module(torch.tensor(self.data.test_x, dtype=torch.float32)).double().numpy()
        return answers.reshape(-1, columns)

    def trained(self, coalition: BoolArray) -> torch.nn.Module:
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
            optimiser: Any = torch.optim.Adam if recipe.optimizer == "adam" else torch.optim.SGD
            steps = optimiser(module.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay)
            size = recipe.batch_size or len(rows)
            for _ in range(recipe.epochs):
                order = torch.randperm(len(rows)) if size < len(rows) else torch.arange(len(rows))
                for start in range(0, len(rows), size):
                    batch = order[start : start + size]
                    steps.zero_grad()
                    loss = mean_loss(module(x[batch]), y[batch])
                    torch.autograd.backward(loss)
                    steps.step()
        if not torch.isfinite(loss):
            raise NotConverged(f"training diverged: the loss is {loss.item()}; lower the rate of {recipe}")
        return module.eval()

    def fingerprint_parts(self) -> dict[str, Any]:
        """All that decides a payoff but the seed, which is part of the key."""
        import torch

        return {
            "data": self.data,
            "model": [self.build, self.recipe, f"torch {torch.__version__}"],
            "metric": self.metric,
        }


def mean_loss(answers: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Cross-entropy for whole-number labels, squared error for real ones."""
    import torch

    if y.dtype == torch.int64:
        return torch.nn.functional.cross_entropy(answers, y)
    return torch.nn.functional.mse_loss(answers.reshape(-1), y)
