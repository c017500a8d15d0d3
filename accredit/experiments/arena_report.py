"""The arena on real models as a report: the ranked table, curves, agreement, intervals against exact values, sanity checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from accredit.core import AccreditError, Attribution
from accredit.evaluate.arena import ORACLE, RANDOM, Example
from accredit.evaluate.bootstrap import bootstrap
from accredit.evaluate.sanity import model_randomisation, randomised_layers
from accredit.evaluate.stability import max_sensitivity, nudged_embeddings
from accredit.evaluate.standings import Standings
from accredit.evaluate.text_contest import TextContest, among, loaded
from accredit.experiments.arena_page import as_markdown_matrix, markdown_table, seconds_text
from accredit.experiments.contest import hold
from accredit.experiments.report import Report
from accredit.games import cached, text_game
from accredit.values import shapley
from accredit.values.surrogate import Surrogate

NUDGE = 0.1  # of the spread of the embeddings
FEWEST, MOST = 8, 11  # words of sentences whose Shapley values are also computed exactly


def arena_report(
    contests: Sequence[TextContest],
    examples: Sequence[Example],
    store: str | None,
    executor: str,
    told: str,
    quick: bool,
    seed: int,
) -> Report:
    """Hold every contest (rows found in the store are not run again) and write what came out."""
    report = Report("arena", "Which explanation to trust: the arena", "accredit reproduce arena" + " --quick" * quick)
    report.say(
        f"{told}. Every method explains the probability of the predicted class; words that are removed become the mask "
        "token, for the "
        "methods that remove words and for the metrics alike, which favours the former. Game methods may ask "
        f"{contests[0].budget or 2000} payoffs a sentence."
    )
    for contest in contests:
        model = loaded(contest.model)
        title = Path(model.name).name
        table = hold(contest, examples, store, executor)
        report.heading(title)
        report.block(markdown_table(table))
        _verdicts(report, title, table)
        report.figure(f"{_slug(title)}_deletion", f"{title}: mean probability as words are removed, most credited first.",
                      partial(_draw, table=table, curve="deletion"), (7.5, 4.2))  # fmt: skip
        report.say("Mean Spearman correlation of credits over sentences:")
        report.block(as_markdown_matrix(table.agreement_of, table.agreement))
        report.say(seconds_text(table).capitalize() + " (one thread, shared machine).")
        _intervals(report, title, model, examples, 3 if quick else 25, seed)
        _sanity(report, title, contest, examples[: 3 if quick else 12], seed)
    return report


def _slug(title: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in title).strip("_").lower()


def _verdicts(report: Report, title: str, table: Standings) -> None:
    methods = [s for s in table.standings if s.method not in (RANDOM, ORACLE) and s.share is not None]
    beaten = [s.method for s in methods if s.p_random is not None and (s.p_random > 0.05 or s.share.estimate <= 0)]  # type: ignore[union-attr]
    report.verdict(
        f"{title}: every method explains better than chance",
        not beaten,
        "all differ from random at the 5 % level after Holm's correction"
        if not beaten
        else f"not better than random: {', '.join(beaten)}",
    )
    removal = {"shapley", "banzhaf", "owen", "leave-one-out"}
    inside, outside = ([s for s in methods if (s.method in removal) == kind] for kind in (True, False))
    if inside and outside:
        best_in, best_out = (max(group, key=lambda s: s.share.estimate) for group in (inside, outside))  # type: ignore[union-attr]
        report.verdict(
            f"{title}: the best removal-based method beats the best that reads gradients or attention",
            best_in.share.low > best_out.share.high,  # type: ignore[union-attr]
            f"{best_in.method} {best_in.share.estimate:.2f} for {best_in.passes:.0f} passes, {best_out.method} "  # type: ignore[union-attr]
            f"{best_out.share.estimate:.2f} for {best_out.passes:.0f}",  # type: ignore[union-attr]
        )


def _draw(axes: Any, table: Standings, curve: str) -> None:
    for k, s in enumerate(table.standings):
        values = table.curves.get(s.method, {}).get(curve)
        if values is None:
            continue
        plain = s.method in (RANDOM, ORACLE)
        style = (
            {"color": "0.3", "ls": ":" if s.method == RANDOM else "--"}
            if plain
            else {"color": f"C{k % 10}", "ls": ("-", "-.")[k // 10 % 2]}
        )
        axes.plot(np.linspace(0, 1, len(values)), values, lw=1.2, label=s.method, **style)
    axes.set(xlabel="share of words removed", ylabel="probability of the predicted class")
    axes.legend(frameon=False, fontsize=6, ncols=2)


def _intervals(report: Report, title: str, model: Any, examples: Sequence[Example], count: int, seed: int) -> None:
    """Our estimate against the exact value, where that is affordable."""
    held, errors, spans = [], [], []
    used = 0
    for example in examples:
        game = text_game(model, example.text, players="word", payoff="probability")
        n = len(game.players)
        if not FEWEST <= n <= MOST:
            continue
        played = cached(game)
        truth = shapley(played, budget=2**n).credit
        estimate = Surrogate(2**n // 4, seed).solve(played)
        if estimate.interval is None:
            continue
        held += ((estimate.interval[:, 0] <= truth) & (truth <= estimate.interval[:, 1])).tolist()
        errors.append(float(np.abs(estimate.credit - truth).mean()))
        spans.append(float(np.abs(truth).mean()))
        used += 1
        if used == count:
            break
    if not held:
        return
    report.verdict(
        f"{title}: our Shapley estimate lies within its 95 % interval of the exact value",
        float(np.mean(held)) >= 0.9,
        f"{np.mean(held):.1%} of {len(held)} credits in {used} sentences of {FEWEST} to {MOST} words, from a quarter "
        "of the 2ⁿ payoffs; mean "
        f"error {np.mean(errors):.4f} where the mean credit is {np.mean(spans):.4f}",
    )


def _sanity(report: Report, title: str, contest: TextContest, examples: Sequence[Example], seed: int) -> None:
    """Randomised layers and nudged embeddings, for every method."""
    model = loaded(contest.model)
    stages = list(randomised_layers(model, seed))
    near = list(nudged_embeddings(model, NUDGE, 4, seed))
    texts = [(e.text, int(model.predict(model.encode(e.text)).argmax())) for e in examples]
    rows: list[list[Any]] = []
    for method in contest.methods:
        explain = partial(_explained, method, contest)
        try:
            kept = model_randomisation(explain, model, stages, texts)
            moved = [max_sensitivity(partial(_of_text, explain, text), model, near) for text in texts]
        except AccreditError as error:
            rows.append([method, "refused", str(error)[:60], ""])
            continue
        spread = bootstrap(np.array(moved), seed=seed)
        rows.append(
            [method, kept.by_size[0], kept.by_size[-1], f"{spread.estimate:.2f} [{spread.low:.2f}, {spread.high:.2f}]"]
        )
    report.say(
        f"Sanity checks on {len(texts)} sentences, the target held fixed. Rank correlation (by magnitude) with the "
        "explanation of the true "
        "model after its head, and after everything, was drawn anew: near 0 is right. Max-sensitivity: how far the "
        "explanation "
        f"moves, relative to its length, among {len(near)} models whose word embeddings are nudged by at most "
        f"{NUDGE:g} of their "
        "spread: low is stable."
    )
    report.table(["method", "head random", f"random down to {stages[-1][0]}", "max-sensitivity"], rows)


Explain = Callable[[Any, tuple[str, int]], Attribution]


def _of_text(explain: Explain, text: tuple[str, int], model: Any) -> Attribution:
    return explain(model, text)


def _explained(method: str, contest: TextContest, model: Any, given: tuple[str, int]) -> Attribution:
    from accredit.explanation.methods import recipe
    from accredit.explanation.subject import text_subject

    text, target = given
    subject = text_subject(model, text, contest.players, target, contest.payoff, contest.removal, False, "")
    subject.budget, subject.seed = min(contest.budget or 64, 64), contest.seed
    subject.flows["measured"] = None  # not drawn here
    result = among(recipe(method).run(subject), subject.players)
    assert isinstance(result, Attribution)
    return result
