"""What shap computed, as a result: its numbers, and no claim about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import numpy.typing as npt

from accredit.checks import real_numbers, shown
from accredit.checks.arguments import check_arguments
from accredit.checks.json_data import round_off
from accredit.core import Attribution, Attributions, FloatArray, Precision, Procedure, distinct_names
from accredit.core.notes import check_notes
from accredit.errors import Code, InvalidInput
from accredit.rows.frames import plain_cell
from accredit.rows.result import Cell, PairFields, TableExplanation

METHOD = "shap"
SYMMETRIC = 1e-3  # of the largest interaction: two cells of a pair that differ by less are alike, in single precision
ONE_BASE = 1e-5  # of the size of the base values: rows that differ by less have the same one, up to single precision
ROUNDING = 1e-3  # of the largest prediction: what single precision may leave between it and base value plus credit
NO_SHARES = ("abs", "argsort", "max", "min", "percentile")  # what shap calls changes that leave nothing that adds up
NOBODY_SAID = "shap does not say how far off its numbers may be"


@check_arguments
def from_shap(
    explanation: object, *, predictions: object = None, interactions: bool | None = None
) -> TableExplanation | Attribution | Attributions:
    """What an explainer of shap returned when it was called, as a result here: `from_shap(explainer(rows))`.

    Many rows are a `TableExplanation`; one row, or one text, is an `Attribution`, and in several outputs `Attributions`.
    The method is "shap". Nothing is claimed, because nothing was tested, and how far off the numbers may be is unknown.
    `predictions`, (rows,) or (rows, outputs), are what the model says; without them base value plus credit stands in,
    and the notes say so: only with them is `unshared` a test. Interactions, (rows, columns, columns), are told from
    outputs by their base values; where these leave it open, say which with `interactions`. shap need not be installed.

    >>> from types import SimpleNamespace
    >>> theirs = SimpleNamespace(values=np.array([[2.0, -1.0]]), base_values=np.array([3.0]), data=np.array([[41, 1200.5]]),
    ...                          feature_names=["age", "pay"], output_names=None)
    >>> e = from_shap(theirs, predictions=[4.5])
    >>> e[0].as_dict(), e.methods, e.claims, float(e.unshared[0, 0])
    ({'age': 2.0, 'pay': -1.0}, ('shap',), (), 0.5)
    """
    read = _arrange(explanation, interactions)
    notes = _unread(explanation)
    nobody = _base(read, notes)
    table = TableExplanation(
        _players(read, notes),
        _outputs(read),
        read.credit,
        nobody,
        _predictions(predictions, nobody + read.credit.sum(axis=1), notes),
        _cells(read, notes),
        Procedure(METHOD),
        precision=Precision.unknown(NOBODY_SAID),
        notes=check_notes(notes),
        provenance=_provenance(explanation),
        method_name=METHOD,
        **_pairs(read),
    )
    if not read.single:
        return table
    each = {name: table.row(0, name) for name in table.outputs}
    return table.row(0) if len(each) == 1 else Attributions(each)


@dataclass(frozen=True, eq=False)
class Arranged:
    """What shap gave, with an axis for rows and one for outputs, whether it had them or not."""

    values: FloatArray  # (rows, columns, outputs), or (rows, columns, columns, outputs) of pairs
    base: FloatArray | None  # as shap gave it, of one row with an axis for rows
    data: npt.NDArray[np.object_] | None  # (rows, columns)
    names: str | Sequence[object] | None  # of columns
    output_names: str | Sequence[object] | None
    single: bool  # one row, which had no axis for rows

    @property
    def paired(self) -> bool:
        return self.values.ndim == 4

    @property
    def credit(self) -> FloatArray:
        """(rows, columns, outputs)."""
        return np.asarray(self.values.sum(axis=2)) if self.paired else self.values

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns, outputs."""
        return self.values.shape[0], self.values.shape[1], self.values.shape[-1]


