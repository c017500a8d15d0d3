"""Games kept apart from the design of the default estimator: written down before it was changed, and looked at twice.

After the first look, search steps and the rule of the interval were chosen once more, on the games of `benchmarks.games`.

Kinds that `benchmarks.games` lacks, or has on other data: models on tables, pictures and real sentences, training rows, logic,
committees, networks, and games of many players whose values are known in closed form. Sentences need sst2.tsv.gz in the folder
ACCREDIT_DATA; without it those games are left out. `python -m benchmarks.estimation --fresh` judges on them.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray
from benchmarks.games import (
    Known,
    closed,
    conjunctions,
    forest_values,
    masked,
    of_maxima,
    of_product,
    of_weighted_sum,
    random_terms,
    tabled,
)

DATA = Path(os.environ.get("ACCREDIT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def in_chunks(payoff: Callable[[BoolArray], FloatArray], rows: int = 1000) -> Callable[[BoolArray], FloatArray]:
    """The same payoff, asked for so many rows at a time."""
    return lambda s: np.concatenate([payoff(s[at : at + rows]) for at in range(0, len(s), rows)])


# --- models -----------------------------------------------------------------------------------------------------------


def boosted_cancer() -> Known:
    """Histogram boosting's log-odds of a tumour, the last 15 columns of breast cancer."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import HistGradientBoostingClassifier

    data = load_breast_cancer()
    x = data.data[:, 15:]
    model = HistGradientBoostingClassifier(max_iter=80, random_state=0).fit(x[80:], data.target[80:])
    return tabled("hist_bc15", 15, in_chunks(masked(model.decision_function, x[11], x[200:212:2])))


def extra_trees() -> Known:
    """Extremely randomised trees' regression of a made table of 14 columns with thresholds and products."""
    from sklearn.ensemble import ExtraTreesRegressor

    rng = np.random.default_rng(21)
    x = rng.normal(size=(500, 14))
    y = x[:, 0] * (x[:, 1] > 0) + np.maximum(x[:, 2], x[:, 3]) + x[:, 4] * x[:, 5] * x[:, 6] + 0.5 * x[:, 7:].sum(axis=1)
    model = ExtraTreesRegressor(40, max_depth=7, random_state=0).fit(x, y)
    return tabled("extra14", 14, in_chunks(masked(model.predict, x[3], x[100:105])))


@cache
def _digits() -> tuple[FloatArray, Any]:
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.data / 16, data.target


def _by_blocks(predict: Callable[[FloatArray], FloatArray], picture: FloatArray) -> Callable[[BoolArray], FloatArray]:
    """Players are the sixteen 2 × 2 blocks of an 8 × 8 picture; who leaves is black."""
    block = np.arange(64).reshape(4, 2, 4, 2).transpose(0, 2, 1, 3).reshape(16, 4)
    of = np.zeros(64, dtype=int)
    of[block] = np.arange(16)[:, None]
    return in_chunks(lambda s: predict(np.where(s[:, of], picture, 0.0)))


def net_digits() -> Known:
    """A neural network's probability of an eight, blocks of pixels."""
    from sklearn.neural_network import MLPClassifier

    x, y = _digits()
    model = MLPClassifier((64, 32), max_iter=300, random_state=0).fit(x[400:], y[400:])
    return tabled("net_digits16", 16, _by_blocks(lambda rows: model.predict_proba(rows)[:, 8], x[np.flatnonzero(y == 8)[2]]))


def forest_digits() -> Known:
    """A random forest's probability of a three, blocks of pixels."""
    from sklearn.ensemble import RandomForestClassifier

    x, y = _digits()
    model = RandomForestClassifier(60, random_state=1).fit(x[400:], y[400:])
    return tabled("rf_digits16", 16, _by_blocks(lambda rows: model.predict_proba(rows)[:, 3], x[np.flatnonzero(y == 3)[4]]))


def gaussian_process() -> Known:
    """A Gaussian process's regression of 13 columns of a table of wines."""
    from sklearn.datasets import load_wine
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    data = load_wine()
    x = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    model = GaussianProcessRegressor(RBF(3.0) + WhiteKernel(0.1), optimizer=None).fit(x, data.target)
    return tabled("gp_wine13", 13, in_chunks(masked(model.predict, x[100], x[10:170:20])))


