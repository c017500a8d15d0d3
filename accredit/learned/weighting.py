"""Mask-neutral weights: what a mask says about the label, and how to weigh that away (Bai et al., 2020, Theorem 1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from accredit.checks.arguments import check_arguments
from accredit.errors import InvalidInput


class MaskLabels(nn.Module):
    r"""The classifier P(Y|M): what the mask alone says about the label, and the weights that make it say nothing.

    Under $w = P(y) / P(y \mid m)$ the expected loss of $f(x \odot m)$ is that of a world where labels and masks are
    independent, **if** a row was kept with a chance that depends on $(y, m)$ alone and is never zero. A mask that gives
    the label away breaks the second condition: then $P(y \mid m)$ of the rare contrary rows is near 0, their weights
    stand at `cap`, and the effective sample size falls. What the mask encodes *together with* the values it lets
    through is invisible to these weights.

    `learn` takes a few steps on masks that carry no gradient; `weights` are detached too, since a gradient through
    $w$ would reward masks that give the label away. One step costs O(batch · Σ hidden²).

    >>> mask, labels = torch.eye(2).repeat(50, 1), torch.tensor([0, 1]).repeat(50)
    >>> classifier = MaskLabels(2, 2, seed=0)
    >>> classifier.learn(mask, labels, steps=200) < 0.1  # the mask is the label
    True
    >>> w = classifier.weights(mask, labels, torch.tensor([0.5, 0.5]))
    >>> bool((0.5 <= w).all() and (w < 0.6).all())  # P(y) = 0.5, P(y|m) ≈ 1
    True
    """

    def __init__(self, mask_size: int, classes: int, hidden: Sequence[int] = (64, 64), *, seed: int = 0) -> None:
        super().__init__()
        if mask_size < 1 or classes < 2:
            raise InvalidInput(
                f"a mask of {mask_size} numbers and {classes} classes: need at least 1 and at least 2", code="range"
            )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            widths = [mask_size, *hidden, classes]
            layers: list[nn.Module] = []
            for k in range(len(widths) - 1):
                layers += [nn.Linear(widths[k], widths[k + 1]), nn.ReLU()]
            self.network = nn.Sequential(*layers[:-1])
        self.optimiser = rmsprop(self.parameters())

    def forward(self, mask: Tensor) -> Tensor:
        """Logits of P(Y|M): (N, mask_size) -> (N, classes)."""
        logits: Tensor = self.network(mask)
        return logits

    def learn(self, mask: Tensor, labels: Tensor, steps: int = 5) -> float:
        """`steps` of plain cross-entropy on masks (N, mask_size), labels (N,); returns the last loss, in nats."""
        mask, loss = mask.detach().flatten(1), torch.tensor(float("nan"))
        for _ in range(steps):
            self.optimiser.zero_grad()
            loss = nn.functional.cross_entropy(self(mask), labels)
            torch.autograd.backward(loss)
            self.optimiser.step()
        return float(loss.detach())

    @torch.no_grad()
    def weights(self, mask: Tensor, labels: Tensor, prior: Tensor, floor: float = 1e-3, cap: float = 50.0) -> Tensor:  # (N,)
        """P(y) / max(P(y|m), floor), at most `cap`; `prior` (classes,) holds P(y). Not normalised, without gradient."""
        likely: Tensor = self(mask.flatten(1)).softmax(dim=1).gather(1, labels[:, None]).squeeze(1)
        return (prior.to(likely)[labels] / likely.clamp(min=floor)).clamp(max=cap).detach()


@check_arguments
def effective_sample_size(weights: npt.ArrayLike) -> float:
    """(Σw)² / Σw²: how many equally weighted rows are as good as these.

    >>> effective_sample_size([1, 1, 1, 1]), effective_sample_size([1, 0, 0, 0])
    (4.0, 1.0)
    """
    w = np.asarray(weights, dtype=float)
    if w.ndim != 1 or w.size == 0 or (w < 0).any() or not w.any():
        raise InvalidInput(
            "weights must not be negative and not all zero; give one number for each row", argument="weights", code="range"
        )
    return float(w.sum() ** 2 / (w**2).sum())


def rmsprop(parameters: Iterable[nn.Parameter], rate: float = 1e-3) -> torch.optim.Optimizer:
    """RMSprop with Keras' settings (ρ 0.9, ε 1e-7), which the published experiments used; torch's defaults differ."""
    return torch.optim.RMSprop(parameters, lr=rate, alpha=0.9, eps=1e-7)
