"""Names that try to run, in every view: the page has the same elements as one with plain names."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from tests.views.every_view import COUNT, VIEWS
from tests.views.hostile import corpus


class Elements(HTMLParser):
    """The tags of a page with the names of their attributes, in order."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("start", range(0, len(corpus()) - COUNT, COUNT))
def test_hostile_names_add_no_element_and_no_attribute(view, start):
    names = corpus()[start : start + COUNT]
    plain = [f"name {k}".ljust(len(name), "x") for k, name in enumerate(names)]  # what is long is cut in both
    assert Elements(VIEWS[view](names)).found == Elements(VIEWS[view](plain)).found


@pytest.mark.parametrize("view", VIEWS)
def test_characters_that_turn_the_text_are_shown(view):
    names = [f"{k}\u202e\u2028\x1b[31m\x00" for k in range(COUNT)]
    drawn = VIEWS[view](names)
    assert not re.search("[\u202e\u2028\x1b\x00]", drawn) and "\\u202e\\u2028\\x1b[31m\\x00" in drawn
