"""Remove and retrain (ROAR): does a model that learns anew miss what an explanation calls important?

Removing features leaves inputs that a model never saw, and its answer may change for that reason alone. ROAR (Hooker et al.,
2019) replaces the most credited features in training and test rows and trains again. It costs one training per method, share
and repeat. Which features are gone may itself tell the class (Rong et al., 2022); so the same training on the places alone is
reported beside every curve, and `impute="noisy"` fills gaps by a noisy linear guess from what is left, as ROAD does, which
hides the places better than a constant.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from accredit.checks import real_numbers
from accredit.checks.arguments import check_arguments
from accredit.core import BoolArray, FloatArray
from accredit.errors import InvalidInput

# rows, labels, seed -> rows -> labels
Fit = Callable[[FloatArray, npt.NDArray[np.generic], int], Callable[[FloatArray], npt.ArrayLike]]
Impute = Literal["mean", "noisy"]
RANDOM = "random"  # always in the table
VARIANCE_ADDED = 1e-3  # of the mean variance, where gaps are guessed from what is left


@dataclass(frozen=True)
class Retrained:
    """Accuracy after retraining, by method and share of features removed (or kept): each a mean over repeats.

    >>> accuracy, spread, places = {"random": (0.8, 0.6)}, {"random": (0.0, 0.0)}, {"random": (0.5, 0.5)}
    >>> Retrained((0.2, 0.5), accuracy, spread, places, whole=0.9, trainings=5, seconds=0.1).area("random")
    0.7
    """

    shares: tuple[float, ...]
    accuracy: Mapping[str, tuple[float, ...]]
    spread: Mapping[str, tuple[float, ...]]  # standard deviation over repeats
    places: Mapping[str, tuple[float, ...]]  # accuracy from which features are gone, their values unseen
    whole: float  # with every feature
    trainings: int
    seconds: float  # of CPU

    def area(self, method: str) -> float:
        """Mean accuracy over the shares: low is good where the most credited are removed, high where they are kept."""
        return float(np.mean(self.accuracy[method]))


@check_arguments
def remove_and_retrain(
    fit: Fit,
    train: tuple[npt.ArrayLike, npt.ArrayLike],
    test: tuple[npt.ArrayLike, npt.ArrayLike],
    scores: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
    *,
    shares: Sequence[float] = (0.2, 0.4, 0.6, 0.8),
    keep: bool = False,
    impute: Impute = "mean",
    repeats: int = 3,
    seed: int = 0,
) -> Retrained:
    """Train again without the most credited features (`keep`: with them alone), for every method and for a random ranking.

    `scores` holds, for each method, one number per feature for the training rows and for the test rows, (N, n) both: in size,
    if signs mean direction. Trainings: methods (and random) × shares × repeats, twice, and `repeats` with every feature.

    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = (x[:, 0] > 0).astype(int)
    >>> def fit(rows, labels, seed):  # the nearer class mean
    ...     centres = np.array([rows[labels == k].mean(axis=0) for k in (0, 1)])
    ...     return lambda new: ((new[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    >>> first = np.tile([1.0, 0.0, 0.0], (100, 1))  # a method that credits the first column
    >>> train, test = (x[:100], y[:100]), (x[100:], y[100:])
    >>> found = remove_and_retrain(fit, train, test, {"first": (first, first)}, shares=(0.3,), repeats=1)
    >>> found.whole > 0.9, found.area("first") < 0.7
    (True, True)
    """
    (x, y), (new, truth) = (_rows(*train, "train"), _rows(*test, "test"))
    if not shares or not all(0 < share < 1 for share in shares):
        raise InvalidInput(
            f"shares is {shares!r}; give shares of the features between 0 and 1, for example (0.2, 0.5)",
            argument="shares",
            code="range",
        )
    if impute not in ("mean", "noisy") or repeats < 1:
        raise InvalidInput(
            f"impute is {impute!r} and repeats {repeats!r}; write 'mean' or 'noisy', and 1 or more",
            argument="impute",
            code="type",
        )
    rng, began = np.random.default_rng(seed), time.process_time()
    ranked = {name: (_scores(a, x, name), _scores(b, new, name)) for name, (a, b) in scores.items()}
    ranked[RANDOM] = rng.random(x.shape), rng.random(new.shape)
    count = 0

    def accuracy(learn: FloatArray, ask: FloatArray, repeat: int) -> float:
        nonlocal count
        count += 1
        said = np.asarray(fit(learn, y, seed + repeat)(ask))
        if said.shape != truth.shape:
            raise InvalidInput(
                f"what fit returned answers {said.shape} to {len(ask)} rows; one label per row is needed",
                argument="fit",
                code="shape",
            )
        return float((said == truth).mean())

    found: dict[str, FloatArray] = {}
    blind: dict[str, tuple[float, ...]] = {}
    for name, (ours, theirs) in ranked.items():
        runs, places = np.empty((len(shares), repeats)), []
        for at, share in enumerate(shares):
            gone, missing = (_top(one, share) ^ keep for one in (ours, theirs))
            for repeat in range(repeats):
                filled = [_fill(rows, out, x, impute, seed + repeat) for rows, out in ((x, gone), (new, missing))]
                runs[at, repeat] = accuracy(filled[0], filled[1], repeat)
            places.append(
                np.mean([accuracy(gone.astype(np.float64), missing.astype(np.float64), repeat) for repeat in range(repeats)])
            )
        found[name], blind[name] = runs, tuple(map(float, places))
    whole = float(np.mean([accuracy(x, new, repeat) for repeat in range(repeats)]))
    return Retrained(
        tuple(map(float, shares)),
        {name: tuple(runs.mean(axis=1).tolist()) for name, runs in found.items()},
        {name: tuple(runs.std(axis=1).tolist()) for name, runs in found.items()},
        blind,
        whole,
        count,
        time.process_time() - began,
    )


def _top(scores: FloatArray, share: float) -> BoolArray:
    """The highest share of each row's scores, at least one."""
    many = max(1, round(share * scores.shape[1]))
    return np.asarray((-scores).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable") < many)


def _fill(rows: FloatArray, gone: BoolArray, train: FloatArray, impute: Impute, seed: int) -> FloatArray:
    """Rows whose gone features are the training mean, or a noisy linear guess from the features that are left."""
    centre = train.mean(axis=0)
    if impute == "mean":
        return np.where(gone, centre, rows)
    rng, filled = np.random.default_rng(seed), rows.copy()
    covariance = np.atleast_2d(np.cov(train, rowvar=False))
    ridge = VARIANCE_ADDED * max(float(np.trace(covariance)) / len(centre), 1e-12)
    patterns, of = np.unique(gone, axis=0, return_inverse=True)
    for k, out in enumerate(patterns):
        mine = of.ravel() == k
        left = covariance[np.ix_(~out, ~out)] + ridge * np.eye(int((~out).sum()))
        slopes = np.linalg.solve(left, covariance[np.ix_(~out, out)])  # (left, gone)
        guess = centre[out] + (rows[mine][:, ~out] - centre[~out]) @ slopes
        unknown = np.diag(covariance)[out] - (covariance[np.ix_(~out, out)] * slopes).sum(axis=0)
        filled[np.ix_(mine, out)] = guess + rng.normal(size=guess.shape) * np.sqrt(np.maximum(unknown, 0))
    return filled


def _rows(x: npt.ArrayLike, labels: npt.ArrayLike, name: str) -> tuple[FloatArray, npt.NDArray[np.generic]]:
    rows, given = real_numbers(x, f"{name} rows"), np.asarray(labels)
    if rows.ndim != 2 or given.shape != (len(rows),) or not len(rows) or not np.isfinite(rows).all():
        raise InvalidInput(
            f"{name} must be finite rows (N, n) and N labels, got {rows.shape} and {given.shape}",
            argument=name,
            code="type",
        )
    return rows, given


def _scores(scores: npt.ArrayLike, rows: FloatArray, name: str) -> FloatArray:
    given = real_numbers(scores, f"scores of {name}")
    if given.shape != rows.shape or not np.isfinite(given).all():
        raise InvalidInput(
            f"scores of {name} must be finite and have the shape of the rows, {rows.shape}, got {given.shape}",
            argument="scores",
            code="shape",
        )
    return given
