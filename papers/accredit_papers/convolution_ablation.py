"""What a convolution answers without each word of a text or each block of a picture, from one pass over the whole.

Removing a word changes the three windows that hold it and no other. The largest value of every filter over the rest is
known from running maxima, so that a text of T words costs about two passes instead of T. Removing a block of 2 × 2 pixels
changes 6 × 6 values of the first convolution, 3 × 3 after pooling, 7 × 7 of the second: only these are computed.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from accredit.core import FloatArray, IntArray
from accredit.learned.cxplain import LEAST_PROBABILITY
from accredit.learned.inputs import Array
from accredit.learned.networks import ConvolutionOfPixels, ConvolutionOfWords

TEXTS_PER_PASS = 64  # texts at once
PICTURES_PER_PASS = 16  # whose windows stay in a CPU's cache
NOTHING = -torch.inf


def losses_without_each(network: ConvolutionOfWords | ConvolutionOfPixels, x: Array, labels: IntArray) -> FloatArray:
    """How much the loss at the true label grows without each word (N, T), zero where there is none, or without each block of
    2 × 2 pixels (N, blocks).

    The numbers of `removal_losses`, up to rounding, for these two networks.
    """
    network.eval()
    rows = TEXTS_PER_PASS if isinstance(network, ConvolutionOfWords) else PICTURES_PER_PASS
    with torch.inference_mode():
        parts = [
            _grow(network, torch.tensor(x[k : k + rows]), torch.tensor(labels[k : k + rows])) for k in range(0, len(x), rows)
        ]
    return np.concatenate(parts)


def _grow(network: ConvolutionOfWords | ConvolutionOfPixels, x: Tensor, labels: Tensor) -> FloatArray:
    if isinstance(network, ConvolutionOfWords):
        logits, there = network.head(_pool_without_each(network, x)), x != network.pad
    else:
        logits, there = _answer_without_blocks(network, x), torch.ones(())
    whole, without = network(x).double().softmax(dim=1), logits.double().softmax(dim=2)  # (N, classes), (N, n, classes)
    own = torch.arange(len(x))
    grown = (
        whole[own, labels].clamp(LEAST_PROBABILITY, 1).log()[:, None]
        - without[own, :, labels].clamp(LEAST_PROBABILITY, 1).log()
    )
    return np.asarray((grown * there).numpy())


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


def _answer_without_blocks(network: ConvolutionOfPixels, pictures: Tensor) -> Tensor:
    """Logits when one block of 2 × 2 pixels takes the replacement's value: (N, H/2 · W/2, classes); sizes are divisible by 4.

    Windows have their filters last, so that pooling reads them side by side.
    """
    first, pool, relu, second = list(network.filters)[:4]
    assert isinstance(first, nn.Conv2d) and isinstance(second, nn.Conv2d)
    (height, width), replace = pictures.shape[1:], network.inputs.replace
    seen = first(pictures[:, None])
    once = relu(pool(seen))
    again = second(once)
    twice = relu(pool(again))
    steps = (replace - pictures).unfold(1, 2, 2).unfold(2, 2, 2).flatten(3)  # (N, H/2, W/2, 4)
    moved = _pool(_windows(pad(seen, (2,) * 4, value=NOTHING), 6, 2), steps, _spreads(first, 2))
    moved -= _windows(pad(once, (1,) * 4), 3, 1)  # (N, H/2, W/2, 3, 3, filters)
    wide, short = _windows(pad(again, (4,) * 4, value=NOTHING), 8, 2), _windows(pad(twice, (2,) * 4), 4, 1)
    read = _windows(pad(network.head.weight.view(-1, *twice.shape[1:]), (2,) * 4), 4, 1)  # what the head reads there
    found = network.head(twice.flatten(1))[:, None, None].repeat(1, height // 2, width // 2, 1)
    for down in (0, 1):  # the windows of odd blocks begin one value further from where pooling does
        for across in (0, 1):
            here = (slice(None), slice(down, down + height // 4), slice(across, across + width // 4))
            most = _pool(wide[here], moved[:, down::2, across::2], _spreads(second, 3, 8, 1 - down, 1 - across))
            told: Tensor = torch.einsum("nijabc,yijabc->nijy", most - short[here], read[here])
            found[:, down::2, across::2] += told
    answers: Tensor = found.flatten(1, 2)
    return answers


def _windows(planes: Tensor, size: int, step: int) -> Tensor:
    """Every window of these planes: (N, filters, H, W) -> (N, down, across, size, size, filters)."""
    last = planes.permute(0, 2, 3, 1).contiguous()
    return last.unfold(1, size, step).unfold(2, size, step).permute(0, 1, 2, 4, 5, 3)


def _pool(windows: Tensor, moved: Tensor, spreads: Tensor) -> Tensor:
    """Windows after what moved in their middle has spread, pooled by two and above 0."""
    rows = moved.reshape(-1, len(spreads)) @ spreads
    after = rows.view(windows.shape).add_(windows)
    taller = torch.maximum(after[:, :, :, ::2], after[:, :, :, 1::2])
    return torch.maximum(taller[:, :, :, :, ::2], taller[:, :, :, :, 1::2]).relu_()


def _spreads(layer: nn.Conv2d, size: int, width: int | None = None, down: int = 0, across: int = 0) -> Tensor:
    """What each value of a square moves in the outputs around it: (size² · channels, width² · filters), where the square's
    outputs begin at `down` and `across` of a window."""
    reach = layer.kernel_size[0] - 1
    unit = torch.eye(size * size * layer.in_channels).view(-1, size, size, layer.in_channels).permute(0, 3, 1, 2)
    moved: Tensor = torch.nn.functional.conv2d(unit, layer.weight, padding=reach)  # (…, filters, size + 4, size + 4)
    more = (width or size + reach) - size - reach
    return pad(moved, (across, more - across, down, more - down)).permute(0, 2, 3, 1).flatten(1)
