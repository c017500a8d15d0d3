"""A picture from a file, an image or an array, as eight bits of grey or of red, green and blue, and what that took.

Nothing is converted in silence: `Photo.steps` says what was done, and what cannot be converted for certain is refused. The
size is read from the file's head, before any pixel is decoded.
"""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from accredit.checks import needs
from accredit.checks.arrays import read_arrays
from accredit.core import IntArray
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import PIL.Image

PIXELS_AT_MOST = 50_000_000  # pixels of a file; a few kilobytes can announce many more
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "PPM")  # read by Pillow itself, without other programs
SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
SIGNATURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"RIFF", b"II*\x00", b"MM\x00*", b"P5", b"P6")
ORIENTATION = 0x0112  # the EXIF tag
SEEN_AS = {"CMYK": "CMYK", "YCbCr": "YCbCr", "HSV": "HSV"}  # modes that Pillow turns into RGB


@dataclass(frozen=True, eq=False)
class Photo:
    """A picture of mode L or RGB, eight bits each, and how it came to be."""

    image: PIL.Image.Image
    name: str = "image"
    steps: tuple[str, ...] = ()  # what was converted, in order
    exact: bool = False  # an array, whose channels are meant as they are; files and images may be turned to grey or colour


def is_picture_file(path: str | Path) -> bool:
    """Does a file of this name exist, and is it a picture by its suffix or its first bytes?"""
    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            head = file.read(8)
    except (OSError, ValueError):  # a long text cannot be a file's name
        return False
    return Path(path).suffix.lower() in SUFFIXES or head.startswith(SIGNATURES)


def names_a_picture(text: str) -> bool:
    """Does a text look like the name of a picture file, whether or not there is one?

    >>> names_a_picture("photos/cat.jpg"), names_a_picture("See cat.jpg")
    (True, False)
    """
    return text.lower().endswith(SUFFIXES) and not any(c.isspace() for c in text)


def open_picture(
    file: str | Path | bytes, name: str = "", formats: tuple[str, ...] = FORMATS, largest: int = PIXELS_AT_MOST
) -> Photo:
    """The picture in a file, or in the bytes of one; or an error that says what the file is not."""
    Image = _pillow()
    name = name or ("the file" if isinstance(file, bytes) else repr(str(file)))
    size = len(file) if isinstance(file, bytes) else _size_of(file, name)
    if size == 0:
        raise InvalidInput(f"{name} is empty; give a file that holds a picture", code="empty")
    plain = "image" if isinstance(file, bytes) else Path(file).name
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with Image.open(io.BytesIO(file) if isinstance(file, bytes) else file, formats=formats) as picture:
                _check_size(picture.width, picture.height, name, largest)
                steps = _store(picture)
                picture.load()
                photo = _plain_colours(picture, plain, steps, name)
    except Image.DecompressionBombError:
        raise InvalidInput(
            f"{name} has far more than {largest:,} pixels, the most that are read; shrink it", code="too-many"
        ) from None
    except Image.UnidentifiedImageError:
        raise InvalidInput(f"{name} cannot be opened as a picture; {', '.join(formats)} files can", code="unreadable") from None
    except InvalidInput:
        raise
    except Exception as error:  # damaged bytes make a decoder raise anything
        raise InvalidInput(
            f"{name} cannot be opened as a picture: it is damaged or ends too early ({_short(error)})",
            code="unreadable",
        ) from None
    doubts = [f"read with a doubt ({_short(warned[0].message)})"] if warned else []
    return replace(photo, steps=(*photo.steps, *doubts))


def _store(picture: PIL.Image.Image) -> tuple[str, ...]:
    """What is not taken over from a file: the lower bits of deep colours, and all frames but the first."""
    deep = ";16" in str(picture.tile) and not picture.mode.startswith("I")
    frames = getattr(picture, "n_frames", 1)
    steps = ["16 bits per channel cut to 8"] if deep else []
    return (*steps, f"the first of {frames} frames taken") if frames > 1 else tuple(steps)


