"""The benchmark runs and ends with one JSON line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_quick_run_ends_with_ratios():
    command = [sys.executable, "-m", "benchmarks.flow", "--quick"]
    run = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True, timeout=300
    )
    figures = json.loads(run.stdout.splitlines()[-1])
    assert figures["barrier_T16_iterations"] < 35
    assert figures["pairwise_T8_vs_ortools"] > 0
    assert figures["prompt_T32_megabytes"] > 0 and figures["prompt_T32_vs_shuffled"] > 0
