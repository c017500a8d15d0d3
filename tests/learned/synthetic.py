r"""Four worlds whose telling columns are known (Chen et al., 2018): XOR, orange skin, a nonlinear sum, and a switch.

Ten standard normal columns; the label is 1 with chance $P(y = 1 \mid x) = 1 / (1 + e^{\,g(x)})$, the odds of class 0 being

| world | $e^{g(x)}$ | telling columns |
|---|---|---|
| `xor` | $\exp(x_0 x_1)$ | 0, 1 |
| `orange skin` | $\exp(x_0^2 + x_1^2 + x_2^2 + x_3^2 - 4)$ | 0–3 |
| `additive` | $\exp(-100 \sin(0.2 x_0) + \lvert x_1 \rvert + x_2 + e^{-x_3} - 2.4)$ | 0–3 |
| `switch` | orange skin of 0–3 where $x_9 > 0$, else additive of 4–7; $x_9 \sim N(\pm 3, 1)$, equally likely | those, and 9 |

The measure is the median rank of the telling columns when all are ordered by score: if they come first, it is (k + 1)/2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accredit.core import BoolArray, FloatArray
from accredit.errors import InvalidInput

TABLE_COLUMNS = 10
CHOSEN = {"xor": 2, "orange skin": 4, "additive": 4, "switch": 5}  # telling columns per row


@dataclass(frozen=True, eq=False)
class SyntheticRows:
    """Rows (N, 10), the chances (N, 2) that made their labels (N,), and which columns are telling (N, 10)."""

    name: str
    x: FloatArray
    chances: FloatArray
    labels: npt.NDArray[np.int64]
    telling: BoolArray

    @property
    def k(self) -> int:
        """Telling columns per row."""
        return CHOSEN[self.name]


def world(name: str, rows: int, seed: int = 0) -> SyntheticRows:
    """Draw a world of that name.

    >>> drawn = world("switch", rows=4, seed=0)
    >>> drawn.telling.sum(axis=1)
    array([5, 5, 5, 5])
    """
    if name not in CHOSEN:
        raise InvalidInput(f"world {name!r} is unknown; known are {', '.join(CHOSEN)}", argument="name", code="unknown")
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, TABLE_COLUMNS))
    if name == "switch":
        x[:, 9] += np.where(rng.random(rows) < 0.5, 3.0, -3.0)
    chances = answers(name, x)
    labels = (rng.random(rows) < chances[:, 1]).astype(np.int64)
    return SyntheticRows(name, x, chances, labels, telling_columns(name, x))


def answers(name: str, x: npt.ArrayLike) -> FloatArray:
    """P(y | x) of a world, which is also its perfect black box: (N, 10) -> (N, 2).

    >>> answers("xor", np.zeros((1, 10)))
    array([[0.5, 0.5]])
    """
    given = np.asarray(x, dtype=np.float64)
    if name == "xor":
        exponent = given[:, 0] * given[:, 1]
    elif name == "orange skin":
        exponent = _orange_skin(given[:, :4])
    elif name == "additive":
        exponent = _additive(given[:, :4])
    else:
        exponent = np.where(given[:, 9] > 0, _orange_skin(given[:, :4]), _additive(given[:, 4:8]))
    one = 1 / (1 + np.exp(np.clip(exponent, -500, 500)))
    return np.column_stack([1 - one, one])


def telling_columns(name: str, x: FloatArray) -> BoolArray:
    """Which columns decide P(y | x): (N, 10)."""
    telling = np.zeros(x.shape, dtype=bool)
    if name == "switch":
        orange = x[:, 9] > 0
        telling[orange, :4] = True
        telling[~orange, 4:8] = True
        telling[:, 9] = True
    else:
        telling[:, : CHOSEN[name]] = True
    return telling


def _orange_skin(x: FloatArray) -> FloatArray:
    exponent: FloatArray = (x**2).sum(axis=1) - 4
    return exponent


def _additive(x: FloatArray) -> FloatArray:
    exponent: FloatArray = -100 * np.sin(0.2 * x[:, 0]) + np.abs(x[:, 1]) + x[:, 2] + np.exp(-x[:, 3]) - 2.4
    return exponent
