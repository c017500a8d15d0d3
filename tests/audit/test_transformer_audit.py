"""Attention of Hugging Face classifiers: what is imposed is what is computed with, and the model is as before afterwards."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from accredit.audit import audit_texts
from accredit.audit.counterchecks import COUNTERCHECKS
from accredit.audit.transformer import (
    CannotImpose,
    attention_scores,
    gradient_importance,
    last_layer,
    removal_importance,
    watch_losses,
)
from accredit.errors import InvalidInput
from accredit.explanation.loading import builtin_model
from accredit.models.text import TextModel, TokenBatch
from tests.models.small_models import text_for, text_model
from tests.wording import refused

TEXT = "A dull film with one great scene."


@pytest.fixture(scope="module")
def model() -> TextModel:
    return builtin_model("text")


def probabilities(model: TextModel, text: str) -> np.ndarray:
    return torch.from_numpy(model.predict(model.encode(text))).softmax(dim=0).numpy()


@pytest.mark.slow
def test_its_own_attention_imposed_gives_its_own_answer(model):
    with last_layer(model, model.encode(TEXT)) as (answer, attention), torch.no_grad():
        torch.testing.assert_close(attention.sum(dim=-1), torch.ones(attention.shape[:2]))
        several = answer(attention[None].expand(3, -1, -1, -1))
    assert several.shape[:2] == (3, 1)
    for row in several[:, 0]:
        np.testing.assert_allclose(row.numpy(), probabilities(model, TEXT), atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta", "electra", "gpt2-labels", "llama"])
def test_every_family_that_asks_for_a_kernel_can_be_imposed_on(family):
    """Also with causal masks, read at the last token, and with heads that share keys and values."""
    small = text_model(family)
    encoded = small.encode(text_for(family))
    expected = torch.from_numpy(small.predict(encoded)).softmax(dim=0)
    with last_layer(small, encoded) as (answer, attention), torch.no_grad():
        np.testing.assert_allclose(answer(attention[None])[0, 0].numpy(), expected.numpy(), atol=1e-5)
        flat = torch.full_like(attention, 1 / attention.shape[-1])
        assert float((answer(flat[None])[0, 0] - expected).abs().max()) > 1e-7


def test_an_architecture_with_attention_of_its_own_is_refused_with_a_reason():
    small = text_model("t5")
    with refused("unsupported", kind=CannotImpose), last_layer(small, small.encode(text_for("t5"))):
        pass
    with refused("unsupported", "model"):
        audit_texts(small, [TEXT])


def test_imposed_attention_is_what_the_model_computes_with(model):
    """All attention on one token equals a pass in which the kernel itself returns that row, all layers run."""
    encoded = model.encode(TEXT)
    read = np.flatnonzero(model.output_tokens(encoded))
    modules: list[object] = []

    def one_token(module, weights):
        modules.append(module)
        if len(modules) < model.model.config.num_hidden_layers:
            return weights
        changed = weights.clone()
        changed[:, :, read] = torch.nn.functional.one_hot(torch.tensor(3), weights.shape[-1]).to(weights)
        return changed

    with watch_losses(model, one_token), torch.no_grad():
        expected = model.outputs(model.batch(encoded)).softmax(dim=-1)[0]
    with last_layer(model, encoded) as (answer, attention), torch.no_grad():
        wanted = torch.zeros_like(attention)
        wanted[..., 3] = 1
        got = [answer(wanted[None])[0, 0] for _ in range(2)]  # the second time from memory
    for row in got:
        torch.testing.assert_close(row, expected, atol=1e-5, rtol=1e-5)
    assert float((expected - torch.from_numpy(probabilities(model, TEXT))).abs().max()) > 1e-6


def test_the_model_is_as_before(model):
    kernel = model.model.config._attn_implementation
    training = [part.training for part in model.model.modules()]
    with pytest.raises(RuntimeError, match="inside"), last_layer(model, model.encode(TEXT)):
        raise RuntimeError("inside")
    assert model.model.config._attn_implementation == kernel
    assert not any("forward" in vars(part) for part in model.model.modules())
    assert [part.training for part in model.model.modules()] == training


def test_gradients_do_not_flow_through_attention_weights(model):
    """Detached, the slope is that of a pass whose weights are constants: checked by finite differences of one token."""
    encoded = model.encode(TEXT)
    batch = model.batch(encoded)
    frozen: list[torch.Tensor] = []
    with watch_losses(model, lambda _, weights: frozen.append(weights.double()) or weights), torch.no_grad():
        model.outputs(batch)
    model.model.double()
    try:
        vectors = model.embed(batch.ids).detach()

        def worth(scale: float) -> float:
            moved, left = vectors.clone(), list(frozen)
            moved[0, 2] *= 1 + scale
            with watch_losses(model, lambda _, __: left.pop(0)), torch.no_grad():
                z = model.outputs(TokenBatch(embeddings=moved, attends=batch.attends))[0]
            said = int(model.predict(encoded).argmax())
            return float(z[said] - z[1 - said])

        slope = (worth(1e-4) - worth(-1e-4)) / 2e-4  # d/ds of f(e·(1 + s)) is Σ slope · e
        assert gradient_importance(model, encoded)[2] == pytest.approx(abs(slope), rel=1e-3)
    finally:
        model.model.float()


def test_removal_deletes_the_token(model):
    encoded = model.encode("A great film")
    lost = removal_importance(model, encoded)
    full, less = probabilities(model, "A great film"), probabilities(model, "A film")
    said = full.argmax()
    great = [t.lower() for t in encoded.tokens].index("great")
    assert lost[great] == pytest.approx(abs(full[said] - less[said]), abs=1e-5)
    assert (lost[encoded.special] == 0).all()


def test_scores_of_every_layer_and_rollout_are_distributions(model):
    scores = attention_scores(model, model.encode(TEXT))
    assert list(scores)[-1] == "rollout"
    assert len(scores) == model.model.config.num_hidden_layers + 1
    for values in scores.values():
        assert values.sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_a_report_names_what_was_not_run_and_what_was_left_out(model):
    report = audit_texts(model, [TEXT, "Great."], steps=4, permutations=4)
    assert [f.name for f in report][:2] == ["gradients", "gradients (rollout)"]
    assert "adversarial attention" in report
    assert set(report.not_run) == set(COUNTERCHECKS)
    assert report["gradients"].rows + sum("was left out" in note for note in report.notes) == 2


def test_hidden_tokens_are_not_imposed(model):
    """Where the mask hides tokens from the position that is read, nothing is imposed."""
    with pytest.raises(CannotImpose, match="hidden"):
        encoded = model.encode(TEXT)
        whole = model.batch(encoded)
        attends = whole.attends.clone()
        attends[0, 2] = 0
        model.batch = lambda _: TokenBatch(ids=whole.ids, attends=attends)  # type: ignore[method-assign]
        try:
            with last_layer(model, encoded):
                pass
        finally:
            del model.batch


@pytest.mark.parametrize(
    ("texts", "tests", "message"),
    [
        ([], ("gradients",), "at least one text"),
        ("One string.", ("gradients",), "give a list"),
        (["A film."], (), "at least one test"),
        (["   "], ("gradients",), "empty"),
        (["Fine"], ("gradients",), "one token"),
        ([TEXT], ("tea leaves",), "no test 'tea leaves'"),
    ],
)
def test_bad_input_is_refused(model, texts, tests, message):
    with pytest.raises(InvalidInput, match=message):
        audit_texts(model, texts, tests=tests)


def test_labels_that_are_told_apart_by_sigmoids_are_judged_by_the_highest_one():
    """A softmax over one label would be 1 whatever attention does, and every such classifier would be flagged."""
    small = text_model("bert")
    small.model.config.problem_type = "multi_label_classification"
    encoded = small.encode(text_for("bert"))
    logits = torch.from_numpy(small.predict(encoded))
    with last_layer(small, encoded) as (answer, attention), torch.no_grad():
        told = answer(attention[None])[0, 0]
    np.testing.assert_allclose(told.numpy(), [1 - logits.max().sigmoid(), logits.max().sigmoid()], atol=1e-5)


def test_a_regression_is_refused():
    small = text_model("bert")
    small.model.config.num_labels = 1
    with refused("unsupported", "model"):
        audit_texts(small, ["A film."])


def test_a_text_whose_words_are_all_the_same_has_no_leave_one_out(model):
    """Deleting any one of them leaves the same text, so that there is no order to agree with."""
    report = audit_texts(model, ["good good good"], tests=("leave-one-out",))
    assert "leave-one-out" in report.not_run and not report.found
