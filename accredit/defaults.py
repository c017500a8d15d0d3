"""What is meant where nothing is said: payoff, players, budget, level and seed, read by every door."""

from __future__ import annotations

import math
from typing import Literal

LEVEL = 0.95  # of every interval
FLOW_EPSILON = 1e-6  # of the maximum, that a flow picked by the barrier rule may lose
AUTO_EXACT = 12  # players; without a stated budget, up to 4,096 payoffs are asked for
EXACT_LIMIT = 22  # players; 4 million payoffs
BUDGET = 2000  # payoffs of one sampled value, and trainings of one sampled value of training data
OPENING_BUDGET = 128  # payoffs of values that go from groups into those that earn most
BUDGET_OF_ROWS = 512  # payoffs of a row's sampled Shapley values: each asks the model about every background row
BUDGET_OF_PICTURES = 512  # payoffs of a sampled value for a picture that is not small
ANSWER_SECONDS = 20.0  # that the payoffs of an answer may take where no budget is stated
INTERVAL_SECONDS = 60.0  # that payoffs of an answer may take beyond those, where there are too few for a narrow interval
LEAST_PASSES = 64  # payoffs of an answer, however long they take
HURRIED_PASSES = 32  # payoffs of an answer whose request has no time for more; often too few for an interval, and then said
PLAYERS_OF_TEXTS = "word"
REMOVAL_OF_PICTURES = "mean"
PAYOFF_OF_ANSWERS = "log-probability"
BackgroundBy = Literal["draw", "medoids"]
BACKGROUND_BY: BackgroundBy = "draw"  # how a background is thinned


def payoff(law: str) -> str:
    """Log-odds where outputs are probabilities: unbounded, and free of the constant that all logits may share.

    >>> payoff("softmax"), payoff("none")
    ('log-odds', 'logit')
    """
    return "logit" if law == "none" else "log-odds"


def affordable(players: int, budget: int | None) -> bool:
    """Whether all 2ⁿ payoffs may be asked: they fit the budget, or, where none is stated, the players are few."""
    return players <= AUTO_EXACT if budget is None else players <= EXACT_LIMIT and 2**players <= budget


def budget_by_cost(players: int, seconds: float, most: float = math.inf) -> int | None:
    """Payoffs of a sampled value where each takes so many seconds: as everywhere (None) if those are had in `ANSWER_SECONDS`.
    Else as many as are, or up to 6 n + 2, which narrow intervals need, if those are had in `INTERVAL_SECONDS`, and at least 64;
    but where those would take more than `most` seconds, as many as fit into these, and at least 32.

    >>> budget_by_cost(12, 0.001), budget_by_cost(12, 0.2), budget_by_cost(20, 0.2), budget_by_cost(20, 0.05)
    (None, 74, 122, 244)
    >>> budget_by_cost(30, 0.4), budget_by_cost(75, 4.0), budget_by_cost(30, 1.0, most=50), budget_by_cost(30, 1.0, most=10)
    (150, 64, 50, 32)
    """
    usual = 2**players if players <= AUTO_EXACT else BUDGET
    if usual * seconds <= min(ANSWER_SECONDS, most):
        return None
    budget = max(LEAST_PASSES, min(6 * players + 2, round(INTERVAL_SECONDS / seconds)))
    while 2 * budget * seconds <= ANSWER_SECONDS:
        budget *= 2
    if budget * seconds > most:
        budget = max(HURRIED_PASSES, int(most / seconds))
    return None if budget >= usual else budget
