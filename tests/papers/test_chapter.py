"""The chapter's problems: the verdicts that must come out, and the parts they rest on."""

from __future__ import annotations

import re

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

from accredit.cli import accredit
from accredit.core.coalitions import from_index
from accredit.games import TableGame
from accredit.values import shapley
from accredit_papers import chapter_data
from accredit_papers import chapter_influence as influence
from accredit_papers import chapter_shapley as worked
from accredit_papers.chapter import chapter
from accredit_papers.chapter_synergy import MatchedPair
from accredit_papers.report import Whose
from accredit_papers.verdicts import Found
from tests.wording import says


@pytest.fixture(scope="module")
def report():
    for name in ("sklearn", "torch", "captum"):
        pytest.importorskip(name)
    return chapter(quick=True)


@pytest.mark.slow
def test_exactly_three_printed_statements_fall(report):
    fallen = [v for v in report.verdicts if v.found is Found.REFUTED]
    assert len(fallen) == 3 and {v.whose for v in fallen} == {Whose.TEXT}
    assert "as printed" in fallen[0].statement and says(fallen[1].statement, "is the directional")
    assert "linearity" in fallen[2].statement


@pytest.mark.slow
def test_every_numbered_problem_has_a_verdict(report):
    """10.2.7 included; statements of ours are marked."""
    named = {number for v in report.verdicts for number in re.findall(r"Problem (10\.\d\.\d)", v.statement)}
    assert named == {"10.1.3", "10.1.4", "10.2.7", "10.5.1", "10.5.2"}
    ours = [v for v in report.verdicts if v.whose is Whose.OURS]
    assert ours and all(v.said.endswith("(ours)") for v in ours)


def test_the_report_is_markdown_with_its_figures(report, tmp_path):
    files = report.write(tmp_path)
    text = (tmp_path / "chapter.md").read_text(encoding="utf-8")
    assert {f.name for f in files} == {"chapter.md", "chapter_series.svg", "chapter_matched_pair.svg"}
    for file in files[1:]:
        assert f"({file.name})" in text
        assert "<svg" in file.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_command_prints_verdicts_and_running_it_again_writes_the_same_bytes(report, tmp_path):
    result = CliRunner().invoke(accredit, ["reproduce", "chapter", "--quick", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "✓ Theorem 10.1.2" in result.output
    assert says(result.output, "Problem 10.1.4 as")
    report.write(tmp_path / "before")
    texts = [(place / "chapter.md").read_text(encoding="utf-8") for place in (tmp_path / "before", tmp_path)]
    first, second = (re.sub(r"Written by .*? \(", "(", text) for text in texts)  # a call of Python, and the command
    assert first == second and "(accredit " in first


def test_remainder_by_hand():
    # A = diag(1/2, 1): two terms are diag(3/2, 1), and A⁻¹ is diag(2, 1)
    assert influence.remainder(np.array([0.5, 1.0]), 2) == pytest.approx(0.5)
    assert_allclose(influence.partial_sum(np.diag([0.5, 1.0]), 2), np.diag([1.5, 1.0]))
    assert influence.printed_bound(np.array([0.5, 1.0]), 2) == 0.0
    # With λ_max > 1 the fast end may bind: (0.9)² / 1.9 against (0.1)² / 0.9.
    assert influence.remainder(np.array([0.9, 1.9]), 2) == pytest.approx(0.81 / 1.9)


def test_terms_needed_is_the_least_that_suffices():
    for eigenvalues in (np.array([0.2, 0.9]), np.array([0.5, 1.8])):
        r = influence.terms_needed(eigenvalues, 0.01)
        rho = influence.contraction(eigenvalues)
        assert rho**r <= 0.01 < rho ** (r - 1)
    assert influence.terms_needed(np.array([1.0]), 0.01) == 1


@pytest.mark.parametrize("way", [worked.by_orders, worked.by_sizes, worked.by_formula, worked.by_unanimity])
def test_every_definition_shares_the_cookies(way):
    assert_allclose(way(TableGame(("alice", "bob"), [0, 5, 3, 10])), [6, 4])


def test_differences_by_hand():
    assert_allclose(worked.differences(TableGame(("alice", "bob"), [0, 5, 3, 10])), [[0, 2], [-2, 0]])


def test_the_matched_pair_learns_the_line_when_all_rows_play():
    pytest.importorskip("sklearn")
    game = MatchedPair(seed=0)
    nobody, one_class, everybody = game.payoff(np.array([np.zeros(8), np.eye(8)[0], np.ones(8)], dtype=bool))
    assert nobody == one_class == 0.5
    assert everybody > 0.9


def test_pricing_oracle():
    values = shapley(TableGame(("A", "B", "C"), [0, 50, 20, 75, 25, 80, 90, 100]))
    assert_allclose(values.credit, [115 / 3, 85 / 3, 100 / 3])


def test_weights_of_degrees_are_those_of_the_definition():
    table = np.random.default_rng(3).normal(size=16)
    signs = 2 * from_index(np.arange(16), 4) - 1.0
    by_hand = np.zeros(5)
    for subset in from_index(np.arange(16), 4):
        by_hand[subset.sum()] += (table * signs[:, subset].prod(axis=1)).mean() ** 2
    assert_allclose(chapter_data.degree_weights(table), by_hand)
    assert_allclose(by_hand[1:].sum(), table.var())


def test_noise_stability_is_that_of_pairs_of_subsets():
    table, rho = np.random.default_rng(4).normal(size=8), 0.3
    change = np.bitwise_count(np.arange(8)[:, None] ^ np.arange(8))  # rows in which two subsets differ
    chance = ((1 + rho) / 2) ** (3 - change) * ((1 - rho) / 2) ** change / 8
    assert chapter_data.noise_stability(table, rho) == pytest.approx(table @ chance @ table)
