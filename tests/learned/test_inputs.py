"""Players of inputs: what is kept, what is replaced, and what is refused."""

import numpy as np
import pytest

from accredit.core import InvalidInput
from accredit.learned.inputs import Pixels, Tabular, Words, checked_answers, checked_mask, inputs_from, top

ALL = (
    Tabular(3),
    Tabular(3, replace=(1.0, 2.0, 3.0), columns=("age", "height", "weight")),
    Words(4, 9),
    Words(4, 9, pad=8),
    Pixels((4, 6)),
    Pixels((3, 4, 6), block=2, replace=0.5),
)


def sample(inputs, rows=5, seed=0):
    rng = np.random.default_rng(seed)
    if isinstance(inputs, Words):
        return rng.integers(0, inputs.vocabulary, (rows, *inputs.shape))
    return rng.normal(size=(rows, *inputs.shape)).astype(np.float32)


@pytest.mark.parametrize("inputs", ALL, ids=repr)
def test_full_and_empty_masks_keep_all_and_nothing(inputs):
    x = sample(inputs)
    np.testing.assert_allclose(inputs.keep(x, np.ones((5, inputs.n))), x)
    gone = inputs.keep(x, np.zeros((5, inputs.n)))
    assert (gone == gone[:1]).all(), "what replaces everything does not depend on the row"


@pytest.mark.parametrize("inputs", ALL, ids=repr)
def test_players_partition_the_input(inputs):
    """Keeping one player at a time changes each entry exactly once."""
    x = sample(inputs, rows=1)
    if isinstance(inputs, Words):
        x[:] = [1, 2, 3, 4]
    nothing = inputs.keep(x, np.zeros((1, inputs.n)))[0]
    alone = inputs.keep(np.repeat(x, inputs.n, axis=0), np.eye(inputs.n))
    assert ((alone != nothing).sum(axis=0) == 1).all()
    assert len(set(inputs.names(x[0]))) == inputs.n


@pytest.mark.parametrize("inputs", ALL, ids=repr)
def test_settings_round_trip(inputs):
    assert inputs_from(inputs.settings()) == inputs


def test_padding_is_nobodys_player():
    assert Words(3, 9, pad=8).present(np.array([[1, 8, 0]])).tolist() == [[True, False, True]]


def test_blocks_are_squares_numbered_row_by_row():
    mask = np.zeros((1, 6))
    mask[0, 4] = 1  # second row of blocks, second column
    kept = Pixels((4, 6), block=2).keep(np.ones((1, 4, 6)), mask)[0]
    assert kept[2:, 2:4].all() and kept.sum() == 4


@pytest.mark.parametrize(
    ("inputs", "x", "says"),
    [
        (Pixels((28, 28)), np.zeros((5, 27, 28)), r"\(N, 28, 28\), got \(5, 27, 28\)"),
        (Pixels((28, 28)), np.zeros((28, 28)), r"\(N, 28, 28\)"),
        (Tabular(3), np.zeros((5, 4)), r"\(N, 3\), got \(5, 4\)"),
        (Tabular(2), [[1.0, np.nan]], "NaN"),
        (Tabular(2), [["a", "b"]], "numbers"),
        (Words(3, 9), [[1, 2]], r"\(N, 3\)"),
        (Words(3, 9), [[1, 2, 9]], "0..8"),
        (Words(3, 9), [[1.0, 2.0, 3.0]], "whole numbers"),
    ],
)
def test_wrong_inputs_are_named(inputs, x, says):
    with pytest.raises(InvalidInput, match=says):
        inputs.check(x)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Pixels((28, 28), block=3),
        lambda: Pixels((28,)),
        lambda: Words(0, 5),
        lambda: Words(5, 5, pad=5),
        lambda: Tabular(2, replace=(1.0, 2.0, 3.0)),
        lambda: Tabular(2, replace=float("nan")),
        lambda: Tabular(2, columns=("a",)),
        lambda: inputs_from({"kind": "sounds"}),
        lambda: inputs_from({"kind": "words", "length": 10**12, "vocabulary": 5, "pad": 0}),
        lambda: inputs_from({"kind": "tabular", "n": 3, "colour": "red"}),
        lambda: checked_mask([[0.5, 2.0]], 1, 2),
        lambda: checked_mask([[True]], 1, 2),
        lambda: Words(2, 5).keep(np.array([[1, 2]]), [[0.5, 1.0]]),
        lambda: top([[1.0, 2.0]], 3),
        lambda: top([[1.0, float("nan")]], 1),
        lambda: checked_answers([[1.0]], 1),
        lambda: checked_answers([[0.7, 0.7]], 1),
        lambda: checked_answers([[0.5, np.nan]], 1),
    ],
)
def test_nonsense_is_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_top_takes_exactly_k_of_those_present():
    scores = np.array([[0.0, 0.0, 0.0, 5.0], [1.0, 2.0, 3.0, 4.0]])
    present = np.array([[True, True, True, False], [True, False, False, False]])
    assert top(scores, 2, present).tolist() == [[True, True, False, False], [True, False, False, False]]
