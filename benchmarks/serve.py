"""The page under load: first colours, a full line, sockets that never finish, and a soak that watches memory and the model.

    python -m benchmarks.serve --minutes 10
    python -m benchmarks.serve --minutes 10 --model FOLDER

Starts `accredit serve` itself with the built-in model; or with a language model, whose answers are then asked for, left in the
middle and interrupted by the death of its process. Ends with one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.record import record

EXAMPLE = "A gripping, beautifully shot film that never lands."
PLACES = 64
STRANGERS = 1100
FACTS = ["Anna has the job of Boris .", "Clara owns a dog .", "Boris works as a baker ."]
WARM_SHARE = 0.2  # of the soak that is not yet counted: caches and allocators settle


def start(*options: str) -> tuple[subprocess.Popen[str], str]:
    """A server on a free port, and its address with the key."""
    process = subprocess.Popen(
        [sys.executable, "-m", "accredit", "serve", "--port", "0", *options], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if found := re.search(r"(http://\S+/\?token=)\S+\n.*key: (\S+)\)", said):
            return process, found[1] + found[2]
    raise SystemExit("the server did not start")


@contextmanager
def client(address: str) -> Iterator[httpx.Client]:
    """A client that holds the key."""
    limits = httpx.Limits(max_connections=400)
    base, _, key = address.partition("/?token=")
    headers = {"authorization": f"Bearer {key}"}
    with httpx.Client(base_url=base, timeout=300, limits=limits, headers=headers) as opened:
        opened.get("/api/about").raise_for_status()
        yield opened


def explain(opened: httpx.Client, text: str, methods: list[str] | None) -> tuple[float, float, str]:
    """Seconds to the first colours, seconds to the end, and how it ended."""
    began, first, last = time.perf_counter(), float("nan"), ""
    with opened.stream("POST", "/api/explain", json={"text": text, "methods": methods}) as answer:
        if answer.status_code != 200:
            return first, time.perf_counter() - began, str(answer.status_code)
        for line in answer.iter_lines():
            last = json.loads(line)["event"]
            if last == "result" and np.isnan(first):
                first = time.perf_counter() - began
    return first, time.perf_counter() - began, last


def resident(process: int) -> float:
    """Megabytes in memory of a process and its children."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6 + sum(resident(int(child)) for child in children)


def first_colours(opened: httpx.Client, rounds: int) -> dict[str, Any]:
    times = np.array([explain(opened, EXAMPLE, None)[:2] for _ in range(rounds)])
    first, whole = np.median(times, axis=0)
    return {
        "first_colours_s": round(first, 3),
        "first_colours_worst_s": round(times[:, 0].max(), 3),
        "six_methods_s": round(whole, 3),
    }


def crowd(opened: httpx.Client) -> dict[str, Any]:
    """Everybody at once, a few more than there are places."""
    with ThreadPoolExecutor(PLACES + 8) as people:
        ends = list(people.map(lambda _: explain(opened, EXAMPLE, ["leave-one-out"])[2], range(PLACES + 8)))
    return {
        "crowd": PLACES + 8,
        "crowd_done": ends.count("done"),
        "crowd_429": ends.count("429"),
        "crowd_other": sum(end not in ("done", "429") for end in ends),
    }


