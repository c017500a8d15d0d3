"""Many rows of a table explained part by part: over worker processes or a cluster, and into a file, so that a run that was
stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit import defaults
from accredit.checks import needs
from accredit.checks.files import check_writable, put
from accredit.checks.json_data import plain
from accredit.checks.numbers import a_type
from accredit.core import FloatArray, Precision
from accredit.errors import AccreditError, InvalidInput
from accredit.models.row_files import load_row_model
from accredit.models.rows import UNITS, RowModel
from accredit.rows.backgrounds import Compared
from accredit.rows.credit import RowAnswer, RowQuestion, answer_rows, answers, join
from accredit.rows.explain import Questions, RowSettings, explanation_of, player_cells
from accredit.rows.frames import Rows, kinds_of, part
from accredit.rows.pairs import RowPairs
from accredit.rows.result import Cell, TableExplanation
from accredit.store.fingerprint import fingerprint
from accredit.store.jsonl import read_finished_lines
from accredit.store.workers import workers
from accredit.trees.closed_form import has_closed_form
from accredit.trees.separable import mixtures
from accredit.values.precedence import write_order

if TYPE_CHECKING:
    from concurrent.futures import Future

    from accredit.models.row_types import Table

LINE_SUFFIXES = (".jsonl", ".ndjson", "")  # of files that hold one JSON object per line
TABLE_SUFFIXES = (".parquet", ".csv", ".tsv")  # of files that hold one table, made of such lines at the end
ROWS_PER_PART = 250  # rows explained at once, and lost at most when a run is killed
ROWS_PER_QUICK_PART = 5000  # the same for models with a closed form, whose tables are made once for a part
PARTS_AHEAD = 64  # parts that may wait for a worker, or to be written
PROBED_ROWS = 1000  # rows, background rows and mixtures of both by which a model is recognised
LONG_RUN = 600.0  # seconds from which a forecast says what would take less
Watch = Callable[[int], None]  # how many rows are done


@dataclass(frozen=True, eq=False)
class TableRun:
    """A question about many rows, in a form that can be sent to where a part of them is explained."""

    model: object  # a model, or the path of its file
    whole: RowQuestion  # the question about all rows, here
    trusted: tuple[str, ...] = ()
    players: Mapping[str, Iterable[str | int]] | None = None

    @property
    def settings(self) -> RowSettings:
        """What every part is asked; nothing is left to be chosen part by part."""
        asked = self.whole
        return {
            "method": asked.method.name,
            "payoff": asked.payoff,
            "players": self.players,
            "dependence": asked.dependence,
            "budget": asked.budget,
            "seed": asked.seed,
            "interactions": asked.interactions,
            "order": None if asked.order is None else write_order(asked.order),
            "confounding": asked.confounding,
        }

    @property
    def _here(self) -> RowSettings:
        """The same with the names of the columns, where the rows do not say them."""
        return {**self.settings, "names": None if self.whole.rows.framed else self.whole.rows.columns}

    def answer(self, rows: object) -> RowAnswer:
        """Some of the rows, explained together, here."""
        return answer_rows(self._questions.ask(rows))

    @cached_property
    def _questions(self) -> Questions:
        return Questions(open_model(self.model, self.trusted), self.whole.compared, **self._here)

    @property
    def name(self) -> str:
        """A name for the lines of this run: other rows, settings, another background or another model make another."""
        asked = self.whole
        parts: dict[str, object] = {
            "rows": _content(asked.rows),
            "settings": {**self.settings, "payoff": asked.unit},
            "model": self._model_content(),
        }
        if asked.compared.rows is not None:
            parts |= {"background": _content(asked.compared.rows), "weights": asked.compared.weights}
        return fingerprint(**parts).digest[:16]

    def _model_content(self) -> str | list[str | FloatArray]:
        """The bytes of a model's file; of any other model, or for a payoff that is a function, what it says about rows,
        background and mixtures of both."""
        if isinstance(self.model, str | Path) and not callable(self.whole.payoff):
            return sha256(Path(self.model).read_bytes()).hexdigest()
        asked, rng = self.whole, np.random.default_rng(0)
        count = asked.start + len(asked.rows)
        first, second = rng.integers(0, count, size=(2, PROBED_ROWS))
        kept = rng.random((PROBED_ROWS, len(asked.rows.columns))) < 0.5
        ends = part(asked.both, 0, PROBED_ROWS), part(asked.both, max(0, count - PROBED_ROWS), count)
        tables = [*ends, mixtures(asked.both, first, second, kept)]
        return [asked.model.name, *(asked.model.outputs(table, asked.unit) for table in tables)]

    def forecast(self) -> str:
        """What a long run will take, and what would take less, by how long the model took to read the background; empty where
        there is a closed form, a budget that rows share, or not much to wait for."""
        asked, model = self.whole, self.whole.model.model
        if asked.model_rows is not None or asked.background is None or has_closed_form(model):
            return ""
        players, rows = len(asked.partition.players), len(asked.rows)
        payoffs = 2**players if defaults.affordable(players, asked.budget) else asked.spend or defaults.BUDGET
        count = payoffs * asked.start * rows
        seconds = count * asked.ground.seconds_per_row(asked.unit)
        if seconds < LONG_RUN:
            return ""
        return (
            f"{rows:,} rows × {payoffs:,} coalitions × {asked.start:,} background rows: the model is asked about {count:,} "
            f"rows, about {seconds / 3600:,.1f} hours. For less, share one budget between all rows (model_rows), or train an "
            "explainer for rows like these (accredit learn)."
        )

    def answers(
        self, executor: str = "serial", watch: Watch | None = None, start: int | None = None
    ) -> Iterator[tuple[int, RowAnswer]]:
        """Every answer in the order of the rows, with the number of its first row: all rows as one question, here; or, over
        workers and from a row at which to `start`, in parts. `watch` hears how many rows are done once an answer was used."""
        whole = executor == "serial" and start is None
        for first, answer in self._at_once() if whole else self._in_parts(start or 0, executor):
            yield first, answer
            if watch is not None:
                watch(first + len(answer.credit))

    def _at_once(self) -> Iterator[tuple[int, RowAnswer]]:
        first = 0
        for answer in answers(self.whole):
            yield first, answer
            first += len(answer.credit)

    def _in_parts(self, start: int, executor: str) -> Iterator[tuple[int, RowAnswer]]:
        """Parts begin at the same rows whatever was done before, so that a resumed run gives the same digits."""
        rows = self.whole.rows
        quick = self.whole.unit in UNITS and has_closed_form(self.whole.model.model)
        size = ROWS_PER_QUICK_PART if quick else ROWS_PER_PART
        with workers(executor) as submit:
            waiting: list[tuple[int, Future[RowAnswer]]] = []
            for first in range(start // size * size, len(rows), size):
                some = part(rows.table, first, first + size)
                if submit is None:
                    yield first, self.answer(some)
                    continue
                waiting.append((first, submit(_answer, some, self.model, self.trusted, self.whole.compared, self._here)))
                if len(waiting) >= PARTS_AHEAD:
                    yield _await(*waiting.pop(0))
            for first, future in waiting:
                yield _await(first, future)


def _answer(rows: Table, model: object, trusted: tuple[str, ...], compared: Compared, settings: RowSettings) -> RowAnswer:
    """Some rows, explained together, wherever this runs."""
    return answer_rows(Questions(open_model(model, trusted), compared, **settings).ask(rows))


def _await(first: int, future: Future[RowAnswer]) -> tuple[int, RowAnswer]:
    try:
        return first, future.result()
    except AccreditError:
        raise
    except Exception as error:
        said = str(error)
        if "pickle" in said or "local object" in said:  # what cannot be sent is reported by any of several types
            raise InvalidInput(
                f"the model or its payoff cannot be sent to worker processes ({said:.80}); save the model and give the "
                "path of its file, define functions in a module that can be imported, or write executor='serial'",
                code="unsupported",
            ) from None
        raise


def open_model(model: object, trusted: tuple[str, ...] = ()) -> object:
    """A model, or the one in a file; each process opens a file once, and again when it has changed."""
    if not isinstance(model, str | Path):
        if trusted:
            raise InvalidInput(
                f"trusted names types of a skops file, and model is no file, but {a_type(model)}; leave trusted out",
                argument="trusted",
                code="misplaced",
            )
        return model
    file = Path(model).absolute()
    if not file.is_file():
        return load_row_model(model, trusted)  # which says so
    return _load(file, trusted, (file.stat().st_mtime_ns, file.stat().st_size))


@lru_cache(maxsize=4)
def _load(file: Path, trusted: tuple[str, ...], written: tuple[int, int]) -> RowModel:
    return load_row_model(file, trusted)


def _content(rows: Rows) -> list[object]:
    """What a table holds, column by column: names, types, values. How its file was written does not matter."""
    kinds = kinds_of(rows.table)
    listed = [getattr(kind, "categories", ()) for kind in kinds] if rows.framed else []
    return [rows.columns, [str(kind) for kind in kinds], [[str(one) for one in each] for each in listed], rows.cells()]


# One call for a frame, and one for a file


def explain_parts(
    run: TableRun,
    *,
    target: str | int | None = None,
    executor: str = "serial",
    out: str | Path | None = None,
    watch: Watch | None = None,
) -> TableExplanation:
    """What `explain_rows` gives, computed part by part; with `out` also written there, and what is there is not asked again."""
    if out is None:
        found = [answer for _, answer in run.answers(executor, watch)]
        return explanation_of(run.whole, join(found), target)
    final, journal = _files(out)
    write_lines(run, journal, executor, watch)
    read = _read(journal, run.whole, run.answer(part(run.whole.rows.table, 0, 1)))
    if journal != final:
        _to_table(journal, final)
        journal.unlink()
    return explanation_of(run.whole, read, target)


def explain_table_file(run: TableRun, out: str | Path, executor: str = "serial", watch: Watch | None = None) -> tuple[int, int]:
    """Explain rows into JSON lines or, if `out` ends in .parquet, .csv or .tsv, into one such table.

    Returns how many rows there are, and how many of them had been done before.
    """
    final, journal = _files(out)
    done = write_lines(run, journal, executor, watch)
    if journal != final:
        _to_table(journal, final)
        journal.unlink()
    return len(run.whole.rows), done


def _files(out: str | Path) -> tuple[Path, Path]:
    """The file that was asked for, and the one that lines are written to."""
    final = check_writable(out, "out")
    kind = final.suffix.lower()
    if kind in TABLE_SUFFIXES:
        return final, final.with_suffix(f"{kind}.jsonl")
    if kind not in LINE_SUFFIXES:
        raise InvalidInput(
            f"out is {str(out)!r}, and {kind} is not written; write a name that ends in .jsonl (a line per row; a stopped "
            f"run goes on in it), {' or '.join(TABLE_SUFFIXES)}",
            argument="out",
            code="unsupported",
        )
    return final, final


def write_lines(run: TableRun, journal: Path, executor: str, watch: Watch | None) -> int:
    """Write what is missing; returns how many rows had been there."""
    asked, name = run.whole, run.name
    done = read_finished_lines(
        journal,
        lambda row, data: data["run"] == name and row < len(asked.rows),
        "other rows, another model, background or setting",
    )
    cells = player_cells(asked.rows, asked.partition)
    with journal.open("a", encoding="utf-8", newline="\n") as target:
        for first, answer in run.answers(executor, watch, start=done):
            last = first + len(answer.credit)
            target.writelines(
                _line(
                    asked,
                    answer,
                    r,
                    asked.prediction[first + r],
                    [column[first + r] for column in cells],
                    first + r,
                    name,
                )
                for r in range(max(0, done - first), last - first)
            )
            target.flush()
    return done


def _line(
    asked: RowQuestion, answer: RowAnswer, row: int, prediction: FloatArray, values: list[Cell], number: int, run: str
) -> str:
    """One row as JSON: `row` is its place in the answer, `number` its place in the table."""
    players = asked.partition.players
    outputs: dict[str, dict[str, object]] = {}
    for k, name in enumerate(asked.outputs):
        said: dict[str, object] = {
            "prediction": float(prediction[k]),
            "base": float(answer.base[k]),
            "credit": dict(zip(players, answer.credit[row, :, k].tolist(), strict=True)),
        }
        if answer.interval is not None:
            said["interval"] = dict(zip(players, answer.interval[row, :, k].tolist(), strict=True))
        if answer.pairs is not None:
            said["interactions"] = _pairs_of(answer.pairs, players, row, k)
        outputs[name] = said
    data = {
        "row": number,
        "name": asked.rows.names[number],
        "run": run,
        "method": answer.method.as_plain(),
        "payoff": asked.unit,
        "model": asked.model.name,
        "precision": answer.precision.as_plain(),
        "outputs": outputs,
        "values": dict(zip(players, values, strict=True)),
    }
    if asked.model.classifies and len(asked.outputs) > 1:
        data["predicted"] = asked.outputs[int(asked.model.predicted(prediction, asked.unit))]
    if answer.pairs is not None:
        data["interactions"] = {"index": answer.pairs.index, "precision": answer.pairs.precision.as_plain()}
    return json.dumps(plain(data, "line"), ensure_ascii=False) + "\n"


def _pairs_of(pairs: RowPairs, players: tuple[str, ...], row: int, output: int) -> list[list[str | float]]:
    """[player, player, interaction], and the ends of its interval where there is one."""
    ends = pairs.interval
    return [
        [
            players[i],
            players[j],
            float(pairs.values[row, i, j, output]),
            *([] if ends is None else ends[row, i, j, output].tolist()),
        ]
        for i in range(len(players))
        for j in range(i + 1, len(players))
    ]


# Lines put together


def _read(journal: Path, asked: RowQuestion, one: RowAnswer) -> RowAnswer:
    """The answer that lines hold; base, method and claims are those of one row."""
    found = []
    with journal.open(encoding="utf-8") as lines:
        for line in lines:
            found.append(_answer_of(json.loads(line), asked, one))
    return join(found)


def _answer_of(data: dict[str, Any], asked: RowQuestion, one: RowAnswer) -> RowAnswer:
    """One line as an answer about one row."""
    said = [data["outputs"][name] for name in asked.outputs]
    credit = np.array([list(each["credit"].values()) for each in said]).T[None]
    interval = None
    if "interval" in said[0]:
        interval = np.moveaxis(np.array([list(each["interval"].values()) for each in said]), 0, 1)[None]
    pairs = None
    if "interactions" in data:
        n = len(asked.partition.players)
        upper = np.triu_indices(n, 1)
        numbers = np.array([[pair[2:] for pair in each["interactions"]] for each in said])  # (outputs, pairs, 1 or 3)
        square = np.zeros((n, n, len(said), numbers.shape[2]))
        square[upper] = square[upper[::-1]] = np.moveaxis(numbers, 0, 1)
        ends = square[None, ..., 1:] if numbers.shape[2] == 3 else None
        precision = Precision.from_plain(data["interactions"]["precision"])
        pairs = RowPairs(data["interactions"]["index"], square[None, ..., 0], precision, ends)
    known = Precision.from_plain(data["precision"])
    return RowAnswer(
        credit, one.base, one.method, known, one.claims, interval, pairs, one.left, one.done, one.instead, one.payoffs
    )


def _to_table(journal: Path, final: Path) -> None:
    """One line per row and output, one column per player: as a parquet file, or with commas or tabs."""
    table: list[dict[str, object]] = []
    with journal.open(encoding="utf-8") as lines:
        for line in lines:
            data = json.loads(line)
            for output, said in data["outputs"].items():
                table.append(
                    {
                        "row": data["row"],
                        "output": output,
                        "base": said["base"],
                        "prediction": said["prediction"],
                        **{f"credit: {p}": c for p, c in said["credit"].items()},
                        **{f"interaction: {p} + {q}": x for p, q, x, *_ in said.get("interactions", ())},
                    }
                )
    put(final, _as_parquet(table) if final.suffix.lower() == ".parquet" else _as_text(table, final.suffix.lower()))


def _as_parquet(table: list[dict[str, object]]) -> bytes:
    import io

    with needs("trees", "writing .parquet"):
        import pyarrow
        import pyarrow.parquet
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(table), buffer)
    return buffer.getvalue()


def _as_text(table: list[dict[str, object]], kind: str) -> bytes:
    import csv
    import io

    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(table[0]), delimiter="\t" if kind == ".tsv" else ",", lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue().encode("utf-8")
