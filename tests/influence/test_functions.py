from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import spearmanr

from accredit.core import FloatArray
from accredit.errors import InvalidInput, NotConverged
from accredit.influence import (
    ConjugateGradients,
    ExactHessian,
    GaussNewton,
    Neumann,
    RidgeObjective,
    Softmax,
    TorchObjective,
    influence,
    neumann_error,
    neumann_terms,
    spectrum,
)
from accredit.influence.functions import moving, stationarity
from accredit.valuation import Recipe, RidgeUtility, TorchTraining, split
from tests.valuation.valuation_data import blobs
from tests.wording import refused, says

torch = pytest.importorskip("torch")


def test_the_first_order_part_of_ridge_leave_one_out_in_closed_form() -> None:
    """Leaving out row i of a sum of losses moves θ by (NH)⁻¹g_i/(1 − h_i), h_i its leverage: exactly, by retraining."""
    rng = np.random.default_rng(0)
    x, test = rng.normal(size=(40, 5)), rng.normal(size=(12, 5))
    data = split(x, x[:, 0] + rng.normal(size=40), test, test[:, 0], regression=True)
    model = RidgeObjective(data, weight_decay=0.05)
    matrix = influence(model, averaged=False).matrix
    wide = np.hstack([x, np.ones((40, 1))])
    inverse = np.linalg.inv(wide.T @ wide + 40 * 0.05 / 2 * np.eye(6))
    leverage = np.einsum("nd,de,ne->n", wide, inverse, wide)
    for i in range(40):
        rest = np.delete(np.arange(40), i)
        gram = wide[rest].T @ wide[rest] + 40 * 0.05 / 2 * np.eye(6)
        retrained = np.linalg.solve(gram, wide[rest].T @ data.y[rest])
        first_order = model.test_gradients() @ (retrained - model.theta) * (1 - leverage[i])
        assert_allclose(matrix[i], first_order, atol=1e-8)


@pytest.mark.slow
def test_one_weight_decay_means_one_ridge_model_and_one_scale_of_influence() -> None:
    """Ridge, a linear torch module at the same θ and true leave-one-out of RidgeUtility: slope 1, not 2."""
    rng = np.random.default_rng(3)
    x, test = rng.normal(size=(400, 3)), rng.normal(size=(6, 3))
    data = split(x, x[:, 0] + rng.normal(size=400), test, test[:, 0], regression=True)
    model = RidgeObjective(data, weight_decay=0.1)
    layer = torch.nn.Linear(3, 1).double()
    with torch.no_grad():
        layer.weight[:], layer.bias[:] = torch.tensor(model.theta[None, :3]), torch.tensor(model.theta[3:])
    other = TorchObjective(data, layer, 0.1)
    assert other.stationarity() < 1e-9
    found = influence(model, averaged=False).matrix
    assert_allclose(influence(other, averaged=False).matrix, found, atol=1e-12)
    left_out = ~np.eye(400, dtype=bool)
    game = RidgeUtility(data, l2=400 * 0.1 / 2)  # minus the squared error at every test row
    lost = game.retrain(np.ones((1, 400), bool))[1] - game.retrain(left_out)[1]
    assert np.polyfit(found.ravel(), lost.ravel(), 1)[0] == pytest.approx(1, abs=0.06)  # leverage, the second order


@pytest.mark.parametrize("averaged", [True, False])
def test_is_the_derivative_of_retraining_with_less_weight(averaged: bool) -> None:
    data, decay, step = blobs(12, tests=4), 0.05, 1e-4
    model = Softmax(data, decay)
    matrix = influence(model, averaged=averaged).matrix
    for i in range(12):
        losses = []
        for sign in (1, -1):
            rows = np.ones(12)
            rows[i] -= sign * step
            kept = decay if averaged else decay * 12 / rows.sum()  # a sum of losses keeps its penalty
            losses.append(Softmax(data, kept, rows=rows, start=model.theta).losses())
        assert_allclose(matrix[i], (losses[0] - losses[1]) / (2 * step), atol=1e-6)


