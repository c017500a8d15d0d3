"""Does a chosen mask leak the answer? The leakage report on a trained explainer, detector by detector.

An explainer shows x_S and hides the rest. If it was trained together with the network that reads x_S, the two may have
agreed on a code: *where* it looks says the answer, whatever is there (Bai et al., 2020; Jethani et al., 2021; Puli et al.,
2024). No single number settles this, so each detector reports its value, the value of chance, an interval over rows, a
verdict and what it cannot see. All compare with ŷ, the answer that is explained.

Masks have one number per player in 0..1 (hard selections or attention); readers are functions (x, mask) -> probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from accredit.audit.finding import (
    EVALX,
    EXCESS_MARGIN,
    INERT,
    METER,
    NAMES,
    NEEDS,
    PROBE,
    RANDOM,
    READ,
    SCORES,
    SCRAMBLE,
    SURENESS,
    SURROGATE,
    TRANSPLANT,
    AuditFinding,
    Conclusion,
    Findings,
    interval_of,
    judge_finding,
)
from accredit.audit.probes import halves, inert_mask, inert_players, mask_only_probe, score_code
from accredit.audit.reader_gaps import (
    Reader,
    ask,
    evalx_gap,
    patience_for,
    post_hoc,
    random_selector,
    sureness_gap,
    surprise,
    surrogate_gap,
)
from accredit.audit.value_swaps import mask_transplant, others, value_scramble
from accredit.checks import real_numbers, shown
from accredit.checks.arguments import check_arguments
from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput, MissingExtra
from accredit.learned.black_boxes import BlackBox, check_labels
from accredit.learned.evalx import EvalX, answers, train_masked
from accredit.learned.inputs import Array, Inputs
from accredit.learned.masks import random_masks
from accredit.learned.networks import network_for
from accredit.values.solver import progress as progress_bar

if TYPE_CHECKING:
    from accredit.learned.inputs import Numbers  # unseen by `check_arguments`: `_check` says more

DECIDING = (SURROGATE, EVALX, SCRAMBLE, TRANSPLANT, SCORES)
OWN = (
    SURROGATE,
    EVALX,
    SCRAMBLE,
    TRANSPLANT,
)  # they ask the explainer's own surrogate; without one, scores convict nobody
NEEDED = (EVALX, SCRAMBLE, TRANSPLANT)  # without all of them nothing is acquitted
ABLE = 0.9  # share of what the best reader finds through random holes, from which a black box counts as a judge
ROWS_WORTH_ASKING = 1_000_000  # rows beyond which a question is not worth asking
SURELY = 2.8  # standard errors off the margin (1.96 + 0.84): four intervals in five then lie off it
BLURRED = 0.5  # standard errors by which the middle is taken to be nearer to the margin than it was seen


def conclude(found: Sequence[AuditFinding], not_run: Mapping[str, str], total: int) -> Conclusion:
    """The verdict from what the detectors found on `total` rows."""
    by_name = {finding.name: finding for finding in found}
    convicts = DECIDING if any(name in by_name for name in OWN) else ()
    guilty = [by_name[name] for name in convicts if name in by_name and by_name[name].verdict == "flagged"]
    if guilty:
        return Conclusion("leaks", "; ".join(map(_evidence, guilty)), tuple(finding.name for finding in guilty))
    missing = [name for name in NEEDED if name not in by_name]
    if missing:
        why = "; ".join(f"{name} {not_run.get(name, 'was not asked for')}" for name in missing)
        return Conclusion("cannot tell", why)
    meter = by_name.get(METER)
    beside = [by_name[name].verdict if name in by_name else "not run" for name in (PROBE, SURENESS)]
    hinted = meter is not None and meter.verdict != "passes" and set(beside) != {"passes"}
    hint = _evidence(meter) if meter is not None and hinted else ""
    unclear = [by_name[name] for name in DECIDING if name in by_name and by_name[name].verdict == "unclear"]
    if _reads_as_much(by_name.get(SURROGATE)):
        unclear = [finding for finding in unclear if finding.name != EVALX]
    if unclear:
        rows = rows_to_decide(unclear, total)
        more = f"about {rows:,} rows might decide" if rows else _not_by_rows(unclear)
        names = tuple(finding.name for finding in unclear)
        blocked = f" whether it leaks; {hint} keeps it from being acquitted" if rows and hint else ""
        return Conclusion("cannot tell", f"{', '.join(names)} unclear on {total:,} rows; {more}{blocked}", names, rows)
    if hint:
        return Conclusion(
            "cannot tell",
            f"{hint}, which honest explainers whose choice depends on the class have too; every deciding detector passes",
            (METER,),
        )
    passed = tuple(name for name in NAMES if name in DECIDING and name in by_name)
    return Conclusion("does not leak", f"{', '.join(passed)} find no code on {total:,} rows; none of them is a proof", passed)


def _reads_as_much(gap: AuditFinding | None) -> bool:
    """Whether the black box, which reads random holes as well as anybody, gets as much out of what is shown as the surrogate:
    then a judge that may be weaker has nothing to add."""
    return gap is not None and gap.verdict == "passes" and gap.details.get(READ, 0.0) >= ABLE


def rows_to_decide(unclear: Sequence[AuditFinding], total: int) -> int | None:
    """About how many rows would move every interval off its margin, four times in five, its middle taken a little nearer to the
    margin than seen; None beyond a million, where the middle is too near to say, and where an interval is off its margin
    already, so that something else is missing."""
    if any(map(_is_decided, unclear)):
        return None
    most = 0.0
    for finding in unclear:
        low, high = finding.excess.ends
        error = (high - low) / 2 / 1.96
        gap = abs(finding.excess.value - finding.margin) - BLURRED * error
        most = max(most, (SURELY * error / gap) ** 2 if gap > 0 else math.inf)
    rows = most * total
    return None if not rows <= ROWS_WORTH_ASKING else int(math.ceil(rows / 100) * 100)


def _is_decided(finding: AuditFinding) -> bool:
    """Whether its interval is off its margin, although it is unclear: the judge is too weak, or nobody reads holes."""
    low, high = finding.excess.ends
    return not low <= finding.margin <= high


def _not_by_rows(unclear: Sequence[AuditFinding]) -> str:
    """What is missing where a number of rows cannot be said."""
    missing = [f"{finding.name}: {finding.reading}" for finding in unclear if _is_decided(finding)]
    return "; ".join(missing) or "more rows of this kind would hardly decide"


def _evidence(finding: AuditFinding) -> str:
    share = finding.unit == "share"
    value, chance = ((f"{number:.0%}" if share else f"{number:.2f}") for number in (finding.value, finding.chance))
    return f"{finding.name} {value} against {chance}"


WEIGHED = 0.25  # share of a judge's rows that weigh EVAL-X against the black box; EVAL-X does not learn from them
MASKS_PER_ROW = 4  # masks of those rows: two of four as large as what is shown, one of half of the players, one of all
PULL_TO_EVALX = 1e-2  # pulls the weights to EVAL-X alone, in nats per row


@final
class Beside:
    """A judge and the black box in one voice: log-probabilities of both, weighed, and a bias; all of them linear in the share
    of players that is hidden."""

    def __init__(self, judge: Reader, black_box: Reader, classes: int) -> None:
        self.readers, self.classes = (judge, black_box), classes
        self.weights = torch.tensor([[1.0, 0.0], [0.0, 0.0]])  # of both readers: of all inputs, and per hidden share
        self.bias = torch.zeros(2, classes)

    def learn(self, x: Array, masks: FloatArray, labels: IntArray) -> Beside:
        """Weigh both on masked rows (N, n) by cross-entropy."""
        terms, hidden, goal = *self._terms(x, masks), torch.from_numpy(labels)
        start = [self.weights.clone(), self.bias.clone()]
        free = [part.clone().requires_grad_(True) for part in start]
        optimiser = torch.optim.LBFGS(free, max_iter=100, line_search_fn="strong_wolfe")

        def closure() -> Tensor:
            optimiser.zero_grad()
            away = sum(((part - begun) ** 2).sum() for part, begun in zip(free, start, strict=True))
            loss = nn.functional.cross_entropy(self._say(terms, hidden, *free), goal) + PULL_TO_EVALX * away
            torch.autograd.backward(loss)
            return torch.as_tensor(loss)

        optimiser.step(closure)  # type: ignore[no-untyped-call]
        self.weights, self.bias = (part.detach() for part in free)
        return self

    def __call__(self, x: Array, masks: FloatArray) -> FloatArray:
        terms, hidden = self._terms(x, masks)
        return self._say(terms, hidden, self.weights, self.bias).softmax(dim=1).double().numpy()

    def _terms(self, x: Array, masks: FloatArray) -> tuple[Tensor, Tensor]:
        """Log-probabilities (2, N, classes), and the share of hidden players (N, 1)."""
        said = [np.asarray(reader(x, masks), dtype=np.float64)[:, : self.classes] for reader in self.readers]
        logs = np.log(np.maximum(np.stack(said), 1e-6))
        return torch.from_numpy(logs).float(), torch.from_numpy(1 - masks.mean(axis=1, keepdims=True)).float()

    @staticmethod
    def _say(terms: Tensor, hidden: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
        heard = weights[0] + hidden * weights[1]  # (N, 2)
        return torch.einsum("nr,rnc->nc", heard, terms) + bias[0] + hidden * bias[1]


def train_judge(
    inputs: Inputs,
    x: Array,
    labels: IntArray,
    classes: int,
    k: int | None,
    black_box: Reader | None,
    shown: FloatArray,
    width: int | None,
    seed: int,
) -> Reader:
    """EVAL-X from rows and their answers; with a black box, that beside it. `shown` are masks of the explainer, whose size and
    sharpness random ones take."""
    weighed = round(WEIGHED * len(x)) if black_box is not None else 0
    alone = train_evalx(inputs, x[weighed:], labels[weighed:], classes, k, width, seed)
    if black_box is None:
        return alone
    again, who = np.tile(np.arange(weighed), MASKS_PER_ROW), np.random.default_rng(seed)
    present = inputs.present(x[again])
    masks = random_masks(shown[who.integers(len(shown), size=len(again))], present, seed)
    masks[1::4] = (who.random(masks[1::4].shape) < 0.5) & present[1::4]
    masks[3::4] = present[3::4]
    try:
        ask(black_box, x[:2], masks[:2], labels[:2])
    except InvalidInput:  # a black box of words cannot read soft masks
        return alone
    return Beside(alone, black_box, classes).learn(x[again], masks, labels[again])


def train_evalx(
    inputs: Inputs, x: Array, labels: IntArray, classes: int, k: int | None, width: int | None, seed: int
) -> Reader:
    """EVAL-X trained for as long as so many rows need."""
    epochs, patience = patience_for(len(x))
    judge = EvalX(inputs, k=k, width=width, epochs=epochs, patience=patience)
    return judge.fit(x, np.eye(classes)[labels], seed).predict


# The encode-meter: what does the choice add to the values that are shown?


def encode_meter(
    inputs: Inputs,
    x: Array,
    masks: FloatArray,
    labels: IntArray,
    evalx: Reader,
    *,
    fit: IntArray | None = None,
    score: IntArray | None = None,
    width: int | None = None,
    seed: int = 0,
) -> AuditFinding:
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
        ours = surprise(answers(reader, x[score], drawn[score]), labels[score])
        gains.append(surprise(ask(evalx, x[score], drawn[score], labels[score]), labels[score]) - ours)
    found = judge_finding(
        METER,
        gains[0],
        gains[1],
        asks="nats about the answer in the choice, beyond the values shown; chance column: masks dealt out at random",
        readings={
            "flagged": "the choice says more about the answer than the chosen values do",
            "passes": "a reader of values and choice finds nothing in the choice beyond the values",
            "unclear": "the choice may add a little; more rows would show",
        },
        blind="a better reader may find a code that this one misses; it also accuses honest explainers whose choice depends on "
        "the class, so it is a hint and decides nothing",
        margin=EXCESS_MARGIN,
        unit="nats",
    )
    if found.verdict == "flagged" and not interval_of(gains[0]).above(EXCESS_MARGIN):  # less than chance is not evidence
        return replace(found, verdict="unclear", reading="the choice adds less than the margin; only chance is lower still")
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
    epochs, patience = patience_for(len(x))
    train_masked(
        network,
        x,
        np.eye(classes)[labels],
        lambda _rng, index: masks[index],
        epochs=epochs,
        patience=patience,
        batch=128,
        rate=1e-3,
        seed=seed,
    )
    return network


ROWS_SCORED = 20_000  # scored


@check_arguments
def leakage_report(
    inputs: Inputs | None,
    x: Numbers,
    masks: Numbers,
    labels: Numbers,
    black_box: BlackBox | None = None,
    surrogate: Reader | None = None,
    evalx: EvalX | Reader | None = None,
    inert: Numbers | None = None,
    *,
    scores: Numbers | None = None,
    training: tuple[Numbers, Numbers] | None = None,
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

    >>> from accredit.learned import Tabular
    >>> x = np.random.default_rng(0).normal(size=(400, 4))
    >>> labels = (x[:, 0] > 0).astype(int)
    >>> masks = np.where(labels[:, None] == 1, [0, 0, 1, 0], [0, 0, 0, 1])  # a cheat: it says the answer by where it points
    >>> leakage_report(Tabular(4), x, masks, labels, tests=("mask-only probe",)).flagged
    ('mask-only probe',)
    """
    rows, chosen, answer = _check(inputs, x, masks, labels)
    useless = None if inert is None else inert_mask(inert, chosen.shape)
    ranked = None if scores is None else _scores(scores, chosen.shape)
    taught = None if training is None else _teach(inputs, training, answer)
    unknown = sorted(set(tests) - set(NAMES))
    if unknown:
        raise InvalidInput(
            f"there is no test {unknown[0]!r}; write some of {', '.join(NAMES)}", argument="tests", code="unknown"
        )
    fit, score = halves(len(rows), seed)
    score = score[:ROWS_SCORED]
    if surrogate is not None:
        ask(surrogate, rows[score[:9]], chosen[score[:9]], answer)  # what every detector would refuse
    with progress_bar("audit", 2 * len(tests) if progress else 0) as bar:
        present = None if inputs is None else inputs.present(rows)
        model = None if black_box is None or inputs is None else post_hoc(inputs, black_box)
        outside, half, said = _judge(inputs, evalx, taught, rows[fit], answer, fit, chosen, model, tests, width, seed)
        there = None if present is None else present[score]
        outsiders = [reader for reader in (outside, model) if reader is not None]
        drawn = random_masks(chosen, present, seed)
        spread = (np.random.default_rng(seed).random(chosen.shape) < 0.5).astype(np.float64)  # half of the players

        def on(masks: FloatArray) -> dict[str, Callable[[], AuditFinding]]:
            """The detectors that have everything they need."""
            shown, hidden, named = rows[score], masks[score], answer[score]
            ready: dict[str, Callable[[], AuditFinding]] = {
                PROBE: lambda: mask_only_probe(masks, answer, fit=fit, score=score, seed=seed)
            }
            if surrogate is not None and model is not None:
                ready[SURROGATE] = lambda: surrogate_gap(
                    shown, hidden, named, surrogate, model, outside, (drawn[score], spread[score])
                )
            if surrogate is not None and outside is not None:
                ready[EVALX] = lambda: evalx_gap(
                    shown, hidden, named, surrogate, outside, there, half, model, (drawn[score], spread[score])
                )
                ready[SURENESS] = lambda: sureness_gap(shown, hidden, named, surrogate, outside)
            if inputs is not None and outside is not None:
                ready[METER] = lambda: encode_meter(
                    inputs, rows, masks, answer, outside, fit=fit, score=score, width=width, seed=seed
                )
            if ranked is not None:
                ready[SCORES] = lambda: score_code(
                    ranked,
                    masks,
                    answer,
                    _tell(inputs, (outside, surrogate), rows, masks, answer),
                    fit=fit,
                    score=score,
                    seed=seed,
                )
            if useless is not None:
                ready[INERT] = lambda: inert_players(hidden, useless[score], there)
            if surrogate is not None:
                ready[SCRAMBLE] = lambda: value_scramble(shown, hidden, named, surrogate, outsiders, seed=seed)
                ready[TRANSPLANT] = lambda: mask_transplant(shown, hidden, named, surrogate, outsiders, seed=seed)
            judge = outside or model
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
    found = _as_sure_as_the_judge(found)
    notes = (f"{len(score)} rows scored, {len(fit)} used for fitting", *said)
    return Findings(subject, tuple(found), not_run, notes, conclude(found, not_run, len(rows)))


