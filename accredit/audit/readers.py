"""Readers of what an explainer shows: functions (x, mask) -> probabilities, and how they are asked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.learned.black_boxes import BlackBox, check_answers
from accredit.learned.inputs import Array, Inputs

Reader = Callable[[Array, FloatArray], npt.ArrayLike]  # inputs (N, ...), masks (N, n) -> probabilities (N, classes)
TOSS = 0.1  # lead below which two answers of a reader count as a toss


def ask(reader: Reader, x: Array, masks: FloatArray, labels: IntArray) -> FloatArray:
    """What a reader answers to masked rows, with a column for every label: (N, classes)."""
    said = check_answers(reader(x, masks), len(x), "the answers of a reader (surrogate, EVAL-X or black box)")
    if labels.max() >= said.shape[1]:
        raise InvalidInput(
            f"labels go up to {labels.max()}, but a reader (the surrogate, EVAL-X or the black box) gives {said.shape[1]} "
            "classes from 0; give the answers that are explained as labels",
            argument="labels",
            code="range",
        )
    return said


def post_hoc(inputs: Inputs, black_box: BlackBox) -> Reader:
    """The black box as a reader: it is asked about inputs with holes."""
    return lambda x, mask: black_box(inputs.keep(x, mask))


def surprise(believed: FloatArray, labels: IntArray) -> FloatArray:
    """−log P(label) in nats, at most 7: one certain error must not decide a mean."""
    return np.asarray(-np.log(np.maximum(believed[np.arange(len(labels)), labels], 1e-3)))


def patience_for(rows: int) -> tuple[int, int]:
    """Epochs of a small training, and how many of them without progress end it: few rows make few steps per epoch."""
    passes = min(30, max(1, round(1500 / rows)))
    return 40 * passes, 5 * passes
