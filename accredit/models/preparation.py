"""From a picture to the numbers that a model reads: resize, cut, scale, normalise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from accredit.checks.numbers import a_type
from accredit.core import IntArray
from accredit.errors import InvalidInput
from accredit.models.pictures import Photo, array_photo, photo_of

if TYPE_CHECKING:
    import PIL.Image
    from transformers import BaseImageProcessor

PIXEL_TOLERANCE = 0.1  # by how much prepared values may differ, where white and black are about 4 apart: other ways to round
LONGEST_STRIP = 64  # a longer strip would be resized into more pixels than any model reads


@dataclass(frozen=True)
class Preparation:
    """From a picture to the numbers that a model reads: resize, cut, scale by `factor`, subtract `mean`, divide by `std`.

    A picture is resized to `size`; or to `resized` (or so that its shorter edge has that length), and then its middle is
    cut out, with black where the picture is smaller than the cut. Without a `size` it stays as large as it is, and without
    `channels` grey stays grey and colour stays colour.

    >>> grey = Preparation(size=(2, 2), channels=1)
    >>> grey.pixels(np.array([[0, 255], [255, 0]], dtype=np.uint8)).tolist()
    [[[-1.0, 1.0], [1.0, -1.0]]]
    """

    size: tuple[int, int] | None  # (height, width) that the model reads
    channels: int | None = 3
    factor: float = 1 / 255
    mean: tuple[float, ...] = (0.5,)
    std: tuple[float, ...] = (0.5,)
    resample: int = 2  # bilinear
    resized: tuple[int, int] | int | None = None  # before the middle is cut out; None: `size`, nothing is cut

    def __post_init__(self) -> None:
        if self.channels not in (None, 1, 3):
            raise InvalidInput(
                f"the model reads {self.channels} channels, and a picture has 1 or 3; give a float array of shape "
                f"({self.channels}, H, W), already prepared",
                code="unsupported",
            )
        if not all(np.isfinite(self.mean)) or not all(np.isfinite(self.std)) or min(self.std, default=0) <= 0:
            raise InvalidInput(
                f"mean is {self.mean} and std is {self.std}; give finite numbers, std above 0",
                argument="mean" if min(self.std, default=0) > 0 and all(np.isfinite(self.std)) else "std",
                code="range",
            )
        for name, numbers in (("mean", self.mean), ("std", self.std)):
            if len(numbers) not in (1, self.channels or len(numbers)):
                raise InvalidInput(
                    f"{name} has {len(numbers)} numbers and the model reads {self.channels} channels",
                    argument=name,
                    code="shape",
                )

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

    def pixels(self, image: npt.NDArray[np.generic] | PIL.Image.Image) -> npt.NDArray[np.float32]:
        """A PIL image, or an array of 0…255 in (H, W) or (H, W, C), as (channels, height, width)."""
        photo = array_photo(image, first=False) if isinstance(image, np.ndarray) else photo_of(image)
        return self.scale(self.frame(photo)[0])

    def frame(self, photo: Photo) -> tuple[npt.NDArray[np.uint8], tuple[str, ...]]:
        """The picture in the size and colours that the model reads, eight bits each: (H, W, C); and what that took."""
        from PIL import Image

        picture, coloured = self.colour(photo)
        steps = list(coloured)
        before = picture.height, picture.width
        height, width = self._before_cut(*before)
        if before != (height, width):
            picture = picture.resize((width, height), Image.Resampling(self.resample))
            steps.append(f"{_by(before)} pixels resized to {_by((height, width))}")
        if self.size is not None and self.size != (height, width):
            top, left = (height - self.size[0]) // 2, (width - self.size[1]) // 2
            picture = picture.crop((left, top, left + self.size[1], top + self.size[0]))
            steps.append(f"the middle {_by(self.size)} cut out")
        return np.atleast_3d(np.asarray(picture, dtype=np.uint8)), tuple(steps)

    def colour(self, photo: Photo) -> tuple[PIL.Image.Image, tuple[str, ...]]:
        """The picture in grey or in colours, whichever the model reads; and what that took."""
        wanted = {None: photo.image.mode, 1: "L", 3: "RGB"}[self.channels]
        if photo.image.mode == wanted:
            return photo.image, ()
        done = "colours turned to grey" if wanted == "L" else "grey repeated in three channels"
        return photo.image.convert(wanted), (done,)

    def scale(self, shown: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """Eight bits as the model reads them: (H, W, C) -> (C, H, W)."""
        values = ((shown * self.factor - np.array(self.mean)) / np.array(self.std)).transpose(2, 0, 1)
        return np.ascontiguousarray(values, dtype=np.float32)

    def carry(self, labels: IntArray) -> IntArray:
        """A label for every pixel of the original picture, as a label for every pixel that the model reads.

        Where the model sees black around a small picture there is nobody: −1.
        """
        height, width = self._before_cut(*labels.shape)
        down = (np.arange(height) + 0.5) * labels.shape[0] / height
        across = (np.arange(width) + 0.5) * labels.shape[1] / width
        whole = labels[down.astype(np.int64)[:, None], across.astype(np.int64)]
        size = self.size or (height, width)
        top, left = (height - size[0]) // 2, (width - size[1]) // 2
        carried = np.full(size, -1, dtype=np.int64)
        inside = slice(max(top, 0), top + size[0]), slice(max(left, 0), left + size[1])
        part = whole[inside]
        carried[max(-top, 0) : max(-top, 0) + part.shape[0], max(-left, 0) : max(-left, 0) + part.shape[1]] = part
        return carried

    def spread(self, labels: IntArray, original: tuple[int, int], step: int = 1) -> IntArray:
        """A label for every pixel that the model reads, as one for every `step`-th pixel of the original picture.

        What was cut off before the model read it is nobody's: −1.
        """
        before, size = self._before_cut(*original), labels.shape
        down, across = (
            ((np.arange(0, edge, step) + 0.5) * scaled / edge).astype(np.int64) - (scaled - read) // 2
            for edge, scaled, read in zip(original, before, size, strict=True)
        )
        rows, columns = np.clip(down, 0, size[0] - 1), np.clip(across, 0, size[1] - 1)
        seen = ((down == rows)[:, None]) & (across == columns)
        return np.where(seen, labels[rows[:, None], columns], -1)

    def _before_cut(self, height: int, width: int) -> tuple[int, int]:
        """Height and width to which a picture is resized."""
        if not isinstance(self.resized, int):
            return self.resized or self.size or (height, width)
        short = min(height, width)
        if max(height, width) > LONGEST_STRIP * short:
            raise InvalidInput(
                f"the picture has {height} × {width} pixels; one edge may be at most {LONGEST_STRIP} times the other: cut it "
                "first",
                code="range",
            )
        return self.resized * height // short, self.resized * width // short


def choose_preparation(
    channels: int | None, size: int | tuple[int, int] | None = None, mean: object = None, std: object = None
) -> Preparation:
    """How pictures are prepared for a network that does not say it: scaled to 0…1, and what else is asked for."""
    if size is not None and not isinstance(size, int):
        if not (isinstance(size, tuple | list) and len(size) == 2):
            raise InvalidInput(f"size is {size!r}; give one number of pixels, or (height, width)", argument="size", code="type")
        size = int(size[0]), int(size[1])
    edges = (size, size) if isinstance(size, int) else size
    if edges is not None and min(edges) < 1:
        raise InvalidInput(f"size is {size!r}; give at least one pixel each way", argument="size", code="type")
    return Preparation(edges, channels, mean=_numbers(0.0 if mean is None else mean), std=_numbers(1.0 if std is None else std))


@dataclass(frozen=True)
class Processor:
    """An image processor that prepares pictures in a way of its own, asked instead of imitated."""

    processor: BaseImageProcessor

    @property
    def name(self) -> str:
        return type(self.processor).__name__

    def __call__(self, picture: PIL.Image.Image) -> npt.NDArray[np.float32]:
        """A PIL image as (C, H, W)."""
        grey = {"input_data_format": "channels_last"} if picture.mode == "L" else {}
        given = np.atleast_3d(np.asarray(picture)) if grey else picture
        return np.asarray(self.processor(images=given, return_tensors="np", **grey)["pixel_values"][0])


def preparation_of(processor: object) -> Preparation | Processor:
    """How an image processor prepares pictures: by its settings, if they say all; else the processor itself.

    Settings do not say all: some processors crop by a share, turn channels round or shift values. So both prepare one picture.
    """
    settings: object = processor.to_dict() if hasattr(processor, "to_dict") else processor
    if isinstance(settings, Preparation):
        return settings
    if not isinstance(settings, Mapping):
        if not callable(processor):
            raise InvalidInput(
                f"processor is {a_type(processor)}; give an image processor or its settings",
                argument="processor",
                code="type",
            )
        return Processor(processor)
    if not callable(processor):
        return Preparation.from_settings(settings)
    try:
        stated = Preparation.from_settings(settings)
        picture = _probe(stated.channels == 1)
        theirs, ours = Processor(processor)(picture), stated.pixels(picture)
    except Exception:  # settings in other words, or a processor that wants other pictures: it is asked, and says so itself
        return Processor(processor)
    return stated if theirs.shape == ours.shape and np.abs(theirs - ours).max() <= PIXEL_TOLERANCE else Processor(processor)


def _probe(grey: bool) -> PIL.Image.Image:
    """A smooth picture, not square, on which ways to resize agree and ways to cut do not."""
    from PIL import Image

    spots = np.random.default_rng(0).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    picture = Image.fromarray(spots).resize((64, 48), Image.Resampling.BICUBIC)
    return picture.convert("L") if grey else picture


def _by(size: tuple[int, int]) -> str:
    """A height and a width as people write them: the width first."""
    return f"{size[1]} × {size[0]}"


def _edges(size: int | Sequence[int] | Mapping[str, int]) -> tuple[int, int] | int:
    """A size as (height, width), or as the length of the shorter edge; 224, {"height": …, "width": …} or
    {"shortest_edge": …}.
    """
    if isinstance(size, Mapping):
        size = size["shortest_edge"] if "shortest_edge" in size else (size["height"], size["width"])
    return int(size) if isinstance(size, int) else (int(size[0]), int(size[1]))


def _numbers(value: object) -> tuple[float, ...]:
    try:
        return tuple(float(v) for v in np.atleast_1d(np.asarray(value, dtype=np.float64)))
    except (TypeError, ValueError):
        raise InvalidInput(f"mean or std is {value!r:.60}; give one number, or one per channel", code="shape") from None
