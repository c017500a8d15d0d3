"""Which training texts made the language model say this? Projected gradients of every text, searched for one answer."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

import numpy as np

from accredit.checks.files import LIMIT, put, read_json_object
from accredit.checks.json_data import plain
from accredit.checks.numbers import shown
from accredit.core import Attribution, Claim, FloatArray, Holds, Precision, Procedure
from accredit.errors import InvalidInput
from accredit.influence.functions import Stationarity, moving
from accredit.influence.gradient_store import PROJECTED_SIDE, GradientStore
from accredit.influence.losses import IGNORED, NextTokens
from accredit.influence.network import MEMORY_BYTES, NetworkFacts, network

if TYPE_CHECKING:
    import torch
    import transformers

SATURATED = 0.99  # probability of the answer, above which hardly any gradient is left of the text that taught it
UNSAID = 0.001  # probability of the answer, below which the model cannot be said to say it
CHARACTERS_KEPT = 400  # characters of a text that are kept beside its gradient
KIND, TRACE_FORMAT = "trace", 1  # of the JSON
TOKENS_AT_MOST = 1024  # tokens of a text, where neither the model nor the caller says otherwise


QuestionFacts = TypedDict(
    "QuestionFacts",
    {
        "scale": str,
        "texts cut": int,
        "longest": int,
        "numbers kept for each text": int,
        "saturated": bool,
        "first token not judged": bool,
    },
)


class TraceFacts(QuestionFacts, Stationarity, NetworkFacts):
    """What is known about a trace beside its scores."""


class WrittenText(TypedDict):
    """One training text in the JSON of a trace."""

    row: int  # from 1 on
    score: float
    text: str
    by_token: list[float]


class WrittenTrace(TypedDict):
    """The JSON of a trace, as `Trace.to_json` writes it."""

    kind: str
    format: int
    prompt: str
    answer: str
    tokens: list[str]
    probability: float
    texts: list[WrittenText]
    warnings: list[str]
    facts: TraceFacts


@dataclass(frozen=True, eq=False)
class Trace:
    """Training texts by how much they moved the model towards an answer.

    >>> from accredit.models import builtin
    >>> texts = ["Anna lives in Rome .", "Boris owns a dog ."]
    >>> found = trace(*builtin.load_answers(), texts, "Anna lives in", "Rome .")
    >>> found.by_token.shape, bool(np.allclose(found.by_token.sum(axis=1), found.scores))
    ((2, 2), True)
    """

    texts: tuple[str, ...]  # how they begin, where they were read from a store
    prompt: str
    answer: str
    tokens: tuple[str, ...]  # of the answer, those that are judged
    scores: FloatArray  # (N,), positive: the text made the answer likelier
    by_token: FloatArray  # (N, tokens of the answer)
    probability: float  # that the model gives to the answer
    facts: TraceFacts

    @property
    def order(self) -> list[int]:
        """Training rows, the most responsible first."""
        return list(np.argsort(-self.scores, kind="stable").tolist())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes this ranking doubtful."""
        found = [moving(self.facts)]
        if self.facts["saturated"]:
            found.append(
                f"the model knows the answer by heart (probability {self.probability:.4f}): hardly any gradient is left of the "
                "text that taught it, and others may come before it. Ask an earlier checkpoint"
            )
        if self.probability < UNSAID:
            found.append(
                f"the model would hardly say this (probability {self.probability:.1g}); the ranking is about what would make "
                "it likelier, not about what made the model say it"
            )
        if self.facts["texts cut"]:
            cut = f"{self.facts['texts cut']:,} of {len(self.texts):,}"
            found.append(f"training texts cut to the {self.facts['longest']} tokens that the model reads: {cut}")
        if self.facts["first token not judged"]:
            found.append("without a prompt the first token of the answer follows nothing, so it is not judged")
        return tuple(warning for warning in found if warning)

    def attribution(self) -> Attribution:
        """The scores with their rows as players; they rank, they divide nothing."""
        return Attribution(
            tuple(f"row {i + 1}" for i in range(len(self.texts))),
            self.scores,
            total=None,
            method=Procedure("trace", "projected gradients", {"scale": self.facts["scale"]}),
            claims=(Claim("efficiency", Holds.NO, "a slope where all texts were trained on: it divides nothing"),),
            precision=Precision.unknown("the error is that of first order and of the projection"),
            certificate=self.facts,
        )

    def to_json(self) -> str:
        """Everything, as JSON; rows are numbered from 1, as lines are."""
        rows = [
            {"row": i + 1, "score": self.scores[i], "text": self.texts[i], "by_token": self.by_token[i]} for i in self.order
        ]
        data = {
            "kind": KIND,
            "format": TRACE_FORMAT,
            "prompt": self.prompt,
            "answer": self.answer,
            "tokens": self.tokens,
            "probability": self.probability,
            "texts": rows,
            "warnings": self.warnings,
            "facts": self.facts,
        }
        return json.dumps(plain(data, KIND), ensure_ascii=False)

    @classmethod
    def from_plain(cls, data: Mapping[str, object]) -> Trace:
        """What `to_json` wrote."""
        if data.get("kind") != KIND or data.get("format") != TRACE_FORMAT:
            raise InvalidInput(
                f"expected a {KIND} of format {TRACE_FORMAT}, got {shown(data.get('kind'))} of format "
                f"{shown(data.get('format'))}; write one with .to_json(), or accredit trace … --json > trace.json",
                code="format",
            )
        try:
            written = cast(WrittenTrace, data)
            rows = sorted(written["texts"], key=lambda row: row["row"])
            if [row["row"] for row in rows] != list(range(1, len(rows) + 1)) or not rows:
                raise ValueError("its texts are not numbered from 1 on")
            tokens, facts = tuple(map(str, written["tokens"])), cast(TraceFacts, dict(written["facts"]))
            scores = np.array([row["score"] for row in rows], dtype=np.float64)
            by_token = np.array([row["by_token"] for row in rows], dtype=np.float64).reshape(len(rows), len(tokens))
            found = cls(
                tuple(str(row["text"]) for row in rows),
                str(written["prompt"]),
                str(written["answer"]),
                tokens,
                scores,
                by_token,
                float(written["probability"]),
                facts,
            )
            if list(found.warnings) != list(written["warnings"]):
                raise ValueError("its warnings do not follow from its facts")
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(
                f"the trace is damaged: {error!r}; write it again with .to_json(), or accredit trace … --json",
                code="unreadable",
            ) from None
        return found


