"""Trees of catboost, from its own JSON: symmetric or not, with numbers and one-hot categories."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from accredit.core import BoolArray, FloatArray
from accredit.models.rows import catboost_has_log_link, catboost_score
from accredit.products.form import plain_numbers
from accredit.trees.forest import Forest, Tree
from accredit.trees.reading.ensemble import Ensemble, NotTrees, check_columns, trust

if TYPE_CHECKING:
    import catboost

    from accredit.models.row_types import Table

Written = dict[str, Any]  # an object of the JSON that catboost writes
ColumnTest = tuple[int, float, BoolArray | None]  # the column, the threshold, and for a category the codes that go left


def read_catboost(model: catboost.CatBoost) -> Ensemble:
    """The ensemble of a fitted catboost model."""
    source = f"catboost {type(model).__name__}"
    written = _json(model, None)
    info = written["features_info"]
    columns = tuple(str(name) for name in model.feature_names_)
    scale, bias = written["scale_and_bias"]
    grown = written.get("oblivious_trees")
    trees = [_symmetric(tree, info) for tree in grown] if grown else [_nest(tree, info) for tree in written["trees"]]
    base = np.asarray(bias, dtype=np.float64)
    width = np.reshape(trees[0].value, (len(trees[0].feature), -1)).shape[1]
    forest = Forest.of(trees, len(columns), np.broadcast_to(base, width), single=True, source=source)
    forest = forest.scale(scale, forest.base)

    def raw(rows: Table) -> FloatArray:
        said = trust(lambda: catboost_score(model, rows, thread_count=1), source)
        return np.asarray(said, dtype=np.float64).reshape(len(rows), -1)

    def encode(rows: Table) -> FloatArray:
        if hasattr(rows, "iloc"):
            check_columns(rows, columns, source)
        return _encode(model, rows, info)

    classes = [str(c) for c in getattr(model, "classes_", [])]
    labels = tuple(classes if len(classes) == width else classes[1:]) or ("value",)
    labels = labels if len(labels) == width else tuple(str(i) for i in range(width))
    probe = None if info.get("categorical_features") else raw
    payoff = "margin" if classes else "log of the value" if catboost_has_log_link(model) else "value"
    if type(model).__name__ == "CatBoostRegressor" and model.get_params().get("loss_function") == "RMSEWithUncertainty":
        payoff = "margin"  # a mean and the logarithm of a deviation, of which the model predicts the variance
    return Ensemble(forest, columns, labels, payoff, encode, raw, probe, takes_missing=False).check()


def _json(model: catboost.CatBoost, pool: catboost.Pool | None) -> Written:
    """The model as catboost writes it; a pool adds the hashes of the categories in it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        model.save_model(str(file), format="json", pool=pool)
        written: Written = json.loads(file.read_text(encoding="utf-8"))
        return written


def _split(split: Written, info: Written) -> ColumnTest:
    kind = split["split_type"]
    if kind == "FloatFeature":
        column = info["float_features"][split["float_feature_index"]]["flat_feature_index"]
        return column, float(np.float32(split["border"])), None
    if kind == "OneHotFeature":
        feature = info["categorical_features"][split["cat_feature_index"]]
        goes_left = np.ones(len(feature["values"]) + 1, dtype=bool)
        goes_left[feature["values"].index(split["value"])] = False
        return feature["flat_feature_index"], 0.0, goes_left
    raise NotTrees(
        f"catboost turned categories into statistics of the target ({kind}), which mix columns; fit with one_hot_max_size at "
        "least the number of categories, or explain it as a function of rows"
    )


def _missing_left(column: int, info: Written) -> bool:
    floats = {f["flat_feature_index"]: f["nan_value_treatment"] for f in info.get("float_features", [])}
    return floats.get(column) != "AsTrue"


