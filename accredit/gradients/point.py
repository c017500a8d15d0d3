"""A differentiable payoff, and the input at which its slopes are taken.

Texts are moved in the space of word embeddings (positions stay, special tokens stay), pictures in prepared pixels, rows of
numbers as they are. The baseline replaces what players own and nothing else, so that f(baseline) is the payoff of the game
in which nobody plays, under the removal of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import torch

from accredit import defaults
from accredit.checks import real_numbers
from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.models.arrays import ArrayModel, as_array_model, tensor_of
from accredit.models.blocks import block_of, enter, replace_block
from accredit.models.encoded import Encoded, Text
from accredit.models.image import ImageModel, absent_picture
from accredit.models.labels import choose_output
from accredit.models.partition import Partition, partition_of, with_special
from accredit.models.payoffs import Law, check_payoff, payoff_of
from accredit.models.state import device_of, finite, still
from accredit.models.strings import StringModel
from accredit.models.text import TextModel, TokenBatch

if TYPE_CHECKING:
    from transformers.utils import ModelOutput

TOKENS_PER_PASS = 2048  # tokens of one forward and backward pass


@dataclass(frozen=True, eq=False)
class Point:
    """A payoff f on (batch, *shape), the input x, the baseline, and who owns which coordinates."""

    payoff: Callable[[torch.Tensor], torch.Tensor]  # (batch, *shape) -> (batch,)
    here: torch.Tensor  # (1, *shape)
    baseline: torch.Tensor  # (1, *shape)
    partition: Partition
    places: Callable[[FloatArray], FloatArray]  # (*shape) -> (places,): coordinates summed into places
    hold: Callable[[], AbstractContextManager[None]]  # the model in evaluation mode
    module: torch.nn.Module  # what is called
    rows: int = 64  # rows of one batch
    ids: IntArray | None = None  # (T,) of a text: the tokens whose word embeddings are moved
    provenance: dict[str, object] = field(default_factory=dict)

    def shares(self, values: torch.Tensor) -> FloatArray:
        """Values of coordinates summed over what each player owns: (1, *shape) -> (n,)."""
        return self.partition.shares(self.places(values[0].detach().double().cpu().numpy()))

    @property
    def local(self) -> dict[str, object]:
        """What decides a result that looks at the input alone: all but the baseline."""
        return {name: value for name, value in self.provenance.items() if name != "baseline"}

    def coordinates(self, places: torch.Tensor) -> torch.Tensor:
        """1 on the coordinates of some places, 0 elsewhere, in the shape of the input without its batch axis: (places,) -> …"""
        shape = self.here.shape[1:]
        if len(shape) == 2:  # tokens × embedding
            return places[:, None].to(self.here)
        return places.reshape(shape[-2:] if len(shape) == 3 else shape).to(self.here)

    @property
    def free(self) -> torch.Tensor:
        """1 on coordinates that belong to a player."""
        return self.coordinates(torch.from_numpy(self.partition.owned).to(self.here.device))

    def slopes(self, where: torch.Tensor) -> torch.Tensor:
        """The slope of the payoff at some points: (points, *shape) -> (points, *shape)."""
        found: list[torch.Tensor] = []
        with self.hold(), torch.enable_grad():
            for some in torch.split(where.detach(), self.rows):
                here = some.clone().requires_grad_(True)
                found += torch.autograd.grad(self.payoff(here).sum(), here)
        return torch.cat(found)

    def worth(self, where: torch.Tensor) -> float:
        """The payoff at one point: (1, *shape) -> a number."""
        with self.hold(), torch.no_grad():
            return float(self.payoff(where)[0])


def point(
    model: object,
    given: object,
    *,
    target: str | int | None = None,
    payoff: str | None = None,
    players: object = None,
    baseline: object = None,
    layer: int | str | None = None,
) -> Point:
    """The payoff of one target as a smooth function of a text, a picture or a row, ready for gradients.

    `model` is a `TextModel`, an `ImageModel`, or a torch module of rows. `players` and `target` are those of the games.
    Baselines: for texts "mask", "pad", "zero", "mean" (of all word embeddings) or an array, one vector or one per token (the
    default is the mask token where there is one, else pad); for pictures "zero", "mean", "blur", "black", a number or another
    picture (default "mean"); for rows a number or an array (default 0). `layer` moves the input of that block of a text model
    instead of its word embeddings; see `accredit.models.blocks`.
    """
    if isinstance(model, TextModel):
        encoded = given if isinstance(given, Encoded) else model.encode(cast(Text, given))  # which refuses what is not a text
        paid, dealt = payoff or defaults.payoff(model.law), players or defaults.PLAYERS_OF_TEXTS
        at = _of_text(model, encoded, target, paid, dealt, baseline)
        if layer is None:
            return at
        return at_layer(at, Partition(*with_special(at.partition.players, at.partition.owner, encoded.tokens)), layer)
    if layer is not None:
        raise InvalidInput(
            f"layer is {layer!r}, which is for the blocks of a text model; leave it out", argument="layer", code="misplaced"
        )
    if isinstance(model, ImageModel):
        away = defaults.REMOVAL_OF_PICTURES if baseline is None else baseline
        return _of_image(model, given, target, payoff, players, away)
    if isinstance(model, StringModel):
        raise InvalidInput(
            f"{model.name} has no gradients: it reads strings; use a game, for example methods='shapley'",
            argument="model",
            code="unsupported",
        )
    rows = as_array_model(model)
    if rows.module is None:
        raise InvalidInput(
            f"{rows.name} has no gradients; give a torch module, or use a game: tabular_game(model, row, background)",
            argument="model",
            code="unsupported",
        )
    return _of_row(rows, rows.module, given, target, payoff or "logit", players, 0.0 if baseline is None else baseline)


def _of_text(
    model: TextModel, encoded: Encoded, target: str | int | None, payoff: str, players: object, baseline: object
) -> Point:
    check_payoff(payoff, model.law, model.classes)
    index, partition = model.target(target, encoded), encoded.partition(players)
    prefix, types = model.batch(encoded).prefix, model.types(encoded)

    def worth(vectors: torch.Tensor) -> torch.Tensor:
        attends = torch.ones(vectors.shape[:2], dtype=torch.int64, device=vectors.device)
        batch = TokenBatch(None, vectors, attends, model.read(encoded, len(vectors)), prefix, types)
        return _payoff(model.outputs(batch), index, payoff, model.law)

    name = ("mask" if model.masks else "pad") if baseline is None else baseline
    ids = torch.from_numpy(encoded.ids).to(device_of(model.model))
    with torch.no_grad():
        here = model.embed(ids)
        owned = torch.from_numpy(partition.owned).to(here.device)[:, None]
        away = torch.where(owned, absent(model, name, here), here)
    return Point(
        worth,
        here[None],
        away[None],
        partition,
        lambda values: values.sum(axis=-1),
        model.hold,
        model.model,
        max(1, TOKENS_PER_PASS // len(encoded)),
        encoded.ids,
        {
            "model": model.name,
            "text": encoded.text,
            "target": model.label(index),
            "payoff": payoff,
            "baseline": name if isinstance(name, str) else "given",
        },
    )


def absent(model: TextModel, baseline: object, here: torch.Tensor) -> torch.Tensor:
    """What stands for tokens that have left: one vector (1, D), or one per token (T, D)."""
    if isinstance(baseline, str) and baseline == "mean":
        words: torch.Tensor = model.embed(torch.arange(model.known, device=here.device))
        return words.mean(dim=0, keepdim=True)
    if isinstance(baseline, str):
        return model.absent(baseline)
    try:
        given = torch.as_tensor(baseline).to(here)
        vectors = given.expand(here.shape)
    except (TypeError, ValueError, RuntimeError):
        raise InvalidInput(
            f"baseline is {baseline!r:.60}; write 'mask', 'pad', 'zero' or 'mean', or give an array of "
            f"{here.shape[1]} numbers, or of shape {tuple(here.shape)}",
            argument="baseline",
            code="shape",
        ) from None
    if not bool(torch.isfinite(vectors).all()):
        raise InvalidInput(
            "baseline holds a number that is not finite; give finite numbers, or the name of a baseline",
            argument="baseline",
            code="not-finite",
        )
    return vectors


def at_layer(at: Point, everyone: Partition, layer: int | str) -> Point:
    """The same payoff as a function of what enters a block: the first layers read the input and the baseline, and the line
    between the two lies behind them. Tokens that do not play change there too, so `everyone` gets credit.
    """
    block = block_of(at.module, layer)
    with at.hold(), torch.no_grad():
        here = enter(block, lambda: at.payoff(at.here))
        away = enter(block, lambda: at.payoff(at.baseline))
    if here.shape[:2] != at.here.shape[:2]:
        raise InvalidInput(
            f"layer {layer!r} reads {here.shape[1]} positions, and {at.here.shape[1]} tokens are explained",
            argument="layer",
            code="unsupported",
        )

    def worth(vectors: torch.Tensor) -> torch.Tensor:
        with replace_block(block, vectors):
            return at.payoff(at.here.expand(len(vectors), *at.here.shape[1:]))

    provenance = at.provenance | {"layer": layer}
    return replace(at, payoff=worth, here=here, baseline=away, partition=everyone, ids=None, provenance=provenance)


def _of_image(
    model: ImageModel, image: object, target: str | int | None, payoff: str | None, players: object, baseline: object
) -> Point:
    pixels = model.encode(image)
    outputs = len(model.predict(pixels))  # what decides how they become probabilities
    payoff = payoff or defaults.payoff(model.law)
    check_payoff(payoff, model.law, outputs)
    index, here = model.target(target, pixels), model.batch(pixels)
    name, away = absent_picture(model, pixels, baseline)
    return Point(
        lambda batch: _payoff(model.outputs(batch), index, payoff, model.law),
        here,
        torch.from_numpy(away)[None].to(here),
        pixels.partition(players),
        lambda values: values.sum(axis=0).ravel(),  # over channels
        model.hold,
        model.model,
        max(1, TOKENS_PER_PASS // (int(np.prod(pixels.grid)) + 1)),
        None,
        {
            "model": model.name,
            "image": pixels.name,
            "target": model.label(index),
            "payoff": payoff,
            "baseline": name,
        },
    )


def _of_row(
    model: ArrayModel,
    module: torch.nn.Module,
    row: object,
    target: str | int | None,
    payoff: str,
    players: object,
    baseline: object,
) -> Point:
    values = real_numbers(row, "row")
    values = values.reshape(-1) if values.ndim == 2 and len(values) == 1 else values
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InvalidInput(f"row has shape {values.shape}; give one row of finite numbers", argument="row", code="shape")
    dtype = next((p.dtype for p in module.parameters()), torch.float32)
    here = torch.as_tensor(values, dtype=dtype, device=device_of(module))[None]
    outputs = model.outputs(values[None])[0]
    check_payoff(payoff, model.law, len(outputs))
    index = choose_output(target, outputs, model.labels(len(outputs)))
    away = torch.as_tensor(np.broadcast_to(real_numbers(baseline, "baseline"), values.shape).copy()).to(here)[None]
    return Point(
        lambda batch: _payoff(_columns(module(batch), model.name), index, payoff, model.law),
        here,
        away,
        _columns_as_players(players, len(values)),
        lambda slopes: slopes,
        lambda: still(module),
        module,
        provenance={"model": model.name, "target": index, "payoff": payoff, "baseline": np.asarray(baseline)},
    )


def _columns(output: torch.Tensor | ModelOutput, name: str) -> torch.Tensor:
    outputs: torch.Tensor = tensor_of(output)
    return finite(outputs[:, None] if outputs.ndim == 1 else outputs, name)


def _columns_as_players(players: object, columns: int) -> Partition:
    """Columns, named columns, or named groups of column positions."""
    groups = players if isinstance(players, Mapping) else {}
    names = tuple(f"x{i}" for i in range(columns)) if players is None or groups else tuple(cast(Iterable[str], players))
    if len(names) != columns:
        raise InvalidInput(
            f"players names {len(names)} columns and the row has {columns}; name each one", argument="players", code="shape"
        )
    return partition_of(groups, columns, np.ones(columns, dtype=bool), names)


def _payoff(outputs: torch.Tensor, target: int, payoff: str, law: Law) -> torch.Tensor:
    worth: torch.Tensor = payoff_of(outputs, target, payoff, law)
    return worth
