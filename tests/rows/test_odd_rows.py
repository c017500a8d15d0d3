"""Rows as people hold them, and rows that no model can read: right, or an error that names the column and the call."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import accredit
from accredit.errors import InvalidInput
from accredit.models import as_array_model
from accredit.models.rows import as_row_model
from tests.wording import refused

RNG = np.random.default_rng(0)
DATA = pd.DataFrame(
    {
        "age": RNG.integers(20, 60, 60),
        "pay": RNG.normal(2000, 300, 60),
        "town": RNG.choice(["A", "B", "C"], 60),
        "member": RNG.random(60) < 0.5,
    }
)
WORTH = (DATA["age"] > 40) * 1.0 + (DATA["town"] == "A") * 2 + DATA["pay"] / 1000
STAYS = np.where(WORTH > 3.2, "stays", "goes")
COLUMNS = make_column_transformer((StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["town"]), remainder="passthrough")
MODEL = make_pipeline(COLUMNS, LogisticRegression()).fit(DATA, STAYS)
TRAIN, ROWS = DATA[30:], DATA[:2]
EXPECTED = accredit.explain(ROWS, MODEL, background=TRAIN)
X = DATA[["age", "pay"]].to_numpy(dtype=float)


class Columnar:
    """A table of another library: columns, a length, and a way to pandas."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame, self.columns = frame, list(frame.columns)

    def __len__(self) -> int:
        return len(self._frame)

    def to_pandas(self) -> pd.DataFrame:
        return self._frame


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        ROWS[["town", "member", "pay", "age"]],
        ROWS.set_axis([7, 7]),
        ROWS.convert_dtypes(),
        ROWS.convert_dtypes(dtype_backend="pyarrow"),
        ROWS.astype({"town": "category"}),
        ROWS.to_dict("records"),
        ROWS.to_dict("list"),
        ROWS.to_records(index=False),
        list(ROWS.itertuples(index=False)),
        Columnar(ROWS),
        ROWS.to_numpy(),
    ],
    ids=[
        "reordered",
        "equal labels",
        "nullable",
        "arrow",
        "category",
        "dicts",
        "lists",
        "records",
        "tuples",
        "other library",
        "objects",
    ],
)
def test_rows_may_be_held_in_many_ways(given):
    assert_allclose(accredit.explain(given, MODEL, background=TRAIN).credit, EXPECTED.credit, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("one", [DATA.iloc[1], DATA.iloc[1].to_dict(), DATA[1:2], DATA.iloc[1].tolist()])
def test_one_row_may_be_held_in_many_ways(one):
    assert_allclose(accredit.explain(one, MODEL, background=TRAIN).credit[0], EXPECTED.credit[1], atol=1e-12)
    behind = accredit.explain(ROWS, MODEL, background=TRAIN.to_dict("records"))
    assert_allclose(behind.credit, EXPECTED.credit, atol=1e-12)


REFUSED = {
    "missing": (ROWS.drop(columns="pay"), TRAIN, "rows lacks the column 'pay'"),
    "doubled": (pd.concat([ROWS, ROWS[["age"]]], axis=1), TRAIN, "rows has several columns called 'age'"),
    "doubled behind": (ROWS, pd.concat([TRAIN, TRAIN[["age"]]], axis=1), "background has several columns called 'age'"),
    "unseen": (ROWS.assign(town="Z"), TRAIN, "column 'town' of row '0', which is 'Z'"),
    "unseen category": (ROWS.assign(town="Z"), TRAIN.astype({"town": "category"}), "column 'town' holds 'Z'"),
    "words": (ROWS.assign(age="old"), TRAIN, "column 'age' is int64 in the background and holds 'old'"),
    "a gap": (ROWS.assign(age=[30, np.nan]), TRAIN, "column 'age' of row '1', which is missing"),
    "infinite": (ROWS.assign(pay=np.inf), TRAIN, "rows holds an infinite value in column 'pay'"),
    "a date beside text": (
        ROWS.assign(town=pd.Timestamp("2020-01-01")),
        TRAIN.astype({"town": "string"}),
        "column 'town'",
    ),
    "no rows": (ROWS[:0], TRAIN, "rows has 0 rows"),
    "empty background": (ROWS, TRAIN[:0], "background has 0 rows"),
    "no columns": (ROWS[[]], TRAIN[[]], "0 columns"),
    "unreadable background": (ROWS, TRAIN.assign(town="Z"), "cannot read the background.*unknown categories"),
    "array beside frame": (X[:2], TRAIN, "rows has 2 columns and background 4"),
    "frame beside array": (ROWS, TRAIN.to_numpy(), "rows has named columns .*'age'.* and background has none"),
    "a path": ("rows.csv", TRAIN, "'rows.csv' does not exist"),
    "a path behind": (ROWS, "train.csv", "'train.csv' does not exist"),
    "a number": (ROWS, 50, "background is an int"),
    "a generator": ((row for row in X), X, "given is a generator"),
    "uneven": ([[1.0, 2.0], [3.0]], X, "rows has rows of different lengths"),
    "three axes": (X[None], X, "rows has shape"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_model_can_read_is_named(case):
    rows, background, said = REFUSED[case]
    with pytest.raises(InvalidInput, match=said):
        accredit.explain(rows, MODEL, background=background)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"nsamples": 5}, "nsamples is not a setting of rows of a table; did you mean budget"),
        ({"names": ["a", "b", "c", "d"]}, "names is for arrays"),
        ({"target": "maybe"}, "its labels are goes, stays"),
        ({"payoff": "value"}, "can be asked for logit, log-odds, probability"),
        ({"dependence": "cover"}, "uses no background"),
        ({"dependence": "causal", "order": "age, pay, member < town"}, "column 'town'"),
        ({"players": {"who": ["age", "town"], "what": ["town"]}}, "gives the column 'town' to 'who' and 'what'"),
        ({"players": {"who": ["age", "age"]}}, "gives the column 'age' to 'who' twice"),
        ({"players": {"town": ["age", "pay"]}}, "a group 'town', which is a column outside of it"),
        ({"budget": "many"}, "budget must be a whole number"),
        ({"executor": 2}, "executor is 2; write serial"),
        ({"out": "."}, "is a folder; name a file in it"),
        ({"players": "word"}, "write groups of columns"),
        ({"players": {"who": ["agee"]}}, "'agee'; the columns are age, pay"),
    ],
)
def test_settings_that_do_not_fit_are_named(settings, said):
    with pytest.raises(InvalidInput, match=said):
        accredit.explain(ROWS, MODEL, background=TRAIN, **settings)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (SVC(), "not trained"),
        (RandomForestClassifier(2).fit(X, np.c_[STAYS, STAYS]), "predicts 2 targets at once"),
        (
            ClassifierChain(LogisticRegression()).fit(X, np.c_[STAYS == "goes", STAYS == "stays"]),
            r"predict_proba\(rows\)\[:, 0\]",
        ),
        (VotingClassifier([("a", SVC())]).fit(X, STAYS), "lambda rows: model.predict"),
        (lambda rows: rows[:, 9], "out of bounds"),
        (lambda rows: rows[:, 0] * np.nan, "finite"),
        (lambda rows: 1.0, "one row of outputs each"),
        (SimpleNamespace(), "give an estimator, a booster"),
        (None, "model is missing"),
    ],
)
def test_models_that_do_not_answer_are_named(model, said):
    with pytest.raises(accredit.AccreditError, match=said):
        accredit.explain(X[:2], model, background=X[30:])


