"""One budget of model rows that all explained rows share: kept, spent where it is needed, and honest about its error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import accredit
from accredit.core.coalitions import from_index
from accredit.core.estimate import Known
from accredit.rows.pooled import as_numbers, correction, deal, draw, least_budget, shrink
from accredit.values import Exact
from tests.wording import refused, says


class Counted:
    """A model that counts the rows it is asked about."""

    def __init__(self, predict):
        self.predict, self.rows = predict, 0

    def __call__(self, rows):
        self.rows += len(rows)
        return self.predict(rows)


def covered(found, truth):
    inside = (found.interval[..., 0] <= truth) & (truth <= found.interval[..., 1])
    return inside.mean()


def test_all_coalitions_of_three_players_give_the_shapley_value():
    rng = np.random.default_rng(0)
    v = np.concatenate([[0.0], rng.normal(size=7)])
    game = accredit.games.TableGame(("a", "b", "c"), v)
    coalitions = from_index(np.arange(1, 7), 3)  # sizes 1 and 2 are equally likely, so all six are
    total = v[-1] - v[0]
    odd = (game.payoff(coalitions) - game.payoff(~coalitions)) / 2 - total * (coalitions.mean(axis=1) - 0.5)
    assert_allclose(total / 3 + correction(coalitions, odd)[0], Exact().solve(game).credit)


def test_an_additive_difference_is_found_without_error():
    rng = np.random.default_rng(1)
    asked = draw(np.array([60]), 5, np.ones(4) / 4, rng)
    worth = np.array([3.0, -1.0, 0.5, -2.0, -0.5])  # sums to 0
    found, stderr, freedom = correction(asked.coalition, (asked.coalition - asked.coalition.mean(axis=1)[:, None]) @ worth)
    assert_allclose(found, worth)
    assert_allclose(stderr, 0, atol=1e-12)
    assert freedom == 55


def test_background_rows_come_as_often_as_they_weigh():
    weights = np.array([0.7, 0.2, 0.1])
    asked = draw(np.array([300, 700]), 6, weights, np.random.default_rng(2))
    assert_allclose(np.bincount(asked.background) / 1000, weights, atol=0.0011)
    assert np.bincount(asked.row).tolist() == [300, 700]
    assert set(asked.coalition.sum(axis=1)) == {1, 2, 3, 4, 5}


def test_questions_go_where_the_spread_is():
    assert deal(100, np.array([1.0, 1.0, 2.0]), np.array([10, 10, 10])).tolist() == [23, 22, 55]
    assert deal(10, np.array([0.0, 0.0]), np.array([5, 5])).tolist() == [5, 5]


def test_shrunk_corrections_keep_the_total_and_what_is_sure():
    rng = np.random.default_rng(3)
    credit = rng.normal(size=(30, 4))
    stderr = np.tile([1e-9, 0.3, 1.0, 10.0], (30, 1))
    found = shrink(credit, stderr, credit.sum(axis=1))
    assert_allclose(found.sum(axis=1), credit.sum(axis=1))
    assert_allclose(found[:, 0], credit[:, 0], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["forest", "net"])
def test_intervals_cover_and_the_error_is_small_for_few_model_rows(kind):
    x, y = load_breast_cancer(return_X_y=True)
    x, y = StandardScaler().fit_transform(x), x[:, 20] / x[:, 20].std()
    if kind == "forest":
        x = x[:, :12]
        model = RandomForestRegressor(30, max_depth=8, random_state=0).fit(x[:400], y[:400])
        background, rows = x[:40], x[400:440]
        truth = accredit.explain(rows, model, background=background)  # in closed form
    else:
        x = x[:, :8]
        model = MLPRegressor(hidden_layer_sizes=(16,), max_iter=500, alpha=0.1, random_state=0).fit(x[:400], y[:400])
        background, rows = x[:40], x[400:440]
        truth = accredit.explain(rows, model.predict, background=background)  # from all coalitions
    assert truth.precision.known is Known.EXACT
    counted = Counted(model.predict)
    found = accredit.explain(rows, counted, background=background, model_rows=8000)
    assert counted.rows <= 8000 < 40 * 40 * 2 ** x.shape[1] / 50
    assert found.precision.known is Known.INTERVAL
    assert_allclose(found.credit.sum(axis=1) + found.base, found.prediction)
    assert ((found.credit - truth.credit) ** 2).sum() < 0.02 * (truth.credit**2).sum()
    # Data, model and draws have fixed seeds, so nothing varies from run to run: the false-alarm rate is 0.
    assert covered(found, truth.credit) >= 0.95


@pytest.mark.slow
def test_words_missing_cells_and_groups_share_a_budget():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {"town": rng.choice(["Rome", "Oslo", "Bonn"], 90), "age": rng.normal(40, 9, 90), "pay": rng.normal(3, 1, 90)}
    )
    frame.loc[::7, "age"] = np.nan
    frame["kin"], frame["car"] = rng.integers(0, 4, 90), rng.choice([True, False], 90)

    def price(rows):
        town = rows["town"].map({"Rome": 3.0, "Oslo": 1.0, "Bonn": 0.0}).to_numpy(dtype=float)
        age = rows["age"].fillna(50).to_numpy(dtype=float)
        return town * rows["car"].to_numpy(dtype=float) + age / 10 + np.exp(rows["pay"].to_numpy(dtype=float) / 3)

    settings = {"background": frame[:20], "players": {"home": ["town", "kin"]}}
    truth = accredit.explain(frame[20:60], price, **settings)
    counted = Counted(price)
    found = accredit.explain(frame[20:60], counted, model_rows=5000, **settings)
    assert found.players == truth.players == ("home", "age", "pay", "car")
    assert counted.rows <= 5000
    assert covered(found, truth.credit) >= 0.95
    assert np.abs(found.credit - truth.credit).max() < 0.3


@pytest.mark.slow
def test_two_classes_earn_opposite_credit_and_the_note_says_what_was_spent():
    x, y = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), MLPClassifier(hidden_layer_sizes=(16,), max_iter=2000, random_state=0)).fit(
        x, y == 1
    )
    found = accredit.explain(x[30:60], model, background=x[::9], model_rows=4000, payoff="probability")
    assert_allclose(found.credit[..., 0], -found.credit[..., 1])
    assert_allclose(found.credit.sum(axis=1) + found.base, found.prediction)
    text = " ".join(note.text for note in found.notes)
    assert "asked about 4,000 rows for all 30 rows together" in text
    assert found.method.settings["model_rows"] == 4000
    assert {claim.axiom: str(claim.holds) for claim in found.claims}["efficiency"] == "exactly"


def test_a_budget_that_pays_for_every_coalition_is_spent_on_them():
    def product(rows):
        return rows[:, 0] * rows[:, 1]

    found = accredit.explain(np.ones((3, 2)), product, background=np.zeros((5, 2)), model_rows=60)
    assert found.precision.known is Known.EXACT
    assert_allclose(found.credit[..., 0], 0.5)


def test_a_closed_form_needs_no_budget():
    x = np.random.default_rng(5).normal(size=(40, 3))
    model = LinearRegression().fit(x, x @ [1.0, 2.0, 3.0])
    found = accredit.explain(x[:5], model, background=x, model_rows=10)
    assert found.precision.known is Known.EXACT


def test_too_small_a_budget_and_settings_that_do_not_go_with_one_are_refused():
    rows, background = np.ones((4, 5)), np.zeros((6, 5))

    def model(rows):
        return rows.sum(axis=1) ** 2

    with refused("range", "model_rows"):
        accredit.explain(rows, model, background=background, model_rows=least_budget(4, 6) - 1)
    for setting, value in (
        ("methods", "banzhaf"),
        ("dependence", "empirical"),
        ("interactions", True),
        ("budget", 100),
        ("executor", "processes:2"),
        ("out", "rows.jsonl"),
    ):
        with refused("conflict", setting):
            accredit.explain(rows, model, background=background, model_rows=1000, **{setting: value})


def test_a_long_run_is_announced_before_it_begins(monkeypatch):
    from accredit.rows.explain import question
    from accredit.rows.ground import Ground
    from accredit.rows.run import TableRun

    monkeypatch.setattr(Ground, "seconds_per_row", lambda self, unit: 0.05)
    rows, background = np.ones((400, 70)), np.zeros((100, 70))
    asked = question(rows, lambda rows: rows.sum(axis=1) ** 2, background)
    text = TableRun(None, asked).forecast()
    assert says(text, "20,480,000 rows")  # 400 rows, 512 coalitions, 100 background rows
    assert says(text, "284.4 hours")
    assert says(text, "model_rows")
    heard = []
    monkeypatch.setattr(TableRun, "forecast", lambda self: "long")
    accredit.explain(rows[:1, :3], lambda rows: rows.sum(axis=1) ** 2, background=background[:, :3], announce=heard.append)
    assert heard == ["long"]


def test_words_become_places_and_missing_stays_missing():
    frame = pd.DataFrame({"a": ["x", None, "w"], "b": pd.array([1, None, 3], dtype="Int64"), "c": [True, False, True]})
    assert_allclose(as_numbers(frame), [[1, 1, 1], [np.nan, np.nan, 0], [0, 3, 1]])
