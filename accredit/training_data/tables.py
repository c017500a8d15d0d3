"""Tables of training data: files in, checked splits out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from accredit.checks import check_seed
from accredit.checks.suggestions import did_you_mean
from accredit.core import FloatArray, IntArray
from accredit.core.statistics import units
from accredit.errors import InvalidInput
from accredit.labels.predictability import predict_skill
from accredit.labels.result import WrongLabels
from accredit.store.frames import notes_of, read_frame
from accredit.training_data.columns import column_features
from accredit.training_data.features import Features, features
from accredit.training_data.suspects import RowFacts
from accredit.training_data.table_notes import table_notes
from accredit.valuation.purchases import check_prices
from accredit.valuation.split import Split, groups_of, is_number, missing, split
from accredit.valuation.targets import (
    EMPTY,
    capitals,
    check_not_numbering,
    check_target,
    classes,
    name_rows,
    numbers,
    predicts_number,
    rows,
)

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")

CELLS_SHOWN = 5  # of a row without a text
TEST_SHARE, MOST_TESTS = 0.25, 2000  # rows set aside for testing where nobody says how many: this share, at most so many
TEXT_KEPT = 200  # characters of a row's text in a journal


@dataclass(frozen=True, eq=False)
class Whole:
    """All rows of the file, those that were set aside for testing among them: their labels can be wrong, too."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    texts: tuple[str, ...] | None
    views: Mapping[str, FloatArray]  # what is seen of them besides the words of their texts
    shown: tuple[str, ...]  # how each row looks: its text, or its cells
    annotators: tuple[str, ...] | None = None  # who gave each label


@dataclass(frozen=True, eq=False)
class Table:
    """A split made from files, and what its rows were."""

    data: Split
    labels: tuple[str, ...]  # of the training rows, as in the file
    groups: dict[str, list[str]] | None  # players by the column that names them; None: every row plays
    columns: tuple[str, ...]  # what the model sees
    texts: tuple[str, ...] | None  # of the training rows
    held_texts: tuple[str, ...] | None  # of the test rows
    whole: Whole
    prices: dict[str, float] | None = None  # of the groups, where they are for sale
    nested: dict[str, list[str]] | None = None  # groups inside which rows divide, for Owen values
    notes: tuple[str, ...] = ()  # what was cut, or not known, on the way to the features
    judged: WrongLabels | None = None  # the answer about its labels, where there is one: whether features say anything is in it

    @cached_property
    def silent(self) -> str:
        """Why no row is named by its value: the features hardly predict the labels. Empty where they do, for numbers, and where
        groups are valued, of which no row is named."""
        if self.data.classes is None or self.groups is not None:
            return ""
        if self.judged is not None:
            return self.judged.refusal
        return predict_skill(self.data.x, np.asarray(self.data.y, dtype=np.int64)).refusal

    @property
    def rows(self) -> RowFacts:
        """Labels and looks by row."""
        names, shown = self.data.names, dict(zip(self.whole.names, self.whole.shown, strict=True))
        labels = dict(zip(names, self.labels, strict=True))
        looks = {name: shown[name] for name in names}
        return RowFacts(labels, looks, self.groups, self.data.classes is not None, self.silent)

    @property
    def facts(self) -> dict[str, object]:
        """What a journal keeps of the rows, so that whoever watches the run sees more than row numbers."""
        texts = [text[:TEXT_KEPT] for text in self.rows.texts.values()]
        is_class = self.data.classes is not None
        return {
            "labels": list(self.labels),
            "texts": texts,
            "groups": self.groups,
            "classes": is_class,
            "silent": self.silent,
            "notes": list(self.notes),
        }


