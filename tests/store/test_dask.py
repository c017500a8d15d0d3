"""A real local Dask cluster; one of its workers is killed while it works."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from store_games import DeadlyToRead, Traced

from accredit.core.coalitions import from_index
from accredit.store import ExecutorError, Journal, durable
from accredit.store.executors import Dask
from tests.wording import refused

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'accredit[cluster]'")


def _dask(*arguments: str, path: str = str(Path(__file__).parent)) -> subprocess.Popen[bytes]:
    """A part of a cluster, with `path` beside what is installed."""
    command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
    everything = os.pathsep.join([path, *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": everything}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A scheduler in a process of its own, and its address."""
    file = tmp_path / "scheduler.json"
    process = _dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
    try:
        while not (file.exists() and file.read_text().endswith("}")):
            assert process.poll() is None
            time.sleep(0.05)
        yield process, json.loads(file.read_text())["address"]
    finally:
        process.kill()
        process.wait()


@pytest.mark.processes
@pytest.mark.slow
def test_a_lost_scheduler_and_a_cluster_without_workers_are_one_line_each_and_nothing_is_lost(
    tmp_path: Path, scheduler: tuple[subprocess.Popen[bytes], str], monkeypatch: pytest.MonkeyPatch, capfd
) -> None:
    process, address = scheduler
    monkeypatch.setattr("accredit.store.executors.CONNECT_SECONDS", 1.0)
    trace = tmp_path / "trace"
    trace.mkdir()
    game, coalitions = Traced(str(trace)), from_index(np.arange(1000), 10)
    game.seconds = 0.02  # long enough for the scheduler to be lost on the way
    with durable(game, executor=f"dask:{address}") as empty, pytest.raises(ExecutorError, match="has no workers"):
        empty.payoff(coalitions[:1])
    worker = _dask("worker", address, "--nthreads", "1", "--no-nanny")
    with distributed.Client(address) as client:
        client.wait_for_workers(1, timeout=60)

    def kill_the_scheduler() -> None:
        while sum(1 for _ in trace.iterdir()) < 5:
            time.sleep(0.01)
        process.kill()

    killer = threading.Thread(target=kill_the_scheduler, daemon=True)
    killer.start()
    try:
        with Journal(tmp_path / "run.db") as journal:
            with (
                durable(game, journal, f"dask:{address}", name={"game": "squares"}) as run,
                refused("unavailable", kind=ExecutorError, has="again to resume") as lost,
            ):
                run.payoff(coalitions)
            killer.join()
            assert "\n" not in str(lost.value)
            assert journal.games()[0]["ok"] < 1000
    finally:
        worker.kill()
        worker.wait()
    written = capfd.readouterr()
    assert written.err == ""
    game.seconds = 0.0
    with Journal(tmp_path / "run.db") as journal, durable(game, journal, "serial", name={"game": "squares"}) as run:
        assert run.payoff(coalitions).tolist() == (coalitions.sum(axis=1) ** 2.0).tolist()


@pytest.mark.processes
@pytest.mark.slow
def test_losing_every_worker_while_they_are_handed_the_game_is_one_line_and_nothing_is_lost(
    tmp_path: Path, scheduler: tuple[subprocess.Popen[bytes], str], monkeypatch: pytest.MonkeyPatch, capfd
) -> None:
    _, address = scheduler
    monkeypatch.setattr("accredit.store.executors.CONNECT_SECONDS", 60.0)  # a busy machine is not a lost worker
    coalitions, game = from_index(np.arange(16), 4), DeadlyToRead()
    name = {"game": "sizes"}
    with Journal(tmp_path / "run.db") as journal, durable(game, journal, "serial", name=name) as begun:
        begun.payoff(coalitions[:5])
    workers = [_dask("worker", address, "--nthreads", "1", "--no-nanny") for _ in range(2)]
    game.victims = [process.pid for process in workers]  # whichever is handed the game first takes the other along
    try:
        with distributed.Client(address) as client:
            client.wait_for_workers(2, timeout=60)
        with Journal(tmp_path / "run.db") as journal:
            with (
                durable(game, journal, f"dask:{address}", name=name) as run,
                refused("unavailable", kind=ExecutorError, has="or lost them") as lost,
            ):
                run.payoff(coalitions)
            assert "\n" not in str(lost.value)
            assert [process.wait(60) for process in workers] == [-signal.SIGKILL] * 2
            assert journal.games()[0]["ok"] == 5
    finally:
        for process in workers:
            process.kill()
            process.wait()
    assert capfd.readouterr().err == ""
    with Journal(tmp_path / "run.db") as journal, durable(game, journal, "serial", name=name) as again:
        assert again.payoff(coalitions).tolist() == (coalitions.sum(axis=1) ** 2.0).tolist()
        assert again.evaluated == 11


@pytest.mark.processes
@pytest.mark.slow
def test_a_dask_worker_killed_mid_run_loses_nothing(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    game = Traced(str(trace), held=True)
    coalitions = from_index(np.arange(400), 10)
    killed: list[int] = []

    killer = threading.Thread(target=lambda: killed.append(game.kill_held()))
    killer.start()
    with Journal(tmp_path / "run.db") as journal, durable(game, journal, Dask(workers=2)) as run:
        earned = run.payoff(coalitions)
        assert journal.games()[0]["ok"] == 400
    killer.join()
    assert earned.tolist() == (coalitions.sum(axis=1) ** 2.0).tolist()
    assert len(killed) == 1
    assert len({file.name.split("-")[1] for file in trace.iterdir()}) >= 2


@pytest.mark.slow
def test_an_unreachable_cluster_is_an_error_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accredit.store.executors.CONNECT_SECONDS", 0.5)
    why = r"no Dask scheduler answers at tcp://127.0.0.1:9.*dask scheduler"
    nowhere = durable(Traced(str(tmp_path)), executor="dask:tcp://127.0.0.1:9")
    before = logging.getLogger("distributed").level
    with nowhere as game, pytest.raises(ExecutorError, match=why):
        game.payoff(np.ones((1, 10), dtype=bool))
    assert logging.getLogger("distributed").level == before  # a start that failed leaves nothing behind
