"""How to train a classifier with attention so that its attention is not a code for the answer (Bai et al., 2020).

Trained jointly, the selecting part learns to *say* the label by where it looks, and the answering part learns to listen.
Two cures take that code away from the answering part; the selecting part keeps its own, unweighted loss.

| cure | the answering part learns from | so that | fails when |
|---|---|---|---|
| `Plain` | the masks of attention | (this is the disease) | |
| `RandomPretraining` | random masks; then it is frozen | masks cannot carry the label | too many masks to learn from |
| `MaskNeutral` | attention's masks, weighted P(y)/P(y given m) | masks say nothing on average | masks reveal the label early |

Neither stops attention from *picking* the true words that best argue for an answer which the query already knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from accredit.core import BoolArray, FloatArray
from accredit.errors import InvalidInput
from accredit.learned.epochs import NotFinite
from accredit.learned.weighting import MaskLabels, rmsprop
from accredit.shortcuts.models import AttentionClassifier, AttentionData


@dataclass(frozen=True)
class Passed:
    """One batch as it was before the step: loss of each row, whether it was answered rightly, its weight."""

    losses: Tensor  # (rows,)
    right: Tensor  # (rows,) bool
    weights: Tensor | None = None  # (rows,)
    mask_loss: float | None = None  # cross-entropy of P(Y|M) on the batch


class CureStage(Protocol):
    """A stretch of training with its own masks and its own parameters."""

    @property
    def name(self) -> str: ...
    @property
    def epochs(self) -> int: ...
    def step(self, batch: AttentionData) -> Passed:
        """One step on these rows."""
        ...

    def judge(self, data: AttentionData) -> Tensor:
        """The mean loss that this stage is about, on other rows."""
        ...


def random_masks(rng: np.random.Generator, there: BoolArray, law: str = "dirichlet", concentration: float = 1.0) -> FloatArray:
    """Masks over the tokens that are there, (N, T), rows sum to 1: Dirichlet(concentration), or one token alone.

    >>> there = np.array([[True, True, False]] * 2)
    >>> random_masks(np.random.default_rng(0), there, "one-hot")
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    if law == "one-hot":
        first = (rng.random(there.shape) * there).argmax(axis=1)
        chosen: FloatArray = np.eye(there.shape[1])[first]
        return chosen
    tiny = np.finfo(float).tiny  # a gamma of a small concentration may round to nothing
    gamma = np.maximum(rng.standard_gamma(concentration, there.shape), tiny) * there
    share: FloatArray = gamma / gamma.sum(axis=1, keepdims=True)
    return share


@dataclass(frozen=True)
class Plain:
    """Everything together on one loss: the usual way, open to shortcuts.

    >>> from accredit.shortcuts import AttentionClassifier, AttentionShape, train_attention
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(2, size=200)
    >>> tokens = rng.normal(size=(200, 3, 2)) + (2 * labels - 1)[:, None, None]
    >>> model = AttentionClassifier(AttentionShape(width=2, query=2, head=()), seed=0)
    >>> history = train_attention(model, tokens, tokens[:, 0], labels, Plain(epochs=5), batch=20)
    >>> sorted({epoch.stage for epoch in history.epochs})
    ['together']
    """

    epochs: int = 25

    def stages(self, model: AttentionClassifier, _data: AttentionData, rate: float, _seed: int) -> Iterator[CureStage]:
        """One stage: all parameters."""
        yield OnOwnMasks("together", model, [*model.selecting, *model.answering], self.epochs, rate)


class OnOwnMasks:
    """Mean loss under attention's own masks, for the parameters given; all others stay as they are."""

    def __init__(
        self, name: str, model: AttentionClassifier, learned: Sequence[nn.Parameter], epochs: int, rate: float
    ) -> None:
        self.name, self.model, self.learned, self.epochs = name, model, learned, epochs
        self.optimiser = rmsprop(learned, rate)

    def step(self, batch: AttentionData) -> Passed:
        passed = answer(self.model, batch)
        set_gradients(self.learned, passed.losses.mean())
        self.optimiser.step()
        return passed

    def judge(self, data: AttentionData) -> Tensor:
        return answer(self.model, data).losses.mean()


