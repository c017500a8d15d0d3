"""A pass that nobody waits for stops where it is, in any thread; one that somebody waits for gives the same numbers."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from accredit import explain, explain_answer
from accredit.web.model_process import Interrupted, Line, ask_in_every_layer

FACTS = {"context": ["Anna lives in Rome .", "Boris owns a dog ."], "query": "Where does Anna live ?"}


@pytest.fixture
def line():
    """A line whose first task runs, asked by every layer."""
    made = Line()
    made.running = 1
    hooks = ask_in_every_layer(made.check)
    yield made
    for hook in hooks:
        hook.remove()


@pytest.fixture
def layers():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))


def test_forwards_and_backwards_stop_once_the_task_is_cancelled(line, layers):
    out = layers(torch.ones(1, 3))
    line.cancelled.add(1)
    with pytest.raises(Interrupted):
        out.sum().backward()
    assert layers[0].weight.grad is None  # it did not go through
    with pytest.raises(Interrupted):
        layers(torch.ones(1, 3))
    line.cancelled.clear()
    layers(torch.ones(1, 3)).sum().backward()
    assert layers[0].weight.grad is not None


def test_only_the_task_that_runs_is_stopped_by_its_cancellation(line, layers):
    line.cancelled.add(2)
    layers(torch.ones(1, 3))
    line.running = 2
    with pytest.raises(Interrupted):
        layers(torch.ones(1, 3))


def test_warming_up_stops_as_soon_as_somebody_waits(line, layers):
    line.running = 0
    layers(torch.ones(1, 3))
    line.tasks.put({"task": "explain", "number": 1})
    with pytest.raises(Interrupted):
        layers(torch.ones(1, 3))


def test_other_threads_stop_too(line, layers):
    raised: list[BaseException] = []

    def work():
        try:
            while True:
                layers(torch.ones(1, 3))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    line.cancelled.add(1)
    thread.join(60)
    assert [type(error) for error in raised] == [Interrupted]


@pytest.mark.slow
def test_hooks_change_no_number():
    def credit():
        text = explain("A film that never lands.", methods=["attn-lrp", "integrated-gradients", "leave-one-out", "flow:agf"])
        said = explain_answer(**FACTS, methods=["attn-lrp", "shapley"])
        return [result.credit for made in (text, said) for _, result in made]

    before = credit()
    made = Line()
    made.running = 1
    hooks = ask_in_every_layer(made.check)
    try:
        after = credit()
    finally:
        for hook in hooks:
            hook.remove()
    assert len(before) == 6 and all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
