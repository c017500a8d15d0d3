"""Rows as games: closed forms of every dependence, all outputs at once, and models in the unit they add up in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import accredit
from accredit.core.coalitions import all_coalitions
from accredit.errors import BadPayoff, InvalidInput
from accredit.models.rows import as_row_model
from accredit.rows.frames import align, join, rows_of
from accredit.rows.game import columns_as_players, completing, row_game
from accredit.rows.sage import sage_game
from accredit.values import shapley
from accredit.values.semivalues import shapley_from_table
from tests.wording import refused, says

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


def game_of(model, row, background, dependence="interventional", weights=None):
    asked, compared = as_row_model(model), rows_of(background)
    both, _ = join(align(row, compared), compared)
    unit = asked.unit(None)
    outputs = asked.labels(asked.outputs(both[-1:], unit).shape[1])
    weights = np.full(len(compared), 1 / len(compared)) if weights is None else weights
    players = columns_as_players(compared.columns, None)
    return row_game(
        asked, unit, outputs, both, len(compared), completing(both, weights, players, dependence=dependence), players
    )


def table(game):
    return np.concatenate([game.payoff(chunk) for chunk in all_coalitions(len(game.players))])


@pytest.mark.parametrize("classifier", [SVC(), RidgeClassifier(), SGDClassifier(random_state=0), LogisticRegression()])
def test_both_classes_of_a_decision_value_earn_opposite_credit(classifier):
    """Class 0 once earned the constant 0: all of its credit was zero, and called exact."""
    model = classifier.fit(X, Y)
    v = table(game_of(model, X[0], X[:20]))
    assert np.ptp(v[:, 0]) > 0.1
    assert_allclose(v[:, 0], -v[:, 1])
    assert_allclose(v[-1, 1], model.decision_function(X[:1])[0])


def test_units_are_those_in_which_a_model_adds_up():
    assert as_row_model(LogisticRegression().fit(X, Y)).unit(None) == "logit"
    assert as_row_model(RandomForestClassifier(n_estimators=3, random_state=0).fit(X, Y)).unit(None) == "probability"
    assert as_row_model(KNeighborsClassifier(n_neighbors=20).fit(X, Y)).unit(None) == "probability"
    assert as_row_model(GaussianProcessClassifier().fit(X[:30], Y[:30])).unit(None) == "log-odds"
    assert as_row_model(LinearRegression().fit(X, Y)).unit(None) == "value"
    outliers = IsolationForest(n_estimators=10, random_state=0).fit(X)
    assert_allclose(as_row_model(outliers).outputs(X[:4], "value")[:, 0], outliers.decision_function(X[:4]))
    with refused("unknown", "payoff"):
        as_row_model(LogisticRegression().fit(X, Y)).unit("margin")
    sure = as_row_model(RandomForestClassifier(n_estimators=3, random_state=0).fit(X, Y))
    with pytest.raises(BadPayoff, match="probability"):
        sure.outputs(X, "log-odds")


def test_interventional_credit_of_a_line_is_slope_times_distance_from_the_weighted_mean():
    slopes, weights = np.array([2.0, -1.0, 0.5]), RNG.dirichlet(np.ones(10))
    v = table(game_of(lambda rows: rows @ slopes, X[0], X[10:20], weights=weights))
    assert_allclose(shapley_from_table(v[:, 0]), slopes * (X[0] - weights @ X[10:20]), atol=1e-12)


def test_gaussian_credit_of_a_line_is_the_conditional_mean():
    """E[x₀ | x₁] = 0.8·x₁ for these columns, so v is known for every coalition."""
    noise = RNG.normal(size=(3000, 2))
    both = np.column_stack([noise[:, 0], 0.8 * noise[:, 0] + 0.6 * noise[:, 1]])
    both = (both - both.mean(axis=0)) / both.std(axis=0)
    rho = np.corrcoef(both.T)[0, 1]
    v = table(game_of(lambda rows: rows[:, 0], [1.0, 2.0], both, "gaussian"))[:, 0]
    assert_allclose(v, [0.0, 1.0, 2 * rho, 1.0], atol=1e-5)


def test_empirical_weights_prefer_rows_that_resemble_the_row():
    """Two kinds of background rows: given the first column, only rows of the same kind are left."""
    kinds = np.repeat([[0.0, 5.0], [1.0, 9.0]], 20, axis=0) + 1e-6 * RNG.normal(size=(40, 2))
    v = table(game_of(lambda rows: rows[:, 1], [1.0, 9.0], kinds, "empirical"))[:, 0]
    assert_allclose(v, [7.0, 9.0, 9.0, 9.0], atol=1e-4)


def test_independent_columns_make_all_dependences_agree_at_the_ends():
    for dependence in ("interventional", "empirical", "gaussian"):  # a copula draws ranks, and causes need an order
        game = game_of(lambda rows: rows.sum(axis=1), X[0], X[10:], dependence)
        v = table(game)[:, 0]
        assert_allclose(v[[0, -1]], [X[10:].sum(axis=1).mean(), X[0].sum()], atol=1e-9)


def test_gaps_and_words_have_no_causal_answer():
    background = pd.DataFrame({"a": [1.0, np.nan], "b": ["x", "y"]})
    with refused("missing"):
        accredit.explain(
            background[:1].assign(b=1.0),
            lambda rows: np.ones(len(rows)),
            background=background.assign(b=1.0),
            dependence="causal",
            order="a < b",
        )
    with pytest.raises(InvalidInput, match="column 'b'"):
        accredit.explain(
            background[:1].assign(a=1.0),
            lambda rows: np.ones(len(rows)),
            background=background.assign(a=1.0),
            dependence="causal",
            order="a < b",
        )
    with pytest.raises(InvalidInput, match="dependence is 'psychic'"):
        game_of(lambda rows: np.ones(len(rows)), X[0], X, "psychic")


def test_column_names_come_before_positions():
    """Columns called 1 and 0 were once read as positions."""
    players = columns_as_players(("1", "0", "x"), {"first": [0, "x"]})
    assert players.owner.tolist() == [0, 1, 1] and set(players.players) == {"1", "first"}
    with pytest.raises(InvalidInput, match="'nope'"):
        columns_as_players(("a",), {"g": ["nope"]})


def test_sage_of_a_line_is_the_variance_that_a_column_explains():
    """Squared error without column i grows by (slope · sd)² when columns are independent and predictions are averaged."""
    x = np.array(np.meshgrid([0.0, 2.0], [0.0, 2.0])).reshape(2, -1).T
    game, notes = sage_game(lambda rows: rows @ [3.0, 1.0], x, x @ [3.0, 1.0])
    assert_allclose(shapley(game).credit, [9.0, 1.0])
    assert notes == ()
    model = LogisticRegression().fit(X, Y)
    framed = pd.DataFrame(X, columns=list("abc"))
    game, notes = sage_game(LogisticRegression().fit(framed, Y), framed, Y, most_rows=30, most_background=10)
    assert len(notes) == 2 and says(notes[0], "of 60 rows") and shapley(game)["a"] > shapley(game)["c"]
    with pytest.raises(InvalidInput, match="truth holds '7'"):
        sage_game(model, X, np.full(60, 7))
    with refused("shape", "truth"):
        sage_game(model, X, Y[:3])
