"""Does a chosen mask leak the answer? The leakage report on a trained explainer, detector by detector.

An explainer shows x_S and hides the rest. If it was trained together with the network that reads x_S, the two may have
agreed on a code: *where* it looks says the answer, whatever is there (Bai et al., 2020; Jethani et al., 2021; Puli et al.,
2024). No single number settles this, so each detector reports its value, the value of chance, an interval over rows, a
verdict and what it cannot see. All compare with ŷ, the answer that is explained.

Masks have one number per player in 0..1 (hard selections or attention); readers are functions (x, mask) -> probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from accredit.audit.finding import Finding, Findings, interval_of, judged, right, verdict_of
from accredit.audit.names import (
    EVALX,
    INERT,
    MARGIN,
    METER,
    NAMES,
    NEEDS,
    PROBE,
    RANDOM,
    SCORES,
    SCRAMBLE,
    SURROGATE,
    TRANSPLANT,
)  # fmt: skip
from accredit.audit.probes import NothingToJudge, halves, mask_only_probe, score_code
from accredit.audit.verdict import concluded
from accredit.core import BoolArray, FloatArray, IntArray, InvalidInput, MissingExtra, real_numbers
from accredit.learned.evalx import EvalX, answers, train_masked
from accredit.learned.inputs import Array, BlackBox, Inputs, checked_answers, checked_labels
from accredit.learned.networks import network_for
from accredit.values.solver import progress as progress_bar

Reader = Callable[[Array, FloatArray], npt.ArrayLike]  # inputs (N, ...), masks (N, n) -> probabilities (N, classes)
TOSS = 0.1  # lead below which two answers of a reader count as a toss
MOST_ROWS = 20_000  # scored
DOUBLINGS = 2  # of a judge's training rows that must not close a gap, for it to count


def _patience(rows: int) -> tuple[int, int]:
    """Epochs of a small training, and how many of them without progress end it: few rows make few steps per epoch."""
    passes = min(30, max(1, round(1500 / rows)))
    return 40 * passes, 5 * passes


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
    ours, theirs = (right(_ask(reader, x, masks, labels), labels, TOSS) for reader in (surrogate, black_box))
    common = np.bincount(labels).max() / len(labels)
    details = {"black box": float(theirs.mean())}
    share = None
    readers = [reader for reader in (black_box, surrogate, evalx) if reader is not None]
    for masked in drawn:
        share = _share_read(
            *(right(_ask(reader, x, masked, labels), labels, TOSS) for reader in readers), common=common
        )
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
    theirs, best = (right(_ask(evalx, x, shown, labels), labels, TOSS) for shown in (masks, everything))
    details = {"EVAL-X on whole inputs": float(best.mean())}
    found = judged(
        EVALX, right(_ask(surrogate, x, masks, labels), labels, TOSS), theirs,
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
        step = interval_of(theirs - right(_ask(half, x, masks, labels), labels, TOSS))
        found = replace(found, details=details | {"gain from twice the rows": step.value})
        left = found.excess.ends[0] - DOUBLINGS * max(step.ends[1], 0.0)
        if best.mean() > np.bincount(labels).max() / len(labels) + MARGIN and left > MARGIN:
            return found
    return replace(found, verdict="unclear", reading="EVAL-X has learned too little to judge; give it training rows")


def encode_meter(
    inputs: Inputs, x: Array, masks: FloatArray, labels: IntArray, evalx: Reader, *,
    fit: IntArray | None = None, score: IntArray | None = None, width: int | None = None, seed: int = 0,
) -> Finding:  # fmt: skip
    r"""What the choice adds to the shown values, in nats: CE of EVAL-X on $x_S$ − CE of a reader trained on $(x_S, S)$.

    An estimate of $E[\log P(Y \mid X_S, M{=}S) - \log P(Y \mid X_S)]$ (after Puli et al., 2024). A reader trained on just
    these masks also gains from practice; chance is the same meter with the masks dealt out to other rows, where nothing
    can be encoded and practice is all there is. Two trainings.
    """
    fit, score = halves(len(masks), seed) if fit is None or score is None else (fit, score)
    rng = np.random.default_rng(seed)
    dealt = masks.copy()
    for part in (fit, score):
        dealt[part] = masks[part[others(len(part), rng)]]
    gains = []
    for drawn in (masks, dealt):
        reader = _reader(inputs, x[fit], drawn[fit], labels[fit], int(labels.max()) + 1, width, seed)
        ours = _surprise(answers(reader, x[score], drawn[score]), labels[score])
        gains.append(_surprise(_ask(evalx, x[score], drawn[score], labels[score]), labels[score]) - ours)
    found = judged(
        METER, gains[0], gains[1],
        asks="nats about the answer in the choice, beyond the values shown; chance column: masks dealt out at random",
        readings={
            "flagged": "the choice says more about the answer than the chosen values do",
            "passes": "a reader of values and choice finds nothing in the choice beyond the values",
            "unclear": "the choice may add a little; more rows would show",
        },
        blind="a better reader may find a code that this one misses; it also accuses honest explainers whose choice depends on "
        "the class, so it is a hint and decides nothing",
        margin=MARGIN, unit="nats",
    )  # fmt: skip
    if found.verdict == "flagged" and not interval_of(gains[0]).above(MARGIN):  # less than chance is not evidence
        return replace(
            found, verdict="unclear", reading="the choice adds less than the margin; only chance is lower still"
        )
    return found


class _MaskAware(nn.Module):
    """A network of x ⊙ m that also sees the mask, which removed words or dark pixels do not always show."""

    def __init__(self, inputs: Inputs, classes: int, width: int | None, seed: int) -> None:
        super().__init__()
        self.values = network_for(inputs, classes, width=width, seed=seed)
        self.join = nn.Sequential(nn.Linear(classes + inputs.n, 64), nn.ReLU(), nn.Linear(64, classes))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        from_values: Tensor = self.values(x, mask)
        both: Tensor = from_values + self.join(torch.cat([from_values, mask], dim=1))
        return both


def _reader(
    inputs: Inputs, x: Array, masks: FloatArray, labels: IntArray, classes: int, width: int | None, seed: int
) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _MaskAware(inputs, classes, width, seed)
    epochs, patience = _patience(len(x))
    train_masked(
        network, x, np.eye(classes)[labels], lambda _rng, index: masks[index],
        epochs=epochs, patience=patience, batch=128, rate=1e-3, seed=seed,
    )  # fmt: skip
    return network


def inert_players(masks: FloatArray, inert: npt.ArrayLike, present: BoolArray | None = None) -> Finding:
    """Share of the mask that goes to players that cannot inform (constant tokens, border pixels); chance: their share.

    `inert` is boolean, (n,) or (N, n).

    >>> inert_players(np.full((9, 9), 1 / 9), np.arange(9) >= 5).chance  # four default tokens among nine
    0.4444444444444444
    """
    there = np.ones(masks.shape, dtype=bool) if present is None else present
    useless = _inert(inert, masks.shape) & there
    if not useless.any():
        raise InvalidInput("inert names no player that is present; mark the players that cannot inform with True")
    total = (masks * there).sum(axis=1)
    kept = total > 0
    if not kept.any():
        raise NothingToJudge("the masks are empty in all rows, so no player is preferred")
    mass = (masks * useless).sum(axis=1)[kept] / total[kept]
    return judged(
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
        margin=MARGIN,
    )


def value_scramble(x: Array, masks: FloatArray, labels: IntArray, surrogate: Reader, *, seed: int = 0) -> Finding:
    """Keep the mask, take another row's values: does the surrogate still give the old answer? Chance: how common it is."""
    swapped = x[others(len(x), np.random.default_rng(seed))]
    said = _ask(surrogate, swapped, masks, labels).argmax(axis=1)
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
    said = _ask(surrogate, x, masks[donor], labels).argmax(axis=1)
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


