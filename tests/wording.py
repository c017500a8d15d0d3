"""What errors, notes and pages say, sentence by sentence, in one file: tests state the kind, the code and the argument of an
error, or the fact in a few words, and a sentence may improve without a change in any of them. `make wording` writes the file
anew; its diff is what a reviewer reads.

    with refused("range", "budget"):
        shapley(game, budget=-1)
    assert says(page, "30 of 60")  # the whole sentence with these words is as in the file
    assert reads(photo.steps)  # all of it is as in the file
"""

from __future__ import annotations

import html
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from accredit.errors import AccreditError, Code, InvalidInput

FILE = Path(__file__).with_suffix(".json")
COMMAND = "make wording"
TEMPORARY = re.escape(tempfile.gettempdir())
PLACES = (  # what differs between machines and runs, and what stands for it
    (rf"{TEMPORARY}/pytest-of-[^/]+/pytest-[^/]+/(?:popen-gw\d+/)?[\w.-]+", "TMP"),
    (rf"{TEMPORARY}/tmp\w+", "TMP"),
    (re.escape(str(FILE.parents[1])), "ROOT"),
    (r"0x[0-9a-f]{6,}", "0x…"),
)


def plain(message: str) -> str:
    """A message without places of this machine and this run."""
    for place, name in PLACES:
        message = re.sub(place, name, message)
    return message


@dataclass
class Book:
    """The sentences of every test, in the order in which it meets them."""

    sentences: dict[str, list[str]]
    rewrites: bool = False
    test: str = ""  # the test that runs
    seen: dict[str, list[str]] = field(default_factory=dict)  # of the tests of this process
    passed: set[str] = field(default_factory=set)

    def turn_to(self, test: str) -> None:
        self.test = test
        self.seen[test] = []

    def read(self, message: str) -> None:
        """Compare the next sentence of the test that runs, or keep it where the file is written anew."""
        said, known = plain(message), self.sentences.get(self.test, [])
        page = self.seen.setdefault(self.test, [])
        page.append(said)
        if self.rewrites:
            return
        if len(page) > len(known):
            pytest.fail(
                f"{FILE.name} has no sentence {len(page)} of this test; write it with {COMMAND}\n+ {said}", pytrace=False
            )
        if said != known[len(page) - 1]:
            before = known[len(page) - 1]
            pytest.fail(f"this is worded otherwise; if it is better so: {COMMAND}\n- {before}\n+ {said}", pytrace=False)

    def written_anew(self) -> dict[str, list[str]]:
        """What the tests that passed here met."""
        return {test: page for test, page in self.seen.items() if test in self.passed}


def merge(known: dict[str, list[str]], found: dict[str, list[str]], collected: Iterable[str]) -> dict[str, list[str]]:
    """Tests that ran have what they met; of the others, those that are no longer in a file that was collected are left out.

    >>> merge({"a::old": ["x"], "b::far": ["y"]}, {"a::new": ["z"], "a::quiet": []}, ["a::new", "a::quiet"])
    {'a::new': ['z'], 'b::far': ['y']}
    """
    tests = set(collected)
    files = {test.partition("::")[0] for test in tests}
    kept = {test: page for test, page in known.items() if test in tests or test.partition("::")[0] not in files}
    return {test: page for test, page in sorted((kept | found).items()) if page}


def read_sentences() -> dict[str, list[str]]:
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def write_sentences(sentences: dict[str, list[str]]) -> None:
    FILE.write_text(json.dumps(sentences, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


BOOK = Book(read_sentences())


@contextmanager
def refused(
    code: Code, argument: str = "", kind: type[AccreditError] = InvalidInput, *, has: str = ""
) -> Iterator[pytest.ExceptionInfo[AccreditError]]:
    """Within, an error of exactly this kind, code and argument is raised, in the words that the file has for it; or, where it
    quotes another library or digits that a processor decides, one that has these few words."""
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert (type(error), error.code, error.argument) == (kind, code, argument), str(error)
    if has:
        assert has in str(error)
    else:
        BOOK.read(str(error))


BREAKS = re.compile(
    r"<(?:br|/?(?:p|li|[uo]l|t[dhr]|h\d|d[dlt]|div|section|figcaption|caption|title|summary|text|pre|button|label)\b)[^>]*>"
)
MARKUP = re.compile(r"</(?:p|div|span|section|li|td|tr|h\d|b|svg|html)>")
TAG, END = re.compile(r"<[^>]*>"), re.compile(r"(?<=[.!?])\s+|\n")
DIGITS = re.compile(
    r"(?:< )?\d+\.\d+|(?:< )?\b\d[\d.,]*(?=%| (?:s|ms|seconds|minutes)\b)"
)  # that a processor decides, or a clock


def sentence_with(text: str, words: str) -> str | None:
    """The first sentence, or line, of a text or a page that has these words; none where they are not there.

    Numbers with decimals and shares are not part of it, nor is the time that something took: a test that is about one has
    it among its words.

    >>> sentence_with("<p>One row is left.</p><p>Two rows are\\n<b>too</b> many; drop one</p>", "too many")
    'Two rows are too many; drop one'
    >>> sentence_with("0.5 of 1.25, or 40%, explained in 3 s", "0.5 of"), sentence_with("One row.", "two")
    ('0.5 of …, or …%, explained in … s', None)
    """
    if MARKUP.search(text):
        text = html.unescape(TAG.sub("", BREAKS.sub("\n", " ".join(text.split()))))
    found = next((part for part in END.split(text) if words in part), None)
    if found is None:
        return None
    before, _, after = found.partition(words)
    return " ".join(f"{DIGITS.sub('…', before)}{words}{DIGITS.sub('…', after)}".split())


def says(text: object, words: str) -> bool:
    """Whether a text, a page or one of several notes has these few words; the sentence with them is compared with the file."""
    found = sentence_with(_joined(text), words)
    if found is not None:
        BOOK.read(found)
    return found is not None


def reads(text: object) -> bool:
    """A text, or several as one, that is compared with the file as a whole."""
    BOOK.read(_joined(text))
    return True


def _joined(text: object) -> str:
    return "\n".join(map(str, text)) if isinstance(text, list | tuple | map) else str(text)


@contextmanager
def warned(words: str, kind: type[Warning] = RuntimeWarning) -> Iterator[None]:
    """Within, a warning that has these few words is given; the sentence that has them is compared with the file."""
    with pytest.warns(kind) as caught:
        yield
    assert any(says(warning.message, words) for warning in caught), [str(warning.message) for warning in caught]
