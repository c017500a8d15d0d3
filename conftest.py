"""What holds for every test and every docstring example: fixed examples, marks by what a test needs, any order."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from hypothesis import settings

from accredit.store.executors import processes_can_run
from tests import undertaker
from tests.batches import cut_into

PAGE = "tests/web/"
# Threads that wait for work give their core away: with several of them in every worker, spinning made tests ten times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# shap, a peer in tests, compiles for seconds what then runs for milliseconds.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

settings.register_profile("accredit", deadline=None, derandomize=True, database=None)
settings.load_profile("accredit")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order, the same for a seed")
    parser.addoption("--batches", type=int, metavar="ROWS", help="put this many inputs into each pass of a model")


def pytest_configure(config: pytest.Config) -> None:
    undertaker.watch_over_this_process()
    if config.option.batches is not None:
        cut_into(config.option.batches)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of one file stay together, and so do all tests of the page: one worker starts one server for them."""
    from xdist.scheduler import LoadScopeScheduling

    class ByPlace(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return PAGE if file.startswith(PAGE) else file

    return ByPlace(config, log) if config.getvalue("dist") == "loadscope" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that ask for a running page or a browser are marked so; `-m` and `--shuffle` see all of them."""
    for item in items:
        for need in {"server", "browser"}.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(need)
        if item.get_closest_marker("processes") and not processes_can_run():
            item.add_marker(
                pytest.mark.skip(reason="worker processes cannot share locks: there is no /dev/shm to write in")
            )
        if config.option.batches is not None and item.get_closest_marker("passes"):
            item.add_marker(pytest.mark.skip(reason="states how many inputs go into one pass, which --batches changes"))
    if config.option.shuffle is not None:
        random.Random(config.option.shuffle).shuffle(items)
    else:
        _longest_first(items)


def _longest_first(items: list[pytest.Item]) -> None:
    """Files with a page or a browser first, then those with slow tests: no worker is left alone with them at the end."""
    rank: dict[str, int] = {}
    for item in items:
        needs = ("server", "browser"), ("slow",)
        mine = next((k for k, marks in enumerate(needs) if any(map(item.get_closest_marker, marks))), len(needs))
        rank[str(item.path)] = min(mine, rank.get(str(item.path), len(needs)))
    items.sort(key=lambda item: rank[str(item.path)])
