from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from accredit.core import Attribution, Claim, Holds, Selection
from accredit.errors import AccreditError, InvalidInput
from accredit.store import load, load_arrays, save
from accredit.store.results_cache import Finished
from tests.together import at_once


def test_results_and_arrays_come_back_bit_for_bit(tmp_path: Path) -> None:
    claims = (Claim("efficiency", Holds.EXACTLY, "by construction"),)
    result = Attribution(("a", "b"), [0.1 + 0.2, 1 / 3], 1.0, "hand", claims, stderr=[1e-17, 0.5])
    arrays = {"matrix": np.random.default_rng(0).normal(size=(3, 2)), "rows": np.arange(4)}
    save(tmp_path / "r.json", result, arrays)
    assert load(tmp_path / "r.json") == result
    back = load_arrays(tmp_path / "r.json")
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == array.dtype
    assert sorted(file.name for file in tmp_path.iterdir()) == ["r.json", "r.safetensors"]


def test_a_selection_comes_back_too(tmp_path: Path) -> None:
    kept = Selection(("a", "b"), [True, False], "l2x", "top 1")
    save(tmp_path / "s.json", kept)
    assert load(tmp_path / "s.json") == kept
    assert load_arrays(tmp_path / "s.json") == {}


def test_damaged_files_and_unwritable_places_are_named(tmp_path: Path) -> None:
    result = Attribution(("a",), [1.0], 1.0, "hand")
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "bad.safetensors").write_bytes(b"\x00" * 20)
    for call, error in (
        (lambda: load(tmp_path / "bad.json"), InvalidInput),
        (lambda: load(tmp_path / "absent.json"), InvalidInput),
        (lambda: load_arrays(tmp_path / "bad.json"), InvalidInput),
        (lambda: save(tmp_path / "r.pickle", result), InvalidInput),
        (lambda: save(tmp_path / "no folder" / "r.json", result), AccreditError),
    ):
        with pytest.raises(error, match=re.escape(str(tmp_path))):
            call()


def test_files_are_readable_by_whom_new_files_are(tmp_path: Path) -> None:
    plain, saved = tmp_path / "plain.json", tmp_path / "saved.json"
    plain.write_text("{}")
    save(saved, Attribution(("alice", "bob"), [6, 4], 10, "by hand"))
    assert saved.stat().st_mode == plain.stat().st_mode


@pytest.mark.slow
def test_several_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    result, before, after = (
        Attribution(("alice", "bob"), [6, 4], 10, "by hand"),
        tmp_path / "before",
        tmp_path / "after",
    )
    before.write_text("")
    for _ in range(20):
        assert not at_once(lambda: save(tmp_path / "r.json", result))
    assert load(tmp_path / "r.json") == result
    after.write_text("")
    assert after.stat().st_mode == before.stat().st_mode, "a writer changed what new files allow"
    assert {file.name for file in tmp_path.iterdir()} == {"r.json", "before", "after"}


@pytest.mark.slow
def test_several_processes_may_open_one_new_store_of_finished_parts(tmp_path: Path) -> None:
    def keep(path: Path) -> None:
        with Finished(path) as parts:
            parts.keep({"part": 1}, {"x": 1})

    for trial in range(60):
        assert not at_once(lambda path=tmp_path / f"{trial}.db": keep(path))
