"""OR-tools beside another HiGHS: in either order, with the same numbers, and whatever becomes of its process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from accredit.errors import BrokenLibrary
from accredit.flow import LayeredNetwork, MaximumFlows, PairFlows, solver
from accredit.flow.solver import RemoteMaxFlow, solve, solve_all
from tests.flow.attention_samples import soft
from tests.together import at_once
from tests.wording import refused

ROOT = Path(__file__).parents[2]
pytest.importorskip("ortools")


def ran(script: str) -> list[str]:
    """The lines that a script prints in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


FLOW = """
from accredit.attention import joint_flow
from accredit.flow import LayeredNetwork, maximum_flow
from tests.flow.attention_samples import soft
found = maximum_flow(LayeredNetwork.from_attention(soft(3, 6)))
assert found.error <= 1e-12 * found.value and found.value > 0
assert abs(joint_flow(soft(3, 6)).credit.sum() - found.value) < 1e-5
print("flow")
"""
OTHERS = {
    "cvxpy": """
import cvxpy
x = cvxpy.Variable()
assert abs(cvxpy.Problem(cvxpy.Minimize(x), [x >= 3]).solve(solver="HIGHS") - 3) < 1e-6
print("other")
""",
    "highspy": """
import highspy
model = highspy.Highs()
model.setOptionValue("output_flag", False)
x = model.addVariable(lb=3, obj=1)
model.minimize()
assert abs(model.getObjectiveValue() - 3) < 1e-6
print("other")
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("library", OTHERS)
@pytest.mark.parametrize("first", ["flow", "other"])
def test_flows_and_another_highs_work_in_either_order(library, first):
    if find_spec(library) is None:  # not imported here: this process may hold the other copy already
        pytest.skip(f"{library} is not installed")
    other = OTHERS[library]
    script = FLOW + other + FLOW if first == "flow" else other + FLOW + other
    last = "other" if first == "flow" else "flow"
    assert ran(script) == [first, last, first]


NUMBERS = """
import json, sys
{before}
from tests.flow.test_solver import numbers
json.dump(numbers(), sys.stdout)
"""


def numbers() -> dict[str, object]:
    """What a solver finds: which one it is, a max flow, flows of coalitions in each layer, flows of pairs."""
    flows = MaximumFlows(LayeredNetwork.from_attention(soft(3, 5)))
    found = flows.solve()
    present = np.random.default_rng(0).random((6, 5)) < 0.6
    return {
        "solver": type(flows._solver).__name__,
        "flow": [found.value, found.reached, found.edges.tolist(), found.supply.tolist(), found.demand.tolist()],
        "cut": found.source_side.tolist(),
        "coalitions": [flows.values(present, layer).tolist() for layer in range(4)],
        "pairs": [PairFlows(soft(3, 5)).row(i).tolist() for i in range(5)],
    }


@pytest.mark.slow
def test_the_numbers_are_those_of_or_tools_in_the_same_process(monkeypatch):
    monkeypatch.setattr(solver, "_is_installed", lambda library: True)
    monkeypatch.delitem(sys.modules, solver.LIBRARY, raising=False)  # another test of this process may have loaded it
    there = numbers()
    (line,) = ran(NUMBERS.format(before="sys.modules['highspy'] = None"))
    here = json.loads(line)
    assert (there.pop("solver"), here.pop("solver")) == ("RemoteMaxFlow", "SimpleMaxFlow")
    assert there == here


def test_what_is_in_the_way_sends_or_tools_elsewhere(monkeypatch):
    """Without highspy, a library that is loaded under its name, by whomever."""
    monkeypatch.setattr(solver, "_is_installed", lambda library: library == "ortools")
    monkeypatch.setitem(sys.modules, "ortools.graph.python", None)  # as an ImportError
    assert isinstance(solver.simple_max_flow(), RemoteMaxFlow)


# --- the other process ---------------------------------------------------------------------------------------------------


def path_of_two() -> tuple[RemoteMaxFlow, np.ndarray]:
    found = RemoteMaxFlow()
    return found, found.add_arcs_with_capacity(np.array([0, 1]), np.array([1, 2]), np.array([5, 3]))


def test_capacities_change_one_by_one_and_in_rows():
    found, arcs = path_of_two()
    assert solve(found, 0, 2) == 3
    found.set_arcs_capacity(arcs[1:], np.array([2**60 + 1]))
    found.set_arcs_capacity(arcs[:1], np.array([2**60]))
    assert solve(found, 0, 2) == 2**60  # beyond what a double holds
    found.set_arcs_capacity(arcs[1:], np.array([7]))  # together with rows of the other
    assert_array_equal(solve_all(found, 0, 2, arcs[:1], np.array([[4], [9], [6]])), [4, 7, 6])
    assert_array_equal(found.flows(arcs), [6, 6])
    assert solve(found, 0, 2) == 6  # the last row stays
    assert solve_all(found, 0, 2, arcs, np.empty((0, 2), dtype=np.int64)).tolist() == []
    more = found.add_arcs_with_capacity(np.array([0]), np.array([2]), np.array([10]))
    assert solve(found, 0, 2) == 16 and found.flows(more) == [10]


def end_it() -> None:
    process = solver._remote()._process
    assert process is not None
    process.kill()
    process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("small", [0, 100], ids=["flows are asked for", "flows come with the value"])
def test_a_process_that_was_killed_is_replaced_and_told_again(monkeypatch, small):
    monkeypatch.setattr(solver, "SMALL_GRAPH_ARCS", small)
    found, arcs = path_of_two()
    assert solve(found, 0, 2) == 3
    end_it()
    found.set_arcs_capacity(arcs, np.array([4, 8]))  # after the solve, which the flows are of
    assert_array_equal(found.flows(arcs), [3, 3])
    assert_array_equal(found.get_source_side_min_cut(), [0, 1])
    end_it()
    assert solve(found, 0, 2) == 4
    assert_array_equal(found.get_source_side_min_cut(), [0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "has ended twice, by SIGILL"),
        ("import sys; sys.exit(3)", "has ended twice, with code 3"),
        (f"import sys; sys.modules['ortools'] = None; {solver.START}", "fails in its own process: ModuleNotFoundError"),
    ],
)
def test_a_process_that_cannot_do_it_is_reported_in_words(monkeypatch, program, said):
    monkeypatch.setattr(solver, "_remotes", {})  # the one that works stays as it is
    monkeypatch.setattr(solver, "START", program)
    found, _ = path_of_two()
    with refused("unavailable", kind=BrokenLibrary, has=said):
        solve(found, 0, 2)
    solver._leave()


def test_an_interpreter_that_cannot_be_started_is_reported_in_words(monkeypatch):
    monkeypatch.setattr(solver, "_remotes", {})
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with refused("unavailable", kind=BrokenLibrary):
        RemoteMaxFlow()


@pytest.mark.slow
def test_an_interrupt_leaves_no_half_of_a_conversation(monkeypatch):
    found, arcs = path_of_two()
    solve(found, 0, 2)
    found.set_arcs_capacity(arcs, np.array([4, 8]))

    def interrupted(stream: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(solver, "read", interrupted)
        solve(found, 0, 2)
    assert solve(found, 0, 2) == 4


def test_graphs_of_several_threads_do_not_mix():
    seeds = count()

    def work() -> None:
        rng = np.random.default_rng(next(seeds))
        for _ in range(20):
            width = rng.integers(1, 1000, 2)
            found, arcs = path_of_two()
            found.set_arcs_capacity(arcs, width)
            assert solve(found, 0, 2) == width.min() and found.flows(arcs).tolist() == [width.min()] * 2

    assert at_once(work, workers=4) == []


def test_a_graph_that_nobody_holds_is_forgotten():
    found, _ = path_of_two()
    solve(found, 0, 2)
    number = found._number
    del found
    assert number in solver._dropped
    solve(path_of_two()[0], 0, 2)
    assert number not in solver._dropped


FORKED = """
import os
from tests.flow.test_solver import path_of_two, solve
found, arcs = path_of_two()
print(solve(found, 0, 2), flush=True)
if os.fork() == 0:
    found.set_arcs_capacity(arcs, arcs + 1)
    print(solve(found, 0, 2), flush=True)
    raise SystemExit
os.wait()
found.set_arcs_capacity(arcs, arcs + 2)
print(solve(found, 0, 2))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_that_was_forked_has_a_solver_of_its_own():
    assert ran(FORKED) == ["3", "1", "2"]


LEFT = """
import os, signal
from tests.flow.test_solver import path_of_two, solve
from accredit.flow import solver
solve(path_of_two()[0], 0, 2)
print(solver._remote()._process.pid, flush=True)
{end}
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), signal.SIGKILL)"], ids=["it ends", "it is killed"])
def test_the_solver_ends_with_who_asked_it(end):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LEFT.format(end=end)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == (-signal.SIGKILL if end else 0) and done.stderr == ""
    deadline = time.monotonic() + 60
    while is_running(int(done.stdout)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
