"""Models of rows in files that are safe to open: xgboost, lightgbm, catboost, skops and ONNX. Never pickle or joblib."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from pathlib import Path
from types import ModuleType

import numpy as np

from accredit.checks import needs
from accredit.checks.files import check_is_file
from accredit.core import FloatArray
from accredit.errors import AccreditError, InvalidInput
from accredit.models.rows import RowModel, as_row_model

PICKLED = (".pkl", ".pickle", ".joblib", ".dill")
ENDINGS = "xgboost (.json, .ubj), lightgbm (.txt), catboost (.cbm), skops (.skops) or ONNX (.onnx)"


def is_row_model_file(path: str | Path) -> bool:
    """Does this name a model of rows? A folder, or any other ending, does not.

    >>> is_row_model_file("forest.skops"), is_row_model_file("some/folder")
    (True, False)
    """
    return Path(path).suffix.lower() in (".json", ".ubj", ".txt", ".cbm", ".skops", ".onnx", *PICKLED)


def load_row_model(path: str | Path, trusted: Iterable[str] = ()) -> RowModel:
    """A model of rows from a file. A skops file may name types of other packages: they are loaded only if `trusted` lists
    them, and the refusal says which there are."""
    file = Path(path)
    if file.suffix.lower() in PICKLED:
        raise InvalidInput(
            f"{file.name} is a pickle, which runs code when it is opened; save the model as {ENDINGS}", code="unsafe"
        )
    if not file.exists():
        raise InvalidInput(f"there is no file {str(path)!r}; give a model saved as {ENDINGS}", code="missing")
    library = _library(check_is_file(file))
    if trusted and library != "skops":
        raise InvalidInput(
            f"trusted names types of a skops file, and {file.name} is one of {library}; leave trusted out",
            argument="trusted",
            code="misplaced",
        )
    try:
        return _read(file, library, tuple(trusted))
    except AccreditError:
        raise
    except Exception as error:  # each library has its own errors for a damaged file
        said = " ".join(str(error).split())[:200]
        raise InvalidInput(
            f"{file.name} cannot be read as a model of {library}: {said}; save it again", code="unreadable"
        ) from error


def _read(file: Path, library: str, trusted: tuple[str, ...]) -> RowModel:
    match library:
        case "skops":
            return _skops(file, trusted)
        case "onnx":
            return _onnx(file)
        case "xgboost":
            xgboost = _import("xgboost", file)
            return as_row_model(xgboost.Booster(model_file=str(file)))
        case "lightgbm":
            lightgbm = _import("lightgbm", file)
            return as_row_model(lightgbm.Booster(model_file=str(file)))
        case _:
            catboost = _import("catboost", file)
            return as_row_model(catboost.CatBoost().load_model(str(file), format="json" if file.suffix == ".json" else "cbm"))


def _library(file: Path) -> str:
    """Which library wrote a file: by its ending, and where two share one, by how it begins."""
    with file.open("rb") as opened:
        start = opened.read(4096)
    match file.suffix.lower():
        case ".skops" | ".onnx":
            return file.suffix.lower()[1:]
        case ".txt" if start.startswith(b"tree"):
            return "lightgbm"
        case ".cbm" if start.startswith(b"CBM1"):
            return "catboost"
        case ".ubj" if start.startswith(b"{"):
            return "xgboost"
        case ".json" if start.startswith(b"{"):
            return "xgboost" if b'"learner"' in start else "catboost"
    raise InvalidInput(f"{file.name} is not a model that can be read; it must be {ENDINGS}", code="format")


def _import(package: str, file: Path) -> ModuleType:
    from importlib import import_module

    with needs("trees", f"reading {file.name}"):
        return import_module(package)


def _skops(file: Path, trusted: tuple[str, ...]) -> RowModel:
    reader = _import("skops.io", file)
    unknown = sorted(set(reader.get_untrusted_types(file=file)) - set(trusted))
    if unknown:
        raise InvalidInput(
            f"{file.name} holds the types {', '.join(unknown)}, which are not known to be safe; if you trust whoever made the "
            f"file, write trusted={unknown!r}",
            argument="trusted",
            code="unsafe",
        )
    return as_row_model(reader.load(file, trusted=list(trusted)))


def _onnx(file: Path) -> RowModel:
    """A converted model; it reads single precision, and the result's name says so."""
    runtime = _import("onnxruntime", file)
    session = runtime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    given, outputs = session.get_inputs(), session.get_outputs()
    if len(given) != 1 or given[0].type not in ("tensor(float)", "tensor(double)"):
        raise InvalidInput(
            f"{file.name} wants the inputs {[g.name for g in given]}; one table of numbers is needed", code="unsupported"
        )
    kind = np.float32 if given[0].type == "tensor(float)" else np.float64

    def last_output(rows: Sized) -> FloatArray:
        try:
            table = np.asarray(rows, dtype=kind)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{file.name} reads numbers, and the rows hold something else: {error}", code="type") from None
        said = session.run([outputs[-1].name], {given[0].name: table})[0]
        if isinstance(said, list):  # a mapping from class to probability per row
            said = [[row[label] for label in said[0]] for row in said]
        return np.asarray(said, dtype=np.float64).reshape(len(table), -1)

    name = f"{file.name} (ONNX, {'single' if kind is np.float32 else 'double'} precision)"
    if len(outputs) == 1:
        return RowModel({"value": last_output}, None, name, session)
    count = last_output(np.zeros((1, given[0].shape[1]))).shape[1]
    return RowModel({"probability": last_output}, tuple(map(str, range(count))), name, session)
