"""Texts to explain: the forty sentences of this project, or the rows of a file."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from accredit.arena.contest import Example
from accredit.core import InvalidInput

SENTENCES = Path(__file__).parent / "sentences.tsv"


def sample() -> list[Example]:
    """The forty sentences that were written for this project."""
    return read_examples(SENTENCES, "text", None)


def filters(where: Iterable[str]) -> dict[str, str]:
    """Rows to keep, from words like split=dev.

    >>> filters(["split=dev"])
    {'split': 'dev'}
    """
    found = {}
    for part in where:
        column, equals, value = part.partition("=")
        if not equals or not column:
            raise InvalidInput(f"where takes COLUMN=VALUE, got {part!r}; write for example split=dev")
        found[column] = value
    return found


def read_examples(
    file: str | Path,
    text: str,
    target: str | None,
    limit: int | None = None,
    where: Mapping[str, str] | None = None,
    longest: int | None = None,
) -> list[Example]:
    """Rows of a CSV, TSV or JSONL file (also gzipped): the column `text`, and `target` where the label to explain is given.

    `where` keeps only rows with the given values in other columns, for example {"split": "dev"};
    `longest` keeps only texts of at most so many words.
    """
    path = Path(file)
    rows, columns = _table(path)
    wanted = dict(where or {})
    for column in (text, *([target] if target else []), *wanted):
        if column not in columns:
            raise InvalidInput(
                f"data file {path.name} has no column {column!r}; its columns are {', '.join(columns) or 'none'}"
            )
    kept = [row for row in rows if all(row.get(k) == v for k, v in wanted.items())]
    if longest is not None:
        kept = [row for row in kept if len((row.get(text) or "").split()) <= longest]
    if not kept:
        asked = [f"{column}={value}" for column, value in wanted.items()]
        asked += [f"at most {longest} words"] if longest is not None else []
        raise InvalidInput(
            f"data file {path.name} has no row to explain" + f" with {' and '.join(asked)}" * bool(asked)
        )
    labels = [row.get(target) or None if target else None for row in kept]
    return [Example(i, row.get(text) or "", label) for i, (row, label) in enumerate(zip(kept, labels, strict=True))][
        :limit
    ]


Row = dict[str, str | None]  # column -> cell; a row may be shorter than the header


def _table(path: Path) -> tuple[list[Row], list[str]]:
    """Rows and columns of a file of texts. In TSV quotation marks are part of the text, in CSV they enclose it."""
    content = _content(path)
    if path.name.removesuffix(".gz").endswith((".jsonl", ".ndjson")):
        return _json_lines(content, path.name)
    tabs = "\t" in content.partition("\n")[0]
    quoting: Any = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if tabs else {}
    before = csv.field_size_limit(max(len(content), 1))  # a text may be as long as the file
    try:
        reader = csv.DictReader(io.StringIO(content, newline=""), **quoting)
        rows: list[Row] = list(reader)
        return rows, list(reader.fieldnames or [])
    except csv.Error as error:
        raise InvalidInput(f"data file {path.name} is not a table: {error}") from None
    finally:
        csv.field_size_limit(before)


def _content(path: Path) -> str:
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidInput(f"data file {path} is not a whole gzip file: {error}") from None
    except OSError as error:
        raise InvalidInput(f"data file {path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"data file {path} is not UTF-8 text: {error}; save it as UTF-8") from None


def _json_lines(content: str, name: str) -> tuple[list[Row], list[str]]:
    """One JSON object a line; what is no string is read as its JSON text, null as nothing."""
    rows: list[Row] = []
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"data file {name}, line {number} is not JSON: {error}") from None
        if not isinstance(found, dict):
            raise InvalidInput(f'data file {name}, line {number} is no JSON object; write {{"text": "A fine film."}}')
        rows.append({key: x if x is None or isinstance(x, str) else json.dumps(x) for key, x in found.items()})
    return rows, list(dict.fromkeys(column for row in rows for column in row))
