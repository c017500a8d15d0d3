"""What an encoder–decoder has said so far: its words or tokens play beside the parts of the source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from accredit.answers.assembly import InPlace, Rebuilt, TokenLayout, one_token
from accredit.answers.model import AnsweringModel
from accredit.answers.passes import Row
from accredit.answers.prompt import Parts, prompt_of
from accredit.answers.said import Answer
from accredit.core import BoolArray, IntArray, distinct_names
from accredit.errors import InvalidInput
from accredit.models.encoded import visible

PLAYING = ("sentence", "paragraph", "word", "token")  # units that a prefix is cut into; with others it stays whole


@final
@dataclass(frozen=True, eq=False)
class WithPrefix:
    """Parts of a source, then parts of what was said so far. The decoder reads the prefix before the answer."""

    source: Rebuilt | InPlace
    prefix: str
    ids: IntArray  # (P,) the whole prefix
    own: Parts | IntArray | None  # words of the prefix, the owner of each token (P,), or nobody
    names: tuple[str, ...]  # of the prefix's players

    @property
    def players(self) -> tuple[str, ...]:
        return distinct_names([*self.source.players, *self.names])

    @property
    def model(self) -> AnsweringModel:
        return self.source.model

    @property
    def removal(self) -> str:
        return self.source.removal

    @property
    def filler(self) -> str | None:
        return self.source.filler

    @property
    def layout(self) -> TokenLayout:
        return self.source.layout

    def rows(self, coalitions: BoolArray, answer: Answer) -> list[Row]:
        """One row for each coalition: (batch, n) -> rows."""
        count = len(self.source.players)
        rows = self.source.rows(coalitions[:, :count], answer)
        return [self._after(row, kept) for row, kept in zip(rows, coalitions[:, count:], strict=True)]

    def _after(self, row: Row, kept: BoolArray) -> Row:
        if isinstance(self.own, Parts):
            left = self.own.without(kept, self.filler)
            return replace(row, said=self.model.target_ids(left.contents[0]))
        owner = np.full(len(self.ids), -1) if self.own is None else self.own
        stays = np.append(kept, True)[owner]
        if self.removal == "rebuild":
            return replace(row, said=self.ids[stays])
        if self.filler is not None:
            return replace(row, said=np.where(stays, self.ids, one_token(self.model, self.filler)))
        return replace(row, said=self.ids, unseen=None if stays.all() else ~stays)

    @property
    def owner(self) -> IntArray:
        """For each token of the prefix the number of its player, −1 where nobody plays for it: (P,)."""
        first = len(self.source.players)
        if self.own is None:
            return np.full(len(self.ids), -1)
        owner = _owners(self.model, self.prefix, self.own, len(self.ids)) if isinstance(self.own, Parts) else self.own
        return np.where(owner >= 0, owner + first, -1)

    @property
    def shown(self) -> tuple[str, list[tuple[int, int, int]]]:
        """The prefix as it is written, and which of its characters are whose: start, stop, number of the player."""
        first = len(self.source.players)
        if self.own is None:
            return self.prefix, []
        if isinstance(self.own, Parts):
            spans = zip(self.own.spans, self.own.owner, strict=True)
            return self.prefix, [(a, b, first + who) for (_, a, b), who in spans]
        pieces = self.model.pieces(self.ids)
        ends = np.cumsum([len(piece) for piece in pieces]).tolist()
        return "".join(pieces), [
            (end - len(piece), end, first + int(who))
            for piece, end, who in zip(pieces, ends, self.own, strict=True)
            if who >= 0
        ]


def with_prefix(source: Rebuilt | InPlace, prefix: str, unit: object) -> Rebuilt | InPlace | WithPrefix:
    """The source's parts, and beside them those of what was said so far."""
    if prefix == "":
        return source
    if not isinstance(prefix, str) or not prefix.strip():
        raise InvalidInput(
            f"prefix is {prefix!r:.40}; give some words as a string, or leave it out", argument="prefix", code="type"
        )
    model = source.model
    if not model.encodes:
        raise InvalidInput(
            f"prefix is {prefix!r:.40}, and {model.name} is not an encoder–decoder; put it at the end of the prompt",
            argument="prefix",
            code="misplaced",
        )
    ids = model.target_ids(prefix)
    if not len(ids):
        raise InvalidInput(
            f"prefix is {prefix!r:.40}, which has no tokens; give some words, or leave it out",
            argument="prefix",
            code="empty",
        )
    if unit not in PLAYING:
        return WithPrefix(source, prefix, ids, None, ())
    if unit == "token":
        return WithPrefix(source, prefix, ids, np.arange(len(ids)), tuple(map(visible, model.pieces(ids))))
    parts = prompt_of(prefix).parts(unit)
    if source.removal == "attention":
        owner = _owners(model, prefix, parts, len(ids))
        return WithPrefix(source, prefix, ids, owner, parts.players)
    return WithPrefix(source, prefix, ids, parts, parts.players)


def _owners(model: AnsweringModel, prefix: str, parts: Parts, count: int) -> IntArray:
    """For each token of the prefix the number of its part."""
    row = model.tokenizer(text_target=prefix, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    spans = row["offset_mapping"]
    owner = np.full(count, -1)
    for t, (a, b) in enumerate(spans):
        seen = {who for (_, c, d), who in zip(parts.spans, parts.owner, strict=True) if prefix[max(a, c) : min(b, d)].strip()}
        if len(seen) > 1:
            raise InvalidInput(
                f"the tokenizer merges {prefix[a:b]!r} across two parts of the prefix; "
                "use removal='rebuild' or players='token'",
                code="unsupported",
            )
        owner[t] = seen.pop() if seen else -1
    return owner
