"""The barrier flow of uniform causal attention, which depends on the number of tokens and layers alone.

Every token reads itself and all tokens before it with equal weight. Credit is then a smooth function of the position, which
changes slowly with the number of tokens. For long texts it is carried over from three short ones: each is solved exactly, its
log-credit drawn through all positions on a scale that spreads both ends, and each place of that scale is continued to the
wanted length by a parabola in the logarithm of the length.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray
from accredit.flow.network import LayeredNetwork
from accredit.flow.unique import unique_flow

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

SOLVED = (100, 200, 400)  # tokens of the texts that are solved; longer ones are continued from them
TOLERATED = 0.01  # share of the credit that may lie elsewhere


@dataclass(frozen=True, eq=False)
class Continued:
    """Credit of a long text, carried over from short ones.

    >>> long = continued_credit(2, 600, (599,))
    >>> long.credit.shape, long.error < 0.05
    ((600,), True)
    """

    credit: FloatArray  # (T,)
    error: float  # share of it that lies elsewhere when the shortest text is left out: about what may be off


def continued_credit(layers: int, tokens: int, outputs: tuple[int, ...]) -> Continued | None:
    """Credit of the input tokens for the barrier flow of uniform causal attention from some tokens of the last layer.

    None where it cannot be carried over: the text is short enough to be solved, the outputs are not among the last tokens, or
    more than a hundredth of the credit might lie elsewhere.

    >>> continued_credit(2, 600, (599,)).credit.shape, continued_credit(2, 100, (99,))
    ((600,), None)
    """
    from_end = tuple(sorted(tokens - out for out in outputs))
    if tokens <= SOLVED[-1] or not outputs or from_end[-1] > SOLVED[0] // 2:
        return None
    drawn, totals = zip(*(_short(layers, short, from_end) for short in SOLVED), strict=True)
    logs = np.stack([curve(_scale(tokens)) for curve in drawn])  # (3, T)
    best, coarser = (_normalise(_continue(logs[k:], SOLVED[k:], tokens)) for k in (0, 1))
    error = float(np.abs(best - coarser).sum() / 2)
    return Continued(best * _continue(np.array(totals), SOLVED, tokens), error) if error <= TOLERATED else None


def _scale(tokens: int) -> FloatArray:
    """Positions on a scale from -1 to 1 that spreads the first and the last tokens: (T,)."""
    before = np.arange(1.0, tokens + 1)
    return np.asarray(np.log(before / before[::-1]) / np.log(tokens))


@lru_cache(maxsize=64)
def _short(layers: int, tokens: int, from_end: tuple[int, ...]) -> tuple[CubicSpline, float]:
    """A text that is solved exactly: the logarithm of its credit as a curve over the scale, and its max flow."""
    from scipy.interpolate import CubicSpline

    rows = np.tril(np.ones((layers, tokens, tokens)))
    rows /= rows.sum(axis=2, keepdims=True)
    network = LayeredNetwork.from_attention(rows, outputs=[tokens - back for back in from_end])
    flow = unique_flow(network, "barrier")
    return CubicSpline(_scale(tokens), np.log(flow.demand)), flow.value


def _continue(logs: FloatArray, lengths: tuple[int, ...], tokens: int) -> FloatArray:
    """The polynomial in log T through what all lengths have, at the wanted one: (k, …) -> (…)."""
    x, at = np.log(lengths), np.log(tokens)
    others = [np.delete(x, k) for k in range(len(x))]
    weights = [np.prod((at - other) / (x[k] - other)) for k, other in enumerate(others)]
    return np.asarray(np.array(weights) @ logs)


def _normalise(logs: FloatArray) -> FloatArray:
    credit = np.exp(logs - logs.max())
    return np.asarray(credit / credit.sum())
