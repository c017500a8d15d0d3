"""Who may ask, and how much: the gate before every route.

A server on a loopback port can be reached by every page that the browser has open, and by every name that resolves to
127.0.0.1. So a request must name this host, come from this page, and carry the secret that only the printed address holds.
"""

from __future__ import annotations

import asyncio
import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 8 << 20  # bytes
BODY_SECONDS = 30.0
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Refused(Exception):
    """A request that goes no further: its status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Gate:
    """Lets through what carries the secret and stays within bounds; everything else learns nothing but why not."""

    def __init__(self, app: ASGIApp, secret: str, port: int, body_limit: int = BODY_LIMIT) -> None:
        self.app = app
        self.secret = secret
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.cookie = f"accredit_{port}"  # a browser keeps one jar for all ports of a host
        self.body_limit = body_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        guarded = _with_headers(send)
        try:
            entering = self._check(scope)
            body = await asyncio.wait_for(self._body(scope, receive), BODY_SECONDS)
        except Refused as refusal:
            await PlainTextResponse(f"{refusal}\n", refusal.status)(scope, receive, guarded)
        except TimeoutError:
            await PlainTextResponse("the request did not arrive in time\n", 408)(scope, receive, guarded)
        else:
            await self.app(
                scope, _replayed(body, receive), _with_cookie(guarded, self._set_cookie()) if entering else guarded
            )

    def _check(self, scope: Scope) -> bool:
        """Whether this request brings the secret in its address, and so is given the cookie."""
        headers = Headers(scope=scope)
        if headers.get("host") not in self.hosts:
            raise Refused(403, "this server answers only to 127.0.0.1 and localhost")
        origin = headers.get("origin")
        if origin is not None and origin.removeprefix("http://") not in self.hosts:
            raise Refused(403, "requests from other pages are refused")
        if scope["method"] not in ("GET", "HEAD") and headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise Refused(403, "requests from other pages are refused")
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["path"] == "/" and self._is_secret(query.get("token", [""])[0]):
            return True
        if not self._is_secret(self._from_cookie(headers.get("cookie", ""))):
            raise Refused(403, "open the address that `accredit serve` printed: it holds the key to this page")
        return False

    def _from_cookie(self, header: str) -> str:
        try:
            morsel = SimpleCookie(header).get(self.cookie)
        except CookieError:
            return ""
        return "" if morsel is None else morsel.value

    def _is_secret(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.secret.encode())

    def _set_cookie(self) -> str:
        return f"{self.cookie}={self.secret}; Path=/; HttpOnly; SameSite=Strict"

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, refused by its announced length before a byte is read, and by its true length after."""
        too_long = Refused(413, f"the request is longer than {self.body_limit:,} bytes")
        announced = Headers(scope=scope).get("content-length", "0")
        if not announced.isdecimal() or int(announced) > self.body_limit:
            raise too_long
        body, more = bytearray(), True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.body_limit:
                raise too_long
        return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once, then whatever comes after it: the news that the client has gone."""
    first = True

    async def replay() -> Message:
        nonlocal first
        if first:
            first = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay


def _with_headers(send: Send) -> Send:
    async def headed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return headed


def _with_cookie(send: Send, cookie: str) -> Send:
    async def given(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).append("set-cookie", cookie)
        await send(message)

    return given
