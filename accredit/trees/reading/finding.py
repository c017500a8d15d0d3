"""Which reader a model needs, by the library that its class comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from accredit.core import InvalidInput, MissingExtra
from accredit.trees.forest import Forest
from accredit.trees.reading.ensemble import Ensemble, NotTrees


def ensemble_of(model: Any) -> Ensemble:
    """The trees of a fitted model, checked against its own raw output on rows made from its thresholds.

    Reads scikit-learn trees, forests and boosting, and estimators and native boosters of xgboost, lightgbm and catboost.
    Raises `NotTrees` for anything else.
    """
    if isinstance(model, Ensemble):
        return model
    library = type(model).__module__.split(".")[0]
    name = type(model).__name__
    if library == "sklearn":
        from accredit.trees.reading.scikit import read_scikit

        return read_scikit(model).checked()
    if library == "xgboost":
        return _xgboost(model, name)
    if library == "lightgbm":
        from accredit.trees.reading.boosters import read_lightgbm

        booster = model if name == "Booster" else model.booster_
        return read_lightgbm(booster, f"lightgbm {name}", getattr(model, "classes_", None))
    if library == "catboost":
        from accredit.trees.reading.catboost_json import read_catboost

        return read_catboost(model)
    raise NotTrees(f"{name} is not a tree ensemble that can be read; scikit-learn, xgboost, lightgbm and catboost are")


def _xgboost(model: Any, name: str) -> Ensemble:
    from accredit.trees.reading.boosters import read_xgboost

    if name == "Booster":
        return read_xgboost(model, "xgboost Booster")
    booster = model.get_booster()
    if getattr(model, "early_stopping_rounds", None) is not None:
        booster = booster[: model.best_iteration + 1]

    def own(rows: Any) -> Any:
        return model.predict(rows, output_margin=True)

    return read_xgboost(booster, f"xgboost {name}", getattr(model, "classes_", None), own)


def forest_of(model: Any) -> Forest:
    """The trees of a fitted model as arrays."""
    return ensemble_of(model).forest


def load_ensemble(path: str | Path) -> Ensemble:
    """The trees of a model file that is safe to open: xgboost JSON or UBJ, lightgbm text, catboost JSON or cbm."""
    file = Path(path)
    if not file.is_file():
        raise InvalidInput(f"{file} is not a file; give a model saved by xgboost, lightgbm or catboost")
    library = _library_of(file)
    try:
        if library == "xgboost":
            import xgboost

            return ensemble_of(xgboost.Booster(model_file=str(file)))
        if library == "lightgbm":
            import lightgbm

            return ensemble_of(lightgbm.Booster(model_file=str(file)))
        import catboost

        return ensemble_of(
            catboost.CatBoost().load_model(str(file), format="json" if file.suffix == ".json" else "cbm")
        )
    except ImportError:
        raise MissingExtra(library, "trees", f"reading {file.name}") from None


def _library_of(file: Path) -> str:
    """Which library wrote a model file, by its beginning; pickles are never opened."""
    with file.open("rb") as opened:
        start = opened.read(64)
    if start.startswith(b"tree\n"):
        return "lightgbm"
    if start.startswith(b"CBM1"):
        return "catboost"
    if start[:1] == b"{" and file.suffix == ".json":
        keys = json.loads(file.read_text(encoding="utf-8")).keys()
        return "catboost" if "features_info" in keys else "xgboost"
    if start[:1] == b"{" and file.suffix == ".ubj":
        return "xgboost"
    raise InvalidInput(
        f"{file.name} is not an xgboost (.json, .ubj), lightgbm (.txt) or catboost (.json, .cbm) model; pickle and joblib "
        "files run code when they are opened and are never read"
    )
