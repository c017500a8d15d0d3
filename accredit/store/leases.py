"""Leases: which process evaluates which coalitions, so that several processes on one journal do each of them once.

A lease names its holder and a time of expiry, which a thread of the holder moves on as long as it lives. A holder that was
killed is recognised at once on its own machine, because its process is gone, and elsewhere after `LEASE_SECONDS`; its
coalitions are then free again. A holder that was only asleep loses nothing but time: the first payoff stored is kept.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

LEASE_SECONDS = 60.0
RENEWALS = 4  # per lease: one that comes late, because the machine is busy, does no harm


def _machine() -> str:
    """This machine, and on Linux this container: only here does the number of a process mean anything."""
    try:
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        namespace = 0
    return f"{platform.node()}/{namespace}"


def new_holder() -> str:
    """A name for a holder of leases in this process."""
    return f"{_machine()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def is_lost(holder: str, until: float) -> bool:
    """Whether nobody works under this lease any more.

    >>> is_lost(new_holder(), until=time.time() + 60), is_lost(new_holder(), until=time.time() - 1)
    (False, True)
    """
    if until < time.time():
        return True
    machine, process, _ = holder.rsplit(":", 2)
    if machine != _machine() or os.name != "posix":
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it lives, and belongs to somebody else
        return False
    return False


def held_by_others(rows: Sequence[tuple[int, str, float, bytes]], holder: str, key_bytes: int) -> set[bytes]:
    """The coalitions in leases (number, holder, until, keys one after another) of other holders that still work."""
    return {
        keys[start : start + key_bytes]
        for _, other, until, keys in rows
        if other != holder and not is_lost(other, until)
        for start in range(0, len(keys), key_bytes)
    }


class Renewal:
    """A thread that moves the expiry of a holder's leases on, through a connection of its own, which never makes a file."""

    def __init__(self, path: str | Path, holder: str) -> None:
        self._address, self._holder = f"{Path(path).absolute().as_uri()}?mode=rw", holder
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="accredit leases", daemon=True).start()

    def _run(self) -> None:
        while not self._ended.wait(LEASE_SECONDS / RENEWALS):
            with (
                suppress(sqlite3.Error),
                closing(sqlite3.connect(self._address, timeout=LEASE_SECONDS / RENEWALS, uri=True)) as file,
                file,
            ):
                until = time.time() + LEASE_SECONDS
                file.execute("UPDATE leases SET until = ? WHERE holder = ?", (until, self._holder))

    def end(self) -> None:
        self._ended.set()
