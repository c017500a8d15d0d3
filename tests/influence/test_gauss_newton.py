"""The whole Gauss–Newton matrix, solved in three ways: against the dense inverse from the definition, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import NotConverged
from accredit.influence import gauss_newton
from accredit.influence.kfac import choose, costs, network_influence
from accredit.influence.network import network
from tests.wording import refused

torch = pytest.importorskip("torch")

WAYS = ("joint", "dual", "cg")


def dense(model: Any, loss: Any, data: Any, queries: Any, added: float) -> Any:
    """(1/N)·gᵀ(JᵀSJ/N + added)⁻¹q from Jacobians by torch, without anything of ours but the losses."""
    values = {name: value.detach() for name, value in model.named_parameters()}

    def answer(parameters: Any, x: Any) -> Any:
        return torch.func.functional_call(model, parameters, (x[None],))[0]

    def jacobian(x: Any) -> Any:
        found = torch.func.vmap(torch.func.jacrev(answer), in_dims=(None, 0))(values, x)
        return torch.cat([part.flatten(2) for part in found.values()], dim=2)

    def slopes(part: Any) -> Any:
        said = model(part["x"]).detach().requires_grad_()
        told = torch.autograd.grad(loss.rows(said, part["labels"]).sum(), said)[0]
        return torch.einsum("nc,ncp->np", told, jacobian(part["x"]))

    chances = torch.softmax(model(data["x"]).detach(), dim=1)
    inner = torch.diag_embed(chances) - chances[:, :, None] * chances[:, None, :]
    j, n = jacobian(data["x"]), len(data["labels"])
    matrix = torch.einsum("ncp,ncd,ndq->pq", j, inner, j) / n + added * torch.eye(j.shape[2])
    found = slopes(data) @ torch.linalg.solve(matrix, slopes(queries).T) / n
    return (found - found.mean(dim=0)).numpy()


def case(name: str, rows: int = 40) -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    if name == "perceptron":
        x = torch.randn(rows + 4, 4).double()
        layers = [torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3)]
    else:  # a layer that is used at sixteen places
        x = torch.randn(rows + 4, 1, 4, 4).double()
        layers = [torch.nn.Conv2d(1, 3, 3, padding=1), torch.nn.Tanh(), torch.nn.Flatten(), torch.nn.Linear(48, 3)]
    labels = x.flatten(1)[:, :3].argmax(dim=1)
    data = {"x": x[:rows], "labels": labels[:rows]}
    return torch.nn.Sequential(*layers).double(), data, {"x": x[rows:], "labels": labels[rows:]}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["perceptron", "convolution"])
def test_is_the_dense_inverse(name: str, way: str) -> None:
    model, data, queries = case(name)
    net = network(model, loss="classification", weight_decay=0.002, batch_size=7)
    found = network_influence(net, data, queries, curvature=way, damping=0.01)
    assert_allclose(found.matrix, dense(model, net.loss, data, queries, added=0.012), rtol=1e-7, atol=1e-9)
    if way != "joint":
        residual = found.certificate["relative residual"]
        assert isinstance(residual, float) and residual < 1e-8
    if way == "cg":
        assert found.certificate["steps"] > 1


@pytest.mark.slow
def test_drawn_labels_give_one_matrix_whichever_way_it_is_solved() -> None:
    """A language model: labels too many to list are drawn by the seed, and texts are of several lengths."""
    import transformers

    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=40, n_positions=12, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config).double()
    ids = torch.randint(1, 40, (9, 8))
    mask = torch.ones_like(ids)
    mask[::2, 5:] = 0
    data = {"input_ids": ids, "attention_mask": mask, "labels": torch.where(mask > 0, ids, -100)}
    net = network(model, layers=["*.mlp.*"], batch_size=4, weight_decay=0.01)
    one, two, three = (network_influence(net, data, data, curvature=way).matrix for way in WAYS)
    assert_allclose(two, one, rtol=1e-6, atol=1e-9)
    assert_allclose(three, one, rtol=1e-6, atol=1e-9)


def test_the_cheapest_way_is_taken_and_named() -> None:
    few, many = ({"x": torch.randn(n, 30), "labels": torch.arange(n) % 3} for n in (10, 3000))
    wide = network(
        torch.nn.Sequential(torch.nn.Linear(30, 200), torch.nn.Tanh(), torch.nn.Linear(200, 3)), loss="classification"
    )
    narrow = network(torch.nn.Linear(30, 3), loss="classification")
    assert choose(wide, few, queries=50)[0] == "dual" and choose(narrow, many, queries=50)[0] == "joint"
    assert choose(wide, many, queries=1)[0] == "cg"
    found = network_influence(wide, few, few)
    assert "in the space of rows" in str(found.certificate["curvature"]) and found.certificate["chosen because"]


def test_what_does_not_fit_or_takes_too_long_is_left_to_ekfac_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    model, data, queries = case("perceptron")
    model, data, queries = (
        model.float(),
        *({k: v.float() if v.is_floating_point() else v for k, v in d.items()} for d in (data, queries)),
    )
    least = min(cost.bytes for cost in costs(network(model, loss="classification"), data, 4).values())
    tight = network(model, loss="classification", memory=least - 1, batch_size=4)
    found = network_influence(tight, data, queries)
    assert found.certificate["curvature"] == "EK-FAC" and "memory allows" in str(found.certificate["chosen because"])
    with refused("too-many", "curvature"):
        network_influence(tight, data, queries, curvature="dual")
    monkeypatch.setattr("accredit.influence.kfac.WHOLE_COST", 10.0)
    found = network_influence(network(model, loss="classification"), data, queries)
    assert found.certificate["curvature"] == "EK-FAC" and "multiplications" in str(found.certificate["chosen because"])


def test_conjugate_gradients_that_do_not_converge_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    model, data, queries = case("perceptron")
    monkeypatch.setattr(gauss_newton, "CG_STEPS", 2)
    with pytest.raises(NotConverged, match="after 2 steps left a relative residual"):
        network_influence(network(model, loss="classification"), data, queries, curvature="cg", damping=1e-4)


def test_a_singular_matrix_is_refused() -> None:
    model, data, queries = case("perceptron")
    with refused("range", "damping"):
        network_influence(network(model, loss="classification"), data, queries, curvature="dual", damping=0.0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["unrelated rows", "rows with classes"])
def test_networks_at_random_weights_are_never_called_trained(kind: str, seed: int) -> None:
    torch.manual_seed(seed)
    x, labels = torch.randn(300, 784), torch.arange(300) % 10
    if kind == "rows with classes":
        x += 2 * torch.randn(10, 784)[labels]
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)
    )
    data = {"x": x, "labels": labels}
    net = network(model, loss="classification", layers=["2", "4"], batch_size=300)
    certificate = network_influence(net, data, {"x": x[:1], "labels": labels[:1]}, curvature="ekfac").certificate
    assert not certificate["stationary"]


def test_a_minimum_that_is_no_better_than_a_constant_is_still_one() -> None:
    """Strong weight decay: the answer hardly depends on the row, and the gradient is gone all the same."""
    torch.manual_seed(0)
    data = {"x": torch.randn(200, 3).double(), "labels": torch.arange(200) % 2}
    model = torch.nn.Linear(3, 2).double()
    optimiser = torch.optim.LBFGS(model.parameters(), max_iter=100, tolerance_grad=1e-12, tolerance_change=1e-15)
    net = network(model, loss="classification", weight_decay=50.0)

    def closure() -> Any:
        optimiser.zero_grad()
        loss = net.loss.rows(model(data["x"]), data["labels"]).mean() + 25.0 * sum((p**2).sum() for p in model.parameters())
        torch.autograd.backward(loss)
        return loss

    optimiser.step(closure)
    with torch.no_grad():
        model.bias.add_(torch.tensor([1e-7, -1e-7]))
    certificate = network_influence(net, data, data).certificate
    assert certificate["stationary"]


def test_constant_losses_are_those_of_the_best_constant() -> None:
    from accredit.influence.losses import Classification, NextTokens, RegressionLoss

    labels = torch.tensor([0, 0, 0, 1])
    shares = torch.log(torch.tensor([[0.75, 0.25]])).expand(4, 2)
    assert Classification().constant(labels) == pytest.approx(float(Classification().rows(shares, labels).mean()))
    numbers = torch.tensor([1.0, 2.0, 6.0])
    assert RegressionLoss().constant(numbers) == pytest.approx(
        float(RegressionLoss().rows(numbers.mean().expand(3), numbers).mean())
    )
    tokens = torch.tensor([[5, 1, 2, -100], [5, 1, 1, 1]])
    spread = torch.log(torch.tensor([1e-30, 0.8, 0.2])).expand(2, 4, 3)
    for loss in (NextTokens(), NextTokens(mean=True)):
        whole = float(loss.rows(spread, tokens.clamp(max=2)).mean()) if not loss.mean else None
        if whole is not None:
            assert loss.constant(tokens) == pytest.approx(whole)
    assert np.isclose(NextTokens(mean=True).constant(tokens), -(0.8 * np.log(0.8) + 0.2 * np.log(0.2)))
