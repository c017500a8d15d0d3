r"""A row of a table as a game: which columns earn the model's outputs, compared with other rows.

$$v_k(S) = \sum_b w_b(S)\, f_k\bigl(x_S,\, b_{N \setminus S}\bigr)$$

Columns of S keep the row's values, the others are completed. How they are completed is a choice that the result names:

| dependence | absent columns take | answers |
|---|---|---|
| interventional | the values of a background row, all together, whatever S is | what the model does with its inputs |
| empirical | those of background rows that resemble the row in S | what the data say about rows like this one |
| gaussian | draws from the normal distribution given x_S (`words`) | the same, if numbers were normal given words |
| copula | the same by ranks: values of background rows | the same, if normal scores of ranks were |
| causal | draws, stage by stage, as if x_S had been set | what setting columns would do (`causal`) |

Where columns are correlated the answers part: a column that the model ignores earns nothing under *interventional* and may
earn much under the others, because it tells something about columns that matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import shown
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.game import check_groups
from accredit.errors import InvalidInput
from accredit.games.batches import MEMORY, spans
from accredit.games.parts import PartsGame, PartsGames
from accredit.models.arrays import ArrayModel, as_array_model
from accredit.models.categories import with_categories
from accredit.models.cells import take_cells
from accredit.models.partition import Partition, partition_of
from accredit.models.payoffs import OF_ALL, Law, Payoff, check_payoff, name_payoff, payoff_blur, payoffs_of
from accredit.models.rows import RowModel, as_row_model, may_hold_together, reads_rows
from accredit.rows.frames import Rows, align, join, part, rows_of, stack
from accredit.rows.normal import Gaussian, Interventions, Normal, covariance, numeric, stages_of_columns
from accredit.rows.words import GeneralLocation, Mixed, is_plain
from accredit.values.precedence import Precedence

if TYPE_CHECKING:
    from accredit.models.row_types import Table, TableFunction

ROWS_PER_CALL = 1 << 16  # of the model
KERNEL_WIDTH, KERNEL_MASS = 0.1, 0.95  # of the empirical kernel, and how much of it is used (Aas, Jullum & Løland, 2021)
DEPENDENCE = {
    "interventional": "absent columns take the values of background rows, whatever the present ones are",
    "empirical": "absent columns take the values of background rows that resemble the row in the present ones",
    "gaussian": "absent columns are drawn from the normal distribution given the present ones",
    "copula": "absent columns are drawn given the present ones, as values of background rows at ranks that are jointly normal",
    "causal": "absent columns are drawn, cause before effect, from the normal distribution given what comes before them, as if "
    "the present ones had been set",
}


class Completion(Protocol):
    """Rows in which absent columns are completed, and what each of them counts."""

    size: int  # completed rows per coalition

    def complete(self, kept: BoolArray) -> tuple[Table, FloatArray | None]:
        """(batch, d) -> a table of batch · size rows, and weights (batch, size) that sum to 1; None: all count the same."""
        ...


@final
class RowGame(PartsGame):
    """v(S) = mean payoff of the rows in which only columns of S keep the row's value; see the formula in the module's text.

    >>> game = tabular_game(lambda rows: rows @ [2.0, 1.0], [3.0, 5.0], [[0.0, 0.0], [2.0, 0.0]])
    >>> game.payoff(np.array([[False, False], [True, False], [True, True]])), game.provenance["background rows"]
    (array([ 2.,  6., 11.]), 2)
    """

    model: ArrayModel

    def __init__(
        self,
        model: ArrayModel,
        payoff: Payoff,
        target: int,
        both: Table,  # a table that holds the row
        row: int,
        partition: Partition,
        completion: Completion,
        rounding: Callable[[], float],  # how far it may move a payoff
        facts: Mapping[str, object],
        memory: float = MEMORY,
    ) -> None:
        self.model, self.partition, self._payoff, self.target = model, partition, payoff, target
        self.payoff_name, self._facts = str(facts["payoff"]), facts
        self._both, self._row, self._completion, self._rounding = both, row, completion, rounding
        fits = memory // (8 * max(1, len(partition.owner)) * completion.size)
        self.rows = int(max(1, min(ROWS_PER_CALL // completion.size, fits)))  # coalitions in one call of the model

    @property
    def _whole(self) -> Table:
        return part(self._both, self._row, self._row + 1)

    def _earn(self, kept: BoolArray, targets: tuple[int, ...]) -> FloatArray:
        """One model row for each coalition and completed row."""
        earned = np.empty((len(kept), len(targets)))
        for some in spans(len(kept), self.rows):
            table, weights = self._completion.complete(kept[some])
            worth = payoffs_of(self.model.outputs(table), targets, self._payoff, self.model.law)
            earned[some] = average(worth.reshape(len(kept[some]), self._completion.size, -1), weights)
        return earned

    @property
    def blur(self) -> float:
        """How far rounding may move a payoff."""
        if self._blur is None:
            self._blur = self._rounding()
        return self._blur

    @property
    def provenance(self) -> dict[str, object]:
        """What the payoffs rest on."""
        prediction = payoffs_of(self.model.outputs(self._whole), (self.target,), self._payoff, self.model.law)
        return {
            "model": self.model.name,
            "target": self.target,
            "label": self.model.label(self.target),
            "prediction": float(prediction[0, 0]),
            **self._facts,
        }

    def __repr__(self) -> str:
        return f"RowGame({len(self.players)} players, {self.payoff_name}, {self._completion.size} rows each)"


def average(worth: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Payoffs of completed rows, weighted or all alike: (batch, size, targets) -> (batch, targets).

    >>> average(np.array([[[1.0], [4.0]]]), np.array([[0.5, 0.5]])).tolist(), average(np.array([[[1.0], [4.0]]]), None).tolist()
    ([[2.5]], [[2.5]])
    """
    if weights is not None:
        return np.asarray(np.einsum("bm,bmk->bk", weights, worth))
    by_target = np.ascontiguousarray(np.moveaxis(worth, -1, 0))  # summed along a row, as for one target: the same rounding
    return np.asarray(by_target.mean(axis=2).T)