@cache
def _sentences() -> tuple[list[str], FloatArray]:
    with gzip.open(DATA / "sst2.tsv.gz", "rt", encoding="utf-8") as lines:
        next(lines)
        rows = [line.rstrip("\n").split("\t") for line in lines]
    return [row[2] for row in rows if row[0] == "dev"], np.array([int(row[1]) for row in rows if row[0] == "dev"])


def _words(name: str, length: int, skip: int, model: Any) -> Known:
    """Words of a real sentence leave it; the payoff is what a classifier of words and their neighbours says of the rest."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    texts, labels = _sentences()
    chosen = [text for text in texts if len(text.split()) == length][skip].split()
    classifier = make_pipeline(TfidfVectorizer(ngram_range=(1, 3), token_pattern=r"\S+"), model)
    classifier.fit(texts, labels)

    def payoff(s: BoolArray) -> FloatArray:
        kept = [" ".join(word for word, stays in zip(chosen, row, strict=True) if stays) for row in s.tolist()]
        return np.asarray(classifier.predict_proba(kept)[:, 1])

    return tabled(name, length, in_chunks(payoff))


def sentence_logistic() -> Known:
    """Logistic regression on a sentence of 14 words."""
    from sklearn.linear_model import LogisticRegression

    return _words("sst_logit14", 14, 1, LogisticRegression(C=30.0))


def sentence_net() -> Known:
    """A neural network on a sentence of 13 words."""
    from sklearn.neural_network import MLPClassifier

    return _words("sst_net13", 13, 2, MLPClassifier((24,), max_iter=60, random_state=0))


def sentence_forest() -> Known:
    """Extremely randomised trees on a sentence of 13 words."""
    from sklearn.ensemble import ExtraTreesClassifier

    return _words("sst_trees13", 13, 3, ExtraTreesClassifier(60, min_samples_leaf=2, random_state=0))


# --- training rows ----------------------------------------------------------------------------------------------------


def ridge_retrained() -> Known:
    """Test R² of ridge regression, by which of 14 rows of the diabetes table it sees."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    x = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    y = (data.target - data.target.mean()) / data.target.std()

    def payoff(s: BoolArray) -> FloatArray:
        seen = np.where(s[:, :, None], x[:14], 0.0)
        normal = seen.transpose(0, 2, 1) @ seen + 3.0 * np.eye(x.shape[1])
        slopes = np.linalg.solve(normal, (seen.transpose(0, 2, 1) @ np.where(s, y[:14], 0.0)[:, :, None]))[:, :, 0]
        return 1 - np.asarray(((y[14:] - slopes @ x[14:].T) ** 2).mean(axis=1))

    return tabled("ridge_rows14", 14, in_chunks(payoff))


# --- logic, committees, networks --------------------------------------------------------------------------------------


def mixture() -> Known:
    """A few unanimity games and a disjunction of clauses, 16 players."""
    rng = np.random.default_rng(23)
    smooth, _ = conjunctions(16, random_terms(rng, 16, 12, 4, signed=True))
    clauses = [rng.choice(16, 3, replace=False) for _ in range(5)]
    return tabled("mixture16", 16, lambda s: smooth(s) + 2.0 * np.any([s[:, c].all(axis=1) for c in clauses], axis=0))


def two_chambers() -> Known:
    """A bill passes with more than half of the weight of one chamber and two thirds of the heads of the other."""
    weights = np.random.default_rng(24).integers(1, 12, 9)
    return tabled(
        "chambers15",
        15,
        lambda s: ((2 * (s[:, :9] @ weights) > weights.sum()) & (3 * s[:, 9:].sum(axis=1) >= 2 * 6)).astype(float),
    )


def spanning_tree() -> Known:
    """What it costs to connect 13 places with a well by the cheapest tree."""
    n = 13
    spots = np.random.default_rng(25).random((n + 1, 2))
    far = np.linalg.norm(spots[:, None] - spots, axis=2)

    def payoff(s: BoolArray) -> FloatArray:
        reach = np.where(s, far[0, 1:], np.inf)
        cost = np.zeros(len(s))
        waits = s.copy()
        for _ in range(n):
            reach = np.where(waits, reach, np.inf)
            nearest = reach.argmin(axis=1)
            step = reach[np.arange(len(s)), nearest]
            more = np.isfinite(step)
            cost[more] += step[more]
            waits[np.arange(len(s)), nearest] = False
            reach = np.where(more[:, None], np.minimum(reach, far[1:, 1:][nearest]), reach)
        return cost

    return tabled("wells13", n, in_chunks(payoff))


