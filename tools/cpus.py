"""The test suite on other CPUs: what a library would compute there, computed here.

    python -m tools.cpus                             # the numeric part under every virtual CPU
    python -m tools.cpus no-avx batches-3            # these only
    python -m tools.cpus --all no-avx                # every test, with servers, browsers and docstrings
    python -m tools.cpus --list                      # what each one sets, and what takes effect on this machine
    python -m tools.cpus --smoke                     # a handful of tests under one of them

A virtual CPU is a set of variables that torch, oneDNN, MKL, OpenBLAS and numpy read when they are loaded: they then take the
code that they would take on an older or another processor, whose sums have other last digits. Some change how many inputs go
into one pass of a model instead, which does the same. Each is tried in a child first: what the libraries report and whether
digits changed is printed, and one that this machine cannot run, or that changes nothing here, is skipped with the reason.
What pytest said of each is in out/cpus. Exits 1 when a test fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.proof.tables import markdown

ROOT = Path(__file__).parent.parent
SAID = ROOT / "out" / "cpus"
WITHOUT_NUMBERS = ("cli", "web", "views", "docs", "tools", "papers")  # rooms whose tests are about words, pages and processes


def numeric_rooms(tests: Path) -> tuple[str, ...]:
    """Folders of tests that compute: all but those without numbers, so that a new room joins by itself."""
    rooms = (folder for folder in sorted(tests.iterdir()) if next(folder.rglob("test_*.py"), None))
    return tuple(f"{tests.name}/{room.name}" for room in rooms if room.name not in WITHOUT_NUMBERS)


NUMERIC = numeric_rooms(ROOT / "tests")
ALL = ("tests", "accredit", "papers")
SMOKE = ("tests/values/test_surrogate_kernels.py",)
DISPATCHED = "(all)"  # of NPY_DISABLE_CPU_FEATURES: whatever numpy would choose from on this machine


@dataclass(frozen=True)
class VirtualCPU:
    """Variables that libraries read when they are loaded, and how many inputs go into one pass (None: as usual)."""

    name: str
    settings: Mapping[str, str] = field(default_factory=dict)
    batches: int | None = None

    def environment(self) -> dict[str, str]:
        """Of a child process: the variables of this one, and its own."""
        own = dict(self.settings)
        if own.get("NPY_DISABLE_CPU_FEATURES") == DISPATCHED:
            own["NPY_DISABLE_CPU_FEATURES"] = " ".join(dispatched())
        return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **own}

    def __str__(self) -> str:
        said = [f"{name}={value}" for name, value in self.settings.items()]
        said += [] if self.batches is None else [f"{self.batches:,} per pass"]
        return ", ".join(said) or "nothing set"


CPUS = (
    VirtualCPU("plain"),
    VirtualCPU(
        "no-avx",
        {
            "ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "OPENBLAS_CORETYPE": "Nehalem",
            "NPY_DISABLE_CPU_FEATURES": DISPATCHED, "MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "MKL_CBWR": "COMPATIBLE",
        },
    ),
    VirtualCPU(
        "mixed", {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}
    ),
    VirtualCPU(
        "avx2",
        {
            "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell",
            "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        },
    ),
    VirtualCPU(
        "avx512",
        {
            "ATEN_CPU_CAPABILITY": "avx512", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "OPENBLAS_CORETYPE": "SkylakeX",
            "MKL_ENABLE_INSTRUCTIONS": "AVX512",
        },
    ),
    VirtualCPU("sandybridge", {"ONEDNN_MAX_CPU_ISA": "AVX", "OPENBLAS_CORETYPE": "Sandybridge", "MKL_CBWR": "COMPATIBLE"}),
    VirtualCPU("two-threads", {"OMP_NUM_THREADS": "2"}),
    *(VirtualCPU(f"batches-{rows}", {}, rows) for rows in (1, 3, 7, 1_000_000)),
)  # fmt: skip


def dispatched() -> list[str]:
    """The sets of instructions that numpy chooses from on this machine, beyond those it always uses."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if __cpu_features__[name]]


