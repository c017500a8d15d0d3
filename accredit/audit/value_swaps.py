"""Swaps: does the answer of the explainer's own surrogate go with the values, or with the mask?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from accredit.audit.finding import EXCESS_MARGIN, SCRAMBLE, TRANSPLANT, AuditFinding, interval_of_pairs, judge_finding
from accredit.audit.probes import NothingToJudge
from accredit.audit.reader_gaps import Reader, ask
from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.learned.inputs import Array

PAIRS_SWAPPED = 2000  # of rows in a swap, at least if there are as many
MOST_SWAPS = 16


def value_scramble(
    x: Array, masks: FloatArray, labels: IntArray, surrogate: Reader, outsiders: Sequence[Reader] = (), *, seed: int = 0
) -> AuditFinding:
    """Keep the mask, take another row's values: does the surrogate still give the old answer? Chance: how common it is.

    A mask may be a partial picture of the input: then the old answer is also read by `outsiders`, who know no code. What the
    best of them keeps beyond chance is added to chance. Every mask meets several other rows (`swaps`).
    """
    rng, rows = np.random.default_rng(seed), len(x)
    masked = np.tile(np.arange(rows), swaps(rows))
    valued = np.concatenate([others(rows, rng) for _ in range(swaps(rows))])
    mixed = x[valued], masks[masked], labels[masked]
    kept, chance = _judge(surrogate, *mixed)
    theirs = [np.subtract(*_judge(reader, *mixed)) for reader in _able(outsiders, x, masks, labels)]
    most = max(theirs, key=lambda beyond: float(beyond.mean()), default=np.zeros(1))
    details = {"kept by an outsider, beyond chance": float(most.mean())} if theirs else {}
    expected = chance + most if most.mean() > 0 else chance
    return judge_finding(
        SCRAMBLE,
        kept,
        expected,
        asks="share of answers that stay although the shown values come from another row; chance column: how common they are, "
        "and what outsiders read from the same",
        readings={
            "flagged": "the answer stays when the values go: it came from the mask",
            "passes": "the answer goes with the values, or outsiders keep it as well",
            "unclear": "a few answers may come from the mask; more rows would show",
        },
        blind="blind to codes that need the values; without outsiders it accuses masks that are a partial picture",
        margin=EXCESS_MARGIN,
        details=details,
        excess=interval_of_pairs(kept - expected, masked, valued, rows),
    )


def _judge(reader: Reader, x: Array, masks: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Whether a reader gives each label, and how common the answer is that it gives: (N,) both."""
    said = ask(reader, x, masks, labels).argmax(axis=1)
    share = np.bincount(labels, minlength=int(said.max()) + 1) / len(labels)
    return (said == labels).astype(np.float64), share[said]


def mask_transplant(
    x: Array, masks: FloatArray, labels: IntArray, surrogate: Reader, outsiders: Sequence[Reader] = (), *, seed: int = 0
) -> AuditFinding:
    """Put on a row the mask of a row with another answer: which of the two does the surrogate follow? Chance is one half.

    Rows that get neither answer are left out. Where the mask is a partial picture, `outsiders` follow it as well: chance is
    what the one that follows it most often does, if that is above one half. Every row meets several masks (`swaps`).
    """
    if labels.min() == labels.max():
        raise NothingToJudge(
            f"all scored rows have the answer {labels[0]}, so there is no mask from another answer to try", code="undefined"
        )
    rng, rows = np.random.default_rng(seed), len(x)
    valued = np.tile(np.arange(rows), swaps(rows))
    donor = np.empty_like(valued)
    for label in np.unique(labels):
        donor[labels[valued] == label] = rng.choice(np.flatnonzero(labels != label), int((labels[valued] == label).sum()))
    mixed = x[valued], masks[donor], labels[valued], labels[donor]
    followed = _follow(surrogate, *mixed)
    counted = followed != 0.5
    if not counted.any():
        raise NothingToJudge(
            "the surrogate gives no row either of its two labels; it does not fit these labels", code="undefined"
        )
    theirs = [_follow(reader, *mixed)[counted] for reader in _able(outsiders, x, masks, labels)]
    most = max(theirs, key=lambda one: float(one.mean()), default=np.full(int(counted.sum()), 0.5))
    expected = most if most.mean() > 0.5 else np.full(len(most), 0.5)
    details = {"rows answered by one of the two": float(counted.mean())}
    return judge_finding(
        TRANSPLANT,
        followed[counted],
        expected,
        asks="share of answers that follow the mask's donor and not the values' owner; chance column: one half, or "
        "the share of an outsider",
        readings={
            "flagged": "the answer moves with the mask",
            "passes": "the answer does not move with the mask, or outsiders follow it as well",
            "unclear": "mask and values pull about equally",
        },
        blind="a code that yields to strong values stays below one half and is not seen",
        margin=EXCESS_MARGIN,
        details=details | ({"followed by an outsider": float(most.mean())} if theirs else {}),
        excess=interval_of_pairs(followed[counted] - expected, valued[counted], donor[counted], rows),
    )


def _follow(reader: Reader, x: Array, masks: FloatArray, own: IntArray, other: IntArray) -> FloatArray:
    """1 where the answer is the label of the mask's donor, 0 where it is the row's own, ½ where it is neither: (N,)."""
    said = ask(reader, x, masks, np.maximum(own, other)).argmax(axis=1)
    return np.where(said == other, 1.0, np.where(said == own, 0.0, 0.5))


def _able(readers: Sequence[Reader], x: Array, masks: FloatArray, labels: IntArray) -> list[Reader]:
    """Readers that can read such masks: a black box of words cannot read soft ones."""
    able = []
    for reader in readers:
        with suppress(InvalidInput):
            ask(reader, x[:2], masks[:2], labels)
            able.append(reader)
    return able


def swaps(rows: int) -> int:
    """How many others every row is paired with: few rows are cheap, and what they say is the less blurred.

    >>> swaps(20), swaps(300), swaps(5000)
    (16, 7, 2)
    """
    return min(MOST_SWAPS, max(2, math.ceil(PAIRS_SWAPPED / rows)))


def others(rows: int, rng: np.random.Generator) -> IntArray:
    """For each row the number of another one, none twice: a random cycle through all rows.

    >>> other = others(5, np.random.default_rng(0))
    >>> sorted(other.tolist()), bool((other == np.arange(5)).any())
    ([0, 1, 2, 3, 4], False)
    """
    order = rng.permutation(rows)
    partner = np.empty(rows, dtype=np.int64)
    partner[order] = np.roll(order, 1)
    return partner
