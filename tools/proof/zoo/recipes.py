"""How each model is trained: one recipe per library, setting and table, with fixed seeds and one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from tools.proof.zoo.datasets import Table, table
from tools.proof.zoo.drawn import drawn
from tools.proof.zoo.odd import odd
from tools.proof.zoo.wider import wider

SEED = 0
REGRESSIONS = ("diabetes", "prices")
CLASSES = ("cancer", "rare", "gaps", "wine", "iris")
BINARY = ("cancer", "rare", "gaps")
LIBRARIES = ("xgboost", "lightgbm", "catboost", "scikit-learn")


@dataclass(frozen=True)
class Recipe:
    """A model to train: `train` is given the table."""

    library: str
    name: str  # of the settings, in words
    data: str  # the table's name
    train: Callable[[Table], Any]

    def __str__(self) -> str:
        return f"{self.library} {self.name} on {self.data}"

    def model(self) -> Any:
        """The trained model."""
        return self.train(table(self.data))


def recipes() -> list[Recipe]:
    """Every model of the zoo, library by library."""
    more = [Recipe(library, name, data, train) for library, name, data, train in (*wider(), *odd(), *drawn())]
    return [*_xgboost(), *_lightgbm(), *_catboost(), *_scikit(), *more]


def words(settings: dict[str, Any]) -> str:
    """Settings as a name.

    >>> words({"max_depth": 3, "booster": "dart"})
    'max_depth=3 booster=dart'
    """
    return " ".join(f"{k}={v}" for k, v in settings.items()) or "as it comes"


def _is_classes(name: str) -> bool:
    return name in CLASSES


# xgboost


def _xgb(settings: dict[str, Any], kind: str = "", weighted: bool = False, stop: bool = False) -> Callable[[Table], Any]:
    def train(data: Table) -> Any:
        import xgboost

        named = kind or ("XGBClassifier" if _is_classes(data.name) else "XGBRegressor")
        given = {"n_jobs": 1, "random_state": SEED, "enable_categorical": True} | settings
        more: dict[str, Any] = {"sample_weight": data.weight} if weighted else {}
        x, y = data.x, data.y
        if stop:
            cut = len(x) * 3 // 4
            more |= {"eval_set": [(x.iloc[cut:], y[cut:])], "verbose": False}
            x, y = x.iloc[:cut], y[:cut]
            given |= {"early_stopping_rounds": 10}
        if data.groups is not None:
            more |= {"qid": data.groups}
        return getattr(xgboost, named)(**given).fit(x, y, **more)

    return train


def _xgb_native(settings: dict[str, Any], rounds: int = 60) -> Callable[[Table], Any]:
    def train(data: Table) -> Any:
        import xgboost

        matrix = xgboost.DMatrix(data.x, data.y, enable_categorical=True)
        if settings["objective"] == "survival:cox":
            matrix.set_label(np.where(np.isinf(data.upper), -data.y, data.y))
        if settings["objective"] == "survival:aft":
            matrix.set_float_info("label_lower_bound", data.y)
            matrix.set_float_info("label_upper_bound", data.upper)
        return xgboost.train({"nthread": 1, "seed": SEED, **settings}, matrix, rounds)

    return train


def _xgboost() -> Iterator[Recipe]:
    def recipe(data: str, settings: dict[str, Any], note: str = "", **more: Any) -> Recipe:
        return Recipe("xgboost", f"{note} {words(settings)}".strip(), data, _xgb(settings, **more))

    for data, (depth, trees, rate) in product(
        (*REGRESSIONS, *CLASSES, "mixed"),
        ((1, 100, 0.3), (3, 100, 0.1), (6, 100, 0.3), (4, 300, 0.1), (6, 300, 0.05), (12, 50, 0.3)),
    ):
        yield recipe(data, {"max_depth": depth, "n_estimators": trees, "learning_rate": rate})
    for data, (depth, trees) in product(("diabetes", "prices", "rare", "gaps"), ((4, 1000), (6, 1000), (3, 2000))):
        yield recipe(data, {"max_depth": depth, "n_estimators": trees, "learning_rate": 0.05})
    for data in ("diabetes", "prices", "gaps", "iris", "mixed"):
        yield recipe(data, {"booster": "dart", "rate_drop": 0.1, "n_estimators": 60, "max_depth": 4})
        yield recipe(data, {"tree_method": "approx", "n_estimators": 100, "subsample": 0.7, "colsample_bytree": 0.7})
        yield recipe(data, {"grow_policy": "lossguide", "max_leaves": 20, "max_depth": 0, "n_estimators": 100})
        yield recipe(data, {"n_estimators": 500, "learning_rate": 0.1}, "early stopping", stop=True)
        yield recipe(data, {"n_estimators": 80, "reg_alpha": 1.0, "reg_lambda": 5.0}, "weighted", weighted=True)
    for data in ("diabetes", "prices", "rare", "iris"):
        yield recipe(data, {"booster": "gblinear", "n_estimators": 50})
        kind = "XGBRFClassifier" if _is_classes(data) else "XGBRFRegressor"
        yield recipe(data, {"n_estimators": 50, "max_depth": 6}, "random forest", kind=kind)
    for data in ("diabetes", "counts"):
        yield recipe(data, {"monotone_constraints": {str(table(data).x.columns[1]): 1}, "n_estimators": 100})
        yield recipe(data, {"base_score": 0.5, "n_estimators": 100})
    for objective in ("reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror"):
        for data in REGRESSIONS:
            alpha = {"quantile_alpha": 0.8} if objective == "reg:quantileerror" else {}
            yield recipe(data, {"objective": objective, "n_estimators": 100, **alpha})
    yield recipe("diabetes", {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9], "n_estimators": 60})
    linked = {"counts": "count:poisson", "amounts": "reg:gamma", "claims": "reg:tweedie"}
    for (data, objective), trees in product(linked.items(), (50, 300, 1000)):
        yield recipe(data, {"objective": objective, "n_estimators": trees, "learning_rate": 0.05})
    yield recipe("amounts", {"objective": "reg:squaredlogerror", "n_estimators": 100})
    for objective in ("rank:ndcg", "rank:pairwise", "rank:map"):
        more = {"objective": objective, "n_estimators": 100}
        if objective != "rank:map":
            yield recipe("queries", more, kind="XGBRanker")
    yield recipe("several", {"n_estimators": 60}, "three targets")
    yield recipe("several", {"n_estimators": 60, "multi_strategy": "multi_output_tree"}, "three targets")
    for data, settings in (
        ("survival", {"objective": "survival:cox"}),
        ("survival", {"objective": "survival:aft"}),
        ("rare", {"objective": "binary:logitraw"}),
        ("rare", {"objective": "binary:hinge"}),
        ("rare", {"objective": "reg:logistic"}),
        ("iris", {"objective": "multi:softmax", "num_class": 3}),
        ("wine", {"objective": "multi:softprob", "num_class": 3}),
        ("mixed", {"objective": "reg:squarederror", "max_cat_to_onehot": 1}),
    ):
        yield Recipe("xgboost", f"native {words(settings)}", data, _xgb_native(settings))


# lightgbm


def _lgb(settings: dict[str, Any], kind: str = "", weighted: bool = False, stop: bool = False) -> Callable[[Table], Any]:
    def train(data: Table) -> Any:
        import lightgbm

        named = kind or ("LGBMClassifier" if _is_classes(data.name) else "LGBMRegressor")
        given = {"n_jobs": 1, "random_state": SEED, "verbose": -1} | settings
        more: dict[str, Any] = {"sample_weight": data.weight} if weighted else {}
        x, y = data.x, data.y
        if stop:
            cut = len(x) * 3 // 4
            more |= {"eval_set": [(x.iloc[cut:], y[cut:])], "callbacks": [lightgbm.early_stopping(10, verbose=False)]}
            x, y = x.iloc[:cut], y[:cut]
        if data.groups is not None:
            more |= {"group": np.unique(data.groups, return_counts=True)[1]}
        return getattr(lightgbm, named)(**given).fit(x, y, **more)

    return train


def _lightgbm() -> Iterator[Recipe]:
    def recipe(data: str, settings: dict[str, Any], note: str = "", **more: Any) -> Recipe:
        return Recipe("lightgbm", f"{note} {words(settings)}".strip(), data, _lgb(settings, **more))

    for data, (leaves, trees, rate) in product(
        (*REGRESSIONS, *CLASSES, "mixed"), ((2, 100, 0.3), (7, 100, 0.1), (31, 100, 0.1), (15, 300, 0.05), (63, 30, 0.2))
    ):
        yield recipe(data, {"num_leaves": leaves, "n_estimators": trees, "learning_rate": rate})
    for data in ("diabetes", "prices", "rare"):
        yield recipe(data, {"n_estimators": 1000, "learning_rate": 0.02, "num_leaves": 8})
        yield recipe(data, {"boosting_type": "dart", "n_estimators": 60})
        yield recipe(data, {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1, "n_estimators": 50})
        yield recipe(data, {"data_sample_strategy": "goss", "n_estimators": 60})
        yield recipe(data, {"n_estimators": 400}, "early stopping", stop=True)
        yield recipe(data, {"n_estimators": 80, "reg_alpha": 1.0}, "weighted", weighted=True)
    for objective in ("regression_l1", "huber", "fair", "quantile", "mape"):
        yield recipe("diabetes", {"objective": objective, "n_estimators": 80})
    for data, objective in {"counts": "poisson", "amounts": "gamma", "claims": "tweedie"}.items():
        yield recipe(data, {"objective": objective, "n_estimators": 100})
    for data, objective in {"rare": "cross_entropy", "iris": "multiclassova"}.items():
        kind = "LGBMRegressor" if objective == "cross_entropy" else "LGBMClassifier"
        yield recipe(data, {"objective": objective, "n_estimators": 60}, kind=kind)
    for objective in ("lambdarank", "rank_xendcg"):
        yield recipe("queries", {"objective": objective, "n_estimators": 60}, kind="LGBMRanker")
    yield recipe("counts", {"monotone_constraints": [1, 0, 0, 0, 0, 0], "n_estimators": 80})
    yield recipe("prices", {"linear_tree": True, "n_estimators": 30})
    yield recipe("mixed", {"n_estimators": 100, "max_cat_to_onehot": 1, "min_data_per_group": 10, "cat_smooth": 1.0})


# catboost


def _cat(settings: dict[str, Any], kind: str = "", weighted: bool = False) -> Callable[[Table], Any]:
    def train(data: Table) -> Any:
        import catboost

        named = kind or ("CatBoostClassifier" if _is_classes(data.name) else "CatBoostRegressor")
        given = {"thread_count": 1, "random_seed": SEED, "verbose": False, "allow_writing_files": False} | settings
        categories = [str(c) for c in data.x.columns if data.x[c].dtype == "category"]
        pool = catboost.Pool(
            data.x, data.y, cat_features=categories, weight=data.weight if weighted else None, group_id=data.groups
        )
        return getattr(catboost, named)(**given).fit(pool)

    return train


def _catboost() -> Iterator[Recipe]:
    def recipe(data: str, settings: dict[str, Any], note: str = "", **more: Any) -> Recipe:
        return Recipe("catboost", f"{note} {words(settings)}".strip(), data, _cat(settings, **more))

    for data, (depth, trees) in product((*REGRESSIONS, *CLASSES), ((1, 50), (3, 100), (6, 60), (4, 300))):
        yield recipe(data, {"depth": depth, "iterations": trees})
    for data, policy in product(("diabetes", "prices", "gaps", "iris"), ("Depthwise", "Lossguide")):
        yield recipe(data, {"grow_policy": policy, "iterations": 60})
    yield recipe("prices", {"iterations": 1000, "depth": 4})
    yield recipe("rare", {"iterations": 1000, "depth": 4})
    for loss in ("MAE", "Quantile:alpha=0.8", "Huber:delta=1.0", "RMSEWithUncertainty", "LogCosh"):
        yield recipe("diabetes", {"loss_function": loss, "iterations": 60})
    for data, loss in {"counts": "Poisson", "claims": "Tweedie:variance_power=1.5", "amounts": "Poisson"}.items():
        yield recipe(data, {"loss_function": loss, "iterations": 100})
    yield recipe("survival", {"loss_function": "RMSE", "iterations": 60})
    yield recipe("several", {"loss_function": "MultiRMSE", "iterations": 60}, "three targets")
    yield recipe("iris", {"loss_function": "MultiClassOneVsAll", "iterations": 60})
    yield recipe("rare", {"loss_function": "CrossEntropy", "iterations": 60}, kind="CatBoostClassifier")
    for loss in ("YetiRank", "QueryRMSE"):
        yield recipe("queries", {"loss_function": loss, "iterations": 50}, kind="CatBoostRanker")
    yield recipe("mixed", {"iterations": 100, "one_hot_max_size": 10})
    yield recipe("mixed", {"iterations": 60}, "categories as they come")
    yield recipe("prices", {"monotone_constraints": [1, 0, 0, 0, 0, 0, 0], "iterations": 60})
    for data in ("diabetes", "gaps"):
        yield recipe(
            data,
            {"iterations": 60, "auto_class_weights": "Balanced"} if data == "gaps" else {"iterations": 60},
            "weighted",
            weighted=data == "diabetes",
        )


# scikit-learn


def _sk(make: Callable[[], Any], weighted: bool = False) -> Callable[[Table], Any]:
    def train(data: Table) -> Any:
        more = {"sample_weight": data.weight} if weighted else {}
        return make().fit(data.x, data.y, **more)

    return train


def _scikit() -> Iterator[Recipe]:
    def recipe(data: str, name: str, make: Callable[[], Any], **more: Any) -> Recipe:
        return Recipe("scikit-learn", name, data, _sk(make, **more))

    for data in (*REGRESSIONS, "rare", "iris", "wine"):
        for name, make in _alone("Classifier" if _is_classes(data) else "Regressor"):
            yield recipe(data, name, make)
    for data in ("gaps", "mixed"):
        for name, make in _with_gaps("Classifier" if _is_classes(data) else "Regressor"):
            yield recipe(data, name, make)
    for data, name, make in (*_others(), *_machines(), *_densities(), *_means()):
        yield recipe(data, name, make)
    yield recipe("diabetes", "RandomForestRegressor, weighted", _forest_of_values, weighted=True)


def _forest_of_values() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(50, max_depth=6, random_state=SEED)


def _alone(kind: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Trees, sums of trees and what is made of several models, for numbers without gaps."""
    from sklearn import ensemble, linear_model, pipeline, preprocessing, tree

    def get(module: Any, name: str) -> Any:
        return getattr(module, name + kind)

    settings = {"random_state": SEED}
    for depth in (1, 5, None):
        yield f"DecisionTree max_depth={depth}", lambda depth=depth: get(tree, "DecisionTree")(max_depth=depth, **settings)
    yield "ExtraTree", lambda: get(tree, "ExtraTree")(max_depth=8, **settings)
    for name, (trees, depth) in product(("RandomForest", "ExtraTrees"), ((30, None), (100, 5), (200, 3))):
        yield (
            f"{name} {trees} trees max_depth={depth}",
            lambda name=name, trees=trees, depth=depth: get(ensemble, name)(trees, max_depth=depth, **settings),
        )
    for trees, depth in ((100, 3), (300, 2), (50, 6)):
        yield (
            f"GradientBoosting {trees} trees max_depth={depth}",
            lambda trees=trees, depth=depth: get(ensemble, "GradientBoosting")(n_estimators=trees, max_depth=depth, **settings),
        )
    yield "HistGradientBoosting", lambda: get(ensemble, "HistGradientBoosting")(max_iter=80, **settings)
    yield (
        "HistGradientBoosting early stopping",
        lambda: get(ensemble, "HistGradientBoosting")(max_iter=300, early_stopping=True, **settings),
    )
    yield "Bagging of trees", lambda: get(ensemble, "Bagging")(n_estimators=15, **settings)
    yield "AdaBoost", lambda: get(ensemble, "AdaBoost")(n_estimators=20, **settings)
    linear = linear_model.LogisticRegression(max_iter=500) if kind == "Classifier" else linear_model.Ridge()
    members = [("forest", get(ensemble, "RandomForest")(20, max_depth=4, **settings)), ("line", linear)]
    scaled = [(name, pipeline.make_pipeline(preprocessing.StandardScaler(), member)) for name, member in members]
    soft = {"voting": "soft"} if kind == "Classifier" else {}
    yield "Voting", lambda: get(ensemble, "Voting")(scaled, **soft)
    yield "Stacking", lambda: get(ensemble, "Stacking")(scaled, cv=3)
    yield "Pipeline scaler → linear", lambda: pipeline.make_pipeline(preprocessing.StandardScaler(), linear)
    yield "Pipeline scaler → forest", lambda: scaled[0][1]


