from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from accredit.core.multi_target import Predicting
from accredit.errors import InvalidInput, NotConverged
from accredit.store import durable, fingerprint
from accredit.valuation import KNNUtility, Recipe, Retraining, RidgeUtility, TorchTraining, split
from tests.valuation.valuation_data import blobs
from tests.wording import refused

sklearn_linear = pytest.importorskip("sklearn.linear_model")
torch = pytest.importorskip("torch")


def linear() -> Any:
    return torch.nn.Linear(3, 2)


DATA = blobs(20)
SOME = np.random.default_rng(3).random((12, 20)) < 0.4
UTILITIES = {
    "ridge": lambda: RidgeUtility(DATA, l2=0.5),
    "knn": lambda: KNNUtility(DATA, 3),
    "logistic": lambda: Retraining(DATA, sklearn_linear.LogisticRegression()),
    "torch": lambda: TorchTraining(DATA, linear, Recipe(epochs=20, batch_size=4)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UTILITIES)
def test_the_payoff_of_a_coalition_does_not_depend_on_its_batch(name: str) -> None:
    """To the last bit: a resumed run meets other batches than an uninterrupted one."""
    game = UTILITIES[name]()
    assert isinstance(game, Predicting)
    payoffs, outputs = game.retrain(SOME)
    assert outputs.shape == (12, 40)
    for row in range(12):
        alone = game.retrain(SOME[row : row + 1])
        assert_array_equal(alone[0], payoffs[row : row + 1])
        assert_array_equal(alone[1], outputs[row : row + 1])
    assert_array_equal(game.payoff(SOME[::-1]), payoffs[::-1])


@pytest.mark.parametrize("name", UTILITIES)
def test_a_utility_is_known_by_its_data_and_settings(name: str) -> None:
    assert fingerprint(game=UTILITIES[name]()) == fingerprint(game=UTILITIES[name]())


def test_settings_change_the_fingerprint_but_the_seed_is_part_of_the_key() -> None:
    forest = pytest.importorskip("sklearn.ensemble").RandomForestClassifier
    one, seeded, other = (Retraining(DATA, forest(n), seed=s) for n, s in ((5, 0), (5, 1), (6, 0)))
    assert fingerprint(game=one) == fingerprint(game=seeded) != fingerprint(game=other)
    assert fingerprint(game=RidgeUtility(DATA, 1.0)) != fingerprint(game=RidgeUtility(blobs(20, seed=1), 1.0))
    coalition = np.ones((1, 20), bool)
    assert one.retrain(coalition)[1].tolist() == Retraining(DATA, forest(5, random_state=9)).retrain(coalition)[1].tolist()
    assert one.retrain(coalition)[1].tolist() != seeded.retrain(coalition)[1].tolist()


@pytest.mark.parametrize("columns", [3, 30])
def test_ridge_is_the_ridge_of_scikit_learn(columns: int) -> None:
    data = blobs(20, columns=columns)
    regression = split(data.x, data.x[:, 0] ** 2, data.test_x, data.test_x[:, 0] ** 2, regression=True)
    game = RidgeUtility(regression, l2=0.7)
    for coalition, output in zip(SOME, game.retrain(SOME)[1], strict=True):
        model = sklearn_linear.Ridge(alpha=0.7, fit_intercept=False)
        mean = regression.y.mean()
        model.fit(np.hstack([data.x, np.ones((20, 1))])[coalition], regression.y[coalition] - mean)
        answers = model.predict(np.hstack([data.test_x, np.ones((40, 1))])) + mean
        assert_allclose(output, -((answers - regression.test_y) ** 2), atol=1e-9)


def test_one_class_and_nobody_are_defined_and_any_metric_works() -> None:
    three = split([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]], [0, 0, 1, 1, 2, 2], [[0.0], [1.0], [2.0], [2.0]], [0, 1, 2, 2])
    nobody, ones, two_classes = (
        np.zeros(6, bool),
        np.array([0, 0, 1, 1, 0, 0], bool),
        np.array([1, 1, 1, 1, 0, 0], bool),
    )
    asked = np.array([nobody, ones, two_classes])
    model = sklearn_linear.LogisticRegression(C=100)
    assert Retraining(three, model).payoff(asked).tolist() == [1 / 3, 0.25, 0.5]
    assert np.isfinite(Retraining(three, model, "neg_log_loss").payoff(asked)).all()
    assert Retraining(three, model, "neg_log_loss").payoff(asked)[0] == pytest.approx(-np.log(3))
    assert Retraining(three, model, empty=0.0).payoff(asked)[0] == 0.0
    f1 = Retraining(three, model, lambda fitted, x, y: float((fitted.predict(x) == y).sum()))
    assert f1.payoff(asked[1:]).tolist() == [1.0, 2.0]
    with pytest.raises(InvalidInput, match="metric"):
        Retraining(three, model, "beauty")
    with pytest.raises(InvalidInput, match="need a classifier"):
        Retraining(three, sklearn_linear.LinearRegression())


