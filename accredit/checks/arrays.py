"""The door for files of arrays: .npy and .npz, without pickles, and only as large as they say and as memory allows."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from accredit.checks.files import read_bytes
from accredit.checks.numbers import CellArray
from accredit.errors import InvalidInput

ARRAYS = 2 << 30  # bytes of all arrays of a file together, after unpacking


def read_arrays(path: object, limit: int = ARRAYS) -> dict[str, npt.NDArray[Any]]:
    """Named arrays of an .npz file; of an .npy file, its one array under the empty name."""
    raw = read_bytes(path, limit)
    if not raw.startswith(b"PK"):
        return {"": _array(raw, repr(str(path)))}
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as packed:
            size = sum(part.file_size for part in packed.infolist())
            if size > limit:
                raise InvalidInput(
                    f"{str(path)!r} unpacks to {size >> 20:,} MiB; at most {limit >> 20:,} are read", code="too-many"
                )
            return {
                part.filename.removesuffix(".npy"): _array(packed.read(part), f"{part.filename!r:.60} in {str(path)!r}")
                for part in packed.infolist()
            }
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise InvalidInput(
            f"{str(path)!r} cannot be read as .npz: {' '.join(str(error).split())[:120]}", code="unreadable"
        ) from None


def _array(raw: bytes, name: str) -> CellArray:
    """One array in numpy's format. Its header must describe the bytes that follow: numpy would first make room for what it
    says."""
    opened = io.BytesIO(raw)
    try:
        version = np.lib.format.read_magic(opened)
        reader = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, columns_first, kind = reader(opened)
    except KeyError:
        raise InvalidInput(f"{name} is an array of records; write plain arrays", code="type") from None
    except Exception as error:  # a header is a Python expression, and may be damaged in any way
        raise InvalidInput(
            f"{name} cannot be read as an array: {' '.join(str(error).split())[:120]}; give a .npy or .npz file of numpy",
            code="unreadable",
        ) from None
    rest = len(raw) - opened.tell()
    if kind.hasobject:
        raise InvalidInput(f"{name} holds objects, which are pickled; write arrays of numbers or of text", code="type")
    if math.prod(shape) * kind.itemsize != rest:
        raise InvalidInput(f"{name} should hold {shape} of {kind}, and has {rest:,} bytes", code="unreadable")
    flat = np.frombuffer(raw, dtype=kind, offset=opened.tell()) if rest else np.empty(0, dtype=kind)
    return flat.reshape(shape, order="F" if columns_first else "C").copy()
