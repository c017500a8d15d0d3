"""Do people agree? Overlap with human rationales, after ERASER (DeYoung et al., 2020).

Plausible is not faithful: a wrong model honestly explained should disagree with people.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accredit.checks import real_numbers
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import real_number, shown, whole_number
from accredit.core import Attribution, BoolArray, FloatArray
from accredit.core.statistics import tied
from accredit.errors import InvalidInput
from accredit.evaluate.metric import rounding_between

Span = tuple[int, int]  # [start, end)


def _check(chosen: BoolArray, rationale: BoolArray) -> tuple[BoolArray, BoolArray]:
    a, b = _booleans(chosen, "chosen"), _booleans(rationale, "rationale")
    if a.shape != b.shape or a.ndim != 1:
        raise InvalidInput(
            f"chosen has shape {a.shape} and rationale {b.shape}; give one boolean per token in both",
            argument="chosen",
            code="shape",
        )
    return a, b


def _booleans(values: BoolArray, name: str) -> BoolArray:
    """Marks of tokens; 0 and 1 will do, soft scores will not: every score but 0 would count as chosen."""
    array = np.asarray(values)
    if not np.isin(array, (0, 1)).all():
        raise InvalidInput(
            f"{name} must be True or False for each token, got {array.dtype} numbers; choose first, e.g. scores > 0.5",
            argument=name,
            code="type",
        )
    return array.astype(bool)


@check_arguments
def token_f1(chosen: BoolArray, rationale: BoolArray) -> float:
    """Harmonic mean of token precision and recall; 0 where nothing is shared.

    >>> token_f1(np.array([True, True, False]), np.array([True, False, False]))
    0.6666666666666666
    """
    a, b = _check(chosen, rationale)
    both = int((a & b).sum())
    return 2 * both / int(a.sum() + b.sum()) if both else 0.0


@check_arguments
def auprc(scores: Attribution | FloatArray, rationale: BoolArray) -> float:
    r"""Area under the precision–recall curve of soft scores, as average precision: Σ (R_k − R_{k−1})·P_k over distinct scores.

    Tied scores, also those that differ by rounding alone, enter together, and there is no interpolation between points:
    ERASER's own scorer joins them by straight lines, which gives another number. The chance level is the share of rationale
    tokens.

    >>> auprc(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]))
    0.8333333333333333
    """
    given = scores.credit if isinstance(scores, Attribution) else real_numbers(scores, "scores")
    if given.ndim != 1 or not np.isfinite(given).all():
        raise InvalidInput(f"scores must be one finite number per token, got {given!r}", argument="scores", code="type")
    _, b = _check(np.zeros(len(given), dtype=bool), rationale)
    if not b.any():
        raise InvalidInput(
            "rationale marks no token; precision and recall are undefined, leave this example out",
            argument="rationale",
            code="empty",
        )
    places = tied(given, rounding_between(scores, given))
    order = np.argsort(-places, kind="stable")
    hits = np.cumsum(b[order])
    last_of_tie = np.append(np.diff(places[order]) != 0, True)
    found, taken = hits[last_of_tie], (np.arange(len(given)) + 1)[last_of_tie]
    return float((np.diff(found, prepend=0) / b.sum()) @ (found / taken))


@check_arguments
def spans_of(chosen: BoolArray) -> list[Span]:
    """Maximal runs of chosen tokens.

    >>> spans_of(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    marks = _booleans(chosen, "chosen")
    if marks.ndim != 1:
        raise InvalidInput(f"chosen has shape {marks.shape}; give one boolean per token", argument="chosen", code="shape")
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marks, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


@check_arguments
def iou_f1(predicted: Sequence[Span], rationale: Sequence[Span], threshold: float = 0.5) -> float:
    """F1 over spans: a predicted span counts when its overlap with some rationale span, over their union, is ≥ threshold.

    Precision is the share of predicted spans that count. Recall divides the same number by the rationale spans and is cut at
    1, as several predictions may match one rationale. 0 where none counts.

    >>> iou_f1([(0, 4)], [(0, 2), (6, 8)])
    0.6666666666666666
    """
    real_number(threshold, "threshold", 0, 1)
    if not rationale:
        raise InvalidInput("rationale has no span; leave this example out", argument="rationale", code="empty")
    for name, spans in (("predicted", predicted), ("rationale", rationale)):
        for span in spans:
            if not isinstance(span, tuple | list) or len(span) != 2:
                raise InvalidInput(
                    f"{name} holds {shown(span)}; give pairs (start, end), end not included", argument=name, code="type"
                )
            for end in span:
                whole_number(end, f"an end of a span in {name}", 0)
    for start, end in (*predicted, *rationale):
        if not start < end:
            raise InvalidInput(
                f"span {(start, end)} is empty; a span is [start, end), end not included", argument=name, code="empty"
            )
    matched = sum(any(_iou(p, r) >= threshold for r in rationale) for p in predicted)
    if not matched:
        return 0.0
    precision, recall = matched / len(predicted), min(1.0, matched / len(rationale))
    return 2 * precision * recall / (precision + recall)


def _iou(a: Span, b: Span) -> float:
    shared = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    union = (a[1] - a[0]) + (b[1] - b[0]) - shared
    return shared / union
