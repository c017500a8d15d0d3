"""Fingerprints: the same data, settings and code give the same name on every machine and in every run.

Python's own `hash` is salted for each process, so it cannot name a game in a file. Here every value is fed, with its
type and length, to one BLAKE2 hash: arrays by their bytes, estimators by class, version and settings, functions by
their compiled code and what they close over.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import struct
import sys
import types
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

import accredit
from accredit.core import InvalidInput

DIGEST_BYTES = 16


@dataclass(frozen=True)
class Fingerprint:
    """The name of a game in a journal, and the digest of each part it was made from.

    >>> a = fingerprint(data=[1.0, 2.0], metric="accuracy")
    >>> b = fingerprint(data=[1.0, 2.0], metric="log loss")
    >>> a.differs_from(b.parts)
    ('metric',)
    """

    digest: str
    parts: Mapping[str, str]

    def differs_from(self, other: Mapping[str, str]) -> tuple[str, ...]:
        """The parts in which another fingerprint is not this one."""
        names = dict.fromkeys((*self.parts, *other))
        return tuple(name for name in names if self.parts.get(name) != other.get(name))


def fingerprint(**parts: Any) -> Fingerprint:
    """Name a game by what decides its payoffs, for example `data`, `model`, `metric`. The code version is always a
    part.

    >>> fingerprint(data=np.arange(3)) == fingerprint(data=np.arange(3))
    True
    >>> fingerprint(data=np.arange(3)) == fingerprint(data=np.arange(3.0))
    False
    """
    digests = {name: _digest(value, name) for name, value in (parts | {"code": accredit.__version__}).items()}
    return Fingerprint(_digest(digests, "parts"), digests)


def _digest(value: Any, where: str) -> str:
    hasher = hashlib.blake2b(digest_size=DIGEST_BYTES)
    _feed(hasher, value, where)
    return hasher.hexdigest()


def _write(hasher: Any, tag: str, *chunks: bytes) -> None:
    for chunk in (tag.encode(), *chunks):
        hasher.update(struct.pack("<q", len(chunk)))
        hasher.update(chunk)


def _feed(hasher: Any, value: Any, where: str) -> None:
    if hasattr(value, "fingerprint_parts"):
        _write(hasher, "object", _code_of(type(value)))
        _feed(hasher, dict(value.fingerprint_parts()), where)
    elif value is None or isinstance(value, bool | int | str):
        _write(hasher, type(value).__name__, repr(value).encode() if not isinstance(value, str) else value.encode())
    elif isinstance(value, float):
        _write(hasher, "float", struct.pack("<d", value))
    elif isinstance(value, bytes):
        _write(hasher, "bytes", value)
    elif isinstance(value, Path):
        _write(hasher, "path", str(value).encode())
    elif isinstance(value, Enum):
        _write(hasher, "enum", _code_of(type(value)), value.name.encode())
    elif isinstance(value, np.ndarray):
        _feed_array(hasher, value, where)
    elif isinstance(value, np.generic):
        _feed_array(hasher, np.asarray(value), where)
    elif isinstance(value, Mapping):
        _write(hasher, "mapping", str(len(value)).encode())
        for key, item in value.items():
            _feed(hasher, key, where)
            _feed(hasher, item, f"{where}[{key!r}]")
    elif isinstance(value, Set):
        _feed(hasher, sorted(_digest(item, where) for item in value), where)
    elif isinstance(value, Sequence):
        _write(hasher, "sequence", str(len(value)).encode())
        for i, item in enumerate(value):
            _feed(hasher, item, f"{where}[{i}]")
    else:
        _feed_object(hasher, value, where)


def _feed_array(hasher: Any, array: np.ndarray[Any, Any], where: str) -> None:
    if array.dtype.hasobject:
        _write(hasher, "objects", str(array.shape).encode())
        _feed(hasher, array.ravel().tolist(), where)
        return
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    _write(hasher, "array", little.dtype.str.encode(), str(array.shape).encode(), little.tobytes())


def _feed_object(hasher: Any, value: Any, where: str) -> None:
    if isinstance(value, functools.partial):
        _feed(hasher, ["partial", value.func, value.args, value.keywords], where)
    elif isinstance(value, types.MethodType):
        _feed(hasher, ["method", value.__func__, value.__self__], where)
    elif isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        _feed(hasher, ["function", value.__code__, value.__defaults__, value.__kwdefaults__, cells], where)
    elif isinstance(value, types.CodeType):
        constants = [c for c in value.co_consts if not isinstance(c, str) or c != value.co_name]
        _feed(hasher, ["code", value.co_code, value.co_names, constants], where)
    elif isinstance(value, type | types.BuiltinFunctionType | np.ufunc):
        _write(hasher, "name", _code_of(value))
    elif hasattr(value, "state_dict"):  # a torch module: its structure and its numbers
        _write(hasher, "module", _code_of(type(value)), repr(value).encode())
        _feed(hasher, {key: tensor.detach().cpu().numpy() for key, tensor in value.state_dict().items()}, where)
    elif hasattr(value, "detach"):  # a torch tensor
        _feed_array(hasher, value.detach().cpu().numpy(), where)
    elif hasattr(value, "get_params"):  # a scikit-learn estimator: its settings, not what it has learned
        _write(hasher, "estimator", _code_of(type(value)))
        _feed(hasher, value.get_params(deep=False), where)
    elif dataclasses.is_dataclass(value):
        _write(hasher, "dataclass", _code_of(type(value)))
        _feed(hasher, {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}, where)
    elif (
        hasattr(value, "__dict__") and not isinstance(value, types.ModuleType) and type(value).__module__ != "builtins"
    ):
        _write(hasher, "object", _code_of(type(value)))
        _feed(hasher, vars(value), where)
    else:
        raise InvalidInput(
            f"{where} is a {type(value).__name__}, which has no stable bytes to hash; describe it instead, for example "
            "fingerprint(data=array, model='logistic C=1', metric='accuracy')"
        )


def _code_of(kind: Any) -> bytes:
    """Module, name and version of a class or builtin; without a version, its source."""
    module = getattr(kind, "__module__", None) or "builtins"
    name = f"{module}.{getattr(kind, '__qualname__', getattr(kind, '__name__', repr(kind)))}"
    version = getattr(sys.modules.get(module.partition(".")[0]), "__version__", None)
    if isinstance(version, str):
        return f"{name} {version}".encode()
    try:
        return f"{name} {inspect.getsource(kind)}".encode()
    except (OSError, TypeError):
        return name.encode()
