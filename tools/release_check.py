"""Is the wheel fit to be published? Build it, and try each extra of it in an empty environment.

    python tools/release_check.py [--extras none,data] [--pythons python3.11,python3.12] [--oldest]

The wheel is built twice, from the tree and from the sdist, and both must hold the same files. Every extra is installed alone,
imported and used by one command in an empty folder. Ends with one JSON line; exits with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_MEGABYTES = 8
TORCH = "torch==2.13.0"  # first and by its exact version, so that no package pulls a build with gigabytes of CUDA
TRIALS = {  # extra -> one command of accredit that needs it, in a folder with the files of `accredit examples`
    "none": ("game", "examples/pricing.csv", "--html", "page.html"),
    "flow": ("doctor",),
    "text": ("explain", "A gripping film that never quite lands.", "--html", "page.html"),
    "data": ("value", "examples/reviews.csv", "--target", "mood", "--text", "review", "--html", "page.html"),
    "trees": ("explain", "--table"),
    "plot": ("game", "examples/cookies.csv"),
    "serve": ("serve", "--help"),
    "cluster": ("doctor",),
    "all": ("explain", "--answer", "--html", "page.html"),
}
LINES = {  # extra -> what it is for, in Python, where no command alone shows it
    "flow": "import numpy as np; from accredit.attention import pairwise_flow; print(pairwise_flow(np.full((1, 2, 2), .5)))",
    "plot": "import accredit as a; from accredit.views import plot; plot.bars(a.shapley(a.TableGame('ab', [0, 1, 2, 4])))",
    "serve": "from accredit.web.app import page_files; print(len(page_files()))",
    "cluster": "from distributed import LocalCluster; LocalCluster(n_workers=1, processes=False).close()",
}
NEEDS_TORCH = ("text", "all")


@dataclass(frozen=True)
class Trial:
    """One extra in one empty environment."""

    python: str
    extra: str
    works: bool
    seconds: float  # of the installation
    megabytes: float  # of the environment
    said: str  # the last line, if it failed


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        wheel = built(Path(folder))
        problems = faults(wheel)
        trials = [
            tried(wheel, extra, python, Path(folder), options.oldest)
            for python in options.pythons
            for extra in options.extras
        ]
        megabytes = wheel.stat().st_size / 1e6
    for problem in problems:
        print(f"✗ {problem}")
    print(f"{wheel.name}: {megabytes:.1f} MB")
    for trial in trials:
        print(f"{'✓' if trial.works else '✗'} {trial.python:12} {trial.extra:8} {trial.seconds:6.0f} s "
              f"{trial.megabytes:7.0f} MB {trial.said}")  # fmt: skip
    print(
        json.dumps({"wheel": wheel.name, "megabytes": megabytes, "faults": problems, "trials": [*map(asdict, trials)]})
    )
    sys.exit(bool(problems) or not all(trial.works for trial in trials))


def built(folder: Path) -> Path:
    """The wheel, from the tree; `faults` has it beside the one that the sdist gives."""
    for target, source in (("tree", ROOT), ("sdist", None)):
        source = source or unpacked(next((folder / "tree").glob("*.tar.gz")), folder)
        _run(sys.executable, "-m", "build", "--outdir", str(folder / target), str(source))
    return next((folder / "tree").glob("*.whl"))


def unpacked(archive: Path, folder: Path) -> Path:
    """The one folder inside an sdist."""
    shutil.unpack_archive(archive, folder / "unpacked", filter="data")
    return next((folder / "unpacked").iterdir())


def faults(wheel: Path) -> list[str]:
    """What a stranger would stumble over before anything is installed."""
    found = []
    other = next((wheel.parent.parent / "sdist").glob("*.whl"))
    if contents(wheel) != contents(other):
        found.append(f"the sdist builds another wheel: {sorted(contents(wheel).items() ^ contents(other).items())[:3]}")
    if wheel.stat().st_size > MOST_MEGABYTES * 1e6:
        found.append(f"the wheel has {wheel.stat().st_size / 1e6:.1f} MB; the limit is {MOST_MEGABYTES}")
    if "accredit/py.typed" not in contents(wheel):
        found.append("the wheel lacks accredit/py.typed")
    strangers = sorted({name.split("/")[0] for name in contents(wheel)} - {"accredit", _dist_info(wheel)})
    if strangers:
        found.append(f"the wheel installs more than accredit: {strangers}")
    return found


def contents(wheel: Path) -> dict[str, int]:
    """Names in a wheel, and the checksum of each file."""
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def _dist_info(wheel: Path) -> str:
    return "-".join(wheel.name.split("-")[:2]) + ".dist-info"


def tried(wheel: Path, extra: str, python: str, folder: Path, oldest: bool) -> Trial:
    """Install one extra into an empty environment and use it in an empty folder."""
    place = folder / f"{Path(python).name}-{extra}"
    begun = time.perf_counter()
    try:
        home = installed(wheel, extra, python, place, oldest)
        seconds = time.perf_counter() - begun
        work = place / "work"
        work.mkdir()
        for step in steps(home, extra):
            _run(*step, cwd=work)
        works, said = True, ""
    except subprocess.CalledProcessError as error:
        seconds, works = time.perf_counter() - begun, False
        said = (error.stderr or error.stdout or "").strip().splitlines()[-1:][0]
    megabytes = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 1e6
    shutil.rmtree(place)
    return Trial(Path(python).name, extra, works, seconds, megabytes, said)


def installed(wheel: Path, extra: str, python: str, place: Path, oldest: bool) -> Path:
    """An environment with the wheel, one extra and nothing else; its folder of programs."""
    _run(python, "-m", "venv", str(place / "env"))
    programs = place / "env" / "bin"
    pins = place / "oldest.txt"
    pins.write_text("\n".join(lowest(extra)) if oldest else "")
    limits = ("--constraint", str(pins if oldest else ROOT / "constraints.txt"))
    pip = (str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if extra in NEEDS_TORCH:
        _run(*pip, TORCH)
    _run(*pip, *limits, str(wheel) + ("" if extra == "none" else f"[{extra}]"))
    return programs


def lowest(extra: str) -> list[str]:
    """The lowest version that pyproject.toml allows, for each dependency of the base and of an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted, listed = [*project["dependencies"], *extras.get(extra, ())], []
    while wanted:
        name = wanted.pop()
        if name.startswith("accredit["):
            wanted += [dep for part in name[9:-1].split(",") for dep in extras[part]]
        else:
            listed.append(name.split(",")[0].replace(">=", "==") if not name.startswith("torch") else TORCH)
    return sorted(set(listed))


def steps(programs: Path, extra: str) -> list[tuple[str, ...]]:
    """What a stranger does with an extra: import, doctor, examples, one command, and what only Python shows."""
    python, accredit = str(programs / "python"), str(programs / "accredit")
    done = [
        (python, "-c", "import accredit; print(accredit.__version__)"),
        (accredit, "doctor"),
        (accredit, "examples"),
    ]
    done.append((accredit, *TRIALS[extra]))
    if extra in LINES:
        done.append((python, "-c", LINES[extra]))
    return done


def _run(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--extras", type=lambda names: names.split(","), default=[*TRIALS], help="with commas between them"
    )
    parser.add_argument("--pythons", type=lambda names: names.split(","), default=[sys.executable])
    parser.add_argument("--oldest", action="store_true", help="the lowest version of every dependency that is allowed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
