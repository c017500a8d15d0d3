"""Explained answers for people: the terminal's lines, the page and its script."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from accredit import views
from accredit.core import Attribution, Precision, Procedure
from accredit.explanation import Explanation, Said, Token, explain
from accredit.views.pages.answer_page import CELLS
from tests.browsing import WIDTHS, chromium, fits, new_page
from tests.views.hostile import corpus
from tests.wording import says

EXACT = Precision.exact()


def made(players=("Rome is old.", "Oslo\nis new."), pieces=("It", " is", "\n", " Rome", "."), source="given", intervals=False):
    """An answer of two sentences, or of any tokens, with credit that says where it was written."""
    text = "\n\n".join(players) + "\n\nWhich?"
    starts = np.cumsum([0, *(len(p) + 2 for p in players)])
    tokens = tuple(Token(p, int(a), int(a) + len(p), p) for p, a in zip(players, starts, strict=False))
    count = len(pieces)
    names = [f"{k} {piece.strip()}" for k, piece in enumerate(pieces)]
    targets = [("answer", 0, count), ("first", 0, 2), *((name, k, k + 1) for k, name in enumerate(names))]
    likely, base = np.linspace(-0.1, -1, count), np.linspace(-2, -3, count)

    def credit(scale):
        x = scale * np.linspace(1, -0.5, len(players))
        around = np.stack([x - 0.1, x + 0.1], axis=1) if intervals else None
        known = Precision.interval("by hand") if intervals else EXACT
        return Attribution(
            players,
            x,
            float(x.sum()),
            "shapley",
            interval=around,
            precision=known,
            baseline=-2.0,
            level=0.95 if intervals else None,
        )

    others = {name: {"shapley": credit(k + 1.0)} for k, (name, _, _) in enumerate(targets[1:])}
    return Explanation(
        text,
        (("answer", -0.5),),
        "answer",
        players,
        ("shapley",),
        {"shapley": credit(1.0)},
        tokens=tokens,
        others=others,
        payoff="log-probability",
        unit="value",
        said=Said(pieces, targets, likely, base, source),
        provenance={"model": "by hand", "players": "passage", "removal": "rebuild", "prompt tokens": 9},
    )


def test_the_terminal_lists_parts_with_bars_and_intervals_then_sentences_and_tokens():
    lines = str(made(intervals=True)).splitlines()
    row = next(line for line in lines if line.startswith("Rome is old."))
    assert "+1.000" in row and "0.9 … 1.1" in row and "█" in row
    assert any(line.startswith("first") for line in lines) and any(says(line, "sentences of the") for line in lines)
    assert any("\\u000a" in line or "Oslo is new." in line or "Oslo\\u000ais new." in line for line in lines)


def test_how_an_answer_was_generated_is_said_in_words_and_kept_in_the_json():
    greedy = {"do_sample": False, "num_beams": 1, "max_new_tokens": 60}
    explained = made(source=Procedure("generated", settings=greedy))
    page, words = views.explanation_page(explained), "enerated by greedy decoding, at most 60 new tokens"
    assert f"G{words}." in page and f"answer is g{words}" in str(explained)
    assert "do_sample" not in page + str(explained) and '"do_sample": false' in explained.to_json()


def test_credit_below_rounding_is_drawn_as_none():
    e = made()
    noise = Attribution(e.players, [0.0, 3e-9], 0.0, "shapley", precision=EXACT, baseline=-50.0)
    quiet = Explanation(
        e.text,
        e.prediction,
        "answer",
        e.players,
        ("shapley",),
        {"shapley": noise},
        tokens=e.tokens,
        said=e.said,
        provenance=e.provenance,
    )
    assert "█" not in str(quiet) and 'class="t u12"' not in views.explanation_page(quiet)


def test_nobody_earned_most_of_a_loss():
    def against(prompts, answer):
        return [-1.0 - prompt.count("dog") + 0.25 * prompt.count("cat") for prompt in prompts]

    why = explain("A cat . A dog . A dog again .", against, answer="fish", methods="shapley")
    page = views.explanation_page(why)
    assert says(page, "lowers it")


def test_a_notebook_shows_every_sentence_without_a_script():
    html = views.fragment(made())
    assert "<script" not in html and "For “first”" in html and "Prompt × answer" in html


@pytest.mark.slow
def test_a_page_of_very_many_numbers_leaves_out_tokens():
    players = tuple(f"p{k}" for k in range(3000))
    html = views.explanation_page(made(players, tuple(f" w{k}" for k in range(CELLS // 3000 + 5))))
    assert 'class="s"' not in html and 'data-k="1"' in html


def one_more(e):
    """The same with a method before it that answers for the whole answer only."""
    alone = Attribution(e.players, [3.0, 1.0], None, "zeroing")
    return replace(e, methods=("zeroing", *e.methods), attributions={"zeroing": alone, **e.attributions}, unsigned=("zeroing",))


def test_a_method_for_the_whole_answer_alone_hides_nothing_of_the_others():
    e = one_more(made())
    assert "For “first”" in views.fragment(e) and "by Shapley" in views.explanation_page(e)
    assert "largest credit" in str(e)


@pytest.mark.browser
def test_a_method_for_the_whole_answer_alone_says_so_when_a_word_is_picked(browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(views.explanation_page(one_more(made())), encoding="utf-8")
    page = new_page(browser)
    page.goto(file.as_uri())
    page.locator(".s").nth(1).focus()
    assert page.locator(".asked .now").inner_text() == "the whole answer"
    assert "only" in page.locator(".likely").inner_text()
    page.locator(".pick.by").nth(1).click()
    assert page.locator(".asked .now").inner_text() == "“1 is”"


def test_hostile_words_stay_words():
    names = tuple(dict.fromkeys(corpus()[:60]))
    html = views.explanation_page(made(names, tuple(corpus()[:40]), source=corpus()[3]))
    assert "<img src=x" not in html and html.count("<script") == 1


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.mark.browser
def test_pointing_and_keys_colour_the_prompt(browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(views.explanation_page(made(intervals=True)), encoding="utf-8")
    page, trouble = new_page(browser), []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(file.as_uri())
    now, parts, words = page.locator(".asked .now"), page.locator(".prompt .t"), page.locator(".s")
    assert now.inner_text() == "the whole answer"
    assert parts.first.get_attribute("class") == "t u6"  # half of what there was to earn
    words.nth(0).focus()
    assert now.inner_text() == "“0 It”"
    page.keyboard.press("ArrowRight")
    assert now.inner_text() == "“1 is”" and words.nth(1).get_attribute("aria-pressed") == "true"
    page.keyboard.press("Escape")
    assert now.inner_text() == "the whole answer"
    page.locator('.pick[data-k="1"]').hover()
    assert now.inner_text() == "“first”"
    parts.nth(1).hover()
    assert (
        says(page.locator(".readout").inner_text(), "”: −0.500 (−0.6")
        and "… −0.4) for" in page.locator(".readout").inner_text()
    )
    for width in WIDTHS:
        assert fits(page, width)
    assert trouble == []


@pytest.mark.browser
def test_hostile_words_run_nothing(browser, tmp_path):
    file = tmp_path / "page.html"
    names = tuple(dict.fromkeys(corpus()[:60]))
    file.write_text(views.explanation_page(made(names, tuple(corpus()[:40]), source=corpus()[3])), encoding="utf-8")
    page, trouble = new_page(browser), []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("request", lambda r: trouble.append(r.url) if not r.url.startswith(("data:", "file:")) else None)
    page.goto(file.as_uri())
    page.locator(".prompt .t").nth(3).hover()
    page.locator(".s").nth(3).focus()
    assert trouble == [] and page.evaluate("window.hit") is None
