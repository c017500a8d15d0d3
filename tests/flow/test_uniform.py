"""The flow of uniform causal attention, carried over from short texts, against the flow that is solved."""

from __future__ import annotations

import numpy as np
import pytest

from accredit.flow import LayeredNetwork, continued_credit, uniform_attention, unique_flow
from accredit.flow.uniform import SOLVED

TOKENS = SOLVED[-1] + 80


@pytest.mark.slow
@pytest.mark.parametrize(("layers", "last"), [(2, 1), (4, 2)])
def test_a_long_text_is_carried_over_to_within_the_error_that_is_stated(layers, last):
    outputs = tuple(range(TOKENS - last, TOKENS))
    found = continued_credit(layers, TOKENS, outputs)
    even = uniform_attention(np.tril(np.ones((layers, TOKENS, TOKENS))))
    rows = even / even.sum(axis=2, keepdims=True)
    solved = unique_flow(LayeredNetwork.from_attention(rows, outputs=list(outputs)))
    assert found is not None and found.error < 0.01
    assert np.abs(found.credit - solved.demand).sum() / 2 <= found.error * solved.value
    assert found.credit.sum() == pytest.approx(solved.value, abs=1e-3)


def test_what_cannot_be_carried_over_is_left_to_the_solver():
    assert continued_credit(4, SOLVED[-1], (SOLVED[-1] - 1,)) is None  # short enough
    assert continued_credit(4, TOKENS, (3,)) is None  # the outputs are not among the last tokens
    assert continued_credit(4, TOKENS, ()) is None
