"""How parts of a prompt leave: the prompt that a coalition leaves behind, as the model reads it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from accredit.answers.model import AnsweringModel
from accredit.answers.passes import Row, row_of
from accredit.answers.prompt import Parts, Prompt
from accredit.answers.said import Answer
from accredit.core import BoolArray, IntArray, distinct_names
from accredit.errors import InvalidInput
from accredit.models.encoded import visible
from accredit.models.partition import Partition

REMOVALS = ("rebuild", "attention", "filler")


@dataclass(frozen=True, eq=False)
class TokenLayout:
    """The whole prompt as the model reads it: its text, its tokens, and whose each of them is."""

    text: str
    ids: IntArray  # (T,)
    spans: IntArray  # (T, 2) the characters of each token
    owner: IntArray  # (T,) the number of the player; −1: nobody's, it always stays


@final
@dataclass(frozen=True, eq=False)
class Rebuilt:
    """The prompt is written again without the parts that left, or with a filler in their place, and cut into tokens anew."""

    model: AnsweringModel
    parts: Parts
    filler: str | None = None

    @property
    def players(self) -> tuple[str, ...]:
        return self.parts.players

    def rows(self, coalitions: BoolArray, answer: Answer) -> list[Row]:
        """One row for each coalition: (batch, n) -> rows."""
        chat = self.parts.prompt.messages is not None
        texts = [self.model.render(self.parts.without(kept, self.filler)) for kept in coalitions]
        return [row_of(ids, answer.ids) for ids in self.model.tokenize(texts, chat)]

    @property
    def removal(self) -> str:
        return "rebuild" if self.filler is None else "filler"

    @property
    def layout(self) -> TokenLayout:
        """The tokens of the whole prompt; refused where the tokenizer merges characters of two owners into one."""
        return _lay_out(self.model, self.parts)


@final
@dataclass(frozen=True, eq=False)
class InPlace:
    """Tokens of the whole prompt leave: they are cut out, or no longer seen while positions stay, or replaced by a filler."""

    model: AnsweringModel
    players: tuple[str, ...]
    layout: TokenLayout
    removal: str
    filler: str | None = None

    def __post_init__(self) -> None:
        owner = self.layout.owner
        last = int(owner[-1])
        if self.filler is not None:
            one_token(self.model, self.filler)
        if self.removal == "attention" and (last >= 0 if not self.model.encodes else (owner >= 0).all()):
            raise InvalidInput(
                "removal='attention' needs the last token to stay, because the answer is read from it, and "
                f"{self.players[last]!r:.60} plays; hold the question fixed, fixed='…', or use removal='rebuild'",
                argument="removal",
                code="conflict",
            )

    @property
    def partition(self) -> Partition:
        return Partition(self.players, self.layout.owner)

    def rows(self, coalitions: BoolArray, answer: Answer) -> list[Row]:
        """One row for each coalition: (batch, n) -> rows."""
        kept, ids = self.partition.kept(coalitions), self.layout.ids
        if self.filler is not None:
            filler = one_token(self.model, self.filler)
            return [row_of(np.where(stays, ids, filler), answer.ids) for stays in kept]
        return [self._row(stays, answer.ids) for stays in kept]

    def _row(self, stays: BoolArray, answer: IntArray) -> Row:
        ids = self.layout.ids
        where = np.flatnonzero(stays)
        if self.removal == "rebuild":
            return row_of(ids[where] if len(where) else np.array([self.model.opening]), answer)
        return Row(ids[where], where, answer, None if stays.all() else ids)


def assembly(
    model: AnsweringModel, prompt: Prompt | IntArray, players: object, fixed: object, removal: str, filler: str | None
) -> Rebuilt | InPlace:
    """The way in which these players leave this prompt."""
    if removal not in REMOVALS:
        raise InvalidInput(f"removal is {removal!r}; write one of {', '.join(REMOVALS)}", argument="removal", code="unknown")
    if (removal == "filler") != (filler is not None):
        raise InvalidInput(
            f"removal is {removal!r} and filler is {filler!r}; a filler goes with removal='filler': filler='…'",
            argument="removal",
            code="conflict",
        )
    if not isinstance(prompt, Prompt):
        return InPlace(model, *_of_ids(model, prompt, players, fixed), removal, filler)
    if players == "token":
        return InPlace(model, *_tokens(model, prompt, fixed), removal, filler)
    parts = prompt.parts(players, fixed)
    if removal != "attention":
        return Rebuilt(model, parts, filler)
    return InPlace(model, parts.players, _lay_out(model, parts), removal)


def one_token(model: AnsweringModel, filler: str) -> int:
    """The id of a filler that takes the place of single tokens."""
    ids = model.tokenizer(filler, add_special_tokens=False, verbose=False)["input_ids"]
    if len(ids) != 1:
        raise InvalidInput(
            f"filler {filler!r} is {len(ids)} tokens, and one takes the place of each token; name a single token",
            argument="filler",
            code="shape",
        )
    return int(ids[0])


def _of_ids(model: AnsweringModel, ids: IntArray, players: object, fixed: object) -> tuple[tuple[str, ...], TokenLayout]:
    """Players of a prompt given as token ids: every token that is not special or fixed, or named groups of positions."""
    held = np.isin(ids, model.tokenizer.all_special_ids) & (ids != model.tokenizer.unk_token_id)
    held[_positions(fixed, len(ids), "fixed")] = True
    pieces = model.pieces(ids)
    ends = np.cumsum([len(piece) for piece in pieces])
    spans = np.stack([ends - [len(piece) for piece in pieces], ends], axis=1)
    owner = np.full(len(ids), -1)
    if isinstance(players, dict):
        for g, (name, members) in enumerate(players.items()):
            where = _positions(members, len(ids), f"players[{name!r}]")
            if not len(where) or held[where].any() or (owner[where] >= 0).any():
                raise InvalidInput(
                    f"players[{name!r}] is {members!r:.60}; give positions that are free, each in one group",
                    argument="players",
                    code="type",
                )
            owner[where] = g
        return tuple(str(name) for name in players), TokenLayout("".join(pieces), ids, spans, owner)
    if players != "token":
        raise InvalidInput(
            f"players is {players!r:.40}, and token ids have no {players!r:.20}; use 'token', or give the text itself",
            argument="players",
            code="misplaced",
        )
    names = [visible(piece) for piece, stays in zip(pieces, held, strict=True) if not stays]
    if not names:
        raise InvalidInput(
            "every token of the prompt is special or fixed, so none can play; hold less of it fixed", code="empty"
        )
    owner[~held] = np.arange(len(names))
    return distinct_names(names), TokenLayout("".join(pieces), ids, spans, owner)


def _positions(given: object, count: int, name: str) -> IntArray:
    where = np.asarray(list(given) if isinstance(given, Iterable) else [given], dtype=object)
    if any(not isinstance(i, int | np.integer) or not 0 <= i < count for i in where):
        raise InvalidInput(
            f"{name} is {given!r:.60}; a prompt of token ids takes positions from 0 to {count - 1}", argument=name, code="range"
        )
    return where.astype(np.int64)


def _lay_out(model: AnsweringModel, parts: Parts) -> TokenLayout:
    """The tokens of the whole prompt and the owner of each; refused where one token would have two."""
    text, places = model.layout(parts.prompt)
    ids, spans = model.offsets(text, parts.prompt.messages is not None)
    owner_of = np.full(len(text) + 1, -1)
    for (c, a, b), who in zip(parts.spans, parts.owner, strict=True):
        owner_of[places[c].of(a, b)] = who
    owner = np.full(len(ids), -1)
    for t, (a, b) in enumerate(spans.tolist()):
        seen = {int(owner_of[i]) for i in range(a, b) if not text[i].isspace()}
        if len(seen) > 1:
            both = " and ".join(repr(parts.players[w][:40]) if w >= 0 else "what is fixed" for w in sorted(seen))
            raise InvalidInput(
                f"the tokenizer merges {text[a:b]!r} across {both}, so neither can leave by attention; "
                "use removal='rebuild', or move the edge",
                code="unsupported",
            )
        owner[t] = seen.pop() if seen else -1
    missing = sorted(set(range(len(parts.players))) - set(owner.tolist()))
    if missing:
        raise InvalidInput(
            f"player {parts.players[missing[0]]!r:.60} has no token of its own; give it more characters",
            argument="players",
            code="empty",
        )
    return TokenLayout(text, ids, spans, owner)


def _tokens(model: AnsweringModel, prompt: Prompt, fixed: object) -> tuple[tuple[str, ...], TokenLayout]:
    """Every token of what may play as a player of its own; one that reaches into the template or what is fixed stays."""
    text, places = model.layout(prompt)
    ids, spans = model.offsets(text, prompt.messages is not None)
    free = np.zeros(len(text) + 1, dtype=bool)
    for c, a, b in prompt.free(prompt.find_fixed(fixed)):
        free[places[c].of(a, b)] = True
    plays = np.array(
        [b > a and all(free[i] or text[i].isspace() for i in range(a, b)) and bool(free[a:b].any()) for a, b in spans.tolist()],
        dtype=bool,
    )
    if not plays.any():
        raise InvalidInput(
            "every token of the prompt is template, special or fixed, so none can play; hold less of it fixed", code="empty"
        )
    names = [visible(text[a:b]) for (a, b), p in zip(spans.tolist(), plays, strict=True) if p]
    owner = np.where(plays, np.cumsum(plays) - 1, -1)
    return distinct_names(names), TokenLayout(text, ids, spans, owner)
