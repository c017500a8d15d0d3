"""Value zeroing: against values zeroed by hand in a BERT and a GPT-2, and refusals where values cannot be reached."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from accredit.attention import rollout
from accredit.errors import InvalidInput
from accredit.explanation import explain
from accredit.models.blocks import decoder_blocks_of
from accredit.models.zeroing import context_mixing
from tests.models.answering_models import answering
from tests.models.more_models import other_model
from tests.models.small_models import TEXT, text_model


def mixing(model, text=TEXT):
    seen = model.encode(text)
    with model.hold():
        return context_mixing(model.model, lambda: model.outputs(model.batch(seen)))["self"]


def by_hand(model, layer, projection, hidden, columns):
    """Run the whole model once for each token, with its value zeroed where the projection writes it."""
    seen = model.encode(TEXT)
    given = {"input_ids": torch.from_numpy(seen.ids)[None], "output_hidden_states": True}
    plain, rows = model.model(**given).hidden_states[layer + 1][0], []
    for j in range(len(seen)):

        def zero(_part, _given, output, j=j):
            output = output.clone()
            output[:, j, columns] = 0
            return output

        hook = projection.register_forward_hook(zero)
        rows.append(1 - torch.cosine_similarity(model.model(**given).hidden_states[layer + 1][0], plain, dim=-1))
        hook.remove()
    distance = torch.stack(rows, dim=1).detach().numpy()
    return distance / distance.sum(axis=1, keepdims=True)


def test_a_bert_whose_values_are_zeroed_by_hand():
    model = text_model("bert", dtype=torch.float64)
    found = mixing(model)
    for k, layer in enumerate(model.model.bert.encoder.layer):
        literal = by_hand(model, k, layer.attention.self.value, k, slice(None))
        assert_allclose(found[k], literal, atol=1e-9)
    assert_allclose(found.sum(axis=-1), 1)


def test_a_gpt2_whose_queries_keys_and_values_are_one_map():
    model = text_model("gpt2", dtype=torch.float64)
    block = model.model.transformer.h[0]
    found = mixing(model)
    assert_allclose(found[0], by_hand(model, 0, block.attn.c_attn, 0, slice(32, 48)), atol=1e-9)
    assert (np.triu(found[0], 1) == 0).all()  # nobody reads what comes later


def test_explain_rolls_it_out():
    model = text_model("bert")
    found = explain(TEXT, model, methods="value-zeroing", players="token")["value-zeroing"]
    product = rollout(mixing(model), residual=0.0)
    assert_allclose(found.credit, product[0][[*range(1, 15), 0, 15]], atol=1e-6)  # the pooler reads [CLS]
    assert found.total is None and found.players[-2:] == ("[CLS]", "[SEP]")


def test_the_model_keeps_its_kernel():
    model = text_model("bert", "sdpa")
    mixing(model)
    assert model.model.config._attn_implementation == "sdpa"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "said"),
    [
        ("DebertaV2", "cannot be zeroed"),
        ("Bloom", "cannot be zeroed"),
        ("XLNet", "cannot be zeroed"),
        ("Albert", "cannot be found"),
    ],
)
def test_values_that_cannot_be_reached_are_refused(family, said):
    with pytest.raises(InvalidInput, match=said):
        mixing(other_model(family))


def test_an_answer_is_read_from_the_places_that_predict_it():
    model = answering("llama", torch.float64)
    found = explain("A gripping film.", model, answer=" It is good.", methods="value-zeroing", players="word")
    said = model.answer(" It is good.", model.prompt("A gripping film.")).ids
    ids = torch.from_numpy(np.concatenate([model.tokenize(["A gripping film."], False)[0], said[:-1]]))
    with model.hold():
        product = rollout(context_mixing(model.model, lambda: model.model(ids[None]).logits)["self"], residual=0.0)
    places = len(found.said.pieces)
    assert_allclose(found["value-zeroing"].credit.sum(), 1, atol=1e-9)
    by_token = product[-places:].mean(axis=0)
    assert_allclose(found["value-zeroing"]["<s>"], by_token[0], atol=1e-9)
    assert_allclose(found["value-zeroing"]["A"], by_token[1], atol=1e-9)


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_a_decoder_block_reads_its_own_values_and_the_encoders(family):
    """Against a pass of the whole model for each value, zeroed where its projection writes it."""
    model = answering(family, dtype=torch.float64).text_model
    given = {
        "input_ids": torch.from_numpy(model.encode(TEXT).ids)[None],
        "decoder_input_ids": torch.tensor([[0, 5, 6]]),
    }
    with model.hold():
        parts = context_mixing(model.model, lambda: model.model(**given).logits)
    block = decoder_blocks_of(model.model)[-1]
    own, crossed = (
        (block.layer[0].SelfAttention.v, block.layer[1].EncDecAttention.v)
        if family == "t5"
        else (block.self_attn.v_proj, block.encoder_attn.v_proj)
    )
    rows = [
        _moved(model, block, projection, given, count) for projection, count in ((own, 3), (crossed, len(model.encode(TEXT))))
    ]
    expected = np.concatenate(rows, axis=1)
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(np.concatenate([parts["decoder"][-1], parts["cross"][-1]], axis=1), expected, atol=1e-9)
    assert_allclose(parts["encoder"].sum(axis=-1), 1)


def _moved(model, block, projection, given, count):
    """Cosine distances of the block's output, (tokens, values), by one value zeroed at a time."""
    seen, zero = [], []
    hooks = [
        block.register_forward_hook(lambda m, i, out: seen.append(out[0] if isinstance(out, tuple) else out)),
        projection.register_forward_hook(lambda m, i, out: out * (torch.arange(out.shape[1]) != zero[-1])[None, :, None]),
    ]
    with model.hold(), torch.no_grad():
        for j in range(-1, count):
            zero.append(j)
            model.model(**given)
    for hook in hooks:
        hook.remove()
    plain, *others = (x[0] for x in seen)
    return torch.stack([1 - torch.cosine_similarity(x, plain, dim=-1) for x in others], dim=1).numpy()


@pytest.mark.slow
def test_an_encoder_decoder_gives_every_target_scores_over_source_and_decoder():
    found = explain("A gripping film.", answering("bart"), answer="It is good", methods="value-zeroing", players="word")
    scores = found["value-zeroing"]
    assert_allclose(scores.credit.sum(), 1, atol=1e-6)
    assert {"A", "gripping"} <= set(scores.players) and any("(answer)" in name for name in scores.players)
    each = [found.of(name)["value-zeroing"].credit for name in found.others]
    assert len(each) > 1 and not np.allclose(each[0], each[-1])


@pytest.mark.half_precision("bfloat16", "float16")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_with_few_digits_are_not_lost_in_rounding(dtype):
    """1 - cos of outputs rounded to 8 bits would be mostly zeros. The same weights in float32 say what is right."""
    model = text_model("gpt2", dtype=dtype)
    before = [p.clone() for p in model.model.parameters()]
    found = mixing(model)
    assert all(torch.equal(a, b) and a.dtype == dtype for a, b in zip(before, model.model.parameters(), strict=True))
    model.model.float()
    assert_allclose(found, mixing(model), atol=0.05)
