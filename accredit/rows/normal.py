r"""Absent columns drawn from a normal distribution: given the present ones, or as if the present ones had been set.

Seeing and setting differ. Who *sees* that a column has a value learns about its causes as well; who *sets* it changes only what
follows from it. For columns in stages, causes before effects, the draws under $do(X_S = x_S)$ are made stage by stage
(Heskes et al., 2020):

$$P(X_{\bar S} \mid do(X_S = x_S)) = \prod_{\tau\ \text{confounded}} P(X_{\tau \cap \bar S} \mid X_{pa(\tau)})
\prod_{\tau\ \text{not}} P(X_{\tau \cap \bar S} \mid X_{pa(\tau)}, x_{\tau \cap S})$$

pa(τ) being all earlier stages, with their set or drawn values. Columns of one stage go together for one of two reasons: they
act on one another (not confounded: one that is set tells about the others), or something unseen acts on all of them
(confounded: it tells nothing).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.statistics import spreads
from accredit.errors import InvalidInput
from accredit.models.cells import columns_of
from accredit.models.partition import Partition
from accredit.values.precedence import Precedence

if TYPE_CHECKING:
    from accredit.models.row_types import Table

NORMAL_DRAWS = 200  # shared by all coalitions


class Normal:
    """The normal distribution of background rows, the first len(weights) of `both`; one row beside it; and noise, in opposite
    pairs, so that its mean is zero."""

    def __init__(self, both: Table, row: int, weights: FloatArray, draws: int = NORMAL_DRAWS, seed: int = 0) -> None:
        numbers = numeric(both)
        self.point, self._names = numbers[row], None if isinstance(both, np.ndarray) else both.columns
        self._mean, self._covariance = weights @ numbers[: len(weights)], covariance(numbers[: len(weights)], weights)
        half = np.random.default_rng(seed).standard_normal((draws // 2, numbers.shape[1]))
        self._noise = np.concatenate([half, -half])
        self.size = len(self._noise)

    def start(self) -> FloatArray:
        """The row itself, as often as there are draws: (size, d)."""
        return np.broadcast_to(self.point, (self.size, len(self.point))).copy()

    def draw(self, wanted: BoolArray, given: BoolArray, values: FloatArray) -> FloatArray:
        """Draws of the wanted columns (size, wanted), given the values of others: (given,), or of every draw (size, given)."""
        here = self._covariance[np.ix_(given, given)]
        across = self._covariance[np.ix_(given, wanted)]
        slope = np.linalg.solve(here, across).T if given.any() else np.zeros((wanted.sum(), 0))
        centre = self._mean[wanted] + (slope @ (values - self._mean[given]).T).T
        left = self._covariance[np.ix_(wanted, wanted)] - slope @ across
        return np.asarray(centre + self._noise[:, wanted] @ root(left).T)

    def table(self, rows: list[FloatArray]) -> tuple[Table, FloatArray]:
        """Completed rows of several coalitions as one table, and their weights."""
        stacked: Table = np.concatenate(rows)
        if self._names is not None:
            import pandas

            stacked = pandas.DataFrame(stacked, columns=self._names)
        return stacked, np.full((len(rows), self.size), 1 / self.size)


@final
class Gaussian:
    """Draws of the absent columns given the present ones, as if all columns were jointly normal."""

    def __init__(self, normal: Normal) -> None:
        self._normal, self.size = normal, normal.size

    def complete(self, kept: BoolArray) -> tuple[Table, FloatArray]:
        return self._normal.table([self._draw(present) for present in kept])

    def _draw(self, present: BoolArray) -> FloatArray:
        rows = self._normal.start()
        if not present.all():
            rows[:, ~present] = self._normal.draw(~present, present, self._normal.point[present])
        return rows


@final
class Interventions:
    """Draws of the absent columns, stage by stage, as if the present ones had been set; see the module's text."""

    def __init__(self, normal: Normal, stage: IntArray, confounding: bool | tuple[bool, ...] = False) -> None:
        self._normal, self._stage, self.size = normal, stage, normal.size
        count = int(stage.max()) + 1
        self._confounded = (confounding,) * count if isinstance(confounding, bool) else tuple(confounding)
        if len(self._confounded) != count:
            raise InvalidInput(
                f"confounding has {len(self._confounded)} entries, and order has {count} stages; write one for each, or "
                "confounding=True for all",
                argument="confounding",
                code="shape",
            )

    def complete(self, kept: BoolArray) -> tuple[Table, FloatArray]:
        return self._normal.table([self._draw(present) for present in kept])

    def _draw(self, present: BoolArray) -> FloatArray:
        rows = self._normal.start()
        for stage, confounded in enumerate(self._confounded):
            here = self._stage == stage
            wanted, given = here & ~present, self._stage < stage
            if not confounded:
                given = given | (here & present)
            if wanted.any():
                rows[:, wanted] = self._normal.draw(wanted, given, rows[:, given])
        return rows


def stages_of_columns(partition: Partition, order: Precedence | None) -> IntArray:
    """The stage of every column, where all players stand in stages: (columns,)."""
    if order is None:
        raise InvalidInput(
            "dependence='causal' needs to know which columns are causes of which; write order='age, sex < income'",
            argument="order",
            code="missing",
        )
    if order.stages is None:
        raise InvalidInput(
            "dependence='causal' needs every column in a stage, causes before effects: order=[['age', 'sex'], 'income', …] "
            f"with all of {', '.join(order.players[:8])}{' …' if len(order.players) > 8 else ''}",
            argument="order",
            code="unsupported",
        )
    return np.array(order.stages.of)[partition.owner]


def numeric(both: Table, why: str = "conditional answers need numbers: write dependence='interventional'") -> FloatArray:
    """A table as numbers without gaps, or an error that names the column that is not and says `why` that matters."""
    if isinstance(both, np.ndarray) and both.dtype.kind in "biuf" and np.isfinite(both.astype(np.float64)).all():
        return both.astype(np.float64)
    for i, column in enumerate(columns_of(both)):
        kind = getattr(column.dtype, "kind", "O")
        missing = bool((column != column).any() if isinstance(column, np.ndarray) else column.isna().any())
        if kind not in "biuf" or missing:
            name = f"x{i}" if isinstance(both, np.ndarray) else both.columns[i]
            seen = "has missing values" if missing else f"is {column.dtype}"
            raise InvalidInput(f"column {str(name)!r} {seen}; {why}", code="missing" if missing else "type")
    return np.asarray(both, dtype=np.float64) if isinstance(both, np.ndarray) else both.to_numpy(dtype=np.float64)


def covariance(numbers: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted covariance of rows, with a touch of each column's own variance so that it can be inverted; a constant column
    goes with no other."""
    varies = spreads(numbers[weights > 0]) > 0
    centred = (numbers - weights @ numbers) * varies
    together = (centred * weights[:, None]).T @ centred
    return np.asarray(together + 1e-6 * np.diag(np.where(varies, np.diag(together), 1.0)))


def root(matrix: FloatArray) -> FloatArray:
    """A square root R of a covariance, R Rᵀ."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
