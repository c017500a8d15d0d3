"""A valuation started from the page: the command itself runs, its journal is watched, it can be stopped, it leaves nothing."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import accredit.web
from accredit.web.app import application
from accredit.web.requests import RunRequest
from accredit.web.worker import Worker
from tests.browsing import WAIT
from tests.killed import left_behind
from tests.wording import says

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'accredit[data]'")
pytestmark = [pytest.mark.slow, pytest.mark.processes]

FILMS = "text,label\n" + "".join(
    f"a {word} film number {k},{label}\n" for k in range(20) for word, label in (("gripping", "good"), ("dull", "bad"))
)


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server without a model; what it writes down lies in a folder of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with TestClient(application(Worker())) as opened:
        yield opened
    assert list(tmp_path.iterdir()) == []  # the end of the server is the end of its runs


def asked(**other: Any) -> dict[str, Any]:
    return {"table": FILMS, "name": "films.csv", "target": "label", "text": "text", "method": "knn-shapley"} | other


def until(client: Any, holds: Any) -> dict[str, Any]:
    """What the data view is told, once this is true of it."""
    end = time.monotonic() + WAIT / 1000
    while time.monotonic() < end:
        news = client.get("/api/data").json()
        if holds(news):
            return dict(news)
        time.sleep(0.1)
    raise AssertionError("waited in vain")


def ended(news: dict[str, Any]) -> bool:
    return bool(news["run"]["how"] != "running")


def test_a_run_is_watched_to_its_end_and_a_fault_is_said_in_words_of_the_page(client):
    assert client.get("/api/data").status_code == 404  # nothing to watch yet
    assert client.post("/api/run", json=asked()).json()["run"]["how"] == "running"
    news = until(client, ended)
    assert news["run"] == {"name": "films.csv", "budget": None, "lines": 41, "how": "finished", "problem": "", "progress": None}
    assert says(news["html"], "Which labels are") and says(news["html"], "gripping film number")
    assert len(client.get("/api/values.csv").text.splitlines()) == 31  # three quarters of the rows are valued
    client.post("/api/run", json=asked(target="shoe"))
    news = until(client, ended)
    assert news["run"]["how"] == "failed" and "shoe" in news["run"]["problem"]
    assert "/" not in news["run"]["problem"] and "--target" not in news["run"]["problem"]


NUMBERS = "a,y\n" + "".join(f"{k % 7},{k}.5\n" for k in range(40))
WORDS = "a,b,y\n" + "".join(f"a film of many words {k},{k % 3},{'xy'[k % 2]}\n" for k in range(40))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("a,y\n", "write at least one below the names of the columns"),
        (WORDS, "name it with “Column of texts”, or leave it out"),
        ("a,y\n" + "".join(f"{k % 3},c{k}\n" for k in range(40)), "and “Its kind: number”"),
    ],
)
def test_a_table_that_cannot_be_valued_ends_in_a_next_step_that_the_form_has(client, table, said):
    client.post("/api/run", json=asked(table=table, target="y", text=None))
    news = until(client, ended)
    assert news["run"]["how"] == "failed" and said in news["run"]["problem"] and "--" not in news["run"]["problem"]


def test_the_form_and_the_command_are_quoted_by_the_names_that_they_have():
    from accredit.cli.command import spell
    from accredit.cli.value import value
    from accredit.web.runs import ELSEWHERE, FIELDS

    form = Path(accredit.web.__file__).with_name("static").joinpath("index.html").read_text(encoding="utf-8")
    assert all(f"<label>{label} <" in form for label in FIELDS.values())
    assert set(FIELDS) <= set(RunRequest.model_fields)
    options = spell(value)
    assert {name: options[name] for name in ELSEWHERE} == ELSEWHERE and all(options[name] == f"--{name}" for name in FIELDS)


def test_the_kind_of_a_column_is_chosen_and_the_rest_says_how_many_rows_test_them(client):
    numbers = asked(table=NUMBERS, target="y", text=None)
    client.post("/api/run", json=numbers)
    news = until(client, ended)
    assert says(news["html"], "no better than by their median") and "--task" not in news["html"]
    client.post("/api/run", json=asked(table=FILMS, task="class"))
    assert says(until(client, ended)["html"], "valued without training")
    client.post("/api/run", json=asked(table=FILMS, task="number"))
    assert until(client, ended)["run"]["how"] == "failed"


def test_a_run_is_cancelled_and_what_it_trained_stays(client):
    client.post("/api/run", json=asked(method="shapley", model="ridge", budget=20_000))
    until(client, lambda news: news.get("payoffs", 0) > 0)
    assert client.delete("/api/run").json()["run"]["how"] == "cancelled"
    news = client.get("/api/data").json()
    assert news["payoffs"] > 0 and "cancelled" in news["html"]
    assert client.delete("/api/run").json() == {"run": None}  # put away
    assert client.get("/api/data").status_code == 404


SERVES = """
import asyncio, json, sys, tempfile
from accredit.web.requests import RunRequest
from accredit.web.runs import Runs
from accredit.web.worker import Worker
async def main():
    tempfile.tempdir = "."
    runs, worker = Runs(), Worker()
    await runs.start(RunRequest(**json.loads(sys.argv[1])))
    loading = asyncio.ensure_future(worker.ready())
    while worker.pid is None:
        await asyncio.sleep(0.01)
    print(runs._process.pid, worker.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


def test_the_run_and_the_process_of_the_model_end_with_a_server_that_is_killed(tmp_path):
    run = json.dumps(asked(method="shapley", model="ridge", budget=20_000))
    assert left_behind(SERVES, run, folder=tmp_path) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "films.exe"}, "is not a file that this page reads"),
        ({"table": "  "}, "films.csv is empty"),
        ({"method": "magic"}, "'magic'"),
        ({"model": "/home/ada/model"}, "model"),
        ({"budget": 10**9}, "budget"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_starts(client, change, said):
    refused = client.post("/api/run", json=asked(**change))
    assert refused.status_code == 422 and said in refused.json()["problem"]
    assert client.delete("/api/run").json() == {"run": None}
