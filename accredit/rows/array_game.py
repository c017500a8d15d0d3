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

from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import shown
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.games.batches import MEMORY, spans
from accredit.games.parts import PartsGame
from accredit.models.arrays import ArrayModel, as_array_model
from accredit.models.categories import with_categories
from accredit.models.partition import Partition
from accredit.models.payoffs import OF_ALL, Law, Payoff, check_payoff, name_payoff, payoffs_of
from accredit.models.rows import RowModel, as_row_model, reads_rows
from accredit.rows.frames import align, join, rows_of
from accredit.rows.game import check_reads, columns_as_players, outputs_of_rows

CALL_ROWS = 1 << 16  # rows in one call of the model


@final
class TabularGame(PartsGame):
    """v(S) = mean payoff of the row in which only columns of S keep their value; see the formula in the module's docstring.

    >>> game = tabular_game(lambda rows: rows @ [2.0, 1.0], [3.0, 5.0], [[0.0, 0.0], [2.0, 0.0]])
    >>> game.payoff(np.array([[False, False], [True, False], [True, True]])), game.provenance["background rows"]
    (array([ 2.,  6., 11.]), 2)
    """

    model: ArrayModel

    def __init__(
        self,
        model: ArrayModel,
        row: Any,  # (1, d) array or DataFrame
        background: Any,  # (m, d) of the same kind
        partition: Partition,
        payoff: Payoff,
        target: int,
        memory: float,
        facts: Mapping[str, Any],
    ) -> None:
        self.model, self.partition, self._payoff, self.target = model, partition, payoff, target
        self.payoff_name, self._facts = str(facts["payoff"]), facts
        self._row, self._background = row, background
        fits = memory // (8 * max(1, row.shape[1]) * len(background))
        self.rows = int(max(1, min(CALL_ROWS // len(background), fits)))

    @property
    def _whole(self) -> Any:
        return self._row

    def _earn(self, kept: BoolArray, targets: tuple[int, ...]) -> FloatArray:
        """One model row for each coalition and background row."""
        earned = np.empty((len(targets), len(kept)))
        for part in spans(len(kept), self.rows):
            outputs = self.model.outputs(mix(self._row, self._background, kept[part]))
            worth = self._pay(outputs, np.repeat(kept[part], len(self._background), axis=0), targets)
            by_target = np.ascontiguousarray(worth.T)  # summed along a row, as for one target: the same rounding
            earned[:, part] = by_target.reshape(len(targets), -1, len(self._background)).mean(axis=2)
        return earned.T

    @property
    def provenance(self) -> dict[str, Any]:
        """What the payoffs rest on."""
        prediction = payoffs_of(self.model.outputs(self._row), (self.target,), self._payoff, self.model.law)
        return {
            "model": self.model.name,
            "target": self.target,
            "label": self.model.label(self.target),
            "prediction": float(prediction[0, 0]),
            "removal": "background",
            "background rows": len(self._background),
            **self._facts,
        }

    def __repr__(self) -> str:
        return f"TabularGame({len(self.players)} players, {self.payoff_name}, {len(self._background)} background rows)"


def mix(row: Any, background: Any, kept: BoolArray) -> Any:
    """Rows that take kept columns from `row` and the others from every background row: (batch, d) -> (batch · m, d).

    >>> mix(np.array([[1, 2]]), np.array([[7, 8], [9, 9]]), np.array([[True, False]])).tolist()
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


@check_arguments
def tabular_game(
    model: Any,
    row: Any,
    background: Any,
    *,
    players: Mapping[str, Iterable[str | int]] | None = None,
    payoff: Payoff | None = None,
    target: str | int | None = None,
    names: Iterable[str] | None = None,
    memory: float = MEMORY,
) -> TabularGame:
    """The game in which the columns of one row earn the model's output.

    `model` is an estimator, pipeline, booster, torch module, function or `ArrayModel`; `row` one row (array, Series, DataFrame
    of one row or mapping); `background` the rows it is compared with (array or DataFrame). `players` are the columns, or
    named groups of them (by name or position); columns in no group play for themselves. `payoff` is by default the one of
    `accredit.explain`: the raw score where there is one, else log-odds, else the probability; a regression's number. The
    game's `provenance` names it, with the class, the row's values, and the columns that had to be widened.

    >>> game = tabular_game(lambda rows: rows @ [2.0, 1.0], [3.0, 4.0], [[1.0, 1.0], [1.0, 3.0]])
    >>> game.payoff(np.array([[False, False], [True, False], [True, True]]))
    array([ 4.,  8., 10.])
    """
    compared = rows_of(background, names, "background")
    given = align(row, compared, "row")
    if len(given) != 1:
        raise InvalidInput(f"row has {len(given)} rows; give one, or explain many with accredit.explain(rows, model)")
    both, widened = join(given, compared)
    both, remembered = with_categories(both, model)
    cut = len(compared)
    table, whole = (both[:cut], both[cut:]) if isinstance(both, np.ndarray) else (both[:cut], both[cut:].reset_index(drop=True))
    rows, formula, name, why = _in_unit(model, payoff, both)
    asked = RowModel({name: rows.outputs}, None, rows.name, model)
    check_reads(asked, name, table)
    outputs_of_rows(asked, name, whole, given, table)
    check_payoff(formula, rows.law, rows.outputs(whole).shape[1])
    partition = columns_as_players(compared.columns, players)
    facts = {
        "payoff": name,
        "values": dict(zip(given.columns, (column[0] for column in given.cells()), strict=True)),
        "notes": [*widened, *remembered, *filter(None, [why])],
    }
    return TabularGame(rows, whole, table, partition, formula, rows.target(target, whole), memory, facts)


def _in_unit(model: Any, payoff: Payoff | None, rows: Any) -> tuple[ArrayModel, Payoff, str, str]:
    """The model as it is asked, the formula of the payoff, its name, and what to say about the choice.

    Estimators and boosters are asked in the unit that they add up in, as `accredit.explain` asks them.
    """
    if payoff is not None and (isinstance(payoff, type) or not (isinstance(payoff, str) or callable(payoff))):
        raise InvalidInput(f"payoff is {shown(payoff)}; write a name such as 'log-odds', or a function of the outputs")
    if reads_rows(model) and payoff != "margin":
        asked = as_row_model(model)
        law: Law = "probability" if "probability" in asked.units else "none"
        if callable(payoff) or (payoff in OF_ALL and law == "probability"):
            unit = "probability" if law == "probability" else asked.unit(None)
            return ArrayModel(asked.units[unit], law, asked.known_labels, asked.name), payoff, name_payoff(payoff), ""
        unit, why = asked.unit_for(payoff, rows)
        if unit == "log-odds" and "probability" in asked.units:  # so that a chance of 0 or 1 is refused by name
            chances = ArrayModel(asked.units["probability"], "probability", asked.known_labels, asked.name)
            return chances, "log-odds", unit, why
        return ArrayModel(asked.units[unit], "none", asked.known_labels, asked.name), "logit", unit, why
    known = as_array_model(model)
    formula: Payoff = payoff or ("probability" if known.law == "probability" else "logit")
    return known, formula, name_payoff(formula), ""
