"""A file of texts, explained row by row into JSON lines; a run that was stopped goes on where it was."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from accredit.core import AccreditError, InvalidInput
from accredit.explanation.explainer import LONG, asked_methods, explain, subject_of
from accredit.explanation.result import Explanation
from accredit.explanation.subject import Subject

if TYPE_CHECKING:
    from accredit.models.text import Text

PROBE = 8  # payoffs that are timed to tell what a run will take
TABLES = {".csv": ",", ".tsv": "\t"}
NOT_KEPT = (
    "seconds",
    "flow",
    "picture",
    "kind",
    "format",
)  # what differs between equal runs, and what only drawings need


def read_texts(file: str | Path, column: str | None = None) -> list[str]:
    """The texts of a file: one a line, or one column of a CSV or TSV with a header. Blank lines are no texts."""
    path, content = Path(file), _content(file)
    if path.suffix.lower() in TABLES:
        texts = _column(path, content, column, "--text")
    elif column is not None:
        raise InvalidInput(
            f"a column {column!r} was named and {str(path)!r} is no .csv or .tsv; it has one text a line"
        )
    else:
        texts = [line for line in content.split("\n") if line.strip()]
    if not texts:
        raise InvalidInput(f"{str(path)!r} holds no text; give one a line, or a table with a header")
    return texts


def read_pairs(file: str | Path, column: str | None, pair: str) -> list[tuple[str, str]]:
    """The pairs of texts in two columns of a CSV or TSV with a header."""
    path, content = Path(file), _content(file)
    if path.suffix.lower() not in TABLES:
        raise InvalidInput(f"--pair names a column, and {str(path)!r} is no .csv or .tsv")
    pairs = list(zip(_column(path, content, column, "--text"), _column(path, content, pair, "--pair"), strict=True))
    if not pairs:
        raise InvalidInput(f"{str(path)!r} holds no text; give a table with a header and at least one row")
    return pairs


def _content(file: str | Path) -> str:
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{str(file)!r} is neither a picture nor text in UTF-8") from None


def _column(path: Path, content: str, column: str | None, option: str) -> list[str]:
    """One column of a table, by its name; without a name, the only one."""
    names, rows = _table(path, content)
    if column is None and len(names) == 1:
        column = names[0]
    if column is None or names.count(column) != 1:
        what = "no column was named" if column is None else f"there is no column {column!r}"
        what = f"{names.count(column)} columns are called {column!r}" if column in names else what
        raise InvalidInput(
            f"{what} in {str(path)!r}; its columns are {', '.join(names) or 'none'}: pick one with {option}"
        )
    return [row[names.index(column)] for row in rows]


def _table(path: Path, content: str) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a table, each as long as the header; a missing cell is empty, a surplus one is refused.

    A TSV whose quotes do not close has none: a quotation mark is then a character like any other.
    """
    mark = TABLES[path.suffix.lower()]
    problem: csv.Error | None = None
    readings: list[Literal[0, 3]] = [csv.QUOTE_MINIMAL] if mark == "," else [csv.QUOTE_MINIMAL, csv.QUOTE_NONE]
    for quoting in readings:
        try:
            lines = list(csv.reader(io.StringIO(content, newline=""), delimiter=mark, quoting=quoting, strict=True))
            break
        except csv.Error as error:
            problem = problem or error
    else:
        raise InvalidInput(f"{str(path)!r} cannot be read as a table: {problem}")
    lines = [line for line in lines if line]
    names, rows = (lines[0], lines[1:]) if lines else ([], [])
    for number, row in enumerate(rows, 1):
        if len(row) > len(names):
            raise InvalidInput(
                f"row {number} of {str(path)!r} has {len(row)} cells and the header {len(names)}; put quotes around texts "
                f"that hold a {'comma' if mark == ',' else 'tab'}"
            )
    return names, [row + [""] * (len(names) - len(row)) for row in rows]


def run_name(model: Any, settings: Mapping[str, Any]) -> str:
    """A name for everything that decides the rows: weights, settings, version."""
    from accredit.store import fingerprint

    return fingerprint(model=model.model, name=model.name, settings=dict(settings)).digest[:16]


