"""Every method that `explain` can run, one entry each. What each may claim is in `accredit.methods`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from accredit.core import Attribution, Claim, FloatArray, Holds, InvalidInput
from accredit.explanation.flows import flow_options, joint
from accredit.explanation.subject import TENSORS, Subject

DEFAULT = ("shapley", "leave-one-out", "integrated-gradients", "flow", "rollout", "attention")
FOR_STRINGS = ("shapley", "leave-one-out", "owen")  # the default where a model reads strings, and only games apply
DEFAULT_BUDGET = 2000  # payoffs of one sampled value
ATTENTION = ("accredit.attention", "joint_flow")
AUTO_EXACT = 12  # players up to which values are exact without being asked


@dataclass(frozen=True)
class Recipe:
    """How a method is run on a subject. `signed`: its numbers say which way, not only how much."""

    name: str
    run: Callable[[Subject], Attribution]
    signed: bool = True
    loads: tuple[str, str] = ("accredit.values", "shapley")  # module and name that are imported before the clock starts
    payoffs: Callable[[int, int | None], int] = lambda players, budget: 0  # payoffs it will ask


def recipe(name: str) -> Recipe:
    """The recipe of a method by name; flows take an information tensor after a colon, for example "flow:agf"."""
    base, colon, tensor = name.partition(":")
    if name in RECIPES:
        return RECIPES[name]
    if base in ON_TENSORS and tensor in TENSORS:
        return Recipe(name, _noted(partial(ON_TENSORS[base], tensor=tensor)), False, ATTENTION)
    if base in ON_TENSORS and colon:
        raise InvalidInput(f"method {name!r} has the tensor {tensor!r}; write one of {', '.join(TENSORS)}")
    raise InvalidInput(f"method {name!r} is unknown; write one of {', '.join(RECIPES)}")


# Values of the game


def _shapley(subject: Subject) -> Attribution:
    from accredit.values import shapley

    return shapley(subject.game, budget=subject.budget, seed=subject.seed)


def _leave_one_out(subject: Subject) -> Attribution:
    from accredit.values import leave_one_out

    return leave_one_out(subject.game)


def _banzhaf(subject: Subject) -> Attribution:
    from accredit.values import banzhaf
    from accredit.values.sampled_semivalue import SampledBanzhaf

    if exact(len(subject.players), subject.budget):
        return banzhaf(subject.game)
    return SampledBanzhaf(budget=subject.budget or DEFAULT_BUDGET, seed=subject.seed).solve(subject.game)


def _owen(subject: Subject) -> Attribution:
    """Sentences share first, then the words of each, then the tokens of each."""
    from accredit.values import owen
    from accredit.values.owen import coalitions_needed, tree_of

    budget = subject.budget or DEFAULT_BUDGET
    if coalitions_needed(tree_of(subject.game, subject.tree)) <= budget:
        return owen(subject.game, subject.tree)
    orders = max(2, budget // (len(subject.players) + 1))
    return owen(subject.game, subject.tree, orders=orders, seed=subject.seed)


def _lime(subject: Subject) -> Attribution:
    from accredit.values.lime import Lime

    return Lime(budget=subject.budget or DEFAULT_BUDGET, seed=subject.seed).solve(subject.game)


def exact(players: int, budget: int | None) -> bool:
    """Whether all 2ⁿ payoffs are affordable."""
    return players <= AUTO_EXACT if budget is None else players < 23 and 2**players <= budget


def _sampled(players: int, budget: int | None) -> int:
    return 2**players if exact(players, budget) else budget or DEFAULT_BUDGET


# Gradients


def _integrated_gradients(subject: Subject) -> Attribution:
    """From the input in which nobody plays, where its removal is a point in the space of embeddings or pixels."""
    from accredit.gradients import integrated_gradients

    removal = subject.payoffs.removal
    baseline = None if removal in ("delete", "attention") else removal
    return integrated_gradients(subject.model, subject.seen, baseline=baseline, **_slope_of(subject))


def _input_x_gradient(subject: Subject) -> Attribution:
    from accredit.gradients import input_x_gradient

    return input_x_gradient(subject.model, subject.seen, **_slope_of(subject))


def _saliency(subject: Subject) -> Attribution:
    from accredit.gradients import saliency

    return saliency(subject.model, subject.seen, **_slope_of(subject))


def _smoothgrad(subject: Subject) -> Attribution:
    from accredit.gradients import smoothgrad

    return smoothgrad(subject.model, subject.seen, seed=subject.seed, **_slope_of(subject))


def _slope_of(subject: Subject) -> dict[str, Any]:
    return {"target": subject.payoffs.target, "payoff": subject.payoffs.worth, "players": subject.asked}


# Scores from attention


def _attention(subject: Subject) -> Attribution:
    """Weights with which the last layer's output positions read every token, averaged over heads."""
    from accredit.attention import raw_attention

    return scored(
        subject, raw_attention(subject.attention)[subject.outputs].mean(axis=0), "attention/last layer, head mean"
    )


