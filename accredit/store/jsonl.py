"""Results as JSON lines in a file: what a stopped run has finished, and whose lines they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accredit.errors import InvalidInput


def read_finished_lines(out: Path, belongs: Callable[[int, dict[str, Any]], bool], differs: str) -> int:
    """How many rows `out` already holds. A last line that was cut off by a crash is removed.

    `belongs(row, line)` says whether a line is that row of this run; lines of another run are refused, because they are
    somebody's results. `differs` names what may be different about them.
    """
    if not out.exists():
        return 0
    content = out.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    lines = whole.splitlines()
    for row, line in enumerate(lines):
        if not _belongs(row, line, belongs):
            raise InvalidInput(
                f"line {row + 1} of {str(out)!r} is not row {row} of this run ({differs}); give a new file: out='other.jsonl'",
                argument="out",
                code="conflict",
            )
    if not lines and content:
        raise InvalidInput(
            f"{str(out)!r} holds something other than rows; give a new file: out='other.jsonl'", argument="out", code="conflict"
        )
    if len(whole) < len(content):
        with out.open("r+b") as file:
            file.truncate(len(whole))
    return len(lines)


def _belongs(row: int, line: bytes, belongs: Callable[[int, dict[str, Any]], bool]) -> bool:
    try:
        data = json.loads(line)
        return data["row"] == row and belongs(row, data)
    except (ValueError, KeyError, TypeError):
        return False
