"""One pass over a text gives the same losses as asking for every removal."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from accredit.learned.cxplain import removal_losses  # noqa: E402
from accredit.learned.inputs import PixelGrid, Words  # noqa: E402
from accredit.learned.networks import as_black_box, network_for  # noqa: E402
from accredit_papers.convolution_ablation import losses_without_each  # noqa: E402


@pytest.mark.parametrize("length", [1, 2, 3, 9])
def test_losses_without_each_word_are_those_of_asking(length):
    inputs, rng = Words(length, 30), np.random.default_rng(length)
    network = network_for(inputs, 2, kind="convolution", width=7, seed=1).eval()
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(8)  # so that single words matter
    x = rng.integers(2, 30, (70, length))
    x[np.arange(length) >= rng.integers(1, length + 1, 70)[:, None]] = 0  # padding at the end
    labels = rng.integers(2, size=70)
    asked = removal_losses(inputs, x, as_black_box(network, inputs), labels)
    assert np.abs(asked).max() > 0.01
    assert_allclose(losses_without_each(network, x, labels), asked, atol=1e-5)


@pytest.mark.parametrize("shape", [(12, 8), (16, 16)])
def test_losses_without_each_block_of_pixels_are_those_of_asking(shape):
    pixels, blocks, rng = PixelGrid(shape, replace=0.25), PixelGrid(shape, block=2, replace=0.25), np.random.default_rng(3)
    network = network_for(pixels, 2, width=3, seed=1).eval()
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(3)  # so that single blocks matter
    x = rng.normal(size=(19, *shape)).astype(np.float32)
    x[:, 4:6, :4] = 0.25  # as if these were gone already
    labels = rng.integers(2, size=19)
    asked = removal_losses(blocks, x, as_black_box(network, pixels), labels)
    assert np.abs(asked).max() > 0.5
    assert_allclose(losses_without_each(network, x, labels), asked, atol=1e-4)


def test_a_reader_of_places_tells_where_words_stand_and_a_bag_does_not():
    inputs = Words(4, 9)
    x = torch.tensor([[3, 3, 3, 3]])
    first, last = torch.tensor([[1.0, 0, 0, 0]]), torch.tensor([[0, 0, 0, 1.0]])
    for kind, sees in (("bag", False), ("places", True)):
        network = network_for(inputs, 2, kind=kind, count=1.0, seed=0)
        assert bool(torch.equal(network(x, first), network(x, last))) is not sees
