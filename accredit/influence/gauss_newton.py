r"""Solving with the whole Gauss–Newton matrix of a network without forming it: in the space of rows, or by conjugate gradients.

With F the matrix of gradients of every row and label, √p_c·∇ℓ(x_i, c), one row for each of N·K of them,

$$G = \tfrac1N F^\top F, \qquad
  (G + \lambda)^{-1} V = \tfrac1\lambda \big(V - F^\top (F F^\top + N\lambda)^{-1} F V\big).$$

The second is Woodbury's identity: N·K dimensions instead of P (`Dual`). Where neither fits, products F V and FᵀS are all that
conjugate gradients need, with EK-FAC as their preconditioner (`Refined`). F itself is never formed: a layer holds its inputs a
and what it was told g, and ⟨g a^T, V⟩ = gᵀV a.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accredit.errors import NotConverged
from accredit.influence.layers import LayerRecord, OutcomeRecord
from accredit.influence.losses import Batch, check_rows
from accredit.influence.network import Network

if TYPE_CHECKING:
    import torch

    Coordinates = dict[str, torch.Tensor]  # block -> (rows, parameters of the block)

NUMBERS_PER_PRODUCT = 1 << 24  # numbers held between the two halves of a product
LARGEST_RESIDUAL = 1e-8  # relative, of a solution that is called one; rounding of float64 leaves far less
CG_TOLERANCE, CG_STEPS = 1e-9, 2000


@dataclass(frozen=True, eq=False)
class Factor:
    """F, batch by batch, as what the layers saw and were told; computes in float64."""

    batches: Sequence[Mapping[str, OutcomeRecord]]
    rows: int

    @classmethod
    def of(cls, net: Network, train: Batch, seed: int, draws: int) -> Factor:
        return cls(list(net.fisher(train, seed, draws)), check_rows(train))

    def mean_eigenvalue(self, parameters: int) -> float:
        """Of G, over those that can be above 0: P, or N·K where there are more parameters than rows and labels."""
        trace = sum(float(_squared_norms(s).sum()) for batch in self.batches for s in batch.values()) / self.rows
        return trace / min(parameters, sum(map(_row_labels, self.batches)))

    def apply(self, right: Coordinates) -> torch.Tensor:
        """F V: (N·K, queries) from (queries, parameters) for each layer."""
        import torch

        layers = ([_forward(s, right[name]) for name, s in batch.items()] for batch in self.batches)
        return torch.cat([torch.stack(each).sum(dim=0) for each in layers])

    def back(self, scores: torch.Tensor) -> Coordinates:
        """FᵀS: (queries, parameters) for each layer from (N·K, queries)."""
        found: Coordinates = {}
        start = 0
        for batch in self.batches:
            size = _row_labels(batch)
            for name, s in batch.items():
                found[name] = found.get(name, 0) + _backward(s, scores[start : start + size])
            start += size
        return found

    def products(self, right: Coordinates, added: float) -> Coordinates:
        """(G + added)V."""
        moved = self.back(self.apply(right) / self.rows)
        return {name: moved[name] + added * v for name, v in right.items()}

    def gram(self) -> torch.Tensor:
        """F Fᵀ: (N·K, N·K)."""
        import torch

        sizes = [_row_labels(batch) for batch in self.batches]
        total = torch.zeros((sum(sizes), sum(sizes)), dtype=torch.float64, device=_device(self.batches))
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        for i, one in enumerate(self.batches):
            for j, two in enumerate(self.batches[: i + 1]):
                block = sum(_inner(one[name], two[name]) for name in one)
                rows, columns = slice(ends[i] - sizes[i], ends[i]), slice(ends[j] - sizes[j], ends[j])
                total[rows, columns] = block
                total[columns, rows] = block.T  # type: ignore[union-attr]
        return total


def _device(batches: Sequence[Mapping[str, OutcomeRecord]]) -> torch.device:
    return next(iter(batches[0].values())).a.device


def _row_labels(batch: Mapping[str, OutcomeRecord]) -> int:
    g = next(iter(batch.values())).g
    return g.shape[0] * g.shape[1]


def _squared_norms(s: OutcomeRecord) -> torch.Tensor:
    """‖Σ_t g_t a_tᵀ‖² of every row and label (rows, K), from the inner products of places."""
    import torch

    a, g = s.a.double(), s.g.double()
    return torch.einsum("nts,nkts->nk", a @ a.transpose(1, 2), g @ g.transpose(2, 3))


def _forward(s: OutcomeRecord, right: torch.Tensor) -> torch.Tensor:
    """⟨gradient, V⟩ for every row and label: (rows·K, queries)."""
    import torch

    (n, t, width), (k, out) = s.a.shape, (s.g.shape[1], s.g.shape[3])
    a, g = s.a.double(), s.g.double()
    found = []
    for some in torch.split(right, max(1, NUMBERS_PER_PRODUCT // (n * t * out))):
        moved = a @ some.double().reshape(-1, width).T  # (n, t, queries·out)
        found.append(torch.einsum("nkto,ntqo->nkq", g, moved.reshape(n, t, -1, out)))
    return torch.cat(found, dim=2).reshape(n * k, -1)


def _backward(s: OutcomeRecord, scores: torch.Tensor) -> torch.Tensor:
    """Σ gradient·score over rows and labels: (queries, parameters)."""
    import torch

    (n, t, _), (k, out) = s.a.shape, (s.g.shape[1], s.g.shape[3])
    a, g = s.a.double(), s.g.double()
    found = []
    for some in torch.split(scores.reshape(n, k, -1), max(1, NUMBERS_PER_PRODUCT // (n * t * out)), dim=2):
        pulled = torch.einsum("nkq,nkto->qont", some, g)  # (queries, out, n, t)
        found.append(pulled.flatten(2) @ a.reshape(n * t, -1))
    return torch.cat(found).flatten(1)


def _inner(one: OutcomeRecord, two: OutcomeRecord) -> torch.Tensor:
    """Inner products of all gradients of two batches, (rows·K, rows·K), one place of the first after the other."""
    import torch

    (n, t), k = one.a.shape[:2], one.g.shape[1]
    (m, u), j = two.a.shape[:2], two.g.shape[1]
    a, b, g, h = (x.double() for x in (one.a, two.a, one.g, two.g))
    b, h = b.reshape(m * u, -1), h.permute(0, 2, 1, 3).reshape(m * u * j, -1)
    total = torch.zeros((n, k, m, j), dtype=torch.float64, device=a.device)
    for place in range(t):
        seen = (a[:, place] @ b.T).reshape(n, 1, m, u, 1)
        told = (g[:, :, place] @ h.T).reshape(n, k, m, u, j)
        total += (seen * told).sum(dim=3)
    return total.reshape(n * k, m * j)


@dataclass(frozen=True, eq=False)
class Dual:
    """The whole Gauss–Newton matrix, solved in N·K dimensions."""

    factor: Factor
    triangle: torch.Tensor  # (N·K, N·K): of F Fᵀ + Nλ
    added: float  # λ: weight decay and damping
    facts: dict[str, object] = field(default_factory=dict)

    def coordinates(self, seen: Mapping[str, LayerRecord]) -> Iterator[tuple[str, torch.Tensor]]:
        return gradients_by_layer(seen)

    def turn(self, matrices: Mapping[str, torch.Tensor]) -> Coordinates:
        return matrices_by_layer(matrices)

    def solve(self, right: Coordinates) -> Coordinates:
        import torch

        scores = torch.cholesky_solve(self.factor.apply(right), self.triangle)
        pulled = self.factor.back(scores)
        found = {name: (v.double() - pulled[name]) / self.added for name, v in right.items()}
        _check_residual(_residual(self.factor, found, right, self.added), self.facts, "the dual solution", self.added)
        return {name: v.to(right[name]) for name, v in found.items()}


@dataclass(frozen=True, eq=False)
class Refined:
    """The whole Gauss–Newton matrix, solved by conjugate gradients that EK-FAC preconditions."""

    factor: Factor
    precondition: Callable[[Coordinates], Coordinates]  # about (G + λ)⁻¹
    added: float
    facts: dict[str, object] = field(default_factory=dict)

    def coordinates(self, seen: Mapping[str, LayerRecord]) -> Iterator[tuple[str, torch.Tensor]]:
        return gradients_by_layer(seen)

    def turn(self, matrices: Mapping[str, torch.Tensor]) -> Coordinates:
        return matrices_by_layer(matrices)

    def solve(self, right: Coordinates) -> Coordinates:
        """All right-hand sides side by side, each with its own step; those that are done stand still."""
        import torch

        v = {name: part.double() for name, part in right.items()}
        size = _dot(v, v).sqrt()
        u = {name: torch.zeros_like(part) for name, part in v.items()}
        residual = {name: part.clone() for name, part in v.items()}
        near = self.precondition(residual)
        direction, slope, step = near, _dot(residual, near), 0
        while bool((active := _dot(residual, residual).sqrt() > CG_TOLERANCE * size).any()) and step < CG_STEPS:
            step += 1
            moved = self.factor.products(direction, self.added)
            bend = _dot(direction, moved)
            length = torch.where(active & (bend > 0), slope / torch.where(bend > 0, bend, 1.0), 0.0)[:, None]
            u = {name: part + length * direction[name] for name, part in u.items()}
            residual = {name: part - length * moved[name] for name, part in residual.items()}
            near = self.precondition(residual)
            fresh = _dot(residual, near)
            turn = torch.where(active & (slope > 0), fresh / torch.where(slope > 0, slope, 1.0), 0.0)[:, None]
            direction = {name: part + turn * direction[name] for name, part in near.items()}
            slope = fresh
        self.facts["steps"] = max(step, int(str(self.facts.get("steps", 0))))
        worst = _residual(self.factor, u, right, self.added)
        _check_residual(worst, self.facts, f"conjugate gradients after {step} steps", self.added, 10 * CG_TOLERANCE)
        return {name: part.to(right[name]) for name, part in u.items()}


def gradients_by_layer(seen: Mapping[str, LayerRecord]) -> Iterator[tuple[str, torch.Tensor]]:
    """Gradients of the rows of a batch, (rows, parameters) for each layer."""
    return ((name, s.gradients().flatten(1)) for name, s in seen.items())


def matrices_by_layer(matrices: Mapping[str, torch.Tensor]) -> Coordinates:
    """One matrix for each layer, as a single row."""
    return {name: matrix.reshape(1, -1) for name, matrix in matrices.items()}


def _dot(one: Coordinates, two: Coordinates) -> torch.Tensor:
    """Inner products, one for each row: (rows,)."""
    import torch

    return torch.stack([(part * two[name]).sum(dim=1) for name, part in one.items()]).sum(dim=0)


def _residual(factor: Factor, u: Coordinates, right: Coordinates, added: float) -> float:
    """The largest ‖(G + λ)U − V‖ / ‖V‖ over right-hand sides."""
    import torch

    left = factor.products(u, added)
    off = {name: part - right[name].double() for name, part in left.items()}
    size = _dot(*2 * ({name: v.double() for name, v in right.items()},)).sqrt()
    return float((_dot(off, off).sqrt() / torch.where(size > 0, size, 1.0)).max())


def _check_residual(worst: float, facts: dict[str, object], what: str, added: float, allowed: float = LARGEST_RESIDUAL) -> None:
    """Report the residual of every solve, the largest so far; refuse one that is no solution."""
    if not worst <= allowed:
        raise NotConverged(
            f"{what} left a relative residual of {worst:.2g} where {allowed:g} is allowed, with {added:.3g} added to the "
            "diagonal; give a larger damping="
        )
    facts["relative residual"] = max(worst, float(str(facts.get("relative residual", 0.0))))
