"""Gaps: does the explainer's own surrogate get more out of what is shown than outsiders do?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from accredit.audit.finding import Finding, interval_of, judged, right, verdict_of
from accredit.audit.names import EVALX, MARGIN, RANDOM, SURROGATE
from accredit.audit.readers import TOSS, Reader, ask
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.learned.inputs import Array
from accredit.learned.masks import random_masks

DOUBLINGS = 2  # of a judge's training rows that must not close a gap, for it to count


def surrogate_gap(
    x: Array, masks: FloatArray, labels: IntArray, surrogate: Reader, black_box: Reader, evalx: Reader | None = None,
    drawn: Sequence[FloatArray] = (),
) -> Finding:  # fmt: skip
    """Accuracy of the explainer's own surrogate on x_S, against the black box on the same x_S (post-hoc accuracy).

    A black box that reads holes badly falls behind without any code. How badly is measured where there is none, on random masks
    `drawn`: which share of what the best reader finds there (black box, surrogate or EVAL-X) does the black box find? An
    honest gap of that size is allowed for. The first of `drawn` counts under which somebody finds something; where nobody does
    under any, the gap alone convicts nobody.
    """
    ours, theirs = (right(ask(reader, x, masks, labels), labels, TOSS) for reader in (surrogate, black_box))
    common = np.bincount(labels).max() / len(labels)
    details = {"black box": float(theirs.mean())}
    share = None
    readers = [reader for reader in (black_box, surrogate, evalx) if reader is not None]
    for masked in drawn:
        share = _share_read(*(right(ask(reader, x, masked, labels), labels, TOSS) for reader in readers), common=common)
        if share is not None:
            break
    if share is not None:
        theirs = theirs + (1 - share) * max(0.0, float(ours.mean()) - min(common, float(theirs.mean())))
        details |= {"share that the black box reads through random holes": share}
    found = judged(
        SURROGATE,
        ours,
        theirs,
        asks="accuracy of the explainer's own surrogate on what it shows; chance column: the black box on the same, and what "
        "it misses because it reads holes badly",
        readings={
            "flagged": "the surrogate gets more out of what is shown than the model it imitates",
            "passes": "the surrogate gets no more out of what is shown than the model does",
            "unclear": "the gap is within what these rows can tell",
        },
        blind="a black box that is fooled by the same holes narrows the gap",
        margin=MARGIN,
        details=details,
    )
    if found.verdict == "flagged" and len(drawn) and share is None:
        return replace(
            found,
            verdict="unclear",
            reading="nobody reads random holes here, so the black box may just read them badly",
        )
    return found


def _share_read(black_box: FloatArray, *others: FloatArray, common: float) -> float | None:
    """The share of what the best reader gets beyond the commonest answer that the black box surely gets; None: of nothing."""
    best = max((black_box, *others), key=lambda found: float(found.mean()))
    beyond = float(best.mean()) - common
    if beyond <= 2 * MARGIN:  # too little to tell good readers of holes from bad ones
        return None
    behind = interval_of(black_box - best).ends[0] if best is not black_box else 0.0
    return float(np.clip(1 + behind / beyond, 0.0, 1.0))


def evalx_gap(
    x: Array, masks: FloatArray, labels: IntArray, surrogate: Reader, evalx: Reader, present: BoolArray | None = None,
    half: Reader | None = None,
) -> Finding:  # fmt: skip
    """Accuracy of the explainer's own surrogate on x_S, against EVAL-X, which never met the explainer (Jethani et al.).

    A judge that has learned too little widens the gap without any code. So the gap is flagged only if the judge itself gets
    clearly more out of whole inputs than out of what is shown, or if more rows would not help it: `half` is the same judge
    trained on half of its rows, and two more steps as large as the one from half to all may be must not close the gap.
    """
    everything = np.ones(masks.shape) if present is None else present.astype(np.float64)
    theirs, best = (right(ask(evalx, x, shown, labels), labels, TOSS) for shown in (masks, everything))
    details = {"EVAL-X on whole inputs": float(best.mean())}
    found = judged(
        EVALX, right(ask(surrogate, x, masks, labels), labels, TOSS), theirs,
        asks="accuracy of the explainer's own surrogate on what it shows; chance column: EVAL-X on the same",
        readings={
            "flagged": "the surrogate knows more than the shown values say to an outsider",
            "passes": "an outsider gets as much out of the shown values",
            "unclear": "the gap is within what these rows can tell",
        },
        blind="EVAL-X may be weaker on masks unlike its own, which widens the gap; it need not rank honest above encoding",
        margin=MARGIN, details=details,
    )  # fmt: skip
    knows_more = verdict_of(interval_of(best - theirs), MARGIN) == "flagged"
    if found.verdict != "flagged" or knows_more:
        return found
    if half is not None:
        step = interval_of(theirs - right(ask(half, x, masks, labels), labels, TOSS))
        found = replace(found, details=details | {"gain from twice the rows": step.value})
        left = found.excess.ends[0] - DOUBLINGS * max(step.ends[1], 0.0)
        if best.mean() > np.bincount(labels).max() / len(labels) + MARGIN and left > MARGIN:
            return found
    return replace(found, verdict="unclear", reading="EVAL-X has learned too little to judge; give it training rows")


def random_selector(
    x: Array, masks: FloatArray, labels: IntArray, judge: Reader, present: BoolArray | None = None, *, seed: int = 0
) -> Finding:
    """Accuracy of an outside judge on what is shown, against the same number of players shown at random."""
    drawn = random_masks(masks, present, seed)
    return judged(
        RANDOM, right(ask(judge, x, masks, labels), labels, TOSS), right(ask(judge, x, drawn, labels), labels, TOSS),
        asks="accuracy of an outside judge on what is shown; chance column: on a random choice of the same size",
        readings={
            "passes": "what is shown says more than a random choice",
            "flagged": "what is shown tells an outsider no more than a random choice",
            "unclear": "not clearly better than a random choice",
        },
        blind="says whether the choice is useful, not whether it is honest: cherry-picked values are useful too",
        margin=MARGIN, wanted=True,
    )  # fmt: skip
