"""A measurement in a process of its own, so that its peak memory is its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

SCRIPT = """
import json, resource, sys
from importlib import import_module
module, name, given = sys.argv[1:]
found = getattr(import_module(module), name)(**json.loads(given))
found["peak GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
print(json.dumps(found))
"""


def apart(module: str, name: str, **given: Any) -> dict[str, Any]:
    """What `module.name(**given)` returns, and the peak of the memory that it held, in 10⁹ bytes."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, module, name, json.dumps(given)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    if done.returncode:
        raise RuntimeError(f"{module}.{name} failed: {done.stderr.strip().splitlines()[-1:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))
