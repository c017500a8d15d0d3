"""Tables, Flow, Data and Game in a real browser: one test for each thing that went wrong, or that somebody would miss."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.browsing import WIDTHS, fits
from tests.views.hostile import ELEMENTS
from tests.web.test_page import Visit, alone, expect, until
from tests.web.test_runs import FILMS
from tests.web.test_tables import staff

ADS = "coalition,payoff\n,0\nTV,38.3\nweb,33.3\nradio,-20\nTV+web,60\nTV+radio,25\nweb+radio,20\nTV+web+radio,51.6\n"


def file(name: str, content: str) -> Any:
    """A file to choose."""
    return {"name": name, "mimeType": "text/csv", "buffer": content.encode()}


# Flow


def test_a_rule_that_there_is_not_is_named_and_the_next_drawing_works(browser, server):
    visit = Visit(browser, server, "#flow?text=good+film&rule=x")
    visit.see("#flow-form .problem").to_contain_text("the rule x; there are barrier, l2, shapley")
    with visit.working("/api/flow"):
        visit.page.click("#flow-form .primary")
    visit.see("#flow-form .problem").to_be_hidden()
    visit.close()


def test_a_token_is_followed_by_pointer_and_keys_and_let_go(browser, server):
    visit = Visit(browser, server, "#flow")
    page = visit.page
    visit.see("#flow-result .hello").to_contain_text("Follow a token")  # something useful before the first drawing
    visit.see("#flow-form .rules b").to_have_count(3)
    page.fill("#flow-text", "A gripping film.")
    with visit.working("/api/flow"):
        page.click("#flow-form .primary")
    svg = page.locator("#flow-result svg.flow")
    tokens = page.locator("#flow-result .name[tabindex]").count()
    visit.see("#flow-result .name text", has_text="gripping").to_have_count(2)  # at both ends

    def shown() -> int:
        """Edges that are drawn; a straight one has no width, so the browser tool would not call it visible."""
        edges = svg.locator("path[data-f]")
        return int(edges.evaluate_all("all => all.filter((e) => getComputedStyle(e).display !== 'none').length"))

    calm, every = shown(), svg.locator("path[data-f]").count()
    assert tokens < calm < every  # only the strongest, until a token is followed
    page.locator(".name[tabindex]", has_text="gripping").focus()
    visit.see(".followed").to_contain_text("gripping, input: ")
    followed = shown()
    assert followed != calm and svg.locator("path.on").count() == followed
    page.keyboard.press("ArrowRight")
    visit.see(".followed").to_contain_text("film, input: ")
    page.keyboard.press("Escape")
    visit.see(".followed").to_be_empty()
    assert shown() == calm
    page.locator("circle.node[data-l='2'][data-i='0']").hover()
    visit.see(".followed").to_contain_text("layer 2")
    visit.see(".followed").to_contain_text("On to")
    order = page.evaluate(
        "[...document.querySelectorAll('#flow-result :is(svg.flow, h2, .warning, details)')].map(e => e.tagName)"
    )
    assert order[:2] == ["svg", "H2"] and "P" not in order[:2]  # warnings come below the drawing and the credit
    visit.close()


def test_heads_and_layers_are_chosen_and_the_link_keeps_them(browser, server):
    visit = Visit(browser, server, "#flow?text=A+film.")
    page = visit.page
    visit.finished()
    page.click("#flow-more > summary")
    with visit.working("/api/flow"):
        page.select_option("#heads", index=3)
    visit.see("#flow-result .lede").to_contain_text("head 2 of each layer, all layers")
    with visit.working("/api/flow"):
        page.select_option("#last-layer", index=1)
    visit.see("#flow-result .lede").to_contain_text("head 2 of each layer, layers 1 to 2")
    visit.see("#layer").to_have_attribute("max", "2")
    page.select_option("#first-layer", index=3)
    visit.see("#flow-form .problem").to_contain_text("Choose layers from below to above")
    with visit.working("/api/flow"):
        page.select_option("#first-layer", index=0)
    link = visit.link
    assert "heads=1" in link and "to=1" in link
    visit.close()
    again = Visit(browser, server, link)
    again.finished()
    again.see("#flow-result .lede").to_contain_text("head 2 of each layer, layers 1 to 2")
    again.close()
    unknown = Visit(browser, server, "#flow?text=A+film.&heads=99")
    unknown.see("#flow-form .problem").to_contain_text("heads 99")
    unknown.close()


# Tables


def test_a_dropped_table_is_explained_any_row_is_picked_and_the_file_holds_all(browser, server, tmp_path):
    visit = Visit(browser, server, "#tables")
    page = visit.page
    page.set_input_files("#table-file", file("staff.csv", staff(30)))
    visit.see("#table-target").to_have_value("stays")
    with visit.working("/api/table"):
        page.click("#tables-form .primary")
    visit.see("#tables-result .model").to_contain_text("one was fitted on the spot")
    page.locator(".swarms").scroll_into_view_if_needed()
    place = page.locator(".point").first.evaluate("point => [point.getBoundingClientRect().x, point.getBoundingClientRect().y]")
    page.mouse.move(*place)
    visit.see(".point.on").to_have_count(3)  # the same row in every column
    page.click("a[href='#row-7']")
    visit.see("#row-7").to_be_visible()
    page.fill("#tables-result .find input", "11")
    visit.see(".list tbody tr:visible").not_to_have_count(30)
    page.locator(".list .sort").nth(1).click()
    visit.see(".list [aria-sort=descending]").to_have_count(1)
    saved = visit.saved(tmp_path)
    page.set_input_files("#table-file", file("notes.xlsx", "x"))
    visit.see("#tables-form .problem").to_contain_text("notes.xlsx is not a table that this page reads")
    visit.see("#tables-result > .accredit").to_have_count(0)  # nothing old stands under new input
    visit.see("#save").to_be_disabled()
    page.set_input_files("#table-file", file("empty.csv", "  "))
    visit.see("#tables-form .problem").to_contain_text("empty.csv is empty")
    visit.close()
    page, trouble = alone(browser, saved)
    page.click("a[href='#row-9']")
    expect(page.locator("#row-9")).to_be_visible()
    expect(page.locator("#row-7")).to_be_hidden()
    assert trouble == []


def test_a_file_that_does_not_tell_how_it_is_written_is_read_again_when_a_field_says_so(browser, server):
    visit = Visit(browser, server, "#tables")
    page = visit.page
    rows = "\n".join(f"Genève {k};1,{k:03d};{'yes' if k % 2 else 'no'}" for k in range(30))
    western = f"town;size;stays\n{rows}\n".encode("cp1252")
    page.set_input_files("#table-file", {"name": "towns.csv", "mimeType": "text/csv", "buffer": western})
    visit.see("#tables-form .problem").to_contain_text("towns.csv is not text in UTF-8")
    page.click("#table-writing summary")
    page.select_option("#table-writing [name=encoding]", "windows-1252")
    visit.see("#table-target").to_have_value("stays")
    page.click("#tables-form .primary")
    visit.see("#tables-form .problem").to_contain_text("is 1000 or 1.000")
    with page.expect_response(lambda response: response.url.endswith("/api/table/columns")):
        page.select_option("#table-writing [name=decimal]", ",")
    with page.expect_request(lambda request: request.url.endswith("/api/table/columns")) as sent:
        page.fill("#table-writing [name=truth]", "yes, no")
        page.press("#table-writing [name=truth]", "Tab")
    assert sent.value.post_data_json["writing"]["truth"] == ["yes", "no"]
    with visit.working("/api/table"):  # afterwards the result can be saved
        page.click("#tables-form .primary")
    visit.close()


def test_names_in_a_dropped_table_run_nothing(browser, server):
    visit = Visit(browser, server, "#tables")
    page = visit.page
    hostile = tuple('"' + e.replace('"', '""') + '"' for e in (ELEMENTS[0], ELEMENTS[7], ELEMENTS[8]))
    table = staff(30).replace("age,pay,team", ",".join(hostile)).replace("north", hostile[1])
    page.set_input_files("#table-file", file("<img src=x onerror=alert(1)>.csv", table))
    with visit.working("/api/table"):
        page.click("#tables-form .primary")
    visit.see("#tables-result").to_contain_text("onerror")
    assert page.evaluate("window.hit") is None
    visit.see("#view-tables :is(img, iframe, script, style)").to_have_count(0)
    visit.close()


def test_the_built_in_table_fits_every_width_and_its_link_brings_it_back(browser, server):
    visit = Visit(browser, server, "#tables?built=in")
    visit.finished()
    visit.see("#tables-result .steps").to_have_count(1)
    for width in WIDTHS:
        assert fits(visit.page, width), width
    assert "built=in" in visit.link
    visit.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_tables_and_a_followed_token_put_no_serious_barrier_in_the_way(browser, server, scheme, width):
    axe_module = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    visit = Visit(browser, server, "#tables?built=in", color_scheme=scheme, viewport={"width": width, "height": 900})

    def check() -> None:
        found = axe_module.Axe().run(visit.page).response["violations"]
        assert not found, [(v["id"], v["nodes"][0]["html"][:200], v["nodes"][0]["failureSummary"]) for v in found]

    visit.finished()
    check()
    visit.page.goto(visit.page.url.partition("#")[0] + "#flow?text=A+film.")
    visit.finished()
    visit.page.locator(".name[tabindex]").first.focus()
    visit.see(".followed").not_to_be_empty()
    check()
    visit.close()


# Data


def test_rows_are_sorted_searched_and_opened_and_stay_so_while_the_journal_grows(browser, server):
    visit = Visit(browser, server, "#data")
    page = visit.page
    visit.see("#data-result .ranking.bars tbody tr").to_have_count(16)
    page.fill("#data-result .find input", "row 1")
    visit.see("#data-result .ranking.bars tbody tr:visible").to_have_count(7)  # 1 and 10 to 15
    page.click("#data-result .ranking.bars .sort:text('row')")
    first = "#data-result .ranking.bars tbody tr:visible >> nth=0"
    visit.see(first).to_contain_text("row 1")
    with server.client() as client:
        told = client.get("/api/data").json()
    written = page.locator("#data-result .ranking.bars tbody tr").evaluate_all(
        "rows => rows.toSorted((a, b) => a.dataset.k - b.dataset.k).map((row) => row.cells[0].textContent)"
    )
    told["html"] = told["html"].replace("s of training", "s of more training")
    page.route("**/api/data?*", lambda route: route.fulfill(json=told | {"state": "new"}))
    page.evaluate("() => { window.before = document.querySelector('#data-result table'); }")
    visit.see("#data-result .lede").to_contain_text("s of more training")
    assert page.evaluate("before.isConnected")  # only words and numbers are written anew
    visit.see("#data-result .ranking.bars tbody tr:visible").to_have_count(7)
    visit.see("#data-result .find input").to_have_value("row 1")
    visit.see("#data-result .find input").not_to_be_focused()
    page.fill("#data-result .find input", "")
    for _ in range(2):
        page.click("#data-result .ranking.bars .sort:text('row')")  # down, then as it was written
    visit.see("#data-result .ranking.bars tbody tr td:first-child").to_have_text(written)
    page.unroute_all()
    visit.close()


@pytest.mark.slow
def test_a_run_is_started_watched_and_put_away(browser, server):
    visit = Visit(browser, server, "#data")
    page = visit.page
    page.set_input_files("#run-file", file("films.csv", FILMS))
    visit.see("#run-target").to_have_value("label")
    visit.see("#run-text").to_have_value("text")
    page.click("#data-form .primary")
    visit.see("#run-state").to_have_text("films.csv is valued.")
    visit.see("#data-result h2").to_have_text(["Which labels are wrong?", "What is each row worth?"])
    visit.see("#data-result .row-text").not_to_have_count(0)
    page.reload()  # the run is found again, and so is what ends it
    visit.see("#run-name").to_have_text("films.csv")
    visit.see("#run-state").to_have_text("films.csv is valued.")
    page.click("#run-cancel")
    visit.see("#data-result").to_contain_text("row 15")  # the journal that the server was started with
    visit.see("#run-cancel").to_be_hidden()
    page.set_input_files("#run-file", file("films.csv", FILMS))
    page.click("#data-form .primary")
    page.click("#run-cancel")  # at once
    visit.see("#run-state").to_have_text("Cancelled before anything was written. Start begins again.")
    page.click("#run-cancel")
    visit.see("#data-result").to_contain_text("row 15")
    visit.close()


# Game


def test_a_game_comes_from_a_file_goes_into_one_and_has_one_minus(browser, server, tmp_path):
    visit = Visit(browser, server, "#game")
    page = visit.page
    page.set_input_files("#game-file", file("ads.csv", ADS))
    visit.see("#game-result .answer").to_have_text(
        "TV earns more than any other player (+35.2), radio loses more than any other (−13.9); all players together +51.6."
    )
    visit.see("#game-players").to_have_value("TV, web, radio")
    values = page.locator("#game-rows input").evaluate_all("inputs => inputs.map((input) => input.value).join()")
    shown = values + page.locator("#game-result").inner_text()
    assert "−20" in shown and "-20" not in shown and "Exact()" not in shown
    page.click("#game-by-payoff")
    visit.see("#game-rows tr >> nth=0").to_contain_text("TV + web")
    with page.expect_download() as download:
        page.click("#game-save")
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    assert sorted(saved.read_text().split()) == sorted(ADS.split())
    page.fill("input[aria-label='payoff of radio']", "-7")
    page.keyboard.press("Tab")
    visit.see("input[aria-label='payoff of radio']").to_have_value("−7")
    page.set_input_files("#game-file", file("bad.csv", "coalition,payoff\nA,many\n"))
    visit.see("#game-form .problem").to_contain_text("'bad.csv'")
    visit.see("#game-form .problem").not_to_contain_text("/")
    visit.trouble = [said for said in visit.trouble if "422" not in said]  # the browser notes that the file was refused
    visit.close()


def test_back_to_the_game_keeps_the_story_of_its_example(browser, server):
    visit = Visit(browser, server, "#game")
    visit.page.get_by_role("button", name="Corner detector").click()
    visit.see("#game-result ul").to_contain_text("adds nothing")
    link = visit.link
    visit.open("data")
    visit.page.go_back()
    visit.see("#game-story").to_contain_text("Fires when three pixels are all lit")
    visit.close()
    again = Visit(browser, server, link)
    again.see("#game-story").to_contain_text("Fires when three pixels are all lit")
    again.see("button[aria-pressed=true]").to_have_text("Corner detector")
    again.close()


def test_a_name_that_no_table_of_coalitions_can_hold_is_saved_as_json(browser, server, tmp_path: Path):
    visit = Visit(browser, server, "#game")
    visit.page.fill("#game-players", "a+b, =c")
    visit.page.keyboard.press("Tab")
    visit.see("#game-rows input").to_have_count(4)
    with visit.page.expect_download() as download:
        visit.page.click("#game-save")
    assert download.value.suggested_filename == "game.json"
    assert json.loads(download.value.path().read_text())["players"] == ["a+b", "=c"]
    visit.close()


LONG = "This link holds a text of 20,001 characters, and this page takes up to 20,000."


@pytest.mark.parametrize(
    ("fragment", "said"),
    [
        ("#game?players=[broken&payoffs=1", "The players and payoffs of this link do not fit together; this is another game."),
        ("#game?players=[%22A%22]&payoffs=0,1&method=x", "This link asks for the value “x”, which is not available here."),
        ("#flow?text=A+film.&residual=7", "The link asks for the residual weight 7. Choose what there is and press Draw."),
        ("#tables?built=in&shown=banana", "Output 'banana' was not explained; write one of prediction."),
        (f"#explain?text={'x' * 20_001}", LONG),
        (f"#answers?context=a&query={'x' * 20_001}", LONG),
    ],
)
def test_what_a_link_asks_for_and_is_not_there_is_named_in_every_view(browser, server, fragment, said):
    visit = Visit(browser, server, fragment)
    visit.see(".view:visible .problem:visible").to_have_text(said)
    visit.close()


def test_what_cannot_be_used_is_said_where_it_was_given(browser, server):
    visit = Visit(browser, server, "#tables")
    page = visit.page
    unnamed = "a,b,\n" + "1,2,3\n" * 30
    page.set_input_files("#table-file", {"name": "odd.csv", "mimeType": "text/csv", "buffer": unnamed.encode()})
    visit.see("#table-name").to_have_text("odd.csv")
    page.click("#tables-form .primary")
    visit.see("#tables-form .problem").to_contain_text("The column 'Unnamed: 2' has one value only")
    visit.open("flow")
    page.fill("#flow-text", " ")
    page.click("#flow-form .primary")
    visit.see("#flow-form .problem").to_have_text("Write some words first: there is no text to draw.")
    visit.open("game")
    visit.finished()
    page.fill("#game-players", f"{'x' * 90}, B")
    page.keyboard.press("Tab")
    visit.see("#game-form .problem").to_contain_text("has 90 characters, and a player’s name has up to 80.")
    visit.close()


def test_a_first_result_is_laid_out_some_at_a_time_and_a_next_one_at_once(browser, server):
    """No frame lays out more than a few hundred elements of what just arrived, however the result is nested."""
    visit = Visit(browser, server)
    drawn = visit.page.evaluate(
        """async () => {
          const { element, put } = await import("/static/page-parts.js");
          const row = () => element("tr", {}, element("td", {}, "one"), element("td", {}, "two"));
          const body = () => element("tbody", {}, ...[...Array(1000)].map(row));
          const result = () => [element("p", {}, "Answer."), element("section", {}, element("table", {}, body()))];
          const place = document.getElementById("explain-result");
          const shown = (main) => [...main.querySelectorAll("*")].filter((node) => !node.closest(".later")).length;
          const main = put(place, ...result());
          const counts = [shown(main)];
          while (main.querySelector(".later")) {
            await new Promise(requestAnimationFrame);
            counts.push(shown(main));
          }
          return [counts, shown(put(place, ...result())), main.querySelectorAll("*").length];
        }"""
    )
    counts, at_once, whole = drawn
    steps = [b - a for a, b in pairwise(counts)]
    assert counts[0] < 300 and max(steps) <= 250 and counts[-1] == whole
    assert at_once == whole  # what is being looked at does not flicker
    visit.close()


def test_what_is_asked_while_a_file_is_read_waits_for_that_file(browser, server):
    """The built-in table is not explained in its place, and neither is the file before where the new one cannot be read."""
    visit = Visit(browser, server, "#tables")
    page = visit.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data) if request.url.endswith("/api/table") else None)
    with visit.held("/api/table/columns") as waiting:
        page.set_input_files("#table-file", file("staff.csv", staff(40)))
        until(page, lambda: len(waiting) == 1)
        page.click("#tables-form .primary")
        page.wait_for_timeout(200)
        assert asked == []
        with visit.working("/api/table"):
            waiting[0].continue_()
    assert [json.loads(body)["name"] for body in asked] == ["staff.csv"]
    with visit.held("/api/table/columns") as waiting:
        page.set_input_files("#table-file", file("wages.csv", staff(40)))
        until(page, lambda: len(waiting) == 1)
        page.click("#tables-form .primary")
        waiting[0].fulfill(status=422, json={"problem": "cannot be read"})
        visit.see("#tables-form .problem").not_to_be_empty()
    assert len(asked) == 1
    assert [trouble for trouble in visit.trouble if "422" not in trouble] == []
    visit.page.context.close()


def test_a_long_list_is_sorted_whole_and_the_last_click_wins(browser, server):
    visit = Visit(browser, server, "#tables")
    page = visit.page
    page.set_input_files("#table-file", file("staff.csv", staff(130)))
    with visit.working("/api/table"):
        page.click("#tables-form .primary")
    names = "[...document.querySelectorAll('#tables-result .beside .list tbody tr')].map((row) => +row.cells[0].innerText)"
    page.evaluate("document.querySelectorAll('#tables-result .beside .list .sort')[0].click()")  # down
    until(page, lambda: page.evaluate(f"{names}.join() === [...Array(130).keys()].map((k) => k + 1).reverse().join()"))
    page.evaluate(
        "for (const _ of [1, 2, 3]) document.querySelectorAll('#tables-result .beside .list .sort')[0].click()"
    )  # up, off, down
    page.evaluate("document.querySelectorAll('#tables-result .beside .list .sort')[0].click()")  # up
    until(page, lambda: page.evaluate(f"{names}.join() === [...Array(130).keys()].map((k) => k + 1).join()"))
    page.fill("#tables-result .find input", "12")
    until(
        page,
        lambda: page.evaluate("document.querySelectorAll('#tables-result .beside .list tbody tr:not([hidden])').length < 130"),
    )
    visit.see("#tables-result .find span").to_contain_text("of 130")
    page.fill("#tables-result .find input", "")
    until(page, lambda: page.evaluate("!document.querySelector('#tables-result .beside .list tbody tr[hidden]')"))
    visit.close()


def test_a_game_without_a_line_for_nobody_says_what_it_took_and_a_broken_payoff_greys_the_result(browser, server):
    visit = Visit(browser, server, "#game")
    page = visit.page
    page.set_input_files("#game-file", file("pair.csv", "coalition,payoff\n1,5\n2,3\n1+2,10\n"))
    visit.see("#game-story").to_have_text("From pair.csv. It has no payoff for nobody, which is taken as 0.")
    visit.see("#game-result .answer").to_contain_text("“1” earns most of it: 6 of 10")
    page.set_input_files("#game-file", file("sign.csv", "coalition,payoff\n∅,1\nA,5\nB,3\nA+B,10\n"))
    visit.see("#game-story").to_have_text("From sign.csv. ")
    visit.see("#game-result .answer").to_contain_text("of 9")
    page.locator("#game-rows input").nth(1).fill("five")
    visit.see("#game-result.stale").to_be_visible()
    page.locator("#game-rows input").nth(1).fill("5")
    visit.see("#game-result:not(.stale) .answer").to_be_visible()
    visit.close()
