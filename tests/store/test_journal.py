from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from accredit.store import Entry, Journal, JournalError, fingerprint
from accredit.store.journal import existing
from tests.wording import refused, says

PLAYERS = ("a", "b")
NAME = fingerprint(data=[1, 2], model="logistic", metric="accuracy")


def test_what_is_recorded_is_recalled_bit_for_bit(tmp_path: Path) -> None:
    values = [0.1 + 0.2, -0.0, 5e-324, 1e308]
    with Journal(tmp_path / "run.db") as journal:
        game = journal.enter(NAME, PLAYERS)
        journal.record(game, 3, [Entry(bytes([i]), "ok", v, 0.5) for i, v in enumerate(values)])
    with Journal(tmp_path / "run.db") as journal:
        known = journal.recall(journal.enter(NAME, PLAYERS), 3, [bytes([i]) for i in range(9)])
    kept = [known[bytes([i])].value for i in range(4)]
    assert [v.hex() for v in kept] == [(v + 0.0).hex() for v in values]  # SQLite has one zero, without sign
    assert len(known) == 4


def test_seeds_and_games_do_not_mix(tmp_path: Path) -> None:
    with Journal(tmp_path / "run.db", several=True) as journal:
        one, two = journal.enter(NAME, PLAYERS), journal.enter(fingerprint(data="other"), PLAYERS)
        journal.record(one, 0, [Entry(b"\x01", "ok", 1.0, 0.0)])
        assert one != two
        assert not journal.recall(two, 0, [b"\x01"])
        assert not journal.recall(one, 1, [b"\x01"])


def test_a_payoff_is_never_replaced_but_a_failure_is_and_attempts_add_up() -> None:
    journal = Journal(":memory:")
    game = journal.enter(NAME, PLAYERS)
    journal.record(game, 0, [Entry(b"\x01", "failed", None, 0.1, 1, "ValueError: no")])
    journal.record(game, 0, [Entry(b"\x01", "ok", 2.0, 0.1)])
    journal.record(game, 0, [Entry(b"\x01", "ok", 9.0, 0.1), Entry(b"\x01", "quarantined", None, 0.1, 1, "late")])
    entry = journal.recall(game, 0, [b"\x01"])[b"\x01"]
    assert (entry.status, entry.value, entry.attempts, entry.problem) == ("ok", 2.0, 2, "")


def test_a_journal_of_another_game_is_refused_and_says_what_differs(tmp_path: Path) -> None:
    Journal(tmp_path / "run.db").enter(NAME, PLAYERS)
    with refused("conflict", kind=JournalError):
        Journal(tmp_path / "run.db").enter(fingerprint(data=[1, 2], model="logistic", metric="log loss"), PLAYERS)


def test_a_newer_format_another_database_and_no_database_are_refused_untouched(tmp_path: Path) -> None:
    newer, other, text = tmp_path / "newer.db", tmp_path / "other.db", tmp_path / "text.db"
    Journal(newer).close()
    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version = 99")
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE songs (title TEXT)")
    text.write_text("not a database, but long enough to be read as the header of one " * 40)
    before = text.read_bytes()
    for file, why in ((newer, "format 99.*another file"), (other, "another program"), (text, "not a journal")):
        with pytest.raises(JournalError, match=why):
            Journal(file)
    assert text.read_bytes() == before
    with refused("missing", "journal"):
        Journal(tmp_path / "missing folder" / "run.db")


@pytest.mark.slow
def test_a_full_disk_loses_nothing_that_was_written(tmp_path: Path) -> None:
    """The size limit of a process makes writes fail as a full disk does."""
    script = textwrap.dedent("""
        import resource, signal, sys
        from accredit.store import Entry, Journal, JournalError, fingerprint
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        journal = Journal(sys.argv[1])
        game = journal.enter(fingerprint(data=1), ("a",))
        journal.record(game, 0, [Entry(bytes([i]), "ok", float(i), 0.0) for i in range(100)])
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        try:
            for batch in range(1000):
                rows = [Entry(f"{batch} {i}".encode(), "ok", 1.0, 0.0, problem="x" * 200) for i in range(100)]
                journal.record(game, 0, rows)
        except JournalError as error:
            print(error)
    """)
    file = tmp_path / "run.db"
    done = subprocess.run([sys.executable, "-c", script, str(file)], capture_output=True, text=True, check=True)
    assert says(done.stdout, "free some space")
    with Journal(file) as journal:
        journal.check()
        game = journal.enter(fingerprint(data=1), ("a",))
        known = journal.recall(game, 0, [bytes([i]) for i in range(100)])
        assert [known[bytes([i])].value for i in range(100)] == [float(i) for i in range(100)]
        batches = {int(e.coalition.split()[0]) for _, e in journal.entries(game) if len(e.coalition) > 1}
        assert journal.games()[0]["ok"] == 100 + 100 * len(batches)  # each batch is there whole, or not at all
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_sqlite_says_full(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run.db")
    game = journal.enter(NAME, PLAYERS)
    journal._file.sql.execute("PRAGMA max_page_count = 12")
    with refused("unwritable", kind=JournalError):
        journal.record(game, 0, [Entry(bytes([i]) * 1000, "ok", 1.0, 0.0) for i in range(200)])
    assert journal.games()[0]["ok"] == 0


@pytest.mark.slow
def test_two_processes_writing_one_journal_lose_nothing(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import sys
        from accredit.store import Entry, Journal, fingerprint
        file, first = sys.argv[1], int(sys.argv[2])
        journal = Journal(file)
        game = journal.enter(fingerprint(data=1), ("a",))
        for start in range(first, 2000 + first, 10):
            rows = range(start, start + 10)
            journal.record(game, 0, [Entry(row.to_bytes(2, "big"), "ok", float(row), 0.0) for row in rows])
    """)
    file = tmp_path / "run.db"
    writers = [subprocess.Popen([sys.executable, "-c", script, str(file), str(first)]) for first in (0, 5)]
    assert [writer.wait() for writer in writers] == [0, 0]
    with Journal(file) as journal:
        journal.check()
        rows = [entry for _, entry in journal.entries(journal.enter(fingerprint(data=1), ("a",)))]
    assert [entry.value for entry in rows] == [float(i) for i in range(2005)]
    assert not os.path.exists(f"{file}-wal") or os.path.getsize(f"{file}-wal") == 0


def test_runs_are_remembered_and_an_unfinished_one_goes_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run.db")
    run = journal.begin_run(["value", "train.csv"], "/data")
    assert journal.begin_run(["value", "train.csv"], "/data") == run
    journal.end_run(run, "{}")
    assert journal.begin_run(["value", "train.csv"], "/data") != run
    assert [r.ended is None for r in journal.runs()] == [False, True]


def test_a_journal_that_cannot_be_written_is_read_from_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what was committed last, which is not yet in the main file, and without a trace beside it."""
    place = tmp_path / "run.db"
    with Journal(place) as journal:
        game = journal.enter(fingerprint(data="cookies"), ("alice", "bob"))
        journal.record(game, 0, [Entry(b"\x03", "ok", 10.0, seconds=0.5)])
        assert place.with_name("run.db-wal").stat().st_size > 0
        before = sorted(tmp_path.iterdir())
        monkeypatch.setattr(
            "accredit.store.journal.os.access", lambda path, _: "accredit-copy" in str(path)
        )  # another's folder
        with existing(place) as copy:
            assert copy.games()[0]["ok"] == 1
            assert copy.path != str(place)
        assert sorted(tmp_path.iterdir()) == before
