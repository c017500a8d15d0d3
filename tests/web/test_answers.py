"""Answers on the page: what the model's process says, what a browser may ask, and the view itself."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from accredit.errors import InvalidInput
from accredit.explanation import Explanation
from accredit.methods import find_all
from accredit.web.answering import answer
from accredit.web.costs import refuse_dear
from accredit.web.requests import AnswerRequest
from accredit.web.tasks import Models
from tests.browsing import fits, new_page
from tests.wording import refused, says

BAKER = "Anna works as a baker ."

FACTS = ["Anna has the job of Boris .", "Clara owns a dog .", "Boris works as a baker ."]


def asked(**how):
    return AnswerRequest(**{"context": FACTS, "query": "What does Anna do ?", **how}).model_dump()


@pytest.fixture(scope="module")
def models():
    return Models(())


@pytest.mark.slow
def test_the_stream_ends_with_the_page_and_its_json(models):
    events = list(answer(models, asked()))
    assert events[0]["event"] == "progress" and [e["event"] for e in events[-2:]] == ["result", "done"]
    assert events[-2]["done"] == events[-2]["of"]
    made = Explanation.from_json(events[-1]["json"])
    assert made.said.text == events[-2]["answer"] == BAKER
    assert made["shapley"].credit.tolist() == pytest.approx([1.2406, 0.0, 1.2406], abs=1e-3)
    assert models.about()["answers"]
    page = events[-1]["page"]  # a reader of a page is not told what to type in Python, a reader of the text is
    assert "explanation.of(" not in page and says(page, "6 other targets")
    assert says(page, "Absent parts are")
    assert says(str(made), "them: explanation.of('Anna'), in")


@pytest.mark.slow
def test_what_is_there_first_is_shown_first(models):
    """The words as they are said, then credit of one backward pass, then where it comes from, then values of the game."""
    events = list(answer(models, asked()))
    kinds = [event["event"] for event in events]
    assert kinds.index("text") < kinds.index("result")
    texts = [event["text"] for event in events if event["event"] == "text"]
    assert texts[-1] == BAKER and all(BAKER.startswith(text.strip()) for text in texts)
    results = [event for event in events if event["event"] == "result"]
    assert [event["done"] for event in results] == [1, 2, 3, 4] and all(event["of"] == 4 for event in results)
    assert all('class="origins"' in event["html"] for event in results[1:]) and 'class="origins"' not in results[0]["html"]
    assert all(event["answer"] == BAKER for event in results)
    methods = Explanation.from_json(events[-1]["json"]).methods
    assert methods == ("shapley", "leave-one-out", "attn-lrp")
    assert 'class="origins"' in events[-1]["page"]


@pytest.mark.slow
def test_a_given_answer_is_not_said_and_named_methods_have_no_first_look(models):
    events = list(answer(models, asked(answer=BAKER, methods=["leave-one-out"])))
    assert "text" not in {event["event"] for event in events}
    assert Explanation.from_json(events[-1]["json"]).methods == ("leave-one-out",)


@pytest.mark.slow
def test_what_a_request_has_no_time_for_is_refused_with_its_cost(models):
    events = list(answer(models, {**asked(), "seconds": 1e-9}))
    made = Explanation.from_json(events[-1]["json"])
    assert set(made.attributions) == {"attn-lrp"} and set(made.refused) == {"shapley", "leave-one-out"}
    assert all(says(why, "passes of the model") and "accredit serve --seconds" in why for why in made.refused.values())
    drawn = [event for event in events if event["event"] == "result"][-1]
    assert "accredit serve --seconds" in drawn["html"] and drawn["done"] == drawn["of"]


@pytest.mark.slow
def test_what_cannot_be_explained_is_said(models):
    with pytest.raises(InvalidInput, match="does not know"):
        list(answer(models, asked(answer="blorp")))
    with refused("too-many"):
        list(answer(models, asked(context=["Clara owns a dog ."] * 199, answer="Anna ." * 40)))
    with refused("empty", "context"):
        list(answer(models, asked(context=[" "])))


@pytest.mark.parametrize(
    "how", [{"context": ["x"] * 201}, {"players": "turn"}, {"methods": ["knn-shapley"]}, {"budget": 1}, {"model": "x"}]
)
def test_requests_are_bounded(how):
    with pytest.raises(ValidationError):
        asked(**how)


@pytest.mark.server
@pytest.mark.browser
def test_the_view_explains_colours_and_comes_back_by_its_address(browser, server):
    page, trouble = new_page(browser), []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(server.address)
    page.click("nav a[data-view=answers]")
    page.click("#answers-form button.primary")
    page.locator("#answers-result .origins").wait_for()
    page.locator("#answers-form .going").wait_for(state="hidden")  # all of it has come
    word = page.locator("#answers-result .s", has_text="baker")
    word.focus()
    assert page.locator(".asked .now").inner_text() == "“baker”"
    shades = page.locator(".prompt .t").evaluate_all("all => all.map(t => +(t.className.match(/\\bu(\\d+)/)?.[1] ?? 0))")
    assert max(shades) > 0 and shades.count(max(shades)) == 2  # the two passages that are needed
    for width in (360, 1440):
        assert fits(page, width)
    again = new_page(browser, storage_state=page.context.storage_state())
    again.goto(page.url)
    again.locator("#answers-result .s", has_text="baker").wait_for()
    assert trouble == []


def test_methods_share_the_time_that_is_left():
    """Each would fit alone; together they do not, and the first that was asked for keeps its place."""
    subject = SimpleNamespace(players=tuple(map(str, range(30))), budget=64)
    asked = find_all(("shapley", "leave-one-out"), "answer")
    together = 64 + 32
    assert refuse_dear(subject, asked, each=1.0, left=together, seconds=200) == []
    assert [each.method for each in refuse_dear(subject, asked, each=1.0, left=together - 1, seconds=200)] == ["leave-one-out"]
    assert [each.method for each in refuse_dear(subject, asked, each=1.0, left=63, seconds=200)] == ["shapley"]
