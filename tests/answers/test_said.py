"""Words of an answer: where they stand, which tokens hold them, and what is said where that is not the whole story."""

from __future__ import annotations

import numpy as np
import pytest

import accredit
from accredit.answers.said import Answer, find_stretch
from accredit.core import Procedure
from tests.wording import refused, says

PIECES = ("This", " is", " P", "ell", "worth", "'s", " town", ".", " P", "ell", "worth", " is", " 4", ",", "8", '."')
FACTS = ["Anna has the job of Boris .", "Clara owns a dog .", "Boris works as a baker ."]


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        ("Pellworth", [2, 3, 4]),
        ("Pellworth (2)", [8, 9, 10]),
        ("is", [1]),  # not the end of "This"
        ("is (2)", [11]),
        ("4,8", [12, 13, 14]),
        ("town. Pellworth is", [6, 7, 8, 9, 10, 11]),
        ("hi", [0]),  # a part of a word, where it stands nowhere alone
        ("Pellworth (3)", None),
        ("Pellworth (0)", None),
        ("pellworth", None),
        (" ", None),
        ("", None),
    ],
)
def test_words_are_found_as_whole_words_and_by_number(words, tokens):
    found = find_stretch(PIECES, words)
    assert (None if found is None else found.tokens.tolist()) == tokens
    if found is not None:
        assert "".join(PIECES)[found.start : found.stop] == words.partition(" (")[0]


def test_what_stands_twice_and_what_its_tokens_hold_besides_is_said():
    (twice,) = find_stretch(PIECES, "Pellworth").notes
    assert says(twice, "2 times") and "“Pellworth (2)”" in twice
    assert "“Pellworth (1)”" in find_stretch(PIECES, "Pellworth (2)").notes[0]
    assert find_stretch(PIECES, "worth's town").notes == ()
    (more,) = find_stretch(PIECES, "orth's").notes
    assert says(more, "“worth's”")


def test_words_of_an_answer_are_whole_whatever_its_tokens_are():
    names, where = Answer(np.arange(len(PIECES)), PIECES, Procedure("given")).words
    assert names == ("This", "is", "Pellworth's", "town", ".", "Pellworth", "is (2)", "4,8", '."')
    assert np.concatenate(where).tolist() == list(range(len(PIECES)))


def test_credit_of_words_is_that_of_their_tokens_and_unknown_words_are_answered_by_near_ones():
    by_words = accredit.explain(context=FACTS, query="What does Anna do ?", target="words", methods="shapley")
    by_tokens = accredit.explain(context=FACTS, query="What does Anna do ?", methods="shapley")
    np.testing.assert_allclose(by_words.of("a baker")["shapley"].credit, by_tokens.of("a baker")["shapley"].credit)
    with refused("unknown", "output"):
        by_words.of("bakker")
    with refused("unknown", "output"):
        by_words.of("baker (2)")
    with refused("unknown", "target"):
        accredit.explain(context=FACTS, query="What does Anna do ?", target="bakker")
