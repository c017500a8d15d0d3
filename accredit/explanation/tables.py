"""Rows of a table: the question, checked, and the result with everything that is needed to read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from accredit.core import FloatArray, InvalidInput, checked_seed, optional_whole
from accredit.core.version import __version__
from accredit.explanation.backgrounds import Compared, compared_with
from accredit.explanation.row_answers import Answer, Asked, are_trees, avoided, part
from accredit.explanation.row_pairs import RowPairs, check_pairs
from accredit.explanation.table import TableExplanation
from accredit.games.rows import DEPENDENCE, columns_as_players, outputs_of_rows
from accredit.methods import find
from accredit.models.categories import with_categories
from accredit.models.frames import Rows, aligned, joined, rows_of
from accredit.models.labels import checked_index, label_index
from accredit.models.partition import Partition
from accredit.models.payoffs import Payoff
from accredit.models.rows import as_row_model

OPPOSITE = ("logit", "log-odds", "probability", "margin")  # in which two classes earn opposite credits
SEEN = 1000  # rows by which the unit of the payoff is chosen
CORRELATED = 0.7  # from which two columns are named
CHANCE = 4.5  # standard errors (Fisher's z) that no pair among hundreds reaches by chance
COVER = (
    "absent columns send the row down both sides of their tests, in the proportion of the training rows (cover ratios)"
)


def explanation_of(asked: Asked, answer: Answer, target: str | int | None) -> TableExplanation:
    """The answer with everything that is needed to read it."""
    shown, chosen = _target(asked, asked.prediction, target)
    return TableExplanation(
        asked.partition.players,
        asked.outputs,
        answer.credit,
        answer.base,
        asked.prediction,
        player_cells(asked.rows, asked.partition),
        answer.method,
        shown,
        asked.rows.names,
        asked.unit,
        asked.model.name,
        COVER if asked.dependence == "cover" else DEPENDENCE[asked.dependence],
        answer.precision,
        answer.interval,
        answer.claims,
        (*asked.compared.notes, *asked.said, *avoided(asked, answer), *_draws(asked), *chosen, *_correlated(asked)),
        {**asked.compared.facts, "dependence": asked.dependence, "budget": asked.budget, "seed": asked.seed,
         "accredit": __version__},
        **_kept(answer.pairs),
        method_name=asked.method.name,
    )  # fmt: skip


def _kept(pairs: RowPairs | None) -> dict[str, Any]:
    """Interactions as a result keeps them."""
    if pairs is None:
        return {}
    return {"pairs": pairs.values, "pairs_index": pairs.index, "pairs_precision": pairs.precision,
            "pairs_interval": pairs.interval}  # fmt: skip


def question(
    rows: Any,
    model: Any,
    background: Any = None,
    *,
    method: str = "shapley",
    payoff: Payoff | None = None,
    players: Mapping[str, Iterable[str | int]] | None = None,
    dependence: str | None = None,
    weights: Any = None,
    most_background: int | None = None,
    background_by: str | None = None,
    names: Iterable[str] | None = None,
    budget: int | None = None,
    seed: int = 0,
    interactions: bool = False,
) -> Asked:
    """What is asked about rows, checked; `background` may have been chosen before."""
    asked_model, named = as_row_model(model).paying(payoff)
    if dependence is not None and dependence not in (*DEPENDENCE, "cover"):
        raise InvalidInput(f"dependence is {dependence!r}; write one of {', '.join(DEPENDENCE)}, or cover for trees")
    optional_whole(budget, "budget", example=1000)
    if not isinstance(background, Compared):
        background = compared_with(
            rows, background, most=most_background, by=background_by, weights=weights, dependence=dependence, names=names,
            seed=checked_seed(seed), are_trees=lambda: are_trees(asked_model),
        )  # fmt: skip
    compared = background.rows
    given = rows_of(rows, names) if compared is None else aligned(rows, compared)
    both, widened = (given.table, ()) if compared is None else joined(given, compared)
    both, remembered = with_categories(both, asked_model.model)
    unit, because = asked_model.unit_for(named, part(both, 0, SEEN))
    outputs = outputs_of_rows(asked_model, unit, both, given, 0 if compared is None else len(compared))
    partition = columns_as_players(given.columns, players)
    if interactions:
        check_pairs(partition.players)
    way = dependence or ("cover" if compared is None else "interventional")
    return Asked(
        asked_model, unit, payoff if callable(payoff) else unit, asked_model.labels(outputs.shape[1]),
        given, background, both, partition, find(method, "game"), way, budget, seed, interactions, outputs,
        (*widened, *remembered, *filter(None, [because])),
    )  # fmt: skip


def _draws(asked: Asked) -> tuple[str, ...]:
    said = "Draws of the normal distribution are shared by all coalitions; their error is not in the intervals."
    return (said,) if asked.dependence == "gaussian" else ()


# What the reader must know


def _target(asked: Asked, prediction: FloatArray, target: str | int | None) -> tuple[str, tuple[str, ...]]:
    """The output that is shown first, and why it was chosen."""
    if isinstance(target, str):
        return asked.outputs[label_index(target, asked.outputs)], ()
    if target is not None:
        return asked.outputs[checked_index(target, len(asked.outputs))], ()
    if len(asked.outputs) == 1:
        return asked.outputs[0], ()
    if not asked.model.classifies:
        return asked.outputs[0], (
            f"Shown first is {asked.outputs[0]!r} of {len(asked.outputs)} outputs; see .of(…) for the others.",
        )
    if len(asked.outputs) == 2 and len(prediction) > 1 and asked.unit in OPPOSITE:
        return asked.outputs[1], (f"Shown is class {asked.outputs[1]!r}; its credits are the opposite of the other's.",)
    commonest = int(np.bincount(asked.model.predicted(prediction, asked.unit), minlength=len(asked.outputs)).argmax())
    why = "the predicted class" if len(prediction) == 1 else "the class predicted most often"
    return asked.outputs[commonest], (
        f"Shown first is {asked.outputs[commonest]!r}, {why}; see .of(…) for the others.",
    )


def _correlated(asked: Asked) -> tuple[str, ...]:
    """Columns that go together: there interventional and conditional answers part."""
    table = asked.background()
    if table is None or len(table) < 3 or asked.dependence != "interventional":
        return ()
    columns = [
        table[:, i] if isinstance(table, np.ndarray) else table.iloc[:, i] for i in range(len(asked.rows.columns))
    ]
    usable = [i for i, c in enumerate(columns) if getattr(c.dtype, "kind", "O") in "biuf"]
    numbers = np.array([np.asarray(columns[i], dtype=np.float64) for i in usable]).reshape(len(usable), len(table))
    steady = (
        np.isfinite(numbers).all(axis=1) & (np.ptp(numbers, axis=1) > 0) if len(usable) else np.zeros(0, dtype=bool)
    )
    if steady.sum() < 2:
        return ()
    together = np.abs(np.corrcoef(numbers[steady]))
    np.fill_diagonal(together, 0.0)
    a, b = np.unravel_index(int(together.argmax()), together.shape)
    beyond_chance = np.arctanh(min(together[a, b], 1 - 1e-12)) * np.sqrt(len(table) - 3) > CHANCE
    if together[a, b] < CORRELATED or not beyond_chance:
        return ()
    names = [asked.rows.columns[usable[i]] for i in np.flatnonzero(steady)[[a, b]].tolist()]
    return (
        f"Columns “{names[0]}” and “{names[1]}” go together (correlation {together[a, b]:.2f} in size): the credit says what "
        "the model does with each, not what each says about the other. The dependence “empirical” answers that instead.",
    )


def player_cells(rows: Rows, partition: Partition) -> tuple[tuple[Any, ...], ...]:
    """Each player's value in every row; several columns of one player as text."""
    cells = rows.cells()
    mine = [np.flatnonzero(partition.owner == k).tolist() for k in range(len(partition.players))]
    return tuple(
        cells[own[0]]
        if len(own) == 1
        else tuple(", ".join(f"{rows.columns[i]}={cells[i][r]}" for i in own) for r in range(len(rows)))
        for own in mine
    )
