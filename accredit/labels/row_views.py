"""Rows are seen through *views*: word counts, an encoder's features, the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import numpy as np

from accredit.checks import needs, real_numbers
from accredit.core import FloatArray, IntArray
from accredit.core.statistics import units
from accredit.errors import InvalidInput
from accredit.valuation.split import LARGEST_NUMBER

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

COMPONENTS = 100  # that a sparse view is reduced to where distances are asked
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
    try:
        x = real_numbers(view, "features" if name == "features" else f"features {name!r}")
    except InvalidInput as error:
        raise InvalidInput(str(error), argument="features", code=error.code or "type") from None
    if x.ndim != 2:
        raise InvalidInput(
            f"features {name!r} has shape {x.shape}; numbers in rows and columns are needed", argument="features", code="shape"
        )
    if not np.isfinite(x).all():
        row, column = np.argwhere(~np.isfinite(x))[0].tolist()
        raise InvalidInput(
            f"features {name!r} holds {x[row, column]} in row {row}, column {column}; fill gaps first, for example with the "
            "median of the column",
            argument="features",
            code="not-finite",
        )
    if x.size and (largest := float(np.abs(x).max())) > LARGEST_NUMBER:
        raise InvalidInput(
            f"features {name!r} hold {largest:g}, and squares of numbers above {LARGEST_NUMBER:g} overflow; scale them first",
            argument="features",
            code="range",
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
