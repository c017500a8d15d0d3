"""Answers through `explain`: every form of prompt, targets from one set of passes, what the result states, what is refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import accredit
from accredit import InvalidInput, explain
from accredit.answers import answer_game, as_answering_model
from accredit.core import NoteKind
from accredit.core.coalitions import from_index
from accredit.errors import BadPayoff
from accredit.explanation import Explanation, explain_answer
from accredit.explanation.answers import ESTIMATED_TARGETS, answer_subject
from accredit.explanation.stream import MethodProgress, events
from accredit.methods import find_all, methods_for
from accredit.models.builtin import load_answers
from accredit.store.fingerprint import fingerprint_of
from accredit.store.journal_file import JournalError
from accredit.values import shapley
from tests.models.answering_models import CHAT, TEXT, answering, many_sided
from tests.wording import reads, refused

PILOT = "Anna works as a pilot ."
ROME = "Anna lives in Rome."

FACTS = ["Anna has the job of Boris .", "Clara owns a dog .", "Boris works as a baker ."]
QUERY = "What does Anna do ?"
SAID = "Anna works as a baker ."


@pytest.fixture(scope="module")
def builtin():
    return as_answering_model(*load_answers())


@pytest.fixture(scope="module")
def explained(builtin):
    return explain(None, builtin, context=FACTS, query=QUERY)


def test_the_result_is_that_of_the_game(builtin, explained):
    game = answer_game(builtin, context=FACTS, query=QUERY)
    assert_allclose(explained["shapley"].credit, shapley(game.whole()).credit)
    assert_allclose(explained.of("baker")["shapley"].credit, shapley(game.token("baker")).credit)
    every = game.payoff(np.array([[True] * 3, [False] * 3]))
    assert_allclose([explained.said.likely, explained.said.base], every)
    assert explained.prediction == (("answer", pytest.approx(every[0].sum())),)
    assert explained["shapley"].baseline == pytest.approx(every[1].sum())


def test_whole_answer_sentences_and_tokens_come_from_one_set_of_passes(builtin):
    said = "Anna works as a baker . Clara owns a dog ."
    e = explain(None, builtin, context=FACTS, query=QUERY, answer=said, methods="shapley")
    assert e.outputs == ("answer", *said.replace(" .", " .|").strip("|").split("| "), *e.outputs[3:])
    assert len(e.outputs) == 3 + len(e.said.pieces) and e.provenance["passes"] == 8
    credit = {name: e.of(name)["shapley"].credit for name in e.outputs}
    assert_allclose(credit["answer"], credit[e.outputs[1]] + credit[e.outputs[2]], atol=1e-12)
    assert_allclose(credit["answer"], sum(credit[name] for name in e.outputs[3:]), atol=1e-12)


def test_of_an_answer_of_one_token_there_is_one_target(builtin):
    e = explain("Anna lives in Rome . Where does Anna live ?", builtin, answer="Anna", methods="shapley")
    assert e.outputs == ("answer",)
    prompt = "Anna lives in Rome . Where does Anna live ?"
    e = explain(prompt, builtin, answer="Rome", rather_than="Oslo", methods="shapley")
    assert e.outputs == ("answer", "Rome")


def test_the_result_states_how_it_came_about(explained):
    facts = explained.provenance
    assert facts["architecture"] == "LlamaForCausalLM" and facts["removal"] == "rebuild" and facts["players"] == "passage"
    assert explained.said.text == SAID
    assert explained.said.source.settings == {"do_sample": False, "num_beams": 1, "max_new_tokens": 128}
    assert (facts["prompt tokens"], facts["answer tokens"], facts["passes"]) == (24, 6, 8)
    assert "kept" in facts["reading"] and explained.payoff == "log-probability"


def test_without_a_model_the_built_in_one_answers():
    e = explain(context=FACTS, query=QUERY, methods="shapley")
    assert e.provenance["model"] == "built-in answering model" and e.said.text == SAID


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prompt", "players", "names"),
    [
        ("It is good. A bad film.\n\nIs it?", "paragraphs", ("It is good. A bad film.", "Is it?")),
        ("It is good. A bad film.\n\nIs it?", "examples", ("It is good. A bad film.",)),
        ([{"role": "user", "content": "It is good."}, {"role": "user", "content": "Is it?"}], None, ("It is good.",)),
        ("It is good.", {"it": (0, 2), "good": "good"}, ("it", "good")),
        ("It is good.", ["It", "good"], ("It", "good")),
        ("It is.", "tokens", None),
    ],
)
def test_every_form_of_prompt_and_players(prompt, players, names):
    e = explain(prompt, answering("qwen3", chat=True), answer="It is", players=players, methods="leave-one-out")
    assert names is None or e.players == names
    assert "".join(e.text[t.start : t.end] for t in e.tokens).strip()


def test_token_ids_are_read_as_they_are():
    model = answering("llama")
    ids = model.tokenizer("A good film.")["input_ids"]
    e = explain(ids, model, answer="It is", methods="leave-one-out")
    given = torch.tensor([[*ids, *model.tokenizer("It is", add_special_tokens=False)["input_ids"]]])
    own = model.model(given).logits[0].double().log_softmax(-1)
    read = own[range(len(ids) - 1, given.shape[1] - 1), given[0, len(ids) :]]
    assert_allclose(e.said.likely, read.detach().numpy(), atol=1e-5)


def test_a_rendered_chat_gets_no_second_begin_token_and_the_result_says_so():
    model = answering("llama", chat=True)
    text = model.tokenizer.apply_chat_template([{"role": "user", "content": "It is good."}], tokenize=False)
    e = explain(text, model, answer="It is", players="words", methods="leave-one-out")
    assert any("no second one" in note.text for note in e.notes)
    assert not any(model.tokenizer.bos_token in player for player in e.players)
    plain = explain("It is good.", model, answer="It is", methods="leave-one-out")
    assert not any("no second one" in note.text for note in plain.notes)


def test_a_context_put_into_a_chat_template_says_so():
    e = explain(None, answering("qwen3", chat=True), context=["It is good."], query="Is it?", answer="It", methods="loo")
    assert any("chat template" in note.text for note in e.notes) and "<|user|>" in e.text
    assert e.players == ("It is good.",)


def test_a_decoder_only_model_of_a_class_that_also_reads_pictures():
    e = explain("A good film. It is bad.", many_sided(), answer="It is", methods="shapley")
    assert e.players == ("A good film.", "It is bad.")


def test_white_space_in_the_answer_is_shown_as_what_it_is():
    e = explain("It is good.", answering("qwen3"), answer="It\n\nis", methods="loo")
    assert any("⏎" in target for target in e.outputs) and e.said.text == "It\n\nis"


@pytest.mark.parametrize("removal", ["rebuild", "attention"])
def test_what_an_encoder_decoder_has_said_so_far_plays(removal):
    model = answering("t5")
    e = explain("A good film.", model, answer="It is", prefix="A bad", players="words", removal=removal, methods="shapley")
    assert e.players == ("A", "good", "film", ".", "A (2)", "bad") and e.pair == "A bad"
    subject = answer_subject(model, "A good film.", answer="It is", prefix="A bad", players="word", removal=removal)
    coalition = np.array([[True, True, True, True, True, False]])
    ids = model.target_ids("A bad")
    said = model.answer("It is", model.prompt("A good film.")).ids
    keep = subject.decoder_owner[len(model.start) : len(model.start) + len(ids)] != 5
    before = ids[keep] if removal == "rebuild" else ids
    decoder = np.concatenate([model.start, before, said[:-1]])
    mask = np.ones(len(decoder), dtype=np.int64)
    if removal == "attention":
        mask[len(model.start) : len(model.start) + len(ids)] = keep
    logits = model.model(
        torch.tensor(model.tokenizer("A good film.")["input_ids"])[None],
        decoder_input_ids=torch.from_numpy(decoder)[None],
        decoder_attention_mask=torch.from_numpy(mask)[None],
    ).logits[0, -len(said) :]
    own = logits.double().log_softmax(-1).gather(-1, torch.from_numpy(said)[:, None])[:, 0].detach().numpy()
    assert_allclose(subject.game.payoff(coalition)[0], own, atol=1e-5)


def test_rather_than_another_answer_is_a_difference(builtin):
    e = explain(
        None, builtin, context=FACTS, query=QUERY, answer=SAID, rather_than="Anna works as a pilot .", methods="shapley"
    )
    alone = [
        explain(None, builtin, context=FACTS, query=QUERY, answer=a, methods="shapley")["shapley"].credit
        for a in (SAID, "Anna works as a pilot .")
    ]
    assert_allclose(e["shapley"].credit, alone[0] - alone[1], atol=1e-9)
    assert_allclose(e.of(SAID)["shapley"].credit, alone[0], atol=1e-9)
    assert e.said.rather_than == PILOT


@pytest.mark.parametrize("payoff", ["log-probability", "mean", "probability"])
def test_every_target_is_paid_in_the_same_way(builtin, payoff):
    e = explain(None, builtin, context=FACTS, query=QUERY, answer=SAID, payoff=payoff, methods="shapley")
    worth = {"log-probability": np.sum, "mean": np.mean, "probability": lambda x: np.exp(np.sum(x))}[payoff]
    for name, a, b in e.said.targets:
        result = e.of(name)["shapley"]
        assert result.baseline + result.total == pytest.approx(worth(e.said.likely[a:b]), abs=1e-12)
        assert result.baseline == pytest.approx(worth(e.said.base[a:b]), abs=1e-12)


@pytest.mark.slow
def test_every_game_method_answers_and_keeps_its_claims(builtin):
    names = [m.spelled for m in methods_for("answer") if m.kind == "game" and "*" not in str(m.parameters)]
    e = explain(None, builtin, context=FACTS, query=QUERY, methods=[n for n in names if "semivalue" not in n], budget=8)
    assert not e.refused
    game = answer_game(builtin, context=FACTS, query=QUERY).whole()
    exact = [result for _, result in e if result.exact]
    assert len(exact) > 4
    for result in exact:
        accredit.check_claims(result, game)


def test_a_method_that_does_not_apply_says_why(builtin):
    asked = ["shapley", "knn-shapley"]
    with pytest.raises(InvalidInput, match="needs training rows"):
        explain(None, builtin, context=FACTS, query=QUERY, methods=asked)


def test_a_function_of_prompts_is_asked():
    def hosted(prompts, answer):
        return [[-0.1, -0.2] if "Rome" in prompt else [-3.0, -0.2] for prompt in prompts]

    e = explain(None, hosted, context=["Anna lives in Rome.", "It rains."], query="Where?", answer="In Rome")
    assert e["shapley"].as_dict() == pytest.approx({ROME: 2.9, "It rains.": 0.0})
    assert e.outputs == ("answer", "token 1", "token 2") and Explanation.from_json(e.to_json()) == e
    with refused("misplaced", "removal"):
        explain("It rains.", hosted, answer="In Rome", removal="attention")
    with refused("misplaced", "memory"):
        explain("It rains.", hosted, answer="In Rome", memory=1e9)
    with refused("unsupported", "methods"):
        explain("It rains.", hosted, answer="In Rome", methods="flow")


@pytest.mark.slow
@pytest.mark.processes
def test_a_function_of_prompts_needs_no_torch():
    code = (
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "import accredit\n"
        "hosted = lambda prompts, answer: [-1.0 * len(p) for p in prompts]\n"
        "e = accredit.explain('It rains. Rome is old.', hosted, answer='Yes')\n"
        "print(e.players, len(str(e)) > 0, len(e._repr_html_()) > 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["('It", "rains.',", "'Rome", "is", "old.')", "True", "True"], done.stderr


@pytest.mark.slow
def test_json_gives_back_the_same_and_pandas_is_the_matrix(explained):
    assert Explanation.from_json(explained.to_json()) == explained
    frame = explained.to_pandas("shapley")
    assert list(frame.columns) == list(explained.outputs) and list(frame.index) == FACTS
    assert frame.loc[FACTS[0], "baker"] == explained.of("baker")["shapley"][FACTS[0]]
    assert list(explained.to_pandas().columns) == ["shapley", "leave-one-out"]


def test_progress_shows_while_the_model_reads(builtin):
    subject = answer_subject(builtin, None, context=FACTS, query=QUERY, batch=1)
    seen = list(events(subject, find_all("shapley", "explain"), progress=True, pace=0.0))
    assert len([event for event in seen if isinstance(event, MethodProgress)]) > 4


def test_a_stopped_run_goes_on_from_its_file(builtin, tmp_path):
    how = {"context": FACTS, "query": QUERY, "answer": SAID, "methods": "shapley", "store": tmp_path / "kept.db"}
    first = explain(None, builtin, **how)
    again = explain(None, builtin, **how)
    assert (first.provenance["passes"], again.provenance["passes"]) == (
        8,
        2,
    )  # with everybody and with nobody, for the result
    assert_allclose(again["shapley"].credit, first["shapley"].credit)
    with refused("conflict", kind=JournalError, has="another game"):
        explain(None, builtin, **how | {"answer": "Anna works as a pilot ."})


def test_what_decides_the_payoffs_decides_the_name_of_the_game(builtin):
    def named(**other):
        how = {"context": FACTS, "query": QUERY, "answer": SAID} | other
        return fingerprint_of(answer_game(builtin, **how).whole(how.pop("payoff", "log-probability"))).digest

    assert named() == named(memory=1e8)
    others = [
        named(answer="Anna works as a pilot ."),
        named(query="Where does Anna live ?"),
        named(removal="attention"),
        named(rather_than="Anna works as a pilot ."),
        named(context=FACTS[:2]),
        named(players=FACTS[1:]),
    ]
    assert len({named(), *others}) == 1 + len(others)


@pytest.mark.slow
def test_many_passages_are_estimated_and_a_long_answer_has_no_credit_for_each_token():
    model = answering("gpt2", n_positions=512)
    passages = [f"{a} film is {b}." for a in ("A", "It", "No", "The", "Bad") for b in ("good", "bad", "a shot")]
    answer = " ".join([TEXT] * 2)
    e = explain(None, model, context=passages, query="Is it?", answer=answer, budget=160, methods="permutations")
    assert len(e.players) == 15 and len(e.said.pieces) > ESTIMATED_TARGETS >= len(e.outputs)
    assert not e["permutations"].exact
    assert any("target='tokens'" in note.text for note in e.notes)
    every = explain(None, model, context=passages[:2], query="Is it?", answer=answer, methods="shapley")
    assert len(every.outputs) > len(every.said.pieces) and not any("target='tokens'" in note.text for note in every.notes)


def test_one_passage_earns_all_of_it(builtin):
    e = explain(None, builtin, context=["Anna lives in Rome ."], query="Where does Anna live ?", methods="shapley")
    assert e["shapley"].credit[0] == pytest.approx(e["shapley"].total)


def test_unicode_is_shown_and_plays():
    e = explain("日本語 is <b>good</b> 😀.", answering("gpt2"), answer="é 😀", players="words", methods="loo")
    assert "😀." in e.players and "日" in e.players and e.said.text == "é 😀"


def test_the_subject_says_what_the_model_reads(builtin):
    subject = answer_subject(builtin, None, context=FACTS, query=QUERY, answer=SAID)
    prompt = builtin.tokenizer("\n".join(FACTS) + f"\n\n{QUERY}")["input_ids"]
    said = builtin.answer(SAID, builtin.prompt(context=FACTS, query=QUERY)).ids
    assert subject.ids.tolist() == [*prompt, *said[:-1]]
    assert subject.outputs == list(range(len(prompt) - 1, len(prompt) + len(said) - 1))
    owned = [builtin.tokenizer.decode([subject.ids[i] for i in subject.groups[p]]) for p in subject.players]
    assert [text.strip() for text in owned] == FACTS
    assert len(subject.owner) == len(subject.ids) and subject.by_player(np.ones(len(subject.ids))).sum() == len(subject.ids)


class Broken(torch.nn.Module):
    """A head that gives no number."""

    def forward(self, states):
        return states.new_full((*states.shape[:-1], 512), float("nan"))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"answer": " "}, "nothing to credit"),
        ({"answer": "blorp"}, "does not know"),
        ({"answer": SAID, "generate": True}, "both given"),
        ({"answer": SAID, "rather_than": SAID}, "the answer itself"),
        ({"answer": SAID, "players": ["Nobody lives here ."]}, "not in the prompt"),
        ({"answer": SAID, "players": {"a": (0, 10), "b": (5, 12)}}, "overlap"),
        ({"answer": SAID, "players": "lines"}, "write one of passage"),
        ({"answer": SAID, "players": "turns"}, "give messages"),
        ({"answer": SAID, "fixed": "nowhere"}, "not in the prompt"),
        ({"answer": SAID, "fixed": FACTS[0], "players": [FACTS[0]]}, "never plays"),
        ({"answer": SAID, "removal": "mask"}, "rebuild, attention, filler"),
        ({"answer": SAID, "removal": "filler"}, "filler='…'"),
        ({"answer": SAID, "payoff": "margin"}, "log-probability, mean, probability"),
        ({"answer": SAID, "target": "butcher"}, "answer, sentences, words or tokens"),
        ({"answer": SAID, "batch": 0}, "batch must be a whole number of at least 1, got 0"),
        ({"answer": SAID, "memory": -1}, "memory is -1"),
        ({"answer": SAID, "prefix": "Anna"}, "at the end of the prompt"),
        ({"answer": SAID, "background": 3, "colour": "red"}, "colour is not a setting"),
        ({"generate": "much"}, "a number of new tokens"),
        ({"generate": False}, "generate is False"),
        ({"answer": SAID, "template": "{context}"}, "go with context"),
        ({"answer": SAID, "context": FACTS, "query": QUERY}, "either a prompt"),
    ],
)
def test_bad_input_is_refused_with_the_call_that_works(builtin, how, says):
    how.pop("background", None)
    with pytest.raises(InvalidInput, match=says):
        explain(" ".join(FACTS) + f" {QUERY}", builtin, **how)


def test_what_the_model_cannot_read_is_refused():
    model = answering("gpt2")
    with pytest.raises(InvalidInput, match="reads 128"):
        explain(" ".join([TEXT] * 4), model, answer="It is")
    with pytest.raises(InvalidInput, match="no chat template"):
        explain([{"role": "user", "content": "It is good."}], model, answer="It is")
    with pytest.raises(InvalidInput, match="merges"):
        explain(
            "A gripping film.",
            model,
            answer="It is",
            players={"grip": (2, 4), "ping": (4, 10)},
            removal="attention",
            fixed="film.",
        )
    model.model.lm_head = Broken()
    with pytest.raises(BadPayoff, match="log-probability nan"):
        explain("A film. It is good.", model, answer="It is", methods="loo")


def test_an_answer_is_not_shortened_where_the_prompt_ends_in_an_unknown_character():
    e = explain("It is good.\n", answering("llama"), answer="It is", methods="loo")
    assert e.said.text.split() == ["It", "is"]
    assert not [note for note in e.notes[:-1] if note.kind is not NoteKind.NOTHING_EARNED]


def test_ids_of_an_answer_and_a_model_without_its_tokenizer():
    model = answering("gpt2")
    assert reads(explain("It is good.", model, answer=[5, 6], methods="loo").said.source.name)
    with refused("shape", "answer"):
        explain("It is good.", model, answer=True)
    with refused("missing", "tokenizer"):
        explain("It is good.", model.model, answer="It is")


def test_nothing_to_explain_is_said():
    with pytest.raises(InvalidInput, match="nothing is given"):
        explain()
    with pytest.raises(InvalidInput, match="either a prompt"):
        explain_answer(answer="It is")


def test_an_answer_is_nothing_for_a_classifier():
    from accredit.models.builtin import load_text

    with refused("type"):
        explain("A good film.", *load_text(), answer="It is")


def test_every_coalition_of_words_is_the_models_own_call():
    """The chat is written again without the words that left; with none left, its last message stays, empty."""
    model = answering("qwen3", chat=True)
    subject = answer_subject(model, [{"role": "user", "content": "It is good"}], answer="It", players="words")
    assert model.tokenizer.chat_template == CHAT
    for coalition in from_index(np.arange(8), 3):
        left = " ".join(w for w, stays in zip(("It", "is", "good"), coalition, strict=True) if stays)
        ids = model.tokenizer.apply_chat_template(
            [{"role": "user", "content": left}], add_generation_prompt=True, return_dict=False, return_tensors="pt"
        )
        own = model.model(ids).logits.detach()[0, -1].double().log_softmax(-1)[subject.answer_ids[0]]
        assert subject.game.payoff(coalition[None])[0, 0] == pytest.approx(float(own), abs=1e-5)
