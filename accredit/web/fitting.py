"""A model fitted on the spot, for a table that comes without one: what it learned from, and how good it is on unseen rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from accredit.checks import needs
from accredit.errors import InvalidInput
from accredit.training_data.table_notes import MANY_KINDS
from accredit.valuation.targets import predicts_number
from accredit.views.numbers import percent
from accredit.views.words import counted

if TYPE_CHECKING:
    import pandas
    from sklearn.base import BaseEstimator

FEWEST, FOLDS, MOST_CLASSES = 20, 5, 20
BARELY = 0.02  # by how much of what there is to gain a model must beat guessing before it is said to have learned


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A model, the columns that it reads, and what a reader must know of both."""

    model: object
    rows: pandas.DataFrame
    about: tuple[str, ...]


def fit(frame: pandas.DataFrame, target: str, file: str) -> FittedTable:
    """Gradient-boosted trees that foretell `target` from the other columns; judged on folds that they did not see."""
    if target not in frame.columns:
        raise InvalidInput(
            f"{file} has no column {target!r}; choose one of {', '.join(frame.columns[:20])}", argument="target", code="unknown"
        )
    known = frame[frame[target].notna()].reset_index(drop=True)
    if len(known) < FEWEST:
        known_rows = counted(len(known), "row")
        raise InvalidInput(
            f"{file} has {known_rows} with a value of {target!r}; a model needs at least {FEWEST} to learn from", code="range"
        )
    rows, left_out, empty = _readable(known.drop(columns=target))
    regression = predicts_number(known[target])
    answers = known[target].to_numpy(np.float64) if regression else _classes(known[target], target)
    about = [
        f"No model was given, so one was fitted on the spot: gradient-boosted trees learned {target} from "
        f"{counted(len(rows.columns), 'other column')} of {file}, {counted(len(rows), 'row')}. "
        f"{_judge(rows, answers, regression)}"
    ]
    if len(known) < len(frame):
        about.append(f"{counted(len(frame) - len(known), 'row')} without a value of {target} were left out.")
    if left_out:
        about.append(f"Left out of what it reads, because nearly every row has a word of its own: {', '.join(left_out)}.")
    if empty:
        about.append(f"Left out of what it reads, because no row has a value there: {', '.join(empty)}.")
    return FittedTable(_trees(regression, len(rows)).fit(rows, answers), rows, tuple(about))


def _trees(regression: bool, rows: int) -> BaseEstimator:
    with needs("data", "fitting a model on the spot"):
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    kind = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    leaf = max(2, min(20, rows // 20))  # of a small table, the usual 20 rows in a leaf would leave nothing to split
    return kind(
        max_iter=60, max_depth=4, learning_rate=0.08, min_samples_leaf=leaf, random_state=0, categorical_features="from_dtype"
    )


def _readable(frame: pandas.DataFrame) -> tuple[pandas.DataFrame, list[str], list[str]]:
    """Numbers as they are, words as categories; left out are columns of words of which nearly every row has its own, and
    columns without any value."""
    empty = [str(name) for name in frame.columns if not frame[name].notna().any()]
    rows, left_out = frame.drop(columns=empty), []
    for name in rows.columns:
        if frame[name].dtype.kind in "iufb":
            continue
        if frame[name].nunique() > min(MANY_KINDS, max(2, len(frame) // 2)):
            left_out.append(str(name))
        rows[name] = frame[name].astype("category")
    rows = rows.drop(columns=left_out)
    if not len(rows.columns):
        raise InvalidInput(
            "no column is left to learn from: a model of rows reads numbers and categories, not texts, and not columns "
            "without any value",
            code="empty",
        )
    return rows, left_out, empty


def _classes(column: pandas.Series, target: str) -> npt.NDArray[np.generic]:
    whole = column.dtype.kind == "f" and (column % 1 == 0).all()
    words: npt.NDArray[np.generic] = (column.astype(np.int64) if whole else column).astype(str).to_numpy()
    kinds = len(set(words.tolist()))
    if not 2 <= kinds <= MOST_CLASSES:
        has = "one value only" if kinds == 1 else f"{kinds:,} different values"
        raise InvalidInput(f"the column {target!r} has {has}; a column of classes has from 2 to {MOST_CLASSES}", code="range")
    return words


def _judge(rows: pandas.DataFrame, answers: npt.NDArray[Any], regression: bool) -> str:
    """How good the model is on rows that it has not seen, beside guessing without looking."""
    from sklearn.model_selection import KFold, cross_val_predict

    said = cross_val_predict(_trees(regression, len(rows)), rows, answers, cv=KFold(FOLDS, shuffle=True, random_state=0))
    if regression:
        spread = float(np.var(answers)) or 1.0
        gained = 1 - float(np.mean((said - answers) ** 2)) / spread
        sentence = f"On rows that they had not seen ({FOLDS} folds) they explain {percent(max(gained, 0.0))} of its variance."
    else:
        kinds, counts = np.unique(answers, return_counts=True)
        right, guess = float(np.mean(said == answers)), float(counts.max() / len(answers))
        gained = (right - guess) / max(1 - guess, 1e-12)
        sentence = (
            f"On rows that they had not seen ({FOLDS} folds) they are right {percent(right)} of the time; always saying "
            f"{kinds[counts.argmax()]} would be right {percent(guess)} of the time."
        )
    doubt = " That hardly beats guessing: what follows explains the model, and says little about the world."
    return sentence + doubt * (gained < BARELY)
