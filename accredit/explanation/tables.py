"""`explain` for rows of a table: exactly where the model's form allows it, else as one game per row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from accredit.core import Attribution, Attributions, Claim, FloatArray, InvalidInput, Precision, checked_seed
from accredit.core.version import __version__
from accredit.explanation.backgrounds import Compared, compared_with
from accredit.explanation.row_pairs import RowPairs, check_pairs, gathered_pairs, pair_index, pairs_of_game
from accredit.explanation.table import TableExplanation
from accredit.games import cached
from accredit.games.rows import DEPENDENCE, columns_as_players, row_game
from accredit.methods import Chosen, find
from accredit.models.frames import Rows, aligned, joined, rows_of
from accredit.models.labels import label_index
from accredit.models.partition import Partition
from accredit.models.rows import RowModel, as_row_model
from accredit.values.exact import SHAPLEY_CLAIMS, semivalue_claims
from accredit.values.semivalues import banzhaf_weights, beta_weights, check_weights

CORRELATED = 0.7  # from which two columns are named
UNIT = {
    "margin": "logit",
    "probability": "probability",
    "value": "value",
}  # what a closed form shares -> our word for it
COVER = (
    "absent columns send the row down both sides of their tests, in the proportion of the training rows (cover ratios)"
)


@dataclass(frozen=True, eq=False)
class _Asked:
    """Everything a way of solving needs."""

    model: RowModel
    unit: str
    outputs: tuple[str, ...]
    rows: Rows
    background: Rows | None
    weights: FloatArray  # (m,), summing to 1
    both: Any  # background and rows in one table; the rows alone without a background
    partition: Partition
    method: Chosen
    dependence: str
    budget: int | None
    seed: int
    interactions: bool


@dataclass(frozen=True, eq=False)
class _Answer:
    credit: FloatArray  # (rows, players, outputs)
    base: FloatArray  # (outputs,)
    method: str
    precision: Precision
    claims: tuple[Claim, ...]
    interval: FloatArray | None = None
    notes: tuple[str, ...] = ()
    pairs: RowPairs | None = None


def explain_rows(
    rows: Any,
    model: Any,
    background: Any = None,
    *,
    method: str = "shapley",
    target: str | int | None = None,
    payoff: str | None = None,
    players: Mapping[str, Iterable[str | int]] | None = None,
    dependence: str | None = None,
    weights: Any = None,
    most_background: int | None = None,
    background_by: str | None = None,
    names: Iterable[str] | None = None,
    budget: int | None = None,
    seed: int = 0,
    interactions: bool = False,
    watch: Callable[[int], None] | None = None,
) -> TableExplanation:
    """Which columns earned the model's outputs, for one row or many, all classes at once.

    `background` holds the rows that a row is compared with, each counted by `weights`. All of them are used, unless
    `most_background` says how many, chosen `background_by` "draw" or "medoids" (real rows in the middle of clusters, counted
    by the rows of each); the result says so. Without a background, 20 rows or more are compared with one another, and a tree
    ensemble is read by its cover ratios. `payoff` is what is shared:
    the raw score ("logit"), "log-odds", "probability", or a regression's number ("value"). `dependence` says what stands in
    for absent columns: interventional (the default), empirical, gaussian, or cover (trees). `players` groups columns.
    `interactions` adds those of every two columns: exact for trees and sums of columns, else from one game per row, which asks
    as many coalitions again where they are not all asked.

    >>> e = explain_rows([[3.0, 4.0]], lambda rows: rows @ [2.0, 1.0], [[1.0, 1.0], [1.0, 3.0]])
    >>> e.row(0).as_dict(), e.base.tolist()
    ({'x0': 4.0, 'x1': 2.0}, [4.0])
    """
    asked, compared, notes = _asked(rows, model, background, method, payoff, players, dependence, weights, most_background,
                                    background_by, names, budget, seed, interactions)  # fmt: skip
    answer = _closed(asked) or _games(asked, watch)
    start = 0 if asked.background is None else len(asked.background)
    explained = _part(asked.both, start, start + len(asked.rows))
    prediction = asked.model.outputs(explained, asked.unit)
    shown, chosen = _target(asked, prediction, target)
    return TableExplanation(
        asked.partition.players,
        asked.outputs,
        answer.credit,
        answer.base,
        prediction,
        _player_cells(asked.rows, asked.partition),
        answer.method,
        shown,
        asked.rows.names,
        asked.unit,
        asked.model.name,
        COVER if asked.dependence == "cover" else DEPENDENCE[asked.dependence],
        answer.precision,
        answer.interval,
        answer.claims,
        (*notes, *answer.notes, *chosen, *_correlated(asked)),
        {**compared.facts, "dependence": asked.dependence, "budget": budget, "seed": seed, "accredit": __version__},
        **_kept(answer.pairs),
    )  # fmt: skip


def _kept(pairs: RowPairs | None) -> dict[str, Any]:
    """Interactions as a result keeps them."""
    if pairs is None:
        return {}
    return {"pairs": pairs.values, "pairs_index": pairs.index, "pairs_precision": pairs.precision,
            "pairs_interval": pairs.interval}  # fmt: skip


def _asked(
    rows: Any, model: Any, background: Any, method: str, payoff: str | None, players: Any, dependence: str | None,
    weights: Any, most_background: int | None, background_by: str | None, names: Iterable[str] | None, budget: int | None,
    seed: int, interactions: bool,
) -> tuple[_Asked, Compared, tuple[str, ...]]:  # fmt: skip
    """The question, checked, and what had to be chosen or widened to ask it."""
    asked_model = as_row_model(model)
    if dependence is not None and dependence not in (*DEPENDENCE, "cover"):
        raise InvalidInput(f"dependence is {dependence!r}; write one of {', '.join(DEPENDENCE)}, or cover for trees")
    if not isinstance(background, Compared):
        background = compared_with(rows, background, most=most_background, by=background_by, weights=weights,
                                   dependence=dependence, names=names, seed=checked_seed(seed),
                                   are_trees=lambda: _readable_trees(asked_model))  # fmt: skip
    compared, counted = background.rows, background.weights
    given = rows_of(rows, names) if compared is None else aligned(rows, compared)
    both, widened = (given.table, ()) if compared is None else joined(given, compared)
    unit = asked_model.unit(payoff)
    count = asked_model.outputs(_part(both, 0, 1), unit).shape[1]
    partition = columns_as_players(given.columns, players)
    if interactions:
        check_pairs(partition.players)
    way = dependence or ("cover" if compared is None else "interventional")
    asked = _Asked(
        asked_model,
        unit,
        asked_model.labels(count),
        given,
        compared,
        counted,
        both,
        partition,
        find(method, "game"),
        way,
        budget,
        seed,
        interactions,
    )
    return asked, background, (*background.notes, *widened)


# Two ways to an answer: in closed form, or as games


def _readable_trees(model: RowModel) -> bool:
    from accredit.trees import NotTrees, ensemble_of

    try:
        ensemble_of(model.model)
    except NotTrees:
        return False
    return True


def _closed(asked: _Asked) -> _Answer | None:
    """Exact credit of trees, linear models and pipelines of either, in the unit that they add up in; None where there is no
    closed form. Cover ratios have no other way, so there it is an error."""
    try:
        return _in_closed_form(asked)
    except _NoClosedForm as why:
        if asked.dependence == "cover":
            raise InvalidInput(f"dependence='cover' cannot be had here: {why}; give background=… instead") from None
        return None


class _NoClosedForm(Exception):
    """Why this question has no closed form."""


def _in_closed_form(asked: _Asked) -> _Answer:
    from accredit.trees import NotLinear, NotSeparable, NotTrees, closed_form

    rule = _semivalue(asked.method)
    if rule is None:
        raise _NoClosedForm(f"{asked.method.name} has no closed form")
    if asked.dependence not in ("interventional", "cover"):
        raise _NoClosedForm(f"dependence {asked.dependence!r} has no closed form")
    start = 0 if asked.background is None else len(asked.background)
    rows = _part(asked.both, start, start + len(asked.rows))
    compared = None if asked.background is None else _part(asked.both, 0, start)
    weights = None if compared is None else asked.weights
    try:
        got = closed_form(
            asked.model.model, rows, compared, value=rule, weight=weights, players=asked.partition.owner,
            interactions=asked.interactions,
        )  # fmt: skip
    except (NotTrees, NotLinear, NotSeparable) as why:
        raise _NoClosedForm(str(why)) from None
    if UNIT.get(got.payoff) != asked.unit:
        raise _NoClosedForm(f"the model adds up to its {got.payoff}, and its {asked.unit} was asked for")
    credit, base = (_two_classes(found, len(asked.outputs)) for found in (got.credit, got.base))
    exact = Precision.exact("in closed form, checked against the model's own output")
    pairs = None
    if got.pairs is not None:
        pairs = RowPairs(pair_index(rule), _two_classes(got.pairs, len(asked.outputs)), exact)
    return _Answer(credit, base, f"{asked.method.name}/closed form", exact, _claims(asked), pairs=pairs)


def _two_classes(found: FloatArray, outputs: int) -> FloatArray:
    """One score for two classes, on the last axis, speaks for the second; for the first it is its opposite."""
    return np.concatenate([-found, found], axis=-1) if found.shape[-1] == 1 and outputs == 2 else found


def _semivalue(method: Chosen) -> Any:
    """The method as trees take it: a value, or ("beta", α, β), or one weight per size; None where it is not a semivalue."""
    match method.method.name:
        case "shapley" | "banzhaf":
            return method.method.name
        case "beta":
            return "beta", method.parameters["alpha"], method.parameters["beta"]
        case "semivalue":
            return method.parameters["weights"]
    return None


def _games(asked: _Asked, watch: Callable[[int], None] | None) -> _Answer:
    """One game per row; every output from the same evaluations."""
    if asked.background is None:
        raise InvalidInput("background is missing; write background=some_training_rows")
    count, each, pairs = len(asked.background), [], []
    solver = asked.method.solver(asked.budget, asked.seed)
    for r in range(len(asked.rows)):
        game = row_game(
            asked.model, asked.unit, asked.outputs, asked.both, count + r, asked.weights, asked.partition,
            dependence=asked.dependence, seed=asked.seed,
        )  # fmt: skip
        kept = cached(game) if asked.interactions else game
        if asked.interactions:
            pairs.append(pairs_of_game(kept, asked.method.name, asked.budget, asked.seed))
        each.append(solver.solve(kept))
        if watch is not None:
            watch(r + 1)
    answer = _gathered(each, asked)
    return replace(answer, pairs=gathered_pairs(pairs, asked.outputs)) if pairs else answer


def _gathered(each: list[Attributions], asked: _Asked) -> _Answer:
    """The rows' answers in one; intervals only where every row has them."""
    every = [one[name] for one in each for name in asked.outputs]
    first = every[0]
    known = all(one.interval is not None for one in every)
    interval = None
    if known:
        interval = np.stack(
            [np.stack([np.asarray(one[name].interval) for name in asked.outputs], axis=1) for one in each]
        )
    notes = ("Draws of the normal distribution are shared by all coalitions; their error is not in the intervals.",)
    return _Answer(
        np.stack([one.credit for one in each]),
        np.array([each[0][name].baseline or 0.0 for name in asked.outputs]),
        first.method,
        _precision(every, known),
        first.claims,
        interval,
        notes if asked.dependence == "gaussian" else (),
    )


