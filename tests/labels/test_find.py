from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.labels.duplicates_outliers import nearest, oddities
from accredit.labels.find import (
    COMBINED,
    WANTED,
    _choose,
    _hear,
    _make_list,
    _Scored,
    precision_by_planting,
    precision_in_thought,
    wrong_labels,
)
from accredit.labels.out_of_fold import belief, out_of_fold, pool, pool_shares
from accredit.labels.planted_flips import Trial, find_share, plant
from accredit.labels.rate import _Likelihood, error_rate
from accredit.labels.result import Evidence, WrongLabels
from accredit.labels.scores import margin, neighbour_agreement, scale, text_views
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


@pytest.mark.slow
def test_flips_in_clear_data_are_listed_with_the_precision_that_is_stated() -> None:
    x, y, wrong = _blobs(500, apart=4.0, flips=50, classes=3)
    found = wrong_labels(y, features=x)
    assert find_share(-found.suspicion, wrong) > 0.97
    assert found.precision is not None and found.precision_interval is not None
    true = wrong[list(found.suspects)].mean()
    assert abs(found.precision - true) <= 0.2  # 500 rows; the benchmark measures it on 1,000 texts
    low, high = found.precision_interval
    assert low <= found.precision <= high and low <= true <= high
    right = [found.suggested[i] == str(i % 3) for i in np.flatnonzero(wrong)]
    assert np.mean(right) > 0.9  # and it knows what they should be
    area = {e.score: e.area for e in found.evidence}
    assert found.evidence[0].area == max(area.values()) <= area[found.chosen] + 0.02


def test_a_score_is_preferred_where_it_finds_clearly_more() -> None:
    near = (Evidence("neighbours, x", 0.91, 0.01), Evidence(COMBINED, 0.9, 0.01))
    far = (Evidence("neighbours, x", 0.93, 0.01), Evidence(COMBINED, 0.9, 0.01))
    assert _choose(near).score == COMBINED and _choose(far).score == "neighbours, x"


@pytest.mark.slow
def test_features_that_say_nothing_accuse_nobody() -> None:
    """Labels drawn by a coin: 3 standard errors above the majority happen once in 700 draws; this seed is not one."""
    rng = np.random.default_rng(0)
    found = wrong_labels(rng.integers(0, 4, size=200), features=rng.normal(size=(200, 5)))
    assert found.suspects == () and found.precision is None and found.rate is None
    assert "nobody is accused" in found.verdict
    assert found.expected(10) is None


@pytest.mark.slow
def test_clean_data_have_hardly_a_list() -> None:
    x, y, _ = _blobs(150, apart=6.0, flips=0, classes=3)
    found = wrong_labels(y, features=x)
    assert found.rate is not None and found.rate < 0.02
    assert len(found.suspects) <= 6


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
    assert kept["kind"] == "wrong labels" and kept["chosen"] == found.chosen


@pytest.mark.slow
def test_the_same_seed_gives_the_same_list() -> None:
    x, y, _ = _blobs(60, apart=2.5, flips=6)
    one, two = (wrong_labels(y, features=x, seed=3) for _ in range(2))
    assert one.suspects == two.suspects and one.precision == two.precision


def test_planted_flips_are_a_tenth_and_always_another_class() -> None:
    y = np.random.default_rng(0).integers(0, 4, size=200)
    labels, flipped = plant(y, 4, seed=1)
    assert flipped.sum() == 20
    assert (labels[flipped] != y[flipped]).all() and (labels[~flipped] == y[~flipped]).all()


def test_copies_of_a_row_do_not_vouch_for_its_label() -> None:
    """Four copies of every row, wrong labels copied with it: their neighbours are themselves, unless they stay together."""
    x, y, wrong = _blobs(60, apart=4.0, flips=6)
    rows = np.tile(np.arange(60), 4)
    alone = out_of_fold(x[rows], y[rows], penalty=1.0)["nearest"]
    together = out_of_fold(x[rows], y[rows], penalty=1.0, copies=rows)["nearest"]
    assert (margin(alone, y[rows])[wrong[rows]] > 0).mean() > 0.7
    assert (margin(together, y[rows])[wrong[rows]] < 0).all()
    labels, flipped = plant(y[rows], 2, seed=0, copies=rows)
    assert flipped.sum() == 24
    assert (labels.reshape(4, 60) == labels[:60]).all() and (flipped.reshape(4, 60) == flipped[:60]).all()


