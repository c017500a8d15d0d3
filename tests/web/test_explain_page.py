"""What a person does with an explanation: sees the answer first, changes a word, a label, reads a long text."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browsing import new_page
from tests.web.test_page import Visit, drop, expect, picture, until
from tests.wording import reads

pytestmark = [pytest.mark.server, pytest.mark.browser]
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}


def top(page: Any, selector: str) -> float:
    """How far below the top of the window something begins, now."""
    return float(page.locator(selector).first.evaluate("node => node.getBoundingClientRect().top"))


@pytest.mark.parametrize("width", [360, 768, 1440])
def test_the_answer_is_what_one_sees_first(browser, server, width):
    """After one click: the form is one line, and heading, prediction and coloured words are in the window, at every width."""
    visit = Visit(browser, server, viewport={"width": width, "height": 740})
    page = visit.page
    visit.choose("leave-one-out")
    with visit.working():
        page.click("#explain-form .primary")
    visit.see("#explain-result h1").to_be_focused()
    visit.see("#text").to_be_hidden()
    assert page.locator(".brief-line:visible").bounding_box()["height"] < 60
    assert 0 < top(page, "#explain-result h1") < 260
    for part in ("h1", ".prediction", ".lead .t"):
        expect(page.locator(f"#explain-result {part}").first).to_be_in_viewport(ratio=1)
    page.click(".brief-line:visible")
    visit.see("#text").to_be_focused()
    visit.close()


def test_model_labels_and_training_are_named_before_the_first_run(browser, server):
    visit = Visit(browser, server)
    for words in ("built-in sentiment model", "NEGATIVE or POSITIVE", "films and restaurants", "128 tokens"):
        visit.see("#text-card").to_contain_text(words)
    visit.choose("leave-one-out")
    with visit.working():
        drop(visit.page, ("circle.png", "image/png", picture()))
    visit.see("#image-limits").to_be_visible()
    visit.see("#image-limits").to_contain_text("knows only clothes")
    visit.close()


def test_a_click_on_a_label_explains_that_label_and_back_returns(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.explain("A good film.", "leave-one-out")
    visit.see("#explain-result h1").to_have_text("Why POSITIVE?")
    with visit.working():
        page.click(".prediction .label >> text=NEGATIVE")
    visit.see("#explain-result h1").to_have_text("What supports NEGATIVE?")
    visit.see(".prediction .label[aria-pressed=true]").to_have_text("NEGATIVE")
    assert "target=NEGATIVE" in visit.link
    asked = len(visit.asked)
    page.go_back()
    visit.see("#explain-result h1").to_have_text("Why POSITIVE?")
    visit.see("#groups").to_be_visible()  # what belongs to the page comes back with the result
    page.go_forward()
    visit.see("#explain-result h1").to_have_text("What supports NEGATIVE?")
    assert visit.asked[asked:] == []  # both were still there
    visit.close()


def test_a_word_is_taken_out_or_replaced_and_both_texts_stand_side_by_side(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.explain("A 🎬 good film, really.", "leave-one-out")
    page.locator(".lead .t", has_text="good").click()
    with page.expect_response("**/api/what-if"):
        page.click(".inspector .acts >> text=Without it")
    visit.see("#changed").to_have_value("A 🎬 film, really.")
    visit.see("#what-if-result .verdict").to_have_text(
        re.compile(r"^POSITIVE falls from 9\d\.\d% to \d+\.\d%: −\d+\.\d points\.$")
    )
    visit.see("#what-if-result .side h3").to_have_text(["As it is", "Changed"])
    visit.see(".inspector").to_be_hidden()  # in a narrow window it would lie on the answer
    page.locator(".lead .t", has_text="good").click()
    page.fill(".inspector .acts input", "dull")
    with page.expect_response("**/api/what-if"):
        page.keyboard.press("Enter")
    visit.see("#changed").to_have_value("A 🎬 dull film, really.")
    visit.see("#what-if-result .side >> nth=1").to_contain_text("dull film")
    page.fill("#changed", "A good film indeed.")
    visit.see("#what-if-result").to_have_class("result stale")  # it compares with another change
    with page.expect_response("**/api/what-if"):
        page.click("#what-if-form .primary")
    visit.see("#what-if-result").to_have_class("result")
    page.fill("#changed", " ")
    page.click("#what-if-form .primary")
    visit.see("#what-if-form .problem").to_contain_text("Leave at least one word")
    visit.close()


def test_the_running_sum_leads_from_the_base_value_to_the_output(browser, server):
    visit = Visit(browser, server)
    visit.explain("A good film.", "shapley")
    rows = visit.page.locator(".running tbody tr")
    assert rows.count() == 4
    heading = visit.page.locator(".running summary span").inner_text()
    first, last = (float(x.replace("−", "-")) for x in re.findall(r"[−\d.]+(?= \()", heading))
    added = [float(row.locator("td").nth(1).inner_text().replace("−", "-")) for row in rows.all()]
    assert abs(first + sum(added) - last) < 0.02
    visit.close()


def test_new_input_pales_the_old_result_at_once_and_an_error_leaves_it_pale(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.explain("A good film.", "leave-one-out")
    visit.write("Another")
    visit.see("#explain-result").to_have_class("result stale")
    visit.see(".earlier:visible").to_have_text("This is for the earlier text, “A good film.”:")
    visit.see("#save").to_be_disabled()
    page.fill("#text", "  ")
    page.click("#explain-form .primary")
    visit.see("#explain-form .problem").to_have_text("Write some words first: there is no text to explain.")
    expect(page.locator("#explain-form .problem")).to_be_in_viewport()
    visit.see("#explain-result").to_have_class("result stale")
    drop(page, ("empty.png", "image/png", b""))
    visit.see("#explain-form .problem").to_have_text("empty.png is empty; drop a file that holds a picture.")
    visit.see("#h-explain").to_have_text("Which words led to this prediction?")
    drop(page, ("broken.png", "image/png", b"\x89PNG\r\n\x1a\n broken"))
    visit.see("#explain-form .problem").to_contain_text("cannot be opened as a picture")
    visit.see("#explain-result").to_have_class("result stale")
    visit.see("#save").to_be_disabled()
    page.click("#picture-away")
    visit.see("#explain-result").to_have_class("result stale")
    visit.explain("A good film.")
    visit.see("#explain-result").to_have_class("result")
    visit.see(".earlier:visible").to_have_count(0)
    visit.close()


def test_a_long_text_is_read_in_parts_or_cut_and_the_link_keeps_it(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.write("A good film, at first. " * 30)
    visit.choose("leave-one-out")
    with visit.working():
        page.click("#explain-form .primary")
    visit.see("#parts").to_contain_text("This text has 212 tokens and the model reads 128 at once, so it was read in 2 parts")
    visit.see("#parts").to_contain_text("Part 1 of 2")
    visit.see("#parts button").to_have_count(3)
    visit.see("#parts button[aria-current]").to_contain_text("1 · ")
    page.set_viewport_size(PHONE["viewport"])
    for button in page.locator("#parts button").all():
        expect(button).to_be_in_viewport(ratio=1)
    page.set_viewport_size({"width": 1280, "height": 900})
    with visit.working():
        page.click("#parts button >> nth=1")
    visit.see("#parts").to_contain_text("Part 2 of 2")
    link = visit.link
    assert "part=2" in link
    with visit.working():
        page.click("#parts button >> text=beginning")
    visit.see("#explain-result").to_contain_text("did not read the whole text")
    visit.see("#parts").to_be_hidden()
    visit.close()
    again = Visit(browser, server, link)
    again.finished()
    again.see("#parts").to_contain_text("Part 2 of 2")
    again.close()


def test_on_a_phone_the_numbers_of_a_word_do_not_lie_on_the_word(browser, server):
    visit = Visit(browser, server, **PHONE)
    page = visit.page
    visit.explain(None, "leave-one-out")
    word = page.locator(".lead .t", has_text="lands")
    word.tap()
    visit.see(".inspector h2").to_have_text("lands")
    bottom = "node => node.getBoundingClientRect().bottom"
    until(page, lambda: word.evaluate(bottom) <= top(page, ".inspector"))
    expect(word).to_be_in_viewport(ratio=1)
    visit.close()


def test_texts_are_drawn_in_the_direction_in_which_they_are_read(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.explain("فيلم رائع جدا", "leave-one-out")
    boxes = [word.bounding_box()["x"] for word in page.locator(".lead .t").all()]
    assert boxes == sorted(boxes, reverse=True)  # the first word is on the right
    visit.see(".method .strip").to_have_attribute("dir", "rtl")
    page.locator(".lead .t").first.focus()
    page.keyboard.press("ArrowLeft")
    visit.see(".inspector h2").to_have_text("رائع")
    visit.explain("这部电影很好。", "leave-one-out")
    visit.see(".lead .t").to_have_count(7)
    visit.see("#explain-result").to_contain_text("Every word here is unknown to the model")
    visit.close()


def test_a_picture_keeps_its_shape_its_patches_have_names_and_its_players_can_be_chosen(browser, server):
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (90, 30), "gold").save(buffer, "PNG")
    visit = Visit(browser, server)
    page = visit.page
    visit.choose("leave-one-out")
    with visit.working():
        drop(page, ("gold.png", "image/png", buffer.getvalue()))
    visit.see(".plate svg >> nth=0").to_have_attribute("viewBox", "0 0 90 30")
    visit.see(".numbers tbody th >> nth=1").to_have_text("row 1, column 2")
    visit.edit()
    visit.see("#players").to_be_hidden()
    page.select_option("#patches", "segments")
    with visit.working():
        page.click("#explain-form .primary")
    visit.see(".numbers tbody th >> nth=0").to_have_text("segment 0")
    visit.close()


def test_back_finds_the_text_and_the_picture_again(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    visit.explain("A good film.", "leave-one-out")
    with visit.working():
        drop(page, ("shirt.png", "image/png", picture()))
    visit.see(".plate").to_have_count(1)
    asked = len(visit.asked)
    page.go_back()
    visit.see(".lead .t", has_text="good").to_have_count(1)
    visit.see("#picture").to_be_hidden()
    page.go_forward()
    visit.see(".plate").to_have_count(1)
    visit.see("#picture-name").to_have_text("shirt.png")
    assert visit.asked[asked:] == []
    visit.close()


def test_after_a_restart_the_page_asks_for_the_key_and_opens_what_the_link_says(browser, server):
    """A visitor without the key, or with that of an earlier server, is asked; wrong keys are refused in words."""
    page = new_page(browser)
    page.add_init_script("localStorage.setItem('accredit page', 'of an earlier server')")
    page.goto(f"{server.base}/#explain?text=A+good+film.&methods=leave-one-out")
    expect(page.locator("#locked")).to_be_visible()
    expect(page.locator("#key")).to_be_focused()
    page.fill("#key", "wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#locked .problem")).to_have_text(
        "That is not the key of this server; accredit serve printed it below the address."
    )
    assert page.evaluate("location.hash").startswith("#explain?text=")
    page.context.close()
    fresh = new_page(browser)
    fresh.goto(f"{server.base}/#explain?text=A+good+film.&methods=leave-one-out")
    fresh.fill("#key", server.address)  # an address with the key may be pasted
    fresh.keyboard.press("Enter")
    expect(fresh.locator(".lead .t", has_text="good")).to_have_count(1)
    expect(fresh.locator("#locked")).to_be_hidden()
    fresh.context.close()


def test_the_key_is_in_no_address_that_the_page_shows_and_a_cookie_opens_nothing(browser, server):
    visit = Visit(browser, server)
    page = visit.page
    navigated = "performance.getEntriesByType('navigation').map((each) => each.name)"
    addresses = page.evaluate(f"{navigated}.concat(location.href, document.referrer)")
    assert not any(server.key in address for address in addresses)
    (cookie,) = page.context.cookies()
    assert cookie["httpOnly"] and cookie["path"] == "/api" and server.key not in cookie["value"]
    assert page.context.request.get(f"{server.base}/api/about").status == 403  # with the cookie, as from another port
    assert page.evaluate("document.cookie") == ""
    visit.close()


def test_an_answer_from_one_prompt_is_coloured_and_comes_back(browser, server):
    visit = Visit(browser, server, **PHONE)
    page = visit.page
    visit.open("answers")
    page.check("input[name=given][value=prompt]")
    visit.see("#passages").to_be_hidden()
    page.fill("#prompt", "Boris works as a baker .\nClara owns a dog .\nWhat does Boris do ?")
    with visit.working("/api/answer"):
        page.click("#answers-form button.primary")
    visit.see("#answers-result h1").to_be_focused()
    word = page.locator("#answers-result .s", has_text="baker")
    word.tap()
    visit.see(".asked .now").to_have_text("“baker”")
    until(page, lambda: page.locator(".prompt .t.u12").count() >= 1)
    link = visit.link
    visit.edit()
    page.fill("#prompt", "Boris works as a cook .\nWhat does Boris do ?")
    visit.see("#answers-result").to_have_class("result stale")
    page.fill("#prompt", " ")
    page.click("#answers-form button.primary")
    visit.see("#answers-form .problem").to_have_text("Write a prompt first.")
    visit.close()
    again = Visit(browser, server, link)
    again.see("#answers-result .s", has_text="baker").to_have_count(1)
    again.close()


def test_what_is_out_of_sight_is_not_laid_out_and_is_there_all_the_same(browser, server):
    """No frame lays out two thousand words or rows at once; a word that is not laid out yet still tells its numbers."""
    from accredit.views.pages.explanation_page import explanation_blocks
    from tests.views.samples import sample

    words = 2000
    blocks = explanation_blocks(sample(" ".join(f"word{k}" for k in range(words)), flow=False), live="page")
    visit = Visit(browser, server)
    page = visit.page
    pauses, later = page.evaluate(
        """async ([blocks, order]) => {
          const { Blocks, parsed } = await import("/static/page-parts.js");
          let [now, pauses] = [0, 0];
          const [clock, frame] = [performance.now, window.requestAnimationFrame];
          performance.now = () => (now += 20);  // a slice that takes long, on a quick machine as well
          window.requestAnimationFrame = (call) => ((pauses += 1), frame(call));
          const event = await parsed({ title: "Why?", order, blocks });
          [performance.now, window.requestAnimationFrame] = [clock, frame];
          new Blocks(document.getElementById("explain-result")).take(event, true);
          return [pauses, document.querySelectorAll(".lead .piece.later").length];
        }""",
        [blocks, list(blocks)],
    )
    assert later >= page.locator(".lead .piece").count() - 1 > 0
    visit.see(".later").to_have_count(0)
    assert pauses >= sum(map(len, blocks.values())) // 100_000 > 5  # frames that were drawn while it was parsed
    hidden = "e => !e.checkVisibility({ contentVisibilityAuto: true })"
    far = page.locator(".lead .t").nth(words - 10)
    assert far.evaluate(hidden) and not page.locator(".lead .t").first.evaluate(hidden)
    far.focus()
    visit.see(".inspector h2").to_have_text(f"word{words - 10}")
    until(page, lambda: not far.evaluate(hidden))  # and whoever comes there finds it drawn
    page.keyboard.press("Escape")
    page.locator("#explain-result details:has(.numbers) > summary").click()
    rows = page.locator(".numbers tbody tr")
    assert rows.count() == words + 2 and rows.last.evaluate(hidden) and not rows.first.evaluate(hidden)
    rows.last.scroll_into_view_if_needed()
    until(page, lambda: not rows.last.evaluate(hidden))
    first, last = (page.locator(".numbers tbody").nth(k).locator("td").first.bounding_box() for k in (0, -1))
    assert abs(first["x"] - last["x"]) < 1  # the columns of all parts stand below one another
    visit.close()


def test_what_had_come_before_a_cancel_is_named_and_the_button_of_a_pair_is_like_others(browser, server):
    visit = Visit(browser, server)
    said = visit.page.evaluate(
        """async () => {
          const { Asking } = await import("/static/page-parts.js");
          const [form, result] = ["explain-form", "explain-result"].map((id) => document.getElementById(id));
          const line = new TextEncoder().encode('{"event": "result", "html": "<p>half</p>"}\\n');
          window.fetch = async () => new Response(new ReadableStream({ start: (sent) => sent.enqueue(line) }));
          const asking = new Asking(form, result);
          asking.run("/api/explain", {}, () => {});
          while (!asking.came) await new Promise(requestAnimationFrame);
          asking.cancel.click();
          return form.querySelector(".problem").textContent;
        }"""
    )
    assert reads(said)
    sizes = visit.page.evaluate(
        """() => ["#pair-add", "#link"].map((id) => getComputedStyle(document.querySelector(id)).fontSize)"""
    )
    assert sizes[0] == sizes[1]
    visit.close()
