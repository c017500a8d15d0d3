"""SIGKILL at random instants: the journal opens, and the resumed result is that of a run nobody disturbed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module")
def soak():
    sys.path.insert(0, str(TOOLS))  # worker processes must find the module too
    import soak_journal

    yield soak_journal
    sys.path.remove(str(TOOLS))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("executors", "trials"),
    [
        pytest.param(("serial", "threads:2"), range(18), id="one"),
        pytest.param(("processes:2",), range(100, 103), id="many", marks=pytest.mark.processes),
    ],
)
def test_a_run_killed_at_any_instant_resumes_to_the_same_bits(soak, executors, trials, tmp_path: Path) -> None:
    expected = soak.undisturbed()
    saved = [soak.trial(number, expected, str(tmp_path), executors, kills=1) for number in trials]
    assert any(count > 0 for count in saved)  # some runs are killed only after their first payoff was seen
