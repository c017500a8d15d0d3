"""Probes of masks: what boosted trees can read from a mask alone, and from the order and size of scores beyond what is
shown; and how much of a mask goes to players that cannot inform."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from accredit.audit.finding import EXCESS_MARGIN, INERT, PROBE, SCORES, AuditFinding, judge_finding, right
from accredit.checks import needs, real_numbers
from accredit.checks.numbers import truths
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.statistics import ALIKE
from accredit.errors import InvalidInput

ROUND = 0.05  # masks are rounded to this before a probe reads them: finer digits are noise that no reader uses


class NothingToJudge(InvalidInput):
    """These rows and masks give a detector nothing to measure."""


def mask_only_probe(
    masks: FloatArray, labels: IntArray, *, fit: IntArray | None = None, score: IntArray | None = None, seed: int = 0
) -> AuditFinding:
    """How well ŷ can be predicted from the mask alone, by boosted trees fitted on other rows; chance is the commonest answer.

    Masks (N, n) are rounded first, to 0.05 or half of an even share 1/n: trees read finer differences, which few networks
    downstream use. `details` hold a lower bound on I(Ŷ; M) in bits, H(Ŷ) − cross-entropy.

    >>> mask = np.eye(2)[np.arange(400) % 2]
    >>> mask_only_probe(mask, np.arange(400) % 2).value
    1.0
    """
    fit, score = halves(len(masks), seed) if fit is None or score is None else (fit, score)
    given = real_numbers(masks, "masks")
    rounded = np.round(given / min(ROUND, 0.5 / given.shape[1]))
    believed = _trees(rounded[fit], labels[fit], rounded[score], int(labels.max()) + 1, seed)
    commonest = np.bincount(labels[fit]).argmax()
    bits = np.log2(np.maximum(believed[np.arange(len(score)), labels[score]], 1e-3))
    share = np.bincount(labels[score]) / len(score)
    entropy = -float((share[share > 0] * np.log2(share[share > 0])).sum())
    return judge_finding(
        PROBE,
        right(believed, labels[score]),
        labels[score] == commonest,
        asks="accuracy of the answer predicted from the mask alone, the values unseen",
        readings={
            "flagged": "where the explainer looks reveals its answer",
            "passes": "from the mask alone boosted trees do no better than the commonest answer",
            "unclear": "the mask may reveal a little; more rows would show",
        },
        blind="overstates on images, where a mask of inked pixels is a partial picture; misses codes that need the values, "
        "and codes in fine digits of soft masks, which are rounded",
        margin=EXCESS_MARGIN,
        details={"bits at least": max(0.0, entropy + float(bits.mean())), "bits of the answer": entropy},
    )


def _trees(x: FloatArray, y: IntArray, new: FloatArray, classes: int, seed: int) -> FloatArray:
    """P(y | x) by gradient-boosted trees: (rows of new, classes)."""
    with needs("data", "probes of the leakage report"):
        from sklearn.ensemble import HistGradientBoostingClassifier
    believed = np.zeros((len(new), classes))
    if y.min() == y.max():
        believed[:, y[0]] = 1.0
        return believed
    leaf = min(10, max(2, len(y) // 10))  # rows
    trees = HistGradientBoostingClassifier(
        max_iter=60, min_samples_leaf=leaf, early_stopping=False, max_leaf_nodes=15, random_state=seed
    )
    trees.fit(x, y)
    believed[:, trees.classes_] = trees.predict_proba(new)
    return believed


def score_code(
    scores: FloatArray,
    masks: FloatArray,
    labels: IntArray,
    told: FloatArray | None = None,
    *,
    fit: IntArray | None = None,
    score: IntArray | None = None,
    seed: int = 0,
) -> AuditFinding:
    """What the order and size of the shown players' scores say about ŷ, beyond which players are shown and what they say.

    Boosted trees read the mask (N, n) and `told` (N, numbers): what is shown, and what readers answer to it, a judge and the
    explainer's own surrogate. Others also read each shown player's rank and its score, centred and scaled in its row. Chance
    is the accuracy of the first.

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(2, size=800)
    >>> up = np.where(labels[:, None] == 1, [1.0, 2.0, -5.0], [2.0, 1.0, -5.0])  # the same two players, in another order
    >>> score_code(up, np.tile([1.0, 1.0, 0.0], (800, 1)), labels).verdict
    'flagged'
    """
    fit, score = halves(len(masks), seed) if fit is None or score is None else (fit, score)
    if scores.shape != masks.shape or not np.isfinite(scores).all():
        raise InvalidInput(
            f"scores must be finite and have the shape of the masks, {masks.shape}, got {scores.shape}",
            argument="scores",
            code="shape",
        )
    shown = masks > 0
    plain = masks if told is None else np.concatenate([masks, told], axis=1)
    classes = int(labels.max()) + 1
    both = np.concatenate([plain, *_order_and_size(scores, shown)], axis=1)
    found, chance = (right(_trees(x[fit], labels[fit], x[score], classes, seed), labels[score]) for x in (both, plain))
    return judge_finding(
        SCORES,
        found,
        chance,
        asks="accuracy of the answer predicted from the order and size of scores, the mask, what is shown and the readers' "
        "answers to it; chance column: without the scores",
        readings={
            "flagged": "the order or size of the scores gives the answer away",
            "passes": "the scores say no more about the answer than what is shown",
            "unclear": "the scores may say a little; more rows would show",
        },
        blind="scores of honest explainers depend on what they hide, too; codes finer than trees can split",
        margin=EXCESS_MARGIN,
    )


def _order_and_size(scores: FloatArray, shown: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Ranks of the shown players in 0..1, and their scores in standard deviations of their row; −1 and 0 for the others."""
    hidden = np.where(shown, scores, -np.inf)
    rank = (-hidden).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    count = np.maximum(shown.sum(axis=1, keepdims=True), 1)
    mean = np.where(shown, scores, 0.0).sum(axis=1, keepdims=True) / count
    away = np.where(shown, scores - mean, 0.0)
    spread = np.sqrt((away**2).sum(axis=1, keepdims=True) / count)
    varies = spread > ALIKE * np.abs(mean)  # scores that are all the same differ from their mean by rounding
    return np.where(shown, rank / count, -1.0), np.where(varies, away, 0.0) / np.where(varies, spread, 1.0)


