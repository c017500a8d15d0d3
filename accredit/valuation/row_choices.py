"""Training rows with three states: absent, taught with another label, or kept as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack, final

import numpy as np

from accredit.core import FloatArray, IntArray, check_groups, player_index
from accredit.core.choices import Choosing
from accredit.errors import InvalidInput
from accredit.valuation.retraining import Judging, Retraining
from accredit.valuation.split import Split

if TYPE_CHECKING:
    import sklearn.base

STATES = ("absent", "relabelled", "kept")


@final
class RowChoices(Choosing):
    """v(x) = the test score of a classifier that was taught each row, or group of rows, as x says.

    A relabelled row is taught the next class (with two classes, the other one). Groups hold names of rows; rows in no group
    stay as they are.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from accredit.valuation import split
    >>> data = split([[-1.0], [1.0], [-2.0], [2.0]], [0, 1, 0, 1], [[-2.0], [2.0]], [0, 1], names="abcd")
    >>> rows = RowChoices(data, LogisticRegression(), {"inner": "ab", "outer": "cd"})
    >>> rows.worth(np.array([[2, 2], [0, 1], [0, 0]]))  # all kept; the outer rows relabelled and alone; nothing taught
    array([1. , 0. , 0.5])
    """

    def __init__(
        self,
        data: Split,
        estimator: sklearn.base.BaseEstimator,
        groups: Mapping[str, Iterable[str]] | None = None,
        **how: Unpack[Judging],
    ) -> None:
        if data.classes is None:
            raise InvalidInput(
                "rows with numbers for labels have no other label; RowChoices is for classes", argument="data", code="type"
            )
        listed = (
            {name: [name] for name in data.names}
            if groups is None
            else check_groups({name: list(members) for name, members in groups.items()})
        )
        self.data, self._estimator, self._how = data, estimator, how
        super().__init__(tuple(listed), (STATES,) * len(listed))
        self._member = np.zeros((len(listed), len(data.names)), dtype=bool)
        for at, members in enumerate(listed.values()):
            self._member[at, [player_index(data.names, name) for name in members]] = True
        if (self._member.sum(axis=0) > 1).any():
            twice = data.names[int(self._member.sum(axis=0).argmax())]
            raise InvalidInput(
                f"groups holds row {twice!r} twice; groups must not overlap", argument="groups", code="duplicate"
            )

    def worth(self, choices: IntArray) -> FloatArray:
        return np.array([self._teach(choice) for choice in choices])

    def _teach(self, choice: IntArray) -> float:
        assert self.data.classes is not None  # checked when built
        absent, other = ((choice == state) @ self._member for state in (0, 1))
        y = np.where(other, (self.data.y + 1) % len(self.data.classes), self.data.y)
        return float(Retraining(replace(self.data, y=y), self._estimator, **self._how).payoff(~absent[None])[0])
