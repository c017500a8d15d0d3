"""The one training loop, driven by scripts of losses."""

import math

import numpy as np
import pytest
import torch

from accredit.learned.epochs import NotFinite, batches, downhill, finite, train


def ran(losses, patience=None, epochs=None):
    """A module whose weight is the number of the last epoch, and how its training ended."""
    module = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(module.weight)

    def one(number):
        torch.nn.init.constant_(module.weight, float(number))
        loss = losses[number - 1]
        if isinstance(loss, Exception):
            raise loss
        return loss

    ended = train([module], epochs or len(losses), one, patience)
    return ended, float(module.weight.detach())


@pytest.mark.parametrize(
    ("losses", "patience", "kept", "says"),
    [
        ([3.0, 2.0, 2.5, 2.5, 1.0], 2, 2, "no better for 2 epochs; the weights are those of epoch 2"),
        ([3.0, 2.0, 2.5], 2, 2, "3 epochs are done; the weights are those of epoch 2"),
        ([3.0, 2.0, 2.5], None, 3, "3 epochs are done; the weights are those of epoch 3"),
        ([2.0, 2.0, 2.0], 2, 1, "no better for 2 epochs; the weights are those of epoch 1"),
        ([None, None], None, 2, "2 epochs are done; the weights are those of epoch 2"),
    ],
)
def test_it_stops_when_nothing_improves_and_keeps_the_best(losses, patience, kept, says):
    ended, weight = ran(losses, patience)
    assert weight == ended.kept == kept and str(ended) == says and ended.finite


@pytest.mark.parametrize(
    ("losses", "patience", "kept", "says"),
    [
        ([3.0, 4.0, math.nan, 1.0], 5, 1, "the validation loss was nan in epoch 3; the weights are those of epoch 1"),
        (
            [3.0, 4.0, math.inf, 1.0],
            None,
            2,
            "the validation loss was inf in epoch 3; the weights are those of epoch 2",
        ),
        ([NotFinite("the loss was inf")], 5, 0, "the loss was inf in epoch 1; the weights are the untrained ones"),
        ([None, NotFinite("a weight was not finite")], None, 1, "a weight was not finite in epoch 2"),
    ],
)
def test_a_loss_that_is_not_finite_ends_it_at_good_weights_with_a_warning(losses, patience, kept, says):
    ended, weight = ran(losses, patience)
    assert weight == ended.kept == kept and says in str(ended) and not ended.finite
    with pytest.warns(RuntimeWarning, match="training stopped: judge: .*; lower the rate"):
        ended.warn("judge")


@pytest.mark.filterwarnings("error")
def test_a_good_ending_does_not_warn():
    ran([1.0])[0].warn()


@pytest.mark.parametrize("rows", range(1, 12))
def test_batches_hold_every_row_once_in_order(rows):
    order = np.random.default_rng(rows).permutation(rows)
    for fewest in (1, 2):
        parts = batches(order, 3, fewest)
        assert np.concatenate(parts).tolist() == order.tolist()
        assert rows == 1 or min(map(len, parts)) >= fewest


def test_a_step_goes_downhill_and_a_finite_loss_is_itself():
    module = torch.nn.Linear(2, 1)
    x, optimiser = torch.ones(4, 2), torch.optim.SGD(module.parameters(), lr=0.01)
    before = float((module(x) ** 2).mean().detach())
    for _ in range(3):
        downhill((module(x) ** 2).mean(), optimiser)
    assert float((module(x) ** 2).mean().detach()) < before
    assert finite(2.5) == 2.5
    with pytest.raises(NotFinite, match="the loss was nan"):
        finite(math.nan)


def test_moving_averages_are_judged_and_training_goes_on_from_the_last_weights():
    from accredit.learned.stages import Average

    module = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        module.weight.fill_(0.0)
    average = Average([module], 0.5)
    for weight in (10.0, 20.0):
        with torch.no_grad():
            module.weight.fill_(weight)
        average.update()
    average.put_in()
    first = 0.1 * 0.0 + 0.9 * 10.0  # one step: a tenth is remembered
    second = 2 / 11 * first + 9 / 11 * 20.0
    assert module.weight.item() == pytest.approx(second)
    average.set_aside()
    assert module.weight.item() == 20.0
