"""The credit of rows whose output is a sum of products, compared with all rows of a background.

One product of the model is, for a row x and a background row b, one product of the game: the columns of a player contribute the
exponential of their summed logarithms at x where the player plays, at b where not. So s products and m background rows are s·m
products, of which those too small to matter are left out: together they are less than a rounding of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.core.game import LARGEST
from accredit.products.form import Additive, Form, Monomials, NotProducts, Product
from accredit.values.products import FactorArray, ScaledProducts, product_credit, product_pairs, scale_products
from accredit.values.semivalue_rules import semivalue_of

CELLS_PER_BLOCK = 1 << 22  # players × background rows × products that are held at once
NEGLIGIBLE = 2.0**-60  # of the whole: what all products that are left out may be worth together


@dataclass(frozen=True, eq=False)
class FormCredit:
    """What each player earned in each output of each row."""

    credit: FloatArray  # (rows, players, outputs)
    base: FloatArray  # (outputs,)
    pairs: FloatArray | None  # (rows, players, players, outputs)


class FormShares:
    """A form, a rule of sharing and rows to compare with: prepared once, asked about rows as often as needed.

    >>> from accredit.products import form_of
    >>> from sklearn.svm import SVR
    >>> model = SVR().fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 3.0, 2.0])
    >>> form = form_of(model)
    >>> shares = FormShares(form, np.array([[0.0, 0.0]]), players=np.arange(2), count=2)
    >>> found = shares.credit(np.array([[1.0, 1.0]]))
    >>> bool(np.isclose(found.base[0] + found.credit.sum(), model.predict([[1.0, 1.0]])[0]))
    True
    """

    def __init__(
        self,
        form: Form,
        background: FloatArray,  # (m, columns)
        *,
        players: IntArray,  # (columns,) the player of each
        count: int,
        value: object = "shapley",
        interactions: bool = False,
        weight: FloatArray | None = None,  # (m,)
    ) -> None:
        self._form, self._background, self._count, self._pairs = form, background, count, interactions
        self._rule = semivalue_of(value, count)
        self._seats, self._seat = np.unique(players, return_inverse=True)  # who has a column, and whose each is
        if not self._rule.is_steady(len(self._seats)):
            raise NotProducts(
                f"value {self._rule.name:.60} of {len(self._seats)} players cannot be computed to nine digits from products "
                f"(its weights grow to {self._rule.size(len(self._seats)):.1g})"
            )
        share = np.ones(len(background)) if weight is None else weight
        self._weight = share / share.sum()
        self._base = self._weight @ form.value(background)
        self._kept: tuple[Product | Monomials, slice, slice, FactorArray] | None = None  # what was prepared last

    def credit(self, rows: FloatArray) -> FormCredit:
        """Exact credit of every player in every output of these rows: (rows, columns)."""
        outputs = len(self._form.outputs)
        credit = np.zeros((len(rows), self._count, outputs))
        pairs = np.zeros((len(rows), self._count, self._count, outputs)) if self._pairs else None
        for part in self._form.parts:
            if isinstance(part, Additive):
                self._add(part, rows, credit)
            else:
                self._multiply(part, rows, credit, pairs)
        return FormCredit(credit, self._base, pairs)

    def _add(self, part: Additive, rows: FloatArray, credit: FloatArray) -> None:
        for j, seat in enumerate(self._seat):
            mean = self._weight @ part.share(self._background[:, j], j)
            credit[:, self._seats[seat]] += part.share(rows[:, j], j) - mean

    def _multiply(self, part: Product | Monomials, rows: FloatArray, credit: FloatArray, pairs: FloatArray | None) -> None:
        most = self._most(part)
        for others, terms in self._blocks(part):
            absent = self._prepare(part, others, terms)  # (players, background rows, products)
            for r, row in enumerate(rows):
                present = self._factors(part, row[None], terms)  # (players, 1, products)
                scale = _scale_logarithms if isinstance(part, Product) else _scale_factors
                products = scale(part.coefficient[terms], self._weight[others], present, absent)
                credit[r, self._seats] += product_credit(products, self._rule, most)
                if pairs is not None:
                    pairs[r][np.ix_(self._seats, self._seats)] += product_pairs(products, self._rule, most)

    def _most(self, part: Product | Monomials) -> int:
        """How many players one product has at most."""
        if isinstance(part, Product):
            return len(self._seats)
        has = np.zeros((part.terms, len(self._seats)), dtype=bool)
        for j, seat in enumerate(self._seat):
            has[:, seat] |= part.powers[:, j] > 0
        return int(has.sum(axis=1).max(initial=1))

    def _blocks(self, part: Product | Monomials) -> Iterator[tuple[slice, slice]]:
        """Background rows and products that are worked on together."""
        most = max(1, CELLS_PER_BLOCK // len(self._seats))
        rows = min(len(self._background), most)
        terms = max(1, most // rows)
        for first in range(0, len(self._background), rows):
            for start in range(0, part.terms, terms):
                yield slice(first, first + rows), slice(start, start + terms)

    def _prepare(self, part: Product | Monomials, others: slice, terms: slice) -> FactorArray:
        """The background's factors; kept for the next rows where there is only one block."""
        if self._kept is None or self._kept[:3] != (part, others, terms):
            self._kept = part, others, terms, self._factors(part, self._background[others], terms)
        return self._kept[3]

    def _factors(self, part: Product | Monomials, rows: FloatArray, terms: slice) -> FactorArray:
        """Factors of every player, or their logarithms, in some products: (players, rows, products)."""
        found: list[FactorArray | None] = [None] * len(self._seats)
        for j, seat in enumerate(self._seat):
            before = found[seat]
            if isinstance(part, Product):
                mine = part.functions.of(rows[:, j], j, terms)
                found[seat] = mine if before is None else before + mine
            else:
                mine = part.factors(rows[:, j], j)[:, terms]
                found[seat] = mine if before is None else before * mine
        return np.stack([each for each in found if each is not None])


