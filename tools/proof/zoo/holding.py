"""What an explanation of one model is held to, and what was found."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import accredit
from accredit.core import FloatArray
from accredit.errors import AccreditError
from accredit.rows.result import TableExplanation
from tools.proof.zoo.datasets import table
from tools.proof.zoo.oracles import brute_force, contributions, own_output
from tools.proof.zoo.recipes import CLASSES, Recipe

ROWS, BACKGROUND = 3, 8
RAW = ("log", "logit", "log-joint", "pairs", "path length")  # raw scales, asked for where what is natural has no closed form
INSTEAD = ("one game per row", "through the trees")  # what a result says that it did without a closed form
SINGLE = {"xgboost"}  # libraries whose outputs are in single precision
CLOSE = 1e-6  # how far two computations in double precision may differ, relative to the largest credit
CLOSE_SINGLE = 2e-4  # the same in single precision, after sums of thousands of leaves
LAST_BIT = 2.0**-20  # of an output in single precision, a few bits of it


@dataclass
class Finding:
    """One model, and how its explanations fared."""

    recipe: Recipe
    closed: str = ""  # the scale on which there is a closed form; empty: on none
    reason: str = ""  # why there is none, as the result or the error says it
    refused: bool = False
    cover: str = ""  # "right", "refused: why", or empty where there is nothing to compare with
    checks: list[str] = field(default_factory=list)  # what was compared and agreed
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0  # of CPU time, explaining
    training: float = 0.0

    def as_plain(self) -> dict[str, Any]:
        """As JSON types."""
        return {"model": str(self.recipe), "library": self.recipe.library} | {
            name: getattr(self, name)
            for name in ("closed", "reason", "refused", "cover", "checks", "faults", "seconds", "training")
        }


def hold(recipe: Recipe) -> Finding:
    """Train the model, explain some rows with a background and by cover ratios, compare with what others say."""
    found = Finding(recipe)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        try:
            model = recipe.model()
        except Exception as error:  # a recipe that the library of today does not take
            found.faults.append(f"training: {type(error).__name__}: {str(error)[:200]}")
            return found
        found.training = time.process_time() - start
        for part in (_with_background, _by_cover):
            try:
                part(found, model)
            except Exception as error:  # whatever else happens is a fault of this model, and the zoo goes on
                found.faults.append(f"{part.__name__[1:]}: {type(error).__name__}: {str(error)[:200]}")
    return found


def _picked(recipe: Recipe) -> tuple[Any, Any]:
    """Rows to explain and rows to compare with, none of them in both."""
    x = table(recipe.data).x
    places = np.random.default_rng(0).permutation(len(x))[: ROWS + BACKGROUND]
    return x.iloc[places[:ROWS]].reset_index(drop=True), x.iloc[places[ROWS:]].reset_index(drop=True)


def _explained(found: Finding, call: Any) -> TableExplanation:
    start = time.process_time()
    try:
        result = call()
    finally:
        found.seconds += time.process_time() - start
    assert isinstance(result, TableExplanation)
    return result


def _with_background(found: Finding, model: Any) -> None:
    rows, background = _picked(found.recipe)
    for payoff in (None, *RAW):
        try:
            e = _explained(found, lambda payoff=payoff: accredit.explain_rows(rows, model, background, payoff=payoff))
        except AccreditError as error:
            if payoff is None:
                found.refused, found.reason = True, str(error)
                return
            continue
        _compare_output(found, model, rows, e)
        oracle = brute_force(model, rows, background, e.payoff)
        if oracle is not None:
            _compare(found, f"background, {e.payoff}, all coalitions", e, *oracle)
        if e.method.closed_form:
            found.closed = e.payoff
            return
        if payoff is None:
            found.reason = next((str(note) for note in e.notes if any(way in str(note) for way in INSTEAD)), "")
            if not found.reason:
                found.faults.append("no closed form, and not a word why")


def _by_cover(found: Finding, model: Any) -> None:
    rows, _ = _picked(found.recipe)
    oracle = contributions(model, rows)
    if oracle is None and found.recipe.library == "scikit-learn":
        return
    for payoff in (None, *RAW):
        try:
            explain = accredit.Explainer(model, dependence="cover", payoff=payoff)
            e = _explained(found, lambda explain=explain: explain(rows))
        except AccreditError as error:
            found.cover = found.cover or f"refused: {error}"
            continue
        before = len(found.faults)
        _compare_output(found, model, rows, e)
        if oracle is not None:
            _compare(found, f"cover ratios, {e.payoff}", e, *oracle)
        elif found.recipe.data not in CLASSES and found.recipe.library not in (
            "xgboost",
            "lightgbm",
        ):  # there covers are counts of rows
            _compare_start(found, model, e)
        found.cover = "right" if len(found.faults) == before else "wrong"
        return


def _compare_start(found: Finding, model: Any, e: TableExplanation) -> None:
    """Cover ratios start from the mean of what the model says about the rows that it was trained on."""
    mean = own_output(model, table(found.recipe.data).x, e.payoff).mean(axis=0)
    gap = float(np.abs(e.base - mean).max())
    _note(found, "cover ratios start from the mean of the training rows", gap, _allowed(found, e.credit, mean))


def _compare_output(found: Finding, model: Any, rows: Any, e: TableExplanation) -> None:
    """Base and credit add up to what the model itself says, on the scale that the result names."""
    own = own_output(model, rows, e.payoff)
    total = e.base + e.credit.sum(axis=1)
    if own.shape != total.shape:
        found.faults.append(f"{e.payoff}: {total.shape[1]} outputs, where the model has {own.shape[1]}")
        return
    for what, said in (("base + credit", total), ("prediction", e.prediction)):
        gap, allowed = np.abs(said - own).max(), _allowed(found, e.credit, own)
        _note(found, f"{what} is the model's {e.payoff}", gap, allowed)


def _compare(found: Finding, what: str, e: TableExplanation, credit: FloatArray, base: FloatArray) -> None:
    ours, start = e.credit, e.base
    if credit.shape[2] == 1 and ours.shape[2] == 2:  # of two classes the score of the second; of a mean and its error the mean
        k = 1 if np.array_equal(ours[..., 0], -ours[..., 1]) else 0
        ours, start = ours[..., [k]], start[[k]]
    if credit.shape != ours.shape:
        found.faults.append(f"{what}: credit of shape {ours.shape}, expected {credit.shape}")
        return
    allowed = _allowed(found, credit, base)
    _note(found, what, np.abs(ours - credit).max(), allowed)
    _note(found, f"{what}, base", np.abs(start - base).max(), allowed)


def _allowed(found: Finding, credit: FloatArray, outputs: FloatArray) -> float:
    size, level = float(np.abs(credit).max()), float(np.abs(outputs).max())
    if found.recipe.library in SINGLE:
        return CLOSE_SINGLE * size + LAST_BIT * level
    return CLOSE * (size + level) + 1e-12


def _note(found: Finding, what: str, gap: float, allowed: float) -> None:
    if gap <= allowed:
        found.checks.append(what)
    else:
        found.faults.append(f"{what}: off by {gap:.3g}, allowed {allowed:.3g}")
