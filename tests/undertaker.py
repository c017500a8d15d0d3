"""Ends what a run of tests has started, however the run itself ends: servers, browsers, clusters, worker processes.

Whoever is killed ends nothing. So every process that tests start inherits a mark in its environment, and a small process
beside pytest waits until pytest has exited, was terminated or killed, and then kills all that still carry the mark. It needs
Linux, whose /proc shows the environment of a process; elsewhere nothing is watched.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path
from select import select

MARKS = "ACCREDIT_TESTS"  # of this pytest, after those of the ones that started it
QUIET = 2.0  # seconds without a marked process until all are taken to have ended: one that just starts shows no mark yet


def watch_over_this_process() -> None:
    """From now on, processes that this one starts do not outlive it by more than a moment."""
    if not sys.platform.startswith("linux"):
        return
    mark = uuid.uuid4().hex
    command = [sys.executable, "-I", "-S", __file__, str(os.getpid()), mark]
    subprocess.Popen(command, start_new_session=True)  # Ctrl-C in the terminal is not for it
    os.environ[MARKS] = f"{os.environ.get(MARKS, '')} {mark}".strip()


def marked(mark: str) -> list[int]:
    """The processes that inherited a mark and have not ended."""
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if mark in _environment(folder)]


def _environment(process: Path) -> str:
    with suppress(OSError):  # it has ended, or belongs to somebody else
        return (process / "environ").read_text(errors="replace")
    return ""


def main(pytest: int, mark: str) -> None:
    """Wait for the end of a process, then end all that carry the mark, and those that they start meanwhile."""
    with suppress(ProcessLookupError):
        watched = os.pidfd_open(pytest)
        if os.getppid() == pytest:  # else it ended before, and its number may be another's
            select([watched], [], [])
    seen = time.monotonic()
    while time.monotonic() - seen < QUIET:
        for process in marked(mark):
            seen = time.monotonic()
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
