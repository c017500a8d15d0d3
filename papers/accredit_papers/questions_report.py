"""The three questions on which the slides end, each answered by something that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks import needs
from accredit.checks.tables import read_sheet
from accredit.core import FloatArray, Game
from accredit.core.coalitions import all_coalitions
from accredit.errors import InvalidInput
from accredit.evaluate.bootstrap import bootstrap
from accredit.games import TableGame, text_game
from accredit.games.components import component_game
from accredit.games.strings import StringGame, character_game, string_game
from accredit.models.payoffs import PAYOFFS, payoff_of
from accredit.models.strings import StringModel, as_string_model
from accredit.rows import tabular_game
from accredit.values import leave_one_out, shapley
from accredit.values.leaving_out import CLOSE, LeavingOut, leaving_out
from accredit_papers.beside_propositions import correlate
from accredit_papers.payoff_agreement import CARRIES_OVER, PayoffMoves, payoff_moves
from accredit_papers.report import Report, Whose
from accredit_papers.verdicts import all_of, of_share, over_runs

if TYPE_CHECKING:
    from accredit.games.text import TextGame
    from accredit.models.text import TextModel

    Reader = TextModel | StringModel

SENTENCE = "The plot is thin but the acting is superb."
MOST_WORDS = 10  # all 2ⁿ texts of a sentence are read
MOST_TEXTS = 60


def questions_report(
    models: Sequence[Reader], texts: Sequence[str], quick: bool = False, seed: int = 0, source: str = "written for this project"
) -> Report:
    """When to use leave-one-out; what the payoff changes; several actions, and any player."""
    report = Report("questions", "Three questions that the slides leave open")
    report.say(
        "The slides end on: when to use leave-one-out values? Flexibility in the choice of payoff functions. Generalised "
        "cooperative games with multiple actions. The third has a page of its own: `accredit reproduce choices`."
    )
    short = [text for text in texts if len(text.split()) <= MOST_WORDS][: 3 if quick else MOST_TEXTS]
    report.say(
        f"Texts: {len(short)} sentences of at most {MOST_WORDS} words, {source}; models: "
        f"{', '.join(Path(m.name).name for m in models)}."
    )
    when(report, models, short, 4 if quick else 20, seed)
    payoffs(report, models, short, seed)
    players(report, next(model for model in models if not isinstance(model, StringModel)))
    return report


def split_texts(file: str | Path) -> tuple[tuple[list[str], list[str]], list[str]]:
    """The texts of training rows with their labels, and the labelled texts of all other rows: from the columns text, label and
    split of a table."""
    sheet = read_sheet(file)
    rows = list(zip(*(sheet.column(name, "data") for name in ("text", "label", "split")), strict=True))
    learned = [(text, label) for text, label, split in rows if split == "train"]
    others = [text for text, label, split in rows if split != "train" and label]
    if len({label for _, label in learned}) < 2 or not others:
        raise InvalidInput(
            f"data file {Path(file).name} needs rows of two labels with split=train, and rows of another split",
            argument="data",
            code="empty",
        )
    return ([text for text, _ in learned], [label for _, label in learned]), others


def fit_bag_of_words(texts: Sequence[str], labels: Sequence[str]) -> StringModel:
    """A model of another kind than a transformer: logistic regression on TF-IDF."""
    with needs("data", "a model of words"):
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
    model = make_pipeline(TfidfVectorizer(token_pattern=r"\S+"), LogisticRegression(max_iter=1000)).fit(texts, labels)

    def bag_of_words(rows: Sequence[str]) -> FloatArray:
        found = np.asarray(model.decision_function(rows))
        return found if found.ndim == 2 else np.column_stack([-found / 2, found / 2])  # two classes have one number

    return as_string_model(bag_of_words, "softmax", tuple(map(str, model.classes_)))


def game_of(model: Reader, text: str, payoff: str) -> TextGame | StringGame:
    """Words as players: masked for a transformer, deleted for a model that reads strings."""
    if isinstance(model, StringModel):
        return string_game(model, text, players="word", payoff=payoff)
    return text_game(model, text, players="word", payoff=payoff)


# When is leave-one-out enough?


def when(report: Report, models: Sequence[Reader], texts: Sequence[str], games: int, seed: int) -> None:
    """Leave-one-out against Shapley on texts, rows of a table and training data."""
    report.heading("When is leave-one-out enough?")
    report.say(
        "φ_i − LOO_i = −Σ m(S)(1 − 1/|S|) over the coalitions S that hold i, with m the dividends: the error is what "
        f"interactions leave. The rule: *enough* where every error is at most {CLOSE:.0%} of the largest credit and the same "
        "player comes first. The rule is ours; its evidence is below, exact from all 2ⁿ payoffs."
    )
    kinds: dict[str, Sequence[Game]] = {
        f"words of texts, log-odds of {Path(m.name).name}": [game_of(m, text, "log-odds") for text in texts] for m in models
    } | {
        "columns of rows, log-odds of boosted trees": _rows(games, seed, "boosted trees", "log-odds"),
        "columns of rows, probability of a line": _rows(games, seed, "line", "probability"),
        "columns of rows, log-odds of a line": _rows(games, seed, "line", "log-odds"),
        "columns of rows, a line with one product": _lines_with_a_product(games, seed),
        "batches of training rows, test accuracy": _data(max(3, games // 2), seed),
    }
    found = {kind: [leaving_out(game, budget=1 << len(game.players)) for game in made] for kind, made in kinds.items()}
    report.table(
        [
            "players and payoff",
            "games",
            "dividends above one player",
            "error / largest credit",
            "bound / largest credit",
            "same first",
            "same order",
            "enough",
        ],
        [[kind, len(seen), *_means(seen)] for kind, seen in found.items()],
    )
    for kind, seen in found.items():
        yes = sum(bool(one.enough) for one in seen)
        report.verdict(
            f"Leave-one-out is enough for most games: {kind}",
            of_share(yes, len(seen), low=0.5, unit="game"),
            f"enough in {yes} of {len(seen)} games",
            whose=Whose.OURS,
        )
    worst = max((abs(one.error) - one.bound).max() for seen in found.values() for one in seen if one.bound is not None)
    report.verdict(
        "The error of leave-one-out never exceeds the bound by dividends",
        worst < 1e-9,
        f"largest excess {worst:.0e}",
        whose=Whose.OURS,
    )
    warnings(report, [one for seen in found.values() for one in seen], seed)


def warnings(report: Report, found: Sequence[LeavingOut], seed: int) -> None:
    """How well n more payoffs, what each player earns alone, predict the error, over games of all kinds."""
    report.heading("Do cheap warnings predict the error of leave-one-out?")
    report.say(
        "n more payoffs, what each player earns alone, warn early: `leaving_out(game).missing` is what leave-one-out leaves of "
        "v(N) − v(∅), `.lonely` the largest difference between a player's leave-one-out value and what it earns alone. Both "
        f"are 0 where nobody interacts. Here both are divided by the largest leave-one-out value; a game is *warned of* where "
        f"one of them is above {CLOSE:.0%}."
    )
    cheap = np.array([_warnings(one) for one in found])  # (games, 2)
    truth = np.array([float(np.abs(one.error).max()) / _largest(one.shapley) for one in found])
    ranked = [correlate(column, truth, seed) for column in cheap.T]
    warned, fails = (cheap > CLOSE).any(axis=1), np.array([not one.enough for one in found])
    report.table(
        ["", "leave-one-out is enough", "is not enough"],
        [
            [name, *(int((rows & (fails == wrong)).sum()) for wrong in (False, True))]
            for name, rows in (("warned of", warned), ("not warned of", ~warned))
        ],
    )
    report.say(
        f"Spearman with the error relative to the largest credit, over {len(found)} games: missing {ranked[0]:+.2f}, lonely "
        f"{ranked[1]:+.2f}."
    )
    report.verdict(
        "Of games that are not warned of, leave-one-out is enough in nine of ten or more",
        of_share(int((~warned & ~fails).sum()), int((~warned).sum()), low=0.9, unit="game") if (~warned).any() else None,
        f"enough in {int((~warned & ~fails).sum())} of {int((~warned).sum())} games without a warning",
        whose=Whose.OURS,
    )
    report.verdict(
        "Of games that are warned of, leave-one-out is not enough in nine of ten or more",
        of_share(int((warned & fails).sum()), int(warned.sum()), low=0.9, unit="game") if warned.any() else None,
        f"not enough in {int((warned & fails).sum())} of {int(warned.sum())} games with a warning",
        whose=Whose.OURS,
    )


def _warnings(one: LeavingOut) -> tuple[float, float]:
    largest = _largest(one.loo)
    return abs(one.missing) / largest, one.lonely / largest


def _largest(credit: FloatArray) -> float:
    return max(float(np.abs(credit).max()), 1e-300)


def _means(seen: Sequence[LeavingOut]) -> list[object]:
    scale = [_largest(one.shapley) for one in seen]
    return [
        float(np.mean([one.share_above or 0.0 for one in seen])),
        float(np.mean([np.abs(one.error).max() / s for one, s in zip(seen, scale, strict=True)])),
        float(np.mean([one.bound.max() / s for one, s in zip(seen, scale, strict=True) if one.bound is not None])),
        f"{np.mean([one.loo.argmax() == one.shapley.argmax() for one in seen]):.0%}",
        f"{np.mean([one.same_order for one in seen]):.0%}",
        f"{np.mean([bool(one.enough) for one in seen]):.0%}",
    ]


def _rows(count: int, seed: int, kind: str, payoff: str) -> list[Game]:
    with needs("data", "rows of a table"):
        from sklearn.datasets import make_classification
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression
    made: list[Game] = []
    for k in range(count):  # every row from a model and a table of its own, so that no single one decides
        x, y = make_classification(400, n_features=7, n_informative=5, n_redundant=1, random_state=seed + k)
        unfitted = LogisticRegression() if kind == "line" else HistGradientBoostingClassifier(max_iter=60, random_state=seed)
        made.append(tabular_game(unfitted.fit(x[:300], y[:300]), x[300], x[:60], payoff=payoff))
    return made


def _lines_with_a_product(count: int, seed: int) -> list[Game]:
    """From hardly any interaction to as much as there is of anything else."""
    made: list[Game] = []
    for k, strength in enumerate(np.geomspace(0.005, 1, count)):
        rng = np.random.default_rng([seed, k])
        x, slopes = rng.normal(size=(61, 7)), rng.normal(size=7)

        def answer(rows: FloatArray, slopes: FloatArray = slopes, strength: float = strength) -> FloatArray:
            return np.asarray(rows @ slopes + strength * rows[:, 0] * rows[:, 1])

        made.append(tabular_game(answer, x[60], x[:60]))
    return made


def _data(count: int, seed: int) -> list[Game]:
    with needs("data", "training rows"):
        from sklearn.linear_model import LogisticRegression
    from accredit.games import grouped
    from accredit.valuation import Retraining, split

    made: list[Game] = []
    for k in range(count):
        rng = np.random.default_rng([seed, k])
        x = rng.normal(size=(248, 4))
        y = (x @ rng.normal(size=4) + 0.5 * rng.normal(size=248) > 0).astype(int)
        data = split(x[:48], y[:48], x[48:], y[48:])
        batches = {f"batch {b}": list(data.names[8 * b : 8 * b + 8]) for b in range(6)}
        made.append(grouped(Retraining(data, LogisticRegression()), batches))
    return made


# What does the payoff change?


def payoffs(report: Report, models: Sequence[Reader], texts: Sequence[str], seed: int) -> None:
    """One text and many, credited for every payoff, model by model."""
    report.heading("What does the payoff change?")
    one = payoff_moves(_pay(models[0], SENTENCE))
    report.say(
        f"“{SENTENCE}”, words, Shapley values of {Path(models[0].name).name} for every payoff of one target:", detail=True
    )
    report.table(
        ["word", *one.payoffs],
        [[word, *row] for word, row in zip(one.credit.players, one.credit.credit, strict=True)],
        detail=True,
    )
    kept = "; ".join(f"*{axiom}*: {why}" for axiom, why in CARRIES_OVER.items())
    report.say(f"What carries over from v to an increasing transform of it: {kept}.")
    paid = {Path(model.name).name: [_pay(model, text) for text in texts] for model in models}
    for name, games in paid.items():
        _payoffs_of(report, name, [payoff_moves(one) for one in games], seed)
    steps = [one["correctness"] for games in paid.values() for one in games]
    values = sorted({float(x) for game in steps for x in leave_one_out(game).credit})
    shared = {round(float(x), 9) for game in steps for x in shapley(game).credit}
    report.verdict(
        "With correctness as the payoff, leave-one-out is binary: a word is critical or irrelevant",
        set(values) <= {0.0, 1.0},
        f"leave-one-out takes the values {', '.join(f'{x:g}' for x in values)} in {len(steps)} games of sentence and model; "
        f"Shapley values of the same payoff take {len(shared)} different ones",
    )


def _payoffs_of(report: Report, name: str, moved: Sequence[PayoffMoves], seed: int) -> None:
    """How far the payoffs of one model agree, over texts."""
    ranks = np.nanmean([m.ranks for m in moved], axis=0)
    signs = np.mean([m.signs for m in moved], axis=0)
    first = [float(np.mean([m.first[k] == m.first[0] for m in moved])) for k in range(len(PAYOFFS))]
    report.say(f"{name}: against the {PAYOFFS[0]}, mean over {len(moved)} sentences:", detail=True)
    report.table(
        ["payoff", "Spearman", "same sign", "same word first"],
        [[payoff, ranks[0, k], f"{signs[0, k]:.0%}", f"{first[k]:.0%}"] for k, payoff in enumerate(PAYOFFS)],
        detail=True,
    )
    alike = {
        (a, b): np.array([m.ranks[PAYOFFS.index(a), PAYOFFS.index(b)] for m in moved], dtype=np.float64)
        for a, b in combinations(("logit", "log-odds", "probability"), 2)
    }
    report.verdict(
        f"{name}: logit, log-odds and probability rank words much alike (Spearman above 0.7)",
        all_of(over_runs(one, low=0.7, unit="sentence", family=len(alike)) for one in alike.values()),
        "; ".join(f"{a} against {b} {bootstrap(one, seed=seed, within=(-1, 1)):.2f}" for (a, b), one in alike.items()),
        whose=Whose.OURS,
    )


def _pay(model: Reader, text: str) -> Mapping[str, Game]:
    """The games of all payoffs, from one reading of every text."""
    game = game_of(model, text, "logit")
    outputs = np.concatenate([game.paying("all").payoff(rows) for rows in all_coalitions(len(game.players))])
    return {name: TableGame(game.players, payoff_of(outputs, game.target, name, model.law)) for name in PAYOFFS}


# Any player


def players(report: Report, model: TextModel) -> None:
    """Characters, layers, heads and neurons of the same sentence."""
    report.heading("Any player")
    lines: list[list[object]] = []
    games: dict[str, Game] = {
        "characters of “superb”": character_game(model, SENTENCE, "superb"),
        "layers": component_game(model, SENTENCE, "layers"),
        "attention heads": component_game(model, SENTENCE, "heads"),
        "neurons of layer 1": component_game(model, SENTENCE, "neurons:1"),
    }
    unshared, gaps = 0.0, []
    for name, game in games.items():
        budget = 64 if len(game.players) < 7 else 1000
        found, out = shapley(game, budget=budget), leave_one_out(game)
        best, unshared = found.ranked().players[0], max(unshared, abs(found.unshared or 0.0))
        gaps.append(abs((found.total or 0.0) - float(out.credit.sum())))
        lines.append(
            [
                name,
                len(game.players),
                found.total,
                f"{best} ({found[best]:+.3f})",
                float(out.credit.sum()),
                found.payoffs,
            ]
        )
    report.say(f"“{SENTENCE}”, log-odds of the predicted class. Those who leave are deleted, skipped or set to 0.")
    report.table(["players", "number", "to share", "largest credit", "sum of leave-one-out", "payoffs"], lines)
    gap = max(gaps)
    report.verdict(
        "Shapley values share the output whoever plays; leave-one-out does not add up",
        unshared < 1e-6 and gap > 0.01,
        f"Shapley values miss the total by at most {unshared:.0e}, leave-one-out by up to {gap:.2f}",
        whose=Whose.OURS,
    )
