"""Every view in a real browser: it works, it is silent, it stays at home, it can be saved and come back."""

from __future__ import annotations

import base64
import io
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from accredit.store import Journal
from accredit.web.data import watch
from tests.browsing import WAIT, WIDTHS, fits, new_page
from tests.views.hostile import ELEMENTS
from tests.web.conftest import random_masks, store

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'accredit[test]'").expect

# Messages go away by themselves; a slow reader finds them here.
REMEMBER_WHAT_IS_SAID = """
window.said = [];
new MutationObserver(() => {
  const told = document.getElementById("told")?.textContent;
  if (told && told !== said.at(-1)) said.push(told);
}).observe(document, { subtree: true, childList: true, characterData: true });
"""


class Visit:
    """One visitor, and everything that went wrong on the way."""

    def __init__(self, browser: Any, server: Any, fragment: str = "", **context: Any) -> None:
        options = {"viewport": {"width": 1280, "height": 900}, "accept_downloads": True} | context
        self.page = new_page(browser, **options)
        self.page.add_init_script(REMEMBER_WHAT_IS_SAID)
        self.trouble: list[str] = []
        self.asked: list[str] = []  # of the server's routes, in order
        self.base, self.address = server.base, server.address
        self.page.on("console", lambda message: self.trouble.append(f"console {message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", self._request)
        self.goto(fragment)

    def goto(self, fragment: str) -> None:
        self.page.goto(self.address + fragment)
        self.page.wait_for_selector("html[data-ready]")

    def _request(self, request: Any) -> None:
        self.asked += [path for path in [urlsplit(request.url).path] if path.startswith("/api/")]
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.trouble.append(f"request: {request.url}")

    def see(self, selector: str, **options: Any) -> Any:
        """What is said of a part of the page, which may take its time to become true."""
        return expect(self.page.locator(selector, **options))

    @property
    def link(self) -> str:
        """The fragment that restores the view."""
        return str(self.page.evaluate("location.hash"))

    def open(self, view: str) -> None:
        self.page.click(f"nav a[data-view={view}]")

    @contextmanager
    def working(self, path: str = "/api/explain") -> Iterator[None]:
        """What is done inside asks the server; afterwards the answer is on the page, to its end."""
        with self.page.expect_request(lambda request: urlsplit(request.url).path == path):
            yield
        self.finished()

    def finished(self) -> None:
        self.see("#save").to_be_enabled()
        self.see("form[aria-busy]").to_have_count(0)

    def edit(self) -> None:
        """Opens the form again that has shrunk to one line."""
        line = self.page.locator("form:visible > .brief-line")
        if line.count() and line.first.is_visible():
            line.first.click()

    def write(self, text: str) -> None:
        self.edit()
        self.page.fill("#text", text)

    def choose(self, *methods: str) -> None:
        self.edit()
        self.page.evaluate("document.querySelectorAll('#explain-form details').forEach((each) => (each.open = true))")
        for box in self.page.locator("#methods input").all():
            box.set_checked(box.get_attribute("value") in methods)

    def explain(self, text: str | None = None, *methods: str) -> None:
        """Type, choose, press the button, and wait for the end."""
        self.edit()
        if text is not None:
            self.write(text)
        if methods:
            self.choose(*methods)
        with self.working():
            self.page.click("#explain-form .primary")

    def said(self, message: str) -> None:
        """Waits until the page has said this, at any time."""
        until(self.page, lambda: message in self.page.evaluate("window.said"))

    @contextmanager
    def held(self, path: str) -> Iterator[list[Any]]:
        """Requests to a path get no answer inside, until they are let on with `continue_`."""
        waiting: list[Any] = []
        self.page.route(lambda url: urlsplit(url).path == path, lambda route: waiting.append(route))
        yield waiting
        self.page.unroute_all()

    def saved(self, folder: Path) -> Path:
        with self.page.expect_download() as download:
            self.page.click("#save")
        file = folder / download.value.suggested_filename
        download.value.save_as(file)
        return file

    def close(self) -> None:
        assert self.trouble == []
        self.page.context.close()


def until(page: Any, holds: Callable[[], bool]) -> None:
    """Wait for a fact that no locator tells; the page's policy forbids the browser to evaluate strings, so Python asks."""
    end = time.monotonic() + WAIT / 1000
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        page.wait_for_timeout(50)


def alone(browser: Any, file: Path) -> tuple[Any, list[str]]:
    """A saved file, opened without any server."""
    trouble: list[str] = []
    page = new_page(browser, offline=True)
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(("file:", "data:")) else trouble.append(request.url))
    page.goto(file.as_uri())
    return page, trouble


PLAYERS = ".numbers tbody th"


