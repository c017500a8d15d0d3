"""Which training texts made a language model say this, as a page: the texts with their scores, then what cannot be known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accredit.influence.trace import Trace
from accredit.views.language.headlines import trace_headline
from accredit.views.language.numbers import column
from accredit.views.language.phrases import sentence
from accredit.views.language.printable import excerpt
from accredit.views.pages.document import page
from accredit.views.pages.engine import render
from accredit.views.pages.parts import Bar, Who, bar
from accredit.views.terminal.trace_text import CANNOT, TEXT, ends_of, gradient, left_out, word_ranks, words_alone

if TYPE_CHECKING:
    from markupsafe import Markup


def trace_page(found: Trace, shown: int = 10) -> str:
    """The answer as one self-contained HTML file."""
    return page("Which training texts made the model say this?", trace_body(found, shown), script_of="sorting")


def trace_body(found: Trace, shown: int = 10) -> Markup:
    """The answer as a piece of a page."""
    towards, against = ends_of(found, shown)
    low, high = min(0.0, float(found.scores.min())), max(0.0, float(found.scores.max()))

    written = dict(zip((*towards, *against), column(found.scores[[*towards, *against]].tolist()), strict=True))

    ranks = word_ranks(found)

    def line(i: int) -> tuple[Who, str, Bar, str, str]:
        score = float(found.scores[i])
        strongest = found.tokens[int(found.by_token[i].argmax())].strip() if len(found.tokens) > 1 else ""
        return (
            Who(f"row {i + 1}", "", found.texts[i]),
            written[i],
            bar(score, (low, high), (score, score)),
            strongest,
            ranks[i],
        )

    looked = f"{len(found.facts['layers'])} layers, {found.facts['parameters']:,} parameters"
    return render(
        "trace",
        "body",
        answer=answer(found),
        headline=trace_headline(found).text,
        words=words_alone(found),
        count=f"{len(found.texts):,}",
        towards=[line(i) for i in towards],
        against=[line(i) for i in against],
        tokens=len(found.tokens) > 1,
        warnings=[sentence(warning) for warning in found.warnings],
        cannot=CANNOT,
        gradient=gradient(found),
        looked=looked,
        left_out=left_out(found),
        scale=found.facts["scale"],
    )


def answer(found: Trace) -> str:
    """The text that made it likeliest, as one sentence."""
    first = found.order[0]
    if not found.scores[first] > 0:
        return "None of the training texts made it likelier."
    return f"Row {first + 1} made it likelier than any other: “{excerpt(found.texts[first], TEXT)}”"
