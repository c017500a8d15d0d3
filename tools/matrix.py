"""Every public call and every command, with every kind of bad value.

    python -m tools.matrix                       # all cells; a table by verdict, a JSON line, exit code 1 on faults
    python -m tools.matrix --room values         # one room
    python -m tools.matrix --sample 200          # every k-th cell only
    python -m tools.matrix --show                # every fault with what was said
    python -m tools.matrix --cell "(store=" --cell "trace (prompt"   # only cells whose name holds one of these

Cells are made from signatures and from what click declares, not typed by hand: one valid call per public name, one argument
replaced at a time. A cell is right (a sane answer to a value that may be taken), a typed error that names the argument or
shows the value and says what is wanted, or a fault.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers are forked, and threads do not survive that

from benchmarks.record import keep
from tools.proof import base_calls, commands
from tools.proof.cells import FAULTS, RIGHT, TYPED, Cell, Outcome, cells, not_working, tried
from tools.proof.fence import fenced, guard
from tools.proof.pool import all_tried
from tools.proof.tables import markdown

SECONDS = 60.0  # that one cell may take


def chosen(everything: Sequence[Any], sample: int | None) -> list[Any]:
    """All of them, or about `sample` of them, evenly spaced."""
    return list(everything[:: max(1, len(everything) // sample)] if sample else everything)


def matrix(
    folder: Path, room: str | None, sample: int | None, show: bool, holding: Sequence[str] = ()
) -> list[tuple[Any, Outcome, float]]:
    """Cells of calls and commands with their outcomes."""
    listed: list[Any] = []
    if room != "cli":
        listed += cells(folder, room)
    if room in (None, "cli"):
        commands.prepare(folder)
        listed += list(commands.cells(folder))
    listed = [cell for cell in listed if not holding or any(part in str(cell) for part in holding)]
    done = []
    inside, guarded = folder.parent, False

    def task(cell: Any) -> Outcome:
        nonlocal guarded
        if not guarded:  # in the worker process, before its first cell
            guard(inside)
            guarded = True
        return tried(cell, folder) if isinstance(cell, Cell) else commands.tried(cell, folder)

    def each(now: int, of: int) -> None:
        if now % 200 == 0:
            print(f"{now:,} of {of:,} cells", file=sys.stderr)

    if (broken := not_working(folder, room)) and room != "cli":
        raise SystemExit("these base calls do not work:\n" + "\n".join(broken))
    for cell, found, seconds in all_tried(chosen(listed, sample), task, SECONDS, each):
        if isinstance(found, str):
            found = Outcome(found, f"after {seconds:.0f} s")
        elif isinstance(found, BaseException):
            found = Outcome("raw exception", f"MemoryError: {found}")
        done.append((cell, found, seconds))
        if show and found.verdict in FAULTS:
            print(f"{found.verdict}: {cell}: {found.said[:220]!r} ({seconds:.1f} s)", flush=True)
    return done


def summary(done: list[tuple[Any, Outcome, float]]) -> dict[str, Any]:
    """Counts by room and verdict."""
    rooms: dict[str, Counter[str]] = {}
    for cell, found, _ in done:
        rooms.setdefault(cell.name.split(".")[0], Counter())[found.verdict] += 1
    total = Counter(found.verdict for _, found, _ in done)
    return {
        "cells": len(done),
        **{v: total[v] for v in (RIGHT, TYPED, *FAULTS)},
        "faults": sum(total[v] for v in FAULTS),
        "rooms": rooms,
    }


def table(figures: dict[str, Any]) -> str:
    """Cells by room and verdict; of the kinds of faults only those that there are.

    >>> print(table({"cells": 3, "right": 1, "typed error": 2, "rooms": {"core": {"right": 1, "typed error": 2}}}))
    | room | cells | right | typed error | faults |
    |---|---|---|---|---|
    | core | 3 | 1 | 2 | 0 |
    | all | 3 | 1 | 2 | 0 |
    """
    kinds = [fault for fault in FAULTS if figures.get(fault)] or ["faults"]
    rows = {room: {"cells": sum(count.values())} | count for room, count in figures["rooms"].items()} | {"all": figures}
    columns = ("cells", RIGHT, TYPED, *kinds)
    return markdown(("room", *columns), [(r, *(f"{count.get(c, 0):,}" for c in columns)) for r, count in rows.items()])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", choices=[*base_calls.ROOMS[1:], "cli"], help="one room only")
    parser.add_argument("--sample", type=int, help="about this many cells, evenly spaced")
    parser.add_argument("--show", action="store_true", help="print every fault")
    parser.add_argument("--cell", action="append", default=[], help="only cells whose name holds this text")
    parser.add_argument("--lines", type=Path, help="append the figures to this file, for tools.reliability_page")
    options = parser.parse_args(arguments)
    with fenced() as folder:
        done = matrix(folder, options.room, options.sample, options.show, options.cell)
    counted = summary(done)
    print(table(counted))
    names = [name for name, _ in base_calls.public()]
    called = len({cell.name for cell, _, _ in done})
    line = {
        "part": "matrix",
        "names": called,
        "left_out": sum(base_calls.left_out(n) is not None for n in names),
        **counted,
    }
    print(json.dumps(line))
    if options.lines:
        keep(line, options.lines)
    return 1 if counted["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
