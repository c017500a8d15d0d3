"""Rows of tables through the one call: exact ways agree with brute force, nothing is cast, results say what they are about."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import accredit
from accredit.core import Holds, InvalidInput, Known
from accredit.core.coalitions import all_coalitions
from accredit.explanation.table import TableExplanation
from accredit.explanation.tables import explain_rows
from accredit.games.rows import mixed
from accredit.models.rows import as_row_model
from accredit.values.semivalues import banzhaf_weights, semivalue_from_table, shapley_from_table

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = np.where(X[:, 0] * X[:, 1] > 0, "odd", "even")
Z = np.digitize(X[:, 0] + X[:, 2], [-0.5, 0.5])
FRAME = pd.DataFrame({"age": RNG.integers(20, 60, 80), "pay": RNG.normal(size=80), "town": RNG.choice(list("ABC"), 80)})
OLD = (FRAME["age"] + 10 * (FRAME["town"] == "A") > 45).astype(int)


def brute_force(model, row, background, value=shapley_from_table):
    """Credit of one row from all coalitions of the model's own output: (columns, outputs)."""
    asked = as_row_model(model)
    both = np.vstack([background, row])
    outputs = [
        asked.outputs(mixed(both, len(background), len(background), kept[None]), asked.unit(None)).mean(axis=0)
        for chunk in all_coalitions(len(row))
        for kept in chunk
    ]
    return np.array([value(np.ascontiguousarray(v)) for v in np.array(outputs).T]).T


