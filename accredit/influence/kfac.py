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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from accredit.core import FloatArray, Procedure
from accredit.errors import InvalidInput, NotConverged
from accredit.influence.functions import Influences, stationarity
from accredit.influence.layers import LayerRecord
from accredit.influence.losses import Batch, check_rows
from accredit.influence.network import Network, facts_of, weights_of

if TYPE_CHECKING:
    import torch

JOINT = 4_000  # parameters up to which the whole Gauss–Newton matrix is formed
JOINT_DAMPING = 1.0  # of its mean eigenvalue: the best of five factors on two digit networks
LAYER_DAMPING = 0.1  # of a layer's mean eigenvalue: the usual factor, and the best of five on the same networks
LABEL_DRAWS = 10  # of labels for every row, where they are too many to list

Coordinates = dict[str, "torch.Tensor"]  # block -> (rows, parameters of the block)


class FittedCurvature(Protocol):
    """A curvature that was fitted to training rows, and the coordinates in which it is solved."""

    @property
    def facts(self) -> dict[str, object]: ...

    def coordinates(self, seen: Mapping[str, LayerRecord]) -> Iterator[tuple[str, torch.Tensor]]:
        """Gradients of the rows of a batch, one block after the other, so that only one of them is in memory."""
        ...

    def turn(self, matrices: Mapping[str, torch.Tensor]) -> Coordinates:
        """One matrix (outputs, inputs) for each layer, in the same coordinates, as a single row."""
        ...

    def solve(self, right: Coordinates) -> Coordinates:
        """(H + weight decay + damping)⁻¹ times each row."""
        ...


@dataclass(frozen=True, eq=False)
class Block:
    """The curvature of one layer, in the basis where it is nearly diagonal."""

    q_in: torch.Tensor  # (inputs, inputs)
    q_out: torch.Tensor  # (outputs, outputs)
    eigenvalues: torch.Tensor  # (outputs, inputs)

    def rotate(self, seen: LayerRecord) -> torch.Tensor:
        """Row gradients in this basis: (rows, outputs, inputs)."""
        return self._turn(seen).gradients()

    def squares(self, seen: LayerRecord) -> torch.Tensor:
        """Squared row gradients in this basis, summed over rows: (outputs, inputs). Where a row passes the layer once, its
        gradient is an outer product, and so is its square: no gradient is formed."""
        turned = self._turn(seen)
        if turned.a.shape[1] == 1:
            return (turned.g[:, 0] ** 2).T @ (turned.a[:, 0] ** 2)
        return (turned.gradients() ** 2).sum(dim=0)

    def _turn(self, seen: LayerRecord) -> LayerRecord:
        return LayerRecord(seen.a @ self.q_in, seen.g @ self.q_out)


@dataclass(frozen=True, eq=False)
class Kronecker:
    """EK-FAC: one block for each layer."""

    blocks: dict[str, Block]
    added: dict[str, float]  # weight decay and damping
    facts: dict[str, object]

    def coordinates(self, seen: Mapping[str, LayerRecord]) -> Iterator[tuple[str, torch.Tensor]]:
        return ((name, self.blocks[name].rotate(s).flatten(1)) for name, s in seen.items())

    def turn(self, matrices: Mapping[str, torch.Tensor]) -> Coordinates:
        return {n: (b.q_out.T @ matrices[n] @ b.q_in).reshape(1, -1) for n, b in self.blocks.items()}

    def solve(self, right: Coordinates) -> Coordinates:
        return {name: v / (self.blocks[name].eigenvalues.flatten() + self.added[name]) for name, v in right.items()}


@dataclass(frozen=True, eq=False)
class Joint:
    """The Gauss–Newton matrix of all layers together, factored."""

    factor: torch.Tensor  # (P, P), lower triangular, float64
    layers: tuple[str, ...]
    facts: dict[str, object]

    def coordinates(self, seen: Mapping[str, LayerRecord]) -> Iterator[tuple[str, torch.Tensor]]:
        import torch

        yield "all", torch.cat([seen[name].gradients().flatten(1) for name in self.layers], dim=1)

    def turn(self, matrices: Mapping[str, torch.Tensor]) -> Coordinates:
        import torch

        return {"all": torch.cat([matrices[name].reshape(1, -1) for name in self.layers], dim=1)}

    def solve(self, right: Coordinates) -> Coordinates:
        import torch

        v = right["all"]
        return {"all": torch.cholesky_solve(v.T.double(), self.factor).T.to(v)}


