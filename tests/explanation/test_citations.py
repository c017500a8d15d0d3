"""Citations: the passes behind a verdict, what is cited, how it is written; and a real language model."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import accredit
from accredit import views
from accredit.answers.planted import Origin, planted_prompt
from accredit.answers.verdicts import Calibration, Surprise
from accredit.core import NoteKind
from accredit.errors import InvalidInput
from accredit.explanation import citations
from accredit.explanation.citations import Citations, _Passes, cite
from accredit.explanation.loading import answering_model
from accredit.models import builtin
from accredit.models.builtin.facts import facts
from accredit.views.terminal.citations_text import promise
from tests.wording import refused, says

WEIGHTS = np.array([[[0.0, 1.0, 0.0], [2.0, -3.0, 1.0], [-1.0, 0.0, 1.0], [-2.0, 0.0, 1.5], [0.0, 0.0, 0.0]]])
SURE = Calibration("made by hand", WEIGHTS, {origin: [tuple(np.linspace(0, 0.5, 20))] for origin in Origin.known()})
ANSWERED = {"context": ["Anna lives in Rome .", "Boris owns a dog ."], "query": "Where does Anna live ?"}


def test_every_pass_is_what_the_model_itself_says():
    """Against the model's plain call over a prompt written by hand."""
    found = cite(**ANSWERED, calibration=SURE)
    model, tokenizer = builtin.load_answers()
    for passages in ((), (0,), (1,), (0, 1)):
        kept = "\n".join(ANSWERED["context"][i] for i in passages)
        prompt = tokenizer(f"{kept}\n\n{ANSWERED['query']}" if kept else f"\n\n{ANSWERED['query']}").input_ids
        said = tokenizer(found.answer, add_special_tokens=False).input_ids
        with torch.no_grad():
            logits = model(torch.tensor([prompt + said])).logits[0, len(prompt) - 1 : -1].double().log_softmax(-1)
        expected = logits[range(len(said)), said].numpy()
        one = found.citations[0].with_only(passages)
        assert one.log_probability == pytest.approx(expected.sum(), abs=1e-4)
        assert one.surprise == pytest.approx(-expected[tokenizer.convert_ids_to_tokens(said).index("Rome")], abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "redundant", "joint"])
def test_what_says_it_is_cited(kind):
    """The built-in model answers by construction, so the passages that earn an answer are known."""
    for seed in range(3):
        made = facts(kind, passages=6, seed=seed)
        (found,) = cite(context=list(made.context), query=made.query, answer=made.answer, calibration=SURE)
        assert found.verdict is Origin.PASSAGES
        assert {frozenset(group) for group in found.support} == {frozenset(each) for each in made.enough}
        assert found.necessity == pytest.approx(1, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "joint"])
def test_long_contexts_are_not_read_once_per_passage(kind, monkeypatch):
    """Without relevance, and without a pass over nearly all for each passage, the same passages are cited."""
    monkeypatch.setattr("accredit.explanation.citations.RELEVANCE_TOKENS", 0)
    monkeypatch.setattr("accredit.explanation.citations.LEFT_OUT_TOKENS", 0)
    read = []
    plain = _Passes.read
    monkeypatch.setattr(_Passes, "read", lambda passes, groups: plain(passes, [read.append(g) or g for g in groups]))
    for seed in range(3):
        read.clear()
        made = facts(kind, passages=16, seed=seed)
        (found,) = cite(context=list(made.context), query=made.query, answer=made.answer, calibration=SURE, quotes=False)
        assert {frozenset(group) for group in found.support} == {frozenset(each) for each in made.enough}
        assert len({group for group in read if len(group) > 8}) <= 2  # all passages, and all but those that are cited


def test_long_runs_are_announced_before_they_are_made(monkeypatch):
    told: list[str] = []
    cite(**ANSWERED, calibration=SURE, announce=told.append)
    assert told == []
    monkeypatch.setattr("accredit.explanation.citations.LONG", 0.0)
    cite(**ANSWERED, calibration=SURE, announce=told.append)
    assert len(told) == 1 and says(told[0], "tokens to read")


def test_what_no_passage_says_is_not_cited():
    (found,) = cite(**ANSWERED, answer="Anna lives in Oslo .", calibration=SURE)
    assert found.verdict is Origin.NOWHERE and found.support == () and found.necessity is None


