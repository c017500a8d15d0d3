"""A prompt and its parts: passages, sentences, paragraphs, turns, examples, words, or spans of characters."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from operator import index
from typing import TypedDict

from accredit.checks.numbers import a_type, check_text, shown
from accredit.core import BoolArray, distinct_names
from accredit.errors import InvalidInput
from accredit.models.encoded import check_words, sentence_spans, word_spans

Span = tuple[int, int, int]  # which content, first character, one past the last
UNITS = ("passage", "sentence", "paragraph", "turn", "example", "word", "token")
CONTEXT_TEMPLATE = "{context}\n\n{query}"
WHOLE = "answer"  # the target that is the whole answer
NAME_LENGTH = 60  # characters of a part that make its name
_BLANK_LINES = re.compile(r"\r?\n[ \t]*\r?\n\s*")


class ContextForm(TypedDict, total=False):
    """How passages and a query become a prompt; see `prompt_of`."""

    context: object
    query: str | None
    template: str
    separator: str


class PromptForm(ContextForm, total=False):
    """The same, and whether it is one message of a chat."""

    chat: bool


@dataclass(frozen=True)
class Place:
    """Where a content stands in the text of a prompt. A chat template may cut white space at its ends."""

    start: int  # where its first character would be if nothing had been cut
    first: int  # what is there of it, from here
    stop: int  # to here

    def of(self, a: int, b: int) -> slice:
        """The characters a … b of the content, as far as they are there.

        >>> Place(8, 10, 14).of(0, 4)
        slice(10, 12, None)
        """
        first = min(max(self.start + a, self.first), self.stop)
        return slice(first, max(first, min(self.start + b, self.stop)))


@dataclass(frozen=True, eq=False)
class Prompt:
    """One text, or the messages of a chat. What is `closed` never plays: special tokens, all but the passages of a context."""

    contents: tuple[str, ...]  # one text, or the content of each message
    messages: tuple[Mapping[str, object], ...] | None = None  # None: a text
    passages: tuple[Span, ...] = ()
    closed: tuple[Span, ...] = ()

    def free(self, fixed: Iterable[Span] = ()) -> list[Span]:
        """What is left to play between closed and fixed spans, in order."""
        taken = sorted([*self.closed, *fixed])
        left: list[Span] = []
        for c, text in enumerate(self.contents):
            start = 0
            for _, a, b in [*(s for s in taken if s[0] == c), (c, len(text), len(text))]:
                if text[start:a].strip():
                    left.append((c, start, a))
                start = max(start, b)
        return left

    def find(self, part: object, name: str, after: Span = (0, 0, 0)) -> Span:
        """A part given as a string that occurs in the prompt, as (start, stop), or as (message, start, stop)."""
        if isinstance(part, str):
            for c, text in enumerate(self.contents):
                at = text.find(part, after[2] if c == after[0] else 0) if part.strip() and c >= after[0] else -1
                if at >= 0:
                    return c, at, at + len(part)
            if part.strip() and any(part in text for text in self.contents):
                raise InvalidInput(
                    f"{name} is {part!r:.80}, which is in the prompt only before the end of the one listed before it; list "
                    "passages in their order, none inside another",
                    argument=name,
                    code="conflict",
                )
            raise InvalidInput(
                f"{name} is {part!r:.80}, which is not in the prompt; copy it from the prompt, letter by letter",
                argument=name,
                code="missing",
            )
        if isinstance(part, Integral) and not isinstance(part, bool) and self.messages is not None:
            part = int(part)
            return self._check_span((part, 0, len(self.contents[part]) if 0 <= part < len(self.contents) else -1), part, name)
        try:
            numbers = tuple(index(x) for x in part) if isinstance(part, Iterable) else ()
        except TypeError:  # 0.7 is not a place
            numbers = ()
        if len(numbers) == 2 and len(self.contents) == 1:
            numbers = (0, *numbers)
        return self._check_span(numbers, part, name)

    def _check_span(self, span: tuple[int, ...], part: object, name: str) -> Span:
        if len(span) != 3 or not 0 <= span[0] < len(self.contents) or not 0 <= span[1] < span[2] <= len(self.contents[span[0]]):
            how = "(start, stop)" if self.messages is None else "(message, start, stop), the number of a message"
            raise InvalidInput(
                f"{name} is {part!r:.80}; write a string of the prompt, or {how} within it", argument=name, code="type"
            )
        return span[0], span[1], span[2]

    def find_fixed(self, fixed: object) -> list[Span]:
        """Spans that the caller holds fixed; a string is fixed wherever it occurs."""
        if not isinstance(fixed, Iterable | Integral):
            raise InvalidInput(
                f"fixed is {fixed!r:.60}; give strings or spans of the prompt that must stay", argument="fixed", code="type"
            )
        given = [fixed] if isinstance(fixed, str | Integral) or _is_span(fixed) else list(fixed)
        spans: list[Span] = []
        for part in given:
            spans.append(self.find(part, "fixed"))
            while isinstance(part, str) and (more := self._next(part, spans[-1])):
                spans.append(more)
        return spans

    def _next(self, part: str, after: Span) -> Span | None:
        try:
            return self.find(part, "fixed", after)
        except InvalidInput:
            return None

    def parts(self, players: object, fixed: object = ()) -> Parts:
        """The prompt dealt out to players: a unit by name, a list of passages, or a mapping from names to parts of it."""
        held = self.find_fixed(fixed)
        owned: list[tuple[str, list[Span]]]
        if isinstance(players, str):
            owned = [(self._title(spans), spans) for spans in self._units(players, held)]
        elif isinstance(players, Mapping):
            owned = [(str(name), self._collect(part, f"players[{name!r}]")) for name, part in players.items()]
        elif isinstance(players, Sequence):
            owned, last = [], (0, 0, 0)
            for i, part in enumerate(players):
                last = self.find(part, f"players[{i}]", last)
                owned.append((self._title([last]), [last]))
        else:
            raise InvalidInput(
                f"players is {players!r:.60}; write one of {', '.join(UNITS)}, a list of passages, or a mapping",
                argument="players",
                code="unknown",
            )
        if not owned:
            raise InvalidInput(
                f"players is {players!r:.60}, and nothing of the prompt is left to play; hold less of it fixed",
                argument="players",
                code="empty",
            )
        spans = sorted((span, who) for who, (_, own) in enumerate(owned) for span in own)
        self._check_apart(spans, [name for name, _ in owned], [*self.closed, *held])
        return Parts(self, distinct_names(name for name, _ in owned), tuple(s for s, _ in spans), tuple(w for _, w in spans))

    def repeats(self) -> Iterator[str]:
        """Passages that say the same, letter by letter: who reads their credit must know."""
        where: dict[str, list[int]] = {}
        for number, (c, a, b) in enumerate(self.passages, 1):
            where.setdefault(" ".join(self.contents[c][a:b].split()), []).append(number)
        for text, numbers in where.items():
            if len(numbers) > 1:
                listed = " and ".join(map(str, numbers))
                yield (
                    f"Passages {listed} are the same: {text!r:.60}. They share credit, and without one of them nothing is "
                    "lost; leave one out to see what it is worth alone."
                )

    def leftovers(self, players: object) -> Iterator[str]:
        """Strings among the players that the prompt holds more often than they are listed: which of them plays is said."""
        given = (
            players.values()
            if isinstance(players, Mapping)
            else ()
            if isinstance(players, str) or not isinstance(players, Iterable)
            else players
        )
        each = (one for part in given for one in (part if isinstance(part, list) else [part]) if isinstance(one, str))
        for part, listed in Counter(each).items():
            found = sum(content.count(part) for content in self.contents)
            if found > listed:
                yield (
                    f"Warning: {part!r:.60} is in the prompt {found} times, and only {listed} of them may play; list it as "
                    "often as it shall, or write (start, stop)."
                )

    def _collect(self, part: str | Integral | Iterable[object], name: str) -> list[Span]:
        if isinstance(part, str | Integral) or _is_span(part):
            return [self.find(part, name)]
        found = [self.find(each, name) for each in part]
        if not found:
            raise InvalidInput(
                f"{name} is empty; give a string of the prompt, or a span of characters", argument=name, code="empty"
            )
        return found

    def _units(self, kind: str, held: list[Span]) -> list[list[Span]]:
        free = self.free(held)
        if kind == "passage":
            if not self.passages:
                raise InvalidInput(
                    "players is 'passage', and the prompt has none; write context=[passages], query=…",
                    argument="players",
                    code="conflict",
                )
            return [own for p in self.passages if (own := _inside(free, p))]
        if kind == "turn":
            if self.messages is None:
                raise InvalidInput(
                    "players is 'turn', and the prompt is one text; give messages: [{'role': …, 'content': …}, …]",
                    argument="players",
                    code="conflict",
                )
            turns = [(c, 0, len(text)) for c, text in enumerate(self.contents[:-1]) if text.strip()]
            if not turns:  # the last one asks, and stays
                raise InvalidInput(
                    "players is 'turn', and no turn with words comes before the last one, which asks and stays; use "
                    "players='sentence'",
                    argument="players",
                    code="conflict",
                )
            return [own for turn in turns if (own := _inside(free, turn))]
        if kind == "example":
            return self._examples(free)
        rules = {"sentence": sentence_spans, "paragraph": paragraph_spans, "word": word_spans}
        if kind not in rules:
            raise InvalidInput(
                f"players is {kind!r}; write one of {', '.join(UNITS)}, a list of passages, or a mapping",
                argument="players",
                code="unknown",
            )
        return [[(c, a + i, a + j)] for c, a, b in free for i, j in rules[kind](self.contents[c][a:b])]

    def _examples(self, free: list[Span]) -> list[list[Span]]:
        """Few-shot examples: paragraphs before the last one, or turns up to an answer before the last turn."""
        if self.messages is None:
            blocks = [(0, i, j) for i, j in paragraph_spans(self.contents[0])][:-1]
            return [own for block in blocks if (own := _inside(free, block))]
        groups: list[list[Span]] = [[]]
        for c, message in enumerate(self.messages[:-1]):
            groups[-1] += _inside(free, (c, 0, len(self.contents[c]))) if message["role"] in ("user", "assistant") else []
            if message["role"] == "assistant":
                groups.append([])
        return [own for own in groups if own]

    def _title(self, spans: list[Span]) -> str:
        text = " ".join(" ".join(self.contents[c][a:b] for c, a, b in spans).split())
        return text if len(text) <= NAME_LENGTH else text[: NAME_LENGTH - 1].rstrip() + "…"

    def _check_apart(self, spans: list[tuple[Span, int]], names: list[str], closed: list[Span]) -> None:
        for ((c, _, stop), who), ((d, start, _), other) in itertools.pairwise(spans):
            if c == d and start < stop:
                raise InvalidInput(
                    f"players {names[who]!r:.60} and {names[other]!r:.60} overlap at character {start}; give spans that do not",
                    argument="players",
                    code="duplicate",
                )
        for (c, start, stop), who in spans:
            for d, a, b in closed:
                if c == d and a < stop and start < b:
                    raise InvalidInput(
                        f"player {names[who]!r:.60} covers {self.contents[c][max(a, start) : min(b, stop)]!r:.60}, which never "
                        "plays (template, special token or fixed); leave it out of the span",
                        argument="players",
                        code="conflict",
                    )


def _is_span(part: object) -> bool:
    return isinstance(part, tuple) and len(part) in (2, 3) and all(isinstance(x, Integral) for x in part)


def _inside(free: list[Span], outer: Span) -> list[Span]:
    """The free spans cut to one outer span."""
    c, start, stop = outer
    return [(c, max(a, start), min(b, stop)) for d, a, b in free if c == d and max(a, start) < min(b, stop)]


def paragraph_spans(text: str) -> list[tuple[int, int]]:
    r"""Paragraphs as character spans, apart by blank lines.

    >>> paragraph_spans("One.\n\nTwo.")
    [(0, 4), (6, 10)]
    """
    edges = [(0, 0), *(m.span() for m in _BLANK_LINES.finditer(text)), (len(text), len(text))]
    return [(b, c) for (_, b), (c, _) in itertools.pairwise(edges) if text[b:c].strip()]


@dataclass(frozen=True, eq=False)
class Parts:
    """Spans of a prompt, each owned by a player; the rest is nobody's and stays."""

    prompt: Prompt
    players: tuple[str, ...]
    spans: tuple[Span, ...]  # in order, apart from each other
    owner: tuple[int, ...]  # of each span

    def texts(self) -> tuple[str, ...]:
        """Each player's words in full."""
        own: list[list[str]] = [[] for _ in self.players]
        for (c, a, b), who in zip(self.spans, self.owner, strict=True):
            own[who].append(self.prompt.contents[c][a:b].strip())
        return tuple("\n".join(texts) for texts in own)

    def without(self, kept: BoolArray, filler: str | None = None) -> Prompt:
        """The prompt assembled without the parts that left, or with the filler in their place: (n,) -> a prompt.

        White space before a part leaves with it; what then comes first begins as the whole did. A message of which
        nothing is left leaves altogether; if none is left, the last one stays, empty.

        >>> parts = prompt_of("Rome is old. Oslo is not.\\n\\nWhich is old?").parts("sentence", fixed="Which is old?")
        >>> import numpy as np
        >>> parts.without(np.array([False, True])).contents
        ('Oslo is not.\\n\\nWhich is old?',)
        """
        contents, messages = [], []
        for c, text in enumerate(self.prompt.contents):
            pieces = self._pieces[c]
            stays = [(lead, body, who < 0 or bool(kept[who])) for lead, body, who in pieces]
            there = [(lead, body if here else filler) for lead, body, here in stays if here or filler is not None]
            if text and not there:
                continue
            opening = pieces[0][0] if pieces else ""
            contents.append("".join(f"{lead if i else opening}{body}" for i, (lead, body) in enumerate(there)))
            if self.prompt.messages is not None:
                messages.append({**self.prompt.messages[c], "content": contents[-1]})
        if self.prompt.messages is None:
            return Prompt((contents[0] if contents else "",))
        if not messages:  # no template renders an empty chat
            contents, messages = [""], [{**self.prompt.messages[-1], "content": ""}]
        return Prompt(tuple(contents), tuple(messages))

    @cached_property
    def _pieces(self) -> list[list[tuple[str, str, int]]]:
        return [self._cut(c) for c in range(len(self.prompt.contents))]

    def _cut(self, c: int) -> list[tuple[str, str, int]]:
        """A content as (white space before, words, owner), in order; nobody is −1."""
        text, pieces, space, at = self.prompt.contents[c], [], "", 0
        own = [(a, b, who) for (d, a, b), who in zip(self.spans, self.owner, strict=True) if d == c]
        for a, b, who in [*own, (len(text), len(text), -1)]:
            for part, owner in ((text[at:a], -1), (text[a:b], who)):
                if body := part.strip():
                    pieces.append((space + part[: part.index(body[0])], body, owner))
                    space = part[part.index(body[0]) + len(body) :]
                else:
                    space += part
            at = b
        return [*pieces, (space, "", -1)] if space else pieces


