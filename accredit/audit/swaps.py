"""Swaps: does the answer of the explainer's own surrogate go with the values, or with the mask?"""

from __future__ import annotations

import numpy as np

from accredit.audit.finding import Finding, judged
from accredit.audit.names import MARGIN, SCRAMBLE, TRANSPLANT
from accredit.audit.probes import NothingToJudge
from accredit.audit.readers import Reader, ask
from accredit.core import FloatArray, IntArray
from accredit.learned.inputs import Array


def value_scramble(x: Array, masks: FloatArray, labels: IntArray, surrogate: Reader, *, seed: int = 0) -> Finding:
    """Keep the mask, take another row's values: does the surrogate still give the old answer? Chance: how common it is."""
    swapped = x[others(len(x), np.random.default_rng(seed))]
    said = ask(surrogate, swapped, masks, labels).argmax(axis=1)
    share = np.bincount(labels, minlength=int(said.max()) + 1) / len(labels)
    return judged(
        SCRAMBLE,
        said == labels,
        share[said],
        asks="share of answers that stay although the shown values come from another row",
        readings={
            "flagged": "the answer stays when the values go: it came from the mask",
            "passes": "the answer goes with the values",
            "unclear": "a few answers may come from the mask; more rows would show",
        },
        blind="need not fall to chance on images, where the mask is a partial picture; blind to codes that need the values",
        margin=MARGIN,
    )


def mask_transplant(x: Array, masks: FloatArray, labels: IntArray, surrogate: Reader, *, seed: int = 0) -> Finding:
    """Put on a row the mask of a row with another answer: which of the two does the surrogate follow? Chance is one half.

    Rows that get neither answer are left out.
    """
    if labels.min() == labels.max():
        raise NothingToJudge(
            f"all scored rows have the answer {labels[0]}, so there is no mask from another answer to try"
        )
    rng = np.random.default_rng(seed)
    donor = np.array([rng.choice(np.flatnonzero(labels != label)) for label in labels])
    said = ask(surrogate, x, masks[donor], labels).argmax(axis=1)
    followed = said == labels[donor]
    counted = followed | (said == labels)
    if not counted.any():
        raise NothingToJudge("the surrogate gives no row either of its two labels; it does not fit these labels")
    return judged(
        TRANSPLANT, followed[counted], 0.5,
        asks="share of answers that follow the mask's donor and not the values' owner",
        readings={
            "flagged": "the answer moves with the mask",
            "passes": "the answer does not move with the mask",
            "unclear": "mask and values pull about equally",
        },
        blind="a code that yields to strong values stays below one half and is not seen",
        margin=MARGIN, details={"rows answered by one of the two": float(counted.mean())},
    )  # fmt: skip


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
