from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.labels import WrongLabels, wrong_labels
from accredit.labels.annotators import rate_by_annotator, worst_of
from accredit.labels.duplicates_outliers import edited_rows, edited_texts, nearest, oddities
from accredit.labels.find import _accuse, _hear, find_confusions, judge, level_classes
from accredit.labels.out_of_fold import belief, out_of_fold, pool, pool_shares
from accredit.labels.predictability import STANDARD_ERRORS, Skill, skill
from accredit.labels.probability import (
    RECALL_COUNTS,
    best_cut,
    between_counts,
    rate_interval,
    share_interval,
    shift_odds,
    wrong_probability,
)
from accredit.labels.rate import _Likelihood, random_rate
from accredit.labels.row_views import margin, scale, text_views
from tests.real_data import real_data
from tests.wording import says

pytest.importorskip("sklearn")


def _blobs(rows: int, apart: float, flips: int, seed: int = 0, classes: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gaussian classes; which rows have a wrong label."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    x = rng.normal(size=(rows, 6)) + apart * np.eye(6)[y]
    wrong = np.zeros(rows, dtype=bool)
    wrong[rng.permutation(rows)[:flips]] = True
    return x, np.where(wrong, (y + rng.integers(1, classes, size=rows)) % classes, y), wrong


def _area(found: WrongLabels, wrong: np.ndarray) -> float:
    """The chance that a wrong label is more suspect than a right one."""
    chances = found.probability
    return float((chances[wrong][:, None] > chances[~wrong]).mean())


@pytest.mark.slow
def test_flips_in_clear_data_are_listed_with_the_precision_that_is_stated() -> None:
    x, y, wrong = _blobs(500, apart=4.0, flips=50, classes=3)
    found = wrong_labels(y, features=x)
    assert _area(found, wrong) > 0.97
    assert found.precision is not None and found.precision_interval is not None
    true = wrong[list(found.suspects)].mean()
    assert abs(found.precision - true) <= 0.2  # 500 rows; the benchmark measures it on 1,000 texts
    low, high = found.precision_interval
    assert low <= found.precision <= high and low <= true <= high + 1 / len(found.suspects)
    right = [found.suggested[i] == str(i % 3) for i in np.flatnonzero(wrong)]
    assert np.mean(right) > 0.9  # and it knows what they should be
    assert found.evidence[0].score == "all models together" and found.evidence[0].area > 0.85
    assert found.rate is not None and abs(found.rate - 0.1) < 0.05


@pytest.mark.slow
def test_features_that_say_nothing_accuse_nobody() -> None:
    """Labels drawn by a coin: 3 standard errors above the majority happen once in 700 draws; this seed is not one."""
    rng = np.random.default_rng(0)
    found = wrong_labels(rng.integers(0, 4, size=200), features=rng.normal(size=(200, 5)))
    assert found.suspects == () and found.precision is None and found.rate is None and found.probability is None
    assert "nobody is accused" in found.verdict
    assert found.expected(10) is None


@pytest.mark.slow
def test_clean_data_have_hardly_a_list() -> None:
    x, y, _ = _blobs(150, apart=6.0, flips=0, classes=3)
    found = wrong_labels(y, features=x)
    assert found.rate is not None and found.rate < 0.02
    assert len(found.suspects) <= 6


@pytest.mark.slow
def test_few_wrong_labels_are_stated_as_few_and_of_hard_rows_few_are_listed() -> None:
    """Clean classes far apart, and two that overlap so that a third of the labels is contradicted: in neither is a list longer
    than the wrong labels that are expected, and nothing may be the truth."""
    x, y, _ = _blobs(400, apart=7.0, flips=0, classes=3)
    far = wrong_labels(y, features=x)
    x, y, _ = _blobs(400, apart=0.7, flips=0)
    near = wrong_labels(y, features=x)
    for found in (far, near):
        assert found.rate_interval is not None and found.rate_interval[0] == 0.0
        assert len(found.suspects) <= max(20, np.ceil(found.rate * 400))
        assert found.precision_interval is None or found.precision_interval[0] == 0.0
    assert far.rate is not None and far.rate < 0.01
    assert len(near.suspects) < (np.array(near.given) != np.array(near.suggested)).sum() / 2  # of those contradicted
    assert "cannot tell" in near.verdict and near.may_be_clean and "look wrong" not in near.verdict


def test_the_clearer_the_rows_the_more_contradicted_labels_count() -> None:
    """Half of the rows are clear: the rate is half way from what is wrong at random to what is contradicted; never below."""
    margins = np.array([-3.0, 0.1, 5.0, 6.0])
    assert between_counts(margins, 0.04, 0.24) == pytest.approx(0.14)
    assert between_counts(margins, 0.04, 0.01) == 0.04
    assert between_counts(np.full(4, 0.3), 0.04, 0.24) == 0.04  # no row is clear: those contradicted are taken for hard


@pytest.mark.slow
def test_texts_are_judged_by_their_words() -> None:
    rng = np.random.default_rng(0)
    good, bad, plain = (
        ["superb", "lovely", "bright"],
        ["awful", "dull", "dreary"],
        ["film", "plot", "actor", "scene", "end"],
    )
    y = np.arange(120) % 2
    texts = [" ".join([*rng.choice(plain, 3), *rng.choice(good if label else bad, 2)]) for label in y]
    wrong = {3, 10, 21, 44, 58, 77, 91, 103, 110, 118}
    for row in wrong:
        y[row] = 1 - y[row]
    labels = np.where(y, "good", "bad")
    found = wrong_labels(labels, texts=texts)
    assert found.suspects and set(found.suspects[:10]) <= wrong
    assert found.given[3] == "bad" and found.suggested[3] == "good"
    kept = json.loads(found.to_json())
    assert kept["kind"] == "wrong labels" and kept["confusions"][0]["share"] == found.confusions[0].share


@pytest.mark.slow
def test_the_same_seed_gives_the_same_list() -> None:
    x, y, _ = _blobs(60, apart=2.5, flips=6)
    one, two = (wrong_labels(y, features=x, seed=3) for _ in range(2))
    assert one.suspects == two.suspects and one.precision == two.precision


def test_copies_of_a_row_do_not_vouch_for_its_label() -> None:
    """Four copies of every row, wrong labels copied with it: their neighbours are themselves, unless they stay together."""
    x, y, wrong = _blobs(60, apart=4.0, flips=6)
    rows = np.tile(np.arange(60), 4)
    alone = out_of_fold(x[rows], y[rows], penalty=1.0)["nearest"]
    together = out_of_fold(x[rows], y[rows], penalty=1.0, copies=rows)["nearest"]
    assert (margin(alone, y[rows])[wrong[rows]] > 0).mean() > 0.7
    assert (margin(together, y[rows])[wrong[rows]] < 0).all()


@pytest.mark.slow
def test_where_every_label_is_predicted_none_looks_wrong() -> None:
    found = wrong_labels(["p", "q"] * 15, features=np.column_stack([np.arange(30) % 2, np.arange(30) % 2]).astype(float))
    assert found.suspects == () and found.verdict.startswith("no label looks wrong")


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_texts_that_are_all_the_same_accuse_nobody_and_warn_of_nothing() -> None:
    assert wrong_labels([0, 1] * 15, texts=["good film"] * 30).suspects == ()


def _answers(rows: int, classes: int, sharp: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Out-of-fold answers that are right about their chances, and true classes drawn by them."""
    rng = np.random.default_rng(seed)
    logs = sharp * rng.normal(size=(rows, classes))
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    return logs, (np.cumsum(np.exp(logs), axis=1) > rng.random((rows, 1))).argmax(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "rate"), [(2, 0.02), (2, 0.25), (4, 0.02), (4, 0.1), (4, 0.25), (10, 0.1)])
def test_the_rate_is_that_of_labels_moved_at_random(classes: int, rate: float) -> None:
    """True classes drawn from known chances, a share of labels moved: 0.03 are more than five standard errors of 8,000 rows.
    A model that is too sure, or not sure enough, of the same answers changes nothing."""
    logs, true = _answers(8000, classes, 4.0, seed=classes)
    rng = np.random.default_rng(7)
    wrong = rng.random(8000) < rate
    y = np.where(wrong, (true + rng.integers(1, classes, size=8000)) % classes, true)
    found = random_rate(logs, y).rate
    assert found == pytest.approx(rate, abs=0.03)
    for factor in (0.3, 3.0):
        assert random_rate(factor * logs, y).rate == pytest.approx(found, abs=0.002)


@pytest.mark.slow
def test_labels_that_are_confused_are_not_counted_as_wrong_at_random() -> None:
    """A tenth of the labels is the runner-up of a model that is sure: of those, less than a third counts as wrong at random,
    and those that are moved besides count in full (0.03 are five standard errors)."""
    logs, true = _answers(8000, 5, 4.0, seed=3)
    rng = np.random.default_rng(8)
    runner_up = np.argsort(logs, axis=1)[:, -2]
    confused = np.where(rng.random(8000) < 0.1, runner_up, true)
    assert random_rate(logs, confused).rate < 0.03
    both = np.where(rng.random(8000) < 0.1, (confused + rng.integers(1, 5, size=8000)) % 5, confused)
    assert random_rate(logs, both).rate == pytest.approx(0.1, abs=0.04)


def test_the_slopes_of_the_likelihood_are_its_differences() -> None:
    for classes, at in ((2, [-1.0, 0.3]), (4, [-2.0, 0.3, -1.0])):
        logs, true = _answers(50, classes, 2.0, seed=1)
        judged = _Likelihood(logs, true)
        slopes = judged.surprise(np.array(at))[1]
        steps = 1e-5 * np.eye(len(at))
        apart = [judged.surprise(np.array(at) + step)[0] - judged.surprise(np.array(at) - step)[0] for step in steps]
        assert_allclose(slopes, np.array(apart) / 2e-5, rtol=1e-5)


def test_models_have_a_say_by_what_they_add() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=600)
    telling = np.log(np.where(y[:, None] == np.arange(3), 0.6, 0.2)) + 0.8 * rng.normal(size=(600, 3))
    cocksure = 20 * (telling + rng.normal(size=(600, 3)))
    silent = rng.normal(size=(600, 3))
    shares = pool_shares([telling, cocksure, silent], y)
    assert shares[0] > 0.3 and shares[1] < 0.05 and shares[2] < 0.3
    mixed = pool([telling, cocksure, silent], shares)
    assert_allclose(np.exp(mixed).sum(axis=1), 1.0)
    even = pool([telling, cocksure, silent], np.full(3, 1 / 3))
    assert mixed[np.arange(600), y].sum() > even[np.arange(600), y].sum()


def test_margins_and_neighbours_by_hand() -> None:
    logs = np.log(np.array([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2]]))
    assert_allclose(margin(logs, np.array([0, 2])), [np.log(3.5), np.log(0.4)])
    near = nearest(np.array([[0.0], [1.0], [1.5], [9.0]]))
    assert near.rows[0].tolist() == [1, 2, 3]


def test_the_same_text_with_two_labels_is_a_contradiction() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefghijkl"), 6)) for _ in range(40)]
    texts[7] = texts[30]
    y = np.arange(40) % 2
    y[7], y[30] = 0, 1
    found = oddities(nearest(text_views(texts)["words"]), y)
    assert (7, 30) in found.contradictions
    assert found.duplicates[0] in found.contradictions


@pytest.mark.parametrize(
    ("labels", "settings", "message"),
    [
        ([0, 1] * 20, {}, "give texts"),
        ([0, 1] * 20, {"features": np.zeros((39, 2))}, "39 rows"),
        ([0, 1] * 19 + [None, None], {"features": np.zeros((40, 2))}, "labels hold None in row 38"),
        (np.array([0.0, 1.0] * 19 + [np.nan] * 2), {"features": np.zeros((40, 2))}, "labels hold nan in row 38"),
        ([*range(29), 0], {"features": np.zeros((30, 2))}, "29 different values in 30 rows"),
        ([0, 1] * 20, {"features": np.zeros((40, 2)), "annotators": ["ann"]}, "annotators holds 1 for 40"),
        ([0, 1] * 20, {"features": np.full((40, 2), np.nan)}, "nan in row 0"),
        ([0] * 40, {"features": np.zeros((40, 2))}, "two classes"),
        ([0, 1] * 20 + [2], {"features": np.zeros((41, 2))}, "one row only"),
        ([0, 1] * 20, {"features": np.full((40, 2), 1e300)}, "scale them first"),
        (["yes", "no"] * 20 + ["Yes"], {"features": np.zeros((41, 2))}, "if it is 'yes', write both alike"),
        ([0, 1] * 5, {"features": np.zeros((10, 2))}, "at least 20"),
        ([0, 1] * 20, {"texts": ["a"] * 39 + [""]}, "non-empty"),
        ([0, 1] * 20, {"features": np.zeros((40, 2)), "wanted": 1.5}, "wanted"),
    ],
)
def test_bad_input_is_named(labels: list[int], settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        wrong_labels(labels, **settings)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_view_that_predicts_nothing_has_no_vote() -> None:
    """Noise beside good features must neither hide the flips nor silence the list."""
    x, y, wrong = _blobs(120, apart=4.0, flips=8)
    noise = np.random.default_rng(1).normal(size=(120, 40))
    both = wrong_labels(y, features={"good": x, "noise": noise})
    logs = {name: list(out_of_fold(scale(view, name), y).values()) for name, view in (("good", x), ("noise", noise))}
    assert _hear(logs, y) == ["good"] and _hear({"noise": logs["noise"]}, y) == ["noise"]
    assert both.agreement == (pool(logs["good"], pool_shares(logs["good"], y)).argmax(axis=1) == y).mean()
    assert both.suspects and set(both.suspects[:6]) <= set(np.flatnonzero(wrong).tolist())


@pytest.mark.slow
def test_doubtful_labels_teach_less() -> None:
    """Models that learn from believed rows alone are those of the rows that are left."""
    x, y, wrong = _blobs(60, apart=3.0, flips=8)
    believed = np.where(wrong, 1e-9, 1.0)
    cleaner, plain = (np.mean(list(out_of_fold(x, y, 0, w).values()), axis=0) for w in (believed, None))
    assert margin(cleaner, y)[wrong].mean() < margin(plain, y)[wrong].mean()
    assert_allclose(belief(np.log(np.full((4, 2), 0.5)), np.array([0, 1, 1, 0])), 1.0)


@pytest.mark.slow
def test_what_is_written_can_be_read_back() -> None:
    x, y, _ = _blobs(60, apart=3.0, flips=6)
    x[7] = x[8]
    found = wrong_labels(y, features=x)
    again = WrongLabels.from_plain(json.loads(found.to_json()))
    assert again.to_plain() == found.to_plain() and again.suspects == found.suspects
    assert again.oddities == found.oddities and again.evidence == found.evidence and again.expected(3) == found.expected(3)
    with pytest.raises(InvalidInput, match="expected 'wrong labels'"):
        WrongLabels.from_plain({"kind": "valuation"})


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["class-dependent", "hard rows"])
def test_a_ranking_that_works_is_never_beside_an_empty_list(noise: str) -> None:
    """Digits labelled wrongly in a pattern, or where they are hard: 500 real rows, one draw at which nothing was chosen."""
    from benchmarks.noisy_labels import draw

    drawn = draw("digits", noise, 900)
    found = wrong_labels(drawn.given, features=drawn.x)
    listed = list(found.suspects)
    assert _area(found, drawn.wrong) > 0.85
    assert drawn.wrong[listed].mean() > 0.45 and drawn.wrong[listed].sum() / drawn.wrong.sum() > 0.45
    assert found.rate == pytest.approx(drawn.wrong.mean(), abs=0.06)
    low, high = found.precision_interval
    assert low <= drawn.wrong[listed].mean() <= high


@pytest.mark.slow
def test_few_rows_of_one_class_do_not_silence_the_list() -> None:
    """3 % of real rows are of one class, and more labels of it are wrong than right: accuracy cannot beat the largest class."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    rng = np.random.default_rng(5)
    rows = np.concatenate([rng.permutation(np.flatnonzero(data.target == k))[:size] for k, size in ((1, 350), (0, 10))])
    y = (data.target[rows] == 0).astype(int)
    wrong = np.isin(np.arange(len(y)), rng.permutation(350)[:12])
    found = wrong_labels(np.where(wrong, 1 - y, y), features=data.data[rows])
    assert wrong[list(found.suspects)].sum() >= 10 and wrong[list(found.suspects)].mean() > 0.5


@pytest.mark.slow
def test_strong_noise_of_two_classes_leaves_a_list() -> None:
    x, y, wrong = _blobs(400, apart=5.0, flips=140)
    found = wrong_labels(y, features=x)
    assert _area(found, wrong) > 0.8 and wrong[list(found.suspects)].mean() > 0.6


def test_a_list_ends_where_the_f_measure_of_labels_drawn_by_their_probabilities_is_best() -> None:
    """Against every other length, with the number of hits and of wrong labels as expected."""
    rng = np.random.default_rng(2)
    for spread in (0.5, 1.0, 4.0):
        chances = 1 / (1 + np.exp(3 - spread * rng.normal(size=300)))
        listed = chances >= best_cut(chances)

        def measure(rows: np.ndarray, chances: np.ndarray = chances) -> float:
            precision, recall = chances[rows].mean(), chances[rows].sum() / chances.sum()
            return float((1 + RECALL_COUNTS) / (1 / precision + RECALL_COUNTS / recall))

        order = np.argsort(-chances)
        assert measure(np.flatnonzero(listed)) >= max(measure(order[:size]) for size in range(1, 301)) - 1e-12


def test_half_of_what_the_sizes_of_classes_say_is_taken_out() -> None:
    y = np.array([0] * 90 + [1] * 10)
    even = level_classes(np.log(np.tile([0.9, 0.1], (100, 1))), y)
    assert_allclose(even[0, 0] - even[0, 1], np.log(9) / 2)
    assert_allclose(np.logaddexp.reduce(even, axis=1), 0, atol=1e-12)


def test_a_rate_is_proven_only_where_hard_rows_do_not_explain_the_labels() -> None:
    """Labels drawn by the chances of the model itself, and with a tenth of them moved: a gain of 2 is that of two standard
    errors, and seeds are fixed."""
    logs, true = _answers(1000, 4, 4.0, seed=5)
    rng = np.random.default_rng(9)
    moved = np.where(rng.random(1000) < 0.1, (true + rng.integers(1, 4, size=1000)) % 4, true)
    assert not random_rate(logs, true).is_proven and random_rate(logs, moved).is_proven


def test_rows_of_a_class_full_of_wrong_labels_still_rank_before_the_others() -> None:
    """20 true rows of a class and 100 wrong ones among 1,000, all looking like the class a little: the gain is lost in its
    error, and hardly any row is among those most like the class; the ranks show it."""
    rng = np.random.default_rng(1)
    y = (np.arange(1000) < 120).astype(int)
    look = rng.normal(size=1000) * 3 + 1.5 * y
    odds = np.log(0.12 / 0.88) + look
    found = skill(np.column_stack([-np.logaddexp(0, odds), -np.logaddexp(0, -odds)]), y)
    assert found.gain < 3 * found.stderr and not found.refusal


def test_probabilities_have_the_rate_on_average_and_follow_the_margin() -> None:
    margins = np.random.default_rng(0).normal(2, 3, size=200)
    chances = wrong_probability(margins, 0.1)
    assert chances.mean() == pytest.approx(0.1) and (np.diff(chances[np.argsort(margins)]) <= 0).all()
    odds = np.log(chances / (1 - chances))
    assert_allclose(np.diff(odds), -np.diff(margins), rtol=1e-6)
    assert_allclose(shift_odds(np.array([0.5]), np.log([3.0])), [[0.75]])
    low, high = rate_interval(chances)
    assert low < 0.1 < high
    low, high = share_interval(np.full(4, 0.5))
    assert low == 0.0 and high == 1.0


def test_the_gain_is_in_log_probability_and_a_rare_class_that_is_found_counts() -> None:
    y = np.array([0] * 97 + [1] * 3)
    known = np.log(np.where(y[:, None] == np.arange(2), 0.9, 0.1))
    even = np.log(np.tile([0.97, 0.03], (100, 1)))
    assert skill(even, y).gain == pytest.approx(0.0) and skill(even, y).refusal
    assert not skill(known, y).refusal and skill(known, y).by_chance < 1e-4
    assert "too few" in Skill(1.0, 0.1, 1.0, 0.5, 8).refusal


def test_a_careless_annotator_is_doubted_in_every_row() -> None:
    chances = np.array([0.5] * 20 + [0.02] * 180)
    by = ["ann"] * 40 + ["bob"] * 160
    moved, who = rate_by_annotator(chances, by)
    assert who[0].name == "ann" and who[0].labels == 40 and who[0].low < who[0].rate < who[0].high
    assert moved[30] > 0.02 > moved[100]
    assert [one.like_worst for one in who] == [True, False] and worst_of(who).startswith("ann is wrong most often")
    alone = rate_by_annotator(chances, ["eve"] + ["ann"] * 199)[1]
    assert {one.name: one.labels for one in alone}["eve"] == 1


def test_careless_annotators_are_named_though_how_many_labels_are_wrong_is_hardly_known() -> None:
    """Were all probabilities too low or too high, that would go for the labels of everybody: who labels worse is known better
    than how badly. Ten annotators of 300 labels; two are wrong in a third of them, and cannot be told apart."""
    rates = np.array([0.02] * 8 + [0.33, 0.3])
    chances = np.concatenate([np.where(np.arange(300) < 300 * rate, 0.9, 0.01) for rate in rates])
    who = rate_by_annotator(chances, np.repeat([f"a{i}" for i in range(10)], 300))[1]
    assert {one.name for one in who if one.like_worst} == {"a8", "a9"}
    assert says(worst_of(who), "a8 (34%) or a9 (31%)")
    same = rate_by_annotator(np.tile([0.9] + [0.01] * 9, 100), np.repeat(["x", "y"], 500))[1]
    assert all(one.like_worst for one in same) and "cannot be told" in worst_of(same)


def test_annotators_of_a_few_labels_are_named() -> None:
    x, y, _ = _blobs(60, apart=4.0, flips=3)
    found = wrong_labels(y, features=x, annotators=["zoe", *["ann", "bob"] * 29, "ann"])
    assert any(says(note, "zoe (1)") for note in found.notes)


def test_the_confusion_is_named() -> None:
    """Forty eights, ten of them written as nine: a fifth of fifty."""
    logs = np.log(np.array([[0.98, 0.01, 0.01]] * 50 + [[0.01, 0.98, 0.01]] * 50))
    y = np.array([0] * 40 + [1] * 10 + [1] * 50)
    found = find_confusions(np.where(np.arange(100) // 10 == 4, 1.0, 0.0), logs, y, ["8", "9", "x"])
    assert str(found[0]) == "8 labelled 9: 20%" and found[0].rows == pytest.approx(10, abs=0.2)


@pytest.mark.slow
def test_edits_of_texts_are_near_duplicates() -> None:
    """One word changed in each of fifty real sentences, among 2,000 others."""
    import gzip

    with gzip.open(real_data("sst2.tsv.gz"), "rt", encoding="utf-8") as lines:
        texts = [line.rstrip("\n").split("\t")[2] for line in lines if line.startswith("test\t")]
    rng = np.random.default_rng(0)
    long = [text for text in texts if len(text.split()) >= 8]
    edits = []
    for text in long[:50]:
        words = text.split()
        words[rng.integers(len(words))] = "zebra"
        edits.append(" ".join(words))
    found = edited_texts([*long, *edits])
    hits = sum((i, len(long) + i) in found for i in range(50))
    assert hits >= 48
    assert len(found) - hits < 10  # and hardly a pair of sentences besides


def test_edits_of_numbers_are_near_duplicates() -> None:
    from sklearn.datasets import load_breast_cancer

    x = load_breast_cancer().data[:300]
    edited = x[:20].copy()
    edited[np.arange(20), np.arange(20)] *= 1.5
    slightly = x[20:40] * (1 + 0.002 * np.random.default_rng(0).normal(size=(20, 30)))
    rows = scale(np.vstack([x, edited, slightly]), "x")
    assert edited_rows(rows) >= {(i, 300 + i) for i in range(20)}
    y = np.zeros(340, dtype=int)
    y[305] = 1
    odd = oddities(nearest(rows), y)
    assert set(odd.duplicates) >= {(i, 300 + i) for i in range(40)} and odd.duplicates[0] == (5, 305)
    assert len(odd.duplicates) < 45


@pytest.mark.slow
def test_progress_is_reported_to_the_end() -> None:
    x, y, _ = _blobs(40, apart=4.0, flips=3)
    seen: list[float] = []
    judge({"x": x}, y, None, 0, seen.append)
    assert seen == sorted(seen) and seen[-1] == 1.0 and len(seen) > 20


@pytest.mark.slow
def test_faint_features_list_hardly_anybody_though_they_say_something() -> None:
    """Answers that are a little better than chance: hardly a label is contradicted."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=4000)
    x = rng.normal(size=(4000, 2)) + 0.1 * y[:, None]
    judged = judge({"x": x}, y, None, 0)
    assert not judged.skill.refusal
    assert len(_accuse(judged, y, None, None).suspects) < 40  # of 4,000


def test_one_annotator_is_not_called_the_worst():
    y = np.repeat([0, 1], 100)
    rows = np.random.default_rng(0).normal(size=(200, 4)) + 3 * y[:, None]
    given = np.where(np.arange(200) < 12, 1, y)
    alone, nobody = (wrong_labels(given, features=rows, annotators=by) for by in (["ann"] * 200, None))
    assert alone.suspects and alone.verdict == nobody.verdict


def test_a_rare_class_full_of_wrong_labels_is_seen_by_its_clearest_rows() -> None:
    """20 of 1,000 rows look like the class and are of it; 80 others carry its name by mistake. Log probability gains nothing,
    and among as many rows as carry the name those 20 drown; among the first of them they do not."""
    rng = np.random.default_rng(3)
    y = np.zeros(1000, dtype=np.int64)
    y[:20] = y[rng.permutation(np.arange(20, 1000))[:80]] = 1
    rest = rng.normal(size=1000)
    odds = -2.0 + 0.01 * np.where(np.arange(1000) < 20, 4 + rest, rest)
    logs = np.column_stack([-np.logaddexp(0, odds), -np.logaddexp(0, -odds)])
    found = skill(logs, y)
    assert found.gain < STANDARD_ERRORS * found.stderr and not found.refusal
    assert skill(logs, rng.permutation(y)).refusal
