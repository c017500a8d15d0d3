"""A real local Dask cluster; one of its workers is killed while it works."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import numpy as np
import pytest
from store_games import Traced

from accredit.core.coalitions import from_index
from accredit.store import ExecutorError, Journal, durable
from accredit.store.executors import Dask

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'accredit[cluster]'")


@pytest.mark.processes
@pytest.mark.slow
def test_a_dask_worker_killed_mid_run_loses_nothing(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    game = Traced(str(trace), held=True)
    coalitions = from_index(np.arange(400), 10)
    killed: list[int] = []

    killer = threading.Thread(target=lambda: killed.append(game.kill_held()))
    killer.start()
    with Journal(tmp_path / "run.db") as journal, durable(game, journal, Dask(workers=2)) as run:
        earned = run.payoff(coalitions)
        assert journal.games()[0]["ok"] == 400
    killer.join()
    assert earned.tolist() == (coalitions.sum(axis=1) ** 2.0).tolist()
    assert len(killed) == 1
    assert len({file.name.split("-")[1] for file in trace.iterdir()}) >= 2


@pytest.mark.slow
def test_an_unreachable_cluster_is_an_error_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accredit.store.executors.CONNECT_SECONDS", 0.5)
    why = r"no Dask scheduler answers at tcp://127.0.0.1:9.*dask scheduler"
    nowhere = durable(Traced(str(tmp_path)), executor="dask:tcp://127.0.0.1:9")
    before = logging.getLogger("distributed").level
    with nowhere as game, pytest.raises(ExecutorError, match=why):
        game.payoff(np.ones((1, 10), dtype=bool))
    assert logging.getLogger("distributed").level == before  # a start that failed leaves nothing behind
