"""What the views say, without a browser or a model."""

import re
from dataclasses import replace

import numpy as np
import pytest

from accredit import views
from accredit.core import Attribution
from accredit.explanation import Explanation
from accredit.explanation.assemble import NOTHING_KNOWN
from accredit.views.language.largest import MOST_EDGES, strongest_edges
from accredit.views.language.notation import claim_letters
from accredit.views.language.numbers import column
from accredit.views.language.phrases import title
from accredit.views.pages.document import asset, stylesheet
from accredit.views.pages.explanation_page import STEPS, explanation_blocks, explanation_body
from accredit.views.pages.flow_drawing import flow_svg, left_out
from accredit.views.pages.parts import attribution_table, sky
from accredit.views.terminal.explanation_text import wants_colour
from tests.views.hostile import corpus
from tests.views.samples import flow_picture, picture_sample, sample
from tests.wording import says

BAR_UP = "bar up y16 h16"
BAR_DOWN = "bar down y32 h16"
ALL_FOUR = "E S N L"


def test_page_without_data_is_small():
    assert len(stylesheet()) + len(asset("inspector.js")) < 36_000
    assert len(views.explanation_page(sample(flow=False))) < 150_000


def test_page_refers_to_nothing_outside():
    for page in (views.explanation_page(sample()), views.explanation_page(picture_sample())):
        assert not re.search(r"(https?:)?//[a-z]", page.replace("// ", ""))
        assert "unsafe-inline" not in page
        assert not re.search(r"\sstyle=|\son[a-z]+=", page)  # colours are classes, events are in the one script


@pytest.mark.parametrize("make", [sample, picture_sample])
def test_every_method_and_number_is_on_the_page(make):
    explanation = make()
    page = views.explanation_page(explanation)
    for method, result in explanation:
        assert page.count(title(method)) >= 3  # its strip, its column, its row of claims
        for shown in column([abs(result[player]) for player in explanation.players]):
            assert shown in page


def test_a_next_token_of_white_space_is_shown_as_a_sign():
    """A bar with an empty name says nothing."""
    explained = replace(sample(), target="\n", prediction=(("\n", 0.6), (" ", 0.3), (" not", 0.1)))
    shown = views.text(explained)
    assert says(shown, "60.0%, ␣ 30.0%") and "of ⏎" in shown
    page = views.explanation_page(explained)
    assert "Why ⏎?" in page and ">␣<" in page


def test_refused_methods_say_why_and_claims_give_reasons():
    page = views.explanation_page(sample())
    assert says(page, "concept was given")
    assert says(page, "computed from all")
    assert "completeness gap 3.2e-07" in page


def test_signs_have_colours_and_sizes_are_grey():
    page = views.explanation_page(sample())
    strip = dict(zip(sample().attributions, page.split('<div class="method">')[1:], strict=True))
    assert re.search(r'class="t u\d+"', strip["shapley"]) and re.search(r'class="t d\d+"', strip["shapley"])
    assert not re.search(r'class="t (special )?[ud]\d+"', strip["attention"])
    assert re.search(r'class="t (special )?n\d+"', strip["attention"])


def test_error_bars_are_drawn_only_where_they_are_known():
    explanation = sample(flow=False)
    drawn = re.compile(r'class="whisker[" ]')
    assert len(drawn.findall(views.explanation_page(explanation))) == 2 * len(explanation.players)  # large, and in the table
    bare = replace(explanation["shapley"], interval=None, precision=None)
    without = replace(explanation, attributions={**explanation.attributions, "shapley": bare})
    assert not drawn.search(views.explanation_page(without))


def test_fragment_holds_no_script_and_no_anchor():
    cell = views.fragment(sample())
    assert "<script" not in cell and " id=" not in cell and " href=" not in cell