def boosters() -> dict[str, object]:
    import catboost
    import lightgbm
    import xgboost

    y, quiet = WORTH.to_numpy(), {"verbose": -1, "min_child_samples": 5, "n_estimators": 3, "n_jobs": 1}
    return {
        "xgboost": xgboost.XGBRegressor(n_estimators=3, max_depth=2, n_jobs=1).fit(X, y),
        "xgboost booster": xgboost.train({"max_depth": 2, "nthread": 1}, xgboost.DMatrix(X, y), 3),
        "lightgbm": lightgbm.LGBMRegressor(**quiet).fit(X, y),
        "lightgbm booster": lightgbm.LGBMRegressor(**quiet).fit(X, y).booster_,
        "catboost": catboost.CatBoostRegressor(iterations=3, depth=2, verbose=0, allow_writing_files=False).fit(X, y),
        "searched": GridSearchCV(RandomForestRegressor(3), {"max_depth": [2]}, cv=2).fit(X, y),
        "searched classes": GridSearchCV(RandomForestClassifier(3), {"max_depth": [2]}, cv=2).fit(X, STAYS),
    }


@pytest.mark.slow
def test_regressions_by_trees_are_solved_in_closed_form():
    """They once fell back to one game per row, because their raw score was not recognised as their number."""
    for name, model in boosters().items():
        explained = accredit.explain(X[:3], model, background=X[30:])
        assert explained.method.closed_form, name
        assert_allclose(explained.unshared, 0, atol=1e-5)


@pytest.mark.slow
def test_a_link_is_not_hidden():
    """By default the number that a regression predicts is shared; its logarithm on request, in closed form."""
    import xgboost

    model = xgboost.XGBRegressor(objective="count:poisson", n_estimators=4, n_jobs=1).fit(X, np.round(WORTH))
    number = accredit.explain(X[:3], model, background=X[30:])
    assert_allclose(number.prediction[:, 0], model.predict(X[:3]), rtol=1e-6)
    assert number.payoff == "value" and str(number.method) == "shapley/cubes of trees"
    raw = accredit.explain(X[:3], model, background=X[30:], payoff="log")
    assert raw.method.closed_form and any("payoff='log'" in note.text for note in number.notes)
    assert_allclose(np.exp(raw.prediction), number.prediction, rtol=1e-5)
    with pytest.raises(InvalidInput, match="write payoff='log'"):
        accredit.explain(X[:3], model, dependence="cover")


def offered(error):
    """The function that a refusal offers in place of the model."""
    return str(error.value)[str(error.value).index("lambda rows:") :]