@pytest.mark.slow
def test_ranks_rows_as_true_retraining_does() -> None:
    """Real data and labels, some of them wrong: the mean Spearman correlation over test points is at least 0.99."""
    breast = pytest.importorskip("sklearn.datasets").load_breast_cancer()
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(breast.target))[:230]
    x = (breast.data - breast.data.mean(axis=0)) / breast.data.std(axis=0)
    x = x[:, :10]  # the means; the other columns are their errors and extremes
    y = breast.target.copy()
    y[rows[:12]] = 1 - y[rows[:12]]
    data = split(x[rows[:200]], y[rows[:200]], x[rows[200:]], y[rows[200:]])
    model = Softmax(data, 0.01)
    matrix = influence(model).matrix
    truth = np.empty_like(matrix)
    for i in range(200):
        weights = np.ones(200)
        weights[i] = 0.0
        truth[i] = Softmax(data, 0.01, rows=weights, start=model.theta).losses() - model.losses()
    agreement = [spearmanr(matrix[:, t], truth[:, t]).statistic for t in range(30)]
    assert np.mean(agreement) >= 0.99
    other = influence(model, damping=1.0).matrix  # another objective than the one that was trained
    assert np.mean([spearmanr(other[:, t], truth[:, t]).statistic for t in range(30)]) < np.mean(agreement) - 0.05


def test_conjugate_gradients_and_the_series_converge_to_the_exact_solution() -> None:
    model = Softmax(blobs(60, tests=15, columns=6), 0.02)
    exact = influence(model, ExactHessian())
    assert exact.certificate["smallest eigenvalue"] >= 0.02 - 1e-9
    for curvature in (
        ConjugateGradients(),
        Neumann(tolerance=1e-9),
        GaussNewton(),
        ConjugateGradients(gauss_newton=True),
    ):
        found = influence(model, curvature)
        assert_allclose(found.matrix, exact.matrix, atol=1e-7 * np.abs(exact.matrix).max())
        assert found.certificate["relative residual"] < 1e-7


def _network(weight_decay: float) -> Any:
    data = blobs(40, tests=10, columns=4, flips=8)
    game = TorchTraining(
        data,
        lambda: torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2)),
        Recipe(epochs=60, rate=0.05, weight_decay=weight_decay),
    )
    return TorchObjective(data, game.teach(np.ones(40, bool)), weight_decay)


@pytest.mark.slow
@pytest.mark.parametrize("curvature", [ExactHessian(), ConjugateGradients(), Neumann(steps=2000)], ids=repr)
def test_an_indefinite_hessian_is_refused_not_inverted(curvature: Any) -> None:
    model = _network(1e-5)
    low = np.linalg.eigvalsh(model.hessian_products(np.eye(model.parameters)))[0]
    assert low < -1e-4  # as trained networks are
    with pytest.raises(NotConverged, match="damping"):
        influence(model, curvature)
    safe = influence(model, GaussNewton(), damping=1e-3)  # never negative
    assert safe.certificate["smallest eigenvalue"] >= 1e-3
    influence(model, ExactHessian(), damping=1e-3 - low)  # enough damping makes it positive


def test_a_flat_direction_is_refused_even_where_a_factorisation_would_pass() -> None:
    class Flat:
        parameters = 2

        def hessian_products(self, directions: FloatArray) -> FloatArray:
            return np.array([[1.0], [1e-15]]) * directions

    with pytest.raises(NotConverged, match="not positive definite"):
        ExactHessian().solve(Flat(), np.ones((2, 1)), 0.0)  # type: ignore[arg-type]
    x = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    with pytest.raises(NotConverged, match="weight_decay"):
        RidgeObjective(split(x, [1.0, 2.0, 4.0], x, [1.0, 2.0, 4.0], regression=True), weight_decay=0.0)


def test_torch_derivatives_are_those_of_the_closed_form() -> None:
    data, decay = blobs(25, tests=7), 0.1
    model = Softmax(data, decay)
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight[:] = torch.tensor(model.theta[:3].T)
        layer.bias[:] = torch.tensor(model.theta[3])
    other = TorchObjective(data, layer, decay)
    assert other.stationarity() < 1e-6
    assert_allclose(influence(other).matrix, influence(model).matrix, atol=1e-6)
    assert_allclose(influence(other, GaussNewton()).matrix, influence(model).matrix, atol=1e-6)


