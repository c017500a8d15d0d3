"""Interactions of columns in rows of a table: trees in closed form, sums of columns and games say the same as brute force."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVC

import accredit
from accredit.core import Known
from accredit.core.coalitions import all_coalitions
from accredit.errors import InvalidInput
from accredit.explanation.explainer import explain_rows
from accredit.games import TableGame
from accredit.models.rows import as_row_model
from accredit.rows.game import mix
from accredit.rows.result import TableExplanation
from tests.wording import refused, says

PAIR_COLUMN = "interaction: x0 + x1"

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.where(X[:, 0] * X[:, 1] > 0, "odd", "even")
NUMBER = X[:, 0] * X[:, 1] + X[:, 2]


def by_table(model, row, background, index):
    """(players, players, outputs) from all coalitions of the model's own output."""
    asked = as_row_model(model)
    both = np.vstack([background, row])
    paid = np.array(
        [
            asked.outputs(mix(both, len(background), len(background), kept[None]), asked.unit(None)).mean(axis=0)
            for chunk in all_coalitions(len(row))
            for kept in chunk
        ]
    )
    return np.stack([accredit.interactions(TableGame("abcd", v), index).matrix() for v in paid.T], axis=-1)


MODELS = {
    "boosting": (GradientBoostingClassifier(n_estimators=6, random_state=0), Y),
    "forest": (RandomForestRegressor(n_estimators=4, max_depth=4, random_state=0), NUMBER),
    "linear": (LinearRegression(), NUMBER),
    "svm": (SVC(), Y),
}


@pytest.mark.slow
@pytest.mark.parametrize(("method", "index"), [("shapley", "sii"), ("banzhaf", "bii")])
@pytest.mark.parametrize("name", MODELS)
def test_pairs_agree_with_brute_force(name, method, index):
    model = MODELS[name][0].fit(X, MODELS[name][1])
    explained = explain_rows(X[:3], model, X[30:45], methods=method, interactions=True)
    assert explained.pairs_index == index and explained.pairs_precision.known is Known.EXACT
    for row in range(3):
        assert_allclose(explained.pairs[row], by_table(model, X[row], X[30:45], index), atol=1e-9)
    plain = explain_rows(X[:3], model, X[30:45], methods=method)
    assert plain.pairs is None
    assert_allclose(plain.credit, explained.credit, atol=1e-12)


def explained_boosting(rows=5):
    model = MODELS["boosting"][0].fit(X, Y)
    return accredit.explain(X[:rows], model, background=X[30:45], interactions=True)


def test_one_row_and_the_mean_over_rows():
    explained = explained_boosting()
    one = explained.interactions(2, "even")
    assert one.matrix()[0, 1] == explained.pairs[2, 0, 1, 0] and one.exact and one.index == "sii"
    assert one.total == pytest.approx(explained.row(2, "even").total)
    assert {c.axiom for c in one.claims} >= {"symmetry", "recursion"}
    overall = explained.interaction_importance()
    assert_allclose(overall.matrix(), np.abs(explained.pairs[..., explained.place()]).mean(axis=0))
    assert overall.strongest(1)[0][0] == ("x0", "x1") and (overall.interval[:, 0] >= 0).all()
    assert explained[:1].interaction_importance().interval is None
    assert_allclose(explained[1:3].pairs, explained.pairs[1:3])
    with refused("range", "row"):
        explained.interactions(9)


def test_pairs_travel_and_are_drawn(tmp_path):
    explained = explained_boosting()
    assert TableExplanation.from_json(explained.to_json()) == explained
    settings = {"background": X[30:45], "interactions": True}
    lined = accredit.explain(X[:5], MODELS["boosting"][0], out=tmp_path / "rows.jsonl", **settings)
    assert lined == explained
    line = json.loads((tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert line["outputs"]["odd"]["interactions"][0] == ["x0", "x1", explained.interactions(0, "odd")["x0", "x1"]]
    accredit.explain(X[:5], MODELS["boosting"][0], out=tmp_path / "rows.parquet", **settings)
    columns = pd.read_parquet(tmp_path / "rows.parquet")
    assert columns[PAIR_COLUMN].tolist()[:2] == explained.pairs[0, 0, 1].tolist()
    assert says(explained, "mean |sii| over") and "x0 + x1" in str(explained)
    explained.to_html(tmp_path / "rows.html")
    page = (tmp_path / "rows.html").read_text(encoding="utf-8")
    assert "<h2>Interactions</h2>" in page and says(page, "Strongest pairs: x0")
    plain = accredit.explain(X[:5], MODELS["boosting"][0], background=X[30:45])
    plain.to_html(tmp_path / "plain.html")
    assert "Interactions" not in (tmp_path / "plain.html").read_text(encoding="utf-8")
    with pytest.raises(InvalidInput, match="interactions=True"):
        plain.interactions(0)


def test_many_columns_are_estimated_with_intervals():
    rows = RNG.normal(size=(22, 14))
    explained = explain_rows(rows[:1], lambda x: x[:, 0] * x[:, 1] + np.sin(x).sum(axis=1), rows, budget=300, interactions=True)
    assert explained.pairs_precision.known is Known.INTERVAL and explained.pairs_interval.shape == (1, 14, 14, 1, 2)
    found = explained.interactions(0)
    truth = explained_product(rows[0], rows)
    assert found.strongest(1)[0][0] == ("x0", "x1") and found["x0", "x1"] == pytest.approx(truth, abs=1e-6)
    assert found.estimate(("x0", "x1")).low < truth < found.estimate(("x0", "x1")).high
    assert TableExplanation.from_json(explained.to_json()) == explained


def explained_product(row, rows):
    """Interaction of the factors of a product against a background: v(ab) − v(a) − v(b) + v(∅)."""
    (a, b), (u, w) = row[:2], rows[:, :2].T
    return float(a * b - (a * w).mean() - (b * u).mean() + (u * w).mean())


def test_what_cannot_be_had_is_said():
    with refused("conflict", "interactions"):
        explain_rows(X[:1], SVC().fit(X, Y), X[30:45], methods="leave-one-out", interactions=True)
    with pytest.raises(InvalidInput, match="two players"):
        explain_rows(X[:1, :1], lambda x: x[:, 0] ** 2, X[30:45, :1], interactions=True)
    with pytest.raises(InvalidInput, match="belong together"):
        TableExplanation(("a", "b"), ("y",), [[[1.0], [1.0]]], [0.0], [[2.0]], [[1], [2]], "m", pairs=np.zeros((1, 2, 2, 1)))
