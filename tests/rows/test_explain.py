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
from accredit.core import Holds, Known
from accredit.core.coalitions import all_coalitions
from accredit.errors import AccreditError, InvalidInput
from accredit.explanation.explainer import explain_rows
from accredit.models.arrays import as_array_model
from accredit.models.rows import as_row_model
from accredit.rows.game import mix
from accredit.rows.result import TableExplanation
from accredit.values.semivalues import banzhaf_weights, semivalue_from_table, shapley_from_table
from tests.wording import refused, says

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
        asked.outputs(mix(both, len(background), len(background), kept[None]), asked.unit(None)).mean(axis=0)
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
    claims = explain_rows(X[:1], model, X[20:30], methods=method).claims
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
    assert explained.players == ("age", "pay", "town") and explained.method.closed_form
    as_function = accredit.explain(FRAME[:3], model.decision_function, background=FRAME[40:])
    assert_allclose(explained.of("1").credit[:, :, 1], as_function.credit[:, :, 0], atol=1e-9)
    assert explained.cells[2] == tuple(FRAME["town"][:3])


def test_a_link_is_not_taken_for_a_sum_of_columns():
    counts = PoissonRegressor().fit(X, np.abs(X[:, 0]))
    explained = accredit.explain(X[:1], counts, background=X[50:60])
    assert explained.payoff == "value" and explained.method.closed_form
    assert_allclose(explained.credit[0], brute_force(counts, X[0], X[50:60]), atol=1e-9)


def test_the_row_is_explained_as_it_is():
    """2.9 beside whole numbers was once cast to 2."""
    background = np.arange(12).reshape(4, 3)
    explained = accredit.explain([[2.9, 300, 0.4]], lambda rows: rows @ [1.0, 1.0, 1.0], background=background.astype(np.uint8))
    assert explained.prediction[0, 0] == pytest.approx(2.9 + 300 + 0.4)
    framed = pd.DataFrame(background, columns=list("abc"))
    explained = accredit.explain({"a": 2.9, "b": 1, "c": 2}, lambda rows: rows["a"], background=framed)
    assert explained.prediction[0, 0] == 2.9 and "'a' was widened" in explained.notes[0].text


def test_classes_are_not_mixed_over_rows():
    explained = accredit.explain(X[:30], SVC().fit(X, Y), background=X[50:55])
    assert explained.target == "odd" and len({one.provenance["target"] for one in explained}) == 1
    assert_allclose(explained.of("even").row(0).credit, -explained.row(0).credit)
    facts = explained.row(0).provenance
    assert facts["model"] == "SVC" and facts["payoff"] == "logit" and facts["values"]["x0"] == X[0, 0]


def test_backgrounds_that_were_not_given_are_named():
    own = accredit.explain(X[:40], SVC().fit(X, Y))
    assert says(own.notes[0].text, "compared with one")
    cover = accredit.explain(X[:1], MODELS["forest"].fit(X, Y))
    assert "cover ratios" in cover.notes[0].text and cover.provenance["dependence"] == "cover"
    with pytest.raises(InvalidInput, match="background is missing"):
        accredit.explain(X[:1], SVC().fit(X, Y))


def test_weights_of_the_background_count():
    weights = np.array([3.0, 1.0])
    explained = explain_rows(X[:1], lambda rows: rows[:, 0], X[50:52], weights=weights)
    assert_allclose(explained.base, (weights / 4) @ X[50:52, 0])
    with refused("shape", "weights"):
        explain_rows(X[:1], lambda rows: rows[:, 0], X[50:52], weights=[1.0])


def test_outliers_are_scored_not_judged():
    model = IsolationForest(n_estimators=5, random_state=0).fit(X)
    explained = accredit.explain(X[:2], model, background=X[50:60])
    assert_allclose(explained.prediction[:, 0], model.decision_function(X[:2]))


def test_correlated_columns_are_named():
    twin = np.column_stack([X[:, 0], X[:, 0] + 0.01 * X[:, 1]])
    explained = accredit.explain(twin[:1], LinearRegression().fit(twin, X[:, 0]), background=twin)
    assert any(says(note.text, "“x1” go together") for note in explained.notes)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: explain_rows(X[:1], SVC().fit(X, Y), X, methods=["shapley", "banzhaf"], out="x.jsonl"),
            "out is a file of one",
        ),
        (lambda: accredit.explain(X[:1], SVC().fit(X, Y), background=X, methods="flow"), "flow"),
        (lambda: accredit.explain(FRAME[:1], None, background=FRAME), "model is missing"),
        (lambda: accredit.explain(X[:1], SVC().fit(X, Y), background=X, dependence="psychic"), "dependence is 'psychic'"),
        (lambda: accredit.explain(X[:1], SVC().fit(X, Y), background=X, dependence="cover"), "leave background out"),
        (lambda: explain_rows(X[:1], SVC().fit(X, Y), dependence="cover"), "cannot be had"),
        (lambda: accredit.explain(X[:1], SVC().fit(X, Y), background=X[:0]), "0 rows"),
        (lambda: accredit.explain(X[:1], SVC().fit(X, Y), background=X[:, :2]), "columns"),
        (lambda: accredit.explain(X[:1], SVC().fit(X, Y), background=X, target="maybe"), "maybe"),
        (lambda: accredit.explain("some text", dependence="cover"), "^dependence belongs to rows"),
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


TREES = GradientBoostingClassifier(n_estimators=6, random_state=0).fit(X, Z)
CHANCES = {
    "margin": lambda p, k: np.log(p[:, k]) - np.log(np.delete(p, k, axis=1)).max(axis=1),
    "loss": lambda p, k: -np.log(p[:, k]),
    "correctness": lambda p, k: (p.argmax(axis=1) == k).astype(float),
    "confidence": lambda p, k: p.max(axis=1),
    "entropy": lambda p, k: -(p * np.log(p)).sum(axis=1),
}


