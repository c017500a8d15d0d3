"""Each label as models predict it that never saw the row: linear models, naive Bayes, kernels, with rows weighed by how far
their own labels are believed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.labels.row_views import View, is_sparse, unit

FOLDS, MANY_FOLDS, ROWS_FOR_MANY_FOLDS = 5, 10, 5_000  # more folds where rows are few
SPARSE_C = 3.0  # inverse penalty of logistic regression
DENSE_C = (0.001, 0.01, 0.1, 1.0)  # of which dense views choose by likelihood
SMOOTHING = 0.1  # of naive Bayes
BUMPS, BUMP_WIDTH, KERNEL_C = 300, 0.3, 10.0  # of the kernel model: how many, their width times columns, inverse penalty
SUREST = 4.0  # the most that one model may have to say
NEAREST, DOUBT = 15, 0.02  # neighbours that vote by their angle, and what they leave to all classes alike

Model = Callable[[View, IntArray, FloatArray, View], FloatArray]  # rows, labels, weights, others -> (others, classes)


def out_of_fold(
    view: View,
    y: IntArray,
    seed: int = 0,
    believed: FloatArray | None = None,
    penalty: float | None = None,
    copies: IntArray | None = None,
    tick: Callable[[], None] | None = None,
) -> dict[str, FloatArray]:
    """Log probabilities of every class (N, C) for each row, by models that never saw the row: name of model -> (N, C).

    `believed` weighs the rows that models learn from (N,); left out, all count alike. `penalty` is the inverse penalty of a
    dense view; left out, the likeliest is found first. Rows with the same number in `copies` (N,) are never judged by one
    another: an error that was copied would vouch for itself. `tick` is called after each fit.
    """
    weights = np.ones(len(y)) if believed is None else believed

    def predict(model: Model) -> FloatArray:
        return _predict(model, view, y, weights, seed, copies, tick)

    if is_sparse(view):
        found = {"confidence": predict(_one_against_the_rest)}
        if view.nnz and view.data.min() >= 0:
            found["naive Bayes"] = predict(_naive_bayes)
        return found
    c = penalty or likeliest_penalty(view, y, seed, copies) or DENSE_C[0]
    return {"confidence": predict(_softmax(c)), "kernel": predict(_kernel(seed)), "nearest": predict(_nearest)}


def likeliest_penalty(
    view: View, y: IntArray, seed: int = 0, copies: IntArray | None = None, tick: Callable[[], None] | None = None
) -> float | None:
    """The inverse penalty under which the given labels are likeliest, out of fold; None for words, which have their own."""
    if is_sparse(view):
        return None
    weights, rows = np.ones(len(y)), np.arange(len(y))
    return max(DENSE_C, key=lambda c: float(_predict(_softmax(c), view, y, weights, seed, copies, tick)[rows, y].sum()))


def fits_needed(view: View, y: IntArray, copies: IntArray | None) -> int:
    """How many models two looks at a view take at most."""
    folds = sum(1 for _ in _folds(y, 0, copies))
    return 2 * 2 * folds if is_sparse(view) else (len(DENSE_C) + 2 * 3) * folds


def rotate(view: View) -> View:
    """A dense view of more columns than rows, turned into one of as many columns as rows: all distances and products stay.

    >>> wide = np.random.default_rng(0).normal(size=(3, 50))
    >>> rotate(wide).shape, bool(np.allclose(rotate(wide) @ rotate(wide).T, wide @ wide.T))
    ((3, 3), True)
    """
    if is_sparse(view) or view.shape[1] <= view.shape[0]:
        return view
    left, size, _ = np.linalg.svd(view, full_matrices=False)
    return np.asarray(left * size)


def pool(predicted: Sequence[FloatArray] | FloatArray, shares: FloatArray) -> FloatArray:
    """Several log probabilities (N, C) as one, by the share of each, and so that probabilities sum to one."""
    logs = np.tensordot(shares, np.array(predicted), 1)
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))


def pool_shares(predicted: Sequence[FloatArray], y: IntArray) -> FloatArray:
    """How much each of several models has to say (models,): the shares, none below zero, under which the given labels are
    likeliest. A model that is too sure of itself, or says nothing that others do not, gets little.

    >>> y = np.arange(100) % 2
    >>> telling = np.log(np.where(y[:, None] == np.arange(2), 0.8, 0.2))
    >>> pool_shares([telling, np.log(np.full((100, 2), 0.5))], y)[0] > 0.5
    np.True_
    """
    from scipy.optimize import minimize

    logs, rows = np.array([p - np.logaddexp.reduce(p, axis=1, keepdims=True) for p in predicted]), np.arange(len(y))

    def surprise(shares: FloatArray) -> tuple[float, FloatArray]:
        mixed = pool(logs, shares)
        expected = (np.exp(mixed) * logs).sum(axis=(1, 2))
        return -float(mixed[rows, y].sum()), np.asarray(expected - logs[:, rows, y].sum(axis=1))

    even = np.full(len(logs), 1 / len(logs))
    found = minimize(surprise, even, jac=True, method="L-BFGS-B", bounds=[(0.0, SUREST)] * len(logs)).x
    return found if found.sum() > 1e-3 else even


def belief(logs: FloatArray, y: IntArray) -> FloatArray:
    """The probability of the given label (N,), on average 1: what a row's label counts for when others learn from it.

    >>> belief(np.log([[0.9, 0.1], [0.9, 0.1]]), np.array([0, 1])).round(2)
    array([1.8, 0.2])
    """
    shares = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))[np.arange(len(y)), y]
    return np.asarray(shares / shares.mean())


def _predict(
    model: Model,
    view: View,
    y: IntArray,
    weights: FloatArray,
    seed: int,
    copies: IntArray | None,
    tick: Callable[[], None] | None,
) -> FloatArray:
    from sklearn.exceptions import ConvergenceWarning

    logs = np.empty((len(y), int(y.max()) + 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a ranking does not need the last digit of a minimum
        for held in _folds(y, seed, copies):
            taught = ~held
            logs[held] = np.log(np.clip(model(view[taught], y[taught], weights[taught], view[held]), 1e-9, 1.0))
            if tick:
                tick()
    return logs


def copies_of(texts: Sequence[str], y: IntArray) -> IntArray | None:
    """The same number for the same text (N,); None where some class has nothing but copies of one text, or of others' texts.

    >>> copies_of(["b", "a", "b", "c", "d"], np.array([0, 0, 0, 1, 1])).tolist()
    [1, 0, 1, 2, 3]
    >>> copies_of(["a", "b", "c", "c"], np.array([0, 0, 1, 1]))
    """
    _, first, number = np.unique(np.array(texts, dtype=object), return_index=True, return_inverse=True)
    return number if np.bincount(y[first], minlength=int(y.max()) + 1).min() > 1 else None


def _folds(y: IntArray, seed: int, copies: IntArray | None) -> Iterator[BoolArray]:
    """Which rows are judged together (N,), fold by fold, each class alike in all and copies together."""
    from sklearn.model_selection import StratifiedKFold

    given = np.arange(len(y)) if copies is None else copies
    _, first, number = np.unique(given, return_index=True, return_inverse=True)
    labels = y[first]
    count = min(MANY_FOLDS if len(y) <= ROWS_FOR_MANY_FOLDS else FOLDS, int(np.bincount(labels).min()))
    for _, held in StratifiedKFold(count, shuffle=True, random_state=seed).split(labels, labels):
        yield np.isin(number, held)


def _one_against_the_rest(x: View, y: IntArray, weights: FloatArray, others: View) -> FloatArray:
    """Logistic regression of each class against the rest: for words, a tenth of the time of a softmax."""
    from sklearn.linear_model import LogisticRegression

    shares = []
    for k in range(int(y.max()) + 1):
        one = LogisticRegression(C=SPARSE_C, solver="liblinear", dual=True, tol=1e-2, random_state=0)
        shares.append(one.fit(x, y == k, weights).predict_proba(others)[:, 1])
    found = np.array(shares).T
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-12))


def _naive_bayes(x: View, y: IntArray, weights: FloatArray, others: View) -> FloatArray:
    from sklearn.naive_bayes import MultinomialNB

    return np.asarray(MultinomialNB(alpha=SMOOTHING).fit(x, y, weights).predict_proba(others))


def _softmax(c: float, steps: int = 300) -> Model:
    def model(x: View, y: IntArray, weights: FloatArray, others: View) -> FloatArray:
        from sklearn.linear_model import LogisticRegression

        fitted = LogisticRegression(C=c, max_iter=steps).fit(x, y, weights)
        return np.asarray(fitted.predict_proba(others))

    return model


def _kernel(seed: int) -> Model:
    def model(x: View, y: IntArray, weights: FloatArray, others: View) -> FloatArray:
        from sklearn.kernel_approximation import Nystroem

        bumps = Nystroem(gamma=BUMP_WIDTH / x.shape[1], n_components=min(BUMPS, max(2, len(y) // 2)), random_state=seed)
        return _softmax(KERNEL_C, 500)(bumps.fit_transform(x), y, weights, bumps.transform(others))

    return model


def _nearest(x: View, y: IntArray, weights: FloatArray, others: View) -> FloatArray:
    """The labels of the rows in nearly the same direction from the middle; the nearer count more."""
    from sklearn.neighbors import NearestNeighbors

    middle = x.mean(axis=0)
    taught, asked = unit(x - middle), unit(others - middle)
    far, rows = NearestNeighbors(n_neighbors=min(NEAREST, len(y))).fit(taught).kneighbors(asked)
    count = weights[rows] / np.maximum(far, 1e-6)  # (others, neighbours)
    shares = np.stack([(count * (y[rows] == k)).sum(axis=1) for k in range(int(y.max()) + 1)], axis=1)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray((1 - DOUBT) * shares + DOUBT / shares.shape[1])
