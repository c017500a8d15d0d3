"""The one process that holds the model, seen from the server: start it, give it a task, read its events, replace it.

The model may crash, hang or eat all memory; then only this process ends, and a fresh one takes its place. Both sides speak
JSON, one object per line, over the process's standard input and output.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from accredit.errors import AccreditError

PROCESS = "accredit.web.model_process"  # the module that it runs
LINE_LIMIT = 256 << 20  # bytes of one event
STOP_SECONDS = 5.0  # that a task may at least take to notice that nobody waits for it; or as long as loading took
LOAD_SECONDS = 300.0
LESS = "ask for fewer methods or a shorter text, or give it more time: accredit serve --seconds"
DIED = "the model's process ended in the middle of this; a new one is started, so try once more"

Event = dict[str, Any]


class WorkerFailed(AccreditError):
    """The model's process died, was too slow, or could not be started."""

    usual = "failed"


class Worker:
    """A process that runs one task at a time."""

    def __init__(self, models: tuple[str, ...] = (), explainers: tuple[str, ...] = ()) -> None:
        self.models = models  # folders or names; none: the built-in ones
        self.explainers = explainers  # folders
        self.about: Event = {}  # what the process said of its models when it was ready
        self._process: asyncio.subprocess.Process | None = None
        self._load_seconds: float | None = None  # that loading took, the last time
        self._number = 0  # of the task that runs, so that no cancellation reaches another one
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.returncode is None else None

    async def ready(self) -> None:
        """Start the process if there is none, and wait until its models are loaded."""
        async with self._starting:
            if self.pid is not None:
                return
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                PROCESS,
                json.dumps([self.models, self.explainers]),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LINE_LIMIT,
                start_new_session=True,  # the server handles interrupts from the terminal
            )
            began = asyncio.get_running_loop().time()
            try:
                first = await asyncio.wait_for(self._read(), LOAD_SECONDS)
            except TimeoutError:
                await self.stop()
                raise WorkerFailed(f"the model was not loaded within {LOAD_SECONDS:.0f} s") from None
            if first is None or first["event"] != "ready":
                await self.stop()
                raise WorkerFailed("the model's process ended before it was ready" if first is None else first["problem"])
            self.about = first["models"]
            self._load_seconds = asyncio.get_running_loop().time() - began

    async def run(self, task: Event, emit: Callable[[Event], None], stop: asyncio.Event, seconds: float) -> None:
        """Run a task; its events go to `emit`. Ends early and silently once `stop` is set."""
        stopping = asyncio.ensure_future(stop.wait())
        try:
            if self.pid is None or self._starting.locked():  # it may already be on its way, after a crash
                emit({"event": "loading", "seconds": self._load_seconds})
            loading = asyncio.ensure_future(self.ready())
            await asyncio.wait({loading, stopping}, return_when=asyncio.FIRST_COMPLETED)
            await loading  # a process that is nearly ready is left to get there: the next task needs it
            if stop.is_set():
                return
            self._number += 1
            await self._write({**task, "number": self._number, "seconds": seconds})
            await self._follow(emit, stopping, seconds)
        finally:
            stopping.cancel()

    async def _follow(self, emit: Callable[[Event], None], stopping: asyncio.Future[Any], seconds: float) -> None:
        """Pass events on. The clock of a task starts when the process takes it up."""
        loop = asyncio.get_running_loop()
        until = loop.time() + LOAD_SECONDS
        reading = asyncio.ensure_future(self._read())
        try:
            while True:
                await asyncio.wait({reading, stopping}, timeout=until - loop.time(), return_when=asyncio.FIRST_COMPLETED)
                if reading.done():
                    event = reading.result()
                    if event is None:
                        raise WorkerFailed(DIED)
                    if event["event"] == "idle":
                        return
                    if event["event"] == "begun":
                        until = loop.time() + seconds
                    if not stopping.done():
                        emit(event)
                    reading = asyncio.ensure_future(self._read())
                elif stopping.done():
                    await self._give_up(reading)
                    return
                else:
                    await self._give_up(reading)
                    raise WorkerFailed(f"this took longer than {seconds:g} s and was stopped; {LESS}")
        finally:
            reading.cancel()

    async def _give_up(self, reading: asyncio.Future[Event | None]) -> None:
        """Ask the process to stop where it is; one that takes longer than a new one would to load is replaced."""
        await self._write({"task": "cancel", "number": self._number})
        until = asyncio.get_running_loop().time() + max(STOP_SECONDS, self._load_seconds or 0.0)
        while True:
            await asyncio.wait({reading}, timeout=until - asyncio.get_running_loop().time())
            if not reading.done():
                await self.stop()
                return
            event = reading.result()
            if event is None or event["event"] == "idle":
                return
            reading = asyncio.ensure_future(self._read())

    async def stop(self) -> None:
        """End the process at once."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def _write(self, message: Event) -> None:
        assert self._process is not None and self._process.stdin is not None
        with suppress(BrokenPipeError, ConnectionResetError):  # the end of its output says the same
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()

    async def _read(self) -> Event | None:
        """The next event, or None when the process has ended."""
        assert self._process is not None and self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line.endswith(b"\n"):
            await self._process.wait()
            return None
        event: Event = json.loads(line)
        return event
