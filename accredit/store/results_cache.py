"""Finished parts of a long computation on disk: one SQLite file, one transaction per part, keyed by all it depends on."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any

from accredit.checks.files import check_writable
from accredit.errors import InvalidInput

BUSY_SECONDS = 60.0  # how long one writer waits for another
SCHEMA = "CREATE TABLE IF NOT EXISTS finished (digest TEXT PRIMARY KEY, key TEXT NOT NULL, result TEXT NOT NULL)"


class Finished:
    """Results by key, both plain JSON. A part is in the file whole or not at all, and several processes may write at once.

    >>> with Finished(":memory:") as parts:
    ...     parts.keep({"set": "mnist", "seed": 0}, {"accuracy": 0.75})
    ...     parts.found({"seed": 0, "set": "mnist"}), parts.found({"seed": 1, "set": "mnist"})
    ({'accuracy': 0.75}, None)
    """

    def __init__(self, path: str | Path) -> None:
        if str(path) != ":memory:":
            check_writable(path, "store")
        try:
            self._file = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
            use_wal(self._file)
            self._file.execute(SCHEMA)
        except sqlite3.Error as error:
            raise InvalidInput(
                f"{path} cannot hold finished parts: {error}; give another file with store=…",
                argument="store",
                code="unwritable",
            ) from None

    def __enter__(self) -> Finished:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def keep(self, key: Mapping[str, object], result: Mapping[str, object]) -> None:
        """Write one part; it survives the process from here on."""
        text, digest = _digest(key)
        row = (digest, text, json.dumps(dict(result), ensure_ascii=False))
        self._file.execute("INSERT OR REPLACE INTO finished VALUES (?, ?, ?)", row)

    def found(self, key: Mapping[str, object]) -> dict[str, Any] | None:
        """The part of this key, if it is there."""
        row = self._file.execute("SELECT result FROM finished WHERE digest = ?", (_digest(key)[1],)).fetchone()
        return None if row is None else dict(json.loads(row[0]))


def use_wal(file: sqlite3.Connection) -> None:
    """Switch a database to WAL. SQLite does not wait for another process that does the same, so wait here."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            file.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)


def _digest(key: Mapping[str, object]) -> tuple[str, str]:
    text = json.dumps(dict(key), sort_keys=True, ensure_ascii=True)
    return text, sha256(text.encode()).hexdigest()
