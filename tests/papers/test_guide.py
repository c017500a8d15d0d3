"""The guide follows from the committed reports: its numbers are theirs, and so is its advice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "choosing.md").read_text(encoding="utf-8")
LINKED = sorted(set(re.findall(r"\(reports/(\w+)\.md\)", GUIDE)))
REPORTS = {name: (DOCS / "reports" / f"{name}.md").read_text(encoding="utf-8") for name in LINKED}
BUILT_IN, LARGER, JUDGED = (
    "built-in sentiment model", "MiniLM-L6-SST2", "built-in sentiment model, measured by removal=attention",
)  # fmt: skip
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.]*\d)")


def tables(text: str) -> list[list[list[str]]]:
    """Every Markdown table: rows of cells, the header first."""
    blocks = re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE)
    found = [
        [[cell.strip() for cell in line.strip("|").split(" | ")] for line in block.split("\n")] for block in blocks
    ]
    return [[row for row in rows if not set("".join(row)) <= set("-:|")] for rows in found]


def ranking(title: str) -> dict[str, dict[str, str]]:
    """Method -> column -> cell, of one contest of the arena."""
    section = re.split(r"^## ", REPORTS["arena"], flags=re.MULTILINE)
    header, *rows = tables(next(part for part in section if part.partition("\n")[0] == title))[0]
    return {row[0]: dict(zip(header, row, strict=True)) for row in rows}


def share(title: str, method: str) -> float:
    return float(ranking(title)[method]["share of oracle, 95% interval"].split()[0])


def interval(title: str, method: str) -> tuple[float, float]:
    low, high = re.findall(r"-?\d+\.\d+", ranking(title)[method]["share of oracle, 95% interval"])[1:]
    return float(low), float(high)


def test_every_number_of_the_guide_is_in_a_report_it_links():
    known = {number for text in REPORTS.values() for number in NUMBER.findall(text)}
    missing = [number for number in NUMBER.findall(GUIDE) if number not in known]
    assert not missing, missing
    assert len(NUMBER.findall(GUIDE)) > 40  # the expression finds them


def test_the_table_of_shares_is_the_arena():
    header, *rows = next(table for table in tables(GUIDE) if table[0][0] == "method")
    assert header == ["method", "built-in", "MiniLM", "built-in, other judge", "passes"]
    asked = [BUILT_IN, LARGER, JUDGED]
    assert {row[0].strip("`") for row in rows} == set(ranking(BUILT_IN)) - {"oracle", "random"}
    for name, *cells, passes in rows:
        method = name.strip("`")
        assert [float(cell.replace("−", "-")) for cell in cells] == [share(title, method) for title in asked], method
        assert passes == " / ".join(ranking(title)[method]["passes"] for title in asked[:2]), method


@pytest.mark.parametrize("title", [BUILT_IN, LARGER, JUDGED])
def test_shapley_is_the_most_faithful_everywhere(title):
    others = set(ranking(title)) - {"oracle", "random", "shapley"}
    assert all(share(title, "shapley") >= share(title, other) for other in others)


def test_what_is_said_of_cheaper_removal():
    assert all(share(title, "leave-one-out") >= 0.8 for title in (BUILT_IN, LARGER, JUDGED))
    assert float(ranking(LARGER)["banzhaf"]["p best"]) > 0.05  # not told apart from shapley there
    assert float(ranking(BUILT_IN)["banzhaf"]["p best"]) < 0.05
    assert ranking(BUILT_IN)["shapley"]["claims"].split()[0] == ranking(BUILT_IN)["owen"]["claims"].split()[0] == "E"
    assert ranking(BUILT_IN)["integrated-gradients"]["claims"].split()[0] == "E≈"


def test_six_methods_work_on_both_models_and_no_other_does():
    least = {m: min(share(title, m) for title in (BUILT_IN, LARGER, JUDGED)) for m in ranking(BUILT_IN)}
    working = {m for m, least_share in least.items() if least_share >= 0.5} - {"oracle"}
    assert working == {"shapley", "banzhaf", "owen", "lime", "integrated-gradients", "leave-one-out"}
    assert min(least[m] for m in working) == 0.83


def test_what_is_said_of_lime():
    for title in (BUILT_IN, LARGER, JUDGED):
        told = ranking(title)["lime"]
        assert share(title, "shapley") - share(title, "lime") <= 0.03 + 1e-9
        assert float(told["passes"]) > 0.8 * float(ranking(title)["shapley"]["passes"])
        assert "E" not in told["claims"] and float(told["p best"]) < 0.05


def test_the_milliseconds_are_the_report_s():
    lines = re.findall(r"^Milliseconds an explanation: (.*)\(", REPORTS["arena"], flags=re.MULTILINE)
    told = [dict(entry.split() for entry in line.split(", ")) for line in lines[:2]]
    for times in told:
        assert re.search(rf"{times['integrated-gradients']}(\smilliseconds)? against {times['shapley']}\b", GUIDE)
        assert "lime" not in times  # run apart from the others, so its time would be no comparison
    for title in (BUILT_IN, LARGER):
        passes = {m: float(ranking(title)[m]["passes"]) for m in ("integrated-gradients", "shapley")}
        assert passes["integrated-gradients"] < passes["shapley"] / 2


def test_rationales_tell_no_two_methods_apart():
    header, *rows = tables(REPORTS["plausibility"])[0]
    assert header[1] == "AUPRC"
    ends = [[float(x) for x in re.findall(r"\d\.\d+", row[1])] for row in rows]
    assert max(low for _, low, _ in ends) < min(high for _, _, high in ends)
    assert "0.565" in rows[0][1] and any(row[0] == "random" and "0.519" in row[1] for row in rows)


def test_no_reading_of_one_or_two_passes_can_be_told_in_advance():
    cheap = [m for m, row in ranking(BUILT_IN).items() if row["passes"] in ("1", "2")]
    assert len(cheap) == 10  # eight readings of attention, two of the gradient
    best = {title: max(cheap, key=lambda m: share(title, m)) for title in (BUILT_IN, LARGER)}
    assert best == {BUILT_IN: "flow:agf", LARGER: "attention"}
    steady = max(cheap, key=lambda m: min(share(BUILT_IN, m), share(LARGER, m)))
    assert steady == "saliency"
    assert all(min(share(BUILT_IN, m), share(LARGER, m)) < 0.5 for m in cheap)


def test_what_is_said_of_flows():
    plain = ("flow", "flow-l2", "flow-shapley", "pairwise-flow")
    for title in (BUILT_IN, LARGER):
        assert all(share(title, "rollout") > share(title, flow) for flow in plain)
    assert all(interval(LARGER, flow)[0] < 0 for flow in plain)  # chance is not ruled out
    not_better = "not better than random: flow, pairwise-flow, flow-l2, flow-shapley"
    assert not_better in REPORTS["arena"]


def test_what_is_said_of_the_verb_number_study():
    table = next(t for t in tables(REPORTS["agreement"]) if t[0][0].startswith("Spearman"))
    last = {row[0]: float(row[-1].split()[0]) for row in table[1:]}
    assert last["raw"] < last["flow"] < last["rollout"]
    assert f"{last['raw']:.2f} with what a blanked word changes, rollout {last['rollout']:.2f}" in " ".join(
        GUIDE.split()
    )
    assert f"pairwise flow {last['flow']:.2f}" in GUIDE
    published = f"{last['rollout, published']:.2f} and {last['flow, published']:.2f}"
    assert f"The published figures are {published}" in " ".join(GUIDE.split())
    assert share(LARGER, "attention") > share(LARGER, "rollout")


def test_fifty_noisy_copies_buy_nothing():
    for title in (BUILT_IN, LARGER, JUDGED):
        assert abs(share(title, "smoothgrad") - share(title, "saliency")) <= 0.02


def test_the_second_judge_moves_no_share_by_more_than_is_said():
    both = [abs(share(BUILT_IN, m) - share(JUDGED, m)) for m in ranking(BUILT_IN)]
    assert max(both) <= 0.03 + 1e-9
    top = list(ranking(BUILT_IN))[:12]  # the oracle and eleven methods
    assert list(ranking(JUDGED))[:12] == top
