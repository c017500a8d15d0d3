"""Max-sensitivity and the randomisation checks, where the answer is known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import Attribution
from accredit.errors import InvalidInput
from accredit.evaluate import (
    label_randomisation,
    max_sensitivity,
    model_randomisation,
    nudge_embeddings,
    randomised_layers,
    shaken,
)
from accredit.games import TableGame
from accredit.values import leave_one_out, shapley
from tests.wording import refused

COOKIES = TableGame(("alice", "bob"), [0, 5, 3, 10])


def scaled(factor: float) -> TableGame:
    return TableGame(COOKIES.players, factor * COOKIES.table)


def test_max_sensitivity_by_hand():
    assert max_sensitivity(shapley, COOKIES, [COOKIES]) == 0.0
    assert max_sensitivity(shapley, COOKIES, [scaled(1.1), scaled(0.7)]) == pytest.approx(0.3)  # linear: moves by the factor
    ignores = lambda game: Attribution(game.players, np.array([1.0, 2.0]), None, "constant")  # noqa: E731
    assert max_sensitivity(ignores, COOKIES, [scaled(5)]) == 0.0


def test_max_sensitivity_needs_neighbours_and_an_explanation():
    with pytest.raises(InvalidInput, match="neighbours is empty"):
        max_sensitivity(shapley, COOKIES, [])
    with pytest.raises(InvalidInput, match="zero everywhere"):
        max_sensitivity(shapley, scaled(0), [COOKIES])


def test_shaken_payoffs_stay_within_the_radius_and_repeat():
    game = TableGame(tuple("abcdef"), np.zeros(64))
    near = shaken(game, 0.25, seed=4)
    every = (np.arange(64)[:, None] >> np.arange(6) & 1).astype(bool)
    noise = near.payoff(every)
    assert np.abs(noise).max() <= 0.25
    assert_allclose(near.payoff(every[::-1]), noise[::-1])
    assert len(np.unique(noise)) == 64
    assert not np.allclose(shaken(game, 0.25, seed=5).payoff(every), noise)
    with pytest.raises(InvalidInput, match="radius"):
        shaken(game, -1, seed=0)


def test_leave_one_out_moves_more_than_shapley_under_noise():
    table = np.random.default_rng(0).normal(size=256)
    game = TableGame(tuple("abcdefgh"), table)
    near = [shaken(game, 0.5, seed) for seed in range(20)]
    assert max_sensitivity(shapley, game, near) < max_sensitivity(leave_one_out, game, near)


def by_weights(model, x):
    return Attribution(tuple("abcd"), model * x, total=float(model @ x), method="weights")


def by_input(model, x):
    return Attribution(tuple("abcd"), x, total=None, method="ignores the model")


def test_model_randomisation_by_hand():
    x = [np.array([1.0, 1, 1, 1]), np.array([2.0, 2, 2, 2])]
    model = np.array([1.0, 2, 3, 4])
    stages = [("half", np.array([1.0, 2, 4, 3])), ("all", np.array([-1.0, -2, -3, -4]))]
    seen = model_randomisation(by_weights, model, stages, x)
    assert seen.stages == ("half", "all")
    assert_allclose(seen.signed, [0.8, -1.0])  # one exchange among four; the reversed order
    assert_allclose(seen.by_size, [0.8, 1.0])
    assert abs(seen.remains) == 1.0
    blind = model_randomisation(by_input, model, stages, [np.array([1.0, 2, 3, 4])])
    assert blind.remains == 1.0


def test_one_player_has_no_rank_to_lose():
    model, stages = np.array([3.0, -1.0, 2.0, 0.5]), [("same", np.array([3.0, -1.0, 2.0, 0.5]))]

    def explain(weights, x):
        return Attribution(tuple("abcd")[: len(x)], weights[: len(x)] * x, total=None, method="weights")

    several, one = np.ones(4), np.ones(1)
    assert model_randomisation(explain, model, stages, [one, several]).signed == (1.0,)
    with pytest.raises(InvalidInput, match="one player"):
        model_randomisation(explain, model, stages, [one])


def test_label_randomisation_tells_a_method_that_reads_what_was_learned():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 20))
    labels = (rows @ np.linspace(-2, 2, 20) > 0).astype(int)

    def fit(y):
        return rows.T @ (np.asarray(y) - np.mean(y)) / len(y)

    def explain(model, x):
        return Attribution(tuple(f"x{i}" for i in range(20)), model * x, float(model @ x), "weights times input")

    def blind(model, x):
        return Attribution(tuple(f"x{i}" for i in range(20)), x, None, "the input itself")

    inputs = list(rows[:20])
    assert label_randomisation(explain, fit, labels.tolist(), inputs, seed=1).by_size[0] < 0.7
    assert label_randomisation(blind, fit, labels.tolist(), inputs, seed=1).remains == pytest.approx(1.0)


def test_no_inputs_and_no_stages_are_refused():
    with pytest.raises(InvalidInput, match="inputs is empty"):
        model_randomisation(by_weights, np.ones(4), [("all", np.ones(4))], [])
    with refused("empty", "randomised"):
        model_randomisation(by_weights, np.ones(4), [], [np.ones(4)])


@pytest.fixture(scope="module")
def model():
    pytest.importorskip("torch")
    from accredit.arena.texts import load

    return load("builtin")


def test_layers_are_randomised_from_the_head_down_and_the_model_is_not_touched(model):
    before = {name: weights.clone() for name, weights in model.model.state_dict().items()}
    stages = list(randomised_layers(model, seed=0))
    layers = model.model.config.num_hidden_layers
    assert [stage for stage, _ in stages] == ["head", *(f"layer {k}" for k in range(layers, 0, -1)), "embeddings"]
    changed = [_changed(before, broken) for _, broken in stages]
    assert all(a < b for a, b in pairwise(changed))  # every stage breaks more
    assert not any("layer" in name or "embed" in name for name in changed[0])
    assert changed[-1] == {name for name in before if name in dict(model.model.named_parameters())}
    assert _changed(before, model) == set()
    text = model.encode("A fine film.")
    assert np.isfinite(stages[-1][1].predict(text)).all()


def _changed(before, model):
    return {name for name, weights in model.model.state_dict().items() if not weights.equal(before[name])}


def test_nudged_embeddings_stay_in_their_box(model):
    table = model.model.get_input_embeddings().weight
    near = list(nudge_embeddings(model, 0.1, 2, seed=0))
    moves = [(other.model.get_input_embeddings().weight - table).abs().max().item() for other in near]
    assert all(0 < move <= 0.1 * table.std().item() * (1 + 1e-6) for move in moves)
    assert not near[0].model.get_input_embeddings().weight.equal(near[1].model.get_input_embeddings().weight)
    with pytest.raises(InvalidInput, match="radius"):
        next(nudge_embeddings(model, 0, 1))
