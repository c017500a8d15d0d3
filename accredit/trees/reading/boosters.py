"""Trees of xgboost, from its own binary JSON, and of lightgbm, from its own text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import numpy.typing as npt

from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.models.categories import Category, xgboost_categories
from accredit.models.cells import are_plain_numbers, columns_of
from accredit.models.rows import LOG_LINK, lightgbm_objective, lightgbm_summed
from accredit.trees.forest import Forest, LeafSlopes, Tree
from accredit.trees.reading.ensemble import Ensemble, NotTrees, check_columns, number, probes, trust
from accredit.trees.reading.ubjson import from_ubjson

if TYPE_CHECKING:
    import lightgbm
    import pandas
    import xgboost

    from accredit.models.row_types import Table, TableFunction

LAST_BIT = 2.0**-24  # half a unit in the last place of single precision, in which xgboost sums its leaves
LOGIT_LINK = ("binary:logistic", "reg:logistic")
LINEAR_MODEL = ("num_features", "leaf_const", "leaf_features", "leaf_coeff")  # in the leaves of one tree of lightgbm
ZERO = float(np.float32(1e-35))  # what lightgbm takes for zero


Numbers = npt.NDArray[Any]


class XgboostLearner(TypedDict):
    """What is read of the learner in the JSON of xgboost, beside its trees."""

    learner_model_param: dict[str, str]
    objective: dict[str, str]


class XgboostTree(TypedDict):
    """One tree in the JSON of xgboost: a number per node, and the categories of the nodes that have some."""

    tree_param: dict[str, str]
    left_children: Numbers
    right_children: Numbers
    split_indices: Numbers
    split_conditions: Numbers
    sum_hessian: Numbers
    default_left: Numbers
    categories: Numbers
    categories_nodes: Numbers
    categories_segments: Numbers
    categories_sizes: Numbers
    leaf_weights: Numbers  # of trees with several outputs: a leaf names its place in it where others name a child


def read_xgboost(
    booster: xgboost.Booster,
    source: str = "xgboost",
    classes: Sequence[object] | None = None,
    own: Callable[[Table], object] | None = None,
) -> Ensemble:
    """The ensemble of an xgboost Booster; `own` is an estimator's raw output, which may stop early."""
    learner = from_ubjson(bytes(booster.save_raw("ubj")))["learner"]
    grown = learner["gradient_booster"]
    weights = grown.get("weight_drop")
    model = grown.get("gbtree", grown).get("model")
    if model is None or "trees" not in model:
        raise NotTrees(f"{source} uses the booster {grown.get('name')!r}, which has no trees", code="unsupported")
    features = int(learner["learner_model_param"]["num_feature"])
    trees = [_xgboost_tree(tree, output) for tree, output in zip(model["trees"], model["tree_info"], strict=True)]
    if weights:
        trees = [replace(tree, value=np.asarray(tree.value) * weight) for tree, weight in zip(trees, weights, strict=True)]
    columns = tuple(learner.get("feature_names") or ()) or None
    kinds = learner.get("feature_types") or None
    predict = own or (lambda rows: booster.predict(rows, output_margin=True))

    def probe(matrix: FloatArray) -> FloatArray:
        import xgboost

        names = None if columns is None else list(columns)
        data = xgboost.DMatrix(matrix, feature_names=names, feature_types=kinds, missing=np.nan)
        return np.asarray(booster.predict(data, output_margin=True)).reshape(len(matrix), -1)

    def raw(rows: Table) -> FloatArray:
        return np.asarray(trust(lambda: predict(_xgboost_rows(rows, own, columns, kinds)), source)).reshape(len(rows), -1)

    codes = xgboost_categories(model.get("cats"), features)
    forest = Forest.of(trees, features, inclusive=False, single=True, source=source)
    width = probe(np.zeros((1, features))).shape[1]
    encode = _encoder(columns, codes, source)
    labels = _labels(classes, width)
    read = Ensemble(
        forest,
        columns or number(features),
        labels,
        "log of the value" if learner["objective"]["name"] in LOG_LINK else "margin",
        encode,
        raw,
        probe,
        tolerance=_single_precision(forest, width),
    )
    possible = [replace(read, forest=replace(forest, base=base)) for base in _xgboost_bases(learner, width)]
    return (possible[0] if len(possible) == 1 else min(possible, key=_gap)).check()


