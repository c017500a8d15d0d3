from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import Holds
from accredit.errors import InvalidInput
from accredit.games import FunctionGame
from accredit.store import durable
from accredit.valuation import RidgeUtility, datamodels, fit_datamodels, random_subsets
from accredit.valuation.datamodel_ridge import ridge
from accredit.values import banzhaf
from accredit.values.lasso import duality_gap, gram, lasso
from tests.valuation.valuation_data import blobs
from tests.wording import refused


def _design(rows: int, columns: int, targets: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = (rng.random((rows, columns)) < 0.5).astype(float)
    weights = np.where(rng.random((columns, targets)) < 0.1, rng.normal(size=(columns, targets)), 0.0)
    return x, x @ weights + 0.3 * rng.normal(size=(rows, targets))


@pytest.mark.parametrize(("rows", "columns"), [(300, 40), (60, 90)])
def test_the_lasso_closes_its_gap_and_meets_the_optimality_conditions(rows: int, columns: int) -> None:
    x, y = _design(rows, columns, 7)
    penalty = np.linspace(0.01, 0.05, 7)
    data = gram(x, y)
    weights = lasso(data, penalty, tolerance=1e-10)
    assert (duality_gap(data, weights, penalty, np.arange(7)) <= 1e-10 * data.squares).all()
    centred = x - x.mean(axis=0)
    pull = centred.T @ (y - y.mean(axis=0) - centred @ weights) / rows  # λ·sign(w) where w ≠ 0, within ±λ elsewhere
    assert (np.abs(pull) <= penalty + 1e-4).all()
    assert_allclose(pull[weights != 0], (np.sign(weights) * penalty)[weights != 0], atol=1e-4)


def test_the_lasso_is_that_of_scikit_learn_for_every_target() -> None:
    model = pytest.importorskip("sklearn.linear_model").Lasso
    x, y = _design(200, 30, 5)
    weights = lasso(gram(x, y), np.full(5, 0.02), tolerance=1e-10)
    for target in range(5):
        assert_allclose(weights[:, target], model(alpha=0.02, tol=1e-10).fit(x, y[:, target]).coef_, atol=1e-5)


def test_the_gap_bounds_the_distance_to_the_optimum() -> None:
    x, y = _design(100, 20, 1)
    data, penalty = gram(x, y), np.array([0.02])

    def objective(w: np.ndarray) -> float:
        residual = y - y.mean(axis=0) - (x - x.mean(axis=0)) @ w
        return float((residual**2).sum() / 200 + 0.02 * np.abs(w).sum())

    best = objective(lasso(data, penalty, tolerance=1e-12))
    for weights in (np.zeros((20, 1)), lasso(data, penalty, tolerance=1e-2)):
        gap = duality_gap(data, weights, penalty, np.arange(1))[0]
        assert 0 <= objective(weights) - best <= gap + 1e-12


def test_plain_least_squares_tends_to_the_banzhaf_value_at_one_half() -> None:
    """The binomial(½) semivalue is Banzhaf's. With 20,000 subsets the error is 0.01 at 5 standard errors (chance < 1e-6)."""
    game = FunctionGame("abcde", lambda c: c[:, 0] + 2.0 * (c[:, 1] & c[:, 2]) - 1.0 * (c[:, 0] & c[:, 3]))
    fitted = datamodels(game, 20_000, penalty=0).attribution()
    assert_allclose(fitted.credit, banzhaf(game).credit, atol=0.06)
    assert fitted.claim("linearity").holds == Holds.EXACTLY
    assert fitted.total is None


def test_the_weights_depend_on_the_fraction_which_is_recorded() -> None:
    """At chance p, a pair that only counts together is worth p to each member."""
    game = FunctionGame("abcd", lambda c: 1.0 * (c[:, 0] & c[:, 1]))
    for fraction in (0.2, 0.8):
        fitted = datamodels(game, 20_000, fraction=fraction, penalty=0)
        assert fitted.fraction == fraction == fitted.attribution().certificate["fraction"]
        assert_allclose(fitted.weights[:2, 0], fraction, atol=0.05)


def test_predicts_held_out_trainings_of_every_target() -> None:
    game = RidgeUtility(blobs(30, tests=12), l2=1.0)
    with durable(game, executor="serial") as kept:
        fitted = datamodels(kept, 400, seed=1)
        assert kept.evaluated == 400
    fresh = random_subsets(30, 100, 0.5, seed=99)
    outputs = game.retrain(fresh)[1]
    errors = ((fitted.predict(fresh) - outputs) ** 2).mean(axis=0)
    assert np.median(1 - errors / outputs.var(axis=0)) > 0.5
    assert fitted.held_out is not None
    assert abs(np.median(fitted.held_out) - np.median(1 - errors / outputs.var(axis=0))) < 0.2
    assert fitted.attribution("test 3").credit.tolist() == fitted.weights[:, 3].tolist()
    assert fitted.attribution().claim("linearity").holds == Holds.NO


def test_the_first_subsets_of_a_longer_run_are_the_same() -> None:
    assert (random_subsets(9, 50, 0.3, 5)[:20] == random_subsets(9, 20, 0.3, 5)).all()


def test_bad_settings_are_refused() -> None:
    game = FunctionGame("abc", lambda c: c.sum(axis=1))
    for bad, why in (
        ({"subsets": 5}, "at least 10"),
        ({"subsets": 50, "fraction": 1.0}, "fraction"),
        ({"subsets": 50, "penalty": -1.0}, "penalty"),
    ):
        with pytest.raises(InvalidInput, match=why):
            datamodels(game, **bad)  # type: ignore[arg-type]
    masks = np.ones((12, 20), bool)
    with refused("range"):
        fit_datamodels(tuple("abcdefghijklmnopqrst"), ("t",), masks, np.zeros((12, 1)), fraction=0.5, penalty=0)
    with refused("not-finite", "outputs"):
        fit_datamodels(tuple("abcdefghijklmnopqrst"), ("t",), masks, np.full((12, 1), np.nan), fraction=0.5)


def test_a_constant_output_gets_zero_weights() -> None:
    fitted = datamodels(FunctionGame("abc", lambda c: np.full(len(c), 2.5)), 50)
    assert not fitted.weights.any()
    assert fitted.intercepts[0] == 2.5


def test_a_seed_below_zero_is_refused_by_name() -> None:
    with refused("range", "seed"):
        random_subsets(5, 20, 0.5, seed=-1)


@pytest.mark.parametrize("rows", [12, 70], ids=["more subsets than rows", "more rows than subsets"])
def test_ridge_is_that_of_scikit_learn_and_its_errors_are_of_subsets_left_out(rows: int) -> None:
    sklearn = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(rows)
    masks = rng.random((40, rows)) < 0.5
    y = masks @ rng.normal(size=(rows, 2)) + rng.normal(size=(40, 2))
    found = ridge(masks, y)
    for target in range(2):
        model = sklearn.Ridge(alpha=found.penalties[target])
        assert_allclose(found.weights[:, target], model.fit(masks, y[:, target]).coef_, atol=1e-8)
        left_out = []
        for i in range(40):
            others = np.arange(40) != i
            fixed = masks.mean(axis=0)  # the columns stay where they were centred: a subset's own mean is all that changes
            design = np.column_stack([masks - fixed, np.ones(40)])[others]
            penalty = np.diag([found.penalties[target]] * rows + [0.0])
            fitted = np.linalg.solve(design.T @ design + penalty, design.T @ y[others, target])
            left_out.append((y[i, target] - np.append(masks[i] - fixed, 1.0) @ fitted) ** 2)
        assert found.errors[target] == pytest.approx(np.mean(left_out), rel=1e-6)


def test_few_rows_that_matter_are_found_by_lasso_and_many_by_ridge() -> None:
    rng = np.random.default_rng(3)
    masks = rng.random((200, 120)) < 0.5
    few, many = np.zeros((120, 3)), rng.normal(size=(120, 3))
    few[:4] = 3.0
    for truth, word in ((few, "lasso"), (many, "ridge")):
        y = masks @ truth + rng.normal(size=(200, 3))
        found = fit_datamodels(tuple(map(str, range(120))), tuple("abc"), masks, y, fraction=0.5)
        assert found.shrinkage == word
        assert found.attribution().method.settings["shrinkage"] == word
        assert np.corrcoef(found.weights.ravel(), truth.ravel())[0, 1] > 0.8


def test_many_rows_are_fitted_without_a_matrix_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["accredit.valuation.datamodels"], "gram", None)  # nothing may ask for it
    rng = np.random.default_rng(0)
    masks = rng.random((150, 2500)) < 0.5
    truth = np.zeros((2500, 1))
    truth[:5] = 20.0
    found = fit_datamodels(tuple(map(str, range(2500))), ("t",), masks, masks @ truth, fraction=0.5)
    assert set(np.argsort(-found.weights[:, 0])[:5]) == set(range(5))


def test_what_does_not_fit_is_refused_before_anything_is_trained() -> None:
    class Untouched:
        players = tuple(f"row {i}" for i in range(5000))
        targets = ("t",)

        def payoff(self, coalitions: np.ndarray) -> np.ndarray:
            raise AssertionError("a training was begun")

        def retrain(self, coalitions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            raise AssertionError("a training was begun")

    with pytest.raises(InvalidInput, match=r"5,000 rows from 4,000 subsets .* need about 0.7 GB"):
        datamodels(Untouched(), 4000, memory=1e8)