@pytest.mark.slow
@pytest.mark.parametrize("name", corpus())
def test_no_hostile_name_survives_as_markup(name):
    explanation = replace(
        sample(flow=False),
        target=name,
        prediction=((name, 1.0),),
        notes=(name,),
        refused={},
        methods=tuple(sample().attributions),
    )
    clean = replace(explanation, target="x", prediction=(("x", 1.0),), notes=("x",))
    tags = re.compile(r"<[a-zA-Z/!]")
    assert len(tags.findall(views.explanation_page(explanation))) == len(tags.findall(views.explanation_page(clean)))


def test_drawing_keeps_nearly_all_of_the_flow_and_marks_the_cut():
    picture = flow_picture([f"t{k}" for k in range(12)])
    for layer in range(picture.layers):
        kept = sum(picture.edges[layer][i, j] for i, j in strongest_edges(picture.edges[layer]))
        assert kept >= 0.98 * picture.edges[layer].sum()
    svg = flow_svg(picture)
    assert svg.count('class="cut"') == sum(
        (picture.cut[layer][i, j] > 0) for layer in range(4) for i, j in strongest_edges(picture.edges[layer])
    )
    assert svg.count('class="tick"') == svg.count('class="cut"') > 0


def test_a_deep_wide_flow_is_a_bounded_drawing_that_counts_what_it_leaves_out():
    picture = flow_picture([f"t{k}" for k in range(33)], layers=12)
    assert (picture.edges > 0).sum() > 10_000
    assert flow_svg(picture).count("<path") <= MOST_EDGES + 33 and flow_svg(picture).count("<title") < 2500
    told = re.search(r"Drawn: the ([\d,]+) strongest of ([\d,]+) edges, which carry ([\d.]+)%", left_out(picture))
    assert told and int(told[2].replace(",", "")) == (picture.edges > 0).sum()
    assert int(told[1].replace(",", "")) <= MOST_EDGES
    assert left_out(flow_picture(["a"])) == ""


def test_bars_stand_on_one_line_and_end_where_their_credit_is():
    up, down = sky(1.0, (0.5, 1.5), (-1.0, 2.0), True), sky(-1.0, (-1.0, -1.0), (-1.0, 2.0), True)
    assert up == (BAR_UP, "whisker y8 h16")  # 48 steps from 2 down to −1; zero at 32
    assert down == (BAR_DOWN, "")


@pytest.mark.slow
def test_long_texts_stay_light():
    """A token is a link, a bar, a word; a number is a cell. Nothing else grows with the text."""
    words = 500
    explanation = sample(" ".join(f"w{k}" for k in range(words)), flow=False)
    page, methods = views.explanation_page(explanation), len(explanation.attributions)
    tags = len(re.findall(r"<[a-z]", page))
    assert tags < words * (4 + methods + 2 + methods) + 600
    assert page.count("<svg") <= 4 + STEPS  # those of the prediction and of the running sum
    assert page.count('class="method aside"') == methods  # not laid out while out of sight


def test_blocks_are_the_body_and_a_new_method_renews_few_of_them():
    explanation = sample(flow=False)
    names = list(explanation.attributions)
    fewer = {name: explanation.attributions[name] for name in names[:-1]}
    before = explanation_blocks(replace(explanation, attributions=fewer, methods=(*fewer, "tcav")), live="page")
    after = explanation_blocks(explanation, live="page")
    assert "".join(after.values()) == explanation_body(explanation, live="page")
    assert (
        'href="#p' not in after["lead"]
    )  # thousands of links cost a browser a frame; a file needs them, as it needs no script
    assert 'href="#p' in explanation_body(explanation, live="file")
    changed = {key for key, html in after.items() if before.get(key) != html}
    assert changed == {"intro", f"method {names[-1]}", "numbers", "trust"}


def test_cut_at_the_source_and_at_the_sink_is_marked():
    picture = flow_picture(["a", "b", "c"])
    picture = replace(picture, cut=np.zeros_like(picture.cut), source_cut=[1.0, 0, 0], sink_cut=[0, 0.2, 0.3])
    assert flow_svg(picture).count('class="tick"') == 3


