"""Verdicts: what suffices, what is told apart, and how often conformal p-values are wrong."""

from __future__ import annotations

import numpy as np
import pytest

from accredit.answers.planted import BOOKS, KINDS, Origin, planted_prompt, planted_prompts
from accredit.answers.verdicts import Calibration, Surprise, surprise, usual_calibration
from accredit.errors import InvalidInput

NOTHING = frozenset[int]()


def group(*passages: int) -> frozenset[int]:
    return frozenset(passages)


def draw(rng: np.random.Generator, origin: Origin) -> Surprise:
    """A sentence whose surprises are spread around those of its origin, far enough to be mistaken now and then."""
    middle = {Origin.PASSAGES: (2.5, 0.8), Origin.MEMORY: (0.8, 0.8), Origin.NOWHERE: (2.5, 2.2)}[origin]
    memory, said, whole = np.expm1(np.abs(rng.normal([middle[0], middle[1], middle[1]], 0.5)))
    return Surprise(float(memory), float(whole), {group(0): float(said)})


def calibration(rng: np.random.Generator, count: int) -> Calibration:
    return Calibration.fit("drawn", [(draw(rng, origin), origin) for origin in Origin.known() for _ in range(count)])


def test_the_four_least_likely_tokens_count_and_length_does_not():
    said = np.array([-0.1, -6.0, -0.2, -1.0])
    assert surprise(said) == pytest.approx(7.3)
    assert surprise(np.concatenate([said, np.full(50, -0.05)])) == pytest.approx(7.3)


@pytest.mark.parametrize(
    ("alone", "support"),
    [
        ({group(0): 0.0, group(1): 9.0, group(0, 1): 0.1}, [{0}]),
        ({group(0): 0.5, group(1): 0.2, group(0, 1): 0.0}, [{1}, {0}]),  # either says it
        ({group(0): 8.0, group(1): 6.0, group(0, 1): 0.3}, [{0, 1}]),  # only both together do
        ({group(0): 9.0, group(1): 9.5, group(0, 1): 9.1}, [{0}]),  # nobody does: the verdict, not this, is to say so
    ],
)
def test_the_smallest_groups_that_take_the_surprise_away_are_the_support(alone, support):
    assert [set(each) for each in Surprise(10.0, 0.0, alone).support()] == support


def test_the_p_value_counts_planted_sentences_that_are_no_less_unlike():
    weights = np.zeros((4, 3))
    weights[1] = [0.0, -1.0, 1.0]  # the larger the surprise without passages, the less it is from memory
    told = Calibration("m", weights, dict.fromkeys(Origin.known(), (0.5, 1.0, 2.0, 4.0)))
    seen = Surprise(np.expm1(1.0), 0.0)
    mine = np.log(np.exp([0.0, -1.0, 1.0]).sum()) + 1.0  # −log p(from memory)
    assert 2.0 < mine < 4.0 and told.p_value(seen, Origin.MEMORY) == 2 / 5


@pytest.mark.slow
def test_no_origin_gets_more_wrong_verdicts_than_allowed():
    """600 calibrations, each judging one fresh sentence of each origin at ε = 0.2: exchangeable, so each verdict is wrong with
    probability at most 0.2. By Hoeffding a share above 0.2 + 0.108 comes up with probability e^(−2·600·0.108²) < 1e-6."""
    rng = np.random.default_rng(0)
    wrong = dict.fromkeys(Origin.known(), 0)
    told_apart = 0
    for _ in range(600):
        told = calibration(rng, 12)
        for origin in Origin.known():
            verdict = told.judge(draw(rng, origin), 0.2)
            wrong[origin] += verdict not in (origin, Origin.UNTOLD)
            told_apart += verdict is origin
    assert max(wrong.values()) <= 600 * (0.2 + 0.108)
    assert told_apart > 600  # and not because it never tells


def test_an_error_rate_needs_enough_planted_sentences():
    told = calibration(np.random.default_rng(1), 12)  # eight of each origin are scored
    assert told.check_error(0.12) == 0.12
    for error in (0.1, 0.0, 1.0):
        with pytest.raises(InvalidInput) as refused:
            told.check_error(error)
        assert (refused.value.argument, refused.value.code) == ("error", "range")
    with pytest.raises(InvalidInput) as refused:
        calibration(np.random.default_rng(1), 2)
    assert refused.value.argument == "prompts"


def test_a_calibration_is_read_as_it_was_written():
    told = usual_calibration()
    again = Calibration.from_json(told.to_json())
    assert again.scores == told.scores and (again.weights == told.weights).all() and again.fingerprint == told.fingerprint
    for damage in ('{"kind": "calibration"}', told.to_json().replace("from memory", "from nowhere"), "[]"):
        with pytest.raises(InvalidInput):
            Calibration.from_json(damage)


@pytest.mark.parametrize("book", BOOKS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_planted_is_there(kind, book):
    for seed in range(20):
        made = planted_prompt(kind, book, seed=seed)
        last = made.answer.split(". ")[-1]
        assert len(made.context) == 6 == len(set(made.context))
        gold = frozenset().union(*made.enough)
        assert bool(gold) == (made.origin is Origin.PASSAGES) == (kind in ("plain", "paraphrase", "redundant", "joint"))
        if kind in ("contradicted", "misattributed", "absent", "added"):
            assert not any(last in passage for passage in made.context)
        if kind == "joint":
            assert len(made.enough) == 1 and len(gold) == 2
        if kind == "redundant":
            assert len(made.enough) == 2 == len(gold)


def test_the_books_share_nothing():
    first, second = BOOKS.values()
    for own in ("relations", "beside", "known"):
        assert not set(getattr(first, own)) & set(getattr(second, own))
    assert not {s for part in first.syllables for s in part} & {s for part in second.syllables for s in part}
    drawn = planted_prompts(10)
    assert [made.origin for made in drawn].count(Origin.MEMORY) == 4 == [made.origin for made in drawn].count(Origin.NOWHERE)
