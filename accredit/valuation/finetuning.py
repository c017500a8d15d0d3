"""Fine-tuning a transformer, as a utility: which of these sentences is more helpful?

Every coalition of sentences fine-tunes the last blocks of a pretrained model, and a new head on the mean of its last hidden
states; test sentences judge it. All blocks below are frozen, so that what they make of a sentence is computed once and kept:
a training then costs as much as the blocks that are trained. Dropout is switched off, so that a coalition has one payoff.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.checks import needs
from accredit.core import FloatArray
from accredit.errors import InvalidInput
from accredit.valuation.split import Labels, split
from accredit.valuation.text import TEXTS_PER_PASS, check_texts, load_encoder
from accredit.valuation.torch_training import Recipe, TorchTraining

if TYPE_CHECKING:
    import torch
    import transformers

    from accredit.valuation.transformer_tail import Tail

TUNING = Recipe(epochs=10, rate=3e-4, weight_decay=0.01, optimizer="adamw")
TOKENS_KEPT = 128  # of a sentence: what is kept of it are numbers for each token
SAME = 1e-3  # relative: how closely the blocks alone must repeat what the whole model says
BYTES_KEPT = 2e9  # of hidden states


@dataclass(frozen=True)
class FineTuned:
    """Makes the module that is trained: the last blocks as they were pretrained, and a head that says nothing yet."""

    body: transformers.PreTrainedModel | None  # its last blocks only; None: the head alone is trained
    width: int
    classes: int
    digest: str

    def __call__(self) -> Tail:
        from accredit.valuation.transformer_tail import Tail

        return Tail(copy.deepcopy(self.body), self.width, self.classes)

    def fingerprint_parts(self) -> dict[str, object]:
        return {"blocks": self.digest, "width": self.width, "classes": self.classes}


def fine_tuning(
    model: str | Path,
    sentences: Sequence[str],
    labels: Labels | Sequence[str],
    test_sentences: Sequence[str],
    test_labels: Labels | Sequence[str],
    *,
    names: Sequence[str] | None = None,
    blocks: int = 1,
    recipe: Recipe = TUNING,
    metric: str = "neg_log_loss",
    seed: int = 0,
) -> TorchTraining:
    """A game: players are sentences, the payoff is the test score of the transformer in `model` fine-tuned on them.

    `model` is a folder with any Hugging Face text model, encoder or causal language model, or "builtin". The last
    `blocks` of it are trained, and a new linear head on the mean of the last hidden states; `blocks=0` trains the head alone.
    Players are named by their sentences where `names` are not given. The payoff is the mean log probability of the right
    labels (or `metric="accuracy"`); without any sentence all labels are equally likely. Sentences of more than
    128 tokens are refused.

    >>> game = fine_tuning("builtin", ["A gripping film.", "It never lands."], [1, 0], ["Quite moving."], [1], blocks=0)
    >>> game.players
    ('A gripping film.', 'It never lands.')
    """
    with needs("text", "fine-tuning a transformer"):
        import torch  # noqa: F401
    body, tokenizer, longest = load_encoder(model)
    called = tuple(sentences) if names is None else tuple(names)
    if len(set(called)) < len(called):
        twice = next(name for i, name in enumerate(called) if name in called[:i])
        raise InvalidInput(
            f"two players are called {twice!r:.60}; give names=, one for each sentence", argument="names", code="duplicate"
        )
    stack = _blocks(body)
    if not 0 <= blocks < len(stack):
        raise InvalidInput(
            f"blocks is {blocks!r}, and {type(body).__name__} has {len(stack)}; give a number from 0 to {len(stack) - 1}",
            argument="blocks",
            code="range",
        )
    texts = [*sentences, *test_sentences]
    tail = _cut(body, stack, blocks) if blocks else None  # before hidden states are asked for: that leaves hooks in the body
    hidden, mask, last = _hidden(body, tokenizer, texts, min(longest, TOKENS_KEPT), len(stack) - blocks)
    rows = np.concatenate([hidden.reshape(len(texts), -1), mask], axis=1)
    data = split(rows[: len(sentences)], labels, rows[len(sentences) :], test_labels, names=called)
    if data.classes is None:
        raise InvalidInput("labels are numbers; fine-tuning here is for classes", argument="labels", code="type")
    build = FineTuned(tail, hidden.shape[2], len(data.classes), _digest(tail))
    _check_tail(build, rows, last, type(body).__name__)
    return TorchTraining(data, build, recipe, metric, seed=seed)


def _blocks(body: Any) -> torch.nn.ModuleList:
    """The transformer blocks: the longest list of modules that the body holds."""
    import torch

    lists = [part for part in body.modules() if isinstance(part, torch.nn.ModuleList)]
    if not lists:
        raise InvalidInput(
            f"{type(body).__name__} holds no list of blocks, so its last ones are not known; take an encoder such as BERT, "
            "or a causal language model",
            argument="model",
            code="unsupported",
        )
    return max(lists, key=len)


def _hidden(
    body: transformers.PreTrainedModel,
    tokenizer: transformers.PreTrainedTokenizerBase,
    texts: Sequence[str],
    longest: int,
    level: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What the block number `level` is given, (texts, places, D), which places are tokens, and the last states, pooled."""
    import torch

    check_texts(texts)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "right"
    lengths = [len(ids) for ids in tokenizer(list(texts))["input_ids"]]
    if max(lengths) > longest:
        row = int(np.argmax(lengths))
        raise InvalidInput(
            f"sentence {row + 1} has {lengths[row]} tokens, and {longest} are read; shorten it: {texts[row]!r:.60}",
            argument="sentences",
            code="too-many",
        )
    places = max(lengths)
    needed = 8.0 * len(texts) * places * body.config.hidden_size
    if needed > BYTES_KEPT:
        raise InvalidInput(
            f"{len(texts)} sentences of up to {places} tokens take {needed / 1e9:.1f} GB of hidden states; "
            "give fewer or shorter ones",
            argument="sentences",
            code="too-many",
        )
    found, masks, last = [], [], []
    with torch.no_grad():
        for start in range(0, len(texts), TEXTS_PER_PASS):
            part = list(texts[start : start + TEXTS_PER_PASS])
            tokens = tokenizer(part, return_tensors="pt", padding="max_length", max_length=places)
            allowed = {k: v for k, v in tokens.items() if k in ("input_ids", "attention_mask", "token_type_ids")}
            said = body(**allowed, output_hidden_states=True)
            mask = tokens["attention_mask"].to(said.last_hidden_state.dtype)
            top = said.last_hidden_state
            states = top if level == len(_blocks(body)) else said.hidden_states[level]
            found.append((states * mask[:, :, None]).double().numpy())
            masks.append(mask.double().numpy())
            last.append(((top * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)).double().numpy())
    return np.concatenate(found), np.concatenate(masks), np.concatenate(last)


