"""Raw attention: the weights of one layer, as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from accredit.core import FloatArray, InvalidInput
from accredit.flow.network import checked_attention


def raw_attention(attention: Any, *, layer: int = -1, normalise: bool = True) -> FloatArray:
    """What every token of one layer (default: the last) attends to, (T, T): row i looks at column j.

    Scores, not shares: nothing is divided among the input tokens, and deeper layers mix tokens that were mixed
    before.

    >>> raw_attention([[[1.0, 0.0], [0.5, 0.5]]])
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    weights = checked_attention(attention, normalise=normalise)
    if isinstance(layer, bool) or not isinstance(layer, int) or not -len(weights) <= layer < len(weights):
        raise InvalidInput(f"layer is {layer!r}; there are attention layers 0 … {len(weights) - 1}")
    return np.ascontiguousarray(weights[layer])