@dataclass(frozen=True)
class RandomPretraining:
    """First the answering part on random masks, then, with it frozen, attention alone (§4.1 of the paper).

    The law of the random masks is a real choice: on real reviews flat masks (Dirichlet(1)) served a linear head on a sum
    and one-hot masks a recurrent encoder; a deep head that saw no masks like those of attention kept the shortcut.

    >>> from accredit.shortcuts import AttentionClassifier, AttentionShape, train_attention
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(2, size=200)
    >>> tokens = rng.normal(size=(200, 3, 2)) + (2 * labels - 1)[:, None, None]
    >>> model = AttentionClassifier(AttentionShape(width=2, query=2, head=()), seed=0)
    >>> cure = RandomPretraining(law="one-hot", random_epochs=2, epochs=2)
    >>> [epoch.stage for epoch in train_attention(model, tokens, tokens[:, 0], labels, cure, batch=20).epochs]
    ['random masks', 'random masks', 'attention alone', 'attention alone']
    """

    law: Literal["dirichlet", "one-hot"] = "dirichlet"
    concentration: float = 1.0  # of the Dirichlet law; below 1 masks are sparse
    random_epochs: int = 25
    epochs: int = 25

    def __post_init__(self) -> None:
        if self.law not in ("dirichlet", "one-hot") or not self.concentration > 0:
            raise InvalidInput(f"{self}: write law='dirichlet' with a concentration above 0, or law='one-hot'", code="range")

    def stages(self, model: AttentionClassifier, _data: AttentionData, rate: float, seed: int) -> Iterator[CureStage]:
        """Two stages: the answering part, then the selecting part."""
        needs_attention(model, self)
        yield OnRandomMasks(model, self, rate, seed)
        yield OnOwnMasks("attention alone", model, model.selecting, self.epochs, rate)


class OnRandomMasks:
    """Mean loss under random masks, for the answering part."""

    name = "random masks"

    def __init__(self, model: AttentionClassifier, cure: RandomPretraining, rate: float, seed: int) -> None:
        self.model, self.cure, self.epochs, self.seed = model, cure, cure.random_epochs, seed
        self.rng = np.random.default_rng(seed)
        self.optimiser = rmsprop(model.answering, rate)

    def _answer(self, data: AttentionData, rng: np.random.Generator) -> Passed:
        masks = random_masks(rng, data.there.numpy(), self.cure.law, self.cure.concentration)
        return answer(self.model, data, torch.as_tensor(masks, dtype=torch.float32))

    def step(self, batch: AttentionData) -> Passed:
        passed = self._answer(batch, self.rng)
        set_gradients(self.model.answering, passed.losses.mean())
        self.optimiser.step()
        return passed

    def judge(self, data: AttentionData) -> Tensor:
        return self._answer(data, np.random.default_rng(self.seed)).losses.mean()  # the same masks in every epoch


@dataclass(frozen=True)
class MaskNeutral:
    """The answering part on the loss weighted by P(y)/P(y|m), attention on the unweighted one, in the same pass (§4.2).

    P(Y|M) is learned alongside, `steps` of its own in every batch. Weights are clipped: P(y|m) ≥ `floor`, w ≤ `cap`.
    With `learn_first` it learns from a batch before it weighs it; otherwise it weighs rows that it has not seen in this epoch,
    and the weights of a batch are divided by their mean, as in `accredit.learned`, where players are many and a classifier that
    has just read a mask knows it by heart. The paper has the two alternate and does not say which comes first. Nine players are
    few: on real reviews the order made no difference that three seeds could tell, so it is as it was.
    Weighting cannot undo masks that give the label away before the answering part has learned to read: then it may end
    in answers that are wrong on purpose, all attention on one token. `warm_up` epochs of the answering part on random
    one-hot masks come first where that is a danger. `weigh_attention=True` weighs attention's loss too; on real data
    much of the shortcut then stays.

    >>> from accredit.shortcuts import AttentionClassifier, AttentionShape, train_attention
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(2, size=200)
    >>> tokens = rng.normal(size=(200, 3, 2)) + (2 * labels - 1)[:, None, None]
    >>> model = AttentionClassifier(AttentionShape(width=2, query=2, head=()), seed=0)
    >>> history = train_attention(model, tokens, tokens[:, 0], labels, MaskNeutral(epochs=5), batch=20)
    >>> sorted({epoch.stage for epoch in history.epochs})
    ['weighted']
    """

    epochs: int = 25
    steps: int = 5
    floor: float = 1e-3
    cap: float = 50.0
    weigh_attention: bool = False
    warm_up: int = 0
    learn_first: bool = True

    def __post_init__(self) -> None:
        if self.steps < 1 or self.warm_up < 0 or not 0 < self.floor < 1 or not self.cap >= 1:
            raise InvalidInput(
                f"{self}: steps and cap must be at least 1, floor between 0 and 1, warm_up at least 0", code="range"
            )

    def stages(self, model: AttentionClassifier, data: AttentionData, rate: float, seed: int) -> Iterator[CureStage]:
        """Random masks where asked for; then one stage with two losses."""
        needs_attention(model, self)
        if self.warm_up:
            yield OnRandomMasks(model, RandomPretraining("one-hot", random_epochs=self.warm_up), rate, seed)
        yield WeightedStage(model, data, self, rate, seed)


