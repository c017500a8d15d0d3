"""The three questions on which the slides end, each answered by something that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks import needs
from accredit.core import Game
from accredit.core.coalitions import all_coalitions
from accredit.evaluate.bootstrap import bootstrap
from accredit.evaluate.payoffs import CARRIES_OVER, payoff_moves
from accredit.games import TableGame, text_game
from accredit.games.characters import character_game
from accredit.games.components import inside_game
from accredit.models.payoffs import PAYOFFS, payoff_of
from accredit.rows import tabular_game
from accredit.values import leave_one_out, shapley
from accredit.values.leaving_out import CLOSE, LeavingOut, leaving_out
from accredit_papers.report import Report, Whose
from accredit_papers.verdicts import all_of, of_share, over_runs

if TYPE_CHECKING:
    from accredit.models.text import TextModel

SENTENCE = "The plot is thin but the acting is superb."
MOST_WORDS = 10  # all 2ⁿ texts of a sentence are read


def questions_report(model: TextModel, texts: Sequence[str], quick: bool = False, seed: int = 0) -> Report:
    """When to use leave-one-out; what the payoff changes; several actions, and any player."""
    report = Report("questions", "Three questions that the slides leave open")
    report.say(
        "The slides end on: when to use leave-one-out values? Flexibility in the choice of payoff functions. Generalised "
        "cooperative games with multiple actions. The third has a page of its own: `accredit reproduce choices`."
    )
    short = [text for text in texts if len(text.split()) <= MOST_WORDS][: 3 if quick else 20]
    when(report, model, short, 4 if quick else 20, seed)
    payoffs(report, model, short, seed)
    players(report, model)
    return report


# When is leave-one-out enough?


def when(report: Report, model: TextModel, texts: Sequence[str], games: int, seed: int) -> None:
    """Leave-one-out against Shapley on texts, rows of a table and training data."""
    report.heading("When is leave-one-out enough?")
    report.say(
        "φ_i − LOO_i = −Σ m(S)(1 − 1/|S|) over the coalitions S that hold i, with m the dividends: the error is what "
        f"interactions leave. The rule: *enough* where every error is at most {CLOSE:.0%} of the largest credit and the same "
        "player comes first. The rule is ours; its evidence is below, exact from all 2ⁿ payoffs."
    )
    kinds: dict[str, Sequence[Game]] = {
        "words of texts, log-odds": [text_game(model, text, players="word", payoff="log-odds") for text in texts],
        "columns of rows, log-odds of boosted trees": _rows(games, seed),
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
    report.say(
        "n more payoffs, what each player earns alone, warn early: where leave-one-out does not add up to v(N) − v(∅), or "
        "differs from what players earn alone, they interact (`leaving_out(game).missing` and `.lonely`)."
    )


def _means(seen: Sequence[LeavingOut]) -> list[object]:
    scale = [max(float(np.abs(one.shapley).max()), 1e-300) for one in seen]
    return [
        float(np.mean([one.share_above or 0.0 for one in seen])),
        float(np.mean([np.abs(one.error).max() / s for one, s in zip(seen, scale, strict=True)])),
        float(np.mean([one.bound.max() / s for one, s in zip(seen, scale, strict=True) if one.bound is not None])),
        f"{np.mean([one.loo.argmax() == one.shapley.argmax() for one in seen]):.0%}",
        f"{np.mean([one.same_order for one in seen]):.0%}",
        f"{np.mean([bool(one.enough) for one in seen]):.0%}",
    ]


def _rows(count: int, seed: int) -> list[Game]:
    with needs("data", "rows of a table"):
        from sklearn.datasets import make_classification
        from sklearn.ensemble import HistGradientBoostingClassifier
    made: list[Game] = []
    for k in range(count):  # every row from a model and a table of its own, so that no single one decides
        x, y = make_classification(400, n_features=7, n_informative=5, n_redundant=1, random_state=seed + k)
        model = HistGradientBoostingClassifier(max_iter=60, random_state=seed).fit(x[:300], y[:300])
        made.append(tabular_game(model, x[300], x[:60], payoff="log-odds"))
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


def payoffs(report: Report, model: TextModel, texts: Sequence[str], seed: int) -> None:
    """One text and many, credited for every payoff."""
    report.heading("What does the payoff change?")
    one = payoff_moves(_pay(model, SENTENCE))
    report.say(f"“{SENTENCE}”, words, Shapley values of {model.name} for every payoff of one target:")
    report.table(
        ["word", *one.payoffs],
        [[word, *row] for word, row in zip(one.credit.players, one.credit.credit, strict=True)],
    )
    paid = [_pay(model, text) for text in texts]
    moved = [payoff_moves(games) for games in paid]
    ranks = np.nanmean([m.ranks for m in moved], axis=0)
    signs = np.mean([m.signs for m in moved], axis=0)
    first = [float(np.mean([m.first[k] == m.first[0] for m in moved])) for k in range(len(PAYOFFS))]
    report.say(f"Against the {PAYOFFS[0]}, mean over {len(moved)} sentences:")
    report.table(
        ["payoff", "Spearman", "same sign", "same word first"],
        [[name, ranks[0, k], f"{signs[0, k]:.0%}", f"{first[k]:.0%}"] for k, name in enumerate(PAYOFFS)],
    )
    kept = "; ".join(f"*{axiom}*: {why}" for axiom, why in CARRIES_OVER.items())
    report.say(f"What carries over from v to an increasing transform of it: {kept}.")
    alike = {
        (a, b): np.array([m.ranks[PAYOFFS.index(a), PAYOFFS.index(b)] for m in moved], dtype=np.float64)
        for a, b in combinations(("logit", "log-odds", "probability"), 2)
    }
    report.verdict(
        "Logit, log-odds and probability rank words much alike (Spearman above 0.7)",
        all_of(over_runs(one, low=0.7, unit="sentence", family=len(alike)) for one in alike.values()),
        "; ".join(f"{a} against {b} {bootstrap(one, seed=seed, within=(-1, 1)):.2f}" for (a, b), one in alike.items()),
        whose=Whose.OURS,
    )
    steps = [games["correctness"] for games in paid]
    values = sorted({float(x) for game in steps for x in leave_one_out(game).credit})
    shared = {round(float(x), 9) for game in steps for x in shapley(game).credit}
    report.verdict(
        "With correctness as the payoff, leave-one-out is binary: a word is critical or irrelevant",
        set(values) <= {0.0, 1.0},
        f"leave-one-out takes the values {', '.join(f'{x:g}' for x in values)} in {len(texts)} sentences; Shapley values of "
        f"the same payoff take {len(shared)} different ones",
    )


def _pay(model: TextModel, text: str) -> Mapping[str, Game]:
    """The games of all payoffs, from one reading of every text."""
    game = text_game(model, text, players="word", payoff="logit")
    outputs = np.concatenate([game.paying("all").payoff(rows) for rows in all_coalitions(len(game.players))])
    return {name: TableGame(game.players, payoff_of(outputs, game.target, name, model.law)) for name in PAYOFFS}


# Any player


def players(report: Report, model: TextModel) -> None:
    """Characters, layers, heads and neurons of the same sentence."""
    report.heading("Any player")
    lines: list[list[object]] = []
    games: dict[str, Game] = {
        "characters of “superb”": character_game(model, SENTENCE, "superb"),
        "layers": inside_game(model, SENTENCE, "layers"),
        "attention heads": inside_game(model, SENTENCE, "heads"),
        "neurons of layer 1": inside_game(model, SENTENCE, "neurons:1"),
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
