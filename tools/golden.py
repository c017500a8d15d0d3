"""Results recorded bit by bit, so that a change which should change none can be shown to change none.

    python -m tools.golden record                       # compute every entry, write it into out/golden
    python -m tools.golden compare                      # compute again, list what differs; exit code 1 if anything does
    python -m tools.golden compare --only 'text/*'      # some entries: a pattern, or a part of their names
    python -m tools.golden compare --show 'game/shapley'  # the same, with a unified diff of each
    python -m tools.golden record elsewhere --jobs 2    # another folder, two processes

Entries stand in tables in tools/proof/golden and reach accredit through tools/proof/golden/doors.py alone: adapt the doors
when a room moves. Digits depend on the machine and its libraries, so records are not committed: record before a change, compare
after it, on one machine. What belongs to a run (seconds, dates, versions, folders) is masked.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager, nullcontext
from fnmatch import fnmatchcase
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "out" / "golden"
ABOUT = "about.json"  # in a folder of records: what computed them
VERDICTS = ("same", "numbers differ", "wording or format differs", "missing", "new", "error")
LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "torch",
    "transformers",
    "xgboost-cpu",
    "lightgbm",
    "catboost",
    "ortools",
)
STEADY = {  # the same in every process that computes: one thread, no network, a terminal of 80 columns
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "COLUMNS": "80",
    "LINES": "24",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "PYTHONWARNINGS": "ignore",
    "PYTHONDONTWRITEBYTECODE": "1",
}
Records = dict[str, dict[str, Any]]


# Files: one for each entry


def file_of(folder: Path, name: str) -> Path:
    return folder / f"{quote(name, safe=' ,')}.json"


def write(folder: Path, name: str, found: Mapping[str, Any]) -> None:
    file_of(folder, name).write_text(json.dumps(found, ensure_ascii=False, indent=0), encoding="utf-8")


def read(folder: Path) -> Records:
    """Every record of a folder by the name of its entry."""
    files = sorted(path for path in folder.glob("*.json") if path.name != ABOUT)
    return {unquote(path.stem): json.loads(path.read_text(encoding="utf-8")) for path in files}


def about() -> dict[str, str]:
    """What decides the last digits: machine and libraries."""
    found = {"python": platform.python_version(), "machine": f"{platform.machine()}, {_processor()}"}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


# Computing, in processes of their own


def wanted(name: str, only: str | None) -> bool:
    """Is this entry among those asked for, by a pattern or by a part of its name?

    >>> wanted("text/flow-l2", "text/*"), wanted("text/flow-l2", "flow"), wanted("text/flow-l2", "flow*")
    (True, True, False)
    """
    return only is None or (fnmatchcase(name, only) if any(mark in only for mark in "*?[") else only in name)


def may_hold(kind: str, only: str | None) -> bool:
    """May a kind have entries among those asked for? It has none if another kind is named before the slash.

    >>> may_hold("text", "text/*"), may_hold("text", "flow"), may_hold("text", "flow/shapley")
    (True, True, False)
    """
    named, slash, _ = (only or "").partition("/")
    return not slash or fnmatchcase(kind, named)


def compute(folder: Path, kinds: Iterable[str], only: str | None) -> None:
    """In a process of its own: write the records of some entries into a folder, and say each on standard output."""
    from tools.proof.golden.as_shown import CLOSING
    from tools.proof.golden.subjects import samples

    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is not part of the conversation
    with tempfile.TemporaryDirectory(prefix="golden-") as place, chdir(place):
        place = os.path.realpath(place)
        os.environ |= {"HOME": place, "TMPDIR": place}
        tempfile.tempdir = None
        samples()
        hidden = _hidden(place)
        for name, entry in _chosen(kinds, only):
            began = time.process_time()
            with nullcontext() if name.startswith("page/") else _slow_clock():  # a server waits by the clock
                found = _tried(entry, hidden)
            write(folder, name, found)
            out.write(json.dumps([name, time.process_time() - began]) + "\n")
        for close in CLOSING:
            close()


def _chosen(kinds: Iterable[str], only: str | None) -> Iterator[tuple[str, Any]]:
    """The entries asked for; a table that cannot be made is one entry that ends in an error."""
    from tools.proof.golden.entries import entries

    for kind in kinds:
        try:
            table = entries([kind])
        except Exception as error:  # a door is gone; the other tables go on
            yield f"{kind}/(its table)", partial(_fail, error)
            continue
        yield from ((name, entry) for name, entry in table.items() if wanted(name, only))


def _fail(error: Exception) -> None:
    raise error


def _tried(entry: Any, hidden: Mapping[str, str]) -> dict[str, Any]:
    """The record of one entry, or the error that it ended in."""
    from tools.proof.golden.records import record

    _seed()
    try:
        return record(entry(), hidden)
    except Exception as error:  # an entry may raise anything; the others go on
        return {"error": f"{type(error).__name__}: {error}"}


@contextmanager
def _slow_clock() -> Iterator[None]:
    """Inside, every look at a clock is a microsecond after the one before: no line is longer, and no run is announced as a long
    one, because the machine was busy."""
    names = ("perf_counter", "monotonic", "process_time")
    kept, looks = {name: getattr(time, name) for name in names}, count()
    for name in names:
        setattr(time, name, lambda: next(looks) * 1e-6)
    try:
        yield
    finally:
        for name in names:
            setattr(time, name, kept[name])


def _seed() -> None:
    """Nothing should draw from the generators that all share; if something does, it does not depend on what ran before."""
    import random

    import numpy as np

    random.seed(0)
    np.random.seed(0)
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.set_num_threads(1)
        torch.manual_seed(0)


def _hidden(place: str) -> dict[str, str]:
    """Strings of this run, and what stands for them in a record."""
    from tools.proof.golden.doors import __version__ as own

    versions = {found: f"({name})" for name, found in about().items() if name in LIBRARIES and found != "none"}
    return {
        place: "FOLDER",
        str(ROOT): "REPOSITORY",
        **versions,
        own: "(accredit)",
        platform.python_version(): "(python)",
    }


def shares(kinds: Mapping[str, float], jobs: int) -> list[list[str]]:
    """Kinds dealt out to processes: the longest first, each to the process that has least to do.

    >>> shares({"a": 5, "b": 4, "c": 3}, 2)
    [['a'], ['b', 'c']]
    """
    dealt: list[list[str]] = [[] for _ in range(jobs)]
    for kind in sorted(kinds, key=lambda name: -kinds[name]):
        min(dealt, key=lambda share: sum(kinds[name] for name in share)).append(kind)
    return [share for share in dealt if share]


def computed(folder: Path, only: str | None, jobs: int) -> Iterator[tuple[str, float]]:
    """Compute entries into a folder by fresh processes; each entry as it ends, with its CPU-seconds."""
    from tools.proof.golden.entries import KINDS

    held = {kind: seconds for kind, (seconds, _) in KINDS.items() if may_hold(kind, only)}
    started = [_process(folder, share, only) for share in shares(held, jobs)]
    try:
        for process in started:
            assert process.stdout is not None
            for line in process.stdout:
                name, seconds = json.loads(line)
                yield name, seconds
    finally:
        for process in started:
            process.kill() if process.poll() is None and sys.exc_info()[0] else process.wait()
    if any(process.returncode for process in started):
        raise SystemExit("a process that computes entries ended early; what it said stands above")


def _process(folder: Path, kinds: list[str], only: str | None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tools.golden", "compute", str(folder.resolve()), "--kinds", ",".join(kinds)]
    command += ["--only", only] if only else []
    environment = {**os.environ, **STEADY, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


# Two commands


def record_all(folder: Path, only: str | None, jobs: int) -> int:
    """Compute entries and keep them; what is kept of other entries stays, unless all were computed."""
    with tempfile.TemporaryDirectory() as new:
        _follow(Path(new), only, jobs)
        found = read(Path(new))
    folder.mkdir(parents=True, exist_ok=True)
    if only is None:
        for path in folder.glob("*.json"):
            path.unlink()
    failed = {name: each["error"] for name, each in found.items() if "error" in each}
    for name in found.keys() - failed.keys():
        write(folder, name, found[name])
    (folder / ABOUT).write_text(json.dumps(about(), indent=1) + "\n", encoding="utf-8")
    for name, why in failed.items():
        print(f"error: {name}: {why:.300}")
    print(f"{len(found) - len(failed)} entries recorded in {folder}, {len(failed)} ended in an error")
    return 1 if failed else 0


def compare_all(folder: Path, only: str | None, jobs: int, show: bool) -> int:
    """Compute entries again, and say of each that is not the same what it differs in."""
    from tools.proof.golden.records import difference, shown_difference

    if not folder.is_dir():
        raise SystemExit(f"{folder} is not there; run first: python -m tools.golden record {folder}")
    was = {name: each for name, each in read(folder).items() if wanted(name, only)}
    with tempfile.TemporaryDirectory() as new:
        _follow(Path(new), only, jobs)
        now = read(Path(new))
    _warn_of_another_machine(folder)
    verdicts: Counter[str] = Counter()
    for name in sorted(was.keys() | now.keys()):
        verdict, said = _judged(was.get(name), now.get(name), difference)
        verdicts[verdict] += 1
        if verdict != "same":
            print(f"{verdict}: {name}{f' ({said})' if said else ''}")
        if show and name in was and name in now and verdict != "same":
            print(shown_difference(was[name], now[name]))
    print(", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS))
    return 0 if set(verdicts) <= {"same"} else 1


def _judged(was: Mapping[str, Any] | None, now: Mapping[str, Any] | None, difference: Any) -> tuple[str, str]:
    if now is None:
        return "missing", "it is recorded, and no entry has this name now"
    if "error" in now:
        return "error", f"{now['error']:.300}"
    if was is None:
        return "new", "it is not recorded"
    found = difference(was, now)
    return found.verdict, str(found)


def _warn_of_another_machine(folder: Path) -> None:
    kept = json.loads((folder / ABOUT).read_text(encoding="utf-8")) if (folder / ABOUT).exists() else {}
    other = [f"{name} {kept.get(name)} then, {now} now" for name, now in about().items() if kept.get(name) != now]
    if other:
        print(f"recorded elsewhere, so that digits may differ for no other reason: {'; '.join(other)}", file=sys.stderr)


def _follow(folder: Path, only: str | None, jobs: int) -> None:
    """Compute, and say on standard error how far it is and what it took."""
    took: dict[str, float] = {}
    for name, seconds in computed(folder, only, jobs):
        took[name] = seconds
        if len(took) % 50 == 0:
            print(f"{len(took)} entries", file=sys.stderr)
    if not took:
        raise SystemExit(f"no entry has {only!r} in its name; see tools/proof/golden/entries.py")
    kinds: dict[str, float] = defaultdict(float)
    for name, seconds in took.items():
        kinds[name.partition("/")[0]] += seconds
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = ", ".join(f"{kind} {seconds:.0f}" for kind, seconds in sorted(kinds.items(), key=lambda each: -each[1]))
    print(f"{len(took)} entries, {used.ru_utime + used.ru_stime:.0f} CPU-s in all; {told}", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["record", "compare", "compute"], metavar="record|compare")
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="of the records; default: out/golden")
    parser.add_argument("--only", metavar="PATTERN", help="entries whose name fits, or holds this text")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compute")
    parser.add_argument("--show", metavar="PATTERN", help="compare these entries, with a unified diff of each that differs")
    parser.add_argument("--kinds", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.task == "compute":
        compute(options.folder, options.kinds.split(","), options.only)
        return 0
    if options.task == "record":
        return record_all(options.folder, options.only, options.jobs)
    return compare_all(options.folder, options.show or options.only, options.jobs, options.show is not None)


if __name__ == "__main__":
    sys.exit(main())
