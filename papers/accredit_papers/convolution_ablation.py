"""What a convolution over words answers without each word, from one pass over the whole text.

Removing a word changes the three windows that hold it and no other. The largest value of every filter over the rest is
known from running maxima, so that a text of T words costs about two passes instead of T.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from accredit.core import FloatArray, IntArray
from accredit.learned.cxplain import LEAST_PROBABILITY
from accredit.learned.inputs import Array
from accredit.learned.networks import ConvolutionOfWords

TEXTS_PER_PASS = 64  # texts at once
NOTHING = -torch.inf


def losses_without_each(network: ConvolutionOfWords, x: Array, labels: IntArray) -> FloatArray:
    """How much the loss at the true label grows without each word: (N, T), zero where there is none.

    The numbers of `removal_losses`, up to rounding, for this one kind of network.
    """
    network.eval()
    with torch.inference_mode():
        parts = [
            _grow(network, torch.tensor(x[k : k + TEXTS_PER_PASS]), torch.tensor(labels[k : k + TEXTS_PER_PASS]))
            for k in range(0, len(x), TEXTS_PER_PASS)
        ]
    return np.concatenate(parts)


def _grow(network: ConvolutionOfWords, ids: Tensor, labels: Tensor) -> FloatArray:
    without = network.head(_pool_without_each(network, ids)).double().softmax(dim=2)  # (N, T, classes)
    whole = network(ids).double().softmax(dim=1)
    own = torch.arange(len(ids))
    grown = (
        whole[own, labels].clamp(LEAST_PROBABILITY, 1).log()[:, None]
        - without[own, :, labels].clamp(LEAST_PROBABILITY, 1).log()
    )
    return np.asarray((grown * (ids != network.pad)).numpy())


def _pool_without_each(network: ConvolutionOfWords, ids: Tensor) -> Tensor:
    """The largest value of every filter when one word is gone: (N, T, filters). Window p covers the words p − 2 to p."""
    vectors = network.vectors(ids)  # (N, T, wide)
    windows = network.windows(vectors)  # (N, T + 2, filters)
    taps = network.windows.filters.weight[:, :, 0]  # (filters, wide, 3)
    length = ids.shape[1]
    changed = [windows[:, d : d + length] - vectors @ taps[:, :, 2 - d].T for d in range(3)]
    edge = torch.full_like(windows[:, :1], NOTHING)
    before = torch.cat([edge, windows.cummax(dim=1).values], dim=1)[:, :length]  # windows below j
    after = torch.cat([windows.flip(1).cummax(dim=1).values.flip(1), edge], dim=1)[:, 3 : 3 + length]  # above j + 2
    most = torch.stack([before, after, *changed]).amax(dim=0)
    nothing = network.windows.filters.bias  # what a window without words says
    assert nothing is not None
    return torch.maximum(most, nothing).relu()
