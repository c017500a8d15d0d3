"""A contest on answers: the right passages are found where the truth is known, by redundancy and synergy apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("transformers")

from accredit.answers import answer_game
from accredit.arena.answers import AnswerContest, answering
from accredit.arena.contest import METRICS, run_row
from accredit.arena.row_files import hold
from accredit.errors import InvalidInput
from accredit.models.builtin.facts import KINDS, facts
from accredit.values import Lasso

CONTEST = AnswerContest(("shapley", "lasso", "leave-one-out"), passages=8, budget=40)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_default_finds_the_facts_and_is_no_worse_than_the_lasso(kind):
    contest = replace(CONTEST, kind=kind)
    row = run_row(contest, contest.examples(1)[0])
    scores = {name: entry.scores for name, entry in row.entries.items()}
    ours, lasso, alone = (scores[name] for name in CONTEST.methods)
    assert ours["hit@1"] == ours["hit@2"] == 1.0
    assert ours["lds"] >= lasso["lds"] - 1e-12
    assert ours["drop@2"] == pytest.approx(np.log(12), abs=1e-2 if kind != "contradicting" else 6)
    if kind == "redundant":  # either copy will do: nothing is lost with one of them, and leave-one-out is blind
        assert ours["drop@1"] == 0.0 and alone["hit@1"] == pytest.approx(2 / 8) and alone["lds"] == 0.0
    elif kind != "contradicting":
        assert ours["drop@1"] == pytest.approx(2.48, abs=0.01) and alone["hit@1"] == 1.0
    assert scores["oracle"]["hit@2"] == 1.0
    assert (row.entries["shapley"].passes, row.entries["leave-one-out"].passes) == (40, 10)


@pytest.mark.slow
def test_the_lasso_is_given_the_logit_per_token_as_contextcite_does():
    example = CONTEST.examples(2)[1]
    made = facts("plain", 8, 1)
    game = answer_game(answering("builtin"), context=list(made.context), query=made.query, answer=made.answer)
    log_p = game.payoff(np.random.default_rng(5).random((40, 8)) < 0.5).sum(axis=1)
    assert_allclose(
        game.whole("logit").payoff(np.random.default_rng(5).random((40, 8)) < 0.5),
        np.log(np.exp(log_p) / (1 - np.exp(log_p))),
    )
    found = CONTEST.explain("lasso", example).result
    alpha, seed = 0.01 * len(game.outputs), found.seed
    assert str(found.method) == f"lasso/Lasso(budget=40, alpha={alpha!r}, seed={seed})"
    assert_allclose(found.credit, Lasso(40, alpha, seed=seed).solve(game.whole("logit")).credit, atol=1e-6)


@pytest.mark.slow
def test_rows_have_draws_and_contexts_of_their_own():
    first, second = CONTEST.examples(2)
    assert first.text != second.text and first.text == CONTEST.examples(1)[0].text
    assert replace(CONTEST, seed=1).examples(1)[0].text != first.text
    assert len({CONTEST.explain("leave-one-out", e).result.players for e in (first, second)}) == 2
    assert CONTEST.explain("lasso", first).result.seed != CONTEST.explain("lasso", second).result.seed


def test_a_model_that_is_sure_has_a_finite_logit():
    made = facts("plain", 2, 0)
    game = answer_game(answering("builtin"), context=list(made.context), query=made.query, answer=made.answer)
    sure = game.whole("logit").worth(np.zeros((1, len(game.outputs))))
    assert np.isfinite(sure).all() and 36 < sure[0] < 37


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "odd"}, "kind is 'odd'"),
        ({"passages": 17}, "passages must be a whole number from 1 to 16, got 17"),
        ({"removal": "mask"}, "write rebuild or attention"),
        ({"methods": ("knn",)}, "needs training rows; for an answer to a prompt there are"),
    ],
)
def test_settings_that_fail_on_every_row_are_refused_at_once(wrong, message):
    with pytest.raises(InvalidInput, match=message):
        replace(CONTEST, **wrong).check()


def test_metrics_of_classes_do_not_apply_to_answers():
    example = CONTEST.examples(1)[0]
    for name in ("log-odds", "post-hoc accuracy"):
        assert "not of answers" in CONTEST.metric(name, example).because
    assert CONTEST.metric("lds", example) is METRICS["lds"]
    assert CONTEST.metric("hit@1", example).truth == facts("plain", 8, 0).truth


@pytest.mark.slow
def test_a_stored_run_is_read_and_ends_with_the_same_table(tmp_path):
    contest = replace(CONTEST, methods=("leave-one-out",), passages=4, metrics=("hit@1", "lds"))
    examples, store = contest.examples(3), str(tmp_path / "rows.db")
    first = hold(contest, examples, store)
    assert hold(contest, examples, store).to_plain() == first.to_plain()
    assert first["leave-one-out"].metrics["hit@1"].value == 1.0
