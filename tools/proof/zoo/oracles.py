"""What a model says by itself, asked through its own library and nothing of ours: outputs, contributions, coalitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import comb
from typing import Any

import numpy as np

from accredit.core import BoolArray, FloatArray

MOST_COLUMNS = 10  # up to which all coalitions of columns are tried


def library_of(model: Any) -> str:
    """The package that a model's class comes from.

    >>> library_of(np.float64(1.0))
    'numpy'
    """
    return type(model).__module__.split(".")[0]


def own_output(model: Any, rows: Any, payoff: str) -> FloatArray:
    """The model's own output on a scale that is named: (rows, outputs); a score of two classes for both of them."""
    if hasattr(model, "best_estimator_") and library_of(model.best_estimator_) != "sklearn":
        model = model.best_estimator_  # a search does not pass on the raw scores of other libraries
    if hasattr(model, "steps") and (hasattr(model[-1], "predict_joint_log_proba") or library_of(model[-1]) != "sklearn"):
        return own_output(model[-1], model[:-1].transform(rows), payoff)  # nor does a pipeline; both give densities of the last
    if payoff == "log-odds" and hasattr(model, "predict_joint_log_proba"):  # where chances are 0 or 1, these are not
        from scipy.special import logsumexp

        joint = model.predict_joint_log_proba(rows)
        each = range(joint.shape[1])
        return np.stack([joint[:, k] - logsumexp(np.delete(joint, k, axis=1), axis=1) for k in each], axis=1)
    if payoff == "log-odds":
        chance = own_output(model, rows, "probability")
        return np.asarray(np.log(chance) - np.log1p(-chance))
    said = np.asarray(_asked(model, rows, payoff), dtype=np.float64)
    said = said.reshape(len(rows), -1)
    classes = getattr(model, "classes_", None)
    two = classes is not None and len(classes) == 2
    if library_of(model) == "xgboost" and type(model).__name__ == "Booster":
        two = _objective(model).startswith("binary:")
    if library_of(model) == "lightgbm" and type(model).__name__ == "Booster":
        two = model.params.get("objective") == "binary"
    if said.shape[1] == 1 and two:
        return np.concatenate([1 - said, said] if payoff == "probability" else [-said, said], axis=1)
    return said


def _objective(booster: Any) -> str:
    import json

    return str(json.loads(booster.save_config())["learner"]["objective"]["name"])


def _asked(model: Any, rows: Any, payoff: str) -> Any:
    """What the library returns: `value` is the plain prediction, everything but probabilities is the raw score."""
    match library_of(model), payoff:
        case "xgboost", _ if type(model).__name__ == "Booster":
            import xgboost

            data = xgboost.DMatrix(rows, enable_categorical=True)
            return model.predict(data, output_margin=payoff not in ("value", "probability"))
        case "lightgbm", _ if type(model).__name__ == "Booster":
            raw = payoff not in ("value", "probability")
            return np.asarray(model.predict(rows, raw_score=raw)) / (_rounds(model) if raw else 1)
        case _, "value":
            return model.predict(rows) if not _scores_outliers(model) else model.decision_function(rows)
        case _, "probability":
            return model.predict_proba(rows)
        case _, "log-joint":
            return model.predict_joint_log_proba(rows)
        case _, "pairs":
            from copy import deepcopy

            return deepcopy(model).set_params(decision_function_shape="ovo").decision_function(rows)
        case _, "path length":
            return -np.log2(-model.score_samples(rows)) * _usual_depth(model.max_samples_)
        case "xgboost", _:
            return model.predict(rows, output_margin=True)
        case "lightgbm", _:
            return model.predict(rows, raw_score=True) / _rounds(
                model
            )  # a random forest's raw score is the sum of what it averages
        case "catboost", _:
            import catboost

            return catboost.CatBoost.predict(model, rows, prediction_type="RawFormulaVal")
        case _ if hasattr(model, "decision_function"):
            return model.decision_function(rows)
    return np.log(model.predict(rows))  # the raw score of a regression with a log link


def _rounds(model: Any) -> int:
    """By how many rounds the raw score of lightgbm is to be divided: only a random forest's."""
    given = model.params if type(model).__name__ == "Booster" else model.get_params()
    averages = "rf" in (given.get("boosting_type"), given.get("boosting"))
    return int((model.num_trees() if type(model).__name__ == "Booster" else model.n_estimators_) if averages else 1)


def _usual_depth(rows: int) -> float:
    """The mean depth of a row in a random search tree: 2 H(rows − 1) − 2 (rows − 1) / rows, with ln n + γ for H(n) as there."""
    return float(2.0 * (np.log(rows - 1.0) + np.euler_gamma) - 2.0 * (rows - 1.0) / rows)


def _scores_outliers(model: Any) -> bool:
    return hasattr(model, "decision_function") and not hasattr(model, "classes_") and not hasattr(model, "predict_proba")


