"""Attention as a matrix, one number for each output and input token: the weights of one layer, rollout through all of them, and
a maximum flow for every pair (Abnar and Zuidema, 2020)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accredit.checks import whole_number
from accredit.checks.arguments import check_arguments
from accredit.core import FloatArray
from accredit.flow.network import LayeredNetwork, check_attention, output_rows, with_residual
from accredit.flow.pairs import PairFlows
from accredit.flow.stack import AttentionStack


@check_arguments
def rollout(attention: object, *, residual: float = 0.5, normalise: bool = True) -> FloatArray:
    r"""How a random walk from each output token ends among the input tokens, (T, T): row i is output i.

    $$ R = \tilde A_L \cdots \tilde A_2 \tilde A_1, \qquad \tilde A = (1-r) A + r I $$

    Rows sum to 1 when the rows of `attention` (L, T, T), first layer first, do. Scores, not Shapley values. O(L·T³).

    >>> rollout([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]], residual=0.0)
    array([[1., 0.],
           [1., 0.]])
    """
    layers = with_residual(check_attention(attention, normalise=normalise), residual)
    product = layers[0]
    for layer in layers[1:]:
        product = layer @ product
    return np.ascontiguousarray(product)


@check_arguments
def raw_attention(attention: object, *, layer: int = -1, normalise: bool = True) -> FloatArray:
    """What every token of one layer (default: the last) attends to, (T, T): row i looks at column j.

    Scores, not shares: nothing is divided among the input tokens, and deeper layers mix tokens that were mixed
    before.

    >>> raw_attention([[[1.0, 0.0], [0.5, 0.5]]])
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    weights = check_attention(attention, normalise=normalise)
    return np.ascontiguousarray(weights[whole_number(layer, "layer", -len(weights), len(weights) - 1)])


@check_arguments
def pairwise_flow(
    attention: object, *, outputs: int | Sequence[int] | None = None, residual: float = 0.5, normalise: bool = True
) -> FloatArray:
    """Max flow from each chosen output token to each input token, (len(outputs), T).

    Every entry is a different flow that has the network for itself, so a row is not a division of anything: its sum
    can exceed all that the output token can emit many times over. Use `joint_flow` to share one flow. Deep attention
    often makes entry (i, j) equal to min(all that leaves i, all that enters j); `flow_report` shows how often.

    Cost: one max flow per pair (about 2 ms at T = 64, L = 12), or O(T²) for pairs whose bound is met by a flow that can
    be written down; see `accredit.flow.pairs`.

    >>> pairwise_flow([[[0.5, 0.5], [0.0, 1.0]]], outputs=0, residual=0.0)
    array([[0.5, 0.5]])
    """
    network = LayeredNetwork.from_attention(attention, outputs=outputs, residual=residual, normalise=normalise)
    if outputs is None and isinstance(attention, AttentionStack):
        outputs = np.flatnonzero(~attention.carried[-1]).tolist()
    flows = PairFlows(network.capacity)
    return np.array([flows.row(int(i)) for i in output_rows(outputs, network.tokens)])
