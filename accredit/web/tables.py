"""Tables on the page: rows in, the columns that earned their outputs out. The model was named at the start, or is fitted."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from accredit.checks import needs
from accredit.checks.table_format import DELIMITERS, TableFormat
from accredit.errors import InvalidInput
from accredit.rows.credit import are_trees
from accredit.rows.result import TableExplanation
from accredit.training_data.columns import are_few
from accredit.valuation.targets import predicts_number
from accredit.views.language.numbers import percent
from accredit.views.language.phrases import NUMBERED, counted
from accredit.views.pages.html import table_page
from accredit.views.pages.table_page import QUESTION, row_body, rows_list, table_body
from accredit.web.requests import Writing
from accredit.web.uploads import drop, in_own_name, kind_of

if TYPE_CHECKING:
    import pandas
    from sklearn.base import BaseEstimator

    from accredit.web.tasks import Models


# A model fitted on the spot, for a table that comes without one: what it learned from, and how good it is on unseen rows.

FEWEST, FOLDS, MOST_CLASSES = 20, 5, 20
BARELY = 0.02  # by how much of what there is to gain a model must beat guessing before it is said to have learned


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A model, the columns that it reads, and what a reader must know of both."""

    model: object
    rows: pandas.DataFrame
    about: tuple[str, ...]


def fit(frame: pandas.DataFrame, target: str, file: str) -> FittedTable:
    """Gradient-boosted trees that predict `target` from the other columns; judged on folds that they did not see."""
    if target not in frame.columns:
        raise InvalidInput(
            f"{file} has no column {target!r}; choose one of {', '.join(frame.columns[:20])}", argument="target", code="unknown"
        )
    known = frame[frame[target].notna()]
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
        if not are_few(frame[name]):
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


CELLS = 1_000_000  # of a table, counted before it is read
ROWS, FEW_ROWS = 1_000, 40  # that are explained, of trees, and of models that are asked coalition by coalition
BACKGROUND, FEW_BACKGROUND = 300, 40  # rows that each is compared with
BUILT_IN = (
    "The built-in table: how far diabetes progressed within a year in 100 patients whom the built-in model has not seen. It "
    "learned from 342 others."
)

Event = dict[str, Any]
Explains = Callable[["pandas.DataFrame"], TableExplanation]
COUNTED = "counted"  # attribute of a frame whose rows have numbers and no names of their own


def explain_table(models: Models, task: Event) -> Generator[Event]:
    """The whole table, or, once that is known, one row of it from base value to output."""
    yield {"event": "progress", "method": "reading the table", "done": 0, "of": 2}
    table = models.recent.get(_key(task), lambda: _explain(models, task))
    if task["row"] is not None or task.get("page") is not None:
        yield {"event": "result", "done": 2, "of": 2, **_part(table, task)}
        yield {"event": "done"}
        return
    explained, about = _show(table.overview, task), table.about
    first_page = _show(table.page(0), task) if table.pages > 1 else None
    yield {
        "event": "result",
        "done": 2,
        "of": 2,
        "title": QUESTION,
        "html": table_body(explained, about, True, first_page, table.pages),
        "outputs": list(explained.outputs),
        "shown": explained.target,
        "rows": table.count,
    }
    yield {"event": "done", "page": table_page(explained, about), "json": explained.to_json()}


def _part(table: ExplainedTable, task: Event) -> Event:
    """The steps of one row, or a page of rows to pick from."""
    row = task["row"]
    number: int = task["page"] if row is None else row // table.most
    if number >= table.pages or (row is not None and row >= table.count):
        said = f"page {number + 1}" if row is None else f"row {row + 1}"
        raise InvalidInput(f"{said} is not in a table of {table.count:,} rows", code="range")
    part, first = _show(table.page(number), task), number * table.most
    return {"list": rows_list(part, range(len(part)), first)} if row is None else {"row": row_body(part, row - first, row)}


def _show(explained: TableExplanation, task: Event) -> TableExplanation:
    """The explanation with the output that is asked for in front."""
    return explained.of(task["shown"]) if task["shown"] else explained


