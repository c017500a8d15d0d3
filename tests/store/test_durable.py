from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store_games import Breaks, Sizes, Traced, TwoTargets, Wide

from accredit.core.coalitions import from_index
from accredit.errors import InvalidInput
from accredit.games import FunctionGame
from accredit.store import ExecutorError, Journal, Quarantined, durable
from accredit.store.executors import Processes, Serial, crew_of, fresh_processes, submit_to
from accredit.store.schedule import Schedule
from accredit.store.workers import WorkerLost, workers
from accredit.values import shapley
from accredit.values.orders import Permutations
from tests.killed import left_behind
from tests.wording import reads, refused

ALL = from_index(np.arange(16), 4)
EVERYBODY = np.ones((1, 4), dtype=bool)
PROCESSES = pytest.param("processes:2", marks=pytest.mark.processes)


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["serial", "threads:2", PROCESSES])
def test_every_executor_gives_the_payoffs_of_the_game(executor: str) -> None:
    with durable(Sizes(), executor=executor) as game:
        np.testing.assert_array_equal(game.payoff(ALL), Sizes().payoff(ALL))
        np.testing.assert_array_equal(game.payoff(ALL[::-1]), Sizes().payoff(ALL[::-1]))
        assert (game.evaluated, game.recalled) == (16, 16)