def _arrange(explanation: object, interactions: bool | None) -> Arranged:
    values, data = _values(explanation), getattr(explanation, "data", None)
    base = _numbers(getattr(explanation, "base_values", None), "base_values")
    names, outputs = getattr(explanation, "feature_names", None), getattr(explanation, "output_names", None)
    data = None if data is None else np.asarray(data, dtype=object)
    single = False
    if values.ndim == 1 and base is not None and base.ndim == 1:  # one column of many rows: explanation[:, "age"]
        values, data = values[:, None], None if data is None else data[:, None]
    elif values.ndim == 1 or (data is not None and data.ndim == 1):
        single, values = True, values[None]
        base, data = None if base is None else base[None], None if data is None else data[None]
    if (data is not None and data.ndim != 2) or not 2 <= values.ndim <= 4:
        raise _unreadable(f"values has shape {values.shape}; rows of tables and texts are read, pictures are not")
    paired = values.ndim == 4 or _are_pairs(values, base, outputs, interactions)
    if paired and values.shape[1] != values.shape[2]:
        raise _unreadable(f"values has shape {values.shape}; interactions are (rows, columns, columns)")
    if paired and not np.allclose(values, values.swapaxes(1, 2), rtol=SYMMETRIC, atol=SYMMETRIC * np.abs(values).max()):
        raise InvalidInput(
            "interactions are read, and values differ between the two cells of a pair, which those of columns do not; write "
            "interactions=False if the last axis holds outputs",
            argument="interactions",
            code="conflict",
        )
    one_output = values.ndim == (3 if paired else 2)
    return Arranged(values[..., None] if one_output else values, base, data, names, outputs, single)


def _pairs(read: Arranged) -> PairFields:
    """Interactions, which shap halves between the two cells of a pair."""
    if not read.paired:
        return {}
    both, own = read.values + read.values.swapaxes(1, 2), np.arange(read.shape[1])
    both[:, own, own] = 0.0
    return {"pairs": both, "pairs_index": METHOD, "pairs_precision": Precision.unknown(NOBODY_SAID)}


def _unreadable(why: str, code: Code = "shape") -> InvalidInput:
    return InvalidInput(f"explanation cannot be read: {why}", argument="explanation", code=code)


def _values(explanation: object) -> FloatArray:
    """The numbers, (rows, columns, …)."""
    if not hasattr(explanation, "values") or not hasattr(explanation, "base_values"):
        raise InvalidInput(
            f"explanation is {shown(explanation)}; give what an explainer of shap returns when it is called: "
            "from_shap(explainer(rows)), not the array of shap_values",
            argument="explanation",
            code="type",
        )
    steps = (getattr(step, "name", "") for step in getattr(explanation, "op_history", ()))
    if (taken := next((name for name in steps if name in NO_SHARES), None)) is not None:
        raise _unreadable(
            f"shap has taken .{taken} of it, so that it adds up to no output; give what the explainer returned", "unsupported"
        )
    found = _numbers(explanation.values, "values")
    if found is None or found.ndim == 0 or not found.size:
        raise _unreadable("it holds no values", "empty")
    if not np.isfinite(found).all():
        raise _unreadable(f"values holds {found[~np.isfinite(found)][0]}; only finite numbers can be credited", "not-finite")
    return found


def _numbers(given: object, name: str) -> FloatArray | None:
    if given is None:
        return None
    try:
        array = np.array(given)
    except ValueError:  # lists of several lengths
        array = np.array(None)
    if array.dtype == object:
        raise _unreadable(f"{name} holds rows of several lengths; read one at a time: from_shap(explanation[0])")
    return real_numbers(array, name, copy=True)


def _are_pairs(values: FloatArray, base: FloatArray | None, outputs: str | Sequence[object] | None, asked: bool | None) -> bool:
    """Are three axes (rows, columns, columns), and not (rows, columns, outputs)?"""
    if asked and values.ndim != 3:
        raise InvalidInput(
            f"interactions is True, and values have shape {values.shape}; interactions have (rows, columns, columns)",
            argument="interactions",
            code="conflict",
        )
    if values.ndim != 3 or asked is not None:
        return bool(asked)
    rows, columns, last = values.shape
    if columns != last or (isinstance(outputs, list | tuple | np.ndarray) and len(outputs) == last):
        return False
    if base is not None and (base.ndim == 2 or (base.ndim == 1 and len(base) == last != rows)):
        return False
    if base is not None and (base.ndim == 0 or (base.ndim == 1 and len(base) == rows != last)):
        return True
    raise InvalidInput(
        f"interactions is not given, and values of shape {values.shape} may be (rows, columns, columns) or (rows, columns, "
        "outputs): write interactions=True or interactions=False",
        argument="interactions",
        code="missing",
    )


