"""Cubes of leaves: what players get by the byte and bit by bit, against a sum over pairs of rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.trees.masks import LeafCubes

LEAVES, ROWS, BACKGROUND, OUTPUTS = 3, 4, 6, 2


def words(fails, kind):
    """(…, players) -> words of 64 players each, the last bits unused."""
    spare = -fails.shape[-1] % (8 * np.dtype(kind).itemsize)
    packed = np.packbits(np.pad(fails, [(0, 0)] * (fails.ndim - 1) + [(0, spare)]), axis=-1, bitorder="little").view(kind)
    return [np.ascontiguousarray(packed[..., w]) for w in range(packed.shape[-1])]


@pytest.mark.parametrize(
    ("players", "kind", "often"),
    [(7, "u1", 0.4), (7, "u1", 0.05), (15, "u2", 0.3), (30, "u4", 0.02), (60, "u8", 0.02), (100, "u8", 0.01), (100, "u8", 0.2)],
)
def test_credit_of_cubes(players, kind, often):
    rng = np.random.default_rng(players)
    own, theirs = rng.random((LEAVES, ROWS, players)) < often, rng.random((LEAVES, BACKGROUND, players)) < often
    theirs &= ~own[:, :1]  # so that some pairs fail no player twice, however many each fails
    path = np.stack([rng.permutation(players) for _ in range(LEAVES)])
    weight, value, output = rng.random(BACKGROUND), rng.normal(size=(LEAVES, 1)), np.arange(LEAVES) % OUTPUTS
    shares = tuple(rng.random((players + 1, players + 1)) for _ in range(2))
    cubes = LeafCubes(words(own, kind), words(theirs, kind), path, weight)
    earned = np.zeros((players * OUTPUTS, ROWS))
    cubes.add_credit(value, output, shares, OUTPUTS, earned)
    expected = np.zeros((players, OUTPUTS, ROWS))
    for leaf, row, b in np.ndindex(LEAVES, ROWS, BACKGROUND):
        fails, others = own[leaf, row], theirs[leaf, b]
        if not (fails & others).any():
            gain, loss = (by[others.sum(), fails.sum()] * weight[b] * value[leaf, 0] for by in shares)
            expected[path[leaf], output[leaf], row] += gain * others - loss * fails
    assert_allclose(earned, expected.reshape(earned.shape), rtol=0, atol=1e-12)
