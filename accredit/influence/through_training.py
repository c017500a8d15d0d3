r"""Influence through training: the derivative of an output with respect to each row's weight, through every step of a run.

Start, batches and optimiser are fixed (`TrainingRun`), so an output is a function of the weights of the rows, and

$$I_{it} = -\frac{\partial \ell_t}{\partial w_i}\Big|_{w=1}
\quad\text{or, for margins,}\quad \frac{\partial m_t}{\partial w_i}\Big|_{w=1}$$

is found backwards through the steps, for all targets at once (Maclaurin et al., 2015; Ilyas and Engstrom, 2025). No minimum
and no curvature is assumed. States are kept at √S of S steps and formed again in between, so memory grows with √S.

Where training is smooth this predicts retraining closely; where it is not, it is worthless. Which of the two is measured:
weights are moved by ±h along random signs, the model is trained again, and the true differences are compared with what the
derivative predicts. At h = 1 half of the rows leave and the others count twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks import check_seed, whole_number
from accredit.core import Claim, FloatArray, Holds, Procedure
from accredit.errors import InvalidInput
from accredit.influence.functions import DIVIDES_NOTHING, Influences
from accredit.influence.losses import Batch, Classification, check_rows
from accredit.influence.network import MEMORY_BYTES
from accredit.influence.training_runs import TrainingRun

if TYPE_CHECKING:
    import torch

    from accredit.influence.training_runs import State

OUTPUTS = {"loss": -1.0, "margin": 1.0}  # what is asked about, and the sign that makes a helpful row positive
SMOOTH_AGREEMENT = 0.7  # from which the derivative is called right; benchmarks/through_training.py says what lies on each side
STEPS_OF_REACH = (0.01, 0.1, 1.0)  # of the reach: how far weights are moved
STANDARD_ERRORS = 2.0  # around an agreement, within which it cannot be told from the limit
TARGETS_PER_PASS = 64  # targets that go back through one step together
TRAININGS_PER_PASS = 16  # trainings that run side by side
SMALL_EPS = 1e-3  # of Adam, below which tiny gradients make steps as large as others
KINKED = ("ReLU", "ReLU6", "LeakyReLU", "PReLU", "RReLU", "Hardtanh", "Hardswish", "Threshold", "MaxPool1d", "MaxPool2d")


class SmoothnessVerdict(Enum):
    """Whether the derivative predicts what training again gives."""

    SMOOTH = "smooth"
    CANNOT_TELL = "cannot tell"  # the agreement is within its error of the limit
    NOT_SMOOTH = "not smooth"


@dataclass(frozen=True)
class Smoothness:
    """How well the derivative predicts true differences: the mean cosine over targets, for every size of step.

    >>> Smoothness({0.1: 0.99, 1.0: 0.95}, 0.01, 8).verdict.value, Smoothness({0.1: 0.9, 1.0: 0.1}, 0.01, 8).verdict.value
    ('smooth', 'not smooth')
    """

    agreement: dict[float, float]  # step -> mean cosine; the last is the one that decides
    stderr: float  # of the last, over directions
    directions: int

    @property
    def reach(self) -> float:
        return max(self.agreement)

    @property
    def verdict(self) -> SmoothnessVerdict:
        beyond = self.agreement[self.reach] - SMOOTH_AGREEMENT
        if abs(beyond) < STANDARD_ERRORS * self.stderr:
            return SmoothnessVerdict.CANNOT_TELL
        return SmoothnessVerdict.SMOOTH if beyond >= 0 else SmoothnessVerdict.NOT_SMOOTH


def training_influence(
    run: TrainingRun,
    queries: Batch,
    *,
    output: str = "loss",
    reach: float = 1.0,
    directions: int = 8,
    memory: float = MEMORY_BYTES,
    seed: int = 0,
    names: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    trained: torch.nn.Module | None = None,
) -> Influences:
    """Differentiate outputs at the queries through the whole training run, and refuse where training is not smooth.

    `output` is the loss, or the margin log p/(1 − p) of the right class. Positive means that the row helps. Costs as much
    as a few trainings for 50 queries, and 6·`directions` trainings for the certificate, run side by side: the
    agreement between derivative and retraining with weights moved by 1, 10 and 100 % of `reach`. `reach=1` asks for scores
    that hold when half of the rows leave, `reach=0.1` for single rows and few of them. Give the model that you have as
    `trained`, and a run that does not end with its weights is refused.

    >>> import torch
    >>> from accredit.influence import training_run
    >>> from accredit.valuation import Recipe
    >>> torch.manual_seed(0) and None
    >>> x = torch.randn(40, 3); data = {"x": x, "labels": (x[:, 0] > 0).long()}
    >>> recipe = Recipe(epochs=10, rate=0.1, batch_size=10, optimizer="sgd", momentum=0.9)
    >>> run = training_run(torch.nn.Linear(3, 2), data, recipe, loss="classification")
    >>> found = training_influence(run, {name: value[:2] for name, value in data.items()}, reach=0.1)
    >>> found.matrix.shape, found.certificate["verdict"]
    ((40, 2), 'smooth')
    """
    asked = check_rows(queries, "queries")
    _check_question(run, output, reach, directions)
    _check_memory(run, asked, memory)
    if trained is not None:
        run.check_trained(trained)
    slope = derivative(run, queries, output)
    smoothness = measure_smoothness(run, queries, output, slope, reach=reach, directions=directions, seed=seed)
    if smoothness.verdict is SmoothnessVerdict.NOT_SMOOTH:
        raise InvalidInput(refusal(run, smoothness), argument="run", code="refuted")
    return Influences(
        tuple(names) if names is not None else tuple(f"row {i}" for i in range(run.rows)),
        tuple(targets) if targets is not None else tuple(f"query {i}" for i in range(asked)),
        OUTPUTS[output] * slope,
        Procedure("influence", "through training", {"output": output}),
        {
            "verdict": smoothness.verdict.value,
            "agreement": {f"{step:g}": value for step, value in smoothness.agreement.items()},
            "standard error": smoothness.stderr,
            "directions": directions,
            "reach": reach,
            "steps": len(run.batches),
            "parameters": run.parameters,
            "recipe": repr(run.recipe),
            "averaged": run.averaged,
        },
        claims_of(run),
    )


def derivative(run: TrainingRun, queries: Batch, output: str) -> FloatArray:
    """∂output_t/∂w_i at w = 1, for all rows and queries: (N, T)."""
    import torch

    count = len(run.batches)
    stride = math.isqrt(count - 1) + 1  # ⌈√S⌉
    ones = torch.ones_like(run.start()[0][:1]).repeat(run.rows)
    kept = {n: state for n, state in enumerate(run.states(ones)) if n % stride == 0 or n == count}
    run.check_finite(kept[count][0])
    back = _slope_at_the_end(run, kept[count], queries, output)
    found = torch.zeros(len(back[0]), run.rows).to(ones)
    for first in range((count - 1) // stride * stride, -1, -stride):
        back, rows = _back_through(run, kept.pop(first), range(first, min(first + stride, count)), ones, back)
        found += rows
    return np.asarray(found.double().cpu().T.numpy())


def _slope_at_the_end(run: TrainingRun, state: State, queries: Batch, output: str) -> State:
    """The derivative of every output with respect to the last state: (T, P) each."""
    import torch

    theta = state[0].clone().requires_grad_()
    said = run.outputs(theta, queries, output)
    slope = torch.stack([torch.autograd.grad(one, theta, retain_graph=True)[0] for one in said])
    return (slope, *(torch.zeros_like(slope) for _ in state[1:]))


def _back_one_step(
    run: TrainingRun, state: State, number: int, weights: torch.Tensor, back: State
) -> tuple[State, torch.Tensor]:
    """From the derivative with respect to the state after a step, those with respect to the state before it and the weights."""
    import torch

    given = [part.clone().requires_grad_() for part in (*state, weights)]
    after = run.step(tuple(given[:-1]), number, given[-1])
    passes = [slice(i, i + TARGETS_PER_PASS) for i in range(0, len(back[0]), TARGETS_PER_PASS)]
    parts = [
        torch.autograd.grad(after, given, [part[some] for part in back], is_grads_batched=True, retain_graph=True)
        for some in passes
    ]
    *before, rows = (torch.cat(part) for part in zip(*parts, strict=True))
    return tuple(before), rows


def _back_through(
    run: TrainingRun, start: State, numbers: range, weights: torch.Tensor, back: State
) -> tuple[State, torch.Tensor]:
    """The same through several steps, whose states are formed again from the first."""
    import torch

    states = list(run.states(weights, start, numbers.start, numbers.stop))
    found = torch.zeros(len(back[0]), run.rows).to(weights)
    for number in reversed(numbers):
        back, rows = _back_one_step(run, states[number - numbers.start], number, weights, back)
        found += rows
    return back, found


def measure_smoothness(
    run: TrainingRun,
    queries: Batch,
    output: str,
    slope: FloatArray,
    *,
    reach: float = 1.0,
    directions: int = 8,
    seed: int = 0,
) -> Smoothness:
    """Train again with weights 1 ± h·z for random signs z, and compare the differences with z·slope."""
    signs = np.random.default_rng(check_seed(seed)).choice([-1.0, 1.0], size=(directions, run.rows))
    predicted = signs @ slope  # (directions, T)
    agreement, last = {}, np.empty(0)
    for step in (reach * share for share in STEPS_OF_REACH):
        moved = np.concatenate([1 + step * signs, 1 - step * signs])
        parts = np.array_split(moved, -(-len(moved) // TRAININGS_PER_PASS))
        outputs = np.concatenate([run.retrain(part, queries, output) for part in parts])
        measured = (outputs[:directions] - outputs[directions:]) / (2 * step)
        agreement[step] = mean_cosine(measured, predicted)
        rest = [np.arange(directions) != k for k in range(directions)]
        last = np.array([mean_cosine(measured[part], predicted[part]) for part in rest])
    jackknife = math.sqrt((directions - 1) / directions * float(((last - last.mean()) ** 2).sum()))
    return Smoothness(agreement, jackknife, directions)


def mean_cosine(a: FloatArray, b: FloatArray) -> float:
    """The cosine between the columns of two matrices, averaged; columns that are zero in both agree.

    >>> mean_cosine(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    0.853...
    """
    norms = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    neither = ~a.any(axis=0) & ~b.any(axis=0)
    return float(np.where(neither, 1.0, (a * b).sum(axis=0) / np.where(norms > 0, norms, 1.0)).mean())


def refusal(run: TrainingRun, smoothness: Smoothness) -> str:
    """Why the derivative means nothing here, and what would make training smoother."""
    seen = ", ".join(f"{value:.2f} at steps of {step:g}" for step, value in smoothness.agreement.items())
    cures = [f"a smaller rate than {run.recipe.rate:g}"]
    if kinked := sorted({type(part).__name__ for part in run.model.modules()} & set(KINKED)):
        cures.append(f"a smooth activation (GELU, SiLU, Tanh) in place of {', '.join(kinked)}")
    if run.recipe.optimizer != "sgd" and run.recipe.eps < SMALL_EPS:
        cures.append(f"a larger eps than {run.recipe.eps:g}, say {10 * SMALL_EPS:g}")
    near = [step for step, value in smoothness.agreement.items() if value >= SMOOTH_AGREEMENT]
    closer = f" The scores would hold for smaller changes: reach={max(near):g}." if near else ""
    return (
        f"this training is not smooth: the derivative agrees with training again at {seen} (mean cosine, {SMOOTH_AGREEMENT:g} "
        f"is needed at the last), so its scores would mean little. Train with {', or '.join(cures)}.{closer} Or ask "
        "network_influence, which looks at the end of training only"
    )


def claims_of(run: TrainingRun) -> tuple[Claim, ...]:
    """What a derivative through this run keeps."""
    whole = all(len(batch) == run.rows for batch in run.batches)
    return (
        Claim("efficiency", Holds.NO, DIVIDES_NOTHING),
        Claim("symmetry", Holds.EXACTLY, "equal rows have equal gradients in every step")
        if whole
        else Claim("symmetry", Holds.NO, "equal rows may stand in different batches"),
        Claim("null player", Holds.UNKNOWN, "a slope of zero is not an effect of zero"),
        Claim("linearity", Holds.EXACTLY, "the run is fixed, and a slope is linear in the output"),
    )


def _check_question(run: TrainingRun, output: str, reach: float, directions: int) -> None:
    if output not in OUTPUTS:
        raise InvalidInput(f"output is {output!r}; write one of {', '.join(OUTPUTS)}", argument="output", code="unknown")
    if output == "margin" and not isinstance(run.loss, Classification):
        raise InvalidInput(
            f"output='margin' is about classes, and this run has the loss {run.loss!r}; write output='loss'",
            argument="output",
            code="conflict",
        )
    if not 0 < reach <= 1:
        raise InvalidInput(
            f"reach is {reach!r}; give a number above 0 and up to 1, at which half of the rows leave",
            argument="reach",
            code="range",
        )
    if whole_number(directions, "directions", example=8) < 2:
        raise InvalidInput(
            "directions is 1; give two at least, or nothing is known of its error", argument="directions", code="range"
        )


def _check_memory(run: TrainingRun, asked: int, memory: float) -> None:
    """Refuse what would not fit: derivatives of all targets with respect to a state, and the states that are kept."""
    start = run.start()
    states = 2 * math.isqrt(len(run.batches)) + TRAININGS_PER_PASS + 2
    needed = start[0].element_size() * (run.parameters * len(start) * (2 * asked + states) + 2 * run.rows * asked)
    if needed > memory:
        raise InvalidInput(
            f"{asked} queries through {len(run.batches):,} steps of {run.parameters:,} parameters need about "
            f"{needed / 1e9:.1f} GB and memory allows {memory / 1e9:.1f} GB; ask fewer queries at a time, train fewer "
            "parameters (freeze the others, as LoRA does), or raise memory",
            argument="memory",
            code="too-many",
        )
