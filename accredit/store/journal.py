"""The journal: every payoff ever paid for, in one SQLite file that survives the death of its writer.

Rows are keyed by (game, coalition, seed). The file is in WAL mode with `synchronous=NORMAL`: a transaction that was
committed survives the process (also `kill -9`), one that was not leaves no trace, and the file is never half-written.
Only a power cut may take back the last commits; even then the file opens. Several processes may use one journal: each
commits whole batches, waits its turn, and leases what it evaluates, so that nothing is evaluated twice. Every row carries a
checksum, which is compared whenever the row is read.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from accredit.checks.arguments import check_arguments
from accredit.checks.files import as_path, check_is_file
from accredit.checks.json_data import read_json
from accredit.core import Attribution
from accredit.errors import InvalidInput
from accredit.store.entries import Entry, as_bytes, as_outputs, fingerprint, proof
from accredit.store.fingerprint import Fingerprint
from accredit.store.journal_file import JournalError, JournalFile
from accredit.store.workers import LEASE_SECONDS, held_by_others, is_lost

LOOKUP_ROWS = 500  # coalitions per query; SQLite allows 999 parameters on old builds
BLOCK_BYTES = 64 * 1024  # of outputs in one row of the file, so that at most one page in sixteen is part empty

LATEST = 1e11  # seconds since 1970, beyond which no clock was right
REMARKS = (
    "warnings",
    "notes",
)  # of a run's description: what makes its values doubtful, and what was cut, not known or odd

LEASES = "SELECT id, holder, until, coalitions FROM leases WHERE game = ? AND seed = ?"
COLUMNS = "coalition, seed, status, value, seconds, attempts, problem, block, start, bytes, proof"


@dataclass(frozen=True)
class Run:
    """One command that used the journal.

    >>> journal = Journal(":memory:")
    >>> journal.end_run(journal.begin_run(["value", "films.csv"], "/films"), "films.html")
    >>> [(run.command, run.result) for run in journal.runs()]
    [(('value', 'films.csv'), 'films.html')]
    """

    id: int
    command: tuple[str, ...]
    shown: tuple[str, ...]
    folder: str
    began: float
    ended: float | None
    result: str | None

    @property
    def values(self) -> Attribution | None:
        """What the run found; None before it has ended."""
        try:
            return Attribution.from_json(self.result) if self.result else None
        except InvalidInput as error:
            raise _damaged(self.id, f"its result cannot be read: {error}") from None


class Journal:
    """Payoffs in a file. One journal holds one game, unless `several` says otherwise. Opening looks at every page, unless
    `verified` is False: for those who look again every second. Rows are compared with their checksums whenever they are read.

    >>> from accredit.store import fingerprint
    >>> journal = Journal(":memory:")
    >>> game = journal.enter(fingerprint(data="cookies"), ("alice", "bob"))
    >>> journal.record(game, 0, [Entry(b"\\x03", "ok", 10.0, seconds=0.5)])
    >>> journal.recall(game, 0, [b"\\x01", b"\\x03"])[b"\\x03"].value
    10.0
    """

    @check_arguments
    def __init__(self, path: str | Path, *, several: bool = False, verified: bool = True) -> None:
        self.path = path if path == ":memory:" else str(as_path(path))
        self._several = several
        self._file = JournalFile(self.path, verified)
        self._digests: dict[int, str] = {}

    @property
    def shared(self) -> bool:
        """Whether other processes can open this journal, so that work must be leased."""
        return self.path != ":memory:"

    def enter(self, name: Fingerprint, players: Sequence[str]) -> int:
        """The number of a game in this file, entered if it is new. A journal of another game is refused."""
        with self._file.writing("enter a game"):
            known = self._file.sql.execute("SELECT id, digest, parts FROM games ORDER BY id").fetchall()
            for number, digest, _ in known:
                if digest == name.digest:
                    return int(number)
            if known and not self._several:
                differing = ", ".join(name.differs_from(json.loads(known[-1][2])))
                raise JournalError(
                    f"journal {self.path} belongs to another game, which differs in {differing}. Name another file "
                    "(store='OTHER.db'); Journal(path, several=True) holds several games",
                    code="conflict",
                )
            return self._entered(name.digest, json.dumps(dict(name.parts)), json.dumps(list(players)), time.time())

    def _entered(self, digest: str, parts: str, players: str, began: float) -> int:
        checksum = proof_of_game(digest, parts, players)
        cursor = self._file.sql.execute(
            "INSERT INTO games (digest, parts, players, began, proof) VALUES (?, ?, ?, ?, ?)",
            (digest, parts, players, began, checksum),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _digest(self, game: int) -> str:
        """The digest of a game by its number: part of every checksum."""
        if game not in self._digests:
            with self._file.guarded("read"):
                found = self._file.sql.execute("SELECT digest FROM games WHERE id = ?", (game,)).fetchone()
            if found is None:
                raise JournalError(f"journal {self.path} holds no game number {game}", code="unknown")
            self._digests[game] = found[0]
        return self._digests[game]

    def recall(self, game: int, seed: int, coalitions: Sequence[bytes]) -> dict[bytes, Entry]:
        """What is known of the given coalitions; those never evaluated are left out."""
        found: dict[bytes, Entry] = {}
        for start in range(0, len(coalitions), LOOKUP_ROWS):
            wanted = coalitions[start : start + LOOKUP_ROWS]
            marks = ",".join("?" * len(wanted))
            query = f"SELECT {COLUMNS} FROM payoffs WHERE game = ? AND seed = ? AND coalition IN ({marks})"
            with self._file.guarded("read"):
                rows = self._file.sql.execute(query, (game, seed, *wanted)).fetchall()
            found |= {entry.coalition: entry for _, entry in self._verified(game, rows)}
        return found

    def _verified(self, game: int, rows: Sequence[Sequence[Any]]) -> Iterator[tuple[int, Entry]]:
        """Rows of `COLUMNS` as (seed, entry); a row that does not match its checksum is an error."""
        digest, blocks = self._digest(game), self._blocks({row[7] for row in rows} - {None})
        for coalition, seed, status, value, seconds, attempts, problem, block, start, size, checksum in rows:
            outputs = b"" if block is None else blocks.get(block, b"")[start : start + size]
            if proof(digest, seed, bytes(coalition), status, value, outputs) != checksum:
                raise self._file.damaged("a stored payoff does not match its checksum")
            yield int(seed), Entry(bytes(coalition), status, value, seconds, attempts, problem, as_outputs(outputs))

    def _blocks(self, wanted: set[int]) -> dict[int, bytes]:
        with self._file.guarded("read"):
            query = "SELECT data FROM outputs WHERE id = ?"
            found = {block: self._file.sql.execute(query, (block,)).fetchone() for block in sorted(wanted)}
        return {block: row[0] for block, row in found.items() if row}

    def record(self, game: int, seed: int, entries: Sequence[Entry], done: Sequence[int] = ()) -> None:
        """Write a batch in one transaction, and give back the leases that are `done`. A payoff once paid for is never
        replaced; a failure is, and is counted."""
        digest = self._digest(game)
        stored = [as_bytes(entry.outputs) for entry in entries]
        checksums = [
            proof(digest, seed, e.coalition, e.status, e.value, outputs) for e, outputs in zip(entries, stored, strict=True)
        ]
        with self._file.writing():
            places = self._put_outputs(stored)
            self._file.sql.executemany(
                "INSERT INTO payoffs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                "status = excluded.status, value = excluded.value, block = excluded.block, start = excluded.start, "
                "bytes = excluded.bytes, seconds = excluded.seconds, attempts = attempts + excluded.attempts, "
                "problem = excluded.problem, proof = excluded.proof WHERE payoffs.status <> 'ok'",
                [
                    (game, e.coalition, seed, e.status, e.value, *place, e.seconds, e.attempts, e.problem, checksum)
                    for e, place, checksum in zip(entries, places, checksums, strict=True)
                ],
            )
            self._file.sql.executemany("DELETE FROM leases WHERE id = ?", [(lease,) for lease in done])

    def _put_outputs(self, stored: Sequence[bytes]) -> list[tuple[int | None, int, int]]:
        """Append outputs to the last block, or to new ones; where each went: (block, start, bytes).

        Many coalitions share a block because SQLite gives a value that is longer than a quarter of a page pages of its own.
        """
        last = self._file.sql.execute("SELECT id, length(data) FROM outputs ORDER BY id DESC LIMIT 1").fetchone()
        block, filled = last or (0, BLOCK_BYTES)
        places: list[tuple[int | None, int, int]] = []
        added: dict[int, list[bytes]] = {}
        for outputs in stored:
            if not outputs:
                places.append((None, 0, 0))
                continue
            if filled >= BLOCK_BYTES:
                block, filled = block + 1, 0
            places.append((block, filled, len(outputs)))
            added.setdefault(block, []).append(outputs)
            filled += len(outputs)
        self._file.sql.executemany(
            "INSERT INTO outputs VALUES (?, ?) ON CONFLICT DO UPDATE SET data = CAST(data || excluded.data AS BLOB)",
            [(number, b"".join(parts)) for number, parts in added.items()],
        )
        return places

    def claim(
        self, game: int, seed: int, holder: str, coalitions: Sequence[bytes], most: int | None = None
    ) -> tuple[int, list[bytes]]:
        """Lease the first of the coalitions, at most `most`, that have no payoff yet and that nobody else works on:
        (lease, coalitions)."""
        if not coalitions:
            return 0, []
        wanted = len(coalitions) if most is None else most
        with self._file.writing("lease work"):
            rows = self._file.sql.execute(LEASES, (game, seed)).fetchall()
            lost = [(number,) for number, other, until, _ in rows if is_lost(other, until)]
            self._file.sql.executemany("DELETE FROM leases WHERE id = ?", lost)
            taken = held_by_others(rows, holder, len(coalitions[0]))
            free = self._unpaid(game, seed, [key for key in coalitions if key not in taken], wanted)
            if not free:
                return 0, []
            lease = self._file.sql.execute(
                "INSERT INTO leases (game, seed, holder, until, coalitions) VALUES (?, ?, ?, ?, ?)",
                (game, seed, holder, time.time() + LEASE_SECONDS, b"".join(free)),
            ).lastrowid
        assert lease is not None
        return lease, free

    def _unpaid(self, game: int, seed: int, coalitions: Sequence[bytes], most: int) -> list[bytes]:
        """The first coalitions that have no payoff, at most `most`; no more than needed are looked up."""
        found: list[bytes] = []
        for start in range(0, len(coalitions), most):
            part = coalitions[start : start + most]
            paid = self._paid(game, seed, part)
            found += [key for key in part if key not in paid]
            if len(found) >= most:
                break
        return found[:most]

    def _paid(self, game: int, seed: int, coalitions: Sequence[bytes]) -> set[bytes]:
        found: set[bytes] = set()
        for start in range(0, len(coalitions), LOOKUP_ROWS):
            wanted = coalitions[start : start + LOOKUP_ROWS]
            query = (
                "SELECT coalition FROM payoffs WHERE game = ? AND seed = ? AND status = 'ok' "
                f"AND coalition IN ({','.join('?' * len(wanted))})"
            )
            found |= {bytes(row[0]) for row in self._file.sql.execute(query, (game, seed, *wanted))}
        return found

    def others_work_on(self, game: int, seed: int, holder: str, key_bytes: int) -> set[bytes]:
        """The coalitions that other processes evaluate at the moment."""
        with self._file.guarded("read"):
            rows = self._file.sql.execute(LEASES, (game, seed)).fetchall()
        return held_by_others(rows, holder, key_bytes)

    def release(self, holder: str) -> None:
        """Give back every lease of a holder."""
        with self._file.writing("give back leases"):
            self._file.sql.execute("DELETE FROM leases WHERE holder = ?", (holder,))

    def entries(self, game: int, seed: int | None = None) -> Iterator[tuple[int, Entry]]:
        """Every row of a game as (seed, entry), in the order of the keys."""
        query = f"SELECT {COLUMNS} FROM payoffs WHERE game = ?" + ("" if seed is None else " AND seed = ?")
        arguments = (game,) if seed is None else (game, seed)
        with self._file.guarded("read"):
            cursor = self._file.sql.execute(query + " ORDER BY coalition, seed", arguments)
            while rows := cursor.fetchmany(LOOKUP_ROWS):
                yield from self._verified(game, rows)

    def games(self) -> list[dict[str, Any]]:
        """Each game: number, digest, players, and how many payoffs are ok, failed, quarantined, in how many seconds."""
        with self._file.guarded("read"):
            found = []
            for number, digest, players, began in self._file.sql.execute(
                "SELECT id, digest, players, began FROM games ORDER BY id"
            ):
                counts: Mapping[str, int] = dict(
                    self._file.sql.execute("SELECT status, count(*) FROM payoffs WHERE game = ? GROUP BY status", (number,))
                )
                seconds = self._file.sql.execute("SELECT total(seconds) FROM payoffs WHERE game = ?", (number,)).fetchone()[0]
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

    def begin_run(self, command: Sequence[str], folder: str, shown: Sequence[str] = ()) -> int:
        """Note that a command starts; the same command given again goes on with the unfinished one. `shown` are the words
        that say where its result goes, which make it no other command."""
        words, more = json.dumps(list(command)), json.dumps(list(shown))
        with self._file.writing():
            open_run = self._file.sql.execute(
                "SELECT id FROM runs WHERE command = ? AND folder = ? AND ended IS NULL", (words, folder)
            ).fetchone()
            if open_run:
                self._file.sql.execute("UPDATE runs SET shown = ? WHERE id = ?", (more, open_run[0]))
                return int(open_run[0])
            cursor = self._file.sql.execute(
                "INSERT INTO runs (command, shown, folder, began) VALUES (?, ?, ?, ?)",
                (words, more, folder, time.time()),
            )
            assert cursor.lastrowid is not None
            return cursor.lastrowid

    def end_run(self, run: int, result: str) -> None:
        """Note that a run has ended, with its result as JSON."""
        with self._file.writing():
            self._file.sql.execute("UPDATE runs SET ended = ?, result = ? WHERE id = ?", (time.time(), result, run))

    def describe(self, run: int, facts: Mapping[str, object]) -> None:
        """Keep what a run knows about its players besides names: labels, texts, groups. JSON; a second call replaces it."""
        with self._file.writing():
            self._file.sql.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (run, json.dumps(dict(facts))))

    def description(self, run: int) -> dict[str, Any]:
        """What `describe` kept of a run; empty for runs that kept nothing.

        >>> journal = Journal(":memory:")
        >>> run = journal.begin_run(["value", "films.csv"], "/films")
        >>> journal.describe(run, {"labels": ["good", "bad"]})
        >>> journal.description(run)
        {'labels': ['good', 'bad']}
        """
        with self._file.guarded("read"):
            row = self._file.sql.execute("SELECT facts FROM about WHERE run = ?", (run,)).fetchone()
        try:
            facts = {} if row is None else read_json(row[0], "its description")
        except InvalidInput as error:
            raise _damaged(run, str(error)) from None
        if not isinstance(facts, dict) or not all(_are_words(facts.get(kind, [])) for kind in REMARKS):
            raise _damaged(run, "its description is not what a run writes")
        return facts

    def remarks(self, run: int) -> dict[str, list[str]]:
        """What a run said beside its values. The rest of its description, which has a text for every player, stays in the file.

        >>> journal = Journal(":memory:")
        >>> run = journal.begin_run(["value", "films.csv"], "/films")
        >>> journal.describe(run, {"texts": ["a long one"] * 3, "notes": ["two rows were cut"]})
        >>> journal.remarks(run)
        {'warnings': [], 'notes': ['two rows were cut']}
        """
        asked = ", ".join(f"json_extract(facts, '$.{kind}')" for kind in REMARKS)
        with self._file.guarded("read"):
            row = self._file.sql.execute(
                f"SELECT CASE WHEN json_valid(facts) THEN json_array(json_type(facts), {asked}) END FROM about WHERE run = ?",
                (run,),
            ).fetchone()
        if row is None:
            return {kind: [] for kind in REMARKS}
        if row[0] is None:
            raise _damaged(run, "its description is not JSON")
        kind_of, *given = json.loads(row[0])
        said = {kind: [] if those is None else those for kind, those in zip(REMARKS, given, strict=True)}
        if kind_of != "object" or not all(map(_are_words, said.values())):
            raise _damaged(run, "its description is not what a run writes")
        return said

    def runs(self) -> list[Run]:
        """Every run, oldest first."""
        with self._file.guarded("read"):
            rows = self._file.sql.execute(
                "SELECT id, command, shown, folder, began, ended, result FROM runs ORDER BY id"
            ).fetchall()
        for number, _, _, _, began, ended, _ in rows:
            if not all(isinstance(at, int | float) and 0 <= at < LATEST for at in (began, ended or 0)):
                raise _damaged(number, f"it began at {began!r:.40} and ended at {ended!r:.40}")
        return [Run(r[0], _words(r[0], r[1]), _words(r[0], r[2]), *r[3:]) for r in rows]

    def restore(self, digest: str, parts: str, players: str, began: float, entries: Mapping[int, Sequence[Entry]]) -> None:
        """Enter a game as another journal had it, with its entries by seed."""
        with self._file.writing("restore a game"):
            number = self._entered(digest, parts, players, began)
        for seed, rows in entries.items():
            self.record(number, seed, rows)

    def restore_run(self, command: str, shown: str, folder: str) -> None:
        """Note a run of another journal, as one that has not ended."""
        self.begin_run(json.loads(command), folder, json.loads(shown))

    def check(self) -> int:
        """Let SQLite verify every page and index, and compare every row with its checksum; an unsound file raises. Returns how
        many rows there are."""
        with self._file.guarded("check"):
            self._file.check_pages("integrity_check(1)")
            games = self._file.sql.execute("SELECT id, digest, parts, players, proof FROM games").fetchall()
        rows = 0
        for number, digest, parts, players, checksum in games:
            if proof_of_game(digest, parts, players) != checksum:
                raise self._file.damaged("the line of a game does not match its checksum")
            rows += sum(1 for _ in self.entries(number))
        return rows

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def proof_of_game(digest: str, parts: str, players: str) -> bytes:
    return fingerprint([digest.encode(), parts.encode(), players.encode()])


def _words(run: int, text: str | bytes) -> tuple[str, ...]:
    """The words of a command line, as a run keeps them."""
    try:
        words = read_json(text, "its command")
    except InvalidInput as error:
        raise _damaged(run, str(error)) from None
    if not _are_words(words):
        raise _damaged(run, "its command is not a list of words")
    return tuple(words)


def _are_words(given: object) -> bool:
    return isinstance(given, list) and all(isinstance(word, str) for word in given)


def _damaged(run: int, why: str) -> JournalError:
    return JournalError(
        f"run {run} of the journal is damaged: {why}; save what is whole with accredit runs FILE --salvage NEW.db",
        code="unreadable",
    )


@contextmanager
def existing(path: str | Path, *, verified: bool = True) -> Iterator[Journal]:
    """Open a journal that must already be there. Where it cannot be written, as SQLite needs to, a copy of it is read."""
    place = Path(path)
    if not place.exists():
        raise InvalidInput(
            f"no journal at {path}; accredit value FILE --store {path} writes one", argument="path", code="missing"
        )
    check_is_file(place)
    if all(os.access(needed, os.W_OK) for needed in (place, place.parent)):
        with Journal(place, several=True, verified=verified) as journal:
            yield journal
        return
    with tempfile.TemporaryDirectory(prefix="accredit-copy-") as folder:
        for part in place, place.with_name(f"{place.name}-wal"):  # what was committed last is in the second
            if part.is_file():
                shutil.copy(part, folder)
        with Journal(Path(folder, place.name), several=True, verified=verified) as journal:
            yield journal
