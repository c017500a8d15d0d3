"""Batches: every row once, none too large."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accredit.errors import InvalidInput
from accredit.games.batches import rows_that_fit, spans, spans_by_length


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(40, 200), st.booleans())
@settings(derandomize=True)
def test_batches_by_length_hold_every_row_once_and_fit(lengths, tokens, even):
    lengths = np.array(lengths, dtype=np.int64)
    batches = list(spans_by_length(lengths, tokens, even))
    assert sorted(np.concatenate(batches).tolist() if batches else []) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * lengths[batch].max() <= tokens
        assert not even or len(set(lengths[batch])) == 1


@given(st.integers(0, 100), st.integers(1, 30))
@settings(derandomize=True)
def test_spans_cover_without_overlap(count, rows):
    assert [i for part in spans(count, rows) for i in range(part.start, part.stop)] == list(range(count))


def test_memory_bounds_the_rows():
    assert rows_that_fit(1000, memory=10_000) == 10
    assert rows_that_fit(1e9, memory=10) == 1
    assert rows_that_fit(1, memory=1e9, tokens=100, device="cuda") > rows_that_fit(1, memory=1e9, tokens=100)
    with pytest.raises(InvalidInput, match="memory"):
        rows_that_fit(1, memory=0)
