"""Image classifiers behind the same interface: pixels in, logits out, patches as players, attention over patches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt
import torch
from scipy.ndimage import gaussian_filter

from accredit.core import BoolArray, FloatArray, IntArray, InvalidInput
from accredit.models import attention
from accredit.models.labels import chosen_output, label_of, law_of
from accredit.models.partition import Partition, partition_by
from accredit.models.payoffs import Law, payoff_of
from accredit.models.reading import Heads, Read, read_attention
from accredit.models.state import device_of, finite, still

NARROWEST = 64  # a longer strip would be resized into more pixels than any model reads
SPECIAL = 16  # tokens besides patches that a vision transformer may have: class, distillation, registers
PAINTS = ("mean", "blur", "zero")  # what may stand in place of a removed patch


@dataclass(frozen=True)
class Preparation:
    """From a picture to the numbers that a model reads: resize, cut, scale by `factor`, subtract `mean`, divide by `std`.

    A picture is resized to `size`; or to `resized` (or so that its shorter edge has that length), and then its middle is
    cut out, with black where the picture is smaller than the cut.
    """

    size: tuple[int, int]  # (height, width) that the model reads
    channels: int = 3
    factor: float = 1 / 255
    mean: tuple[float, ...] = (0.5,)
    std: tuple[float, ...] = (0.5,)
    resample: int = 2  # bilinear
    resized: tuple[int, int] | int | None = None  # before the middle is cut out; None: `size`, nothing is cut

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Preparation:
        """Read the fields of a Hugging Face preprocessor_config.json."""
        size, resized = _edges(settings.get("size", 224)), None
        if settings.get("do_center_crop"):
            resized = size if settings.get("do_resize", True) else None
            size = _edges(settings.get("crop_size", size))
        if isinstance(size, int):
            size = (size, size)
        mean, std = settings.get("image_mean") or (0.0,), settings.get("image_std") or (1.0,)
        normal = settings.get("do_normalize", True)
        return cls(
            size=size,
            channels=len(mean) if isinstance(mean, list | tuple) else 3,
            factor=float(settings.get("rescale_factor", 1 / 255)) if settings.get("do_rescale", True) else 1.0,
            mean=_numbers(mean) if normal else (0.0,),
            std=_numbers(std) if normal else (1.0,),
            resample=int(settings.get("resample", 2)),
            resized=resized,
        )

    def pixels(self, image: Any) -> npt.NDArray[np.float32]:
        """A PIL image, or an array of 0…255 in (H, W) or (H, W, C), as (channels, height, width)."""
        from PIL import Image

        picture = Image.fromarray(image.astype(np.uint8)) if isinstance(image, np.ndarray) else image
        picture = picture.convert("L" if self.channels == 1 else "RGB")
        height, width = self._before_cut(picture.height, picture.width)
        if picture.size != (width, height):
            picture = picture.resize((width, height), Image.Resampling(self.resample))
        top, left = (height - self.size[0]) // 2, (width - self.size[1]) // 2
        picture = picture.crop((left, top, left + self.size[1], top + self.size[0]))
        values = np.asarray(picture, dtype=np.float32).reshape(*self.size, self.channels) * self.factor
        return np.ascontiguousarray(
            ((values - np.array(self.mean)) / np.array(self.std)).transpose(2, 0, 1), dtype=np.float32
        )

    def _before_cut(self, height: int, width: int) -> tuple[int, int]:
        """Height and width to which a picture is resized."""
        if not isinstance(self.resized, int):
            return self.resized or self.size
        short = min(height, width)
        if max(height, width) > NARROWEST * short:
            raise InvalidInput(
                f"the picture has {height} × {width} pixels; one edge may be at most {NARROWEST} times the other: cut it first"
            )
        return self.resized * height // short, self.resized * width // short


def _edges(size: Any) -> tuple[int, int] | int:
    """A size as (height, width), or as the length of the shorter edge; 224, {"height": …, "width": …} or
    {"shortest_edge": …}.
    """
    if isinstance(size, Mapping):
        size = size["shortest_edge"] if "shortest_edge" in size else (size["height"], size["width"])
    return int(size) if isinstance(size, int) else (int(size[0]), int(size[1]))


def _numbers(value: Any) -> tuple[float, ...]:
    return tuple(float(v) for v in value) if isinstance(value, list | tuple) else (float(value),)


@dataclass(frozen=True, eq=False)
class Pixels:
    """One picture as a model reads it."""

    values: npt.NDArray[np.float32]  # (C, H, W), prepared
    patch: tuple[int, int]  # height and width of one patch
    name: str = "image"

    @property
    def grid(self) -> tuple[int, int]:
        """How many patches there are, down and across; an edge patch may be smaller."""
        return -(-self.values.shape[1] // self.patch[0]), -(-self.values.shape[2] // self.patch[1])

    def partition(self, players: tuple[int, int] | npt.NDArray[Any] | None = None) -> Partition:
        """Pixels dealt out to players: places are the H·W pixels, row by row.

        By default the model's own patches; else a grid (rows, columns), where player "r2c3" is the patch in row 2 and
        column 3, from 0; or an (H, W) array with the segment of every pixel, where a negative number is nobody's.
        """
        height, width = self.values.shape[1:]
        if isinstance(players, np.ndarray):
            return self._segments(players)
        rows, columns = self.grid if players is None else players
        if not (1 <= rows <= height and 1 <= columns <= width):
            raise InvalidInput(
                f"players is the grid {(rows, columns)}; {height} × {width} pixels allow 1…{height} by 1…{width}"
            )
        if players is None:
            down, across = np.arange(height) // self.patch[0], np.arange(width) // self.patch[1]
        else:
            down, across = np.arange(height) * rows // height, np.arange(width) * columns // width
        owner = (down[:, None] * columns + across[None]).ravel()
        names = tuple(f"r{k // columns}c{k % columns}" for k in range(rows * columns))
        return Partition(names, owner.astype(np.int64))

    def _segments(self, segments: npt.NDArray[Any]) -> Partition:
        if segments.shape != self.values.shape[1:] or not np.issubdtype(segments.dtype, np.integer):
            raise InvalidInput(
                f"players is an array of {segments.dtype} with shape {segments.shape}; segments are whole numbers of shape "
                f"{self.values.shape[1:]}"
            )
        labels = segments.ravel().astype(np.int64)
        if not (labels >= 0).any():
            raise InvalidInput("players leaves every pixel to nobody; give at least one segment a number from 0")
        return partition_by(labels, [f"segment {k}" for k in np.unique(labels[labels >= 0])])


@final
class ImageModel:
    """An image classifier, ready to be explained. Credit is for a label; players are patches."""

    def __init__(self, model: Any, preparation: Preparation | None = None, name: str | None = None) -> None:
        if not isinstance(model, torch.nn.Module):
            raise InvalidInput(f"model is a {type(model).__name__}; a torch image classifier is needed")
        self.model: Any = model
        self.preparation = preparation
        self.name = name or getattr(getattr(model, "config", None), "name_or_path", "") or type(model).__name__

    def __repr__(self) -> str:
        return f"ImageModel({self.name!r}, {type(self.model).__name__})"

    def encode(self, image: Any) -> Pixels:
        """A picture as the model reads it.

        A file, a PIL image or an array of whole numbers 0…255 is prepared (resized, scaled); a float array or tensor of
        shape (C, H, W) is taken as already prepared.
        """
        if isinstance(image, Pixels):
            return image
        name = "image"
        if isinstance(image, str | Path):
            name, image = Path(image).name, open_image(image)
        if isinstance(image, torch.Tensor):
            image = image.detach().cpu().numpy()
        if isinstance(image, np.ndarray) and np.issubdtype(image.dtype, np.floating):
            return Pixels(self._prepared(image), self._patch(), name)
        if isinstance(image, np.ndarray) and not (image.ndim in (2, 3) and np.issubdtype(image.dtype, np.integer)):
            raise InvalidInput(
                f"image is an array of {image.dtype} with shape {image.shape}; give (H, W) or (H, W, C) of 0…255"
            )
        if not isinstance(image, np.ndarray) and not hasattr(image, "convert"):
            raise InvalidInput(f"image is a {type(image).__name__}; give a file, a PIL image or an array")
        return Pixels(self._preparation().pixels(image), self._patch(), name)

    def _preparation(self) -> Preparation:
        if self.preparation is not None:
            return self.preparation
        size = getattr(self._reads, "image_size", None)
        if size is None:
            raise InvalidInput(
                f"{self.name} does not say how pictures are prepared; pass a float array (C, H, W), already prepared"
            )
        height, width = (size, size) if isinstance(size, int) else tuple(size)
        return Preparation((height, width), channels=int(getattr(self._reads, "num_channels", 3)))

    @property
    def _reads(self) -> Any:
        """The part of the configuration that is about pictures (CLIP and SigLIP also have one about texts), or None."""
        config = getattr(self.model, "config", None)
        return getattr(config, "vision_config", config)

    def _prepared(self, image: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        channels = getattr(self._reads, "num_channels", None)
        if image.ndim != 3 or (channels is not None and image.shape[0] != channels):
            raise InvalidInput(f"image has shape {image.shape}; a prepared float array is ({channels or 'C'}, H, W)")
        if not np.isfinite(image).all():
            raise InvalidInput("image holds NaN or infinite values; only finite pixels can be explained")
        return image.astype(np.float32)

    def _patch(self) -> tuple[int, int]:
        patch = getattr(self._reads, "patch_size", None) or 8
        return (int(patch), int(patch)) if isinstance(patch, int) else (int(patch[0]), int(patch[1]))

    @contextmanager
    def held(self) -> Iterator[None]:
        """The model in evaluation mode; its state is put back afterwards."""
        with still(self.model):
            yield

    def outputs(self, pixels: torch.Tensor) -> torch.Tensor:
        """Logits of a batch of prepared pictures: (B, C, H, W) -> (B, classes). Call inside `held`."""
        output = self._forward(pixels)
        return finite(output if isinstance(output, torch.Tensor) else output.logits, self.name)

    def _forward(self, pixels: torch.Tensor, **extra: Any) -> Any:
        try:
            return self.model(pixels, **extra)
        except Exception as error:  # a model may raise anything; say which one, on what, and what it said
            raise InvalidInput(
                f"{self.name} failed on pixels of shape {tuple(pixels.shape)}: {type(error).__name__}: "
                f"{' '.join(str(error).split())[:200]}"
            ) from error

    def batch(self, pixels: Pixels) -> torch.Tensor:
        """One picture as a batch of one: (1, C, H, W), in the model's precision."""
        dtype = next((p.dtype for p in self.model.parameters()), torch.float32)
        return torch.tensor(pixels.values)[None].to(device_of(self.model), dtype)

    def predict(self, pixels: Pixels) -> FloatArray:
        """The model's logits for one picture: (classes,)."""
        with self.held(), torch.inference_mode():
            return self.outputs(self.batch(pixels))[0].double().cpu().numpy()

    @property
    def law(self) -> Law:
        """How logits become probabilities."""
        config = getattr(self.model, "config", None)
        return law_of(config, int(getattr(config, "num_labels", None) or 2))

    def label(self, index: int) -> str:
        """The name of one class."""
        return label_of(getattr(self.model, "config", None), index)

    def target(self, target: str | int | None, pixels: Pixels) -> int:
        """The class to explain: by name, by index, or the predicted one when None."""
        logits = self.predict(pixels)
        return chosen_output(target, logits, tuple(self.label(i) for i in range(len(logits))))

    def attentions(self, pixels: Pixels) -> FloatArray:
        """Attention weights (L, H, T, T) over the model's tokens: class and register tokens, then patches by row."""
        batch = self.batch(pixels)
        return attention.attention_weights(self.model, lambda **extra: self._forward(batch, **extra), "self")

    def attention_gradients(
        self, pixels: Pixels, target: str | int | None = None, payoff: str = "logit"
    ) -> tuple[FloatArray, FloatArray]:
        """Attention weights and the slope of the payoff in each of them: two arrays (L, H, T, T)."""
        batch, index = self.batch(pixels).requires_grad_(True), self.target(target, pixels)
        return attention.attention_gradients(
            self.model,
            lambda **extra: self._forward(batch, **extra),
            lambda output: payoff_of(finite(output.logits, self.name), index, payoff, self.law),
            "self",
        )

    def read_attention(self, pixels: Pixels, tensor: str, heads: Heads, target: str | int | None, payoff: str) -> Read:
        """Attention with its heads combined layer by layer, as one of the tensors of `accredit.models.reading`."""
        batch, index = self.batch(pixels).requires_grad_(True), self.target(target, pixels)
        return read_attention(
            self.model,
            lambda **extra: self._forward(batch, **extra),
            tensor,
            heads,
            lambda output: payoff_of(finite(output.logits, self.name), index, payoff, self.law),
            int(np.prod(pixels.grid)) + 1,
        )

    def patch_tokens(self, pixels: Pixels) -> IntArray:
        """For each of the model's tokens the patch it stands for, −1 for class and register tokens: (tokens,)."""
        with self.held(), torch.inference_mode():
            tokens = self._last_hidden(self._forward(self.batch(pixels), output_hidden_states=True)).shape[1]
        patches = int(np.prod(pixels.grid))
        if not patches <= tokens <= patches + SPECIAL:
            raise InvalidInput(
                f"{self.name} ends with {tokens} tokens and the image has {patches} patches; they do not match"
            )
        return np.concatenate([np.full(tokens - patches, -1, dtype=np.int64), np.arange(patches)])

    def special_tokens(self, count: int) -> list[str]:
        """Names of the tokens before the patches: a class token, DeiT's distillation token, registers."""
        first = ["[CLS]", "[DIST]"] if getattr(self._reads, "model_type", "") == "deit" else ["[CLS]"]
        return (first + [f"[REG{k}]" for k in range(1, count)])[:count]

    def _last_hidden(self, output: Any) -> torch.Tensor:
        """The last layer's tokens: (1, tokens, D)."""
        hidden = getattr(output, "hidden_states", None)
        if not hidden or hidden[-1].ndim != 3:
            raise InvalidInput(f"{self.name} returns no tokens of its last layer, so there is no attention to show")
        last: torch.Tensor = hidden[-1]
        return last

    def output_tokens(self, pixels: Pixels) -> BoolArray:
        """The positions of the last layer from which the output is read, found by their slopes: (tokens,)."""
        batch = self.batch(pixels).requires_grad_(True)
        with self.held(), torch.enable_grad():
            output = self._forward(batch, output_hidden_states=True)
            spread = torch.linspace(1.0, 2.0, output.logits.shape[1], dtype=batch.dtype, device=batch.device)
            hidden = self._last_hidden(output)
            (slope,) = torch.autograd.grad(
                (output.logits * spread).sum(), hidden, allow_unused=True, materialize_grads=True
            )
        read: BoolArray = (slope[0] != 0).any(dim=-1).cpu().numpy()
        return read


