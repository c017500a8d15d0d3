r"""A model as a sum: a start, functions of single columns, and products of such functions.

$$f_k(z) = \text{start}_k + \sum_{\text{additive}} \sum_s c_{sk} \sum_j h_{sj}(z_j) + \sum_{\text{product}} \sum_s c_{sk} \prod_j e^{h_{sj}(z_j)}$$
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray
from accredit.core.rounding import DOUBLE
from accredit.errors import InvalidInput
from accredit.products.columns import ColumnFunctions
from accredit.values.products import FactorArray

if TYPE_CHECKING:
    from accredit.models.row_types import Table, TableFunction

ROWS_CHECKED = 1000  # rows that are compared with the model's own output
CELLS_AT_ONCE = 1 << 21  # rows × terms that are added up at once
CLOSE = 1e-9  # how far a form may be from its model, relative to the sizes of the terms that are summed
EXPONENT_ROUNDINGS = 16 * DOUBLE  # error of an exponent, relative to the numbers that cancel in it; factors have it once more


class NotProducts(InvalidInput):
    """This model is not a sum of products of functions of single columns, or what was read differs from what the model does.

    >>> from accredit.products import form_of
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> form_of(KNeighborsRegressor(1).fit([[0.0], [1.0]], [1.0, 3.0]))
    Traceback (most recent call last):
        ...
    accredit.products.form.NotProducts: KNeighborsRegressor has no closed form for columns: which rows are nearest is ...
    """

    usual = "unsupported"


@dataclass(frozen=True, eq=False)
class Additive:
    """A weighted sum of functions of single columns."""

    coefficient: FloatArray  # (terms, outputs)
    functions: ColumnFunctions

    def value(self, matrix: FloatArray) -> FloatArray:
        """(rows, columns) -> (rows, outputs)."""
        return sum((self.share(matrix[:, j], j) for j in range(matrix.shape[1])), np.zeros((1, self.coefficient.shape[1])))

    def share(self, z: FloatArray, j: int) -> FloatArray:
        """What column j adds at its values: (rows,) -> (rows, outputs)."""
        return np.asarray(self.functions.of(z, j, slice(None)) @ self.coefficient)

    def slack(self, matrix: FloatArray) -> FloatArray:
        """How far another way to compute it may be off: (rows, outputs)."""
        sizes = (self.functions.size(matrix[:, j], j) for j in range(matrix.shape[1]))
        each = sum(sizes, np.zeros((len(matrix), self.functions.terms)))
        return np.asarray(CLOSE * (each @ np.abs(self.coefficient)))


@dataclass(frozen=True, eq=False)
class Product:
    """A weighted sum of products; the functions are the logarithms of the factors. Where these are complex, the real part."""

    coefficient: FactorArray  # (terms, outputs)
    functions: ColumnFunctions

    def value(self, matrix: FloatArray) -> FloatArray:
        """(rows, columns) -> (rows, outputs)."""
        return np.asarray((np.exp(self._exponents(matrix)) @ self.coefficient).real)

    def slack(self, matrix: FloatArray) -> FloatArray:
        """How far another way to compute it may be off: (rows, outputs)."""
        sizes = (self.functions.size(matrix[:, j], j) for j in range(matrix.shape[1]))
        doubt: FloatArray = sum(sizes, np.ones((len(matrix), 1)))
        factors = np.exp(self._exponents(matrix).real)
        return np.asarray((factors * (CLOSE + EXPONENT_ROUNDINGS * doubt)) @ np.abs(self.coefficient))

    def _exponents(self, matrix: FloatArray) -> FactorArray:
        exponents: FactorArray = self.functions.of(matrix[:, 0], 0, slice(None))
        for j in range(1, matrix.shape[1]):
            exponents += self.functions.of(matrix[:, j], j, slice(None))
        return exponents


@dataclass(frozen=True, eq=False)
class Form:
    """A model's output as such a sum, with the model's own words for it."""

    source: str  # the model, in words
    start: FloatArray  # (outputs,)
    parts: tuple[Additive | Product, ...]
    outputs: tuple[str, ...]
    payoff: str  # what the outputs are: margin, value, log-odds, log-joint, joint
    own: TableFunction  # the model's own output of rows -> (rows, outputs)

    def value(self, matrix: FloatArray) -> FloatArray:
        """(rows, columns) -> (rows, outputs)."""
        with np.errstate(over="ignore"):
            return self.start + np.concatenate([sum(p.value(some) for p in self.parts) for some in self._spans(matrix)])

    def check(self, rows: Table, matrix: FloatArray, margin: FloatArray, said: FloatArray | None) -> None:
        """Refuse when the model's own output of these rows, `said` or asked for here, is another than `margin`."""
        few = rows.iloc[:ROWS_CHECKED] if hasattr(rows, "iloc") else rows[:ROWS_CHECKED]
        own = margin[:ROWS_CHECKED]
        asked = np.asarray(self.own(few) if said is None else said[:ROWS_CHECKED], dtype=np.float64).reshape(len(few), -1)
        if asked.shape != own.shape:
            raise NotProducts(f"{self.source} gives {asked.shape[1]} outputs where its form has {own.shape[1]}")
        slack = np.concatenate([sum(p.slack(some) for p in self.parts) for some in self._spans(matrix[:ROWS_CHECKED])])
        wrong = ~(np.abs(own - asked) <= slack + CLOSE * (np.abs(self.start) + np.abs(asked)))
        if wrong.any():
            row, output = np.argwhere(wrong)[0]
            raise NotProducts(
                f"the sum of products read from {self.source} gives {own[row, output]:.9g} where the model gives "
                f"{asked[row, output]:.9g} (row {row}, output {output}); explain it as a function of rows instead"
            )

    def _spans(self, matrix: FloatArray) -> Iterator[FloatArray]:
        step = max(1, CELLS_AT_ONCE // max(part.functions.terms for part in self.parts))
        return (matrix[start : start + step] for start in range(0, len(matrix), step))
