"""Connections before they have shown a key: headers must arrive in time, and who waits without a key makes room.

A socket costs its opener nothing, so a thousand half-sent requests would otherwise keep everybody else out.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

HEADER_SECONDS = 10.0  # from the first byte of a request, or from the connection, to the end of its headers
STRANGERS = 128  # connections without a key; one more, and the oldest of them is closed
LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Connection(H11Protocol):
    """One connection. `scope["state"]["door"]` leads from a request back to it."""

    header_seconds = HEADER_SECONDS

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any], **more: Any) -> None:
        super().__init__(config, server_state, {**app_state, "door": self}, **more)
        self.known = False  # it has shown the key
        self.since = self.loop.time()
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        others = [door for door in cast("set[Connection]", self.connections) if door.stranger]
        if len(others) > STRANGERS:
            min(others, key=lambda door: door.since).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.answering:
            self._stop_waiting()
        elif self._waiting is None:  # a byte now and then does not begin the time anew
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def stranger(self) -> bool:
        """Open, and without a key so far."""
        return not self.known and not self.transport.is_closing()

    @property
    def answering(self) -> bool:
        """The headers of a request have arrived, and its answer has not been sent yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.header_seconds, self._late)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _late(self) -> None:
        self._waiting = None
        if not self.answering and not self.transport.is_closing():
            self.transport.write(LATE)
            self.transport.close()
