"""Text models of nine families: tokens, outputs, attention under both kernels, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from accredit.errors import BadPayoff, InvalidInput
from accredit.models import as_text_model
from tests.models.small_models import FAMILIES, TEXT, byte_pairs, text_for, text_model, wordpiece
from tests.wording import refused

FIRST_SENTENCE = "A gripping, beautifully shot film."


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_encoding_covers_the_text_and_spares_special_tokens(family):
    model = text_model(family)
    encoded = model.encode(text_for(family))
    length = len(encoded)
    assert len(encoded.tokens) == length and encoded.spans.shape == (length, 2)
    covered = set()
    for a, b in encoded.spans[~encoded.special].tolist():
        covered |= set(range(a, b))
    visible = {i for i, c in enumerate(encoded.text) if not c.isspace()}
    if family == "bert-lm":
        visible -= set(range(encoded.text.index("["), encoded.text.index("]") + 1))
    assert visible <= covered
    assert_array_equal(encoded.words < 0, encoded.special)
    assert_array_equal(encoded.sentences < 0, encoded.special)
    assert np.all(np.diff(encoded.words[~encoded.special]) >= 0)


def test_words_are_the_same_for_every_tokenizer():
    expected = ("A", "gripping", ",", "beautifully", "shot", "film", ".", "It", "never", "lands", "!")
    for family in ("bert", "roberta", "gpt2", "llama", "t5"):
        assert text_model(family).encode(TEXT).partition("word").players == expected, family


def test_sentences_are_players():
    players = text_model("bert").encode(TEXT).partition("sentence").players
    assert players == (FIRST_SENTENCE, "It never lands!")


def test_unknown_words_play_but_special_tokens_do_not():
    encoded = text_model("bert").encode("zorro is good")
    assert encoded.tokens == ("[CLS]", "zorro", "is", "good", "[SEP]")
    assert encoded.partition("token").players == ("zorro", "is", "good")


def test_a_character_split_into_bytes_gives_distinct_players():
    encoded = text_model("gpt2").encode("good 🎬")
    players = encoded.partition("token").players
    assert len(set(players)) == len(players) and sum("🎬" in p for p in players) >= 2
    assert encoded.partition("word").players == ("good", "🎬")


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_attention_is_a_distribution_whatever_the_kernel(family, kernel):
    model = text_model(family, kernel)
    encoded = model.encode(text_for(family))
    weights = model.attentions(encoded)
    heads = 4 if family == "llama" else 2
    assert weights.shape == (2, heads, len(encoded), len(encoded)) and weights.dtype == np.float64
    assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert model.model.config._attn_implementation == kernel
    if family in ("gpt2", "gpt2-labels", "llama"):
        assert_array_equal(np.triu(weights, 1), 0)


@pytest.mark.slow
def test_kernels_agree_on_outputs_attentions_and_their_gradients(family):
    one, two = text_model(family, "sdpa"), text_model(family, "eager")
    encoded = one.encode(text_for(family))
    assert_allclose(one.predict(encoded), two.predict(encoded), atol=1e-5)
    assert_allclose(one.attentions(encoded), two.attentions(encoded), atol=1e-6)
    for a, b in zip(one.attention_gradients(encoded), two.attention_gradients(encoded), strict=True):
        assert_allclose(a, b, atol=1e-5)


def test_cross_and_decoder_attention_of_an_encoder_decoder():
    model = text_model("t5")
    encoded = model.encode(TEXT, prefix="It never")
    prefix, source = len(encoded.prefix), len(encoded)
    assert encoded.prefix[0] == 0 and prefix >= 3
    assert model.attentions(encoded, "cross").shape == (2, 2, prefix, source)
    assert model.attentions(encoded, "decoder").shape == (2, 2, prefix, prefix)
    assert_allclose(model.attentions(encoded, "cross").sum(axis=-1), 1, atol=1e-5)
    with pytest.raises(InvalidInput, match="encoder, decoder, cross"):
        model.attentions(encoded, "self")


def test_attention_gradients_are_slopes():
    """Nudge one attention weight inside the model and watch the logit."""
    from transformers import AttentionInterface
    from transformers.models.bert.modeling_bert import eager_attention_forward

    model = text_model("bert", dtype=torch.float64)
    encoded = model.encode("the film is good")
    _, slopes = model.attention_gradients(encoded, target=1, payoff="logit")
    layer, head, i, j, step = 0, 1, 2, 3, 1e-5
    calls = 0

    def nudged(module, query, key, value, mask, **options):
        nonlocal calls
        output, weights = eager_attention_forward(module, query, key, value, mask, **options)
        if calls % 2 == layer:  # output[b, i, h] += step · value[b, h, j]
            output = output.clone()
            output[:, i, head] += sign * step * value[:, head, j]
        calls += 1
        return output, weights

    AttentionInterface.register("nudged", nudged)
    model.model.set_attn_implementation("nudged")
    sign = 1
    above = model.predict(encoded)[1]
    sign = -1
    below = model.predict(encoded)[1]
    assert_allclose((above - below) / (2 * step), slopes[layer, head, i, j], rtol=1e-4)


def test_output_tokens_are_the_ones_the_head_reads():
    first, last = text_model("bert"), text_model("gpt2-labels")
    encoded = first.encode(TEXT)
    assert np.flatnonzero(first.output_tokens(encoded)).tolist() == [0]
    encoded = last.encode(TEXT)
    assert np.flatnonzero(last.output_tokens(encoded)).tolist() == [len(encoded) - 1]
    masked = text_model("bert-lm")
    encoded = masked.encode(text_for("bert-lm"))
    assert np.flatnonzero(masked.output_tokens(encoded)).tolist() == [encoded.read]
    assert text_model("t5").output_tokens(text_model("t5").encode(TEXT)).all()


def test_a_model_in_train_mode_gives_the_answer_of_evaluation_mode_and_stays_in_train_mode():
    model = text_model("bert")
    encoded = model.encode(TEXT)
    still = model.predict(encoded)
    model.model.train()
    model.model.bert.pooler.eval()
    for answer in (model.predict(encoded), model.predict(encoded)):
        assert_array_equal(answer, still)
    model.attentions(encoded)
    assert model.model.training and not model.model.bert.pooler.training
    assert all(p.requires_grad for p in model.model.parameters())


def test_targets_by_name_index_and_prediction():
    model = text_model("bert")
    encoded = model.encode(TEXT)
    assert model.labels == ("NEGATIVE", "NEUTRAL", "POSITIVE")
    assert model.target("POSITIVE", encoded) == model.target("positive", encoded) == model.target(2, encoded) == 2
    assert model.target("1", encoded) == 1
    assert model.target(None, encoded) == int(model.predict(encoded).argmax())
    for bad in ("GREAT", 3, -1, True, 1.5):
        with pytest.raises(InvalidInput, match="target"):
            model.target(bad, encoded)


def test_targets_of_language_models_are_single_tokens():
    model = text_model("gpt2")
    encoded = model.encode("A film")
    index = model.target(" film", encoded)
    assert model.label(index) == " film"
    with pytest.raises(InvalidInput, match="tokens"):
        model.target(" unheard", encoded)


@pytest.mark.parametrize("text", ["", "  \n\t", None, 3, "\ud800 film"])
def test_refuses_what_is_no_text(text):
    with pytest.raises(InvalidInput, match="text"):
        text_model("bert").encode(text)


def test_long_texts_are_refused_or_cut_and_the_cut_is_told(family):
    model = text_model(family)
    if family == "t5":
        model.tokenizer.model_max_length = 48
    text = text_for(family) + " not good" * 60
    most = {"roberta": 46}.get(family, 48)  # RoBERTa starts counting positions at padding_idx + 1
    assert model.longest() == most
    with pytest.raises(InvalidInput, match=f"reads {most}"):
        model.encode(text)
    encoded = model.encode(text, cut=True)
    assert len(encoded) == most and encoded.cut and text.endswith(encoded.cut)
    assert np.isfinite(model.predict(encoded)).all()
    if family != "bert-lm":
        model.tokenizer.truncation_side = "left"
        assert text.startswith(model.encode(text, cut=True).cut) and model.encode(text, cut=True).cut


def test_nan_outputs_are_refused():
    model = text_model("bert")
    with torch.no_grad():
        model.model.classifier.weight[0, 0] = float("nan")
    with pytest.raises(BadPayoff, match="nan"):
        model.predict(model.encode(TEXT))


def test_masked_models_need_exactly_one_mask():
    model = text_model("bert-lm")
    for text in ("the film is good", "[MASK] is [MASK]"):
        with pytest.raises(InvalidInput, match="masks"):
            model.encode(text)


def test_a_foreign_tokenizer_is_refused():
    model = as_text_model(text_model("bert").model, byte_pairs())
    with pytest.raises(InvalidInput, match="its own tokenizer"):
        model.encode(TEXT)


def test_as_text_model_says_what_is_missing():
    model = text_model("bert")
    assert as_text_model(model) is model
    with pytest.raises(InvalidInput, match="tokenizer"):
        as_text_model(model.model)
    with pytest.raises(InvalidInput, match="transformers"):
        as_text_model(torch.nn.Linear(2, 2), wordpiece())
    with refused("unsupported", "model"):
        as_text_model(model.model.bert, wordpiece())


def test_transformers_pipelines_are_text_models():
    from transformers import TextClassificationPipeline

    model = text_model("bert")
    same = as_text_model(TextClassificationPipeline(model=model.model, tokenizer=model.tokenizer))
    assert_array_equal(same.predict(same.encode(TEXT)), model.predict(model.encode(TEXT)))


def test_a_model_that_hides_its_attentions_is_refused():
    model = text_model("bert")
    encoded = model.encode(TEXT)
    forward = model.model.forward

    def deaf(*args, output_attentions=None, **options):
        return forward(*args, **options)

    model.model.forward = deaf
    with pytest.raises(InvalidInput, match="no attentions"):
        model.attentions(encoded)
    assert model.model.config._attn_implementation == "sdpa"


def test_byte_pairs_have_no_special_tokens():
    assert not text_model("gpt2").encode(TEXT).special.any()
    assert byte_pairs().bos_token_id is not None
