"""Real data for tests: in the folder that ACCREDIT_DATA names, else in shared/data beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("ACCREDIT_DATA") or Path(__file__).parents[2] / "shared" / "data")


def real_data(name: str) -> Path:
    """A file of real data; where it is missing, the test is skipped and says so."""
    if not (FOLDER / name).is_file():
        pytest.skip(f"{name} is not in {FOLDER}; set ACCREDIT_DATA to the folder that holds it")
    return FOLDER / name