def shared(formula, count):
    """Shapley values of a formula of the chances of TREES, for the first row, from all coalitions: (columns, outputs)."""
    both = np.vstack([X[50:60], X[0]])
    kept = np.concatenate(list(all_coalitions(4)))
    chances = TREES.predict_proba(mix(both, 10, 10, kept))
    columns = [formula(chances, k).reshape(len(kept), 10).mean(axis=1) for k in range(count)]
    return np.array([shapley_from_table(np.ascontiguousarray(v)) for v in columns]).T


@pytest.mark.parametrize("payoff", CHANCES)
def test_payoffs_of_texts_are_payoffs_of_rows(payoff):
    explained = accredit.explain(X[:1], TREES, background=X[50:60], payoff=payoff)
    own = payoff in ("confidence", "entropy")
    assert explained.outputs == ((payoff,) if own else ("0", "1", "2")) and explained.payoff == payoff
    assert_allclose(explained.credit[0], shared(CHANCES[payoff], len(explained.outputs)), atol=1e-9)
    assert_allclose(explained.unshared, 0, atol=1e-9)
    assert not explained.method.closed_form
    assert any("shares its logit" in note.text and "through the trees" in note.text for note in explained.notes)


def test_the_exact_route_says_nothing_of_games():
    explained = accredit.explain(X[:1], TREES, background=X[50:60])
    assert explained.method.closed_form and not any("one game per" in note.text for note in explained.notes)


def test_the_class_shown_is_the_predicted_one_whatever_the_payoff():
    said = str(TREES.predict(X[:1])[0])
    for payoff in ("loss", "margin", "correctness"):
        assert accredit.explain(X[:1], TREES, background=X[50:60], payoff=payoff).target == said


def test_two_classes_are_called_opposite_only_where_they_are():
    model = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, Y)
    for payoff in ("log-odds", "margin", "probability", "loss"):
        found = accredit.explain(X[:3], model, background=X[50:55], payoff=payoff)
        opposite = np.allclose(found.credit[..., 0], -found.credit[..., 1])
        assert opposite == any("opposite" in note.text for note in found.notes) == (payoff != "loss")


def test_a_function_of_the_chances_is_a_payoff_even_when_it_has_the_name_of_one():
    def logit(p):
        return p[:, 1] - p[:, 0]

    found = accredit.explain(X[:1], TREES, background=X[50:60], payoff=logit)
    assert found.outputs == ("logit (a function)",)
    assert_allclose(found.credit[0], shared(lambda p, _: logit(p), 1), atol=1e-9)


def test_a_function_that_returns_chances_can_say_so():
    asked = as_array_model(TREES.predict_proba, law="probability")
    found = accredit.explain(X[:1], asked, background=X[50:60], payoff="entropy")
    assert_allclose(found.credit[0], shared(CHANCES["entropy"], 1), atol=1e-9)
    with refused("unsupported", "payoff"):
        accredit.explain(X[:1], TREES.predict_proba, background=X[50:60], payoff="entropy")


@pytest.mark.parametrize(
    ("payoff", "said"),
    [
        ("entropie", "probability, margin, loss, correctness"),
        (3, "payoff is 3"),
        (float, "payoff is"),
        (lambda p: p, "one number for each"),
    ],
)
def test_other_payoffs_are_refused(payoff, said):
    with pytest.raises(AccreditError, match=said):
        accredit.explain(X[:1], TREES, background=X[50:60], payoff=payoff)


def test_cover_ratios_share_only_the_score():
    with refused("unsupported", "dependence"):
        accredit.explain(X[:1], TREES, dependence="cover", payoff="entropy")


def test_one_output_has_no_entropy():
    class_of_one = as_array_model(lambda rows: np.ones(len(rows)), law="probability")
    with pytest.raises(InvalidInput, match="compares classes"):
        accredit.explain(X[:1], class_of_one, background=X[50:60], payoff="entropy")


@pytest.mark.parametrize("labels", [(Z > 0).astype(int), Z], ids=["two classes", "three classes"])
def test_boosters_without_their_wrapper_know_their_chances(labels):
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    wrapped = xgboost.XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(X, labels)
    asked = as_row_model(wrapped.get_booster())
    assert_allclose(asked.outputs(X[:9], "probability"), wrapped.predict_proba(X[:9]), atol=1e-6)
    other = lightgbm.LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1).fit(X, labels)
    assert_allclose(as_row_model(other.booster_).outputs(X[:9], "probability"), other.predict_proba(X[:9]), atol=1e-12)


def test_what_rests_on_draws_is_not_called_exact():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    asked = {"background": rows[10:], "interactions": True}
    drawn = explain_rows(rows[:2], lambda x: x[:, 0] * x[:, 1], dependence="gaussian", **asked)
    assert drawn.precision.known == drawn.pairs_precision.known == drawn.row(0).precision.known == "unknown"
    assert says(str(drawn.row(0)), "is not measured") and drawn.row(0).interval is None
    given = explain_rows(rows[:2], lambda x: x[:, 0] * x[:, 1], dependence="empirical", **asked)
    assert given.precision.known == given.pairs_precision.known == "unknown"  # of the true conditional distribution
    assert says(str(given.row(0)), "resemble the row")


def test_a_row_of_many_columns_asks_512_payoffs_where_nothing_is_said():
    rows = np.random.default_rng(0).normal(size=(9, 13))
    for budget, asked in ((None, 512), (40, 40)):
        said = accredit.explain_rows(rows[:1], lambda x: np.tanh(x).prod(axis=1), rows[5:], budget=budget)
        assert said.method.settings["budget"] == asked