def table(
    file: str | Path,
    target: str,
    *,
    text: str | None = None,
    test: str | float | None = None,
    task: str | None = None,
    players: str = "row",
    groups: str | None = None,
    prices: str | Mapping[str, float] | None = None,
    seen_as: Sequence[str] = (),
    identity: str | None = None,
    annotator: str | None = None,
    seed: int = 0,
) -> Table:
    """Read a training file and split off or read the test rows.

    Features are all columns but the target and those of players, groups, names (`identity`) and annotators: numbers as they
    are, words as categories, gaps and dates as `columns.py` says, standardised by the training rows. With `text` they are the
    TF-IDF of that column. `seen_as` names others (see `training_data/features.py`); several stand side by side. `task` says
    whether the target is a `class` or a `number`; left out, numbers are those with fractions or of more than 20 different
    values. `prices` of the groups that `players` names are a mapping, or a column that says the same in all rows of a group.
    """
    frame = read_frame(file, codes=target)
    by_column = None if players == "row" else players
    named = {"target": target, "text": text, "players": by_column, "groups": groups, "id": identity, "annotators": annotator}
    priced = prices if isinstance(prices, str) else None
    check_columns(frame, file, named | {"prices": priced})
    if prices is not None and by_column is None:
        raise InvalidInput(
            "prices are of groups of rows, and every row plays; name the groups with players=COLUMN",
            argument="prices",
            code="conflict",
        )
    if groups is not None and by_column is not None:
        raise InvalidInput(
            f"groups={groups!r} holds rows, and players={by_column!r} makes groups the players; give one",
            argument="groups",
            code="conflict",
        )
    by_columns = text is None and not seen_as
    aside = {by_column, groups, identity, annotator, priced}
    needed = [c for c in frame.columns if c not in aside] if by_columns else [target]
    needed += [text] if text is not None else []
    train, held, held_name = parts(frame, file, test, needed, check_seed(seed), codes=target)
    within = held_name is None
    check_target(frame, target, str(file))
    check_target(held, target, held_name or str(file))
    regression = predicts_number(frame[target]) if task is None else task == "number"
    taught: tuple[str, ...] = ()
    if task is None:
        check_not_numbering(frame[target])
    if within and not regression:
        train, held, taught = _teach_every_class(train, held, target)
    y, test_y = numbers(train, held, target) if regression else classes(train, held, target, within)
    training, testing = _places(frame, train, held, within)
    texts = (
        None
        if text is None
        else _in_place(training, testing, texts_in(train, text, str(file)), texts_in(held, text, held_name or str(file)))
    )
    notes = notes_of(frame) + (() if within else notes_of(held)) + (() if regression else capitals({*y, *test_y}))
    notes += (_fewer_tests(len(frame)) if test is None else ()) + taught
    if by_columns:
        x, test_x, columns, made = column_features(train, held, {target, *aside})
        notes += made
        views = {"columns": np.array(_in_place(training, testing, x, test_x))[: len(frame)]}
        x, test_x = _standardise(x, test_x)
    else:
        seen = _look_at(seen_as or ("tfidf",), texts, len(training) + len(testing), training)
        columns = (text,) if text is not None else tuple(seen_as)
        views = {one.name: one.rows[: len(frame)] for one in seen if one.name != "tfidf"}  # words are looked at anyway
        both = np.hstack([one.scaled for one in seen])
        x, test_x = both[training], both[testing]
        notes += tuple(note for one in seen for note in one.notes)
    names = name_by(frame, identity)
    data = split(x, y, test_x, test_y, names=[names[i] for i in training], regression=regression)
    notes += _only_tests(train, held, by_column) if within else ()
    notes += table_notes(train, columns if by_columns else (), data, training)
    gathered, nested = groups_by(train, by_column, "players", names), groups_by(train, groups, "groups", names)
    price = None if gathered is None or prices is None else _prices(train, by_column, prices, tuple(gathered))
    labels = tuple(map(str, _in_place(training, testing, y, test_y)[: len(frame)]))
    whole = Whole(
        names,
        labels,
        None if texts is None else tuple(texts[: len(frame)]),
        views,
        show_rows(frame, text, {target, identity, annotator}),
        None if annotator is None else name_annotators(frame, annotator),
    )
    train_texts, test_texts = (None if texts is None else tuple(texts[i] for i in rows) for rows in (training, testing))
    return Table(data, tuple(map(str, train[target])), gathered, columns, train_texts, test_texts, whole, price, nested, notes)


def _teach_every_class(
    train: pandas.DataFrame, held: pandas.DataFrame, target: str
) -> tuple[pandas.DataFrame, pandas.DataFrame, tuple[str, ...]]:
    """The same split, but that a class of which chance left no row for training has its first one there, if there are two."""
    import pandas

    lone = held[~held[target].isin(train[target])]
    moved = lone[lone[target].duplicated(keep=False) & ~lone[target].duplicated()]
    if moved.empty or len(moved) == len(held):
        return train, held, ()
    names = ", ".join(repr(str(label)) for label in moved[target].head(3)) + ", …" * (len(moved) > 3)
    said = f"{name_rows(moved.index)} moved from the test rows to the training rows, which had no row of the class {names}"
    return pandas.concat([train, moved]).sort_index(), held.drop(moved.index), (said,)


