"""Requests for the model wait in one line of bounded length, and each gets its events as they happen."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TypedDict

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from accredit.errors import AccreditError
from accredit.web.model_process import reason
from accredit.web.worker import Event, Worker

PLACES = 64  # requests inside, the running one among them
SECONDS = 120.0  # for one request, from the moment it runs
RETRY_SECONDS = 5


class Crowded(Exception):
    """Every place is taken."""


class PageJob:
    """One request: its events as they come, and whether anybody still wants them."""

    def __init__(self, task: Event) -> None:
        self.task = task
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()  # None: the last one was sent
        self.stop = asyncio.Event()


class Limits(TypedDict, total=False):
    """How many may wait, and how long one may take."""

    places: int
    seconds: float


class Jobs:
    """First come, first served, by one worker."""

    def __init__(self, worker: Worker, places: int = PLACES, seconds: float = SECONDS) -> None:
        self.worker, self.places, self.seconds = worker, places, seconds
        self.waiting: deque[PageJob] = deque()
        self.running: PageJob | None = None
        self._arrived = asyncio.Event()
        self._reviving: asyncio.Future[None] | None = None

    def submit(self, task: Event) -> PageJob:
        """A place in the line, or `Crowded`."""
        if len(self.waiting) + (self.running is not None) >= self.places:
            raise Crowded
        job = PageJob(task)
        self.waiting.append(job)
        self._report_places()
        self._arrived.set()
        return job

    def leave(self, job: PageJob) -> None:
        """Nobody waits for this job any more."""
        job.stop.set()
        if job in self.waiting:
            self.waiting.remove(job)
            self._report_places()

    async def work(self) -> None:
        """Serve the line, for as long as the server lives."""
        while True:
            self._arrived.clear()
            while self.waiting:
                self.running = self.waiting.popleft()
                self._report_places()
                await self._serve(self.running)
                self.running = None
                if self.worker.pid is None:  # the next request should not wait for the model to be loaded again
                    self._reviving = asyncio.ensure_future(self._revive())
            await self._arrived.wait()

    async def _serve(self, job: PageJob) -> None:
        try:
            await self.worker.run(job.task, job.events.put_nowait, job.stop, self.seconds)
        except AccreditError as error:
            job.events.put_nowait({"event": "failed", "problem": str(error)})
        except Exception as error:  # a fault in one request must not end the line for all that follow
            sys.excepthook(type(error), error, error.__traceback__)
            job.events.put_nowait({"event": "failed", "problem": f"the model's process cannot be used: {reason(error)}"})
            await self.worker.stop()
        job.events.put_nowait(None)

    async def _revive(self) -> None:
        with suppress(AccreditError, OSError):  # the next request reports it
            await self.worker.ready()

    def _report_places(self) -> None:
        ahead = int(self.running is not None)
        for place, job in enumerate(self.waiting):
            job.events.put_nowait({"event": "queued", "ahead": ahead + place})


class Stream(Response):
    """The events of a job as lines of JSON. When the reader goes away, so does the job."""

    media_type = "application/x-ndjson"

    def __init__(self, job: PageJob, leave: Callable[[PageJob], None]) -> None:
        super().__init__()
        self.job, self.leave = job, leave
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(_disconnect(receive))
        sending = asyncio.ensure_future(self._send(send))
        try:
            await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.leave(self.job)
            gone.cancel()
            if not sending.done():
                sending.cancel()
        await asyncio.gather(gone, sending, return_exceptions=True)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        while (event := await self.job.events.get()) is not None:
            await send({"type": "http.response.body", "body": json.dumps(event).encode() + b"\n", "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
