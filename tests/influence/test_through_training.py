"""Derivatives through training: against torch's own optimisers, finite differences in double precision, and retraining."""

from __future__ import annotations

import weakref
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import Holds
from accredit.evaluate.data import linear_datamodeling_score
from accredit.influence import training_influence, training_run
from accredit.influence.through_training import Smoothness, SmoothnessVerdict, derivative
from accredit.influence.training_runs import draw_batches
from accredit.valuation import Recipe, random_subsets
from benchmarks.networks import batch, digits
from tests.wording import refused

torch = pytest.importorskip("torch")

RECIPES = {
    "sgd": Recipe(3, 0.1, 0.01, 7, "sgd"),
    "momentum": Recipe(3, 0.1, 0.01, 7, "sgd", momentum=0.9),
    "adam": Recipe(3, 0.01, 0.01, 7, "adam", eps=1e-3),
    "adamw": Recipe(3, 0.01, 0.1, 7, "adamw", betas=(0.8, 0.99), eps=1e-3),
    "all rows": Recipe(6, 0.05, 0.01, None, "adam", eps=1e-3),
    "warm-up and cosine": Recipe(3, 0.01, 0.1, 7, "adamw", eps=1e-3, schedule="cosine", warmup_steps=3),
    "linear": Recipe(3, 0.1, 0.01, 7, "sgd", momentum=0.9, schedule="linear", warmup_steps=2),
    "every other epoch a tenth": Recipe(5, 0.1, 0.01, 7, "sgd", schedule="step", step_size=2),
}


def scheduler_of(recipe, optimiser, steps):
    """What people put beside their optimiser: torch's own, or transformers'."""
    if recipe.schedule == "step":
        return torch.optim.lr_scheduler.StepLR(optimiser, recipe.step_size * steps // recipe.epochs, recipe.gamma)
    transformers = pytest.importorskip("transformers")
    name = recipe.schedule if recipe.schedule != "constant" else "constant_with_warmup"
    return transformers.get_scheduler(name, optimiser, num_warmup_steps=recipe.warmup_steps, num_training_steps=steps)


def small_data(rows=25, seed=0):
    x = torch.randn(rows, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    x[:, 3] = 0.0  # a column of zeros: its weights never have a gradient, where the root in Adam has no slope
    return {"x": x, "labels": (x[:, 0] + x[:, 1] > 0).long()}


def small_model(seed=0, activation=torch.nn.Tanh):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 5), activation(), torch.nn.Linear(5, 3)).double()


def train_with_torch(model, data, recipe, batches, weights, averaged):
    """The loop that everybody writes, with torch's optimiser and a weight for every row."""
    model = model.train()
    chosen = [p for p in model.parameters() if p.requires_grad]
    optimiser = {
        "sgd": lambda: torch.optim.SGD(chosen, lr=recipe.rate, momentum=recipe.momentum, weight_decay=recipe.weight_decay),
        "adam": lambda: torch.optim.Adam(chosen, recipe.rate, recipe.betas, recipe.eps, recipe.weight_decay),
        "adamw": lambda: torch.optim.AdamW(chosen, recipe.rate, recipe.betas, recipe.eps, recipe.weight_decay),
    }[recipe.optimizer]()
    scheduler = scheduler_of(recipe, optimiser, len(batches))
    for rows in batches:
        optimiser.zero_grad()
        share = weights[list(rows)]
        losses = torch.nn.functional.cross_entropy(model(data["x"][list(rows)]), data["labels"][list(rows)], reduction="none")
        ((share * losses).sum() / (share.sum() if averaged else len(rows))).backward()
        optimiser.step()
        scheduler.step()
    return model.eval()


def losses_with_torch(model, queries):
    with torch.no_grad():
        return torch.nn.functional.cross_entropy(model(queries["x"]), queries["labels"], reduction="none").numpy()


@pytest.mark.slow
@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("name", RECIPES)
def test_is_the_training_of_torch_and_its_derivative(name, averaged):
    data, recipe = small_data(), RECIPES[name]
    queries = small_data(rows=6, seed=1)
    run = training_run(small_model(), data, recipe, loss="classification", averaged=averaged, seed=3)
    weights = torch.rand(25, generator=torch.Generator().manual_seed(2), dtype=torch.float64) + 0.5
    theirs = losses_with_torch(train_with_torch(small_model(), data, recipe, run.batches, weights, averaged), queries)
    assert_allclose(run.retrain(weights.numpy()[None], queries)[0], theirs, rtol=1e-10)
    slope = derivative(run, queries, "loss")
    for row in (0, 11, 24):  # one weight at a time, by torch's own loop
        step = torch.zeros(25, dtype=torch.float64)
        step[row] = 1e-5
        up, down = (
            losses_with_torch(train_with_torch(small_model(), data, recipe, run.batches, 1 + sign * step, averaged), queries)
            for sign in (1, -1)
        )
        assert_allclose(slope[row], (up - down) / 2e-5, rtol=1e-5, atol=1e-8)


