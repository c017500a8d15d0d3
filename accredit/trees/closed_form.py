"""Exact credit of the columns of rows, for every model that has a closed form: trees, linear models, pipelines of either.

The columns before a pipeline are the players: a one-hot block belongs to the column that it encodes. `closed_form` refuses
(`NotTrees`, `NotLinear`, `NotSeparable`, all of them `InvalidInput`) where there is none; another way must then be taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from accredit.core import FloatArray, IntArray, InvalidInput
from accredit.core.arguments import checked_arguments
from accredit.core.numbers import as_array
from accredit.trees.credit import TreeCredit, checked_owners, checked_weight, tree_credit
from accredit.trees.linear import Linear, NotLinear, linear_of
from accredit.trees.reading import Ensemble, NotTrees, ensemble_of
from accredit.trees.separable import owners
from accredit.values.weighing import semivalue_of


@dataclass(frozen=True, eq=False)
class RowCredit:
    """Credit of the columns of some rows, and what it is about.

    >>> from sklearn.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 3.0, 0.0])
    >>> found = closed_form(model, np.array([[2.0, 2.0]]), np.array([[0.0, 0.0]]))
    >>> found.payoff, found.base.round(9), found.margin.round(9), found.credit[0, :, 0].round(9)
    ('value', array([1.]), array([[3.]]), array([ 4., -2.]))
    """

    credit: FloatArray  # (rows, columns, outputs)
    base: FloatArray  # (outputs,) what nobody earns
    margin: FloatArray  # (rows, outputs) what the model gives
    pairs: FloatArray | None  # (rows, columns, columns, outputs)
    columns: tuple[str, ...]
    outputs: tuple[str, ...]
    payoff: str  # what is shared: margin, probability, value, log of the value
    model: str
    means: str  # what it means that a column does not play


@checked_arguments
def closed_form(
    model: Any,
    rows: Any,
    background: Any = None,
    *,
    value: Any = "shapley",
    interactions: bool = False,
    weight: Any = None,
    players: Any = None,  # (columns,) the player of each column; None: every column plays for itself
) -> RowCredit:
    """Exact credit of every column of every row in every output of a tree ensemble, a linear model or a pipeline.

    `rows` and `background` are as the model takes them (array or frame), and both are checked against the model's own raw
    output. Columns of one player (`players`) come and go together. Without a background, trees use cover ratios; linear
    models need one.

    >>> from sklearn.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 3.0, 0.0])
    >>> closed_form(model, np.array([[2.0, 2.0]]), np.array([[0.0, 0.0], [2.0, 0.0]])).credit[0, :, 0].round(9)
    array([ 2., -2.])
    """
    rows, background = _table(rows, "rows"), None if background is None else _table(background, "background")
    if background is not None and background.shape[1] != rows.shape[1]:
        raise InvalidInput(
            f"rows have {rows.shape[1]} columns and the background {background.shape[1]}; they must match"
        )
    final, before = _steps(model)
    inner, inner_background = (None if r is None else before(r) for r in (rows, background))
    solver = _solver(final)
    mine = checked_owners(players, rows.shape[1])
    weight = None if weight is None or background is None else checked_weight(weight, len(background))
    encoded = (
        mine if final is model else mine[owners(lambda some: solver.matrix(before(some)), _stacked(rows, background))]
    )
    matrix = solver.matrix(inner)
    compared = None if inner_background is None else solver.matrix(inner_background)
    got = solver.share(matrix, compared, Asked(encoded, int(mine.max()) + 1, value, interactions, weight))
    return RowCredit(
        got.credit, got.base, solver.margin(matrix), got.pairs, _columns(rows), solver.outputs, solver.payoff, _words(model),
        got.means,
    )  # fmt: skip


def has_closed_form(model: Any) -> bool:
    """Does this model look as if it had a closed form? Rows may still show that it has none."""
    try:
        _solver(_steps(model)[0])
    except (NotTrees, NotLinear):
        return False
    return True


@dataclass(frozen=True, eq=False)
class Asked:
    """What is wanted of a model: whose columns, which value."""

    players: IntArray  # (encoded columns,) the player of each
    count: int  # players
    value: Any
    interactions: bool
    weight: Any


class _Trees:
    """Trees behind the one signature."""

    def __init__(self, read: Ensemble) -> None:
        self.read, self.outputs, self.payoff = read, read.outputs, read.payoff

    def matrix(self, rows: Any) -> FloatArray:
        return self.read.matrix(rows)

    def margin(self, matrix: FloatArray) -> FloatArray:
        return self.read.forest.margin(matrix)

    def share(self, matrix: FloatArray, background: FloatArray | None, asked: Asked) -> TreeCredit:
        return tree_credit(
            self.read.forest, matrix, background, value=asked.value, interactions=asked.interactions,
            players=asked.players, count=asked.count, weight=asked.weight,
        )  # fmt: skip


class _Weighted:
    """A linear model behind the same signature."""

    def __init__(self, linear: Linear) -> None:
        self.linear, self.outputs, self.payoff = linear, linear.outputs, linear.payoff

    def matrix(self, rows: Any) -> FloatArray:
        matrix = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
        self.linear.check(rows, matrix)
        return matrix

    def margin(self, matrix: FloatArray) -> FloatArray:
        return self.linear.margin(matrix)

    def share(self, matrix: FloatArray, background: FloatArray | None, asked: Asked) -> TreeCredit:
        if background is None:
            raise InvalidInput(
                "a linear model needs a background to compare with; pass background=rows of the training data"
            )
        semivalue_of(asked.value, asked.count)  # they all agree here, but one that does not exist is refused
        mean = np.average(background, axis=0, weights=asked.weight)
        belongs = np.zeros((len(asked.players), asked.count))
        belongs[np.arange(len(asked.players)), asked.players] = 1.0
        shares = (matrix - mean)[:, None, :] * self.linear.weights  # (rows, outputs, encoded)
        credit = np.moveaxis(shares @ belongs, 1, 2)
        nothing = np.zeros((len(matrix), asked.count, asked.count, len(self.outputs))) if asked.interactions else None
        return TreeCredit(credit, self.linear.margin(mean[None])[0], nothing, f"background of {len(background)} rows")


def _solver(model: Any) -> _Trees | _Weighted:
    if hasattr(model, "coef_") and hasattr(model, "intercept_"):
        return _Weighted(linear_of(model))
    return _Trees(ensemble_of(model))


def _steps(model: Any) -> tuple[Any, Any]:
    """The last step of a pipeline and the function of rows before it; a plain model and the rows themselves."""
    if type(model).__name__ != "Pipeline" or not hasattr(model, "steps"):
        return model, lambda rows: rows
    from sklearn.pipeline import Pipeline

    final = model.steps[-1][1]
    before = model[:-1]
    if isinstance(final, Pipeline):
        raise NotTrees("the last step of the pipeline is a pipeline itself; flatten it")

    def encode(rows: Any) -> Any:
        encoded = before.transform(rows)
        return encoded.toarray() if hasattr(encoded, "toarray") else encoded

    return final, encode


def _table(rows: Any, what: str) -> Any:
    table = rows if hasattr(rows, "iloc") else as_array(rows, what)
    if len(table.shape) != 2 or not len(table):
        raise InvalidInput(f"{what} has shape {table.shape}; give rows × columns with at least one row")
    return table


def _stacked(rows: Any, background: Any) -> Any:
    if background is None:
        return rows
    if hasattr(rows, "iloc"):
        import pandas

        return pandas.concat([rows, background], ignore_index=True)
    return np.concatenate([rows, background])


def _columns(rows: Any) -> tuple[str, ...]:
    names = rows.columns if hasattr(rows, "columns") else (f"x{i}" for i in range(rows.shape[1]))
    return tuple(str(n) for n in names)


def _words(model: Any) -> str:
    steps = [type(step).__name__ for _, step in model.steps] if hasattr(model, "steps") else [type(model).__name__]
    return " → ".join(steps)
