"""Commands where a library is not installed, in a process of their own: here it was imported long ago."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import contextlib, io, json, sys
library, asked = json.loads(sys.argv[1])
sys.modules[library] = None
from accredit.cli import main
answers = []
for words in asked:
    sys.argv = ["accredit", *words]
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as ended:
            answers.append([ended.code, said.getvalue()])
print(json.dumps(answers))
"""


def typed_without(library: str, asked: list[list[str]], folder: Path | None = None) -> list[tuple[int, str]]:
    """What each command line ends with where the library cannot be imported: exit code, standard error."""
    command = [sys.executable, "-c", PROGRAM, json.dumps([library, asked])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return [(code, said) for code, said in json.loads(done.stdout)]
