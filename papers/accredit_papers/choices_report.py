"""Players with several choices: the values of the literature, told apart by axioms, and three real games."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accredit.checks import needs
from accredit.core import Attribution, Attributions, IntArray
from accredit.core.choices import ChoiceGame
from accredit.evaluate.choice_axioms import AXIOMS, KEPT, choice_axioms
from accredit.games import ChoiceFunction, ChoiceTable, FunctionGame
from accredit.games.word_choices import WordChoices
from accredit.values import bolger, by_player, multichoice, multichoices, shapley
from accredit.values.multichoice import RULES, from_dividends, from_orders, from_vertices, from_weights
from accredit_papers.report import Report, Whose, mean_error
from accredit_papers.verdicts import all_of, over_runs

if TYPE_CHECKING:
    from accredit.models.text import TextModel

VALUES = {
    "orders": from_orders,
    "dividends": from_dividends,
    "weights": lambda v: from_weights(v, np.arange(1.0, max(v.shape))),
    "vertices": from_vertices,
}
GAMES = {
    "a reaches 1 and b reaches 1": [[0, 0, 0], [0, 1, 1]],
    "a reaches 1 and b reaches 2": [[0, 0, 0], [0, 0, 1]],
    "any two level units are there": [[0, 0, 1], [0, 1, 1]],
}
DRAWS_OF_ROWS = 8  # of training rows
SENTENCE = "The plot is thin but the acting is superb."
WORDS = {"thin": "rich", "but": "and", "superb": "awful"}


def choices_report(model: TextModel, quick: bool = False, seed: int = 0) -> Report:
    """Axioms on random games, three small games, then words, training rows and attention with several choices."""
    report = Report("choices", "Players with several choices")
    report.say(
        "The slides on Shapley values and attention flows end on games with multiple actions. Four values for levels in order "
        "and one for alternatives without order are run here; docs/multichoice.md says which is for what."
    )
    axioms(report, seed)
    small_games(report)
    words(report, model)
    rows(report, seed, 12 if quick else 30)
    attention(report, model, 200 if quick else 2000, seed)
    return report


def axioms(report: Report, seed: int) -> None:
    """Which rule keeps which axiom, by random games."""
    report.heading("What each value keeps")
    found = {rule: choice_axioms(VALUES[rule], seed) for rule in RULES}
    report.say(f"The largest violation on random games; at most {KEPT:g} is rounding and means *kept*.")
    report.table(
        ["axiom", *RULES],
        [[axiom, *("kept" if found[rule][axiom] <= KEPT else found[rule][axiom] for rule in RULES)] for axiom in AXIOMS],
    )
    profiles = {rule: tuple(x <= KEPT for x in found[rule].values()) for rule in RULES}
    report.verdict(
        "No two of the four values keep the same axioms",
        len(set(profiles.values())) == len(RULES),
        "each differs from each other in at least one line of the table",
        whose=Whose.OURS,
    )
    plain = ChoiceTable("abc", np.random.default_rng(seed).normal(size=(2, 2, 2)))
    spread = float(np.ptp(multichoices(plain).credit, axis=1).max())
    report.verdict(
        "With two states for everybody all four are the Shapley value",
        spread < KEPT,
        f"they differ by at most {spread:.0e}",
        whose=Whose.OURS,
    )


def small_games(report: Report) -> None:
    """Three games that tell the values apart."""
    report.heading("Three small games")
    report.say("Player a has one level, player b has two; a game pays 1 where its condition is met.", detail=True)
    lines: list[list[object]] = []
    for name, table in GAMES.items():
        credit = multichoices(ChoiceTable("ab", table))
        lines += [[f"{name}: {level}", *numbers] for level, numbers in zip(credit.players, credit.credit, strict=True)]
    report.table(["paid when: level", *RULES], lines, detail=True)


def words(report: Report, model: TextModel) -> None:
    """Words of a sentence, masked, replaced or kept."""
    report.heading("Words: masked, replaced, kept")
    game = WordChoices(model, SENTENCE, WORDS, target="POSITIVE")
    found, out = bolger(game), shapley(_two_states(game))
    report.say(
        f"{model.name}, “{SENTENCE}”, log-odds of POSITIVE; replacements: "
        f"{', '.join(f'{a} → {b}' for a, b in WORDS.items())}. Bolger's value of each alternative, and the Shapley value where "
        "a word is only masked or kept."
    )
    report.table(
        ["word", *found.outputs, "Shapley, masked or kept"],
        [[p, *row, x] for p, row, x in zip(found.players, found.credit, out.credit, strict=True)],
    )
    kept, shown = found["kept"], out
    moved = max(abs(kept[p] - shown[p]) for p in kept.players)
    report.verdict(
        "What a word is replaced by changes its credit: keeping it rather than masking it is not the whole story",
        moved > 0.1,
        f"credit for keeping a word moves by up to {moved:.2f} nats once another word may stand in its place",
        whose=Whose.OURS,
    )


def rows(report: Report, seed: int, count: int) -> None:
    """Batches of training rows, absent, relabelled or kept."""
    report.heading("Training rows: absent, relabelled, kept")
    every = [_batches(seed + draw, count) for draw in range(DRAWS_OF_ROWS)]
    found = every[0]
    report.say(
        f"{count} rows of two classes in three batches, the first with every label wrong; test accuracy of a line. The first "
        f"of {DRAWS_OF_ROWS} draws of the rows:"
    )
    report.table(["batch", *found.outputs], [[p, *row] for p, row in zip(found.players, found.credit, strict=True)])
    gains = np.array([one["relabelled"].credit - one["kept"].credit for one in every])  # (draws, batches)
    report.verdict(
        "A batch of wrong labels earns by being relabelled, clean batches by being kept",
        all_of(
            over_runs(gain, *ends, unit="draw", family=3)
            for gain, ends in zip(gains.T, [(0, np.inf), (-np.inf, 0), (-np.inf, 0)], strict=True)
        ),
        "relabelled rather than kept: "
        + ", ".join(f"{p} {mean_error(gain, 3)}" for p, gain in zip(found.players, gains.T, strict=True))
        + f", over {DRAWS_OF_ROWS} draws",
        whose=Whose.OURS,
    )


def _batches(seed: int, count: int) -> Attributions:
    """Bolger's value of three batches of drawn rows, of which the first has every label wrong."""
    with needs("data", "choices of training rows"):
        from sklearn.linear_model import LogisticRegression
    from accredit.valuation import split
    from accredit.valuation.row_choices import RowChoices

    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count + 200, 2))
    y = (x @ [1.0, 0.5] > 0).astype(int)
    wrong = np.arange(count) < count // 3  # the first third is labelled wrongly
    data = split(x[:count], np.where(wrong, 1 - y[:count], y[:count]), x[count:], y[count:])
    thirds = np.array_split(np.array(data.names), 3)
    game = RowChoices(
        data, LogisticRegression(), dict(zip(("wrong labels", "clean", "also clean"), map(list, thirds), strict=True))
    )
    return bolger(game)


