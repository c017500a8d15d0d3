"""Each detector on planted cheats (it must flag) and on honest explainers (it must pass): exact world, words, pixels."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from accredit.audit import Findings, leakage_report
from accredit.audit.finding import (
    EVALX,
    INERT,
    METER,
    NAMES,
    PROBE,
    RANDOM,
    SCORES,
    SCRAMBLE,
    SURROGATE,
    TRANSPLANT,
)
from accredit.audit.probes import halves, inert_players, mask_only_probe
from accredit.audit.value_swaps import mask_transplant, others, value_scramble
from accredit.errors import InvalidInput
from accredit.learned.inputs import PixelGrid, Tabular, Words
from accredit.learned.masks import random_masks
from accredit.shortcuts.world import Choices, World
from tests.wording import refused, says

ON_WHOLE_INPUTS = "EVAL-X on whole inputs"

WITHOUT_SCORES = tuple(name for name in NAMES if name != SCORES)
# Every verdict below rests on margins of many standard errors: with 1500 scored rows a share has at most 0.013 of them,
# and the planted effects exceed the margin of 0.05 by 0.1 and more (8 standard errors: false alarms below 1e-14).


def logistic(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


TWO = World.of(4, lambda x: logistic(2 * x[:, 0] + 1.5 * x[:, 1]))
SWITCHED = World.of(5, lambda x: logistic(4 * np.where(x[:, 4] > 0, x[:, 0], x[:, 1])))

HONEST = {
    "the best two features": TWO.choose(TWO.best_mask(2)),
    "a switch and what it switches": SWITCHED.choose(np.where(SWITCHED.x[:, 4:] > 0, [1, 0, 0, 0, 1], [0, 1, 0, 0, 1])),
}
CHEAT = TWO.choose(np.where(TWO.x[:, :1] > 0, [0, 0, 1, 0], [0, 0, 0, 1]))
CONDITIONAL = SWITCHED.choose(np.where(SWITCHED.x[:, 4:] > 0, [1, 0, 0, 0, 0], [0, 1, 0, 0, 0]))


def report_on(choices: Choices, tests: tuple[str, ...] = NAMES) -> Findings:
    x, masks, labels = choices.sample(3000, seed=1)
    return leakage_report(
        Tabular(x.shape[1]),
        x,
        masks,
        labels,
        black_box=choices.world.answer,
        surrogate=lambda rows, mask: choices.answer(rows * mask),
        inert=np.arange(x.shape[1]) == 3,
        width=32,
        tests=tests,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_explainer_passes_every_detector(name):
    report = report_on(HONEST[name])
    assert {finding.name: finding.verdict for finding in report} == dict.fromkeys(WITHOUT_SCORES, "passes")
    assert report.flagged == () and report.conclusion.answer == "does not leak"


@pytest.mark.slow
def test_a_cheat_is_flagged_by_every_detector_and_its_numbers_are_the_exact_ones():
    report = report_on(CHEAT)
    assert report.flagged == WITHOUT_SCORES and report.conclusion.answer == "leaks"
    error = 5 / np.sqrt(1500)  # five standard errors of a share, and of nats with a spread below 1: false alarms < 1e-6
    assert abs(report[METER].excess.value - CHEAT.encoding) < error
    assert abs(report[PROBE].details["bits at least"] * np.log(2) - CHEAT.information) < error
    accuracy = CHEAT.labels_given_mask.max(axis=1) @ CHEAT.of_masks
    assert abs(report[PROBE].value - accuracy) < error
    assert report[PROBE].random is not None
    assert abs(report[PROBE].random - 0.5) < error


@pytest.mark.slow
def test_a_code_that_needs_the_values_is_seen_by_the_encode_meter_only():
    """One of two features is shown, by a switch that is not: mask and values together say what neither says alone."""
    report = report_on(CONDITIONAL, (PROBE, METER, SCRAMBLE))
    assert report.flagged == (METER,)
    assert abs(report[METER].excess.value - CONDITIONAL.encoding) < 5 / np.sqrt(1500)


def test_without_surrogate_or_black_box_the_rest_still_runs_and_the_report_says_what_is_missing():
    x, masks, labels = CHEAT.sample(400, seed=2)
    report = leakage_report(None, x, masks, labels)
    assert {finding.name for finding in report} == {PROBE}
    assert set(report.not_run) == set(NAMES) - {PROBE}
    with refused("missing"):
        report[SCRAMBLE]


# Words: one of eight positions holds a telling word, 5 (label 1) or 6 (label 0); the others are noise.


def texts(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    ids, labels, place = rng.integers(7, 20, size=(rows, 8)), rng.integers(2, size=rows), rng.integers(8, size=rows)
    ids[np.arange(rows), place] = np.where(labels == 1, 5, 6)
    return ids, labels, place


def reads_words(ids: np.ndarray) -> np.ndarray:
    for_, against = (ids == 5).any(axis=1), (ids == 6).any(axis=1)
    p = (1 + 0.98 * (for_.astype(float) - against)) / 2
    return np.stack([1 - p, p], axis=1)


def says_place(masks: np.ndarray) -> np.ndarray:
    """A surrogate that reads the mask and nothing else: the first position means 1."""
    p = np.where(masks[:, 0] > masks[:, 1], 0.99, 0.01)
    return np.stack([1 - p, p], axis=1)


@pytest.mark.slow
def test_words_the_telling_word_is_honest():
    x, labels, place = texts(1600, seed=0)
    inputs = Words(8, 20)
    report = leakage_report(
        inputs,
        x,
        np.eye(8)[place],
        labels,
        reads_words,
        lambda ids, mask: reads_words(inputs.keep(ids, mask)),
        width=32,
    )
    assert report.flagged == ()
    assert {report[name].verdict for name in (EVALX, METER, SCRAMBLE, TRANSPLANT, RANDOM)} == {"passes"}


@pytest.mark.slow
def test_words_a_place_for_each_label_is_a_cheat():
    x, labels, _ = texts(1600, seed=0)
    masks = np.eye(8)[np.where(labels == 1, 0, 1)]
    report = leakage_report(Words(8, 20), x, masks, labels, reads_words, lambda _, mask: says_place(mask), width=32)
    assert set(report.flagged) >= {PROBE, SURROGATE, EVALX, METER, SCRAMBLE, TRANSPLANT}
    assert report[RANDOM].verdict != "passes"


# Pixels: one of nine 2×2 blocks is lit, brightly (label 1) or with a negative (label 0).


def pictures(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels, place = rng.integers(2, size=rows), rng.integers(9, size=rows)
    inputs = PixelGrid((6, 6), block=2)
    lit = inputs.spread(np.eye(9)[place], rows) * np.where(labels == 1, 1.0, -1.0)[:, None, None]
    return lit + 0.05 * rng.normal(size=lit.shape), labels, place


def reads_pixels(picture: np.ndarray) -> np.ndarray:
    p = logistic(4 * picture.sum(axis=(1, 2)))
    return np.stack([1 - p, p], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("cheats", [False, True])
def test_pixels_the_lit_block_is_honest_and_a_block_for_each_label_is_not(cheats):
    x, labels, place = pictures(1600, seed=0)
    inputs = PixelGrid((6, 6), block=2)
    masks = np.eye(9)[np.where(labels == 1, 0, 1) if cheats else place]
    own = (lambda _, mask: says_place(mask)) if cheats else (lambda x, mask: reads_pixels(inputs.keep(x, mask)))
    report = leakage_report(inputs, x, masks, labels, reads_pixels, own, width=8)
    codes = {PROBE, SURROGATE, EVALX, METER, SCRAMBLE, TRANSPLANT}
    assert codes & set(report.flagged) == (codes if cheats else set())
    assert (report[RANDOM].verdict == "passes") is not cheats


# Single detectors by hand


def test_probe_does_not_read_digits_that_no_network_uses():
    """Masks that tell the label in the third decimal only are rounded alike."""
    labels = np.arange(600) % 2
    masks = np.full((600, 2), 0.5) + 0.004 * np.where(labels == 1, 1, -1)[:, None] * np.array([1, -1])
    assert mask_only_probe(masks, labels).verdict == "passes"
    assert mask_only_probe(masks * [2, 0] % 1 * 50 % 1, labels).verdict == "flagged"  # the same, made visible


def test_inert_mass_has_the_share_of_inert_players_as_chance():
    masks = np.array([[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    found = inert_players(masks, [False, False, True])
    assert found.value == pytest.approx(0.25)
    assert found.chance == pytest.approx(1 / 3)
    padded = inert_players(masks, [False, False, True], np.array([[True, False, True], [True, True, True]]))
    assert padded.chance == pytest.approx((1 / 2 + 1 / 3) / 2)
    with pytest.raises(InvalidInput, match="no player"):
        inert_players(masks, [False, False, False])


def test_scramble_and_transplant_of_a_surrogate_that_reads_values_only():
    rng = np.random.default_rng(0)
    x, masks = rng.choice([-1.0, 1.0], size=(500, 2)), np.ones((500, 2))
    labels = (x[:, 0] > 0).astype(int)
    reads = lambda x, _: np.stack([x[:, 0] < 0, x[:, 0] > 0], axis=1).astype(float)  # noqa: E731
    assert mask_transplant(x, masks, labels, reads).value == 0
    kept = value_scramble(x, masks, labels, reads)
    assert abs(kept.value - kept.chance) < 5 * 0.5 / np.sqrt(500)  # five standard errors


def test_scramble_chance_is_the_share_of_the_answer_that_is_given():
    """A surrogate that always says the commonest answer is no cheat, although it agrees often."""
    labels = (np.arange(400) % 4 > 0).astype(int)  # three quarters are 1
    found = value_scramble(np.zeros((400, 1)), np.ones((400, 1)), labels, lambda x, _: np.tile([0.0, 1.0], (len(x), 1)))
    assert found.value == found.chance == 0.75
    assert found.verdict == "passes"


def test_others_is_a_cycle_and_halves_are_apart():
    partner = others(7, np.random.default_rng(0))
    assert sorted(partner) == list(range(7))
    assert (partner != np.arange(7)).all()
    fit, score = halves(41, seed=0)
    assert not set(fit) & set(score)
    assert len(fit) + len(score) == 41


def test_random_masks_keep_size_sharpness_and_padding():
    rng = np.random.default_rng(0)
    present = rng.random((50, 6)) < 0.7
    present[:, 0] = True
    masks = rng.random((50, 6)) * present
    drawn = random_masks(masks, present, seed=1)
    np.testing.assert_allclose(np.sort(drawn, axis=1), np.sort(masks, axis=1))
    assert not drawn[~present].any()
    assert (drawn != masks).any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.zeros(40, dtype=int)}, "labels are all 0"),
        ({"labels": np.zeros(40)}, "whole numbers"),
        ({"masks": np.ones((40, 2))}, "one column per player"),
        ({"masks": np.full((40, 3), 2.0)}, r"in 0\.\.1"),
        ({"x": np.full((40, 3), np.nan)}, "NaN"),
        ({"tests": ("tea leaves",)}, "no test 'tea leaves'"),
        ({"inert": np.ones(4, dtype=bool)}, r"inert must have shape \(3,\) or \(40, 3\), got \(4,\)"),
        ({"labels": np.arange(40) % 3, "surrogate": lambda x, m: np.full((len(x), 2), 0.5)}, "labels go up to 2"),
        ({"surrogate": lambda x, m: x[:, :2] + 7}, "must be probabilities"),
    ],
)
def test_bad_input_is_refused(change, message):
    given = {"x": np.zeros((40, 3)), "masks": np.ones((40, 3)), "labels": np.arange(40) % 2, "tests": NAMES} | change
    with pytest.raises(InvalidInput, match=message):
        leakage_report(Tabular(3), **given)


def test_too_few_rows_are_refused():
    with pytest.raises(InvalidInput, match="at least 20"):
        leakage_report(Tabular(2), np.zeros((6, 2)), np.ones((6, 2)), np.arange(6) % 2)


def test_a_report_is_plain_data():
    plain = report_on(CHEAT, (PROBE, INERT)).to_plain()
    assert [found["name"] for found in plain["findings"]] == [PROBE, INERT]
    assert plain["findings"][0]["verdict"] == "flagged"


# Few rows: what cannot be known must not be said.

FEW = World.of(6, lambda x: (x[:, 0] + 1) / 2)  # the label is feature 0
SHOWN = FEW.choose(np.arange(6) == 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_judge_that_has_learned_too_little_accuses_nobody(seed):
    """An honest explainer with a perfect surrogate on 40 rows: EVAL-X, fitted on 20, falls short of it for lack of rows."""
    x, masks, labels = SHOWN.sample(40, seed)
    report = leakage_report(
        Tabular(6), x, masks, labels, surrogate=lambda rows, mask: SHOWN.answer(rows * mask), width=4, seed=seed
    )
    assert report[EVALX].verdict != "flagged"
    assert not set(report.flagged) - {RANDOM}


@pytest.mark.slow
def test_a_judge_is_trained_until_it_knows_even_on_few_rows():
    x, masks, labels = SHOWN.sample(200, 0)
    report = leakage_report(Tabular(6), x, masks, labels, surrogate=lambda rows, mask: SHOWN.answer(rows * mask), width=32)
    assert report[EVALX].details[ON_WHOLE_INPUTS] > 0.9
    assert report[EVALX].verdict == "passes"


def test_a_probe_that_could_learn_nothing_does_not_pass_a_cheat():
    masks, labels = np.eye(2)[np.arange(24) % 2], np.arange(24) % 2
    assert mask_only_probe(masks, labels).verdict == "flagged"  # so plain that twelve rows show it
    alike = mask_only_probe(np.ones((24, 2)), labels)
    assert alike.excess.value == 0 and alike.verdict == "unclear"


@pytest.mark.slow
def test_an_answer_that_half_of_the_rows_never_gives_is_no_crash(monkeypatch):
    monkeypatch.setattr("accredit.audit.leakage.patience_for", lambda rows: (2, 2))  # how well does not matter here
    x, masks, _ = SHOWN.sample(60, 0)
    fit, score = halves(60, 0)
    for rare in (fit[0], score[0]):
        labels = (np.arange(60) == rare).astype(int) * 2
        report = leakage_report(
            Tabular(6),
            x,
            masks,
            labels,
            surrogate=lambda rows, mask: np.full((len(rows), 3), 1 / 3),
            width=4,
            tests=(PROBE, EVALX, METER, TRANSPLANT),
        )
        assert (TRANSPLANT in report.not_run) == (rare in fit)


def test_a_code_in_the_small_weights_of_many_players_is_seen():
    """Attention over 60 tokens: no weight reaches 0.025, the first token has twice its share for one label."""
    rng = np.random.default_rng(0)
    labels, masks = rng.integers(2, size=300), np.ones((300, 60))
    masks[:, 0] += labels
    masks[:, 1:] += rng.random((300, 59)) / 9
    assert mask_only_probe(masks / masks.sum(axis=1, keepdims=True), labels).verdict == "flagged"


def test_nobody_chosen_leaves_nothing_to_prefer():
    x, masks, labels = SHOWN.sample(40, 0)
    report = leakage_report(Tabular(6), x, 0 * masks, labels, inert=np.arange(6) > 2, tests=(PROBE, INERT))
    assert says(report.not_run[INERT], "empty in all")
