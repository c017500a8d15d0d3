"""The page under load: first colours, a full line, sockets that never finish, and a soak that watches memory and the model.

    python -m benchmarks.serve --minutes 10

Starts `accredit serve` itself with the built-in model. Ends with one JSON line.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=10)
    asked = parser.parse_args()
    process, address = start()
    try:
        with client(address) as opened:
            figures = {"bench": "serve", "load_average": round(os.getloadavg()[0], 1)}
            figures |= first_colours(opened, asked.rounds) | crowd(opened) | beside_strangers(opened, address)
            with strangers(address):
                figures |= soak(opened, process.pid, 60 * asked.minutes)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
    record(figures)


if __name__ == "__main__":
    main()
