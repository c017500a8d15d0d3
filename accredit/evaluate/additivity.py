"""Do the credits add up to what happens when several players are removed at once? Sensitivity-n, infidelity and the linear
datamodeling score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from accredit.checks.arguments import check_fields
from accredit.core import Attribution, BoolArray, FloatArray, Game, Procedure, Selection, endpoints, payoffs
from accredit.core.coalitions import from_index
from accredit.core.rounding import blur, blur_of
from accredit.core.statistics import rank_correlation, ranks, tied
from accredit.errors import InvalidInput
from accredit.evaluate.metric import Better, Ends, NotApplicable, Result, rounding_of

SAME = 0.01  # totals that differ by more than this share are totals of different things
FRESH = 0x1D5  # marks the stream of random numbers for coalitions that only measure


def _credit(result: Result, metric: str) -> FloatArray:
    if isinstance(result, Selection):
        raise NotApplicable(f"{metric} adds credits up, and {result.method} is a selection: it has none", code="unsupported")
    return result.credit


@lru_cache(maxsize=8)
def removals_by_size(players: int, sizes: tuple[int, ...], count: int, seed: int) -> list[BoolArray]:
    """Removals of each size; cached, because every method that explains an input is asked about the same ones."""
    rng = np.random.default_rng(seed)
    return [removals_of_size(players, size, count, rng) for size in sizes]


def removals_of_size(players: int, size: int, count: int, rng: np.random.Generator) -> BoolArray:
    """All removals of `size` players when there are at most `count`, else `count` random ones: (≤ count, players)."""
    if comb(players, size) <= count:
        rows = np.zeros((comb(players, size), players), dtype=bool)
        for row, who in zip(rows, combinations(range(players), size), strict=True):
            row[list(who)] = True
        return rows
    return rng.random((count, players)).argsort(axis=1).argsort(axis=1) < size


@dataclass(frozen=True)
class SensitivityN:
    r"""Correlation of summed credit with the payoff lost, over removals of equal size, averaged over sizes.

    $$\mathrm{mean}_k\ \mathrm{corr}_{|R| = k}\Big(\sum_{i \in R} \phi_i,\; v(N) - v(N \setminus R)\Big)$$

    Ancona et al. (2018). Sizes: those in `at`, or about `sizes` of them spread evenly over 1..n−1; of each size all removals,
    or `removals` random ones drawn from `seed`, the same for every method. A size at which the payoff lost is constant says
    nothing and is left out; constant credit sums against a varying loss count as correlation 0. Scale-free, so scores may be
    measured too, but signs matter.

    >>> from accredit.evaluate import measure
    >>> from accredit.games import FunctionGame
    >>> from accredit.values import shapley
    >>> additive = FunctionGame("abc", lambda coalitions: coalitions @ [3.0, 2.0, 1.0])
    >>> round(measure(SensitivityN(), additive, shapley(additive)), 9)
    1.0
    """

    sizes: int = 8
    removals: int = 16
    seed: int = 0
    at: tuple[int, ...] | None = None
    name: str = "sensitivity-n"
    better: Better = "higher"
    paper: str = "Ancona et al. (2018)"
    within: ClassVar[Ends | None] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.sizes < 1 or self.removals < 2:
            raise InvalidInput(
                f"sizes must be ≥ 1 and removals ≥ 2, got {self.sizes!r} and {self.removals!r}", argument="sizes", code="range"
            )
        if self.at is not None and (not self.at or min(self.at) < 1):
            raise InvalidInput(
                f"at must list whole sizes ≥ 1, got {self.at!r}; leave it out to spread them over 1..n−1",
                argument="at",
                code="range",
            )

    def _remove(self, players: int) -> list[BoolArray]:
        spread = np.linspace(1, players - 1, self.sizes).round().astype(int).tolist() if self.at is None else self.at
        return removals_by_size(players, tuple(sorted({min(k, players - 1) for k in spread})), self.removals, self.seed)

    def plan(self, result: Result) -> BoolArray:
        n = len(_credit(result, self.name))
        if n < 2:
            raise NotApplicable(
                "sensitivity-n compares removals of equal size, and with one player there is only one", code="undefined"
            )
        return np.vstack([np.ones((1, n), dtype=bool), *(~removed for removed in self._remove(n))])

    def score(self, result: Result, earned: FloatArray) -> float:
        credit = _credit(result, self.name)
        lost = earned[0] - earned[1:]
        found, start = [], 0
        for removed in self._remove(len(credit)):
            sums, moved = removed @ credit, 2 * rounding_of(result, earned)  # both payoffs of a loss may have moved
            found.append(correlation(sums, lost[start : start + len(removed)], rounding_of(result, sums), moved))
            start += len(removed)
        known = [r for r in found if r is not None]
        if not known:
            raise NotApplicable("sensitivity-n is undefined here: removals of equal size all lose the same", code="undefined")
        return float(np.mean(known))

    def oracle(self, game: Game) -> Attribution:
        """The credit whose sums correlate best with the losses in these very removals: ascent from a least-squares fit."""
        removed = self._remove(len(game.players))
        losses, moved = _losses(game, removed)
        pairs = [(r - r.mean(axis=0), y - y.mean()) for r, y in zip(removed, losses, strict=True)]
        pairs = [(x, y / np.linalg.norm(y)) for x, y in pairs if not _flat(y, moved)]
        if not pairs:
            raise NotApplicable("sensitivity-n is undefined here: removals of equal size all lose the same", code="undefined")
        return _score(game, most_correlated([x for x, _ in pairs], [y for _, y in pairs]))


def correlation(sums: FloatArray, lost: FloatArray, blurred: float, moved: float) -> float | None:
    """Pearson correlation; None where the loss is constant, 0 where only the sums are, both but for rounding: `moved` is what
    it may make of the losses, `blurred` of the sums.

    >>> correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]), blurred=0.0, moved=0.0)
    1.0
    """
    x, y = sums - sums.mean(), lost - lost.mean()
    if _flat(y, moved):
        return None
    if _flat(x, blurred):
        return 0.0
    x, y = x / np.abs(x).max(), y / np.abs(y).max()  # so that squares neither vanish nor overflow
    return float(np.clip((x @ y) / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def _flat(centred: FloatArray, rounding: float) -> bool:
    """Whether values, less their mean, are nothing but rounding."""
    return bool(np.abs(centred).max() <= rounding)


@dataclass(frozen=True)
class Infidelity:
    r"""Mean squared gap between the credit of the removed players and the payoff lost with them.

    $$\mathrm{E}_R\Big[\Big(\sum_{i \in R} \phi_i - [v(N) - v(N \setminus R)]\Big)^2\Big]$$

    Yeh et al. (2019) with removal as the perturbation. R is uniform over the non-empty subsets: all of them when 2ⁿ − 1 ≤
    `removals`, else `removals` random ones from `seed`. The least-squares best credit under this law is close to the Banzhaf
    value, so the law favours Banzhaf over Shapley a little. Not applicable to scores, which have no unit, nor to credit that
    divides something other than this game's payoff, such as a flow.

    >>> from accredit.evaluate import measure
    >>> from accredit.games import FunctionGame
    >>> from accredit.values import shapley
    >>> additive = FunctionGame("abc", lambda coalitions: coalitions @ [3.0, 2.0, 1.0])
    >>> round(measure(Infidelity(), additive, shapley(additive)), 9)  # sums of credit say all there is
    0.0
    """

    removals: int = 128
    seed: int = 0
    name: str = "infidelity"
    better: Better = "lower"
    paper: str = "Yeh et al. (2019)"
    within: ClassVar[Ends | None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.removals < 1:
            raise InvalidInput(f"removals must be at least 1, got {self.removals!r}", argument="removals", code="range")

    def _remove(self, players: int) -> BoolArray:
        if players < 62 and (1 << players) - 1 <= self.removals:
            return from_index(np.arange(1, 1 << players), players)
        removed = np.random.default_rng(self.seed).random((self.removals, players)) < 0.5
        return removed[removed.any(axis=1)]

    def plan(self, result: Result) -> BoolArray:
        n = len(_credit(result, self.name))
        if isinstance(result, Attribution) and result.total is None:
            raise NotApplicable(
                f"infidelity compares credit with payoff lost, and {result.method} gives scores without a unit",
                code="unsupported",
            )
        return np.vstack([np.ones((1, n), dtype=bool), np.zeros((1, n), dtype=bool), ~self._remove(n)])

    def score(self, result: Result, earned: FloatArray) -> float:
        credit = _credit(result, self.name)
        everybody, nobody = earned[:2]
        divided = result.total if isinstance(result, Attribution) else None
        if divided is not None and abs(divided - (everybody - nobody)) > SAME * max(abs(divided), abs(everybody - nobody)):
            raise NotApplicable(
                f"infidelity compares credit with payoff lost, and {result.method} divides something other than this "
                "game's payoff",
                code="conflict",
            )
        lost = everybody - earned[2:]
        return float(((self._remove(len(credit)) @ credit - lost) ** 2).mean())

    def oracle(self, game: Game) -> Attribution:
        """The least-squares credit for these very removals."""
        removed = self._remove(len(game.players))
        (lost,), _ = _losses(game, [removed])
        return _share(game, np.linalg.lstsq(removed.astype(float), lost, rcond=None)[0])


@dataclass(frozen=True)
class LinearDatamodelingScore:
    r"""Rank correlation of summed credit with the payoff, over random coalitions.

    $$\mathrm{Spearman}_S\Big(\sum_{i \in S} \phi_i,\; v(S)\Big), \qquad S \sim \text{Bernoulli}(\text{keep})^n$$

    LDS of Park et al. (2023), for one target. The coalitions come from a stream of random numbers that no solver draws from, so
    they are fresh ablations; one that a method has asked as well is a coincidence. Sums, and payoffs, that differ by rounding
    only (`accredit.core.rounding`) are ties. `linear_datamodeling_score` is the same for scores and outputs in arrays.

    >>> from accredit.evaluate import measure
    >>> from accredit.games import FunctionGame
    >>> from accredit.values import shapley
    >>> additive = FunctionGame("abc", lambda coalitions: coalitions @ [3.0, 2.0, 0.5])
    >>> round(measure(LinearDatamodelingScore(), additive, shapley(additive)), 9)
    1.0
    """

    ablations: int = 128
    keep: float = 0.5
    seed: int = 0
    name: str = "lds"
    better: Better = "higher"
    paper: str = "Park et al. (2023)"
    within: ClassVar[Ends | None] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.ablations < 2 or not 0 < self.keep < 1:
            raise InvalidInput(
                f"ablations must be ≥ 2 and keep between 0 and 1, got {self.ablations!r} and {self.keep!r}",
                argument="ablations",
                code="range",
            )

    def plan(self, result: Result) -> BoolArray:
        n = len(_credit(result, self.name))
        return np.random.default_rng([self.seed, FRESH]).random((self.ablations, n)) < self.keep

    def score(self, result: Result, earned: FloatArray) -> float:
        order = tied(earned, rounding_of(result, earned))
        if order.max() == 0:
            raise NotApplicable("lds is undefined here: all coalitions earn the same", code="undefined")
        sums = self.plan(result) @ _credit(result, self.name)
        return float(rank_correlation(tied(sums, rounding_of(result, sums)), order))

    def oracle(self, game: Game) -> Attribution:
        """The least-squares credit for the ranks of these very coalitions."""
        kept = self.plan(_score(game, np.zeros(len(game.players))))
        earned = payoffs(game, kept)
        order = ranks(tied(earned, _moved(game, earned)))
        return _score(game, np.linalg.lstsq(kept - kept.mean(axis=0), order - order.mean(), rcond=None)[0])


def _losses(game: Game, removed: list[BoolArray]) -> tuple[list[FloatArray], float]:
    """What is lost by each removal, asked in one batch, and how far rounding may have moved a loss."""
    n = len(game.players)
    earned = payoffs(game, np.vstack([np.ones((1, n), dtype=bool), *(~r for r in removed)]))
    lost = np.split(earned[0] - earned[1:], np.cumsum([len(r) for r in removed])[:-1])
    return lost, 2 * _moved(game, earned)


def _moved(game: Game, earned: FloatArray) -> float:
    """How far rounding may have moved payoffs of a game."""
    return blur_of(game) + blur(float(np.abs(earned).max()))


def _share(game: Game, credit: FloatArray) -> Attribution:
    nobody, everybody = endpoints(game)
    return replace(_score(game, credit), total=everybody - nobody)


def _score(game: Game, scores: FloatArray) -> Attribution:
    """Scores whose unit is not that of the payoffs: what counts as rounding goes by their own size."""
    return Attribution(game.players, scores, total=None, method=Procedure("oracle", "fitted to the metric's own removals"))


def most_correlated(designs: list[FloatArray], targets: list[FloatArray]) -> FloatArray:
    r"""φ that maximises the mean of cos(X_k φ, y_k) over k, for centred X_k and centred y_k of unit length."""
    from scipy.optimize import minimize

    start = np.linalg.lstsq(np.vstack(designs), np.concatenate(targets), rcond=None)[0]
    if not np.abs(start).max() > 0:
        return start

    def loss(phi: FloatArray) -> tuple[float, FloatArray]:
        value, slope = 0.0, np.zeros_like(phi)
        for x, y in zip(designs, targets, strict=True):
            sums, along = x @ phi, x.T @ y
            length = max(float(np.linalg.norm(sums)), 1e-12)
            value -= float(along @ phi) / length
            slope -= along / length - float(along @ phi) * (x.T @ sums) / length**3
        return value / len(designs), slope / len(designs)

    found = minimize(loss, start / np.linalg.norm(start), jac=True, method="L-BFGS-B")
    return np.asarray(found.x * np.linalg.norm(start))