def _precision(every: list[Attribution], known: bool) -> Precision:
    """How well all rows are known: as well as the least known of them."""
    worst = next((one for one in every if not (known or one.exact)), every[0])
    assert worst.precision is not None
    return worst.precision


def _claims(asked: _Asked) -> tuple[Claim, ...]:
    n, because = len(asked.partition.players), "computed in closed form"
    match _semivalue(asked.method):
        case "shapley":
            return SHAPLEY_CLAIMS
        case "banzhaf":
            return semivalue_claims(banzhaf_weights(n), because)
        case ("beta", alpha, b):
            return semivalue_claims(beta_weights(n, alpha, b), because)
        case weights:
            return semivalue_claims(check_weights(weights, n), because)


# What the reader must know


def _target(asked: _Asked, prediction: FloatArray, target: str | int | None) -> tuple[str, tuple[str, ...]]:
    """The output that is shown first, and why it was chosen."""
    if isinstance(target, str):
        return asked.outputs[label_index(target, asked.outputs)], ()
    if target is not None:
        if isinstance(target, bool) or not 0 <= target < len(asked.outputs):
            raise InvalidInput(f"target is {target!r}; give an output from 0 to {len(asked.outputs) - 1}, or a label")
        return asked.outputs[int(target)], ()
    if len(asked.outputs) == 1:
        return asked.outputs[0], ()
    if not asked.model.classifies:
        return asked.outputs[0], (
            f"Shown first is {asked.outputs[0]!r} of {len(asked.outputs)} outputs; see .of(…) for the others.",
        )
    if len(asked.outputs) == 2 and len(prediction) > 1:
        return asked.outputs[1], (f"Shown is class {asked.outputs[1]!r}; its credits are the opposite of the other's.",)
    commonest = int(np.bincount(prediction.argmax(axis=1), minlength=len(asked.outputs)).argmax())
    why = "the predicted class" if len(prediction) == 1 else "the class predicted most often"
    return asked.outputs[commonest], (
        f"Shown first is {asked.outputs[commonest]!r}, {why}; see .of(…) for the others.",
    )


