"""The real server under load and under attack: the line, cancelling, killing, fuzzing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from accredit.web.app import application
from accredit.web.jobs import PLACES, Crowded, Jobs
from accredit.web.requests import ExplainRequest
from accredit.web.worker import Worker, WorkerFailed
from tests.browsing import WAIT
from tests.web import quick_process
from tests.wording import refused, says

ROOT = Path(__file__).parents[2]
SHORT = {"text": "A good film.", "methods": ["leave-one-out"]}
LONG = {"text": " ".join(f"word{k}" for k in range(24)), "methods": ["shapley", "banzhaf", "owen"], "budget": 20_000}
EXAMPLES = int(os.environ.get("ACCREDIT_FUZZ", "12"))  # generated requests an operation


def events(client: httpx.Client, asked: dict[str, Any], path: str = "/api/explain") -> list[dict[str, Any]]:
    answer = client.post(path, json=asked)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


class Watched:
    """A request in the background, and its last event."""

    def __init__(self, client: httpx.Client, asked: dict[str, Any]) -> None:
        self.last: dict[str, Any] = {}
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(client, asked))

    def _watch(self, client: httpx.Client, asked: dict[str, Any]) -> None:
        with client.stream("POST", "/api/explain", json=asked) as answer:
            for line in answer.iter_lines():
                self.last = json.loads(line)
                self._begun.set()

    def __enter__(self) -> Watched:
        self._thread.start()
        assert self._begun.wait(WAIT / 1000)
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(WAIT / 1000)
        assert not self._thread.is_alive()


def test_results_come_method_by_method(server):
    with server.client() as client:
        seen = events(client, {**SHORT, "methods": ["shapley", "leave-one-out", "flow"]})
    kinds = [event["event"] for event in seen]
    assert kinds.count("result") == 3 and kinds[-1] == "done"
    assert [event["done"] for event in seen if event["event"] == "result"] == [1, 2, 3]
    assert seen[-1]["page"].startswith("<!doctype html>")
    result = json.loads(seen[-1]["json"])
    assert result["methods"] == ["shapley", "leave-one-out", "flow"] and not result["refused"]


def test_only_what_changed_is_sent_again(server):
    with server.client() as client:
        first, second, third = (
            e for e in events(client, {**SHORT, "methods": ["leave-one-out", "attention", "rollout"]}) if e["event"] == "result"
        )
    assert set(first["blocks"]) == set(first["order"])
    for event in (second, third):
        assert set(event["blocks"]) < set(event["order"]) and "inspector" not in event["blocks"]
    assert [name for name in third["order"] if name.startswith("method")] == [
        "method leave-one-out",
        "method attention",
        "method rollout",
    ]


def test_bad_requests_are_answered_in_words(server):
    with server.client() as client:
        answer = client.post("/api/explain", json={**SHORT, "methods": ["banana"]})
        assert answer.status_code == 422
        assert says(answer.json()["problem"], "explain an output")
        assert events(client, {"text": ""})[-1]["event"] == "failed"
        assert "label" in events(client, {**SHORT, "target": "MAYBE"})[-1]["problem"]
        assert "picture" in events(client, {"image": "bm90IGEgcGljdHVyZQ==", "methods": ["leave-one-out"]})[-1]["problem"]
        assert "layer" in events(client, {"text": "A film.", "layer": 99}, "/api/flow")[-1]["problem"]
        assert client.post("/api/explain", json={"text": "x" * 20_001}).status_code == 422
        assert client.post("/api/explain", json={"text": "x", "methods": []}).status_code == 422
        assert client.post("/api/explain", content=b'{"text": "\\ud800"}').status_code in (200, 422)
        assert events(client, SHORT)[-1]["event"] == "done"


def test_the_flow_says_how_far_it_is_determined(server):
    with server.client() as client:
        for rule in ("barrier", "l2", "shapley"):
            seen = events(client, {"text": "A good film.", "rule": rule, "layer": 1, "residual": 0.2}, "/api/flow")
            assert seen[-1]["event"] == "done" and says(seen[-2]["html"], "all maximum flows")


def test_sixty_four_at_once_are_all_served(server):
    limits = httpx.Limits(max_connections=PLACES)
    server.worker()  # nothing of an earlier test is left in the line
    with server.client(limits=limits) as client, ThreadPoolExecutor(PLACES) as crowd:
        ends = list(crowd.map(lambda _: events(client, SHORT)[-1]["event"], range(PLACES)))
    assert ends == ["done"] * PLACES


def test_past_the_last_place_a_request_is_asked_to_come_back():
    app = application(Worker())  # its line is not served here, so that it stays full
    page = TestClient(app)
    jobs = [app.state.jobs.submit({"task": "explain"}) for _ in range(PLACES)]
    answer = page.post("/api/explain", json=SHORT)
    assert answer.status_code == 429 and int(answer.headers["retry-after"]) > 0 and answer.json()["problem"]
    assert page.post("/api/flow", json={"text": "A film."}).status_code == 429
    assert page.post("/api/game", json={"players": ["a"], "payoffs": [0, 1]}).status_code == 200
    app.state.jobs.leave(jobs[3])
    app.state.jobs.submit({"task": "explain"})
    with pytest.raises(Crowded):
        app.state.jobs.submit({"task": "explain"})


def test_the_death_of_the_worker_ends_one_request_and_no_more(server):
    with server.client() as client, server.client() as other, server.paused() as before:
        with Watched(client, SHORT) as doomed:
            os.kill(before, signal.SIGKILL)
        assert doomed.last["event"] == "failed" and "try once more" in doomed.last["problem"]
        assert events(other, SHORT)[-1]["event"] == "done"
        assert server.worker() != before


@pytest.mark.slow
@pytest.mark.processes
def test_clocks_start_with_the_work_and_what_takes_too_long_is_stopped_and_the_next_task_runs(monkeypatch):
    """Warming up is for when nobody waits: here it never ends, and each of its steps takes longer than a request may."""
    monkeypatch.setattr("accredit.web.worker.PROCESS", quick_process.__name__)
    monkeypatch.setattr("accredit.web.worker.STOP_SECONDS", 0.1)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    limit = quick_process.STEP_SECONDS / 2

    async def four() -> list[str]:
        seen: list[str] = []
        worker, nobody = Worker(), asyncio.Event()

        async def ask(text: str) -> None:
            await worker.run(task(SHORT | {"text": text}), lambda event: seen.append(event["event"]), nobody, limit)

        try:
            await ask("A film.")
            before = worker.pid
            with refused("failed", kind=WorkerFailed):
                await ask(quick_process.STEP_BY_STEP)
            assert worker.pid == before is not None  # it stopped when it was asked to
            with refused("failed", kind=WorkerFailed):
                await ask(quick_process.FOR_EVER)
            assert worker.pid is None
            await ask("A film.")
        finally:
            await worker.stop()
        return [event for event in seen if event != "progress"]

    assert asyncio.run(four()) == ["loading", "begun", "done", "begun", "begun", "loading", "begun", "done"]


def test_no_fault_of_one_request_ends_the_line(capfd):
    """A worker that cannot be started at all, once: the system has no process left, say."""

    class Unlucky(Worker):
        tries = 0

        async def run(self, task: Any, emit: Any, stop: Any, seconds: float) -> None:
            self.tries += 1
            if self.tries == 1:
                raise OSError(f"[Errno 24] Too many open files: '{__file__}'")
            emit({"event": "done"})

        async def ready(self) -> None:
            """No model is needed here."""

    async def asked_twice() -> list[Any]:
        jobs = Jobs(Unlucky())
        working = asyncio.ensure_future(jobs.work())
        ends = []
        for _ in range(2):
            job = jobs.submit({"task": "explain"})
            seen = []
            while (event := await asyncio.wait_for(job.events.get(), WAIT / 1000)) is not None:
                seen.append(event)
            ends.append(seen[-1])
        working.cancel()
        return ends

    failed, done = asyncio.run(asked_twice())
    assert failed["event"] == "failed" and says(failed["problem"], "open files: 'test_serving.py'")
    assert done["event"] == "done" and "OSError" in capfd.readouterr().err


def task(asked: dict[str, Any]) -> dict[str, Any]:
    return {"task": "explain", **ExplainRequest(**asked).model_dump()}


def test_the_benchmark_runs(server):
    from benchmarks.serve import first_colours, soak

    with server.client() as client:
        assert first_colours(client, 1)["first_colours_s"] > 0
        figures = soak(client, server.process.pid, 2.0)
    assert figures["wrong"] == 0 and figures["requests"] >= 3 and figures["memory_end_mb"] > 50


def test_going_away_frees_the_worker(server):
    with server.client() as client, server.client() as other, server.paused() as before:
        with client.stream("POST", "/api/explain", json=SHORT) as answer:
            next(answer.iter_lines())  # it has its place, and the worker stands still
        assert events(other, SHORT)[-1]["event"] == "done"
        assert server.worker() != before


def test_cancelling_never_costs_a_load_of_the_model(server):
    """Whoever goes away in the middle of any method leaves the same process to the next one."""
    before = server.worker()
    methods = ["shapley", "banzhaf", "owen", "integrated-gradients", "flow"]
    with server.client() as client:
        for wait, method in enumerate(methods):
            asked = {**LONG, "methods": [method]}
            with client.stream("POST", "/api/explain", json=asked) as answer:
                lines = answer.iter_lines()
                for _ in range(1 + wait % 3):  # at another moment each time
                    next(lines)
    assert server.worker() == before


def test_an_answer_that_nobody_waits_for_ends_where_it_is(server):
    """The benchmark of answers, once through: words, credit, leaving in the middle, and the death of the process."""
    from benchmarks.serve import Planted, soak_answers

    dogs = tuple(f"{name} owns a dog ." for name in ("Anna", "Clara", "David", "Emma", "Felix"))
    with server.client() as client:
        planted = Planted("What does Boris do ?", "Boris works as a baker .", dogs)
        figures = soak_answers(client, server.process.pid, 0.0, planted, many=6)
    assert figures["wrong"] == 0 and figures["requests"] == 6
    assert 0 < figures["four_text_s"] < figures["four_credit_s"] < figures["four_end_s"]


def test_it_listens_on_loopback_only(server):
    port = int(server.base.rpartition(":")[2])
    socket.create_connection(("127.0.0.1", port)).close()
    # 127.0.0.2 is this machine too, and only a server on all interfaces would answer there
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", port), timeout=5).close()


def test_256_idle_connections_leave_room(server):
    port = int(server.base.rpartition(":")[2])
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(256)]
    try:
        with server.client() as client:
            assert events(client, SHORT)[-1]["event"] == "done"
    finally:
        for connection in idle:
            connection.close()


def test_no_generated_request_makes_the_server_fail(server):
    """Requests from the OpenAPI description, well-formed and not: never a 5xx, and the server answers afterwards."""
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed: pip install 'accredit[test]'")
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st
    from schemathesis import GenerationMode

    schema = schemathesis.openapi.from_dict(application(Worker()).openapi())
    operations = [operation.ok() for operation in schema.get_all_operations()]
    assert len(operations) >= 9
    with server.client() as client:
        for operation in operations:
            cases = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in GenerationMode))

            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=cases)
            def fuzz(case: Any) -> None:
                sent = case.as_transport_kwargs(base_url=server.base)
                sent = {k: v for k, v in sent.items() if k in ("method", "url", "json", "data", "params", "headers")}
                sent["content"] = sent.pop("data", None)
                headers = {k: v for k, v in (sent.pop("headers", None) or {}).items() if k.lower() not in ("cookie", "host")}
                try:
                    answer = client.request(headers=headers, **sent)
                except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeEncodeError, ValueError):
                    return  # cannot even be sent
                assert answer.status_code < 500

            fuzz()
        assert events(client, SHORT)[-1]["event"] == "done"
