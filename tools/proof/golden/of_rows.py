"""Rows of a table: models of every library that is read, every value, everything that absent columns may take."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tools.proof.golden import doors as d
from tools.proof.golden import subjects as s
from tools.proof.golden.asking import Entries, methods, spelled


def rows_by(name: str, model: Callable[[], Any], **settings: Any) -> Any:
    return d.explain(s.rows(), model(), background=s.background(), methods=[spelled(name, 5)], **settings)


GROWN = (
    "forest",
    "forest of classes",
    "boosted",
    "histogram",
    "isolation",
    "tree",
    "xgboost",
    "xgboost of classes",
    "lightgbm",
    "catboost",
)


def rows() -> Entries:
    values = [name for name in methods("game") if "text" in d.BY_NAME[name].applies and name not in ("owen", "lasso")]
    every = {f"function, {name}": partial(_of_function, name) for name in values}
    grown = {
        f"{name}, {how}": partial(_grown, name, how)
        for name in GROWN
        for how in ("background", "cover")
        if (name, how) != ("isolation", "cover")
    }
    return every | grown | ROWS


def _of_function(name: str) -> Any:
    return rows_by(name, lambda: s.function_of_rows, seed=1, budget=24 if d.BY_NAME[name].estimates else None)


def _grown(name: str, how: str) -> Any:
    return d.explain(s.rows(), s.model_of_rows(name), background=s.background() if how == "background" else None)


ROWS: Entries = {
    "linear": lambda: d.explain(s.rows(), s.model_of_rows("linear"), background=s.background()),
    "logistic behind a scaler": lambda: d.explain(s.rows(), s.model_of_rows("logistic"), background=s.background()),
    "forest, banzhaf": lambda: rows_by("banzhaf", lambda: s.model_of_rows("forest")),
    "forest, interactions": lambda: rows_by("shapley", lambda: s.model_of_rows("forest"), interactions=True),
    "forest, groups": lambda: rows_by("shapley", lambda: s.model_of_rows("forest"), players=s.COLUMN_GROUPS),
    "forest, probability": lambda: rows_by("shapley", lambda: s.model_of_rows("boosted"), payoff="probability"),
    "classes, one shown": lambda: rows_by("shapley", lambda: s.model_of_rows("histogram"), target="2"),
    "function, groups": lambda: rows_by("shapley", lambda: s.function_of_rows, players=s.COLUMN_GROUPS),
    "function, interactions": lambda: rows_by("shapley", lambda: s.function_of_rows, interactions=True),
    "function, empirical": lambda: rows_by("shapley", lambda: s.function_of_rows, dependence="empirical"),
    "function, gaussian": lambda: rows_by("shapley", lambda: s.function_of_rows, dependence="gaussian", seed=2),
    "function, medoids": lambda: rows_by("shapley", lambda: s.function_of_rows, most_background=6, background_by="medoids"),
    "function, weights": lambda: rows_by("shapley", lambda: s.function_of_rows, weights=np.arange(1.0, 31.0)),
    "one row": lambda: d.explain(s.frame().iloc[0], s.model_of_rows("tree"), background=s.background()),
    "arrays": lambda: d.explain(s.rows().to_numpy(), s.model_of_rows("linear"), background=s.background().to_numpy()),
    "many rows into a file": lambda: d.explain(
        s.frame(), s.model_of_rows("xgboost"), background=s.background(), out="credit.jsonl"
    ),
    "importance": lambda: _grown("histogram", "background").importance(),
    "one row's interactions": lambda: rows_by("shapley", lambda: s.model_of_rows("forest"), interactions=True).interactions(1),
    "tabular_game": lambda: d.shapley(d.tabular_game(s.function_of_rows, s.rows().to_numpy()[0], s.background().to_numpy())),
    "sage": lambda: d.shapley(
        d.sage_game(s.model_of_rows("linear"), s.frame(), s.number(), most_rows=20, most_background=10)[0]
    ),
    "closed_form": lambda: d.closed_form(s.model_of_rows("forest"), s.rows(), s.background(), interactions=True),
    "tree_credit": lambda: d.tree_credit(d.forest_of(s.model_of_rows("tree")), s.rows().to_numpy(), value="banzhaf"),
}