def kronecker(net: Network, train: Batch, damping: float | None = None, seed: int = 0) -> Kronecker:
    """Fit a block for every layer: two passes over the training rows, and an eigenproblem for each side of each layer."""
    import torch

    sides: dict[str, list[torch.Tensor]] = {}
    for _, _, seen in net.passes(train, draw=seed):
        for name, s in seen.items():
            a, g = s.a.flatten(0, 1), s.g.flatten(0, 1)
            grams = [a.T @ a, g.T @ g]
            sides[name] = grams if name not in sides else [old + new for old, new in zip(sides[name], grams, strict=True)]
    rows = check_rows(train)
    blocks: dict[str, Block] = {}
    for layer in net.layers:
        if layer.name not in sides:
            raise InvalidInput(
                f"layer {layer.name!r} takes no part in the loss of any row; leave it out of layers=",
                argument="layers",
                code="unsupported",
            )
        q_in, q_out = (torch.linalg.eigh(side.double() / rows)[1].to(side) for side in sides[layer.name])
        blocks[layer.name] = Block(q_in, q_out, q_out.new_zeros((layer.outputs, layer.inputs)))
    for _, _, seen in net.passes(train, draw=seed + 1):
        for name, s in seen.items():
            blocks[name].eigenvalues.add_(blocks[name].squares(s) / rows)
    added = {
        name: LAYER_DAMPING * float(block.eigenvalues.mean()) if damping is None else damping for name, block in blocks.items()
    }
    facts = {
        "curvature": "EK-FAC",
        "damping": f"{LAYER_DAMPING} × mean eigenvalue of each layer" if damping is None else damping,
    }
    with_decay = {name: value + net.weight_decay for name, value in added.items()}
    return Kronecker(blocks, with_decay, facts | {"damping of each layer": added})


def joint(net: Network, train: Batch, damping: float | None = None, seed: int = 0) -> Joint:
    """Form the whole matrix, averaging over every label there can be (or over several that the model draws), and factor it."""
    import torch

    total = torch.zeros((net.parameters, net.parameters), dtype=torch.float64, device=net.device)
    shape = Joint(total, tuple(layer.name for layer in net.layers), {})
    rows = check_rows(train)
    for seen in net.fisher(train, seed, LABEL_DRAWS):
        g = dict(shape.coordinates(seen))["all"]
        total += (g.T @ g).double() / rows
    added = JOINT_DAMPING * float(total.trace()) / net.parameters if damping is None else damping
    total.diagonal().add_(added + net.weight_decay)
    factor, failed = torch.linalg.cholesky_ex(total)
    if int(failed):
        raise NotConverged(f"the Gauss–Newton matrix cannot be factored with damping {added:g}; give a larger damping=")
    facts = {"curvature": "Gauss–Newton, whole", "damping": added}
    return Joint(factor, shape.layers, facts)


def fit(net: Network, train: Batch, curvature: str, damping: float | None, seed: int) -> FittedCurvature:
    """The whole matrix where it is small enough, else EK-FAC; or the one that is asked for."""
    if damping is not None and not 0 <= damping < math.inf:
        raise InvalidInput(
            f"damping must be a number from 0 on, or None for the default, got {damping!r}", argument="damping", code="range"
        )
    if curvature not in ("auto", "joint", "ekfac"):
        raise InvalidInput(
            f"curvature {curvature!r} is unknown; choose auto, joint or ekfac", argument="curvature", code="unknown"
        )
    if curvature == "joint" and 8 * net.parameters**2 > net.memory:
        raise InvalidInput(
            f"the Gauss–Newton matrix of {net.parameters:,} parameters takes {8e-9 * net.parameters**2:.1f} GB and memory "
            f"allows {net.memory / 1e9:.1f} GB; write curvature='ekfac', or name some layers=[…]",
            argument="curvature",
            code="too-many",
        )
    whole = curvature == "joint" or (curvature == "auto" and net.parameters <= JOINT)
    return (joint if whole else kronecker)(net, train, damping, seed)


