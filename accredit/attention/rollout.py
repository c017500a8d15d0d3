"""Attention as it is: the weights of one layer, and rollout, which multiplies them through the layers."""

from __future__ import annotations

import numpy as np

from accredit.checks import whole_number
from accredit.checks.arguments import check_arguments
from accredit.core import FloatArray
from accredit.flow.network import check_attention, with_residual


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


# Raw attention


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