def prompt_of(
    prompt: object = None,
    *,
    context: object = None,
    query: str | None = None,
    template: str = CONTEXT_TEMPLATE,
    separator: str = "\n",
    chat: bool = False,
    reserved: Iterable[str] = (),
) -> Prompt:
    """A prompt from a text, from messages, or from passages and a query put into a template.

    If `chat`, the text of a context and a query is one message of the user. `reserved` are strings that stand for special
    tokens, which never play.
    """
    if (prompt is None) == (context is None):
        raise InvalidInput(
            "give either a prompt (a text or messages), or context=[passages] with query=…", argument="prompt", code="conflict"
        )
    if context is None and (template, separator) != (CONTEXT_TEMPLATE, "\n"):
        raise InvalidInput(
            "template and separator go with context=[passages]; a prompt of its own is read as it is", code="conflict"
        )
    if context is not None:
        made = _from_context(context, query, template, separator, chat)
    elif query is not None:
        raise InvalidInput(
            "query goes with context=[passages]; a prompt of its own holds its question already",
            argument="query",
            code="conflict",
        )
    elif isinstance(prompt, str):
        if not prompt.strip():
            raise InvalidInput(
                f"prompt is {prompt!r:.40}: empty or only spaces, so there is nothing to credit; give some words",
                argument="prompt",
                code="empty",
            )
        made = Prompt((prompt,))
    elif isinstance(prompt, bytes) or not isinstance(prompt, Iterable):
        raise InvalidInput(
            f"prompt is {prompt!r:.60}; give a text, or messages with role and content", argument="prompt", code="type"
        )
    else:
        made = _from_messages(prompt)
    for content in made.contents:
        check_words(content, "prompt")
    special = "|".join(re.escape(r) for r in sorted(reserved, key=len, reverse=True) if r.strip())
    found = [(c, *m.span()) for c, text in enumerate(made.contents) for m in re.finditer(special, text)] if special else []
    return Prompt(made.contents, made.messages, made.passages, (*made.closed, *found))