def largest_flow() -> Known:
    """The largest flow through a small network whose 14 edges are the players: the least cut, over all cuts."""
    rng = np.random.default_rng(26)
    tails = np.array([0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 2, 1])
    heads = np.array([1, 2, 3, 4, 5, 4, 5, 5, 4, 6, 5, 6, 3, 2])
    capacity = rng.integers(1, 9, 14).astype(float)
    sides = np.array(
        [[node == 0 or (node < 6 and cut >> (node - 1) & 1) for node in range(7)] for cut in range(32)], dtype=bool
    )
    crosses = sides[:, tails] & ~sides[:, heads]  # (cuts, edges)
    return tabled("flow14", 14, lambda s: ((s * capacity) @ crosses.T).min(axis=1))


# --- many players -----------------------------------------------------------------------------------------------------


def boosted_many() -> Known:
    """Boosted trees on 50 columns of which 12 matter: values leaf by leaf."""
    from sklearn.datasets import make_classification
    from sklearn.ensemble import GradientBoostingRegressor

    x, y = make_classification(500, 50, n_informative=12, n_redundant=6, random_state=27)
    model = GradientBoostingRegressor(n_estimators=50, max_depth=4, random_state=0).fit(x, y)
    trees = [tree for stage in model.estimators_ for tree in stage]
    return closed("gbm50", masked(model.predict, x[5], x[50:55]), forest_values(trees, model.learning_rate, x[5], x[50:55]))


def root_of_sum() -> Known:
    """The root of a weighted sum of 70 players."""
    weights = np.random.default_rng(28).integers(1, 9, 70)
    payoff, values = of_weighted_sum(weights, np.sqrt)
    return closed("root70", payoff, values)


def likelihood_of_sum() -> Known:
    """A logistic function of a weighted sum of 40 players."""
    weights = np.random.default_rng(29).integers(0, 12, 40)
    payoff, values = of_weighted_sum(weights, lambda total: 1 / (1 + np.exp(-12 * (total / weights.sum() - 0.6))))
    return closed("logit40", payoff, values)


def two_thirds() -> Known:
    """A vote of 45 that passes with two thirds of the weight."""
    weights = np.random.default_rng(30).integers(1, 15, 45)
    payoff, values = of_weighted_sum(weights, lambda total: (3 * total >= 2 * weights.sum()).astype(float))
    return closed("quota45", payoff, values)


def few_pairs() -> Known:
    """100 players, their own worth and 60 pairs and triples."""
    rng = np.random.default_rng(31)
    terms: list[Any] = [((i,), float(rng.normal())) for i in range(100)]
    terms += [(tuple(rng.choice(100, rng.integers(2, 4), replace=False).tolist()), float(2 * rng.normal())) for _ in range(60)]
    payoff, values = conjunctions(100, terms)
    return closed("pairs100", payoff, values)


def masts() -> Known:
    """70 masts, each customer served by the nearest: maxima."""
    rng = np.random.default_rng(32)
    masts, homes = rng.random((70, 2)), rng.random((25, 2))
    payoff, values = of_maxima(1 / (0.05 + np.linalg.norm(masts[:, None] - homes, axis=2)))
    return closed("masts70", payoff, values)


def growth() -> Known:
    """A product of 35 factors, some of them large."""
    payoff, values = of_product(np.random.default_rng(33).gamma(1.0, 0.12, 35))
    return closed("growth35", payoff, values)


FRESH: dict[str, Callable[[], Known]] = {
    "hist_bc15": boosted_cancer,
    "extra14": extra_trees,
    "net_digits16": net_digits,
    "rf_digits16": forest_digits,
    "gp_wine13": gaussian_process,
    "sst_logit14": sentence_logistic,
    "sst_net13": sentence_net,
    "sst_trees13": sentence_forest,
    "ridge_rows14": ridge_retrained,
    "mixture16": mixture,
    "chambers15": two_chambers,
    "wells13": spanning_tree,
    "flow14": largest_flow,
    "gbm50": boosted_many,
    "root70": root_of_sum,
    "logit40": likelihood_of_sum,
    "quota45": two_thirds,
    "pairs100": few_pairs,
    "masts70": masts,
    "growth35": growth,
}
