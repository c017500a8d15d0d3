"""Remove and retrain: what a model that learns anew misses, and what the places alone give away."""

import numpy as np
import pytest

from accredit.arena.retraining import remove_and_retrain
from accredit.errors import InvalidInput

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(300, 6)), RNG.normal(size=(200, 6))
Y, TRUTH = ((x[:, 0] + x[:, 1] > 0).astype(int) for x in (X, NEW))


def fit(x, y, seed):
    """Least squares to ±1, read by its sign."""
    line = np.linalg.lstsq(np.column_stack([x, np.ones(len(x))]), 2.0 * y - 1, rcond=None)[0]
    return lambda rows: (np.column_stack([rows, np.ones(len(rows))]) @ line > 0).astype(int)


TELLING = tuple(np.tile([6.0, 5, 4, 3, 2, 1], (len(x), 1)) for x in (X, NEW))
MISLED = tuple(scores[:, ::-1] for scores in TELLING)


@pytest.mark.parametrize("impute", ["mean", "noisy"])
def test_removing_what_tells_leaves_chance_and_keeping_it_leaves_everything(impute):
    both = {"telling": TELLING, "misled": MISLED}
    gone = remove_and_retrain(fit, (X, Y), (NEW, TRUTH), both, shares=(1 / 3,), impute=impute, repeats=2)
    assert gone.accuracy["telling"][0] < 0.65 < 0.9 < gone.accuracy["misled"][0] and gone.whole > 0.9
    assert gone.area("telling") < gone.area("random") < gone.area("misled")
    kept = remove_and_retrain(fit, (X, Y), (NEW, TRUTH), both, shares=(1 / 3,), keep=True, impute=impute, repeats=1)
    assert kept.accuracy["telling"][0] > 0.9 > 0.65 > kept.accuracy["misled"][0]
    assert gone.trainings == 3 * 1 * 2 * 2 + 2 and kept.trainings == 3 * 1 * 1 * 2 + 1


def test_places_that_name_the_class_are_reported_beside_the_curve():
    """A ranking that removes column 4 for one class and column 5 for the other: both are noise, and the places say it all."""
    code = tuple(np.eye(6)[np.where(y == 1, 4, 5)] for y in (Y, TRUTH))
    found = remove_and_retrain(fit, (X, Y), (NEW, TRUTH), {"code": code, "telling": TELLING}, shares=(0.17,), repeats=1)
    assert found.places["code"] == (1.0,) and found.places["telling"][0] < 0.65 and found.places["random"][0] < 0.65


def test_a_noisy_guess_has_the_spread_of_what_it_replaces():
    from accredit.arena.retraining import _fill

    x = RNG.normal(size=(4000, 1)) @ np.ones((1, 3)) + RNG.normal(size=(4000, 3)) * [0.1, 0.5, 0.5]
    gone = np.tile([True, False, False], (4000, 1))
    filled = _fill(x, gone, x, "noisy", 0)
    np.testing.assert_allclose(filled[:, 0].std(), x[:, 0].std(), rtol=0.1)
    np.testing.assert_array_equal(filled[:, 1:], x[:, 1:])
    assert np.corrcoef(filled[:, 0], x[:, 0])[0, 1] > 0.7  # a constant would have none


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shares": (0.5, 1.0)}, "between 0 and 1"),
        ({"impute": "zero"}, "write 'mean' or 'noisy'"),
        ({"scores": {"short": (TELLING[0][:9], TELLING[1])}}, "scores of short"),
        ({"fit": lambda x, y, seed: lambda rows: np.zeros((len(rows), 2))}, "one label per row"),
        ({"train": (X, Y[:9])}, "300, 6"),
        ({"repeats": "3"}, "repeats must be a whole number"),
        ({"scores": [TELLING]}, "scores is .*; write a mapping"),
    ],
)
def test_what_is_refused(change, said):
    given = {"fit": fit, "train": (X, Y), "test": (NEW, TRUTH), "scores": {"telling": TELLING}} | change
    with pytest.raises(InvalidInput, match=said):
        remove_and_retrain(**given)
