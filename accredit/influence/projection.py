"""Random sides of every layer, by which gradients are projected while they are formed: k numbers instead of all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accredit.influence.layers import Layer, LayerRecord
from accredit.influence.network import Network

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Projection:
    """The two random sides of every layer; sides that are small enough stay whole."""

    sides: Mapping[str, tuple[torch.Tensor | None, torch.Tensor | None]]  # (inputs, k), (outputs, k); None: as it is

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


def projection(net: Network, side: int, seed: int) -> Projection:
    """Gaussian sides, drawn on the CPU from the seed and the layer's name, so that they need not be stored."""
    import torch

    def draw(layer: Layer, size: int, which: str) -> torch.Tensor | None:
        if size <= side:
            return None
        digest = hashlib.sha256(f"{seed}/{layer.name}/{which}".encode()).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
        return torch.as_tensor(torch.randn(size, side, generator=generator) / side**0.5).to(net.device)

    return Projection({one.name: (draw(one, one.inputs, "in"), draw(one, one.outputs, "out")) for one in net.layers})
