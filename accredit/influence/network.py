"""A trained network and what it was trained to do, as everything that follows gradients of its rows needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from accredit.checks import needs
from accredit.errors import InvalidInput, NotConverged
from accredit.influence.layers import Layer, LayerRecord, OutcomeRecord, expected_gradients, row_gradients, track_layers
from accredit.influence.losses import Batch, Loss, check_rows, loss_named, pick
from accredit.models.precision import check_precision

if TYPE_CHECKING:
    import torch

MEMORY_BYTES = 2e9  # bytes
WIDEST_LAYER = 8192  # inputs or outputs of a layer, whose square is an eigenproblem


@dataclass(frozen=True, eq=False)
class Network:
    """A trained model, the loss of its rows, and the layers that are asked about.

    `weight_decay` is that of the objective J = mean loss + weight_decay/2·‖θ‖². `memory` is what one call may hold, in bytes:
    sizes are estimated and refused before anything is allocated.

    >>> import torch
    >>> module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    >>> net = network(module, loss="classification")
    >>> [layer.name for layer in net.layers], net.parameters
    (['0', '2'], 26)
    """

    model: torch.nn.Module
    loss: Loss
    layers: tuple[Layer, ...]
    left_out: tuple[str, ...]  # trained parameters that are not looked at
    weight_decay: float = 0.0
    batch_size: int = 32
    memory: float = MEMORY_BYTES
    watch: Callable[[int], None] | None = None  # called with the number of rows of every batch that was passed

    @property
    def parameters(self) -> int:
        return sum(layer.parameters for layer in self.layers)

    @property
    def device(self) -> torch.device:
        return self.layers[0].weight.device

    def constant_loss(self, data: Batch) -> float | None:
        """The mean loss of the best answer that looks at no row; None where the loss was written elsewhere and does not say."""
        said = getattr(self.loss, "constant", None)
        return None if said is None else float(said(data["labels"]))

    def check_memory(self, queries: int) -> None:
        """Refuse what would not fit: queries and one batch of row gradients, twice over while they are multiplied."""
        largest = max(layer.parameters for layer in self.layers)
        sides = sum(layer.inputs**2 + layer.outputs**2 for layer in self.layers)
        needed = 4 * (queries * self.parameters + 2 * self.batch_size * largest + 2 * sides + self.parameters)
        if needed > self.memory:
            raise InvalidInput(
                f"{queries} queries of {self.parameters:,} parameters, {self.batch_size} rows at a time, need about "
                f"{needed / 1e9:.1f} GB and memory allows {self.memory / 1e9:.1f} GB; ask fewer queries at a "
                "time, look at some layers only (layers=[…]), lower batch_size, raise memory, "
                "or keep a GradientStore",
                argument="memory",
                code="too-many",
            )

    def passes(self, data: Batch, draw: int | None = None) -> Iterator[tuple[slice, torch.Tensor, dict[str, LayerRecord]]]:
        """Every batch once: which rows, their losses, and what the layers saw; `draw` seeds labels from the model itself."""
        import torch

        generator = None if draw is None else torch.Generator().manual_seed(draw)
        with evaluating(self.model):
            for start in range(0, check_rows(data), self.batch_size):
                rows = slice(start, start + self.batch_size)
                losses, seen = row_gradients(self.model, self.layers, self.loss, pick(data, rows, self.device), generator)
                if not bool(torch.isfinite(losses).all()):
                    raise NotConverged(
                        f"the loss of row {start + int((~torch.isfinite(losses)).nonzero()[0])} is not finite",
                        code="not-finite",
                    )
                yield rows, losses, seen
                if self.watch:
                    self.watch(len(losses))

    def fisher(self, data: Batch, seed: int, draws: int) -> Iterator[dict[str, OutcomeRecord]]:
        """Batch by batch, gradients whose squares add up to the Fisher matrix: of all labels there can be, or of drawn ones."""
        import torch

        generator = torch.Generator().manual_seed(seed)
        with evaluating(self.model):
            for start in range(0, check_rows(data), self.batch_size):
                part = pick(data, slice(start, start + self.batch_size), self.device)
                exact = expected_gradients(self.model, self.layers, self.loss, part)
                if exact is None:
                    drawn = (row_gradients(self.model, self.layers, self.loss, part, generator)[1] for _ in range(draws))
                    exact = ({n: LayerRecord(s.a, s.g / draws**0.5) for n, s in seen.items()} for seen in drawn)
                told = list(exact)
                yield {n: OutcomeRecord(s.a, torch.stack([one[n].g for one in told], dim=1)) for n, s in told[0].items()}
                if self.watch:
                    self.watch(check_rows(part))


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """In evaluation mode for the time of the block: no dropout, no moving averages."""
    was = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was)


def network(
    model: torch.nn.Module,
    *,
    loss: str | Loss | None = None,
    layers: Sequence[str] | None = None,
    weight_decay: float = 0.0,
    batch_size: int = 32,
    memory: float = MEMORY_BYTES,
    embeddings: bool = False,
) -> Network:
    """Bundle a torch module, or a Hugging Face model, for questions about its training rows.

    >>> import torch
    >>> network(torch.nn.Linear(3, 2), loss="classification").parameters
    8
    """
    with needs("text", "influence of a network"):
        import torch  # noqa: F401
    if not weight_decay >= 0 or not isinstance(batch_size, int) or batch_size < 1:
        raise InvalidInput(
            f"weight_decay={weight_decay!r} and batch_size={batch_size!r}: from 0 on, and at least 1",
            argument="weight_decay",
            code="range",
        )
    kept, left = track_layers(model, layers, embeddings=embeddings, widest=None if embeddings else WIDEST_LAYER)
    check_precision(model.parameters())
    return Network(model, loss_named(loss, model), kept, left, float(weight_decay), batch_size, memory)


NetworkFacts = TypedDict(
    "NetworkFacts", {"weight decay": float, "parameters": int, "layers": list[str], "left out": list[str], "loss": str}
)


def facts_of(net: Network) -> NetworkFacts:
    """What was looked at and what was not."""
    return {
        "weight decay": net.weight_decay,
        "parameters": net.parameters,
        "layers": [layer.name for layer in net.layers],
        "left out": list(net.left_out),
        "loss": repr(net.loss),
    }


def weights_of(layer: Layer) -> torch.Tensor:
    """The weights of a layer as one matrix (outputs, inputs), the bias as its last column."""
    import torch

    weight = layer.weight.detach()
    if layer.kind == "embedding" or type(layer.module).__name__ == "Conv1D":
        weight = weight.T
    flat = weight.flatten(1)
    return (
        flat
        if flat.shape[1] == layer.inputs
        else torch.cat([flat, torch.as_tensor(layer.module.bias).detach()[:, None]], dim=1)
    )
