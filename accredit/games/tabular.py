r"""A row of a table as a game: which columns earn the model's output, compared with a background of other rows.

$$v(S) = \frac{1}{m} \sum_{b} u\bigl(f(x_S,\, b_{N \setminus S})\bigr)$$

over the m background rows b: columns of S keep their value, the others take those of b together (*interventional*: what
the model does, whether or not such rows are likely). u is the payoff. The Shapley value of a linear f with u the raw
output is $w_i\,(x_i - \bar b_i)$.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, final

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray, InvalidInput
from accredit.games.batches import MEMORY, spans
from accredit.games.parts import PartsGame
from accredit.models.arrays import ArrayModel, as_array_model
from accredit.models.frames import aligned, joined, rows_of
from accredit.models.partition import Partition, partition_of
from accredit.models.payoffs import check_payoff, payoffs_of

CALL_ROWS = 1 << 16  # rows in one call of the model


@final
class TabularGame(PartsGame):
    """v(S) = mean payoff of the row in which only columns of S keep their value; see the formula in the module's docstring."""

    model: ArrayModel

    def __init__(
        self,
        model: ArrayModel,
        row: Any,  # (1, d) array or DataFrame
        background: Any,  # (m, d) of the same kind
        partition: Partition,
        payoff: str,
        target: int,
        memory: float,
    ) -> None:
        self.model, self.partition, self.payoff_name, self.target = model, partition, payoff, target
        self._row, self._background = row, background
        fits = memory // (8 * max(1, row.shape[1]) * len(background))
        self.rows = int(max(1, min(CALL_ROWS // len(background), fits)))

    @property
    def _whole(self) -> Any:
        return self._row

    def _earned(self, kept: BoolArray, targets: tuple[int, ...]) -> FloatArray:
        """One model row for each coalition and background row."""
        earned = np.empty((len(targets), len(kept)))
        for part in spans(len(kept), self.rows):
            outputs = self.model.outputs(mixed(self._row, self._background, kept[part]))
            worth = payoffs_of(outputs, targets, self.payoff_name, self.model.law)
            by_target = np.ascontiguousarray(worth.T)  # summed along a row, as for one target: the same rounding
            earned[:, part] = by_target.reshape(len(targets), -1, len(self._background)).mean(axis=2)
        return earned.T

    @property
    def provenance(self) -> dict[str, Any]:
        """What the payoffs rest on."""
        return {
            "model": self.model.name,
            "payoff": self.payoff_name,
            "target": self.target,
            "removal": "background",
            "background rows": len(self._background),
        }

    def __repr__(self) -> str:
        return f"TabularGame({len(self.players)} players, {self.payoff_name}, {len(self._background)} background rows)"


def mixed(row: Any, background: Any, kept: BoolArray) -> Any:
    """Rows that take kept columns from `row` and the others from every background row: (batch, d) -> (batch · m, d).

    >>> mixed(np.array([[1, 2]]), np.array([[7, 8], [9, 9]]), np.array([[True, False]])).tolist()
    [[1, 8], [1, 9]]
    """
    m = len(background)
    if isinstance(background, np.ndarray):
        return np.where(kept[:, None, :], row[None], background[None]).reshape(-1, background.shape[1])
    import pandas

    both = pandas.concat([background, row], ignore_index=True)  # row m is the explained one
    source: IntArray = np.where(kept[:, None, :], m, np.arange(m)[None, :, None]).reshape(-1, background.shape[1])
    columns = {i: both.iloc[:, i].take(source[:, i]).reset_index(drop=True) for i in range(background.shape[1])}
    return pandas.DataFrame(columns).set_axis(background.columns, axis=1)


def tabular_game(
    model: Any,
    row: Any,
    background: Any,
    *,
    players: Mapping[str, Iterable[str | int]] | None = None,
    payoff: str | None = None,
    target: str | int | None = None,
    names: Iterable[str] | None = None,
    memory: float = MEMORY,
) -> TabularGame:
    """The game in which the columns of one row earn the model's output.

    `model` is an estimator, pipeline, torch module, function or `ArrayModel`; `row` one row (array, Series, DataFrame of
    one row or mapping); `background` the rows it is compared with (array or DataFrame). `players` are the columns, or
    named groups of them (by name or position); columns in no group play for themselves. `payoff` is the probability
    where the model reports one, the log-odds where it decides between classes by scores, else its raw output ("logit").

    >>> game = tabular_game(lambda rows: rows @ [2.0, 1.0], [3.0, 4.0], [[1.0, 1.0], [1.0, 3.0]])
    >>> game.payoff(np.array([[False, False], [True, False], [True, True]]))
    array([ 4.,  8., 10.])
    """
    rows = as_array_model(model)
    background, row, columns = _aligned(background, row, names)
    payoff = payoff or _natural_payoff(rows)
    check_payoff(payoff, rows.law, rows.outputs(row).shape[1])
    places = {name: [_position(c, columns) for c in members] for name, members in (players or {}).items()}
    partition = partition_of(places, len(columns), np.ones(len(columns), dtype=bool), columns)
    return TabularGame(rows, row, background, partition, payoff, rows.target(target, row), memory)


def _natural_payoff(model: ArrayModel) -> str:
    """Probabilities where a model reports them; an estimator's decision value as log-odds, to speak for both classes."""
    if model.law == "probability":
        return "probability"
    return "log-odds" if model.law == "softmax" and model.module is None else "logit"


def _position(column: str | int, columns: tuple[str, ...]) -> int:
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        return int(column)
    if column not in columns:
        raise InvalidInput(f"players names the column {column!r}; the columns are {', '.join(columns[:12])}")
    return columns.index(column)


def _aligned(background: Any, row: Any, names: Iterable[str] | None) -> tuple[Any, Any, tuple[str, ...]]:
    """Background and row as two tables of one kind with the same columns, and the names of these."""
    if hasattr(background, "iloc"):
        return _aligned_frames(background, row)
    table = np.asarray(background)
    table = table[None] if table.ndim == 1 else table
    values = np.asarray(row).reshape(1, -1)
    if table.ndim != 2 or len(table) == 0:
        raise InvalidInput(f"background has shape {table.shape}; give rows × columns with at least one row")
    if values.shape[1] != table.shape[1]:
        raise InvalidInput(f"row has {values.shape[1]} columns and background {table.shape[1]}; they must match")
    for what, array in (("row", values), ("background", table)):
        if np.issubdtype(array.dtype, np.floating) and np.isinf(array).any():
            raise InvalidInput(f"{what} holds an infinite value; replace it first")
    columns = tuple(str(n) for n in names) if names is not None else tuple(f"x{i}" for i in range(table.shape[1]))
    if len(columns) != table.shape[1]:
        raise InvalidInput(
            f"names has {len(columns)} entries and the background {table.shape[1]} columns; they must match"
        )
    return table, values, columns


def _aligned_frames(background: Any, row: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Both with the background's columns, widened where a value of the row would not fit; no value changes."""
    compared = rows_of(background, what="background")
    given = aligned(row, compared)
    if len(given) != 1:
        raise InvalidInput(f"row has {len(given)} rows; give one, or explain many with accredit.explain(rows, model)")
    both, _ = joined(given, compared)
    count = len(compared)
    return both.iloc[:count], both.iloc[count:].reset_index(drop=True), compared.columns
