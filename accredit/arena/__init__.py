"""The arena: many methods explain the same inputs, and each is measured on the same game and ranked."""

from accredit.arena.answers import AnswerContest
from accredit.arena.contest import Contest, Example, MethodRun, RowEntry, RowResult, metrics_named, run_row
from accredit.arena.retraining import Retrained, remove_and_retrain
from accredit.arena.row_files import FinishedRows, RowContest, RowFileContest, hold
from accredit.arena.standings import Standing, Standings, standings
from accredit.arena.texts import TextContest, read_examples, sample

__all__ = [
    "AnswerContest",
    "Contest",
    "Example",
    "FinishedRows",
    "MethodRun",
    "Retrained",
    "RowContest",
    "RowEntry",
    "RowFileContest",
    "RowResult",
    "Standing",
    "Standings",
    "TextContest",
    "hold",
    "metrics_named",
    "read_examples",
    "remove_and_retrain",
    "run_row",
    "sample",
    "standings",
]