def contributions(model: Any, rows: Any) -> tuple[FloatArray, FloatArray] | None:
    """Credit by cover ratios as the model's own library computes it, or shap for scikit-learn: (rows, columns, outputs) and
    (rows, outputs) for the base; None where the library has none."""
    library = library_of(model)
    columns = rows.shape[1]
    if library == "xgboost":
        if _has_vector_leaves(model):  # for which xgboost has no contributions
            return _by_definition(*_vector_trees(model), rows)
        return _split(_xgboost_contributions(model, rows), columns)
    if library == "lightgbm":
        if "is_linear=1" in (model if type(model).__name__ == "Booster" else model.booster_).model_to_string():
            return None
        given = np.asarray(model.predict(rows, pred_contrib=True)) / _rounds(model)
        return _split(given.reshape(len(rows), -1, columns + 1), columns)
    if library == "catboost":
        import catboost

        named = [str(c) for c in rows.columns if rows[c].dtype == "category"]
        if not _plain_catboost(model):
            return None if named else _by_definition(*_catboost_trees(model), rows)
        given = model.get_feature_importance(catboost.Pool(rows, cat_features=named), type="ShapValues")
        return _split(np.asarray(given).reshape(len(rows), -1, columns + 1), columns)
    return _shap_contributions(model, rows)


def _has_vector_leaves(model: Any) -> bool:
    grown = _learner(model)["gradient_booster"].get("model", {})
    return any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in grown.get("trees", []))


def _learner(model: Any) -> dict[str, Any]:
    """What xgboost writes of a model."""
    import json

    booster = model if type(model).__name__ == "Booster" else model.get_booster()
    written: dict[str, Any] = json.loads(bytes(booster.save_raw("json")))["learner"]
    return written


def _split(given: FloatArray, columns: int) -> tuple[FloatArray, FloatArray]:
    return np.moveaxis(given[..., :columns], 1, 2), given[..., columns]


def _xgboost_contributions(model: Any, rows: Any) -> FloatArray:
    import xgboost

    booster = model if type(model).__name__ == "Booster" else model.get_booster()
    stopped = getattr(model, "early_stopping_rounds", None) is not None
    until = (0, model.best_iteration + 1) if stopped else (0, 0)
    data = xgboost.DMatrix(rows, enable_categorical=True)
    given = booster.predict(data, pred_contribs=True, iteration_range=until, strict_shape=True)
    return np.asarray(given, dtype=np.float64)


def _shap_contributions(model: Any, rows: Any) -> tuple[FloatArray, FloatArray] | None:
    if type(model).__name__ == "IsolationForest":
        return None  # shap explains the depth of its leaves, not its score
    if getattr(model, "loss", None) == "exponential":
        return None  # there shap's base is the logarithm of the odds, of which the model starts from the half
    try:
        import shap

        explainer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
        given = np.asarray(explainer.shap_values(rows, check_additivity=False), dtype=np.float64)
    except Exception:  # shap raises what it likes about models that it cannot read
        return None
    base = np.broadcast_to(np.ravel(explainer.expected_value), (len(rows), np.size(explainer.expected_value)))
    return given.reshape(len(rows), rows.shape[1], -1), np.asarray(base)


@dataclass(frozen=True)
class Node:
    """A node of a tree as its library wrote it, and nothing more."""

    cover: float  # training weight
    value: FloatArray | None = None  # (outputs,) at a leaf
    column: int = -1
    left: Node | None = None
    right: Node | None = None
    goes_left: Callable[[float], bool] | None = None


def _plain_catboost(model: Any) -> bool:
    """Are catboost's own contributions those of the definition? In trees that are not symmetric they do not add up to the
    prediction, in monotone ones they leave out leaves that no training row reached; sums and scaled models have none."""
    known = model.get_all_params() if model.get_metadata().get("params") else {}
    symmetric = known.get("grow_policy") == "SymmetricTree" and not known.get("monotone_constraints")
    return symmetric and model.get_scale_and_bias()[0] == 1.0


def _catboost_trees(model: Any) -> tuple[list[Node], FloatArray]:
    """Trees from catboost's JSON."""
    import json
    import tempfile
    from pathlib import Path

    file = Path(tempfile.mkdtemp()) / "model.json"
    model.save_model(str(file), format="json")
    written = json.loads(file.read_text(encoding="utf-8"))
    scale, bias = written["scale_and_bias"]
    columns = {f["feature_index"]: f for f in written["features_info"]["float_features"]}

    def test(split: dict[str, Any]) -> tuple[int, Callable[[float], bool]]:
        border, info = np.float32(split["border"]), columns[split["float_feature_index"]]
        above = info["nan_value_treatment"] == "AsTrue"
        return info["flat_feature_index"], lambda x: (not above) if np.isnan(x) else not np.float32(x) > border

    def grow(node: dict[str, Any]) -> Node:
        if "split" not in node:
            return Node(float(node["weight"]), scale * np.ravel(node["value"]))
        left, right, (column, goes) = grow(node["left"]), grow(node["right"]), test(node["split"])
        return Node(left.cover + right.cover, None, column, left, right, goes)

    def unfold(tree: dict[str, Any], depth: int, place: int) -> Node:
        if depth == 0:
            value = np.reshape(tree["leaf_values"], (len(tree["leaf_weights"]), -1))[place]
            return Node(float(tree["leaf_weights"][place]), scale * value)
        column, goes = test(tree["splits"][depth - 1])
        left, right = (unfold(tree, depth - 1, place | bit << (depth - 1)) for bit in (0, 1))
        return Node(left.cover + right.cover, None, column, left, right, goes)

    symmetric = written.get("oblivious_trees")
    trees = [unfold(t, len(t["splits"]), 0) for t in symmetric] if symmetric else [grow(t) for t in written["trees"]]
    return trees, np.asarray(bias, dtype=np.float64)


