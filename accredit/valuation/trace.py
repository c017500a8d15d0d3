"""Which training texts made the language model say this? Projected gradients of every text, searched for one answer."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.core import Attribution, Claim, FloatArray, Holds, InvalidInput, Precision
from accredit.valuation.gradient_store import SIDE, GradientStore
from accredit.valuation.losses import IGNORED, NextTokens
from accredit.valuation.network import network

if TYPE_CHECKING:
    import torch

SATURATED = 0.99  # probability of the answer, above which hardly any gradient is left of the text that taught it
LONGEST = 1024  # tokens of a text, where neither the model nor the caller says otherwise


@dataclass(frozen=True, eq=False)
class Trace:
    """Training texts by how much they moved the model towards an answer."""

    texts: tuple[str, ...]
    prompt: str
    answer: str
    tokens: tuple[str, ...]  # of the answer
    scores: FloatArray  # (N,), positive: the text made the answer likelier
    by_token: FloatArray  # (N, tokens of the answer)
    probability: float  # that the model gives to the answer
    facts: dict[str, Any]

    @property
    def order(self) -> list[int]:
        """Training rows, the most responsible first."""
        return list(np.argsort(-self.scores, kind="stable").tolist())

    def attribution(self) -> Attribution:
        """The scores with their rows as players; they rank, they divide nothing."""
        return Attribution(
            tuple(f"row {i}" for i in range(len(self.texts))),
            self.scores,
            total=None,
            method=f"trace/projected gradients, {self.facts['scale']}",
            claims=(Claim("efficiency", Holds.NO, "a slope where all texts were trained on: it divides nothing"),),
            precision=Precision.unknown("the error is that of first order and of the projection"),
            certificate=self.facts,
        )


def trace(
    model: Any,
    tokenizer: Any,
    train_texts: Sequence[str],
    prompt: str,
    answer: str,
    *,
    folder: str | Path | None = None,
    layers: Sequence[str] | None = None,
    longest: int | None = None,
    side: int = SIDE,
    relative: bool = True,
    batch_size: int = 16,
    seed: int = 0,
) -> Trace:
    """Rank training texts by how much each made `model` answer `prompt` with `answer`.

    `model` and `tokenizer` are a causal language model of Hugging Face and its tokenizer. The gradients of the texts are kept
    in `folder`, where later calls find them; without it they are formed anew. `relative` divides every text's score by the root
    of its influence on itself, so that long or odd texts do not come first for every answer. Embeddings count among the layers.
    """
    if not train_texts or not prompt.strip() or not answer.strip():
        raise InvalidInput("trace needs training texts, a prompt and an answer; none of them may be empty")
    longest = longest or _longest(model)
    data, cut = encoded(tokenizer, train_texts, longest)
    query, pieces = asked(tokenizer, prompt, answer, longest)
    net = network(model, loss=NextTokens(), layers=layers, embeddings=True, batch_size=batch_size)
    with tempfile.TemporaryDirectory() if folder is None else nullcontext(str(folder)) as place:
        store = GradientStore.build(place, net, data, side=side, seed=seed)
        by_token = store.search(net, query).matrix  # (N, tokens)
        own = np.sqrt(np.maximum(store.self_influence(), 1e-30)) if relative else np.ones(len(store))
    losses = np.concatenate([losses.cpu().numpy() for _, losses, _ in net.passes(query)])
    by_token = by_token / own[:, None]
    probability = float(np.exp(-losses.sum()))
    facts = {
        "scale": "relative to each text's influence on itself" if relative else "plain",
        "texts cut": cut,
        "longest": longest,
        "numbers kept for each text": int(sum(store.about["widths"].values())),
        "saturated": bool(probability > SATURATED),
        **store.about["facts"],
    }
    return Trace(tuple(train_texts), prompt, answer, pieces, by_token.sum(axis=1), by_token, probability, facts)


def encoded(tokenizer: Any, texts: Sequence[str], longest: int) -> tuple[dict[str, torch.Tensor], int]:
    """Texts as a batch for `NextTokens`, padded at the end, and how many were cut to `longest` tokens."""
    for row, text in enumerate(texts):
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(f"train_texts holds {text!r:.60} in row {row}; give non-empty strings")
    ids = [list(tokenizer(text)["input_ids"]) for text in texts]
    if short := [row for row, part in enumerate(ids) if len(part) < 2]:
        raise InvalidInput(
            f"text {short[0]} has fewer than two tokens, so it foretells nothing: {texts[short[0]]!r:.60}"
        )
    return padded([part[:longest] for part in ids]), sum(len(part) > longest for part in ids)


def asked(tokenizer: Any, prompt: str, answer: str, longest: int) -> tuple[dict[str, torch.Tensor], tuple[str, ...]]:
    """One row for each token of the answer, in which only that token is judged, and the tokens.

    The prompt is encoded with the answer, so that the answer's tokens are those the model would say there.
    """
    import torch

    start = list(tokenizer(prompt)["input_ids"])
    between = "" if prompt[-1].isspace() or answer[0].isspace() else " "
    whole = list(tokenizer(prompt + between + answer)["input_ids"])
    first = next((i for i, (a, b) in enumerate(zip(start, whole, strict=False)) if a != b), min(len(start), len(whole)))
    last = len(whole) - sum(token in tokenizer.all_special_ids for token in whole[first:])
    places = range(max(first, 1), last)
    if not places or len(whole) > longest:
        raise InvalidInput(
            f"prompt and answer have {len(whole)} tokens, {len(places)} of them the answer's; {longest} fit"
        )
    batch = padded([whole] * len(places))
    labels = torch.full_like(batch["labels"], IGNORED)
    for row, place in enumerate(places):
        labels[row, place] = whole[place]
    return batch | {"labels": labels}, tuple(tokenizer.decode([whole[p]]) for p in places)


def padded(ids: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
    """Rows of token numbers as tensors, the padding neither read nor judged."""
    import torch

    wide = max(map(len, ids))
    mask = torch.tensor([[1] * len(row) + [0] * (wide - len(row)) for row in ids])
    tokens = torch.tensor([[*row, *([0] * (wide - len(row)))] for row in ids])
    return {"input_ids": tokens, "attention_mask": mask, "labels": tokens.masked_fill(mask == 0, IGNORED)}


def _longest(model: Any) -> int:
    config = getattr(model, "config", None)
    return int(getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or LONGEST)
