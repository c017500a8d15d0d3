"""Answers of models behind a server: log-probabilities of a given answer from its echo, or a share of sampled replies.

A completions server that repeats the prompt (`echo`) with its log-probabilities, or returns `prompt_logprobs` as vLLM does,
pays every token of an answer in one request; llama.cpp's own server does neither, and is asked for one token after the other
(`forced`). A chat server that says nothing of the kind is asked several times, and the payoff is how often the answer comes
out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Unpack, final

import numpy as np

from accredit.answers.forced import CannotForce, check_bias, force, server_tokens
from accredit.answers.game import AnswerGame, choose_players
from accredit.answers.hosted_model import CHARACTERS_PER_TOKEN, Bill, HostedModel, first_choice, reply_text
from accredit.answers.prompt import Parts, Prompt, PromptForm, prompt_of
from accredit.answers.replies import SampledPays
from accredit.answers.said import Answer, Currency
from accredit.answers.server import ServerError
from accredit.core import BoolArray, FloatArray, Procedure
from accredit.errors import InvalidInput

PROMPTS_PER_WORKER = 4  # prompts of one batch for each request that may be under way
ROUNDING = 1e-6  # how far above 0 a server may round a log-probability


class NoLogProbabilities(Exception):
    """A reply holds none for the prompt."""


@final
class HostedPays:
    """Payoffs from a completions server: log-probabilities of the tokens of answers, one request per prompt and answer."""

    blur = 0.0  # nobody says how they are computed
    currency: Currency = "log-probability"

    def __init__(self, hosted: HostedModel, parts: Parts, filler: str | None) -> None:
        self.hosted, self.parts, self.filler = hosted, parts, filler
        self.bill = Bill(hosted)
        self.answers: list[Answer] = []
        self.notes: list[str] = []
        self._way: Callable[[str, int], tuple[list[str], list[float]]] | None = None

    @property
    def players(self) -> tuple[str, ...]:
        return self.parts.players

    @property
    def rows(self) -> int:
        return PROMPTS_PER_WORKER * self.hosted.concurrency

    def log_probabilities(self, coalitions: BoolArray) -> FloatArray:
        """(batch, n) -> (batch, tokens of the answer, then of the other answer)."""
        prompts = [self.write(self.parts.without(kept, self.filler)) for kept in coalitions]
        return np.array([[x for answer in self.answers for x in self._score(prompt, answer)] for prompt in prompts])

    def write(self, prompt: Prompt) -> str:
        """The text that is sent: the prompt's own, or what the chat template makes of its messages."""
        return write_prompt(prompt, self.hosted)

    def cut(self, prompt: str, answer: str, source: Procedure) -> Answer:
        """An answer in the server's own tokens, as it follows the whole prompt. A space is put between the two where neither
        has one, and is the answer's."""
        if not prompt[-1:].isspace() and not answer[0].isspace():
            answer = f" {answer}"
        self.bill.allow(1, -(-len(prompt + answer) // CHARACTERS_PER_TOKEN))
        pieces, _ = self._read(prompt, answer)
        found = Answer(np.arange(len(pieces)), tuple(pieces), source)
        self.answers.append(found)
        return found

    @property
    def tokens_per_payoff(self) -> int:
        """Tokens of one payoff, at most: those of the whole prompt and its answers, as the server counted them."""
        return -(-self.bill.tokens * len(self.answers) // max(self.bill.prompts, 1))

    def _score(self, prompt: str, answer: Answer) -> list[float]:
        pieces, earned = self._read(prompt, answer.text)
        if tuple(pieces) != answer.pieces:
            raise ServerError(
                f"{self.hosted.title} cuts the answer into other tokens after another prompt ({'|'.join(pieces)!r:.60} and "
                f"{'|'.join(answer.pieces)!r:.60}), so they cannot be compared; begin the answer with a space or a new "
                "line, or hold the end of the prompt fixed",
                argument="answer",
                code="unsupported",
            )
        return earned

    def _read(self, prompt: str, answer: str) -> tuple[list[str], list[float]]:
        """The tokens of an answer after a prompt, and the log-probability of each."""
        if not prompt.strip():
            raise InvalidInput(
                "nothing is left before the answer for some coalitions, and a server gives no log-probability to what "
                "comes first; hold part of the prompt fixed: fixed='…', or context=[passages] with query=…",
                argument="fixed",
                code="empty",
            )
        self.bill.check()
        ways = (self._echo, self._prompt_logprobs, self._forced) if self._way is None else (self._way,)
        reasons = []
        for way in ways:
            try:
                found = way(prompt + answer, len(prompt))
            except NoLogProbabilities as error:
                reasons.append(str(error))
                continue
            self._way = way
            return found
        raise ServerError(
            f"{self.hosted.title} returns no log-probabilities of a given text ({'; '.join(reasons)}). vLLM, "
            "llama.cpp and llama-cpp-python (logits_all) do; or count sampled replies: HostedModel(url, asks='chat')",
            argument="model",
            code="unsupported",
        )

    def _post(self, text: str, more: dict[str, object]) -> dict[str, Any]:
        body = {"model": self.hosted.served, "prompt": text, "max_tokens": 1, "temperature": 0} | more
        try:
            reply = self.hosted.server.post("completions", body)
        except ServerError as error:
            if error.code == "unsupported":  # this request is refused, another form of it may not be
                raise NoLogProbabilities(f"{next(iter(more))}: {error}") from None
            raise
        self.bill.add(reply, len(text))
        return reply

    def _echo(self, text: str, start: int) -> tuple[list[str], list[float]]:
        held = first_choice(self._post(text, {"echo": True, "logprobs": 1}), self.hosted).get("logprobs")
        tokens, earned = (held.get(k) for k in ("tokens", "token_logprobs")) if isinstance(held, dict) else (None, None)
        if not isinstance(tokens, list) or not isinstance(earned, list) or len(tokens) != len(earned) or len(tokens) < 2:
            raise NoLogProbabilities("echo: the reply holds no log-probabilities of the prompt")
        return self._align(text, start, [str(t) for t in tokens], earned)

    def _prompt_logprobs(self, text: str, start: int) -> tuple[list[str], list[float]]:
        reply = self._post(text, {"prompt_logprobs": 0})
        listed = first_choice(reply, self.hosted).get("prompt_logprobs") or reply.get("prompt_logprobs")
        if not isinstance(listed, list) or len(listed) < 2:
            raise NoLogProbabilities("prompt_logprobs: the reply holds none")
        own = [next(iter(each.values()), None) if isinstance(each, dict) else None for each in listed[1:]]
        if not all(isinstance(one, dict) and "logprob" in one for one in own):
            raise NoLogProbabilities("prompt_logprobs: the reply holds some without a log-probability")
        tokens = [str(one.get("decoded_token")) for one in own if one is not None]
        joined = "".join(tokens)
        first = text[: len(text) - len(joined)] if text.endswith(joined) else ""  # the first has no entry
        return self._align(text, start, [first, *tokens], [None, *(one["logprob"] for one in own if one is not None)])

    def _align(self, text: str, start: int, tokens: list[str], earned: Sequence[object]) -> tuple[list[str], list[float]]:
        """The tokens from character `start` of the text that was sent to its end, and what they earn; refused where the server
        has read another text, or has merged the end of the prompt with the beginning of the answer."""
        return self._judge(text, start, tokens, token_edges(text, tokens), lambda own: [earned[k] for k in own])

    def _forced(self, text: str, start: int) -> tuple[list[str], list[float]]:
        """One request per token of the answer; what the server keeps of the prompt in its cache is not counted again."""
        used: list[dict[str, Any]] = []

        def post(more: dict[str, object]) -> dict[str, Any]:
            body = {"model": self.hosted.served, "max_tokens": 1, "temperature": 0, "cache_prompt": True} | more
            used.append(self.hosted.server.post("completions", body, optional=True))
            return used[-1]

        def earn(own: list[int]) -> list[object]:
            split = {k for k in own if not (cut.whole[k] and cut.whole[k - 1])}
            if self._way is None:
                if whole := [k for k in own if k not in split]:
                    check_bias(post, ids[: whole[0]], ids[whole[0]])
                note_split(split)
            return [0.0 if k in split else force(post, ids[:k], ids[k]) for k in own]

        def note_split(split: set[int]) -> None:
            if split and edges is not None:
                lost = "".join(text[slice(*edges[k])] for k in sorted(split)).split()
                self.notes.append(
                    f"The server states no log-probability of part of a character: {' '.join(lost)} earns nothing."
                )

        try:
            cut = server_tokens(self.hosted.server, text)
            ids, edges = cut.ids, token_edges(text, cut.pieces)
            found = self._judge(text, start, cut.pieces, edges, earn)
        except CannotForce as error:
            raise NoLogProbabilities(f"forced tokens: {error}") from None
        self.bill.add({"usage": sum_usage(used)}, len(text), requests=len(used))
        if self._way is None:
            self.notes.append(
                "The server states log-probabilities of what it writes only: every token of the answer is forced by a request "
                "of its own."
            )
        return found

    def _judge(
        self,
        text: str,
        start: int,
        tokens: list[str],
        edges: list[tuple[int, int]] | None,
        earn: Callable[[list[int]], list[object]],
    ) -> tuple[list[str], list[float]]:
        blot = self.hosted.server.blot
        if edges is None:
            raise ServerError(
                f"{self.hosted.title} read another text than was sent: its tokens are {blot(''.join(tokens))!r:.80}, and "
                f"{text!r:.80} was asked; see that nothing between rewrites prompts, such as a chat template on completions",
                code="unsupported",
            )
        own = [k for k, (a, b) in enumerate(edges) if (a < len(text) and b > start) or start <= a == b < len(text)]
        first, last = edges[own[0]][0], edges[own[-1]][1]
        if first < start or last > len(text):
            k = own[0] if first < start else own[-1]
            raise ServerError(
                f"{self.hosted.title} reads {blot(tokens[k])!r:.40} as one token, which is partly the prompt's and partly the "
                "answer's; begin the answer with a space or a new line",
                argument="answer",
                code="unsupported",
            )
        values = earn(own)
        if not all(isinstance(x, int | float) and np.isfinite(x) and x <= ROUNDING for x in values):
            bad = next(x for x in values if not (isinstance(x, int | float) and np.isfinite(x) and x <= ROUNDING))
            raise ServerError(
                f"{self.hosted.title} gives {blot(repr(bad)):.40} as the log-probability of a token; it must be a finite "
                "number not above 0",
                code="not-finite",
            )
        return [text[a:b] for a, b in (edges[k] for k in own)], [min(float(x), 0.0) for x in values]  # type: ignore[arg-type]

    @property
    def _per(self) -> str:
        return "prompt and token of the answer" if self._way == self._forced else "prompt and answer"

    def fingerprint_parts(self) -> dict[str, object]:
        """What decides the payoffs: the server and its model, the prompt, and what is asked of it."""
        return {
            "server": [self.hosted.url, self.hosted.served],
            "prompt": [self.write(self.parts.prompt), self.parts.prompt.messages],
            "players": [self.parts.spans, self.parts.owner],
            "answers": [list(answer.pieces) for answer in self.answers],
            "filler": self.filler,
        }

    @property
    def provenance(self) -> dict[str, object]:
        return {
            "model": self.hosted.title,
            "architecture": "a model behind a server",
            "removal": "rebuild" if self.filler is None else "filler",
            "filler": self.filler,
            "answer": self.answers[0].text,
            "answer from": self.answers[0].source.as_plain(),
            "rather than": self.answers[1].text if len(self.answers) > 1 else None,
            "answer tokens": len(self.answers[0].pieces),
            "reading": f"one request per {self._per}, up to {self.hosted.concurrency} at a time; {self.bill.words}",
            "notes": [*self.notes, *(answer.note for answer in self.answers if answer.note)],
        }


def sum_usage(replies: Sequence[dict[str, Any]]) -> dict[str, int] | None:
    """What several requests have read and written together, without what was cached; None where a reply does not count.

    >>> sum_usage([{"usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 8}}}] * 2)
    {'prompt_tokens': 2, 'completion_tokens': 2}
    """
    read = written = 0
    for reply in replies:
        usage = reply.get("usage")
        counts = [usage.get(k) for k in ("prompt_tokens", "completion_tokens")] if isinstance(usage, dict) else []
        whole = [count for count in counts if isinstance(count, int)]
        if not isinstance(usage, dict) or len(whole) < 2:
            return None
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else 0
        read, written = read + whole[0] - (cached if isinstance(cached, int) else 0), written + whole[1]
    return {"prompt_tokens": read, "completion_tokens": written}


def token_edges(text: str, tokens: list[str]) -> list[tuple[int, int]] | None:
    """Where each token stands in the text that was sent: (first character, one past the last); None where they are of another
    one. A special token before the text and a new one after it are passed over.

    Servers write part of a character as � or leave it out. Such tokens stand together where the others leave characters beyond
    ASCII: the last of them ends there, those before it are empty.

    >>> token_edges("Rome is", ["<s>", "Rome", " is", " old"])
    [(-3, 0), (0, 4), (4, 7), (7, 11)]
    >>> token_edges("a 🦜 b", ["a", " �", "�", "", " b"])
    [(0, 1), (1, 1), (1, 1), (1, 3), (3, 5)]
    >>> token_edges("Rome is", ["Oslo", " is"]) is None
    True
    """
    at = "".join(tokens).find(text)
    if at >= 0:
        ends = np.cumsum([len(token) for token in tokens]) - at
        return [(int(end) - len(token), int(end)) for token, end in zip(tokens, ends, strict=True)]
    for first, last in itertools.product((0, 1), (0, 1)):
        if (own := _edges_of_parts(text, tokens[first : len(tokens) - last])) is not None:
            before, after = tokens[:first], tokens[len(tokens) - last :]
            return [*((-len(t), 0) for t in before), *own, *((len(text), len(text) + len(t)) for t in after)]
    return None


def _edges_of_parts(text: str, tokens: list[str]) -> list[tuple[int, int]] | None:
    """As `token_edges`, of tokens that are the text, parts of characters among them."""
    edges: list[tuple[int, int]] = []
    at = 0
    runs = [(whole, [*run]) for whole, run in itertools.groupby(tokens, lambda token: bool(token) and "\ufffd" not in token)]
    for (whole, run), (_, following) in itertools.zip_longest(runs, runs[1:], fillvalue=(True, [])):
        said = "".join(run)
        stop = at + len(said) if whole else text.find("".join(following), at) if following else len(text)
        held = text[at:stop]
        if stop < 0 or (held != said if whole else _ascii(held) != _ascii(said)):
            return None
        lengths = [len(token) for token in run] if whole else [0] * (len(run) - 1) + [stop - at]
        cuts = [at, *(at + np.cumsum(lengths)).tolist()]
        edges += itertools.pairwise(cuts)
        at = stop
    return edges if at == len(text) else None


def _ascii(text: str) -> str:
    return "".join(character for character in text if character.isascii())


def write_prompt(prompt: Prompt, hosted: HostedModel) -> str:
    """A prompt as one text: its own, or what a chat template makes of its messages, without a begin-of-text token that the
    server puts before every prompt itself."""
    if prompt.messages is None:
        return prompt.contents[0]
    messages = [dict(m) for m in prompt.messages]
    if hosted.template is None:
        return hosted.ask_template(messages)
    tokenizer = hosted.template
    ends = messages[-1]["role"] == "assistant"
    try:
        text = str(
            tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=not ends, continue_final_message=ends)
        )
    except Exception as error:  # templates raise what they like
        raise InvalidInput(
            f"the chat template of the tokenizer refuses these turns: {' '.join(str(error).split())[:150]}; give "
            "messages that it accepts",
            argument="prompt",
            code="unsupported",
        ) from None
    bos: str = getattr(tokenizer, "bos_token", None) or ""
    opens = bool(bos) and text.startswith(bos) and tokenizer("a")["input_ids"][:1] == [tokenizer.bos_token_id]
    return text[len(bos) :] if opens else text


def hosted_game(
    hosted: HostedModel,
    prompt: object = None,
    answer: str | None = None,
    *,
    generate: int | None = None,
    players: object = None,
    fixed: object = (),
    rather_than: str | None = None,
    filler: str | None = None,
    seed: int = 0,
    **form: Unpack[PromptForm],
) -> AnswerGame:
    """The game of an answer of a model behind a server. The answer is given, or the server writes one of up to `generate`
    tokens."""
    hosted.server.begin()
    said = _prompt(hosted, prompt, form)
    chosen = choose_players(players, said, form)
    if chosen == "token":
        raise InvalidInput(
            "players is 'token', and the tokens of a model behind a server are not known; use 'word'",
            argument="players",
            code="unsupported",
        )
    hosted.server.check_keyless("the prompt", "prompt", *said.contents)
    parts = said.parts(chosen, fixed)
    unit = chosen if isinstance(chosen, str) else "player"
    if answer is not None and (not isinstance(answer, str) or not answer.strip()):
        raise InvalidInput(
            f"answer is {answer!r:.60}; a model behind a server is asked about a text that is not empty",
            argument="answer",
            code="empty",
        )
    hosted.server.check_keyless("the answer", "answer", answer or "", rather_than or "")
    if rather_than is not None and rather_than == answer:
        raise InvalidInput(
            f"rather_than is {rather_than!r:.60}, the answer itself; give another answer",
            argument="rather_than",
            code="duplicate",
        )
    notes = [*said.leftovers(chosen), *said.repeats()]
    if hosted.asks == "chat":
        return _sampled_game(hosted, parts, answer, generate, rather_than, filler, seed, unit, notes)
    pays = HostedPays(hosted, parts, filler)
    whole = pays.write(said)
    if said.messages is not None and form.get("context") is not None:
        whose = "server" if hosted.template is None else "tokenizer"
        notes.append(f"Context and query are one message of the user, put into the {whose}'s chat template.")
    given, source, note = (answer, Procedure("given"), "") if answer is not None else _generate(pays, whole, generate)
    pays.notes += notes + ([note] if note else [])
    first = pays.cut(whole, given, source)
    if rather_than is not None:
        pays.cut(whole, rather_than, Procedure("given"))
    others = len(pays.answers[1].pieces) if rather_than is not None else 0
    return AnswerGame(pays, first.tokens, others, first, unit)


def _prompt(hosted: HostedModel, prompt: object, form: PromptForm) -> Prompt:
    asked = dict(form)
    chat = asked.pop("chat", None)
    if hosted.asks == "chat":
        if isinstance(prompt, str):
            prompt = [{"role": "user", "content": prompt}]
        return prompt_of(prompt, chat=True, **asked)  # type: ignore[arg-type]
    wanted = hosted.writes_chats if chat is None else bool(chat)
    made = prompt_of(prompt, chat=wanted, **asked)  # type: ignore[arg-type]
    if made.messages is not None and not hosted.writes_chats:
        raise InvalidInput(
            "the prompt is a chat, and completions read one text; give the tokenizer whose chat template writes it: "
            "HostedModel(url, tokenizer='FOLDER'), or sample replies: HostedModel(url, asks='chat')",
            argument="tokenizer",
            code="missing",
        )
    return made


def _generate(pays: HostedPays, text: str, most: int | None) -> tuple[str, Procedure, str]:
    """What the server says after a prompt, greedily: the text, how it was made, and whether it was cut."""
    hosted = pays.hosted
    tokens = hosted.answer_tokens if most is None else most
    pays.bill.allow(1, -(-len(text) // CHARACTERS_PER_TOKEN) + tokens)
    reply = hosted.server.post("completions", {"model": hosted.served, "prompt": text, "max_tokens": tokens, "temperature": 0})
    pays.bill.add(reply, len(text))
    choice = first_choice(reply, hosted)
    return _written(choice.get("text"), choice, tokens, hosted)


def _written(said: object, choice: dict[str, Any], tokens: int, hosted: HostedModel) -> tuple[str, Procedure, str]:
    if not isinstance(said, str) or not said.strip():
        raise InvalidInput(
            f"{hosted.title} says nothing after this prompt; give an answer: answer='…'", argument="answer", code="empty"
        )
    hosted.server.check_keyless("what the server says", "answer", said)
    cut = choice.get("finish_reason") == "length"
    note = f"The answer is cut: it had not ended after {tokens} new tokens, and no more are allowed." if cut else ""
    return said.rstrip(), Procedure("generated", settings={"max_new_tokens": tokens, "temperature": 0}), note


def _sampled_game(
    hosted: HostedModel,
    parts: Parts,
    answer: str | None,
    generate: int | None,
    rather_than: str | None,
    filler: str | None,
    seed: int,
    unit: str,
    notes: list[str],
) -> AnswerGame:
    if rather_than is not None:
        raise InvalidInput(
            "rather_than compares log-probabilities, and replies of a chat are counted; leave it out, or use "
            "asks='completions'",
            argument="rather_than",
            code="unsupported",
        )
    bill = Bill(hosted)

    def ask(prompt: Prompt, count: int, temperature: float, tokens: int) -> list[dict[str, Any]]:
        """Some replies to a chat, as choices; a server may send fewer at once than were asked for."""
        messages = [dict(m) for m in prompt.messages or ()]
        length = sum(len(content) for content in prompt.contents)
        bill.check()
        body = {"model": hosted.served, "messages": messages, "n": count, "temperature": temperature, "max_tokens": tokens}
        reply = hosted.server.post("chat/completions", body)
        bill.add(reply, length)
        first_choice(reply, hosted)
        found: list[dict[str, Any]] = reply["choices"][:count]
        return found

    source = Procedure("given")
    if answer is None:
        tokens = hosted.answer_tokens if generate is None else generate
        (choice,) = ask(parts.prompt, 1, 0.0, tokens)
        answer, source, note = _written(reply_text(choice), choice, tokens, hosted)
        notes += [note] if note else []
    pays = SampledPays(hosted, bill, ask, parts, answer, source, filler, seed)
    pays.notes += notes
    return AnswerGame(pays, pays.outputs, 0, None, unit)