def mix(both: Table, row: int, size: int, kept: BoolArray) -> Table:
    """Rows with the kept columns of one row and the others of the first `size` rows: (batch, d) -> (batch · size, d).

    >>> mix(np.array([[7, 8], [9, 9], [1, 2]]), 2, 2, np.array([[True, False]])).tolist()
    [[1, 8], [1, 9]]
    """
    if isinstance(both, np.ndarray):
        return np.where(kept[:, None, :], both[row], both[None, :size]).reshape(-1, both.shape[1])
    source: IntArray = np.where(kept[:, None, :], row, np.arange(size)[None, :, None]).reshape(-1, kept.shape[1])
    return take_cells(both, source)


@final
class Interventional:
    """The first `size` rows with fixed weights, or all alike: the present columns say nothing about the absent ones."""

    def __init__(self, both: Table, row: int, size: int, weights: FloatArray | None = None) -> None:
        self._both, self._row, self._weights, self.size = both, row, weights, size

    def complete(self, kept: BoolArray) -> tuple[Table, FloatArray | None]:
        weights = None if self._weights is None else np.broadcast_to(self._weights, (len(kept), self.size))
        return mix(self._both, self._row, self.size, kept), weights


@final
class Empirical:
    """Background rows weighted by their resemblance to the row in the columns that are present.

    The kernel is exp(−D²/2h²) with D² the Mahalanobis distance in S over |S|, in which a column of words counts by one
    indicator per word, and a gap among numbers by one; rows beyond the given share of its mass count nothing, so that few but
    alike rows decide.
    """

    def __init__(
        self, both: Table, row: int, weights: FloatArray, width: float = KERNEL_WIDTH, mass: float = KERNEL_MASS
    ) -> None:
        self._both, self._row, self._weights, self.size = both, row, weights, len(weights)
        numbers, self._owner = (numeric(both), np.arange(both.shape[1])) if is_plain(both) else _with_indicators(both)
        self._gap, self._width, self._mass = numbers[: self.size] - numbers[row], width, mass
        self._covariance = covariance(numbers[: self.size], weights)

    def complete(self, kept: BoolArray) -> tuple[Table, FloatArray]:
        weights = np.stack([self._resemblance(present) for present in kept])
        return mix(self._both, self._row, self.size, kept), weights

    def _resemblance(self, present: BoolArray) -> FloatArray:
        if not present.any():
            return self._weights
        seen = present[self._owner]
        gap = self._gap[:, seen]
        distance = np.einsum("bi,bi->b", gap, np.linalg.solve(self._covariance[np.ix_(seen, seen)], gap.T).T)
        near = -distance / (2 * self._width**2 * present.sum())
        weights = self._weights * np.exp(near - near[self._weights > 0].max())
        order = np.argsort(-weights, kind="stable")
        enough = np.searchsorted(np.cumsum(weights[order]), self._mass * weights.sum()) + 1
        weights[order[enough:]] = 0.0
        return np.asarray(weights / weights.sum())


