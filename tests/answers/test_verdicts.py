"""Verdicts: what suffices, what is told apart, and how often conformal p-values are wrong."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from accredit.answers.new_words import (
    holds,
    linking_words,
    new_words,
    says_otherwise,
    says_together,
    shared_names,
    unsaid,
    words_said,
)
from accredit.answers.planted import BOOKS, KINDS, Origin, planted_prompt, planted_prompts
from accredit.answers.verdicts import LEAST, Calibration, Scored, Surprise, usual_calibration
from accredit.errors import InvalidInput
from tests.wording import refused

NOTHING = frozenset[int]()


def group(*passages: int) -> frozenset[int]:
    return frozenset(passages)


def draw(rng: np.random.Generator, origin: Origin) -> Surprise:
    """A sentence whose surprises are spread around those of its origin, far enough to be mistaken now and then."""
    middle = {Origin.PASSAGES: (2.5, 0.8), Origin.MEMORY: (0.8, 0.8), Origin.NOWHERE: (2.5, 2.2)}[origin]
    memory, said, whole = np.expm1(np.abs(rng.normal([middle[0], middle[1], middle[1]], 0.5)))
    return Surprise(float(memory), float(whole), {group(0): float(said)})


def calibration(rng: np.random.Generator, count: int) -> Calibration:
    return Calibration.fit("drawn", [Scored(draw(rng, origin), origin) for origin in Origin.known() for _ in range(count)])


@pytest.mark.parametrize(
    ("text", "asked", "new"),
    [
        ("The capital of France is Paris.", "What is the capital of France?", ["Paris"]),
        ("Anna travelled to Rome.", "Where did Anna travel?", ["Rome"]),
        ("Kelmarsund stays in Kelmarburg.", "Who stays where, Kelmarsund?", ["Kelmarburg"]),  # a name is compared as a whole
        ("It was in 1934 that she came.", "When?", ["1934", "came"]),
        ("{'mayor': 'Pellworth'}", "Who is the mayor?", ["Pellworth"]),
        ("Die Firma Holsee baut Lampen.", "Was baut die Firma Holsee?", ["Lampen"]),
        ("Paris, Paris.", "Is it Paris?", ["Paris", "Paris"]),  # nothing new: all that has content
        ("It is.", "Is it?", ["It", "is"]),
    ],
)
def test_new_words_are_what_the_question_does_not_say(text, asked, new):
    assert [text[a:b] for a, b in new_words(text, asked)] == new


def test_names_that_are_shared_must_be_held():
    assert shared_names("Anna's dog is called Rex.", "What is Anna's dog called, Boris?") == {"anna"}
    assert shared_names("It is called Rex.", "What is Anna's dog called?") == frozenset()
    assert holds("The dog of Anna barks.", frozenset({"anna"})) and not holds("Hannah barks.", frozenset({"anna"}))


@pytest.mark.parametrize(
    ("texts", "together"),
    [
        (["Boris has the job of Clara.", "Clara works as a baker."], True),  # by Clara
        (["Boris works as a cook.", "Clara works as a baker."], False),  # two facts about two people
        (["Boris lives at 12 High Street.", "The bakery is in 12 High Street."], True),  # by 12, High and Street
        (["Boris left in May.", "Boris came back a baker."], True),  # both are about Boris
        (["Clara works as a baker."], False),  # about somebody else
        (["Boris has the job of Clara.", "Clara has the job of Dora.", "Dora works as a baker."], True),
        (["Boris has the job of Clara.", "Dora works as a baker.", "Dora has the job of Emil."], False),
        (["The cook is Boris.", "The baker is Clara."], False),  # a word that only begins sentences links nothing
    ],
)
def test_passages_are_cited_together_only_if_they_hang_together(texts, together):
    others = ["Yesterday Dora met Clara.", "The road to High Street is closed."]
    asked = "What does Boris work as?"
    linking = linking_words([*texts, *others], asked)
    assert "boris" not in linking and "the" not in linking
    by_name = "left" in texts[0]  # and by nothing else
    assert says_together(texts, frozenset(), linking) is (len(texts) == 1 or (together and not by_name))
    for order in (texts, texts[::-1]):
        assert says_together(order, frozenset({"boris"}), linking) is together


def test_what_says_it_of_somebody_else_is_not_a_source():
    alone = {group(0): 0.5, group(1): 9.0, group(0, 1): 1.0}
    seen = Surprise(10.0, 1.0, alone, named=frozenset({group(1), group(0, 1)}))
    assert (seen.least, seen.least_named) == (0.5, 1.0)
    assert [set(each) for each in seen.support()] == [{0, 1}]
    assert Surprise(10.0, 1.0, alone, named=frozenset()).support() == ()


def test_the_largest_p_value_over_books_counts_and_small_books_go_together():
    rng = np.random.default_rng(3)
    books = {"a": 30, "b": 30, "c": 6, "d": 6}
    planted = [Scored(draw(rng, o), o, book) for o in Origin.known() for book, count in books.items() for _ in range(count)]
    told = Calibration.fit("drawn", planted)
    for origin, sets in told.scores.items():
        assert sorted(map(len, sets)) == [30, 30 + 12] and min(map(len, sets)) >= LEAST, origin
        seen = draw(rng, origin)
        each = [
            Calibration("m", told.weights[[i]], {o: [some[i]] for o, some in told.scores.items()}).p_value(seen, origin)
            for i in range(len(sets))
        ]
        assert told.p_value(seen, origin) == max(each)


@pytest.mark.parametrize(
    ("alone", "support"),
    [
        ({group(0): 0.0, group(1): 9.0, group(0, 1): 0.1}, [{0}]),
        ({group(0): 0.5, group(1): 0.2, group(0, 1): 0.0}, [{1}, {0}]),  # either says it
        ({group(0): 8.0, group(1): 6.0, group(0, 1): 0.3}, [{0, 1}]),  # only both together do
        ({group(0): 9.0, group(1): 9.5, group(0, 1): 9.1}, [{0}]),  # nobody does: the verdict, not this, is to say so
    ],
)
def test_the_smallest_groups_that_take_the_surprise_away_are_the_support(alone, support):
    assert [set(each) for each in Surprise(10.0, 0.0, alone).support()] == support


def test_the_p_value_counts_planted_sentences_that_are_no_less_unlike():
    weights = np.zeros((1, 5, 3))
    weights[0, 1] = [0.0, -1.0, 1.0]  # the larger the surprise without passages, the less it is from memory
    told = Calibration("m", weights, {origin: [(0.5, 1.0, 2.0, 4.0)] for origin in Origin.known()})
    seen = Surprise(np.expm1(1.0), 0.0)
    mine = np.log(np.exp([0.0, -1.0, 1.0]).sum()) + 1.0  # −log p(from memory)
    assert 2.0 < mine < 4.0 and told.p_value(seen, Origin.MEMORY) == 2 / 5


@pytest.mark.slow
def test_no_origin_gets_more_wrong_verdicts_than_allowed():
    """600 calibrations, each judging one fresh sentence of each origin at ε = 0.2: exchangeable, so each verdict is wrong with
    probability at most 0.2. By Hoeffding a share above 0.2 + 0.108 comes up with probability e^(−2·600·0.108²) < 1e-6."""
    rng = np.random.default_rng(0)
    wrong = dict.fromkeys(Origin.known(), 0)
    told_apart = 0
    for _ in range(600):
        told = calibration(rng, 12)
        for origin in Origin.known():
            verdict = told.judge(draw(rng, origin), 0.2)
            wrong[origin] += verdict not in (origin, Origin.UNTOLD)
            told_apart += verdict is origin
    assert max(wrong.values()) <= 600 * (0.2 + 0.108)
    assert told_apart > 600  # and not because it never tells


def test_an_error_rate_needs_enough_planted_sentences():
    told = calibration(np.random.default_rng(1), 12)  # eight of each origin are scored
    assert told.check_error(0.12) == 0.12
    for error in (0.1, 0.0, 1.0):
        with pytest.raises(InvalidInput) as refused:
            told.check_error(error)
        assert (refused.value.argument, refused.value.code) == ("error", "range")
    with pytest.raises(InvalidInput) as refused:
        calibration(np.random.default_rng(1), 2)
    assert refused.value.argument == "prompts"


def test_a_calibration_is_read_as_it_was_written():
    told = usual_calibration()
    again = Calibration.from_json(told.to_json())
    assert again.scores == told.scores and (again.weights == told.weights).all() and again.fingerprint == told.fingerprint
    for damage in ('{"kind": "calibration"}', told.to_json().replace("from memory", "from nowhere"), "[]"):
        with pytest.raises(InvalidInput):
            Calibration.from_json(damage)


@pytest.mark.parametrize("book", BOOKS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_planted_is_there(kind, book):
    for seed in range(20):
        made = planted_prompt(kind, book, seed=seed)
        last = made.answer.split(". ")[-1]
        assert len(made.context) == 6 == len(set(made.context))
        gold = frozenset().union(*made.enough)
        assert bool(gold) == (made.origin is Origin.PASSAGES) == (kind in ("plain", "paraphrase", "redundant", "joint"))
        if kind in ("contradicted", "misattributed", "absent", "added"):
            assert not any(last in passage for passage in made.context)
        if kind == "joint":
            assert len(made.enough) == 1 and len(gold) == 2
        if kind == "redundant":
            assert len(made.enough) == 2 == len(gold)


def test_the_books_share_nothing():
    for first, second in combinations(BOOKS.values(), 2):
        for own in ("relations", "beside", "known"):
            assert not set(getattr(first, own)) & set(getattr(second, own))
        assert not {s for part in first.syllables for s in part} & {s for part in second.syllables for s in part}
    drawn = planted_prompts(10)
    assert [made.origin for made in drawn].count(Origin.MEMORY) == 4 == [made.origin for made in drawn].count(Origin.NOWHERE)


def test_a_book_that_is_used_up_is_said():
    with refused("too-many", "passages"):
        planted_prompt("plain", passages=60, seed=30)


def test_a_barred_verdict_is_not_given():
    told = calibration(np.random.default_rng(5), 60)
    seen = Surprise(12.0, 0.1, {group(0): 0.1})
    assert told.judge(seen) is Origin.PASSAGES
    assert told.judge(replace(seen, bars={Origin.PASSAGES: "it says otherwise"})) is Origin.UNTOLD
    assert told.judge(replace(seen, bars={Origin.NOWHERE: "in a list"})) is Origin.PASSAGES


def test_words_that_passages_do_not_say_count_against_them():
    """The same surprises: with the words in the passage and without them."""
    rng = np.random.default_rng(6)
    said, unsaid = {group(0): 1.0}, {group(0): 0.0}
    planted = [Scored(replace(draw(rng, Origin.PASSAGES), held=said), Origin.PASSAGES) for _ in range(60)]
    planted += [Scored(replace(draw(rng, Origin.PASSAGES), held=unsaid), Origin.NOWHERE) for _ in range(60)]
    planted += [Scored(replace(draw(rng, Origin.MEMORY), held=unsaid), Origin.MEMORY) for _ in range(60)]
    told, seen = Calibration.fit("drawn", planted), Surprise(11.0, 1.2, {group(0): 1.2})
    assert told.judge(replace(seen, held=said)) is Origin.PASSAGES and told.judge(replace(seen, held=unsaid)) is Origin.NOWHERE


@pytest.mark.parametrize(
    ("words", "sentence", "texts", "said"),
    [
        (["Lund", "7"], "Lund has seven dogs: 7.", ["Lund owns seven dogs."], [True, True]),
        (["Lund", "7"], "Lund has 7.", ["Lund owns 71."], [True, False]),
        (
            ["kein"],
            "Das Haus hat kein Tor.",
            ["Das Haus hat keinen Garten. Es hat ein Tor."],
            [True],
        ),  # it denies something else
        (["sings"], "Anna sings.", ["They all sing."], [True]),
        (["open"], "It is open.", ["It isn't open."], [False]),
    ],
)
def test_which_words_passages_say(words, sentence, texts, said):
    assert words_said(words, sentence, texts, frozenset()) == said


@pytest.mark.parametrize(
    ("sentence", "asked", "passage", "missing"),
    [
        ("It takes 146 hours.", "How long does it take?", "It takes 146 minutes.", "146 hours"),
        ("It takes 146 minutes.", "How long does it take?", "Time, in min: 146.", ""),
        ("It is 5 km away.", "How far is it?", "Nach 5 Kilometern ist man da.", ""),
        ("It is 5 km away.", "How far is it?", "It is 5 miles away.", "5 km"),
        (
            "It melts at 218 degrees Fahrenheit.",
            "When does it melt?",
            "It melts at 218 degrees Celsius.",
            "218 degrees Fahrenheit",
        ),
        ("It cost $ 45.", "What did it cost?", "It cost €45.", "$ 45"),
        ("It cost 45 dollars.", "What did it cost?", "It cost $45.", ""),
        ("148.", "How many kilometres is it?", "It is 148 miles.", "148"),
        ("148.", "How many rooms has it?", "It has 148 rooms.", ""),
        ("Il pèse 195 kilos.", "Combien pèse-t-il ?", "Il pèse 195 grammes.", "195 kilos"),
        ("It was on 5 July.", "When was it?", "It was on 5 August.", "5 July"),
        ("It is run by Anna.", "Who runs it?", "It is run by Boris.", "Anna"),
        ("It grew by 45 %.", "By how much did it grow?", "It grew by 45 percent.", ""),
    ],
)
def test_a_number_is_said_with_its_unit_and_a_name_by_that_name(sentence, asked, passage, missing):
    assert unsaid(sentence, asked, [[passage]], frozenset()) == missing


def test_what_names_whom_is_asked_and_gives_another_number_is_no_source_with_one_about_somebody_else():
    sentence, asked = "The Kettenbrücke is 236 m long.", "How long is the Kettenbrücke?"
    texts = ["The Kettenbrücke is 214 m long.", "The Eisenbrücke is 236 m long."]
    assert says_otherwise(sentence, asked, texts, frozenset({"kettenbrücke"})) == "214 m"
    assert not says_otherwise(
        sentence, asked, ["The Kettenbrücke is as long as the Eisenbrücke.", texts[1]], frozenset({"kettenbrücke"})
    )


def test_a_verdict_that_is_barred_counts_as_none_in_the_calibration():
    """Unsupported sentences that look supported, and are barred from it, do not make supported ones doubtful."""
    rng = np.random.default_rng(7)
    usual = [Scored(draw(rng, o), o) for o in Origin.known() for _ in range(60)]
    alike = [draw(rng, Origin.PASSAGES) for _ in range(30)]
    barred = [replace(each, bars={Origin.PASSAGES: "another unit", Origin.MEMORY: "a number"}) for each in alike]
    seen = alike[0]
    told, other = (
        Calibration.fit("drawn", [*usual, *(Scored(each, Origin.NOWHERE) for each in some)]) for some in (alike, barred)
    )
    assert told.p_value(seen, Origin.NOWHERE) > 2 * other.p_value(seen, Origin.NOWHERE)
    assert other.judge(seen) is Origin.PASSAGES


def test_a_book_is_scored_by_what_was_fitted_to_the_others():
    """A book whose sentences were all put down wrongly changes the regressions of the others, and not its own."""
    rng = np.random.default_rng(9)
    books = [[Scored(draw(rng, o), o, book) for o in Origin.known() for _ in range(LEAST)] for book in "abc"]
    turned = {Origin.PASSAGES: Origin.NOWHERE, Origin.NOWHERE: Origin.PASSAGES, Origin.MEMORY: Origin.MEMORY}
    wrong = [replace(one, origin=turned[one.origin]) for one in books[2]]
    told, other = (Calibration.fit("drawn", [*books[0], *books[1], *last]) for last in (books[2], wrong))
    np.testing.assert_array_equal(told.weights[2], other.weights[2])
    assert abs(told.weights[:2] - other.weights[:2]).max() > 0.1
