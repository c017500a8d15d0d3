"""The column to predict: classes or numbers, and what is refused or said about it before anything is learned."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.numbers import shown
from accredit.core import FloatArray
from accredit.errors import InvalidInput
from accredit.valuation.split import LARGEST_NUMBER, is_number

if TYPE_CHECKING:
    import pandas

MANY_VALUES = 20  # a target of more different whole numbers is a number to predict, not a class
EMPTY = "an empty cell counts as missing, and so do NA, N/A, NaN, None and null"
ROWS_NAMED = 3  # rows that a message names


def predicts_number(target: pandas.Series) -> bool:
    """Is this column a number to predict? Classes are words, or few whole numbers."""
    if target.dtype.kind not in "iuf":
        return False
    return bool(target.nunique() > MANY_VALUES or (target.dropna() % 1 != 0).any())


def check_not_numbering(target: pandas.Series) -> None:
    """Refuse whole numbers that count the rows: nothing can be learned from the name of a row."""
    if target.dtype.kind not in "iu" or len(target) <= MANY_VALUES:
        return
    if (
        target.nunique() == len(target) == int(target.max()) - int(target.min()) + 1
        and target.diff().dropna().abs().eq(1).all()
    ):
        raise InvalidInput(
            f"target {target.name!r} counts the rows, {target.iloc[0]} to {target.iloc[-1]}, as an id does; name the column of "
            "labels, or write task='number' if it is a number to predict",
            argument="target",
            code="undefined",
        )


def check_target(part: pandas.DataFrame, target: str, file: str) -> None:
    """Refuse rows without a target, by their numbers."""
    unknown = part.index[part[target].isna()]
    if len(unknown):
        raise InvalidInput(
            f"the target {target!r} is missing in {rows(len(unknown))} of {file}, {name_rows(unknown)} ({EMPTY}); fill, rename "
            "or drop them",
            argument="target",
            code="missing",
        )


def numbers(train: pandas.DataFrame, held: pandas.DataFrame, target: str) -> tuple[FloatArray, FloatArray]:
    """Numbers to predict, of training and test rows."""
    found = _numbers(train[target]), _numbers(held[target])
    if found[0].min() == found[0].max():
        raise InvalidInput(
            f"target {target!r} is {found[0][0]:g} in all {rows(len(train), 'training ')}; there is nothing to learn",
            argument="target",
            code="undefined",
        )
    return found


def _numbers(column: pandas.Series) -> FloatArray:
    words = [] if column.dtype.kind in "iufb" else [cell for cell in column if not is_number(cell)]
    if words:
        raise InvalidInput(
            f"target {column.name!r} holds {shown(words[0])}; a number to predict is needed, for example 1234.5",
            argument="target",
            code="type",
        )
    found = column.to_numpy(dtype=np.float64)
    bad = column.index[~(np.abs(found) < LARGEST_NUMBER)]
    if len(bad):
        raise InvalidInput(
            f"target {column.name!r} is {column[bad[0]]} in {name_rows(bad)}; fill, scale or drop them",
            argument="target",
            code="not-finite",
        )
    return np.asarray(found)


def classes(train: pandas.DataFrame, held: pandas.DataFrame, target: str, within: bool = False) -> tuple[list[str], list[str]]:
    """Labels as words; a whole number is the same class whether it is written 1 or 1.0. `within`: both are of one file."""
    y, test_y = _words(train[target]), _words(held[target])
    known = set(y)
    if len(known) < 2:
        raise InvalidInput(
            f"target {target!r} is {y[0]!r} in {rows(len(y), 'training ', 'all ')}; two classes are needed: give rows of "
            "another one, or name another column",
            argument="target",
            code="undefined",
        )
    total = len(y) + len(test_y)
    different = len(known | set(test_y))
    if different > max(MANY_VALUES, total // 2) and all(map(_is_shares, y)):
        raise InvalidInput(
            f"target {target!r} holds soft labels, such as {shown(y[0])}; one class per row is judged: write the likeliest of "
            "each, or one column per annotator, named by annotators=",
            argument="target",
            code="unsupported",
        )
    if different > max(MANY_VALUES, total // 2):
        raise InvalidInput(
            f"target {target!r} holds {different} different labels in {total} rows, for example {shown(y[0])}; classes "
            "repeat. If it is a number, write it as 1234.5, and task='number'",
            argument="target",
            code="type",
        )
    _check_blanks(known | set(test_y), target)
    _check_taught(held, y, test_y, target, within)
    return y, test_y


def _check_taught(held: pandas.DataFrame, y: list[str], test_y: list[str], target: str, within: bool) -> None:
    """Refuse a class that only test rows have."""
    for unknown in sorted(set(test_y) - set(y)):
        places = [i for i, label in enumerate(test_y) if label == unknown]
        if within and len(places) == 1:
            raise InvalidInput(
                f"target {target!r} is {unknown!r} in {name_rows(held.index[places])} alone, so no other row can teach that "
                "class or vouch for its label; drop or merge it, or write task='number' if the target is one",
                argument="target",
                code="undefined",
            )
        raise InvalidInput(
            f"target {target!r} is {unknown!r} in {rows(len(places), 'test ')} and in no training row; choose other test "
            "rows with split_seed=… or test=…, drop that class, or write task='number' if the target is one",
            argument="target",
            code="undefined",
        )


def _words(column: pandas.Series) -> list[str]:
    whole = column.dtype.kind == "f" and (column % 1 == 0).all()
    return [str(label) for label in (column.astype(np.int64) if whole else column)]


def _is_shares(label: str) -> bool:
    """Whether a label is several numbers, for one class each.

    >>> [_is_shares(label) for label in ('{"cat": 0.9, "dog": 0.1}', "[0.2, 0.8]", "0.2;0.8", "1234", "a b")]
    [True, True, True, False, False]
    """
    numbers = re.findall(r"(?<![\w.])\d*\.\d+", label)
    return len(numbers) > 1 and 0.9 < sum(map(float, numbers)) < 1.1


def _check_blanks(labels: set[str], target: str) -> None:
    for alike in _alike(labels, lambda label: " ".join(label.split())):
        raise InvalidInput(
            f"target {target!r} is {alike[0]!r} in some rows and {alike[1]!r} in others, which differ in blanks only; write "
            "both the same way",
            argument="target",
            code="duplicate",
        )


def capitals(labels: set[str]) -> tuple[str, ...]:
    """A note for classes that differ in capitals only.

    >>> capitals({"pos", "Pos", "neg"})
    ("the classes 'Pos' and 'pos' differ in capitals only and are taken for two; write them alike if they are one",)
    """
    return tuple(
        f"the classes {alike[0]!r} and {alike[1]!r} differ in capitals only and are taken for two; write them alike if they "
        "are one"
        for alike in _alike(labels, str.casefold)
    )


def _alike(labels: set[str], key: Callable[[str], str]) -> list[list[str]]:
    """Labels that are the same under `key`, sorted."""
    found: dict[str, list[str]] = defaultdict(list)
    for label in sorted(labels):
        found[key(label)].append(label)
    return [alike for alike in found.values() if len(alike) > 1]


def rows(count: int, kind: str = "", all_of: str = "") -> str:
    """So many rows, in words.

    >>> rows(2, "training ", "all "), rows(1, "training ", "all ")
    ('all 2 training rows', 'the only training row')
    """
    if all_of and count == 1:
        return f"the only {kind}row"
    return f"{all_of}{count} {kind}row{'s' * (count != 1)}"


def name_rows(index: Sequence[int] | pandas.Index) -> str:
    """Rows by their numbers in the file, the first few of them.

    >>> name_rows([3, 16])
    'row 4, row 17'
    """
    some = ", ".join(f"row {i + 1}" for i in list(index)[:ROWS_NAMED])
    return some + (f" and {len(index) - ROWS_NAMED} more" if len(index) > ROWS_NAMED else "")