def _fewer_tests(rows: int) -> tuple[str, ...]:
    """What is said where a long file has fewer test rows than its share: time grows with them, the error falls with them."""
    share = round(TEST_SHARE * rows)
    if share <= MOST_TESTS:
        return ()
    return (
        f"{MOST_TESTS:,} of {rows:,} rows are for testing: {share:,}, a quarter, would take {share / MOST_TESTS:.0f} times as "
        f"long. The error that this leaves is in the intervals; write test={TEST_SHARE:g} for a quarter",
    )


def _only_tests(train: pandas.DataFrame, held: pandas.DataFrame, column: str | None) -> tuple[str, ...]:
    """What is said of groups of which chance put every row among the test rows."""
    if column is None:
        return ()
    lost = sorted(set(held[column].dropna().astype(str)) - set(train[column].dropna().astype(str)))
    if not lost:
        return ()
    named = ", ".join(map(repr, lost[:3])) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
    return (f"{named} of {column!r} gets no value: all its rows are test rows; choose other ones with test=FILE",)


def _places(
    frame: pandas.DataFrame, train: pandas.DataFrame, held: pandas.DataFrame, within: bool
) -> tuple[IntArray, IntArray]:
    """Where training and test rows stand among the rows of the file, followed by those of a test file."""
    training = train.index.to_numpy(dtype=np.int64)
    return training, held.index.to_numpy(dtype=np.int64) + (0 if within else len(frame))


def _in_place(training: IntArray, testing: IntArray, taught: Iterable[T], held: Iterable[T]) -> list[T]:
    """What belongs to training and test rows, in the order of the files."""
    found: dict[int, T] = {}
    for places, values in ((training, taught), (testing, held)):
        found |= zip(places.tolist(), values, strict=True)
    return [found[place] for place in range(len(training) + len(testing))]


def _look_at(named: Sequence[str], texts: list[str] | None, rows: int, training: IntArray) -> list[Features]:
    """The named features of all rows, each name once."""
    if len(set(named)) < len(named):
        raise InvalidInput(
            f"seen_as={max(named, key=list(named).count)!r} is given twice; name each once",
            argument="seen_as",
            code="duplicate",
        )
    return [features(name, texts, rows, training) for name in named]


def check_columns(frame: pandas.DataFrame, file: str | Path, columns: dict[str, str | None]) -> None:
    """Refuse a column that the file does not have, by the argument that names it."""
    for argument, column in columns.items():
        if column is not None and column not in frame.columns:
            raise InvalidInput(
                f"{argument} {column!r} is not a column of {file}; its columns are {', '.join(map(str, frame.columns))}"
                f"{did_you_mean(column, [*map(str, frame.columns)])}",
                argument=argument,
                code="unknown",
            )
    if (text := columns["text"]) is not None and text == columns.get("target"):
        raise InvalidInput(
            f"text={text!r} and target={text!r} are one column; a label cannot be learned from itself",
            argument="text",
            code="duplicate",
        )


def parts(
    frame: pandas.DataFrame, file: str | Path, test: str | float | None, needed: list[str], seed: int, codes: str | None = None
) -> tuple[pandas.DataFrame, pandas.DataFrame, str | None]:
    """Training rows, test rows, and the file that the latter come from, if it is another one."""
    try:
        share = TEST_SHARE if test is None else float(test)
    except ValueError:
        held = read_frame(str(test), codes=codes)
        lacking = [c for c in needed if c not in held.columns]
        if lacking:
            raise InvalidInput(
                f"the test file {test} lacks the columns {', '.join(lacking)}", argument="test", code="missing"
            ) from None
        return frame, held, str(test)
    if not 0 < share < 1:
        raise InvalidInput(f"test={test} must be a file, or a fraction between 0 and 1", argument="test", code="range")
    order = np.random.default_rng(seed).permutation(len(frame))
    count = max(1, round(share * len(frame)))
    if test is None:
        count = min(count, MOST_TESTS)
    if count >= len(frame):
        raise InvalidInput(
            f"{file} has {rows(len(frame))}; {share:g} of that for testing leaves none to train on; give more rows",
            argument="test",
            code="range",
        )
    return frame.iloc[np.sort(order[count:])], frame.iloc[np.sort(order[:count])], None