def test_gauss_newton_products_are_the_matrix_by_definition() -> None:
    """JᵀLJ from the Jacobian of the answers, and the Hessian by finite differences of the gradient."""
    model = _network(0.01)
    p = model.parameters
    jacobian = torch.func.jacrev(lambda t: model._answers(t, model._x))(model._theta).numpy()  # (N, C, P)
    probability = torch.softmax(model._answers(model._theta, model._x), dim=1).detach().numpy()
    inner = np.einsum("nc,cd->ncd", probability, np.eye(2)) - np.einsum("nc,nd->ncd", probability, probability)
    matrix = np.einsum("ncp,ncd,ndq->pq", jacobian, inner, jacobian) / len(jacobian) + 0.01 * np.eye(p)
    assert_allclose(model.gauss_newton_products(np.eye(p)), matrix, atol=1e-9)
    direction = np.random.default_rng(0).normal(size=(p, 1))
    step = 1e-5

    def gradient(theta: FloatArray) -> FloatArray:
        model._theta = torch.tensor(theta)
        return np.asarray(model.train_gradients().mean(axis=0) + 0.01 * theta)

    theta = model._theta.numpy().copy()
    moved = (gradient(theta + step * direction[:, 0]) - gradient(theta - step * direction[:, 0])) / (2 * step)
    model._theta = torch.tensor(theta)
    assert_allclose(model.hessian_products(direction)[:, 0], moved, atol=1e-6)


def test_the_truncation_error_is_governed_by_the_smallest_eigenvalue() -> None:
    eigenvalues = np.linspace(0.01, 0.58, 30)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 30)))[0]
    matrix = rotation * eigenvalues @ rotation.T
    for terms in (1, 5, 50, 400):
        series = sum(np.linalg.matrix_power(np.eye(30) - matrix, i) for i in range(terms))
        error = np.linalg.norm(np.linalg.inv(matrix) - series, 2)
        assert error == pytest.approx(neumann_error(0.01, 0.58, terms), rel=1e-6)
    printed = (1 - 0.58) ** 50 / 0.58  # the bound with λ_max, as printed in a textbook
    assert neumann_error(0.01, 0.58, 50) > 1e18 * printed
    terms = neumann_terms(0.01, 0.58, 0.01)
    assert neumann_error(0.01, 0.58, terms) <= 0.01 * 100 < neumann_error(0.01, 0.58, terms - 1)
    assert neumann_terms(1.0, 1.0, 0.5) == 1  # the first term is all of it
    with pytest.raises(InvalidInput, match="does not converge"):
        neumann_error(0.01, 2.5, 10)


@pytest.mark.parametrize("columns", [3, 40])
def test_the_spectrum_is_found_without_the_matrix_and_predicts_the_series(columns: int) -> None:
    model = Softmax(blobs(50, columns=columns), 0.05)
    values = np.linalg.eigvalsh(model.hessian_products(np.eye(model.parameters)))
    low, high = spectrum(model)
    assert_allclose([low, high], values[[0, -1]], rtol=1e-4)
    steps = influence(model, Neumann(tolerance=1e-3, scale=1.05 * high)).certificate["steps"]
    assert steps <= neumann_terms(low / (1.05 * high), 1 / 1.05, 1e-3) + 2


def test_a_series_with_too_small_a_scale_or_too_few_steps_raises() -> None:
    model = Softmax(blobs(30), 0.01)
    with pytest.raises(NotConverged, match="diverges"):
        influence(model, Neumann(scale=0.05))
    with pytest.raises(NotConverged, match=r"after 5 steps.*ConjugateGradients"):
        influence(model, Neumann(steps=5))
    with pytest.raises(NotConverged, match="conjugate gradients left"):
        influence(model, ConjugateGradients(steps=2))


