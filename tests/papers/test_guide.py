"""The guide follows from the committed reports: its numbers are theirs, and so is its advice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.wording import says

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "choosing.md").read_text(encoding="utf-8")
SAID = " ".join(GUIDE.split())
LINKED = sorted(set(re.findall(r"\(reports/(\w+)\.md\)", GUIDE)))
REPORTS = {name: (DOCS / "reports" / f"{name}.md").read_text(encoding="utf-8") for name in LINKED}
BUILT_IN, LARGER, JUDGED = "built-in sentiment model", "MiniLM-L6-SST2", ", measured by removal=attention"
TEXTS = (BUILT_IN, BUILT_IN + JUDGED, LARGER, LARGER + JUDGED)
ROWS, REDUNDANT = "rows of a table", "answers, redundant"
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.]*\d)")
WORKING = {
    "shapley",
    "banzhaf",
    "owen",
    "lime",
    "lasso",
    "integrated-gradients",
    "discretised-integrated-gradients",
    "deep-lift",
    "attn-lrp",
    "leave-one-out",
}
FLOWS = ("flow", "flow-l2", "flow-shapley", "pairwise-flow")


def tables(text: str) -> list[list[list[str]]]:
    """Every Markdown table: rows of cells, the header first."""
    blocks = re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE)
    found = [[[cell.strip() for cell in line.strip("|").split(" | ")] for line in block.split("\n")] for block in blocks]
    return [[row for row in rows if not set("".join(row)) <= set("-:|")] for rows in found]


IN_ONE = tables(REPORTS["arena"].split("## Everything in one table")[1])[0]


def cell(title: str, method: str) -> str:
    return next(row for row in IN_ONE if row[0] == method)[IN_ONE[0].index(title)]


def share(title: str, method: str) -> float:
    return float(cell(title, method).split()[0].replace("−", "-"))


def passes(title: str, method: str) -> int:
    return int(cell(title, method).split("(")[1].rstrip(")"))


ON_TEXTS = [row[0] for row in IN_ONE[1:] if row[IN_ONE[0].index(BUILT_IN)] != "—"]


def test_every_number_of_the_guide_is_in_a_report_it_links():
    known = {number for text in REPORTS.values() for number in NUMBER.findall(text)}
    by_hand = re.sub(r"<!-- answer methods: begin -->.*<!-- answer methods: end -->", "", GUIDE, flags=re.DOTALL)  # a run's own
    missing = [number for number in NUMBER.findall(by_hand) if number not in known]
    assert not missing, missing
    assert len(NUMBER.findall(GUIDE)) > 40  # the expression finds them


def test_the_command_is_that_of_the_report():
    command = re.search(r"^Written by `(accredit reproduce arena [^`]*)`", REPORTS["arena"], flags=re.MULTILINE)
    assert command is not None and f"\n{command[1]}\n" in GUIDE


@pytest.mark.parametrize("title", TEXTS)
def test_shapley_is_the_most_faithful_on_texts(title):
    assert all(share(title, "shapley") >= share(title, other) for other in ON_TEXTS)


def test_ten_methods_work_on_both_models_and_no_other_does():
    least = {m: min(share(title, m) for title in TEXTS) for m in ON_TEXTS}
    assert {m for m, lowest in least.items() if lowest >= 0.8} == WORKING
    assert f"keep at least {min(least[m] for m in WORKING):.2f} under either judge" in SAID
    limit = re.search(r"No other reaches (0\.\d+) on both", SAID)
    assert limit is not None
    others = set(ON_TEXTS) - WORKING
    assert all(min(share(BUILT_IN, m), share(LARGER, m)) < float(limit[1]) for m in others)


def verdicts(statement: str) -> dict[str, tuple[str, str]]:
    """Contest -> what was found of a statement, and why."""
    told = re.findall(rf"^\| (.*?): {statement} \| ([a-z ]+) \| (.*) \|$", REPORTS["arena"], flags=re.MULTILINE)
    return {title: (found, because) for title, found, because in told}


def test_what_is_not_better_than_chance():
    found = verdicts("every method explains better than chance")
    assert [found[title][0] for title in TEXTS] == ["holds", "holds", "cannot tell", "refuted"]
    for title in (LARGER, LARGER + JUDGED):
        named = {m for m in ON_TEXTS if re.search(rf"(?<![\w:-]){m}(?![\w:-])", found[title][1])}
        assert all(f"`{m}`" in SAID.split("not better than chance, as far as these sentences tell:")[1][:140] for m in named)
        assert len(named) == 6 and says(SAID, "gradients and attention")
    assert says(found[LARGER + JUDGED][1], "than random: flow-shapley")
    assert says(SAID, "worse than chance")


def test_what_removes_words_is_ahead_but_for_one_judge():
    found = verdicts("the best method that removes words beats the best that reads gradients or attention")
    assert [found[title][0] for title in TEXTS] == ["holds", "cannot tell", "holds", "holds"]
    assert "deep-lift" in found[BUILT_IN + JUDGED][1]
    assert says(SAID, "other judge, `deep-lift`")


def test_claims_of_those_that_share():
    claims = {m: cell("claims", m).split() for m in ("shapley", "owen", "integrated-gradients", "lime", "lasso")}
    assert claims["shapley"][0] == claims["owen"][0] == "E" and claims["integrated-gradients"][0] == "E≈"
    assert "E" not in "".join(claims["lime"] + claims["lasso"])
    assert all(passes(BUILT_IN, m) > 0.8 * passes(BUILT_IN, "shapley") for m in ("lime", "lasso"))


def test_one_backward_pass_by_the_right_rules():
    for title in (BUILT_IN, LARGER):
        assert passes(title, "attn-lrp") == 1 and passes(title, "deep-lift") == 4
        plain = max(share(title, "saliency"), share(title, "input-x-gradient"))
        assert min(share(title, "attn-lrp"), share(title, "deep-lift")) > plain
    assert share(REDUNDANT, "attn-lrp") < share(REDUNDANT, "shapley")


def test_what_is_good_on_one_model_may_be_poor_on_the_next():
    cheap = [m for m in ON_TEXTS if m not in WORKING and passes(BUILT_IN, m) <= 5]
    best = max(cheap, key=lambda m: share(BUILT_IN, m))
    assert says(SAID, f"`{best}` is best") and f"built-in model ({share(BUILT_IN, best):.2f})" in SAID
    first = share(LARGER, "attention")
    assert first == max(share(LARGER, m) for m in cheap) and says(SAID, f"on MiniLM ({first:.2f})")
    assert share(BUILT_IN, "attention") < 0.2
    assert max(cheap, key=lambda m: min(share(BUILT_IN, m), share(LARGER, m))) == "saliency"


def test_the_milliseconds_are_the_report_s():
    lines = re.findall(r"^Milliseconds per explanation: (.*)\(", REPORTS["arena"], flags=re.MULTILINE)
    assert len(lines) == 2
    for line, title in zip(lines, (BUILT_IN, LARGER), strict=True):
        times = dict(entry.rsplit(" ", 1) for entry in line.strip().split(", "))
        assert re.search(rf"{times['integrated-gradients']}( milliseconds)? against {times['shapley']}\b", SAID)
        assert passes(title, "integrated-gradients") < passes(title, "shapley") / 2


def test_rationales_tell_no_two_methods_apart_but_attention():
    summary, (header, *rows) = tables(REPORTS["plausibility"])[:2]
    assert header[1] == "AUPRC"
    ends = {row[0]: [float(x) for x in re.findall(r"\d\.\d+", row[1])] for row in rows}
    best = max(low for _, low, _ in ends.values())
    assert [name for name, (_, _, high) in ends.items() if high < best] == ["attention"]
    assert "0.510" in rows[0][1] and any(row[0] == "random" and "0.447" in row[1] for row in rows)
    found = [verdict for _, verdict, _ in summary[1:]]
    assert (len(found), found.count("holds"), found.count("cannot tell")) == (9, 7, 2)
    assert says(SAID, "of nine methods")
    open_ones = [said.split()[0] for said, verdict, _ in summary[1:] if verdict == "cannot tell"]
    assert open_ones == ["attention", "flow"]


def test_what_is_said_of_flows():
    for title in (BUILT_IN, LARGER):
        assert all(share(title, "rollout") > share(title, flow) for flow in FLOWS)


def test_what_is_said_of_the_verb_number_study():
    table = next(t for t in tables(REPORTS["agreement"]) if t[0][0].startswith("Spearman"))
    last = {row[0]: float(row[-1].split()[0]) for row in table[1:]}
    assert last["flow"] < last["raw"] < last["rollout"]
    assert f"{last['raw']:.2f} with what a blanked word changes, rollout {last['rollout']:.2f}" in SAID
    verdict = re.search(r"\| In the last layer rollout .* raw \| (.*) \| mean difference (.*?);", REPORTS["agreement"])
    assert verdict is not None and verdict[1] == "cannot tell" and f"({verdict[2]})" in SAID
    assert "Trained models: 6," in REPORTS["agreement"] and says(SAID, "six trained models")
    assert f"pairwise flow {last['flow']:.2f}" in SAID
    published = f"{last['rollout, published']:.2f} and {last['flow, published']:.2f}"
    assert says(SAID, f"figures are {published}")


def test_leave_one_out_finds_neither_of_two_passages():
    lost, found = share(REDUNDANT, "leave-one-out"), share(REDUNDANT, "shapley")
    assert lost < 0.2 and found > 0.9
    assert f"({lost:.2f}, where `shapley` is at {found:.2f})".replace("-", "−") in SAID


def test_rows_are_easy():
    there = [row[0] for row in IN_ONE[1:] if row[IN_ONE[0].index(ROWS)] != "—"]
    assert f"at least {min(share(ROWS, m) for m in there):.2f} there" in SAID
    assert passes(ROWS, "closed form") == 0 and share(ROWS, "closed form") >= max(share(ROWS, m) for m in there) - 0.01


def test_fifty_noisy_copies_buy_little():
    ahead = max(share(title, "smoothgrad") - share(title, "saliency") for title in TEXTS)
    assert ahead < 0.15 and says(SAID, f"by {ahead:.2f} at most")


def test_the_second_judge_moves_no_share_by_more_than_is_said():
    moved = {m: max(abs(share(t, m) - share(t + JUDGED, m)) for t in (BUILT_IN, LARGER)) for m in ON_TEXTS}
    said = f"none of their shares by more than {max(moved[m] for m in WORKING):.2f}, and no other by more than "
    assert f"{said}{max(moved.values()):.2f}" in SAID
