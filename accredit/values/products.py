r"""Games that are sums of products: every semivalue and pair interaction by exact quadrature, for any number of players.

$$v(S) = \text{constant} + \sum_m c_m \prod_{j \in S} a_{mj} \prod_{j \notin S} b_{mj}$$

On the diagonal of its multilinear extension each factor is $g_{mj}(t) = b_{mj} + t\,(a_{mj} - b_{mj})$. With Λ the functional
of a semivalue (`accredit.values.semivalue_rules`),

$$\phi_i = \Lambda\Bigl(\sum_m c_m (a_{mi} - b_{mi}) \prod_{k \ne i} g_{mk}(t)\Bigr), \qquad
I_{ij} = \Lambda\Bigl(\sum_m c_m (a_{mi} - b_{mi})(a_{mj} - b_{mj}) \prod_{k \ne i,j} g_{mk}(t)\Bigr),$$

polynomials of degree n − 1 and n − 2 in t, so ⌈n/2⌉ Gauss–Legendre nodes integrate them exactly; Banzhaf needs the one node ½.
Kernel machines, models with a log link and densities of independent columns are such sums.

**Rounding.** Factors are scaled by term and player so that the larger of |a| and |b| is 1. Then no factor exceeds 1 at any
node, and each is known to a few roundings of 1. A factor is left out by dividing the product of all by it: whatever error it
has is in the product too, and cancels, so this is safe unless the factor is exactly 0. That happens only where its terms cancel
to the last digit, and there a factor of 2⁻⁵⁸ is as right as 0 is. In all, the error of a credit is at most
(40 n + nodes + terms of one chunk + chunks + 20)·2⁻⁵²·Σ_m |c_m| Π_j max(|a_mj|, |b_mj|), times the sum of the rule's |weights|.

**Two players at a time.** $g_i g_j$ is a polynomial of degree 2 in t. With $L(t)$ the product of all other factors, player i
earns $c\,(a_i - b_i)\,(b_j\,\Lambda L + (a_j - b_j)\,\Lambda tL)$, so that half as many factors are made and divided, by
matrix products.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol, final, runtime_checkable

import numpy as np
import numpy.typing as npt

from accredit.checks.numbers import finite_numbers, real_number
from accredit.core import BoolArray, FloatArray, Game, check_players
from accredit.core.game import check_coalitions, check_finite
from accredit.core.rounding import DOUBLE
from accredit.errors import InvalidInput
from accredit.values.semivalue_rules import Semivalue

CELLS_PER_CHUNK = 1 << 13  # nodes × terms that are worked on together, so that all their factors stay in a cache
CELLS_PER_PAYOFF = 1 << 20  # coalitions × terms of one batch of payoffs
ALMOST_ZERO = 2.0**-58  # a factor that cancelled to nothing
FactorArray = npt.NDArray[Any]  # real or complex


class Products(NamedTuple):
    """A constant and the products that are added to it.

    >>> both = ProductGame("ab", [10.0], present=[[2.0, 3.0]], absent=[[1.0, 0.0]]).products
    >>> both.constant, both.weight.tolist(), both.present.tolist(), both.absent.tolist()
    (0.0, [10.0], [[2.0, 3.0]], [[1.0, 0.0]])
    """

    constant: float
    weight: FloatArray  # (terms,)
    present: FloatArray  # (terms, n): the factor of a player who plays
    absent: FloatArray  # (terms, n): the factor of one who does not


class ScaledProducts(NamedTuple):
    """Products whose factors are at most 1 in size, the larger of each pair being 1; the rest of their size is in `worth`."""

    worth: FactorArray  # (terms, outputs)
    present: FactorArray  # (n, terms)
    absent: FactorArray  # (n, terms)


@runtime_checkable
class Multiplied(Game, Protocol):
    """A game that knows itself as a sum of products; values solve it in closed form."""

    @property
    def products(self) -> Products: ...


@final
class ProductGame:
    """A game given by its products.

    >>> game = ProductGame(("alice", "bob"), [10.0], present=[[2.0, 3.0]], absent=[[1.0, 0.0]], constant=5.0)
    >>> game.payoff(np.array([[False, False], [False, True], [True, True]]))
    array([ 5., 35., 65.])
    >>> from accredit import shapley
    >>> shapley(game).credit
    array([15., 45.])
    """

    def __init__(
        self,
        players: Iterable[str],
        weight: npt.ArrayLike,
        present: npt.ArrayLike,
        absent: npt.ArrayLike,
        constant: float = 0.0,
    ) -> None:
        self._players = check_players(players)
        amounts, base = finite_numbers(weight, "weight"), real_number(constant, "constant", example=0)
        shape = (amounts.size, len(self._players))
        plays, stays = finite_numbers(present, "present"), finite_numbers(absent, "absent")
        if plays.size == 0 == stays.size:
            plays, stays = plays.reshape(0, shape[1]), stays.reshape(0, shape[1])
        if amounts.ndim != 1 or plays.shape != shape or stays.shape != shape:
            raise InvalidInput(
                f"weight has shape {amounts.shape}, present {np.shape(present)}, absent {np.shape(absent)}; m products of "
                f"{shape[1]} players need (m,), (m, {shape[1]}) and (m, {shape[1]})",
                argument="weight",
                code="shape",
            )
        self._products = Products(base, amounts, plays, stays)
        self._scaled = scale_products(amounts[:, None], plays.T, stays.T)
        check_finite(np.append(self._scaled.worth[:, 0].real, base), lambda term: f"that makes term {term} largest")

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    @property
    def products(self) -> Products:
        return self._products

    @property
    def blur(self) -> float:
        """How far rounding may move a payoff: half a dozen roundings for each factor, and one for each term."""
        roundings = 6 * len(self._players) + len(self._products.weight) + 2
        return roundings * DOUBLE * float(np.abs(self._scaled.worth).sum() + abs(self._products.constant))

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        rows = check_coalitions(coalitions, len(self._players))
        worth, present, absent = self._scaled
        earned = np.full(len(rows), self._products.constant)
        step = max(1, CELLS_PER_PAYOFF // max(1, len(worth)))
        for start in range(0, len(rows), step):
            plays = rows[start : start + step]
            whole = np.ones((len(plays), len(worth)))
            for i in range(len(self._players)):
                whole *= np.where(plays[:, i, None], present[i], absent[i])
            earned[start : start + step] += whole @ worth[:, 0]
        return earned

    def __repr__(self) -> str:
        return f"ProductGame({len(self._players)} players, {len(self._products.weight)} products)"


def scale_products(weight: FactorArray, present: FactorArray, absent: FactorArray) -> ScaledProducts:
    """Products with factors of at most 1: (terms, outputs), (n, terms), (n, terms). Products that never pay are left out.

    Sizes are multiplied as mantissas and exponents, so that 200 factors of 1e10 or 1e-10 do no harm unless their product does.

    >>> worth, present, absent = scale_products(np.array([[1.0]]), np.array([[4.0], [1e-200]]), np.array([[2.0], [2e-200]]))
    >>> present[:, 0], absent[:, 0]
    (array([1. , 0.5]), array([0.5, 1. ]))
    """
    size = np.maximum(np.abs(present), np.abs(absent))
    pays = (size > 0).all(axis=0)
    size, weight = size[:, pays], weight[pays]
    mantissa, exponent = np.frexp(size)
    half, shift = np.frexp(np.multiply.reduce(mantissa, axis=0))
    power = exponent.sum(axis=0) + shift
    with np.errstate(over="ignore", under="ignore"):
        scale = np.ldexp(half, power)
        worth = weight * scale[:, None]
        if not np.isfinite(scale).all():  # the weight may be as small as the factors are large
            worth = np.where(weight == 0, 0.0, np.ldexp(np.real(weight) * half[:, None], power[:, None]))
    return ScaledProducts(worth, present[:, pays] / size, absent[:, pays] / size)


def product_credit(products: ScaledProducts, rule: Semivalue, most: int | None = None) -> FloatArray:
    """Credit of every player in every output under a semivalue: (n, outputs). Costs n · ⌈n/2⌉ multiplications per term; fewer
    where at most `most` players of any one product make a difference to it."""
    worth, present, absent = products
    t, w = rule.rule(max(1, most or len(present)))
    n, half = len(present), (len(present) + 1) // 2
    powers, moments = np.stack([np.ones_like(t), t, t * t], axis=1), np.stack([w, w * t])
    credit = np.zeros((n, worth.shape[1]))
    for some in _chunks(len(worth), len(t)):
        gap, stays = _pad(present[:, some] - absent[:, some], 0.0), _pad(absent[:, some], 1.0)
        (d, other_d), (b, other_b) = (gap[:half], gap[half:]), (stays[:half], stays[half:])
        squares = np.stack([b * other_b, b * other_d + other_b * d, d * other_d], axis=1)
        factor = powers @ squares  # (pairs, nodes, terms): that of both players
        factor[factor == 0] = ALMOST_ZERO
        whole = np.multiply.reduce(factor, axis=0)
        left, rising = np.moveaxis(moments @ np.divide(whole, factor, out=factor), 1, 0)  # (pairs, terms): ΛL and ΛtL
        both = np.concatenate([d * (other_b * left + other_d * rising), other_d * (b * left + d * rising)])
        credit += (both[:n] @ worth[some]).real
    return credit


def _pad(factors: FactorArray, fill: float) -> FactorArray:
    """An even number of players: one who does not matter is added where there is an odd one."""
    if len(factors) % 2 == 0:
        return factors
    return np.concatenate([factors, np.full((1, factors.shape[1]), fill, dtype=factors.dtype)])


def product_pairs(products: ScaledProducts, rule: Semivalue, most: int | None = None) -> FloatArray:
    """Interaction of every pair in every output under a semivalue: (n, n, outputs), symmetric with a zero diagonal."""
    worth, present, absent = products
    n, outputs = len(present), worth.shape[1]
    pairs = np.zeros((n, n, outputs))
    if n < 2:
        return pairs
    t, w = rule.rule(max(1, (most or n) - 1))
    for some in _chunks(len(worth), len(t)):
        gap, factor = _factors(present[:, some], absent[:, some], t)
        whole = np.multiply.reduce(factor, axis=0) * w[:, None]
        slope = np.divide(gap[:, None, :], factor, out=factor)
        flat = slope.reshape(n, -1)
        for k in range(outputs):
            pairs[:, :, k] += ((slope * (whole * worth[some, k])).reshape(n, -1) @ flat.T).real
    pairs[np.arange(n), np.arange(n)] = 0.0
    return (pairs + pairs.transpose(1, 0, 2)) / 2


def product_ends(products: ScaledProducts) -> tuple[FloatArray, FloatArray]:
    """What nobody and what everybody earns, but for the constant: (outputs,) each."""
    nobody, everybody = (
        np.asarray((np.multiply.reduce(side, axis=0) @ products.worth).real) for side in (products.absent, products.present)
    )
    return nobody, everybody


def product_rounding(products: ScaledProducts, rule: Semivalue) -> float:
    """How far rounding may move a credit that `product_credit` gives; see the module's text."""
    n, terms = len(products.present), len(products.worth)
    nodes, weights = rule.rule(n)
    chunk = max(1, CELLS_PER_CHUNK // len(nodes))
    roundings = 40 * n + len(nodes) + min(chunk, terms) + -(-terms // chunk) + 20
    size = float(np.abs(products.worth).sum(axis=0).max(initial=0.0))
    return roundings * DOUBLE * size * float(np.abs(weights).sum())


def _chunks(terms: int, nodes: int) -> Iterator[slice]:
    step = max(1, CELLS_PER_CHUNK // nodes)
    return (slice(start, start + step) for start in range(0, terms, step))


def _factors(present: FactorArray, absent: FactorArray, t: FloatArray) -> tuple[FactorArray, FactorArray]:
    """What playing changes in each factor, (n, terms), and each factor at each node, (n, nodes, terms); none of these is 0."""
    gap = present - absent
    factor = t[:, None] * gap[:, None, :]
    factor += absent[:, None, :]
    factor[factor == 0] = ALMOST_ZERO
    return gap, factor
