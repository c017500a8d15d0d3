"""What was tried where a published figure of Table 3 does not appear: other settings, on the first seeds of every set.

All are run and all are shown, on the test rows that judge the table; nothing is chosen among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypedDict

import numpy as np

from accredit.core import FloatArray
from accredit.store.results_cache import Finished
from accredit.values.solver import progress
from accredit_papers.report import Report, mean_error
from accredit_papers.selection_data import SOURCES, kind
from accredit_papers.selection_report import NEAR_POINTS, TITLES, Cells, apart, figures, published
from accredit_papers.selection_runs import TRAINED, RunSizes, SelectionOutcome, SelectionRun, measure_together

SEEDS_TRIED = 3
BOTH = ("texts", "pictures")


class OtherSizes(TypedDict, total=False):
    """Sizes of a trial that are not those of the table."""

    epochs: int
    cxplain_epochs: int
    selector: int
    selectors: tuple[int, ...]
    surrogate: str
    temperatures: tuple[float, ...]
    weightings: tuple[tuple[int, float], ...]


LONGER: OtherSizes = {"epochs": 6}
NOT_CHOSEN: OtherSizes = {"temperatures": (0.5,), "selectors": (), "weightings": ()}
L2X, VIBI, ANSWER, PRETRAINED, WEIGHTED = TRAINED


@dataclass(frozen=True, eq=False)
class FurtherTrial:
    """A setting that is not the table's, and the methods and kinds of data that it is tried on."""

    words: str
    methods: tuple[str, ...]
    sizes: OtherSizes = field(default_factory=lambda: OtherSizes())
    settings: Mapping[str, object] = field(default_factory=dict)  # of the explainer
    reading: str = ""  # of the rows: a name in OTHER_READINGS
    kinds: tuple[str, ...] = BOTH

    def of(self, run: SelectionRun) -> SelectionRun:
        """The run with this setting."""
        sizes = replace(run.sizes, **self.sizes)
        return replace(run, sizes=sizes, reading=self.reading, settings=tuple(self.settings.items()))


TRIALS = (  # in the order in which they are run
    FurtherTrial("6 epochs", (ANSWER, VIBI, PRETRAINED), LONGER),
    FurtherTrial("6 epochs, nothing chosen", (ANSWER,), {**LONGER, **NOT_CHOSEN}),
    FurtherTrial("6 epochs, a surrogate that reads no places", (ANSWER,), {**LONGER, "surrogate": "bag"}, kinds=("texts",)),
    FurtherTrial("losses at the black box's answers, not at the labels", ("cxplain",), {}, {"labels": "answers"}),
    FurtherTrial("20 epochs", ("cxplain",), {"cxplain_epochs": 20}),
    FurtherTrial("6 epochs, padding may be chosen, a surrogate that reads no places, nothing chosen", (ANSWER,),
          {**LONGER, **NOT_CHOSEN, "surrogate": "bag"}, reading="padding", kinds=("texts",)),
    FurtherTrial("removed pixels are black, nothing chosen", (L2X, ANSWER, PRETRAINED, WEIGHTED), NOT_CHOSEN,
          reading="black", kinds=("pictures",)),
    FurtherTrial("6 epochs, 100 filters in the selector", (ANSWER, VIBI), {**LONGER, "selector": 100, "selectors": ()},
          kinds=("texts",)),
    FurtherTrial("6 epochs, 32 filters in the selector", (L2X, ANSWER, VIBI, PRETRAINED),
          {**LONGER, "selector": 32, "selectors": ()}, kinds=("pictures",)),
    FurtherTrial("10 steps of P(Y|M), weights at most 50", (WEIGHTED,), NOT_CHOSEN, {"steps": 10, "cap": 50.0}),
    FurtherTrial("10 steps of P(Y|M), weights at most 50, the selector weighted too", (WEIGHTED,), NOT_CHOSEN,
          {"steps": 10, "cap": 50.0, "weigh_selector": True}),
    FurtherTrial("P(Y|M) learns from a batch before it weighs it", (WEIGHTED,), NOT_CHOSEN, {"learn_first": True}),
    FurtherTrial("6 epochs, β = 0.01", (VIBI,), LONGER, {"beta": 0.01}),
    FurtherTrial("12 epochs", (ANSWER, VIBI), {"epochs": 12}),
)  # fmt: skip
ASKED = [(trial, method) for trial in TRIALS for method in trial.methods]
Tried = dict[tuple[str, FurtherTrial, str], dict[int, SelectionOutcome]]  # (set, trial, method) -> seed -> outcome


def try_further(runs: Sequence[SelectionRun], store: str | Path, only_finished: bool = False) -> Tried:
    """Every trial on the first seeds of every set, run where the store does not hold it and kept the moment it is done; with
    `only_finished` those that it holds."""
    sets = dict.fromkeys(run.name for run in runs)
    first = [run for name in sets for run in [run for run in runs if run.name == name][:SEEDS_TRIED]]
    tried: Tried = {}
    with Finished(store) as kept, progress("trials on a seed", len(first)) as bar:
        for done, run in enumerate(first):
            asked = [(trial, method) for trial, method in ASKED if kind(run.name) in trial.kinds]
            found = {(trial, method): kept.found(trial.of(run).key(method)) for trial, method in asked}
            missing = [] if only_finished else [key for key, outcome in found.items() if outcome is None]
            for trial, method, outcome in _measure(run, missing):
                found[trial, method] = asdict(outcome)
                kept.keep(trial.of(run).key(method), asdict(outcome))
            for (trial, method), plain in found.items():
                if plain is not None:
                    tried.setdefault((run.name, trial, method), {})[run.seed] = SelectionOutcome(**plain)
            bar.update(done + 1)
    return tried


