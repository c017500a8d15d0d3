"""Results in files: one JSON object per result, its arrays beside it in safetensors. No pickle, so nothing is executed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt

from accredit.checks import needs
from accredit.checks.arguments import check_arguments
from accredit.checks.files import as_path, check_is_file, check_writable, put, read_bytes, read_text
from accredit.checks.numbers import as_array, check_text
from accredit.core import Attribution, Selection
from accredit.errors import InvalidInput

ARRAYS = 4 << 30  # bytes of arrays beside a result


@check_arguments
def save(
    path: str | Path, result: Attribution | Selection, arrays: Mapping[str, npt.NDArray[np.generic]] | None = None
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
        raise InvalidInput(
            f"path {place} must end in .json; arrays go beside it into .safetensors", argument="path", code="format"
        )
    check_writable(place)
    if arrays:
        put(place.with_suffix(".safetensors"), _pack(arrays))
    put(place, result.to_json().encode())


def load(path: str | Path) -> Attribution | Selection:
    """Read what `save` wrote.

    >>> import tempfile
    >>> file = f"{tempfile.mkdtemp()}/cookies.json"
    >>> save(file, Attribution(("alice", "bob"), [6, 4], 10, "by hand"))
    >>> load(file).as_dict()
    {'alice': 6.0, 'bob': 4.0}
    """
    try:
        text = read_text(path)
        return Selection.from_json(text) if '"kind": "selection"' in text[:40] else Attribution.from_json(text)
    except InvalidInput as error:
        raise InvalidInput(f"{path} is not a saved result: {error}", argument="path", code="unreadable") from None


def load_arrays(path: str | Path) -> dict[str, npt.NDArray[np.generic]]:
    """The arrays beside a result; empty if it has none.

    >>> import tempfile
    >>> file = f"{tempfile.mkdtemp()}/cookies.json"
    >>> save(file, Attribution(("alice", "bob"), [6, 4], 10, "by hand"), arrays={"table": np.array([0.0, 5.0, 3.0, 10.0])})
    >>> load_arrays(file)["table"]
    array([ 0.,  5.,  3., 10.])
    """
    place = check_is_file(path).with_suffix(".safetensors")
    if not place.exists():
        return {}
    try:
        return dict(_tensors().load(read_bytes(place, ARRAYS)))
    except Exception as error:  # the library raises its own kinds
        raise InvalidInput(f"{place} is not a safetensors file: {error}", code="unreadable") from None


def _pack(arrays: Mapping[str, object]) -> bytes:
    """Named arrays of numbers or of true and false in the format of safetensors."""
    found = {check_text(name, "arrays"): as_array(given, f"arrays[{name!r}]") for name, given in arrays.items()}
    for name, array in found.items():
        if array.dtype.kind not in "biuf":
            raise InvalidInput(
                f"arrays[{name!r}] holds {array.dtype}; only numbers and truths can be saved", argument="arrays", code="type"
            )
    packed: bytes = _tensors().save({name: np.ascontiguousarray(array) for name, array in found.items()})
    return packed


def _tensors() -> ModuleType:
    with needs("text", "saving arrays"):
        import safetensors.numpy
    return safetensors.numpy
