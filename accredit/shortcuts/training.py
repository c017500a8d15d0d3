"""Training an attention classifier by a cure: epochs, early stopping, and a record of every epoch."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import torch

from accredit.errors import InvalidInput
from accredit.learned.epochs import Ending, NotFinite, batches, finite, train
from accredit.learned.inputs import Numbers
from accredit.learned.weighting import effective_sample_size
from accredit.shortcuts.cures import Cure, CureStage, MaskNeutral, Passed
from accredit.shortcuts.models import AttentionClassifier, AttentionData

LOW_SHARE = 0.5  # effective share of the sample below which a warning is given


@dataclass(frozen=True)
class Epoch:
    """What one pass over the training rows came to."""

    stage: str
    loss: float  # mean cross-entropy before each step, unweighted, in nats
    accuracy: float  # before each step
    seconds: float
    held_out: float | None = None  # the stage's own loss on the rows held out
    effective_share: float | None = None  # (Σw)² / (n Σw²), where rows have weights
    mask_loss: float | None = None  # cross-entropy of P(Y|M): the lower, the more a mask reveals


@dataclass
class AttentionHistory:
    """How a training went, epoch by epoch, and why it ended."""

    epochs: list[Epoch] = field(default_factory=list)
    stopped_because: str = "not trained"  # how the last stage ended
    diverged: bool = False  # a loss was not a number, and the model holds the last good weights
    notes: list[str] = field(default_factory=list)

    @property
    def effective_share(self) -> float | None:
        """The effective share of the sample in the last epoch, where rows had weights."""
        return self.epochs[-1].effective_share if self.epochs else None


def train_attention(
    model: AttentionClassifier,
    tokens: Numbers,  # (N, T, width), array or tensor
    query: Numbers,  # (N, query)
    labels: Numbers,  # (N,) whole numbers
    cure: Cure = MaskNeutral(),
    *,
    present: Numbers | None = None,  # (N, T) bool, False for padding
    validation: float = 0.0,
    patience: int | None = None,
    batch: int = 256,
    rate: float = 1e-3,
    seed: int = 0,
    progress: bool = False,
) -> AttentionHistory:
    """Train `model` in place by a cure, and return how it went.

    `validation` holds out that share of the rows. With `patience`, a stage ends when its own loss there has not improved
    for that many epochs, and the best weights are kept. If a loss is not finite, training ends, the last good weights are
    put back (with `patience` the best ones), and `stopped_because` and a warning say so. The order of rows, random masks
    and the start of P(Y|M) depend on `seed` alone. `MaskNeutral` takes about twice the time of `Plain`.

    >>> from accredit.shortcuts.models import AttentionShape
    >>> from accredit.shortcuts.cures import RandomPretraining
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(2, size=400)
    >>> tokens = rng.normal(size=(400, 3, 2)) + (2 * labels - 1)[:, None, None]
    >>> model = AttentionClassifier(AttentionShape(width=2, query=2, head=()), seed=0)
    >>> cure = RandomPretraining(random_epochs=20, epochs=2)
    >>> history = train_attention(model, tokens, tokens[:, 0], labels, cure, batch=20)
    >>> history.epochs[0].stage, history.epochs[-1].stage, history.epochs[-1].accuracy > 0.9
    ('random masks', 'attention alone', True)
    """
    data = AttentionData.of(model.shape, tokens, query, labels, present)
    _check(validation, patience, batch, rate)
    rng = np.random.default_rng(seed)
    order = torch.as_tensor(rng.permutation(len(data)))
    cut = round(validation * len(data))
    held_out = data.take(order[:cut]) if cut else None
    learned = data.take(order[cut:]) if cut else data
    history = AttentionHistory()
    model.train()
    for stage in cure.stages(model, learned, rate, seed):
        ended = _run(stage, model, learned, held_out, history, rng, batch, patience, progress)
        history.stopped_because, history.diverged = f"{stage.name}: {ended}", not ended.finite
        ended.warn(f"{type(cure).__name__}, {stage.name}")
        if history.diverged:
            break
    model.eval()
    share = history.effective_share
    if share is not None and share < LOW_SHARE:
        history.notes.append(
            f"only {share:.0%} of the sample is effective: masks reveal the label, and a few contrary rows carry the loss"
        )
    return history


def _run(
    stage: CureStage,
    model: AttentionClassifier,
    data: AttentionData,
    held_out: AttentionData | None,
    history: AttentionHistory,
    rng: np.random.Generator,
    batch: int,
    patience: int | None,
    progress: bool,
) -> Ending:
    """One stage: its epochs, recorded in `history`, and how it ended."""

    def epoch(number: int) -> float | None:
        began = time.perf_counter()
        parts = batches(rng.permutation(len(data)), batch)
        passed = [stage.step(data.take(torch.as_tensor(rows))) for rows in parts]
        if not all(bool(torch.isfinite(p).all()) for p in model.parameters()):
            raise NotFinite("a weight was not finite")
        with torch.no_grad():
            judged = None if held_out is None else finite(float(stage.judge(held_out)), "the loss on the rows held out")
        history.epochs.append(_summary(stage.name, passed, time.perf_counter() - began, judged))
        if progress:
            _report(stage, number, history.epochs[-1])
        return judged

    return train([model], stage.epochs, epoch, patience)


def _summary(stage: str, passed: list[Passed], seconds: float, held_out: float | None) -> Epoch:
    losses = torch.cat([p.losses.detach() for p in passed])
    right = torch.cat([p.right for p in passed])
    weights = [p.weights for p in passed if p.weights is not None]
    mask_losses = [p.mask_loss for p in passed if p.mask_loss is not None]
    share = effective_sample_size(torch.cat(weights)) / len(losses) if weights else None
    return Epoch(
        stage,
        float(losses.mean()),
        float(right.float().mean()),
        seconds,
        held_out,
        share,
        float(np.mean(mask_losses)) if mask_losses else None,
    )


def _report(stage: CureStage, number: int, epoch: Epoch) -> None:
    import sys

    held_out = "" if epoch.held_out is None else f", held out {epoch.held_out:.4f}"
    line = f"{stage.name}: epoch {number} of {stage.epochs}, loss {epoch.loss:.4f}, accuracy {epoch.accuracy:.3f}{held_out}"
    sys.stderr.write(line + "\n")


def _check(validation: float, patience: int | None, batch: int, rate: float) -> None:
    if not 0 <= validation < 1:
        raise InvalidInput(
            f"validation={validation} is the share of rows to hold out; give a number from 0 to below 1",
            argument="validation",
            code="range",
        )
    if patience is not None and (patience < 1 or validation == 0):
        raise InvalidInput(
            f"patience={patience} needs at least 1 and rows to judge by: give validation=0.1 too",
            argument="patience",
            code="range",
        )
    if batch < 1 or not rate > 0:
        raise InvalidInput(f"batch={batch} and rate={rate} must be positive", argument="batch", code="range")