def test_any_object_with_submit_is_an_executor() -> None:
    class Inline:
        def submit(self, function: Any, /, *arguments: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(function(*arguments))
            return future

    with ThreadPoolExecutor(2) as pool:
        for executor in (Inline(), pool):
            with durable(Sizes(), executor=executor) as game:
                np.testing.assert_array_equal(game.payoff(ALL), Sizes().payoff(ALL))


@pytest.mark.parametrize("word", ["fibres", "threads:x", "processes:0", 3])
def test_an_unknown_executor_is_refused(word: Any) -> None:
    with pytest.raises(InvalidInput):
        crew_of(word)


def test_a_second_run_pays_for_nothing_and_solvers_do_not_notice(tmp_path: Path) -> None:
    solver = Permutations(orders=40, seed=3)
    plain = solver.solve(Wide())
    for expected in (True, False):
        with Journal(tmp_path / "run.db") as journal, durable(Wide(), journal, "serial") as game:
            assert solver.solve(game) == plain
            assert (game.evaluated > 0) == expected
    with Journal(tmp_path / "run.db") as journal, durable(Wide(), journal, "serial") as game:
        shapley(game, budget=400, seed=1)  # another estimator, the same journal
        assert game.recalled > 0


def test_outputs_of_every_target_come_from_the_same_training(tmp_path: Path) -> None:
    for _ in range(2):
        with Journal(tmp_path / "run.db") as journal, durable(TwoTargets(), journal, "serial") as game:
            payoffs, outputs = game.retrain(ALL)
            np.testing.assert_array_equal(payoffs, Sizes().payoff(ALL))
            np.testing.assert_array_equal(outputs, TwoTargets().retrain(ALL)[1])
    assert game.evaluated == 0


@pytest.mark.slow
@pytest.mark.parametrize("how", ["raise", "nan"])
@pytest.mark.parametrize("executor", ["serial", PROCESSES])
def test_a_coalition_that_keeps_failing_is_quarantined_and_the_rest_is_kept(tmp_path: Path, how: str, executor: str) -> None:
    tries = tmp_path / "tries"
    tries.mkdir()
    with (
        Journal(tmp_path / "run.db") as journal,
        durable(Breaks(str(tries), how), journal, executor, retries=2) as game,
    ):
        with refused("failed", kind=Quarantined):
            game.payoff(ALL)
        counts = journal.games()[0]
        assert (counts["ok"], counts["quarantined"], counts["failed"]) == (15, 1, 0)
        bad = [entry for _, entry in journal.entries(1) if entry.status == "quarantined"]
        assert [(entry.coalition, entry.value, entry.attempts) for entry in bad] == [(b"\x0f", None, 3)]
        np.testing.assert_array_equal(game.payoff(ALL[:-1]), Sizes().payoff(ALL[:-1]))


def test_a_passing_failure_is_retried_and_never_becomes_zero(tmp_path: Path) -> None:
    with durable(Breaks(str(tmp_path), "nan", cured_after=2), executor="serial", retries=2) as game:
        np.testing.assert_array_equal(game.payoff(EVERYBODY), [16.0])


def test_a_quarantined_coalition_gets_another_chance_in_the_next_run(tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    tries.mkdir()
    broken = Breaks(str(tries), "raise", cured_after=3)
    with Journal(tmp_path / "run.db") as journal:
        name = {"game": "cured later"}
        with durable(broken, journal, "serial", name=name) as game, pytest.raises(Quarantined):
            game.payoff(EVERYBODY)
        with durable(broken, journal, "serial", name=name) as game:
            np.testing.assert_array_equal(game.payoff(EVERYBODY), [16.0])


def test_the_payoff_of_a_failed_coalition_can_be_stated(tmp_path: Path) -> None:
    with durable(Breaks(str(tmp_path), "raise"), executor="serial", failed=-1.0, retries=0) as game:
        assert game.payoff(np.vstack([EVERYBODY, ~EVERYBODY])).tolist() == [-1.0, 0.0]
        assert reads(list(game.quarantined.values()))
        game.payoff(EVERYBODY)
    assert len(list(tmp_path.iterdir())) == 1  # tried once; then it is known
    with pytest.raises(InvalidInput, match="failed"):
        durable(Sizes(), failed=float("nan"))


@pytest.mark.slow
@pytest.mark.processes
def test_a_coalition_that_kills_its_worker_is_found_and_the_others_survive(tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    tries.mkdir()
    with Journal(tmp_path / "run.db") as journal:
        deadly = durable(Breaks(str(tries), "die"), journal, "processes:2", retries=1)
        with deadly as game, refused("failed", kind=Quarantined):
            game.payoff(ALL)
        counts = journal.games()[0]
        assert (counts["ok"], counts["quarantined"]) == (15, 1)


class Dying:
    """A pool whose worker has just died, and whose own thread closes what `submit` is about to send."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def submit(self, function: Any, /, *arguments: Any) -> Future[Any]:
        raise self.error

    def shutdown(self, **options: Any) -> None: ...


CLOSED = OSError("handle is closed")


@pytest.mark.parametrize("error", [CLOSED, OSError(9, "Bad file descriptor"), ValueError("bad fds_to_keep")], ids=str)
def test_a_pool_that_dies_while_it_is_given_work_is_not_taken_for_a_game_that_cannot_travel(error: Exception) -> None:
    pool: Any = Dying(error)
    with pytest.raises(BrokenProcessPool, match="could not start another process"):
        submit_to(pool, abs, -1, game=Sizes())
    with refused("unsupported", "game", has="to worker processes"):
        submit_to(pool, abs, -1, game=FunctionGame(("a", "b"), lambda coalitions: coalitions.sum(axis=1)))


@pytest.mark.slow
@pytest.mark.processes
def test_a_pool_that_dies_while_it_is_given_work_is_rebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    pools: list[Any] = [Dying(CLOSED), Dying(CLOSED)]
    monkeypatch.setattr(
        "accredit.store.executors.fresh_processes", lambda *a, **k: pools.pop() if pools else fresh_processes(*a, **k)
    )
    with durable(Sizes(), executor="processes:1") as game:
        np.testing.assert_array_equal(game.payoff(ALL), Sizes().payoff(ALL))
    assert not pools


def test_rows_sent_to_a_pool_that_dies_are_reported_as_those_of_a_lost_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accredit.store.executors.fresh_processes", lambda count: nullcontext(Dying(CLOSED)))
    with refused("failed", kind=WorkerLost), workers("processes:1") as submit:
        assert submit is not None
        submit(abs, -1)


@pytest.mark.processes
@pytest.mark.slow
def test_a_killed_worker_costs_nothing_but_time(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    game = Traced(str(trace), held=True)
    coalitions = from_index(np.arange(300), 10)
    crew = Processes(2)
    crew.start(game)
    killer = threading.Thread(target=game.kill_held)
    killer.start()
    values: dict[int, float] = {}
    for part in Schedule(crew, coalitions):
        assert not part.problems
        values.update(zip(part.rows, part.values, strict=True))
    killer.join()
    crew.close()
    assert [values[row] for row in range(300)] == (coalitions.sum(axis=1) ** 2.0).tolist()
    assert len({file.name.split("-")[1] for file in trace.iterdir()}) >= 2  # others did what the killed one could not


@pytest.mark.processes
def test_a_users_broken_pool_is_reported_and_what_is_done_is_kept(tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    tries.mkdir()
    pool: Executor = ProcessPoolExecutor(1)
    with Journal(tmp_path / "run.db") as journal, durable(Breaks(str(tries), "die"), journal, pool) as game:
        game.payoff(ALL[:8])
        with pytest.raises(ExecutorError, match=r"ProcessPoolExecutor died.*new executor"):
            game.payoff(EVERYBODY)
        assert journal.games()[0]["ok"] == 8
    pool.shutdown()


@pytest.mark.processes
def test_a_game_that_cannot_travel_is_refused_in_words() -> None:
    local = FunctionGame(("a", "b"), lambda coalitions: coalitions.sum(axis=1))
    with (
        durable(local, executor="processes:1") as game,
        refused("unsupported", "game", has="use executor='threads'"),
    ):
        game.payoff(np.ones((1, 2), dtype=bool))


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    class Interrupted(Sizes):
        def payoff(self, coalitions: Any) -> Any:
            if coalitions.all(axis=1).any():
                raise KeyboardInterrupt
            return super().payoff(coalitions)

    with Journal(tmp_path / "run.db") as journal:
        with durable(Interrupted(), journal, "serial", name={"game": 1}) as game, pytest.raises(KeyboardInterrupt):
            game.payoff(ALL)
        assert 0 < journal.games()[0]["ok"] < 16


def test_batches_follow_the_cost_and_the_window_is_bounded() -> None:
    under_way: Counter[str] = Counter()
    sizes: list[int] = []

    class Watched:
        width = 3
        least = 1

        def __init__(self) -> None:
            self.futures: list[tuple[Future[Any], Any]] = []

        def start(self, game: Any) -> None: ...

        def submit(self, coalitions: Any) -> Future[Any]:
            from accredit.store.executors import BatchResult

            sizes.append(len(coalitions))
            under_way["now"] += 1
            under_way["most"] = max(under_way["most"], under_way["now"])
            future: Future[Any] = Future()

            def finish() -> None:
                under_way["now"] -= 1
                future.set_result(BatchResult(np.zeros(len(coalitions)), None, 0.01 * len(coalitions), {}))

            threading.Timer(0.002, finish).start()
            return future

        def lost(self) -> None: ...

        def rebuild(self) -> None: ...

        def close(self) -> None: ...

    parts = list(Schedule(Watched(), np.zeros((500, 4), dtype=bool)))
    assert sorted(row for part in parts for row in part.rows) == list(range(500))
    assert under_way["most"] <= 6  # two tasks a worker
    assert max(sizes) == 10  # 0.1 s at 0.01 s a coalition


def test_crews_lost_one_after_another_end_in_an_error() -> None:
    class Hopeless:
        width = 2
        least = 1

        def start(self, game: Any) -> None: ...

        def submit(self, coalitions: Any) -> Future[Any]:
            raise RuntimeError("no more room")

        def lost(self) -> None: ...

        def rebuild(self) -> None: ...

        def close(self) -> None: ...

    with refused("failed", kind=ExecutorError):
        list(Schedule(Hopeless(), np.zeros((5, 4), dtype=bool)))


@pytest.mark.slow
def test_two_runs_side_by_side_share_one_journal(tmp_path: Path) -> None:
    """Both ask for everything at the same time; both get everything, and the file holds each payoff once."""
    results: list[Any] = []

    def run() -> None:
        with (
            Journal(tmp_path / "run.db") as journal,
            durable(Wide(0.0002), journal, "serial", name={"game": "w"}) as game,
        ):
            results.append(Permutations(orders=60, seed=3).solve(game))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [Permutations(orders=60, seed=3).solve(Wide())] * 2
    with Journal(tmp_path / "run.db") as journal:
        journal.check()
        entries = [entry.coalition for _, entry in journal.entries(1)]
        assert len(entries) == len(set(entries))


def test_where_processes_share_no_locks_the_default_stays_here_and_asking_for_them_is_refused(monkeypatch) -> None:
    monkeypatch.setattr("accredit.store.executors.processes_can_run", lambda: False)
    assert isinstance(crew_of(None), Serial)
    with durable(Sizes(), executor="processes:2") as game, pytest.raises(ExecutorError, match="executor='serial'"):
        game.payoff(EVERYBODY)


WAITS = """
import os, time
from accredit.store.executors import fresh_processes
if __name__ == "__main__":
    with fresh_processes(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.processes
def test_idle_worker_processes_end_with_a_program_that_is_killed() -> None:
    assert left_behind(WAITS) == []


def test_a_crew_that_was_lost_without_a_word_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A future that its owner has forgotten is never done; who waits must not wait for ever."""
    monkeypatch.setattr("accredit.store.schedule.LOOK_SECONDS", 0.01)

    class Forgetful(Serial):
        forgets = True

        def submit(self, coalitions: Any) -> Future[Any]:
            return Future() if self.forgets else super().submit(coalitions)

        def lost(self) -> Exception | None:  # type: ignore[override]
            return ConnectionError("the scheduler is gone") if self.forgets else None

        def rebuild(self) -> None:
            self.forgets = False

    crew = Forgetful()
    crew.start(Sizes())
    found = [worth for batch in Schedule(crew, np.eye(4, dtype=bool)) for worth in batch.values.tolist()]
    assert found == [1.0, 1.0, 1.0, 1.0]
