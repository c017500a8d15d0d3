"""The runs behind Tables 1 and 2: one setting, one seed, one training; finished ones are kept and not run again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from accredit.checks import needs
from accredit.checks.numbers import IntArray
from accredit.core import BoolArray, FloatArray
from accredit.shortcuts.cures import Cure, MaskNeutral, Plain, RandomPretraining
from accredit.store.executors import fresh_processes
from accredit.store.results_cache import Finished
from accredit_papers.review_texts import FIRST_WORDS, ReviewTexts

if TYPE_CHECKING:
    from accredit.shortcuts.models import AttentionClassifier

RUN_FORMAT = 1
INERT = 4  # default tokens, the same in every text
CHANCE = INERT / (FIRST_WORDS + INERT)
COMMON = 2000  # GloVe words whose spread the default tokens have
VALIDATION = 0.2  # of the training half, for choosing settings
Part = Literal["choose", "report"]
MLP, LINEAR = (128,), ()
GRAIN = 0.05  # masks are rounded to this: finer ratios are there for trees to read, but no head uses them
LEAST_CHANCE = 0.02  # P(y|m) that a neutral weight assumes at least


@dataclass(frozen=True)
class Setting:
    """One way to build and train: a row of a table, or a candidate for one."""

    method: str  # Baseline, Attention, Pretraining, Weighting
    encoder: Literal["pooling", "rcnn"]
    cure: Cure
    temperature: float = 0.1
    head: tuple[int, ...] = MLP
    attention: Literal["additive", "uniform"] = "additive"
    batch: int = 256
    units: int = 64  # of the recurrent encoder, for each direction
    features: int = 128  # of the recurrent encoder

    def words(self) -> str:
        """What distinguishes it, in a few words."""
        head = {MLP: "MLP head", LINEAR: "linear head"}.get(self.head, f"head of {' + '.join(map(str, self.head))}")
        units = f", {self.units} recurrent units, {self.features} features"
        match self.cure:
            case RandomPretraining(law, concentration, first, then):
                masks = "one-hot masks" if law == "one-hot" else f"Dirichlet({concentration:g}) masks"
                return f"{masks}, {head}, T {self.temperature:g}, {first} + {then} epochs"
            case MaskNeutral(epochs, _, _, cap, both, first, learned):
                more = ", attention weighted too" * both + f", {first} epochs on one-hot masks first" * (first > 0)
                more += ", rows weighed before P(y given m) learns from them" * (not learned)
                more += units * (self.units != Setting.units) + f", batches of {self.batch}" * (self.batch != Setting.batch)
                return f"T {self.temperature:g}, cap {cap:g}, {head}{more}, {epochs} epochs"
            case Plain(epochs):
                attention = f"T {self.temperature:g}, " if self.attention == "additive" else ""
                return f"{attention}{head}{units * (self.encoder == 'rcnn')}, batches of {self.batch}, {epochs} epochs"

    def shorten(self, epochs: int, batch: int) -> Setting:
        """The same with few epochs and small batches, for a quick look."""
        cure = self.cure
        few = replace(cure, random_epochs=epochs, epochs=epochs) if isinstance(cure, RandomPretraining) else None
        return replace(self, cure=few or replace(cure, epochs=epochs), batch=batch)


BASELINES = (  # wide and in small batches, as it takes to come near the paper's accuracy
    Setting("Baseline", "pooling", Plain(25), head=(256, 256), attention="uniform", batch=64),
    Setting("Baseline", "rcnn", Plain(25), attention="uniform", batch=64, units=128, features=256),
)
PLAIN = (Setting("Attention", "pooling", Plain(25), 0.1), Setting("Attention", "rcnn", Plain(25), 0.2))
CANDIDATES = (  # the first of a method and encoder is what choosing preferred, and is taken where nothing is chosen
    Setting("Pretraining", "pooling", RandomPretraining("dirichlet", 1.0, 25, 25), 0.2, LINEAR),
    Setting("Pretraining", "pooling", RandomPretraining("dirichlet", 0.1, 25, 25), 0.2, LINEAR),
    Setting("Pretraining", "pooling", RandomPretraining("dirichlet", 1.0, 25, 25), 0.2, MLP),
    Setting("Weighting", "pooling", MaskNeutral(25, cap=10), 0.2),
    Setting("Weighting", "pooling", MaskNeutral(25, cap=50), 0.1),
    Setting("Weighting", "pooling", MaskNeutral(25, cap=50, weigh_attention=True), 0.1),
    Setting("Pretraining", "rcnn", RandomPretraining("one-hot", 1.0, 12, 8), 0.2),
    Setting("Pretraining", "rcnn", RandomPretraining("dirichlet", 1.0, 12, 8), 0.2),
    Setting("Pretraining", "rcnn", RandomPretraining("dirichlet", 1.0, 12, 8), 0.2, LINEAR),
    Setting("Weighting", "rcnn", MaskNeutral(12, cap=10, warm_up=3), 0.2),
    Setting("Weighting", "rcnn", MaskNeutral(12, cap=50), 0.1),
    Setting("Weighting", "rcnn", MaskNeutral(12, cap=10), 0.2),
)

FURTHER = (  # Weighting stays below the paper's accuracy: what longer training, small batches and other clipping change
    Setting("Weighting", "pooling", MaskNeutral(50, cap=10), 0.2),
    Setting("Weighting", "pooling", MaskNeutral(25, cap=10), 0.2, head=(256, 256), batch=64),
    Setting("Weighting", "pooling", MaskNeutral(25, cap=200), 0.2),
    Setting("Weighting", "pooling", MaskNeutral(25, cap=10, learn_first=False), 0.2),
    Setting("Weighting", "rcnn", MaskNeutral(25, cap=10, warm_up=3), 0.2),
    Setting("Weighting", "rcnn", MaskNeutral(25, cap=10, warm_up=3), 0.2, batch=128, units=128, features=256),
)


@dataclass(frozen=True)
class ShortcutOutcome:
    """What one run came to. Shares are of 1; those on the *other* rows are on the rows held out, or on the test half."""

    accuracy: float  # on the rows trained on, as in the paper
    other_accuracy: float
    mass: float | None  # of attention on the inert tokens, on the rows trained on
    probe: float | None  # accuracy of a probe that sees rounded masks of trained rows alone
    scramble: float | None  # share of other rows answered with the label of their mask, not of the words put under it
    scramble_answer: float | None  # the same, but counted by the model's own answer to the mask's words
    neutral_loss: float | None  # on other rows
    effective_share: float | None  # of the sample, in the last epoch
    seconds: float  # of CPU
    stopped_because: str


@dataclass(frozen=True)
class ShortcutTask:
    """One run to do."""

    setting: Setting
    seed: int
    part: Part
    data: str  # folder
    cache: str  # folder of the encoded reviews
    rows: int | None = None  # reviews of each half; None: all


def run(task: ShortcutTask) -> ShortcutOutcome:
    """Train by one setting and measure; on one thread, so that several runs share a machine."""
    import torch

    from accredit.shortcuts.models import AttentionClassifier, AttentionShape
    from accredit.shortcuts.training import train_attention

    torch.set_num_threads(1)
    began, setting = time.process_time(), task.setting
    learned, other = _parts(task)
    shape = AttentionShape(
        learned.tokens.shape[2],
        learned.query.shape[1],
        encoder=setting.encoder,
        attention=setting.attention,
        temperature=setting.temperature,
        head=setting.head,
        units=setting.units,
        features=setting.features,
    )
    model = AttentionClassifier(shape, seed=task.seed)
    history = train_attention(
        model,
        learned.tokens,
        learned.query,
        learned.labels,
        setting.cure,
        present=learned.present,
        batch=setting.batch,
        seed=task.seed,
    )
    answers, masks = model.predict(learned.tokens, learned.query, learned.present)
    answered, other_masks = model.predict(other.tokens, other.query, other.present)
    selects = setting.attention == "additive"
    losses = -np.log(np.maximum(answered[np.arange(len(other.labels)), other.labels], 1e-12))
    swapped = _answers_to_other_words(model, other, other_masks) if selects else None
    return ShortcutOutcome(
        accuracy=float((answers.argmax(axis=1) == learned.labels).mean()),
        other_accuracy=float((answered.argmax(axis=1) == other.labels).mean()),
        mass=float(masks[:, FIRST_WORDS:].sum(axis=1).mean()) if selects else None,
        probe=probe_accuracy(masks, learned.labels) if selects else None,
        scramble=None if swapped is None else float((swapped == other.labels).mean()),
        scramble_answer=None if swapped is None else float((swapped == answered.argmax(axis=1)).mean()),
        neutral_loss=neutral_loss(other_masks, other.labels, losses) if selects else None,
        effective_share=history.effective_share,
        seconds=time.process_time() - began,
        stopped_because=history.stopped_because,
    )


def _answers_to_other_words(model: AttentionClassifier, given: ReviewRows, masks: FloatArray) -> IntArray:
    """What the model answers when the words under each mask are another review's: (N,)."""
    import torch

    from accredit.audit.value_swaps import others

    words = given.tokens[others(len(given.tokens), np.random.default_rng(0))]
    there = None if given.present is None else torch.as_tensor(given.present)
    with torch.no_grad():
        logits = model.answer(torch.as_tensor(words), torch.as_tensor(masks, dtype=torch.float32), there)
    answers: IntArray = logits.argmax(dim=1).numpy()
    return answers


