"""Who may ask, and how much: the gate before every route.

A server on a loopback port can be reached by every page that the browser has open, and by every name that resolves to
127.0.0.1. So a request must name this host, come from this page, and carry the key that only the terminal shows.

A browser sends the cookies of 127.0.0.1 to every port of it, so a cookie alone must open nothing. The key is therefore given to
the page in two halves: a cookie that no script can read, and a word that the page keeps in its own storage, which belongs to
this port, and sends as a header. Each is useless without the other. The printed address does not hold the key but a ticket that
is exchanged for both halves by a redirect, once: browsers write every address they have opened into their history.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 8 << 20  # bytes
BODY_SECONDS = 30.0
PARTS = 20_000  # names and values of a body, all together: more take seconds to be refused one by one
PAGE = "x-accredit-page"  # the header with the half of the key that the page keeps
ENTER = "/api/enter"  # where the key is exchanged for its halves
NO_KEY = "this page needs the key that accredit serve printed"
STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)', re.DOTALL)  # an open one ends with the text: no search begins twice
KEY_LIMIT = 1000  # bytes of a request that brings the key, which nobody has checked yet
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


class Rejection(Exception):
    """A request that goes no further: its status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Gate:
    """Lets through what carries the key and stays within bounds; everything else learns nothing but why not.

    The files of the page itself are the same for everybody and hold no secret: they ask for the key.
    """

    def __init__(self, app: ASGIApp, secret: str, port: int, ticket: str = "", body_limit: int = BODY_LIMIT) -> None:
        self.app = app
        self.secret = secret
        self.ticket = ticket  # opens the page once; empty: spent
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.name = f"accredit_{port}"  # of the cookie: a browser keeps one jar for all ports of a host
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
            answer: Response | None = await asyncio.wait_for(self._admit(scope, receive), BODY_SECONDS)
        except Rejection as refusal:
            answer = JSONResponse({"problem": str(refusal)}, refusal.status)
        except TimeoutError:
            answer = JSONResponse({"problem": "the request did not arrive in time; try again"}, 408)
        if answer is not None:
            await answer(scope, receive, guarded)
            return
        body = scope.pop("body", b"")
        await self.app(scope, _replay(body, receive), guarded)

    async def _admit(self, scope: Scope, receive: Receive) -> Response | None:
        """What is answered here; None, with the body in `scope`, if the request may go on."""
        headers = Headers(scope=scope)
        self._check_origin(scope, headers)
        asked = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["path"] == "/" and "token" in asked:
            return self._redirect(asked["token"][0])
        if scope["path"] == ENTER and scope["method"] == "POST":
            return self._enter(await self._body(headers, receive, KEY_LIMIT))
        if self._has_key(headers):
            if door := scope.get("state", {}).get("door"):
                door.known = True
        elif scope["path"].startswith("/api/") or scope["method"] not in ("GET", "HEAD"):
            raise Rejection(403, NO_KEY)
        scope["body"] = await self._body(headers, receive, self.body_limit)
        return None

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        if headers.get("host") not in self.hosts:
            raise Rejection(403, "this server answers only to 127.0.0.1 and localhost")
        origin, inside = headers.get("origin"), scope["path"].startswith("/api/")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            raise Rejection(403, "requests from other pages are refused")
        if inside and headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise Rejection(403, "requests from other pages are refused")

    def _redirect(self, given: str) -> Response:
        """To an address without ticket or key. A browser that has the halves already needs neither; others are asked."""
        once = bool(self.ticket) and _same(given, self.ticket)
        if once:
            self.ticket = ""
        if not once and not _same(given, self.secret):
            return RedirectResponse("/?page=", 303)
        return RedirectResponse(f"/?page={self.page_half}", 303, {"set-cookie": self._set_cookie()})

    def _enter(self, body: bytes) -> Response:
        try:
            given = json.loads(body)["key"]
        except (ValueError, TypeError, KeyError):
            given = ""
        if not isinstance(given, str) or not _same(given.strip(), self.secret):
            raise Rejection(403, "that is not the key of this server; accredit serve printed it below the address")
        return JSONResponse({"page": self.page_half}, headers={"set-cookie": self._set_cookie()})

    def _has_key(self, headers: Headers) -> bool:
        """Both halves, as the page sends them; or the whole key, as a program does."""
        whole = headers.get("authorization", "").removeprefix("Bearer ")
        halves = (
            _same(self._from_cookie(headers.get("cookie", "")), self.cookie_half),
            _same(headers.get(PAGE, ""), self.page_half),
        )
        return _same(whole, self.secret) or all(halves)

    @property
    def cookie_half(self) -> str:
        return self._half("cookie")

    @property
    def page_half(self) -> str:
        return self._half("page")

    def _half(self, which: str) -> str:
        return hmac.digest(self.secret.encode(), which.encode(), "sha256").hex()

    def _from_cookie(self, header: str) -> str:
        try:
            morsel = SimpleCookie(header).get(self.name)
        except CookieError:
            return ""
        return "" if morsel is None else morsel.value

    def _set_cookie(self) -> str:
        return f"{self.name}={self.cookie_half}; Path=/api; HttpOnly; SameSite=Strict"

    async def _body(self, headers: Headers, receive: Receive, limit: int) -> bytes:
        """The whole body, refused by its announced length before a byte is read, and by its true length after."""
        too_long = Rejection(413, f"the request is longer than {limit:,} bytes")
        announced = headers.get("content-length", "0")
        if not announced.isdecimal() or int(announced) > limit:
            raise too_long
        body, more = bytearray(), True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > limit:
                raise too_long
        if STRING.sub(b"", body).count(b",") >= PARTS:
            raise Rejection(413, f"the request has more than {PARTS:,} names and values")
        return bytes(body)


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _replay(body: bytes, receive: Receive) -> Receive:
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
