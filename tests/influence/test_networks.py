"""Influence that scales: every shortcut against the definition it stands for, on networks small enough for both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.influence.functions import Influences
from accredit.influence.gradient_store import GradientStore
from accredit.influence.kfac import kronecker, mean_influence, network_influence
from accredit.influence.layers import row_gradients, track_layers
from accredit.influence.losses import Classification, NextTokens, RegressionLoss, loss_named
from accredit.influence.network import network, weights_of
from accredit.influence.projections import principal_sides, random_sides
from accredit.influence.tracin import tracin
from tests.wording import reads, refused

torch = pytest.importorskip("torch")

NORM_OF_A_ROW = "gradient norm of a row"


def _data(rows: int, seed: int = 0, columns: int = 4, classes: int = 3) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, columns, generator=generator)
    return {"x": x, "labels": (x[:, :classes] + 0.3 * torch.randn(rows, classes, generator=generator)).argmax(dim=1)}


def _net(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(inplace=True), torch.nn.Linear(5, 3))


def _autograd(model: Any, loss: Any, data: dict[str, Any], names: list[str]) -> list[Any]:
    """Per-row gradients by differentiating one row at a time: a list of (rows, …) for each parameter."""
    values = dict(model.named_parameters())
    found = []
    for i in range(len(data["labels"])):
        row = {k: v[i : i + 1] for k, v in data.items()}
        total = loss.rows(model(row["x"]), row["labels"]).sum()
        found.append(torch.autograd.grad(total, [values[n] for n in names]))
    return [torch.stack(parts) for parts in zip(*found, strict=True)]


def test_row_gradients_are_those_of_single_rows() -> None:
    """Linear with bias, convolution with stride and padding, and an activation that works in place."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(2, 3, 3, stride=2, padding=1),
        torch.nn.ReLU(inplace=True),
        torch.nn.Flatten(),
        torch.nn.Linear(27, 4),
    )
    data = {"x": torch.randn(5, 2, 6, 6), "labels": torch.tensor([0, 1, 2, 3, 0])}
    net = network(model, loss="classification")
    losses, seen = row_gradients(model, net.layers, net.loss, data)
    assert_allclose(losses.numpy(), net.loss.rows(model(data["x"]), data["labels"]).detach().numpy(), rtol=1e-5)
    for layer, name in zip(net.layers, ("0", "3"), strict=True):
        weight, bias = _autograd(model, net.loss, data, [f"{name}.weight", f"{name}.bias"])
        whole = torch.cat([weight.flatten(2), bias[:, :, None]], dim=2)
        assert_allclose(seen[layer.name].gradients().numpy(), whole.numpy(), atol=1e-5)


@pytest.mark.slow
def test_the_whole_matrix_is_influence_with_the_fisher_matrix() -> None:
    """curvature='joint' against (JᵀΛJ + λ)⁻¹ formed from the definition."""
    model, train, queries = _net(), _data(300), _data(6, seed=1)
    net = network(model, loss="classification", weight_decay=0.01)
    found = network_influence(net, train, queries, curvature="joint", damping=0.05, averaged=False)
    names = [n for n, _ in model.named_parameters()]
    flat = [np.hstack([g.flatten(1).numpy() for g in _autograd(model, net.loss, d, names)]) for d in (train, queries)]
    matrix = np.zeros((flat[0].shape[1],) * 2)
    chances = torch.softmax(model(train["x"]), dim=1).detach().numpy()
    for label in range(3):
        same = {"x": train["x"], "labels": torch.full((300,), label)}
        g = np.hstack([g.flatten(1).numpy() for g in _autograd(model, net.loss, same, names)])
        matrix += (g * chances[:, label : label + 1]).T @ g / 300
    truth = flat[0] @ np.linalg.solve(matrix + 0.06 * np.eye(len(matrix)), flat[1].T) / 300
    assert_allclose(found.matrix, truth, rtol=1e-3, atol=1e-5 * np.abs(truth).max())


def test_ekfac_measures_its_eigenvalues_in_an_orthogonal_basis() -> None:
    """In any rotation Σ Λ is the mean square of a drawn gradient, and the rotations are orthogonal."""
    model, train = _net(), _data(200)
    net = network(model, loss="classification")
    curved = kronecker(net, train, seed=0)
    total = dict.fromkeys(curved.blocks, 0.0)
    for _, _, seen in net.passes(train, draw=1):  # the draw that measured the eigenvalues
        for name, s in seen.items():
            total[name] += float((s.gradients() ** 2).sum()) / 200
    for name, block in curved.blocks.items():
        assert float(block.eigenvalues.sum()) == pytest.approx(total[name], rel=1e-4)
        assert_allclose((block.q_in.T @ block.q_in).numpy(), np.eye(len(block.q_in)), atol=1e-5)


