"""Kill a valuation at random instants and see that nothing is lost.

Each trial starts a run in a process of its own, kills it with SIGKILL (once to three times), checks that the journal
opens and is sound, lets the run finish, and compares the result with that of a run nobody disturbed: it must be the
same to the last bit. Workers must vanish with their parent. In every second trial two processes work on one journal; one or
both are killed, and a survivor must take over and end by itself.

    python tools/soak_journal.py --trials 500
    python tools/soak_journal.py --trials 500 --minutes 5              # as many as fit
    python tools/soak_journal.py --trials 500 --minutes 5 --first 83   # and on from there
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray
from accredit.store import Journal, durable
from accredit.values.orders import Antithetic

PLAYERS = 14
BUDGET = 1200
SECONDS = 0.0005  # a payoff
START_SECONDS = 1.0  # of worker processes, about
EXECUTORS = ("serial", "threads:2", "processes:2")


class Slow:
    """A game without structure that takes its time."""

    players = tuple(f"p{i}" for i in range(PLAYERS))

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        time.sleep(SECONDS * len(coalitions))
        weights = np.sin(np.arange(1, PLAYERS + 1) * 12.9898)
        return np.cos(np.where(coalitions, weights, 0.0).sum(axis=1) * 78.233)


def work(journal_file: str, executor: str, ready: Callable[[], None] = lambda: None) -> str:
    """One run, from wherever the journal stands to the end; the result as JSON."""
    with Journal(journal_file) as journal, durable(Slow(), journal, executor, name={"game": "slow"}) as game:
        ready()
        return Antithetic(budget=BUDGET, seed=7).solve(game).to_json()


def start(journal_file: str, executor: str) -> tuple[int, int]:
    """A run in a process and group of its own: its id, and a pipe that says when it is at work."""
    reader, writer = os.pipe()
    if executor.startswith("processes"):  # workers are started afresh from this file, so their parent must be too
        command = [sys.executable, __file__, "--work", journal_file, "--executor", executor]
        child = subprocess.Popen(command, stdout=writer, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(writer)
        return child.pid, reader
    pid = os.fork()
    if pid == 0:
        os.setsid()
        work(journal_file, executor, lambda: os.write(writer, b"ready") and None)
        os._exit(0)
    os.close(writer)
    return pid, reader


def group_vanishes(group: int, within: float = 30.0) -> bool:
    """Whether no process of the group is left after a while."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def wait_for_a_payoff(journal_file: str, pid: int) -> None:
    """Until the run has committed something, however slow the machine; a run that ends before it does is a fault."""
    with Journal(journal_file) as journal:
        while not any(game["ok"] for game in journal.games()):
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            assert ended is None, f"the run ended with status {ended.si_status} before its first payoff"
            time.sleep(0.005)


def trial(number: int, expected: str, folder: str, executors: tuple[str, ...] = EXECUTORS, kills: int = 3) -> int:
    """Kill once or more often, then finish. Returns the payoffs that the killed runs had saved."""
    chance = random.Random(number)
    file = str(Path(folder) / f"{number}.db")
    executor = executors[number % len(executors)]
    for _ in range(chance.randint(1, kills)):
        companion = start(file, executor) if in_pairs(number, executors) else None
        pid, reader = start(file, executor)
        if chance.random() < 0.9:
            os.read(reader, 1)  # it is at work; otherwise it dies while starting
            if chance.random() < 0.5:
                wait_for_a_payoff(file, pid)
        time.sleep(chance.uniform(0.0, BUDGET * SECONDS + (START_SECONDS if executor.startswith("processes") else 0.0)))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reader)
        assert group_vanishes(pid), f"trial {number}: workers outlived their parent"
        if companion:
            end_companion(*companion, killed=chance.random() < 0.5)
    with Journal(file) as journal:
        journal.check()
        saved = sum(int(game["ok"]) for game in journal.games())
    assert work(file, executor) == expected, f"trial {number} ({executor}): the resumed result differs"
    return saved


def in_pairs(number: int, executors: tuple[str, ...]) -> bool:
    """Whether two processes share the journal of this trial: half of all trials, with every executor."""
    return number // len(executors) % 2 == 1


def end_companion(pid: int, reader: int, killed: bool) -> None:
    """The other process of a pair is killed too, or ends by itself, with what the first had leased."""
    if killed:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(reader)
    assert killed or os.waitstatus_to_exitcode(status) == 0, f"a surviving process ended with {status}"
    assert group_vanishes(pid), "workers outlived their parent"


def undisturbed() -> str:
    """The result of a run nobody kills."""
    return Antithetic(budget=BUDGET, seed=7).solve(Slow()).to_json()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="the number of the first trial, which decides all its chances")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no trial after so long")
    parser.add_argument("--work")
    parser.add_argument("--executor", default="serial")
    options = parser.parse_args()
    if options.work:
        work(options.work, options.executor, lambda: print("ready", flush=True))
        return
    expected, saved, began = undisturbed(), {}, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.first, options.trials):
            if time.monotonic() - began > 60 * options.minutes:
                break
            saved[number] = trial(number, expected, folder)
    print(
        json.dumps(
            {
                "trials": len(saved),
                "next": options.first + len(saved),
                "identical": len(saved),  # a trial that differs has ended the run
                "in pairs": sum(in_pairs(number, EXECUTORS) for number in saved),
                "mid-run": sum(0 < s < BUDGET for s in saved.values()),
                "seconds": round(time.monotonic() - began, 1),
                "CPU seconds": round(sum(os.times()[:4]), 1),
            }
        )
    )


if __name__ == "__main__":
    main()
