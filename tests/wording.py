"""What errors say, sentence by sentence, in one file: tests state the kind, the code and the argument of an error, and a
sentence may improve without a change in any of them. `make wording` writes the file anew; its diff is what a reviewer reads.

    with refused("range", "budget"):
        shapley(game, budget=-1)
"""

from __future__ import annotations

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
            pytest.fail(f"an error is worded otherwise; if it is better so: {COMMAND}\n- {before}\n+ {said}", pytrace=False)

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
    code: Code, argument: str = "", kind: type[AccreditError] = InvalidInput
) -> Iterator[pytest.ExceptionInfo[AccreditError]]:
    """Within, an error of exactly this kind, code and argument is raised, in the words that the file has for it."""
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert (type(error), error.code, error.argument) == (kind, code, argument), str(error)
    BOOK.read(str(error))
