"""Fingerprints: the same data, settings and code give the same name on every machine and in every run.

Python's own `hash` is salted for each process, so it cannot name a game in a file. Here every value is fed, with its
type and length, to one BLAKE2 hash: arrays by their bytes, estimators by class, version and settings, functions and
methods by their compiled code, what they close over and the globals they read.

What this package pays with is named by `PAYING_CODE`, not by its version: a new version that pays the same goes on with a
journal of an old one. A test compares payoffs of every stored game with those that this number stands for.
"""

from __future__ import annotations

import dataclasses
import dis
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

from accredit.checks.numbers import a_type
from accredit.errors import InvalidInput

DIGEST_BYTES = 16
ADDED_LATER = {"fingerprint": "unless it is the default"}  # metadata of a field that older journals do not know
PAYING_CODE = "payoffs 1"  # a new number for every change that makes a stored game pay otherwise
FED = (  # what an object has that is fed by more than its attributes
    "fingerprint_parts",
    "state_dict",
    "detach",
    "to_numpy",
    "tocoo",
    "get_params",
    "__code__",
    "__mro__",
    "__dataclass_fields__",
)


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


def fingerprint(**parts: object) -> Fingerprint:
    """Name a game by what decides its payoffs, for example `data`, `model`, `metric`. The code that pays is always a
    part.

    >>> fingerprint(data=np.arange(3)) == fingerprint(data=np.arange(3))
    True
    >>> fingerprint(data=np.arange(3)) == fingerprint(data=np.arange(3.0))
    False
    """
    digests = {name: _digest(value, name) for name, value in (parts | {"code": PAYING_CODE}).items()}
    return Fingerprint(_digest(digests, "parts"), digests)


def fingerprint_of(game: object) -> Fingerprint:
    """The name of a game: made from the parts that it declares, or from everything it holds."""
    if hasattr(game, "fingerprint_parts"):
        return fingerprint(kind=type(game), **game.fingerprint_parts())
    return fingerprint(game=game)


@dataclass
class _Hash:
    """A hash in progress. A function that comes up again, as in recursion, is fed by its number."""

    functions: list[types.FunctionType]
    blake: hashlib.blake2b = dataclasses.field(default_factory=lambda: hashlib.blake2b(digest_size=DIGEST_BYTES))


def _digest(value: object, where: str, functions: list[types.FunctionType] | None = None) -> str:
    hasher = _Hash([] if functions is None else functions)
    _feed(hasher, value, where)
    return hasher.blake.hexdigest()


def _write(hasher: _Hash, tag: str, *chunks: bytes) -> None:
    for chunk in (tag.encode(), *chunks):
        hasher.blake.update(struct.pack("<q", len(chunk)))
        hasher.blake.update(chunk)


def _feed(hasher: _Hash, value: object, where: str) -> None:
    if hasattr(value, "fingerprint_parts") and not isinstance(value, type):
        _feed_class(hasher, "object", type(value))
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


def _feed_array(hasher: _Hash, array: np.ndarray[Any, Any], where: str) -> None:
    if array.dtype.hasobject:
        _write(hasher, "objects", str(array.shape).encode())
        _feed(hasher, array.ravel().tolist(), where)
        return
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    _write(hasher, "array", little.dtype.str.encode(), str(array.shape).encode(), little.tobytes())


