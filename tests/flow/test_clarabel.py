"""The unique flows agree with a general-purpose convex solver, run in a process of its own."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from accredit.attention import joint_flow
from benchmarks.flow_runs import attention

ROOT = Path(__file__).parents[2]
missing = [name for name in ("cvxpy", "clarabel") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"{missing} not installed: pip install 'accredit[bench]'")


def clarabel(rule, tokens, layers, epsilon):
    """CVXPY loads HiGHS, which clashes with OR-tools inside one process."""
    command = [sys.executable, "-m", "benchmarks.flow_runs", rule, str(tokens), str(layers), str(epsilon)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize(("tokens", "layers"), [(5, 3), (8, 6)])
@pytest.mark.parametrize(("rule", "epsilon"), [("barrier", 1e-2), ("l2", 1e-6)])
def test_agrees_with_clarabel(rule, epsilon, tokens, layers):
    theirs = clarabel(rule, tokens, layers, epsilon)
    ours = joint_flow(attention(tokens, layers), rule=rule, epsilon=epsilon)
    assert theirs["status"].startswith("optimal")
    assert ours.certificate["value"] == pytest.approx(theirs["value"], abs=1e-5)
    assert (
        np.abs(ours.credit - theirs["credit"]).max() < 1e-4
    )  # Clarabel stops at about 1e-8 of the objective, not of the flow
