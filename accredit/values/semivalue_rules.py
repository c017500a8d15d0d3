"""One semivalue for games of every size: its weights, its moments, and nodes that integrate polynomials against it.

A game of k players inside a larger one is weighed by p_k(s) = Λ(tˢ(1−t)^{k−1−s}), where Λ is a linear functional: the
integral against a density for Shapley (dt), Banzhaf (all mass at ½) and Beta. Restricting a semivalue from k + 1 to k players
gives p_k(s) = p_{k+1}(s) + p_{k+1}(s+1), so any weights of n players say what happens to fewer (Dubey, Neyman and Weber, 1981).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from accredit.core import FloatArray
from accredit.errors import InvalidInput
from accredit.values.semivalues import (
    banzhaf_weights,
    beta_law,
    beta_weights,
    check_weights,
    log_binomial,
    shapley_weights,
)

Rule = tuple[FloatArray, FloatArray]  # nodes in (0, 1), and their weights
STEADY_WEIGHTS = 1e4  # the largest sum of |weights| of a rule that keeps nine digits


@dataclass(frozen=True, eq=False)
class Semivalue:
    """A rule that credits marginal contributions by coalition size, whatever the number of players.

    >>> SHAPLEY.weights(3)
    array([0.33333333, 0.16666667, 0.33333333])
    >>> t, w = SHAPLEY.rule(4)  # exact up to degree 3
    >>> bool(np.isclose(w @ t**3, 1 / 4))
    True
    """

    name: str
    weights: Callable[[int], FloatArray]  # players -> p(0..players − 1)
    rule: Callable[[int], Rule]  # players -> nodes and weights, exact for polynomials of degree below `players`
    efficient: bool = False

    def size(self, players: int) -> float:
        """The sum of the |weights| of the nodes for so many players: by how much rounding grows at most. 1 for densities."""
        return float(np.abs(self.rule(max(1, players))[1]).sum())

    def is_steady(self, players: int) -> bool:
        """Do the nodes for so many players keep nine digits?"""
        return self.size(players) <= STEADY_WEIGHTS

    def moments(self, players: int) -> FloatArray:
        """M[u, v] = Λ(tᵘ(1−t)ᵛ) for u + v < players, zero elsewhere: (players + 1, players + 1)."""
        table = np.zeros((players + 1, players + 1))
        for k in range(1, players + 1):
            u = np.arange(k)
            table[u, k - 1 - u] = self.weights(k)
        return table


@cache
def _legendre(players: int) -> Rule:
    x, w = np.polynomial.legendre.leggauss(max(1, (players + 1) // 2))
    return (x + 1) / 2, w / 2


SHAPLEY = Semivalue("shapley", shapley_weights, _legendre, efficient=True)
BANZHAF = Semivalue("banzhaf", banzhaf_weights, lambda players: (np.array([0.5]), np.array([1.0])))


def beta_semivalue(alpha: float, beta: float) -> Semivalue:
    """Beta(α, β), with density proportional to t^{β−1}(1−t)^{α−1}."""
    beta_law(2, alpha, beta)  # refuses what is not positive and finite

    @cache
    def jacobi(players: int) -> Rule:
        from scipy.special import roots_jacobi

        x, w = roots_jacobi(max(1, (players + 1) // 2), alpha - 1, beta - 1)
        return (x + 1) / 2, w / w.sum()

    name = f"beta({alpha:g}, {beta:g})"
    return Semivalue(name, lambda k: beta_weights(k, alpha, beta), jacobi, efficient=alpha == beta == 1)


def weigh(weights: object, players: int) -> Semivalue:
    """The semivalue that gives a game of `players` these weights, and smaller games what follows from them.

    >>> weigh([0.25, 0.75], 2).weights(1)
    array([1.])
    """
    p = check_weights(weights, players)

    def restrict(k: int) -> FloatArray:
        if k > players:
            raise InvalidInput(
                f"weights are for {players} players; a game of {k} needs {k} of them", argument="weights", code="shape"
            )
        few = p
        while len(few) > k:
            few = few[:-1] + few[1:]
        return few

    @cache
    def interpolate(k: int) -> Rule:
        x, _ = np.polynomial.legendre.leggauss(k)
        t, s, binomial = (x + 1) / 2, np.arange(k)[:, None], np.exp(log_binomial(k - 1))
        bernstein = binomial[:, None] * t**s * (1 - t) ** (k - 1 - s)
        return t, np.asarray(np.linalg.solve(bernstein, binomial * restrict(k)), dtype=np.float64)

    efficient = bool(np.allclose(p, shapley_weights(players), rtol=1e-12, atol=0))
    return Semivalue(f"semivalue({', '.join(str(float(w)) for w in p)})", restrict, interpolate, efficient)


def semivalue_of(value: object, players: int) -> Semivalue:
    """The semivalue meant by a name ("shapley", "banzhaf"), by ("beta", α, β), or by weights p(0..players − 1)."""
    named = {"shapley": SHAPLEY, "banzhaf": BANZHAF}
    if isinstance(value, Semivalue):
        return value
    if isinstance(value, str) and value in named:
        return named[value]
    if isinstance(value, tuple) and len(value) == 3 and value[0] == "beta":
        return beta_semivalue(value[1], value[2])
    if isinstance(value, str):
        raise InvalidInput(
            f'value is {value!r}; write "shapley", "banzhaf", ("beta", 16, 1) or one weight per coalition size',
            argument="value",
            code="type",
        )
    return weigh(value, players)
