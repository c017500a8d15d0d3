"""Hold a contest: run what is not yet in the store, keep every row the moment it is done, and make the table of all."""

from __future__ import annotations

from collections.abc import Sequence

from accredit.arena.contest import Contest, Example, RowResult, run_all
from accredit.arena.standings import Standings, standings
from accredit.arena.store import FinishedRows
from accredit.store.workers import workers
from accredit.values.solver import progress


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
