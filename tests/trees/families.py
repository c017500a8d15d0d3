"""Small random ensembles of every family, with categories and missing values where the family takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas

Family = Callable[[int], tuple[Any, Any]]  # seed -> fitted model, and rows as it takes them


def numbers(seed: int, missing: bool, rows: int = 120, columns: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Rows with ties (values on thresholds), and a noisy target of several of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns)).round(1)
    y = x[:, 0] * x[:, 1] + np.sin(3 * x[:, 2]) + (x[:, 3] > 0) * x[:, 4] + 0.1 * rng.normal(size=rows)
    if missing:
        x[rng.random(x.shape) < 0.15] = np.nan
    return x, y


def frame(seed: int, missing: bool = True) -> tuple[pandas.DataFrame, np.ndarray]:
    """A frame with two categorical columns, one of strings and one of numbers, whose order is not alphabetical."""
    x, y = numbers(seed, missing)
    rng = np.random.default_rng(seed + 1000)
    names, codes = list("qazwsx"), [9, 2, 5, 7]
    town, size = rng.choice(names, len(x)), rng.choice(codes, len(x))
    y = y + np.isin(town, ["q", "w", "x"]) * 2.0 + (size == 5) * (x[:, 0] > 0)
    table = pandas.DataFrame(x[:, :3], columns=["a", "b", "c"])
    table["town"] = pandas.Categorical(town, categories=names)
    table["size"] = pandas.Categorical(size, categories=codes)
    if missing:
        table.loc[rng.random(len(x)) < 0.1, "town"] = np.nan
    return table, y


def three(y: np.ndarray) -> np.ndarray:
    """Three classes of about equal size."""
    return np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))


def scikit(seed: int) -> tuple[Any, Any]:
    from sklearn import ensemble, tree

    kinds = [
        lambda s: (tree.DecisionTreeRegressor(max_depth=4, random_state=s), False, False),
        lambda s: (tree.ExtraTreeClassifier(max_depth=4, random_state=s), True, False),
        lambda s: (ensemble.RandomForestRegressor(4, max_depth=5, random_state=s), False, True),
        lambda s: (ensemble.RandomForestClassifier(3, max_depth=4, random_state=s), True, True),
        lambda s: (ensemble.ExtraTreesClassifier(3, max_depth=5, random_state=s), True, False),
        lambda s: (ensemble.GradientBoostingRegressor(n_estimators=5, max_depth=3, random_state=s), False, False),
        lambda s: (ensemble.GradientBoostingClassifier(n_estimators=3, max_depth=3, random_state=s), True, False),
    ]
    model, classes, missing = kinds[seed % len(kinds)](seed)
    x, y = numbers(seed, missing)
    return model.fit(x, three(y) if classes else y), x


def histogram(seed: int) -> tuple[Any, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    settings = {"max_iter": 4, "max_leaf_nodes": 7, "min_samples_leaf": 5, "random_state": seed}
    x, y = frame(seed) if seed % 2 else numbers(seed, missing=True)
    if seed % 3 == 0:
        return HistGradientBoostingClassifier(**settings).fit(x, three(y)), x
    loss = "poisson" if seed % 3 == 1 else "squared_error"
    return HistGradientBoostingRegressor(loss=loss, **settings).fit(x, np.exp(y / 3) if loss == "poisson" else y), x


def xgboost(seed: int) -> tuple[Any, Any]:
    import xgboost as xgb

    settings = {"n_estimators": 4, "max_depth": 4, "n_jobs": 1, "random_state": seed}
    x, y = frame(seed) if seed % 2 else numbers(seed, missing=True)
    if seed % 2:
        settings |= {"enable_categorical": True, "max_cat_to_onehot": 1 + seed % 4}
    if seed % 5 == 0:
        return xgb.XGBClassifier(**settings).fit(x, three(y)), x
    if seed % 5 == 1:
        return xgb.XGBClassifier(**settings).fit(x, y > 0), x
    if seed % 5 == 2:
        return xgb.XGBRegressor(objective="count:poisson", **settings).fit(x, np.exp(y / 3)), x
    if seed % 5 == 3:
        return xgb.XGBRegressor(booster="dart", rate_drop=0.5, **settings).fit(x, y), x
    data = xgb.DMatrix(x, y, enable_categorical=True)
    return xgb.train({"max_depth": 4, "nthread": 1, "seed": seed}, data, 4), x


def lightgbm(seed: int) -> tuple[Any, Any]:
    import lightgbm as lgb

    settings = {
        "n_estimators": 4,
        "num_leaves": 8,
        "min_child_samples": 5,
        "min_data_per_group": 5,
        "cat_smooth": 1.0,
        "verbose": -1,
        "n_jobs": 1,
        "random_state": seed,
        "zero_as_missing": seed % 4 == 2,
        "use_missing": seed % 4 != 3,
    }
    x, y = frame(seed) if seed % 2 else numbers(seed, missing=True)
    if seed % 3 == 0:
        return lgb.LGBMClassifier(**settings).fit(x, three(y)), x
    if seed % 3 == 1:
        forest = {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1}
        return lgb.LGBMRegressor(**settings, **forest).fit(x, y), x
    return lgb.LGBMClassifier(**settings).fit(x, y > 0).booster_, x


def catboost(seed: int) -> tuple[Any, Any]:
    import catboost as cat

    settings = {
        "iterations": 4,
        "depth": 3,
        "thread_count": 1,
        "random_seed": seed,
        "verbose": 0,
        "allow_writing_files": False,
    }
    if seed % 3 == 0:
        x, y = numbers(seed, missing=False)
        return cat.CatBoostClassifier(**settings, grow_policy="Lossguide").fit(x, three(y)), x
    x, y = frame(seed)
    x["town"], x["size"] = x["town"].astype(object).fillna("none"), x["size"].astype(int)
    settings |= {"cat_features": ["town", "size"], "one_hot_max_size": 10}
    if seed % 3 == 1:
        return cat.CatBoostClassifier(**settings).fit(x, y > 0), x
    return cat.CatBoostRegressor(**settings, nan_mode="Max").fit(x, y), x


FAMILIES: dict[str, Family] = {
    "scikit": scikit,
    "histogram": histogram,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "catboost": catboost,
}