def _as_sure_as_the_judge(found: list[AuditFinding]) -> list[AuditFinding]:
    """The sureness gap asks the judge of the EVAL-X gap: where that cannot tell what is right, this cannot tell how sure."""
    if not any(finding.name == EVALX and finding.verdict == "unclear" for finding in found):
        return found
    return [
        replace(finding, verdict="unclear", reading="the judge cannot tell here: see the EVAL-X gap")
        if finding.name == SURENESS and finding.verdict == "flagged"
        else finding
        for finding in found
    ]


def _judge(
    inputs: Inputs | None,
    given: EvalX | Reader | None,
    training: tuple[Array, IntArray] | None,
    rows: Array,
    answer: IntArray,
    fit: IntArray,
    chosen: FloatArray,
    model: Reader | None,
    tests: tuple[str, ...],
    width: int | None,
    seed: int,
) -> tuple[Reader | None, Callable[[], Reader | None] | None, tuple[str, ...]]:
    """The judge, how to train EVAL-X alone on half of its rows (None where they do not do), and what is said of it."""
    if given is not None:
        if training is not None:
            raise InvalidInput(
                "evalx is a judge, and training has rows to train one; leave one of them out",
                argument="training",
                code="conflict",
            )
        return (given.predict if isinstance(given, EvalX) else given), None, ("the judge was given",)
    if inputs is None or not {SURROGATE, EVALX, SURENESS, METER, SCORES, RANDOM} & set(tests):
        return None, None, ()
    x, labels = training or (rows, answer[fit])
    classes, k = int(answer.max()) + 1, _size(chosen)
    try:
        judge = train_judge(inputs, x, labels, classes, k, model, chosen, width, seed)
    except InvalidInput as error:
        return None, None, (f"no judge could be trained: {error}",)

    def of_half() -> Reader | None:
        half = len(x) // 2
        try:
            return train_evalx(inputs, x[:half], labels[:half], classes, k, width, seed)
        except InvalidInput:  # half of few rows may be too few to learn from
            return None

    whence = f"{len(x):,} {'training' if training is not None else 'audit'} rows"
    told = ", and is told the black box's answer, too" if isinstance(judge, Beside) else ""
    return judge, of_half, (f"the judge was trained on {whence}{told}",)


