"""The journal: every payoff ever paid for, in one SQLite file that survives the death of its writer.

Rows are keyed by (game, coalition, seed). The file is in WAL mode with `synchronous=NORMAL`: a transaction that was
committed survives the process (also `kill -9`), one that was not leaves no trace, and the file is never half-written.
Only a power cut may take back the last commits; even then the file opens. Several processes may write one journal: each
commits whole batches and waits its turn.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from accredit.core import AccreditError, FloatArray, InvalidInput
from accredit.store.fingerprint import Fingerprint
from accredit.store.finished import BUSY_SECONDS, use_wal

FORMAT = 1
APPLICATION = 0x61636372  # "accr", in the header of the file
CHECKPOINT_PAGES = 8000  # 32 MB: the only moment at which a writer waits for the disk
LOOKUP_ROWS = 500  # coalitions per query; SQLite allows 999 parameters on old builds

SCHEMA = """
CREATE TABLE games (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,  -- of the fingerprint
    parts TEXT NOT NULL,          -- JSON: part -> digest
    players TEXT NOT NULL,        -- JSON: names in the order of the coalition bits
    began REAL NOT NULL
);
CREATE TABLE payoffs (
    game INTEGER NOT NULL REFERENCES games (id),
    coalition BLOB NOT NULL,      -- packed bits, eight players per byte
    seed INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ok', 'failed', 'quarantined')),
    value REAL,                   -- NULL unless ok
    outputs BLOB,                 -- little-endian float64, one per target, where the game predicts targets
    seconds REAL NOT NULL,
    attempts INTEGER NOT NULL,
    problem TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (game, coalition, seed),
    CHECK (status <> 'ok' OR value IS NOT NULL)
) WITHOUT ROWID;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    command TEXT NOT NULL,        -- JSON: the words of the command line
    folder TEXT NOT NULL,         -- where it was given
    began REAL NOT NULL,
    ended REAL,                   -- NULL: still running, or interrupted
    result TEXT                   -- JSON of the attribution
);
"""


class JournalError(AccreditError):
    """A journal cannot be opened, read or written."""


@dataclass(frozen=True)
class Entry:
    """One evaluated coalition."""

    coalition: bytes  # packed bits
    status: str  # ok, failed (will be tried again), quarantined (kept failing)
    value: float | None
    seconds: float
    attempts: int = 1
    problem: str = ""
    outputs: FloatArray | None = None  # (targets,)


@dataclass(frozen=True)
class Run:
    """One command that used the journal."""

    id: int
    command: tuple[str, ...]
    folder: str
    began: float
    ended: float | None
    result: str | None


class Journal:
    """Payoffs in a file. One journal holds one game, unless `several` says otherwise.

    >>> from accredit.store import fingerprint
    >>> journal = Journal(":memory:")
    >>> game = journal.enter(fingerprint(data="cookies"), ("alice", "bob"))
    >>> journal.record(game, 0, [Entry(b"\\x03", "ok", 10.0, seconds=0.5)])
    >>> journal.recall(game, 0, [b"\\x01", b"\\x03"])[b"\\x03"].value
    10.0
    """

    def __init__(self, path: str | Path, *, several: bool = False) -> None:
        self.path = str(path)
        self._several = several
        try:
            self._db = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise JournalError(
                f"journal {self.path} cannot be opened: {error}; name a file in a folder that you can write to"
            ) from None
        try:
            with self._guarded("open"):
                self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        """Create the tables in an empty file; refuse a file that is not ours, or newer than we are."""
        self._db.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
        application, version = self._pragma("application_id"), self._pragma("user_version")
        tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and application != APPLICATION:
            raise JournalError(f"{self.path} belongs to another program; name another file for the journal")
        if version > FORMAT:
            raise JournalError(
                f"journal {self.path} has format {version}, this accredit reads up to {FORMAT}; "
                "upgrade accredit, or name another file"
            )
        use_wal(self._db)
        self._pragma("synchronous = NORMAL")
        self._pragma(f"wal_autocheckpoint = {CHECKPOINT_PAGES}")
        self._pragma("cache_size = -64000")  # kB
        if not tables:
            with self._transaction():
                if not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    for statement in SCHEMA.split(";\n"):
                        self._db.execute(statement)
                    self._pragma(f"application_id = {APPLICATION}")
                    self._pragma(f"user_version = {FORMAT}")

    def _pragma(self, setting: str) -> Any:
        row = self._db.execute(f"PRAGMA {setting}").fetchone()
        return None if row is None else row[0]

    @contextmanager
    def _guarded(self, what: str) -> Iterator[None]:
        """SQLite's errors in words; the transaction is rolled back, so what was stored before is untouched."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            text = str(error)
            if "full" in text or "I/O" in text:
                raise JournalError(
                    f"journal {self.path}: {text}. What was written before is safe; free some space and run again"
                ) from None
            if "not a database" in text or "malformed" in text:
                raise JournalError(f"{self.path} is not a journal: {text}; name another file") from None
            if "unable to open" in text or "readonly" in text:
                raise JournalError(
                    f"journal {self.path} cannot be written: {text}; name a file in a folder that you can write to"
                ) from None
            if "locked" in text:
                raise JournalError(
                    f"journal {self.path} was locked by another process for {BUSY_SECONDS:.0f} s; run again to resume"
                ) from None
            raise JournalError(f"journal {self.path}: could not {what}: {text}") from None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")  # wait for the other writer here, where nothing is half done
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def enter(self, name: Fingerprint, players: Sequence[str]) -> int:
        """The number of a game in this file, entered if it is new. A journal of another game is refused."""
        with self._guarded("enter a game"), self._transaction():
            known = self._db.execute("SELECT id, digest, parts FROM games ORDER BY id").fetchall()
            for number, digest, _ in known:
                if digest == name.digest:
                    return int(number)
            if known and not self._several:
                differing = ", ".join(name.differs_from(json.loads(known[-1][2])))
                raise JournalError(
                    f"journal {self.path} belongs to another game, which differs in {differing}. Name another file, "
                    "or open it with Journal(path, several=True)"
                )
            cursor = self._db.execute(
                "INSERT INTO games (digest, parts, players, began) VALUES (?, ?, ?, ?)",
                (name.digest, json.dumps(dict(name.parts)), json.dumps(list(players)), time.time()),
            )
            assert cursor.lastrowid is not None
            return cursor.lastrowid

    def recall(self, game: int, seed: int, coalitions: Sequence[bytes]) -> dict[bytes, Entry]:
        """What is known of the given coalitions; those never evaluated are left out."""
        found: dict[bytes, Entry] = {}
        with self._guarded("read"):
            for start in range(0, len(coalitions), LOOKUP_ROWS):
                wanted = coalitions[start : start + LOOKUP_ROWS]
                marks = ",".join("?" * len(wanted))
                query = f"SELECT {COLUMNS} FROM payoffs WHERE game = ? AND seed = ? AND coalition IN ({marks})"
                for row in self._db.execute(query, (game, seed, *wanted)):
                    entry = _entry(row)
                    found[entry.coalition] = entry
        return found

    def record(self, game: int, seed: int, entries: Sequence[Entry]) -> None:
        """Write a batch in one transaction. A payoff once paid for is never replaced; a failure is, and is counted."""
        rows = [
            (
                game,
                e.coalition,
                seed,
                e.status,
                e.value,
                None if e.outputs is None else np.ascontiguousarray(e.outputs, dtype="<f8").tobytes(),
                e.seconds,
                e.attempts,
                e.problem,
            )
            for e in entries
        ]
        with self._guarded("write"), self._transaction():
            self._db.executemany(
                "INSERT INTO payoffs (game, coalition, seed, status, value, outputs, seconds, attempts, problem) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET status = excluded.status, "
                "value = excluded.value, outputs = excluded.outputs, seconds = excluded.seconds, "
                "attempts = attempts + excluded.attempts, problem = excluded.problem "
                "WHERE payoffs.status <> 'ok'",
                rows,
            )

    def entries(self, game: int, seed: int | None = None) -> Iterator[tuple[int, Entry]]:
        """Every row of a game as (seed, entry), in the order of the keys."""
        query = f"SELECT seed, {COLUMNS} FROM payoffs WHERE game = ?" + ("" if seed is None else " AND seed = ?")
        arguments = (game,) if seed is None else (game, seed)
        with self._guarded("read"):
            for row in self._db.execute(query + " ORDER BY coalition, seed", arguments):
                yield int(row[0]), _entry(row[1:])

    def games(self) -> list[dict[str, Any]]:
        """Each game: number, digest, players, and how many payoffs are ok, failed, quarantined, in how many seconds."""
        with self._guarded("read"):
            found = []
            for number, digest, players, began in self._db.execute(
                "SELECT id, digest, players, began FROM games ORDER BY id"
            ):
                counts: Mapping[str, int] = dict(
                    self._db.execute("SELECT status, count(*) FROM payoffs WHERE game = ? GROUP BY status", (number,))
                )
                seconds = self._db.execute("SELECT total(seconds) FROM payoffs WHERE game = ?", (number,)).fetchone()[0]
                found.append(
                    {
                        "id": number,
                        "digest": digest,
                        "players": tuple(json.loads(players)),
                        "began": began,
                        "seconds": seconds,
                    }
                    | {status: counts.get(status, 0) for status in ("ok", "failed", "quarantined")}
                )
            return found

    def begin_run(self, command: Sequence[str], folder: str) -> int:
        """Note that a command starts; the same command given again goes on with the unfinished one."""
        words = json.dumps(list(command))
        with self._guarded("write"), self._transaction():
            open_run = self._db.execute(
                "SELECT id FROM runs WHERE command = ? AND folder = ? AND ended IS NULL", (words, folder)
            ).fetchone()
            if open_run:
                return int(open_run[0])
            cursor = self._db.execute(
                "INSERT INTO runs (command, folder, began) VALUES (?, ?, ?)", (words, folder, time.time())
            )
            assert cursor.lastrowid is not None
            return cursor.lastrowid

    def end_run(self, run: int, result: str) -> None:
        """Note that a run has ended, with its result as JSON."""
        with self._guarded("write"), self._transaction():
            self._db.execute("UPDATE runs SET ended = ?, result = ? WHERE id = ?", (time.time(), result, run))

    def describe(self, run: int, facts: Mapping[str, Any]) -> None:
        """Keep what a run knows about its players besides names: labels, texts, groups. JSON; a second call replaces it."""
        with self._guarded("write"), self._transaction():
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS about (run INTEGER PRIMARY KEY REFERENCES runs (id), facts TEXT NOT NULL)"
            )
            self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (run, json.dumps(dict(facts))))

    def description(self, run: int) -> dict[str, Any]:
        """What `describe` kept of a run; empty for runs that kept nothing.

        >>> journal = Journal(":memory:")
        >>> run = journal.begin_run(["value", "films.csv"], "/films")
        >>> journal.describe(run, {"labels": ["good", "bad"]})
        >>> journal.description(run)
        {'labels': ['good', 'bad']}
        """
        with self._guarded("read"):
            if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").fetchone():
                return {}
            row = self._db.execute("SELECT facts FROM about WHERE run = ?", (run,)).fetchone()
        return {} if row is None else dict(json.loads(row[0]))

    def runs(self) -> list[Run]:
        """Every run, oldest first."""
        with self._guarded("read"):
            rows = self._db.execute("SELECT id, command, folder, began, ended, result FROM runs ORDER BY id").fetchall()
        return [Run(r[0], tuple(json.loads(r[1])), r[2], r[3], r[4], r[5]) for r in rows]

    def check(self) -> None:
        """Let SQLite verify every page and index; an unsound file raises."""
        with self._guarded("check"):
            verdict = self._pragma("integrity_check")
        if verdict != "ok":
            raise JournalError(f"journal {self.path} is damaged: {verdict}")

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


COLUMNS = "coalition, status, value, seconds, attempts, problem, outputs"


def _entry(row: Sequence[Any]) -> Entry:
    outputs = None if row[6] is None else np.frombuffer(row[6], dtype="<f8").astype(np.float64)
    return Entry(bytes(row[0]), row[1], row[2], row[3], row[4], row[5], outputs)


@contextmanager
def existing(path: str | Path) -> Iterator[Journal]:
    """Open a journal that must already be there. Where it cannot be written, as SQLite needs to, a copy of it is read."""
    place = Path(path)
    if not place.is_file():
        raise InvalidInput(f"no journal at {path}; a run writes one with --store {path}")
    if all(os.access(needed, os.W_OK) for needed in (place, place.parent)):
        with Journal(place, several=True) as journal:
            yield journal
        return
    with tempfile.TemporaryDirectory() as folder:
        for part in place, place.with_name(f"{place.name}-wal"):  # what was committed last is in the second
            if part.is_file():
                shutil.copy(part, folder)
        with Journal(Path(folder, place.name), several=True) as journal:
            yield journal