def test_a_function_of_prompts_is_asked_word_by_word():
    def hosted(prompts, answer):
        told = {"Anna": -0.1, "lives": -0.2, "in": -0.1, "Rome.": -6.0, "It": -0.1, "rains.": -0.1}
        return [sum(-0.1 if w == "Rome." and "Rome" in p else told[w] for w in answer.split()) for p in prompts]

    asked = {"context": ["Anna moved to Rome."], "query": "Where is she?", "answer": "Anna lives in Rome. It rains."}
    found = cite(None, hosted, **asked, calibration=SURE)
    first, second = found
    assert [found.text_of(each) for each in found] == ["Anna lives in Rome.", "It rains."]
    assert first.none.surprise == pytest.approx(6.0) and first.whole.surprise == pytest.approx(0.1)  # of Rome
    assert first.none.worst == "Rome" and second.none.surprise == pytest.approx(0.1)


def reads_by_words(said=0.1, else_=9.0):
    """A hosted model to which a word that some passage has is likely, and any other is not."""

    def hosted(prompts, answer):
        return [
            -sum(said if word.strip(".,") in prompt.rpartition("?")[0] else else_ for word in answer.split())
            for prompt in prompts
        ]

    return hosted


@pytest.mark.parametrize(
    ("context", "query", "answer", "because"),
    [
        (["The inn has 61 rooms."], "How many rooms has the inn?", "The inn has 62 rooms.", "“62”"),
        (["Pellworth is the mayor of Drusk."], "Who is the mayor of Drusk?", "The mayor of Drusk is not known.", "“not”"),
        (["Is it open? It is."], "Is the inn open?", "The inn is open.", "nothing that the question does not say"),
        (["Anna sings.", "Boris sings.", "Clara sings."], "Who sings?", "Anna, Boris and Clara sing.", "share no name"),
    ],
)
def test_what_must_not_be_cited_is_not_whatever_the_model_finds_likely(context, query, answer, because):
    (found,) = cite(None, reads_by_words(else_=0.2), context=context, query=query, answer=answer, calibration=SURE)
    assert found.verdict is not Origin.PASSAGES and not found.support
    bars = citations.bars_by_words(
        answer, query, context, Surprise(9.0, 0.1, {frozenset([0]): 0.1}, held={frozenset([0]): 0.4})
    )
    assert because in bars[Origin.PASSAGES]


def test_a_passage_with_the_names_the_other_way_round_is_not_cited():
    asked = {"context": ["Last week Boris lent a ladder to Anna.", "It rained."], "query": "Who lent a ladder to whom?"}
    for first, second, may in (("Boris", "Anna", True), ("Anna", "Boris", False)):
        answer = f"{first} lent a ladder to {second}."
        seen = Surprise(9.0, 0.1, {frozenset([0]): 0.1}, held={frozenset([0]): 1.0})
        bars = citations.bars_by_words(answer, asked["query"], asked["context"], seen)
        assert (Origin.PASSAGES not in bars) is may
        (found,) = cite(None, reads_by_words(else_=0.2), answer=answer, calibration=SURE, **asked)
        assert may or not found.support


def test_what_the_answer_itself_says_holds_no_passages_together():
    """Both passages have the unit of the answer, and each is about another sample."""
    asked = {"query": "How much does Ost hold?", "answer": "Ost holds 34 Gram."}
    context = ["In the lab Ost held 45 Gram.", "In the lab Sud held 34 Gram."]
    (found,) = cite(None, reads_by_words(else_=0.2), context=context, calibration=SURE, **asked)
    assert not found.support


def test_names_that_could_as_well_be_exchanged_are_not_cited(language_model):
    """The other way round is likelier, so the passage that says it of the other is no source."""
    asked = {
        "context": ["Last week Boris Lund lent a ladder to Anna Berg.", "It rained."],
        "query": "Who lent a ladder to whom?",
    }
    (found,) = cite(None, str(language_model), answer="Anna Berg lent a ladder to Boris Lund.", quotes=False, **asked)
    assert not found.support


def test_a_denial_is_not_cited_from_the_passage_that_it_denies(language_model):
    passages = ["Pellworth is the mayor of Drusk.", "The museum in Orsund has 8 rooms.", "The museum in Orholm has 9 rooms."]
    asked = {"context": passages, "query": "Who is the mayor of Drusk?", "quotes": False}
    (found,) = cite(None, str(language_model), answer="The mayor of Drusk is not specified.", **asked)
    assert not found.support
    (found,) = cite(None, str(language_model), answer="Pellworth is the mayor of Drusk.", **asked)
    assert found.support == ((0,),)


def test_another_model_than_the_calibrated_one_is_said():
    notes = cite(**ANSWERED, error=0.2).notes
    assert [note.kind for note in notes].count(NoteKind.WARNING) == 1


