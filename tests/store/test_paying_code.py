"""A journal of another version goes on where the code that pays is the same, and only there."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.store import Journal, durable, fingerprint
from accredit.store.fingerprint import PAYING_CODE
from accredit.valuation import KNNRegression, KNNUtility, Retraining, RidgeUtility, Split, split


def classes_and_numbers() -> tuple[Split, Split]:
    rng = np.random.default_rng(0)
    x, y = rng.integers(-4, 5, (12, 3)).astype(float), np.arange(12) % 3
    tests, labels = rng.integers(-4, 5, (6, 3)).astype(float), np.arange(6) % 3
    slope = np.array([1.0, 2.0, -1.0])
    return split(x, y, tests, labels), split(x, x @ slope + y, tests, tests @ slope, regression=True)


PAYER = "accredit.store.fingerprint"  # the module; the package has a function of that name
CLASSES, NUMBERS = classes_and_numbers()
PAID = {  # what "payoffs 1" pays; who changes a number here raises PAYING_CODE
    "KNNUtility": [0.333333, 0.416667, 0.416667, 0.416667],
    "KNNRegression": [-5.25, -13.708333, -41.083333, -36.083333],
    "RidgeUtility": [0.166667, 0.333333, 0.666667, 0.333333],
    "RidgeUtility of numbers": [-3.139429, -1.975848, -25.228512, -4.038048],
    "Retraining": [0.333333, 0.166667, 0.333333, 0.333333],
}


@pytest.mark.slow
def test_stored_games_pay_what_the_number_of_the_paying_code_stands_for() -> None:
    logistic = pytest.importorskip("sklearn.linear_model").LogisticRegression()
    games = [KNNUtility(CLASSES, 2), KNNRegression(NUMBERS, 2), RidgeUtility(CLASSES), RidgeUtility(NUMBERS)]
    asked = np.random.default_rng(1).random((4, 12)) < 0.5
    assert PAYING_CODE == "payoffs 1"
    for game, paid in zip([*games, Retraining(CLASSES, logistic)], PAID.values(), strict=True):
        assert_allclose(game.payoff(asked), paid, atol=1e-6)


def test_another_version_goes_on_with_a_journal(tmp_path, monkeypatch) -> None:
    import accredit

    coalitions = np.eye(12, dtype=bool)
    with Journal(tmp_path / "run.db") as journal, durable(KNNUtility(CLASSES, 2), journal, "serial") as game:
        before = game.payoff(coalitions)
    monkeypatch.setattr(accredit, "__version__", "9.9.9")
    with Journal(tmp_path / "run.db") as journal, durable(KNNUtility(CLASSES, 2), journal, "serial") as game:
        assert_allclose(game.payoff(coalitions), before)
        assert (game.evaluated, game.recalled) == (0, 12)
        assert journal.check() == 12
    monkeypatch.setattr(sys.modules[PAYER], "PAYING_CODE", "payoffs 2")
    assert fingerprint(data=1).differs_from(game.fingerprint.parts)
    with Journal(tmp_path / "run.db") as journal, pytest.raises(Exception, match="another game"):
        durable(KNNUtility(CLASSES, 2), journal, "serial")


def test_settings_that_came_later_do_not_rename_the_games_of_older_journals() -> None:
    pytest.importorskip("torch")
    from accredit.valuation import Recipe

    recipe = Recipe(20, 0.1, 0.01, 7, "sgd", 0.9)
    assert fingerprint(model=[recipe]).digest == "154da1d1ee851f36ad1580a2765e06fb"  # before there were schedules
    assert fingerprint(model=[replace(recipe, schedule="cosine")]).digest != fingerprint(model=[recipe]).digest
