"""Three answers, the exact command, and what it would take."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
from click.testing import CliRunner

from accredit.cli import accredit
from accredit.core import Estimate
from accredit_papers.report import Report, Whose
from accredit_papers.verdicts import FigureJudgement, Found, all_of, of_estimate, over_runs
from tests.wording import says

NO_SPREAD = "one example has no spread"

OPEN_THREE = "| Three (our threshold) | cannot tell |"
TYPED = "accredit reproduce choices --quick --seed 3"
TYPED_PLAUSIBILITY = "`accredit reproduce plausibility --data eraser_movies.jsonl.gz --limit 60`"
FORTY_FIVE = "about 45 examples at this spread"


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([0.6, 0.62, 0.61], Found.HOLDS),
        ([0.4, 0.41, 0.39], Found.REFUTED),
        ([0.4, 0.6, 0.55], Found.OPEN),
        ([0.9], Found.OPEN),
        ([0.5, 0.5, 0.5], Found.OPEN),
    ],
)
def test_an_interval_judges_a_mean(values, found):
    judged = over_runs(np.array(values), low=0.5)
    assert judged.found is found and (says(judged.needs, "seed judges nothing")) is (len(values) == 1)


def test_equal_runs_show_no_spread_so_a_few_of_them_judge_nothing():
    """Of two equal seeds an interval has no width; six on one side are a sign test at 1/32."""
    assert over_runs(np.full(2, 0.7), low=0.5).found is over_runs(np.full(5, 0.1 + 0.2), high=0.5).found is Found.OPEN
    assert over_runs(np.full(6, 0.7), low=0.5).found is Found.HOLDS
    assert over_runs(np.full(6, 0.3), low=0.5).found is Found.REFUTED


def test_equivalence_needs_the_whole_interval():
    assert over_runs(np.array([0.01, -0.01, 0.0]), -0.05, 0.05).found is Found.HOLDS
    assert over_runs(np.array([0.01, -0.09, 0.06]), -0.05, 0.05).found is Found.OPEN
    assert over_runs(np.array([0.2, 0.21, 0.2]), -0.05, 0.05).found is Found.REFUTED


def test_the_seeds_it_would_take_are_enough_if_things_stay_as_they_are():
    """With mean and spread as seen, the interval of that many runs clears the edge."""
    few = np.array([0.4, 0.6, 0.7])
    needed = int(over_runs(few, low=0.5).needs.split()[1])
    for runs, found in ((needed, Found.HOLDS), (needed - 1, Found.OPEN)):
        drawn = np.random.default_rng(0).normal(size=runs)
        many = few.mean() + few.std(ddof=1) * (drawn - drawn.mean()) / drawn.std(ddof=1)
        assert over_runs(many, low=0.5).found is found


def test_estimates_are_judged_by_their_own_interval():
    assert of_estimate(Estimate(0.2, 0.1, 0.3), low=0).found is Found.HOLDS
    assert of_estimate(Estimate(0.2, -0.1, 0.5), low=0, count=20) == FigureJudgement(Found.OPEN, FORTY_FIVE)
    assert of_estimate(Estimate.unknown(0.2, NO_SPREAD), low=0).needs == NO_SPREAD
    assert all_of([FigureJudgement(Found.OPEN, "x"), FigureJudgement(Found.REFUTED)]).found is Found.REFUTED


def test_what_is_asked_of_many_must_be_surer():
    """Of 20 figures with the mean 0 one is found above 0 by chance in two families of five; of a family it is one in forty."""
    rng = np.random.default_rng(0)
    figures = rng.normal(size=(60, 20, 30))  # families, figures, runs
    alone = [any(over_runs(one, low=0).found is Found.HOLDS for one in family) for family in figures]
    together = [any(over_runs(one, low=0, family=20).found is Found.HOLDS for one in family) for family in figures]
    assert sum(alone) > 6 and sum(together) <= 10  # 24 and 1.5 expected; either fails less than once in a million
    sure = np.array([0.5, 0.6, 0.7, 0.6])
    assert over_runs(sure, low=0, family=20).found is Found.HOLDS


def test_the_report_counts_what_an_interval_told():
    report = Report("demo", "Demo")
    report.verdict("A fact", True, "seen")
    assert "intervals" not in report.markdown()
    report.verdict("A mean", over_runs(np.array([0.5, 0.6, 0.7, 0.6]), low=0), "seen")
    report.verdict(
        "Two means", all_of([over_runs(np.array([0.5, 0.6, 0.7, 0.6]), high=0), FigureJudgement(Found.OPEN)]), "seen"
    )
    report.verdict("One run", over_runs(np.array([0.5]), low=0), "seen")
    assert says(report.markdown(), "verdict in twenty")


def test_a_report_tells_the_three_apart():
    report = Report("demo", "Demo")
    report.verdict("One", True, "seen")
    report.verdict("Two", False, "seen", paper="3 %")
    report.verdict("Three", FigureJudgement(Found.OPEN, "9 seeds"), "seen", whose=Whose.THRESHOLD)
    text = report.markdown()
    assert says(text, "1 cannot be")
    assert OPEN_THREE in text and says(text, "tell: 9 seeds") and "paper: 3 %" in text


@pytest.mark.slow
def test_the_recorded_command_writes_the_same_report_again(tmp_path):
    """A small one, typed with options; the command inside the report is typed again and the two reports are one."""
    pytest.importorskip("transformers")
    typed = ["reproduce", "choices", "--seed", "3", "--quick", "--out", str(tmp_path / "one")]
    assert CliRunner().invoke(accredit, typed).exit_code == 0
    first = (tmp_path / "one" / "choices.md").read_text()
    recorded = first.split("Written by `")[1].split("`")[0]
    assert recorded == TYPED
    again = [*shlex.split(recorded)[1:], "--out", str(tmp_path / "two")]
    assert CliRunner().invoke(accredit, again).exit_code == 0
    assert (tmp_path / "two" / "choices.md").read_text() == first


def test_the_recorded_command_names_data_but_not_their_folder(tmp_path, monkeypatch):
    from accredit_papers import plausibility_report

    asked = []

    def made(model, data, count, quick, seed):
        asked.append((model, data, count, quick, seed))
        return Report("plausibility", "Demo")

    monkeypatch.setattr(plausibility_report, "plausibility_report", made)
    data = tmp_path / "eraser_movies.jsonl.gz"
    data.write_bytes(b"")
    words = ["reproduce", "plausibility", "--data", str(data), "--limit", "60", "--out", str(tmp_path)]
    assert CliRunner().invoke(accredit, words).exit_code == 0
    assert TYPED_PLAUSIBILITY in (tmp_path / "plausibility.md").read_text()
    assert asked[0][2] == 60
