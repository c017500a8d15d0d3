"""Tables 1 and 2 of "Why is Attention Not So Attentive?" (Bai et al., 2020): attention as a code, and two cures.

A review is read through nine tokens: its first five words and four inert ones that are the same in every review. A
query made from the whole text decides how attention spreads over the nine. Attention on inert tokens can
separate the classes only by where it lies; a model that answers correctly from there has taken the shortcut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray
from accredit.errors import InvalidInput
from accredit.store.results_cache import Finished
from accredit_papers.report import Report, Whose, mean_error
from accredit_papers.review_texts import ReviewTexts, data_digest
from accredit_papers.shortcuts_runs import (
    BASELINES,
    CANDIDATES,
    CHANCE,
    FURTHER,
    PLAIN,
    Part,
    Setting,
    ShortcutOutcome,
    ShortcutTask,
    read_finished,
)
from accredit_papers.shortcuts_theorem import theorem_1
from accredit_papers.verdicts import all_of, over_runs, standard_errors_from

if TYPE_CHECKING:
    import matplotlib.axes

PUBLISHED = {  # accuracy and attention to default tokens, on the training set: Tables 1 and 2 of the paper
    ("Baseline", "pooling"): (0.717, None), ("Baseline", "rcnn"): (0.961, None),
    ("Attention", "pooling"): (0.995, 0.664), ("Attention", "rcnn"): (0.996, 0.489),
    ("Pretraining", "pooling"): (0.918, 0.084), ("Pretraining", "rcnn"): (0.787, 0.071),
    ("Weighting", "pooling"): (0.978, 0.058), ("Weighting", "rcnn"): (0.928, 0.170),
}  # fmt: skip
COIN = 0.5  # accuracy of answers that know nothing of the label
ENOUGH = {"pooling": 0.88, "rcnn": 0.75}  # accuracy that a cure must keep
CHOOSING_SEEDS = (1000, 1001)  # apart from the seeds that are reported; the second only where training is unstable
UNSTABLE = ("Weighting", "rcnn")  # a run may collapse onto one token, and one seed does not show how often
QUICK_ROWS, QUICK_EPOCHS, QUICK_BATCH, QUICK_SEEDS = 5000, 6, 64, 2


@dataclass(frozen=True)
class SettingRow:
    """One setting over all seeds."""

    setting: Setting
    outcomes: tuple[ShortcutOutcome, ...]

    @property
    def name(self) -> str:
        return f"{self.setting.method}, {ENCODERS[self.setting.encoder]}"

    def values(self, measure: str) -> FloatArray:
        """One number per seed; empty where the measure does not apply."""
        return np.array([v for o in self.outcomes if (v := getattr(o, measure)) is not None], dtype=float)

    def mean(self, measure: str) -> float:
        """The mean over seeds."""
        return float(self.values(measure).mean())

    def percent(self, measure: str) -> str:
        """Mean ± standard error over seeds, in percent."""
        return mean_error(100 * self.values(measure), 1)


ENCODERS = {"pooling": "pooling", "rcnn": "RCNN"}


def shortcuts(
    data: str | Path,
    quick: bool = False,
    seeds: int | None = None,
    seed: int = 0,
    store: str | Path | None = None,
    workers: int = 2,
    tell: Callable[[str], None] = lambda _line: None,
    choose: bool = True,
    further: bool = False,
) -> Report:
    """Run what `store` does not hold yet and write both tables.

    Settings of the cures are chosen on a fifth of the training half that is held out for it, by the loss in a world
    where masks say nothing, and are then the same for every seed; with `choose=False` the first candidates are taken, which
    is what an earlier choice preferred. About nine CPU minutes per seed, and a quarter of an hour to choose; `quick`: 5 000
    reviews of each half, 6 epochs, two seeds, nothing chosen: about 3 minutes. `further` tries more settings of Weighting, on
    the first two seeds, about a quarter of an hour; they are shown and nothing is chosen among them.
    """
    count = (QUICK_SEEDS if quick else 5) if seeds is None else seeds
    if count < 1 or workers < 1:
        raise InvalidInput(
            f"seeds={count} and workers={workers} must be at least 1",
            argument="seeds" if count < 1 else "workers",
            code="range",
        )
    if quick and further:
        raise InvalidInput("further tries settings at full length; leave quick=True out", argument="further", code="conflict")
    source = Path(data)
    rows = QUICK_ROWS if quick else None
    folder = str(store or "reports/shortcuts_runs")
    texts = ReviewTexts.load(source, folder, rows)  # fails before anything is written when data are missing
    digest = data_digest(source)

    def outcomes(settings: Sequence[Setting], numbers: Sequence[int], part: Part) -> list[SettingRow]:
        tasks = [ShortcutTask(s, n, part, str(source), folder, rows) for n in numbers for s in settings]
        with Finished(Path(folder) / "runs.sqlite") as kept:
            found = read_finished(tasks, kept, digest, workers, tell)
        return [SettingRow(s, tuple(found[k :: len(settings)])) for k, s in enumerate(settings)]

    numbers = range(seed, seed + count)
    tried = []
    if choose and not quick:
        steady = [s for s in CANDIDATES if (s.method, s.encoder) != UNSTABLE]
        unstable = [s for s in CANDIDATES if (s.method, s.encoder) == UNSTABLE]
        tried = outcomes(steady, CHOOSING_SEEDS[:1], "choose") + outcomes(unstable, CHOOSING_SEEDS, "choose")
    settings = [*BASELINES, *PLAIN, *(choose_shortcut(tried) if tried else firsts(CANDIDATES))]
    if quick:
        settings = [s.shorten(QUICK_EPOCHS, QUICK_BATCH) for s in settings]
    found = outcomes(settings, numbers, "report")
    report = _report(found, tried, texts, quick, numbers)
    theorem_1(report, seed)
    if further:
        _further(report, found, outcomes(FURTHER, numbers[:2], "report"))
    return report


def _further(report: Report, usual: Sequence[SettingRow], more: Sequence[SettingRow]) -> None:
    """Other settings of Weighting beside the ones that are reported, all on the same first seeds."""
    seeds = len(more[0].outcomes)
    report.heading("Weighting, tried further")
    report.say(
        "Weighting stays below the paper's accuracy. Longer training, wider networks in small batches, and other clipping, on "
        f"{seeds} seed(s); all that was tried is shown, and nothing is chosen among it:"
    )
    for row in (SettingRow(r.setting, r.outcomes[:seeds]) for r in usual if r.setting.method == "Weighting"):
        others = [r for r in more if r.setting.encoder == row.setting.encoder]
        if others:
            _one_further(report, row, others)


def _one_further(report: Report, row: SettingRow, others: Sequence[SettingRow]) -> None:
    report.table(
        (row.name, *HEADER[3:], "CPU s per run"),
        [(r.setting.words(), *_measure(r), f"{r.mean('seconds'):.0f}") for r in (row, *others)],
    )
    best = max(others, key=lambda r: r.mean("accuracy"))
    gap = 100 * (best.mean("accuracy") - PUBLISHED["Weighting", row.setting.encoder][0])
    report.say(
        f"The paper has {_published(row)[0]} % with {_published(row)[1]} % on inert tokens. The highest accuracy tried is "
        f"{best.percent('accuracy')} % ({best.setting.words()}), {gap:+.1f} points from the paper's, with "
        f"{best.percent('mass')} % on inert tokens and a neutral loss of {mean_error(best.values('neutral_loss'), 3)} against "
        f"{mean_error(row.values('neutral_loss'), 3)} of the first line, which is the setting of Table 2."
    )


def firsts(settings: Sequence[Setting]) -> list[Setting]:
    """The first setting of each method and encoder."""
    return list({(s.method, s.encoder): s for s in reversed(settings)}.values())[::-1]


def choose_shortcut(tried: Sequence[SettingRow]) -> list[Setting]:
    """For each method and encoder the candidate of lowest neutral loss on the rows held out."""
    by_loss = sorted(tried, key=lambda row: row.mean("neutral_loss"))
    order = [(s.method, s.encoder) for s in firsts([row.setting for row in tried])]
    best = {key: next(r.setting for r in by_loss if (r.setting.method, r.setting.encoder) == key) for key in order}
    return list(best.values())


def _report(rows: list[SettingRow], tried: list[SettingRow], texts: ReviewTexts, quick: bool, seeds: range) -> Report:
    report = Report("shortcuts", "Attention as a code for the answer, and two cures")
    _introduce(report, texts, quick, seeds)
    report.heading("Table 1: the shortcut")
    _table(report, [r for r in rows if r.setting.method in ("Baseline", "Attention")])
    named = {(row.setting.method, row.setting.encoder): row for row in rows}
    for row in rows:
        if row.setting.method == "Attention":
            _shortcut_verdict(report, row, named["Baseline", row.setting.encoder])
    report.heading("Table 2: the cures")
    _table(report, [r for r in rows if r.setting.method in ("Pretraining", "Weighting")])
    for row in rows:
        if row.setting.method in ("Pretraining", "Weighting"):
            _cure_verdict(report, row, named["Attention", row.setting.encoder])
    report.figure(
        "mass_and_accuracy",
        "Each seed: accuracy on the training rows, and the attention spent on inert tokens.",
        lambda axes: _draw(axes, [r for r in rows if r.setting.method != "Baseline"]),
        (6.4, 3.6),
    )
    _beside_the_paper(report, rows)
    _how_chosen(report, tried)
    return report


def _introduce(report: Report, texts: ReviewTexts, quick: bool, seeds: range) -> None:
    learned, tested = int(texts.train.sum()), int((~texts.train).sum())
    report.say(
        f"{learned:,} IMDB reviews to learn from and {tested:,} to test on, GloVe vectors of 50 numbers, fixed. Values: the "
        "first five words and four inert tokens that are the same everywhere. Query: the whole review as 350 numbers. "
        f"Seeds {seeds[0]} to {seeds[-1]}; mean ± standard error over seeds, in percent."
        + (" A quick look: few rows and few epochs. Its levels are not for quoting." if quick else "")
    )
    report.table(
        ("column", "what it is", "chance"),
        [
            ("accuracy", "on the training rows, as the paper reports it", "50"),
            ("inert", "share of attention on the four inert tokens, training rows", f"{100 * CHANCE:.1f}"),
            ("probe", "accuracy of trees that see the mask alone (rounded to 0.05), training rows new to them", "50"),
            ("scramble", "test rows, mask kept, the five words from another review: share answered with the old label", "50"),
            ("own answer", "the same, but counted by the model's own answer before the swap", "50"),
            ("neutral loss", "test loss weighted so that masks say nothing, nats; overfitting raises it too", f"{log(2):.3f}"),
            ("test", "accuracy on the test rows", "50"),
            ("effective", "effective share of the weighted sample, (Σw)²/(nΣw²), last epoch", "–"),
        ],
    )


HEADER = (
    "row",
    "paper: accuracy",
    "paper: inert",
    "accuracy",
    f"inert (chance {100 * CHANCE:.1f})",
    "probe",
    "scramble",
    "own answer",
    "neutral loss",
    "test",
    "effective",
)


def _table(report: Report, rows: Sequence[SettingRow]) -> None:
    report.table(HEADER, [(row.name, *_published(row), *_measure(row)) for row in rows])


def _published(row: SettingRow) -> tuple[str, str]:
    accuracy, mass = PUBLISHED[row.setting.method, row.setting.encoder]
    return f"{100 * accuracy:.1f}", "–" if mass is None else f"{100 * mass:.1f}"


def _measure(row: SettingRow) -> tuple[str, ...]:
    return (
        row.percent("accuracy"),
        row.percent("mass"),
        row.percent("probe"),
        row.percent("scramble"),
        row.percent("scramble_answer"),
        mean_error(row.values("neutral_loss"), 3),
        row.percent("other_accuracy"),
        row.percent("effective_share"),
    )


def _range(row: SettingRow, measure: str) -> str:
    values = 100 * row.values(measure)
    return f"{values.min():.1f} to {values.max():.1f}"


def _shortcut_verdict(report: Report, row: SettingRow, baseline: SettingRow) -> None:
    accuracy, mass = row.values("accuracy"), row.values("mass")
    gain = accuracy - baseline.values("accuracy")
    published = PUBLISHED[row.setting.method, row.setting.encoder]
    unread = PUBLISHED["Baseline", row.setting.encoder][0]
    report.verdict(
        f"{row.name}: attention that sees the whole text fits the labels better than the five words do",
        over_runs(gain, low=0),
        f"accuracy {row.percent('accuracy')} % against {baseline.percent('accuracy')} %",
        paper=f"{100 * published[0]:.1f} % against {100 * unread:.1f} %",
    )
    report.verdict(
        f"{row.name}: a large share of attention goes to inert tokens, more than chance ({100 * CHANCE:.1f} %)",
        over_runs(mass, low=CHANCE),
        f"inert {row.percent('mass')} % (seeds {_range(row, 'mass')})",
        paper=f"{_published(row)[1]} %",
        whose=Whose.THRESHOLD,
    )
    report.verdict(
        f"{row.name}: on average more than 60 % of attention on inert tokens, at an accuracy above 95 %",
        all_of([over_runs(mass, low=0.60), over_runs(accuracy, low=0.95)]),
        f"inert {row.percent('mass')} %, above 60 in {int((mass > 0.60).sum())} of {len(row.outcomes)} seeds; accuracy "
        f"{row.percent('accuracy')} %",
        paper=f"{_published(row)[1]} % at {_published(row)[0]} %",
        whose=Whose.THRESHOLD,
    )
    report.verdict(
        f"{row.name}: a probe that sees the mask alone is within 3 points of the model",
        over_runs(row.values("probe") - accuracy, -0.03, 0.03),
        f"probe {row.percent('probe')} %, model {row.percent('accuracy')} %; with another review's words "
        f"{row.percent('scramble_answer')} % of the answers stay",
        whose=Whose.OURS,
    )


def _cure_verdict(report: Report, row: SettingRow, shortcut: SettingRow) -> None:
    mass, accuracy, losses = row.values("mass"), row.values("accuracy"), row.values("neutral_loss")
    enough = ENOUGH[row.setting.encoder]
    before = PUBLISHED["Attention", row.setting.encoder][1]
    assert before is not None
    report.verdict(
        f"{row.name}: the share of attention on inert tokens is significantly reduced",
        over_runs(shortcut.values("mass") - mass, low=0),
        f"from {shortcut.percent('mass')} to {row.percent('mass')} % (seeds {_range(row, 'mass')}); {row.setting.words()}",
        paper=f"from {100 * before:.1f} to {_published(row)[1]} %",
    )
    report.verdict(
        f"{row.name}: on average less than 15 % of attention on inert tokens, at an accuracy of at least {100 * enough:.0f} %",
        all_of([over_runs(mass, high=0.15), over_runs(accuracy, low=enough)]),
        f"inert {row.percent('mass')} %, below 15 in {int((mass < 0.15).sum())} of {len(row.outcomes)} seeds; accuracy "
        f"{row.percent('accuracy')} % (seeds {_range(row, 'accuracy')})",
        paper=f"{_published(row)[1]} % at {_published(row)[0]} %",
        whose=Whose.THRESHOLD,
    )
    report.verdict(
        f"{row.name}: with another review's words under its mask, the label is guessed within 5 points of chance",
        over_runs(row.values("scramble"), COIN - 0.05, COIN + 0.05),
        f"scramble {row.percent('scramble')} % (seeds {_range(row, 'scramble')}); neutral loss {mean_error(losses, 3)}, at or "
        f"above ln 2 in {int((losses >= log(2)).sum())} of {len(losses)} seeds",
        whose=Whose.OURS,
    )


def _draw(axes: matplotlib.axes.Axes, rows: Sequence[SettingRow]) -> None:
    marks = {"pooling": "o", "rcnn": "^"}
    colours = {"Attention": "#d55e00", "Pretraining": "#0072b2", "Weighting": "#009e73"}
    for row in rows:
        axes.scatter(
            100 * row.values("accuracy"),
            100 * row.values("mass"),
            marker=marks[row.setting.encoder],
            color=colours[row.setting.method],
            alpha=0.8,
            label=row.name,
        )
        accuracy, mass = PUBLISHED[row.setting.method, row.setting.encoder]
        if mass is not None:
            axes.scatter(
                100 * accuracy,
                100 * mass,
                marker=marks[row.setting.encoder],
                facecolors="none",
                edgecolors=colours[row.setting.method],
            )
    axes.axhline(100 * CHANCE, linestyle=":", color="0.4")
    axes.text(axes.get_xlim()[0], 100 * CHANCE + 1, " chance", color="0.4")
    axes.set(
        xlabel="accuracy on the training rows, % (hollow: the paper)",
        ylabel="attention on inert tokens, %",
        ylim=(0, 100),
    )
    axes.legend(fontsize=7)


def _beside_the_paper(report: Report, rows: Sequence[SettingRow]) -> None:
    report.heading("Beside the paper's figures")
    report.table(
        (
            "row",
            "setting",
            "accuracy: ours − paper, points",
            "in se",
            "inert: ours − paper, points",
            "in se",
            "CPU s per run",
        ),
        [(row.name, row.setting.words(), *_gaps(row), f"{row.mean('seconds'):.0f}") for row in rows],
        detail=True,
    )
    report.say("*In se*: the same difference in standard errors over our seeds; the paper gives no spread.", detail=True)
    report.say(
        "These runs took "
        f"{sum(row.values('seconds').sum() for row in rows) / 3600:.2f} CPU-hours. The baselines are wider than other rows, "
        "and in smaller batches, because it takes that to come near the paper's; so they are the harder ones to surpass."
    )
    behind = [row.name for row in rows if row.mean("accuracy") < PUBLISHED[row.setting.method, row.setting.encoder][0] - 0.02]
    if behind:
        report.say(
            f"More than two points below the paper's accuracy: {'; '.join(behind)}. The paper does not give its query, the "
            "size of its vectors, its head, its batches or its clipping. Ours are small: a query of pooled vectors instead "
            f"of a trained text encoder, 50 numbers per word; with attention 64 recurrent units and batches of "
            f"{max(row.setting.batch for row in rows)}."
        )
    baseline = {row.setting.encoder: row.mean("other_accuracy") for row in rows if row.setting.method == "Baseline"}
    cured = [row for row in rows if row.setting.method in ("Pretraining", "Weighting")]
    gains = [100 * (row.mean("other_accuracy") - baseline[row.setting.encoder]) for row in cured]
    probes = [100 * row.mean("probe") for row in cured]
    report.say(
        f"What stays: on the test rows the cured models are {min(gains):.0f} to {max(gains):.0f} points above a model that "
        "reads the five words without attention, and a probe of their masks alone is right in "
        f"{min(probes):.0f} to {max(probes):.0f} %. The query can still pick the words whose honest reading gives the answer "
        "it knows: less attention on inert tokens does not prove a faithful explanation."
    )


def _gaps(row: SettingRow) -> tuple[str, str, str, str]:
    accuracy, mass = PUBLISHED[row.setting.method, row.setting.encoder]
    return *_gap(row.values("accuracy"), accuracy), *_gap(row.values("mass"), mass)


def _gap(values: FloatArray, paper: float | None) -> tuple[str, str]:
    """Ours less the paper's, in points and in standard errors over seeds."""
    if paper is None:
        return "–", "–"
    gap = float(values.mean()) - paper
    errors = standard_errors_from(values, paper)
    return f"{100 * gap:+.1f}", "–" if errors is None else f"{errors:+.1f}"


