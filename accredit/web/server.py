"""From the command to a running server: bind, load, announce the address, serve."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Unpack

from accredit.checks import needs

if TYPE_CHECKING:
    from accredit.web.jobs import Jobs, Limits

HOST = "127.0.0.1"
CONNECTIONS = 1024
FIRST_SECONDS = 5.0  # that the address waits for a first answer of the built-in model
BACKLOG = 64  # connections accepted at once, so that strangers are turned away before files run out


async def serve(
    models: tuple[str, ...],
    explainers: tuple[str, ...],
    store: str | None,
    port: int,
    announce: Callable[[str, str], None],
    **limits: Unpack[Limits],
) -> None:
    """Serve the page until interrupted. Once it answers, `announce` is given an address that opens it once, and the key."""
    with needs("serve", "accredit serve"):
        import fastapi  # noqa: F401
        import uvicorn
    from accredit.web.app import application, guard
    from accredit.web.connections import Connection
    from accredit.web.worker import Worker

    with listening(port) as bound:
        chosen: int = bound.getsockname()[1]
        worker = Worker(models, explainers)
        try:
            await worker.ready()
            secret, ticket = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
            app = application(worker, store, **limits)
            config = uvicorn.Config(
                guard(app, secret, chosen, ticket),
                http=Connection,
                log_level="error",
                access_log=False,
                server_header=False,
                ws="none",
                backlog=BACKLOG,
                limit_concurrency=CONNECTIONS,
                timeout_graceful_shutdown=2,
            )
            server = uvicorn.Server(config)
            serving = asyncio.ensure_future(server.serve(sockets=[bound]))
            while not server.started and not serving.done():
                await asyncio.sleep(0.02)
            if server.started:
                await first_question(app.state.jobs)
                announce(f"http://{HOST}:{chosen}/?token={ticket}", secret)
            await serving
        finally:
            await worker.stop()


async def first_question(jobs: Jobs) -> None:
    """Asks the built-in model what a visitor is answered first, before anybody can: nobody's first click pays for an import."""
    from accredit.web.tasks import FIRST, WARM_UP

    if not jobs.worker.about.get("builtin"):
        return
    job = jobs.submit({**WARM_UP, "methods": [FIRST]})
    with suppress(TimeoutError):
        async with asyncio.timeout(FIRST_SECONDS):
            while await job.events.get() is not None:
                pass


def listening(port: int) -> socket.socket:
    """A socket on the loopback interface only; port 0 takes a free one."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((HOST, port))
    except OSError as error:
        bound.close()
        raise OSError(f"port {port} of {HOST} cannot be used ({error.strerror}); name another with --port, or 0") from None
    return bound
