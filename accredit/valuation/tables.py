"""Tables of training data: files in, checked splits out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.core import FloatArray, InvalidInput, MissingExtra
from accredit.valuation.split import Split, groups_of, split
from accredit.valuation.text import text_features

if TYPE_CHECKING:
    import pandas

MANY_VALUES = 20  # a numeric target with more distinct values is a number to predict, not a class
TEXT_KEPT = 200  # characters of a row's text in a journal
MANY_KINDS = 50  # a column of words with more distinct values is not a category


@dataclass(frozen=True, eq=False)
class Table:
    """A split made from files, and what its rows were."""

    data: Split
    labels: tuple[str, ...]  # of the training rows, as in the file
    groups: dict[str, list[str]] | None  # players by the column that names them; None: every row plays
    columns: tuple[str, ...]  # what the model sees
    texts: tuple[str, ...] | None  # of the training rows

    @property
    def facts(self) -> dict[str, Any]:
        """What a journal keeps of the rows, so that who watches it sees more than their numbers."""
        texts = None if self.texts is None else [text[:TEXT_KEPT] for text in self.texts]
        is_class = self.data.classes is not None
        return {"labels": list(self.labels), "texts": texts, "groups": self.groups, "classes": is_class}


def read_table(path: str | Path) -> pandas.DataFrame:
    """A .csv, .tsv (also .gz) or .parquet file as a data frame."""
    try:
        import pandas
    except ImportError:
        raise MissingExtra("pandas", "data", "reading a table") from None
    place = Path(path)
    if not place.is_file():
        raise InvalidInput(f"there is no file {place}")
    name = place.name.removesuffix(".gz")
    try:
        if name.endswith(".parquet"):
            frame = pandas.read_parquet(place)
        elif name.endswith((".csv", ".tsv")):
            tabs = name.endswith(".tsv")
            frame = pandas.read_csv(place, sep="\t" if tabs else ",", quoting=3 if tabs else 0)
        else:
            raise InvalidInput(f"{place} ends in neither .csv, .tsv nor .parquet (.gz may follow)")
    except ImportError:
        raise InvalidInput(f"reading {place} needs pyarrow: pip install pyarrow, or convert it to .csv") from None
    except InvalidInput:
        raise
    except (ValueError, OSError) as error:  # pandas' parser errors are ValueErrors
        raise InvalidInput(f"{place} cannot be read as a table: {str(error).splitlines()[0]}"[:300]) from None
    if frame.empty:
        raise InvalidInput(f"{place} holds no rows")
    return frame


def table(
    file: str | Path,
    target: str,
    *,
    text: str | None = None,
    test: str | float = 0.25,
    players: str = "row",
    encoder: str | None = None,
    seed: int = 0,
) -> Table:
    """Read a training file and split off or read the test rows.

    Features are all columns but the target, the text and the players' column: numbers as they are, words as categories,
    standardised by the training rows; with `text`, the frozen encoder's features of that column instead.
    """
    frame = read_table(file)
    for column, option in (
        (target, "--target"),
        (text, "--text"),
        (None if players == "row" else players, "--players"),
    ):
        if column is not None and column not in frame.columns:
            raise InvalidInput(
                f"{option} {column!r} is no column of {file}; its columns are {', '.join(map(str, frame.columns))}"
            )
    if frame[target].isna().any():
        raise InvalidInput(f"the target {target!r} is missing in {int(frame[target].isna().sum())} rows of {file}")
    train, held, held_name = _parts(frame, file, target, test, seed)
    regression = frame[target].dtype.kind in "if" and frame[target].nunique() > MANY_VALUES
    names = tuple(f"row {i + 1}" for i in train.index)
    if text is not None:
        texts = tuple(_texts(train, text, str(file)))
        x = text_features(texts, encoder)
        test_x = text_features(_texts(held, text, held_name), encoder)
        columns: tuple[str, ...] = (text,)
    else:
        texts = None
        x, test_x, columns = _features(train, held, [target, players])
    x, test_x = _standardised(x, test_x)
    kind = np.float64 if regression else str
    y, test_y = (part[target].to_numpy().astype(kind) for part in (train, held))
    data = split(x, y, test_x, test_y, names=names, regression=regression)
    groups = None
    if players != "row":
        if train[players].isna().any():
            raise InvalidInput(f"--players {players!r} is missing in {int(train[players].isna().sum())} training rows")
        groups = groups_of(names, train[players])
        if len(groups) < 2:
            raise InvalidInput(
                f"--players {players!r} has the one value {next(iter(groups))!r}; two players are needed"
            )
    return Table(data, tuple(map(str, train[target])), groups, columns, texts)


def _parts(frame: Any, file: str | Path, target: str, test: str | float, seed: int) -> tuple[Any, Any, str]:
    """Training rows, test rows, and where the latter come from."""
    try:
        share = float(test)
    except ValueError:
        held = read_table(str(test))
        if list(held.columns) != list(frame.columns):
            missing = [c for c in frame.columns if c not in held.columns]
            if missing:
                raise InvalidInput(f"the test file {test} lacks the columns {', '.join(map(str, missing))}") from None
        return frame, held, str(test)
    if not 0 < share < 1:
        raise InvalidInput(f"--test {test} must be a file, or a fraction between 0 and 1")
    order = np.random.default_rng(seed).permutation(len(frame))
    count = max(1, round(share * len(frame)))
    if count >= len(frame):
        raise InvalidInput(f"{file} has {len(frame)} rows; {share:g} of them for testing leaves none to train on")
    return frame.iloc[np.sort(order[count:])], frame.iloc[np.sort(order[:count])], str(file)


def _texts(frame: Any, column: str, file: str) -> list[str]:
    blank = frame[column].isna() | (frame[column].astype(str).str.strip() == "")
    if blank.any():
        raise InvalidInput(f"--text {column!r} is empty in {int(blank.sum())} rows of {file}; drop them first")
    return [str(text) for text in frame[column]]


def _features(train: Any, held: Any, left_out: list[str]) -> tuple[FloatArray, FloatArray, tuple[str, ...]]:
    """Numbers as they are, words as one column a category."""
    blocks: list[tuple[FloatArray, FloatArray]] = []
    columns: list[str] = []
    for column in (c for c in train.columns if c not in left_out):
        for part in (train, held):
            if part[column].isna().any():
                raise InvalidInput(
                    f"column {column!r} is missing in {int(part[column].isna().sum())} rows; fill or drop them"
                )
        columns.append(str(column))
        if train[column].dtype.kind in "ifb":
            blocks.append(tuple(p[column].to_numpy(dtype=np.float64)[:, None] for p in (train, held)))  # type: ignore[arg-type]
            continue
        kinds = sorted(set(map(str, train[column])))
        if len(kinds) > MANY_KINDS:
            raise InvalidInput(
                f"column {column!r} holds {len(kinds)} different words, too many for categories; name it with --text, "
                "or leave it out of the file"
            )
        blocks.append(tuple(np.array([[str(v) == k for k in kinds] for v in p[column]], float) for p in (train, held)))  # type: ignore[arg-type]
    if not blocks:
        raise InvalidInput("there is no column left to learn from; name a text column with --text")
    return np.hstack([b[0] for b in blocks]), np.hstack([b[1] for b in blocks]), tuple(columns)


def _standardised(x: FloatArray, test_x: FloatArray) -> tuple[FloatArray, FloatArray]:
    centre, spread = x.mean(axis=0), x.std(axis=0)
    spread[spread == 0] = 1.0
    return (x - centre) / spread, (test_x - centre) / spread
