"""Files whose labels are not one class per row: tags, and labels of several annotators, in columns or in lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray
from accredit.errors import InvalidInput
from accredit.labels.result import WrongLabels
from accredit.labels.wrong_tags import wrong_tags
from accredit.labels.wrong_votes import wrong_votes
from accredit.store.frames import read_frame, warn_reading
from accredit.training_data.columns import column_features
from accredit.training_data.features import features
from accredit.training_data.tables import check_columns, name_annotators, name_by, show_rows, texts_in
from accredit.valuation.targets import check_target, name_rows
from accredit.valuation.targets import rows as rows_in_words

if TYPE_CHECKING:
    import pandas

TAG_SEPARATOR = re.compile(r"\s*[|;,]\s*")


@dataclass(frozen=True, eq=False)
class LabelRows:
    """What is seen of the rows that are labelled."""

    frame: pandas.DataFrame  # one line per row
    names: tuple[str, ...]
    texts: list[str] | None
    views: dict[str, FloatArray]
    shown: tuple[str, ...]
    notes: tuple[str, ...]


def is_voted(file: str | Path, annotators: Sequence[str], identity: str | None) -> bool:
    """Whether a file holds several labels per row: a column for each annotator, or lines of the same id."""
    if len(annotators) > 1:
        return True
    if not annotators or identity is None:
        return False
    frame = read_frame(file)
    check_columns(frame, file, {"id": identity, "text": None})
    return bool(frame[identity].duplicated().any())


def tags_of_file(
    file: str | Path,
    target: str,
    *,
    text: str | None = None,
    seen_as: Sequence[str] = (),
    identity: str | None = None,
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
) -> tuple[WrongLabels, LabelRows]:
    """Which tags are missing or wrong, where cells of the target hold tags between | ; or commas."""
    frame = warn_reading(read_frame(file, codes=target))
    check_columns(frame, file, {"target": target, "text": text, "id": identity})
    rows = _rows(frame, file, text, seen_as, {target, identity}, identity)
    tags = [
        {part for part in TAG_SEPARATOR.split(str(cell).strip()) if part} if present else set()
        for cell, present in zip(frame[target], frame[target].notna(), strict=True)
    ]
    found = wrong_tags(
        tags, texts=rows.texts, features=rows.views or None, names=rows.names, excerpts=rows.shown, seed=seed, watch=watch
    )
    return found, rows


def votes_of_file(
    file: str | Path,
    annotators: Sequence[str],
    *,
    target: str | None = None,
    text: str | None = None,
    seen_as: Sequence[str] = (),
    identity: str | None = None,
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
) -> tuple[WrongLabels, LabelRows]:
    """Which labels of several annotators are wrong: `annotators` names a column for each, or the one column that says who gave
    the target in that line, where lines of one `identity` are about the same row."""
    frame = warn_reading(read_frame(file, codes=target))
    check_columns(frame, file, {"target": target, "text": text, "id": identity})
    for column in annotators:
        check_columns(frame, file, {"annotators": column, "text": None})
    if len(annotators) > 1:
        if target is not None:
            raise InvalidInput(
                f"target={target!r} does not go with {len(annotators)} columns of annotators, which hold labels; leave it out",
                argument="target",
                code="conflict",
            )
        frame, bare = _labelled(frame, annotators)
        rows = _rows(frame, file, text, seen_as, {identity, *annotators}, identity, bare)
        votes = {
            name: [cell if ok else None for cell, ok in zip(frame[name], frame[name].notna(), strict=True)]
            for name in annotators
        }
    else:
        if target is None or identity is None:
            raise InvalidInput(
                "labels in lines need target=COLUMN for the label and id=COLUMN for the row that it is about",
                argument="target",
                code="missing",
            )
        check_target(frame, target, str(file))
        who = name_annotators(frame, annotators[0])
        first = frame.drop_duplicates(identity).reset_index(drop=True)
        rows = _rows(first, file, text, seen_as, {target, identity, annotators[0]}, identity)
        place = {key: i for i, key in enumerate(first[identity])}
        votes = {name: [None] * len(first) for name in sorted(set(who))}
        for key, name, label in zip(frame[identity], who, frame[target], strict=True):
            if votes[name][place[key]] is not None:
                raise InvalidInput(
                    f"{name} labelled {key} twice; keep one of the two lines", argument="annotators", code="duplicate"
                )
            votes[name][place[key]] = label
    found = wrong_votes(
        votes, texts=rows.texts, features=rows.views or None, names=rows.names, excerpts=rows.shown, seed=seed, watch=watch
    )
    return found, rows


def _labelled(frame: pandas.DataFrame, annotators: Sequence[str]) -> tuple[pandas.DataFrame, tuple[str, ...]]:
    """The rows that somebody labelled, and what is said of the others."""
    bare = frame[list(annotators)].isna().all(axis=1)
    if not bare.any():
        return frame, ()
    if bare.all():
        raise InvalidInput(
            f"the columns {', '.join(annotators)} of annotators hold no label at all; name columns of labels",
            argument="annotators",
            code="missing",
        )
    said = f"{rows_in_words(int(bare.sum()))} without any label left out: {name_rows(frame.index[bare])}"
    return frame[~bare].reset_index(drop=True), (said,)


def _rows(
    frame: pandas.DataFrame,
    file: str | Path,
    text: str | None,
    seen_as: Sequence[str],
    aside: set[str | None],
    identity: str | None,
    notes: tuple[str, ...] = (),
) -> LabelRows:
    texts = None if text is None else texts_in(frame, text, str(file))
    everything = np.arange(len(frame))
    if text is None and not seen_as:
        x, _, _, made = column_features(frame, frame.iloc[:0], aside)
        views, notes = {"columns": x}, notes + made
    else:
        seen = [features(name, texts, len(frame), everything) for name in seen_as]
        views = {one.name: one.rows for one in seen if one.name != "tfidf"}
        notes += tuple(note for one in seen for note in one.notes)
    return LabelRows(frame, name_by(frame, identity), texts, views, show_rows(frame, text, aside), notes)
