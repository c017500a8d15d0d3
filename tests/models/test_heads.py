"""Other questions than the label of a text: a token's label, a span, a similarity, a head of one's own, a compiled model."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose

from accredit import Explainer
from accredit.errors import InvalidInput
from accredit.explanation import explain
from accredit.explanation.text_files import run_name
from accredit.games import text_game
from accredit.gradients import attn_lrp, input_x_gradient, integrated_gradients
from accredit.models import (
    as_text_model,
    load_text_model,
    read_model,
    similarity_model,
    span_model,
    token_label_model,
)
from accredit.store import fingerprint
from accredit.values import leave_one_out
from tests.models.small_models import SIZES, _made, text_model, wordpiece
from tests.wording import reads, refused

TEXT = "the film is good"
METHODS = "leave-one-out,integrated-gradients,attn-lrp,rollout"


def bert(kind, **settings):
    config = transformers.BertConfig(**SIZES, vocab_size=len(wordpiece()), **settings)
    return _made(getattr(transformers, kind), config, "sdpa", torch.float64)


def plain(model, *texts):
    return model(**wordpiece()(*texts, return_tensors="pt"))


def test_the_label_of_one_token():
    tagger = bert("BertForTokenClassification", num_labels=4)
    model = token_label_model(tagger, wordpiece(), at=2)
    assert_allclose(model.predict(model.encode(TEXT)), plain(tagger, TEXT).logits[0, 2].detach())
    found = explain(TEXT, model, methods=METHODS)
    assert found.target == "LABEL_2" and not found.refused
    assert abs(found["integrated-gradients"].unshared) < 1e-2
    vectors = tagger.bert.embeddings.word_embeddings(torch.from_numpy(model.encode(TEXT).ids))[None].detach()
    vectors.requires_grad_(True)
    (slope,) = torch.autograd.grad(tagger(inputs_embeds=vectors).logits[0, 2, 1], vectors)
    assert_allclose(
        input_x_gradient(model, TEXT, target=1, payoff="logit").credit, (vectors * slope).sum(dim=-1)[0, 1:-1].detach()
    )


def test_one_span_of_an_answer():
    reader = bert("BertForQuestionAnswering")
    model = span_model(reader, wordpiece(), start=4, end=5)
    said = plain(reader, "the film", "it is good")
    assert_allclose(
        model.predict(model.encode(("the film", "it is good"))),
        said.start_logits[0, 4].item() + said.end_logits[0, 5].item(),
    )
    found = explain(("the film", "it is good"), model, methods=METHODS)
    assert found.target == "span 4–5" and not found.refused
    with refused("range", "start"):
        span_model(reader, wordpiece(), start=5, end=4)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
def test_similarity_to_another_text(pooling):
    embedder = bert("BertModel")
    model = similarity_model(embedder, wordpiece(), "a bad film", pooling)

    def vector(text):
        hidden = plain(embedder, text).last_hidden_state[0]
        return hidden.mean(dim=0) if pooling == "mean" else hidden[0 if pooling == "first" else -1]

    cosine = torch.cosine_similarity(vector(TEXT), vector("a bad film"), dim=0).item()
    assert_allclose(model.predict(model.encode(TEXT)), cosine)
    assert_allclose(model.predict(model.encode("a bad film")), 1)
    without = torch.cosine_similarity(vector("film is good"), vector("a bad film"), dim=0).item()
    lost = leave_one_out(text_game(model, TEXT, removal="delete", players="token", payoff="logit"))
    assert_allclose(lost["the"], cosine - without, atol=1e-9)
    assert abs(integrated_gradients(model, TEXT, payoff="logit").unshared) < 1e-3
    assert np.abs(attn_lrp(model, TEXT, payoff="logit").credit).max() > 0
    assert reads(explain(TEXT, model, methods=METHODS).target)


def test_a_head_of_ones_own():
    embedder = bert("BertModel")
    model = read_model(embedder, wordpiece(), lambda output: output.pooler_output[:, :2], ["calm", "loud"], law="softmax")
    assert_allclose(model.predict(model.encode(TEXT)), plain(embedder, TEXT).pooler_output[0, :2].detach())
    found = explain(TEXT, model, methods=METHODS, target="loud")
    assert found.payoff == "log-odds" and not found.refused
    with pytest.raises(InvalidInput, match="names must differ"):
        read_model(embedder, wordpiece(), lambda output: output, ["a", "a"])


def test_what_is_read_at_a_fixed_token_is_not_asked_of_a_text_that_moved():
    model = token_label_model(bert("BertForTokenClassification", num_labels=4), wordpiece(), at=2)
    with refused("unsupported", "removal"):
        text_game(model, TEXT, removal="delete", players="token", payoff="logit")
    with refused("range"):
        explain(TEXT, token_label_model(model.model, wordpiece(), at=9))


def test_two_questions_to_one_model_have_two_names():
    embedder = bert("BertModel")
    one, two = (similarity_model(embedder, wordpiece(), to) for to in ("a bad film", "a good film"))
    games = [text_game(model, TEXT, players="token", payoff="logit") for model in (one, two)]
    names = [fingerprint(**game.fingerprint_parts()).digest for game in games]
    assert names[0] != names[1] and run_name(Explainer(one)) != run_name(Explainer(two))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("BertForTokenClassification", r"labels tokens; name one: accredit.models.token_label_model\(model, tokenizer, at=…\)"),
        ("BertForQuestionAnswering", "finds a span; name one: accredit.models.span_model"),
        ("BertForMultipleChoice", "compares choices"),
        ("BertModel", "accredit.models.similarity_model"),
        ("BertForNextSentencePrediction", "accredit.models.read_model"),
    ],
)
def test_other_classes_are_refused_with_the_call_that_works(kind, said):
    with refused("unsupported", "model"):
        as_text_model(bert(kind), wordpiece())


def test_a_folder_with_another_head_says_which_call_works(tmp_path):
    bert("BertForTokenClassification", num_labels=4).save_pretrained(tmp_path)
    wordpiece().save_pretrained(tmp_path)
    with refused("unsupported"):
        load_text_model(tmp_path)


def test_heads_are_for_their_own_classes():
    with refused("type", "model"):
        token_label_model(bert("BertModel"), wordpiece(), at=1)
    with refused("unsupported"):
        similarity_model(text_model("bert").model, wordpiece(), "a film")


@pytest.mark.slow
def test_a_compiled_model_is_explained_as_what_it_was_compiled_from():
    model = text_model("bert")
    plainly = explain(TEXT, model, methods=METHODS)
    wrapped = explain(TEXT, torch.compile(model.model, backend="eager"), model.tokenizer, methods=METHODS)
    model.model.compile(backend="eager")
    compiled = model.model._compiled_call_impl
    in_place = explain(TEXT, model.model, model.tokenizer, methods=METHODS)
    for name in plainly.methods:
        assert_allclose(wrapped[name].credit, plainly[name].credit, atol=1e-6)
        assert_allclose(in_place[name].credit, plainly[name].credit, atol=1e-6)
    assert model.model._compiled_call_impl is compiled is not None
