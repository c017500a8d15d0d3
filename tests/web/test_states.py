"""States of the page that are seen rarely (running, wrong, long, two texts, two tabs): they work, and axe finds no barrier."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browsing import fits
from tests.web.test_page import Visit, drop, picture, until

LONG = " ".join(["The first half drags along, and then the second act is warm and funny."] * 20)


def axe(visit: Visit) -> Callable[[str], None]:
    """Fails where axe finds a barrier."""
    module = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="axe-playwright-python is not installed: pip install 'accredit[test]'",
    )

    def check(where: str) -> None:
        found = module.Axe().run(visit.page).response["violations"]
        assert not found, (
            where,
            [(v["id"], v["nodes"][0]["html"][:200], v["nodes"][0]["failureSummary"]) for v in found],
        )

    return check


def with_pairs(route: Any) -> None:
    """The served model, as one that reads two texts."""
    response = route.fetch()
    about = response.json()
    about["text"]["pairs"] = True
    route.fulfill(response=response, json=about)


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_states_that_are_seen_rarely_put_no_barrier_in_the_way(browser, server, scheme, width):
    visit = Visit(browser, server, color_scheme=scheme, viewport={"width": width, "height": 900}, reduced_motion="reduce")
    page, check = visit.page, axe(visit)
    page.route("**/api/about", with_pairs)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.click("#pair-add")
    page.fill("#pair", "It bores nobody.")
    visit.explain("A film.", "leave-one-out", "attention")
    visit.see("#explain-result .strip.lead .text").to_have_count(2)
    check("two texts")
    with visit.held("/api/explain") as waiting:
        visit.edit()
        page.click("#explain-form .primary")
        until(page, lambda: bool(waiting))
        visit.see("#explain-form .cancel").to_be_visible()
        check("running, above an earlier result")
        page.click("#explain-form .cancel")
        check("cancelled")
    page.click("#pair-add")  # without the second text
    visit.write(LONG)
    with visit.working():
        page.click("#explain-form .primary")
    visit.see("#parts button").not_to_have_count(0)
    check("part by part")
    drop(page, ("shirt.png", "image/png", picture()))
    visit.finished()
    visit.see("#explain-result .picture").not_to_have_count(0)
    check("a picture")
    visit.open("tables")
    page.set_input_files("#table-file", {"name": "no.csv", "mimeType": "text/csv", "buffer": b" "})
    visit.see("#tables-form .problem").to_be_visible()
    check("a table that is none")
    assert fits(page, width // 2)  # at 200 %
    visit.close()


@pytest.mark.slow
def test_data_has_an_example_that_is_one_click_away(browser, server):
    visit = Visit(browser, server, "#data", viewport={"width": 360, "height": 900})
    page = visit.page
    visit.see("#data-result").to_contain_text("row 15")  # the journal that the server was started with
    visit.see("#export").to_be_visible()
    page.click("#run-example")
    visit.see("#run-state").to_have_text("reviews.csv is valued.")
    visit.see("#export").to_be_hidden()  # nothing was paid for: there are no payoffs
    visit.see("#run-target").to_have_value("mood")
    visit.see("#data-result .answer").to_contain_text("of 120 labels are suspect")
    visit.see("#data-result .row-text").not_to_have_count(0)
    visit.see("#data-result .answer").to_be_in_viewport()
    axe(visit)("data with results")
    page.click("#run-cancel")
    visit.see("#data-result").to_contain_text("row 15")
    visit.close()


def test_cancel_again_and_again_leaves_a_page_that_works(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    worker = server.worker()
    visit.choose("shapley")
    for _ in range(6):
        visit.edit()
        page.click("#explain-form .primary")
        visit.see("#explain-form .cancel").to_be_visible()
        with suppress(Exception):  # the answer may come first, and takes the button with it
            page.click("#explain-form .cancel", timeout=1000)
    visit.explain("A good film.", "leave-one-out")
    visit.see(".lead .t").not_to_have_count(0)
    assert server.worker() == worker
    visit.close()


def test_back_during_a_run_shows_what_was_there_and_the_run_is_given_up(browser, server):
    visit = Visit(browser, server, "#explain?text=A+good+film.&methods=leave-one-out")
    page = visit.page
    visit.finished()
    title = page.locator("#explain-result h1").text_content()
    with visit.held("/api/explain") as waiting:
        visit.write("Another text, dull and long.")
        page.click("#explain-form .primary")
        until(page, lambda: bool(waiting))
        page.go_back()
        visit.see("#explain-form[aria-busy]").to_have_count(0)
        visit.see("#text").to_have_value("A good film.")
        visit.see("#explain-result.stale").to_have_count(0)
        visit.see("#explain-result h1").to_have_text(title or "")
        visit.see("#save").to_be_enabled()
    with visit.working():
        page.go_forward()  # it had no answer, so it is asked for once more
    visit.see("#text").to_have_value("Another text, dull and long.")
    visit.close()


def test_two_tabs_of_one_browser_do_not_disturb_each_other(browser, server):
    visit = Visit(browser, server)
    other = visit.page.context.new_page()
    other.goto(server.base + "/#explain?text=A+dull+film.&methods=leave-one-out")
    visit.explain("A good film.", "leave-one-out")
    other.wait_for_selector("#explain-result .lead .t")
    assert [t.strip() for t in other.locator(".lead .t").all_inner_texts()][:3] == ["A", "dull", "film"]
    assert urlsplit(other.url).path == "/" and "token" not in other.url
    visit.see(".lead .t >> nth=1").to_contain_text("good")
    other.close()
    visit.close()


def test_everything_that_moves_stands_still_for_whoever_asked(browser, server):
    """No rule animates or scrolls smoothly, so that nothing has to be switched off."""
    with server.client() as client:
        for name in ("page.css", "app.css"):
            style = client.get(f"/static/{name}").text
            assert not any(word in style for word in ("animation", "transition", "smooth")), name


@pytest.mark.slow
def test_the_first_minute_is_as_the_docs_tell_it(browser, server, tmp_path):
    visit = Visit(browser, server)
    page = visit.page
    visit.see("#h-explain").to_have_text("Which words led to this prediction?")
    visit.see("#text-card").to_contain_text("It answers NEGATIVE or POSITIVE. Trained on: English opinions")
    with visit.working():
        page.click("#explain-form .primary")
    visit.see("#explain-result h1").to_have_text("Why POSITIVE?")
    visit.see("#explain-result .prediction").to_contain_text("87.4%")
    visit.see("#explain-result .answer").to_contain_text("“beautifully” raises it more than any other word")
    visit.see("#explain-result .answer").to_contain_text("“never” lowers it more than any other")
    page.locator(".lead .t", has_text="never").hover()
    visit.see(".inspector h2").to_have_text("never")
    visit.see(".inspector dt").to_have_count(6)
    page.locator(".lead .t", has_text="never").click()
    page.click(".inspector button:has-text('Without it')")
    visit.see("#what-if-result .verdict").to_contain_text("POSITIVE rises from 87.4% to")
    visit.see("#what-if-result .side").to_have_count(2)
    with visit.working():
        page.click("#explain-result > .accredit > .prediction button:has-text('NEGATIVE')")
    visit.see("#explain-result h1").to_have_text("What supports NEGATIVE?")
    asked = len(visit.asked)
    page.go_back()
    visit.see("#explain-result h1").to_have_text("Why POSITIVE?")
    assert len(visit.asked) == asked  # at once
    seen = page.locator("#explain-result h2:visible").all_inner_texts()
    below = ["Side by side", "How attention flows", "Every number", "Why trust this?"]
    assert seen[0] == "From no words to the whole text" and [title for title in seen if title in below] == below
    assert visit.saved(tmp_path).stat().st_size > 10_000
    visit.close()