def network_influence(
    net: Network,
    train: Batch,
    queries: Batch,
    *,
    curvature: str = "auto",
    damping: float | None = None,
    names: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    on_mean: bool = False,
    averaged: bool = True,
    seed: int = 0,
) -> Influences:
    """How much the loss of each query rises when a training row is left out, at any size that fits in `net.memory`.

    `on_mean` asks about the mean loss of all queries instead, for the memory of one.

    `curvature` is "joint" (the whole Gauss–Newton matrix), "ekfac", or "auto": joint up to 4,000 parameters. `damping` needs no
    search: None takes the mean eigenvalue (joint), or a tenth of each layer's (EK-FAC). EK-FAC costs three passes over the
    training rows and rows × queries × parameters products. The certificate reports ‖∇J‖ beside the norm of a typical row's
    gradient: influence assumes that θ is a minimum; `stationary` is false where it is not nearly one.

    >>> import torch
    >>> from accredit.influence.network import network
    >>> torch.manual_seed(0) and None
    >>> x = torch.randn(40, 3); y = (x[:, 0] > 0).long()
    >>> net = network(torch.nn.Linear(3, 2), loss="classification", weight_decay=0.1)
    >>> found = network_influence(net, {"x": x, "labels": y}, {"x": x[:5], "labels": y[:5]})
    >>> found.matrix.shape, found.certificate["stationary"]
    ((40, 5), False)
    """
    count, asked = check_rows(train, "train"), check_rows(queries, "queries")
    players = tuple(names) if names is not None else tuple(f"row {i}" for i in range(count))
    usual = (f"mean of {asked} queries",) if on_mean else tuple(f"query {i}" for i in range(asked))
    asked_for = usual if targets is None else tuple(targets)
    if len(players) != count or len(asked_for) != len(usual):
        raise InvalidInput(
            f"{len(players)} names and {len(asked_for)} targets for {count} rows and {len(usual)} queries",
            argument="names",
            code="shape",
        )
    net.check_memory(len(usual))
    curved = fit(net, train, curvature, damping, seed)
    right = _solve_queries(net, curved, queries, asked if on_mean else None)
    matrix = np.zeros((count, len(usual)))
    mean = curved.turn({layer.name: net.weight_decay * weights_of(layer) for layer in net.layers})
    squares = 0.0
    for rows, _, seen in net.passes(train):
        for name, g in curved.coordinates(seen):
            matrix[rows] += (g @ right[name]).cpu().numpy()
            mean[name] = mean[name] + g.sum(dim=0, keepdim=True) / count
            squares += float((g.norm(dim=1).double() ** 2).sum()) / count
    if not np.isfinite(matrix).all():
        raise NotConverged("some influences are not finite: raise damping, or give the model in float32", code="not-finite")
    if averaged:
        matrix -= matrix.mean(axis=0)
    norm = math.sqrt(sum(float((m.double() ** 2).sum()) for m in mean.values()))
    facts = curved.facts | facts_of(net) | stationarity(norm, math.sqrt(squares), count) | {"averaged": averaged, "seed": seed}
    return Influences(players, asked_for, matrix / count, Procedure("influence", str(facts["curvature"])), facts)


def _solve_queries(net: Network, curved: FittedCurvature, queries: Batch, count: int | None) -> Coordinates:
    """H⁻¹ times the gradient of every query, or of the mean of `count` of them: name -> (parameters, queries)."""
    import torch

    if count is None:
        parts = [curved.solve(dict(curved.coordinates(seen))) for _, _, seen in net.passes(queries)]
        return {name: torch.cat([part[name] for part in parts]).T for name in parts[0]}
    mean: Coordinates = {}
    for _, _, seen in net.passes(queries):
        for name, g in curved.coordinates(seen):
            mean[name] = mean.get(name, 0) + g.sum(dim=0, keepdim=True) / count
    return {name: solved.T for name, solved in curved.solve(mean).items()}


def mean_influence(several: Sequence[Influences]) -> Influences:
    """The mean over models trained alike with other seeds, or over checkpoints: steadier than any one of them.

    >>> first, second = (Influences(("row 0",), ("query 0",), np.array([[x]]), "by hand") for x in (1.0, 3.0))
    >>> mean_influence([first, second]).matrix
    array([[2.]])
    """
    if not several:
        raise InvalidInput(
            "mean_influence needs at least one Influences; give one for each model", argument="several", code="empty"
        )
    first = several[0]
    for other in several[1:]:
        if other.players != first.players or other.targets != first.targets:
            raise InvalidInput(
                "the influences are about different rows or queries; ask every model the same",
                argument="several",
                code="conflict",
            )
    matrix: FloatArray = np.mean([one.matrix for one in several], axis=0)
    facts = {"models": len(several), "each": [dict(one.certificate) for one in several]}
    return Influences(first.players, first.targets, matrix, first.method.then(f"mean of {len(several)} models"), facts)
