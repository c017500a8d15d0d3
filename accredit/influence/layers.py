"""Gradients of single rows, layer by layer, without a gradient per row in memory for longer than one batch.

A linear layer sees inputs a and passes outputs on; with the gradient g of a row's loss at its outputs, the gradient of its
weights is Σ_t g_t a_tᵀ over the places t (tokens, pixels) at which the layer was used. All of influence needs only a and g.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from accredit.checks.numbers import shown
from accredit.errors import InvalidInput
from accredit.influence.losses import Batch, Loss, answers_of

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer whose weights are asked about, and its sizes."""

    name: str
    module: torch.nn.Module
    kind: str  # linear, conv, embedding
    inputs: int  # of the weight matrix, a column for the bias included
    outputs: int

    @property
    def parameters(self) -> int:
        return self.inputs * self.outputs

    @property
    def weight(self) -> torch.Tensor:
        """As the module holds it."""
        import torch

        return torch.as_tensor(self.module.weight)


@dataclass(frozen=True, eq=False)
class LayerRecord:
    """What one layer saw and was told in one batch; `ids` instead of `a` for an embedding."""

    a: torch.Tensor  # (rows, places, inputs), or whole numbers (rows, places)
    g: torch.Tensor  # (rows, places, outputs)

    def gradients(self) -> torch.Tensor:
        """The gradient of every row: (rows, outputs, inputs)."""
        import torch

        return torch.einsum("nto,nti->noi", self.g, self.a)


@dataclass(frozen=True, eq=False)
class OutcomeRecord:
    """What one layer saw in one batch, and what it was told for each of K labels that there can be, or that were drawn."""

    a: torch.Tensor  # (rows, places, inputs)
    g: torch.Tensor  # (rows, K, places, outputs)

    def gradients(self) -> torch.Tensor:
        """The gradient of every row and label: (rows, K, outputs, inputs)."""
        import torch

        return torch.einsum("nkto,nti->nkoi", self.g, self.a)


def check_module(model: object) -> None:
    """Refuse what has no layers."""
    if isinstance(model, type) or not hasattr(model, "named_modules"):
        raise InvalidInput(
            f"model is {shown(model)}; give a trained torch module, such as AutoModelForCausalLM.from_pretrained(folder)",
            argument="model",
            code="type",
        )


def track_layers(
    model: torch.nn.Module, layers: Sequence[str] | None = None, *, embeddings: bool = False, widest: int | None = None
) -> tuple[tuple[Layer, ...], tuple[str, ...]]:
    """The layers to look at, and the trained parameters that are left out, by name.

    Linear, convolutional and (with `embeddings`) embedding layers with a trained weight; `layers` keeps those whose name
    matches one of its patterns (`"*.mlp.*"`). Layers wider than `widest` on either side are left out, and named.

    >>> import torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2))
    >>> kept, left = track_layers(net)
    >>> [layer.name for layer in kept], left
    (['0', '2'], ('1.weight', '1.bias'))
    """
    check_module(model)
    found = [layer for name, module in model.named_modules() if (layer := _layer(name, module)) is not None]
    found = [layer for layer in found if embeddings or layer.kind != "embedding"]
    if layers is not None:
        for pattern in layers:
            if not any(fnmatch(layer.name, pattern) for layer in found):
                some = ", ".join(layer.name for layer in found[:6])
                raise InvalidInput(
                    f"layers: no layer is called {pattern!r}; there are {some}{', …' * (len(found) > 6)}",
                    argument="layers",
                    code="unknown",
                )
        found = [layer for layer in found if any(fnmatch(layer.name, pattern) for pattern in layers)]
    if widest is not None:
        found = [layer for layer in found if max(layer.inputs, layer.outputs) <= widest]
    kept = tuple({id(layer.weight): layer for layer in reversed(found)}.values())[::-1]  # tied weights once
    covered = {id(value) for layer in kept for value in layer.module.parameters()}
    left = tuple(n for n, v in model.named_parameters() if v.requires_grad and id(v) not in covered)
    if not kept:
        raise InvalidInput(
            "the model has no linear, convolutional or embedding layer that is trained and fits; see layers=",
            argument="model",
            code="missing",
        )
    return kept, left


def _layer(name: str, module: torch.nn.Module) -> Layer | None:
    import torch

    weight = getattr(module, "weight", None)
    if weight is None or not weight.requires_grad:
        return None
    constant = getattr(module, "bias", None)
    bias = int(constant is not None and constant.requires_grad)
    if isinstance(module, torch.nn.Linear):
        return Layer(name, module, "linear", module.in_features + bias, module.out_features)
    if type(module).__name__ == "Conv1D" and weight.dim() == 2:  # GPT-2's linear layer, its weight transposed
        return Layer(name, module, "linear", weight.shape[0] + bias, weight.shape[1])
    if (
        isinstance(module, torch.nn.Conv2d)
        and module.padding_mode == "zeros"
        and module.groups == 1
        and not isinstance(module.padding, str)
    ):
        return Layer(name, module, "conv", weight[0].numel() + bias, module.out_channels)
    if isinstance(module, torch.nn.Embedding):
        return Layer(name, module, "embedding", module.num_embeddings, module.embedding_dim)
    return None