def report() -> dict[str, Any]:
    """What the libraries of this process say they use, and a name for the digits that each computes."""
    import numpy as np
    import scipy.linalg
    import torch
    from threadpoolctl import threadpool_info

    rng = np.random.default_rng(0)
    single, double = rng.normal(size=(37, 129)).astype(np.float32), rng.normal(size=(129, 129))
    tensor, pictures = torch.from_numpy(single), torch.from_numpy(rng.normal(size=(2, 3, 28, 28)).astype(np.float32))
    filters = torch.from_numpy(rng.normal(size=(8, 3, 5, 5)).astype(np.float32))
    computed = {
        "ATen": [torch.softmax(tensor, 1), tensor.sum(1), tensor.exp(), torch.tanh(tensor)],
        "MKL": [tensor @ tensor.T],
        "oneDNN": [torch.nn.functional.conv2d(pictures, filters)],
        "OpenBLAS": [double @ double, scipy.linalg.solve(double, double[0])],
        "numpy": [np.exp(single), np.tanh(double), np.sin(single), double.sum(1)],
    }
    blas = sorted({pool["architecture"] for pool in threadpool_info() if pool["internal_api"] == "openblas"})
    return {
        "ATen": torch.backends.cpu.get_cpu_capability(),
        "OpenBLAS": "/".join(blas),
        "numpy": " ".join(dispatched()) or "baseline",
        "threads": torch.get_num_threads(),
        "digits": {name: _digest([np.asarray(part) for part in parts]) for name, parts in computed.items()},
    }


def _digest(arrays: Sequence[Any]) -> str:
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:8]


@dataclass(frozen=True)
class Tried:
    """What became of a virtual CPU in a child: what its libraries say, or why it cannot run here."""

    says: Mapping[str, Any]
    fault: str = ""

    def effect(self, plain: Tried) -> str:
        """What differs from the machine as it is; nothing where no library takes other code."""
        named = ", ".join(f"{k} {v}" for k, v in self.says.items() if k != "digits" and v != plain.says.get(k))
        moved = [k for k, v in self.says["digits"].items() if v != plain.says["digits"][k]]
        return "; ".join([named] * bool(named) + [f"other digits of {', '.join(moved)}"] * bool(moved))