def test_ekfac_and_the_whole_matrix_agree_about_one_linear_layer() -> None:
    torch.manual_seed(0)
    net = network(torch.nn.Linear(4, 3), loss="classification", weight_decay=0.05)
    train, queries = _data(400), _data(5, seed=1)
    one, two = (network_influence(net, train, queries, curvature=c, damping=0.05).matrix for c in ("ekfac", "joint"))
    assert np.corrcoef(one.ravel(), two.ravel())[0, 1] > 0.95


def test_batches_do_not_matter_and_weights_stay() -> None:
    model, train, queries = _net().train(), _data(50), _data(4, seed=2)
    before = [p.detach().clone() for p in model.parameters()]
    kept = [
        network_influence(network(model, loss="classification", batch_size=b), train, queries, curvature="joint").matrix
        for b in (7, 50)
    ]
    assert_allclose(kept[0], kept[1], rtol=1e-3, atol=1e-6)
    assert model.training and all((a == b).all() for a, b in zip(before, model.parameters(), strict=True))


def test_a_model_far_from_a_minimum_is_flagged() -> None:
    train, queries = _data(100), _data(3, seed=1)
    model = _net()
    net = network(model, loss="classification", weight_decay=0.01)
    assert not network_influence(net, train, queries).certificate["stationary"]
    optimiser = torch.optim.LBFGS(model.parameters(), max_iter=60)

    def closure() -> Any:
        optimiser.zero_grad()
        squares = sum((p**2).sum() for p in model.parameters())
        loss = net.loss.rows(model(train["x"]), train["labels"]).mean() + 0.005 * squares
        torch.autograd.backward(loss)
        return loss

    optimiser.step(closure)
    certificate = network_influence(net, train, queries).certificate
    assert certificate["stationary"] and certificate["gradient norm"] < 0.05 * certificate[NORM_OF_A_ROW]


def test_sizes_are_refused_before_anything_is_allocated() -> None:
    net = network(torch.nn.Linear(1000, 1000), loss="regression", memory=1e8)
    data = {"x": torch.zeros(100, 1000), "labels": torch.zeros(100, 1000)}
    with refused("too-many", "memory"):
        network_influence(net, data, data)
    roomy = network(net.model, loss="regression", memory=1e9)
    with pytest.raises(InvalidInput, match=r"curvature='ekfac'"):
        network_influence(roomy, data, {k: v[:1] for k, v in data.items()}, curvature="joint")


def test_tracin_is_the_sum_of_gradient_products_and_puts_the_weights_back() -> None:
    model, train, queries = _net(), _data(12), _data(3, seed=1)
    net = network(model, loss="classification")
    states = [{k: v + 0.1 * i for k, v in model.state_dict().items()} for i in range(2)]
    before = {k: v.clone() for k, v in model.state_dict().items()}
    found = tracin(net, states, train, queries, rates=[1.0, 0.5]).matrix
    assert all((before[k] == v).all() for k, v in model.state_dict().items())
    wanted = np.zeros((12, 3))
    names = [n for n, _ in model.named_parameters()]
    for state, rate in zip(states, (1.0, 0.5), strict=True):
        model.load_state_dict(state)
        flat = [np.hstack([g.flatten(1).numpy() for g in _autograd(model, net.loss, d, names)]) for d in (train, queries)]
        wanted += rate * flat[0] @ flat[1].T
    assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    with refused("shape", "rates"):
        tracin(net, states, train, queries, rates=[1.0])
    with refused("conflict", "checkpoints"):
        tracin(net, [torch.nn.Linear(4, 3).state_dict()], train, queries)
    assert all((states[-1][k] == v).all() for k, v in model.state_dict().items())  # as it was before that call


def test_checkpoints_of_another_run_are_refused() -> None:
    torch.manual_seed(0)
    x = torch.randn(60, 5)
    data = {"x": x, "labels": (x[:, 0] > 0).long()}
    model, other = torch.nn.Linear(5, 2), torch.nn.Linear(5, 2)
    with torch.no_grad():
        model.weight[:] = torch.tensor([[-2.0, 0, 0, 0, 0], [2.0, 0, 0, 0, 0]])
        other.weight[:] = torch.tensor([[0, -2.0, 0, 0, 0], [0, 2.0, 0, 0, 0]])
    net = network(model, loss="classification")
    with refused("conflict", "checkpoints"):
        tracin(net, [other.state_dict()], data, data)
    found = tracin(net, [other.state_dict(), model.state_dict()], data, data).certificate  # early ones may know nothing
    before, after = found["mean losses"]  # type: ignore[misc]
    assert before > found["mean loss of a constant"] > after
    with refused("duplicate", "checkpoints"):  # as a loop keeps them that does not copy
        tracin(net, [model.state_dict(), model.state_dict()], data, data)


