r"""Concepts (TCAV; Kim et al., 2018): does the payoff grow in the direction of a concept inside the model?

Activations of a layer for examples of a concept are separated from those of random examples by a linear classifier; its
unit normal v is the *concept activation vector*. The sensitivity of an input is the slope of the payoff along v at the
layer, $S = \nabla_h f \cdot v$, and the score of the concept is the share of inputs with $S > 0$. A score means something
only if random sets of examples, taken as concepts, score differently. That is tested, and corrected for the number of
concepts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from scipy import stats
from scipy.optimize import minimize

from accredit.checks import shown
from accredit.checks.arguments import check_arguments
from accredit.core import AXIOMS, Attribution, Claim, FloatArray, Holds, Procedure, no_division
from accredit.core.estimate import Precision
from accredit.core.statistics import ALIKE, alike, holm
from accredit.errors import InvalidInput, NotConverged
from accredit.gradients.point import Point, point
from accredit.models.arrays import ArrayModel
from accredit.models.image import ImageModel
from accredit.models.text import TextModel

CLAIMS = (
    *no_division("a score is the share of inputs whose payoff grows along the concept"),
    *(Claim(axiom, Holds.NO, "concepts are directions, not players") for axiom in AXIOMS[1:]),
)


@check_arguments
def tcav(
    model: object,
    examples: Sequence[object],
    concepts: Mapping[str, Sequence[object]],
    random: Sequence[object],
    *,
    layer: str,
    target: str | int,
    payoff: str | None = None,
    random_concepts: int = 99,
    negatives: int = 5,
    test: Literal["rank", "t"] = "rank",
    penalty: float = 1.0,
    seed: int = 0,
) -> Attribution:
    """TCAV score of each concept for one target, with p-values against random concepts, corrected by Holm's method.

    `examples` are the inputs whose payoff is studied, `concepts` maps names to example inputs, `random` is a pool of
    unrelated inputs of the same kind. `layer` is a module's name inside the model, such as "bert.encoder.layer.1". Each
    concept is set against `negatives` random sets of its own size, and its score is the mean over them.

    `test="rank"` asks whether the concept's mean sensitivity is more extreme than those of `random_concepts` sets drawn
    from the pool and treated in the same way. (Scores would be a poor statistic: where the model's slopes agree, every
    direction scores 0 or 1.) Its p-value (1 + as extreme) / (1 + random_concepts) is valid if a null concept is
    exchangeable with the pool; overlap between random sets makes that approximate. `test="t"` is the published Welch
    t-test of scores over negatives; it ignores that the concept's own examples are a sample, so it finds too much.

    The result is in `certificate`: "p", "p corrected", "random score" (mean over random concepts), "sensitivity" (mean
    slope along the concept), "sensitivity per input" (the slope S(x) of each input, a row for each concept) and "separation"
    (the classifiers' mean accuracy on their own examples).

    >>> import torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    >>> _ = net[0].weight.data.copy_(torch.eye(2)), net[1].weight.data.copy_(torch.tensor([[0.0, 0.0], [1.0, 0.0]]))
    >>> rng = np.random.default_rng(0)
    >>> examples, random = rng.normal(size=(5, 2)), rng.normal(size=(40, 2))
    >>> concepts = {"right": rng.normal(size=(10, 2)) + [5, 0]}
    >>> found = tcav(net, examples, concepts, random, layer="0", target=1, random_concepts=9, negatives=2)
    >>> found["right"], bool(found.certificate["separation"][0] > 0.9)
    (1.0, True)
    """
    _check(concepts, random, examples, random_concepts, negatives, penalty)
    rng = np.random.default_rng(seed)
    slopes = layer_slopes(model, examples, layer, target, payoff)  # (k, d)
    pool = layer_activations(model, random, layer)  # (m, d)
    known = {name: layer_activations(model, given, layer) for name, given in concepts.items()}
    sizes = sorted({len(acts) for acts in known.values()})
    null = {
        size: [_random_concept(pool, size, slopes, negatives, penalty, rng) for _ in range(random_concepts)] for size in sizes
    }
    found = [_measure(acts, pool, slopes, negatives, penalty, rng) for acts in known.values()]
    nulls = [null[len(acts)] for acts in known.values()]
    p = np.array([_p_value(own, others, test) for own, others in zip(found, nulls, strict=True)])
    scores = np.stack([own.scores for own in found])  # (concepts, negatives)
    settings = {"layer": layer, "random_concepts": random_concepts, "negatives": negatives, "test": test, "seed": seed}
    return Attribution(
        tuple(concepts),
        scores.mean(axis=1),
        None,
        Procedure("tcav", settings=settings),
        CLAIMS,
        precision=Precision.unknown("standard errors over draws of other examples only; see the p-values"),
        stderr=scores.std(axis=1, ddof=1) / np.sqrt(negatives),
        seed=seed,
        certificate={
            "p": p,
            "p corrected": holm(p),
            "random score": [np.mean([other.scores for other in others]) for others in nulls],
            "sensitivity": [own.sensitivity for own in found],
            "sensitivity per input": np.stack([own.each for own in found]),
            "separation": [own.separation for own in found],
        },
    )


@dataclass(frozen=True, eq=False)
class Concept:
    """A set of examples taken as a concept."""

    scores: FloatArray  # (negatives,) share of inputs with positive slope along it
    each: FloatArray  # (inputs,) slope along it, S(x), mean over the negatives
    separation: float  # accuracy of the classifiers on their own examples

    @property
    def sensitivity(self) -> float:
        """The mean slope along it."""
        return float(self.each.mean())


def _check(
    concepts: Mapping[str, object],
    random: Sequence[object],
    examples: Sequence[object],
    draws: int,
    negatives: int,
    penalty: float,
) -> None:
    if not concepts or len(examples) == 0:
        raise InvalidInput(
            f"got {len(concepts)} concepts and {len(examples)} examples; give at least one of each",
            argument="examples" if (concepts) else "concepts",
            code="empty",
        )
    for name, given in concepts.items():
        if isinstance(given, str | bytes) or not hasattr(given, "__len__"):
            raise InvalidInput(
                f"concepts[{name!r}] is {shown(given)}; give a list of its examples", argument="concepts", code="type"
            )
        if len(given) < 2:
            raise InvalidInput(
                f"concept {name!r} has {len(given)} examples; a direction needs at least 2", argument="concepts", code="range"
            )
        if len(random) < 2 * len(given):
            raise InvalidInput(
                f"random has {len(random)} inputs and concept {name!r} {len(given)}; the pool must hold two disjoint sets of "
                f"that size: give at least {2 * len(given)}",
                argument="random",
                code="range",
            )
    if not 0 < penalty < math.inf:
        raise InvalidInput(
            f"penalty is {penalty!r}; give a positive number, as in penalty=1.0", argument="penalty", code="range"
        )
    if draws < 1 or negatives < 2:
        raise InvalidInput(
            f"random_concepts={draws}, negatives={negatives}: give at least 1 and at least 2",
            argument="negatives" if (draws >= 1) else "random_concepts",
            code="range",
        )


def _measure(
    concept: FloatArray, pool: FloatArray, slopes: FloatArray, negatives: int, penalty: float, rng: np.random.Generator
) -> Concept:
    """A concept against `negatives` random sets of its own size."""
    scores, each, separation = np.empty(negatives), np.zeros(len(slopes)), 0.0
    for k in range(negatives):
        negative = pool[rng.choice(len(pool), len(concept), replace=False)]
        direction, accuracy = concept_vector(concept, negative, penalty)
        along = slopes @ direction
        scores[k] = (
            along > ALIKE * (np.abs(slopes) @ np.abs(direction))
        ).mean()  # what cancels but for rounding is not above 0
        each += along / negatives
        separation += accuracy / negatives
    return Concept(scores, each, separation)


def _random_concept(
    pool: FloatArray, size: int, slopes: FloatArray, negatives: int, penalty: float, rng: np.random.Generator
) -> Concept:
    """A random set as a concept, against sets from the rest of the pool."""
    order = rng.permutation(len(pool))
    return _measure(pool[order[:size]], pool[order[size:]], slopes, negatives, penalty, rng)


def _p_value(own: Concept, others: Sequence[Concept], test: str) -> float:
    """Two-sided p-value of a concept among random ones."""
    if test == "rank":
        null = np.array([other.sensitivity for other in others])
        extreme = np.abs(null - null.mean()) >= abs(own.sensitivity - null.mean())
        return float((1 + extreme.sum()) / (1 + len(null)))
    scores = np.concatenate([other.scores for other in others])
    if np.ptp(own.scores) == 0 == np.ptp(scores):  # shares of the same inputs: equal ones are equal to the last bit
        return float(own.scores[0] == scores[0])
    return float(stats.ttest_ind(own.scores, scores, equal_var=False).pvalue)


def concept_vector(concept: FloatArray, negative: FloatArray, penalty: float = 1.0) -> tuple[FloatArray, float]:
    r"""The unit normal of the classifier that tells a concept from random examples, and its accuracy on them.

    Logistic regression on activations centred and divided by one common scale, so that directions stay as they are:
    $\min_w \sum_k \log(1 + e^{-y_k (w \cdot h_k + b)}) + \tfrac{\lambda}{2} \lVert w \rVert^2$, λ = `penalty`.

    >>> rng = np.random.default_rng(0)
    >>> direction, accuracy = concept_vector(rng.normal(size=(50, 3)) + [9, 0, 0], rng.normal(size=(50, 3)))
    >>> bool(direction[0] > 0.99), accuracy
    (True, 1.0)
    """
    h = np.concatenate([concept, negative])
    y = np.concatenate([np.ones(len(concept)), -np.ones(len(negative))])
    centre, scale = h.mean(axis=0), float(h.std())
    if alike(h):
        raise InvalidInput(
            "all activations at this layer are equal, so no direction tells concepts apart; choose another layer",
            code="undefined",
        )
    x = np.column_stack([(h - centre) / scale, np.ones(len(h))])
    kept = np.append(np.full(h.shape[1], penalty), 0.0)  # the offset is free

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        margin = y * (x @ w)
        pull = -y * np.exp(-np.logaddexp(0.0, margin))  # −y σ(−margin)
        return float(np.logaddexp(0.0, -margin).sum() + 0.5 * (kept * w) @ w), x.T @ pull + kept * w

    found = minimize(
        loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000, "gtol": 1e-8, "ftol": 1e-15}
    )
    steep = float(np.abs(loss(found.x)[1]).max())
    if steep > 1e-4 * len(h):
        raise NotConverged(
            f"the concept classifier stopped with slope {steep:.2g}: {found.message}; raise penalty above {penalty}"
        )
    direction = found.x[:-1]
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        raise NotConverged("the concept classifier found no direction: its examples look like the random ones")
    return direction / length, float((y * (x @ found.x) > 0).mean())


def layer_activations(model: object, inputs: Sequence[object], layer: str) -> FloatArray:
    """The activations of a layer for each input: (count, d). Layers over tokens are averaged over them, others flattened."""
    rows = []
    for given in inputs:
        at = point(model, given, target=0)
        with at.hold(), torch.no_grad(), watch(_module(model, layer)) as seen:
            at.payoff(at.here)
        rows.append(_flat(seen, layer, mean=True))
    return np.stack(rows)


def layer_slopes(model: object, inputs: Sequence[object], layer: str, target: str | int, payoff: str | None) -> FloatArray:
    """The slope of each input's payoff when its layer moves, all tokens together: (count, d)."""
    return np.stack([_slope(point(model, given, target=target, payoff=payoff), model, layer) for given in inputs])


def _slope(at: Point, model: object, layer: str) -> FloatArray:
    with at.hold(), torch.enable_grad(), watch(_module(model, layer)) as seen:
        worth = at.payoff(at.here.detach().clone().requires_grad_(True))
        if not seen:
            raise InvalidInput(
                f"layer {layer!r} did not run for this input; name one that does", argument="layer", code="unsupported"
            )
        (slope,) = torch.autograd.grad(worth.sum(), seen[-1], allow_unused=True, materialize_grads=True)
    return _flat([slope], layer, mean=False)


@contextmanager
def watch(module: torch.nn.Module) -> Iterator[list[torch.Tensor]]:
    """The outputs of a module, as it is called inside the block."""
    seen: list[torch.Tensor] = []

    def keep(_module: torch.nn.Module, _given: object, output: torch.Tensor | tuple[torch.Tensor, ...]) -> None:
        seen.append(output[0] if isinstance(output, tuple) else output)

    hook = module.register_forward_hook(keep)
    try:
        yield seen
    finally:
        hook.remove()


def _module(model: object, layer: str) -> torch.nn.Module:
    inner = (
        model.model if isinstance(model, TextModel | ImageModel) else model.module if isinstance(model, ArrayModel) else model
    )
    assert isinstance(inner, torch.nn.Module)  # a model without one has no gradients, and was refused
    parts = {name: part for name, part in inner.named_modules() if name}  # the model itself has no name
    if layer not in parts:
        some = ", ".join([*parts][:12])
        raise InvalidInput(f"layer {layer!r} is not in the model; some that are: {some}", argument="layer", code="unknown")
    module: torch.nn.Module = parts[layer]
    return module


def _flat(seen: list[torch.Tensor], layer: str, mean: bool) -> FloatArray:
    if not seen or not isinstance(seen[-1], torch.Tensor):
        raise InvalidInput(
            f"layer {layer!r} gives no tensor for this input; name another layer", argument="layer", code="unsupported"
        )
    value = seen[-1][0].detach().double().cpu().numpy()
    if value.ndim == 2:  # tokens × width: a concept moves all tokens together
        value = value.mean(axis=0) if mean else value.sum(axis=0)
    flat: FloatArray = value.ravel()
    return flat
