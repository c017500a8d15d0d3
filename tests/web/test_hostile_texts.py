"""Texts and links that try to run, to confuse or to overflow: each is explained or refused in words, and none runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from accredit.errors import AccreditError
from accredit.web.explaining import explain, what_if
from accredit.web.requests import ExplainRequest, WhatIfRequest
from accredit.web.tasks import Models
from tests.views.hostile import BREAKS, CHARACTERS, ELEMENTS, corpus
from tests.web.test_page import Visit, until

UNCLEAN = re.compile(r"object at 0x|Traceback|[A-Z][a-z]+Error\b|/home/|/tmp/|site-packages")
TAGS = {
    "a",
    "abbr",
    "i",
    "p",
    "div",
    "span",
    "h2",
    "h3",
    "dl",
    "dt",
    "dd",
    "svg",
    "rect",
    "path",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "section",
    "details",
    "summary",
    "footer",
    "code",
    "b",
    "aside",
    "button",
    "ul",
    "li",
}
TEXTS = [
    *corpus()[::7],
    *CHARACTERS,
    *(c * 300 for c in CHARACTERS[::5]),
    "a" * 19_000,
    "." * 500,
    "\n" * 50 + "a",
    "0" * 200,
    "A good film. " * 3 + "\u202eevil\u202c",
    "١٢٣ فيلم",
    "👩‍👩‍👧‍👦" * 30,
    "Z" + "\u0301" * 200,
    "[MASK] [CLS] [SEP]",
]


class Harmless(HTMLParser):
    """Fails at an element that the templates do not make, at a handler, and at a link that leads outside."""

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS, self.get_starttag_text()
        for name, value in attrs:
            assert not name.startswith(("on", "style")) and name != "src", self.get_starttag_text()
            assert name != "href" or value.startswith("#"), self.get_starttag_text()


@pytest.fixture(scope="module")
def models():
    return Models(())


@pytest.mark.slow
def test_every_text_is_explained_or_refused_in_words(models):
    for text in TEXTS:
        asked = {"task": "explain", **ExplainRequest(text=text, methods=["leave-one-out"], cut=True).model_dump()}
        try:
            events = list(explain(models, asked))
        except AccreditError as error:
            assert not UNCLEAN.search(str(error)) and len(str(error)) < 400, error
            continue
        assert events[-1]["event"] == "done", (text[:40], events[-1])
        for block in events[-2]["blocks"].values():
            Harmless().feed(block)


@pytest.mark.slow
def test_changed_texts_run_nothing_either(models):
    for text in (*ELEMENTS[:6], *BREAKS[:4]):
        asked = WhatIfRequest(text="A good film.", changed=text, method="leave-one-out").model_dump()
        *_, result, done = what_if(models, {"task": "what-if", **asked})
        assert done == {"event": "done"}
        Harmless().feed(result["html"])


def fragments() -> list[str]:
    """Links of every view with values that nobody offered."""
    hostile = [
        *ELEMENTS[::6],
        *BREAKS[::6],
        "",
        "x" * 5000,
        "-1",
        "1e999",
        "null",
        "[]",
        "constructor",
        "__proto__",
        "%",
        "\ud83d",
    ]
    safe = [quote(value.encode("utf-8", "replace"), safe="") for value in hostile]
    names = [
        "text",
        "pair",
        "methods",
        "target",
        "players",
        "payoff",
        "part",
        "groups",
        "rule",
        "layer",
        "residual",
        "heads",
    ]
    explained = [f"#explain?text=A+film.&{name}={value}" for name in names[1:8] for value in safe[::3]]
    flows = [f"#flow?text=A+film.&{name}={value}" for name in names[8:] for value in safe[::5]]
    answered = [f"#answers?{name}={value}&query=x" for name in ("context", "prompt") for value in safe[::4]]
    raw = [
        "#explain?text=%",
        "#explain?%00=%00",
        "#__proto__?text=x",
        "#explain?text=a&text=b",
        "#?text=a",
        "##explain",
        "#explain?&&=&",
    ]
    return explained + flows + answered + [f"#game?players={value}" for value in safe[::4]] + raw


@pytest.mark.server
@pytest.mark.browser
def test_no_link_breaks_the_page(browser, server):
    """Every fragment is opened in one page; what it asks of the model is held back. Nothing runs, and the page still works."""
    visit = Visit(browser, server)
    page = visit.page
    page.route(re.compile(r"/api/(explain|flow|answer)$"), lambda route: route.abort())
    for fragment in fragments():
        page.evaluate("fragment => { location.hash = fragment; }", fragment)
    until(page, lambda: page.locator(".view:visible").count() == 1)
    page.unroute_all()
    assert page.evaluate("window.hit") is None
    visit.trouble = [each for each in visit.trouble if "ERR_FAILED" not in each]  # what was held back
    page.evaluate("location.hash = '#explain?text=A+good+film.&methods=leave-one-out'")
    visit.see(".lead .t", has_text="good").to_have_count(1)
    visit.close()