@dataclass(frozen=True)
class ReviewRows:
    """Nine tokens, query and label of some reviews."""

    tokens: npt.NDArray[np.float32]  # (N, 9, 50): five words, four inert tokens
    query: npt.NDArray[np.float32]  # (N, 350)
    present: BoolArray | None  # (N, 9); None: all are there
    labels: IntArray  # (N,)


def _parts(task: ShortcutTask) -> tuple[ReviewRows, ReviewRows]:
    """The rows to learn from and the rows to judge by; choosing never touches the test half."""
    texts = _texts(task.data, task.cache, task.rows)
    train, test = np.flatnonzero(texts.train), np.flatnonzero(~texts.train)
    if task.part == "report":
        return _rows(texts, train), _rows(texts, test)
    order = np.random.default_rng(0).permutation(train)
    cut = round(VALIDATION * len(order))
    return _rows(texts, np.sort(order[cut:])), _rows(texts, np.sort(order[:cut]))


@cache
def _texts(data: str, cache_folder: str, rows: int | None) -> ReviewTexts:
    return ReviewTexts.load(data, cache_folder, rows)


def _rows(texts: ReviewTexts, chosen: IntArray) -> ReviewRows:
    words = texts.vectors[texts.first[chosen]]
    inert = np.broadcast_to(inert_tokens(texts.vectors), (len(chosen), INERT, words.shape[2]))
    there = np.concatenate([texts.present[chosen], np.ones((len(chosen), INERT), dtype=bool)], axis=1)
    tokens = np.concatenate([words, inert], axis=1).astype(np.float32)
    return ReviewRows(tokens, texts.query[chosen], None if there.all() else there, texts.labels[chosen])