@pytest.mark.slow
def test_where_every_label_is_foretold_none_looks_wrong() -> None:
    found = wrong_labels(["p", "q"] * 15, features=np.column_stack([np.arange(30) % 2, np.arange(30) % 2]).astype(float))
    assert found.suspects == () and says(found.verdict, "label looks wrong")


def test_small_classes_keep_two_rows_of_their_own() -> None:
    y = np.array([0] * 50 + [1] * 3 + [2] * 2)
    for seed in range(50):
        labels, flipped = plant(y, 3, seed)
        assert flipped.any() and not flipped[53:].any() and flipped[50:53].sum() <= 1
        assert (labels[~flipped] == y[~flipped]).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_texts_that_are_all_the_same_accuse_nobody_and_warn_of_nothing() -> None:
    assert wrong_labels([0, 1] * 15, texts=["good film"] * 30).suspects == ()


def test_precision_is_right_where_scores_are_known() -> None:
    """Scores of right and wrong rows drawn from two known distributions: a list's true precision is known beforehand."""
    rng = np.random.default_rng(0)
    rows, rate = 20_000, 0.1

    def run(share: float) -> tuple[np.ndarray, np.ndarray]:
        wrong = rng.random(rows) < share
        return np.where(wrong, rng.normal(-2, 1, rows), rng.normal(2, 1, rows)), wrong

    score, wrong = run(rate)
    again, errors = run(rate + 0.1 * (1 - rate))
    fresh = errors & (rng.random(rows) < 0.1 * (1 - rate) / (rate + 0.1 * (1 - rate)))  # those of them that were planted
    stated = precision_by_planting([Trial(fresh, again)], rate)
    true = np.cumsum(wrong[np.argsort(score)]) / np.arange(1, rows + 1)
    for size in (1000, 1500, 4000):
        assert stated[size - 1] == pytest.approx(true[size - 1], abs=0.05)
    assert (precision_by_planting([Trial(fresh, again)], 0.0) == 0).all()


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("sharp", [1.0, 4.0], ids=["hard", "clear"])
def test_flips_in_thought_say_how_right_a_list_is(classes: int, sharp: float) -> None:
    """Labels drawn from known probabilities, then a known share moved: the precision of every list is known, also where the
    features are so weak that most of a list is hard and not wrong."""
    rng = np.random.default_rng(classes)
    rows, rate = 40_000, 0.12
    logs = sharp * rng.normal(size=(rows, classes))
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    truth = (np.cumsum(np.exp(logs), axis=1) > rng.random((rows, 1))).argmax(axis=1)
    wrong = rng.random(rows) < rate
    y = np.where(wrong, (truth + rng.integers(1, classes, size=rows)) % classes, truth)
    stated = precision_in_thought(logs, y, rate)
    order = np.argsort(margin(logs, y), kind="stable")
    true = np.cumsum(wrong[order]) / np.arange(1, rows + 1)
    for size in (2000, 4000, 8000, rows):  # five standard errors of 2,000 rows are 0.056
        assert stated[size - 1] == pytest.approx(true[size - 1], abs=0.056)


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
    found = error_rate(logs, y)
    low, high = found.interval
    assert found.likeliest == pytest.approx(rate, abs=0.03) and low < found.likeliest < high < found.likeliest + 0.04
    for factor in (0.3, 3.0):
        assert error_rate(factor * logs, y).likeliest == pytest.approx(found.likeliest, abs=0.002)


