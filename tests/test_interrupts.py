"""Ctrl-C while the command is still importing: one line and 130, wherever it comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

fcntl = pytest.importorskip("fcntl", reason="pipes of a chosen size are needed")
ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.usefixtures("interrupts_are_heard")
SMALL = 4096  # bytes of a pipe; whoever writes more waits until somebody reads


def interrupted_after(module: str, command: list[str], folder: Path) -> tuple[int, str]:
    """Interrupt a command right after it has imported a module: it cannot go on, because nobody reads what it reports."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, SMALL)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONPROFILEIMPORTTIME": "1"}
    with (
        subprocess.Popen(command, stderr=write, stdout=subprocess.DEVNULL, env=environment, cwd=folder) as child,
        os.fdopen(read, "rb", buffering=0) as report,
    ):
        os.close(write)
        said = b""
        while line := report.readline():
            said += line
            if line.endswith(f" {module}\n".encode()):
                child.send_signal(signal.SIGINT)
        return child.wait(), said.decode()


@pytest.mark.slow
@pytest.mark.parametrize("module", ["accredit.interrupts", "numpy.linalg", "accredit.core"])
@pytest.mark.parametrize("way", ["module", "script"])
def test_one_line_and_130(module, way, tmp_path):
    script = tmp_path / "accredit"  # what an installer writes
    script.write_text("import sys\nfrom accredit.cli import main\nsys.exit(main())\n")
    command = {
        "module": [sys.executable, "-m", "accredit", "methods"],
        "script": [sys.executable, str(script), "methods"],
    }
    code, said = interrupted_after(module, command[way], tmp_path)
    lines = [line for line in said.splitlines() if not line.startswith("import time:")]
    assert (code, lines) == (130, ["interrupted"])


@pytest.mark.slow
def test_a_program_that_imports_the_library_keeps_its_own_handler():
    probe = "import signal, accredit; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_outside_imports_it_is_an_ordinary_interrupt():
    from accredit.interrupts import interrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt(signal.SIGINT, None)