def _single_precision(forest: Forest, outputs: int) -> FloatArray:
    """How far a sum of n numbers in single precision may be from the true one, relative to the sum of their sizes: for every
    output (Higham, 2002, eq. 4.4). Beside the trees' leaves there are the base score, its link, and the weight of a leaf."""
    several = forest.value.shape[1] > 1  # every tree adds to every output
    terms = (np.full(outputs, forest.trees) if several else np.bincount(forest.output, minlength=outputs)) + 4
    return np.asarray(terms * LAST_BIT / (1 - terms * LAST_BIT))


def _gap(read: Ensemble) -> float:
    """The largest difference to the model's own output, on rows made from the thresholds."""
    assert read.probe is not None
    matrix = probes(read.forest, read.takes_missing)
    return float(np.abs(read.forest.margin(matrix) - read.probe(matrix)).max())


def _xgboost_bases(learner: XgboostLearner, outputs: int) -> list[FloatArray]:
    """The base score as xgboost adds it: under the link of the objective, or, of an unknown one, under each link that there
    is. Computed in single precision, as there: a chance close to 1 has lost most of its digits."""
    text, objective = learner["learner_model_param"]["base_score"], str(learner["objective"]["name"])
    stored = np.ravel(np.asarray(json.loads(text), dtype=np.float32))
    score = np.broadcast_to(stored, outputs) if stored.size in (1, outputs) else np.zeros(outputs, dtype=np.float32)
    one = np.float32(1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        linked = {"logit": -np.log(one / score - one), "log": np.log(score), "none": score}
    known = "logit" if objective in LOGIT_LINK else "log" if objective in LOG_LINK else None
    if known is None and objective.startswith(("reg:", "multi:", "rank:")):
        known = "none"
    bases = [np.asarray(b, dtype=np.float64) for link, b in linked.items() if known in (None, link)]
    return [b for b in bases if np.isfinite(b).all()] or [np.asarray(score, dtype=np.float64)]


def _xgboost_tree(tree: XgboostTree, output: int) -> Tree:
    left, values = tree["left_children"], int(tree["tree_param"]["size_leaf_vector"])
    if values > 1 and "leaf_weights" not in tree:
        raise NotTrees("xgboost grew trees with several outputs each and does not say what their leaves weigh; use xgboost 3")
    leaf = left < 0
    sets = {}
    segments = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    for node, start, size in segments:
        right = tree["categories"][start : start + size].astype(np.int64)
        goes_left = np.ones(int(right.max(initial=0)) + 2, dtype=bool)
        goes_left[right] = False
        sets[int(node)] = goes_left
    value = threshold = tree["split_conditions"]  # a leaf's is what it adds
    if values > 1:  # a leaf's right child is its place among the leaves
        weights = tree["leaf_weights"].astype(np.float64).reshape(-1, values)
        value = np.zeros((len(left), values))
        value[leaf] = weights[tree["right_children"][leaf]]
    return Tree(
        np.where(leaf, -1, tree["split_indices"]),
        threshold,
        left,
        tree["right_children"],
        value,
        tree["sum_hessian"],
        tree["default_left"],
        sets=sets,
        output=int(output),
    )


def _xgboost_rows(
    rows: Table, own: Callable[[Table], object] | None, columns: tuple[str, ...] | None, kinds: list[str] | None
) -> Table | xgboost.DMatrix:
    """Rows as an estimator takes them, or as the data matrix that a native booster takes."""
    import xgboost

    if hasattr(rows, "iloc"):
        return rows if own is not None else xgboost.DMatrix(rows, enable_categorical=True)
    array = np.asarray(rows, dtype=np.float64)
    if own is not None and columns is None:
        return array
    names = None if columns is None else list(columns)
    if own is None:
        return xgboost.DMatrix(array, feature_names=names, feature_types=kinds)
    return array


def _encoder(columns: tuple[str, ...] | None, codes: list[Category], source: str) -> TableFunction:
    """Rows as numbers: categories of a frame become the codes that the model gave them."""

    def encode(rows: Table) -> FloatArray:
        if isinstance(rows, np.ndarray):
            return np.asarray(rows, dtype=np.float64).reshape(len(rows), -1)
        if columns is not None:
            check_columns(rows, columns, source)
        if are_plain_numbers(rows):
            return np.asarray(rows.to_numpy(dtype=np.float64))
        return np.stack([_code(column, codes[i], source) for i, column in enumerate(columns_of(rows))], axis=1)

    return encode


def _code(column: pandas.Series, categories: Category, source: str) -> FloatArray:
    """One column of a frame as numbers, missing values as NaN."""
    import pandas

    if not isinstance(column.dtype, pandas.CategoricalDtype):
        try:
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        except (TypeError, ValueError):
            raise InvalidInput(
                f"column {column.name!r} holds {column.dtype}; {source} reads numbers and categories: use astype('category')",
                code="type",
            ) from None
    if categories is None:
        codes = column.cat.codes.to_numpy().astype(np.float64)
        return np.where(codes < 0, np.nan, codes)
    place = {value: code for code, value in enumerate(categories)}
    present = column.dropna().unique()
    unseen = [value for value in present if value not in place]
    if unseen:
        raise InvalidInput(
            f"column {column.name!r} holds the category {unseen[0]!r}, which {source} never saw in training", code="unknown"
        )
    return np.array([place.get(value, np.nan) for value in column.astype(object)], dtype=np.float64)


def _labels(classes: Sequence[object] | None, outputs: int) -> tuple[str, ...]:
    if classes is not None and len(classes) == outputs:
        return tuple(str(c) for c in classes)
    if classes is not None and len(classes) == 2 and outputs == 1:
        return (str(classes[1]),)
    return ("value",) if outputs == 1 else tuple(str(i) for i in range(outputs))


def read_lightgbm(booster: lightgbm.Booster, source: str = "lightgbm", classes: Sequence[object] | None = None) -> Ensemble:
    """The ensemble of a lightgbm Booster."""
    head, sections = _lightgbm_sections(booster.model_to_string())
    outputs, features = int(head["num_tree_per_iteration"]), int(head["max_feature_idx"]) + 1
    rounds = lightgbm_summed(booster)
    trees = [_lightgbm_tree(section, i % outputs, 1 / rounds) for i, section in enumerate(sections)]
    columns = tuple(booster.feature_name())
    named = columns if not all(n.startswith("Column_") for n in columns) else None
    forest = Forest.of(trees, features, np.zeros(outputs), tiny=ZERO, source=source)
    forest = replace(forest, slopes=_lightgbm_slopes(sections, forest, 1 / rounds))

    def raw(rows: Table) -> FloatArray:
        given = trust(lambda: booster.predict(rows, raw_score=True, num_threads=1), source)
        return np.asarray(given).reshape(len(rows), -1) / rounds

    labels = _labels(classes, outputs)
    encode = _lightgbm_encoder(booster, columns, source)
    payoff = "log of the value" if lightgbm_objective(booster) in LOG_LINK else "margin"
    return Ensemble(forest, named or number(features), labels, payoff, encode, raw, raw).check()


def _lightgbm_encoder(booster: lightgbm.Booster, columns: tuple[str, ...], source: str) -> TableFunction:
    """Frames with categories in the codes of the training frame; a category that was not there is missing, as in lightgbm."""
    remembered = getattr(booster, "pandas_categorical", None) or []

    def encode(rows: Table) -> FloatArray:
        if isinstance(rows, np.ndarray):
            return np.asarray(rows, dtype=np.float64).reshape(len(rows), -1)
        import pandas

        written = [str(name).replace(" ", "_") for name in rows.iloc[:0]]  # as lightgbm writes the names of columns
        check_columns(pandas.DataFrame(columns=written), columns, source)
        known = iter(remembered)
        parts = []
        for _, column in rows.items():
            if isinstance(column.dtype, pandas.CategoricalDtype):
                categories = next(known, None)
                column = column if categories is None else column.cat.set_categories(categories)
            parts.append(_code(column, None, source))
        return np.stack(parts, axis=1)

    return encode


def _lightgbm_sections(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The header and one section per tree, as name -> value."""
    before, *after = text.split("\nTree=")
    parts = [before, *(part.split("end of trees")[0] for part in after)]
    read = [{k: v for k, _, v in (line.partition("=") for line in part.splitlines())} for part in parts]
    return read[0], read[1:]


def _lightgbm_slopes(sections: list[dict[str, str]], forest: Forest, scale: float) -> LeafSlopes | None:
    """The linear models in the leaves, which come last in every tree; None where there are none."""
    linear = [place for place, section in enumerate(sections) if section.get("is_linear", "0") != "0"]
    if not linear:
        return None
    written = {
        place: [np.array(sections[place].get(name, "").split(), dtype=np.float64) for name in LINEAR_MODEL] for place in linear
    }
    most = max(1, *(int(counts.max(initial=0)) for counts, *_ in written.values()))
    ends, nodes = np.append(forest.roots[1:], len(forest.feature)), len(forest.feature)
    slopes = LeafSlopes(np.zeros(nodes), np.full((nodes, most), -1), np.zeros((nodes, most)))
    for place, (counts, start, columns, weights) in written.items():
        leaves = np.arange(ends[place] - len(start), ends[place])
        leaf = np.repeat(leaves, counts.astype(np.int64))
        turn = np.arange(len(leaf)) - np.searchsorted(leaf, leaf)
        slopes.start[leaves] = start * scale
        slopes.column[leaf, turn] = columns
        slopes.weight[leaf, turn] = weights * scale
    return slopes


def _lightgbm_tree(section: dict[str, str], output: int, scale: float) -> Tree:
    """Inner nodes come first, then leaves; a child −1 − i is leaf i."""

    def numbers(name: str) -> FloatArray:
        return np.array(section.get(name, "").split(), dtype=np.float64)

    def whole(name: str) -> IntArray:
        return np.array(section.get(name, "").split(), dtype=np.int64)

    value = numbers("leaf_value") * scale
    if section.get("is_linear", "0") != "0":  # without columns a linear model is its constant, which may be another value
        value = np.where(whole("num_features") == 0, numbers("leaf_const") * scale, value)
    leaves, inner = len(value), len(value) - 1
    kind, threshold = whole("decision_type"), numbers("threshold")
    left, right = (np.where(c < 0, inner - 1 - c, c) for c in (whole(n) for n in ("left_child", "right_child")))
    missing, by_set = kind >> 2 & 3, (kind & 1).astype(bool)
    default_left = np.where(missing == 0, threshold >= 0, kind & 2 > 0) & ~by_set
    sets, bounds, words = {}, whole("cat_boundaries"), np.array(section.get("cat_threshold", "").split(), dtype=np.uint32)
    for node in np.flatnonzero(by_set):
        index = int(threshold[node])
        bits = words[bounds[index] : bounds[index + 1]].view(np.uint8)
        sets[int(node)] = np.append(np.unpackbits(bits, bitorder="little").astype(bool), False)
    counts = numbers("leaf_count") if leaves > 1 else np.ones(1)

    def pad(a: npt.NDArray[np.generic], fill: float) -> npt.NDArray[np.generic]:
        return np.concatenate([a, np.full(leaves, fill)]) if inner else np.full(1, fill)

    return Tree(
        pad(whole("split_feature"), -1),
        pad(threshold, 0.0),
        pad(left, 0),
        pad(right, 0),
        np.concatenate([np.zeros(inner), value]),
        np.concatenate([numbers("internal_count"), counts]),
        pad(default_left, False),
        pad((missing == 1) & ~by_set, False),
        sets,
        output,
    )