def tried(cpu: VirtualCPU) -> Tried:
    """Load every library and compute a little in a child that has the settings."""
    environment = cpu.environment() | {"ONEDNN_VERBOSE": "1"}  # the one way in which oneDNN says what it uses
    command = [sys.executable, "-m", "tools.cpus", "--report"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    if done.returncode < 0:
        return Tried({}, f"it ends by {signal.Signals(-done.returncode).name}: this machine lacks its instructions")
    if done.returncode:
        return Tried({}, (done.stderr.strip().splitlines() or ["it ended without a word"])[-1])
    said = json.loads(done.stdout.splitlines()[-1])
    isa = re.search(r"info,cpu,isa:(.*)", done.stdout)
    return Tried({**said, "oneDNN": isa[1] if isa else "unknown"})


@dataclass(frozen=True)
class Outcome:
    """What the tests said under one virtual CPU."""

    counts: Mapping[str, int]  # by "passed", "failed", "error", "skipped"
    failing: tuple[str, ...]
    minutes: float
    broken: str = ""  # why the tests could not be run

    @property
    def wrong(self) -> bool:
        return bool(self.failing or self.broken)


def run_tests(cpu: VirtualCPU, paths: Sequence[str], workers: int, further: Sequence[str]) -> Outcome:
    """The tests below `paths`, in a child with the settings; all that pytest says goes to a file of its own."""
    command = [sys.executable, "-m", "pytest", "-rfE", "--no-header", "--tb=short", *paths, *further]
    command += ["--numprocesses", str(workers), "--dist", "worksteal"] * (workers > 1)
    command += ["--batches", str(cpu.batches)] * (cpu.batches is not None)
    file = SAID / f"{cpu.name}.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with file.open("w") as said:
        done = subprocess.run(command, stdout=said, stderr=subprocess.STDOUT, cwd=ROOT, env=cpu.environment())
    return read_outcome(file.read_text(errors="replace"), done.returncode, (time.monotonic() - began) / 60)


def read_outcome(said: str, code: int, minutes: float) -> Outcome:
    """What pytest printed, as counts and the ids of tests that failed.

    >>> read_outcome("FAILED tests/a.py::test_b[x y] - assert 1\\n1 failed, 3 passed, 2 skipped in 0.12s", 1, 0.5)
    Outcome(counts={'failed': 1, 'passed': 3, 'skipped': 2}, failing=('tests/a.py::test_b[x y]',), minutes=0.5, broken='')
    """
    lines = said.splitlines() or [""]
    failing = tuple(found[1] for line in lines if (found := re.match(r"(?:FAILED|ERROR) (.*?)(?: - .*)?$", line)))
    counts = {how.removesuffix("s"): int(n) for n, how in re.findall(r"(\d+) (passed|failed|errors?|skipped)", lines[-1])}
    broken = "" if code in (0, 1) and counts else f"pytest ended with {code}: {lines[-1]}"
    return Outcome(counts, failing, minutes, broken)


def row(cpu: VirtualCPU, effect: str, outcome: Outcome) -> tuple[str, ...]:
    """One line of the table."""
    counts = [str(outcome.counts.get(how, 0)) for how in ("passed", "failed", "skipped")]
    failing = "<br>".join(outcome.failing) or outcome.broken or "none"
    return (cpu.name, str(cpu), effect, *counts, f"{outcome.minutes:.1f}", failing)


def main(words: Sequence[str] | None = None, run: Callable[..., Outcome] = run_tests) -> int:
    args = _arguments(words)
    if args.report:
        print(json.dumps(report()))
        return 0
    chosen = [cpu for cpu in CPUS if cpu.name in (args.names or [cpu.name for cpu in CPUS])]
    paths, further = (ALL, []) if args.all else (NUMERIC, ["-m", "not server and not browser"])
    if args.smoke:
        chosen, paths = [next(cpu for cpu in CPUS if cpu.name == "no-avx")], SMOKE
    plain, rows, wrong = tried(CPUS[0]), [], False
    for cpu in chosen:
        found = tried(cpu) if cpu.settings else plain
        effect = found.fault or found.effect(plain) or ("nothing on this machine" if cpu.settings else "-")
        if args.list or found.fault or (cpu.settings and not found.effect(plain)):
            rows.append((cpu.name, str(cpu), effect, *["-"] * 4, "not run"))
            continue
        outcome = run(cpu, paths, args.workers, further)
        wrong |= outcome.wrong
        rows.append(row(cpu, effect, outcome))
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)  # a run takes minutes: say what is known
    print(markdown(("virtual CPU", "set", "took effect", "passed", "failed", "skipped", "minutes", "failing"), rows))
    return int(wrong)


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(cpu.name for cpu in CPUS)}; all by default")
    parser.add_argument("--all", action="store_true", help="every test, not the numeric part only")
    parser.add_argument("--smoke", action="store_true", help="a handful of tests under one virtual CPU")
    parser.add_argument("--list", action="store_true", help="try each in a child, and run no tests")
    parser.add_argument("--workers", type=int, default=1, help="processes that run tests")
    parser.add_argument("--report", action="store_true", help=argparse.SUPPRESS)  # what a child prints
    args = parser.parse_args(words)
    if unknown := set(args.names) - {cpu.name for cpu in CPUS}:
        parser.error(f"no virtual CPU is called {', '.join(sorted(unknown))}; known are {', '.join(c.name for c in CPUS)}")
    return args


if __name__ == "__main__":
    sys.exit(main())
