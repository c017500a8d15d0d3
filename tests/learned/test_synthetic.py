"""Worlds with known telling columns: the worlds are what they say, and L2X finds the columns."""

import numpy as np
import pytest

from accredit.errors import InvalidInput
from accredit.learned import Tabular, Training, l2x
from tests.learned.synthetic import CHOSEN, answers, world


def median_ranks(scores, telling):
    """Median rank of the telling columns in every row, 1 for the highest score: (N, n), (N, n) -> (N,)."""
    ranks = 1 + np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    return np.nanmedian(np.where(telling, ranks, np.nan), axis=1)


@pytest.mark.parametrize("name", CHOSEN)
def test_only_the_telling_columns_decide(name):
    drawn, other = world(name, 500, seed=1), world(name, 500, seed=2)
    assert (drawn.telling.sum(axis=1) == drawn.k).all()
    np.testing.assert_allclose(answers(name, np.where(drawn.telling, drawn.x, other.x)), drawn.chances)
    for column in np.flatnonzero(drawn.telling.any(axis=0)):  # and each of them does, in rows where it tells
        moved = drawn.x.copy()
        moved[:, column] = -moved[:, column] + 0.3
        change = np.abs(answers(name, moved) - drawn.chances).max(axis=1)
        assert (change[drawn.telling[:, column]] > 1e-12).mean() > 0.5
    # labels follow the chances: 500 rows, standard error of the mean at most 0.0224; six of them, false alarm < 2e-9
    assert abs(drawn.labels.mean() - drawn.chances[:, 1].mean()) < 0.135


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
def test_l2x_ranks_the_telling_columns_first(name):
    """Mean over rows of the median rank of the telling columns within 0.5 of the best possible."""
    learn, test = world(name, 20_000, seed=1), world(name, 1000, seed=2)
    training = Training(epochs=5, batch=256, optimiser="adam")
    explainer = l2x(Tabular(10), 2, learn.k, training=training).fit(learn.x, lambda x: answers(name, x), seed=0)
    found = median_ranks(explainer.scores(test.x), test.telling).mean()
    chance = median_ranks(np.random.default_rng(0).random((1000, 10)), test.telling).mean()
    assert found <= (test.k + 1) / 2 + 0.5 < chance


def test_an_unknown_world_is_named():
    with pytest.raises(InvalidInput, match="orange skin"):
        world("apple skin", 10)
