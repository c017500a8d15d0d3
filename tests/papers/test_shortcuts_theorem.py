"""Theorem 1 as it is printed: it holds where its assumptions do, and is seen to fail where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit_papers import shortcuts_theorem as theorem
from accredit_papers.report import Report, Whose
from accredit_papers.verdicts import Found


def test_the_worlds_keep_the_assumptions():
    """(2) the mask says nothing of the label; (4) selection leaves how often masks and labels occur; (3) it sees y and m."""
    rng = np.random.default_rng(3)
    neutral = theorem.mask_neutral(rng, 3)
    assert_allclose(neutral.labels_given_mask, np.broadcast_to(neutral.joint.sum(axis=(0, 2)), (8, 2)), atol=1e-12)
    chance = theorem.selection_chance(rng, neutral)
    biased = neutral.select(chance)
    assert chance.shape == (2, 8) and chance.min() > 0
    assert_allclose(biased.of_masks, neutral.of_masks, atol=1e-12)
    assert_allclose(biased.joint.sum(axis=(0, 2)), neutral.joint.sum(axis=(0, 2)), atol=1e-12)
    assert np.abs(biased.labels_given_mask - neutral.labels_given_mask).max() > 0.01  # and now the mask does say something


def test_the_page_prints_the_theorem_and_what_it_needs():
    report = Report("demo", "Demo")
    theorem.theorem_1(report, 0)
    printed, needed = report.verdicts
    assert (printed.found, printed.whose, needed.found, needed.whose) == (Found.HOLDS, Whose.TEXT, Found.HOLDS, Whose.OURS)
    assert printed.statement.startswith("Theorem 1:")


def test_other_weights_are_refuted(monkeypatch):
    """The verdict can fall: weights P(y|m)/P(y) do not give the neutral loss."""
    from accredit.shortcuts.world import Choices

    right = Choices.weights
    monkeypatch.setattr(Choices, "weights", property(lambda choices: 1 / np.maximum(right.fget(choices), 1e-9)))
    report = Report("demo", "Demo")
    theorem.theorem_1(report, 0)
    assert report.verdicts[0].found is Found.REFUTED


def test_losses_by_hand():
    found = list(theorem._where_it_fails().values())
    assert found == [pytest.approx(pair) for pair in ((0.5, 1.0), (0.5, 0.25), (0.5, 1.0), (0.75, 0.5))]