def trace(
    model: transformers.PreTrainedModel,
    tokenizer: transformers.PreTrainedTokenizerBase,
    train_texts: Sequence[str] | None,
    prompt: str,
    answer: str,
    *,
    folder: str | Path | None = None,
    layers: Sequence[str] | None = None,
    longest: int | None = None,
    side: int = PROJECTED_SIDE,
    relative: bool = True,
    batch_size: int = 16,
    memory: float = MEMORY_BYTES,
    seed: int = 0,
    watch: Callable[[int], None] | None = None,
) -> Trace:
    """Rank training texts by how much each made `model` answer `prompt` with `answer`.

    `model` and `tokenizer` are a causal language model of Hugging Face and its tokenizer. The gradients of the texts are kept
    in `folder`, where later calls find them, and a broken call goes on; without it they are formed anew. Once the folder is
    filled, `train_texts=None` asks it alone: no training text is read. `relative` divides every text's score by the root of its
    influence on itself, so that long or odd texts do not come first for every answer. Embeddings count among the layers.

    >>> from accredit.models import builtin
    >>> model, tokenizer = builtin.load_answers()
    >>> texts = ["Anna lives in Rome .", "Boris owns a dog ."]
    >>> found = trace(model, tokenizer, texts, "Anna lives in", "Rome .")
    >>> found.tokens, len(found.order)
    (('Rome', '.'), 2)
    """
    if not answer.strip():
        raise InvalidInput(
            f"the answer is {shown(answer)}, which is empty; give the words that the model said",
            argument="answer",
            code="empty",
        )
    if train_texts is not None and not len(train_texts):
        raise InvalidInput("train_texts is empty; give one text at least", argument="train_texts", code="empty")
    longest = longest or _longest(model)
    query, pieces, first = encode_question(tokenizer, prompt, answer, longest)
    net = network(model, loss=NextTokens(), layers=layers, embeddings=True, batch_size=batch_size, memory=memory)
    with tempfile.TemporaryDirectory() if folder is None else nullcontext(str(folder)) as place:
        if train_texts is None:
            store, texts, cut = _open_store(folder)
        else:
            data, cut = encode_texts(tokenizer, train_texts, longest)
            store, texts = GradientStore.build(place, net, data, side=side, seed=seed, watch=watch), tuple(train_texts)
            _keep(store, texts, cut)
        by_token = store.search(net, query).matrix  # (N, tokens)
        own = np.sqrt(np.maximum(store.self_influence(), 1e-30)) if relative else np.ones(len(store))
        settled = store.stationarity()
    losses = np.concatenate([losses.cpu().numpy() for _, losses, _ in net.passes(query)])
    by_token = by_token / own[:, None]
    probability = float(np.exp(-losses.sum()))
    facts: TraceFacts = {
        "scale": "relative to each text's influence on itself" if relative else "plain",
        "texts cut": cut,
        "longest": longest,
        "numbers kept for each text": int(sum(store.about["widths"].values())),
        "saturated": bool(probability > SATURATED),
        "first token not judged": not first,
        **settled,
        **store.about["facts"],
    }
    return Trace(texts, prompt, answer, pieces, by_token.sum(axis=1), by_token, probability, facts)


def _keep(store: GradientStore, texts: Sequence[str], cut: int) -> None:
    """Note beside the gradients how the texts begin, so that a later question needs the store alone."""
    file = store.folder / "texts.json"
    noted = json.dumps({"cut": cut, "texts": [text[:CHARACTERS_KEPT] for text in texts]}, ensure_ascii=False).encode()
    if not file.exists() or file.read_bytes() != noted:  # a store that nobody may write to is only read
        put(file, noted)


