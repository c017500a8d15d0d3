r"""A row of a table as a game: which columns earn the model's outputs, compared with other rows.

$$v_k(S) = \sum_b w_b(S)\, f_k\bigl(x_S,\, b_{N \setminus S}\bigr)$$

Columns of S keep the row's values, the others are completed. How they are completed is a choice that the result names:

| dependence | absent columns take | answers |
|---|---|---|
| interventional | the values of a background row, all together, whatever S is | what the model does with its inputs |
| empirical | those of background rows that resemble the row in S | what the data say about rows like this one |
| gaussian | draws from the normal distribution given x_S | the same, if the columns were jointly normal |

Where columns are correlated the answers part: a column that the model ignores earns nothing under *interventional* and may
earn much under the others, because it tells something about columns that matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Protocol, final

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.coalitions import unique
from accredit.core.game import check_groups
from accredit.core.statistics import spreads
from accredit.errors import InvalidInput
from accredit.games.batches import MEMORY, spans
from accredit.models.partition import Partition, partition_of
from accredit.models.rows import RowModel
from accredit.rows.frames import Rows, stack

CALL_ROWS = 1 << 16  # rows in one call of the model
DRAWS = 200  # of the normal distribution, shared by all coalitions
WIDTH, MASS = 0.1, 0.95  # of the empirical kernel, and how much of its weight is used (Aas, Jullum & Løland, 2021)
DEPENDENCE = {
    "interventional": "absent columns take the values of background rows, whatever the present ones are",
    "empirical": "absent columns take the values of background rows that resemble the row in the present ones",
    "gaussian": "absent columns are drawn from the normal distribution given the present ones",
}


class Completion(Protocol):
    """Rows in which absent columns are completed, and what each of them counts."""

    size: int  # completed rows per coalition

    def complete(self, kept: BoolArray) -> tuple[Any, FloatArray]:
        """(batch, d) -> a table of batch · size rows, and weights (batch, size) that sum to 1."""
        ...


@final
class RowGame:
    """What every coalition of columns earns, for all outputs at once: payoffs (batch, outputs)."""

    def __init__(
        self,
        model: RowModel,
        unit: str,
        outputs: tuple[str, ...],
        partition: Partition,
        completion: Completion,
        memory: float = MEMORY,
    ) -> None:
        self.model, self.unit, self.outputs, self.partition = model, unit, outputs, partition
        self._completion = completion
        fits = memory // (8 * max(1, len(partition.owner)) * completion.size)
        self.rows = int(max(1, min(CALL_ROWS // completion.size, fits)))  # coalitions in one call of the model

    @property
    def players(self) -> tuple[str, ...]:
        return self.partition.players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        """One model row per distinct coalition and completed row: (batch, n) -> (batch, outputs)."""
        distinct, index = unique(coalitions)
        kept = self.partition.kept(distinct)
        earned = np.empty((len(kept), len(self.outputs)))
        for part in spans(len(kept), self.rows):
            table, weights = self._completion.complete(kept[part])
            outputs = self.model.outputs(table, self.unit).reshape(*weights.shape, -1)
            earned[part] = np.einsum("bm,bmk->bk", weights, outputs)
        return earned[index]

    @cached_property
    def blur(self) -> float:
        """How far rounding may move a payoff, by the outputs where nobody and where everybody plays."""
        ends = np.repeat([[False], [True]], len(self.partition.owner), axis=1)
        return self.model.blur(self._completion.complete(ends)[0], self.unit)

    def __repr__(self) -> str:
        return f"RowGame({len(self.players)} players, {len(self.outputs)} outputs, {self._completion.size} rows each)"


def mix(both: Any, row: int, size: int, kept: BoolArray) -> Any:
    """Rows with the kept columns of one row and the others of the first `size` rows: (batch, d) -> (batch · size, d).

    >>> mix(np.array([[7, 8], [9, 9], [1, 2]]), 2, 2, np.array([[True, False]])).tolist()
    [[1, 8], [1, 9]]
    """
    if isinstance(both, np.ndarray):
        return np.where(kept[:, None, :], both[row], both[None, :size]).reshape(-1, both.shape[1])
    import pandas

    source: IntArray = np.where(kept[:, None, :], row, np.arange(size)[None, :, None]).reshape(-1, kept.shape[1])
    columns = {i: both.iloc[:, i].take(source[:, i]).reset_index(drop=True) for i in range(kept.shape[1])}
    return pandas.DataFrame(columns).set_axis(both.columns, axis=1)


@final
class Interventional:
    """Background rows with fixed weights: the present columns say nothing about the absent ones."""

    def __init__(self, both: Any, row: int, weights: FloatArray) -> None:
        self._both, self._row, self._weights, self.size = both, row, weights, len(weights)

    def complete(self, kept: BoolArray) -> tuple[Any, FloatArray]:
        weights = np.broadcast_to(self._weights, (len(kept), self.size))
        return mix(self._both, self._row, self.size, kept), weights


@final
class Empirical:
    """Background rows weighted by their resemblance to the row in the columns that are present.

    The kernel is exp(−D²/2h²) with D² the Mahalanobis distance in S over |S|; rows beyond the given share of its mass count
    nothing, so that few but alike rows decide.
    """

    def __init__(self, both: Any, row: int, weights: FloatArray, width: float = WIDTH, mass: float = MASS) -> None:
        self._both, self._row, self._weights, self.size = both, row, weights, len(weights)
        numbers = numeric(both)
        self._gap, self._width, self._mass = numbers[: self.size] - numbers[row], width, mass
        self._covariance = covariance(numbers[: self.size], weights)

    def complete(self, kept: BoolArray) -> tuple[Any, FloatArray]:
        weights = np.stack([self._resemblance(present) for present in kept])
        return mix(self._both, self._row, self.size, kept), weights

    def _resemblance(self, present: BoolArray) -> FloatArray:
        if not present.any():
            return self._weights
        gap = self._gap[:, present]
        distance = np.einsum("bi,bi->b", gap, np.linalg.solve(self._covariance[np.ix_(present, present)], gap.T).T)
        near = -distance / (2 * self._width**2 * present.sum())
        weights = self._weights * np.exp(near - near[self._weights > 0].max())
        order = np.argsort(-weights, kind="stable")
        enough = np.searchsorted(np.cumsum(weights[order]), self._mass * weights.sum()) + 1
        weights[order[enough:]] = 0.0
        return np.asarray(weights / weights.sum())


@final
class Gaussian:
    """Draws of the absent columns given the present ones, as if all columns were jointly normal."""

    def __init__(self, both: Any, row: int, weights: FloatArray, draws: int = DRAWS, seed: int = 0) -> None:
        numbers = numeric(both)
        size, self.size = len(weights), draws
        self._point, self._columns = numbers[row], None if isinstance(both, np.ndarray) else both.columns
        self._mean, self._covariance = weights @ numbers[:size], covariance(numbers[:size], weights)
        half = np.random.default_rng(seed).standard_normal((draws // 2, numbers.shape[1]))
        self._noise = np.concatenate([half, -half])  # in opposite pairs, so that their mean is zero
        self.size = len(self._noise)

    def complete(self, kept: BoolArray) -> tuple[Any, FloatArray]:
        table = np.concatenate([self._drawn(present) for present in kept])
        if self._columns is not None:
            import pandas

            table = pandas.DataFrame(table, columns=self._columns)
        return table, np.full((len(kept), self.size), 1 / self.size)

    def _drawn(self, present: BoolArray) -> FloatArray:
        rows = np.broadcast_to(self._point, (self.size, len(present))).copy()
        absent = ~present
        if absent.any():
            here = self._covariance[np.ix_(present, present)]
            slope = (
                np.linalg.solve(here, self._covariance[np.ix_(present, absent)]).T
                if present.any()
                else np.zeros((absent.sum(), 0))
            )
            centre = self._mean[absent] + slope @ (self._point[present] - self._mean[present])
            left = self._covariance[np.ix_(absent, absent)] - slope @ self._covariance[np.ix_(present, absent)]
            rows[:, absent] = centre + self._noise[:, absent] @ _root(left).T
        return rows


def row_game(
    model: RowModel,
    unit: str,
    outputs: tuple[str, ...],
    both: Any,
    row: int,
    weights: FloatArray,
    partition: Partition,
    *,
    dependence: str = "interventional",
    seed: int = 0,
    memory: float = MEMORY,
) -> RowGame:
    """The game of row `row` of `both`, whose first len(weights) rows are the background."""
    completion: Completion
    match dependence:
        case "interventional":
            completion = Interventional(both, row, weights)
        case "empirical":
            completion = Empirical(both, row, weights)
        case "gaussian":
            completion = Gaussian(both, row, weights, seed=seed)
        case _:
            raise InvalidInput(
                f"dependence is {dependence!r}; write one of {', '.join(DEPENDENCE)}, or cover for trees",
                argument="dependence",
                code="unknown",
            )
    return RowGame(model, unit, outputs, partition, completion, memory)


def check_reads(model: RowModel, unit: str, background: Any) -> None:
    """Refuse background rows that the model cannot read."""
    try:
        model.outputs(background, unit)
    except InvalidInput as error:
        raise InvalidInput(f"the model cannot read the background: {error}") from None


def outputs_of_rows(model: RowModel, unit: str, table: Any, rows: Rows, background: Any = None) -> FloatArray:
    """What the model says about these rows, in the form in which it reads them (`table`): (rows, outputs).

    Where it reads the background but not the rows, the error names the column.
    """
    try:
        return model.outputs(table, unit)
    except InvalidInput as error:
        both = None if background is None else stack(background, table)
        culprit = None if both is None else _culprit(model, unit, both, len(background), len(rows))
        if culprit is None:
            raise InvalidInput(
                f"the model cannot read the rows: {error}; give them with the columns and types that it was fitted on"
            ) from None
        row, column = culprit
        value = rows.cells()[column][row]
        raise InvalidInput(
            f"the model reads the background, but not column {rows.columns[column]!r} of row {rows.names[row]!r}, which is "
            f"{'missing' if value is None else repr(value)}: {error}"
        ) from None


def _culprit(model: RowModel, unit: str, both: Any, size: int, rows: int) -> tuple[int, int] | None:
    """The first row that the model cannot read, and the first column of it that it cannot read beside background values."""

    def reads(table: Any) -> bool:
        try:
            model.outputs(table, unit)
        except InvalidInput:
            return False
        return True

    row = next((r for r in range(size, size + rows) if not reads(_part(both, r, r + 1))), None)
    if row is None:
        return None
    alone = np.eye(both.shape[1], dtype=bool)
    found = (column for column, kept in enumerate(alone) if not reads(mix(both, row, 1, kept[None])))
    column = next(found, None)
    return None if column is None else (row - size, column)


def _part(table: Any, start: int, stop: int) -> Any:
    return table[start:stop] if isinstance(table, np.ndarray) else table.iloc[start:stop].reset_index(drop=True)


def columns_as_players(columns: tuple[str, ...], players: Mapping[str, Iterable[str | int]] | None) -> Partition:
    """Columns as players, or named groups of them; columns in no group play for themselves."""
    if players is not None and not isinstance(players, Mapping):
        raise InvalidInput(
            f"players is {players!r:.40}; for rows write groups of columns: {{'person': ['age', 'sex']}}", argument="players"
        )
    places = {name: [_position(c, columns) for c in members] for name, members in check_groups(players or {}).items()}
    owner: dict[int, str] = {}
    for name, members in places.items():
        for place in members:
            if place in owner:
                who = f"to {owner[place]!r} and {name!r}" if owner[place] != name else f"to {name!r} twice"
                raise InvalidInput(f"players gives the column {columns[place]!r} {who}; give it once")
            owner[place] = name
        if name in columns and columns.index(name) not in members:
            raise InvalidInput(f"players calls a group {name!r}, which is a column outside of it; give the group another name")
    return partition_of(places, len(columns), np.ones(len(columns), dtype=bool), columns)


def _position(column: str | int, columns: tuple[str, ...]) -> int:
    """A column by its name, or by its position where no column is called so."""
    if str(column) in columns:
        return columns.index(str(column))
    if isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < len(columns):
        return int(column)
    raise InvalidInput(f"players names the column {column!r}; the columns are {', '.join(columns[:12])}", code="unknown")


def numeric(both: Any, why: str = "conditional answers need numbers: write dependence='interventional'") -> FloatArray:
    """A table as numbers without gaps, or an error that names the column that is not and says `why` that matters."""
    if isinstance(both, np.ndarray) and both.dtype.kind in "biuf" and np.isfinite(both.astype(np.float64)).all():
        return both.astype(np.float64)
    frame = both if hasattr(both, "iloc") else None
    for i in range(both.shape[1]):
        column = both[:, i] if frame is None else frame.iloc[:, i]
        kind = getattr(column.dtype, "kind", "O")
        missing = bool((column != column).any()) if frame is None else bool(column.isna().any())
        if kind not in "biuf" or missing:
            name = f"x{i}" if frame is None else frame.columns[i]
            seen = "has missing values" if missing else f"is {column.dtype}"
            raise InvalidInput(f"column {str(name)!r} {seen}; {why}")
    return np.asarray(both, dtype=np.float64) if frame is None else frame.to_numpy(dtype=np.float64)


def covariance(numbers: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted covariance of rows, with a touch of each column's own variance so that it can be inverted; a constant column
    goes with no other."""
    varies = spreads(numbers[weights > 0]) > 0
    centred = (numbers - weights @ numbers) * varies
    together = (centred * weights[:, None]).T @ centred
    return np.asarray(together + 1e-6 * np.diag(np.where(varies, np.diag(together), 1.0)))


def _root(matrix: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