def _rollout(subject: Subject) -> Attribution:
    from accredit.attention import rollout

    return scored(subject, rollout(subject.attention)[subject.outputs].mean(axis=0), "rollout/residual=0.5")


def _pairwise(subject: Subject, tensor: str) -> Attribution:
    from accredit.attention import pairwise_flow

    flows = pairwise_flow(subject.information(tensor), outputs=subject.outputs, **flow_options(tensor))
    return scored(subject, flows.mean(axis=0), f"pairwise-flow/{tensor}")


def scored(subject: Subject, tokens: FloatArray, method: str) -> Attribution:
    """Scores of the model's tokens, (T,), summed over each player's own."""
    return Attribution(subject.everyone, subject.by_player(tokens), None, method, SCORE_CLAIMS)


SCORE_CLAIMS = (
    Claim("efficiency", Holds.NO, "attention divides nothing: its numbers rank tokens, they do not share the output"),
    Claim("symmetry", Holds.NO, "two tokens with the same effect on the output may be read with different weights"),
    Claim("null player", Holds.NO, "a token that never changes the output may still be attended to"),
    Claim("linearity", Holds.NO, "scores for a sum of payoffs are not the sum of their scores"),
)

ON_TENSORS: dict[str, Callable[..., Attribution]] = {
    "flow": lambda subject, tensor: joint(subject, "barrier", tensor, "flow"),
    "flow-l2": lambda subject, tensor: joint(subject, "l2", tensor, "flow-l2"),
    "flow-shapley": lambda subject, tensor: joint(subject, "shapley", tensor, "flow-shapley"),
    "pairwise-flow": _pairwise,
}


def _noted(run: Callable[[Subject], Attribution]) -> Callable[[Subject], Attribution]:
    """The method, with what was explained noted in its result."""

    def noted(subject: Subject) -> Attribution:
        result, facts = run(subject), subject.payoffs.provenance
        shared = {k: facts[k] for k in ("model", "target", "payoff", "removal")}
        own = {k: v for k, v in result.provenance.items() if k not in ("text", "image")}
        return replace(result, provenance=shared | own)

    return noted


RECIPES: dict[str, Recipe] = {
    each.name: replace(each, run=_noted(each.run))
    for each in (
        Recipe("shapley", _shapley, payoffs=_sampled),
        Recipe("leave-one-out", _leave_one_out, payoffs=lambda players, budget: players + 2),
        Recipe("banzhaf", _banzhaf, payoffs=_sampled),
        Recipe("owen", _owen, payoffs=lambda players, budget: min(2**players, budget or DEFAULT_BUDGET)),
        Recipe(
            "lime",
            _lime,
            loads=("accredit.values.lime", "Lime"),
            payoffs=lambda players, budget: budget or DEFAULT_BUDGET,
        ),
        Recipe("integrated-gradients", _integrated_gradients, loads=("accredit.gradients", "integrated_gradients")),
        Recipe("input-x-gradient", _input_x_gradient, loads=("accredit.gradients", "input_x_gradient")),
        Recipe("saliency", _saliency, signed=False, loads=("accredit.gradients", "saliency")),
        Recipe("smoothgrad", _smoothgrad, signed=False, loads=("accredit.gradients", "smoothgrad")),
        Recipe("attention", _attention, signed=False, loads=ATTENTION),
        Recipe("rollout", _rollout, signed=False, loads=ATTENTION),
        *(Recipe(name, partial(run, tensor="af"), False, ATTENTION) for name, run in ON_TENSORS.items()),
    )
}
