"""The doors for files. Written: whole or not at all, in the place of regular files only. Read: regular files of known size.

A name on a command line may be anything: a device, a pipe that nobody fills, a folder, a link, a file of a terabyte.
"""

from __future__ import annotations

import codecs
import os
import secrets
import stat
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from accredit.checks.encodings import nul_half
from accredit.checks.json_data import read_json
from accredit.checks.numbers import a_type, shown
from accredit.checks.suggestions import did_you_mean
from accredit.errors import AccreditError, InvalidInput

LIMIT = 256 << 20  # bytes that are read at once
LONGEST = 255  # bytes of a name, on every common file system
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a loop of links",
}
NOT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def as_path(path: object, name: str = "path") -> Path:
    """A path, or an error that says what was given instead."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path) or "\0" in str(path):
        raise InvalidInput(f"{name} is {shown(path)}; give the path of a file", argument=name, code="type")
    longest = max((len(part.encode("utf-8", "replace")) for part in Path(path).parts), default=0)
    if longest > LONGEST:
        raise InvalidInput(
            f"{name} holds a name of {longest} bytes: {shown(path)}; the longest has {LONGEST}", argument=name, code="range"
        )
    return Path(path)


def kind_of(mode: int) -> str:
    """What stands in a place that is not a regular file."""
    return KINDS.get(stat.S_IFMT(mode), "not a regular file" if not stat.S_ISREG(mode) else "a file")


def check_writable(path: object, name: str = "path") -> Path:
    """Where a file will be written, links followed; refused now, and not after the work, where that cannot succeed."""
    given = as_path(path, name)
    try:
        place = Path(os.path.realpath(given))
        there = _find(place)
    except (OSError, ValueError) as error:  # a loop of links, a name that is too long
        raise InvalidInput(
            f"{name} {str(given)!r:.80} cannot be written: {_why(error)}", argument=name, code="unwritable"
        ) from None
    if there is not None and not stat.S_ISREG(there.st_mode):
        advice = "name a file in it" if stat.S_ISDIR(there.st_mode) else "name a regular file"
        raise InvalidInput(f"{name} {str(given)!r} is {kind_of(there.st_mode)}; {advice}", argument=name, code="unwritable")
    if str(path).endswith("/"):  # which Path drops
        raise InvalidInput(
            f"{name} {str(path)!r:.80} is the name of a folder; name a file in it", argument=name, code="unwritable"
        )
    folder = place.parent if given.is_symlink() else given.parent
    if not place.parent.is_dir():
        raise InvalidInput(
            f"there is no folder {str(folder)!r} to write {str(given)!r} in; make it first, or give {name} another place",
            argument=name,
            code="missing",
        )
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise InvalidInput(
            f"the folder {str(folder)!r} cannot be written; choose another place for {str(given)!r}",
            argument=name,
            code="unwritable",
        )
    if there is not None and not os.access(place, os.W_OK):
        raise InvalidInput(
            f"{name} {str(given)!r} is protected against writing; choose another name", argument=name, code="unwritable"
        )
    return place


def check_folder(path: object, name: str = "path") -> Path:
    """Where a folder will be made, or is; refused now, and not after the work, where files cannot be written into it."""
    given = as_path(path, name)
    try:
        place = Path(os.path.realpath(given))
        there = next(above for above in (place, *place.parents) if _find(above) is not None)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{name} {str(given)!r:.80} cannot be written: {_why(error)}", argument=name, code="unwritable"
        ) from None
    if not there.is_dir():
        raise InvalidInput(
            f"{name} {str(given)!r:.80} is not a folder: {str(there)!r:.80} is {kind_of(os.lstat(there).st_mode)}; "
            "name another",
            argument=name,
            code="unwritable",
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise InvalidInput(
            f"the folder {str(there)!r:.80} cannot be written; choose another place", argument=name, code="unwritable"
        )
    return place


def put(path: object, content: bytes) -> None:
    """All or nothing: write a file beside its place, sync it to disk, move it there.

    A link is followed, so that the file it points to is replaced and the link stays. What is replaced keeps its permissions
    and, where the system allows, its owner; a new file gets those of any new file.
    """
    place = check_writable(path)
    try:
        beside = place.with_name(f".{secrets.token_hex(8)}.part")  # no other writer uses this name
        try:
            before = _find(place)
            opened = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), _mode(before))
            with os.fdopen(opened, "wb") as file:
                if before is not None:
                    _as_before(file.fileno(), before)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, place)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise AccreditError(f"{path} could not be written: {_why(error)}; nothing was changed", code="unwritable") from None


def _find(place: Path) -> os.stat_result | None:
    try:
        return os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _mode(before: os.stat_result | None) -> int:
    return 0o666 if before is None else 0o600


def _as_before(file: int, before: os.stat_result) -> None:
    """Give a new file the owner and the permissions of the one that it replaces."""
    if hasattr(os, "fchown"):
        with suppress(OSError):  # only the owner and root may
            os.fchown(file, before.st_uid, before.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(file, stat.S_IMODE(before.st_mode))


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _neighbour(path: Path) -> str:
    """Whether a file of nearly this name lies in the same folder."""
    with suppress(OSError, ValueError):
        beside = [entry.name for entry in islice(path.parent.iterdir(), 1000)]
        return did_you_mean(path.name, beside, cutoff=0.7, before=str(path)[: -len(path.name)])
    return ""


def check_is_file(path: object) -> Path:
    """Refuse what is not there, and what is not a regular file; links are followed."""
    given = as_path(path)
    try:
        mode = given.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        samples = "; accredit examples writes the files of this folder" if given.parts[:-1] == ("examples",) else ""
        advice = _neighbour(given) or samples or "; give the path of a file"
        raise InvalidInput(f"{str(path)!r} does not exist{advice}", code="missing") from None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{str(path)!r:.80} cannot be read: {_why(error)}", code="unreadable") from None
    if not stat.S_ISREG(mode):
        raise InvalidInput(f"{str(path)!r} is {kind_of(mode)}; give the path of a file", code="type")
    return given


def read_bytes(path: object, limit: int = LIMIT, instead: str = "give a smaller file") -> bytes:
    """The content of a regular file of at most `limit` bytes. A pipe is not waited for, a device is not read."""
    given = check_is_file(path)
    try:
        with os.fdopen(os.open(given, os.O_RDONLY | NOT_WAITING), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # it may have been replaced since
                raise InvalidInput(f"{str(path)!r} is not a file; give the path of a file", code="type")
            content = file.read(limit + 1)
    except OSError as error:
        raise InvalidInput(f"{str(path)!r} cannot be read: {_why(error)}", code="unreadable") from None
    if len(content) > limit:
        raise InvalidInput(f"{str(path)!r} holds more than {_size(limit)}; {instead}", code="too-many")
    return content


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def read_text(path: object, limit: int = LIMIT) -> str:
    """The text of a file in UTF-8, with or without a byte-order mark."""
    return as_text(read_bytes(path, limit), path)


def as_text(content: bytes, path: object) -> str:
    """Bytes of a file as text in UTF-8; `path` says which file."""
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or nul_half(content) is not None:
        raise InvalidInput(f"{str(path)!r} is text in UTF-16; save it as UTF-8", code="unreadable")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            f"{str(path)!r} is not text in UTF-8: {error.reason} in line {line}; save it as UTF-8", code="unreadable"
        ) from None


def read_json_object(path: object, limit: int = 16 << 20) -> dict[str, Any]:
    """A JSON file that holds one object."""
    data = read_json(read_bytes(path, limit), repr(str(path)))
    if not isinstance(data, dict):
        raise InvalidInput(f"{str(path)!r} holds {a_type(data)}, not a JSON object", code="type")
    return data
