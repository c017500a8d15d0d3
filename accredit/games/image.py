"""A picture as a game: which patches or segments earn the model's output."""

from __future__ import annotations

from typing import final

import numpy as np
import numpy.typing as npt
import torch

from accredit import defaults
from accredit.checks.arguments import check_arguments
from accredit.core import BoolArray, FloatArray
from accredit.games.batches import MEMORY, rows_that_fit, spans, transformer_bytes
from accredit.games.parts import PartsGame
from accredit.models.image import ImageModel, absent_picture
from accredit.models.partition import Partition
from accredit.models.payoffs import Payoff, check_payoff, name_payoff
from accredit.models.pixels import PAINTS, Pixels, Players


@final
class ImageGame(PartsGame):
    """v(S) = payoff of the picture in which only the patches of S are left.

    The others are painted over (`removal`): "mean" with the picture's mean colour, "blur" with a blurred copy of the
    picture (standard deviation: half a patch), "black" with black; in the model's own prepared units "zero" with zeros, or a
    number with that; or another picture is seen in their place. `absent` is what is seen where nobody plays.

    >>> from accredit.models import builtin, load_image_model
    >>> game = image_game(load_image_model(builtin.vision_folder()), np.eye(28))
    >>> game, len(game.players), game.removal
    (ImageGame(16 players, log-odds of 'T-shirt', removal by mean), 16, 'mean')
    """

    model: ImageModel

    def __init__(
        self,
        model: ImageModel,
        pixels: Pixels,
        partition: Partition,
        removal: object,
        payoff: Payoff,
        target: int,
        memory: float,
    ) -> None:
        self.model, self.pixels, self.partition = model, pixels, partition
        self.payoff_name, self.target, self._payoff = name_payoff(payoff), target, payoff
        self.removal, self.absent = absent_picture(model, pixels, removal)
        self._there = model.batch(pixels)[0]  # (C, H, W)
        self._gone = torch.from_numpy(self.absent).to(self._there)
        config = getattr(model.model, "config", None)
        tokens = int(np.prod(pixels.grid)) + 1
        row = transformer_bytes(config, tokens, 0, 4) + 8 * self._there.nelement() * 8
        self.rows = rows_that_fit(row, memory, tokens, self._there.device.type)

    @property
    def _whole(self) -> Pixels:
        return self.pixels

    def _earn(self, kept: BoolArray, targets: tuple[int, ...]) -> FloatArray:
        pixels = kept.reshape(len(kept), 1, *self._there.shape[1:])
        earned = np.empty((len(kept), len(targets)))
        with self.model.hold(), torch.inference_mode():
            for part in spans(len(kept), self.rows):
                stays = torch.from_numpy(pixels[part]).to(self._there.device)
                outputs = self.model.outputs(torch.where(stays, self._there, self._gone))
                earned[part] = self._pay(outputs.cpu(), kept[part], targets)
        return earned

    @property
    def baseline(self) -> str | float | npt.NDArray[np.float32]:
        """What gradients start from: the name or number of the removal, or the given picture as the model reads it."""
        named = isinstance(self.removal, int | float) or self.removal in PAINTS
        return self.removal if named else self.absent

    @property
    def provenance(self) -> dict[str, object]:
        """What the payoffs rest on."""
        return {
            "model": self.model.name,
            "architecture": type(self.model.model).__name__,
            "image": self.pixels.name,
            "target": self.model.label(self.target),
            "payoff": self.payoff_name,
            "removal": self.removal,
        }

    def fingerprint_parts(self) -> dict[str, object]:
        """What decides the payoffs, for a journal of them."""
        return {
            "model": self.model.model,
            "pixels": self.pixels.values,
            "owner": self.partition.owner,
            "removal": self.absent,
            "payoff": self._payoff,
            "target": self.target,
        }

    def __repr__(self) -> str:
        label = self.model.label(self.target)
        return f"ImageGame({len(self.players)} players, {self.payoff_name} of {label!r}, removal by {self.removal})"


@check_arguments
def image_game(
    model: ImageModel,
    image: object,
    *,
    players: Players = None,
    removal: object = defaults.REMOVAL_OF_PICTURES,
    payoff: Payoff | None = None,
    target: str | int | None = None,
    memory: float = MEMORY,
) -> ImageGame:
    """The game in which the patches or segments of a picture earn the model's output for one target.

    `players` are patches (by default at most 5 × 5, blocks of the model's own), a grid (rows, columns), "segments:40" (regions
    of similar colour), "pixels", or an (H, W) array of whole numbers that names the segment of every pixel (negative: the
    pixel belongs to nobody and always stays).

    >>> from accredit.models import builtin, load_image_model
    >>> image_game(load_image_model(builtin.vision_folder()), np.eye(28), players=(2, 2), removal="black").players
    ('r0c0', 'r0c1', 'r1c0', 'r1c1')
    """
    pixels = model.encode(image)
    outputs = len(model.predict(pixels))
    paid = payoff or defaults.payoff(model.law)
    check_payoff(paid, model.law, outputs)
    index = model.target(target, pixels)
    return ImageGame(model, pixels, pixels.partition(players), removal, paid, index, memory)
