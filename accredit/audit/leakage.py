"""Does a chosen mask leak the answer? The leakage report on a trained explainer, detector by detector.

An explainer shows x_S and hides the rest. If it was trained together with the network that reads x_S, the two may have
agreed on a code: *where* it looks says the answer, whatever is there (Bai et al., 2020; Jethani et al., 2021; Puli et al.,
2024). No single number settles this, so each detector tells its value, the value of chance, an interval over rows, a
verdict and what it cannot see. All compare with ŷ, the answer that is explained.

Masks have one number a player in 0..1 (hard selections or attention); readers are functions (x, mask) -> probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from accredit.audit.finding import Finding, Findings, judged, right
from accredit.core import BoolArray, FloatArray, IntArray, InvalidInput, MissingExtra
from accredit.learned.evalx import EvalX, answers, train_masked
from accredit.learned.inputs import Array, BlackBox, Inputs
from accredit.learned.networks import network_for

Reader = Callable[[Array, FloatArray], npt.ArrayLike]  # inputs (N, ...), masks (N, n) -> probabilities (N, classes)
MARGIN = 0.05  # of a share, or nats: excess that is not worth an alarm
ROUND = 0.05  # masks are rounded to this before a probe reads them: finer digits are noise that no reader uses
TOSS = 0.1  # lead below which two answers of a reader count as a toss
MOST_ROWS = 4000  # scored
PROBE = "mask-only probe"
SURROGATE = "surrogate gap"
EVALX = "EVAL-X gap"
METER = "encode-meter"
INERT = "inert players"
SCRAMBLE = "value scramble"
TRANSPLANT = "mask transplant"
RANDOM = "random selector"
NAMES = (PROBE, SURROGATE, EVALX, METER, INERT, SCRAMBLE, TRANSPLANT, RANDOM)


def mask_only_probe(
    masks: FloatArray, labels: IntArray, *, fit: IntArray | None = None, score: IntArray | None = None, seed: int = 0
) -> Finding:
    """How well ŷ can be told from the mask alone, by boosted trees fitted on other rows; chance is the commonest answer.

    Masks (N, n) are rounded to 0.05 first: trees read differences among weights of 1e-3 that no downstream network uses.
    `details` hold a lower bound on I(Ŷ; M) in bits, H(Ŷ) − cross-entropy.

    >>> mask = np.eye(2)[np.arange(400) % 2]
    >>> mask_only_probe(mask, np.arange(400) % 2).value
    1.0
    """
    fit, score = halves(len(masks), seed) if fit is None or score is None else (fit, score)
    rounded = np.round(np.asarray(masks, dtype=np.float64) / ROUND)
    believed = _trees(rounded[fit], labels[fit], rounded[score], int(labels.max()) + 1, seed)
    commonest = np.bincount(labels[fit]).argmax()
    told = np.log2(np.maximum(believed[np.arange(len(score)), labels[score]], 1e-3))
    share = np.bincount(labels[score]) / len(score)
    entropy = -float((share[share > 0] * np.log2(share[share > 0])).sum())
    return judged(
        PROBE, right(believed, labels[score]), labels[score] == commonest,
        asks="accuracy of the answer told from the mask alone, the values unseen",
        readings={
            "flagged": "where the explainer looks tells its answer",
            "passes": "the mask alone tells no more than the commonest answer",
            "unclear": "the mask may tell a little; more rows would show",
        },
        blind="overstates on images, where a mask of inked pixels is a partial picture; misses codes that need the values",
        margin=MARGIN, details={"bits at least": max(0.0, entropy + float(told.mean())), "bits of the answer": entropy},
        seed=seed,
    )  # fmt: skip


def _trees(x: FloatArray, y: IntArray, new: FloatArray, classes: int, seed: int) -> FloatArray:
    """P(y | x) by gradient-boosted trees: (rows of new, classes)."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise MissingExtra("scikit-learn", "data", "the mask-only probe") from None
    trees = HistGradientBoostingClassifier(
        max_iter=60, min_samples_leaf=10, early_stopping=False, max_leaf_nodes=15, random_state=seed
    )
    believed = np.zeros((len(new), classes))
    trees.fit(x, y)
    believed[:, trees.classes_] = trees.predict_proba(new)
    return believed


def surrogate_gap(x: Array, masks: FloatArray, labels: IntArray, surrogate: Reader, black_box: Reader) -> Finding:
    """Accuracy of the explainer's own surrogate on x_S, against the black box on the same x_S (post-hoc accuracy)."""
    return judged(
        SURROGATE, right(_ask(surrogate, x, masks), labels, TOSS), right(_ask(black_box, x, masks), labels, TOSS),
        asks="accuracy of the explainer's own surrogate on what it shows; chance column: the black box on the same",
        readings={
            "flagged": "the surrogate gets more out of what is shown than the model it imitates",
            "passes": "the surrogate gets no more out of what is shown than the model does",
            "unclear": "the gap is within what these rows can tell",
        },
        blind="a black box reads inputs with holes badly, which widens the gap without any code; a black box that is "
        "fooled by the same holes narrows it",
        margin=MARGIN,
    )  # fmt: skip


