"""A file of texts, explained row by row into JSON lines; a run that was stopped goes on where it was."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from accredit.core import AccreditError, InvalidInput
from accredit.explanation.explainer import chosen, explain, subject_of
from accredit.explanation.result import Explanation

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
    path = Path(file)
    try:
        content = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{str(path)!r} is neither a picture nor text in UTF-8") from None
    if path.suffix.lower() not in TABLES:
        if column is not None:
            raise InvalidInput(
                f"a column {column!r} was named and {str(path)!r} is no .csv or .tsv; it has one text a line"
            )
        texts = [line for line in content.splitlines() if line.strip()]
    else:
        texts = _column(path, content, column)
    if not texts:
        raise InvalidInput(f"{str(path)!r} holds no text; give one a line, or a table with a header")
    return texts


def _column(path: Path, content: str, column: str | None) -> list[str]:
    table = csv.DictReader(io.StringIO(content), delimiter=TABLES[path.suffix.lower()])
    names = list(table.fieldnames or [])
    if column is None and len(names) == 1:
        column = names[0]
    if column is None or column not in names:
        what = "no column was named" if column is None else f"there is no column {column!r}"
        raise InvalidInput(
            f"{what} in {str(path)!r}; its columns are {', '.join(names) or 'none'}: pick one with --text"
        )
    try:
        return [row[column] or "" for row in table]
    except csv.Error as error:
        raise InvalidInput(f"{str(path)!r} cannot be read as a table: {error}") from None


def run_name(model: Any, settings: Mapping[str, Any]) -> str:
    """A name for everything that decides the rows: weights, settings, version."""
    from accredit.store import fingerprint

    return fingerprint(model=model.model, name=model.name, settings=dict(settings)).digest[:16]


def check_settings(texts: Sequence[str], model: Any, settings: Mapping[str, Any]) -> None:
    """Raise what every row would raise (an unknown label, method, payoff), so that no file is begun in vain."""
    chosen(settings.get("methods"))
    some = next((text for text in texts if text.strip()), None)
    if some is not None:
        players, target, payoff, removal = (settings.get(k) for k in ("players", "target", "payoff", "removal"))
        subject_of(model, some, players, target, payoff, removal, cut=True)


def explained(texts: Sequence[str], model: Any, run: str, settings: Mapping[str, Any], start: int = 0) -> Iterator[str]:
    """JSON lines of the rows from `start` on, in order. A row that cannot be explained says why.

    Equal inputs give equal lines: times are left out, and no row depends on another.
    """
    for row in range(start, len(texts)):
        line: dict[str, Any] = {"row": row, "run": run}
        try:
            line |= _kept(explain(texts[row], model, **settings))
        except AccreditError as error:
            line |= {"text": texts[row], "error": str(error)}
        yield json.dumps(line, ensure_ascii=False) + "\n"


def _kept(explanation: Explanation) -> dict[str, Any]:
    return {key: value for key, value in explanation.to_plain().items() if key not in NOT_KEPT}


def finished(out: Path, texts: Sequence[str], run: str) -> int:
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
            same = data["row"] == row and data["run"] == run and row < len(texts) and data["text"] == texts[row]
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