def _with_gaps(kind: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What takes words and gaps, by itself or behind a pipeline."""
    from sklearn import compose, ensemble, impute, pipeline, preprocessing

    settings = {"random_state": SEED}
    grown = getattr(ensemble, "HistGradientBoosting" + kind)
    yield "HistGradientBoosting", lambda: grown(max_iter=80, categorical_features="from_dtype", **settings)
    yield "HistGradientBoosting deep", lambda: grown(max_iter=40, max_leaf_nodes=63, min_samples_leaf=3, **settings)
    for name in ("RandomForest", "GradientBoosting"):
        before = compose.make_column_transformer(
            (preprocessing.OneHotEncoder(handle_unknown="ignore"), compose.make_column_selector(dtype_include="category")),
            (impute.SimpleImputer(), compose.make_column_selector(dtype_include="number")),
        )
        yield (
            f"Pipeline columns → {name}",
            lambda name=name, before=before: pipeline.make_pipeline(
                before, getattr(ensemble, name + kind)(n_estimators=40, max_depth=4, **settings)
            ),
        )


def _others() -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Losses, calibration, several outputs, outliers, linear models and models without any known form."""
    from sklearn import calibration, ensemble, linear_model, multioutput, naive_bayes, neighbors, svm

    grown = ensemble.HistGradientBoostingRegressor
    for data, loss in {"counts": "poisson", "amounts": "gamma", "diabetes": "absolute_error"}.items():
        yield data, f"HistGradientBoosting loss={loss}", lambda loss=loss: grown(loss=loss, max_iter=80, random_state=SEED)
    for quantile in (0.1, 0.9):
        yield (
            "diabetes",
            f"HistGradientBoosting quantile={quantile}",
            lambda quantile=quantile: grown(loss="quantile", quantile=quantile, max_iter=80, random_state=SEED),
        )
    for loss in ("absolute_error", "huber", "quantile"):
        yield (
            "diabetes",
            f"GradientBoosting loss={loss}",
            lambda loss=loss: ensemble.GradientBoostingRegressor(loss=loss, random_state=SEED),
        )
    yield "prices", "HistGradientBoosting monotone", lambda: grown(monotonic_cst={"c0": 1}, max_iter=80, random_state=SEED)
    forest = ensemble.RandomForestClassifier(20, max_depth=4, random_state=SEED)
    for method in ("isotonic", "sigmoid"):
        yield (
            "rare",
            f"calibrated {method}",
            lambda method=method: calibration.CalibratedClassifierCV(forest, method=method, cv=3),
        )
    yield "several", "RandomForest, three targets", _forest_of_values
    yield (
        "several",
        "MultiOutput",
        lambda: multioutput.MultiOutputRegressor(ensemble.GradientBoostingRegressor(n_estimators=20)),
    )
    for data in ("diabetes", "rare"):
        yield data, "IsolationForest", lambda: ensemble.IsolationForest(n_estimators=50, random_state=SEED)
    yield "counts", "PoissonRegressor", linear_model.PoissonRegressor
    yield "amounts", "GammaRegressor", linear_model.GammaRegressor
    yield "claims", "TweedieRegressor", lambda: linear_model.TweedieRegressor(power=1.5)
    yield "diabetes", "Lasso", lambda: linear_model.Lasso(alpha=0.1)
    yield "prices", "QuantileRegressor", lambda: linear_model.QuantileRegressor(quantile=0.8, alpha=0)
    yield "iris", "LogisticRegression", lambda: linear_model.LogisticRegression(max_iter=1000)
    yield "iris", "GaussianNB", naive_bayes.GaussianNB
    yield "counts", "KNeighbors", lambda: neighbors.KNeighborsRegressor(5)
    yield "iris", "SVC", lambda: svm.SVC(probability=False)


def _scaled(last: Any) -> Any:
    from sklearn import pipeline, preprocessing

    return pipeline.make_pipeline(preprocessing.StandardScaler(), last)


def _machines() -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Kernel machines, Gaussian processes, and linear models of features."""
    from sklearn import gaussian_process, kernel_approximation, kernel_ridge, linear_model, pipeline, preprocessing, svm

    kernels = gaussian_process.kernels
    for data, kernel in product(("diabetes", "prices", "counts"), ("rbf", "poly", "sigmoid", "linear")):
        yield data, f"SVR {kernel}", lambda kernel=kernel: _scaled(svm.SVR(kernel=kernel, C=10))
    for data, gamma in product(("rare", "cancer"), ("scale", 0.01, 1.0)):
        yield data, f"SVC gamma={gamma}", lambda gamma=gamma: _scaled(svm.SVC(gamma=gamma))
    yield "diabetes", "SVR without a scaler", lambda: svm.SVR(C=100)
    yield "diabetes", "NuSVR", lambda: _scaled(svm.NuSVR())
    yield "rare", "NuSVC", lambda: _scaled(svm.NuSVC(nu=0.05))
    for data in ("diabetes", "iris"):
        yield data, "OneClassSVM", lambda: svm.OneClassSVM(nu=0.1)
    for data in ("iris", "wine"):
        yield data, "SVC pairs of classes", lambda: svm.SVC(decision_function_shape="ovo")
    for kernel in ("rbf", "laplacian", "linear", "polynomial", "cosine"):
        yield "diabetes", f"KernelRidge {kernel}", lambda kernel=kernel: _scaled(kernel_ridge.KernelRidge(kernel=kernel))
    processes = {
        "RBF": kernels.RBF() + kernels.WhiteKernel(),
        "ARD": 1.0 * kernels.RBF([1.0] * 6) + kernels.WhiteKernel(),
        "sum": 1.0 * kernels.RBF(0.5) + 2.0 * kernels.RBF(5.0) + kernels.DotProduct() + kernels.WhiteKernel(),
        "Matern": kernels.Matern() + kernels.WhiteKernel(),
    }
    for name, kernel in processes.items():
        process = gaussian_process.GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)
        yield "amounts", f"GaussianProcess {name}", lambda process=process: process
    for name, features in {
        "RBFSampler": kernel_approximation.RBFSampler(gamma=0.1, random_state=SEED),
        "Nystroem": kernel_approximation.Nystroem(gamma=0.1, random_state=SEED, n_components=50),
        "PolynomialFeatures": preprocessing.PolynomialFeatures(2),
    }.items():
        for data in ("diabetes", "counts"):
            last = pipeline.make_pipeline(preprocessing.StandardScaler(), features, linear_model.Ridge())
            yield data, f"{name} → Ridge", lambda last=last: last


def _densities() -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Naive Bayes of two and of several classes, log links behind a scaler, neighbours."""
    from sklearn import linear_model, naive_bayes, neighbors

    for data in ("rare", "cancer", "wine"):
        yield data, "GaussianNB", naive_bayes.GaussianNB
        yield data, "BernoulliNB", naive_bayes.BernoulliNB
    yield "wine", "MultinomialNB", naive_bayes.MultinomialNB
    yield "cancer", "ComplementNB", naive_bayes.ComplementNB
    yield "counts", "scaler → PoissonRegressor", lambda: _scaled(linear_model.PoissonRegressor())
    yield "amounts", "scaler → TweedieRegressor", lambda: _scaled(linear_model.TweedieRegressor(power=2))
    for data in ("rare", "iris"):
        yield data, "KNeighborsClassifier by distance", lambda: neighbors.KNeighborsClassifier(5, weights="distance")
    yield "diabetes", "KNeighborsRegressor by distance", lambda: neighbors.KNeighborsRegressor(7, weights="distance")


def _means() -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Bagging and voting of models of different kinds."""
    from sklearn import ensemble, linear_model, svm, tree

    settings = {"random_state": SEED}
    for data in REGRESSIONS:
        yield data, "Bagging of SVR", lambda: ensemble.BaggingRegressor(_scaled(svm.SVR()), 5, **settings)
        yield data, "Bagging of columns", lambda: ensemble.BaggingRegressor(n_estimators=9, max_features=0.5, **settings)
        members = [
            ("bells", _scaled(svm.SVR(C=10))),
            ("line", linear_model.Ridge()),
            ("tree", tree.DecisionTreeRegressor(max_depth=5, **settings)),
        ]
        yield data, "Voting of three kinds", lambda members=members: ensemble.VotingRegressor(members, weights=[1, 2, 1])
    yield "rare", "Bagging of SVC", lambda: ensemble.BaggingClassifier(svm.SVC(), 5, **settings)
    trees = [("forest", ensemble.RandomForestClassifier(9, **settings)), ("tree", tree.DecisionTreeClassifier(max_depth=4))]
    for data in ("iris", "rare"):
        yield data, "Voting of trees", lambda: ensemble.VotingClassifier(trees, voting="soft")
