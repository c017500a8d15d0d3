"""What a black box says of inputs, checked: probabilities of classes, numbers of a regression, class numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from accredit.checks import real_numbers
from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.learned.inputs import Array, as_array

if TYPE_CHECKING:
    import pandas

BlackBox = Callable[[Array], Array]  # (N, ...) inputs -> (N, classes) probabilities


def answers_of(black_box: BlackBox, x: Array) -> FloatArray:
    """What a black box answers to some inputs: (N, ...) -> (N, classes)."""
    if not callable(black_box):
        raise InvalidInput(
            f"black_box must be a function from inputs to probabilities, got {black_box!r:.60}",
            argument="black_box",
            code="type",
        )
    return check_answers(black_box(x), len(x))


def numbers_of(black_box: BlackBox, x: Array) -> FloatArray:
    """The numbers that a regression says of some inputs: (N, ...) -> (N, 1)."""
    if not callable(black_box):
        raise InvalidInput(
            f"black_box must be a function from inputs to numbers, got {black_box!r:.60}", argument="black_box", code="type"
        )
    said = real_numbers(black_box(x), "black_box's answers")
    if said.shape not in ((len(x),), (len(x), 1)) or not np.isfinite(said).all():
        raise InvalidInput(
            f"with classes=1 black_box must give one finite number for each of {len(x)} inputs, got shape {said.shape}",
            argument="black_box",
            code="shape",
        )
    return said.reshape(-1, 1)


def row_black_box(file: str, trusted: tuple[str, ...] = (), columns: Sequence[str] | None = None) -> tuple[BlackBox, bool]:
    """A model of rows in a file (xgboost, lightgbm, catboost, skops, ONNX) as a black box, and whether it is a regression.

    A classifier gives probabilities, a regression one number per row. With `columns` it is given data frames.
    """
    from accredit.models.row_files import load_row_model
    from accredit.models.rows import as_row_model

    model = as_row_model(load_row_model(file, trusted))
    unit = next((name for name in ("probability", "logit") if name in model.units), "")
    if model.classifies and not unit:
        raise InvalidInput(
            f"{file!r} gives {', '.join(model.units)}; a black box must give probabilities of classes", code="unsupported"
        )

    def answer(x: Array) -> Array:
        rows: FloatArray | pandas.DataFrame = np.asarray(x, dtype=np.float64)
        if columns is not None:
            import pandas

            rows = pandas.DataFrame(rows, columns=list(columns))
        found = model.outputs(rows, unit if model.classifies else next(iter(model.units)))
        if unit == "probability" or not model.classifies:
            return found
        raised = np.exp((found - found.max(axis=1, keepdims=True)) / (2 if found.shape[1] == 2 else 1))  # two: (−d, d)
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    return answer, not model.classifies


def check_answers(answers: npt.ArrayLike, rows: int, name: str = "black_box's answers") -> FloatArray:
    """What a black box said, as probabilities (rows, classes); arrays, lists and torch tensors will do.

    >>> check_answers([[0.25, 0.75]], rows=1)
    array([[0.25, 0.75]])
    """
    given = real_numbers(answers, name)
    if given.ndim != 2 or len(given) != rows or given.shape[1] < 2:
        seen = type(answers).__name__ if given.ndim == 0 else f"shape {given.shape}"
        raise InvalidInput(
            f"{name} must be probabilities of shape ({rows}, classes) with at least two classes, got {seen}; for the "
            "chance p of one class, write np.column_stack([1 - p, p])",
            argument=name,
            code="shape",
        )
    sums = given.sum(axis=1)
    bad = ~(np.isfinite(given).all(axis=1) & (given >= 0).all(axis=1) & (np.abs(sums - 1) <= 1e-3))
    if bad.any():
        row = int(bad.argmax())
        raise InvalidInput(
            f"{name} must be probabilities: no NaN, none negative, every row summing to 1; row {row} is "
            f"{np.array2string(given[row], precision=3, threshold=6)} with sum {sums[row]:.3g}; apply softmax to logits",
            argument=name,
            code="range",
        )
    return given


def check_labels(labels: npt.ArrayLike, rows: int, classes: int | None = None) -> IntArray:
    """Class numbers (rows,) from 0, whole or boolean, with at least two classes among them.

    >>> check_labels([True, False, True], rows=3)
    array([1, 0, 1])
    """
    given = as_array(labels)
    if given is None or given.shape != (rows,):
        seen = "rows of different lengths" if given is None else f"shape {given.shape}"
        raise InvalidInput(f"labels must be {rows} class numbers, one per row, got {seen}", argument="labels", code="shape")
    if given.dtype.kind not in "iub":
        raise InvalidInput(
            f"labels must be whole numbers 0, 1, …, got {given.dtype}; number the classes with "
            "np.unique(labels, return_inverse=True)[1]",
            argument="labels",
            code="type",
        )
    if rows and (given.min() < 0 or (classes is not None and given.max() >= classes)):
        most = "" if classes is None else f"..{classes - 1}"
        raise InvalidInput(
            f"labels must be class numbers from 0{most}, got {given.min()}..{given.max()}", argument="labels", code="range"
        )
    if len(np.unique(given)) < 2:
        found = f"all {given[0]}" if rows else "missing"
        raise InvalidInput(
            f"labels are {found}: with one class there is nothing to learn; give rows of two classes",
            argument="labels",
            code="undefined",
        )
    return given.astype(np.int64)