def read_labels(file: str | Path) -> IntArray:
    """The segment of every pixel from a file: a NumPy array (.npy), or a picture whose grey or palette numbers are labels."""
    path = Path(file)
    _size_of(path, repr(str(file)))
    try:
        if path.suffix.lower() == ".npy":
            labels = read_arrays(path).get("", np.empty(0))
        else:
            with _pillow().open(path, formats=FORMATS) as picture:
                _check_size(picture.width, picture.height, repr(str(file)), PIXELS_AT_MOST)
                labels = np.asarray(picture)
    except InvalidInput:
        raise
    except Exception as error:  # damaged bytes make a decoder raise anything
        raise InvalidInput(
            f"{str(file)!r} cannot be read as segments ({_short(error)}); save them as .npy or PNG", code="unreadable"
        ) from None
    if labels.ndim != 2 or not np.issubdtype(labels.dtype, np.integer):
        raise InvalidInput(
            f"{str(file)!r} holds an array of {labels.dtype} with shape {labels.shape}; segments are whole numbers, one per "
            "pixel: (H, W)",
            code="shape",
        )
    return np.asarray(labels, dtype=np.int64)


def pictures_in(folder: str | Path) -> list[Path]:
    """The picture files in a folder, by name; folders inside it are left alone."""
    return sorted(path for path in Path(folder).iterdir() if is_picture_file(path))


def _pillow() -> ModuleType:
    with needs("text", "reading pictures"):
        import PIL.Image
    loaded: ModuleType = PIL.Image
    return loaded


def _short(error: Warning | BaseException | str) -> str:
    return re.sub(r"<[^<>]* object at 0x\w+>", "it", " ".join(str(error).split()))[:120]


def _size_of(file: str | Path, name: str) -> int:
    path = Path(file)
    if path.is_dir():
        raise InvalidInput(
            f"{name} is a folder; give one picture, for example explain('photo.png', model)",
            code="type",
        )
    if not path.is_file():
        raise InvalidInput(
            f"there is no file {name}; give the path of a picture, for example explain('photo.png', model)", code="missing"
        )
    return path.stat().st_size


def _check_size(width: int, height: int, name: str, largest: int) -> None:
    if width * height > largest:
        raise InvalidInput(
            f"{name} has {width:,} × {height:,} pixels; up to {largest:,} in all are read: shrink it first",
            code="too-many",
        )


def photo_of(picture: PIL.Image.Image) -> Photo:
    """A PIL image in plain colours; of several frames the one it stands at."""
    name = Path(str(getattr(picture, "filename", "") or "image")).name
    frames = getattr(picture, "n_frames", 1)
    steps = (f"frame {picture.tell() + 1} of {frames} taken",) if frames > 1 else ()
    return _plain_colours(picture, name, steps, "image")


def _plain_colours(picture: PIL.Image.Image, name: str, steps: tuple[str, ...], called: str) -> Photo:
    """The picture upright, opaque, with eight bits of grey or of RGB."""
    from PIL import ImageOps

    done = list(steps)
    if picture.getexif().get(ORIENTATION, 1) in range(2, 9):
        picture = ImageOps.exif_transpose(picture)
        done.append("turned upright as its EXIF orientation says")
    mode, sixteen = picture.mode, picture.format in ("PNG", "PPM")  # Pillow keeps 16 bits of these in 32
    if mode.startswith("I;16") or (mode == "I" and sixteen):
        values = np.asarray(picture).astype(np.int64)
        picture = _pillow().fromarray(np.round(values / 257).astype(np.uint8))
        done.append(f"16 bits scaled to 8 (65,535 is white; its largest value is {values.max():,})")
    elif mode in ("I", "F"):
        raise InvalidInput(
            f"{called} has 32 bits per pixel (mode {mode}), and which value is white is not known; scale it to 0…255 and give "
            "an array of uint8",
            code="unsupported",
        )
    picture, more = _opaque(picture)
    done += more
    if picture.mode not in ("L", "RGB"):
        picture, more = _as_rgb(picture, called)
        done += more
    return Photo(picture, name, tuple(done))