def test_a_store_whose_sides_are_whole_is_the_block_solution(tmp_path: Path) -> None:
    """With k as large as every layer nothing is projected: the closed form with the Gauss–Newton matrix of every layer."""
    model, train, queries = _net(), _data(60), _data(4, seed=1)
    net = network(model, loss="classification")
    store = GradientStore.build(tmp_path / "s", net, train, side=64)
    found = store.search(net, queries, damping=0.1).matrix
    wanted = np.zeros((60, 4))
    chances = torch.softmax(model(train["x"]), dim=1).detach().double().numpy()
    for layer in ("0", "2"):
        parts = [_autograd(model, net.loss, d, [f"{layer}.weight", f"{layer}.bias"]) for d in (train, queries)]
        g, q = (torch.cat([w, b[:, :, None]], dim=2).flatten(1).double().numpy() for w, b in parts)
        moments = np.zeros((g.shape[1],) * 2)
        for label in range(3):
            same = {"x": train["x"], "labels": torch.full((60,), label)}
            w, b = _autograd(model, net.loss, same, [f"{layer}.weight", f"{layer}.bias"])
            f = torch.cat([w, b[:, :, None]], dim=2).flatten(1).double().numpy()
            moments += (f * chances[:, label : label + 1]).T @ f / 60
        wanted += g @ np.linalg.solve(moments + 0.1 * np.trace(moments) / len(moments) * np.eye(len(moments)), q.T) / 60
    assert_allclose(found, wanted, rtol=1e-3, atol=1e-5 * np.abs(wanted).max())


def test_a_projected_gradient_is_the_gradient_projected() -> None:
    model, data = _net(), _data(5)
    net = network(model, loss="classification")
    project = random_sides(net, side=2, seed=3)
    _, seen = row_gradients(model, net.layers, net.loss, data)
    for layer in net.layers:
        a, b = project.sides[layer.name]
        assert a is not None and b is not None
        wanted = torch.einsum("noi,oq,ik->nqk", seen[layer.name].gradients(), b, a).flatten(1)
        assert_allclose(project.apply(net.layers, seen)[layer.name].numpy(), wanted.numpy(), atol=1e-5)


def test_principal_sides_are_the_first_eigenvectors_and_are_kept_in_the_folder(tmp_path: Path) -> None:
    model, train, queries = _net(), _data(60), _data(4, seed=1)
    net = network(model, loss="classification")
    sides = principal_sides(net, train, side=2, seed=0).sides
    for layer in net.layers:
        grams = [0.0, 0.0]
        for _, _, seen in net.passes(train, draw=0):
            told = [part.flatten(0, 1).double().numpy() for part in (seen[layer.name].a, seen[layer.name].g)]
            grams = [gram + t.T @ t for gram, t in zip(grams, told, strict=True)]
        for gram, side in zip(grams, sides[layer.name], strict=True):
            if side is None:
                continue
            first = np.linalg.eigh(gram)[1][:, -2:]  # the same plane: all of it is seen
            assert_allclose(np.linalg.norm(first.T @ side.double().numpy(), axis=0), 1.0, rtol=1e-4)
    store = GradientStore.build(tmp_path / "s", net, train, side=2)
    again = GradientStore(tmp_path / "s").search(net, queries).matrix
    assert_allclose(again, store.search(net, queries).matrix)
    with refused("conflict", "folder"):
        GradientStore.build(tmp_path / "s", net, train, side=2, sides="random")
    with refused("unknown", "sides"):
        GradientStore.build(tmp_path / "t", net, train, sides="best")


def test_a_broken_store_goes_on_and_foreign_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accredit.influence.gradient_store.BLOCK_ROWS", 10)
    model, train, queries = _net(), _data(35), _data(2, seed=1)
    net = network(model, loss="classification")
    whole = GradientStore.build(tmp_path / "a", net, train).search(net, queries).matrix

    def stop(done: int) -> None:
        if done > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        GradientStore.build(tmp_path / "b", net, train, watch=stop)
    store = GradientStore(tmp_path / "b")
    kept = (tmp_path / "b" / "rows-000001.safetensors").stat().st_mtime_ns
    with pytest.raises(InvalidInput, match="not complete"):
        store.search(net, queries)
    store = GradientStore.build(tmp_path / "b", net, train)
    assert (tmp_path / "b" / "rows-000001.safetensors").stat().st_mtime_ns == kept  # finished work is not done again
    assert_allclose(store.search(net, queries).matrix, whole, rtol=1e-6)
    with pytest.raises(InvalidInput, match="other seed"):
        GradientStore.build(tmp_path / "b", net, train, seed=1)
    with pytest.raises(InvalidInput, match="other data"):
        GradientStore.build(tmp_path / "b", net, _data(35, seed=5))
    with pytest.raises(InvalidInput, match="other weights"):
        store.search(network(_net(1), loss="classification"), queries)
    (tmp_path / "b" / "rows-000001.safetensors").write_bytes(b"damaged")
    with pytest.raises(InvalidInput, match="cannot be read"):
        store.search(net, queries)
    with refused("unreadable", "folder"):
        GradientStore(tmp_path / "nowhere")