def name_by(frame: pandas.DataFrame, identity: str | None) -> tuple[str, ...]:
    """The names of rows: what a column says, or their numbers."""
    if identity is None:
        return tuple(f"row {i + 1}" for i in range(len(frame)))
    cells = [str(cell) for cell in frame[identity]]
    bad = frame[identity].isna() | frame[identity].duplicated()
    if bad.any():
        raise InvalidInput(
            f"id {identity!r} is missing or repeated in {rows(int(bad.sum()))}, {name_rows(frame.index[bad])}; give every row "
            "a name of its own, or say with annotators=COLUMN who labelled rows of one id",
            argument="id",
            code="duplicate",
        )
    return tuple(cells)


def name_annotators(frame: pandas.DataFrame, column: str) -> tuple[str, ...]:
    """Who gave each label."""
    unknown = frame[column].isna()
    if unknown.any():
        raise InvalidInput(
            f"annotators {column!r} is missing in {rows(int(unknown.sum()))}, {name_rows(frame.index[unknown])}; fill "
            "or drop them",
            argument="annotators",
            code="missing",
        )
    return tuple(str(cell) for cell in frame[column])


def show_rows(frame: pandas.DataFrame, text: str | None, aside: set[str | None]) -> tuple[str, ...]:
    """How each row looks: its text, or its first cells by name."""
    if text is not None:
        return tuple(str(cell) for cell in frame[text])
    columns = [c for c in frame.columns if c not in aside][:CELLS_SHOWN]
    cells = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in frame[c]] for c in columns]
    lines = zip(*cells, strict=True) if cells else ((),) * len(frame)
    return tuple(", ".join(f"{c}={cell}" for c, cell in zip(columns, line, strict=True)) for line in lines)


def groups_by(
    train: pandas.DataFrame, column: str | None, argument: str, names: Sequence[str] | None = None
) -> dict[str, list[str]] | None:
    """Rows by what a column says of them."""
    if column is None:
        return None
    if train[column].isna().any():
        count = int(train[column].isna().sum())
        raise InvalidInput(
            f"{argument} {column!r} is missing in {rows(count, 'training ')}; fill or drop them",
            argument=argument,
            code="missing",
        )
    groups = groups_of([f"row {i + 1}" if names is None else names[i] for i in train.index], train[column])
    if len(groups) < 2:
        raise InvalidInput(
            f"{argument} {column!r} has the one value {next(iter(groups))!r}; two are needed",
            argument=argument,
            code="undefined",
        )
    return groups


def _prices(
    train: pandas.DataFrame, by_column: str | None, prices: str | Mapping[str, float], groups: Sequence[str]
) -> dict[str, float]:
    """One price per group, from a mapping or from a column."""
    if not isinstance(prices, str):
        return check_prices(prices, groups)
    words = train.loc[[not (missing(cell) or is_number(cell)) for cell in train[prices]]]
    if len(words):
        raise InvalidInput(
            f"prices {prices!r} holds {words[prices].iloc[0]!r} for {str(words[by_column].iloc[0])!r}; write a number",
            argument="prices",
            code="type",
        )
    found: dict[str, float] = {}
    for name, cells in train.groupby(train[by_column].astype(str), sort=False)[prices]:
        if cells.isna().all():
            continue  # refused below, by name
        if cells.isna().any() or cells.nunique() > 1:
            seen = ", ".join(map(str, cells.unique()[:3]))
            raise InvalidInput(
                f"prices {prices!r} holds {seen} in rows of {name!r}; write one price in all of them",
                argument="prices",
                code="conflict",
            )
        found[str(name)] = cells.iloc[0].item() if hasattr(cells.iloc[0], "item") else cells.iloc[0]
    return check_prices(found, groups)


def texts_in(frame: pandas.DataFrame, column: str, file: str, argument: str = "text") -> list[str]:
    """A column of texts, none of them empty."""
    if argument == "text" and frame[column].dtype.kind in "iufb":
        raise InvalidInput(
            f"text is {column!r}, and that column of {file} holds numbers; name a column of texts, or leave text out",
            argument=argument,
            code="type",
        )
    blank = frame[column].isna() | (frame[column].astype(str).str.strip() == "")
    if blank.any():
        where = name_rows(frame.index[blank])
        raise InvalidInput(
            f"{argument} {column!r} is empty in {rows(int(blank.sum()))} of {file}, {where} ({EMPTY}); drop them first",
            argument=argument,
            code="empty",
        )
    return [str(text) for text in frame[column]]


def _standardise(x: FloatArray, test_x: FloatArray) -> tuple[FloatArray, FloatArray]:
    centre, unit = x.mean(axis=0), units(x)
    return (x - centre) / unit, (test_x - centre) / unit
