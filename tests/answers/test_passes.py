"""Passes that share beginnings give the model's own numbers, for every family, removal and size of batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from accredit.answers import answer_game
from accredit.answers.passes import Reader, pass_bytes, row_of
from accredit.answers.prefixes import prefix_tree
from accredit.core.coalitions import from_index
from accredit.errors import BadPayoff, InvalidInput
from tests.models.answering_models import FAMILIES, FIXED, TEXT, answering, many_sided

ALL = from_index(np.arange(16), 4)
BFLOAT16, FLOAT16 = (
    pytest.param(getattr(torch, dtype), marks=pytest.mark.half_precision(dtype)) for dtype in ("bfloat16", "float16")
)
WAYS = {"t5": "padded", "bart": "padded", "bloom": "plain"}


def own_call(model, ids, answer, sees=None):
    """Log-probabilities of an answer, straight from the Hugging Face model, one row and no cache."""
    said, hf = answer.tolist(), model.model
    mask = (
        {}
        if sees is None
        else {"attention_mask": torch.tensor([[*map(int, sees)] + [1] * (0 if model.encodes else len(said) - 1)])}
    )
    with torch.no_grad():
        if model.encodes:
            decoder = torch.tensor([[*model.start.tolist(), *said[:-1]]])
            logits = hf(input_ids=torch.tensor([ids]), decoder_input_ids=decoder, **mask).logits[0, -len(said) :]
        else:
            logits = hf(input_ids=torch.tensor([[*ids, *said[:-1]]]), **mask).logits[0, -len(said) :]
    return logits.double().log_softmax(-1)[range(len(said)), said].numpy()


def written(kept):
    """The text without the sentences that left."""
    parts = [" It never lands!", " It is good, not bad.", " A bad shot.", " It is a film!"]
    return "A gripping film." + "".join(p for p, k in zip(parts, kept, strict=True) if k) + " It is very very good."


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_rebuilt_prompt_is_paid_as_the_models_own_call_pays_it(family):
    model = answering(family)
    game = answer_game(model, TEXT, "It is good.", players="sentence", fixed=FIXED)
    expected = [own_call(model, model.tokenizer(written(kept))["input_ids"], game.answer.ids) for kept in ALL]
    assert_allclose(game.payoff(ALL), expected, atol=1e-5)
    assert set(model.ways.values()) == {WAYS.get(family, "shared")}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_prompt_not_attended_to_is_paid_as_the_models_own_masked_call_pays_it(family):
    model = answering(family)
    game = answer_game(model, TEXT, "It is good.", players="sentence", fixed=FIXED, removal="attention")
    ids = model.tokenizer(TEXT)["input_ids"]
    kept = game.pays.parts.partition.kept(ALL)
    assert_allclose(game.payoff(ALL), [own_call(model, ids, game.answer.ids, k) for k in kept], atol=1e-5)
    assert set(model.ways.values()) == {WAYS.get(family, "shared")}


@pytest.mark.parametrize("how", [{"batch": 1}, {"memory": 1.0}, {"batch": 3}])
def test_batches_and_memory_change_nothing(how):
    model = answering("mistral")
    usual = answer_game(model, TEXT, "It is good.", fixed=FIXED)
    other = answer_game(model, TEXT, "It is good.", fixed=FIXED, **how)
    assert_allclose(other.payoff(ALL), usual.payoff(ALL), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, BFLOAT16])
def test_any_precision(dtype):
    model = answering("llama", dtype)
    game = answer_game(model, TEXT, "It is good.", fixed=FIXED)
    expected = [own_call(model, model.tokenizer(written(kept))["input_ids"], game.answer.ids) for kept in ALL]
    assert_allclose(game.payoff(ALL), expected, atol=1e-10 if dtype == torch.float64 else 0.3)


def test_a_decoder_that_also_reads_pictures_is_fed_text():
    model = many_sided()
    assert not model.encodes
    game = answer_game(model, TEXT, "It is good.", fixed=FIXED)
    expected = [own_call(model, model.tokenizer(written(kept))["input_ids"], game.answer.ids) for kept in ALL]
    assert_allclose(game.payoff(ALL), expected, atol=1e-5)
    assert set(model.ways.values()) == {"shared"}


def test_common_beginnings_are_read_once():
    model = answering("llama")
    rng = np.random.default_rng(0)
    passages = [rng.integers(4, 30, 25) for _ in range(4)]
    asked, answer = rng.integers(4, 30, 5), rng.integers(4, 30, 4)
    left = [np.concatenate([*(p for p, k in zip(passages, kept, strict=True) if k), asked]) for kept in ALL]
    rows = [row_of(ids, answer) for ids in left]
    reader = Reader(model)
    reader.log_probabilities(rows[:2])
    before = reader.tokens
    reader.log_probabilities(rows)
    read, alone = reader.tokens - before, sum(len(row.read) for row in rows)
    assert read == 15 * 25 + 16 * 8  # every passage after each subset of those before it, and the question after each
    assert alone / read > 1.8


@pytest.mark.parametrize("family", ["gpt2", "llama", "gemma3"])
def test_what_only_leaves_states_behind_ends_before_the_last_layers_output(family):
    model = answering(family)
    rng = np.random.default_rng(0)
    begun = rng.integers(4, 30, 60)
    rows = [row_of(np.concatenate([begun, rng.integers(4, 30, 40)]), rng.integers(4, 30, 4)) for _ in range(3)]
    expected = [own_call(model, row.ids.tolist(), row.answer) for row in rows]
    layers = model.model.transformer.h if family == "gpt2" else model.model.model.layers
    seen = []
    hooks = [layers[k].mlp.register_forward_hook(lambda m, i, o, k=k: seen.append((k, o.numel()))) for k in (0, -1)]
    reader = Reader(model)
    reader.way(rows)
    seen.clear()
    assert_allclose(reader.log_probabilities(rows), expected, atol=1e-5)
    assert model.ways == {("sdpa", False): "shared"}
    for hook in hooks:
        hook.remove()
    first, last = (sum(count for k, count in seen if k == which) for which in (0, -1))
    assert first / last == (60 + 3 * 43) / (3 * 4)  # every token is read, and only those of answers to the end


def test_rows_come_back_from_the_tree():
    rng = np.random.default_rng(1)
    for worth in (1, 4, 1000):
        rows = [rng.integers(0, 2, rng.integers(4, 12)) for _ in range(40)]
        tree, ends = prefix_tree(rows, own=[2] * 40, worth=worth), {}
        waiting = [(child, []) for child in tree.children]
        while waiting:
            node, before = waiting.pop()
            assert node.start == len(before)
            now = [*before, *rows[node.row][node.start : node.stop].tolist()]
            if not node.children:
                ends[node.row] = (now, len(node))
            waiting += [(child, now) for child in node.children]
        assert sorted(ends) == list(range(40))
        assert all(now == rows[i].tolist() and own >= 2 for i, (now, own) in ends.items())


def test_answers_of_different_length_share_their_prompt():
    model = answering("gpt2")
    game = answer_game(model, TEXT, " It is good.", rather_than=" bad", fixed=FIXED)
    alone = [answer_game(model, TEXT, said, fixed=FIXED).payoff(ALL).sum(axis=1) for said in (" It is good.", " bad")]
    assert_allclose(game.whole().payoff(ALL), alone[0] - alone[1], atol=1e-5)


def test_the_memory_estimate_counts_logits_at_answer_positions_only():
    config = answering("llama").model.config
    config.vocab_size = 128_000
    few, many = pass_bytes(config, 500, 500, 10, 4), pass_bytes(config, 500, 500, 500, 4)
    assert many - few == 490 * 128_000 * 20


def test_numbers_that_are_not_finite_stop_the_run():
    model = answering("gpt2")
    with torch.no_grad():
        model.model.transformer.h[1].mlp.c_proj.weight[0, 0] = float("nan")
    with pytest.raises(BadPayoff, match="check its weights"):
        answer_game(model, TEXT, "It is good.", fixed=FIXED).payoff(ALL)


@pytest.mark.parametrize("how", [{"memory": 0}, {"batch": 0}, {"batch": True}, {"batch": 1.5}])
def test_settings_that_make_no_sense_are_refused(how):
    with pytest.raises(InvalidInput, match=next(iter(how))):
        answer_game(answering("gpt2"), TEXT, "It is good.", fixed=FIXED, **how)


def mixing(family, dtype):
    """A model whose first block adds three times the mean of all positions, so that no row may share or be padded."""
    model = answering(family, dtype)
    block = model.model.model.encoder.layers[0].fc1 if family == "bart" else model.model.transformer.h[0].mlp
    block.register_forward_hook(lambda m, given, out: out + 3 * out.mean(dim=1, keepdim=True))
    return model


@pytest.mark.parametrize("dtype", [torch.float32, BFLOAT16, FLOAT16])
@pytest.mark.parametrize("family", ["gpt2", "bart"])
def test_a_model_that_mixes_positions_is_read_in_its_own_way(family, dtype):
    model, rng = mixing(family, dtype), np.random.default_rng(0)
    rows = [row_of(rng.integers(4, 30, length), rng.integers(4, 30, 4)) for length in (40, 4)]
    found = Reader(model).log_probabilities(rows)
    assert set(model.ways.values()) == {"plain"}
    assert_allclose(found, [own_call(model, row.ids.tolist(), row.answer) for row in rows], rtol=1e-6)


@pytest.mark.parametrize("family", ["gpt2", "bart"])
def test_a_first_call_with_one_row_does_not_decide_untried(family):
    model, rng = mixing(family, torch.float32), np.random.default_rng(0)
    begun = rng.integers(4, 30, 20)
    rows = [row_of(np.concatenate([begun, rng.integers(4, 30, length)]), rng.integers(4, 30, 4)) for length in (20, 4)]
    reader = Reader(model)
    reader.log_probabilities(rows[:1])
    expected = [own_call(model, row.ids.tolist(), row.answer) for row in rows]
    assert_allclose(reader.log_probabilities(rows), expected, rtol=1e-6)
