"""Small data for the tests of valuation, and where the large data are."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from accredit.core.coalitions import FloatArray
from accredit.valuation import Split, split


def shared_data(name: str) -> Path:
    """A file of the shared data; the test is skipped where it is not."""
    folder = Path(os.environ.get("ACCREDIT_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not (folder / name).exists():
        pytest.skip(f"{name} is not at {folder}; set ACCREDIT_DATA to the folder that has it")
    return folder / name


def blobs(rows: int, tests: int = 40, columns: int = 3, seed: int = 0, flips: int = 0) -> Split:
    """Two Gaussian classes one unit apart in every column; the last `flips` training labels are wrong."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows + tests) % 2
    x: FloatArray = rng.normal(size=(rows + tests, columns)) + y[:, None]
    labels = y[:rows].copy()
    labels[rows - flips :] = 1 - labels[rows - flips :]
    return split(x[:rows], labels, x[rows:], y[rows:])
