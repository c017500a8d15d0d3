"""Table 3 of Bai et al. (2020), run again: which k players keep a black box's answer, and do the shortcut cures help?"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from accredit.core import FloatArray, InvalidInput
from accredit.experiments.cells import FinishedCells
from accredit.experiments.report import Report
from accredit.experiments.selection_data import SOURCES, needed
from accredit.experiments.selection_runs import FULL, METHODS, QUICK, Measured, Run, Sizes, measured
from accredit.values.solver import progress

PUBLISHED = {  # post-hoc accuracy in %, Table 3 of "Why is Attention Not So Attentive?" (Bai et al., 2020)
    "gradient": (85.6, 82.3, 98.2, 58.6), "lime": (89.8, 87.4, 80.4, 75.6), "cxplain": (90.6, 97.7, 99.4, 59.7),
    "l2x": (89.2, 88.2, 91.4, 77.3), "vibi": (90.8, 94.4, 98.3, 84.1), "l2x+answer": (48.8, 77.8, 94.9, 85.3),
    "l2x+answer+pretraining": (97.1, 99.0, 66.3, 89.4), "l2x+answer+weighting": (94.3, 87.7, 99.8, 95.4),
}  # fmt: skip
TITLES = {
    "random": "random k players", "gradient": "Gradient", "gradient x input": "Gradient × input", "lime": "LIME",
    "lime, supporting": "LIME, supporting", "cxplain": "CXPlain", "l2x": "L2X", "vibi": "VIBI", "l2x+answer": "L2X + ŷ",
    "l2x+answer+pretraining": "L2X + ŷ, Pretraining", "l2x+answer+weighting": "L2X + ŷ, Weighting",
}  # fmt: skip
CURES = ("l2x+answer+pretraining", "l2x+answer+weighting")
TEXTS = ("imdb", "yelp")

Cells = dict[tuple[str, str, int], Measured]  # (set, method, seed)


def selection(
    data: str | Path,
    sets: Sequence[str] = tuple(SOURCES),
    quick: bool = False,
    seeds: int = 3,
    seed: int = 0,
    store: str | Path | None = None,
    workers: int = 2,
    sizes: dict[str, Sizes] | None = None,
) -> Report:
    """Run what the store does not hold yet, and report. Nothing is written before all data files are known to be there."""
    needed(data, list(sets))
    if seeds < 1 or workers < 1:
        raise InvalidInput(f"seeds and workers must be at least 1, got {seeds} and {workers}")
    chosen = sizes or (QUICK if quick else FULL)
    runs = [Run(str(data), name, seed + s, chosen[_kind(name)]) for s in range(seeds) for name in sets]
    with TemporaryDirectory() as folder:  # without a store of the user's, cells are kept while the run lasts
        cells = finished(runs, store or Path(folder) / "cells.sqlite", workers)
    command = f"accredit reproduce selection{' --quick' * quick} --seeds {seeds}"
    report = Report("selection", "Which k players keep a black box's answer?", command)
    _introduce(report, runs, cells, seeds)
    for name in sets:
        _one_set(report, name, cells, runs)
    _summary(report, sets, cells)
    return report


def _kind(name: str) -> str:
    return "texts" if name in TEXTS else "pictures"


# Running


def finished(runs: Sequence[Run], store: str | Path, workers: int) -> Cells:
    """Every cell, those in the store read and the others run, in `workers` processes; each is kept the moment it is done."""
    cells: Cells = {}
    with FinishedCells(store) as kept, progress("cells", len(runs) * len(METHODS)) as bar:
        missing: list[tuple[Run, list[str]]] = []
        for run in runs:
            found = {method: kept.found(run.key(method)) for method in METHODS}
            cells |= {(run.name, m, run.seed): Measured(**cell) for m, cell in found.items() if cell is not None}
            if None in found.values():
                missing.append((run, [method for method, cell in found.items() if cell is None]))
        if workers == 1:
            for run, methods in missing:
                for method, result in measured(run, methods):
                    kept.keep(run.key(method), asdict(result))
                    cells[run.name, method, run.seed] = result
                    bar.update(len(cells))
            return cells
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            waiting = {pool.submit(_run, run, methods, str(store)): run for run, methods in missing}
            for done in as_completed(waiting):
                run = waiting[done]
                cells |= {(run.name, method, run.seed): result for method, result in done.result().items()}
                bar.update(len(cells))
    return cells


def _run(run: Run, methods: list[str], store: str) -> dict[str, Measured]:
    """One black box with its methods, in a process of its own."""
    results = {}
    with FinishedCells(store) as kept:
        for method, result in measured(run, methods):
            kept.keep(run.key(method), asdict(result))
            results[method] = result
    return results


# Telling


def _of(cells: Cells, name: str, method: str, what: str) -> FloatArray | None:
    """One figure of a method, a number a seed, in %; None where the method has none."""
    found = [getattr(cell, what) for (s, m, _), cell in sorted(cells.items()) if (s, m) == (name, method)]
    return None if None in found else 100 * np.array(found)


def _mean(values: FloatArray | None, digits: int = 1) -> str:
    """Mean ± standard error over seeds."""
    if values is None:
        return "–"
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{error}"


def _gain(gap: FloatArray) -> str:
    error = f" ± {gap.std(ddof=1) / np.sqrt(len(gap)):.1f}" if len(gap) > 1 else ""
    return f"{gap.mean():+.1f}{error}"


def _introduce(report: Report, runs: Sequence[Run], cells: Cells, seeds: int) -> None:
    report.say(
        "A black box is trained on a training split. A method then shows k players of each test input; the others are "
        "replaced (words by padding, pixels by 0). **Post-hoc**: share of test inputs in which the black box, given only "
        "those players, answers as it did on the whole input; this is the published figure. **EVAL-X**: the same by a network "
        "that learned from random masks and has never met the method. **Surrogate**: the same by the network that was "
        "trained together with the selector. A surrogate far above post-hoc or EVAL-X reads something in the *choice* that "
        "the chosen players do not say."
    )
    report.say(
        f"Mean ± standard error over {seeds} seeds; a seed trains its own black box, its own judge and every explainer. "
        "The data rows are the same for all seeds. Rows for early stopping are taken from the training split; the test split "
        "decides nothing. Settings are those of the reference recipes and were not tuned on these data."
    )
    for kind in ("texts", "pictures"):
        sizes = next((run.sizes for run in runs if _kind(run.name) == kind), None)
        if sizes is not None:
            report.say(_told(kind, sizes))
    spent = sum(cell.seconds for cell in cells.values())
    report.say(
        f"Explaining took {spent / 60:.0f} CPU-minutes in all, beside the training of black boxes and judges. Published "
        "figures: Table 3 of Bai et al. (2020), ten seeds, full data sets, means only."
    )


def _told(kind: str, sizes: Sizes) -> str:
    black_box = (
        f"a convolution of three words, {sizes.width} filters, maximum over the text; selector {sizes.selector} filters; "
        "surrogate and EVAL-X are bags of words"
        if kind == "texts"
        else f"two 5×5 convolutions of {sizes.width} and {2 * sizes.width} filters, EVAL-X alike; surrogate 16 and 32; "
        f"selector 5×5 convolutions of {sizes.selector}"
    )
    removal = "words one by one" if kind == "texts" else "2×2 blocks, whose pixels share one score"
    return (
        f"**{kind.capitalize()}**: black box {black_box}; black box and EVAL-X at most {sizes.judge_epochs} epochs; trained "
        f"explainers {sizes.epochs} epochs in steps of {sizes.batch} rows (Pretraining: {sizes.epochs} on random masks, then "
        f"{sizes.epochs} for the selector). "
        f"LIME: {sizes.lime_budget} coalitions for each of {sizes.lime_rows} test inputs, chosen by |slope|; *supporting* "
        "chooses by signed slope. "
        f"CXPlain: removal losses of {sizes.cxplain_rows} training rows ({removal}), {sizes.cxplain_models} network(s); it "
        "alone is given true labels. "
        "Gradient: |∂logit/∂x| (length at the word's vector)."
    )


def _one_set(report: Report, name: str, cells: Cells, runs: Sequence[Run]) -> None:
    from accredit.experiments.selection_runs import _task

    run = next(run for run in runs if run.name == name)
    column = list(SOURCES).index(name)
    report.heading(SOURCES[name].title)
    accuracy, judge = _of(cells, name, "random", "accuracy"), _of(cells, name, "random", "judge")
    report.say(
        f"{_task(run.data, name, run.sizes.train, run.sizes.test).told} Black box right on {_mean(accuracy)} % of test "
        f"inputs; EVAL-X agrees with it on {_mean(judge)} % of whole inputs."
    )
    rows = []
    for method in METHODS:
        post_hoc, evalx, own = (_of(cells, name, method, what) for what in ("post_hoc", "evalx", "surrogate"))
        assert post_hoc is not None and evalx is not None
        gaps = ("–", "–") if own is None else (_gain(own - post_hoc), _gain(own - evalx))
        some = [cell for (s, m, _), cell in cells.items() if (s, m) == (name, method)]
        published = f"{PUBLISHED[method][column]:.1f}" if method in PUBLISHED else "–"
        rows.append(
            [
                TITLES[method], published, _mean(post_hoc), _mean(evalx), _mean(own), *gaps,
                some[0].rows, f"{np.mean([cell.seconds for cell in some]):.0f}",
            ]
        )  # fmt: skip
    report.table(
        ["method", "paper, post-hoc %", "post-hoc %", "EVAL-X %", "own surrogate %", "surrogate − post-hoc",
         "surrogate − EVAL-X", "test inputs", "CPU s"], rows,
    )  # fmt: skip
    report.say(_which_cure(name, cells))
    report.figure(
        name, f"{SOURCES[name].title}: share of test inputs whose answer survives, mean and standard error over seeds.",
        lambda axes: _draw(axes, name, cells), (6.4, 3.8),
    )  # fmt: skip


def _which_cure(name: str, cells: Cells) -> str:
    """Which cure helps, and by how much: paired over seeds, against the same explainer without it."""
    told, best = [], ("", -np.inf)
    for cure in CURES:
        gaps = {what: _gap(cells, name, cure, "l2x+answer", what) for what in ("post_hoc", "evalx")}
        told.append(
            f"{TITLES[cure].split(', ')[1]} changes post-hoc accuracy by {_gain(gaps['post_hoc'])} points "
            f"({_clarity(gaps['post_hoc'])}) and EVAL-X by {_gain(gaps['evalx'])} ({_clarity(gaps['evalx'])})"
        )
        if gaps["post_hoc"].mean() > best[1]:
            best = (TITLES[cure].split(", ")[1], float(gaps["post_hoc"].mean()))
    verdict = f"By post-hoc accuracy {best[0]} helps most" if best[1] > 0 else "By post-hoc accuracy no cure helps"
    plain = _gap(cells, name, "l2x+answer", "l2x", "post_hoc")
    return (
        f"**Which cure helps.** Against L2X + ŷ, seed by seed: {'; '.join(told)}. {verdict}. Telling L2X the answer changes "
        f"its post-hoc accuracy by {_gain(plain)} points ({_clarity(plain)})."
    )


def _gap(cells: Cells, name: str, better: str, worse: str, what: str) -> FloatArray:
    first, second = _of(cells, name, better, what), _of(cells, name, worse, what)
    assert first is not None and second is not None
    return first - second


def _clarity(gap: FloatArray) -> str:
    """How sure a difference is, from so few seeds: whether all of them agree on its sign."""
    up = int((gap > 0).sum())
    return f"up in {up} of {len(gap)} seeds"


def _summary(report: Report, sets: Sequence[str], cells: Cells) -> None:
    report.heading("The table as published, and here")
    rows = []
    for method, published in PUBLISHED.items():
        row: list[Any] = [TITLES[method]]
        for name in sets:
            row += [f"{published[list(SOURCES).index(name)]:.1f}", _mean(_of(cells, name, method, "post_hoc"))]
        rows.append(row)
    report.table(["post-hoc %", *(f"{SOURCES[n].title}, {w}" for n in sets for w in ("paper", "here"))], rows)
    for name in sets:
        title, texts = SOURCES[name].title, _kind(name) == "texts"
        gaps = [_gap(cells, name, cure, "l2x+answer", "post_hoc") for cure in CURES]
        for cure, gap in zip(CURES, gaps, strict=True):
            paper = PUBLISHED[cure][list(SOURCES).index(name)] - PUBLISHED["l2x+answer"][list(SOURCES).index(name)]
            report.verdict(
                f"{title}: {TITLES[cure].split(', ')[1]} {'raises' if paper > 0 else 'lowers'} post-hoc accuracy of L2X + ŷ",
                (np.sign(paper) * gap > 0).all(),
                f"paper {paper:+.1f} points; here {_gain(gap)}, {_clarity(gap)}; the statement holds if all seeds agree",
            )
        order = gaps[0] - gaps[1]
        report.verdict(
            f"{title}: {'Pretraining' if texts else 'Weighting'} beats {'Weighting' if texts else 'Pretraining'}",
            ((order > 0) if texts else (order < 0)).all(),
            f"Pretraining − Weighting {_gain(order)} points, {_clarity(order)}; the statement holds if all seeds agree",
        )


def _draw(axes: Any, name: str, cells: Cells) -> None:
    places = np.arange(len(METHODS))[::-1]
    for what, colour, marker, label, shift in (
        ("post_hoc", "C0", "o", "post-hoc", 0.2),
        ("evalx", "C1", "s", "EVAL-X", 0.0),
        ("surrogate", "C2", "^", "own surrogate", -0.2),
    ):
        found = [(place, _of(cells, name, method, what)) for place, method in zip(places, METHODS, strict=True)]
        some = [(place, values) for place, values in found if values is not None]
        errors = [values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0 for _, values in some]
        axes.errorbar(
            [values.mean() for _, values in some], [place + shift for place, _ in some], xerr=errors,
            color=colour, marker=marker, ms=4, ls="", label=label,
        )  # fmt: skip
    paper = [
        (place, PUBLISHED[m][list(SOURCES).index(name)])
        for place, m in zip(places, METHODS, strict=True)
        if m in PUBLISHED
    ]
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
    axes.legend(frameon=False, fontsize=7, loc="lower left")
