r"""Ridge regression on subsets of rows, in closed form, without a matrix of rows × rows where rows are many.

With X the centred indicators (m, N) of m subsets and K = XXᵀ = U diag(s) Uᵀ, the weights for a penalty λ are
$w = X^\top U\,\mathrm{diag}(1/(s+\lambda))\,U^\top y$, and the error of a subset when it is left out follows from the fit with
it, $e_i/(1-h_i)$. So one eigenproblem of the smaller side answers for every penalty and every target.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from accredit.core import BoolArray, FloatArray
from accredit.errors import TooManyPlayers

PENALTIES = np.geomspace(1e-2, 1e3, 26)  # of the mean eigenvalue
ROWS_PER_BLOCK = 1000  # rows of the data that are turned into numbers at a time
MEMORY_AT_MOST = 4e9  # bytes


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Weights of all targets, each with the penalty under which subsets that are left out are predicted best."""

    weights: FloatArray  # (N, T)
    penalties: FloatArray  # (T,)
    errors: FloatArray  # (T,), mean squared, of subsets that are left out


def ridge(masks: BoolArray, y: FloatArray, memory: float = MEMORY_AT_MOST) -> Shrunk:
    """Fit outputs y (m, T) to subsets (m, N). Costs min(m, N)³ + m·N·min(m, N).

    >>> rng = np.random.default_rng(0)
    >>> masks = rng.random((300, 4)) < 0.5
    >>> ridge(masks, masks @ np.array([[3.0], [1.0], [0.0], [-2.0]])).weights.ravel().round(1)
    array([ 3.,  1.,  0., -2.])
    """
    check_memory(len(masks), masks.shape[1], y.shape[1], memory)
    target = y - y.mean(axis=0)
    left, s = _directions(masks)
    seen = left.T @ target  # (r, T)
    levels = PENALTIES * max(float(s.mean()), 1e-300)
    best, chosen = np.full(y.shape[1], np.inf), np.full(y.shape[1], levels[0])
    for level in levels:
        kept = s / (s + level)
        own = 1 / len(y) + (left**2) @ kept  # how far a subset is fitted by itself, its mean included
        missed = (target - left @ (kept[:, None] * seen)) / np.maximum(1 - own, 1e-9)[:, None]
        error = (missed**2).mean(axis=0)
        better = error < best
        best, chosen = np.where(better, error, best), np.where(better, level, chosen)
    dual = left @ (seen / (s[:, None] + chosen))  # (m, T)
    weights = np.concatenate([part.T @ dual for part in _centre(masks)])
    return Shrunk(weights, chosen, best)


def _directions(masks: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Left singular vectors (m, r) of the centred indicators and their squared singular values (r,)."""
    subsets, rows = masks.shape
    if subsets <= rows:
        kernel = np.zeros((subsets, subsets))
        for part in _centre(masks):
            kernel += part @ part.T
        s, left = np.linalg.eigh(kernel)
    else:
        x = masks - masks.mean(axis=0)
        s, right = np.linalg.eigh(x.T @ x)
        left = x @ (right / np.sqrt(np.maximum(s, 1e-300)))
    real = s > 1e-10 * max(float(s[-1]), 1e-300)
    return left[:, real], s[real]


def _centre(masks: BoolArray) -> Iterator[FloatArray]:
    """Some rows of the data at a time, as centred indicators (m, some)."""
    for start in range(0, masks.shape[1], ROWS_PER_BLOCK):
        part = masks[:, start : start + ROWS_PER_BLOCK]
        yield part - part.mean(axis=0)


def check_memory(subsets: int, rows: int, targets: int, memory: float) -> None:
    """Refuse, before anything is allocated, what does not fit."""
    side = min(subsets, rows)
    needed = 8 * (3 * side**2 + 2 * subsets * side + 2 * subsets * ROWS_PER_BLOCK + (2 * subsets + rows) * targets)
    if subsets > rows:
        needed += 8 * subsets * rows
    if needed > memory:
        raise TooManyPlayers(
            f"datamodels of {rows:,} rows from {subsets:,} subsets of {targets:,} outputs need about {needed / 1e9:.1f} GB, "
            f"and memory allows {memory / 1e9:.1f} GB; train fewer subsets (budget=…), value groups of rows "
            "(players=COLUMN), ask for fewer outputs, or raise memory",
            code="too-many",
        )
