"""What holds for every test and every docstring example: fixed examples, marks by what a test needs, any order."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from accredit.models.precision import try_precision
from accredit.store.executors import processes_can_run
from tests import undertaker
from tests.batches import cut_into
from tests.wording import BOOK, merge, write_sentences
from tools.language_model import HOW_TO_MAKE, find_model

# Threads that wait for work give their core away: with several of them in every worker, spinning made tests ten times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# shap, a peer in tests, compiles for seconds what then runs for milliseconds.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

MARK_OF_FIXTURE = {"server": "server", "browser": "browser", "language_model": "llm"}
COLLECTED = pytest.StashKey[list[str]]()
FROM_WORKERS = pytest.StashKey[list[tuple[dict[str, list[str]], list[str]]]]()

settings.register_profile("accredit", deadline=None, derandomize=True, database=None)
settings.load_profile("accredit")


@pytest.fixture(scope="session")
def language_model() -> Path:
    """The folder of a real language model; where it is missing, the test is skipped and says how to make it."""
    if (folder := find_model()) is None:
        pytest.skip(f"there is no language model here; {HOW_TO_MAKE}")
    return folder


@pytest.fixture
def interrupts_are_heard() -> Iterator[None]:
    """A shell starts jobs in the background deaf to interrupts, and so are all processes that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order, the same for a seed")
    parser.addoption("--batches", type=int, metavar="ROWS", help="put this many inputs into each pass of a model")
    parser.addoption("--rewrite-wording", action="store_true", help="write into tests/wording.json what errors say now")


def pytest_configure(config: pytest.Config) -> None:
    undertaker.watch_over_this_process()
    BOOK.rewrites = config.option.rewrite_wording
    if config.option.batches is not None:
        cut_into(config.option.batches)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that ask for a running page, a browser or a real language model are marked so, for `-m`."""
    config.stash[COLLECTED] = [item.nodeid for item in items]
    for item in items:
        for need in MARK_OF_FIXTURE.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(MARK_OF_FIXTURE[need])
        if item.get_closest_marker("half_precision"):
            item.add_marker("slow")  # the first in a process tries the CPU in another
        if item.get_closest_marker("processes") and not processes_can_run():
            item.add_marker(pytest.mark.skip(reason="worker processes cannot share locks: there is no /dev/shm to write in"))
        if config.option.batches is not None and item.get_closest_marker("passes"):
            item.add_marker(pytest.mark.skip(reason="states how many inputs go into one pass, which --batches changes"))
    if config.option.shuffle is not None:
        random.Random(config.option.shuffle).shuffle(items)
    else:
        _longest_first(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Its sentences are read from the first on. A CPU that cannot run a precision would end this process, and with it the tests
    that wait for it."""
    BOOK.turn_to(item.nodeid)
    for dtype in (dtype for mark in item.iter_markers("half_precision") for dtype in mark.args):
        if (trial := try_precision(dtype)).died:
            pytest.skip(str(trial))


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.when == "call" and call.excinfo is None:
        BOOK.passed.add(item.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What errors said, from each worker or from this process, goes into one file if that is asked for."""
    if not session.config.option.rewrite_wording:
        return
    named = any("::" in str(word) for word in session.config.args)  # single tests say nothing of the others in their file
    collected = [] if named else session.config.stash.get(COLLECTED, [])
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["wording"] = (BOOK.written_anew(), collected)
    else:
        parts = [*session.config.stash.get(FROM_WORKERS, []), (BOOK.written_anew(), collected)]
        found = {test: page for pages, _ in parts for test, page in pages.items()}
        there = {
            test: page for test, page in BOOK.sentences.items() if (session.config.rootpath / test.partition("::")[0]).exists()
        }
        anew = merge(there, found, [test for _, tests in parts for test in tests])
        write_sentences(anew)
        terminal = session.config.get_terminal_writer()
        for test in sorted(BOOK.sentences.keys() - anew.keys()):
            terminal.line(f"\ntests/wording.json: nobody reads the sentences of {test} any more; they are left out")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A worker is done."""
    if "wording" in (said := getattr(node, "workeroutput", {})):
        node.config.stash.setdefault(FROM_WORKERS, []).append(said["wording"])


def _longest_first(items: list[pytest.Item]) -> None:
    """Files with a page or a browser first, then those with slow tests: no worker is left alone with them at the end."""
    rank: dict[str, int] = {}
    for item in items:
        needs = ("server", "browser"), ("slow",)
        mine = next((k for k, marks in enumerate(needs) if any(map(item.get_closest_marker, marks))), len(needs))
        rank[str(item.path)] = min(mine, rank.get(str(item.path), len(needs)))
    items.sort(key=lambda item: rank[str(item.path)])
