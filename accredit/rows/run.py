"""Many rows of a table explained part by part: over worker processes or a cluster, and into a file, so that a run that was
stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from accredit.checks import needs
from accredit.checks.files import check_writable, put
from accredit.checks.json_data import plain
from accredit.core import FloatArray, Known, Precision
from accredit.errors import AccreditError, InvalidInput
from accredit.models.row_files import load_row_model
from accredit.models.rows import UNITS
from accredit.rows.backgrounds import Compared
from accredit.rows.credit import Answer, Asked, answer_rows
from accredit.rows.explain import Questions, explanation_of, player_cells
from accredit.rows.frames import Rows
from accredit.rows.ground import part
from accredit.rows.pairs import RowPairs
from accredit.rows.result import TableExplanation
from accredit.store.fingerprint import fingerprint
from accredit.store.jsonl import read_finished_lines
from accredit.store.workers import workers
from accredit.trees.closed_form import has_closed_form
from accredit.trees.separable import mixtures

PART = 250  # rows explained at once, and lost at most when a run is killed
QUICK = 5000  # the same for models with a closed form, whose tables are made once for a part
AHEAD = 64  # parts that may wait for a worker, or to be written
PROBED = 1000  # rows, background rows and mixtures of both by which a model is recognised
Watch = Callable[[int], None]  # how many rows are done


@dataclass(frozen=True, eq=False)
class TableRun:
    """A question about many rows, in a form that can be sent to where a part of them is explained."""

    model: Any  # a model, or the path of its file
    whole: Asked  # the question about all rows, here
    trusted: tuple[str, ...] = ()
    players: Mapping[str, Any] | None = None

    @property
    def settings(self) -> dict[str, Any]:
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
        }

    @property
    def _names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the rows do not say them."""
        return None if self.whole.rows.framed else self.whole.rows.columns

    def answer(self, rows: Any) -> Answer:
        """Some of the rows, explained together, here."""
        return answer_rows(self._questions.ask(rows))

    @cached_property
    def _questions(self) -> Questions:
        return Questions(open_model(self.model, self.trusted), self.whole.compared, names=self._names, **self.settings)

    @property
    def name(self) -> str:
        """A name for the lines of this run: other rows, settings, another background or another model make another."""
        asked = self.whole
        parts: dict[str, Any] = {
            "rows": _content(asked.rows),
            "settings": {**self.settings, "payoff": asked.unit},
            "model": self._model_content(),
        }
        if asked.compared.rows is not None:
            parts |= {"background": _content(asked.compared.rows), "weights": asked.compared.weights}
        return fingerprint(**parts).digest[:16]

    def _model_content(self) -> Any:
        """The bytes of a model's file; of any other model, or for a payoff that is a function, what it says about rows,
        background and mixtures of both."""
        if isinstance(self.model, str | Path) and not callable(self.whole.payoff):
            return sha256(Path(self.model).read_bytes()).hexdigest()
        asked, rng = self.whole, np.random.default_rng(0)
        count = asked.start + len(asked.rows)
        first, second = rng.integers(0, count, size=(2, PROBED))
        kept = rng.random((PROBED, len(asked.rows.columns))) < 0.5
        ends = part(asked.both, 0, PROBED), part(asked.both, max(0, count - PROBED), count)
        tables = [*ends, mixtures(asked.both, first, second, kept)]
        return [asked.model.name, *(asked.model.outputs(table, asked.unit) for table in tables)]

    def answers(self, start: int, executor: str) -> Iterator[tuple[int, Answer]]:
        """The answer of every part from the one that holds row `start`, in order, with the number of its first row.

        Parts begin at the same rows whatever was done before, so that a resumed run gives the same digits.
        """
        rows = self.whole.rows
        quick = self.whole.unit in UNITS and has_closed_form(self.whole.model.model)
        size = QUICK if quick else PART
        cuts = range(start // size * size, len(rows), size)
        with workers(executor) as submit:
            waiting: list[tuple[int, Any]] = []
            for a in cuts:
                some = part(rows.table, a, a + size)
                if submit is None:
                    yield a, self.answer(some)
                    continue
                settings = {**self.settings, "names": self._names}
                waiting.append((a, submit(_answer, some, self.model, self.trusted, self.whole.compared, settings)))
                if len(waiting) >= AHEAD:
                    yield _await(*waiting.pop(0))
            for a, future in waiting:
                yield _await(a, future)


def _answer(rows: Any, model: Any, trusted: tuple[str, ...], compared: Compared, settings: dict[str, Any]) -> Answer:
    """Some rows, explained together, wherever this runs."""
    return answer_rows(Questions(open_model(model, trusted), compared, **settings).ask(rows))


def _await(first: int, future: Any) -> tuple[int, Answer]:
    try:
        return first, future.result()
    except AccreditError:
        raise
    except Exception as error:
        said = str(error)
        if "pickle" in said or "local object" in said:  # what cannot be sent is reported by any of several types
            raise InvalidInput(
                f"the model or its payoff cannot be sent to worker processes ({said:.80}); save the model and give the "
                "path of its file, define functions in a module that can be imported, or write executor='serial'"
            ) from None
        raise


def open_model(model: Any, trusted: tuple[str, ...] = ()) -> Any:
    """A model, or the one in a file; each process opens a file once, and again when it has changed."""
    if not isinstance(model, str | Path):
        return model
    file = Path(model).absolute()
    if not file.is_file():
        return load_row_model(model, trusted)  # which says so
    return _load(file, trusted, (file.stat().st_mtime_ns, file.stat().st_size))


@lru_cache(maxsize=4)
def _load(file: Path, trusted: tuple[str, ...], written: tuple[int, int]) -> Any:
    return load_row_model(file, trusted)


def _content(rows: Rows) -> list[Any]:
    """What a table holds, column by column: names, types, values. How its file was written does not matter."""
    kinds = [str(kind) for kind in rows.table.dtypes] if rows.framed else [str(rows.table.dtype)]
    listed = [getattr(kind, "categories", ()) for kind in rows.table.dtypes] if rows.framed else []
    return [rows.columns, kinds, [[str(one) for one in each] for each in listed], rows.cells()]


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
    if out is None and executor == "serial":
        return explanation_of(run.whole, answer_rows(run.whole, watch), target)
    if out is None:
        found = []
        for first, answer in run.answers(0, executor):
            found.append(answer)
            if watch is not None:
                watch(first + len(answer.credit))
        return explanation_of(run.whole, _join(found), target)
    final, journal = _files(out)
    write_lines(run, journal, executor, watch)
    read = _read(journal, run.whole, run.answer(part(run.whole.rows.table, 0, 1)))
    if journal != final:
        _to_parquet(journal, final)
        journal.unlink()
    return explanation_of(run.whole, read, target)


def explain_table_file(run: TableRun, out: str | Path, executor: str = "serial", watch: Watch | None = None) -> tuple[int, int]:
    """Explain rows into JSON lines or, if `out` ends in .parquet, into one parquet table, without holding them.

    Returns how many rows there are, and how many of them had been done before.
    """
    final, journal = _files(out)
    done = write_lines(run, journal, executor, watch)
    if journal != final:
        _to_parquet(journal, final)
        journal.unlink()
    return len(run.whole.rows), done


def _files(out: str | Path) -> tuple[Path, Path]:
    """The file that was asked for, and the one that lines are written to."""
    final = check_writable(out, "out")
    return final, final.with_suffix(".parquet.jsonl") if final.suffix == ".parquet" else final


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
        for first, answer in run.answers(done, executor):
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
            if watch is not None:
                watch(last)
    return done


def _line(asked: Asked, answer: Answer, row: int, prediction: FloatArray, values: list[Any], number: int, run: str) -> str:
    """One row as JSON: `row` is its place in the answer, `number` its place in the table."""
    players = asked.partition.players
    outputs: dict[str, dict[str, Any]] = {}
    for k, name in enumerate(asked.outputs):
        said: dict[str, Any] = {
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


def _pairs_of(pairs: RowPairs, players: tuple[str, ...], row: int, output: int) -> list[list[Any]]:
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


# Parts and lines put together


def _join(found: list[Answer]) -> Answer:
    """Answers of parts as one; intervals only where every part has them."""
    first = found[0]
    pairs = None
    if first.pairs is not None:
        every = [one.pairs for one in found if one.pairs is not None]
        values = np.concatenate([one.values for one in every])
        pairs = RowPairs(
            first.pairs.index, values, _worst(one.precision for one in every), _together(one.interval for one in every)
        )
    return Answer(
        np.concatenate([one.credit for one in found]),
        first.base,
        first.method,
        _worst(one.precision for one in found),
        first.claims,
        _together(one.interval for one in found),
        pairs,
    )


def _together(found: Iterable[FloatArray | None]) -> FloatArray | None:
    every = list(found)
    known = [one for one in every if one is not None]
    return np.concatenate(known) if len(known) == len(every) else None


def _worst(found: Iterable[Precision]) -> Precision:
    """As well known as the least known of them."""
    order = (Known.EXACT, Known.INTERVAL, Known.UNKNOWN)
    every = list(found)
    mixed = len({one.known for one in every}) > 1
    worst = max(every, key=lambda one: order.index(one.known))
    return Precision.unknown("some rows are exact and some estimated") if mixed and worst.known is Known.INTERVAL else worst


def _read(journal: Path, asked: Asked, one: Answer) -> Answer:
    """The answer that lines hold; base, method and claims are those of one row."""
    found = []
    with journal.open(encoding="utf-8") as lines:
        for line in lines:
            found.append(_answer_of(json.loads(line), asked, one))
    return _join(found)


def _answer_of(data: dict[str, Any], asked: Asked, one: Answer) -> Answer:
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
    return Answer(credit, one.base, one.method, Precision.from_plain(data["precision"]), one.claims, interval, pairs)


def _to_parquet(journal: Path, final: Path) -> None:
    """One line per row and output, one column per player."""
    import io

    with needs("trees", "writing .parquet"):
        import pyarrow
        import pyarrow.parquet
    table = []
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
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(table), buffer)
    put(final, buffer.getvalue())
