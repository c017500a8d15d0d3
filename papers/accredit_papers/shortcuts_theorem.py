"""Theorem 1 of "Why is Attention Not So Attentive?": in worlds small enough to add up, and where each assumption fails."""

from __future__ import annotations

import numpy as np

from accredit.core import FloatArray
from accredit.shortcuts.world import Choices, World, look_at
from accredit_papers.report import Report, Whose

FEATURES, WORLDS = 3, 200
SELECTION_STRENGTH = 0.95  # how far chances of selection move from 1, at most; below 1, so that every pair (y, m) is kept


def theorem_1(report: Report, seed: int) -> None:
    """The weighted loss of the biased distribution against the loss of the mask-neutral one, both exactly."""
    report.heading("Theorem 1: instance weights give the loss of a world whose masks say nothing")
    gaps, unweighted = np.array([_gaps(np.random.default_rng([seed, k])) for k in range(WORLDS)]).T
    report.verdict(
        "Theorem 1: with w = P(y)/P(y|m) the expected loss on the biased distribution is that on the mask-neutral one",
        bool(gaps.max() < 1e-9),
        f"{WORLDS} random worlds of {FEATURES} features in which assumptions (1) to (4) hold, a random loss of x ⊙ m and y in "
        f"each, all cases added up: largest relative gap {gaps.max():.0e}; without weights up to {unweighted.max():.2f}",
    )
    failing = _where_it_fails()
    report.verdict(
        "Theorem 1 needs its assumptions: without (2), (3) or (4) the weighted loss is another",
        all(abs(weighted - neutral) > 0.1 for weighted, neutral in failing.values()),
        "; ".join(f"{name}: {weighted:g} instead of {neutral:g}" for name, (weighted, neutral) in failing.items())
        + ". Attention that looks at x to choose its mask breaks (3)",
        whose=Whose.OURS,
    )


def mask_neutral(rng: np.random.Generator, features: int, classes: int = 2) -> Choices:
    """A random Q(x, y, m) in which the mask says nothing about the label, though it may depend on x: assumption (2)."""
    cases = 1 << features
    labels, masks = rng.dirichlet(np.ones(classes)), rng.dirichlet(np.ones(cases))
    given_both = rng.dirichlet(np.ones(cases), size=(classes, cases))  # Q(x | y, m)
    joint = np.einsum("y,m,ymx->xym", labels, masks, given_both)
    return Choices(World(joint.sum(axis=2)), joint)


def selection_chance(rng: np.random.Generator, neutral: Choices) -> FloatArray:
    """Q(S = 1 | y, m) > 0 that leaves P(m) and P(y) alone: assumptions (3) and (4). Shape (classes, masks).

    Proportional to 1 + a_y b_m with E[a] = E[b] = 0 under Q, and |a b| < 1.
    """
    labels, masks = neutral.joint.sum(axis=(0, 2)), neutral.of_masks
    a, b = rng.normal(size=len(labels)), rng.normal(size=len(masks))
    product = np.outer(a - labels @ a, b - masks @ b)
    chance = 1 + SELECTION_STRENGTH * product / np.abs(product).max()
    return np.asarray(chance / chance.max())


def _gaps(rng: np.random.Generator) -> tuple[float, float]:
    """How far the weighted and the plain loss of one biased world are from the neutral loss, relative to it."""
    neutral = mask_neutral(rng, FEATURES)
    biased = neutral.select(selection_chance(rng, neutral))
    table = rng.exponential(size=(3**FEATURES, neutral.world.classes))  # any number for each x ⊙ m and y
    loss = table[look_at(neutral.world)].transpose(0, 2, 1)
    truth = neutral.expectation(loss)
    return abs(biased.expectation(loss, biased.weights) / truth - 1), abs(biased.expectation(loss) / truth - 1)


def _where_it_fails() -> dict[str, tuple[float, float]]:
    """One fair feature, shown or hidden by a fair coin: the weighted and the neutral loss where one assumption is broken."""
    knows, coin = (World.of(1, chance) for chance in (lambda x: (x[:, 0] + 1) / 2, lambda x: np.full(2, 0.5)))
    fair = np.full((2, 2), 0.5)
    seen = np.zeros((2, 2, 2))
    seen[1, :, 1] = 1  # the loss counts x = +1 where it is shown
    shown = np.broadcast_to(np.array([0.0, 1.0]), (2, 2, 2))
    tied, matched = knows.choose(np.array([[False], [True]])), np.zeros((2, 1, 2))
    matched[1, 0, 1] = matched[0, 0, 0] = 1
    cases = {
        "(2) broken, the mask is the label": (tied, tied.select(1.0), np.ones((2, 2, 2))),
        "(3) broken, selection looks at x": (coin.draw(fair), coin.draw(fair).select(matched), seen),
        "(3) broken, a pair (y, m) is never selected": (
            knows.draw(fair),
            knows.draw(fair).select(np.eye(2)),
            np.ones((2, 2, 2)),
        ),
        "(4) broken, shown masks are selected three times as often": (
            knows.draw(fair),
            knows.draw(fair).select(np.array([[1 / 3, 1.0]])),
            shown,
        ),
    }
    return {
        name: (biased.expectation(loss, biased.weights), neutral.expectation(loss))
        for name, (neutral, biased, loss) in cases.items()
    }