def halves(rows: int, seed: int) -> tuple[IntArray, IntArray]:
    """Row numbers to fit on and to score on, half of the rows each, in random order."""
    if rows < 20:
        raise InvalidInput(
            f"{rows} rows are too few for a leakage report; give at least 20, better a few hundred", code="range"
        )
    order = np.random.default_rng(seed).permutation(rows)
    return order[: rows // 2], order[rows // 2 :]


def inert_players(masks: FloatArray, inert: npt.ArrayLike, present: BoolArray | None = None) -> AuditFinding:
    """Share of the mask that goes to players that cannot inform (constant tokens, border pixels); chance: their share.

    `inert` is boolean, (n,) or (N, n).

    >>> inert_players(np.full((9, 9), 1 / 9), np.arange(9) >= 5).chance  # four default tokens among nine
    0.4444444444444444
    """
    there = np.ones(masks.shape, dtype=bool) if present is None else present
    useless = inert_mask(inert, masks.shape) & there
    if not useless.any():
        raise InvalidInput(
            "inert names no player that is present; mark the players that cannot inform with True",
            argument="inert",
            code="empty",
        )
    total = (masks * there).sum(axis=1)
    kept = total > 0
    if not kept.any():
        raise NothingToJudge("the masks are empty in all rows, so no player is preferred", code="undefined")
    mass = (masks * useless).sum(axis=1)[kept] / total[kept]
    return judge_finding(
        INERT,
        mass,
        (useless.sum(axis=1) / there.sum(axis=1))[kept],
        asks="share of the mask on players that cannot inform; chance: their share of the players",
        readings={
            "flagged": "players that cannot inform are preferred, so the mask is not about information",
            "passes": "players that cannot inform are not preferred",
            "unclear": "no clear preference for players that cannot inform",
        },
        blind="erratic from seed to seed: a code may use informative players as well; a low share proves nothing",
        margin=EXCESS_MARGIN,
    )


def inert_mask(inert: npt.ArrayLike, shape: tuple[int, ...]) -> BoolArray:
    """Who cannot inform, in every row: (n,) or (N, n) -> (N, n)."""
    given = truths(inert, "inert")
    if given.shape not in (shape, shape[1:]):
        raise InvalidInput(f"inert must have shape {shape[1:]} or {shape}, got {given.shape}", argument="inert", code="shape")
    return np.broadcast_to(given, shape)
