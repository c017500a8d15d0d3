"""Whether two ways of computing the same outputs differ by rounding only: what every shorter way is tried by."""

from __future__ import annotations

import numpy as np
import torch

from accredit.core import FloatArray

ROUNDINGS = {torch.float32: 64, torch.float64: 64}  # by which equal outputs may differ
HALF = 4  # the same in half precision, where a rounding is large: 64 of them would hide half of an output


def nearly(own: FloatArray, others: FloatArray, computed: torch.dtype) -> bool:
    """Whether outputs `computed` in this precision are the same but for rounding; a shorter way that is not is not taken.

    In half precision right ways of reading, of ten families of small answering models, differed by less than 2 roundings; where
    large weights amplify them, by more than 4: such a model is read in its own way, which is slower and not wrong. A model that
    mixes the tokens of a row, read wrongly, differed by 5 to 10 roundings of bfloat16: 64 would have hidden 0.8 nats.

    >>> nearly(np.array([8.0]), np.array([8.5]), torch.bfloat16), nearly(np.array([8.0]), np.array([8.1]), torch.bfloat16)
    (False, True)
    """
    if own.shape != others.shape:
        return False
    size = torch.finfo(computed).eps * max(1.0, float(np.abs(own).max()))
    return float(np.abs(own - others).max()) <= ROUNDINGS.get(computed, HALF) * size
