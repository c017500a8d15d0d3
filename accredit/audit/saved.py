"""Audits of what was saved in a folder: a trained explainer, or an attention classifier, on the rows of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from accredit.audit.finding import Findings, find_checks
from accredit.audit.reader_gaps import Reader
from accredit.checks import optional_whole, real_numbers
from accredit.checks.arguments import check_arguments
from accredit.checks.arrays import read_arrays as arrays_in
from accredit.checks.tables import is_table, number, read_sheet, warn_notes
from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.learned.batches import third_ends, thirds
from accredit.learned.black_boxes import BlackBox, answers_of, check_answers, numbers_of
from accredit.learned.inputs import Array

ARRAYS = (
    "arrays 'x' and 'labels' (or 'answers', the black box's probabilities) for an explainer; 'tokens', 'query' and, if "
    "known, 'labels' and 'present' for an attention classifier; 'inert' marks players that cannot inform"
)


@check_arguments
def audit_saved(
    folder: str | Path,
    data: str | Path,
    *,
    tests: Sequence[str] | None = None,
    target: str = "label",
    limit: int | None = None,
    seed: int = 0,
    black_box: BlackBox | None = None,
    judge: str | Path | None = None,
    train: str | Path | None = None,
    progress: bool = False,
) -> Findings:
    """The leakage report on a saved explainer, or the attention audit of a saved attention classifier.

    `data` is an .npz file with the arrays that the model was made for, or for tables a .csv file with one column named
    `target`. Give rows that the model was not trained on. `limit` keeps the first rows. For an explainer, `black_box` is the
    model that it explains: its answers are then asked and not read. `judge` is a folder that `EvalX.save` wrote; `train` a file
    of training rows, with answers, on which a judge is trained.

    >>> import tempfile
    >>> from accredit.shortcuts import AttentionClassifier, AttentionShape
    >>> folder, rng = Path(tempfile.mkdtemp()), np.random.default_rng(0)
    >>> AttentionClassifier(AttentionShape(width=3, query=2), seed=0).save(folder)
    >>> np.savez(folder / "rows.npz", tokens=rng.normal(size=(60, 5, 3)), query=rng.normal(size=(60, 2)))
    >>> [finding.name for finding in audit_saved(folder, folder / "rows.npz", tests=["leave-one-out"])]
    ['leave-one-out']
    """
    optional_whole(limit, "limit")
    place = Path(folder)
    if not place.is_dir():
        raise InvalidInput(
            f"{str(folder)!r} is not a folder; give one that explainer.save(folder) wrote", argument="folder", code="missing"
        )
    arrays = read_arrays(data, target)
    arrays = {name: array[:limit] if _of_rows(name, array) else array for name, array in arrays.items()}
    if (place / "model.json").is_file():
        if any(part is not None for part in (black_box, judge, train)):
            raise InvalidInput(
                "a black box, a judge and training rows are for explainers; leave them out for attention", code="misplaced"
            )
        return _attention(place, arrays, tests, seed)
    if (place / "explainer.json").is_file():
        training = None if train is None else read_arrays(train, target)
        return _explainer(place, arrays, tests, seed, black_box, judge, training, progress)
    raise InvalidInput(
        f"{str(folder)!r} holds neither explainer.json nor model.json; give a folder that explainer.save(folder) wrote",
        argument="folder",
        code="missing",
    )


def _explainer(
    place: Path,
    arrays: dict[str, Array],
    tests: Sequence[str] | None,
    seed: int,
    black_box: BlackBox | None,
    judge: str | Path | None,
    training: dict[str, Array] | None,
    progress: bool,
) -> Findings:
    from accredit.audit.finding import NAMES
    from accredit.audit.leakage import leakage_report
    from accredit.audit.saved import Thirds
    from accredit.learned.cxplain import CXPlain
    from accredit.learned.evalx import EvalX
    from accredit.learned.saving import load

    wanted = find_checks(tests, NAMES)
    explainer = load(place)
    x = explainer.inputs.check(_array(arrays, "x"))
    number = not isinstance(explainer, CXPlain) and explainer.classes == 1
    answers = _answers(arrays, x, black_box, number)
    cut = None
    if number:
        if answers is None:
            raise InvalidInput(
                "a regression is audited by the black box's own numbers; give the model that it explains, or save them "
                "beside the rows: np.savez(file, x=x, answers=black_box(x))",
                argument="black_box",
                code="missing",
            )
        cut = Thirds.of(answers)

    def labels_of(given: dict[str, Array], said: FloatArray | None) -> Array:
        if said is None:
            return _array(given, "labels")
        return said.argmax(axis=1) if cut is None else cut.labels(said)

    if isinstance(explainer, CXPlain):  # it chooses by predicted losses: no surrogate reads what it shows
        method, masks, surrogate = "cxplain", explainer.select(x).astype(np.float64), None
    else:
        if answers is not None:
            explainer.black_box = black_box or record(x, answers)
        elif explainer.query:
            raise InvalidInput(
                f"{explainer.method} needs the black box's answer to choose; give the model that it explains, or save its "
                "probabilities beside the rows: np.savez(file, x=x, answers=black_box(x))",
                argument="black_box",
                code="missing",
            )
        method, masks, surrogate = explainer.method, explainer.masks(x), explainer.answer
    learn = None
    if training is not None:
        rows = explainer.inputs.check(_array(training, "x"))
        learn = rows, labels_of(training, _answers(training, rows, black_box, number))
    if cut is not None:
        black_box = None if black_box is None else cut.box(black_box)
    reads = surrogate if cut is None or surrogate is None else cut.reader(surrogate)
    report = leakage_report(
        explainer.inputs,
        x,
        masks,
        labels_of(arrays, answers),
        black_box,
        reads,
        None if judge is None else EvalX.load(judge),
        arrays.get("inert"),
        scores=explainer.scores(x),
        training=learn,
        tests=wanted,
        seed=seed,
        progress=progress,
        subject=f"{method}, {explainer.rule()}",
    )
    return report if cut is None else replace(report, notes=(*report.notes, cut.note))


def _answers(arrays: dict[str, Array], x: Array, black_box: BlackBox | None, number: bool) -> FloatArray | None:
    """What the black box says, if it is known: probabilities (N, classes), or a `number` per row (N, 1)."""
    if black_box is not None:
        return (numbers_of if number else answers_of)(black_box, x)
    if "answers" not in arrays:
        return None
    said = arrays["answers"]
    return numbers_of(lambda _rows: said, x) if number else check_answers(said, len(x), "answers")


def _of_rows(name: str, array: Array) -> bool:
    """Whether an array has one entry per row; `inert` may have one per player instead."""
    return array.ndim > (1 if name == "inert" else 0)


def _attention(place: Path, arrays: dict[str, Array], tests: Sequence[str] | None, seed: int) -> Findings:
    from accredit.audit.classifier import TESTS, audit_attention
    from accredit.shortcuts.models import load_attention_classifier

    wanted = find_checks(tests, TESTS)
    model = load_attention_classifier(place)
    return audit_attention(
        model,
        _array(arrays, "tokens"),
        _array(arrays, "query"),
        arrays.get("labels"),
        arrays.get("present"),
        inert=arrays.get("inert"),
        tests=wanted,
        seed=seed,
    )


def record(x: Array, answers: FloatArray) -> BlackBox:
    """A black box that knows its answers to these rows and to no others."""
    known = {row.tobytes(): answer for row, answer in zip(x, answers, strict=True)}

    def answer(rows: Array) -> Array:
        try:
            return np.array([known[row.tobytes()] for row in rows])
        except KeyError:
            raise InvalidInput(
                "only the recorded answers of the black box are known, and it was asked for others", code="unsupported"
            ) from None

    return answer


def read_arrays(file: str | Path, target: str = "label") -> dict[str, Array]:
    """Named arrays from an .npz file, without pickles, or from a table: 'labels' from one column, 'x' from the others."""
    path = Path(file)
    if is_table(path):
        return _table(path, target)
    if not path.exists():
        raise InvalidInput(
            f"there is no file {str(file)!r}; give an .npz or .csv file with the rows to audit", argument="file", code="missing"
        )
    found = arrays_in(path)
    if "" in found:
        raise InvalidInput(
            f"{str(file)!r} holds one array without a name; write np.savez(file, x=x, labels=y)", argument="file", code="format"
        )
    return found


def _table(path: Path, target: str) -> dict[str, Array]:
    sheet = warn_notes(read_sheet(path).with_plain_numbers(words=(target,)))
    sheet.column(target, "target")
    if not sheet.rows:
        raise InvalidInput(f"{str(path)!r} has a header and no rows", argument="file", code="empty")
    at = sheet.names.index(target)
    x = np.array(
        [
            [
                number(cell, f"column {name!r} in line {line} of {str(path)!r}")
                for name, cell in zip(sheet.names, cells, strict=True)
            ]
            for line, cells in zip(sheet.lines, sheet.rows, strict=True)
        ]
    )
    if not (np.equal(x[:, at], np.round(x[:, at])) & (np.abs(x[:, at]) < 1 << 31)).all():
        raise InvalidInput(f"column {target!r} must hold whole numbers, the classes 0, 1, …", argument="target", code="type")
    return {"x": np.delete(x, at, axis=1), "labels": x[:, at].astype(np.int64)}


def _array(arrays: dict[str, Array], name: str) -> Array:
    if name not in arrays:
        raise InvalidInput(
            f"the file has no array {name!r}, only {', '.join(arrays) or 'nothing'}; it needs {ARRAYS}",
            argument="file",
            code="missing",
        )
    return arrays[name]


@dataclass(frozen=True)
class Thirds:
    """Numbers as three classes: low, middle and high, cut where the black box's answers have their thirds.

    A reader that answers with numbers becomes one that is sure of a third. So `leakage_report` can ask about a regression:

    >>> cut = Thirds.of(np.arange(9.0))
    >>> cut.labels([0.0, 4.0, 99.0])
    array([0, 1, 2])
    >>> cut.box(lambda x: x[:, 0])(np.array([[5.0]]))
    array([[0., 1., 0.]])
    """

    low: float
    high: float

    @classmethod
    def of(cls, numbers: npt.ArrayLike) -> Self:
        """Cut where these numbers have their thirds."""
        given = real_numbers(numbers, "numbers").ravel()
        found = cls(*(float(end) for end in third_ends(given)))
        if len(np.unique(found.labels(given))) < 2:
            raise InvalidInput(
                f"the black box says {given[0]:g} in nearly all of {len(given)} rows: nothing can leak; give rows "
                "with different answers",
                code="undefined",
            )
        return found

    @property
    def note(self) -> str:
        """What the report has to say about it."""
        return (
            f"the answer is a number; audited is in which third it lies: below {self.low:.4g}, up to {self.high:.4g}, or "
            "above. A code for finer differences is not seen"
        )

    def labels(self, numbers: npt.ArrayLike) -> IntArray:
        """0, 1 or 2 for each number."""
        return thirds(real_numbers(numbers, "numbers").ravel(), (self.low, self.high))

    def box(self, black_box: BlackBox) -> BlackBox:
        """A black box of numbers as one of three classes."""
        return lambda x: self._sure(black_box(x))

    def reader(self, reader: Callable[[Array, FloatArray], npt.ArrayLike]) -> Reader:
        """A reader that answers with numbers as one of three classes."""
        return lambda x, mask: self._sure(reader(x, mask))

    def _sure(self, numbers: npt.ArrayLike) -> FloatArray:
        return np.asarray(np.eye(3)[self.labels(numbers)])
