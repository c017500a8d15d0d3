"""Every peer in an environment of its own: its newest version, on the Python that it needs, outside of this repository.

An environment is made when it is first asked for, below `folder()`, and kept. `Pin.extra` are packages beside the peer that a
measurement needs, such as the library that grew a forest. Peers that need torch run on this very Python and find torch, and
what goes with it, among the packages of this environment: theirs hold only what is not here, and both sides use the same torch.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"
LISTED = "import importlib.metadata as m, json; print(json.dumps({d.name.lower(): d.version for d in m.distributions()}))"


@dataclass(frozen=True)
class Pin:
    """One peer: the version that the figures are measured beside, and what its environment holds besides."""

    package: str
    version: str
    python: str = "3.12"
    extra: tuple[str, ...] = ()
    torch: bool = False  # it finds torch here, and `python` does not matter
    module: str = ""  # what is imported, where it is not called like the package

    @property
    def name(self) -> str:
        """The name of its environment."""
        return f"{self.package.lower()}-{self.version}"


TREES = ("xgboost-cpu==3.2.0", "scikit-learn==1.9.1")
PINS = {
    pin.package: pin
    for pin in (
        Pin("shap", "0.54.1", extra=TREES),
        Pin("shapiq", "1.8.0", extra=(*TREES, "sparse-transform")),
        Pin("woodelf-explainer", "0.4.8", extra=TREES, module="woodelf"),
        Pin("captum", "0.9.0", torch=True, module="captum.attr"),
        Pin("inseq", "0.7.1", torch=True),
        Pin("context-cite", "0.0.4", torch=True, module="context_cite"),
        Pin("quantus", "0.6.0", torch=True),
        Pin("cleanlab", "2.9.0"),
        Pin("pyDVL", "0.10.0", module="pydvl"),
        Pin("kronfluence", "1.0.1", torch=True),
        Pin("traker", "0.3.2", torch=True, module="trak"),
        Pin("dattri", "0.3.0", torch=True),
        Pin("bergson", "2.5.1", torch=True),
    )
}


def folder() -> Path:
    """Where the environments are: ACCREDIT_PEERS, or a folder of the user's cache."""
    named = os.environ.get("ACCREDIT_PEERS")
    return Path(named) if named else Path("~/.cache/accredit/peers").expanduser()


def ready(pin: Pin) -> Path | None:
    """The interpreter of an environment that is whole; None until it is made."""
    place = folder() / pin.name
    return place / "bin" / "python" if (place / "versions.json").exists() else None


def versions(pin: Pin) -> dict[str, str]:
    """The versions of everything in an environment, as they were when it was made."""
    found: dict[str, str] = json.loads((folder() / pin.name / "versions.json").read_text(encoding="utf-8"))
    return found


def made(pin: Pin) -> Path:
    """The interpreter of a peer's environment, which is made if it is not there."""
    there = ready(pin)
    if there is not None:
        return there
    place = folder() / pin.name
    print(f"making an environment for {pin.package} {pin.version} in {place}", file=sys.stderr, flush=True)
    shutil.rmtree(place, ignore_errors=True)
    _run(sys.executable if pin.torch else interpreter(pin.python), "-m", "venv", str(place))
    python = place / "bin" / "python"
    install = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if pin.torch:
        (below,) = place.glob("lib/python*/site-packages")
        (below / "below.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
        install = (*install, "--constraint", str(CONSTRAINTS))
    _run(*install, f"{pin.package}=={pin.version}", *pin.extra)
    listed = _run(str(python), "-c", LISTED)
    (place / "versions.json").write_text(listed, encoding="utf-8")  # last: an environment without it is made again
    return python


def interpreter(version: str) -> str:
    """A Python of that version on this machine."""
    if f"{sys.version_info[0]}.{sys.version_info[1]}" == version:
        return sys.executable
    managed = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    found = shutil.which(f"python{version}") or (str(managed[-1]) if managed else None)
    if found is None or subprocess.run([found, "--version"], capture_output=True).returncode:
        found = str(managed[-1]) if managed else None
    if found is None:
        raise RuntimeError(f"no Python {version} is here; install one, for example with pyenv install {version}")
    return found


def newest(package: str) -> str | None:
    """The newest version that the package index has; None when it cannot be reached."""
    told = subprocess.run(
        [interpreter("3.12"), "-m", "pip", "index", "versions", package], capture_output=True, text=True, timeout=120
    )
    found = re.match(r"\S+ \(([^)]+)\)", told.stdout)
    return found[1] if told.returncode == 0 and found else None


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr.strip()[-2000:]}")
    return done.stdout
