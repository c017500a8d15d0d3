"""The reports of the arena and of the sanity checks, on few sentences and two methods."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

pytest.importorskip("torch")

from accredit.arena.answers import AnswerContest
from accredit.arena.contest import Example
from accredit.arena.standings import Standing
from accredit.arena.texts import TextContest
from accredit.core import Estimate
from accredit.models.builtin.facts import KINDS
from accredit_papers.answers_report import answers_report
from accredit_papers.arena_report import arena_report, beats_chance, first_beats, removes_words
from accredit_papers.report import ReportTable
from accredit_papers.report_views import report_page
from accredit_papers.sanity_report import sanity_report
from accredit_papers.verdicts import Found
from tests.wording import says

OF_A_TABLE = "rows of a table"
CLOSED_FORM = "| closed form | — | — |"
BY_LAYER = "| method | head | layer 4 | layer 3 | layer 2 | layer 1 | embeddings | max-sensitivity |"
BY_HITS = "| method | hit@1 | hit@2 | drop@1 | drop@2 | lds | passes |"
WHOLE_MODEL = "Every explanation changes when the whole model is random"
BUT_THE_FIRST = "Every explanation changes when all layers but the first are random"

TEXTS = ["A warm and funny film about two old friends.", "The food was cold and the room was dark.", "Good."]


@pytest.mark.slow
def test_it_holds_the_table_and_the_intervals(tmp_path):
    contest = TextContest(("leave-one-out", "attention"), metrics=("deletion", "insertion"), budget=64)
    examples = [Example(k, text) for k, text in enumerate(TEXTS)]
    judged = replace(contest, judge="attention")
    report = arena_report([contest, judged], examples, None, "serial", "Three sentences", quick=True, seed=0, rows=2)
    text = report.markdown()
    whole = text.split("## Everything in one table")[1]
    heads = ["share (passes)", "built-in sentiment model", "built-in sentiment model, measured by removal=attention"]
    assert " | ".join([*heads, OF_A_TABLE, "claims"]) in whole
    assert CLOSED_FORM in whole and "| attention | " in whole
    assert Found.OPEN in {verdict.found for verdict in report.verdicts}  # three sentences cannot tell
    page = report_page([report])
    assert "| leave-one-out |" in text and "<td>oracle</td>" in page and "<td>random</td>" in page
    assert "4 layers, " in text and "million weights" in text
    assert "measured by removal=attention" in text
    assert page.count("Mean Spearman correlation") == 1  # the judge changes the measure, not the explanations
    assert says(text, "within its 95")
    assert says(text, "number of passes")
    assert says(text, "Python, not by")
    assert {file.suffix for file in report.write(tmp_path)} == {".md", ".svg"}


def standing(method, share, p_best=None, p_random=None):
    estimate = Estimate(share, share - 0.05, share + 0.05)
    return Standing(method, estimate, {}, {}, {}, 1.0, 0.1, {}, 30, {}, p_best, p_random)


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        ((0.98, None), (0.97, 0.008), Found.HOLDS),  # the intervals meet, and input by input the first is better
        ((0.98, None), (0.97, 0.2), Found.OPEN),
        ((0.96, 0.01), (0.97, None), Found.REFUTED),
        ((0.96, 0.3), (0.97, None), Found.OPEN),
    ],
)
def test_two_methods_are_compared_input_by_input(ours, theirs, found):
    assert first_beats(standing("shapley", *ours), standing("integrated-gradients", *theirs)).found is found


def test_chance_is_beaten_told_apart_or_not():
    good, poor, bad = (
        standing("a", 0.9, p_random=0.01),
        standing("b", -0.1, p_random=0.4),
        standing("c", -0.2, p_random=0.01),
    )
    assert beats_chance([good])[0].found is Found.HOLDS
    judgement, because = beats_chance([good, poor])
    assert judgement.found is Found.OPEN and judgement.needs == "more examples"
    assert says(because, "told from random") and "worse" not in because
    judgement, because = beats_chance([good, poor, bad])
    assert judgement.found is Found.REFUTED and says(because, "worse than random")


def test_methods_that_play_the_game_remove_words():
    assert all(map(removes_words, ("shapley", "banzhaf", "owen", "leave-one-out", "lime", "lasso")))
    assert not any(map(removes_words, ("attention", "rollout", "flow:agf", "integrated-gradients", "attn-lrp")))


def test_sanity_judges_by_draws_of_the_weights():
    contest = TextContest(("leave-one-out", "flow"), budget=64)
    report = sanity_report(contest, [Example(0, TEXTS[1])], quick=True, seed=0)
    assert says(report.markdown(), "standard error over")
    assert [verdict.statement.split(":")[0] for verdict in report.verdicts] == [
        WHOLE_MODEL,
        BUT_THE_FIRST,
    ]


def test_sanity_has_a_column_for_every_stage():
    contest = TextContest(("leave-one-out", "attention"), budget=64)
    report = sanity_report(contest, [Example(0, TEXTS[1])], quick=True, seed=0)
    (table,) = (part.markdown() for part in report.parts if isinstance(part, ReportTable))
    assert BY_LAYER in table and "| leave-one-out |" in table and "| attention |" in table


@pytest.mark.slow
def test_answers_are_reported_kind_by_kind(tmp_path):
    contest = AnswerContest(("shapley", "lasso", "leave-one-out"), passages=5, budget=20)
    report = answers_report(contest, 2, str(tmp_path / "rows.db"), "serial", quick=True)
    text = report.markdown()
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == [k.capitalize() for k in KINDS]
    by_kind = "".join(part.markdown() for part in report.parts if isinstance(part, ReportTable) and part.detail)
    assert by_kind.count(BY_HITS) == by_kind.count("| leave-one-out |") == 4 and "| oracle |" in by_kind
    assert text.count("| leave-one-out |") == 1 and BY_HITS not in text
    assert says(text, "Python, not by")
    for verdict in report.verdicts:  # in each of both contexts
        lowest = float(re.search(r"from (\S+) to", verdict.evidence)[1])
        assert verdict.found is (Found.HOLDS if lowest >= 0 else Found.REFUTED), verdict
    assert len(report.verdicts) == 8
