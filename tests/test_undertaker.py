"""A run of tests that is killed leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests import undertaker
from tests.killed import left_behind

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux shows the environment of a process"),
]

# Like a worker of pytest: watched over, it starts a process in a session of its own, which starts another.
PROGRAM = """
import signal, subprocess, sys, time
from tests import undertaker
signal.signal(signal.SIGINT, signal.SIG_DFL)  # which a shell takes from jobs in the background
undertaker.watch_over_this_process()
deeper = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True); sys.stdin.read()"
child = subprocess.Popen([sys.executable, "-c", deeper], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
print(child.pid, child.stdout.readline().decode().strip(), flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_nothing_outlives_a_run_that_is_ended_by(number):
    assert left_behind(PROGRAM, by=number) == []


def test_only_what_carries_the_mark_is_ended():
    mine, other = "a" * 32, "b" * 32
    started = {mark: subprocess.Popen(["sleep", "600"], env=os.environ | {undertaker.MARKS: mark}) for mark in (mine, other)}
    try:
        assert undertaker.marked(mine) == [started[mine].pid]
        undertaker.main(os.getpid(), mine)  # not the parent of this process: nothing to wait for
        assert started[mine].wait() == -signal.SIGKILL and started[other].poll() is None
    finally:
        started[other].kill()
        started[other].wait()
