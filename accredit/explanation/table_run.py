"""Many rows of a table explained into a file, part by part: a run that was stopped goes on where it was, and parts may be
spread over worker processes or a cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from accredit.core import MissingExtra
from accredit.core.plain import plain
from accredit.explanation.table import TableExplanation
from accredit.explanation.tables import explain_rows
from accredit.models.frames import rows_of
from accredit.models.row_files import load_row_model
from accredit.store.fingerprint import fingerprint
from accredit.store.lines import finished_lines
from accredit.store.results import put
from accredit.store.workers import workers

PART = 250  # rows explained at once, and lost at most when a run is killed
AHEAD = 2  # parts waiting per worker


@dataclass(frozen=True, eq=False)
class TableRun:
    """Everything that decides the lines: a model file, a background and settings of `explain_rows`."""

    model: str  # path of the model file
    background: Any = None  # a data frame
    trusted: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name for these lines: other settings, another background or another model make another."""
        content = Path(self.model).read_bytes()
        table = None if self.background is None else self.background.to_csv(index=False)
        parts = {"model": sha256(content).hexdigest(), "background": table, "settings": dict(self.settings)}
        return fingerprint(**parts).digest[:16]

    def explained(self, rows: Any) -> TableExplanation:
        """Some rows, explained together."""
        return explain_rows(rows, _loaded(self.model, self.trusted), self.background, **self.settings)

    def lines(self, rows: Any, first: int, run: str) -> list[str]:
        """JSON lines of some rows; `first` is the number of the first of them."""
        explained = self.explained(rows)
        return [_line(explained, r, first + r, run) for r in range(len(explained))]


@cache
def _loaded(model: str, trusted: tuple[str, ...]) -> Any:
    """A worker loads the model once."""
    return load_row_model(model, trusted)


def _line(explained: TableExplanation, row: int, number: int, run: str) -> str:
    outputs: dict[str, dict[str, Any]] = {
        name: {
            "prediction": float(explained.prediction[row, k]),
            "base": float(explained.base[k]),
            "credit": dict(zip(explained.players, explained.credit[row, :, k].tolist(), strict=True)),
        }
        for k, name in enumerate(explained.outputs)
    }
    if explained.pairs is not None:
        for name, said in outputs.items():
            said["interactions"] = [[*who, x] for who, x in explained.interactions(row, name)]
    data = {"row": number, "run": run, "method": explained.method, "payoff": explained.payoff, "model": explained.model,
            "precision": str(explained.precision), "target": explained.target, "outputs": outputs,
            "values": dict(zip(explained.players, (column[row] for column in explained.values), strict=True))}  # fmt: skip
    return json.dumps(plain(data, "line"), ensure_ascii=False) + "\n"


def explain_table_file(
    run: TableRun, rows: Any, out: str | Path, executor: str = "serial", watch: Callable[[int], None] | None = None
) -> tuple[int, int]:
    """Explain rows into JSON lines or, if `out` ends in .parquet, into one parquet table. Returns how many rows there are,
    and how many of them had been done before."""
    final = Path(out)
    columnar = final.suffix == ".parquet"
    journal = final.with_suffix(".parquet.jsonl") if columnar else final
    count, name = len(rows_of(rows)), run.name
    done = finished_lines(
        journal, lambda row, data: data["run"] == name and row < count, "another model, background or setting"
    )
    with journal.open("a", encoding="utf-8", newline="\n") as target:
        for lines in _parts(run, rows, done, count, name, executor):
            target.writelines(lines)
            target.flush()
            if watch is not None:
                watch(len(lines))
    if columnar:
        _to_parquet(journal, final)
        journal.unlink()
    return count, done


def _parts(run: TableRun, rows: Any, start: int, count: int, name: str, executor: str) -> Iterator[list[str]]:
    """Lines of every part, in order; with workers, some parts ahead."""
    cuts = [(a, min(a + PART, count)) for a in range(start, count, PART)]
    with workers(executor) as submit:
        if submit is None:
            yield from (run.lines(_cut(rows, a, b), a, name) for a, b in cuts)
            return
        waiting: list[Any] = []
        for a, b in cuts:
            waiting.append(submit(run.lines, _cut(rows, a, b), a, name))
            if len(waiting) >= 2 * AHEAD:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()


def _cut(rows: Any, start: int, stop: int) -> Any:
    return rows.iloc[start:stop] if hasattr(rows, "iloc") else rows[start:stop]


def _to_parquet(journal: Path, final: Path) -> None:
    """One line per row and output, one column per player."""
    try:
        import io

        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra(str(error.name), "trees", "writing .parquet") from error
    table = []
    with journal.open(encoding="utf-8") as lines:
        for line in lines:
            data = json.loads(line)
            for output, said in data["outputs"].items():
                table.append({"row": data["row"], "output": output, "base": said["base"], "prediction": said["prediction"],
                              **{f"credit: {p}": c for p, c in said["credit"].items()},
                              **{f"interaction: {p} + {q}": x for p, q, x in said.get("interactions", ())}})  # fmt: skip
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(table), buffer)
    put(final, buffer.getvalue())