def _teach(inputs: Inputs | None, training: tuple[Numbers, Numbers], answer: IntArray) -> tuple[Array, IntArray]:
    """The rows that train a judge, and their answers."""
    if not isinstance(training, tuple | list) or len(training) != 2 or inputs is None:
        raise InvalidInput(
            f"training is {shown(training)}; give a pair (rows, answers) of what inputs describes",
            argument="training",
            code="type",
        )
    x = inputs.check(training[0])
    labels = check_labels(training[1], len(x))
    if labels.max() > answer.max():
        raise InvalidInput(
            f"training has answers up to {labels.max()}; give rows with answers up to {answer.max()}",
            argument="training",
            code="conflict",
        )
    return x, labels


def _tell(
    inputs: Inputs | None, readers: Sequence[Reader | None], x: Array, masks: FloatArray, labels: IntArray
) -> FloatArray | None:
    """What is shown, where it is numbers, and what readers say about it, side by side: (N, numbers).

    Scores may honestly be a function of what is shown, as the values themselves are: what those tell is not the scores' doing.
    """
    told: list[Array] = [ask(reader, x, masks, labels) for reader in readers if reader is not None]
    kept = None if inputs is None else inputs.keep(x, masks > 0)
    if kept is not None and np.issubdtype(kept.dtype, np.floating):
        told.append(kept.reshape(len(kept), -1))
    return np.concatenate(told, axis=1).astype(np.float64, copy=False) if told else None