def evalx_gap(x: Array, masks: FloatArray, labels: IntArray, surrogate: Reader, evalx: Reader) -> Finding:
    """Accuracy of the explainer's own surrogate on x_S, against EVAL-X, which never met the explainer (Jethani et al.)."""
    return judged(
        EVALX, right(_ask(surrogate, x, masks), labels, TOSS), right(_ask(evalx, x, masks), labels, TOSS),
        asks="accuracy of the explainer's own surrogate on what it shows; chance column: EVAL-X on the same",
        readings={
            "flagged": "the surrogate knows more than the shown values say to an outsider",
            "passes": "an outsider gets as much out of the shown values",
            "unclear": "the gap is within what these rows can tell",
        },
        blind="a weak EVAL-X (too little data, masks unlike its own) widens the gap; it need not rank honest above encoding",
        margin=MARGIN,
    )  # fmt: skip


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
        gains.append(_surprise(_ask(evalx, x[score], drawn[score]), labels[score]) - ours)
    return judged(
        METER, gains[0], gains[1],
        asks="nats about the answer in the choice, beyond the values shown; chance column: masks dealt out at random",
        readings={
            "flagged": "what is chosen tells of the answer what the chosen values do not",
            "passes": "the choice adds nothing to the values it shows",
            "unclear": "the choice may add a little; more rows would show",
        },
        blind="a lower bound: a better reader may find a code that this one misses; EVAL-X must be well trained",
        margin=MARGIN, unit="nats", seed=seed,
    )  # fmt: skip


class _MaskAware(nn.Module):
    """A network of x ⊙ m that is also told the mask, which removed words or dark pixels do not always show."""

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
    train_masked(
        network, x, np.eye(classes)[labels], lambda _rng, index: masks[index],
        epochs=40, patience=5, batch=128, rate=1e-3, seed=seed,
    )  # fmt: skip
    return network


def inert_players(masks: FloatArray, inert: npt.ArrayLike, present: BoolArray | None = None) -> Finding:
    """Share of the mask that goes to players that cannot inform (constant tokens, border pixels); chance: their share.

    `inert` is boolean, (n,) or (N, n).

    >>> inert_players(np.full((9, 9), 1 / 9), np.arange(9) >= 5).chance  # four default tokens among nine
    0.4444444444444444
    """
    there = np.ones(masks.shape, dtype=bool) if present is None else present
    useless = np.broadcast_to(np.asarray(inert, dtype=bool), masks.shape) & there
    if not useless.any():
        raise InvalidInput("inert names no player that is present; mark the players that cannot inform with True")
    total = (masks * there).sum(axis=1)
    kept = total > 0
    mass = (masks * useless).sum(axis=1)[kept] / total[kept]
    return judged(
        INERT, mass, (useless.sum(axis=1) / there.sum(axis=1))[kept],
        asks="share of the mask on players that cannot inform; chance: their share of the players",
        readings={
            "flagged": "players that cannot inform are preferred, so the mask is not about information",
            "passes": "players that cannot inform are not preferred",
            "unclear": "no clear preference for players that cannot inform",
        },
        blind="erratic from seed to seed: a code may use informative players as well; a low share proves nothing",
        margin=MARGIN,
    )  # fmt: skip


def value_scramble(x: Array, masks: FloatArray, labels: IntArray, surrogate: Reader, *, seed: int = 0) -> Finding:
    """Keep the mask, take another row's values: does the surrogate still give the old answer? Chance: how common it is."""
    swapped = x[others(len(x), np.random.default_rng(seed))]
    said = _ask(surrogate, swapped, masks).argmax(axis=1)
    share = np.bincount(labels, minlength=int(said.max()) + 1) / len(labels)
    return judged(
        SCRAMBLE, said == labels, share[said],
        asks="share of answers that stay although the shown values come from another row",
        readings={
            "flagged": "the answer stays when the values go: it came from the mask",
            "passes": "the answer goes with the values",
            "unclear": "a few answers may come from the mask; more rows would show",
        },
        blind="need not fall to chance on images, where the mask is a partial picture; blind to codes that need the values",
        margin=MARGIN, seed=seed,
    )  # fmt: skip


