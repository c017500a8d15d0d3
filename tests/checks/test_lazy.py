"""Names that are imported when they are used, and what is said where their library is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from accredit.checks.lazy import lazy
from accredit.errors import MissingExtra
from tests.wording import refused


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a module that works and two that do not."""
    (tmp_path / "lazy_sample").mkdir()
    for name, text in {
        "__init__": "",
        "good": "one = 1",
        "lacks": "import no_such_library.inner",
        "broken": "import lazy_sample.no",
    }.items():
        (tmp_path / "lazy_sample" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield {"one": "lazy_sample.good", "two": "lazy_sample.lacks", "three": "lazy_sample.broken"}
    for name in [name for name in sys.modules if name.startswith("lazy_sample")]:
        del sys.modules[name]


def test_a_missing_library_is_named_with_the_extra_that_brings_it(package):
    attribute = lazy("lazy_sample", package, extra="text")
    assert attribute("one") == 1
    with refused("unavailable", kind=MissingExtra):
        attribute("two")
    with pytest.raises(AttributeError, match="no attribute 'four'"):
        attribute("four")


def test_a_fault_of_the_package_itself_is_not_taken_for_a_missing_library(package):
    with pytest.raises(ModuleNotFoundError, match=r"lazy_sample.no"):
        lazy("lazy_sample", package, extra="text")("three")
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        lazy("lazy_sample", package)("two")


@pytest.mark.slow
def test_every_room_that_needs_torch_says_how_to_install_it():
    probe = """
import sys
sys.modules["torch"] = None  # as if it were not installed
import accredit.audit, accredit.games, accredit.gradients, accredit.learned, accredit.models, accredit.shortcuts
for room, name in (("audit", "audit_texts"), ("games", "text_game"), ("gradients", "saliency"), ("learned", "l2x"),
                   ("models", "ImageModel"), ("shortcuts", "train_attention")):
    try:
        getattr(getattr(accredit, room), name)
    except accredit.AccreditError as error:
        assert str(error) == f"accredit.{room}.{name} needs torch, which is not installed: pip install 'accredit[text]'", error
    else:
        raise AssertionError(room)
"""
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
