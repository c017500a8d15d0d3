"""Scores of how well a row fits the label it was given: lower is more suspect. Each is blind to the row's own label.

A row is seen through *views*: word counts, an encoder's features, the columns of a table. Every scorer turns one view and the
labels into numbers; no scorer is best on all data, so `labels.py` tries them on flips that it planted itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import numpy as np

from accredit.checks import needs, real_numbers
from accredit.core import FloatArray, IntArray
from accredit.core.statistics import units
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

FOLDS = 5  # of which each is judged by the others
EPOCHS, HIDDEN = 20, 64  # of the network whose margins are followed
COMPONENTS = 100  # that a sparse view is reduced to where distances or a network are asked
NEAREST_ROWS = 10

View: TypeAlias = "FloatArray | csr_matrix"  # (N, d) of finite numbers
Views = Mapping[str, View]


def text_views(texts: Sequence[str]) -> dict[str, View]:
    """Words, pairs of words and parts of words, each weighed by how rare it is (TF-IDF).

    >>> text_views(["good film", "bad film"])["words"].shape[0]
    2
    """
    from scipy.sparse import hstack

    return {"words": hstack([kind.fit_transform(texts) for kind in _vectorizers(len(texts))]).tocsr()}


def word_vectors(texts: Sequence[str], training: IntArray) -> FloatArray:
    """The same in few columns, in which distances mean something: (texts, d). Fitted to the training texts alone."""
    from scipy.sparse import hstack

    with needs("data", "word features"):
        from sklearn.decomposition import TruncatedSVD
    taught = [texts[i] for i in training]
    kinds = [kind.fit(taught) for kind in _vectorizers(len(taught))]
    words = hstack([kind.transform(texts) for kind in kinds]).tocsr()
    size = max(1, min(COMPONENTS, min(len(taught), words.shape[1]) - 1))
    with np.errstate(divide="ignore", invalid="ignore"):  # texts that are all the same have no variance to divide by
        return unit(TruncatedSVD(size, random_state=0).fit(words[training]).transform(words))


def _vectorizers(count: int) -> list[TfidfVectorizer]:
    with needs("data", "word features"):
        from sklearn.feature_extraction.text import TfidfVectorizer
    rare = 2 if count >= 100 else 1  # parts of words that occur once only teach nothing and cost most
    words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b|[^\w\s]")
    return [words, TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 5), min_df=rare)]


def is_sparse(view: View) -> TypeGuard[csr_matrix]:
    """Whether a view is a sparse matrix of scipy."""
    return hasattr(view, "tocsr")


def unit(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def scale(view: View, name: str) -> View:
    """Dense views in units of their standard deviation; sparse ones as they are."""
    if is_sparse(view):
        return view.tocsr()
    x = real_numbers(view, f"features {name!r}")
    if x.ndim != 2 or not np.isfinite(x).all():
        raise InvalidInput(
            f"features {name!r} has shape {x.shape}; finite numbers in rows and columns are needed",
            argument="features",
            code="shape",
        )
    return (x - x.mean(axis=0)) / units(x)


def dense(view: View) -> FloatArray:
    """A view with few columns, in which distances mean something."""
    if not is_sparse(view):
        return np.asarray(view)
    from sklearn.decomposition import TruncatedSVD

    size = min(COMPONENTS, min(view.shape) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # texts that are all the same have no variance to divide by
        return unit(TruncatedSVD(max(size, 1), random_state=0).fit_transform(view))


def margin(logs: FloatArray, y: IntArray) -> FloatArray:
    """The given label above the best other one, in log probability: (N, C) -> (N,)."""
    rows = np.arange(len(y))
    others = logs.copy()
    others[rows, y] = -np.inf
    return np.asarray(logs[rows, y] - others.max(axis=1))


def margin_over_training(view: View, y: IntArray, seed: int = 0) -> FloatArray:
    """AUM (Pleiss et al., 2020): the margin of the given label, averaged over the epochs in which a small network learns it.

    Wrong labels are learned late and against the pull of the others.
    """
    from sklearn.neural_network import MLPClassifier

    x = dense(view)
    net = MLPClassifier((HIDDEN,), batch_size=min(64, len(y)), learning_rate_init=3e-3, alpha=1e-3, random_state=seed)
    total = np.zeros(len(y))
    for _ in range(EPOCHS):
        net.partial_fit(x, y, classes=np.unique(y))
        total += margin(np.log(np.clip(net.predict_proba(x), 1e-9, 1.0)), y)
    return total / EPOCHS


def neighbour_agreement(neighbours: IntArray, y: IntArray) -> FloatArray:
    """The share of the nearest other rows (N, k) that have the same label; the nearer count more."""
    weight = 1.0 / np.arange(1, neighbours.shape[1] + 1)
    return np.asarray((y[neighbours] == y[:, None]) @ weight / weight.sum())


def knn_value(view: View, y: IntArray, seed: int = 0) -> FloatArray:
    """KNN-Shapley value of every row, judged by the other folds: a row with a wrong label misleads its neighbours."""
    from sklearn.model_selection import StratifiedKFold

    from accredit.valuation.knn import knn_shapley
    from accredit.valuation.split import Split

    x = dense(view)
    value = np.zeros(len(y))
    classes = tuple(map(str, range(int(y.max()) + 1)))
    folds = StratifiedKFold(min(FOLDS, int(np.bincount(y).min())), shuffle=True, random_state=seed)
    for train, judged in folds.split(x, y):
        judged = judged[:JUDGES]
        data = Split(x[train], y[train], x[judged], y[judged], tuple(map(str, train.tolist())), classes)
        value[train] += knn_shapley(data, 5).credit
    return value


JUDGES = 1_000  # rows of a fold that judge the others
