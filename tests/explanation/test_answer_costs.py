"""What an answer costs by default, what is refused before it runs for minutes, and passages that need a word."""

from __future__ import annotations

import time

import pytest

from accredit import InvalidInput, defaults, explain
from accredit.core import NoteKind
from accredit.explanation import forecast, gradients
from accredit.explanation.assemble import AT_CHANCE
from tests.models.answering_models import answering
from tests.wording import refused
from tools import answer_truth

FACTS_OF_TWO = ["Anna lives in Rome .", "Boris owns a dog ."]
FACTS = [f"Person {i} lives in town {i}." for i in range(8)]


def slow(prompts, answer):
    """A hosted model that takes five milliseconds for each prompt."""
    time.sleep(0.005 * len(prompts))
    return [-0.1 - 3.0 * ("town 3" not in prompt) - 0.2 * ("town 5" in prompt) for prompt in prompts]


@pytest.mark.slow
def test_a_slow_model_is_asked_as_often_as_there_is_time_for(monkeypatch):
    monkeypatch.setattr(defaults, "ANSWER_SECONDS", 0.5)  # all 256 coalitions would take 1.3 s
    asked = {"context": FACTS, "query": "Where is person 3?", "answer": "In town 3.", "methods": "shapley"}
    found = explain(None, slow, **asked)
    assert found.provenance["budget"] == found["shapley"].payoffs == defaults.LEAST_PASSES
    assert any("64 payoffs" in note.text for note in found.notes)
    assert found.top(1).players == (FACTS[3],)
    monkeypatch.setattr(defaults, "ANSWER_SECONDS", 60.0)
    assert explain(None, slow, **asked)["shapley"].payoffs == 256


@pytest.mark.slow
def test_integrated_gradients_refuse_what_would_take_too_long_and_run_when_told_how_long(monkeypatch):
    model = answering("llama")
    asked = {"answer": "It is", "players": "words", "methods": "ig", "tolerance": 10.0}
    monkeypatch.setattr(gradients, "METHOD_SECONDS", 0.0)
    with pytest.raises(InvalidInput, match="most_steps=32"):
        explain("A good film.", model, **asked)
    told = explain("A good film.", model, **asked, most_steps=32)["integrated-gradients"]
    monkeypatch.setattr(gradients, "METHOD_SECONDS", 600.0)
    assert explain("A good film.", model, **asked)["integrated-gradients"].credit == pytest.approx(told.credit)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "fewer"),
    [
        ("sequential-integrated-gradients", "most_steps="),
        ("discretised-integrated-gradients", "points="),
        ("gradient-shap", "samples="),
        ("smoothgrad", "samples="),
    ],
)
def test_what_takes_many_passes_there_and_back_is_refused_with_its_cost(monkeypatch, method, fewer):
    asked = {"answer": "It is", "players": "words", "methods": method}
    monkeypatch.setattr(gradients, "METHOD_SECONDS", 0.0)
    with pytest.raises(InvalidInput, match=f"s of CPU time here, and 0 s are allowed; say how many .{fewer}"):
        explain("A good film.", answering("llama"), **asked)


def test_one_pass_is_made_for_the_whole_answer_where_there_is_no_time_for_every_token(monkeypatch):
    asked = {"answer": "It is good .", "players": "words", "methods": "saliency"}
    every = explain("A good film.", answering("llama"), **asked)
    monkeypatch.setattr(gradients, "METHOD_SECONDS", 0.0)
    monkeypatch.setattr(gradients, "UNTIMED", 0)
    told = []
    monkeypatch.setattr(forecast, "LONG", 0.0)
    whole = explain("A good film.", answering("llama"), **asked, announce=told.append)
    assert every.others and not whole.others
    assert whole["saliency"].credit == pytest.approx(every["saliency"].credit)
    assert any("1 passes there and back" in line for line in told)


def test_a_way_back_that_does_not_fit_into_memory_is_refused_before_it_is_begun(monkeypatch):
    monkeypatch.setattr(gradients, "BACKWARD_BYTES", 1 << 10)
    with refused("too-many", "methods", has="GiB of memory"):
        explain("A good film.", answering("llama"), answer="It is", methods="attn-lrp")


def test_what_has_no_shorter_form_is_announced_and_refused_where_it_is_too_long(monkeypatch):
    from accredit.explanation import attention

    asked = {"answer": "It is", "methods": "flow,value-zeroing"}
    monkeypatch.setattr(attention, "ANNOUNCED", 0)
    monkeypatch.setattr(forecast, "LONG", 0.0)
    told = []
    assert explain("A good film.", answering("llama"), **asked, announce=told.append).attributions
    assert [line.partition(" of ")[0][:12] for line in told if "CPU" in line] == ["flow through", "value zeroin"]
    monkeypatch.setattr(attention, "LONGEST_SECONDS", 0.0)
    asked["methods"] += ",loo"
    found = explain("A good film.", answering("llama"), **asked).refused
    assert "look at some layers" in found["flow"] and "shorten the prompt" in found["value-zeroing"]


def test_passages_that_are_the_same_are_said():
    twice = ["Anna lives in Rome .", "Boris owns a dog .", "Anna lives in Rome ."]
    found = explain(context=twice, query="Where does Anna live ?", methods="loo")
    assert any("Passages 1 and 3 are the same" in note.text for note in found.notes)
    assert not any("are the same" in note.text for note in explain(context=twice[:2], query="Where does Anna live ?").notes)


@pytest.mark.parametrize("context", [[], [""], ["Anna lives in Rome .", "  "], "Anna lives in Rome ."])
def test_no_passage_or_an_empty_one_is_refused(context):
    with pytest.raises(InvalidInput) as refused:
        explain(context=context, query="Where does Anna live ?")
    assert refused.value.argument == "context" and refused.value.code in ("empty", "type")


def test_an_answer_that_holds_a_special_token_is_refused():
    model = answering("llama")
    special = model.tokenizer.eos_token
    with pytest.raises(InvalidInput) as refused:
        explain("A good film. It is good.", model, answer=f"It is {special}")
    assert (refused.value.argument, refused.value.code) == ("answer", "unsupported")


def test_methods_at_chance_say_so_on_answers_and_only_there():
    found = explain(context=FACTS_OF_TWO, query="Where does Anna live ?", methods=["loo", "rollout"])
    assert [note.kind for note in found.notes].count(NoteKind.WARNING) >= 1
    assert any(note.text.startswith("rollout found") for note in found.notes)
    without = explain(context=FACTS_OF_TWO, query="Where does Anna live ?", methods="loo")
    for other in (without, explain("Good.", methods="rollout")):
        assert not any("than chance" in note.text for note in other.notes)


def test_those_methods_were_measured_to_be_at_chance():
    """By the kept lines: none of them finds the passage in half of the prompts, every other method in most."""
    lines = answer_truth.merged(answer_truth.read(answer_truth.LINES))
    for method in (*answer_truth.READS, "leave-one-out"):
        hits = sum(answer_truth.is_hit(line, method) for line in lines)
        assert (2 * hits < len(lines)) == (method in AT_CHANCE)