@pytest.mark.slow
def test_labels_that_are_confused_are_not_counted_as_wrong_at_random() -> None:
    """A tenth of the labels is the runner-up of a model that is sure: of those, less than a third counts as wrong at random,
    and those that are moved besides count in full (0.03 are five standard errors)."""
    logs, true = _answers(8000, 5, 4.0, seed=3)
    rng = np.random.default_rng(8)
    runner_up = np.argsort(logs, axis=1)[:, -2]
    confused = np.where(rng.random(8000) < 0.1, runner_up, true)
    assert error_rate(logs, confused).likeliest < 0.03
    both = np.where(rng.random(8000) < 0.1, (confused + rng.integers(1, 5, size=8000)) % 5, confused)
    assert error_rate(logs, both).likeliest == pytest.approx(0.1, abs=0.04)


def test_the_slopes_of_the_likelihood_are_its_differences() -> None:
    for classes, at in ((2, [-1.0, 0.3]), (4, [-2.0, 0.3, -1.0])):
        logs, true = _answers(50, classes, 2.0, seed=1)
        judged = _Likelihood(logs, true)
        slopes = judged.surprise(np.array(at))[1]
        steps = 1e-5 * np.eye(len(at))
        apart = [judged.surprise(np.array(at) + step)[0] - judged.surprise(np.array(at) - step)[0] for step in steps]
        assert_allclose(slopes, np.array(apart) / 2e-5, rtol=1e-5)


def test_a_hundred_rows_without_an_error_are_no_proof_of_none() -> None:
    logs = np.log(np.array([[0.99, 0.01]] * 100))
    found = error_rate(logs, np.zeros(100, dtype=int))
    assert found.likeliest < 0.03 and found.interval[0] < found.likeliest < found.interval[1]
    ties = np.log(np.full((50, 3), 1 / 3))  # answers that say nothing
    assert 0 <= error_rate(ties, np.arange(50) % 3).likeliest <= 0.5


def test_answers_that_say_nothing_leave_the_rate_open_whatever_the_prior() -> None:
    low, high = error_rate(np.log(np.full((500, 2), 0.5)), np.arange(500) % 2).interval
    assert low < 0.05 and high > 0.3  # of 0.1 % to 49.9 %, all alike


@pytest.mark.slow
@pytest.mark.parametrize(("sharp", "rate", "open_question"), [(1.0, 0.02, True), (6.0, 0.1, False)])
def test_a_list_is_as_right_as_its_interval_says_and_admits_what_it_cannot_tell(sharp, rate, open_question) -> None:
    """Two classes, 1,000 rows, 20 draws: of 90 % intervals fewer than ten hold the truth once in a million."""
    inside, lists, unsure = 0, 0, 0
    for seed in range(20):
        logs, true = _answers(1000, 2, sharp, seed)
        wrong = np.random.default_rng([seed, 1]).random(1000) < rate
        y = np.where(wrong, 1 - true, true)
        order = np.argsort(margin(logs, y), kind="stable")
        found = _make_list(order, _Scored({}, logs, logs.argmax(axis=1) == y), y, COMBINED, [], WANTED)
        if not found.suspects:
            inside += 1
            continue
        low, high = found.precision_interval
        lists += 1
        inside += low <= wrong[list(found.suspects)].mean() <= high
        unsure += "cannot tell how many" in found.verdict
    assert inside >= 10
    assert unsure == lists * open_question


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
    assert_allclose(neighbour_agreement(near.rows, np.array([0, 0, 1, 0]))[0], (1 + 1 / 3) / (1 + 1 / 2 + 1 / 3))


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
        (list(range(15)) * 2, {"features": np.zeros((30, 2))}, "hardly a class could spare a row"),
        ([0, 1] * 20, {"features": np.full((40, 2), np.nan)}, "finite"),
        ([0] * 40, {"features": np.zeros((40, 2))}, "two classes"),
        ([0, 1] * 20 + [2], {"features": np.zeros((41, 2))}, "one row only"),
        ([0, 1] * 5, {"features": np.zeros((10, 2))}, "at least 20"),
        ([0, 1] * 20, {"texts": ["a"] * 39 + [""]}, "non-empty"),
        ([0, 1] * 20, {"features": np.zeros((40, 2)), "wanted": 1.5}, "wanted"),
    ],
)
def test_bad_input_is_named(labels: list[int], settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        wrong_labels(labels, **settings)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_view_that_foretells_nothing_has_no_vote() -> None:
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
