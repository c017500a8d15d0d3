"""Connections that have not shown a key: they are timed, and they make room for others."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn

from accredit.web.app import application, guard
from accredit.web.connections import STRANGERS, Connection
from accredit.web.server import listening
from accredit.web.worker import Worker

KEY = "the-key-of-this-test"
ASK = "GET /api/about HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {key}\r\n\r\n"


class Hasty(Connection):
    header_seconds = 0.2


@asynccontextmanager
async def served(door: type[Connection]) -> AsyncIterator[int]:
    """The real routes behind the real gate and doors; no model is needed to be told about it."""
    with listening(0) as bound:
        port = bound.getsockname()[1]
        app = guard(application(Worker()), KEY, port)
        kept = {"timeout_keep_alive": 60}  # seconds: on a busy machine five may pass between two requests of a test
        server = uvicorn.Server(uvicorn.Config(app, http=door, log_level="error", lifespan="off", ws="none", **kept))
        serving = asyncio.ensure_future(server.serve(sockets=[bound]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield port
        finally:
            server.should_exit = server.force_exit = True
            await serving


async def asked(port: int, key: str = KEY) -> bytes:
    """The first line of the answer to a request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(ASK.format(port=port, key=key).encode())
    line = await asyncio.wait_for(reader.readline(), 30)
    writer.close()
    return line


@pytest.mark.server
@pytest.mark.parametrize("half", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: x\r\n"])
def test_headers_that_do_not_arrive_are_not_waited_for(half):
    async def late() -> tuple[bytes, bytes]:
        async with served(Hasty) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(half)
            answer = await asyncio.wait_for(reader.read(), 30)  # to the end: the server closes
            return answer, await asked(port)

    answer, after = asyncio.run(late())
    assert answer.startswith(b"HTTP/1.1 408") and after.startswith(b"HTTP/1.1 200")


async def _all_until_lost(reader: asyncio.StreamReader) -> bytes:
    """What was sent before the end; a server that closes while bytes arrive resets the connection."""
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while part := await reader.read(1000):
            said += part
    return said


@pytest.mark.server
def test_a_byte_now_and_then_does_not_begin_the_time_anew():
    async def dripping() -> bytes:
        async with served(Hasty) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            reading = asyncio.ensure_future(_all_until_lost(reader))
            for byte in b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"y" * 10_000:
                if reading.done() or writer.transport.is_closing():
                    break
                writer.write(bytes([byte]))
                await asyncio.sleep(0.02)
            return await asyncio.wait_for(reading, 30)

    assert asyncio.run(dripping()).startswith(b"HTTP/1.1 408")


@pytest.mark.server
def test_sockets_without_a_key_make_room_for_whoever_has_one():
    """More than there are places for strangers: the oldest go, those that have shown the key stay."""

    async def crowded() -> tuple[bytes, bytes, int]:
        async with served(Connection) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(ASK.format(port=port, key=KEY).encode())
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
            strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(STRANGERS + 40)]
            for stranger in strangers[::2]:
                stranger.sendall(b"GET / HTTP/1.1\r\nhost:")
            fresh = await asked(port)
            writer.write(ASK.format(port=port, key=KEY).encode())
            kept = await asyncio.wait_for(reader.readuntil(b"HTTP/1.1 200"), 30)
            closed = 0
            for stranger in strangers:
                stranger.setblocking(False)
                try:
                    closed += stranger.recv(1) == b""
                except BlockingIOError:
                    pass
                except ConnectionResetError:
                    closed += 1
                stranger.close()
            writer.close()
            return fresh, kept, closed

    fresh, kept, closed = asyncio.run(crowded())
    assert fresh.startswith(b"HTTP/1.1 200") and kept.endswith(b"HTTP/1.1 200") and 40 <= closed < STRANGERS


@pytest.mark.server
def test_a_stranger_who_asks_for_the_page_is_answered():
    async def answers() -> bytes:
        async with served(Connection) as port:
            return await asked(port, "wrong")

    assert asyncio.run(answers()).startswith(b"HTTP/1.1 403")
