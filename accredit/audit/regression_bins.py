"""Audits of regressions: the answer is a number, and what may leak is in which third of all numbers it lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from accredit.audit.readers import Reader
from accredit.checks import real_numbers
from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.learned.batches import third_ends, thirds
from accredit.learned.black_boxes import BlackBox
from accredit.learned.inputs import Array


@dataclass(frozen=True)
class Thirds:
    """Numbers as three classes: low, middle and high, cut where the black box's answers have their thirds.

    A reader that answers with numbers becomes one that is sure of a third. So `leakage_report` can ask about a regression:

    >>> cut = Thirds.of(np.arange(9.0))
    >>> cut.labels([0.0, 4.0, 99.0])
    array([0, 1, 2])
    >>> cut.box(lambda x: x[:, 0])(np.array([[5.0]]))
    array([[0., 1., 0.]])
    """

    low: float
    high: float

    @classmethod
    def of(cls, numbers: npt.ArrayLike) -> Self:
        """Cut where these numbers have their thirds."""
        given = real_numbers(numbers, "numbers").ravel()
        found = cls(*(float(end) for end in third_ends(given)))
        if len(np.unique(found.labels(given))) < 2:
            raise InvalidInput(
                f"the black box says {given[0]:g} in nearly all of {len(given)} rows: nothing can leak; give rows "
                "with different answers",
                code="undefined",
            )
        return found

    @property
    def note(self) -> str:
        """What the report has to say about it."""
        return (
            f"the answer is a number; audited is in which third it lies: below {self.low:.4g}, up to {self.high:.4g}, or "
            "above. A code for finer differences is not seen"
        )

    def labels(self, numbers: npt.ArrayLike) -> IntArray:
        """0, 1 or 2 for each number."""
        return thirds(real_numbers(numbers, "numbers").ravel(), (self.low, self.high))

    def box(self, black_box: BlackBox) -> BlackBox:
        """A black box of numbers as one of three classes."""
        return lambda x: self._sure(black_box(x))

    def reader(self, reader: Callable[[Array, FloatArray], npt.ArrayLike]) -> Reader:
        """A reader that answers with numbers as one of three classes."""
        return lambda x, mask: self._sure(reader(x, mask))

    def _sure(self, numbers: npt.ArrayLike) -> FloatArray:
        return np.asarray(np.eye(3)[self.labels(numbers)])
