"""The arena on real models as a report: the ranked table, curves, agreement, intervals against exact values.

Texts come first, under every judge; rows of a table and answers, whose right passages are known, stand beside them, so that one
run says which explanation to use when.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit import defaults
from accredit.arena.answers import AnswerContest
from accredit.arena.contest import ORACLE, RANDOM, Example
from accredit.arena.row_files import RowContest, hold
from accredit.arena.standings import Standing, Standings
from accredit.arena.texts import TextContest, load
from accredit.core import BoolArray
from accredit.games import cached, text_game
from accredit.methods import COMPARED_ANSWERS, find
from accredit.models.builtin.facts import KINDS
from accredit.values import shapley
from accredit.values.surrogate import Surrogate
from accredit.views.language.notation import letters
from accredit.views.terminal.arena_text import as_markdown_matrix, interval_text, markdown_table, seconds_text
from accredit_papers.answers_report import failed_on
from accredit_papers.report import Report, Whose
from accredit_papers.verdicts import FigureJudgement, Found, all_of, of_share, over_runs

if TYPE_CHECKING:
    import matplotlib.axes

    from accredit.models.text import TextModel

PASSES = (2, 20, 60, 0)  # 0: any number
STEADY_CORRELATION = 0.8
FEWEST_WORDS, MOST_WORDS = 8, 11  # words of sentences whose Shapley values are also computed exactly


def arena_report(
    contests: Sequence[TextContest],
    examples: Sequence[Example],
    store: str | None,
    executor: str,
    subject: str,
    quick: bool,
    seed: int,
    rows: int = 0,
    contexts: int = 0,
) -> Report:
    """Hold every contest (rows found in the store are not run again) and write what came out.

    Beside the texts, so many `rows` of the built-in table are explained, and so many `contexts` of each kind of facts.
    """
    report = Report("arena", "Which explanation to trust: the arena")
    report.say(
        f"{subject}. Every method explains the probability of the predicted class; words that are removed become the "
        "mask token, for the methods that remove words and for the metrics alike, which favours the former; where a "
        "table says so, metrics remove words in a different way from the methods. Game methods may ask "
        f"{contests[0].budget or 2000} payoffs per sentence."
    )
    tables = {_title(contest): hold(contest, examples, store, executor) for contest in contests}
    of_rows, answering = RowContest(seed=seed), _answering(quick, seed)
    others = _hold_rows(of_rows, rows, store, executor) | _hold_answers(answering, contexts, store, executor)
    _in_one_table(report, tables | others)
    if rows:
        _describe_rows(report, of_rows, rows)
    if contexts:
        _describe_answers(report, answering, contexts)
    for title, table in others.items():
        report.say(f"**{title.capitalize()}.**", detail=True)
        report.block(markdown_table(table), detail=True)
    _by_cost(report, tables)
    for contest, (title, table) in zip(contests, tables.items(), strict=True):
        model = load(contest.model)
        report.heading(title)
        report.say(_describe(model), detail=contest.judge is not None)
        report.block(markdown_table(table), detail=True)
        _verdicts(report, title, table)
        report.figure(
            f"{_slug(title)}_deletion",
            f"{title}: mean probability as words are removed, most credited first.",
            partial(_draw, table=table, curve="deletion"),
            (7.5, 4.2),
            detail=contest.judge is not None,
        )
        if contest.judge is None:  # another judge sees the same explanations
            report.say("Mean Spearman correlation of credits over sentences:", detail=True)
            report.block(as_markdown_matrix(table.agreement_of, table.agreement), detail=True)
            report.say(seconds_text(table).capitalize() + " (one thread, shared machine).")
            _intervals(report, title, model, examples, 3 if quick else 25, seed)
    return report


def _title(contest: TextContest) -> str:
    judged = f", measured by removal={contest.judge}" if contest.judge else ""
    return Path(load(contest.model).name).name + judged


def _hold_rows(contest: RowContest, rows: int, store: str | None, executor: str) -> dict[str, Standings]:
    if not rows:
        return {}
    contest.check()
    return {"rows of a table": hold(contest, contest.examples(rows), store, executor)}


def _describe_rows(report: Report, contest: RowContest, rows: int) -> None:
    report.say(
        f"Rows of a table: {rows} patients that a boosted forest was not fitted on, ten columns (diabetes, Efron et al., "
        f"2004); absent columns take the values of {contest.background} training rows, and game methods may ask "
        f"{contest.budget} payoffs of 1,024. The *closed form* reads the Shapley values off the trees and asks none."
    )


def _answering(quick: bool, seed: int) -> AnswerContest:
    return AnswerContest(COMPARED_ANSWERS, passages=6 if quick else 8, budget=32 if quick else 64, seed=seed)


def _hold_answers(contest: AnswerContest, contexts: int, store: str | None, executor: str) -> dict[str, Standings]:
    kinds = [replace(contest, kind=kind) for kind in KINDS if contexts]
    return {f"answers, {each.kind}": hold(each, each.examples(contexts), store, executor) for each in kinds}


def _describe_answers(report: Report, contest: AnswerContest, contexts: int) -> None:
    report.say(
        f"Answers: the built-in answering model reads {contest.passages} facts and a question; {contexts} contexts of each "
        f"kind, {contest.budget} payoffs for game methods. Shares are over hit@1, hit@2, drop@1, drop@2 and lds, where the "
        "oracle is above chance on them."
    )


def _in_one_table(report: Report, tables: Mapping[str, Standings]) -> None:
    """Every share of this run, method by method: nothing in it comes from another run."""
    report.heading("Everything in one table")
    report.say(
        "Share of the way from random to oracle, and model passes; — where a method does not apply, was not asked or failed."
        f"{failed_on(tables)}"
    )
    names = dict.fromkeys(s.method for table in tables.values() for s in _contestants(table))
    found = {title: {s.method: s for s in _contestants(table)} for title, table in tables.items()}

    def cell(title: str, name: str) -> str:
        mine = found[title].get(name)
        return "—" if mine is None else f"{interval_text(mine.share).split()[0]} ({mine.passes:.0f})"

    claims = {s.method: letters(s.claims) for table in reversed(list(tables.values())) for s in _contestants(table)}
    lines = [[name, *(cell(title, name) for title in tables), claims[name]] for name in names]
    report.table(["share (passes)", *tables, "claims"], lines)


def _by_cost(report: Report, tables: Mapping[str, Standings]) -> None:
    """The best method for a given number of passes, for each model."""
    report.heading("What a number of passes buys")
    rows = []
    for most in PASSES:
        row = [f"at most {most}" if most else "any"]
        for table in tables.values():
            within = [s for s in _contestants(table) if not most or s.passes <= most]
            best = max(within, key=_estimate, default=None)
            row.append(f"{best.method} ({_estimate(best):.2f})" if best else "none")
        rows.append(row)
    report.table(["model passes per sentence", *tables], rows)
    shared = [
        name for name in next(iter(tables.values())).agreement_of if all(_ranks(table, name) for table in tables.values())
    ]
    if len(tables) > 1:
        spread = sorted(([_estimate(table[name]) for table in tables.values()], name) for name in shared)
        steady = [name for values, name in reversed(spread) if min(values) >= STEADY_CORRELATION]
        report.say(f"Methods whose share is at least {STEADY_CORRELATION} in every column: {', '.join(steady) or 'none'}.")


def _describe(model: TextModel) -> str:
    """What is explained, in a line."""
    config = model.model.config
    weights = sum(p.numel() for p in model.model.parameters())
    return f"{config.num_hidden_layers} layers, {config.num_attention_heads} heads, {weights / 1e6:.1f} million weights."


def _contestants(table: Standings) -> list[Standing]:
    return [s for s in table.standings if s.method not in (RANDOM, ORACLE) and s.share is not None]


def _ranks(table: Standings, name: str) -> bool:
    return any(s.method == name for s in _contestants(table))


def _estimate(standing: Standing) -> float:
    return standing.share.value if standing.share else -np.inf


def _slug(title: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in title).strip("_").lower()


def _verdicts(report: Report, title: str, table: Standings) -> None:
    methods = _contestants(table)
    report.verdict(f"{title}: every method explains better than chance", *beats_chance(methods), whose=Whose.OURS)
    inside, outside = ([s for s in methods if removes_words(s.method) == kind] for kind in (True, False))
    if inside and outside:
        best_in, best_out = (max(group, key=_estimate) for group in (inside, outside))
        report.verdict(
            f"{title}: the best method that removes words beats the best that reads gradients or attention",
            first_beats(best_in, best_out),
            f"{best_in.method} {_estimate(best_in):.2f} for {best_in.passes:.0f} passes, {best_out.method} "
            f"{_estimate(best_out):.2f} for {best_out.passes:.0f}; the better one is the best of all, so *p best* of the other "
            "tells",
            whose=Whose.OURS,
        )


def beats_chance(methods: Sequence[Standing]) -> tuple[FigureJudgement, str]:
    """Is every method better than a random order? By the paired test over inputs, corrected for how many are asked."""
    worse = [s.method for s in methods if _surely(s.p_random) and _estimate(s) < 0]
    unsure = [s.method for s in methods if not _surely(s.p_random)]
    parts = ["worse than random: " + ", ".join(worse)] if worse else []
    parts += ["not to be told from random: " + ", ".join(unsure)] if unsure else []
    found = Found.REFUTED if worse else Found.OPEN if unsure else Found.HOLDS
    because = "; ".join(parts) or "all above random"
    needs = "more examples" if found is Found.OPEN else ""
    return FigureJudgement(found, needs, sampled=True), f"{because} (at the 5 % level, after Holm's correction)"


def removes_words(method: str) -> bool:
    """Whether a method asks the model about texts without some words, as all that play the game do.

    >>> removes_words("lasso"), removes_words("beta:16,1"), removes_words("flow:agf")
    (True, True, False)
    """
    return find(method, "explain").method.kind == "game"


def first_beats(first: Standing, second: Standing) -> FigureJudgement:
    """Is the first of two methods better, one of which is the best of all? By the paired test over inputs against the best."""
    ahead = _estimate(first) > _estimate(second)
    if not _surely(second.p_best if ahead else first.p_best):
        return FigureJudgement(Found.OPEN, "more examples")
    return FigureJudgement(Found.HOLDS if ahead else Found.REFUTED, sampled=True)


def _surely(p: float | None) -> bool:
    return p is not None and p <= 1 - defaults.LEVEL


def _draw(axes: matplotlib.axes.Axes, table: Standings, curve: str) -> None:
    for k, s in enumerate(table.standings):
        values = table.curves.get(s.method, {}).get(curve)
        if values is None:
            continue
        plain = s.method in (RANDOM, ORACLE)
        colour = "0.3" if plain else f"C{k % 10}"
        line = (":" if s.method == RANDOM else "--") if plain else ("-", "-.")[k // 10 % 2]
        axes.plot(np.linspace(0, 1, len(values)), values, lw=1.2, label=s.method, color=colour, ls=line)
    axes.set(xlabel="share of words removed", ylabel="probability of the predicted class")
    axes.legend(frameon=False, fontsize=6, ncols=2)


def within_intervals(held: Sequence[BoolArray]) -> FigureJudgement:
    """Do 95 % intervals hold nine of ten exact values? Sentence by sentence, and not from fewer credits than could tell.

    >>> within_intervals([np.ones(4, dtype=bool)] * 6).needs, within_intervals([np.ones(8, dtype=bool)] * 8).found
    ('about 36 credits at this spread', <Found.HOLDS: 'holds'>)
    """
    every = np.concatenate(held)
    share = of_share(int(every.sum()), len(every), low=0.9, unit="credit")
    return all_of([share, over_runs(np.array([one.mean() for one in held]), low=0.9, unit="sentence")])


def _intervals(report: Report, title: str, model: TextModel, examples: Sequence[Example], count: int, seed: int) -> None:
    """Our estimate against the exact value, where that is affordable."""
    held: list[BoolArray] = []  # sentence by sentence, because the credits of one sentence err together
    errors, spans = [], []
    for example in examples:
        game = text_game(model, example.text, players="word", payoff="probability")
        n = len(game.players)
        if not FEWEST_WORDS <= n <= MOST_WORDS:
            continue
        played = cached(game)
        truth = shapley(played, budget=2**n).credit
        estimate = Surrogate(2**n // 4, seed).solve(played)
        if estimate.interval is None:
            continue
        held.append((estimate.interval[:, 0] <= truth) & (truth <= estimate.interval[:, 1]))
        errors.append(float(np.abs(estimate.credit - truth).mean()))
        spans.append(float(np.abs(truth).mean()))
        if len(held) == count:
            break
    if not held:
        return
    every = np.concatenate(held)
    report.verdict(
        f"{title}: our Shapley estimate lies within its 95 % interval of the exact value",
        within_intervals(held),
        f"{every.mean():.1%} of {len(every)} credits in {len(held)} sentences of {FEWEST_WORDS} to {MOST_WORDS} words, from "
        f"a quarter of the 2ⁿ payoffs; mean error {np.mean(errors):.4f} where the mean credit is {np.mean(spans):.4f}; "
        "at least 90 % wanted",
        whose=Whose.OURS,
    )
