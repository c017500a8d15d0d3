"""Does an explanation depend on the model and on what it learned? The randomisation checks of Adebayo et al. (2018)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import as_array, shown
from accredit.core import Attribution, Claim, FloatArray, Game, Holds, Procedure, no_division
from accredit.core.attribution import returned
from accredit.core.statistics import tied
from accredit.errors import InvalidInput
from accredit.evaluate.agreement import spearman
from accredit.evaluate.metric import Metric, Result

if TYPE_CHECKING:
    from accredit.models import TextModel

Model = TypeVar("Model")
Input = TypeVar("Input")


@dataclass(frozen=True)
class Sanity:
    """How much of an explanation is left when the model's knowledge is gone: mean rank correlations, signed and by size.

    >>> Sanity(("head", "all layers"), signed=(0.8, 0.1), by_size=(0.9, 0.2)).remains
    0.2
    """

    stages: tuple[str, ...]
    signed: tuple[float, ...]  # Spearman with the explanation of the true model, mean over inputs
    by_size: tuple[float, ...]  # the same for magnitudes

    @property
    def remains(self) -> float:
        """What is left at the last stage, by the larger of the two correlations in magnitude; a faithful method is near 0."""
        return max(self.signed[-1], self.by_size[-1], key=abs)


@check_arguments
def model_randomisation(
    explain: Callable[[Model, Input], Attribution],
    model: Model,
    randomised: Iterable[tuple[str, Model]],
    inputs: Sequence[Input],
) -> Sanity:
    """Explain the same inputs with the true model and with more and more of it randomised.

    `randomised` yields (stage, model), by convention from the output downwards (cascading). Targets must be held fixed by
    `explain`, or the check measures the change of the prediction as well. Inputs with one player are left out: one number has
    no rank.

    >>> def explain(weights, row):
    ...     return Attribution(("a", "b", "c"), np.array(weights) * row, None, "by hand")
    >>> found = model_randomisation(explain, [3, 2, 1], [("turned round", [1, 2, 3])], [np.ones(3)])
    >>> found.signed, found.remains
    ((-1.0,), -1.0)
    """
    if not inputs:
        raise InvalidInput("inputs is empty; give some inputs to explain", argument="inputs", code="empty")
    explained = [(x, returned(explain(model, x), "explain")) for x in inputs]
    ranked = [(x, attribution) for x, attribution in explained if len(attribution) > 1]
    if not ranked:
        raise InvalidInput(
            "every input has one player, and one number has no rank; give inputs with several players",
            argument="inputs",
            code="undefined",
        )
    truth = [attribution for _, attribution in ranked]
    stages, signed, by_size = [], [], []
    for stage, broken in _stages_of(randomised):
        other = [returned(explain(broken, x), "explain") for x, _ in ranked]
        stages.append(stage)
        signed.append(_mean([spearman(a, b) for a, b in zip(truth, other, strict=True)]))
        by_size.append(_mean([spearman(_sizes(a), _sizes(b)) for a, b in zip(truth, other, strict=True)]))
    if not stages:
        raise InvalidInput(
            "randomised yields no model; give for example randomised_layers(model, seed=0)", argument="randomised", code="empty"
        )
    return Sanity(tuple(stages), tuple(signed), tuple(by_size))


def _sizes(credit: Attribution) -> FloatArray:
    """Places of the players by the size of their credit; one place where sizes differ by rounding."""
    return tied(np.abs(credit.credit), credit.rounding)


def _stages_of(randomised: Iterable[tuple[str, Model]]) -> Iterator[tuple[str, Model]]:
    seen: set[str] = set()
    for item in randomised:
        if not isinstance(item, tuple | list) or len(item) != 2 or not isinstance(item[0], str):
            raise InvalidInput(
                f"randomised holds {shown(item)}; give pairs of a stage and a model, as in ('head', model)",
                argument="randomised",
                code="type",
            )
        if item[0] in seen:
            raise InvalidInput(
                f"randomised holds the stage {item[0]!r} twice; name each stage once", argument="randomised", code="duplicate"
            )
        seen.add(item[0])
        yield item[0], item[1]


@check_arguments
def label_randomisation(
    explain: Callable[[Model, Input], Attribution],
    fit: Callable[[Sequence[int]], Model],
    labels: Sequence[int],
    inputs: Sequence[Input],
    seed: int = 0,
) -> Sanity:
    """Explain the same inputs with a model fitted to the true labels and with one fitted to shuffled labels.

    The second model can only have memorised; an explanation that stays the same does not show what was learned.

    >>> def fit(labels):  # a model that learns one weight per column
    ...     return np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0], [2.0, 1.0, 0.0]]).T @ np.array(labels)
    >>> def explain(weights, row):
    ...     return Attribution(("a", "b", "c"), weights * row, None, "by hand")
    >>> label_randomisation(explain, fit, [1, 0, -1], [np.ones(3)]).stages
    ('shuffled labels',)
    """
    given = as_array(labels, "labels")
    if given.ndim != 1 or given.size == 0:
        raise InvalidInput(f"labels is {shown(labels)}; give one label per training example", argument="labels", code="type")
    shuffled = np.random.default_rng(seed).permutation(given)
    return model_randomisation(explain, fit(labels), [("shuffled labels", fit(shuffled.tolist()))], inputs)


def _mean(numbers: Sequence[float]) -> float:
    return float(np.mean(numbers))


def randomised_layers(model: TextModel, seed: int = 0) -> Iterator[tuple[str, TextModel]]:
    """A text model with more and more of it drawn anew, from the output down: the head, then each layer, then the embeddings.

    Weights are drawn from a normal law with the spread of the model's own; biases and norms keep their mean as well as
    their spread, so every stage is a working model that knows less. The model given is not touched.

    >>> from accredit.models import builtin, load_text_model
    >>> [stage for stage, _ in randomised_layers(load_text_model(builtin.text_folder()))]
    ['head', 'layer 4', 'layer 3', 'layer 2', 'layer 1', 'embeddings']
    """
    import torch

    from accredit.models import TextModel

    broken = deepcopy(model.model)
    generator = torch.Generator().manual_seed(seed)
    for stage, names in _stages(dict(broken.named_parameters())):
        with torch.no_grad():
            for name in names:
                weights = broken.get_parameter(name)
                spread = float(weights.std()) if weights.numel() > 1 else 0.0
                drawn = torch.randn(weights.shape, generator=generator) * spread
                weights.copy_(drawn + (weights.mean() if weights.dim() == 1 else 0.0))
        yield stage, TextModel(deepcopy(broken), model.tokenizer, f"{model.name}, random down to {stage}")


def _stages(parameters: Mapping[str, object]) -> list[tuple[str, list[str]]]:
    """Parameter names by stage: what is neither a layer nor an embedding is the head; layers from the last to the first."""
    layers: dict[int, list[str]] = {}
    head, embeddings = [], []
    for name in parameters:
        numbered = re.search(r"\.(?:layer|layers|h)\.(\d+)\.", name)
        if numbered:
            layers.setdefault(int(numbered[1]), []).append(name)
        elif "embed" in name or name.startswith(("transformer.wte", "transformer.wpe")):
            embeddings.append(name)
        else:
            head.append(name)
    found = [
        ("head", head),
        *((f"layer {k + 1}", layers[k]) for k in sorted(layers, reverse=True)),
        ("embeddings", embeddings),
    ]
    return [(stage, names) for stage, names in found if names]


@check_arguments
def random_scores(game: Game, seed: int = 0) -> Attribution:
    """A random order of the players: what a method must beat.

    >>> from accredit.games import TableGame
    >>> print(random_scores(TableGame(("a", "b"), [0, 1, 2, 3]), seed=1).method)
    random(seed=1)
    """
    scores = np.random.default_rng(seed).permutation(np.arange(1.0, len(game.players) + 1.0))
    claims = (*no_division("drawn at random"), Claim("null player", Holds.NO, "drawn at random"))
    return Attribution(
        game.players, scores, total=None, method=Procedure("random", settings={"seed": seed}), claims=claims, seed=seed
    )


@check_arguments
def oracle(metric: Metric, game: Game) -> Result:
    """The result that scores best on `metric`, found by looking at the game itself: the top of the scale, not an explanation.

    Orders are optimal up to 12 players and greedy beyond; for sums of credit the oracle is a least-squares fit to the
    very removals that the metric looks at. An explanation may beat the oracle where the oracle is greedy.

    >>> from accredit.games import TableGame
    >>> from accredit.evaluate import Deletion
    >>> oracle(Deletion(), TableGame(("a", "b"), [0, 0, 1, 1])).ranked().players  # only b matters
    ('b', 'a')
    """
    return metric.oracle(game)
