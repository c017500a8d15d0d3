"""Files of arrays: what they say is compared with what they hold, before any room is made."""

import io
import zipfile

import numpy as np
import pytest

from accredit.checks.arrays import read_arrays
from accredit.errors import InvalidInput
from tests.wording import refused


def npy(array) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def test_arrays_come_back_as_they_were(tmp_path):
    given = {
        "x": np.arange(6.0).reshape(2, 3),
        "turned": np.asfortranarray(np.eye(3)),
        "words": np.array(["a", "bc"]),
        "none": np.empty((0, 2)),
        "one": np.array(3),
    }
    np.savez_compressed(tmp_path / "a.npz", **given)
    found = read_arrays(tmp_path / "a.npz")
    assert set(found) == set(given)
    assert all((found[name] == given[name]).all() and found[name].shape == given[name].shape for name in given)
    np.save(tmp_path / "one.npy", np.eye(2))
    assert read_arrays(tmp_path / "one.npy")[""].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "cannot be read as an array"),
        (b"\x93NUMPY\x01\x00\x10\x00not a header....", "cannot be read as an array"),
        (npy(np.array([{}], dtype=object)), "holds objects, which are pickled"),
        (npy(np.eye(2)).replace(b"(2, 2)", b"(9, 2)"), "should hold"),
        (npy(np.eye(2)).replace(b"(2, 2)", b"(2,-2)"), "should hold|cannot be read"),
        (
            npy(np.eye(2)).replace(b"'shape': (2, 2), }      ", b"'shape': (10**9,9**9),} "),
            "cannot be read|should hold",
        ),
        (b"PK\x03\x04 not a zip", "cannot be read as .npz"),
    ],
)
def test_files_that_lie_are_refused(tmp_path, content, why):
    (tmp_path / "odd").write_bytes(content)
    with pytest.raises(InvalidInput, match=why):
        read_arrays(tmp_path / "odd")


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("x.npy", npy(np.zeros(1 << 19)))
    assert (tmp_path / "bomb.npz").stat().st_size < 1 << 16
    with refused("too-many"):
        read_arrays(tmp_path / "bomb.npz", limit=1 << 20)
