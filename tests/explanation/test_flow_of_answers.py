"""Attention flow of answers and of encoder–decoders, through `explain`."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("ortools")

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from accredit.attention import joint_flow
from accredit.errors import InvalidInput
from accredit.explanation import explain
from accredit.explanation.answers import answer_subject
from accredit.explanation.graph import graph_of
from accredit.models import TextModel
from accredit.views.terminal.answer_text import likelihood
from tests.explanation.test_flow_picture import checked
from tests.models.answering_models import TEXT as PROMPT
from tests.models.answering_models import answering
from tests.models.small_models import TEXT, byte_pairs, text_model
from tests.wording import says

ANNA = "Anna lives in Rome ."

SAID = "It is good"


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gpt2", "llama", "t5", "bart"])
def test_one_source_feeds_every_token_of_the_answer(family):
    model = answering(family)
    found = explain(PROMPT, model, answer=SAID, players="sentence", methods=["flow", "rollout", "attention"])
    subject = answer_subject(model, PROMPT, answer=SAID, players="sentence")
    graph, tokens = graph_of(subject), len(subject.answer_ids)
    flow = found["flow"]
    assert 0.9 * tokens < flow.total < tokens + 1e-9  # each emits 1, unless they stand in each other's way
    assert flow.credit.sum() == pytest.approx(flow.total, abs=1e-6)
    alone = joint_flow(graph.attention, outputs=graph.outputs, groups=graph.groups)
    assert flow.as_dict() == pytest.approx(alone.as_dict(), abs=1e-9)
    assert set(subject.players) < set(flow.players)
    assert sum("(answer)" in name for name in flow.players) == (tokens - 1 if model.encodes else 0)
    checked(found.flow)
    rolled = found["rollout"]
    assert rolled.credit.sum() == pytest.approx(1) and found["attention"].credit.sum() == pytest.approx(1)


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_what_was_said_so_far_plays_in_the_flow_too(family):
    found = explain(PROMPT, answering(family), answer="good", prefix="It is", players="word", methods="rollout")
    names = found["rollout"].players
    assert [name for name in found.players if name in names] == list(found.players)
    assert sum("(start)" in name for name in names) == 1 and not any("(prefix)" in name for name in names)
    assert found["rollout"].credit.sum() == pytest.approx(1)


def test_every_token_of_an_answer_has_a_flow_of_its_own():
    """They do not add up to the flow of the whole answer, where all tokens share the same edges."""
    model = answering("llama")
    found = explain(PROMPT, model, answer=SAID, players="sentence", methods="flow")
    subject = answer_subject(model, PROMPT, answer=SAID, players="sentence")
    graph, names = graph_of(subject), list(found.others)
    assert len(names) >= 2 and all(found.others[name]["flow"].total <= found["flow"].total for name in names)
    last = joint_flow(graph.attention, outputs=graph.outputs[-1], groups=graph.groups)
    assert found.of(names[-1])["flow"].as_dict() == pytest.approx(last.as_dict(), abs=1e-9)


@pytest.mark.slow
def test_flow_of_an_encoder_decoder_follows_cross_attention_and_prefix():
    model = text_model("t5")
    plain = explain(TEXT, model, methods=["flow", "rollout", "attention"])
    told = explain(TEXT, model, methods="flow", prefix="It never")
    assert [name for name in told["flow"].players if "(prefix)" in name] == [
        "<pad> (prefix)",
        "It (prefix)",
        "never (prefix)",
    ]
    with torch.no_grad():
        for block in model.model.decoder.block:
            block.layer[1].EncDecAttention.q.weight.mul_(-3)
    crossed = explain(TEXT, model, methods=["flow", "rollout", "attention"])
    for name in ("flow", "rollout", "attention"):
        assert np.abs(crossed[name].credit - plain[name].credit).max() > 1e-3
    assert "<pad> (prefix)" in plain.flow.columns and any("encoder's" in note.text for note in plain.flow.notes)
    checked(plain.flow)


@pytest.mark.parametrize("family", ["gpt2", "llama", "t5"])
def test_attention_that_is_uniform_is_said_to_show_the_mask_alone(family):
    model = text_model(family)
    with torch.no_grad():
        for name, value in model.model.named_parameters():
            if any(part in name for part in ("q_proj", "c_attn", ".q.", "relative_attention_bias")):
                value.zero_()
    found = explain(TEXT, model, methods=["flow", "rollout"])
    for name in ("flow", "rollout"):
        said = found[name].certificate
        assert said["uniform_distance"] < 1e-5
        assert_allclose(said["uniform"], found[name].credit, atol=1e-5)
        assert any(note.kind == "warning" and says(note.text, f"{name} is close") for note in found.notes)


@pytest.mark.slow
def test_the_baseline_of_a_long_text_says_how_far_it_may_be_off():
    """Uniform attention of a model, solved, against the baseline, which is carried over from shorter texts."""
    tokenizer = byte_pairs()
    shape = GPT2Config(vocab_size=len(tokenizer), n_positions=512, n_embd=16, n_layer=2, n_head=2)
    model = TextModel(GPT2LMHeadModel(shape), tokenizer)
    with torch.no_grad():
        for name, value in model.model.named_parameters():
            if "c_attn" in name:
                value.zero_()
    text = "the film is good. " * 200
    text = text[: next(k for k in range(len(text)) if len(tokenizer(text[:k])["input_ids"]) == 440)]
    found = explain(text, model, players="sentence", methods="flow")
    said = found["flow"].certificate
    assert 0 < said["uniform_error"] < 0.01
    assert said["uniform_distance"] <= said["uniform_error"]
    assert any(says(note.text, "from shorter texts") for note in found.notes)


@pytest.mark.slow
def test_attention_that_looks_somewhere_differs_from_the_mask():
    found = explain(context=["Anna lives in Rome .", "Boris owns a dog ."], query="Where does Anna live ?", methods="flow:norm")
    assert found["flow:norm"].certificate["uniform_distance"] > 0.3
    assert any(note.text.startswith("Compared with uniform") for note in found.notes)
    assert found.of("Rome")["flow:norm"].top(1).players == (ANNA,)


def test_attention_without_a_mask_has_no_baseline():
    found = explain(TEXT, text_model("bert"), methods=["flow", "rollout"])
    assert not any("uniform" in note.text for note in found.notes)
    assert "uniform" not in found["flow"].certificate


@pytest.mark.slow
def test_the_result_says_which_heads_and_layers_were_followed():
    found = explain(TEXT, text_model("gpt2"), methods=["flow", "rollout:norm"], heads=1, layers=-1)
    wanted = {"tensor": "af", "heads": "head 1", "layers": "-1"}
    assert wanted.items() <= found["flow"].provenance.items()
    assert found["rollout:norm"].provenance["tensor"] == "norm"
    assert found.flow.layers == 1
    other = explain(TEXT, text_model("gpt2"), methods="flow", heads="max")
    assert other["flow"].provenance["layers"] == "all 2"
    assert np.abs(other["flow"].credit - found["flow"].credit).max() > 1e-3


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"methods": "shapley", "heads": "max"}, "no requested method accepts"),
        ({"methods": "flow", "heads": "median"}, "heads is 'median'"),
        ({"methods": "flow", "layers": 7}, "layers 0 … 1"),
        ({"methods": "flow", "answer": SAID, "rather_than": "It is bad"}, "cannot compare"),
        ({"methods": "flow", "layers": [0, 1], "family": "t5"}, "need one of its layers"),
    ],
)
def test_what_is_refused_says_what_works(settings, said):
    family = settings.pop("family", "gpt2")
    model = answering(family) if "answer" in settings else text_model(family)
    with pytest.raises(InvalidInput, match=said):
        explain(PROMPT if "answer" in settings else TEXT, model, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("methods", ["flow:norm,shapley", "shapley,flow:norm", "flow:norm"])
def test_what_the_answer_is_worth_is_not_taken_from_a_flow(methods):
    """A flow shares what flows, not the log-probability: it stood first, and the answer had a probability of 3312%."""
    found = explain(context=["Anna lives in Rome ."], query="Where does Anna live ?", methods=methods)
    with_all, without = (likelihood(float(x.sum())) for x in (found.said.likely, found.said.base))
    assert f"log-probability {with_all} with" in str(found) and f"{without} with that" in str(found)


@pytest.mark.slow
def test_gradients_that_reach_nothing_are_said_to():
    found = explain(context=["Anna lives in Rome ."], query="Where does Anna live ?", methods=["flow:agf", "attention"])
    assert found["flow:agf"].total == 0 and any("nothing flows" in note.text for note in found.notes)