def _with_indicators(both: Table) -> tuple[FloatArray, IntArray]:
    """Numbers, their mean where they are missing, and one indicator per word and gap, and the column that each belongs to:
    (m, q), (q,)."""
    mixed = Mixed(both)
    held, owner = mixed.indicators()
    plain = np.flatnonzero(~mixed.is_word)
    numbers = mixed.numbers[:, plain]
    filled = np.where(np.isnan(numbers), np.nanmean(numbers, axis=0), numbers)
    return np.concatenate([filled, held], axis=1), np.concatenate([plain, owner])


@dataclass(frozen=True, eq=False)
class Completing:
    """How absent columns are completed, for any row of a table that begins with the background."""

    dependence: str
    background_rows: int
    of: Callable[[int], Completion]


def completing(
    both: Table,
    weights: FloatArray,
    partition: Partition,
    *,
    dependence: str = "interventional",
    seed: int = 0,
    order: Precedence | None = None,
    confounding: bool | tuple[bool, ...] = False,
) -> Completing:
    """How absent columns of a row of `both` are completed; the first len(weights) rows of it are the background."""

    def of() -> Callable[[int], Completion]:
        match dependence:
            case "interventional":
                return lambda row: Interventional(both, row, len(weights), weights)
            case "empirical":
                return lambda row: Empirical(both, row, weights)
            case "gaussian" if is_plain(both):
                return lambda row: Gaussian(Normal(both, row, weights, seed=seed))
            case "gaussian" | "copula":
                return GeneralLocation(both, weights, ranks=dependence == "copula", seed=seed).given
            case "causal":
                stage = stages_of_columns(partition, order)
                return lambda row: Interventions(Normal(both, row, weights, seed=seed), stage, confounding)
        raise InvalidInput(
            f"dependence is {dependence!r}; write one of {', '.join(DEPENDENCE)}, or cover for trees",
            argument="dependence",
            code="unknown",
        )

    return Completing(dependence, len(weights), of())


def row_game(
    model: RowModel,
    unit: str,
    outputs: tuple[str, ...],
    both: Table,
    row: int,
    absent: Completing,
    partition: Partition,
    *,
    memory: float = MEMORY,
) -> PartsGames:
    """The games of row `row` of `both`, one per output."""
    completion = absent.of(row)
    asked = ArrayModel(partial(model.outputs, unit=unit), labels=outputs, name=model.name)
    facts = {"removal": absent.dependence, "background rows": absent.background_rows, "payoff": unit}

    def rounding() -> float:
        """By the outputs where nobody and where everybody plays."""
        ends = np.repeat([[False], [True]], len(partition.owner), axis=1)
        return model.blur(completion.complete(ends)[0], unit)

    game = RowGame(asked, "logit", 0, both, row, partition, completion, rounding, facts, memory)
    return PartsGames(game, tuple(range(len(outputs))))


