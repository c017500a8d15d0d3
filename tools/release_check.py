"""Are the wheels fit to be published? Build accredit's and that of the papers, look at them, and try each extra in an empty
environment.

    python tools/release_check.py [--extras none,data] [--pythons python3.11,python3.12] [--oldest] [--lines FILE]

Each wheel is built twice, from the tree and from the sdist, and both must hold the same files. Their metadata are read by
twine, the types of accredit by mypy, in an environment of their own. Every extra is installed alone for every supported
Python found here, and used by commands in an empty folder; `papers` is not an extra, but the second wheel beside the first.
torch is asked for in its build for CPUs, because the other one brings gigabytes of CUDA; where a Python has none, the extras
that need it are left out, and the table says so. `--oldest` takes the lowest version of every dependency that pyproject.toml
allows.

`--lines FILE` appends one JSON line for each trial, from which tools.wheel_page writes a page. A trial that passed with the
same wheels is not repeated, so a run that was stopped goes on where it was. Exits with 1 if any part failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PROJECT, PAPERS = (tomllib.loads((ROOT / place / "pyproject.toml").read_text())["project"] for place in (".", "papers"))
EXTRAS: dict[str, list[str]] = {**PROJECT["optional-dependencies"], "papers": PAPERS["dependencies"]}
MOST_MEGABYTES = 8
BESIDE = ("README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "PKG-INFO", ".gitignore")  # a package, in its sdist
TORCH = "torch==2.13.0+cpu"  # first and by its exact build, so that no package pulls one with gigabytes of CUDA
FIRST = (
    ("examples",),
    ("doctor",),
    ("game", "examples/pricing.csv", "--html", "pricing.html"),
)  # what every extra can do
TRIALS: dict[str, tuple[tuple[str, ...], ...]] = {  # extra -> commands that need it, in the folder of `accredit examples`
    "none": (("flow", "examples/pipes.csv", "--from", "s", "--to", "t"), ("methods",)),
    "flow": (),
    "text": (("explain", "A gripping film that never quite lands.", "--html", "film.html"), ("explain", "--answer")),
    "data": (("value", "examples/reviews.csv", "--target", "mood", "--text", "review", "--html", "value.html"),),
    "trees": (("explain", "--table", "--html", "table.html"),),
    "plot": (),
    "serve": (),
    "cluster": (),
    "papers": (("reproduce", "chapter", "--quick"),),
    "all": (
        ("explain", "A gripping film that never quite lands.", "--html", "film.html"), ("explain", "--table"),
        ("value", "examples/reviews.csv", "--target", "mood", "--text", "review", "--executor", "dask", "--method", "shapley",
         "--model", "logistic", "--budget", "20", "--no-curves"),
    ),
}  # fmt: skip
SERVED = """
import subprocess, sys, urllib.request
page = subprocess.Popen([sys.argv[1], "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
try:
    address = page.stdout.readline().split()[1]
    assert b"<html" in urllib.request.urlopen(address).read()
finally:
    page.terminate()
    page.wait()
"""
ALONE = """
import subprocess, sys
done = subprocess.run([sys.argv[1], "reproduce"], capture_output=True, text=True)
assert done.returncode == 2 and "pip install accredit-papers" in done.stderr, done
"""
CLUSTER = """
import numpy
from accredit.games import FunctionGame
from accredit.store import Journal, durable
from accredit.values import shapley
def roots(coalitions):
    return numpy.sqrt(coalitions.sum(axis=1))
if __name__ == "__main__":
    game = FunctionGame("abcd", roots)
    with Journal("run.db") as journal, durable(game, journal, executor="dask", name={"game": "roots"}) as game:
        assert abs(shapley(game).credit.sum() - 2) < 1e-9
"""
LINES = {  # extra -> a script that uses it, where no command alone does; its argument is the command of accredit
    "none": ALONE,
    "flow": "import numpy as np; from accredit.attention import pairwise_flow; pairwise_flow(np.full((1, 2, 2), .5))",
    "plot": "import accredit as a; from accredit.views import figures; "
    "figures.bars(a.shapley(a.TableGame('ab', [0, 1, 2, 4]))).figure.savefig('bars.png')",
    "serve": SERVED,
    "cluster": CLUSTER,
    "all": SERVED,
}
USER = """import accredit
cookies = accredit.TableGame(("Alice", "Bob"), [0, 5, 3, 10])
shares: dict[str, float] = accredit.shapley(cookies).as_dict()
wrong: str = accredit.shapley(cookies).total
"""  # typed by hand; the last line is an error that mypy must see, or the wheel carries no types


@dataclass(frozen=True)
class Trial:
    """One extra in one empty environment."""

    python: str
    extra: str
    works: bool | None  # None: it cannot be installed on this machine
    seconds: float  # of the installation
    megabytes: float  # of the environment
    said: str  # the last line, if it failed


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        wheel, papers = (
            built(ROOT / place, Path(folder, "built", name)) for place, name in ((".", "house"), ("papers", "papers"))
        )
        known = kept(options.lines, digest(wheel, papers))
        problems = known[-1]["faults"] if known else look_at(wheel, papers, Path(folder))
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", *(f"✗ {problem}" for problem in problems), sep="\n")
        about = {
            "wheel": wheel.name,
            "digest": digest(wheel, papers),
            "megabytes": wheel.stat().st_size / 1e6,
            "oldest": options.oldest,
            "faults": problems,
            "date": time.strftime("%Y-%m-%d"),
            "machine": platform.platform(),
        }
        trials = []
        for python, extra in product(options.pythons, options.extras):
            trial = passed(known, python, extra, options.oldest)
            if trial is None:
                trial = tried(asked_for(extra, wheel, papers), extra, python, Path(folder), options.oldest)
                _keep(options.lines, about | {"lowest": lowest(extra) if options.oldest else [], "trial": asdict(trial)})
            print(line(trial), flush=True)
            trials.append(trial)
    sys.exit(bool(problems) or any(trial.works is False for trial in trials))


def digest(*wheels: Path) -> str:
    """Twelve digits that tell what is installed: the packages' files and what they depend on, but not the text of a README."""
    code = sorted(item for wheel in wheels for item in contents(wheel).items() if item[0].startswith(f"{package(wheel)}/"))
    needs = [PROJECT["requires-python"], PROJECT["dependencies"], EXTRAS]
    return hashlib.sha256(repr((code, needs)).encode()).hexdigest()[:12]


def kept(file: Path | None, digest: str) -> list[dict[str, Any]]:
    """The lines of this very wheel."""
    text = file.read_text(encoding="utf-8") if file and file.exists() else ""
    return [line for line in map(json.loads, text.splitlines()) if line["digest"] == digest]


def passed(lines: list[dict[str, Any]], python: str, extra: str, oldest: bool) -> Trial | None:
    """A trial that need not be repeated, if the lines have one."""
    found = [Trial(**line["trial"]) for line in lines if line["oldest"] == oldest]
    same = [trial for trial in found if (trial.python, trial.extra) == (version(python), extra) and trial.works]
    return same[-1] if same else None


def _keep(file: Path | None, about: dict[str, Any]) -> None:
    """Append a line at once, so that a stopped run keeps what it found."""
    if file:
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(about) + "\n")


def line(trial: Trial) -> str:
    """One trial on the terminal."""
    mark = {True: "✓", False: "✗", None: "–"}[trial.works]
    return f"{mark} {trial.python:8} {trial.extra:8} {trial.seconds:6.0f} s {trial.megabytes:7.0f} MB {trial.said}"


def built(project: Path, folder: Path) -> Path:
    """The wheel of a project, from the tree; `faults` has it beside the one that the sdist gives."""
    for target in ("tree", "sdist"):
        source = project if target == "tree" else unpacked(next((folder / "tree").glob("*.tar.gz")), folder)
        _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / target), str(source))
    return next((folder / "tree").glob("*.whl"))