def _scores(scores: npt.ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    given = real_numbers(scores, "scores")
    if given.shape != shape or np.isnan(given).any():
        raise InvalidInput(
            f"scores must be numbers of shape {shape}, one per player, got {given.shape}", argument="scores", code="shape"
        )
    return np.clip(given, -1e12, 1e12)


def _check(
    inputs: Inputs | None, x: npt.ArrayLike, masks: npt.ArrayLike, labels: npt.ArrayLike
) -> tuple[Array, FloatArray, IntArray]:
    rows: Array = np.asarray(x) if inputs is None else inputs.check(x)
    chosen = real_numbers(masks, "masks")
    if chosen.ndim != 2 or len(chosen) != len(rows) or (inputs is not None and chosen.shape[1] != inputs.n):
        wanted = f"({len(rows)}, {inputs.n if inputs is not None else 'players'})"
        raise InvalidInput(
            f"masks must have shape {wanted}, one column per player; got {chosen.shape}", argument="masks", code="shape"
        )
    if not ((chosen >= 0) & (chosen <= 1)).all():
        raise InvalidInput("masks must be finite numbers in 0..1", argument="masks", code="range")
    return rows, chosen, check_labels(labels, len(rows))


def _size(masks: FloatArray) -> int | None:
    """How many players hard masks keep, if they are hard."""
    return max(1, round(float(masks.sum(axis=1).mean()))) if np.isin(masks, (0.0, 1.0)).all() else None
