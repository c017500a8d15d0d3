import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from accredit.explanation import Explanation, Token
from accredit.views.language.segments import segments
from accredit.views.pages.token_strips import PIECE, paragraphs
from tests.views.samples import sample


def explanation(text, tokens):
    return Explanation(text, (), "", (), (), {}, tokens=tuple(tokens))


@given(st.text(max_size=60), st.randoms(use_true_random=False))
@settings(derandomize=True, deadline=None)
def test_every_character_is_shown_once_and_in_order(text, random):
    words = [(m.start(), m.end()) for m in re.finditer(r"\S+", text)]
    tokens = []
    for k, (a, b) in enumerate(words):
        middle = random.randint(a, b)
        for start, end in ((a, middle), (middle, b)):
            if end > start:
                tokens.append(Token(text[start:end], start, end, f"p{k if random.random() < 0.5 else len(tokens) + 100}"))
    assert "".join(s.text for s in segments(explanation(text, tokens))) == text


def test_pieces_of_one_word_are_one_segment():
    found = [s for s in segments(sample("unkind words hurt")) if s.player]
    assert [s.text for s in found] == ["[CLS]", "unkind", "words", "hurt", "[SEP]"]


def test_a_space_that_a_tokenizer_counts_to_the_word_stays_outside_its_colour():
    tokens = [Token("good", 0, 4, "good"), Token("film", 4, 9, "film")]
    assert [s.text for s in segments(explanation("good film", tokens))] == ["good", " ", "film"]


def test_tokens_that_share_a_character_are_all_shown():
    tokens = [Token("🤷", 0, 1, "a"), Token("(2)", 0, 1, "b")]
    assert [s.text for s in segments(explanation("🤷", tokens))] == ["🤷", "(2)"]


def test_a_byte_of_a_character_that_is_there_has_a_mark():
    tokens = [Token("🤷", 0, 1, "a"), Token("🤷", 0, 1, "b"), Token("🤷", 0, 1, "c")]
    found = segments(explanation("🤷", tokens))
    assert [(s.text, s.written) for s in found] == [("🤷", True), ("·", False), ("·", False)]


def test_a_mask_that_the_author_wrote_is_part_of_the_text():
    tokens = [Token("A", 0, 1, "A"), Token("[MASK]", 2, 8, "[MASK]", True), Token("film", 9, 13, "film")]
    assert "".join(s.text for s in segments(explanation("A [MASK] film", tokens)) if s.written) == "A [MASK] film"


def test_the_second_text_of_a_pair_has_its_own_segments():
    both = replace(explanation("good", [Token("good", 0, 4, "good"), Token("bad", 1, 4, "bad", part=1)]), pair="(bad)")
    assert [[s.text for s in segments(both, part)] for part in (0, 1)] == [["good"], ["(", "bad", ")"]]


def test_what_the_model_did_not_read_stays_plain():
    tail = segments(explanation("one two three", [Token("one", 0, 3, "one")]))[-1]
    assert (tail.text, tail.player) == (" two three", None)


def words(count, text="word"):
    return [(k, "t", "", f"{text}{k}", "z", "", "") for k in range(count)]


def test_paragraphs_lose_no_word_and_none_is_long():
    spaced = [(" ", [word], False) for word in words(1000)]
    sentences = [(" ", [word], False) if k % 30 else (". ", [word], False) for k, word in enumerate(words(1000))]
    unspaced = [("", words(1000, "好"), False)]
    for runs in (spaced, sentences, unspaced, [], spaced[:PIECE]):
        made = paragraphs(runs)
        shown = [word for piece in made for _, some, _ in piece for word in some]
        assert shown == [word for _, some, _ in runs for word in some]
        assert all(sum(len(some) for _, some, _ in piece) <= 2 * PIECE for piece in made)
        assert len(made) > 5 if len(shown) == 1000 else len(made) == 1


def test_paragraphs_begin_after_a_sentence_where_one_ends():
    runs = [(" ", [word], False) if k % 30 else (". ", [word], False) for k, word in enumerate(words(300))]
    made = paragraphs(runs)
    assert len(made) > 1 and all(piece[0][1][0][0] % 30 == 0 for piece in made)
