"""A file of texts or a folder of pictures, explained one by one into JSON lines; a stopped run goes on where it was."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from accredit.checks.tables import is_table, read_lines, read_sheet, warn_notes
from accredit.core.threads import one_torch_thread
from accredit.errors import AccreditError, InvalidInput
from accredit.explanation.explainer import Explainer, choose_methods
from accredit.explanation.forecast import LONG
from accredit.explanation.requests import Kind, PictureRequest, TextRequest, make_request
from accredit.explanation.result import Explanation
from accredit.explanation.subject import Subject
from accredit.methods import settings_for
from accredit.models.pictures import open_picture, pictures_in
from accredit.store.jsonl import read_finished_lines

PROBE = 8  # payoffs that are timed to estimate how long a run will take
# What differs between equal runs, and what only drawings need
NOT_KEPT = ("seconds", "flow", "picture", "kind", "format")
Given = str | tuple[str, str] | Path  # a text, a pair of texts, or the file of a picture


def read_texts(file: str | Path, column: str | None = None) -> list[str]:
    """The texts of a file: one per line, or one column of a table with a header. Blank lines are not texts."""
    if is_table(file):
        texts = warn_notes(read_sheet(file)).column(column, "column")
    elif column is not None:
        raise InvalidInput(
            f"a column {column!r} was named, but {str(file)!r} ends in neither .csv, .tsv nor .jsonl: it has one text per line",
            argument="column",
            code="misplaced",
        )
    else:
        texts = [line for line in read_lines(file) if line.strip()]
    if not texts:
        raise InvalidInput(f"{str(file)!r} holds no text; give one per line, or a table with a header", code="empty")
    return texts


def read_pairs(file: str | Path, column: str | None, pair: str) -> list[tuple[str, str]]:
    """The pairs of texts in two columns of a table with a header."""
    if not is_table(file):
        raise InvalidInput(
            f"pair names a column, but {str(file)!r} ends in neither .csv, .tsv nor .jsonl", argument="pair", code="misplaced"
        )
    sheet = warn_notes(read_sheet(file))
    pairs = list(zip(sheet.column(column, "column"), sheet.column(pair, "pair"), strict=True))
    if not pairs:
        raise InvalidInput(f"{str(file)!r} holds no text; give a table with a header and at least one row", code="empty")
    return pairs


def read_pictures(folder: str | Path) -> list[Path]:
    """The pictures of a folder, by name."""
    found = pictures_in(folder)
    if not found:
        raise InvalidInput(
            f"{str(folder)!r} is a folder without pictures; give one with PNG, JPEG or other picture files", code="empty"
        )
    return found


def run_name(explainer: Explainer, kind: Kind = "text") -> str:
    """A name for everything that decides the rows: weights, settings, version."""
    from accredit.store import fingerprint

    model = explainer.model_for(kind)
    head = getattr(model, "head", None)
    own = {} if head is None else {"head": head.decided_by}
    return fingerprint(model=model.model, name=model.name, settings=dict(explainer.settings), **own).digest[:16]


def check_settings(texts: Sequence[Given], explainer: Explainer) -> None:
    """Raise now what every row would raise (an unknown label, method or payoff), before the file is opened."""
    request = _request(texts[0], explainer)
    settings_for(choose_methods(request.methods, explainer.model_for(request.kind)), request.readings)
    some = next((text for text in texts if _is_fit(text)), None)
    if some is not None:
        explainer.subject(some, request)


def _is_fit(text: Given) -> bool:
    """Are there words, or a picture that can be read?"""
    if isinstance(text, Path):
        try:
            open_picture(text)
        except InvalidInput:
            return False
        return True
    return all(each.strip() for each in (text if isinstance(text, tuple) else (text,)))


def _request(text: Given, explainer: Explainer) -> TextRequest | PictureRequest:
    if isinstance(text, Path):
        return make_request(PictureRequest, explainer.settings)
    return make_request(TextRequest, {**explainer.settings, "cut": True})


def estimate_seconds(texts: Sequence[Given], explainer: Explainer) -> float:
    """About how long the payoffs of all texts will take, judged by a few for a text of middle length; gradients, attention and
    the methods' own arithmetic come on top."""
    pictures = bool(texts) and isinstance(texts[0], Path)
    fit = sorted(texts if pictures else filter(_is_fit, texts), key=lambda text: 0 if pictures else len("".join(text)))
    request = _request(texts[0], explainer)
    try:
        subject = explainer.subject(fit[len(fit) // 2], request) if fit else None
    except AccreditError:  # that row will say why
        subject = None
    if subject is None:
        return 0.0
    methods = choose_methods(request.methods, explainer.model_for(request.kind))
    asked = len(texts) * sum(each.payoffs(len(subject.players), subject.budget) for each in methods)
    return _payoff_seconds(subject, asked)


def _payoff_seconds(subject: Subject, asked: int) -> float:
    """About how long that many payoffs take. A few of them show whether a careful estimate is worth its cost."""
    if asked == 0:
        return 0.0
    few = np.random.default_rng(subject.seed).random((PROBE, len(subject.players))) < 0.5
    began = time.perf_counter()
    subject.record.payoff(few)
    rough = (time.perf_counter() - began) / PROBE * asked
    return rough if rough < LONG else float(subject.game.estimate(asked).seconds)


def explain(texts: Sequence[Given], explainer: Explainer, run: str, start: int = 0) -> Iterator[str]:
    """JSON lines of the rows from `start` on, in order. A row that cannot be explained says why.

    Equal inputs give equal lines: times are left out, no row depends on another, and torch works on one thread, because with
    several the last digits differ from run to run.
    """
    for row in range(start, len(texts)):
        line: dict[str, object] = {"row": row, "run": run}
        try:
            with one_torch_thread() if "torch" in sys.modules else nullcontext():
                line |= _kept(explainer(texts[row])) | _name(texts[row])
        except AccreditError as error:
            line |= _name(texts[row]) | {"error": str(error)}
        yield json.dumps(line, ensure_ascii=False) + "\n"


def _name(text: Given) -> dict[str, str]:
    """What is explained; a picture by its name and by the digest of its bytes."""
    if isinstance(text, Path):
        return {"text": text.name, "content": sha256(text.read_bytes()).hexdigest()[:16]}
    return {"text": text[0], "pair": text[1]} if isinstance(text, tuple) else {"text": text}


def _kept(explanation: Explanation) -> dict[str, object]:
    kept = {key: value for key, value in explanation.to_plain().items() if key not in NOT_KEPT}
    if kept["pair"] is None:
        del kept["pair"]
    if explanation.picture is not None:  # where each player is, without the picture itself
        kept["picture"] = {
            "size": list(explanation.picture.size),
            "runs": [list(run) for run in explanation.picture.runs],
        }
    return kept


def read_finished(out: Path, texts: Sequence[Given], run: str) -> int:
    """How many rows `out` already holds; rows of another run, or of other texts, are refused."""

    def belongs(row: int, data: dict[str, Any]) -> bool:
        same = data["run"] == run and row < len(texts)
        return same and all(data.get(name) == text for name, text in _name(texts[row]).items())

    return read_finished_lines(out, belongs, "another model, other settings or other texts")