def test_the_function_offered_for_a_vote_without_chances_tells_classes_apart():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    kinds = (rows[:, 0] > 0).astype(int)
    members = [("line", LogisticRegression()), ("bayes", GaussianNB())]
    model = VotingClassifier(members, voting="hard").fit(rows, kinds)
    with refused("unsupported", "model") as error:
        accredit.explain(rows[:2], model, background=rows[10:20])
    found = accredit.explain(rows[:2], eval(offered(error), {"model": model}), background=rows[10:20])
    assert np.abs(found.credit).sum() > 0


def test_decision_values_of_pairs_of_classes_are_not_taken_for_those_of_classes():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    kinds = np.digitize(rows[:, 0], [-0.5, 0.5])
    model = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")).fit(rows, kinds)
    with pytest.raises(InvalidInput, match="pairs of classes") as refused:
        as_array_model(model)
    pair = eval(offered(refused), {"model": model})
    assert accredit.explain(rows[:2], pair, background=rows[10:20]).outputs == ("prediction",)
    found = accredit.explain(rows[:2], model, background=rows[10:20])
    assert found.payoff == "pairs" and found.outputs == ("0 rather than 1", "0 rather than 2", "1 rather than 2")
    assert found.prediction == pytest.approx(model.decision_function(rows[:2]))
    model[-1].decision_function_shape = "ovr"
    assert accredit.explain(rows[:2], model, background=rows[10:20]).outputs == ("0", "1", "2")


def test_a_forest_of_lightgbm_has_the_log_odds_of_its_chances_whichever_way_it_is_explained():
    lightgbm = pytest.importorskip("lightgbm")
    grown = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6, "n_estimators": 5, "verbose": -1}
    model = lightgbm.LGBMClassifier(**grown, min_child_samples=5).fit(X, STAYS)
    odds = np.log(model.predict_proba(X)[:, 1] / model.predict_proba(X)[:, 0])
    assert_allclose(as_row_model(model).outputs(X, "logit")[:, 1], odds)
    for dependence in ("interventional", "empirical"):
        found = accredit.explain(X[:2], model, background=X[30:], dependence=dependence)
        assert_allclose(found.base[1] + found.credit[:, :, 1].sum(axis=1), odds[:2], err_msg=dependence)


def test_a_ranker_of_catboost_is_explained():
    catboost = pytest.importorskip("catboost")
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    model = catboost.CatBoostRanker(iterations=5, depth=2, **quiet).fit(X, WORTH > 3, group_id=np.repeat(range(6), 10))
    for dependence in ("interventional", "empirical"):
        found = accredit.explain(X[:2], model, background=X[30:], dependence=dependence)
        assert_allclose(found.base[0] + found.credit[:, :, 0].sum(axis=1), model.predict(X[:2]), err_msg=dependence)


def test_a_function_may_write_into_its_rows():
    """It once wrote into the background, which the next coalitions were then made of: credit was wrong without a word."""
    rows, background = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([[0.5, 0.5], [1.5, 0.0]])

    def doubled(given):
        given *= 2
        return given.sum(axis=1)

    found = accredit.explain(rows, doubled, background=background)
    np.testing.assert_allclose(found.credit[..., 0], 2 * (rows - background.mean(axis=0)), atol=1e-12)
    assert rows[0, 0] == 1.0 and background[0, 0] == 0.5


def test_a_model_that_answers_at_random_is_said_to():
    rng = np.random.default_rng(0)
    found = accredit.explain(np.ones((2, 3)), lambda x: x.sum(axis=1) + rng.normal(size=len(x)), background=np.zeros((4, 3)))
    assert any("answers differently when it is asked again" in note.text for note in found.notes)
    steady = accredit.explain(np.ones((2, 3)), lambda x: x.sum(axis=1), background=np.zeros((4, 3)))
    assert not steady.notes


def test_labels_that_hold_together_are_each_compared_with_their_absence():
    class Labels:
        classes_ = np.array(["rain", "wind", "hail"])

        def predict_proba(self, rows):
            return 1 / (1 + np.exp(-np.asarray(rows) @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, -1.0]])))

    rows, background = np.array([[1.0, 2.0], [0.5, -1.0]]), np.zeros((3, 2))
    found = accredit.explain(rows, Labels(), background=background)
    assert found.payoff == "log-odds"
    slopes = np.array([[1.0, 0.5, 0.0], [0.0, 2.0, -1.0]])
    np.testing.assert_allclose(found.credit, rows[:, :, None] * slopes, atol=1e-12)  # once of chances that were made to add up
    with refused("unsupported", "payoff", has="do not add up to 1"):
        accredit.explain(rows, Labels(), background=background, payoff="loss")


def test_what_predicts_by_another_name_is_offered_as_a_function():
    class Lifetimes:
        def predict_median(self, rows):
            return np.asarray(rows).sum(axis=1)

    with refused("type", "model", has="lambda rows: model.predict_median(rows)"):
        accredit.explain_rows(np.ones((2, 2)), Lifetimes(), background=np.zeros((3, 2)))
