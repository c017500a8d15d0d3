"""A contest on texts: which metrics mean something for which payoff, on real models with two labels and with three."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch")

from accredit.arena.contest import METRICS, Example
from accredit.arena.texts import TextContest
from accredit.errors import InvalidInput
from accredit.evaluate import NotApplicable, PostHocAccuracy, measure, random_scores
from tests.models.small_models import text_model
from tests.wording import says

TWO = TextContest(("leave-one-out",))
TEXT = Example(0, "A warm and funny film.")


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> TextContest:
    """A model with three labels, in a folder as users have it."""
    folder = tmp_path_factory.mktemp("three labels")
    model = text_model("bert")
    model.model.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    assert model.classes == 3
    return replace(TWO, model=str(folder))


def reason(contest: TextContest, metric: str) -> str:
    """Why a metric is not measured; nothing where it is."""
    game = contest.game(TEXT)
    try:
        measure(contest.metric(metric, TEXT), game, random_scores(game))
    except NotApplicable as why:
        return str(why)
    return ""


def test_probabilities_of_two_labels_have_every_metric():
    assert [name for name in METRICS if reason(TWO, name)] == ["infidelity", "hit@1", "hit@2"]  # no unit, no truth
    assert TWO.metric("post-hoc accuracy", TEXT) == PostHocAccuracy(threshold=0.5)


def test_a_margin_decides_at_zero_among_any_number_of_labels(three):
    for contest in (TWO, three):
        assert replace(contest, payoff="margin").metric("post-hoc accuracy", TEXT) == PostHocAccuracy(threshold=0.0)


def test_the_probability_of_one_label_of_three_does_not_tell_the_decision(three):
    for payoff in ("probability", "log-odds", "logit"):
        assert says(reason(replace(three, payoff=payoff), "post-hoc accuracy"), "3 does not")
    assert not reason(three, "log-odds")


@pytest.mark.parametrize("payoff", ["logit", "log-odds", "margin"])
def test_a_payoff_that_may_look_like_a_probability_is_none(payoff):
    assert f"the payoff is {payoff}" in reason(replace(TWO, payoff=payoff), "log-odds")


def test_another_judge_sees_the_same_explanation():
    first = TWO.explain("leave-one-out", TEXT)
    assert replace(TWO, judge="attention").explain("leave-one-out", TEXT) is first
    assert replace(TWO, removal="delete").explain("leave-one-out", TEXT) is not first


def test_credit_is_no_share_of_what_another_judge_takes():
    assert "removal=attention" in reason(replace(TWO, judge="attention"), "infidelity")
    assert replace(TWO, judge="mask").metric("infidelity", TEXT) is METRICS["infidelity"]  # the methods mask, too


def test_settings_that_fail_on_every_row_are_refused_at_once():
    for wrong, message in (
        ({"payoff": "utility"}, "payoff is 'utility'"),
        ({"removal": "erase"}, "removal is 'erase'"),
        ({"judge": "jury"}, "judge is 'jury'"),
    ):
        with pytest.raises(InvalidInput, match=message):
            replace(TWO, **wrong).check()
