"""The benchmark runs and ends with one JSON line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_quick_run_ends_with_ratios_and_keeps_them(tmp_path):
    command = [sys.executable, "-m", "benchmarks.flow", "--quick"]
    run = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True, timeout=300,
        env=os.environ | {"ACCREDIT_RESULTS": str(tmp_path)},
    )  # fmt: skip
    figures = json.loads(run.stdout.splitlines()[-1])
    kept = json.loads((tmp_path / "flow.jsonl").read_text())
    assert kept["figures"] == figures and kept["command"] == "python -m benchmarks.flow --quick"
    assert figures["barrier_T16_iterations"] < 35
    assert figures["pairwise_T8_vs_ortools"] > 0
    assert figures["prompt_T32_megabytes"] > 0 and figures["prompt_T32_vs_shuffled"] > 0
