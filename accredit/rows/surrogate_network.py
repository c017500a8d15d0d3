"""A small network that learns what a linear function leaves of a model's answers, and what each column earns in it.

It is for smooth models, which boosted trees follow in steps. Two hidden layers of rectified units, trained by Adam with a rate
that falls to zero; in single precision, because its error is far above that. It is cheap to ask: its first layer is a sum over
columns, so that the part of a background row in a coalition is computed once for all explained rows. Its credit is therefore
estimated from many coalitions with every background row, and the error of that is estimated, too.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from accredit.core import BoolArray, FloatArray

WIDTHS = (128, 64)  # units in the two layers
BATCH, EPOCHS = 256, 40
FEWEST_STEPS, MOST_STEPS = 1500, 20_000
NUMBERS_AT_ONCE = 1 << 21  # that enter the first layer
RATE, MOMENTUM, SQUARES, TINY = 3e-3, 0.9, 0.999, 1e-8  # of Adam (Kingma & Ba, 2015)

Single = npt.NDArray[np.float32]


class SurrogateNetwork:
    """A network of two hidden layers, fitted to numbers at points: (m, d), (m,). Both are standardised here."""

    def __init__(self, points: FloatArray, output: FloatArray, seed: int) -> None:
        self._scale = np.where((spread := points.std(axis=0)) > 0, spread, np.inf)  # a constant column counts nothing
        self._level, self._size = float(output.mean()), max(float(output.std()), np.finfo(float).tiny)
        rng = np.random.default_rng(seed)
        sizes = (points.shape[1], *WIDTHS, 1)
        self._slopes: list[Single] = [
            (rng.standard_normal((fan, out)) * np.sqrt(2 / fan)).astype(np.float32) for fan, out in pairwise(sizes)
        ]
        self._shifts: list[Single] = [np.zeros(out, dtype=np.float32) for out in sizes[1:]]
        self._train(self._standard(points), ((output - self._level) / self._size).astype(np.float32), rng)

    def _standard(self, points: FloatArray) -> Single:
        return np.asarray(points / self._scale, dtype=np.float32)

    def _train(self, points: Single, output: Single, rng: np.random.Generator) -> None:
        steps = int(np.clip(EPOCHS * len(points) // BATCH, FEWEST_STEPS, MOST_STEPS))
        learned = [*self._slopes, *self._shifts]
        mean, square = [np.zeros_like(one) for one in learned], [np.zeros_like(one) for one in learned]
        for step in range(1, steps + 1):
            some = rng.integers(0, len(points), BATCH)
            rate = RATE * 0.5 * (1 + np.cos(np.pi * step / steps)) * np.sqrt(1 - SQUARES**step) / (1 - MOMENTUM**step)
            for one, slope, m, s in zip(learned, self._gradients(points[some], output[some]), mean, square, strict=True):
                m += (1 - MOMENTUM) * (slope - m)
                s += (1 - SQUARES) * (slope**2 - s)
                one -= np.float32(rate) * m / (np.sqrt(s) + np.float32(TINY))

    def _gradients(self, points: Single, output: Single) -> list[Single]:
        """Of the mean squared error, by slopes and then by shifts."""
        seen = [points]
        for slope, shift in zip(self._slopes[:-1], self._shifts[:-1], strict=True):
            seen.append(np.maximum(seen[-1] @ slope + shift, 0))
        back = ((seen[-1] @ self._slopes[-1] + self._shifts[-1])[:, 0] - output)[:, None] * np.float32(2 / len(output))
        by_slope: list[Single] = []
        by_shift: list[Single] = []
        for k in reversed(range(len(self._slopes))):
            by_slope.insert(0, seen[k].T @ back)
            by_shift.insert(0, back.sum(axis=0))
            back = (back @ self._slopes[k].T) * (seen[k] > 0)
        return [*by_slope, *by_shift]

    def _finish(self, entering: Single) -> FloatArray:
        """What the layers make of the sums that enter the first one: (m, WIDTHS[0]) -> (m,)."""
        seen = np.maximum(entering + self._shifts[0], 0)
        seen = np.maximum(seen @ self._slopes[1] + self._shifts[1], 0)
        return np.asarray(self._level + self._size * (seen @ self._slopes[2] + self._shifts[2])[:, 0], dtype=np.float64)

    def predict(self, points: FloatArray) -> FloatArray:
        """(m, d) -> (m,)."""
        return self._finish(self._standard(points) @ self._slopes[0])

    def payoffs(self, rows: FloatArray, background: FloatArray, weights: FloatArray, kept: BoolArray) -> FloatArray:
        """Mean output with the kept columns of each row and the others of every background row: kept (m, d) -> (rows, m)."""
        slope, others = self._slopes[0], self._standard(background)
        step = max(1, NUMBERS_AT_ONCE // (len(others) * WIDTHS[0]))
        paid = np.empty((len(rows), len(kept)))
        for some in (slice(first, first + step) for first in range(0, len(kept), step)):
            absent = np.stack([(others * gone) @ slope for gone in ~kept[some]])  # (m, b, units): the same for all rows
            for r, row in enumerate(self._standard(rows)):
                entering = absent + ((row * kept[some]) @ slope)[:, None]
                paid[r, some] = self._finish(entering.reshape(-1, entering.shape[-1])).reshape(len(absent), -1) @ weights
        return paid
