r"""Harmonic reading: how much of what a model learns is linear in who is in the training set.

Let each row be in the training set with chance p, and write the output f(S) in the characters of that distribution,
$\chi_i = (1[i \in S] - p)/\sqrt{p(1-p)}$ and their products. The weight of a degree is the sum of the squared coefficients of
its characters; all degrees above 0 add up to the variance of f. A datamodel can predict the share of degree 1, and no more:
what is left is interaction of rows, or the noise of training.

Over m subsets the weight of degree 1 is estimated without bias by pairs of different subsets,
$\frac{1}{m(m-1)} \sum_{a \ne b} f_a f_b \sum_i \chi_i(a)\chi_i(b)$, and that of degree 2 from the same products. Intervals are
of a jackknife over the subsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from accredit import defaults
from accredit.checks import whole_number
from accredit.checks.arguments import check_arguments
from accredit.core import BoolArray, Estimate, FloatArray, Game, payoffs
from accredit.core.multi_target import Predicting, retrain
from accredit.core.statistics import alike
from accredit.errors import InvalidInput
from accredit.valuation.subsets import random_subsets

SUBSETS_NEEDED, SUBSETS_READ = 20, 2000  # subsets; of more than these the first are read, since all pairs of them are looked at
READING = "harmonics"  # its name among the facts of a datamodel


@dataclass(frozen=True)
class Harmonics:
    """Shares of the variance of an output by degree, at one chance p, each with an interval of level 0.95.

    >>> from accredit.games import FunctionGame
    >>> both = FunctionGame("ab", lambda coalitions: coalitions.all(axis=1))  # two thirds are linear, one third is of the pair
    >>> print(harmonics(both, subsets=1000))
    p = 0.5: linear 0.61 [0.55, 0.67], pairs 0.35 [0.31, 0.39] of the variance
    """

    fraction: float  # p
    subsets: int
    variance: float  # of the output over subsets
    linear: Estimate  # share of degree 1
    pairs: Estimate  # share of degree 2

    def __str__(self) -> str:
        return f"p = {self.fraction:g}: linear {self.linear:.2f}, pairs {self.pairs:.2f} of the variance"


def harmonic_facts(coalitions: BoolArray, outputs: FloatArray, fraction: float) -> dict[str, object]:
    """The reading of subsets that were drawn for something else, as plain facts; none where it would say nothing."""
    kept, seen = coalitions[:SUBSETS_READ], outputs[:SUBSETS_READ]
    if len(kept) < SUBSETS_NEEDED or alike(seen):
        return {}
    found = read(kept, seen, fraction)
    shares = {"linear": found.linear, "pairs": found.pairs}
    return {
        READING: {"fraction": fraction, "subsets": len(kept), "level": defaults.LEVEL}
        | {name: [e.value, e.low, e.high] for name, e in shares.items()}
    }


@check_arguments
def harmonics(game: Game, subsets: int = 400, *, fraction: float = 0.5, seed: int = 0) -> Harmonics:
    """What part of a game's variance over random coalitions is linear, and what part is of pairs.

    Of a game that predicts targets the mean over all of them is read. Training noise counts as neither.

    >>> from accredit.games import FunctionGame
    >>> additive = FunctionGame("abcdef", lambda c: c @ np.arange(6.0))
    >>> str(harmonics(additive, 2000)).split(":")[0], harmonics(additive, 2000).linear.above(0.8)
    ('p = 0.5', True)
    """
    whole_number(subsets, "subsets", SUBSETS_NEEDED, example=400)
    coalitions = random_subsets(len(game.players), subsets, fraction, seed)
    earned = retrain(game, coalitions)[1].mean(axis=1) if isinstance(game, Predicting) else payoffs(game, coalitions)
    return read(coalitions, earned, fraction)


def curve(
    game: Game, fractions: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 0.9), subsets: int = 400, seed: int = 0
) -> tuple[Harmonics, ...]:
    """`harmonics` at several chances p: with more rows, is what one row adds more, or less, independent of the others?"""
    return tuple(harmonics(game, subsets, fraction=p, seed=seed) for p in fractions)


def read(coalitions: BoolArray, outputs: FloatArray, fraction: float) -> Harmonics:
    """Shares by degree from subsets (m, N) drawn with chance `fraction` and the output of each (m,)."""
    centred = outputs - outputs.mean()
    if alike(outputs):
        raise InvalidInput("the output is the same for every subset: it has no variance to divide", code="undefined")
    characters = (coalitions - fraction) / np.sqrt(fraction * (1 - fraction))
    once = characters @ characters.T
    twice = (once**2 - (characters**2) @ (characters**2).T) / 2
    m = len(outputs)
    of_pairs = [np.outer(centred, centred) * kernel for kernel in (once, twice)]
    for products in of_pairs:
        np.fill_diagonal(products, 0.0)
    squares = centred**2
    variance = squares.sum() / (m - 1)
    shares = []
    for products in of_pairs:
        rows = products.sum(axis=1)
        share = products.sum() / (m * (m - 1)) / variance
        # leaving out subset a takes its row and column away; the mean is that of all, which moves by 1/m
        left_out = (products.sum() - 2 * rows) / ((m - 1) * (m - 2)) / ((squares.sum() - squares) / (m - 2))
        error = np.sqrt((m - 1) / m * ((left_out - left_out.mean()) ** 2).sum())
        reach = NormalDist().inv_cdf((1 + defaults.LEVEL) / 2) * error
        shares.append(Estimate(float(share), float(share - reach), float(share + reach), level=defaults.LEVEL))
    return Harmonics(fraction, m, float(variance), *shares)
