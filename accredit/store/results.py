"""Results in files: one JSON object per result, its arrays beside it in safetensors. No pickle, so nothing is executed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from accredit.core import Attribution, InvalidInput, Selection, needs
from accredit.core.files import as_path, put, read_bytes, read_text

ARRAYS = 4 << 30  # bytes of arrays beside a result


def save(
    path: str | Path, result: Attribution | Selection, arrays: Mapping[str, npt.NDArray[Any]] | None = None
) -> None:
    """Write `path` (.json) and, if there are `arrays`, a file of the same name ending in .safetensors.

    Each file appears whole or not at all: it is written beside its place and moved there.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> save(f"{folder}/cookies.json", Attribution(("alice", "bob"), [6, 4], 10, "by hand"))
    >>> load(f"{folder}/cookies.json")["alice"]
    6.0
    """
    place = as_path(path)
    if place.suffix != ".json":
        raise InvalidInput(f"path {place} must end in .json; arrays go beside it into .safetensors")
    if arrays:
        put(place.with_suffix(".safetensors"), _tensors().save({k: np.ascontiguousarray(v) for k, v in arrays.items()}))
    put(place, result.to_json().encode())


def load(path: str | Path) -> Attribution | Selection:
    """Read what `save` wrote."""
    try:
        text = read_text(path)
        return Selection.from_json(text) if '"kind": "selection"' in text[:40] else Attribution.from_json(text)
    except InvalidInput as error:
        raise InvalidInput(f"{path} is not a saved result: {error}") from None


def load_arrays(path: str | Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays beside a result; empty if it has none."""
    place = Path(path).with_suffix(".safetensors")
    if not place.exists():
        return {}
    try:
        return dict(_tensors().load(read_bytes(place, ARRAYS)))
    except Exception as error:  # the library raises its own kinds
        raise InvalidInput(f"{place} is not a safetensors file: {error}") from None


def _tensors() -> Any:
    with needs("text", "saving arrays"):
        import safetensors.numpy
    return safetensors.numpy