def check_settings(texts: Sequence[Text], model: Any, settings: Mapping[str, Any]) -> None:
    """Raise now what every row would raise (an unknown label, method or payoff), before a file is begun."""
    asked_methods(settings.get("methods"), model)
    some = next((text for text in texts if _has_words(text)), None)
    if some is not None:
        _subject(some, model, settings)


def _has_words(text: Text) -> bool:
    return all(each.strip() for each in (text if isinstance(text, tuple) else (text,)))


def _subject(text: Text, model: Any, settings: Mapping[str, Any]) -> Subject:
    names = ("players", "target", "payoff", "removal", "budget", "seed")
    return subject_of(model, text, cut=True, **{name: settings[name] for name in names if name in settings})


def expected_seconds(texts: Sequence[Text], model: Any, settings: Mapping[str, Any]) -> float:
    """About what the payoffs of all texts will take, judged by a few of a text of middle length; gradients, attention and the
    methods' own arithmetic come on top."""
    fit = sorted(filter(_has_words, texts), key=lambda text: len("".join(text)))
    try:
        subject = _subject(fit[len(fit) // 2], model, settings) if fit else None
    except AccreditError:  # that row will say why
        subject = None
    if subject is None:
        return 0.0
    methods = asked_methods(settings.get("methods"), model)
    asked = len(texts) * sum(each.payoffs(len(subject.players), subject.budget) for each in methods)
    return _payoff_seconds(subject, asked)


def _payoff_seconds(subject: Subject, asked: int) -> float:
    """About what that many payoffs take. A few of them show whether a careful estimate is worth its cost."""
    if asked == 0:
        return 0.0
    few = np.random.default_rng(subject.seed).random((PROBE, len(subject.players))) < 0.5
    began = time.perf_counter()
    subject.record.payoff(few)
    rough = (time.perf_counter() - began) / PROBE * asked
    return rough if rough < LONG else float(subject.game.estimate(asked).seconds)


def explained(
    texts: Sequence[Text], model: Any, run: str, settings: Mapping[str, Any], start: int = 0
) -> Iterator[str]:
    """JSON lines of the rows from `start` on, in order. A row that cannot be explained says why.

    Equal inputs give equal lines: times are left out, and no row depends on another.
    """
    for row in range(start, len(texts)):
        line: dict[str, Any] = {"row": row, "run": run}
        try:
            line |= _kept(explain(texts[row], model, **settings))
        except AccreditError as error:
            line |= _named(texts[row]) | {"error": str(error)}
        yield json.dumps(line, ensure_ascii=False) + "\n"


def _named(text: Text) -> dict[str, str]:
    return {"text": text[0], "pair": text[1]} if isinstance(text, tuple) else {"text": text}


def _kept(explanation: Explanation) -> dict[str, Any]:
    kept = {key: value for key, value in explanation.to_plain().items() if key not in NOT_KEPT}
    if kept["pair"] is None:
        del kept["pair"]
    return kept


def finished(out: Path, texts: Sequence[Text], run: str) -> int:
    """How many rows `out` already holds. A last line that was cut off by a crash is removed.

    Rows of another run, or of other texts, are refused: they are somebody's results.
    """
    if not out.exists():
        return 0
    content = out.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    lines = whole.splitlines()
    for row, line in enumerate(lines):
        try:
            data = json.loads(line)
            same = data["row"] == row and data["run"] == run and row < len(texts)
            same = same and all(data[name] == text for name, text in _named(texts[row]).items())
        except (ValueError, KeyError, TypeError):
            same = False
        if not same:
            raise InvalidInput(
                f"line {row + 1} of {str(out)!r} is not row {row} of this run (another model, other settings or other texts); "
                "give a new file with --out"
            )
    if not lines and content:
        raise InvalidInput(f"{str(out)!r} holds something else than rows; give a new file with --out")
    if len(whole) < len(content):
        with out.open("r+b") as file:
            file.truncate(len(whole))
    return len(lines)