def _measure(
    run: SelectionRun, missing: Sequence[tuple[FurtherTrial, str]]
) -> Iterator[tuple[FurtherTrial, str, SelectionOutcome]]:
    """Trials of a seed: those that read the rows in another way have a black box of their own, all others share one."""
    for reading in dict.fromkeys(trial.reading for trial, _ in missing):
        some = [(trial, method) for trial, method in missing if trial.reading == reading]
        outcomes = measure_together([(trial.of(run), method) for trial, method in some])
        yield from ((*asked, outcome) for asked, (_, _, outcome) in zip(some, outcomes, strict=True))


def tell_further(report: Report, tried: Tried, cells: Cells, runs: Sequence[SelectionRun]) -> None:
    """The trials beside the setting of the table, on the first seeds, set by set and method by method."""
    for name in dict.fromkeys(run.name for run in runs):
        mine = {(trial, method): outcomes for (there, trial, method), outcomes in tried.items() if there == name}
        usual = next(run.sizes for run in runs if run.name == name)
        _tell_set(report, name, mine, cells, usual)


def _tell_set(
    report: Report,
    name: str,
    tried: Mapping[tuple[FurtherTrial, str], dict[int, SelectionOutcome]],
    cells: Cells,
    usual: RunSizes,
) -> None:
    report.heading(f"Tried further: {SOURCES[name].title}")
    if not tried:
        report.say("The store holds none of the trials; the same command without `--finished` runs them.")
        return
    spent = sum(outcome.seconds for outcomes in tried.values() for outcome in outcomes.values())
    report.say(
        "Where a published figure does not appear, other settings were tried, on at most "
        f"{SEEDS_TRIED} seeds. All that were run are shown, and nothing is chosen among them. The first line of a method is "
        f"the setting of the table on the first {SEEDS_TRIED} seeds: {usual.epochs} epochs ({usual.cxplain_epochs} for "
        f"CXPlain), {usual.selector} filters in the selector. With *padding may be chosen* the black box reads padding as a "
        f"word, with *black* pixels go from 0 to 1. {spent / 3600:.2f} CPU-hours."
    )
    rows: list[list[object]] = []
    for method in dict.fromkeys(method for _, method in tried):
        table = {seed: cell for (there, m, seed), cell in cells.items() if (there, m) == (name, method)}
        rows += [_row(name, method, "as in the table", {seed: table[seed] for seed in sorted(table)[:SEEDS_TRIED]})]
        rows += [_row(name, method, trial.words, outcomes) for (trial, m), outcomes in tried.items() if m == method]
    report.table(
        [
            "method",
            "setting",
            "seeds",
            "paper, post-hoc %",
            "post-hoc %",
            "difference, se",
            "EVAL-X %",
            "own surrogate %",
            "CPU s",
        ],
        rows,
    )
    for method in dict.fromkeys(method for _, method in tried):
        mine = {trial.words: outcomes.values() for (trial, m), outcomes in tried.items() if m == method}
        report.say(_reach(name, method, {words: figures(outcomes, "post_hoc") for words, outcomes in mine.items()}))


def _row(name: str, method: str, words: str, by_seed: dict[int, SelectionOutcome]) -> list[object]:
    outcomes, paper = list(by_seed.values()), published(name, method)
    post_hoc, evalx, own = (figures(outcomes, what) for what in ("post_hoc", "evalx", "surrogate"))
    return [
        TITLES[method],
        words,
        len(outcomes),
        f"{paper:.1f}",
        mean_error(post_hoc, 1),
        apart(post_hoc, paper),
        mean_error(evalx, 1),
        mean_error(own, 1),
        f"{np.mean([outcome.seconds for outcome in outcomes]):.0f}",
    ]


def _reach(name: str, method: str, post_hoc: dict[str, FloatArray]) -> str:
    """How far the trials of one method reach, and which of them comes nearest to the paper."""
    paper, means = published(name, method), {words: float(values.mean()) for words, values in post_hoc.items()}
    nearest = min(means, key=lambda words: abs(means[words] - paper))
    verb = "is reached" if abs(means[nearest] - paper) <= NEAR_POINTS else "is not reached"
    seeds = len(post_hoc[nearest])
    return (
        f"**{TITLES[method]}**: trials: {len(means)}, from {min(means.values()):.1f} to {max(means.values()):.1f} %; the "
        f"paper's {paper:.1f} {verb} within {NEAR_POINTS:g} points (nearest: {nearest}, {mean_error(post_hoc[nearest], 1)} %"
        f"{', of one seed, which judges nothing' if seeds == 1 else ''})."
    )
