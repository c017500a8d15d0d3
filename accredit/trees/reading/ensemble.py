"""A tree ensemble beside the model that it was read from: same rows in, same raw output out, or an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, Unpack

import numpy as np

from accredit.core import FloatArray
from accredit.errors import AccreditError, InvalidInput
from accredit.products.form import plain_numbers
from accredit.trees.credit import TreeCredit, TreeOptions, tree_credit
from accredit.trees.forest import Forest

if TYPE_CHECKING:
    import pandas
    import sklearn.base

    from accredit.models.row_types import Table, TableFunction

Said = TypeVar("Said")
ROWS_CHECKED = 1000  # rows that are compared with the model's own output
PROBE_ROWS = 256  # rows made from the model's own thresholds, to compare before any row is given


class NotTrees(InvalidInput):
    """This model cannot be read as a sum of trees, or what was read differs from what the model does.

    >>> from sklearn.linear_model import LinearRegression
    >>> from accredit.trees import ensemble_of
    >>> ensemble_of(LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0]))
    Traceback (most recent call last):
        ...
    accredit.trees.reading.ensemble.NotTrees: LinearRegression is not a tree ensemble that can be read
    """

    usual = "unsupported"


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees read from a model, and the model's own words for rows and outputs.

    `outputs` names the numbers that one row gets; `payoff` says what they are (margin, probability, value).

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from accredit.trees import ensemble_of
    >>> rows = np.array([[0.0, 7.0], [1.0, 7.0], [0.0, 8.0], [1.0, 8.0]])
    >>> read = ensemble_of(DecisionTreeRegressor().fit(rows, [1.0, 3.0, 1.0, 3.0]))
    >>> read.outputs, read.payoff, read.credit(rows[1:2], background=rows).credit[0, :, 0]
    (('value',), 'value', array([1., 0.]))
    """

    forest: Forest
    columns: tuple[str, ...]  # the model's own columns, in the order of the forest's features
    outputs: tuple[str, ...]
    payoff: str
    encode: TableFunction  # rows as the model takes them -> (rows, features)
    raw: TableFunction  # the model's own output of such rows -> (rows, outputs)
    probe: Callable[[FloatArray], FloatArray] | None = None  # the same from encoded rows; None: there is no way in
    takes_missing: bool = True
    tolerance: float | FloatArray = (
        1e-9  # of all outputs or of each: how far the trees may be from the model, relative to the leaves that are summed
    )
    slow: bool = False  # the model takes much longer to answer than its trees, which may be asked instead once they are checked

    def matrix(self, rows: Table) -> FloatArray:
        """Rows as numbers, checked: the trees give for them what the model gives (on the first rows)."""
        return self.read(rows)[0]

    def read(self, rows: Table, said: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Rows as numbers, and the raw output that the trees give for them, checked against the model's own on the first rows:
        `said` (rows, outputs), asked of the model where it is None."""
        matrix = self.forest.matrix(self.encode(rows))
        margin = self.forest.margin(matrix)
        few = rows.iloc[:ROWS_CHECKED] if hasattr(rows, "iloc") else rows[:ROWS_CHECKED]
        own = self.raw(few) if said is None else said[:ROWS_CHECKED]
        self._compare(matrix[:ROWS_CHECKED], margin[:ROWS_CHECKED], own, "the rows given")
        return matrix, margin

    def credit(self, rows: Table, background: Table | None = None, **options: Unpack[TreeOptions]) -> TreeCredit:
        """Exact credit of the model's columns; options as in `tree_credit`."""
        compared = None if background is None else self.matrix(background)
        return tree_credit(self.forest, self.matrix(rows), compared, **options)

    def check(self) -> Ensemble:
        """Itself, after a comparison on rows made from its own thresholds."""
        if self.probe is not None:
            matrix = probes(self.forest, self.takes_missing)
            self._compare(matrix, self.forest.margin(matrix), self.probe(matrix), "rows made from its thresholds")
        return self

    @cached_property
    def _sizes(self) -> Forest:
        """The same trees with the size of every leaf."""
        return replace(self.forest, value=np.abs(self.forest.value), base=np.abs(self.forest.base))

    def _compare(self, matrix: FloatArray, own: FloatArray, raw: FloatArray, what: str) -> None:
        said = np.asarray(raw, dtype=np.float64).reshape(len(matrix), -1)
        if said.shape != own.shape:
            raise NotTrees(f"{self.forest.source} gives {said.shape[1]} outputs where its trees give {own.shape[1]}")
        gap = np.abs(own - said)
        doubted = np.flatnonzero((gap > self.tolerance * np.abs(said)).any(axis=1))
        if not len(doubted):
            return
        wrong = gap[doubted] > self.tolerance * np.maximum(self._sizes.margin(matrix[doubted]), np.abs(said[doubted]))
        if wrong.any():
            place, output = np.argwhere(wrong)[0]
            row = doubted[place]
            raise NotTrees(
                f"the trees read from {self.forest.source} give {own[row, output]:.9g} where the model gives "
                f"{said[row, output]:.9g} (row {row} of {what}, output {output}); its values cannot be computed from its "
                "trees: explain it as a function of rows instead"
            )


def probes(forest: Forest, missing: bool, count: int = PROBE_ROWS, seed: int = 0) -> FloatArray:
    """Rows that sit on, just beside and between the thresholds of every column, with category codes and missing values."""
    rng = np.random.default_rng(seed)
    matrix = np.zeros((count, forest.features))
    inner = forest.feature >= 0
    for column in range(forest.features):
        mine = inner & (forest.feature == column)
        codes = np.arange(forest.sets.shape[1] - 1) if (forest.set_of[mine] >= 0).any() else np.zeros(0)
        at = np.unique(forest.threshold[mine & (forest.set_of < 0)])
        kind = np.float32 if forest.single else np.float64
        with np.errstate(over="ignore"):  # beside the largest number that there is lies infinity, which is left out
            exact = at.astype(kind)
            near = [np.nextafter(exact, kind(side * np.inf)) for side in (-1, 1)]
        known = np.concatenate([exact, *near, (at[1:] + at[:-1]) / 2, codes, [0.0]]).astype(np.float64)
        matrix[:, column] = rng.choice(known[np.isfinite(known)], count)
        if missing:
            matrix[rng.random(count) < 0.1, column] = np.nan
    return forest.matrix(matrix)


def plain_rows(columns: tuple[str, ...] | None, features: int, source: str) -> TableFunction:
    """Rows that are numbers already; a frame must have the model's columns in the model's order."""

    def encode(rows: Table) -> FloatArray:
        if hasattr(rows, "iloc") and columns is not None:
            check_columns(rows, columns, source)
        try:
            return plain_numbers(rows).reshape(len(rows), -1)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{source} reads numbers; the rows hold something else: {error}", code="type") from None

    return encode


def check_columns(frame: pandas.DataFrame, columns: tuple[str, ...], source: str) -> None:
    """Refuse a frame whose columns are not the model's, in its order."""
    given = tuple(str(c) for c in frame.columns)
    if given == columns:
        return
    missing = [c for c in columns if c not in given]
    extra = [c for c in given if c not in columns]
    what = f"lacks {missing[:4]}" if missing else f"has {extra[:4]} more" if extra else "has them in another order"
    raise InvalidInput(
        f"{source} was fitted on the columns {list(columns[:8])}; the frame {what}: pass frame[columns]", code="conflict"
    )


def column_names(model: sklearn.base.BaseEstimator, features: int) -> tuple[str, ...] | None:
    """The column names that a scikit-learn model was fitted with, if any."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None or len(names) != features else tuple(str(n) for n in names)


def number(features: int) -> tuple[str, ...]:
    """Names for columns that have none."""
    return tuple(f"x{i}" for i in range(features))


def trust(call: Callable[[], Said], source: str) -> Said:
    """What the library says, or its complaint as one of ours."""
    try:
        return call()
    except AccreditError:
        raise
    except Exception as error:  # a library may raise anything about rows it cannot read
        raise InvalidInput(f"{source} refused the rows: {type(error).__name__}: {error}", code="failed") from error
