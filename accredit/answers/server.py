"""A server that speaks the OpenAI protocol: what is sent, when it is sent again, and what is said when it does not answer.

The key comes from an environment variable at the moment of sending and goes into one header. It is in no setting, result,
journal or message; where a server repeats it in an error, it is blotted out, and a text that holds it is refused. Redirections
are not followed, because the key would travel with them.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Any, final
from urllib.parse import urlsplit

from accredit.errors import AccreditError, Code, InvalidInput

MOST_REPLY_BYTES = 64 << 20  # of one reply
LONGEST_REPLY = 10.0  # times the seconds of silence that are allowed: a reply that comes drop by drop never ends
LONGEST_WAIT = 120.0  # seconds that a server may ask to wait before its request is sent again
FIRST_WAIT, WAIT_FACTOR = 0.5, 2.0  # seconds before the first repetition, and by how much each further one is longer
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})  # replies after which the same request may succeed
SAID_LENGTH = 200  # characters of a server's own words in a message
LEAST_KEY = 8  # characters of a key that no text may hold; servers that ask for none are given such as "EMPTY"
ADVICE = {
    400: "the server does not take this request",
    401: "set the environment variable {variable} to a key that it accepts",
    402: "the account has no credit left",
    403: "the key in {variable} may not use this model",
    404: "check the URL (it usually ends in /v1) and the name of the model",
    413: "give less context",
    422: "the server does not take this request",
}


class ServerError(AccreditError):
    """A server did not answer, or not as it was asked.

    >>> Server("http://127.0.0.1:9/v1", "KEY", timeout=1, retries=0).post("completions", {})
    Traceback (most recent call last):
        ...
    accredit.answers.server.ServerError: http://127.0.0.1:9/v1/completions cannot be reached: ...
    """


@final
@dataclass(frozen=True)
class Passing:
    """A failure that may pass: what happened, and how long the server asks to wait."""

    what: str
    wait: float | None = None


@final
@dataclass(eq=False)
class Server:
    """Requests to one server, from any number of threads. A failure that will not pass ends them all."""

    url: str
    key_variable: str
    timeout: float = 60.0  # seconds without a word from the server
    retries: int = 5
    per_minute: int | None = None  # requests
    sent: int = 0
    repeated: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _not_before: float = 0.0  # the clock at which the next request may go
    _ended: ServerError | None = None
    _stopped: threading.Event = field(default_factory=threading.Event, repr=False)
    _open: set[http.client.HTTPConnection] = field(default_factory=set, repr=False)

    def begin(self) -> None:
        """Ask again after a failure, or after `stop`: what was wrong may have been put right."""
        self._ended = None
        self._stopped.clear()

    def stop(self) -> None:
        """End what is under way in other threads, whether it waits for a reply or for its turn."""
        self._stopped.set()
        for connection in [*self._open]:
            _hang_up(connection)

    def post(self, path: str, body: dict[str, object], *, optional: bool = False) -> dict[str, Any]:
        """The reply to a request, which is sent again while its failures may pass. A path that begins with a slash stands
        beside the API, not in it; where it is `optional`, a server that does not have it is asked other things afterwards."""
        return self._ask("POST", path, json.dumps(body).encode(), optional)

    def get(self, path: str, *, optional: bool = False) -> dict[str, Any]:
        return self._ask("GET", path, None, optional)

    def _ask(self, verb: str, path: str, body: bytes | None, optional: bool) -> dict[str, Any]:
        place = f"{self.url.removesuffix('/v1')}{path}" if path.startswith("/") else f"{self.url}/{path}"
        failure = Passing("was not asked")
        for attempt in range(self.retries + 1):
            if self._ended is not None:
                raise self._ended
            self._wait_for_turn()
            reply = self._send(verb, place, body, optional)
            if not isinstance(reply, Passing):
                return reply
            failure = reply
            if attempt < self.retries:
                self._pause(place, failure, attempt)
        tried = f" ({self.retries + 1} times)" if self.retries else ""
        raise self._end(f"{place} {failure.what}{tried}; see whether the server runs, and run again", "unavailable")

    def _wait_for_turn(self) -> None:
        """Wait until the server may be asked: after a pause that it has asked for, and not more often than allowed."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._not_before)
            if self.per_minute is not None:
                self._not_before = turn + 60.0 / self.per_minute
            self.sent += 1
        self._wait(turn - now)

    def _wait(self, seconds: float) -> None:
        if self._stopped.wait(max(seconds, 0.0)):
            raise ServerError(f"{self.url} is not asked any more: the run was stopped", code="unavailable")

    def _pause(self, place: str, failure: Passing, attempt: int) -> None:
        """Wait as long as the server asks, else longer each time; other threads wait, too, where the server has asked for
        it."""
        self.repeated += 1
        if failure.wait is None:
            self._wait(FIRST_WAIT * WAIT_FACTOR**attempt * (1 + random.random()) / 2)
            return
        if failure.wait > LONGEST_WAIT:
            raise self._end(
                f"{place} {failure.what} and asks to wait {failure.wait:,.0f} s; run again then, with store='FILE' to "
                "keep what is paid for",
                "unavailable",
            )
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + failure.wait)

    def _send(self, verb: str, place: str, body: bytes | None, optional: bool) -> dict[str, Any] | Passing:
        where = urlsplit(place)
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "accredit"}
        if key := self._key():
            headers["Authorization"] = f"Bearer {key}"
        made = http.client.HTTPSConnection if where.scheme == "https" else http.client.HTTPConnection
        connection = made(where.hostname or "", where.port, timeout=self.timeout)
        late = threading.Event()
        watch = threading.Timer(LONGEST_REPLY * self.timeout, _hang_up, (connection, late))
        watch.daemon = True
        self._open.add(connection)
        try:
            connection.connect()
            watch.start()
            connection.request(verb, where.path, body, headers)
            reply = connection.getresponse()
            said = reply.read(MOST_REPLY_BYTES + 1)
        except TimeoutError:
            return Passing(f"did not answer within {self.timeout:g} s")
        except ssl.SSLCertVerificationError as error:
            raise self._end(
                f"{place} has a certificate that cannot be trusted: {error.verify_message}", "unavailable"
            ) from None
        except http.client.HTTPException as error:
            return self._too_slow() if late.is_set() else Passing(f"broke off its reply ({type(error).__name__})")
        except OSError as error:
            return self._too_slow() if late.is_set() else Passing(f"cannot be reached: {error.strerror or error}")
        finally:
            watch.cancel()
            self._open.discard(connection)
            connection.close()
        if late.is_set():
            return self._too_slow()
        if len(said) > MOST_REPLY_BYTES:
            raise self._end(f"{place} replied with more than {MOST_REPLY_BYTES >> 20} MB; ask for less at once", "too-many")
        return self._read(place, reply, said, optional)

    def _too_slow(self) -> Passing:
        return Passing(f"had not sent its whole reply after {LONGEST_REPLY * self.timeout:g} s")

    def _read(self, place: str, reply: http.client.HTTPResponse, said: bytes, optional: bool) -> dict[str, Any] | Passing:
        status = reply.status
        if status in PASSING:
            wait = _seconds(reply.getheader("Retry-After"))
            return Passing(f"replied {status} {reply.reason}{self._words(said)}", wait)
        try:
            found = json.loads(said) if status == 200 else None
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
        if optional:  # a refusal, the page of a proxy: it does not have this, whatever it says
            raise ServerError(f"{place} replied {status}, and not what was asked for", code="unknown")
        if 300 <= status < 400:
            raise self._end(
                f"{place} points to another address, which is not followed, so that no key goes there; give the URL at which "
                "the server itself answers",
                "unavailable",
            )
        if status == 200:
            return Passing("replied with something that is not a JSON object")
        advice = ADVICE.get(status, "see what the server says").format(variable=self.key_variable)
        error = ServerError(f"{place} replied {status} {reply.reason}{self._words(said)}; {advice}", code=_code(status))
        if status not in (400, 422):  # another request may be fine
            self._ended = error
        raise error

    def _key(self) -> str:
        key = os.environ.get(self.key_variable, "").strip()
        where = urlsplit(self.url)
        if key and where.scheme == "http" and not _is_this_machine(where.hostname or ""):
            raise self._end(
                f"{self.url} is not encrypted, and {self.key_variable} holds a key, which everybody on the way could read; "
                f"write https://, or unset {self.key_variable}",
                "unsafe",
            )
        if not key.isascii() or not key.isprintable():
            raise self._end(f"{self.key_variable} holds something that is not a key; set it again", "unreadable")
        return key

    def _words(self, said: bytes) -> str:
        """What the server says about a failure, without the key."""
        text = said[: 64 * SAID_LENGTH].decode("utf-8", "replace")
        try:
            found = json.loads(text)
            told = found.get("error", found) if isinstance(found, dict) else found
            text = str(told.get("message", told)) if isinstance(told, dict) else str(told)
        except (ValueError, RecursionError):
            pass
        text = " ".join(self.blot(text).split())
        return f": {text[:SAID_LENGTH]}" if text.isprintable() and text else ""

    def blot(self, text: str) -> str:
        """A text without the key."""
        key = os.environ.get(self.key_variable, "").strip()
        return text.replace(key, "[key]") if key else text

    def check_keyless(self, what: str, argument: str, *texts: str) -> None:
        """Refuse texts that hold the key: they would stand in results, journals and pages."""
        key = os.environ.get(self.key_variable, "").strip()
        if len(key) >= LEAST_KEY and any(key in text for text in texts):
            raise ServerError(
                f"{what} holds the key that is in {self.key_variable}, and would be kept with it; take it out, or set "
                f"{self.key_variable} to another key",
                argument=argument,
                code="unsafe",
            )

    def _end(self, said: str, code: Code) -> ServerError:
        """An error after which nothing more is sent."""
        self._ended = ServerError(said, code=code)
        return self._ended


