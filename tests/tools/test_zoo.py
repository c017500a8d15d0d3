"""A small draw of `make zoo`, and that its verdicts can be faults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import accredit
from tests.wording import says
from tools import zoo
from tools.proof.zoo import holding
from tools.proof.zoo.datasets import DRAWN, NAMES, table
from tools.proof.zoo.recipes import LIBRARIES, recipes

SCIKIT_ROW = "| scikit-learn | 1 | 1 | 1 | 0 | 0 |"


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_draw_has_no_faults(library):
    for recipe in zoo.choose(library, None, 4, seed=1):
        assert holding.hold(recipe).faults == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("xgboost", "max_depth=4 n_estimators=1000 learning_rate=0.05 on rare"),
        ("catboost", "loss_function=Poisson iterations=100 on counts"),
        ("lightgbm", "num_leaves=7 n_estimators=100 learning_rate=0.1 on iris"),
    ],
)
def test_models_that_were_once_misread_are_right(words):
    (recipe,) = [r for r in recipes() if r.library == words[0] and str(r).endswith(words[1])]
    found = holding.hold(recipe)
    assert found.faults == [] and found.closed and found.cover == "right"


def test_there_are_hundreds_of_models_on_a_dozen_tables():
    every = recipes()
    assert len(every) > 300 and len({str(r) for r in every}) == len(every)
    assert {r.data for r in every} == {*NAMES, *DRAWN} and {r.library for r in every} == set(LIBRARIES)
    assert all(len(table(name).x) <= 800 for name in (*NAMES, *DRAWN))


@pytest.mark.slow
@pytest.mark.parametrize(("part", "said"), [("credit", "all coalitions"), ("base", "base + credit"), ("notes", "not a word")])
def test_a_wrong_answer_is_a_fault(monkeypatch, part, said):
    (recipe,) = [r for r in recipes() if r.name == ("KNeighbors" if part == "notes" else "Lasso")]
    explain = accredit.explain_rows

    def spoil(*given: Any, **settings: Any) -> Any:
        right = explain(*given, **settings)
        wrong = () if part == "notes" else np.asarray(getattr(right, part)) * 1.001
        return replace(right, **{part: wrong})

    monkeypatch.setattr(accredit, "explain_rows", spoil)
    assert any(said in fault for fault in holding.hold(recipe).faults)


@pytest.mark.slow
def test_the_table_counts_what_was_found(capsys):
    assert zoo.main(["--only", "scikit-learn", "--like", " Lasso on"]) == 0
    assert SCIKIT_ROW in capsys.readouterr().out
    assert zoo.main(["--only", "scikit-learn", "--like", "KNeighbors"]) == 0
    assert says(capsys.readouterr().out, "KNeighborsRegressor has no closed form")
