"""Attention with and without its sinks, on two sentences of the built-in model."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("ortools")

from accredit.arena.texts import load
from accredit.flow.stack import leave_unread
from accredit_papers import attention_report as attention_report_module
from accredit_papers.attention_report import READINGS, WAYS, YARDSTICK, SinkTrial, attention_report
from accredit_papers.verdicts import Found
from tests.wording import refused, says

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow
def test_every_reading_is_compared_with_ablation_in_every_way():
    report = attention_report(load("builtin"), ["A warm and funny film.", "The food was cold."], None, [])
    text = report.markdown()
    assert all(f"| {name} | {way} |" in text for name in READINGS for way in WAYS) and f"| {YARDSTICK} |" in text
    found = {v.statement.partition(": ")[2]: v.found for v in report.verdicts}
    assert found["Proposition 1 for the game of its proof: total attention is not the Shapley value"] is Found.HOLDS
    assert says(text, "ranks as leaving out does")


@pytest.mark.slow
def test_a_stopped_study_goes_on(tmp_path, monkeypatch):
    texts, store = ["A warm and funny film.", "The food was cold."], tmp_path / "texts.sqlite"
    model = load("builtin")
    study = attention_report_module._text_trial
    monkeypatch.setattr(attention_report_module, "_propositions", lambda *given: None)
    whole = attention_report(model, texts, None, []).markdown()
    attention_report(model, texts[:1], None, [], store=store)
    monkeypatch.setattr(
        attention_report_module,
        "_text_trial",
        lambda model, text, seed: study(model, text, seed) if text == texts[1] else 1 / 0,
    )
    assert attention_report(model, texts, None, [], store=store).markdown() == whole


def test_a_hit_is_the_passage_alone_at_the_top():
    credit = {("flow", WAYS[0]): np.array([1.0, 3.0, 2.0]), ("flow", WAYS[1]): np.array([3.0, 3.0, 2.0])}
    trial = SinkTrial(9, 0.5, 0.5, 0.0, credit, np.array([0.0, -4.0, 1.0]), frozenset({1}))
    assert trial.hit(("flow", WAYS[0])) and not trial.hit(("flow", WAYS[1]))  # two at the top are nobody's hit
    assert trial.agreement(("flow", WAYS[0])) == pytest.approx(1.0)  # by size: ranks 1, 3, 2 against 1, 3, 2


def test_tokens_that_are_not_there_cannot_be_left_unread():
    rows = np.full((1, 2, 2), 0.5)
    assert (leave_unread(rows, []) == rows).all()
    for wrong in ([2], [-3], [0.5], [[0]]):
        with refused("range", "tokens"):
            leave_unread(rows, wrong)


def test_the_page_of_flow_says_what_the_report_found():
    report, page = ((DOCS / name).read_text(encoding="utf-8") for name in ("reports/attention.md", "flow.md"))
    mine, unread, _, prompts, theirs = re.search(
        r"It finds the passage in (\d+), (\d+), (\d+) of (\d+) prompts.*?AttnLRP in (\d+)", report
    ).groups()
    said = " ".join(page.split())
    assert (
        f"in {mine} of {prompts}, with the first token left unread in {unread}; one backward pass of AttnLRP in {theirs}"
        in said
    )
    as_it_is, without = re.search(r"SST2\.\*\*.*?as it is (\S+), sinks unread (\S+),", report).groups()
    assert f"from {as_it_is} to {without} in rank correlation" in said