def painted_over(pixels: Pixels, removal: str | float) -> npt.NDArray[np.float32]:
    """What the picture looks like where nobody plays: (C, H, W)."""
    values = pixels.values
    if isinstance(removal, int | float) and not isinstance(removal, bool):
        return np.full_like(values, removal)
    if removal == "zero":
        return np.zeros_like(values)
    if removal == "mean":
        return np.broadcast_to(values.mean(axis=(1, 2), keepdims=True), values.shape).astype(np.float32)
    if removal == "blur":
        blurred: npt.NDArray[np.float32] = gaussian_filter(values, sigma=(0, pixels.patch[0] / 2, pixels.patch[1] / 2))
        return blurred
    raise InvalidInput(f"removal is {removal!r}; write one of {', '.join(PAINTS)}, or a number")


def open_image(file: str | Path) -> Any:
    """The picture in a file, or an error that says what the file is not."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(file) as picture:
            picture.load()
            return picture.copy()
    except FileNotFoundError:
        raise InvalidInput(f"image {str(file)!r} does not exist; give the path of a picture") from None
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError, SyntaxError) as error:
        raise InvalidInput(
            f"{str(file)!r} is not a picture that can be read: {' '.join(str(error).split())[:120]}"
        ) from None


def as_image_model(model: Any, processor: Any = None) -> ImageModel:
    """An image model from a classifier and its image processor (its settings are read), or unchanged."""
    if isinstance(model, ImageModel):
        return model
    if processor is None and hasattr(model, "model") and hasattr(model, "image_processor"):
        model, processor = model.model, model.image_processor
    settings = processor.to_dict() if hasattr(processor, "to_dict") else processor
    return ImageModel(model, None if settings is None else Preparation.from_settings(settings))
