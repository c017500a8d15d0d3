"""One real server for all tests of the page: the command itself, the built-in model, a journal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from accredit.core import FloatArray
from accredit.core.coalitions import pack
from accredit.store import Entry, Journal, fingerprint
from tests.browsing import WAIT, chromium

ROWS = tuple(f"row {k}" for k in range(16))
WORTH = np.linspace(1.0, -0.5, 16)  # the last rows harm


def additive(masks: Any) -> FloatArray:
    """Every row adds its worth, and rows 0 and 1 add 2 more together."""
    return np.asarray(masks @ WORTH + 2.0 * (masks[:, 0] & masks[:, 1]))


def store(journal: Journal, masks: Any) -> None:
    """Pay for some coalitions."""
    game = journal.enter(fingerprint(data="toy"), ROWS)
    entries = [Entry(bytes(bits), "ok", float(x), 0.01) for bits, x in zip(pack(masks), additive(masks), strict=True)]
    journal.record(game, 0, entries)


def random_masks(count: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).random((count, len(ROWS))) < 0.5


@dataclass
class Server:
    """A running `accredit serve`."""

    address: str  # with its key
    process: subprocess.Popen[str]
    journal: Path

    @property
    def base(self) -> str:
        return "http://" + urlsplit(self.address).netloc

    @property
    def key(self) -> str:
        return self.address.partition("token=")[2]

    @contextmanager
    def client(self, **options: Any) -> Iterator[httpx.Client]:
        """A program that shows the key with every request."""
        headers = {"authorization": f"Bearer {self.key}"}
        with httpx.Client(base_url=self.base, timeout=WAIT / 1000, headers=headers, **options) as client:
            yield client

    def worker(self) -> int:
        """The process that holds the model, idle: whatever was asked before has ended, or was given up."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        if not children.exists():
            pytest.skip("no /proc here to find the worker's process in")
        with self.client() as client:
            asked = client.post("/api/explain", json={"text": "A film.", "methods": ["leave-one-out"]})
        assert asked.text.splitlines()[-1].startswith('{"event": "done"'), asked.text
        (only,) = children.read_text().split()
        return int(only)

    @contextmanager
    def paused(self) -> Iterator[int]:
        """The worker stands still inside: what is asked of it does not end by itself, however quick the machine."""
        worker = self.worker()
        os.kill(worker, signal.SIGSTOP)
        try:
            yield worker
        finally:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGCONT)


@contextmanager
def started(folder: Path, *arguments: str, **options: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, once it has told its address; what it says meanwhile goes to `folder`, so that no full pipe stops it.

    However it was started, an interrupt ends it with exit code 130 and not a word.
    """
    command = [sys.executable, "-m", "accredit", "serve", "--port", "0", "--seconds", str(WAIT / 1000), *arguments]
    with (folder / "said.txt").open("w") as said:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            **options,
        )
    try:
        assert process.stdout is not None
        said = process.stdout.readline() + process.stdout.readline()
        found = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=\S+\n.*key: (\S+)\)", said)
        assert found, (folder / "said.txt").read_text()
        yield process, f"{found[1]}/?token={found[2]}"  # with the key, which opens it as often as one likes
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=WAIT / 1000)
        finally:
            process.kill()
    last_words = (folder / "said.txt").read_text()
    assert process.returncode == 130 and "Traceback" not in last_words, last_words


def ignore_interrupts() -> None:
    """What a shell does to the programs that a script starts in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    journal = folder / "run.db"
    with Journal(journal) as opened:
        store(opened, random_masks(40))
        opened.begin_run(["value", "toy.csv"], "/nowhere")
    with started(folder, "--store", str(journal), preexec_fn=ignore_interrupts) as (process, address):
        yield Server(address, process, journal)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened
