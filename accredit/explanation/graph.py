"""The attention of a subject's own pass as one graph: whose its tokens are, and from which of them the output is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray, IntArray, distinct_names
from accredit.errors import InvalidInput
from accredit.explanation.answers import AnswerSubject
from accredit.explanation.subject import Dealt, Subject
from accredit.flow.stack import (
    HALF,
    AttentionStack,
    encoder_decoder,
    is_causal,
    row_shares,
    some_layers,
    uniform_attention,
)
from accredit.models.encoded import visible

if TYPE_CHECKING:
    from accredit.models.reading import Heads, Read

Attention = FloatArray | AttentionStack
GRADIENTS = ("gf", "agf")  # tensors that are no attention: their rows do not sum to 1


@dataclass(frozen=True, eq=False)
class AttentionGraph(Dealt):
    """Tokens, joined layer by layer by what they read. An encoder–decoder has its source tokens first, then its decoder's."""

    attention: Attention  # (L, T, T), heads combined, first layer first
    outputs: list[int]  # the tokens of the last layer from which the output is read
    owner: IntArray  # (T,) the number of each token's owner in `everyone`
    everyone: tuple[str, ...]  # players, then the tokens that nobody plays for
    shown: tuple[str, ...]  # (T,) what each token shows
    chosen: dict[str, str]  # tensor, heads and layers, in words

    @property
    def causal(self) -> bool:
        """Whether no token reads what comes after it."""
        return is_causal(self.attention)


def graph_of(subject: Subject | AnswerSubject, tensor: str = "af") -> AttentionGraph:
    """The graph whose edges are attention (af), ‖attention × value‖ (norm), relu(gradient) (gf) or relu(attention ×
    gradient) (agf), with the subject's heads and layers; read once, whoever asks."""
    return subject.memo.get(("graph", tensor), lambda: _graph(subject, tensor))


def uniform_of(subject: Subject | AnswerSubject) -> Attention:
    """Attention that knows the mask alone: every token reads with equal weight all that it may read."""
    return subject.memo.get("uniform", lambda: uniform_attention(graph_of(subject).attention))


def _graph(subject: Subject | AnswerSubject, tensor: str) -> AttentionGraph:
    from accredit.models.reading import Heads

    heads, layers = Heads.of(subject.settings.get("heads", "mean")), subject.settings.get("layers")
    parts = _read(subject, tensor, heads).parts
    joined = _join(parts, tensor)
    chosen = {
        "tensor": tensor,
        "heads": str(heads),
        "layers": f"all {len(joined)}" if layers is None else str(layers),
    }
    return graph_of_parts(subject, parts, some_layers(joined, layers), chosen)


def graph_of_parts(
    subject: Subject | AnswerSubject, parts: dict[str, FloatArray], joined: Attention, chosen: dict[str, str]
) -> AttentionGraph:
    """The graph of a tensor that was read from a subject's own pass, part by part, and joined."""
    owner, everyone, shown = _tokens(subject, parts)
    if (size := joined.carried.shape[1] if isinstance(joined, AttentionStack) else joined.shape[1]) != len(owner):
        raise InvalidInput(
            f"attention is over {size} tokens and {len(owner)} are explained; use players that are the model's own tokens or "
            "patches",
            code="conflict",
        )
    return AttentionGraph(joined, _outputs(subject, parts), owner, everyone, shown, chosen)


def _read(subject: Subject | AnswerSubject, tensor: str, heads: Heads) -> Read:
    read: Read
    if isinstance(subject, AnswerSubject):
        if subject.facts.get("rather than") is not None:
            raise InvalidInput(
                "attention reads one answer and cannot compare it with another; leave out rather_than, or use a game: shapley",
                code="conflict",
            )
        read = subject.model.read_attention(subject.ids, subject.decoder_ids, subject.answer_ids, tensor, heads)
    else:
        read = subject.model.read_attention(subject.seen, tensor, heads, subject.game.target, subject.game.payoff_name)
    return read


def _join(parts: dict[str, FloatArray], tensor: str) -> Attention:
    """One tensor of all parts. Lengths of values decide what a decoder token takes from its own side and from the encoder;
    attention alone cannot tell, and is halved."""
    joined: Attention = next(iter(parts.values()))
    if "cross" in parts:
        share = HALF if tensor == "af" else 1.0
        joined = encoder_decoder(parts["encoder"], parts["decoder"], parts["cross"], share=share)
    return row_shares(joined) if tensor == "norm" else joined


def _outputs(subject: Subject | AnswerSubject, parts: dict[str, FloatArray]) -> list[int]:
    source = parts["cross"].shape[2] if "cross" in parts else 0
    if isinstance(subject, AnswerSubject):
        return [source + k for k in subject.outputs]
    if not source:
        return subject.outputs
    return (source + np.flatnonzero(subject.model.output_tokens(subject.seen, "decoder"))).tolist()


def _tokens(
    subject: Subject | AnswerSubject, parts: dict[str, FloatArray]
) -> tuple[IntArray, tuple[str, ...], tuple[str, ...]]:
    """For each token of the graph its owner, who there is, and what each token shows; a decoder's tokens own themselves."""
    owner, everyone = subject.owner, subject.everyone
    if isinstance(subject, AnswerSubject):
        shown = [visible(piece) for piece in subject.model.pieces(subject.ids)]
    else:
        shown = list(getattr(subject.seen, "tokens", ()) or (everyone[k] for k in owner.tolist()))
    if "cross" not in parts:
        return owner, everyone, distinct_names(shown)
    said = _decoder_names(subject, parts["decoder"].shape[1])
    own = subject.decoder_owner if isinstance(subject, AnswerSubject) else np.full(len(said), -1)
    names = distinct_names([*everyone, *(name for name, who in zip(said, own.tolist(), strict=True) if who < 0)])
    own = np.where(own < 0, len(everyone) + np.cumsum(own < 0) - 1, own)
    return np.concatenate([owner, own]), names, distinct_names([*shown, *said])


def _decoder_names(subject: Subject | AnswerSubject, count: int) -> list[str]:
    """Tokens that the decoder reads, under names that say so."""
    if not isinstance(subject, AnswerSubject):
        prefix: tuple[str, ...] = subject.seen.prefix_tokens or tuple(f"token {k + 1}" for k in range(count))
        return [f"{token.strip('Ġ▁ ') or '␣'} ({'prefix' if subject.seen.prefix_tokens else 'decoder'})" for token in prefix]
    model, ids = subject.model, subject.decoder_ids
    start = [str(token) for token in model.tokenizer.convert_ids_to_tokens(model.start.tolist())]
    words = [visible(piece) for piece in model.pieces(ids[len(start) :])]
    before = len(words) - (len(subject.answer_ids) - 1)
    kinds = ["start"] * len(start) + ["prefix"] * before + ["answer"] * (len(words) - before)
    return [f"{word} ({kind})" for word, kind in zip([*start, *words], kinds, strict=True)]
