"""One valuation from start to end: the utility, the rule, suspects and curves. What the command shows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from accredit.core import Attribution, Game, InvalidInput, MissingExtra, TooManyPlayers
from accredit.core.plain import cell, plain
from accredit.evaluate.data import Curve, random_removal_curve, removal_curve
from accredit.games import grouped
from accredit.methods import AUTO_EXACT, Chosen, find
from accredit.store import Executor, Journal, durable
from accredit.valuation.knn import KNNUtility
from accredit.valuation.retraining import Retraining
from accredit.valuation.ridge import RidgeUtility
from accredit.valuation.rules import NEIGHBOURS, WEIGHT_DECAY
from accredit.valuation.split import Split
from accredit.valuation.suspects import Suspect, suspects
from accredit.valuation.tables import Table
from accredit.values import shapley_interactions

MODELS = ("logistic", "ridge", "forest")
CURVE_STEPS, CURVE_ORDERS = 10, 3
FIT_OVERHEAD, SMALL_WORK = 50_000, 50_000_000  # in cells of the training table
FEW_GROUPS, SYNERGIES = 12, 6  # up to this many groups, this many interactions are shown


@dataclass(frozen=True, eq=False)
class Valuation:
    """Values of training data, and what they suggest."""

    values: Attribution
    suspects: tuple[Suspect, ...]
    curves: tuple[Curve, ...]
    payoff: str  # what is divided, in words
    trained: int  # payoffs evaluated in this run
    recalled: int  # payoffs found in the journal
    synergy: tuple[tuple[tuple[str, ...], float], ...] = ()  # pairs of groups, Shapley interaction, strongest first

    def to_json(self) -> str:
        """Everything, as JSON."""
        data = {
            "kind": "valuation",
            "format": 2,
            "payoff": self.payoff,
            "trained": self.trained,
            "recalled": self.recalled,
            "values": json.loads(self.values.to_json()),
            "suspects": [vars(suspect) for suspect in self.suspects],
            "synergy": [{"pair": pair, "index": index} for pair, index in self.synergy],
            "curves": [{"label": c.label, "fractions": c.fractions, "payoffs": c.payoffs} for c in self.curves],
        }
        return json.dumps(plain(data, "valuation"), ensure_ascii=False)


def value_table(
    table: Table,
    method: str = "knn-shapley",
    model: str = "logistic",
    *,
    budget: int = 2000,
    seed: int = 0,
    journal: Journal | None = None,
    executor: str | Executor | None = None,
    watch: Callable[[int], None] | None = None,
    started: Callable[[], None] | None = None,
    curves: bool = True,
) -> Valuation:
    """Value the rows, or the groups of rows, of a table by one method for training data (see `accredit methods`).

    `started` is called when the request and the journal are accepted, before anything is trained; `watch` with the number
    of payoffs known so far.
    """
    chosen = find(method, "training data")
    _check(chosen, model, len(table.groups or table.data.names), budget, table)
    if chosen.name == "knn-shapley":
        if started:
            started()
        game = _players(KNNUtility(table.data, NEIGHBOURS), table)
        values = _credit(chosen, table, game, budget, seed)
        payoff = f"share of right labels among the {NEIGHBOURS} nearest neighbours"
        return Valuation(values, suspects(values, table.rows), _curves(game, values) if curves else (), payoff, 0, 0)
    rows = utility(table.data, model, seed)
    with durable(rows, journal, _executor(rows, executor, budget), seed=seed, watch=watch) as kept:
        if started:
            started()
        game = _players(kept, table)
        values = _credit(chosen, table, game, budget, seed)
        lines = _curves(game, values) if curves else ()
        pairs = _synergy(game, budget) if table.groups is not None and chosen.name == "shapley" else ()
        payoff = f"test {rows.metric} of {model}{_scored(chosen.name, table)}"
        return Valuation(values, suspects(values, table.rows), lines, payoff, kept.evaluated, kept.recalled, pairs)


def _credit(chosen: Chosen, table: Table, game: Game, budget: int, seed: int) -> Attribution:
    """What a method says about the rows or groups: a value of the game, or a rule that knows the rows."""
    credit: Attribution
    if chosen.method.kind == "game":
        credit = chosen.solver(budget, seed, table.nested).solve(game)
    else:
        credit = chosen.load()(table, game, budget, seed)
    return credit


def _scored(method: str, table: Table) -> str:
    """What the scores are about where that is not the payoff of the curves."""
    if method == "influence":
        return f"; the scores are about its mean test loss, weight decay {WEIGHT_DECAY}"
    if method == "datamodel" and table.groups is None:
        return "; the scores are about its outputs at the test rows"
    return ""


def utility(data: Split, model: str, seed: int = 0) -> Retraining | RidgeUtility:
    """The game of a named model; regressors for numbers, classifiers for classes."""
    if model == "ridge":
        return RidgeUtility(data, l2=1.0)
    try:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtra("scikit-learn", "data", f"--model {model}") from None
    if model == "logistic":
        return Retraining(data, LogisticRegression(max_iter=1000), seed=seed)
    return Retraining(data, (RandomForestRegressor if data.classes is None else RandomForestClassifier)(50), seed=seed)


def _executor(rows: Retraining | RidgeUtility, executor: str | Executor | None, budget: int) -> str | Executor:
    """Worker processes, unless all trainings together take less time than starting workers.

    Decided by sizes, not by the clock, so that a resumed run trains where the first one did.
    """
    if executor is not None:
        return executor
    work = budget * (rows.data.x.size + FIT_OVERHEAD)
    return "serial" if isinstance(rows, RidgeUtility) or work < SMALL_WORK else "processes"


def _players(game: Game, table: Table) -> Game:
    return game if table.groups is None else grouped(game, table.groups)


def _curves(game: Game, values: Attribution) -> tuple[Curve, ...]:
    ends = [removal_curve(game, values, steps=CURVE_STEPS, highest_first=first) for first in (True, False)]
    return (*ends, random_removal_curve(game, steps=CURVE_STEPS, orders=CURVE_ORDERS))


def _synergy(game: Game, budget: int) -> tuple[tuple[tuple[str, ...], float], ...]:
    """Pairs of groups that are worth more, or less, together: known when all coalitions of groups were asked."""
    if len(game.players) > FEW_GROUPS or 2 ** len(game.players) > budget:
        return ()
    return tuple(shapley_interactions(game).strongest(SYNERGIES))


def _check(chosen: Chosen, model: str, players: int, budget: int, table: Table) -> None:
    """Refuse, before anything is trained, what cannot be answered."""
    method = chosen.name
    if model not in MODELS:
        raise InvalidInput(f"unknown model {model!r}; choose {', '.join(MODELS)}")
    nearest = method == "knn-shapley"
    numbers = table.data.classes is None
    if numbers and (nearest or model == "logistic"):
        raise InvalidInput(
            f"the target is a number, not a class, and {method if nearest else '--model logistic'} is for classes; "
            f"write --method {'shapley' if nearest else method} --model ridge, or --task class if it is one"
        )
    if method == "influence" and model != ("ridge" if numbers else "logistic"):
        raise InvalidInput(
            f"--model {model} has no influence function here; write --model {'ridge' if numbers else 'logistic'}"
        )
    if chosen.method.kind != "game":
        return
    if table.nested is not None and "groups" not in chosen.method.takes:
        raise InvalidInput(f"--groups does not go with --method {method}; only owen divides inside groups")
    chosen.solver(budget, 0, table.nested)  # refuses parameters that no game could use
    if method == "leave-one-out":
        if players + 2 > budget:
            raise TooManyPlayers(
                f"leaving out each of {players} players takes {players + 2} trainings, and the budget is {budget}; "
                f"write --budget {players + 2}, or --method knn-shapley or influence, or --players COLUMN"
            )
    elif players > AUTO_EXACT and budget < 2 * players:
        raise TooManyPlayers(
            f"{budget} trainings say too little about {players} players; write --budget {2 * players} or more, "
            "or --method knn-shapley or influence, or --players COLUMN to value groups"
        )


def as_csv(report: Valuation, labels: Sequence[str] | None = None) -> str:
    """One line per player: credit, and stderr, low and high where known."""
    values = report.values
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    extra: dict[str, Any] = {}
    if labels is not None and len(labels) == len(values):
        extra["label"] = [cell(label) for label in labels]
    if values.stderr is not None:
        extra["stderr"] = values.stderr.tolist()
    if values.interval is not None:
        extra |= {"low": values.interval[:, 0].tolist(), "high": values.interval[:, 1].tolist()}
    writer.writerow(["player", "credit", *extra])
    for i in np.argsort(-values.credit, kind="stable"):
        writer.writerow([cell(values.players[i]), float(values.credit[i]), *(column[i] for column in extra.values())])
    return out.getvalue()