def inert_tokens(vectors: npt.NDArray[np.float32]) -> FloatArray:
    """Four fixed random vectors (4, d) with the spread of the commonest words; the same in every text and every run."""
    drawn = np.random.default_rng(0).normal(size=(INERT, vectors.shape[1]))
    return np.asarray(drawn * vectors[:COMMON].std(), dtype=np.float64)


def run_key(task: ShortcutTask, data: str) -> dict[str, object]:
    """All that decides the numbers of a run; `data` names the reviews. A way of weighing that older runs did not know is named
    only where it is taken, so that they are found."""
    setting = asdict(task.setting)
    if setting["cure"].get("learn_first"):
        del setting["cure"]["learn_first"]
    return {
        "format": RUN_FORMAT,
        "data": data,
        "rows": task.rows,
        "part": task.part,
        "seed": task.seed,
        "cure": type(task.setting.cure).__name__,
        "setting": setting,
    }


def read_finished(
    tasks: Sequence[ShortcutTask], store: Finished, data: str, workers: int, tell: Callable[[str], None]
) -> list[ShortcutOutcome]:
    """The outcome of every task, in order: from the store where it is there, else by running it."""
    kept = {task: store.found(run_key(task, data)) for task in tasks}
    known = {task: ShortcutOutcome(**plain) for task, plain in kept.items() if plain is not None}
    missing = [task for task in dict.fromkeys(tasks) if task not in known]
    for task, outcome in _run_all(missing, workers):
        store.keep(run_key(task, data), asdict(outcome))
        known[task] = outcome
        tell(
            f"{len(known)} of {len(tasks)} runs: {task.setting.method}, {task.setting.encoder}, seed {task.seed} "
            f"({outcome.seconds:.0f} CPU s): accuracy {outcome.accuracy:.1%}"
        )
    return [known[task] for task in tasks]