MODELS = {
    "forest": RandomForestClassifier(n_estimators=5, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=6, random_state=0),
    "logistic": LogisticRegression(),
    "svm": SVC(),
    "interactions": make_pipeline(PolynomialFeatures(2), LogisticRegression(max_iter=500)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("labels", [Y, Z], ids=["two classes", "three classes"])
def test_every_way_agrees_with_brute_force(name, labels):
    model = MODELS[name].fit(X, labels)
    explained = accredit.explain(X[:2], model, background=X[50:70])
    for row in range(2):
        assert_allclose(explained.credit[row], brute_force(model, X[row], X[50:70]), atol=1e-9)
    assert_allclose(explained.unshared, 0, atol=1e-9)
    assert explained.precision.known is Known.EXACT and set(explained.outputs) == set(map(str, np.unique(labels)))


@pytest.mark.parametrize(("method", "efficient"), [("shapley", True), ("banzhaf", False), ("beta:2,3", False)])
def test_claims_of_a_closed_form_speak_of_it(method, efficient):
    model = RandomForestRegressor(2, max_depth=2, random_state=0).fit(X, X[:, 0] * X[:, 1])
    claims = explain_rows(X[:1], model, X[20:30], method=method).claims
    assert {c.axiom: c.holds for c in claims}["efficiency"] is (Holds.EXACTLY if efficient else Holds.NO)
    assert not any("2ⁿ" in c.because for c in claims) and "closed form" in claims[1].because


def test_banzhaf_too():
    model = MODELS["boosting"].fit(X, Y)
    explained = accredit.explain(X[:1], model, background=X[50:60], methods="banzhaf")
    expected = brute_force(model, X[0], X[50:60], lambda v: semivalue_from_table(v, banzhaf_weights(4)))
    assert_allclose(explained.credit[0], expected, atol=1e-9)
    assert not any(c.axiom == "efficiency" and c.holds == "exactly" for c in explained.claims)


def test_columns_before_a_pipeline_are_the_players_and_a_one_hot_block_is_one():
    columns = make_column_transformer((StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["town"]))
    model = make_pipeline(columns, LogisticRegression()).fit(FRAME, OLD)
    explained = accredit.explain(FRAME[:3], model, background=FRAME[40:])
    assert explained.players == ("age", "pay", "town") and explained.method == "shapley/closed form"
    as_function = accredit.explain(FRAME[:3], model.decision_function, background=FRAME[40:])
    assert_allclose(explained.of("1").credit[:, :, 1], as_function.credit[:, :, 0], atol=1e-9)
    assert explained.values[2] == tuple(FRAME["town"][:3])


def test_a_link_or_a_product_is_not_taken_for_a_sum_of_columns():
    counts = PoissonRegressor().fit(X, np.abs(X[:, 0]))
    explained = accredit.explain(X[:1], counts, background=X[50:60])
    assert explained.method == "shapley/Exact()"
    assert_allclose(explained.credit[0], brute_force(counts, X[0], X[50:60]), atol=1e-9)


def test_the_row_is_explained_as_it_is():
    """2.9 beside whole numbers was once cast to 2."""
    background = np.arange(12).reshape(4, 3)
    explained = accredit.explain(
        [[2.9, 300, 0.4]], lambda rows: rows @ [1.0, 1.0, 1.0], background=background.astype(np.uint8)
    )
    assert explained.prediction[0, 0] == pytest.approx(2.9 + 300 + 0.4)
    framed = pd.DataFrame(background, columns=list("abc"))
    explained = accredit.explain({"a": 2.9, "b": 1, "c": 2}, lambda rows: rows["a"], background=framed)
    assert explained.prediction[0, 0] == 2.9 and "'a' was widened" in explained.notes[0]


def test_classes_are_not_mixed_over_rows():
    explained = accredit.explain(X[:30], SVC().fit(X, Y), background=X[50:55])
    assert explained.target == "odd" and len({one.provenance["target"] for one in explained}) == 1
    assert_allclose(explained.of("even").row(0).credit, -explained.row(0).credit)
    facts = explained.row(0).provenance
    assert facts["model"] == "SVC" and facts["payoff"] == "logit" and facts["values"]["x0"] == X[0, 0]


def test_backgrounds_that_were_not_given_are_named():
    own = accredit.explain(X[:40], SVC().fit(X, Y))
    assert "40 rows are compared with one another" in own.notes[0]
    cover = accredit.explain(X[:1], MODELS["forest"].fit(X, Y))
    assert "cover ratios" in cover.notes[0] and cover.provenance["dependence"] == "cover"
    with pytest.raises(InvalidInput, match="background is missing"):
        accredit.explain(X[:1], SVC().fit(X, Y))


def test_weights_of_the_background_count():
    weights = np.array([3.0, 1.0])
    explained = explain_rows(X[:1], lambda rows: rows[:, 0], X[50:52], weights=weights)
    assert_allclose(explained.base, (weights / 4) @ X[50:52, 0])
    with pytest.raises(InvalidInput, match="weights must be 2"):
        explain_rows(X[:1], lambda rows: rows[:, 0], X[50:52], weights=[1.0])


def test_outliers_are_scored_not_judged():
    model = IsolationForest(n_estimators=5, random_state=0).fit(X)
    explained = accredit.explain(X[:2], model, background=X[50:60])
    assert_allclose(explained.prediction[:, 0], model.decision_function(X[:2]))


def test_correlated_columns_are_named():
    twin = np.column_stack([X[:, 0], X[:, 0] + 0.01 * X[:, 1]])
    explained = accredit.explain(twin[:1], LinearRegression().fit(twin, X[:, 0]), background=twin)
    assert any("'x0' and 'x1' go together" in note for note in explained.notes)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: accredit.explain(X[:1], SVC().fit(X, Y), background=X, methods=["shapley", "banzhaf"]), "one method"),
        (lambda: accredit.explain(X[:1], SVC().fit(X, Y), background=X, methods="flow"), "flow"),
        (lambda: accredit.explain(FRAME[:1], None, background=FRAME), "model is missing"),
        (lambda: accredit.explain(X[:1], SVC().fit(X, Y), background=X, dependence="causal"), "dependence is 'causal'"),
        (lambda: accredit.explain(X[:1], SVC().fit(X, Y), background=X, dependence="cover"), "leave background out"),
        (lambda: explain_rows(X[:1], SVC().fit(X, Y), dependence="cover"), "cannot be had"),
        (lambda: accredit.explain(X[:1], SVC().fit(X, Y), background=X[:0]), "0 rows"),
        (lambda: accredit.explain(X[:1], SVC().fit(X, Y), background=X[:, :2]), "columns"),
        (lambda: accredit.explain(X[:1], SVC().fit(X, Y), background=X, target="maybe"), "maybe"),
        (lambda: accredit.explain("some text", dependence="cover"), "dependence is for rows"),
    ],
)
def test_refusals(call, said):
    with pytest.raises(InvalidInput, match=said):
        call()


def test_printing_and_pages_do_not_break_on_odd_names():
    frame = FRAME.rename(columns={"age": "<b>age\u202e</b>"})
    explained = accredit.explain(frame[:30], lambda rows: rows.iloc[:, 0], background=frame[40:60])
    assert "\u202e" not in str(explained) and "<b>age" not in explained._repr_html_()
    assert isinstance(explained, TableExplanation) and "30 rows" in str(explained)
