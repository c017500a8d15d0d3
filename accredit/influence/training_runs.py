r"""A training run that can be run again: the same start, batches and optimiser, with a weight for every training row.

In each step the loss of a batch B is

$$\frac{\sum_{i \in B} w_i\, \ell_i(\theta)}{\sum_{i \in B} w_i}
\qquad\text{or}\qquad \frac{1}{|B|} \sum_{i \in B} w_i\, \ell_i(\theta)$$

where the batch is not averaged anew. With w = 1 it is the training that torch would do; with w_i = 0 row i was never there.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.checks import check_seed, needs
from accredit.checks.numbers import a_type
from accredit.core import FloatArray
from accredit.errors import InvalidInput, NotConverged
from accredit.influence.losses import Batch, Loss, answers_of, check_rows, loss_named, pick
from accredit.models.precision import check_precision
from accredit.valuation.torch_training import OPTIMIZERS, Recipe

if TYPE_CHECKING:
    import torch

    State = tuple[torch.Tensor, ...]  # the weights, then what the optimiser remembers of them: (P,) each

SAME_WEIGHTS = 1e-2  # relative: how far weights may be off for a run to be called the one that made them
REMEMBERED = {"sgd": 1, "adam": 2, "adamw": 2}  # numbers per weight that an optimiser keeps between steps


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """A module at its start, the rows it is trained on, and how: everything that decides the trained weights.

    >>> import torch
    >>> torch.manual_seed(0) and None
    >>> x = torch.randn(20, 3); data = {"x": x, "labels": (x[:, 0] > 0).long()}
    >>> recipe = Recipe(epochs=5, batch_size=8, optimizer="sgd")
    >>> run = training_run(torch.nn.Linear(3, 2), data, recipe, loss="classification")
    >>> len(run.batches), run.parameters, run.retrain(np.ones((1, 20)), data).shape
    (15, 8, (1, 20))
    """

    model: torch.nn.Module  # a copy of its own, at the weights that training starts from
    data: Batch
    recipe: Recipe
    loss: Loss
    batches: tuple[tuple[int, ...], ...]  # the rows of every step
    averaged: bool  # a batch is averaged over the rows that remain in it
    seed: int
    shapes: dict[str, torch.Size] = field(repr=False)  # of the parameters that are trained
    rates: tuple[float, ...] = field(repr=False)  # of every step

    @property
    def rows(self) -> int:
        return len(self.data["labels"])

    @property
    def parameters(self) -> int:
        return sum(map(math.prod, self.shapes.values()))

    def start(self) -> State:
        """The state before the first step: the weights, and an optimiser that remembers nothing."""
        import torch

        theta = torch.cat([self.model.get_parameter(name).detach().reshape(-1) for name in self.shapes])
        return (theta, *(torch.zeros_like(theta) for _ in range(REMEMBERED[self.recipe.optimizer])))

    def step(self, state: State, number: int, weights: torch.Tensor) -> State:
        """The state after one step from `state`, differentiable in it and in the weights of all rows (N,)."""
        import torch

        rows = list(self.batches[number])
        part, share = pick(self.data, rows, state[0].device), weights[rows]
        whole = share.sum() if self.averaged else torch.full_like(share.sum(), len(rows))

        def loss(theta: torch.Tensor) -> torch.Tensor:  # of a batch that everybody left: 0
            return (share * self.losses(theta, part)).sum() / torch.where(whole > 0, whole, 1.0)

        self.model.train()
        with torch.random.fork_rng(devices=[]):  # the same dropout whenever this step is run
            torch.manual_seed(self.seed + 1 + number)
            slope = torch.func.grad(loss)(state[0])
        return optimiser_step(self.recipe, state, slope, number + 1, self.rates[number])

    def states(
        self, weights: torch.Tensor, start: State | None = None, first: int = 0, end: int | None = None
    ) -> Iterator[State]:
        """The state before step `first`, and after every step from there to before step `end`."""
        state = self.start() if start is None else start
        yield state
        for number in range(first, len(self.batches) if end is None else end):
            state = tuple(part.detach() for part in self.step(state, number, weights))
            yield state

    def trained(self) -> State:
        """The state after all steps, with all rows."""
        import torch

        *_, last = self.states(torch.ones(self.rows).to(self.start()[0]))
        self.check_finite(last[0])
        return last

    def trained_model(self) -> torch.nn.Module:
        """A copy of the module, trained on all rows, in evaluation mode."""
        import torch

        module = copy.deepcopy(self.model)
        with torch.no_grad():
            for name, value in self._named(self.trained()[0]).items():
                module.get_parameter(name).copy_(value)
        return module.eval()

    def check_trained(self, model: torch.nn.Module) -> None:
        """Refuse a model that this run does not end with: another seed, recipe, order of rows or start."""
        theirs = dict(model.named_parameters())
        if missing := [name for name, shape in self.shapes.items() if name not in theirs or theirs[name].shape != shape]:
            raise InvalidInput(
                f"the model has no parameter {missing[0]} of shape {tuple(self.shapes[missing[0]])}, which this run trains; "
                "give the model that was trained by it",
                argument="trained",
                code="conflict",
            )
        ours = self._named(self.trained()[0])
        off, name = max(
            (float((theirs[n].detach().to(v) - v).abs().max() / v.abs().max().clamp(min=1e-12)), n) for n, v in ours.items()
        )
        if off > SAME_WEIGHTS:
            raise InvalidInput(
                f"this run does not end with the weights of the model: {name} is {off:.2g} off. State the same start, recipe, "
                "batches= and seed as it was trained with, or take run.trained_model()",
                argument="trained",
                code="conflict",
            )

    def retrain(self, weights: FloatArray, queries: Batch, output: str = "loss") -> FloatArray:
        """Outputs at the queries (K, T) after training with each of K rows of weights (K, N), all K side by side."""
        import torch

        start = self.start()
        many = torch.as_tensor(np.asarray(weights)).to(start[0])
        if many.ndim != 2 or many.shape[1] != self.rows:
            raise InvalidInput(
                f"weights have shape {tuple(many.shape)}; give one row of {self.rows} weights per training",
                argument="weights",
                code="shape",
            )
        state = tuple(part.expand(len(many), -1) for part in start)
        with torch.no_grad():
            for number in range(len(self.batches)):
                state = torch.func.vmap(self.step, in_dims=(0, None, 0), randomness="same")(state, number, many)
            found = torch.stack([self.outputs(theta, queries, output) for theta in state[0]])
        self.check_finite(found)
        return np.asarray(found.double().cpu().numpy())

    def outputs(self, theta: torch.Tensor, queries: Batch, output: str) -> torch.Tensor:
        """At every query (T,), in evaluation mode: its loss, or the log-odds of its class."""
        import torch

        self.model.eval()
        part = pick(queries, slice(None), theta.device)
        if output == "loss":
            return self.losses(theta, part)
        answers, labels = self._answers(theta, part), part["labels"][:, None]
        others = answers.scatter(1, labels, -math.inf)
        return torch.as_tensor(answers.gather(1, labels)[:, 0] - torch.logsumexp(others, dim=1))

    def check_finite(self, numbers: torch.Tensor) -> None:
        import torch

        if not bool(torch.isfinite(numbers).all()):
            raise NotConverged(f"training diverged: some weights are not finite; lower the rate of {self.recipe}")

    def losses(self, theta: torch.Tensor, part: Batch) -> torch.Tensor:
        """The loss of every row of a batch (rows,), at these weights."""
        return self.loss.rows(self._answers(theta, part), part["labels"])

    def _answers(self, theta: torch.Tensor, part: Batch) -> torch.Tensor:
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel

        named = self._named(theta)

        def call(*given: Any, **by_name: Any) -> Any:
            return torch.func.functional_call(self.model, named, given, by_name)

        with sdpa_kernel(SDPBackend.MATH):  # the attention whose gradient has a gradient
            return answers_of(call, part)

    def _named(self, theta: torch.Tensor) -> dict[str, torch.Tensor]:
        ends = accumulate(map(math.prod, self.shapes.values()))
        return {
            name: theta[end - math.prod(shape) : end].reshape(shape)
            for (name, shape), end in zip(self.shapes.items(), ends, strict=True)
        }


def optimiser_step(recipe: Recipe, state: State, slope: torch.Tensor, count: int, rate: float) -> State:
    """Where torch's optimiser goes from `state` with this gradient, in its step number `count` (from 1 on), at this rate.

    >>> import torch
    >>> one = torch.ones(1)
    >>> [float(part) for part in optimiser_step(Recipe(optimizer="sgd", momentum=0.9), (one, one), one, 2, rate=0.5)]
    [0.05..., 1.89...]
    """
    import torch

    theta, *remembered = state
    if recipe.optimizer == "adamw":
        theta = theta * (1 - rate * recipe.weight_decay)
    else:
        slope = slope + recipe.weight_decay * theta
    if recipe.optimizer == "sgd":
        velocity = recipe.momentum * remembered[0] + slope
        return theta - rate * velocity, velocity
    (first, second), (b1, b2) = remembered, recipe.betas
    first, second = b1 * first + (1 - b1) * slope, b2 * second + (1 - b2) * slope**2
    moved = second > 0  # the root has no slope at 0, and what was never moved needs none
    spread = torch.where(moved, torch.where(moved, second, 1.0).sqrt(), 0.0) / math.sqrt(1 - b2**count)
    return theta - rate / (1 - b1**count) * first / (spread + recipe.eps), first, second


def training_run(
    model: torch.nn.Module,
    data: Batch,
    recipe: Recipe,
    *,
    loss: str | Loss | None = None,
    averaged: bool = True,
    batches: Sequence[Sequence[int]] | None = None,
    seed: int = 0,
) -> TrainingRun:
    """State how a module is trained, from the weights that it has now; what requires no gradient stays as it is.

    Batches are drawn by `seed` for every epoch, or given: the rows of every step, in order. `averaged` says that a batch is
    averaged over the rows that remain when some leave; otherwise it is still divided by its size. Dropout is the same in
    every run. A module that normalises over the batch is refused: its rows are not apart.

    >>> import torch
    >>> data = {"x": torch.eye(3), "labels": torch.tensor([0, 1, 1])}
    >>> steps = [(0, 1), (1, 2)]
    >>> run = training_run(torch.nn.Linear(3, 2), data, Recipe(optimizer="sgd"), loss="classification", batches=steps)
    >>> run.batches
    ((0, 1), (1, 2))
    """
    with needs("text", "training a module"):
        import torch
    rows = check_rows(data, "data")
    _check_recipe(recipe)
    check_precision(model.parameters())
    kept = {name: value.shape for name, value in model.named_parameters() if value.requires_grad}
    if not kept:
        raise InvalidInput(
            "no parameter of the model requires a gradient, so none is trained; set requires_grad_(True) on those that are",
            argument="model",
            code="empty",
        )
    if len({(p.dtype, p.device) for p in model.parameters() if p.requires_grad}) > 1:
        raise InvalidInput(
            "the trained parameters are of several dtypes or on several devices; bring them together with model.to(…)",
            argument="model",
            code="conflict",
        )
    batch_norm = torch.nn.modules.batchnorm._BatchNorm
    if mixing := [name for name, part in model.named_modules() if isinstance(part, batch_norm)]:
        raise InvalidInput(
            f"{mixing[0]} normalises over the batch, so a row without weight would still move the others; train with LayerNorm "
            "or GroupNorm instead",
            argument="model",
            code="unsupported",
        )
    steps = draw_batches(rows, recipe, check_seed(seed)) if batches is None else tuple(tuple(map(int, b)) for b in batches)
    _check_batches(steps, rows, averaged)
    own = copy.deepcopy(model)
    run = TrainingRun(
        own, data, recipe, loss_named(loss, model), steps, averaged, int(seed), kept, tuple(recipe.rates(len(steps)))
    )
    _check_differentiable(run)
    return run


def _check_recipe(recipe: object) -> None:
    if not isinstance(recipe, Recipe):
        raise InvalidInput(
            f"recipe is {a_type(recipe)}; state the training as Recipe(epochs=…, rate=…, optimizer=…). Steps of "
            f"{', '.join(OPTIMIZERS)} can be differentiated through; those of other optimisers are not known here",
            argument="recipe",
            code="type",
        )


def _check_differentiable(run: TrainingRun) -> None:
    """Refuse, before anything is trained, a loss or a module whose first step has no derivative, or none that says anything."""
    import torch

    start = run.start()
    rows = len(set(run.batches[0]))
    theta = start[0].clone().requires_grad_()
    try:
        weights = torch.ones_like(theta[:1]).repeat(run.rows).requires_grad_()
        after = run.step((theta, *start[1:]), 0, weights)[0]
        torch.autograd.grad(after.sum(), (theta, weights))
        run.model.train()
        part = pick(run.data, list(run.batches[0]), theta.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(run.seed + 1)
            slope = torch.func.grad(lambda t: run.losses(t, part).sum())(start[0])
    except (RuntimeError, NotImplementedError) as error:
        raise InvalidInput(
            f"a step of training with the loss {run.loss!r:.60} cannot be differentiated twice: "
            f"{str(error).splitlines()[0]:.120}. Write the loss and the module with torch operations that have "
            "a second derivative, without .detach(), .item() and numpy; or ask network_influence, which needs first "
            "derivatives only",
            argument="loss",
            code="unsupported",
        ) from None
    if not bool(slope.any()):
        raise InvalidInput(
            f"the loss {run.loss!r:.60} does not depend on any trained weight in the first batch of {rows} rows: its slope "
            "is zero. A count of errors has no slope; train with a smooth loss, such as cross-entropy",
            argument="loss",
            code="unsupported",
        )


def draw_batches(rows: int, recipe: Recipe, seed: int) -> tuple[tuple[int, ...], ...]:
    """The rows of every step: a new order for each epoch, cut into batches.

    >>> [len(batch) for batch in draw_batches(5, Recipe(epochs=2, batch_size=3), seed=0)]
    [3, 2, 3, 2]
    """
    import torch

    generator, size = torch.Generator().manual_seed(seed), recipe.batch_size or rows
    orders = [torch.randperm(rows, generator=generator).tolist() for _ in range(recipe.epochs)]
    return tuple(tuple(order[i : i + size]) for order in orders for i in range(0, rows, size))


def _check_batches(batches: Sequence[Sequence[int]], rows: int, averaged: bool) -> None:
    if not batches or not all(batches) or not all(0 <= row < rows for batch in batches for row in batch):
        raise InvalidInput(
            f"batches must list rows from 0 to {rows - 1}, at least one per step; got {len(batches)} steps, the first "
            f"{batches[:1]!r:.60}",
            argument="batches",
            code="range",
        )
    if averaged and (alone := next((n for n, batch in enumerate(batches) if len(set(batch)) == 1), None)) is not None:
        raise InvalidInput(
            f"the batch of step {alone + 1} is row {batches[alone][0]} alone, and an average over one row does not depend on "
            "its weight; write averaged=False, or choose another batch_size",
            argument="averaged",
            code="conflict",
        )
