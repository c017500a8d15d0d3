"""Is a data valuation any good? It should predict what retraining gives, find wrong labels, and know which rows to keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit import defaults
from accredit.checks import check_seed, real_numbers, whole_number
from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, BoolArray, Estimate, FloatArray, Game, IntArray, Precision, payoffs
from accredit.core.estimate import check_level
from accredit.core.statistics import falling, rank_correlation, tied
from accredit.errors import InvalidInput
from accredit.evaluate.metric import rounding_between

RESAMPLES = 300


@check_arguments
def linear_datamodeling_score(
    scores: FloatArray, subsets: BoolArray, outputs: FloatArray, *, level: float = defaults.LEVEL, seed: int = 0
) -> Estimate:
    r"""LDS (Park et al., 2023): do the scores of the rows in a subset predict what a model trained on it will answer?

    For each target t, the Spearman correlation over subsets S between Σ_{i∈S} score_it and the true output of a model
    trained on S; averaged over targets. `scores` is (N, T), `subsets` (m, N), `outputs` (m, T), higher meaning better
    in both. The subsets must not be those that the scores were fitted to. The interval resamples subsets.

    >>> rng = np.random.default_rng(0)
    >>> masks = rng.random((200, 10)) < 0.5
    >>> weights = rng.normal(size=(10, 3))
    >>> linear_datamodeling_score(weights, masks, masks @ weights).value
    1.0
    """
    scores, outputs = _columns(scores, "scores"), _columns(outputs, "outputs")
    if subsets.shape != (len(outputs), len(scores)) or scores.shape[1] != outputs.shape[1]:
        raise InvalidInput(
            f"scores {scores.shape}, subsets {subsets.shape} and outputs {outputs.shape} do not fit; "
            "they must be (N, T), (m, N), (m, T)",
            argument="scores",
            code="shape",
        )
    return _rank_agreement(subsets @ scores, outputs, level, seed, "subsets")


@check_arguments
def retraining_correlation(scores: FloatArray, truth: FloatArray, *, level: float = defaults.LEVEL, seed: int = 0) -> Estimate:
    """Mean Spearman correlation, over targets, of scores with true leave-one-out effects; both (N, T). Resamples rows."""
    scores, truth = _columns(scores, "scores"), _columns(truth, "truth")
    if scores.shape != truth.shape:
        raise InvalidInput(f"scores {scores.shape} and truth {truth.shape} differ in shape", argument="scores", code="shape")
    return _rank_agreement(scores, truth, level, seed, "rows")


def _columns(values: FloatArray, name: str) -> FloatArray:
    array = real_numbers(values, name)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or not np.isfinite(array).all():
        raise InvalidInput(
            f"{name} must be finite numbers, one column per target; got shape {np.shape(values)}",
            argument=name,
            code="shape",
        )
    return array


def _rank_agreement(a: FloatArray, b: FloatArray, level: float, seed: int, what: str) -> Estimate:
    check_level(level)
    rng = np.random.default_rng(check_seed(seed))
    if len(a) < 2:
        raise InvalidInput(f"{len(a)} {what} have no order to compare; give at least two", code="undefined")
    a, b = (np.array([tied(x, rounding_between(x, x)) for x in columns.T]) for columns in (a, b))  # (T, m)
    means = np.empty(RESAMPLES)
    for i in range(RESAMPLES):
        rows = rng.integers(0, a.shape[1], size=a.shape[1])
        means[i] = rank_correlation(a[:, rows], b[:, rows]).mean()
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    centre = float(rank_correlation(a, b).mean())
    because = f"percentile bootstrap over {a.shape[1]} {what}, {RESAMPLES} resamples"
    return Estimate(centre, min(float(low), centre), max(float(high), centre), Precision.interval(because), level)


@check_arguments
def mislabel_auc(credit: Attribution | FloatArray, mislabelled: object, *, level: float = defaults.LEVEL) -> Estimate:
    """Chance that a wrongly labelled row gets less credit than a rightly labelled one; ½ is chance level.

    The interval is DeLong's (1988); there is none where every wrong row lies below every right one.

    >>> print(mislabel_auc(np.array([-1.0, 0.2, 0.5, -0.1, 0.9]), [True, False, False, True, False]))
    1.000 [unknown]
    """
    values = credit.credit if isinstance(credit, Attribution) else real_numbers(credit, "credit")
    check_level(level)
    wrong = np.asarray(mislabelled)
    if wrong.shape != values.shape or wrong.dtype != bool:
        raise InvalidInput(
            f"mislabelled must be {len(values)} booleans, got shape {wrong.shape} of {wrong.dtype}",
            argument="mislabelled",
            code="type",
        )
    if wrong.all() or not wrong.any():
        raise InvalidInput(
            "mislabelled must mark some rows and not others; there is nothing to tell apart",
            argument="mislabelled",
            code="undefined",
        )
    places = tied(values, rounding_between(credit, values))  # rows whose credit differs by rounding are even
    bad, good = places[wrong], places[~wrong]
    beats = (np.sign(good[None, :] - bad[:, None]) + 1) / 2  # (bad, good)
    area = float(beats.mean())
    variance = sum(part.var(ddof=1) / len(part) for part in (beats.mean(axis=1), beats.mean(axis=0)) if len(part) > 1)
    if variance == 0:
        return Estimate.unknown(area, f"the {wrong.sum()} wrong and {(~wrong).sum()} right rows show no spread")
    half = _normal_quantile(level) * float(np.sqrt(variance))
    because = Precision.interval("DeLong's variance of the area")
    return Estimate(area, max(0.0, area - half), min(1.0, area + half), because, level)


def _normal_quantile(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


@dataclass(frozen=True, eq=False)
class Curve:
    """Payoff as players are taken out, step by step."""

    label: str
    fractions: FloatArray  # (steps + 1,) of the players taken out
    payoffs: FloatArray  # (steps + 1,)
    stderr: FloatArray | None = None  # over random orders, for the baseline

    @property
    def area(self) -> float:
        """Mean payoff along the curve (trapezoids)."""
        return float(np.trapezoid(self.payoffs, self.fractions) / (self.fractions[-1] - self.fractions[0]))


@check_arguments
def removal_curve(game: Game, credit: Attribution, *, steps: int = 20, highest_first: bool = True) -> Curve:
    """The payoff as players are taken out by credit. Good credit makes it fall fast from the top, late from the bottom.

    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> removal_curve(cookies, shapley(cookies)).payoffs
    array([10.,  3.,  0.])
    """
    order = _order(game, credit, highest_first)
    label = f"remove {'highest' if highest_first else 'lowest'} first"
    return _curve(game, label, order, steps)


@check_arguments
def random_removal_curve(game: Game, *, steps: int = 20, orders: int = 10, seed: int = 0) -> Curve:
    """The baseline: players taken out in random orders, averaged, with its standard error."""
    rng = np.random.default_rng(check_seed(seed))
    n = len(game.players)
    whole_number(orders, "orders", example=10)
    curves = [_curve(game, "", rng.permutation(n), steps) for _ in range(orders)]
    values = np.array([curve.payoffs for curve in curves])
    stderr = values.std(axis=0, ddof=1) / np.sqrt(orders) if orders > 1 else None
    return Curve("remove at random", curves[0].fractions, values.mean(axis=0), stderr)


def _order(game: Game, credit: Attribution, highest_first: bool) -> IntArray:
    if credit.players != game.players:
        raise InvalidInput(
            "credit and game have different players; give the attribution of this game, unsorted",
            argument="credit",
            code="conflict",
        )
    return falling(credit.credit if highest_first else -credit.credit, credit.rounding)


def _curve(game: Game, label: str, order: IntArray, steps: int) -> Curve:
    whole_number(steps, "steps", example=20)
    n = len(order)
    counts = np.unique(np.round(np.linspace(0, n, min(steps, n) + 1)).astype(np.int64))
    left = np.ones((len(counts), n), dtype=bool)
    for row, count in enumerate(counts):
        left[row, order[:count]] = False
    return Curve(label, counts / n, payoffs(game, left))
