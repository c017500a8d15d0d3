"""What would be wrong without a word: input that a template, a tokenizer, a setting or a container quietly changes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("transformers")

from accredit.errors import InvalidInput
from accredit.explanation import explain
from accredit.explanation.answers import answer_subject
from tests.models.answering_models import CHAT, TEXT, answering
from tests.wording import refused, says

WITH_MARK = "It is </s> good. It is bad."
WITHOUT_MARK = "It is good. It is bad."

TURNS = [
    {"role": "user", "content": "Is it a film?"},
    {"role": "assistant", "content": "It is."},
    {"role": "user", "content": "Is it good?"},
]
HOSTED = {"context": ["Anna lives in Rome.", "It rains."], "query": "Where?", "answer": "Rome"}


def chatting(template):
    model = answering("gpt2", chat=True)
    model.tokenizer.chat_template = template
    return model


def notes_of(model, prompt, **settings):
    return " ".join(answer_subject(model, prompt, answer="It", **settings).facts["notes"])


def test_a_message_that_the_template_does_not_write_is_named():
    only_last = chatting(CHAT.replace("messages %}", "messages[-1:] %}"))
    assert says(notes_of(only_last, TURNS), "out or rewrites")
    loud = chatting(CHAT.replace("| trim", "| trim | upper"))
    assert says(notes_of(loud, TURNS), "rewrites the assistant's")
    assert "leaves out" not in notes_of(answering("gpt2", chat=True), TURNS)


def test_a_template_that_refuses_the_whole_chat_does_not_send_the_reader_to_attention():
    strict = chatting("{{ raise_exception('no system role') }}")
    with refused("unsupported"):
        answer_subject(strict, TURNS, answer="It")
    long = "{% if messages | length < 3 %}{{ raise_exception('too short') }}{% endif %}" + CHAT
    with refused("unsupported"):
        answer_subject(chatting(long), TURNS, answer="It").worth  # noqa: B018


def test_special_tokens_inside_a_text_are_named_because_nobody_plays_for_them():
    model = answering("llama")
    assert says(notes_of(model, WITH_MARK), "tokenizer reads as")
    assert "special" not in notes_of(model, WITHOUT_MARK)


def test_words_of_the_prefix_that_the_tokenizer_does_not_know_are_named():
    assert says(notes_of(answering("t5"), TEXT, prefix="It ẞ is"), "does not know")


@pytest.mark.parametrize("prefix", [3, "  "])
def test_a_prefix_without_words_is_refused_under_its_name(prefix):
    with refused("type", "prefix"):
        answer_subject(answering("t5"), TEXT, answer="good", prefix=prefix)


@pytest.mark.parametrize("family", ["gpt2", "bart"])
def test_the_greatest_length_counts_what_is_there_already(family):
    model = answering(family)
    before = len(model.start) if model.encodes else len(model.tokenizer(TEXT)["input_ids"])
    said = answer_subject(model, TEXT, generate={"max_length": before + 2}).said
    assert said.source.settings["max_new_tokens"] == 2
    assert len(said.pieces) <= 2


def test_an_answer_ends_at_a_stop_string():
    model = answering("llama")
    free = answer_subject(model, TEXT, generate=6).said.pieces
    stop = free[1].strip()
    stopped = answer_subject(model, TEXT, generate={"max_new_tokens": 6, "stop_strings": [stop]}).said.pieces
    assert stop
    assert stopped == free[: len(stopped)]
    assert len(stopped) <= 2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"num_return_sequences": 2, "num_beams": 2}, "num_return_sequences is 2, and one answer is explained"),
        ({"max_length": 90, "max_new_tokens": 4}, "max_length and max_new_tokens are both given"),
        ({"max_length": 3}, r"max_length is 3; give a number of at least \d+, because \d+ tokens are there already"),
    ],
)
def test_settings_that_would_be_ignored_are_refused(settings, said):
    with pytest.raises(InvalidInput, match=said):
        answer_subject(answering("gpt2"), TEXT, generate=settings)


@pytest.mark.parametrize("context", [{"wiki": "It is good.", "faq": "It is bad."}, {"It is good.", "It is bad."}])
def test_passages_have_an_order_and_no_names(context):
    """Iterating a mapping would explain its keys, a set another order on each run."""
    with refused("type", "context", has="give a list of passages"):
        answer_subject(answering("gpt2"), None, context=context, query="Is it?", answer=" good")


def test_a_data_frame_is_not_a_list_of_passages():
    frame = pytest.importorskip("pandas").DataFrame({"text": ["It is good."], "source": ["wiki"]})
    with refused("type", "context"):
        answer_subject(answering("gpt2"), None, context=frame, query="Is it?", answer=" good")


def test_a_function_is_asked_about_two_answers_that_differ():
    with pytest.raises(InvalidInput, match="the answer itself"):
        explain(None, lambda prompts, answer: [-1.0] * len(prompts), rather_than="Rome", **HOSTED)


def test_a_function_of_prompts_alone_is_refused_before_it_is_called():
    with refused("type", "function"):
        explain(None, lambda prompts: [-1.0] * len(prompts), **HOSTED)


def test_a_function_that_does_not_repeat_itself_is_reported():
    rng = np.random.default_rng(0)
    drawn = explain(None, lambda prompts, answer: -1 - rng.random(len(prompts)), methods="shapley", **HOSTED)
    assert any(says(note.text, "asked twice about") for note in drawn.notes)
    steady = explain(None, lambda prompts, answer: [-1.0] * len(prompts), methods="shapley", **HOSTED)
    assert not any("asked twice" in note.text for note in steady.notes)
