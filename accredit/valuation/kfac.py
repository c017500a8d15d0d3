r"""Influence of networks that are too large for a Hessian: EK-FAC, with no matrix of rows × parameters anywhere.

For a linear layer with inputs a and output gradients g, the Gauss–Newton matrix is taken to be a Kronecker product of E[aaᵀ]
and E[ggᵀ] (Martens and Grosse, 2015). Only its eigenvectors are kept; the eigenvalues are measured again in their basis
(George et al., 2018), with labels drawn from the model itself:

$$\Lambda = \mathbb E\big[(Q_S^\top G\, Q_A)^2\big], \qquad
  (H + \lambda)^{-1} V \approx Q_S \Big(\frac{Q_S^\top V Q_A}{\Lambda + \lambda}\Big) Q_A^\top .$$

Layers are taken to be independent of one another. Queries are preconditioned once; then one pass over the training rows forms
the gradients of one batch at a time and multiplies them. A network of few parameters gets its whole Gauss–Newton matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.core import FloatArray, InvalidInput, MissingExtra, NotConverged
from accredit.valuation.influence import Influences
from accredit.valuation.layers import Layer, Seen, row_gradients, tracked_layers
from accredit.valuation.losses import Batch, Loss, checked_rows, loss_named, picked

if TYPE_CHECKING:
    import torch

RELATIVE_DAMPING = 0.1  # of a layer's mean eigenvalue
STATIONARY = 0.1  # ‖∇J‖ beside the norm of a typical row's gradient, above which θ is not called a minimum
MEMORY = 2e9  # bytes
WIDEST = 8192  # inputs or outputs of a layer, whose square is an eigenproblem


@dataclass(frozen=True, eq=False)
class Block:
    """The curvature of one layer, in the basis where it is nearly diagonal."""

    q_in: torch.Tensor  # (inputs, inputs)
    q_out: torch.Tensor  # (outputs, outputs)
    eigenvalues: torch.Tensor  # (outputs, inputs)

    def rotated(self, seen: Seen) -> torch.Tensor:
        """Row gradients in this basis: (rows, outputs, inputs)."""
        return Seen(seen.a @ self.q_in, seen.g @ self.q_out).gradients()


@dataclass(frozen=True, eq=False)
class Network:
    """A trained model, the loss of its rows, and the layers that are asked about.

    `weight_decay` is that of the objective J = mean loss + weight_decay/2·‖θ‖². `memory` is what one call may hold, in bytes:
    sizes are estimated and refused before anything is allocated.
    """

    model: Any
    loss: Loss
    layers: tuple[Layer, ...]
    left_out: tuple[str, ...]  # trained parameters that are not looked at
    weight_decay: float = 0.0
    batch_size: int = 32
    memory: float = MEMORY
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> int:
        return sum(layer.parameters for layer in self.layers)

    @property
    def device(self) -> Any:
        return self.layers[0].module.weight.device

    def check_memory(self, queries: int) -> None:
        """Refuse what would not fit: queries and one batch of row gradients, twice over while they are multiplied."""
        largest = max(layer.parameters for layer in self.layers)
        sides = sum(layer.inputs**2 + layer.outputs**2 for layer in self.layers)
        needed = 4 * (queries * self.parameters + 2 * self.batch_size * largest + 2 * sides + self.parameters)
        if needed > self.memory:
            raise InvalidInput(
                f"{queries} queries of {self.parameters:,} parameters, {self.batch_size} rows at a time, need about "
                f"{needed / 1e9:.1f} GB and memory={self.memory:g} allows {self.memory / 1e9:.1f} GB; ask fewer queries at a "
                "time, name some layers=[…], lower batch_size, raise memory, or keep a GradientStore"
            )

    def passes(self, data: Batch, draw: int | None = None) -> Iterator[tuple[slice, torch.Tensor, dict[str, Seen]]]:
        """Every batch once: which rows, their losses, and what the layers saw; `draw` seeds labels from the model itself."""
        import torch

        generator = None if draw is None else torch.Generator().manual_seed(draw)
        with evaluating(self.model):
            for start in range(0, checked_rows(data), self.batch_size):
                rows = slice(start, start + self.batch_size)
                losses, seen = row_gradients(
                    self.model, self.layers, self.loss, picked(data, rows, self.device), generator
                )
                if not bool(torch.isfinite(losses).all()):
                    raise NotConverged(
                        f"the loss of row {start + int((~torch.isfinite(losses)).nonzero()[0])} is not finite"
                    )
                yield rows, losses, seen


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """In evaluation mode for the time of the block: no dropout, no moving averages."""
    was = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was)


def network(
    model: Any,
    *,
    loss: str | Loss | None = None,
    layers: Sequence[str] | None = None,
    weight_decay: float = 0.0,
    batch_size: int = 32,
    memory: float = MEMORY,
    embeddings: bool = False,
) -> Network:
    """Bundle a torch module, or a Hugging Face model, for questions about its training rows.

    >>> import torch
    >>> network(torch.nn.Linear(3, 2), loss="classification").parameters
    8
    """
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("torch", "text", "influence of a network") from None
    if not weight_decay >= 0 or not isinstance(batch_size, int) or batch_size < 1:
        raise InvalidInput(f"weight_decay={weight_decay!r} and batch_size={batch_size!r}: from 0 on, and at least 1")
    kept, left = tracked_layers(model, layers, embeddings=embeddings, widest=None if embeddings else WIDEST)
    return Network(model, loss_named(loss, model), kept, left, float(weight_decay), batch_size, memory)


def kronecker(net: Network, train: Batch, *, seed: int = 0) -> dict[str, Block]:
    """Fit the curvature of every layer: two passes over the training rows, and an eigenproblem for each side of each layer."""
    import torch

    sides: dict[str, list[torch.Tensor]] = {}
    for _, _, seen in net.passes(train, draw=seed):
        for name, s in seen.items():
            a, g = s.a.flatten(0, 1), s.g.flatten(0, 1)
            grams = [a.T @ a, g.T @ g]
            sides[name] = (
                grams if name not in sides else [old + new for old, new in zip(sides[name], grams, strict=True)]
            )
    rows = checked_rows(train)
    blocks: dict[str, Block] = {}
    for layer in net.layers:
        if layer.name not in sides:
            raise InvalidInput(f"layer {layer.name!r} takes no part in the loss of any row; leave it out of layers=")
        q_in, q_out = (torch.linalg.eigh(side.double() / rows)[1].to(side) for side in sides[layer.name])
        blocks[layer.name] = Block(q_in, q_out, q_out.new_zeros((layer.outputs, layer.inputs)))
    for _, _, seen in net.passes(train, draw=seed + 1):
        for name, s in seen.items():
            blocks[name].eigenvalues.add_((blocks[name].rotated(s) ** 2).sum(dim=0) / rows)
    return blocks


def dampings(blocks: Mapping[str, Block], damping: float | None) -> dict[str, float]:
    """What is added to the eigenvalues of each layer; None: a tenth of their mean, which needs no search."""
    if damping is not None and not 0 <= damping < math.inf:
        raise InvalidInput(f"damping must be a number from 0 on, or None for the default, got {damping!r}")
    return {
        name: RELATIVE_DAMPING * float(block.eigenvalues.mean()) if damping is None else float(damping)
        for name, block in blocks.items()
    }


def network_influence(
    net: Network,
    train: Batch,
    queries: Batch,
    *,
    damping: float | None = None,
    names: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    averaged: bool = True,
    seed: int = 0,
) -> Influences:
    """How much the loss of each query rises when a training row is left out: EK-FAC, at any size that fits in `net.memory`.

    Costs four passes over the training rows and rows × queries × parameters products. The certificate reports ‖∇J‖ beside the
    norm of a typical row's gradient: influence assumes that θ is a minimum; `stationary` is false where it is not nearly one.

    >>> import torch
    >>> torch.manual_seed(0) and None
    >>> x = torch.randn(40, 3); y = (x[:, 0] > 0).long()
    >>> net = network(torch.nn.Linear(3, 2), loss="classification", weight_decay=0.1)
    >>> found = network_influence(net, {"x": x, "labels": y}, {"x": x[:5], "labels": y[:5]})
    >>> found.matrix.shape, found.certificate["stationary"]
    ((40, 5), False)
    """
    import torch

    count, asked = checked_rows(train, "train"), checked_rows(queries, "queries")
    net.check_memory(asked)
    blocks = kronecker(net, train, seed=seed)
    added = dampings(blocks, damping)
    solved: dict[str, list[torch.Tensor]] = {name: [] for name in blocks}
    for _, _, seen in net.passes(queries):
        for name, block in blocks.items():
            rotated = block.rotated(seen[name])
            solved[name].append((rotated / (block.eigenvalues + net.weight_decay + added[name])).flatten(1))
    right = {name: torch.cat(parts).T for name, parts in solved.items()}  # (parameters of the layer, queries)
    matrix = np.empty((count, asked))
    mean, squares = {name: torch.zeros_like(block.eigenvalues) for name, block in blocks.items()}, 0.0
    for rows, _, seen in net.passes(train):
        part = torch.zeros((len(range(count)[rows]), asked), device=net.device)
        for name, s in seen.items():
            rotated = blocks[name].rotated(s)
            part += rotated.flatten(1) @ right[name]
            mean[name] += rotated.sum(dim=0) / count
            squares += float((rotated.double() ** 2).sum()) / count
        matrix[rows] = part.cpu().numpy()
    if not np.isfinite(matrix).all():
        raise NotConverged("some influences are not finite: raise damping, or give the model in float32")
    if averaged:
        matrix -= matrix.mean(axis=0)
    facts = {
        "damping": "0.1 × mean eigenvalue of each layer" if damping is None else damping,
        "damping of each layer": added,
        **facts_of(net),
        **stationarity(net, {name: blocks[name].q_out @ m @ blocks[name].q_in.T for name, m in mean.items()}, squares),
        "averaged": averaged,
        "seed": seed,
    }
    players = tuple(names) if names is not None else tuple(f"row {i}" for i in range(count))
    asked_for = tuple(targets) if targets is not None else tuple(f"query {i}" for i in range(asked))
    if len(players) != count or len(asked_for) != asked:
        raise InvalidInput(f"{len(players)} names and {len(asked_for)} targets for {count} rows and {asked} queries")
    return Influences(players, asked_for, matrix / count, "influence/EK-FAC", facts)


def facts_of(net: Network) -> dict[str, Any]:
    """What was looked at and what was not."""
    return {
        "weight decay": net.weight_decay,
        "parameters": net.parameters,
        "layers": [layer.name for layer in net.layers],
        "left out": list(net.left_out),
        "loss": repr(net.loss),
    }


def stationarity(net: Network, mean: Mapping[str, torch.Tensor], squares: float) -> dict[str, Any]:
    """‖∇J‖ over the layers looked at, from mean row gradients (outputs, inputs), beside the root mean square of one row's."""
    total = 0.0
    for layer in net.layers:
        weight, bias = layer.module.weight.detach(), getattr(layer.module, "bias", None)
        flat = weight.T if type(layer.module).__name__ == "Conv1D" else weight.flatten(1)
        theta = flat if flat.shape[1] == layer.inputs else _with_bias(flat, bias)
        total += float(((mean[layer.name] + net.weight_decay * theta).double() ** 2).sum())
    norm, typical = math.sqrt(total), math.sqrt(squares)
    return {
        "gradient norm": norm,
        "gradient norm of a row": typical,
        "stationary": norm <= STATIONARY * typical,
    }


def _with_bias(weight: torch.Tensor, bias: Any) -> torch.Tensor:
    import torch

    return torch.cat([weight, bias.detach()[:, None]], dim=1)


def mean_influence(several: Sequence[Influences]) -> Influences:
    """The mean over models trained alike with other seeds, or over checkpoints: steadier than any one of them."""
    if not several:
        raise InvalidInput("mean_influence needs at least one Influences; give one for each model")
    first = several[0]
    for other in several[1:]:
        if other.players != first.players or other.targets != first.targets:
            raise InvalidInput("the influences are about different rows or queries; ask every model the same")
    matrix: FloatArray = np.mean([one.matrix for one in several], axis=0)
    facts = {"models": len(several), "each": [dict(one.certificate) for one in several]}
    return Influences(first.players, first.targets, matrix, f"mean of {len(several)} models, {first.method}", facts)