def _symmetric(tree: Written, info: Written) -> Tree:
    """All nodes of one level share one split. The first split is the lowest bit of a leaf's number, so with the last split at
    the root the leaves stand in their own order. The order changes no output, but cover ratios: catboost's begin there."""
    splits = [_split(s, info) for s in reversed(tree["splits"])]
    depth = len(splits)
    leaves, inner = 1 << depth, (1 << depth) - 1
    value = np.reshape(np.asarray(tree["leaf_values"], dtype=np.float64), (leaves, -1))
    weight = np.asarray(tree.get("leaf_weights") or np.zeros(leaves), dtype=np.float64)
    level = np.concatenate([np.full(1 << i, i) for i in range(depth)]) if depth else np.zeros(0, dtype=np.int64)
    at = np.arange(inner)
    cover = np.concatenate([np.zeros(inner), weight])
    for node in reversed(range(inner)):
        cover[node] = cover[2 * node + 1] + cover[2 * node + 2]

    def pad(values: npt.ArrayLike, fill: float) -> npt.NDArray[np.generic]:
        return np.concatenate([np.asarray(values), np.full(leaves, fill)])

    columns, thresholds = [splits[i][0] for i in level], [splits[i][1] for i in level]
    return Tree(
        pad(np.array(columns, dtype=np.int64), -1),
        pad(thresholds, 0.0),
        pad(2 * at + 1, 0),
        pad(2 * at + 2, 0),
        np.concatenate([np.zeros((inner, value.shape[1])), value]),
        cover,
        pad(np.array([_missing_left(c, info) for c in columns], dtype=bool), False),
        sets={int(n): splits[i][2] for n, i in enumerate(level) if splits[i][2] is not None},
    )


def _nest(root: Written, info: Written) -> Tree:
    """A tree of nested nodes."""
    nodes, children = [root], []
    for node in nodes:  # grows while it is walked
        if "split" not in node:
            children.append((0, 0))
            continue
        children.append((len(nodes), len(nodes) + 1))
        nodes += [node["left"], node["right"]]
    splits = [_split(n["split"], info) if "split" in n else (-1, 0.0, None) for n in nodes]
    width = max(np.size(n["value"]) for n in nodes if "split" not in n)
    value = np.array([np.zeros(width) if "split" in n else np.ravel(n["value"]) for n in nodes])
    cover = np.array([0.0 if "split" in n else float(n.get("weight", 0)) for n in nodes])
    for place in reversed(range(len(nodes))):
        if "split" in nodes[place]:
            cover[place] = cover[list(children[place])].sum()
    return Tree(
        [s[0] for s in splits],
        [s[1] for s in splits],
        [c[0] for c in children],
        [c[1] for c in children],
        value,
        cover,
        [_missing_left(s[0], info) for s in splits],
        sets={i: s[2] for i, s in enumerate(splits) if s[2] is not None},
    )


def _encode(model: catboost.CatBoost, rows: Table, info: Written) -> FloatArray:
    """Rows as numbers: a category becomes its place among those the model tests, or one past the last."""
    table = rows if hasattr(rows, "iloc") else np.asarray(rows)
    features = info.get("categorical_features") or []
    if not features:
        return plain_numbers(table)
    from catboost import Pool

    categories = [f["flat_feature_index"] for f in features]
    written = trust(lambda: _json(model, Pool(rows, cat_features=categories)), "catboost")
    hashes = {h["value"]: int(np.uint32(h["hash"]).astype(np.int32)) for h in written["features_info"]["cat_features_hash"]}
    places = {f["flat_feature_index"]: {v: i for i, v in enumerate(f.get("values", []))} for f in features}
    matrix = np.empty(table.shape)
    for column in range(table.shape[1]):
        values = table.iloc[:, column] if hasattr(table, "iloc") else table[:, column]
        if column in places:
            place = places[column]
            matrix[:, column] = [place.get(hashes.get(str(v)), len(place)) for v in values]
        else:
            matrix[:, column] = plain_numbers(values)
    return matrix
