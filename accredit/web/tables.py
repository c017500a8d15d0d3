"""Tables on the page: rows in, the columns that earned their outputs out. The model was named at the start, or is fitted."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.checks.tables import SEPARATORS
from accredit.errors import InvalidInput
from accredit.rows.credit import are_trees
from accredit.rows.result import TableExplanation
from accredit.views.html import table_page
from accredit.views.table_page import QUESTION, row_body, table_body
from accredit.web.fitting import fit
from accredit.web.uploads import drop, kind_of

if TYPE_CHECKING:
    import pandas

    from accredit.web.tasks import Models

CELLS = 1_000_000  # of a table, counted before it is read
ROWS, FEW_ROWS = 1_000, 40  # that are explained, of trees, and of models that are asked coalition by coalition
BACKGROUND, FEW_BACKGROUND = 300, 40  # rows that each is compared with
BUILT_IN = (
    "The built-in table: how far diabetes progressed within a year in 100 patients whom the built-in model has not seen. It "
    "learned from 342 others."
)

Event = dict[str, Any]


def explain_table(models: Models, task: Event) -> Iterator[Event]:
    """The whole table, or, once that is known, one row of it from base value to output."""
    yield {"event": "progress", "method": "reading the table", "done": 0, "of": 2}
    explained, about = models.recent.get(_key(task), lambda: _explain(models, task))
    if task["shown"]:
        explained = explained.of(task["shown"])
    if task["row"] is not None:
        if task["row"] >= len(explained):
            raise InvalidInput(f"row {task['row']} is not among the {len(explained):,} rows that were explained", code="range")
        yield {"event": "result", "done": 2, "of": 2, "row": row_body(explained, task["row"])}
        yield {"event": "done"}
        return
    yield {
        "event": "result",
        "done": 2,
        "of": 2,
        "title": QUESTION,
        "html": table_body(explained, about, live=True),
        "outputs": list(explained.outputs),
        "shown": explained.target,
        "rows": len(explained),
    }
    yield {"event": "done", "page": table_page(explained, about), "json": explained.to_json()}


def _key(task: Event) -> Hashable:
    return "table", sha256(task["table"].encode()).hexdigest(), task["name"], task["target"]


def _explain(models: Models, task: Event) -> tuple[TableExplanation, tuple[str, ...]]:
    from accredit.explanation.explainer import explain_rows

    if not task["table"]:
        from accredit.models.builtin.table import builtin_table

        model, rows, background = builtin_table()
        return explain_rows(rows, model, background), (BUILT_IN,)
    file = PurePath(task["name"]).name
    frame, served = _frame(task["table"], file), models.by_kind.get("table")
    if served is None:
        if not task["target"]:
            raise InvalidInput(
                "no model was named at the start; choose the column that one fitted here is to predict", code="missing"
            )
        made = fit(frame, task["target"], file)
        model, rows, about = made.model, made.rows, made.about
    else:
        model, about = served, (f"Model: {served.name}.",)
        rows = frame.drop(columns=[task["target"]] if task["target"] in frame.columns else [])
    trees = are_trees(model) if served is not None else True
    kept, said = _thin(rows, ROWS if trees else FEW_ROWS)
    background = None if served is not None and len(rows) < 20 else rows
    most = min(BACKGROUND if trees else FEW_BACKGROUND, len(rows))
    return explain_rows(kept, model, background, most_background=None if background is None else most), (*about, *said)


def _thin(rows: pandas.DataFrame, most: int) -> tuple[pandas.DataFrame, tuple[str, ...]]:
    """At most so many rows, spread evenly over the table; what is left out is said."""
    if len(rows) <= most:
        return rows, ()
    places = np.unique(np.linspace(0, len(rows) - 1, most).round().astype(np.int64))
    return rows.iloc[places], (f"{len(places):,} of {len(rows):,} rows are explained here, spread evenly over the table.",)


def _frame(text: str, file: str) -> pandas.DataFrame:
    """A table that was dropped; how large it is is estimated before it is read."""
    from accredit.store.frames import read_frame

    kind = kind_of(file)
    first, _, _ = text.lstrip().partition("\n")
    cells = (text.count("\n") + 1) * (first.count(SEPARATORS.get(kind, ",")) + 1)
    if cells > CELLS:
        raise InvalidInput(
            f"{file} holds about {cells:,} cells, and this page reads up to {CELLS:,}; keep the rows or columns that matter, "
            "or use accredit explain",
            code="too-many",
        )
    with drop(text, file) as path:
        return read_frame(path)