def test_a_rate_is_stated_only_for_the_model_that_was_calibrated():
    rate = "10%"
    assert rate not in str(cite(**ANSWERED))
    assert rate not in str(cite(**ANSWERED, calibration=replace(SURE, fingerprint="another")))
    own = replace(SURE, fingerprint=answering_model(None, None).fingerprint)
    given, written = (str(cite(**ANSWERED, answer=answer, calibration=own)) for answer in ("Anna lives in Rome .", None))
    assert rate in given and rate in written
    assert says(written, "misread counts as supported") and not says(given, "misread")


def test_an_origin_whose_rate_was_not_kept_is_named():
    counts = {"supported": [1, 20], "from memory": [0, 5], "unsupported": [4, 15]}
    measured = {"error": 0.1, "sentences": 40, "wrong": 5, "untold": 3, "by origin": counts}
    own = replace(SURE, fingerprint=answering_model(None, None).fingerprint, facts={"measured": measured})
    told = promise(cite(**ANSWERED, answer="Anna lives in Rome .", calibration=own))
    assert says(told, "unsupported 4 of 15") and "1 of 20" not in told


def test_no_passage_is_a_candidate_twice(monkeypatch):
    texts = ["Boris owns a dog .", "Boris owns a dog .", "Boris owns a dog .", "Dora owns a cow .", "Anna lives in Rome ."]
    monkeypatch.setattr(_Passes, "_relevance", lambda passes, span: np.array([4.0, 4.0, 4.0, 3.0, 1.0]))
    found = cite(context=texts, query=ANSWERED["query"], answer="Anna lives in Rome .", calibration=SURE, quotes=False)
    tried = {i for one in found.citations[0].passes[2:-1] for i in one.passages if len(one.passages) <= 3}
    assert tried == {0, 3, 4} and found.citations[0].support == ((4,),)


@pytest.mark.parametrize(
    ("answer", "judged"),
    [
        ("1. Stir. 2. Bake it.", ["1. Stir.", "2. Bake it."]),
        ("Ask Dr. Lee. He knows J. K. Low!", ["Ask Dr. Lee.", "He knows J. K. Low!"]),
        ("She was born in 1934. He was not.", ["She was born in 1934.", "He was not."]),
        ("It works. 🙂", ["It works. 🙂"]),
        ("罗马。 是的。", ["罗马。", "是的。"]),
    ],
)
def test_a_sentence_that_is_judged_says_something(answer, judged):
    def hosted(prompts, text):
        return [-sum(9.0 if word in ("1.", "2.") else 0.1 for word in text.split())] * len(prompts)

    found = cite(None, hosted, context=["It is so.", "It is not."], query="What?", answer=answer, calibration=SURE)
    assert [found.text_of(each) for each in found] == judged
    assert {each.whole.worst for each in found}.isdisjoint({"1", "2"})  # numbers of a list


@pytest.mark.parametrize("odd", [{"answer": ". . ."}, {"spans": []}])
def test_what_has_no_word_is_not_judged(odd):
    with refused("missing", next(iter(odd))):
        cite(**ANSWERED, **odd)


def test_spans_of_the_answer_can_be_asked_for():
    found = cite(**ANSWERED, spans=["Rome", "lives in"], calibration=SURE)
    assert [found.text_of(each) for each in found] == ["Rome", "lives in"]
    assert found.of("Rome").earned > 2 > abs(found.of("lives").earned)
    assert found.of("lives").sufficiency([0]) is None  # nothing to share
    with pytest.raises(InvalidInput):
        cite(**ANSWERED, spans=["Oslo"], calibration=SURE)


def test_the_sentence_that_says_it_is_quoted():
    """A document of two paragraphs: the paragraph, then the sentence of it, with passes over what is cited alone."""
    document = "Boris owns a dog .\nClara speaks Greek .\n\nDora owns a cat .\nAnna lives in Rome ."
    found = cite(
        context=[document, "Emil owns a cow ."], query=ANSWERED["query"], answer="Anna lives in Rome .", calibration=SURE
    )
    (quote,) = found.citations[0].quotes
    assert document[quote.start : quote.stop].strip() == "Anna lives in Rome ." and quote.passage == 0
    assert found.provenance["passes over what is cited"] > 0
    assert "<mark>Anna lives in Rome .</mark>" in views.to_page(found)
    assert Citations.from_json(found.to_json()) == found
    plain = cite(**ANSWERED, calibration=SURE, quotes=False)
    assert plain.citations[0].quotes == () and "passes over what is cited" not in plain.provenance


def test_json_is_read_as_it_was_written_and_damage_is_refused():
    found = cite(**ANSWERED, calibration=SURE)
    written = found.to_json()
    assert Citations.from_json(written) == found
    data = json.loads(written)
    for name, odd in (("citations", [1]), ("citations", [{}]), ("passages", "x"), ("error", -1), ("notes", "x"), ("extra", 1)):
        with pytest.raises(InvalidInput):
            Citations.from_json(json.dumps(data | {name: odd}))
    data["citations"][0]["support"] = [[7]]
    with pytest.raises(InvalidInput):
        Citations.from_json(json.dumps(data))


