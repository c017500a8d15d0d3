"""The file behind a journal: opened with care, written in whole transactions, and its faults in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from accredit.checks.files import check_writable
from accredit.errors import AccreditError
from accredit.store.results_cache import BUSY_SECONDS, use_wal

FORMAT = 2
APPLICATION = 0x61636372  # "accr", in the header of the file
PAGE_BYTES = 4096
CHECKPOINT_PAGES = 8000  # 32 MB: the only moment at which a writer waits for the disk

SCHEMA = """
CREATE TABLE games (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,  -- of the fingerprint
    parts TEXT NOT NULL,          -- JSON: part -> digest
    players TEXT NOT NULL,        -- JSON: names in the order of the coalition bits
    began REAL NOT NULL,
    proof BLOB NOT NULL           -- checksum of digest, parts and players
);
CREATE TABLE payoffs (
    game INTEGER NOT NULL REFERENCES games (id),
    coalition BLOB NOT NULL,      -- packed bits, eight players per byte
    seed INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ok', 'failed', 'quarantined')),
    value REAL,                   -- NULL unless ok
    block INTEGER REFERENCES outputs (id),  -- NULL where the game predicts no targets
    start INTEGER NOT NULL,       -- of its outputs in the block, in bytes
    bytes INTEGER NOT NULL,
    seconds REAL NOT NULL,
    attempts INTEGER NOT NULL,
    problem TEXT NOT NULL DEFAULT '',
    proof BLOB NOT NULL,          -- checksum of game, coalition, seed, status, value and outputs
    PRIMARY KEY (game, coalition, seed),
    CHECK (status <> 'ok' OR value IS NOT NULL)
) WITHOUT ROWID;
CREATE TABLE outputs (
    id INTEGER PRIMARY KEY,
    data BLOB NOT NULL            -- little-endian float64, one per target, of many coalitions one after another
);
CREATE TABLE leases (
    id INTEGER PRIMARY KEY,
    game INTEGER NOT NULL REFERENCES games (id),
    seed INTEGER NOT NULL,
    holder TEXT NOT NULL,
    until REAL NOT NULL,          -- seconds since 1970
    coalitions BLOB NOT NULL      -- their keys, one after another
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    command TEXT NOT NULL,        -- JSON: the words of the command line
    shown TEXT NOT NULL,          -- JSON: more words, which say where the result goes
    folder TEXT NOT NULL,         -- where it was given
    began REAL NOT NULL,
    ended REAL,                   -- NULL: still running, or interrupted
    result TEXT                   -- JSON of the attribution
);
CREATE TABLE about (
    run INTEGER PRIMARY KEY REFERENCES runs (id),
    facts TEXT NOT NULL           -- JSON: what the run knows about its players besides their names
);
"""


class JournalError(AccreditError):
    """A journal cannot be opened, read or written.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from accredit.store import Journal
    >>> file = Path(tempfile.mkdtemp(), "run.db")
    >>> _ = file.write_text("this is not a journal")
    >>> Journal(file)
    Traceback (most recent call last):
        ...
    accredit.store.journal_file.JournalError: ...run.db is not a journal, or its beginning is damaged: file is not ...
    """


class JournalFile:
    """A connection to a journal. SQLite's errors come out in words that name the file and what to do."""

    def __init__(self, path: str, verified: bool = True) -> None:
        self.path, self._verified = path, verified
        if path != ":memory:":
            check_writable(path, "journal")
        try:
            self.sql = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise JournalError(
                f"journal {path} cannot be opened: {error}; name a file in a folder that you can write to", code="unreadable"
            ) from None
        try:
            with self.guarded("open"):
                self._prepare()
        except BaseException:
            self.sql.close()
            raise

    def _prepare(self) -> None:
        """Create the tables in an empty file; refuse a file that is not ours, of another format, or damaged."""
        self.sql.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
        # In this order: whoever sees tables sees the marks written with them, also while another process creates both.
        tables = self.sql.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        application, version = self.pragma("application_id"), self.pragma("user_version")
        if tables and application != APPLICATION:
            raise JournalError(f"{self.path} belongs to another program; name another file for the journal", code="conflict")
        if tables and version != FORMAT:
            raise JournalError(
                f"journal {self.path} has format {version}, this accredit reads format {FORMAT}; use the accredit that "
                "wrote it, or name another file",
                code="format",
            )
        if tables and self._verified:
            self.check_pages("quick_check(1)")
        if not tables:
            self.pragma(f"page_size = {PAGE_BYTES}")
        use_wal(self.sql)
        self.pragma("synchronous = NORMAL")
        self.pragma(f"wal_autocheckpoint = {CHECKPOINT_PAGES}")
        self.pragma("cache_size = -64000")  # kB
        if not tables:
            self._create()

    def _create(self) -> None:
        with self.transaction():
            if self.sql.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return  # another process was quicker
            for statement in SCHEMA.split(";\n"):
                self.sql.execute(statement)
            self.pragma(f"application_id = {APPLICATION}")
            self.pragma(f"user_version = {FORMAT}")

    def pragma(self, setting: str) -> object:
        row = self.sql.execute(f"PRAGMA {setting}").fetchone()
        return None if row is None else row[0]

    def check_pages(self, how: str) -> None:
        """Let SQLite look at every page; a page that makes no sense is an error that says how to save the rest."""
        verdict = self.pragma(how)
        if verdict != "ok":
            raise self.damaged(" ".join(str(verdict).split()))

    def damaged(self, what: str) -> JournalError:
        return JournalError(
            f"journal {self.path} is damaged: {what}. What is whole can be saved: accredit runs {self.path} --salvage NEW.db",
            code="unreadable",
        )

    @contextmanager
    def guarded(self, what: str) -> Iterator[None]:
        """SQLite's errors in words; the transaction is rolled back, so what was stored before is untouched."""
        try:
            yield
        except UnicodeDecodeError:  # SQLite quotes the damaged text in its own message, which cannot be read either
            raise self.damaged("its schema or a text in it is not UTF-8") from None
        except sqlite3.DatabaseError as error:
            text = str(error)
            if "full" in text or "I/O" in text:
                raise JournalError(
                    f"journal {self.path}: {text}. What was written before is safe; free some space and run again",
                    code="unwritable",
                ) from None
            if "malformed" in text:
                raise self.damaged(text) from None
            if "not a database" in text:
                raise JournalError(
                    f"{self.path} is not a journal, or its beginning is damaged: {text}; name another file, or look for "
                    f"what is whole: accredit runs {self.path} --salvage NEW.db",
                    code="unreadable",
                ) from None
            if "unable to open" in text or "readonly" in text:
                raise JournalError(
                    f"journal {self.path} cannot be written: {text}; name a file in a folder that you can write to",
                    code="unwritable",
                ) from None
            if "locked" in text:
                raise JournalError(
                    f"journal {self.path} was locked by another process for {BUSY_SECONDS:.0f} s; run again to resume",
                    code="unavailable",
                ) from None
            raise JournalError(f"journal {self.path}: could not {what}: {text}", code="failed") from None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.sql.execute("BEGIN IMMEDIATE")  # wait for the other writer here, where nothing is half done
        try:
            yield
            self.sql.execute("COMMIT")
        except BaseException:
            if self.sql.in_transaction:
                self.sql.execute("ROLLBACK")
            raise

    @contextmanager
    def writing(self, what: str = "write") -> Iterator[None]:
        with self.guarded(what), self.transaction():
            yield

    def close(self) -> None:
        self.sql.close()
