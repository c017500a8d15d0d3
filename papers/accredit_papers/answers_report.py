"""Credit for answers where the truth is known, as a report: the right passages, what is lost without them, fresh ablations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from accredit.arena.answers import AnswerContest
from accredit.arena.contest import ORACLE, RANDOM, RowResult, run_row
from accredit.arena.row_files import read_finished
from accredit.arena.standings import Standings, standings
from accredit.core import Estimate
from accredit.evaluate.bootstrap import bootstrap
from accredit.methods import BY_NAME
from accredit.models.builtin.facts import KINDS
from accredit.views.terminal.arena_text import failures_of, interval_text
from accredit_papers.report import Report, Whose

LAID_OUT = {
    "plain": "One passage holds the answer.",
    "redundant": "Each of two passages holds the answer, in other words. Taking one of them away changes nothing.",
    "joint": "Two passages are needed: one says whom to look up, the other what is found there.",
    "contradicting": "Two passages answer differently, and the later one counts. Only that one is the truth.",
}
OURS, THEIRS, PATH = "shapley", "lasso", "integrated-gradients"
COMPARED_ON = ("hit@1", "lds")
TIED_SCORES = 1e-9  # scores that differ by less are equal


def answers_report(contest: AnswerContest, contexts: int, store: str | None, executor: str, quick: bool) -> Report:
    """Hold the contest on every kind of facts (rows found in the store are not run again) and write what came out."""
    report = Report("answers", "Which passage earned the answer: the truth is known")
    report.say(
        f"The built-in answering model reads {contest.passages} facts and a question, {contexts} fresh contexts of each kind. "
        f"Game methods ask {contest.budget} payoffs for each. lasso is the recipe of ContextCite: {contest.budget} ablations, "
        "each passage kept with probability ½, α = 0.01 per token on the logit of the answer's probability, columns "
        "standardised. hit@k: share of the first k passages that are true (of as many as there are); drop@k: nats of the "
        "answer's log-probability that are lost when the first k go; lds: rank correlation of summed credit with the "
        "log-probability over 128 fresh ablations, for which the oracle is a least-squares fit that exact ties can beat. "
        "Brackets: 95 % bootstrap intervals over contexts; where all contexts agree, the exact bound for a score at an end of "
        "its range, else unknown."
    )
    finished = {}
    for kind in KINDS:
        each = replace(contest, kind=kind)
        finished[kind] = read_finished(each, each.examples(contexts), store, executor)
    tables = {kind: standings(rows, seed=contest.seed) for kind, rows in finished.items()}
    _in_one_table(report, tables)
    for kind, rows in finished.items():
        report.heading(kind.capitalize())
        report.say(LAID_OUT[kind])
        _tabulate(report, tables[kind])
        for metric in COMPARED_ON:
            _against(report, kind, metric, rows, contest.seed)
    if not quick:
        _along_a_path(report, contest)
    return report


def _along_a_path(report: Report, contest: AnswerContest) -> None:
    """Integrated gradients on one context: too many backward passes for all of them, whether they succeed or not."""
    if "answer" not in BY_NAME[PATH].applies:
        return
    plain = replace(contest, kind="plain")
    row = run_row(replace(plain, methods=(PATH,), metrics=("hit@1",)), plain.examples(1)[0]).entries[PATH]
    said = f"hit@1 is {row.scores.get('hit@1')}, {row.passes} passes"
    report.heading("Integrated gradients")
    report.say(f"On the first plain context: {row.error or said}.")


def _tabulate(report: Report, table: Standings) -> None:
    metrics = list(table.standings[0].metrics)
    lines = [
        [s.method, *(interval_text(s.metrics.get(m)) for m in metrics), "—" if _end(s.method) else f"{s.passes:.0f}"]
        for s in sorted(table.standings, key=lambda s: _end(s.method))
    ]
    report.table(["method", *metrics, "passes"], lines, detail=True)
    for note in failures_of(table):
        report.say(note, detail=True)


def _in_one_table(report: Report, tables: Mapping[str, Standings]) -> None:
    """What the verdicts compare, for every method and kind."""
    lines = []
    for s in next(iter(tables.values())).standings:
        cells = (" / ".join(_mean(table[s.method].metrics.get(m)) for m in COMPARED_ON) for table in tables.values())
        lines.append([s.method, *cells])
    report.table([" / ".join(COMPARED_ON), *tables], lines)
    if failed := failed_on(tables):
        report.say(failed)


def _mean(estimate: Estimate | None) -> str:
    return interval_text(estimate).split()[0]


def failed_on(tables: Mapping[str, Standings]) -> str:
    """Which methods failed on some inputs of which table; nothing where none did."""
    failed = [
        f"{s.method} on {len(s.failures)} of {table.rows} ({title})"
        for title, table in tables.items()
        for s in table.standings
        if s.failures
    ]
    return f" Failed: {', '.join(failed)}." if failed else ""


def _end(method: str) -> bool:
    return method in (RANDOM, ORACLE)


def _against(report: Report, kind: str, metric: str, rows: Sequence[RowResult], seed: int) -> None:
    """Ours beside the lasso's, context by context."""
    if not all(name in row.entries for row in rows for name in (OURS, THEIRS)):
        return
    gaps = np.array([_score(row, OURS, metric) - _score(row, THEIRS, metric) for row in rows])
    gap: Estimate = bootstrap(gaps, seed=seed)
    report.verdict(
        f"{kind}: {metric} of {OURS} is at least that of {THEIRS} in each of {len(rows)} contexts",
        bool((gaps > -TIED_SCORES).all()),
        f"mean difference {interval_text(gap, 3)}, from {gaps.min():.3f} to {gaps.max():.3f}",
        whose=Whose.OURS,
    )


def _score(row: RowResult, method: str, metric: str) -> float:
    value = row.entries[method].scores[metric]
    assert value is not None  # both apply to every credit
    return value
