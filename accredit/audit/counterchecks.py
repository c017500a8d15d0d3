r"""Attention is not not explanation: the counter-checks of Wiegreffe & Pinter (2019), which train models again.

An adversary that is made for one input at a time says little by itself: is attention needed for the task at all, how far
does it move between seeds anyway, does it help a model that cannot make its own, and is there *one model* that gives the
same answers with other attention? All four train small models on half of the rows and score the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from accredit.audit.attention import FAR, SAME_PREDICTION, jensen_shannon, total_variation
from accredit.audit.finding import AuditFinding, judge_finding
from accredit.core import FloatArray
from accredit.errors import InvalidInput
from accredit.learned.epochs import batches, downhill, finite, train
from accredit.learned.weighting import rmsprop
from accredit.shortcuts.cures import Cure, Plain, RandomPretraining
from accredit.shortcuts.models import AttentionClassifier, AttentionData
from accredit.shortcuts.training import train_attention

UNIFORM, SEEDS = "uniform attention", "variance over seeds"
DIAGNOSTIC, MODEL_ADVERSARY = "diagnostic network", "model-level adversary"
COUNTERCHECKS = (UNIFORM, SEEDS, DIAGNOSTIC, MODEL_ADVERSARY)
_AGAIN = "needs the classifier trained again, with its training data; not done for a finished model"
RETRAINED: Mapping[str, str] = dict.fromkeys(COUNTERCHECKS, _AGAIN)  # what an audit of a finished model cannot do
USEFUL = 0.02  # accuracy that attention must be worth
BEYOND_SEEDS = 0.1  # nats by which an adversary must differ more than another seed does
DIAGNOSTIC_WIDTH = 128  # of the diagnostic network
PLAIN = Plain(epochs=15)


@dataclass(frozen=True)
class CounterTraining:
    """How the models of the counter-checks are trained."""

    cure: Cure = PLAIN
    seeds: int = 3  # models trained like the audited one
    strengths: tuple[float, ...] = (0.0, 0.01, 0.03, 0.1, 0.3)  # λ of the model-level adversary
    epochs: int = 30  # of the diagnostic network and of each adversary
    batch: int = 64
    rate: float = 1e-3

    def __post_init__(self) -> None:
        if self.seeds < 2 or self.epochs < 1 or not self.strengths or min(self.strengths) < 0:
            raise InvalidInput(f"{self}: give two seeds or more, at least one epoch and strengths of 0 or more", code="range")


def counterchecks(
    model: AttentionClassifier, data: AttentionData, training: CounterTraining = CounterTraining(), seed: int = 0
) -> list[AuditFinding]:
    """All four checks of a classifier on rows with labels; half of them train, the other half is scored."""
    if int(data.labels.min()) < 0:
        raise InvalidInput(
            "the counter-checks train models again and need labels; give labels for all rows", argument="labels", code="missing"
        )
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(data)))
    learn, test = data.take(order[: len(data) // 2]), data.take(order[len(data) // 2 :])
    again = [_train(model, learn, training, seed + k) for k in range(training.seeds)]
    apart = _between_seeds(model, again, test)
    return [
        uniform_attention(model, again[0], learn, test, training, seed),
        variance_over_seeds(apart),
        diagnostic_network(model, learn, test, training, seed),
        model_adversary(model, learn, test, apart, training, seed),
    ]


def _train(model: AttentionClassifier, data: AttentionData, training: CounterTraining, seed: int) -> AttentionClassifier:
    """A model of the same shape from another start."""
    fresh = AttentionClassifier(model.shape, seed=seed + 1)
    cure = training.cure
    if model.shape.attention == "uniform":  # as many epochs, but no masks to learn from
        cure = Plain(cure.epochs + (cure.random_epochs if isinstance(cure, RandomPretraining) else 0))
    train_attention(
        fresh,
        data.tokens,
        data.query,
        data.labels,
        cure,
        present=data.present,
        batch=training.batch,
        rate=training.rate,
        seed=seed,
    )
    return fresh


def uniform_attention(
    model: AttentionClassifier,
    again: AttentionClassifier,
    learn: AttentionData,
    test: AttentionData,
    training: CounterTraining,
    seed: int,
) -> AuditFinding:
    """Accuracy of a model with attention, against one whose attention is frozen flat, trained on the same rows."""
    flat = AttentionClassifier(replace(model.shape, attention="uniform"))
    without = _train(flat, learn, training, seed)
    return judge_finding(
        UNIFORM,
        _right(again, test),
        _right(without, test),
        asks="accuracy with learned attention; chance column: with attention frozen flat",
        readings={
            "passes": "the task needs attention, so asking what it explains makes sense",
            "flagged": "flat attention does as well: the task does not need attention, so it explains little",
            "unclear": "attention is worth little here",
        },
        blind="accuracy may also come from a code in the mask: read it beside the leakage report",
        margin=USEFUL,
        wanted=True,
    )


def variance_over_seeds(apart: FloatArray) -> AuditFinding:
    """How far attention moves between models that differ in their seed only."""
    return judge_finding(
        SEEDS,
        apart,
        0.0,
        asks="Jensen–Shannon divergence of attention between seeds; at most ln 2 = 0.69. The scale for adversaries",
        readings={
            "passes": "another seed attends alike",
            "flagged": "another seed attends to other tokens: attention is as much chance as explanation",
            "unclear": "another seed attends alike for some inputs only",
        },
        blind="the models are trained on half of the rows given here, which adds to the spread",
        margin=FAR,
        unit="nats",
    )


def _between_seeds(model: AttentionClassifier, again: Sequence[AttentionClassifier], test: AttentionData) -> FloatArray:
    own = _attention(model, test)
    return np.asarray(np.mean([_apart(own, _attention(other, test)) for other in again], axis=0))


class Diagnostic(nn.Module):
    """Σ α_i tanh(W e_i), then a linear layer: a model that mixes no tokens and is given its attention."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.token, self.head = nn.Linear(width, DIAGNOSTIC_WIDTH), nn.Linear(DIAGNOSTIC_WIDTH, classes)

    def forward(self, tokens: Tensor, attention: Tensor) -> Tensor:
        logits: Tensor = self.head((attention[:, :, None] * torch.tanh(self.token(tokens))).sum(dim=1))
        return logits