def _correlated(asked: _Asked) -> tuple[str, ...]:
    """Columns that go together: there interventional and conditional answers part."""
    if asked.background is None or len(asked.background) < 3 or asked.dependence != "interventional":
        return ()
    table = _part(asked.both, 0, len(asked.background))
    columns = [
        table[:, i] if isinstance(table, np.ndarray) else table.iloc[:, i] for i in range(len(asked.rows.columns))
    ]
    usable = [i for i, c in enumerate(columns) if getattr(c.dtype, "kind", "O") in "biuf"]
    numbers = np.array([np.asarray(columns[i], dtype=np.float64) for i in usable]).reshape(len(usable), -1)
    steady = (
        np.isfinite(numbers).all(axis=1) & (np.ptp(numbers, axis=1) > 0) if len(usable) else np.zeros(0, dtype=bool)
    )
    if steady.sum() < 2:
        return ()
    together = np.abs(np.corrcoef(numbers[steady]))
    np.fill_diagonal(together, 0.0)
    a, b = np.unravel_index(int(together.argmax()), together.shape)
    if together[a, b] < CORRELATED:
        return ()
    names = [asked.rows.columns[usable[i]] for i in np.flatnonzero(steady)[[a, b]].tolist()]
    return (
        f"Columns {names[0]!r} and {names[1]!r} go together (correlation {together[a, b]:.2f} in size): the credit says what "
        "the model does with each, not what each says about the other. dependence='empirical' answers that instead.",
    )


def _player_cells(rows: Rows, partition: Partition) -> tuple[tuple[Any, ...], ...]:
    """Each player's value in every row; several columns of one player as text."""
    cells = rows.cells()
    mine = [np.flatnonzero(partition.owner == k).tolist() for k in range(len(partition.players))]
    return tuple(
        cells[own[0]]
        if len(own) == 1
        else tuple(", ".join(f"{rows.columns[i]}={cells[i][r]}" for i in own) for r in range(len(rows)))
        for own in mine
    )


def _part(table: Any, start: int, stop: int) -> Any:
    return table[start:stop] if isinstance(table, np.ndarray) else table.iloc[start:stop].reset_index(drop=True)