def _run_all(tasks: Sequence[ShortcutTask], workers: int) -> Iterator[tuple[ShortcutTask, ShortcutOutcome]]:
    if workers == 1 or len(tasks) < 2:
        yield from ((task, run(task)) for task in tasks)
        return
    with fresh_processes(workers, initializer=_one_of_several) as pool:
        futures = {pool.submit(run, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _one_of_several() -> None:
    """A worker: one thread for every library."""
    os.environ["OMP_NUM_THREADS"] = "1"  # before the libraries are loaded


# What a mask gives away: a probe that sees nothing else, and the loss in a world where masks say nothing


def mask_probe(masks: FloatArray, labels: IntArray, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """P(Y|M) by boosted trees that see rounded masks (N, T) alone: fitted on a random half, predicting the other.

    Returns the probabilities (N/2, classes) and the rows they are for. Seconds for 25,000 rows of nine numbers. The probe
    of `audit.leakage` asks the same of any masks, some of them few, and so grows smaller trees with smaller leaves; here
    the library's own settings stay, because they are part of how the committed figures were measured.
    """
    with needs("data", "the probe of masks"):
        from sklearn.ensemble import HistGradientBoostingClassifier
    order = np.random.default_rng(seed).permutation(len(masks))
    fitted, unseen = order[: len(order) // 2], order[len(order) // 2 :]
    rounded = np.round(masks / GRAIN) * GRAIN
    trees = HistGradientBoostingClassifier(random_state=seed).fit(rounded[fitted], labels[fitted])
    return trees.predict_proba(rounded[unseen]), unseen


def probe_accuracy(masks: FloatArray, labels: IntArray, seed: int = 0) -> float:
    """How often the mask alone gives the label of rows that the probe has not seen."""
    likely, rows = mask_probe(masks, labels, seed)
    return float((likely.argmax(axis=1) == labels[rows]).mean())


def neutral_loss(masks: FloatArray, labels: IntArray, losses: FloatArray, seed: int = 0) -> float:
    r"""The loss where masks say nothing: $\sum w L / \sum w$ with $w = P(y)/P(y \mid m)$ from a fresh probe.

    For two classes, ln 2 = 0.693 and above say that without the mask's hint the answers are worth nothing. It is taken
    on the rows the probe was not fitted on.
    """
    likely, rows = mask_probe(masks, labels, seed)
    prior = np.bincount(labels) / len(labels)
    own = likely[np.arange(len(rows)), labels[rows]]
    weights = prior[labels[rows]] / np.maximum(own, LEAST_CHANCE)
    return float((weights * losses[rows]).sum() / weights.sum())