@contextmanager
def watch(layers: Sequence[Layer], rows: int) -> Iterator[dict[str, list[tuple[torch.Tensor, torch.Tensor]]]]:
    """Record (input, output) of every layer in every forward pass inside the block.

    A layer that is used once for all rows, as positions are, answers with one row, which is repeated for each of them.
    """
    calls: dict[str, list[tuple[torch.Tensor, torch.Tensor]]] = {layer.name: [] for layer in layers}

    def hook(name: str) -> Callable[[torch.nn.Module, tuple[torch.Tensor, ...], torch.Tensor], torch.Tensor]:
        def record(_module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
            seen = inputs[0].detach()
            if len(output) == 1 < rows:
                seen, output = (value.expand(rows, *value.shape[1:]) for value in (seen, output))
            calls[name].append((seen, output))
            return output.clone()  # an activation that works in place must not change what is recorded

        return record

    handles = [layer.module.register_forward_hook(hook(layer.name)) for layer in layers]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def row_gradients(
    model: torch.nn.Module, layers: Sequence[Layer], loss: Loss, batch: Batch, draw: torch.Generator | None = None
) -> tuple[torch.Tensor, dict[str, LayerRecord]]:
    """The loss of every row (rows,), and what each layer saw and was told of it.

    With `draw` the labels are drawn from the model's own beliefs. Only gradients at the layers' outputs are formed.
    """
    import torch

    with watch(layers, len(batch["labels"])) as calls, torch.enable_grad():
        answers = answers_of(model, batch)
        labels = batch["labels"] if draw is None else loss.draw(answers, batch["labels"], draw)
        losses = loss.rows(answers, labels)
    if losses.shape != (len(batch["labels"]),):
        raise InvalidInput(
            f"the loss answers {tuple(losses.shape)} for {len(batch['labels'])} rows; one per row is needed",
            argument="loss",
            code="shape",
        )
    return losses.detach(), _tell(layers, calls, losses, again=False)


def expected_gradients(
    model: torch.nn.Module, layers: Sequence[Layer], loss: Loss, batch: Batch
) -> Iterator[dict[str, LayerRecord]] | None:
    """Gradients of every label there can be, times the root of its weight: their squares add up to the Fisher matrix.

    None where the labels are too many to list.
    """
    import torch

    with watch(layers, len(batch["labels"])) as calls, torch.enable_grad():
        answers = answers_of(model, batch)
        outcomes = loss.outcomes(answers, batch["labels"])
        losses = None if outcomes is None else [loss.rows(answers, y) * w.sqrt() for y, w in outcomes]
    return None if losses is None else (_tell(layers, calls, one, again=True) for one in losses)


def _tell(
    layers: Sequence[Layer],
    calls: dict[str, list[tuple[torch.Tensor, torch.Tensor]]],
    losses: torch.Tensor,
    again: bool,
) -> dict[str, LayerRecord]:
    """Gradients of the losses at every layer's outputs, beside its inputs; a layer that is used twice has more places."""
    import torch

    used = [(layer, call) for layer in layers for call in calls[layer.name]]
    told = torch.autograd.grad(losses.sum(), [out for _, (_, out) in used], allow_unused=True, retain_graph=again)
    seen: dict[str, LayerRecord] = {}
    for (layer, (inputs, _)), g in zip(used, told, strict=True):
        if g is not None:
            now = _look_at(layer, inputs, g)
            before = seen.get(layer.name)
            both = None if before is None else ((before.a, now.a), (before.g, now.g))
            seen[layer.name] = now if both is None else LayerRecord(*(torch.cat(pair, 1) for pair in both))
    return seen


def _look_at(layer: Layer, inputs: torch.Tensor, g: torch.Tensor) -> LayerRecord:
    """Inputs as (rows, places, inputs) with a column of ones for the bias, gradients as (rows, places, outputs)."""
    import torch

    rows = len(g)
    if layer.kind == "embedding":
        return LayerRecord(inputs.reshape(rows, -1), g.reshape(rows, -1, layer.outputs))
    m = layer.module
    if isinstance(m, torch.nn.Conv2d) and not isinstance(m.padding, str):
        a = torch.nn.functional.unfold(inputs, m.kernel_size, m.dilation, m.padding, m.stride).transpose(1, 2)
        g = g.flatten(2).transpose(1, 2)
    else:
        a, g = inputs.reshape(rows, -1, inputs.shape[-1]), g.reshape(rows, -1, layer.outputs)
    if a.shape[-1] < layer.inputs:
        a = torch.cat([a, a.new_ones((*a.shape[:2], 1))], dim=2)
    return LayerRecord(a, g)
