"""Networks: a mask inside a network means what replacing the input means outside, and padding means nothing."""

import numpy as np
import pytest
import torch

from accredit.errors import InvalidInput
from accredit.learned.inputs import PixelGrid, Tabular, Words
from accredit.learned.networks import LOWEST, as_black_box, network_for, selector_for

CASES = [
    (Words(12, 30), "bag"),
    (Words(12, 30, pad=7), "bag"),
    (Words(12, 30), "convolution"),
    (Words(12, 30, pad=7), "convolution"),
    (PixelGrid((8, 8), replace=0.5), "auto"),
    (PixelGrid((3, 8, 12), block=4), "auto"),
    (PixelGrid((7, 9)), "auto"),
    (Tabular(5, replace=(1.0, 2.0, 3.0, 4.0, 5.0)), "auto"),
    (Tabular(5), "layers"),
]


def sample(inputs, rows=6, seed=0):
    rng = np.random.default_rng(seed)
    if isinstance(inputs, Words):
        x = rng.integers(0, inputs.vocabulary, (rows, *inputs.shape))
        x[:, inputs.length // 2 :] = inputs.pad
        x[0] = inputs.pad
        return x
    return rng.normal(size=(rows, *inputs.shape)).astype(np.float32)


@pytest.mark.parametrize(("inputs", "kind"), CASES, ids=repr)
def test_masking_inside_is_replacing_outside(inputs, kind):
    x = sample(inputs)
    mask = np.random.default_rng(1).random((6, inputs.n)) < 0.5
    network = network_for(inputs, 3, width=8, kind=kind, seed=0).eval()
    with torch.no_grad():
        inside = network(torch.from_numpy(x), torch.from_numpy(mask).float())
        outside = network(torch.from_numpy(inputs.check(inputs.keep(x, mask))))
        everything = network(torch.from_numpy(x), torch.ones(6, inputs.n))
        plain = network(torch.from_numpy(x))
    torch.testing.assert_close(inside, outside, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(everything, plain, atol=1e-5, rtol=1e-5)
    assert inside.shape == (6, 3) and not torch.allclose(inside, plain)


@pytest.mark.parametrize(("inputs", "kind"), CASES, ids=repr)
@pytest.mark.parametrize("query", [False, True])
def test_selectors_answer_one_row_as_they_answer_many(inputs, kind, query):
    x = torch.from_numpy(sample(inputs))
    answer = torch.rand(6, 3).softmax(dim=1) if query else None
    selector = selector_for(inputs, 3, query=query, width=8, seed=0).eval()
    with torch.no_grad():
        together = selector(x, answer)
        alone = torch.cat([selector(x[i : i + 1], None if answer is None else answer[i : i + 1]) for i in range(6)])
        if answer is not None:
            assert not torch.equal(together[1:], selector(x, answer.flip(1))[1:]), "the answer is heard"
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)
    assert together.shape == (6, inputs.n)
    absent = torch.from_numpy(~inputs.present(x.numpy()))
    assert (together[absent] == LOWEST).all() and (together[~absent] > LOWEST / 2).all()


def test_more_padding_changes_nothing():
    short, long = Words(5, 30), Words(9, 30)
    x = np.array([[4, 9, 2, 0, 0], [7, 7, 3, 8, 1]])
    padded = np.pad(x, ((0, 0), (2, 2)))
    for make in (
        lambda i: network_for(i, 2, width=6, kind="convolution", seed=0),
        lambda i: selector_for(i, width=6, seed=0),
    ):
        small, large = make(short).eval(), make(long).eval()
        with torch.no_grad():
            one, other = small(torch.from_numpy(x)), large(torch.from_numpy(padded))
        torch.testing.assert_close(one, other[:, 2:7] if other.shape[1] == 9 else other, atol=1e-6, rtol=1e-6)


def test_one_kept_word_reads_the_same_in_a_long_and_a_short_text():
    """Windows without words are candidates of the maximum in both, also where every window with the word says less."""
    inputs, x, mask = Words(9, 30), np.full((1, 9), 4), np.zeros((1, 9))
    mask[0, 4] = 1
    network = network_for(inputs, 2, width=64, kind="convolution", seed=0).eval()
    with torch.no_grad():
        inside = network(torch.from_numpy(x), torch.from_numpy(mask).float())
        outside = network(torch.from_numpy(inputs.keep(x, mask)))
    torch.testing.assert_close(inside, outside, atol=1e-6, rtol=1e-6)


def test_weights_follow_the_seed_and_leave_global_state_alone():
    before = torch.random.get_rng_state()
    one, same, other = (network_for(Tabular(4), 2, seed=s).state_dict()["layers.0.weight"] for s in (1, 1, 2))
    assert torch.equal(one, same) and not torch.equal(one, other)
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_black_box_is_asked_in_parts_and_keeps_its_mode():
    inputs = Tabular(4)
    network = network_for(inputs, 3, width=8).train()
    x = sample(inputs, rows=7)
    few, many = as_black_box(network, inputs, rows=2)(x), as_black_box(network, inputs)(x)
    np.testing.assert_allclose(few, many, atol=1e-6)
    np.testing.assert_allclose(many.sum(axis=1), 1)
    assert network.training


@pytest.mark.parametrize(
    "make",
    [
        lambda: network_for(Tabular(3), 0),
        lambda: network_for(Tabular(3), 2, kind="convolution"),
        lambda: network_for(Words(3, 5), 2, kind="layers"),
        lambda: network_for(Tabular(3), 2, width=0),
        lambda: selector_for(Tabular(3), width=10**9),
        lambda: selector_for(object()),
    ],
)
def test_nonsense_is_refused(make):
    with pytest.raises(InvalidInput):
        make()


@pytest.mark.parametrize("shape", [(8, 8), (3, 8, 8)])
def test_channels_lie_last_in_every_layer_of_filters(shape):
    inputs, seen = PixelGrid(shape), []
    for network in (network_for(inputs, 2, width=4), selector_for(inputs, width=4)):
        for layer in network.filters:
            layer.register_forward_hook(lambda layer, given, made: seen.append(made.stride(1)))
        network(torch.zeros(2, *shape))
    assert seen == [1] * 10  # or every filter turns its input over first
