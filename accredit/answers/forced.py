"""Log-probabilities of a given text from a server that states only those of what it writes itself, as llama.cpp's does.

The server's own tokenizer cuts the text. Each token is then *forced*: one new token is asked for after those before it, with a
bias so large that no other can be drawn. llama.cpp states the log-probability of before the bias. A server that states the one
after it would pay every token 0; it is found out by forcing another likely token once, whose log-probability is known.
(A grammar that allows only the answer would need a single request, but the server may then cut the answer into other tokens,
and their log-probabilities add up to less.)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

from accredit.answers.server import Server, ServerError

BIAS = 1e6  # added to the logit of the token that is forced
LISTED = 6  # likely tokens, of which one that can be forced tells what a bias does
SAME = 0.05  # how far two passes over the same tokens may differ, in log-probability

Written = dict[str, Any]


class CannotForce(Exception):
    """The server does not do what forcing needs."""


class NothingStated(CannotForce):
    """A reply holds no log-probability of what was written."""


@final
@dataclass(frozen=True)
class ServerTokens:
    """A text as the server cuts it."""

    ids: list[int]
    pieces: list[str]  # the characters that each token completes
    whole: list[bool]  # whether it ends where a character ends


def server_tokens(server: Server, text: str) -> ServerTokens:
    """The tokens of a text as llama.cpp cuts it."""
    asked = {"content": text, "add_special": True, "parse_special": True, "with_pieces": True}
    try:
        listed = server.post("/tokenize", asked, optional=True).get("tokens")
    except ServerError as error:
        if error.code == "unknown":
            raise CannotForce("it has no /tokenize, which llama.cpp has") from None
        raise
    if not isinstance(listed, list) or not listed or not all(isinstance(one, dict) and "id" in one for one in listed):
        raise CannotForce("its /tokenize is not that of llama.cpp")
    read, ends, whole = b"", [0], []
    for one in listed:
        piece = one.get("piece", "")
        read += bytes(piece) if isinstance(piece, list) else str(piece).encode()  # bytes, where it is part of a character
        known = read.decode("utf-8", "ignore")
        ends.append(len(known))
        whole.append(known.encode() == read)
    written = read.decode("utf-8", "replace")
    return ServerTokens([int(one["id"]) for one in listed], [written[a:b] for a, b in itertools.pairwise(ends)], whole)


def force(post: Callable[[dict[str, object]], Written], before: list[int], token: int) -> float:
    """The log-probability of one token after others."""
    found = _first_written(post({"prompt": before, "logprobs": 1, "logit_bias": [[token, BIAS]]}))
    if found.get("id") != token:
        raise CannotForce("a bias does not force a token")
    return float(found["logprob"])


def check_bias(post: Callable[[dict[str, object]], Written], before: list[int], token: int) -> None:
    """Refuse a server whose log-probabilities are those after the bias, by what it lists beside a forced token.

    Nothing is stated of what is no text by itself, the end or part of a character, so several likely tokens are tried.
    """
    forced = {"prompt": before, "logprobs": LISTED, "logit_bias": [[token, BIAS]]}
    listed = _first_written(post(forced)).get("top_logprobs")
    if not isinstance(listed, list) or not all(isinstance(one, dict) and {"id", "logprob"} <= one.keys() for one in listed):
        raise CannotForce("it does not list likely tokens with their numbers")
    for one in sorted(listed, key=lambda one: -float(one["logprob"])):
        if one["id"] == token:
            continue
        with suppress(NothingStated):
            if abs(force(post, before, int(one["id"])) - float(one["logprob"])) > SAME:
                raise CannotForce("its log-probabilities are those after a bias")
            return
    raise CannotForce("it lists no likely token that it can be made to write")


def _first_written(reply: Written) -> Written:
    """What a reply says of the first token that was written."""
    choices = reply.get("choices")
    held = choices[0].get("logprobs") if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    listed = held.get("content") if isinstance(held, dict) else None
    if not isinstance(listed, list) or not listed or not isinstance(listed[0], dict) or "logprob" not in listed[0]:
        raise NothingStated("it states no log-probability of what it writes")
    return dict(listed[0])