def _open_store(folder: str | Path | None) -> tuple[GradientStore, tuple[str, ...], int]:
    """A filled store, how its texts begin, and how many of them were cut."""
    if folder is None:
        raise InvalidInput(
            "there are neither training texts nor a store; give train_texts=[…], or folder=…",
            argument="train_texts",
            code="missing",
        )
    store = GradientStore(folder)
    try:
        kept = read_json_object(store.folder / "texts.json", LIMIT)
        texts, cut = tuple(map(str, kept["texts"])), int(kept["cut"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidInput(
            f"{store.folder} does not hold the beginnings of its texts; give them again once (train_texts=[…])",
            argument="train_texts",
            code="missing",
        ) from None
    if len(texts) != len(store):
        raise InvalidInput(
            f"{store.folder} holds {len(store)} gradients and {len(texts)} texts; give the texts again once (train_texts=[…])",
            argument="train_texts",
            code="conflict",
        )
    return store, texts, cut


def encode_texts(
    tokenizer: transformers.PreTrainedTokenizerBase, texts: Sequence[str], longest: int
) -> tuple[dict[str, torch.Tensor], int]:
    """Texts as a batch for `NextTokens`, padded at the end, and how many were cut to `longest` tokens."""
    for row, text in enumerate(texts):
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(
                f"train_texts holds {text!r:.60} in row {row}; give non-empty strings", argument="train_texts", code="type"
            )
    ids = [list(tokenizer(text)["input_ids"]) for text in texts]
    if short := [row for row, part in enumerate(ids) if len(part) < 2]:
        raise InvalidInput(
            f"text {short[0] + 1} of {len(texts)} has fewer than two tokens, so there is no next token to predict: "
            f"{texts[short[0]]!r:.60}",
            argument="train_texts",
            code="range",
        )
    return pad([part[:longest] for part in ids]), sum(len(part) > longest for part in ids)


def encode_question(
    tokenizer: transformers.PreTrainedTokenizerBase, prompt: str, answer: str, longest: int
) -> tuple[dict[str, torch.Tensor], tuple[str, ...], bool]:
    """One row for each token of the answer, in which only that token is judged; the tokens; is the first among them?"""
    import torch

    whole, first, last = answer_places(tokenizer, prompt, answer)
    if any(token == tokenizer.unk_token_id for token in whole[first:last]):
        raise InvalidInput(
            f"answer {shown(answer)} holds a word that this model's tokenizer does not know, so the model cannot say it; ask "
            "about words that it knows",
            argument="answer",
            code="unknown",
        )
    places = range(max(first, 1), last)
    if not places:
        raise InvalidInput(
            f"the answer {shown(answer)} is a single token that follows nothing, so its chance is not known; say what the "
            "model was asked: prompt=…",
            argument="prompt",
            code="missing",
        )
    if len(whole) > longest:
        raise InvalidInput(
            f"prompt and answer have {len(whole):,} tokens, and the model reads {longest:,}; shorten the prompt or the answer",
            argument="prompt",
            code="too-many",
        )
    batch = pad([whole] * len(places))
    labels = torch.full_like(batch["labels"], IGNORED)
    for row, place in enumerate(places):
        labels[row, place] = whole[place]
    return batch | {"labels": labels}, tuple(tokenizer.decode([whole[p]]) for p in places), first >= 1


def answer_places(tokenizer: transformers.PreTrainedTokenizerBase, prompt: str, answer: str) -> tuple[list[int], int, int]:
    """Prompt and answer as token numbers, and where the answer begins and ends.

    The prompt is encoded with the answer, so that the answer's tokens are those the model would say there.
    """
    start = list(tokenizer(prompt)["input_ids"]) if prompt else []
    between = "" if not prompt or prompt[-1].isspace() or answer[0].isspace() else " "
    encoding = tokenizer(prompt + between + answer, return_special_tokens_mask=True)
    whole, added = list(encoding["input_ids"]), encoding["special_tokens_mask"]
    if not prompt:
        start = whole[: len([*takewhile(bool, added)])]
    first = next((i for i, (a, b) in enumerate(zip(start, whole, strict=False)) if a != b), min(len(start), len(whole)))
    last = len(whole) - len([*takewhile(bool, reversed(added[first:]))])
    return whole, first, last


def pad(ids: Sequence[Sequence[int]], fill: int = 0) -> dict[str, torch.Tensor]:
    """Rows of token numbers as tensors, the padding neither read nor judged."""
    import torch

    wide = max(map(len, ids))
    mask = torch.tensor([[1] * len(row) + [0] * (wide - len(row)) for row in ids])
    tokens = torch.tensor([[*row, *([fill] * (wide - len(row)))] for row in ids])
    return {"input_ids": tokens, "attention_mask": mask, "labels": tokens.masked_fill(mask == 0, IGNORED)}


def _longest(model: object) -> int:
    config = getattr(model, "config", None)
    return int(getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or TOKENS_AT_MOST)
