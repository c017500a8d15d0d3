"""The sparse line through random ablations: scikit-learn's lasso on standardised columns, and what it claims."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.evaluate import axioms_kept
from accredit.games import FunctionGame, TableGame
from accredit.values import Lasso, banzhaf

PAIRS = FunctionGame("abcdefgh", lambda c: 2.0 * c[:, 0] * c[:, 1] + 0.5 * c[:, 2] - c[:, 3] * (1 - c[:, 4]))


def test_it_is_the_lasso_of_scikit_learn_on_standardised_columns():
    linear_model = pytest.importorskip("sklearn.linear_model")
    found = Lasso(budget=64, alpha=0.03, seed=2).solve(PAIRS)
    x = (np.random.default_rng(2).random((64, 8)) < 0.5).astype(float)
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    expected = linear_model.Lasso(alpha=0.03, tol=1e-10, max_iter=100_000).fit(scaled, PAIRS.payoff(x > 0))
    assert_allclose(found.credit, expected.coef_ / x.std(axis=0), atol=1e-4)
    assert 0 < found.certificate["players kept"] < 8
    assert_allclose(found.certificate["fit"], expected.score(scaled, PAIRS.payoff(x > 0)), atol=1e-5)


def test_many_ablations_and_no_penalty_give_banzhaf_values():
    found = Lasso(budget=20_000, alpha=1e-9).solve(PAIRS)
    # the slopes are means over 20,000 coins; payoffs lie within ±3, so 0.2 is more than six standard errors
    assert np.abs(found.credit - banzhaf(PAIRS).credit).max() < 0.2


def test_a_player_who_always_played_gets_nothing():
    assert Lasso(budget=2, seed=0).solve(TableGame("ab", [0, 1, 2, 4])).credit.shape == (2,)
    game = FunctionGame("ab", lambda c: c[:, 0].astype(float))
    drawn = np.random.default_rng(5).random((3, 2)) < 0.999
    assert drawn.all() and not Lasso(budget=3, keep=0.999, seed=5).solve(game).credit.any()


def test_what_it_does_not_claim_is_indeed_broken():
    synergy = TableGame("abc", [0, 1, 2, 7, 3, 4, 9, 20])
    found = {f.axiom: f.verdict for f in axioms_kept(Lasso(budget=16, seed=0).solve, synergy)}
    assert found["null player"] == found["linearity"] == "broken"
    credit = Lasso(budget=16, seed=0).solve(synergy)
    assert abs(credit.credit.sum() - 20) > 0.1 and credit.total is None


@pytest.mark.parametrize(("name", "value"), [("budget", 1), ("alpha", 0.0), ("keep", 1.0), ("seed", -1)])
def test_settings_that_make_no_sense_are_refused(name, value):
    with pytest.raises(InvalidInput, match=name):
        Lasso(**{name: value})
