"""Trees of scikit-learn: single trees, forests, extra trees, gradient boosting and histogram boosting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.checks.numbers import a_type
from accredit.core import FloatArray, IntArray
from accredit.models.rows import path_lengths, scikit_has_log_link, usual_path_length
from accredit.models.survival import SurvivalCurves
from accredit.trees.forest import Forest, Tree
from accredit.trees.reading.ensemble import Ensemble, NotTrees, column_names, number, plain_rows, trust

if TYPE_CHECKING:
    import pandas
    import sklearn.base
    import sklearn.tree
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    from accredit.models.row_types import Table

SINGLE = ("DecisionTree", "ExtraTree")
AVERAGED = ("RandomForest", "ExtraTrees")
SURVIVAL = ("RandomSurvivalForest", "ExtraSurvivalTrees", "SurvivalTree", "ExtraSurvivalTree")


WHY = {  # usual models that add up nothing which has a closed form
    "AdaBoostRegressor": "AdaBoostRegressor predicts the weighted median of its trees, which is not a sum of them",
    "CalibratedClassifierCV": "CalibratedClassifierCV bends scores into chances, and curves of sums are not sums",
    "StackingClassifier": "StackingClassifier gives chances of its members to another classifier",
    "RegressorChain": "RegressorChain gives what it predicts for one target to the model of the next",
    "GaussianProcessClassifier": "GaussianProcessClassifier gives chances by an integral over its scores",
    "MLPClassifier": "MLPClassifier is a network, whose layers mix all columns",
    "MLPRegressor": "MLPRegressor is a network, whose layers mix all columns",
    "OneVsOneClassifier": "OneVsOneClassifier counts the votes of pairs of classes, which are steps and not a sum",
    "NearestCentroid": "NearestCentroid compares distances to centroids, which are roots of sums over the columns",
    "LocalOutlierFactor": "LocalOutlierFactor divides densities of neighbours, which are found by comparing sums",
}


def read_scikit(model: sklearn.base.BaseEstimator) -> Ensemble:
    """The ensemble of a fitted scikit-learn estimator."""
    name = type(model).__name__
    family = name.removesuffix("Classifier").removesuffix("Regressor")
    if not hasattr(model, "n_features_in_"):
        raise NotTrees(f"{name} is not fitted; call fit first", code="not-fitted")
    if family in SINGLE:
        return _average(model, [model])
    if family in AVERAGED:
        return _average(model, list(model.estimators_))
    if family == "GradientBoosting":
        return _boost(model)
    if family == "HistGradientBoosting":
        return _histogram(model)
    if name == "IsolationForest":
        return _isolate(model)
    if name == "AdaBoostClassifier":
        return _vote(model)
    raise NotTrees(WHY.get(name, f"{name} is not a tree ensemble that can be read"))


def _arrays(tree: sklearn.tree._tree.Tree, value: FloatArray, output: int = 0) -> Tree:
    return Tree(
        np.where(tree.children_left < 0, -1, tree.feature),
        tree.threshold,
        tree.children_left,
        tree.children_right,
        value,
        tree.weighted_n_node_samples,
        getattr(tree, "missing_go_to_left", None),
        output=output,
    )


def _average(model: sklearn.base.BaseEstimator, members: list[sklearn.tree.BaseDecisionTree]) -> Ensemble:
    """One tree, or the mean of several: class shares or values."""
    source, classes = type(model).__name__, getattr(model, "classes_", None)
    if isinstance(classes, list):
        raise NotTrees(f"{source} has {len(classes)} targets of several classes each; fit one model per target")
    trees = []
    for member in members:
        value = member.tree_.value[:, 0, :] if classes is not None else member.tree_.value[:, :, 0]
        if classes is not None:
            value = value / value.sum(axis=1, keepdims=True)
        trees.append(_arrays(member.tree_, value / len(members)))
    width = np.shape(trees[0].value)[1]
    labels = tuple(map(str, classes)) if classes is not None else tuple(map(str, range(width)))
    forest = Forest.of(trees, model.n_features_in_, np.zeros(width), single=True, source=source)
    payoff, own = ("probability", "predict_proba") if classes is not None else ("value", "predict")
    return _of(model, forest, labels if classes is not None or width > 1 else ("value",), payoff, getattr(model, own))


def read_survival_curves(curves: SurvivalCurves) -> Ensemble:
    """Survival trees of scikit-survival: every leaf holds a curve, and a forest is their mean. Their trees are those of
    scikit-learn, with the cumulative hazard and the survival at every time of the training rows as values."""
    if curves.known is None:
        raise NotTrees(f"{type(curves.model).__name__} does not name the times of its training rows")
    place = np.searchsorted(curves.known, curves.times, side="right") - 1  # a curve is constant up to the next time
    which = 1 if curves.curve == "survival" else 0

    def values(member: Any) -> FloatArray:
        if member.low_memory:
            raise NotTrees(f"{type(curves.model).__name__} keeps no curves in its leaves; fit it without low_memory")
        return np.asarray(member.tree_.value[:, place, which])

    forest = _survivors(curves.model, values)
    return _of(curves.model, forest, curves.labels, "value", curves.predict)


def read_survival(model: sklearn.base.BaseEstimator) -> Ensemble:
    """Models of scikit-survival by the risk they predict: the sum of the cumulative hazard over the times of events, or, of
    boosted trees, the logarithm of the hazard ratio."""
    if type(model).__name__ == "GradientBoostingSurvivalAnalysis" and hasattr(model, "estimators_"):
        if model.loss != "coxph":
            raise NotTrees(f"{type(model).__name__} with loss={model.loss!r} predicts the exponential of a sum of trees")
        return _boost(model)

    def values(member: Any) -> FloatArray:
        kept = member.tree_.value
        return np.asarray(kept[:, :, 0] if member.low_memory else kept[:, member.is_event_time_, 0].sum(axis=1, keepdims=True))

    return _of(model, _survivors(model, values), ("value",), "value", model.predict)


def _survivors(model: Any, values: Callable[[Any], FloatArray]) -> Forest:
    """The mean of survival trees, with values (nodes, outputs) that each of them gives."""
    name = type(model).__name__
    if name not in SURVIVAL:
        raise NotTrees(f"{name} is not made of survival trees that can be read; {', '.join(SURVIVAL)} are")
    members = list(getattr(model, "estimators_", (model,)))
    if not hasattr(members[0], "tree_"):
        raise NotTrees(f"{name} is not fitted; call fit first", code="not-fitted")
    trees = [_arrays(member.tree_, values(member) / len(members)) for member in members]
    return Forest.of(trees, model.n_features_in_, np.zeros(np.shape(trees[0].value)[1]), single=True, source=name)


def _of(
    model: sklearn.base.BaseEstimator,
    forest: Forest,
    labels: tuple[str, ...],
    payoff: str,
    own: Callable[[Table], object],
    probed: bool = True,
) -> Ensemble:
    """The ensemble around a forest whose rows need no encoding."""
    columns = column_names(model, forest.features)

    def raw(rows: Table) -> FloatArray:
        named = rows if hasattr(rows, "iloc") or columns is None else _frame(rows, columns)
        given = np.asarray(trust(lambda: own(named), forest.source), dtype=np.float64)
        return given.reshape(len(rows), -1)

    takes_missing = _allows_missing(model)
    encode = plain_rows(columns, forest.features, forest.source)
    names = columns or number(forest.features)
    return Ensemble(forest, names, labels, payoff, encode, raw, raw if probed else None, takes_missing, slow=True)


def _frame(rows: Table, columns: tuple[str, ...]) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame(np.asarray(rows), columns=list(columns))


def _allows_missing(model: sklearn.base.BaseEstimator) -> bool:
    from sklearn.utils import get_tags

    return bool(get_tags(model).input_tags.allow_nan)


def _boost(model: sklearn.base.BaseEstimator) -> Ensemble:
    """Gradient boosting: learning rate times the trees of each stage, after a constant start."""
    source, stages = type(model).__name__, model.estimators_  # (stages, outputs)
    init = getattr(model, "init_", None)
    if init is not None and not (isinstance(init, str) or type(init).__name__.startswith("Dummy")):
        raise NotTrees(f"{source} starts from {type(init).__name__}, which is not a constant; leave init out")
    outputs = stages.shape[1]
    rates = model.learning_rate * np.asarray(getattr(model, "_scale", np.ones(len(stages))))  # dropout scales stages
    trees = [
        _arrays(member.tree_, member.tree_.value[:, 0, 0] * rate, output)
        for stage, rate in zip(stages, rates, strict=True)
        for output, member in enumerate(stage)
    ]
    forest = Forest.of(trees, model.n_features_in_, np.zeros(outputs), single=True, source=source)
    own = model.decision_function if hasattr(model, "classes_") else model.predict
    return _with_base(_of(model, forest, _labels(model, outputs), "margin" if hasattr(model, "classes_") else "value", own))


def _isolate(model: sklearn.base.BaseEstimator) -> Ensemble:
    """An isolation forest by the depth at which it finds a row, the mean over its trees. Its score is a power of it."""
    trees = []
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        grown = member.tree_
        beyond = np.array([usual_path_length(int(rows)) for rows in grown.n_node_samples])
        found = _arrays(grown, (grown.compute_node_depths() - 1 + beyond) / len(model.estimators_))
        inner = np.asarray(found.feature) >= 0
        trees.append(replace(found, feature=np.where(inner, np.asarray(columns)[np.where(inner, found.feature, 0)], -1)))
    forest = Forest.of(trees, model.n_features_in_, np.zeros(1), single=True, source="IsolationForest")
    return _of(model, forest, ("value",), "path length", lambda rows: path_lengths(model, rows))


def _vote(model: sklearn.base.BaseEstimator) -> Ensemble:
    """AdaBoost of trees: the class that each leaf predicts gets the weight of its tree, the others lose it in equal parts."""
    members, classes = list(model.estimators_), np.asarray(model.classes_)
    if not all(type(member).__name__ in ("DecisionTreeClassifier", "ExtraTreeClassifier") for member in members):
        raise NotTrees(f"AdaBoostClassifier counts votes of {a_type(members[0])}, which are steps and not a sum")
    weights = np.asarray(model.estimator_weights_, dtype=np.float64)[: len(members)]
    trees = []
    for member, weight in zip(members, weights / weights.sum(), strict=True):
        chosen = np.asarray(member.classes_)[member.tree_.value[:, 0, :].argmax(axis=1)]
        votes = np.where(chosen[:, None] == classes, weight, -weight / (len(classes) - 1))
        trees.append(_arrays(member.tree_, votes if len(classes) > 2 else votes[:, 1:] - votes[:, :1]))
    outputs = len(classes) if len(classes) > 2 else 1
    forest = Forest.of(trees, model.n_features_in_, np.zeros(outputs), single=True, source="AdaBoostClassifier")
    return _of(model, forest, _labels(model, outputs), "margin", model.decision_function)


def _labels(model: sklearn.base.BaseEstimator, outputs: int) -> tuple[str, ...]:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return ("value",)
    return tuple(map(str, classes if outputs > 1 else classes[1:]))


def _with_base(read: Ensemble) -> Ensemble:
    """The constant start is what the model says beyond its trees on one row; the check then tries it on many."""
    row = np.zeros((1, read.forest.features))
    base = read.raw(row)[0] - read.forest.margin(row)[0]
    return replace(read, forest=replace(read.forest, base=base))


def _histogram(model: sklearn.base.BaseEstimator) -> Ensemble:
    """Histogram boosting: its own arrays, with missing directions and sets of category codes."""
    source, classes = type(model).__name__, getattr(model, "classes_", None)
    logs = scikit_has_log_link(model)
    columns = column_names(model, model.n_features_in_)
    place = _places(model)
    trees = [_histogram_tree(predictor, place, output) for stage in model._predictors for output, predictor in enumerate(stage)]
    base = np.ravel(model._baseline_prediction)
    forest = Forest.of(trees, model.n_features_in_, base, source=source)
    plain = plain_rows(columns, model.n_features_in_, source)

    def encode(rows: Table) -> FloatArray:
        if model._preprocessor is None:
            return plain(rows)
        coded = trust(lambda: model._preprocess_X(rows, reset=False), source)
        return np.asarray(coded, dtype=np.float64)[:, np.argsort(place)]

    def own(rows: Table) -> FloatArray:
        if classes is not None:
            return np.asarray(model.decision_function(rows))
        return np.log(model.predict(rows)) if logs else np.asarray(model.predict(rows))

    payoff = "margin" if classes is not None else "log of the value" if logs else "value"
    read = _of(model, forest, _labels(model, len(base)), payoff, own, probed=model._preprocessor is None)
    return Ensemble(forest, read.columns, read.outputs, payoff, encode, read.raw, read.probe)


def _places(model: sklearn.base.BaseEstimator) -> IntArray:
    """The input column of each column that the trees see: the encoder puts categories first."""
    if model._preprocessor is None:
        return np.arange(model.n_features_in_)
    categorical = np.asarray(model.is_categorical_, dtype=bool)
    return np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])


def _histogram_tree(predictor: TreePredictor, place: IntArray, output: int) -> Tree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    sets = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf):
        words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        members = np.unpackbits(words.view(np.uint8), bitorder="little").astype(bool)
        sets[int(node)] = np.append(members, bool(nodes["missing_go_to_left"][node]))
    return Tree(
        np.where(leaf, -1, place[nodes["feature_idx"]]),
        nodes["num_threshold"],
        nodes["left"],
        nodes["right"],
        nodes["value"],
        nodes["count"],
        nodes["missing_go_to_left"],
        sets=sets,
        output=output,
    )