def test_no_matrix_is_formed_by_the_iterative_solvers() -> None:
    model = Softmax(blobs(30), 0.05)
    widest = 0
    plain = model.hessian_products

    def watched(directions: FloatArray) -> FloatArray:
        nonlocal widest
        widest = max(widest, directions.shape[1])
        return plain(directions)

    model.hessian_products = watched  # type: ignore[method-assign]
    data_targets = 5
    model._test_x, model._test_codes = model._test_x[:data_targets], model._test_codes[:data_targets]
    for curvature in (ConjugateGradients(), Neumann()):
        curvature.solve(model, np.ascontiguousarray(model.test_gradients().T), 0.0)
    assert widest == data_targets < model.parameters


def test_scores_say_what_they_are() -> None:
    scores = influence(Softmax(blobs(10), 0.1))
    assert scores.attribution().total is None
    assert_allclose(scores.attribution("test 3").credit, scores.matrix[:, 3])
    assert scores.attribution().certificate["weight decay"] == 0.1
    with pytest.raises(InvalidInput, match="unknown target"):
        scores.attribution("test 99")
    with pytest.raises(InvalidInput, match="damping"):
        influence(Softmax(blobs(10), 0.1), damping=-1.0)
    with refused("range", "weight_decay"):
        Softmax(blobs(10), 0.0)


def test_more_test_points_than_rows_gives_the_same_matrix() -> None:
    few, many = blobs(10, tests=6), blobs(10, tests=30)
    x, y = np.vstack([many.test_x, few.test_x]), np.concatenate([many.test_y, few.test_y])
    both = split(few.x, few.y, x, y)
    assert_allclose(influence(Softmax(both, 0.1)).matrix[:, 30:], influence(Softmax(few, 0.1)).matrix, atol=1e-12)


def test_frozen_parameters_are_not_what_was_trained() -> None:
    """A frozen layer is part of the model, not of θ: influence is that of a linear head on its outputs."""
    torch.manual_seed(0)
    data = blobs(12, tests=5)
    body, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)
    for value in body.parameters():
        value.requires_grad_(False)
    whole = TorchObjective(data, torch.nn.Sequential(body, head), 0.1)
    features = [body.double()(torch.tensor(x)).numpy() for x in (data.x, data.test_x)]
    alone = TorchObjective(split(features[0], data.y, features[1], data.test_y), head, 0.1)
    assert whole.parameters == 10
    assert_allclose(influence(whole).matrix, influence(alone).matrix, rtol=1e-6, atol=1e-9)
    with refused("empty", "module"):
        TorchObjective(data, body, 0.1)


def test_many_parameters_reach_the_same_minimum_without_a_matrix() -> None:
    """Above 500 parameters a Newton step is taken by conjugate gradients."""
    data = blobs(40, tests=5, columns=300)
    model = Softmax(data, 0.1)
    assert model.parameters == 602
    total = model.train_gradients().mean(axis=0) + 0.1 * model.theta.ravel()
    assert np.abs(total).max() < 1e-10
    some = np.random.default_rng(0).normal(size=(602, 3))
    assert_allclose(model.hessian_products(some), model.hessian_products(np.eye(602)) @ some, atol=1e-9)


@pytest.mark.parametrize("damping", [-1.0, float("nan"), float("inf")])
def test_damping_must_be_a_number_from_zero_on(damping: float) -> None:
    with pytest.raises(InvalidInput, match="damping"):
        influence(Softmax(blobs(8), 0.1), damping=damping)
    with pytest.raises(InvalidInput, match="weight_decay"):
        RidgeObjective(split([[0.0], [1.0]], [1.0, 2.0], [[0.0]], [1.0], regression=True), -1.0)


def test_a_model_that_was_still_moving_is_flagged() -> None:
    """Influence assumes ∇J = 0. At the minimum the certificate says so; away from it, it says how far."""
    data, decay = blobs(25, tests=7), 0.1
    model = Softmax(data, decay)
    assert influence(model).certificate["stationary"] and influence(model).certificate["gradient norm"] < 1e-8
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight[:] = torch.tensor(model.theta[:3].T) + 2.0
        layer.bias[:] = torch.tensor(model.theta[3])
        layer.weight[0] -= 3.0
    early = TorchObjective(data, layer, decay)
    found = influence(early, GaussNewton()).certificate
    gradients = early.train_gradients()
    assert_allclose(found["gradient norm"], early.stationarity())
    assert_allclose(found["gradient norm of a row"], np.sqrt((gradients**2).sum(axis=1).mean()))
    assert found["stationary"] is False
    assert says(moving(found), "at a minimum") and moving(influence(model).certificate) == ""
    numbers = split(data.x, data.x[:, 0], data.test_x, data.test_x[:, 0], regression=True)
    assert influence(RidgeObjective(numbers, 0.1)).certificate["stationary"]


