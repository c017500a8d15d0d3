r"""A model as a sum: a start, functions of single columns, and products of such functions.

$$f_k(z) = \text{start}_k + \sum_s c_{sk} \sum_j h_{sj}(z_j) + \sum_s c'_{sk} \prod_j e^{h'_{sj}(z_j)}
+ \sum_s c''_{sk} \prod_j z_j^{p_{sj}}$$
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.core.rounding import DOUBLE
from accredit.errors import InvalidInput
from accredit.products.columns import ColumnFunctions
from accredit.values.products import FactorArray

if TYPE_CHECKING:
    from accredit.models.row_types import Table, TableFunction

ROWS_CHECKED = 1000  # rows that are compared with the model's own output
CELLS_AT_ONCE = 1 << 21  # rows × terms that are added up at once
CLOSE = 1e-9  # how far a form may be from its model, relative to the sizes of the terms that are summed
AGREE = 1e-8  # the same relative to the largest output: terms that nearly cancel must not hide a difference
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

    def __init__(self, message: str, *, instead: str = "", fitted: bool = True) -> None:
        super().__init__(message, code="unsupported" if fitted else "not-fitted")
        self.instead = instead  # what to write to have a closed form


@dataclass(frozen=True, eq=False)
class Additive:
    """A weighted sum of functions of single columns."""

    coefficient: FloatArray  # (terms, outputs)
    functions: ColumnFunctions

    @property
    def terms(self) -> int:
        return self.functions.terms

    @property
    def columns(self) -> int:
        return self.functions.columns

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
    rounding: float = EXPONENT_ROUNDINGS  # of an exponent, relative to the numbers that cancel in it

    @property
    def terms(self) -> int:
        return self.functions.terms

    @property
    def columns(self) -> int:
        return self.functions.columns

    def value(self, matrix: FloatArray) -> FloatArray:
        """(rows, columns) -> (rows, outputs)."""
        return np.asarray((np.exp(self._exponents(matrix)) @ self.coefficient).real)

    def slack(self, matrix: FloatArray) -> FloatArray:
        """How far another way to compute it may be off: (rows, outputs)."""
        sizes = (self.functions.size(matrix[:, j], j) for j in range(matrix.shape[1]))
        doubt: FloatArray = sum(sizes, np.ones((len(matrix), 1)))
        factors = np.exp(self._exponents(matrix).real)
        return np.asarray((factors * (CLOSE + self.rounding * doubt)) @ np.abs(self.coefficient))

    def _exponents(self, matrix: FloatArray) -> FactorArray:
        exponents: FactorArray = self.functions.of(matrix[:, 0], 0, slice(None))
        for j in range(1, matrix.shape[1]):
            exponents += self.functions.of(matrix[:, j], j, slice(None))
        return exponents


@dataclass(frozen=True, eq=False)
class Monomials:
    """A polynomial: a weighted sum of products of powers of the columns.

    >>> Monomials(np.array([[2.0], [5.0]]), np.array([[1, 2], [0, 1]])).value(np.array([[3.0, 10.0]])).tolist()
    [[650.0]]
    """

    coefficient: FloatArray  # (terms, outputs)
    powers: IntArray  # (terms, columns)

    @property
    def terms(self) -> int:
        return len(self.powers)

    @property
    def columns(self) -> int:
        return int(self.powers.shape[1])

    def factors(self, z: FloatArray, j: int) -> FloatArray:
        """Powers of column j at its values: (rows,) -> (rows, terms)."""
        every = z[:, None] ** np.arange(self.powers[:, j].max(initial=0) + 1)
        return np.asarray(every[:, self.powers[:, j]])

    def value(self, matrix: FloatArray) -> FloatArray:
        """(rows, columns) -> (rows, outputs)."""
        return np.asarray(self._products(matrix) @ self.coefficient)

    def slack(self, matrix: FloatArray) -> FloatArray:
        """How far another way to compute it may be off: (rows, outputs)."""
        return np.asarray(CLOSE * (np.abs(self._products(matrix)) @ np.abs(self.coefficient)))

    def _products(self, matrix: FloatArray) -> FloatArray:
        products = np.ones((len(matrix), self.terms))
        for j in range(matrix.shape[1]):
            products *= self.factors(matrix[:, j], j)
        return products


Part = Additive | Product | Monomials


def plain_numbers(rows: Table) -> FloatArray:
    """Rows that are numbers already; what a frame holds as missing, in whatever way, is NaN."""
    if not isinstance(rows, np.ndarray) and hasattr(rows, "iloc"):
        return np.asarray(rows.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Form:
    """A model's output as such a sum, with the model's own words for it."""

    source: str  # the model, in words
    start: FloatArray  # (outputs,)
    parts: tuple[Part, ...]
    outputs: tuple[str, ...]
    payoff: str  # what the outputs are: margin, value, log-odds, log-joint, joint
    own: TableFunction  # the model's own output of rows -> (rows, outputs)
    numbers: Callable[[Table], FloatArray] = plain_numbers  # rows as the model reads them -> (rows, columns)
    agree: float = AGREE  # how far it may be from the model, relative to the largest output

    @property
    def columns(self) -> int:
        """How many columns a row has."""
        return self.parts[0].columns

    def value(self, matrix: FloatArray) -> FloatArray:
        """(rows, columns) -> (rows, outputs)."""
        with np.errstate(over="ignore"):
            values = [sum(p.value(some) for p in self.parts) for some in self._spans(matrix)]
        return np.asarray(self.start + np.concatenate(values))

    def check(self, rows: Table, matrix: FloatArray, margin: FloatArray, said: FloatArray | None) -> None:
        """Refuse when the model's own output of these rows, `said` or asked for here, is another than `margin`."""
        few = rows.iloc[:ROWS_CHECKED] if hasattr(rows, "iloc") else rows[:ROWS_CHECKED]
        own = margin[:ROWS_CHECKED]
        asked = np.asarray(self.own(few) if said is None else said[:ROWS_CHECKED], dtype=np.float64).reshape(len(few), -1)
        if asked.shape != own.shape:
            raise NotProducts(f"{self.source} gives {asked.shape[1]} outputs where its form has {own.shape[1]}")
        slack = np.concatenate([sum(p.slack(some) for p in self.parts) for some in self._spans(matrix[:ROWS_CHECKED])])
        most = self.agree * np.abs(asked).max(axis=0, initial=0.0) + np.finfo(np.float64).tiny
        wrong = ~(np.abs(own - asked) <= np.minimum(slack + CLOSE * (np.abs(self.start) + np.abs(asked)), most))
        if wrong.any():
            row, output = np.argwhere(wrong)[0]
            raise NotProducts(
                f"the sum of products read from {self.source} gives {own[row, output]:.9g} where the model gives "
                f"{asked[row, output]:.9g} (row {row}, output {output}); explain it as a function of rows instead"
            )

    def _spans(self, matrix: FloatArray) -> Iterator[FloatArray]:
        step = max(1, CELLS_AT_ONCE // max(part.terms for part in self.parts))
        return (matrix[start : start + step] for start in range(0, len(matrix), step))
