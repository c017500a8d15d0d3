"""Prompts and answers that nobody plans for: what is cut by a template, empty, in the wrong order, or drawn by chance."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("transformers")

import torch

from accredit.errors import InvalidInput
from accredit.explanation import explain
from accredit.explanation.answers import answer_subject
from tests.models.answering_models import TEXT, answering
from tests.wording import refused, says

KNOWN_WORDS = "It is good. It is."

PADDED = [{"role": "user", "content": "  It is good. It is bad.  \n"}]


@pytest.mark.parametrize("players", ["token", "word"])
def test_words_of_the_template_do_not_play_where_it_cuts_white_space(players):
    """The template trims: what stands before and after the words is its own."""
    subject = answer_subject(answering("gpt2", chat=True), PADDED, answer="It", players=players, removal="attention")
    text, spans = subject.shown
    words = "It is good. It is bad."
    first = text.index(words)
    assert text[min(s.start for s in spans) : max(s.end for s in spans)].strip() == words
    assert all(first <= (s.start + s.end) / 2 <= first + len(words) for s in spans)


def test_a_turn_that_the_template_cuts_owns_only_its_words():
    turns = [{"role": "user", "content": " \n It is bad. \n"}, {"role": "user", "content": "Is it good?"}]
    subject = answer_subject(answering("gpt2", chat=True), turns, answer="It", removal="attention")
    layout = subject.layout
    own = layout.spans[layout.owner == 0]
    assert layout.text[own.min() : own.max()].strip() == "It is bad."
    rebuilt = answer_subject(answering("gpt2", chat=True), turns, answer="It")
    text, (shown,) = rebuilt.shown
    assert text[shown.start : shown.end] == "It is bad."


@pytest.mark.parametrize(
    ("prompt", "asked", "said"),
    [
        ([{"role": "user", "content": " \n"}], {}, "every message is empty or only spaces"),
        (PADDED, {"players": "turn"}, "no turn with words comes before the last one.*players='sentence'"),
        (PADDED, {"rather_than": " "}, "rather_than is ' ': there is nothing to credit"),
        (
            TEXT,
            {"players": ["A gripping film.", "film. It"]},
            r"players\[1\] is 'film. It', which is in the prompt only before",
        ),
        (TEXT, {"answer": None, "generate": {"nonsense": 1}}, "cannot generate with .*nonsense=1"),
        (TEXT, {"answer": None, "generate": {"max_new_tokens": 0}}, "max_new_tokens is 0"),
    ],
)
def test_refusals_name_the_argument_and_the_remedy(prompt, asked, said):
    with pytest.raises(InvalidInput, match=said):
        answer_subject(answering("gpt2", chat=True), prompt, **({"answer": "It"} | asked))


def test_answers_that_are_not_text_or_too_long_are_refused_by_encoder_decoders_too():
    with refused("unreadable"):
        answer_subject(answering("t5"), TEXT, answer="good \ud83d")
    with refused("too-many"):
        answer_subject(answering("bart"), "A film.", answer=" good" * 40).worth  # noqa: B018


def test_an_empty_system_message_leaves_the_question_to_its_sentences():
    turns = [{"role": "system", "content": ""}, {"role": "user", "content": "It is good. It is bad."}]
    assert answer_subject(answering("gpt2", chat=True), turns, answer="It").players == ("It is good.", "It is bad.")


def test_paragraphs_end_at_blank_lines_of_windows_too():
    subject = answer_subject(answering("gpt2"), "A film.\r\n\r\nIt is bad.\r\n", answer=" It", players="paragraph")
    assert subject.players == ("A film.", "It is bad.")


def test_an_answer_that_is_drawn_is_decided_by_the_seed():
    model, drawn = answering("gpt2"), {"do_sample": True, "max_new_tokens": 6}
    before = torch.get_rng_state()
    first, again, other = (answer_subject(model, TEXT, generate=drawn, seed=seed) for seed in (1, 1, 2))
    assert first.answer_ids.tolist() == again.answer_ids.tolist() != other.answer_ids.tolist()
    assert torch.equal(before, torch.get_rng_state()) and first.facts["answer from"]["settings"]["seed"] == 1
    assert "seed" not in answer_subject(model, TEXT, generate=2, seed=1).facts["answer from"]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gpt2", "llama", "t5"])
def test_how_the_tokenizer_pads_and_what_it_lacks_change_nothing(family):
    asked = {"answer": " good", "methods": "shapley"}
    plain = explain(TEXT, answering(family), **asked)["shapley"].credit
    for side in ("left", "right"):
        model = answering(family)
        model.tokenizer.padding_side = model.tokenizer.truncation_side = side
        np.testing.assert_array_equal(explain(TEXT, model, **asked)["shapley"].credit, plain)
    model = answering(family)
    model.tokenizer.pad_token = model.tokenizer.eos_token = None
    model.model.config.pad_token_id = model.model.config.eos_token_id = None
    model.model.train()
    np.testing.assert_allclose(explain(TEXT, model, **asked)["shapley"].credit, plain, atol=1e-6)
    assert model.model.training


def test_words_that_the_tokenizer_does_not_know_are_named():
    """They are all read as one token, so a fluent-looking answer may rest on nothing."""
    found = explain("It is good. 🎬 is bad.", answering("llama"), answer="good", methods="leave-one-out")
    assert any(says(note.text, "does not know") and "<unk>" in note.text for note in found.notes)
    assert not any("does not know" in note.text for note in explain(KNOWN_WORDS, answering("llama"), answer="It").notes)


def _paid(prompts, answer):
    return [-1.0 - ("good" in prompt) for prompt in prompts]


@pytest.mark.parametrize("model", [_paid, "llama"])
def test_a_string_that_occurs_more_often_than_it_is_listed_is_named(model):
    """Which of them plays is decided by the order of the list, and nobody would know."""
    asked = answering(model) if isinstance(model, str) else model
    for players, noted in ((["It"], True), ({"who": "It"}, True), (["It is", "bad"], False), (["It", "It"], False)):
        found = explain("It is good. It was bad.", asked, answer=" good", players=players, methods="leave-one-out")
        assert any(says(note.text, "prompt 2 times") for note in found.notes) is noted


def test_spans_are_whole_numbers_of_any_kind():
    asked = {"answer": " good", "methods": "leave-one-out"}
    plain = explain(TEXT, _paid, players={"a": (0, 16)}, fixed=(20, 25), **asked)
    drawn = explain(TEXT, _paid, players={"a": (np.int64(0), np.int64(16))}, fixed=(np.int64(20), np.int64(25)), **asked)
    assert plain["leave-one-out"].credit == drawn["leave-one-out"].credit
    for players in ([(0.7, 16.2)], {"a": (0.0, 16.0)}, [("0", "16")]):
        with refused("type", "players"):
            explain(TEXT, _paid, players=players, **asked)


def test_what_a_tokenizer_returns_and_functions_that_fail_or_should_write_are_named():
    model = answering("llama")
    with refused("type", "prompt"):
        explain(model.tokenizer(TEXT), model, answer=" good")
    with refused("failed", "function"):
        explain(TEXT, lambda prompts, answer: 1 / 0, answer="good")
    with refused("missing", "answer"):
        explain(TEXT, _paid, generate=True)
