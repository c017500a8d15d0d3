"""Sanity checks on a real model: does an explanation depend on what the model knows, and does it hold still?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit.arena.contest import Example
from accredit.arena.texts import TextContest, among, load
from accredit.core import Attribution, FloatArray
from accredit.errors import AccreditError
from accredit.evaluate.bootstrap import bootstrap
from accredit.evaluate.sanity import model_randomisation, randomised_layers
from accredit.evaluate.stability import max_sensitivity, nudge_embeddings
from accredit_papers.report import Report, Whose, mean_error
from accredit_papers.verdicts import Found, all_of, over_runs

if TYPE_CHECKING:
    from accredit.models.text import TextModel

NUDGE = 0.1  # of the spread of the embeddings
UNCHANGED_CORRELATION = 0.9  # a correlation above this counts as no change
DRAWS_OF_WEIGHTS, QUICK_DRAWS = 3, 2  # of random weights: one draw judges nothing


def sanity_report(contest: TextContest, examples: Sequence[Example], quick: bool, seed: int) -> Report:
    """Random layers and nudged embeddings, for every method of a contest."""
    report = Report("sanity", "Sanity checks of explanations")
    model = load(contest.model)
    draws = QUICK_DRAWS if quick else DRAWS_OF_WEIGHTS
    drawn = [
        (f"{stage}, draw {draw}", broken) for draw in range(draws) for stage, broken in randomised_layers(model, seed + draw)
    ]
    names = [stage.partition(",")[0] for stage, _ in drawn[: len(drawn) // draws]]
    near = list(nudge_embeddings(model, NUDGE, 4, seed))
    texts = [(e.text, int(model.predict(model.encode(e.text)).argmax())) for e in examples]
    rows: list[list[object]] = []
    found: dict[str, FloatArray] = {}  # (draws, stages) of each method that explains
    for method in contest.methods:
        explain = partial(_explain, method, contest)
        try:
            kept = np.reshape(model_randomisation(explain, model, drawn, texts).by_size, (draws, -1))
            moved = [max_sensitivity(partial(_of_text, explain, text), model, near) for text in texts]
        except AccreditError as error:
            rows.append([method, *("refused" for _ in names), str(error)[:60]])
            continue
        spread = bootstrap(np.array(moved), seed=seed)
        found[method] = kept
        rows.append([method, *(mean_error(column, 2) for column in kept.T), f"{spread:.2f}"])
    report.say(
        f"{Path(model.name).name}, {len(texts)} sentences, the target held fixed. The model is drawn anew from the "
        "output down, each column including the ones before it; numbers are rank correlations, by magnitude, with the "
        f"explanation of the true model, mean ± standard error over {draws} draws of the weights. Near 0 is right. "
    )
    report.say(
        f"Max-sensitivity: how far the explanation moves, relative to its length, among {len(near)} models whose word "
        f"embeddings are nudged by at most {NUDGE:g} of their spread; low is stable.",
        detail=True,
    )
    report.table(["method", *names, "max-sensitivity"], rows, detail=True)
    for stage, when in ((names[-1], "the whole model is random"), (names[-3], "all layers but the first are random")):
        left = {method: kept[:, names.index(stage)] for method, kept in found.items()}
        judged = {
            method: over_runs(values, high=UNCHANGED_CORRELATION, unit="draw", family=len(left))
            for method, values in left.items()
        }
        stuck = [method for method, one in judged.items() if one.found is Found.REFUTED]
        unsure = [method for method, one in judged.items() if one.found is Found.OPEN]
        report.verdict(
            f"Every explanation changes when {when}: what remains is below {UNCHANGED_CORRELATION:g}",
            all_of(judged.values()),
            f"surely above {UNCHANGED_CORRELATION:g} remains for {', '.join(stuck) or 'none'}"
            + (f"; {', '.join(unsure)} cannot be told" if unsure else ""),
            whose=Whose.OURS,
        )
    return report


Explain = Callable[["TextModel", tuple[str, int]], Attribution]


def _of_text(explain: Explain, text: tuple[str, int], model: TextModel) -> Attribution:
    return explain(model, text)


def _explain(method: str, contest: TextContest, model: TextModel, given: tuple[str, int]) -> Attribution:
    from accredit.explanation.stream import attribution_of
    from accredit.explanation.subject import text_subject

    text, target = given
    names = ("players", "payoff", "removal", "budget", "seed")
    subject = text_subject(model, text, target=target, **{name: getattr(contest, name) for name in names})
    result = among(attribution_of(subject, method), subject.players)
    assert isinstance(result, Attribution)
    return result
