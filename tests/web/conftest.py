"""One real server for all tests of the page: the command itself, the built-in model, a journal."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from accredit.core import FloatArray
from accredit.core.coalitions import packed
from accredit.store import Entry, Journal, fingerprint

CHROMIUM = os.environ.get("ACCREDIT_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
ROWS = tuple(f"row {k}" for k in range(16))
WORTH = np.linspace(1.0, -0.5, 16)  # the last rows harm


def additive(masks: Any) -> FloatArray:
    """Every row adds its worth, and rows 0 and 1 add 2 more together."""
    return np.asarray(masks @ WORTH + 2.0 * (masks[:, 0] & masks[:, 1]))


def store(journal: Journal, masks: Any) -> None:
    """Pay for some coalitions."""
    game = journal.enter(fingerprint(data="toy"), ROWS)
    entries = [Entry(bytes(bits), "ok", float(x), 0.01) for bits, x in zip(packed(masks), additive(masks), strict=True)]
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

    @contextmanager
    def client(self, **options: Any) -> Iterator[httpx.Client]:
        """A client that has opened the page once, and so holds the cookie."""
        with httpx.Client(base_url=self.base, timeout=120, **options) as client:
            assert client.get(self.address).status_code == 200
            yield client

    def worker(self) -> int:
        """The process that holds the model."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        if not children.exists():
            pytest.skip("no /proc here to find the worker's process in")
        return int(children.read_text().split()[0])


def started(arguments: list[str]) -> tuple[subprocess.Popen[str], str]:
    """The command, once it has told its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "accredit", "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
    assert found, line + process.stderr.read()
    return process, found.group()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    journal = tmp_path_factory.mktemp("journal") / "run.db"
    with Journal(journal) as opened:
        store(opened, random_masks(40))
        opened.begin_run(["value", "toy.csv"], "/nowhere")
    process, address = started(["--store", str(journal)])
    yield Server(address, process, journal)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install 'accredit[test]'"
    )
    if not CHROMIUM:
        pytest.skip("no Chromium found; install it, or name one in ACCREDIT_CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()
