"""A folder of one trained explainer: `explainer.json` and `explainer.safetensors`. No pickle, so nothing is executed.

What is read is checked before memory is allocated: the file must hold exactly the expected tensors, by name, shape and type.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from accredit.checks import needs, shown
from accredit.checks.files import put, read_bytes, read_json_object
from accredit.checks.json_data import plain
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import safetensors

EXPLAINER_FORMAT = 1
DAMAGE = (KeyError, TypeError, AttributeError, ArithmeticError)  # what settings of the wrong types raise


def write(folder: str | Path, kind: str, about: Mapping[str, object], state: Mapping[str, Tensor]) -> None:
    """Tensors and a JSON object into a folder, for any kind of explainer."""
    content = _safetensors().save({name: value.contiguous() for name, value in state.items()})
    head = {"kind": kind, "format": EXPLAINER_FORMAT, "sha256": hashlib.sha256(content).hexdigest()}
    text = json.dumps(head | plain(dict(about), kind), ensure_ascii=False)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    put(place / "explainer.safetensors", content)
    put(place / "explainer.json", text.encode())


def read(folder: str | Path, kind: str) -> tuple[dict[str, Any], Path]:
    """The JSON object of `write`, and where the tensors are; their hash shows that they are what was written."""
    place, about = Path(folder) / "explainer.safetensors", describe(folder)
    if about.get("kind") != kind:
        raise InvalidInput(
            f"{folder} holds a {about.get('kind')!r}, not a {kind!r}; accredit.learned.load reads every kind",
            argument="folder",
            code="type",
        )
    try:
        content = read_bytes(place, 4 << 30)
    except InvalidInput as error:
        raise InvalidInput(f"{shown(str(folder))} holds no saved explainer: {error}", code="missing") from None
    if about.get("format") != EXPLAINER_FORMAT:
        raise InvalidInput(
            f"explainer format {about.get('format')!r} is not {EXPLAINER_FORMAT}; save it again with this version",
            argument="folder",
            code="format",
        )
    if hashlib.sha256(content).hexdigest() != about.get("sha256"):
        raise InvalidInput(
            f"{place} is not the file that explainer.json describes; save the explainer again",
            argument="folder",
            code="unreadable",
        )
    return about, place


def describe(folder: str | Path) -> dict[str, object]:
    """The JSON object of a folder, whatever kind of explainer it describes."""
    try:
        if not os.path.isfile(Path(folder) / "explainer.json"):
            raise InvalidInput(
                "there is no explainer.json in it; make one with accredit learn fit, or explainer.save(folder)", code="missing"
            )
        return read_json_object(Path(folder) / "explainer.json")
    except InvalidInput as error:
        raise InvalidInput(f"{shown(str(folder))} holds no saved explainer: {error}", code="missing") from None


def tensors(place: Path, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a file, if they have exactly the names, shapes and types of `expected` (which may be on `meta`)."""
    try:
        with _safetensors_file(place) as file:
            names = set(file.keys())
            if names != set(expected):
                odd = ", ".join(sorted(names ^ set(expected))[:4])
                raise InvalidInput(
                    f"{place} does not hold the tensors of this explainer; missing or unknown: {odd}", code="unreadable"
                )
            for name, like in expected.items():
                part = file.get_slice(name)
                if tuple(part.get_shape()) != tuple(like.shape) or part.get_dtype() != TYPES.get(like.dtype):
                    raise InvalidInput(
                        f"{place}: tensor {name} has shape {part.get_shape()} of {part.get_dtype()}, not "
                        f"{list(like.shape)} of {like.dtype}",
                        code="shape",
                    )
            found = {name: _laid_out_as(like, file.get_tensor(name)) for name, like in expected.items()}
    except InvalidInput:
        raise
    except Exception as error:  # the library raises its own kinds
        raise InvalidInput(f"{place} is not a safetensors file: {error}", code="unreadable") from None
    for name, value in found.items():
        if value.is_floating_point() and not torch.isfinite(value).all():
            raise InvalidInput(f"{place}: tensor {name} holds NaN or infinite numbers", code="not-finite")
    return found


TYPES = {torch.float32: "F32", torch.int64: "I64"}


def _laid_out_as(like: torch.Tensor, found: torch.Tensor) -> torch.Tensor:
    """What a file holds, in torch's own aligned memory and in the order of the network's axes there (a picture's channels may
    come last): a kernel that meets the same weights in another place or order gives other last digits.

    >>> like = torch.empty(2, 3, 4, 4, device="meta").contiguous(memory_format=torch.channels_last)
    >>> _laid_out_as(like, torch.ones(2, 3, 4, 4)).stride() == like.stride()
    True
    """
    return torch.empty_like(like, device="cpu").copy_(found)


def _safetensors() -> ModuleType:
    with needs("text", "saving an explainer"):
        import safetensors.torch
    return safetensors.torch


def _safetensors_file(place: Path) -> safetensors.safe_open:
    _safetensors()
    from safetensors import safe_open

    return safe_open(place, framework="pt")