def _base(read: Arranged, notes: list[str]) -> FloatArray:
    """What nobody earns in each output: (outputs,)."""
    base, (rows, _, outputs) = read.base, read.shape
    if base is None:
        notes.append("shap gave no base values; 0 stands in for them.")
        return np.zeros(outputs)
    each = base[:, None] if base.ndim == 1 and outputs == 1 and len(base) == rows else base
    try:
        each = np.broadcast_to(each, (rows, outputs))
    except ValueError:
        raise _unreadable(f"base_values has shape {base.shape} for {rows} rows and {outputs} outputs") from None
    if np.ptp(each, axis=0).max() > ONE_BASE * max(1.0, float(np.abs(each).max())):
        raise _unreadable(
            "its rows have different base values, so they were compared with different things; read one at a time: "
            "from_shap(explanation[0])",
            "unsupported",
        )
    return np.asarray(each.mean(axis=0))


def _predictions(given: object, summed: FloatArray, notes: list[str]) -> FloatArray:
    """What the model says, (rows, outputs); where nobody said, base values plus credit."""
    if given is None:
        notes.append("The predictions were not given: base value plus credit stands in for them.")
        return summed
    found = real_numbers(given, "predictions")
    if found.size != summed.size or len(np.atleast_1d(found)) != len(summed):
        raise InvalidInput(
            f"predictions has shape {found.shape}; {summed.shape[0]} rows in {summed.shape[1]} outputs are needed",
            argument="predictions",
            code="shape",
        )
    found = found.reshape(summed.shape)
    missed = float(np.abs(found - summed).max())
    if missed > ROUNDING * max(1.0, float(np.abs(found).max())):
        notes.append(f"Base value plus credit misses the predictions by up to {round_off(missed)}.")
    return found


def _players(read: Arranged, notes: list[str]) -> tuple[str, ...]:
    """The names of the columns; of a text its tokens; else x0, x1, …"""
    columns, given = read.shape[1], read.names
    if given is None and read.single and read.data is not None and all(isinstance(cell, str) for cell in read.data[0]):
        given = read.data[0]
    names = [given] if isinstance(given, str) else [None] * columns if given is None else list(given)
    if len(names) != columns:
        raise _unreadable(f"it has {len(names)} feature names for {columns} columns")
    texts = [f"x{i}" if name is None else str(name) for i, name in enumerate(names)]
    players = distinct_names(text or "(nothing)" for text in texts)
    if list(players) != texts:
        notes.append("Columns with an empty name, or with the name of another, were given names of their own.")
    return players


def _outputs(read: Arranged) -> tuple[str, ...]:
    count, given = read.shape[2], read.output_names
    names = [given] if isinstance(given, str) else [] if given is None else [str(name) for name in given]
    if len(names) == count:
        return distinct_names(names)
    return ("prediction",) if count == 1 else tuple(f"output {k}" for k in range(count))


def _cells(read: Arranged, notes: list[str]) -> tuple[tuple[Cell, ...], ...]:
    """Each column's value in every row."""
    rows, columns, _ = read.shape
    if read.data is None:
        notes.append("shap gave no data, so every value reads “missing”.")
        return ((None,) * rows,) * columns
    if read.data.shape != (rows, columns):
        raise _unreadable(f"data has shape {read.data.shape} for {rows} rows and {columns} columns")
    return tuple(tuple(plain_cell(cell) for cell in column) for column in read.data.T)


def _unread(explanation: object) -> list[str]:
    """What shap gave that has no place here."""
    there = [name for name in ("error_std", "clustering") if getattr(explanation, name, None) is not None]
    return [f"Not read: {', '.join(there)}."] if there else []


def _provenance(explanation: object) -> dict[str, str | float | None]:
    """Where the numbers are from, as far as the explanation knows."""
    kind = type(explanation)
    facts: dict[str, str | float | None] = {"read from": f"{kind.__module__}.{kind.__qualname__}"}
    if kind.__module__.partition(".")[0] == METHOD:
        try:
            facts["shap"] = version(METHOD)
        except PackageNotFoundError:
            facts["shap"] = None
    seconds = getattr(explanation, "compute_time", None)
    return facts if seconds is None else facts | {"seconds": float(seconds)}
