"""Rows of a table as games: closed forms, columns of any type, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import accredit
from accredit.core import endpoints
from accredit.errors import BadPayoff, InvalidInput
from accredit.models.rows import as_row_model
from accredit.rows import tabular_game
from accredit.rows.game import RowGame, columns_as_players, completing, row_game
from accredit.values import shapley
from tests.wording import reads, refused

RNG = np.random.default_rng(1)
BACKGROUND, ROW, W = RNG.normal(size=(30, 4)), RNG.normal(size=4), np.array([2.0, -1.0, 0.5, 0.0])


def test_linear_models_are_shared_by_weight_times_distance_from_the_mean():
    game = tabular_game(lambda rows: rows @ W, ROW, BACKGROUND, names=["a", "b", "c", "d"])
    assert game.players == ("a", "b", "c", "d")
    assert_allclose(shapley(game).credit, W * (ROW - BACKGROUND.mean(axis=0)), atol=1e-12)
    assert_allclose(endpoints(game), [(BACKGROUND @ W).mean(), ROW @ W])


def test_a_product_of_two_columns_with_one_background_row_is_worked_by_hand():
    credit = shapley(tabular_game(lambda rows: rows[:, 0] * rows[:, 1], [3.0, 5.0], [[1.0, 2.0]])).credit
    assert_allclose(credit, [((6 - 2) + (15 - 5)) / 2, ((5 - 2) + (15 - 6)) / 2])


def test_groups_of_columns_play_together():
    game = tabular_game(lambda rows: rows @ W, ROW, BACKGROUND, players={"first": ["x0", 1]})
    assert game.players == ("first", "x2", "x3")
    gain = W * (ROW - BACKGROUND.mean(axis=0))
    assert_allclose(shapley(game).credit, [gain[0] + gain[1], gain[2], gain[3]], atol=1e-12)


def frame(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "town": pd.Categorical(rng.choice(["A", "B", "C"], rows), ["A", "B", "C"]),
            "pay": rng.normal(size=rows),
            "name": rng.choice(["x", "y"], rows),
        }
    )


def test_pipelines_over_named_columns_of_any_type():
    data = frame(80, 0)
    label = (data["age"] + 20 * (data["town"] == "A") > 45).map({True: "yes", False: "no"})
    columns = make_column_transformer((StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["town", "name"]))
    model = make_pipeline(columns, LogisticRegression()).fit(data, label)
    for row in (data.iloc[[3]], data.iloc[3], data.iloc[3].to_dict(), data.iloc[3].tolist()):
        game = tabular_game(model, row, data.iloc[10:30], target="yes", payoff="probability")
        nobody, everybody = endpoints(game)
        assert game.players == ("age", "town", "pay", "name") and game.payoff_name == "probability"
        assert_allclose(everybody, model.predict_proba(data.iloc[[3]])[0, 1])
        assert_allclose(nobody, model.predict_proba(data.iloc[10:30])[:, 1].mean())
    by_hand = data.iloc[10:30].assign(age=data["age"][3], name=data["name"][3])
    assert_allclose(game.payoff(np.array([[True, False, False, True]])), model.predict_proba(by_hand)[:, 1].mean())


def test_torch_modules_and_margins():
    net = torch.nn.Linear(4, 3).double()
    game = tabular_game(net, ROW, BACKGROUND, payoff="margin", target=2)
    z = (ROW @ net.weight.detach().numpy().T + net.bias.detach().numpy()).tolist()
    assert_allclose(endpoints(game)[1], z[2] - max(z[:2]), atol=1e-9)


@pytest.mark.passes
def test_chunks_change_nothing():
    wide, narrow = (tabular_game(lambda rows: np.sin(rows).sum(axis=1), ROW, BACKGROUND, memory=m) for m in (1e9, 1.0))
    coalitions = RNG.random((40, 4)) < 0.5
    assert narrow.rows == 1 < wide.rows
    assert_allclose(wide.payoff(coalitions), narrow.payoff(coalitions), atol=1e-12)
    assert wide.estimate(100).payoffs == 100


@pytest.mark.slow
def test_shap_gives_the_same_values_on_the_same_background():
    shap = pytest.importorskip("shap", reason="shap is not installed; it is only compared with")

    def wavy(rows):
        return np.sin(rows[:, 0]) * rows[:, 1] + rows[:, 2] ** 2

    theirs = shap.explainers.Exact(wavy, shap.maskers.Independent(BACKGROUND, max_samples=30))(ROW[None]).values[0]
    assert_allclose(shapley(tabular_game(wavy, ROW, BACKGROUND)).credit, theirs, atol=1e-9)


@pytest.mark.parametrize(
    ("row", "background", "options", "message"),
    [
        (ROW[:3], BACKGROUND, {}, "row has 3"),
        (ROW, BACKGROUND[:0], {}, "background"),
        (ROW, BACKGROUND, {"names": ["a"]}, "names"),
        (ROW, BACKGROUND, {"players": {"g": ["nope"]}}, "nope"),
        (ROW, BACKGROUND, {"players": {"g": [9]}}, "names the column 9"),
        (ROW, BACKGROUND, {"target": 5}, "target"),
        (ROW, BACKGROUND, {"payoff": "probability"}, "payoff"),
        (ROW * np.inf, BACKGROUND, {}, "infinite"),
        ({"age": 3}, frame(5, 0), {}, "lacks"),
        (frame(2, 0), frame(5, 0), {}, "2 rows"),
    ],
)
def test_refusals(row, background, options, message):
    with pytest.raises(InvalidInput, match=message):
        tabular_game(lambda rows: np.ones(len(rows)), row, background, **options)


def test_certain_models_have_no_finite_log_odds():
    sure = type("Sure", (), {"fit": 0, "predict": 0, "predict_proba": lambda _s, rows: np.tile([0.0, 1.0], (len(rows), 1))})()
    game = tabular_game(sure, ROW, BACKGROUND, payoff="log-odds", target=1)
    with pytest.raises(BadPayoff, match="probability"):
        endpoints(game)


def test_a_decision_value_speaks_for_both_classes():
    """The first class once earned the constant 0: all of its credit was zero, and called exact."""
    labels = (BACKGROUND[:, 0] > 0).astype(int)
    model = SVC().fit(BACKGROUND, labels)
    row = BACKGROUND[labels == 0][0]
    game = tabular_game(model, row, BACKGROUND[:10])
    assert game.target == 0 and game.payoff_name == "logit"
    assert_allclose(endpoints(game)[1], -model.decision_function(row[None])[0])
    assert np.abs(shapley(game).credit).max() > 0.01


@pytest.mark.parametrize(
    "model",
    [SVC(), LogisticRegression(), RandomForestClassifier(3, random_state=0), GaussianNB(), DecisionTreeClassifier()],
    ids=lambda m: type(m).__name__,
)
def test_the_default_payoff_is_that_of_explain(model):
    """Two doors to one question: same unit, same worth, same target."""
    labels = np.where(BACKGROUND[:, 0] * BACKGROUND[:, 1] > 0, "in", "out")
    model.fit(BACKGROUND, labels)
    explained = accredit.explain(ROW[None], model, background=BACKGROUND[:10])
    game = tabular_game(model, ROW, BACKGROUND[:10])
    assert game.payoff_name == explained.payoff
    assert game.provenance["label"] == explained.target
    assert_allclose(shapley(game).credit, explained.row(0).credit, atol=1e-9)
    assert game.provenance["prediction"] == pytest.approx(explained.row(0).provenance["prediction"])


def test_what_was_widened_is_said():
    background = pd.DataFrame({"whole": [1, 2], "same": [1.0, 2.0]})
    game = tabular_game(lambda rows: rows["whole"], {"whole": 2.5, "same": 3.0}, background)
    assert reads(game.provenance["notes"])
    assert game.provenance["values"] == {"whole": 2.5, "same": 3.0}


def test_the_row_is_not_cast_to_the_background():
    background = pd.DataFrame({"whole": [1, 2], "flag": [True, False]})
    game = tabular_game(lambda rows: rows["whole"] + rows["flag"], {"whole": 2.9, "flag": 0.4}, background)
    assert endpoints(game)[1] == pytest.approx(3.3)
    kinds = pd.DataFrame({"town": pd.Categorical(["A", "B"])})
    with refused("unknown"):
        tabular_game(lambda rows: np.ones(len(rows)), {"town": "Z"}, kinds)


def test_outlier_detectors_are_asked_for_their_score():
    model = IsolationForest(n_estimators=5, random_state=0).fit(BACKGROUND)
    assert_allclose(endpoints(tabular_game(model, ROW, BACKGROUND[:5]))[1], model.decision_function(ROW[None])[0])


@pytest.mark.parametrize("payoff", ["probability", "log-odds", "margin", "loss", "entropy"])
def test_all_outputs_of_a_row_are_paid_as_each_alone(payoff):
    """The games that `explain` solves and the game of one class, on a model whose outputs lie in memory class by class."""
    model = GaussianNB().fit(BACKGROUND, np.digitize(BACKGROUND[:, 0], [-0.5, 0.5]))
    asked, unit = as_row_model(model).paying(payoff)
    both, size = np.concatenate([BACKGROUND[:12], ROW[None]]), 12
    outputs = asked.labels(3)
    columns = columns_as_players(("x0", "x1", "x2", "x3"), None)
    games = row_game(asked, unit, outputs, both, size, completing(both, np.full(size, 1 / size), columns), columns)
    coalitions = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=bool)
    earned = games.payoff(coalitions)
    assert earned.shape == (16, len(outputs)) and isinstance(games.game, RowGame)
    for k in range(len(outputs)):
        alone = tabular_game(model, ROW, BACKGROUND[:12], payoff=payoff, target=k)
        assert type(alone) is RowGame
        assert_allclose(alone.payoff(coalitions), earned[:, k], rtol=1e-12, atol=1e-12)


def test_every_payoff_of_a_classifier_is_a_function_of_its_probabilities():
    model = LogisticRegression().fit(BACKGROUND, (BACKGROUND[:, 0] > 0).astype(int))
    p = model.predict_proba(ROW.reshape(1, -1))[0]

    def spread(chances):
        return chances.max(axis=1) - chances.min(axis=1)

    expected = {
        "loss": -np.log(p[1]),
        "correctness": float(p[1] >= p[0]),
        "confidence": p.max(),
        spread: np.ptp(p),
        "entropy": -(p * np.log(p)).sum(),
    }
    for payoff, worth in expected.items():
        game = tabular_game(model, ROW, BACKGROUND, payoff=payoff, target=1)
        assert endpoints(game)[1] == pytest.approx(worth)
        assert game.payoff_name == (payoff if isinstance(payoff, str) else "spread")