def random_selector(
    x: Array, masks: FloatArray, labels: IntArray, judge: Reader, present: BoolArray | None = None, *, seed: int = 0
) -> Finding:
    """Accuracy of an outside judge on what is shown, against the same number of players shown at random."""
    drawn = random_masks(masks, present, seed)
    return judged(
        RANDOM, right(_ask(judge, x, masks, labels), labels, TOSS), right(_ask(judge, x, drawn, labels), labels, TOSS),
        asks="accuracy of an outside judge on what is shown; chance column: on a random choice of the same size",
        readings={
            "passes": "what is shown says more than a random choice",
            "flagged": "what is shown tells an outsider no more than a random choice",
            "unclear": "not clearly better than a random choice",
        },
        blind="says whether the choice is useful, not whether it is honest: cherry-picked values are useful too",
        margin=MARGIN, wanted=True,
    )  # fmt: skip


def leakage_report(
    inputs: Inputs | None,
    x: npt.ArrayLike,
    masks: npt.ArrayLike,
    labels: npt.ArrayLike,
    black_box: BlackBox | None = None,
    surrogate: Reader | None = None,
    evalx: EvalX | Reader | None = None,
    inert: npt.ArrayLike | None = None,
    *,
    scores: npt.ArrayLike | None = None,
    training: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    tests: tuple[str, ...] = NAMES,
    width: int | None = None,
    seed: int = 0,
    subject: str = "explainer",
    progress: bool = False,
) -> Findings:
    """Every detector that has the parts it needs, on rows that the explainer was not trained on, and the verdict.

    `x` (N, ...) are inputs, `masks` (N, n) what the explainer chose for them, `labels` (N,) the answers it explains, `scores`
    (N, n) what it ranks players by, if that is shown. Half of the rows fit the probes and the reader of the encode-meter; the
    other half is scored. The judge is `evalx`, or is trained: on `training` rows with their answers if they are given, else
    on the first half. Without `inputs` (tokens of an attention model) nothing is trained but the probes. `random` beside each
    value is the same detector on a random selector of the same size. A detector that cannot run is left out with its reason.
    Cost: up to four small trainings; everything else is forward passes.
    """
    rows, chosen, answer = _checked(inputs, x, masks, labels)
    useless = None if inert is None else _inert(inert, chosen.shape)
    ranked = None if scores is None else _scores(scores, chosen.shape)
    unknown = sorted(set(tests) - set(NAMES))
    if unknown:
        raise InvalidInput(f"there is no test {unknown[0]!r}; write some of {', '.join(NAMES)}")
    fit, score = halves(len(rows), seed)
    score = score[:MOST_ROWS]
    if surrogate is not None:
        _ask(surrogate, rows[score[:9]], chosen[score[:9]], answer)  # what every detector would refuse
    with progress_bar("audit", 2 * len(tests) if progress else 0) as bar:
        present = None if inputs is None else inputs.present(rows)
        outside, half, said = _judge(inputs, evalx, training, rows[fit], answer, fit, chosen, tests, width, seed)
        post_hoc = None if black_box is None or inputs is None else _post_hoc(inputs, black_box)
        there = None if present is None else present[score]
        drawn = random_masks(chosen, present, seed)
        spread = (np.random.default_rng(seed).random(chosen.shape) < 0.5).astype(np.float64)  # half of the players

        def on(masks: FloatArray) -> dict[str, Callable[[], Finding]]:
            """The detectors that have everything they need."""
            shown, hidden, named = rows[score], masks[score], answer[score]
            ready: dict[str, Callable[[], Finding]] = {
                PROBE: lambda: mask_only_probe(masks, answer, fit=fit, score=score, seed=seed)
            }
            if surrogate is not None and post_hoc is not None:
                ready[SURROGATE] = lambda: surrogate_gap(
                    shown, hidden, named, surrogate, post_hoc, outside, (drawn[score], spread[score])
                )
            if surrogate is not None and outside is not None:
                ready[EVALX] = lambda: evalx_gap(shown, hidden, named, surrogate, outside, there, half)
            if inputs is not None and outside is not None:
                ready[METER] = lambda: encode_meter(
                    inputs, rows, masks, answer, outside, fit=fit, score=score, width=width, seed=seed
                )
            if ranked is not None:
                ready[SCORES] = lambda: score_code(
                    ranked, masks, answer, _readings((outside, surrogate), rows, masks, answer), fit=fit, score=score,
                    seed=seed,
                )  # fmt: skip
            if useless is not None:
                ready[INERT] = lambda: inert_players(hidden, useless[score], there)
            if surrogate is not None:
                ready[SCRAMBLE] = lambda: value_scramble(shown, hidden, named, surrogate, seed=seed)
                ready[TRANSPLANT] = lambda: mask_transplant(shown, hidden, named, surrogate, seed=seed)
            judge = outside or post_hoc
            if judge is not None:
                ready[RANDOM] = lambda: random_selector(shown, hidden, named, judge, there, seed=seed)
            return ready

        ours, blindly = on(chosen), on(drawn)
        found = []
        not_run = {name: NEEDS[name] for name in NAMES if name in tests and name not in ours}
        for place, name in enumerate(name for name in NAMES if name in tests and name in ours):
            try:
                finding = ours[name]()
                beside = None if name in (METER, SCORES, RANDOM) else blindly[name]().value
            except (MissingExtra, InvalidInput) as error:
                not_run[name] = f"could not run: {error}"
                continue
            found.append(replace(finding, random=beside))
            bar.update(len(tests) + place)
    notes = (f"{len(score)} rows scored, {len(fit)} used for fitting", *said)
    return Findings(subject, tuple(found), not_run, notes, concluded(found, not_run, len(rows)))


