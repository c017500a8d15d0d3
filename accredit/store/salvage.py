"""Salvage: every payoff of a damaged journal that still matches its checksum, in a new journal.

A file that was cut short or written over is refused as a whole, though most of its pages are untouched. Here each page is
read by itself. A payoff is kept if its checksum is right, so what comes out is right or is missing.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from accredit.checks.files import check_is_file, check_writable
from accredit.errors import InvalidInput
from accredit.store.entries import Entry, as_outputs, proof
from accredit.store.journal import Journal, proof_of_game
from accredit.store.journal_file import PAGE_BYTES, JournalError

# The pages of an SQLite file, read one by one without SQLite: what is left of a file that it refuses to open.
#
# Only what a journal needs: every record that lies on a leaf, in whatever order. Layout of pages, cells, records and the
# write-ahead log are those of SQLite's published file format.

TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x0A, 0x02
HEADER_BYTES = 100  # of the file, on the first page
LOG_HEADER, FRAME_HEADER = 32, 24

Column = int | float | str | bytes | None
Record = list[Column]


def pages_of(path: Path, page_bytes: int) -> dict[int, bytes]:
    """The whole pages of a file by number, from 1; those committed to its write-ahead log replace the older ones."""
    content = path.read_bytes()
    pages = {
        1 + start // page_bytes: content[start : start + page_bytes]
        for start in range(0, len(content) - page_bytes + 1, page_bytes)
    }
    log = path.with_name(f"{path.name}-wal")
    return pages | (_commit(log.read_bytes(), page_bytes) if log.is_file() else {})


def _commit(log: bytes, page_bytes: int) -> dict[int, bytes]:
    """Pages of the frames up to the last commit; frames of an older log carry other salts."""
    pages: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    for start in range(LOG_HEADER, len(log) - FRAME_HEADER - page_bytes + 1, FRAME_HEADER + page_bytes):
        number, size_at_commit = struct.unpack_from(">II", log, start)
        if log[start + 8 : start + 16] != log[16:24]:
            break
        pending[number] = log[start + FRAME_HEADER : start + FRAME_HEADER + page_bytes]
        if size_at_commit:
            pages |= pending
            pending = {}
    return pages


def records(pages: dict[int, bytes]) -> Iterator[tuple[int | None, Record]]:
    """Every record that can be read, with its row number in tables that have one; unreadable cells are passed over."""
    for number, page in pages.items():
        begin = HEADER_BYTES if number == 1 else 0
        kind = page[begin]
        if kind not in (TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR):
            continue
        cells = struct.unpack_from(">H", page, begin + 3)[0]
        pointers = begin + (12 if kind == INDEX_INTERIOR else 8)
        for cell in range(min(cells, (len(page) - pointers) // 2)):
            try:
                place = struct.unpack_from(">H", page, pointers + 2 * cell)[0]
                yield _cell(pages, page, place, kind)
            except (IndexError, KeyError, ValueError, struct.error):  # UnicodeDecodeError is a ValueError
                continue


def _cell(pages: dict[int, bytes], page: bytes, place: int, kind: int) -> tuple[int | None, Record]:
    if kind == INDEX_INTERIOR:
        place += 4  # the number of a page further down
    size, place = _varint(page, place)
    row: int | None = None
    if kind == TABLE_LEAF:
        row, place = _varint(page, place)
    usable = len(page)
    most = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
    if size <= most:
        return row, _record(page[place : place + size])
    least = (usable - 12) * 32 // 255 - 23
    here = least + (size - least) % (usable - 4)
    here = here if here <= most else least
    rest = _overflow(pages, struct.unpack_from(">I", page, place + here)[0], size - here)
    return row, _record(page[place : place + here] + rest)


def _overflow(pages: dict[int, bytes], number: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0:
        page = pages[number]
        parts.append(page[4 : 4 + size])
        size -= len(page) - 4
        number = struct.unpack_from(">I", page)[0]
    return b"".join(parts)


def _record(body: bytes) -> Record:
    header, place = _varint(body, 0)
    kinds = []
    while place < header:
        kind, place = _varint(body, place)
        kinds.append(kind)
    columns: Record = []
    for kind in kinds:
        column, place = _column(body, place, kind)
        columns.append(column)
    return columns


def _column(body: bytes, place: int, kind: int) -> tuple[Column, int]:
    if kind == 0:
        return None, place
    if kind in (8, 9):
        return kind - 8, place
    size = {5: 6, 6: 8, 7: 8}.get(kind, kind) if kind < 10 else (kind - 12) // 2
    content = body[place : place + size]
    if len(content) < size or kind in (10, 11):
        raise ValueError("a record that ends too early")
    if kind == 7:
        return struct.unpack(">d", content)[0], place + size
    if kind < 7:
        return int.from_bytes(content, "big", signed=True), place + size
    return (content.decode() if kind % 2 else content), place + size


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """A number of one to nine bytes, and the place after it."""
    number = 0
    for count in range(8):
        byte = content[place + count]
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, place + count + 1
    return number << 8 | content[place + 8], place + 9


MOST_BYTES = 8 * 1024**3  # pages are held in memory


@dataclass(frozen=True)
class Salvaged:
    """What came out of a damaged journal."""

    games: int
    payoffs: int
    damaged: int  # rows that were found, but do not match their checksum, or whose game is lost
    runs: int


@dataclass(frozen=True)
class _Game:
    digest: str
    parts: str
    players: str
    began: float


def salvage(damaged: str | Path, rescued: str | Path) -> Salvaged:
    """Write all that is whole in one journal to another, which must be new; the damaged file is only read.

    Runs come along, unfinished, so that `accredit runs NEW.db --resume` trains what was lost.
    """
    source, place = Path(damaged), Path(rescued)
    if not source.exists():
        raise InvalidInput(f"no journal at {damaged}", argument="damaged", code="missing")
    check_is_file(source)
    if os.path.lexists(place):
        raise InvalidInput(
            f"rescued is {str(rescued)!r}, and this file exists; name a new one", argument="rescued", code="unwritable"
        )
    check_writable(place, "rescued")
    if source.stat().st_size > MOST_BYTES:
        raise InvalidInput(
            f"{damaged} has more than {MOST_BYTES // 1024**3} GB, too much to hold in memory for salvage",
            argument="damaged",
            code="too-many",
        )
    found = list(records(pages_of(source, PAGE_BYTES)))
    games = dict(_games(found))
    if not games:
        raise JournalError(f"no game can be read from {damaged}; nothing to salvage", code="unreadable")
    entries, bad = _entries(found, games)
    with Journal(place, several=True) as journal:
        for number, game in games.items():
            journal.restore(game.digest, game.parts, game.players, game.began, entries.get(number, {}))
        runs = {(r["command"], r["folder"]): r for r in _runs(found)}
        for run in runs.values():
            journal.restore_run(**run)
    return Salvaged(len(games), sum(len(rows) for of in entries.values() for rows in of.values()), bad, len(runs))


def _games(found: list[tuple[int | None, Record]]) -> Iterator[tuple[int, _Game]]:
    for row, record in found:
        match record:
            case [
                None,
                str() as digest,
                str() as parts,
                str() as players,
                int() | float() as began,
                bytes() as checksum,
            ]:
                if row is not None and proof_of_game(digest, parts, players) == checksum:
                    yield row, _Game(digest, parts, players, float(began))


def _runs(found: list[tuple[int | None, Record]]) -> Iterator[dict[str, str]]:
    for row, record in found:
        match record:
            case [None, str() as command, str() as shown, str() as folder, int() | float(), _, _] if row is not None:
                if command.startswith("[") and shown.startswith("["):
                    yield {"command": command, "shown": shown, "folder": folder}


def _entries(found: list[tuple[int | None, Record]], games: dict[int, _Game]) -> tuple[dict[int, dict[int, list[Entry]]], int]:
    """Game -> seed -> entries whose checksums are right, and how many are not."""
    blocks = dict(_blocks(found))
    kept: dict[tuple[int, int, bytes], Entry] = {}
    bad: set[tuple[int, int, bytes]] = set()
    for row, record in found:
        if row is not None or len(record) != 12:
            continue
        key, entry = _entry(record, games, blocks)
        if key is None:
            continue
        if entry is None:
            bad.add(key)
        elif key not in kept or entry.status == "ok":
            kept[key] = entry
    sorted_out: dict[int, dict[int, list[Entry]]] = {}
    for (game, seed, _), entry in kept.items():
        sorted_out.setdefault(game, {}).setdefault(seed, []).append(entry)
    return sorted_out, len(bad - set(kept))


def _blocks(found: list[tuple[int | None, Record]]) -> Iterator[tuple[int, bytes]]:
    for row, record in found:
        match record:
            case [None, bytes() as data] if row is not None:
                yield row, data


def _entry(
    record: Record, games: dict[int, _Game], blocks: dict[int, bytes]
) -> tuple[tuple[int, int, bytes] | None, Entry | None]:
    """The key of a row, if it is one of payoffs, and its entry, if that matches the checksum."""
    match record:
        case [
            int() as game,
            bytes() as coalition,
            int() as seed,
            str() as status,
            None | int() | float() as earned,
            None | int() as block,
            int() as start,
            int() as size,
            int() | float() as seconds,
            int() as attempts,
            str() as problem,
            bytes() as checksum,
        ]:
            key = game, seed, coalition
            outputs = b"" if block is None else blocks.get(block, b"")[start : start + size]
            value = None if earned is None else float(earned)
            whole = game in games and proof(games[game].digest, seed, coalition, status, value, outputs) == checksum
            if not whole:
                return key, None
            return key, Entry(coalition, status, value, float(seconds), attempts, problem, as_outputs(outputs))
    return None, None
