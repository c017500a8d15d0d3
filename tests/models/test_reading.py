"""Attention read layer by layer: the same numbers as all heads together, and never all of them at once."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from accredit.errors import InvalidInput
from accredit.models.reading import Heads, read_attention
from tests.models.answering_models import answering

FAMILIES = ("gpt2", "llama", "gemma3", "t5", "bart")
IDS = np.array([5, 9, 12, 7, 20, 11, 6])
SAID = np.array([8, 13, 10])


def read(model, tensor="af", heads="mean"):
    decoder = np.concatenate([model.start, SAID[:-1]]) if model.encodes else SAID[:0]
    ids = IDS if model.encodes else np.concatenate([IDS, SAID[:-1]])
    return model.read_attention(ids, decoder, SAID, tensor, Heads.of(heads)).parts


def every_head(model):
    """All heads of all layers, as transformers gives them with the eager kernel: part -> (L, H, T, S)."""
    before = model.model.config._attn_implementation
    model.model.set_attn_implementation("eager")
    ids = torch.tensor((IDS if model.encodes else np.concatenate([IDS, SAID[:-1]]))[None])
    given = {"input_ids": ids, "output_attentions": True, "use_cache": False}
    if model.encodes:
        given["decoder_input_ids"] = torch.tensor(np.concatenate([model.start, SAID[:-1]])[None])
    with torch.no_grad():
        output = model.model(**given)
    model.model.set_attn_implementation(before)
    fields = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    fields = fields if model.encodes else {"self": "attentions"}
    return {part: torch.stack(getattr(output, name))[:, 0].double().numpy() for part, name in fields.items()}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_heads_are_combined_as_asked(family):
    model = answering(family)
    whole = every_head(model)
    weights = np.arange(1.0, next(iter(whole.values())).shape[1] + 1)
    ways = {
        "mean": lambda w: w.mean(axis=1),
        1: lambda w: w[:, 1],
        tuple(weights.tolist()): lambda w: np.einsum("lhij,h->lij", w, weights / weights.sum()),
        "max": lambda w: w.max(axis=1) / w.max(axis=1).sum(axis=2, keepdims=True),
    }
    for heads, expected in ways.items():
        found = read(model, heads=heads)
        assert set(found) == set(whole)
        for part, w in whole.items():
            assert_allclose(found[part], expected(w), atol=1e-6)


def test_no_head_survives_its_layer():
    """What transformers collects is one matrix for each layer already, also where its own hooks were there first."""
    model, kept = answering("gpt2"), []

    def forward(**extra):
        kept.append(model.model(input_ids=torch.tensor(IDS[None]), use_cache=False, **extra))
        return kept[-1]

    for _ in range(2):
        read_attention(model.model, forward, "af", Heads.of("mean"), lambda output: output.logits.sum(), len(IDS))
    assert [tuple(w.shape) for w in kept[-1].attentions] == [(1, 1, 7, 7)] * 2
    assert not any(part._forward_hooks for name, part in model.model.named_modules() if "mlp" in name)  # all put back


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gpt2", "llama", "t5", "bart"])
def test_norms_are_weights_times_lengths_of_values(family):
    """Values are caught where each family projects them; grouped queries share them."""
    model, values = answering(family), []
    part = {"gpt2": "c_attn", "llama": "v_proj", "t5": "v", "bart": "v_proj"}[family]
    hooks = [
        module.register_forward_hook(lambda _m, _i, out: values.append(out[0].double()))
        for name, module in model.model.named_modules()
        if name.rpartition(".")[2] == part
    ]
    whole = every_head(model)
    for hook in hooks:
        hook.remove()
    order = {"self": slice(None), "encoder": slice(0, 2), "decoder": slice(2, None, 2), "cross": slice(3, None, 2)}
    found = read(model, "norm")
    for name, w in whole.items():
        for layer, value in enumerate(values[order[name]]):
            value = value.chunk(3, dim=-1)[-1] if family == "gpt2" else value
            groups = 2
            lengths = value.reshape(len(value), groups, -1).norm(dim=-1).T.numpy()  # (key–value heads, S)
            lengths = np.repeat(lengths, w.shape[1] // groups, axis=0)
            assert_allclose(found[name][layer], (w[layer] * lengths[:, None]).mean(axis=0), rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("family", ["llama", "t5"])
def test_gradients_are_the_positive_slopes_of_the_answers_log_probability(family):
    model = answering(family, torch.float64)
    model.model.set_attn_implementation("eager")
    ids = torch.tensor((IDS if model.encodes else np.concatenate([IDS, SAID[:-1]]))[None])
    given = {"decoder_input_ids": torch.tensor(np.concatenate([model.start, SAID[:-1]])[None])} if model.encodes else {}
    output = model.model(input_ids=ids, output_attentions=True, use_cache=False, **given)
    likely = output.logits[0, -3:].log_softmax(dim=-1)[range(3), SAID].sum()
    for part, field in {"cross": "cross_attentions"}.items() if model.encodes else {"self": "attentions"}.items():
        weights = getattr(output, field)
        slopes = torch.autograd.grad(likely, weights, retain_graph=True)
        expected = [g[0].clamp(min=0).mean(dim=0) for g in slopes]
        assert_allclose(read(model, "gf")[part], torch.stack(expected), atol=1e-6)
        expected = [(w * g)[0].clamp(min=0).mean(dim=0).detach() for w, g in zip(weights, slopes, strict=True)]
        assert_allclose(read(model, "agf")[part], torch.stack(expected), atol=1e-6)


def test_what_will_not_fit_is_refused_before_a_pass():
    model = answering("gpt2")

    def forward(**extra):
        raise AssertionError("nothing may run")

    for tensor, tokens in (("af", 100_000), ("gf", 20_000)):
        with pytest.raises(InvalidInput, match="GiB"):
            read_attention(model.model, forward, tensor, Heads.of("mean"), lambda output: output, tokens)


@pytest.mark.parametrize("heads", ["mode", -1, True, [], [0, 0], [1, -1], [[1]], [np.nan, 1], None, 1.5])
def test_heads_that_cannot_be_meant_are_refused(heads):
    with pytest.raises(InvalidInput, match="heads is"):
        Heads.of(heads)


@pytest.mark.parametrize(("heads", "said"), [(2, r"heads 0 … 1"), ([1, 1, 1], "3 weights"), ((0.5,), "1 weights")])
def test_heads_that_a_model_does_not_have_are_refused(heads, said):
    with pytest.raises(InvalidInput, match=said):
        read(answering("gpt2"), heads=heads)