def _vector_trees(model: Any) -> tuple[list[Node], FloatArray]:
    """Trees with several outputs from xgboost's JSON; the base is what its own output has beyond them."""
    import json

    learner = _learner(model)
    objective, stored = learner["objective"]["name"], learner["learner_model_param"]["base_score"]
    base = np.ravel(np.asarray(json.loads(stored), dtype=np.float64))
    if objective == "binary:logistic":
        base = np.log(base / (1 - base))
    trees = []
    for tree in learner["gradient_booster"]["model"]["trees"]:
        weights = np.reshape(tree["leaf_weights"], (-1, int(tree["tree_param"]["size_leaf_vector"])))

        def grow(at: int, tree: Any = tree, weights: FloatArray = weights) -> Node:
            cover, left, right = tree["sum_hessian"][at], tree["left_children"][at], tree["right_children"][at]
            if left < 0:
                return Node(cover, weights[right])
            limit, missing = np.float32(tree["split_conditions"][at]), bool(tree["default_left"][at])
            goes = lambda x: missing if np.isnan(x) else bool(np.float32(x) < limit)  # noqa: E731
            return Node(cover, None, tree["split_indices"][at], grow(left), grow(right), goes)

        trees.append(grow(0))
    return trees, base


def _by_definition(trees: list[Node], base: FloatArray, rows: Any) -> tuple[FloatArray, FloatArray] | None:
    """Shapley values from the definition: of every coalition, in which the other columns send the row down both sides of
    their tests by training weight; a node that none came to sends half of it."""
    n = rows.shape[1]
    if n > MOST_COLUMNS:
        return None
    plays = np.array(list(product([False, True], repeat=n)))[:, ::-1]  # bit i of the place says whether i plays
    found, nobody = [], []
    for row in np.asarray(rows, dtype=np.float64):
        worth = sum(_worth(tree, row, plays, np.ones(len(plays))) for tree in trees) + base
        found.append(_shapley(worth, n))
        nobody.append(worth[0])
    return np.stack(found), np.stack(nobody)


def _worth(node: Node, row: FloatArray, plays: BoolArray, share: FloatArray) -> FloatArray:
    if node.value is not None:
        return np.asarray(share[:, None] * node.value)
    assert node.left is not None and node.right is not None and node.goes_left is not None
    part = node.left.cover / node.cover if node.cover > 0 else 0.5
    goes, mine = node.goes_left(row[node.column]), plays[:, node.column]
    left = share * np.where(mine, float(goes), part)
    return _worth(node.left, row, plays, left) + _worth(node.right, row, plays, share - left)


def brute_force(model: Any, rows: Any, background: Any, payoff: str) -> tuple[FloatArray, FloatArray] | None:
    """Shapley values from the model's own output of every coalition of columns, each averaged over the background:
    (rows, columns, outputs), and what nobody earns: (rows, outputs). None where there are too many columns."""
    import pandas

    n = rows.shape[1]
    if n > MOST_COLUMNS:
        return None
    plays = np.array(list(product([False, True], repeat=n)))[:, ::-1]  # bit i of the place says whether i plays
    every = np.repeat(plays, len(background), axis=0)
    found, nobody = [], []
    for r in range(len(rows)):
        mixed = {
            name: pandas.concat([background[name]] * len(plays), ignore_index=True).where(~every[:, i], rows[name].iloc[r])
            for i, name in enumerate(rows.columns)
        }
        table = pandas.DataFrame(mixed).astype(dict(rows.dtypes))
        worth = own_output(model, table, payoff).reshape(len(plays), len(background), -1).mean(axis=1)
        found.append(_shapley(worth, n))
        nobody.append(worth[0])
    return np.stack(found), np.stack(nobody)


def _shapley(worth: FloatArray, n: int) -> FloatArray:
    """The definition: (coalitions, outputs) -> (players, outputs)."""
    place = np.arange(1 << n)
    size = np.bitwise_count(place)
    weight = np.array([1 / (n * comb(n - 1, k)) for k in range(n)])
    without = [place[place >> i & 1 == 0] for i in range(n)]
    return np.stack([weight[size[s]] @ (worth[s | 1 << i] - worth[s]) for i, s in enumerate(without)])