@check_arguments
def tabular_game(
    model: object,
    row: object,
    background: object,
    *,
    players: Mapping[str, Iterable[str | int]] | None = None,
    payoff: Payoff | None = None,
    target: str | int | None = None,
    names: Iterable[str] | None = None,
    memory: float = MEMORY,
) -> RowGame:
    """The game in which the columns of one row earn the model's output.

    `model` is an estimator, pipeline, booster, torch module, function or `ArrayModel`; `row` one row (array, Series, DataFrame
    of one row or mapping); `background` the rows it is compared with (array or DataFrame). `players` are the columns, or
    named groups of them (by name or position); columns in no group play for themselves. `payoff` is by default the one of
    `accredit.explain`: the raw score where there is one, else log-odds, else the probability; a regression's number. The
    game's `provenance` names it, with the class, the row's values, and the columns that had to be widened. The Shapley value
    of a linear model with the raw output as payoff is `w * (row - background.mean(axis=0))`.

    >>> game = tabular_game(lambda rows: rows @ [2.0, 1.0], [3.0, 4.0], [[1.0, 1.0], [1.0, 3.0]])
    >>> game.payoff(np.array([[False, False], [True, False], [True, True]]))
    array([ 4.,  8., 10.])
    """
    compared = rows_of(background, names, "background")
    given = align(row, compared, "row")
    if len(given) != 1:
        raise InvalidInput(
            f"row has {len(given)} rows; give one, or explain many with accredit.explain(rows, model)",
            argument="row",
            code="shape",
        )
    both, widened = join(given, compared)
    both, remembered = with_categories(both, model)
    size = len(compared)
    table, whole = part(both, 0, size), part(both, size, size + 1)
    asked, formula, name, why = _in_unit(model, payoff, both)
    check_reads(asked.outputs, table)
    outputs = outputs_of_rows(asked.outputs, whole, given, table)
    check_payoff(formula, asked.law, outputs.shape[1])
    facts = {
        "removal": "background",
        "background rows": size,
        "payoff": name,
        "values": dict(zip(given.columns, (column[0] for column in given.cells()), strict=True)),
        "notes": [*widened, *remembered, *filter(None, [why])],
    }
    partition, completion = columns_as_players(compared.columns, players), Interventional(both, size, size)
    rounding = partial(payoff_blur, outputs, formula, asked.law)
    target = asked.target(target, whole)
    return RowGame(asked, formula, target, both, size, partition, completion, rounding, facts, memory)


def _in_unit(model: object, payoff: Payoff | None, rows: Table) -> tuple[ArrayModel, Payoff, str, str]:
    """The model as it is asked, the formula of the payoff, its name, and what to say about the choice.

    Estimators and boosters are asked in the unit that they add up in, as `accredit.explain` asks them.
    """
    if payoff is not None and (isinstance(payoff, type) or not (isinstance(payoff, str) or callable(payoff))):
        raise InvalidInput(
            f"payoff is {shown(payoff)}; write a name such as 'log-odds', or a function of the outputs",
            argument="payoff",
            code="type",
        )
    if not reads_rows(model) or payoff == "margin":
        known = as_array_model(model)
        formula: Payoff = payoff or ("probability" if known.law == "probability" else "logit")
        return known, formula, name_payoff(formula), ""
    asked = as_row_model(model)
    law: Law = "probability" if "probability" in asked.units else "none"
    one = law == "probability" and not may_hold_together(asked.outputs(rows, "probability"))  # class, that is
    if callable(payoff) or (payoff in OF_ALL and one):
        unit = "probability" if law == "probability" else asked.unit(None)
        return ArrayModel(asked.units[unit], law, asked.known_labels, asked.name), payoff, name_payoff(payoff), ""
    unit, why = asked.unit_for(payoff, rows)
    if unit == "log-odds" and one:  # so that a chance of 0 or 1 is refused by name
        return ArrayModel(asked.units["probability"], law, asked.known_labels, asked.name), unit, unit, why
    return ArrayModel(asked.units[unit], "none", asked.known_labels, asked.name), "logit", unit, why


