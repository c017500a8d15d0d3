"""More recipes: settings, wrappers and chains of steps that people use and that nothing here was written for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tools.proof.zoo.datasets import Table

SEED = 0
Train = Callable[[Table], Any]
Made = tuple[str, str, Train]  # table, name, how it is trained


def wider() -> Iterator[tuple[str, str, str, Train]]:
    """Library, name, table and training of each of them."""
    for library, made in (
        ("xgboost", (*_xgboost(), *_xgboost_native())),
        ("lightgbm", (*_lightgbm(), *_lightgbm_native())),
        ("catboost", tuple(_catboost())),
        ("scikit-learn", (*_trees(), *_wrappers(), *_chains(), *_columns(), *_smooth(), *_linear(), *_boosters_inside())),
    ):
        for data, name, train in made:
            yield library, name, data, train


def _fit(make: Callable[[], Any], **more: Any) -> Train:
    return lambda data: make().fit(data.x, data.y, **more)


# xgboost


def _xgboost() -> Iterator[Made]:
    import xgboost

    given = {"n_jobs": 1, "random_state": SEED, "n_estimators": 40, "enable_categorical": True}

    def regressor(data: str, **settings: Any) -> Made:
        return data, f"wider {settings}", _fit(lambda: xgboost.XGBRegressor(**given | settings))

    def classifier(data: str, **settings: Any) -> Made:
        return data, f"wider {settings}", _fit(lambda: xgboost.XGBClassifier(**given | settings))

    yield regressor("prices", num_parallel_tree=4, subsample=0.6, colsample_bynode=0.5)
    yield regressor("diabetes", booster="dart", normalize_type="forest", sample_type="weighted", rate_drop=0.2, skip_drop=0.3)
    yield regressor("diabetes", booster="dart", one_drop=1, rate_drop=0.5)
    yield regressor("mixed", max_cat_to_onehot=1, max_cat_threshold=2)
    yield regressor("mixed", max_cat_to_onehot=20)
    yield regressor("mixed", grow_policy="lossguide", max_leaves=9, max_depth=0, max_cat_to_onehot=2)
    yield regressor("prices", grow_policy="lossguide", max_leaves=31, max_depth=0, base_score=1e5)
    yield regressor("counts", objective="count:poisson", base_score=3.0, max_delta_step=0.7)
    yield regressor("diabetes", objective="reg:quantileerror", quantile_alpha=[0.05, 0.95], multi_strategy="multi_output_tree")
    yield regressor("several", num_parallel_tree=3, subsample=0.7)
    yield regressor("several", multi_strategy="multi_output_tree", max_depth=2, num_parallel_tree=1)
    yield regressor("several", booster="dart", rate_drop=0.3)
    yield regressor("amounts", objective="reg:gamma", base_score=50.0)
    yield regressor("claims", objective="reg:tweedie", tweedie_variance_power=1.2)
    yield regressor("diabetes", objective="reg:absoluteerror", booster="dart", rate_drop=0.2)
    yield regressor("diabetes", interaction_constraints=[["age", "sex", "bmi"], ["bp", "s1", "s2"]], max_depth=5)
    yield regressor("diabetes", max_bin=8, gamma=50.0, min_child_weight=30)
    yield regressor("diabetes", n_estimators=1, max_depth=1)
    yield regressor("diabetes", n_estimators=3, max_depth=0)
    yield regressor("diabetes", learning_rate=0.0)
    yield regressor("gaps", missing=np.nan, objective="reg:squarederror")
    yield regressor("diabetes", tree_method="exact", max_depth=5, enable_categorical=False)
    yield classifier("rare", scale_pos_weight=20.0)
    yield classifier("rare", objective="binary:hinge")
    yield classifier("rare", base_score=0.04)
    yield classifier("iris", num_parallel_tree=3, subsample=0.8)
    yield classifier("iris", booster="dart", rate_drop=0.3)
    yield classifier("wine", objective="multi:softmax")
    yield classifier("gaps", num_parallel_tree=2, booster="dart", rate_drop=0.1, subsample=0.9)
    yield classifier("iris", booster="gblinear", feature_selector="cyclic")
    yield classifier("gaps", booster="gblinear")
    yield classifier("rare", objective="reg:logistic")
    yield "rare", "wider random forest of several rounds", _fit(lambda: xgboost.XGBRFClassifier(n_estimators=30, n_jobs=1))
    yield (
        "counts",
        "wider own objective",
        _fit(lambda: xgboost.XGBRegressor(objective=_squares, **_without(given, "enable_categorical"))),
    )
    yield "rare", "wider labels that are words", lambda data: _words_as_labels(xgboost.XGBClassifier(**given), data)
    yield "diabetes", "wider eval_set and best_iteration of a short run", _stopped_xgboost


def _without(settings: dict[str, Any], name: str) -> dict[str, Any]:
    return {k: v for k, v in settings.items() if k != name}


def _squares(y: Any, said: Any) -> tuple[Any, Any]:
    return said - y, np.ones_like(y)


def _words_as_labels(model: Any, data: Table) -> Any:
    return model.fit(data.x, data.y)


def _stopped_xgboost(data: Table) -> Any:
    import xgboost

    cut = len(data.x) // 2
    model = xgboost.XGBRegressor(
        n_estimators=400, learning_rate=0.3, early_stopping_rounds=3, n_jobs=1, num_parallel_tree=2, subsample=0.5
    )
    return model.fit(data.x.iloc[:cut], data.y[:cut], eval_set=[(data.x.iloc[cut:], data.y[cut:])], verbose=False)


def _xgboost_native() -> Iterator[Made]:
    def native(data: str, rounds: int = 40, stop: bool = False, **settings: Any) -> Made:
        return data, f"wider native {settings} stop={stop}", lambda d: _train_xgboost(d, settings, rounds, stop)

    yield native("diabetes", objective="reg:squarederror", base_score=150.0)
    yield native("diabetes", 300, True, objective="reg:squarederror", eta=0.3)
    yield native("iris", objective="multi:softprob", num_class=3, num_parallel_tree=2)
    yield native("survival", objective="survival:aft", aft_loss_distribution="logistic", aft_loss_distribution_scale=0.7)
    yield native("survival", objective="survival:cox", booster="gblinear")
    yield native("mixed", objective="reg:squarederror", max_cat_to_onehot=1, booster="dart", rate_drop=0.2)
    yield native("rare", objective="binary:logistic", base_score=0.02)
    yield native("several", objective="reg:squarederror", multi_strategy="multi_output_tree")
    yield native("several", objective="reg:pseudohubererror")
    yield native("counts", objective="count:poisson", num_parallel_tree=3, subsample=0.5)


def _train_xgboost(data: Table, settings: dict[str, Any], rounds: int, stop: bool) -> Any:
    import xgboost

    cut = len(data.x) * 3 // 4 if stop else len(data.x)
    matrix = xgboost.DMatrix(data.x.iloc[:cut], data.y[:cut], enable_categorical=True)
    if settings["objective"] == "survival:cox":
        matrix.set_label(np.where(np.isinf(data.upper), -data.y, data.y))
    if settings["objective"] == "survival:aft":
        matrix.set_float_info("label_lower_bound", data.y)
        matrix.set_float_info("label_upper_bound", data.upper)
    more: dict[str, Any] = {}
    if stop:
        more = {
            "evals": [(xgboost.DMatrix(data.x.iloc[cut:], data.y[cut:]), "held")],
            "early_stopping_rounds": 5,
            "verbose_eval": False,
        }
    return xgboost.train({"nthread": 1, "seed": SEED, **settings}, matrix, rounds, **more)


# lightgbm


def _lightgbm() -> Iterator[Made]:
    import lightgbm

    given = {"n_jobs": 1, "random_state": SEED, "verbose": -1, "n_estimators": 40}

    def regressor(data: str, **settings: Any) -> Made:
        return data, f"wider {settings}", _fit(lambda: lightgbm.LGBMRegressor(**given | settings))

    def classifier(data: str, **settings: Any) -> Made:
        return data, f"wider {settings}", _fit(lambda: lightgbm.LGBMClassifier(**given | settings))

    yield regressor("prices", extra_trees=True, extra_seed=3)
    yield regressor("mixed", extra_trees=True)
    yield regressor("mixed", zero_as_missing=True)
    yield classifier("gaps", zero_as_missing=True)
    yield classifier("gaps", use_missing=False)
    yield regressor("mixed", use_missing=False)
    yield regressor("claims", objective="tweedie", tweedie_variance_power=1.3)
    yield regressor("amounts", objective="gamma", boosting_type="dart")
    yield regressor("counts", objective="poisson", boosting_type="rf", bagging_freq=1, bagging_fraction=0.6)
    yield regressor("prices", objective="mape")
    yield regressor("diabetes", objective="fair")
    yield regressor("diabetes", objective="quantile", alpha=0.2)
    yield regressor("rare", objective="cross_entropy")
    yield regressor("rare", objective="cross_entropy_lambda")
    yield regressor("diabetes", objective="regression", reg_sqrt=True)
    yield regressor("prices", linear_tree=True, num_leaves=5)
    yield regressor("gaps", linear_tree=True, objective="regression")
    yield regressor("diabetes", path_smooth=10.0, num_leaves=15)
    yield regressor("diabetes", boosting_type="dart", drop_rate=0.5, uniform_drop=True, xgboost_dart_mode=True)
    yield regressor("diabetes", data_sample_strategy="goss")
    yield regressor("diabetes", min_data_in_leaf=300)
    yield regressor("mixed", max_cat_threshold=2, cat_l2=0.1, min_data_per_group=5)
    yield classifier("rare", is_unbalance=True)
    yield classifier("rare", boosting_type="rf", bagging_freq=1, bagging_fraction=0.6)
    yield classifier("iris", objective="multiclassova")
    yield classifier("iris", boosting_type="rf", bagging_freq=1, bagging_fraction=0.6)
    yield classifier("wine", boosting_type="dart")
    yield classifier("rare", sigmoid=2.0)
    yield classifier("rare", class_weight="balanced")
    yield (
        "diabetes",
        "wider init_score",
        lambda d: lightgbm.LGBMRegressor(**given).fit(d.x, d.y, init_score=np.full(len(d.x), 100.0)),
    )
    yield "mixed", "wider words as codes, categorical_feature", _coded_lightgbm
    yield "diabetes", "wider own objective", _fit(lambda: lightgbm.LGBMRegressor(**given, objective=_squares))


def _coded_lightgbm(data: Table) -> Any:
    import lightgbm

    return lightgbm.LGBMRegressor(n_estimators=40, n_jobs=1, verbose=-1, min_data_per_group=5).fit(
        data.x, data.y, categorical_feature=["town", "plan", "years"]
    )


def _lightgbm_native() -> Iterator[Made]:
    def native(data: str, refit: bool = False, **settings: Any) -> Made:
        return data, f"wider native {settings} refit={refit}", lambda d: _train_lightgbm(d, settings, refit)

    yield native("diabetes", objective="regression")
    yield native("diabetes", True, objective="regression")
    yield native("rare", True, objective="binary")
    yield native("iris", objective="multiclass", num_class=3)
    yield native("rare", objective="cross_entropy")
    yield native("mixed", objective="regression", zero_as_missing=True)
    yield native("counts", objective="poisson", boosting="rf", bagging_freq=1, bagging_fraction=0.6)


def _train_lightgbm(data: Table, settings: dict[str, Any], refit: bool) -> Any:
    import lightgbm

    booster = lightgbm.train({"num_threads": 1, "verbose": -1, "seed": SEED, **settings}, lightgbm.Dataset(data.x, data.y), 30)
    return booster.refit(data.x.iloc[::2], data.y[::2]) if refit else booster


# catboost


def _catboost() -> Iterator[Made]:
    import catboost

    given = {"iterations": 40, "thread_count": 1, "random_seed": SEED, "verbose": False, "allow_writing_files": False}

    def train(kind: str, settings: dict[str, Any]) -> Train:
        def fit(data: Table) -> Any:
            words = [str(c) for c in data.x.columns if data.x[c].dtype == "category"]
            both = given | settings
            model = catboost.CatBoost(both) if kind == "CatBoost" else getattr(catboost, kind)(**both)
            return model.fit(catboost.Pool(data.x, data.y, cat_features=words, group_id=data.groups))

        return fit

    def made(data: str, kind: str = "CatBoostRegressor", **settings: Any) -> Made:
        return data, f"wider {kind} {settings}", train(kind, settings)

    yield made("counts", loss_function="Poisson", grow_policy="Lossguide", max_leaves=12)
    yield made("claims", loss_function="Tweedie:variance_power=1.2", depth=3)
    yield made("several", loss_function="MultiRMSE", depth=3)
    yield made("diabetes", loss_function="MAPE")
    yield made("diabetes", loss_function="Expectile:alpha=0.3")
    yield made("diabetes", loss_function="MultiQuantile:alpha=0.1,0.5,0.9")
    yield made("diabetes", loss_function="Lq:q=1.5")
    yield made("prices", nan_mode="Max", depth=5)
    yield made("gaps", "CatBoostClassifier", nan_mode="Max")
    yield made("gaps", "CatBoostClassifier", nan_mode="Min", class_weights=[1.0, 4.0])
    yield made("rare", "CatBoostClassifier", auto_class_weights="SqrtBalanced", grow_policy="Lossguide")
    yield made("rare", "CatBoostClassifier", loss_function="Focal:focal_alpha=0.3;focal_gamma=2.0")
    yield made("iris", "CatBoostClassifier", classes_count=3)
    yield made("wine", "CatBoostClassifier", loss_function="MultiClassOneVsAll", depth=2)
    yield made("mixed", one_hot_max_size=255, grow_policy="Depthwise")
    yield made("mixed", one_hot_max_size=255, grow_policy="Lossguide")
    yield made("mixed", max_ctr_complexity=1, simple_ctr="Borders")
    yield made("mixed", boosting_type="Ordered")
    yield made("diabetes", bootstrap_type="MVS", subsample=0.5, rsm=0.5)
    yield made("diabetes", leaf_estimation_method="Exact", loss_function="MAE")
    yield made("diabetes", boost_from_average=False)
    yield made("diabetes", use_best_model=False, od_type="Iter")
    yield made("queries", "CatBoostRanker", loss_function="PairLogit")
    yield made("survival", loss_function="Cox")
    yield made("diabetes", "CatBoost", loss_function="RMSE")
    yield made("rare", "CatBoost", loss_function="Logloss")


# scikit-learn


def _trees() -> Iterator[Made]:
    from sklearn import ensemble, tree

    grown, classed = ensemble.HistGradientBoostingRegressor, ensemble.HistGradientBoostingClassifier
    rs = {"random_state": SEED}
    yield (
        "mixed",
        "wider Hist from_dtype, interaction_cst",
        _fit(lambda: grown(categorical_features="from_dtype", interaction_cst="pairwise", max_iter=40, **rs)),
    )
    yield (
        "mixed",
        "wider Hist categorical by name",
        _fit(lambda: grown(categorical_features=["town", "plan"], max_iter=40, **rs)),
    )
    yield (
        "diabetes",
        "wider Hist interaction_cst none",
        _fit(lambda: grown(interaction_cst="no_interactions", max_iter=40, **rs)),
    )
    yield "gaps", "wider Hist classifier, class_weight", _fit(lambda: classed(class_weight="balanced", max_iter=40, **rs))
    yield "iris", "wider Hist classifier of three, max_features", _fit(lambda: classed(max_features=0.5, max_iter=30, **rs))
    yield "diabetes", "wider Hist warm start", _warm(lambda: grown(max_iter=20, warm_start=True, **rs))
    yield "gaps", "wider DecisionTree with gaps", _fit(lambda: tree.DecisionTreeClassifier(max_depth=5, **rs))
    yield "gaps", "wider RandomForest with gaps", _fit(lambda: ensemble.RandomForestClassifier(20, max_depth=5, **rs))
    yield "gaps", "wider ExtraTrees with gaps", _fit(lambda: ensemble.ExtraTreesClassifier(20, max_depth=5, **rs))
    yield (
        "counts",
        "wider forest by poisson",
        _fit(lambda: ensemble.RandomForestRegressor(20, criterion="poisson", max_depth=5, **rs)),
    )
    yield (
        "counts",
        "wider forest monotone",
        _fit(lambda: ensemble.RandomForestRegressor(20, monotonic_cst=[1, 0, 0, -1, 0, 0], max_depth=5, **rs)),
    )
    yield (
        "diabetes",
        "wider tree by absolute error, pruned",
        _fit(lambda: tree.DecisionTreeRegressor(criterion="absolute_error", ccp_alpha=0.5, **rs)),
    )
    yield "several", "wider ExtraTrees of three targets", _fit(lambda: ensemble.ExtraTreesRegressor(20, max_depth=4, **rs))
    yield "several", "wider DecisionTree of three targets", _fit(lambda: tree.DecisionTreeRegressor(max_depth=4, **rs))
    yield (
        "iris",
        "wider forest of two targets of classes",
        lambda d: ensemble.RandomForestClassifier(10, max_depth=3, **rs).fit(d.x, np.stack([d.y, d.y % 2], 1)),
    )
    yield (
        "rare",
        "wider GradientBoosting exponential",
        _fit(lambda: ensemble.GradientBoostingClassifier(loss="exponential", n_estimators=30, **rs)),
    )
    yield (
        "diabetes",
        "wider GradientBoosting of a linear start",
        _fit(lambda: ensemble.GradientBoostingRegressor(init=_ridge(), n_estimators=30, **rs)),
    )
    yield (
        "iris",
        "wider GradientBoosting zero start",
        _fit(lambda: ensemble.GradientBoostingClassifier(init="zero", n_estimators=20, **rs)),
    )
    yield (
        "rare",
        "wider GradientBoosting of a fitted start",
        _fit(lambda: ensemble.GradientBoostingClassifier(init=_logistic(), n_estimators=20, **rs)),
    )
    yield (
        "diabetes",
        "wider AdaBoost of deep trees",
        _fit(lambda: ensemble.AdaBoostRegressor(tree.DecisionTreeRegressor(max_depth=6), n_estimators=9, loss="square", **rs)),
    )
    yield "iris", "wider AdaBoost of stumps", _fit(lambda: ensemble.AdaBoostClassifier(n_estimators=15, **rs))
    yield "rare", "wider AdaBoost of stumps", _fit(lambda: ensemble.AdaBoostClassifier(n_estimators=15, **rs))
    yield (
        "diabetes",
        "wider IsolationForest of few rows and columns",
        _fit(lambda: ensemble.IsolationForest(n_estimators=20, max_samples=64, max_features=0.5, **rs)),
    )
    yield (
        "rare",
        "wider IsolationForest with contamination",
        _fit(lambda: ensemble.IsolationForest(n_estimators=20, contamination=0.04, **rs)),
    )
    yield (
        "diabetes",
        "wider Bagging of columns with copies",
        _fit(lambda: ensemble.BaggingRegressor(n_estimators=7, bootstrap_features=True, max_features=0.7, **rs)),
    )
    yield (
        "wine",
        "wider Bagging of columns, classes",
        _fit(lambda: ensemble.BaggingClassifier(n_estimators=7, max_features=0.5, **rs)),
    )
    yield (
        "iris",
        "wider Voting hard",
        _fit(lambda: ensemble.VotingClassifier([("a", tree.DecisionTreeClassifier(max_depth=2)), ("b", _logistic())])),
    )
    yield (
        "iris",
        "wider Voting soft, one dropped",
        _fit(
            lambda: ensemble.VotingClassifier(
                [
                    ("a", tree.DecisionTreeClassifier(max_depth=2)),
                    ("b", "drop"),
                    ("c", tree.ExtraTreeClassifier(max_depth=3, **rs)),
                ],
                voting="soft",
                weights=[1, 5, 3],
            )
        ),
    )
    yield (
        "several",
        "wider Bagging of three targets",
        _fit(lambda: ensemble.BaggingRegressor(tree.DecisionTreeRegressor(max_depth=3), n_estimators=5, **rs)),
    )
    yield (
        "iris",
        "wider words as labels",
        lambda d: ensemble.RandomForestClassifier(10, max_depth=3, **rs).fit(d.x, np.array(["setosa", "versi", "virgi"])[d.y]),
    )
    yield (
        "rare",
        "wider booleans as labels",
        lambda d: ensemble.GradientBoostingClassifier(n_estimators=10, **rs).fit(d.x, d.y.astype(bool)),
    )
    yield (
        "iris",
        "wider RandomTreesEmbedding → logistic",
        _fit(lambda: _chain(ensemble.RandomTreesEmbedding(10, max_depth=3, **rs), _logistic())),
    )


def _warm(make: Callable[[], Any]) -> Train:
    return lambda data: make().fit(data.x, data.y).set_params(max_iter=40).fit(data.x, data.y)


def _ridge() -> Any:
    from sklearn.linear_model import Ridge

    return Ridge()


def _logistic(**settings: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=2000, **settings)


def _chain(*steps: Any) -> Any:
    from sklearn.pipeline import make_pipeline

    return make_pipeline(*steps)


def _scaled(last: Any) -> Any:
    from sklearn.preprocessing import StandardScaler

    return _chain(StandardScaler(), last)


def _boosted(kind: str = "Regressor") -> Any:
    from sklearn import ensemble

    return getattr(ensemble, f"GradientBoosting{kind}")(n_estimators=15, random_state=SEED)


def _wrappers() -> Iterator[Made]:
    """Models around models."""
    from sklearn import (
        calibration,
        compose,
        ensemble,
        feature_selection,
        frozen,
        linear_model,
        model_selection,
        multiclass,
        multioutput,
        naive_bayes,
        semi_supervised,
        svm,
        tree,
    )

    rs = {"random_state": SEED}
    search = model_selection.GridSearchCV
    yield "diabetes", "wider GridSearchCV of boosting", _fit(lambda: search(_boosted(), {"max_depth": [2, 3]}, cv=2))
    yield (
        "diabetes",
        "wider GridSearchCV of a chain",
        _fit(lambda: search(_scaled(linear_model.Lasso()), {"lasso__alpha": [0.1, 1.0]}, cv=2)),
    )
    yield (
        "rare",
        "wider RandomizedSearchCV of a forest",
        _fit(
            lambda: model_selection.RandomizedSearchCV(
                ensemble.RandomForestClassifier(10, **rs), {"max_depth": [2, 4]}, n_iter=2, cv=2, **rs
            )
        ),
    )
    yield (
        "mixed",
        "wider chain inside a search",
        _fit(lambda: search(_mixed_chain(_boosted()), {"gradientboostingregressor__max_depth": [2]}, cv=2)),
    )
    log = {"func": np.log1p, "inverse_func": np.expm1}
    yield (
        "amounts",
        "wider TransformedTarget log, boosting",
        _fit(lambda: compose.TransformedTargetRegressor(_boosted(), **log)),
    )
    yield (
        "amounts",
        "wider TransformedTarget log, ridge",
        _fit(lambda: compose.TransformedTargetRegressor(_scaled(_ridge()), func=np.log, inverse_func=np.exp)),
    )
    yield (
        "prices",
        "wider TransformedTarget standardised",
        _fit(lambda: compose.TransformedTargetRegressor(_boosted(), transformer=_standard())),
    )
    yield (
        "several",
        "wider TransformedTarget of three",
        _fit(lambda: compose.TransformedTargetRegressor(linear_model.LinearRegression(), transformer=_standard())),
    )
    yield "iris", "wider OneVsRest of boosting", _fit(lambda: multiclass.OneVsRestClassifier(_boosted("Classifier")))
    yield "iris", "wider OneVsRest of logistic", _fit(lambda: multiclass.OneVsRestClassifier(_logistic()))
    yield "wine", "wider OneVsRest of LinearSVC", _fit(lambda: multiclass.OneVsRestClassifier(svm.LinearSVC()))
    yield "iris", "wider OneVsOne of LinearSVC", _fit(lambda: multiclass.OneVsOneClassifier(svm.LinearSVC()))
    yield "rare", "wider OneVsRest of two classes", _fit(lambda: multiclass.OneVsRestClassifier(_boosted("Classifier")))
    yield "iris", "wider OutputCode", _fit(lambda: multiclass.OutputCodeClassifier(_logistic(), **rs))
    yield "several", "wider RegressorChain", _fit(lambda: multioutput.RegressorChain(_ridge()))
    yield "several", "wider RegressorChain of trees", _fit(lambda: multioutput.RegressorChain(_boosted()))
    yield "several", "wider MultiOutput of ridge", _fit(lambda: multioutput.MultiOutputRegressor(_ridge()))
    yield (
        "several",
        "wider MultiOutput of forests",
        _fit(lambda: multioutput.MultiOutputRegressor(ensemble.RandomForestRegressor(5, max_depth=3, **rs))),
    )
    yield (
        "iris",
        "wider ClassifierChain",
        lambda d: multioutput.ClassifierChain(_logistic()).fit(d.x, np.stack([d.y == 0, d.y == 1], 1).astype(int)),
    )
    yield (
        "iris",
        "wider MultiOutputClassifier",
        lambda d: multioutput.MultiOutputClassifier(_logistic()).fit(d.x, np.stack([d.y == 0, d.y == 1], 1).astype(int)),
    )
    for method in ("sigmoid", "isotonic", "temperature"):
        yield (
            "iris",
            f"wider calibrated {method} of three",
            _fit(lambda method=method: calibration.CalibratedClassifierCV(_logistic(), method=method, cv=2)),
        )
    yield (
        "rare",
        "wider calibrated, one ensemble=False",
        _fit(lambda: calibration.CalibratedClassifierCV(svm.LinearSVC(), ensemble=False, cv=2)),
    )
    yield "rare", "wider calibrated frozen", _calibrated_frozen
    yield "rare", "wider TunedThreshold", _fit(lambda: model_selection.TunedThresholdClassifierCV(_boosted("Classifier"), cv=2))
    yield "rare", "wider FixedThreshold", _fit(lambda: model_selection.FixedThresholdClassifier(_logistic(), threshold=0.1))
    yield "diabetes", "wider Frozen", lambda d: frozen.FrozenEstimator(_boosted().fit(d.x, d.y))
    yield "rare", "wider Frozen classifier", lambda d: frozen.FrozenEstimator(_boosted("Classifier").fit(d.x, d.y))
    yield (
        "rare",
        "wider Stacking, passthrough",
        _fit(
            lambda: ensemble.StackingClassifier(
                [("a", tree.DecisionTreeClassifier(max_depth=3)), ("b", naive_bayes.GaussianNB())], passthrough=True, cv=2
            )
        ),
    )
    yield (
        "diabetes",
        "wider Stacking of ridges by ridge",
        _fit(lambda: ensemble.StackingRegressor([("a", _ridge()), ("b", _scaled(linear_model.Lasso()))], _ridge(), cv=2)),
    )
    yield (
        "diabetes",
        "wider Stacking of trees by a line",
        _fit(
            lambda: ensemble.StackingRegressor(
                [("a", _boosted()), ("b", tree.DecisionTreeRegressor(max_depth=3))], linear_model.LinearRegression(), cv=2
            )
        ),
    )
    yield (
        "rare",
        "wider SelfTraining",
        lambda d: semi_supervised.SelfTrainingClassifier(_logistic()).fit(d.x, np.where(np.arange(len(d.y)) % 3, d.y, -1)),
    )
    yield "cancer", "wider RFE of a line", _fit(lambda: feature_selection.RFE(_logistic(), n_features_to_select=4, step=6))


def _standard() -> Any:
    from sklearn.preprocessing import StandardScaler

    return StandardScaler()


def _calibrated_frozen(data: Table) -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    return CalibratedClassifierCV(FrozenEstimator(_boosted("Classifier").fit(data.x, data.y)), cv=2).fit(data.x, data.y)


def _mixed_chain(last: Any, encoder: Any = None) -> Any:
    from sklearn import compose, impute, preprocessing

    before = compose.make_column_transformer(
        (encoder or preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["town", "plan"]),
        (impute.SimpleImputer(strategy="median"), ["c0", "c1", "c2", "c3"]),
        remainder="passthrough",
    )
    return _chain(before, last)


def _chains() -> Iterator[Made]:
    """Steps before a model."""
    from sklearn import (
        compose,
        decomposition,
        ensemble,
        feature_selection,
        impute,
        linear_model,
        pipeline,
        preprocessing,
        random_projection,
    )

    encoders = {
        "OrdinalEncoder": preprocessing.OrdinalEncoder(),
        "TargetEncoder": preprocessing.TargetEncoder(random_state=SEED),
        "OneHot drop first": preprocessing.OneHotEncoder(drop="first"),
    }
    for name, encoder in encoders.items():
        yield "mixed", f"wider {name} → boosting", _fit(lambda encoder=encoder: _mixed_chain(_boosted(), encoder))
        yield "mixed", f"wider {name} → ridge", _fit(lambda encoder=encoder: _mixed_chain(_ridge(), encoder))
    steps = {
        "PCA whitened": decomposition.PCA(3, whiten=True),
        "KBins onehot": preprocessing.KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
        "KBins ordinal": preprocessing.KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf"),
        "Splines": preprocessing.SplineTransformer(n_knots=4),
        "Quantiles": preprocessing.QuantileTransformer(n_quantiles=50),
        "Powers": preprocessing.PowerTransformer(),
        "Robust": preprocessing.RobustScaler(),
        "Polynomials": preprocessing.PolynomialFeatures(2, include_bias=False),
        "interactions only": preprocessing.PolynomialFeatures(3, interaction_only=True),
        "Normalizer": preprocessing.Normalizer(),
        "function": preprocessing.FunctionTransformer(np.abs),
        "best columns": feature_selection.SelectKBest(feature_selection.f_regression, k=3),
        "random projection": random_projection.GaussianRandomProjection(3, random_state=SEED),
        "SVD": decomposition.TruncatedSVD(3, random_state=SEED),
        "union": pipeline.make_union(preprocessing.StandardScaler(), decomposition.PCA(2)),
        "union of maps": pipeline.make_union(
            preprocessing.StandardScaler(),
            preprocessing.KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
        ),
    }
    for name, step in steps.items():
        yield "counts", f"wider {name} → ridge", _fit(lambda step=step: _chain(step, _ridge()))
        yield "prices", f"wider scaler → {name} → boosting", _fit(lambda step=step: _chain(_standard(), step, _boosted()))
    yield "rare", "wider PCA → logistic", _fit(lambda: _chain(_standard(), decomposition.PCA(4), _logistic()))
    yield (
        "gaps",
        "wider imputer with indicator → logistic",
        _fit(lambda: _chain(impute.SimpleImputer(add_indicator=True), _standard(), _logistic())),
    )
    yield "gaps", "wider KNN imputer → logistic", _fit(lambda: _chain(impute.KNNImputer(), _logistic()))
    yield (
        "gaps",
        "wider iterative imputer → forest",
        _fit(lambda: _chain(_iterative(), ensemble.RandomForestClassifier(10, max_depth=3, random_state=SEED))),
    )
    yield (
        "diabetes",
        "wider chain in a chain",
        _fit(lambda: _chain(_scaled(preprocessing.PowerTransformer()), _scaled(_ridge()))),
    )
    yield (
        "diabetes",
        "wider passthrough in a chain",
        _fit(lambda: pipeline.Pipeline([("a", "passthrough"), ("b", _standard()), ("c", _boosted())])),
    )
    yield (
        "counts",
        "wider log link behind splines",
        _fit(lambda: _chain(preprocessing.SplineTransformer(n_knots=4), linear_model.PoissonRegressor())),
    )
    yield (
        "counts",
        "wider polynomials, log link",
        _fit(lambda: _chain(_standard(), preprocessing.PolynomialFeatures(2), linear_model.PoissonRegressor(alpha=1.0))),
    )
    yield "mixed", "wider columns of chains", _fit(lambda: _chain(_nested_columns(), _ridge()))
    yield (
        "diabetes",
        "wider pandas out",
        _fit(
            lambda: _chain(
                compose.make_column_transformer(
                    (_standard(), ["age", "bmi"]), (preprocessing.MinMaxScaler(), ["bp", "s1"])
                ).set_output(transform="pandas"),
                _boosted(),
            )
        ),
    )


def _iterative() -> Any:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return IterativeImputer(max_iter=2, random_state=SEED)


def _nested_columns() -> Any:
    from sklearn import compose, impute, preprocessing

    return compose.ColumnTransformer(
        [
            ("words", preprocessing.OneHotEncoder(min_frequency=30, handle_unknown="infrequent_if_exist"), ["town", "plan"]),
            (
                "numbers",
                _chain(impute.SimpleImputer(), preprocessing.StandardScaler()),
                compose.make_column_selector(dtype_include="number"),
            ),
        ],
        sparse_threshold=1.0,
    )


def _columns() -> Iterator[Made]:
    """Discriminants, naive Bayes, neighbours."""
    from sklearn import discriminant_analysis as da
    from sklearn import naive_bayes, neighbors, preprocessing

    for data in ("iris", "rare"):
        yield data, "wider LDA", _fit(da.LinearDiscriminantAnalysis)
        yield data, "wider LDA shrunk", _fit(lambda: da.LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))
        yield data, "wider QDA", _fit(da.QuadraticDiscriminantAnalysis)
        yield data, "wider NearestCentroid", _fit(neighbors.NearestCentroid)
        yield (
            data,
            "wider RadiusNeighbors",
            _fit(lambda: neighbors.RadiusNeighborsClassifier(radius=3.0, outlier_label="most_frequent")),
        )
        yield data, "wider BernoulliNB", _fit(lambda: naive_bayes.BernoulliNB(binarize=0.3, alpha=0.1))
        yield data, "wider GaussianNB priors", _fit(lambda: naive_bayes.GaussianNB(var_smoothing=1e-3))
        yield data, "wider KNeighbors", _fit(lambda: neighbors.KNeighborsClassifier(7))
        yield (
            data,
            "wider bins → CategoricalNB",
            _fit(
                lambda: _chain(
                    preprocessing.KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf"),
                    naive_bayes.CategoricalNB(min_categories=4),
                )
            ),
        )
        yield (
            data,
            "wider positive → MultinomialNB",
            _fit(lambda: _chain(preprocessing.MinMaxScaler(clip=True), naive_bayes.MultinomialNB(fit_prior=False))),
        )
        yield (
            data,
            "wider positive → ComplementNB",
            _fit(lambda: _chain(preprocessing.MinMaxScaler(clip=True), naive_bayes.ComplementNB(norm=True))),
        )
    yield "diabetes", "wider KNeighbors manhattan", _fit(lambda: neighbors.KNeighborsRegressor(3, metric="manhattan"))
    yield "diabetes", "wider RadiusNeighbors", _fit(lambda: neighbors.RadiusNeighborsRegressor(radius=0.3))
    yield "diabetes", "wider LocalOutlierFactor", _fit(lambda: neighbors.LocalOutlierFactor(novelty=True))


def _smooth() -> Iterator[Made]:
    """Kernels, Gaussian processes, networks."""
    from sklearn import gaussian_process, kernel_ridge, neural_network, svm

    k = gaussian_process.kernels
    kernels = {
        "RationalQuadratic": k.RationalQuadratic(length_scale=2.0, alpha=0.7) + k.WhiteKernel(),
        "Matern 1.5": k.Matern(nu=1.5) + k.WhiteKernel(),
        "Matern 0.5 ARD": k.Matern([1.0, 2.0, 1.0, 3.0, 1.0, 1.0], nu=0.5) + k.WhiteKernel(),
        "periodic": 1.0 * k.ExpSineSquared(1.0, 30.0) + k.WhiteKernel(10.0),
        "product": k.RBF(2.0) * k.RBF([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) + 0.5 * k.RBF(1.0) + k.WhiteKernel(0.1),
        "power": k.RBF(2.0) ** 2 + k.WhiteKernel(),
        "dot product squared": k.DotProduct(1.0) ** 2 + k.WhiteKernel(),
        "dot product × RBF": k.DotProduct(1.0) * k.RBF(3.0) + k.WhiteKernel(),
        "constant + RBF": k.ConstantKernel(2.0) + k.RBF(3.0) + k.WhiteKernel(),
    }
    for name, kernel in kernels.items():
        yield (
            "counts",
            f"wider GP {name}",
            _fit(lambda kernel=kernel: gaussian_process.GaussianProcessRegressor(kernel, optimizer=None, alpha=0.1)),
        )
    yield (
        "several",
        "wider GP of three targets",
        _fit(lambda: gaussian_process.GaussianProcessRegressor(k.RBF(2.0), alpha=0.1, optimizer=None, normalize_y=True)),
    )
    yield (
        "iris",
        "wider GP classifier",
        _fit(lambda: gaussian_process.GaussianProcessClassifier(1.0 * k.RBF(1.0), optimizer=None)),
    )
    yield (
        "rare",
        "wider GP classifier of two",
        _few(lambda: gaussian_process.GaussianProcessClassifier(1.0 * k.RBF(1.0), optimizer=None)),
    )
    yield "several", "wider KernelRidge of three", _fit(lambda: kernel_ridge.KernelRidge(kernel="rbf", gamma=0.3))
    yield "counts", "wider KernelRidge polynomial 2", _fit(lambda: kernel_ridge.KernelRidge(kernel="poly", degree=2, coef0=0.5))
    yield "diabetes", "wider NuSVR poly", _fit(lambda: _scaled(svm.NuSVR(kernel="poly", degree=2, coef0=1.0)))
    yield "diabetes", "wider SVR own kernel", _fit(lambda: svm.SVR(kernel=_own_kernel))
    yield "rare", "wider SVC with probabilities", _fit(lambda: _scaled(svm.SVC(probability=True, random_state=SEED)))
    yield "iris", "wider SVC break ties", _fit(lambda: svm.SVC(break_ties=True, decision_function_shape="ovr"))
    yield "rare", "wider SVC class weights", _fit(lambda: svm.SVC(class_weight="balanced", kernel="poly", degree=2))
    yield "rare", "wider LinearSVC", _fit(lambda: svm.LinearSVC(C=0.1))
    yield "diabetes", "wider LinearSVR", _fit(lambda: _scaled(svm.LinearSVR(C=10.0, random_state=SEED)))
    yield (
        "diabetes",
        "wider MLP",
        _fit(lambda: _scaled(neural_network.MLPRegressor(hidden_layer_sizes=(8,), max_iter=100, random_state=SEED))),
    )
    yield (
        "iris",
        "wider MLP classes",
        _fit(lambda: _scaled(neural_network.MLPClassifier((8,), max_iter=100, random_state=SEED))),
    )


def _own_kernel(a: Any, b: Any) -> Any:
    return np.exp(-0.5 * np.abs(np.atleast_2d(a)[:, None] - np.atleast_2d(b)[None]).sum(axis=2))


def _few(make: Callable[[], Any]) -> Train:
    return lambda data: make().fit(data.x.iloc[:200], data.y[:200])


def _linear() -> Iterator[Made]:
    """Linear models, plain and odd."""
    from sklearn import cross_decomposition, dummy, linear_model

    plain = (
        "ElasticNet",
        "BayesianRidge",
        "ARDRegression",
        "HuberRegressor",
        "TheilSenRegressor",
        "Lars",
        "LassoLarsIC",
        "OrthogonalMatchingPursuit",
        "RANSACRegressor",
        "RidgeCV",
        "LassoCV",
        "SGDRegressor",
    )
    for name in plain:
        yield "diabetes", f"wider {name}", _fit(lambda name=name: getattr(linear_model, name)())
    yield "several", "wider MultiTaskLasso", _fit(lambda: linear_model.MultiTaskLasso(alpha=0.01))
    yield "several", "wider PLS", _fit(lambda: cross_decomposition.PLSRegression(2))
    yield "diabetes", "wider PLS of one", _fit(lambda: cross_decomposition.PLSRegression(3))
    yield "several", "wider CCA", _fit(lambda: cross_decomposition.CCA(2))
    for data in ("iris", "rare"):
        yield data, "wider SGD log", _fit(lambda: linear_model.SGDClassifier(loss="log_loss", random_state=SEED))
        yield data, "wider SGD huber", _fit(lambda: linear_model.SGDClassifier(loss="modified_huber", random_state=SEED))
        yield data, "wider Perceptron", _fit(lambda: linear_model.Perceptron(random_state=SEED))
        yield data, "wider RidgeClassifier", _fit(lambda: linear_model.RidgeClassifierCV())
        yield (
            data,
            "wider LogisticRegressionCV",
            _fit(
                lambda: linear_model.LogisticRegressionCV(
                    Cs=2, cv=2, max_iter=2000, l1_ratios=(0.0,), use_legacy_attributes=False
                )
            ),
        )
        yield data, "wider logistic sparse", _fit(lambda: _logistic(C=0.1, l1_ratio=1.0, solver="saga"))
        yield data, "wider logistic, sparsify", _fit(lambda: _Sparsified())
        yield data, "wider Dummy", _fit(lambda: dummy.DummyClassifier())
    yield "counts", "wider Poisson without an intercept", _fit(lambda: linear_model.PoissonRegressor(fit_intercept=False))
    yield "claims", "wider Tweedie 0, log", _fit(lambda: linear_model.TweedieRegressor(power=0, link="log"))
    yield "claims", "wider Tweedie 0, identity", _fit(lambda: linear_model.TweedieRegressor(power=0))
    yield "diabetes", "wider Dummy", _fit(lambda: dummy.DummyRegressor())


class _Sparsified:
    def fit(self, x: Any, y: Any) -> Any:
        return _logistic().fit(x, y).sparsify()


def _boosters_inside() -> Iterator[Made]:
    """Boosters of other libraries inside scikit-learn's wrappers."""
    import catboost
    import lightgbm
    import xgboost
    from sklearn import calibration, ensemble, model_selection, multioutput

    one = {"n_estimators": 20, "n_jobs": 1, "random_state": SEED}
    quiet = {"iterations": 20, "verbose": False, "thread_count": 1, "allow_writing_files": False, "random_seed": SEED}
    yield "diabetes", "wider scaler → xgboost", _fit(lambda: _scaled(xgboost.XGBRegressor(**one)))
    yield "mixed", "wider columns → xgboost", _fit(lambda: _mixed_chain(xgboost.XGBRegressor(**one)))
    yield "mixed", "wider columns → lightgbm", _fit(lambda: _mixed_chain(lightgbm.LGBMRegressor(verbose=-1, **one)))
    yield "mixed", "wider columns → catboost", _fit(lambda: _mixed_chain(catboost.CatBoostRegressor(**quiet)))
    yield (
        "rare",
        "wider search of xgboost",
        _fit(lambda: model_selection.GridSearchCV(xgboost.XGBClassifier(**one), {"max_depth": [2, 3]}, cv=2)),
    )
    yield (
        "iris",
        "wider search of lightgbm",
        _fit(lambda: model_selection.GridSearchCV(lightgbm.LGBMClassifier(verbose=-1, **one), {"num_leaves": [4]}, cv=2)),
    )
    yield (
        "rare",
        "wider calibrated lightgbm",
        _fit(lambda: calibration.CalibratedClassifierCV(lightgbm.LGBMClassifier(verbose=-1, **one), cv=2)),
    )
    yield (
        "diabetes",
        "wider Voting of three boosters",
        _fit(
            lambda: ensemble.VotingRegressor(
                [
                    ("x", xgboost.XGBRegressor(**one)),
                    ("l", lightgbm.LGBMRegressor(verbose=-1, **one)),
                    ("c", catboost.CatBoostRegressor(**quiet)),
                ]
            )
        ),
    )
    yield (
        "several",
        "wider MultiOutput of lightgbm",
        _fit(lambda: multioutput.MultiOutputRegressor(lightgbm.LGBMRegressor(verbose=-1, **one))),
    )
    yield (
        "diabetes",
        "wider Bagging of xgboost",
        _fit(lambda: ensemble.BaggingRegressor(xgboost.XGBRegressor(**one), n_estimators=3, random_state=SEED)),
    )