def test_only_what_requires_a_gradient_is_trained_and_the_model_is_left_as_it_was():
    model = small_model()
    model[0].requires_grad_(False)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    run = training_run(model, small_data(), RECIPES["momentum"], loss="classification")
    trained = run.trained_model()
    assert run.parameters == 18
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items()) and model.training
    assert torch.equal(trained[0].weight, before["0.weight"]) and not torch.equal(trained[2].weight, before["2.weight"])


def test_dropout_is_the_same_in_every_run():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2)).double()
    run = training_run(model, small_data(), RECIPES["momentum"], loss="classification")
    data = small_data(rows=4, seed=1)
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(2, 25))
    outputs = run.retrain(np.concatenate([1 + 1e-5 * signs, 1 - 1e-5 * signs]), data)
    assert_allclose(signs @ derivative(run, data, "loss"), (outputs[:2] - outputs[2:]) / 2e-5, rtol=1e-5, atol=1e-8)


@pytest.mark.slow
def test_states_are_kept_at_the_root_of_the_steps(monkeypatch):
    run = training_run(small_model(), small_data(), Recipe(25, 0.1, 0.0, 5, "sgd"), loss="classification")
    alive, most = [], [0]
    plain = type(run).step

    def step(self, state, number, weights):
        after = plain(self, state, number, weights)
        alive.append(weakref.ref(state[0]))
        alive[:] = [ref for ref in alive if ref() is not None]
        most[0] = max(most[0], len(alive))
        return after

    monkeypatch.setattr(type(run), "step", step)
    derivative(run, small_data(rows=2, seed=1), "loss")
    assert len(run.batches) == 125 and most[0] <= 2 * 12 + 3  # and the two of a step


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_language_model_is_differentiated_through_adamw(name):
    import transformers

    torch.manual_seed(0)
    if name == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=50, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
        )
        model = transformers.GPT2LMHeadModel(config).double()
    else:
        config = transformers.LlamaConfig(
            vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
            num_key_value_heads=1, max_position_embeddings=16,
        )  # fmt: skip
        model = transformers.LlamaForCausalLM(config).double()
    for part, value in model.named_parameters():
        value.requires_grad_("mlp" in part)  # part of it, as adapters are
    ids = torch.randint(0, 50, (12, 8))
    data = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}
    run = training_run(model, data, Recipe(2, 0.002, 0.01, 4, "adamw", eps=1e-2))
    queries = {key: value[:2] for key, value in data.items()}
    found = training_influence(run, queries, reach=0.01, directions=2)
    assert found.certificate["verdict"] == "smooth" and found.certificate["agreement"]["0.0001"] > 0.999
    assert found.matrix.diagonal()[:2].min() > 0  # a text helps itself


def digits_run(activation, recipe):
    data = digits()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), activation(), torch.nn.Linear(32, 10))
    return training_run(model, batch(data.x, data.y), recipe, loss="classification"), batch(data.test_x, data.test_y)


@pytest.mark.slow
def test_predicts_what_half_of_the_rows_teach_where_training_is_smooth():
    run, queries = digits_run(torch.nn.Tanh, Recipe(20, 0.05, 5e-4, 50, "sgd", momentum=0.9))
    found = training_influence(run, queries, output="margin")
    masks = random_subsets(500, 60, 0.5, 777)
    score = linear_datamodeling_score(found.matrix, masks, run.retrain(masks.astype(float), queries, "margin"))
    assert score.value > 0.85 and found.certificate["verdict"] == "smooth"


@pytest.mark.slow
def test_is_refused_with_remedies_where_training_is_not_smooth():
    run, queries = digits_run(torch.nn.ReLU, Recipe(30, 0.02, 5e-4, 100, "adam"))
    with refused(
        "refuted", "run", has="Train with a smaller rate than 0.02, or a smooth activation (GELU, SiLU, Tanh)"
    ) as error:
        training_influence(run, queries, output="margin", directions=4)
    assert "a larger eps than 1e-08" in str(error.value)


@pytest.mark.slow
def test_equal_rows_in_different_batches_are_not_promised_equal_scores():
    data = small_data()
    queries = small_data(rows=2, seed=1)
    for name, holds in (("all rows", Holds.EXACTLY), ("momentum", Holds.NO)):
        run = training_run(small_model(), data, RECIPES[name], loss="classification")
        found = training_influence(run, queries, reach=0.01, directions=2).attribution()
        assert {claim.axiom: claim.holds for claim in found.claims}["symmetry"] is holds


def test_a_verdict_near_the_limit_is_not_given():
    assert Smoothness({1.0: 0.71}, 0.05, 8).verdict is SmoothnessVerdict.CANNOT_TELL
    assert Smoothness({1.0: 0.95}, 0.05, 8).verdict is SmoothnessVerdict.SMOOTH
    assert Smoothness({1.0: 0.05}, 0.05, 8).verdict is SmoothnessVerdict.NOT_SMOOTH