def mask_transplant(x: Array, masks: FloatArray, labels: IntArray, surrogate: Reader, *, seed: int = 0) -> Finding:
    """Put on a row the mask of a row with another answer: whom does the surrogate follow? Chance is one half.

    Rows answered by neither of the two are left out.
    """
    rng = np.random.default_rng(seed)
    donor = np.array([rng.choice(np.flatnonzero(labels != label)) for label in labels])
    said = _ask(surrogate, x, masks[donor]).argmax(axis=1)
    followed = said == labels[donor]
    counted = followed | (said == labels)
    if not counted.any():
        raise InvalidInput("no row is answered by either of its two labels; the surrogate does not fit these labels")
    return judged(
        TRANSPLANT, followed[counted], 0.5,
        asks="share of answers that follow the mask's donor and not the values' owner",
        readings={
            "flagged": "the answer moves with the mask",
            "passes": "the answer does not move with the mask",
            "unclear": "mask and values pull about equally",
        },
        blind="a code that yields to strong values stays below one half and is not seen",
        margin=MARGIN, details={"rows answered by one of the two": float(counted.mean())}, seed=seed,
    )  # fmt: skip


def random_selector(
    x: Array, masks: FloatArray, labels: IntArray, judge: Reader, present: BoolArray | None = None, *, seed: int = 0
) -> Finding:
    """Accuracy of an outside judge on what is shown, against the same number of players shown at random."""
    drawn = random_masks(masks, present, seed)
    return judged(
        RANDOM, right(_ask(judge, x, masks), labels, TOSS), right(_ask(judge, x, drawn), labels, TOSS),
        asks="accuracy of an outside judge on what is shown; chance column: on a random choice of the same size",
        readings={
            "passes": "what is shown tells more than a random choice",
            "flagged": "what is shown tells an outsider no more than a random choice",
            "unclear": "not clearly better than a random choice",
        },
        blind="says whether the choice is useful, not whether it is honest: cherry-picked values also tell",
        margin=MARGIN, wanted=True, seed=seed,
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
    tests: tuple[str, ...] = NAMES,
    width: int | None = None,
    seed: int = 0,
    subject: str = "explainer",
) -> Findings:
    """Every detector that the parts at hand allow, on rows that the explainer was not trained on.

    `x` (N, ...) are inputs, `masks` (N, n) what the explainer chose for them, `labels` (N,) the answers it explains. Half of
    the rows fit the probe, the reader of the encode-meter and, where none is given, EVAL-X; the other half is scored. Without
    `inputs` (tokens of an attention model) nothing is trained but the probe. `random` beside each value is the same detector
    on a random selector of the same size. Cost: up to three small trainings; everything else is forward passes.
    """
    rows, chosen, answer = _checked(inputs, x, masks, labels)
    unknown = sorted(set(tests) - set(NAMES))
    if unknown:
        raise InvalidInput(f"there is no test {unknown[0]!r}; write some of {', '.join(NAMES)}")
    fit, score = halves(len(rows), seed)
    score = score[:MOST_ROWS]
    present = None if inputs is None else inputs.present(rows)
    outside = evalx.predict if isinstance(evalx, EvalX) else evalx
    if outside is None and inputs is not None and {EVALX, METER, RANDOM} & set(tests):
        outside = EvalX(inputs, k=_size(chosen), width=width).fit(rows[fit], answer[fit], seed).predict
    post_hoc = None if black_box is None or inputs is None else _post_hoc(inputs, black_box)
    there = None if present is None else present[score]
    drawn = random_masks(chosen, present, seed)

    def on(masks: FloatArray) -> dict[str, Callable[[], Finding]]:
        """The detectors for which there is all that they need."""
        shown, hidden, said = rows[score], masks[score], answer[score]
        ready: dict[str, Callable[[], Finding]] = {
            PROBE: lambda: mask_only_probe(masks, answer, fit=fit, score=score, seed=seed)
        }
        if surrogate is not None and post_hoc is not None:
            ready[SURROGATE] = lambda: surrogate_gap(shown, hidden, said, surrogate, post_hoc)
        if surrogate is not None and outside is not None:
            ready[EVALX] = lambda: evalx_gap(shown, hidden, said, surrogate, outside)
        if inputs is not None and outside is not None:
            ready[METER] = lambda: encode_meter(
                inputs, rows, masks, answer, outside, fit=fit, score=score, width=width, seed=seed
            )
        if inert is not None:
            ready[INERT] = lambda: inert_players(hidden, _of_rows(inert, score), there)
        if surrogate is not None:
            ready[SCRAMBLE] = lambda: value_scramble(shown, hidden, said, surrogate, seed=seed)
            ready[TRANSPLANT] = lambda: mask_transplant(shown, hidden, said, surrogate, seed=seed)
        judge = outside or post_hoc
        if judge is not None:
            ready[RANDOM] = lambda: random_selector(shown, hidden, said, judge, there, seed=seed)
        return ready

    ours, blindly = on(chosen), on(drawn)
    found = []
    not_run = {name: NEEDS[name] for name in NAMES if name in tests and name not in ours}
    for name in (name for name in NAMES if name in tests and name in ours):
        try:
            finding = ours[name]()
            beside = None if name in (METER, RANDOM) else blindly[name]().value
        except MissingExtra as error:
            not_run[name] = str(error)
            continue
        found.append(replace(finding, random=beside))
    return Findings(subject, tuple(found), not_run, (f"{len(score)} rows scored, {len(fit)} used for fitting",))


