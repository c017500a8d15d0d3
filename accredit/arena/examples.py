"""Texts to explain: the forty sentences of this project, or the rows of a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from accredit.arena.contest import Example
from accredit.checks.tables import read_sheet, warn_notes
from accredit.errors import InvalidInput

SENTENCES = Path(__file__).parent / "sentences.tsv"


def sample() -> list[Example]:
    """The forty sentences that were written for this project.

    >>> len(sample()), sample()[0].text
    (40, 'The bakery on the corner sells the best rye bread I have ever eaten.')
    """
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
            raise InvalidInput(
                f"where takes COLUMN=VALUE, got {part!r}; write for example split=dev", argument="where", code="unreadable"
            )
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

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = file.write_text("review,split\\nA gripping film.,train\\nIt never lands.,dev\\n")
    >>> read_examples(file, "review", None, where={"split": "dev"})
    [Example(row=0, text='It never lands.', target=None)]
    """
    sheet, wanted = warn_notes(read_sheet(file)), dict(where or {})
    texts = sheet.column(text, "text")
    labels = [""] * len(sheet) if target is None else sheet.column(target, "target")
    needed = [(sheet.column(column, "where"), value) for column, value in wanted.items()]
    kept = [i for i in range(len(sheet)) if all(cells[i] == value for cells, value in needed)]
    if longest is not None:
        kept = [i for i in kept if len(texts[i].split()) <= longest]
    if not kept:
        asked = [f"{column}={value}" for column, value in wanted.items()]
        asked += [f"at most {longest} words"] if longest is not None else []
        raise InvalidInput(
            f"{str(file)!r} has no row to explain" + f" with {' and '.join(asked)}" * bool(asked), argument="file", code="empty"
        )
    return [Example(k, texts[i], labels[i] or None) for k, i in enumerate(kept[:limit])]
