"""Attention classifiers as modules: what attention sees, what padding may not change, and what a file brings back."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("torch")

import torch

from accredit.errors import InvalidInput
from accredit.shortcuts.models import AttentionClassifier, AttentionShape, load_attention_classifier
from tests.wording import refused

ENCODERS = ["pooling", "rcnn"]


def model_of(encoder, **changes):
    shape = AttentionShape(width=4, query=3, encoder=encoder, units=5, features=6, query_hidden=(7,), **changes)
    return AttentionClassifier(shape, seed=1)


def rows(count=6, tokens=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, tokens, 4)).astype(np.float32), rng.normal(size=(count, 3)).astype(np.float32)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_padding_at_the_end_changes_nothing(encoder):
    tokens, query = rows()
    model = model_of(encoder)
    short = model(torch.tensor(tokens), torch.tensor(query))
    padded = np.concatenate([tokens, np.full((6, 3, 4), 9.0, dtype=np.float32)], axis=1)
    there = np.arange(8)[None] < np.full((6, 1), 5)
    long = model(torch.tensor(padded), torch.tensor(query), torch.tensor(there))
    assert_allclose(long[0].detach(), short[0].detach(), atol=1e-6)
    assert_allclose(long[1][:, :5].detach(), short[1].detach(), atol=1e-6)
    assert (long[1][:, 5:] == 0).all()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_present_everywhere_is_the_same_as_no_padding(encoder):
    tokens, query = map(torch.tensor, rows())
    model = model_of(encoder)
    assert_allclose(
        model(tokens, query, torch.ones(6, 5, dtype=torch.bool))[0].detach(),
        model(tokens, query)[0].detach(),
        atol=1e-6,
    )


def test_attention_is_additive_and_knows_no_position():
    tokens, query = map(torch.tensor, rows())
    model = model_of("pooling", temperature=0.5)
    part = model.attention
    hidden = torch.tanh(part.query(model.query(query))[:, None] + part.key(tokens))
    expected = (hidden @ part.score.weight[0] / 0.5).softmax(dim=1)
    assert_allclose(model.select(tokens, query).detach(), expected.detach(), atol=1e-6)
    order = torch.tensor([3, 1, 0, 4, 2])
    assert_allclose(model.select(tokens[:, order], query).detach(), model.select(tokens, query)[:, order].detach(), atol=1e-6)


def test_pooling_answers_from_the_weighted_sum_alone():
    tokens, query = map(torch.tensor, rows())
    model = model_of("pooling", head=())
    logits, mask = model(tokens, query)
    pooled = (mask[:, :, None] * tokens).sum(dim=1)
    assert_allclose(logits.detach(), model.head(pooled).detach(), atol=1e-6)
    other = model.answer(tokens, mask.roll(1, dims=0))
    assert not np.allclose(other.detach(), logits.detach())


def test_uniform_attention_is_a_mean_for_pooling_and_no_mask_for_rcnn():
    tokens, query = map(torch.tensor, rows())
    there = torch.tensor([[True, True, False, False, False]] * 6)
    assert_allclose(model_of("pooling", attention="uniform").select(tokens, query, there)[0], [0.5, 0.5, 0, 0, 0])
    assert_allclose(model_of("rcnn", attention="uniform").select(tokens, query)[0], np.ones(5))
    assert model_of("rcnn", attention="uniform").selecting == []


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_parameter_either_selects_or_answers(encoder):
    model = model_of(encoder)
    parts = [id(p) for p in (*model.selecting, *model.answering)]
    assert sorted(parts) == sorted(id(p) for p in model.parameters())


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_saved_model_answers_the_same(encoder, tmp_path):
    model = model_of(encoder, temperature=0.3, head=())
    model.save(tmp_path / "model")
    again = load_attention_classifier(tmp_path / "model")
    assert again.shape == model.shape
    for mine, theirs in zip(again.predict(*rows()), model.predict(*rows()), strict=True):
        assert_array_equal(mine, theirs)  # to the last bit
    (tmp_path / "model" / "model.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(InvalidInput, match="format 99"):
        load_attention_classifier(tmp_path / "model")
    with pytest.raises(InvalidInput, match=r"no model\.json"):
        load_attention_classifier(tmp_path)


def test_weights_depend_on_the_seed_alone():
    torch.manual_seed(0)
    one = model_of("rcnn")
    torch.manual_seed(1)
    before = torch.get_rng_state()
    two = model_of("rcnn")
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert torch.equal(torch.get_rng_state(), before)


def test_predict_takes_arrays_in_pieces(monkeypatch):
    model = model_of("rcnn")
    tokens, query = rows(count=11)
    whole = model.predict(tokens, query)
    monkeypatch.setattr("accredit.shortcuts.models.ROWS_PER_PASS", 4)
    for a, b in zip(model.predict(tokens, query), whole, strict=True):
        assert_allclose(a, b, atol=1e-6)
    assert_allclose(whole[0].sum(axis=1), 1, atol=1e-6)
    assert_allclose(whole[1].sum(axis=1), 1, atol=1e-6)


def test_wrong_input_is_named():
    model = model_of("pooling")
    tokens, query = rows()
    nan = tokens.copy()
    nan[2, 1, 0] = np.nan
    empty = np.ones((6, 5), dtype=bool)
    empty[4] = False
    for given, message in (
        ((tokens[:, :, :2], query), r"tokens have shape \(6, 5, 2\); give \(rows, tokens, 4\)"),
        ((tokens, query[:5]), r"query has shape \(5, 3\); give \(6, 3\)"),
        ((nan, query), "tokens holds nan"),
        ((tokens, query, np.full((6, 5), 0.5)), "True and False only"),
        ((tokens, query, empty), "row 4 of present has no token"),
    ):
        with pytest.raises(InvalidInput, match=message):
            model.predict(*given)
    with pytest.raises(InvalidInput, match="temperature above 0"):
        AttentionShape(width=1, query=1, temperature=0)
    with refused("unknown", "encoder"):
        AttentionShape(width=1, query=1, encoder="lstm")
