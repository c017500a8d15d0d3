"""Files become training tables: what is refused by name, and what is said about the rows that are taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accredit.errors import InvalidInput
from accredit.training_data.report import labels_of
from accredit.training_data.tables import table
from accredit.training_data.worth import value_table
from tests.wording import says

pytest.importorskip("pandas")
pytest.importorskip("sklearn")

ROWS = 40


def written(folder: Path, rows: list[dict[str, Any]], name: str = "rows.csv") -> str:
    import pandas

    file = folder / name
    pandas.DataFrame(rows).to_csv(file, index=False)
    return str(file)


def rows_of(label: Any, **more: Any) -> list[dict[str, Any]]:
    """Rows of two columns; `label` and `more` say what stands in row i."""
    rng = np.random.default_rng(0)
    return [
        {"a": float(rng.normal()), "b": float(rng.normal()), "y": label(i)} | {k: v(i) for k, v in more.items()}
        for i in range(ROWS)
    ]


@pytest.mark.parametrize(
    ("label", "why"),
    [
        (
            lambda i: None if i in (3, 16) else "ab"[i % 2],
            r"missing in 2 rows of .*, row 4, row 17 \(.*None and null\)",
        ),
        (lambda i: ["None", "ok"][i % 2], "missing in 20 rows of .*, row 1, row 3, row 5 and 17 more"),
        (
            lambda i: ["pos", "neg", "pos "][i % 3],
            "'pos' in some rows and 'pos ' in others, which differ in blanks only",
        ),
        (
            lambda i: f"2024-01-{i + 1:02}",
            "holds 40 different labels in 40 rows, for example '2024-01-0.'; classes repeat",
        ),
        (
            lambda i: "a",
            "is 'a' in all 30 training rows; two classes are needed: give rows of another one, or name another column",
        ),
        (lambda i: 7.5, "is 7.5 in all 30 training rows; there is nothing to learn"),
        (lambda i: "inf" if i == 5 else i + 0.5, "'y' is inf in row 6; fill, scale or drop them"),
    ],
    ids=["missing", "a word for missing", "blanks", "dates", "one class", "one number", "infinite"],
)
def test_a_target_that_cannot_be_learned_is_refused_by_its_rows(tmp_path: Path, label: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        table(written(tmp_path, rows_of(label)), "y")


def test_01_and_1_are_two_classes(tmp_path: Path) -> None:
    file = written(tmp_path, rows_of(lambda i: ["01", "1", "10"][i % 3]))
    assert table(file, "y").data.classes == ("01", "1", "10")


def test_numbers_with_zeros_in_front_are_numbers_if_told(tmp_path: Path) -> None:
    file = written(tmp_path, rows_of(lambda i: f"{i:03}"))
    assert table(file, "y", task="number").data.y.max() >= ROWS - 5


def test_classes_that_differ_in_capitals_are_two_and_that_is_said(tmp_path: Path) -> None:
    read = table(written(tmp_path, rows_of(lambda i: ["pos", "Pos", "neg"][i % 3])), "y")
    assert read.data.classes == ("Pos", "neg", "pos")
    assert says(read.notes[0], "differ in capitals")


@pytest.mark.parametrize("given_away", [lambda i: "xy"[i % 2], lambda i: i % 2 * 50 + i], ids=["word", "number"])
def test_a_column_that_tells_every_label_is_named(tmp_path: Path, given_away: Any) -> None:
    rows = rows_of(lambda i: "ab"[i % 2], copied=given_away)
    (note,) = table(written(tmp_path, rows), "y").notes
    assert says(note, "column 'copied' alone")
    rows[0]["y"] = "b"  # one label that the column does not tell
    (tmp_path / "split").mkdir()
    assert table(written(tmp_path, rows), "y", test=written(tmp_path / "split", rows[20:])).notes[0][:2] == "20"


def test_the_training_file_may_be_the_test_file_and_that_is_said(tmp_path: Path) -> None:
    file = written(tmp_path, rows_of(lambda i: "ab"[i % 2]))
    read = table(file, "y", test=file)
    assert len(read.data.y) == len(read.data.test_y) == ROWS
    assert says(read.notes[-1], "training rows, too")


def test_a_group_of_which_every_row_is_a_test_row_is_named(tmp_path: Path) -> None:
    files = [
        written(
            tmp_path,
            rows_of(lambda i: "ab"[i % 2], who=lambda i, lone=lone: "zoe" if i == lone else "eb"[i // 2 % 2]),
            f"{lone}.csv",
        )
        for lone in range(8)
    ]
    found = [table(file, "y", players="who") for file in files]
    lost = [read for read in found if "zoe" not in (read.groups or {})]
    assert 0 < len(lost) < 8
    for read in found:
        assert any(says(note, "'zoe' of 'who' gets no value") for note in read.notes) is (read in lost)


def test_whether_features_say_anything_is_not_asked_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(1).integers(0, 2, ROWS)
    read = table(written(tmp_path, rows_of(lambda i: "ab"[chance[i]])), "y")
    found = labels_of(read)
    monkeypatch.setattr("accredit.training_data.tables.predict_skill", None)
    assert found.probability is None and replace(read, judged=found).silent == found.refusal != ""


def test_a_group_that_costs_nothing_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, rows_of(lambda i: "ab"[i % 2], who=lambda i: "ebz"[i % 3]))
    read = table(file, "y", players="who", prices={"e": 3, "b": 0, "z": 2})
    assert any(says(warning, "the price of b is 0") for warning in value_table(read, curves=False).warnings)


def test_rows_of_few_kinds_repeat_without_a_word(tmp_path: Path) -> None:
    rows = [{"a": i % 3, "b": i % 2, "y": "ab"[i % 5 == 0]} for i in range(ROWS)]
    assert table(written(tmp_path, rows), "y").notes == ()


def test_a_number_that_outweighs_all_others_is_named(tmp_path: Path) -> None:
    rows = rows_of(lambda i: 1e6 if i == 1 else i + 0.5)
    test = written(tmp_path, rows[5:], "test.csv")
    (note,) = table(written(tmp_path, rows), "y", test=test).notes[:1]
    assert says(note, "1e+06, which alone")
