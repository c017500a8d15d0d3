"""Several processes on one journal: each coalition is evaluated once, whoever dies."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from accredit.core import BoolArray, FloatArray
from accredit.core.coalitions import from_index
from accredit.errors import InvalidInput
from accredit.store import Journal, Quarantined, durable, fingerprint, workers
from accredit.store.executors import Serial
from accredit.store.journal_file import JournalFile
from accredit.store.schedule import Schedule
from accredit.store.workers import new_holder
from tests.store.store_games import Hangs, Traced
from tests.wording import refused

NAME = fingerprint(game="traced")


def count_leases(journal):
    return journal._file.sql.execute("SELECT count(*) FROM leases").fetchone()[0]


def _work(journal_file: str, folder: str, held: bool, done: str) -> None:
    game = Traced(folder, held)
    with Journal(journal_file) as journal, durable(game, journal, "serial", name=NAME) as kept:
        payoffs = kept.payoff(from_index(np.arange(1024), 10))
        assert kept.evaluated + kept.recalled == 1024  # its own, and those of the others
        Path(done).write_text(f"{kept.evaluated} {payoffs.sum()}")


def _started(tmp_path: Path, number: int, held: bool = False) -> multiprocessing.process.BaseProcess:
    arguments = (str(tmp_path / "run.db"), str(tmp_path / "trace"), held, str(tmp_path / f"done{number}"))
    process = multiprocessing.get_context("spawn").Process(target=_work, args=arguments)
    process.start()
    return process


def _evaluated(folder: Path) -> Counter[str]:
    return Counter(file.name.split("-")[0] for file in folder.iterdir())


@pytest.mark.slow
@pytest.mark.processes
def test_three_processes_on_one_journal_evaluate_each_coalition_once(tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    crew = [_started(tmp_path, number) for number in range(3)]
    for process in crew:
        process.join(120)
        assert process.exitcode == 0
    counts = _evaluated(tmp_path / "trace")
    assert len(counts) == 1024 and set(counts.values()) == {1}
    parts = [(tmp_path / f"done{number}").read_text().split() for number in range(3)]
    assert sum(int(evaluated) for evaluated, _ in parts) == 1024
    assert len({total for _, total in parts}) == 1  # all three have every payoff


@pytest.mark.slow
@pytest.mark.processes
def test_what_a_killed_process_had_leased_is_taken_over_at_once(tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    held = _started(tmp_path, 0, held=True)
    Traced(str(tmp_path / "trace")).kill_held()
    held.join(60)
    with Journal(tmp_path / "run.db") as journal:
        assert count_leases(journal) == 1
    began = time.monotonic()
    _work(str(tmp_path / "run.db"), str(tmp_path / "trace"), False, str(tmp_path / "done"))
    assert time.monotonic() - began < 50  # a lease of another machine would have to run out
    assert (tmp_path / "done").read_text() == f"1024 {sum(k * k * n for k, n in enumerate(_binomials(10)))}.0"
    with Journal(tmp_path / "run.db") as journal:
        assert count_leases(journal) == 0


def _binomials(n: int) -> list[int]:
    row = [1]
    for _ in range(n):
        row = [a + b for a, b in zip([0, *row], [*row, 0], strict=True)]
    return row


def test_a_lease_excludes_others_until_it_is_done_or_lost(tmp_path: Path) -> None:
    with Journal(tmp_path / "run.db") as journal:
        game = journal.enter(NAME, ("a", "b"))
        mine, yours = new_holder(), new_holder()
        lease, granted = journal.claim(game, 0, mine, [b"\x01", b"\x02"])
        assert granted == [b"\x01", b"\x02"]
        assert journal.claim(game, 0, yours, [b"\x02", b"\x03"])[1] == [b"\x03"]
        assert journal.claim(game, 1, yours, [b"\x02"])[1] == [b"\x02"]  # another seed is other work
        assert journal.others_work_on(game, 0, yours, 1) == {b"\x01", b"\x02"}
        many = [b"\x01", b"\x02", b"\x04", b"\x05", b"\x06"]
        assert journal.claim(game, 0, yours, many, most=2)[1] == many[2:4]  # a whole batch, past what others have
        journal._file.sql.execute("UPDATE leases SET until = 0 WHERE id = ?", (lease,))
        assert journal.claim(game, 0, yours, [b"\x02"])[1] == [b"\x02"]


def test_batches_stay_whole_where_others_have_claimed_every_second_coalition() -> None:
    """A batch of remnants costs as many claims as a whole one: two processes would ask the journal ten times as often."""
    whole = 0

    def claim(rows: list[int], most: int) -> list[int]:
        nonlocal whole
        granted = [row for row in rows if row % 2][:most]
        whole += len(granted) == most
        return granted

    crew = Serial()
    crew.start(_Free())
    parts = list(Schedule(crew, from_index(np.arange(4096), 12), claim=claim))
    assert sorted(row for part in parts for row in part.rows) == list(range(1, 4096, 2))
    assert whole >= len(parts) - 2  # all but those at the end, where less than a batch is left


@pytest.mark.slow
def test_a_lease_of_a_dead_process_is_lost_here_and_runs_out_elsewhere() -> None:
    from accredit.store.workers import is_lost

    process = multiprocessing.get_context("spawn").Process(target=_nothing)
    process.start()
    process.join(60)
    machine, _, nonce = new_holder().rsplit(":", 2)
    later = time.time() + 60
    assert is_lost(f"{machine}:{process.pid}:{nonce}", later)
    assert not is_lost(f"elsewhere/1:{process.pid}:{nonce}", later)
    assert is_lost(f"elsewhere/1:{process.pid}:{nonce}", time.time() - 1)
    assert not is_lost(f"{machine}:{os.getppid()}:{nonce}", later)


class _Free:
    """A payoff that takes no time."""

    players = tuple("abcdefghijkl")

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return coalitions.sum(axis=1).astype(np.float64)


def _nothing() -> None:
    pass


@pytest.mark.slow
@pytest.mark.processes
def test_a_coalition_that_hangs_is_ended_quarantined_and_the_rest_is_kept(tmp_path: Path) -> None:
    with Journal(tmp_path / "run.db") as journal:
        kept = durable(Hangs(), journal, "processes:2", name=NAME, limit=1.0)
        with kept, refused("failed", kind=Quarantined):
            kept.payoff(from_index(np.arange(16), 4))
        assert journal.games()[0]["ok"] == 15 and journal.games()[0]["quarantined"] == 1
    with durable(Hangs(), executor="processes:1", name=NAME, limit=1.0, failed=-1.0) as kept:
        assert kept.payoff(np.array([[True] * 4]))[0] == -1.0


@pytest.mark.parametrize(
    ("executor", "limit"), [("serial", 1.0), ("threads:2", 1.0), ("processes", -1.0), ("processes", float("nan"))]
)
def test_a_limit_that_nobody_can_keep_is_refused(executor: str, limit: float) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        durable(Hangs(), executor=executor, limit=limit)


def test_an_interrupted_run_gives_its_leases_back(tmp_path: Path) -> None:
    class Interrupted(Traced):
        def payoff(self, coalitions):  # type: ignore[no-untyped-def]
            raise KeyboardInterrupt

    with Journal(tmp_path / "run.db") as journal:
        with pytest.raises(KeyboardInterrupt), durable(Interrupted(""), journal, "serial", name=NAME) as kept:
            kept.payoff(from_index(np.arange(1024), 10))
        assert count_leases(journal) == 0


def test_a_journal_that_another_process_creates_meanwhile_is_not_taken_for_a_stranger(tmp_path, monkeypatch):
    """The other process is as quick as it can be: it creates the file between any two looks at it."""
    file, read = str(tmp_path / "run.db"), JournalFile.pragma

    def meanwhile(self: JournalFile, setting: str) -> object:
        found = read(self, setting)
        if not os.environ.get("CREATED_MEANWHILE"):
            monkeypatch.setenv("CREATED_MEANWHILE", "yes")
            Journal(file).close()
        return found

    monkeypatch.setattr(JournalFile, "pragma", meanwhile)
    with Journal(file) as journal:
        assert journal.path == file


def _renewing() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "accredit leases" and thread.is_alive()]


def test_nobody_renews_leases_once_every_coalition_is_settled(tmp_path: Path) -> None:
    """Also where the game is never closed, as in an explanation that keeps its record."""
    (tmp_path / "trace").mkdir()
    with Journal(tmp_path / "run.db") as journal:
        kept = durable(Traced(str(tmp_path / "trace"), held=False), journal, "serial", name=NAME)
        kept.payoff(from_index(np.arange(4), 10))
        for _ in range(100):
            if not _renewing():
                break
            time.sleep(0.05)  # the thread has been asked to end
        assert not _renewing()


def test_renewing_leases_never_makes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LEASE_SECONDS", 0.04)
    renewal = workers.Renewal(tmp_path / "removed.db", new_holder())
    time.sleep(0.2)
    renewal.end()
    assert not (tmp_path / "removed.db").exists()
