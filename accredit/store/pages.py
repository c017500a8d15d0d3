"""The pages of an SQLite file, read one by one without SQLite: what is left of a file that it refuses to open.

Only what a journal needs: every record that lies on a leaf, in whatever order. Layout of pages, cells, records and the
write-ahead log are those of SQLite's published file format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

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
