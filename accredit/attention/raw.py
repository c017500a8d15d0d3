"""Raw attention: the weights of one layer, as they are."""

from __future__ import annotations

import numpy as np

from accredit.checks import whole_number
from accredit.checks.arguments import check_arguments
from accredit.core import FloatArray
from accredit.flow.network import check_attention


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
