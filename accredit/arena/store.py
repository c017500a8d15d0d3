"""Rows of the arena on disk, keyed by everything the numbers depend on: a killed contest goes on where it left off."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType

from accredit.arena.contest import Contest, Example, RowResult
from accredit.store.results_cache import Finished

CONTEST_FORMAT = 1


class FinishedRows:
    """The rows of one contest in one file, which several contests may share.

    >>> from accredit.arena import RowContest, run_row
    >>> contest = RowContest(methods=("leave-one-out",), background=4)
    >>> first, second = contest.examples(2)
    >>> with FinishedRows(":memory:", contest) as kept:
    ...     kept.keep(first, run_row(contest, first))
    ...     list(kept.find([first, second]))
    [0]
    """

    def __init__(self, path: str | Path, contest: Contest) -> None:
        settings = json.dumps([CONTEST_FORMAT, contest.settings()], sort_keys=True, ensure_ascii=True)
        self._contest = sha256(settings.encode()).hexdigest()
        self._rows = Finished(path)

    def __enter__(self) -> FinishedRows:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._rows.__exit__(kind, error, trace)

    def keep(self, example: Example, result: RowResult) -> None:
        """Write one row; it survives the process from here on."""
        self._rows.keep(self._key(example), result.to_plain())

    def find(self, examples: Sequence[Example]) -> dict[int, RowResult]:
        """Results that are already there, by row number."""
        known = {example.row: self._rows.found(self._key(example)) for example in examples}
        return {row: RowResult.from_plain(plain) for row, plain in known.items() if plain is not None}

    def _key(self, example: Example) -> dict[str, object]:
        """The contest, one input, and its place, which seeds its random baseline."""
        return {"contest": self._contest, "row": example.row, "text": example.text, "target": example.target}
