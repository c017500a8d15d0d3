"""Claims and numbers are written in one way, wherever they are written."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from click.testing import CliRunner

from accredit import views
from accredit.arena.standings import Standing, Standings
from accredit.cli.doctor import methods
from accredit.core import AXIOMS, Attribution, Claim, Estimate, Holds, Precision
from accredit.games import TableGame
from accredit.values import shapley
from accredit.views.language.headlines import headline
from accredit.views.language.notation import LEGEND, letters
from accredit.views.language.phrases import in_words
from accredit.views.pages.arena_page import arena_page
from accredit.views.terminal.arena_text import markdown_table, text_table
from tests.views.every_view import COUNT, VIEWS
from tests.views.samples import picture_sample, sample
from tests.wording import reads, says


def test_no_two_sets_of_claims_look_the_same():
    kept = (Holds.EXACTLY, Holds.IN_EXPECTATION, Holds.IN_THE_LIMIT, None)
    written = [letters({a: h for a, h in zip(AXIOMS, holds, strict=True) if h}) for holds in product(kept, repeat=4)]
    assert len(set(written)) == 4**4
    assert letters(dict.fromkeys(AXIOMS, Holds.NO)) == letters(dict.fromkeys(AXIOMS, Holds.UNKNOWN)) == letters({})


def test_terminal_page_arena_and_list_of_methods_write_claims_alike():
    explanation = sample()  # of whose methods one is efficient in the limit, and one keeps all four axioms
    assert (
        "E≈" in views.text(explanation)
        and says(views.text(explanation), "E S N")
        and LEGEND in " ".join(views.text(explanation).split())
    )
    assert '<span class="holds no">in the limit' in views.explanation_page(explanation)  # the page has room for words
    claims = {"efficiency": "in the limit", "symmetry": "no"}
    table = Standings((Standing("m", None, {}, {}, {}, 1, 1, claims, 1, {}),), (), np.eye(1), ("m",), 1, {}, {}, 0.95)
    for drawn in (text_table(table), markdown_table(table), html.unescape(arena_page(table, "x"))):
        assert "E≈" in drawn and "E≈ S" not in drawn
    assert LEGEND in " ".join(text_table(table).split()) and LEGEND in html.unescape(arena_page(table, "x"))
    assert "efficiency, symmetry, null player" in " ".join(CliRunner().invoke(methods, ["--more"]).output.split())


PAGES = {name: lambda view=view: view([f"name {k}" for k in range(COUNT)]) for name, view in VIEWS.items()}
PAGES |= {"text": lambda: views.explanation_page(sample()), "picture": lambda: views.explanation_page(picture_sample())}
PAGES |= {"terminal": lambda: views.text(sample()) + views.text(sample()["shapley"])}


@pytest.mark.parametrize("name", PAGES)
def test_a_negative_number_has_a_true_minus(name):
    seen = re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", " ", PAGES[name](), flags=re.S)
    assert not re.findall(r"(?<![\w.])-\.?\d[\d.]*", seen)
    assert name in ("audit", "arena", "flow", "game") or "−" in seen


def test_a_very_long_name_is_shortened_in_the_sentence_that_names_it():
    said = headline(shapley(TableGame(("x" * 5000, "y"), [0, 1, 0, 1]))).text
    assert said.startswith("“xxx") and says(said, "1 of 1") and len(said) < 120


def test_an_interval_is_written_in_one_way_on_a_terminal_and_on_a_page():
    share = Estimate(0.9, 0.77, 0.99)
    line = Standing("m", share, {}, {}, {}, 1, 1, {}, 1, {})
    table = Standings((line,), (), np.eye(1), ("m",), 1, {}, {}, 0.95)
    for drawn in (text_table(table), html.unescape(arena_page(table, "x"))):
        assert says(drawn, "0.90 (0.77") and "… 0.99)" in drawn and "[0.77" not in drawn
    assert "0.90 [0.77, 0.99]" in markdown_table(table)  # reports that were written, and what reads them


def test_what_one_sentence_compares_has_the_same_decimals():
    rule = Attribution(("a", "b"), [1.9, 0.03], 1.95, "by hand", claims=(Claim("efficiency", Holds.NO, "by hand"),))
    whole = Attribution(("a", "b"), [1.9, 0.05], 1.95, "by hand", precision=Precision.exact())
    assert says(headline(whole).text, "1.90 of 1.95")
    assert reads(in_words(rule))
    assert reads(in_words(replace(rule, credit=[1.9, 0.0])))
