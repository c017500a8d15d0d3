"""Files that the commands save: the answer first, true lengths on a phone, names beside rows; on paper and without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accredit import views
from accredit.audit.finding import AuditFinding, Findings
from accredit.core import Attribution, Estimate, Procedure
from accredit.games import TableGame
from accredit.training_data.report import DataReport, Valuation
from accredit.training_data.suspects import RowFacts
from accredit.values.report import report
from accredit.views.language.headlines import headline
from accredit.views.language.phrases import speak
from accredit.views.pages.audit_page import audit_page
from accredit.views.pages.design import PARTS, design_page
from accredit.views.pages.engine import environment
from accredit.views.pages.flow_page import edges_page
from accredit.views.pages.valuation_page import report_page
from accredit.views.terminal.audit_text import audit_text
from tests.browsing import WIDTHS, chromium, fits, new_page
from tests.views.every_view import VIEWS
from tests.views.samples import sample
from tests.wording import says

EXCESS = '<td data-name="excess, 95% interval">(.*?)</td>'
WITH_INTERVAL = "+10.0 points (0.0 … +20.0)"
OF_ONE_INPUT = "+10.0 points (one input)"

NAMES = [f"name {k}" for k in range(40)]


def finding(name: str, verdict: Any, wanted: bool) -> AuditFinding:
    return AuditFinding(name, "asks?", 0.6, 0.5, Estimate(0.1, 0.0, 0.2), 0.05, verdict, "reads", "blind", 9, wanted=wanted)


@pytest.mark.parametrize("view", [name for name in VIEWS if name not in ("cell", "interactions")])
def test_every_file_begins_with_its_answer_in_one_sentence(view):
    body = VIEWS[view](NAMES).partition("<main")[2]
    first = re.search(r"<h1>.*?</h1>\s*(?:<p class=\"quoted\".*?</p>\s*)?<p class=\"(\w+)\">", body, re.S)
    assert first and first[1] == "answer"


@pytest.mark.parametrize("view", ["explanation", *(name for name in VIEWS if name not in ("cell", "interactions"))])
def test_the_title_of_every_file_is_a_question(view):
    page = VIEWS[view](NAMES) if view in VIEWS else views.explanation_page(sample())
    titles = [re.search(rf"<{tag}[^>]*>(.*?)</{tag}>", page, re.S) for tag in ("title", "h1")]
    assert all(found and found[1].strip().endswith("?") for found in titles), titles


def test_an_explanation_says_what_raises_and_what_lowers_before_anything_else():
    explanation = sample()
    page = views.explanation_page(explanation)
    shapley = explanation["shapley"]
    best = shapley.players[int(np.argmax(shapley.credit))]
    said = page[page.index('class="answer"') : page.index('class="lede"')]
    assert f"“{best}”" in said or "interval" in said


def test_an_audit_has_a_verdict_and_says_which_way_is_good():
    found = Findings("a mask", (finding("probe", "flagged", False), finding("agreement", "passes", True)))
    page = audit_page(found)
    assert says(page, "fails 1 of 2")
    assert "<p>Reads.</p>" in page and "<dd>Asks?</dd>" in page and "<dd>Blind.</dd>" in page  # sentences
    cells = re.findall(r'<td data-name="good is">(.*?)</td>', page)
    assert cells == ["low ↓", "high ↑"]
    assert re.findall(EXCESS, page)[0] == WITH_INTERVAL
    clean = Findings("a mask", (finding("probe", "unclear", False),))
    assert says(audit_page(clean), "undecided: probe")


def test_an_audit_of_one_input_says_that_others_are_not_known():
    alone = replace(finding("probe", "flagged", False), rows=1, excess=Estimate.exact(0.1))
    page, said = audit_page(Findings("a mask", (alone,))), audit_text(Findings("a mask", (alone,)))
    assert says(page, "fails 1 of 1") and says(page, "is not known")
    assert re.findall(EXCESS, page) == [OF_ONE_INPUT]
    assert says(page, "says nothing about") and "says nothing about" not in audit_page(
        Findings("a mask", (finding("probe", "flagged", False),))
    )
    assert says(said, "on this one input")


def test_how_an_explainer_was_made_stands_below_the_question_of_its_audit():
    page = audit_page(Findings("l2x, the 2 highest of 4; trained with top-2; seed 3", (finding("probe", "passes", True),)))
    assert "<h1>" in page and says(page, "it be trusted") and says(page, "Trained with top-2")


def test_rows_are_named_with_label_and_text():
    values = Attribution(("row 1", "row 2"), [0.5, -0.5], 0.0, "by hand")
    rows = RowFacts({"row 1": "spam", "row 2": "ham"}, {"row 1": "win a prize", "row 2": "see you at noon"})
    page = report_page(DataReport(None, Valuation(values, (), (), "accuracy", 0, 0, rows=rows)), "Training data")
    for fact in ("spam", "ham", "win a prize", "see you at noon"):
        assert fact in page
    assert says(page, "of these numbers")  # no interval, and not exact


def test_a_comparison_puts_its_charts_before_its_notes_and_names_its_columns():
    page = VIEWS["arena"](NAMES)
    assert page.index('class="curves"') < page.index("What to know")
    square = page[page.index("Who agrees with whom") :]
    assert '<th scope="col">name 0</th>' in square and '<th scope="col">1</th>' not in square


def test_how_a_number_was_computed_is_said_and_not_printed():
    assert speak(Procedure("shapley", "Exact")) == "Shapley, exact"
    page = views.game_page(report(TableGame("ab", [0, 1, 2, 4])), "A game")
    assert "Exact()" not in page and says(page, "Shapley, exact: adds")
    assert "Exact()" not in views.explanation_page(sample())


def test_no_file_tells_where_things_lie():
    told = {"model": "/home/ada/models/film", "command": "accredit explain x --model /home/ada/models/film"}
    page = views.explanation_page(replace(sample(), provenance=told))
    assert "/home/ada" not in page and "Model: film" in page and "--model film" in page
    assert says(page, "with its path")  # or the command would fail as it stands
    assert "/home/ada" not in audit_page(Findings("attention of /home/ada/models/film", (finding("probe", "passes", True),)))


def test_every_shared_part_has_a_sample_and_every_sample_a_word_in_the_docs():
    page, docs = design_page(), (Path(__file__).parents[3] / "docs" / "design.md").read_text(encoding="utf-8")
    parts = environment().get_template("parts.html").module
    drawn = {name for name in vars(parts) if not name.startswith("_")}
    signs = {
        "answer": 'class="answer"',
        "lede": 'class="lede"',
        "term": "<abbr title=",
        "explained": "closed form</abbr>",
        "warning": 'class="warning"',
        "named": 'class="who"',
        "tag": 'class="tag"',
        "table": "<table",
        "bar": 'class="whisker"',
        "heat": 'class="heat"',
        "claims": "Why trust this?",
        "attribution": 'class="list"',
        "rest": 'class="small soft rest"',
        "paragraph": "<p",
        "selection": "<table",
        "joined": "<section",
    }
    assert set(signs) == drawn and all(sign in page for sign in signs.values())
    assert all(f"<h2>{name}</h2>" in page and says in page.replace("&#39;", "'") for name, says in PARTS.items())
    for name in ("Head", "Bars", "Pairs", "Steps", "Points", "Flow", "Curves", "Doubt", "Trust", "Nothing found"):
        assert name in docs


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


def opened(browser: Any, folder: Path, content: str, **context: Any) -> Any:
    file = folder / "page.html"
    file.write_text(content.partition("</html>")[0] + "</html>", encoding="utf-8")
    page = new_page(browser, **context)
    page.goto(file.as_uri())
    return page


ADS = TableGame(("TV", "web", "radio"), [0, 38.3, 33.3, 71.6, -20, 18.3, 13.3, 51.6])


def test_bars_have_their_true_lengths_on_a_phone_and_nothing_is_cut(browser, tmp_path):
    page = opened(browser, tmp_path, views.game_page(report(ADS), "Ads"), viewport={"width": 360, "height": 800})
    widths = page.locator(".bars td.drawn path:first-child").evaluate_all("b => b.map(x => x.getBoundingClientRect().width)")
    right = page.locator(".bars td.drawn svg").evaluate_all("b => b.map(x => x.getBoundingClientRect().right)")
    assert widths[1] / widths[0] == pytest.approx(33.3 / 38.3, abs=0.01) and widths[0] - widths[1] > 5
    assert widths[2] / widths[0] == pytest.approx(20 / 38.3, abs=0.01) and max(right) <= 360
    page.context.close()


def test_numbers_stand_below_the_names_of_their_columns_on_a_phone(browser, tmp_path):
    edges = [("s → a", 3.0, 12345.0), ("a → t", 2.0, 2.0)]
    page = opened(browser, tmp_path, edges_page("Pipes", "Flow 2", edges), viewport={"width": 360, "height": 800})
    for column in (2, 3):
        right = page.locator(f".bars tr > :nth-child({column})").evaluate_all(
            "all => all.map((e) => e.getBoundingClientRect().right)"
        )
        assert len(right) == 3 and max(right) - min(right) < 1
    page.context.close()


def test_the_verdict_of_an_audit_is_seen_on_a_phone(browser, tmp_path):
    found = Findings("a mask", (finding("a check with a rather long name", "flagged", False),))
    page = opened(browser, tmp_path, audit_page(found), viewport={"width": 360, "height": 800})
    box = page.locator(".verdicts td", has_text="✗ flagged").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 360
    page.context.close()


@pytest.mark.parametrize("view", ["valuation", "audit", "arena", "table", "trace", "game", "data", "flow"])
def test_files_fit_every_width_and_paper(browser, tmp_path, view):
    page = opened(browser, tmp_path, VIEWS[view]([f"a name of some length {k}" for k in range(40)]))
    for width in WIDTHS[:2]:
        assert fits(page, width), width
    page.emulate_media(media="print")
    assert page.locator(".find, .inspector").evaluate_all("all => all.every((e) => getComputedStyle(e).display === 'none')")
    assert page.locator(".list .wide").evaluate_all(
        "all => all.map(getComputedStyle).every((style) => style.overflowY === 'visible' && style.maxHeight === 'none')"
    )  # or a list would lie over what follows
    assert page.locator(".accredit *").evaluate_all(
        "all => all.every((e) => getComputedStyle(e).contentVisibility === 'visible')"
    )  # what is not in sight is printed
    page.context.close()


def test_a_short_list_is_whole_on_a_phone(browser, tmp_path):
    """Only a list beside what is picked from it scrolls in a small window."""
    page = opened(browser, tmp_path, VIEWS["table"](NAMES), viewport={"width": 360, "height": 800})
    hidden = page.locator(".list .wide").evaluate_all(
        "all => all.filter((e) => !e.closest('.beside')).map((e) => e.scrollHeight - e.clientHeight)"
    )
    assert hidden and max(hidden) <= 0
    page.context.close()


def test_no_sentence_begins_with_a_small_letter_where_rows_are_named():
    values = Attribution(("row 1", "row 2"), [0.5, -0.5], 0.0, "by hand")
    said = headline(values).text
    assert said.startswith("Row 1") and says(said, "row 2 loses")
    assert headline(Attribution(("row a", "b"), [0.5, -0.5], 0.0, "by hand")).text.startswith("row a")  # somebody's own name


def test_without_scripts_any_row_of_a_table_opens(browser, tmp_path):
    page = opened(browser, tmp_path, VIEWS["table"](NAMES), java_script_enabled=False)
    assert page.locator(".picked .steps:visible").count() == 1
    page.click("a[href='#row-5']")
    assert page.locator("#row-5").is_visible() and page.locator(".picked .steps:visible").count() == 1
    page.context.close()


def test_every_drawing_in_a_table_is_whole_on_a_phone(browser, tmp_path):
    """The bars of credit, and those of the sum from base value to output."""
    page = opened(browser, tmp_path, views.explanation_page(sample()), viewport={"width": 360, "height": 800})
    ends = page.locator(".bars td.drawn svg").evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect()).map((r) => [r.left, r.right])"
    )
    assert len(ends) > 5 and all(left >= 0 and right <= 360 and right - left > 200 for left, right in ends)
    page.context.close()
