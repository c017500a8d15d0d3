r"""Which numbers are wrong? The same question as for labels, where the target is a number.

Out-of-fold models predict each number from the other rows. What is left over is either ordinary error, which has heavy tails
(Student's t with three degrees of freedom), or a corrupted number, which may be anything within the range of all:

$$p(r) = (1-\pi)\, t_3(r / s) / s + \pi / R, \qquad P = \frac{\pi / R}{p(r)} .$$

π and s are found by expectation–maximisation. The models look twice: in the second look a row teaches as much as the first
believed it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from accredit.checks import real_numbers
from accredit.checks.arguments import check_arguments
from accredit.core import FloatArray
from accredit.core.threads import one_thread
from accredit.errors import InvalidInput
from accredit.labels.duplicates_outliers import nearest, oddities
from accredit.labels.find import ROWS_NEEDED, TOGETHER, check_extra, check_rows_agree, first_numbers, read_views, row_names
from accredit.labels.out_of_fold import rotate
from accredit.labels.probability import LIKELY, rate_interval, share_interval
from accredit.labels.result import Evidence, WrongLabels, expected_of, with_excerpts
from accredit.labels.row_views import View, dense

NUMBER_FOLDS, NEIGHBOURS, FREEDOM = 10, 10, 3.0
PENALTIES = np.logspace(-1, 4, 11)  # of ridge regression, of which each fold chooses
PRIOR = (1.0, 20.0)  # of the rate: one row as if seen to be wrong, and twenty to be right
STANDARD_ERRORS = 3.0  # by which models must do better than the median
ROUNDS = 50


@check_arguments
def wrong_numbers(
    targets: Sequence[float] | npt.NDArray[np.generic],
    *,
    texts: Sequence[str] | None = None,
    features: View | Mapping[str, View] | None = None,
    names: Sequence[str] | None = None,
    excerpts: Sequence[str] | None = None,
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
) -> WrongLabels:
    """Find rows whose target, a number, is likely corrupted.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 4))
    >>> y = x @ [3.0, 1.0, 0.0, 2.0] + 0.3 * rng.normal(size=200)
    >>> y[5], y[9] = y[5] + 9, y[9] * 10
    >>> sorted(wrong_numbers(y, features=x).suspects)
    [5, 9]
    """
    check_extra()
    check_rows_agree(targets, "targets", texts=texts, features=features, names=names, excerpts=excerpts)
    y = real_numbers(targets, "targets")
    if y.ndim != 1 or not np.isfinite(y).all():
        raise InvalidInput(
            f"targets has shape {y.shape}, and finite numbers are needed, one per row; drop or fill the others",
            argument="targets",
            code="not-finite",
        )
    if len(y) < ROWS_NEEDED or np.ptp(y) == 0:
        raise InvalidInput(
            f"{len(y)} targets from {y.min():g} to {y.max():g}; at least {ROWS_NEEDED} rows that differ are needed",
            argument="targets",
            code="range",
        )
    views = read_views(texts, features, len(y))
    rows = row_names(names, len(y))
    seen = [rotate(dense(view)) for view in views.values()]
    with one_thread():
        first = _estimate(seen, y, np.ones(len(y)), seed)
        if watch:
            watch(0.5)
        predicted = _estimate(seen, y, 1 - _mixture(y - first, float(np.ptp(y)))[0], seed)
        if watch:
            watch(1.0)
    gain = np.abs(y - np.median(y)) - np.abs(y - predicted)
    tells = gain.mean() > STANDARD_ERRORS * gain.std(ddof=1) / np.sqrt(len(y))
    probability, scale = _mixture(y - predicted, float(np.ptp(y)))
    suspects = tuple(i for i in np.argsort(-probability, kind="stable").tolist() if probability[i] >= LIKELY) if tells else ()
    rate, precision = float(probability.mean()), float(probability[list(suspects)].mean()) if suspects else None
    interval = share_interval(probability[list(suspects)]) if suspects else None
    digits = max(0, 1 - int(np.floor(np.log10(max(scale, 1e-12)))))
    explained = 1 - float(np.median(np.abs(y - predicted)) / max(np.median(np.abs(y - np.median(y))), 1e-12))
    found = WrongLabels(
        names=rows,
        given=tuple(f"{number:.10g}" for number in y),
        suggested=tuple(f"{number:.{digits}f}" for number in predicted),
        probability=probability if tells else None,
        suspects=suspects,
        rate=rate if tells else None,
        rate_interval=rate_interval(probability) if tells else None,
        precision=precision,
        precision_interval=interval,
        confusions=(),
        evidence=(Evidence(TOGETHER, _area(y, predicted, seed)),),
        agreement=max(0.0, explained),
        majority=0.0,
        verdict=_verdict(bool(tells), expected_of(len(suspects), precision, interval), rate, scale),
        oddities=oddities(nearest(next(iter(views.values()))), np.zeros(len(y), dtype=np.int64), texts),
        seen_as=tuple(views),
    )
    return with_excerpts(found, excerpts or texts or first_numbers(views))


def _verdict(tells: bool, expected: str, rate: float, scale: float) -> str:
    if not tells:
        return "nobody is accused: from these features the numbers are predicted no better than by their median; give others"
    usual = f"ordinary errors are about {scale:.2g}"
    if not expected:
        return f"no number stands out from what the other rows predict; {usual}"
    return f"about {rate:.1%} of the numbers look wrong; {expected}; {usual}"


def _estimate(views: Sequence[FloatArray], y: FloatArray, weights: FloatArray, seed: int) -> FloatArray:
    """Each number from the other rows (N,): ridge regression, a forest and neighbours, by the median of them all."""
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import KFold
    from sklearn.neighbors import NearestNeighbors

    said = np.zeros((3 * len(views), len(y)))
    for taught, held in KFold(min(NUMBER_FOLDS, len(y)), shuffle=True, random_state=seed).split(y):
        for k, x in enumerate(views):
            ridge = RidgeCV(PENALTIES).fit(x[taught], y[taught], weights[taught])
            trees = ExtraTreesRegressor(50, min_samples_leaf=3, max_features=0.5, random_state=seed)
            near = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(taught))).fit(x[taught]).kneighbors(x[held])[1]
            said[3 * k, held] = ridge.predict(x[held])
            said[3 * k + 1, held] = trees.fit(x[taught], y[taught], weights[taught]).predict(x[held])
            weight = np.maximum(weights[taught][near], 1e-6)
            said[3 * k + 2, held] = (y[taught][near] * weight).sum(axis=1) / weight.sum(axis=1)
    off = np.median(np.abs(said - y), axis=1)
    return np.asarray(np.average(said, axis=0, weights=1 / np.maximum(off, 1e-12) ** 4))


def _mixture(left: FloatArray, reach: float) -> tuple[FloatArray, float]:
    """The probability of each number to be corrupted (N,) and the scale of ordinary errors, by what is left over (N,).

    >>> probability, scale = _mixture(np.append(np.random.default_rng(0).normal(size=300), 40.0), 80.0)
    >>> bool(probability[-1] > 0.99 and probability[:-1].max() < 0.5 and 0.6 < scale < 1.2)
    True
    """
    from scipy.stats import t

    scale, rate = max(1.4826 * float(np.median(np.abs(left))), 1e-12), 0.05
    for _ in range(ROUNDS):
        usual = (1 - rate) * t.pdf(left / scale, FREEDOM) / scale
        probability = (rate / reach) / (rate / reach + usual)
        rate = float((probability.sum() + PRIOR[0]) / (len(left) + sum(PRIOR)))
        heavy = (1 - probability) * (FREEDOM + 1) / (FREEDOM + (left / scale) ** 2)
        scale = max(float(np.sqrt((heavy * left**2).sum() / max((1 - probability).sum(), 1e-12))), 1e-12)
    return np.asarray(probability), scale


def _area(y: FloatArray, predicted: FloatArray, seed: int) -> float:
    """The chance that another row's number fits a row worse than its own."""
    other = np.random.default_rng(seed).permutation(y)
    apart = np.abs(other - predicted)[:, None] > np.abs(y - predicted) if len(y) <= 2000 else None
    return float(np.mean(np.abs(other - predicted) > np.abs(y - predicted)) if apart is None else apart.mean())
