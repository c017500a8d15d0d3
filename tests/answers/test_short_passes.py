"""What a text game leaves out of its passes: a first block that is looked up, a last block computed where it is read."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from accredit.games import text_game
from accredit.games.text import _Short
from accredit.models.short_passes import look_up
from tests.games.test_text_game import some_coalitions
from tests.models.small_models import TEXT, text_for, text_model
from tests.wording import refused


def everybody(game):
    return np.ones((1, len(game.players)), bool)


@pytest.mark.parametrize(("family", "short"), [("bert", True), ("roberta", True), ("electra", True), ("distilbert", False)])
@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_a_classifier_that_reads_its_first_token_computes_the_last_block_there_alone(family, short, kernel):
    game = text_game(text_model(family, kernel), TEXT, removal="attention", players="token", payoff="logit")
    coalitions, seen = some_coalitions(len(game.players)), []
    hook = game.model.model.base_model.register_forward_hook(lambda m, given, out: seen.append(out[0].shape[1]))
    paid = game.payoff(coalitions)
    hook.remove()
    assert (seen[-1] == 1) is short
    game.__dict__["_short"] = _Short(False, False)
    assert_allclose(paid, game.payoff(coalitions), atol=1e-6)


@pytest.mark.parametrize(
    ("family", "short"),  # ELECTRA projects its embeddings before the first block
    [("bert", True), ("bert-lm", True), ("roberta", True), ("electra", False), ("distilbert", False)],
)
@pytest.mark.parametrize("removal", ["mask", "attention", "pad", "zero", "delete"])
def test_embeddings_and_the_first_queries_are_computed_for_two_texts_however_many_are_asked(family, short, removal):
    game = text_game(text_model(family), text_for(family), removal=removal, target=2, players="token", payoff="logit")
    coalitions, seen = some_coalitions(len(game.players), 40), []
    game.payoff(coalitions[:1])  # what may be left out is tried once
    bare = game.model.model.base_model.embeddings
    hook = bare.LayerNorm.register_forward_hook(lambda m, given, out: seen.append(len(out)))
    paid = game.payoff(coalitions)
    hook.remove()
    assert (sum(seen) == 2) is (short and removal != "delete") is game._short.first_block
    assert not any("forward" in vars(part) for part in game.model.model.modules())
    game.__dict__["_short"] = _Short(False, False)
    assert_allclose(paid, game.payoff(coalitions), atol=1e-6)


def test_a_last_block_that_somebody_changed_is_computed_whole():
    """A hook that the short block would not run; and a head that reads all tokens."""
    model = text_model("bert")
    model.model.bert.encoder.layer[-1].attention.self.register_forward_hook(lambda m, given, out: (2 * out[0], out[1]))
    game = text_game(model, TEXT, players="token", payoff="logit")
    assert_allclose(game.payoff(everybody(game)), model.predict(game.encoded)[game.target])
    assert game._short == _Short(True, False)
    other = text_model("bert")
    other.model.bert.pooler.forward = lambda hidden: hidden.mean(dim=1)
    game = text_game(other, TEXT, players="token", payoff="logit")
    assert_allclose(game.payoff(everybody(game)), other.predict(game.encoded)[game.target])
    assert game._short == _Short(True, False)


@pytest.mark.parametrize("dtype", [torch.float32, pytest.param(torch.bfloat16, marks=pytest.mark.half_precision("bfloat16"))])
def test_a_first_block_that_mixes_positions_is_not_looked_up(dtype):
    model = text_model("bert", dtype=dtype)
    value = model.model.bert.encoder.layer[0].attention.self.value
    value.register_forward_hook(lambda m, given, out: out + 0.1 * out.mean(dim=-2, keepdim=True))
    game = text_game(model, TEXT, players="token", payoff="logit")
    assert_allclose(game.payoff(everybody(game)), model.predict(game.encoded)[game.target], rtol=1e-6)
    assert game._short == _Short(False, True)


def test_embeddings_that_are_read_otherwise_are_refused():
    model = text_model("bert").model
    with refused("unsupported"), look_up(model, nothing=None):
        pass
    with refused("unsupported"), look_up(text_model("gpt2").model):
        pass
