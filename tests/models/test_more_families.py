"""Families beyond the nine: what the user's own call says is what is explained, and what cannot be had is refused in a line."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from accredit.errors import InvalidInput
from accredit.explanation import explain
from accredit.games import text_game
from accredit.models import TextModel
from accredit.models.labels import label_index
from tests.models.more_models import (
    IMAGE_FAMILIES,
    LABELS,
    TEXT,
    TEXT_FAMILIES,
    other_image_model,
    other_model,
)
from tests.models.small_models import byte_pairs, text_model, wordpiece
from tests.wording import refused

pytestmark = pytest.mark.slow

ATTENTIVE = [name for name in TEXT_FAMILIES if name not in ("XLNet", "FNet")]
WITH_GRADIENTS = [name for name in TEXT_FAMILIES if name not in ("Bart", "T5")]


def said(model: TextModel, text: str) -> np.ndarray:
    """The logits of the user's own call."""
    given = model.tokenizer(text, return_tensors="pt")
    if model.task == "translate":
        given["decoder_input_ids"] = torch.tensor([[model.model.config.decoder_start_token_id]])
    with torch.no_grad():
        logits = model.model(**given).logits[0]
    return (logits if model.task == "classify" else logits[-1]).numpy()


@pytest.mark.parametrize("family", TEXT_FAMILIES)
def test_the_prediction_is_that_of_the_users_own_call(family):
    model = other_model(family)
    with model.hold():  # a classifier that decodes asks for a pad token
        expected = said(model, TEXT)
    assert_allclose(model.predict(model.encode(TEXT)), expected, atol=1e-5)


MASKED = [(name, "mask") for name, row in TEXT_FAMILIES.items() if row[2] in ("wordpiece", "framed")]


@pytest.mark.parametrize(("family", "removal"), [*MASKED, *((name, "delete") for name in TEXT_FAMILIES)])
def test_a_coalition_earns_what_its_text_earns_alone(family, removal):
    """Also where padding would tell: convolutions (ConvBERT, MobileBERT) and mixing without a mask (FNet)."""
    model = other_model(family)
    game = text_game(model, TEXT, players="word", removal=removal, target=1, payoff="logit")
    coalitions = np.random.default_rng(0).random((20, len(game.players))) < np.linspace(0.1, 1.2, 20)[:, None]
    alone = [game.payoff(row[None])[0] for row in coalitions]
    assert_allclose(game.payoff(coalitions), alone, atol=1e-5)


def test_a_text_that_shrinks_is_read_without_padding_where_padding_matters():
    model = other_model("ConvBert")
    game = text_game(model, TEXT, players="word", removal="delete", target=1, payoff="logit")
    coalition = np.arange(len(game.players)) < 3
    ids = model.batch(model.encode(TEXT)).ids[0, torch.from_numpy(game.partition.kept(coalition[None])[0])]
    with torch.no_grad():
        expected = model.model(input_ids=ids[None]).logits[0, 1].item()
    both = np.stack([np.ones_like(coalition), coalition])
    assert_allclose(game.payoff(both)[1], expected, atol=1e-6)


@pytest.mark.parametrize("family", TEXT_FAMILIES)
def test_values_add_up_and_what_does_not_apply_says_why(family):
    methods = ["shapley", "leave-one-out", "saliency", "attention", "flow", "flow:agf"]
    found = explain(TEXT, other_model(family), methods=methods, players="sentence")
    assert abs(found["shapley"].unshared) < 1e-6
    assert ("saliency" in found.attributions) == (family in WITH_GRADIENTS)
    for method in ("attention", "flow", "flow:agf"):
        assert (method in found.attributions) == (family in ATTENTIVE), found.refused
    assert all("\n" not in why for why in found.refused.values())


@pytest.mark.parametrize("family", ["Bart", "T5"])
def test_a_model_that_reads_no_embeddings_refuses_what_needs_them(family):
    with pytest.raises(InvalidInput, match=r"word embeddings.*NotImplementedError"):
        explain(TEXT, other_model(family), methods="integrated-gradients")
    with refused("failed", has="removals 'pad' and"):
        explain(TEXT, other_model(family), methods="leave-one-out", removal="zero")


def test_removal_by_attention_needs_a_model_that_reads_a_mask():
    with pytest.raises(InvalidInput, match="has none"):
        text_game(other_model("FNet"), TEXT, removal="attention", players="token", payoff="logit")


@pytest.mark.parametrize("family", [name for name, row in TEXT_FAMILIES.items() if row[3] == ("sdpa", "eager")])
def test_attention_is_the_same_from_both_kernels(family):
    """Falcon cannot be switched through transformers, and gave weights of a forward pass without a causal mask."""
    fast, plain = other_model(family, "sdpa"), other_model(family, "eager")
    encoded = fast.encode(TEXT)
    weights = fast.attentions(encoded)
    assert_allclose(weights, plain.attentions(encoded), atol=1e-5)
    assert fast.model.config._attn_implementation == "sdpa"
    if fast.task == "continue":
        assert_array_equal(np.triu(weights, 1), 0)


