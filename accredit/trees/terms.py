r"""Models that add up terms of one or two columns, as explainable boosting machines do, and say what each term is for a row.

A term of the columns of players p and q is a game of two: with $f_{11}$ its value at the row, $f_{10}$ the mean with only p's
columns from the row, $f_{01}$ with only q's and $f_{00}$ with neither, p earns $w_0 (f_{10} - f_{00}) + w_1 (f_{11} - f_{01})$
under a semivalue that weighs games of two players by $w$, and the pair interacts by $f_{11} - f_{10} - f_{01} + f_{00}$.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.products.form import NotProducts
from accredit.trees.credit import TreeCredit
from accredit.trees.separable import mixtures
from accredit.values.semivalue_rules import semivalue_of

if TYPE_CHECKING:
    from accredit.models.row_types import Table

IDENTITY = ("identity", "logit", "mlogit")  # links under which the terms add up to what is shared
CLOSE = 1e-9  # how far the sum of the terms may be from the model, relative to their sizes


@dataclass(frozen=True, eq=False)
class Terms:
    """A model by its terms."""

    source: str
    columns: tuple[tuple[int, ...], ...]  # of every term
    start: FloatArray  # (outputs,)
    evaluate: Callable[[Table], FloatArray]  # rows -> (rows, terms, outputs)
    own: Callable[[Table], object]  # the model's own output of rows
    outputs: tuple[str, ...]
    payoff: str

    def read(self, rows: Table, said: FloatArray | None) -> FloatArray:
        """The sum of the terms, compared with the model's own output: (rows, outputs)."""
        each = self.evaluate(rows)
        margin, size = self.start + each.sum(axis=1), np.abs(self.start) + np.abs(each).sum(axis=1)
        own = np.asarray(self.own(rows) if said is None else said, dtype=np.float64).reshape(len(margin), -1)
        if own.shape != margin.shape or not (np.abs(own - margin) <= CLOSE * size + 1e-12).all():
            raise NotProducts(f"the terms of {self.source} do not add up to its output; explain it as a function of rows")
        return np.asarray(margin)


def has_terms(model: object) -> bool:
    """Does this model say what each of its terms is for a row, as explainable boosting machines do?"""
    return all(hasattr(model, name) for name in ("eval_terms", "term_features_", "intercept_", "link_"))


def terms_of(model: Any) -> Terms:
    """The terms of a fitted explainable boosting machine."""
    name = type(model).__name__
    columns = tuple(tuple(int(c) for c in term) for term in model.term_features_)
    if model.link_ not in IDENTITY:
        raise NotProducts(f"{name} has the link {model.link_!r}: its prediction is not the sum of its terms")
    if max(map(len, columns), default=0) > 2:
        raise NotProducts(f"{name} has terms of more than two columns")
    start = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    classes = tuple(map(str, getattr(model, "classes_", ())))

    def evaluate(rows: Table) -> FloatArray:
        return np.asarray(model.eval_terms(rows), dtype=np.float64).reshape(len(rows), len(columns), len(start))

    labels = ("value",) if not classes else classes if len(start) > 1 else classes[1:]
    own = model.decision_function if classes else model.predict
    return Terms(name, columns, start, evaluate, own, labels, "margin" if classes else "value")


class TermShares:
    """Terms and the rows to compare with: what credits rows."""

    def __init__(
        self,
        terms: Terms,
        background: Table,
        players: IntArray,  # (columns,)
        count: int,
        value: object,
        interactions: bool,
        weight: FloatArray | None,
    ) -> None:
        self._terms, self._background, self._players, self._count = terms, background, players, count
        self._interactions, self._means = interactions, f"background of {len(background)} rows"
        self._two = semivalue_of(value, max(2, count)).weights(2)
        share = np.ones(len(background)) if weight is None else weight
        self._weight = share / share.sum()
        self._nobody = np.tensordot(self._weight, terms.evaluate(background), 1)  # (terms, outputs)
        self._seats = [tuple(dict.fromkeys(players[list(term)].tolist())) for term in terms.columns]
        self._paired = sorted({p for seats in self._seats if len(seats) == 2 for p in seats})

    def credit(self, rows: Table) -> TreeCredit:
        """Exact credit of every player in every output of these rows."""
        everybody = self._terms.evaluate(rows)  # (rows, terms, outputs)
        outputs = everybody.shape[2]
        credit = np.zeros((len(everybody), self._count, outputs))
        pairs = np.zeros((len(everybody), self._count, self._count, outputs)) if self._interactions else None
        for r, whole in enumerate(everybody):
            alone = self._alone(rows, r)
            for t, seats in enumerate(self._seats):
                if len(seats) == 1:
                    credit[r, seats[0]] += whole[t] - self._nobody[t]
                    continue
                first, second = alone[seats[0]][t] - self._nobody[t], alone[seats[1]][t] - self._nobody[t]
                together = whole[t] - self._nobody[t]
                credit[r, seats[0]] += self._two[0] * first + self._two[1] * (together - second)
                credit[r, seats[1]] += self._two[0] * second + self._two[1] * (together - first)
                if pairs is not None:
                    pairs[r][list(seats), list(seats[::-1])] += together - first - second
        base = self._terms.start + self._nobody.sum(axis=0)
        return TreeCredit(credit, base, pairs, self._means)

    def _alone(self, rows: Table, r: int) -> dict[int, FloatArray]:
        """Each term where one player alone plays, averaged over the background: player -> (terms, outputs)."""
        if not self._paired:
            return {}
        m, some = len(self._background), len(self._paired)
        both = _below(self._background, rows, r)
        kept = np.repeat(np.array([self._players == p for p in self._paired]), m, axis=0)
        mixed = mixtures(both, np.full(m * some, m), np.tile(np.arange(m), some), kept)
        each = self._terms.evaluate(mixed).reshape(some, m, len(self._seats), -1)
        return dict(zip(self._paired, np.einsum("m,pmto->pto", self._weight, each), strict=True))


def _below(background: Table, rows: Table, r: int) -> Table:
    """The background, and below it one of the rows."""
    if not hasattr(rows, "iloc"):
        return np.concatenate([background, rows[r : r + 1]])
    import pandas

    return pandas.concat([background, rows.iloc[r : r + 1]], ignore_index=True)
