"""Training rows, who are the players, and test rows, which judge what they taught."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from accredit.checks import as_array, real_numbers
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import check_same_order, check_text
from accredit.core import FloatArray, IntArray, check_players
from accredit.core.game import check_names
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    pass

Labels = IntArray | FloatArray  # class numbers, or numbers to predict

LARGEST_NUMBER = 1e100  # a feature or a number to predict; the squares of larger ones overflow


@dataclass(frozen=True, eq=False)
class Split:
    """Checked data. Labels are class numbers 0 … C−1 for classification, real numbers for regression.

    >>> data = split([[1.0], [2.0]], ["cat", "dog"], [[1.5]], ["cat"])
    >>> data.classes, data.y, data.names
    (('cat', 'dog'), array([0, 1]), ('row 0', 'row 1'))
    """

    x: FloatArray  # (N, d)
    y: Labels  # (N,)
    test_x: FloatArray  # (M, d)
    test_y: Labels  # (M,)
    names: tuple[str, ...]  # (N,), of the players
    classes: tuple[str, ...] | None  # their names; None: regression

    def __len__(self) -> int:
        return len(self.x)

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(f"test {i}" for i in range(len(self.test_x)))

    def fingerprint_parts(self) -> dict[str, object]:
        return {"x": self.x, "y": self.y, "test x": self.test_x, "test y": self.test_y, "classes": self.classes}


@check_arguments
def split(
    x: object,
    y: object,
    test_x: object,
    test_y: object,
    *,
    names: Iterable[str] | None = None,
    regression: bool = False,
) -> Split:
    """Check and bundle training and test data.

    Features must be finite numbers, in any array, data frame or sparse matrix (which is made dense). For classification the
    training rows must hold at least two classes, and every class of the test rows.

    >>> data = split([[0.0], [1.0]], ["no", "yes"], [[0.9]], ["yes"])
    >>> data.classes, data.y, data.names
    (('no', 'yes'), array([0, 1]), ('row 0', 'row 1'))
    """
    train_features, test_features = _features(x, "x"), _features(test_x, "test_x")
    if train_features.shape[1] != test_features.shape[1]:
        raise InvalidInput(
            f"x has {train_features.shape[1]} columns and test_x {test_features.shape[1]}; give both the same columns",
            argument="x",
            code="shape",
        )
    if hasattr(x, "columns") and hasattr(test_x, "columns") and list(x.columns) != list(test_x.columns):
        raise InvalidInput(
            "test_x has other columns than x, or in another order; write test_x[list(x.columns)]",
            argument="test_x",
            code="conflict",
        )
    check_same_order(x, y, "x", "y")
    check_same_order(test_x, test_y, "test_x", "test_y")
    labels, test_labels = _labels(y, len(train_features), "y"), _labels(test_y, len(test_features), "test_y")
    players = check_players(names if names is not None else (f"row {i}" for i in range(len(train_features))))
    if len(players) != len(train_features):
        raise InvalidInput(
            f"names holds {len(players)} names for {len(train_features)} training rows; give one per row",
            argument="names",
            code="shape",
        )
    if regression:
        return Split(train_features, _numbers(labels, "y"), test_features, _numbers(test_labels, "test_y"), players, None)
    try:
        number = {label: i for i, label in enumerate(np.unique(labels).tolist())}
    except TypeError:
        raise InvalidInput(
            f"y mixes kinds of labels, for example {labels[0]!r}; make them all strings", argument="y", code="type"
        ) from None
    some = ", ".join(repr(label) for label in list(number)[:8]) + (", …" if len(number) > 8 else "")
    if len(number) < 2:
        raise InvalidInput(
            f"y holds one class only, {some}; a classifier needs two (numbers: regression=True)", argument="y", code="undefined"
        )
    unknown = [label for label in test_labels.tolist() if label not in number]
    if unknown:
        raise InvalidInput(
            f"test_y holds {unknown[0]!r}, which no training row has; the classes are {some}"
            f"{'; of numbers write regression=True' if labels.dtype.kind == 'f' else ''}",
            argument="test_y",
            code="unknown",
        )
    numbered = [np.array([number[v] for v in part.tolist()], dtype=np.int64) for part in (labels, test_labels)]
    return Split(train_features, numbered[0], test_features, numbered[1], players, tuple(map(str, number)))


def _features(values: object, name: str) -> FloatArray:
    if hasattr(values, "toarray"):  # a sparse matrix
        values = values.toarray()
    try:
        array = real_numbers(values, name)
    except InvalidInput as error:
        raise InvalidInput(
            f"{error}; encode texts with text_features(texts, encoder)", argument=error.argument, code=error.code
        ) from None
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidInput(
            f"{name} has shape {array.shape}; rows and columns are needed, at least one of each", argument=name, code="shape"
        )
    bad = ~(np.abs(array) < LARGEST_NUMBER)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InvalidInput(
            f"{name} holds {array[row, column]} in row {row}, column {column} ({bad.sum()} such cells); "
            "fill, scale or drop them first",
            argument=name,
            code="not-finite",
        )
    return np.ascontiguousarray(array)


def _labels(values: object, rows: int, name: str) -> npt.NDArray[np.generic]:
    mixed = isinstance(values, list | tuple) and len(set(map(type, values))) > 1  # np.asarray makes NaN the word 'nan'
    labels = np.asarray(values, dtype=object) if mixed else as_array(values, name)
    if labels.shape != (rows,):
        rows_in = "x" if name == "y" else "test_x"
        raise InvalidInput(
            f"{name} has shape {labels.shape}, and {rows_in} {rows} rows; one label per row is needed",
            argument=name,
            code="shape",
        )
    for row, label in enumerate(labels.tolist()):
        if missing(label):
            raise InvalidInput(
                f"{name} holds {label!r} in row {row}; fill or drop such rows first", argument=name, code="missing"
            )
    return labels


def is_number(value: object) -> bool:
    """Can this cell be read as a number? Python also takes 1_000 and digits of other scripts, which tables do not."""
    if isinstance(value, str) and ("_" in value or not value.isascii()):
        return False
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def missing(label: object) -> bool:
    try:
        return label is None or bool(label != label) or label in (np.inf, -np.inf)  # only NaN differs from itself
    except TypeError:  # pandas.NA cannot be compared
        return True


def _numbers(labels: npt.NDArray[np.generic], name: str) -> FloatArray:
    try:
        numbers = labels.astype(np.float64)
    except OverflowError:
        raise InvalidInput(
            f"{name} holds a whole number beyond 1.8e308; scale such numbers first", argument=name, code="range"
        ) from None
    except (TypeError, ValueError):
        word = next(label for label in labels.tolist() if not is_number(label))
        raise InvalidInput(f"{name} holds {word!r}; regression needs numbers", argument=name, code="type") from None
    bad = ~(np.abs(numbers) < LARGEST_NUMBER)
    if bad.any():
        raise InvalidInput(
            f"{name} holds {numbers[bad][0]} in row {np.argmax(bad)}; fill, scale or drop such rows first",
            argument=name,
            code="not-finite",
        )
    return numbers


@check_arguments
def groups_of(names: Sequence[str], labels: Iterable[object]) -> dict[str, list[str]]:
    """Players by label, for `grouped(game, groups)`: annotators, sources, data sets.

    >>> groups_of(("row 0", "row 1", "row 2"), ["ann", "bob", "ann"])
    {'ann': ['row 0', 'row 2'], 'bob': ['row 1']}
    """
    known, given = check_names(names, "names"), list(labels)
    if len(given) != len(known):
        raise InvalidInput(
            f"labels holds {len(given)} for {len(known)} names; give one label per name", argument="labels", code="shape"
        )
    groups: dict[str, list[str]] = {}
    for name, label in zip(known, given, strict=True):
        groups.setdefault(check_text(str(label), "labels"), []).append(name)
    return groups
