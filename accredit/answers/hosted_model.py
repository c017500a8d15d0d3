"""A model behind a server: its settings, when a reply of it says an answer, and the bill of what it has read."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, final

from accredit.answers.server import Server, ServerError, check_url
from accredit.checks.numbers import check_text, real_number, shown, whole_number
from accredit.errors import BadPayoff, InvalidInput

CHARACTERS_PER_TOKEN = 3  # at least, of most languages: for an estimate before the server has counted any
ANSWER_TOKENS = 128  # of a generated answer, and of each sampled reply
Asks = Literal["completions", "chat"]
Match = str | Callable[[str, str], object]
MATCHES = ("contains", "equal")
_NOT_WORDS = re.compile(r"[^\w]+", re.UNICODE)


@final
@dataclass(frozen=True, eq=False)
class HostedModel:
    """A model behind a server that speaks the OpenAI protocol, and what may be spent on it.

    `name` is what the server calls the model; left out, it must serve one only. A key comes from the environment variable
    `key_variable`, and from nowhere else. `asks` is "completions" (log-probabilities of the answer, from the echo of the
    prompt) or "chat": then the answer is asked for `samples` times at `temperature`, and the payoff is the share of replies
    that `match` it: "contains" and "equal" compare words without case and punctuation, a function of (reply, answer) decides
    by itself. A `tokenizer`, or the folder of one, puts messages into its chat template for completions. A run that would read
    more than `most_tokens` is refused before it begins; `price` per million tokens says what it costs. At most `concurrency`
    requests are under way and `per_minute` are sent; one that fails for a time is sent again up to `retries` times.

    >>> HostedModel("http://127.0.0.1:8000/v1", name="smollm2").asks
    'completions'
    """

    url: str
    name: str | None = None
    key_variable: str = "ACCREDIT_API_KEY"
    asks: Asks = "completions"
    samples: int = 16
    temperature: float = 1.0
    match: Match = "contains"
    tokenizer: Any = None
    most_tokens: int = 1_000_000
    price: float | None = None
    concurrency: int = 4
    per_minute: int | None = None
    timeout: float = 60.0
    retries: int = 5
    answer_tokens: int = ANSWER_TOKENS

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", check_url(check_text(self.url, "url")))
        check_text(self.key_variable, "key_variable", empty=False)
        if self.name is not None:
            check_text(self.name, "name", empty=False)
        if self.asks not in ("completions", "chat"):
            raise InvalidInput(f"asks is {self.asks!r:.40}; write 'completions' or 'chat'", argument="asks", code="unknown")
        for count, least in (("samples", 2), ("most_tokens", 1), ("concurrency", 1), ("retries", 0), ("answer_tokens", 1)):
            whole_number(getattr(self, count), count, least, example=max(least, 8))
        if self.per_minute is not None:
            whole_number(self.per_minute, "per_minute", 1, example=60)
        if self.price is not None:
            real_number(self.price, "price", 0)
        real_number(self.temperature, "temperature", 0)
        if real_number(self.timeout, "timeout", 0) == 0:
            raise InvalidInput("timeout is 0; give some seconds, for example 60", argument="timeout", code="range")
        check_match(self.match)

    @cached_property
    def server(self) -> Server:
        made = Server(self.url, self.key_variable, self.timeout, self.retries, self.per_minute)
        made.check_keyless("the url", "url", self.url)
        return made

    @cached_property
    def served(self) -> str:
        """What the server calls the model."""
        if self.name is not None:
            self.server.check_keyless("the name of the model", "name", self.name)
            return self.name
        listed = self.server.get("models").get("data")
        names = [str(one["id"]) for one in listed if isinstance(one, dict) and "id" in one] if isinstance(listed, list) else []
        self.server.check_keyless("what the server calls its models", "name", *names)
        if len(names) == 1:
            return names[0]
        served = f"serves {len(names)} models ({', '.join(names[:8])})" if names else "does not say which models it serves"
        raise InvalidInput(f"{self.url} {served}; name one: name='…'", argument="name", code="missing")

    @cached_property
    def template(self) -> Any:
        """The tokenizer whose chat template writes messages as text; None where there is none."""
        if not isinstance(self.tokenizer, str):
            return self.tokenizer
        from transformers import AutoTokenizer

        try:
            return AutoTokenizer.from_pretrained(self.tokenizer, local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"tokenizer is {self.tokenizer!r:.60}, which cannot be loaded ({' '.join(str(error).split())[:100]}); "
                "give the folder of a Hugging Face tokenizer",
                argument="tokenizer",
                code="unreadable",
            ) from None

    @cached_property
    def writes_chats(self) -> bool:
        """Whether messages can be written as text: by the tokenizer's chat template, else by the server's, as llama.cpp's
        does."""
        if self.template is not None:
            return bool(getattr(self.template, "chat_template", None))
        try:
            return bool(self.server.get("/props", optional=True).get("chat_template"))
        except ServerError as error:
            if error.code == "unknown":
                return False
            raise

    def ask_template(self, messages: list[dict[str, object]]) -> str:
        """Messages as the server's chat template writes them."""
        text = self.server.post("/apply-template", {"messages": messages}).get("prompt")
        if not isinstance(text, str):
            raise ServerError(
                f"{self.url} replied without the prompt that its chat template makes; give the tokenizer: "
                "HostedModel(url, tokenizer='FOLDER')",
                argument="tokenizer",
                code="unsupported",
            )
        return text

    @property
    def title(self) -> str:
        return f"{self.served} at {self.url}"


