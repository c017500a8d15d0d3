"""Gradients as methods of `explain`: what `accredit.methods` names for them. Importing this imports what they need."""

from __future__ import annotations

from typing import Any

from accredit.core import Attribution
from accredit.explanation.subject import Subject
from accredit.gradients import input_x_gradient, integrated_gradients, saliency, smoothgrad


def integrated(subject: Subject) -> Attribution:
    """From the input in which nobody plays, if that is a point in the space of embeddings or pixels."""
    removal = getattr(subject.game, "baseline", subject.game.removal)  # of a picture it may be another picture
    baseline = None if isinstance(removal, str) and removal in ("delete", "attention") else removal
    return integrated_gradients(subject.model, subject.seen, baseline=baseline, **_slope_of(subject))


def input_times_gradient(subject: Subject) -> Attribution:
    """The first-order change of the payoff if a player's input went to zero."""
    return input_x_gradient(subject.model, subject.seen, **_slope_of(subject))


def steepness(subject: Subject) -> Attribution:
    """How steep the payoff is at each player."""
    return saliency(subject.model, subject.seen, **_slope_of(subject))


def smoothed(subject: Subject) -> Attribution:
    """The steepness averaged over noisy copies of the input."""
    return smoothgrad(subject.model, subject.seen, seed=subject.seed, **_slope_of(subject))


def _slope_of(subject: Subject) -> dict[str, Any]:
    return {"target": subject.game.target, "payoff": subject.game.payoff_name, "players": subject.asked}