def test_layers_can_be_chosen_and_what_is_left_out_is_named() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 3))
    net = network(model, loss="classification", layers=["2"])
    assert net.parameters == 15 and set(net.left_out) == {"0.weight", "0.bias", "1.weight", "1.bias"}
    assert weights_of(net.layers[0]).shape == (3, 5)
    with refused("unknown", "layers"):
        network(model, loss="classification", layers=["head"])
    model[2].weight.requires_grad_(False)
    model[0].weight.requires_grad_(False)
    with pytest.raises(InvalidInput, match="no linear"):
        track_layers(model)


def test_losses_draw_what_the_model_believes() -> None:
    generator = torch.Generator().manual_seed(0)
    answers = torch.log(torch.tensor([[0.2, 0.8]])).expand(20_000, 2)
    drawn = Classification().draw(answers, torch.zeros(20_000, dtype=torch.int64), generator)
    assert abs(float(drawn.float().mean()) - 0.8) < 5 * (0.16 / 20_000) ** 0.5  # fails once in two million seeds
    noise = RegressionLoss().draw(torch.zeros(20_000), torch.zeros(20_000), generator)
    assert abs(float((noise**2).mean()) - 0.5) < 5 * 0.5 * (2 / 20_000) ** 0.5
    logits = torch.randn(2, 4, 7)
    labels = torch.tensor([[1, 2, -100, 3], [4, -100, -100, 6]])
    drawn = NextTokens().draw(logits, labels, generator)
    assert ((drawn == -100) == (labels == -100)).all()
    logs = torch.log_softmax(logits, dim=2)
    wanted = -(logs[0, 0, 2] + logs[0, 2, 3])
    assert float(NextTokens().rows(logits, labels)[0]) == pytest.approx(float(wanted), rel=1e-5)
    assert float(NextTokens(mean=True).rows(logits, labels)[0]) == pytest.approx(float(wanted) / 2, rel=1e-5)


def test_every_loss_lists_outcomes_that_make_its_gauss_newton_matrix() -> None:
    """Regression: 2·JᵀJ, J the Jacobian of a linear layer's two answers."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2, bias=False)
    data = {"x": torch.randn(7, 3), "labels": torch.randn(7, 2)}
    net = network(layer, loss="regression")
    total = np.zeros((6, 6))
    for seen in net.fisher(data, seed=0, draws=1):
        g = seen[""].gradients().flatten(2).flatten(0, 1).numpy()
        total += g.T @ g
    x = data["x"].numpy()
    assert_allclose(total, np.kron(np.eye(2), 2 * x.T @ x), atol=1e-4)


def test_an_unknown_loss_names_those_that_are_known() -> None:
    with pytest.raises(InvalidInput, match="classification, regression, language"):
        loss_named(None, torch.nn.Linear(2, 2))


def test_the_mean_over_models_is_about_the_same_rows() -> None:
    one, two = (Influences(("a", "b"), ("q",), np.array([[1.0], [i]]), "m") for i in (1.0, 3.0))
    assert mean_influence([one, two]).matrix.ravel().tolist() == [1.0, 2.0]
    with pytest.raises(InvalidInput, match="different rows"):
        mean_influence([one, Influences(("a", "c"), ("q",), np.zeros((2, 1)), "m")])
    with pytest.raises(InvalidInput, match="at least one"):
        mean_influence([])


@pytest.mark.slow
@pytest.mark.parametrize("curvature", ["joint", "ekfac"])
def test_influence_on_the_mean_is_the_mean_of_influences_for_the_memory_of_one_query(curvature: str) -> None:
    train, queries = _data(60), _data(7, seed=1)
    net = network(_net(), loss="classification", weight_decay=0.01, batch_size=4)
    each = network_influence(net, train, queries, curvature=curvature)
    whole = network_influence(net, train, queries, curvature=curvature, on_mean=True)
    assert reads(whole.targets)
    assert_allclose(whole.matrix[:, 0], each.matrix.mean(axis=1), rtol=1e-3, atol=1e-7)
    assert_allclose(whole.attribution().credit, each.attribution().credit, rtol=1e-3, atol=1e-7)
    tight = network(_net(), loss="classification", batch_size=4, memory=5_000)
    with pytest.raises(InvalidInput, match="raise memory"):
        network_influence(tight, train, _data(500, seed=1), curvature="ekfac")
    assert network_influence(tight, train, _data(500, seed=1), curvature="ekfac", on_mean=True).matrix.shape == (60, 1)