def unpacked(archive: Path, folder: Path) -> Path:
    """The one folder inside an sdist."""
    shutil.unpack_archive(archive, folder / "unpacked", filter="data")
    return next((folder / "unpacked").iterdir())


def look_at(wheel: Path, papers: Path, folder: Path) -> list[str]:
    """What is wrong with both wheels, as others would find it."""
    return [*faults(wheel), *faults(papers), *strangers_tools(wheel, papers, folder)]


def faults(wheel: Path) -> list[str]:
    """What a stranger would stumble over before anything is installed."""
    found = []
    other = next((wheel.parent.parent / "sdist").glob("*.whl"))
    if contents(wheel) != contents(other):
        found.append(f"the sdist builds another wheel: {sorted(contents(wheel).items() ^ contents(other).items())[:3]}")
    if wheel.stat().st_size > MOST_MEGABYTES * 1e6:
        found.append(f"the wheel has {wheel.stat().st_size / 1e6:.1f} MB; the limit is {MOST_MEGABYTES}")
    name = package(wheel)
    if f"{name}/py.typed" not in contents(wheel):
        found.append(f"the wheel lacks {name}/py.typed")
    strangers = sorted({file.split("/")[0] for file in contents(wheel)} - {name, _dist_info(wheel)})
    if strangers:
        found.append(f"the wheel installs more than {name}: {strangers}")
    with tarfile.open(next(wheel.parent.glob("*.tar.gz"))) as sdist:
        packed = {file.split("/")[1] for file in sdist.getnames()}
    if strangers := sorted(packed - {name, *BESIDE}):
        found.append(f"the sdist of {name} holds more than it needs: {strangers}")
    return found