@contextmanager
def strangers(address: str, count: int = STRANGERS) -> Iterator[None]:
    """Sockets without a key: half of them silent, half with half a request."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, count + 200), hard), hard))
    port = int(address.split(":")[2].split("/")[0])
    held = []
    for k in range(count):
        held.append(socket.create_connection(("127.0.0.1", port)))
        if k % 2:
            with suppress(OSError):  # it was closed already, to make room
                held[-1].sendall(b"GET / HTTP/1.1\r\nhost: 127")
    try:
        yield
    finally:
        for connection in held:
            connection.close()


def beside_strangers(opened: httpx.Client, address: str) -> dict[str, Any]:
    with strangers(address):
        began = time.perf_counter()
        end = explain(opened, EXAMPLE, ["leave-one-out"])[2]
        took = time.perf_counter() - began
        fresh = httpx.get(address.partition("/?")[0], timeout=60).status_code
    return {"strangers": STRANGERS, "beside_them": end, "beside_them_s": round(took, 2), "new_connection": fresh}


def cancelled(opened: httpx.Client, text: str) -> bool:
    """A request that is left in the middle of its work."""
    asked = {"text": f"{text} " * 3, "methods": ["shapley"], "budget": 20_000}
    with opened.stream("POST", "/api/explain", json=asked) as answer:
        next(answer.iter_lines())
        return bool(answer.status_code == 200)


def worker_of(process: int) -> str:
    return Path(f"/proc/{process}/task/{process}/children").read_text().strip()


def soak(opened: httpx.Client, process: int, seconds: float) -> dict[str, Any]:
    """Requests of every kind, one after another; memory at the end against memory once warm, and whether the model stayed."""
    rng = np.random.default_rng(0)
    words = [*EXAMPLE.rstrip(".").split(), "dull", "brilliant", "but", "slow", "and", "sadly", "long"]
    began, memory, wrong, count, model = time.monotonic(), [], 0, 0, worker_of(process)
    while (elapsed := time.monotonic() - began) < seconds:
        text, other = (" ".join(rng.choice(words, rng.integers(3, 9))) for _ in range(2))
        wrong += explain(opened, text, None)[2] != "done"
        streams = {
            "/api/flow": {"text": text, "residual": float(rng.random() * 0.9)},
            "/api/what-if": {"text": text, "changed": other, "method": "leave-one-out"},
            "/api/answer": {"context": FACTS, "query": "What does Anna do ?"},
        }
        for path, asked in streams.items():
            wrong += '"event": "done"' not in opened.post(path, json=asked).text
        game = opened.post("/api/game", json={"players": ["a", "b", "c"], "payoffs": rng.random(8).tolist()})
        wrong += game.status_code != 200
        wrong += not cancelled(opened, text)
        wrong += opened.post("/api/explain", json={"image": "bm8=", "methods": ["flow"]}).text.count("failed") != 1
        count += 7
        memory.append((elapsed, resident(process)))
    times, sizes = np.array(memory).T
    warm = np.median(sizes[times >= min(WARM_SHARE * seconds, times[-1])][:10])
    half, end = np.median(sizes[len(sizes) // 2 :][:10]), np.median(sizes[-10:])
    return {
        "soak_s": round(seconds),
        "requests": count,
        "wrong": wrong,
        "memory_warm_mb": round(float(warm), 1),
        "memory_half_mb": round(float(half), 1),
        "memory_end_mb": round(float(end), 1),
        "growth": round(float(end / warm - 1), 4),
        "model_stayed": worker_of(process) == model,
    }


@dataclass(frozen=True)
class Answered:
    """Seconds after which something of an answer was there; NaN: it never was."""

    begun: float
    text: float
    credit: float
    end: float
    last: str  # how it ended

    @property
    def figures(self) -> dict[str, Any]:
        return {f"{name}_s": round(getattr(self, name), 2) for name in ("text", "credit", "end")}


@dataclass(frozen=True)
class Planted:
    """A question, the fact that answers it, and facts that do not."""

    question: str
    fact: str
    others: tuple[str, ...]

    def among(self, count: int) -> dict[str, Any]:
        """What is asked about so many passages, the fact in their middle."""
        half = (count - 1) // 2
        return {"context": [*self.others[:half], self.fact, *self.others[half : count - 1]], "query": self.question}


TOWNS = [f"{a}{b}" for a in ("Or", "Tam", "Ul", "Vik", "Sel", "Bra") for b in ("sund", "holm", "borg", "dal", "nes", "vik")]
MAYOR = Planted(
    "Who is the mayor of Drusk?",
    "Pellworth is the mayor of Drusk.",
    tuple(f"The museum in {name} has {rooms} rooms and one garden." for rooms, name in enumerate(TOWNS, 8)),
)


def ask_answer(opened: httpx.Client, asked: dict[str, Any], patience: float | None = None) -> Answered:
    """Ask for an answer; with `patience`, leave when nothing was heard for so long, wherever the model is then."""
    began, seen, last = time.perf_counter(), dict[str, float](), ""
    limits = httpx.Timeout(600, read=patience) if patience else httpx.Timeout(600)
    with (
        suppress(httpx.ReadTimeout),
        opened.stream("POST", "/api/answer", json=asked, timeout=limits) as answer,
    ):
        for line in answer.iter_lines():
            last = str(json.loads(line)["event"])
            seen.setdefault(last, time.perf_counter() - began)
    return Answered(*(seen.get(name, float("nan")) for name in ("begun", "text", "result")), time.perf_counter() - began, last)


def until_begun(opened: httpx.Client) -> float:
    """Seconds until the model's process takes up a next request."""
    began = time.perf_counter()
    with opened.stream("POST", "/api/flow", json={"text": "A film"}) as answer:
        for line in answer.iter_lines():
            if json.loads(line)["event"] == "begun":
                break
    return time.perf_counter() - began


def soak_answers(
    opened: httpx.Client, process: int, seconds: float, planted: Planted = MAYOR, many: int = 30
) -> dict[str, Any]:
    """Answers about four and about many passages, some left in the middle, and now and then the death of the process."""
    rng = np.random.default_rng(0)
    few, more = ask_answer(opened, planted.among(4)), ask_answer(opened, planted.among(many))
    figures = {f"four_{name}": x for name, x in few.figures.items()} | {f"many_{name}": x for name, x in more.figures.items()}
    wrong = [each.last for each in (few, more)].count("failed")
    began, count, freed, restarts, memory = time.monotonic(), 2, list[float](), list[float](), list[float]()
    while time.monotonic() - began < seconds or not restarts:
        ask_answer(opened, planted.among(many), float(rng.uniform(0.2, 2.0)))
        freed.append(until_begun(opened))
        memory.append(resident(process))
        os.kill(int(worker_of(process)), signal.SIGKILL)
        restarts.append(until_begun(opened))
        wrong += ask_answer(opened, planted.among(4)).last != "done"
        count += 4
    return figures | {
        "requests": count,
        "wrong": wrong,
        "freed_worst_s": round(max(freed), 2),
        "restart_worst_s": round(max(restarts), 2),
        "memory_mb": round(max(memory)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--model", help="a folder with a language model")
    asked = parser.parse_args()
    process, address = start(*(("--model", asked.model, "--seconds", "600") if asked.model else ()))
    try:
        with client(address) as opened:
            figures = {"bench": "serve answers" if asked.model else "serve", "load_average": round(os.getloadavg()[0], 1)}
            if asked.model:
                figures |= {"model": Path(asked.model).name} | soak_answers(opened, process.pid, 60 * asked.minutes)
            else:
                figures |= first_colours(opened, asked.rounds) | crowd(opened) | beside_strangers(opened, address)
                with strangers(address):
                    figures |= soak(opened, process.pid, 60 * asked.minutes)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
    record(figures)


if __name__ == "__main__":
    main()