def attention(report: Report, model: TextModel, budget: int, seed: int) -> None:
    """Input tokens whose pipe in the attention graph is shut, half open or open."""
    from accredit.flow.maximum import MaximumFlows
    from accredit.flow.network import LayeredNetwork

    report.heading("Attention flow: pipes shut, half open, open")
    seen = model.encode("A superb film.")
    network = LayeredNetwork.from_attention(model.attentions(seen).mean(axis=1))
    flows = MaximumFlows(network)
    tokens = [f"{token}·{i}" for i, token in enumerate(seen.tokens)]

    def through(choices: IntArray) -> list[float]:
        return [flows.value(demand=network.demand * row / 2) for row in choices]

    game = ChoiceFunction(tokens, [["shut", "half", "open"]] * len(tokens), through)
    found = {rule: multichoice(game, rule, budget=budget, seed=seed) for rule in ("orders", "vertices")}
    totals = {rule: by_player(credit, game) for rule, credit in found.items()}
    report.table(
        ["token", *(f"{rule}: {half}" for rule in found for half in ("first half", "second half"))],
        [[t, *(x for credit in found.values() for x in credit.credit[2 * i : 2 * i + 2])] for i, t in enumerate(tokens)],
    )
    first, second = (sum(found["orders"].credit[k::2]) for k in (0, 1))
    known = "exact" if found["orders"].exact else f"estimated from {budget} payoffs, with intervals"
    report.verdict(
        "The first half of a pipe carries more than the second",
        _surely_more(found["orders"], first - second),
        f"first halves {first:.3f}, second halves {second:.3f}, {known}. The wider the pipes at its end, the less a max flow "
        "gains from widening one, so this is so in every order and for every sentence. Totals of the two rules differ by up to "
        f"{max(abs(totals['orders'][t] - totals['vertices'][t]) for t in tokens):.3f}",
        whose=Whose.OURS,
    )


def _surely_more(credit: Attribution, gap: float) -> bool | None:
    """Whether a sum of differences of levels is above 0, by the sum of half-widths where it was estimated."""
    if credit.interval is None:
        return gap > 0 if credit.exact else None
    doubt = float((credit.interval[:, 1] - credit.interval[:, 0]).sum() / 2)
    return None if abs(gap) <= doubt else gap > 0


def _two_states(game: ChoiceGame) -> FunctionGame:
    return FunctionGame(game.players, lambda coalitions: game.worth(2 * coalitions.astype(np.int64)))
