"""A text beside the same text changed: what the change does, and credit on one scale."""

from dataclasses import replace

import pytest

from accredit.core import Attribution
from accredit.explanation import Explanation, Token
from accredit.views.pages.what_if import verdict, what_if_body


def explained(word: str, share: float, credit: float, unit: str = "probability") -> Explanation:
    """A text of one word."""
    said = (("POSITIVE", share), ("NEGATIVE", 1 - share))
    by_hand = {"by hand": Attribution((word,), [credit], credit, "by hand")}
    token = Token(word, 0, len(word), word)
    return Explanation(word, said, "POSITIVE", (word,), ("by hand",), by_hand, tokens=(token,), unit=unit)


@pytest.mark.parametrize(
    ("was", "now", "unit", "said"),
    [
        (0.874, 0.126, "probability", "POSITIVE falls from 87.4% to 12.6%: −74.8 points."),
        (0.1, 0.25, "probability", "POSITIVE rises from 10.0% to 25.0%: +15.0 points."),
        (0.5, 0.5001, "probability", "POSITIVE stays at 50.0%."),
        (-1.5, 2.0, "value", "POSITIVE rises from −1.5 to 2: +3.5."),
    ],
)
def test_one_sentence_says_what_the_change_does(was, now, unit, said):
    assert verdict(explained("good", was, 1.0, unit), explained("bad", now, -1.0, unit)) == said


def test_both_texts_have_one_scale_of_colours():
    """Alone, the only word of each text would have the strongest colour."""
    page = what_if_body(explained("good", 0.9, 2.0), explained("fair", 0.6, 0.5))
    assert 'class="t u12" title="good: +2"' in page and 'class="t u3" title="fair: +0.5"' in page


def test_names_are_escaped_and_a_text_that_is_read_from_the_right_says_so():
    page = what_if_body(explained("<b>", 0.9, 2.0), replace(explained("فيلم", 0.6, 0.5), notes=("<i>left out</i>",)))
    assert "<b>" not in page and "<i>" not in page and 'dir="rtl"' in page and 'dir="ltr"' in page