def test_weights_of_a_pass_that_says_something_else_are_refused():
    model = text_model("bert")
    forward = model.model.forward

    def moody(*args, output_attentions=False, **given):
        output = forward(*args, output_attentions=output_attentions, **given)
        output.logits = output.logits + (1.0 if output_attentions else 0.0)
        return output

    model.model.forward = moody
    with refused("unsupported"):
        model.attentions(model.encode(TEXT))


def test_token_types_go_where_the_tokenizer_gives_them_and_the_model_reads_them():
    """GPT-2 adds the embedding of the type to every token, so leaving the types out explains another model."""
    model = text_model("gpt2-labels")
    without = model.predict(model.encode(TEXT))
    model.tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    assert_allclose(model.predict(model.encode(TEXT)), said(model, TEXT), atol=1e-5)
    assert np.abs(model.predict(model.encode(TEXT)) - without).max() > 1e-3


def test_types_that_the_model_does_not_know_are_refused():
    tokenizer = wordpiece()
    tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    model = TextModel(other_model("Albert", type_vocab_size=1).model, tokenizer)
    with refused("conflict", "tokenizer"):
        model.encode((TEXT, TEXT))


def test_several_regressions_are_no_probabilities():
    model = other_model("Albert", problem_type="regression")
    found = explain(TEXT, model, methods="leave-one-out")
    assert (found.unit, found.payoff) == ("value", "logit")
    assert_allclose([x for _, x in found.prediction], model.predict(model.encode(TEXT)))


def test_a_label_without_a_name_has_its_number_and_a_shared_name_needs_one():
    model = other_model("Albert", id2label={0: "NO", 1: " ", 2: "NO"})
    assert model.labels == ("NO", "1", "NO")
    assert label_index("1", model.labels) == 1
    with refused("duplicate", "target"):
        explain(TEXT, model, target="NO")


def test_tokens_that_were_added_to_the_tokenizer_and_not_to_the_model_stand_for_nothing():
    model = other_model("Qwen2")
    expected = explain(TEXT, model, methods="shapley,integrated-gradients", players="sentence")
    model.tokenizer.add_special_tokens({"pad_token": "[PAD]", "mask_token": "[MASK]"})
    found = explain(TEXT, model, methods="shapley,integrated-gradients", players="sentence")
    for method, result in found:
        assert_allclose(result.credit, expected[method].credit, atol=1e-6)
    with refused("unsupported", "removal"):
        text_game(model, TEXT, removal="mask", players="token", payoff="logit")


# Pictures


def picture() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (20, 26, 3), dtype=np.uint8)


@pytest.mark.parametrize("family", IMAGE_FAMILIES)
def test_pictures_of_every_family_are_explained(family):
    found = explain(picture(), other_image_model(family), methods="shapley,saliency,attention,flow:agf", budget=64)
    assert abs(found["shapley"].unshared) < 1e-6
    assert ("attention" in found.attributions) == (family not in ("Swin", "ConvNext")), found.refused
    assert ("flow:agf" in found.attributions) == ("attention" in found.attributions)


def test_tokens_that_are_no_patches_have_names():
    extra = {
        family: explain(picture(), other_image_model(family), methods="attention")["attention"].players[9:]
        for family in ("DeiT", "Dinov2WithRegisters", "CLIP", "Siglip")
    }
    assert extra == {
        "DeiT": ("[CLS]", "[DIST]"),
        "Dinov2WithRegisters": ("[CLS]", "[REG1]", "[REG2]", "[REG3]"),
        "CLIP": ("[CLS]",),
        "Siglip": (),
    }


def test_a_picture_may_have_a_number_for_an_answer():
    found = explain(picture(), other_image_model("Beit", id2label={0: "age"}, label2id={"age": 0}), methods="leave-one-out")
    assert (found.unit, found.payoff, found.target) == ("value", "logit", "age")


def test_a_model_that_fails_is_named():
    model = other_image_model("DeiT")
    with refused("failed", has="(1, 3, 5, 5)"):
        explain(np.zeros((3, 5, 5), dtype=np.float32), model)
    broken = text_model("bert")
    broken.model.forward = lambda **given: 1 / 0
    with refused("failed"):
        broken.predict(broken.encode(TEXT))


def test_emoji_that_are_joined_are_one_word():
    words = TextModel(text_model("gpt2").model, byte_pairs()).encode("good 👩‍👩‍👧‍👦! ✌️ film").partition("word").players
    assert words == ("good", "👩‍👩‍👧‍👦!", "✌️", "film")


def test_labels_are_those_of_the_configuration():
    assert other_model("Albert").labels == tuple(LABELS["id2label"].values())