def _scale_factors(coefficient: FactorArray, weight: FloatArray, present: FactorArray, absent: FactorArray) -> ScaledProducts:
    """Products of a row and background rows, from their factors; shapes as in `_scale_logarithms`."""
    worth = (weight[:, None, None] * coefficient).reshape(absent[0].size, -1)
    n = len(absent)
    return scale_products(worth, np.broadcast_to(present, absent.shape).reshape(n, -1), absent.reshape(n, -1))


def _scale_logarithms(
    coefficient: FactorArray, weight: FloatArray, present: FactorArray, absent: FactorArray
) -> ScaledProducts:
    """Products of a row and background rows, from the logarithms of their factors; the larger of two factors becomes 1.

    `coefficient` (products, outputs), `weight` (m,), `present` (players, 1, products), `absent` (players, m, products).
    """
    gap = present - absent
    top = np.minimum(gap.real, 0.0).sum(axis=0)
    top = present.real.sum(axis=0) - top  # the sum of the larger logarithms: (m, products)
    with np.errstate(over="ignore"):
        reach = np.exp(top) * weight[:, None]
    size = reach * np.abs(coefficient).max(axis=1)
    whole = float(size.sum())
    if not whole < LARGEST:
        raise NotProducts(f"some mixtures of the rows and the background have an output of e^{float(top.max()):.0f}")
    keep = (size > NEGLIGIBLE * whole / size.size).ravel()
    gap = gap.reshape(len(gap), -1)
    if not keep.all():
        gap = gap[:, keep]
    smaller, larger = np.exp(-np.abs(gap.real)), gap.real >= 0
    plays, stays = np.where(larger, 1.0, smaller), np.where(larger, smaller, 1.0)
    worth = (reach[:, :, None] * coefficient).reshape(len(keep), -1)[keep]
    if not np.iscomplexobj(gap):
        return ScaledProducts(worth, plays, stays)
    turn = np.exp(1j * absent.imag.reshape(len(gap), -1)[:, keep])
    return ScaledProducts(worth, plays * np.exp(1j * gap.imag) * turn, stays * turn)
