"""Readings of attention as methods of `explain`: what `accredit.methods` names for them."""

from __future__ import annotations

from accredit.attention import flow_credit, joint_flow, pairwise_flow, raw_attention, rollout
from accredit.core import Attribution, Claim, FloatArray, Holds
from accredit.explanation.flows import flow_options, solved_flow
from accredit.explanation.subject import Subject
from accredit.flow.maximum import simple_max_flow
from accredit.flow.unique import FlowRule

SCORE_CLAIMS = (
    Claim("efficiency", Holds.NO, "attention divides nothing: its numbers rank tokens, they do not share the output"),
    Claim("symmetry", Holds.NO, "two tokens with the same effect on the output may be read with different weights"),
    Claim("null player", Holds.NO, "a token that never changes the output may still be attended to"),
    Claim("linearity", Holds.NO, "scores for a sum of payoffs are not the sum of their scores"),
)


def ready(subject: Subject, tensor: str = "") -> None:
    """Read the attention that all these methods share, and where the output is read; for a flow, import its solver. None of
    this is a method's own time."""
    subject.information(tensor or "af")
    subject.outputs  # noqa: B018  # kept by the subject's memo
    if tensor:
        simple_max_flow()


def last_layer(subject: Subject) -> Attribution:
    """Weights with which the last layer's output positions read every token, averaged over heads."""
    read = raw_attention(subject.attention)[subject.outputs].mean(axis=0)
    return scored(subject, read, "attention/last layer, head mean")


def rolled_out(subject: Subject) -> Attribution:
    """Weights multiplied through the layers, half of each layer being its residual."""
    return scored(subject, rollout(subject.attention)[subject.outputs].mean(axis=0), "rollout/residual=0.5")


def pairwise(subject: Subject, tensor: str) -> Attribution:
    """A separate max flow from every output position to every token."""
    flows = pairwise_flow(subject.information(tensor), outputs=subject.outputs, **flow_options(tensor))
    return scored(subject, flows.mean(axis=0), f"pairwise-flow/{tensor}")


def scored(subject: Subject, tokens: FloatArray, method: str) -> Attribution:
    """Scores of the model's tokens, (T,), summed over each player's tokens."""
    return Attribution(subject.everyone, subject.by_player(tokens), None, method, SCORE_CLAIMS)


# One flow from the positions that the output is read from down to the input, shared among everyone


def barrier_flow(subject: Subject, tensor: str) -> Attribution:
    """The flow at the analytic centre of all max flows."""
    return _credited(subject, tensor, "barrier")


def least_squares_flow(subject: Subject, tensor: str) -> Attribution:
    """The max flow of least squares."""
    return _credited(subject, tensor, "l2")


def _credited(subject: Subject, tensor: str, rule: FlowRule) -> Attribution:
    return flow_credit(solved_flow(subject, tensor, rule), groups=subject.groups)


def shapley_flow(subject: Subject, tensor: str) -> Attribution:
    """The Shapley value of the game in which coalitions of tokens re-route the flow."""
    settings = flow_options(tensor) | {"groups": subject.groups, "seed": subject.seed}
    return joint_flow(subject.information(tensor), outputs=subject.outputs, rule="shapley", **settings)