def test_one_click_colours_the_example_and_a_token_tells_its_numbers(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    assert "token=" not in page.evaluate("location.href")  # the key is out of sight
    with visit.working():
        page.click("#explain-form .primary")
        page.wait_for_selector(".lead .t .u12, .lead .t .d12")
    visit.see("#explain-result .method").to_have_count(6)
    page.locator(".lead .t", has_text="gripping").click()
    visit.see(".inspector h2").to_have_text("gripping")
    visit.see(".inspector dt").to_have_count(6)
    visit.see("h2", has_text="Why trust this?").to_have_count(1)
    visit.close()


def test_typing_choosing_and_coming_back_by_the_link(browser, server):
    visit = Visit(browser, server)
    visit.explain("Dull, but the ending works.", "leave-one-out", "attention")
    visit.edit()
    visit.page.select_option("#target", "NEGATIVE")
    visit.page.select_option("#players", "token")
    visit.explain()
    shown = visit.page.locator("#explain-result .numbers").text_content()
    link = visit.link
    visit.close()
    again = Visit(browser, server, link)
    again.finished()
    again.see("#text").to_have_value("Dull, but the ending works.")
    again.see("#target").to_have_value("NEGATIVE")
    again.see("#explain-result .numbers").to_have_text(shown)
    again.see("#explain-result .method").to_have_count(2)
    again.close()


def test_cancelling_stops_the_work_and_the_next_request_runs(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.explain("A dull film.", "leave-one-out")
    with server.paused():
        visit.write("A very long film.")
        page.click("#explain-form .primary")
        visit.see("#explain-form .going span").to_contain_text("Starting")
        visit.see("#explain-result").to_have_class("result stale")  # what is shown is not what was asked
        page.click("#explain-form .cancel")
        visit.see("#explain-form .problem").to_have_text("Cancelled.")
        visit.see("#explain-form .cancel").to_be_hidden()
        visit.see("#explain-result").to_have_class("result stale")  # still that of the text before
        visit.see(".earlier:visible").to_have_text("This is for the earlier text, “A dull film.”:")
        visit.see("#explain-form .primary").to_be_visible()
    visit.explain("A good film.")
    visit.see(".lead .t", has_text="good").to_have_count(1)
    visit.see("#explain-form .problem").to_be_hidden()
    visit.close()


def test_a_request_that_is_overtaken_leaves_no_trace(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.explain("A dull film.", "leave-one-out")
    with visit.held("/api/explain") as waiting:
        for text in ("A slow film.", "A good film."):
            visit.write(text)
            with page.expect_request("**/api/explain"):
                page.click("#explain-form .primary")
        until(page, lambda: len(waiting) == 2)
        visit.see("#explain-form .cancel").to_be_visible()
        visit.see("#explain-result").to_have_class("result stale")
        visit.see("#save").to_be_disabled()
        waiting[1].continue_()
        visit.finished()
    visit.see(".lead .t", has_text="good").to_have_count(1)
    visit.see("#explain-form .problem").to_be_hidden()
    visit.close()


def drag(page: Any, first: str, last: str) -> None:
    """With the mouse, from one word of the large strip to another."""
    start, end = (page.locator(".lead .t", has_text=re.compile(f"{word}$")).first for word in (first, last))
    start.hover()
    page.mouse.down()
    end.hover()
    expect(end).to_have_class(re.compile("joining"))
    page.mouse.up()


def test_dragging_joins_words_and_keys_do_too(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.explain("Not good at all, sadly.", "leave-one-out")
    with visit.working():
        drag(page, "Not", "good")
    visit.see("#groups li").to_have_text(["Not good✕"])
    visit.see(PLAYERS).to_have_text(["Not good", "at", "all", ",", "sadly", "."])
    page.locator(".lead .t", has_text="at").first.focus()
    with visit.working():
        page.keyboard.press("g")
    visit.see(PLAYERS).to_have_text(["Not good", "at all", ",", "sadly", "."])
    page.locator(".lead .t", has_text="Not").first.click()
    with visit.working():
        page.click("#join")
    visit.see(PLAYERS).to_have_text(["Not good at all", ",", "sadly", "."])
    with visit.working():
        page.locator("#groups li button").first.click()
    visit.see(PLAYERS).to_have_text(["Not", "good", "at", "all", ",", "sadly", "."])
    visit.see("#groups li").to_have_count(0)
    visit.close()


def test_equal_words_join_twice_and_words_of_several_tokens_stay_words(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.explain("so zzyzx so zzyzx 🎬🎬.", "leave-one-out")
    whole = page.locator(PLAYERS).all_text_contents()
    for k in (2, 0):  # from the end, so that what is before keeps its place
        page.locator(".lead .t").nth(k).focus()
        with visit.working():
            page.keyboard.press("g")
    visit.see("#groups li").to_have_text(["so zzyzx✕", "so zzyzx (2)✕"])
    visit.see(PLAYERS).to_have_count(len(whole) - 2)
    link = visit.link
    groups = json.loads(parse_qs(link.partition("?")[2])["groups"][0])
    assert any(len(own) > 1 for _, parts in groups for _, own in parts)  # a made-up word is read in pieces
    for left in (1, 0):
        with visit.working():
            page.locator("#groups li button").last.click()
        visit.see("#groups li").to_have_count(left)
        visit.see(PLAYERS).to_have_count(len(whole) - left)
    visit.see(PLAYERS).to_have_text(whole)
    visit.close()
    again = Visit(browser, server, link)
    again.finished()
    again.see(PLAYERS).to_have_count(len(whole) - 2)
    again.see("#groups li").to_have_count(2)
    again.close()


def test_words_of_an_old_text_are_not_joined_in_a_new_one(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.explain("Not good at all.", "leave-one-out")
    visit.write("Rather good.")
    asked = len(visit.asked)
    drag(page, "Not", "good")
    visit.see("#explain-form .problem").to_have_text("The text has changed. Explain it first, then join its words.")
    assert visit.asked[asked:] == []
    page.locator(".lead .t", has_text=re.compile(r"\.$")).first.focus()
    page.keyboard.press("g")
    visit.said("There is no next word to join this one with.")
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
    expect(page.locator("#explain-form")).to_have_class(re.compile("dropping"))
    page.dispatch_event("#explain-form", "drop", {"dataTransfer": carried})
    expect(page.locator("#explain-form")).not_to_have_class(re.compile("dropping"))


def test_a_dropped_picture_is_explained_and_kept_by_the_saved_file(browser, server, tmp_path):
    visit = Visit(browser, server)
    page = visit.page
    visit.choose("leave-one-out")
    with visit.working():
        drop(page, ("shirt.png", "image/png", picture()), ("other.png", "image/png", picture()))
    visit.see("#explain-form .problem").to_have_text("Of 2 files, the first is explained.")
    assert page.locator(".pictures .patch").count() > 4
    visit.see("#text").to_be_hidden()
    visit.edit()
    visit.see("#picture img").to_be_visible()
    assert visit.link == "#explain"  # no link can carry a picture, and this one does not pretend to
    visit.see("#picture").to_contain_text("link cannot carry a picture")
    page.click("#link")
    visit.said("A link cannot carry a picture. Save as HTML keeps it.")
    file = visit.saved(tmp_path)
    alone_page, trouble = alone(browser, file)
    expect(alone_page.locator("image").first).to_have_attribute("href", re.compile("^data:image/png;base64,"))
    assert alone_page.locator(".pictures .patch").count() > 4 and trouble == []
    page.click("#picture-away")
    visit.see("#text").to_be_visible()
    visit.see("#picture").to_be_hidden()
    visit.explain("A good film.")
    visit.see(".lead .t", has_text="good").to_have_count(1)
    visit.close()


def test_going_back_to_the_text_ends_what_is_asked_about_a_picture(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    with visit.held("/api/explain") as waiting:
        drop(page, ("shirt.png", "image/png", picture()))
        visit.see("#explain-form .cancel").to_be_visible()
        until(page, lambda: len(waiting) == 1)
        with page.expect_event("requestfailed"):
            page.click("#picture-away")
    visit.see("#explain-form .cancel").to_be_hidden()
    visit.see("#h-explain").to_have_text("Which words led to this prediction?")
    visit.choose("leave-one-out")
    with visit.working():
        page.set_input_files("#image", {"name": "chosen.png", "mimeType": "image/png", "buffer": picture()})
    visit.see("#picture-name").to_have_text("chosen.png")
    visit.see("#image").to_have_value("")  # the same file may be chosen again
    visit.close()


def test_files_that_are_no_pictures_are_refused_in_words(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    drop(page, ("notes.txt", "text/plain", b"not a picture"))
    visit.see("#explain-form .problem").to_contain_text("notes.txt is not a picture")
    drop(page, ("large.png", "image/png", b"0" * 5_000_001))
    visit.see("#explain-form .problem").to_contain_text("5.0 MB")
    drop(page, ("fake.png", "image/png", b"not a picture either"))
    visit.see("#explain-form .problem").to_contain_text("The file cannot be opened as a picture")
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
    visit.explain("A good film.", "leave-one-out")
    visit.see("#explain-form .problem").to_be_hidden()
    visit.close()


def middle(locator: Any) -> dict[str, float]:
    box = locator.bounding_box()
    return {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] - 8}


def test_a_finger_joins_words_and_marked_words_are_joined_by_key(browser, server):
    visit = Visit(browser, server, has_touch=True, viewport={"width": 400, "height": 900})
    page = visit.page
    visit.explain("Not good at all, sadly.", "leave-one-out")
    first, last = (page.locator(".lead .t", has_text=re.compile(f"{word}$")) for word in ("Not", "good"))
    first.scroll_into_view_if_needed()
    start, end = middle(first), middle(last)
    fingers = page.context.new_cdp_session(page)
    with visit.working():
        fingers.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [start]})
        for share in (0.2, 0.4, 0.6, 0.8, 1.0):
            point = {axis: start[axis] + share * (end[axis] - start[axis]) for axis in ("x", "y")}
            fingers.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
        visit.see(".lead .t.joining").to_have_count(2)
        fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    visit.see(PLAYERS).to_have_text(["Not good", "at", "all", ",", "sadly", "."])
    page.locator(".lead .t", has_text="at").first.focus()
    page.keyboard.press("Shift+ArrowRight")
    visit.see(".lead .t.joining").to_have_count(2)
    page.keyboard.press("ArrowLeft")  # without Shift, marking ends
    visit.see(".lead .t.joining").to_have_count(0)
    for _ in range(2):
        page.keyboard.press("Shift+ArrowRight")
    visit.see(".lead .t.joining").to_have_count(3)
    visit.said("3 words marked; G joins them")
    with visit.working():
        page.keyboard.press("g")
    visit.see(PLAYERS).to_have_text(["Not good", "at all ,", "sadly", "."])
    link = visit.link
    visit.close()
    again = Visit(browser, server, link)
    again.finished()
    again.see(PLAYERS).to_have_text(["Not good", "at all ,", "sadly", "."])
    again.close()


def test_a_problem_is_told_and_gone_after_the_next_success(browser, server):
    visit = Visit(browser, server)
    visit.write("   ")
    visit.page.click("#explain-form .primary")
    visit.see("#explain-form .problem").to_be_visible()
    visit.see("#explain-form .cancel").to_be_hidden()
    visit.explain("A good film.", "leave-one-out")
    visit.see("#explain-form .problem").to_be_hidden()
    visit.close()


def test_the_flow_follows_its_sliders_and_its_rule(browser, server, tmp_path):
    visit = Visit(browser, server)
    page = visit.page
    visit.open("flow")
    page.fill("#flow-text", "A gripping film.")
    with visit.working("/api/flow"):
        page.click("#flow-form .primary")
    assert page.locator("#flow-result svg.flow :is(.cut, .tick)").count() > 0
    assert page.locator("#flow-result .whisker").count() > 0  # ranges over all max flows
    before = page.locator("#flow-result").inner_html()
    page.click("#flow-more summary")  # the answer comes before its knobs
    page.locator("#residual").focus()
    with visit.working("/api/flow"):
        page.keyboard.press("ArrowRight")
    visit.see("#residual-now").to_have_text("0.55")
    assert page.locator("#flow-result").inner_html() != before
    with visit.working("/api/flow"):
        page.locator("#layer").fill("2")
    visit.see("#flow-result h2", has_text="layer 2").to_have_count(1)
    with visit.working("/api/flow"):
        page.check("input[name=rule][value=shapley]")
    visit.see("#flow-result p", has_text="the Shapley rule shares without choosing edges").to_have_count(1)
    link = visit.link
    assert "residual=0.55" in link and "layer=2" in link and "rule=shapley" in link
    file = visit.saved(tmp_path)
    visit.close()
    page, trouble = alone(browser, file)
    expect(page.locator("svg.flow")).to_have_count(1)
    assert trouble == []
    again = Visit(browser, server, link)
    again.finished()
    again.see("#flow-result h2", has_text="layer 2").to_have_count(1)
    again.see("#residual-now").to_have_text("0.55")
    again.see("#layer").to_have_attribute("max", "4")
    again.close()


def test_a_graph_of_edges_is_solved_and_comes_back_by_its_link(browser, server, tmp_path):
    visit = Visit(browser, server, "#flow?of=edges")
    page = visit.page
    visit.see("#flow-form").to_be_hidden()
    page.click("#graph-form .primary")
    visit.see("#graph-result .answer").to_have_text("Maximum flow 3.")
    visit.see("#graph-result p", has_text="One of many").to_have_count(1)
    visit.see("#graph-result .whisker").not_to_have_count(0)  # ranges over all of them
    page.fill("#edges", "from,to,capacity\ns,<img src=x onerror=hit()>,1\n<img src=x onerror=hit()>,t,2\n")
    page.fill("#edges-to", "t")
    page.check("input[name=graph-rule][value=l2]")
    page.click("#graph-form .primary")
    visit.see("#graph-result p", has_text="only one").to_have_count(1)
    visit.see("#view img").to_have_count(0)
    until(page, lambda: page.is_enabled("#save"))
    link, file = visit.link, visit.saved(tmp_path)
    page.fill("#edges-to", "nowhere")
    page.click("#graph-form .primary")
    visit.see("#graph-form .problem").to_contain_text("nowhere")
    page.click("#graph-form a")
    visit.see("#graph-form").to_be_hidden()
    visit.see("#flow-form").to_be_visible()
    visit.close()
    again = Visit(browser, server, link)
    again.see("#graph-result p", has_text="only one").to_have_count(1)
    again.see("input[name=graph-rule][value=l2]").to_be_checked()
    again.close()
    page, trouble = alone(browser, file)
    expect(page.locator("tbody tr")).to_have_count(2)
    assert trouble == []


def test_the_layers_to_choose_from_are_those_of_the_model(browser, server):
    visit = Visit(browser, server)
    with server.client() as client:
        about = client.get("/api/about").json()
    assert about["text"]["layers"] == 4
    about["text"]["layers"] = 7
    visit.page.route("**/api/about", lambda route: route.fulfill(json=about))
    visit.page.goto(server.base + "/#flow")
    visit.page.reload()
    visit.see("#layer").to_have_attribute("max", "7")
    visit.page.click("#flow-more > summary")
    visit.page.locator("#layer").fill("4")
    visit.see("#layer-now").to_have_text("4")
    visit.page.locator("#layer").fill("7")
    visit.see("#layer-now").to_have_text("output")
    visit.close()


def test_a_drawing_that_was_left_half_way_is_drawn_on_return(browser, server):
    visit = Visit(browser, server, "#flow?text=A+film.&layer=1")
    page = visit.page
    visit.finished()
    with visit.held("/api/flow") as waiting:
        page.locator("#layer").fill("2")
        until(page, lambda: len(waiting) == 1)
        with page.expect_event("requestfailed"):
            visit.open("game")
        visit.open("data")
    with visit.working("/api/flow"):
        visit.open("flow")
    visit.see("#layer-now").to_have_text("2")
    visit.see("#flow-result h2", has_text="layer 2").to_have_count(1)
    visit.close()


def test_the_game_is_computed_as_you_type(browser, server, tmp_path):
    visit = Visit(browser, server, "#game")
    page = visit.page
    visit.see("#game-result li", has_text="the best pair is B + C").to_have_count(1)
    page.fill("input[aria-label='payoff of A + C']", "95")
    visit.see("#game-result").not_to_contain_text("the best pair is B + C")
    for name, fact in (
        ("Corner detector", "adds nothing"),
        ("Matched pair", "d_A and d_B"),
        ("Cookies", "Everybody together earns 10."),
    ):
        page.get_by_role("button", name=name).click()
        visit.see("#game-result ul").to_contain_text(fact)
    visit.see("#game-rows input").to_have_count(4)
    page.fill("#game-players", "Alice, Bob, Carol")
    page.keyboard.press("Tab")
    visit.see("#game-result ul").to_contain_text("Carol adds nothing")
    page.fill("input[aria-label='payoff of Alice']", "")
    visit.see("#game-form .problem").to_have_text("The payoff of Alice is not a number.")
    visit.see("#save").to_be_disabled()  # what is shown is not what the table says
    page.fill("input[aria-label='payoff of Alice']", "7")
    visit.see("#game-form .problem").to_be_hidden()
    visit.see("#game-result td:text-is('7')").not_to_have_count(0)  # what Alice adds to nobody
    visit.see("#save").to_be_enabled()
    link, shown = visit.link, page.locator("#game-result").text_content()
    file = visit.saved(tmp_path)
    visit.close()
    page, trouble = alone(browser, file)
    expect(page.locator("main")).to_contain_text(shown, use_inner_text=False)
    assert trouble == []
    again = Visit(browser, server, link)
    again.see("#game-result").to_have_text(shown)
    again.close()


def test_the_game_takes_every_value_with_what_it_needs(browser, server):
    """The list comes from the server: a value that needs parameters or groups offers a field with an example."""
    visit = Visit(browser, server, "#game")
    page = visit.page
    visit.see("#game-method option").not_to_have_count(1)
    visit.see("#game-more").to_be_hidden()
    others = page.locator("#game-method option").evaluate_all("every => every.slice(1).map((each) => each.value)")
    assert {"beta", "semivalue", "owen", "kernel-shap"} <= set(others)
    for name in others:
        with page.expect_response("**/api/game") as answer:
            page.select_option("#game-method", name)
        assert answer.value.ok, name
    page.select_option("#game-method", "owen")
    page.fill("#game-given", "stem=B+C, A")
    page.keyboard.press("Tab")
    visit.see("#game-result").to_contain_text("A30")  # the groups typed in, not those of the example
    visit.see("#game-result").to_contain_text("equal players in different groups may differ")
    link, shown = visit.link, page.locator("#game-result").text_content()
    visit.close()
    again = Visit(browser, server, link)
    again.see("#game-result").to_have_text(shown)
    again.see("#game-given").to_have_value("stem=B+C, A")
    again.close()


def test_an_answer_that_comes_late_does_not_hide_what_is_wrong_now(browser, server):
    visit = Visit(browser, server, "#game")
    page = visit.page
    visit.finished()
    with visit.held("/api/game") as waiting:
        page.fill("input[aria-label='payoff of A']", "55")
        until(page, lambda: len(waiting) == 1)
        with page.expect_event("requestfailed"):
            page.fill("input[aria-label='payoff of B']", "")
        visit.see("#game-form .problem").to_have_text("The payoff of B is not a number.")
    page.fill("#game-players", "A, A")
    page.keyboard.press("Tab")
    visit.see("#game-form .problem").to_have_text("Two players have the same name.")
    page.fill("#game-players", ",".join("abcdefghi"))
    page.keyboard.press("Tab")
    visit.see("#game-form .problem").to_have_text("Name between 1 and 8 players.")
    page.fill("#game-players", "only one")
    page.keyboard.press("Tab")
    visit.see("#game-form .problem").to_be_hidden()
    visit.see("#game-rows input").to_have_count(2)
    visit.see("#game-result ul").to_contain_text("only one adds nothing")  # the old table said nothing of it
    visit.close()


def test_the_data_view_follows_a_journal_that_is_being_written(browser, server, tmp_path):
    visit = Visit(browser, server, "#data")
    page = visit.page
    visit.see("#data-result h3", has_text="Interactions").to_have_count(1)
    stored = watch(str(server.journal)).payoffs
    visit.see("#data-result .lede").to_contain_text(f"{stored} payoffs")
    with Journal(server.journal) as journal:
        store(journal, random_masks(25, seed=stored))
    more = watch(str(server.journal)).payoffs
    assert more > stored
    visit.see("#data-result .lede").to_contain_text(f"{more} payoffs")
    assert page.locator("#data-result .whisker").count() > 0
    with page.expect_download() as download:
        page.click("#export")
    assert download.value.path().read_text().startswith("game,coalition,seed")
    with page.expect_download() as download:
        page.click("#export-values")
    assert len(download.value.path().read_text().splitlines()) == 17  # a line a row
    file, link = visit.saved(tmp_path), visit.link
    visit.close()
    again = Visit(browser, server, link)
    again.see("#data-result h3", has_text="Every row").to_have_count(1)
    again.close()
    page, trouble = alone(browser, file)
    expect(page.locator("h3", has_text="Every row")).to_have_count(1)
    assert trouble == []


def test_the_journal_is_not_looked_at_after_the_view_is_left(browser, server):
    visit = Visit(browser, server, "#game")
    page = visit.page
    with visit.held("/api/data") as waiting:
        for visits in (1, 2):
            visit.open("data")
            until(page, lambda visits=visits: len(waiting) == visits)
            with page.expect_event("requestfailed"):
                visit.open("game")
    visit.open("data")
    visit.see("#data-result h3", has_text="Every row").to_have_count(1)
    visit.see("#data-form .problem").to_be_hidden()
    visit.close()


def test_a_saved_explanation_works_without_a_server(browser, server, tmp_path):
    visit = Visit(browser, server)
    visit.explain("A good film.", "shapley", "flow")
    file = visit.saved(tmp_path)
    visit.close()
    page, trouble = alone(browser, file)
    page.locator(".lead .t", has_text="good").hover()
    expect(page.locator(".inspector h2")).to_have_text("good")
    assert trouble == []


def test_hostile_text_runs_nothing_in_any_view(browser, server, tmp_path):
    hostile = " ".join(ELEMENTS[:3])
    visit = Visit(browser, server)
    page = visit.page
    visit.explain(hostile, "attention")
    page.locator(".lead .t").first.hover()
    page.locator(".lead .t").nth(3).focus()
    with visit.working():
        page.keyboard.press("g")
    file = visit.saved(tmp_path)
    visit.open("game")
    page.fill("#game-players", ", ".join(e.replace(",", ";")[:70] for e in ELEMENTS[7:10]))
    page.keyboard.press("Tab")
    visit.see("#game-result").to_contain_text("onerror")
    visit.open("flow")
    page.fill("#flow-text", ELEMENTS[0])
    with visit.working("/api/flow"):
        page.click("#flow-form .primary")
    assert page.evaluate("window.hit") is None
    visit.see("#view :is(img, iframe, object, style, script)").to_have_count(0)
    visit.close()
    page, trouble = alone(browser, file)
    assert page.evaluate("window.hit") is None and trouble == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_no_barrier_for_readers_who_cannot_see_or_point(browser, server, scheme, width):
    axe_module = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="axe-playwright-python is not installed: pip install 'accredit[test]'",
    )
    axe = axe_module.Axe()
    visit = Visit(browser, server, color_scheme=scheme, viewport={"width": width, "height": 900})
    page = visit.page

    def check(where: str) -> None:
        # axe is put in by the debugger, which the policy of the page does not bind
        found = axe.run(page).response["violations"]
        assert not found, (
            where,
            [(v["id"], v["nodes"][0]["html"][:200], v["nodes"][0]["failureSummary"]) for v in found],
        )

    check("the beginning")
    visit.explain("A good, short film.", "shapley", "attention")
    page.evaluate("document.querySelectorAll('#explain-form details').forEach((each) => (each.open = true))")
    page.locator(".lead .t").nth(1).focus()
    with visit.working():
        page.keyboard.press("g")
    page.locator(".lead .t").first.focus()
    visit.see(".inspector").to_be_visible()
    check("explain")
    page.click("#what-if")
    page.fill("#changed", "A bad, short film.")
    page.click("#what-if-form .primary")
    visit.see("#what-if-result .verdict").to_have_count(1)
    visit.edit()
    page.fill("#text", " ")
    page.click("#explain-form .primary")
    check("what if, an earlier result and a problem")
    visit.open("answers")
    with visit.working("/api/answer"):
        page.click("#answers-form .primary")
    check("answers")
    visit.open("flow")
    check("flow, nothing drawn")
    with visit.working("/api/flow"):
        page.click("#flow-form .primary")
    check("flow")
    page.click("#flow-form a")
    page.click("#graph-form .primary")
    visit.see("#graph-result .whisker").not_to_have_count(0)
    check("a graph of edges")
    visit.open("game")
    visit.see("#game-result table").not_to_have_count(0)
    check("game")
    page.fill("input[aria-label='payoff of A']", "")
    visit.see("#game-form .problem").to_be_visible()
    check("game with a gap")
    visit.open("data")
    visit.see("#data-result h2").not_to_have_count(0)
    check("data")
    visit.close()


def test_everything_can_be_reached_by_keys(browser, server):
    visit = Visit(browser, server, "#explain?text=A+gripping+film.&methods=leave-one-out")
    page = visit.page
    visit.finished()
    link = visit.link
    visit.see("#explain-result h1").to_be_focused()  # the answer is read first
    page.evaluate("document.body.tabIndex = -1; document.body.focus()")
    page.keyboard.press("Tab")
    visit.see(".skip").to_be_focused()
    page.keyboard.press("Enter")
    visit.see("#view").to_be_focused()
    assert visit.link == link  # the address still restores the view
    visit.edit()
    page.locator("#text").focus()
    with visit.working():
        page.keyboard.press("Control+Enter")
    page.locator(".lead .t").first.focus()
    page.keyboard.press("ArrowRight")
    visit.see(".inspector h2").to_have_text("gripping")
    page.keyboard.press("Escape")
    visit.see(".inspector").to_be_hidden()
    page.locator("nav a[data-view=game]").focus()
    page.keyboard.press("Enter")
    visit.see("#game-result table").not_to_have_count(0)
    page.locator("#game-rows input").first.focus()
    page.keyboard.press("Enter")
    visit.see("#game-rows input >> nth=1").to_be_focused()
    page.keyboard.press("Shift+Enter")
    visit.see("#game-rows input >> nth=0").to_be_focused()
    visit.close()


def test_who_clicks_before_the_scripts_have_come_is_served_or_has_to_wait(browser, server):
    visit = Visit(browser, server, "#game")
    page = visit.page
    with visit.held("/static/app.js") as waiting:
        page.goto(server.base, wait_until="commit")
        visit.see("#link").to_be_disabled()
        visit.see("#save").to_be_disabled()
        visit.see(".view:visible").to_have_count(0)  # no form, so no button that does nothing
        visit.open("flow")
        until(page, lambda: len(waiting) == 1)
        waiting[0].continue_()
        visit.see("#view-flow").to_be_visible()
        visit.see("#link").to_be_enabled()
    visit.close()


def test_a_fault_of_the_page_is_not_blamed_on_the_server_nor_the_other_way_round(browser, server):
    visit = Visit(browser, server)
    page, told = visit.page, visit.see("#explain-form .problem")
    page.evaluate("() => { document.implementation.createHTMLDocument = () => { throw new Error('planted') } }")
    visit.write("A dull film.")
    page.click("#explain-form .primary")
    told.to_have_text("The page itself failed (planted); reload it.")
    page.route("**/api/explain", lambda route: route.abort())
    page.click("#explain-form .primary")
    told.to_have_text("The server cannot be reached; is accredit serve still running?")
    assert all("ERR_FAILED" in each for each in visit.trouble)
    page.context.close()


def test_a_page_that_cannot_start_says_so(browser, server):
    visit = Visit(browser, server)
    visit.page.route("**/api/about", lambda route: route.abort())
    visit.page.reload()
    visit.see("#broken").to_contain_text("This page cannot start: the server cannot be reached")
    visit.see("#link").to_be_disabled()
    assert any("ERR_FAILED" in each for each in visit.trouble)
    visit.page.context.close()


def test_the_buttons_of_the_browser_go_back_and_forward_and_ask_nothing_twice(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.open("flow")
    page.go_back()
    visit.see("#view-explain").to_be_visible()  # its address has no name
    visit.explain("A good film.", "leave-one-out")
    visit.open("flow")
    with visit.working("/api/flow"):
        page.click("#flow-form .primary")
    visit.open("game")
    visit.see("#game-result table").not_to_have_count(0)
    asked = len(visit.asked)
    page.go_back()
    visit.see("#view-flow").to_be_visible()
    visit.finished()
    page.go_back()
    visit.see("#view-explain").to_be_visible()
    visit.finished()
    visit.see(".lead .t", has_text="good").to_have_count(1)
    assert visit.asked[asked:] == []  # both are still there
    page.reload()
    visit.finished()
    visit.see(".lead .t", has_text="good").to_have_count(1)
    page.go_forward()
    visit.see("#view-flow").to_be_visible()
    visit.finished()
    visit.see("#flow-result svg.flow").to_have_count(1)
    visit.close()


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        ("#constructor", "A gripping, beautifully shot film that never lands."),
        ("#no-such-view?text=A+film.&methods=attention", "A film."),
        ("#explain?text=Really? Yes.&methods=attention", "Really? Yes."),
        ("#explain?text=A+film.&methods=attention&players=banana&payoff=much&target=MAYBE&groups=5", "A film."),
        ('#explain?text=A+film.&methods=attention&groups=[["A",3]]', "A film."),
        ("#explain?text=A+film.&methods=attention,banana&part=x", "A film."),
        ("#explain?text=A+film.&methods=banana", "A film."),
    ],
)
def test_a_link_that_was_written_badly_opens_what_it_can(browser, server, fragment, text):
    visit = Visit(browser, server, fragment)
    visit.see("#text").to_have_value(text)
    if "text=" in fragment:
        visit.finished()
        visit.see("#explain-result .method").to_have_count(1 if "attention" in fragment else 6)  # else those of a first visit
    else:
        visit.explain()
    if "=banana" in fragment and "MAYBE" not in fragment:
        visit.see("#explain-form .problem").to_have_text("This link asks for what is not available here: method “banana”.")
    if "MAYBE" in fragment:
        lost = "target “MAYBE”, players “banana”, payoff “much”, groups “5”"
        visit.see("#explain-form .problem").to_have_text(f"This link asks for what is not available here: {lost}.")
    if "no-such-view" in fragment:
        visit.said("There is no view “no-such-view”; this is Explain.")
    if "banana&part" in fragment:
        visit.see("#explain-form .problem").to_contain_text("method “banana”, part “x”")
    visit.see("#players").to_have_value("word")
    visit.close()


def test_parsing_lets_frames_through_by_the_clock(browser, server):
    """Where a processor is shared, every slice takes long; a clock that jumps stands for it."""
    visit = Visit(browser, server)
    made, frames = visit.page.evaluate(
        """async () => {
          const { nodes } = await import("/static/page-parts.js");
          let [now, frames] = [0, 0];
          const [clock, frame] = [performance.now, window.requestAnimationFrame];
          performance.now = () => (now += 20);
          window.requestAnimationFrame = (go) => (frames++, frame(go));
          const made = await nodes("<p>word</p>".repeat(10_000));  // 110,000 characters
          [performance.now, window.requestAnimationFrame] = [clock, frame];
          return [made.length, frames];
        }"""
    )
    assert made == 10_000 and frames >= 5
    visit.close()


def test_what_a_link_says_and_is_not_there_is_named_in_every_view(browser, server):
    link = "#explain?text=A+film.&methods=attention"
    visit = Visit(browser, server, link)
    page = visit.page
    visit.finished()
    follow = lambda hash: page.evaluate("hash => { location.hash = hash; }", hash)  # noqa: E731
    follow(f"{link}&payoff=much")  # the result is still there
    visit.see("#explain-form .problem").to_have_text("This link asks for what is not available here: payoff “much”.")
    follow(f"{link}&colour=red")
    visit.said("Explain has no setting “colour”; the rest of the link is shown.")
    follow("#data?row=1")
    visit.said("Data has no setting “row”; the rest of the link is shown.")
    follow("#nowhere")
    visit.said("There is no view “nowhere”; this is Data.")
    visit.see("#view-data").to_be_visible()
    visit.close()


def test_every_view_fits_every_width(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.explain("A gripping film with an extraordinarily-long-compound-word-that-does-not-break.", "shapley", "flow")
    for view, ready in (
        ("explain", "#explain-result > .accredit"),
        ("flow", "#flow-form"),
        ("game", "#game-result table"),
        ("data", "#data-result h2"),
    ):
        visit.open(view)
        if view == "flow":
            with visit.working("/api/flow"):
                page.click("#flow-form .primary")
        visit.see(ready).not_to_have_count(0)
        for width in WIDTHS:
            assert fits(page, width), (view, width)
    visit.close()


def test_a_text_of_512_tokens_stays_light_and_no_token_listens(browser, server):
    """What makes it smooth, without a clock: few elements a token, no listener on any, little renewed when a method arrives."""
    from accredit.views.pages.explanation_page import explanation_blocks
    from tests.views.samples import sample

    words = 510
    long = sample(" ".join(f"word{k}" for k in range(words)), flow=False)
    visit = Visit(browser, server)
    page = visit.page
    methods, blocks = len(long.attributions), explanation_blocks(long, live="page")
    page.evaluate(
        """async ([blocks, order]) => {
          const { Blocks, parsed } = await import("/static/page-parts.js");
          const shown = new Blocks(document.getElementById("explain-result"));
          window.take = async (blocks, order, first) => shown.take(await parsed({ title: "Why?", order, blocks }), first);
          await take(blocks, order, true);
        }""",
        [blocks, list(blocks)],
    )
    visit.see(".accredit.live").to_have_count(1)
    assert page.locator("#explain-result *").count() < words * (4 + methods + 2 + methods) + 600
    assert page.locator("#explain-result svg *").count() < 60  # the steps of the running sum, not the tokens
    page.locator(".lead .t").nth(1).focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    visit.see(".inspector h2").to_have_text("word31")
    visit.see(".t.on").to_have_count(1 + methods)
    debugger = page.context.new_cdp_session(page)
    for selector in (".lead .t", ".method .t", ".numbers td"):
        node = debugger.send("Runtime.evaluate", {"expression": f"document.querySelector('{selector}')"})["result"]
        assert debugger.send("DOMDebugger.getEventListeners", {"objectId": node["objectId"]})["listeners"] == []
    # A block that is not sent again is the same element, and keeps the focus.
    page.evaluate("window.kept = document.querySelector('.lead')")
    renewed = {"trust": "<section><h2>Why trust this?</h2></section>"}
    page.evaluate(
        "([blocks, order]) => take(blocks, order, false)",
        [renewed, list(blocks)],
    )
    assert page.evaluate("window.kept === document.querySelector('.lead')")
    assert page.evaluate("document.activeElement.textContent") == "word31"
    # One that is sent again takes the focus over, and its open parts stay open.
    page.evaluate("document.querySelector('#explain-result details:has(.numbers)').open = true")
    page.evaluate(
        "([blocks, order]) => take(blocks, order, false)",
        [{name: blocks[name] for name in ("lead", "numbers")}, list(blocks)],
    )
    assert page.evaluate("window.kept !== document.querySelector('.lead')")
    assert page.evaluate("document.activeElement.textContent") == "word31"
    assert page.evaluate("document.querySelector('#explain-result details:has(.numbers)').open")
    visit.see(".t.on").to_have_count(1 + methods)
    visit.close()
