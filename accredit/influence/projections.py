r"""Projections of every layer's gradient: k × k numbers instead of outputs × inputs, formed without the gradient.

With B (outputs × k) and A (inputs × k) the gradient Σ_t g_t a_tᵀ of a row becomes Σ_t (Bᵀg_t)(Aᵀa_t)ᵀ (Choe et al., 2024).

- **Random** sides keep norms and inner products on average, with an error that does not care what gradients look like.
- **Principal** sides are the first eigenvectors of E[aaᵀ] and E[ggᵀ], labels being drawn from the model: the directions in
  which gradients are large. Neither matrix is formed where it is wide: with Y = E[aaᵀ]Ω for an orthonormal Ω of 4k columns,
  E[aaᵀ] ≈ Y(ΩᵀY)⁻¹Yᵀ (Nyström; Tropp et al., 2017), which is exact where Ω is square.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accredit.influence.layers import Layer, LayerRecord
from accredit.influence.losses import Batch, check_rows
from accredit.influence.network import Network

if TYPE_CHECKING:
    import torch

    Side = torch.Tensor | None  # (size, k); None: as it is

PRINCIPAL, RANDOM = "principal", "random"
SIDES = (PRINCIPAL, RANDOM)
ROWS_LOOKED_AT = 2000  # rows, from which principal sides are found
SKETCHED = 4  # times as many directions are looked at as are kept
ROUNDING = 1e-10  # of the largest number of a sketch, added so that it can be factored


@dataclass(frozen=True, eq=False)
class Projection:
    """The two sides of every layer; sides that are small enough stay whole."""

    sides: Mapping[str, tuple[Side, Side]]  # of inputs and of outputs

    @classmethod
    def of(cls, tensors: Mapping[str, torch.Tensor], net: Network) -> Projection:
        """What `tensors` wrote."""
        found = {name: part.to(net.device) for name, part in tensors.items()}
        return cls({layer.name: (found.get(f"in {layer.name}"), found.get(f"out {layer.name}")) for layer in net.layers})

    def tensors(self) -> dict[str, torch.Tensor]:
        """Every side that is not whole, by name."""
        named = {f"{which} {name}": side for name, both in self.sides.items() for which, side in zip(ENDS, both, strict=True)}
        return {name: side.cpu().contiguous() for name, side in named.items() if side is not None}

    def apply(self, layers: Sequence[Layer], seen: Mapping[str, LayerRecord]) -> dict[str, torch.Tensor]:
        """The projected gradient of every row, layer by layer: name -> (rows, k of the layer)."""
        import torch

        found = {}
        for layer in layers:
            s, (a_side, g_side) = seen[layer.name], self.sides[layer.name]
            if layer.kind == "embedding":
                a = torch.nn.functional.one_hot(s.a, layer.inputs).to(s.g) if a_side is None else a_side[s.a]
            else:
                a = s.a if a_side is None else s.a @ a_side
            found[layer.name] = LayerRecord(a, s.g if g_side is None else s.g @ g_side).gradients().flatten(1)
        return found


ENDS = ("in", "out")


def random_sides(net: Network, side: int, seed: int) -> Projection:
    """Gaussian sides, drawn on the CPU from the seed and the layer's name, so that they need not be stored."""

    def draw(layer: Layer, size: int, which: str) -> Side:
        return None if size <= side else _gaussian(size, side, f"{seed}/{layer.name}/{which}").to(net.device) / side**0.5

    return Projection({one.name: (draw(one, one.inputs, "in"), draw(one, one.outputs, "out")) for one in net.layers})


def principal_sides(net: Network, train: Batch, side: int, seed: int) -> Projection:
    """The directions in which inputs and output gradients of these rows are large; words of an embedding keep random sides."""
    import torch

    usual = random_sides(net, side, seed)
    looks: dict[tuple[str, str], torch.Tensor] = {}  # Ω
    for layer in net.layers:
        for which, size in zip(ENDS, (layer.inputs, layer.outputs), strict=True):
            if size > side and not (layer.kind == "embedding" and which == "in"):
                wide = _gaussian(size, min(size, SKETCHED * side), f"{seed}/{layer.name}/look {which}").double()
                looks[layer.name, which] = torch.linalg.qr(wide)[0].to(net.device)
    count = check_rows(train)
    rows = np.unique(np.linspace(0, count - 1, min(count, ROWS_LOOKED_AT)).round().astype(np.int64))
    some = train if len(rows) == count else {name: value[torch.as_tensor(rows)] for name, value in train.items()}
    sketches = {key: torch.zeros_like(look) for key, look in looks.items()}  # Y
    for _, _, seen in net.passes(some, draw=seed):
        for (name, which), look in looks.items():
            told = (seen[name].a if which == "in" else seen[name].g).flatten(0, 1).double()
            sketches[name, which] += told.T @ (told @ look) / len(rows)
    found = {key: _first_directions(sketches[key], look, side).float() for key, look in looks.items()}
    return Projection(
        {name: (found.get((name, "in"), both[0]), found.get((name, "out"), both[1])) for name, both in usual.sides.items()}
    )


def _first_directions(sketch: torch.Tensor, look: torch.Tensor, count: int) -> torch.Tensor:
    """The first eigenvectors (size, count) of the matrix C of which `sketch` is CΩ, Ω being `look`: those of Y(ΩᵀY)⁻¹Yᵀ."""
    import torch

    added = ROUNDING * max(float(sketch.abs().max()), 1e-300)
    y = sketch + added * look
    inner = look.T @ y
    triangle = torch.linalg.cholesky((inner + inner.T) / 2 + added * torch.eye(len(inner)).to(inner))
    root = torch.linalg.solve_triangular(triangle, y.T, upper=False).T  # C ≈ root rootᵀ
    return torch.as_tensor(torch.linalg.svd(root, full_matrices=False)[0][:, :count])


def _gaussian(size: int, count: int, name: str) -> torch.Tensor:
    """Random numbers (size, count) that are the same wherever they are drawn under this name."""
    import torch

    generator = torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big"))
    return torch.randn(size, count, generator=generator)
