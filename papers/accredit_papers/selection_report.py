"""What the selection experiment found: a table for every data set, which cure helps, and what of the published order holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray
from accredit_papers.report import Report, mean_error
from accredit_papers.selection_data import SOURCES, kind
from accredit_papers.selection_runs import CHOOSING, METHODS, TRAINED, RunSizes, SelectionOutcome, SelectionRun, read
from accredit_papers.verdicts import over_runs, standard_errors_from

if TYPE_CHECKING:
    import matplotlib.axes

PUBLISHED = {  # post-hoc accuracy in %, Table 3 of "Why is Attention Not So Attentive?" (Bai et al., 2020)
    "gradient": (85.6, 82.3, 98.2, 58.6),
    "lime": (89.8, 87.4, 80.4, 75.6),
    "cxplain": (90.6, 97.7, 99.4, 59.7),
    "l2x": (89.2, 88.2, 91.4, 77.3),
    "vibi": (90.8, 94.4, 98.3, 84.1),
    "l2x+answer": (48.8, 77.8, 94.9, 85.3),
    "l2x+answer+pretraining": (97.1, 99.0, 66.3, 89.4),
    "l2x+answer+weighting": (94.3, 87.7, 99.8, 95.4),
}
TITLES = {
    "random": "random k players",
    "gradient": "Gradient",
    "gradient x input": "Gradient × input",
    "lime": "LIME",
    "lime, supporting": "LIME, supporting",
    "cxplain": "CXPlain",
    "l2x": "L2X",
    "vibi": "VIBI",
    "l2x+answer": "L2X + ŷ",
    "l2x+answer+pretraining": "L2X + ŷ, Pretraining",
    "l2x+answer+weighting": "L2X + ŷ, Weighting",
}
SURROGATES = {"auto": "too", "places": "reads positions too: each kept word brings a vector of its place"}
CURES = ("l2x+answer+pretraining", "l2x+answer+weighting")
ORDERS = (  # statements of the paper's table, first against second
    ("l2x+answer", "l2x"),
    *((cure, "l2x+answer") for cure in CURES),
    CURES,
)
BENCHMARKS = [method for method in PUBLISHED if method not in CURES]
NEAR_POINTS = 2.0  # points

Cells = dict[tuple[str, str, int], SelectionOutcome]  # (set, method, seed)


def selection_report(runs: Sequence[SelectionRun], cells: Cells, asked: Sequence[SelectionRun] = ()) -> Report:
    """The report of finished runs; of those that were `asked` for, it says which are not there."""
    report = Report("selection", "Which k players keep a black box's answer?")
    sets = list(dict.fromkeys(run.name for run in runs))
    _introduce(report, runs, cells)
    _missing(report, runs, asked)
    for name in sets:
        _one_set(report, name, cells, runs)
    _summary(report, sets, cells)
    return report


def figures(outcomes: Iterable[SelectionOutcome], what: str) -> FloatArray:
    """One figure of a method, one number per seed, in %; empty where the method has none."""
    found = [getattr(outcome, what) for outcome in outcomes]
    return 100 * np.array([value for value in found if value is not None])


def _of(cells: Cells, name: str, method: str, what: str) -> FloatArray:
    return figures(seeds_of(cells, name, method), what)


def seeds_of(cells: Cells, name: str, method: str) -> list[SelectionOutcome]:
    """The outcomes of a method, in the order of their seeds."""
    return [cell for (s, m, _), cell in sorted(cells.items(), key=lambda item: item[0]) if (s, m) == (name, method)]


def _gain(gap: FloatArray) -> str:
    error = f" ± {gap.std(ddof=1) / np.sqrt(len(gap)):.1f}" if len(gap) > 1 else ""
    return f"{gap.mean():+.1f}{error}"


def _seeds(runs: Sequence[SelectionRun]) -> str:
    """How many seeds there are, for each set where they differ."""
    counts = {name: sum(run.name == name for run in runs) for name in dict.fromkeys(run.name for run in runs)}
    if len(set(counts.values())) == 1:
        return f"of which there are {next(iter(counts.values()))}"
    return "of which there are " + ", ".join(f"{count} for {SOURCES[name].title}" for name, count in counts.items())


def _missing(report: Report, runs: Sequence[SelectionRun], asked: Sequence[SelectionRun]) -> None:
    """Seeds that are not there yet, set by set."""
    seeds = {name: ([r.seed for r in runs if r.name == name], sum(r.name == name for r in asked)) for name in SOURCES}
    lacking = [
        f"{SOURCES[name].title} {len(there) or 'none'} of {wanted}"
        for name, (there, wanted) in seeds.items()
        if len(there) < wanted
    ]
    if lacking:
        report.say(
            f"**Not finished.** Seeds that are there: {', '.join(lacking)}. The same command without `--finished` goes on with "
            "the others."
        )


def apart(values: FloatArray, paper: float) -> str:
    """Here less the paper, in standard errors over seeds."""
    if len(values) < 2:
        return "one seed"
    errors = standard_errors_from(values, paper)
    return "no spread" if errors is None else f"{errors:+.1f}"


def _introduce(report: Report, runs: Sequence[SelectionRun], cells: Cells) -> None:
    report.say(
        "A black box is trained on a training split. A method then shows k players of each test input; the others are "
        "replaced (words by padding, pixels by grey). **Post-hoc**: share of test inputs in which the black box, given only "
        "those players, answers as it did on the whole input; this is the published figure. **EVAL-X**: the same by a network "
        "that learned from random masks and has never met the method. **Surrogate**: the same by the network that was "
        "trained together with the selector. A surrogate far above post-hoc or EVAL-X reads something in the *choice* that "
        "the chosen players do not say."
    )
    report.say(
        f"Mean ± standard error over seeds, {_seeds(runs)}; a seed trains its own black box, its own judge and "
        "every explainer. The data rows are the same for all seeds. Rows for early stopping are taken from the training split; "
        "the test split decides nothing. Sizes and epochs were set by cost before the run."
    )
    for what in ("texts", "pictures"):
        sizes = next((run.sizes for run in runs if kind(run.name) == what), None)
        if sizes is not None:
            report.say(_describe(what, sizes), detail=True)
    spent = sum(cell.seconds for cell in cells.values())
    built = sum({(name, seed): cell.building for (name, _, seed), cell in cells.items()}.values())
    report.say(
        f"Black boxes and their judges took {built / 3600:.2f} CPU-hours, explaining {spent / 3600:.2f}. Published figures: "
        "Table 3 of Bai et al. (2020), ten seeds, full data sets (Yelp: 560,000 reviews, where there are "
        "10,000 here), means only."
    )


def _describe(what: str, sizes: RunSizes) -> str:
    black_box = (
        f"a convolution of three words, {sizes.width} filters, maximum over the text; "
        f"EVAL-X is a bag of words, the surrogate {SURROGATES[sizes.surrogate]}"
        if what == "texts"
        else f"two 5×5 convolutions of {sizes.width} and {2 * sizes.width} filters, EVAL-X alike; surrogate 16 and 32; "
        "selector 5×5 convolutions"
    )
    rows = "all" if sizes.cxplain_rows >= sizes.train else f"{sizes.cxplain_rows:,}"
    several = ", ".join(f"{t:g}" for t in sizes.temperatures)
    widths = ", ".join(map(str, (sizes.selector, *sizes.selectors)))
    weighings = "".join(f", or {steps} steps and weights at most {cap:g}" for steps, cap in sizes.weightings)
    heat = f"temperature {several}, {widths} filters in the selector, for Weighting the recipe's own steps and cap{weighings}"
    if len(sizes.temperatures) > 1 or sizes.selectors or sizes.weightings:
        heat += (
            f"; where there are several, one after the other, whichever keeps more answers after learning from "
            f"{CHOOSING:.1%} of the training rows, on as many others of them, anew for every seed and method"
        )
    removal = "words one by one" if what == "texts" else "2×2 blocks, whose pixels share one score"
    return (
        f"**{what.capitalize()}**: black box {black_box}; black box and EVAL-X at most {sizes.judge_epochs} epochs; "
        f"trained explainers {sizes.epochs} epochs in steps of {sizes.batch} rows (Pretraining: {sizes.epochs} on "
        f"random masks, then {sizes.epochs} for the selector), {heat}. LIME: {sizes.lime_budget} coalitions for each of "
        f"{sizes.lime_rows} test inputs, chosen by |slope|; *supporting* chooses by signed slope. CXPlain: removal "
        f"losses of {rows} training rows ({removal}), {sizes.cxplain_models} network(s); it alone is "
        "given true labels. Weighting is the recipe that ships: P(Y|M) weighs rows before it learns from "
        "them. Gradient: |∂logit/∂x| (length at the word's vector)."
    )


def _one_set(report: Report, name: str, cells: Cells, runs: Sequence[SelectionRun]) -> None:
    run = next(run for run in runs if run.name == name)
    report.heading(SOURCES[name].title)
    accuracy, judge = _of(cells, name, "random", "accuracy"), _of(cells, name, "random", "judge")
    report.say(
        f"{read(run).used} Black box right on {mean_error(accuracy, 1)} % of test "
        f"inputs; EVAL-X agrees with it on {mean_error(judge, 1)} % of whole inputs."
    )
    rows = []
    for method in METHODS:
        post_hoc, evalx, own = (_of(cells, name, method, what) for what in ("post_hoc", "evalx", "surrogate"))
        gaps = (_gain(own - post_hoc), _gain(own - evalx)) if len(own) else ("–", "–")
        some = seeds_of(cells, name, method)
        paper = f"{published(name, method):.1f}" if method in PUBLISHED else "–"
        rows.append(
            [
                TITLES[method],
                paper,
                mean_error(post_hoc, 1),
                mean_error(evalx, 1),
                mean_error(own, 1),
                *gaps,
                some[0].rows,
                f"{np.mean([cell.seconds for cell in some]):.0f}",
            ]
        )
    report.table(
        [
            "method",
            "paper, post-hoc %",
            "post-hoc %",
            "EVAL-X %",
            "own surrogate %",
            "surrogate − post-hoc",
            "surrogate − EVAL-X",
            "test inputs",
            "CPU s",
        ],
        rows,
    )
    _settings(report, name, cells)
    _one_answer(report, name, cells)
    report.say(_which_cure(name, cells))
    report.say(_what_it_rewards(name, cells))
    report.figure(
        name,
        f"{SOURCES[name].title}: share of test inputs whose answer survives, mean and standard error over seeds.",
        lambda axes: _draw(axes, name, cells),
        (6.4, 3.8),
    )


def _settings(report: Report, name: str, cells: Cells) -> None:
    """Which settings training rows preferred, where there was a choice, and in how many seeds."""
    chosen = {method: Counter(cell.chosen for cell in seeds_of(cells, name, method)) for method in TRAINED}
    rows = [
        [TITLES[method], setting, count]
        for method, found in chosen.items()
        for setting, count in found.most_common()
        if setting
    ]
    if rows:
        report.say("Chosen on training rows:", detail=True)
        report.table(["method", "setting", "seeds"], rows, detail=True)


def _one_answer(report: Report, name: str, cells: Cells) -> None:
    """What the black box says to k players that say nothing in particular: often the same, whatever they are."""
    same = _of(cells, name, "random", "commonest")
    if len(same):
        report.say(
            f"**What it says to so little.** Shown random k players, the black box gives one and the same answer to "
            f"{mean_error(same, 1)} % of test inputs. The nearer this is to 100, the more post-hoc accuracy tells how the "
            "black box reads a nearly empty input, which a selector does not learn, and the less what was selected."
        )


def _which_cure(name: str, cells: Cells) -> str:
    """Which cure helps, and by how much: paired over seeds, against the same explainer without it."""
    changes, helps = [], []
    for cure in CURES:
        title = TITLES[cure].split(", ")[1]
        post_hoc, evalx = (_gap(cells, name, cure, "l2x+answer", what) for what in ("post_hoc", "evalx"))
        changes.append(
            f"{title} changes post-hoc accuracy by {_gain(post_hoc)} points ({_clarity(post_hoc)}) and EVAL-X by "
            f"{_gain(evalx)} ({_clarity(evalx)})"
        )
        helps += [f"{title} ({post_hoc.mean():+.1f} points)"] if _clear(post_hoc, 1) else []
    verb = "help" if len(helps) > 1 else "helps"
    verdict = f"By post-hoc accuracy {' and '.join(helps)} clearly {verb}" if helps else "No cure clearly helps here"
    answer = _gap(cells, name, "l2x+answer", "l2x", "post_hoc")
    return (
        f"**Which cure helps.** Against L2X + ŷ, seed by seed: {'; '.join(changes)}. {verdict} (*clearly*: in every seed, and "
        f"by more than two standard errors). Telling L2X the answer changes its post-hoc accuracy by {_gain(answer)} points "
        f"({_clarity(answer)})."
    )


def _clear(gap: FloatArray, sign: float) -> bool:
    """Whether a difference has that sign in every seed and is more than two standard errors from zero."""
    error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.inf
    return bool((sign * gap > 0).all() and abs(gap.mean()) > 2 * error)


def _what_it_rewards(name: str, cells: Cells) -> str:
    """A warning about the measure itself, in the numbers of this data set."""
    kept, right = _of(cells, name, "lime, supporting", "post_hoc"), _of(cells, name, "random", "accuracy")
    return (
        f"The players that LIME finds to speak *for* the answer keep it in {kept.mean():.1f} % of inputs, while the answer is "
        f"right in {right.mean():.1f} %: post-hoc accuracy rewards showing one side of the evidence, whether or not the answer "
        "is right."
    )


def _gap(cells: Cells, name: str, better: str, worse: str, what: str) -> FloatArray:
    return _of(cells, name, better, what) - _of(cells, name, worse, what)


def _clarity(gap: FloatArray) -> str:
    """How sure a difference is, from so few seeds: whether all of them agree on its sign."""
    up = int((gap > 0).sum())
    return f"up in {up} of {len(gap)} seeds"


def _summary(report: Report, sets: Sequence[str], cells: Cells) -> None:
    report.heading("The table as published, and here")
    rows = []
    for method in PUBLISHED:
        row: list[object] = [TITLES[method]]
        for name in sets:
            here = _of(cells, name, method, "post_hoc")
            row += [f"{published(name, method):.1f}", mean_error(here, 1), apart(here, published(name, method))]
        rows.append(row)
    report.table(["post-hoc %", *(f"{SOURCES[n].title}, {w}" for n in sets for w in ("paper", "here", "difference, se"))], rows)
    report.say("*Difference, se*: here less the paper, in standard errors over our seeds; the paper gives no spread.")
    for name in sets:
        report.say(_against_paper(name, cells))
    report.say(
        "A statement of the published order holds here if the 95 % interval of the difference, seed by seed, lies on its "
        "side; it is refuted if that lies on the other side; otherwise these seeds cannot tell. From a handful of seeds that "
        "is a sign, not a proof."
    )
    for name in sets:
        for first, second in ORDERS:
            here, paper = _gap(cells, name, first, second, "post_hoc"), published(name, first) - published(name, second)
            relation = "keeps more answers than" if paper > 0 else "keeps fewer answers than"
            report.verdict(
                f"{SOURCES[name].title}: {TITLES[first]} {relation} {TITLES[second]}",
                over_runs(float(np.sign(paper)) * here, low=0),
                f"post-hoc {_gain(here)} points, {_clarity(here)}",
                paper=f"{paper:+.1f} points",
            )
        for cure in CURES:
            others = np.sort([_of(cells, name, other, "post_hoc") for other in BENCHMARKS], axis=0)  # (benchmarks, seeds)
            ahead = _of(cells, name, cure, "post_hoc") - others[len(BENCHMARKS) // 2]  # of one more than half of them
            printed = sum(published(name, cure) > published(name, other) for other in BENCHMARKS)
            report.verdict(
                f"{SOURCES[name].title}: {TITLES[cure]} outperforms most of the {len(BENCHMARKS)} benchmarks",
                over_runs(ahead, low=0),
                f"{_gain(ahead)} points from the one that it must surpass to be ahead of most, {_clarity(ahead)}",
                paper=f"ahead of {printed} of {len(BENCHMARKS)}",
            )


def _against_paper(name: str, cells: Cells) -> str:
    """Which published figures are reached, and which are not."""
    gaps = {}
    for method in PUBLISHED:
        gaps[TITLES[method]] = float(_of(cells, name, method, "post_hoc").mean()) - published(name, method)
    parts = {
        f"within {NEAR_POINTS:g} points of the paper": [m for m, gap in gaps.items() if abs(gap) <= NEAR_POINTS],
        "above it": [f"{m} ({gap:+.1f})" for m, gap in gaps.items() if gap > NEAR_POINTS],
        "below it, not reached": [f"{m} ({gap:+.1f})" for m, gap in gaps.items() if gap < -NEAR_POINTS],
    }
    return f"**{SOURCES[name].title}.** " + "; ".join(f"{k}: {', '.join(v) or 'none'}" for k, v in parts.items()) + "."


def published(name: str, method: str) -> float:
    """The paper's post-hoc accuracy, in %."""
    return PUBLISHED[method][list(SOURCES).index(name)]


