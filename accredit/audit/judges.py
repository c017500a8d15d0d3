"""The judge of a leakage report: EVAL-X, trained alone or beside the black box.

A judge that reads badly widens every gap, and then nobody is acquitted. EVAL-X knows only what its rows taught it; the black
box knows the inputs and has never seen holes. Together they are a better outsider than either. `Beside` weighs what they say
on random masks, which know nothing of the explainer, so that this judge knows no code either.
"""

from __future__ import annotations

from typing import final

import numpy as np
import torch
from torch import Tensor, nn

from accredit.audit.readers import Reader, ask, patience_for
from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.learned.evalx import EvalX
from accredit.learned.inputs import Array, Inputs
from accredit.learned.masks import random_masks

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
    alone = evalx(inputs, x[weighed:], labels[weighed:], classes, k, width, seed)
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


def evalx(inputs: Inputs, x: Array, labels: IntArray, classes: int, k: int | None, width: int | None, seed: int) -> Reader:
    """EVAL-X trained for as long as so many rows need."""
    epochs, patience = patience_for(len(x))
    judge = EvalX(inputs, k=k, width=width, epochs=epochs, patience=patience)
    return judge.fit(x, np.eye(classes)[labels], seed).predict
