from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

from accredit.errors import InvalidInput
from accredit.store import fingerprint

PARTS = "dict(data=np.arange(6.0).reshape(2, 3), model={'C': 1.0, 'solver': 'lbfgs'}, metric='accuracy', names={'b', 'a', 'c'})"


@pytest.mark.slow
def test_is_the_same_in_another_process_whatever_its_hash_seed() -> None:
    script = f"import numpy as np; from accredit.store import fingerprint; print(fingerprint(**{PARTS}).digest)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert digests == {fingerprint(**eval(PARTS)).digest + "\n"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.arange(6), np.arange(6).reshape(2, 3)),
        (np.arange(6), np.arange(6, dtype=np.int32)),
        ("1", 1),
        (1, 1.0),
        (True, 1),
        ("1", b"1"),
        (["ab", "c"], ["a", "bc"]),
        (lambda x: x + 1, lambda x: x + 2),
        (partial(max, 1), partial(max, 2)),
        (np.array(["a", None], dtype=object), np.array(["a", "None"], dtype=object)),
        ({"a": 1}, {"a": 2}),
    ],
)
def test_tells_different_things_apart(one: object, other: object) -> None:
    assert fingerprint(part=one).differs_from(fingerprint(part=other).parts) == ("part",)
    assert fingerprint(part=one) == fingerprint(part=one)


def test_a_function_is_known_by_what_it_closes_over() -> None:
    def scaled(factor: float) -> object:
        return lambda x: factor * x

    assert fingerprint(f=scaled(2.0)) == fingerprint(f=scaled(2.0))
    assert fingerprint(f=scaled(2.0)) != fingerprint(f=scaled(3.0))


def test_an_array_is_known_by_its_numbers_not_its_layout() -> None:
    a = np.arange(12.0).reshape(3, 4)
    assert fingerprint(a=a) == fingerprint(a=np.asfortranarray(a)) == fingerprint(a=a.astype(">f8").astype("<f8"))
    assert fingerprint(a=a) == fingerprint(a=a[::-1][::-1])


def test_an_estimator_is_known_by_its_settings_and_a_module_by_its_weights() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    torch = pytest.importorskip("torch")
    one, same, other = (linear_model.LogisticRegression(C=c) for c in (1.0, 1.0, 2.0))
    same.fit([[0.0], [1.0]], [0, 1])
    assert fingerprint(m=one) == fingerprint(m=same) != fingerprint(m=other)
    layer = torch.nn.Linear(2, 1)
    before = fingerprint(m=layer)
    assert before == fingerprint(m=layer)
    with torch.no_grad():
        layer.bias += 1
    assert before != fingerprint(m=layer)


def test_what_has_no_stable_bytes_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no stable bytes"):
        fingerprint(data=iter([1, 2]))


def _module(source: str) -> dict[str, Any]:
    """What a user's file defines."""
    names: dict[str, Any] = {"__name__": "users_file"}
    exec(source, names)
    return names


@pytest.mark.parametrize(
    "source",
    [
        "WIDTH = {}\ndef build(): return [0.0] * WIDTH",
        "WIDTH = {}\ndef build(): return [(lambda: WIDTH)() for _ in range(2)]",
        "def helper(): return {}\ndef build(): return helper()",
        "def build(n=3): return n and build(n - 1) + STEP\nSTEP = {}",
        "SCALE = {}\nclass Game:\n    def payoff(self, c): return SCALE * c\nbuild = Game()",
        "class Game:\n    def payoff(self, c): return {} * c\nclass Mine(Game):\n    pass\nbuild = Mine()",
        "class Game:\n    def __init__(self): super().__init__(); self.v = {}\nbuild = Game",
    ],
)
def test_a_function_is_known_by_the_globals_it_reads(source: str) -> None:
    """A changed setting at the top of a file must not find the payoffs of the old one."""
    one, same, other = (_module(source.format(number))["build"] for number in (10, 10, 20))
    assert fingerprint(f=one) == fingerprint(f=same) != fingerprint(f=other)


def test_a_global_without_stable_bytes_is_known_by_its_kind() -> None:
    source = "import logging\nLOG = logging.getLogger('x')\nWIDTH = 3\ndef build(): LOG.info('hi'); return WIDTH"
    one = fingerprint(f=_module(source)["build"])
    assert one == fingerprint(f=_module(source)["build"])
    assert one != fingerprint(f=_module(source.replace("WIDTH = 3", "WIDTH = 4"))["build"])


def test_frames_and_sparse_matrices_are_known_by_their_cells() -> None:
    pandas, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    for make in (
        lambda x: pandas.DataFrame({"a": x, "b": ["u", "v", "w"]}),
        lambda x: pandas.Series(x, name="a"),
        lambda x: sparse.csr_matrix([x]),
    ):
        assert fingerprint(d=make([1.0, 0.0, 2.0])) == fingerprint(d=make([1.0, 0.0, 2.0]))
        assert fingerprint(d=make([1.0, 0.0, 2.0])) != fingerprint(d=make([1.0, 0.0, 3.0]))
    source = "import pandas\nFRAME = pandas.DataFrame({'a': [1, %d]})\ndef build(): return FRAME"
    one, same, other = (_module(source % number)["build"] for number in (2, 2, 3))
    assert fingerprint(f=one) == fingerprint(f=same) != fingerprint(f=other)
