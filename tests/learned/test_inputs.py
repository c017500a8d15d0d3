"""Players of inputs: what is kept, what is replaced, and what is refused."""

import numpy as np
import pytest

from accredit.errors import InvalidInput
from accredit.learned.black_boxes import check_answers, check_labels
from accredit.learned.inputs import PixelGrid, Tabular, Words, inputs_from
from accredit.learned.masks import check_mask, top
from tests.wording import refused

ALL = (
    Tabular(3),
    Tabular(3, replace=(1.0, 2.0, 3.0), columns=("age", "height", "weight")),
    Words(4, 9),
    Words(4, 9, pad=8),
    PixelGrid((4, 6)),
    PixelGrid((3, 4, 6), block=2, replace=0.5),
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
    kept = PixelGrid((4, 6), block=2).keep(np.ones((1, 4, 6)), mask)[0]
    assert kept[2:, 2:4].all() and kept.sum() == 4


@pytest.mark.parametrize(
    ("inputs", "x", "says"),
    [
        (PixelGrid((28, 28)), np.zeros((5, 27, 28)), r"\(N, 28, 28\), got \(5, 27, 28\)"),
        (PixelGrid((28, 28)), np.zeros((28, 28)), r"\(N, 28, 28\)"),
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
        lambda: PixelGrid((28, 28), block=3),
        lambda: PixelGrid((28,)),
        lambda: Words(0, 5),
        lambda: Words(5, 5, pad=5),
        lambda: Tabular(2, replace=(1.0, 2.0, 3.0)),
        lambda: Tabular(2, replace=float("nan")),
        lambda: Tabular(2, columns=("a",)),
        lambda: inputs_from({"kind": "sounds"}),
        lambda: inputs_from({"kind": "words", "length": 10**12, "vocabulary": 5, "pad": 0}),
        lambda: inputs_from({"kind": "tabular", "n": 3, "colour": "red"}),
        lambda: check_mask([[0.5, 2.0]], 1, 2),
        lambda: check_mask([[True]], 1, 2),
        lambda: Words(2, 5).keep(np.array([[1, 2]]), [[0.5, 1.0]]),
        lambda: top([[1.0, 2.0]], 3),
        lambda: top([[1.0, float("nan")]], 1),
        lambda: check_answers([[1.0]], 1),
        lambda: check_answers([[0.7, 0.7]], 1),
        lambda: check_answers([[0.5, np.nan]], 1),
    ],
)
def test_nonsense_is_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_top_takes_exactly_k_of_those_present():
    scores = np.array([[0.0, 0.0, 0.0, 5.0], [1.0, 2.0, 3.0, 4.0]])
    present = np.array([[True, True, True, False], [True, False, False, False]])
    assert top(scores, 2, present).tolist() == [[True, True, False, False], [True, False, False, False]]


# What a user may hand in, and what is said about the rest


def test_answers_may_be_lists_single_precision_or_tensors_with_a_gradient():
    torch = pytest.importorskip("torch")
    answers = np.array([[0.25, 0.75]])
    for form in (answers.tolist(), answers.astype(np.float32), torch.tensor(answers, requires_grad=True)):
        assert check_answers(form, 1).tolist() == answers.tolist()


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([[2.0, -1.0]], r"row 0 is \[ 2. -1.\] with sum 1; apply softmax"),
        ([[0.5, 0.4]], "sum 0.9"),
        ([[np.nan, 1.0]], "no NaN"),
        ([0.3], r"shape \(1,\); for the chance p of one class, write np.column_stack"),
        ([[0.5, 0.5], [1.0]], "got list"),
        (None, "got None"),
    ],
)
def test_answers_that_are_no_probabilities_are_refused_with_what_was_seen(answers, message):
    with pytest.raises(InvalidInput, match=message):
        check_answers(answers, 1)


def test_labels_may_be_boolean_and_wrong_ones_are_named():
    assert check_labels(np.array([True, False]), 2).tolist() == [1, 0]
    for labels, message in (
        (np.zeros(3), "got float64; number the classes with np.unique"),
        (np.array(["a", "b", "b"]), "number the classes"),
        (np.array([0, 1]), r"labels must be 3 class numbers, one per row, got shape \(2,\)"),
        (np.array([0, 1, 5]), r"from 0..1, got 0..5"),
        (np.array([1, 1, 1]), "labels are all 1"),
    ):
        with pytest.raises(InvalidInput, match=message):
            check_labels(labels, 3, classes=2)


def test_texts_in_any_memory_order_can_become_tensors():
    torch = pytest.importorskip("torch")
    backwards = np.arange(12).reshape(3, 4)[:, ::-1]
    assert torch.from_numpy(Words(4, 20).check(backwards)).tolist() == backwards.tolist()
    assert torch.from_numpy(Tabular(4).check(backwards)).tolist() == backwards.tolist()


def test_numbers_beyond_single_precision_are_named():
    with refused("not-finite", "x"):
        Tabular(2).check([[0.0, 1.0], [1e39, 0.0]])


@pytest.mark.parametrize(
    "made",
    [
        lambda: Tabular(2, replace="x"),
        lambda: PixelGrid(5),
        lambda: PixelGrid((4, 4), replace=[]),
        lambda: Words(4, 9, pad=1.5),
        lambda: inputs_from("words"),
        lambda: inputs_from({"kind": []}),
    ],
)
def test_settings_of_the_wrong_type_are_refused(made):
    with pytest.raises(InvalidInput):
        made()
