"""Series, explained: one credit per series, player and output, beside the series themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.checks.json_data import damaged, fields_of, plain, read_list, read_object
from accredit.core import Attribution, FloatArray, IntArray, Note, Precision, player_index
from accredit.core.attribution import frozen
from accredit.errors import InvalidInput
from accredit.results import Result
from accredit.rows.result import TableExplanation

if TYPE_CHECKING:
    import pandas
    import shap

FORMAT = 1


@dataclass(frozen=True, eq=False)
class SeriesExplanation(Result):
    """What each player of each series earned, for one or several outputs of a model.

    `table` holds the credit, with a series in each of its rows; the value of a player there is the mean of its cells. `credit`,
    `base`, `prediction` and `players` are those of the table. `series` are the explained series, and `owner[r, t, c]` is the
    number of the player that cell belongs to.

    >>> import accredit
    >>> steps = np.arange(6.0).reshape(1, 3, 2)
    >>> e = accredit.explain_series(steps, lambda x: x[:, -1].sum(axis=1), background="zeros", players="steps")
    >>> e.players, e.row(0).as_dict(), e.cells(0).tolist()
    (('0', '1', '2'), {'0': 0.0, '1': 0.0, '2': 9.0}, [[0.0, 0.0], [0.0, 0.0], [9.0, 9.0]])

    A string in brackets is a method, a number or a slice picks series.

    >>> e["shapley"].methods, e[0]["2"], len(e[:1])
    (('shapley',), 9.0, 1)
    """

    table: TableExplanation
    series: FloatArray  # (series, steps, channels)
    owner: IntArray  # (series, steps, channels)
    steps: tuple[str, ...]
    channels: tuple[str, ...]

    def __post_init__(self) -> None:
        put = object.__setattr__
        if not isinstance(self.table, TableExplanation):
            raise InvalidInput("table must be a TableExplanation", argument="table", code="type")
        put(self, "steps", tuple(map(str, self.steps)))
        put(self, "channels", tuple(map(str, self.channels)))
        shape = len(self.table), len(self.steps), len(self.channels)
        put(self, "series", frozen(self.series, shape, "series"))
        owner = np.asarray(self.owner)
        if owner.shape != shape or owner.dtype.kind not in "iu" or not 0 <= owner.min() <= owner.max() < len(self.players):
            raise InvalidInput(
                f"owner has the shape {owner.shape}; {shape} numbers of players are needed", argument="owner", code="shape"
            )
        put(self, "owner", owner.astype(np.int64))

    # As in the table

    @property
    def players(self) -> tuple[str, ...]:
        return self.table.players

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.table.outputs

    @property
    def target(self) -> str:
        return self.table.target

    @property
    def credit(self) -> FloatArray:
        """(series, players, outputs)."""
        return self.table.credit

    @property
    def base(self) -> FloatArray:
        """(outputs,): the payoff when nobody plays."""
        return self.table.base

    @property
    def prediction(self) -> FloatArray:
        """(series, outputs)."""
        return self.table.prediction

    @property
    def unshared(self) -> FloatArray:
        """What base value and credits miss of each prediction: (series, outputs)."""
        return self.table.unshared

    @property
    def interval(self) -> FloatArray | None:
        return self.table.interval

    @property
    def precision(self) -> Precision:
        return self.table.precision

    @property
    def notes(self) -> tuple[Note, ...]:
        return self.table.notes

    @property
    def removal(self) -> str:
        """What stands in for absent cells, in one sentence."""
        return self.table.dependence

    @property
    def methods(self) -> tuple[str, ...]:
        return self.table.methods

    def _answer(self) -> tuple[str, ...]:
        return self.methods

    def _by_method(self, name: str) -> SeriesExplanation:
        return replace(self, table=self.table._by_method(name))

    def of(self, output: str) -> SeriesExplanation:
        """The same with another output shown first."""
        return replace(self, table=self.table.of(output))

    def top(self, count: int) -> Attribution:
        """The players of largest mean |credit| over all series."""
        return self.table.top(count)

    def row(self, row: int, output: str | None = None) -> Attribution:
        """One series' credit for one output."""
        return self.table.row(row, output)

    def importance(self, output: str | None = None) -> Attribution:
        """Mean |credit| of every player over the series, with an interval for the mean over such series."""
        return self.table.importance(output)

    def __len__(self) -> int:
        """How many series there are."""
        return len(self.table)

    def __iter__(self) -> Iterator[Attribution]:
        return iter(self.table)

    def __getitem__(self, index: Any) -> Any:
        """A method by name, the attribution of one series, or the explanation of several."""
        if isinstance(index, str):
            return self._by_method(self._method_named(index))
        found = self.table[index]
        if not isinstance(found, TableExplanation) or isinstance(index, tuple):
            return found
        return SeriesExplanation(found, self.series[index], self.owner[index], self.steps, self.channels)

    def cells(self, row: int, output: str | None = None) -> FloatArray:
        """The credit of the player that each cell belongs to: (steps, channels). Players of several cells are not divided."""
        return np.asarray(self.row(row, output).credit[self.owner[row]])

    def stretch(self, row: int, player: str) -> str:
        """The steps of a series that belong to a player, in words: "12–19"; of several stretches, the first and how many."""
        mine = (self.owner[row] == player_index(self.players, player)).any(axis=1)
        starts = np.flatnonzero(np.diff(mine.astype(np.int64), prepend=0) == 1)
        ends = np.flatnonzero(np.diff(mine.astype(np.int64), append=0) == -1)
        if not len(starts):
            return "nowhere"
        first, last = self.steps[starts[0]], self.steps[ends[0]]
        said = first if first == last else f"{first}–{last}"
        return said if len(starts) == 1 else f"{said} and {len(starts) - 1} more"

    # In and out

    def to_pandas(self, output: str | None = None) -> pandas.DataFrame:
        """One line per series: each player's credit, the base value and the prediction."""
        return self.table.to_pandas(output)

    def to_shap(self) -> shap.Explanation:
        """The credit as a `shap.Explanation`, one column per player; its data are the means of their cells."""
        return self.table.to_shap()

    def to_plain(self) -> dict[str, Any]:
        """Everything as JSON types."""
        data: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        data["table"] = self.table.to_plain()
        return {"kind": "series explanation", "format": FORMAT, **plain(data, "series explanation")}

    @classmethod
    def from_json(cls, text: str) -> SeriesExplanation:
        """Read what `to_json` wrote; anything else is refused."""
        values = fields_of(cls, read_object(text, "series explanation"), "series explanation", FORMAT)
        with damaged("series explanation"):
            read_list(values, "series", "owner", "steps", "channels")
            values["table"] = TableExplanation.from_plain(values["table"])
            return cls(**values)