def strangers_tools(wheel: Path, papers: Path, folder: Path) -> list[str]:
    """What twine says of the metadata, and mypy of a script that uses the installed wheel."""
    place, script = folder / "tools", folder / "user.py"
    pip = _environment(sys.executable, place)
    _run(*pip, "twine", "mypy", str(wheel))
    script.write_text(USER)
    found = []
    published = [str(file) for place in (wheel.parent, papers.parent) for file in place.iterdir()]
    twine = _asked(str(place / "bin" / "python"), "-m", "twine", "check", "--strict", *published)
    if twine.returncode:
        found.append(f"twine: {_last(twine)}")
    mypy = _asked(str(place / "bin" / "python"), "-m", "mypy", "--strict", str(script), cwd=folder)
    lines = [said for said in mypy.stdout.splitlines() if ": error:" in said]
    if len(lines) != 1 or not lines[0].startswith("user.py:4:"):
        found.append(f"mypy expected one error, in line 4 of a user's script, and found {lines}")
    shutil.rmtree(place)
    return found


def contents(wheel: Path) -> dict[str, int]:
    """Names in a wheel, and the checksum of each file."""
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def package(wheel: Path) -> str:
    """What is imported of a wheel.

    >>> package(Path("accredit_papers-0.2.0-py3-none-any.whl"))
    'accredit_papers'
    """
    return wheel.name.split("-")[0]


def _dist_info(wheel: Path) -> str:
    return "-".join(wheel.name.split("-")[:2]) + ".dist-info"


def asked_for(extra: str, wheel: Path, papers: Path) -> tuple[str, ...]:
    """What pip is asked to install.

    >>> asked_for("none", Path("a.whl"), Path("b.whl")), asked_for("text", Path("a.whl"), Path("b.whl"))
    (('a.whl',), ('a.whl[text]',))
    >>> asked_for("papers", Path("a.whl"), Path("b.whl"))
    ('a.whl', 'b.whl')
    """
    if extra == "papers":
        return str(wheel), str(papers)
    return (str(wheel) + ("" if extra == "none" else f"[{extra}]"),)


def tried(asked: tuple[str, ...], extra: str, python: str, folder: Path, oldest: bool) -> Trial:
    """Install one extra into an empty environment and use it in an empty folder."""
    place, work = folder / f"{version(python)}-{extra}", folder / "work"
    work.mkdir()
    begun = time.perf_counter()
    works, said = None, ""
    try:
        if needs_torch(extra) and not _can_have(TORCH, python):
            said = "no build of torch for CPUs was found for this Python"
        else:
            install(asked, extra, python, place, oldest)
            seconds = time.perf_counter() - begun
            for step in steps(place / "bin", extra):
                _run(*step, cwd=work)
            works = True
    except subprocess.CalledProcessError as error:
        seconds, works, said = time.perf_counter() - begun, False, _last(error)
    megabytes = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 1e6
    for used in (place, work):
        shutil.rmtree(used, ignore_errors=True)
    return Trial(version(python), extra, works, seconds if works is not None else 0.0, megabytes, said)


