"""Gaps: does the explainer's own surrogate get more out of what is shown than outsiders do?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from accredit.audit.finding import (
    EVALX,
    EXCESS_MARGIN,
    RANDOM,
    READ,
    SURENESS,
    SURROGATE,
    AuditFinding,
    interval_of,
    judge_finding,
    right,
)
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.learned.black_boxes import BlackBox, check_answers
from accredit.learned.inputs import Array, Inputs
from accredit.learned.masks import random_masks

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


DOUBLINGS = 2  # of a judge's training rows that must not close a gap, for it to count


def surrogate_gap(
    x: Array,
    masks: FloatArray,
    labels: IntArray,
    surrogate: Reader,
    black_box: Reader,
    evalx: Reader | None = None,
    drawn: Sequence[FloatArray] = (),
) -> AuditFinding:
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
        details |= {READ: share}
    found = judge_finding(
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
        margin=EXCESS_MARGIN,
        details=details,
    )
    found = _beyond_the_commonest(found, ours, float(common))
    if found.verdict == "flagged" and len(drawn) and share is None:
        return replace(
            found,
            verdict="unclear",
            reading="nobody reads random holes here, so the black box may just read them badly",
        )
    return found


def _beyond_the_commonest(found: AuditFinding, ours: FloatArray, common: float) -> AuditFinding:
    """Where the surrogate is not surely better than always naming the commonest answer, a gap shows a bad outsider, no code."""
    if found.verdict != "flagged" or interval_of(ours - common).above(0.0):
        return found
    return replace(
        found,
        verdict="unclear",
        reading="the surrogate finds no more than the commonest answer; the outsider finds even less",
    )


def _share_read(reader: FloatArray, *others: FloatArray, common: float) -> float | None:
    """The share of what the best of all gets beyond the commonest answer that `reader` surely gets; None: of nothing."""
    best = max((reader, *others), key=lambda found: float(found.mean()))
    beyond = float(best.mean()) - common
    if beyond <= 2 * EXCESS_MARGIN:  # too little to tell good readers from bad ones
        return None
    behind = interval_of(reader - best).ends[0] if best is not reader else 0.0
    return float(np.clip(1 + behind / beyond, 0.0, 1.0))


def evalx_gap(
    x: Array,
    masks: FloatArray,
    labels: IntArray,
    surrogate: Reader,
    evalx: Reader,
    present: BoolArray | None = None,
    half: Callable[[], Reader | None] | None = None,
    black_box: Reader | None = None,
    drawn: Sequence[FloatArray] = (),
) -> AuditFinding:
    """Accuracy of the explainer's own surrogate on x_S, against EVAL-X, which never met the explainer (Jethani et al.).

    A judge that misreads inputs widens the gap without any code. So a gap counts only beyond what the judge misses where
    nothing is encoded: behind the surrogate on whole inputs and on random masks `drawn`, and behind the black box on whole
    inputs. The last may be a matter of rows: `half` trains the same judge on half of its rows, where that is asked. Where two
    more steps as large as the one from half to all would not close the gap, the judge is as good as its kind can be, and the
    gap counts.
    """
    everything = np.ones(masks.shape) if present is None else present.astype(np.float64)
    common = float(np.bincount(labels).max() / len(labels))

    def judge(reader: Reader, shown: FloatArray) -> FloatArray:
        return right(ask(reader, x, shown, labels), labels, TOSS)

    ours, theirs, best = judge(surrogate, masks), judge(evalx, masks), judge(evalx, everything)
    found = judge_finding(
        EVALX,
        ours,
        theirs,
        asks="accuracy of the explainer's own surrogate on what it shows; chance column: EVAL-X on the same",
        readings={
            "flagged": "the surrogate knows more than the shown values say to an outsider",
            "passes": "an outsider gets as much out of the shown values",
            "unclear": "the gap is within what these rows can tell",
        },
        blind="EVAL-X may be weaker on masks unlike its own, which widens the gap; it need not rank honest above encoding",
        margin=EXCESS_MARGIN,
        details={"EVAL-X on whole inputs": float(best.mean())},
    )
    found = _beyond_the_commonest(found, ours, common)
    if found.verdict != "flagged":
        return found
    gained = max(0.0, float(ours.mean()) - min(common, float(theirs.mean())))
    shares = [_share_read(judge(evalx, mask), judge(surrogate, mask), common=common) for mask in (*drawn, everything)]
    better = (1 - min((share for share in shares if share is not None), default=1.0)) * gained
    whole = judge(black_box, everything) if black_box is not None else np.ones(len(labels))
    missed = (1 - (_share_read(best, whole, common=common) or 0.0)) * gained
    found = replace(found, details={**found.details, "gap without any code": max(better, missed)})
    if found.excess.ends[0] - better <= EXCESS_MARGIN:
        return replace(found, verdict="unclear", reading="the surrogate reads inputs without any code better than EVAL-X, too")
    if found.excess.ends[0] - missed > EXCESS_MARGIN:
        return found
    smaller = half() if half is not None and best.mean() > common + EXCESS_MARGIN else None
    if smaller is not None:
        step = interval_of(theirs - judge(smaller, masks))
        found = replace(found, details={**found.details, "gain from twice the rows": step.value})
        if found.excess.ends[0] - DOUBLINGS * max(step.ends[1], 0.0) > EXCESS_MARGIN:
            return found
    return replace(found, verdict="unclear", reading="EVAL-X misreads whole inputs as much; give it training rows")


def sureness_gap(x: Array, masks: FloatArray, labels: IntArray, surrogate: Reader, evalx: Reader) -> AuditFinding:
    """How much surer of the right answers the explainer's own surrogate is than EVAL-X, on what is shown, in nats.

    A code may add no right answer and still be used: a value that is right in three of four rows is right in all of those in
    which it is shown, and only a reader that knows why is sure of it. An honest reader may be surer, too: this convicts nobody.
    """
    ours, theirs = (surprise(ask(reader, x, masks, labels), labels) for reader in (surrogate, evalx))
    return judge_finding(
        SURENESS,
        -ours,
        -theirs,
        asks="log-probability that the explainer's own surrogate gives the answer, from what is shown; chance column: EVAL-X",
        readings={
            "flagged": "the surrogate is surer of the answers than what is shown makes an outsider",
            "passes": "the surrogate is no surer of the answers than an outsider",
            "unclear": "the surrogate may be a little surer; more rows would show",
        },
        blind="a surrogate that uses no code; a sharp reader is surer without any",
        margin=EXCESS_MARGIN,
        unit="nats",
    )


def random_selector(
    x: Array, masks: FloatArray, labels: IntArray, judge: Reader, present: BoolArray | None = None, *, seed: int = 0
) -> AuditFinding:
    """Accuracy of an outside judge on what is shown, against the same number of players shown at random."""
    drawn = random_masks(masks, present, seed)
    return judge_finding(
        RANDOM,
        right(ask(judge, x, masks, labels), labels, TOSS),
        right(ask(judge, x, drawn, labels), labels, TOSS),
        asks="accuracy of an outside judge on what is shown; chance column: on a random choice of the same size",
        readings={
            "passes": "what is shown says more than a random choice",
            "flagged": "what is shown tells an outsider no more than a random choice",
            "unclear": "not clearly better than a random choice",
        },
        blind="says whether the choice is useful, not whether it is honest: cherry-picked values are useful too",
        margin=EXCESS_MARGIN,
        wanted=True,
    )
