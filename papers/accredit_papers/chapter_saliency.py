"""Section 10.4 of the chapter: the axioms of integrated gradients, and concepts for one input."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks import needs
from accredit.core import FloatArray
from accredit.games import FunctionGame
from accredit.values import shapley
from accredit_papers.report import Report

if TYPE_CHECKING:
    import torch

STEP = 1e-6


def gradient_axioms(report: Report) -> None:
    """Section 10.4.1: sensitivity, implementation invariance, and what a straight path does not see."""
    with needs("text", "the axioms of integrated gradients"):
        import torch
    from accredit.gradients import integrated_gradients, saliency

    report.heading("10.4.1 The axioms of integrated gradients")
    relu = torch.relu
    flat = _module(lambda x: 1 - relu(1 - x[:, 0]) + 0 * x[:, 1])
    credit = integrated_gradients(flat, [2.0, 1.0], target=0, baseline=[0.0, 0.0]).credit
    slope = saliency(flat, [2.0, 1.0], target=0).credit
    report.verdict(
        "Sensitivity: a coordinate that changes the output gets credit, one that never does gets none",
        abs(credit[0] - 1) < 1e-3 and credit[1] == 0,
        f"F = 1 − max(0, 1 − x₁) from 0 to 2 moves by 1: integrated gradients give {credit[0]:.4f} and {credit[1]:g}; "
        f"the plain gradient at x₁ = 2 is {slope[0]:g}, and breaks the axiom",
    )
    one = _module(lambda x: relu(x[:, 0] - 1 - relu(x[:, 1])))
    other = _module(lambda x: relu(relu(x[:, 0] - 1) - relu(x[:, 1])))
    points = np.random.default_rng(0).normal(size=(200, 2)) * 3
    same = float(np.abs(_outputs(one, points) - _outputs(other, points)).max())
    pair = [integrated_gradients(f, [3.0, 1.0], target=0, baseline=[0.0, 0.0]).credit for f in (one, other)]
    values = [shapley(_mask(f, np.array([3.0, 1.0]))).credit for f in (one, other)]
    apart = float(np.abs(pair[0] - pair[1]).max())
    report.verdict(
        "Implementation invariance: networks that compute the same function get the same credit",
        same < 1e-12 and apart < 1e-3 and np.allclose(values[0], values[1]),
        f"max(0, x₁ − 1 − max(0, x₂)) written in two ways: integrated gradients ({pair[0][0]:.3f}, {pair[0][1]:.3f}) and "
        f"({pair[1][0]:.3f}, {pair[1][1]:.3f}); Shapley values, which see payoffs alone, cannot differ either",
    )
    plain = _module(lambda x: x[:, 0] * x[:, 1])
    aside = _module(lambda x: x[:, 0] * x[:, 1] + 2 * relu(x[:, 0] - x[:, 1] - 0.5))
    unseen = [integrated_gradients(f, [1.0, 1.0], target=0, baseline=[0.0, 0.0]).credit for f in (plain, aside)]
    moved = [shapley(_mask(f, np.ones(2))).credit for f in (plain, aside)]
    report.verdict(
        "A straight path does not see what happens beside it",
        np.allclose(unseen[0], unseen[1], atol=1e-6) and abs(moved[1][0] - moved[0][0]) > 0.4,
        f"x₁x₂, and x₁x₂ + 2 max(0, x₁ − x₂ − ½), which differs only off the diagonal: integrated gradients stay "
        f"({unseen[0][0]:.2f}, {unseen[0][1]:.2f}), Shapley values move from {_pair(moved[0])} to {_pair(moved[1])}",
    )


def concepts_per_input(report: Report, seed: int) -> None:
    """Section 10.4.2: S(x) of one input is a directional derivative; the score is the share of inputs where it is positive."""
    with needs("text", "concept activation vectors"):
        import torch
    from accredit.gradients import tcav
    from accredit.gradients.concepts import concept_vector, layer_activations

    report.heading("10.4.2 Concepts, input by input")
    rng = np.random.default_rng(seed)

    class Striped(torch.nn.Module):
        """Class 1 gains with hidden coordinate 0, less and less, and loses with it where coordinate 2 is large."""

        def __init__(self) -> None:
            super().__init__()
            self.hidden = torch.nn.Identity()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.hidden(x)
            up = torch.tanh(h[:, 0]) * (1 - h[:, 2])
            return torch.stack([-up, up], dim=1)

    model, stripes = Striped().double(), rng.normal(size=(30, 6)) + 4 * np.eye(6)[0]
    pool, inputs = rng.normal(size=(80, 6)), rng.normal(size=(25, 6))
    told = tcav(
        model,
        list(inputs),
        {"stripes": list(stripes)},
        list(pool),
        layer="hidden",
        target=1,
        random_concepts=9,
        seed=seed,
    )
    each = np.asarray(told.certificate["sensitivity per input"])[0]
    direction, _ = concept_vector(
        layer_activations(model, list(stripes), "hidden"), layer_activations(model, list(pool[:30]), "hidden")
    )
    limit = (_outputs(model, inputs + STEP * direction, 1) - _outputs(model, inputs - STEP * direction, 1)) / (2 * STEP)
    slopes = _slopes(model, inputs) @ direction
    report.verdict(
        "S(x) = ∇h(f(x)) · v is the limit of [h(f(x) + εv) − h(f(x))]/ε, for every input",
        float(np.abs(limit - slopes).max()) < 1e-6,
        f"{len(inputs)} inputs of a model whose layer is known: largest gap {np.abs(limit - slopes).max():.1e}",
    )
    share = float((each > 0).mean())
    report.verdict(
        "The TCAV score is the directional derivative, as the chapter words it",
        abs(told["stripes"] - each.mean()) < 1e-6,
        f"the score is the share of inputs with S(x) > 0, here {told['stripes']:.2f}; the mean of S(x) is {each.mean():.2f}. "
        f"One input has an S(x), {each.min():.2f} to {each.max():.2f} here and positive for {share:.0%}, and no score",
    )


def _pair(values: FloatArray) -> str:
    return f"({values[0]:.2f}, {values[1]:.2f})"


def _module(function: Callable[[torch.Tensor], torch.Tensor]) -> torch.nn.Module:
    """A function of rows as a module with one output, in double precision."""
    import torch

    class Written(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return function(x)[:, None]

    return Written().double()


def _outputs(model: torch.nn.Module, rows: FloatArray, output: int = 0) -> FloatArray:
    import torch

    with torch.no_grad():
        return np.asarray(model(torch.tensor(rows, dtype=torch.float64))[:, output].numpy())


def _slopes(model: torch.nn.Module, rows: FloatArray) -> FloatArray:
    import torch

    x = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(model(x)[:, 1].sum(), x)
    return np.asarray(slope.numpy())


def _mask(model: torch.nn.Module, row: FloatArray) -> FunctionGame:
    """The game in which an absent coordinate is 0."""
    return FunctionGame(("x₁", "x₂"), lambda coalitions: _outputs(model, coalitions * row))