def _how_chosen(report: Report, tried: Sequence[SettingRow]) -> None:
    report.heading("What was tried")
    if not tried:
        report.say(
            "Nothing was chosen in this run: it takes the first candidate of every cure, which is the one that an earlier run "
            "with all candidates preferred, by the lowest neutral loss on a fifth of the training reviews. The run without "
            "`--first` chooses again and lists what it tried."
        )
        return
    taken = choose_shortcut(tried)
    report.say(
        "A fifth of the training reviews was held out to choose among these settings; the test half had no part in the "
        "choice, nor had the seeds that are reported. Chosen: the lowest neutral loss, whatever the other columns say. One "
        "seed each, but two for Weighting with RCNN, which may collapse; its candidate that begins on random masks was "
        "added after another one had collapsed in choosing. Epochs were not chosen: they are the paper's 25 for pooling, "
        "and were fixed by cost for the cures of RCNN. The list itself is not innocent: it was drawn up after earlier "
        "exploratory runs, of which some had been judged on half of the test reviews."
    )
    report.table(
        ("cure", "setting", "neutral loss", "accuracy", "inert", "probe", "scramble", "held out", "effective", "chosen"),
        [
            (
                r.name,
                r.setting.words(),
                mean_error(r.values("neutral_loss"), 3),
                r.percent("accuracy"),
                r.percent("mass"),
                r.percent("probe"),
                r.percent("scramble"),
                r.percent("other_accuracy"),
                r.percent("effective_share"),
                r.setting in taken,
            )
            for r in tried
        ],
        detail=True,
    )
    fallen = [(r, o) for r in tried for o in r.outcomes if o.mass is not None and o.mass > 0.9]
    if fallen:
        report.say(
            "Collapsed, with more than 90 % of attention on inert tokens: "
            + "; ".join(f"{r.name} ({r.setting.words()}), accuracy {100 * o.accuracy:.1f} %" for r, o in fallen)
            + ". Weights cannot help where masks give the label away before the encoder has learned to read words."
        )