def _judge(
    inputs: Inputs | None, given: EvalX | Reader | None, training: tuple[npt.ArrayLike, npt.ArrayLike] | None, rows: Array,
    answer: IntArray, fit: IntArray, chosen: FloatArray, tests: tuple[str, ...], width: int | None, seed: int,
) -> tuple[Reader | None, Reader | None, tuple[str, ...]]:  # fmt: skip
    """The judge, the same judge trained on half of its rows, and what is said of it."""
    if given is not None:
        if training is not None:
            raise InvalidInput("evalx is a judge, and training has rows to train one; leave one of them out")
        return (given.predict if isinstance(given, EvalX) else given), None, ("the judge was given",)
    if inputs is None or not {SURROGATE, EVALX, METER, SCORES, RANDOM} & set(tests):
        return None, None, ()
    x, labels = rows, answer[fit]
    if training is not None:
        x = inputs.check(training[0])
        labels = checked_labels(training[1], len(x))
        if labels.max() > answer.max():
            raise InvalidInput(
                f"training rows have answers up to {labels.max()}, the audited rows up to {answer.max()}"
            )
    wanted = np.eye(int(answer.max()) + 1)[labels]
    judges: list[Reader | None] = []
    for count in (len(x), len(x) // 2):
        epochs, patience = _patience(count)
        judge = EvalX(inputs, k=_size(chosen), width=width, epochs=epochs, patience=patience)
        try:
            judges.append(judge.fit(x[:count], wanted[:count], seed).predict)
        except InvalidInput as error:
            if not judges:
                return None, None, (f"no judge could be trained: {error}",)
            judges.append(None)
    whence = "training rows" if training is not None else "audit rows"
    return judges[0], judges[1], (f"the judge was trained on {len(x):,} {whence}",)


def _readings(readers: Sequence[Reader | None], x: Array, masks: FloatArray, labels: IntArray) -> FloatArray | None:
    """What readers say about what is shown, side by side: (N, readers · classes)."""
    said = [_ask(reader, x, masks, labels) for reader in readers if reader is not None]
    return np.concatenate(said, axis=1) if said else None


def _scores(scores: npt.ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    given = real_numbers(scores, "scores")
    if given.shape != shape or np.isnan(given).any():
        raise InvalidInput(f"scores must be numbers of shape {shape}, one per player, got {given.shape}")
    return np.clip(given, -1e12, 1e12)


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


def _checked(
    inputs: Inputs | None, x: npt.ArrayLike, masks: npt.ArrayLike, labels: npt.ArrayLike
) -> tuple[Array, FloatArray, IntArray]:
    rows: Any = np.asarray(x) if inputs is None else inputs.check(x)
    chosen = real_numbers(masks, "masks")
    if chosen.ndim != 2 or len(chosen) != len(rows) or (inputs is not None and chosen.shape[1] != inputs.n):
        wanted = f"({len(rows)}, {inputs.n if inputs is not None else 'players'})"
        raise InvalidInput(f"masks must have shape {wanted}, one column per player; got {chosen.shape}")
    if not ((chosen >= 0) & (chosen <= 1)).all():
        raise InvalidInput("masks must be finite numbers in 0..1")
    return rows, chosen, checked_labels(labels, len(rows))


def _size(masks: FloatArray) -> int | None:
    """How many players hard masks keep, if they are hard."""
    return max(1, round(float(masks.sum(axis=1).mean()))) if np.isin(masks, (0.0, 1.0)).all() else None


def _post_hoc(inputs: Inputs, black_box: BlackBox) -> Reader:
    return lambda x, mask: black_box(inputs.keep(x, mask))


def _inert(inert: npt.ArrayLike, shape: tuple[int, ...]) -> BoolArray:
    """Who cannot inform, in every row: (n,) or (N, n) -> (N, n)."""
    given = np.asarray(inert, dtype=bool)
    if given.shape not in (shape, shape[1:]):
        raise InvalidInput(f"inert must have shape {shape[1:]} or {shape}, got {given.shape}")
    return np.broadcast_to(given, shape)


def _ask(reader: Reader, x: Array, masks: FloatArray, labels: IntArray) -> FloatArray:
    """What a reader answers to masked rows, with a column for every label: (N, classes)."""
    said = checked_answers(reader(x, masks), len(x), "the answers of a reader (surrogate, EVAL-X or black box)")
    if labels.max() >= said.shape[1]:
        raise InvalidInput(
            f"labels go up to {labels.max()}, but a reader (the surrogate, EVAL-X or the black box) gives {said.shape[1]} "
            "classes from 0; give the answers that are explained as labels"
        )
    return said


def _surprise(believed: FloatArray, labels: IntArray) -> FloatArray:
    """−log P(label) in nats, at most 7: one certain error must not decide a mean."""
    return np.asarray(-np.log(np.maximum(believed[np.arange(len(labels)), labels], 1e-3)))