@pytest.mark.slow
def test_torch_training_is_repeatable_and_leaves_the_random_state_alone() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first = UTILITIES["torch"]().retrain(SOME)[1]
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(6)
    assert_array_equal(first, UTILITIES["torch"]().retrain(SOME)[1])
    other = TorchTraining(DATA, linear, Recipe(epochs=20, batch_size=4), seed=1)
    assert (other.retrain(SOME)[1] != first).any()


def test_a_training_that_diverges_is_an_error() -> None:
    wild = split(DATA.x, DATA.x[:, 0], DATA.test_x, DATA.test_x[:, 0], regression=True)
    game = TorchTraining(wild, lambda: torch.nn.Linear(3, 1), Recipe(epochs=200, rate=1e6, optimizer="sgd"))
    with pytest.raises(NotConverged, match="lower the rate"):
        game.payoff(np.ones((1, 20), bool))


@pytest.mark.processes
@pytest.mark.slow
def test_a_utility_travels_to_worker_processes() -> None:
    game = Retraining(DATA, sklearn_linear.LogisticRegression())
    with durable(game, executor="processes:2") as away:
        payoffs, outputs = away.retrain(SOME)
    assert_allclose(payoffs, game.payoff(SOME), atol=1e-12)
    assert_allclose(outputs, game.retrain(SOME)[1], atol=1e-6)


@pytest.mark.parametrize("bad", [{"l2": 0.0}, {"metric": "beauty"}, {"metric": "neg_mean_squared_error"}])
def test_bad_settings_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidInput):
        RidgeUtility(DATA, **bad)


@pytest.mark.parametrize("estimator", ["LinearSVC", "SVC"])
def test_a_model_without_probabilities_answers_for_classes_it_never_met(estimator: str) -> None:
    """Outputs then tell whether the answer is right, in every coalition on the same scale, 0 to 1."""
    svm = pytest.importorskip("sklearn.svm")
    three = split([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]], [0, 0, 1, 1, 2, 2], [[0.0], [1.0], [2.0]], [0, 1, 2])
    game = Retraining(three, getattr(svm, estimator)())
    nobody, ones, two = np.zeros(6, bool), np.array([0, 0, 1, 1, 0, 0], bool), np.array([1, 1, 0, 0, 1, 1], bool)
    payoffs, outputs = game.retrain(np.array([nobody, ones, two]))
    assert_allclose(payoffs, [1 / 3, 1 / 3, 2 / 3])
    assert_allclose(outputs, [[1 / 3] * 3, [0, 1, 0], [1, 0, 1]])


def test_one_test_row_has_no_r2() -> None:
    data = split([[0.0], [1.0]], [1.0, 2.0], [[0.0]], [1.0], regression=True)
    with pytest.raises(InvalidInput, match="one test row"):
        Retraining(data, sklearn_linear.LinearRegression())


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_module_with_the_wrong_outputs_is_refused_at_once(outputs: int) -> None:
    with refused("shape", "build"):
        TorchTraining(DATA, lambda: torch.nn.Linear(3, outputs))


@pytest.mark.parametrize("name", UTILITIES)
def test_no_coalitions_have_no_payoffs(name: str) -> None:
    payoffs, outputs = UTILITIES[name]().retrain(np.zeros((0, 20), bool))
    assert (payoffs.shape, outputs.shape) == ((0,), (0, 40))


@pytest.mark.parametrize("kind", ["ridge", "forest"])
def test_nobody_predicts_the_mean_of_all_training_targets(kind: str) -> None:
    data = split([[0.0], [1.0], [2.0]], [100.0, 101.0, 105.0], [[0.5], [1.5]], [100.5, 103.0], regression=True)
    forest = pytest.importorskip("sklearn.ensemble").RandomForestRegressor(5)
    game = RidgeUtility(data) if kind == "ridge" else Retraining(data, forest, "neg_mean_squared_error")
    payoff, outputs = game.retrain(np.zeros((1, 3), bool))
    assert_allclose(outputs[0], [-(1.5**2), -(1.0**2)])
    assert payoff[0] == pytest.approx(-(1.5**2 + 1.0**2) / 2)