def _opaque(picture: PIL.Image.Image) -> tuple[PIL.Image.Image, list[str]]:
    """The picture on white paper where it is transparent."""
    Image = _pillow()
    if picture.mode not in ("RGBA", "LA", "PA", "RGBa", "La") and "transparency" not in picture.info:
        return picture, []
    grey = picture.mode in ("LA", "La", "L")
    layered = picture.convert("RGBA")
    steps = ["transparent parts laid on white"] if layered.getextrema()[3][0] < 255 else []
    steps += ["palette turned to RGB"] if picture.mode in ("P", "PA") else []
    paper = Image.new("RGBA", picture.size, (255, 255, 255, 255))
    paper.alpha_composite(layered)
    return paper.convert("L" if grey else "RGB"), steps


def _as_rgb(picture: PIL.Image.Image, called: str) -> tuple[PIL.Image.Image, list[str]]:
    if picture.mode == "1":
        return picture.convert("L"), ["black and white as 0 and 255"]
    if picture.mode == "P":
        return picture.convert("RGB"), ["palette turned to RGB"]
    if picture.mode in SEEN_AS:
        return picture.convert("RGB"), [f"{SEEN_AS[picture.mode]} turned to RGB without a colour profile"]
    raise InvalidInput(
        f"{called} has colours of mode {picture.mode}; save it as RGB, or give an array of uint8", code="unsupported"
    )


def array_photo(image: npt.NDArray[np.generic], first: bool) -> Photo:
    """A picture from an array that is not prepared: whole numbers 0…255, or fractions 0…1 with channels last.

    `first` says that channels come first where the shape allows both, as torch has them.
    """
    if image.dtype == bool:
        raise InvalidInput(
            "image is an array of bool; write image.astype(np.uint8) * 255 for black and white", argument="image", code="type"
        )
    if not (np.issubdtype(image.dtype, np.integer) or np.issubdtype(image.dtype, np.floating)) or image.size == 0:
        raise InvalidInput(
            f"image is an array of {image.dtype} with shape {image.shape}; give (H, W) or (H, W, C) of 0…255",
            argument="image",
            code="type",
        )
    image, moved = _channels_last(image, first)
    whole, scaled = _eight_bits(image)
    picture = _pillow().fromarray(whole[..., 0] if whole.ndim == 3 and whole.shape[2] == 1 else whole)
    picture, opaque = _opaque(picture)
    return Photo(picture, "image", (*moved, *scaled, *opaque), exact=True)


def one_of_batch(image: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """The picture in a batch of one; a larger batch is refused."""
    if image.ndim != 4:
        return image
    if len(image) != 1:
        raise InvalidInput(
            f"image is a batch of {len(image)} pictures; explain them one by one, for example image[0]",
            argument="image",
            code="shape",
        )
    only: npt.NDArray[np.generic] = image[0]
    return only


def _channels_last(image: npt.NDArray[np.generic], first: bool) -> tuple[npt.NDArray[np.generic], list[str]]:
    if image.ndim == 2:
        return image, []
    if image.ndim == 3:
        leads, ends = image.shape[0] in (1, 3, 4), image.shape[2] in (1, 3, 4)
        if leads and (first or not ends):
            return np.ascontiguousarray(image.transpose(1, 2, 0)), ["channels moved from first to last"]
        if ends:
            return image, []
    raise InvalidInput(
        f"image is an array of shape {image.shape}; give (H, W), (H, W, C) or (C, H, W) with 1, 3 or 4 channels, or a float "
        "array (C, H, W) that is already prepared",
        argument="image",
        code="shape",
    )


def _eight_bits(image: npt.NDArray[np.generic]) -> tuple[npt.NDArray[np.uint8], list[str]]:
    low, high = image.min(), image.max()
    if np.issubdtype(image.dtype, np.integer):
        if low < 0 or high > 255:
            raise InvalidInput(
                f"image holds whole numbers from {low} to {high}; give 0…255, for example "
                "np.round(image / image.max() * 255).astype(np.uint8)",
                argument="image",
                code="range",
            )
        return image.astype(np.uint8), []
    if not np.isfinite(image).all():
        raise InvalidInput(
            "image holds NaN or infinite values; only finite pixels can be explained", argument="image", code="not-finite"
        )
    if low < 0 or high > 1:
        raise InvalidInput(
            f"image holds floats from {low:.4g} to {high:.4g} with channels last; give 0…1, or 0…255 as image.astype(np.uint8)",
            argument="image",
            code="range",
        )
    return (image * 255).round().astype(np.uint8), ["fractions 0…1 rounded to 8 bits"]
