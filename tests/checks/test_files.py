"""The doors for files: what may be replaced, what is read, and how much of it."""

import gzip
import os
import socket
import stat
import sys

import pytest

from accredit.checks.files import check_is_file, check_writable, put, read_bytes, read_json_object, read_text
from accredit.checks.tables import read_content
from accredit.errors import AccreditError, InvalidInput
from tests.wording import refused

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes, links and modes are those of POSIX")


def odd_places(folder):
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "to a pipe").symlink_to("pipe")
    try:  # a device of our own: nothing on this machine is at stake, whoever runs this
        os.mknod(folder / "device", stat.S_IFCHR | 0o666, os.makedev(1, 7))
    except PermissionError:
        (folder / "device").symlink_to("/dev/full")  # who may not make devices may not replace this one either
    (folder / "to a device").symlink_to("device")
    (folder / "round").symlink_to("about")
    (folder / "about").symlink_to("round")
    with socket.socket(socket.AF_UNIX) as opened:
        here = os.getcwd()
        os.chdir(folder)  # a socket's path has few bytes
        opened.bind("socket")
        os.chdir(here)
    return [folder / name for name in ("pipe", "folder", "to a pipe", "device", "to a device", "round", "socket")]


def test_only_regular_files_are_replaced(tmp_path):
    for place in odd_places(tmp_path):
        before = os.lstat(place)
        for door in (check_writable, lambda place: put(place, b"x")):
            with refused("unwritable", "path"):
                door(place)
        assert os.lstat(place).st_ino == before.st_ino and os.lstat(place).st_mode == before.st_mode
    assert not list(tmp_path.glob(".*"))


def test_only_regular_files_are_read_and_nobody_waits_for_a_pipe(tmp_path):
    for place in odd_places(tmp_path):
        for door in (read_bytes, read_text, read_json_object, read_content):
            with pytest.raises(InvalidInput, match=r"is a (folder|device|pipe|socket)|cannot be read"):
                door(place)
    with pytest.raises(InvalidInput, match="is a device"):
        read_bytes("/dev/zero")


@pytest.mark.parametrize("path", ["", None, 3, b"x", "a\0b"])
def test_what_is_not_a_path_is_refused(path):
    for door in (check_writable, read_bytes):
        with refused("type", "path"):
            door(path)


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    kept = tmp_path / "there" / "page.html"
    kept.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(kept)
    put(link, b"new")
    assert link.is_symlink() and kept.read_bytes() == b"new"
    (tmp_path / "dangling").symlink_to(tmp_path / "there" / "later")
    put(tmp_path / "dangling", b"made")
    assert (tmp_path / "there" / "later").read_bytes() == b"made" and (tmp_path / "dangling").is_symlink()


def test_permissions_are_kept_and_new_files_have_the_usual_ones(tmp_path):
    secret = tmp_path / "secret"
    secret.touch(mode=0o600)
    for mode in (0o600, 0o640, 0o755):
        secret.chmod(mode)
        put(secret, b"x")
        assert stat.S_IMODE(secret.stat().st_mode) == mode
    put(tmp_path / "new", b"x")
    (tmp_path / "like").touch()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "like").stat().st_mode


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127, "a b", "quo\"te's", "line\nbreak", "-rf", "naïve 😀"])
def test_names_of_every_kind(tmp_path, name):
    put(tmp_path / name, b"whole")
    assert read_bytes(tmp_path / name) == b"whole" and len(list(tmp_path.iterdir())) == 1


def test_names_that_are_too_long_are_refused_before_the_work(tmp_path):
    for name in ("x" * 256, "é" * 128, "x" * 5000):
        with refused("range", "path"):
            check_writable(tmp_path / name)


def test_a_failure_leaves_what_was_there_and_nothing_beside_it(tmp_path, monkeypatch):
    (tmp_path / "page").write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("accredit.checks.files.os.fsync", full)
    with refused("unwritable", kind=AccreditError):
        put(tmp_path / "page", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["page"] and (tmp_path / "page").read_bytes() == b"old"


def test_a_place_that_becomes_a_link_while_writing_is_not_written_through(tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.write_bytes(b"theirs")
    true = os.fsync

    def swap(file):
        (tmp_path / "page").symlink_to(other)
        true(file)

    monkeypatch.setattr("accredit.checks.files.os.fsync", swap)
    put(tmp_path / "page", b"mine")
    assert other.read_bytes() == b"theirs" and (tmp_path / "page").read_bytes() == b"mine"


def test_sizes_are_limited_before_and_after_unpacking(tmp_path, monkeypatch):
    (tmp_path / "long.csv").write_bytes(b"a\n" * 100)
    with refused("too-many"):
        read_bytes(tmp_path / "long.csv", 100)
    monkeypatch.setattr("accredit.checks.tables.LIMIT", 1 << 20)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"\0" * (32 << 20)))
    with refused("too-many"):
        read_content(tmp_path / "bomb.csv.gz")


def test_text_is_utf_8_with_or_without_a_mark(tmp_path):
    (tmp_path / "a").write_bytes("\ufeffnaïve".encode())
    assert read_text(tmp_path / "a") == "naïve"
    (tmp_path / "b").write_bytes("one\nnaïve".encode("latin-1"))
    with refused("unreadable"):
        read_text(tmp_path / "b")


def test_a_file_of_nearly_the_same_name_is_named(tmp_path):
    (tmp_path / "pricing.csv").write_text("coalition,payoff")
    with refused("missing"):
        check_is_file(tmp_path / "pricing.cvs")
    with refused("missing"):
        check_is_file(tmp_path / "other.txt")
