"""Gradients of a torch black box as an explainer: players are chosen by the size of the slope (Simonyan et al., 2013)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from accredit.core import BoolArray, FloatArray, Procedure, Selection
from accredit.errors import InvalidInput
from accredit.learned.black_boxes import BlackBox
from accredit.learned.inputs import Array, Inputs, PixelGrid, Words, one_input
from accredit.learned.masks import check_k, top
from accredit.learned.networks import text_span
from accredit.models.precision import check_precision

INPUTS_PER_PASS = 256  # inputs of one backward pass


@final
class Gradient:
    """The `k` players with the steepest slope of the answer's logit.

    `network(x, mask)` is a classifier of masked inputs (`network_for`). The score of a pixel or column is |∂f/∂x|,
    summed over what belongs to the player; that of a word is the length of the gradient at its vector. With `times_input`
    it is |∂f/∂m| at the full mask instead: the slope along the way from the replacement to the value. One backward pass
    per row; nothing is trained.

    >>> from accredit.learned import Tabular
    >>> from accredit.learned.networks import network_for
    >>> explainer = Gradient(Tabular(3), 1, network_for(Tabular(3), classes=2))
    >>> explainer.select(np.ones((2, 3))).sum(axis=1)
    array([1, 1])
    """

    def __init__(self, inputs: Inputs, k: int, network: nn.Module, times_input: bool = False) -> None:
        self.inputs, self.k, self.network, self.times_input = inputs, check_k(k, inputs.n), network, times_input
        self.history: dict[str, object] = {"seconds": 0.0, "stopped_because": "gradients are read off, nothing is trained"}

    def fit(
        self,
        x: npt.ArrayLike,
        black_box: BlackBox | None = None,
        labels: npt.ArrayLike | None = None,
        seed: int = 0,
        progress: bool = False,
    ) -> Gradient:
        """Nothing to learn: the network is given. `x` is only checked."""
        self.inputs.check(x)
        return self

    def scores(self, x: npt.ArrayLike) -> FloatArray:
        """Size of the slope at every player: (N, n), zero for players that do not exist."""
        rows = self.inputs.check(x)
        check_precision(self.network.parameters())
        before = self.network.training
        self.network.eval()
        try:
            parts = [self._slopes(rows[start : start + INPUTS_PER_PASS]) for start in range(0, len(rows), INPUTS_PER_PASS)]
        finally:
            self.network.train(before)
        return np.where(self.inputs.present(rows), np.concatenate(parts), 0.0)

    def select(self, x: npt.ArrayLike, k: int | None = None) -> BoolArray:
        """The k players of steepest slope in every row: (N, n)."""
        return top(self.scores(x), self.k if k is None else k, self.inputs.present(self.inputs.check(x)))

    def explain(self, one: npt.ArrayLike, names: Sequence[str] | None = None) -> Selection:
        """The players chosen for one input, with the size of their slopes."""
        row, named, present = one_input(self.inputs, one, names)
        scores = self.scores(row)
        chosen = top(scores, self.k, present[None])[0, present]
        return Selection(
            named,
            chosen,
            Procedure("gradient", "Gradient", {"k": self.k, "times_input": self.times_input}),
            f"the {int(chosen.sum())} players of steepest slope{' times input' if self.times_input else ''}; no mask is drawn",
            scores[0, present],
        )

    def _slopes(self, rows: Array) -> FloatArray:
        x = torch.tensor(rows)
        if self.times_input:
            mask = torch.ones(len(rows), self.inputs.n, requires_grad=True)
            return np.asarray(_slope(self.network(x, mask), mask).abs().double().numpy())
        if isinstance(self.inputs, Words):
            first, last = text_span(x, self.inputs.pad)
            with _vectors(self.network) as seen:
                logits = self.network(x)
            steep = np.zeros(rows.shape)
            steep[:, first:last] = _slope(logits, seen[0]).norm(dim=2).double().numpy()
            return steep
        x.requires_grad_()
        slopes = _slope(self.network(x), x).abs().double().numpy()
        return _by_player(slopes, self.inputs)


def _slope(logits: Tensor, at: Tensor) -> Tensor:
    """∂(largest logit)/∂at, row by row; the network's own parameters get no gradient."""
    (slope,) = torch.autograd.grad(logits.amax(dim=1).sum(), at)
    return slope


@contextmanager
def _vectors(network: nn.Module) -> Iterator[list[Tensor]]:
    """Collects what the embedding layer hands out while the block runs."""
    layers = [module for module in network.modules() if isinstance(module, nn.Embedding)]
    if len(layers) != 1:
        raise InvalidInput(
            f"the network has {len(layers)} embedding layers; gradients of words need exactly one", code="unsupported"
        )
    seen: list[Tensor] = []

    def keep(module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor:
        seen.append(output.detach().requires_grad_())
        return seen[-1]

    hook = layers[0].register_forward_hook(keep)
    try:
        yield seen
    finally:
        hook.remove()


def _by_player(slopes: FloatArray, inputs: Inputs) -> FloatArray:
    """Sums over what belongs to each player: (N, *shape) -> (N, n)."""
    if not isinstance(inputs, PixelGrid):
        return slopes
    down, across = inputs.grid
    squares = slopes.reshape(len(slopes), inputs.channels, down, inputs.block, across, inputs.block)
    return np.asarray(squares.sum(axis=(1, 3, 5)).reshape(len(slopes), -1))
