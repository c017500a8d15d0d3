"""Attention of several stacks of layers over one list of tokens: an encoder, and a decoder that reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from accredit.checks import as_array, real_numbers
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import finite_numbers, truths
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import InvalidInput

HALF = 0.5  # of a decoder layer's attention goes to its own tokens, the other half to the encoder's


@dataclass(frozen=True, eq=False)
class AttentionStack:
    """Weights (L, T, T), first layer first, and the tokens that a layer does not touch.

    A *carried* token passes a layer as it is: its row is that of the identity, and in a flow network its edge is as wide as
    all that can enter it, so that it never narrows anything.

    >>> stack = AttentionStack(np.full((2, 2, 2), 0.5), carried=[[False, True], [False, False]])
    >>> len(stack), stack.weights[0].tolist()
    (2, [[0.5, 0.5], [0.0, 1.0]])
    """

    weights: FloatArray  # (L, T, T)
    carried: BoolArray  # (L, T)

    def __post_init__(self) -> None:
        weights, carried = finite_numbers(self.weights, "weights"), truths(self.carried, "carried")
        if weights.ndim != 3 or weights.shape[1] != weights.shape[2] or carried.shape != weights.shape[:2]:
            raise InvalidInput(
                f"weights have shape {weights.shape} and carried {carried.shape}; (L, T, T) and (L, T) are needed",
                argument="weights",
                code="shape",
            )
        object.__setattr__(self, "weights", np.where(carried[:, :, None], np.eye(weights.shape[1]), weights))
        object.__setattr__(self, "carried", carried)

    def __len__(self) -> int:
        return len(self.weights)


@check_arguments
def encoder_decoder(encoder: object, decoder: object, cross: object, *, share: float = HALF) -> AttentionStack:
    """One graph of an encoder (Lₑ, S, S), a decoder (L_d, P, P) and its cross-attention (L_d, P, S): source tokens, then
    decoder tokens, and the encoder's layers below the decoder's.

    A decoder layer reads its own tokens with `share` of its attention and the encoder's last layer with as much: one half
    each, so that rows sum to 1 where those of the three tensors do. (Gradients are not shares: give share=1.) Source tokens are
    carried through the decoder's layers, and decoder tokens through the encoder's.

    >>> graph = encoder_decoder(np.full((1, 2, 2), 0.5), np.ones((1, 1, 1)), [[[0.2, 0.8]]])
    >>> graph.weights[1].tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.1, 0.4, 0.5]]
    """
    given = {"encoder": encoder, "decoder": decoder, "cross": cross}
    below, own, read = (real_numbers(x, name) for name, x in given.items())
    if any(x.ndim != 3 for x in (below, own, read)) or read.shape != (*own.shape[:2], below.shape[-1]):
        raise InvalidInput(
            f"encoder, decoder and cross have shapes {below.shape}, {own.shape}, {read.shape}; (Lₑ, S, S), (L_d, P, P) and "
            "(L_d, P, S) are needed, heads already combined",
            argument="encoder",
            code="shape",
        )
    source, layers = below.shape[-1], len(below) + len(own)
    tokens = source + own.shape[-1]
    weights, carried = np.zeros((layers, tokens, tokens)), np.zeros((layers, tokens), dtype=bool)
    weights[: len(below), :source, :source] = below
    weights[len(below) :, source:, :source] = share * read
    weights[len(below) :, source:, source:] = share * own
    carried[: len(below), source:] = True
    carried[len(below) :, :source] = True
    return AttentionStack(weights, carried)


def row_shares(attention: FloatArray | AttentionStack) -> FloatArray | AttentionStack:
    """Every row divided by its sum; a token that reads nothing keeps itself.

    >>> row_shares(np.array([[[1.0, 3.0], [0.0, 0.0]]]))[0].tolist()
    [[0.25, 0.75], [0.0, 1.0]]
    """
    if isinstance(attention, AttentionStack):
        return AttentionStack(np.asarray(row_shares(attention.weights)), attention.carried)
    sums = attention.sum(axis=2, keepdims=True)
    return np.where(sums > 0, attention / np.where(sums > 0, sums, 1.0), np.eye(attention.shape[1]))


@check_arguments
def leave_unread(attention: FloatArray | AttentionStack, tokens: Sequence[int] | IntArray) -> FloatArray | AttentionStack:
    """The attention when nobody reads some tokens: what they got goes to the other tokens of the same row, in proportion.

    Tokens that soak up attention and say nothing (the first of a language model, [CLS] and [SEP]) are taken out this way. A
    token that read nothing else keeps itself.

    >>> leave_unread(np.array([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.6, 0.1, 0.3]]]), [0])[0].round(2).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.25, 0.75]]
    """
    _check_layers(attention)
    weights = (attention.weights if isinstance(attention, AttentionStack) else attention).copy()
    given, count = np.atleast_1d(as_array(tokens, "tokens")), weights.shape[2]
    if given.size and (given.ndim != 1 or given.dtype.kind not in "iu" or not ((-count <= given) & (given < count)).all()):
        raise InvalidInput(
            f"tokens is {tokens!r:.60}; give places of tokens in a list, from 0 to {count - 1}", argument="tokens", code="range"
        )
    weights[:, :, given.astype(np.int64)] = 0.0
    return row_shares(AttentionStack(weights, attention.carried) if isinstance(attention, AttentionStack) else weights)


def carry_in(attention: object, layers: int, tokens: int) -> BoolArray:
    """The tokens that each layer does not touch, (L, T); none in a plain tensor."""
    return attention.carried if isinstance(attention, AttentionStack) else np.zeros((layers, tokens), dtype=bool)


@check_arguments
def some_layers(attention: FloatArray | AttentionStack, layers: int | Sequence[int] | None) -> FloatArray | AttentionStack:
    """The attention of some layers, in their order: None for all, one number, or several; negative ones count from the last.

    >>> some_layers(np.zeros((6, 2, 2)), [0, -1]).shape
    (2, 2, 2)
    """
    if layers is None:
        return attention
    _check_layers(attention)
    chosen = layer_numbers(layers, len(attention))
    if isinstance(attention, AttentionStack):
        return AttentionStack(attention.weights[chosen], attention.carried[chosen])
    return np.asarray(attention[chosen])


def _check_layers(attention: FloatArray | AttentionStack) -> None:
    shape = np.shape(attention.weights if isinstance(attention, AttentionStack) else attention)
    if len(shape) != 3 or 0 in shape:
        raise InvalidInput(
            f"attention has shape {shape}; (layers, tokens, tokens) is needed, at least one of each",
            argument="attention",
            code="shape",
        )


def layer_numbers(layers: int | Sequence[int], count: int) -> IntArray:
    """Numbers of layers, rising, each once."""
    given = np.atleast_1d(as_array(layers, "layers"))
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
        raise InvalidInput(
            f"layers is {layers!r:.60}; give one number or a list of numbers, or None for all {count}",
            argument="layers",
            code="type",
        )
    if (given < -count).any() or (given >= count).any():
        raise InvalidInput(
            f"layers is {layers!r:.60}; this model has layers 0 … {count - 1}, the first reads the input",
            argument="layers",
            code="range",
        )
    found = np.unique(given % count)
    if len(found) < len(given):
        raise InvalidInput(
            f"layers is {layers!r:.60}, which names a layer twice; name each once", argument="layers", code="duplicate"
        )
    return found.astype(np.int64)


@check_arguments
def is_causal(attention: FloatArray | AttentionStack) -> bool:
    """Whether no token reads one to its right, in any layer that reads at all.

    >>> is_causal(np.tril(np.ones((1, 3, 3)))), is_causal(np.ones((1, 3, 3)))
    (True, False)
    """
    _check_layers(attention)
    top = attention.weights[-1] if isinstance(attention, AttentionStack) else attention[-1]
    return len(top) > 1 and not np.triu(top, 1).any()


@check_arguments
def uniform_attention(attention: FloatArray | AttentionStack) -> FloatArray | AttentionStack:
    """What the mask alone would give: every token reads all that it may read with equal weight.

    What it may read is what has a weight above 0. In a decoder layer the halves of its own tokens and of the encoder's stay
    halves: each block of tokens keeps the weight that it has together.

    >>> uniform_attention(np.array([[[1.0, 0.0], [0.9, 0.1]]]))[0].tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    _check_layers(attention)
    if isinstance(attention, AttentionStack):
        return AttentionStack(_even_out(attention.weights, _blocks(attention)), attention.carried)
    return _even_out(attention, [slice(0, attention.shape[2])])


def _blocks(stack: AttentionStack) -> list[slice]:
    """Source and decoder tokens: the runs of tokens that every layer treats alike."""
    changes = {int(k) + 1 for row in stack.carried for k in np.flatnonzero(np.diff(row))}
    ends = sorted({0, stack.carried.shape[1], *changes})
    return [slice(a, b) for a, b in pairwise(ends)]


def _even_out(weights: FloatArray, blocks: list[slice]) -> FloatArray:
    even = np.empty_like(weights)
    for layer, rows in enumerate(weights):
        for block in blocks:
            read = rows[:, block] > 0
            count = read.sum(axis=1, keepdims=True)
            even[layer, :, block] = read * np.divide(
                rows[:, block].sum(axis=1, keepdims=True), count, out=np.zeros((len(rows), 1)), where=count > 0
            )
    return even