def test_every_form_holds_its_marks_and_nothing_breaks_out():
    odd = "<script>alert(1)</script> **lives** [x](y)"
    found = cite(**ANSWERED, calibration=SURE)
    found = Citations(found.answer, (odd, found.passages[1]), found.citations, found.error, "<b>?</b>", found.notes)
    assert found.citations[0].cited == (0,)
    text, page, markdown = str(found), accredit.views.to_page(found), found.to_markdown()
    assert max(map(len, text.splitlines())) <= 80 and "[1]" in text.splitlines()[2]
    assert "<script>alert" not in page and "<b>?" not in page and 'href="#passage-1"' in page
    assert markdown.startswith("Anna lives in Rome .[^1]") and "<script" not in markdown.replace("\\<script", "")
    assert "[x](y)" not in markdown and "**lives**" not in markdown


def test_words_across_tokens_are_targets(language_model):
    """A name of several tokens: by the sum of its tokens and as a target of its own, from the same passes."""
    model = accredit.Explainer(str(language_model), methods="shapley")
    asked = {
        "context": ["Pellworth is the mayor of Drusk.", "The harbour is old."],
        "query": "Who is the mayor of Drusk?",
        "answer": "The mayor of Drusk is Pellworth.",
    }
    whole = model(**asked)
    assert "Pellworth" not in whole.outputs
    by_sum = whole.of("Pellworth")["shapley"]
    directly = model(**asked, target="Pellworth").of("Pellworth")["shapley"]
    np.testing.assert_allclose(by_sum.credit, directly.credit, atol=1e-9)
    assert by_sum.total == pytest.approx(directly.total) and by_sum.top(1).players == (asked["context"][0],)
    with pytest.raises(InvalidInput):
        whole.of("Drusk town")


def test_the_whole_answer_is_its_own_target_and_no_name_is_no_target():
    found = accredit.explain(**ANSWERED, methods="shapley", target="answer")
    assert found.of(" Anna lives in Rome . ").target == found.target == "answer"
    for odd in (None, 3, ["Rome"]):
        with refused("type", "output"):
            found.of(odd)


def test_what_earned_nothing_says_so_first(language_model):
    passages = ["The museum in Drusk opens at ten.", "Pellworth is the mayor of Drusk.", "The harbour was built in 1912."]
    found = accredit.explain(
        None, str(language_model), context=passages, query="What is the capital of France?", generate=3, methods="shapley"
    )
    assert found.earns_nothing and found.notes[0].kind is NoteKind.NOTHING_EARNED
    shown = str(found)
    assert "Next to nothing was earned" in shown.split("\n\n")[0] and "█" not in shown and "░" not in shown
    assert any("cut" in note.text for note in found.notes)  # three tokens are not enough


@pytest.mark.parametrize("kind", ["plain", "contradicted"])
def test_a_real_model_cites_what_says_it_and_not_what_says_otherwise(language_model, kind):
    """Prompts that neither the calibration nor its report used. A verdict may be "cannot tell"; what is cited must be what was
    planted, and a passage that says otherwise must not be."""
    for seed in (7001, 7002):
        made = planted_prompt(kind, "places", seed=seed)
        found = cite(None, str(language_model), context=list(made.context), query=made.query, answer=made.answer)
        assert not any(note.kind is NoteKind.WARNING for note in found.notes)  # this is the calibrated model
        cited = {frozenset(group) for each in found for group in each.support}
        assert cited <= set(made.enough)


def test_what_the_answer_said_before_is_no_memory_of_the_model():
    seen = Surprise(0.2, 0.1, {frozenset([0]): 0.2}, held={frozenset([0]): 0.5})
    asked = "How long does line 7 take?", ["Line 7 takes 26 minutes."], seen
    bars = citations.bars_by_words("It takes 26 hours.", *asked, "Line 7 takes 26 minutes.")
    assert "“26 hours”" in bars[Origin.PASSAGES] and "“26”" in bars[Origin.MEMORY]
    assert Origin.MEMORY not in citations.bars_by_words("It takes 26 hours.", *asked)


def test_a_denial_is_a_guess_and_no_memory():
    seen = Surprise(0.2, 0.1, {frozenset([0]): 0.2}, held={frozenset([0]): 1.0})
    bars = citations.bars_by_words("The inn is not open.", "Is the inn open?", ["The inn is not open."], seen)
    assert bars.keys() == {Origin.MEMORY}
