"""Hold a contest: run what is not yet in the store, keep every row the moment it is done, and make the table of all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType

from accredit.arena.contest import Contest, Example, RowResult, run_all
from accredit.arena.standings import Standings, standings
from accredit.store.results_cache import Finished
from accredit.store.workers import workers
from accredit.values.solver import progress

# Rows of the arena on disk, keyed by everything the numbers depend on: a killed contest goes on where it left off.

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


def hold(contest: Contest, examples: Sequence[Example], store: str | None = None, executor: str = "serial") -> Standings:
    """The table of a contest. With a `store`, rows found there are not run again.

    >>> from accredit.arena import RowContest
    >>> contest = RowContest(methods=("shapley", "leave-one-out"), metrics=("deletion",), background=4)
    >>> table = hold(contest, contest.examples(3))
    >>> table.rows, table.standings[0].method
    (3, 'oracle')
    """
    return standings(read_finished(contest, examples, store, executor))


def read_finished(contest: Contest, examples: Sequence[Example], store: str | None, executor: str) -> list[RowResult]:
    """Every row's result, in order."""
    by_row = {example.row: example for example in examples}
    with FinishedRows(store or ":memory:", contest) as kept:
        known = kept.find(examples)
        missing = [example for example in examples if example.row not in known]
        with progress("arena", len(missing)) as bar, workers(executor if missing else "serial") as submit:
            run_all(contest, missing, lambda result: kept.keep(by_row[result.row], result), submit, bar.update)
        done = kept.find(examples)
    return [done[example.row] for example in examples]
