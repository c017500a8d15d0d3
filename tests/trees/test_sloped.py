"""Linear models in the leaves of lightgbm: credit against all coalitions of the library's own raw output."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core.coalitions import from_index
from accredit.errors import InvalidInput
from accredit.trees import NotTrees, closed_form, ensemble_of
from accredit.values.precedence import Stages
from accredit.values.semivalue_rules import semivalue_of
from accredit.values.semivalues import semivalue_from_table
from tests.trees.test_brute_force import pairs_by_definition
from tests.wording import refused

pytest.importorskip("lightgbm")
COLUMNS = 4


def grow(seed: int, missing: bool, **settings: Any) -> tuple[Any, np.ndarray]:
    """A model whose last column is a category, and its rows."""
    import lightgbm as lgb

    rng = np.random.default_rng(seed)
    x = rng.normal(size=(400, COLUMNS))
    x[:, 3] = rng.integers(0, 5, len(x))
    y = x[:, 0] * x[:, 1] + np.sin(x[:, 2]) + (x[:, 3] == 2)
    if settings.get("objective") == "multiclass":
        y = np.digitize(y, (-0.5, 0.5))
    if missing:
        x[:, :3][rng.random((len(x), 3)) < 0.15] = np.nan
    given = {"linear_tree": True, "num_leaves": 6, "min_data_in_leaf": 10, "verbose": -1, "num_threads": 1, **settings}
    return lgb.train(given, lgb.Dataset(x, y, categorical_feature=[3]), 5), x


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("value", ["shapley", "banzhaf", ("beta", 2, 3)])
@pytest.mark.parametrize(
    "settings",
    [{}, {"objective": "multiclass", "num_class": 3}, {"objective": "quantile", "boosting": "dart", "skip_drop": 0.0}],
    ids=["regression", "classes", "quantiles by dart"],
)
def test_credit_and_pairs_equal_all_coalitions(settings, value, missing):
    booster, x = grow(1, missing, **settings)
    background, weight, rule = x[:6], np.arange(1.0, 7), semivalue_of(value, COLUMNS)
    rows = x[10:13]
    got = closed_form(booster, rows, background, value=value, weight=weight, interactions=True)
    plays = from_index(np.arange(1 << COLUMNS), COLUMNS)
    for r, row in enumerate(rows):
        mixed = np.where(plays[:, None], row, background).reshape(-1, COLUMNS)
        said = np.asarray(booster.predict(mixed, raw_score=True)).reshape(len(plays), len(background), -1)
        v = np.average(said, axis=1, weights=weight)
        for k in range(v.shape[1]):
            assert_allclose(got.credit[r, :, k], semivalue_from_table(v[:, k], rule.weights(COLUMNS)), atol=1e-10)
            assert_allclose(got.pairs[r, ..., k], pairs_by_definition(v[:, k], rule.weights(COLUMNS - 1)), atol=1e-10)


def test_columns_of_one_player_come_together():
    booster, x = grow(2, missing=True)
    got = closed_form(booster, x[:3], x[20:30], players=[0, 0, 0, 1])
    said = booster.predict(np.concatenate([x[20:30, :3], np.repeat(x[:1, 3:], 10, axis=0)], axis=1), raw_score=True)
    alone = booster.predict(np.concatenate([np.repeat(x[:1, :3], 10, axis=0), x[20:30, 3:]], axis=1), raw_score=True)
    base, whole = got.base[0], got.margin[0, 0]
    assert_allclose(got.credit[0, 1, 0], (said.mean() - base + whole - alone.mean()) / 2, atol=1e-10)


def test_what_linear_leaves_have_no_form_for_is_refused():
    booster, x = grow(3, missing=False)
    with pytest.raises(NotTrees, match="give a background"):
        closed_form(booster, x[:2])
    with pytest.raises(NotTrees, match="in order"):
        closed_form(booster, x[:2], x[5:9], value=Stages((0, 0, 1, 1)))
    with refused("unsupported", kind=InvalidInput):
        ensemble_of(booster).credit(x[:2], x[5:9])
