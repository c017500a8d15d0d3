"""Table 3 of Bai et al. (2020), run again: which k players keep a black box's answer, and do the shortcut cures help?"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import as_completed
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from accredit.errors import InvalidInput
from accredit.store.executors import fresh_processes
from accredit.store.results_cache import Finished
from accredit.values.solver import progress
from accredit_papers.report import Report
from accredit_papers.selection_data import SOURCES, find_files, kind
from accredit_papers.selection_further import tell_further, try_further
from accredit_papers.selection_report import Cells, selection_report
from accredit_papers.selection_runs import FULL, METHODS, QUICK, RunSizes, SelectionOutcome, SelectionRun, measure


def selection(
    data: str | Path,
    sets: Sequence[str] = tuple(SOURCES),
    quick: bool = False,
    seeds: int = 3,
    seed: int = 0,
    store: str | Path | None = None,
    workers: int = 2,
    sizes: dict[str, RunSizes] | None = None,
    scale: float = 1.0,
    finished: bool = False,
    further: bool = False,
) -> Report:
    """Run what the store does not hold yet, and report. Nothing is written before all data files are known to be there.

    `scale` multiplies the rows to learn from; no data set is asked for more rows than it has. With `finished` nothing
    is run: the report is about the black boxes whose methods are all in the store. `further` tries other settings of the
    explainers on the first seeds of every set; they are shown, and nothing is chosen among them.
    """
    find_files(data, list(sets))
    if seeds < 1 or workers < 1:
        raise InvalidInput(
            f"seeds and workers must be at least 1, got {seeds} and {workers}",
            argument="seeds" if seeds < 1 else "workers",
            code="range",
        )
    chosen = sizes or (QUICK if quick else FULL)
    runs = [SelectionRun(str(data), name, seed + s, chosen[kind(name)].scale(scale)) for s in range(seeds) for name in sets]
    if finished and store is None:
        raise InvalidInput(
            "store is missing; finished=True reports what one holds: write store=FILE", argument="store", code="missing"
        )
    with TemporaryDirectory() as folder:  # without a store of the user's, cells are kept while the run lasts
        file = store or Path(folder) / "cells.sqlite"
        done, cells = _of_finished(runs, file) if finished else (runs, read_finished(runs, file, workers))
        tried = try_further(done, file, finished) if further else {}
    report = selection_report(done, cells, runs)
    if further:
        tell_further(report, tried, cells, done)
    return report


def _of_finished(runs: Sequence[SelectionRun], store: str | Path) -> tuple[list[SelectionRun], Cells]:
    cells: Cells = {}
    done: list[SelectionRun] = []
    with Finished(store) as kept:
        for run in runs:
            found = {method: kept.found(run.key(method)) for method in METHODS}
            if None not in found.values():
                done.append(run)
                cells |= {(run.name, m, run.seed): SelectionOutcome(**cell) for m, cell in found.items() if cell is not None}
    if not done:
        raise InvalidInput(
            f"{store} holds no finished run of these sets and sizes; run them first, without finished=True",
            argument="store",
            code="empty",
        )
    return done, cells


def read_finished(runs: Sequence[SelectionRun], store: str | Path, workers: int) -> Cells:
    """Every cell, those in the store read and the others run, in `workers` processes; each is kept the moment it is done."""
    cells: Cells = {}
    with Finished(store) as kept, progress("cells", len(runs) * len(METHODS)) as bar:
        missing: list[tuple[SelectionRun, list[str]]] = []
        for run in runs:
            found = {method: kept.found(run.key(method)) for method in METHODS}
            cells |= {(run.name, m, run.seed): SelectionOutcome(**cell) for m, cell in found.items() if cell is not None}
            if None in found.values():
                missing.append((run, [method for method, cell in found.items() if cell is None]))
        if workers == 1:
            for run, methods in missing:
                for method, result in measure(run, methods):
                    kept.keep(run.key(method), asdict(result))
                    cells[run.name, method, run.seed] = result
                    bar.update(len(cells))
            return cells
        with fresh_processes(workers) as pool:
            waiting = {pool.submit(_run, run, methods, str(store)): run for run, methods in missing}
            for done in as_completed(waiting):
                run = waiting[done]
                cells |= {(run.name, method, run.seed): result for method, result in done.result().items()}
                bar.update(len(cells))
    return cells


def _run(run: SelectionRun, methods: list[str], store: str) -> dict[str, SelectionOutcome]:
    """One black box with its methods, in a process of its own."""
    results = {}
    with Finished(store) as kept:
        for method, result in measure(run, methods):
            kept.keep(run.key(method), asdict(result))
            results[method] = result
    return results
