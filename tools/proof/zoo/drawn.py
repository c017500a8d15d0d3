"""Recipes that are drawn: tables of odd columns under odd names, each with models as people chain them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from tools.proof.zoo.datasets import DRAWN, Table

Train = Callable[[Table], Any]
Make = Callable[[Any], Any]  # the rows -> a model to be trained on them
RS = {"random_state": 0}
ONE = {"n_jobs": 1, "n_estimators": 12}
STILL = {"verbose": False, "thread_count": 1, "allow_writing_files": False, "iterations": 12}


def drawn() -> Iterator[tuple[str, str, str, Train]]:
    """Library, name, table and training of each of them; every table is met by the models that can read it."""
    for library, made in (("xgboost", _xgboost), ("lightgbm", _lightgbm), ("catboost", _catboost), ("scikit-learn", _scikit)):
        for data, (name, make) in product(DRAWN, made().items()):
            suits, said = name.split(": ")
            if data.split()[1] in suits.split("/"):
                yield library, f"drawn {said}", data, lambda d, make=make: make(d.x).fit(d.x, d.y)


def _xgboost() -> dict[str, Make]:
    import xgboost as xgb

    return {
        "numbers: mean error": lambda x: xgb.XGBRegressor(**ONE, objective="reg:absoluteerror"),
        "numbers: quantiles": lambda x: xgb.XGBRegressor(**ONE, objective="reg:quantileerror", quantile_alpha=[0.2, 0.8]),
        "numbers/kinds: stumps": lambda x: xgb.XGBRegressor(**ONE, max_depth=1, enable_categorical=True),
        "classes: forest": lambda x: xgb.XGBRFClassifier(n_estimators=8, n_jobs=1, max_depth=4),
        "classes: dart": lambda x: xgb.XGBClassifier(**ONE, booster="dart", rate_drop=0.4, sample_type="weighted"),
        "kinds: one-hot splits": lambda x: xgb.XGBRegressor(**ONE, enable_categorical=True, max_cat_to_onehot=9),
        "kinds: sets": lambda x: xgb.XGBRegressor(**ONE, enable_categorical=True, max_cat_to_onehot=1),
        "amounts: Cox": lambda x: xgb.XGBRegressor(**ONE, objective="survival:cox"),
        "amounts: squared log": lambda x: xgb.XGBRegressor(**ONE, objective="reg:squaredlogerror"),
        "amounts: tweedie": lambda x: xgb.XGBRegressor(**ONE, objective="reg:tweedie", base_score=2.0),
    }


def _lightgbm() -> dict[str, Make]:
    import lightgbm as lgb

    given: dict[str, Any] = {**ONE, "verbose": -1, "min_child_samples": 5}
    return {
        "numbers: huber": lambda x: lgb.LGBMRegressor(**given, objective="huber"),
        "numbers: few bins, monotone": lambda x: lgb.LGBMRegressor(
            **given, max_bin=7, monotone_constraints=[1] + [0] * (x.shape[1] - 1)
        ),
        "numbers: linear leaves": lambda x: lgb.LGBMRegressor(**given, linear_tree=True, num_leaves=4),
        "classes: sample by gradient": lambda x: lgb.LGBMClassifier(**given, data_sample_strategy="goss"),
        "classes: averaged": lambda x: lgb.LGBMClassifier(**given, boosting_type="rf", bagging_freq=1, bagging_fraction=0.6),
        "kinds: words": lambda x: lgb.LGBMRegressor(**given),
        "kinds: words one by one": lambda x: lgb.LGBMRegressor(**given, max_cat_to_onehot=9),
        "amounts: tweedie": lambda x: lgb.LGBMRegressor(**given, objective="tweedie"),
        "amounts: gamma dart": lambda x: lgb.LGBMRegressor(**given, objective="gamma", boosting_type="dart"),
    }


def _catboost() -> dict[str, Make]:
    import catboost as cat

    def words(x: Any) -> list[int]:
        return [i for i, kind in enumerate(x.dtypes) if str(kind) in ("category", "object", "str")]

    return {
        "numbers: uncertainty": lambda x: cat.CatBoostRegressor(**STILL, loss_function="RMSEWithUncertainty"),
        "numbers: two quantiles": lambda x: cat.CatBoostRegressor(**STILL, loss_function="MultiQuantile:alpha=0.2,0.8"),
        "numbers: huber": lambda x: cat.CatBoostRegressor(**STILL, loss_function="Huber:delta=1.0"),
        "classes: shallow": lambda x: cat.CatBoostClassifier(**STILL, depth=2),
        "kinds: words as they are": lambda x: cat.CatBoostRegressor(**STILL, cat_features=words(x)),
        "kinds: words one by one": lambda x: cat.CatBoostRegressor(**STILL, cat_features=words(x), one_hot_max_size=99),
        "amounts: log-cosh": lambda x: cat.CatBoostRegressor(**STILL, loss_function="LogCosh"),
        "amounts: poisson": lambda x: cat.CatBoostRegressor(**STILL, loss_function="Poisson"),
    }


def _scikit() -> dict[str, Make]:
    from sklearn import compose, ensemble, gaussian_process, kernel_approximation, linear_model, multiclass, svm, tree
    from sklearn import preprocessing as prepare
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.feature_selection import SelectKBest, f_regression
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline, make_union

    scaled = lambda *steps: make_pipeline(prepare.StandardScaler(), *steps)  # noqa: E731
    words = compose.make_column_selector(dtype_include="category")

    def encoded(encoder: Any, *steps: Any, passed: Any = "passthrough") -> Any:
        chosen = compose.make_column_transformer((encoder, words), remainder=passed, verbose_feature_names_out=False)
        return make_pipeline(chosen, *steps)

    one_hot = lambda **more: prepare.OneHotEncoder(handle_unknown="ignore", **more)  # noqa: E731
    line, logistic, boosted = linear_model.Ridge, linear_model.LogisticRegression, ensemble.GradientBoostingRegressor
    forest = lambda: ensemble.RandomForestRegressor(6, max_depth=4, **RS)  # noqa: E731
    trees = lambda: ensemble.RandomForestClassifier(6, max_depth=3, **RS)  # noqa: E731
    return {
        "numbers: bins → line": lambda x: scaled(prepare.KBinsDiscretizer(4), line()),
        "numbers: polynomial → line": lambda x: scaled(prepare.PolynomialFeatures(2), line()),
        "numbers: quantiles and scale → line": lambda x: make_pipeline(
            make_union(prepare.StandardScaler(), prepare.QuantileTransformer(n_quantiles=20)), line()
        ),
        "numbers: Theil–Sen": lambda x: scaled(linear_model.TheilSenRegressor(**RS, max_subpopulation=100)),
        "numbers: quantile of a line": lambda x: scaled(linear_model.QuantileRegressor(quantile=0.8, alpha=0.01)),
        "numbers: RANSAC": lambda x: scaled(linear_model.RANSACRegressor(**RS)),
        "numbers: kernel ridge": lambda x: scaled(KernelRidge(kernel="laplacian", gamma=0.3)),
        "numbers: NuSVR of polynomials": lambda x: scaled(svm.NuSVR(kernel="poly", degree=2)),
        "numbers: Gaussian process": lambda x: scaled(gaussian_process.GaussianProcessRegressor(alpha=0.1)),
        "numbers: Nyström → line": lambda x: scaled(kernel_approximation.Nystroem(n_components=10, **RS), line()),
        "numbers: best column → trees": lambda x: make_pipeline(SelectKBest(f_regression, k=1), boosted(n_estimators=6, **RS)),
        "numbers: stack of forest and line": lambda x: ensemble.StackingRegressor([("a", forest()), ("b", scaled(line()))]),
        "numbers: vote, weighted": lambda x: ensemble.VotingRegressor(
            [("a", forest()), ("b", scaled(line())), ("c", tree.DecisionTreeRegressor(max_depth=3, **RS))], weights=[1, 2, 0.5]
        ),
        "numbers: bag of AdaBoost": lambda x: ensemble.BaggingRegressor(ensemble.AdaBoostRegressor(n_estimators=4), 3, **RS),
        "numbers: boosting of a line's rest": lambda x: boosted(init=linear_model.LinearRegression(), n_estimators=8, **RS),
        "numbers: network": lambda x: scaled(MLPRegressor(hidden_layer_sizes=(6,), max_iter=60, **RS)),
        "classes: isotonic of SVM": lambda x: CalibratedClassifierCV(scaled(svm.LinearSVC()), method="isotonic", cv=2),
        "classes: sigmoid of forest": lambda x: CalibratedClassifierCV(trees(), cv=2),
        "classes: one against the rest": lambda x: multiclass.OneVsRestClassifier(scaled(logistic())),
        "classes: vote of chances": lambda x: ensemble.VotingClassifier(
            [("a", trees()), ("b", scaled(logistic()))], voting="soft", weights=[1, 3]
        ),
        "classes: stack of trees": lambda x: ensemble.StackingClassifier(
            [("a", trees()), ("b", scaled(svm.SVC()))], final_estimator=trees(), passthrough=True
        ),
        "classes: neighbours": lambda x: scaled(KNeighborsClassifier(7)),
        "classes: modified Huber": lambda x: scaled(linear_model.SGDClassifier(loss="modified_huber", **RS)),
        "classes: bins → logistic": lambda x: scaled(prepare.KBinsDiscretizer(3), logistic()),
        "classes: Nyström → logistic": lambda x: scaled(kernel_approximation.Nystroem(n_components=8, **RS), logistic()),
        "kinds: one-hot, sparse → line": lambda x: encoded(one_hot(), line(), passed=prepare.StandardScaler()),
        "kinds: one-hot → boosting": lambda x: encoded(one_hot(sparse_output=False), boosted(n_estimators=8, **RS)),
        "kinds: ordinal → forest": lambda x: encoded(prepare.OrdinalEncoder(), forest()),
        "kinds: target means → line": lambda x: encoded(prepare.TargetEncoder(**RS), prepare.StandardScaler(), line()),
        "kinds: from the types": lambda x: ensemble.HistGradientBoostingRegressor(max_iter=9),
        "amounts: gamma, a line": lambda x: scaled(linear_model.GammaRegressor()),
        "amounts: tweedie, a line": lambda x: scaled(linear_model.TweedieRegressor(power=1.5, link="log")),
        "amounts: log of the target, SVM": lambda x: TransformedTargetRegressor(
            scaled(svm.SVR()), func=np.log1p, inverse_func=np.expm1
        ),
        "amounts: gamma, boosting": lambda x: ensemble.HistGradientBoostingRegressor(loss="gamma", max_iter=8),
        "amounts: forest by poisson": lambda x: ensemble.RandomForestRegressor(5, criterion="poisson", max_depth=3, **RS),
    }  # fmt: skip
