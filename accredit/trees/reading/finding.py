"""Which reader a model needs, by the library that its class comes from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from accredit.checks.arguments import check_arguments
from accredit.checks.files import check_is_file
from accredit.checks.numbers import shown
from accredit.errors import AccreditError, InvalidInput
from accredit.models.row_files import load_row_model
from accredit.models.survival import SurvivalCurves
from accredit.trees.forest import Forest
from accredit.trees.reading.ensemble import Ensemble, NotTrees

if TYPE_CHECKING:
    import lightgbm
    import xgboost

    from accredit.models.row_types import Table


def ensemble_of(model: object) -> Ensemble:
    """The trees of a fitted model, checked against its own raw output on rows made from its thresholds.

    Reads scikit-learn trees, forests and boosting, scikit-survival's trees and forests, and estimators and native boosters of
    xgboost, lightgbm and catboost.
    Raises `NotTrees` for anything else.

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> read = ensemble_of(DecisionTreeRegressor().fit([[0.0], [1.0]], [1.0, 3.0]))
    >>> read.columns, read.outputs, read.payoff
    (('x0',), ('value',), 'value')
    """
    if isinstance(model, Ensemble):
        return model
    library = type(model).__module__.split(".")[0]
    name = type(model).__name__
    if isinstance(model, SurvivalCurves):
        from accredit.trees.reading.scikit import read_survival_curves

        return read_survival_curves(model).check()
    if library == "sklearn":
        from accredit.trees.reading.scikit import read_scikit

        return read_scikit(model).check()
    if library == "sksurv":
        from accredit.trees.reading.scikit import read_survival

        return read_survival(model).check()
    if library == "xgboost":
        return _xgboost(model, name)
    if library == "lightgbm":
        return _lightgbm(model, name)
    if library == "catboost":
        from accredit.trees.reading.catboost_json import read_catboost

        return read_catboost(model)
    raise NotTrees(f"{name} is not a tree ensemble that can be read; scikit-learn, xgboost, lightgbm and catboost are")


def _lightgbm(model: lightgbm.LGBMModel | lightgbm.Booster, name: str) -> Ensemble:
    from accredit.trees.reading.boosters import read_lightgbm

    booster = model if name == "Booster" else model.booster_
    return read_lightgbm(booster, f"lightgbm {name}", getattr(model, "classes_", None))


def _xgboost(model: xgboost.XGBModel | xgboost.Booster, name: str) -> Ensemble:
    from accredit.trees.reading.boosters import read_xgboost

    if name == "Booster":
        return read_xgboost(model, "xgboost Booster")
    booster = model.get_booster()
    if getattr(model, "early_stopping_rounds", None) is not None:
        booster = booster[: model.best_iteration + 1]

    def own(rows: Table) -> object:
        return model.predict(rows, output_margin=True)

    return read_xgboost(booster, f"xgboost {name}", getattr(model, "classes_", None), own)


def forest_of(model: object) -> Forest:
    """The trees of a fitted model as arrays.

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> forest = forest_of(DecisionTreeRegressor().fit([[0.0], [1.0]], [1.0, 3.0]))
    >>> forest.threshold[0].item(), forest.margin(np.array([[0.2]])).tolist()
    (0.5, [[1.0]])
    """
    return ensemble_of(model).forest


@check_arguments
def load_ensemble(path: str | Path, trusted: Iterable[str] = ()) -> Ensemble:
    """The trees of a model file that is safe to open: xgboost JSON or UBJ, lightgbm text, catboost JSON or cbm, skops.

    >>> import tempfile
    >>> import xgboost
    >>> booster = xgboost.XGBRegressor(n_estimators=2, max_depth=1).fit([[0.0], [1.0]], [1.0, 3.0])
    >>> file = f"{tempfile.mkdtemp()}/model.json"
    >>> booster.save_model(file)
    >>> load_ensemble(file).forest.source
    'xgboost Booster'
    """
    check_is_file(path)
    trusted = trusted if isinstance(trusted, str) else tuple(trusted)
    if isinstance(trusted, str) or not all(isinstance(name, str) for name in trusted):
        raise InvalidInput(
            f"trusted is {shown(trusted)}; give the names of types, as in trusted=['numpy.dtype']",
            argument="trusted",
            code="type",
        )
    try:
        return ensemble_of(load_row_model(path, trusted).model)
    except (AccreditError, OSError):
        raise
    except Exception as error:  # each library has errors of its own for a file that is not whole
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InvalidInput(
            f"{str(path)!r} is not a whole model: {lines[0]:.200}; save the model again", code="unreadable"
        ) from error
