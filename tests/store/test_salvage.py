"""A damaged journal: found on opening or on reading, and saved as far as its checksums are right."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from accredit.cli.runs import runs
from accredit.errors import InvalidInput
from accredit.store import Entry, Journal, JournalError, fingerprint
from accredit.store.journal import existing
from accredit.store.salvage import salvage
from tests.wording import says

NAME = fingerprint(game="salvage")
ROWS, TARGETS = 1500, 142


def _value(number: int) -> float:
    return float(np.sin(number) * 1e3) if number % 7 else float(number)  # whole numbers are stored another way


def _written(path: Path, targets: int = TARGETS) -> Path:
    with Journal(path) as journal:
        game = journal.enter(NAME, tuple(f"p{i}" for i in range(16)))
        run = journal.begin_run(["value", "films.csv", "--target", "label"], "/films", ["--csv"])
        journal.describe(run, {"labels": ["good"]})
        for start in range(0, ROWS, 50):
            rows = range(start, start + 50)
            journal.record(
                game,
                0,
                [Entry(k.to_bytes(2, "little"), "ok", _value(k), 0.1, outputs=_outputs(k, targets)) for k in rows],
            )
        journal.record(game, 1, [Entry(b"\xff\xff", "quarantined", None, 0.0, 3, "it hung")])
    return path


def _outputs(number: int, targets: int) -> np.ndarray | None:
    return np.cos(np.arange(targets) + number) if targets else None


def _right(path: Path, targets: int = TARGETS) -> int:
    """How many payoffs a journal holds; each must be what was written."""
    with existing(path) as journal:
        journal.check()
        count = 0
        for seed, entry in journal.entries(1):
            if seed == 0:
                number = int.from_bytes(entry.coalition, "little")
                assert entry.value == _value(number)
                if targets:
                    np.testing.assert_array_equal(entry.outputs, _outputs(number, targets))
                count += 1
    return count


@pytest.mark.slow
def test_outputs_take_little_more_than_their_bytes(tmp_path: Path) -> None:
    for targets in (142, 400, 700):
        size = _written(tmp_path / f"{targets}.db", targets).stat().st_size
        assert size < 1.3 * ROWS * targets * 8


@pytest.mark.slow
@pytest.mark.parametrize("targets", [0, TARGETS])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.97])
def test_a_truncated_journal_is_refused_with_the_way_out_and_what_is_whole_is_saved(
    tmp_path: Path, share: float, targets: int
) -> None:
    file = _written(tmp_path / "run.db", targets)
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    with pytest.raises(JournalError, match=r"damaged.*--salvage NEW\.db"):
        Journal(file)
    got = salvage(file, tmp_path / "new.db")
    assert _right(tmp_path / "new.db", targets) + 1 >= got.payoffs >= (share - 0.2) * ROWS * 0.8
    assert got.runs == 1 or share < 0.5
    assert file.read_bytes() == content[: int(share * len(content))]  # only read


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_overwritten_bytes_are_found_and_never_become_a_payoff(tmp_path: Path, seed: int) -> None:
    file = _written(tmp_path / "run.db")
    content = bytearray(file.read_bytes())
    chance = np.random.default_rng(seed)
    place = int(chance.integers(8192, len(content) - 200))
    content[place : place + 200] = chance.bytes(200)
    file.write_bytes(bytes(content))
    with pytest.raises(JournalError, match="damaged"), Journal(file) as journal:
        journal.check()
    got = salvage(file, tmp_path / "new.db")
    assert _right(tmp_path / "new.db") >= ROWS - 150 and got.payoffs + got.damaged <= ROWS + 1


def test_one_changed_number_is_found_when_it_is_read(tmp_path: Path) -> None:
    file = _written(tmp_path / "run.db", 0)
    with Journal(file) as journal:
        journal._file.sql.execute("UPDATE payoffs SET value = 5.0 WHERE coalition = ?", (b"\x01\x00",))
    with Journal(file) as journal:
        assert journal.recall(1, 0, [b"\x02\x00"])[b"\x02\x00"].value == _value(2)
        with pytest.raises(JournalError, match="checksum"):
            journal.recall(1, 0, [b"\x01\x00"])
        with pytest.raises(JournalError, match="checksum"):
            journal.check()


def test_what_is_still_in_the_log_is_saved_too(tmp_path: Path) -> None:
    with Journal(tmp_path / "run.db") as journal:
        journal._file.pragma("wal_autocheckpoint = 0")
        game = journal.enter(NAME, ("a", "b"))
        journal.record(game, 0, [Entry(b"\x01", "failed", None, 0.1, 1, "no luck")])
        journal.record(game, 0, [Entry(b"\x01", "ok", 2.5, 0.1), Entry(b"\x03", "ok", 3.0, 0.1)])
        for part in "run.db", "run.db-wal":
            shutil.copy(tmp_path / part, tmp_path / part.replace("run", "copy"))
    got = salvage(tmp_path / "copy.db", tmp_path / "new.db")
    with existing(tmp_path / "new.db") as journal:
        assert {e.coalition: e.value for _, e in journal.entries(1)} == {b"\x01": 2.5, b"\x03": 3.0}
    assert got.payoffs == 2 and got.damaged == 0


def test_the_command_salvages_and_never_replaces_a_file(tmp_path: Path) -> None:
    file = _written(tmp_path / "run.db", 0)
    file.write_bytes(file.read_bytes()[:-8192])
    run = CliRunner().invoke(runs, [str(file), "--salvage", str(tmp_path / "new.db")])
    assert run.exit_code == 0, run.output
    assert "match their checksums" in run.output and "unfinished" in run.output
    again = CliRunner().invoke(runs, [str(file), "--salvage", str(tmp_path / "new.db")])
    assert isinstance(again.exception, InvalidInput) and says(str(again.exception), "name a new")
    with pytest.raises(InvalidInput, match="no journal"):
        salvage(tmp_path / "nowhere.db", tmp_path / "other.db")
    (tmp_path / "text.db").write_text("a letter " * 2000)
    with pytest.raises(JournalError, match="nothing to salvage"):
        salvage(tmp_path / "text.db", tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()


def test_who_looks_every_second_does_not_read_every_page_and_still_gets_no_damaged_row(tmp_path: Path, monkeypatch) -> None:
    from accredit.store.journal_file import JournalFile

    file, looked = _written(tmp_path / "run.db", 0), []
    monkeypatch.setattr(JournalFile, "check_pages", lambda self, how: looked.append(how))
    with existing(file, verified=False) as journal:
        assert journal.games()[0]["ok"] == ROWS and not looked
        journal._file.sql.execute("UPDATE payoffs SET value = 5.0 WHERE coalition = ?", (b"\x01\x00",))
        with pytest.raises(JournalError, match="checksum"):
            list(journal.entries(1))
    with existing(file):
        assert looked == ["quick_check(1)"]
