r"""Influence of networks that are too large for a Hessian: EK-FAC, with no matrix of rows × parameters anywhere.

For a linear layer with inputs a and output gradients g, the Gauss–Newton matrix is taken to be a Kronecker product of E[aaᵀ]
and E[ggᵀ] (Martens and Grosse, 2015). Only its eigenvectors are kept; the eigenvalues are measured again in their basis
(George et al., 2018), with labels drawn from the model itself:

$$\Lambda = \mathbb E\big[(Q_S^\top G\, Q_A)^2\big], \qquad
  (H + \lambda)^{-1} V \approx Q_S \Big(\frac{Q_S^\top V Q_A}{\Lambda + \lambda}\Big) Q_A^\top .$$

Layers are taken to be independent of one another. Queries are preconditioned once; then one pass over the training rows forms
the gradients of one batch at a time and multiplies them. Where it is affordable, nothing of the kind is assumed: the whole
Gauss–Newton matrix is solved with, in the space of parameters, in that of rows, or by conjugate gradients (`gauss_newton.py`).
These three give the same answer, so that the cheapest is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from accredit.core import FloatArray, Procedure
from accredit.errors import InvalidInput, NotConverged
from accredit.influence.functions import Influences, stationarity
from accredit.influence.gauss_newton import Dual, Factor, Refined
from accredit.influence.layers import LayerRecord
from accredit.influence.losses import Batch, check_rows
from accredit.influence.network import Network, facts_of, weights_of

if TYPE_CHECKING:
    import torch

WHOLE_COST = 5e12  # multiplications that the whole matrix may take before EK-FAC alone is the default: some minutes
USUAL_STEPS = 400  # of preconditioned conjugate gradients at the default damping, for the estimate of their cost
JOINT_DAMPING = 2.0  # of its mean eigenvalue: chosen on digit, news and film networks, other draws of the benchmark's tasks
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

    def solve_gradients(self, right: Coordinates) -> Coordinates:
        """The same for gradients in their own coordinates: turned, solved and turned back."""
        found = {}
        for name, v in right.items():
            b = self.blocks[name]
            q_in, q_out, values = (part.to(v) for part in (b.q_in, b.q_out, b.eigenvalues))
            turned = q_out.T @ v.reshape(-1, *values.shape) @ q_in
            found[name] = (q_out @ (turned / (values + self.added[name])) @ q_in.T).flatten(1)
        return found


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


def joint(net: Network, factor: Factor, added: float) -> Joint:
    """Form the whole matrix from its factor, and invert it by Cholesky."""
    import torch

    total = torch.zeros((net.parameters, net.parameters), dtype=torch.float64, device=net.device)
    names = tuple(layer.name for layer in net.layers)
    for batch in factor.batches:
        g = torch.cat([batch[name].gradients().flatten(2) for name in names], dim=2).flatten(0, 1).double()
        total += g.T @ g / factor.rows
    total.diagonal().add_(added)
    triangle, failed = torch.linalg.cholesky_ex(total)
    if int(failed):
        raise NotConverged(f"the Gauss–Newton matrix cannot be factored with {added:g} added to it; give a larger damping=")
    return Joint(triangle, names, {})


def dual(factor: Factor, added: float) -> Dual:
    """Form the inner products of all rows and labels, and invert them by Cholesky."""
    import torch

    gram = factor.gram()
    gram.diagonal().add_(factor.rows * added)
    triangle, failed = torch.linalg.cholesky_ex(gram)
    if int(failed):
        raise NotConverged(f"the dual matrix cannot be factored with {added:g} added to it; give a larger damping=")
    return Dual(factor, triangle, added)


def refined(net: Network, factor: Factor, added: float, train: Batch, seed: int) -> Refined:
    """EK-FAC with the same damping, as the preconditioner of conjugate gradients."""
    near = kronecker(net, train, added - net.weight_decay, seed)
    return Refined(factor, near.solve_gradients, added)


CURVATURES = {
    "joint": "Gauss–Newton, whole",
    "dual": "Gauss–Newton, whole, in the space of rows",
    "cg": "Gauss–Newton, whole, by conjugate gradients on EK-FAC",
    "ekfac": "EK-FAC",
}


PASSES = {"joint": 2, "dual": 2, "cg": 4, "ekfac": 3}  # over the training rows: to fit a curvature, and to multiply


@dataclass(frozen=True)
class SolvingCost:
    """What one way to solve takes, estimated before anything is allocated."""

    multiplications: float
    bytes: float


def costs(net: Network, train: Batch, queries: int) -> dict[str, SolvingCost]:
    """Of the three ways to solve with the whole Gauss–Newton matrix; the longest row says how often a layer is used.

    >>> import torch
    >>> from accredit.influence.network import network
    >>> data = {"x": torch.ones(9, 3), "labels": torch.ones(9).long()}
    >>> found = costs(network(torch.nn.Linear(3, 2), loss="classification"), data, queries=4)
    >>> min(found, key=lambda name: found[name].multiplications)
    'joint'
    """
    n, p = check_rows(train), net.parameters
    mask = train.get("attention_mask")
    longest = 0 if mask is None else int(mask.reshape(n, -1).sum(dim=1).argmax())
    first = next(net.fisher({name: value[longest : longest + 1] for name, value in train.items()}, 0, LABEL_DRAWS))
    k = next(iter(first.values())).g.shape[1]
    sizes = [(s.a.shape[1], s.a.shape[2], s.g.shape[3]) for s in first.values()]  # places, inputs, outputs
    held = net.layers[0].weight.element_size() * n * sum(t * (i + k * o) for t, i, o in sizes)
    nk = n * k
    pairs = sum(t * t * (n * n * i + nk * nk * o) for t, i, o in sizes) / 2
    once = n * queries * sum(t * o * (i + k) for t, i, o in sizes)
    right = 8.0 * queries * p
    return {
        "joint": SolvingCost(nk * p * p + p**3 / 3 + queries * p * p, held + 16.0 * p * p + right),
        "dual": SolvingCost(pairs + nk**3 / 3 + queries * nk * nk + 4 * once, held + 16.0 * nk * nk + 3 * right),
        "cg": SolvingCost(2 * USUAL_STEPS * once, held + 6 * right),
    }


def choose(net: Network, train: Batch, queries: int) -> tuple[str, str]:
    """The cheapest way to solve with the whole matrix that fits, else EK-FAC; and why."""
    known = costs(net, train, queries)
    fitting = {name: cost for name, cost in known.items() if cost.bytes <= net.memory}
    if not fitting:
        least = min(cost.bytes for cost in known.values())
        return "ekfac", f"the whole matrix needs {least / 1e9:.2g} GB and memory allows {net.memory / 1e9:.2g} GB"
    best = min(fitting, key=lambda name: fitting[name].multiplications)
    taken = f"about {fitting[best].multiplications:.0e} multiplications"
    if fitting[best].multiplications > WHOLE_COST:
        return "ekfac", f"the whole matrix takes {taken}; write curvature={best!r}"
    return best, f"the cheapest of {', '.join(fitting)}: {taken}"


def fit(net: Network, train: Batch, curvature: str, damping: float | None, seed: int, queries: int) -> FittedCurvature:
    """The curvature that is asked for, or the cheapest that is whole, fitted to the training rows."""
    if damping is not None and not 0 <= damping < math.inf:
        raise InvalidInput(
            f"damping must be a number from 0 on, or None for the default, got {damping!r}", argument="damping", code="range"
        )
    if curvature not in ("auto", *CURVATURES):
        raise InvalidInput(
            f"curvature {curvature!r} is unknown; choose auto, {', '.join(CURVATURES)}", argument="curvature", code="unknown"
        )
    chosen, why = choose(net, train, queries) if curvature == "auto" else (curvature, "asked for")
    if chosen == "ekfac":
        found = kronecker(net, train, damping, seed)
        return replace(found, facts=found.facts | {"chosen because": why})
    needed = costs(net, train, queries)[chosen].bytes
    if needed > net.memory:
        raise InvalidInput(
            f"curvature={chosen!r} of {net.parameters:,} parameters and {check_rows(train):,} rows takes about "
            f"{needed / 1e9:.2g} GB and memory allows {net.memory / 1e9:.2g} GB; write curvature='ekfac', name some "
            "layers=[…], or raise memory",
            argument="curvature",
            code="too-many",
        )
    factor = Factor.of(net, train, seed, LABEL_DRAWS)
    extra = JOINT_DAMPING * factor.mean_eigenvalue(net.parameters) if damping is None else damping
    added = extra + net.weight_decay
    if not added > 0:
        raise InvalidInput(
            "damping and weight_decay are 0, and the Gauss–Newton matrix of a network is singular; leave damping out",
            argument="damping",
            code="range",
        )
    solve: dict[str, Callable[[], Joint | Dual | Refined]] = {
        "joint": lambda: joint(net, factor, added),
        "dual": lambda: dual(factor, added),
        "cg": lambda: refined(net, factor, added, train, seed),
    }
    solved = solve[chosen]()
    solved.facts.update({"curvature": CURVATURES[chosen], "damping": extra, "chosen because": why})
    return solved


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

    `curvature` says how the whole Gauss–Newton matrix is solved with: "joint" (P² memory), "dual" (in the space of rows and
    labels, (N·K)²) or "cg" (conjugate gradients, preconditioned by EK-FAC), all with the same answer; or "ekfac" in its place.
    "auto" takes the cheapest of the three that fits in memory, and EK-FAC where that would take minutes; the certificate names
    it and says why. `damping` needs no search: None takes twice the mean of the eigenvalues that can be above 0 (whole), or a
    tenth of each layer's mean (EK-FAC). EK-FAC costs three passes over the training rows and rows × queries × parameters
    products. The certificate reports ‖∇J‖ beside the norm of a typical row's gradient: influence assumes that θ is a minimum;
    `stationary` is false where it is not nearly one.

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
    curved = fit(net, train, curvature, damping, seed, len(usual))
    right = _solve_queries(net, curved, queries, asked if on_mean else None)
    matrix = np.zeros((count, len(usual)))
    mean = curved.turn({layer.name: net.weight_decay * weights_of(layer) for layer in net.layers})
    squares = loss = 0.0
    for rows, losses, seen in net.passes(train):
        loss += float(losses.double().sum()) / count
        for name, g in curved.coordinates(seen):
            matrix[rows] += (g @ right[name]).cpu().numpy()
            mean[name] = mean[name] + g.sum(dim=0, keepdim=True) / count
            squares += float((g.norm(dim=1).double() ** 2).sum()) / count
    if not np.isfinite(matrix).all():
        raise NotConverged("some influences are not finite: raise damping, or give the model in float32", code="not-finite")
    if averaged:
        matrix -= matrix.mean(axis=0)
    norm = math.sqrt(sum(float((m.double() ** 2).sum()) for m in mean.values()))
    settled = stationarity(norm, math.sqrt(squares), count, loss, net.constant_loss(train))
    facts = curved.facts | facts_of(net) | settled | {"averaged": averaged, "seed": seed}
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