def check_reads(outputs: TableFunction, background: Table) -> FloatArray:
    """What the model says about background rows: (rows, outputs); refused where it cannot read them."""
    try:
        return outputs(background)
    except InvalidInput as error:
        if error.argument == "payoff":  # which the model has read the background without
            raise
        raise InvalidInput(f"the model cannot read the background: {error}", code="failed") from None


def outputs_of_rows(outputs: TableFunction, table: Table, rows: Rows, background: Table | None = None) -> FloatArray:
    """What the model says about these rows, in the form in which it reads them (`table`): (rows, outputs).

    Where it reads the background but not the rows, the error names the column.
    """
    try:
        return outputs(table)
    except InvalidInput as error:
        culprit = None if background is None else _culprit(outputs, stack(background, table), len(background), len(rows))
        if culprit is None:
            raise InvalidInput(
                f"the model cannot read the rows: {error}; give them with the columns and types that it was fitted on",
                code="failed",
            ) from None
        row, column = culprit
        value = rows.cells()[column][row]
        raise InvalidInput(
            f"the model reads the background, but not column {rows.columns[column]!r} of row {rows.names[row]!r}, which is "
            f"{'missing' if value is None else repr(value)}: {error}",
            code="failed",
        ) from None


def _culprit(outputs: TableFunction, both: Table, size: int, rows: int) -> tuple[int, int] | None:
    """The first row that the model cannot read, and the first column of it that it cannot read beside background values."""

    def reads(table: Table) -> bool:
        try:
            outputs(table)
        except InvalidInput:
            return False
        return True

    row = next((r for r in range(size, size + rows) if not reads(part(both, r, r + 1))), None)
    if row is None:
        return None
    alone = np.eye(both.shape[1], dtype=bool)
    found = (column for column, kept in enumerate(alone) if not reads(mix(both, row, 1, kept[None])))
    column = next(found, None)
    return None if column is None else (row - size, column)


def columns_as_players(columns: tuple[str, ...], players: Mapping[str, Iterable[str | int]] | None) -> Partition:
    """Columns as players, or named groups of them; columns in no group play for themselves."""
    if players is not None and not isinstance(players, Mapping):
        raise InvalidInput(
            f"players is {players!r:.40}; for rows write groups of columns: {{'person': ['age', 'sex']}}",
            argument="players",
            code="type",
        )
    places = {
        name: [_position(c, columns) for c in members] for name, members in check_groups(players or {}, "players").items()
    }
    owner: dict[int, str] = {}
    for name, members in places.items():
        for place in members:
            if place in owner:
                who = f"to {owner[place]!r} and {name!r}" if owner[place] != name else f"to {name!r} twice"
                raise InvalidInput(
                    f"players gives the column {columns[place]!r} {who}; give it once", argument="players", code="duplicate"
                )
            owner[place] = name
        if name in columns and columns.index(name) not in members:
            raise InvalidInput(
                f"players calls a group {name!r}, which is a column outside of it; give the group another name",
                argument="players",
                code="duplicate",
            )
    return partition_of(places, len(columns), np.ones(len(columns), dtype=bool), columns)


def _position(column: str | int, columns: tuple[str, ...]) -> int:
    """A column by its name, or by its position where no column is called so."""
    if str(column) in columns:
        return columns.index(str(column))
    if isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < len(columns):
        return int(column)
    raise InvalidInput(
        f"players names the column {column!r}; the columns are {', '.join(columns[:12])}", argument="players", code="unknown"
    )
