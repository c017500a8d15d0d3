"""Pages in a real browser: nothing in the console, nothing leaves the machine, nothing hostile runs, keys and pointers work."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accredit import views
from accredit.core import Attribution, Claim, Holds
from accredit.explanation import Explanation, Token, explain
from accredit.games import TableGame
from accredit.values.report import report
from tests.views.hostile import corpus
from tests.views.samples import flow_picture, picture_sample, sample

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: pip install 'accredit[test]'"
)

CHROMIUM = os.environ.get("ACCREDIT_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium found; install it, or name one in ACCREDIT_CHROMIUM")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
WIDTHS = (360, 768, 1280, 1920)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


class Seen:
    """A page and everything that went wrong in it."""

    def __init__(self, browser: Any, file: Path, content: str, **context: Any) -> None:
        file.write_text(content, encoding="utf-8")
        self.page = browser.new_context(**context).new_page()
        self.trouble: list[str] = []
        self.page.on("console", lambda message: self.trouble.append(f"console {message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", self._requested)
        self.address = file.as_uri()
        self.page.goto(self.address)

    def _requested(self, request: Any) -> None:
        if not request.url.startswith(("data:", self.address)):
            self.trouble.append(f"request: {request.url}")

    def hit(self) -> Any:
        return self.page.evaluate("window.hit")


PAGES = {
    "text": lambda: views.explanation_page(sample()),
    "long text": lambda: views.explanation_page(sample(" ".join(f"word{k}," for k in range(220)), flow=False)),
    "picture": lambda: views.explanation_page(picture_sample()),
    "game": lambda: views.game_page(report(TableGame("abc", [0, 1, 2, 4, 8, 9, 11, 20])), "A game"),
}


def built_in() -> str:
    """What the first command of a newcomer writes."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    return views.explanation_page(explain("A gripping, beautifully shot film that never quite lands."))


PAGES["built-in model"] = built_in


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_load_in_silence_and_fit_every_width(browser, tmp_path, name, scheme):
    seen = Seen(browser, tmp_path / "page.html", PAGES[name](), color_scheme=scheme)
    for width in WIDTHS:
        seen.page.set_viewport_size({"width": width, "height": 900})
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.trouble == []


def test_a_request_or_an_error_would_be_noticed(browser, tmp_path):
    bad = "<!doctype html><script>console.error('x')</script><img src='http://127.0.0.1:9/x.png'>"
    seen = Seen(browser, tmp_path / "bad.html", bad)
    assert any(t.startswith("console") for t in seen.trouble)
    assert any(t.startswith("request") for t in seen.trouble)


def hostile_explanation() -> Explanation:
    """Every hostile name as a token, a player, a label, a claim, a refusal and a column of the flow."""
    names = corpus()
    assert len(names) >= 200
    text, tokens = "", []
    for name in names:
        tokens.append(Token(name, len(text), len(text) + len(name), name))
        text += name + " "
    claims = tuple(Claim("efficiency", Holds.NO, name) for name in names[:20])
    result = Attribution(names, [(-1) ** k * (k % 13) for k in range(len(names))], None, names[0], claims, stopped=names[1],
                         certificate={names[2]: names[3]}, interval_because=names[4])  # fmt: skip
    base = Explanation(text, tuple((n, 0.004) for n in names), names[0], tuple(names), ("shapley", names[5]),
                       {"shapley": result}, {names[5]: names[6]}, tokens=tuple(tokens), notes=tuple(names),
                       provenance={"model": names[7], "command": names[8], names[9]: names[10]})  # fmt: skip
    columns = names[:40]
    return replace(base, flow=replace(flow_picture(columns), columns=tuple(columns), notes=tuple(names[:5])))


def test_hostile_names_run_nothing(browser, tmp_path):
    explanation = hostile_explanation()
    seen = Seen(browser, tmp_path / "hostile.html", views.explanation_page(explanation))
    page = seen.page
    for token in range(0, len(explanation.tokens), 7):  # hover and focus copy names into the inspector
        page.locator(".lead .t").nth(token).focus()
    page.mouse.move(300, 300)
    assert page.locator(".inspector h2").text_content()
    assert page.evaluate("document.scripts.length") == 1
    assert page.locator("main img, main iframe, main object, main form, main style, main link, main base").count() == 0
    assert seen.hit() is None
    assert seen.trouble == []


def test_hostile_names_run_nothing_in_a_notebook_cell(browser, tmp_path):
    # A notebook has no policy of its own: here the escaping stands alone.
    bare = f"<!doctype html><meta charset=utf-8><body>{views.fragment(hostile_explanation())}</body>"
    seen = Seen(browser, tmp_path / "cell.html", bare)
    assert seen.page.evaluate("document.scripts.length") == 0
    assert seen.hit() is None
    assert seen.trouble == []


def test_the_corpus_runs_where_nothing_is_escaped(browser, tmp_path):
    seen = Seen(browser, tmp_path / "raw.html", "<!doctype html><meta charset=utf-8><body>" + " ".join(corpus()[:25]))
    assert seen.hit() == 1


def test_a_script_that_slipped_in_is_stopped_by_the_policy(browser, tmp_path):
    page = views.explanation_page(sample()).replace(
        "</main>", "<script>window.hit=1</script><img src=x onerror=window.hit=1></main>"
    )
    seen = Seen(browser, tmp_path / "page.html", page)
    assert seen.hit() is None


def test_pointing_at_a_token_shows_it_in_every_method(browser, tmp_path):
    explanation = sample()
    seen = Seen(
        browser, tmp_path / "page.html", views.explanation_page(explanation), viewport={"width": 1280, "height": 900}
    )
    page = seen.page
    assert page.locator(".inspector").is_hidden()
    page.locator(".lead .t", has_text="gripping").hover()
    panel = page.locator(".inspector")
    assert panel.locator("h2").text_content() == "gripping"
    assert panel.locator("dt").count() == len(explanation.attributions)
    assert page.locator(".t.on").count() == 1 + len(explanation.attributions)  # the large drawing and every strip
    shown = panel.locator("dd").first.text_content()
    assert shown is not None and float(shown.strip().replace("−", "-")) == pytest.approx(
        explanation["shapley"]["gripping"], rel=5e-3
    )


def test_keys_walk_along_and_between_strips(browser, tmp_path):
    seen = Seen(browser, tmp_path / "page.html", views.explanation_page(sample()))
    page = seen.page
    assert page.locator('.strip .t[tabindex="0"]').count() == page.locator(".strip").count()  # one stop a strip
    page.keyboard.press("Tab")
    name = page.locator(".inspector h2")
    assert name.text_content() == "A"
    page.keyboard.press("ArrowRight")
    assert name.text_content() == "gripping"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('.strip').classList.contains('lead')") is False
    assert name.text_content() == "gripping"
    page.keyboard.press("End")
    assert name.text_content() == "."
    page.keyboard.press("Escape")
    assert page.locator(".inspector").is_hidden()
    assert seen.trouble == []


def test_everything_is_there_without_scripts(browser, tmp_path):
    explanation = sample()
    seen = Seen(browser, tmp_path / "page.html", views.explanation_page(explanation), java_script_enabled=False)
    page = seen.page
    assert page.locator(".inspector").is_hidden()
    assert page.locator(".numbers tbody tr").count() == len(explanation.players) + 2  # and two special tokens
    page.locator(".lead .t", has_text="gripping").click()
    assert page.url.endswith("#p1")
    assert page.locator("tr:target th").text_content() == "gripping"
