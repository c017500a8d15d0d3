"""Where a closed form was tried and left, the result says so, why, and what it cost."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

import accredit
from tests.wording import says

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
NEAREST = KNeighborsRegressor(3).fit(X, X[:, 0])


def test_a_model_without_a_closed_form_says_why_and_what_it_cost():
    (note,) = [n.text for n in accredit.explain_rows(X[:2], NEAREST, X[10:15]).notes if "closed form" in n.text]
    assert says(note, "KNeighborsRegressor has no") and says(note, "5 background rows")


def test_a_function_was_never_tried():
    assert not accredit.explain_rows(X[:2], lambda rows: rows[:, 0] ** 2, X[10:15]).notes


@pytest.mark.parametrize("settings", [{"methods": "loo"}, {"dependence": "empirical"}])
def test_a_question_that_has_none_for_any_model_says_nothing(settings):
    notes = accredit.explain_rows(X[:2], NEAREST, X[10:15], **settings).notes
    assert not any("closed form" in note.text for note in notes)


def test_a_file_says_the_same(tmp_path):
    plain = accredit.explain_rows(X[:3], NEAREST, X[10:15])
    assert accredit.explain_rows(X[:3], NEAREST, X[10:15], out=tmp_path / "rows.jsonl").notes == plain.notes
