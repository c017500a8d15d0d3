"""A picture as a game: which patches earn the model's output."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import numpy.typing as npt
import torch

from accredit.core import BoolArray, FloatArray
from accredit.games.batches import MEMORY, rows_that_fit, spans, transformer_bytes
from accredit.games.parts import PartsGame
from accredit.models.image import ImageModel, Pixels, painted_over
from accredit.models.partition import Partition
from accredit.models.payoffs import check_payoff, payoffs_of


@final
class ImageGame(PartsGame):
    """v(S) = payoff of the picture in which only the patches of S are left.

    The others are painted over (`removal`): "mean" with the picture's mean colour, "blur" with a blurred copy of the
    picture (standard deviation: half a patch), "zero" with zeros, or a number, all in the model's own prepared units.
    """

    model: ImageModel

    def __init__(
        self,
        model: ImageModel,
        pixels: Pixels,
        partition: Partition,
        removal: str | float,
        payoff: str,
        target: int,
        memory: float,
    ) -> None:
        self.model, self.pixels, self.partition = model, pixels, partition
        self.removal, self.payoff_name, self.target = removal, payoff, target
        self._there = model.batch(pixels)[0]  # (C, H, W)
        self._gone = torch.from_numpy(painted_over(pixels, removal)).to(self._there)
        config = getattr(model.model, "config", None)
        tokens = int(np.prod(pixels.grid)) + 1
        row = transformer_bytes(config, tokens, 0, 4) + 8 * self._there.nelement() * 8
        self.rows = rows_that_fit(row, memory, tokens, self._there.device.type)

    @property
    def _whole(self) -> Pixels:
        return self.pixels

    def _earned(self, kept: BoolArray, targets: tuple[int, ...]) -> FloatArray:
        pixels = kept.reshape(len(kept), 1, *self._there.shape[1:])
        earned = np.empty((len(kept), len(targets)))
        with self.model.held(), torch.inference_mode():
            for part in spans(len(kept), self.rows):
                stays = torch.from_numpy(pixels[part]).to(self._there.device)
                outputs = self.model.outputs(torch.where(stays, self._there, self._gone))
                earned[part] = payoffs_of(outputs.cpu(), targets, self.payoff_name, self.model.law).numpy()
        return earned

    @property
    def provenance(self) -> dict[str, Any]:
        """What the payoffs rest on."""
        return {
            "model": self.model.name,
            "architecture": type(self.model.model).__name__,
            "image": self.pixels.name,
            "target": self.model.label(self.target),
            "payoff": self.payoff_name,
            "removal": self.removal,
        }

    def fingerprint_parts(self) -> dict[str, Any]:
        """What decides the payoffs, for a journal of them."""
        return {
            "model": self.model.model,
            "pixels": self.pixels.values,
            "owner": self.partition.owner,
            "removal": self.removal,
            "payoff": self.payoff_name,
            "target": self.target,
        }

    def __repr__(self) -> str:
        label = self.model.label(self.target)
        return f"ImageGame({len(self.players)} players, {self.payoff_name} of {label!r}, removal by {self.removal})"


def image_game(
    model: ImageModel,
    image: Any,
    *,
    players: tuple[int, int] | npt.NDArray[Any] | None = None,
    removal: str | float = "mean",
    payoff: str = "logit",
    target: str | int | None = None,
    memory: float = MEMORY,
) -> ImageGame:
    """The game in which the patches of a picture earn the model's output for one target.

    `players` are the model's own patches, a grid (rows, columns), or an (H, W) array of whole numbers that names the
    segment of every pixel (negative: the pixel belongs to nobody and always stays).
    """
    pixels = model.encode(image)
    check_payoff(payoff, model.law, len(model.predict(pixels)))
    index = model.target(target, pixels)
    return ImageGame(model, pixels, pixels.partition(players), removal, payoff, index, memory)
