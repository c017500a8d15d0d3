"""Pages in a real browser: nothing in the console, nothing leaves the machine, nothing hostile runs, keys and pointers work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accredit import views
from accredit.core import Attribution, Claim, Holds, Precision
from accredit.explanation import Explanation, Token, explain
from accredit.games import TableGame
from accredit.values.report import report
from tests.browsing import WIDTHS, chromium, fits, new_page
from tests.views.hostile import corpus
from tests.views.samples import flow_picture, picture_sample, sample

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'accredit[test]'").expect

FOREIGN = "main img, main iframe, main object, main form, main style, main link, main base"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


class Seen:
    """A page and everything that went wrong in it."""

    def __init__(self, browser: Any, file: Path, content: str, **context: Any) -> None:
        file.write_text(content, encoding="utf-8")
        self.page = new_page(browser, **context)
        self.trouble: list[str] = []
        self.page.on("console", lambda message: self.trouble.append(f"console {message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", self._request)
        self.address = file.as_uri()
        self.page.goto(self.address)

    def _request(self, request: Any) -> None:
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
        assert fits(seen.page, width)
    assert seen.trouble == []


def test_a_request_or_an_error_would_be_noticed(browser, tmp_path):
    bad = "<!doctype html><script>console.error('x')</script><img src='http://127.0.0.1:9/x.png'>"
    seen = Seen(browser, tmp_path / "bad.html", bad)
    for kind in ("console", "request"):
        while not any(t.startswith(kind) for t in seen.trouble):  # told when the browser comes to it
            seen.page.wait_for_timeout(20)


def hostile_explanation() -> Explanation:
    """Every hostile name as a token, a player, a label, a claim, a refusal and a column of the flow."""
    names = corpus()
    assert len(names) >= 200
    text, tokens = "", []
    for name in names:
        tokens.append(Token(name, len(text), len(text) + len(name), name))
        text += name + " "
    claims = tuple(Claim(f"{name} {k}", Holds.NO, name) for k, name in enumerate(names[:20]))
    result = Attribution(
        names,
        [(-1) ** k * (k % 13) for k in range(len(names))],
        None,
        names[0],
        claims,
        stopped=names[1],
        certificate={names[2]: names[3]},
        precision=Precision.unknown(names[4]),
    )
    base = Explanation(
        text,
        tuple((n, 0.004) for n in names),
        names[0],
        tuple(names),
        ("shapley", names[5]),
        {"shapley": result},
        {names[5]: names[6]},
        tokens=tuple(tokens),
        notes=tuple(names),
        provenance={"model": names[7], "command": names[8], names[9]: names[10]},
    )
    columns = names[:40]
    return replace(base, flow=replace(flow_picture(columns), columns=tuple(columns), notes=tuple(names[:5])))


def test_hostile_names_run_nothing(browser, tmp_path):
    explanation = hostile_explanation()
    seen = Seen(browser, tmp_path / "hostile.html", views.explanation_page(explanation))
    page = seen.page
    for token in range(0, len(explanation.tokens), 7):  # hover and focus copy names into the inspector
        page.locator(".lead .t").nth(token).focus()
    page.mouse.move(300, 300)
    expect(page.locator(".inspector h2")).not_to_be_empty()
    assert page.evaluate("document.scripts.length") == 1
    assert page.locator(FOREIGN).count() == 0
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
    seen = Seen(browser, tmp_path / "page.html", views.explanation_page(explanation), viewport={"width": 1280, "height": 900})
    page = seen.page
    panel = page.locator(".inspector")
    expect(panel).to_be_hidden()
    page.locator(".lead .t", has_text="gripping").hover()
    expect(panel.locator("h2")).to_have_text("gripping")
    expect(panel.locator("dt")).to_have_count(len(explanation.attributions))
    expect(page.locator(".t.on")).to_have_count(1 + len(explanation.attributions))  # the large drawing and every strip
    shown = panel.locator("dd").first.text_content()
    assert shown is not None and float(shown.strip().replace("−", "-")) == pytest.approx(
        explanation["shapley"]["gripping"], rel=5e-3
    )


def test_keys_walk_along_and_between_strips(browser, tmp_path):
    seen = Seen(browser, tmp_path / "page.html", views.explanation_page(sample()))
    page = seen.page
    strips = page.locator(".strip")
    expect(page.locator('.strip .t[tabindex="0"]')).to_have_count(strips.count())  # one stop a strip
    page.keyboard.press("Tab")
    name = page.locator(".inspector h2")
    expect(name).to_have_text("A")
    page.keyboard.press("ArrowRight")
    expect(name).to_have_text("gripping")
    page.keyboard.press("ArrowDown")
    expect(strips.nth(1).locator(".t:focus")).to_have_count(1)
    expect(name).to_have_text("gripping")
    page.keyboard.press("End")
    expect(name).to_have_text(".")
    page.keyboard.press("Escape")
    expect(page.locator(".inspector")).to_be_hidden()
    assert seen.trouble == []


def test_everything_is_there_without_scripts(browser, tmp_path):
    explanation = sample()
    seen = Seen(browser, tmp_path / "page.html", views.explanation_page(explanation), java_script_enabled=False)
    page = seen.page
    expect(page.locator(".inspector")).to_be_hidden()
    expect(page.locator(".numbers tbody tr")).to_have_count(len(explanation.players) + 2)  # and two special tokens
    page.locator(".lead .t", has_text="gripping").click()
    expect(page).to_have_url(re.compile("#p1$"))
    expect(page.locator("tr:target th")).to_have_text("gripping")


@pytest.mark.parametrize(
    "pieces",
    ["这部电影很好看，我非常喜欢，真的很不错。", ["unbe", "liev", "ably", "-", "over", "-", "compl", "icated"]],
)
def test_words_without_spaces_between_them_stay_inside_a_phone(browser, tmp_path, pieces):
    text, tokens = "", []
    for k, piece in enumerate(pieces):
        tokens.append(Token(piece, len(text), len(text) + len(piece), f"{piece} {k}"))
        text += piece
    names = tuple(token.player for token in tokens)
    result = Attribution(names, [1.0] * len(names), float(len(names)), "shapley/Exact()", ())
    found = Explanation(
        text, (("POSITIVE", 0.9),), "POSITIVE", names, ("shapley",), {"shapley": result}, {}, tokens=tuple(tokens)
    )
    seen = Seen(browser, tmp_path / "phone.html", views.explanation_page(found))
    assert fits(seen.page, 360)
