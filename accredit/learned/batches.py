"""What a trained explainer learns from: rows as tensors, with what the black box says of them, classes or one number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from accredit.core import FloatArray, IntArray
from accredit.core.statistics import alike
from accredit.errors import InvalidInput
from accredit.learned.black_boxes import BlackBox, answers_of, check_labels, numbers_of
from accredit.learned.inputs import Array, Inputs
from accredit.learned.stages import Batch

INPUTS_PER_CALL = 512  # rows asked of a black box at once


def ask_black_box(black_box: BlackBox, x: Array, classes: int) -> FloatArray:
    """What a black box says of many inputs: probabilities (N, classes), or numbers (N, 1) where there is one class."""
    ask = numbers_of if classes == 1 else answers_of
    parts = [ask(black_box, x[k : k + INPUTS_PER_CALL]) for k in range(0, len(x), INPUTS_PER_CALL)]
    for answers in parts:
        if answers.shape[1] != classes:
            raise InvalidInput(
                f"black_box gives {answers.shape[1]} classes, but the explainer was made for {classes}",
                argument="black_box",
                code="conflict",
            )
    return np.concatenate([np.empty((0, classes)), *parts])


def rows_of(inputs: Inputs, x: Array, answers: FloatArray, labels: npt.ArrayLike | None, target: str, query: bool) -> Batch:
    """Rows to learn from; `answers` (N, classes) are probabilities, or one scaled number per row."""
    if len(x) < 4:
        raise InvalidInput(
            f"x holds {len(x)} rows; training needs at least 4, and useful training hundreds", argument="x", code="range"
        )
    classes = answers.shape[1]
    choices = thirds(answers[:, 0]) if classes == 1 else _choices(answers, labels, target)
    if len(np.unique(choices)) < 2 or (classes == 1 and alike(answers, size=1.0)):
        said = "says the same number" if classes == 1 else f"chooses class {choices[0]}"
        raise InvalidInput(
            f"black_box {said} in all {len(x)} rows: nothing tells rows apart; give rows of two classes", code="undefined"
        )
    wanted = answers if target == "answers" else np.eye(classes)[choices]
    return Batch(
        torch.from_numpy(np.ascontiguousarray(x)),
        torch.from_numpy(inputs.present(x)).float(),
        torch.from_numpy(wanted).float(),
        torch.from_numpy(choices),
        torch.from_numpy(answers).float() if query else None,
    )


def _choices(answers: FloatArray, labels: npt.ArrayLike | None, target: str) -> IntArray:
    true = None if labels is None else check_labels(labels, len(answers), answers.shape[1])
    if target != "labels":
        return np.asarray(answers.argmax(axis=1))
    if true is None:
        raise InvalidInput(
            "target is 'labels', and none are given; write fit(x, black_box, labels)", argument="target", code="conflict"
        )
    return true


def third_ends(numbers: FloatArray) -> FloatArray:
    """Where a third of the numbers ends, and where two thirds do: (2,)."""
    return np.asarray(np.quantile(numbers, [1 / 3, 2 / 3]))


def thirds(numbers: FloatArray, ends: npt.ArrayLike | None = None) -> IntArray:
    """In which third of all each number lies, or in which part between given `ends`: 0, 1 or 2.

    >>> thirds(np.array([1.0, 5.0, 9.0])).tolist()
    [0, 1, 2]
    """
    cut = third_ends(numbers) if ends is None else np.asarray(ends)
    return np.asarray(np.searchsorted(cut, numbers), dtype=np.int64)
