"""What is each row, or group of rows, worth? One method for training data, one model, one budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from accredit import defaults
from accredit.checks import needs
from accredit.core import Attribution, Attributions, Game
from accredit.core.coalitions import all_coalitions
from accredit.core.game import tabulate
from accredit.errors import InvalidInput, TooManyPlayers
from accredit.evaluate.data import Curve, random_removal_curve, removal_curve
from accredit.games import grouped
from accredit.methods import ChosenMethod, find
from accredit.store import Durable, Executor, Journal, durable
from accredit.training_data.report import Valuation
from accredit.training_data.rules import KNN_NEIGHBOURS, WEIGHT_DECAY, nearest_rows
from accredit.training_data.suspects import RowFacts, harmful
from accredit.training_data.tables import Table
from accredit.valuation.certainty import FEWEST_TESTS
from accredit.valuation.cross_fit import CrossFit, cross_fit
from accredit.valuation.finetuning import fine_tuning
from accredit.valuation.forecast import PILOT_TRAININGS, Forecast, forecast, settle_budget
from accredit.valuation.knn import KNNUtility
from accredit.valuation.knn_numbers import KNNRegression
from accredit.valuation.parts_of_tests import PaidByPart, Remembered, cover_tests, parts_for
from accredit.valuation.purchases import MOST_SOURCES, Purchases, best_purchases, copied_rows
from accredit.valuation.resolution import resolution
from accredit.valuation.retraining import Retraining
from accredit.valuation.ridge import RidgeUtility
from accredit.valuation.split import Split
from accredit.valuation.torch_training import TorchTraining
from accredit.valuation.utility import Utility
from accredit.values import shapley_interactions

MODELS = ("logistic", "ridge", "forest")
FINE_TUNE = "finetune:"  # before the folder of a pretrained transformer that every coalition fine-tunes
CURVE_STEPS, CURVE_ORDERS = 10, 3
FIT_OVERHEAD, SMALL_WORK = 50_000, 50_000_000  # in cells of the training table
FEW_GROUPS, SYNERGIES = 12, 6  # up to this many groups, this many interactions are shown


def value_table(
    table: Table,
    method: str = "knn-shapley",
    model: str = "logistic",
    *,
    budget: int | None = None,
    half_width: float | None = None,
    seed: int = 0,
    journal: Journal | None = None,
    executor: str | Executor | None = None,
    limit: float | None = None,
    watch: Callable[[int], None] | None = None,
    started: Callable[[], None] | None = None,
    told: Callable[[str, int], None] | None = None,
    curves: bool = True,
    folds: int | None = None,
) -> Valuation:
    """Value the rows, or the groups of rows, of a table by one method for training data (see `accredit methods`).

    `budget` counts trainings, 2,000 unless given. With `half_width`, the trainings needed are estimated from the first of
    them: a smaller budget is refused, and without a budget they are spent; nearest neighbours are then looked at only as far
    as it takes. `started` is called when the request and the journal are accepted, before anything is trained; `told` with what
    the budget will tell and how many trainings it is, before they are spent; `watch` with the number of payoffs known so far.
    With `folds`, nearest neighbours value every row of the file, each a test row in one of so many folds.
    """
    chosen, players = find(method, "training data"), len(table.groups or table.data.names)
    _check(chosen, model, players, budget or defaults.BUDGET, half_width, table)
    neighbours = chosen.name == "knn-shapley"
    if folds is not None:
        return _cross_fit(table, chosen, folds, half_width, seed, journal, executor, watch, started, curves)
    if neighbours and table.groups is None:
        if started:
            started()
        values = nearest_rows(table.data, half_width, executor or "serial", watch)
        lines = _curves(_neighbours(table.data), values) if curves else ()
        named = harmful(values, table.rows)
        return Valuation(values, named, lines, _share(table.data), 0, 0, silent=table.silent, rows=table.rows)
    rows = _neighbours(table.data) if neighbours else _trained(table, model, seed)
    where = _executor(rows, executor, budget or defaults.BUDGET, limit)
    with durable(rows, journal, where, seed=seed, limit=limit, watch=watch) as kept:
        if started:
            started()
        plan = _settle(chosen, players, budget, curves)
        paying = Remembered(kept, rows, parts_for(plan.exact)) if _plays(chosen) else kept
        game = _players(paying, table)
        trainings, words = _forecast(chosen, table, game, plan, budget, half_width, seed)
        if told:
            told(words, plan.budget if half_width is None else trainings + PILOT_TRAININGS)
        values = _credit(chosen, table, game, trainings, seed)
        warnings = plan.warnings
        if isinstance(paying, Remembered):
            warnings += resolution(values)  # of what more trainings would narrow
            values = cover_tests(
                values, paying, _row_of(table), lambda by_part: _of_parts(chosen, table, by_part, trainings, seed)
            )
        lines = _curves(game, values) if plan.curves else ()
        recalled = 0 if journal is None else kept.recalled  # without a journal they were only asked again
        pairs = _synergy(game, trainings) if table.groups is not None and chosen.name in ("shapley", "knn-shapley") else ()
        payoff = _share(table.data) if isinstance(rows, KNNUtility | KNNRegression) else f"test {rows.metric} of {model}"
        payoff += _score(chosen.name, table)
        named = harmful(values, table.rows)
        bought = _purchases(table, paying) if table.prices is not None else None
        free = [name for name, price in (table.prices or {}).items() if not price]
        warnings += (f"the price of {', '.join(free)} is 0, so that it is bought for any amount of money",) if free else ()
        return Valuation(
            values, named, lines, payoff, kept.evaluated, recalled, pairs, table.silent, warnings, table.rows, bought
        )


def _cross_fit(
    table: Table,
    chosen: ChosenMethod,
    folds: int,
    half_width: float | None,
    seed: int,
    journal: Journal | None,
    executor: str | Executor | None,
    watch: Callable[[int], None] | None,
    started: Callable[[], None] | None,
    curves: bool,
) -> Valuation:
    """Every row of the file valued, each a test row in one fold."""
    whole, data = table.whole, table.data
    for is_so, what in (
        (chosen.name != "knn-shapley", f"method={chosen.name!r}"),
        (table.groups is not None, "players, which makes groups of rows"),
        (len(whole.names) != len(data.y) + len(data.test_y), "a test file: rows of the file itself are test rows"),
        (half_width is not None, "half_width"),
        (journal is not None, "store: nothing is trained that could be kept"),
    ):
        if is_so:
            raise InvalidInput(
                f"folds={folds} does not go with {what}; leave one of them out", argument="folds", code="conflict"
            )
    taught = np.isin(np.array(whole.names, dtype=object), np.array(data.names, dtype=object))
    place = np.argsort(np.append(np.flatnonzero(taught), np.flatnonzero(~taught)))
    x, y = np.vstack([data.x, data.test_x])[place], np.concatenate([data.y, data.test_y])[place]
    rows = CrossFit(x, y, whole.names, data.classes, folds, seed, KNN_NEIGHBOURS)
    if started:
        started()
    values = cross_fit(rows, executor or "serial", watch)
    labels, looks = (dict(zip(whole.names, cells, strict=True)) for cells in (whole.labels, whole.shown))
    facts = RowFacts(labels, looks, None, data.classes is not None, table.silent)
    payoff = f"{_share(data)}; mean over {folds} folds, each tested by its rows and taught by the others"
    lines = _curves(rows, values) if curves else ()
    return Valuation(values, harmful(values, facts), lines, payoff, 0, 0, silent=table.silent, rows=facts)


def _neighbours(data: Split) -> KNNUtility | KNNRegression:
    return KNNRegression(data, KNN_NEIGHBOURS) if data.classes is None else KNNUtility(data, KNN_NEIGHBOURS)


def _share(data: Split) -> str:
    """What neighbours divide, in words."""
    if data.classes is None:
        return f"minus the squared error of {KNN_NEIGHBOURS} nearest neighbours, missing ones the mean of all targets"
    return f"share of right labels among the {KNN_NEIGHBOURS} nearest neighbours"


@dataclass(frozen=True)
class Spending:
    """What a budget of trainings goes to."""

    budget: int  # trainings in all, unless a half-width asks for more
    kept: int  # of these, for removal curves
    exact: bool  # every coalition that a value is made of is trained
    curves: bool  # removal curves are trained, too
    warnings: tuple[str, ...] = ()


def _settle(chosen: ChosenMethod, players: int, budget: int | None, curves: bool) -> Spending:
    """Keep what curves take out of the budget, or leave curves out where they would take more than a quarter of it."""
    whole = budget or defaults.BUDGET
    if _plays(chosen) and defaults.affordable(players, whole):
        return Spending(whole, 0, True, curves)  # curves remove whole players, and every coalition of them is trained
    leaves_out = chosen.name == "leave-one-out"
    taken = (2 + CURVE_ORDERS) * (min(CURVE_STEPS, players) - 1)
    affordable = whole - (players + 2) >= taken if leaves_out else taken <= whole // 4
    if curves and affordable:
        return Spending(whole, taken, leaves_out, True)
    said = (f"removal curves would take {taken} more trainings than the budget of {whole:,} has room for; they are left out",)
    return Spending(whole, 0, leaves_out, False, said if curves else ())


def _forecast(
    chosen: ChosenMethod, table: Table, game: Game, plan: Spending, budget: int | None, half_width: float | None, seed: int
) -> tuple[int, str]:
    """The trainings that values take, and what they will tell where that is little; nothing is predicted of exact values."""
    players = len(game.players)
    if plan.exact or not _plays(chosen):
        return plan.budget - plan.kept, ""

    def pilot() -> Forecast:
        return forecast(game, lambda trainings: _credit(chosen, table, game, trainings, seed))

    return settle_budget(pilot, players, budget, half_width, plan.budget, plan.kept)


def _credit(chosen: ChosenMethod, table: Table, game: Game, budget: int, seed: int) -> Any:
    """What a method says about the rows or groups: a value of the game, or of several games, or a rule that knows the rows."""
    if chosen.method.kind == "game":
        return chosen.solver(budget, seed, table.nested).solve(game)
    return chosen.load()(table, game, budget, seed)


def _of_parts(chosen: ChosenMethod, table: Table, by_part: PaidByPart, budget: int, seed: int) -> Attributions:
    """The same values by each part of the test rows."""
    games = by_part if table.groups is None else grouped(by_part, table.groups)
    found = _credit(chosen, table, games, budget, seed)
    assert isinstance(found, Attributions)
    return found


def _plays(chosen: ChosenMethod) -> bool:
    """Whether values are those of the game of retraining. Those of nearest neighbours are, where groups play."""
    return chosen.method.kind == "game" or chosen.name == "knn-shapley"


def _row_of(table: Table) -> list[int]:
    """The number of one row of each player."""
    place = {name: i for i, name in enumerate(table.data.names)}
    return [*place.values()] if table.groups is None else [place[members[0]] for members in table.groups.values()]


def _score(method: str, table: Table) -> str:
    """What the scores are about where that is not the payoff of the curves."""
    if method == "influence":
        return f"; the scores are about its mean test loss, weight decay {WEIGHT_DECAY}"
    if method == "data-oob":
        return "; the scores are about trees that did not see a row"
    if method == "datamodel" and table.groups is None:
        return "; the scores are about its outputs at the test rows"
    return ""


def _trained(table: Table, model: str, seed: int) -> Retraining | RidgeUtility | TorchTraining:
    """The game of a model trained on the features of the rows, or of a transformer that is fine-tuned on their texts."""
    if not model.startswith(FINE_TUNE):
        return utility(table.data, model, seed)
    data = table.data
    assert table.texts is not None and table.held_texts is not None and data.classes is not None  # checked beforehand
    named, test_named = ([data.classes[code] for code in codes] for codes in (data.y, data.test_y))
    folder = model.removeprefix(FINE_TUNE)
    return fine_tuning(folder, table.texts, named, table.held_texts, test_named, names=data.names, seed=seed)


def utility(data: Split, model: str, seed: int = 0) -> Retraining | RidgeUtility:
    """The game of a named model; regressors for numbers, classifiers for classes."""
    if model == "ridge":
        return RidgeUtility(data, l2=1.0)
    with needs("data", f"model={model!r}"):
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
        from sklearn.linear_model import LogisticRegression
    if model == "logistic":
        return Retraining(data, LogisticRegression(max_iter=1000), seed=seed)
    return Retraining(data, (RandomForestRegressor if data.classes is None else RandomForestClassifier)(50), seed=seed)


def _executor(rows: Utility, executor: str | Executor | None, budget: int, limit: float | None) -> str | Executor:
    """Worker processes, unless all trainings together take less time than starting workers and none has a limit.

    Decided by sizes, not by the clock, so that a resumed run trains where the first one did.
    """
    if executor is not None:
        return executor
    if limit is not None:
        return "processes"
    work = budget * (rows.data.x.size + FIT_OVERHEAD)
    return "processes" if isinstance(rows, Retraining) and work >= SMALL_WORK else "serial"


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


def _purchases(table: Table, paying: Remembered | Durable) -> Purchases:
    """What to buy for every amount of money, from payoffs that are all known."""
    assert table.groups is not None and table.prices is not None and isinstance(paying, Remembered)  # checked beforehand
    game, place = grouped(paying, table.groups), {name: i for i, name in enumerate(table.data.names)}
    payoffs = tabulate(game)
    by_part = None
    if paying.is_mean and paying.tests >= FEWEST_TESTS:
        everything = np.concatenate(list(all_coalitions(len(game.players))))
        by_part = grouped(paying.by_part, table.groups).payoff(everything)
    members = {name: [place[row] for row in rows] for name, rows in table.groups.items()}
    copied = copied_rows(table.data.x, np.asarray(table.data.y, dtype=np.float64), members)
    return best_purchases(game.players, payoffs, table.prices, by_part=by_part, copied=copied)


def _check(chosen: ChosenMethod, model: str, players: int, budget: int, half_width: float | None, table: Table) -> None:
    """Refuse, before anything is trained, what cannot be answered."""
    method = chosen.name
    if half_width is not None:
        _check_half_width(chosen, table)
    if table.prices is not None and not (_plays(chosen) and players <= MOST_SOURCES and 2**players <= budget):
        raise TooManyPlayers(
            f"the best purchase is looked up among all sets of {players} groups, and method={method!r} with a budget of "
            f"{budget:,} does not try them; name at most {MOST_SOURCES} groups, and write method='shapley' with "
            f"budget={2 ** min(players, MOST_SOURCES)}",
            argument="prices",
            code="too-many",
        )
    numbers = table.data.classes is None
    if model.startswith(FINE_TUNE):
        if table.texts is None or numbers:
            raise InvalidInput(
                f"model={model!r} is fine-tuned on texts with classes; name the column of texts with text=COLUMN, and a target "
                "that is a class",
                argument="model",
                code="conflict",
            )
        if chosen.method.kind != "game":
            raise InvalidInput(
                f"method={method!r} does not train model={model!r} again; write method='shapley'",
                argument="method",
                code="conflict",
            )
    elif model not in MODELS:
        raise InvalidInput(
            f"unknown model {model!r}; choose {', '.join(MODELS)}, {FINE_TUNE}FOLDER to fine-tune a pretrained model on every "
            "coalition, or a folder with a fine-tuned model",
            argument="model",
            code="unknown",
        )
    if numbers and model == "logistic" and method != "knn-shapley":
        raise InvalidInput(
            "the target is a number, not a class, and model='logistic' is for classes; "
            f"write method={method!r}, model='ridge', or task='class' if it is one",
            argument="model",
            code="conflict",
        )
    if method == "influence" and model != ("ridge" if numbers else "logistic"):
        raise InvalidInput(
            f"model={model!r} has no influence function here; write model={'ridge' if numbers else 'logistic'!r}",
            argument="model",
            code="unsupported",
        )
    if chosen.method.kind != "game":
        return
    if table.nested is not None and "groups" not in chosen.method.takes:
        raise InvalidInput(
            f"groups does not go with method={method!r}; only owen divides inside groups", argument="groups", code="misplaced"
        )
    chosen.solver(budget, 0, table.nested)  # refuses parameters that no game could use
    if method == "leave-one-out" and players + 2 > budget:
        raise TooManyPlayers(
            f"leaving out each of {players} players takes {players + 2} trainings, and the budget is {budget}; "
            f"write budget={players + 2}, or method='knn-shapley' or method='influence', or players=COLUMN",
            argument="budget",
            code="too-many",
        )


def _check_half_width(chosen: ChosenMethod, table: Table) -> None:
    """Only errors that more trainings narrow, or that a bound is known for, can be asked to be small."""
    if chosen.name == "knn-shapley":
        if table.groups is not None:
            raise InvalidInput(
                "half_width is for single rows with knn-shapley, and players=COLUMN names groups; leave it out",
                argument="half_width",
                code="conflict",
            )
    elif chosen.name == "leave-one-out" or chosen.method.kind != "game":
        raise InvalidInput(
            f"half_width does not go with method={chosen.name!r}, whose errors no number of trainings narrows; leave it out, "
            "or write method='shapley' or method='banzhaf'",
            argument="half_width",
            code="misplaced",
        )