def test_what_cannot_be_differentiated_is_refused():
    data, recipe = small_data(), RECIPES["sgd"]
    with refused("unsupported", "model"):
        training_run(
            torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2)).double(), data, recipe, loss="classification"
        )
    with refused("empty", "model"):
        training_run(small_model().requires_grad_(False), data, recipe, loss="classification")
    with refused("conflict", "averaged"):
        training_run(small_model(), data, Recipe(1, batch_size=1), loss="classification")
    with refused("range", "batches"):
        training_run(small_model(), data, recipe, loss="classification", batches=[(0, 25)])
    run = training_run(small_model(), data, recipe, loss="classification")
    with refused("unknown", "output"):
        training_influence(run, data, output="accuracy")
    with refused("range", "reach"):
        training_influence(run, data, reach=2.0)
    with refused("range", "directions"):
        training_influence(run, data, directions=1)
    with refused("too-many", "memory"):
        training_influence(run, data, memory=1e4)
    with refused("conflict", "output"):
        numbers = {"x": data["x"], "labels": data["x"][:, 0]}
        training_influence(
            training_run(torch.nn.Linear(4, 1).double(), numbers, recipe, loss="regression"), numbers, output="margin"
        )


def test_batches_hold_every_row_once_per_epoch():
    drawn = draw_batches(10, Recipe(epochs=3, batch_size=4), seed=1)
    assert [sorted(sum(drawn[i : i + 3], ())) for i in (0, 3, 6)] == [list(range(10))] * 3


class Errors:
    """Counts wrong answers: it has no slope."""

    def rows(self, answers, labels):
        return (answers.argmax(dim=1) != labels).to(answers) + 0 * answers.sum()


class Once:
    """Cross-entropy that hides its slope from a second derivative."""

    def rows(self, answers, labels):
        class Hidden(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**2

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx, g):
                return 2 * g * ctx.saved_tensors[0]

        return Hidden.apply(answers).sum(dim=1)


def test_losses_and_optimisers_without_derivatives_are_named_with_the_cure():
    data, recipe = small_data(), RECIPES["sgd"]
    with refused("unsupported", "loss", has="smooth loss"):
        training_run(small_model(), data, recipe, loss=Errors())
    with refused("unsupported", "loss", has="cannot be differentiated twice"):
        training_run(small_model(), data, recipe, loss=Once())
    model = small_model()
    with refused("type", "recipe", has="sgd"):
        training_run(model, data, torch.optim.RMSprop(model.parameters()), loss="classification")
    with refused("unknown", "optimizer"):
        Recipe(optimizer="lbfgs")


def test_schedules_that_are_not_known_are_named_with_those_that_are():
    with refused("unknown", "schedule", has="cosine"):
        Recipe(schedule="plateau")
    for odd in ({"warmup_steps": -1}, {"step_size": 0}, {"gamma": 0.0}):
        with refused("range", "schedule"):
            Recipe(**odd)


def test_a_run_with_another_schedule_is_another_run():
    data, recipe = small_data(), RECIPES["linear"]
    run = training_run(small_model(), data, recipe, loss="classification")
    other = training_run(small_model(), data, replace(recipe, schedule="constant"), loss="classification")
    with refused("conflict", "trained"):
        run.check_trained(other.trained_model())


def test_a_model_of_another_run_is_refused():
    data, recipe = small_data(), RECIPES["momentum"]
    run = training_run(small_model(), data, recipe, loss="classification")
    run.check_trained(run.trained_model())
    for other in (
        training_run(small_model(), data, recipe, loss="classification", seed=1),
        training_run(small_model(1), data, recipe, loss="classification"),
        training_run(small_model(), data, RECIPES["sgd"], loss="classification"),
    ):
        with refused("conflict", "trained"):
            training_influence(run, data, trained=other.trained_model())
    with refused("conflict", "trained"):
        run.check_trained(torch.nn.Linear(4, 2).double())


class LowRank(torch.nn.Module):
    """A frozen linear layer and an adapter of rank two beside it, as LoRA has."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = torch.nn.Parameter(torch.randn(2, layer.in_features, dtype=torch.float64))
        self.up = torch.nn.Parameter(torch.zeros(layer.out_features, 2, dtype=torch.float64))

    def forward(self, x):
        return self.layer(x) + x @ self.down.T @ self.up.T


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_adapters_are_differentiated_as_finite_differences_say(name):
    model = small_model()
    torch.manual_seed(1)
    model[0], model[2] = LowRank(model[0]), LowRank(model[2])
    run = training_run(model, small_data(), RECIPES[name], loss="classification")
    assert run.parameters == 2 * (4 + 5) + 2 * (5 + 3)
    queries = small_data(rows=4, seed=1)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(3, 25))
    outputs = run.retrain(np.concatenate([1 + 1e-5 * signs, 1 - 1e-5 * signs]), queries)
    assert_allclose(signs @ derivative(run, queries, "loss"), (outputs[:3] - outputs[3:]) / 2e-5, rtol=1e-5, atol=1e-8)
