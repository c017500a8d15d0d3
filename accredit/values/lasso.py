r"""Lasso for many targets that share one design: the Gram matrix is formed once, and all targets descend together.

For each target t with its own penalty, $\min_w \frac{1}{2m}\lVert y_t - Xw \rVert^2 + \lambda_t \lVert w \rVert_1$.
With X and y centred, all that is needed of them is G = XᵀX/m, C = XᵀY/m and ‖y_t‖²/m. Accelerated proximal gradient
steps (FISTA) on all columns at once are matrix products; a target leaves when its duality gap, which also comes from G,
is closed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.errors import NotConverged

STEPS_PER_CHECK = 10  # steps between checks of the gap


@dataclass(frozen=True)
class Gram:
    """All that a lasso needs of a design and its targets."""

    matrix: FloatArray  # G: (n, n)
    products: FloatArray  # C: (n, T)
    squares: FloatArray  # ‖y_t‖²/m: (T,)
    means: tuple[FloatArray, FloatArray]  # of the columns of X (n,), and of Y (T,)
    steepest: float  # λ_max(G), rounded up


def gram(x: FloatArray, y: FloatArray) -> Gram:
    """Centre x (m, n) and y (m, T) and multiply them out. Costs m·n·(n + T)."""
    rows = len(x)
    x_mean, y_mean = x.mean(axis=0), y.mean(axis=0)
    y = y - y_mean
    matrix = x.T @ x / rows - np.outer(x_mean, x_mean)
    return Gram(matrix, x.T @ y / rows, (y**2).mean(axis=0), (x_mean, y_mean), _steepest(matrix))


def _steepest(matrix: FloatArray) -> float:
    """λ_max, rounded up by one per cent: a longer step could diverge."""
    from scipy.sparse.linalg import eigsh

    if len(matrix) <= 32:
        value = np.linalg.eigvalsh(matrix)[-1]
    else:
        start = np.random.default_rng(0).normal(size=len(matrix))
        value = eigsh(matrix, k=1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)[0]
    return 1.01 * float(value) or 1.0


def lasso(data: Gram, penalty: FloatArray, start: FloatArray | None = None, tolerance: float = 1e-6) -> FloatArray:
    """Weights (n, T) for penalties (T,), each with a duality gap below `tolerance`·‖y_t‖²/m.

    >>> rng = np.random.default_rng(0)
    >>> x = (rng.random((400, 6)) < 0.5).astype(float)
    >>> lasso(gram(x, 3 * x[:, :1]), np.array([0.075])).round(1).ravel()  # shrunk by λ/var(x) = 0.3
    array([2.7, 0. , 0. , 0. , 0. , 0. ])
    """
    weights = np.zeros_like(data.products) if start is None else start.copy()
    step = 1 / data.steepest
    active = np.arange(weights.shape[1])
    point, momentum = weights.copy(), 1.0
    for iteration in range(1, 100_000):
        c, limit = data.products[:, active], step * penalty[active]
        trial = point - step * (data.matrix @ point - c)
        moved = trial - np.clip(trial, -limit, limit)
        change = moved - weights[:, active]
        if ((point - moved) * change).sum() > 0:  # the momentum points uphill: restart it
            momentum = 1.0
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        point = moved + (momentum - 1) / faster * change
        weights[:, active], momentum = moved, faster
        if iteration % STEPS_PER_CHECK == 0:
            open_ = duality_gap(data, weights, penalty, active) > tolerance * data.squares[active]
            if not open_.any():
                return weights
            active, point = active[open_], point[:, open_]
    raise NotConverged("the lasso did not close its duality gap in 100,000 steps; raise the penalty")


def duality_gap(data: Gram, weights: FloatArray, penalty: FloatArray, active: IntArray) -> FloatArray:
    """Primal minus dual objective of the active targets, from the Gram matrix alone: (active,)."""
    w, c = weights[:, active], data.products[:, active]
    smooth = data.matrix @ w
    squares, fit, own = data.squares[active], (c * w).sum(axis=0), (w * smooth).sum(axis=0)
    residual = squares - 2 * fit + own  # ‖y − Xw‖²/m
    steepest = np.abs(c - smooth).max(axis=0)
    shrink = np.minimum(1.0, penalty[active] / np.maximum(steepest, 1e-300))
    primal = residual / 2 + penalty[active] * np.abs(w).sum(axis=0)
    dual = shrink * (squares - fit) - shrink**2 * residual / 2
    return np.asarray(primal - dual)