@cache
def version(python: str) -> str:
    """Of a Python program."""
    return _asked(python, "-c", "import platform; print(platform.python_version())").stdout.strip()


def needs_torch(extra: str) -> bool:
    """Whether torch is among the packages of an extra."""
    return TORCH in lowest(extra)


def _can_have(requirement: str, python: str) -> bool:
    """Whether pip finds a build of it for this Python."""
    asked = (python, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps", requirement)
    return _asked(*asked).returncode == 0


def install(asked: tuple[str, ...], extra: str, python: str, place: Path, oldest: bool) -> None:
    """One extra and nothing else, in an empty environment at `place`."""
    pip = _environment(python, place)
    pins = place / "oldest.txt"
    pins.write_text("\n".join(lowest(extra)) if oldest else "")
    limits = ("--constraint", str(pins if oldest else ROOT / "constraints.txt"))
    if needs_torch(extra):
        _run(*pip, *limits, TORCH)
    _run(*pip, *limits, *asked)


def _environment(python: str, place: Path) -> tuple[str, ...]:
    """An empty environment; the words that install into it."""
    _run(python, "-m", "venv", str(place))
    return str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"


def lowest(extra: str) -> list[str]:
    """The lowest version that pyproject.toml allows, for each dependency of the base and of an extra."""
    wanted, listed = [*PROJECT["dependencies"], *EXTRAS.get(extra, ())], []
    while wanted:
        name = wanted.pop()
        if name.startswith("accredit["):
            wanted += [dep for part in name[9:].partition("]")[0].split(",") for dep in EXTRAS[part]]
        else:
            listed.append(name.split(",")[0].replace(">=", "==") if not name.startswith("torch") else TORCH)
    return sorted(set(listed))


def steps(programs: Path, extra: str) -> list[tuple[str, ...]]:
    """What a stranger does with an extra: import it, ask the doctor, write the examples, use it."""
    python, accredit = str(programs / "python"), str(programs / "accredit")
    done = [(python, "-c", "import accredit; print(accredit.__version__)")]
    done += [(accredit, *words) for words in (*FIRST, *TRIALS[extra])]
    return [*done, (python, "-c", LINES[extra], accredit)] if extra in LINES else done


def _asked(*command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=alone)


def _run(*command: str, cwd: Path | None = None) -> None:
    _asked(*command, cwd=cwd).check_returncode()


def _last(done: subprocess.CompletedProcess[str] | subprocess.CalledProcessError) -> str:
    return ((done.stderr or done.stdout or "").strip().splitlines() or ["it said nothing"])[-1]


def supported() -> list[str]:
    """The Pythons that pyproject.toml names, as 3.11."""
    return [word.rpartition(" ")[2] for word in PROJECT["classifiers"] if word.startswith("Programming Language ::")]


def pythons() -> list[str]:
    """A program for each supported Python that this machine has."""
    managed = Path("~/.pyenv/versions").expanduser().glob("*/bin")
    places = os.pathsep.join([*map(str, managed), os.environ.get("PATH", "")])
    found = [shutil.which(f"python{name}", path=places) for name in supported()]
    return [python for python in found if python and _asked(python, "--version").returncode == 0]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = {"type": lambda words: words.split(",")}
    parser.add_argument("--extras", **names, default=[*TRIALS], help="with commas between them")
    parser.add_argument(
        "--pythons", **names, help="programs; default: every supported one found here, with --oldest the first of them"
    )
    parser.add_argument("--oldest", action="store_true", help="the lowest version of every dependency that is allowed")
    parser.add_argument(
        "--lines",
        type=Path,
        metavar="FILE",
        help="one JSON line for each trial is appended here, and read the next time",
    )
    options = parser.parse_args()
    options.pythons = options.pythons or pythons()[: 1 if options.oldest else None]
    return options


if __name__ == "__main__":
    main()
