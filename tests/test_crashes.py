"""A test that ends its process costs one failure, and one that would on this CPU is not begun. The rest of the run goes on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DEADLY = "import os, signal, pytest\n"
DIES = "os.kill(os.getpid(), signal.SIGILL)"
FILES = {
    "test_before.py": "\n".join(f"def test_{k}(): pass" for k in range(6)),
    "test_deadly.py": f"""
@pytest.mark.parametrize("k", range(4))
def test_one_dies(k):
    if k == 1: {DIES}
""",
    "test_half.py": f"""
@pytest.mark.half_precision("bfloat16")
def test_half_precision(): {DIES}
""",
    "test_later.py": "\n".join(f"def test_{k}(): pass" for k in range(6)),
    "dying_cpu.py": f"""
import sys
from accredit.models import precision
command = (sys.executable, "-I", "-c", "import os, signal; print('a product', flush=True); {DIES}")
precision.trial_command = lambda dtype: command
""",
}


def make_options() -> list[str]:
    """How `make test` calls pytest, with two workers."""
    line = re.search(r"^PYTEST = \$\(BIN\)/python -m pytest (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert line is not None
    return line[1].replace("$(WORKERS)", "2").split()


@pytest.mark.slow
def test_a_test_that_ends_its_worker_is_one_failure_and_the_rest_runs(tmp_path: Path) -> None:
    for name, code in FILES.items():
        (tmp_path / name).write_text(DEADLY + code)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    half_precision\n    slow\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *make_options(),
            "-q",
            "-rs",
            "-p",
            "conftest",
            "-p",
            "dying_cpu",
            "-p",
            "xdist.plugin",
            "-p",
            "no:cacheprovider",
            ".",
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert re.search(r"^1 failed, 15 passed, 1 skipped in ", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert re.findall(r"crashed while running '(.*)'", done.stdout) == ["test_deadly.py::test_one_dies[1]"]
    assert "bfloat16 dies: a product ends the process by SIGILL; use float32" in done.stdout
