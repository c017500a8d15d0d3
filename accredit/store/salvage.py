"""Salvage: every payoff of a damaged journal that still matches its checksum, in a new journal.

A file that was cut short or written over is refused as a whole, though most of its pages are untouched. Here each page is
read by itself. A payoff is kept if its checksum is right, so what comes out is right or is missing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from accredit.checks.files import check_is_file, check_writable
from accredit.errors import InvalidInput
from accredit.store.entries import Entry, as_outputs, proof
from accredit.store.journal import Journal, proof_of_game
from accredit.store.journal_file import PAGE_BYTES, JournalError
from accredit.store.pages import Record, pages_of, records

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