def _cut(body: transformers.PreTrainedModel, stack: torch.nn.ModuleList, blocks: int) -> transformers.PreTrainedModel:
    """A copy of the body with its last blocks only, whose embeddings hand on what they are given; no dropout."""
    import torch

    from accredit.valuation.transformer_tail import HandOn

    own = copy.deepcopy(body)
    kept = _blocks(own)
    del kept[: len(stack) - blocks]
    own.config.use_cache = False

    for name, part in list(own.named_children()):
        if name == "embeddings":
            setattr(own, name, HandOn())
        elif name in ("wte", "embed_tokens"):
            setattr(own, name, torch.nn.Identity())
        elif name == "wpe" and isinstance(part, torch.nn.Embedding):
            torch.nn.init.zeros_(part.weight)
            part.requires_grad_(False)
        elif name == "pooler":
            setattr(own, name, None)
    for part in own.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    return own.float()


def _check_tail(build: FineTuned, rows: FloatArray, last: FloatArray, name: str) -> None:
    """Refuse an architecture whose last blocks alone do not say what the whole model says."""
    import torch

    try:
        with torch.no_grad():
            said = build().eval().pooled(torch.tensor(rows, dtype=torch.float32)).double().numpy()
        off = float(np.abs(said - last).max() / max(np.abs(last).max(), 1e-30))
    except (TypeError, AttributeError, RuntimeError, ValueError) as error:
        raise InvalidInput(
            f"the last blocks of {name} cannot be run alone ({error!s:.80}); write blocks=0, which trains the head only",
            argument="blocks",
            code="unsupported",
        ) from None
    if not off <= SAME:
        raise InvalidInput(
            f"the last blocks of {name}, run alone, are {off:.2g} off what the whole model says; write blocks=0, which trains "
            "the head only",
            argument="blocks",
            code="unsupported",
        )


def _digest(body: transformers.PreTrainedModel | None) -> str:
    """Of the weights that fine-tuning starts from."""
    import hashlib

    digest = hashlib.sha256()
    for name, value in (body.state_dict() if body is not None else {}).items():
        digest.update(name.encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
