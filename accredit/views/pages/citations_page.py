"""Citations as a page: the answer with numbered notes, what shows each verdict, and the passages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accredit.explanation.citations import Citations
from accredit.views.language.headlines import headline
from accredit.views.pages.document import page
from accredit.views.pages.engine import render
from accredit.views.terminal.citations_text import MARKS, evidence, promise, verdict

if TYPE_CHECKING:
    from markupsafe import Markup


def citations_body(found: Citations) -> Markup:
    """The answer with its notes as a piece of a page."""
    return render("citations", "body", query=found.query, passages=_passages(found), **_judged(found))


def verdict_block(found: Citations) -> Markup:
    """The same above an explained answer: passages that are cited, and what shows each verdict on demand."""
    return render("citations", "verdict", passages=[each for each in _passages(found) if each[2]], **_judged(found))


def _judged(found: Citations) -> dict[str, Any]:
    return {
        "headline": headline(found).text,
        "sentences": [
            (found.text_of(each), each.verdict.name.lower(), each.cited, MARKS[each.verdict], number)
            for number, each in enumerate(found, 1)
        ],
        "notes": [(found.text_of(each), each.verdict.name.lower(), verdict(each), evidence(found, each)) for each in found],
        "promise": promise(found),
        "remarks": [str(note) for note in found.notes],
    }


def _passages(found: Citations) -> list[tuple[int, list[tuple[str, bool]], bool]]:
    """Each passage with its number, its text in pieces that are quoted or not, and whether a sentence cites it."""
    return [(i + 1, _pieces(found, i), any(i in each.cited for each in found)) for i in range(len(found.passages))]


def _pieces(found: Citations, passage: int) -> list[tuple[str, bool]]:
    text, at, pieces = found.passages[passage], 0, list[tuple[str, bool]]()
    quotes = {(one.start, one.stop) for each in found for one in each.quotes if one.passage == passage}
    for start, stop in sorted(quotes):
        if start >= at:
            pieces += [(text[at:start], False), (text[start:stop], True)]
            at = stop
    return [piece for piece in [*pieces, (text[at:], False)] if piece[0]]


def citations_page(found: Citations) -> str:
    """The same as one self-contained HTML file."""
    return page("Where does each sentence come from?", citations_body(found))
