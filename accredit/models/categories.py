"""What models remember of the columns that they learned from: their names, and the categories that words stand for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import lightgbm
    import pandas
    import xgboost

Category = list[object] | None  # the categories of a column in the order of their codes


def with_categories(table: pandas.DataFrame, model: object) -> tuple[pandas.DataFrame, tuple[str, ...]]:
    """A table whose columns are categories where the model remembers them, and what to say about it. No value changes.

    A value that the model never saw is refused: some libraries would take it for a missing one without a word.
    """
    return as_categories(table, remember(model)) if hasattr(table, "iloc") else (table, ())


def as_categories(table: pandas.DataFrame, learned: dict[str, list[object]]) -> tuple[pandas.DataFrame, tuple[str, ...]]:
    """The same for categories that were asked of the model before."""
    if not learned:
        return table, ()
    import pandas

    known = {name: kinds for name, kinds in learned.items() if name in table.columns}
    for name, kinds in list(known.items()):
        if not kinds:
            _check_coded(table[name], name)
            del known[name]
            continue
        unseen = [v for v in table[name].dropna().unique().tolist() if v not in kinds]
        if unseen:
            raise InvalidInput(
                f"column {name!r} holds {unseen[0]!r}, which is not one of the model's categories "
                f"({', '.join(map(repr, kinds[:8]))}{', …' * (len(kinds) > 8)}); leave the row out, or fit the model with it",
                code="unknown",
            )
    plain = [name for name in known if not isinstance(table[name].dtype, pandas.CategoricalDtype)]
    changed = {name: pandas.Categorical(table[name], categories=known[name]) for name in plain}
    said = tuple(f"column {name!r} was read as the categories that the model remembers" for name in plain)
    return table.assign(**changed) if plain else table, said


def remember(model: object) -> dict[str, list[object]]:
    """The categories of the columns that a booster of xgboost or lightgbm has learned as such."""
    home = type(model).__module__.split(".")[0]
    if home == "xgboost":
        booster: xgboost.Booster = model.get_booster() if hasattr(model, "get_booster") else model
        kinds, names = booster.feature_types or [], booster.feature_names or []
        if "c" not in kinds or not names:
            return {}
        grown = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
        found = xgboost_categories(grown.get("gbtree", grown).get("model", {}).get("cats"), len(names))
        learned = (name for name, kind in zip(names, kinds, strict=True) if kind == "c")
        return {name: found[names.index(name)] or [] for name in learned}
    if home == "lightgbm":
        grower: lightgbm.Booster = getattr(model, "booster_", model)
        kept = getattr(grower, "pandas_categorical", None) or []
        infos = grower.dump_model(num_iteration=1)["feature_infos"] if kept else {}
        listed = [name for name in grower.feature_name() if infos.get(name, {}).get("values")] if kept else []
        return dict(zip(listed, kept, strict=True)) if len(listed) == len(kept) else {}
    return {}


def learned_columns(model: Any) -> tuple[str, ...] | None:
    """The names of the columns that a model has learned from, in its order; None where it does not know them."""
    home = type(model).__module__.split(".")[0]
    if home == "xgboost":
        names = (model.get_booster() if hasattr(model, "get_booster") else model).feature_names
    elif home == "lightgbm":
        names = getattr(model, "booster_", model).feature_name()
    elif home == "catboost":
        names = model.feature_names_
    else:
        names = getattr(model, "feature_names_in_", None)
    found = () if names is None else tuple(map(str, names))
    made_up = all(re.fullmatch(rf"(Column_|f)?{k}", name) for k, name in enumerate(found))  # by a library that was given none
    return None if made_up else found


def _check_coded(column: pandas.Series, name: str) -> None:
    """Refuse words where the model does not say which codes they have."""
    import pandas

    if not isinstance(column.dtype, pandas.CategoricalDtype) and not pandas.api.types.is_numeric_dtype(column.dtype):
        raise InvalidInput(
            f"column {name!r} holds words, and the model does not say which codes its categories have (xgboost cuts names with "
            "letters beyond ASCII when it stores them); give the column as the categories of the training frame: "
            f"frame[{name!r}].astype(training[{name!r}].dtype)",
            code="unsupported",
        )


def xgboost_categories(cats: Mapping[str, Any] | None, features: int) -> list[Category]:
    """The categories that an xgboost model remembers for each column, in the order of their codes; None where it remembers
    none, or where a name has letters beyond ASCII: xgboost counts these in letters and stores bytes, and loses the end."""
    found: list[Category] = [None] * features
    for column, entry in enumerate((cats or {}).get("enc", [])):
        if "offsets" in entry and len(entry["offsets"]) > 1:
            text, at = bytes(int(v) % 256 for v in entry["values"]), entry["offsets"]
            found[column] = [text[a:b].decode() for a, b in pairwise(at)] if text.isascii() else None
        elif "offsets" not in entry and len(entry.get("values", ())):
            found[column] = np.asarray(entry["values"]).tolist()
    return found