def _draw(axes: matplotlib.axes.Axes, name: str, cells: Cells) -> None:
    places = np.arange(len(METHODS))[::-1]
    for what, colour, marker, label, shift in (
        ("post_hoc", "C0", "o", "post-hoc", 0.2),
        ("evalx", "C1", "s", "EVAL-X", 0.0),
        ("surrogate", "C2", "^", "own surrogate", -0.2),
    ):
        found = [(place, _of(cells, name, method, what)) for place, method in zip(places, METHODS, strict=True)]
        some = [(place, values) for place, values in found if len(values)]
        errors = [values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0 for _, values in some]
        axes.errorbar(
            [values.mean() for _, values in some],
            [place + shift for place, _ in some],
            xerr=errors,
            color=colour,
            marker=marker,
            ms=4,
            ls="",
            label=label,
        )
    paper = [(place, published(name, m)) for place, m in zip(places, METHODS, strict=True) if m in PUBLISHED]
    axes.plot(
        [value for _, value in paper],
        [place + 0.2 for place, _ in paper],
        "x",
        color="0.4",
        ms=5,
        label="paper, post-hoc",
    )
    axes.set_yticks(places, [TITLES[method] for method in METHODS])
    axes.set(xlabel="% of test inputs")
    axes.grid(axis="x", lw=0.3)
    axes.legend(frameon=False, fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=4)
