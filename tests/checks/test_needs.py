"""Optional libraries: missing is said only of what is missing; what is broken keeps its own error."""

import sys

import pytest

from accredit.checks import needs
from accredit.errors import BrokenLibrary, MissingExtra


def test_a_library_that_is_not_there(monkeypatch):
    with pytest.raises(MissingExtra, match=r"needs nobody_has_this.*\[flow\]") as raised, needs("flow", "a test"):
        import nobody_has_this.part  # noqa: F401
    assert isinstance(raised.value.__cause__, ModuleNotFoundError)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtra, match="needs scikit-learn"), needs("data", "a test"):
        import sklearn  # noqa: F401


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("import nobody_has_this_either", "needs nobody_has_this_either, which is not installed"),
        ("from os import no_such_name", "installed but cannot be loaded: cannot import name 'no_such_name'"),
        ("raise ImportError('libfoo.so.3: wrong version')", "cannot be loaded: libfoo.so.3: wrong version"),
        ("import broken_library.no_such_part", "cannot be loaded: No module named 'broken_library.no_such_part'"),
    ],
)
def test_a_library_that_is_there_and_does_not_load(tmp_path, monkeypatch, content, why):
    (tmp_path / "broken_library").mkdir()
    (tmp_path / "broken_library" / "__init__.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_library", raising=False)
    with pytest.raises((BrokenLibrary, MissingExtra), match=why) as raised, needs("flow", "a test"):
        import broken_library  # noqa: F401
    assert isinstance(raised.value.__cause__, ImportError)


def test_a_fault_of_the_package_itself_is_raised_as_it_is():
    with pytest.raises(ModuleNotFoundError, match=r"accredit\.nowhere") as raised, needs("flow", "a test"):
        import accredit.nowhere  # noqa: F401
    assert not isinstance(raised.value, MissingExtra | BrokenLibrary)
