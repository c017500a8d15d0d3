"""Still more recipes: tables as databases give them, models out of files, and settings that are easily misread."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tools.proof.zoo.datasets import Table

SEED = 5
Train = Callable[[Table], Any]
Made = tuple[str, str, Train]  # table, name, how it is trained


def odd() -> Iterator[tuple[str, str, str, Train]]:
    """Library, name, table and training of each of them."""
    for library, made in (
        ("xgboost", (*_xgboost(), *_xgboost_files())),
        ("lightgbm", tuple(_lightgbm())),
        ("catboost", tuple(_catboost())),
        ("scikit-learn", (*_scikit(), *_skops())),
    ):
        for data, name, train in made:
            yield library, f"odd {name}", data, train


def _fit(make: Callable[[], Any], **more: Any) -> Train:
    return lambda data: make().fit(data.x, data.y, **more)


def _file(ending: str) -> str:
    return str(Path(tempfile.mkdtemp()) / f"model.{ending}")


def _classes(data: Table) -> str:
    return "Classifier" if np.asarray(data.y).dtype.kind in "ib" else "Regressor"


ODD_NUMBERS = ("kinds", "scales", "steps", "sparse", "words", "edges")  # tables that every library takes


def _xgboost() -> Iterator[Made]:
    import xgboost

    given = {"n_jobs": 1, "random_state": SEED, "n_estimators": 30, "enable_categorical": True}

    def made(data: str, **settings: Any) -> Made:
        return data, str(settings), lambda d: getattr(xgboost, f"XGB{_classes(d)}")(**given | settings).fit(d.x, d.y)

    for data in (*ODD_NUMBERS, "labels", "wild"):
        yield made(data)
        yield made(data, max_depth=9, min_child_weight=0, reg_lambda=0)
        yield made(data, booster="dart", rate_drop=0.3, grow_policy="lossguide", max_leaves=12)
        if data != "steps":  # it takes no words
            yield made(data, booster="gblinear")
    yield made("edges", tree_method="exact", enable_categorical=False)
    yield made("edges", tree_method="approx", max_bin=16)
    yield made("labels", multi_strategy="multi_output_tree")
    yield made("steps", max_cat_to_onehot=100)
    yield made("steps", max_cat_to_onehot=1, max_cat_threshold=64)
    yield made("kinds", interaction_constraints=[["id", "flag"], ["day", "amount"]], monotone_constraints={"day": -1})
    yield made("scales", base_score=1e-12)
    yield made("scales", base_score=1e12)
    yield made("counts", objective="count:poisson", booster="dart", rate_drop=0.2)
    yield made("counts", objective="count:poisson", booster="gblinear")
    yield made("amounts", objective="reg:gamma", multi_strategy="one_output_per_tree", num_parallel_tree=2)
    yield made("claims", objective="reg:tweedie", booster="gblinear")
    yield made("several", objective="reg:absoluteerror")
    yield made("several", objective="reg:absoluteerror", multi_strategy="multi_output_tree")
    yield made("diabetes", objective="reg:quantileerror", quantile_alpha=[0.1, 0.9], booster="dart", rate_drop=0.1)
    yield "rare", "own objective, labels", _fit(lambda: xgboost.XGBClassifier(n_estimators=20, n_jobs=1, objective=_logistic))
    yield (
        "iris",
        "own objective of three",
        lambda d: xgboost.train(
            {"num_class": 3, "nthread": 1, "disable_default_eval_metric": 1}, xgboost.DMatrix(d.x, d.y), 10, obj=_softmax
        ),
    )
    yield (
        "queries",
        "ranker, pairs",
        lambda d: xgboost.XGBRanker(n_estimators=20, n_jobs=1, lambdarank_pair_method="topk", ndcg_exp_gain=False).fit(
            d.x, d.y, qid=d.groups
        ),
    )
    yield (
        "several",
        "labels that may be several",
        lambda d: xgboost.XGBClassifier(n_estimators=20, n_jobs=1).fit(d.x, (d.y > 0).astype(int)),
    )
    yield (
        "several",
        "labels that may be several, one tree for all",
        lambda d: xgboost.XGBClassifier(n_estimators=20, n_jobs=1, multi_strategy="multi_output_tree").fit(
            d.x, (d.y > 0).astype(int)
        ),
    )
    yield (
        "diabetes",
        "continued from a model",
        lambda d: xgboost.XGBRegressor(n_estimators=10, n_jobs=1).fit(
            d.x, d.y, xgb_model=xgboost.XGBRegressor(n_estimators=10, n_jobs=1, max_depth=2).fit(d.x, d.y)
        ),
    )
    yield (
        "diabetes",
        "base_margin at training",
        lambda d: xgboost.XGBRegressor(n_estimators=10, n_jobs=1).fit(d.x, d.y, base_margin=np.full(len(d.y), 100.0)),
    )
    yield "rare", "stopped early, then sliced", _sliced
    yield (
        "labels",
        "stopped early, several classes",
        lambda d: xgboost.XGBClassifier(n_estimators=200, learning_rate=0.5, n_jobs=1, early_stopping_rounds=3).fit(
            d.x[::2], d.y[::2], eval_set=[(d.x[1::2], d.y[1::2])], verbose=False
        ),
    )
    yield (
        "diabetes",
        "stopped early, random forest rounds, dart",
        lambda d: xgboost.XGBRegressor(
            n_estimators=60, booster="dart", rate_drop=0.1, num_parallel_tree=2, n_jobs=1, early_stopping_rounds=3
        ).fit(d.x[::2], d.y[::2], eval_set=[(d.x[1::2], d.y[1::2])], verbose=False),
    )


def _logistic(y: Any, said: Any) -> tuple[Any, Any]:
    chance = 1 / (1 + np.exp(-said))
    return chance - y, chance * (1 - chance)


def _softmax(said: Any, data: Any) -> tuple[Any, Any]:
    chance = np.exp(said - said.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    return chance - np.eye(said.shape[1])[data.get_label().astype(int)], np.maximum(2 * chance * (1 - chance), 1e-6)


def _sliced(data: Table) -> Any:
    import xgboost

    matrix = xgboost.DMatrix(data.x, data.y)
    return xgboost.train({"objective": "binary:logistic", "nthread": 1}, matrix, 30)[3:17:2]


def _xgboost_files() -> Iterator[Made]:
    import xgboost

    def saved(data: str, ending: str, native: bool, **settings: Any) -> Made:
        def train(d: Table) -> Any:
            kind = getattr(xgboost, f"XGB{_classes(d)}")
            model, file = kind(n_estimators=25, n_jobs=1, enable_categorical=True, **settings).fit(d.x, d.y), _file(ending)
            model.save_model(file)
            if native:
                return xgboost.Booster(model_file=file)
            again = kind()
            again.load_model(file)
            return again

        return data, f"from .{ending} native={native} {settings}", train

    for data in ("rare", "iris", "steps", "counts"):
        for ending, native in (("json", True), ("ubj", True), ("json", False), ("ubj", False)):
            yield saved(data, ending, native, **{"objective": "count:poisson"} if data == "counts" else {})
    yield saved("prices", "json", True, booster="dart", rate_drop=0.2)
    yield saved("several", "ubj", False, multi_strategy="multi_output_tree")


def _lightgbm() -> Iterator[Made]:
    import lightgbm

    given = {"n_jobs": 1, "random_state": SEED, "verbose": -1, "n_estimators": 30}

    def made(data: str, **settings: Any) -> Made:
        return data, str(settings), lambda d: getattr(lightgbm, f"LGBM{_classes(d)}")(**given | settings).fit(d.x, d.y)

    for data in (*ODD_NUMBERS, "labels", "wild"):
        yield made(data)
        yield made(data, min_child_samples=1, num_leaves=63, min_child_weight=0)
        yield made(data, boosting_type="dart", extra_trees=True, zero_as_missing=True)
        yield made(data, linear_tree=True, num_leaves=5)
    for data in ("diabetes", "several", "gaps", "rare", "iris", "counts"):
        if data != "several":
            objective = {"objective": "poisson"} if data == "counts" else {}
            yield made(data, linear_tree=True, linear_lambda=0.1, num_leaves=4, **objective)
    yield made("prices", linear_tree=True, num_leaves=7, boosting_type="rf", bagging_freq=1, bagging_fraction=0.5)
    yield made("steps", max_cat_to_onehot=64)
    yield made("steps", max_cat_to_onehot=1, cat_smooth=0.0, cat_l2=0.0, min_data_per_group=1, min_child_samples=2)
    yield made("kinds", monotone_constraints=[0, 1, 0, 0, -1, 0, 0, 0], monotone_constraints_method="advanced")
    yield made("kinds", interaction_constraints=[[0, 1], [2, 3, 4]], min_data_in_bin=1)
    yield made("rare", scale_pos_weight=30.0, boost_from_average=False)
    yield made("iris", class_weight={0: 1.0, 1: 5.0, 2: 0.2})
    yield made("diabetes", min_child_samples=400)
    yield "rare", "own objective of classes", _fit(lambda: lightgbm.LGBMClassifier(**given, objective=_logistic))
    yield "iris", "own objective of three", _fit(lambda: lightgbm.LGBMClassifier(**given, objective=_softmax_lightgbm))
    yield (
        "queries",
        "ranker, stopped",
        lambda d: lightgbm.LGBMRanker(**given, label_gain=[0, 1, 3, 7]).fit(
            d.x, d.y, group=np.unique(d.groups, return_counts=True)[1]
        ),
    )
    yield (
        "labels",
        "stopped early, several classes",
        lambda d: lightgbm.LGBMClassifier(**given | {"n_estimators": 300}).fit(
            d.x[::2], d.y[::2], eval_set=[(d.x[1::2], d.y[1::2])], callbacks=[lightgbm.early_stopping(3, verbose=False)]
        ),
    )
    yield "diabetes", "stopped early, native", _stopped_lightgbm
    yield (
        "diabetes",
        "continued from a model",
        lambda d: lightgbm.LGBMRegressor(**given).fit(d.x, d.y, init_model=lightgbm.LGBMRegressor(**given).fit(d.x, d.y)),
    )
    yield "diabetes", "sliced", lambda d: _rounds(lightgbm.LGBMRegressor(**given).fit(d.x, d.y).booster_, lightgbm)
    for data in ("rare", "iris", "steps", "counts"):
        yield data, "from .txt", lambda d: _lightgbm_file(d)


def _softmax_lightgbm(y: Any, said: Any) -> tuple[Any, Any]:
    chance = np.exp(said - said.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    return chance - np.eye(said.shape[1])[y.astype(int)], np.maximum(2 * chance * (1 - chance), 1e-6)


def _stopped_lightgbm(data: Table) -> Any:
    import lightgbm

    train, held = lightgbm.Dataset(data.x[::2], data.y[::2]), lightgbm.Dataset(data.x[1::2], data.y[1::2])
    return lightgbm.train(
        {"num_threads": 1, "verbose": -1, "learning_rate": 0.4},
        train,
        200,
        valid_sets=[held],
        callbacks=[lightgbm.early_stopping(3, verbose=False)],
    )


def _rounds(booster: Any, lightgbm: Any) -> Any:
    return lightgbm.Booster(model_str=booster.model_to_string(num_iteration=11))


def _lightgbm_file(data: Table) -> Any:
    import lightgbm

    model, file = getattr(lightgbm, f"LGBM{_classes(data)}")(n_estimators=25, n_jobs=1, verbose=-1), _file("txt")
    model.fit(data.x, data.y).booster_.save_model(file)
    return lightgbm.Booster(model_file=file)


def _catboost() -> Iterator[Made]:
    import catboost

    given = {"iterations": 30, "thread_count": 1, "random_seed": SEED, "verbose": False, "allow_writing_files": False}

    def pool(data: Table) -> Any:
        words = [str(c) for c in data.x.columns if data.x[c].dtype in ("category", "object")]
        return catboost.Pool(data.x, data.y, cat_features=words, group_id=data.groups)

    def made(data: str, **settings: Any) -> Made:
        return data, str(settings), lambda d: getattr(catboost, f"CatBoost{_classes(d)}")(**given | settings).fit(pool(d))

    for data in (*ODD_NUMBERS, "labels", "wild"):
        more = {"one_hot_max_size": 255} if data == "steps" else {}
        yield made(data, **more)
        yield made(data, depth=8, min_data_in_leaf=1, l2_leaf_reg=0.01, **more)
        yield made(data, grow_policy="Lossguide", max_leaves=9, **more)
        yield made(data, grow_policy="Depthwise", depth=5, min_data_in_leaf=20, **more)
    yield made("steps")
    yield made("steps", boosting_type="Ordered", max_ctr_complexity=2)
    yield made("kinds", monotone_constraints={"day": -1, "amount": 1})
    yield made("diabetes", monotone_constraints={"bmi": 1, "s5": 1}, depth=8)
    yield made("gaps", nan_mode="Max", grow_policy="Lossguide")
    yield made("rare", scale_pos_weight=20.0)
    yield made("diabetes", score_function="L2", grow_policy="Depthwise", boost_from_average=False)
    yield made("diabetes", langevin=True, diffusion_temperature=100.0)
    yield made("diabetes", model_shrink_rate=0.1)
    yield made("diabetes", posterior_sampling=True)
    yield (
        "diabetes",
        "baseline at training",
        lambda d: catboost.CatBoostRegressor(**given).fit(catboost.Pool(d.x, d.y, baseline=np.full(len(d.y), 50.0))),
    )
    yield (
        "diabetes",
        "sum of two models",
        lambda d: catboost.sum_models(
            [catboost.CatBoostRegressor(**given | {"depth": k}).fit(d.x, d.y) for k in (2, 4)], weights=[0.3, 0.7]
        ),
    )
    yield "diabetes", "shrunk to ten trees", _shrunk
    yield "rare", "scale and bias set", _shifted
    yield (
        "diabetes",
        "stopped early",
        lambda d: catboost.CatBoostRegressor(**given | {"iterations": 300}).fit(
            d.x[::2], d.y[::2], eval_set=(d.x[1::2], d.y[1::2]), early_stopping_rounds=3
        ),
    )
    for data, ending in (("rare", "cbm"), ("iris", "json"), ("counts", "cbm"), ("labels", "cbm")):
        yield data, f"from .{ending}", lambda d, ending=ending: _catboost_file(d, ending)


def _shrunk(data: Table) -> Any:
    import catboost

    model = catboost.CatBoostRegressor(iterations=30, thread_count=1, verbose=False, allow_writing_files=False)
    model.fit(data.x, data.y).shrink(ntree_end=13, ntree_start=3)
    return model


def _shifted(data: Table) -> Any:
    import catboost

    model = catboost.CatBoostClassifier(iterations=20, thread_count=1, verbose=False, allow_writing_files=False)
    model.fit(data.x, data.y).set_scale_and_bias(0.5, -1.25)
    return model


def _catboost_file(data: Table, ending: str) -> Any:
    import catboost

    kind = getattr(catboost, f"CatBoost{_classes(data)}")
    model, file = kind(iterations=20, thread_count=1, verbose=False, allow_writing_files=False), _file(ending)
    model.fit(data.x, data.y).save_model(file, format=ending)
    return kind().load_model(file, format=ending)


def _scikit() -> Iterator[Made]:
    from sklearn import (
        calibration,
        compose,
        ensemble,
        feature_extraction,
        linear_model,
        multiclass,
        multioutput,
        pipeline,
        preprocessing,
        tree,
    )

    rs = {"random_state": SEED}

    def both(name: str, module: Any, **settings: Any) -> Train:
        return lambda d: getattr(module, name + _classes(d))(**settings).fit(d.x, d.y)

    for data in ("kinds", "scales", "sparse", "words", "edges", "labels", "wild"):
        yield data, "HistGradientBoosting", both("HistGradientBoosting", ensemble, max_iter=30, min_samples_leaf=1, **rs)
        if data in ("kinds", "wild"):
            continue  # with gaps or kinds of columns that single trees do not take
        yield data, "RandomForest to purity", both("RandomForest", ensemble, n_estimators=10, **rs)
        yield data, "ExtraTrees", both("ExtraTrees", ensemble, n_estimators=10, max_depth=5, **rs)
        yield data, "GradientBoosting deep", both("GradientBoosting", ensemble, n_estimators=10, max_depth=7, **rs)
        yield data, "GradientBoosting of parts", both("GradientBoosting", ensemble, n_estimators=15, subsample=0.5, **rs)
        yield data, "DecisionTree by max_leaf_nodes", both("DecisionTree", tree, max_leaf_nodes=20, splitter="random", **rs)
        yield (
            data,
            "Bagging of rows without copies",
            both("Bagging", ensemble, n_estimators=5, bootstrap=False, max_samples=0.4, **rs),
        )
    yield (
        "steps",
        "HistGradientBoosting of words",
        _fit(lambda: ensemble.HistGradientBoostingRegressor(categorical_features="from_dtype", max_iter=30, **rs)),
    )
    yield "wild", "HistGradientBoosting, own gaps", _fit(lambda: ensemble.HistGradientBoostingRegressor(max_bins=8, **rs))
    weights = lambda d: np.where(np.arange(len(d.y)) % 3, 1.0, 0.0)  # noqa: E731
    yield (
        "rare",
        "forest, rows of weight zero",
        lambda d: ensemble.RandomForestClassifier(10, max_depth=4, **rs).fit(d.x, d.y, sample_weight=weights(d)),
    )
    yield (
        "diabetes",
        "Hist, rows of weight zero",
        lambda d: ensemble.HistGradientBoostingRegressor(max_iter=20, **rs).fit(d.x, d.y, sample_weight=weights(d)),
    )
    for name in ("log2", 0.3):
        yield (
            "iris",
            f"forest balanced per tree, max_features={name}",
            _fit(
                lambda name=name: ensemble.RandomForestClassifier(
                    9, class_weight="balanced_subsample", max_features=name, max_samples=0.5, **rs
                )
            ),
        )
    yield (
        "several",
        "chain of classifiers of trees",
        lambda d: multioutput.ClassifierChain(tree.DecisionTreeClassifier(max_depth=3, **rs)).fit(d.x, (d.y > 0).astype(int)),
    )
    yield (
        "several",
        "forest of three labels",
        lambda d: ensemble.RandomForestClassifier(5, max_depth=3, **rs).fit(d.x, (d.y > 0).astype(int)),
    )
    yield (
        "labels",
        "OneVsOne of forests",
        _fit(lambda: multiclass.OneVsOneClassifier(ensemble.RandomForestClassifier(3, max_depth=3, **rs))),
    )
    yield (
        "labels",
        "calibrated boosting",
        _fit(lambda: calibration.CalibratedClassifierCV(ensemble.HistGradientBoostingClassifier(max_iter=5, **rs), cv=2)),
    )
    yield (
        "diabetes",
        "squared target",
        _fit(
            lambda: compose.TransformedTargetRegressor(
                ensemble.RandomForestRegressor(5, max_depth=4, **rs), func=np.sqrt, inverse_func=np.square
            )
        ),
    )
    yield (
        "words",
        "max-abs scaled, linear",
        _fit(lambda: pipeline.make_pipeline(preprocessing.MaxAbsScaler(), linear_model.LogisticRegression(max_iter=300))),
    )
    yield (
        "words",
        "tf-idf of counts, forest",
        _fit(
            lambda: pipeline.make_pipeline(
                feature_extraction.text.TfidfTransformer(), ensemble.RandomForestClassifier(10, max_depth=5, **rs)
            )
        ),
    )
    yield (
        "steps",
        "hashed, encoded, boosted",
        _fit(
            lambda: pipeline.make_pipeline(
                compose.make_column_transformer(
                    (preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["shop", "kind"]),
                    remainder="passthrough",
                ),
                ensemble.HistGradientBoostingRegressor(categorical_features=[0, 1], max_iter=20, **rs),
            )
        ),
    )


def _skops() -> Iterator[Made]:
    from sklearn import ensemble, pipeline, preprocessing

    def again(data: Table, model: Any) -> Any:
        import skops.io

        file = _file("skops")
        skops.io.dump(model.fit(data.x, data.y), file)
        return skops.io.load(file, trusted=skops.io.get_untrusted_types(file=file))

    yield "rare", "from .skops, forest", lambda d: again(d, ensemble.RandomForestClassifier(10, max_depth=4, random_state=SEED))
    yield "diabetes", "from .skops, Hist", lambda d: again(d, ensemble.HistGradientBoostingRegressor(max_iter=20))
    yield (
        "iris",
        "from .skops, chain",
        lambda d: again(
            d, pipeline.make_pipeline(preprocessing.StandardScaler(), ensemble.GradientBoostingClassifier(n_estimators=10))
        ),
    )
