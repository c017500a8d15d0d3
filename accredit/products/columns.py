"""Functions of one column each, one for every term: what is added up, or multiplied as exponentials, over the columns.

All of them give, for the values z of column j, one number per value and term: (rows,) -> (rows, terms). `size` is how large the
numbers are that cancel in it, for those who compute it in another order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from accredit.core import FloatArray
from accredit.values.products import FactorArray


class ColumnFunctions(Protocol):
    """One function of each column for each term."""

    @property
    def terms(self) -> int: ...
    @property
    def columns(self) -> int: ...
    def of(self, z: FloatArray, j: int, some: slice) -> FactorArray:
        """The functions of column j of some terms at its values: (rows,) -> (rows, terms)."""
        ...

    def size(self, z: FloatArray, j: int) -> FloatArray:
        """How large the numbers are that they are made of: (rows,) -> (rows, terms), or (rows, 1)."""
        ...


@dataclass(frozen=True, eq=False)
class Bells:
    """−rate·(z − centre)²: the logarithm of a Gaussian.

    >>> Bells(np.array([[1.0], [3.0]]), np.array([[0.5]])).of(np.array([2.0]), 0, slice(None)).tolist()
    [[-0.5, -0.5]]
    """

    centre: FloatArray  # (terms, columns)
    rate: FloatArray  # (terms, columns), or (1, columns): the same for all

    @property
    def terms(self) -> int:
        return len(self.centre)

    @property
    def columns(self) -> int:
        return int(self.centre.shape[1])

    def of(self, z: FloatArray, j: int, some: slice) -> FloatArray:
        gap = z[:, None] - self.centre[some, j]
        gap *= gap
        gap *= -(self.rate[:, j] if len(self.rate) == 1 else self.rate[some, j])
        return gap

    def size(self, z: FloatArray, j: int) -> FloatArray:
        return np.asarray(self.rate[:, j] * (z[:, None] ** 2 + np.square(self.centre[:, j]).max()))


@dataclass(frozen=True, eq=False)
class Peaks:
    """−rate·|z − centre|: the logarithm of a Laplacian kernel.

    >>> Peaks(np.array([[1.0]]), 0.5).of(np.array([4.0]), 0, slice(None)).tolist()
    [[-1.5]]
    """

    centre: FloatArray  # (terms, columns)
    rate: float

    @property
    def terms(self) -> int:
        return len(self.centre)

    @property
    def columns(self) -> int:
        return int(self.centre.shape[1])

    def of(self, z: FloatArray, j: int, some: slice) -> FloatArray:
        return np.asarray(-self.rate * np.abs(z[:, None] - self.centre[some, j]))

    def size(self, z: FloatArray, j: int) -> FloatArray:
        return np.asarray(self.rate * (np.abs(z[:, None]) + np.abs(self.centre[:, j]).max()))


@dataclass(frozen=True, eq=False)
class Slopes:
    """weight·z: linear in every column; imaginary weights make waves of the exponentials.

    >>> Slopes(np.array([[2.0], [-1.0]])).of(np.array([3.0]), 0, slice(None)).tolist()
    [[6.0, -3.0]]
    """

    weight: FactorArray  # (terms, columns)

    @property
    def terms(self) -> int:
        return len(self.weight)

    @property
    def columns(self) -> int:
        return int(self.weight.shape[1])

    def of(self, z: FloatArray, j: int, some: slice) -> FactorArray:
        return z[:, None] * self.weight[some, j]

    def size(self, z: FloatArray, j: int) -> FloatArray:
        return np.asarray(np.abs(z[:, None] * self.weight[:, j]))


@dataclass(frozen=True, eq=False)
class Steps:
    """One number up to a threshold, another beyond it.

    >>> Steps(np.array([[-1.0]]), np.array([[2.0]]), 0.5).of(np.array([0.5, 0.6]), 0, slice(None)).tolist()
    [[-1.0], [2.0]]
    """

    low: FloatArray  # (terms, columns)
    high: FloatArray  # (terms, columns)
    threshold: float

    @property
    def terms(self) -> int:
        return len(self.low)

    @property
    def columns(self) -> int:
        return int(self.low.shape[1])

    def of(self, z: FloatArray, j: int, some: slice) -> FloatArray:
        return np.where(z[:, None] > self.threshold, self.high[some, j], self.low[some, j])

    def size(self, z: FloatArray, j: int) -> FloatArray:
        return np.abs(self.of(z, j, slice(None)))


@dataclass(frozen=True, eq=False)
class CategoryNumbers:
    """One number for each category, which is a whole number from 0.

    >>> CategoryNumbers((np.array([[0.1, 0.9]]),)).of(np.array([1.0, 0.0]), 0, slice(None)).tolist()
    [[0.9], [0.1]]
    """

    tables: tuple[FloatArray, ...]  # by column: (terms, categories)

    @property
    def terms(self) -> int:
        return len(self.tables[0])

    @property
    def columns(self) -> int:
        return len(self.tables)

    def of(self, z: FloatArray, j: int, some: slice) -> FloatArray:
        return np.asarray(self.tables[j][some, z.astype(np.int64)].T)

    def size(self, z: FloatArray, j: int) -> FloatArray:
        return np.abs(self.of(z, j, slice(None)))
