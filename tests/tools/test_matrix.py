"""A fixed sample of `make matrix`, and that its verdicts can be faults."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.proof import base_calls, commands, examples
from tools.proof.bad_values import NAMES, WHOLE
from tools.proof.base_calls import Base
from tools.proof.cells import (
    RIGHT,
    TYPED,
    Cell,
    _judged_answer,
    _judged_error,
    alike,
    cells,
    finite,
    not_working,
    tried,
)
from tools.proof.pool import Worker

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matrix")


def test_every_public_name_has_a_base_call_or_a_reason(folder):
    for name, _ in base_calls.public():
        assert base_calls.left_out(name) or name.count(".") < 3
    assert base_calls.rooms() <= {*base_calls.ROOMS}, "a room with public names is not in the matrix"


@pytest.mark.slow
def test_there_are_thousands_of_cells_from_signatures(folder):
    listed = list(cells(folder))
    assert len(listed) > 2500 and len(set(listed)) == len(listed)


def test_a_new_public_function_without_a_base_call_is_noticed(folder):
    def unheard_of(strange: object) -> None: ...

    with pytest.raises(LookupError, match="give an example of strange"):
        base_calls._base("values.unheard_of", unheard_of, folder)


def _of(call, **arguments) -> Base:
    return Base("values.call", call, arguments, {"count": "int"}, frozenset())


def test_an_answer_to_what_must_be_refused_is_a_fault():
    kinds = {bad.kind: bad for bad in WHOLE}
    cell = Cell("values.call", "count", "nan")
    assert _judged_answer(cell, kinds["nan"], _of(float), 1.0, []).verdict == "accepted"
    assert _judged_answer(cell, kinds["zero"], _of(float), 1.0, []).verdict == RIGHT
    assert _judged_answer(cell, kinds["zero"], _of(float), float("nan"), []).verdict == "accepted"
    assert _judged_answer(cell, kinds["numpy int"], _of(lambda count: 2.0, count=3), 1.0, []).verdict == "not the same"


def test_a_message_must_name_or_show_and_say_what_is_wanted():
    cell = Cell("values.call", "count", "nan")
    assert _judged_error(cell, 2.5, "count must be a whole number, got 2.5", frozenset()).verdict == TYPED
    assert _judged_error(cell, 2.5, "something went wrong; try again", frozenset()).verdict == "unhelpful"
    assert _judged_error(cell, 2.5, "count must be whole, got 2.5", frozenset({"left.html"})).verdict == "accepted"


def test_results_are_compared_by_the_numbers_inside():
    one = examples.attribution()
    assert alike(one, one, 1e-9) and finite(one) and not alike(one, one.ranked()[:2], 1e-9)
    assert not finite({"x": [float("inf")]})


@pytest.mark.processes
@pytest.mark.slow
def test_a_cell_that_hangs_or_dies_is_named_and_the_worker_goes_on():
    import os
    import time

    worker = Worker(lambda what: {"hang": lambda: time.sleep(60), "die": lambda: os._exit(3)}.get(what, lambda: what)())
    try:
        assert [worker.tried(what, 1.0) for what in ("one", "hang", "die", "two")] == ["one", "hang", "died", "two"]
    finally:
        worker.stop()


@pytest.mark.parametrize(
    "cell",
    [
        Cell("values.Permutations", "seed", "negative"),
        Cell("values.SampledBeta", "alpha", "nan"),
        Cell("games.TableGame", "players", "twice"),
        Cell("core.Attribution", "credit", "nan inside"),
        Cell("flow.unique_flow", "rule", "misspelt"),
        Cell("attention.rollout", "attention", "nan inside"),
        Cell("games.read_game", "path", "missing"),
        Cell("evaluate.holm", "p", "nan inside"),
        Cell("values.owen", "groups", "holds itself"),
    ],
    ids=str,
)
def test_a_sample_of_calls(cell, folder):
    found = tried(cell, folder)
    assert found.verdict in (RIGHT, TYPED), found.said


@pytest.mark.slow
def test_a_sample_of_commands(folder, monkeypatch):
    monkeypatch.chdir(folder)
    commands.prepare(folder)
    listed = [c for c in commands.cells(folder) if c.command in ("game", "methods", "runs") and c.kind not in ("fifo",)]
    assert len(listed) > 30
    for cell in listed[::6]:
        found = commands.tried(cell, folder)
        assert found.verdict in (RIGHT, TYPED), f"{cell}: {found.said}"


def test_names_of_kinds_are_distinct():
    assert len({bad.kind for bad in NAMES}) == len(NAMES)


@pytest.mark.processes
@pytest.mark.slow
def test_inside_the_fence_nothing_beside_it_can_change(tmp_path):
    probe = """
import os, pathlib, sqlite3
from tools.proof.fence import Trespass, fenced, guard
beside = pathlib.Path(os.environ["BESIDE"])
with fenced() as files:
    assert pathlib.Path.home() != beside and pathlib.Path.cwd().parent == files.parent
    guard(files.parent)
    (files / "mine").write_text("x")
    for change in (
        lambda: (beside / "(1+2j)").write_text("x"), lambda: os.mkdir(beside / "new"), lambda: os.remove(beside / "old"),
        lambda: os.rename(files / "mine", beside / "mine"), lambda: sqlite3.connect(beside / "new.db"),
    ):
        try:
            change()
        except Trespass:
            continue
        raise SystemExit("not refused")
    os.chdir("/")
    os._exit(0)  # the fence stands until the process ends
"""
    place = tmp_path.parent / f"{tmp_path.name}-temporary"
    place.mkdir()
    (tmp_path / "old").write_text("kept")
    environment = os.environ | {"BESIDE": str(tmp_path), "PYTHONPATH": str(ROOT), "TMPDIR": str(place)}
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path) == ["old"]


@pytest.mark.slow
def test_base_calls_of_a_room_work(folder):
    assert not_working(folder, "flow") == []
