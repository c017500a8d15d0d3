"""Acting on wrong labels: the table with what was found, without the suspects, relabelled, or as tasks of a labelling tool.

Label Studio imports a list of tasks with `data` and `predictions`; Argilla a list of records with `fields`, `metadata` and
`suggestions` (`dataset.records.from_json`). Both get the suspects, most suspect first.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accredit.checks.files import put
from accredit.checks.json_data import cell
from accredit.checks.tables import ending
from accredit.errors import InvalidInput
from accredit.labels.result import WrongLabels
from accredit.training_data.suspects import suspects

if TYPE_CHECKING:
    import pandas

FORMS = ("annotated", "dropped", "relabelled", "label-studio", "argilla")
AGENT = "accredit"
SEPARATOR = " · "  # between a row and the tag or annotator of one of its labels
QUESTION, TEXT_FIELD = "label", "text"  # names in the project of a labelling tool


def write_labels(
    found: WrongLabels,
    frame: pandas.DataFrame,
    names: Sequence[str],
    path: str | Path,
    form: str = "annotated",
    *,
    target: str | None = None,
    text: str | None = None,
) -> None:
    """Write what was found to a file: a table (.csv, .tsv, .jsonl or .parquet), or .json for a labelling tool."""
    check_form(path, form)
    if form in ("label-studio", "argilla"):
        cells = {name: _plain(row) for name, row in zip(names, frame.to_dict("records"), strict=True)}
        tasks = (label_studio if form == "label-studio" else argilla)(found, cells, text)
        put(path, json.dumps(tasks, ensure_ascii=False, indent=1).encode())
        return
    put(path, _table(_frame(found, frame, names, form, target), path))


def check_form(path: str | Path, form: str) -> None:
    """Refuse a file whose name does not fit what is written, before anything is computed."""
    kinds = (".json",) if form in ("label-studio", "argilla") else (".csv", ".tsv", ".jsonl", ".parquet")
    if ending(path) not in kinds:
        raise InvalidInput(
            f"out={str(path)!r} does not end in {' or '.join(kinds)}, which {form} is written as; rename it",
            argument="out",
            code="format",
        )


def _frame(
    found: WrongLabels, frame: pandas.DataFrame, names: Sequence[str], form: str, target: str | None
) -> pandas.DataFrame:
    """The table with what was found beside each row."""
    several = bool(found.consensus) or (len(found.names) != len(names))
    if form != "annotated" and (several or target is None):
        raise InvalidInput(
            f"out_as={form!r} needs one label per row; write out_as='annotated', which holds every label",
            argument="out_as",
            code="conflict",
        )
    out = frame.copy()
    if several:
        return _by_part(found, out, names)
    listed = set(found.suspects)
    if form == "dropped":
        return out[[i not in listed for i in range(len(names))]]
    chances = [None] * len(names) if found.probability is None else [round(float(p), 4) for p in found.probability]
    out["label_suspect"] = [i in listed for i in range(len(names))]
    out["label_suggested"] = [cell(label) for label in found.suggested]
    out["label_probability_wrong"] = chances
    if form == "relabelled" and target is not None:
        out["label_given"] = out[target]
        out[target] = [found.suggested[i] if i in listed else given for i, given in enumerate(out[target])]
    return out


def _by_part(found: WrongLabels, out: pandas.DataFrame, names: Sequence[str]) -> pandas.DataFrame:
    """One line per row, and for every annotator or tag whether the label is suspect and with which probability."""
    place, listed = {name: i for i, name in enumerate(names)}, set(found.suspects)
    columns: dict[str, list[object]] = {}
    for k, name in enumerate(found.names):
        row, _, part = name.rpartition(SEPARATOR)
        for column, value in (
            (f"{part}_suspect", k in listed),
            (f"{part}_probability_wrong", None if found.probability is None else round(float(found.probability[k]), 4)),
        ):
            columns.setdefault(column, [None] * len(names))[place[row]] = value
    for column, values in columns.items():
        out[column] = values
    if found.consensus:
        out["consensus"] = [cell(one.label) for one in found.consensus]
        out["consensus_probability_wrong"] = [round(one.probability, 4) for one in found.consensus]
    return out


def _table(frame: pandas.DataFrame, path: str | Path) -> bytes:
    kind = ending(path)
    if kind == ".parquet":
        out = io.BytesIO()
        frame.to_parquet(out)
        return out.getvalue()
    if kind == ".jsonl":
        return str(frame.to_json(orient="records", lines=True, force_ascii=False)).encode()
    return str(frame.to_csv(index=False, sep="\t" if kind == ".tsv" else ",")).encode()


def label_studio(found: WrongLabels, cells: Mapping[str, Mapping[str, Any]], text: str | None) -> list[dict[str, Any]]:
    """Tasks with the suggested label as prediction, for a project whose <Choices name="label" toName="text">.

    >>> from accredit.labels import wrong_labels
    >>> import numpy as np
    >>> y = np.arange(60) % 2; x = np.random.default_rng(0).normal(size=(60, 2)) + 6 * y[:, None]; y[0] = 1
    >>> task = label_studio(wrong_labels(y, features=x), {}, None)[0]
    >>> task["predictions"][0]["result"][0]["value"]
    {'choices': ['0']}
    """
    return [
        {
            "data": {
                **cells.get(_row(s.row, cells), {}),
                TEXT_FIELD: str(cells.get(_row(s.row, cells), {}).get(text or "", s.text)),
                "accredit_id": s.row,
                "label_given": s.given,
                "label_probability_wrong": round(s.probability, 4),
            },
            "predictions": [
                {
                    "model_version": AGENT,
                    "score": round(s.probability, 4),
                    "result": [{"from_name": QUESTION, "to_name": TEXT_FIELD, **_answer(found, s.suggested)}],
                }
            ],
        }
        for s in suspects(found)
    ]


def _answer(found: WrongLabels, suggested: str) -> dict[str, Any]:
    """What is suggested, as a choice, or as a number of <Number name="label" toName="text">."""
    if found.is_of_numbers:
        return {"type": "number", "value": {"number": float(suggested)}}
    return {"type": "choices", "value": {"choices": [suggested]}}


def argilla(found: WrongLabels, cells: Mapping[str, Mapping[str, Any]], text: str | None) -> list[dict[str, Any]]:
    """Records with the suggested label, for a dataset with the text field "text" and the label question "label"."""
    return [
        {
            "id": s.row,
            "fields": {TEXT_FIELD: str(cells.get(_row(s.row, cells), {}).get(text or "", s.text))},
            "metadata": {"label_given": s.given, "label_probability_wrong": round(s.probability, 4)},
            "suggestions": {QUESTION: {"value": s.suggested, "score": round(s.probability, 4), "agent": AGENT}},
        }
        for s in suspects(found)
    ]


def _row(name: str, cells: Mapping[str, object]) -> str:
    """The row that a label belongs to."""
    return name if name in cells else name.rpartition(SEPARATOR)[0]


def _plain(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Cells as JSON has them; missing ones are null."""
    import pandas

    return {
        str(key): None if pandas.isna(value) else value.item() if hasattr(value, "item") else value
        for key, value in row.items()
    }