@final
@dataclass(eq=False)
class Bill:
    """Tokens that a server has read and written, and what it may cost altogether."""

    model: HostedModel
    prompts: int = 0
    requests: int = 0
    tokens: int = 0
    uncounted: int = 0  # replies without a count, which were estimated
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def check(self) -> None:
        """Stop where more was spent than expected: a server may count more tokens than it said at first."""
        if self.tokens > self.model.most_tokens:
            raise ServerError(
                f"the run is stopped after {self.tokens:,} tokens, because most_tokens is {self.model.most_tokens:,}; "
                "allow more "
                "among the settings of the server",
                argument="most_tokens",
                code="too-many",
            )

    def allow(self, prompts: int, each: int) -> None:
        """Refuse what would go beyond the tokens that were agreed to."""
        expected = self.tokens + prompts * each
        if expected <= self.model.most_tokens:
            return
        cost = self.cost(expected)
        raise InvalidInput(
            f"{prompts:,} {'prompt' if prompts == 1 else 'prompts'} of up to {each:,} tokens each come to {expected:,} tokens"
            f"{f' ({cost})' if cost else ''}, and most_tokens is {self.model.most_tokens:,}; allow them with "
            f"most_tokens={expected} "
            "among the settings of the server, or ask for less: budget=…",
            argument="most_tokens",
            code="too-many",
        )

    def add(self, reply: dict[str, Any], characters: int, requests: int = 1) -> None:
        usage = reply.get("usage")
        counts = [usage.get(k) for k in ("prompt_tokens", "completion_tokens")] if isinstance(usage, dict) else []
        known = bool(counts) and isinstance(counts[0], int) and all(c >= 0 for c in counts if isinstance(c, int))
        with self._lock:
            self.prompts += 1
            self.requests += requests
            self.uncounted += not known
            self.tokens += sum(c for c in counts if isinstance(c, int)) if known else -(-characters // CHARACTERS_PER_TOKEN)

    def cost(self, tokens: int) -> str:
        return "" if self.model.price is None else f"{tokens * self.model.price / 1e6:,.4g} at {self.model.price:g} per million"

    @property
    def words(self) -> str:
        cost = self.cost(self.tokens)
        guessed = f", {self.uncounted} of them estimated from their length" if self.uncounted else ""
        return f"{self.requests:,} requests, {self.tokens:,} tokens{guessed}{f', {cost}' if cost else ''}"


def first_choice(reply: dict[str, Any], hosted: HostedModel) -> dict[str, Any]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ServerError(
            f"{hosted.title} replied without choices; see that its URL is that of an OpenAI-compatible API (it usually "
            "ends in /v1)",
            argument="model",
            code="unsupported",
        )
    return choices[0]


def reply_text(choice: object) -> object:
    """What a choice of a chat says."""
    message = choice.get("message") if isinstance(choice, dict) else None
    return message.get("content") if isinstance(message, dict) else None


def check_match(match: object) -> None:
    if not callable(match) and not (isinstance(match, str) and match in MATCHES):
        raise InvalidInput(
            f"match is {shown(match)}; write 'contains', 'equal', or give a function of (reply, answer)",
            argument="match",
            code="unknown",
        )


def says(reply: str, answer: str, match: Match) -> bool:
    """Whether a reply says the answer.

    >>> says("Anna lives in Rome.", "rome", "contains"), says("Romeo!", "Rome", "contains"), says(" ROME. ", "Rome", "equal")
    (True, False, True)
    """
    if isinstance(match, str):
        mine, theirs = _words(answer), _words(reply)
        return mine == theirs if match == "equal" else f" {mine} " in f" {theirs} "
    found = match(reply, answer)
    if found not in (True, False):
        raise BadPayoff(f"match returned {shown(found)} for {reply!r:.40}; return True or False", argument="match", code="type")
    return bool(found)


def _words(text: str) -> str:
    """Words in lower case with one space between them; a text of signs only stays as it is."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _NOT_WORDS.sub(" ", plain).strip() or " ".join(plain.split())
