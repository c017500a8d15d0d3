"""The benchmark runs and ends with one JSON line."""

import json
import sys

import pytest

from benchmarks import flow, flow_runs

COMMAND = "python -m benchmarks.flow --quick"


@pytest.mark.slow
def test_quick_run_ends_with_ratios_and_keeps_them(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(flow, "run", lambda *problem: solved_here(monkeypatch, capsys, *problem))
    monkeypatch.setattr(flow, "installed", lambda *libraries: False)  # tests/flow asks the peers
    monkeypatch.setattr(sys, "argv", ["benchmarks/flow.py", "--quick"])
    monkeypatch.setenv("ACCREDIT_RESULTS", str(tmp_path))
    flow.main()
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    kept = json.loads((tmp_path / "flow.jsonl").read_text())
    assert kept["figures"] == figures and kept["command"] == COMMAND
    assert figures["barrier_T16_iterations"] < 35
    assert figures["pairwise_T8_vs_ortools"] > 0
    assert figures["prompt_T32_megabytes"] > 0 and figures["prompt_T32_vs_shuffled"] > 0


def solved_here(monkeypatch, capsys, *problem):
    """A solve in this process, which has everything loaded that a process of its own would load first."""
    with monkeypatch.context() as here:
        here.setattr(sys, "argv", ["benchmarks/flow_runs.py", *map(str, problem)])
        flow_runs.main()
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.slow
def test_a_solve_in_a_process_of_its_own_gives_the_same_flow(monkeypatch, capsys):
    apart, here = flow.run("accredit-barrier", 4, 2), solved_here(monkeypatch, capsys, "accredit-barrier", 4, 2)
    assert apart["credit"] == pytest.approx(here["credit"]) and apart["megabytes"] > 0
