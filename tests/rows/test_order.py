"""Rows whose columns come in an order: asymmetric and causal values."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import accredit
from accredit import Explainer, explain
from tests.wording import refused

ORDER = [["x0", "x1"], ["x2", "x3", "x4"], ["x5"]]


def data(rows=300, columns=6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    x[:, 3] += x[:, 0]
    return x, x[:, 0] * x[:, 3] + np.sin(x[:, 1]) + x[:, 5]


def over_permutations(predict, row, background, stage):
    """Each permutation that respects the stages, each arrival answered by the model itself."""
    n, count = len(row), 0
    credit = np.zeros(n)
    for order in permutations(range(n)):
        if any(stage[i] > stage[j] for i, j in pairwise(order)):
            continue
        count += 1
        mixed = background.copy()
        before = predict(mixed).mean()
        for column in order:
            mixed[:, column] = row[column]
            after = predict(mixed).mean()
            credit[column] += after - before
            before = after
    return credit / count


def models():
    pytest.importorskip("sklearn")
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

    x, y = data()
    yield RandomForestRegressor(20, max_depth=9, random_state=0).fit(x, y)
    yield GradientBoostingRegressor(n_estimators=30, max_depth=3, random_state=0).fit(x, y)


@pytest.mark.slow
def test_trees_in_stages_are_exact_in_closed_form():
    x, _ = data()
    for model in models():
        found = explain(x[:3], model, background=x[100:130], order=ORDER)
        assert found.methods == ("asymmetric",)
        assert found.method.closed_form
        for r in range(3):
            truth = over_permutations(model.predict, x[r], x[100:130], [0, 0, 1, 1, 1, 2])
            assert_allclose(found.credit[r, :, 0], truth, atol=1e-10)
        assert_allclose(found.unshared, 0, atol=1e-10)


@pytest.mark.slow
def test_groups_of_columns_and_weights_of_the_background_go_with_an_order():
    x, _ = data()
    model = next(models())
    given = {
        "background": x[100:130],
        "weights": np.arange(1.0, 31.0),
        "players": {"both": ["x0", "x3"]},
        "order": "both < x1, x2 < x4, x5",
    }
    closed, asked = explain(x[:2], model, **given), explain(x[:2], model.predict, **given)
    assert closed.method.closed_form
    assert not asked.method.closed_form
    assert_allclose(closed.credit, asked.credit, atol=1e-10)


@pytest.mark.slow
def test_a_partial_order_without_stages_is_solved_as_a_game():
    x, _ = data()
    model = next(models())
    found = explain(x[:1], model, background=x[100:110], order="x0 < x3")
    assert not found.method.closed_form
    assert str(found.precision).startswith("exact")
    pairs = [order for order in permutations(range(6)) if order.index(0) < order.index(3)]
    assert len(pairs) == 360
    assert_allclose(found.unshared, 0, atol=1e-10)


def test_boosters_of_several_classes_are_exact():
    xgboost = pytest.importorskip("xgboost")
    x, y = data()
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(x, (y > 0).astype(int) + (y > 1))
    found = explain(x[:2], model, background=x[100:120], order=ORDER)
    asked = explain(x[:2], lambda rows: model.predict(rows, output_margin=True), background=x[100:120], order=ORDER)
    assert found.method.closed_form
    assert_allclose(found.credit, asked.credit, atol=1e-5)


def test_no_leaf_is_left_out_however_large_the_background(monkeypatch):
    """Where one row and one leaf fill more than a portion, portions are of one leaf."""
    pytest.importorskip("sklearn")
    from sklearn.tree import DecisionTreeRegressor

    from accredit.trees import masks

    monkeypatch.setattr(masks, "CELLS_AT_ONCE", 1)
    rng = np.random.default_rng(0)
    model = DecisionTreeRegressor(random_state=0).fit(rng.normal(size=(60, 30)), rng.normal(size=60))
    rows, background = rng.normal(size=(3, 30)), rng.normal(size=(20, 30))
    for order in (None, [[f"x{i}" for i in range(10)], [f"x{i}" for i in range(10, 30)]]):
        assert_allclose(explain(rows, model, background=background, order=order).unshared, 0, atol=1e-9)


# Causal values: a linear model of a linear Gaussian chain, whose values Heskes et al. work out


def chain(rows=20_000):
    rng = np.random.default_rng(1)
    cause = rng.normal(size=rows)
    return np.stack([cause, 2 * cause + 0.5 * rng.normal(size=rows)], axis=1)


@pytest.mark.parametrize(
    ("order", "methods", "truth"),
    [  # f = 3 x₁ at (1, 2.5): E[f] = 0, E[f | do(x₀ = 1)] = 6 where x₀ is the cause, else 0
        ("x0 < x1", "shapley", (3.0, 4.5)),
        ("x0 < x1", "asymmetric", (6.0, 1.5)),
        ("x1 < x0", "shapley", (0.0, 7.5)),
        ("x1 < x0", "asymmetric", (0.0, 7.5)),
    ],
)
def test_setting_a_cause_moves_its_effect_and_not_the_other_way(order, methods, truth):
    """Slopes and means of 20,000 rows are within 0.1 of the truth at 1 : 10⁷ (standard errors of 0.007 and 0.04)."""
    found = explain([[1.0, 2.5]], lambda x: 3 * x[:, 1], background=chain(), dependence="causal", order=order, methods=methods)
    assert_allclose(found.credit[0, :, 0], truth, atol=0.25)
    assert "as if the present ones had been set" in found.dependence
    assert "draws" in str(found.precision)


def test_confounded_columns_say_nothing_about_one_another():
    """In one stage with a column of no effect: without confounding seeing is setting, with it nothing is learned."""
    rows = np.concatenate([chain(), np.random.default_rng(2).normal(size=(20_000, 1))], axis=1)

    def credit(confounding):
        asked = {"dependence": "causal", "order": [["x0", "x1"], "x2"], "confounding": confounding}
        return explain([[1.0, 2.5, 0.0]], lambda x: 3 * x[:, 1], background=rows, **asked).credit[0, :, 0]

    assert_allclose(credit(False), (3.0, 4.5, 0.0), atol=0.25)
    assert_allclose(credit([True, False]), (0.0, 7.5, 0.0), atol=0.25)
    assert_allclose(credit(True), credit([True, False]))


def test_one_stage_less_is_refused():
    for settings, argument, code in (
        ({"methods": "asymmetric"}, "order", "missing"),
        ({"order": "x0 < x1", "methods": "shapley"}, "order", "misplaced"),
        ({"order": "x0 < x1; x1 < x0"}, "order", "conflict"),
        ({"order": "x0 < rain"}, "order", "unknown"),
        ({"dependence": "causal"}, "order", "missing"),
        ({"dependence": "causal", "order": "x0 < x1"}, "order", "unsupported"),
        ({"dependence": "causal", "order": "x0 < x1, x2", "confounding": [True]}, "confounding", "shape"),
        ({"confounding": True}, "confounding", "misplaced"),
        ({"order": "x0 < x1", "interactions": True}, "interactions", "conflict"),
    ):
        with refused(code, argument):
            explain([[1.0, 2.5, 0.0]], lambda x: x.sum(axis=1), background=np.eye(3), **settings)


def test_an_explainer_and_a_file_follow_the_order(tmp_path):
    model = lambda x: x[:, 0] * x[:, 1] + x[:, 2]  # noqa: E731
    rows, background = np.array([[1.0, 2.0, 3.0], [2.0, 0.5, 1.0]]), np.eye(3)
    once = explain(rows, model, background=background, order="x1 < x0, x2")
    assert_allclose(Explainer(model, background=background, order={"x0": "x1", "x2": "x1"})(rows).credit, once.credit)
    written = explain(rows, model, background=background, order="x1 < x0, x2", out=tmp_path / "rows.jsonl")
    assert_allclose(written.credit, once.credit)
    other = explain(rows, model, background=background, order="x0 < x1, x2")
    assert not np.allclose(other.credit, once.credit)
    with pytest.raises(accredit.AccreditError):  # lines of another order are not gone on with
        explain(rows, model, background=background, order="x0 < x1, x2", out=tmp_path / "rows.jsonl")
    assert once.provenance["order"] == '{"x0": ["x1"], "x2": ["x1"]}'
