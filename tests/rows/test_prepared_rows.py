"""An explainer of rows prepares once what does not depend on them, and answers as a fresh call does."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from catboost import CatBoostClassifier
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import accredit
from accredit import Explainer, explain
from accredit.errors import InvalidInput
from accredit.rows.explain import Fit
from accredit.rows.result import TableExplanation
from accredit.trees.reading import boosters, scikit
from tests.wording import refused

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 5))
TWO = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
THREE = np.digitize(X[:, 0] + X[:, 2], [-0.5, 0.5])
NUMBER = X[:, 0] * 2 - X[:, 1] * X[:, 3]
BACKGROUND = X[60:100]
FRAME = pd.DataFrame({"age": RNG.integers(20, 60, 120), "pay": RNG.normal(size=120), "town": RNG.choice(list("ABC"), 120)})
OLD = (FRAME["age"] + 10 * (FRAME["town"] == "A") > 45).astype(int)
FEW: dict[str, Any] = {"n_estimators": 8, "max_depth": 3, "random_state": 0}


def town_encoded(model: Any) -> Any:
    encoder = make_column_transformer((OneHotEncoder(), ["town"]), (StandardScaler(), ["age", "pay"]))
    return make_pipeline(encoder, model).fit(FRAME, OLD)


def xgb(kind: Any, truth: Any) -> Any:
    return kind(**FEW, n_jobs=1).fit(X, truth)


ARRAYS = {
    "xgboost, two classes": lambda: (xgb(xgboost.XGBClassifier, TWO), {}),
    "xgboost, three classes": lambda: (xgb(xgboost.XGBClassifier, THREE), {}),
    "xgboost, regression": lambda: (xgb(xgboost.XGBRegressor, NUMBER), {}),
    "xgboost, counts": lambda: (
        xgboost.XGBRegressor(**FEW, n_jobs=1, objective="count:poisson").fit(X, np.abs(NUMBER)),
        {"budget": 64},
    ),
    "lightgbm": lambda: (lightgbm.LGBMClassifier(**FEW, n_jobs=1, verbose=-1).fit(X, TWO), {}),
    "lightgbm, regression": lambda: (lightgbm.LGBMRegressor(**FEW, n_jobs=1, verbose=-1).fit(X, NUMBER), {}),
    "catboost": lambda: (
        CatBoostClassifier(iterations=8, depth=3, thread_count=1, verbose=0, allow_writing_files=False).fit(X, TWO),
        {},
    ),
    "forest": lambda: (RandomForestClassifier(**FEW).fit(X, TWO), {}),
    "forest, three classes": lambda: (RandomForestClassifier(**FEW).fit(X, THREE), {"interactions": True}),
    "boosting": lambda: (GradientBoostingClassifier(**FEW).fit(X, TWO), {}),
    "histograms": lambda: (HistGradientBoostingRegressor(max_iter=8, max_depth=3).fit(X, NUMBER), {}),
    "forest, log-odds": lambda: (
        RandomForestClassifier(**FEW, min_samples_leaf=20).fit(X, TWO),
        {"payoff": "log-odds"},
    ),
    "boosting, probability": lambda: (GradientBoostingClassifier(**FEW).fit(X, TWO), {"payoff": "probability"}),
    "logistic": lambda: (LogisticRegression().fit(X, TWO), {}),
    "bayes": lambda: (GaussianNB().fit(X, TWO), {}),
    "a function": lambda: (lambda rows: rows[:, 0] * rows[:, 1] + rows[:, 2], {}),
    "groups": lambda: (RandomForestClassifier(**FEW).fit(X, TWO), {"players": {"first": [0, 1]}, "methods": "banzhaf"}),
    "weights": lambda: (RandomForestClassifier(**FEW).fit(X, TWO), {"weights": np.arange(1, 41)}),
    "medoids": lambda: (
        GradientBoostingClassifier(**FEW).fit(X, TWO),
        {"most_background": 10, "background_by": "medoids"},
    ),
}
QUESTIONS = (X[:1], X[1:2], X[2], X[3:5].tolist(), X[5:25], X[:1].astype(np.float32), X[25:26])


def agree(one: TableExplanation, other: TableExplanation) -> None:
    """The same numbers up to rounding, and the same words."""
    assert_allclose(one.credit, other.credit, rtol=1e-9, atol=1e-12)
    assert_allclose(one.prediction, other.prediction, rtol=1e-12, atol=1e-14)
    assert_allclose(one.base, other.base, rtol=1e-12, atol=1e-14)
    if other.pairs is not None:
        assert_allclose(one.pairs, other.pairs, rtol=1e-9, atol=1e-12)
    for name in (
        "players",
        "outputs",
        "cells",
        "rows",
        "method",
        "target",
        "payoff",
        "dependence",
        "precision",
        "claims",
        "notes",
        "provenance",
        "model",
    ):
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.slow
@pytest.mark.parametrize("name", ARRAYS)
def test_an_explainer_answers_as_a_fresh_call_does(name):
    model, settings = ARRAYS[name]()
    explainer = Explainer(model, background=BACKGROUND, **settings)
    for rows in QUESTIONS:
        agree(explainer(rows), explain(rows, model, background=BACKGROUND, **settings))


@pytest.mark.slow
@pytest.mark.parametrize("model", [RandomForestClassifier(**FEW), LogisticRegression(), GaussianNB()], ids=str)
def test_frames_rows_and_mappings_through_a_pipeline(model):
    model, background = town_encoded(model), FRAME.iloc[40:80]
    explainer = Explainer(model, background=background)
    one, turned, wide = FRAME.iloc[0], FRAME[["town", "pay", "age"]][9:10], FRAME[:2].astype({"age": float})
    for rows in (FRAME[:1], one, one.to_dict(), FRAME[3:9], wide, turned):
        agree(explainer(rows), explain(rows, model, background=background))


def test_a_value_that_widens_a_column_is_said_each_time():
    model = RandomForestClassifier(**FEW).fit(FRAME[["age", "pay"]], OLD)
    background = FRAME[["age", "pay"]][40:80]
    explainer = Explainer(model, background=background)
    for row in ({"age": 30, "pay": 0.5}, {"age": 30.5, "pay": 0.5}, {"age": 31, "pay": 1}, {"age": 41.5, "pay": 0.5}):
        agree(explainer(row), explain(row, model, background=background))
    assert any("widened" in note.text for note in explainer({"age": 30.5, "pay": 0.5}).notes)
    assert not any("widened" in note.text for note in explainer({"age": 30, "pay": 0.5}).notes)


def test_categories_that_a_model_remembers():
    frame = FRAME.astype({"town": "category"})
    model = xgboost.XGBClassifier(**FEW, n_jobs=1, enable_categorical=True).fit(frame, OLD)
    background = frame[40:80]
    explainer = Explainer(model, background=background)
    turned = frame[["age", "pay"]].assign(town=pd.Categorical(FRAME["town"], categories=list("CAB")))
    for rows in (frame[:1], FRAME[1:2], FRAME.iloc[2].to_dict(), turned[3:4], frame[4:9]):
        agree(explainer(rows), explain(rows, model, background=background))
    with refused("unknown"):
        explainer({"age": 30, "pay": 0.5, "town": "Z"})


def test_a_category_that_the_background_lacks_belongs_to_its_own_column():
    """The background says nothing about the encoded column of C; the first row that holds C does."""
    background = FRAME[FRAME["town"] != "C"][:30]
    model = town_encoded(RandomForestClassifier(n_estimators=20, max_depth=4, random_state=0))
    explainer = Explainer(model, background=background)
    others, rare = FRAME[FRAME["town"] != "C"][:1], FRAME[FRAME["town"] == "C"]
    for rows in (others, rare[:1], rare[1:2], others):
        agree(explainer(rows), explain(rows, model, background=background))


@pytest.mark.parametrize("with_background", [True, False], ids=["background", "cover"])
def test_without_a_background_rows_decide(with_background):
    model = GradientBoostingClassifier(**FEW).fit(X, TWO)
    settings = {"background": BACKGROUND} if with_background else {}
    explainer = Explainer(model, **settings)
    for rows in (X[:1], X[:30], X[1:2], X[30:60], X[:3]):
        agree(explainer(rows), explain(rows, model, **settings))


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[Any]:
    """Every call of a function from now on."""
    calls: list[Any] = []
    real = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *args, **more: (calls.append(args), real(*args, **more))[1])
    return calls


READERS = {
    "xgboost, two classes": (boosters, "read_xgboost"),
    "lightgbm": (boosters, "read_lightgbm"),
    "forest": (scikit, "read_scikit"),
}


@pytest.mark.parametrize("name", READERS)
def test_a_model_is_read_once(monkeypatch, name):
    model, _ = ARRAYS[name]()
    calls = counted(monkeypatch, *READERS[name])
    explainer = Explainer(model, background=BACKGROUND)
    for k in range(4):
        explainer(X[k : k + 1], target=k % 2)
    assert len(calls) == 1
    explain(X[:1], model, background=BACKGROUND)
    assert len(calls) == 2


def test_scikit_is_asked_about_the_background_once_and_about_finite_rows_never_again(monkeypatch):
    model = RandomForestClassifier(**FEW).fit(X, TWO)
    explainer = Explainer(model, background=BACKGROUND)
    explainer(X[:1])
    calls = counted(monkeypatch, RandomForestClassifier, "predict_proba")
    explainer(X[1:2])
    assert not calls


def test_rows_that_the_reading_does_not_stand_for_are_asked_of_the_model():
    """A row with a gap, and one beyond single precision, which the library refuses."""
    model = RandomForestClassifier(**FEW).fit(X, TWO)
    explainer = Explainer(model, background=BACKGROUND)
    gap, huge = X[:1].copy(), X[:1].copy()
    gap[0, 1], huge[0, 1] = np.nan, 1e300
    for _ in range(3):
        agree(explainer(X[:1]), explain(X[:1], model, background=BACKGROUND))
        agree(explainer(gap), explain(gap, model, background=BACKGROUND))
        with pytest.raises(InvalidInput, match="too large"):
            explainer(huge)
        with pytest.raises(InvalidInput, match="must match"):
            explainer(X[:1, :4])


REFITTED = {
    "forest": (RandomForestClassifier(**FEW), lambda model: model.fit(X, 1 - TWO)),
    "more trees": (
        RandomForestClassifier(**FEW, warm_start=True),
        lambda model: model.set_params(n_estimators=16).fit(X, TWO),
    ),
    "xgboost": (xgboost.XGBClassifier(**FEW, n_jobs=1), lambda model: model.fit(X, 1 - TWO)),
    "linear": (LinearRegression(), lambda model: model.fit(X, NUMBER**2)),
    "pipeline": (make_pipeline(StandardScaler(), LogisticRegression()), lambda model: model.fit(X, 1 - TWO)),
    "catboost": (
        CatBoostClassifier(iterations=8, depth=3, thread_count=1, verbose=0, allow_writing_files=False),
        lambda model: model.fit(X, 1 - TWO),
    ),
    "lightgbm": (lightgbm.LGBMClassifier(**FEW, n_jobs=1, verbose=-1), lambda model: model.fit(X, 1 - TWO)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFITTED)
def test_a_model_that_is_fitted_again_is_read_again(name):
    model, change = REFITTED[name]
    model.fit(X, TWO)
    explainer = Explainer(model, background=BACKGROUND)
    for k in range(3):
        explainer(X[k : k + 1])
    change(model)
    for k in range(3):
        agree(explainer(X[k : k + 1]), explain(X[k : k + 1], model, background=BACKGROUND))


def test_a_booster_that_is_trained_on_is_read_again():
    data = xgboost.DMatrix(X, TWO)
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 3, "nthread": 1}, data, 5)
    explainer = Explainer(booster, background=BACKGROUND)
    for k in range(2):
        explainer(X[k : k + 1])
    booster.update(data, 5)
    agree(explainer(X[:1]), explain(X[:1], booster, background=BACKGROUND))


def test_asking_a_model_does_not_change_its_fit():
    for name in ("xgboost, two classes", "lightgbm", "catboost", "forest", "logistic"):
        model, _ = ARRAYS[name]()
        before = Fit(model)
        model.predict(X[:3])
        assert before.is_of(model), name


def test_other_settings_are_prepared_anew_and_the_target_is_not():
    model = RandomForestClassifier(**FEW).fit(X, TWO)
    explainer = Explainer(model, background=BACKGROUND)
    explainer(X[:1])
    first = explainer._rows.questions
    assert explainer(X[:1], target=0).target == "0" and explainer._rows.questions is first
    other = explainer(X[:1], background=X[:20])
    agree(other, explain(X[:1], model, background=X[:20]))
    agree(explainer(X[:1]), explain(X[:1], model, background=BACKGROUND))
    with pytest.raises(InvalidInput, match="seed"):
        explainer(X[:1], seed="x")


def test_a_background_that_is_changed_later_is_not_read_again():
    """Games and closed forms both keep the background of the first call."""
    for model in (LinearRegression().fit(X, NUMBER), lambda rows: rows[:, 0] * rows[:, 1]):
        background = BACKGROUND.copy()
        explainer = Explainer(model, background=background)
        before = explainer(X[:1])
        background[:] = 0.0
        agree(explainer(X[:1]), before)


def test_the_file_of_a_model_is_read_again_when_it_has_changed(tmp_path):
    file = tmp_path / "model.json"
    one, other = xgb(xgboost.XGBClassifier, TWO), xgb(xgboost.XGBClassifier, 1 - TWO)
    one.get_booster().save_model(file)
    explainer = Explainer(str(file), background=BACKGROUND)
    for k in range(2):
        explainer(X[k : k + 1])
    other.get_booster().save_model(file)
    found = explainer(X[:1])
    assert_allclose(found.credit, accredit.explain(X[:1], other.get_booster(), background=BACKGROUND).credit)
