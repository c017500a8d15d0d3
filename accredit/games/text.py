"""A text as a game: which tokens, words or sentences earn the model's output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
import torch

from accredit import defaults
from accredit.checks.arguments import check_arguments
from accredit.core import BoolArray, FloatArray
from accredit.core.rounding import nearly
from accredit.errors import InvalidInput
from accredit.games.batches import MEMORY, rows_that_fit, spans, spans_by_length, transformer_bytes
from accredit.games.parts import PartsGame
from accredit.models.encoded import Encoded, Text
from accredit.models.partition import Partition
from accredit.models.payoffs import Payoff, check_payoff, name_payoff
from accredit.models.short_passes import first_token_only, look_up
from accredit.models.state import device_of
from accredit.models.text import TextModel, TokenBatch

REMOVALS = ("mask", "delete", "attention", "pad", "zero")


class _Short(NamedTuple):
    """Whether the first block is looked up, and whether the last one is computed only where it is read."""

    first_block: bool
    last_block: bool


@final
class TextGame(PartsGame):
    """v(S) = payoff of the text in which only the players of S are left.

    How the others leave (`removal`): "mask" puts the tokenizer's mask token in their place; "delete" closes the gap;
    "attention" keeps them in place but nobody may attend to them; "pad" and "zero" put the pad token's embedding or
    zeros in place of their word embedding (positions stay). Special tokens are not players: they always stay.

    Under "delete" a text with nothing left (the empty coalition, where the tokenizer adds no special tokens) is read as one
    beginning-of-text token.

    >>> from accredit.models import builtin, load_text_model
    >>> game = text_game(load_text_model(builtin.text_folder()), "A gripping film.", players="word")
    >>> game, game.removal
    (TextGame(4 players, log-odds of 'POSITIVE', removal by mask), 'mask')
    """

    model: TextModel

    def __init__(
        self,
        model: TextModel,
        encoded: Encoded,
        partition: Partition,
        removal: str,
        payoff: Payoff,
        target: int,
        memory: float,
    ) -> None:
        check_payoff(payoff, model.law, model.classes)
        self.model, self.encoded, self.partition = model, encoded, partition
        self.removal, self.payoff_name, self.target = removal, name_payoff(payoff), target
        self._payoff = payoff
        self._device = device_of(model.model)
        self._replacement = self._substitute()
        vocabulary = 0 if model.task == "classify" else model.classes
        width = next((p.element_size() for p in model.model.parameters()), 4)
        row = transformer_bytes(model.model.config.get_text_config(), len(encoded), vocabulary, width)
        self.rows = rows_that_fit(row, memory, len(encoded), self._device.type)

    @property
    def _whole(self) -> Encoded:
        return self.encoded

    def _earn(self, kept: BoolArray, targets: tuple[int, ...]) -> FloatArray:
        earned = self._by_deletion if self.removal == "delete" else self._in_place
        with self.model.hold(), torch.inference_mode(), self._passes(self._short):
            return earned(kept, targets)

    @contextmanager
    def _passes(self, short: _Short) -> Iterator[None]:
        """The model's own passes, or the same without what need not be computed."""
        with ExitStack() as ways:
            if short.first_block:
                both = self._standing(np.stack([np.full(len(self.encoded), stays) for stays in (True, False)]))
                types = None if both.types is None else both.types.expand(2, -1)
                given = {"input_ids": both.ids, "inputs_embeds": both.embeddings, "token_type_ids": types}
                ways.enter_context(look_up(self.model.model, **given))
            if short.last_block:
                ways.enter_context(first_token_only(self.model.model))
            yield

    @cached_property
    def _short(self) -> _Short:
        """What may be left out of a pass, tried on texts with gaps and padding."""
        in_place, reads_first = self.removal != "delete", self.model.task == "classify" and self.model.head is None
        tried = [_Short(in_place, reads_first), _Short(in_place, False), _Short(False, reads_first)]
        return next((short for short in tried if any(short) and self._same(short)), _Short(False, False))

    def _same(self, short: _Short) -> bool:
        """Whether short passes give the model's own outputs."""
        kept, length = self._trial(), len(self.encoded)
        plain = self._close_up(kept, length) if self.removal == "delete" else self._standing(kept)
        try:
            with self._passes(short):
                found = self.model.outputs(self._standing(kept, as_places=True) if short.first_block else plain)
        except InvalidInput:  # the blocks are built otherwise than they look
            return False
        return self._nearly(self.model.outputs(plain), found)

    def _trial(self) -> BoolArray:
        """Which tokens stay in four texts that differ much: (4, T)."""
        place = np.arange(len(self.encoded))
        half = np.stack([place < len(place) // 2, place >= len(place) // 2, place % 2 == 0, place < 0])
        return half | self.encoded.special

    @property
    def provenance(self) -> dict[str, object]:
        """What the payoffs rest on."""
        return {
            "model": self.model.name,
            "architecture": type(self.model.model).__name__,
            "text": self.encoded.text,
            "pair": self.encoded.pair,
            "target": self.model.label(self.target),
            "payoff": self.payoff_name,
            "removal": self.removal,
            "cut": self.encoded.cut,
        }

    def fingerprint_parts(self) -> dict[str, object]:
        """What decides the payoffs, for a journal of them."""
        return {
            "model": self.model.model,
            "ids": self.encoded.ids,
            "prefix": self.encoded.prefix,
            "types": self.encoded.types,
            "owner": self.partition.owner,
            "removal": self.removal,
            "payoff": self._payoff,
            "target": self.target,
        } | ({} if self.model.head is None else {"head": self.model.head.decided_by})

    def __repr__(self) -> str:
        label = self.model.label(self.target)
        return f"TextGame({len(self.players)} players, {self.payoff_name} of {label!r}, removal by {self.removal})"

    def _substitute(self) -> int:
        """The id that stands in for removed tokens."""
        tokenizer = self.model.tokenizer
        if self.removal == "mask":
            if not self.model.masks:
                raise InvalidInput(
                    f"{self.model.name} has no mask token that it knows; use removal='delete', 'attention', 'pad' or 'zero'",
                    argument="removal",
                    code="unsupported",
                )
            return int(tokenizer.mask_token_id)
        if self.removal == "attention" and not self.encoded.special.any():
            raise InvalidInput(
                f"removal='attention' needs a token that always stays, and {self.model.name} adds none; use removal='delete'",
                argument="removal",
                code="unsupported",
            )
        if self.removal == "attention" and "attention_mask" not in self.model.takes:
            raise InvalidInput(
                f"removal='attention' needs a model with an attention mask, and {self.model.name} has none",
                argument="removal",
                code="unsupported",
            )
        if self.removal == "delete" and self.model.head is not None and self.model.head.in_place:
            raise InvalidInput(
                f"removal='delete' moves tokens, and {self.model.labels[0]!r} is read at a fixed one; use removal='mask', "
                "'attention', 'pad' or 'zero'",
                argument="removal",
                code="unsupported",
            )
        if self.removal == "delete":
            start = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id)
            return int(next((token for token in start if token is not None), 0))
        return self.model.padding()

    def _in_place(self, kept: BoolArray, targets: tuple[int, ...]) -> FloatArray:
        """Payoffs of texts that keep their length: (batch, T) -> (batch, targets)."""
        earned = np.empty((len(kept), len(targets)))
        for part in spans(len(kept), self.rows):
            earned[part] = self._worth(self._standing(kept[part], self._short.first_block), kept[part], targets)
        return earned

    def _standing(self, kept: BoolArray, as_places: bool = False) -> TokenBatch:
        """Texts whose tokens stay in place, or others in theirs: (batch, T). `as_places`: of the whole text (0 … T-1) or of
        the one in which all have left (T … 2T-1)."""
        stays = torch.from_numpy(kept).to(self._device)
        everywhere = torch.ones_like(stays, dtype=torch.int64)
        unseen = self.removal == "attention"
        there = everywhere.bool() if unseen else stays
        ids = torch.from_numpy(self.encoded.ids).to(self._device)
        whole = torch.arange(len(ids), device=self._device) if as_places else ids
        gone = whole + len(ids) if as_places else self._replacement
        vectors = None
        if self.removal in ("pad", "zero") and not as_places:
            vectors = torch.where(there[..., None], self.model.embed(ids), self.model.absent(self.removal))
        return TokenBatch(
            ids=torch.where(there, whole, gone) if vectors is None else None,
            embeddings=vectors,
            attends=stays.long() if unseen else everywhere,
            read=self.model.read(self.encoded, len(stays)),
            prefix=torch.from_numpy(self.encoded.prefix).to(self._device),
            types=self.model.types(self.encoded),
        )

    def _by_deletion(self, kept: BoolArray, targets: tuple[int, ...]) -> FloatArray:
        """Payoffs of texts that shrink: texts of similar length share a batch, where padding changes nothing."""
        lengths = np.maximum(kept.sum(axis=1), 1)
        earned = np.empty((len(kept), len(targets)))
        for rows in spans_by_length(lengths, self.rows * len(self.encoded), even=self._padding_matters):
            earned[rows] = self._worth(self._close_up(kept[rows], int(lengths[rows].max())), kept[rows], targets)
        return earned

    @cached_property
    def _padding_matters(self) -> bool:
        """Whether padding a short text changes its payoff, so that only texts of equal length may share a batch.

        A causal model is read at its last token, which padding would hide. Convolutions over neighbours (ConvBERT,
        MobileBERT) see padding, and a model without an attention mask (FNet) reads it like any token.
        """
        if self.model.task == "continue":
            return True
        kept = self._trial()
        padded = self.model.outputs(self._close_up(kept, len(self.encoded)))
        alone = torch.cat([self.model.outputs(self._close_up(k[None], max(int(k.sum()), 1))) for k in kept])
        return not self._nearly(alone, padded)

    def _close_up(self, kept: BoolArray, longest: int) -> TokenBatch:
        """The kept tokens of each row moved left, then padding that is masked: (batch, T) -> (batch, longest)."""
        order = np.argsort(~kept, axis=1, kind="stable")[:, :longest]  # kept positions first, in order
        attends = np.take_along_axis(kept, order, axis=1)
        ids = np.where(attends, self.encoded.ids[order], self.model.padding())
        bare = ~attends.any(axis=1)
        ids[bare, 0], attends[bare, 0] = self._replacement, True
        types = None if self.encoded.types is None else np.where(attends, self.encoded.types[order], 0)
        return TokenBatch(
            ids=torch.from_numpy(ids).to(self._device),
            attends=torch.from_numpy(attends.astype(np.int64)).to(self._device),
            read=self._mask_after(kept),
            prefix=torch.from_numpy(self.encoded.prefix).to(self._device),
            types=None if types is None else torch.from_numpy(types).to(self._device),
        )

    def _mask_after(self, kept: BoolArray) -> torch.Tensor | None:
        """Where the mask of a masked language model stands once the gaps before it are closed: (batch,)."""
        if self.model.task != "fill":
            return None
        return torch.from_numpy(kept[:, : self.encoded.read].sum(axis=1)).to(self._device)

    def _worth(self, batch: TokenBatch, kept: BoolArray, targets: tuple[int, ...]) -> FloatArray:
        return self._pay(self.model.outputs(batch).cpu(), kept, targets)

    def _nearly(self, outputs: torch.Tensor, others: torch.Tensor) -> bool:
        return nearly(outputs.double().cpu().numpy(), others.double().cpu().numpy(), self.model.precision)


@check_arguments
def text_game(
    model: TextModel,
    text: Text | Encoded,
    *,
    players: str | Mapping[str, Iterable[int]] = defaults.PLAYERS_OF_TEXTS,
    removal: str | None = None,
    payoff: Payoff | None = None,
    target: str | int | None = None,
    memory: float = MEMORY,
) -> TextGame:
    """The game in which the parts of a text, or of a pair of texts, earn the model's output for one target.

    `players` are "word", "token", "sentence" or named groups of token positions (the rest play for themselves).
    `removal` is by default the mask token, or deletion where the tokenizer has none (the pad token where the output is read at
    a fixed position). `payoff` is one of `accredit.models.payoffs`, by default log-odds, of `target`: a label or token, an
    index, or None for what the model predicts; or a function of the model's outputs, (batch, classes) -> (batch,).
    `memory` bounds the bytes of activations in one forward pass.

    >>> from accredit.models import builtin, load_text_model
    >>> game = text_game(load_text_model(builtin.text_folder()), "A gripping film.", players="word", payoff="probability")
    >>> game.players
    ('A', 'gripping', 'film', '.')
    >>> everyone, dull = game.payoff(np.array([[True, True, True, True], [True, False, True, True]]))
    >>> bool(everyone > dull)
    True
    """
    encoded = text if isinstance(text, Encoded) else model.encode(text)
    if removal is None:
        stays = model.head is not None and model.head.in_place
        removal = "mask" if model.masks else "pad" if stays else "delete"
    if removal not in REMOVALS:
        raise InvalidInput(f"removal is {removal!r}; write one of {', '.join(REMOVALS)}", argument="removal", code="unknown")
    paid = payoff or defaults.payoff(model.law)
    return TextGame(model, encoded, encoded.partition(players), removal, paid, model.target(target, encoded), memory)