def test_a_gradient_is_small_beside_that_of_a_row_and_must_be_finite():
    assert stationarity(1e-9, 1.0, 10)["stationary"] and not stationarity(1.0, 1.0, 10)["stationary"]
    assert stationarity(1e-9, 1e-9, 10)["stationary"] is False  # small numbers alone say nothing
    with pytest.raises(NotConverged, match="not finite"):
        stationarity(float("nan"), 1.0, 10)


@pytest.mark.slow
@pytest.mark.parametrize(("wide", "rows"), [(64, 1000), (1000, 150)])
def test_a_network_that_was_not_trained_is_not_stationary(wide, rows):
    """Handwritten digits, and up to a million parameters; some training makes the smaller one stationary."""
    torch = pytest.importorskip("torch")
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    from accredit.influence.kfac import network_influence
    from accredit.influence.network import network

    torch.manual_seed(0)
    layers = [torch.nn.Linear(64, wide), torch.nn.ReLU(), torch.nn.Linear(wide, wide), torch.nn.ReLU()]
    module = torch.nn.Sequential(*layers, torch.nn.Linear(wide, 10))
    x, y = torch.tensor(digits.data[:rows] / 16, dtype=torch.float32), torch.tensor(digits.target[:rows])

    def stationary():
        net = network(module, loss="classification", weight_decay=1e-3)
        return network_influence(net, {"x": x, "labels": y}, {"x": x[:2], "labels": y[:2]}).certificate["stationary"]

    assert stationary() is False
    if wide == 64:
        steps = torch.optim.LBFGS(module.parameters(), max_iter=60, line_search_fn="strong_wolfe")

        def loss():
            steps.zero_grad()
            decay = sum((p**2).sum() for p in module.parameters())
            found = torch.nn.functional.cross_entropy(module(x), y) + 5e-4 * decay
            found.backward()
            return found

        steps.step(loss)
        assert stationary() is True


@pytest.mark.slow
def test_leverage_brings_influences_of_few_rows_to_the_size_of_true_retraining():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    x = rng.normal(size=(120, 20)) + 0.5 * y[:, None]
    data = split(x[:80], y[:80], x[80:], y[80:])
    model = Softmax(data, weight_decay=0.01)
    true = np.array(
        [Softmax(data, 0.01, rows=(np.arange(80) != i).astype(float), start=model.theta).losses() for i in range(80)]
    )
    true = true - model.losses()
    off = [np.linalg.norm(influence(model, leverage=on).matrix - true) / np.linalg.norm(true) for on in (False, True)]
    assert off[1] < 0.5 * off[0]
    ridge = RidgeObjective(split(x[:30], x[:30, 0] + y[:30], x[80:], x[80:, 0], regression=True), weight_decay=0.1)
    with_row, data = ridge.data, ridge.data
    kept = np.arange(30) != 3
    without = RidgeObjective(split(data.x[kept], data.y[kept], data.test_x, data.test_y, regression=True), 0.1)
    moved = (data.test_x @ without.theta[:-1] + without.theta[-1] - with_row.test_y) ** 2
    moved = moved - (data.test_x @ ridge.theta[:-1] + ridge.theta[-1] - with_row.test_y) ** 2
    plain, taken = (influence(ridge, leverage=on).matrix[3] for on in (False, True))
    assert np.abs(taken - moved).max() < np.abs(plain - moved).max()


def test_leverage_is_refused_for_what_is_not_linear():
    torch = pytest.importorskip("torch")
    data = split([[-1.0], [1.0], [2.0]], [0, 1, 1], [[0.5]], [1])
    with refused("unsupported", "leverage"):
        influence(TorchObjective(data, torch.nn.Linear(1, 2), weight_decay=0.1), leverage=True)