def test_terminal_shows_every_method_and_what_adds_up():
    text = str(sample())
    assert says(text, "93.1%, NEGATIVE 6.9%")
    assert re.search(r"\nclaims +E S N L +S N L +E≈ +E +—\n", text)
    assert says(text, "concept was given")
    assert "\x1b" not in text


def test_colour_paints_the_text_and_changes_no_letter():
    explanation = sample()
    painted = views.text(explanation, colour=True)
    assert "\x1b[48;2;" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == views.text(explanation)


def test_terminal_obeys_no_hostile_character():
    explanation = replace(sample(), target="\x1b[2J\u202e", prediction=(("\x1b]0;x\x07", 1.0),), notes=("\x9b31m",))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", str(explanation))


def test_no_colour_is_respected(monkeypatch):
    class Terminal:
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert wants_colour(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())


def test_long_texts_show_the_largest_in_the_order_of_the_text():
    text = " ".join(f"w{k}" for k in range(100))
    explanation = sample(text, flow=False)
    lines = views.text(explanation, rows=10).splitlines()
    assert " ".join(line for line in lines if line and line in text) == text  # folded, and all there
    shown = [line.split()[0] for line in lines if re.match(r"w\d+ ", line) and line not in text]
    assert len(shown) == 10 and shown == sorted(shown, key=lambda w: int(w[1:]))
    assert says(lines, "of smaller credit")


def test_claim_letters_follow_the_claims():
    explanation = sample()
    assert [claim_letters(a) for _, a in explanation] == [ALL_FOUR, "S N L", "E≈", "E", "—"]


def test_json_both_ways():
    for explanation in (sample(), picture_sample()):
        assert Explanation.from_json(explanation.to_json()) == explanation


def test_single_player_and_all_zero_credit_are_drawn():
    one = Explanation("x", (("a", 1.0),), "a", ("x",), ("m",), {"m": Attribution(("x",), [0.0], 0.0, "m")})
    assert "Why a?" in views.explanation_page(one)
    assert "sum" in str(one)


def test_only_credit_that_is_shared_has_a_sum():
    lines = views.text(sample()).splitlines()
    block = next(line for line in lines if line.startswith("sum"))
    assert block.count("—") == 1 and len(block.split()) == 6  # attention divides nothing; the other four do
    scores = replace(sample(), methods=("attention",), attributions={"attention": sample()["attention"]}, refused={})
    assert not any(line.startswith("sum") for line in views.text(scores).splitlines())


def test_no_leader_is_named_and_nothing_is_coloured_where_nothing_stands_out():
    """A uniform picture has credit of the size of rounding; its largest is not the reason of anything."""
    found = sample()
    for size, said in ((1e-6, "the largest credit is 1e-06, which may be rounding"), (0.0, "all credit is 0")):
        credit = size * np.linspace(1, -1, len(found.players))
        still = Attribution(found.players, credit, float(credit.sum()), "shapley/Exact()", baseline=1.7)
        blocks = explanation_blocks(
            replace(found, attributions={"shapley": still}, methods=("shapley",), refused={}, unsigned=())
        )
        assert said in blocks["intro"] and "more than any other" not in blocks["intro"]
        assert not re.search(r'class="[^"]*\b[ud][3-9]', blocks["lead"])


def test_no_leader_is_named_where_the_model_knows_no_token():
    blocks = explanation_blocks(replace(sample(), notes=(NOTHING_KNOWN, "Another note.")))
    assert NOTHING_KNOWN.text in blocks["intro"] and "more than any other" not in blocks["intro"]
    assert NOTHING_KNOWN.text not in blocks["notes"] and "Another note." in blocks["notes"]


def test_numbers_in_a_column_share_their_decimals():
    body = attribution_table(Attribution(("a", "b", "c"), [1.25, 1.2, -0.5], 1.95, "by hand"))
    assert re.findall(r"<td>([−\d.]+)</td>", body) == ["1.25", "1.20", "−0.50"]
