"""The log-probability of an answer as a smooth function of the word embeddings of its prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from accredit import defaults
from accredit.answers.model import AnsweringModel
from accredit.core import IntArray
from accredit.gradients.point import TOKENS_PER_PASS, Point, absent
from accredit.models.partition import Partition
from accredit.models.state import device_of, finite


def answer_points(
    model: AnsweringModel,
    prompt: IntArray,
    answers: Sequence[IntArray],
    partition: Partition,
    targets: Mapping[str, IntArray | None],
    payoff: str = defaults.PAYOFF_OF_ANSWERS,
    baseline: object = None,
) -> dict[str, Point]:
    """For each target, its payoff when the prompt's word embeddings are moved.

    `prompt` are the ids of a prompt, (T,), and `answers` one answer, or an answer and the one it is compared with. A target is
    the numbers of its tokens in the answer; None is the whole answer, less the other one. The owners of `partition` are those
    of the prompt and, in a causal model, of the answer's tokens that are read after it, (T + A − 1,): those are never moved.
    """
    text, device = model.text_model, device_of(model.model)
    name = ("mask" if text.masks else "pad") if baseline is None else baseline
    ids = torch.from_numpy(prompt).to(device)
    said = [torch.from_numpy(answer).to(device) for answer in answers]
    with torch.no_grad():
        read = ids if model.encodes else torch.cat([ids, said[0][:-1]])
        here = text.embed(read)
        owned = torch.from_numpy(partition.owned).to(device)[:, None]
        away = torch.where(owned, absent(text, name, here), here)

    def pay(vectors: torch.Tensor, where: IntArray | None) -> torch.Tensor:
        tokens = _log_probabilities(model, vectors, said[0])
        worth = _worth(tokens if where is None else tokens[:, torch.from_numpy(where).to(device)], payoff)
        if where is not None or len(said) == 1:
            return worth
        other = vectors[:, : len(ids)]
        if not model.encodes:
            other = torch.cat([other, text.embed(said[1][:-1]).expand(len(vectors), -1, -1)], dim=1)
        return worth - _worth(_log_probabilities(model, other, said[1]), payoff)

    def make_point(target: str, where: IntArray | None) -> Point:
        return Point(
            lambda vectors: pay(vectors, where),
            here[None],
            away[None],
            partition,
            lambda values: values.sum(axis=-1),
            model.hold,
            model.model,
            max(1, TOKENS_PER_PASS // len(read)),
            read.cpu().numpy(),
            {
                "model": model.name,
                "target": target,
                "payoff": payoff,
                "baseline": name if isinstance(name, str) else "given",
            },
        )

    return {target: make_point(target, where) for target, where in targets.items()}


def _log_probabilities(model: AnsweringModel, vectors: torch.Tensor, answer: torch.Tensor) -> torch.Tensor:
    """Log-probability of each token of an answer, in float64: (B, positions, D) -> (B, A)."""
    given: dict[str, object] = {"inputs_embeds": vectors, "use_cache": False}
    given["attention_mask"] = torch.ones(vectors.shape[:2], dtype=torch.int64, device=vectors.device)
    if model.encodes:
        start = torch.from_numpy(model.start).to(answer.device)
        given["decoder_input_ids"] = torch.cat([start, answer[:-1]]).expand(len(vectors), -1)
    logits = finite(model.logits(given, len(answer)), model.name)
    chosen: torch.Tensor = logits.double().log_softmax(dim=-1).gather(2, answer.expand(len(vectors), -1)[..., None])
    return chosen[..., 0]


def _worth(tokens: torch.Tensor, payoff: str) -> torch.Tensor:
    """What some tokens earn together: (B, k) -> (B,)."""
    total = tokens.sum(dim=1)
    return total / tokens.shape[1] if payoff == "mean" else total.exp() if payoff == "probability" else total