class WeightedStage:
    """One forward pass, two losses: mean(w·L) for the answering part, mean(L) for the selecting part."""

    name = "weighted"

    def __init__(self, model: AttentionClassifier, data: AttentionData, cure: MaskNeutral, rate: float, seed: int) -> None:
        self.model, self.cure, self.epochs = model, cure, cure.epochs
        self.mask_labels = MaskLabels(data.tokens.shape[1], model.shape.classes, seed=seed)
        counts = torch.bincount(data.labels, minlength=model.shape.classes)
        self.prior = counts / counts.sum()  # P(y)
        self.answering, self.selecting = rmsprop(model.answering, rate), rmsprop(model.selecting, rate)

    def step(self, batch: AttentionData) -> Passed:
        mask = self.model.select(*batch.given)
        weights = None if self.cure.learn_first else self._weights(mask, batch)
        mask_loss = self.mask_labels.learn(mask, batch.labels, self.cure.steps)
        weights = self._weights(mask, batch) if weights is None else weights / weights.mean()
        passed = answer(self.model, batch, mask)
        neutral, plain = (weights * passed.losses).mean(), passed.losses.mean()
        set_gradients(self.model.answering, neutral, keep_graph=True)
        set_gradients(self.model.selecting, neutral if self.cure.weigh_attention else plain)
        self.answering.step()
        self.selecting.step()
        return Passed(passed.losses, passed.right, weights, mask_loss)

    def judge(self, data: AttentionData) -> Tensor:
        mask = self.model.select(*data.given)
        weights = self._weights(mask, data)
        return (weights * answer(self.model, data, mask).losses).sum() / weights.sum()

    def _weights(self, mask: Tensor, data: AttentionData) -> Tensor:
        return self.mask_labels.weights(mask, data.labels, self.prior, self.cure.floor, self.cure.cap)


Cure = Plain | RandomPretraining | MaskNeutral


def answer(model: AttentionClassifier, data: AttentionData, mask: Tensor | None = None) -> Passed:
    """Losses and hits of the rows under a mask; by default, attention's own."""
    mask = model.select(*data.given) if mask is None else mask
    logits = model.answer(data.tokens, mask, data.present)
    losses = nn.functional.cross_entropy(logits, data.labels, reduction="none")
    if not bool(torch.isfinite(losses).all()):
        raise NotFinite("the loss was not finite")
    return Passed(losses, logits.argmax(dim=1) == data.labels)


def set_gradients(parameters: Sequence[nn.Parameter], loss: Tensor, keep_graph: bool = False) -> None:
    """Give these parameters, and no others, the gradient of the loss."""
    for p, gradient in zip(parameters, torch.autograd.grad(loss, parameters, retain_graph=keep_graph), strict=True):
        p.grad = gradient


def needs_attention(model: AttentionClassifier, cure: Cure) -> None:
    """Refuse to cure the attention of a model that has none."""
    if not model.selecting:
        raise InvalidInput(
            f"{cure} trains attention, but this model's is uniform; write attention='additive', or Plain()", code="conflict"
        )
