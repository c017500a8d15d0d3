"""Small data for the tests of valuation."""

from __future__ import annotations

import numpy as np

from accredit.checks.numbers import FloatArray
from accredit.valuation import Split, split


def blobs(rows: int, tests: int = 40, columns: int = 3, seed: int = 0, flips: int = 0) -> Split:
    """Two Gaussian classes one unit apart in every column; the last `flips` training labels are wrong."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows + tests) % 2
    x: FloatArray = rng.normal(size=(rows + tests, columns)) + y[:, None]
    labels = y[:rows].copy()
    labels[rows - flips :] = 1 - labels[rows - flips :]
    return split(x[:rows], labels, x[rows:], y[rows:])
