"""The unique flows agree with a general-purpose convex solver, run in a process of its own."""

import importlib.util
import json
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from accredit.attention import joint_flow
from benchmarks.flow_runs import attention

ROOT = Path(__file__).parents[2]
missing = [name for name in ("cvxpy", "clarabel") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"{missing} not installed: pip install 'accredit[bench]'")


RULES, SIZES = (("barrier", 1e-2), ("l2", 1e-6)), ((5, 3), (8, 6))
PROBLEMS = [(rule, tokens, layers, epsilon) for (rule, epsilon), (tokens, layers) in product(RULES, SIZES)]
PROGRAM = """
import json, sys
from benchmarks import flow_runs
for problem in json.loads(sys.argv[1]):
    sys.argv = ["flow_runs", *map(str, problem)]
    flow_runs.main()
"""


@pytest.fixture(scope="module")
def theirs():
    """CVXPY loads HiGHS, which clashes with OR-tools inside one process; one process solves all problems."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(PROBLEMS)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    return dict(zip(PROBLEMS, map(json.loads, run.stdout.splitlines()[-len(PROBLEMS) :]), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_agrees_with_clarabel(theirs, problem):
    rule, tokens, layers, epsilon = problem
    found = theirs[problem]
    ours = joint_flow(attention(tokens, layers), rule=rule, epsilon=epsilon if rule == "barrier" else None)
    assert found["status"].startswith("optimal")
    assert ours.certificate["value"] == pytest.approx(found["value"], abs=1e-5)
    # Clarabel stops at about 1e-8 of the objective, not of the flow
    assert np.abs(ours.credit - found["credit"]).max() < 1e-4