def _code(status: int) -> Code:
    """The kind of a refusal: "unsupported" is that of this request, and another form of it may be taken."""
    if status in (401, 403):
        return "missing"
    if status in (404, 405, 501):
        return "unknown"
    return "unsupported" if status in (400, 422) else "too-many" if status == 413 else "unavailable"


def _hang_up(connection: http.client.HTTPConnection, late: threading.Event | None = None) -> None:
    """End a reply, whatever it is doing; `late` says that it took too long."""
    if late is not None:
        late.set()
    with suppress(OSError, AttributeError):  # it may not be connected yet
        connection.sock.shutdown(socket.SHUT_RDWR)


def _seconds(header: str | None) -> float | None:
    """How long to wait, from a number of seconds or a date.

    >>> _seconds("2"), _seconds("soon"), _seconds("Wed, 21 Oct 2015 07:28:00 GMT")
    (2.0, None, 0.0)
    """
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def check_url(url: str) -> str:
    """The address of a server, without its last slash; refused where it holds a key or is not one.

    >>> check_url("http://127.0.0.1:8000/v1/")
    'http://127.0.0.1:8000/v1'
    """
    try:
        where = urlsplit(url)
        fine = where.scheme in ("http", "https") and bool(where.hostname) and (where.port is None or where.port > 0)
    except ValueError:
        fine = False
    if not fine or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidInput(
            f"url is {url!r:.60}; give the address of a server, for example http://127.0.0.1:8000/v1",
            argument="url",
            code="type",
        )
    if where.username or where.password or where.query or where.fragment:
        raise InvalidInput(
            f"url holds more than an address ({where.scheme}://{where.hostname}…); a key comes from an environment variable: "
            "key_variable='NAME'",
            argument="url",
            code="unsafe",
        )
    return url.rstrip("/")


def is_url(model: object) -> bool:
    """Whether a model is named by the address of a server."""
    return isinstance(model, str) and model.lower().startswith(("http://", "https://"))
