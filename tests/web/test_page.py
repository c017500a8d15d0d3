"""Every view in a real browser: it works, it is silent, it stays at home, it can be saved and come back."""

from __future__ import annotations

import base64
import io
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accredit.store import Journal
from tests.views.hostile import ELEMENTS
from tests.web.conftest import random_masks, store

WAIT = 180_000  # milliseconds; generous, for machines under load
WIDTHS = (360, 768, 1280, 1920)
SERIOUS = ("serious", "critical")


class Visit:
    """One visitor, and everything that went wrong on the way."""

    def __init__(self, browser: Any, server: Any, fragment: str = "", **context: Any) -> None:
        options = {"viewport": {"width": 1280, "height": 900}, "accept_downloads": True} | context
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(WAIT)
        self.trouble: list[str] = []
        self.base = server.base
        self.page.on("console", lambda message: self.trouble.append(f"console {message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", self._requested)
        self.page.goto(server.address + fragment)
        self.page.wait_for_selector("html[data-ready]")

    def _requested(self, request: Any) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.trouble.append(f"request: {request.url}")

    def open(self, view: str) -> None:
        self.page.click(f"nav a[data-view={view}]")

    def explain(self, text: str | None = None, methods: tuple[str, ...] = ()) -> None:
        """Type, choose, press the button, and wait for the end."""
        if text is not None:
            self.page.fill("#text", text)
        if methods:
            self.page.evaluate("document.querySelector('#explain-form details').open = true")
            for box in self.page.locator("#methods input").all():
                box.set_checked(box.get_attribute("value") in methods)
        self.page.click("#explain-form .primary")
        self.finished()

    def finished(self) -> None:
        self.page.wait_for_selector("#save:not([disabled])")
        self.page.wait_for_selector("form[aria-busy]", state="detached")

    def saved(self, folder: Path) -> Path:
        with self.page.expect_download() as download:
            self.page.click("#save")
        file = folder / download.value.suggested_filename
        download.value.save_as(file)
        return file

    def close(self) -> None:
        assert self.trouble == []
        self.context.close()


def until(holds: Callable[[], bool]) -> None:
    """Wait for a fact. The page's policy forbids the browser to evaluate strings, so that Python has to ask."""
    end = time.monotonic() + WAIT / 1000
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def alone(browser: Any, file: Path) -> tuple[Any, list[str]]:
    """A saved file, opened without any server."""
    trouble: list[str] = []
    page = browser.new_context(offline=True).new_page()
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on(
        "request", lambda request: None if request.url.startswith(("file:", "data:")) else trouble.append(request.url)
    )
    page.goto(file.as_uri())
    return page, trouble


def test_one_click_colours_the_example_and_a_token_tells_its_numbers(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    assert "token=" not in page.url  # the key is out of sight
    page.click("#explain-form .primary")
    page.wait_for_selector(".lead .t .u12, .lead .t .d12")
    visit.finished()
    assert page.locator("#explain-result .method").count() == 6
    page.locator(".lead .t", has_text="gripping").click()
    assert page.locator(".inspector h2").text_content() == "gripping"
    assert page.locator(".inspector dt").count() == 6
    assert page.locator("h2", has_text="Why trust this?").count() == 1
    visit.close()


def test_typing_choosing_and_coming_back_by_the_link(browser, server):
    visit = Visit(browser, server)
    visit.explain("Dull, but the ending works.", ("leave-one-out", "attention"))
    visit.page.select_option("#target", "NEGATIVE")
    visit.page.select_option("#players", "token")
    visit.explain()
    shown = visit.page.locator("#explain-result .numbers").text_content()
    link = visit.page.url
    visit.close()
    again = Visit(browser, server, "#" + link.partition("#")[2])
    again.finished()
    assert again.page.input_value("#text") == "Dull, but the ending works."
    assert again.page.input_value("#target") == "NEGATIVE"
    assert again.page.locator("#explain-result .numbers").text_content() == shown
    assert again.page.locator("#explain-result .method").count() == 2
    again.close()


def test_cancelling_stops_the_work_and_the_next_request_runs(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    page.fill("#text", " ".join(["good", "dull", "slow", "film"] * 12))
    page.evaluate("document.querySelector('#explain-form details').open = true")
    for box in page.locator("#methods input").all():
        box.set_checked(box.get_attribute("value") in ("shapley", "banzhaf", "owen", "flow-shapley"))
    page.click("#explain-form .primary")
    until(lambda: "…" in page.locator("#explain-form .going span").text_content())
    page.click("#explain-form .cancel")
    assert page.locator("#explain-form .problem").text_content() == "Cancelled."
    assert page.locator("#explain-form .cancel").is_hidden()
    visit.explain("A good film.", ("leave-one-out",))
    assert page.locator(".lead .t", has_text="good").count() == 1
    visit.close()


def test_dragging_joins_words_and_keys_do_too(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.explain("Not good at all, sadly.", ("leave-one-out",))
    first, last = (page.locator(".lead .t", has_text=re.compile(f"{word}$")) for word in ("Not", "good"))
    first.hover()
    page.mouse.down()
    last.hover()
    page.mouse.up()
    page.wait_for_selector("#groups li")
    visit.finished()
    assert page.locator(".numbers tbody th").all_text_contents() == ["Not good", "at", "all", ",", "sadly", "."]
    page.locator(".lead .t", has_text="at").first.focus()
    page.keyboard.press("g")
    until(lambda: page.locator(".numbers tbody th").count() == 5)
    assert "at all" in page.locator(".numbers tbody th").all_text_contents()
    page.locator("#groups li button").first.click()
    until(lambda: page.locator(".numbers tbody th").count() == 6)
    visit.finished()
    visit.close()


def picture() -> bytes:
    """A shirt, as the built-in model for clothes knows them."""
    from PIL import Image

    y, x = np.mgrid[:28, :28]
    shirt = (((abs(x - 14) < 6) & (y > 5)) | ((abs(x - 14) < 11) & (y > 5) & (y < 11))).astype(np.uint8) * 200
    buffer = io.BytesIO()
    Image.fromarray(shirt).save(buffer, "PNG")
    return buffer.getvalue()


def drop(page: Any, *files: tuple[str, str, bytes]) -> None:
    """A drop of files as the browser makes it: a DataTransfer in a drop event."""
    told = [(name, kind, base64.b64encode(content).decode()) for name, kind, content in files]
    carried = page.evaluate_handle(
        """(files) => {
          const carried = new DataTransfer();
          for (const [name, type, data] of files)
            carried.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name, { type }));
          return carried;
        }""",
        told,
    )
    page.dispatch_event("#explain-form", "dragover", {"dataTransfer": carried})
    assert "dropping" in page.locator("#explain-form").get_attribute("class")
    page.dispatch_event("#explain-form", "drop", {"dataTransfer": carried})


def test_a_dropped_picture_is_explained_and_kept_by_the_saved_file(browser, server, tmp_path):
    visit = Visit(browser, server)
    page = visit.page
    page.evaluate("document.querySelector('#explain-form details').open = true")
    for box in page.locator("#methods input").all():
        box.set_checked(box.get_attribute("value") == "leave-one-out")
    drop(page, ("shirt.png", "image/png", picture()), ("other.png", "image/png", picture()))
    visit.finished()
    assert page.locator(".pictures .patch").count() > 4
    assert page.locator("#told").text_content() == "Of 2 files, the first is explained."
    assert page.locator("#picture img").is_visible() and page.locator("#text").is_hidden()
    assert page.url.endswith("#explain")  # no link can carry a picture, and this one does not pretend to
    assert "link cannot carry a picture" in page.locator("#picture").text_content()
    page.click("#link")
    assert "Save as HTML keeps it" in page.locator("#told").text_content()
    file = visit.saved(tmp_path)
    alone_page, trouble = alone(browser, file)
    assert alone_page.locator("image").first.get_attribute("href").startswith("data:image/png;base64,")
    assert alone_page.locator(".pictures .patch").count() > 4 and trouble == []
    page.click("#picture-away")
    assert page.locator("#text").is_visible() and page.locator("#picture").is_hidden()
    visit.explain("A good film.")
    assert page.locator(".lead .t", has_text="good").count() == 1
    visit.close()


def test_files_that_are_no_pictures_are_refused_in_words(browser, server):
    visit = Visit(browser, server)
    page, problem = visit.page, visit.page.locator("#explain-form .problem")
    drop(page, ("notes.txt", "text/plain", b"not a picture"))
    until(lambda: "notes.txt is no picture" in problem.text_content())
    drop(page, ("large.png", "image/png", b"0" * 5_000_001))
    until(lambda: "5.0 MB" in problem.text_content())
    drop(page, ("fake.png", "image/png", b"not a picture either"))
    until(lambda: "the file is no picture that can be read" in problem.text_content())
    # Text that is dropped belongs to the field under it: the page does not catch it.
    caught = page.evaluate(
        """() => {
          const carried = new DataTransfer();
          carried.setData("text/plain", "words");
          const event = new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true });
          document.getElementById("text").dispatchEvent(event);
          return event.defaultPrevented;
        }"""
    )
    assert caught is False
    page.click("#picture-away")
    visit.explain("A good film.", ("leave-one-out",))
    assert problem.is_hidden()
    visit.close()


def middle(locator: Any) -> dict[str, float]:
    box = locator.bounding_box()
    return {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] - 8}


def test_a_finger_joins_words_and_marked_words_are_joined_by_key(browser, server):
    visit = Visit(browser, server, has_touch=True, viewport={"width": 400, "height": 900})
    page = visit.page
    visit.explain("Not good at all, sadly.", ("leave-one-out",))
    first, last = (page.locator(".lead .t", has_text=re.compile(f"{word}$")) for word in ("Not", "good"))
    first.scroll_into_view_if_needed()
    start, end = middle(first), middle(last)
    fingers = page.context.new_cdp_session(page)
    fingers.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [start]})
    for share in (0.2, 0.4, 0.6, 0.8, 1.0):
        point = {axis: start[axis] + share * (end[axis] - start[axis]) for axis in ("x", "y")}
        fingers.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    until(lambda: page.locator(".lead .t.joining").count() == 2)
    fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_selector("#groups li")
    visit.finished()
    assert page.locator(".numbers tbody th").all_text_contents() == ["Not good", "at", "all", ",", "sadly", "."]
    page.locator(".lead .t", has_text="at").first.focus()
    for _ in range(2):
        page.keyboard.press("Shift+ArrowRight")
    assert page.locator(".lead .t.joining").count() == 3
    assert page.locator("#told").text_content() == "3 words marked; G joins them"
    page.keyboard.press("g")
    until(lambda: "at all ," in page.locator(".numbers tbody th").all_text_contents())
    visit.finished()
    link = page.url
    visit.close()
    again = Visit(browser, server, "#" + link.partition("#")[2])
    again.finished()
    assert again.page.locator(".numbers tbody th").all_text_contents() == ["Not good", "at all ,", "sadly", "."]
    again.close()


def test_a_problem_is_told_and_gone_after_the_next_success(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    page.fill("#text", "   ")
    page.click("#explain-form .primary")
    page.wait_for_selector("#explain-form .problem:not([hidden])")
    visit.explain("A good film.", ("leave-one-out",))
    assert page.locator("#explain-form .problem").is_hidden()
    visit.close()


def test_the_flow_follows_its_sliders_and_its_rule(browser, server, tmp_path):
    visit = Visit(browser, server)
    page = visit.page
    visit.open("flow")
    page.fill("#flow-text", "A gripping film.")
    page.click("#flow-form .primary")
    visit.finished()
    assert page.locator("#flow-result svg.flow :is(.cut, .tick)").count() > 0
    assert page.locator("#flow-result .whisker").count() > 0  # ranges over all max flows
    before = page.locator("#flow-result").inner_html()
    page.locator("#residual").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#residual-now").text_content() == "0.55"
    until(lambda: page.locator("#flow-result").inner_html() != before)
    page.locator("#layer").fill("2")
    page.wait_for_selector("#flow-result h2:has-text('layer 2')")
    page.check("input[name=rule][value=shapley]")
    page.wait_for_selector("#flow-result p:has-text('the Shapley rule shares without choosing edges')")
    visit.finished()
    assert "residual=0.55" in page.url and "layer=2" in page.url and "rule=shapley" in page.url
    link = page.url
    file = visit.saved(tmp_path)
    visit.close()
    page, trouble = alone(browser, file)
    assert page.locator("svg.flow").count() == 1 and trouble == []
    again = Visit(browser, server, "#" + link.partition("#")[2])
    again.finished()
    assert again.page.locator("#flow-result h2", has_text="layer 2").count() == 1
    again.close()


def test_the_game_is_computed_as_you_type(browser, server, tmp_path):
    visit = Visit(browser, server, "#game")
    page = visit.page
    page.wait_for_selector("#game-result li:has-text('the best pair is B + C')")
    page.fill("input[aria-label='payoff of A + C']", "95")
    page.wait_for_selector("#game-result li:has-text('the best single')", state="detached")
    until(lambda: "the best pair is B + C" not in page.locator("#game-result").text_content())
    for name, fact in (
        ("Corner detector", "adds nothing"),
        ("Matched pair", "d_A and d_B"),
        ("Cookies", "10 is there to share"),
    ):
        page.get_by_role("button", name=name).click()
        page.wait_for_selector(f"#game-result li:has-text('{fact}')")
    assert page.locator("#game-rows input").count() == 4
    page.fill("#game-players", "Alice, Bob, Carol")
    page.keyboard.press("Tab")
    page.wait_for_selector("#game-result li:has-text('Carol adds nothing')")
    page.fill("input[aria-label='payoff of Alice']", "")
    page.wait_for_selector("#game-form .problem:not([hidden])")
    page.fill("input[aria-label='payoff of Alice']", "7")
    page.wait_for_selector("#game-form .problem", state="hidden")
    page.wait_for_selector("#game-result td:text-is('7')")  # what Alice adds to nobody
    link, shown = page.url, page.locator("#game-result").text_content()
    file = visit.saved(tmp_path)
    visit.close()
    page, trouble = alone(browser, file)
    assert shown in page.locator("main").text_content() and trouble == []
    again = Visit(browser, server, "#" + link.partition("#")[2])
    again.page.wait_for_selector("#game-result table")
    assert again.page.locator("#game-result").text_content() == shown
    again.close()


def test_the_data_view_follows_a_journal_that_is_being_written(browser, server, tmp_path):
    visit = Visit(browser, server, "#data")
    page = visit.page
    page.wait_for_selector("#data-result h2:has-text('Interactions')")
    before = page.locator("#data-result .lede").text_content()
    with Journal(server.journal) as journal:
        store(journal, random_masks(25, seed=int(time.time())))
    until(lambda: page.locator("#data-result .lede").text_content() != before)
    assert page.locator("#data-result .whisker").count() > 0
    with page.expect_download() as download:
        page.click("#export")
    assert download.value.path().read_text().startswith("game,coalition,seed")
    with page.expect_download() as download:
        page.click("#export-values")
    assert len(download.value.path().read_text().splitlines()) == 17  # a line a row
    file, link = visit.saved(tmp_path), page.url
    visit.close()
    again = Visit(browser, server, "#" + link.partition("#")[2])
    again.page.wait_for_selector("#data-result h2:has-text('Ranking')")
    again.close()
    page, trouble = alone(browser, file)
    assert page.locator("h2", has_text="Ranking").count() == 1 and trouble == []


def test_a_saved_explanation_works_without_a_server(browser, server, tmp_path):
    visit = Visit(browser, server)
    visit.explain("A good film.", ("shapley", "flow"))
    file = visit.saved(tmp_path)
    visit.close()
    page, trouble = alone(browser, file)
    page.locator(".lead .t", has_text="good").hover()
    assert page.locator(".inspector h2").text_content() == "good"
    assert trouble == []


def test_hostile_text_runs_nothing_in_any_view(browser, server, tmp_path):
    hostile = " ".join(ELEMENTS[:3])
    visit = Visit(browser, server)
    page = visit.page
    visit.explain(hostile, ("attention",))
    page.locator(".lead .t").first.hover()
    page.locator(".lead .t").nth(3).focus()
    page.keyboard.press("g")
    visit.finished()
    file = visit.saved(tmp_path)
    visit.open("game")
    page.fill("#game-players", ", ".join(e.replace(",", ";")[:70] for e in ELEMENTS[7:10]))
    page.keyboard.press("Tab")
    until(lambda: "onerror" in page.locator("#game-result").text_content())
    visit.open("flow")
    page.fill("#flow-text", ELEMENTS[0])
    page.click("#flow-form .primary")
    visit.finished()
    assert page.evaluate("window.hit") is None
    assert page.locator("#view img, #view iframe, #view object, #view style, #view script").count() == 0
    visit.close()
    page, trouble = alone(browser, file)
    assert page.evaluate("window.hit") is None and trouble == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_no_serious_barrier_for_readers_who_cannot_see_or_point(browser, server, scheme, width):
    axe_module = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="axe-playwright-python is not installed: pip install 'accredit[test]'",
    )
    axe = axe_module.Axe()
    visit = Visit(browser, server, color_scheme=scheme, viewport={"width": width, "height": 900})
    page = visit.page

    def check(where: str) -> None:
        # axe is put in by the debugger, which the policy of the page does not bind
        found = [v for v in axe.run(page).response["violations"] if v["impact"] in SERIOUS]
        assert not found, (
            where,
            [(v["id"], v["nodes"][0]["html"][:200], v["nodes"][0]["failureSummary"]) for v in found],
        )

    visit.explain("A good, short film.", ("shapley", "attention"))
    page.evaluate("document.querySelector('#explain-form details').open = true")
    page.locator(".lead .t").first.focus()
    check("explain")
    visit.open("flow")
    page.click("#flow-form .primary")
    visit.finished()
    check("flow")
    visit.open("game")
    page.wait_for_selector("#game-result table")
    check("game")
    visit.open("data")
    page.wait_for_selector("#data-result h2")
    check("data")
    visit.close()


def test_everything_can_be_reached_by_keys(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("#text").focus()
    page.keyboard.press("Control+Enter")
    visit.finished()
    page.locator(".lead .t").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".inspector h2").text_content() == "gripping"
    page.keyboard.press("Escape")
    assert page.locator(".inspector").is_hidden()
    page.locator("nav a[data-view=game]").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#game-result table")
    visit.close()


def test_every_view_fits_every_width(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.explain(
        "A gripping film with an extraordinarily-long-compound-word-that-does-not-break.", ("shapley", "flow")
    )
    for view, ready in (("explain", "#explain-result main"), ("flow", "#flow-form"), ("game", "#game-result table"),
                        ("data", "#data-result h2")):  # fmt: skip
        visit.open(view)
        if view == "flow":
            page.click("#flow-form .primary")
            visit.finished()
        page.wait_for_selector(ready)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (view, width)
    visit.close()


def test_a_text_of_512_tokens_stays_light_and_no_token_listens(browser, server):
    """What makes it smooth, without a clock: few elements a token, no listener on any, little renewed when a method arrives."""
    from accredit.views.explanation import explanation_blocks
    from tests.views.samples import sample

    words = 510
    long = sample(" ".join(f"word{k}" for k in range(words)), flow=False)
    visit = Visit(browser, server)
    page = visit.page
    methods, blocks = len(long.attributions), explanation_blocks(long, live=True)
    page.evaluate(
        """async ([blocks, order]) => {
          const { Blocks } = await import("/static/page-parts.js");
          const shown = (window.shown = new Blocks(document.getElementById("explain-result")));
          shown.take({ title: "Why?", order, blocks }, true);
        }""",
        [blocks, list(blocks)],
    )
    page.wait_for_selector("main.live")
    assert page.locator("#explain-result *").count() < words * (4 + methods + 2 + methods) + 600
    assert page.locator("#explain-result svg *").count() < 20
    page.locator(".lead .t").nth(1).focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    assert page.locator(".inspector h2").text_content() == "word31"
    assert page.locator(".t.on").count() == 1 + methods
    debugger = page.context.new_cdp_session(page)
    for selector in (".lead .t", ".method .t", ".numbers td"):
        node = debugger.send("Runtime.evaluate", {"expression": f"document.querySelector('{selector}')"})["result"]
        assert debugger.send("DOMDebugger.getEventListeners", {"objectId": node["objectId"]})["listeners"] == []
    # A block that is not sent again is the same element, and keeps the focus.
    page.evaluate("window.kept = document.querySelector('.lead')")
    renewed = {"trust": "<section><h2>Why trust this?</h2></section>"}
    page.evaluate(
        "([blocks, order]) => window.shown.take({ title: 'Why?', order, blocks }, false)",
        [renewed, list(blocks)],
    )
    assert page.evaluate("window.kept === document.querySelector('.lead')")
    assert page.evaluate("document.activeElement.textContent") == "word31"
    visit.close()
