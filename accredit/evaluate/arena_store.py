"""Rows of the arena on disk: one SQLite file, one transaction a row, keyed by everything the numbers depend on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType

from accredit.core import AccreditError
from accredit.evaluate.arena import Contest, Example, RowResult

FORMAT = 1
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS rows (contest TEXT, example TEXT, result TEXT NOT NULL, PRIMARY KEY (contest, example))"
)


class ArenaStoreError(AccreditError):
    """The file of finished rows cannot be used."""


def contest_key(contest: Contest) -> str:
    """A digest of the contest's settings."""
    return sha256(json.dumps([FORMAT, contest.settings()], sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def example_key(example: Example) -> str:
    """A digest of one input and its place, which seeds its random baseline."""
    return sha256(json.dumps([example.row, example.text, example.target], ensure_ascii=True).encode()).hexdigest()


class FinishedRows:
    """The rows of one contest in one file. Several contests may share a file; a row is in it wholly or not at all."""

    def __init__(self, path: str | Path, contest: Contest) -> None:
        self._contest = contest_key(contest)
        try:
            self._file = sqlite3.connect(path, timeout=60, isolation_level=None)
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute(SCHEMA)
        except sqlite3.Error as error:
            raise ArenaStoreError(
                f"{path} cannot hold finished rows: {error}; give another file with --store"
            ) from None

    def __enter__(self) -> FinishedRows:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def keep(self, example: Example, result: RowResult) -> None:
        """Write one row; it survives the process from here on."""
        text = json.dumps(result.to_plain(), ensure_ascii=False)
        self._file.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", (self._contest, example_key(example), text))

    def found(self, examples: Sequence[Example]) -> dict[int, RowResult]:
        """Results that are already there, by row number."""
        kept = dict(self._file.execute("SELECT example, result FROM rows WHERE contest = ?", (self._contest,)))
        known = {example.row: kept.get(example_key(example)) for example in examples}
        return {row: RowResult.from_plain(json.loads(text)) for row, text in known.items() if text is not None}
