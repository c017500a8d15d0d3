"""Forward passes that pay every token of an answer, each common beginning of the prompts read once.

Rows of a causal model are read along the tree of their common beginnings, depth first in blocks: a block's keys and values
are kept until the rows that go on from it are read. Rows of one block are padded on the left; every token carries its own
position, and a mask made from positions says which keys it sees. So a token that was removed "by attention" is simply left
out while the others keep their positions, and a sliding window counts positions, not places in the batch. Where rows go on,
only keys and values are wanted, so the pass ends as soon as the last layer has made them.

Whether a model reads rows in this way is tried out first, against its own plain call. One that does not (flash kernels,
state-space layers, positions counted from the mask) is read in its own way, rows of equal length together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from accredit.answers.model import AnsweringModel
from accredit.answers.prefixes import WORTH_KEEPING, Enough, PrefixCache, PrefixNode, Room, States, prefix_tree
from accredit.checks import optional_whole
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.rounding import nearly
from accredit.errors import AccreditError, BadPayoff, InvalidInput
from accredit.games.batches import (
    CACHE_TOKENS,
    MEMORY,
    ROWS_PER_PASS,
    report,
    reporting,
    spans_by_length,
    transformer_bytes,
)
from accredit.models.state import device_of, precision_of_module

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

HOLE = -1  # the position of padding
WORTH_A_PASS = 32  # tokens before an answer that are read on their own, without the last layer's output
NOTHING = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Row:
    """One prompt with one answer. Tokens may be missing: `positions` are their places in `whole`."""

    ids: IntArray  # (T,) the prompt as far as it is seen
    positions: IntArray  # (T,)
    answer: IntArray  # (A,)
    whole: IntArray | None = None  # the prompt with what is not seen; None: nothing is missing
    said: IntArray = field(default_factory=lambda: NOTHING)  # (P,) what an encoder–decoder has said before the answer
    unseen: BoolArray | None = None  # (P,) what of that is not seen; None: all of it is

    @property
    def read(self) -> IntArray:
        """The ids that a causal model reads: all but the last token of the answer."""
        return np.concatenate([self.ids, self.answer[:-1]])

    @property
    def places(self) -> IntArray:
        """The position of each of them."""
        after = len(self.ids if self.whole is None else self.whole)
        return np.concatenate([self.positions, after + np.arange(len(self.answer) - 1)])


def row_of(prompt: IntArray, answer: IntArray) -> Row:
    """A prompt of which nothing is missing."""
    return Row(prompt, np.arange(len(prompt)), answer)


class Reader:
    """Log-probabilities of answers from forward passes within `memory` bytes, at most `batch` rows at once."""

    def __init__(self, model: AnsweringModel, memory: float = MEMORY, batch: int | None = None) -> None:
        if not memory > 0:
            raise InvalidInput(f"memory is {memory!r}; give a positive number of bytes", argument="memory", code="range")
        optional_whole(batch, "batch", example=32)
        self.model, self.memory, self.batch = model, memory, batch
        self._device = device_of(model.model)
        self._config = model.model.config.get_text_config(decoder=True)
        self.tokens = 0  # tokens given to the model so far, padding included
        self.largest = 0.0  # magnitude of a logit seen so far

    def log_probabilities(self, rows: Sequence[Row]) -> list[FloatArray]:
        """For each row, the log-probability of each token of its answer after those before it: (A,) each."""
        if not rows:
            return []
        with self.model.hold(), torch.inference_mode():
            return self._reading(self.way(rows))(rows)

    def way(self, rows: Sequence[Row]) -> str:
        """How rows like these are read: the quickest way that gives the model's own numbers on two of unequal length."""
        case = (
            str(getattr(self.model.model.config, "_attn_implementation", "eager")),
            any(r.whole is not None or r.unseen is not None for r in rows),
        )
        if case not in self.model.ways:
            some = _unlike(rows)
            if len(some) < 2:
                return "plain"
            wanted = "padded" if self.model.encodes else "shared"
            self.model.ways[case] = wanted if self._agrees(some, wanted, case[0]) else "plain"
        return self.model.ways[case]

    def _reading(self, way: str, worth: int = WORTH_KEEPING) -> Callable[[Sequence[Row]], list[FloatArray]]:
        if way == "shared":
            return lambda rows: self._along_the_tree(rows, worth)
        return lambda rows: self._side_by_side(rows, even=way == "plain")

    def _agrees(self, some: list[Row], way: str, kernel: str) -> bool:
        if way == "shared" and kernel not in ("eager", "sdpa"):
            return False
        with self.model.hold(), torch.inference_mode(), reporting(lambda rows: None):
            own = np.concatenate([self._reading("plain")([row])[0] for row in some])
            try:
                found = np.concatenate(self._reading(way, worth=1)(some))
            except AccreditError:
                return False
        return nearly(own, found, precision_of_module(self.model.model))

    # A causal model, common beginnings once

    def _along_the_tree(self, rows: Sequence[Row], worth: int) -> list[FloatArray]:
        ids, places = [row.read for row in rows], [row.places for row in rows]
        tree = prefix_tree([i << 32 | p for i, p in zip(ids, places, strict=True)], [len(r.answer) for r in rows], worth)
        found: list[FloatArray] = [np.zeros(0)] * len(rows)
        deep = tree.depth
        waiting: list[tuple[list[PrefixNode], list[int], States | None]] = []  # nodes, the row of each parent, parents' states
        waiting += self._blocks(tree.children, [0] * len(tree.children), None, rows, deep)
        while waiting:
            block, parents, states = waiting.pop()
            ends = not block[0].children
            answer = len(rows[block[0].row].answer) if ends else 0
            logits, now = self._onward(
                [ids[n.row][n.start : n.stop] for n in block],
                [places[n.row][n.start : n.stop] for n in block],
                states,
                parents,
                answer,
            )
            if ends:
                said = np.stack([rows[n.row].answer for n in block])
                for node, earned in zip(block, self._log_probability(logits, said), strict=True):
                    found[node.row] = earned
                report(len(block))
            else:
                below = [(child, i) for i, node in enumerate(block) for child in node.children]
                waiting += self._blocks([c for c, _ in below], [i for _, i in below], now, rows, deep)
        return found

    def _blocks(
        self, nodes: list[PrefixNode], parents: list[int], states: States | None, rows: Sequence[Row], deep: int
    ) -> list[tuple[list[PrefixNode], list[int], States | None]]:
        """Nodes with the same parents' states dealt into blocks: ends and others apart, answers of one length together."""
        kinds: dict[int, list[int]] = {}
        for i, node in enumerate(nodes):
            kinds.setdefault(0 if node.children else len(rows[node.row].answer), []).append(i)
        blocks = []
        for answer, members in kinds.items():
            lengths = np.array([len(nodes[i]) for i in members])
            keys = max(nodes[i].stop for i in members)
            most = self.rows(int(lengths.max()), keys, max(answer, 1), deep if answer == 0 or states is not None else 1)
            for part in _alike(lengths, most):
                block = [members[j] for j in part]
                blocks.append(([nodes[i] for i in block], [parents[i] for i in block], states))
        return blocks

    def rows(self, new: int, keys: int, answer: int, deep: int = 1) -> int:
        """Rows in one forward pass of `new` tokens that see `keys`, when `deep` blocks are kept at the same time."""
        width = next(p.element_size() for p in self.model.model.parameters())
        one = pass_bytes(self._config, new, keys, answer, width, deep)
        most = CACHE_TOKENS // max(new, 1) if self._device.type == "cpu" else ROWS_PER_PASS
        return int(max(1, min(most, self.memory // one, self.batch or ROWS_PER_PASS)))

    def _onward(
        self, ids: list[IntArray], places: list[IntArray], past: States | None, parents: list[int], answer: int
    ) -> tuple[torch.Tensor, States]:
        """Read new tokens after the states of their parents: logits of the last `answer` of them (B, answer, V), states.

        What comes before an answer is read first if that is worth a pass of its own: its pass ends early, see `Enough`.
        """
        new = max(len(i) for i in ids)
        tokens = self._on_the_left(ids, new, self.model.padding())
        positions = seen = self._on_the_left(places, new, HOLE)
        rooms: list[Room] = []
        if past is not None:
            rows = torch.tensor(parents, device=self._device)
            before = past.positions[rows]
            used = (before >= 0).any(dim=0)  # places where all rows have padding are dropped
            whole = bool(used.all())
            layers = past.layers if whole else [(k[:, :, used], v[:, :, used]) for k, v in past.layers]
            rooms = [Room(keys, values, rows, new) for keys, values in layers]
            seen = torch.cat([before if whole else before[:, used], positions], dim=1)
        cache = PrefixCache(rooms, int(getattr(self._config, "num_hidden_layers", 0)))
        split = new - answer if answer and new - answer >= WORTH_A_PASS else 0
        if split:
            self._step(tokens[:, :split], positions[:, :split], seen[:, :-answer], cache, 0)
        logits = self._step(tokens[:, split:], positions[:, split:], seen, cache, answer)
        return logits, States([(layer.keys, layer.values) for layer in cache.layers], seen)

    def _step(
        self, tokens: torch.Tensor, positions: torch.Tensor, seen: torch.Tensor, cache: PrefixCache, answer: int
    ) -> torch.Tensor:
        """One pass: logits of the last `answer` tokens, or none, when only their states are wanted."""
        given = {
            "input_ids": tokens,
            "position_ids": positions.clamp(min=0),
            "past_key_values": cache,
            "use_cache": True,
            "attention_mask": self._masks(positions, seen),
        }
        cache.begin(states_only=not answer)
        with suppress(Enough):
            return self._logits(given, max(answer, 1))
        return torch.empty(0)

    def _on_the_left(self, rows: list[IntArray], length: int, filler: int) -> torch.Tensor:
        """Rows padded on the left: (B, length)."""
        padded = np.full((len(rows), length), filler, dtype=np.int64)
        for row, values in zip(padded, rows, strict=True):
            row[length - len(values) :] = values
        return torch.from_numpy(padded).to(self._device)

    def _masks(self, asking: torch.Tensor, seen: torch.Tensor) -> torch.Tensor | dict[str, torch.Tensor]:
        """What is added to attention scores: 0 where a token sees a key, else the lowest number; (B, 1, S, L).

        Models that mix kinds of layers take one mask for each kind.
        """
        if bool((seen == seen[:1]).all()):  # rows without padding see alike
            asking, seen = asking[:1], seen[:1]
        sees = (seen[:, None, :] >= 0) & (seen[:, None, :] <= asking[:, :, None])
        sees[:, :, -asking.shape[1] :] |= torch.eye(asking.shape[1], dtype=torch.bool, device=seen.device)
        window = getattr(self._config, "sliding_window", None)
        kinds = set(getattr(self._config, "layer_types", None) or ())
        if not window or kinds == {"full_attention"}:
            return self._mask_scores(sees)
        near = self._mask_scores(sees & (asking[:, :, None] - seen[:, None, :] < window))
        return near if not kinds else {"full_attention": self._mask_scores(sees), "sliding_attention": near}

    def _mask_scores(self, sees: torch.Tensor) -> torch.Tensor:
        dtype = next(self.model.model.parameters()).dtype
        return torch.zeros(sees.shape, dtype=dtype, device=sees.device).masked_fill_(~sees, torch.finfo(dtype).min)[:, None]

    # Rows side by side, as the model's own call has them

    def _side_by_side(self, rows: Sequence[Row], even: bool) -> list[FloatArray]:
        """Rows read without any sharing; if `even`, only rows of equal length together, so that none is padded."""
        found: list[FloatArray] = [np.zeros(0)] * len(rows)
        for answer, said in sorted({(len(row.answer), len(row.said)) for row in rows}):
            members = np.array([i for i, r in enumerate(rows) if (len(r.answer), len(r.said)) == (answer, said)])
            lengths = np.array([self._length(rows[i]) for i in members])
            most = self.rows(int(lengths.max()), int(lengths.max()), answer) * int(lengths.max())
            for part in spans_by_length(lengths, most, even=even):
                block = members[part]
                logits = self._logits(self._plain([rows[i] for i in block]), answer)
                for i, earned in zip(
                    block, self._log_probability(logits, np.stack([rows[i].answer for i in block])), strict=True
                ):
                    found[i] = earned
        return found

    def _length(self, row: Row) -> int:
        prompt = len(row.ids if row.whole is None else row.whole)
        return prompt if self.model.encodes else prompt + len(row.answer) - 1

    def _plain(self, rows: list[Row]) -> dict[str, Any]:
        """What the model's own call is given: ids, a mask where tokens are missing or padded, the answer so far."""
        length = max(self._length(row) for row in rows)
        ids = np.full((len(rows), length), self.model.padding(), dtype=np.int64)
        sees = np.zeros((len(rows), length), dtype=np.int64)
        for r, row in enumerate(rows):
            whole = row.ids if row.whole is None else row.whole
            said = row.answer[:0] if self.model.encodes else row.answer[:-1]
            ids[r, : len(whole) + len(said)] = np.concatenate([whole, said])
            sees[r, row.positions] = 1
            sees[r, len(whole) : len(whole) + len(said)] = 1
        given: dict[str, Any] = {"input_ids": torch.from_numpy(ids).to(self._device), "use_cache": False}
        if not sees.all():
            given["attention_mask"] = torch.from_numpy(sees).to(self._device)
        if self.model.encodes:
            said = np.stack([np.concatenate([self.model.start, row.said, row.answer[:-1]]) for row in rows])
            given["decoder_input_ids"] = torch.from_numpy(said).to(self._device)
            if any(row.unseen is not None for row in rows):
                given["decoder_attention_mask"] = torch.from_numpy(self._hear(rows, said.shape[1])).to(self._device)
        return given

    def _hear(self, rows: list[Row], length: int) -> IntArray:
        """Which tokens of the decoder are seen: (B, length)."""
        heard, first = np.ones((len(rows), length), dtype=np.int64), len(self.model.start)
        for r, row in enumerate(rows):
            if row.unseen is not None:
                heard[r, first : first + len(row.said)] = ~row.unseen
        return heard

    def _logits(self, given: dict[str, Any], answer: int) -> torch.Tensor:
        """Logits of the last `answer` positions: (B, answer, V)."""
        self.tokens += given["input_ids"].numel()
        return self.model.logits(given, answer)

    def _log_probability(self, logits: torch.Tensor, said: IntArray) -> FloatArray:
        """Log-probabilities of the tokens said: (B, A, V), (B, A) -> (B, A)."""
        z = logits if logits.device.type == "mps" else logits.double()
        self.largest = max(self.largest, float(z.abs().max()))
        chosen = torch.from_numpy(said).to(z.device)[..., None]
        found: FloatArray = (z.gather(-1, chosen)[..., 0] - z.logsumexp(-1)).double().cpu().numpy()
        if not np.isfinite(found).all():
            kind = (
                "float16 overflows easily: load it with dtype float32" if logits.dtype == torch.float16 else "check its weights"
            )
            raise BadPayoff(
                f"{self.model.name} gives an answer token the log-probability {found[~np.isfinite(found)][0]}; {kind}",
                code="not-finite",
            )
        return found


def _unlike(rows: Sequence[Row]) -> list[Row]:
    """The longest row and the shortest. Where all are equally long, what comes second is the longest without its first half,
    so that padding is tried; only the longest, where its prompt has one token."""
    longest, shortest = max(rows, key=lambda row: len(row.ids)), min(rows, key=lambda row: len(row.ids))
    if len(shortest.ids) < len(longest.ids):
        return [longest, shortest]
    half = len(longest.ids) // 2
    if half == 0:
        return [longest]
    ids, positions = longest.ids[half:], longest.positions[half:]
    return [longest, replace(longest, ids=ids, positions=positions if longest.whole is not None else positions - half)]


def _alike(lengths: IntArray, most: int) -> Iterator[IntArray]:
    """Members in blocks of at most `most`, lengths in a block within a quarter of its longest (or eight tokens)."""
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        longest = int(lengths[order[start]])
        stop = start + 1
        while stop < len(order) and stop - start < most and longest - lengths[order[stop]] <= max(8, longest // 4):
            stop += 1
        yield order[start:stop]
        start = stop


def pass_bytes(config: PreTrainedConfig, new: int, keys: int, answer: int, width: int, deep: int = 1) -> float:
    """Peak bytes of one row: activations of the new tokens, logits at answer positions only, states of `deep` blocks.

    Keys and values count twice in the pass that reads them, once as given and once with the new ones behind.
    """
    layers = float(getattr(config, "num_hidden_layers", 12))
    heads = float(getattr(config, "num_attention_heads", 8))
    hidden = float(getattr(config, "hidden_size", 512))
    groups = float(getattr(config, "num_key_value_heads", None) or heads)
    size = float(getattr(config, "head_dim", None) or hidden / heads)
    states = width * 2 * layers * groups * size * keys
    scores = width * new * (heads + 2) * keys
    logits = answer * float(getattr(config, "vocab_size", 1)) * (width + 16)
    return transformer_bytes(config, new, 0, width) + scores + logits + states * (deep + 1)
