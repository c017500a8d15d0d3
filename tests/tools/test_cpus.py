"""A small part of `make cpus`, and that it tells settings that take effect from those that do not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.wording import says
from tools import cpus
from tools.cpus import Outcome, Tried, VirtualCPU, read_outcome

DIGITS = {"ATen": "a", "numpy": "b"}
PLAIN = Tried({"ATen": "AVX2", "digits": DIGITS})


@pytest.mark.slow
def test_a_handful_of_tests_under_one_virtual_cpu():
    set_by_it = {name for cpu in cpus.CPUS for name in cpu.settings}  # this run may be one of them itself
    machine = {name: value for name, value in os.environ.items() if name not in set_by_it}
    done = subprocess.run(
        [sys.executable, "-m", "tools.cpus", "--smoke"], capture_output=True, text=True, cwd=cpus.ROOT, env=machine
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (older,) = [line for line in done.stdout.splitlines() if line.startswith("| no-avx |")]
    passed, failed = map(int, older.split("|")[4:6])
    assert "OpenBLAS Nehalem" in older and passed > 20 and failed == 0


def test_what_took_effect_is_what_differs_from_the_machine_as_it_is():
    assert PLAIN.effect(PLAIN) == ""
    older = Tried({"ATen": "DEFAULT", "digits": DIGITS | {"ATen": "c"}})
    assert older.effect(PLAIN) == "ATen DEFAULT; other digits of ATen"


def test_one_that_cannot_run_or_changes_nothing_is_skipped_and_a_failure_ends_with_1(monkeypatch, capsys):
    answers = {
        "plain": PLAIN,
        "no-avx": Tried({"ATen": "DEFAULT", "digits": DIGITS}),
        "avx2": PLAIN,
        "avx512": Tried({}, "it ends by SIGILL: this machine lacks its instructions"),
    }
    monkeypatch.setattr(cpus, "tried", lambda cpu: answers[cpu.name])
    asked = []

    def run(cpu, paths, workers, further):
        asked.append(cpu.name)
        return Outcome({"passed": 3, "failed": 1}, ("tests/a.py::test_b",), 0.5)

    assert cpus.main(["no-avx", "avx2", "avx512", "batches-3"], run) == 1
    assert asked == ["no-avx", "batches-3"]
    said = capsys.readouterr().out
    assert "SIGILL" in said and says(said, "nothing on this") and "tests/a.py::test_b" in said


def test_a_run_of_tests_that_did_not_happen_is_a_failure():
    assert read_outcome("no tests ran in 0.01s", 5, 0.1).wrong
    assert read_outcome("1 error in 0.01s", 2, 0.1).wrong
    assert not read_outcome("3 passed in 0.01s", 0, 0.1).wrong


def test_a_new_room_joins_the_numeric_ones_by_itself(tmp_path):
    for room in ("rows", "brand_new", "cli", "views/page"):
        (tmp_path / "tests" / room).mkdir(parents=True)
        (tmp_path / "tests" / room / "test_it.py").touch()
    (tmp_path / "tests" / "data").mkdir()
    (tmp_path / "tests" / "test_house.py").touch()
    assert cpus.numeric_rooms(tmp_path / "tests") == ("tests/brand_new", "tests/rows")


def test_the_rooms_that_were_once_forgotten_are_among_the_numeric_ones():
    forgotten = ("rows", "answers", "labels", "influence", "training_data", "checks")
    assert {f"tests/{room}" for room in (*forgotten, "values", "core")} <= set(cpus.NUMERIC)
    assert not any(path.endswith(cpus.WITHOUT_NUMBERS) for path in cpus.NUMERIC)


def test_a_setting_reaches_the_child():
    environment = VirtualCPU("old", {"NPY_DISABLE_CPU_FEATURES": cpus.DISPATCHED, "OMP_NUM_THREADS": "2"}).environment()
    assert environment["NPY_DISABLE_CPU_FEATURES"].split() == cpus.dispatched()
    assert environment["OMP_NUM_THREADS"] == "2"


def test_an_unknown_name_is_refused(capsys):
    with pytest.raises(SystemExit):
        cpus.main(["pentium"])
    assert says(capsys.readouterr().err, "no virtual CPU")
