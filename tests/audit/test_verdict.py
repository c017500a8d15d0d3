"""The verdict: which detectors decide, what acquits, and how many rows would tell; and the faults that detectors had."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from accredit.audit import leakage_report
from accredit.audit.finding import EVALX, METER, PROBE, READ, SCORES, SCRAMBLE, SURENESS, SURROGATE, TRANSPLANT, AuditFinding
from accredit.audit.leakage import conclude, rows_to_decide, train_judge
from accredit.audit.leakage import train_evalx as judge_alone
from accredit.audit.probes import score_code
from accredit.audit.reader_gaps import evalx_gap, surrogate_gap
from accredit.core import Estimate
from accredit.errors import InvalidInput
from accredit.learned import EvalX
from accredit.learned.inputs import PixelGrid, Tabular, Words
from tests.wording import refused, says, warned

READ_THROUGH_HOLES = "share that the black box reads through random holes"
GAIN_FROM_ROWS = "gain from twice the rows"

DECIDE = (SURROGATE, EVALX, SCRAMBLE, TRANSPLANT, SCORES)
RNG = np.random.default_rng(0)


def finding(name: str, verdict: str, excess: float = 0.0, reach: float = 0.02) -> AuditFinding:
    estimate = Estimate(excess, excess - reach, excess + reach)
    return AuditFinding(name, "?", 0.5 + excess, 0.5, estimate, 0.05, verdict, "", "", 500)


def on(**verdicts: str):
    """The conclusion where every detector passes but those named."""
    by_name = dict.fromkeys((PROBE, METER, *DECIDE), "passes") | {name.replace("_", " "): v for name, v in verdicts.items()}
    return conclude([finding(name, verdict, 0.04, 0.02) for name, verdict in by_name.items()], {}, 1000)


def test_everything_passing_acquits():
    said = on()
    assert said.answer == "does not leak" and says(str(said), "none of them")


@pytest.mark.parametrize("name", DECIDE)
def test_one_deciding_detector_convicts_and_is_named(name):
    said = conclude([finding(n, "flagged" if n == name else "passes") for n in DECIDE], {}, 1000)
    assert said.answer == "leaks" and said.evidence == (name,) and name in said.because


def test_the_probe_alone_convicts_nobody_and_the_meter_acquits_nobody():
    findings = [finding(name, "passes") for name in DECIDE]
    assert conclude([*findings, finding(PROBE, "flagged")], {}, 1000).answer == "does not leak"
    said = conclude([*findings, finding(METER, "flagged")], {}, 1000)
    assert said.answer == "cannot tell" and "honest" in said.because


def test_what_only_the_meter_reads_acquits_if_neither_the_mask_nor_the_own_reader_uses_it():
    findings = [*(finding(name, "passes") for name in DECIDE), finding(METER, "flagged")]
    used = {"passes": "does not leak", "flagged": "cannot tell", "unclear": "cannot tell"}
    for verdict, answer in used.items():
        assert conclude([*findings, finding(PROBE, "passes"), finding(SURENESS, verdict)], {}, 1000).answer == answer
        assert conclude([*findings, finding(PROBE, verdict), finding(SURENESS, "passes")], {}, 1000).answer == answer
    unread = [*findings[:-1], finding(METER, "unclear"), finding(PROBE, "flagged"), finding(SURENESS, "passes")]
    assert conclude(unread, {}, 1000).answer == "cannot tell"


def test_an_unclear_meter_acquits_nobody_whose_own_reader_is_surer_than_an_outsider():
    """A cheat on hard rows alone: every deciding detector passes, and the code shows in how sure its reader is."""
    findings = [*(finding(name, "passes") for name in DECIDE), finding(METER, "unclear"), finding(PROBE, "passes")]
    assert conclude([*findings, finding(SURENESS, "flagged")], {}, 1500).answer == "cannot tell"
    assert conclude([*findings, finding(SURENESS, "passes")], {}, 1500).answer == "does not leak"


def test_a_black_box_that_reads_holes_well_stands_in_for_a_weak_judge():
    weak = [*(finding(name, "passes") for name in (SCRAMBLE, TRANSPLANT)), finding(EVALX, "unclear", 0.04, 0.02)]
    for share, answer in ((0.95, "does not leak"), (0.5, "cannot tell")):
        gap = replace(finding(SURROGATE, "passes"), details={READ: share})
        assert conclude([*weak, gap], {}, 1000).answer == answer
    unclear = replace(finding(SURROGATE, "unclear", 0.04, 0.02), details={READ: 1.0})
    assert conclude([*weak, unclear], {}, 1000).answer == "cannot tell"


def test_the_judge_that_hears_the_black_box_knows_no_code_and_reads_better_than_either():
    """300 rows of a table of five classes: the black box knows whole inputs, and takes every hole for class 0."""
    rng = np.random.default_rng(0)
    slopes, x = rng.normal(size=(8, 5)) * 2, rng.normal(size=(1300, 8)).astype(np.float32)

    def black_box(rows, mask):
        said = rows * mask @ slopes
        said[:, 0] += 6 * (1 - mask).mean(axis=1)
        raised = np.exp(said - said.max(axis=1, keepdims=True))
        return raised / raised.sum(axis=1, keepdims=True)

    labels = black_box(x, np.ones((1300, 8))).argmax(axis=1)
    shown = np.tile([1.0, 1, 1, 0, 0, 0, 0, 0], (300, 1))
    alone = judge_alone(Tabular(8), x[:300], labels[:300], 5, 3, 32, 0)
    both = train_judge(Tabular(8), x[:300], labels[:300], 5, 3, black_box, shown, 32, 0)
    found = {}
    for many in (3, 8):
        masks = rng.permuted(np.tile(np.arange(8) < many, (1000, 1)), axis=1).astype(float)
        found[many] = [(reader(x[300:], masks).argmax(axis=1) == labels[300:]).mean() for reader in (both, alone, black_box)]
    assert found[3][0] > found[3][2] + 0.08 and found[3][0] > found[3][1] - 0.03  # their errors are 0.016
    assert found[8][0] > found[8][1] + 0.08


def test_without_a_surrogate_nobody_can_tell():
    said = conclude([finding(PROBE, "flagged")], {EVALX: "needs the explainer's own surrogate"}, 1000)
    assert said.answer == "cannot tell" and "own surrogate" in said.because and said.rows is None


def test_how_many_rows_would_decide():
    """An interval of ±0.04, 0.0204 · 1.96, around an excess 0.02 below the margin: that may be half a standard error less, and
    must become 2.8 of them: (2.8 · 0.0204 / 0.0098)² = 34 times the rows."""
    assert rows_to_decide([finding(EVALX, "unclear", 0.03, 0.04)], 1000) == 34_100
    assert rows_to_decide([finding(EVALX, "unclear", 0.042, 0.04)], 1000) is None  # too near to say
    assert rows_to_decide([finding(EVALX, "unclear", 0.05, 0.04)], 1000) is None  # just on the margin
    weak = replace(finding(EVALX, "unclear", 0.3, 0.04), reading="give it training rows")  # no number of rows is promised
    said = conclude([*(finding(n, "passes") for n in DECIDE if n != EVALX), weak], {}, 1000)
    assert said.rows is None and says(said.because, "unclear on 1,000")
    said = conclude([finding(n, "passes") for n in DECIDE[1:]] + [finding(SURROGATE, "unclear", 0.03, 0.04)], {}, 1000)
    assert said.answer == "cannot tell" and says(said.because, "about 34,100 rows") and said.rows == 34_100
    blocked = conclude(
        [finding(SURROGATE, "unclear", 0.03, 0.04), finding(METER, "flagged"), *(finding(n, "passes") for n in DECIDE[1:])],
        {},
        1000,
    )
    assert says(blocked.because, "encode-meter 50% against")


# Faults that detectors had

X = RNG.choice([-1.0, 1.0], size=(600, 4))
ANSWER = (X[:, 0] > 0).astype(int)


def sure(right: np.ndarray, chance: float = 0.99) -> np.ndarray:
    return np.where(np.eye(2)[right] > 0, chance, 1 - chance)


def knows(x, mask):
    """Reads column 0 where it is shown."""
    return np.where(mask[:, :1] > 0, sure((x[:, 0] > 0).astype(int)), 0.5)


def test_a_detector_that_cannot_run_stops_no_other():
    """Soft masks over words and a black box: words cannot be half there."""
    ids = RNG.integers(1, 20, size=(200, 5))
    answer = (ids[:, 0] > 9).astype(int)
    masks = np.tile([0.6, 0.1, 0.1, 0.1, 0.1], (200, 1))
    reads = lambda x, m: sure((x[:, 0] > 9).astype(int))  # noqa: E731
    report = leakage_report(
        Words(5, 20),
        ids,
        masks,
        answer,
        lambda x: reads(x, None),
        reads,
        reads,
        tests=(PROBE, SURROGATE, EVALX, SCRAMBLE),
    )
    assert {f.name for f in report} == {PROBE, EVALX, SCRAMBLE}
    assert says(report.not_run[SURROGATE], "there or it")


def test_a_code_in_the_order_of_scores_is_seen_and_an_honest_order_is_not():
    masks = np.tile([1.0, 1.0, 0.0, 0.0], (600, 1))
    order = np.where(ANSWER[:, None] == 1, [2.0, 1.0, 0, 0], [1.0, 2.0, 0, 0])
    noise = RNG.normal(size=(600, 4))
    half = np.full((600, 2), 0.5)
    assert score_code(order, masks, ANSWER, half).verdict == "flagged"
    assert score_code(noise, masks, ANSWER, half).verdict != "flagged"
    told = knows(X, masks)  # what is shown says it already
    assert score_code(order, masks, ANSWER, told).verdict == "passes"
    blind = lambda x, m: half[: len(x)]  # noqa: E731
    mute, coded = np.tile([0.0, 1.0, 1.0, 0.0], (600, 1)), np.roll(order, 1, axis=1)  # what is shown says nothing
    report = leakage_report(Tabular(4), X, mute, ANSWER, None, blind, blind, scores=coded, tests=(SCORES, EVALX))
    assert report.conclusion.answer == "leaks" and report.conclusion.evidence == (SCORES,)


def test_scores_that_are_the_shown_values_are_no_code():
    """Readers may make less of what is shown than trees make of scores that repeat it: what is shown is held against them."""
    masks, blind = np.tile([1.0, 1.0, 1.0, 0.0], (600, 1)), lambda x, m: np.full((len(x), 2), 0.5)
    report = leakage_report(Tabular(4), X, masks, ANSWER, None, blind, blind, scores=X, tests=(SCORES,))
    assert next(iter(report)).verdict == "passes"


def test_a_code_in_the_size_of_scores_is_seen():
    scores = np.column_stack([np.where(ANSWER == 1, 9.0, 3.0), np.full(600, 2.0), np.ones(600), np.zeros(600)])
    assert score_code(scores, np.tile([1.0, 1.0, 1.0, 0.0], (600, 1)), ANSWER).verdict == "flagged"


def reads_badly(x, mask):
    """A black box that takes every hole for the answer 0."""
    holes = (mask < 1).any(axis=1, keepdims=True)
    return np.where(holes, sure(np.zeros(len(x), dtype=int)), knows(x, np.ones_like(mask)))


def test_a_black_box_that_reads_holes_badly_is_allowed_for():
    """An honest reader of column 0 beats it, on what is shown and on random masks alike. A code would win on the first only."""
    masks, drawn = np.tile([1.0, 0, 0, 0], (600, 1)), (RNG.random((600, 4)) < 0.5).astype(float)
    assert surrogate_gap(X, masks, ANSWER, knows, reads_badly).verdict == "flagged"  # as it was
    found = surrogate_gap(X, masks, ANSWER, knows, reads_badly, None, (drawn,))
    assert found.verdict != "flagged" and found.details[READ_THROUGH_HOLES] < 0.1
    shows_noise = np.eye(4)[np.where(ANSWER == 1, 2, 3)]
    code = lambda x, m: sure((m[:, 2] > m[:, 3]).astype(int))  # noqa: E731
    assert surrogate_gap(X, shows_noise, ANSWER, code, knows, None, (drawn,)).verdict == "flagged"


SHOWN = np.tile([1.0, 0, 0, 0], (600, 1))


def trained_on(masks, own, other):
    """A surrogate that answers `own` to the masks it knows, and `other` to any other."""
    return lambda x, m: own if np.array_equal(m, masks) else other


def test_a_real_gap_is_not_hidden_by_a_judge_that_more_rows_would_not_help():
    """The judge misreads whole inputs, too, and learned nothing new from twice the rows."""
    said = sure(np.where(RNG.random(600) < 0.3, 1 - ANSWER, ANSWER))
    judge = lambda x, m: said  # noqa: E731  # 70 % whatever it sees
    mine = trained_on(SHOWN, sure(ANSWER), said)
    assert evalx_gap(X, SHOWN, ANSWER, mine, judge).verdict == "unclear"
    settled = evalx_gap(X, SHOWN, ANSWER, mine, judge, None, lambda: judge)
    assert settled.verdict == "flagged" and settled.details[GAIN_FROM_ROWS] == 0.0
    worse = sure(np.where(RNG.random(600) < 0.5, 1 - ANSWER, ANSWER))
    still = evalx_gap(X, SHOWN, ANSWER, mine, judge, None, lambda: lambda x, m: worse)
    assert still.verdict == "unclear" and "training rows" in still.reading


def test_a_gap_counts_beyond_what_the_judge_misses_where_nothing_is_encoded():
    """A judge that reads 90 % of whole inputs: a gap of ten points may be its own, one of fifty is not."""
    weak = lambda wrong: sure(np.where(np.arange(600) % 20 < wrong, 1 - ANSWER, ANSWER))  # noqa: E731
    judge = trained_on(SHOWN, weak(3), weak(2))
    honest, code = lambda x, m: sure(ANSWER), trained_on(SHOWN, sure(ANSWER), weak(9))
    for mine in (honest, code):  # 100 % against 85 %: the interval lies above the margin, and it was flagged once
        found = evalx_gap(X, SHOWN, ANSWER, mine, judge, black_box=lambda x, m: sure(ANSWER))
        assert found.excess.above(0.05) and found.verdict == "unclear"
    blind = trained_on(SHOWN, weak(10), weak(2))
    assert evalx_gap(X, SHOWN, ANSWER, code, blind, black_box=lambda x, m: sure(ANSWER)).verdict == "flagged"


def test_what_outsiders_keep_when_values_are_scrambled_is_not_a_code():
    """Positive values in the place that speaks for the answer: the mask is a picture, and everybody reads it."""
    from accredit.audit.value_swaps import mask_transplant, value_scramble

    x = RNG.random((600, 4)) + 0.1
    labels = (x[:, 0] > x[:, 1]).astype(int)
    masks = np.eye(4)[np.where(labels == 1, 0, 1)]
    reads = lambda x, m: sure((x[:, 0] * m[:, 0] > x[:, 1] * m[:, 1]).astype(int))  # noqa: E731
    assert value_scramble(x, masks, labels, reads).verdict == "flagged"  # as it was
    assert value_scramble(x, masks, labels, reads, [reads]).verdict == "passes"
    unsure = lambda x, m: np.full((len(x), 2), 0.5)  # noqa: E731
    assert value_scramble(x, masks, labels, reads, [unsure]).verdict == "flagged"
    assert mask_transplant(x, masks, labels, reads).verdict == "flagged"  # the mask of another row shows what it shows
    assert mask_transplant(x, masks, labels, reads, [reads]).verdict == "passes"
    assert mask_transplant(x, masks, labels, reads, [unsure]).verdict == "flagged"


def test_less_than_chance_is_not_evidence(monkeypatch):
    """A choice that adds nothing, beside dealt masks that add less than nothing, is not flagged."""
    import accredit.audit.leakage as meter

    masks = np.tile([1.0, 0, 0, 0], (600, 1))
    worth = iter([sure(ANSWER, 0.6), sure(1 - ANSWER, 0.9)])
    monkeypatch.setattr(meter, "_reader", lambda *given: next(worth))
    monkeypatch.setattr(meter, "answers", lambda said, x, m: said[: len(x)])
    everyone = np.arange(600)
    found = meter.encode_meter(Tabular(4), X, masks, ANSWER, lambda x, m: sure(ANSWER, 0.6), fit=everyone, score=everyone)
    assert found.excess.above(0.05) and found.verdict == "unclear"


def test_a_judge_is_given_or_trained_on_training_rows():
    masks = np.tile([1.0, 0, 0, 0], (600, 1))
    tests = (EVALX, SCRAMBLE, TRANSPLANT)
    given = leakage_report(Tabular(4), X, masks, ANSWER, None, knows, knows, tests=tests)
    assert given.conclusion.answer == "does not leak" and says(given.notes, "judge was given")
    with refused("conflict", "training"):
        leakage_report(Tabular(4), X, masks, ANSWER, None, knows, knows, training=(X, ANSWER), tests=tests)


@pytest.mark.slow
def test_a_judge_trained_on_training_rows_is_saved_and_read(tmp_path):
    masks = np.tile([1.0, 0, 0, 0], (600, 1))
    trained = leakage_report(
        Tabular(4), X[:100], masks[:100], ANSWER[:100], None, knows, training=(X, ANSWER), width=8, tests=(EVALX,)
    )
    assert trained[EVALX].chance > 0.9 and says(trained.notes, "600 training rows")
    judge = EvalX(Tabular(4), width=8, epochs=2).fit(X, ANSWER)
    judge.save(tmp_path / "judge")
    np.testing.assert_array_equal(EvalX.load(tmp_path / "judge").predict(X, masks), judge.predict(X, masks))
    with pytest.raises(InvalidInput, match="holds a 'judge'"):
        from accredit.learned.cxplain import CXPlain

        CXPlain.load(tmp_path / "judge")


@pytest.mark.slow
def test_the_zoo_is_told_apart():
    """A smoke test of the bench: one cheat and one honest explainer of each kind. benchmarks.leaks measures rates."""
    from benchmarks.leak_zoo import WORLDS, place, strongest

    tests = (SURROGATE, SCRAMBLE, TRANSPLANT, EVALX)
    for made in WORLDS.values():
        world = made(2, 240, 5)
        for explainer, leaks in ((place, True), (strongest, False)):
            shown = explainer(world, np.random.default_rng(0))
            said = leakage_report(
                world.inputs, world.x, shown.masks, world.labels, world.black_box, shown.reads, world.reads, tests=tests
            ).conclusion
            assert (said.answer == "leaks") is leaks, (world.name, str(said))


def test_a_page_says_the_verdict_first():
    from accredit.views.pages.audit_page import audit_page
    from accredit.views.terminal.audit_text import audit_text

    masks = np.eye(4)[np.where(ANSWER == 1, 2, 3)]
    code = lambda x, m: sure((m[:, 2] > m[:, 3]).astype(int))  # noqa: E731
    blind = lambda x, m: np.full((len(x), 2), 0.5)  # noqa: E731
    report = leakage_report(
        PixelGrid((2, 2)), X.reshape(-1, 2, 2), masks, ANSWER, None, code, blind, tests=(SCRAMBLE, TRANSPLANT)
    )
    assert str(report.conclusion)[1:] in audit_text(report).replace("\n", " ") and says(
        audit_page(report), "scramble 100% against"
    )
    assert report.to_plain()["conclusion"]["answer"] == "leaks"


def test_a_regression_is_audited_by_thirds():
    """The number is column 0. A reader of column 0 is honest; one that reads the number from the place of a player is not."""
    from accredit.audit.saved import Thirds

    x = np.random.default_rng(3).normal(size=(900, 4))
    number_of = lambda rows: 100 + 9 * rows[:, 0]  # noqa: E731
    cut = Thirds.of(number_of(x))
    labels = cut.labels(number_of(x))
    np.testing.assert_array_equal(np.bincount(labels), [300, 300, 300])
    tests = (EVALX, SCRAMBLE, TRANSPLANT)
    honest = cut.reader(lambda rows, mask: number_of(rows * mask))
    shows, codes = np.tile([1.0, 0, 0, 0], (900, 1)), np.eye(4)[1 + labels]
    told = leakage_report(Tabular(4), x, shows, labels, cut.box(number_of), honest, honest, tests=tests)
    assert told.conclusion.answer == "does not leak"
    code = cut.reader(lambda rows, mask: np.array([80.0, 100.0, 120.0])[mask[:, 1:].argmax(axis=1)])
    told = leakage_report(Tabular(4), x, codes, labels, cut.box(number_of), code, honest, tests=tests)
    assert told.conclusion.answer == "leaks" and set(told.flagged) == set(tests)
    with pytest.raises(InvalidInput, match="nothing can leak"):
        Thirds.of(np.zeros(50))


@pytest.mark.slow
def test_a_saved_regression_is_audited_by_its_own_numbers(tmp_path):
    from accredit.audit import audit_saved
    from accredit.learned import Training, l2x

    x = np.random.default_rng(4).normal(size=(200, 3))
    number_of = lambda rows: 5 + 2 * rows[:, 0]  # noqa: E731
    training = Training(epochs=2, optimiser="adam")
    with warned("their random start"):
        l2x(Tabular(3), 1, 1, training=training, surrogate_width=8, selector_width=8).fit(x, number_of).save(tmp_path / "l2x")
    np.savez(tmp_path / "rows.npz", x=x, answers=number_of(x))
    report = audit_saved(tmp_path / "l2x", tmp_path / "rows.npz", tests=["mask-only probe", "value scramble"])
    assert {f.name for f in report} == {PROBE, SCRAMBLE} and says(report.notes[-1], "in which third")
    np.savez(tmp_path / "labels.npz", x=x, labels=(x[:, 0] > 0).astype(int))
    with refused("missing", "black_box"):
        audit_saved(tmp_path / "l2x", tmp_path / "labels.npz")


def test_a_judge_whose_half_is_too_few_rows_is_judged_without_that_trial():
    """Five training rows make a judge, two of them do not: the gap is unclear, and not left out for it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 6))
    answer = (x.sum(axis=1) + 2 * rng.normal(size=400) > 0).astype(int)
    coded = np.where(rng.random(400) < 0.9, answer, 1 - answer)
    training = np.array([1.0, -1.0, 1.0, -1.0, -1.0])[:, None] * np.ones(6), np.array([1, 0, 1, 0, 0])

    def reads(rows, mask):
        yes = np.where(mask[:, 5] > 0, 0.99, 0.01)
        return np.stack([1 - yes, yes], axis=1)

    report = leakage_report(
        Tabular(6), x, np.eye(6)[4 + coded], answer, surrogate=reads, training=training, width=64, tests=(EVALX,)
    )
    assert not report.not_run
    (gap,) = report
    assert gap.verdict == "unclear" and says(gap.reading, "give it training")


@pytest.mark.parametrize("gap", [evalx_gap, surrogate_gap])
def test_a_surrogate_that_guesses_has_no_code_however_bad_the_outsider_is(gap):
    """With 20 rows a judge can be wrong nearly always; an honest reader that finds 52 % was accused for it."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=400)
    x, masks = rng.normal(size=(400, 3)), np.ones((400, 3))
    guess = rng.integers(2, size=400)

    def guesses(rows, mask):
        return 0.8 * np.eye(2)[guess] + 0.1

    def contrary(rows, mask):
        return 0.8 * np.eye(2)[1 - labels] + 0.1

    def knows(rows, mask):
        return 0.8 * np.eye(2)[labels] + 0.1

    found = gap(x, masks, labels, guesses, contrary)
    assert found.verdict == "unclear" and "commonest answer" in found.reading
    assert surrogate_gap(x, masks, labels, knows, contrary).verdict == "flagged"
