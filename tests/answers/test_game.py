"""Answers as games: known credit on the built-in model, views of the same passes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.answers import answer_game, as_answering_model, asked_game
from accredit.core.coalitions import from_index
from accredit.errors import BadPayoff, InvalidInput
from accredit.models.builtin import load_answers
from accredit.models.builtin.facts import KINDS, PASSAGES_AT_MOST, RELATIONS, facts
from accredit.values import leave_one_out, shapley
from tests.models.answering_models import FIXED, TEXT, answering
from tests.wording import refused

ANNA = "Anna lives in Rome ."
BORIS = "Boris owns a dog ."

UNKNOWN = np.log(12)  # without the fact every value of a relation is equally likely


@pytest.fixture(scope="module")
def builtin():
    return as_answering_model(*load_answers())


def context_game(model, made, **how):
    return answer_game(model, context=made.context, query=made.query, **how)


def values(kind):
    """Contexts of one kind for each relation."""
    return [made for seed in range(12) if (made := facts(kind, 5, seed))]


@pytest.mark.slow
@pytest.mark.parametrize("removal", ["rebuild", "attention"])
def test_the_passage_that_holds_the_fact_earns_the_answer(builtin, removal):
    for made in values("plain"):
        game = context_game(builtin, made, removal=removal)
        assert game.answer.text == made.answer
        expected = np.zeros(5)
        expected[made.truth[0]] = UNKNOWN
        assert_allclose(shapley(game.whole()).credit, expected, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_right_in_the_longest_contexts(builtin, kind):
    for seed in range(4):
        made = facts(kind, PASSAGES_AT_MOST, seed)
        assert len(made.context) == 16 and context_game(builtin, made).answer.text == made.answer


@pytest.mark.slow
def test_of_two_passages_that_say_it_each_earns_half_and_neither_is_missed(builtin):
    for made in values("redundant")[:4]:
        game = context_game(builtin, made)
        expected = np.zeros(5)
        expected[list(made.truth)] = UNKNOWN / 2
        assert_allclose(shapley(game.whole()).credit, expected, atol=0.02)
        assert_allclose(leave_one_out(game.whole()).credit, np.zeros(5), atol=0.02)


@pytest.mark.slow
def test_two_passages_needed_together_share_and_each_is_missed(builtin):
    for made in values("joint")[:4]:
        game = context_game(builtin, made)
        expected = np.zeros(5)
        expected[list(made.truth)] = UNKNOWN / 2
        assert_allclose(shapley(game.whole()).credit, expected, atol=0.02)
        assert_allclose(leave_one_out(game.whole()).credit, expected * 2, atol=0.02)


@pytest.mark.slow
def test_what_is_overruled_earns_less_than_nothing(builtin):
    for made in values("contradicting")[:4]:
        credit = shapley(context_game(builtin, made).whole()).credit
        assert credit[made.truth[0]] > 4 and credit[made.against[0]] < -2


def test_only_the_value_is_earned_by_the_context(builtin):
    made = facts("plain", 4, 0)
    game = context_game(builtin, made)
    everybody, nobody = game.payoff(np.array([[True] * 4, [False] * 4]))
    place = game.outputs.index(made.answer.split()[-2])
    assert everybody[place] - nobody[place] == pytest.approx(UNKNOWN, abs=0.01)
    assert_allclose(np.delete(everybody, place), np.delete(nobody, place), atol=1e-3)


def test_views_are_sums_and_ask_nothing_again(builtin):
    game = answer_game(
        builtin,
        context=["Anna lives in Rome .", "Boris owns a dog ."],
        query="Where does Anna live ?",
        answer="Anna lives in Rome . Boris owns a dog .",
    )
    tokens = game.payoff(from_index(np.arange(4), 2))
    before = game.pays.reader.tokens
    every = from_index(np.arange(4), 2)
    assert_allclose(game.whole().payoff(every), tokens.sum(axis=1))
    assert_allclose(game.whole("mean").payoff(every), tokens.mean(axis=1))
    assert_allclose(game.whole("probability").payoff(every), np.exp(tokens.sum(axis=1)))
    assert game.sentences().outputs == (ANNA, BORIS)
    assert_allclose(game.sentences().payoff(every), np.stack([tokens[:, :5].sum(axis=1), tokens[:, 5:].sum(axis=1)], axis=1))
    assert_allclose(game.token("Rome").payoff(every), tokens[:, 3])
    assert_allclose(game.token(-1).payoff(every), tokens[:, -1])
    assert game.pays.reader.tokens == before


def test_rather_than_another_answer(builtin):
    game = answer_game(
        builtin,
        context=["Anna lives in Rome .", "Anna lives in Oslo ."],
        query="Where does Anna live ?",
        answer="Anna lives in Oslo .",
        rather_than="Anna lives in Rome .",
    )
    assert_allclose(game.whole().payoff(from_index(np.arange(4), 2)), [0, -8, 8, 8], atol=1e-3)
    assert game.provenance["rather than"] == ANNA


def test_a_filler_takes_the_place_of_a_part(builtin):
    context, query = ["Anna lives in Rome .", "Boris owns a dog ."], "Where does Anna live ?"
    game = answer_game(
        builtin,
        context=context,
        query=query,
        answer="Anna lives in Rome .",
        removal="filler",
        filler="Peter speaks Dutch .",
    )
    plain = answer_game(builtin, context=["Peter speaks Dutch .", context[1]], query=query, answer="Anna lives in Rome .")
    assert_allclose(game.payoff(np.array([[False, True]])), plain.payoff(np.array([[True, True]])))


@pytest.mark.parametrize("players", ["word", "token", {"who": "Anna", "where": (14, 18)}])
def test_words_tokens_and_spans_play(builtin, players):
    text = "Anna lives in Rome . Boris owns a dog . Where does Anna live ?"
    asks = (40, len(text))
    game = answer_game(builtin, text, "Anna lives in Rome .", players=players, fixed=[asks], removal="attention")
    names = (
        ("who", "where")
        if isinstance(players, dict)
        else ("Anna", "lives", "in", "Rome", ".", "Boris", "owns", "a", "dog", ". (2)")
    )
    assert game.players == names
    missing = np.ones((2, len(names)), dtype=bool)
    missing[1, names.index("where" if isinstance(players, dict) else "Rome")] = False
    there, gone = game.whole().payoff(missing)
    assert there - gone == pytest.approx(UNKNOWN, abs=0.02)


def test_token_ids_play_and_are_cut_out(builtin):
    ids = builtin.tokenizer("Anna lives in Rome . Where does Anna live ?")["input_ids"]
    game = answer_game(builtin, ids, "Anna lives in Rome .", fixed=range(6, len(ids)))
    assert game.players == ("Anna", "lives", "in", "Rome", ".")
    there, gone = game.whole().payoff(np.array([[True] * 5, [False] * 5]))
    assert there - gone == pytest.approx(UNKNOWN, abs=0.02)
    grouped = answer_game(builtin, ids, "Anna lives in Rome .", players={"fact": range(1, 6)}, fixed=range(6, len(ids)))
    assert_allclose(grouped.whole().payoff(np.array([[True], [False]])), [there, gone], atol=1e-6)


def test_a_function_of_prompts_is_asked_in_the_same_way(builtin):
    made = facts("joint", 4, 3)
    own = context_game(builtin, made)

    def hosted(prompts, answer):
        return np.concatenate(
            [answer_game(builtin, p, answer, players={"first word": (0, 1)}).payoff(np.array([[True]])) for p in prompts]
        )

    game = asked_game(hosted, context=made.context, query=made.query, answer=made.answer)
    every = from_index(np.arange(16), 4)
    assert_allclose(game.payoff(every), own.payoff(every), atol=1e-6)
    assert game.outputs == ("token 1", "token 2", "token 3", "token 4", "token 5")[: len(own.outputs)]


@pytest.mark.parametrize(
    ("returned", "reason"),
    [([1.5], "above 0"), ([[float("nan")]], "finite"), ([-1.0, -2.0], "shape"), ("no", "log-probability")],
)
def test_a_function_that_returns_something_else_is_refused(returned, reason):
    with pytest.raises(BadPayoff, match=reason):
        asked_game(lambda prompts, answer: returned, "A film. It is good.", "yes", fixed="It is good.")


REFUSED = {
    "empty answer": ({"answer": "  "}, "answer"),
    "unknown words": ({"answer": "Anna lives in Atlantis ."}, "Atlantis|does not know"),
    "passages not in the prompt": ({"players": ["Anna lives in Rome .", "Clara sings ."]}, "not in the prompt"),
    "overlapping spans": ({"players": {"a": (0, 10), "b": (5, 12)}}, "overlap"),
    "a span outside": ({"players": {"a": (0, 999)}}, "within it"),
    "a span of what is fixed": ({"players": {"a": "live ?"}}, "never plays"),
    "players without a name": ({"players": 3}, "players is 3"),
    "an unknown unit": ({"players": "chapter"}, "chapter"),
    "turns of a text": ({"players": "turn"}, "messages"),
    "passages of a text": ({"players": "passage"}, "context="),
    "an unknown removal": ({"removal": "delete"}, "rebuild"),
    "a filler without its removal": ({"filler": "x"}, "filler"),
    "the same answer twice": ({"rather_than": "Anna lives in Rome ."}, "another answer"),
    "everything fixed": ({"fixed": "Anna lives in Rome . Where does Anna live ?"}, "left to play"),
    "too long": ({"answer": " ".join(["Anna"] * 600)}, "reads 512"),
}


@pytest.mark.parametrize(("times", "told"), [(200, "cut 'Anna lives in Rome"), (100, "give less context")])
def test_a_passage_that_is_too_long_alone_is_named(builtin, times, told):
    asked = {"context": ["Anna lives in Rome . " * times] * 2, "query": "Where does Anna live ?"}
    with pytest.raises(InvalidInput, match=told):
        answer_game(builtin, **asked, answer="Anna lives in Rome .")


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_with_the_call_that_works(builtin, case):
    how, reason = REFUSED[case]
    with pytest.raises(InvalidInput, match=reason):
        answer_game(
            builtin,
            "Anna lives in Rome . Where does Anna live ?",
            **({"answer": "Anna lives in Rome .", "fixed": "Where does Anna live ?"} | how),
        )


@pytest.mark.parametrize(
    "form",
    [
        {"context": []},
        {"context": "Anna"},
        {"context": ["a"], "query": ""},
        {"prompt": "a", "query": "b"},
        {},
        {"context": ["a"], "query": "b", "template": "{query}"},
        {"context": ["a"], "query": "b", "separator": "--"},
        {"prompt": ""},
        {"prompt": [{"role": "user"}]},
        {"prompt": np.array([[1.5]])},
        {"prompt": [9999]},
    ],
)
def test_prompts_that_are_none_are_refused(builtin, form):
    with pytest.raises(InvalidInput):
        answer_game(builtin, answer="Anna", **form)


def test_a_tokenizer_that_merges_across_a_span_is_named():
    model = answering("gpt2")
    with refused("unsupported"):
        answer_game(model, TEXT, "It", players={"half": (2, 5)}, removal="attention", fixed=FIXED[1])
    assert answer_game(model, TEXT, "It", players={"half": (2, 5)}).players == ("half",)


def test_attention_needs_the_token_that_the_answer_is_read_from():
    with pytest.raises(InvalidInput, match="last token"):
        answer_game(answering("gpt2"), TEXT, "It", players="sentence", removal="attention")


def test_twelve_values_each():
    assert all(len(relation.values) == 12 for relation in RELATIONS)