class ExplainedTable:
    """Rows and what explains them: an overview over rows that are spread evenly, and pages of all of them when asked for."""

    def __init__(self, explain: Explains, rows: pandas.DataFrame, most: int, about: tuple[str, ...], numbered: bool) -> None:
        self._explain, self._rows, self._numbered, self.most = explain, rows, numbered, most
        self.count, self.pages = len(rows), -(-len(rows) // most)
        places = np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(np.int64))
        self.overview = self._part(places)
        self._page = 0, self.overview if self.pages == 1 else self._part(np.arange(most))
        thin = f"The ranking is over {len(places):,} of {self.count:,} rows, spread evenly; below, every row can be looked at."
        self.about = (*about, *[thin] * (self.pages > 1))

    def page(self, number: int) -> TableExplanation:
        """So many rows in the order of the table; the last page that was asked for is kept."""
        if self._page[0] != number:
            self._page = number, self._part(np.arange(number * self.most, min((number + 1) * self.most, self.count)))
        return self._page[1]

    def _part(self, places: npt.NDArray[np.int64]) -> TableExplanation:
        made = self._explain(self._rows.iloc[places])
        return replace(made, provenance={**made.provenance, NUMBERED: True}) if self._numbered else made


def _key(task: Event) -> Hashable:
    return "table", sha256(task["table"].encode()).hexdigest(), task["name"], task["target"], _writing(task)


def _writing(task: Event) -> TableFormat:
    return Writing(**task.get("writing", {})).format()


def _explain(models: Models, task: Event) -> ExplainedTable:
    from accredit.explanation.explainer import Explainer

    if not task["table"]:
        from accredit.models.builtin.table import builtin_table

        model, rows, background = builtin_table()
        return ExplainedTable(Explainer(model, background=background), rows, ROWS, (BUILT_IN,), False)
    file = PurePath(task["name"]).name
    frame, served = _frame(task["table"], file, _writing(task)), models.by_kind.get("rows")
    if served is None:
        if not task["target"]:
            raise InvalidInput(
                "no model was named at the start; choose the column that one fitted here is to predict", code="missing"
            )
        made = fit(frame, task["target"], file)
        explainer, rows, about = Explainer(made.model), made.rows, made.about
    else:
        explainer, about = served, (f"Model: {served.model_for('rows').name}.",)
        rows = frame.drop(columns=[task["target"]] if task["target"] in frame.columns else [])
    trees = are_trees(served.model_for("rows")) if served is not None else True
    background = None if served is not None and len(rows) < 20 else rows
    most = min(BACKGROUND if trees else FEW_BACKGROUND, len(rows))
    asked = partial(explainer, background=background, most_background=None if background is None else most)
    return ExplainedTable(asked, rows, ROWS if trees else FEW_ROWS, about, bool(frame.attrs.get(COUNTED)))


def _frame(text: str, file: str, said: TableFormat) -> pandas.DataFrame:
    """A table that was dropped; how large it is is estimated before it is read."""
    import pandas

    from accredit.store.frames import NOTES, notes_of, read_frame

    kind_of(file)  # which refuses what is not a table
    first, _, _ = text.lstrip().partition("\n")
    cells = (text.count("\n") + 1) * (max(first.count(mark) for mark in (said.delimiter or ",", *DELIMITERS)) + 1)
    if cells > CELLS:
        raise InvalidInput(
            f"{file} holds about {cells:,} cells, and this page reads up to {CELLS:,}; keep the rows or columns that matter, "
            "or use accredit explain",
            code="too-many",
        )
    with drop(text, file, asks=True) as path:
        frame = read_frame(path, said=said)
        frame.attrs[NOTES] = in_own_name(notes_of(frame), path, file)
    if isinstance(frame.index, pandas.RangeIndex):
        frame.index = pandas.RangeIndex(1, len(frame) + 1)  # counted from 1, as everywhere but in Python
        frame.attrs[COUNTED] = True
    return frame
