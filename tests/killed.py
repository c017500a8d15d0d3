"""What is left of a program's processes once the program was killed, for tests of what must end with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SECONDS = 60.0  # on a machine under load; a quiet one needs a tenth of one


def left_behind(program: str, *words: str, by: signal.Signals = signal.SIGKILL, folder: Path = ROOT) -> list[int]:
    """Run a program that prints the numbers of processes it started, then waits; end it, and say which of them stay."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("no /proc here to see processes in")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder) as run:
        assert run.stdout is not None
        started = [int(word) for word in run.stdout.readline().split()]
        assert started and all(map(_runs, started))
        os.kill(run.pid, by)
        run.wait()
        until = time.monotonic() + SECONDS
        while (left := list(filter(_runs, started))) and time.monotonic() < until:
            time.sleep(0.02)
    for process in left:
        os.kill(process, signal.SIGKILL)
    return left


def _runs(process: int) -> bool:
    """Whether a process is there and has not ended; one that has may wait for its parent to notice."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