def _feed_object(hasher: _Hash, value: object, where: str) -> None:
    if isinstance(value, functools.partial):
        _feed(hasher, ["partial", value.func, value.args, value.keywords], where)
    elif isinstance(value, types.MethodType):
        _feed(hasher, ["method", value.__func__, value.__self__], where)
    elif isinstance(value, types.FunctionType):
        _feed_function(hasher, value, where)
    elif isinstance(value, types.CodeType):
        constants = [c for c in value.co_consts if not isinstance(c, str) or c != value.co_name]
        _feed(hasher, ["code", value.co_code, value.co_names, constants], where)
    elif isinstance(value, type):
        _feed_class(hasher, "name", value)
    elif isinstance(value, types.BuiltinFunctionType | types.ModuleType | np.ufunc):
        _write(hasher, "name", _code_of(value))
    elif hasattr(value, "state_dict"):  # a torch module: its structure and its numbers
        _feed_class(hasher, "module", type(value))
        _write(hasher, "structure", repr(value).encode())
        _feed(hasher, {key: tensor.detach().cpu().numpy() for key, tensor in value.state_dict().items()}, where)
    elif hasattr(value, "detach") and hasattr(value, "numpy"):  # a torch tensor
        _feed_array(hasher, value.detach().cpu().numpy(), where)
    elif hasattr(value, "to_numpy"):  # a data frame or one of its columns
        _feed(hasher, ["frame", *(axis.to_numpy() for axis in getattr(value, "axes", ())), value.to_numpy()], where)
    elif hasattr(value, "tocoo"):  # a sparse matrix
        cells = value.tocoo()
        _feed(hasher, ["sparse", cells.shape, *cells.coords, cells.data], where)
    elif hasattr(value, "get_params"):  # a scikit-learn estimator: its settings, not what it has learned
        _feed_class(hasher, "estimator", type(value))
        _feed(hasher, value.get_params(deep=False), where)
    elif dataclasses.is_dataclass(value):
        _feed_class(hasher, "dataclass", type(value))
        held = [(f, getattr(value, f.name)) for f in dataclasses.fields(value)]
        _feed(hasher, {f.name: item for f, item in held if f.metadata != ADDED_LATER or item != f.default}, where)
    elif hasattr(value, "__dict__") and type(value).__module__ != "builtins":
        _feed_class(hasher, "object", type(value))
        _feed(hasher, vars(value), where)
    else:
        raise InvalidInput(
            f"{where} is {a_type(value)}, which has no stable bytes to hash; describe it instead, for example "
            "fingerprint(data=array, model='logistic C=1', metric='accuracy')",
            code="unsupported",
        )


def _feed_class(hasher: _Hash, tag: str, kind: type) -> None:
    """A class by its name and version; one without a version also by its methods, and those of its bases."""
    _write(hasher, tag, _code_of(kind))
    for base in kind.__mro__:
        if _version(base.__module__) is None:
            for name, member in sorted(vars(base).items()):
                if isinstance(member, types.FunctionType):
                    _write(hasher, "method", name.encode(), _known_by(member, name, hasher.functions))


def _feed_function(hasher: _Hash, function: types.FunctionType, where: str) -> None:
    if function in hasher.functions:
        _write(hasher, "again", str(hasher.functions.index(function)).encode())
        return
    hasher.functions.append(function)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    _feed(hasher, ["function", function.__code__, function.__defaults__, function.__kwdefaults__, cells], where)
    if _version(function.__module__) is None:  # a library's globals go with its version, which is part of what uses it
        for name in sorted(_globals_read(function.__code__) & function.__globals__.keys()):
            _write(hasher, "global", name.encode(), _known_by(function.__globals__[name], name, hasher.functions))


def _globals_read(code: types.CodeType) -> set[str]:
    """Names that a function, or one defined inside it, looks up outside."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(_globals_read(inner) for inner in code.co_consts if isinstance(inner, types.CodeType)))


def _known_by(value: object, where: str, functions: list[types.FunctionType]) -> bytes:
    """The digest of a global or a method; for what has no stable bytes, and for a library's own objects, just the kind."""
    if _is_machinery(value):
        return type(value).__qualname__.encode()
    try:
        return _digest(value, where, functions).encode()
    except (InvalidInput, RecursionError):
        return type(value).__qualname__.encode()


def _is_machinery(value: object) -> bool:
    """A library's object that is neither data nor model, such as a logger, through which the whole program can be reached."""
    if isinstance(value, types.ModuleType | Enum | Path) or any(hasattr(value, name) for name in FED):
        return False
    return hasattr(value, "__dict__") and _version(type(value).__module__) is not None


def _version(module: str | None) -> str | None:
    """What the package of a module calls its version; the standard library has that of Python, and this one the code it pays
    with."""
    package = (module or "builtins").partition(".")[0]
    if package == "accredit":
        return PAYING_CODE
    if package in sys.stdlib_module_names and package != "__main__":
        return "{}.{}".format(*sys.version_info)
    version = getattr(sys.modules.get(package), "__version__", None)
    return version if isinstance(version, str) else None


def _code_of(kind: Any) -> bytes:
    """Module, name and version of a class, builtin or module; without a version, its source."""
    is_module = isinstance(kind, types.ModuleType)
    module = kind.__name__ if is_module else getattr(kind, "__module__", None) or "builtins"
    name = f"{module}.{getattr(kind, '__qualname__', getattr(kind, '__name__', repr(kind)))}"
    version = _version(module)
    if version is not None:
        return f"{name} {version}".encode()
    try:
        return f"{name} {inspect.getsource(kind)}".encode()
    except (OSError, TypeError):
        return name.encode()