def _from_context(context: object, query: str | None, template: str, separator: str, chat: bool) -> Prompt:
    named = isinstance(context, Mapping | Set) or hasattr(context, "columns")  # iterating gives names, or no order
    if isinstance(context, str) or not isinstance(context, Iterable) or named:
        raise InvalidInput(
            f"context is {shown(context)}; give a list of passages, as in context=['…', '…']", argument="context", code="type"
        )
    passages = [str(p) if isinstance(p, str) else p for p in context]
    if not passages:
        raise InvalidInput("context is empty; give at least one passage", argument="context", code="empty")
    for i, each in enumerate(passages):
        if not isinstance(each, str) or not each.strip():
            raise InvalidInput(
                f"context[{i}] is {each!r:.60}; leave out passages without words", argument="context", code="empty"
            )
        check_text(each, "context")
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput(
            f"query is {query!r:.60}; give the question that goes with the context", argument="query", code="type"
        )
    template, separator = check_text(template, "template"), check_text(separator, "separator")
    if template.count("{context}") != 1 or template.count("{query}") != 1:
        raise InvalidInput(
            f"template is {template!r:.80}; it must hold {{context}} once and {{query}} once", argument="template", code="type"
        )
    if separator.strip():
        raise InvalidInput(
            f"separator is {separator!r:.40}; it must be white space: put marks into the passages themselves",
            argument="separator",
            code="type",
        )
    before, _, after = template.partition("{context}")
    start = len(before.replace("{query}", query))
    text = before.replace("{query}", query) + separator.join(passages) + after.replace("{query}", query)
    spans: list[Span] = []
    for passage in passages:
        spans.append((0, start, start + len(passage)))
        start += len(passage) + len(separator)
    between = [(0, a, b) for (_, _, a), (_, b, _) in itertools.pairwise(spans) if b > a]
    outside = [(0, 0, spans[0][1]), (0, spans[-1][2], len(text))]
    messages = ({"role": "user", "content": text},) if chat else None
    return Prompt((text,), messages, tuple(spans), tuple(s for s in [*outside, *between] if s[2] > s[1]))


def _from_messages(prompt: object) -> Prompt:
    if isinstance(prompt, Mapping) and "input_ids" in prompt:
        raise InvalidInput(
            f"prompt is {a_type(prompt)}; give its token ids: prompt['input_ids']", argument="prompt", code="type"
        )
    messages = list(prompt) if isinstance(prompt, Iterable) else []
    if not messages:
        raise InvalidInput(
            f"prompt is {prompt!r:.60}; give a text, messages, token ids, or context=[passages] with query=…",
            argument="prompt",
            code="type",
        )
    for i, message in enumerate(messages):
        if (
            not isinstance(message, Mapping)
            or not isinstance(message.get("role"), str)
            or not isinstance(message.get("content"), str)
        ):
            raise InvalidInput(f"message {i} is {message!r:.80}; write {{'role': 'user', 'content': 'a string'}}", code="type")
    if not any(m["content"].strip() for m in messages):
        raise InvalidInput(
            "every message is empty or only spaces, so there is nothing to credit; give some words, for example "
            "[{'role': 'user', 'content': 'Is it good?'}]",
            code="empty",
        )
    return Prompt(tuple(m["content"] for m in messages), tuple(dict(m) for m in messages))