def diagnostic_network(
    model: AttentionClassifier, learn: AttentionData, test: AttentionData, training: CounterTraining, seed: int
) -> AuditFinding:
    """Accuracy of a simple network that is handed the model's attention, against one that is handed flat attention."""
    own = _guide(_attention(model, learn), _attention(model, test), learn, test, training, seed)
    flat = _guide(_flat(learn), _flat(test), learn, test, training, seed)
    return judge_finding(
        DIAGNOSTIC,
        own,
        flat,
        asks="accuracy of a network without context that is handed this attention; chance column: flat attention",
        readings={
            "passes": "this attention helps another model: it is about the tokens",
            "flagged": "this attention does not help another model",
            "unclear": "this attention helps another model a little",
        },
        blind="a code in the mask helps another model as well: read it beside the mask-only probe",
        margin=USEFUL,
        wanted=True,
    )


def _guide(
    attention: Tensor, on_test: Tensor, learn: AttentionData, test: AttentionData, training: CounterTraining, seed: int
) -> FloatArray:
    """1 where a diagnostic network that was trained with this attention is right, else 0."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Diagnostic(learn.tokens.shape[2], int(learn.labels.max()) + 1)

    def loss(rows: Tensor) -> Tensor:
        return nn.functional.cross_entropy(network(learn.tokens[rows], attention[rows]), learn.labels[rows])

    _descend(network, len(learn), training, seed, loss)
    with torch.no_grad():
        return np.asarray((network(test.tokens, on_test).argmax(dim=1) == test.labels).double().numpy())


def model_adversary(
    model: AttentionClassifier,
    learn: AttentionData,
    test: AttentionData,
    apart: FloatArray,
    training: CounterTraining,
    seed: int,
) -> AuditFinding:
    r"""One model that gives the same answers with other attention: trained on $\mathrm{TVD}(\hat y_a, \hat y_b) - \lambda\,
    \mathrm{KL}(\alpha_a \Vert \alpha_b)$ for several λ. The farthest of those with a mean TVD of at most 0.05 counts; chance
    is what another seed does (`apart`). `details` hold the whole curve, TVD and divergence by λ.
    """
    wanted, own = _answers(model, test), _attention(model, test)
    far, curve = np.zeros(len(test)), dict[str, float]()
    for strength in training.strengths:
        other = _disguise(model, learn, strength, training, seed)
        moved = float(total_variation(_answers(other, test), wanted).mean())
        away = _apart(_attention(other, test), own)
        curve |= {f"λ={strength:g}: TVD": moved, f"λ={strength:g}: divergence": float(away.mean())}
        if moved <= SAME_PREDICTION and away.mean() > far.mean():
            far = away
    return judge_finding(
        MODEL_ADVERSARY,
        far,
        apart,
        asks="divergence of the farthest attention of a model with the same answers; chance column: between seeds",
        readings={
            "flagged": "a model exists that answers alike and attends elsewhere, farther than another seed would",
            "passes": "no model was found that answers alike and attends elsewhere, beyond what seeds do",
            "unclear": "an adversary differs about as much as another seed",
        },
        blind="a longer search may find more; λ is tried on a small grid",
        margin=BEYOND_SEEDS,
        unit="nats",
        details=curve,
    )


def _disguise(
    model: AttentionClassifier, learn: AttentionData, strength: float, training: CounterTraining, seed: int
) -> AttentionClassifier:
    """A model trained to answer like `model` and to attend elsewhere."""
    answers, attention = _answers(model, learn), _attention(model, learn)
    other = AttentionClassifier(model.shape, seed=seed + 101)

    def loss(rows: Tensor) -> Tensor:
        logits, mask = other(*learn.take(rows).given)
        own, tiny = attention[rows], 1e-8  # KL is bounded where the other attends to nothing
        kl = (own * (own.clamp(min=tiny).log() - mask.clamp(min=tiny).log())).sum(dim=1)
        return torch.mean(total_variation(logits.softmax(dim=1), answers[rows]) - strength * kl)

    _descend(other, len(learn), training, seed, loss)
    return other


def _descend(network: nn.Module, rows: int, training: CounterTraining, seed: int, loss: Callable[[Tensor], Tensor]) -> None:
    """Epochs of RMSprop over shuffled rows."""
    rng, optimiser = np.random.default_rng(seed), rmsprop(list(network.parameters()), rate=training.rate)

    def epoch(_number: int) -> None:
        for part in batches(rng.permutation(rows), training.batch):
            found = loss(torch.from_numpy(part))
            finite(float(found.detach()))
            downhill(found, optimiser)

    network.train()
    train([network], training.epochs, epoch).warn("adversary")
    network.eval()


@torch.no_grad()
def _attention(model: AttentionClassifier, data: AttentionData) -> Tensor:
    """A distribution over tokens (N, T); a model that selects nothing counts as flat."""
    mask = model.select(*data.given)
    return mask / mask.sum(dim=1, keepdim=True)


def _flat(data: AttentionData) -> Tensor:
    return data.there / data.there.sum(dim=1, keepdim=True)


@torch.no_grad()
def _answers(model: AttentionClassifier, data: AttentionData) -> Tensor:
    logits, _ = model(*data.given)
    answers: Tensor = logits.softmax(dim=1)
    return answers


def _right(model: AttentionClassifier, data: AttentionData) -> FloatArray:
    return np.asarray((_answers(model, data).argmax(dim=1) == data.labels).double().numpy())


def _apart(first: Tensor, second: Tensor) -> FloatArray:
    return np.asarray(jensen_shannon(first[:, None], second[:, None]).double().numpy())