NEEDS: Mapping[str, str] = {
    SURROGATE: "needs the explainer's own surrogate and the black box",
    EVALX: "needs the explainer's own surrogate and EVAL-X",
    METER: "needs the kind of inputs, to train EVAL-X and a reader",
    INERT: "needs to know which players cannot inform",
    SCRAMBLE: "needs the explainer's own surrogate",
    TRANSPLANT: "needs the explainer's own surrogate",
    RANDOM: "needs EVAL-X or the black box",
}


def halves(rows: int, seed: int) -> tuple[IntArray, IntArray]:
    """Row numbers to fit on and to score on, half of the rows each, in random order."""
    if rows < 20:
        raise InvalidInput(f"{rows} rows are too few for a leakage report; give at least 20, better some hundreds")
    order = np.random.default_rng(seed).permutation(rows)
    return order[: rows // 2], order[rows // 2 :]


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


def random_masks(masks: FloatArray, present: BoolArray | None, seed: int) -> FloatArray:
    """Each row's mask shuffled among the players that are there: as many and as sharp, but blind. (N, n)."""
    draws = np.random.default_rng(seed).random(masks.shape)
    there = np.ones(masks.shape, dtype=bool) if present is None else present
    to = np.where(there, draws, 2.0).argsort(axis=1)  # present players first, in random order
    values = np.take_along_axis(masks, np.argsort(~there, axis=1, kind="stable"), axis=1)
    shuffled = np.zeros_like(masks)
    np.put_along_axis(shuffled, to, values, axis=1)
    return shuffled


def _checked(
    inputs: Inputs | None, x: npt.ArrayLike, masks: npt.ArrayLike, labels: npt.ArrayLike
) -> tuple[Array, FloatArray, IntArray]:
    rows: Any = np.asarray(x) if inputs is None else inputs.check(x)
    chosen, answer = np.asarray(masks, dtype=np.float64), np.asarray(labels)
    if chosen.ndim != 2 or len(chosen) != len(rows) or (inputs is not None and chosen.shape[1] != inputs.n):
        wanted = f"({len(rows)}, {inputs.n if inputs is not None else 'players'})"
        raise InvalidInput(f"masks must have shape {wanted}, one column a player; got {chosen.shape}")
    if not (np.isfinite(chosen).all() and chosen.min() >= 0 and chosen.max() <= 1):
        raise InvalidInput("masks must be finite numbers in 0..1")
    if answer.shape != (len(rows),) or answer.dtype.kind not in "iub" or (len(answer) and answer.min() < 0):
        raise InvalidInput(f"labels must be {len(rows)} whole numbers from 0, got {answer.shape} of {answer.dtype}")
    if len(np.unique(answer)) < 2:
        raise InvalidInput(f"all {len(rows)} labels are the same: no mask can leak an answer that never varies")
    return rows, chosen, answer.astype(np.int64)


def _size(masks: FloatArray) -> int | None:
    """How many players hard masks keep, if they are hard."""
    return max(1, round(float(masks.sum(axis=1).mean()))) if np.isin(masks, (0.0, 1.0)).all() else None


def _post_hoc(inputs: Inputs, black_box: BlackBox) -> Reader:
    return lambda x, mask: black_box(inputs.keep(x, mask))


def _of_rows(inert: npt.ArrayLike, rows: IntArray) -> BoolArray:
    given = np.asarray(inert, dtype=bool)
    return given if given.ndim == 1 else given[rows]


def _ask(reader: Reader, x: Array, masks: FloatArray) -> FloatArray:
    said = np.asarray(reader(x, masks), dtype=np.float64)
    if said.ndim != 2 or len(said) != len(x) or not np.isfinite(said).all():
        raise InvalidInput(f"a reader must return finite probabilities ({len(x)}, classes), got {said.shape}")
    return said


def _surprise(believed: FloatArray, labels: IntArray) -> FloatArray:
    """−log P(label) in nats, at most 7: one certain error must not decide a mean."""
    return np.asarray(-np.log(np.maximum(believed[np.arange(len(labels)), labels], 1e-3)))
